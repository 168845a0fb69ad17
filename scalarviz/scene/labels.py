"""Labels: the words IN and OUT, texts of formulas and graphs, and the color of the inputs.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded as decimal
from scalarviz.scene.annotations import (
    Ball,
    Border,
    SpaceWords,
    draw_to_shown,
    sign_words,
    write_end,
)
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import SCORED, SIDE
from scalarviz.scene.layout.ways import ROUND, Point, curve, rounded
from scalarviz.scene.lines import draw_tubes
from scalarviz.scene.silhouettes import (
    balls_of,
    is_on,
    polygons_seen,
    share_under,
    spheres_in_sight,
)

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout, Sign


@dataclass
class Obstacles:
    """The areas that labels must not cover.

    Attributes:
        boxes: boxes of other labels
        spheres: x, y and radius of each sphere, shape (n, 3)
        polygons: convex polygons of plates and images, shape (n, corners, 2)
        words: labels in space; their boxes are the last ones among the first `placed` boxes
        panel: box of the panel that explains an operation, or None
        sheets: boxes of rows drawn with their numbers
    """

    boxes: list[Box]
    spheres: FloatArray
    polygons: FloatArray
    words: list[SpaceWords] = field(default_factory=list)
    placed: int = 0
    panel: Box | None = None
    sheets: list[Box] = field(default_factory=list)

    def covered(self, box: Box) -> float:
        """Return the fraction of a box that would cover the network or its labels."""
        return share_under(box, self.spheres, self.polygons, self.boxes)

    def place(self, canvas: Canvas2D, words: SpaceWords) -> None:
        """Reserve the area of a label in space, to be drawn later by `write`."""
        x, y, said, size, _, bold = words
        wide = canvas.measure(said, size=size, bold=bold)
        self.boxes.append(Box(x - 0.5 * wide, y - 0.8 * size, wide, size))
        self.words.append(words)
        self.placed = len(self.boxes)

    def write(self, canvas: Canvas2D, theme: Theme, cards: Sequence[Box]) -> None:
        """Draw the labels in space, except those covered by a card or a box added later."""
        others = [*self.boxes[self.placed :], *cards]
        first = self.placed - len(self.words)
        for i, (x, y, said, size, color, bold) in enumerate(self.words):
            box = self.boxes[first + i]
            if not any(box.meets(each) for each in others):
                canvas.text(
                    x,
                    y,
                    said,
                    size=size,
                    color=color,
                    bold=bold,
                    anchor="center",
                    outline=theme.ground,
                )


# IN and OUT, where they cover nothing.


def draw_labels(
    canvas: Canvas2D,
    theme: Theme,
    see: Projection,
    layout: Layout,
    margin: float,
    has_result: bool,
) -> Obstacles:
    """Label the neurons of the inputs and the outputs.

    Args:
        margin: by how much labels may extend above the box of the network
        has_result: whether the exhibit is shown; if so, it has the label of the outputs

    Returns:
        The areas that other labels must not cover, including these labels.
    """
    tied = tied_box(see, layout, canvas.scale)
    boxes = [] if tied is None else [tied]
    taken = Obstacles(boxes, spheres_in_sight(see, layout), polygons_seen(see, layout))
    lines = layout.neurons
    is_plain = layout.sequence is None and not layout.signs
    if len(lines) < 2 or not is_plain or (layout.written and not lines[0].shape):
        return taken
    top = max(see.box.y - margin, 0.0)
    for line, key in [(lines[0], "in"), (lines[-1], "out")][: 1 if has_result else 2]:
        first = balls_of(see, line.points, 0.0)[0]
        if line.tied is None and see.box.has(first.x, first.y):  # a color has its own label
            words = text(f"picture.{key}")
            if line.shape and key == "in":
                long = text("picture.in.pixels", rows=line.shape[1], columns=line.shape[2])
                ends = balls_of(see, line.points, 0.5 * line.side)
                wide = ends[len(ends) - 1].x - ends[0].x
                is_wide = canvas.measure(long, size=COLOR_LETTERS * canvas.scale) <= 1.4 * wide
                words = long if is_wide else words
            found = write_end(
                canvas,
                theme,
                words,
                balls_of(see, line.points, line.radius if not line.shape else 0.5 * line.side),
                see.box,
                top,
                lambda box: is_on(box, taken.spheres),
            )
            if found is not None:
                taken.boxes.append(found)
    return taken


# Words in space: the formula between cubes, and the names below them; labels of a graph.

MEASURED_LETTERS = 20.0  # letter size for measuring words
TYPE, RIM = (12.0, 14.0, 16.0), 8.0  # sizes of names, and pixels by which they may exceed the box


MOST_WRITTEN, NUMBERED = 0.6, 22.0  # of the width that words take, and half a number at a ball


def place_written(
    canvas: Canvas2D, theme: Theme, see: Projection, layout: Layout, taken: Obstacles
) -> None:
    """Place labels in space, in letters that fit their width, where they do not overlap."""
    edge, line = -math.inf, 0.0  # end of the last words; overlapping names are left out
    for each in [*layout.written, *layout.heads]:
        start, end = balls_of(see, each.ends, 0.0)
        wide = math.hypot(end.x - start.x, end.y - start.y)
        if not math.isfinite(wide):
            continue
        size = MEASURED_LETTERS * wide / canvas.measure(each.words, size=MEASURED_LETTERS)
        if each.least:
            size = canvas.scale * max(
                [each.least, *[step for step in TYPE if step * canvas.scale <= size]]
            )
        x, y = 0.5 * (start.x + end.x), 0.5 * (start.y + end.y)
        half = 0.5 * canvas.measure(each.words, size=size, bold=each.least > 0.0)
        rim = see.box.inside(-RIM * canvas.scale)
        is_near = rim.x <= x <= rim.right and 2.0 * half <= MOST_WRITTEN * rim.width
        if each.least and not is_near:
            continue
        far = NUMBERED * canvas.scale + half
        top, low = y - 0.5 * size, y + 0.5 * size
        spheres: Any = taken.spheres if each.least else []
        beside = [ball for ball, level, _ in spheres if top < level and level < low]
        for ball in beside:
            if abs(x - ball) < far:
                x = ball + far if x > ball else ball - far
        x = min(max(x, rim.x + half), rim.right - half) if each.least else x
        is_free = not any(abs(x - ball) < 0.9 * far for ball in beside)
        apart = x - half >= edge + 0.5 * size or abs(y - line) >= size
        if not each.least or (is_free and apart):
            taken.place(canvas, (x, y + 0.36 * size, each.words, size, theme.ink, each.least > 0.0))
            edge, line = x + half, y


def place_signs(
    canvas: Canvas2D,
    theme: Theme,
    see: Projection,
    layout: Layout,
    taken: Obstacles,
    pushes: FloatArray | None,
    flows: Mapping[str, FloatArray],
) -> None:
    """Place the labels around the nodes of a graph, unless they would be illegible.

    Args:
        pushes: gradients already computed in this step, by bank index, or None
        flows: gradients already computed in this step, by buffer name
    """
    signs = layout.signs
    if signs:
        middles = [sign.middle for sign in signs]
        balls = balls_of(see, middles, [sign.radius for sign in signs])
        gradients = [gradient_of(sign, pushes, flows) for sign in signs]
        for words in sign_words(canvas, theme, signs, balls, gradients):
            taken.place(canvas, words)


def gradient_of(
    sign: Sign, pushes: FloatArray | None, flows: Mapping[str, FloatArray]
) -> float | None:
    """Return the gradient of a node, or None if it is not computed yet."""
    known, place = (flows.get(sign.buffer), 0) if sign.row < 0 else (pushes, sign.row)
    if known is None or math.isnan(known[place]):
        return None
    return float(known[place])


# The input color, beside its neurons; and the lines to the exhibit.

COLOR_SIDE, COLOR_LETTERS = 64.0, 12.0  # pixels of the color's side, and letter size of its label
COLOR_WIRE, WINS = 1.4, 3.0  # pixels of a line to an exhibit without colors, and of the winner's
BEFORE_MAP = 8.0  # pixels before a map where a line from above turns
UP_FROM = 4.0  # pixels above an answer from which on the line to its map starts vertically


def tied_box(see: Projection, layout: Layout, scale: float) -> Box | None:
    """Return the box of the input color and the label above it, or None."""
    line = layout.neurons[0] if layout.neurons else None
    if line is None or line.tied is None:
        return None
    ball = balls_of(see, [line.tied], 0.5 * SIDE)[0]
    side = min(2.0 * ball.radius, COLOR_SIDE * scale)
    high = side + 1.6 * COLOR_LETTERS * scale
    box = Box(ball.x - 0.5 * side, ball.y + 0.5 * side - high, side, high)
    return box if math.isfinite(box.x + box.y) else None


def draw_tied(
    canvas: Canvas2D,
    theme: Theme,
    see: Projection,
    layout: Layout,
    values: Mapping[str, FloatArray],
) -> None:
    """Draw the input color, connected by a tube to the neuron of each channel.

    Args:
        values: known activations, by buffer name
    """
    box = tied_box(see, layout, canvas.scale)
    if box is None or layout.neurons[0].tied is None:
        return
    line, side, size = layout.neurons[0], box.width, COLOR_LETTERS * canvas.scale
    color = [float(each) for each in values.get(line.values, ())]
    ends, top = balls_of(see, line.points, line.radius), box.bottom - side
    parts = [0.5 + 0.8 * ((i + 0.5) / len(ends) - 0.5) for i in range(len(ends))]
    is_above = layout.crossbar is not None and not layout.crossbar.cells.across
    if is_above:
        starts = [(box.x + part * side, box.bottom) for part in parts]
        doors = [(each.x, each.y - each.radius) for each in ends]
    else:
        starts = [(box.right, top + part * side) for part in parts]
        doors = [(each.x - each.radius, each.y) for each in ends]
    draw_tubes(canvas, theme, starts, doors, color, upright=is_above)
    is_known = len(color) > 0 and math.isfinite(sum(color))
    canvas.box(
        box.x,
        top,
        side,
        side,
        [min(1.0, max(0.0, each)) for each in color] if is_known else None,
        radius=0.125 * side,
        outline=theme.ghost,
        depth=balls_of(see, [layout.neurons[0].tied], 0.0)[0].depth,
    )
    canvas.text(
        box.x + 0.5 * side,
        top - 0.6 * size,
        text("picture.in"),
        size=size,
        color=theme.ink,
        bold=True,
        anchor="center",
        outline=theme.ground,
    )


def draw_doors(
    canvas: Canvas2D,
    theme: Theme,
    see: Projection,
    layout: Layout,
    doors: Sequence[tuple[float, float]],
    values: Mapping[str, FloatArray],
    answers: FloatArray | None,
    border: Border | None,
    *,
    awaits: bool,
) -> None:
    """Draw the lines from the outputs to an exhibit on their right.

    Each output has a line, or there is a single one that starts at the largest output or in the
    middle.

    Args:
        doors: end points of the lines; empty if there is no exhibit next to the network
        values: known activations, by buffer name
        answers: outputs as the loss interprets them, or None if unknown
        border: boundary between the two answers of a single output; its line leads to a point of
            the map
        awaits: whether the shown step has not computed the output yet; then only tubes are drawn
    """
    if not layout.neurons or not doors:
        return
    line = layout.neurons[-1]
    if awaits and not line.is_color:
        return
    ends = balls_of(see, line.points, line.radius)
    reach: float = max([each.radius for each in ends])
    if line.scores:
        size = COLOR_LETTERS * canvas.scale
        wide = canvas.widest([*line.names, ""], size=size, bold=True)
        reach = SCORED * ends[0].unit + wide + 0.5 * size
    starts = [(each.x + reach, each.y) for each in ends]
    color, wide = theme.quiet, COLOR_WIRE
    count, known = len(starts), values.get(line.values, ())
    if border is not None and count == 1 and starts[0][0] <= doors[0][0]:
        beside = layout.crossbar is not None and layout.crossbar.is_upward
        draw_answer(canvas, theme, ends[0], doors[0], border, answers, beside=beside)
        return
    if len(doors) < count and answers is not None and len(answers) == count:
        sizes = [0.0 if math.isnan(each) else float(each) for each in answers]
        best = sizes.index(max(sizes))
        starts = [starts[best]]
        if line.scores and len(known) == count:  # the path with the largest contribution ends there
            color, wide = theme.lit, WINS
    elif len(doors) < count:
        starts = [(sum([x for x, _ in starts]) / count, sum([y for _, y in starts]) / count)]
    if not math.isfinite(sum([x + y for x, y in starts])) or starts[0][0] > doors[0][0]:
        return
    if line.is_color and len(starts) == count:
        draw_tubes(canvas, theme, starts, doors, [float(x) for x in values.get(line.values, ())])
    else:
        for start, door in zip(starts, doors, strict=False):
            canvas.line(curve(start, door), color, width=wide * canvas.scale)


def draw_answer(
    canvas: Canvas2D,
    theme: Theme,
    ball: Ball,
    door: Point,
    border: Border,
    answers: FloatArray | None,
    *,
    beside: bool,
) -> None:
    """Draw the line from an output to its map, and write which of the two answers it means.

    Args:
        beside: whether these words are to the right of the output instead of below it
    """
    scale, size, y = canvas.scale, COLOR_LETTERS * canvas.scale, door[1]
    turn = min(door[0], canvas.width) - BEFORE_MAP * scale  # in pages the map has a separate canvas
    start = ball.x + ball.radius, ball.y
    path = rounded([start, (turn, ball.y), (turn, y), door], ROUND * scale)
    if y < ball.y - ball.radius - UP_FROM * scale:
        path = rounded([(ball.x, ball.y - ball.radius), (ball.x, y), door], ROUND * scale)
    if beside and y >= ball.y - ball.radius - UP_FROM * scale:  # over its words
        over = ball.y - ball.radius - BEFORE_MAP * scale
        corners = [(ball.x, ball.y - ball.radius), (ball.x, over), (turn, over), (turn, y), door]
        path = rounded(corners, ROUND * scale)
    draw_to_shown(canvas, path, theme.ground, theme.ink)
    if answers is None or not math.isfinite(answers[0]):
        return
    middle, is_above = decimal(border.middle), float(answers[0]) > border.middle
    lines = [
        text("answer.above" if is_above else "answer.below", border=middle),
        text("answer.so", answer=border.answers[1 if is_above else 0]),
    ]
    hue = theme.no_yes[1 if is_above else 0]
    ahead = 0.0  # of the first line, if both are in one
    for i, said in enumerate(lines):
        low = ball.y + ball.radius + (1.3 + 1.35 * i) * size
        wide = canvas.measure(said, size=size, bold=True)
        left = min(ball.x - min(ball.radius, 0.5 * wide), turn - wide)
        if beside:
            left, low = ball.x + ball.radius + 0.6 * size + ahead, ball.y + 1.35 * size
            ahead = wide + 0.3 * size
        color, bold = (theme.quiet, False) if i == 0 else (hue, True)
        canvas.text(
            left,
            low,
            said,
            size=size,
            color=color,
            bold=bold,
            outline=theme.ground,
        )
