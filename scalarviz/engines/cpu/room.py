"""Room: buffers and workspaces of a training on batches of one size."""

from __future__ import annotations

import ctypes
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.engines.cpu.records import TILE_RECORD, RoomRecord


def address(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array's first item; the array must be C-contiguous.

    That of an empty array, which nothing reads, is 0.
    """
    if not array.size:
        return 0
    try:  # a third of numpy's time
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except TypeError:  # it is read-only
        return array.ctypes.data


@final
class Room:
    """Buffers and workspaces, and the record with their addresses.

    spaces      workspaces of values, one row per tile
    flows       workspaces of gradients, one row per tile
    partial     gradients of the parameters, one row per chunk
    errors      sum of errors of each chunk
    state_size  size of the bank's state, of which there is a copy
    """

    def __init__(
        self, spaces: FloatArray, flows: FloatArray, partial: FloatArray, state_size: int
    ) -> None:
        self.spaces, self.flows, self.partial = spaces, flows, partial
        self._tiles = np.zeros(len(partial) * TILE_RECORD.itemsize, np.uint8)
        self._before = np.zeros(state_size)
        self.errors = np.zeros(len(partial))
        self.errors_at = address(self.errors)
        self.record = RoomRecord(
            spaces=address(spaces),
            flows=address(flows),
            partial=address(partial),
            tiles=address(self._tiles),
            before=address(self._before),
            places=len(spaces),
            space=spaces.shape[1],
            flow=flows.shape[1],
            gradients=partial.shape[1],
            chunks=len(partial),
        )
        self.record_at = ctypes.addressof(self.record)

    @property
    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """All arrays, without the record."""
        return [self.spaces, self.flows, self.partial, self._tiles, self._before, self.errors]
