"""The maps of a probe in the picture of a followed model: feature maps, attention, and outputs.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python. Functions of
images are in scene/past_images.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.past_images import draw_probe_map
from scalarviz.scene.silhouettes import balls_of

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import DiagramMark, Layout

LARGE, FROM = 260.0, 8.0  # pixels of the map under the mouse, and from its small one
LETTERS, LINE = 12.0, 24.0


def map_at(see: Projection, layout: Layout, x: float, y: float) -> DiagramMark | None:
    """Return the map of a probe at a pixel, or None."""
    found = [x for x in layout.marks if x.kind == "map"]
    return next((each for each in found if box_of(see, each).has(x, y)), None)


def box_of(see: Projection, mark: DiagramMark) -> Box:
    seen = balls_of(see, mark.points, 0.0)
    x, y = seen[0].x, seen[0].y
    return Box(x, y, seen[1].x - x, seen[1].y - y)


def draw_maps(canvas: Canvas2D, see: Projection, layout: Layout, probe: Any, theme: Theme) -> None:
    """Draw all maps of the shown probe, which are empty before the first one."""
    for each in layout.marks:
        if each.kind == "map":
            box = box_of(see, each)
            draw_probe_map(canvas, box, probe, each, theme)
            canvas.box(box.x, box.y, box.width, box.height, None, outline=theme.rim)


def draw_large_map(
    canvas: Canvas2D,
    see: Projection,
    mark: DiagramMark | None,
    probe: Any,
    theme: Theme,
    view: Box,
) -> None:
    """Draw the map under the mouse once more, large and with words, inside the view."""
    if mark is None or probe is None:
        return
    scale, small = canvas.scale, box_of(see, mark)
    side, high = LARGE * scale, (LARGE + LINE) * scale
    x = small.right + FROM * scale
    x = x if x + side + FROM < view.right else max(view.x, small.x - FROM * scale - side)
    y = max(view.y + FROM, min(small.y, view.bottom - high - FROM))
    canvas.box(x - 4.0, y - 4.0, side + 8.0, high + 8.0, theme.panel[:7], outline=theme.rim)
    draw_probe_map(canvas, Box(x, y, side, side), probe, mark, theme)
    name = mark.words or text("structure.out")
    said = text(f"probe.map.{mark.look}", number=int(mark.size), name=name, step=probe[0])
    letters = LETTERS * scale
    said = canvas.fit(said, side, size=letters)
    canvas.text(x, y + high - 0.6 * letters, said, size=letters, color=theme.ink)


def probe_facts(row: Mapping[str, float], step: float) -> list[tuple[str, str]]:
    """Return facts of a card about the numbers of a module for the probe, if known."""
    if "mean" not in row:
        return []
    numbers = text("probe.numbers", mean=short(row["mean"]), spread=short(row["std"]))
    zeros = text("probe.zeros", percent=round(100.0 * row["zeros"]), step=step)
    return [(text("probe.result"), numbers), ("", zeros)]
