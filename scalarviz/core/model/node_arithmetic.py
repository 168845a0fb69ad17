"""The numbers within a node: what its operations compute, and the slopes of its result."""

from __future__ import annotations

from collections.abc import Mapping

from scalarviz.core.model.folding import Node
from scalarviz.core.model.trace import Trace


def numbers_within(trace: Trace, node: Node, taken: Mapping[int, float]) -> dict[int, float]:
    """Return the numbers of all values of a node, by place in the trace; `taken`, of its operands.

    What depends on an operand that is not known is missing.
    """
    found = {**dict(enumerate(trace.constants.tolist(), trace.inputs)), **taken}
    for i in node.members:
        places = trace.taken[i]
        if all(place in found for place in places):
            value = trace.formulas[i].value
            found[trace.first_made + i] = value(*(found[place] for place in places))
    return found


def slopes_of_node(
    trace: Trace, node: Node, numbers: Mapping[int, float]
) -> list[tuple[int, float]]:
    """Return what a node of one result takes, with the slope of the result in each.

    Of one operation in the order of its operands: one that is taken twice has two slopes.

    numbers  of all values of the node
    """
    first = trace.first_made
    if len(node.members) == 1:
        return slopes_of_operation(trace, node.root, numbers)
    found = {first + node.root: 1.0}
    for i in reversed(node.members):
        passed = found.pop(first + i)
        for place, slope in slopes_of_operation(trace, i, numbers):
            found[place] = found.get(place, 0.0) + slope * passed
    return sorted(found.items())


def slopes_of_operation(
    trace: Trace, operation: int, numbers: Mapping[int, float]
) -> list[tuple[int, float]]:
    """Return the operands that are no constants, each with the slope of the result in it."""
    places = trace.taken[operation]
    known = [*(numbers[place] for place in places), numbers[trace.first_made + operation]]
    partials = trace.formulas[operation].partials
    return [
        (place, float(partial(*known)))
        for place, partial in zip(places, partials, strict=True)
        if not trace.inputs <= place < trace.first_parameter
    ]
