"""The names of inputs, outputs and classes as they are shown: with all letters visible.

They come from tables and files. Whatever shows them takes them from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.data import DataSet


def input_names(data: DataSet) -> Sequence[str]:
    """Return the names of the inputs; none, or one each."""
    return [visible(str(name)) for name in data.input_names]


def output_names(data: DataSet) -> Sequence[str]:
    """Return the names of the outputs, or of the classes; none, or one each."""
    return [visible(str(name)) for name in data.output_names]


def class_names(data: DataSet, count: int) -> list[str]:
    """Return the names of so many classes, numbered ones where the outputs have no names."""
    names = output_names(data)
    if len(names) == count:
        return [*names]
    return [text("exhibits.plane.class", number=i) for i in range(count)]


def axis_names(data: DataSet) -> list[str]:
    """Return the names of all inputs: x1, x2 and so on, or x alone, for those without a name."""
    names = input_names(data)
    numbered = [text("exhibits.axis.input", number=i + 1) for i in range(data.inputs)]
    if data.inputs == 1:
        numbered = [text("exhibits.axis.only_input")]
    return [*names, *numbered[len(names) :]]
