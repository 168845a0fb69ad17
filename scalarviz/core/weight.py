"""Part: a part of a network, stored in rows of its bank. Weight: a part with a single row.

A `Weight` stores no number: it reads and writes its row. A stack holds the inputs of unmatched
forwards.
"""

from __future__ import annotations

import operator
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from scalarviz.base.checks import answered, shorten
from scalarviz.base.leaf_calls import weight_html
from scalarviz.core.bank import Bank, Rows
from scalarviz.core.bank_arrays import number_on, window
from scalarviz.core.bank_values import WeightValue, in_expression, reflected
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.value import Value
from scalarviz.errors import InputError, OrderError


class Part(metaclass=ABCMeta):
    """Base class of weights, perceptrons, layers and networks: some `rows` of a `bank`.

    It has the methods `zero_grad` and `step`; subclasses add `forward` and `backward`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def bank(self) -> Bank:
        """The bank that holds the parameters."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """Bank rows of this part."""

    @final
    def zero_grad(self) -> None:
        """Set the gradients to 0; unmatched forwards are kept."""
        self.bank.zero_grad(self.rows)

    @final
    def step(self, optimizer: Optimizer | str | None = None) -> None:
        """Take a step with `optimizer`, by default SGD(0.01); frozen parameters are unchanged.

        Raises OrderError without gradients, GradientError if a gradient is not finite, UpdateError
        if a result is not finite; in each case nothing is changed.
        """
        self._step(Optimizer.of(optimizer).on(self._rows_named))

    def _step(self, optimizer: Optimizer) -> None:
        """Take the step; subclasses may override this with a faster method."""
        self.bank.step(optimizer, self.rows)

    @final
    def freeze(self, on: bool | str | Sequence[str] = True) -> None:
        """Freeze these parameters, so that steps do not change them; `on=False` unfreezes them.

        Args:
            on: True (default) or False; for a network also the parameters to freeze: a name such as
                "0.weight", a prefix such as "0", a pattern such as "*.bias", or a list of these

        Raises UnknownNameError if no parameter has a name, InputError for other arguments.
        """
        if isinstance(on, (bool, np.bool_)):
            self._set_frozen(self.rows, bool(on))
        else:
            self._set_frozen(self._rows_named(on), True)

    @final
    def unfreeze(self, names: str | Sequence[str] | None = None) -> None:
        """Let steps change these parameters again.

        Args:
            names: parameters of a network, named as in `freeze`; None (default) means all
        """
        self._set_frozen(self.rows if names is None else self._rows_named(names), False)

    def _set_frozen(self, rows: Rows, on: bool) -> None:
        with self.bank.guard:
            self.bank.fetch()
            self.bank.frozen[rows] = on

    def _rows_named(self, names: str | Sequence[str]) -> Rows:
        """Return the rows of parameters by name; only networks, which override this, have names."""
        raise InputError(
            f"{type(self).__name__} has no parameters with names, such as {shorten(names)}: a "
            "network has some, as in net.freeze('0.weight'), and freeze() is for all of this"
        )

    @final
    @property
    def frozen(self) -> bool:
        """True if all parameters are frozen."""
        return bool(self.bank.frozen[self.rows].all())


@final
class Weight(Part):
    """A trainable number w with its gradient: y = w x.

    Its methods are all steps of backpropagation for one weight. `backward` multiplies the upstream
    gradient by the input of the matching forward, adds the product to `grad`, and returns w times
    the upstream gradient, which is the gradient with respect to the input.

    Args:
        value: initial number, finite
        dtype: "float64" (default) or "float32"

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

    @answered
    def __init__(self, value: float, *, dtype: str = "float64") -> None:
        bank = Bank(1, dtype)
        bank.value[0] = number_on(bank, value, "the value of a weight")
        bank.name_of = "the weight".format
        self._bind(bank, 0)

    @classmethod
    def on(cls, bank: Bank, index: int) -> Weight:
        """Return the weight on row `index` of an existing `bank`."""
        if not 0 <= index < len(bank):
            raise InputError(f"a bank of {len(bank)} rows has no row {index}")
        weight = cls.__new__(cls)
        weight._bind(bank, index)
        return weight

    def _bind(self, bank: Bank, index: int) -> None:
        self._bank = bank
        self.index = index
        self._value = window(bank.value, index)
        self._grad = window(bank.grad, index)
        self._inputs: list[float] = []  # one for each unmatched forward

    def forward(self, x: float) -> float:
        """Return w times the number `x`, and store x for `backward`."""
        try:
            result = self._value[()] * x
        except TypeError:
            raise InputError(f"{self.name} takes a number, not {x!r}") from None
        self._inputs.append(x)
        return result

    def backward(self, upstream: float) -> float:
        """Add `upstream` times the most recent unmatched x to `grad`; return `upstream` times w.

        Raises OrderError without an unmatched forward, InputError if `upstream` is not a number.
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

    def evaluate(self, x: float) -> float:
        """Return w times `x` without storing x; raise InputError unless x is a number."""
        try:
            result = self._value[()] * x
        except TypeError:
            raise InputError(f"{self.name} takes a number, not {x!r}") from None
        return result

    __call__ = evaluate

    def forget(self) -> None:
        """Drop all unmatched forwards."""
        self._inputs.clear()

    @property
    def bank(self) -> Bank:
        return self._bank

    @property
    def rows(self) -> slice:
        return slice(self.index, self.index + 1)

    @property
    def value(self) -> float:
        """The number; assigning a non-finite number raises InputError."""
        return self._value[()]

    @value.setter
    def value(self, value: float) -> None:
        checked = number_on(self._bank, value, f"the value of {self.name}")
        with self._bank.guard:
            self._bank.fetch()
            self._value[()] = checked

    @property
    def grad(self) -> float:
        """The gradient accumulated since the last `zero_grad`."""
        return self._grad[()]

    @grad.setter
    def grad(self, grad: float) -> None:
        self._grad[()] = number_on(self._bank, grad, f"the gradient of {self.name}")
        self.bank.has_gradients = True

    @property
    def name(self) -> str:
        """Name of the weight, such as "layer 1, perceptron 2, weight from input 0"."""
        return self.bank.name_of(self.index)

    @property
    def unmatched(self) -> int:
        """Number of unmatched forwards."""
        return len(self._inputs)

    # In an expression a weight is a leaf Value.

    def as_value(self) -> Value:
        """Return this weight as a leaf Value; its gradient is added to the bank."""
        return WeightValue(self)

    __add__ = in_expression(operator.add)
    __sub__ = in_expression(operator.sub)
    __mul__ = in_expression(operator.mul)
    __truediv__ = in_expression(operator.truediv)
    __pow__ = in_expression(operator.pow)
    __radd__ = reflected(operator.add)
    __rsub__ = reflected(operator.sub)
    __rmul__ = reflected(operator.mul)
    __rtruediv__ = reflected(operator.truediv)
    __rpow__ = reflected(operator.pow)

    def __neg__(self) -> Value:
        return -self.as_value()

    def __abs__(self) -> Value:
        return abs(self.as_value())

    def __float__(self) -> float:
        return self._value[()]

    def __int__(self) -> int:
        return int(self.value)

    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        """Format the number, as in f"{w:.3f}"; without a `spec`, return `str`."""
        return format(self.value, spec) if spec else str(self)

    def item(self) -> float:
        """Return the number, `value`, as in PyTorch."""
        return self.value

    def __reduce__(self) -> tuple[object, ...]:
        return Weight.on, (self._bank, self.index)  # the memoryviews cannot be pickled

    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"Weight({self.name}: value={self.value:.6g}, grad={self.grad:.6g}{frozen})"

    def _repr_html_(self) -> str:
        return weight_html(self)
