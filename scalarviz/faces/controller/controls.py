"""CONTROLS: the table of all controls, menu entries and keys, in the order in which they appear.

Window, notebook, keyboard and help are built from it. A new control is a new row of the list for
its subject: time, several sessions, samples, changes, the picture, files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import table
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller import changes
from scalarviz.faces.controller.changes import (
    HIGHEST_RATE,
    begin_input,
    freeze_layer,
    go_wrong,
    preset_names,
    rename,
    scale_learning_rate,
    set_layer_rate,
    set_learning_rate,
    set_weight_rate,
    switch,
    type_value,
)
from scalarviz.faces.controller.control import (
    DIGITS,
    PER_DECADE,
    Control,
    FaceState,
    LogScale,
    Scale,
)
from scalarviz.faces.controller.export import (
    choose_scene,
    copy_link,
    entries,
    entry_of,
    open_branches,
)
from scalarviz.faces.controller.playing import SLOW, completions, find_first, stop_when
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import CAMERAS

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


# What rows read and do.


def field(name: str) -> Callable[[FaceState], Any]:
    """Return what reads a field of the state."""
    assert hasattr(FaceState, name) or name in FaceState.__annotations__, name
    return attrgetter(name)


def press(command: str | Callable[[Any], object]) -> Callable[[Any, Any], object]:
    """Return what calls a command of a face, or a function of the face."""
    act = command if callable(command) else lambda face: attrgetter(command)(face)()
    return lambda face, _: act(face)


def begin_typing(name: str) -> Callable[[Any, Any], object]:
    """Return what opens the field of another row."""
    return lambda controller, _: controller.face.start_editing(name)


def give(name: str) -> Callable[[Any, Any], object]:
    """Return what calls a command of a face with the value."""
    return lambda face, value: attrgetter(name)(face)(value)


# Time: play, back and on, speed and rate, and which sample is shown.

FASTEST = 1e5  # steps a second on a slider; its right end is as fast as possible
SLOWEST = 0.25  # operations a second
RATES = LogScale(1e-6, HIGHEST_RATE)


def speeds(state: FaceState) -> LogScale:
    """Return the scale of speeds, in steps a second; 1, 10, ... are among its places."""
    place = round(PER_DECADE * math.log10(SLOWEST / state.operations))
    lowest = 10.0 ** (place / PER_DECADE)
    if state.by_operation:
        return LogScale(lowest, SLOW / state.operations)
    return LogScale(lowest, FASTEST, endless=True)


def about_speed(state: FaceState) -> str:
    return text(f"controls.speed.{'operation' if state.by_operation else 'step'}")


def play_or_pause(state: FaceState) -> str:
    return text(f"controls.{'pause' if state.playing else 'play'}")


def has_samples(state: FaceState) -> bool:
    return state.samples > 1


TIME_CONTROLS = [
    Control(
        "play",
        "button",
        play_or_pause,
        press("toggle_play"),
        primary=True,
        strong=True,
        icon=lambda state: "pause" if state.playing else "play",
        key="space",
        help="play and pause",
        acts_on="time",
    ),
    Control(
        "back",
        "button",
        lambda state: text("controls.back", unit=state.unit),
        lambda controller, times: controller.step(-1, times),
        primary=True,
        icon="backward",
        key="left",
        help="back and on by the unit; with shift, ten times",
        acts_on="time",
    ),
    Control(
        "on",
        "button",
        lambda state: text("controls.on", unit=state.unit),
        lambda controller, times: controller.step(+1, times),
        primary=True,
        icon="forward",
        key="right",
        help="back and on by the unit; with shift, ten times",
        acts_on="time",
    ),
    Control(
        "timeline",
        "timeline",
        "Every step so far",
        give("seek"),
        field("step"),
        scale=lambda state: Scale(0, max(1, state.end)),
        marks=lambda state: [fork.start for fork in state.branches if fork.parent >= 0],
        primary=True,
        acts_on="time",
    ),
    Control(
        "where",
        "text",
        "Where the training stands",
        get=field("place"),
        primary=True,
        room=12,
    ),
    Control(
        "speed",
        "slider",
        about_speed,
        give("set_speed"),
        field("speed"),
        scale=speeds,
        primary=True,
        label="Speed",
        acts_on="time",
    ),
    Control(
        "pace",
        "text",
        "Steps a second, as measured while it plays",
        get=field("pace"),
        primary=True,
        label="Speed",
        room=8,
    ),
    Control(
        "rate in numbers",
        "number",
        "Learning rate, in numbers",
        set_learning_rate,
        field("rate"),
        primary=True,
        label="Rate",
        acts_on="each",
    ),
    Control(
        "start",
        "button",
        "Back to the start",
        lambda controller, _: controller.seek(0),
        label="Move by",
        icon="step-backward",
        acts_on="time",
    ),
    Control(
        "unit",
        "choice",
        "What the arrows move by; with neuron and operation, Play does one operation at a time",
        give("set_unit"),
        field("unit"),
        names=field("units"),
        label="Move by",
        room=5,
        acts_on="time",
    ),
    Control(
        "operation back",
        "button",
        "One operation back",
        lambda controller, _: controller.operation(-1),
        menu="Time",
        key=",",
        help="back and on by one operation, or neuron if that is the unit",
        acts_on="time",
    ),
    Control(
        "operation on",
        "button",
        "One operation on",
        lambda controller, _: controller.operation(+1),
        menu="Time",
        key=".",
        help="back and on by one operation, or neuron if that is the unit",
        acts_on="time",
    ),
    Control(
        "slow step",
        "button",
        "Do the next step slowly, then go on",
        press("slow_step"),
        menu="Time",
        text="The next step slowly",
        key="s",
        help="do the next step slowly, then go on",
        acts_on="time",
    ),
    Control(
        "guess",
        "tick",
        lambda state: text("guess.about") if state.can_guess else text("guess.not_here"),
        give("guessing.turn"),
        field("guesses"),
        enabled=field("can_guess"),
        menu="Time",
        key="p",
        help=lambda state: text("guess.help"),
    ),
    Control(
        "reset",
        "button",
        "Start again",
        press("reset"),
        menu="Time",
        key="r",
        help="start again with the same first weights",
        acts_on="time",
    ),
    Control(
        "double rate",
        "button",
        "Double the learning rate",
        lambda controller, _: scale_learning_rate(controller, 2.0),
        key="up",
        help="double and halve the learning rate",
        acts_on="each",
    ),
    Control(
        "halve rate",
        "button",
        "Halve the learning rate",
        lambda controller, _: scale_learning_rate(controller, 0.5),
        key="down",
        help="double and halve the learning rate",
        acts_on="each",
    ),
    Control(
        "rate",
        "slider",
        "Learning rate",
        set_learning_rate,
        field("rate"),
        scale=lambda state: RATES,
        label="Rate",
        acts_on="each",
    ),
]

SAMPLE_CONTROLS = [
    Control(
        "before",
        "button",
        "The sample before",
        lambda controller, _: controller.next_sample(-1),
        enabled=has_samples,
        label="Sample",
        text="<",
        icon="angle-left",
        key="<",
        help="show another sample of the batch",
        acts_on="each",
    ),
    Control(
        "sample",
        "text",
        "The sample that is shown",
        get=lambda state: text("controls.sample", number=state.focus, last=state.samples - 1),
        enabled=has_samples,
        label="Sample",
        room=6,
    ),
    Control(
        "after",
        "button",
        "The next sample",
        press("next_sample"),
        enabled=has_samples,
        label="Sample",
        text=">",
        icon="angle-right",
        key=">",
        help="show another sample of the batch",
        acts_on="each",
    ),
    Control(
        "add up",
        "button",
        "Add up the batch, sample by sample",
        press("guide.add_up"),
        enabled=has_samples,
        menu="Time",
        text="Add up the batch",
        key="a",
        help="add up the gradients of the batch, sample by sample",
    ),
]


# Several sessions that are shown side by side.


GROUP_CONTROLS = [
    Control(
        "together",
        "tick",
        "Play, step, go back and change rates with all sessions, or with the chosen one",
        give("set_together"),
        field("together"),
        primary=True,
        text="Together",
        key="j",
        help="all sessions together, or the chosen one alone",
        acts_on="all",
        several=True,
    ),
    Control(
        "session",
        "choice",
        "The session that commands on one session mean",
        give("choose"),
        field("name"),
        names=field("names"),
        label="Session",
        key="n",
        help="choose the next session",
        acts_on="all",
        several=True,
    ),
]


# Changes: the pinned weight, undo, branches, inputs, conditions, neurons and layers.


def has_pinned(state: FaceState) -> bool:
    return state.pinned is not None


def pinned_value(state: FaceState) -> float | None:
    return None if state.pinned is None else state.pinned.value


def name_of_pinned(state: FaceState) -> str:
    pinned = state.pinned
    if pinned is None:
        return text("controls.unpinned")
    return text("controls.pinned", name=pinned.name)


def has_layer(state: FaceState) -> bool:
    return state.pinned_layer is not None


def layer_rate(state: FaceState) -> float | None:
    layer = state.pinned_layer
    return None if layer is None or math.isnan(layer.rate) else layer.rate


def edit_pinned(controller: Controller, value: float | str, *, dragged: bool = False) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.edit(row, value, dragged=dragged)


def freeze_pinned(controller: Controller, on: bool) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.freeze(row, on)


def choose_preset(controller: Controller, name: str) -> None:
    found = preset_names(shallow=True).get(name)
    if found is not None:
        go_wrong(controller, found)


CHANGE_CONTROLS = [
    Control(
        "undo",
        "button",
        "Undo the last change",
        press("undo"),
        enabled=lambda state: state.undoable > 0,
        label="Changes",
        text="Undo",
        icon="undo",
        key="z",
        acts_on="all",
    ),
    Control(
        "redo",
        "button",
        "Do again what was undone",
        press("redo"),
        enabled=lambda state: state.redoable > 0,
        label="Changes",
        text="Redo",
        icon="redo",
        key="y",
        acts_on="all",
    ),
    Control(
        "branches",
        "choice",
        "Go over to another branch",
        switch,
        lambda state: next(str(f) for f in state.branches if f.number == state.branch),
        names=lambda state: map(str, state.branches),
        label="Branch",
        room=20,
        key="b",
        help="go over to the next branch",
    ),
    Control(
        "branch name",
        "entry",
        "Name of this branch; empty: what was done there",
        rename,
        field("branch_name"),
        label="Branch name",
        room=20,
    ),
    Control(
        "rename",
        "button",
        "Give this branch another name",
        begin_typing("branch name"),
        menu="Time",
        text="Rename the branch",
        key="f2",
    ),
    Control(
        "branches beside",
        "button",
        "Show the branches side by side",
        press(open_branches),
        enabled=lambda state: len(state.branches) > 1,
        menu="Time",
        text="Branches side by side",
        window=True,
    ),
    Control(
        "value",
        "number",
        name_of_pinned,
        edit_pinned,
        pinned_value,
        drag=partial(edit_pinned, dragged=True),
        enabled=has_pinned,
        on_cube=True,
        room=12,
    ),
    Control(
        "edit",
        "button",
        "Type a value for the pinned weight",
        press(type_value),
        key="e",
    ),
    Control(
        "weight rate",
        "number",
        "Learning rate of this weight; empty for that of all",
        set_weight_rate,
        lambda state: None if state.pinned is None else state.pinned.rate,
        enabled=has_pinned,
        label="Rate of the weight",
        room=8,
    ),
    Control(
        "frozen",
        "tick",
        "Keep this weight from moving",
        freeze_pinned,
        lambda state: state.pinned is not None and state.pinned.frozen,
        enabled=has_pinned,
        label="Rate of the weight",
        text="frozen",
    ),
    Control(
        "layer rate",
        "number",
        "Learning rate of its layer; empty for that of all",
        set_layer_rate,
        layer_rate,
        enabled=has_layer,
        label="Rate of its layer",
        room=8,
    ),
    Control(
        "layer frozen",
        "tick",
        "Keep its layer from moving",
        freeze_layer,
        lambda state: state.pinned_layer is not None and state.pinned_layer.frozen,
        enabled=has_layer,
        label="Rate of its layer",
        text="frozen",
    ),
    Control(
        "own input",
        "button",
        "Put in something of your own",
        press(begin_input),
        label="Input",
        text="Of your own",
        key="o",
        help="put in something of your own: drag an input, click the map, draw a digit",
    ),
    Control(
        "stop when",
        "entry",
        "Stop by itself when that is so; empty: nowhere",
        stop_when,
        field("stops"),
        names=completions,
        label="Stop when",
        example="loss < 0.01",
        room=20,
        acts_on="each",
    ),
    Control(
        "type a stop",
        "button",
        "Type a condition at which it stops by itself",
        begin_typing("stop when"),
        key="u",
    ),
    Control(
        "first time",
        "entry",
        "Find the first step of the past at which that was so",
        find_first,
        lambda state: "",
        names=completions,
        label="First time",
        example="loss < 0.1",
        room=20,
    ),
    Control(
        "type a first time",
        "button",
        "Find the first step at which something was so",
        begin_typing("first time"),
        key="i",
    ),
    Control(
        "go wrong",
        "choice",
        "What goes wrong in trainings: one of these, and what to look for",
        choose_preset,
        lambda state: text("controls.choose"),
        names=lambda state: (text("controls.choose"), *preset_names(state.needs_hidden_layers)),
        room=16,
    ),
    Control(
        "add neuron",
        "button",
        "Add a neuron to the layer of what is pinned, or to the first",
        press(changes.one_more),
        label="Neurons",
        text="+ neuron",
    ),
    Control(
        "remove neuron",
        "button",
        "Remove the neuron that is pinned, or the last one of the first layer",
        press(changes.one_less),
        label="Neurons",
        text="- neuron",
    ),
    Control(
        "add layer",
        "button",
        "Add a layer before the one of what is pinned, or before the last",
        press(changes.layer_more),
        label="Layers",
        text="+ layer",
    ),
    Control(
        "remove layer",
        "button",
        "Remove the layer of what is pinned, or the first",
        press(changes.layer_less),
        label="Layers",
        text="- layer",
    ),
]


# Pointing at cubes and neurons by keys.

WAYS = ("left", "right", "up", "down")


def point(controller: Controller) -> None:
    """Begin to point at cubes and neurons, then pin what is pointed at, or unpin it."""
    if controller.stage.walking and controller.warming.held:
        controller.tell(text("notices.wait"))
    elif controller.stage.walking:
        try:
            controller.stage.pin_pointed()
        except ScalarvizError as error:
            controller.tell_error(error)
    else:
        controller.stage.walk("")
        controller.tell(text("notices.walking"))


def walk(controller: Controller, key: str) -> bool:
    """Go on by an arrow to the next cube or neuron; return whether that is what arrows do now."""
    if not controller.stage.walking or key not in WAYS:
        return False
    controller.stage.walk(key)
    return True


# The picture: channels, camera, theme, help and window.


def toggle_help(controller: Controller, _: int) -> None:
    controller.stage.help = not controller.stage.help


def in_picture(name: str) -> Any:
    """Return a setter of an attribute of the picture."""
    return lambda controller, value: setattr(controller.stage, name, value)


def in_curve(name: str) -> Any:
    """Return a setter of an attribute of the loss curve's view."""
    return lambda controller, value: setattr(controller.stage.curve_view, name, value)


CHANNEL_CONTROLS = [
    Control(
        "color",
        "choice",
        "What colours stand for",
        lambda controller, name: controller.set_channel("color", name),
        field("color"),
        names=field("channels"),
        label="Colour",
        key="c",
        help="colour by something else",
        acts_on="all",
    ),
    Control(
        "size",
        "choice",
        "What sizes stand for",
        lambda controller, name: controller.set_channel("size", name),
        field("size"),
        names=field("channels"),
        label="Size",
        acts_on="all",
    ),
]

VIEW_CONTROLS = [
    Control(
        "camera",
        "choice",
        "Where it is looked at from",
        give("stage.look"),
        field("camera"),
        names=lambda state: CAMERAS,
        menu="View",
        key=DIGITS,
        help="look at it from another side: {}",
        acts_on="all",
    ),
    Control(
        "look at pinned",
        "button",
        "The pinned weight closely, or everything",
        press("stage.frame_pinned"),
        menu="View",
        text="Pinned closely",
        key="f",
        help="look at the pinned weight closely, or at everything",
        acts_on="all",
    ),
    Control(
        "point",
        "button",
        "Point at a cube or a neuron, and pin it",
        press(point),
        menu="View",
        text="Point by keys",
        key="enter",
        help="point at cubes and neurons: arrows walk over them, Enter pins, Esc ends",
    ),
    Control(
        "look at everything",
        "button",
        "As at first",
        press("stage.restore"),
        menu="View",
        text="As at first",
        key="escape",
        help="close what is open; look at everything as at first",
        acts_on="all",
    ),
    Control(
        "theme",
        "choice",
        "The colours of the picture and of what is around it",
        in_picture("theme"),
        field("theme"),
        names=lambda state: THEMES,
        label="Theme",
        key="d",
        help="{}",
        acts_on="all",
    ),
    Control(
        "by layer",
        "tick",
        "Colours of each layer by themselves",
        in_picture("per_layer"),
        field("per_layer"),
        menu="View",
        text="Colours by layer",
        acts_on="all",
    ),
    Control(
        "neuron maps",
        "tick",
        "What each neuron answers over the plane, on its sphere",
        in_picture("neuron_maps"),
        field("neuron_maps"),
        enabled=field("has_plane"),
        label="Spheres",
        text="Neuron maps",
        key="m",
        help="maps of the neurons over the plane, on their spheres",
        acts_on="all",
    ),
    Control(
        "test points",
        "tick",
        "The held-out points, hollow, on the map of the plane",
        in_picture("test_points"),
        field("test_points"),
        enabled=field("has_plane"),
        menu="View",
        text="Test points",
        acts_on="all",
    ),
    Control(
        "discrete",
        "tick",
        "Maps of the plane in two colours only",
        in_picture("discrete"),
        field("discrete"),
        enabled=field("has_plane"),
        menu="View",
        text="Discrete",
        acts_on="all",
    ),
    Control(
        "fit colours",
        "button",
        "Fit the colours to the numbers",
        press("stage.rescale"),
        menu="View",
        text="Fit colours",
        acts_on="all",
    ),
    Control(
        "smooth",
        "tick",
        "Draw means over a 25th of the steps shown, and the losses themselves faintly",
        in_curve("smooth"),
        field("smooth"),
        label="Loss curve",
        text="Smooth",
        acts_on="all",
    ),
    Control(
        "large curve",
        "tick",
        "The loss curve over half of the picture, with all weights over time",
        in_curve("large"),
        field("large_curve"),
        label="Loss curve",
        text="Large",
        key="g",
        help="loss curve and all weights over time large, and small again",
        acts_on="all",
    ),
    Control(
        "tour",
        "button",
        "The tour: a step in ten seconds",
        press("guide.show_tour"),
        menu="Help",
        text="Tour",
    ),
    Control(
        "keys",
        "button",
        "Keys",
        toggle_help,
        menu="Help",
        key="?",
        help="this help",
        acts_on="all",
    ),
    Control(
        "marks",
        "tick",
        "What the marks in the picture mean",
        in_picture("marks"),
        field("marks"),
        menu="Help",
        text="Marks",
        key="h",
        help="what the marks in the picture mean, as with the mouse on the legend",
    ),
    Control(
        "full screen",
        "button",
        "Full screen",
        press("fill_screen"),
        menu="View",
        window=True,
        key="f11",
        acts_on="all",
        help="full screen; Esc leaves it",
    ),
]


# Files, and the window as a whole.


def scene_names(state: FaceState) -> tuple[str, ...]:
    """Return the scenes, and before them an entry for a training that is none."""
    return (*(() if state.scene else (text("controls.choose"),)), *entries())


FILE_CONTROLS = [
    Control(
        "scenes",
        "choice",
        "Open a scene; Undo leads back",
        choose_scene,
        lambda state: entry_of(state.scene) or text("controls.choose"),
        names=scene_names,
        menu="Scenes",
        room=40,
    ),
    Control(
        "cancel",
        "button",
        "Cancel what is being written",
        press("cancel_exports"),
        enabled=lambda state: state.work is not None,
        menu="File",
        window=True,
    ),
    Control(
        "copy link",
        "button",
        "Copy a link to this moment",
        press(copy_link),
        menu="File",
        text="Copy a link",
        key="k",
        help="copy a link to this moment, which `scalarviz open` follows",
    ),
    Control(
        "quit",
        "button",
        "Quit",
        press("leave"),
        menu="File",
        window=True,
        key="q",
        acts_on="all",
    ),
]


# All of them.

CONTROLS = table(
    [
        *TIME_CONTROLS,
        *GROUP_CONTROLS,
        *CHANNEL_CONTROLS,
        *SAMPLE_CONTROLS,
        *CHANGE_CONTROLS,
        *VIEW_CONTROLS,
        *FILE_CONTROLS,
    ]
)
