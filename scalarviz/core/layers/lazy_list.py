"""OnDemand: a sequence whose items are made on first access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, final, overload

T = TypeVar("T")


@final
class OnDemand(Sequence[T]):
    """`count` items; `make(index)` makes one on first access, and it is kept."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._items: list[T | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        item = self._items[index]
        if item is None:
            item = self._items[index] = self._make(range(len(self))[index])
        return item

    def all(self) -> list[T]:
        """Return all items, making those that are missing."""
        return self[:]

    def made(self) -> list[T]:
        """Return the items made so far."""
        return [item for item in self._items if item is not None]

    def __repr__(self) -> str:
        return f"[{len(self)} items, {len(self.made())} of them made so far]"
