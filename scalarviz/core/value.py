"""Value: a scalar that records the operations that made it, for reverse-mode differentiation.

Code written for micrograd works with `from scalarviz import Value`. Operations and their
derivatives are rows of `OPERATIONS`; this module has the operators of Values and the chain rule.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from scalarviz.base.checks import answered
from scalarviz.base.leaf_calls import value_html
from scalarviz.core import value_graph as graph
from scalarviz.core.formulas.arithmetic import OPERATIONS, by_some, no_gradient, one
from scalarviz.core.formulas.formula import Formula, Target

Number: TypeAlias = float | np.generic
Operand: TypeAlias = Union["Value", Number]

_new, naming = object.__new__, graph.naming


def node(formula: Formula, data: float, x: Value | None, y: Value | None = None) -> Value:
    """Return the result of an operation with one or two inputs."""
    made = _new(Value)
    made._data = data
    made.grad = 0
    made._formula = formula
    made._x = x
    made._y = y
    return graph.enter(made) if naming and x is not None else made


def constant(number: Number) -> Value:
    """Return a leaf for a plain number in an expression: like `Value(number)`, but faster."""
    return node(graph.LEAF, graph.plain_number(number), None)


def unary(name: str) -> Callable[[Value], Value]:
    """Return the method for an operation with one input, given by name."""
    formula = OPERATIONS[name]
    function = formula.value

    def method(self: Value) -> Value:
        return node(formula, function(self._data), self)

    method.__name__, method.__doc__ = name, f"{name} of this Value, as a Value."
    return method


def binary(name: str) -> Callable[[Value, Operand], Value]:
    """Return the method for an operation with two inputs, of which the second may be a number."""
    of_values = OPERATIONS[name]
    function = of_values.value
    of_number = by_some(of_values, (True, False))

    def method(self: Value, other: Any) -> Value:
        formula = of_values
        if type(other) is not Value:
            if isinstance(other, Value):
                if other._is_recorded:  # Recorded has another reflected method
                    return NotImplemented  # type: ignore[no-any-return]  # Python's protocol
            elif graph.is_foreign(other):
                return NotImplemented  # type: ignore[no-any-return]  # Python's protocol
            else:
                formula, other = of_number, constant(other)
        # Inlined `node`: nearly all Values are made here.
        made = _new(Value)
        made._data = function(self._data, other._data)
        made.grad = 0
        made._formula = formula
        made._x = self
        made._y = other
        return graph.enter(made) if naming else made

    return method


def reflected(name: str) -> Callable[[Value, Number], Value]:
    """Return the reflected method for an operation with two inputs, such as `2 - v`."""
    of_number = by_some(OPERATIONS[name], (False, True))

    def method(self: Value, other: Number) -> Value:
        x = constant(other)
        return node(of_number, of_number.value(x._data, self._data), x, self)

    return method


def function(name: str) -> Callable[..., Value]:
    """Return the function for an operation with any number of inputs, Values or numbers."""
    row = OPERATIONS[name]

    def call(*operands: Operand) -> Value:
        """Return the result of an operation on `operands`, which are Values or numbers."""
        record = graph.recorder.get()
        if record is not None:
            return record(name, *operands)  # type: ignore[no-any-return]  # a recorded Value
        inputs = [x if isinstance(x, Value) else constant(x) for x in operands]
        made = constant(row.value(*[x._data for x in inputs]))
        made._set_inputs(by_some(row, [isinstance(x, Value) for x in operands]), *inputs)
        return graph.enter(made) if naming else made

    return call


class Value:
    """A scalar that records the operations that made it, and computes gradients with `backward`.

    Attributes:
        data: the number, a float or an int; can be set
        grad: derivative, with respect to this Value, of the Value whose `backward` was called. In a
            leaf (a Value made from a number) it accumulates until it is set to 0; in the result of
            an operation it is the derivative of the last `backward`
        label: name for printing; by default ""

    >>> x = Value(2.0, label="x")
    >>> y = x * x + 3
    >>> y.backward()
    >>> y.data, x.grad
    (7.0, 4.0)
    >>> print(y)
    x * x + 3

    Custom operations are made as in micrograd: `out = Value(data, (x,), "name")`, then
    `out._backward = function`; the function adds its derivative times `out.grad` to `x.grad`.

    Raises InputError if `data` is not a number.
    """

    __slots__ = ("__dict__", "__weakref__", "_data", "_formula", "_x", "_y", "grad")

    if TYPE_CHECKING:
        data: float
    grad: Any  # a number; after backward(create_graph=True) a Value
    _formula: Formula  # the operation that made it
    _x: Value | None  # the first input; None in a leaf
    _y: Value | None  # the second input of an operation with two

    # Defaults of attributes that few Values set.
    label: str = ""
    _name: str = ""  # name of the `sv.name` block that it was made in
    _others: tuple[Value, ...] = ()  # inputs after the first, unless there is exactly one, in _y
    _own_backward: Callable[[], None] | None = None
    _is_recorded = False  # whether it is part of a function being recorded by `sv.compile`
    _takes_values = True  # whether `grad` can be an expression

    @answered
    def __init__(
        self, data: Number, _children: Iterable[Value] = (), _op: str = "", label: str = ""
    ) -> None:
        self._data = graph.plain_number(data)
        self.grad = 0
        self._formula = graph.LEAF
        self._x = self._y = None
        if label:
            self.label = label
        if _children or _op:
            self._set_inputs(Formula(_op, graph.unknown, ()), *_children)

    def _set_inputs(self, formula: Formula, *inputs: Value) -> None:
        self._formula = formula
        self._x = inputs[0] if inputs else None
        self._y = None
        self._others = inputs[1:]

    __add__ = binary("add")
    __sub__ = binary("subtract")
    __mul__ = binary("multiply")
    __truediv__ = binary("divide")
    __pow__ = binary("power")
    __radd__ = reflected("add")
    __rsub__ = reflected("subtract")
    __rmul__ = reflected("multiply")
    __rtruediv__ = reflected("divide")
    __rpow__ = reflected("power")
    __neg__ = unary("negate")
    __abs__ = unary("abs")

    def backward(self, create_graph: bool = False) -> None:
        """Accumulate in every leaf the derivative of this Value with respect to the leaf.

        With `create_graph=True` each `.grad` is a Value, an expression with a `backward` method,
        which adds the second derivative to the first unless gradients are cleared in between:

        >>> x = Value(2.0, label="x")
        >>> y = x**3
        >>> y.backward(create_graph=True)
        >>> slope = x.grad
        >>> y.zero_grad()
        >>> slope.backward()
        >>> slope.data, x.grad
        (12.0, 12.0)

        Such gradients and the Values in their expressions refer to each other: the graph stays in
        memory until `y.zero_grad()` or the garbage collector frees it.
        """
        if create_graph:
            graph.backward_as_values(self, Value(1.0), ON_VALUES)
            return
        made = graph.made_values(self)
        for value in made:
            value.grad = 0.0
        self.grad += 1
        for value in reversed(made):
            x, y, grad = value._x, value._y, value.grad
            partials = value._formula.partials
            # Inlined `_pass_on`: nearly all Values have one or two inputs.
            if x is not None and y is not None:
                by_x, by_y = partials
                if by_x is one:
                    x.grad += grad
                elif by_x is not no_gradient:
                    x.grad += grad * by_x(x._data, y._data, value._data)
                if by_y is one:
                    y.grad += grad
                elif by_y is not no_gradient:
                    y.grad += grad * by_y(x._data, y._data, value._data)
            elif x is not None and len(partials) == 1:
                x.grad += grad * partials[0](x._data, value._data)
            else:
                value._backward()

    def _pass_on(self) -> None:
        """Chain rule: add grad times the partial derivative to the gradient of each input."""
        inputs = self._inputs
        numbers = [x._data for x in inputs]
        for x, partial in zip(inputs, self._formula.partials, strict=False):
            if partial is not no_gradient:
                x.grad += self.grad * partial(*numbers, self._data)

    def zero_grad(self) -> None:
        """Set the gradient to 0 in this Value and all its ancestors."""
        for value in graph.all_values(self):
            value.grad = 0

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={getattr(self.grad, 'data', self.grad)})"

    @property
    def _inputs(self) -> tuple[Value, ...]:
        if self._x is None:
            return ()
        return (self._x, *self._others) if self._y is None else (self._x, self._y)

    def __init_subclass__(cls) -> None:
        if "data" in vars(cls):  # numbers stored elsewhere: operations also use the property
            cls._data = vars(cls)["data"]

    # As in PyTorch, comparisons compare data, and the hash identifies the object.
    __eq__ = graph.compare("equal", operator.eq)
    __ne__ = graph.compare("not_equal", operator.ne)
    __lt__ = graph.compare("less", operator.lt)
    __le__ = graph.compare("less_equal", operator.le)
    __gt__ = graph.compare("greater", operator.gt)
    __ge__ = graph.compare("greater_equal", operator.ge)
    __hash__ = object.__hash__

    def __float__(self) -> float:
        graph.check_call(sys._getframe(1))
        return float(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __round__(self, digits: int | None = None) -> float:
        return round(self.data, digits)

    def __format__(self, spec: str) -> str:
        """Format the number, as in f"{v:.3f}"; without a `spec`, return `str`."""
        return format(self.data, spec) if spec else str(self)

    def item(self) -> float:
        """Return the number, `data`, as in PyTorch."""
        return self.data

    def to_dot(self) -> str:
        """Return the graph as DOT text for Graphviz: boxes for Values, ovals for operations."""
        return graph.dot_text(self)

    __str__ = graph.formula_text
    _repr_html_ = value_html
    __copy__ = graph.shallow
    __deepcopy__ = graph.deep
    __getstate__ = graph.state
    __reduce_ex__ = graph.reduce

    # Attributes of micrograd, used by its notebooks and graph drawings.

    @property
    def _prev(self) -> set[Value]:
        return set(self._inputs)

    @property
    def _op(self) -> str:
        return self._formula.symbol or self._formula.name

    @property
    def _backward(self) -> Callable[[], None]:
        return self._own_backward or self._pass_on

    @_backward.setter
    def _backward(self, function: Callable[[], None]) -> None:
        self._set_inputs(Formula(self._op, graph.unknown, ()), *self._inputs)
        self._own_backward = function

    if TYPE_CHECKING:  # written by `python -m tests.parity`
        # The rows of OPERATIONS without a symbol.
        maximum: Callable[..., Value]
        minimum: Callable[..., Value]
        where: Callable[..., Value]

        def abs(self) -> Value: ...

        celu = cos = elu = erfc = exp = expm1 = gelu = gelu_tanh = hard_sigmoid = abs
        hard_swish = hard_tanh = hardshrink = leaky_relu = linear = log = log1p = abs
        log_sigmoid = mish = relu = relu6 = relu_right = selu = sigmoid = sin = softplus = abs
        softshrink = softsign = sqrt = swish = tanh = abs
        # End of the rows.


if not TYPE_CHECKING:  # operations use the slot directly, which is faster
    Value.data = graph.checked(Value._data)

for _row in OPERATIONS.values():
    if not _row.symbol:  # rows with a symbol are Python operators
        _make = unary if len(_row.partials) == 1 else function
        setattr(Value, _row.name, _make(_row.name))

# Runs formulas on Values, for derivatives of derivatives.
ON_VALUES = Target({}, formulas={row.value: function(row.name) for row in OPERATIONS.values()})
