"""ValueMethods: what a Value has besides operators and the chain rule."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from scalarviz.base.attributes import Absent
from scalarviz.base.leaf_calls import value_html
from scalarviz.core.autograd import copies as copies
from scalarviz.core.autograd import graph as graph
from scalarviz.core.autograd.plain_math import check_call
from scalarviz.core.autograd.scalar import Scalar
from scalarviz.core.formulas.table import Formula

if TYPE_CHECKING:
    from scalarviz.core.autograd.value import Value


def inputs(value: Value) -> set[Value]:
    """Return the inputs of the operation that made a Value."""
    return set(value._inputs)


def operation(value: Value) -> str:
    """Return the symbol or the name of the operation that made a Value."""
    return value._formula.symbol or value._formula.name


def chain_rule(value: Value) -> Callable[[], None]:
    """Return the function that passes the gradient of a Value on to its inputs."""
    return value._own_backward or value._pass_on


def set_chain_rule(value: Value, function: Callable[[], None]) -> None:
    """Make the operation of a Value the user's own, whose derivative is a `function`."""
    value._set_inputs(Formula(value._op, graph.unknown, ()), *value._inputs)
    value._own_backward = function


class ValueMethods(Scalar):
    """The base of Value: comparisons, copies, texts, and the attributes that micrograd has."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        value, gradient, requires_grad = Absent(), Absent(), Absent()

    if TYPE_CHECKING:
        data: float

    # As in PyTorch, comparisons are of data, and the hash is that of the object.
    __eq__ = graph.compare("equal", operator.eq)
    __ne__ = graph.compare("not_equal", operator.ne)
    __lt__ = graph.compare("less", operator.lt)
    __le__ = graph.compare("less_equal", operator.le)
    __gt__ = graph.compare("greater", operator.gt)
    __ge__ = graph.compare("greater_equal", operator.ge)
    __hash__ = object.__hash__
    __copy__ = copies.shallow
    __deepcopy__ = copies.deep
    __getstate__ = copies.state
    __reduce_ex__ = copies.reduce
    __str__ = graph.formula_text
    _repr_html_ = value_html

    def __float__(self) -> float:
        check_call(sys._getframe(1))
        return float(self.data)

    def item(self) -> float:
        """Return the number, `data`, as in PyTorch."""
        return self.data

    def to_dot(self) -> str:
        """Return the graph as DOT text for Graphviz: a box a Value, an oval an operation."""
        return graph.dot_text(self)  # type: ignore[arg-type]  # the only subclass is Value

    # Attributes of micrograd, used by its notebooks and graph drawings.
    _prev = property(inputs)
    _op = property(operation)
    _backward = property(chain_rule, set_chain_rule)

    if TYPE_CHECKING:  # written by `python -m tests.core.autograd.value_methods`
        # The rows of OPERATIONS without a symbol.
        maximum: Callable[..., Value]
        minimum: Callable[..., Value]
        where: Callable[..., Value]

        def abs(self) -> Value: ...
        def celu(self) -> Value: ...
        def cos(self) -> Value: ...
        def elu(self) -> Value: ...
        def erfc(self) -> Value: ...
        def exp(self) -> Value: ...
        def expm1(self) -> Value: ...
        def gelu(self) -> Value: ...
        def gelu_tanh(self) -> Value: ...
        def hard_sigmoid(self) -> Value: ...
        def hard_swish(self) -> Value: ...
        def hard_tanh(self) -> Value: ...
        def leaky_relu(self) -> Value: ...
        def linear(self) -> Value: ...
        def log(self) -> Value: ...
        def log1p(self) -> Value: ...
        def log_sigmoid(self) -> Value: ...
        def mish(self) -> Value: ...
        def relu(self) -> Value: ...
        def relu6(self) -> Value: ...
        def relu_right(self) -> Value: ...
        def selu(self) -> Value: ...
        def sigmoid(self) -> Value: ...
        def sin(self) -> Value: ...
        def softplus(self) -> Value: ...
        def softsign(self) -> Value: ...
        def sqrt(self) -> Value: ...
        def swish(self) -> Value: ...
        def tanh(self) -> Value: ...

        # End of the rows.
