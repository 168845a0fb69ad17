"""Image: records and arrays of kernels as bytes, for the memory of a page.

An array keeps its bytes. In a record the fields that are addresses, which a table names, become
those of the copies; fields with kernels have places in the table of functions from the start.
Arrays that kernels write before they read get room after the image.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np

from scalarviz.engines.cpu import records
from scalarviz.engines.cpu.records import RecordType
from scalarviz.engines.wasm.linking import ALIGNMENT
from scalarviz.errors import EngineError

# Fields that are addresses of records and arrays, by the type of record. The other fields are
# numbers and kernels.
ADDRESSES: Mapping[RecordType, tuple[str, ...]] = {
    records.JOB: ("program", "bank", "samples", "batch", "room", "update", "progress"),
    records.PROGRAM: ("plan", "passes", "operations"),
    records.BANK: ("value", "seen", "halves", "grad", "slots", "frozen", "state"),
    records.SAMPLES: (
        "data", "goals", "rows", "goal_rows", "points", "drawing", "draw_settings",
    ),
    records.BATCH: ("data", "rows", "goals", "goal_rows", "outputs", "errors"),
    records.ROOM: ("spaces", "flows", "partial", "tiles", "before"),
    records.UPDATE: (
        "how", "settings", "schedule", "exact", "arguments", "gradient", "scratch", "spans",
    ),
    records.PROGRESS: ("losses",),
    records.OPERATION: ("settings",),
    records.PLAN: (),
    records.PASS: (),
    records.DRAWING: (),
    records.HOW: (),
    records.SPAN: (),
}  # fmt: skip
KERNELS: Mapping[RecordType, tuple[str, ...]] = {
    records.JOB: (
        "chunk_work", "run_pass", "draw_rows", "add_chunks", "move", "round_rows", "round_bank",
    ),
    records.OPERATION: (
        "forward", "parameters", "back", "gather", "gather_back", "part_of_forward",
        "part_of_parameters", "part_of_back",
    ),
    records.PLAN: ("loss", "loss_back"),
    records.UPDATE: ("factor_of_rate", "constants", "move_rows"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """An array in the image: its address here and in the page, and whether it is 0 there."""

    array: np.ndarray[Any, Any]
    start: int
    place: int
    empty: bool


@final
class Image:
    """Bytes of records and arrays, for the memory of a page from the address `first` on."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._given: list[tuple[np.ndarray[Any, Any], bool]] = []
        self._parts: dict[int, Part] = {}  # by address here

    def add(self, *given: np.ndarray[Any, Any] | ctypes.Structure, empty: bool = False) -> None:
        """Add arrays and records in this order; with `empty` they are 0 in the page."""
        for each in given:
            array = as_array(each)
            if array.size:
                self._given.append((array, empty))

    def build(self) -> bytes:
        """Give everything its place, and return the bytes."""
        end = self.first
        for array, empty in sorted(self._given, key=lambda each: each[1]):
            start = array.__array_interface__["data"][0]
            if start in self._parts:
                raise EngineError("an array was added twice to the memory of a page")
            place = -(-end // ALIGNMENT) * ALIGNMENT
            self._parts[start] = Part(array, start, place, empty)
            end = place + array.nbytes
        self.end = end
        full = [part for part in self._parts.values() if not part.empty]
        content = bytearray(max(part.place + part.array.nbytes for part in full) - self.first)
        for part in full:
            at = part.place - self.first
            content[at : at + part.array.nbytes] = self._relocated(part.array).tobytes()
        return bytes(content)

    def _relocated(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return an array, with the addresses of the page if it is of records."""
        fields = ADDRESSES.get(array.dtype, ()) if array.dtype.names else ()
        moved = array.copy() if fields else array
        for name in fields:
            moved[name] = [self.place_of(int(address)) for address in array[name].tolist()]
        return moved

    def place_of(self, address: int) -> int:
        """Return the address in the page of what is at an address here; 0 remains 0."""
        if address == 0:
            return 0
        for part in self._parts.values():
            if part.start <= address < part.start + part.array.nbytes:
                return part.place + address - part.start
        raise EngineError("a record has an address of nothing in the memory of a page")

    def place(self, given: np.ndarray[Any, Any] | ctypes.Structure) -> int:
        """Return the address in the page of an array or record; 0 for an empty array."""
        array = as_array(given)
        return self.place_of(array.__array_interface__["data"][0]) if array.size else 0

    def fields(self, given: np.ndarray[Any, Any] | ctypes.Structure) -> dict[str, int]:
        """Return the address in the page of each field of a record."""
        dtype, place = as_array(given).dtype, self.place(given)
        assert dtype.fields is not None
        return {name: place + field[1] for name, field in dtype.fields.items()}


def as_array(given: np.ndarray[Any, Any] | ctypes.Structure) -> np.ndarray[Any, Any]:
    """Return a record of ctypes as an array of one record."""
    if isinstance(given, np.ndarray):
        return given
    found: np.ndarray[Any, Any] = np.ndarray(1, records.dtype_of(type(given)), cast(Any, given))
    return found
