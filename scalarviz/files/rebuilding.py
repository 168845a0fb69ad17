"""Rebuilding: a training from the description in a run file, which is checked in full first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import final

import numpy as np

from scalarviz.base.checks import shorten, size
from scalarviz.base.limits import GROWTH, MADE, MOST_PRODUCTS, PRODUCTS, Budget
from scalarviz.base.messages import caution
from scalarviz.core.formulas.formula import make, pick
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.data import DataSet
from scalarviz.data.data_set import DOUBLE, TableSet
from scalarviz.errors import InputError
from scalarviz.files.actions import Actions
from scalarviz.files.checked_safetensors import Array, Description
from scalarviz.files.metrics import read_metrics
from scalarviz.files.networks import block_name, build, check_states, field
from scalarviz.files.origin import read_origin
from scalarviz.files.own_formulas import check_own
from scalarviz.files.settings_codec import Reader, build_clock
from scalarviz.training.session.branches import Action, Branch, Clock, Frame, checked_name, place_of
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Settings, Trainer, addable, data_for, settings_after


@final
class Rebuilding:
    """Builds the parts of a training in the order in which they depend on each other.

    `data` replaces a data set that is made by code.
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
        self.frames: dict[str, dict[str, Array]] = {}  # by number of the branch, then by name
        for name, array in arrays.items():
            what, _, rest = name.partition(" ")
            if what == "frames":
                branch, _, name = rest.partition(" ")
                self.frames.setdefault(branch, {})[name] = array
        stored = sum(array.nbytes for array in arrays.values())
        self.made = Budget(limit, max(MADE, GROWTH * stored))
        self.reader = Reader(arrays, data, self.made)
        first = {"value": self._first_values()}
        self.network = build(field(description, "network", dict), first, Budget(limit))
        self.seed = check_seed(field(description, "seed", int))
        self.places: dict[Layer, list[int]] = {}  # indices of each layer, which may occur twice
        for place, layer in enumerate(self.network.layers):
            self.places.setdefault(layer, []).append(place)
        self.actions = Actions(self.reader, self.network)
        start = self._settings(field(description, "start", dict))
        given = map(self.actions.read, description.get("given", []))
        self.start = settings_after(start, given)

    def timeline(self) -> Timeline:
        """Return the training, at the clock of the description."""
        description = self.description
        trainer = Trainer(self.network, self.start, self.seed)
        timeline = Timeline(trainer, size(field(description, "memory", int), "memory"))
        timeline.origin = read_origin(description)
        branches = self._branches()
        number = field(description, "branch", int)
        if not 0 <= number < len(branches):
            raise InputError(
                f"it stands on branch {number}, and has the branches 0 to {len(branches) - 1}"
            )
        branch, clock = branches[number], build_clock(description.get("clock"))
        if clock > branch.end:
            raise InputError(f"the clock stands at step {clock.step}, beyond the end of its branch")
        frame = branch.frame_before(clock.step)
        if frame is None or frame.step != clock.step:
            raise InputError(
                f"there is no keyframe of step {clock.step:,}, where it stands: it was not saved "
                "as it is"
            )
        before = branch.actions_at((clock.step, 0))[: None if clock.operation else clock.actions]
        timeline.take_over(branches, branch, Clock(clock.step, 0, len(before)))
        if clock.operation and trainer.products > MOST_PRODUCTS.get(self.network.engine, PRODUCTS):
            caution(
                f"it stands at the start of step {clock.step:,} now, as half of so large a step is "
                "not taken while a file is loaded"
            )
            return timeline
        timeline.go(clock)
        timeline.remember()
        if timeline.clock != clock:
            raise InputError(
                f"step {clock.step} has no moment {tuple(clock)}, where the clock stands"
            )
        trainer.check_untouched()
        return timeline

    def _first_values(self) -> Array:
        """Return the initial weights; their count is compared with that of the network."""
        found = pick(self.arrays, "frames 0 value", "array")
        if found.ndim != 2 or not len(found):
            raise InputError("the keyframe of step 0 is missing")
        values: Array = found[0]
        return values

    def _settings(self, value: Description) -> Settings:
        """Return the settings at the start of the training."""
        kinds = {"optimizer": Optimizer, "data": DataSet, "precision": Precision}
        read = {name: self.reader.read(value.get(name)) for name in kinds}
        for name, kind in kinds.items():
            if not isinstance(read[name], kind):
                raise InputError(f"{shorten(read[name])} is not of the type {kind.__name__}")
        names = field(value, "activations", list)
        if len(names) != len(self.network.layers):
            raise InputError(f"{shorten(names)} is not an activation for each layer")
        for layer, name in enumerate(names):
            self.network.check_activation(layer, name)
        loss = make(Loss, field(self.description, "loss", dict), "loss")
        batch = self.description.get("batch")
        batch = None if batch is None else size(batch, "batch")
        self._check_activations(names, range(len(names)))
        loss.check_output(names[-1])
        self._check_batch(read["data"], batch)
        engine = field(value, "engine", str)
        return Settings(
            read["optimizer"],
            read["data"],
            loss,
            batch,
            engine,
            read["precision"],
            tuple(names),
        )

    def _check_batch(self, data: DataSet, batch: int | None) -> None:
        """Raise InputError for a batch that takes too much memory, of samples made by code."""
        if not isinstance(data, TableSet):
            count = data.batches(batch, self.seed).size
            needed = DOUBLE * count * (data.inputs + data.outputs)
            Budget(self.made.limit).take(needed, f"a batch of {count:,} samples")

    def _check_activations(self, names: Sequence[str], changed: Sequence[int]) -> None:
        """Raise InputError for two activations of a layer."""
        for place in changed:
            layer = self.network.layers[place]
            if any(names[other] != names[place] for other in self.places[layer]):
                raise InputError(f"layer {place} has two activations at once")

    def _branches(self) -> list[Branch]:
        branches: list[Branch] = []
        for value in field(self.description, "branches", list):
            if not isinstance(value, dict):
                raise InputError(f"{shorten(value)} is no branch")
            branches.append(self._branch(value, branches))
        if not branches or not branches[0].frames or branches[0].frames[0].step != 0:
            raise InputError("the keyframe of step 0 is missing")
        return branches

    def _branch(self, value: Description, before: Sequence[Branch]) -> Branch:
        """Return a branch with journal, losses and keyframes."""
        number, parent = len(before), value.get("parent")
        above = before[parent] if type(parent) is int and 0 <= parent < number else None
        if above is None and (number or parent is not None):
            raise InputError(f"branch {number} leaves {shorten(parent)}, which is not before it")
        fork, end = build_clock(value.get("fork")), build_clock(value.get("end"))
        if not fork <= min(end, above.end if above else Clock()):
            raise InputError(
                f"branch {number} goes from {tuple(fork)} to {tuple(end)}, which cannot be"
            )
        branch = Branch(number, above, fork, self._journal(value, number, end), end)
        branch.given_name = checked_name(value.get("name", ""))
        losses = pick(self.arrays, f"losses {number}", "array")
        if losses.dtype != np.float64 or losses.shape != (end.step - fork.step,):
            raise InputError(f"branch {number} does not have one loss for each of its steps")
        branch.record.record(fork.step, losses)
        read_metrics(self.arrays, value.get("metrics", []), number, branch)
        branch.frames.extend(self._frames(number, branch.journal))
        if any(not fork.step <= frame.step <= end.step for frame in branch.frames):
            raise InputError(f"branch {number} has keyframes of steps that it does not have")
        return branch

    def _journal(self, value: Description, number: int, end: Clock) -> list[Action]:
        """Return the actions of a branch, in order."""
        listed = field(value, "journal", list)
        journal = list(map(self.actions.read, listed))
        if any(after.place < action.place for action, after in pairwise(journal)):
            raise InputError(f"the journal of branch {number} is out of order")
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
                    addable(now.data).as_added(**action.details)
                now = settings_after(now, [action])
                if action.kind in ("data", "batch"):
                    self._check_batch(now.data, now.batch)
                if action.kind in ("data", "loss"):
                    data_for(self.network, now.data, now.loss)
            self._check_activations(now.activations, changed)
            now.loss.check_output(now.activations[-1])
        return journal

    def _frames(self, branch: int, journal: Sequence[Action]) -> list[Frame]:
        """Return the keyframes of a branch."""
        found, bank = self.frames.get(str(branch), {}), self.network.bank
        count, rows = len(pick(found, "step", "array of keyframes")), len(bank)
        blocks = {block_name(row.slots): row.slots for row in OPTIMIZERS.values() if row.slots}
        needed: dict[str, tuple[tuple[int, ...], str]] = {
            "step": ((count,), "int64"),
            "count": ((count,), "int64"),
            "has_gradients": ((count,), "bool"),
        }
        always = {
            "state": ((count, len(bank.state)), "float64"),
            "value": ((count, rows), bank.dtype),
            "grad": ((count, rows), bank.dtype),
        }
        needed |= always if count else {}
        shapes = needed | always | {"frozen": ((count, rows), "bool")}
        shapes |= {name: ((count, len(names), rows), bank.dtype) for name, names in blocks.items()}
        for name, array in found.items():
            if (array.shape, array.dtype.name) != pick(shapes, name, "array of keyframes"):
                raise InputError(f"the keyframes' {name} is {array.dtype} of shape {array.shape}")
        for name in needed:
            pick(found, name, "array of keyframes")
        if count:
            check_states(self.network, found["state"])
        if (found["count"] < 0).any():
            raise InputError("a keyframe has taken fewer steps than none")
        steps = found["step"].tolist()
        if any(later <= step for step, later in pairwise(steps)):
            raise InputError("keyframes are out of order")
        return [
            Frame(
                step,
                found["value"][i],
                found["grad"][i],
                found["frozen"][i] if "frozen" in found else None,
                {names: found[name][i] for name, names in blocks.items() if name in found},
                found["state"][i],
                int(found["count"][i]),
                bool(found["has_gradients"][i]),
                settings,
            )
            for (i, step), settings in zip(
                enumerate(steps), settings_on_arrival(self.start, journal, steps), strict=True
            )
        ]


def settings_on_arrival(
    settings: Settings, journal: Sequence[Action], steps: Sequence[int]
) -> Iterator[Settings]:
    """Yield the settings on arrival at each of these steps, which are in order."""
    done = 0
    for step in steps:
        first = done
        while done < len(journal) and journal[done].place < (step, 0):
            done += 1
        settings = settings_after(settings, journal[first:done])
        yield settings
