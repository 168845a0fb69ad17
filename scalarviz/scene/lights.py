"""Lights: brightness of plates and neurons during an operation, and the sum in focus.

Brightness shows what is active; hue stays reserved for the sign of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Moment, Operation, Program
from scalarviz.scene.frame_data import Focus, FrameData, Mask
from scalarviz.scene.layout.plates import Fan, Layout, Neurons, Plate
from scalarviz.scene.pace import LIT, OF_CUBES, SAME_PLACE, WAYS_BACK
from scalarviz.scene.visuals.shaders import DIM as DIM

DIM_SMALL, SMALL = 0.7, 2000  # for more than SMALL cubes: small cubes would look too dark


@dataclass
class Lights:
    """Brightness of plates and rows of neurons.

    plates   brightness in focus, and `outside`
    neurons  brightness of each line, in the order of the layout
    """

    plates: FloatArray
    neurons: FloatArray
    outside: FloatArray = field(default_factory=lambda: np.ones(0))
    focus: Focus | None = None
    level: float = 1.0

    def is_dim(self, row: int, plate: int) -> bool:
        """Return whether the cube of a bank index is dimmed."""
        is_outside = self.focus is not None and row not in self.focus.rows
        return is_outside or bool(self.plates[plate] < 1.0)

    def neurons_of(self, number: int, count: int) -> FloatArray:
        """Return the brightness of each neuron of a line, (count, 1)."""
        bright: FloatArray = np.zeros((count, 1)) + self.neurons[number]
        if self.focus is not None:
            lit = self.focus.neurons[number]
            bright[:, 0] = np.where(lit, 1.0, np.minimum(bright[:, 0], self.level))
        return bright


def lights(
    layout: Layout,
    program: Program | None,
    moment: Moment | None,
    focus: Focus | None = None,
    attention: float = 1.0,
) -> Lights:
    """Return the lights of an operation.

    focus      what stays bright; None: all that takes part
    attention  how far all else has fallen back, 0 to 1
    """
    shown = of_moment(layout, program, moment)
    shown.outside = shown.plates
    if focus is not None:
        shown.focus, shown.level = focus, 1.0 - attention * (1.0 - DIM)
        shown.outside = np.minimum(shown.plates, shown.level)
        shown.plates = np.ones(len(layout.plates))
    return shown


def of_moment(layout: Layout, program: Program | None, moment: Moment | None) -> Lights:
    """Return the lights of an operation without a focus."""
    shown = Lights(np.ones(len(layout.plates)), np.ones(len(layout.neurons)))
    if moment is None or program is None or moment.kind not in LIT:
        return shown
    lit = lit_buffers(program, moment)
    shown.neurons[:] = [DIM if lit.isdisjoint(line.buffers) else 1.0 for line in layout.neurons]
    if moment.kind != "step":  # it moves all cubes
        many = sum(plate.size for plate in layout.plates) > SMALL
        bright = bright_plates(layout, program, moment)
        shown.plates[:] = np.where(bright, 1.0, DIM_SMALL if many else DIM)
    return shown


def lit_buffers(program: Program, moment: Moment) -> set[str]:
    """Return the names of the buffers that a moment reads or writes, which stay bright."""
    if moment.kind in ("loss", "step"):
        return {program.outputs.name} if moment.kind == "loss" else set()
    operation = program.operations[moment.operation]
    if moment.kind in WAYS_BACK:
        return {*gradient_path(program, operation)}
    sources = moment.gradients if moment.kind == "delta" else operation.sources
    sources = () if moment.kind == "forward" and operation.kind == "activation" else sources
    return {operation.target.name, *(each.name for each in sources)}


def bright_plates(layout: Layout, program: Program, moment: Moment) -> list[bool]:
    """Return which plates have the cubes of an operation; numbers go back through no bias."""
    own = [each.operation == moment.operation != NONE for each in layout.plates]
    if program.is_graph and moment.kind in OF_CUBES:  # a cube may be read by several operations
        rows = program.rows_read(moment.operation)
        own = [each.first in rows for each in layout.plates]
    is_back = moment.kind in WAYS_BACK
    return [
        is_own
        and moment.kind in OF_CUBES
        and (not is_back or each.role in ("weight", "gain", "value"))
        for is_own, each in zip(own, layout.plates, strict=True)
    ]


def gradient_path(program: Program, operation: Operation) -> list[str]:
    """Return the buffers whose gradients meet in the sources of an operation, and the sources."""
    readers = [operation]
    if not program.is_graph:
        readers = [each for source in operation.sources for each in program.readers(source)]
    return [each.name for each in (*operation.sources, *(reader.target for reader in readers))]


# Focus: the one sum that is looked at or spoken of, while all else falls back.

# By kind of operation whose sentence is about a sum: whether all of that is in focus.
SPOKEN = {"forward": True, "weight gradient": True, "input gradient": False}
FEW_ROWS = 64  # rows of a plate that are looked up one by one


def focus_of(frame_data: FrameData) -> Focus | None:
    """Return what is in focus: guessed, else under the mouse, pinned or spoken of; None for all."""
    rows = rows_in_focus(frame_data)
    layout = frame_data.layout
    found = [(row, layout.fan_of(row)) for row in rows]
    fans = [(row, *known) for row, known in found if known is not None]
    if fans:
        ends = [place for row, fan, unit in fans for place in fan.ends_of(row, unit)]
        lit = np.unique(ends, axis=0)
    elif frame_data.walked is not None:  # it takes part without weights
        name, place = frame_data.walked
        lit = np.array([x.points[place] for x in layout.neurons if name in x.buffers]).reshape(
            -1, 3
        )
    else:
        return None
    rows = [] if frame_data.is_upright else rows  # they stand upright
    return Focus(
        frozenset(rows),
        np.array([cells_of(plate, rows) for plate in layout.plates]).reshape(-1, 4),
        [are_at(line, lit) for line in layout.neurons],
    )


def rows_in_focus(frame_data: FrameData) -> list[int]:
    """Return the bank indices of a cube, a sum or a column, in order."""
    layout = frame_data.layout
    if frame_data.guess is not None:
        return [frame_data.guess.row]
    looked = (
        (frame_data.hover, frame_data.hover_neuron),
        (frame_data.pinned, frame_data.pinned_neuron),
    )
    for card, neuron in looked:
        if card is not None and layout.fan_of(card.row):
            return [card.row]
        found = neuron and layout.fan_into(neuron)
        if found:
            return rows_of_sum(*found)
        leaving = layout.fan_from(neuron) if neuron else None
        if leaving:
            return rows_of_column(*leaving)
    caption, moment = frame_data.words.caption, frame_data.moment
    if moment is not None and moment.kind == "step":
        return [*frame_data.cubes.moved[0]]
    if caption is None or moment is None or moment.kind not in SPOKEN:
        return []
    told = rows_explained(frame_data)
    whole = layout.fan_of(told[0]) if told and SPOKEN[moment.kind] else None
    linked = [each.row for each in caption.chain[1:] if each.row != NONE]
    return (told if whole is None else rows_of_sum(*whole)) + linked


def rows_explained(frame_data: FrameData) -> list[int]:
    """Return the bank indices that an operation has come to by neurons, else of its caption."""
    caption, walked = frame_data.words.caption, rows_walked(frame_data)
    if walked or caption is None or frame_data.moment is None:
        return walked
    return sorted({*(piece.row for piece in caption.pieces), *caption.rows} - {NONE})


def rows_walked(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the neuron that weight gradients have come to; else none."""
    walked, moment = frame_data.walked, frame_data.moment
    if walked is None or moment is None or moment.kind != "weight gradient":
        return []
    fan = frame_data.layout.fan_into(walked)
    return [] if fan is None else rows_of_sum(*fan)


def rows_of_sum(fan: Fan, unit: int) -> list[int]:
    return [*fan.rows_of(unit), *([fan.bias_of(unit)] if fan.biases != NONE else [])]


def rows_of_column(fan: Fan, column: int) -> list[int]:
    """Return the bank indices that multiply one unit."""
    each = max(1, fan.inputs // max(1, fan.inputs_count))
    found: list[int] = fan.all_rows[:, column * each : (column + 1) * each].ravel().tolist()
    return found


def cells_of(plate: Plate, rows: list[int]) -> list[float]:
    """Return the smallest rectangle of cells with these bank indices, see `Focus`."""
    own = [row for row in rows if plate.first <= row < plate.indices.stop]
    own = own if len(own) <= FEW_ROWS else [own[0], own[-1]]
    places = np.array([place for row in own if (place := plate.place_of(row)) is not None])
    if not len(places):
        return [0.0, 0.0, -1.0, -1.0]
    return [*places.min(axis=0)[::-1].tolist(), *places.max(axis=0)[::-1].tolist()]


def are_at(line: Neurons, places: FloatArray) -> Mask:
    """Return which neurons of a line are at these places or in an image there."""
    reach = SAME_PLACE + 0.5 * line.side * max(line.shape[1:], default=0)
    apart = np.abs(line.points[:, np.newaxis] - places).max(axis=2)
    return np.asarray(apart.min(axis=1) <= reach)
