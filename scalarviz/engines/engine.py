"""Engine and Run: the interface of an engine, for single calls and for training on batches.

A `Run` trains one network on the batches of one data set. It takes many steps in one call, or runs
one step moment by moment, with the same bits. Moment by moment, all intermediate numbers can be
read.

`take_steps` calls a run in a loop that Ctrl-C can interrupt and that undoes a failed update.

A `Snapshot` is a copy of a bank's numbers at one moment, made without delaying training:
`request()` requests a copy, `ready` says whether it has arrived, and `read()` returns it, after
waiting if necessary; `await snapshot` waits without blocking other tasks of an asyncio loop.
Numbers in host memory are copied immediately; numbers on a GPU arrive later, see `CudaSnapshot`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.interrupt import ctrl_c, uncut
from scalarviz.base.limits import empty_losses
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.bank_arrays import bad_gradient, bad_update, written_error
from scalarviz.core.formulas.losses import Loss, Weights
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Buffer, Moment, Program
from scalarviz.data.batches import Batches, InOrder
from scalarviz.errors import GradientError, Interrupted, OrderError, ShapeError, UpdateError

# Version of the order in which engines add up sums, which decides their last bits. It increases
# when the order changes: a training run saved with another version cannot be replayed bit for bit.
ORDER_OF_SUMS = 2
MOST_KEPT = 2**21  # numbers of a batch kept by `Engine.keep_run`; without, a call allocates them
Kept = TypeVar("Kept")


class Engine(ABC):
    """Runs the layers of one network, or its program, on its bank.

    Arguments have been checked by the caller: batches are 2-D float64 arrays with one row per
    sample and the right size. An engine keeps the data that backward needs on a stack.
    """

    name: str
    # Evaluates a batch on the engine chosen by "auto", unless an engine was chosen explicitly; else
    # None.
    instead: Callable[[FloatArray], FloatArray | None] | None = None

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        self.layers = layers
        self.program = program
        self.bank = bank
        self.precision = precision
        self._dtype = np.dtype(bank.dtype)
        self._kept: deque[Run] = deque(maxlen=1)

    @abstractmethod
    def forward(self, batch: FloatArray) -> FloatArray:
        """Return the outputs of a batch, and keep the values that `backward` needs."""

    @abstractmethod
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """Return the outputs of a batch without keeping any values."""

    @abstractmethod
    def survey(self, batch: FloatArray) -> dict[str, FloatArray]:
        """Return the values of all neurons by buffer, in arrays of shape (samples, neurons)."""

    @abstractmethod
    def newest_batch(self) -> int:
        """Return the batch size of the most recent unmatched forward, or raise OrderError."""

    @abstractmethod
    def check_backward(self, samples: int) -> None:
        """Raise an error if `samples` does not match the most recent unmatched forward."""

    @abstractmethod
    def backward(self, upstream: FloatArray) -> FloatArray:
        """Accumulate gradients for the most recent unmatched forward; return the input gradient."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all unmatched forwards."""

    @abstractmethod
    def run(self, batches: Batches, loss: Loss) -> Run:
        """Return a run that trains on these batches; the bank is not changed yet."""

    def loss_on(
        self, inputs: FloatArray, targets: FloatArray, weights: Weights, loss: Loss
    ) -> Callable[[], float]:
        """Return a function that computes the loss of a batch for the current weights.

        Each call evaluates the batch again, as `evaluate` does.
        """
        return lambda: loss(self.evaluate(inputs), targets, weights)

    @final
    def take_run(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> Run:
        """Return a run on a single batch; reuse the run kept by `keep_run` if possible.

        Creating a run takes longer than a step of a small network.
        """
        try:
            kept = self._kept.pop()
        except IndexError:
            kept = None
        if kept is not None and kept.resume(inputs, targets, loss):
            return kept
        kept = None  # its memory is freed before more is allocated
        return self.run(InOrder(inputs, targets), loss)

    @final
    def keep_run(self, run: Run) -> None:
        """Keep a run for the next call of `take_run`, unless its batch needs much memory."""
        if run.batches.inputs.size + run.batches.targets.size <= MOST_KEPT:
            self._kept.append(run)

    @final
    def lost_statistic(self) -> str:
        """Return the name and value of the first non-finite running statistic, or ""."""
        if np.isfinite(self.bank.state[SCALING:]).all():
            return ""
        lost = [(i, layer.lost_statistic()) for i, layer in enumerate(self.layers)]
        found = (f"layer {i}, {words}" for i, words in lost if words)
        return next(found, "running statistics")  # replicas have no layers, and show no error

    @final
    def bad_statistic(self, lost: str, step: int) -> UpdateError:
        """Return the error for a step (counted from 0) that made a running statistic non-finite."""
        other = ", or compute with precision='full'" if self.precision.mixed else ""
        return UpdateError(step, f"{lost}, so it was not taken: scale the data down{other}")

    @final
    def bad_update(self, optimizer: Optimizer, step: int) -> UpdateError:
        """Return the error for a step (counted from 0) whose results are not finite."""
        lost = self.lost_statistic()
        return self.bad_statistic(lost, step) if lost else bad_update(self.bank, optimizer, step)

    @final
    def snapshot(self) -> Snapshot:
        """Return a snapshot of the bank; sessions call `Run.snapshot` instead."""
        return HostSnapshot(self.bank)

    @final
    def __reduce__(self) -> tuple[object, ...]:
        """Copy or pickle the engine as a new one with the same layers, program and bank."""
        return type(self), (self.layers, self.program, self.bank, self.precision)

    @final
    def as_read(self, batch: FloatArray) -> FloatArray:
        """Return a batch as float64; numbers too large for the bank's dtype become inf."""
        read = self.array(batch)
        return np.where(np.isinf(read), read, batch).astype(np.float64, copy=False)

    @final
    def array(self, rows: object) -> FloatArray:
        """Return rows as a contiguous array of the bank's dtype; too large numbers become inf.

        Kernels are compiled only for contiguous arrays.
        """
        if isinstance(rows, np.ndarray) and rows.dtype == self._dtype:
            return np.ascontiguousarray(rows)
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(rows, self.bank.dtype)

    @final
    def copy(self, rows: FloatArray, to: FloatArray) -> None:
        """Copy rows to an array of the bank's dtype; numbers too large for it become inf."""
        if rows.dtype == self._dtype:
            to[...] = rows
        else:
            with np.errstate(over="ignore"):
                to[...] = rows


@dataclass(frozen=True, slots=True)
class Waiting(Generic[Kept]):
    """A batch without a backward so far, and the values kept for its backward."""

    samples: int
    kept: Kept


class StackEngine(Engine, Generic[Kept]):
    """An engine that keeps batches without a backward on a stack, the most recent last."""

    called = "network"  # in errors

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        self._waiting: list[Waiting[Kept]] = []

    @final
    def newest_batch(self) -> int:
        if not self._waiting:
            raise OrderError(f"backward of the {self.called} without a forward: call forward first")
        return self._waiting[-1].samples

    @final
    def check_backward(self, samples: int) -> None:
        newest = self.newest_batch()
        if newest != samples:
            raise ShapeError(
                f"the {self.called} was last given {newest} samples, and its backward {samples}: "
                "pass one row of upstream gradients for each sample"
            )

    @final
    def forget(self) -> None:
        self._waiting.clear()


class RunOutcome(NamedTuple):
    """Result of training for some steps.

    Attributes:
        losses: loss of each completed step, before its update
        bad: index of a non-finite gradient that prevented the next step, or NONE
        overflow: error of the next step if it made a weight, slot or running statistic non-finite;
            the caller must then restore the bank
    """

    losses: FloatArray
    bad: int = NONE
    overflow: UpdateError | None = None


class Run(ABC):
    """Trains one network on the batches of one data set.

    Every step performs `program.moments` in order. To run a step moment by moment, call `begin` and
    then `perform` for each moment. Numbers can be read after the moment that writes them, until the
    next call of `begin` or `steps`.

    Attributes:
        named_arrays: `ArrayFacts` of a PyTorch model that is followed, to name its parameters
        structure: its modules and functions, see `Followed.structure`; None for other networks
        followed: its record, a `Followed`; None for other networks
        probe: step of its last probe up to the shown moment, and `Followed.probe` of it, or None
    """

    named_arrays: Sequence[Any] = ()
    structure: Mapping[str, Any] | None = None
    followed: Any = None
    probe: tuple[int, Mapping[str, Mapping[str, Any]]] | None = None

    def __init__(self, batches: Batches, loss: Loss) -> None:
        self.batches = batches
        self.loss_function = loss
        self.loss = np.nan  # loss of the batch, after the moment "loss"
        self.before: BeforeStep | None = None  # memory for a copy of the bank, see `take_steps`

    @abstractmethod
    def steps(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        """Take `count` whole training steps, on the batches of steps `first`, `first` + 1, ...

        If the gradient of a non-frozen weight is not finite, and the optimizer rejects such
        gradients, this step and later ones are not taken, and its gradients can be read. A step
        that makes a weight, slot or running statistic non-finite is the last one; see
        `RunOutcome.overflow`. A step skipped by a dynamic loss scale does not change running
        statistics.
        """

    def resume(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> bool:
        """Replace the run's single batch if the sizes and the loss are equal.

        Returns whether this was possible; if not, nothing has changed.
        """
        return False

    def step_after(self, step: int, count: int) -> int:
        """Return the step that is `count` steps after `step`, or before it if negative."""
        return step + count

    @abstractmethod
    def begin(self, step: int) -> None:
        """Load the batch of a step, before its moments are performed."""

    @abstractmethod
    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        """Perform one moment of the current step.

        At the moment "step" this raises GradientError if a gradient is not finite, and UpdateError
        if a weight, slot or running statistic would not be finite. In both cases nothing changes.
        """

    def snapshot(self, bank: Bank) -> Snapshot:
        """Return a snapshot of the bank, even if its newest numbers are on a device."""
        return HostSnapshot(bank)

    def finish_backward(self) -> None:  # noqa: B027  # most have nothing to do
        """Mark all forwards as matched; called after the last moment before "step"."""

    @abstractmethod
    def values(self, buffer: Buffer) -> FloatArray:
        """Return the values of a buffer for the current batch, shape (samples, size)."""

    @abstractmethod
    def gradients(self, buffer: Buffer) -> FloatArray:
        """Return the gradient of the loss with respect to a buffer, shape (samples, size)."""

    @abstractmethod
    def targets(self) -> FloatArray:
        """Return the targets of the current batch, shape (samples, outputs)."""


# ---- many steps ---------------------------------------------------------------------------------

Tell = Callable[[int, float], object]  # called with the number of steps and the latest loss

NO_LOSSES = np.empty(0)
SECONDS = 0.05  # approximate duration of a portion, and the most that is repeated


@uncut
def take_steps(
    engine: Engine, run: Run, optimizer: Optimizer, steps: int, tell: Tell | None = None
) -> FloatArray:
    """Take `steps` training steps, and return the loss before each; never stop within a step.

    `tell` is called after each portion except the last. Raises GradientError, or Interrupted
    on Ctrl-C; both errors contain the losses so far.
    """
    losses = empty_losses(steps) if steps > 1 else NO_LOSSES
    done, kept, pace = 0, 0, 1
    before, start = before_of(engine, run, optimizer), time.perf_counter()
    while True:
        count = min(pace, steps - done)
        try:
            ctrl_c.deliver()
            outcome = run.steps(optimizer, done, count)
        except (KeyboardInterrupt, Exception) as reason:  # of a layer that runs as Python
            restore(run, optimizer, before, kept, done)
            engine.forget()
            if isinstance(reason, KeyboardInterrupt):
                raise Interrupted(losses[:done], steps) from None
            raise
        taken = len(outcome.losses)
        if taken == steps:
            return outcome.losses
        losses[done : done + taken] = outcome.losses
        done += taken
        if taken < count:
            error = error_of(engine, run, optimizer, outcome, before, kept, done)
            error.losses = losses[:done]
            raise error
        if done == steps:
            return losses
        if tell is not None:
            tell(done, float(losses[done - 1]))
        seconds = time.perf_counter() - start
        pace = max(1, min(4 * count, int((done - kept) * SECONDS / seconds)))
        if seconds > SECONDS:
            before, start = before_of(engine, run, optimizer), time.perf_counter()
            kept = done


def before_of(engine: Engine, run: Run, optimizer: Optimizer) -> BeforeStep:
    """Copy the current numbers, into the memory of this run's previous copy."""
    run.before = BeforeStep(engine.bank, optimizer, gradients=True, last=run.before)
    return run.before


def restore(run: Run, optimizer: Optimizer, before: BeforeStep, first: int, step: int) -> None:
    """Restore the bank to its state before `step`, from a copy made before step `first`."""
    before.restore()
    if step > first:
        run.steps(optimizer, first, step - first)


def error_of(
    engine: Engine,
    run: Run,
    optimizer: Optimizer,
    outcome: RunOutcome,
    before: BeforeStep,
    first: int,
    step: int,
) -> GradientError:
    """Return the error that ended a run at `step`, and undo the step if it overflowed.

    The bank then has the weights from before the step, and the gradients of the step.
    """
    bank = engine.bank
    if outcome.overflow is None:
        assert outcome.bad != NONE, "a run ends early for one of two reasons"
        return bad_gradient(bank, outcome.bad)
    restore(run, optimizer, before, first, step)
    state = bank.state.copy()
    run.begin(step)
    for moment in engine.program.moments[:-1]:
        run.perform(moment, optimizer)
    run.finish_backward()
    bank.state[:] = state
    return written_error(bank) or outcome.overflow.at(step)


# ---- snapshots ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SnapshotValues:
    """The numbers of a snapshot, as copies that never change; one number per parameter.

    Attributes:
        value, grad, slots: values, gradients and slots of the parameters
        state: loss scale and running statistics
    """

    value: FloatArray
    grad: FloatArray
    slots: dict[str, FloatArray]
    state: FloatArray = field(default_factory=lambda: np.zeros(0))


class Snapshot(ABC):
    """A copy of values, gradients and optimizer slots, either requested or arrived."""

    @abstractmethod
    def request(self) -> None:
        """Request a copy of the current numbers; this replaces an earlier request."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether `read` returns without waiting."""

    @abstractmethod
    def read(self) -> SnapshotValues:
        """Return the numbers as of the last request; without a request, request them now."""

    @final
    def __await__(self) -> Generator[Any, None, SnapshotValues]:
        """Return the numbers like `read`, while other tasks of the asyncio loop continue."""
        from asyncio import sleep  # slow to import

        if not self.ready:
            self.request()
        while not self.ready:
            yield from sleep(PAUSE).__await__()
        return self.read()


PAUSE = 0.001  # seconds between two checks


@final
class HostSnapshot(Snapshot):
    """A snapshot of a bank in host memory; the numbers are copied immediately.

    >>> bank = Bank(2)
    >>> snapshot = HostSnapshot(bank)
    >>> snapshot.request()
    >>> bank.value[:] = 1.0
    >>> snapshot.ready, snapshot.read().value.tolist()
    (True, [0.0, 0.0])
    """

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self._numbers: SnapshotValues | None = None

    def request(self) -> None:
        bank = self._bank
        slots = {name: slot.copy() for name, slot in bank.slots.items()}
        self._numbers = SnapshotValues(
            bank.value.copy(), bank.grad.copy(), slots, bank.state.copy()
        )

    @property
    def ready(self) -> bool:
        return self._numbers is not None

    def read(self) -> SnapshotValues:
        if self._numbers is None:
            self.request()
        assert self._numbers is not None
        return self._numbers


# ---- undoing a step -----------------------------------------------------------------------------

ArrayCopy = bytes | FloatArray
LARGE_ARRAY = 2**17  # bytes from which the memory of a copy is kept


@final
class BeforeStep:
    """A copy of all numbers of a bank that an optimizer's steps change.

    Args:
        bank: the Bank to copy
        optimizer: the Optimizer whose slots are copied
        gradients: whether to copy gradients, which the optimizer does not change
        last: an earlier BeforeStep of the same bank whose memory is reused, because allocating
            takes longer than copying; None (default) means allocate
    """

    def __init__(
        self,
        bank: Bank,
        optimizer: Optimizer,
        *,
        gradients: bool = False,
        last: BeforeStep | None = None,
    ) -> None:
        self._bank, self._optimizer = bank, optimizer
        self._count, self._has_gradients = (bank.step_count, bank.moved.copy()), bank.has_gradients
        self._state = bank.state.tobytes()
        value, slots, grad = (last._value, last._slots, last._grad) if last else (b"", b"", b"")
        self._value: ArrayCopy = copied(bank.value, value)
        names = optimizer.row.slots
        self._slots: ArrayCopy = copied(bank.slot_block(names), slots) if names else b""
        self._grad: ArrayCopy | None = copied(bank.grad, grad) if gradients else None

    def restore(self) -> None:
        """Copy the numbers back to the bank."""
        bank = self._bank
        put(self._value, bank.value)
        put(self._state, bank.state)
        if names := self._optimizer.row.slots:
            put(self._slots, bank.slot_block(names))
        if self._grad is not None:
            put(self._grad, bank.grad)
            bank.has_gradients = self._has_gradients
        bank.step_count, bank.moved[:] = self._count

    def end_step(self, lost: UpdateError | None, *, overflowed: bool) -> None:
        """Count a successful step, or undo a failed one and raise its error.

        Args:
            lost: error of the running statistics in this step, or None
            overflowed: whether a weight or slot became non-finite
        """
        if lost is None and overflowed:
            lost = bad_update(self._bank, self._optimizer, self._bank.step_count)
        if lost is not None:
            self.restore()
            raise lost
        self._bank.count_steps(1)


def copied(array: FloatArray, last: ArrayCopy | None) -> ArrayCopy:
    """Return a copy of an array; a large copy reuses the memory of a copy with the same shape."""
    if array.nbytes < LARGE_ARRAY:
        return array.tobytes()  # half the time of a copy
    if not isinstance(last, np.ndarray) or last.shape != array.shape:
        return array.copy()
    last[...] = array
    return last


def put(numbers: ArrayCopy, array: FloatArray) -> None:
    """Write the copied numbers to an array."""
    if isinstance(numbers, bytes):
        numbers = np.frombuffer(numbers, array.dtype).reshape(array.shape)
    array[...] = numbers


@final
class RunningStatistics:
    """The running statistics at the beginning of a step, to restore if one becomes non-finite.

    If a forward makes one of them NaN or infinite, all are restored. The error is raised only at
    the moment "step", because a bad gradient has precedence, and the loss scale may skip the step.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before = engine.bank.state[SCALING:].copy()
        self._lost = ""

    def after_forward(self) -> None:
        """Check the statistics after an operation's forward; restore all if one is not finite."""
        self._lost = self._lost or self._engine.lost_statistic()
        if self._lost:
            self.restore()

    def restore(self) -> None:
        """Restore the statistics to those before the step."""
        self._engine.bank.state[SCALING:] = self._before

    @property
    def error(self) -> UpdateError | None:
        """The error of a step with a non-finite statistic, or None."""
        engine = self._engine
        return engine.bad_statistic(self._lost, engine.bank.step_count) if self._lost else None
