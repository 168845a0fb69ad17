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

from scalarviz.controller.controller import Controller
from scalarviz.controller.controls import CONTROLS, Control
from scalarviz.controller.options import OptionChoice
from scalarviz.controller.state import Fork, PinnedWeight, State
from scalarviz.view.scene.camera import CAMERAS

SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 1e4)  # steps a second
FLAT_OUT = 0.0
RATES = -6.0, 2.0  # powers of ten, in steps of PART
PART = 0.05
TOUCHED = 0.6  # seconds for which a control that is moved is not moved by us
ECHO = 2.0  # seconds for which a page may still send back a value that it was told
MOST_OF_A_LOOK = 0.25  # of these for one look: while a cell runs nothing arrives
NARROW, SHORT = {"width": "40px"}, {"width": "110px"}

Deed = Callable[[Any], object]


@final
class NotebookControls:
    """All controls; `box` holds them.

    later  calls something soon on the controller's thread; what a browser says of a control may
           arrive on another one
    """

    def __init__(self, controller: Controller, later: Callable[[Callable[[], None]], None]) -> None:
        self.controller = controller
        self._later = later
        self._showing: int | None = None  # the thread that shows a state just now
        self._waiting: deque[tuple[object, Callable[[], object]]] = deque()
        self._touched: dict[Any, float] = {}
        self._told: dict[float, float] = {}  # rates that a page may send back: seconds left
        self._looked = perf_counter()
        self._row: int | None = None  # the weight whose number is shown
        self._choices: tuple[OptionChoice, ...] = ()
        self.made = {name: self._make(row) for name, row in CONTROLS.items()}
        self._make_time()
        self._make_settings()
        self._make_view()
        rows = [self._time_row(), self._settings_row(), self.more]
        self.box = ipywidgets.VBox(rows, layout=Layout(width="100%"))

    # What there is.

    def _make_time(self) -> None:
        controller = self.controller
        self.start = self._button("step-backward", "Back to the start", lambda: controller.seek(0))
        self.back = self._button("backward", "Back", lambda: controller.step(-1))
        self.play = self._button("play", "Play", controller.toggle_play)
        self.on = self._button("forward", "On", lambda: controller.step(+1))
        self.unit = self.made["unit"]
        self.unit.layout.width = "96px"
        self.timeline = ipywidgets.IntSlider(
            max=1, readout=False, layout=Layout(flex="1 1 160px", width="auto")
        )
        self._named(self.timeline, "Every step so far", controller.seek)
        self.where = ipywidgets.Label(layout=Layout(min_width="190px", margin="0 0 0 8px"))
        self.options = ipywidgets.ToggleButton(description="More", layout=Layout(width="70px"))
        self.options.tooltip = "Camera, colours, branches, and the options of the scene"
        self.options.observe(self._open, "value")

    def _make_settings(self) -> None:
        controller = self.controller
        self.speed = ipywidgets.SelectionSlider(
            options=[*((f"{speed:g}/s", speed) for speed in SPEEDS), ("flat out", FLAT_OUT)],
            value=FLAT_OUT,
            readout=False,
            layout=SHORT,
        )
        self._named(self.speed, "Steps a second; at the right end flat out", self._set_speed)
        self.pace = ipywidgets.Label(layout=Layout(width="66px", margin="0 0 0 6px"))
        low, high = RATES
        self.rate = ipywidgets.FloatSlider(
            min=low, max=high, step=PART, readout=False, layout=SHORT
        )
        self._named(self.rate, "Learning rate", self._set_rate)
        self.rate_text = ipywidgets.FloatText(layout=Layout(width="84px"))
        self._named(self.rate_text, "Learning rate, in numbers", controller.set_rate)
        self.color, self.size = self.made["color"], self.made["size"]
        self.before, self.after = self.made["before"], self.made["after"]
        self.focus = ipywidgets.Label()
        self.value = ipywidgets.FloatText(layout=Layout(width="96px"))
        self._named(self.value, "Value of the pinned weight", self._edit)
        self.frozen, self.undo = self.made["frozen"], self.made["undo"]

    def _make_view(self) -> None:
        controller, stage = self.controller, self.controller.stage
        self.camera = self._names("Where it is looked at from", stage.look)
        self.camera.options = tuple(CAMERAS)
        buttons = {
            "Whole network": stage.frame_all,
            "Pinned closely": stage.frame_pinned,
            "Lay out otherwise": lambda: controller.press("l"),
            "Colours by layer": self._by_layer,
            "Fit colours": stage.rescale,
            "Light or dark": lambda: controller.press("d"),
            "Keys": lambda: controller.press("?"),
            "Start again": controller.reset,
        }
        self.branches = self._names("Go over to another branch", controller.switch, "210px")
        self.scene = ipywidgets.HBox(layout=Layout(flex_flow="row wrap"))
        self.more = ipywidgets.VBox(
            [
                row(
                    group("Camera", self.camera),
                    *(self._button("", name, act, name) for name, act in buttons.items()),
                ),
                row(group("Branch", self.branches), self.scene),
            ],
            layout=Layout(display="none"),
        )

    def _time_row(self) -> Any:
        return row(
            *(self.start, self.back, self.play, self.on, self.unit),
            *(self.timeline, self.where, self.options),
        )

    def _settings_row(self) -> Any:
        return row(
            group("Speed", self.speed, self.pace),
            group("Rate", self.rate, self.rate_text),
            *(group(row.label, self.made[row.name]) for row in CONTROLS.values() if row.label),
            group("Sample", self.before, self.focus, self.after),
            group("Pinned", self.value, self.frozen, self.undo),
        )

    def _make(self, row: Control) -> Any:
        """The widget of a row."""
        act = partial(row.set, self.controller)
        if row.kind == "choice":
            return self._names(row.about, act)
        if row.kind == "button":
            return self._button(
                row.icon, row.about, partial(act, None), "" if row.icon else row.text
            )
        if row.kind == "tick":
            layout = Layout(width="70px")
            made = ipywidgets.Checkbox(description=row.text, indent=False, layout=layout)
        else:
            made = ipywidgets.FloatText(layout=Layout(width="84px"))
        self._named(made, row.about, act)
        return made

    def _button(self, icon: str, name: str, act: Callable[[], object], text: str = "") -> Any:
        layout = {"width": "auto"} if text else NARROW
        made = ipywidgets.Button(icon=icon, description=text, tooltip=name, layout=layout)
        made.on_click(lambda _: self._soon(None, act))
        return made

    def _names(self, name: str, choose: Deed, width: str = "116px") -> Any:
        made = ipywidgets.Dropdown(layout=Layout(width=width))
        self._named(made, name, choose)
        return made

    def _named(self, control: Any, name: str, act: Deed) -> None:
        """Say what a control is for, and have it do something when a user moves it."""
        control.tooltip = name

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

    def edit_pinned(self) -> None:
        """Have the pinned weight's value typed."""
        if self._row is None:
            self.controller.ask_for_pin()
        else:
            self.value.focus()

    def _edit(self, value: float) -> None:
        if self._row is not None:
            self.controller.edit(self._row, value)

    def _set_speed(self, speed: float) -> None:
        self.controller.set_speed(None if speed == FLAT_OUT else speed)

    def _set_rate(self, power: float) -> None:
        """Take what a user chose, not what the page sends back of what its slider was told.

        A page sends a value back as it rounds it; while a cell runs for long that waits, and by
        then the rate may be another one.
        """
        if on_grid(power) not in self._told:
            self._told = {}  # what is sent after this one was chosen too
            self.controller.set_rate(round_to(10.0**power, 3))

    def _by_layer(self) -> None:
        self.controller.stage.per_layer = not self.controller.stage.per_layer

    def _open(self, change: Any) -> None:
        self.more.layout.display = "" if change.new else "none"

    # What is shown.

    def show_state(self, state: State) -> None:
        """Show a state; what somebody is just moving stays."""
        self._showing = threading.get_ident()
        try:
            self._show_time(state)
            self._show_settings(state)
            self._show_pinned(state.pinned)
            self._show_more(state)
        finally:
            self._showing = None

    def _tell(self, place: float) -> None:
        """Note where the slider of rates is put; what a page was told long ago is forgotten."""
        now = perf_counter()
        spent, self._looked = min(now - self._looked, MOST_OF_A_LOOK), now
        left = {each: rest - spent for each, rest in self._told.items()}
        self._told = {each: rest for each, rest in left.items() if rest > 0.0} | {place: ECHO}

    def _set(self, control: Any, **traits: Any) -> None:
        if perf_counter() - self._touched.get(control, -TOUCHED) < TOUCHED:
            return
        for name, value in traits.items():
            if getattr(control, name) != value:
                setattr(control, name, value)

    def _set_names(self, control: Any, names: tuple[Any, ...], chosen: object) -> None:
        if control.options != names:
            control.options = names
        self._set(control, value=chosen)

    def _show_time(self, state: State) -> None:
        name = "Pause" if state.playing else "Play"
        self._set(self.play, icon=name.lower(), tooltip=name)
        self._set(self.back, tooltip=f"Back by one {state.unit}")
        self._set(self.on, tooltip=f"On by one {state.unit}")
        self._set(self.timeline, max=max(1, state.end), value=state.step)
        self._set(self.where, value=state.where)

    def _show_settings(self, state: State) -> None:
        speed = min(SPEEDS, key=nearness(state.speed)) if state.speed else FLAT_OUT
        self._set(self.speed, value=speed)
        self._set(self.pace, value=state.pace)
        place = on_grid(power_of(state.rate))
        self._set(self.rate, value=place)
        self._tell(place)
        self._set(self.rate_text, value=round_to(state.rate))
        for row in CONTROLS.values():
            self._show(row, *row.shown(state))
        self._set(self.focus, value=f"{state.focus + 1} of {state.samples:,}")

    def _show(self, row: Control, value: Any, names: tuple[str, ...], enabled: bool) -> None:
        made = self.made[row.name]
        self._set(made, disabled=not enabled)
        if row.kind == "choice":
            self._set_names(made, names, value)
        elif row.kind != "button":
            self._set(made, value=value)

    def _show_pinned(self, pinned: PinnedWeight | None) -> None:
        self._row = None if pinned is None else pinned.row
        name = "Click a cube to pin its weight" if pinned is None else f"Value of {pinned.name}"
        number = 0.0 if pinned is None else round_to(pinned.value)
        if not math.isfinite(number):  # no page can be told such a number
            name, number = f"{name}: {number}", 0.0
        self._set(self.value, tooltip=name, value=number, disabled=pinned is None)

    def _show_more(self, state: State) -> None:
        self._set(self.camera, value=state.camera)
        names = tuple((fork_in_words(fork), fork.number) for fork in state.branches)
        self._set_names(self.branches, names, state.branch)
        runs_on = OptionChoice("engine", str, state.engine, state.engines, "what it runs on", False)
        choices = (runs_on, *state.options)
        if choices != self._choices:
            self._choices, before = choices, self.scene.children
            self.scene.children = tuple(self._field(choice) for choice in choices)
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
        note = f"{choice.help}; another choice starts again" if choice.restarts else choice.help
        self._named(field, note, partial(self.controller.set_option, choice.name))
        return group(choice.name, field)


def group(name: str, *controls: Any) -> Any:
    """Controls that stay together, with a name before them."""
    label = ipywidgets.HTML(f'<span style="opacity: 0.7">{escape(name)}</span>')
    return ipywidgets.HBox([label, *controls], layout=Layout(margin="0 10px 0 0"))


def row(*children: Any) -> Any:
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


def power_of(rate: float) -> float:
    """Where a rate is on its slider."""
    low, high = RATES
    return min(max(math.log10(rate), low), high) if rate > 0.0 else low


def on_grid(power: float) -> float:
    """The nearest place at which the slider of rates can stand."""
    return round(round(power / PART) * PART, 2)


def nearness(speed: float) -> Callable[[float], float]:
    return lambda each: abs(math.log(each / speed))


def round_to(number: float, digits: int = 6) -> float:
    """As it is worth being shown."""
    return float(f"{number:.{digits}g}")


def fork_in_words(fork: Fork) -> str:
    start = "the start" if fork.parent < 0 else f"step {fork.start:,}"
    return f"{fork.number}: from {start} to step {fork.end:,}"
