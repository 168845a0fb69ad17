"""Opened rows: of long rows of kernels one is large, under the images that it looks at.

It is the row that adds most to the answer, layer by layer from the last one back: a row of the last
layer, the row before it whose image adds most to that one, and so on to a filter at the start,
which has its numbers. An orange way leads from one to the next.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.scene.annotations import on_face, write_on_faces
from scalarviz.scene.focus import chosen_neurons, chosen_rows
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import SCORED
from scalarviz.scene.layout.ways import BEHIND, ROUND, Point, SeenFan, Stroke, rounded
from scalarviz.scene.lines import draw_signed
from scalarviz.scene.neuron_images import draw_fields, draw_inputs

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import CubeValues, FrameData
    from scalarviz.scene.layout.plates import Fan, Layout
    from scalarviz.scene.lines import Carried

HIGH = 2.75  # cells of the height of a panel
LETTERS, LARGE, LINE = 12.0, 14.0, 18.0  # pixels of letters, of a score, and from line to line
PER_LINE, LARGEST, LEAST = 8, 32.0, 5.0  # images side by side; pixels of one, most and least
PAD, HEAD, GAP, APART = 10.0, 31.0, 17.0, 3.5  # around what is in a panel, its head, from images to
# kernels, and between two images
STRONG, FRAME, RIM, CORNER = (
    3.0,
    1.4,
    "aa",
    8.0,
)  # width of the way and of a frame, alpha and corner
FACE, HALF, UNDER = (
    34.0,
    0.76,
    18.0,
)  # pixels of a field with its number; half an image by its ring;
# pixels from an image at the start to the panel of a filter
ZERO, LEFT = 16.0, 8.0  # pixels above bars, and left of the panel of a filter
LEVEL = 5.0  # from the way above images, and below words, to an image


@dataclass
class Opened:
    """A row that adds most: of the fan with this number, and the column that adds most to it.

    total  its sum; `added`, what that column adds
    """

    number: int
    unit: int
    column: int
    total: float
    added: float


def opened_rows(frame_data: FrameData, carried: Callable[[Fan], Carried]) -> list[Opened]:
    """Return the rows that add most, the first layer first, as far back as sums are known.

    The mouse, or what is pinned, opens others.
    """
    layout: Layout = frame_data.layout
    found: list[Opened] = []
    column = -1
    for number in range(len(layout.fans) - 1, -1, -1):
        fan = layout.fans[number]
        numbers = carried(fan) if fan.form == "open" or (column >= 0 and fan.is_tiled) else None
        if numbers is None or not numbers.summed or column >= fan.units:
            continue
        totals = [sum(terms) for terms in numbers.terms]
        units = [fan.unit_of(row) for row in chosen_rows(frame_data)]
        into = [layout.fan_into(neuron) for neuron in chosen_neurons(frame_data)]
        units += [each[1] for each in into if each is not None and each[0] is fan]
        chosen = [unit for unit in units if unit is not None]
        unit = chosen[0] if chosen else column if column >= 0 else totals.index(max(totals))
        terms = numbers.terms[unit][: fan.inputs_count]
        column = terms.index(max(terms))
        found = [Opened(number, unit, column, totals[unit], terms[column]), *found]
    return found


def draw_opened_rows(
    canvas: Canvas2D,
    theme: Theme,
    frame_data: FrameData,
    fans: Sequence[SeenFan | None],
    carried: Callable[[Fan], Carried],
) -> list[Box]:
    """Draw all rows that are opened, and the way from one to the next; return their panels.

    fans  the layers as they are seen
    """
    starts: list[Point] = []
    panels: list[Box] = []
    for opened in opened_rows(frame_data, carried):
        seen = fans[opened.number]
        if seen is None:
            continue
        if frame_data.layout.fans[opened.number].form != "open":
            panels += draw_filter(canvas, theme, frame_data, seen, opened)
            continue
        panel = panel_of(frame_data, fans, opened.number, seen)
        if panel.width <= 0.0:
            continue
        ends = draw_opened(canvas, theme, frame_data, seen, opened, panel)
        if starts and ends:
            x, y = starts[0]
            into, top = ends[0]
            lane, level = 0.5 * (x + PAD * canvas.scale + panel.x), top - LEVEL * canvas.scale
            path = [(x, y), (lane, y), (lane, level), (into, level), (into, top)]
            own, width = rounded(path, ROUND * canvas.scale), STRONG * canvas.scale
            way = Stroke("sum", own, -1, -1, opened.added, width, 0.5 * width, 1.0)
            draw_signed(canvas, theme, [(way, BEHIND)])
        starts, panels = ends[1:], [*panels, panel]
    return panels


def panel_of(
    frame_data: FrameData, fans: Sequence[SeenFan | None], number: int, seen: SeenFan
) -> Box:
    """Return the box of an opened row: above all rows, as far as the images or bars behind them."""
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
    """Return the pixels from a row to the next."""
    return seen.ends[1][1] - seen.ends[0][1] if len(seen.ends) > 1 else seen.cell


def draw_panel(canvas: Canvas2D, theme: Theme, box: Box, fill: str | None, corner: float) -> None:
    """Draw a panel, or a frame without a fill."""
    look, rim = FRAME * canvas.scale, corner * canvas.scale
    canvas.box(
        box.x, box.y, box.width, box.height, fill, radius=rim, outline=theme.lit + RIM, line=look
    )


def draw_opened(
    canvas: Canvas2D,
    theme: Theme,
    frame_data: FrameData,
    seen: SeenFan,
    opened: Opened,
    panel: Box,
) -> list[Point]:
    """Draw a row large under the images that it looks at, and a frame around it where it stands.

    Return the top of the image that adds most, and the right side of what comes of all; nothing if
    there is no room for images.
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
    room, x = right - left + 0.6 * pad, left
    if is_score:
        shapes = [
            text("opened.score", count=count, weights=fan.pixels),
            text("opened.score.short", count=count),
        ]
        name = after.names[opened.unit] if len(after.names) > 0 else ""
        bold = LARGE * scale
        canvas.text(left, base, name, size=bold, color=theme.ink, bold=True)
        x += canvas.measure(name, size=bold, bold=True) + size
        said = short(opened.total)
        canvas.text(right, base, said, size=bold, color=theme.ink, bold=True, anchor="right")
        room = right - x - canvas.measure(said, size=bold, bold=True)
    write_first(canvas, theme, shapes, (x, base), room, lit=True)
    foot = 0.0 if is_score else min(2.4 * size, 0.25 * panel.height)
    per_line, step, high, gap, side = count, 0.0, 0.0, 0.0, 0.0
    for across in (min(count, PER_LINE), count):  # in one line where there is no height for more
        lines, per_line = (count + across - 1) // across, across
        step, high = (right - left) / across, (panel.height - HEAD * scale - foot) / lines
        gap = GAP * scale if lines == 1 and high > 4.0 * GAP * scale else APART * scale
        wide, tall = step - min(APART * scale, 0.14 * step), high - gap - 2.0 * APART * scale
        side = min(LARGEST * scale, wide, 0.5 * tall)
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
    x, y = places[opened.column]
    draw_panel(canvas, theme, Box(x, y, side, side).inside(-FRAME * scale), None, 2.0)
    if is_score:
        return [(x + 0.5 * side, y), (panel.right, base)]
    if gap > size:
        for at, top in places:
            low = top + side + 0.5 * gap + 0.36 * size
            canvas.text(at + 0.5 * side, low, "×", size=size, color=theme.quiet, anchor="center")
    corner = right - foot, panel.bottom - foot - 0.5 * pad
    draw_inputs(canvas, after, [opened.unit], [corner], foot, frame_data, theme)
    result = Box(corner[0], corner[1], foot, foot)
    draw_panel(canvas, theme, result.inside(-FRAME * scale), None, 2.0)
    for i, words in enumerate(text("opened.added").split("\n")):
        base = result.y + 0.5 * foot + 0.36 * size + (i - 0.5) * 0.84 * LINE * scale
        write_first(canvas, theme, [words], (left, base), result.x - left - size, lit=False)
    return [(x + 0.5 * side, y), (result.right, result.y + 0.5 * foot)]


def write_first(
    canvas: Canvas2D, theme: Theme, shapes: list[str], place: Point, room: float, *, lit: bool
) -> None:
    """Write the first of some texts that fits, if one does."""
    size = LETTERS * canvas.scale
    fits = [each for each in shapes if canvas.measure(each, size=size) <= room]
    if fits:
        x, y = place
        canvas.text(x, y, fits[0], size=size, color=theme.lit if lit else theme.soft)


def shares_of(frame_data: FrameData, fan: Fan, unit: int) -> list[float]:
    """Return the weights of a row as shares of the strongest color."""
    layout: Layout = frame_data.layout
    cubes: CubeValues = frame_data.cubes
    top = float(cubes.color_scales[layout.plate_number(fan.weights)]) or 1.0
    return [float(cubes.colors[row]) / top for row in fan.rows_of(unit)]


def draw_filter(
    canvas: Canvas2D, theme: Theme, frame_data: FrameData, seen: SeenFan, opened: Opened
) -> list[Box]:
    """Draw a filter of the only image at the start with its numbers, below that image.

    Return its panel, if there is room.
    """
    layout: Layout = frame_data.layout
    scale, size = canvas.scale, LETTERS * canvas.scale
    fan = layout.fans[opened.number]
    plate = layout.plates[layout.plate_number(fan.weights)]
    rows, columns = plate.grid.size
    if seen.count > 1 or fan.before > 0:
        return []
    _, y, radius = seen.starts[0]
    half, pad = 2.0 * HALF * radius, 0.7 * PAD * scale
    left, right, top = LEFT * scale, seen.column(0) - pad, y + half + UNDER * scale
    face = min(FACE * scale, (right - left - 2.0 * pad) / columns)
    lines = text("opened.filter.how", count=rows * columns).split("\n")
    widest = max([canvas.measure(line, size=size) for line in lines])
    lines = lines if widest <= right - left - 1.5 * pad else []
    line = LINE * scale
    box = Box(left, top, right - left, 2.0 * line + rows * face + line * len(lines))
    low = max([feet[0][1] for feet in seen.feet])
    if face < LEAST * scale or box.bottom > low:
        return []
    (at, foot), wide = seen.feet[opened.unit][0], seen.cell * plate.cell[0] * columns
    high = seen.cell * plate.cell[1] * rows
    chosen = Box(at, foot - high, wide, high)
    level, rim = chosen.y + 0.5 * high, CORNER * scale
    ends = [(right, min(max(level, top + rim), box.bottom - rim)), (at, level)]
    canvas.line(ends, theme.lit + RIM, width=FRAME * scale)
    draw_panel(canvas, theme, chosen.inside(-2.0 * FRAME * scale), None, 2.0)
    draw_panel(canvas, theme, box, theme.panel[:7], CORNER)
    write_first(
        canvas,
        theme,
        [text("opened.filter"), text("opened.filter.short")],
        (left + pad, top + 0.8 * line),
        right - left - 1.5 * pad,
        lit=True,
    )
    shares, first = shares_of(frame_data, fan, opened.unit), 0.5 * (left + right - columns * face)
    draw_fields(canvas, theme, shares, [(first, top + 1.2 * line)], face, columns)
    cubes: CubeValues = frame_data.cubes
    numbers = [float(cubes.colors[row]) for row in fan.rows_of(opened.unit)]
    written = [
        on_face(
            canvas,
            number,
            (first + (i % columns + 0.5) * face, top + 1.2 * line + (i // columns + 0.5) * face),
            -1.0,
            (face, face, face, face),
            shares[i],
        )
        for i, number in enumerate(numbers)
    ]
    write_on_faces(canvas, [each for each in written if each is not None], theme)
    for i, said in enumerate(lines):
        low = top + 1.2 * line + rows * face + (i + 1.0) * line
        canvas.text(left + pad, low, said, size=size, color=theme.soft if i else theme.ink)
    return [box]
