"""Images side by side, such as target, output and difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.batch import image_bytes
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.exhibits.axes import LINE, paint_frame
from scalarviz.pictures.view.exhibits.exhibit import (
    LETTERS,
    Exhibit,
    letter_size,
    part_of_stage,
    stage_scale,
)
from scalarviz.pictures.view.scene.frame import Box

GAP = 2  # columns between two images
LOSS = 7  # lines kept free for the loss curve
BETWEEN = 0.8  # between two images on a canvas, relative to the size of text
SHARP = 4.0  # device pixels a pixel of an image, from which on it has hard edges


@final
@dataclass(frozen=True)
class Pictures(Exhibit):
    """Images of one size, (height, width, 3) with numbers from 0 to 1, by name.

    names  of the images on a canvas, if they differ
    focus  the point in use, which is marked: 0 to 1 to the right, and down
    """

    pictures: Mapping[str, FloatArray]
    said: str = ""
    title: str = ""
    names: Sequence[str] = ()
    focus: tuple[float, float] | None = None
    _made: list[npt.NDArray[np.uint8]] = field(default_factory=list, repr=False, compare=False)
    _places: list[Box] = field(default_factory=list, repr=False, compare=False)  # painted last
    # On a canvas.

    def wanted(self, width: float, height: float) -> float:
        wide, size = part_of_stage(400.0, width, height), LETTERS * stage_scale(width, height)
        box = Box(0.0, 0.0, wide, height - 2.5 * size)
        boxes = arranged(self.aspect, len(self.pictures), box, LINE * size, BETWEEN * size)
        return max(each.right for each in boxes) - min(each.x for each in boxes)

    def marked(self, inputs: FloatArray) -> Pictures:
        """Return the images with a mark at the point in use."""
        return replace(self, focus=(float(inputs[0]), float(inputs[1])))

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        """Draw the images in the arrangement that makes them largest, under their names."""
        size = letter_size(canvas)
        title = LINE * size
        boxes = arranged(self.aspect, len(self.pictures), box, title, BETWEEN * size)
        self._places[:] = boxes
        names = self.names or list(self.pictures)
        for name, place, picture in zip(names, boxes, self.images, strict=True):
            words = name if canvas.measure(name, size=size) <= place.width else name.split()[0]
            words = canvas.fit(words, place.width, size=size)
            canvas.text(place.x, place.y - 0.4 * size, words, size=size, color=theme.quiet)
            smooth = place.width * canvas.ratio < SHARP * picture.shape[1]
            canvas.image(place.x, place.y, place.width, place.height, picture, smooth=smooth)
            if self.focus is not None:
                near = 0.45 * size
                u, v = self.focus
                x = place.x + min(max(u * place.width, near), place.width - near)
                y = place.y + min(max(v * place.height, near), place.height - near)
                for half, color in ((near, theme.ground), (0.8 * near, theme.ink)):
                    paint_frame(canvas, x, y, half, color)

    def spot(self) -> tuple[float, float] | None:
        """Return the pixel of the point in use on the first image."""
        if self.focus is None or not self._places:
            return None
        (right, down), place = np.clip(self.focus, 0.0, 1.0).tolist(), self._places[0]
        return place.x + right * place.width, place.y + down * place.height

    def inputs_at(self, x: float, y: float) -> Mapping[int, float]:
        """Return the point at a pixel of an image: 0 to 1 to the right, and down."""
        for place in self._places:
            if place.has(x, y):
                return {0: (x - place.x) / place.width, 1: (y - place.y) / place.height}
        return {}

    @property
    def images(self) -> list[npt.NDArray[np.uint8]]:
        """The images for a canvas, converted once."""
        if not self._made:
            self.convert()
        return self._made

    def convert(self, first: npt.NDArray[np.uint8] | None = None) -> None:
        """Convert the images for a canvas; `first` is the first one, if it is known."""
        parts = list(self.pictures.values())
        self._made[:] = map(image_bytes, parts if first is None else [first, *parts[1:]])

    @property
    def aspect(self) -> float:
        rows, columns, _ = next(iter(self.pictures.values())).shape
        return float(columns / rows)

    def words(self) -> list[str]:
        return [self.said] if self.said else []


def arranged(aspect: float, count: int, box: Box, title: float, gap: float) -> list[Box]:
    """Return the boxes of images, each below a line of text: the way that covers the largest area.

    They stand in a column, in a row or, if there are three, the second one above the others.

    aspect  width of an image relative to its height
    title   height of a line of text, `gap` between two images
    """
    across = gap * (count - 1)
    wide = min(box.width, aspect * ((box.height - across) / count - title))
    ways = [[(wide, 0.0, i * (wide / aspect + title + gap)) for i in range(count)]]
    wide = min((box.width - across) / count, aspect * (box.height - title))
    ways.append([(wide, i * (wide + gap), 0.0) for i in range(count)])
    if count == 3:
        high = box.height - 2.0 * title - gap + 0.5 * gap / aspect
        wide = min(box.width, aspect * high / 1.5)
        half, below = 0.5 * (wide - gap), wide / aspect + title + gap
        ways.append([(half, 0.0, below), (wide, 0.0, 0.0), (half, half + gap, below)])
    best = max(ways, key=lambda way: sum(max(0.0, wide) ** 2 for wide, _, _ in way))
    least = [(max(1.0, wide), x, y) for wide, x, y in best]
    used = max(x + wide for wide, x, _ in least), max(y + w / aspect for w, _, y in least) + title
    left, top = box.x + 0.5 * (box.width - used[0]), box.y + 0.5 * (box.height - used[1])
    return [Box(left + x, top + title + y, wide, wide / aspect) for wide, x, y in least]
