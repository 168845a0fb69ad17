"""What the user chooses of a sequence: a place, a letter, a head; and the rows that this lights.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scalarviz.scene.layout.sequence_places import (
    AT_PLACE,
    BOTTOM,
    KEY,
    TOP,
    Choice,
    SequencePlan,
)
from scalarviz.scene.sequence_sheet import BACK, Plane, goes_back, numbers_of, places_of_chips
from scalarviz.scene.sequence_ways import SequenceNumbers
from scalarviz.story.facts import NONE, Neuron

if TYPE_CHECKING:
    from scalarviz.base.checks import FloatArray
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout, Plate

DIM, SILENT_ROW = 0.34, 0.2  # brightness of rows that are not used, and of silent neurons


def at_place(
    plan: SequencePlan, values: dict[str, FloatArray], weights: FloatArray, choice: Choice
) -> dict[str, list[float]]:
    """Return the numbers of the chosen place, which balls show, under separate names."""
    known = SequenceNumbers(plan, values, weights, choice)
    names = ["x", "qkv", "mix", "h", "z", "y"] if known.place != NONE else []
    found = {plan.buffers[name] + AT_PLACE: known.numbers(name, known.place) for name in names}
    return {name: each for name, each in found.items() if each}


def brightness_of(frame_data: FrameData) -> tuple[list[float], list[list[int]]]:
    """Return for each plate its brightness outside of its lit cells, and these cells.

    Rows of other letters, of other places and of silent neurons are dim, and all but an opened
    head.
    """
    layout: Layout = frame_data.layout
    if goes_back(frame_data):
        return [BACK] * len(layout.plates), [[0, 0, x.columns - 1, -1] for x in layout.plates]
    known = numbers_of(frame_data)
    active = known.numbers("z", known.place) if known.place != NONE else []
    outside: list[float] = []
    cells: list[list[int]] = []
    for plate in layout.plates:
        is_of_neuron = known.plan.rows["wide"] <= plate.first < known.plan.rows["scores"]
        low, high = lit_rows(known, active, plate)
        outside.append(SILENT_ROW if is_of_neuron else DIM)
        cells.append([0, low, plate.columns - 1, high])
    return outside, cells


def lit_rows(known: SequenceNumbers, active: Sequence[float], plate: Plate) -> tuple[int, int]:
    """Return the first and the last bright row of a plate; the last one is -1 if all are dim."""
    plan, place, first, last = known.plan, known.place, plate.first, plate.rows - 1
    rows, size = plan.rows, plan.size
    if known.choice.head != NONE:
        head = (first - rows["qkv"]) // (3 * plan.each * size)
        return 0, last if head == known.choice.head else -1
    if place != NONE and first == rows["letters"]:
        return known.read[place], known.read[place]
    if place != NONE and rows["places"] <= first < rows["qkv"]:
        return place, place
    if len(active) > 0 and rows["wide"] <= first < rows["scores"]:
        neuron, chosen = first - rows["narrow"], known.choice.neuron
        neuron = neuron if neuron >= 0 else (first - rows["wide"]) // size
        lit = active[neuron] > 0.0 if chosen == NONE else neuron == chosen
        return 0, last if lit else -1
    return 0, last


def choice_at(see: Projection, frame_data: FrameData, x: float, y: float) -> Choice | None:
    """Return the choice after a click at a pixel; None if nothing to choose is there."""
    if frame_data.layout.sequence is None or numbers_of(frame_data).place == NONE:
        return None
    known, plane = numbers_of(frame_data), Plane(see)
    plan, here, now = known.plan, known.place, frame_data.choice
    for place, (left, top, side) in enumerate(places_of_chips(known)):
        if plane.box(left, top, left + side, top + side).has(x, y):
            return replace(now, place=place, letter=NONE)
    for letter in range(plan.letters):
        low, half = plan.score_y(letter), 0.5 * (plan.score_y(1) - plan.score_y(0))
        if plane.box(plan.x("signs") - 8.0, low - half, plan.wide, low + half).has(x, y):
            return replace(now, letter=NONE if now.letter == letter else letter)
    left, right = plan.column_x(0, here) - 9.0, plan.x("mix") - 10.0
    for head in range(plan.heads):
        top, keys = plan.head_top(head), plan.head_y(head, KEY, 0) - 5.0
        if plane.box(left, top, right, keys).has(x, y):
            return replace(now, head=NONE if now.head == head else head, neuron=NONE)
    number = math.floor((y - plane.at(0.0, TOP)[1]) / plane.zoom / (BOTTOM - TOP) * plan.hidden)
    if plane.box(plan.x("wide"), TOP, plan.x("comb"), BOTTOM).has(x, y):
        neuron = min(plan.hidden - 1, max(0, number))
        return replace(now, neuron=NONE if now.neuron == neuron else neuron, head=NONE)
    if now.neuron != NONE:  # its card covers all columns
        return None
    half = 0.5 * plan.column_pitch(here)
    for place in range(here + 1):
        middle = plan.column_x(place, here)
        if plane.box(middle - half, TOP - 30.0, middle + half, BOTTOM).has(x, y):
            return replace(now, place=place, letter=NONE)
    return None


def keys_of_choice(plan: SequencePlan | None) -> list[str]:
    """Return the keys that choose: two for the place, and a digit for each head."""
    return [] if plan is None else ["left", "right", *[f"{each + 1}" for each in range(plan.heads)]]


def choice_by_key(frame_data: FrameData, key: str) -> Choice | None:
    """Return the choice after a key: left and right for the place, a digit for a head; or None."""
    if frame_data.layout.sequence is None or numbers_of(frame_data).place == NONE:
        return None
    known, now = numbers_of(frame_data), frame_data.choice
    keys = keys_of_choice(known.plan)
    if key in keys[:2]:
        place = known.place + (1 if key == "right" else -1)
        return replace(now, place=min(len(known.read) - 1, max(0, place)), letter=NONE)
    if key not in keys:
        return None
    head = keys.index(key) - 2
    return replace(now, head=NONE if now.head == head else head, neuron=NONE)


def place_told(plan: SequencePlan, choice: Choice) -> Neuron:
    """Return the place that captions are about, as an input."""
    return plan.buffers["inputs"], plan.usual if choice.place == NONE else choice.place


def of_place(frame_data: FrameData, neuron: Neuron) -> Neuron:
    """Return the neuron of the network that a ball of the chosen place shows."""
    if frame_data.layout.sequence is None:
        return neuron
    name, number = neuron
    known = numbers_of(frame_data)
    return name[: len(name) - len(AT_PLACE)], number * known.plan.places + known.place
