"""Renderer: draws a `Canvas2D` with OpenGL, all shapes by one program with distance fields."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from vispy import gloo

from scalarviz.base.package_files import text_beside
from scalarviz.scene.canvas.canvas2d import VERTEX, Canvas2D, CanvasImage
from scalarviz.scene.canvas.fonts import ATLAS
from scalarviz.scene.canvas.palette import rgb


class Renderer:
    """Draws canvases in one OpenGL context."""

    def __init__(self) -> None:
        self._program = gloo.Program(
            text_beside(__file__, "canvas.vert"), text_beside(__file__, "canvas.frag")
        )
        self._vertices = gloo.VertexBuffer(np.zeros(4, VERTEX))
        self._program.bind(self._vertices)
        self._atlas = gloo.Texture2D(ATLAS.pixels, format="luminance", interpolation="nearest")
        self._version = -1
        self._program["u_atlas"] = self._atlas
        # One for each batch, with what is in them: a range, and an image.
        self._indices: list[Any] = []
        self._ranges: list[Any] = []
        self._images: list[Any] = []
        self._sent: list[Any] = []
        self._looks: object = None

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
        looks = width_px, height_px, canvas.ratio
        if self._looks != looks:
            self._program["u_size"] = (width_px / canvas.ratio, height_px / canvas.ratio)
            self._program["u_ratio"], self._looks = canvas.ratio, looks
        self._update_atlas()
        set_state(
            blend=True,
            blend_func=("one", "one_minus_src_alpha"),
            depth_test=True,
            depth_func="lequal",
            cull_face=False,
            depth_mask=False,
        )
        draw = Drawing(self._program)
        for number, (start, stop, image) in enumerate(batches):
            if number == len(self._indices):
                self._indices.append(gloo.IndexBuffer())
                self._images.append(blank_image())
                self._sent.append(BLANK)
                self._ranges.append(None)
            before = self._sent[number]
            if image is not None and image is not before:
                if before.pixels is not image.pixels:
                    self._images[number].set_data(image.pixels)
                if before.smooth != image.smooth:
                    smooth = "linear" if image.smooth else "nearest"
                    self._images[number].interpolation = smooth
                self._sent[number] = image
            if image is not None or not number:
                self._program["u_image"] = self._images[number]
            if self._ranges[number] != (start, stop):
                self._indices[number].set_data(indices[6 * start : 6 * stop])
                self._ranges[number] = start, stop
            draw(self._indices[number])
        draw.end()
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


BLANK = CanvasImage(np.zeros((1, 1, 4), np.uint8), smooth=False)


def blank_image() -> Any:
    """Return a texture for images of any size."""
    return gloo.Texture2D(
        BLANK.pixels, format="rgba", wrapping="clamp_to_edge", interpolation="nearest"
    )


# What vispy does at each draw, with fewer calls of Python.

FUNCTIONS = {"depth_func": "glDepthFunc", "depth_mask": "glDepthMask"}


@lru_cache(maxsize=64)
def calls_of(state: tuple[tuple[str, Any], ...]) -> list[tuple[object, ...]]:
    """Return the calls of OpenGL that set a state, such as (("blend", True),)."""
    calls: list[tuple[object, ...]] = []
    for name, value in state:
        if name in FUNCTIONS:
            calls.append((FUNCTIONS[name], value))
        elif name == "blend_func":
            calls.append(("glBlendFuncSeparate", *value, *value))
        else:
            calls.append(("glEnable" if value else "glDisable", name))
            calls += [("glCullFace", value)] * isinstance(value, str)
    return calls


def set_state(preset: str | None = None, **state: Any) -> None:
    """Set the state of OpenGL as `gloo.set_state` does, with fewer calls of Python."""
    if preset is not None:
        gloo.set_state(preset, **state)
        return
    queue = gloo.get_current_canvas().context.glir
    for call in calls_of(tuple(state.items())):
        queue.command("FUNC", *call)


class Drawing:
    """Draws triangles with a program, without what vispy looks through each time.

    program  of gloo, none of whose variables wait to be set
    """

    def __init__(self, program: Any) -> None:
        self._program, self._context = program, gloo.get_current_canvas().context
        self._context.glir.associate(program.glir)

    def __call__(self, index: Any) -> None:
        """Draw the triangles of an index buffer."""
        queue, selection = self._context.glir, (index.id, "UNSIGNED_INT", index.size)
        if index.glir._shared is not queue._shared:
            queue.associate(index.glir)
        queue.command("DRAW", self._program._id, "triangles", selection, 1)

    def end(self) -> None:
        """Send everything to OpenGL."""
        self._context.flush_commands()
