"""Parameters: all weights of a network as a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import final, overload

from scalarviz.core.model.weight import Weight


@final
class Parameters(Sequence[Weight]):
    """All weights of a network as a sequence, in the order of the bank; each is made on access."""

    def __init__(self, count: int, weight: Callable[[int], Weight]) -> None:
        self._count = count
        self._weight = weight

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> Weight: ...
    @overload
    def __getitem__(self, row: slice) -> list[Weight]: ...
    def __getitem__(self, row: int | slice) -> Weight | list[Weight]:
        rows = range(self._count)[row]
        if isinstance(rows, range):
            return [self._weight(i) for i in rows]
        return self._weight(rows)

    def __iter__(self) -> Iterator[Weight]:
        return map(self._weight, range(self._count))

    def __repr__(self) -> str:
        return f"Parameters({self._count} weights)"
