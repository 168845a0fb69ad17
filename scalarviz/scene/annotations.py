"""Annotations: labels and small marks next to cubes and neurons.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import changed, old_and_new, rounded, short, typeset
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import SCORED
from scalarviz.scene.layout.ways import Point, bars_from
from scalarviz.story.panel_words import digits_of_scores

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.plates import Neurons, Sign


@dataclass
class Ball:
    """A neuron in the picture: center, radius, depth, and pixels per grid cell at that depth."""

    x: float
    y: float
    radius: float
    depth: float
    unit: float


# Brackets around selected items, and lines from words to their subject.

# In pixels: line width, distance outside the box, and minimum and maximum length of the arms, which
# are a fraction of the width.
BRACKET, OUTSIDE, ARMS, ARM = 2.2, 4.0, (5.0, 14.0), 0.28
GAP, FAR = 8.0, 120.0  # pixels from words to their subject between which a line is drawn


def bracket(canvas: Canvas2D, box: Box, color: str) -> None:
    """Draw a bracket around each corner of a box."""
    scale = canvas.scale
    outer = box.inside(-OUTSIDE * scale)
    arm = scale * min(ARMS[1], max(ARMS[0], ARM * box.width / scale))
    for x, right in ((outer.x, arm), (outer.right, -arm)):
        for y, down in ((outer.y, arm), (outer.bottom, -arm)):
            canvas.line([(x + right, y), (x, y), (x, y + down)], color, width=BRACKET * scale)


def fill_panel(canvas: Canvas2D, theme: Theme, box: Box, rim: Color, corner: float = 8.0) -> None:
    """Fill a box with the background of panels, with a rim and round corners."""
    radius, fill = corner * canvas.scale, theme.panel[:7]
    canvas.box(box.x, box.y, box.width, box.height, fill, radius=radius, outline=rim)


# Direction requested by a gradient, in pixels: an arrow above a cube, to the left for more
# negative, to the right for more positive; minimum and maximum length, and distance to the cube or
# its number.
ARROW, OVER, WRITTEN, TIP = (16.0, 39.0), 11.0, 14.0, 7.0
PUSH_WORDS = 8.0  # pixels from it to its number


def draw_push(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    share: float,
    words: str = "",
    *,
    upright: bool = False,
) -> None:
    """Draw an arrow: to the right to increase the number (share > 0), otherwise to the left.

    Args:
        words: text above the arrow, such as the error signal
        upright: whether the arrow is on the left end of the box, upwards or downwards
    """
    scale = canvas.scale
    long: float = scale * max(ARROW[0], ARROW[1] * min(1.0, abs(share)))
    if upright:
        x, y = box.x + TIP * scale, box.y + 0.5 * box.height
        half = 0.5 * long if share > 0.0 else -0.5 * long
        tip = y - half, TIP * scale * (1.0 if share > 0.0 else -1.0)
        ends = [(x - 0.7 * abs(tip[1]), tip[0] + tip[1]), (x, tip[0])]
        ends.append((x + 0.7 * abs(tip[1]), tip[0] + tip[1]))
        for color, more in ((theme.ground, 2.6), (theme.push, 0.0)):
            canvas.line([(x, y + half), (x, tip[0])], color, width=(3.0 + more) * scale)
            canvas.line(ends, color, width=(2.6 + more) * scale)
        return
    top = min(box.y, box.y + 0.5 * (box.height - WRITTEN * scale))
    x, y = box.x + 0.5 * box.width, top - OVER * scale
    way = 1.0 if share > 0.0 else -1.0
    foot, end, head = x - 0.5 * way * long, x + 0.5 * way * long, TIP * scale
    hook = [(end - way * head, y - 0.7 * head), (end, y), (end - way * head, y + 0.7 * head)]
    for color, more in ((theme.ground, 2.6), (theme.push, 0.0)):
        canvas.line([(foot, y), (end, y)], color, width=(3.0 + more) * scale)
        canvas.line(hook, color, width=(2.6 + more) * scale)
    low, size, halo = y - PUSH_WORDS * scale, 12.0 * scale, theme.ground
    canvas.text(x, low, words, size=size, color=theme.push, anchor="center", outline=halo)


# Previous state: a dashed outline, on a dark line, in pixels on and off.

DASH, SPACE = 4.2, 2.8


def draw_before(
    canvas: Canvas2D,
    theme: Theme,
    points: Sequence[Sequence[float]],
    color: Color | None = None,
    clear: Box | None = None,
) -> None:
    """Draw a dashed outline around points; draw nothing unless all points are visible.

    Args:
        color: line color; by default the color of previous states
        clear: area without dashes, such as the area of a number
    """
    if not math.isfinite(sum([x + y for x, y in points])):
        return
    ends, scale = outline_of(points), canvas.scale
    ends = [*ends, ends[0]]
    canvas.line(ends, theme.ground, width=3.4 * scale)
    starts: list[tuple[float, float]] = []
    stops: list[tuple[float, float]] = []
    for i in range(len(ends) - 1):
        x, y = ends[i]
        right, low = ends[i + 1]
        long, at = math.hypot(right - x, low - y), 0.0
        while at < long:
            a, b = at / long, min(1.0, (at + DASH * scale) / long)
            start, stop = (
                (x + a * (right - x), y + a * (low - y)),
                (x + b * (right - x), y + b * (low - y)),
            )
            dash = Box(
                min(start[0], stop[0]),
                min(start[1], stop[1]),
                abs(stop[0] - start[0]),
                abs(stop[1] - start[1]),
            )
            if clear is None or not dash.meets(clear):
                starts.append(start)
                stops.append(stop)
            at += (DASH + SPACE) * scale
    if len(starts) > 0:
        canvas.segments(starts, stops, color or theme.light, width=1.7 * scale)


def outline_of(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return the corners of the convex hull of points in the plane, in order."""
    found: list[tuple[float, float]] = []
    order = sorted([(float(x), float(y)) for x, y in points])
    for way in (order, order[::-1]):
        half: list[tuple[float, float]] = []
        for x, y in way:
            while len(half) > 1:
                a, b = half[-2]
                c, d = half[-1]
                if (c - a) * (y - b) - (d - b) * (x - a) > 0.0:
                    break
                half.pop()
            half.append((x, y))
        found += half[:-1]
    return found


def lead(canvas: Canvas2D, box: Box, subject: Box, color: str) -> None:
    """Draw a line from a label to its subject, unless they touch or are far apart."""
    start, end = box.shortest(subject)
    apart = math.hypot(end[0] - start[0], end[1] - start[1])
    if GAP * canvas.scale + 1.0 < apart <= FAR * canvas.scale:
        canvas.line([start, end], color, width=1.5 * canvas.scale)


# IN and OUT, where they cover nothing.


def write_end(
    canvas: Canvas2D,
    theme: Theme,
    words: str,
    balls: Sequence[Ball],
    box: Box,
    top: float,
    is_on: Callable[[Box], bool],
) -> Box | None:
    """Write the role of a layer above its neurons, higher if a sphere is in the way.

    Args:
        box: bounding box of the network
        top: upper limit of the label
        is_on: whether a box covers part of a sphere

    Returns:
        The box of the label; None if it does not fit.
    """
    size, scale = 12.0 * canvas.scale, canvas.scale
    balls = [ball for ball in balls if math.isfinite(ball.x + ball.y)]
    if not len(balls):
        return None
    highest: float = min([ball.y - ball.radius for ball in balls])
    middle: float = sum([ball.x for ball in balls]) / len(balls)
    low = highest - 9.0 * scale
    low = max(low, top + size) if highest >= top else low  # a sphere may be close to the edge
    wide = canvas.measure(words, size=size, bold=True)
    left = min(max(middle - wide / 2.0, box.x), max(box.right - wide, box.x))
    for up in (0.0, 1.5 * size, 3.0 * size):
        found = Box(left, low - up - 0.8 * size, wide, size)
        if found.y > top and not is_on(found):
            ink, halo = theme.ink, theme.ground
            canvas.text(left, low - up, words, size=size, color=ink, bold=True, outline=halo)
            return found
    return None


# Names of neurons, and errors of outputs.

LETTERS = 14  # of a line of a name
FEW = 3.0  # least room for two lines, in sizes of letters
PAST_NUMBER = 3.4  # from the middle of a ball to its name, in letters: right of a long number
SPOKEN = 0.7  # brightness from which on a neuron has words
EDGE = 9.0  # pixels by which names may leave the box of the network
FROM_GAIN = 6.0  # pixels by which the number of a bead is left of it
BESIDE_BALL, BESIDE_BEAD = 5.5, 7.0  # maximum width of words below a neuron or bead, in radii
LEAST_SQUARE = 8.0  # pixels of half a square from which its number is below it


def name_lines(name: str) -> str:
    """Return a name in two lines if it has more than LETTERS letters."""
    if len(name) <= LETTERS:
        return name
    blanks = [place for place, letter in enumerate(name) if letter == " "]
    place = min(blanks, key=lambda place: abs(2 * place - len(name)), default=LETTERS)
    return f"{name[:place]}\n{name[place:].strip()}"


def write_names(
    canvas: Canvas2D,
    theme: Theme,
    line: Neurons,
    places: Sequence[int],
    balls: Sequence[Ball],
    bright: Sequence[float],
    box: Box,
    numbers: Sequence[float],
    signs: tuple[Color, Color],
    *,
    is_first: bool,
) -> None:
    """Write the names of neurons: below squares and single neurons, otherwise next to them.

    The names of color channels are above their neurons. Long names take two lines if these fit.

    Args:
        places: indices of the visible neurons, in the order of `balls`
        bright: brightness of each visible neuron
        numbers: known values of the neurons; below squares they are also written
        signs: colors of negative and positive numbers
        box: bounding box of the network
        is_first: whether the cubes are to the right of the neurons; names then go on the left if
            they fit
    """
    size, margin, spaces = 12.0 * canvas.scale, 6.0 * canvas.scale, len(balls) - 1
    count = len(line.names)
    given = [line.names[place] for place in places if place < count]
    least: float = min([ball.radius for ball in balls])
    first, last = balls[0], balls[spaces]
    apart = math.hypot(last.x - first.x, last.y - first.y) / spaces if spaces else math.inf
    is_named, is_told = len(given) > 0, line.told and len(numbers) == len(balls)
    has_room = apart > 2.0 * least + 1.45 * size  # below squares
    is_large = not line.square or least >= LEAST_SQUARE * canvas.scale
    is_told = is_told and has_room and is_large and not line.aside
    if apart < size or not (is_named or is_told):
        return
    edge = EDGE * canvas.scale
    names = given if apart < FEW * size else [name_lines(name) for name in given]
    start: float = min([ball.x - ball.radius for ball in balls])
    said: list[str] = []
    room = (BESIDE_BALL if line.square else BESIDE_BEAD) * least
    if is_told and is_named:
        exact = [rounded(each) if each == round(each) else short(each) for each in numbers]
        least_words = [min([rounded(each), short(each)], key=len) for each in numbers]
        for words in (exact, least_words):  # the first ones that fit
            said = [f"{names[i]} = {words[i]}" for i in range(len(numbers))]
            if canvas.widest(said, size=size, bold=True) < room:
                break
    elif is_told:
        said = [short(each) for each in numbers]
    if said and canvas.widest(said, size=size, bold=True) < room:
        names = said
    wide = canvas.widest([*names, ""], size=size, bold=True)
    if not names or (line.aside > 0.0 and start - margin < wide):
        return
    has_room = has_room and wide < room
    has_numbers = not line.square and len(balls) <= MOST and least >= SMALLEST_BALL * canvas.scale
    below, left = (
        not spaces or (line.told and has_room and not line.aside),
        is_first and (line.aside > 0.0 or start - margin - wide >= box.x - edge),
    )
    written: list[tuple[Point, str, Color, str, float]] = []
    is_color = line.is_color
    for i, name in enumerate(names):
        ball, anchor = balls[i], "center"
        color: Color = theme.ink
        if not is_named:
            color = signs[1 if numbers[i] > 0.0 else 0] if abs(numbers[i]) >= 0.005 else theme.quiet
        x = max(min(ball.x, box.right + edge - 0.5 * wide), ball.x - wide) if below else ball.x
        x -= FROM_GAIN * canvas.scale if said and not line.square else 0.0
        y, far = ball.y + ball.radius + 1.3 * size, ball.radius + margin
        if has_numbers and not left:
            far = max(far, PAST_NUMBER * size)
        if line.scores:
            far = SCORED * ball.unit
        if bright[i] < SPOKEN or (
            is_color and apart < ball.radius + max(ball.radius + size, 1.8 * size)
        ):
            continue  # the rings have the colors
        if is_color:
            y, color = ball.y - ball.radius - 0.55 * size, theme.channels[i]
        elif not below:
            x, anchor = (
                (x - far, "right") if left else (min(x + far, box.right + edge - wide), "left")
            )
            y = ball.y + (0.36 - (0.675 if "\n" in name else 0.0)) * size
        written.append(((x, y), name, color, anchor, ball.depth))
    halo, inks = theme.ground, [*theme.channels] if is_color else [theme.ink, theme.quiet]
    for ink in [*inks, *signs]:
        some = [each for each in written if each[2] == ink]
        if some:
            canvas.texts(
                [each[0] for each in some],
                [each[1] for each in some],
                size=size,
                color=ink,
                bold=True,
                anchor=some[0][3],
                outline=halo,
                depth=[each[4] for each in some],
            )


# Labels of a graph: the operation above each node, its name and its gradient below.

LARGEST, SMALLEST = 17.0, 9.0  # letter sizes in pixels
PART = 0.62  # fraction of the radius for an operation, on small stages
NEARLY = 0.65  # fraction of SMALLEST that most labels must reach; otherwise nothing is written
SMALLER = 0.85  # letters of a gradient where space is short
DIGITS, TINY = 3, 0.01  # digits of a gradient; smaller ones have one digit less
WIDEST = 2.0  # maximum width of a gradient with its word, in cells
AWAY = 0.3  # distance from a node to its words, in letters


# A line of words in space: its center, words, size, color and whether it is bold.
SpaceWords = tuple[float, float, str, float, str, bool]


def sign_words(
    canvas: Canvas2D,
    theme: Theme,
    signs: Sequence[Sign],
    balls: Sequence[Ball],
    gradients: Sequence[float | None],
) -> list[SpaceWords]:
    """Return the labels around the nodes of a graph; empty if they would be illegible.

    Args:
        gradients: gradients already computed in this step, None for others
    """
    least = SMALLEST * canvas.scale
    found: list[SpaceWords] = []
    units = sorted([ball.unit for ball in balls if math.isfinite(ball.unit)])
    if not units or not PART * units[len(units) // 2] >= NEARLY * least:
        return []
    for sign, ball, gradient in zip(signs, balls, gradients, strict=True):
        if not math.isfinite(ball.x + ball.y):
            continue
        size: float = max(least, min(LARGEST * canvas.scale, PART * ball.unit))
        low = ball.y + ball.radius + (AWAY + 0.8) * size
        if sign.above:
            high = ball.y - ball.radius - AWAY * size
            found.append((ball.x, high, sign.above, size, theme.ink, True))
        if sign.below:
            found.append((ball.x, low, sign.below, size, theme.ink, True))
            low += 1.15 * size
        if gradient is not None:
            lines = (1 if sign.above else 0) + (1 if sign.below else 0)
            room: float = (sign.apart * ball.unit - 2.0 * ball.radius) / size - lines
            found.append(gradient_words(canvas, theme, ball, gradient, low, size, room))
    return found


def gradient_words(
    canvas: Canvas2D,
    theme: Theme,
    ball: Ball,
    gradient: float,
    low: float,
    size: float,
    room: float,
) -> SpaceWords:
    """Return the label of a gradient, placed below the other labels of its node.

    Args:
        room: free space before the next node, in lines of text
    """
    words = rounded(gradient, DIGITS if abs(gradient) >= TINY else DIGITS - 1)
    named, x, letters = text("graph.gradient", gradient=words), ball.x, size
    if room > 1.0 + 2.0 * AWAY and canvas.measure(named, size=size) < WIDEST * ball.unit:
        words = named
    else:
        letters, low = SMALLER * size, low - (1.0 - SMALLER) * size
    if room < SMALLER:
        x += ball.radius + AWAY * size + 0.5 * canvas.measure(words, size=letters)
        low = ball.y
    return x, low, words, letters, theme.accent, False


# Numbers in spheres and on cubes.

SMALLEST_BALL = 7.5  # minimum radius in pixels of a sphere with a number
BIG, LITTLE = 14.0, 12.0  # letter sizes of numbers in spheres
BALL_WIDE, LEFT = 3.6, 0.9  # in radii of a sphere: width of its number, part left of it
MOST = 128  # maximum numbers in a line
FACE_PART = 0.30  # letter size relative to the height of a cube's face
LEAST_LETTERS, LARGEST_LETTERS = 12.0, 16.0
LINE = 1.1  # line spacing, in letter sizes
LEAST_TENTH = 0.1  # smallest number with one digit less if two digits do not fit
ASIDE = 0.25  # maximum shift of a number to stay on its cube, relative to the width of its face
ON_CUBES: dict[str, float] = {
    "share": 1.35,  # maximum width of a number, in cells: wider than small cubes
    "shortest": 1.9,  # width of a number such as "-.1", in letter sizes
    "most": 400,  # maximum numbers in a picture, and cubes of a sum
    "searched": 100_000,  # cubes of a wall: larger walls are not searched for visible cubes
    "before": 0.875,  # depth of a number, from the center of a cell: in front of neighboring cubes
    "apart": 2.0,  # pixels between two numbers
    "seen": 0.45,  # visible part of a number around its center, relative to its width
}


def numbers_in(
    canvas: Canvas2D, values: Sequence[float], radius: float, digits: int
) -> tuple[list[str], float, list[float]]:
    """Return the labels of spheres, their font size and shifts; empty if the spheres are too small.

    A number wider than its sphere is shifted to the right, since products arrive from the left.
    """
    if radius < SMALLEST_BALL * canvas.scale or len(values) > MOST:
        return [], 0.0, []
    words = [short(value, digits) for value in values]
    widest = canvas.widest(words, size=10.0, bold=True) / 10.0
    room = BALL_WIDE * radius / (widest * canvas.scale)
    size = canvas.scale * (BIG if BIG * widest * canvas.scale <= 2.0 * radius else LITTLE)
    wide = [canvas.measure(each, size=size, bold=True) for each in words]
    aside = [max(0.0, 0.5 * each - LEFT * radius) for each in wide]
    return (words, size, aside) if room >= LITTLE else ([], 0.0, [])


def write_numbers_in(
    canvas: Canvas2D,
    balls: Sequence[Ball],
    fronts: Sequence[float],
    numbers: Sequence[float],
    bright: Sequence[float],
    hatch: Sequence[float],
    fills: Sequence[Any],
    inks: tuple[Color, Color],
    digits: int,
) -> None:
    """Write numbers in the visible neurons of a layer, and hatch saturated neurons.

    Args:
        fronts: depths just in front of the neurons
        bright: brightness of the neurons
        numbers: numbers of the first neurons
        hatch: saturation of each neuron from 0 to 1, or empty
        fills: colors of the neurons, or empty
        inks: colors of the letters and of their halos
        digits: decimals of the numbers
    """
    least: float = min([ball.radius for ball in balls])
    words, size, aside = numbers_in(canvas, numbers, least, digits)
    hatched = [i for i, part in enumerate(hatch) if part > 0.0]
    if hatched:
        canvas.discs(
            [(balls[i].x, balls[i].y) for i in hatched],
            [0.92 * balls[i].radius for i in hatched],
            [fills[i] for i in hatched],
            depth=[fronts[i] for i in hatched],
            hatch=[0.75 * hatch[i] for i in hatched],
        )
    said = [i for i in range(len(words)) if bright[i] >= SPOKEN]
    wide = canvas.widest([*words, ""], size=size, bold=True)
    if len(balls) > 1 and abs(balls[1].y - balls[0].y) < size:  # next to each other
        said = said if abs(balls[1].x - balls[0].x) >= 0.9 * wide else []
    for i in said:
        if i in hatched:  # numbers need a plain background
            under = canvas.measure(words[i], size=size, bold=True) + 6.0
            canvas.box(
                balls[i].x + aside[i] - 0.5 * under,
                balls[i].y - 0.6 * size,
                under,
                1.2 * size,
                fills[i],
                radius=0.5 * size,
                depth=fronts[i],
            )
    if said:
        canvas.texts(
            [(balls[i].x + aside[i], balls[i].y + 0.36 * size) for i in said],
            [words[i] for i in said],
            size=size,
            bold=True,
            color=inks[0],
            anchor="center",
            depth=[fronts[i] for i in said],
            outline=inks[1],
        )


# Bars of outputs: distance from a neuron to the zero line, and the longest bar, in cells; their
# height in pixels.
ZERO, LONGEST, BAR = 1.55, 0.7, 18.0
SAID = 2.8  # maximum width of the words below, in widths of all bars


def draw_scores(
    canvas: Canvas2D,
    theme: Theme,
    balls: Sequence[Ball],
    numbers: Sequence[float],
    signs: tuple[Color, Color],
) -> None:
    """Draw the outputs as horizontal bars from a zero line, negative ones to the left.

    Args:
        signs: colors of negative and positive numbers
    """
    scale, size, count = canvas.scale, LITTLE * canvas.scale, len(balls)
    first, last = balls[0], balls[count - 1]
    half, zero = 0.5 * (last.y - first.y) / (count - 1), first.x + ZERO * first.unit
    known = [number if math.isfinite(number) else 0.0 for number in numbers]
    longest, high = LONGEST * first.unit, min(BAR * scale, 1.2 * half)
    right = zero - longest - 5.0 * scale
    if len(known) > 1:
        end, low = first.x + SCORED * first.unit, last.y + half + 1.2 * size
        ranked = sorted(known)
        lead = typeset(short(ranked[count - 1] - ranked[count - 2]))
        how = "below" if ranked[count - 1] < 0.0 else "how"
        shapes = [text(f"scores.{how}", lead=lead), text(f"scores.{how}.short")]
        fits = [each for each in shapes if canvas.measure(each, size=size) < SAID * (end - first.x)]
        if fits:
            canvas.text(end, low, fits[0], size=size, color=theme.lit, anchor="right")
    ends = [(zero, first.y - half), (zero, last.y + half)]
    canvas.line(ends, theme.quiet, width=1.4 * scale)
    top, color = ends[0][1] - 0.4 * size, theme.quiet
    canvas.text(zero, top, "0", size=size, color=color, bold=True, anchor="center")
    levels = [ball.y for ball in balls]
    bars_from(canvas, zero, levels, known, (longest, high), signs)
    digits = digits_of_scores(known)
    words = [short(number, digits) for number in known]
    if len(words) > 0 and right - canvas.widest(words, size=size) > first.x - first.radius:
        for ball, said in zip(balls, words, strict=False):
            canvas.text(
                right, ball.y + 0.36 * size, said, size=size, color=theme.ink, anchor="right"
            )


def draw_way(canvas: Canvas2D, balls: Sequence[Ball], color: Color) -> None:
    """Draw the line of a skip connection, with an arrow at its end."""
    if not math.isfinite(sum([ball.x + ball.y for ball in balls])):
        return
    points, depths = [(ball.x, ball.y) for ball in balls], [ball.depth for ball in balls]
    units, count = sorted([ball.unit for ball in balls]), len(balls)
    middle: float = 0.5 * (units[(count - 1) // 2] + units[count // 2])
    width = min(3.0, max(1.4, 0.12 * middle))
    canvas.line(points, color, width=width, depth=depths)
    canvas.arrows(points[-2], points[-1], color, width=width, head=5.0 * width, depth=depths[-1])


@dataclass(frozen=True)
class Number:
    """The number of a cube: its text, center, font size, depth, and half its width and height.

    Attributes:
        share: for a number on a cube's face, its fraction of the strongest color; None draws a halo
        plain: whether the letters are thin, as for numbers above many cubes
    """

    words: str
    x: float
    y: float
    size: float
    depth: float
    wide: float
    high: float
    share: float | None = None
    plain: bool = False

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom edges of the number."""
        return self.x - self.wide, self.y - self.high, self.x + self.wide, self.y + self.high

    @property
    def box(self) -> Box:
        return Box(self.x - self.wide, self.y - self.high, 2.0 * self.wide, 2.0 * self.high)


def choices(
    before: float | None,
    value: float | None,
    faces: Sequence[int],
    rank: int,
    digits: int,
) -> list[tuple[str, int, bool]]:
    """Return candidate texts for a cube, each with a face and whether it must be visible.

    Args:
        before, value: the cube's number before and after a step, or None if unknown
        faces: faces in order of decreasing visible size
        rank: 0 for a marked cube, whose number has any size; 1 for a cube of an explained sum,
            whose number is shown if its cell is at least as wide as a letter; 2 for other cubes
        digits: decimals of the number

    The best candidate comes first.
    """
    every: list[str] = []
    if before is not None and value is not None:
        every += [old_and_new(before, value), *changed(before, value)]
    every += [] if value is None else [short(value, digits)]
    if value is not None and rank > 1 and abs(value) >= LEAST_TENTH:
        every.append(short(value, 1))
    own = faces[: 3 - rank // 2]
    seen = [(words, face, True) for words in every for face in own]
    return seen + [(words, face, False) for words, face, _ in seen if rank < 2]


def fitted(
    canvas: Canvas2D,
    words: str,
    rank: int,
    front: tuple[float, float],
    aside: float,
    near: float,
    room: tuple[float, float, float, float],
) -> Number | None:
    """Return text on a face of a cube in the largest letters that fit; None if they are too small.

    Args:
        front: center of the face
        aside: distance of that center to the left of the cube's center
        near: depth of the text, in front of the cube
        room: height of the face, width and height available for the number, and width of the face
    """
    scale, lines = canvas.scale, words.split("\n")
    high, wide, tall, _ = room
    letter = canvas.measure(words, size=10.0, bold=True) / 10.0
    line, least = LINE * len(lines), LEAST_LETTERS * scale
    size = min(max(FACE_PART * high, least), LARGEST_LETTERS * scale, wide / letter, tall / line)
    if len(lines) == 1 and (rank == 0 or (rank == 1 and wide >= least)):
        size = max(size, least)
    if not size >= least:
        return None
    # Numbers wider than their face stay on the cube.
    face = wide * high / tall if tall > 0.0 else 0.0
    more = min(max(0.0, 0.5 * (letter * size - face)), ASIDE * face, abs(aside))
    x = front[0] + (more if aside > 0.0 else -more)
    depth = -1.0 if rank < 2 else max(near, -1.0)
    return Number(words, x, front[1], size, depth, 0.5 * letter * size, 0.5 * line * size)


# On the face of a cube in a row, at rest: letters of a fixed size above a width of the face; pixels
# beside the number; and the minus sign, shortened to fit.
FACE_LETTERS = (12.0, 20.0), (14.0, 44.0), (16.0, 60.0), (24.0, 90.0)
BESIDE_NUMBER, SHORT_MINUS = 1.5, "–"
# Above a cube: minimum pixels of its cells, and between rows; and face heights from the center to
# the top.
CELL, BETWEEN, ABOVE = 24.5, 16.0, 0.7


def on_face(
    canvas: Canvas2D,
    value: float,
    front: tuple[float, float],
    near: float,
    room: tuple[float, float, float, float],
    share: float,
    *,
    said: str = "",
) -> Number | None:
    """Return the number of a cube on its face; None if it is wider than the face.

    Args:
        front, near, room: as for `fitted`
        share: the number as a fraction of the strongest color
        said: text to write; by default the number with one or two digits
    """
    scale, own, size = canvas.scale, room[3], 0.0
    for letters, least in FACE_LETTERS:
        size = letters * scale if own >= least * scale else size
    if size == 0.0:
        return None
    x, y, depth = front[0], front[1], max(near, -1.0)
    shapes = [short(value), f"{value:.1f}"] if abs(value) >= 1.0 else [short(value)]
    for shape in [said] if said else shapes:
        words = shape.replace("-", SHORT_MINUS)
        wide = canvas.measure(words, size=size)
        if wide <= own - BESIDE_NUMBER * scale:
            return Number(words, x, y, size, depth, 0.5 * wide, 0.5 * LINE * size, share)
    return None


def above_face(
    canvas: Canvas2D,
    value: float,
    front: tuple[float, float],
    face: float,
    room: float,
) -> Number | None:
    """Return the number of a small cube, placed above it; None if it does not fit.

    Args:
        front: center of the cube's face
        face: height of the face
        room: available width
    """
    size = FACE_LETTERS[0][0] * canvas.scale
    high = LINE * size
    for said in [short(value), f"{value:.1f}"] if abs(value) >= 1.0 else [short(value)]:
        words = said.replace("-", SHORT_MINUS)
        wide = canvas.measure(words, size=size)
        if room >= CELL * canvas.scale and wide <= room + 0.6 * canvas.scale:
            y = front[1] - ABOVE * face - 0.5 * high
            return Number(words, front[0], y, size, -1.0, 0.5 * wide, 0.5 * high, plain=True)
    return None


def write_on_faces(canvas: Canvas2D, numbers: Sequence[Number], theme: Theme) -> None:
    """Write numbers on cube faces, each in the ink with more contrast and without a halo."""
    inks = [theme.on_face(each.share or 0.0) for each in numbers]
    for color in theme.on_faces:
        own = [each for each, ink in zip(numbers, inks, strict=True) if ink == color]
        for letters, _ in FACE_LETTERS:
            size = letters * canvas.scale
            some = [each for each in own if each.size == size]
            if some:
                canvas.texts(
                    [(each.x, each.y + 0.36 * size) for each in some],
                    [each.words for each in some],
                    size=size,
                    color=color,
                    anchor="center",
                    depth=[each.depth for each in some],
                )


def around_ball(ball: tuple[float, float, float], scale: float) -> Number:
    """Return an empty number that covers a sphere, its number and its brackets.

    Args:
        ball: center and radius of the sphere
    """
    x, y, radius = ball
    reach = radius + (OUTSIDE + BRACKET) * scale
    right = max(reach, (BALL_WIDE - LEFT) * radius)
    return Number("", x + 0.5 * (right - reach), y, 0.0, 0.0, 0.5 * (right + reach), reach)


def is_free(numbers: Sequence[Number], x: float, y: float, reach: float) -> bool:
    """Return whether no number is within `reach` of a point."""
    away = [max(abs(x - each.x) - each.wide, abs(y - each.y) - each.high) for each in numbers]
    return min(away, default=reach) >= reach


def write_number(canvas: Canvas2D, number: Number, color: Color, halo: Color) -> None:
    """Write the lines of a number, centered at its position."""
    lines, size = number.words.split("\n"), number.size
    for place, words in enumerate(lines):
        low = number.y + (0.36 + LINE * (place - 0.5 * (len(lines) - 1))) * size
        canvas.text(
            number.x,
            low,
            words,
            size=size,
            bold=not number.plain,
            color=color,
            anchor="center",
            depth=number.depth,
            outline=halo,
        )


# The boundary between two answers, and the line to a point on their map.

TO_SHOWN, ON_MAP, CASING = 2.6, 1.4, 1.0  # pixels of a line to the shown point, of its part on the
# map, and of its dark sides
OUTSIDE_MAP = 0.04  # fraction of a map, from its upper and lower edge to the line of a point on it


@dataclass
class Border:
    """The boundary between two answers, such as yes and no.

    Attributes:
        middle: the number at the boundary
        reach: distance from the middle to the strongest colors
        answers: names of the answers below and above the middle
    """

    middle: float
    reach: float
    answers: list[str]


def way_on_map(box: Box, across: float, up: float) -> list[Point]:
    """Return a line from the left edge of a map to a point given as fractions of its size.

    A line to a point on the upper or lower edge runs outside the map.
    """
    x = box.x + min(1.0, max(0.0, across)) * box.width
    y = box.bottom - min(1.0, max(0.0, up)) * box.height
    outside = OUTSIDE_MAP if up <= 0.0 else -OUTSIDE_MAP if up >= 1.0 else 0.0
    level = y + outside * box.height
    return [(box.x, level), (x, level), (x, y)]


def draw_to_shown(
    canvas: Canvas2D, path: Sequence[Point], casing: Color, color: Color, wide: float = TO_SHOWN
) -> None:
    """Draw the line from an answer to its point on the map, in two colors."""
    for paint, width in ((casing, wide + 2.0 * CASING), (color, wide)):
        canvas.line(path, paint, width=width * canvas.scale)
