"""Light: states of large networks in few bytes: what the picture can show of them.

Beside it a state has the exact numbers of what is pinned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from scalarviz.faces.browser.wire import Coded, size_of
from scalarviz.pictures.view.scene.plates import Plate

LARGEST = 190_000  # bytes of the arrays of a state, which has 200 kB at most with its header
LEAST = 20_000  # bytes of the banks in any case, beside layers that are too wide for LARGEST
SPARED = "gradBefore", "begun", "slotsBefore", "slots", "before"  # what is left out first
BANKS = "value", "grad"  # what is always there
OF_ROWS = "value", "grad", "before", "gradBefore"


class TileMap(NamedTuple):
    """Tiles of plates: of each cube its bank index and its tile; how many cubes a tile has."""

    indices: npt.NDArray[np.intp]
    tiles: npt.NDArray[np.intp]
    counts: npt.NDArray[np.intp]


@final
class Light:
    """Makes states light, for the plates of a picture."""

    def __init__(self, plates: Sequence[Plate]) -> None:
        self._plates = plates
        self._maps: dict[int, TileMap] = {}

    def of(self, state: dict[str, Any], row: int | None) -> dict[str, Any]:
        """Return a state of at most LARGEST bytes, or with banks of LEAST if the rest has more.

        `row` is that of the pinned weight, or None.
        """
        if size_of(state) <= LARGEST:
            return state
        exact = {"rows": np.array([] if row is None else [row], np.uint32)}
        exact |= {name: state[name][exact["rows"]] for name in OF_ROWS if state[name] is not None}
        frozen = state["frozen"] if state["frozen"].any() else None
        light = {**state, "exact": exact, "frozen": frozen}
        light["made"] = {**state["made"], "frozen": frozen}
        for name in SPARED:
            if size_of(light) > LARGEST:
                light[name] = {} if isinstance(light[name], dict) else None
        for name in reversed(BANKS):
            if size_of(light) > LARGEST:
                light[name] = Coded(state[name])
        if size_of(light) > LARGEST:
            room = max(LEAST, LARGEST - size_of({**light, **dict.fromkeys(BANKS)}))
            count, tile = len(state["value"]), 2
            while len(BANKS) * count > room * tile * tile:
                tile += 1
            light |= {name: Coded(self._means(state[name], tile), tile) for name in BANKS}
        return light

    def _means(self, numbers: npt.NDArray[Any], tile: int) -> npt.NDArray[Any]:
        """Return the mean of each tile, one plate after the other."""
        if tile not in self._maps:
            self._maps[tile] = map_of(self._plates, tile)
        indices, tiles, counts = self._maps[tile]
        sums = np.bincount(tiles, numbers[indices], len(counts))
        return np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)


def map_of(plates: Sequence[Plate], tile: int) -> TileMap:
    """Return the tiles of plates, rows after rows, of so many rows and columns of cells."""
    found, first = [], 0
    for plate in plates:
        down, across = -(-plate.rows // tile), -(-plate.columns // tile)
        row, column, index = plate.cells()
        found.append((index, first + row // tile * across + column // tile))
        first += down * across
    indices, tiles = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return TileMap(indices, tiles, np.bincount(tiles, minlength=first))
