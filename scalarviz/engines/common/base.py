"""Engine and Run: the interface of an engine, with the four verbs and training on checked batches.

A training is a `Run`: one network on the batches of one data set. It takes many steps in one call,
or one step moment by moment, with the same bits; then all intermediate numbers can be read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Layer
from scalarviz.core.not_finite import bad_update
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Buffer, Moment, Program
from scalarviz.data.batches import Batches, InOrder
from scalarviz.engines.common.before import Before
from scalarviz.engines.common.snapshot import HostSnapshot, Snapshot
from scalarviz.errors import OrderError, ShapeError, UpdateError

# Number of the order in which engines add up sums, which decides their last bits. It grows when the
# order changes: a training saved under another one cannot be replayed bit for bit.
ORDER_OF_SUMS = 2
MOST_KEPT = 2**14  # numbers of a batch that `Engine.keep_run` keeps
Kept = TypeVar("Kept")


class Engine(ABC):
    """Runs one model on its bank: the layers of a network, or its program.

    Arguments have been checked: batches are 2-D, float64, one row a sample, and fit. An engine
    keeps what its backward needs on a stack of its own.
    """

    name: str

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
        """Return the outputs of a batch, and keep what `backward` needs."""

    @abstractmethod
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """Return the outputs of a batch, without keeping anything."""

    @abstractmethod
    def newest_batch(self) -> int:
        """Return the samples of the newest unmatched forward; raise OrderError if there is none."""

    @abstractmethod
    def check_backward(self, samples: int) -> None:
        """Raise an error for a backward that does not fit the newest forward."""

    @abstractmethod
    def backward(self, upstream: FloatArray) -> FloatArray:
        """Add to the gradients for the newest unmatched forward; return those of its inputs."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all forwards that wait for their backward."""

    @abstractmethod
    def run(self, batches: Batches, loss: Loss) -> Run:
        """Return a training on these batches; the bank is not changed yet."""

    def loss_on(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> Callable[[], float]:
        """Return a function that returns the loss of a batch for the numbers of its call.

        The batch is evaluated, as by `evaluate`, again at each call.
        """
        return lambda: loss(self.evaluate(inputs), targets)

    @final
    def take_run(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> Run:
        """Return a training on one batch: the kept one if it can go on with it, or a new one.

        To make one takes longer than a step of a small network.
        """
        try:
            kept = self._kept.pop()
        except IndexError:
            kept = None
        if kept is not None and kept.resume(inputs, targets, loss):
            return kept
        kept = None  # its memory is freed before there is more
        return self.run(InOrder(inputs, targets), loss)

    @final
    def keep_run(self, run: Run) -> None:
        """Keep a run of `take_run` for its next call, unless its batch takes much memory."""
        if run.batches.inputs.size + run.batches.targets.size <= MOST_KEPT:
            self._kept.append(run)

    @final
    def lost_statistic(self) -> str:
        """Return name and value of the first running statistic that is not finite, or ""."""
        if not self.layers or np.isfinite(self.bank.state[SCALING:]).all():
            return ""
        lost = [(i, layer.lost_statistic()) for i, layer in enumerate(self.layers)]
        return next(f"layer {i}, {found}" for i, found in lost if found)

    @final
    def bad_statistic(self, lost: str, step: int) -> UpdateError:
        """Return the error for a step, counted from 0, with a statistic that is not finite."""
        other = ", or compute with precision='full'" if self.precision.mixed else ""
        return UpdateError(step, f"{lost}, so it was not taken: scale the data down{other}")

    @final
    def bad_update(self, optimizer: Optimizer, step: int) -> UpdateError:
        """Return the error for a step, counted from 0, that left numbers not finite."""
        lost = self.lost_statistic()
        return self.bad_statistic(lost, step) if lost else bad_update(self.bank, optimizer, step)

    @final
    def snapshot(self) -> Snapshot:
        """Return a snapshot of the bank; a session asks its `Run` instead."""
        return HostSnapshot(self.bank)

    @final
    def __reduce__(self) -> tuple[object, ...]:
        """Copy or pickle as a new engine for the same layers, program and bank."""
        return type(self), (self.layers, self.program, self.bank, self.precision)

    @final
    def as_read(self, batch: FloatArray) -> FloatArray:
        """Return a batch in float64, with inf where a number is too large for the bank's dtype."""
        read = self.array(batch)
        return np.where(np.isinf(read), read, batch).astype(np.float64, copy=False)

    @final
    def array(self, rows: object) -> FloatArray:
        """Return rows as a contiguous array of the bank's dtype; too large numbers become inf.

        Kernels are compiled for contiguous arrays only.
        """
        if isinstance(rows, np.ndarray) and rows.dtype == self._dtype:
            return np.ascontiguousarray(rows)
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(rows, self.bank.dtype)

    @final
    def copy(self, rows: FloatArray, to: FloatArray) -> None:
        """Copy rows to an array of the bank's dtype; too large numbers become inf."""
        if rows.dtype == self._dtype:
            to[...] = rows
        else:
            with np.errstate(over="ignore"):
                to[...] = rows


@dataclass(frozen=True, slots=True)
class Waiting(Generic[Kept]):
    """A batch that waits for its backward, and the values kept for it."""

    samples: int
    kept: Kept


class StackEngine(Engine, Generic[Kept]):
    """An engine that keeps the batches that wait for their backward, the newest last."""

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


class Outcome(NamedTuple):
    """Result of some steps.

    losses    one for each step taken, each before the update
    bad       row of a gradient that is not finite, so that the next step was not taken, or NONE
    overflow  error for the next step if it left a weight, a slot or a running statistic not finite;
              the caller must then restore the bank
    """

    losses: FloatArray
    bad: int = NONE
    overflow: UpdateError | None = None


class Run(ABC):
    """The training of one network on the batches of one data set.

    Every step performs `program.moments` in order. Moment by moment, call `begin` and then
    `perform` for each moment. Numbers can be read from the moment that writes them until the next
    `begin`; `steps` begins anew.
    """

    def __init__(self, batches: Batches, loss: Loss) -> None:
        self.batches = batches
        self.loss_function = loss
        self.loss = np.nan  # loss of the batch, from the moment "loss" on
        self.before: Before | None = None  # memory for a copy of the bank, see `portions`

    @abstractmethod
    def steps(self, optimizer: Optimizer, first: int, count: int) -> Outcome:
        """Take `count` whole steps on the batches of the steps `first`, `first` + 1, ...

        If the gradient of a weight that is not frozen is not finite, and the optimizer refuses such
        gradients, that step and those after it are not taken; its gradients can be read. A step
        that leaves a weight, a slot or a running statistic not finite is the last one, see
        `Outcome.overflow`. A step that a dynamic loss scale skips changes no running statistic.
        """

    def resume(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> bool:
        """Go on with another batch instead of the only one, if its size and the loss are equal.

        Returns whether it does; else nothing has changed.
        """
        return False

    @abstractmethod
    def begin(self, step: int) -> None:
        """Load the batch of a step."""

    @abstractmethod
    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        """Perform one moment of the step.

        For "step": raises GradientError if a gradient, UpdateError if a weight, slot or running
        statistic would not be finite; nothing is changed then.
        """

    def snapshot(self, bank: Bank) -> Snapshot:
        """Return a snapshot of the bank, which asks a device where the newest numbers are there."""
        return HostSnapshot(bank)

    def finish_backward(self) -> None:  # noqa: B027  # most have nothing to do
        """Called after the last moment before "step": leave no unmatched forward."""

    @abstractmethod
    def values(self, buffer: Buffer) -> FloatArray:
        """Return the values of a buffer of the program for this batch, shape (samples, size)."""

    @abstractmethod
    def gradients(self, buffer: Buffer) -> FloatArray:
        """Return the gradient of the loss for a buffer, shape (samples, size)."""

    @abstractmethod
    def targets(self) -> FloatArray:
        """Return the targets of this batch, shape (samples, outputs)."""
