"""Display of a Layer: its parameters as colored cells, one row per perceptron.

It draws the operations that the layer lowers to, so that user-defined layers work, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.displays.cells import Scale, cell, legend, pixels
from scalarviz.displays.page import never_raises, number_text
from scalarviz.displays.svg import LARGE, LOOK, SMALL, SvgDrawing, image, width_of
from scalarviz.model.operations import NONE, Operation, Shape
from scalarviz.model.program import Program
from scalarviz.texts import plural, row_text, text

if TYPE_CHECKING:
    from scalarviz.layers.base import Layer

NUMBERED = 10, 10  # most rows and columns of cells with numbers
DRAWN = 1600  # most cells that are drawn singly; larger matrices become an image
ROOM = 520, 960  # height and width of an image in pixels
WIDTH, HEIGHT, GAP = 62.0, 27.0, 3.0  # of a cell with a number
SIDE = 16.0  # of a cell without a number
TILE_GAP = 7.0  # between two kernels
MOST_EVALUATED = 1000  # inputs times outputs, for drawing a layer's response as curves
WAVES = 12  # most outputs drawn as curves
WAVE = 118.0, 44.0
POINTS = 97


@never_raises
def layer_html(layer: Layer) -> str:
    """Return a layer's kind, shape, activation and parameters."""
    drawing = SvgDrawing()
    head, about = type(layer).__name__, about_layer(layer)
    drawing.text(0, 13, head, LARGE, bold=True)
    drawing.text(width_of(head, LARGE, bold=True) + 10, 13, about, color=LOOK.quiet)
    bank = layer._bank  # layer.bank would create a bank of the layer's own
    values = np.full(layer.size, np.nan) if bank is None else bank.value[layer.rows].astype(float)
    first = layer.first_row
    scale = Scale.of(values)
    is_new, told, y, formula, drawn = bank is None, [], 42.0, "", 0
    for operation in operations_of(layer):
        formula = operation.formula
        kind = operation.kind
        told_of_it = row_text(f"rows.kinds.{kind}.about", formula)
        told_of_it = row_text(f"rows.row_formulas.{formula}.about", told_of_it)
        if not told_of_it and not operation.parameters:
            told_of_it = row_text(f"rows.kinds.{kind}.meaning", operation.about.meaning)
        if told_of_it and operation.kind != "activation":
            drawing.text(0, y, told_of_it)
            y += 26
        rows = operation.parameters
        own = values[rows.start - first : rows.stop - first] if rows else values[:0]
        for part in matrices(operation, own, is_new) if len(own) else ():
            y, drawn = parameters(drawing, y, part, scale), drawn + len(part.values)
    if drawn < layer.size:  # a user-defined layer whose operations do not cover its parameters
        words = text("displays.layer.parameters"), text("displays.layer.order")
        part = ParameterMatrix(values, (1, layer.size), *words, has_biases=False, is_new=is_new)
        y = parameters(drawing, y, part, scale)
    if layer.size:
        told.append(text("displays.layer.no_numbers") if is_new else range_text(values))
        if is_new:
            drawing.text(0, y + 8, text("displays.layer.new"), color=LOOK.quiet)
        else:
            legend(drawing, 0, y, scale)
    else:
        waves(drawing, y, layer, formula)
    alt = text("displays.layer.alt", kind=head, about=about, numbers=" ".join(told))
    return image(drawing, alt)


def operations_of(layer: Layer) -> list[Operation]:
    """Return the operations that a layer lowers to; empty if it cannot be lowered."""
    program = Program(layer.inputs)
    try:
        layer.lower(program)
    except Exception:  # a user-defined layer may work in the python engine only
        return []
    return program.operations


def about_layer(layer: Layer) -> str:
    """Return shape, activation and parameters in one line."""
    parts = [f"{layer.inputs:,} → {layer.outputs:,}"]
    parts += [layer.activation] if layer.activation != "linear" else []
    parts.append(
        plural("counts.parameters", layer.size) if layer.size else text("displays.layer.constant")
    )
    return ", ".join(parts)


def range_text(values: FloatArray) -> str:
    """Return the smallest and the largest number in words."""
    low, high = number_text(np.min(values)), number_text(np.max(values))
    count = plural("counts.numbers", values.size)
    return text("displays.layer.range", count=count, low=low, high=high)


@dataclass(frozen=True)
class CellGrid:
    """Size of a matrix's cells, the gap between them, and how they are drawn."""

    width: float
    height: float
    gap: float
    numbered: bool = False
    as_pixels: bool = False

    @staticmethod
    def of(rows: int, columns: int) -> CellGrid:
        """Choose by size: cells with numbers, cells without, or an image."""
        if rows <= NUMBERED[0] and columns <= NUMBERED[1]:
            return CellGrid(WIDTH, HEIGHT, GAP, numbered=True)
        if rows * columns <= DRAWN and rows * SIDE <= ROOM[0] and columns * SIDE <= ROOM[1]:
            return CellGrid(SIDE, SIDE, 1.0)
        side = float(max(1, min(8, ROOM[0] // rows, ROOM[1] // columns)))
        return CellGrid(side, side, 0.0, as_pixels=True)

    def draw(
        self, drawing: SvgDrawing, place: tuple[float, float], values: FloatArray, scale: Scale
    ) -> tuple[float, float]:
        """Draw a matrix; return its right and lower end."""
        left, top = place
        rows, columns = values.shape
        if self.as_pixels:
            side = int(self.width)
            drawing.image(left, top, columns * side, rows * side, pixels(values, scale, side))
        for row, line in enumerate([] if self.as_pixels else values.tolist()):
            for column, value in enumerate(line):
                x, y = left + column * (self.width + self.gap), top + row * (self.height + self.gap)
                if self.numbered:
                    cell(drawing, (x, y, self.width, self.height), value, scale)
                else:
                    color = scale.color(value)
                    drawing.rect(x, y, self.width, self.height, color, radius=2.0, kind="cell")
        wide, high = columns * (self.width + self.gap), rows * (self.height + self.gap)
        return left + wide - self.gap, top + high - self.gap

    def draw_empty(
        self, drawing: SvgDrawing, place: tuple[float, float], rows: int, columns: int
    ) -> tuple[float, float]:
        """Draw the outline of a matrix without numbers yet; return its right and lower end."""
        wide, high = columns * (self.width + self.gap), rows * (self.height + self.gap)
        size = wide - self.gap, high - self.gap
        drawing.rect(*place, *size, LOOK.panel[:7], rim=LOOK.faint, radius=4.0, kind="empty")
        return place[0] + size[0], place[1] + size[1]


def parameters(drawing: SvgDrawing, y: float, part: ParameterMatrix, scale: Scale) -> float:
    """Draw the parameters of an operation from y downwards; return where the next part begins."""
    if part.tile and fits(part):
        return kernels(drawing, y, part, scale)
    rows, columns = min(part.shape[0], ROOM[0]), min(part.shape[1], ROOM[1])
    grid = CellGrid.of(rows, columns + 1)
    drawing.text(0, y + 4, part.row_words, SMALL, color=LOOK.quiet)
    y += 12
    if part.is_new:
        right, bottom = grid.draw_empty(drawing, (0.0, y), rows, columns)
    else:
        weights = part.values[: part.count].reshape(part.shape)[:rows, :columns]
        right, bottom = grid.draw(drawing, (0.0, y), weights, scale)
    drawing.text(0, bottom + 15, part.column_words, SMALL, color=LOOK.quiet)
    under = bottom + 15
    if part.shape != (rows, columns):
        first = text("displays.layer.first", rows=rows, columns=columns)
        drawing.text(0, under + 16, first, SMALL)
        under += 16
    if part.has_biases:
        x = max(right + 14, width_of(part.column_words, SMALL) + 14)
        biases = part.values[part.count :][:rows, np.newaxis]
        if part.is_new:
            grid.draw_empty(drawing, (x, y), rows, 1)
        else:
            grid.draw(drawing, (x, y), biases, scale)
        drawing.text(x, bottom + 15, text("plates.bias"), SMALL, color=LOOK.quiet)
    return under + 18


def fits(part: ParameterMatrix) -> bool:
    """Return whether the kernels of a convolution fit, each drawn as a matrix."""
    high, wide = (side * SIDE + TILE_GAP for side in part.tile)
    across = part.shape[1] // prod(part.tile)
    is_small = part.count <= DRAWN and part.shape[0] * high <= ROOM[0]
    return is_small and across * wide <= ROOM[1]


def kernels(drawing: SvgDrawing, y: float, part: ParameterMatrix, scale: Scale) -> float:
    """Draw a small matrix per kernel and input channel, and the biases beside them."""
    drawing.text(0, y + 4, part.row_words, SMALL, color=LOOK.quiet)
    y += 12
    grid, (high, wide) = CellGrid(SIDE - 1.0, SIDE - 1.0, 1.0), part.tile
    across = part.shape[1] // (high * wide)
    weights = part.values[: part.count].reshape(part.shape[0], across, high, wide)
    right = bottom = y
    for k, c in np.ndindex(part.shape[0], across):
        place = c * (wide * SIDE + TILE_GAP), y + k * (high * SIDE + TILE_GAP)
        if part.is_new:
            right, bottom = grid.draw_empty(drawing, place, high, wide)
        else:
            right, bottom = grid.draw(drawing, place, weights[k, c], scale)
    drawing.text(0, bottom + 15, part.column_words, SMALL, color=LOOK.quiet)
    if part.has_biases:
        x = max(right + 14, width_of(part.column_words, SMALL) + 14)
        for k, bias in enumerate(part.values[part.count :]):
            place = x, y + k * (high * SIDE + TILE_GAP) + (high - 1) * SIDE / 2
            if part.is_new:
                grid.draw_empty(drawing, place, 1, 1)
            else:
                grid.draw(drawing, place, np.array([[bias]]), scale)
        drawing.text(x, bottom + 15, text("plates.bias"), SMALL, color=LOOK.quiet)
    return bottom + 33


@dataclass(frozen=True)
class ParameterMatrix:
    """The parameters of an operation as a matrix, and labels of its rows and columns."""

    values: FloatArray
    shape: tuple[int, int]
    row_words: str
    column_words: str
    has_biases: bool
    is_new: bool
    tile: Shape = ()  # rows and columns of the tiles that make up a row

    @property
    def count(self) -> int:
        """Size of the matrix; biases follow it."""
        return self.shape[0] * self.shape[1]


def matrices(operation: Operation, own: FloatArray, is_new: bool) -> list[ParameterMatrix]:
    """Return the parameters of an operation as matrices, one row per perceptron or kernel."""
    shape, has_biases = operation.shape, operation.biases != NONE
    if len(shape) == 1:
        kind = "channels" if operation.target.shape else "features"
        below = text("displays.layer.each", count=plural(f"counts.{kind}", shape[0]))
        size = 1, shape[0]
        gain, shift = text("plates.gain"), text("plates.shift")
        found = [ParameterMatrix(own[: shape[0]], size, gain, below, False, is_new)]
        if has_biases:
            found.append(ParameterMatrix(own[shape[0] :], size, shift, below, False, is_new))
        return found
    kind = "kernels" if len(shape) > 2 else "perceptrons"
    words = text("displays.layer.rows", count=plural(f"counts.{kind}", shape[0]))
    below = text("displays.layer.columns", count=plural("counts.inputs", shape[1]))
    if len(shape) > 2:
        channels = plural("counts.channels", shape[1])
        below = text("displays.layer.tiles", rows=shape[2], columns=shape[3], count=channels)
    size = shape[0], prod(shape[1:])
    return [ParameterMatrix(own, size, words, below, has_biases, is_new, shape[2:])]


def waves(drawing: SvgDrawing, y: float, layer: Layer, formula: str) -> float:
    """Draw the response of a layer without parameters to its first input, -1 to 1, as curves."""
    if layer.inputs * layer.outputs > MOST_EVALUATED:
        return y
    xs = np.linspace(-1.0, 1.0, POINTS)
    samples = np.zeros((POINTS, layer.inputs))
    samples[:, 0] = xs
    results = np.array(layer.evaluate_rows(samples.tolist()))
    moving = [i for i in range(results.shape[1]) if np.ptp(results[:, i]) > 0]
    for place, i in enumerate(moving[:WAVES]):
        left = place % 2 * (WAVE[0] + 26)
        top = y + place // 2 * (WAVE[1] + 30)
        name = text("displays.layer.output", number=i)
        if formula == "frequency_encoding":
            times = 2 ** (place // 2)
            name = f"{('sin', 'cos')[place % 2]} {times if times > 1 else ''}πx"
        drawing.text(left, top + 9, name, SMALL, color=LOOK.quiet)
        curve(drawing, left, top + 15, results[:, i])
    lines = -(-min(len(moving), WAVES) // 2)
    y += lines * (WAVE[1] + 30)
    drawing.text(0, y + 10, text("displays.layer.waves"), color=LOOK.quiet)
    return y + 26


def curve(drawing: SvgDrawing, left: float, top: float, ys: FloatArray) -> None:
    """Draw one small curve on a panel."""
    width, height = WAVE
    drawing.rect(left, top, width, height, LOOK.panel[:7], radius=3.0)
    low, high = float(ys.min()), float(ys.max())
    xs = left + np.linspace(0.0, width, len(ys))
    places = top + 4 + (high - ys) / (high - low) * (height - 8)
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, places, strict=True))
    drawing.path(f"M{way}", LOOK.ink, thick=1.4, kind="curve")
