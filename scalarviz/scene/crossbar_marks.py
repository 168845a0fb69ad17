"""The marks of a crossbar: its lines, curves, numbers and sums, as plain data.

Bars and neurons are solids, see `crossbar_layout`; all other marks are made here, in pixels of the
boards, and drawn by `crossbar_ink`.

Pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.story.facts import NONE, Neuron
from scalarviz.story.panel_words import closing, in_print

if TYPE_CHECKING:
    from scalarviz.scene.layout.crossbar import Board
    from scalarviz.scene.layout.crossbar_layout import Crossbar, Lane

RECTIFIED = "relu", "relu_right"
DARK = 0.42  # light on the bar of a weight whose product is 0; 1 for the largest of its layer
# From a weight down to the reason of its error signal, and to the right past its number.
REASON, NUMBER_WIDE = 15.0, 40.0
PULLED = 0.9  # opacity of lines that carry an error signal
HAIR, WIDEST = 1.0, 4.5  # pixels of a line that carries 0, and those added for the largest number
BIAS_LINE, SUM_LINE, LANE_LINE = 1.4, 1.2, 1.8  # pixels of other lines
DOT, APART = 2.0, 5.0  # length and distance of the dots of a line from the 1 to biases
FULL, PALE = 0.5, 0.5  # opacity of lines of inputs, and of lines of neurons
HEAD, TIP = 7.0, 1.5  # length of an arrow head, and its distance from the neuron
CURVE, ALONG = 18.0, 0.6  # side of an activation's curve, and its place between bias and neuron
ONE = 13.0  # radius of the 1 before biases
LETTERS, SMALL, NARROW = 12.0, 11.0, 18.0  # size of letters, and beside bars of less half width
DECIMALS = 66.0  # minimum width of a cell with two decimals from 1 on
NUMBERED = 52.0, 40.0  # minimum width and height of a cell whose bar has its number
ASIDE, OVER = 3.0, 9.0  # from a bar to its number, and from the line to its middle,
CLOSE, TIGHT = 0.18, 34.0  # at most this part of the distance of lines; which is tight if smaller
LETTER, SPACE = 7.3, 6.0  # pixels of a digit, and between a weight and the rest of its line
SUMMED, LOWEST = 33.0, 52.0  # from a row down to its products, at least and at most
TWO_LINES = 24.0  # minimum distance of inputs with their values beside them
LINE = 8.0  # half the distance of two lines of text
PAD = 10.0  # between what a lane contains and its frame
ABOVE = 30.0  # from the first input up to its note


@dataclass(frozen=True)
class Mark:
    """A line, a text, or another flat mark on a board.

    Attributes:
        kind: "line", "dots", "arrow" (a head at the last point), "words", "token" (a 1 in a
            circle), "curve" (of an activation, in a square) or "frame" (a box of two corners)
        points: its points, in pixels of the boards
        color: "negative", "positive", or an attribute of the theme
        width: of a line; radius of a token; side of a curve
        words: text of words and tokens
        size: of letters, for a picture of scale 1
        anchor: position of the point in the text
        bold: whether letters are bold
        strength: opacity
        value: number of a curve, drawn as a dot; NaN for none
        bends: heights of a curve, from left to right
        row, neuron: the weight, or the neuron, that the mark belongs to; NONE and None for neither
    """

    kind: str
    points: Sequence[tuple[float, float]]
    color: str = "ink"
    width: float = 1.0
    words: str = ""
    size: float = LETTERS
    anchor: str = "left"
    bold: bool = False
    strength: float = 1.0
    value: float = math.nan
    bends: Sequence[float] = ()
    row: int = NONE
    neuron: Neuron | None = None


@dataclass(frozen=True)
class LayerNumbers:
    """The numbers of a layer for one sample.

    Attributes:
        comes: values of the inputs; NaN if unknown
        weights: for each neuron its weights, the bias last if there is one
        rows: bank indices of these
        sums, results: sums and outputs of the neurons; NaN if unknown
        curve: name of the activation, "" for none
        bends: heights of its curve, from left to right
        buffer: name of the buffer of the neurons
        names: names of the neurons
    """

    comes: Sequence[float]
    weights: Sequence[Sequence[float]]
    rows: Sequence[Sequence[int]]
    sums: Sequence[float]
    results: Sequence[float]
    curve: str
    bends: Sequence[float]
    buffer: str
    names: Sequence[str]

    @property
    def has_bias(self) -> bool:
        return len(self.weights[0]) > len(self.comes)


def light_on(layer: LayerNumbers) -> list[list[float]]:
    """Return how bright the bar of each weight is, from DARK to 1: as large as its product."""
    comes = [*layer.comes, 1.0]
    products = [
        [abs(weight * comes[i]) for i, weight in enumerate(weights)] for weights in layer.weights
    ]
    known = [each for row in products for each in row if each < math.inf]
    most: float = max([0.0, *known])
    if most == 0.0:
        return [[1.0 for _ in row] for row in products]
    return [
        [DARK + (1.0 - DARK) * (each / most) ** 0.5 if each < math.inf else 1.0 for each in row]
        for row in products
    ]


def crossbar_lines(
    placed: Crossbar, layers: Sequence[LayerNumbers], lanes: Sequence[Lane], *, backward: bool
) -> list[Mark]:
    """Return the lines of all layers, which are behind the bars.

    Args:
        lanes: the neurons whose lines are highlighted
        backward: whether an error signal runs back, so that lines of sums have no arrow heads
    """
    found: list[Mark] = []
    for number, board in enumerate(placed.boards):
        layer = layers[number]
        known = [abs(each) for each in layer.comes if math.isfinite(each)]
        top = max([1.0, *known])
        for i, value in enumerate(layer.comes):
            ends = [board.source(i), board.end(i)]
            part = min(1.0, abs(value) / top) if math.isfinite(value) else 0.0
            if part < 0.005:
                found.append(Mark("line", ends, "faint", HAIR, strength=PALE))
            else:
                color = "positive" if value > 0.0 else "negative"
                found.append(Mark("line", ends, color, HAIR + WIDEST * part, strength=FULL))
        if layer.has_bias:
            last = len(layer.comes)
            ends = [board.source(last), board.end(last)]
            found.append(Mark("dots", ends, "faint", BIAS_LINE, strength=0.9))
        for j in range(len(board.neurons)):
            is_lane = has_lane(lanes, number, j)
            ends = [board.begin(j), tip_of(placed, board, j)]
            color, width = ("lit", LANE_LINE) if is_lane else ("quiet", SUM_LINE)
            strength = 1.0 if is_lane else PALE
            neuron = layer.buffer, j
            kind = "line" if backward else "arrow"
            found.append(Mark(kind, ends, color, width, strength=strength, neuron=neuron))
    return found


def input_values(placed: Crossbar, values: Sequence[float]) -> list[Mark]:
    """Return the values of inputs that are pictures without room for them below, beside them."""
    board, half = placed.boards[0], 0.5 * placed.sizes[0]
    found: list[Mark] = []
    if not board.across or placed.numbered[0] or placed.cells.high < TWO_LINES:
        return found
    for i, value in enumerate(values):
        x, y = board.source(i)
        if math.isfinite(value):
            said = typeset(f"{value:g}" if value == round(value) else short(value))
            place = x - half - 6.0, y + 13.0
            found.append(Mark("words", [place], words=said, size=SMALL, anchor="right"))
    return found


def reason_note(
    placed: Crossbar, layer: int, neuron: int, column: int, words: str
) -> list[list[Mark]]:
    """Return why an error signal comes back through a weight: to its right, or to its left."""
    x, y = placed.boards[layer].weight(neuron, column)
    aside = 0.3 * placed.cells.wide
    places = (x + aside + NUMBER_WIDE, "left"), (x - aside, "right")
    return [
        [Mark("words", [(place, y + REASON)], "push", words=words, anchor=anchor)]
        for place, anchor in places
    ]


def pull_marks(
    placed: Crossbar, layer: int, neuron: int, pulls: Sequence[float], *, of_weights: bool
) -> list[Mark]:
    """Return how the error signal comes back to a neuron, and on to its weights.

    Args:
        layer, neuron: the neuron
        pulls: what each neuron of the next layer sends back to it; empty for the last layer
        of_weights: whether it continues to the weights
    """
    found: list[Mark] = []
    top: float = max([1e-30, *[abs(each) for each in pulls]])
    if len(pulls) > 0:
        after = placed.boards[layer + 1]
        for unit, pull in enumerate(pulls):
            width = HAIR + WIDEST * abs(pull) / top
            ends = [after.neuron(unit), after.weight(unit, neuron)]
            found.append(Mark("arrow", ends, "push", width, strength=PULLED))
        ends = [after.end(neuron), rim_of(placed, layer, neuron)]
        found.append(Mark("arrow", ends, "push", 2.0 * HAIR + 1.0))
    if of_weights:
        board = placed.boards[layer]
        ends = [board.neuron(neuron), board.begin(neuron)]
        found.append(Mark("arrow", ends, "push", 2.0 * HAIR + 1.0))
    return found


def rim_of(placed: Crossbar, layer: int, neuron: int) -> tuple[float, float]:
    """Return where an error signal from the next layer reaches a neuron, or its number below it."""
    board, after = placed.boards[layer], placed.boards[layer + 1]
    x, y = after.source(neuron)
    to_x, to_y = after.end(neuron)
    far = 0.5 * placed.sizes[layer + 1] + TIP + placed.below(board) * (to_y > y)
    right = 1.0 if to_x > x else -1.0 if to_x < x else 0.0
    down = 1.0 if to_y > y else -1.0 if to_y < y else 0.0
    return x + far * right, y + far * down


def has_lane(lanes: Sequence[Lane], layer: int, neuron: int) -> bool:
    """Return whether a neuron is among those with lanes."""
    return any(each.layer == layer and each.neuron == neuron for each in lanes)


def tip_of(placed: Crossbar, board: Board, neuron: int) -> tuple[float, float]:
    """Return the point at which the line of a neuron reaches it."""
    x, y = board.neuron(neuron)
    before = board.way * (0.5 * placed.size_of(board) + TIP)
    return (x, y - before) if board.across else (x - before, y)


def crossbar_marks(
    placed: Crossbar,
    layers: Sequence[LayerNumbers],
    wide: float,
    unit: float,
    asked: Sequence[int],
    lanes: Sequence[Lane],
) -> list[Mark]:
    """Return the texts and curves over the bars of all layers.

    Args:
        asked: bank indices of weights whose numbers are written in any case
        lanes: the neurons whose products are written
        wide: half the width of a bar in pixels
        unit: height of the bar of 1 in pixels
    """
    found: list[Mark] = []
    cells = placed.cells
    has_numbers = cells.wide >= NUMBERED[0] and cells.high >= NUMBERED[1]
    for number, board in enumerate(placed.boards):
        layer = layers[number]
        if layer.has_bias:
            x, y = board.source(len(layer.comes))
            radius = min(ONE, 0.42 * cells.least)
            found.append(Mark("token", [(x, y)], "quiet", radius, "1", size=0.9 * radius))
        if layer.curve not in ("", "linear") and cells.curved:
            for j in range(len(board.neurons)):
                place = curve_at(placed, board, j)
                value = layer.sums[j]
                found.append(Mark("curve", [place], "quiet", CURVE, value=value, bends=layer.bends))
        for j, (weights, rows) in enumerate(zip(layer.weights, layer.rows, strict=True)):
            if has_lane(lanes, number, j):
                found += lane_marks(placed, board, layer, j, wide, unit)[1:]
                continue
            for i, weight in enumerate(weights):
                if has_numbers or rows[i] in asked:
                    is_wide = cells.wide >= DECIMALS or rows[i] in asked
                    digits = 2 if abs(weight) < 0.995 or is_wide else 1
                    said = zeroless(typeset(short(weight, digits)))
                    found.append(beside(board, j, i, weight, said, wide, rows[i]))
    return found


def beside(
    board: Board, neuron: int, column: int, weight: float, said: str, wide: float, row: int
) -> Mark:
    """Return the number of a weight, beside its bar: over the line if positive, else below it."""
    x, y = board.weight(neuron, column)
    color = "negative" if weight < 0.0 else "positive"
    up = level_of(board, neuron, column, weight)
    size = SMALL if wide < NARROW else LETTERS
    return Mark("words", [(x + wide + ASIDE, y + up)], color, words=said, size=size, row=row)


def level_of(board: Board, neuron: int, column: int, weight: float) -> float:
    """Return how far the number of a weight is below its line.

    Positive weights have it above; so do biases of columns, which have their curve below. It is on
    the line where this ends.
    """
    lines = board.inputs if board.across else board.neurons
    apart = [abs(b - a) for a, b in pairwise(lines[: len(lines) - board.across])]
    if (
        board.across
        and min([math.inf, *apart]) < TIGHT
        and board.end(column) == board.weight(neuron, column)
    ):
        return 0.0
    is_last = board.across and column == len(board.inputs) - 1
    up: float = min([OVER, *[CLOSE * each for each in apart]])
    return up if weight < 0.0 and not is_last else -up


def curve_at(placed: Crossbar, board: Board, neuron: int) -> tuple[float, float]:
    """Return the middle of an activation's curve, on the line of a neuron after its last weight."""
    x, y = board.neuron(neuron)
    last = board.weight(neuron, len(board.inputs) - 1)
    end = tip_of(placed, board, neuron)
    if board.across:
        return x, last[1] + ALONG * (end[1] - last[1])
    return end[0] - HEAD - 0.7 * CURVE, y


def zeroless(said: str) -> str:
    """Return a number without digits if all of them are 0."""
    return "0" if not said.strip("−.0") else said


def closed(
    comes: Sequence[float], weights: Sequence[float], total: float
) -> list[tuple[str, str, str]]:
    """Return the terms of a sum as printed, each as two factors and a product; last the sum.

    Each product follows from its factors, and the sum from the products. If no number of
    digits gives the sum as it would be rounded, it may differ in its last digit.
    """
    lines = closing(comes, weights, total)
    if follows_from(lines):
        return lines
    digits = 3
    pairs = [
        (in_print(x, digits), in_print(w, digits)) for x, w in zip(comes, weights, strict=True)
    ]
    products = [in_print(x * w, digits) for x, w in pairs]
    shown = [*zip(pairs, products, strict=True)]
    found = [
        (typeset(f"{x:.{digits}f}"), typeset(f"{w:.{digits}f}"), typeset(f"{product:.{digits}f}"))
        for (x, w), product in shown
    ]
    return [*found, ("", "", typeset(f"{sum(products):.{digits}f}"))]


def follows_from(lines: Sequence[tuple[str, str, str]]) -> bool:
    """Return whether each printed product follows from its factors, and the sum from them."""
    numbers = [[number_of(each) for each in line] for line in lines]
    total, added = numbers[len(numbers) - 1][2], 0.0
    for i, (x, w, product) in enumerate(numbers[: len(numbers) - 1]):
        half = 0.5 * 10.0 ** -places_of(lines[i][2])
        if not abs(x * w - product) <= half + 1e-9:
            return False
        added += product
    return abs(added - total) < 1e-7 * max(1.0, abs(total))


def number_of(said: str) -> float:
    """Return a printed number; 0 for an empty text."""
    return float(said.replace("−", "-").replace(",", "")) if said else 0.0


def places_of(said: str) -> int:
    """Return the number of printed decimals."""
    return len(said) - said.index(".") - 1 if "." in said else 0


def lane_marks(
    placed: Crossbar, board: Board, layer: LayerNumbers, neuron: int, wide: float, unit: float
) -> list[Mark]:
    """Return the frame of a lane, then the products beside the bars and their sum.

    Numbers close as printed.
    """
    weights, rows, total = layer.weights[neuron], layer.rows[neuron], layer.sums[neuron]
    comes = [*layer.comes, 1.0][: len(weights)]
    low = low_of(weights, unit)
    frame = frame_of(placed, board, neuron, low)
    found = [frame]
    if not all(math.isfinite(each) for each in [*comes, total]):
        for i, weight in enumerate(weights):
            said = zeroless(typeset(short(weight)))
            found.append(beside(board, neuron, i, weight, said, wide, rows[i]))
        return found
    lines = closed(comes, weights, total)
    for i, (x, w, product) in enumerate(lines[: len(weights)]):
        factor, adds = zeroless(w), zeroless(product)
        found.append(beside(board, neuron, i, weights[i], factor, wide, rows[i]))
        at, level = board.weight(neuron, i)
        if board.across:
            is_bias, is_silent = i == len(layer.comes), zeroless(x) == "0"
            said = f"= {adds}" if is_bias else f"× {zeroless(x)} = {adds}"
            said, color = (text("crossbar.silent"), "quiet") if is_silent else (said, "lit")
            up = level_of(board, neuron, i, weights[i])
            place = at + wide + ASIDE + LETTER * len(factor) + SPACE, level + up
            size = SMALL if wide < NARROW else LETTERS
            found.append(Mark("words", [place], color, words=said, size=size, row=rows[i]))
        else:
            sign = "+ " if i > 0 and not adds.startswith("−") else ""
            place, words = (at, level + low), f"{sign}{adds}"
            size = SMALL if wide < NARROW else LETTERS
            found.append(
                Mark("words", [place], "lit", words=words, size=size, anchor="center", row=rows[i])
            )
    sums = lane_sum(placed, board, layer, neuron, lines[len(lines) - 1][2], low)
    if board.across:
        ends = [x + LETTER * len(said) for (x, _), said in ends_of([*found[1:], *sums])]
        corner = max([frame.points[1][0], *[each + 0.5 * PAD for each in ends]]), frame.points[1][1]
        found[0] = replace(frame, points=[frame.points[0], corner])
    return [*found, *sums]


def ends_of(marks: Sequence[Mark]) -> list[tuple[tuple[float, float], str]]:
    """Return the places and the words of marks."""
    return [(each.points[0], each.words) for each in marks]


def lane_sum(
    placed: Crossbar, board: Board, layer: LayerNumbers, neuron: int, total: str, below: float
) -> list[Mark]:
    """Return the sum of a lane and the output of its activation, before its neuron.

    Args:
        total: the sum as printed
        below: how far below a row its products are
    """
    x, y = curve_at(placed, board, neuron)
    result, half = layer.results[neuron], 0.5 * placed.size_of(board)
    is_bent = layer.curve not in ("", "linear") and math.isfinite(result)
    bent = bent_words(layer, neuron) if is_bent else ""
    if not board.across:
        right = board.ball - half - 4.0
        lines = [((right, y + below), f"= {zeroless(total)}")]
        lines.append(((right, y + below + 2.0 * LINE), bent))
        if not placed.cells.curved:  # there is no room beside the products
            said = f"= {zeroless(total)}; {bent}" if is_bent else f"= {zeroless(total)}"
            lines = [((right, y + below + 2.0 * LINE), said)]
    else:
        said = text("crossbar.sum", sum=zeroless(total))
        if placed.cells.curved:
            left, up = x + 0.5 * CURVE + 6.0, LINE * is_bent
            lines = [((left, y - up), said), ((left, y + up), bent)]
        else:  # beside the neuron, above its answer
            wide = max(half, 0.5 * LETTER * len(total))  # its number may be wider
            place = x + wide + 8.0, board.ball - 1.7 * LINE
            lines = [(place, f"{said}; {bent}" if is_bent else said)]
    anchor, of = "left" if board.across else "right", (layer.buffer, neuron)
    return [
        Mark("words", [place], "lit", words=said, anchor=anchor, bold=True, neuron=of)
        for place, said in lines
        if said
    ]


def bent_words(layer: LayerNumbers, neuron: int) -> str:
    """Return what the activation makes of the sum of a neuron, in words."""
    said = zeroless(typeset(short(layer.results[neuron])))
    if layer.curve in RECTIFIED and layer.sums[neuron] > 0.0:
        return text("crossbar.bent.above", result=said)
    if layer.curve in RECTIFIED:
        return text("crossbar.bent.below")
    if layer.curve == "tanh":
        return text("crossbar.bent.tanh", result=said)
    if layer.curve == "sigmoid":
        return text("crossbar.bent.sigmoid", result=said)
    return text("crossbar.bent", result=said)


def low_of(weights: Sequence[float], unit: float) -> float:
    """Return how far below a row its products are: below its bars, if there is room."""
    deepest: float = max([0.0, *[-each * unit for each in weights]])
    return min(max(SUMMED, deepest + 12.0), LOWEST)


def frame_of(placed: Crossbar, board: Board, neuron: int, below: float) -> Mark:
    """Return the frame around a lane; the products of a row are `below` it."""
    x, y = board.neuron(neuron)
    half, cells = 0.5 * placed.size_of(board), placed.cells
    first, free = board.begin(neuron), placed.free_of(board, neuron)
    number = placed.below(board)
    if board.across:
        left = x - max(half, 0.36 * cells.wide) - PAD
        right = x + 0.5 * cells.wide + free - 4.0
        last = y + half + number + PAD if board.way > 0 else y - half - PAD
        ends = first[1] - board.way * 0.62 * cells.high, last
        corners = [(left, min(ends)), (right, max(ends))]
    else:
        top = y - max(half + 4.0 + placed.above(board), 0.5 * cells.high)
        left = min(first[0], x) - max(0.36 * cells.wide, half) - PAD
        corners = [(left, top), (x + half + PAD, y + below + 30.0)]
    return Mark("frame", corners, "lit", strength=0.6)


def crossbar_frames(
    placed: Crossbar,
    layers: Sequence[LayerNumbers],
    wide: float,
    unit: float,
    lanes: Sequence[Lane],
) -> list[Mark]:
    """Return the frames around lanes; for the arguments see `crossbar_marks`."""
    found: list[Mark] = []
    for lane in lanes:
        board = placed.boards[lane.layer]
        layer = layers[lane.layer]
        found += lane_marks(placed, board, layer, lane.neuron, wide, unit)[:1]
    return found


def crossbar_notes(
    placed: Crossbar,
    layers: Sequence[LayerNumbers],
    unit: float,
    pictured: Sequence[str],
    lanes: Sequence[Lane],
) -> list[list[list[Mark]]]:
    """Return notes, each as alternatives of which the first that has room is written.

    They say what columns and rows are, and what the pictures of neurons show.

    Args:
        unit: height of the bar of 1 in pixels
        pictured: names of the inputs if the first neurons are pictures, else empty
        lanes: the neurons whose products are written
    """
    found: list[list[list[Mark]]] = []
    for lane in lanes:
        board = placed.boards[lane.layer]
        layer = layers[lane.layer]
        frame = frame_of(placed, board, lane.neuron, low_of(layer.weights[lane.neuron], unit))
        left, top = frame.points[0]
        low = frame.points[1][1]
        if board.across:
            short_note = text("crossbar.column")
            long = f"{short_note};\n{text('crossbar.multiplies')}"
            whole = [long, short_note] if lane.layer == 0 else [short_note]
            found.append([over(each, left + PAD, top, low, board.way) for each in whole])
        elif lane.layer == 1:
            lines = text("crossbar.row").split("\n")
            middle = board.neuron(lane.neuron)[1] + 0.5 * SUMMED
            place = left - PAD, middle - LINE * (len(lines) - 1)
            found.append([lines_at(lines, place, "right")])
    first = placed.boards[0]
    if first.across:
        x, y = first.source(0)
        place = x + 0.5 * placed.sizes[0], y - 0.5 * placed.sizes[0] - ABOVE
        found.append([lines_at([text("crossbar.comes")], place, "right")])
        if layers[0].has_bias:
            x, y = first.source(len(layers[0].comes))
            lines = text("crossbar.one").split("\n")
            found.append([lines_at(lines, (x + ONE + 8.0, y + ONE + 12.0), "right")])
        if len(pictured) > 0:
            found.append([picture_note(placed, pictured, layers[0].curve)])
    return [*found, *[[[each]] for each in layer_notes(placed, layers)]]


def over(words: str, x: float, top: float, low: float, way: int) -> list[Mark]:
    """Return the lines of a note over a frame, or below it if the frame's neuron is at its top."""
    lines = words.split("\n")
    first = top - 11.0 - 2.0 * LINE * (len(lines) - 1) if way > 0 else low + 12.0
    return lines_at(lines, (x, first), "left")


def lines_at(lines: Sequence[str], place: tuple[float, float], anchor: str) -> list[Mark]:
    """Return a note of several lines, the first one at a point."""
    x, y = place
    return [
        Mark("words", [(x, y + 2.0 * LINE * i)], "lit", words=words, anchor=anchor)
        for i, words in enumerate(lines)
    ]


def picture_note(placed: Crossbar, names: Sequence[str], curve: str) -> list[Mark]:
    """Return what the pictures of the first layer's neurons show, to their left."""
    x, y = placed.boards[0].neuron(0)
    left = x - max(0.5 * placed.sizes[1], 0.36 * placed.cells.wide) - 2.0 * PAD
    named = " and ".join(names)
    said = text("crossbar.picture", names=named)
    if curve in RECTIFIED:
        said = text("crossbar.picture.above", names=named)
    lines = said.split("\n")
    first = y - LINE * (len(lines) - 1)
    found = lines_at(lines, (left, first), "right")
    last = "quiet" if curve in RECTIFIED else "negative"
    colors = [*["ink" for _ in lines[2:]], "positive", last]
    return [replace(mark, color=color) for mark, color in zip(found, colors, strict=True)]


def layer_notes(placed: Crossbar, layers: Sequence[LayerNumbers]) -> list[Mark]:
    """Return how many columns or rows the neurons of each layer without a lane are."""
    found: list[Mark] = []
    cells = placed.cells
    for number, board in enumerate(placed.boards):
        count = len(board.neurons)
        if count < 2 or any(each.layer == number for each in placed.lanes):
            continue
        if board.across and number == 0:
            words = text("crossbar.columns", count=count)
        elif board.across:
            words = text("crossbar.columns.more", count=count)
        elif number == 0:
            words = text("crossbar.rows", count=count)
        else:
            words = text("crossbar.rows.more", count=count)
        if layers[number].curve in RECTIFIED:
            words = f"{words}; {text('crossbar.bent.below')}"
        if board.across:
            x, y = min(board.neurons), board.begin(0)[1] - 0.75 * cells.high * board.way
        else:
            x, y = min(board.inputs), max(board.neurons) + 0.66 * cells.high
        found.append(Mark("words", [(x - 0.3 * cells.wide, y)], "lit", words=words))
    return found
