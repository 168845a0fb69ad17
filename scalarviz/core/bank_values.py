"""Values stored on rows of a bank: weights in expressions, and parameters of `compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require, shorten
from scalarviz.base.messages import visible
from scalarviz.core.bank import Bank, Dtype
from scalarviz.core.bank_arrays import number_on
from scalarviz.core.value import Operand, Value
from scalarviz.core.value_graph import LEAF
from scalarviz.errors import InputError, OwnershipError

if TYPE_CHECKING:
    from scalarviz.core.weight import Weight


def in_expression(operate: Callable[..., Value]) -> Callable[[Weight, Operand], Value]:
    """Return a Weight method for an operator; its result is a Value with the weight as a leaf."""
    return lambda weight, other: operate(WeightValue(weight), other)


def reflected(operate: Callable[..., Value]) -> Callable[[Weight, Operand], Value]:
    """Return a Weight method for a reflected operator, such as `2 - w`."""
    return lambda weight, other: operate(other, WeightValue(weight))


@final
class WeightValue(Value):
    """A leaf Value that shares data and grad with a weight."""

    __slots__ = ("weight",)

    _takes_values = False

    def __init__(self, weight: Weight) -> None:
        self.weight = weight
        self._formula = LEAF
        self._x = self._y = None
        self.label = weight.name

    @property
    def data(self) -> float:
        return self.weight.value

    @data.setter
    def data(self, data: float) -> None:
        self.weight.value = data

    @property
    def grad(self) -> float:
        return self.weight.grad

    @grad.setter
    def grad(self, grad: float) -> None:
        # Not checked, as in Weight.backward: the step raises the error with the name of the weight.
        self.weight._grad[()] = grad
        if grad:
            self.weight.bank.has_gradients = True


# Parameters of compiled functions: numbers and gradients are stored in a bank, for kernels.

BankRows: TypeAlias = npt.NDArray[np.intp]


@final
class BankValue(Value):
    """A leaf Value whose number and gradient are stored on a row of a bank.

    `compile` changes the class of the leaves of a function to this one, so that `f.parameters` are
    the same objects as in the function, with all their attributes. If every Value looked up its
    number in a property, operations would be 25 % slower.
    """

    __slots__ = ()

    _takes_values = False
    _bank: Bank
    _row: int

    @property
    def data(self) -> float:
        return float(self._bank.value.item(self._row))

    @data.setter
    def data(self, data: float) -> None:
        checked = number_on(self._bank, data, f"the value of {self._bank.name_of(self._row)}")
        with self._bank.guard:
            self._bank.value[self._row] = checked

    @property
    def grad(self) -> float:
        return float(self._bank.grad.item(self._row))

    @grad.setter
    def grad(self, grad: float) -> None:
        self._bank.grad[self._row] = grad
        self._bank.has_gradients = True


def move_to_bank(leaves: Sequence[Value], dtype: Dtype) -> tuple[Bank, BankRows]:
    """Store the values of leaves in a bank; return the bank and the rows of the leaves.

    Leaves that were never compiled get a new bank. Leaves of an earlier expression, or of a
    network, remain in their bank, so that two expressions can share them (a model and its loss). A
    bank cannot grow, so mixing the two kinds raises OwnershipError.
    """
    known = {id(leaf): place_of(leaf) for leaf in leaves}
    places = [known[id(leaf)] for leaf in leaves]
    banks = {id(place and place[0]): place for place in places}
    require(
        len(banks) <= 1,
        "the parameters of a compiled function are in several banks, of an earlier expression or "
        "of a network: use parameters of only one bank, or first compile the function that uses "
        "all of them",
        OwnershipError,
    )
    first = places[0] if places else None
    if first is None:
        return new_bank(leaves, dtype), np.arange(len(leaves))
    bank = first[0]
    require(
        bank.dtype == dtype,
        f"the parameters of a compiled function are already {bank.dtype}, since they are in a "
        f"bank: pass dtype={bank.dtype!r}",
    )
    return bank, np.array([place[1] for place in places if place])


def place_of(leaf: Value) -> tuple[Bank, int] | None:
    """Return the bank and the row of a leaf, or None if it is not in a bank."""
    if isinstance(leaf, BankValue):
        return leaf._bank, leaf._row
    if isinstance(leaf, WeightValue):
        return leaf.weight.bank, leaf.weight.index
    if type(leaf) is Value:
        return None
    raise InputError(
        f"{shorten(leaf)} is of the type {type(leaf).__name__}, which a bank cannot hold: use a "
        "Value as a parameter"
    )


def new_bank(leaves: Sequence[Value], dtype: Dtype) -> Bank:
    """Move the numbers and gradients of leaves to a new bank, and return the bank."""
    for leaf in leaves:
        if isinstance(leaf.grad, Value):
            raise InputError(
                f"the gradient of {shorten(leaf)} is an expression, and in a bank it is a number: "
                "call zero_grad first"
            )
    bank = Bank(len(leaves), dtype)
    names = [visible(str(leaf.label)) or f"parameter {i}" for i, leaf in enumerate(leaves)]
    bank.name_of = names.__getitem__
    for row, leaf in enumerate(leaves):
        bank.value[row] = number_on(bank, leaf.data, f"the value of {bank.name_of(row)}")
    with np.errstate(over="ignore"):
        bank.grad[:] = [leaf.grad for leaf in leaves]
    bank.has_gradients = bool(bank.grad.any())
    for row, leaf in enumerate(leaves):
        vars(leaf).update(_bank=bank, _row=row)
        leaf.__class__ = BankValue
    return bank
