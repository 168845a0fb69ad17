"""Training: the networks of one setting, trained together and measured at some steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.metrics import MetricRow, measured, predictions_of
from scalarviz.data.batches import GeneratedBatches
from scalarviz.errors import GradientError, UpdateError
from scalarviz.files.atomic import bytes_of
from scalarviz.files.checked_safetensors import as_stored
from scalarviz.files.runs import bits_of, describe_timeline
from scalarviz.sweeps.goal import Goal
from scalarviz.sweeps.outcome import NEVER, Outcome, Steps
from scalarviz.sweeps.versions import processor_here
from scalarviz.training.session.replicas import Replicas, draw
from scalarviz.training.session.session import Session

MOST_ROWS = 4096  # of samples that a goal and metrics are measured on
MEMORY = 2**20  # bytes of keyframes of a session in a sweep


@final
@dataclass(frozen=True)
class Plan:
    """What is done with every network of a sweep.

    steps    number of steps
    every    steps between two checks
    success  a Goal, or None
    stop     the Goal at which a network ends; None: after `steps`
    metrics  rows by name
    keep     whether the weights at the end are kept
    """

    steps: int
    every: int
    success: Goal | None = None
    stop: Goal | None = None
    metrics: Mapping[str, MetricRow] = field(default_factory=dict)
    keep: bool = True


@final
class OneByOne:
    """Sessions of their own, such as those of other engines or with data of their own.

    They are trained as `Replicas` are, by the methods of that which a Training calls.
    """

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self._ended = np.zeros(len(sessions), np.bool_)
        for session in sessions:
            session.timeline.keyframes.budget = MEMORY

    def prepare(self) -> None:
        self.sessions[0].copy().advance(1, progress=False)

    def advance(self, n: int, *, progress: bool) -> None:
        self._losses = np.full((len(self.sessions), n), np.nan)
        for i, session in enumerate(self.sessions):
            if not self._ended[i]:
                before = session.step_index
                try:
                    session.advance(n, progress=progress)
                except (GradientError, UpdateError):  # the loss says so, by NaN
                    self._ended[i] = True
                self._losses[i, : session.step_index - before] = session.losses[before:]

    def take_losses(self) -> FloatArray:
        return self._losses

    def outputs(self, x: FloatArray, which: npt.NDArray[np.bool_]) -> FloatArray:
        chosen = compress(self.sessions, which)
        return np.array([session.network(x) for session in chosen])

    def end(self, which: npt.NDArray[np.bool_]) -> None:
        self._ended |= which

    @property
    def taken(self) -> Steps:
        return np.array([session.step_index for session in self.sessions], np.int64)

    @property
    def banks(self) -> list[Bank]:
        return [session.network.bank for session in self.sessions]


@final
class Training:
    """The networks of one task on their way through a Plan."""

    def __init__(
        self, networks: Replicas | OneByOne, like: Session, seeds: Sequence[int], plan: Plan
    ) -> None:
        """`like` is a session of the same data and loss."""
        self.networks, self.plan, self.seeds = networks, plan, list(seeds)
        self.step = 0
        sooner = np.arange(plan.every, plan.steps, plan.every, dtype=np.int64)
        self.checks: Steps = np.append(sooner, plan.steps)
        self.loss = like.trainer.loss
        self.inputs, self.targets = samples_of(like)
        count, times = len(self.seeds), len(self.checks)
        self.losses = np.full((count, times), np.nan)
        self.metrics = {name: np.full((count, times), np.nan) for name in plan.metrics}
        self.succeeded, self.ended, self.failed = np.full((3, count), NEVER, np.int64)
        self.seconds = 0.0
        self._checked = 0  # number of checks so far

    @property
    def running(self) -> npt.NDArray[np.bool_]:
        """Which networks have neither failed nor ended."""
        return np.asarray((self.ended == NEVER) & (self.failed == NEVER))

    @property
    def done(self) -> bool:
        """Whether all checks were made, or no network is left to train."""
        return self._checked == len(self.checks) or not self.running.any()

    def advance(self) -> None:
        """Train to the next check and measure there."""
        start = time.perf_counter()
        step = int(self.checks[self._checked])
        self.networks.advance(step - self.step, progress=False)
        self.measure(step, self.networks.take_losses())
        self.step = step
        self._checked += 1
        self.seconds += time.perf_counter() - start

    def measure(self, step: int, losses: FloatArray) -> None:
        """Note losses, metrics, successes and ends at a check."""
        taken = self.networks.taken
        broken = self.running & (taken < step)
        self.failed[broken] = taken[broken]
        running = self.running
        mean = np.full(len(losses), np.nan)
        mean[running] = losses[running].mean(axis=1)
        self.losses[:, self._checked] = mean
        asked = running  # the networks whose outputs matter
        if not self.plan.metrics and self.plan.stop is None:
            asked = running & (self.succeeded == NEVER)

        @cache
        def outputs() -> FloatArray:
            raw = self.networks.outputs(self.inputs, asked)
            return np.array([predictions_of(self.loss, each) for each in raw])

        reached = {}
        if asked.any():
            for name, row in self.plan.metrics.items():
                found = np.array([measured(row, each, self.targets) for each in outputs()])
                self.metrics[name][asked, self._checked] = found
            for goal in filter(None, {self.plan.success, self.plan.stop}):
                reached[goal] = np.zeros(len(asked), np.bool_)
                reached[goal][asked] = goal.reached(mean[asked], outputs, self.targets)
        if self.plan.success in reached:
            first = reached[self.plan.success] & (self.succeeded == NEVER)
            self.succeeded[first] = step
        if self.plan.stop in reached:
            ended = reached[self.plan.stop]
            self.ended[ended] = step
            self.networks.end(ended)

    def outcome(self) -> Outcome:
        """Return the results so far."""
        banks = self.networks.banks
        values = [bank.value for bank in banks] if self.plan.keep else []
        return Outcome(
            np.array(self.seeds, np.uint64).view(np.int64), self.checks[: self._checked],
            self.losses[:, : self._checked], self.succeeded, self.ended, self.failed,
            np.array(values) if values else np.zeros((0, len(banks[0])), banks[0].dtype),
            tuple(bits_of(bank) for bank in banks),
            {name: table[:, : self._checked] for name, table in self.metrics.items()},
            self.seconds, processor_here(),
        )  # fmt: skip


def samples_of(session: Session) -> tuple[FloatArray, FloatArray]:
    """Return the inputs and targets that goals and metrics are measured on.

    Those are the samples of the data set, at most MOST_ROWS; of data that is made by code, those of
    the first batch.
    """
    batches = session.trainer.batches
    inputs, targets = getattr(batches, "inputs", None), getattr(batches, "targets", None)
    if inputs is None or targets is None or len(inputs) != len(targets):
        inputs, targets = batches.at(0)
    rows = np.linspace(0, len(inputs) - 1, min(len(inputs), MOST_ROWS)).round().astype(np.intp)
    return np.array(inputs, np.float64)[rows], np.array(targets, np.float64)[rows]


def trains_together(
    first: Session, seeds: Sequence[int], session_of: Callable[[int], Session]
) -> bool:
    """Return whether replicas of `first` are the sessions that `session_of` makes of the seeds."""
    if not first.network.layers or first.engine != "cpu":
        return False
    if isinstance(first.trainer.batches, GeneratedBatches):
        return False
    wanted, like = all_but_seed(first), first.network.fresh(0)

    def is_replica(seed: int) -> bool:
        session = session_of(seed)
        draw(like, seed)
        return (
            session.engine == "cpu"
            and session.trainer.seed == seed
            and bool((like.bank.value == session.network.bank.value).all())
            and all_but_seed(session) == wanted
        )

    return all(map(is_replica, seeds))


def all_but_seed(session: Session) -> tuple[object, dict[str, bytes]]:
    """Return what a session trains, without its seed and what is drawn with it."""
    description, arrays = describe_timeline(session.timeline, session.network)
    description["network"].pop("seed")
    for name in ("seed", "bits"):
        description.pop(name)
    stored = {n: as_stored(n, a)[1] for n, a in arrays.items() if n != "frames 0 value"}
    return description, {n: b"".join(map(bytes_of, parts)) for n, parts in stored.items()}
