"""Bank: all parameters of a network in one flat array, their gradients in a second.

Each row is one parameter. Weights, kernels and the picture read and write these arrays directly, so
that no copies have to be kept in step.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, answered, shorten
from scalarviz.base.limits import enough_memory
from scalarviz.core.formulas.table import pick
from scalarviz.core.model.bank_arrays import DTYPES, SCALING, BankArrays
from scalarviz.core.model.not_finite import bad_gradient, find_bad, first_not_finite, not_taken
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.optimizer import Optimizer
from scalarviz.errors import InputError, OrderError

Rows = slice | npt.NDArray[np.intp]

LARGE = 1e9  # a product of four numbers up to this fits into a float32


class Bank(BankArrays):
    """All numbers of one network, flat: one row for each parameter.

    value, grad     parameters and gradients, 1-D, of `dtype`
    frozen          bool, 1-D: True where steps do not move the parameter
    slots           optimizer state of each parameter, by name, such as Adam's "m" and "v"
    state           non-parameter state, float64, 1-D: `scaling`, then what layers keep, such as
                    running means
    scaling         for mixed precision: loss scale, steps since it last changed, steps skipped
    step_count      number of steps taken
    has_gradients   whether a backward has run since the last zero_grad; set it to True after
                    writing gradients into `grad` by hand that may all be 0

    The arrays stay the same objects for the life of the bank, since weights, kernels and pictures
    refer to them: `bank.value = array` copies the numbers of `array` into `bank.value`, and raises
    InputError, with nothing written, unless there is one finite number for each row.

    While a session plays, the engine cuda has newer numbers than the arrays; to read `value`,
    `grad` or `slots` copies them, unless steps are under way: then they are those of the last copy.

    rows   number of parameters, at least 0
    dtype  "float32", the default, or "float64"
    state  number of places in `state` after `scaling`; by default 0
    """

    @answered
    def __init__(self, rows: int, dtype: str = "float32", state: int = 0) -> None:
        self.dtype = pick(DTYPES, dtype, "dtype")
        if not isinstance(rows, int) or rows < 0:
            raise InputError(f"the rows of a bank must be an integer >= 0, not {shorten(rows)}")
        # Value, gradient, and three flags of a byte.
        needed = rows * (2 * np.dtype(self.dtype).itemsize + 3)
        with enough_memory(needed, f"{rows:,} parameters", "choose smaller layers"):
            self._begin(
                np.zeros(rows, self.dtype),
                np.zeros(rows, self.dtype),
                np.zeros(rows, np.bool_),
                np.zeros(SCALING + state),
                {},
            )

    def zero_grad(self, rows: Rows = slice(None)) -> None:
        """Set the gradients of `rows` to 0; by default of all rows."""
        self.grad[rows] = 0.0
        self._cleared[rows] = True
        if self._cleared.all():
            self.has_gradients = False
            self._cleared[:] = False

    def step(self, optimizer: Optimizer, rows: Rows) -> None:
        """Take one step of an `optimizer` on `rows`; frozen rows stay.

        The step count increases when a row steps again that has taken the last step; so stepping a
        network weight by weight, or layer by layer, counts as one step. Raises OrderError without
        gradients, GradientError if a gradient, UpdateError if a result is not finite; nothing is
        changed then.
        """
        gradients = self.grad[rows]
        if not gradients.size:
            return
        if not self.has_gradients and not gradients.any():
            raise OrderError("there are no gradients to step with: call forward and backward first")
        bad = find_bad(self, optimizer, rows)
        if bad != NONE:
            raise bad_gradient(self, bad)
        scale = optimizer.norm_scale(gradients[~self.frozen[rows]])
        moving = np.arange(len(self))[rows][~self.frozen[rows]]
        # Compute everything before writing anything.
        count = self.step_count + self.begins_step(rows)
        arrays = [self.value, *self.slot_block(optimizer.row.slots)]
        moved = self._moved_by(optimizer, arrays, moving, scale, count - 1)
        found = first_not_finite(moved)
        if found is not None:
            array, place = found
            number = float(moved[array][place])
            raise not_taken(self, array, int(moving[place]), number, optimizer, count - 1)
        self.count_step(rows)
        for array, numbers in zip(arrays, moved, strict=True):
            array[moving] = numbers

    def _moved_by(
        self, optimizer: Optimizer, arrays: list[FloatArray], rows: Any, scale: float, step: int
    ) -> list[FloatArray]:
        """Return the new values and slots of some rows, without writing them.

        Computed in float64 and then rounded; with numbers so large that a float32 could overflow on
        the way, computed in the dtype of the bank, as in the kernels.
        """
        arguments = optimizer.arguments(step)
        numbers = [array[rows].tolist() for array in (self.grad, *arrays)]
        rate, *others = arguments
        rates: list[float] = []
        if optimizer.own_rates:
            own, factor = (
                optimizer.own_rates.array(len(self))[rows],
                optimizer.schedule.factor(step),
            )
            rates = np.where(np.isnan(own), rate, own * factor).tolist()
        largest = max(max(map(abs, each), default=0.0) for each in (arguments, rates, *numbers))
        kind: Any = float
        if self.dtype == "float32" and max(largest, optimizer.l1, optimizer.l2) > LARGE:
            kind, numbers = np.float32, [list(map(np.float32, each)) for each in numbers]
        with np.errstate(all="ignore"):
            g, weights, *kept = numbers
            g = optimizer.gradients(g, weights, scale)
            each_rate = map(kind, rates) if rates else repeat(kind(rate))
            fixed = [repeat(kind(argument)) for argument in others]
            moved = list(map(optimizer.row.update, weights, g, *kept, each_rate, *fixed))
            table = np.array(moved, np.float64).reshape(len(moved), len(arrays))
            return list(table.T.astype(self.dtype))

    def begins_step(self, rows: Rows) -> bool:
        """Return whether a step of `rows` is a new one: one of them has taken the last step."""
        return self.step_count == 0 or bool(self._moved[rows].any())

    def count_steps(self, steps: int) -> None:
        """Count `steps` further steps of all rows."""
        if steps:
            self._step_count += steps
            self._moved.fill(True)

    def count_step(self, rows: Rows) -> None:
        """Count a step of `rows`: a new one if one of them has taken the last step."""
        if self.begins_step(rows):
            self.step_count += 1
            self._moved[:] = False
        self._moved[rows] = True

    def __repr__(self) -> str:
        slots = "".join(f", {name}" for name in self.slots)
        return f"Bank({len(self)} rows of {self.dtype}: value, grad{slots}; step {self.step_count})"
