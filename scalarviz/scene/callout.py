"""The callout: a few words beside the neuron or cube that the caption is about."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded, short
from scalarviz.core.program import NONE
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.cube_numbers import marks_of
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.lights import BACK, are_at
from scalarviz.scene.marks import MOST_CUBES, box_of_sphere, cube_boxes, least_covering
from scalarviz.scene.pace import ARRIVES, travelled
from scalarviz.story.caption import Summand, ends_of_bars, words_beside

# Terms of a sum of products: their numbers travel along the lines and stack up to the sum.

STACK_LONG, BAR_HIGH, BAR_PITCH = (
    130.0,
    7.0,
    9.0,
)  # pixels of a stack across, of a bar, from one to the next
TERM_LETTERS, LEAST_LETTERS = (
    13.0,
    0.1,
)  # letters of a number on its way; smaller ones have two digits
STACK = {
    "long": STACK_LONG,
    "high": BAR_HIGH,
    "row": BAR_PITCH,
    "number": TERM_LETTERS,
    "least": LEAST_LETTERS,
}  # for a page


def draw_bars(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    place: tuple[float, float, float],
    ends: Sequence[tuple[float, float]],
    theme: Theme,
    scale: float,
) -> None:
    """Draw the bars of a sum as far as they have come, and the numbers that travel to them.

    place  x, y and width of the stack
    ends   where bars begin and end, from 0 to 1
    """
    caption, moment = frame_data.words.caption, frame_data.moment
    assert caption is not None and moment is not None and caption.summed is not None
    x, y, wide = place
    largest, left = caption.summed.largest, travelled(frame_data.part)
    zero = x + wide * ends[0][0]
    is_back = moment.kind in BACK
    canvas.line([(zero, y), (zero, y + len(ends) * BAR_PITCH * scale)], theme.quiet, width=scale)
    for row, (first, end) in enumerate([(x + wide * a, x + wide * b) for a, b in ends]):
        color = theme.push if is_back else (theme.map.negative, theme.map.positive)[end >= first]
        at = np.array([min(first, end), y + row * BAR_PITCH * scale])
        grown = min(1.0, left - row - (row < len(largest)))
        if row == len(ends) - 1:
            grown = float(frame_data.part >= ARRIVES)
        elif row < len(largest) and 0.0 <= left - row < 2.0:
            cube = place_of_term(see, frame_data.layout, largest[row], min(1.0, left - row))
            if np.isfinite(cube).all():
                numbers = largest[row].number, largest[row].weight
                words = " × ".join(map(factor, numbers[: 1 + (grown >= 0.0)]))
                write_number(canvas, cube, words, theme, color, scale)
                at = cube + max(0.0, grown) * (at - cube)
        if grown <= 0.0:
            continue
        long, fill = (
            max(grown * abs(end - first), scale),
            None if is_back and end < first else color,
        )
        canvas.boxes(at[np.newaxis], (long, BAR_HIGH * scale), fill, outline=color, line=scale)
        if grown == 1.0 and row < len(ends) - 1:  # where the next one begins
            canvas.line(
                [(end, at[1]), (end, at[1] + (BAR_PITCH + BAR_HIGH) * scale)],
                theme.ink,
                width=scale,
            )


def factor(value: float) -> str:
    """Return a factor as it travels: as cubes have it, small ones with two digits."""
    return short(value) if abs(value) >= LEAST_LETTERS or not value else rounded(value)


def place_of_term(see: Projection, layout: Layout, summand: Summand, part: float) -> FloatArray:
    """Return where a number is seen on its way to its cube; NaN if one is not in the picture."""
    line, plate = layout.line_of(summand.neuron), layout.plate_of(summand.row)
    if line is None or plate is None:
        return np.full(2, np.nan)
    (wall, row, column), start = plate, line[0].points[line[1]]
    return np.asarray(see(start + part * (wall.middle(row, column) - start)).xy[0])


def write_number(
    canvas: Canvas2D, at: FloatArray, words: str, theme: Theme, color: str, scale: float
) -> None:
    """Write a number over what it passes."""
    (x, y), size = at.tolist(), TERM_LETTERS * scale
    wide = canvas.measure(words, size=size, bold=True) + size
    box = x - 0.5 * wide, y - 0.8 * size, wide, 1.6 * size
    canvas.box(*box, theme.panel[:7], radius=0.8 * size, outline=color, line=1.5 * scale)
    canvas.text(x, y + 0.36 * size, words, size=size, color=theme.ink, bold=True, anchor="center")


# The callout.

CALLOUT_LETTERS, PAD, GAP = 14.0, 8.0, 8.0  # letters, space around them, and from what they name
FARTHEST = 56.0  # of words without bars
PLACES = 32, 24  # places that are tried, across and down
SUBJECT = 1e8  # what a covered pixel of the subject costs, in pixels away,
COVERED, CUBE = 1e4, 1e3  # another one, or one of a cube
MUCH = 100 * COVERED  # for which the name is left out
RIGHTWARDS = 1e-3  # what it costs to be a pixel further right; down twice as much
SHORTER = 60.0  # what it costs to leave out the name, which is marked anyway
BOX_STEP = 4  # logical pixels of which the width of the box is a multiple


def subject_of(frame_data: FrameData, see: Projection) -> Box | None:
    """Return the box around what the caption is about; None if that is not in the picture."""
    caption = frame_data.words.caption
    if caption is None:
        return None
    for box in cube_boxes(see, frame_data, caption.rows[:1], 0.42):
        return box
    for neuron in caption.neurons[:1]:
        found = frame_data.layout.line_of(neuron)
        if found is not None:
            return box_of_place(see, *found)
    return None


def box_of_place(see: Projection, line: Neurons, place: int) -> Box | None:
    """Return the box around a neuron; None if it is behind the eye."""
    return box_of_sphere(see, line.points[place], 0.5 * line.side if line.shape else line.radius)


def draw_callout(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> Box | None:
    """Write beside the subject of an operation what it is and has, below the bars of its sum.

    Return the box of the words.
    """
    caption, moment = frame_data.words.caption, frame_data.moment
    is_known, subject = frame_data.part >= ARRIVES, subject_of(frame_data, see)
    callout = "" if caption is None else words_beside(caption)
    if caption is None or moment is None or subject is None or not callout:
        return None
    ends = [] if caption.summed is None else ends_of_bars(caption.summed)
    size, pad, box = CALLOUT_LETTERS * scale, PAD * scale, None
    high, least = size + 1.4 * pad + len(ends) * BAR_PITCH * scale, np.inf
    for is_short, words in enumerate((callout, callout.rpartition(": ")[2])):
        long = STACK_LONG * scale / (1.0 + is_short) if len(ends) else 0.0
        wide = max(width_of(canvas, words, size, pad), long)
        if wide <= see.box.width and high <= see.box.height:
            reach = np.inf if len(ends) else FARTHEST * scale
            place, cost = free_place(see, frame_data, taken, subject, (wide, high), reach, scale)
            cost += SHORTER * is_short
            if box is None or (cost < least and (len(ends) or least > MUCH)):
                box, said, least = place, words, cost
    if box is None or not (is_known or len(ends)):
        return None
    light = theme.accent if moment.kind in BACK else theme.light
    lead(canvas, box, subject, light, scale)
    radius = 0.4 * (high - len(ends) * BAR_PITCH * scale)
    canvas.box(*box.place, theme.panel[:7], radius=radius, outline=light, line=1.5 * scale)
    if len(ends):
        inner = box.x + pad, box.y + 0.7 * pad, box.width - 2.0 * pad
        draw_bars(canvas, see, frame_data, inner, ends, theme, scale)
    base = box.bottom - 0.5 * (size + 1.4 * pad) + 0.36 * size
    said = said if is_known else said.rpartition(": ")[0]  # the name, until the number is there
    canvas.text(box.x + pad, base, said, size=size, color=theme.ink, bold=True)
    return box


def width_of(canvas: Canvas2D, words: str, size: float, pad: float) -> float:
    """Return the width of the box of words, in whole steps: fonts differ by parts of a pixel."""
    return BOX_STEP * math.ceil(
        (canvas.measure(words, size=size, bold=True) + 2.0 * pad) / BOX_STEP
    )


def free_place(
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    subject: Box,
    sides: tuple[float, float],
    reach: float,
    scale: float,
) -> tuple[Box, float]:
    """Return the box within reach of its subject that covers least, and what it costs.

    Of those that cover as little, it is the nearest one.
    """
    rows = len(frame_data.cubes.sizes)
    words = [subject, *taken.boxes, *name_boxes(see, frame_data, scale)]
    words += [Box(x - r, y - r, 2.0 * r, 2.0 * r) for x, y, r in taken.spheres.tolist()]
    chosen = range(rows) if rows <= MOST_CUBES else marks_of(frame_data)
    cubes = cube_boxes(see, frame_data, chosen, 0.42)
    boxes = [(each, SUBJECT if each is subject else COVERED) for each in words]
    boxes += [(each, CUBE) for each in cubes]
    view, (wide, high) = see.box, sides
    first = max(view.x, subject.x - reach - wide), max(view.y, subject.y - reach - high)
    last = (
        min(view.right - wide, subject.right + reach),
        min(view.bottom - high, subject.bottom + reach),
    )
    lefts, tops = map(np.linspace, first, last, PLACES)
    rightwards = RIGHTWARDS * (lefts + 2.0 * tops[:, np.newaxis])
    return least_covering(
        lefts, tops, sides, boxes, lambda away: away + (away > reach) * 1e9 + rightwards
    )


def lead(canvas: Canvas2D, box: Box, subject: Box, color: str, scale: float) -> None:
    """Draw a line from words to their subject, unless they touch it."""
    start, end = box.shortest(subject)
    if math.dist(start, end) > GAP * scale + 1.0:
        canvas.line([start, end], color, width=1.5 * scale)


def name_boxes(see: Projection, frame_data: FrameData, scale: float) -> list[Box]:
    """Return the boxes of the names below spheres, and of the errors below those of a loss."""
    found, moment = [], frame_data.moment
    for line in frame_data.layout.neurons:
        seen = see(line.points)
        is_last = line is frame_data.layout.neurons[-1]
        high = 17.0 + 45.0 * (is_last and moment is not None and moment.kind == "loss")
        for (x, y), unit in zip(seen.xy.tolist(), seen.unit.tolist(), strict=True):
            if line.names and not line.shape and np.isfinite(x + y):
                below = y + line.radius * unit
                found.append(Box(x - 20.0 * scale, below, 40.0 * scale, high * scale))
    return found


# Names of the neurons that a sentence or a card names, beside their spheres.

SIZE = 12.0  # logical pixels of their letters


def draw_spoken(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> None:
    """Write names beside spheres, where they cover nothing.

    Lines with names of their own have none, nor a neuron whose name is in the callout.
    """
    told, places = spoken_names(frame_data)
    written, size = " ".join(canvas.words).lower(), SIZE * scale
    for line in frame_data.layout.neurons if len(places) else ():
        is_told = () if line.names or line.shape else are_at(line, places)[: len(line.points)]
        for place in np.flatnonzero(is_told).tolist():
            for words in names_of(place):
                if words not in told or words in written:
                    continue
                subject, wide = box_of_place(see, line, place), canvas.measure(words, size=size)
                if subject is None:
                    continue
                reach = 2.0 * FARTHEST * scale
                box, _ = free_place(
                    see, frame_data, taken, subject, (wide, 1.1 * size), reach, scale
                )
                taken.boxes.append(box)
                lead(canvas, box, subject, theme.quiet, scale)
                low, ink = box.y + 0.9 * size, theme.ink
                canvas.text(box.x, low, words, size=size, color=ink, outline=theme.ground)


def spoken_names(frame_data: FrameData) -> tuple[str, FloatArray]:
    """Return what caption and card say, and where the neurons stand that these are about."""
    layout, pinned, said = frame_data.layout, frame_data.pinned, frame_data.words.caption
    told, rows, neurons = "", [], []
    if said is not None and frame_data.moment is not None:
        told, rows, neurons = said.title, [*said.rows[:1]], [*said.neurons]
    if pinned is not None:
        told, rows = f"{told} {pinned.name}", [*rows, pinned.row]
    if frame_data.pinned_neuron is not None:
        neurons.append(frame_data.pinned_neuron)
    found = [layout.line_of(neuron) for neuron in neurons]
    places = [line.points[place] for line, place in filter(None, found)]
    for row in rows:
        wires = layout.fan_of(row) if row != NONE else None
        if wires is not None:
            places += wires[0].ends_of(row, wires[1])
    return told.lower(), np.array(places)


def names_of(place: int) -> tuple[str, ...]:
    """Return what a sentence may call the neuron at a place of its line."""
    return (
        text("captions.unit.neuron", number=place),
        text("captions.unit.wave", number=place),
        text("captions.end.output", name=place),
        text("captions.end.input", name=place),
    )
