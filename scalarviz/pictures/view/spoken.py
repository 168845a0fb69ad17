"""Names of the neurons that a sentence or a card names, beside their spheres."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.program import NONE
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.callout import FARTHEST, box_around, free_place, lead
from scalarviz.pictures.view.focus import are_at
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.labels import SIZE, Obstacles
from scalarviz.pictures.view.scene.frame import Projection


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
    told, places = spoken(frame_data)
    written, size = " ".join(canvas.words).lower(), SIZE * scale
    for line in frame_data.layout.neurons if len(places) else ():
        is_told = () if line.names or line.shape else are_at(line, places)[: len(line.points)]
        for place in np.flatnonzero(is_told).tolist():
            for words in names_of(place):
                if words not in told or words in written:
                    continue
                subject, wide = box_around(see, line, place), canvas.measure(words, size=size)
                if subject is None:
                    continue
                reach = 2.0 * FARTHEST * scale
                sides = wide, 1.1 * size
                box, _ = free_place(see, frame_data, taken, subject, sides, reach, scale)
                taken.boxes.append(box)
                lead(canvas, box, subject, theme.quiet, scale)
                low, ink = box.y + 0.9 * size, theme.ink
                canvas.text(box.x, low, words, size=size, color=ink, outline=theme.ground)


def spoken(frame_data: FrameData) -> tuple[str, FloatArray]:
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
    places = [line.point(place) for line, place in filter(None, found)]
    for row in rows:
        wires = layout.fan_of(row) if row != NONE else None
        if wires is not None:
            places += [wires[0].starts[wires[0].unit_before(row)], wires[0].ends[wires[1]]]
    return told.lower(), np.array(places)


def names_of(place: int) -> tuple[str, ...]:
    """Return what a sentence may call the neuron at a place of its line."""
    return (
        text("captions.unit.neuron", number=place),
        text("captions.unit.wave", number=place),
        text("captions.end.output", name=place),
        text("captions.end.input", name=place),
    )
