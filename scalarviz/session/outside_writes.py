"""BankDiff: detects direct writes to a bank, which the session journals as edits."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.session.trainer import Trainer, numbers_of_bank

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

    def remember(self, mid_step: bool) -> None:
        """Copy the present numbers; gradients only in the middle of a step, where they matter."""
        bank = self._trainer.bank
        self.value.take()
        self._frozen.take()
        self._state.take()
        self._grad = ArrayCopy(bank.grad) if mid_step else None
        self._count = bank.step_count

    def changes(self) -> list[Change]:
        """Return what was written since `remember`, as actions: kind and details."""
        bank = self._trainer.bank
        found: list[Change] = []
        has_other_grad = self._grad is not None and not self._grad.is_same
        if bank.step_count != self._count or has_other_grad or not self._state.is_same:
            found.append(("numbers", numbers_of_bank(bank)))
        elif not self.value.is_same:
            bits = f"u{bank.value.itemsize}"
            rows = np.flatnonzero(bank.value.view(bits) != self.value.array.view(bits))
            found.append(("edit", {"rows": rows, "values": bank.value[rows]}))
        if not self._frozen.is_same:
            changed = bank.frozen != self._frozen.array
            for on in (True, False):
                rows = np.flatnonzero(changed & (bank.frozen == on))
                if len(rows):
                    found.append(("freeze", {"rows": rows, "on": on}))
        return found
