"""Bank: all parameters of a network in one flat array, their gradients in a second.

Each row is one parameter. Weights, kernels and the picture read and write these arrays directly, so
that no copies have to be kept in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from typing import Any, Literal, NoReturn, Self, final
from weakref import ref

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import (
    FloatArray,
    answered,
    as_floats,
    number,
    refuse_mask,
    shorten,
    size,
)
from scalarviz.base.limits import enough_memory
from scalarviz.core.device_arrays import Away
from scalarviz.core.formulas.formula import pick
from scalarviz.core.not_finite import bad_gradient, find_bad, first_not_finite, not_taken
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE
from scalarviz.errors import InputError, NotFiniteError, OrderError, ShapeError, UnknownSlotError

Dtype = Literal["float32", "float64"]

SCALING = 3  # length of `scaling`, the first numbers of `Bank.state`
ROW_NAME = "row {}".format
DTYPES: dict[str, Dtype] = {"float32": "float32", "float64": "float64"}
FLOAT32_ENDS = 2.0**128 - 2.0**103  # numbers from here on are rounded to infinity


def no_session() -> None:
    """Stands for a weak reference to no session."""


class BankArrays:
    """What a Bank is without steps: its arrays, which stay the same objects for its life.

    Each is written whole by an assignment, under a lock and only if it fits; the newest numbers may
    be on a device, from which reading them fetches them.
    """

    dtype: Dtype

    @classmethod
    def on(
        cls,
        value: FloatArray,
        grad: FloatArray,
        frozen: npt.NDArray[np.bool_],
        state: FloatArray,
        blocks: dict[tuple[str, ...], FloatArray],
    ) -> Self:
        """Return a bank on existing arrays, which hold zeros.

        `value`, `grad` and `frozen` have one number a row, `state` is float64; `blocks` maps the
        names of an optimizer's slots to an array of shape (slots, rows).
        """
        bank = cls.__new__(cls)
        bank.dtype = DTYPES[value.dtype.name]
        bank._begin(value, grad, frozen, state, blocks)
        return bank

    def _begin(
        self,
        value: FloatArray,
        grad: FloatArray,
        frozen: npt.NDArray[np.bool_],
        state: FloatArray,
        blocks: dict[tuple[str, ...], FloatArray],
    ) -> None:
        self._value, self._grad, self._frozen, self._state = value, grad, frozen, state
        self._blocks = blocks
        self.away = Away()
        self._cleared: npt.NDArray[np.bool_] = np.zeros(len(value), np.bool_)
        self._moved: npt.NDArray[np.bool_] = np.zeros(len(value), np.bool_)
        self._state[0] = 1.0
        self.step_count = 0
        self.has_gradients = False
        self.name_of: Callable[[int], str] = ROW_NAME
        # Single numbers are written under this lock while kernels may run.
        self.guard: AbstractContextManager[object] = nullcontext()
        self._session: Callable[[], object] = no_session

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
    def frozen(self) -> npt.NDArray[np.bool_]:
        """True where steps do not move the parameter."""
        return self._frozen

    @frozen.setter
    def frozen(self, marks: object) -> None:
        self.write("frozen", self._frozen, marks)

    @property
    def state(self) -> FloatArray:
        """Non-parameter state, float64: `scaling`, then what layers keep, such as running means."""
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
    def slots(self) -> Slots:
        """Optimizer state of each parameter, by the name of the slot."""
        return Slots(self)

    @slots.setter
    def slots(self, numbers: object) -> NoReturn:
        raise InputError(
            "the slots of a bank cannot be replaced: write into them with "
            "bank.slots['m'][:] = array, say"
        )

    @property
    def session(self) -> object:
        """The session that trains this network, or None if there is none or it was deleted."""
        return self._session()

    @session.setter
    def session(self, session: object) -> None:
        self._session = no_session if session is None else ref(session)

    @property
    def scaling(self) -> FloatArray:
        """Loss scale, steps since it last changed, steps skipped: the first numbers of `state`."""
        return self._state[:SCALING]

    def __len__(self) -> int:
        return len(self._value)

    def write(self, name: str, array: npt.NDArray[Any], numbers: object) -> None:
        """Copy `numbers`, one finite number a row, into `array`; InputError names it `name`."""
        if numbers is array:  # after `bank.value *= 2`
            return
        refuse_mask(numbers, f"bank.{name}")
        try:
            found = np.asarray(numbers)
        except ValueError:  # e.g. lists of different lengths
            found = np.array(None)
        except Exception:  # a foreign tensor: as_floats raises an error with a remedy
            found = as_floats(numbers, f"bank.{name}")
        wanted, kinds = ("True or False", "b") if array.dtype == np.bool_ else ("number", "biuf")
        if found.dtype.kind not in kinds or found.shape != array.shape:
            raise ShapeError(
                f"bank.{name} has one {wanted} for each of {len(array)} rows, and cannot be "
                f"{shorten(numbers)}, an array of {found.dtype} of shape {found.shape}: write into "
                f"a part of it with bank.{name}[rows] = numbers"
            )
        with np.errstate(over="ignore"):
            found = found.astype(array.dtype)
        if not np.isfinite(found).all():
            row = int(np.flatnonzero(~np.isfinite(found))[0])
            raise NotFiniteError(
                f"bank.{name} takes finite numbers of {array.dtype}, and row {row} of what was "
                f"written is {np.asarray(numbers)[row]}: nothing was changed"
            )
        with self.guard:
            self.fetch()
            array[:] = found

    def fetch(self) -> None:
        """Copy numbers that an engine has left on a device to the arrays; see `Away`."""
        if self.away.keeper is not None:
            self.away.fetch(self.guard)

    def number(self, value: object, what: str) -> float:
        """Return `value` as a float; raise InputError unless finite in the dtype of this bank.

        `what` names the value in the error.
        """
        found = number(value, what)
        if self.dtype == "float32" and abs(found) >= FLOAT32_ENDS:
            raise InputError(
                f"{what} must be a number that float32 can hold, which ends at 3.4e+38, not "
                f"{shorten(value)}: use a smaller one, or dtype='float64'"
            )
        return found

    @staticmethod
    def window(array: FloatArray, row: int) -> memoryview[float]:
        """Return a memoryview of the number of an `array` on a `row`: read and write `window[()]`.

        Python reads floats from a memoryview several times faster than from a numpy array.
        """
        code: Literal["f", "d"] = "f" if array.dtype == np.float32 else "d"
        return array.data[row : row + 1].cast("B").cast(code, shape=())

    def slot_block(self, names: tuple[str, ...]) -> FloatArray:
        """Return the optimizer slots `names` as an array of shape (slots, rows), at first zeros."""
        if names not in self.blocks:
            self._blocks[names] = np.zeros((len(names), len(self)), self.dtype)
        return self._blocks[names]

    @property
    def blocks(self) -> dict[tuple[str, ...], FloatArray]:
        """All optimizer slots: tuples of names, and arrays of shape (slots, rows)."""
        self.fetch()
        return self._blocks

    @property
    def host_blocks(self) -> dict[tuple[str, ...], FloatArray]:
        """`blocks` in host memory, which may be older than those on a device."""
        return self._blocks

    @property
    def moved(self) -> npt.NDArray[np.bool_]:
        """Bool mask of the rows that have taken the step counted last."""
        return self._moved

    def __getstate__(self) -> dict[str, object]:
        """Leave out lock and session, and row names if their layer or network is copied too."""
        self.fetch()
        named = hasattr(getattr(self.name_of, "__self__", None), "bank")
        about = {"guard": nullcontext(), "_session": no_session, "away": Away()}
        return {**self.__dict__, **about, **({"name_of": None} if named else {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.name_of = state["name_of"] or ROW_NAME

    def copy_from(self, other: BankArrays) -> None:
        """Copy all numbers of the equally long bank `other`; InputError if a value is too large."""
        with np.errstate(over="ignore"):
            value, grad = other.value.astype(self.dtype), other.grad.astype(self.dtype)
        lost = np.isfinite(other.value) & ~np.isfinite(value)
        if lost.any():
            row = int(np.flatnonzero(lost)[0])
            self.number(other.value[row].item(), f"the value of {other.name_of(row)}")
        self.value[:], self.grad[:] = value, grad
        self.frozen[:] = other.frozen
        self.state[:] = other.state
        self.has_gradients = other.has_gradients
        self.step_count = other.step_count
        self._moved[:] = other._moved
        for names in {*self._blocks, *other._blocks}:
            self.slot_block(names)[:] = other.slot_block(names)

    def is_like(self, new: BankArrays) -> bool:
        """Return whether no step was taken, and all numbers are those of the bank `new`."""
        pairs = (
            (self.value, new.value),
            (self.frozen, new.frozen),
            (self.state[SCALING:], new.state[SCALING:]),
        )
        is_new = not (self.grad.any() or self.step_count)
        return is_new and all(np.array_equal(*pair) for pair in pairs)

    def restart_optimizer(self) -> None:
        """Set all optimizer slots and the number of steps taken to 0."""
        for block in self.blocks.values():
            block[:] = 0.0
        self.restart_count(0)

    def restart(self, precision: Precision) -> None:
        """Reset everything but the values to the state before a first step in a `precision`."""
        self.grad[:] = 0.0
        self.restart_optimizer()
        self.start_scaling(precision)
        self.has_gradients = False

    def count_of_steps(self) -> tuple[int, npt.NDArray[np.bool_]]:
        """Return the number of steps taken, and the mask of rows that have taken the last."""
        return self._step_count, self._moved.copy()

    def restore_count(self, count: tuple[int, npt.NDArray[np.bool_]]) -> None:
        """Restore a `count` that `count_of_steps` returned."""
        self.step_count, self._moved[:] = count

    def restart_count(self, steps: int) -> None:
        """Set the number of `steps` taken, as if all rows had taken them together."""
        self.step_count = steps
        self._moved[:] = steps > 0
        self._cleared[:] = False

    def start_scaling(self, precision: Precision) -> None:
        """Reset `scaling` to the loss scale of a `precision`."""
        self.scaling[:] = [precision.loss_scale if precision.mixed else 1.0, 0.0, 0.0]


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


@final
class Slots(Mapping[str, FloatArray]):
    """Mapping of slot names to the optimizer state of each row of a bank: Adam's "m" and "v".

    Values are views of the bank; assigning to a name writes into the bank.
    """

    def __init__(self, bank: BankArrays) -> None:
        self._bank = bank
        self._rows = {
            name: row
            for names, block in bank.blocks.items()
            for name, row in zip(names, block, strict=True)
        }

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self._rows:
            raise UnknownSlotError(name, [*self._rows])
        row: FloatArray = self._rows[name]
        return row

    def __setitem__(self, name: str, numbers: object) -> None:
        self._bank.write(f"slots[{name!r}]", self[name], numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Slots({', '.join(self._rows)})"


@final
class BankStack:
    """One array for each kind of number with a row for each network, and a bank on each row.

    banks        one `Bank` for each network, all numbers 0
    value, grad  shape (networks, parameters)
    slots        shape (networks, slots of the optimizer, parameters)
    frozen       shape (networks, parameters)
    state        shape (networks, length of a bank's state)
    """

    def __init__(self, count: int, like: Bank, slots: tuple[str, ...]) -> None:
        rows, dtype = len(like), like.dtype
        self.value: FloatArray = np.zeros((count, rows), dtype)
        self.grad: FloatArray = np.zeros((count, rows), dtype)
        self.slots: FloatArray = np.zeros((count, len(slots), rows), dtype)
        self.frozen: npt.NDArray[np.bool_] = np.zeros((count, rows), np.bool_)
        self.state: FloatArray = np.zeros((count, len(like.state)))
        arrays = zip(self.value, self.grad, self.frozen, self.state, self.slots, strict=True)
        self.banks = [
            Bank.on(value, grad, frozen, state, {slots: block})
            for value, grad, frozen, state, block in arrays
        ]
