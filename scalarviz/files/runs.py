"""Run files: a whole training with all branches and everything that its user did.

A file holds the network, the settings at the start, journal, losses and keyframes of every branch,
and the clock. A loaded run continues bit for bit as if it had not stopped, on the same machine with
the same versions, and every earlier moment can be visited.

The size is that of the keyframes, 16 MB unless more are wanted, eight bytes for each step, and the
user's edits, about twenty bytes a weight.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from scalarviz.base.limits import Budget
from scalarviz.base.messages import LONGEST_LINE, caution, visible
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.metrics import rows_of_metrics
from scalarviz.data import DataSet
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import ORDER_OF_SUMS
from scalarviz.errors import FileError, InputError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.checked_safetensors import (
    Array,
    Arrays,
    Description,
    InParts,
    as_own_path,
    read,
    write,
)
from scalarviz.files.marks import describe_marks, restore_marks
from scalarviz.files.metrics import describe_metrics, metric_arrays, restore_metrics
from scalarviz.files.networks import describe, field, not_made
from scalarviz.files.origin import describe_origin
from scalarviz.files.own_formulas import describe_own
from scalarviz.files.rebuilding import Rebuilding
from scalarviz.files.settings_codec import SettingsWriter, describe_loss
from scalarviz.training.network.network import Network
from scalarviz.training.session.branches import Action, Clock, Frame, thinned
from scalarviz.training.session.stops import in_force
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Settings

KIND = "run"
NUMBERS = ("value", "grad")
FORMULAS = ("optimizer", "loss")  # kinds of actions that choose other ones


def save_timeline(
    timeline: Timeline, path: object, data: bool = True, keyframes: int | None = None
) -> None:
    """Save a training; an existing file is replaced atomically. Raises FileError.

    data       False: without samples of arrays, which are passed again when it is loaded
    keyframes  bytes of the keyframes besides the first and the last; None: all
    """
    network = check_saving(timeline)
    found = as_own_path(path, KIND)  # before the work
    try:
        write(path, KIND, *describe_timeline(timeline, network, data, keyframes))
    except MemoryError as error:
        raise FileError(
            f"{shown(found)} cannot be saved, as memory does not suffice: end other programs"
        ) from error


def check_saving(timeline: Timeline) -> Any:
    """Return the network of a training; raise InputError if it cannot be saved."""
    network = timeline.trainer.network
    if not network.layers:
        raise InputError(
            "a session of a compiled function cannot be saved, since the function is code: keep "
            "the numbers of its parameters, and compile it again"
        )
    return network


def load_timeline(
    path: object, data: object = None, limit: int | None = None, metrics: object = ()
) -> Timeline:
    """Return the training in a file that `save_timeline` wrote, at its clock.

    `data` is needed if the data set is made by code or was left out; `limit` is described in
    base/limits.py; `metrics` are the functions of the user that it measured.
    """
    Budget(limit)  # raises InputError for a wrong limit
    rows = rows_of_metrics(metrics)
    description, arrays = read(path, KIND)
    given = None if data is None else DataSet.of(data)
    try:
        timeline = Rebuilding(description, arrays, given, limit).timeline()
        lacks = restore_metrics(timeline.visits, description, rows)
        restore_marks(timeline, description)
        if "title" in description:
            timeline.title = visible(field(description, "title", str), LONGEST_LINE)
    except Exception as error:  # also errors that no check has foreseen, in hostile files
        raise not_made(path, "a run that can go on here", error) from error
    if lacks:
        caution(
            f"{shown(as_path(path))} has measured {', '.join(map(visible, lacks))} by functions, "
            "which a file does not hold: their values so far are there; write metrics=[...] with "
            "the functions to measure on"
        )
    if lost := lost_functions(timeline):
        caution(
            f"{shown(as_path(path))} has stopped by functions, which a file does not hold: it does "
            f"not stop by {', '.join(map(visible, lost))} any more; s.stop_when(f) sets them again"
        )
    is_same_clock = list(timeline.clock) == description["clock"]
    if is_same_clock and description.get("bits") != bits_of(timeline.trainer.bank):
        caution(
            f"{shown(as_path(path))} was made on another machine or by other versions: replaying "
            "it gives slightly other numbers here"
        )
    elif description.get("order_of_sums", 1) != ORDER_OF_SUMS and used_kernels(timeline):
        caution(
            f"{shown(as_path(path))} was made by a version that added numbers in another order: it "
            "goes on from its keyframes, and moments between them may differ in the last bits"
        )
    return timeline


def lost_functions(timeline: Timeline) -> list[str]:
    """Return the names of the functions at which a training has stopped, in its settings now."""
    stops = timeline.trainer.settings.stops
    return [str(condition) for condition in stops if condition.is_lost]


def used_kernels(timeline: Timeline) -> bool:
    """Return whether a training has used another engine than python."""
    actions = [action for branch in timeline.branches for action in branch.journal]
    engines = [action.details["name"] for action in actions if action.kind == "engine"]
    frames = [frame for branch in timeline.branches for frame in branch.frames]
    return {*engines, *[frame.settings.engine for frame in frames]} != {"python"}


def needs_of_run(path: object) -> tuple[Network, Batches, list[object], set[str]]:
    """Return what a training in a file computes, without computing it.

    That is the network, the batches, and all optimizers, losses and engines that it has used.
    """
    description, arrays = read(path, KIND)
    try:
        parts = Rebuilding(description, arrays, None, None)
        actions = [action for branch in description["branches"] for action in branch["journal"]]
        details = [(kind, value) for _, _, kind, given, _ in actions for value in given.values()]
        engines = {str(value) for kind, value in details if kind == "engine"}
        chosen = [given for kind, given in details if kind in FORMULAS and isinstance(given, dict)]
        start = parts.start
        used = [start.optimizer, start.loss, *[parts.reader.read(given) for given in chosen]]
        batches = start.data.batches(start.batch, parts.seed)
        return parts.network, batches, used, {start.engine, *engines}
    except Exception as error:  # loading checks it in full
        raise not_made(path, "a training", error) from error


# ---- writing ------------------------------------------------------------------------------------


def describe_timeline(
    timeline: Timeline, network: Network, data: bool = True, keyframes: int | None = None
) -> tuple[Description, Arrays]:
    """Return a training as a JSON object and arrays; the rest is as in `save_timeline`."""
    trainer, here, start = timeline.trainer, timeline.clock, settings_at_start(timeline)
    with timeline.visit(Clock(here.step)):
        now = Frame.of(trainer.bank, here.step, trainer.settings)
    owner = timeline.branch.owner_of(now.step)
    writer = SettingsWriter(samples=data)
    places = {branch: i for i, branch in enumerate(timeline.branches)}
    kept = thinned(timeline.branches, timeline.branch, keyframes)
    arrays: dict[str, Array | InParts] = {}
    branches = []
    for branch, i in places.items():
        frames = [*kept[branch], *([now] if branch is owner else [])]
        arrays |= frame_arrays(i, frames)
        arrays[f"losses {i}"] = (len(branch.record),), branch.record.parts()
        arrays |= metric_arrays(i, branch)
        branches.append(
            {
                "parent": None if branch.parent is None else places[branch.parent],
                "fork": list(branch.fork),
                "end": list(branch.end),
                "journal": [describe_action(action, writer) for action in branch.journal],
                **({"name": branch.given_name} if branch.given_name else {}),
                **({"metrics": list(branch.metrics)} if branch.metrics else {}),
            }
        )
    description = {
        "network": describe(network),
        "loss": describe_loss(start.loss),
        "batch": start.batch,
        "seed": trainer.seed,
        "memory": timeline.keyframes.budget,
        "start": {
            "optimizer": writer.write(start.optimizer),
            "data": writer.write(start.data),
            "engine": start.engine,
            "precision": writer.write(start.precision),
            "activations": list(start.activations),
        },
        "given": [describe_action(action, writer) for action in given_at_start(start)],
        "branches": branches,
        "branch": places[timeline.branch],
        "clock": list(here),
        "bits": bits_of(network.bank),
        "order_of_sums": ORDER_OF_SUMS,
        **describe_metrics(timeline.visits),
        **describe_marks(timeline),
        **describe_origin(timeline.origin),
        **({"title": timeline.title} if timeline.title else {}),
        **own_of(timeline),
    }
    if not data and len(writer.needed) > 1:
        raise InputError(
            f"this training has used {len(writer.needed)} data sets, and one can be passed when it "
            "is loaded: save it with its data"
        )
    return description, arrays | writer.arrays


def settings_at_start(timeline: Timeline) -> Settings:
    """Return the settings with which a training began."""
    settings: Settings = timeline.branches[0].frames[0].settings
    return settings


def own_of(timeline: Timeline) -> Description:
    """Return the entry of the formulas of the user's own that a training has ever used."""
    start = settings_at_start(timeline)
    details = [action.details for branch in timeline.branches for action in branch.journal]
    optimizers = [start.optimizer, *[each["optimizer"] for each in details if "optimizer" in each]]
    activations = [each["name"] for each in details if "layer" in each]
    losses = [start.loss.row, *[each["loss"].row for each in details if "loss" in each]]
    rows = [optimizer.row for optimizer in optimizers]
    return describe_own([*start.activations, *activations], losses, rows)


def given_at_start(start: Settings) -> list[Action]:
    """Return own rates and conditions that a training began with as the actions that set them."""
    found = [
        Action(0, 0, "own rate", {"rows": np.arange(span.first, span.end), "rate": span.rate})
        for span in start.optimizer.own_rates.spans
    ]
    stops = in_force(start)
    return [*found, *([Action(0, 0, "stop when", {"conditions": stops})] if stops else [])]


def describe_action(action: Action, writer: SettingsWriter) -> list[Any]:
    """Return an action as a JSON list."""
    details = {key: writer.write(value) for key, value in action.details.items()}
    asked = None if action.asked is None else list(action.asked)
    return [action.step, action.operation, action.kind, details, asked]


def frame_arrays(branch: int, frames: Sequence[Frame]) -> dict[str, Array | InParts]:
    """Return the keyframes of a branch as arrays, one row for each."""
    steps = sorted({frame.step: frame for frame in frames}.items())
    kept = [frame for _, frame in steps]
    arrays: dict[str, Array | InParts] = {
        "step": np.array([frame.step for frame in kept], np.int64),
        "count": np.array([frame.step_count for frame in kept], np.int64),
        "has_gradients": np.array([frame.has_gradients for frame in kept], np.bool_),
    }
    if kept:
        arrays["state"] = stacked([frame.state for frame in kept])
        for name in NUMBERS:
            arrays[name] = stacked([getattr(frame, name) for frame in kept])
        rows = kept[0].value.size
        if any(frame.frozen is not None for frame in kept):
            none = np.zeros(rows, np.bool_)
            frozen = [none if frame.frozen is None else frame.frozen for frame in kept]
            arrays["frozen"] = stacked(frozen)
        for names in sorted({names for frame in kept for names in frame.slots}):
            none = np.zeros((len(names), rows), kept[0].value.dtype)
            slots = [frame.slots.get(names, none) for frame in kept]
            arrays[" ".join(("slots", *names))] = stacked(slots)
    return {f"frames {branch} {name}": array for name, array in arrays.items()}


def stacked(rows: Sequence[Array]) -> InParts:
    """Return rows of one shape as an array."""
    return (len(rows), *rows[0].shape), rows


def bits_of(bank: Bank) -> str:
    """Return a short hash of the weights."""
    return hashlib.sha256(bank.value.tobytes()).hexdigest()[:16]
