"""The check of a learner's Value: the operators that it has, in simple and composed expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from operator import methodcaller
from typing import Any

from scalarviz.base.texts import text
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.value import Value
from scalarviz.core.value_graph import made_values
from scalarviz.errors import InputError
from scalarviz.training.checking.moment import Moment, compared, shown

LEAVES = {"a": 0.5, "b": 3.0, "c": -2.0}
BINARY = (operator.add, operator.mul, operator.sub, operator.truediv)
UNARY = [row.name for row in OPERATIONS.values() if len(row.partials) == 1 and not row.symbol]
# Expressions with an operator f, and with g, which is * or else another one.
FORMS: list[Callable[..., Any]] = [
    lambda f, g, a, b, c: f(a, b),
    lambda f, g, a, b, c: f(a, a),
    lambda f, g, a, b, c: g(f(a, b), c),
    lambda f, g, a, b, c: g(f(a, b), f(a, b)),
    lambda f, g, a, b, c: (lambda d: g(g(d, c), d))(f(a, b)),  # d is used at once and later
    lambda f, g, a, b, c: (lambda d: g(d, g(d, c)))(f(a, b)),
]


def expressions(kind: type) -> Iterator[tuple[Any, ...]]:
    """Return a form, f and g for the operators that a class has, simple expressions first."""
    binary = [each for each in BINARY if hasattr(kind, f"__{each.__name__}__")]
    unary: list[Any] = [methodcaller(name) for name in UNARY if hasattr(kind, name)]
    unary += [operator.neg] * hasattr(kind, "__neg__")
    unary += [methodcaller("__pow__", 3)] * hasattr(kind, "__pow__")
    operators = [*binary, *[lambda a, b, f=f: f(a) for f in unary]]
    if not operators:
        raise InputError(f"{kind.__name__} has no operator yet: write one, as __mul__ or tanh")
    g = operator.mul if operator.mul in binary else [*binary, None][0]
    for form in FORMS if g else FORMS[:1]:
        yield from [(form, f, g) for f in operators]
        if form is FORMS[0] and hasattr(kind, "relu"):
            yield lambda f, g, a, b, c: c.relu(), None, None


def of_value(kind: type) -> Iterator[Moment]:
    """Compute each expression with Values of a learner's class, and with ours."""
    for form, f, g in expressions(kind):
        leaves = [Value(data, label=name) for name, data in LEAVES.items()]
        theirs = [kind(data) for data in LEAVES.values()]
        ours, mine = form(f, g, *leaves), form(f, g, *theirs)
        place = text("check.of", name="data", formula=ours)
        yield compared(
            place, getattr(mine, "data", mine), ours.data, "value_data", (), (ours, ours)
        )
        ours.backward()
        mine.backward()
        for leaf, other in zip(leaves, theirs, strict=True):
            yield of_gradient(other.grad, ours, leaf)


def of_gradient(got: Any, root: Value, leaf: Value) -> Moment:
    """Compare the gradient of a leaf, with the numbers that mistakes on its way give."""
    made = made_values(root)
    sources = [id(x) for node in made for x in node._inputs]
    terms = []  # of each use: gradient of the result, derivative, and wrong derivatives
    for node in made:
        inputs, y = [x._data for x in node._inputs], node._data
        for x, partial in zip(node._inputs, node._formula.partials, strict=True):
            if x is leaf:
                ends = [(inputs[0],) * 2, (y, y), (y, node._formula.value(*[y] * len(inputs)))]
                wrong = [partial(*end) for end in ends if len(inputs) == 1]
                terms.append((float(node.grad), partial(*inputs, y), wrong))
    mistakes = [
        *[("value_assigned", g * slope) for g, slope, _ in terms],
        *[("value_no_upstream", sum(slope for _, slope, _ in terms))],
        *[("value_no_derivative", sum(g for g, _, _ in terms))],
        *[("value_own_number", sum(g * leaf._data for g, _, _ in terms))],
        *[("value_sign", -leaf.grad), ("value_nothing", 0.0)],
        *[("value_wrong_place", g * slope) for g, _, wrong in terms for slope in wrong],
    ]
    is_shared = any(sources.count(id(node)) > 1 for node in made)
    place = text("check.of", name=f"{leaf.label}.grad", formula=root)
    told = " + ".join(f"{shown(float(g))} * {shown(float(slope))}" for g, slope, _ in terms)
    why = "value_order" if is_shared else "value_terms"
    known = () if is_shared else mistakes
    fields = {"name": leaf.label, "own": leaf.data, "terms": told}
    return compared(place, got, leaf.grad, why, known, (root, leaf), **fields)
