"""NotebookControls: the controls below the picture in a notebook."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, final

import ipywidgets
from ipywidgets import Layout

from scalarviz.base.texts import text
from scalarviz.faces.controller.control import Control, Shown, groups
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.keys import rows_for
from scalarviz.faces.controller.options import OptionChoice
from scalarviz.faces.controller.state import State
from scalarviz.faces.notebook.own_input import OwnInput
from scalarviz.faces.notebook.widgets import close, group, line

TOUCHED = 0.6  # seconds after a user's change during which a control is not updated
SLIDERS = "slider", "timeline"

Deed = Callable[[Any], object]


def button(row: Control) -> Any:
    width = "64px" if row.strong else "40px" if row.icon else "auto"
    return ipywidgets.Button(
        layout=Layout(width=width), button_style="primary" if row.strong else ""
    )


def tick(row: Control) -> Any:
    return ipywidgets.Checkbox(indent=False, layout=Layout(width="auto"))


def choice(row: Control) -> Any:
    return ipywidgets.Dropdown(layout=Layout(width=f"{60 + 7 * row.room}px"))


def number(row: Control) -> Any:
    return ipywidgets.FloatText(layout=Layout(width=f"{60 + 3 * row.room}px"))


def slider(row: Control) -> Any:
    """Return an integer slider: float values come back rounded from the page, integers exact."""
    return ipywidgets.IntSlider(max=1, readout=False, layout=Layout(width="110px"))


def timeline(row: Control) -> Any:
    layout = Layout(flex="1 1 160px", width="auto")
    return ipywidgets.IntSlider(max=1, readout=False, layout=layout)


def words(row: Control) -> Any:
    layout = Layout(min_width=f"{6.4 * row.room:.0f}px", margin="2px 2px 2px 6px")
    return ipywidgets.Label(layout=layout)


def entry(row: Control) -> Any:
    """Return a field that completes; its text arrives with Return, or when it is left."""
    layout = Layout(width=f"{60 + 6 * row.room}px")
    return ipywidgets.Combobox(ensure_option=False, continuous_update=False, layout=layout)


KINDS = {
    "button": button,
    "tick": tick,
    "choice": choice,
    "number": number,
    "slider": slider,
    "timeline": timeline,
    "text": words,
    "entry": entry,
}


@final
class NotebookControls:
    """All controls, by name in `made`; `box` contains them.

    controller  the controller
    later       schedules a call on the controller's thread; events of a browser may arrive on
                another
    """

    def __init__(
        self,
        controller: Controller | Group,
        later: Callable[[Callable[[], None]], None],
    ) -> None:
        self.group = group_of_all = Group.of(controller)
        self._later = later
        self._showing: int | None = None  # the thread that is updating the widgets
        self._waiting: deque[tuple[object, Callable[[], object]]] = deque()
        self._touched: dict[Any, float] = {}
        self._shown: dict[str, Shown] = {}
        self._choices: tuple[OptionChoice, ...] = ()
        rows = rows_for(group_of_all.state())
        more = [row for row in rows if not row.place and row.menu and not row.window]
        self.rows = [*(row for row in rows if row.place), *more]
        self.made = {row.name: self._make(row) for row in self.rows}
        more_text, layout = text("controls.more"), Layout(width="40px")
        self.options = ipywidgets.ToggleButton(description=more_text, layout=layout)
        self.options.tooltip = text("controls.more.about")
        self.options.observe(self._open, "value")
        self.scene = line()
        self.own = OwnInput(self.group, self._soon)
        others = [self._in_more(row) for row in more]
        first, second = (
            [
                group(each[0].words("label"), *(self.made[row.name] for row in each))
                for each in groups(row for row in rows if row.place == place)
            ]
            for place in ("bar", "panel")
        )
        parts = [line(*second), line(*others), self.scene]
        self.more = ipywidgets.VBox(parts, layout=Layout(display="none"))
        bar = [*first, self.options]
        parts = [self.own.box, line(*bar), self.more]
        self.box = ipywidgets.VBox(parts, layout=Layout(width="100%"))

    @property
    def controller(self) -> Controller:
        """The controller of the chosen session."""
        return self.group.lead

    # Construction.

    def _in_more(self, row: Control) -> Any:
        """Return the widget of a row; a choice has its name in front."""
        made = self.made[row.name]
        return group(row.words("name").capitalize(), made) if row.kind == "choice" else made

    def _make(self, row: Control) -> Any:
        """Return the widget of a row, connected to its setter."""
        made, act = KINDS[row.kind](row), partial(self.group.act, row)
        if row.kind == "button":
            made.on_click(lambda _: self._soon(None, partial(act, 1)))
        elif row.kind in SLIDERS:
            self._observe(made, lambda place: act(self._shown[row.name].scale.number(place)))
        elif row.kind != "text":
            self._observe(made, act)
        return made

    def _observe(self, control: Any, act: Deed) -> None:
        """Call `act` when a user changes a control."""

        def moved(change: Any) -> None:
            if self._showing != threading.get_ident():
                self._touched[control] = perf_counter()
                self._soon(control, partial(act, change.new))

        control.observe(moved, "value")

    # Commands.

    def _soon(self, control: object, command: Callable[[], object]) -> None:
        """Schedule a command; of waiting changes of one control, only the last is executed."""
        if control is not None and self._waiting and self._waiting[-1][0] is control:
            self._waiting.pop()
        self._waiting.append((control, command))
        self._later(self.attend)

    def attend(self) -> None:
        """Execute the waiting commands."""
        while self._waiting:
            self._waiting.popleft()[1]()

    def _open(self, change: Any) -> None:
        self.more.layout.display = "" if change.new else "none"

    # Display.

    def show_state(self, state: State) -> None:
        """Show a state, except in controls that the user has just moved."""
        self._showing = threading.get_ident()
        try:
            for row in self.rows:
                self._shown[row.name] = row.shown(state)
                self._show(row, self._shown[row.name])
            self._show_scene(state)
            self.own.show_state(state)
        finally:
            self._showing = None

    def _show(self, row: Control, shown: Shown) -> None:
        made, value = self.made[row.name], shown.value
        told = {"tooltip": shown.about, "disabled": not shown.enabled}
        if row.kind == "button":
            description = "" if shown.icon else shown.text or shown.about
            self._set(made, **told, icon=shown.icon, description=description)
        elif row.kind == "tick":
            self._set(made, **told, description=shown.text, value=value)
        elif row.kind == "choice":
            if made.options != shown.names:
                made.options = shown.names
            self._set(made, **told, value=value)
        elif row.kind == "entry":
            self._set(made, **told, options=shown.names, value=value)
        elif row.kind == "number":
            if value is not None and not math.isfinite(value):  # JSON has no such number
                told["tooltip"], value = f"{shown.about}: {value}", None
            self._set(made, **told, value=float(f"{value or 0.0:.6g}"))
        elif row.kind in SLIDERS:
            last, at = shown.scale.last, shown.scale.place(value)
            with made.hold_trait_notifications():  # a message may have changed both ends
                self._set(made, **told, min=0, max=last, value=at)
        else:
            self._set(made, tooltip=shown.about, value=str(value))

    def _set(self, control: Any, **traits: Any) -> None:
        if perf_counter() - self._touched.get(control, -TOUCHED) < TOUCHED:
            return
        for name, value in traits.items():
            if getattr(control, name) != value:
                setattr(control, name, value)

    def _show_scene(self, state: State) -> None:
        """Show the options of the scene; rebuilt only if they have changed."""
        if state.choices != self._choices:
            self._choices, before = state.choices, self.scene.children
            self.scene.children = tuple(self._field(choice) for choice in state.choices)
            for group_before in before:
                for control in group_before.children:
                    self._touched.pop(control, None)
                close(group_before)

    def _set_option(self, name: str, value: object) -> None:
        self.group.lead.set_option(name, value)

    def _field(self, choice: OptionChoice) -> Any:
        """Return the control for an option of the scene."""
        field: Any
        layout = Layout(width="120px")
        if choice.kind is bool:
            field = ipywidgets.Checkbox(value=choice.value, indent=False, layout=layout)
        elif choice.choices:
            names = [*dict.fromkeys((*choice.choices, str(choice.value)))]
            field = ipywidgets.Dropdown(options=names, value=str(choice.value), layout=layout)
        else:
            field = ipywidgets.Text(value=str(choice.value), continuous_update=False, layout=layout)
        field.tooltip = choice.help
        if choice.restarts:
            field.tooltip = text("controls.starts_again", about=choice.help)
        self._observe(field, partial(self._set_option, choice.name))
        return group(choice.name, field)
