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
from collections.abc import Sequence
from typing import Any

import numpy as np

from scalarviz.checks.limits import Budget
from scalarviz.data import DataSet
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.checked_safetensors import Array, Description, read, write
from scalarviz.files.networks import describe, not_made
from scalarviz.files.rebuilding import build_course
from scalarviz.files.settings_codec import SettingsWriter
from scalarviz.model.bank import Bank
from scalarviz.network.network import Network
from scalarviz.session.replay import History
from scalarviz.session.timeline import Action, Clock, Frame
from scalarviz.session.trainer import Settings

KIND = "run"
NUMBERS = ("value", "grad")


def save_course(course: History, path: object) -> None:
    """Save a training; a file of that name is replaced, whole or not at all."""
    network = check_saving(course)
    as_path(path)
    write(path, KIND, *describe_course(course, network))


def check_saving(course: History) -> Any:
    """The network of a training that can be saved; else an error."""
    network = course.trainer.network
    if not network.layers:
        raise InputError(
            "a session of a compiled function cannot be saved, since the function is code: keep "
            "the numbers of its parameters, and compile it again"
        )
    return network


def load_course(path: object, data: object = None, limit: int | None = None) -> History:
    """The training in a file that `save_course` wrote, standing where it stood.

    `data` is needed where the data set is made by code; `limit` is explained in `limits`.
    """
    Budget(limit)  # one that is none is not the file's fault
    description, arrays = read(path, KIND)
    given = None if data is None else DataSet.of(data)
    try:
        course = build_course(description, arrays, given, limit)
    except Exception as error:  # a hostile file must not get through by a check that is missing
        raise not_made(path, "a run that can go on here", error) from error
    stands = list(course.clock.key) == description["clock"]
    if stands and description.get("bits") != bits_of(course.trainer.bank):
        warnings.warn(
            f"{shown(as_path(path))} was made on another machine or by other versions: replaying "
            "it gives slightly other numbers here",
            stacklevel=3,
        )
    return course


def needs_of_run(path: object) -> tuple[str, set[str]]:
    """The working type of a training in a file, and the engines that it has been on."""
    description, _ = read(path, KIND)
    try:
        actions = [action for branch in description["branches"] for action in branch["journal"]]
        chosen = {str(details["name"]) for _, _, kind, details, _ in actions if kind == "engine"}
        return str(description["network"]["dtype"]), chosen | {str(description["start"]["engine"])}
    except Exception as error:  # it is checked in full when it is loaded
        raise not_made(path, "a training", error) from error


# ---- what is written ----------------------------------------------------------------------------


def describe_course(course: History, network: Network) -> tuple[Description, dict[str, Array]]:
    """Everything, as JSON and arrays."""
    trainer, here = course.trainer, course.clock
    course.go(Clock(here.step))
    now = trainer.frame(here.step)
    course.forward(here)
    owner = course.branch.owner_of(now.step)
    writer = SettingsWriter()
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


def describe_settings(settings: Settings, writer: SettingsWriter) -> Description:
    """The settings that a training began with."""
    return {
        "optimizer": writer.write(settings.optimizer),
        "data": writer.write(settings.data),
        "engine": settings.engine,
        "precision": writer.write(settings.precision),
        "activations": list(settings.activations),
    }


def describe_action(action: Action, writer: SettingsWriter) -> list[Any]:
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
        arrays["state"] = np.array([frame.state for frame in kept])
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
