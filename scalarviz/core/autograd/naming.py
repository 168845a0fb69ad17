"""name: a part of a graph of Values, such as a neuron, that pictures show as one node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from scalarviz.base.checks import shorten
from scalarviz.core.autograd import graph
from scalarviz.core.autograd.value import Value
from scalarviz.errors import InputError


@contextmanager
def name(words: str) -> Iterator[None]:
    """Name what the block computes: results that it does not use itself get this label.

    A picture of more than 40 operations shows those of the block as one node, with functions such
    as relu and all that is used in it alone. Of blocks in blocks, the innermost counts.

    words  the name, such as "neuron 3"

    Raises InputError for what is no text, or an empty one.
    """
    if not isinstance(words, str) or not words.strip():
        raise InputError(f"a name is a text, such as 'neuron 3', not {shorten(words)}")
    made: list[Value] = []
    token = graph.block.set((words, made))
    graph.naming.append(words)
    try:
        yield
    finally:
        graph.naming.remove(words)
        with suppress(ValueError):  # a generator that ends elsewhere than it began
            graph.block.reset(token)
    used = {id(x) for value in made for x in value._inputs}
    for value in made:
        if id(value) not in used and not value.label:
            value.label = words
