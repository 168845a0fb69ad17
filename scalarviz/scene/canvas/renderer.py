"""Renderer: draws a `Canvas2D` with OpenGL, using one shader program with distance fields."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from vispy import gloo
from vispy.gloo import gl
from vispy.gloo.glir import as_enum

from scalarviz.base.package_files import text_beside
from scalarviz.scene.canvas.canvas2d import TRIANGLES, VERTEX, Canvas2D, Floats, Pixels
from scalarviz.scene.canvas.fonts import ATLAS
from scalarviz.scene.canvas.palette import rgb

SHEET = 1024  # minimum width in pixels of a sheet of images


class Renderer:
    """Draws canvases in one OpenGL context, with one draw call per canvas."""

    def __init__(self) -> None:
        self._program = gloo.Program(
            text_beside(__file__, "canvas.vert"), text_beside(__file__, "canvas.frag")
        )
        self._vertices = gloo.VertexBuffer(np.zeros(4, VERTEX))
        self._program.bind(self._vertices)
        self._indices, self._room = gloo.IndexBuffer(), 0
        self._atlas = gloo.Texture2D(ATLAS.pixels, format="luminance", interpolation="nearest")
        self._version = -1
        self._program["u_atlas"] = self._atlas
        self._sheet = Sheet()
        self._program["u_images"] = self._sheet.texture
        self._looks: object = None

    def draw(
        self, canvas: Canvas2D, width_px: int, height_px: int, corner: tuple[int, int] = (0, 0)
    ) -> None:
        """Draw a canvas into the current framebuffer.

        Args:
            width_px, height_px: size of the viewport in device pixels
            corner: lower left corner of the viewport in the framebuffer; default (0, 0)
        """
        vertices = canvas.vertices(self._sheet.place(canvas.images_in))
        if not len(vertices):
            return
        send(self._vertices, vertices)
        looks = width_px, height_px, canvas.ratio, self._sheet.size
        if self._looks != looks:
            self._program["u_size"] = (width_px / canvas.ratio, height_px / canvas.ratio)
            self._program["u_ratio"], self._program["u_images_size"] = looks[2:]
            self._looks = looks
        if self._version != ATLAS.version:
            self._atlas.set_data(ATLAS.pixels)
            self._version = ATLAS.version
            self._program["u_atlas_size"] = ATLAS.pixels.shape[::-1]
        quads = len(vertices) // 4
        if quads > self._room:
            self._room = 2 * quads
            first = np.arange(0, 4 * self._room, 4, dtype=np.uint32)
            self._indices.set_data((first[:, np.newaxis] + TRIANGLES).ravel())
        STATE.clear()
        set_state(
            blend=True,
            blend_func=("one", "one_minus_src_alpha"),
            depth_test=True,
            depth_func="lequal",
            cull_face=False,
            depth_mask=False,
        )
        draw = Drawing(self._program)
        draw(self._indices, 6 * quads)
        draw.end()
        set_state(depth_mask=True, blend=False)


class Sheet:
    """All images of a canvas in one texture, each padded with copies of its edge pixels.

    Attributes:
        size: width and height of the texture
    """

    def __init__(self) -> None:
        self.size = (1, 1)
        self.texture = gloo.Texture2D(np.zeros((1, 1, 4), np.uint8), interpolation="linear")
        self._sizes: list[tuple[int, ...]] = []
        self._corners: list[tuple[int, int]] = []  # row and column of each padded image
        self._sent: list[Pixels | None] = []
        self._places: list[Floats] = []

    def place(self, images: list[Pixels]) -> list[Floats]:
        """Upload new images; return left, top, width and height, as fractions of the texture.

        Images keep their positions while their number and sizes do not change.
        """
        sizes = [image.shape[:2] for image in images]
        if sizes != self._sizes:
            self._lay_out(sizes)
        for number, (image, before) in enumerate(zip(images, self._sent, strict=True)):
            if image is not before:
                self.texture.set_data(framed(image), offset=self._corners[number])
                self._sent[number] = image
        return self._places

    def _lay_out(self, sizes: list[tuple[int, ...]]) -> None:
        """Arrange images in rows."""
        wide = max([SHEET, *(columns + 2 for _, columns in sizes)])
        top = left = high = 0
        corners = []
        for rows, columns in sizes:
            if left + columns + 2 > wide:
                top, left, high = top + high, 0, 0
            corners.append((top, left))
            left, high = left + columns + 2, max(high, rows + 2)
        self.size = wide, top + high + 1
        self.texture.resize((*self.size[::-1], 4))
        self._sizes, self._corners, self._sent = sizes, corners, [None] * len(sizes)
        whole = np.array([*self.size, *self.size], np.float32)
        self._places = [
            np.array([left + 1, top + 1, columns, rows], np.float32) / whole
            for (top, left), (rows, columns) in zip(corners, sizes, strict=True)
        ]


def framed(image: Pixels) -> Pixels:
    """Return an image padded by one pixel on each side, copied from its edge."""
    high, wide = image.shape[:2]
    made = np.empty((high + 2, wide + 2, 4), np.uint8)
    made[..., 3] = 255
    made[1:-1, 1:-1, : image.shape[2]] = image
    made[[0, -1]] = made[[1, -2]]
    made[:, [0, -1]] = made[:, [1, -2]]
    return made


def send(buffer: Any, data: Any) -> None:
    """Set the data of a buffer like `set_data`, with fewer Python calls."""
    if data.nbytes != buffer.nbytes:
        buffer.set_data(data)
    else:
        buffer._glir.command("DATA", buffer._id, 0, data)


def clear(ground: str, width: int, height: int, corner: tuple[int, int] = (0, 0)) -> None:
    """Fill a rectangle of the current framebuffer with a color; sizes are in device pixels.

    Args:
        corner: lower left corner of the rectangle; default (0, 0)
    """
    STATE.clear()
    queue = gloo.get_current_canvas().context.glir
    queue.command("FUNC", "glViewport", *corner, width, height)
    set_state(depth_test=True, blend=False, cull_face=False)
    set_scissor(*corner, width, height)
    queue.command("FUNC", "glClearColor", *rgb((ground,))[0].tolist(), 1.0)
    queue.command("FUNC", "glClear", EVERY_BUFFER)
    set_state(scissor_test=False)


# vispy's drawing, with fewer Python calls.

EVERY_BUFFER = gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT | gl.GL_STENCIL_BUFFER_BIT
FUNCTIONS = {"depth_func": "glDepthFunc", "depth_mask": "glDepthMask"}
STATE: dict[object, object] = {}  # cached state: clear it if others may have changed it


@lru_cache(maxsize=64)
def calls_of(state: tuple[tuple[str, Any], ...]) -> list[tuple[object, tuple[object, ...]]]:
    """Return the OpenGL calls that set a state, such as (("blend", True),), each with a key.

    Of several calls with the same key, only the last one has an effect.
    """
    calls: list[tuple[object, tuple[object, ...]]] = []
    for name, value in state:
        if name in FUNCTIONS:
            calls.append((name, (FUNCTIONS[name], as_enum(value))))
        elif name == "blend_func":
            calls.append((name, ("glBlendFuncSeparate", *map(as_enum, 2 * value))))
        else:
            calls.append((name, ("glEnable" if value else "glDisable", as_enum(name))))
            if isinstance(value, str):
                calls.append(("culled", ("glCullFace", as_enum(value))))
    return calls


def set_state(preset: str | None = None, **state: Any) -> None:
    """Set OpenGL state like `gloo.set_state`, unless it is already set."""
    if preset is not None:
        STATE.clear()
        gloo.set_state(preset, **state)
        return
    found = calls_of(tuple(state.items()))
    if missing := [(name, call) for name, call in found if STATE.get(name) != call]:
        queue = gloo.get_current_canvas().context.glir
        for name, call in missing:
            STATE[name] = call
            queue.command("FUNC", *call)


def set_scissor(*box: int) -> None:
    """Draw only in a box, x, y, width and height in device pixels, as long as it is enabled."""
    set_state(scissor_test=True)
    gloo.get_current_canvas().context.glir.command("FUNC", "glScissor", *box)


class Drawing:
    """Draws triangles with a shader program, without the checks that vispy makes in each draw call.

    Args:
        program: a gloo program without pending variables
    """

    def __init__(self, program: Any) -> None:
        self._program, self._context = program, gloo.get_current_canvas().context
        self._context.glir.associate(program.glir)

    def __call__(self, index: Any, count: int) -> None:
        """Draw triangles with the first `count` indices of an index buffer."""
        queue = self._context.glir
        if index.glir._shared is not queue._shared:
            queue.associate(index.glir)
        chosen = index.id, gl.GL_UNSIGNED_INT, count
        queue.command("DRAW", self._program._id, gl.GL_TRIANGLES, chosen, 1)

    def end(self) -> None:
        """Flush all queued commands to OpenGL."""
        self._context.flush_commands()
