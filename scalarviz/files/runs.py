"""Run files: a whole training, with its past, its branches and everything that its user did.

What is kept: the network, the settings at the start, the journal, losses and keyframes of every
branch, and where the clock stands. A loaded one goes on bit for bit as if it had not stopped,
on the same machine with the same versions, and every earlier moment can be visited.

The size is that of the keyframes, at most the memory that the session was given, eight bytes for
each step, and what the user wrote: an edit takes some twenty bytes a weight.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scalarviz.bank import Bank
from scalarviz.checks import shorten, size
from scalarviz.course import Course
from scalarviz.data import DataSet
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.container import Array, Description, read, write
from scalarviz.files.networks import build, describe, field
from scalarviz.files.pieces import Reader, Writer, check_numbers
from scalarviz.formulas.losses import Loss
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.formulas.randomness import check_seed
from scalarviz.formulas.table import pick
from scalarviz.network import Network
from scalarviz.remaking import make
from scalarviz.timeline import Action, Branch, Clock, Frame
from scalarviz.trainer import CHANGES, WRITES, Settings, Trainer, fold

KIND = "run"
NUMBERS = ("value", "grad")


def save_course(course: Course, path: object) -> None:
    """Save a training; a file of that name is replaced, whole or not at all."""
    network = check_saving(course)
    as_path(path)
    write(path, KIND, *describe_course(course, network))


def check_saving(course: Course) -> Network:
    """The network of a training that can be saved; else an error."""
    network = course.trainer.network
    if not isinstance(network, Network):
        raise InputError(
            "a session of a compiled function cannot be saved, since the function is code: keep "
            "the numbers of its parameters, and compile it again"
        )
    return network


def load_course(path: object, data: object = None) -> Course:
    """The training in a file that `save_course` wrote, standing where it stood.

    `data` is needed where the data set is made by code.
    """
    description, arrays = read(path, KIND)
    given = None if data is None else DataSet.of(data)
    try:
        course = build_course(description, arrays, given)
    except (ScalarvizError, TypeError, ValueError, KeyError, AttributeError) as error:
        name = shown(as_path(path))
        raise FileError(f"{name} does not hold a run that can go on here: {error}") from error
    if description.get("bits") != bits_of(course.trainer.bank):
        warnings.warn(
            f"{shown(as_path(path))} was made on another machine or by other versions: replaying "
            "it gives slightly other numbers here",
            stacklevel=3,
        )
    return course


# ---- what is written ----------------------------------------------------------------------------


def describe_course(course: Course, network: Network) -> tuple[Description, dict[str, Array]]:
    """Everything, as JSON and arrays."""
    trainer, here = course.trainer, course.clock
    course.go(Clock(here.step))
    now = trainer.frame(here.step)
    course.forward(here)
    owner = course.branch.owner_of(now.step)
    writer = Writer()
    places = {branch: i for i, branch in enumerate(course.branches)}
    arrays: dict[str, Array] = {}
    branches = []
    for branch, i in places.items():
        frames = [*branch.frames, *([now] if branch is owner else [])]
        arrays |= frame_arrays(i, frames)
        arrays[f"losses {i}"] = branch.record.own
        branches.append(
            {
                "parent": None if branch.parent is None else places[branch.parent],
                "fork": list(branch.fork.key),
                "end": list(branch.end.key),
                "journal": [describe_action(action, writer) for action in branch.journal],
            }
        )
    description = {
        "network": describe(network),
        "loss": {
            "name": trainer.loss.name,
            "factor": trainer.loss.factor,
            "mean": trainer.loss.mean,
        },
        "batch": trainer.batch,
        "seed": trainer.seed,
        "memory": course.keyframes.budget,
        "start": describe_settings(course.branches[0].frames[0].settings, writer),
        "branches": branches,
        "branch": places[course.branch],
        "clock": list(here.key),
        "bits": bits_of(network.bank),
    }
    return description, arrays | writer.arrays


def describe_settings(settings: Settings, writer: Writer) -> Description:
    """The settings that a training began with."""
    return {
        "optimizer": writer.write(settings.optimizer),
        "data": writer.write(settings.data),
        "engine": settings.engine,
        "precision": writer.write(settings.precision),
        "activations": list(settings.activations),
    }


def describe_action(action: Action, writer: Writer) -> list[Any]:
    """Something that the user did."""
    details = {key: writer.write(value) for key, value in action.details.items()}
    asked = None if action.asked is None else list(action.asked)
    return [action.step, action.operation, action.kind, details, asked]


def frame_arrays(branch: int, frames: Sequence[Frame]) -> dict[str, Array]:
    """The keyframes of a branch, one row a keyframe."""
    steps = sorted({frame.step: frame for frame in frames}.items())
    kept = [frame for _, frame in steps]
    arrays = {
        "step": np.array([frame.step for frame in kept], np.int64),
        "count": np.array([frame.step_count for frame in kept], np.int64),
        "has_gradients": np.array([frame.has_gradients for frame in kept], np.bool_),
    }
    if kept:
        arrays["scaling"] = np.array([frame.state for frame in kept])
        for name in NUMBERS:
            arrays[name] = np.array([getattr(frame, name) for frame in kept])
        rows = kept[0].value.size
        if any(frame.frozen is not None for frame in kept):
            none = np.zeros(rows, np.bool_)
            frozen = [none if frame.frozen is None else frame.frozen for frame in kept]
            arrays["frozen"] = np.array(frozen)
        for names in sorted({names for frame in kept for names in frame.slots}):
            none = np.zeros((len(names), rows), kept[0].value.dtype)
            block = np.array([frame.slots.get(names, none) for frame in kept])
            arrays[" ".join(("slots", *names))] = block
    return {f"frames {branch} {name}": array for name, array in arrays.items()}


def bits_of(bank: Bank) -> str:
    """A short fingerprint of the weights."""
    return hashlib.sha256(bank.value.tobytes()).hexdigest()[:16]


# ---- and read -----------------------------------------------------------------------------------


def build_course(
    description: Description, arrays: Mapping[str, Array], data: DataSet | None
) -> Course:
    """A training as it was described, standing where it stood."""
    reader = Reader(arrays, data)
    start = build_settings(field(description, "start", dict), reader)
    first = arrays["frames 0 value"]
    network = build(field(description, "network", dict), {"value": first[0]}, Network)
    batch = description["batch"]
    trainer = Trainer(
        network,
        start,
        make(Loss, field(description, "loss", dict), "loss"),
        None if batch is None else size(batch, "batch"),
        check_seed(field(description, "seed", int)),
    )
    course = Course(trainer, size(description["memory"], "memory"))
    branches: list[Branch] = []
    for i, each in enumerate(field(description, "branches", list)):
        branches.append(build_branch(i, each, branches, reader, arrays, network, start))
    if not branches or branches[0].frames[0].step != 0:
        raise InputError("the keyframe of step 0 is missing")
    branch = branches[field(description, "branch", int)]
    clock = build_clock(description["clock"])
    if clock > branch.end:
        raise InputError(f"the clock stands at step {clock.step}, beyond the end of its branch")
    course.take_over(branches, branch, clock)
    return course


def build_settings(value: Description, reader: Reader) -> Settings:
    """The settings that a training began with."""
    names = field(value, "activations", list)
    return Settings(
        reader.read(field(value, "optimizer", dict)),
        reader.read(field(value, "data", dict)),
        field(value, "engine", str),
        reader.read(field(value, "precision", dict)),
        tuple(map(str, names)),
    )


def build_branch(
    number: int, value: Description, before: Sequence[Branch], reader: Reader,
    arrays: Mapping[str, Array], network: Network, start: Settings,
) -> Branch:  # fmt: skip
    """A branch with its journal, its losses and its keyframes."""
    parent = value["parent"]
    if (parent is None) != (number == 0) or (number and not 0 <= parent < number):
        raise InputError(f"branch {number} leaves branch {parent}, which is not before it")
    fork, end = build_clock(value["fork"]), build_clock(value["end"])
    journal = [build_action(each, reader, network) for each in field(value, "journal", list)]
    if [action.place for action in journal] != sorted(action.place for action in journal):
        raise InputError(f"the journal of branch {number} is out of order")
    above = before[parent] if number else None
    branch = Branch(number, above, fork, journal, end)
    losses = arrays[f"losses {number}"]
    known = fork.step if above is None else min(fork.step, len(above.losses))
    if losses.dtype != np.float64 or known != fork.step or len(losses) != end.step - fork.step:
        raise InputError(f"branch {number} does not have one loss for each of its steps")
    branch.record.record(fork.step, losses)
    branch.frames.extend(build_frames(number, arrays, network.bank, journal, start))
    if any(not fork.step <= frame.step <= end.step for frame in branch.frames):
        raise InputError(f"branch {number} has keyframes of steps that it does not have")
    return branch


def build_clock(value: object) -> Clock:
    """A moment."""
    parts = value if isinstance(value, list) and len(value) == 3 else [None]
    if all(type(part) is int and 0 <= part < 2**53 for part in parts):
        return Clock(*parts)
    raise InputError(f"{value!r} is no moment of a training")


def build_action(value: object, reader: Reader, network: Network) -> Action:
    """Something that the user did; checked, since it will be done again."""
    if not isinstance(value, list) or len(value) != 5 or not isinstance(value[3], dict):
        raise InputError(f"{shorten(value)} is no action")
    step, operation, kind, details, asked = value
    pick({**WRITES, **CHANGES}, kind, "action")
    place = build_clock([step, operation, 0])
    read = {key: reader.read(detail) for key, detail in details.items()}
    rows, values = read.get("rows"), read.get("values")
    if rows is not None:
        if rows.dtype != np.int64 or rows.ndim != 1 or rows.size == 0:
            raise InputError(f"the rows of an action at step {step} are no rows")
        if rows.min() < 0 or rows.max() >= len(network.bank):
            raise InputError(f"an action at step {step} names rows that are not there")
    if values is not None and (rows is None or values.shape != rows.shape):
        raise InputError(f"an action at step {step} does not have a value for each row")
    if kind == "activation":
        network.check_activation(read["layer"], read["name"])
    if kind == "numbers":
        check_numbers(read, network.bank)
    moment = None if asked is None else build_clock([*asked, 0]).place
    return Action(place.step, place.operation, kind, read, moment)


def build_frames(
    branch: int, arrays: Mapping[str, Array], bank: Bank, journal: Sequence[Action], start: Settings
) -> list[Frame]:
    """The keyframes of a branch."""
    prefix = f"frames {branch} "
    found = {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
    count, rows = len(found["step"]), len(bank)
    blocks = {
        " ".join(("slots", *row.slots)): row.slots for row in OPTIMIZERS.values() if row.slots
    }
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "step": ((count,), "int64"),
        "count": ((count,), "int64"),
        "has_gradients": ((count,), "bool"),
        "scaling": ((count, len(bank.state)), "float64"),
        "value": ((count, rows), bank.dtype),
        "grad": ((count, rows), bank.dtype),
        "frozen": ((count, rows), "bool"),
    }
    shapes |= {name: ((count, len(names), rows), bank.dtype) for name, names in blocks.items()}
    for name, array in found.items():
        if (array.shape, array.dtype.name) != pick(shapes, name, "array of keyframes"):
            raise InputError(f"the keyframes' {name} is {array.dtype} of shape {array.shape}")
    if not np.isfinite(found.get("scaling", np.zeros(0))).all():
        raise InputError("what the keyframes say of the network's state is not finite")
    steps = found["step"].tolist()
    if sorted(set(steps)) != steps:
        raise InputError("keyframes are out of order")
    return [
        Frame(
            step,
            found["value"][i],
            found["grad"][i],
            found["frozen"][i] if "frozen" in found else None,
            {names: found[name][i] for name, names in blocks.items() if name in found},
            found["scaling"][i],
            int(found["count"][i]),
            bool(found["has_gradients"][i]),
            fold(start, [action for action in journal if action.place < (step, 0)]),
        )
        for i, step in enumerate(steps)
    ]
