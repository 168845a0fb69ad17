"""COMMANDS: what a page may ask of a session, by the names that its worker knows too.

A command takes the link and its arguments, which come from outside: InputError refuses them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.faces.browser.light import MOST_ROWS, Rows
from scalarviz.faces.browser.offers import use
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.curve_pointer import roll
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.own_input import put_in, take_out
from scalarviz.faces.controller.parts import pinned_layer
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.session import Session, Unit

if TYPE_CHECKING:
    from scalarviz.faces.browser.link import Link

Args = Mapping[str, Any]
MOST = 2**53  # the largest whole number that a page can tell from the next
MOST_WITHIN = 1000  # operations, phases or samples at once: each step of them is entered
MOST_INPUTS = 100_000  # numbers of a question
UNITS: dict[str, Unit] = {
    "operation": "operation", "phase": "phase", "sample": "sample", "step": "step",
    "epoch": "epoch",
}  # fmt: skip


# ---- arguments ----------------------------------------------------------------------------------


def wrong(name: str, wanted: str, value: object) -> InputError:
    return InputError(f"{name} is {wanted}, not {shorten(value)}")


def whole(args: Args, name: str, low: int, high: int = MOST, default: int | None = None) -> int:
    value = args.get(name, default)
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise wrong(name, f"a whole number from {low:,} to {high:,}", value)
    return value


def real(args: Args, name: str) -> float:
    value: Any = args.get(name)
    if not is_real(value):
        raise wrong(name, "a number", value)
    return float(value)


def is_real(value: Any) -> bool:
    """Return whether a value is a number that a float can hold: JSON has larger integers."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def word(args: Args, name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise wrong(name, "a text", value)
    return value


def row_in(link: Link, args: Args) -> int:
    return whole(args, "row", 0, len(link.session.network.bank) - 1)


def reals(args: Args, name: str, width: int) -> FloatArray:
    """Return rows of `width` numbers, which come as an array or as a list."""
    value = args.get(name)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list) or not 0 < len(value) <= MOST_INPUTS or len(value) % width:
        raise wrong(name, f"a list of numbers, {width} for each sample", value)
    if not all(map(is_real, value)):
        raise wrong(name, "a list of numbers", value)
    return np.array(value, np.float64).reshape(-1, width)


def rows_named(args: Args, count: int) -> Rows:
    """Return up to MOST_ROWS rows of a bank with `count` rows."""
    rows: Any = args.get("rows")
    fits = isinstance(rows, np.ndarray | list) and len(rows) <= MOST_ROWS
    if not fits or any(type(row) not in (int, np.uint32) or not 0 <= row < count for row in rows):
        raise wrong("rows", f"a list of up to {MOST_ROWS:,} bank indices", rows)
    return np.array(rows, np.uint32)


def rows_of(args: Args, name: str, count: int) -> list[int]:
    """Return rows of a bank of so many, none or two of them."""
    value = args.get(name, [])
    if not isinstance(value, list) or len(value) not in (0, 2):
        raise wrong(name, "a list of two rows, or an empty one", value)
    return [whole({name: each}, name, 0, count - 1) for each in value]


# ---- commands -----------------------------------------------------------------------------------


def clock_of(link: Link) -> Group | Controller:
    """Return what commands on time are for: all sessions that go together, or one."""
    return link.group if link.group.together else link.controller


def nothing(link: Link, args: Args) -> None:
    """Only the state is asked for."""


def advance(link: Link, args: Args, direction: int = 1) -> None:
    unit = pick(UNITS, args.get("unit", "step"), "unit")
    most = MOST if unit in ("step", "epoch") else MOST_WITHIN
    count = whole(args, "count", 0, most, default=1)
    if count:
        clock_of(link).go(direction, count, unit)


def seek(link: Link, args: Args) -> None:
    session, controller = link.session, link.controller
    step = whole(args, "step", 0)
    operation = whole(args, "operation", 0, len(session.operations) - 1, default=0)
    end = session.current_branch.end.place
    if step != session.step_index:
        link.jump()
    if link.group.together:
        link.group.seek(step, operation)
        return
    controller.stand_still()
    controller.do(partial(go_to, session, Clock(*min((step, operation), end))), name="seek")


def go_to(session: Session, moment: Clock) -> None:
    """Go to the moment of arrival at an operation."""
    session.seek(moment.step)
    if moment.operation:
        session.advance(moment.operation, "operation", progress=False)


def play(link: Link, args: Args) -> None:
    rate = None if args.get("rate") is None else real(args, "rate")
    clock_of(link).set_speed(rate)
    clock_of(link).play()


def pause(link: Link, args: Args) -> None:
    clock_of(link).pause()


def reset(link: Link, args: Args) -> None:
    link.jump()
    clock_of(link).reset()


def undo(link: Link, args: Args) -> None:
    link.jump()
    link.group.undo()


def redo(link: Link, args: Args) -> None:
    link.jump()
    link.group.redo()


def choose(link: Link, args: Args) -> None:
    """Go over to a branch by its key, or to the one some places after the one that is shown."""
    branches = [branch.number for branch in link.session.branches]
    if args.get("key") is None:
        now = branches.index(link.session.current_branch.number)
        key = branches[(now + whole(args, "by", -MOST, default=1)) % len(branches)]
    else:
        key = whole(args, "key", 0, max(branches))
    link.jump()
    link.controller.switch(key)


def focus(link: Link, args: Args) -> None:
    """Show a sample of the batch by its place, or one so many places further on."""
    count = link.session.trainer.batches.size
    if args.get("sample") is not None:
        by = whole(args, "sample", 0, count - 1) - link.session.focus
    else:
        by = whole(args, "by", -MOST)
    link.group.change(lambda each: each.next_sample(by))


def own(link: Link, args: Args) -> None:
    """Show the answer to an input of the user's own; null: the samples again."""
    if args.get("inputs") is None:
        take_out(link.controller)
        return
    (inputs,) = reals(args, "inputs", link.session.network.inputs)[:1]
    put_in(link.controller, inputs)


def roll_ball(link: Link, args: Args) -> None:
    """Drag the ball of the present weights to a point of the landscape, or let it go."""
    terrain = link.stage.reading.curves.past.terrain
    terrain.held = not args.get("ends", False)
    if terrain.held:
        roll(link.controller, terrain, (real(args, "x"), real(args, "y")))


def edit(link: Link, args: Args) -> None:
    link.controller.edit(row_in(link, args), real(args, "value"), dragged=True)


def freeze(link: Link, args: Args) -> None:
    """Freeze a weight or its layer, or unfreeze it."""
    row, on = row_in(link, args), args.get("on")
    if not isinstance(on, bool):
        raise wrong("on", "true or false", on)
    layer = pinned_layer(link.session, row, None) if args.get("layer") else None
    rows = [row] if layer is None else list(layer.rows)
    link.controller.do(partial(link.session.freeze, rows, on))


def set_rate(link: Link, args: Args) -> None:
    set_of_all(link, "learning_rate", real(args, "rate"), name="rate")


def scale_rate(link: Link, args: Args) -> None:
    set_rate(link, {"rate": float(f"{link.session.learning_rate * real(args, 'factor'):.6g}")})


def set_size(link: Link, args: Args) -> None:
    set_of_all(link, "batch", whole(args, "size", 1), changing=True)


def set_of_all(link: Link, field: str, value: object, **how: Any) -> None:
    """Set a field of the session, or of all that go together."""
    link.group.change(lambda each: each.do(partial(setattr, each.session, field, value), **how))


def look(link: Link, args: Args) -> None:
    """Pin a weight by its row, or a neuron by buffer and place; null: nothing."""
    row, neuron = args.get("row"), args.get("neuron")
    if row is not None:
        link.controller.stage.pin(row_in(link, args))
    elif neuron is None:
        link.controller.stage.pin(None)
    elif isinstance(neuron, list) and len(neuron) == 2 and isinstance(neuron[0], str):
        lines = [line for line in link.stage.plan.neurons if neuron[0] in line.buffers]
        if lines:
            most = len(lines[0].points) - (lines[0].one is None)
            link.stage.pin((neuron[0], whole({"place": neuron[1]}, "place", 0, most)))


def control(link: Link, args: Args) -> None:
    use(link.group, word(args, "name"), args.get("value"), owns=link.owner_asks)


def press(link: Link, args: Args) -> None:
    """Press the button of a notice, or a large one."""
    link.controller.stage.press(word(args, "name"))


Command = Callable[["Link", Args], None]
COMMANDS: dict[str, Command] = {
    "open": nothing,
    "state": nothing,
    "look": look,
    "advance": advance,
    "back": partial(advance, direction=-1),
    "seek": seek,
    "play": play,
    "pause": pause,
    "reset": reset,
    "undo": undo,
    "redo": redo,
    "choose": choose,
    "focus": focus,
    "own": own,
    "edit": edit,
    "roll": roll_ball,
    "freeze": freeze,
    "rate": set_rate,
    "scaleRate": scale_rate,
    "size": set_size,
    "control": control,
    "press": press,
}
# What a reader may ask who only looks.
FOR_ALL = "open", "state", "evaluate", "survey", "past", "exact"
