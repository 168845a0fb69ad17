"""ControlBar: the controls below the picture, in two lines."""

from __future__ import annotations

from functools import partial
from typing import Any, final

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from scalarviz.controller.control import Control, Shown, groups
from scalarviz.controller.controller import Controller
from scalarviz.controller.controls import CONTROLS
from scalarviz.controller.keys import keys_of, written
from scalarviz.controller.state import State
from scalarviz.texts import text
from scalarviz.window.fields import Button, Names, NumberField, Quiet, Tick, Track, Words
from scalarviz.window.options import OptionsPanel
from scalarviz.window.rows import Rows, group

KINDS: dict[str, Any] = {
    "button": Button,
    "tick": Tick,
    "choice": Names,
    "number": NumberField,
    "slider": Track,
    "timeline": Track,
    "text": Words,
}
HINTS = "number", "timeline"  # kinds whose tooltip says how they are used


@final
class ControlBar(QFrame):
    """All controls, by name in `made`.

    `show_state` sets what they show; what they do goes to the controller.
    """

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setAccessibleName(text("controls.bar"))
        self.setAutoFillBackground(True)
        self.controller = controller
        self._shown: dict[str, Shown] = {}
        self.rows = [row for row in CONTROLS.values() if row.line]
        self.made = {row.name: self._make(row) for row in self.rows}
        self.panel = OptionsPanel(self, controller)
        self.options = QPushButton(text("controls.options"))
        self.options.setFocusPolicy(self.made["play"].focusPolicy())
        self.options.setToolTip(text("controls.options_of_scene"))
        self.options.clicked.connect(lambda: self.panel.open_above(self.options))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 7)
        layout.setSpacing(5)
        layout.addLayout(self._time_row())
        layout.addLayout(self._other_rows())

    def _time_row(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setSpacing(5)
        for row in self.rows:
            if row.line == 1:
                long = row.kind == "timeline"
                line.addSpacing(6 * long)
                line.addWidget(self.made[row.name], int(long))
                line.addSpacing(6 * long)
        line.addWidget(self.options)
        return line

    def _other_rows(self) -> Rows:
        lines = Rows()
        for rows in groups(row for row in self.rows if row.line == 2):
            label = Quiet(rows[0].words("label"))
            lines.addWidget(group(label, *(self.made[row.name] for row in rows)))
        return lines

    def _make(self, row: Control) -> Any:
        """Return the widget of a row."""
        acts = [row.set] if row.kind != "number" else [row.set, row.drag or row.set]
        return KINDS[row.kind](row, *(partial(self._act, act) for act in acts))

    def _act(self, act: Any, value: object) -> None:
        act(self.controller, value)
        self._shown.clear()  # shows the old value again if a new one was refused

    def show_state(self, state: State) -> None:
        """Show a state, except in controls that the user is moving or typing in."""
        for row in self.rows:
            shown = row.shown(state)
            if self._shown.get(row.name) != shown:  # faster than asking Qt
                self._shown[row.name] = shown
                self._show(row, shown)

    def _show(self, row: Control, shown: Shown) -> None:
        made = self.made[row.name]
        keys = " ".join(map(written, keys_of(row, shown.names)))
        about = shown.about
        if row.kind in HINTS:
            about = text(f"controls.hint.{row.kind}", about=about)
        made.setAccessibleName(shown.about)
        made.setToolTip(about + f" ({keys})" * bool(keys))
        made.setEnabled(shown.enabled)
        made.show_control(shown)

    @property
    def shows_all(self) -> bool:
        """Whether no control was touched since the last `show_state`."""
        return bool(self._shown)
