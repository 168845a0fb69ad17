"""The inspector: the card of the pinned item, and the tooltip of the hovered item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scalarviz.scene.annotations import around_ball
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.charts import draw_history
from scalarviz.scene.crossbar_ink import boxes_of_marks
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.frame_data import FrameData, History
from scalarviz.scene.labels import tied_box
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import SCORED, Layout
from scalarviz.scene.lines import seen_fans
from scalarviz.scene.marks import (
    box_around,
    box_of,
    box_of_neuron,
    cube_boxes,
    numbers_below,
)
from scalarviz.scene.silhouettes import balls_of, spheres_seen
from scalarviz.story.caption import Card, CardLine, CardTable

# The card, fitted to the available height.

SIZE, LARGE = 13.0, 17.0  # letters
ROW = 17.5  # height of a line of SIZE
SPACE = 7.0  # before a heading, a table and the history
HISTORY = 74.0  # height of the history
DRAWINGS = 0.8, 0.62, 0.48  # heights of a drawing, relative to its width
INDENT = "    "
BOLD = ("strong", "bold", "large")
TITLES, CURVE = 1, 2  # parts of a card that are left out if necessary

Block = CardLine | CardTable | History | Exhibit


def is_shown(block: Block, extra: int) -> bool:
    """Return whether a block is shown on a card with these optional parts (TITLES, CURVE)."""
    if isinstance(block, (History, Exhibit)):
        return bool(extra & CURVE)
    return isinstance(block, CardTable) or block.look != "strong" or bool(extra & TITLES)


def draw_inspector(
    canvas: Canvas2D, box: Box, card: Card, theme: Theme, scale: float = 1.0
) -> None:
    """Draw the card of the pinned item: name, lines, tables, history and drawing.

    The card is as high as its contents. If the box is too low, tables are shortened and the drawing
    is made smaller. If that is not enough, history and drawing are left out, and finally lines at
    the end are replaced by "...".
    """
    pad = 12.0 * scale
    wide, room = box.width - 2.0 * pad, box.height - 2.0 * pad
    parts = parts_of(canvas, card, wide, room, scale)
    high = min(2.0 * pad + sum(part.high for part in parts), box.height)
    with canvas.clip(*box.place):
        canvas.box(box.x, box.y, box.width, high, theme.panel[:7], radius=8.0, outline=theme.rim)
        y = box.y + pad
        for part in parts:
            part.draw(canvas, Box(box.x + pad, y, wide, part.high), theme, scale)
            y += part.high


@dataclass(frozen=True)
class CardPart:
    """A part of a card with its height: text lines, some rows of a table, or another block."""

    high: float
    lines: Sequence[str] = ()
    look: str = "plain"
    aside: str = ""
    block: Block | None = None
    rows: int = 0

    def draw(self, canvas: Canvas2D, box: Box, theme: Theme, scale: float) -> None:
        """Draw the part into a box of its height."""
        inner = Box(box.x, box.y + SPACE * scale, box.width, box.height - SPACE * scale)
        if isinstance(self.block, History):
            draw_history(canvas, inner, self.block, theme, scale)
        elif isinstance(self.block, Exhibit):
            self.block.paint(canvas, inner, theme)
        elif isinstance(self.block, CardTable):
            draw_table(canvas, box, self.block, self.rows, theme, scale)
        else:
            size, row = size_of(self.look, scale), row_of(self.look, scale)
            color = theme.quiet if self.look == "quiet" else theme.ink
            y = box.bottom - row * len(self.lines) + 0.74 * row
            for line in self.lines:
                wide = canvas.text(box.x, y, line, size=size, color=color, bold=self.look in BOLD)
                y += row
            if self.aside:
                x = box.x + wide + 8.0 * scale
                canvas.text(
                    x,
                    y - row,
                    self.aside,
                    size=SIZE * scale,
                    color=theme.quiet,
                    room=box.right - x,
                )


def size_of(look: str, scale: float) -> float:
    return (LARGE if look == "large" else SIZE) * scale


def row_of(look: str, scale: float) -> float:
    return ROW * size_of(look, scale) / SIZE


def parts_of(
    canvas: Canvas2D, card: Card, width: float, room: float, scale: float
) -> list[CardPart]:
    """Return the parts of a card of this width, with a total height of at most `room`."""
    name = wrapped(canvas, card.name, width, SIZE * scale, bold=True)
    name = [part for part in (name if len(name) < 3 else [name[0], "..."]) if part]
    title = CardPart(ROW * scale * len(name), name, "strong")
    most = max((len(each.rows) for each in card.blocks if isinstance(each, CardTable)), default=0)
    shown = [most, *(count for count in (12, 8, 6, 4, 3, 2) if count < most)]
    first, *lower = DRAWINGS
    choices = [(count, TITLES + CURVE, first) for count in shown]
    if any(isinstance(each, Exhibit) for each in card.blocks):
        choices += [(count, TITLES + CURVE, high) for high in lower for count in shown]
        choices += [(min(count, most), TITLES + CURVE, lower[-1]) for count in (1, 0)]
    choices += [(min(count, most), TITLES, first) for count in (3, 2, 1)]
    choices += [(min(count, most), 0, first) for count in (1, 0)]
    every = [part for block in card.blocks for part in fitted(canvas, block, width, scale)]
    for count, extra, high in choices:
        blocks = [block for block in every if is_shown(block, extra)]
        parts = [title, *(part_of(canvas, each, width, count, high, scale) for each in blocks)]
        if sum(part.high for part in parts) <= room:
            return parts
    return cut(parts, room, scale)


def cut(parts: Sequence[CardPart], room: float, scale: float) -> list[CardPart]:
    """Return the parts that fit, followed by "..." and the last part if it fits."""
    row, found = ROW * scale, []
    room -= row
    last = [part for part in parts[-1:] if part.lines and 2.0 * row + part.high < room]
    room -= sum(part.high for part in last)
    for part in parts:
        if part.high > room:
            count = int(room // row)
            if part.lines and count > 1:
                found.append(CardPart(row * (count - 1), part.lines[: count - 1], part.look))
            break
        room -= part.high
        found.append(part)
    return [*found, CardPart(row, ["..."]), *last]


def part_of(
    canvas: Canvas2D, block: Block, width: float, count: int, high: float, scale: float
) -> CardPart:
    """Return a part of a card: up to `count` table rows, or a drawing with height/width `high`."""
    if isinstance(block, History):
        return CardPart((HISTORY + SPACE) * scale, block=block)
    if isinstance(block, Exhibit):
        return CardPart(high * width + SPACE * scale, block=block)
    if isinstance(block, CardTable):
        rows = min(count, len(block.rows))
        rest = block.rests[rows] if block.rests else ()
        if rest and rows < len(block.rows) and not block.rests[rows + 1]:
            # A further row takes the same room.
            rows, rest = rows + 1, ()
        high = 1 + rows + bool(rest) + bool(block.total)
        high = 1 if is_sum_only(block, rows) else high
        return CardPart(ROW * scale * high + SPACE * scale, block=block, rows=rows)
    bold, size = block.look in BOLD, size_of(block.look, scale)
    lines = wrapped(canvas, block.words, width, size, bold=bold)
    above = SPACE * scale if block.look == "strong" else 0.0
    return CardPart(row_of(block.look, scale) * len(lines) + above, lines, block.look, block.aside)


def fitted(canvas: Canvas2D, block: Block, width: float, scale: float) -> list[Block]:
    """Return a line in smaller letters or split in two if its text on the right does not fit."""
    if not isinstance(block, CardLine) or not block.aside:
        return [block]
    aside = canvas.measure(f"   {block.aside}", size=SIZE * scale)
    for look in (block.look, "bold"):
        wide = canvas.measure(block.words, size=size_of(look, scale), bold=look in BOLD)
        if wide + aside <= width:
            return [CardLine(block.words, look, block.aside)]
    return [CardLine(block.words, "bold"), CardLine(block.aside, "quiet")]


def draw_table(
    canvas: Canvas2D, box: Box, table: CardTable, count: int, theme: Theme, scale: float
) -> None:
    """Draw the head of a table, its first rows, a row that sums up the others, and the total."""
    size, row = SIZE * scale, ROW * scale
    rest = table.rests[count] if table.rests else ()
    lines = [table.head, *table.rows[:count], *([rest] if rest else [])]
    lines = [] if is_sum_only(table, count) else lines
    lines += [table.total] if table.total else []
    ends, tails = columns_of(canvas, lines, box, size)
    y = box.y + SPACE * scale + 0.74 * row
    for cells in lines:
        is_total = bool(table.total) and cells is table.total
        color = theme.quiet if cells is table.head else theme.ink
        if table.marked >= 0 and cells is table.rows[table.marked]:
            place = box.x - 5.0 * scale, y - 0.74 * row, box.width + 10.0 * scale, row
            canvas.box(*place, theme.lit + "28", radius=4.0)
        if is_total and len(lines) > 1:
            line = y - 0.72 * row
            canvas.segments([(box.x, line)], [(box.right, line)], theme.faint)
        places = [
            end - tail + canvas.measure(tail_of(cell), size=size, bold=is_total)
            if is_number(cell)
            else end
            for end, tail, cell in zip(ends, tails, cells[1:], strict=True)
        ]
        starts = [
            right - canvas.measure(cell, size=size, bold=is_total)
            for right, cell in zip(places, cells[1:], strict=True)
            if cell
        ]
        room = min([box.right, *starts]) - 0.5 * size - box.x
        first = cells[0]
        if canvas.measure(first, size=size, bold=is_total) > room:  # "3" for "neuron 3"
            short = first.rpartition(" ")[2] if first.count(" ") == 1 else first
            first = canvas.fit(short, room, size=size, bold=is_total)
        canvas.text(box.x, y, first, size=size, color=color, bold=is_total)
        for right, cell in zip(places, cells[1:], strict=True):
            canvas.text(right, y, cell, size=size, color=color, bold=is_total, anchor="right")
        y += row


def is_sum_only(table: CardTable, count: int) -> bool:
    """Return whether only the total of a table is shown because it has no space for rows."""
    return bool(table.total) and count == 0


def is_number(cell: str) -> bool:
    return any(map(str.isdigit, cell))


def tail_of(cell: str) -> str:
    """Return the decimal point of a number and the digits after it, or ""."""
    return cell[cell.find(".") :] if "." in cell and is_number(cell) else ""


def columns_of(
    canvas: Canvas2D, lines: Sequence[Sequence[str]], box: Box, size: float
) -> tuple[list[float], list[float]]:
    """Return the right ends and decimal points of all table columns except the first.

    The last column ends at the right edge. The first one, with the names, gets the remaining width.
    """

    def wide(words: str) -> float:
        return canvas.measure(words, size=size, bold=True)

    full = [line for line in lines if any(line[1:-1])] or lines
    others = list(zip(*lines, strict=True))[1:]
    tails = [max(wide(tail_of(cell)) for cell in column) for column in others]
    widths = [
        max(wide(cell.removesuffix(tail_of(cell))) + tail * is_number(cell) for cell in column)
        for column, tail in zip(others, tails, strict=True)
    ]
    first = min(
        max(wide(line[0]) for line in full), box.width - sum(widths) - 0.6 * size * len(others)
    )
    gap = (box.width - first - sum(widths)) / len(others)
    return [box.x + first + gap * (i + 1) + sum(widths[: i + 1]) for i in range(len(widths))], tails


def wrapped(
    canvas: Canvas2D, line: str, width: float, size: float, *, bold: bool = False
) -> list[str]:
    """Break a line at spaces into lines that fit. Formulas get an indent."""
    indent = INDENT if " = " in line else ""
    return canvas.broken(line, width, size=size, bold=bold, indent=indent)


# The tooltip: numbers of the hovered cube or neuron, placed where it covers little.

TIP_ROW, TIP_PAD = 18.0, 12.0  # height of a line, and margins in pixels
TIP_STEP = 12.0  # pixels between two candidate positions
# Cost of covering a pixel of each, and of a pixel of distance.
HOVERED, RESULT, ENDS, FAN, SPHERE, OTHER = 1e6, 1e4, 100.0, 2.0, 10.0, 0.3
FAR_TIP = 8.0
MOST_CUBES, MOST_INPUTS = 200, 32  # maximum cubes and inputs that it keeps clear of


def draw_hover(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    theme: Theme,
    division: Division,
    messages: Sequence[Box] = (),
) -> None:
    """Draw the tooltip of the hovered cube or neuron inside the stage, clear of `messages`."""
    card, scale = frame_data.hover, division.scale
    box = tooltip_box(canvas, see, frame_data, division, messages)
    if card is None or box is None:
        return
    size, pad = SIZE * scale, TIP_PAD * scale
    canvas.box(*box.place, theme.panel, radius=8.0, outline=theme.rim)
    x, y = box.x + pad, box.y
    canvas.text(x, y + 19.0 * scale, card.name, size=size, color=theme.ink, bold=True)
    names = width_of_names(canvas, card, scale)
    for i, (name, value) in enumerate(card.facts):
        base = y + 37.0 * scale + TIP_ROW * scale * i
        canvas.text(x, base, name, size=size, color=theme.quiet)
        canvas.text(x + names, base, value, size=size, color=theme.ink, bold=True)


def tooltip_box(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    division: Division,
    messages: Sequence[Box] = (),
) -> Box | None:
    """Return the box of the tooltip of the hovered cube or neuron, or None."""
    card, scale = frame_data.hover, division.scale
    if card is None:
        return None
    target = box_of(see, frame_data, card.row, frame_data.hover_neuron, 0.5)
    if target is None:
        return None
    values = [canvas.measure(value, size=SIZE * scale, bold=True) for _, value in card.facts]
    title = canvas.measure(card.name, size=SIZE * scale, bold=True)
    wide = max(title, width_of_names(canvas, card, scale) + max(values, default=0.0))
    size = wide + 2.0 * TIP_PAD * scale, (30.0 + TIP_ROW * len(card.facts)) * scale
    ends, cubes = boxes_of_sum(see, frame_data, card.row)
    numbers = numbers_on_cubes(canvas, see, frame_data, at_rest=True).values()
    groups: list[tuple[float, Iterable[Box | None]]] = [
        (RESULT, [division.card, division.exhibit, *inputs_of(see, frame_data, scale)]),
        (RESULT, [division.headline, *outputs_of(see, frame_data, scale)]),
        (ENDS, messages),
        (ENDS, [each.box for each in numbers]),
        (ENDS, boxes_of_marks(canvas, see, frame_data)),
        (ENDS, arithmetic_of(see, frame_data.layout, scale)),
        (ENDS, numbers_below(see, frame_data.layout, scale)),
        (ENDS, [box and box.inside(-1.0) for box in ends]),
        (FAN, cubes),
        (SPHERE, spheres_of(see, frame_data, scale)),
        (OTHER, cubes_of(see, frame_data)),
    ]
    covers = [(box, cost) for cost, boxes in groups for box in boxes if box is not None]
    return best_place(size, target, covers, division.scene.inside(4.0), TIP_PAD * scale)


def width_of_names(canvas: Canvas2D, card: Card, scale: float) -> float:
    names = [canvas.measure(name, size=SIZE * scale) for name, _ in card.facts]
    return max(names, default=0.0) + 0.8 * TIP_PAD * scale


def best_place(
    size: tuple[float, float],
    target: Box,
    covers: Sequence[tuple[Box, float]],
    stage: Box,
    gap: float,
) -> Box:
    """Return the position of a box where it covers least, next to its target if possible.

    Args:
        size: width and height of the box
        target: box of the item it describes, which it must not cover
        covers: other boxes, each with the cost of covering one of its pixels
        stage: the box that it must stay in
        gap: pixels between box and target
    """
    wide, high = size
    right, bottom = max(stage.x, stage.right - wide), max(stage.y, stage.bottom - high)
    beside = [target.right + gap, target.x - gap - wide, target.x + (target.width - wide) / 2.0]
    level = [target.y + (target.height - high) / 2.0, target.bottom + gap, target.y - gap - high]
    xs = np.clip([*beside, *np.arange(stage.x, right + 1.0, TIP_STEP)], stage.x, right)
    ys = np.clip([*level, *np.arange(stage.y, bottom + 1.0, TIP_STEP)], stage.y, bottom)
    boxes = [(target, 0.0), (target.inside(-0.5 * gap), HOVERED), *covers]
    x, y, width, height = np.array([box.place for box, _ in boxes]).T
    left, top = xs[:, np.newaxis], ys[:, np.newaxis]
    across = np.minimum(left + wide, x + width) - np.maximum(left, x)
    down = np.minimum(top + high, y + height) - np.maximum(top, y)
    price = np.array([price for _, price in boxes])
    cost = np.maximum(down, 0.0) * price @ np.maximum(across, 0.0).T
    cost += FAR_TIP * np.hypot(np.minimum(down[:, :1], 0.0), np.minimum(across[:, :1], 0.0).T)
    i, k = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return Box(float(xs[k]), float(ys[i]), wide, high)


# Items to keep visible.


def boxes_of_sum(
    see: Projection, frame_data: FrameData, row: int
) -> tuple[list[Box | None], list[Box]]:
    """Return the boxes of a weight's two neurons, and of the cubes in its sum if they are few."""
    found = frame_data.layout.fan_of(row)
    if found is None:
        return [], []
    fan, unit = found
    rows = fan.rows_of(unit) if len(fan.columns) <= MOST_CUBES else ()
    ends = [box_around(balls_of(see, [each], fan.radius)) for each in fan.ends_of(row, unit)]
    return ends, cube_boxes(see, frame_data, rows, 0.4)


def inputs_of(see: Projection, frame_data: FrameData, scale: float) -> list[Box | None]:
    """Return the boxes of the inputs: the input color, and the first neurons or the first image."""
    tied, line = tied_box(see, frame_data.layout, scale), frame_data.layout.neurons[:1]
    first = [(each.values, i) for each in line for i in range(min(len(each.points), MOST_INPUTS))]
    own = [box_of_neuron(see, frame_data.layout, each) for each in first]
    for each in line:
        if each.shape:  # for images, all of the first one
            own = [
                box_around(
                    balls_of(see, each.points[: each.shape[1] * each.shape[2]], 0.5 * each.side)
                )
            ]
    return own if tied is None else [tied, *own]


def cubes_of(see: Projection, frame_data: FrameData) -> list[Box]:
    """Return the boxes of all cubes of a network; empty if it has many."""
    if len(frame_data.cubes.sizes) > MOST_CUBES:
        return []
    return cube_boxes(see, frame_data, range(len(frame_data.cubes.sizes)), 0.4)


def outputs_of(see: Projection, frame_data: FrameData, scale: float) -> list[Box]:
    """Return the boxes of the outputs, including their numbers and bars."""
    lines = [line for line in frame_data.layout.neurons[-1:] if not line.shape]
    found = []
    for line in lines:
        for ball in balls_of(see, line.points, line.radius):
            box = around_ball((ball.x, ball.y, ball.radius), scale).box
            wide = max(box.width, SCORED * ball.unit * line.scores)
            found.append(Box(box.x, box.y, wide, box.height))
    return found


def arithmetic_of(see: Projection, layout: Layout, scale: float) -> list[Box]:
    """Return the boxes of the numbers and bars next to upright rows."""
    found = []
    for fan in seen_fans(see, layout, scale):
        if fan is not None and fan.form == "upright":
            right, _, longest = fan.bars
            for x, y in fan.feet[0]:
                wide = right + longest - x
                found.append(Box(x, y - 0.6 * fan.slot, wide, 0.6 * fan.slot))
    return found


def spheres_of(see: Projection, frame_data: FrameData, scale: float) -> list[Box]:
    """Return the boxes of the spheres in focus with their numbers; empty if there are many."""
    focus, (spheres, _) = frame_data.focus, spheres_seen(see, frame_data.layout)
    bright = np.isfinite(spheres).all(axis=1)
    if focus is not None:
        lines = zip(frame_data.layout.neurons, focus.neurons, strict=True)
        bright &= np.concatenate([lit for line, lit in lines if not line.shape])
    found = [around_ball((x, y, radius), scale).box for x, y, radius in spheres[bright].tolist()]
    return found if len(spheres) <= MOST_CUBES else []
