"""Labels: IN and OUT, words of formulas and graphs, and colors beside neurons.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    """What labels must not cover.

    Attributes:
        boxes: of other labels
        spheres: (n, 3), x, y and radius
        polygons: (n, corners, 2), convex, of which plates and images consist
        words: words in space, whose boxes are the last of the first `placed` ones
        panel: the box of what tells an operation with its sentence; None without
        sheets: boxes of rows with their numbers
    """

    boxes: list[Box]
    spheres: FloatArray
    polygons: FloatArray
    words: list[SpaceWords] = field(default_factory=list)
    placed: int = 0
    panel: Box | None = None
    sheets: list[Box] = field(default_factory=list)

    def covered(self, box: Box) -> float:
        """Return the share of a box with something of the network or its labels under it."""
        return share_under(box, self.spheres, self.polygons, self.boxes)

    def place(self, canvas: Canvas2D, words: SpaceWords) -> None:
        """Keep a place free for words in space."""
        x, y, said, size, _, bold = words
        wide = canvas.measure(said, size=size, bold=bold)
        self.boxes.append(Box(x - 0.5 * wide, y - 0.8 * size, wide, size))
        self.words.append(words)
        self.placed = len(self.boxes)

    def write(self, canvas: Canvas2D, theme: Theme, cards: Sequence[Box]) -> None:
        """Write words in space, but those on which a card or a later box lies."""
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
    """Write which line is the input and which the output.

    Args:
        margin: by which words may be above the box of the network
        has_result: whether the result is shown, which has the word for the output

    Return what other words must not cover, these words included.
    """
    tied = tied_box(see, layout, canvas.scale)
    boxes = [] if tied is None else [tied]
    taken = Obstacles(boxes, spheres_in_sight(see, layout), polygons_seen(see, layout))
    lines = layout.neurons
    if len(lines) < 2 or layout.signs or (layout.written and not lines[0].shape):
        return taken
    top = max(see.box.y - margin, 0.0)
    for line, key in [(lines[0], "in"), (lines[-1], "out")][: 1 if has_result else 2]:
        if line.tied is None:  # else its color has the word
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


# Words in space: the formula between cubes, and the names below them; signs of a graph.

MEASURED_LETTERS = 20.0  # size of letters at which words are measured
TYPE, RIM = (12.0, 14.0, 16.0), 8.0  # sizes of names, and pixels by which they may leave the box


def place_written(
    canvas: Canvas2D, theme: Theme, see: Projection, layout: Layout, taken: Obstacles
) -> None:
    """Place them as large as their parts of a line are seen."""
    edge, line = -math.inf, 0.0  # where the last words end; a name that meets them is left out
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
        if each.least and 2.0 * half > rim.width:
            continue
        x = min(max(x, rim.x + half), rim.right - half) if each.least else x
        apart = x - half >= edge + 0.5 * size or abs(y - line) >= size
        if not each.least or apart:
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
    """Place what stands around the nodes of a graph; smaller than readable, nothing.

    Args:
        pushes: gradients that are known in this step, by bank index; `flows`, by name of the buffer
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
    """Return the gradient of a node as far as it is known in this step; None if it is not."""
    known, place = (flows.get(sign.buffer), 0) if sign.row < 0 else (pushes, sign.row)
    if known is None or math.isnan(known[place]):
        return None
    return float(known[place])


# The color that goes in, beside the neurons that stand for it; and the lines on to the result.

COLOR_SIDE, COLOR_LETTERS = 64.0, 12.0  # pixels of the color's side, and of its word
COLOR_WIRE, WINS = 1.4, 3.0  # pixels of a line to a result without colors, and of the winner's
BEFORE_MAP = 8.0  # pixels before a map, where a line turns that comes to it from above
UP_FROM = 4.0  # pixels above an answer, from which on the line to its map leaves it upright


def tied_box(see: Projection, layout: Layout, scale: float) -> Box | None:
    """Return the box of the color that goes in, with its word above it; None if no color does."""
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
    """Draw the color that goes in, with a tube to each of its neurons.

    Args:
        values: activations that are known, by name of the buffer
    """
    box = tied_box(see, layout, canvas.scale)
    if box is None or layout.neurons[0].tied is None:
        return
    line, side, size = layout.neurons[0], box.width, COLOR_LETTERS * canvas.scale
    color = [float(each) for each in values.get(line.values, ())]
    ends, top = balls_of(see, line.points, line.radius), box.bottom - side
    parts = [(i + 0.5) / len(ends) - 0.5 for i in range(len(ends))]
    draw_tubes(
        canvas,
        theme,
        [(box.right, top + (0.5 + 0.8 * part) * side) for part in parts],
        [(each.x - each.radius, each.y) for each in ends],
        color,
    )
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
    """Draw lines from the outputs to the result, if they are left of it.

    They are one each, or one to a single door: from the answer, or from their middle.

    Args:
        doors: where they end; none: no result beside the network
        values: activations that are known, by name of the buffer
        answers: outputs as the loss reads them, if they are known
        border: between two answers of a single output: it leads to the point on their map
        awaits: whether the step that is shown has not come to the answer: only tubes are drawn
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
        draw_answer(canvas, theme, ends[0], doors[0], border, answers)
        return
    if len(doors) < count and answers is not None and len(answers) == count:
        sizes = [0.0 if math.isnan(each) else float(each) for each in answers]
        best = sizes.index(max(sizes))
        starts = [starts[best]]
        if line.scores and len(known) == count:  # the way that adds most ends there
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
) -> None:
    """Draw the line from an answer to its map, and write below it which of the two it is."""
    scale, size, y = canvas.scale, COLOR_LETTERS * canvas.scale, door[1]
    turn = min(door[0], canvas.width) - BEFORE_MAP * scale  # pages have the map on its own canvas
    start = ball.x + ball.radius, ball.y
    path = rounded([start, (turn, ball.y), (turn, y), door], ROUND * scale)
    if y < ball.y - ball.radius - UP_FROM * scale:
        path = rounded([(ball.x, ball.y - ball.radius), (ball.x, y), door], ROUND * scale)
    draw_to_shown(canvas, path, theme.ground, theme.ink)
    if answers is None or not math.isfinite(answers[0]):
        return
    middle, is_above = decimal(border.middle), float(answers[0]) > border.middle
    lines = [
        text("answer.above" if is_above else "answer.below", border=middle),
        text("answer.so", answer=border.answers[1 if is_above else 0]),
    ]
    hue = theme.no_yes[1 if is_above else 0]
    for i, said in enumerate(lines):
        low = ball.y + ball.radius + (1.3 + 1.35 * i) * size
        wide = canvas.measure(said, size=size, bold=True)
        left = min(ball.x - min(ball.radius, 0.5 * wide), turn - wide)
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
