"""Smooth: shows each pixel as the mean of four that are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, final

import numpy as np
from vispy import gloo

from scalarviz.base.package_files import text_beside
from scalarviz.pictures.view.cubes.float_textures import largest_texture

SIDE = 2  # pixels drawn along each that is shown
FINE = 1.5  # device pixels of a logical one from which on edges need no finer picture
PATIENCE = 200  # milliseconds until a picture that stands still is drawn so without a graphics card
LONGEST = 0.7  # seconds that this may take
SOFTWARE = re.compile("llvmpipe|softpipe|swiftshader|software|basic render", re.IGNORECASE)
CORNERS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)


@final
class Smooth:
    """Draws into a framebuffer of its own, whose pixels are four for each that is shown.

    All methods are called with a current context.
    """

    def __init__(self) -> None:
        self._size = (0, 0)
        self._buffer: Any = None
        self._program: Any = None

    @staticmethod
    def is_quick() -> bool:
        """Return whether a graphics card draws: four times the pixels cost it little."""
        return not SOFTWARE.search(str(gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)))

    def draw(
        self, draw: Callable[[int, int, float], object], width: int, height: int, ratio: float
    ) -> None:
        """Show what `draw(width, height, ratio)` draws; plainly where the driver cannot do more."""
        if SIDE * max(width, height) > largest_texture():
            draw(width, height, ratio)
            return
        self._make(SIDE * width, SIDE * height)
        with self._buffer:
            draw(SIDE * width, SIDE * height, SIDE * ratio)
        gloo.set_viewport(0, 0, width, height)
        gloo.set_state(depth_test=False, blend=False, cull_face=False, scissor_test=False)
        self._program.draw("triangle_strip")

    def _make(self, width: int, height: int) -> None:
        if self._size == (width, height):
            return
        self.release()
        # In the middle of four pixels, "linear" is their mean.
        picture = gloo.Texture2D((height, width, 3), interpolation="linear")
        self._buffer = gloo.FrameBuffer(picture, gloo.RenderBuffer((height, width), "depth"))
        self._program = gloo.Program(
            text_beside(__file__, "smooth.vert"), text_beside(__file__, "smooth.frag")
        )
        self._program["a_corner"], self._program["u_picture"] = CORNERS, picture
        self._size = width, height

    def release(self) -> None:
        """Free its memory, which the next picture takes again."""
        self._buffer, self._program, self._size = None, None, (0, 0)
