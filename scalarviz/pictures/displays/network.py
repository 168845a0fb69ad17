"""Display of a Network: columns of discs for neurons, and a line for each weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.model.operations import NONE, Operation, Shape
from scalarviz.pictures.displays.page import never_raises, table
from scalarviz.pictures.displays.svg import (
    LOOK,
    SMALL,
    SvgDrawing,
    escaped,
    image,
    shorten,
    width_of,
)
from scalarviz.pictures.draw2d.colors import spread

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network

MOST = 12  # most discs of a layer; of a larger layer, the first and the last are drawn
FIRST, LAST = 5, 4
RADIUS = 8.5
STEPS = (
    (3, 52.0),
    (6, 38.0),
    (MOST, 28.0),
)  # distance of discs, by the number of discs in a column
BETWEEN = 150.0  # between columns; less if there are many
ROOM = 900.0  # wanted width in pixels
CLOSEST = 84.0
BELOW, ABOVE = LOOK.map.negative, LOOK.map.positive  # the hues for numbers below and above 0
ZERO = LOOK.map.zero
NOT_A_NUMBER_COLOR = "#ff00ff"
THIN, THICK = 0.35, 3.4
FAINTEST = 0.25


@dataclass(frozen=True)
class Column:
    """The neurons of a layer, or its feature maps: which are drawn, and where.

    shape  (channels, height, width) of feature maps, of which there are `size`
    """

    x: float
    size: int
    words: tuple[str, ...]
    shape: Shape
    step: float
    top: float = 0.0

    @property
    def count(self) -> str:
        """Number of neurons, or shape."""
        return "×".join(map(str, self.shape)) if self.shape else f"{self.size:,}"

    @property
    def shown(self) -> list[int]:
        """Indices of those that are drawn."""
        if self.size <= MOST:
            return list(range(self.size))
        return [*range(FIRST), *range(self.size - LAST, self.size)]

    def y(self, neuron: int) -> float:
        """Return the y of a neuron that is drawn."""
        place = neuron
        if self.size > MOST and neuron >= FIRST:
            place = neuron - self.size + FIRST + LAST + 1  # one place is left for the ellipsis
        return self.top + self.step * place

    @property
    def height(self) -> float:
        return self.step * (self.size - 1 if self.size <= MOST else FIRST + LAST)


@never_raises
def network_html(network: Network) -> str:
    """Return a network's drawing, and the table of its layers."""
    sizes = " → ".join(f"{n:,}" for n in (network.inputs, *[x.outputs for x in network.layers]))
    count = plural("counts.parameters", len(network.bank))
    kinds = {"type": network.dtype, "engine": network.engine}
    about = text("displays.network.about", sizes=sizes, count=count, **kinds)
    drawing = draw(network)
    layers = "; ".join(map(layer_words, network.layers))
    words = text("displays.network.alt", about=about, layers=layers)
    head = f"<div><b>Network</b> {escaped(about)}</div>"
    return f"{head}{image(drawing, words)}{table(lines(network))}"


def layer_words(layer: object) -> str:
    return f"{layer}, {getattr(layer, 'activation', '')}".replace("->", text("displays.network.to"))


def lines(network: Network) -> list[tuple[str, ...]]:
    """Return the table of a network's layers."""
    columns = ("layer", "kind", "shape", "activation", "parameters")
    found: list[tuple[str, ...]] = [tuple(text(f"displays.column.{name}") for name in columns)]
    for i, layer in enumerate(network.layers):
        again = network.layers.index(layer)
        count = f"{layer.size:,}"
        if again != i:
            count = text("displays.network.shared", layer=again)
        shape = f"{layer.inputs:,} → {layer.outputs:,}"
        found.append((str(i), type(layer).__name__, shape, layer.activation, count))
    return found


def draw(network: Network) -> SvgDrawing:
    """Draw columns of discs, and lines for the weights between them."""
    values = network.bank.value.astype(float)
    columns = columns_of(network)
    drawing = SvgDrawing()
    for i, (before, after) in enumerate(pairwise(columns)):
        operations = [each for each in network.program.operations if each.layer == i]
        connect(drawing, before, after, operations, values)
    for column in columns:
        for neuron in column.shown:
            station(drawing, column, neuron, LOOK.ground)
        if column.size > MOST:
            middle = (column.y(FIRST - 1) + column.y(column.size - LAST)) / 2
            drawing.rect(column.x - 7, middle - 13, 14, 26, LOOK.ground)
            for dy in (-7, 0, 7):
                drawing.circle(column.x, middle + dy, 1.7, LOOK.ink)
    bottom = max(column.top + column.height for column in columns) + RADIUS
    for column in columns:
        drawing.text(column.x, bottom + 24, column.count, bold=True, anchor="middle")
        for i, word in enumerate(column.words):
            y = bottom + 41 + 15 * i
            drawing.text(column.x, y, word, SMALL, color=LOOK.quiet, anchor="middle")
    if len(values):
        legend(drawing, drawing.bottom + 22)
    return drawing


def station(drawing: SvgDrawing, column: Column, neuron: int, fill: str) -> None:
    """Draw a disc for a neuron, or a square for a feature map."""
    x, y = column.x, column.y(neuron)
    if column.shape:
        box = x - RADIUS, y - RADIUS, 2.0 * RADIUS, 2.0 * RADIUS
        drawing.rect(*box, fill, rim=LOOK.ink, radius=2.0, kind="picture")
    else:
        drawing.circle(x, y, RADIUS, fill, rim=LOOK.ink, thick=1.3, kind="neuron")


def legend(drawing: SvgDrawing, y: float) -> None:
    """Draw the legend of the lines."""
    x = 0.0
    below, above = text("displays.network.below"), text("displays.network.above")
    for color, words in ((BELOW, below), (ABOVE, above)):
        drawing.path(f"M{x:.1f} {y - 4:.1f}h22", color, thick=THICK)
        drawing.text(x + 30, y, words, SMALL, color=LOOK.quiet)
        x += 44 + width_of(words, SMALL)
    drawing.text(0, y + 17, text("displays.network.thick"), SMALL, color=LOOK.quiet)


def columns_of(network: Network) -> list[Column]:
    """Return a column for the inputs, and one for each layer."""
    shape = network.program.inputs.shape
    told: list[tuple[int, tuple[str, ...], Shape]] = [
        (shape[0] if shape else network.inputs, (text("exhibits.inputs"),), shape)
    ]
    for layer in network.layers:
        name = shorten(type(layer).__name__, 22)
        activation = [layer.activation] if layer.activation != "linear" else []
        shape = layer.output_shape
        told.append((shape[0] if shape else layer.outputs, (name, *activation), shape))
    widest = max(width_of(word, SMALL) for _, words, _ in told for word in words)
    between = min(BETWEEN, ROOM / max(1, len(told) - 1))
    between = max(between, CLOSEST, widest + 14)
    edge = max(RADIUS, max(width_of(word, SMALL) for word in told[0][1]) / 2)
    most = min(MOST, max(size for size, *_ in told))
    step = next(step for count, step in STEPS if most <= count)
    columns = [Column(edge + between * i, *each, step) for i, each in enumerate(told)]
    middle = max(column.height for column in columns) / 2 + RADIUS
    return [replace(column, top=middle - column.height / 2) for column in columns]


def connect(
    drawing: SvgDrawing,
    before: Column,
    after: Column,
    operations: list[Operation],
    values: FloatArray,
) -> None:
    """Draw a layer between its input column and its own.

    A line is a weight; a band shows any other dependency of the two columns.
    """
    weighted = [each for each in operations if each.weights != NONE]
    sizes = [(each.source.size, each.target.size) for each in weighted]
    if len(weighted) > 1 or any(size != (before.size, after.size) for size in sizes):
        weighted = []  # a layer of several weighted operations
    if any(each.outputs_per_bias > 1 for each in weighted):
        weighted = []  # a weight stands for many connections
    if not weighted or any(
        each.weights == NONE and each.kind != "activation" for each in operations
    ):
        band(drawing, before, after)
    for operation in weighted:
        weights = []
        is_matrix = len(operation.shape) > 1
        count = prod(operation.shape)
        largest = spread(values[operation.weights : operation.weights + count], 100.0)
        for i in after.shown:
            for j in before.shown if is_matrix else [i]:
                row = operation.weights + (i * before.size + j if is_matrix else i)
                weights.append((float(values[row]) / largest, j, i))
        weights.sort(key=drawn_when)
        for share, j, i in weights:
            line(drawing, (before.x, before.y(j)), (after.x, after.y(i)), share)


def drawn_when(weight: tuple[float, int, int]) -> tuple[float, int, int]:
    """Sort key: large weights are drawn last, on top."""
    share, j, i = weight
    return (abs(share) if share == share else np.inf), j, i


def band(drawing: SvgDrawing, before: Column, after: Column) -> None:
    """Draw a band between two columns that depend on each other by more than weights."""
    (x, a, b), (y, c, d) = [
        (column.x, column.top - RADIUS, column.top + column.height + RADIUS)
        for column in (before, after)
    ]
    way = f"M{x:.1f} {a:.1f}L{y:.1f} {c:.1f}L{y:.1f} {d:.1f}L{x:.1f} {b:.1f}z"
    drawing.path(way, fill=LOOK.rim, opacity=0.6, kind="band")


def line(
    drawing: SvgDrawing, start: tuple[float, float], end: tuple[float, float], share: float
) -> None:
    """Draw a weight: hue shows its sign, thickness and opacity its size.

    `share` is relative to the largest weight; NaN has a color outside every map.
    """
    color, size = NOT_A_NUMBER_COLOR, 1.0
    if share == share:
        color, size = ABOVE if share > 0 else BELOW if share < 0 else ZERO, min(1.0, abs(share))
    drawing.path(
        f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}",
        color,
        thick=THIN + (THICK - THIN) * size,
        opacity=round(FAINTEST + (1 - FAINTEST) * size, 3),
        kind="weight",
    )
