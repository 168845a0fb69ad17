"""Numbers on cubes: each stands on the face of its cube that is largest on the screen.

A cube has two digits after the point, else one, else none: where its number would be wider than its
cell, meet another number, or be covered by something nearer. The cubes of a sum that is hovered,
pinned or spoken of come first, are covered by nothing, and have theirs at any size. Cubes of the
caption have its arithmetic, if there is room on all of them, and while weights move, cubes have
the numbers before and after the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scalarviz.base.texts.decimals import on_cube, short
from scalarviz.core.program import NONE
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import HALO, NUMBER
from scalarviz.pictures.view.faces import NUMBERS, Faces, Hidden, faces_seen
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.lights import MOVED, Lights
from scalarviz.pictures.view.scene.frame import Projection

DIMMED = "b0"  # opacity of numbers of a plate that is dimmed


@dataclass(frozen=True)
class Number:
    """What is written on a cube, around a point of the picture, and half its width and height."""

    words: str
    x: float
    y: float
    size: float
    depth: float
    wide: float
    high: float

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        return self.x - self.wide, self.y - self.high, self.x + self.wide, self.y + self.high


def draw_numbers(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    scale: float,
    lit: Lights | None = None,
) -> None:
    """Write numbers on the cubes.

    lit  brightness of the plates; None: all are bright
    """
    found, plates = numbers_on_cubes(canvas, see, frame_data, scale)
    for row, number in found.items():
        is_dim = lit is not None and lit.is_dim(row, plates[row])
        ink, lines = NUMBER + (DIMMED if is_dim else ""), number.words.split("\n")
        for place, line in enumerate(lines):
            down = 0.36 + NUMBERS["line"] * (place - 0.5 * (len(lines) - 1))
            canvas.text(
                number.x,
                number.y + down * number.size,
                line,
                size=number.size,
                bold=True,
                color=ink,
                anchor="center",
                depth=number.depth,
                outline=HALO,
            )


def numbers_on_cubes(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, scale: float, *, told: bool = True
) -> tuple[dict[int, Number], dict[int, int]]:
    """Return what is written on cubes, and the number of the plate of each, by bank index.

    told  False: the arithmetic of the caption is left out
    """
    first = first_rows(frame_data)
    faces = faces_seen(see, frame_data, first, scale)
    marks = {row: mark for row, mark in marks_of(frame_data).items() if mark and told}
    rows = faces.rows.tolist()
    order = sorted(range(len(rows)), key=lambda i: (first.get(rows[i], 2), faces.far[i]))
    hidden, found = Hidden(see, frame_data, faces), dict[int, Number]()
    boxes, count = np.zeros((len(rows), 4)), 0
    for i in order[: int(NUMBERS["most"])]:
        row, rank = rows[i], first.get(rows[i], 2)
        for words, face, is_open in choices(frame_data, faces, i, marks.get(row), rank):
            number = fitted(canvas, faces, (i, face), words, scale, rank)
            if number is None:
                continue
            x, y, right, bottom = ends = number.ends
            low, high = boxes[:count, :2] < (right, bottom), boxes[:count, 2:] > (x, y)
            if (low & high).all(axis=1).any():
                continue
            if is_open and hidden(i, face, NUMBERS["seen"] * (right - x)):
                continue
            found[row], boxes[count] = number, ends
            count += 1
            break
    if any(row in rows and (row not in found or found[row].words != marks[row]) for row in marks):
        return numbers_on_cubes(canvas, see, frame_data, scale, told=False)
    return found, dict(zip(rows, faces.plates.tolist(), strict=True))


def first_rows(frame_data: FrameData) -> dict[int, int]:
    """Return the bank indices that have their numbers always: 0 if it is marked itself, else 1."""
    layout, cards = frame_data.layout, (frame_data.hover, frame_data.pinned)
    chosen = [card.row for card in cards if card is not None and card.row != NONE]
    neurons = frame_data.hover_neuron, frame_data.pinned_neuron
    fans = [layout.fan_of(row) for row in chosen]
    fans += [layout.fan_into(neuron) for neuron in neurons if neuron is not None]
    beside = [*marks_of(frame_data)]
    for fan, unit in filter(None, fans):
        if fan.inputs <= NUMBERS["most"]:
            beside += [*fan.rows_of(unit), *([fan.biases + unit] if fan.biases != NONE else [])]
    return dict.fromkeys(beside, 1) | dict.fromkeys(chosen, 0)


def marks_of(frame_data: FrameData) -> dict[int, str]:
    """Return what the caption of an operation writes on cubes, by bank index."""
    caption = frame_data.words.caption
    if frame_data.moment is None or caption is None or frame_data.part < NUMBERS["touched"]:
        return {}
    return {piece.row: on_cube(piece.mark) for piece in caption.pieces if piece.row != NONE}


def choices(
    frame_data: FrameData, faces: Faces, i: int, mark: str | None, rank: int
) -> Iterator[tuple[str, int, bool]]:
    """Yield what a cube may have written on it, on which face, and whether only if that is seen.

    The best is first.
    """
    cubes, row = frame_data.cubes, faces.rows[i]
    own, value = faces.order[i, :2].tolist(), float(cubes.colors[row])
    every = [mark] if mark else []
    if cubes.before is not None and frame_data.part >= MOVED:
        before = float(cubes.before[row])
        every += [old_and_new(before, value), *changed(before, value)]
    is_large = abs(value) >= 0.95  # with one digit, 1.0
    every += [short(value, digits) for digits in ((2, 1, 0) if is_large else (2, 1))]
    for is_open in (True, False) if rank < 2 else (True,):
        yield from ((words, face, is_open) for words in every for face in own)


def old_and_new(old: float, new: float) -> str:
    """Return two numbers in lines of their own, with as many digits as distinguish them."""
    pairs = [(short(old, digits), short(new, digits)) for digits in (2, 3, 4)]
    first, last = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{first}\n→ {last}"


def changed(old: float, new: float) -> list[str]:
    """Return an arrow with the change of a number, of up to four digits; else nothing."""
    words = [short(abs(new - old), digits) for digits in (2, 3, 4)]
    return [f"{'↑' if new > old else '↓'} {each}" for each in words if each.strip(".0")][:1]


def fitted(
    canvas: Canvas2D,
    faces: Faces,
    place: tuple[int, int],
    words: str,
    scale: float,
    rank: int,
) -> Number | None:
    """Return words on a face of a cube in letters as large as fit; None if these would be small.

    place  the cube and the face
    rank  0 for a cube that is marked: it has its number at any size; 1 for one of a sum: it has it
          where its cell is as wide as a letter; 2 for others
    """
    lines = words.split("\n")
    wide = max(canvas.measure(line, size=10.0, bold=True) for line in lines) / 10.0
    # The room of a sign, too: numbers of one size have as many digits.
    room = max(canvas.measure(f"-{line.lstrip('-')}", size=10.0, bold=True) for line in lines) / 10
    high, least = NUMBERS["line"] * len(lines), NUMBERS["least"] * scale
    size = min(max(NUMBERS["part"] * float(faces.high[place]), least), NUMBERS["largest"] * scale)
    size = min(size, float(faces.wide[place]) / room, float(faces.tall[place]) / high)
    if len(lines) == 1 and (rank == 0 or (rank == 1 and faces.wide[place] >= least)):
        size = max(size, least)
    if size < least:
        return None
    x, y = faces.fronts[place].tolist()
    # What is wider than its face stays on the cube.
    face = float(faces.wide[place] * faces.high[place] / faces.tall[place])
    aside = float(faces.middles[place[0], 0]) - x
    more = min(max(0.0, 0.5 * (wide * size - face)), NUMBERS["aside"] * face, abs(aside))
    x += math.copysign(more, aside)
    near = -1.0 if rank < 2 else max(float(faces.near[place[0]]), -1.0)
    return Number(words, x, y, size, near, 0.5 * wide * size, 0.5 * high * size)
