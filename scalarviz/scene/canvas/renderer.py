"""Renderer: draws a `Canvas2D` with OpenGL, all shapes by one program with distance fields."""

from __future__ import annotations

from typing import Any

import numpy as np
from vispy import gloo

from scalarviz.base.package_files import text_beside
from scalarviz.scene.canvas.canvas2d import VERTEX, Canvas2D
from scalarviz.scene.canvas.fonts import ATLAS
from scalarviz.scene.canvas.palette import rgb
from scalarviz.scene.visuals.opengl import set_state


class Renderer:
    """Draws canvases in one OpenGL context."""

    def __init__(self) -> None:
        self._program = gloo.Program(
            text_beside(__file__, "canvas.vert"), text_beside(__file__, "canvas.frag")
        )
        self._vertices = gloo.VertexBuffer(np.zeros(4, VERTEX))
        self._program.bind(self._vertices)
        self._atlas = gloo.Texture2D(ATLAS.pixels, format="luminance", interpolation="nearest")
        self._version = ATLAS.version
        self._program["u_atlas"] = self._atlas
        # One for each batch.
        self._indices: list[Any] = []
        self._images: list[Any] = []
        self._sent: list[Any] = []  # the pixels in these

    def draw(
        self, canvas: Canvas2D, width_px: int, height_px: int, corner: tuple[int, int] = (0, 0)
    ) -> None:
        """Draw a canvas on the current framebuffer.

        width_px, height_px  size of the viewport in device pixels
        corner               its lower left corner in the framebuffer; by default that corner
        """
        vertices, indices, batches = canvas.vertices()
        if not batches:
            return
        self._vertices.set_data(vertices)
        self._program["u_size"] = (width_px / canvas.ratio, height_px / canvas.ratio)
        self._program["u_ratio"] = canvas.ratio
        self._update_atlas()
        set_state(
            blend=True,
            blend_func=("one", "one_minus_src_alpha"),
            depth_test=True,
            depth_func="lequal",
            cull_face=False,
            depth_mask=False,
        )
        for number, batch in enumerate(batches):
            if number == len(self._indices):
                self._indices.append(gloo.IndexBuffer())
                self._images.append(blank_image())
                self._sent.append(None)
            if batch.image is not None:
                if self._sent[number] is not batch.image.pixels:
                    self._images[number].set_data(batch.image.pixels)
                    self._sent[number] = batch.image.pixels
                smooth = "linear" if batch.image.smooth else "nearest"
                self._images[number].interpolation = smooth
            self._program["u_image"] = self._images[number]
            self._indices[number].set_data(indices[6 * batch.start : 6 * batch.stop])
            self._program.draw("triangles", self._indices[number])
        set_state(depth_mask=True, blend=False)

    def _update_atlas(self) -> None:
        if self._version != ATLAS.version:
            self._atlas.set_data(ATLAS.pixels)
            self._version = ATLAS.version
        height, width = ATLAS.pixels.shape
        self._program["u_atlas_size"] = (width, height)


def clear(ground: str, width: int, height: int) -> None:
    """Fill the current framebuffer, of this size in device pixels, with a color."""
    gloo.set_viewport(0, 0, width, height)
    gloo.clear(color=(*rgb((ground,))[0].tolist(), 1.0), depth=True)


def blank_image() -> Any:
    """Return a texture for images of any size."""
    nothing = np.zeros((1, 1, 4), np.uint8)
    return gloo.Texture2D(nothing, format="rgba", wrapping="clamp_to_edge")
