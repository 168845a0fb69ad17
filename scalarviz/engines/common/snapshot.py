"""Snapshot: the numbers of a bank as they were at one moment, read without holding up training.

`request()` asks for them, `ready` says whether they have arrived, `read()` gives them, and waits if
it must. It is the same on every engine; numbers in the host's memory are there at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.bank import Bank


@dataclass(frozen=True, slots=True)
class SnapshotValues:
    """What a snapshot holds: copies that nobody else writes to, one number a row."""

    value: FloatArray
    grad: FloatArray
    slots: dict[str, FloatArray]


class Snapshot(ABC):
    """A copy of value, gradients and slots that is under way, or has arrived."""

    @abstractmethod
    def request(self) -> None:
        """Ask for the numbers as they are now; what was asked for before is given up."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether `read` would give them without waiting."""

    @abstractmethod
    def read(self) -> SnapshotValues:
        """The numbers as they were at the last request; the first read makes one itself."""


@final
class HostSnapshot(Snapshot):
    """A snapshot of a bank in the host's memory: it is copied at once.

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
        self._numbers = SnapshotValues(bank.value.copy(), bank.grad.copy(), slots)

    @property
    def ready(self) -> bool:
        return self._numbers is not None

    def read(self) -> SnapshotValues:
        if self._numbers is None:
            self.request()
        assert self._numbers is not None
        return self._numbers
