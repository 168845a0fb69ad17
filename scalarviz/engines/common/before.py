"""Before: a copy of the numbers that a step changes, to undo it."""

from __future__ import annotations

from typing import final

from scalarviz.model.bank import Bank
from scalarviz.model.optimizer import Optimizer


@final
class Before:
    """A copy of all numbers of a bank that steps of one optimizer change.

    bank       the Bank
    optimizer  the Optimizer, whose slots are copied
    gradients  whether gradients are copied, too; the optimizer's part of a step does not change
               them
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
        """Copy the numbers back."""
        bank = self._bank
        bank.value[:] = self._value
        bank.slot_block(self._names)[:] = self._slots
        bank.state[:] = self._state
        bank.restore_count(self._count)
        if self._grad is not None:
            bank.grad[:] = self._grad
            bank.has_gradients = self._has_gradients
