"""The legend: example cubes with their numbers, and the meaning of color, size and marks.

This module uses plain numbers and strings only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import text

if TYPE_CHECKING:
    from scalarviz.scene.frame_data import Buffers, CubeValues
    from scalarviz.scene.layout.plates import Neurons

PART_OF, ROUND = 0.43, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)  # fraction for the smaller ones


def five_of(cubes: CubeValues) -> list[float]:
    """Return the numbers of the five cubes of the legend: 0, and plus and minus two magnitudes."""
    scales = [float(each) for each in cubes.color_scales]
    top: float = cubes.common or (scales[0] if scales else 1.0)
    power: float = 10.0 ** math.floor(math.log10(PART_OF * top))
    part = max([each * power for each in ROUND if each * power <= PART_OF * top * 1.0001])
    return [-top, -part, 0.0, part, top]


def round_number(most: float) -> float:
    """Return the largest number of one digit, 1, 2 or 5, that is at most `most`."""
    power: float = 10.0 ** math.floor(math.log10(most))
    return max([each * power for each in (1.0, 2.0, 5.0) if each * power <= most * 1.0001])


def grown_words(cubes: CubeValues) -> str:
    """Return text about how the color scale has grown, or ""."""
    before, after = cubes.grown or (0.0, 0.0)
    return text("legend.grown", before=f"{before:g}", after=f"{after:g}") if cubes.grown else ""


def news_of(cubes: CubeValues) -> str:
    """Return text about the scale, or about the shown channel if it is not the value; or ""."""
    beyond = text("legend.only_beyond", count=cubes.clipped) if cubes.clipped else ""
    beyond = cubes.module or beyond
    is_usual = cubes.color == cubes.size == "value" and not cubes.per_layer
    return grown_words(cubes) or beyond or ("" if is_usual else words_of(cubes))


def words_of(cubes: CubeValues) -> str:
    """Return the meaning of colors and sizes, or text about a scale that has just grown."""
    color, other = cubes.color, cubes.size
    words = text("legend.cube", color=color) if color == other else ""
    words = words or text("legend.both", color=color, size=other)
    words = text("legend.per_layer", words=words) if cubes.per_layer else words
    words = text("legend.beyond", words=words, count=cubes.clipped) if cubes.clipped else words
    return grown_words(cubes) or words


def module_words(name: str) -> str:
    """Return which module's scale is shown, given the name of one of its numbers."""
    return text("legend.module", name=".".join(name.split("[")[0].split(".")[-4:]))


def extra_marks(cubes: CubeValues, buffers: Buffers) -> list[str]:
    """Return the names of the optional marks that the picture contains."""
    marks = {
        "striped": any(has_some(each) for each in buffers.saturated.values()),
        "crossed": any(has_some(each) for each in buffers.left_out.values()),
        "arrow": cubes.pushes is not None,
        "before": cubes.before is not None,
        "frozen": cubes.frozen is not None and has_some(cubes.frozen),
    }
    return [name for name, is_there in marks.items() if is_there]


def has_some(numbers: Iterable[float]) -> bool:
    return any(number > 0.0 for number in numbers)


def mark_rows(
    cubes: CubeValues, buffers: Buffers, lines: Sequence[Neurons]
) -> list[tuple[str, str]]:
    """Return the name and meaning of each mark in the picture; `lines` are its neurons."""
    neuron = "square" if any(line.square for line in lines) else "sphere"
    names: list[str] = ["cube", "line", neuron, "numbers", *extra_marks(cubes, buffers)]
    rows = [(text(f"marks.{name}.name"), text(f"marks.{name}.meaning")) for name in names]
    if cubes.clipped:
        rows.append((text("legend.only_beyond", count=cubes.clipped), text("marks.beyond.meaning")))
    if cubes.grown is not None:
        rows.append((grown_words(cubes), text("marks.grown.meaning")))
    return rows
