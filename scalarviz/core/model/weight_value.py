"""Weights in expressions: the operators of Weight, and the Value that one is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from scalarviz.core.autograd.graph import LEAF
from scalarviz.core.autograd.scalar import Scalar
from scalarviz.core.autograd.value import Operand, Value

if TYPE_CHECKING:
    from scalarviz.core.model.weight import Weight


class WeightExpressions(Scalar):
    """The operators of Weight: each makes a Value, in whose graph the weight is a leaf."""

    __slots__ = ()

    def as_value(self) -> Value:
        """Return this weight as a leaf Value; its gradient is added to the bank."""
        raise NotImplementedError

    def __add__(self, other: Operand) -> Value:
        return self.as_value() + other

    def __radd__(self, other: Operand) -> Value:
        return other + self.as_value()

    def __sub__(self, other: Operand) -> Value:
        return self.as_value() - other

    def __rsub__(self, other: Operand) -> Value:
        return other - self.as_value()

    def __mul__(self, other: Operand) -> Value:
        return self.as_value() * other

    def __rmul__(self, other: Operand) -> Value:
        return other * self.as_value()

    def __truediv__(self, other: Operand) -> Value:
        return self.as_value() / other

    def __rtruediv__(self, other: Operand) -> Value:
        return other / self.as_value()

    def __pow__(self, other: Operand) -> Value:
        return self.as_value() ** other

    def __rpow__(self, other: Operand) -> Value:
        return other ** self.as_value()

    def __neg__(self) -> Value:
        return -self.as_value()

    def __abs__(self) -> Value:
        return abs(self.as_value())


@final
class WeightValue(Value):
    """A leaf Value whose data and grad are those of a weight."""

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
