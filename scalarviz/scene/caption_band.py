"""The caption card with title and lines, and a panel with all terms of a long sum.

Each term has a box for mouse events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scalarviz.core.program import NONE
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import NOWHERE, Box, Division
from scalarviz.scene.telling import lines_of
from scalarviz.story.caption import Piece

PieceBox = tuple[Box, Piece]  # the box of a piece on the picture
Line = tuple[Piece, ...]
Group = list[Piece]  # pieces that stay in one row
WIDE, SHAPES = 460.0, (1.0, 0.62)  # largest width of the card, and shares of it that are tried
CARD_PAD, BUTTONS = 12.0, 42.0  # pixels around its words, and height of a row of buttons
TITLE, SIZE = 16.0, 14.0  # letters of the caption
SMALLER = 13.0, 12.0  # of a title of one line
LEAST = 1.25  # distance of rows, in letters
MORE = Piece("…", opens=True)
SIGNS = " + ", " = ", " ≈ "
WORDS = re.compile(r"\S+\s*|\s+")


def draw_caption(
    canvas: Canvas2D,
    division: Division,
    frame_data: FrameData,
    theme: Theme,
    taken: Obstacles | None = None,
    head: Box = NOWHERE,
) -> tuple[Box, list[PieceBox]]:
    """Draw the caption on a card in the least covered place; return the box and boxes of terms.

    The card shows the title; a click on it opens the panel with formula and lines. A caption
    without lines or buttons is a single line below the network, if it fits there. If the card would
    cover something, it is drawn narrower, or in `head` in place of the title. The buttons are in
    the last row of the card.
    """
    words, scale, offers = frame_data.words, division.scale, bool(frame_data.offers)
    caption = words.caption
    if caption is None or not division.strip.height or (words.rests and not offers):
        return Box(0.0, 0.0, 0.0, 0.0), []
    pad, opens = CARD_PAD * scale, bool(caption.lines)
    title = words.about if words.is_new and words.about else caption.title
    card, heads = None, list[tuple[str, float]]()
    small, foot = SMALLER[1] * scale, division.view.bottom
    wide = canvas.measure(title, size=small, bold=True)
    row = Box(division.inner.x, foot - 1.3 * small, wide, 1.3 * small)
    is_free = not (offers or opens) and wide <= division.inner.width
    if is_free and (taken is None or not taken.covered(row)):
        canvas.text(row.x, foot - 0.3 * small, title, size=small, color=theme.ink, bold=True)
        return row, []
    for share in SHAPES:  # narrower where it would cover something
        room = min(WIDE * (1.12 if offers else share) * scale, division.inner.width) - 2.0 * pad
        heads = heading(canvas, title, room, scale, 1 if offers else 3)
        wide = max([canvas.measure(line, size=size, bold=True) for line, size in heads])
        high = 1.25 * sum(size for _, size in heads) + BUTTONS * scale * offers + 1.5 * pad
        wide = max(wide, room * offers) + 2.0 * pad
        card = clearest(corners(division, wide, high), taken)
        if card and (taken is None or not taken.covered(card)):
            break
    if card is None:
        return Box(0.0, 0.0, 0.0, 0.0), []
    y = card.y + 0.5 * pad
    if head.height and not offers and taken is not None and taken.covered(card):
        card = head
        heads = heading(canvas, title, card.width - 2.0 * pad, SMALLER[1] / SIZE * scale, 2)
        y = card.y + 0.5 * card.height - sum(0.725 * size for _, size in heads)
    canvas.box(*card.place, theme.panel[:7], radius=8.0 * scale, outline=theme.rim)
    for line, size in heads:
        y += 1.25 * size
        canvas.text(card.x + pad, y, line, size=size, color=theme.ink, bold=True)
    return card, [(card, MORE)] if opens else []  # a click on it opens its lines


def corners(division: Division, wide: float, high: float, others: Sequence[Box] = ()) -> list[Box]:
    """Return candidate boxes in the corners of the stage that overlap none of `others`.

    Boxes in the lower corners come first.
    """
    inner, scene, gap = division.inner, division.scene, 8.0 * division.scale
    right = max(inner.right - wide, inner.x)
    bottom = min(scene.bottom - gap, inner.bottom)  # the exhibit may be below the network
    top, low = scene.y + gap, bottom - high
    places = []
    for x, y, way in (
        (right, low, -1.0),
        (inner.x, low, -1.0),
        (inner.x, top, 1.0),
        (right, top, 1.0),
    ):
        box = Box(x, y, wide, high)
        for other in others if way > 0.0 else others[::-1]:
            if box.meets(other):  # beside it, toward the middle
                y = other.bottom + 0.75 * gap if way > 0.0 else other.y - 0.75 * gap - high
                box = Box(x, y, wide, high)
        if top <= box.y and box.bottom <= scene.bottom and not any(map(box.meets, others)):
            places.append(box)
    return places


def clearest(places: Sequence[Box], taken: Obstacles | None) -> Box | None:
    """Return the first of the boxes that cover least; None if there are no boxes."""
    if taken is None or not places:
        return next(iter(places), None)
    return min(places, key=taken.covered)


def draw_opened(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> list[PieceBox]:
    """Draw formula and lines of the caption in a panel above the step strip; return boxes of terms.

    The panel is to the left of exhibit and card and does not cover them. The last returned box is
    the box of the panel, with an empty piece.
    """
    caption, scale = frame_data.words.caption, division.scale
    if caption is None or not frame_data.opened or not (caption.whole or caption.lines):
        return []
    size, pad = SIZE * scale, 14.0 * scale
    high, scene = 1.5 * size, division.scene
    wide = min(division.view.width - 2.0 * pad, 900.0 * scale)  # beside exhibit and card
    formula: list[Line] = [(Piece(caption.formula),)] if caption.formula else []
    rows = rows_of(canvas, [*formula, *(caption.whole or caption.lines)], wide - 2.0 * pad, size)
    rows = rows[: max(1, int((scene.height - 3.0 * pad) // high))]
    tall = high * len(rows) + 1.6 * pad
    panel = Box(pad, scene.bottom - tall - 0.5 * pad, wide, tall)
    canvas.box(*panel.place, theme.panel[:7], radius=8.0, outline=theme.rim)
    look = (panel.x + pad, panel.y + 0.5 * pad), high, size, frame_data, theme
    return [*draw_rows(canvas, rows, *look), (panel, Piece(""))]


def heading(
    canvas: Canvas2D, title: str, width: float, scale: float, most: int
) -> list[tuple[str, float]]:
    """Return the lines of a title with their font sizes, on a single line if it fits.

    Args:
        most: maximum number of lines; 1 allows smaller letters
    """
    for size in (TITLE * scale, SIZE * scale, *(each * scale for each in SMALLER * (most == 1))):
        if canvas.measure(title, size=size, bold=True) <= width:
            return [(title, size)]
    lines = lines_of(canvas, title, width, size)
    if len(lines) > most > 1:
        rest = canvas.fit(" ".join(lines[most - 1 :]), width, size=size, bold=True)
        lines = [*lines[: most - 1], rest]
    return [(line, size) for line in lines[:most]]


def rows_of(canvas: Canvas2D, lines: Sequence[Line], width: float, size: float) -> list[Group]:
    """Wrap lines to a width, with line breaks only between terms."""
    rows = []
    for line in lines:
        row: Group = []
        for group in groups_within(canvas, line, width, size):
            if row and width_of(canvas, [*row, *group], size) > width:
                rows.append(row)
                group = [Piece("    "), *group[bool(not group[0].words.strip()) :]]
                row = []
            row = [*row, *group]
        if row:
            rows.append(row)
    return rows


def groups_within(canvas: Canvas2D, line: Line, width: float, size: float) -> Iterator[Group]:
    """Yield the groups of a line that must not be broken; split groups wider than `width`."""
    for group in groups_of(line):
        if width_of(canvas, group, size) <= width:
            yield group
        else:
            yield from ([piece] for piece in group)


def groups_of(line: Line) -> Iterator[Group]:
    """Yield the groups that stay together: a sign with its term, a bracket, or a single word."""
    if not any(is_about(piece) or piece.opens for piece in line):
        words = [word for piece in line for word in WORDS.findall(piece.words)]
        yield from ([Piece(word)] for word in words)
        return
    group: Group = []
    depth = 0
    for piece in line:
        ends = bool(group) and group[-1].words.endswith((", ", "; "))
        if group and (ends or (depth == 0 and piece.words in SIGNS)):
            yield group
            group = []
        group.append(piece)
        depth += piece.words.count("(") - piece.words.count(")")
    if group:
        yield group


def is_about(piece: Piece) -> bool:
    """Return whether a piece of text represents a weight or a neuron."""
    return piece.row != NONE or piece.neuron is not None


def width_of(canvas: Canvas2D, row: Group, size: float) -> float:
    return sum(canvas.measure(piece.words, size=size) for piece in merged(row))


def draw_rows(
    canvas: Canvas2D,
    rows: Sequence[Group],
    start: tuple[float, float],
    high: float,
    size: float,
    frame_data: FrameData,
    theme: Theme,
) -> list[PieceBox]:
    """Write rows below each other; return the boxes of pieces for weights and neurons."""
    (left, y), found = start, []
    for row in rows:
        x, y = left, y + high
        for piece in merged(row):
            wide = canvas.measure(piece.words, size=size)
            box = Box(x, y - 1.02 * size, wide, high)
            if is_about(piece) or piece.opens:
                if same(piece, frame_data.pointed):
                    canvas.box(*box.place, theme.rim, radius=4.0, outline=theme.light)
                found.append((box, piece))
            color = theme.accent if piece.opens else theme.ink if is_about(piece) else theme.quiet
            canvas.text(x, y, piece.words, size=size, color=color)
            x += wide
    return found


def merged(row: Group) -> Group:
    """Return the row with adjacent plain pieces merged into one."""
    found: Group = []
    for piece in row:
        if found and not any(is_about(each) or each.opens for each in (piece, found[-1])):
            piece = Piece(found.pop().words + piece.words)
        found.append(piece)
    return found


def same(piece: Piece, other: Piece | None) -> bool:
    """Return whether two pieces of text represent the same weight or neuron."""
    return other is not None and (piece.row, piece.neuron) == (other.row, other.neuron)
