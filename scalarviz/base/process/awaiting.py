"""Awaiting what another thread computes: results with `ready` and `read`, in a loop of asyncio."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, TypeVar

PAUSE = 0.001  # seconds between two looks

Value = TypeVar("Value", covariant=True)


class Result(Protocol[Value]):
    """Something that arrives later."""

    @property
    def ready(self) -> bool: ...

    def read(self) -> Value: ...


def awaited(result: Result[Value]) -> Generator[Any, None, Value]:
    """Wait until a result is ready, and return what it reads; for its `__await__`.

    Other tasks of the loop go on meanwhile.
    """
    from asyncio import sleep  # slow to import

    while not result.ready:
        yield from sleep(PAUSE).__await__()
    return result.read()
