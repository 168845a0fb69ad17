"""The session of a recorded training run, whose clock moves between recorded moments.

Pictures, pages, videos and conditions treat it like any session. It reads the numbers of each step
from the record, so nothing can be changed; only the explanation of a weight's update is computed.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.base.texts import text
from scalarviz.core.formulas.losses import Loss, LossRow
from scalarviz.core.optimizer import SGD, Adam, AdamW, Momentum, Nesterov, Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Buffer, Moment
from scalarviz.data import Arrays
from scalarviz.engines.engine import Run, RunOutcome
from scalarviz.errors import FileError, ScalarvizError
from scalarviz.training.follow.followed import Followed, Head, RecordedStep
from scalarviz.training.follow.modules import FollowedModel, structure_of
from scalarviz.training.follow.sources import numbers_in
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.session import MEMORY, Session
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Settings, Trainer

DRAWN = "maps", "attention", "output"  # parts of a probe
# A step has two moments: its loss, with gradients, and its update of the weights.
MOMENTS = Moment("loss", "loss", "loss"), Moment("step", "step", "step")


def itself(p: float, t: float) -> float:
    return p


def nothing(p: float, t: float) -> float:
    return 0.0


REPORTED = LossRow("loss", itself, nothing, error="p", slope="0")


def optimizer_of(given: Mapping[str, Any], rate: float) -> Optimizer | None:
    """Return the optimizer that is equivalent to a recorded PyTorch optimizer, or None."""
    with suppress(ScalarvizError, ValueError, TypeError, LookupError):  # unsupported settings
        settings = {name: each for name, each in given["settings"].items() if each is not False}
        decay, kind = settings.pop("weight_decay", 0.0), given["kind"]
        if kind == "SGD":
            momentum, is_nesterov = settings.pop("momentum", 0.0), settings.pop("nesterov", False)
            if settings.pop("dampening", 0.0) or settings:
                return None
            if not momentum:
                return SGD(rate, l2=decay)
            return (Nesterov if is_nesterov else Momentum)(rate, momentum, l2=decay)
        if kind in ("Adam", "AdamW") and {*settings} == {"betas", "eps"}:
            beta1, beta2 = settings["betas"]
            if kind == "Adam":
                return Adam(rate, beta1, beta2, settings["eps"], l2=decay)
            return AdamW(rate, beta1, beta2, settings["eps"], decay)
    return None


MOST_DRAWN = 3000  # modules and functions; more are walls one after the other


@final
class RecordedRun(Run):
    """A Run that reads the steps from a record instead of computing them."""

    def __init__(self, followed: Followed, model: FollowedModel, trainer: Trainer) -> None:
        super().__init__(trainer.batches, trainer.loss)
        self.followed, self.model, self.trainer = followed, model, trainer
        trainer.network.program.moments, self.named_arrays = MOMENTS, model.arrays
        trainer.computes = model.computes and model.head.probe is not None
        self.grown: Callable[[], None] = lambda: None  # called when new entries were read
        self._tree: Any = None  # what the structure was read from: whether recorded, and done
        self._structure: dict[str, Any] | None = None
        self._kept: RecordedStep | None = None
        self._probe: tuple[int, Mapping[str, Mapping[str, Any]]] | None = None  # the last one
        self._is_newest = False  # whether the clock follows the end of a growing record

    @property
    def structure(self) -> dict[str, Any] | None:  # type: ignore[override]
        """The structure of a model that is drawn by its modules; None for a chain of layers.

        Without a recorded structure, it has no edges; if it is too large to be drawn, no nodes.
        "probed" has the shapes of the maps of the first probe by module.
        """
        record = self.followed.record
        key = record.tree is None, record.is_done, not record.looks
        if not self.model.computes and self._tree != key:
            found = self.followed.structure
            lack = found["lack"] if record.is_done or record.tree is not None else ""
            is_known = not found["lack"] and any(each["arrays"] for each in found["nodes"])
            shown = found if is_known else structure_of(self.model.head, lack)
            if len(shown["nodes"]) > MOST_DRAWN:
                shown = {
                    "lack": f"it has more than {MOST_DRAWN:,} modules and functions",
                    "frames": [],
                    "nodes": [],
                    "edges": [],
                }
            self._tree, self._structure = key, {**shown, "probed": self._probed()}
        return self._structure

    def _probed(self) -> dict[str, dict[str, tuple[int, ...]]]:
        with suppress(ScalarvizError):  # without a probe
            return {
                path: {part: row[part].shape for part in DRAWN if part in row}
                for path, row in self.followed.probe(self.followed.record.steps[-1]).items()
            }
        return {}

    @property
    def probe(self) -> tuple[int, Mapping[str, Mapping[str, Any]]] | None:  # type: ignore[override]
        """The step of the last probe up to the shown moment, and what modules computed for it."""
        looks = self.followed.record.looks
        step = max((x for x in looks if self._kept and x <= self._kept.step), default=None)
        if step is None or (self._probe is not None and self._probe[0] == step):
            return self._probe if step is not None else None
        with suppress(ScalarvizError):  # it was just dropped, or is damaged
            self._probe = step, self.followed.probe(step)
        return self._probe

    def step_after(self, step: int, count: int) -> int:
        """Return the step `count` recorded moments after a step, or before it if `count` < 0.

        At the end of a growing record, return the latest recorded step.
        """
        steps = self.followed.record.steps
        at = bisect_right(steps, step) - 1 if count > 0 else bisect_left(steps, step)
        if count < 0:
            self._is_newest = False
        elif at + count >= len(steps) or self._is_newest:
            if self.followed.refresh():
                self.grown()
            self._is_newest = not self.followed.record.is_done
            steps, count = self.followed.record.steps, len(self.followed.record.steps)
        return int(steps[min(max(at + count, 0), len(steps) - 1)])

    def some_steps(self, first: int, end: int, most: int) -> list[int]:
        """Return at most `most` evenly chosen recorded steps in the interval [first, end]."""
        found = [step for step in self.followed.record.steps if first <= step <= end]
        return [found[int(x)] for x in np.linspace(0, len(found) - 1, min(most, len(found)))]

    def steps(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        """Load the latest recorded moment up to step `first + count`, and return the losses."""
        self.load(first + count)
        return RunOutcome(self._losses(first, count))

    def _losses(self, first: int, count: int) -> FloatArray:
        known = self.followed.record.losses[first : first + count]
        return np.append(known, np.full(count - len(known), np.nan))

    def load(self, step: int) -> None:
        """Load the latest recorded moment up to a step into the bank and the optimizer settings."""
        steps = self.followed.record.steps
        for known in steps[bisect_right(steps, step) - 1 :: -1]:
            with suppress(ScalarvizError):  # it was just dropped, or is damaged
                self._kept = self.followed.kept(known)
                self.model.write(self._kept, "value", self.trainer.bank)
                self.model.write(self._kept, "gradient", self.trainer.bank)
                if self._kept.head is self.model.head:
                    self.trainer.bank.frozen[:] = self.model.by_row(self._kept.marks[2])
                self.trainer.bank.has_gradients = True
                self._set_optimizer(self._kept)
                return

    def _set_optimizer(self, kept: RecordedStep) -> None:
        """Set the optimizer's rates and slots before a step, if an equivalent optimizer exists."""
        rates, counts, which = kept.rates.T
        moved: Any = ((kept.rates >= 0.0) & (kept.rates < 2.0**53)).all(axis=1)
        trainer, bank = self.trainer, self.trainer.bank
        is_shown = kept.head is self.model.head and "before" in kept.parts
        trainer.knows = is_shown and bool(moved.any())
        trainer.explains, trainer.unmoved = False, None
        if not trainer.knows:
            return
        trainer.unmoved = self.model.by_row(~moved)
        optimizer = None
        with suppress(ScalarvizError, LookupError):  # of the rates, and of malicious files
            given, *others = (kept.head.optimizers[int(i)] for i in {*which[moved]})
            optimizer = optimizer_of(given, rates[moved][0])
            if optimizer is not None and any(each != given for each in others):
                optimizer = None
            if optimizer is not None:
                optimizer = optimizer.with_own_rates(self._own_rates(optimizer, rates, moved))
        has_slots = optimizer is not None and {*optimizer.row.slots} <= {*kept.parts}
        trainer.explains = has_slots and len({*counts[moved]}) == 1
        if optimizer is None or not trainer.explains:
            return
        trainer.settings = replace(trainer.settings, optimizer=optimizer)
        bank.step_count = int(counts[moved][0]) + 1
        for name, row in zip(
            optimizer.row.slots, bank.slot_block(optimizer.row.slots), strict=True
        ):
            row[:] = kept.parts[name][self.model.rows]

    def _own_rates(self, optimizer: Optimizer, rates: FloatArray, moved: FloatArray) -> Any:
        """Return separate learning rates for rows whose parameter group has another rate."""
        rows, found = self.model.by_row(rates), optimizer.own_rates
        for rate in {*rates[moved]} - {rates[moved][0]}:
            found = found.changed(np.flatnonzero(rows == rate), rate)
        return found

    def begin(self, step: int) -> None:
        """Load the gradients of a step and, if recorded, the weights before it."""
        self.load(step + 1)
        self.loss = float(self._losses(step, 1)[0])
        if self._kept is not None:
            self.model.write(self._kept, "before", self.trainer.bank)
            self.trainer.bank.step_count -= self.trainer.explains

    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        if moment.kind == "step" and self._kept is not None:
            self.model.write(self._kept, "value", self.trainer.bank)
            self.trainer.bank.step_count += self.trainer.explains

    def values(self, buffer: Buffer) -> FloatArray:
        return np.full((1, buffer.size), np.nan)

    gradients = values

    def targets(self) -> FloatArray:
        return self.values(self.model.network.program.outputs)


def title_of(head: Head) -> str:
    """Return the title for the picture of a model."""
    weights = [each for each in head.arrays if not each.is_buffer]
    name, count = head.title or text("follow.model"), numbers_in(weights)
    if name == "ModuleDict":  # several models
        name = ", ".join(dict.fromkeys(each.name.partition(".")[0] for each in weights))
    if head.is_whole:
        return text("follow.title", name=name, count=count)
    shown = sum(prod(each.kept) for each in weights)
    return text("follow.title.chosen", name=name, count=count, shown=shown)


def session_of_record(followed: Any) -> Session:
    """Return a session at the last recorded moment."""
    return Session.of(timeline_of(followed))


def is_at_end(session: Session, *, grows: bool = True) -> bool:
    """Return whether a session is at the last moment of a record.

    Args:
        grows: whether the record may still grow
    """
    run = session.trainer.run
    record = run.followed.record if isinstance(run, RecordedRun) else None
    return record is not None and session.step_index >= record.steps[-1] and grows | record.is_done


def rewind(session: Session, *, grows: bool = True) -> None:
    """Go to the first moment of a record if it is at the last one; for `grows` see `is_at_end`."""
    if is_at_end(session, grows=grows):
        session.seek(0)


def timeline_of(followed: Followed) -> Timeline:
    """Return the timeline of a record; raise FileError if nothing can be shown."""
    head = followed.head()
    require(followed.record.steps, f"{shorten(followed.path)} has no kept moment", FileError)
    followed.kept(followed.record.steps[0])  # checks that its length fits the arrays
    require(
        head.count * head.dtype.itemsize <= os.path.getsize(followed.path),
        f"{shorten(followed.path)} has no kept moment of its newest arrays",
        FileError,
    )
    model = FollowedModel(head)
    network = model.network
    sample = np.zeros((1, network.inputs))
    if model.computes and head.probe:
        sample[:] = head.probe["numbers"]
    targets = np.zeros((1, network.outputs))
    first = [optimizer_of(each, 0.001) for each in head.optimizers[:1]]  # as pages expect it
    settings = Settings(
        next(filter(None, first), SGD()), Arrays(sample, targets), Loss(REPORTED), None, "python",
        Precision(), network.activations,
    )  # fmt: skip
    trainer = Trainer(network, settings, 0, partial(RecordedRun, followed, model))
    run = trainer.run
    assert isinstance(run, RecordedRun)
    run.load(followed.record.steps[0])
    timeline = Timeline(trainer, MEMORY)  # its first keyframe has the first moment
    run.load(followed.record.steps[-1])
    timeline.clock = Clock(followed.record.steps[-1])
    timeline.remember()

    def grow() -> None:
        branch, losses = timeline.branch, followed.record.losses
        branch.record.record(len(branch.record), losses[len(branch.record) :])
        branch.end = Clock(max(len(losses), followed.record.steps[-1]))

    run.grown = grow
    grow()
    timeline.title = title_of(head)
    timeline.show()
    return timeline
