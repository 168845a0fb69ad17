"""Noted: a canvas that keeps what is drawn on it, for tests without OpenGL."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalarviz.scene.canvas.canvas2d import CLIP, HALF, MIDDLE, Canvas2D
from scalarviz.scene.canvas.canvas2d import color as color_of
from scalarviz.scene.canvas.fonts import layout
from scalarviz.scene.canvas.palette import contrast
from scalarviz.scene.layout.division import Box


@dataclass(frozen=True)
class Written:
    """A text: the box of its ink, its size in pixels, and its contrast to what is behind it."""

    words: str
    box: Box
    size: float
    contrast: float


class Noted(Canvas2D):
    """What is drawn: texts, filled boxes, frames, images and discs, each in order."""

    def __init__(self, ground: str, width: float, height: float, scale: float = 1.0) -> None:
        super().__init__(width, height, 1.0, scale)
        self.texts: list[Written] = []
        self.filled: list[tuple[Box, np.ndarray]] = [(Box(-1e4, -1e4, 1e5, 1e5), rgb_of(ground))]
        self.images_drawn: list[tuple[Box, np.ndarray]] = []
        self.frames: list[Box] = []
        self.discs_drawn: list[tuple[np.ndarray, float, Any]] = []

    def box(self, x: float, y: float, width: float, height: float, fill: Any, **more: Any) -> None:
        if fill is not None:
            self.filled.append((Box(x, y, width, height), rgb_of(fill)))
        else:
            self.frames.append(Box(x, y, width, height))
        super().box(x, y, width, height, fill, **more)

    def boxes(self, xy: Any, size: Any, fill: Any, **more: Any) -> None:
        if fill is not None:
            colors = fill if np.ndim(fill) == 2 else [fill] * len(xy)
            sizes = np.broadcast_to(size, (len(xy), 2))
            for (x, y), (wide, high), color in zip(xy, sizes, colors, strict=True):
                self.filled.append((Box(x, y, wide, high), rgb_of(color)))
        super().boxes(xy, size, fill, **more)

    def image(
        self, x: float, y: float, width: float, height: float, colors: Any, **more: Any
    ) -> None:
        self.images_drawn.append((Box(x, y, width, height), np.asarray(colors)))
        super().image(x, y, width, height, colors, **more)

    def discs(self, xy: Any, radius: Any, fill: Any, **more: Any) -> None:
        if np.ndim(xy) > 1:  # single ones belong to axes and keys
            self.discs_drawn.append((np.asarray(xy), radius, fill))
        super().discs(xy, radius, fill, **more)

    def text(self, x: float, y: float, words: str, **more: Any) -> float:
        size, bold = more.get("size", 13.0), more.get("bold", False)
        glyphs = layout(words, round(size), bold, more.get("anchor", "left"), 0).glyphs
        if len(glyphs):
            pen = np.round([x, y])
            low = pen + (glyphs[:, :2] - glyphs[:, 2:4]).min(axis=0)
            high = pen + (glyphs[:, :2] + glyphs[:, 2:4]).max(axis=0)
            box = Box(*low.tolist(), *(high - low).tolist())
            at = box.x + box.width / 2.0, box.y + box.height / 2.0
            behind = [color for place, color in self.filled if place.has(*at)][-1]
            ratio = float(contrast(rgb_of(more["color"]), behind))
            self.texts.append(Written(words, box, size, ratio))
        return super().text(x, y, words, **more)

    def extent(self) -> Box:
        """The smallest box around all that is drawn."""
        rows = self._quads.rows(1.0)
        low = np.maximum(rows[:, MIDDLE] - rows[:, HALF], rows[:, CLIP][:, :2]).min(axis=0)
        high = np.minimum(rows[:, MIDDLE] + rows[:, HALF], rows[:, CLIP][:, 2:]).max(axis=0)
        return Box(*low.tolist(), *(high - low).tolist())


def rgb_of(color: Any) -> np.ndarray:
    return np.array(color_of(color)[:3])
