"""Before: a copy of the numbers that a step changes, to undo it."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.optimizer import Optimizer

Copy = bytes | FloatArray
LARGE = 2**17  # bytes from which the memory of a copy is kept


@final
class Before:
    """A copy of all numbers of a bank that steps of one optimizer change.

    bank       the Bank
    optimizer  the Optimizer, whose slots are copied
    gradients  whether gradients are copied, too; the optimizer's part of a step does not change
               them
    last       an earlier Before of the same bank that is no longer needed: its memory is used
               again, since to get new memory takes longer than to copy; None, the default: none
    """

    def __init__(
        self,
        bank: Bank,
        optimizer: Optimizer,
        *,
        gradients: bool = False,
        last: Before | None = None,
    ) -> None:
        self._bank, self._names = bank, optimizer.row.slots
        self._count, self._has_gradients = bank.count_of_steps(), bank.has_gradients
        # For a small network bytes take half the time of a copy.
        self._state = bank.state.tobytes()
        self._value: Copy
        self._slots: Copy = b""
        self._grad: Copy | None = None
        if bank.value.nbytes < LARGE:
            self._value = bank.value.tobytes()
            if self._names:
                self._slots = bank.slot_block(self._names).tobytes()
            if gradients:
                self._grad = bank.grad.tobytes()
            return
        value, slots, grad = (last._value, last._slots, last._grad) if last else (b"", b"", b"")
        self._value = copied(bank.value, value)
        if self._names:
            self._slots = copied(bank.slot_block(self._names), slots)
        if gradients:
            self._grad = copied(bank.grad, grad)

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


def copied(array: FloatArray, last: Copy | None) -> FloatArray:
    """Return a copy of an array, in the memory of an earlier one of its shape."""
    if not isinstance(last, np.ndarray) or last.shape != array.shape:
        return array.copy()
    last[...] = array
    return last


def put(numbers: Copy, array: FloatArray) -> None:
    """Write a copy of an array into it."""
    if isinstance(numbers, bytes):
        numbers = np.frombuffer(numbers, array.dtype).reshape(array.shape)
    array[...] = numbers
