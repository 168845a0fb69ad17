"""What surrounds the cubes: wires, neurons, and labels of plates."""

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

WIRED = 7.0  # least pixels per cell at which wires are drawn


def draw_scenery(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, lit: Lights, theme: Theme
) -> None:
    """Draw everything around the cubes, with depth, so that cubes hide it."""
    for bundle, span in zip(frame_data.layout.wires, lit.wires, strict=True):
        draw_wires(canvas, see, bundle, span, theme)
    for line, bright in zip(frame_data.layout.neurons, lit.neurons.tolist(), strict=True):
        draw_neurons(canvas, see, line, bright, frame_data, theme)
    draw_labels(canvas, see, frame_data.layout.labels, theme)


def draw_labels(canvas: Canvas2D, see: Projection, labels: Sequence[Label], theme: Theme) -> None:
    """Write names and descriptions of plates at their edges, where they do not overlap."""
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
    """Return the position of a label, and whether that is its left or right end."""
    (x, y), (right, end) = see(np.stack([label.start, label.end])).xy.tolist()
    wide = max(canvas.measure(label.name, bold=True), canvas.measure(label.about, size=12))
    leftward = label.leftward and wide > right - x
    room = see.box.right + 16.0  # clips a label at the right end of the scene
    x, y, anchor = (right, end, "right") if leftward else (x, y, "left")
    x = max(room - wide, 0.0) if anchor == "left" and room - wide < x < room else x
    return x, y + (15.0 if label.below else -20.0), anchor


def draw_wires(
    canvas: Canvas2D, see: Projection, bundle: Wires, span: tuple[float, float] | None, theme: Theme
) -> None:
    """Draw thin wires, with their lit part brighter."""
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
