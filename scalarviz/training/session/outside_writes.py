"""BankDiff: detects direct writes to a bank, which the session journals as edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final
from weakref import ref

import numpy as np
import numpy.typing as npt

from scalarviz.training.session.trainer import Trainer, numbers_of_bank

Change = tuple[str, dict[str, Any]]


@final
class ArrayCopy:
    """A copy of an array that can be compared with it bit for bit, NaN included.

    The bytes are compared at once: for small networks that takes a tenth of numpy's time.
    """

    def __init__(self, original: npt.NDArray[Any]) -> None:
        self._original = original
        self._bytes, self._original_bytes = bytearray(original.data), original.data
        self.array: npt.NDArray[Any] = np.ndarray(original.shape, original.dtype, self._bytes)

    def take(self) -> None:
        """Copy the present numbers of the original."""
        self.array[...] = self._original

    @property
    def is_same(self) -> bool:
        """Whether the original has the numbers that were copied last."""
        return self._bytes == self._original_bytes


@final
class BankDiff:
    """The numbers of a bank when the session last touched it, to compare with the present ones."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        bank = trainer.bank
        self.value = ArrayCopy(bank.value)
        self._frozen = ArrayCopy(bank.frozen)
        self._state = ArrayCopy(bank.state)
        self._grad: ArrayCopy | None = None
        self._count = bank.step_count
        self._is_comparable = True  # with what the arrays had when numbers were left on a device
        bank.away.watcher = ref(self)

    def remember(self, mid_step: bool) -> None:
        """Copy the present numbers; gradients only in the middle of a step, where they matter.

        What is on a device is remembered when it is fetched.
        """
        bank = self._trainer.bank
        if bank.away.keeper is None:
            self.left()
        self._state.take()
        self._grad = ArrayCopy(bank.grad) if mid_step else None
        self._count = bank.step_count

    def changes(self) -> list[Change]:
        """Return what was written since `remember`, as actions: kind and details."""
        bank = self._trainer.bank
        if bank.away.keeper is not None:
            if bank.step_count == self._count and self._state.is_same:
                return []  # what is written into the arrays is found when numbers arrive there
            bank.fetch()
        found: list[Change] = []
        has_other_grad = self._grad is not None and not self._grad.is_same
        if bank.step_count != self._count or has_other_grad or not self._state.is_same:
            found.append(("numbers", numbers_of_bank(bank)))
        elif not self.value.is_same:
            rows = self._written_rows()
            found.append(("edit", {"rows": rows, "values": bank.value[rows]}))
        if not self._frozen.is_same:
            changed = bank.frozen != self._frozen.array
            for on in (True, False):
                rows = np.flatnonzero(changed & (bank.frozen == on))
                if len(rows):
                    found.append(("freeze", {"rows": rows, "on": on}))
        return found

    def _written_rows(self) -> npt.NDArray[np.intp]:
        """Return the rows whose values are not those remembered."""
        value = self._trainer.bank.value
        bits = f"u{value.itemsize}"
        return np.flatnonzero(value.view(bits) != self.value.array.view(bits))

    # Called when numbers are left on a device, and when they are fetched; see `Watcher`.

    def left(self) -> None:
        self.value.take()
        self._frozen.take()
        self._is_comparable = True

    def arriving(self, copy: Callable[[], None]) -> None:
        """What was written meanwhile stays; within a call, steps overwrite it as they go on."""
        bank = self._trainer.bank
        rows = np.zeros(0, np.intp)
        if self._is_comparable and not bank.away.allowed and not self.value.is_same:
            rows = self._written_rows()
        written = bank.value[rows]
        self._is_comparable = False  # also if Ctrl-C interrupts the copy
        copy()
        self.value.take()
        self._is_comparable = True
        bank.value[rows] = written
