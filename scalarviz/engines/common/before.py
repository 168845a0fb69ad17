"""What a step of the optimizer may have to be taken back to: the numbers that it changes."""

from __future__ import annotations

from typing import final

from scalarviz.model.bank import Bank
from scalarviz.model.optimizer import Optimizer


@final
class Before:
    """A copy of all numbers of a bank that steps of one optimizer change.

    gradients  whether the gradients are kept too, which the optimizer's part of a step leaves alone
    """

    def __init__(self, bank: Bank, optimizer: Optimizer, *, gradients: bool = False) -> None:
        self._bank = bank
        self._names = optimizer.row.slots
        self._value = bank.value.copy()
        self._slots = bank.slot_block(self._names).copy()
        self._state = bank.state.copy()
        self._count = bank.count_of_steps()
        self._grad = bank.grad.copy() if gradients else None
        self._has_gradients = bank.has_gradients

    def restore(self) -> None:
        """Write them back."""
        bank = self._bank
        bank.value[:] = self._value
        bank.slot_block(self._names)[:] = self._slots
        bank.state[:] = self._state
        bank.restore_count(self._count)
        if self._grad is not None:
            bank.grad[:] = self._grad
            bank.has_gradients = self._has_gradients
