"""Training: the networks of one setting, trained together and measured at some steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.formulas.metrics import MetricRow, measured, predictions_of
from scalarviz.core.model.bank import Bank
from scalarviz.errors import GradientError, InputError, UpdateError
from scalarviz.files.runs import bits_of, describe_timeline
from scalarviz.sweeps.goal import Goal
from scalarviz.sweeps.outcome import NEVER, Outcome, Steps
from scalarviz.sweeps.versions import processor_here
from scalarviz.training.session.replicas import Replicas
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

    def checks(self) -> Steps:
        """Return the steps at which networks are measured; the last one is always among them."""
        times = np.arange(self.every, self.steps + 1, self.every, dtype=np.int64)
        return times if self.steps % self.every == 0 else np.append(times, self.steps)


class Networks(Protocol):
    """Networks that are trained together, one a seed."""

    def prepare(self) -> None:
        """Compile or load all kernels, without taking a step."""

    def steps(self, count: int) -> FloatArray:
        """Take `count` steps and return the losses, shape (networks, count); NaN after the end."""

    def outputs(self, x: FloatArray) -> FloatArray:
        """Return the outputs of each network, shape (networks, samples, outputs)."""

    def end(self, which: npt.NDArray[np.bool_]) -> None:
        """Train these networks no further."""

    @property
    def taken(self) -> Steps:
        """Number of steps that each network has taken."""

    @property
    def banks(self) -> list[Bank]:
        """The bank of each network."""


@final
class Together:
    """Networks that differ in their seed only, trained by the same kernel calls."""

    def __init__(self, session: Session, seeds: Sequence[int]) -> None:
        self.replicas = Replicas(session, seeds)

    def prepare(self) -> None:
        self.replicas.prepare()

    def steps(self, count: int) -> FloatArray:
        self.replicas.advance(count, progress=False)
        return self.replicas.take_losses()

    def outputs(self, x: FloatArray) -> FloatArray:
        return self.replicas.outputs(x)

    def end(self, which: npt.NDArray[np.bool_]) -> None:
        self.replicas.end(which)

    @property
    def taken(self) -> Steps:
        return self.replicas.taken

    @property
    def banks(self) -> list[Bank]:
        return self.replicas.banks


@final
class OneByOne:
    """Sessions of their own, such as those of other engines or with data of their own."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self._ended = np.zeros(len(sessions), np.bool_)
        for session in sessions:
            session.timeline.keyframes.budget = MEMORY

    def prepare(self) -> None:
        self.sessions[0].copy().advance(1, progress=False)

    def steps(self, count: int) -> FloatArray:
        losses = np.full((len(self.sessions), count), np.nan)
        for i, session in enumerate(self.sessions):
            if self._ended[i]:
                continue
            before = session.step_index
            try:
                session.advance(count, progress=False)
            except (GradientError, UpdateError):  # the loss says so, by NaN
                self._ended[i] = True
            taken = session.step_index - before
            losses[i, :taken] = session.losses[before : before + taken]
        return losses

    def outputs(self, x: FloatArray) -> FloatArray:
        return np.array([session.network(x) for session in self.sessions])

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

    def __init__(self, networks: Networks, like: Session, seeds: Sequence[int], plan: Plan) -> None:
        """`like` is a session of the same data and loss."""
        self.networks, self.plan, self.seeds = networks, plan, list(seeds)
        self.step = 0
        self.checks = plan.checks()
        self.loss = like.trainer.loss
        needs = plan.metrics or any(goal and goal.judge for goal in (plan.success, plan.stop))
        self.inputs: FloatArray = np.zeros((0, 0))
        self.targets: FloatArray = np.zeros((0, 0))
        if needs:
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
        if self.done:
            return
        start = time.perf_counter()
        step = int(self.checks[self._checked])
        was_running = self.running
        losses = self.networks.steps(step - self.step)
        self.measure(step, losses, was_running)
        self.step = step
        self._checked += 1
        self.seconds += time.perf_counter() - start

    def measure(self, step: int, losses: FloatArray, running: npt.NDArray[np.bool_]) -> None:
        """Note losses, metrics, successes and ends at a check."""
        taken = self.networks.taken
        broken = running & (taken < step)
        self.failed[broken] = taken[broken]
        running = running & ~broken
        mean = np.full(len(losses), np.nan)
        mean[running] = losses[running].mean(axis=1)
        self.losses[:, self._checked] = mean
        known: list[FloatArray] = []

        def outputs() -> FloatArray:
            if not known:
                raw = self.networks.outputs(self.inputs)
                known.append(np.array([predictions_of(self.loss, each) for each in raw]))
            return known[0]

        for name, row in self.plan.metrics.items():
            found = np.array([measured(row, each, self.targets) for each in outputs()])
            self.metrics[name][running, self._checked] = found[running]
        reached = {}
        for goal in filter(None, (self.plan.success, self.plan.stop)):
            if goal not in reached:
                reached[goal] = goal.reached(mean, outputs, self.targets) & running
        if self.plan.success is not None:
            first = reached[self.plan.success] & (self.succeeded == NEVER)
            self.succeeded[first] = step
        if self.plan.stop is not None:
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
    try:
        replicas = Replicas(first, seeds)
    except InputError:  # data that is made by code
        return False
    wanted = all_but_seed(first)
    return all(
        session.engine == "cpu"
        and session.trainer.seed == seed
        and bool((bank.value == session.network.bank.value).all())
        and all_but_seed(session) == wanted
        for seed, bank, session in zip(seeds, replicas.banks, map(session_of, seeds), strict=True)
    )


def all_but_seed(session: Session) -> tuple[object, dict[str, bytes]]:
    """Return what a session trains, without its seed and what is drawn with it."""
    description, arrays = describe_timeline(session.timeline, session.network)
    description["network"].pop("seed")
    for name in ("seed", "bits"):
        description.pop(name)
    return description, {n: a.tobytes() for n, a in arrays.items() if n != "frames 0 value"}
