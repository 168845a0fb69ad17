"""Bank: all parameters of a network in one flat array, and their gradients in another.

Each row is one parameter. Weights, kernels and the picture read and write these arrays directly, so
no copies have to be synchronized.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat, zip_longest
from typing import Any, Literal, NoReturn
from weakref import ref

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, answered, shorten, size
from scalarviz.base.limits import enough_memory
from scalarviz.core import bank_arrays
from scalarviz.core.device_arrays import DeviceNumbers
from scalarviz.core.formulas.formula import pick
from scalarviz.core.optimizer import Optimizer
from scalarviz.errors import InputError, OrderError

Dtype = Literal["float32", "float64"]
Rows = slice | npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]
Blocks = dict[tuple[str, ...], FloatArray]

DTYPES: dict[str, Dtype] = {"float32": "float32", "float64": "float64"}
LARGE = 1e9  # a product of four such numbers fits into a float32
ROW_NAME = "row {}".format
SCALING = 3  # length of `scaling`, the first numbers of `Bank.state`


class Bank:
    """All parameters of one network in flat arrays, one row for each parameter.

    Attributes:
        value, grad: parameters and gradients, 1-D, of `dtype`
        frozen: bool, 1-D; True for parameters that steps do not change
        slots: optimizer state of each parameter, by name, such as Adam's "m" and "v"
        state: non-parameter state, float64, 1-D: `scaling`, then the state of layers, such as
            running means
        scaling: state of mixed precision: loss scale, steps since its last change, skipped steps
        step_count: number of steps taken
        has_gradients: whether a backward has run since the last zero_grad; set it to True after
            writing gradients that may all be 0 into `grad`

    The arrays remain the same objects for the life of the bank, since weights, kernels and pictures
    refer to them: `bank.value = array` copies `array` into `bank.value`. It raises InputError, and
    writes nothing, unless `array` has one finite number for each row.

    While a session runs on the cuda engine, the device holds newer numbers than the arrays. Reading
    `value`, `grad` or `slots` copies them from the device; during a step, it returns the last copy.

    Args:
        rows: number of parameters, at least 0
        dtype: "float32" (default) or "float64"
        state: length of `state` without `scaling`; by default 0
    """

    dtype: Dtype

    @answered
    def __init__(self, rows: int, dtype: str = "float32", state: int = 0) -> None:
        self.dtype = pick(DTYPES, dtype, "dtype")
        if not isinstance(rows, int) or rows < 0:
            raise InputError(f"the rows of a bank must be an integer >= 0, not {shorten(rows)}")
        # Value, gradient, and three flags of a byte.
        needed = rows * (2 * np.dtype(self.dtype).itemsize + 3)
        with enough_memory(needed, f"{rows:,} parameters", "choose smaller layers"):
            value, grad = np.zeros(rows, self.dtype), np.zeros(rows, self.dtype)
            self._begin(value, grad, np.zeros((3, rows), np.bool_), np.zeros(SCALING + state), {})

    def zero_grad(self, rows: Rows = slice(None)) -> None:
        """Set the gradients of `rows` to 0; by default of all rows."""
        self.grad[rows] = 0.0
        self._cleared[rows] = True
        if self._cleared.all():
            self.has_gradients = False
            self._cleared[:] = False

    def step(self, optimizer: Optimizer, rows: Rows) -> None:
        """Take one step of an `optimizer` on `rows`; frozen rows are unchanged.

        The step count increases when a row that has already taken the current step takes another
        one, so stepping a network weight by weight, or layer by layer, counts as one step. Raises
        OrderError without gradients, GradientError if a gradient is not finite, UpdateError if a
        result is not finite; in each case nothing is changed.
        """
        gradients = self.grad[rows]
        if not gradients.size:
            return
        if not self.has_gradients and not gradients.any():
            raise OrderError("no gradients for a step: call forward and backward first")
        loose = ~self.frozen[rows]
        moving, gradients = np.arange(len(self))[rows][loose], gradients[loose]
        if optimizer.not_finite == "error" and not np.isfinite(gradients).all():
            raise bank_arrays.bad_gradient(self, int(moving[~np.isfinite(gradients)][0]))
        # Compute everything before writing anything.
        count, scale = self.step_count + self.begins_step(rows), optimizer.norm_scale(gradients)
        arrays = [self.value, *self.slot_block(optimizer.row.slots)]
        moved = self._moved_by(optimizer, arrays, moving, scale, count - 1)
        if not all(np.isfinite(numbers).all() for numbers in moved):
            raise bank_arrays.not_taken(self, moved, moving, optimizer, count - 1)
        self.count_step(rows)
        for array, numbers in zip(arrays, moved, strict=True):
            array[moving] = numbers

    def _moved_by(
        self, optimizer: Optimizer, arrays: list[FloatArray], rows: Any, scale: float, step: int
    ) -> list[FloatArray]:
        """Return the new values and slots of some rows, without writing them to the bank.

        They are computed in float64 and then rounded. If an intermediate result could overflow in
        float32, they are computed in the dtype of the bank, as in the kernels.
        """
        arguments = optimizer.arguments(step)
        numbers = [array[rows].tolist() for array in (self.grad, *arrays)]
        rates = optimizer.own_rates.at(rows, optimizer.lr) * optimizer.schedule.factor(step)
        decays = optimizer.own_decays.at(rows, optimizer.settings.get("decay", 0.0))
        read = (arguments, rates.tolist(), decays.tolist(), *numbers)
        largest = max(max(map(abs, each), default=0.0) for each in read)
        kind: Any = float
        if self.dtype == "float32" and max(largest, optimizer.l1, optimizer.l2) > LARGE:
            kind, numbers = np.float32, [list(map(np.float32, each)) for each in numbers]
        with np.errstate(all="ignore"):
            g, weights, *kept = numbers
            g = optimizer.gradients(g, weights, scale)
            others = [
                map(kind, decays.tolist()) if name == "decay" else repeat(kind(argument))
                for name, argument in zip_longest(optimizer.settings, arguments[1:])
            ]
            each_rate = map(kind, rates.tolist())
            moved = list(map(optimizer.row.update, weights, g, *kept, each_rate, *others))
            table = np.array(moved, np.float64).reshape(len(moved), len(arrays))
            return list(table.T.astype(self.dtype))

    def begins_step(self, rows: Rows) -> bool:
        """Return whether stepping `rows` begins a new step: one of them took the current step."""
        return self.step_count == 0 or bool(self._moved[rows].any())

    def count_steps(self, steps: int) -> None:
        """Add `steps` to the number of steps taken, for all rows."""
        if steps:
            self._step_count += steps
            self._moved.fill(True)

    def count_step(self, rows: Rows) -> None:
        """Count a step of `rows`, as a new step if one of them already took the current step."""
        if self.begins_step(rows):
            self.step_count += 1
            self._moved[:] = False
        self._moved[rows] = True

    def _begin(
        self, value: FloatArray, grad: FloatArray, marks: Marks, state: FloatArray, blocks: Blocks
    ) -> None:
        self._value, self._grad, self._state, self._blocks = value, grad, state, blocks
        self._frozen: Marks = marks[0]
        self._cleared: Marks = marks[1]  # since the last backward
        self._moved: Marks = marks[2]  # in the current step
        self.away = DeviceNumbers()
        self._state[0] = 1.0
        self.step_count = 0
        self.has_gradients = False
        self.name_of: Callable[[int], str] = ROW_NAME
        # Single numbers are written under this lock while kernels may run.
        self.guard: AbstractContextManager[object] = nullcontext()
        self._session: ref[Any] | None = None

    @property
    def value(self) -> FloatArray:
        """The parameters, 1-D, of `dtype`."""
        if self.away.keeper is not None:
            self.fetch()
        return self._value

    @value.setter
    def value(self, numbers: object) -> None:
        self.write("value", self._value, numbers)

    @property
    def grad(self) -> FloatArray:
        """The gradients, 1-D, of `dtype`."""
        if self.away.keeper is not None:
            self.fetch()
        return self._grad

    @grad.setter
    def grad(self, numbers: object) -> None:
        self.write("grad", self._grad, numbers)
        self.has_gradients = True

    @property
    def frozen(self) -> Marks:
        """Mask of the frozen parameters, which steps do not change."""
        return self._frozen

    @frozen.setter
    def frozen(self, marks: object) -> None:
        self.write("frozen", self._frozen, marks)

    @property
    def state(self) -> FloatArray:
        """Non-parameter state, float64: `scaling`, then the state of layers, e.g. running means."""
        return self._state

    @state.setter
    def state(self, numbers: object) -> None:
        self.write("state", self._state, numbers)

    @property
    def step_count(self) -> int:
        """Number of steps taken."""
        return self._step_count

    @step_count.setter
    def step_count(self, steps: int) -> None:
        self._step_count = size(steps, "bank.step_count", 0)

    @property
    def slots(self) -> bank_arrays.Slots:
        """Optimizer state of each parameter, by slot name."""
        return bank_arrays.Slots(self)

    @slots.setter
    def slots(self, numbers: object) -> NoReturn:
        raise InputError(
            "the slots of a bank cannot be replaced: write into them with bank.slots['m'][:] = "
            "array, for example"
        )

    @property
    def session(self) -> object:
        """The session that trains this network, or None if it is missing or deleted."""
        return None if self._session is None else self._session()

    @session.setter
    def session(self, session: object) -> None:
        self._session = None if session is None else ref(session)

    @property
    def scaling(self) -> FloatArray:
        """Loss scale, steps since its last change, and skipped steps: the first part of `state`."""
        return self._state[:SCALING]

    def __len__(self) -> int:
        return len(self._value)

    def write(self, name: str, array: npt.NDArray[Any], numbers: object) -> None:
        """Copy `numbers`, one finite number per row, into `array`, which errors call `name`."""
        if numbers is not array:  # the same object, as after `bank.value *= 2`
            found = bank_arrays.fitting(name, array, numbers)
            with self.guard:
                self.fetch()
                array[:] = found

    def fetch(self) -> None:
        """Copy the numbers to the arrays if they are on a device; see `DeviceNumbers`."""
        if self.away.keeper is not None:
            self.away.fetch(self.guard)

    def slot_block(self, names: tuple[str, ...]) -> FloatArray:
        """Return the optimizer slots `names` as an array of shape (slots, rows), initially 0."""
        if names not in self.blocks:
            self._blocks[names] = np.zeros((len(names), len(self)), self.dtype)
        return self._blocks[names]

    @property
    def blocks(self) -> Blocks:
        """All optimizer slots: arrays of shape (slots, rows), by tuples of slot names."""
        self.fetch()
        return self._blocks

    @property
    def host_blocks(self) -> Blocks:
        """Optimizer slots in host memory, without fetching newer numbers from a device."""
        return self._blocks

    @property
    def moved(self) -> Marks:
        """Mask of the rows that have taken the current step."""
        return self._moved

    def restart_count(self, steps: int) -> None:
        """Set the number of steps taken to `steps`, as if all rows had taken them together."""
        self.step_count = steps
        self._moved[:] = steps > 0
        self._cleared[:] = False

    def __getstate__(self) -> dict[str, object]:
        """Return the state without lock and session, and without `name_of` if a network has it."""
        self.fetch()
        named = hasattr(getattr(self.name_of, "__self__", None), "bank")
        about = {"guard": nullcontext(), "_session": None, "away": DeviceNumbers()}
        return {**self.__dict__, **about, **({"name_of": None} if named else {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.name_of = state["name_of"] or ROW_NAME

    def __repr__(self) -> str:
        slots = "".join(f", {name}" for name in self.slots)
        return f"Bank({len(self)} rows of {self.dtype}: value, grad{slots}; step {self.step_count})"
