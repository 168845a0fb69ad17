"""BankDiff: detects direct writes to a bank, which the session journals as edits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.session.trainer import Trainer, numbers_of_bank


@final
class BankDiff:
    """The numbers of a bank when the session last touched it, to compare with the present ones."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self.value = trainer.bank.value.copy()
        self._frozen = trainer.bank.frozen.copy()
        self._grad: FloatArray | None = None
        self._state = trainer.bank.state.copy()
        self._count = trainer.bank.step_count

    def remember(self, mid_step: bool) -> None:
        """Copy the present numbers; gradients only in the middle of a step, where they matter."""
        bank = self._trainer.bank
        np.copyto(self.value, bank.value)
        np.copyto(self._frozen, bank.frozen)
        np.copyto(self._state, bank.state)
        self._grad = bank.grad.copy() if mid_step else None
        self._count = bank.step_count

    def changes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what was written since `remember`, as actions: kind and details."""
        bank = self._trainer.bank
        has_other_grad = self._grad is not None and not same(bank.grad, self._grad)
        has_other_state = not same(bank.state, self._state)
        if bank.step_count != self._count or has_other_grad or has_other_state:
            yield "numbers", numbers_of_bank(bank)
        elif not same(bank.value, self.value):
            bits = f"u{bank.value.itemsize}"
            rows = np.flatnonzero(bank.value.view(bits) != self.value.view(bits))
            yield "edit", {"rows": rows, "values": bank.value[rows]}
        changed = bank.frozen != self._frozen
        for on in (True, False) if changed.any() else ():
            rows = np.flatnonzero(changed & (bank.frozen == on))
            if len(rows):
                yield "freeze", {"rows": rows, "on": on}


def same(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two arrays are equal bit for bit, NaN included."""
    bits = f"u{a.itemsize}"
    return bool((a.view(bits) == b.view(bits)).all())
