"""Snapshot: a copy of the numbers of a bank at one moment, which does not hold up training.

`request()` asks for a copy, `ready` says whether it has arrived, `read()` returns it, and waits if
necessary; `await snapshot` waits, too, and lets the other tasks of an asyncio loop go on. The
interface is the same on every engine: in host memory the copy is made at once; numbers that a
session has left on a GPU are on their way for a while, see `scalarviz.engines.cuda.snapshot`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.processes import awaited
from scalarviz.core.bank import Bank


@dataclass(frozen=True, slots=True)
class SnapshotValues:
    """The numbers of a snapshot: copies that never change, one number a row.

    value, grad, slots  of the parameters
    state               loss scale and running statistics
    """

    value: FloatArray
    grad: FloatArray
    slots: dict[str, FloatArray]
    state: FloatArray = field(default_factory=lambda: np.zeros(0))


class Snapshot(ABC):
    """A copy of values, gradients and slots, requested or arrived."""

    @abstractmethod
    def request(self) -> None:
        """Request a copy of the present numbers; an earlier request is dropped."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether `read` returns without waiting."""

    @abstractmethod
    def read(self) -> SnapshotValues:
        """Return the numbers at the last request; without one, request and wait."""

    @final
    def __await__(self) -> Generator[Any, None, SnapshotValues]:
        """Return the numbers as `read` does, while other tasks of an asyncio loop go on."""
        if not self.ready:
            self.request()
        return awaited(self)


@final
class HostSnapshot(Snapshot):
    """A snapshot of a bank in host memory, copied at once.

    >>> bank = Bank(2)
    >>> snapshot = HostSnapshot(bank)
    >>> snapshot.request()
    >>> bank.value[:] = 1.0
    >>> snapshot.ready, snapshot.read().value.tolist()
    (True, [0.0, 0.0])
    """

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self._numbers: SnapshotValues | None = None

    def request(self) -> None:
        bank = self._bank
        slots = {name: slot.copy() for name, slot in bank.slots.items()}
        self._numbers = SnapshotValues(
            bank.value.copy(), bank.grad.copy(), slots, bank.state.copy()
        )

    @property
    def ready(self) -> bool:
        return self._numbers is not None

    def read(self) -> SnapshotValues:
        if self._numbers is None:
            self.request()
        assert self._numbers is not None
        return self._numbers
