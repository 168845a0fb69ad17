"""The bar below the picture: time in its first row, what is set and shown in the second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, final

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from scalarviz.controller.controller import Controller
from scalarviz.controller.controls import CONTROLS, Control
from scalarviz.controller.state import PinnedWeight, State
from scalarviz.draw2d.theme import THEMES
from scalarviz.window.fields import LogTrack, Names, NumberField, Tick, Track
from scalarviz.window.look import icon
from scalarviz.window.options import OptionsPanel
from scalarviz.window.rows import Rows, group

Icon = QStyle.StandardPixmap
SPEEDS = 1.0, 1e5  # steps a second; beyond is flat out
RATES = 1e-6, 10.0
TRACK = 84  # how wide the track of a number is


@final
class ControlBar(QFrame):
    """All controls. What they show comes from `show_state`; what they do goes to the controller."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setAccessibleName("Controls")
        self.setAutoFillBackground(True)
        self.controller = controller
        self._row: int | None = None  # the weight whose number is shown
        self._shown: dict[str, object] = {}
        self.made: dict[str, Any] = {name: self._make(row) for name, row in CONTROLS.items()}
        self._make_time()
        self._make_rows()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 7)
        layout.setSpacing(5)
        layout.addLayout(self._time_row())
        layout.addLayout(self._other_rows())

    def _make_time(self) -> None:
        controller = self.controller
        self.start = button("Back to the start", lambda: controller.seek(0))
        self.back = button("Back", lambda: controller.step(-1))
        self.play = button("Play", controller.toggle_play)
        self.on = button("On", lambda: controller.step(+1))
        self.unit: Names = self.made["unit"]
        self.timeline = Track("Timeline")
        self.timeline.setToolTip("Every step so far; wedges are where branches leave")
        self.timeline.valueChanged.connect(controller.seek)
        self.where = QLabel()
        self.where.setAccessibleName("Where the training stands")
        self.where.setMinimumWidth(230)

    def _make_rows(self) -> None:
        controller = self.controller
        self.speed = LogTrack("Speed", *SPEEDS, endless=True)
        self.speed.setToolTip("Steps a second; at the right end as fast as it goes")
        self.speed.moved.connect(controller.set_speed)
        self.speed_text = quiet("", 62)
        self.rate = LogTrack("Learning rate", *RATES)
        self.rate.moved.connect(controller.set_rate)
        self.rate_text = NumberField("Learning rate")
        self.rate_text.setFixedWidth(66)
        self.rate_text.given.connect(partial(controller.set_option, "lr"))
        self.rate_text.dragged.connect(controller.set_rate)
        for track in (self.speed, self.rate):
            track.setFixedWidth(TRACK)
        self.color: Names = self.made["color"]
        self.sizes: Names = self.made["size"]
        self.before: QPushButton = self.made["before"]
        self.focus = quiet("", 62)
        self.focus.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.after: QPushButton = self.made["after"]
        for each in (self.before, self.after):
            each.setFixedWidth(26)
        self.value = NumberField("Value of the pinned weight", 6)
        self.value.setFixedWidth(92)
        self.value.given.connect(self._edit)
        self.value.dragged.connect(partial(self._edit, dragged=True))
        self.frozen: Tick = self.made["frozen"]
        self.undo: QPushButton = self.made["undo"]
        self.undo.setFixedWidth(56)
        self.options = button("Options of the scene", self._open_options)
        self.options.setText("Options")
        self.panel = OptionsPanel(self, controller)

    def _time_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(5)
        for widget in (self.start, self.back, self.play, self.on, self.unit):
            row.addWidget(widget)
        row.addSpacing(6)
        row.addWidget(self.timeline, 1)
        row.addSpacing(6)
        row.addWidget(self.where)
        row.addWidget(self.options)
        return row

    def _other_rows(self) -> Rows:
        rows = Rows()
        self.sample = group(quiet("Sample"), self.before, self.focus, self.after)
        for widget in (
            group(quiet("Speed"), self.speed, self.speed_text),
            group(quiet("Rate"), self.rate, self.rate_text),
            *(
                group(quiet(row.label), self.made[row.name])
                for row in CONTROLS.values()
                if row.label
            ),
            self.sample,
            group(quiet("Pinned"), self.value, self.frozen, self.undo),
        ):
            rows.addWidget(widget)
        return rows

    def _make(self, row: Control) -> QWidget:
        """The widget of a row."""

        def set(value: object = None) -> None:
            row.set(self.controller, value)
            self._shown.clear()  # what was refused must not stay there

        if row.kind == "choice":
            names = Names(row.about)
            names.textActivated.connect(set)
            return names
        if row.kind == "tick":
            tick = Tick(row.text)
            tick.setToolTip(row.about)
            tick.clicked.connect(set)
            return tick
        if row.kind == "number":
            field = NumberField(row.about)
            field.setFixedWidth(66)
            field.given.connect(set)
            field.dragged.connect(set)
            return field
        made = button(f"{row.about} ({row.key})" if row.key else row.about, lambda: set())
        made.setText(row.text)
        return made

    # What the user does.

    def edit_pinned(self) -> None:
        """Have the pinned weight's value typed."""
        if self._row is None:
            self.controller.ask_for_pin()
        else:
            self.value.edit()

    def _edit(self, value: str | float, *, dragged: bool = False) -> None:
        if self._row is not None:
            self.controller.edit(self._row, value, dragged=dragged)

    def _open_options(self) -> None:
        self.panel.open_above(self.options)

    # What is shown.

    def show_state(self, state: State) -> None:
        """Show a state; what somebody is just moving or typing stays."""
        self._show_time(state)
        if self._is_new("speed", state.speed):
            self.speed.show_number(state.speed)
            self.speed_text.setText(state.pace)
        if self._is_new("rate", state.rate):
            self.rate.show_number(state.rate)
            self.rate_text.show_number(state.rate)
        for row in CONTROLS.values():
            if self._is_new(row.name, now := row.shown(state)):
                self._show(row, *now)
        if self._is_new("sample", (state.focus, state.samples)):
            self.focus.setText(f"{state.focus + 1} of {state.samples:,}")
            self.sample.setEnabled(state.samples > 1)
        if self._is_new("pinned", state.pinned):
            self._show_pinned(state.pinned)

    def _show(self, row: Control, value: Any, names: tuple[str, ...], enabled: bool) -> None:
        made = self.made[row.name]
        made.setEnabled(enabled)
        if row.kind == "choice":
            made.show_names(names, value)
        elif row.kind == "tick":
            made.setChecked(value)
        elif row.kind == "number":
            made.show_number(value)

    @property
    def shows_all(self) -> bool:
        """Whether nothing was touched since the last state was shown."""
        return bool(self._shown)

    def _is_new(self, what: str, now: object) -> bool:
        """Whether something else is shown so far; asking Qt would take longer."""
        if self._shown.get(what, self) == now:
            return False
        self._shown[what] = now
        return True

    def _show_time(self, state: State) -> None:
        if self._is_new("steps", state.unit):
            self.back.setToolTip(f"Back by one {state.unit}")
            self.on.setToolTip(f"On by one {state.unit}")
        if self._is_new("playing", state.playing):
            self.dress(state.theme, state.playing)
        if self._is_new("end", state.end):
            self.timeline.setMaximum(max(1, state.end))
        self.timeline.show_value(state.step)
        if self._is_new("forks", [fork.start for fork in state.branches]):
            self.timeline.marks = [fork.start for fork in state.branches if fork.parent >= 0]
            self.timeline.update()
        self.where.setText(state.where)

    def _show_pinned(self, pinned: PinnedWeight | None) -> None:
        self._row = None if pinned is None else pinned.row
        name = "click a cube to pin its weight" if pinned is None else pinned.name
        self.value.setToolTip(f"{name}: type a number and press Return, or drag it sideways")
        self.value.show_number(None if pinned is None else pinned.value)
        self.value.setEnabled(pinned is not None)

    def dress(self, theme: str, plays: bool) -> None:
        """Icons in the colours of a theme; of the middle one, what it would do."""
        ink = THEMES[theme].controls.ink
        name = "Pause" if plays else "Play"
        self.play.setToolTip(f"{name} (space)")
        self.play.setAccessibleName(name)
        for each, which in (
            (self.start, Icon.SP_MediaSkipBackward),
            (self.back, Icon.SP_MediaSeekBackward),
            (self.play, Icon.SP_MediaPause if plays else Icon.SP_MediaPlay),
            (self.on, Icon.SP_MediaSeekForward),
        ):
            each.setIcon(icon(self, which, ink))


def button(name: str, act: Callable[[], object]) -> QPushButton:
    """A button that takes the focus by Tab only: space goes on to mean play after a click."""
    made = QPushButton()
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setAccessibleName(name)
    made.setToolTip(name)
    made.clicked.connect(lambda: act())  # without Qt's `checked`
    return made


def quiet(text: str, width: int = 0) -> QLabel:
    """A label that does not ask for attention."""
    label = QLabel(text)
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    label.setMinimumWidth(width)
    label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
    return label
