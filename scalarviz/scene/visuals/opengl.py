"""OpenGL and vispy functions for the visuals: float textures, transforms, and smooth edges."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from vispy import gloo
from vispy.gloo import gl

from scalarviz.base.checks import FloatArray
from scalarviz.base.package_files import text_beside
from scalarviz.errors import DisplayError
from scalarviz.scene.canvas.renderer import STATE, Drawing, set_state

# Float textures.

LEAST_VERSION = 3  # version of OpenGL from which every driver supports them
FLOAT_TEXTURES = "GL_ARB_texture_float", "GL_ARB_texture_rg"  # required by older versions
USUAL_TEXTURE = 8192  # texels along a side supported by all current drivers


def check_float_textures() -> None:
    """Raise DisplayError if textures of the current context cannot store float32."""
    version = str(gl.glGetParameter(gl.GL_VERSION))
    is_new = int(version.partition(".")[0]) >= LEAST_VERSION
    if not is_new and not set(FLOAT_TEXTURES) <= set(gl.glGetParameter(gl.GL_EXTENSIONS).split()):
        raise DisplayError(
            f"this graphics driver has OpenGL {version} without float textures, which the cubes "
            "need: install a driver with OpenGL 3"
        )


def largest_texture() -> int:
    """Return the maximum side of a texture that the driver supports, in texels."""
    canvas = gloo.get_current_canvas()
    if canvas is None:
        return USUAL_TEXTURE
    known = canvas.context.shared.parser.capabilities
    if not known["max_texture_size"]:
        canvas.context.flush_commands()  # queries the driver
    return known["max_texture_size"] or USUAL_TEXTURE


# Transforms: one matrix, and the viewport. vispy chains the transforms of a node in the shaders, in
# float32. Our visuals use one matrix, multiplied in float64, so that a distant camera is as exact
# as a near one.


class Eye:
    """The transform and viewport of a vispy view, computed once and shared by its nodes.

    Attributes:
        transform: (4, 4), from space to clip coordinates, for row vectors
        inverse: the inverse matrix
        viewport: width and height in device pixels
        ratio: device pixels per logical pixel
        version: number of changes of the matrix; 0 before the first
        is_flat: whether the matrix is singular, so that nothing is visible
    """

    def __init__(self) -> None:
        self.transform, self.inverse = np.eye(4), np.eye(4)
        self.viewport, self.ratio, self.is_flat = (0.0, 0.0), 1.0, True
        self.mirrors, self.version, self.is_shared, self._is_known = False, 0, False, False

    def change(self) -> None:
        """Request an update at the next draw."""
        self._is_known, self.is_shared = False, True

    def look(self, view: Any) -> bool:
        """Update the matrix from a visual's transform; return whether the visual is visible."""
        if not (self._is_known and self.is_shared):
            matrix = matrix_of(view.get_transform())
            size, ratio = viewport_of(view.transforms), ratio_of(view.transforms)
            if not np.array_equal(matrix, self.transform) or size != self.viewport or self.is_flat:
                self.version += 1
                volume = np.linalg.det(matrix)
                self.is_flat = bool(not np.isfinite(volume) or volume == 0.0)
                self.mirrors = bool(volume < 0.0)
                self.inverse = matrix if self.is_flat else np.linalg.inv(matrix)
            self.transform, self.viewport, self.ratio = matrix, size, ratio
            self._is_known = True
        return not self.is_flat

    def show(self, program: Any, names: Sequence[str]) -> None:
        """Set the uniform variables of a program with these names, such as "transform"."""
        for name in names:
            program[f"u_{name}"] = getattr(self, name)


def draw_triangles(visual: Any) -> None:
    """Draw one of the visuals of this package."""
    if not visual.eye.is_shared:  # in a scene of vispy
        STATE.clear()
    set_state(**visual._vshare.gl_state)
    program, index = visual._program, visual._index_buffer
    if program._need_build or program._pending_variables or not visual.eye.is_shared:
        program.draw("triangles", index)
        return
    Drawing(program)(index, index.size)


BASIS = np.vstack([np.eye(4), [0.375, -0.75, 0.5, 1.0]])


def matrix_of(transform: Any) -> FloatArray:
    """Return the (4, 4) matrix of a linear vispy transform, for row vectors.

    Raise DisplayError if the transform is not linear, as for a logarithmic axis.
    """
    with np.errstate(all="ignore"):  # a logarithm of these points is not finite
        mapped = np.asarray(transform.map(BASIS), np.float64)
    matrix: FloatArray = mapped[:4]
    expected = BASIS[4] @ matrix
    if not np.abs(mapped[4] - expected).max() <= 1e-6 * max(1.0, np.abs(mapped).max()):
        raise DisplayError(
            "cubes, spheres and wires need a linear transform, such as that of a vispy camera, "
            "and this transform bends lines"
        )
    return matrix


def viewport_of(system: Any) -> tuple[float, float]:
    """Return the width and height of the viewport in device pixels, from a TransformSystem."""
    corner, other = system.framebuffer_transform.map(np.array([(0.0, 0.0), (1.0, 1.0)]))[:, :2]
    width, height = np.abs(2.0 / (other - corner))
    return float(width), float(height)


def ratio_of(system: Any) -> float:
    """Return the device pixels per logical pixel, from a TransformSystem."""
    return float(abs(system.pixel_scale))


# Smooth edges: each pixel is the mean of four drawn ones.

DRAWN_SIDE = 2  # drawn pixels per shown pixel, along each axis
FINE_PIXELS = 1.5  # device pixels per logical one above which no supersampling is needed
PATIENCE = 200  # milliseconds at rest before supersampling without a GPU
LONGEST_DRAWING = 0.7  # maximum seconds of supersampling
SOFTWARE = re.compile("llvmpipe|softpipe|swiftshader|software|basic render", re.IGNORECASE)
CORNERS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)


@final
class Smooth:
    """Supersampling: draws four pixels into a separate framebuffer for each shown pixel.

    All methods must be called with a current context.
    """

    def __init__(self) -> None:
        self._size = (0, 0)
        self._buffer: Any = None
        self._program: Any = None

    @staticmethod
    def is_quick() -> bool:
        """Return whether a GPU draws, which is fast enough for four times the pixels."""
        return not SOFTWARE.search(str(gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)))

    def draw(
        self, draw: Callable[[int, int, float], object], width: int, height: int, ratio: float
    ) -> None:
        """Show what `draw(width, height, ratio)` draws, with supersampling if possible."""
        if DRAWN_SIDE * max(width, height) > largest_texture():
            draw(width, height, ratio)
            return
        self._make(DRAWN_SIDE * width, DRAWN_SIDE * height)
        with self._buffer:
            draw(DRAWN_SIDE * width, DRAWN_SIDE * height, DRAWN_SIDE * ratio)
        gloo.set_viewport(0, 0, width, height)
        set_state(depth_test=False, blend=False, cull_face=False, scissor_test=False)
        self._program.draw("triangle_strip")

    def _make(self, width: int, height: int) -> None:
        if self._size == (width, height):
            return
        self.release()
        # At the center of four pixels, "linear" is their mean.
        picture = gloo.Texture2D((height, width, 3), interpolation="linear")
        self._buffer = gloo.FrameBuffer(picture, gloo.RenderBuffer((height, width), "depth"))
        self._program = gloo.Program(
            text_beside(__file__, "smooth.vert"), text_beside(__file__, "smooth.frag")
        )
        self._program["a_corner"], self._program["u_picture"] = CORNERS, picture
        self._size = width, height

    def release(self) -> None:
        """Free the GPU memory; the next picture allocates it again."""
        self._buffer, self._program, self._size = None, None, (0, 0)
