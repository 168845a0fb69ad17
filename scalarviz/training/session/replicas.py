"""Replicas: the same training run with many seeds, by kernels that take all networks at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import (
    FloatArray,
    answered,
    as_batch,
    not_copied,
    require,
    shorten,
    size,
    true_or_false,
)
from scalarviz.base.interrupt import ctrl_c
from scalarviz.base.limits import check_losses, in_units, most
from scalarviz.base.progress import Progress
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.bank_arrays import BankStack, start_scaling
from scalarviz.core.formulas.initializers import FIRST_ROWS, PORTION, draw_together
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.data.batches import GeneratedBatches
from scalarviz.errors import EngineError, InputError
from scalarviz.training.network.network import Network
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import SessionLock

if TYPE_CHECKING:
    from scalarviz.engines.cpu.parallel_networks import CpuMany
    from scalarviz.engines.cuda.engine import CudaMany

MOST_STEPS = 10_000  # in one kernel call
GROWTH = 16.0  # largest growth of the number of steps from one call to the next
SECONDS = 0.05  # approximate duration of a kernel call, and delay of Ctrl-C


@final
class Replicas:
    """Networks that differ only in their seeds, trained together by the same kernels.

    The weights of each network equal, bit for bit, the weights of a separate session with its seed.
    `networks` (which run on the python engine) and their `banks` are up to date after every
    `advance`. A replica stops before a step with a non-finite gradient or result; from that step
    on, its losses are NaN.

    Args:
        session: the Session to repeat, of a Network on the cpu or cuda engine
        seeds: non-negative integers, one for each replica

    Raises:
        InputError: for invalid seeds, sessions or data.
        EngineError: if the session runs on another engine.
    """

    def __init__(self, session: Session, seeds: Iterable[int]) -> None:
        if not isinstance(session, Session):
            raise InputError(
                f"replicas are made from a session, not from {shorten(session)}: write "
                "sv.replicate(sv.Session(net, data), seeds=range(100))"
            )
        require(
            session.network.layers,
            "only sessions of networks have replicas, not sessions of expressions",
        )
        self.seeds = as_many_as_fit(seeds, session)
        require(
            session.engine in ("cpu", "cuda"),
            "replicas run on the cpu and cuda engines, and this session runs on "
            f"{session.engine}: write session.to('cpu') first",
            EngineError,
        )
        with session.doing():  # holds the session's lock
            self._begin(session)
        self._session_lock = SessionLock()
        self._losses: list[FloatArray] = []
        self.step_index = 0
        self._pace = 1.0  # steps that take about SECONDS

    def _begin(self, session: Session) -> None:
        trainer = session.trainer
        batches = [session.data.batches(trainer.settings.batch, seed) for seed in self.seeds]
        if isinstance(batches[0], GeneratedBatches):
            raise InputError(
                f"{session.data} generates its batches by code, which replicas cannot share: use "
                "a table, such as sv.data.Arrays(inputs, targets)"
            )
        stack = BankStack(len(self.seeds), session.network.bank, session.optimizer.row.slots)
        self._banks = stack.banks
        precision = session.network.precision
        self._evaluator = session.network.fresh(0)
        write_initial(stack.banks, self.seeds, self._evaluator)
        for bank in stack.banks:
            start_scaling(bank, precision)
        stack.frozen[:] = session.network.bank.frozen
        self._evaluator.to(session.engine, precision)
        self._many = class_of_many(session.engine)(
            session.network.program,
            stack,
            batches,
            trainer.loss,
            trainer.settings.optimizer,
            precision,
        )

    __reduce_ex__ = not_copied(
        "replicas, whose numbers are in kernel memory",
        "replicas.networks[i].copy() copies one of them, and save(path) saves it",
    )

    @property
    def banks(self) -> list[Bank]:
        """Banks of the networks, in the order of the seeds."""
        return self._banks

    @cached_property
    def networks(self) -> list[Network]:
        """The networks, in the order of the seeds; created on first use."""
        made = []
        with self._session_lock.taken():
            for seed, bank in zip(self.seeds, self.banks, strict=True):
                kept = [(each, each.copy()) for each in (bank.value, bank.frozen, bank.state)]
                made.append(self._evaluator.fresh(seed, bank=bank))
                for array, numbers in kept:
                    array[:] = numbers
        return made

    def advance(self, n: int = 1, *, progress: bool = True) -> None:
        """Take `n` steps with all networks; Ctrl-C stops training after a completed step.

        Args:
            n: number of steps, at least 0; 1 by default
            progress: whether to show a progress bar with the mean loss in a terminal or notebook if
                training takes longer than a second; True by default
        """
        wanted = true_or_false(progress, "progress")
        left, first = size(n, "n", least=0), self.step_index
        check_losses(first + left, len(self))
        with self._session_lock.taken(), Progress(left, wanted) as bar:
            if left and not first:
                self._many.prepare()  # compiles; can be interrupted by Ctrl-C
            self._advance(left, bar)

    def _advance(self, left: int, bar: Progress) -> None:
        """Take `left` steps in portions; Ctrl-C stops training after a portion."""
        first = self.step_index
        try:
            while left:
                left -= self._take_steps(min(left, int(self._pace)))
                if left:
                    bar.tell(self.step_index - first, mean_of(self._losses[-1][:, -1]))
                    ctrl_c.deliver()
                    self._session_lock.between()
        finally:
            if self.step_index > first:
                self._many.count_steps()

    def _take_steps(self, count: int) -> int:
        start = time.perf_counter()
        self._losses.append(self._many.steps(self.step_index, count))
        self.step_index += count
        in_time = count * SECONDS / max(time.perf_counter() - start, 1e-9)
        self._pace = min(max(in_time, 1.0), GROWTH * self._pace, MOST_STEPS)
        return count

    @property
    def losses(self) -> FloatArray:
        """Loss of each step before its update, float64, shape (replicas, steps)."""
        return np.concatenate([np.zeros((len(self.seeds), 0)), *self._losses], axis=1)

    @property
    def taken(self) -> npt.NDArray[np.int64]:
        """Number of steps taken by each replica; less than `step_index` for stopped replicas."""
        return np.array(self._many.taken, np.int64)

    def prepare(self) -> None:
        """Compile or load the kernels without taking a step."""
        with self._session_lock.taken():
            self._many.prepare()

    def take_losses(self) -> FloatArray:
        """Return and discard the losses since the last call, shape (replicas, steps).

        Call this regularly in long runs of many networks to save memory.
        """
        losses, self._losses = self.losses, []
        return losses

    def outputs(self, x: object, which: object = None) -> FloatArray:
        """Return the outputs of each network for a batch `x`, shape (replicas, samples, outputs).

        Args:
            x: one sample, or a batch of shape (samples, inputs)
            which: bool mask of the replicas to include; None (default) means all
        """
        batch, _ = as_batch(
            x, self._evaluator.inputs, "the replicas", picture=self._evaluator.input_shape
        )
        return np.array(self.ask(lambda network: network(batch), which))

    def ask(self, function: Callable[[Network], Any], which: object = None) -> list[Any]:
        """Call a function with each network, and return the results as a list.

        Args:
            function: function of a Network, such as `lambda net: net(x)`. It gets the same Network
                object for every replica, with the numbers of that replica
            which: bool mask of the replicas to include; None (default) means all
        """
        mask = np.ones(len(self), np.bool_) if which is None else np.asarray(which)
        require(
            mask.dtype == np.bool_ and mask.shape == (len(self),),
            f"a mask has True or False for each of the {len(self):,} replicas, and this is "
            f"{shorten(which)}",
        )
        found = []
        with self._session_lock.taken():
            for bank in compress(self.banks, mask):
                self._evaluator.bank.value[:] = bank.value
                self._evaluator.bank.state[:] = bank.state
                found.append(function(self._evaluator))
        return found

    def __len__(self) -> int:
        return len(self.seeds)

    def __repr__(self) -> str:
        seeds = shorten(self.seeds)
        return f"Replicas({len(self)} networks with the seeds {seeds}; step {self.step_index:,})"


def mean_of(numbers: FloatArray) -> float:
    """Return the mean of the finite numbers, which belong to networks still in training."""
    known = numbers[np.isfinite(numbers)]
    return float(known.mean()) if known.size else math.nan


def class_of_many(engine: str) -> type[CpuMany | CudaMany]:
    """Return the class that trains many networks on an engine; this imports numba."""
    if engine == "cuda":
        from scalarviz.engines.cuda.engine import CudaMany

        return CudaMany
    from scalarviz.engines.cpu.parallel_networks import CpuMany

    return CpuMany


def draw(network: Network, seed: int) -> None:
    """Set the initial numbers for a `seed` in an untrained network."""
    network.bank.value[:] = network.bank.state[SCALING:] = 0.0
    for layer in dict.fromkeys(network.layers):
        layer.initialize(network.init, seed)


def write_initial(banks: Sequence[Bank], seeds: Sequence[int], like: Network) -> None:
    """Write the initial numbers for each seed to its bank, using an untrained network."""
    rows = len(banks[0])
    together = PORTION // max(rows, FIRST_ROWS)  # 0: each of them is drawn in portions
    for place, (seed, bank) in enumerate(zip(seeds, banks, strict=True)):
        if together and place % together == 0:
            draw_together(seeds[place : place + together], rows)
        draw(like, seed)
        bank.value[:], bank.state[:] = like.bank.value, like.bank.state


def as_many_as_fit(seeds: Iterable[int], session: Session) -> list[int]:
    """Return the seeds as a list; raise InputError if there is not enough memory for all."""
    net, numbers = session.network, 2 + len(session.optimizer.row.slots)
    # Per weight: values, gradients and slots, twice (bank and copy before a step), and three bytes.
    row = np.dtype(net.dtype).itemsize * 2 * numbers + 3
    each = 3_000 + 1_000 * len(net.layers) + row * len(net.bank)
    too_many = (
        f"a replica takes {in_units(each)} of memory, and this machine has memory for "
        f"{most(each):,}: pass fewer seeds than {shorten(seeds)}"
    )
    return checked_seeds(seeds, most(each), too_many, "replicas need")


def checked_seeds(seeds: object, most: int, too_many: str, needs: str) -> list[int]:
    """Return seeds as a list; raise InputError if they are invalid.

    Args:
        most: maximum number of seeds
        too_many: error message for more than `most` seeds
        needs: beginning of the error message for an empty list
    """
    if not isinstance(seeds, Iterable):
        raise InputError(
            f"seeds is a sequence of numbers, such as range(100), not {shorten(seeds)}"
        )
    some = list(islice(seeds, most + 1))
    require(len(some) <= most, too_many)
    require(some, f"{needs} at least one seed: write seeds=range(100)")
    return [check_seed(seed) for seed in some]


@answered
def replicate(session: Session, seeds: Iterable[int]) -> Replicas:
    """Repeat a session with many seeds at the same time, as in `sv.replicate(s, range(1000))`.

    The seed of each network determines its initial weights and its batches. Earlier steps of the
    session are not repeated, and its metrics and callbacks are not used.

    Args:
        session: a Session of a Network
        seeds: non-negative integers, one for each replica

    Returns Replicas. Raises InputError for invalid seeds, sessions or data, and EngineError if the
    engine of the session is neither cpu nor cuda.
    """
    return Replicas(session, seeds)
