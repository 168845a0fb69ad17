"""CONTROLS: the action of each row of COMMANDS, and its value in a FaceState.

The window, notebooks, keys and the help use this table in the given order. A new control needs a
row in stage/commands.py, and a Control here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import table
from scalarviz.faces.controller import changes
from scalarviz.faces.controller.changes import HIGHEST_RATE, go_wrong, preset_names
from scalarviz.faces.controller.clock_control import reporting_errors
from scalarviz.faces.controller.control import (
    PER_DECADE,
    SLOW,
    Control,
    FaceState,
    LogScale,
    Scale,
)
from scalarviz.faces.controller.files_and_links import (
    choose_scene,
    copy_link,
    entries,
    entry_of,
)
from scalarviz.faces.controller.stopping import completions, find_first, stop_when
from scalarviz.scene.look import OFFERS
from scalarviz.stage.channels import CUBES
from scalarviz.training.session.branches import Branch

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

Setter = Callable[[Any, Any], object]
Getter = Callable[[FaceState], Any]


# Getters of a state, and setters: a named command of an interface, or a function.


def field(name: str) -> Getter:
    """Return a getter for a field of FaceState."""
    assert hasattr(FaceState, name) or name in FaceState.__annotations__, name
    return attrgetter(name)


def of(pinned: str, name: str, default: Any = None) -> Getter:
    """Return a getter for a field of the pinned item, or for `default` if nothing is pinned."""
    return lambda state: getattr(getattr(state, pinned), name, default)


def give(command: str | Callable[..., object], *first: object, **more: object) -> Setter:
    """Return a setter that calls a command with the arguments `first`, followed by the value."""
    if isinstance(command, str):
        return lambda face, value: attrgetter(command)(face)(*first, value, **more)
    return lambda face, value: command(face, *first, value, **more)


def press(command: str | Callable[..., object], *given: object) -> Setter:
    """Return a setter that calls a command with the given arguments and ignores the value."""
    if isinstance(command, str):
        return lambda face, _: attrgetter(command)(face)(*given)
    return lambda face, _: command(face, *given)


def put(owner: str, name: str) -> Setter:
    """Return a setter for the attribute `name` of a part of the interface, such as "stage"."""
    return lambda face, value: setattr(attrgetter(owner)(face), name, value)


def to_pinned(
    command: str | Callable[..., object], *, layer: bool = False, **more: object
) -> Setter:
    """Return a setter that calls a command with the pinned weight, or its layer, and the value.

    If nothing is pinned, the setter does nothing.
    """

    def put_to(controller: Controller, value: object) -> None:
        pinned = controller.face.state.pinned_layer
        rows = controller.stage.pinned if not layer else pinned and list(pinned.rows)
        if rows is not None:
            give(command, rows, **more)(controller, value)

    return put_to


# Time: scales, and texts that depend on the state.

FASTEST = 1e5  # steps per second on a slider; its right end is as fast as possible
SLOWEST = 0.25  # operations per second
RATES = LogScale(1e-6, HIGHEST_RATE)


def speeds(state: FaceState) -> LogScale:
    """Return the scale of the speed slider in steps per second; it contains the powers of ten."""
    place = round(PER_DECADE * math.log10(SLOWEST / state.operations))
    lowest = 10.0 ** (place / PER_DECADE)
    if state.by_operation:
        return LogScale(lowest, SLOW / state.operations)
    return LogScale(lowest, FASTEST, endless=True)


def has_samples(state: FaceState) -> bool:
    return state.samples > 1


def listed(branch: Branch) -> str:
    """Return the entry for a branch in the list of branches."""
    return text("branches.listed", number=branch.number, name=branch.name, end=branch.end.step)


# The pinned weight, its layer, and presets.


def name_of_pinned(state: FaceState) -> str:
    if state.pinned is None:
        return text("controls.unpinned")
    return text("controls.pinned", name=state.pinned.name)


def layer_rate(state: FaceState) -> float | None:
    layer = state.pinned_layer
    return None if layer is None or math.isnan(layer.rate) else layer.rate


def choose_preset(controller: Controller, name: str) -> None:
    found = preset_names(shallow=True).get(name)
    if found is not None:
        go_wrong(controller, found)


# Keyboard selection of cubes and neurons.

WAYS = ("left", "right", "up", "down")


def point(controller: Controller) -> None:
    """Start to select cubes and neurons with keys; if already started, pin the selected one."""
    if controller.stage.walking and controller.warming.held:
        controller.tell(text("notices.wait"))
    elif controller.stage.walking:
        with reporting_errors(controller):
            controller.stage.pin_pointed()
    else:
        controller.stage.walk("")
        controller.tell(text("notices.walking"))


def walk(controller: Controller, key: str, *, shift: bool) -> bool:
    """Select the next cube or neuron with an arrow key; return whether the key was used.

    Without Shift, keys also choose a place or a head of a sequence.
    """
    if not (controller.stage.walking or shift) and controller.stage.choose(key):
        return True
    if not controller.stage.walking or key not in WAYS:
        return False
    controller.stage.walk(key)
    return True


# The help, and scenes.


def toggle_help(controller: Controller) -> None:
    controller.stage.common.help = not controller.stage.common.help


def scene_names(state: FaceState) -> tuple[str, ...]:
    """Return the menu entries of the scenes; the first one is a prompt if no scene is shown."""
    return (*(() if state.scene else (text("controls.choose"),)), *entries())


# Options of the view that depend on the picture: fields of Look, and of FaceState.
NEEDS = {
    "every_weight": "has_walls",
    "neuron_maps": "has_plane",
    "test_points": "has_plane",
    "discrete": "has_plane",
}


def of_look(name: str) -> Control:
    """Return the control for a view option, given as a field of Look."""
    return Control(
        OFFERS[name].control,
        give("take", name),
        attrgetter(f"look.{name}"),
        names=(lambda state: OFFERS[name].names) if OFFERS[name].names else field("channels"),
        enabled=field(NEEDS[name]) if name in NEEDS else lambda state: True,
    )


CONTROLS = table(
    [
        # Time.
        Control(
            "play",
            press("toggle_play"),
            about=lambda state: text(f"controls.{'pause' if state.playing else 'play'}"),
            icon=lambda state: "pause" if state.playing else "play",
        ),
        Control(
            "back",
            give("step", -1),
            about=lambda state: text("controls.back", unit=state.unit),
        ),
        Control(
            "advance",
            give("step", +1),
            about=lambda state: text("controls.on", unit=state.unit),
        ),
        Control(
            "seek",
            give("seek"),
            field("step"),
            scale=lambda state: Scale(max(1, state.end)),
            marks=lambda state: [
                each.fork.step for each in state.branches if each.parent is not None
            ],
        ),
        Control("where", get=field("place")),
        Control(
            "speed",
            give("set_speed"),
            field("speed"),
            scale=speeds,
            about=lambda state: text(
                f"controls.speed.{'operation' if state.by_operation else 'step'}"
            ),
        ),
        Control("pace", get=field("pace")),
        Control("learning rate in numbers", changes.set_learning_rate, field("rate")),
        Control("start", press("seek", 0)),
        Control("unit", give("set_unit"), field("unit"), names=field("units")),
        Control("operation back", press("operation", -1)),
        Control("operation on", press("operation", +1)),
        Control("slow step", press("slow_step")),
        Control("reset", press("reset")),
        Control("double rate", press(changes.scale_learning_rate, 2.0)),
        Control("halve rate", press(changes.scale_learning_rate, 0.5)),
        Control(
            "learning rate", changes.set_learning_rate, field("rate"), scale=lambda state: RATES
        ),
        # Several sessions.
        Control("session", give("choose"), field("name"), names=field("names")),
        # Quantities shown by cubes, and the sample.
        *map(of_look, CUBES),
        Control("before", press("next_sample", -1), enabled=has_samples),
        Control(
            "sample",
            get=lambda state: text("controls.sample", number=state.focus, last=state.samples - 1),
            enabled=has_samples,
        ),
        Control("after", press("next_sample"), enabled=has_samples),
        Control("add up", press("guide.add_up"), enabled=has_samples),
        # Changes.
        Control("undo", press("undo"), enabled=field("undoable")),
        Control("redo", press("redo"), enabled=field("redoable")),
        Control(
            "branches",
            changes.switch,
            lambda state: next(listed(b) for b in state.branches if b.number == state.branch),
            names=lambda state: map(listed, state.branches),
        ),
        Control("branch name", changes.rename, field("branch_name")),
        Control("rename", press("face.start_editing", "branch name")),
        Control(
            "edit",
            to_pinned("edit"),
            of("pinned", "value"),
            drag=to_pinned("edit", dragged=True),
            enabled=field("pinned"),
            about=name_of_pinned,
        ),
        Control("type a value", press(changes.type_value)),
        Control(
            "weight rate",
            to_pinned(changes.set_rate),
            of("pinned", "rate"),
            enabled=field("pinned"),
        ),
        Control(
            "freeze", to_pinned("freeze"), of("pinned", "frozen", False), enabled=field("pinned")
        ),
        Control(
            "layer rate",
            to_pinned(changes.set_rate, layer=True),
            layer_rate,
            enabled=field("pinned_layer"),
        ),
        Control(
            "freeze layer",
            to_pinned(changes.freeze_rows, layer=True),
            of("pinned_layer", "frozen", False),
            enabled=field("pinned_layer"),
        ),
        Control("own input", press(changes.begin_input)),
        Control("stop when", stop_when, field("stops"), names=completions),
        Control("type a stop", press("face.start_editing", "stop when")),
        Control("first time", find_first, lambda state: "", names=completions),
        Control("type a first time", press("face.start_editing", "first time")),
        Control(
            "go wrong",
            choose_preset,
            lambda state: text("controls.choose"),
            names=lambda state: (text("controls.choose"), *preset_names(state.needs_hidden_layers)),
        ),
        Control("add neuron", press(changes.one_more)),
        Control("remove neuron", press(changes.one_less)),
        Control("add layer", press(changes.layer_more)),
        Control("remove layer", press(changes.layer_less)),
        # The picture.
        of_look("camera"),
        Control("look at pinned", press("stage.frame_pinned")),
        Control("point", press(point)),
        Control("look at everything", press("stage.restore")),
        *(of_look(name) for name in OFFERS if name not in (*CUBES, "camera")),
        Control("fit colours", press("stage.rescale")),
        Control("smooth", put("stage.common.curve_view", "smooth"), field("smooth")),
        Control("large curve", put("stage.common.curve_view", "large"), field("large_curve")),
        Control("tour", press("guide.show_tour")),
        Control("keys", press(toggle_help)),
        Control("marks", put("stage", "marks"), field("marks")),
        Control("full screen", press("fill_screen")),
        # Files.
        Control(
            "scenes",
            choose_scene,
            lambda state: entry_of(state.scene) or text("controls.choose"),
            names=scene_names,
        ),
        Control(
            "cancel",
            press("search.cancel"),
            enabled=lambda state: state.work is not None and bool(state.work.action),
        ),
        Control("copy link", press(copy_link)),
        Control("quit", press("leave")),
    ]
)
