"""Canvas: renders pictures without a window, into arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
from vispy import gloo

from scalarviz.base.messages import inform
from scalarviz.errors import DisplayError
from scalarviz.pictures.view.cubes.float_textures import largest_texture
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.offscreen import drawing
from scalarviz.pictures.view.picture import Picture
from scalarviz.pictures.view.scene.camera import Camera


@final
class Canvas:
    """An offscreen canvas, a context manager; `close` it otherwise.

    width, height  in logical pixels

    Raises DisplayError if OpenGL cannot be used here.
    """

    def __init__(self, width: int, height: int) -> None:
        with drawing():
            pass  # raises the error early
        self.width, self.height = width, height
        self._room = (0, 0)
        self._buffer: Any = None
        self._of: Any = None  # the offscreen canvas that the buffer belongs to

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory of its pixels, and of all released pictures."""
        with drawing():
            self._buffer, self._of, self._room = None, None, (0, 0)

    def render(
        self,
        picture: Picture,
        frame_data: FrameData,
        camera: Camera,
        ratio: float = 1.0,
        samples: int = 1,
    ) -> npt.NDArray[np.uint8]:
        """Return the rendered picture, (height, width, 3) bytes.

        picture     draws the frame
        frame_data  what to draw
        camera      where it is seen from
        ratio       device pixels per logical pixel
        samples     each pixel is the mean of samples x samples
        """

        def draw(width: int, height: int, ratio: float) -> None:
            picture.draw(frame_data, camera, width, height, ratio)

        return self.frame(draw, ratio, samples)

    def frame(
        self, draw: Callable[[int, int, float], None], ratio: float = 1.0, samples: int = 1
    ) -> npt.NDArray[np.uint8]:
        """Return what `draw(width, height, ratio)` draws; the same as `render` otherwise.

        Raise DisplayError if the picture is larger than the driver can draw; with too many samples
        it takes fewer.
        """
        wide, high = round(self.width * ratio), round(self.height * ratio)
        with drawing() as canvas:
            samples = affordable(samples, max(wide, high))
            size = high * samples, wide * samples
            if self._room != size or self._of is not canvas:
                self._buffer = gloo.FrameBuffer(
                    gloo.Texture2D((*size, 3)), gloo.RenderBuffer(size, "depth")
                )
                self._room, self._of = size, canvas
            with self._buffer:
                draw(size[1], size[0], ratio * samples)
                pixels = gloo.read_pixels((0, 0, size[1], size[0]), alpha=False)
        if samples == 1:
            return np.ascontiguousarray(pixels)
        total = np.zeros((high, wide, 3), np.uint16)
        for row in range(samples):
            for column in range(samples):
                total += pixels[row::samples, column::samples]
        return ((total + samples**2 // 2) // samples**2).astype(np.uint8)


def affordable(samples: int, side: int) -> int:
    """Return how many samples a pixel can have in a picture of so many pixels along its side."""
    most = largest_texture()
    if side > most:
        raise DisplayError(
            f"this graphics card draws pictures of up to {most:,} pixels a side, not {side:,}: "
            "choose a smaller size or ratio"
        )
    fewer = min(samples, most // side)
    if fewer < samples:
        inform(
            f"each pixel is the mean of {fewer} x {fewer} samples, not {samples} x {samples}: this "
            f"graphics card draws up to {most:,} pixels a side"
        )
    return fewer
