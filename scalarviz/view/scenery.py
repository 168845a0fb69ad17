"""Scenery: what stands around the cubes: wires, neurons, and the names of the plates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.view.frame_data import FrameData
from scalarviz.view.lights import Lights
from scalarviz.view.neurons import draw_neurons
from scalarviz.view.scene.frame import Box, Projection
from scalarviz.view.scene.plates import Label, Wires

WIRED = 7.0  # pixels to a cell, from which wires are seen


def draw_scenery(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, lit: Lights, theme: Theme
) -> None:
    """Everything around the cubes; what is behind one of them is hidden by it."""
    for bundle, span in zip(frame_data.layout.wires, lit.wires, strict=True):
        draw_wires(canvas, see, bundle, span, theme)
    for line, bright in zip(frame_data.layout.neurons, lit.neurons.tolist(), strict=True):
        draw_neurons(canvas, see, line, bright, frame_data, theme)
    draw_labels(canvas, see, frame_data.layout.labels, theme)


def draw_labels(canvas: Canvas2D, see: Projection, labels: Sequence[Label], theme: Theme) -> None:
    """The names of plates at their edges, and what they are, where there is room for the words."""
    placed, halo = [place_label(canvas, see, label) for label in labels], theme.ground
    taken: list[Box] = []
    for down, size, bold, color in ((0.0, 13.0, True, theme.ink), (16.0, 12.0, False, theme.quiet)):
        for label, (x, y, anchor) in zip(labels, placed, strict=True):
            words = label.name if bold else label.about
            wide = canvas.measure(words, size=size, bold=bold)
            left = x - wide * (anchor == "right")
            room = Box(left, y + down - size, wide + 6.0, size + 3.0)
            if not words or not np.isfinite(x + y) or any(map(room.meets, taken)):
                continue
            taken.append(room)
            canvas.text(
                x, y + down, words, size=size, bold=bold, color=color, anchor=anchor, outline=halo
            )


def place_label(canvas: Canvas2D, see: Projection, label: Label) -> tuple[float, float, str]:
    """Where the name of a plate begins, or ends, and which of the two."""
    (x, y), (right, end) = see(np.stack([label.start, label.end])).xy.tolist()
    wide = max(canvas.measure(label.name, bold=True), canvas.measure(label.about, size=12))
    leftward = label.leftward and wide > right - x
    room = see.box.right + 16.0  # words that begin in the scene end there too
    x, y, anchor = (right, end, "right") if leftward else (x, y, "left")
    x = max(room - wide, 0.0) if anchor == "left" and room - wide < x < room else x
    return x, y + (15.0 if label.below else -20.0), anchor


def draw_wires(
    canvas: Canvas2D, see: Projection, bundle: Wires, span: tuple[float, float] | None, theme: Theme
) -> None:
    """Thin lines; that part of them where light is now is bright."""
    start, end = see(bundle.start), see(bundle.end)
    units = start.unit[np.isfinite(start.unit)]
    if not len(units) or np.median(units) < WIRED:
        return
    depth = np.stack([start.depth, end.depth], axis=1)
    good = np.isfinite(depth).all(axis=1)
    canvas.segments(start.xy[good], end.xy[good], theme.faint, width=1.2, depth=depth[good])
    if span is not None:
        first = see(bundle.start + span[0] * (bundle.end - bundle.start))
        last = see(bundle.start + span[1] * (bundle.end - bundle.start))
        depth = np.stack([first.depth, last.depth], axis=1)
        good = np.isfinite(depth).all(axis=1)
        canvas.segments(
            first.xy[good], last.xy[good], theme.light + "c0", width=2.0, depth=depth[good]
        )
