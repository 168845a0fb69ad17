"""The bar below the picture: time in its first row, what is set and shown in the second."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import final

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
)

from scalarviz.controller.controller import Controller
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
    """All controls. What they show comes from `show_state`; what they do goes to the desk."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setAccessibleName("Controls")
        self.setAutoFillBackground(True)
        self.controller = controller
        self._row: int | None = None  # the weight whose number is shown
        self._shown: dict[str, object] = {}
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
        self.unit = self._names("What the arrows move by", controller.set_unit)
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
        self.color = self._names("What colours stand for", partial(controller.set_channel, "color"))
        self.sizes = self._names("What sizes stand for", partial(controller.set_channel, "size"))
        self.before = button("The sample before (<)", controller.previous_sample)
        self.focus = quiet("", 62)
        self.focus.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.after = button("The next sample (>)", controller.next_sample)
        for each, text, width in ((self.before, "<", 26), (self.after, ">", 26)):
            each.setText(text)
            each.setFixedWidth(width)
        self.value = NumberField("Value of the pinned weight", 6)
        self.value.setFixedWidth(92)
        self.value.given.connect(self._edit)
        self.value.dragged.connect(partial(self._edit, dragged=True))
        self.frozen = Tick("frozen")
        self.frozen.setToolTip("Keep this weight from moving")
        self.frozen.clicked.connect(self._freeze)
        self.undo = button("Undo the last edit or freeze (Z)", controller.undo)
        self.undo.setText("Undo")
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
            group(quiet("Colour"), self.color),
            group(quiet("Size"), self.sizes),
            self.sample,
            group(quiet("Pinned"), self.value, self.frozen, self.undo),
        ):
            rows.addWidget(widget)
        return rows

    def _names(self, name: str, choose: Callable[[str], None]) -> Names:
        names = Names(name)

        def chosen(text: str) -> None:
            choose(text)
            self._shown.clear()  # what was refused must not stay there

        names.textActivated.connect(chosen)
        return names

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

    def _freeze(self, on: bool) -> None:
        if self._row is not None:
            self.controller.freeze(self._row, on)
        self._shown.clear()

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
        if self._is_new("channels", (state.channels, state.color, state.size)):
            self.color.show_names(state.channels, state.color)
            self.sizes.show_names(state.channels, state.size)
        if self._is_new("sample", (state.focus, state.samples)):
            self.focus.setText(f"{state.focus + 1} of {state.samples:,}")
            self.sample.setEnabled(state.samples > 1)
        if self._is_new("edits", state.edits):
            self.undo.setEnabled(state.edits > 0)
        if self._is_new("pinned", state.pinned):
            self._show_pinned(state.pinned)

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
        if self._is_new("unit", (state.units, state.unit)):
            self.unit.show_names(state.units, state.unit)
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
        self.frozen.setChecked(pinned is not None and pinned.frozen)
        for widget in (self.value, self.frozen):
            widget.setEnabled(pinned is not None)

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
