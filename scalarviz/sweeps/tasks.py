"""Tasks: the units of work of a sweep, which run in this or another process or on another machine.

A task trains networks of one setting with several seeds and measures them at regular checks. Its
outcome consists of arrays.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from itertools import compress
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Weights
from scalarviz.core.formulas.metric_formulas import (
    HELD_OUT,
    LOSS,
    measured,
    predictions_of,
)
from scalarviz.core.formulas.randomness import SealedSeed
from scalarviz.core.layers.parameters import named_layers
from scalarviz.data.batches import GeneratedBatches
from scalarviz.engines.engine import ORDER_OF_SUMS
from scalarviz.errors import EngineError, GradientError, InputError, UpdateError
from scalarviz.files.checked_safetensors import encode
from scalarviz.files.networks import describe
from scalarviz.files.run_settings import SettingsWriter
from scalarviz.files.runs import (
    bits_of,
    check_saving,
    describe_action,
    describe_timeline,
    own_of,
)
from scalarviz.sweeps.sweep_arguments import (
    Make,
    Measured,
    Ranking,
    Setting,
    session_of,
)
from scalarviz.training.network.network import Network
from scalarviz.training.session.measurements import check_compared
from scalarviz.training.session.replicas import Replicas, draw
from scalarviz.training.session.session import Session

STEP_SECONDS = 1e-6  # approximate seconds per step of the smallest network
PRODUCTS_A_SECOND = 1e9
TASK_SECONDS = 4.0  # approximate maximum seconds per task
MOST_NETWORKS = 1024  # networks of a task
UNUSED = 0x9E3779B97F4A7C15  # a seed not used elsewhere


@final
@dataclass(frozen=True, eq=False)
class SweepTask:
    """A unit of work: training one setting with some of its seeds.

    Attributes:
        number: number of the setting in the sweep
        seeds: seeds of the networks
        plan: Plan of the training steps and measurements
        together: whether the networks differ only in their seed, so that one session suffices for
            all
        files: contents of run files, one for all networks or one per seed; if empty, `make` is used
        make: function that makes a session from a setting and a seed; None if `files` is not empty
        setting: arguments of `make`
        versions: versions of the libraries in the process that made the task
    """

    number: int
    seeds: tuple[int, ...]
    plan: Plan
    together: bool
    files: tuple[bytes, ...]
    make: Make | None
    setting: Setting
    versions: dict[str, str]

    def start(self) -> TaskTraining:
        """Return a TaskTraining for this task, before its first step."""
        if self.files:
            sessions = [session_in(file) for file in self.files]
        else:
            assert self.make is not None  # one of the two exists
            asked = self.seeds[:1] if self.together else self.seeds
            sessions = [session_of(self.make, self.setting, seed) for seed in asked]
        networks = Replicas(sessions[0], self.seeds) if self.together else OneByOne(sessions)
        return TaskTraining(networks, sessions, self.seeds, self.plan)

    def train(self) -> Outcome:
        """Train the networks of this task to the end."""
        training = self.start()
        while not training.done:
            training.advance()
        return training.outcome()


def perform(task: SweepTask) -> Outcome:
    """Run a task in a worker, on one thread; raise EngineError if library versions differ."""
    import numba  # slow to import

    if other := difference(task.versions):
        raise EngineError(
            f"this worker has {other}: install the same versions on all machines of a sweep"
        )
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        return task.train()
    finally:
        numba.set_num_threads(threads)


def tasks_of(
    number: int, make: Make, setting: Setting, seeds: Sequence[int], plan: Plan, as_files: bool
) -> list[SweepTask]:
    """Return the tasks of one setting; its seeds are split over several tasks if they take long.

    With `as_files` they contain run files, if possible, instead of `make`.
    The split does not depend on the number of workers.
    """
    first = session_of(make, setting, seeds[0])
    compared = [name for name, row in plan.metrics.items() if row is not None and not row.is_own]
    check_compared(compared, first.trainer.settings)
    together = trains_together(first, seeds, partial(session_of, make, setting))
    saved = as_files and can_be_saved(first)
    common: tuple[bytes, ...] = (file_of(first),) if together and saved else ()
    most = networks_of_a_task(first, plan)
    tasks = []
    for start in range(0, len(seeds), most):
        part = tuple(seeds[start : start + most])
        files = common
        if saved and not together:
            files = tuple(file_of(session_of(make, setting, seed)) for seed in part)
        sent = None if saved else make
        tasks.append(
            SweepTask(number, part, plan, together, files, sent, setting, dict(versions_here()))
        )
    return tasks


def networks_of_a_task(session: Session, plan: Plan) -> int:
    """Return the number of networks per task, from an estimate of the time per network."""
    products = 3.0 * session.trainer.batches.size * len(session.network.bank)
    seconds = plan.steps * (STEP_SECONDS + products / PRODUCTS_A_SECOND)
    return int(min(max(1.0, TASK_SECONDS / max(seconds, 1e-9)), MOST_NETWORKS))


def can_be_saved(session: Session) -> bool:
    """Return whether a run file can store a session and its initializers."""
    try:
        check_saving(session.timeline)
        file_of(session)
    except InputError:
        return False
    parts = [session.network, *[layer for _, layer in named_layers(session.network.layers)]]
    laws = [each.init.weight for each in parts if getattr(each, "init", None) is not None]
    return all(law.function is None for law in laws)


def file_of(session: Session) -> bytes:
    """Return the contents of a run file for a session."""
    return bytes(encode("run", *describe_timeline(session.timeline, session.network)))


def session_in(file: bytes) -> Session:
    """Load a session from the contents of a run file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.safetensors"
        path.write_bytes(file)
        return Session.load(path)


# The networks of one task, trained together and measured at some steps.

MOST_ROWS = 4096  # maximum number of samples for metrics
APART = 4  # checks between measurements on held-out samples
MOST_LOSSES = 2**19  # losses of all networks between two measurements
MEMORY = 2**20  # bytes of keyframes of a session in a sweep


@final
@dataclass(frozen=True)
class Plan:
    """The training steps and measurements of every network of a sweep.

    Attributes:
        steps: number of training steps
        every: number of steps between checks
        success: bound on the loss below which a network succeeds, or None
        metrics: mapping from name to metric; None as the metric means the loss
    """

    steps: int
    every: int
    success: float | None
    metrics: Measured


@final
class OneByOne:
    """Sessions trained one by one, for engines other than "cpu" or for separate data.

    It has the same interface as `Replicas`, as far as TaskTraining uses it.
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
                except (GradientError, UpdateError):  # indicated by a loss of NaN
                    self._ended[i] = True
                self._losses[i, : session.step_index - before] = session.losses[before:]

    def take_losses(self) -> FloatArray:
        return self._losses

    def ask(self, ask: Callable[[Network], Any], which: npt.NDArray[np.bool_]) -> list[Any]:
        return [ask(session.network) for session in compress(self.sessions, which)]

    @property
    def taken(self) -> Steps:
        return np.array([session.step_index for session in self.sessions], np.int64)

    @property
    def banks(self) -> list[Bank]:
        return [session.network.bank for session in self.sessions]


@final
class TaskTraining:
    """The training of the networks of one task, from check to check."""

    def __init__(
        self,
        networks: Replicas | OneByOne,
        sessions: Sequence[Session],
        seeds: Sequence[int],
        plan: Plan,
    ) -> None:
        """Initialize; `sessions` (one for all networks, or one each) provide data and loss."""
        self.networks, self.plan, self.seeds = networks, plan, list(seeds)
        self.step = 0
        sooner = np.arange(plan.every, plan.steps, plan.every, dtype=np.int64)
        self.checks: Steps = np.append(sooner, plan.steps)
        self.loss = sessions[0].trainer.loss
        self._samples = lru_cache(2)(lambda prefix, i: samples_of(sessions[i], prefix))
        self._is_shared = len(sessions) == 1  # whether all networks have the same samples
        has = {"": True, HELD_OUT: all(each.data.held_out is not None for each in sessions)}
        self._rows = {
            prefix: {
                name: row
                for name, row in plan.metrics.items()
                if has[prefix] and name.startswith(HELD_OUT) == bool(prefix)
            }
            for prefix in has
        }
        count, times = len(self.seeds), len(self.checks)
        self.losses = np.full((count, times), np.nan)
        self.metrics = {name: np.full((count, times), np.nan) for name in plan.metrics}
        self.succeeded, self.failed = np.full((2, count), NEVER, np.int64)
        self.seconds = 0.0
        self._checked = 0  # number of checks so far

    @property
    def running(self) -> npt.NDArray[np.bool_]:
        """Mask of the networks that have not failed."""
        return np.asarray(self.failed == NEVER)

    @property
    def done(self) -> bool:
        """Whether all checks are done, or no network is still running."""
        return self._checked == len(self.checks) or not self.running.any()

    def advance(self) -> None:
        """Train to the next check and measure there; without metrics, pass several checks."""
        start, first = time.perf_counter(), self.step
        several = max(1, MOST_LOSSES // (len(self.seeds) * self.plan.every))
        count = 1 if self.metrics or not self._is_shared else several
        steps = self.checks[self._checked :][:count].tolist()
        self.networks.advance(steps[-1] - first, progress=False)
        losses = self.networks.take_losses()
        for step in steps:
            if not self.done:
                self.measure(step, losses[:, self.step - first : step - first])
                self.step = step
                self._checked += 1
        self.seconds += time.perf_counter() - start

    def measure(self, step: int, losses: FloatArray) -> None:
        """Record losses, metrics and successes at a check."""
        taken = self.networks.taken
        broken = self.running & (taken < step)
        self.failed[broken] = taken[broken]
        running = self.running
        mean = np.full(len(losses), np.nan)
        mean[running] = losses[running].mean(axis=1)
        self.losses[:, self._checked] = mean
        if self.plan.success is not None:
            self.succeeded[(mean < self.plan.success) & (self.succeeded == NEVER)] = step
        answers = cache(
            lambda prefix, which: self._ask(
                lambda x, t, w, net: (
                    predictions_of(self.loss, net(x)),
                    t[:, : self.loss.targets(net.outputs)],
                    w,
                ),
                prefix,
                np.array(which),
            )
        )
        is_due = (self._checked + 1) % APART == 0 or step == self.plan.steps
        for prefix, which in (("", running), (HELD_OUT, running & is_due)):
            for name, row in self._rows[prefix].items() if which.any() else ():
                self.metrics[name][which, self._checked] = (
                    self._ask(lambda x, t, w, net: net.loss_on(x, t, w, self.loss)(), prefix, which)
                    if row is None
                    else [measured(row, *each) for each in answers(prefix, tuple(which))]
                )

    def _ask(self, ask: Callable[..., Any], prefix: str, which: npt.NDArray[np.bool_]) -> list[Any]:
        """Call a function of samples and network for the networks in a mask; return the results."""
        masks = {0: which} if self._is_shared else dict(enumerate(np.diag(which)))
        return [
            answer
            for i, mask in masks.items()
            if mask.any()
            for answer in self.networks.ask(partial(ask, *self._samples(prefix, i)), mask)
        ]

    def outcome(self) -> Outcome:
        """Return the results so far."""
        return Outcome(
            np.array(self.seeds, np.uint64).view(np.int64), self.checks[: self._checked],
            self.losses[:, : self._checked], self.succeeded, self.failed,
            tuple(bits_of(bank) for bank in self.networks.banks),
            {name: table[:, : self._checked] for name, table in self.metrics.items()},
            self.seconds,
        )  # fmt: skip


def samples_of(session: Session, prefix: str) -> tuple[FloatArray, FloatArray, Weights]:
    """Return the inputs, targets and sample weights on which goals and metrics are measured.

    They are up to MOST_ROWS samples of the data set, or the first batch of generated data. With the
    prefix HELD_OUT they are held-out samples.
    """
    batches, data = session.trainer.batches, session.data
    weights = data.held_out_weights if prefix else batches.weights
    inputs, targets = getattr(batches, "inputs", None), getattr(batches, "targets", None)
    if prefix:
        inputs, targets = data.held_out or (None, None)
    if inputs is None or targets is None or len(inputs) != len(targets):
        inputs, targets = batches.at(0)
    rows = np.linspace(0, len(inputs) - 1, min(len(inputs), MOST_ROWS)).round().astype(np.intp)
    weights = None if weights is None else weights[rows]
    return np.array(inputs, np.float64)[rows], np.array(targets, np.float64)[rows], weights


def trains_together(
    first: Session, seeds: Sequence[int], session_of: Callable[[Any], Session]
) -> bool:
    """Return whether replicas of `first` equal the sessions made by `session_of` for the seeds.

    If the sessions only pass their seed to the network and the session, only the last seed is
    checked; otherwise a session is made for every seed.
    """
    if not first.network.layers or first.engine != "cpu":
        return False
    if isinstance(first.trainer.batches, GeneratedBatches):
        return False
    wanted, like = all_but_seed(first), first.network.fresh(0)

    def is_replica(session: Session, seed: int) -> bool:
        draw(like, seed)
        return (
            session.engine == "cpu"
            and session.trainer.seed == seed
            and bool((like.bank.value == session.network.bank.value).all())
            and all_but_seed(session) == wanted
        )

    sealed, asked = SealedSeed(UNUSED), seeds
    with suppress(Exception):  # of any class: the user's function may not accept it
        session = session_of(sealed)
        is_passed_on = sealed.opened == 2 and not sealed.read and session.network.seed == UNUSED
        if is_passed_on and is_replica(session, UNUSED):
            asked = seeds[-1:]
    return all(is_replica(session_of(seed), seed) for seed in asked)


def all_but_seed(session: Session) -> tuple[object, ...]:
    """Return everything that defines a session except its seed and the numbers drawn with it."""
    writer, branches, bank = SettingsWriter(), session.branches, session.network.bank
    settings = session.trainer.settings
    parts = [writer.write([*v] if isinstance(v, tuple) else v) for v in vars(settings).values()]
    done = [describe_action(action, writer) for branch in branches for action in branch.journal]
    arrays = [*writer.arrays.values(), bank.frozen, bank.state]
    operations = session.network.program.operations
    custom = {**describe(session.network), "seed": None} if any(op.own for op in operations) else {}
    return (
        [operations, custom, bank.dtype, bank.step_count],
        [parts, done, own_of(settings, branches), len(branches)],
        [(array.dtype, array.shape, array.tobytes()) for array in arrays],
    )


# Results of the networks of one task.

NEVER = -1  # instead of a step

Steps = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of the networks of one setting trained by one task.

    Attributes:
        seeds: seed of each network, as int64
        checks: steps at which the networks were measured, int64
        losses: mean training loss since the previous check, shape (networks, checks); NaN after a
            network has stopped
        succeeded: step of the check at which each network first succeeded, or NEVER; int64
        failed: step at which each network got a non-finite number, or NEVER; int64
        digests: first 16 hexadecimal digits of the SHA-256 of each network's weights
        metrics: values of each metric, shape (networks, checks)
        seconds: time for training and measurements, in seconds
    """

    seeds: Steps
    checks: Steps
    losses: FloatArray
    succeeded: Steps
    failed: Steps
    digests: tuple[str, ...]
    metrics: Mapping[str, FloatArray]
    seconds: float

    def last(self, name: str = LOSS) -> FloatArray:
        """Return the last measured loss or metric of each network; NaN if missing."""
        table = self.losses if name == LOSS else self.metrics[name]
        known = np.isfinite(table)
        if not known.shape[1]:
            return np.full(len(table), np.nan)
        last = table.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
        return np.where(known.any(axis=1), table[np.arange(len(table)), last], np.nan)

    def scores(self, ranking: Ranking = Ranking()) -> FloatArray:  # noqa: B008  # it is frozen
        """Return the score of each network for ranking, by default its loss; smaller is better.

        Failed or unmeasured networks score infinity. The sign is flipped if larger values are
        better.
        """
        found = self.last(ranking.name) * (-1.0 if ranking.rises else 1.0)
        return np.where((self.failed == NEVER) & np.isfinite(found), found, np.inf)

    def row_of(self, seed: int) -> int:
        """Return the row index of a seed."""
        seeds: list[int] = self.seeds.view(np.uint64).tolist()
        return seeds.index(seed)

    @property
    def lasted(self) -> Steps:
        """Number of training steps of each network."""
        return np.where(self.failed == NEVER, self.checks[-1], self.failed)


def joined(parts: list[Outcome]) -> Outcome:
    """Concatenate the results of all tasks of one setting.

    The checks that unfinished tasks have not reached are filled with NaN.
    """
    if len(parts) == 1:
        return parts[0]
    longest = max(parts, key=lambda part: len(part.checks))
    width = len(longest.checks)

    def wide(table: FloatArray) -> FloatArray:
        return np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=np.nan)

    def whole(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return Outcome(
        whole("seeds"), longest.checks, np.concatenate([wide(part.losses) for part in parts]),
        whole("succeeded"), whole("failed"),
        tuple(digest for part in parts for digest in part.digests),
        {
            name: np.concatenate([wide(part.metrics[name]) for part in parts])
            for name in longest.metrics
        },
        sum(part.seconds for part in parts),
    )  # fmt: skip


# Versions, on which the bits of a result depend besides the session.

LIBRARIES = ("scalarviz", "numpy", "numba", "llvmlite")


@cache
def versions_here() -> dict[str, str]:
    """Return the versions of Python and of the libraries in this process, by name."""
    found = {name: version(name) for name in LIBRARIES}
    found["Python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    found["order of sums"] = str(ORDER_OF_SUMS)
    return found


def difference(theirs: dict[str, str]) -> str:
    """Describe the first version in `theirs` that differs from this process; "" if none does."""
    for name, here in versions_here().items():
        if theirs.get(name) != here:
            return f"{name} {here} in place of {theirs.get(name)}"
    return ""
