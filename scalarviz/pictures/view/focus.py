"""Focus: the one sum that is looked at or spoken of, while all else falls back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.scene.plates import Fan, Neurons, Plate

Mask = npt.NDArray[np.bool_]

# By kind of operation whose sentence is about a sum: whether all of that is in focus.
SPOKEN = {"forward": True, "weight gradient": False, "input gradient": False}
SECONDS = 0.15  # until all else has fallen back
FEW = 64  # rows of a plate that are looked up one by one


@dataclass(frozen=True)
class Focus:
    """What stays bright.

    rows     bank indices
    cells    (plates, 4): first column and row, last column and row; none where the last are before
    neurons  a mask for each line, in which the sphere "1" comes last
    """

    rows: frozenset[int]
    cells: FloatArray
    neurons: list[Mask]


def focus_of(frame_data: FrameData) -> Focus | None:
    """Return what is in focus: under the mouse, else pinned, else spoken of; None for all."""
    rows = rows_in_focus(frame_data)
    layout = frame_data.layout
    found = [(row, layout.fan_of(row)) for row in rows]
    fans = [(row, *known) for row, known in found if known is not None]
    if fans:
        lit = np.concatenate(
            [[fan.starts[fan.unit_before(row)], fan.ends[unit]] for row, fan, unit in fans]
        )
        lit = np.unique(lit, axis=0)
    elif frame_data.walked is not None:  # it takes part without weights
        name, place = frame_data.walked
        lit = np.array([x.points[place] for x in layout.neurons if name in x.buffers]).reshape(
            -1, 3
        )
    else:
        return None
    return Focus(
        frozenset(rows),
        np.array([cells_of(plate, rows) for plate in layout.plates]),
        [are_at(line, lit) for line in layout.neurons],
    )


def rows_in_focus(frame_data: FrameData) -> list[int]:
    """Return the bank indices of a sum, in order."""
    layout = frame_data.layout
    looked = (
        (frame_data.hover, frame_data.hover_neuron),
        (frame_data.pinned, frame_data.pinned_neuron),
    )
    for card, neuron in looked:
        row = NONE if card is None else card.row
        found = layout.fan_of(row) if row != NONE else neuron and layout.fan_into(neuron)
        if found:
            return rows_of_sum(*found)
        leaving = layout.fan_from(neuron) if neuron else None
        if leaving:
            return rows_of_column(*leaving)
    caption, moment = frame_data.words.caption, frame_data.moment
    if caption is None or moment is None or moment.kind not in SPOKEN:
        return []
    walked = rows_walked(frame_data)
    if walked:
        return walked
    told = sorted({*(piece.row for piece in caption.pieces), *caption.rows} - {NONE})
    whole = layout.fan_of(told[0]) if told and SPOKEN[moment.kind] else None
    return told if whole is None else rows_of_sum(*whole)


def rows_walked(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the neuron that weight gradients have come to; else none."""
    walked, moment = frame_data.walked, frame_data.moment
    if walked is None or moment is None or moment.kind != "weight gradient":
        return []
    fan = frame_data.layout.fan_into(walked)
    return [] if fan is None else rows_of_sum(*fan)


def rows_of_sum(fan: Fan, unit: int) -> list[int]:
    return [*fan.rows_of(unit), *([fan.biases + unit] if fan.biases != NONE else [])]


def rows_of_column(fan: Fan, column: int) -> list[int]:
    """Return the bank indices that multiply one unit; of the 1, those of the biases."""
    count, units = len(fan.columns) - (fan.biases != NONE), range(len(fan.ends))
    if column >= count:
        return [fan.biases + unit for unit in units]
    each = max(1, fan.inputs // max(1, count))
    first = fan.weights + column * each
    return [first + unit * fan.inputs + i for unit in units for i in range(each)]


def cells_of(plate: Plate, rows: list[int]) -> list[float]:
    """Return the smallest rectangle of cells with these bank indices, see `Focus`."""
    own = [row for row in rows if plate.first <= row < plate.indices.stop]
    own = own if len(own) <= FEW else [own[0], own[-1]]
    places = np.array([place for row in own if (place := plate.place_of(row)) is not None])
    if not len(places):
        return [0.0, 0.0, -1.0, -1.0]
    return [*places.min(axis=0)[::-1].tolist(), *places.max(axis=0)[::-1].tolist()]


def are_at(line: Neurons, places: FloatArray) -> Mask:
    """Return which neurons of a line, and its 1, are at these places or in an image there."""
    points = line.points if line.one is None else np.vstack([line.points, line.one])
    reach = 1e-6 + 0.5 * line.side * max(line.shape[1:], default=0)
    apart = np.abs(points[:, np.newaxis] - places).max(axis=2)
    found: Mask = apart.min(axis=1) <= reach
    return found
