"""Snapshot: a copy of the numbers of a bank at one moment, which does not hold up training.

`request()` asks for a copy, `ready` says whether it has arrived, `read()` returns it, and waits if
necessary. The interface is the same on every engine; in host memory the copy is made at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.bank import Bank


@dataclass(frozen=True, slots=True)
class SnapshotValues:
    """The numbers of a snapshot: copies that never change, one number a row."""

    value: FloatArray
    grad: FloatArray
    slots: dict[str, FloatArray]


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
        self._numbers = SnapshotValues(bank.value.copy(), bank.grad.copy(), slots)

    @property
    def ready(self) -> bool:
        return self._numbers is not None

    def read(self) -> SnapshotValues:
        if self._numbers is None:
            self.request()
        assert self._numbers is not None
        return self._numbers
