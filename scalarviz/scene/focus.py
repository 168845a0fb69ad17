"""Focus: the items that stay bright while everything else is dimmed.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalarviz.scene.hands import rows_held
from scalarviz.scene.layout.ways import LED
from scalarviz.scene.lights import masks_at, places_of
from scalarviz.story.facts import NONE, Neuron

if TYPE_CHECKING:
    from scalarviz.scene.frame_data import CubeValues, FrameData, Mask
    from scalarviz.scene.layout.plates import Fan, Layout, Plate
    from scalarviz.story.caption import Blame, Caption

# By kind of operation with a sum as subject: whether the whole sum is in focus.
SPOKEN = {"forward": True, "weight gradient": True, "input gradient": False, "delta": False}
FEW_ROWS = 64  # maximum rows of a plate that are looked up individually
ALL_BRIGHT = 100  # maximum weights of a network whose cubes are all bright after a step


@dataclass(frozen=True)
class Focus:
    """The items that stay bright while everything else is dimmed.

    Attributes:
        rows: bank indices of bright cubes
        cells: for each plate, first column, first row, last column and last row; empty if last <
            first
        neurons: for each line of neurons, a mask of the bright ones
    """

    rows: set[int]
    cells: list[list[int]]
    neurons: list[Mask]


def focus_of(frame_data: FrameData) -> Focus | None:
    """Return the hovered, pinned or explained items; None if nothing is in focus."""
    layout: Layout = frame_data.layout
    rows = rows_in_focus(frame_data)
    fans = [(row, layout.fan_of(row)) for row in rows]
    places: list[Any] = [
        place for row, found in fans if found is not None for place in ends_of(row, *found)
    ]
    if not places and frame_data.walked is not None:  # it contributes without weights
        places = places_of(layout, frame_data.walked)
    if not places:
        return None
    cells = [cells_of(plate, rows) for plate in layout.plates]
    return Focus(set(rows), cells, masks_at(layout, places))


def ends_of(row: int, fan: Fan, unit: int) -> Sequence[Any]:
    """Return the positions of the units that a bank index connects."""
    return fan.ends_of(row, unit)


def cells_of(plate: Plate, rows: Sequence[int]) -> list[int]:
    """Return the smallest rectangle of cells that contains these bank indices, see `Focus`."""
    last = plate.index_of(plate.rows - 1, plate.columns - 1)
    own = [row for row in rows if plate.first <= row <= last]
    own = own if len(own) <= FEW_ROWS else [own[0], own[-1]]
    places = [place for place in [plate.place_of(row) for row in own] if place is not None]
    if not places:
        return [0, 0, -1, -1]
    down, across = zip(*places, strict=True)
    return [min(across), min(down), max(across), max(down)]


def chosen_rows(frame_data: FrameData) -> list[int]:
    """Return the bank indices of hovered and pinned weights."""
    cards = [each for each in [frame_data.hover, frame_data.pinned] if each is not None]
    return [card.row for card in cards if card.row != NONE]


def chosen_neurons(frame_data: FrameData) -> list[Neuron]:
    """Return the hovered and pinned neurons."""
    named = [frame_data.hover_neuron, frame_data.pinned_neuron]
    return [each for each in named if each is not None]


def chosen_unit(fan: Fan, frame_data: FrameData) -> int | None:
    """Return the unit of a layer whose row is hovered or pinned, or None."""
    units = [fan.unit_of(row) for row in chosen_rows(frame_data)]
    into = [frame_data.layout.fan_into(neuron) for neuron in chosen_neurons(frame_data)]
    units += [found[1] for found in into if found is not None and found[0] is fan]
    return [*[unit for unit in units if unit is not None], None][0]


def rows_in_focus(frame_data: FrameData) -> list[int]:
    """Return the bank indices in focus: a single cube, a sum, a column or a dragged weight."""
    layout: Layout = frame_data.layout
    if frame_data.held is not None:
        return rows_held(layout, frame_data.held.row, frame_data.held.neuron)
    moment = frame_data.moment
    cubes: CubeValues = frame_data.cubes
    for card, neuron in [
        (frame_data.hover, frame_data.hover_neuron),
        (frame_data.pinned, frame_data.pinned_neuron),
    ]:
        if card is not None and layout.fan_of(card.row) is not None:
            return [card.row]
        found = None if neuron is None else layout.fan_into(neuron)
        if found is not None:
            return rows_of_sum(*found)
        leaving = None if neuron is None else layout.fan_from(neuron)
        if leaving is not None:
            return rows_of_column(*leaving)
    caption = frame_data.words.caption
    if moment is not None and moment.kind == "step":
        if len(frame_data.weights) <= ALL_BRIGHT and len(layout.written) == 0:
            return []  # all move
        named = [] if caption is None else [row for row in caption.rows if row != NONE]
        return list(dict.fromkeys([*cubes.moved[0], *named]))
    if caption is None or moment is None or moment.kind not in SPOKEN:
        return []
    if moment.kind == "delta" and blame_in(frame_data) is None:
        return []
    told = rows_explained(frame_data)
    whole = layout.fan_of(told[0]) if told and SPOKEN[moment.kind] else None
    return (told if whole is None else rows_of_sum(*whole)) + caption.linked


def rows_explained(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the neuron that is stepped to, or of the caption's weights."""
    caption, walked = frame_data.words.caption, rows_walked(frame_data)
    if walked or caption is None or frame_data.moment is None:
        return walked
    told = [*[piece.row for piece in caption.pieces], *caption.rows]
    return sorted({row for row in told if row != NONE})


def blame_in(frame_data: FrameData) -> Blame | None:
    """Return the error signal to draw; None unless all layers on its path have wires."""
    told: Caption | None = frame_data.told
    if told is None or told.blame is None or frame_data.walked is not None:
        return None
    own = [told.blame.row] if told.blame.row != NONE else []
    for row in [*own, *told.linked]:
        found = frame_data.layout.fan_of(row)
        if found is None or not has_ways(found[0]):
            return None
    return told.blame


def has_ways(fan: Fan) -> bool:
    """Return whether each cube of a layer has incoming and outgoing lines."""
    return fan.is_wired and fan.top is None and not (fan.is_direct or fan.is_tiled)


def rows_walked(frame_data: FrameData) -> list[int]:
    """Return the bank indices of the neuron whose weight gradients were just computed."""
    walked, moment = frame_data.walked, frame_data.moment
    if walked is None or moment is None or moment.kind != "weight gradient":
        return []
    found = frame_data.layout.fan_into(walked)
    return [] if found is None else rows_of_sum(*found)


def pointed_rows(frame_data: FrameData) -> set[int]:
    """Return the bank indices of the lines to highlight, for the hovered and pinned items."""
    layout: Layout = frame_data.layout
    rows = [row for row in chosen_rows(frame_data) if layout.fan_of(row) is not None]
    for neuron in chosen_neurons(frame_data):
        into, leaving = layout.fan_into(neuron), layout.fan_from(neuron)
        rows += [] if into is None else rows_of_sum(*into)
        rows += [] if leaving is None else rows_of_column(*leaving)
    return set(rows)


def told_rows(frame_data: FrameData) -> set[int]:
    """Return the bank indices of the cubes that a caption about gradients mentions."""
    moment, blame = frame_data.moment, blame_in(frame_data)
    if moment is not None and moment.kind == "delta" and blame is not None:
        return {each.row for each in blame.parts}
    return set(rows_explained(frame_data) if moment is not None and moment.kind in LED else [])


def rows_of_sum(fan: Fan, unit: int) -> list[int]:
    """Return the bank indices of the weights in a sum, and of its bias."""
    return [*fan.rows_of(unit), *([] if fan.biases == NONE else [fan.bias_of(unit)])]


def rows_of_column(fan: Fan, column: int) -> list[int]:
    """Return the bank indices of the weights that multiply the same unit."""
    firsts = [fan.row_of(unit, column) for unit in range(fan.units)]
    return [first + i for first in firsts for i in range(fan.pixels)]
