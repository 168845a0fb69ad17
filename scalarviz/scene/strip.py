"""The strip below the stage: the operations of a step, of which the current one is lit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Division
from scalarviz.story.caption import BACKWARD, ERROR, Cell, label

Place = tuple[Box, int]  # the box of a cell, and how many operations are done after it
SIZE, PAD, BETWEEN = 13.0, 7.0, 14.0  # letters, space in a cell, and between two parts of a step
MORE = "…"


def draw_strip(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> list[Place]:
    """Draw the operations of a step, those done in this step brighter; return their places."""
    box, scale = division.strip, division.scale
    cells, current = frame_data.strip, frame_data.current
    if not box.height or not cells:
        canvas.box(*box.place, theme.panel[:7])
        return []
    size, pad, margin = SIZE * scale, PAD * scale, 20.0 * scale
    room = box.width - 2.0 * margin
    shown = fitting(tuple(cells), current, room, scale, canvas.ratio)
    if not shown:  # an empty bar would say nothing
        return []
    canvas.box(*box.place, theme.panel[:7])
    base, places = box.y + box.height / 2.0 + 0.36 * size, []
    x = box.x + margin
    for number, (part, group) in enumerate(groupby(shown, lambda cell: cell.part)):
        if number:
            middle = x + BETWEEN * scale / 2.0
            ends = (middle, box.y + 0.28 * box.height), (middle, box.bottom - 0.28 * box.height)
            canvas.segments([ends[0]], [ends[1]], theme.faint)
            x += BETWEEN * scale
        x += canvas.text(x, base, heading(part), size=size, color=theme.quiet, bold=True) + pad
        for cell in group:
            wide = canvas.measure(label(cell), size=size) + 2.0 * pad
            place = Box(x, box.y + 4.0 * scale, wide, box.height - 8.0 * scale)
            lit = cell is lit_of(shown, current)
            color = theme.ink if cell.done <= current else theme.quiet
            if lit:
                fill = theme.accent if part == BACKWARD else theme.light
                canvas.box(*place.place, fill, radius=6.0 * scale)
                color = theme.ground
            canvas.text(x + pad, base, label(cell), size=size, color=color)
            if cell.name != MORE:
                places.append((place, cell.done))
            x += wide
    return places


def draw_hovered(
    canvas: Canvas2D, places: Sequence[Place], frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Write the technical name of the cell under the mouse above it."""
    for box, done in places:
        if done != frame_data.hovered:
            continue
        words, size = frame_data.strip[done - 1].technical, SIZE * scale
        wide, high = canvas.measure(words, size=size) + 16.0 * scale, 24.0 * scale
        x = min(max(box.x + (box.width - wide) / 2.0, 4.0), max(4.0, canvas.width - wide - 4.0))
        place = Box(x, box.y - high - 6.0 * scale, wide, high)
        canvas.box(*place.place, theme.panel[:7], radius=6.0 * scale, outline=theme.rim)
        base = place.bottom - 7.5 * scale
        canvas.text(x + 8.0 * scale, base, words, size=size, color=theme.ink)


def heading(part: str) -> str:
    """Return the plain word over a part of a step."""
    return text(f"strip.part.{part}")


def lit_of(cells: Sequence[Cell], current: int) -> Cell | None:
    """Return the cell that holds the current operation; None if there is none."""
    return next((cell for cell in cells if cell.done >= current > 0), None)


@lru_cache(maxsize=64)
def fitting(
    cells: tuple[Cell, ...], current: int, room: float, scale: float, ratio: float
) -> list[Cell]:
    """Return the cells to draw; see `chosen`."""
    canvas = Canvas2D(1.0, 1.0, ratio)  # measures letters
    return chosen(cells, current, room, lambda cells: width_of(canvas, cells, scale))


def chosen(
    cells: Sequence[Cell], current: int, room: float, width: Callable[[Sequence[Cell]], float]
) -> list[Cell]:
    """Return the cells that fit: all with names, else those of the current layer and one for each
    other layer, else one a layer, else some with "…" between.

    cells    of a step
    current  number of operations that are done
    room     for all cells; `width` returns what some of them take
    """
    named = [
        replace(cell, layer="") if i and cells[i - 1].key == cell.key else cell
        for i, cell in enumerate(cells)
    ]
    own = next((cell.key for cell in cells if cell.done == current), None)
    # One cell a layer; all of the current layer among them; and these alone.
    joined, open_one, mine = list[Cell](), list[Cell](), list[Cell]()
    for key, group in groupby(zip(cells, named, strict=True), lambda pair: pair[0].key):
        pairs = list(group)
        last = pairs[-1][0]
        whole = replace(last, name="") if last.layer else last
        joined.append(whole)
        open_one += [cell for _, cell in pairs] if key == own else [whole]
        mine += [cell for _, cell in pairs] if key == own else []
    for shown in (named, open_one):
        if width(shown) <= room:
            return shown
    if current:
        shown = shortened(open_one, current, room, width)
        if all(cell in shown for cell in mine):
            return shown
    return shortened(joined, current, room, width)


def shortened(
    cells: list[Cell], current: int, room: float, width: Callable[[Sequence[Cell]], float]
) -> list[Cell]:
    """Return cells with "…" instead of as few of them as the room makes necessary.

    Where there is no room for these, it is the current cell alone; none if that is too wide, too.
    """
    if width(cells) <= room:
        return cells
    order = by_distance(cells, current)
    fewest, most = 1, len(order)
    while fewest < most:  # the fewest cells to leave out
        middle = (fewest + most) // 2
        if width(without(cells, order[:middle])) <= room:
            most = middle
        else:
            fewest = middle + 1
    kept = without(cells, order[:fewest])
    if width(kept) <= room:
        return kept
    lit = lit_of(cells, current)
    return [lit] if lit is not None and width([lit]) <= room else []


def without(cells: Sequence[Cell], places: Sequence[int]) -> list[Cell]:
    """Return the cells with "…" instead of those at some places."""
    left = set(places)
    return merged(
        [
            replace(cell, layer="", name=MORE) if place in left else cell
            for place, cell in enumerate(cells)
        ]
    )


def merged(cells: list[Cell]) -> list[Cell]:
    """Return the cells with one "…" for several in a row of one part."""
    found: list[Cell] = []
    for cell in cells:
        if found and found[-1].name == cell.name == MORE and found[-1].part == cell.part:
            found.pop()
        found.append(cell)
    return found


def by_distance(cells: Sequence[Cell], current: int) -> list[int]:
    """Return the places of all cells but the current one, the farthest first, the error last."""
    own = next((i for i, cell in enumerate(cells) if cell.done >= current), 0)
    others = [i for i in range(len(cells)) if i != own]
    return sorted(others, key=lambda i: (cells[i].part == ERROR, -abs(i - own)))


def width_of(canvas: Canvas2D, cells: Sequence[Cell], scale: float) -> float:
    """Return the width of all cells with the words of their parts."""
    size, pad = SIZE * scale, PAD * scale
    parts = dict.fromkeys(cell.part for cell in cells)
    words = [canvas.measure(heading(part), size=size, bold=True) + pad for part in parts]
    wide = [canvas.measure(label(cell), size=size) + 2.0 * pad for cell in cells]
    return sum(words) + sum(wide) + BETWEEN * scale * (len(parts) - 1)
