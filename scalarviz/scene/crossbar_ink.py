"""Draws the marks of a crossbar on a canvas.

Pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalarviz.scene.canvas.palette import mixed, with_opacity
from scalarviz.scene.crossbar_marks import (
    APART,
    DOT,
    HEAD,
    LayerNumbers,
    Mark,
    crossbar_frames,
    crossbar_lines,
    crossbar_marks,
    crossbar_notes,
    input_values,
    light_on,
    pull_marks,
    reason_note,
)
from scalarviz.scene.cube_numbers import first_rows
from scalarviz.scene.focus import blame_in, rows_of_sum
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.crossbar_layout import point
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.scene.layout.ways import BEHIND, on_curve
from scalarviz.scene.lines import carried
from scalarviz.scene.pace import BACK
from scalarviz.scene.silhouettes import balls_of
from scalarviz.story.facts import NONE, Neuron

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.crossbar_layout import Crossbar, Lane
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout
    from scalarviz.story.caption import Caption

# Maximum and minimum size of letters when the camera is close or far, relative to the picture's;
# pixels by which notes may be outside the box of the network.
GROWS, SHRINKS, EDGE = 1.5, 0.9, 14.0
ROOM = 44.0  # minimum width of a cell whose bar has its number if all numbers are wanted
SPOKEN = 2  # most neurons of a caption about one of them
NOTHING = 0.005  # weights that are written as 0 have no color
MOST_DOTS = 400  # of a line
LEAST_ONE = 7.0  # smallest letters of a 1 in a circle
MIXED = 0.45  # part of the ink in the color of a number


class Sheet:
    """Where the marks of a crossbar are in the picture: an affine map unless in perspective.

    Args:
        placed: the crossbar
        see: the projection
    """

    def __init__(self, placed: Crossbar, see: Projection) -> None:
        corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
        start, right, down = balls_of(see, [point(placed, *each) for each in corners], 0.0)
        self.placed, self.see = placed, see
        self.start = start.x, start.y
        self.right = right.x - start.x, right.y - start.y
        self.down = down.x - start.x, down.y - start.y
        self.zoom = math.hypot(*self.right)
        if see.camera.fov > 0.0:  # as in the middle of the picture
            self.zoom = PIXEL * balls_of(see, [point(placed, *placed.corner)], 0.0)[0].unit

    def at(self, place: tuple[float, float]) -> tuple[float, float]:
        """Return where a point of the boards is."""
        x, y = place
        if self.see.camera.fov > 0.0:
            seen = balls_of(self.see, [point(self.placed, x, y)], 0.0)[0]
            return seen.x, seen.y
        return (
            self.start[0] + x * self.right[0] + y * self.down[0],
            self.start[1] + x * self.right[1] + y * self.down[1],
        )


def followed_in(
    layout: Layout,
    caption: Caption | None,
    pinned: int,
    neuron: Neuron | None,
    before: Mapping[int, int],
) -> dict[int, int]:
    """Return, by layer, the neurons whose products a crossbar writes, if not the usual ones.

    Args:
        caption: the caption of an operation, or None at rest
        pinned, neuron: the pinned weight or neuron; NONE and None for neither
        before: those in the last picture, kept during a step
    """
    found: dict[int, int] = {}
    if layout.crossbar is None:
        return found
    named: list[Neuron] = []
    rows: list[int] = []
    if caption is not None:
        found = {layer: before[layer] for layer in before}
        named += caption.thread
        if len(caption.neurons) <= SPOKEN:  # not about a whole layer
            named += caption.neurons[:1]
        rows += caption.rows[:1]
    if neuron is not None:
        named.append(neuron)
    if pinned != NONE:
        rows.append(pinned)
    for layer, fan in enumerate(layout.fans):
        buffers = layout.neurons[fan.after].buffers
        for name, place in named:
            if name in buffers:
                found[layer] = place
        for row in rows:
            unit = fan.unit_of(row)
            if unit is not None:
                found[layer] = unit
    return found


def layer_numbers(frame_data: FrameData) -> list[LayerNumbers]:
    """Return the numbers of each layer of a crossbar for the sample that is shown."""
    layout: Layout = frame_data.layout
    known = frame_data.buffers.values
    weights = frame_data.weights if len(frame_data.weights) else frame_data.cubes.sizes
    found: list[LayerNumbers] = []
    for fan in layout.fans:
        before, after = layout.neurons[fan.before], layout.neurons[fan.after]
        has_inputs = before.values in known or before.sums in known
        numbers = carried(fan, frame_data)
        count = len(numbers.values)
        comes = numbers.values if has_inputs else [math.nan] * count
        unknown = [math.nan] * fan.units
        sums = known.get(after.sums or after.values)
        results = known.get(after.values)
        rows = [rows_of_sum(fan, unit) for unit in range(fan.units)]
        found.append(
            LayerNumbers(
                comes,
                [[float(weights[row]) for row in each] for each in rows],
                rows,
                [*([] if sums is None else [float(x) for x in sums]), *unknown][: fan.units],
                [*([] if results is None else [float(x) for x in results]), *unknown][: fan.units],
                after.curve,
                after.bends,
                after.buffer,
                after.names,
            )
        )
    return found


def lit_colors(frame_data: FrameData) -> dict[int, float]:
    """Return the numbers for the colors of bars, by bank index: their sign times their light."""
    scale = float(frame_data.cubes.color_scales[0])
    found: dict[int, float] = {}
    for layer in layer_numbers(frame_data):
        for weights, rows, lights in zip(layer.weights, layer.rows, light_on(layer), strict=True):
            for weight, row, light in zip(weights, rows, lights, strict=True):
                is_none = abs(weight) < NOTHING
                sign = 1.0 if weight > 0.0 else -1.0 if weight < 0.0 else weight
                found[row] = 0.0 if is_none else scale * light * sign
    return found


def draw_crossbar_lines(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> None:
    """Draw the lines of a crossbar and the frames of its lanes, behind its bars."""
    placed = frame_data.layout.crossbar
    if placed is not None:
        sheet = Sheet(placed, see)
        layers = layer_numbers(frame_data)
        moment = frame_data.moment
        backward = moment is not None and moment.kind in BACK
        lanes = lanes_shown(frame_data, placed)
        wide, unit = frame_data.layout.plates[0].wide / PIXEL, bar_unit(frame_data)
        frames: list[Mark] = []
        if see.camera.is_front:
            frames = crossbar_frames(placed, layers, wide, unit, lanes)
        lines = crossbar_lines(placed, layers, lanes, backward=backward)
        for mark in [*frames, *lines, *pulls_in(frame_data, layers)]:
            draw_mark(canvas, theme, sheet, mark, BEHIND[0])


def reasons_in(frame_data: FrameData, placed: Crossbar) -> list[list[list[Mark]]]:
    """Return why error signals come back through the weights of the next layer, as notes."""
    found: list[list[list[Mark]]] = []
    blame = blame_in(frame_data)
    for part in blame.parts if blame is not None else ():
        for layer, fan in enumerate(frame_data.layout.fans):
            unit = fan.unit_of(part.row)
            if unit is not None:
                column = fan.unit_before(part.row)
                found.append(reason_note(placed, layer, unit, column, part.words))
    return found


def pulls_in(frame_data: FrameData, layers: Sequence[LayerNumbers]) -> list[Mark]:
    """Return the lines of the error signal to the neuron that is explained in backward."""
    layout: Layout = frame_data.layout
    told, placed = frame_data.told, layout.crossbar
    kind = "" if frame_data.moment is None else frame_data.moment.kind
    if told is None or placed is None or kind not in BACK:
        return []
    for layer, fan in enumerate(layout.fans):
        line = layout.neurons[fan.after]
        units = [fan.unit_of(row) for row in told.rows[:1]]
        if len(told.rows) == 0:
            units = [place for name, place in told.neurons[:1] if name in line.buffers]
        for unit in units:
            if unit is not None:
                return pull_marks(
                    placed,
                    layer,
                    unit,
                    pulls_of(frame_data, layers, layer, unit),
                    of_weights=kind == "weight gradient",
                )
    return []


def pulls_of(
    frame_data: FrameData, layers: Sequence[LayerNumbers], layer: int, unit: int
) -> list[float]:
    """Return what each neuron of the next layer sends back to a neuron; empty if unknown."""
    if layer + 1 >= len(layers):
        return []
    layout: Layout = frame_data.layout
    line = layout.neurons[layout.fans[layer + 1].after]
    flows = frame_data.buffers.flows.get(line.sums or line.values)
    if flows is None:
        return []
    weights = layers[layer + 1].weights
    return [float(flow) * own[unit] for flow, own in zip(flows, weights, strict=True)]


def draw_crossbar_marks(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme
) -> None:
    """Draw the texts and curves of a crossbar."""
    placed = frame_data.layout.crossbar
    if placed is not None:
        sheet = Sheet(placed, see)
        for mark in marks_in(canvas, see, frame_data):
            draw_mark(canvas, theme, sheet, mark, -1.0)


def marks_in(canvas: Canvas2D, see: Projection, frame_data: FrameData) -> list[Mark]:
    """Return the texts and curves of a crossbar; none if the view is rotated."""
    placed = frame_data.layout.crossbar
    if placed is None or not see.camera.is_front:
        return []
    layers, unit = layer_numbers(frame_data), bar_unit(frame_data)
    asked = [*first_rows(frame_data)]
    if frame_data.look.numbers and placed.cells.wide >= ROOM and placed.cells.high >= 0.5 * ROOM:
        asked = [row for layer in layers for rows in layer.rows for row in rows]
    lanes = lanes_shown(frame_data, placed)
    wide = frame_data.layout.plates[0].wide / PIXEL
    marks = crossbar_marks(placed, layers, wide, unit, asked, lanes)
    if frame_data.layout.neurons[0].square:
        marks += input_values(placed, layers[0].comes)
    marks = [each for each in marks if not is_out_of_focus(frame_data, each)]
    marks += notes_with_room(canvas, see, placed, marks, reasons_in(frame_data, placed))
    if placed.enlarged > 1.0:
        return marks
    lines = frame_data.layout.neurons
    pictured = lines[0].names if lines[1].square else ()
    notes = crossbar_notes(placed, layers, unit, pictured, lanes)
    return [*marks, *notes_with_room(canvas, see, placed, marks, notes)]


def notes_with_room(
    canvas: Canvas2D,
    see: Projection,
    placed: Crossbar,
    marks: Sequence[Mark],
    notes: Sequence[Sequence[Sequence[Mark]]],
) -> list[Mark]:
    """Return those notes whose words meet no other words."""
    sheet = Sheet(placed, see)
    found: list[Mark] = []
    taken = [box_of(canvas, sheet, each) for each in marks if each.kind in ("words", "token")]
    room = see.box.inside(-EDGE * canvas.scale)
    for note in notes:
        for words in note:
            boxes = [box_of(canvas, sheet, each) for each in words]
            if all(is_free(box, room, taken) for box in boxes):
                found += words
                taken += boxes
                break
    return found


def boxes_of_marks(canvas: Canvas2D, see: Projection, frame_data: FrameData) -> list[Box]:
    """Return the boxes of the texts of a crossbar."""
    placed = frame_data.layout.crossbar
    if placed is None:
        return []
    sheet = Sheet(placed, see)
    marks = [each for each in marks_in(canvas, see, frame_data) if each.words]
    return [box_of(canvas, sheet, each) for each in marks]


def bar_unit(frame_data: FrameData) -> float:
    """Return the height of the bar of 1 in pixels of the crossbar."""
    return 2.0 * frame_data.layout.plates[0].half / PIXEL / float(frame_data.cubes.size_scales[0])


def is_free(box: Box, room: Box, taken: Sequence[Box]) -> bool:
    """Return whether a box is in a room and meets no other box."""
    is_inside = room.x <= box.x and box.right <= room.right and room.y <= box.y
    return is_inside and not any(box.meets(each) for each in taken)


def lanes_shown(frame_data: FrameData, placed: Crossbar) -> list[Lane]:
    """Return the lanes whose products are written: in backward only the explained neuron's."""
    kind = "" if frame_data.moment is None else frame_data.moment.kind
    told = frame_data.told
    if told is None or kind not in BACK:
        return [*placed.lanes]
    layout: Layout = frame_data.layout
    found: list[Lane] = []
    for each in placed.lanes:
        fan = layout.fans[each.layer]
        line = layout.neurons[fan.after]
        units = [fan.unit_of(row) for row in told.rows[:1]]
        units += [place for name, place in told.neurons[:1] if name in line.buffers]
        if each.neuron in units:
            found.append(each)
    return found


def box_of(canvas: Canvas2D, sheet: Sheet, mark: Mark) -> Box:
    """Return the box of a text or a token in the picture."""
    x, y = sheet.at(mark.points[0])
    if mark.kind == "token":
        radius = mark.width * min(sheet.zoom, GROWS * canvas.scale)
        return Box(x - radius, y - radius, 2.0 * radius, 2.0 * radius)
    size = letters_of(canvas, sheet, mark)
    wide = canvas.measure(mark.words, size=size, bold=mark.bold)
    left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[mark.anchor] * wide
    return Box(left, y - 0.5 * size, wide, size)


def letters_of(canvas: Canvas2D, sheet: Sheet, mark: Mark) -> float:
    """Return the size of the letters of a mark in the picture."""
    zoom = min(sheet.zoom, GROWS * canvas.scale)
    return mark.size * (zoom if mark.kind == "token" else max(zoom, SHRINKS * canvas.scale))


def is_out_of_focus(frame_data: FrameData, mark: Mark) -> bool:
    """Return whether a text is about a weight or a neuron while others are in focus."""
    focus = frame_data.focus
    if focus is None or mark.kind != "words":
        return False
    if mark.row != NONE:
        return mark.row not in focus.rows
    found = None if mark.neuron is None else frame_data.layout.fan_into(mark.neuron)
    return found is not None and not all(row in focus.rows for row in rows_of_sum(*found))


def color_of(theme: Theme, name: str) -> str:
    """Return a color of the theme; numbers have the colors "negative" and "positive"."""
    known = {
        "faint": theme.faint,
        "ink": theme.ink,
        "lit": theme.lit,
        "quiet": theme.quiet,
        "push": theme.push,
        "negative": theme.signs[0],
        "positive": theme.signs[1],
    }
    return known[name]


def draw_mark(canvas: Canvas2D, theme: Theme, sheet: Sheet, mark: Mark, depth: float) -> None:
    """Draw one mark."""
    scale = canvas.scale
    zoom = min(sheet.zoom, GROWS * scale)
    points = [sheet.at(each) for each in mark.points]
    if not math.isfinite(sum([x + y for x, y in points]) + zoom):
        return  # behind the eye
    color = with_opacity(color_of(theme, mark.color), mark.strength)
    first, last = points[0], points[len(points) - 1]
    width = mark.width * zoom
    if mark.kind in ("line", "arrow"):
        canvas.segments([first], [last], color, width=width, depth=depth)
        if mark.kind == "arrow":
            far = math.hypot(last[0] - first[0], last[1] - first[1]) or 1.0
            part = HEAD * zoom / far
            back = last[0] + part * (first[0] - last[0]), last[1] + part * (first[1] - last[1])
            canvas.arrows(back, last, color, width=width, head=HEAD * zoom, depth=depth)
    elif mark.kind == "dots":
        far = math.hypot(last[0] - first[0], last[1] - first[1])
        count = min(max(1, int(far / ((DOT + APART) * zoom))), MOST_DOTS)
        right, down, dot = (
            (last[0] - first[0]) / count,
            (last[1] - first[1]) / count,
            DOT / (DOT + APART),
        )
        starts = [(first[0] + i * right, first[1] + i * down) for i in range(count)]
        ends = [(x + dot * right, y + dot * down) for x, y in starts]
        canvas.segments(starts, ends, color, width=width, depth=depth)
    elif mark.kind == "words":
        write(canvas, theme, sheet, mark)
    elif mark.kind == "token":
        left, top = first[0] - width, first[1] - width
        side, look = 2.0 * width, (theme.panel[:7], theme.faint)
        line = 1.3 * scale
        canvas.box(left, top, side, side, look[0], radius=width, outline=look[1], line=line)
        if letters_of(canvas, sheet, mark) >= LEAST_ONE * scale:  # else too small to be read
            write(canvas, theme, sheet, mark)
    elif mark.kind == "curve":
        draw_curve(canvas, theme, first, mark, 0.5 * width)
    elif mark.kind == "frame":
        left, top = first
        fill, line = with_opacity(theme.lit, 0.05), 1.2 * scale
        wide, high = last[0] - left, last[1] - top
        canvas.box(left, top, wide, high, fill, radius=12.0 * zoom, outline=color, line=line)


def draw_curve(
    canvas: Canvas2D, theme: Theme, place: tuple[float, float], mark: Mark, half: float
) -> None:
    """Draw the curve of an activation in a square, with a dot at its number if that is known."""
    (x, y), bends, last = place, mark.bends, len(mark.bends) - 1
    low: float = min([0.0, *bends])
    up: float = 1.1 * half / ((max([0.0, *bends]) - low) or 1.0)
    look = theme.panel[:7], theme.wire
    side = 2.0 * half
    canvas.box(
        x - half, y - half, side, side, look[0], radius=0.46 * half, outline=look[1], line=1.2
    )
    path = [
        (x + 0.72 * half * (2.0 * i / last - 1.0), y + 0.55 * half - up * (bend - low))
        for i, bend in enumerate(bends)
    ]
    canvas.segments(path[:last], path[1:], theme.quiet, width=0.14 * half)
    if math.isfinite(mark.value):
        along, height = on_curve(bends, mark.value)
        dot = [(x + 0.72 * half * along, y + 0.55 * half - up * (height - low))]
        canvas.segments(dot, dot, theme.lit, width=0.5 * half)


def write(canvas: Canvas2D, theme: Theme, sheet: Sheet, mark: Mark) -> None:
    """Write the text of a mark, vertically centered at its point."""
    x, y = sheet.at(mark.points[0])
    color = color_of(theme, mark.color)
    if mark.color in ("negative", "positive"):
        color = mixed(color, theme.ink, MIXED)
    size = letters_of(canvas, sheet, mark)
    canvas.text(
        x,
        y + 0.36 * size,
        mark.words,
        size=size,
        color=color,
        bold=mark.bold,
        anchor="center" if mark.kind == "token" else mark.anchor,
        outline=theme.ground,
    )
