"""`backward(create_graph=True)`: gradients that are Values, with a `backward` of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scalarviz.core.autograd.copies import is_expression
from scalarviz.core.autograd.graph import made_values
from scalarviz.core.formulas.arithmetic import no_gradient, one
from scalarviz.core.formulas.retarget import Target
from scalarviz.errors import InputError

if TYPE_CHECKING:
    from scalarviz.core.autograd.value import Value


def backward_as_values(root: Value, start: Value, on_values: Target) -> None:
    """Do `backward` of a Value with expressions as gradients, its own being `start`.

    `on_values` runs the formulas of partial derivatives on Values.
    """
    made = made_values(root)
    refuse_own(made)
    for value in made:
        value.grad = 0.0
    root.grad = total(root.grad, start)
    for value in reversed(made):
        inputs = value._inputs
        for x, partial in zip(inputs, value._formula.partials, strict=True):
            if partial is not no_gradient:
                slope = on_values.retarget(partial)(*inputs, value)
                x.grad = total(x.grad, value.grad if partial is one else value.grad * slope)


def total(gradient: Any, more: Value) -> Value:
    """Return the sum of two gradients, where the first may be the initial 0."""
    return gradient + more if is_expression(gradient) or gradient != 0 else more


def refuse_own(made: list[Value]) -> None:
    """Raise InputError if a derivative cannot be an expression, before any gradient is changed."""
    for value in made:
        if not all(x._takes_values for x in value._inputs):
            raise InputError(
                "the gradient of a Weight is a number in its bank and cannot be an expression: "
                "leave out create_graph, or use Value(w.value) in its place"
            )
        if not value._formula.partials:
            raise InputError(
                f"the derivative of your own operation {value._op!r} is not known as an expression:"
                " leave out create_graph, or make it of the operations that Value has"
            )
