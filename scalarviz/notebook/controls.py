"""The controls below the picture in a notebook: what they show and what they do."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from html import escape
from time import perf_counter
from typing import Any, final

import ipywidgets
from ipywidgets import Layout

from scalarviz.controller.control import Control, Shown, groups
from scalarviz.controller.controller import Controller
from scalarviz.controller.controls import CONTROLS
from scalarviz.controller.options import OptionChoice
from scalarviz.controller.state import State
from scalarviz.texts import text

TOUCHED = 0.6  # seconds for which a control that is moved is not moved by us
SLIDERS = "slider", "timeline"

Deed = Callable[[Any], object]


def button(row: Control) -> Any:
    return ipywidgets.Button(layout=Layout(width="40px" if row.icon else "auto"))


def tick(row: Control) -> Any:
    return ipywidgets.Checkbox(indent=False, layout=Layout(width="auto"))


def choice(row: Control) -> Any:
    return ipywidgets.Dropdown(layout=Layout(width=f"{60 + 7 * row.room}px"))


def number(row: Control) -> Any:
    return ipywidgets.FloatText(layout=Layout(width=f"{60 + 3 * row.room}px"))


def slider(row: Control) -> Any:
    """An integer slider: the page sends float values back after rounding them, integers never."""
    return ipywidgets.IntSlider(max=1, readout=False, layout=Layout(width="110px"))


def timeline(row: Control) -> Any:
    layout = Layout(flex="1 1 160px", width="auto")
    return ipywidgets.IntSlider(max=1, readout=False, layout=layout)


def words(row: Control) -> Any:
    layout = Layout(min_width=f"{6.4 * row.room:.0f}px", margin="2px 2px 2px 6px")
    return ipywidgets.Label(layout=layout)


KINDS = {
    "button": button,
    "tick": tick,
    "choice": choice,
    "number": number,
    "slider": slider,
    "timeline": timeline,
    "text": words,
}


@final
class NotebookControls:
    """All controls, by their names in `made`; `box` holds them.

    later  calls something soon on the controller's thread; what a browser says of a control may
           arrive on another one
    """

    def __init__(self, controller: Controller, later: Callable[[Callable[[], None]], None]) -> None:
        self.controller = controller
        self._later = later
        self._showing: int | None = None  # the thread that shows a state just now
        self._waiting: deque[tuple[object, Callable[[], object]]] = deque()
        self._touched: dict[Any, float] = {}
        self._shown: dict[str, Shown] = {}
        self._choices: tuple[OptionChoice, ...] = ()
        rows = CONTROLS.values()
        more = [row for row in rows if not row.line and row.menu not in ("", "File")]
        self.rows = [*(row for row in rows if row.line), *more]
        self.made = {row.name: self._make(row) for row in self.rows}
        more_text, layout = text("controls.more"), Layout(width="70px")
        self.options = ipywidgets.ToggleButton(description=more_text, layout=layout)
        self.options.tooltip = text("controls.more.about")
        self.options.observe(self._open, "value")
        self.scene = line()
        others = [self._in_more(row) for row in more]
        self.more = ipywidgets.VBox([line(*others), self.scene], layout=Layout(display="none"))
        first = [self.made[row.name] for row in rows if row.line == 1]
        second = [
            group(each[0].words("label"), *(self.made[row.name] for row in each))
            for each in groups(row for row in rows if row.line == 2)
        ]
        lines = [line(*first, self.options), line(*second), self.more]
        self.box = ipywidgets.VBox(lines, layout=Layout(width="100%"))

    # What there is.

    def _in_more(self, row: Control) -> Any:
        """The widget of a row; a choice behind its name."""
        made = self.made[row.name]
        return group(row.words("name").capitalize(), made) if row.kind == "choice" else made

    def _make(self, row: Control) -> Any:
        """The widget of a row."""
        made, act = KINDS[row.kind](row), partial(row.set, self.controller)
        if row.kind == "button":
            made.on_click(lambda _: self._soon(None, partial(act, 1)))
        elif row.kind in SLIDERS:
            self._observe(made, lambda place: act(self._shown[row.name].scale.number(place)))
        elif row.kind != "text":
            self._observe(made, act)
        return made

    def _observe(self, control: Any, act: Deed) -> None:
        """Have a control do something when a user moves it."""

        def moved(change: Any) -> None:
            if self._showing != threading.get_ident():
                self._touched[control] = perf_counter()
                self._soon(control, partial(act, change.new))

        control.observe(moved, "value")

    # What users do.

    def _soon(self, control: object, command: Callable[[], object]) -> None:
        """Do something on the controller's thread; what moves meanwhile counts where it is then."""
        if control is not None and self._waiting and self._waiting[-1][0] is control:
            self._waiting.pop()
        self._waiting.append((control, command))
        self._later(self.attend)

    def attend(self) -> None:
        """Do what was asked for since the last time."""
        while self._waiting:
            self._waiting.popleft()[1]()

    def _open(self, change: Any) -> None:
        self.more.layout.display = "" if change.new else "none"

    # What is shown.

    def show_state(self, state: State) -> None:
        """Show a state; what somebody is just moving stays."""
        self._showing = threading.get_ident()
        try:
            for row in self.rows:
                self._shown[row.name] = row.shown(state)
                self._show(row, self._shown[row.name])
            self._show_scene(state)
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
        elif row.kind == "number":
            if value is not None and not math.isfinite(value):  # no page can be told such a number
                told["tooltip"], value = f"{shown.about}: {value}", None
            self._set(made, **told, value=float(f"{value or 0.0:.6g}"))
        elif row.kind in SLIDERS:
            self._set(made, **told, max=shown.scale.last, value=shown.scale.place(value))
        else:
            self._set(made, tooltip=shown.about, value=str(value))

    def _set(self, control: Any, **traits: Any) -> None:
        if perf_counter() - self._touched.get(control, -TOUCHED) < TOUCHED:
            return
        for name, value in traits.items():
            if getattr(control, name) != value:
                setattr(control, name, value)

    def _show_scene(self, state: State) -> None:
        """The options of the scene; new ones only where something has changed."""
        if state.choices != self._choices:
            self._choices, before = state.choices, self.scene.children
            self.scene.children = tuple(self._field(choice) for choice in state.choices)
            for group_before in before:
                for control in group_before.children:
                    self._touched.pop(control, None)
                close(group_before)

    def _field(self, choice: OptionChoice) -> Any:
        """The control that suits an option of the scene."""
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
        self._observe(field, partial(self.controller.set_option, choice.name))
        return group(choice.name, field)


def group(name: str, *controls: Any) -> Any:
    """Controls that stay together, with a name before them."""
    label = ipywidgets.HTML(f'<span style="opacity: 0.7">{escape(name)}</span>')
    return ipywidgets.HBox([label, *controls], layout=Layout(margin="0 8px 0 4px"))


def line(*children: Any) -> Any:
    """A row that goes on in the next line where it is too narrow."""
    return ipywidgets.HBox(children, layout=Layout(flex_flow="row wrap", align_items="center"))


def close(widget: Any) -> None:
    """A widget and all in it, and what says how it looks: ipywidgets keeps all that is open."""
    for child in getattr(widget, "children", ()):
        close(child)
    widget.close()
    for name in ("layout", "style"):
        part = getattr(widget, name, None)
        if isinstance(part, ipywidgets.Widget):
            part.close()
