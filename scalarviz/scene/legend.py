"""The legend: what color and size of a cube stand for, and what each mark in the picture means.

Of plain numbers and texts: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from scalarviz.base.texts import row_text, text
from scalarviz.scene.layout.camera import Box

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import CubeValues
    from scalarviz.scene.layout.division import Division

SIZE = 240.0, 54.0  # logical pixels, with the line of text
SMALL = 245.0, 18.0  # of the one in a line, where there is no room for that
SQUARES = 90.0  # width of the squares in this one
STEPS = 9  # squares from the negative to the positive end
LETTERS = 13.0  # pixels
WIDE = 360.0  # pixels of a stage that has the explanation of arrows in its corner
# A stage must be so many times as wide and as high, for the large and the small one.
ROOM = (SIZE, 1.5, 5.5), (SMALL, 1.25, 5.0)


def legend_box(division: Division) -> Box | None:
    """Return the box of the legend, in the lower left corner of the stage; None without room."""
    inner: Box = division.inner
    scale: float = division.scale
    for size, wider, higher in ROOM if division.legend else ():
        wide, high = size[0] * scale, size[1] * scale
        if inner.width >= wider * wide and inner.height >= higher * high:
            return Box(inner.x, inner.bottom - high, wide, high)
    return None


def draw_legend(
    canvas: Canvas2D,
    division: Division,
    cubes: CubeValues,
    theme: Theme,
    least: float,
    told: tuple[str, ...] = (),
) -> None:
    """Draw squares of the colors and sizes of cubes, with the numbers they stand for.

    least  side of the smallest cube relative to the largest
    told   other words than `words_of` and `short_words_of` for what they show
    """
    scale: float = division.scale
    box, size, pad = legend_box(division), LETTERS * scale, 8.0 * scale
    if box is None:
        return
    wide, high = box.width + 2.0 * pad, box.height + pad / 4.0
    canvas.box(box.x - pad, box.y + 2.0 * scale, wide, high, theme.ground + "d8", radius=pad)
    words, short = told or (words_of(cubes), short_words_of(cubes))
    if box.height < SIZE[1] * scale:
        draw_line(canvas, box, ends_of(cubes), short, theme, scale, least)
        return
    write(canvas, box.x, box.y + size, words, theme, size)
    largest = 17.0 * scale
    middle = box.y + size + 6.0 * scale + largest / 2.0
    draw_squares(canvas, box.x, middle, box.width, largest, theme, scale, least)
    ends, base = ends_of(cubes), box.bottom - 2.0 * scale
    widths = [canvas.measure(each, size=size) for each in ends]
    if widths[0] + 0.5 * widths[1] > 0.22 * box.width:  # no room between the ends
        ends = [ends[0], "", ends[2], "", ends[4]]
    for i, each in enumerate(ends):
        anchor = "left" if i == 0 else "right" if i == len(ends) - 1 else "center"
        write(canvas, box.x + i / (len(ends) - 1) * box.width, base, each, theme, size, anchor)


def draw_line(
    canvas: Canvas2D,
    box: Box,
    ends: list[str],
    words: str,
    theme: Theme,
    scale: float,
    least: float,
) -> None:
    """Draw the legend in a line: the squares between their ends, then in short what they show."""
    size, gap = LETTERS * scale, 3.5 * scale
    x, base = box.x, box.bottom - 0.3 * size
    write(canvas, x, base, ends[0], theme, size)
    x += canvas.measure(ends[0], size=size) + gap
    middle, wide = base - 0.36 * size, SQUARES * scale
    draw_squares(canvas, x, middle, wide, 10.0 * scale, theme, scale, least)
    x += wide + gap
    write(canvas, x, base, ends[-1], theme, size)
    x += canvas.measure(ends[-1], size=size) + 2.0 * gap
    write(canvas, x, base, canvas.fit(words, box.right - x, size=size), theme, size)


def write(
    canvas: Canvas2D,
    x: float,
    y: float,
    words: str,
    theme: Theme,
    size: float,
    anchor: str = "left",
) -> None:
    canvas.text(x, y, words, size=size, color=theme.quiet, anchor=anchor, outline=theme.ground)


def draw_squares(
    canvas: Canvas2D,
    x: float,
    y: float,
    wide: float,
    largest: float,
    theme: Theme,
    scale: float,
    least: float,
    steps: int = STEPS,
) -> None:
    """Draw the squares from the negative to the positive end, from x on, around y.

    largest, least  side of the largest one in pixels, and of the smallest one relative to it
    """
    for i in range(steps):
        number = 2.0 * i / (steps - 1) - 1.0
        side = largest * (least + (1.0 - least) * math.sqrt(abs(number)))
        middle = x + largest / 2.0 + (wide - largest) * (number + 1.0) / 2.0
        left, top, color = middle - side / 2.0, y - side / 2.0, theme.map(number)
        canvas.box(left, top, side, side, color, radius=1.5 * scale)


def ends_of(cubes: CubeValues) -> list[str]:
    """Return the numbers below the squares: at both ends, in the middle, and between."""
    scales = [float(each) for each in cubes.color_scales]
    most: float = cubes.common or (scales[0] if scales else 1.0)
    if cubes.per_layer and len({*scales}) > 1:
        return [text("legend.least"), "", "0", "", text("legend.most")]
    return [f"{-most:g}", f"{-most / 2.0:g}", "0", f"{most / 2.0:+g}", f"{most:+g}"]


def grown_words(cubes: CubeValues) -> str:
    """Return how the scale of colors has grown; "" if it has not."""
    before, after = cubes.grown or (0.0, 0.0)
    return text("legend.grown", before=f"{before:g}", after=f"{after:g}") if cubes.grown else ""


def short_words_of(cubes: CubeValues) -> str:
    """Return in short what colors stand for, or what is new of their scale."""
    beyond = text("legend.only_beyond", count=cubes.clipped) if cubes.clipped else ""
    return grown_words(cubes) or beyond or name_of(cubes.color)


def words_of(cubes: CubeValues) -> str:
    """Return what colors and sizes stand for, or that their scale has just grown."""
    color, other = name_of(cubes.color), name_of(cubes.size)
    words = text("legend.cube", color=color) if color == other else ""
    words = words or text("legend.both", color=color, size=other)
    words = text("legend.beyond", words=words, count=cubes.clipped) if cubes.clipped else words
    return grown_words(cubes) or words


def explain_in_corner(
    canvas: Canvas2D,
    division: Division,
    top: float,
    theme: Theme,
    covers: Callable[[Box], bool],
) -> None:
    """Write what arrows on cubes mean in an upper corner of a wide stage; the key has it, too.

    top     y of the upper edge
    covers  returns whether words in a box would cover something of the network
    """
    inner: Box = division.inner
    scale: float = division.scale
    size, words = LETTERS * scale, text("legend.pushes")
    wide = canvas.measure(words, size=size)
    corners = [Box(x, top, wide, 1.3 * size) for x in (inner.x, inner.right - wide)]
    free = [corner.x for corner in corners if not covers(corner)]
    if free and inner.width >= max(WIDE * scale, wide):
        write(canvas, free[0], top + size, words, theme, size)


def name_of(channel: str) -> str:
    """Return the name of a channel."""
    return row_text(f"rows.channels.{channel}.name", channel)


def mark_rows(cubes: CubeValues, extra: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names of the marks that are in a picture, and what they mean.

    extra  marks that not every picture has, such as "dot" and "frozen"
    """
    names: list[str] = ["cube", "sphere", "numbers", *extra]
    rows = [(text(f"marks.{name}.name"), text(f"marks.{name}.meaning")) for name in names]
    if cubes.clipped:
        beyond = text("legend.only_beyond", count=cubes.clipped)
        rows.append((beyond, text("marks.beyond.meaning")))
    if cubes.grown is not None:
        rows.append((grown_words(cubes), text("marks.grown.meaning")))
    return rows
