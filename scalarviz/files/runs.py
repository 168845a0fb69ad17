"""Run files: a complete training run with all branches and all actions of its user.

A file holds the network, the settings at the start, the clock, and the journal, losses and
keyframes of every branch. On the same machine with the same versions, a loaded run continues bit
for bit as if never interrupted, and every earlier moment can be visited.

The file size is the size of the keyframes (16 MB by default), plus eight bytes per step and about
twenty bytes per edited weight.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, final

import numpy as np

from scalarviz.base.checks import require, shorten, size
from scalarviz.base.limits import GROWTH, LONGEST_MARK, MADE, MOST_PRODUCTS, PRODUCTS, Budget
from scalarviz.base.messages import LONGEST_LINE, caution, visible
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.formula import check_names, make, pick
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.metric_formulas import METRICS, MetricRow, rows_of_metrics
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import NO_OWN_RATES, Optimizer
from scalarviz.core.precision import Precision
from scalarviz.data import DataSet
from scalarviz.data.data_set import DOUBLE, TableSet
from scalarviz.engines.engine import ORDER_OF_SUMS
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.checked_safetensors import (
    Array,
    Arrays,
    Description,
    InParts,
    as_own_path,
    current_name,
    read,
    write,
)
from scalarviz.files.networks import (
    build,
    check_own,
    describe,
    describe_own,
    field,
    if_any,
    not_made,
)
from scalarviz.files.run_settings import SettingsReader, SettingsWriter, build_clock, describe_loss
from scalarviz.training.follow.followed import Followed
from scalarviz.training.follow.followed_session import timeline_of
from scalarviz.training.follow.record import is_record
from scalarviz.training.network.model_queries import check_activation, check_states
from scalarviz.training.network.network import Network
from scalarviz.training.session.actions import (
    ACTIONS,
    ARRAYS,
    Action,
    addable,
    checked_batch,
    forms_of,
    settings_after,
)
from scalarviz.training.session.branches import (
    Branch,
    Clock,
    Frame,
    MetricPoints,
    checked_name,
    place_of,
    thinned,
)
from scalarviz.training.session.callbacks import FirstArrivals
from scalarviz.training.session.measurements import Metrics
from scalarviz.training.session.stops import MOST_MARKS, Mark
from scalarviz.training.session.timeline import Origin, Timeline
from scalarviz.training.session.trainer import Settings, Trainer, data_for

KIND = "run"


def save_timeline(
    timeline: Timeline, path: object, data: bool = True, keyframes: int | None = None
) -> None:
    """Save a training run; replace an existing file atomically. Raises FileError.

    Args:
        data: if False, samples of arrays are left out and must be passed when loading
        keyframes: bytes for keyframes other than the first and last; None stores all keyframes
    """
    network = check_saving(timeline)
    found = as_own_path(path, KIND)  # before the work
    try:
        write(path, KIND, *describe_timeline(timeline, network, data, keyframes))
    except MemoryError as error:
        raise FileError(
            f"{shown(found)} cannot be saved: not enough memory; end other programs"
        ) from error


def check_saving(timeline: Timeline) -> Any:
    """Return the network of a training run; raise InputError if it cannot be saved."""
    network = timeline.trainer.network
    require(
        timeline.trainer.recorded is None,
        "the record of a followed training run is already a file: copy it",
    )
    require(
        network.layers,
        "a session of a compiled function cannot be saved, since the function is code: save its "
        "parameters, and compile it again",
    )
    return network


def load_timeline(
    path: object, data: object = None, limit: int | None = None, metrics: object = ()
) -> Timeline:
    """Load the training run in a file written by `save_timeline`, at the time when it was saved.

    `data` is required if the data set is made by code or was left out; `limit` is described in
    base/limits.py; `metrics` are the user-defined metrics that the run measured.
    """
    Budget(limit)  # raises InputError for an invalid limit
    if is_record(path):
        return timeline_of(Followed(path))
    rows = rows_of_metrics(metrics)
    description, arrays = read(path, KIND)
    given = None if data is None else DataSet.of(data)
    try:
        timeline = Rebuilding(description, arrays, given, limit).timeline()
        lacks = restore_metrics(timeline.visits, description, rows)
        restore_marks(timeline, description)
        if "title" in description:
            timeline.title = visible(field(description, "title", str), LONGEST_LINE)
    except Exception as error:  # also unexpected errors, in malicious files
        raise not_made(path, "a run that can continue here", error) from error
    if lacks:
        caution(
            f"{shown(as_path(path))} has measured {', '.join(map(visible, lacks))} with "
            "functions, which a file does not contain: their values so far are kept; pass "
            "metrics=[...] with the functions to continue measuring"
        )
    is_same_clock = list(timeline.clock) == description["clock"]
    if is_same_clock and description.get("bits") != bits_of(timeline.trainer.bank):
        caution(
            f"{shown(as_path(path))} was made on another machine or with other versions: "
            "replaying it gives slightly different numbers here"
        )
    elif description.get("order_of_sums", 1) != ORDER_OF_SUMS and used_kernels(timeline):
        caution(
            f"{shown(as_path(path))} was made by a version with another summation order: it "
            "continues from its keyframes, and moments between them may differ in the last bits"
        )
    return timeline


def used_kernels(timeline: Timeline) -> bool:
    """Return whether a training run has used an engine other than python."""
    frames = [frame for branch in timeline.branches for frame in branch.frames]
    engines = {frame.settings.engine for frame in frames}
    return engines | set(chosen(timeline.branches, "engine", "name")) != {"python"}


def chosen(branches: Sequence[Branch], kind: str, detail: str = "") -> list[Any]:
    """Return the values that actions of a kind set; `detail` is their name, by default `kind`."""
    actions = [action for branch in branches for action in branch.journal]
    return [action.details[detail or kind] for action in actions if action.kind == kind]


# ---- writing ------------------------------------------------------------------------------------


def describe_timeline(
    timeline: Timeline, network: Network, data: bool = True, keyframes: int | None = None
) -> tuple[Description, Arrays]:
    """Return a training run as a JSON object and arrays; arguments are as in `save_timeline`."""
    trainer, here = timeline.trainer, timeline.clock
    metrics, origin = timeline.visits.metrics, timeline.origin
    start: Settings = timeline.branches[0].frames[0].settings
    with timeline.visit(Clock(here.step)):
        now = Frame.of(trainer.bank, here.step, trainer.settings)
    owner = timeline.branch.owner_of(now.step)
    writer = SettingsWriter(samples=data)
    places = {branch: i for i, branch in enumerate(timeline.branches)}
    kept = thinned(timeline.branches, timeline.branch, keyframes)
    arrays: dict[str, Array | InParts] = {}
    branches = []
    for branch, i in places.items():
        arrays |= frame_arrays(i, [*kept[branch], *([now] if branch is owner else [])])
        arrays[f"losses {i}"] = (len(branch.record),), branch.record.parts()
        arrays |= metric_arrays(i, branch)
        branches.append(
            {
                "parent": None if branch.parent is None else places[branch.parent],
                "fork": list(branch.fork),
                "end": list(branch.end),
                "journal": [describe_action(action, writer) for action in branch.journal],
                **if_any(name=branch.given_name, metrics=list(branch.metrics)),
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
        **if_any(
            metrics=metrics and {"names": list(metrics.rows), "every": metrics.every},
            marks=[
                [places[mark.branch], mark.step, mark.text[:LONGEST_MARK]]
                for mark in timeline.stops.marks
            ],
            origin=origin
            and {"did": origin.did, "step": origin.step, "operation": origin.operation},
            title=timeline.title,
        ),
        **own_of(start, timeline.branches),
    }
    require(
        data or len(writer.needed) <= 1,
        f"this training run used {len(writer.needed)} data sets, and only one can be passed on "
        "loading: save it with its data",
    )
    return description, arrays | writer.arrays


def own_of(start: Settings, branches: Sequence[Branch]) -> Description:
    """Return the description of all custom formulas used in a training run."""
    activations = [*start.activations, *chosen(branches, "activation", "name")]
    losses = [start.loss, *chosen(branches, "loss")]
    optimizers = [start.optimizer, *chosen(branches, "optimizer")]
    schedules = [each.schedule for each in optimizers]
    rows = [[each.row for each in formulas] for formulas in (losses, optimizers, schedules)]
    return describe_own(activations, *rows)


def given_at_start(start: Settings) -> list[Action]:
    """Return actions that set the separate rates and the conditions of the initial settings."""
    found = [
        Action(0, 0, "own rate", {"rows": np.arange(first, end), "rate": rate})
        for first, end, rate in start.optimizer.own_rates.spans
    ]
    stops = [*start.stops]
    return [*found, *([Action(0, 0, "stop when", {"conditions": stops})] if stops else [])]


def describe_action(action: Action, writer: SettingsWriter) -> list[Any]:
    """Return an action as a JSON list."""
    details = {key: writer.write(value) for key, value in action.details.items()}
    asked = None if action.asked is None else list(action.asked)
    return [action.step, action.operation, action.kind, details, asked]


def frame_arrays(branch: int, frames: Sequence[Frame]) -> dict[str, Array | InParts]:
    """Return the keyframes of a branch as arrays with one row per keyframe."""
    kept = [frame for _, frame in sorted({frame.step: frame for frame in frames}.items())]
    arrays: dict[str, Array | InParts] = {
        "step": np.array([frame.step for frame in kept], np.int64),
        "count": np.array([frame.numbers["count"] for frame in kept], np.int64),
        "has_gradients": np.array([frame.numbers["has_gradients"] for frame in kept], np.bool_),
    }
    known = {name: each for frame in kept for name, each in frame.numbers.items()}
    slots = sorted(known.keys() - {*ARRAYS, *arrays})
    for name in ("state", "value", "grad", *slots) if kept else ():
        none = np.zeros_like(known[name])
        arrays[name] = stacked([frame.numbers.get(name, none) for frame in kept])
    if any(frame.frozen is not None for frame in kept):
        none = np.zeros(kept[0].value.size, np.bool_)
        frozen = [none if frame.frozen is None else frame.frozen for frame in kept]
        arrays["frozen"] = stacked(frozen)
    return {f"frames {branch} {name}": array for name, array in arrays.items()}


def stacked(rows: Sequence[Array]) -> InParts:
    """Return rows of equal shape as one array to be stored."""
    return (len(rows), *rows[0].shape), rows


def bits_of(bank: Bank) -> str:
    """Return a short hash of the values in a bank."""
    return hashlib.sha256(bank.value.tobytes()).hexdigest()[:16]


# Rebuilding: a training run from its description, which is completely checked first.


@final
class Rebuilding:
    """Builds the parts of a training run from a description, in the order of dependencies.

    `data` is the data set if the file does not contain it.
    """

    def __init__(
        self,
        description: Description,
        arrays: Mapping[str, Array],
        data: DataSet | None,
        limit: int | None,
    ) -> None:
        check_own(description)
        self.description = description
        self.arrays = arrays
        self.frames: dict[str, dict[str, Array]] = {}  # by branch number, then by name
        for name, array in arrays.items():
            what, _, rest = name.partition(" ")
            if what == "frames":
                branch, _, name = rest.partition(" ")
                self.frames.setdefault(branch, {})[name] = array
        stored = sum(array.nbytes for array in arrays.values())
        self.made = Budget(limit, max(MADE, GROWTH * stored))
        first = pick(arrays, "frames 0 value", "array")
        require(first.ndim == 2 and len(first), "the keyframe of step 0 is missing")
        self.network = build(
            field(description, "network", dict), {"value": first[0]}, Budget(limit)
        )
        self.reader = SettingsReader(arrays, data, self.made, self.network.outputs)
        self.seed = check_seed(field(description, "seed", int))
        self.places: dict[Layer, list[int]] = {}  # indices of each layer, which may occur twice
        for place, layer in enumerate(self.network.layers):
            self.places.setdefault(layer, []).append(place)
        start = self._settings(field(description, "start", dict))
        self.start = settings_after(start, map(self._action, description.get("given", [])))

    def timeline(self) -> Timeline:
        """Return the training run, with its clock as in the description."""
        description = self.description
        trainer = Trainer(self.network, self.start, self.seed)
        timeline = Timeline(trainer, size(field(description, "memory", int), "memory"))
        timeline.origin = read_origin(description)
        branches = self.branches()
        number = field(description, "branch", int)
        require(
            0 <= number < len(branches),
            f"it is on branch {number}, and has the branches 0 to {len(branches) - 1}",
        )
        branch, clock = branches[number], build_clock(description.get("clock"))
        require(
            clock <= branch.end,
            f"the clock is at step {clock.step}, beyond the end of its branch",
        )
        frame = branch.frame_before(clock.step)
        require(
            frame is not None and frame.step == clock.step,
            f"there is no keyframe of step {clock.step:,}, the current one: the file is incomplete",
        )
        before = branch.actions_at((clock.step, 0))[: None if clock.operation else clock.actions]
        timeline.take_over(branches, branch, Clock(clock.step, 0, len(before)))
        if clock.operation and trainer.products > MOST_PRODUCTS.get(self.network.engine, PRODUCTS):
            caution(
                f"it is at the start of step {clock.step:,} now, since such a large step is not "
                "resumed halfway when loading"
            )
            return timeline
        timeline.go(clock)
        timeline.remember()
        require(
            timeline.clock == clock,
            f"step {clock.step} has no moment {tuple(clock)}, where the clock is",
        )
        trainer.check_untouched()
        return timeline

    def _settings(self, value: Description) -> Settings:
        """Return the initial settings of the training run."""
        kinds = {"optimizer": Optimizer, "data": DataSet, "precision": Precision}
        read = {name: self.reader.read(value.get(name)) for name in kinds}
        for name, kind in kinds.items():
            require(
                isinstance(read[name], kind),
                f"{shorten(read[name])} is not of the type {kind.__name__}",
            )
        names = field(value, "activations", list)
        require(
            len(names) == len(self.network.layers),
            f"{shorten(names)} is not an activation for each layer",
        )
        for layer, name in enumerate(names):
            check_activation(self.network, layer, name)
        loss = make(Loss, field(self.description, "loss", dict), "loss")
        batch = checked_batch(self.description.get("batch"))
        self._check_activations(names, range(len(names)))
        loss.check_output(names[-1])
        self._check_batch(read["data"], batch)
        return Settings(
            read["optimizer"].on(self.network._rows_named).with_own_rates(NO_OWN_RATES),
            read["data"],
            loss,
            batch,
            field(value, "engine", str),
            read["precision"],
            tuple(names),
        )

    def _check_batch(self, data: DataSet, batch: int | None) -> None:
        """Raise InputError if a batch of data made by code needs too much memory."""
        if not isinstance(data, TableSet):
            count = data.batches(batch, self.seed).size
            needed = DOUBLE * count * (data.inputs + data.outputs)
            Budget(self.made.limit).take(needed, f"a batch of {count:,} samples")

    def _check_activations(self, names: Sequence[str], changed: Sequence[int]) -> None:
        """Raise InputError if a layer that occurs twice would get two activations."""
        for place in changed:
            layer = self.network.layers[place]
            require(
                all(names[other] == names[place] for other in self.places[layer]),
                f"layer {place} has two activations at once",
            )

    def branches(self) -> list[Branch]:
        """Return all branches with their journals, losses and keyframes."""
        branches: list[Branch] = []
        for value in field(self.description, "branches", list):
            require(isinstance(value, dict), f"{shorten(value)} is not a branch")
            branches.append(self._branch(value, branches))
        require(
            branches and branches[0].frames and branches[0].frames[0].step == 0,
            "the keyframe of step 0 is missing",
        )
        return branches

    def _branch(self, value: Description, before: Sequence[Branch]) -> Branch:
        """Return a branch with its journal, losses and keyframes."""
        number, parent = len(before), value.get("parent")
        above = before[parent] if type(parent) is int and 0 <= parent < number else None
        require(
            above is not None or (not number and parent is None),
            f"branch {number} leaves {shorten(parent)}, which is not before it",
        )
        fork, end = build_clock(value.get("fork")), build_clock(value.get("end"))
        require(
            fork <= min(end, above.end if above else Clock()),
            f"branch {number} goes from {tuple(fork)} to {tuple(end)}, which cannot be",
        )
        branch = Branch(number, above, fork, self._journal(value, number, end), end)
        branch.given_name = checked_name(value.get("name", ""))
        losses = pick(self.arrays, f"losses {number}", "array")
        require(
            losses.dtype == np.float64 and losses.shape == (end.step - fork.step,),
            f"branch {number} does not have one loss for each of its steps",
        )
        branch.record.record(fork.step, losses)
        read_metrics(self.arrays, value.get("metrics", []), number, branch)
        branch.frames.extend(self._frames(number, branch.journal))
        require(
            all(fork.step <= frame.step <= end.step for frame in branch.frames),
            f"branch {number} has keyframes of steps that it does not have",
        )
        return branch

    def _journal(self, value: Description, number: int, end: Clock) -> list[Action]:
        """Return the actions of a branch, in order."""
        journal = list(map(self._action, field(value, "journal", list)))
        require(
            all(action.place <= after.place for action, after in pairwise(journal)),
            f"the journal of branch {number} is out of order",
        )
        if journal and journal[-1].place > (end.step + 1, 0):
            raise InputError(
                f"branch {number} ends at step {end.step}, and something was done at step "
                f"{journal[-1].step}"
            )
        now = self.start
        for _, group in groupby(journal, place_of):
            actions = list(group)
            changed = [each.details["layer"] for each in actions if each.kind == "activation"]
            for action in actions:
                if action.kind == "samples":
                    added = addable(now.data).as_added(**action.details)
                    action.details.update(zip(("inputs", "targets"), added, strict=True))
                now = settings_after(now, [action])
                if action.kind in ("data", "batch"):
                    self._check_batch(now.data, now.batch)
                if action.kind in ("data", "loss"):
                    data_for(self.network, now.data, now.loss)
            self._check_activations(now.activations, changed)
            now.loss.check_output(now.activations[-1])
        return journal

    def _action(self, value: object) -> Action:
        """Return an action of a journal; raise InputError if it does not fit this network."""
        if not isinstance(value, list) or len(value) != 5 or not isinstance(value[3], dict):
            raise InputError(f"{shorten(value)} is not an action")
        step, operation, name, details, asked = value
        kind, place = pick(ACTIONS, name, "action"), build_clock([step, operation, 0])
        read = {current_name(key): self.reader.read(x) for key, x in details.items()}
        try:
            check_names(kind.apply, read, f"action {name!r}", kind.on)
            require(
                not operation or not kind.waits,
                "that is done between two steps, and not in the middle of one",
            )
            kind.read(self.network, read)
        except ScalarvizError as error:
            raise InputError(
                f"the action {name!r} at step {step:,} cannot be done: {error}"
            ) from error
        return Action(step, operation, name, read, asked_at(asked, place, name))

    def _frames(self, branch: int, journal: Sequence[Action]) -> list[Frame]:
        """Return the keyframes of a branch."""
        found, bank = self.frames.get(str(branch), {}), self.network.bank
        count = len(pick(found, "step", "array of keyframes"))
        needed: dict[str, tuple[tuple[int, ...], str]] = {
            "step": ((count,), "int64"),
            "count": ((count,), "int64"),
            "has_gradients": ((count,), "bool"),
        }
        forms = {"frozen": ((len(bank),), "bool")} | forms_of(bank)
        shapes = needed | {name: ((count, *each), dtype) for name, (each, dtype) in forms.items()}
        for name, array in found.items():
            require(
                (array.shape, array.dtype.name) == pick(shapes, name, "array of keyframes"),
                f"the keyframes' {name} is {array.dtype} of shape {array.shape}",
            )
        for name in (*needed, *(ARRAYS if count else ())):
            pick(found, name, "array of keyframes")
        if count:
            check_states(self.network, found["state"])
        require((found["count"] >= 0).all(), "a keyframe has taken fewer steps than none")
        steps = found["step"].tolist()
        require(all(step < later for step, later in pairwise(steps)), "keyframes are out of order")
        numbers = [name for name in found if name not in ("step", "frozen")]
        return [
            Frame(
                step,
                {
                    name: found[name][i].tolist() if name in needed else found[name][i]
                    for name in numbers
                },
                found["frozen"][i] if "frozen" in found else None,
                settings,
            )
            for (i, step), settings in zip(
                enumerate(steps), settings_on_arrival(self.start, journal, steps), strict=True
            )
        ]


def asked_at(asked: object, place: Clock, kind: str) -> tuple[int, int] | None:
    """Return (step, operation) of the request, if an action waited for the next step, or None."""
    if asked is None:
        return None
    moment = build_clock([*asked, 0]) if isinstance(asked, list) else place
    waits = moment.step + 1 == place.step and moment.operation and not place.operation
    require(
        waits and ACTIONS[kind].waits,
        f"the action {kind!r} at step {place.step:,} waits for no step",
    )
    return moment.place


def settings_on_arrival(
    settings: Settings, journal: Sequence[Action], steps: Sequence[int]
) -> Iterator[Settings]:
    """Yield the settings on arrival at each of the ascending `steps`."""
    done = 0
    for step in steps:
        first = done
        while done < len(journal) and journal[done].place < (step, 0):
            done += 1
        settings = settings_after(settings, journal[first:done])
        yield settings


# Metrics: their names, and the recorded values of each branch.

STEPS, VALUES = "metric-steps", "metric-values"  # arrays: "metric-steps NAME BRANCH"


def metric_arrays(number: int, branch: Branch) -> dict[str, Array]:
    """Return the metrics of a branch as arrays."""
    arrays: dict[str, Array] = {}
    for name, points in branch.metrics.items():
        arrays[f"{STEPS} {name} {number}"], arrays[f"{VALUES} {name} {number}"] = points.until()
    return arrays


def read_metrics(arrays: Mapping[str, Array], names: object, number: int, branch: Branch) -> None:
    """Store recorded metrics in a branch; raise InputError if they are invalid."""
    for name in names_of(names):
        steps = pick(arrays, f"{STEPS} {name} {number}", "array")
        values = pick(arrays, f"{VALUES} {name} {number}", "array")
        fits = steps.dtype == np.int64 and values.dtype == np.float64 and steps.size > 0
        fits = fits and steps.ndim == 1 and steps.shape == values.shape
        fits = fits and bool((np.diff(steps, prepend=branch.fork.step) > 0).all())
        require(
            fits and steps[-1] <= branch.end.step,
            f"branch {number} has values of {name} at steps that it does not have",
        )
        branch.metrics[name] = MetricPoints(steps.tolist(), values.tolist())


def names_of(value: object) -> list[str]:
    """Return the names of metrics; raise InputError if they are not names."""
    names: list[Any] = value if isinstance(value, list) else [value]
    if all(isinstance(name, str) and name.isidentifier() for name in names):
        return names
    raise InputError(f"its metrics {shorten(value)} are not names")


def restore_metrics(
    visits: FirstArrivals, description: Description, given: Mapping[str, MetricRow]
) -> list[str]:
    """Let a loaded session measure its metrics; return the names of missing metrics.

    `given` has the user-defined metrics that were passed, by name.
    """
    if "metrics" not in description:
        visits.metrics = Metrics(given, 100) if given else None
        return []
    value: dict[str, Any] = field(description, "metrics", dict)
    names, known = names_of(field(value, "names", list)), METRICS | dict(given)
    rows = {name: known[name] for name in names if name in known}
    visits.metrics = Metrics(rows | dict(given), size(field(value, "every", int), "every"))
    return [name for name in names if name not in known]


# Marks: the steps at which training stopped automatically or that were found, and the reasons.


def restore_marks(timeline: Timeline, description: Description) -> None:
    """Restore the marks of a loaded training run; raise InputError if they are malformed."""
    if "marks" not in description:
        return
    listed = field(description, "marks", list)
    require(
        len(listed) <= MOST_MARKS, f"it has {len(listed)} marks, and at most {MOST_MARKS} are kept"
    )
    marks = []
    for given in listed:
        require(
            isinstance(given, list) and len(given) == 3 and isinstance(given[2], str),
            f"a mark is a branch, a step and a text, not {shorten(given)}",
        )
        number, step = (size(each, "a number of a mark", 0) for each in given[:2])
        require(
            number < len(timeline.branches) and step <= timeline.branches[number].end.step,
            f"a mark is at step {step} of branch {number}, which does not exist",
        )
        marks.append(Mark(timeline.branches[number], step, visible(given[2], LONGEST_MARK)))
    timeline.stops.marks = tuple(marks)


# Origin of a session: the change of the network and its moment, as a text.

LONGEST = 200  # characters of the description


def read_origin(description: Description) -> Origin | None:
    """Return the origin of a session, but not the earlier session; raise InputError if invalid."""
    if "origin" not in description:
        return None
    value = field(description, "origin", dict)
    did = field(value, "did", str)
    require(len(did) <= LONGEST, f"its origin {shorten(did)} is longer than {LONGEST} characters")
    step, operation = (size(field(value, name, int), name, 0) for name in ("step", "operation"))
    return Origin(visible(did, LONGEST), step, operation)
