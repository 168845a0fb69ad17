"""Quads: arrays with a row for each of many quads, as vertex buffers."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt
from vispy import gloo

from scalarviz.base.checks import FloatArray

TRIANGLES = np.array([0, 1, 2, 2, 1, 3], np.uint32)


@final
class Quads:
    """Vertex buffers of a program, with four vertices for each row; only changes are uploaded.

    program  the program whose attributes are set
    corners  (4, 2), the attribute `a_corner` of the four vertices
    """

    def __init__(self, program: Any, corners: Any) -> None:
        self._program = program
        self._corners = np.array(corners, np.float32)
        self._rows: dict[str, npt.NDArray[np.float32]] = {}
        self._stale: set[str] = set()
        self._buffers: dict[str, Any] = {}
        self.index: Any = None
        self.count = 0

    def set(self, **rows: FloatArray) -> bool:
        """Set attributes, each an array with a row for every quad; return whether any differs."""
        self.count = len(next(iter(rows.values())))
        for name, values in rows.items():
            given = np.array(values, np.float32)
            if name not in self._rows or not np.array_equal(given, self._rows[name]):
                self._rows[name] = given
                self._stale.add(name)
        return bool(self._stale)

    def upload(self) -> None:
        """Upload what has changed; the program's context must be current."""
        if self.index is None or self.index.size != 6 * self.count:
            first = 4 * np.arange(self.count, dtype=np.uint32)
            self.index = self.index or gloo.IndexBuffer()
            self.index.set_data((first[:, np.newaxis] + TRIANGLES).ravel())
            self._send("a_corner", np.tile(self._corners, (self.count, 1)))
        for name in self._stale:
            self._send(name, np.repeat(self._rows[name], 4, axis=0))
        self._stale.clear()

    def _send(self, name: str, data: Any) -> None:
        if name not in self._buffers:
            self._buffers[name] = self._program[name] = gloo.VertexBuffer()
        self._buffers[name].set_data(data)

    def release(self) -> None:
        """Free the memory on the graphics card; the next `upload` allocates it again."""
        for buffer in (*self._buffers.values(), *([self.index] if self.index else [])):
            buffer.delete()
        self._buffers.clear()
        self.index, self._stale = None, {*self._rows}
