"""Opened rows: one long row of kernels per layer, enlarged with the images that it reads.

The opened row of the last layer is the one with the largest sum. In each earlier layer, it is the
row whose image contributes most to the opened row of the next layer. A filter of the first layer
shows its numbers. A line connects the opened rows.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import draw_push, on_face, write_on_faces
from scalarviz.scene.blame import SeenLayer, draw_row_tags
from scalarviz.scene.first_row import is_called
from scalarviz.scene.focus import chosen_unit
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import SCORED
from scalarviz.scene.layout.ways import (
    BEHIND,
    ROUND,
    OpenRow,
    Point,
    SeenFan,
    Stroke,
    draw_sheet,
    has_sheet,
    rounded,
    sheet_of,
    sheet_over,
    sum_words,
)
from scalarviz.scene.lines import draw_signed
from scalarviz.scene.marks import numbers_below
from scalarviz.scene.neuron_images import draw_fields, draw_inputs
from scalarviz.scene.telling import printed
from scalarviz.story.panel_words import (
    PrintedStep,
    adding_up,
    closing_digits,
    digits_of_factors,
    digits_of_scores,
)

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import CubeValues, FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Fan, Layout, Neurons
    from scalarviz.scene.lines import Carried
    from scalarviz.story.facts import Neuron

HIGH = 2.75  # height of a panel in cells
LETTERS, LARGE, LINE = 12.0, 14.0, 18.0  # pixels of letters, of a score, and line spacing
PER_LINE, LARGEST, LEAST = 8, 32.0, 5.0  # images per line; maximum and minimum pixels of one
PAD, HEAD, GAP, APART = 10.0, 31.0, 17.0, 3.5  # padding of a panel, its head, from images to
# kernels, and between two images
STRONG, FRAME, RIM, CORNER = (
    3.0,
    1.4,
    "aa",
    8.0,
)  # width of the way and of a frame, alpha and corner
FACE, HALF, UNDER = (
    37.0,
    0.76,
    18.0,
)  # pixels of a field with its number; half an image by its ring;
# pixels from an image at the start to the panel of a filter
LINED, TRIED, FITS = 0.86, 12, (4, 5)  # lines from products to those below, pixels tried, and
# letters of their numbers and of weights that fit
ZERO, LEFT = 16.0, 8.0  # pixels above bars, and left of the panel of a filter
ADDED, UNDER_BAR = 4.0, 10.0  # pixels of the bar of a contribution, and of its whole room
HALF_CELL, OVER_B = 0.45, 9.0  # from the foot of b to its center in cells, to its name in pixels
PUSHED = 5.0  # pixels from a field to the position of its arrow above a cube
LEAST_FACE, NUMBER_UP = 20.0, 0.28  # minimum field beside pixels; its number over an arrow
MOST_BARS, FEW = 3, 2  # written bars of a score, and digits
SAME, GREYS = 1e-4, "0123456789abcdef"  # tolerance of equal numbers; gray digits
LEVEL = 5.0  # distance of the path above images, and below words


@dataclass
class Opened:
    """The row of a layer with the largest contribution, and its main column.

    Attributes:
        total: sum of the row
        terms: contribution of each column to the sum
    """

    number: int
    unit: int
    column: int
    total: float
    terms: list[float]


def opened_rows(frame_data: FrameData, carried: Callable[[Fan], Carried]) -> list[Opened]:
    """Return the rows with the largest contributions, as far as known, the first layer first.

    Hovered, pinned and explained items open other rows instead.
    """
    layout: Layout = frame_data.layout
    found: list[Opened] = []
    told: list[Neuron] = [] if frame_data.told is None else [*frame_data.told.thread]
    column = -1
    for number in range(len(layout.fans) - 1, -1, -1):
        fan = layout.fans[number]
        is_told = len(units_told(layout.neurons[fan.after], told)) > 0
        is_filter = fan.is_tiled and (column >= 0 or is_told)
        numbers = carried(fan) if fan.form == "open" or is_filter else None
        if numbers is None or not numbers.summed or column >= fan.units:
            continue
        totals = [sum(terms) for terms in numbers.terms]
        units = [chosen_unit(fan, frame_data), *units_told(layout.neurons[fan.after], told)]
        chosen = [unit for unit in units if unit is not None]
        unit = chosen[0] if chosen else column if column >= 0 else totals.index(max(totals))
        terms = numbers.terms[unit][: fan.inputs_count]
        column = terms.index(max(terms))
        lines = [layout.neurons[fan.before]]
        if number > 0 and layout.fans[number - 1].units == fan.inputs_count:  # smaller images
            lines.append(layout.neurons[layout.fans[number - 1].after])
        column = [*[unit for line in lines for unit in units_told(line, told)], column][0]
        found = [Opened(number, unit, column, totals[unit], terms), *found]
    return found


def draw_opened_row(
    canvas: Canvas2D,
    theme: Theme,
    see: Projection,
    frame_data: FrameData,
    fans: Sequence[SeenFan | None],
    row_of: Callable[[int, int], OpenRow | None],
    signs: tuple[Color, Color],
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
) -> list[Box]:
    """Draw a row of small cubes with its numbers on a sheet; return the box of the sheet.

    It is the row that is hovered or pinned. Without one, it is the strip on the main path.

    Args:
        fans: the rows of each layer in the picture, or None
        row_of: function that returns the row of a layer and unit, or None if its sum is unknown
        signs: colors of negative and positive numbers
    """
    layout: Layout = frame_data.layout
    whole, scale, marks = [*layout.fans], canvas.scale, frame_data.marks
    first = fans[0] if frame_data.names_row and whole else None
    is_new = first is not None and is_called(first, scale, see.camera, asked=marks)
    away = frame_data.moment, frame_data.held
    if is_new or [each for each in away if each is not None]:
        return []
    rows = [(number, chosen_unit(fan, frame_data)) for number, fan in enumerate(whole)]
    path = [(number, unit) for number, unit, _ in frame_data.thread]
    strips = [each for each in path if whole[each[0]].form == "strip"]
    for number, unit in [*rows, *[each for each in strips if whole[each[0]].units > 1], *strips]:
        seen = fans[number]
        if unit is None or seen is None or whole[number].is_direct or unit >= len(seen.feet):
            continue
        box, feet = None, seen.feet[unit]
        if seen.form == "strip":
            box = sheet_over(see.box, fans, number, scale)
        elif has_sheet(seen, scale):
            box = sheet_of(see.box, len(feet), feet[0][1], scale)
        row = None if box is None else row_of(number, unit)
        if box is None or row is None:
            continue
        for each in numbers_below(see, layout, scale):  # none is cut
            if each.meets(box):
                canvas.box(each.x, each.y, each.width, each.height, theme.ground)
        draw_sheet(canvas, theme, seen, box, row, signs, draw_cubes)
        return [box]
    return []


def units_told(line: Neurons, told: Sequence[Neuron]) -> list[int]:
    """Return the units of a line that belong to the given neurons."""
    pixels = line.shape[1] * line.shape[2] if line.shape else 1
    return [place // pixels for name, place in told if name in line.buffers]


def draw_opened_rows(
    canvas: Canvas2D,
    theme: Theme,
    frame_data: FrameData,
    fans: Sequence[SeenFan | None],
    carried: Callable[[Fan], Carried],
    known: Mapping[str, FloatArray],
) -> list[Box]:
    """Draw all opened rows and the line between them; return the boxes of their panels.

    Args:
        fans: the rows of each layer in the picture, or None
        known: known activations, by buffer name
    """
    layout: Layout = frame_data.layout
    starts: list[Point] = []
    panels = draw_norm(canvas, theme, frame_data, fans, known)
    place: FilterPlace | None = None
    for opened in opened_rows(frame_data, carried):
        seen = fans[opened.number]
        if seen is None:
            continue
        fan = layout.fans[opened.number]
        if fan.form != "open":
            plate = layout.plates[layout.plate_number(fan.weights)]
            place = filter_place(frame_data, fan, opened, plate.grid.size, known)
            panels += draw_filter(canvas, theme, frame_data, seen, opened, place)
            following = fans[opened.number + 1] if opened.number + 1 < len(fans) else None
            if place is not None and place.pooled >= 0 and following is not None:
                draw_pooled(canvas, theme, seen, following, opened.unit, place)
            continue
        panel = panel_of(frame_data, fans, opened.number, seen)
        if panel.width <= 0.0:
            continue
        ends = draw_opened(canvas, theme, frame_data, seen, opened, panel, known, place)
        place = None
        if starts and ends:
            x, y = starts[0]
            into, top = ends[0]
            lane, level = 0.5 * (x + PAD * canvas.scale + panel.x), top - LEVEL * canvas.scale
            path = [(x, y), (lane, y), (lane, level), (into, level), (into, top)]
            own, width = rounded(path, ROUND * canvas.scale), STRONG * canvas.scale
            way = Stroke("sum", own, -1, -1, opened.terms[opened.column], width, 0.5 * width, 1.0)
            draw_signed(canvas, theme, [(way, BEHIND)])
        starts, panels = ends[1:], [*panels, panel]
    blame = None if frame_data.told is None else frame_data.told.blame
    if blame is None or frame_data.walked is not None:
        return panels
    pairs = zip(layout.fans, fans, strict=True)
    layers = [
        SeenLayer(fan, seen, []) for fan, seen in pairs if seen is not None and fan.form == "open"
    ]
    return [*panels, *draw_row_tags(canvas, theme, blame, layers)]


def panel_of(
    frame_data: FrameData, fans: Sequence[SeenFan | None], number: int, seen: SeenFan
) -> Box:
    """Return the box of an opened row: above all rows, up to the images or bars that follow."""
    layout: Layout = frame_data.layout
    pad = PAD * seen.scale
    following = fans[number + 1] if number + 1 < len(fans) else None
    right, middle, radius = seen.ends[0]
    if following is not None:
        right, _, radius = following.starts[0]
    is_score = layout.neurons[layout.fans[number].after].scores
    right += pad + (SCORED * seen.cell if is_score else 2.0 * HALF * radius)
    if following is not None and following.form == "open":
        right = min(right, following.feet[0][0][0] - 1.4 * pad)
    left, low = seen.feet[0][0][0] - pad, middle - 0.5 * pitch_of(seen) - 4.0 * seen.scale
    high = HIGH * seen.cell - (ZERO * seen.scale if is_score else 0.0)  # bars have a word there
    return Box(left, low - HIGH * seen.cell, right - left, high)


def pitch_of(seen: SeenFan) -> float:
    """Return the distance between rows in pixels."""
    return seen.ends[1][1] - seen.ends[0][1] if len(seen.ends) > 1 else seen.cell


def draw_panel(canvas: Canvas2D, theme: Theme, box: Box, fill: str | None, corner: float) -> None:
    """Draw a panel, or only its frame if `fill` is None."""
    look, rim = FRAME * canvas.scale, corner * canvas.scale
    canvas.box(
        box.x, box.y, box.width, box.height, fill, radius=rim, outline=theme.lit + RIM, line=look
    )


def draw_frame(canvas: Canvas2D, theme: Theme, box: Box) -> None:
    """Draw a frame over an image, visible on light and dark pixels."""
    line = FRAME * canvas.scale
    for color, part, far in ((theme.ground, 3.2, 3.2), (theme.lit, 1.2, 2.2)):
        own = box.inside(-far * line)
        canvas.box(own.x, own.y, own.width, own.height, None, outline=color, line=part * line)


def draw_opened(
    canvas: Canvas2D,
    theme: Theme,
    frame_data: FrameData,
    seen: SeenFan,
    opened: Opened,
    panel: Box,
    known: Mapping[str, FloatArray],
    place: FilterPlace | None,
) -> list[Point]:
    """Draw an enlarged row with its images, and a frame around the original row.

    Returns the point above the image with the largest contribution and the point right of the
    result; empty if the images do not fit.
    """
    layout: Layout = frame_data.layout
    scale, size = canvas.scale, LETTERS * canvas.scale
    fan, pad, count = layout.fans[opened.number], PAD * scale, seen.count
    after, pitch = layout.neurons[fan.after], pitch_of(seen)
    left, right, base = panel.x + pad, panel.right - pad, panel.y + 0.38 * HEAD * scale + 0.4 * size
    row = Box(panel.x, seen.ends[opened.unit][1] - 0.5 * pitch, panel.width, pitch)
    draw_panel(canvas, theme, row, None, 0.5 * CORNER)
    ends = [(panel.right, panel.bottom - CORNER * scale), (panel.right, row.y + CORNER * scale)]
    canvas.line(ends, theme.lit + RIM, width=FRAME * scale)
    draw_panel(canvas, theme, panel, theme.panel[:7], CORNER)
    is_score = len(after.shape) == 0
    shapes = [text("opened.row", count=count), text("opened.row.short")]
    framed = "" if place is None or place.pooled < 0 else typeset(short(place.found))
    room, x = right - left + 0.6 * pad, left
    if is_score:
        shapes = [
            text("opened.score", weights=fan.pixels),
            text("opened.score.short", weights=fan.pixels),
        ]
        name = after.names[opened.unit] if len(after.names) > 0 else ""
        bold = LARGE * scale
        canvas.text(left, base, name, size=bold, color=theme.ink, bold=True)
        x += canvas.measure(name, size=bold, bold=True) + size
        scores = known.get(after.values, known.get(after.sums, ()))
        said = short(opened.total, digits_of_scores([float(each) for each in scores]))
        canvas.text(right, base, said, size=bold, color=theme.ink, bold=True, anchor="right")
        room = right - x - canvas.measure(said, size=bold, bold=True) - 0.8 * size
    write_first(canvas, theme, shapes, (x, base), room, lit=True)
    foot = min(2.4 * size, 0.25 * panel.height)
    if is_score:
        foot = 1.3 * size if panel.height > 8.0 * size else 0.0
    per_line, step, high, gap, side = count, 0.0, 0.0, 0.0, 0.0
    for across in (min(count, PER_LINE), count):  # in one line without room for more
        lines, per_line = (count + across - 1) // across, across
        step, high = (right - left) / across, (panel.height - HEAD * scale - foot) / lines
        has_gap = lines == 1 and high > 4.0 * GAP * scale and not is_score
        gap = GAP * scale if has_gap else APART * scale
        wide, tall = step - min(APART * scale, 0.14 * step), high - gap - 2.0 * APART * scale
        under = min(UNDER_BAR * scale, 0.3 * tall) if is_score else 0.0
        under += 1.2 * size if is_score and lines == 1 and tall > 5.0 * size else 0.0
        side = min(LARGEST * scale, wide, 0.5 * (tall - under))
        if side >= LEAST * scale:
            break
    if side < LEAST * scale:
        return []
    begin = panel.y + HEAD * scale + 0.4 * max(0.0, high - 2.0 * side - gap - 8.0 * scale)
    places = [
        (left + (i % per_line + 0.5) * step - 0.5 * side, begin + i // per_line * high)
        for i in range(count)
    ]
    draw_inputs(canvas, layout.neurons[fan.before], range(count), places, side, frame_data, theme)
    tiles = layout.plates[layout.plate_number(fan.weights)].grid.size
    below = [(x, y + side + gap) for x, y in places]
    cell = side / max(tiles[0], tiles[1])
    draw_fields(canvas, theme, shares_of(frame_data, fan, opened.unit), below, cell, tiles[1])
    most: float = max([1e-12, *[abs(each) for each in opened.terms]])
    bars: list[tuple[Stroke, tuple[float, float]]] = []
    for (x, y), term in zip(below, opened.terms, strict=True) if is_score else []:
        long, low = max(side * abs(term) / most, scale), y + side + 5.0 * scale
        ends = [(x, low), (x + long, low)]
        bars.append((Stroke("sum", ends, -1, -1, term, ADDED * scale, 0.0, 1.0), BEHIND))
    draw_signed(canvas, theme, bars)
    told = None if frame_data.told is None else frame_data.told.bars
    is_added = told is not None and told.total is not None  # in the panel, by its own terms
    if is_score and not is_added:
        sizes = [abs(each) for each in opened.terms]
        best = sizes.index(max(sizes))
        said = typeset(f"{opened.terms[best]:.2f}")
        x, y = below[best]
        half = 0.5 * canvas.measure(said, size=size)
        x, low = x + 0.5 * side, y + side + 5.0 * scale + size
        if per_line < count:  # beside it
            x, low = x - 0.5 * side - half, low - 0.64 * size
        x = min(max(x, panel.x + half + 2.0 * scale), panel.right - half - 2.0 * scale)
        if low < panel.bottom:
            look = theme.ground
            canvas.text(x, low, said, size=size, color=theme.ink, anchor="center", outline=look)
    x, y = places[opened.column]
    draw_panel(canvas, theme, Box(x, y, side, side).inside(-FRAME * scale), None, 2.0)
    if place is not None and framed:
        pixel = side / place.across
        corner = x + place.pooled % place.across * pixel, y + place.pooled // place.across * pixel
        draw_frame(canvas, theme, Box(*corner, pixel, pixel))
        if y - size > base:
            low, ink = y - 0.3 * size, theme.lit
            canvas.text(x + 0.5 * side, low, framed, size=size, color=ink, anchor="center")
    if is_score:
        low = panel.bottom - 0.6 * size
        sums = [""] if is_added else largest_words(opened)
        write_first(canvas, theme, sums, (left, low), right - left, lit=False)
        return [(x + 0.5 * side, y), (panel.right, base)]
    if gap > size:
        for at, top in places:
            low = top + side + 0.5 * gap + 0.36 * size
            canvas.text(at + 0.5 * side, low, "×", size=size, color=theme.quiet, anchor="center")
    steps = [(after, text("opened.added", count=count))]
    following = [layout.neurons[each.before] for each in layout.fans if each.before >= fan.after]
    small = following[0] if len(following) > 0 else after
    if is_largest(known, after, small):
        parts = after.shape[1] * after.shape[2] // (small.shape[1] * small.shape[2])
        steps.append((small, text("opened.largest", count=parts)))
    end, level = left, panel.bottom - foot - 0.5 * pad
    for line, words in steps:
        own, wide = words.split("\n"), canvas.widest(words.split("\n"), size=size)
        for i, said in enumerate(own if wide + foot < 0.5 * (right - left) else []):
            base = level + 0.5 * foot + 0.36 * size + (i - 0.5) * 0.84 * LINE * scale
            canvas.text(end, base, said, size=size, color=theme.soft)
        if line is steps[len(steps) - 1][0]:
            end = right - foot
        else:
            end += min(wide + 0.5 * size, 0.5 * (right - left) - foot)
        draw_inputs(canvas, line, [opened.unit], [(end, level)], foot, frame_data, theme)
        draw_panel(canvas, theme, Box(end, level, foot, foot).inside(-FRAME * scale), None, 2.0)
        end += foot + 0.7 * size
    return [(x + 0.5 * side, y), (right, level + 0.5 * foot)]


def is_largest(known: Mapping[str, FloatArray], line: Neurons, small: Neurons) -> bool:
    """Return whether smaller images contain the maxima of a line's images, as after max pooling."""
    own, less = known.get(line.values, ()), known.get(small.values, ())
    if len(small.shape) == 0 or not 0 < len(less) < len(own):
        return False
    return max([float(each) for each in own]) == max([float(each) for each in less])


def largest_words(opened: Opened) -> list[str]:
    """Return the largest terms of a sum with the rest, as alternative texts, the longest first."""
    counts = range(min(MOST_BARS, len(opened.terms) - 1), 0, -1)
    return [*[sum_words(opened.terms, opened.total, most) for most in counts], ""]


def has_two_digits(numbers: Sequence[str]) -> bool:
    """Return whether numbers are printed with two decimals."""
    return len(numbers) > 0 and len(numbers[0].partition(".")[2]) == FEW


def write_first(
    canvas: Canvas2D, theme: Theme, shapes: list[str], place: Point, room: float, *, lit: bool
) -> None:
    """Write the first of several texts that fits."""
    size = LETTERS * canvas.scale
    fits = [each for each in shapes if canvas.measure(each, size=size) <= room]
    if fits:
        x, y = place
        canvas.text(x, y, fits[0], size=size, color=theme.lit if lit else theme.soft)


def shares_of(frame_data: FrameData, fan: Fan, unit: int) -> list[float]:
    """Return the weights of a row as fractions of the strongest color."""
    cubes: CubeValues = frame_data.cubes
    top = float(cubes.color_scales[frame_data.layout.plate_number(fan.weights)]) or 1.0
    return [float(cubes.colors[row]) / top for row in fan.rows_of(unit)]


@dataclass
class FilterPlace:
    """A pixel of a filter's output, and how it is computed.

    Attributes:
        pixel: index of the pixel
        corner: row and column of the first input pixel that the filter reads
        pixels: input pixels, 0 outside the image
        weights: weights of the filter
        terms: sum of the products, and the bias
        found: value of the output pixel
        lines: factors and products as text, correct as printed
        bends: whether negative sums become 0
        pooled: index of the pixel of a smaller image that takes this value, or -1
        across: pixels per row of the smaller image
    """

    pixel: int
    corner: tuple[int, int]
    pixels: list[float]
    weights: list[float]
    terms: list[float]
    found: float
    lines: list[tuple[str, str, float]]
    bends: bool
    pooled: int
    across: int


def filter_place(
    frame_data: FrameData,
    fan: Fan,
    opened: Opened,
    tiles: tuple[int, int],
    known: Mapping[str, FloatArray],
) -> FilterPlace | None:
    """Return the explained pixel of a filter's output, or the largest one.

    Returns None if its value differs from the one computed from the pixels and weights.
    """
    layout: Layout = frame_data.layout
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    results = known.get(after.values, known.get(after.sums, ()))
    inputs = known.get(before.values, ())
    if len(results) == 0 or len(inputs) == 0 or len(before.shape) == 0 or len(after.shape) == 0:
        return None
    high, wide = before.shape[1], before.shape[2]
    rows, columns = after.shape[1], after.shape[2]
    above, left = rows - high + tiles[0] - 1, columns - wide + tiles[1] - 1  # at both edges
    count = rows * columns
    own = [float(results[opened.unit * count + i]) for i in range(count)]
    told: list[Neuron] = [] if frame_data.told is None else [*frame_data.told.thread]
    read = [place % count for name, place in told if name in after.buffers][:1]
    inner = [i for i in range(count) if 0 <= i // columns - above // 2 <= high - tiles[0]]
    inner = [i for i in inner if 0 <= i % columns - left // 2 <= wide - tiles[1]]
    inner = sorted(inner, key=lambda i: -own[i])
    following = [layout.neurons[each.before] for each in layout.fans if each.before >= fan.after]
    small = following[0] if len(following) > 0 else after
    across = small.shape[2] if is_largest(known, after, small) else 0
    pooled = [-1] * count
    for i in [*read, *inner] if across > 0 else []:
        pooled[i] = pooled_at(known, after, small, opened.unit, i)
    weights = [float(frame_data.cubes.colors[row]) for row in fan.rows_of(opened.unit)]
    bias, bends = opened.total - sum(opened.terms), min(own) >= 0.0
    found: FilterPlace | None = None
    for pixel in read or [*[i for i in inner if pooled[i] >= 0][:TRIED], *inner[:1]]:
        top, first = pixel // columns - above // 2, pixel % columns - left // 2
        pixels: list[float] = []
        for i in range(tiles[0] * tiles[1]):
            y, x = top + i // tiles[1], first + i % tiles[1]
            inside = 0 <= y < high and 0 <= x < wide
            pixels.append(float(inputs[y * wide + x]) if inside else 0.0)
        products = [x * w for x, w in zip(pixels, weights, strict=True)]
        terms = [sum(products), bias]
        whole = max(0.0, sum(terms)) if bends else sum(terms)
        if abs(whole - own[pixel]) > SAME * (1.0 + abs(whole)):
            continue
        if own[pixel] != 0.0:  # rounded as it is where pixels are chosen
            terms[0] = own[pixel] - bias
        lines = adding_up(pixels, weights, products, terms[0])
        given = pixel, (top, first), pixels, weights, terms, own[pixel], lines, bends
        place = FilterPlace(*given, pooled[pixel], across)
        found = place if found is None else found
        letters = max([len(each[0]) for each in lines]), max([len(each[1]) for each in lines])
        numbers = zip(pixels, weights, lines, strict=True)
        follow = [
            digits_of_factors(x, w, round(100.0 * each[2])) is not None for x, w, each in numbers
        ]
        fits = all(follow) and letters[0] <= FITS[0] and letters[1] <= FITS[1]
        if fits and has_two_digits(printed(terms, own[pixel])):
            return place
    return found


def pooled_at(
    known: Mapping[str, FloatArray], line: Neurons, small: Neurons, unit: int, pixel: int
) -> int:
    """Return the pixel of a smaller image that has the value of this pixel; -1 if it differs."""
    rows, columns, wide = small.shape[1], small.shape[2], line.shape[2]
    y, x = pixel // wide * rows // line.shape[1], pixel % wide * columns // wide
    place, count = y * columns + x, line.shape[1] * wide
    own, less = known[line.values][unit * count + pixel], known[small.values]
    return place if float(less[unit * rows * columns + place]) == float(own) else -1


def draw_filter(
    canvas: Canvas2D,
    theme: Theme,
    frame_data: FrameData,
    seen: SeenFan,
    opened: Opened,
    place: FilterPlace | None,
) -> list[Box]:
    """Draw a filter of the only input image at one of its positions, below that image.

    Returns the box of its panel in a list; empty if it does not fit.
    """
    layout: Layout = frame_data.layout
    cubes: CubeValues = frame_data.cubes
    scale, size = canvas.scale, LETTERS * canvas.scale
    fan = layout.fans[opened.number]
    plate = layout.plates[layout.plate_number(fan.weights)]
    rows, columns = plate.grid.size
    if seen.count > 1 or fan.before > 0:
        return []
    middle, y, radius = seen.starts[0]
    half, pad, line = 2.0 * HALF * radius, 0.7 * PAD * scale, LINE * scale
    left, right, top = LEFT * scale, seen.column(0) - pad, y + half + UNDER * scale
    room = max([feet[0][1] for feet in seen.feet]) - top
    sums = [] if place is None else sums_of(canvas, place, right - left - 1.5 * pad)
    face = min(FACE * scale, (right - left - 2.0 * pad) / columns)
    products = len(sums) > 1 and place is not None
    lines = len(sums) + (LINED * rows if products else 0.0)
    short_face = min(face, (room - (2.6 + lines) * line) / (2.0 * rows))
    if place is None or short_face < LEAST_FACE * scale:
        sums, place, short_face, products = [], None, face, False
    face = short_face
    high = 1.6 * line + rows * face
    if place is not None:
        high = (2.6 + lines) * line + 2.0 * rows * face
    box = Box(left, top, right - left, high)
    if face < LEAST * scale or high > room + 1.0:
        return []
    (at, foot), wide = seen.feet[opened.unit][0], seen.cell * plate.cell[0] * columns
    tall = seen.cell * plate.cell[1] * rows
    chosen = Box(at, foot - tall, wide, tall)
    level, rim = chosen.y + 0.5 * tall, CORNER * scale
    ends = [(right, min(max(level, top + rim), box.bottom - rim)), (at, level)]
    canvas.line(ends, theme.lit + RIM, width=FRAME * scale)
    draw_panel(canvas, theme, chosen.inside(-2.0 * FRAME * scale), None, 2.0)
    draw_panel(canvas, theme, box, theme.panel[:7], CORNER)
    shares, first = shares_of(frame_data, fan, opened.unit), 0.5 * (left + right - columns * face)
    base, room = top + 0.8 * line, right - left - 1.5 * pad
    low = top + 1.15 * line
    heads = [text("opened.filter"), text("opened.filter.short")]
    if place is not None:
        write_first(
            canvas,
            theme,
            [text("opened.reads"), text("picture.in")],
            (left + pad, base),
            room,
            lit=True,
        )
        draw_greys(canvas, place, (first, low), face, columns)
        low += rows * face
        base, low = low + 0.78 * line, low + 1.05 * line
        heads = [text("opened.times"), "×"]
        pixel = 2.0 * half / layout.neurons[fan.before].shape[2]
        corner = middle - half + place.corner[1] * pixel, y - half + place.corner[0] * pixel
        around = Box(corner[0], corner[1], columns * pixel, rows * pixel)
        draw_frame(canvas, theme, around)
        x, level, radius = seen.ends[opened.unit]
        across = layout.neurons[fan.after].shape[2]
        reach, pixel = 2.0 * HALF * radius, 4.0 * HALF * radius / across
        x, level = (
            x - reach + place.pixel % across * pixel,
            level - reach + place.pixel // across * pixel,
        )
        draw_frame(canvas, theme, Box(x, level, pixel, pixel))
        feet, cube = seen.feet[opened.unit], HALF_CELL * seen.cell
        x, level = feet[len(feet) - 1][0] + cube, feet[len(feet) - 1][1] - cube - OVER_B * scale
        canvas.text(x, level, "b", size=size, color=theme.lit, bold=True, anchor="center")
    write_first(canvas, theme, heads, (left + pad, base), room, lit=True)
    draw_fields(canvas, theme, shares, [(first, low)], face, columns)
    pushes, most_push, told = cubes.pushes, cubes.longest_push, frame_data.told
    rows_told = [] if told is None else [fan.unit_of(row) for row in told.rows]
    asks = pushes is not None and most_push is not None and opened.unit in rows_told
    written = [
        on_face(
            canvas,
            float(cubes.colors[row]),
            (
                first + (i % columns + 0.5) * face,
                low + (i // columns + (NUMBER_UP if asks else 0.5)) * face,
            ),
            -1.0,
            (face, face, face, face),
            shares[i],
            said=place.lines[i][1] if products and place is not None else "",
        )
        for i, row in enumerate(fan.rows_of(opened.unit))
    ]
    write_on_faces(canvas, [each for each in written if each is not None], theme)
    if asks and pushes is not None and most_push is not None:
        for i, row in enumerate(fan.rows_of(opened.unit)):
            x, foot = first + i % columns * face, low + (i // columns + 1.0) * face
            share = float(pushes[row]) / most_push
            if abs(share) > 1e-5:
                draw_push(canvas, theme, Box(x, foot + PUSHED * scale, face, face), -0.7 * share)
    low += rows * face
    for i, each in enumerate(place.lines if products and place is not None else []):
        at, base = first + (i % columns + 0.5) * face, low + (i // columns * LINED + 0.85) * line
        said = typeset(short(each[2]))
        canvas.text(at, base, said, size=size, color=theme.ink, anchor="center")
    low += LINED * rows * line if products else 0.0
    for words, number in sums:
        low += line
        canvas.text(left + pad, low, words, size=size, color=theme.soft)
        canvas.text(right - pad, low, number, size=size, color=theme.ink, bold=True, anchor="right")
    low = box.bottom + line
    if cubes.frozen is not None and cubes.frozen[fan.rows_of(opened.unit)[0]]:
        shapes = text("opened.frozen").split("\n")
        if max([canvas.measure(each, size=size) for each in shapes]) < right - left - pad:
            for words in shapes:
                canvas.text(left + pad, low, words, size=size, color=theme.lit)
                low += line
    return [Box(box.x, box.y, box.width, low - line - box.y)]


def draw_pooled(
    canvas: Canvas2D,
    theme: Theme,
    seen: SeenFan,
    following: SeenFan,
    unit: int,
    place: FilterPlace,
) -> None:
    """Mark the pixel of a smaller image that takes a filter's value, the largest of several."""
    x, y, radius = following.starts[unit]
    reach, pixel = 2.0 * HALF * radius, 4.0 * HALF * radius / place.across
    left, top = x - reach, y - reach
    at = left + place.pooled % place.across * pixel, top + place.pooled // place.across * pixel
    draw_frame(canvas, theme, Box(*at, pixel, pixel))
    size = LETTERS * canvas.scale
    said = text("opened.pooled", found=typeset(short(place.found)))
    low = max(y + reach, seen.ends[unit][1] + 2.0 * HALF * seen.ends[unit][2]) + 1.2 * size
    wide = canvas.measure(said, size=size)
    if pitch_of(seen) > 4.0 * HALF * seen.ends[unit][2] + 1.2 * size:
        canvas.text(x + reach - wide, low, said, size=size, color=theme.lit, outline=theme.ground)


def sums_of(canvas: Canvas2D, place: FilterPlace, room: float) -> list[tuple[str, str]]:
    """Return the steps from a filter's products to its output: text and number of each.

    If space is short, only the result is returned.
    """
    size, numbers = LETTERS * canvas.scale, printed(place.terms, sum(place.terms))
    if len(numbers) == 0:
        numbers = [typeset(short(each)) for each in [*place.terms, sum(place.terms)]]
    names = [
        text("opened.products", count=len(place.pixels)),
        text("opened.b"),
        text("opened.found"),
    ]
    sums = [(name, number) for name, number in zip(names, numbers, strict=True)]
    widest = max([canvas.measure(f"{name} {number}", size=size) for name, number in sums])
    if widest > room:
        name = f"{names[1]} ="
        is_wide = canvas.measure(f"{name} {numbers[2]}", size=size, bold=True) > room
        return [("=" if is_wide else name, numbers[2])]
    return [*sums, (text("opened.bends"), "")] if place.bends else sums


# The arithmetic of a normalized row, in words.

BESIDE_LAYER, BELOW_LAYER = 14.0, 22.0  # pixels from a layer to words below it
AROUND = 26.0, 32.0  # pixels around the units of a row above and below


def norm_words(
    numbers: Sequence[float], evened: float, by: Sequence[float], out: float
) -> list[str]:
    """Return text that explains how normalization computes the last of several numbers.

    Args:
        numbers: numbers of all neurons
        evened: normalized value of the last number
        by: gain and shift of the last number
        out: result after gain and shift
    """
    count, bent = len(numbers), numbers[len(numbers) - 1]
    mean = sum(numbers) / count
    spread = (bent - mean) / evened
    values, few = [bent, mean, spread, evened, *by, out], [FEW for _ in range(7)]
    steps: list[PrintedStep] = [
        (3, [0, 1, 2], lambda v: (v[0] - v[1]) / v[2]),
        (6, [3, 4, 5], lambda v: v[0] * v[1] + v[2]),
    ]
    said = [
        short(each, digits)
        for each, digits in zip(values, closing_digits(values, steps, few), strict=True)
    ]
    added = f"{said[4]} + {said[5]}".replace("+ -", "− ")
    return [
        text("norm.bent", bent=said[0]),
        text("norm.mean", count=count, mean=said[1]),
        text("norm.spread", spread=said[2], evened=said[3]),
        text("norm.scaled", scaled=typeset(added), out=said[6]),
    ]


def draw_norm(
    canvas: Canvas2D,
    theme: Theme,
    frame_data: FrameData,
    fans: Sequence[SeenFan | None],
    known: Mapping[str, FloatArray],
) -> list[Box]:
    """Explain the normalization of the last neuron of the first layer; return the panel's boxes."""
    layout: Layout = frame_data.layout
    lines, scale, size = layout.neurons, canvas.scale, LETTERS * canvas.scale
    roles = ("gain", "shift")
    scaled = [each for each in layout.plates if each.role in roles][:2]
    evened = [i for i, line in enumerate(lines) if line.curve == "layer_norm"]
    if not evened or not frame_data.names_row or len(scaled) < 2 or len(fans) < 2:
        return []
    first, second = fans[0], fans[1]
    if first is None or second is None:
        return []
    buffers = [lines[i].values for i in range(evened[0] - 1, evened[0] + 2)]
    if [name for name in buffers if name not in known]:
        return []
    before, even, after = [[float(each) for each in known[name]] for name in buffers]
    unit = len(before) - 1
    by = [float(frame_data.weights[each.first + unit]) for each in scaled]
    words = norm_words(before, even[unit], by, after[unit]) if even[unit] != 0.0 else []
    left, top = second.left + BESIDE_LAYER * scale, second.feet[len(second.feet) - 1][0][1]
    top += BELOW_LAYER * scale
    wide = canvas.widest([*words, ""], size=size) + 2.0 * PAD * scale
    high = (len(words) + 0.5) * LINE * scale
    below: float = max([feet[0][1] for feet in first.feet]) + LINE * scale
    x, y, radius = second.starts[unit]
    room = second.ends[0][0] + 3.0 * second.cell - left  # to the bias of an upright row
    if not words or top + high > below + 2.0 * LINE * scale or wide > room:
        return []
    start = first.ends[unit][0]
    around, under = AROUND
    row = Box(start - PAD * scale, y - around * scale, x + radius - start + 1.5 * PAD * scale, 0.0)
    row = Box(row.x, row.y, row.width, (around + under) * scale)
    panel = Box(left, top, wide, high)
    draw_panel(canvas, theme, row, None, CORNER)
    level = min(max(y + under * scale, top), panel.bottom)
    canvas.line([(row.right, level), (left, level)], theme.lit + RIM, width=FRAME * scale)
    draw_panel(canvas, theme, panel, theme.panel[:7], CORNER)
    for i, said in enumerate(words):
        low = top + (i + 1.0) * LINE * scale
        canvas.text(left + PAD * scale, low, said, size=size, color=theme.ink)
    return [panel]


def draw_greys(
    canvas: Canvas2D, place: FilterPlace, corner: Point, face: float, columns: int
) -> None:
    """Draw pixels from 0 to 1 as gray squares with their numbers."""
    size = LETTERS * canvas.scale
    for i, pixel in enumerate(place.pixels):
        x, y = corner[0] + i % columns * face, corner[1] + i // columns * face
        digit = GREYS[round(15.0 * min(max(pixel, 0.0), 1.0))]
        ink = "#000000" if pixel > 0.5 else "#ffffff"
        canvas.box(x, y, 0.94 * face, 0.94 * face, f"#{digit}{digit}{digit}{digit}{digit}{digit}")
        middle, low = x + 0.47 * face, y + 0.47 * face + 0.36 * size
        said = f"{pixel:.0f}" if pixel in (0.0, 1.0) else place.lines[i][0]
        if canvas.measure(said, size=size) <= face:
            canvas.text(middle, low, said, size=size, color=ink, anchor="center")
