"""The maps of a probe in the picture of a followed model: feature maps, and attention by head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.texts import text
from scalarviz.scene.canvas.palette import largest, rgb
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import DiagramMark, Layout

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData

LARGE, FROM = 260.0, 8.0  # pixels of the map under the mouse, and from its small one
LETTERS, LINE = 12.0, 24.0


def map_at(see: Projection, layout: Layout, x: float, y: float) -> DiagramMark | None:
    """Return the map of a probe at a pixel, or None."""
    return next(
        (each for each in layout.marks if each.kind == "map" and box_of(see, each).has(x, y)), None
    )


def box_of(see: Projection, mark: DiagramMark) -> Box:
    (left, top), (right, bottom) = see(np.array(mark.points)).xy.tolist()
    return Box(left, top, right - left, bottom - top)


def draw_maps(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw all maps of the shown probe, which are empty before the first one."""
    for each in frame_data.layout.marks:
        if each.kind == "map":
            box, colors = box_of(see, each), colors_of(frame_data, each, theme)
            if colors is not None:
                canvas.image(*box.place, colors)
            canvas.box(*box.place, None, outline=theme.rim)


def draw_large_map(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, view: Box
) -> None:
    """Draw the map under the mouse once more, large and with words, inside the view."""
    mark = frame_data.map
    colors = None if mark is None else colors_of(frame_data, mark, theme)
    if mark is None or colors is None or frame_data.probe is None:
        return
    scale, small, step = canvas.scale, box_of(see, mark), frame_data.probe[0]
    side, high = LARGE * scale, (LARGE + LINE) * scale
    x = small.right + FROM * scale
    x = x if x + side + FROM < view.right else small.x - FROM * scale - side
    y = max(view.y + FROM, min(small.y, view.bottom - high - FROM))
    canvas.box(x - 4.0, y - 4.0, side + 8.0, high + 8.0, theme.panel[:7], outline=theme.rim)
    canvas.image(x, y, side, side, colors)
    said = text(f"probe.map.{mark.look}", number=int(mark.size), name=mark.words, step=step)
    letters = LETTERS * scale
    said = canvas.fit(said, side, size=letters)
    canvas.text(x, y + high - 0.6 * letters, said, size=letters, color=theme.ink)


def colors_of(frame_data: FrameData, mark: DiagramMark, theme: Theme) -> Any:
    """Return the image of a map, shape (rows, columns, 3); None if this probe lacks it."""
    rows = frame_data.probe[1] if frame_data.probe is not None else {}
    maps = rows.get(mark.words, {}).get(mark.look, ())
    if mark.size >= len(maps):
        return None
    numbers = maps[int(mark.size)]
    if mark.look == "maps":
        return theme.map(numbers, largest(np.ravel(maps)) or 1.0)
    shares = np.nan_to_num(numbers.astype(np.float64)).clip(1e-9, 1.0)
    strength = np.sqrt(shares / shares.max(axis=1, keepdims=True))[..., np.newaxis]
    ground, ink = rgb((theme.ground, theme.ink))
    return ground + strength * (ink - ground)
