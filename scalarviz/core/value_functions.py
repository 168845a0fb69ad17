"""Functions of Values: where, maximum, minimum and lookup; `name` names parts of a computation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from scalarviz.base.checks import answered, require, shorten
from scalarviz.core import value_graph
from scalarviz.core.value import Operand, Value
from scalarviz.errors import InputError


@answered
def where(condition: Operand, x: Operand, y: Operand) -> Value:
    """Return `x` if `condition` is not 0, otherwise `y`; only the returned one gets a gradient."""
    return Value.where(condition, x, y)


@answered
def maximum(x: Operand, y: Operand) -> Value:
    """Return the larger of `x` and `y`; if they are equal, each gets half of the gradient."""
    return Value.maximum(x, y)


@answered
def minimum(x: Operand, y: Operand) -> Value:
    """Return the smaller of `x` and `y`; if they are equal, each gets half of the gradient."""
    return Value.minimum(x, y)


@answered
def lookup(rows: Sequence[Any], index: Operand) -> Any:
    """Return the row at `index`; only this row receives a gradient.

    Args:
        rows: Values, or lists of Values of equal length, such as the rows of a matrix
        index: an integer, 0 for the first row. In compiled functions it can be an input, evaluated
            at each call and clipped to the valid range

    Raises:
        InputError: if the index is invalid, or lists have different lengths.
    """
    widths = {len(row) if isinstance(row, (list, tuple)) else 0 for row in rows}
    require(len(widths) == 1, f"lookup takes rows of one length, not {sorted(widths)}")
    if not isinstance(index, Value) or not index._is_recorded:
        number = index.data if isinstance(index, Value) else index
        if number not in range(len(rows)):
            last = len(rows) - 1
            raise InputError(
                f"an index of {last + 1:,} rows is from 0 to {last}, not {shorten(index)}"
            )
        return rows[int(number)]
    is_later = [index >= i for i in range(1, len(rows))]

    def chosen(column: Sequence[Any]) -> Any:
        found = column[0]
        for condition, value in zip(is_later, column[1:], strict=True):
            found = where(condition, value, found)
        return found

    return chosen(rows) if widths == {0} else [chosen(each) for each in zip(*rows, strict=True)]


# A named part of a graph of Values, such as a neuron, is one node in pictures.


@contextmanager
def name(words: str) -> Iterator[None]:
    """Name the computation in a `with` block: results that it does not use itself get this label.

    Pictures of more than 40 operations show the block as one node, including functions such as relu
    and values used only within it. In nested blocks the innermost name applies.

    Args:
        words: the name, such as "neuron 3"

    Raises:
        InputError: unless `words` is a non-empty string.
    """
    if not isinstance(words, str) or not words.strip():
        raise InputError(f"a name is a string, such as 'neuron 3', not {shorten(words)}")
    made: list[Value] = []
    token = value_graph.block.set((words, made))
    value_graph.naming.append(words)
    try:
        yield
    finally:
        value_graph.naming.remove(words)
        with suppress(ValueError):  # a generator that ends in another context
            value_graph.block.reset(token)
    used = {id(x) for value in made for x in value._inputs}
    for value in made:
        if id(value) not in used and not value.label:
            value.label = words
