"""OwnInput: the row below the picture while an input of the user's own is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, final

import ipywidgets
import numpy as np
from ipywidgets import Layout

from scalarviz.base.texts import text
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.own_input import put_in
from scalarviz.faces.controller.state import State
from scalarviz.faces.notebook.widgets import close, group, line
from scalarviz.pictures.draw2d.colors import rgb, to_bytes

TOUCHED = 0.6  # seconds after a user's choice during which the picker is not updated


@final
class OwnInput:
    """A colour picker, if inputs are colours, and the large buttons of the picture once more.

    controller  the controller, or a group of them
    soon        schedules a command of a widget, see `NotebookControls`

    `box` contains the `picker` and the `buttons`; it is hidden while there is no such input.
    """

    def __init__(
        self, controller: Controller | Group, soon: Callable[[object, Callable[[], object]], None]
    ) -> None:
        self._group, self._soon = Group.of(controller), soon
        self._shown = ""  # the colour that the picker was set to
        self._touched = -TOUCHED
        self._offered: tuple[str, ...] = ()
        self.picker: Any = ipywidgets.ColorPicker(concise=True, layout=Layout(width="48px"))
        self.picker.tooltip = text("own.pick")
        self.picker.observe(self._picked, "value")
        self.buttons = line()
        self._color = group(text("own.color").capitalize(), self.picker)
        self.box = line(self._color, self.buttons)
        self.box.layout.display = "none"

    def show_state(self, state: State) -> None:
        """Show the input of a state, and what can be done with it."""
        self.box.layout.display = "none" if state.own is None else ""
        if state.own is None:
            return
        self._color.layout.display = "" if state.own_color else "none"
        if state.own_color and perf_counter() - self._touched > TOUCHED:
            self._shown = "#" + to_bytes(np.array(state.own)).tobytes().hex()
            self.picker.value = self._shown
        if state.offered != self._offered:
            self._offered, before = state.offered, self.buttons.children
            self.buttons.children = tuple(map(self._button, state.offered))
            for each in before:
                close(each)

    def _button(self, offer: str) -> Any:
        made = ipywidgets.Button(description=offer, layout=Layout(width="auto"))
        made.on_click(lambda _: self._soon(None, partial(self._group.lead.stage.press, offer)))
        return made

    def _picked(self, change: Any) -> None:
        """Put in a colour that the user has picked, such as "#facc7e"."""
        if change.new != self._shown and len(change.new) == 7:
            self._touched = perf_counter()
            self._soon(self.picker, partial(put_in, self._group.lead, rgb((change.new,))[0]))
