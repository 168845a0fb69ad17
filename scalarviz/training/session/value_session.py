"""A session that minimizes a Value; its graph runs forward and backward node by node."""

from __future__ import annotations

from dataclasses import replace

from scalarviz.base.checks import require, shorten
from scalarviz.core.bank import DTYPES
from scalarviz.core.formulas.losses import Loss, LossRow
from scalarviz.core.optimizer import SGD
from scalarviz.core.trace import recorded_inputs, write_down
from scalarviz.core.value import Value
from scalarviz.core.value_graph import made_values
from scalarviz.engines.registry import choose_for_expression
from scalarviz.errors import InputError
from scalarviz.training.network.expression import Expression
from scalarviz.training.session.session import Session


def itself(p: float, t: float) -> float:
    return p


def one(p: float, t: float) -> float:
    return 1.0


VALUE = LossRow("value", itself, one, error="p", slope="1")
MOST_OPERATIONS = 200_000  # limits of the graph: recorded and computed within seconds
NOTHING = [[0.0]]  # a dummy input, and the target


def session_of(value: Value) -> Session:
    """Return a session whose loss is a Value; each step changes the leaves to reduce it.

    The session uses copies of the leaves, with the same numbers and labels; the Value and its graph
    are not changed. Raises InputError for a leaf, or for a graph that is too large.
    """
    check_graph(value)
    trace = write_down(recorded_inputs(1), [value])
    require(
        len(trace.operations),
        f"{shorten(value)} has no graph, since no operation made it: show a Value computed from it",
    )
    require(
        trace.parameters,
        f"{shorten(value)} is computed only from plain numbers, which training cannot change: "
        "make one of them a Value",
    )
    leaves = [Value(float(x.data), label=x.label) for x in trace.parameters]
    name, trace = value.label or "value", replace(trace, parameters=leaves)
    function = Expression(name, trace, DTYPES["float64"], choose_for_expression("python"), {})
    return Session(function, (NOTHING, NOTHING), Loss(VALUE), SGD(0.01), engine="python")


def check_graph(value: Value) -> None:
    """Raise InputError if the graph is too large or has a cycle."""
    made = made_values(value)
    require(
        len(made) <= MOST_OPERATIONS,
        f"a graph that is shown has at most {MOST_OPERATIONS:,} operations, and this one has "
        f"{len(made):,}: show a part of it, or sv.compile the function that makes it",
    )
    places = {id(each): i for i, each in enumerate(made)}
    for i, each in enumerate(made):
        if any(places.get(id(x), -1) >= i for x in each._inputs):
            raise InputError(
                f"the graph of {shorten(value)} leads in a circle, since {shorten(each)} is "
                "computed from itself: create a new Value in each iteration"
            )
