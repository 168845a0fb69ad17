"""ControlBar: the line of controls below the picture."""

from __future__ import annotations

from functools import partial
from typing import Any, final

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from scalarviz.base.texts import text
from scalarviz.faces.controller.control import Control, Shown, groups
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.keys import keys_of, rows_for, written
from scalarviz.faces.controller.state import State
from scalarviz.faces.window.fields import (
    STYLE,
    Button,
    EntryField,
    Names,
    NumberField,
    Quiet,
    Tick,
    Track,
    Words,
)
from scalarviz.faces.window.more import Line, MorePanel
from scalarviz.story.first_controls import FIRST_CONTROLS

KINDS: dict[str, Any] = {
    "button": Button,
    "tick": Tick,
    "choice": Names,
    "number": NumberField,
    "slider": Track,
    "timeline": Track,
    "text": Words,
    "entry": EntryField,
}
HEIGHT = 40  # pixels
ROOMY = 760  # pixels of width from which on the speed is written beside its slider
HINTS = "number", "timeline"  # kinds whose tooltip says how they are used


@final
class ControlBar(QFrame):
    """The controls below the picture; the others are in the `panel` that the last button opens.

    `made` has all by name. `show_state` sets what they show; what they do goes to the controller.
    """

    def __init__(self, controller: Controller | Group) -> None:
        super().__init__()
        self.group = group = Group.of(controller)
        self.setAccessibleName(text("controls.bar"))
        self.setAutoFillBackground(True)
        self.setFixedHeight(HEIGHT)
        self._shown: dict[str, Shown] = {}
        self.rows = [row for row in rows_for(group.state()) if row.place]
        self.made = {row.name: self._make(row) for row in self.rows}
        self.panel = MorePanel(group, self._lines())
        self.more = QPushButton(text("controls.more"))
        self.more.setCheckable(True)
        self.more.setStyleSheet(STYLE)
        self.more.setFixedSize(34, 28)
        self.more.setFocusPolicy(self.made["play"].focusPolicy())
        self.more.setToolTip(text("controls.more.about"))
        self.more.setAccessibleName(text("controls.more.about"))
        self.more.clicked.connect(self.panel.turn)
        self.panel.turned = self.more.setChecked
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 0, 12, 0)
        layout.setSpacing(6)
        for rows in groups(row for row in self.rows if row.primary):
            if rows[0].label:
                layout.addSpacing(6)
                layout.addWidget(Quiet(rows[0].words("label")))
            for row in rows:
                layout.addWidget(self.made[row.name], int(row.kind == "timeline"))
        layout.addWidget(self.more)

    def _lines(self) -> list[Line]:
        """Return the lines of the panel, the first controls in the order of their table."""
        order = [name for names in FIRST_CONTROLS.values() for name in names]
        rows = [row for row in self.rows if row.place == "panel"]
        rows.sort(key=lambda row: order.index(row.name) if row.group else len(order))
        return [
            (each[0].group, each[0].words("label"), [self.made[row.name] for row in each])
            for each in groups(rows)
        ]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out texts that have a slider beside them where there is little room."""
        super().resizeEvent(event)
        self.made["pace"].setVisible(self.width() >= ROOMY)

    def _make(self, row: Control) -> Any:
        """Return the widget of a row."""
        acts = [row.set] if row.kind != "number" else [row.set, row.drag or row.set]
        return KINDS[row.kind](row, *(partial(self._act, row, act) for act in acts))

    def _act(self, row: Control, act: Any, value: object) -> None:
        self.group.act(row, value, act)
        self._shown.clear()  # shows the old value again if a new one was refused

    def show_state(self, state: State) -> None:
        """Show a state, except in controls that the user is moving or typing in."""
        for row in self.rows:
            shown = row.shown(state)
            if self._shown.get(row.name) != shown:  # faster than asking Qt
                self._shown[row.name] = shown
                self._show(row, shown)
        self.panel.show_choices(state.choices)

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
        return bool(self._shown) and self.panel.shows_all
