"""The Weight: a live object on one row of a bank, and what all parts of a network share.

A `Weight` holds no number of its own: it reads and writes its row. What it does keep, on a stack,
is each input that it saw in a forward and that no backward has matched yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, final, overload

from scalarviz.autograd.graph import LEAF
from scalarviz.autograd.value import Operand, Value
from scalarviz.checks.attributes import Absent
from scalarviz.checks.numbers import answered
from scalarviz.errors import InputError, OrderError
from scalarviz.leaf_calls import weight_html
from scalarviz.model.bank import Bank, Rows
from scalarviz.model.optimizer import Optimizer


class Part(ABC):
    """Something that stands on rows of a bank: a weight, a perceptron, a layer, a network.

    Two of the four verbs are alike for all of them, and are here; forward and backward are where
    they differ.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def bank(self) -> Bank:
        """The numbers this part stands on."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """Which rows of the bank are this part's."""

    @final
    def zero_grad(self) -> None:
        """Forget the gradients, but not what waits for its backward."""
        self.bank.zero_grad(self.rows)

    @final
    def step(self, optimizer: Optimizer | None = None) -> None:
        """Move against the gradients, by an `optimizer`; None, the default: SGD(0.01).

        Raises GradientError for a gradient, and UpdateError for a step, that is not finite.
        """
        self.bank.step(Optimizer.of(optimizer), self.rows)

    @final
    def freeze(self, on: bool = True) -> None:
        """Keep these parameters from stepping; with `on=False`, let them step again."""
        with self.bank.guard:
            self.bank.frozen[self.rows] = bool(on)

    @final
    def unfreeze(self) -> None:
        """Let these parameters step again."""
        self.freeze(False)

    @final
    @property
    def frozen(self) -> bool:
        """True if no step moves any of these parameters."""
        return bool(self.bank.frozen[self.rows].all())


@final
class Weight(Part):
    """One number that learns: y = w x, and its gradient.

    The four verbs are the whole of backpropagation, for one weight. `backward` multiplies the
    upstream gradient by the input it saw, adds that to `grad`, and hands w times the upstream
    gradient on to whatever the input came from.

    value  the initial number, finite
    dtype  "float64", the default, or "float32"

    >>> from scalarviz import SGD
    >>> w = Weight(0.5)
    >>> w.forward(3.0)
    1.5
    >>> w.backward(1.0)
    0.5
    >>> w.grad
    3.0
    >>> w.step(SGD(0.125))
    >>> w.value
    0.125

    In an expression a weight is a leaf like any other:

    >>> y = (w * 2.0 + 1.0) ** 2
    >>> w.zero_grad()
    >>> y.backward()
    >>> w.grad
    5.0
    """

    __slots__ = ("_bank", "_grad", "_inputs", "_value", "index")

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        item, numpy, detach = Absent(), Absent(), Absent()

    @answered
    def __init__(self, value: float, *, dtype: str = "float64") -> None:
        bank = Bank(1, dtype)
        bank.value[0] = bank.number(value, "the value of a weight")
        bank.name_of = "the weight".format
        self._bind(bank, 0)

    @classmethod
    def on(cls, bank: Bank, index: int) -> Weight:
        """The weight on row `index` of a `bank` that is there already."""
        if not 0 <= index < len(bank):
            raise InputError(f"a bank of {len(bank)} rows has no row {index}")
        weight = cls.__new__(cls)
        weight._bind(bank, index)
        return weight

    def _bind(self, bank: Bank, index: int) -> None:
        self._bank = bank
        self.index = index
        self._value = bank.window(bank.value, index)
        self._grad = bank.window(bank.grad, index)
        self._inputs: list[float] = []  # one for each forward that no backward has matched yet

    @property
    def bank(self) -> Bank:
        return self._bank

    @property
    def rows(self) -> slice:
        return slice(self.index, self.index + 1)

    @property
    def value(self) -> float:
        """The number itself."""
        return self._value[()]

    @value.setter
    def value(self, value: float) -> None:
        checked = self._bank.number(value, f"the value of {self.name}")
        with self._bank.guard:
            self._value[()] = checked

    @property
    def grad(self) -> float:
        """The gradient that has come together since the last zero_grad."""
        return self._grad[()]

    @grad.setter
    def grad(self, grad: float) -> None:
        self._grad[()] = self._bank.number(grad, f"the gradient of {self.name}")
        self.bank.has_gradients = True

    @property
    def name(self) -> str:
        """Where this weight is: "layer 1, perceptron 2, weight from input 0"."""
        return self.bank.name_of(self.index)

    @property
    def unmatched(self) -> int:
        """How many forwards no backward has matched yet."""
        return len(self._inputs)

    def __call__(self, x: float) -> float:
        """w x, with nothing kept for a backward."""
        return self.evaluate(x)

    def evaluate(self, x: float) -> float:
        """w times `x`, with nothing kept for a backward."""
        try:
            result = self._value[()] * x
        except TypeError:
            raise InputError(f"{self.name} takes a number, not {x!r}") from None
        return result

    def forward(self, x: float) -> float:
        """w times `x`, a float; x is kept until a backward."""
        try:
            result = self._value[()] * x
        except TypeError:
            raise InputError(f"{self.name} takes a number, not {x!r}") from None
        self._inputs.append(x)
        return result

    def backward(self, upstream: float) -> float:
        """Add `upstream` times the newest unmatched x to the gradient; return upstream times w.

        Raises OrderError if no forward waits for its backward.
        """
        try:
            x = self._inputs.pop()
        except IndexError:
            raise OrderError(
                f"backward of {self.name} without a forward: call forward first, once for each"
            ) from None
        try:
            self._grad[()] += upstream * x
        except (TypeError, OverflowError):
            self._inputs.append(x)
            raise InputError(f"backward of {self.name} takes a number, not {upstream!r}") from None
        self._bank.has_gradients = True
        return self._value[()] * upstream

    def as_value(self) -> Value:
        """This weight as a leaf of an expression of Values; its gradient lands in the bank."""
        return WeightValue(self)

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

    def __float__(self) -> float:
        return self.value

    def forget(self) -> None:
        """Drop the inputs that wait for a backward."""
        self._inputs.clear()

    def __reduce__(self) -> tuple[object, ...]:
        return Weight.on, (self._bank, self.index)  # a window on a number cannot be pickled

    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"Weight({self.name}: value={self.value:.6g}, grad={self.grad:.6g}{frozen})"

    def _repr_html_(self) -> str:
        return weight_html(self)


@final
class WeightValue(Value):
    """A leaf whose number and gradient are those of a weight."""

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
        # As in Weight.backward: a gradient that is not finite is named by the step.
        self.weight._grad[()] = grad
        if grad:
            self.weight.bank.has_gradients = True


@final
class Parameters(Sequence[Weight]):
    """All weights of a network, in the order of its bank; each is made when it is asked for."""

    def __init__(self, count: int, weight: Callable[[int], Weight]) -> None:
        self._count = count
        self._weight = weight

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> Weight: ...
    @overload
    def __getitem__(self, row: slice) -> list[Weight]: ...
    def __getitem__(self, row: int | slice) -> Weight | list[Weight]:
        rows = range(self._count)[row]
        if isinstance(rows, range):
            return [self._weight(i) for i in rows]
        return self._weight(rows)

    def __iter__(self) -> Iterator[Weight]:
        return map(self._weight, range(self._count))

    def __repr__(self) -> str:
        return f"Parameters({self._count} weights)"
