"""CONTROLS: the table of all controls, menu entries and keys, in the order in which they appear.

Window, notebook, keyboard and help are built from it. A new control is a new row.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from scalarviz.controller.control import (
    DIGITS,
    PER_DECADE,
    Control,
    LogScale,
    Scale,
)
from scalarviz.controller.state import State
from scalarviz.controller.walking import point
from scalarviz.draw2d.theme import THEMES
from scalarviz.formulas.table import table
from scalarviz.texts import text
from scalarviz.view.scene.camera import CAMERAS
from scalarviz.view.scene.layout import LAYOUTS

if TYPE_CHECKING:
    from scalarviz.controller.controller import Controller

FASTEST = 1e5  # steps a second on a slider; its right end is as fast as possible
SLOWEST = 0.25  # operations a second
RATES = LogScale(1e-6, 100.0)


def speeds(state: State) -> LogScale:
    """Return the scale of speeds, in steps a second; 1, 10, ... are among its places."""
    place = round(PER_DECADE * math.log10(SLOWEST / state.operations))
    return LogScale(10.0 ** (place / PER_DECADE), FASTEST, endless=True)


def play_or_pause(state: State) -> str:
    return text(f"controls.{'pause' if state.playing else 'play'}")


def has_samples(state: State) -> bool:
    return state.samples > 1


def has_pinned(state: State) -> bool:
    return state.pinned is not None


def pinned_value(state: State) -> float | None:
    return None if state.pinned is None else state.pinned.value


def name_of_pinned(state: State) -> str:
    pinned = state.pinned
    if pinned is None:
        return text("controls.unpinned")
    return text("controls.pinned", name=pinned.name)


def edit_pinned(controller: Controller, value: float | str, *, dragged: bool = False) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.edit(row, value, dragged=dragged)


def freeze_pinned(controller: Controller, on: bool) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.freeze(row, on)


def switch(controller: Controller, name: str) -> None:
    """Switch to a branch, given by its text, and show its number."""
    count = len(controller.session.branches)
    if count == 1:
        return controller.tell(text("notices.one_branch"))
    number = int(name.partition(":")[0])
    controller.switch(number)
    return controller.tell(text("notices.switched", number=number, last=count - 1))


def toggle_help(controller: Controller, _: int) -> None:
    controller.stage.help = not controller.stage.help


def in_picture(name: str) -> Any:
    """Return a setter of an attribute of the picture."""
    return lambda controller, value: setattr(controller.stage, name, value)


CONTROLS = table(
    [
        Control(
            "play",
            "button",
            play_or_pause,
            lambda controller, _: controller.toggle_play(),
            primary=True,
            strong=True,
            menu="Time",
            icon=lambda state: "pause" if state.playing else "play",
            key="space",
            help="play and pause",
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
        ),
        Control(
            "timeline",
            "timeline",
            "Every step so far",
            lambda controller, step: controller.seek(step),
            lambda state: state.step,
            scale=lambda state: Scale(0, max(1, state.end)),
            marks=lambda state: [fork.start for fork in state.branches if fork.parent >= 0],
            primary=True,
        ),
        Control(
            "where",
            "text",
            "Where the training stands",
            get=lambda state: state.place,
            primary=True,
            room=12,
        ),
        Control(
            "speed",
            "slider",
            "Steps a second; at the left end an operation in 4 s, at the right end flat out",
            lambda controller, speed: controller.set_speed(speed),
            lambda state: state.speed,
            scale=speeds,
            primary=True,
            label="Speed",
        ),
        Control(
            "pace",
            "text",
            "Steps a second, as measured while it plays",
            get=lambda state: state.pace,
            primary=True,
            label="Speed",
            room=8,
        ),
        Control(
            "rate in numbers",
            "number",
            "Learning rate, in numbers",
            lambda controller, rate: controller.set_rate(rate),
            lambda state: state.rate,
            primary=True,
            label="Rate",
        ),
        Control(
            "start",
            "button",
            "Back to the start",
            lambda controller, _: controller.seek(0),
            label="Move by",
            icon="step-backward",
        ),
        Control(
            "unit",
            "choice",
            "What the arrows move by",
            lambda controller, name: controller.set_unit(name),
            lambda state: state.unit,
            names=lambda state: state.units,
            label="Move by",
            room=5,
        ),
        Control(
            "operation back",
            "button",
            "One operation back",
            lambda controller, _: controller.operation(-1),
            menu="Time",
            key=",",
            help="back and on by one operation",
        ),
        Control(
            "operation on",
            "button",
            "One operation on",
            lambda controller, _: controller.operation(+1),
            menu="Time",
            key=".",
            help="back and on by one operation",
        ),
        Control(
            "slow step",
            "button",
            "Do the next step slowly, then go on",
            lambda controller, _: controller.slow_step(),
            menu="Time",
            text="The next step slowly",
            key="s",
            help="do the next step slowly, then go on",
        ),
        Control(
            "reset",
            "button",
            "Start again",
            lambda controller, _: controller.reset(),
            menu="Time",
            key="r",
            help="start again with the same first weights",
        ),
        Control(
            "double rate",
            "button",
            "Double the learning rate",
            lambda controller, _: controller.scale_rate(2.0),
            key="up",
            help="double and halve the learning rate",
        ),
        Control(
            "halve rate",
            "button",
            "Halve the learning rate",
            lambda controller, _: controller.scale_rate(0.5),
            key="down",
            help="double and halve the learning rate",
        ),
        Control(
            "rate",
            "slider",
            "Learning rate",
            lambda controller, rate: controller.set_rate(rate),
            lambda state: state.rate,
            scale=lambda state: RATES,
            label="Rate",
        ),
        Control(
            "color",
            "choice",
            "What colours stand for",
            lambda controller, name: controller.set_channel("color", name),
            lambda state: state.color,
            names=lambda state: state.channels,
            label="Colour",
            key="c",
            help="colour by something else",
        ),
        Control(
            "size",
            "choice",
            "What sizes stand for",
            lambda controller, name: controller.set_channel("size", name),
            lambda state: state.size,
            names=lambda state: state.channels,
            label="Size",
        ),
        Control(
            "before",
            "button",
            "The sample before",
            lambda controller, _: controller.previous_sample(),
            enabled=has_samples,
            label="Sample",
            text="<",
            icon="angle-left",
            key="<",
            help="show another sample of the batch",
        ),
        Control(
            "sample",
            "text",
            "The sample that is shown",
            get=lambda state: text("controls.sample", number=state.focus + 1, count=state.samples),
            enabled=has_samples,
            label="Sample",
            room=6,
        ),
        Control(
            "after",
            "button",
            "The next sample",
            lambda controller, _: controller.next_sample(),
            enabled=has_samples,
            label="Sample",
            text=">",
            icon="angle-right",
            key=">",
            help="show another sample of the batch",
        ),
        Control(
            "add up",
            "button",
            "Add up the batch, sample by sample",
            lambda controller, _: controller.guide.add_up(),
            enabled=has_samples,
            menu="Time",
            text="Add up the batch",
            key="a",
            help="add up the gradients of the batch, sample by sample",
        ),
        Control(
            "value",
            "number",
            name_of_pinned,
            edit_pinned,
            pinned_value,
            drag=partial(edit_pinned, dragged=True),
            enabled=has_pinned,
            label="Pinned",
            room=12,
        ),
        Control(
            "edit",
            "button",
            "Type a value for the pinned weight",
            lambda controller, _: controller.edit_pinned(),
            key="e",
        ),
        Control(
            "frozen",
            "tick",
            "Keep this weight from moving",
            freeze_pinned,
            lambda state: state.pinned is not None and state.pinned.frozen,
            enabled=has_pinned,
            label="Pinned",
            text="frozen",
        ),
        Control(
            "undo",
            "button",
            "Undo the last edit or freeze",
            lambda controller, _: controller.undo(),
            enabled=lambda state: state.edits > 0,
            label="Pinned",
            menu="Time",
            text="Undo",
            icon="undo",
            key="z",
        ),
        Control(
            "branches",
            "choice",
            "Go over to another branch",
            switch,
            lambda state: next(str(f) for f in state.branches if f.number == state.branch),
            names=lambda state: map(str, state.branches),
            menu="Time",
            room=21,
            key="b",
            help="go over to the next branch",
        ),
        Control(
            "camera",
            "choice",
            "Where it is looked at from",
            lambda controller, name: controller.stage.look(name),
            lambda state: state.camera,
            names=lambda state: CAMERAS,
            menu="View",
            key=DIGITS,
            help="look at it from another side: {}",
        ),
        Control(
            "look at pinned",
            "button",
            "The pinned weight closely, or everything",
            lambda controller, _: controller.stage.frame_pinned(),
            menu="View",
            text="Pinned closely",
            key="f",
            help="look at the pinned weight closely, or at everything",
        ),
        Control(
            "point",
            "button",
            "Point at a cube or a neuron, and pin it",
            lambda controller, _: point(controller),
            menu="View",
            text="Point by keys",
            key="enter",
            help="point at cubes and neurons: arrows walk over them, Enter pins, Esc ends",
        ),
        Control(
            "look at everything",
            "button",
            "As at first",
            lambda controller, _: controller.stage.restore(),
            menu="View",
            text="As at first",
            key="escape",
            help="close what is open; look at everything as at first",
        ),
        Control(
            "layers",
            "choice",
            "How layers are laid out",
            in_picture("layout"),
            lambda state: state.layout,
            names=lambda state: LAYOUTS,
            menu="View",
            key="l",
            help="lay the layers out as {}",
        ),
        Control(
            "theme",
            "choice",
            "The colours of the picture and of what is around it",
            in_picture("theme"),
            lambda state: state.theme,
            names=lambda state: THEMES,
            menu="View",
            key="d",
            help="{}",
        ),
        Control(
            "by layer",
            "tick",
            "Colours of each layer by themselves",
            in_picture("per_layer"),
            lambda state: state.per_layer,
            menu="View",
            text="Colours by layer",
        ),
        Control(
            "fit colours",
            "button",
            "Fit the colours to the numbers",
            lambda controller, _: controller.stage.rescale(),
            menu="View",
            text="Fit colours",
        ),
        Control(
            "tour",
            "button",
            "The tour: a step in ten seconds",
            lambda controller, _: controller.guide.show_tour(),
            menu="Help",
            text="Tour",
        ),
        Control("keys", "button", "Keys", toggle_help, menu="Help", key="?", help="this help"),
        Control(
            "full screen",
            "button",
            "Full screen",
            lambda controller, _: controller.fill_screen(),
            menu="View",
            window=True,
            key="f11",
            help="full screen; Esc leaves it",
        ),
        Control(
            "quit",
            "button",
            "Quit",
            lambda controller, _: controller.leave(),
            menu="File",
            window=True,
            key="q",
        ),
    ]
)
