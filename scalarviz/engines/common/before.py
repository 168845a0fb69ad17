"""Before: a copy of the numbers that a step changes, to undo it."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
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
        self._bank, self._names = bank, optimizer.row.slots
        self._count, self._has_gradients = bank.count_of_steps(), bank.has_gradients
        # For a small network bytes take half the time of a copy.
        self._value, self._state = bank.value.tobytes(), bank.state.tobytes()
        self._slots = bank.slot_block(self._names).tobytes() if self._names else b""
        self._grad = bank.grad.tobytes() if gradients else None

    def restore(self) -> None:
        """Copy the numbers back."""
        bank = self._bank
        put(self._value, bank.value)
        put(self._state, bank.state)
        if self._names:
            put(self._slots, bank.slot_block(self._names))
        if self._grad is not None:
            put(self._grad, bank.grad)
            bank.has_gradients = self._has_gradients
        bank.restore_count(self._count)


def put(numbers: bytes, array: FloatArray) -> None:
    """Write the bytes of an array into it."""
    array[...] = np.frombuffer(numbers, array.dtype).reshape(array.shape)
