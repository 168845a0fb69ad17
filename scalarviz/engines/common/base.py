"""What every engine does for a network: the four verbs on checked batches, and training.

A training is a `Run`: one network on the batches of one data set. It takes many steps in one call,
or one step moment by moment, with the same bits, and then all numbers in between can be read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.common.snapshot import HostSnapshot, Snapshot
from scalarviz.errors import EngineError, OrderError, ShapeError, UpdateError
from scalarviz.formulas.losses import Loss
from scalarviz.layers import Layer
from scalarviz.model.bank import SCALING, Bank
from scalarviz.model.operations import NONE, Buffer
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Moment, Program


class Engine(ABC):
    """Runs one model on its bank: the layers of a network, or its program.

    What comes in has been checked: batches are 2-D and float64, one row a sample, and fit. What is
    between a forward and its backward an engine keeps on a stack of its own.
    """

    name: str

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        self.layers = layers
        self.program = program
        self.bank = bank
        self.precision = precision

    @abstractmethod
    def forward(self, batch: FloatArray) -> FloatArray:
        """The outputs of a batch; what backward needs is kept."""

    @abstractmethod
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """The outputs of a batch, with nothing kept."""

    @abstractmethod
    def newest_batch(self) -> int:
        """How many samples the newest unmatched forward had; an OrderError if there is none."""

    @abstractmethod
    def check_backward(self, samples: int) -> None:
        """Refuse a backward that does not fit the newest forward, before anything is changed."""

    @abstractmethod
    def backward(self, upstream: FloatArray) -> FloatArray:
        """Add to the gradients, for the newest unmatched forward; return that by its inputs."""

    @abstractmethod
    def forget(self) -> None:
        """Drop everything that waits for a backward."""

    @abstractmethod
    def run(self, batches: Batches, loss: Loss) -> Run:
        """A training on these batches; making one changes no number."""

    @final
    def lost_statistic(self) -> str:
        """The first running statistic that is not finite, by name, and what it is; or ""."""
        if not self.layers or np.isfinite(self.bank.state[SCALING:]).all():
            return ""
        lost = [(i, layer.lost_statistic()) for i, layer in enumerate(self.layers)]
        return next(f"layer {i}, {found}" for i, found in lost if found)

    @final
    def bad_statistic(self, lost: str, step: int) -> UpdateError:
        """The error of a step, the first being 0, that would lose a running statistic."""
        other = ", or compute with precision='full'" if self.precision.mixed else ""
        return UpdateError(step, f"{lost}, so it was not taken: scale the data down{other}")

    @final
    def bad_update(self, optimizer: Optimizer, step: int) -> UpdateError:
        """The error of a step, the first being 0, that has left numbers not finite."""
        lost = self.lost_statistic()
        return self.bad_statistic(lost, step) if lost else self.bank.bad_update(optimizer, step)

    @final
    def snapshot(self) -> Snapshot:
        """The numbers of the bank, which between calls hold the truth on every engine."""
        return HostSnapshot(self.bank)

    @final
    def __reduce__(self) -> tuple[object, ...]:
        """A copy, or what is sent to another process, is an engine of its own."""
        return type(self), (self.layers, self.program, self.bank, self.precision)

    @final
    def as_read(self, batch: FloatArray) -> FloatArray:
        """A batch in float64, with inf where a number is too large for the type of the bank."""
        read = self.array(batch)
        return np.where(np.isinf(read), read, batch)

    @final
    def array(self, rows: object) -> FloatArray:
        """Numbers in the type of the bank, row by row; too large ones become inf, silently.

        Kernels are compiled for this order, and would be anew for every other.
        """
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(rows, self.bank.dtype)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of some steps.

    losses    one for each step that was taken, each computed before the step
    bad       the row of a gradient that is not finite, so that the next step was not taken, or NONE
    overflow  the error of the next step, if it has left a weight, a slot or a running statistic not
              finite: the numbers in the bank are of no use then, and whoever asked for the steps
              restores them
    """

    losses: FloatArray
    bad: int = NONE
    overflow: UpdateError | None = None


class Run(ABC):
    """The training of one network on the batches of one data set.

    Every step does the moments of `program.moments`, in their order. Moment by moment, `begin`
    comes first, and `perform` is called with one moment after the other. What was written can be
    read from the moment that writes it until the next `begin`; `steps` begins anew.
    """

    def __init__(self, batches: Batches, loss: Loss) -> None:
        self.batches = batches
        self.loss_function = loss
        self.loss = np.nan  # of the batch, from the moment "loss" on

    @abstractmethod
    def steps(self, optimizer: Optimizer, first: int, count: int) -> Outcome:
        """`count` whole steps on the batches of the steps `first`, `first` + 1, ...

        Where a gradient of a weight that moves is not finite, and the optimizer does not count such
        gradients as 0, that step is not taken, nor are those after it; its gradients can be read.
        A step that leaves a weight, a slot or a running statistic not finite is the last one: see
        `Outcome.overflow`. One that a dynamic loss scale skips changes no running statistic.
        """

    @abstractmethod
    def begin(self, step: int) -> None:
        """Take up the batch of a step."""

    @abstractmethod
    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        """Do one moment of the step.

        If it is "step": a GradientError if a gradient is bad, and an UpdateError if a weight, a
        slot or a running statistic would not be finite; nothing is changed then.
        """

    def finish_backward(self) -> None:  # noqa: B027  # most have nothing to do
        """After the last moment before "step": leave nothing that waits for a backward."""

    @abstractmethod
    def values(self, buffer: Buffer) -> FloatArray:
        """What a buffer of the program holds for this batch, one row a sample."""

    @abstractmethod
    def gradients(self, buffer: Buffer) -> FloatArray:
        """The gradient of the loss by what a buffer holds, one row a sample."""

    @abstractmethod
    def targets(self) -> FloatArray:
        """What the network should have said to this batch, one row a sample."""


def check_kinds(engine: str, program: Program, kernels: Container[str]) -> None:
    """Refuse a program with operations of a kind that an engine has no `kernels` for."""
    for operation in program.operations:
        if operation.kind not in kernels:
            raise EngineError(
                f"the engine {engine!r} has no kernels for operations of the kind "
                f"{operation.kind!r}: choose the engine 'python'"
            )


class Waiting(Protocol):
    """A batch that waits for its backward."""

    @property
    def samples(self) -> int: ...


def newest_of(passes: Sequence[Waiting], model: str = "network") -> int:
    """How many samples the newest batch has that waits; an OrderError if there is none."""
    if not passes:
        raise OrderError(f"backward of the {model} without a forward: call forward first")
    return passes[-1].samples


def check_samples(newest: int, samples: int, model: str = "network") -> None:
    """Refuse a backward of another number of samples than the forward had."""
    if newest != samples:
        raise ShapeError(
            f"the {model} was last given {newest} samples, and its backward {samples}: pass one "
            "row of upstream gradients for each sample"
        )
