"""Functions of Values: where, maximum, minimum and lookup choose; `name` names what they make."""

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
    """Return `x` where `condition` is not 0, else `y`; the gradient goes to the chosen one."""
    return Value.where(condition, x, y)


@answered
def maximum(x: Operand, y: Operand) -> Value:
    """Return the larger of `x` and `y`; if equal, each gets half of the gradient."""
    return Value.maximum(x, y)


@answered
def minimum(x: Operand, y: Operand) -> Value:
    """Return the smaller of `x` and `y`; if equal, each gets half of the gradient."""
    return Value.minimum(x, y)


@answered
def lookup(rows: Sequence[Any], index: Operand) -> Any:
    """Return the row with an index; the gradient goes to that row alone.

    Args:
        rows: Values, or lists of Values that are equally long, such as the rows of a matrix
        index: an integer, 0 for the first row. The input of a function that is compiled chooses at
            each call: the first row for numbers below 0, the last one for numbers that are too
            large

    Raises:
        InputError: for any other index, and for lists of different lengths.
    """
    widths = {len(row) if isinstance(row, (list, tuple)) else 0 for row in rows}
    require(len(widths) == 1, f"lookup takes rows of one length, and here are {sorted(widths)}")
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
    """Name what the block computes: results that it does not use itself get this label.

    A picture of more than 40 operations shows those of the block as one node, with functions such
    as relu and all that is used in it alone. Of blocks in blocks, the innermost counts.

    Args:
        words: the name, such as "neuron 3"

    Raises:
        InputError: for what is no text, or an empty one.
    """
    if not isinstance(words, str) or not words.strip():
        raise InputError(f"a name is a text, such as 'neuron 3', not {shorten(words)}")
    made: list[Value] = []
    token = value_graph.block.set((words, made))
    value_graph.naming.append(words)
    try:
        yield
    finally:
        value_graph.naming.remove(words)
        with suppress(ValueError):  # a generator that ends elsewhere than it began
            value_graph.block.reset(token)
    used = {id(x) for value in made for x in value._inputs}
    for value in made:
        if id(value) not in used and not value.label:
            value.label = words
