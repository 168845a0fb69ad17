"""Visuals of spheres, straight wires and the ground, for any vispy scene.

Each visual is one draw call. A sphere is a square that covers its outline, with the light and depth
of a sphere; a wire is a strip. All arrays have one row per sphere, wire, tray or shadow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from vispy import gloo
from vispy.scene.visuals import create_visual_node
from vispy.visuals import Visual

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import TRIANGLES
from scalarviz.scene.canvas.palette import rgb
from scalarviz.scene.canvas.renderer import send, set_state
from scalarviz.scene.visuals.opengl import Eye, draw_triangles
from scalarviz.scene.visuals.shaders import GROUND, SPHERE, WIRE

SQUARE = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
same = np.logical_and.reduce  # fewer Python calls than `np.array_equal`
STRIP = [(0, -1), (1, -1), (0, 1), (1, 1)]
PLACES = "a_center", "a_start", "a_end"  # attributes used by cameras for framing


class QuadsVisual(Visual):  # type: ignore[misc]  # vispy has no types
    """Visual of quads that face the eye, one per array row; only changed arrays are uploaded.

    Args:
        shaders: source code of vertex and fragment shader
        corners: attribute `a_corner` of the four vertices of each quad, (4, 2)
        names: names of the attributes that `set_data` sets, positions first
        depth_mask: whether the quads hide items that are drawn later behind them
    """

    def __init__(
        self, shaders: tuple[str, str], corners: Any, names: Sequence[str], *, depth_mask: bool
    ) -> None:
        Visual.__init__(self, *shaders)
        known = "transform", "inverse", "viewport", "ratio"
        self._depends = [name for name in known if f"u_{name}" in shaders[0]]
        self.set_gl_state(
            depth_test=True,
            depth_func="less",
            depth_mask=depth_mask,
            cull_face=False,
            blend=True,
            blend_func=("one", "one_minus_src_alpha"),
        )
        self._draw_mode = "triangles"
        self._corners, self._names = np.array(corners, np.float32), names
        self._rows: dict[str, npt.NDArray[np.float32]] = {}  # of each attribute, one for each quad
        self._stale: set[str] = set()
        self._buffers: dict[str, Any] = {}
        self._index_buffer: Any = None
        self._count = 0
        self.eye, self._version = Eye(), 0

    def paint(self, **colors: str) -> None:
        """Set colors of the shader by name, with or without alpha."""
        for name, color in colors.items():
            self.shared_program[f"u_{name}"] = rgb((color,))[0]

    def release(self) -> None:
        """Free the GPU memory; the next draw allocates it again."""
        for buffer in (*self._buffers.values(), *[self._index_buffer] * bool(self._buffers)):
            buffer.delete()
        self._buffers.clear()
        self._index_buffer, self._stale = None, {*self._rows}

    def set_data(self, *arrays: FloatArray) -> None:
        """Set the attributes, each an array with one row per quad."""
        self._count = len(arrays[0])
        for name, values in zip(self._names, arrays, strict=True):
            given = np.array(values, np.float32)
            before = self._rows.get(name)
            if before is None or before.shape != given.shape or not same(before == given, None):
                self._rows[name] = given
                self._stale.add(name)
        if self._stale and not self.eye.is_shared:  # in a scene of vispy
            self._bounds_changed()
            self.update()

    def _compute_bounds(self, axis: int, view: Any) -> tuple[float, float] | None:
        """Return the range of the positions along an axis, which cameras use for framing."""
        places = [self._rows[name] for name in self._names if name in PLACES and name in self._rows]
        along = np.concatenate([np.zeros(0), *(each[:, axis] for each in places)])
        return (float(along.min()), float(along.max())) if len(along) else None

    def _prepare_transforms(self, view: Any) -> None:
        """Do nothing: `eye` handles transforms."""

    def _prepare_draw(self, view: Any) -> bool:
        if not self._count or not self.eye.look(view):
            return False
        if self._version != self.eye.version:
            self._version = self.eye.version
            self.eye.show(view.view_program, self._depends)
        if self._index_buffer is None or self._index_buffer.size != 6 * self._count:
            first = 4 * np.arange(self._count, dtype=np.uint32)
            self._index_buffer = self._index_buffer or gloo.IndexBuffer()
            self._index_buffer.set_data((first[:, np.newaxis] + TRIANGLES).ravel())
            self._send("a_corner", np.tile(self._corners, (self._count, 1)))
        for name in self._stale:
            self._send(name, np.repeat(self._rows[name], 4, axis=0))
        self._stale.clear()
        return True

    def _send(self, name: str, data: Any) -> None:
        if name not in self._buffers:
            self._buffers[name] = self.shared_program[name] = gloo.VertexBuffer()
        send(self._buffers[name], data)

    def draw(self) -> None:
        """Draw the quads of a visible visual."""
        if self.visible:
            self.draw_always()

    def draw_always(self) -> None:
        """Draw the quads, even if the visual is not visible."""
        if self._prepare_draw(self):
            draw_triangles(self)


class GroundsVisual(QuadsVisual):
    """Visual below all others: trays and shadows of cubes, or the ground with its light.

    Args:
        shaders: GROUND (default) or POOL

    Its arrays are, in drawing order:

    Attributes:
        centers: centers in space, (n, 3)
        sizes: half the sides of a cube, (n, 3); height 0 for a tray, all 0 for no shadow, all
            negative for the ground
    """

    def __init__(self, shaders: tuple[str, str] = GROUND) -> None:
        QuadsVisual.__init__(self, shaders, SQUARE, ("a_center", "a_size"), depth_mask=False)
        self.update_gl_state(depth_test=False, blend=shaders is GROUND)


class SpheresVisual(QuadsVisual):
    """Visual that draws spheres of glass or of a solid color, with their shadows on the ground.

    Its arrays:

    Attributes:
        centers: centers in space, (n, 3)
        radii: radii in space, (n,)
        fills: colors from 0 to 1, (n, 3)
        rings: (n, 4), color and filled fraction of a glass sphere; the fraction is -1 for other
            spheres
    """

    def __init__(self) -> None:
        names = "a_center", "a_radius", "a_fill", "a_ring"
        QuadsVisual.__init__(self, SPHERE, SQUARE, names, depth_mask=True)
        self.paint(glass="#222630", shadow="#00000000")


class WiresVisual(QuadsVisual):
    """Visual that draws straight wires with depth; draw it after all solid items.

    Its arrays:

    Attributes:
        starts: start points in space, (m, 3)
        ends: end points in space, (m, 3)
        colors: red, green, blue and alpha from 0 to 1, (m, 4)
        widths: widths in logical pixels, (m,)
    """

    def __init__(self) -> None:
        names = "a_start", "a_end", "a_color", "a_width"
        QuadsVisual.__init__(self, WIRE, STRIP, names, depth_mask=False)

    def draw(self) -> None:
        """Draw the wires without writing depth, so that crossing wires are blended."""
        if self._count:
            QuadsVisual.draw(self)
            set_state(depth_mask=True)


GroundsNode = create_visual_node(GroundsVisual)
SpheresNode = create_visual_node(SpheresVisual)
WiresNode = create_visual_node(WiresVisual)
