"""The legend: what color and size of a cube stand for, and what each mark in the picture means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import row_text, text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import CubeValues, FrameData
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.visuals.shaders import LEAST

SIZE = 240.0, 54.0  # logical pixels, with the line of text
SMALL = 245.0, 18.0  # of the one in a line, where there is no room for that
SQUARES = 90.0  # width of the squares in this one
STEPS = 9  # squares from the negative to the positive end
WIDE = 360.0  # pixels of a stage that has the explanation of arrows in its corner
# A stage must be so many times as wide and as high, for the large and the small one.
ROOM = (SIZE, 1.5, 5.5), (SMALL, 1.25, 5.0)


def legend_box(division: Division) -> Box | None:
    """Return the box of the legend, in the lower left corner of the stage; None without room."""
    inner, scale = division.inner, division.scale
    if not division.legend:
        return None
    for (wide, high), wider, higher in ROOM:
        if inner.width >= wider * wide * scale and inner.height >= higher * high * scale:
            return Box(inner.x, inner.bottom - high * scale, wide * scale, high * scale)
    return None


def draw_legend(canvas: Canvas2D, division: Division, cubes: CubeValues, theme: Theme) -> None:
    """Draw squares of the colors and sizes of cubes, with the numbers they stand for."""
    box, scale = legend_box(division), division.scale
    if box is None:
        return
    pad = 8.0 * scale
    around = box.x - pad, box.y + 2.0 * scale, box.width + 2 * pad, box.height + pad / 4
    canvas.box(*around, theme.ground + "d8", radius=pad)
    if box.height < SIZE[1] * scale:
        draw_line(canvas, box, cubes, theme, scale)
        return
    size = 13.0 * scale
    words = words_of(cubes)
    canvas.text(box.x, box.y + size, words, size=size, color=theme.quiet, outline=theme.ground)
    largest = 17.0 * scale
    middle = box.y + size + 6.0 * scale + largest / 2
    draw_squares(canvas, box.x, middle, box.width, largest, theme, scale)
    ends = ends_of(cubes)
    widths = [canvas.measure(each, size=size) for each in ends]
    if widths[0] + 0.5 * widths[1] > 0.22 * box.width:  # no room between the ends
        ends[1] = ends[3] = ""
    for i, words in enumerate(ends):
        anchor = "left" if not i else "right" if i == len(ends) - 1 else "center"
        at = box.x + i / (len(ends) - 1) * box.width
        canvas.text(
            at,
            box.bottom - 2.0 * scale,
            words,
            size=size,
            color=theme.quiet,
            anchor=anchor,
            outline=theme.ground,
        )


def draw_line(canvas: Canvas2D, box: Box, cubes: CubeValues, theme: Theme, scale: float) -> None:
    """Draw the legend in a line: the squares between their ends, then in short what they show."""
    size, gap = 13.0 * scale, 3.5 * scale
    write = partial(canvas.text, size=size, color=theme.quiet, outline=theme.ground)
    least, *_, most = ends_of(cubes)
    base = box.bottom - 0.3 * size
    x = box.x + write(box.x, base, least) + gap
    middle = base - 0.36 * size
    draw_squares(canvas, x, middle, SQUARES * scale, 10.0 * scale, theme, scale)
    x += SQUARES * scale + gap
    x += write(x, base, most) + 2.0 * gap
    words = canvas.fit(short_words_of(cubes), box.right - x, size=size)
    write(x, base, words)


def draw_squares(
    canvas: Canvas2D, x: float, y: float, wide: float, largest: float, theme: Theme, scale: float
) -> None:
    """Draw the squares from the negative to the positive end, from x on, around y."""
    numbers = np.linspace(-1.0, 1.0, STEPS)
    sides = largest * sides_of(numbers)
    middles = x + largest / 2 + (wide - largest) * (numbers + 1.0) / 2
    corners = np.stack([middles - sides / 2, y - sides / 2], axis=1)
    square = np.stack([sides, sides], axis=1)
    canvas.boxes(corners, square, theme.map(numbers), radius=1.5 * scale)


def ends_of(cubes: CubeValues) -> list[str]:
    """Return the numbers below the squares: at both ends, in the middle, and between."""
    scales = np.asarray(cubes.color_scales)
    most = cubes.common or (float(scales[0]) if len(scales) else 1.0)
    if cubes.per_layer and len(set(scales.tolist())) > 1:
        return [text("legend.least"), "", "0", "", text("legend.most")]
    return [f"{-most:g}", f"{-most / 2:g}", "0", f"+{most / 2:g}", f"+{most:g}"]


def short_words_of(cubes: CubeValues) -> str:
    """Return in short what colors stand for, or what is new of their scale."""
    if cubes.grown is not None:
        return text("legend.grown", before=f"{cubes.grown[0]:g}", after=f"{cubes.grown[1]:g}")
    return (
        text("legend.only_beyond", count=cubes.clipped) if cubes.clipped else name_of(cubes.color)
    )


def words_of(cubes: CubeValues) -> str:
    """Return what colors and sizes stand for, or that their scale has just grown."""
    if cubes.grown is not None:
        return text("legend.grown", before=f"{cubes.grown[0]:g}", after=f"{cubes.grown[1]:g}")
    color, other = name_of(cubes.color), name_of(cubes.size)
    words = text("legend.cube", color=color) if color == other else ""
    words = words or text("legend.both", color=color, size=other)
    return text("legend.beyond", words=words, count=cubes.clipped) if cubes.clipped else words


def sides_of(numbers: FloatArray) -> FloatArray:
    """Return the sides of cubes of these numbers, from -1 to 1, relative to the largest."""
    sides: FloatArray = LEAST + (1.0 - LEAST) * np.sqrt(np.abs(numbers))
    return sides


def explain_arrows(
    canvas: Canvas2D,
    division: Division,
    head: float,
    theme: Theme,
    messages: Sequence[Box] = (),
    covers: Callable[[Box], bool] = lambda box: False,
) -> None:
    """Write what arrows on cubes mean: at the end of the head, whose text ends at x = `head`.

    Without room there, it stands in an upper corner of the stage if that is wide, and if the words
    cover nothing of the network; the key to the marks has it, too. Everywhere they stand beside the
    boxes of `messages`.

    covers  returns whether words in a box of the stage would cover something
    """
    size, margin, words = 13.0 * division.scale, 20.0 * division.scale, text("legend.pushes")
    wide = canvas.measure(words, size=size)
    inner, in_head = division.inner, [box.x for box in messages if box.y < division.head.bottom]
    below = [box.bottom + size for box in messages if box.y >= division.head.bottom]
    x, y = min([division.head.right, *in_head]) - margin - wide, 28.0 * division.scale
    if not division.head.height or x < head + margin:
        y = max([inner.y, *below]) + size
        corners = [Box(x, y - size, wide, 1.3 * size) for x in (inner.x, inner.right - wide)]
        free = [corner for corner in corners if not covers(corner)]
        if inner.width < max(WIDE * division.scale, wide) or not free:
            return
        x = free[0].x
    canvas.text(x, y, words, size=size, color=theme.quiet, outline=theme.ground)


def name_of(channel: str) -> str:
    """Return the name of a channel."""
    return row_text(f"rows.channels.{channel}.name", channel)


# The key to the marks.

KEY_LETTERS, KEY_ROW, KEY_PAD = 13.0, 18.0, 12.0  # letters, height of a line, and margins in pixels
WIDEST_KEY = 560.0  # largest width in pixels
KEY_NAMES = 0.42  # largest part of it for the names
MOST_KEY_LINES = 3  # for what one mark means


def mark_rows(frame_data: FrameData) -> list[tuple[str, str]]:
    """Return the names of the marks that are in a picture, and what they mean."""
    names = ["cube", "sphere", "numbers", *extra_marks(frame_data)]
    rows = [(text(f"marks.{name}.name"), text(f"marks.{name}.meaning")) for name in names]
    cubes = frame_data.cubes
    if cubes.clipped:
        beyond = text("legend.only_beyond", count=cubes.clipped)
        rows.append((beyond, text("marks.beyond.meaning")))
    if cubes.grown is not None:
        before, after = (f"{each:g}" for each in cubes.grown)
        grown = text("legend.grown", before=before, after=after)
        rows.append((grown, text("marks.grown.meaning")))
    return rows


def extra_marks(frame_data: FrameData) -> Iterator[str]:
    """Yield the marks that not every picture has."""
    cubes, buffers = frame_data.cubes, frame_data.buffers
    if any((buffers.saturated[name] > 0.0).any() for name in buffers.saturated):
        yield "striped"
    if any((each > 0.0).any() for each in buffers.left_out.values()):
        yield "crossed"
    if buffers.flows:
        yield "dot"
    if cubes.pushes is not None:
        yield "arrow"
    if cubes.before is not None:
        yield "before"
    if cubes.frozen is not None:
        yield "frozen"


def draw_marks_key(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> Box | None:
    """Draw the key over the lower left part of the stage, above the legend; return its box."""
    if not frame_data.marks:
        return None
    scale, scene, legend = division.scale, division.scene, legend_box(division)
    size, row, pad = KEY_LETTERS * scale, KEY_ROW * scale, KEY_PAD * scale
    rows = mark_rows(frame_data)
    x = division.inner.x
    wide = min(WIDEST_KEY * scale, scene.right - x - pad)
    names = max(canvas.measure(name, size=size, bold=True) for name, _ in rows) + pad
    names = min(names, KEY_NAMES * wide)
    room = wide - names - 2.0 * pad
    told = [(name, canvas.wrap(about, room, MOST_KEY_LINES, size=size)) for name, about in rows]
    high = row * (1 + sum(len(lines) for _, lines in told)) + 1.5 * pad
    end = scene.bottom - pad if legend is None else legend.y - 0.5 * pad
    box = Box(x, max(scene.y, end - high), wide, high)
    canvas.box(*box.place, theme.panel[:7], radius=8.0, outline=theme.rim)
    base = box.y + pad + 0.7 * size
    title, left = text("marks.title"), box.x + pad
    canvas.text(left, base, title, size=size, color=theme.ink, bold=True)
    for name, lines in told:
        short = canvas.fit(name, names - 0.5 * pad, size=size, bold=True)
        canvas.text(left, base + row, short, size=size, color=theme.ink, bold=True)
        for line in lines:
            base += row
            canvas.text(left + names, base, line, size=size, color=theme.quiet)
    return box
