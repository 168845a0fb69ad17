"""One bank of numbers: all parameters of a network, flat, with their gradients.

A row is a parameter. Weights are live objects on the rows, kernels read and write the rows, and the
picture is drawn from them; so nothing is ever copied to keep two things alike.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from typing import Literal

import numpy as np
import numpy.typing as npt

from scalarviz.checks import FloatArray, shorten
from scalarviz.errors import GradientError, InputError, OrderError
from scalarviz.formulas.table import pick
from scalarviz.optimizer import Optimizer
from scalarviz.precision import Precision

Dtype = Literal["float32", "float64"]
Rows = slice | npt.NDArray[np.intp]

NONE = -1  # no row
SCALING = 3  # numbers of `Bank.state` that are its `scaling`
DTYPES: dict[str, Dtype] = {"float32": "float32", "float64": "float64"}


class Bank:
    """All numbers of one network, flat: one row a parameter.

    value, grad     the parameters and their gradients
    frozen          True where a parameter keeps its value
    slots           what optimizers keep for each parameter, by name (Adam's "m" and "v")
    state           what is no parameter and yet belongs to the network: first `scaling`, then what
                    layers keep, such as running means; float64
    scaling         with mixed precision: the loss scale, the steps since it last changed, and how
                    many steps it has skipped
    step_count      how many steps were taken
    has_gradients   whether a backward has run since the last zero_grad; set it if you write
                    gradients into `grad` by hand that may all be 0

    The arrays are the same objects for the bank's whole life.
    """

    def __init__(self, rows: int, dtype: str = "float32", state: int = 0) -> None:
        self.dtype: Dtype = pick(DTYPES, dtype, "dtype")
        if not isinstance(rows, int) or rows < 0:
            raise InputError(f"a bank has a whole number of rows, not {shorten(rows)}")
        self.value: FloatArray = np.zeros(rows, self.dtype)
        self.grad: FloatArray = np.zeros(rows, self.dtype)
        self.frozen: npt.NDArray[np.bool_] = np.zeros(rows, np.bool_)
        self.slots: dict[str, FloatArray] = {}
        self._blocks: dict[tuple[str, ...], FloatArray] = {}
        self.state: FloatArray = np.zeros(SCALING + state)
        self.state[0] = 1.0
        self.step_count = 0
        self.has_gradients = False
        self.name_of: Callable[[int], str] = "row {}".format
        # Whoever writes a single number while kernels may run does so under this lock.
        self.guard: AbstractContextManager[object] = nullcontext()
        self.session: object = None  # the one that trains these numbers
        self._cleared: npt.NDArray[np.bool_] = np.zeros(rows, np.bool_)
        self._moved: npt.NDArray[np.bool_] = np.zeros(rows, np.bool_)

    @property
    def scaling(self) -> FloatArray:
        """The first numbers of the state."""
        return self.state[:SCALING]

    def __len__(self) -> int:
        return len(self.value)

    @staticmethod
    def window(array: FloatArray, row: int) -> memoryview[float]:
        """One number of an array, read and written as `window[()]`.

        Python floats come out of a memoryview several times faster than out of a numpy array.
        """
        code: Literal["f", "d"] = "f" if array.dtype == np.float32 else "d"
        return array.data[row : row + 1].cast("B").cast(code, shape=())

    def slot_block(self, names: tuple[str, ...]) -> FloatArray:
        """What an optimizer keeps, (slot, row) as one array; zeros when first asked for."""
        if names not in self._blocks:
            block = self._blocks[names] = np.zeros((len(names), len(self)), self.dtype)
            self.slots.update(zip(names, block, strict=True))
        return self._blocks[names]

    @property
    def blocks(self) -> dict[tuple[str, ...], FloatArray]:
        """Everything that optimizers keep, by the names of their slots."""
        return self._blocks

    @property
    def moved(self) -> npt.NDArray[np.bool_]:
        """Which rows have taken the step that is counted last."""
        return self._moved

    def __getstate__(self) -> dict[str, object]:
        """A copy belongs to no session."""
        return {**self.__dict__, "guard": nullcontext(), "session": None}

    def restart_optimizer(self) -> None:
        """Forget what optimizers keep, and how many steps were taken."""
        for block in self._blocks.values():
            block[:] = 0.0
        self.restart_count(0)

    def restart(self, precision: Precision) -> None:
        """Forget everything but the values, as before a first step."""
        self.grad[:] = 0.0
        self.restart_optimizer()
        self.start_scaling(precision)
        self.has_gradients = False

    def restart_count(self, steps: int) -> None:
        """Say how many steps were taken, all rows together."""
        self.step_count = steps
        self._moved[:] = steps > 0
        self._cleared[:] = False

    def move_to(self, value: FloatArray, grad: FloatArray, frozen: npt.NDArray[np.bool_]) -> None:
        """Have its numbers in other arrays from now on; only as long as no Weight stands on it."""
        value[:], grad[:], frozen[:] = self.value, self.grad, self.frozen
        self.value, self.grad, self.frozen = value, grad, frozen

    def take_block(self, names: tuple[str, ...], block: FloatArray) -> None:
        """Have the slots of an optimizer in another array from now on."""
        block[:] = self.slot_block(names)
        self._blocks[names] = block
        self.slots.update(zip(names, block, strict=True))

    def copy_from(self, other: Bank) -> None:
        """Take over all numbers of a bank with as many rows."""
        self.value[:] = other.value
        self.grad[:] = other.grad
        self.frozen[:] = other.frozen
        self.state[:] = other.state
        self.has_gradients = other.has_gradients
        self.step_count = other.step_count
        self._moved[:] = other._moved
        for names in {*self._blocks, *other._blocks}:
            self.slot_block(names)[:] = other.slot_block(names)

    def start_scaling(self, precision: Precision) -> None:
        """Begin with the loss scale of a precision."""
        self.scaling[:] = [precision.loss_scale if precision.mixed else 1.0, 0.0, 0.0]

    def zero_grad(self, rows: Rows = slice(None)) -> None:
        """Forget the gradients of some rows, or of all."""
        self.grad[rows] = 0.0
        self._cleared[rows] = True
        if self._cleared.all():
            self.has_gradients = False
            self._cleared[:] = False

    def step(self, optimizer: Optimizer, rows: Rows) -> None:
        """Move some rows against their gradients, all together; frozen ones stay.

        The step count goes on by one when a row steps again that has stepped already; so stepping
        a network weight by weight, or layer by layer, counts as one step.
        """
        gradients = self.grad[rows]
        if not gradients.size:
            return
        if not self.has_gradients and not gradients.any():
            raise OrderError("there are no gradients to step with: call forward and backward first")
        alive = ~self.frozen[rows]
        bad = self.find_bad(optimizer, rows)
        if bad != NONE:
            raise self.bad_gradient(bad)
        scale = optimizer.norm_scale(gradients[alive])
        self.count_step(rows)
        # Everything is computed before anything is written.
        moving = np.arange(len(self))[rows][alive]
        arrays = [self.value, *self.slot_block(optimizer.row.slots)]
        weights, *kept = [array[moving].tolist() for array in arrays]
        g = optimizer.gradients(self.grad[moving].tolist(), weights, scale)
        arguments = map(repeat, optimizer.arguments(self.step_count - 1))
        moved = map(optimizer.row.update, weights, g, *kept, *arguments)
        with np.errstate(over="ignore"):  # a float32 that grows too large is inf
            for array, column in zip(arrays, zip(*moved, strict=True), strict=False):
                array[moving] = column

    def count_steps(self, steps: int) -> None:
        """Note that all rows have taken so many steps."""
        self.step_count += steps
        self._moved |= steps > 0

    def count_step(self, rows: Rows) -> None:
        """Note that these rows step now: a new step if one of them has taken the last one."""
        if self.step_count == 0 or self._moved[rows].any():
            self.step_count += 1
            self._moved[:] = False
        self._moved[rows] = True

    def find_bad(self, optimizer: Optimizer, rows: Rows = slice(None)) -> int:
        """The first row that moves and whose gradient this optimizer refuses, or NONE."""
        if optimizer.not_finite != "error":
            return NONE
        bad = ~np.isfinite(self.grad[rows]) & ~self.frozen[rows]
        return int(np.arange(len(self))[rows][bad][0]) if bad.any() else NONE

    def bad_gradient(self, row: int) -> GradientError:
        """The error that says which gradient is not finite, and what to do about it."""
        return GradientError(
            f"the gradient of {self.name_of(row)} is {self.grad[row]}, so nothing was changed: "
            "lower the learning rate, clip with clip_norm=, or count such gradients as 0 with "
            'not_finite="zero"'
        )

    def __repr__(self) -> str:
        slots = "".join(f", {name}" for name in self.slots)
        return f"Bank({len(self)} rows of {self.dtype}: value, grad{slots}; step {self.step_count})"
