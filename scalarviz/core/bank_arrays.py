"""Functions on the arrays of a bank: checks, non-finite numbers, copies and stacks.

`Bank` itself takes the steps; this module has the functions that are rarely used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, as_floats, number, refuse_mask, shorten
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE
from scalarviz.errors import (
    GradientError,
    InputError,
    NotFiniteError,
    ShapeError,
    UnknownSlotError,
    UpdateError,
)

if TYPE_CHECKING:
    from scalarviz.core.bank import Bank, Rows
    from scalarviz.core.weight import Part

FLOAT32_ENDS = 2.0**128 - 2.0**103  # numbers from here on round to infinity


@final
class Slots(Mapping[str, FloatArray]):
    """Mapping from slot names, such as Adam's "m" and "v", to the optimizer state of a bank.

    Values are views of the bank; assigning to a name writes into the bank.
    """

    def __init__(self, bank: Bank) -> None:
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
    """The arrays of several equal networks, with one row per network, which its Bank uses.

    Attributes:
        banks: one `Bank` for each network; all numbers are initially 0
        value, grad: shape (networks, parameters)
        slots: shape (networks, slots of the optimizer, parameters)
        frozen: shape (networks, parameters)
        state: shape (networks, length of a bank's state)
    """

    def __init__(self, count: int, like: Bank, slots: tuple[str, ...]) -> None:
        rows, dtype = len(like), like.dtype
        self.value: FloatArray = np.zeros((count, rows), dtype)
        self.grad: FloatArray = np.zeros((count, rows), dtype)
        self.slots: FloatArray = np.zeros((count, len(slots), rows), dtype)
        marks: npt.NDArray[np.bool_] = np.zeros((3, count, rows), np.bool_)
        self.frozen, self._cleared, self._moved = marks
        self.state: FloatArray = np.zeros((count, len(like.state)))
        arrays = zip(
            self.value, self.grad, marks.swapaxes(0, 1), self.state, self.slots, strict=True
        )
        self.banks: list[Bank] = []
        for value, grad, row, state, block in arrays:
            bank = object.__new__(type(like))
            bank.dtype = like.dtype
            bank._begin(value, grad, row, state, {slots: block})
            self.banks.append(bank)

    def restart_counts(self, steps: npt.NDArray[np.int64]) -> None:
        """Set the number of steps taken by each network, the same for all its rows."""
        self._moved[:] = steps[:, np.newaxis] > 0
        self._cleared[:] = False
        for bank, count in zip(self.banks, steps.tolist(), strict=True):
            bank._step_count, bank.has_gradients = count, True


# ---- reading and writing ------------------------------------------------------------------------


def window(array: FloatArray, row: int) -> memoryview[float]:
    """Return a memoryview of the number at `row`; `view[()]` reads or writes the number.

    Python reads floats from a memoryview several times faster than from a numpy array.
    """
    code: Literal["f", "d"] = "f" if array.dtype == np.float32 else "d"
    return array.data[row : row + 1].cast("B").cast(code, shape=())


def row_numbers(part: Part) -> Sequence[int]:
    """Return the bank rows of a part of a network, as a sequence of indices."""
    rows, every = part.rows, range(len(part.bank))
    return every[rows] if isinstance(rows, slice) else rows.tolist()


def fitting(name: str, array: npt.NDArray[Any], numbers: object) -> npt.NDArray[Any]:
    """Return `numbers` as an array of one finite number per row; errors call it `name`."""
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
            f"bank.{name} takes finite numbers of {array.dtype}, and row {row} of the new values "
            f"is {np.asarray(numbers)[row]}: nothing was changed"
        )
    return found


def number_on(bank: Bank, value: object, what: str) -> float:
    """Return `value` as a float; raise InputError unless it is finite in the dtype of `bank`.

    `what` names the value in the error.
    """
    found = number(value, what)
    if bank.dtype == "float32" and abs(found) >= FLOAT32_ENDS:
        raise InputError(
            f"{what} must be a number within float32, whose limit is 3.4e+38, not "
            f"{shorten(value)}: use a smaller one, or dtype='float64'"
        )
    return found


# ---- numbers that are not finite ----------------------------------------------------------------


def first_not_finite(arrays: Sequence[FloatArray]) -> tuple[int, int] | None:
    """Return (array, index) of the first number that is not finite, or None.

    At the same index, slots are reported before values, which are computed from slots.
    """
    bad = [np.flatnonzero(~np.isfinite(array)) for array in arrays]
    places = [(int(found[0]), i == 0, i) for i, found in enumerate(bad) if len(found)]
    if not places:
        return None
    place, _, array = min(places)
    return array, place


def written_error(bank: Bank) -> GradientError | None:
    """Return the error for weights that are not finite before a step, or None.

    A step never causes this: such numbers were written into the array by other code.
    """
    found = first_not_finite([bank.value])
    if found is None:
        return None
    row = found[1]
    return GradientError(
        f"{bank.name_of(row)} is {bank.value[row]}, so no step can be taken; it was written into "
        f"the array from outside: write a finite number there, such as net.bank.value[{row}] = 0.0"
    )


def find_bad(bank: Bank, optimizer: Optimizer, rows: Rows = slice(None)) -> int:
    """Return the first non-frozen row with a gradient that `optimizer` rejects, or NONE."""
    if optimizer.not_finite != "error":
        return NONE
    bad = ~np.isfinite(bank.grad[rows]) & ~bank.frozen[rows]
    return int(np.arange(len(bank))[rows][bad][0]) if bad.any() else NONE


def bad_gradient(bank: Bank, row: int) -> GradientError:
    """Return the error for a non-finite gradient at `row`, which says how to fix it."""
    return written_error(bank) or GradientError(
        f"the gradient of {bank.name_of(row)} is {bank.grad[row]}, so nothing was changed: "
        "lower the learning rate, clip with clip_norm=, or count such gradients as 0 with "
        'not_finite="zero"'
    )


def bad_update(bank: Bank, optimizer: Optimizer, step: int) -> UpdateError:
    """Return the error for a `step`, counted from 0, that made weights or slots non-finite.

    `optimizer` is the optimizer that took the step.
    """
    arrays = bank.value, *bank.slot_block(optimizer.row.slots)
    moved = [np.where(bank.frozen, 0, array) for array in arrays]
    return not_taken(bank, moved, np.arange(len(bank)), optimizer, step)


def not_taken(
    bank: Bank, moved: Sequence[FloatArray], rows: Rows, optimizer: Optimizer, step: int
) -> UpdateError:
    """Return the error that names the first number made infinite by a step.

    `moved` holds the values and slots of `rows` after the step.
    """
    found = first_not_finite(moved)
    assert found is not None, "only a step that overflowed is asked about"
    array, place = found
    row = int(np.arange(len(bank))[rows][place])
    what = ("", *[f"{name} of " for name in optimizer.row.slots])[array]
    return UpdateError(
        step,
        f"{what}{bank.name_of(row)} {float(moved[array][place])}, so it was not taken: lower the "
        f"learning rate (it is {optimizer.rate_of(row, step):g}), l1 or l2, clip with clip_norm=, "
        "or scale the data down",
    )


# ---- copies and fresh starts --------------------------------------------------------------------


def copy_arrays(bank: Bank, other: Bank) -> None:
    """Copy all numbers from `other`, a bank of equal size; raise InputError for an overflow."""
    with np.errstate(over="ignore"):
        value, grad = other.value.astype(bank.dtype), other.grad.astype(bank.dtype)
    lost = np.isfinite(other.value) & ~np.isfinite(value)
    if lost.any():
        row = int(np.flatnonzero(lost)[0])
        number_on(bank, other.value[row].item(), f"the value of {other.name_of(row)}")
    bank.value[:], bank.grad[:] = value, grad
    bank.frozen[:] = other.frozen
    bank.state[:] = other.state
    bank.has_gradients = other.has_gradients
    bank.step_count, bank.moved[:] = other.step_count, other.moved
    for names in {*bank.blocks, *other.blocks}:
        bank.slot_block(names)[:] = other.slot_block(names)


def is_like(bank: Bank, new: Bank) -> bool:
    """Return whether a bank has taken no step and has the same numbers as the bank `new`."""
    own = len(bank.scaling)
    pairs = (
        (bank.value, new.value),
        (bank.frozen, new.frozen),
        (bank.state[own:], new.state[own:]),
    )
    is_new = not (bank.grad.any() or bank.step_count)
    return is_new and all(np.array_equal(*pair) for pair in pairs)


def restart(bank: Bank, precision: Precision) -> None:
    """Reset everything except the values, as before a first step with this `precision`."""
    bank.grad[:] = 0.0
    restart_optimizer(bank)
    start_scaling(bank, precision)
    bank.has_gradients = False


def block_name(names: tuple[str, ...]) -> str:
    """Return the name under which an optimizer's slots are stored."""
    return " ".join(("slots", *names))


def restart_optimizer(bank: Bank) -> None:
    """Set all optimizer slots and the number of steps taken to 0."""
    for block in bank.blocks.values():
        block[:] = 0.0
    bank.restart_count(0)


def start_scaling(bank: Bank, precision: Precision) -> None:
    """Reset the `scaling` of a bank to the loss scale of a `precision`."""
    bank.scaling[:] = [precision.loss_scale if precision.mixed else 1.0, 0.0, 0.0]


class Wall(NamedTuple):
    """Position of a named array in the bank: its first row and its shape."""

    first: int
    shape: tuple[int, ...]

    def of(self, numbers: FloatArray) -> FloatArray:
        """Return a view of this array's part of `numbers`, which has one number per bank row."""
        return numbers[self.first : self.first + prod(self.shape)].reshape(self.shape)
