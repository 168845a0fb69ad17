"""The inspector: the card of what is pinned, set in the height that there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.charts import draw_history
from scalarviz.pictures.view.exhibits.exhibit import Exhibit
from scalarviz.pictures.view.frame_data import Card, Drawing, History, Line, Table
from scalarviz.pictures.view.scene.frame import Box

SIZE, LARGE = 13.0, 17.0  # letters
ROW = 17.5  # height of a line of SIZE
SPACE = 7.0  # before a heading, a table and the history
HISTORY = 74.0  # height of the history
DRAWINGS = 0.8, 0.62, 0.48  # heights of a drawing, relative to its width
INDENT = "    "
BOLD = ("strong", "bold", "large")
TITLES, CURVE = 1, 2  # parts of a card that are left out if they must be

Block = Line | Table | History | Drawing


def is_shown(block: Block, extra: int) -> bool:
    """Return whether a block is on a card with these extra parts."""
    if isinstance(block, (History, Drawing)):
        return bool(extra & CURVE)
    return isinstance(block, Table) or block.look != "strong" or bool(extra & TITLES)


def draw_inspector(
    canvas: Canvas2D, box: Box, card: Card, theme: Theme, scale: float = 1.0
) -> None:
    """Draw what is pinned: its name, lines, tables, history and drawing from top to bottom.

    The card is as high as its text. If the box is too low for it, tables have fewer rows and a
    drawing is smaller; then history and drawing are left out, and then lines at the end, for which
    "..." stands.
    """
    pad = 12.0 * scale
    page = Page(canvas, box.width - 2.0 * pad, scale)
    room = box.height - 2.0 * pad
    parts = page.parts(card, room)
    high = min(2.0 * pad + sum(part.high for part in parts), box.height)
    with canvas.clip(box.x, box.y, box.width, box.height):
        place = box.x, box.y, box.width, high
        canvas.box(*place, theme.panel[:7], radius=8.0, outline=theme.rim)
        y = box.y + pad
        for part in parts:
            part.draw(canvas, Box(box.x + pad, y, page.width, part.high), theme, scale)
            y += part.high


@dataclass(frozen=True)
class Part:
    """A part of a card, with its height; `lines` are drawn, or the table, history or exhibit."""

    high: float
    lines: Sequence[str] = ()
    look: str = "plain"
    aside: str = ""
    table: Table | None = None
    rows: int = 0
    history: History | None = None
    exhibit: Exhibit | None = None

    def draw(self, canvas: Canvas2D, box: Box, theme: Theme, scale: float) -> None:
        """Draw it; the box is as high as the part."""
        inner = Box(box.x, box.y + SPACE * scale, box.width, box.height - SPACE * scale)
        if self.history is not None:
            draw_history(canvas, inner, self.history, theme, scale)
        elif self.exhibit is not None:
            self.exhibit.paint(canvas, inner, theme)
        elif self.table is not None:
            draw_table(canvas, box, self.table, self.rows, theme, scale)
        else:
            size, row = size_of(self.look, scale), row_of(self.look, scale)
            color = theme.quiet if self.look == "quiet" else theme.ink
            y = box.bottom - row * len(self.lines) + 0.74 * row
            for line in self.lines:
                bold = self.look in BOLD
                wide = canvas.text(box.x, y, line, size=size, color=color, bold=bold)
                y += row
            if self.aside:
                x, small = box.x + wide + 8.0 * scale, SIZE * scale
                aside = canvas.fit(self.aside, box.right - x, size=small)
                canvas.text(x, y - row, aside, size=small, color=theme.quiet)


def size_of(look: str, scale: float) -> float:
    return (LARGE if look == "large" else SIZE) * scale


def row_of(look: str, scale: float) -> float:
    return ROW * size_of(look, scale) / SIZE


@final
class Page:
    """Sets cards for a width in logical pixels."""

    def __init__(self, canvas: Canvas2D, width: float, scale: float) -> None:
        self.canvas = canvas
        self.width = width
        self.scale = scale

    def parts(self, card: Card, room: float) -> list[Part]:
        """Return the parts of a card, no higher than `room` together."""
        name = [part for part in self.title(card.name) if part]
        title = Part(ROW * self.scale * len(name), name, "strong")
        most = max((len(each.rows) for each in card.blocks if isinstance(each, Table)), default=0)
        shown = [most, *(count for count in (12, 8, 6, 4, 3, 2) if count < most)]
        first, *lower = DRAWINGS
        choices = [(count, TITLES + CURVE, first) for count in shown]
        if any(isinstance(each, Drawing) for each in card.blocks):
            choices += [(count, TITLES + CURVE, high) for high in lower for count in shown]
            choices += [(min(count, most), TITLES + CURVE, lower[-1]) for count in (1, 0)]
        choices += [(min(count, most), TITLES, first) for count in (3, 2, 1)]
        choices += [(min(count, most), 0, first) for count in (1, 0)]
        every = [part for block in card.blocks for part in self.fitted(block)]
        for count, extra, high in choices:
            blocks = [block for block in every if is_shown(block, extra)]
            parts = [title, *(self.part(block, count, high) for block in blocks)]
            if sum(part.high for part in parts) <= room:
                return parts
        return self.cut(parts, room)

    def cut(self, parts: Sequence[Part], room: float) -> list[Part]:
        """Return as many parts as there is room for, "...", and the last line, the result."""
        row, found = ROW * self.scale, []
        room -= row
        last = [part for part in parts[-1:] if part.lines and 2.0 * row + part.high < room]
        room -= sum(part.high for part in last)
        for part in parts:
            if part.high > room:
                count = int(room // row)
                if part.lines and count > 1:
                    found.append(Part(row * (count - 1), part.lines[: count - 1], part.look))
                break
            room -= part.high
            found.append(part)
        return [*found, Part(row, ["..."]), *last]

    def part(self, block: Block, count: int, high: float) -> Part:
        """Return a part; a table with at most `count` rows, a drawing of this height by width."""
        scale = self.scale
        if isinstance(block, History):
            return Part((HISTORY + SPACE) * scale, history=block)
        if isinstance(block, Drawing):
            return Part(high * self.width + SPACE * scale, exhibit=block.exhibit)
        if isinstance(block, Table):
            rows = min(count, len(block.rows))
            rest = block.rests[rows] if block.rests else ()
            if rest and rows < len(block.rows) and not block.rests[rows + 1]:
                # One more row takes as much room.
                rows, rest = rows + 1, ()
            high = 1 + rows + bool(rest) + bool(block.total)
            high = 1 if is_sum_only(block, rows) else high
            return Part(ROW * scale * high + SPACE * scale, table=block, rows=rows)
        bold, size = block.look in BOLD, size_of(block.look, scale)
        lines = wrapped(self.canvas, block.words, self.width, size, bold=bold)
        above = SPACE * scale if block.look == "strong" else 0.0
        return Part(row_of(block.look, scale) * len(lines) + above, lines, block.look, block.aside)

    def fitted(self, block: Block) -> list[Block]:
        """Return a line in smaller letters, or as two lines, if its aside has no room behind it."""
        if not isinstance(block, Line) or not block.aside:
            return [block]
        aside = self.canvas.measure(f"   {block.aside}", size=SIZE * self.scale)
        for look in (block.look, "bold"):
            size = size_of(look, self.scale)
            wide = self.canvas.measure(block.words, size=size, bold=look in BOLD)
            if wide + aside <= self.width:
                return [Line(block.words, look, block.aside)]
        return [Line(block.words, "bold"), Line(block.aside, "quiet")]

    def title(self, name: str) -> list[str]:
        """Return a name in lines."""
        size = SIZE * self.scale
        lines = wrapped(self.canvas, name, self.width, size, bold=True)
        return lines if len(lines) < 3 else [lines[0], "..."]


def draw_table(
    canvas: Canvas2D, box: Box, table: Table, count: int, theme: Theme, scale: float
) -> None:
    """Draw the head, some rows, what stands for the others, and the total."""
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


def is_sum_only(table: Table, count: int) -> bool:
    """Return whether nothing but the total is shown, since there is no room for a row."""
    return bool(table.total) and count == 0


def is_number(cell: str) -> bool:
    return any(map(str.isdigit, cell))


def tail_of(cell: str) -> str:
    """Return a number from its point on."""
    return cell[cell.find(".") :] if "." in cell and is_number(cell) else ""


def columns_of(
    canvas: Canvas2D, lines: Sequence[Sequence[str]], box: Box, size: float
) -> tuple[list[float], list[float]]:
    """Return where each column of a table but the first ends, and how far before it points are.

    The last one ends at the right edge. The first one, with names, gets what the others leave.
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
    first = max(wide(line[0]) for line in full)
    first = min(first, box.width - sum(widths) - 0.6 * size * len(others))
    gap = (box.width - first - sum(widths)) / len(others)
    return [box.x + first + gap * (i + 1) + sum(widths[: i + 1]) for i in range(len(widths))], tails


def wrapped(
    canvas: Canvas2D,
    line: str,
    width: float,
    size: float,
    *,
    bold: bool = False,
    indent: str | None = None,
) -> list[str]:
    """Break a line at spaces into lines that fit; those of a formula are indented."""
    indent = (INDENT if " = " in line else "") if indent is None else indent
    found: list[str] = []
    now = line[: len(line) - len(line.lstrip())]
    for word in line.split():
        longer = f"{now} {word}" if now.strip() else now + word
        if now.strip() and canvas.measure(longer, size=size, bold=bold) > width:
            found.append(now)
            longer = indent + word
        now = longer
    return [*found, now]
