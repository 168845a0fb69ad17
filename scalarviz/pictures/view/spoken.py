"""Names of the neurons between which the weight of a sentence stands, if they have none."""

from __future__ import annotations

import numpy as np

from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.focus import are_at
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.labels import SIZE, Obstacles
from scalarviz.pictures.view.scene.frame import Box, Projection


def draw_spoken(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> None:
    """Write names below spheres, or where they cover nothing: above, or at a side."""
    layout, moment, caption = frame_data.layout, frame_data.moment, frame_data.words.caption
    found = layout.fan_of(caption.rows[0]) if caption is not None and caption.rows else None
    if caption is None or moment is None or found is None:
        return
    fan, unit = found
    ends = np.stack([fan.starts[fan.unit_before(caption.rows[0])], fan.ends[unit]])
    for line in layout.neurons[1:]:
        told = () if line.names or line.shape else np.flatnonzero(are_at(line, ends))
        for place in told:
            if place < len(line.points):
                words = text("captions.unit.neuron", number=int(place))
                seen, size = see(line.point(int(place))), SIZE * scale
                (x, y), far = seen.xy[0].tolist(), line.radius * float(seen.unit[0])
                wide = canvas.measure(words, size=size)
                aside = far + 6.0 * scale
                boxes = [
                    Box(x + right, y + down, wide, size)
                    for right, down in (
                        (-0.5 * wide, far + 0.3 * size),
                        (-0.5 * wide, -far - 1.3 * size),
                        (aside, -0.5 * size),
                        (-aside - wide, -0.5 * size),
                    )
                ]
                box = next((each for each in boxes if not taken.meets(each)), boxes[0])
                taken.boxes.append(box)
                low, ink = box.y + 0.86 * size, theme.ink
                canvas.text(box.x, low, words, size=size, color=ink, outline=theme.ground)
