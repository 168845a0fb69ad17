"""Encoding of states for pages: a JSON header, and arrays as bytes.

An array is encoded as {"$": index of its buffer, "t": its type}, and a number that JSON does not
support as {"$n": name}.

States of large networks are reduced to the visible information. Colors and sizes of cubes are sent
as 8-bit codes of weights, or of the means of square tiles of weights. Numbers in texts are exact:
scales and spreads are computed from all weights, and `exact_of` returns selected numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import stop_above
from scalarviz.scene.canvas.palette import largest
from scalarviz.scene.layout.plates import Layout, Plate
from scalarviz.scene.visuals.mip_levels import levels_of, spread_of
from scalarviz.stage.background import Throttle

Header = dict[str, Any]
Buffers = list[bytes]
TYPES = {np.dtype(kind): name for kind, name in
         (("<f4", "f4"), ("<f8", "f8"), ("u1", "u1"), ("i1", "i1"), ("<u4", "u4"))}  # fmt: skip
NOT_FINITE = -128  # the code of an infinite number or NaN
LEVELS = 127  # quantization levels up to the maximum


def split(message: Any, buffers: Buffers) -> Any:
    """Return a message with its arrays replaced by references, and append them to `buffers`."""
    if isinstance(message, np.ndarray):
        return reference(np.ascontiguousarray(message), buffers)
    if isinstance(message, Coded):
        return {**reference(message.codes, buffers), **message.about}
    if isinstance(message, dict):
        return {str(name): split(each, buffers) for name, each in message.items()}
    if isinstance(message, (list, tuple)):
        return [split(each, buffers) for each in message]
    if isinstance(message, (float, np.floating)) and not math.isfinite(message):
        return {"$n": "nan" if math.isnan(message) else "inf" if message > 0 else "-inf"}
    return message.item() if isinstance(message, np.generic) else message


def reference(array: npt.NDArray[Any], buffers: Buffers) -> dict[str, Any]:
    """Append an array to the buffers; return its reference for the header."""
    if array.dtype not in TYPES:
        array = array.astype(np.float64)
    buffers.append(array.tobytes())
    return {"$": len(buffers) - 1, "t": TYPES[array.dtype]}


class Coded:
    """Numbers of all weights as 8-bit codes: each number is code * top / 127.

    Attributes:
        about: header: "top"; "tile", the tile size, if the codes are means of tiles; and properties
            of all numbers, see `StateReducer._facts_of`
    """

    def __init__(self, numbers: npt.NDArray[Any], facts: Header, tile: int = 1) -> None:
        isfinite = np.isfinite(numbers)
        finite = np.where(isfinite, numbers, 0.0)
        top = float(np.abs(finite).max(initial=0.0))
        parts = np.round(finite * (LEVELS / top)) if top else finite
        self.codes = np.where(isfinite, parts, NOT_FINITE).astype(np.int8)
        self.about: Header = {**facts, "top": top} | ({"tile": tile} if tile > 1 else {})


def size_of(message: Any) -> int:
    """Return the total size of all arrays in a message, in bytes."""
    if isinstance(message, (np.ndarray, Coded)):
        return message.nbytes if isinstance(message, np.ndarray) else message.codes.nbytes
    if isinstance(message, dict):
        return sum(map(size_of, message.values()))
    return sum(map(size_of, message)) if isinstance(message, (list, tuple)) else 0


# Compact states of large networks.

LARGEST = 190_000  # bytes of the arrays of a state, which has at most 200 kB with its header
LEAST = 20_000  # minimum bytes for the banks, if layers are too wide for LARGEST
SPARED = "grad_before", "begun", "slots_before", "slots", "before"  # left out first
BANKS = "value", "grad"  # always included
MOST_ROWS = 10_000  # weights whose exact numbers a page may request
Rows = npt.NDArray[np.uint32]
NO_ROWS: Rows = np.zeros(0, np.uint32)


class TileMap(NamedTuple):
    """Tiles of cubes: bank index and tile of each cube, and the number of cubes in each tile."""

    indices: npt.NDArray[np.intp]
    tiles: npt.NDArray[np.intp]
    counts: npt.NDArray[np.intp]


@final
class StateReducer:
    """Reduces states to what a layout shows; `apart` are the rows with a separate scale."""

    def __init__(self, layout: Layout, apart: Sequence[slice]) -> None:
        self._layout, self._apart = layout, apart
        self._maps: dict[int, TileMap] = {}
        self._counting, self._facts = Throttle(), dict[str, Any]()

    def of(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return a state of at most LARGEST bytes; numbers of the bank get at least LEAST bytes.

        A reduced state has the key "light".
        """
        if size_of(state) <= LARGEST:
            return state
        masks = state["frozen"], state["made"]["frozen"]
        frozen, still = (mask if mask.any() else None for mask in masks)
        light = {**state, "light": True, "frozen": frozen}
        light["made"] = {**state["made"], "frozen": still}
        for name in SPARED:
            if size_of(light) > LARGEST:
                light[name] = {} if isinstance(light[name], dict) else None
        if size_of(light) > LARGEST and (not state["playing"] or self._counting.due):
            with self._counting.doing():
                self._facts = {name: self._facts_of(state[name]) for name in BANKS}
        for name in reversed(BANKS):
            if size_of(light) > LARGEST:
                light[name] = Coded(state[name], self._facts[name])
        if size_of(light) > LARGEST:
            room = max(LEAST, LARGEST - size_of({**light, **dict.fromkeys(BANKS)}))
            count, tile = len(state["value"]), 2
            while len(BANKS) * count > room * tile * tile:
                tile += 1
            for name in BANKS:
                light[name] = Coded(self._means(state[name], tile), self._facts[name], tile)
        return light

    def _facts_of(self, numbers: FloatArray) -> dict[str, Any]:
        """Return properties of all numbers: the scales of `parts` and the `spreads` of plates.

        parts    for the rows with the common scale, and for each slice with a separate scale: the
                 magnitude that the scale covers, and [limit, count of larger numbers] for each
                 possible limit of the scale
        spreads  [first row, end, root mean square] of each plate that has mip levels
        """
        common = numbers.copy()
        for rows in self._apart:
            common[rows] = np.nan
        rows_of = [plate.indices for plate in self._layout.plates if levels_of(plate)]
        return {
            "parts": [part_of(each) for each in (common, *(numbers[r] for r in self._apart))],
            "spreads": [(r.start, r.stop, spread_of(numbers[r])) for r in rows_of],
        }

    def _means(self, numbers: npt.NDArray[Any], tile: int) -> npt.NDArray[Any]:
        """Return the mean of each tile of all plates, in the order of the plates."""
        if tile not in self._maps:
            self._maps[tile] = map_of(self._layout.plates, tile)
        indices, tiles, counts = self._maps[tile]
        sums = np.bincount(tiles, numbers[indices], len(counts))
        return np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)


def part_of(numbers: FloatArray) -> tuple[float, list[tuple[float, int]]]:
    """Return the magnitude that a scale covers, and the count of larger numbers for each limit."""
    sizes = np.abs(numbers)
    top = float(sizes.max(where=np.isfinite(sizes), initial=0.0))
    covered = largest(numbers)
    stops = [stop_above(covered) or 1.0]
    while stops[-1] < top:
        stops.append(stop_above(1.01 * stops[-1]))
    return covered, [(stop, int(np.count_nonzero(sizes > stop))) for stop in stops]


def exact_of(state: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """Return exact values and gradients of some rows of a state, with its step and operation."""
    rows = rows[rows < len(state["value"])]
    moment = {"step": state["step"], "operation": state["operation"], "rows": rows}
    return moment | {name: state[name][rows] for name in BANKS}


def map_of(plates: Sequence[Plate], tile: int) -> TileMap:
    """Divide plates into tiles of `tile` x `tile` cells, row by row."""
    found, first = [], 0
    for plate in plates:
        down, across = -(-plate.rows // tile), -(-plate.columns // tile)
        row, column, index = plate.cells()
        found.append((index, first + row // tile * across + column // tile))
        first += down * across
    indices, tiles = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return TileMap(indices, tiles, np.bincount(tiles, minlength=first))
