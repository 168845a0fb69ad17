"""Scalar: the conversions to plain numbers that Value and Weight share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.base.attributes import Absent


class Scalar:
    """A number: `item` of a subclass returns it."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        numpy, detach = Absent(), Absent()

    def item(self) -> float:
        """Return the number, as in PyTorch."""
        raise NotImplementedError

    def __int__(self) -> int:
        return int(self.item())

    def __round__(self, digits: int | None = None) -> float:
        return round(self.item(), digits)

    def __format__(self, spec: str) -> str:
        """Format the number, as in f"{w:.3f}"; without a `spec`, as `str` does."""
        return format(self.item(), spec) if spec else str(self)
