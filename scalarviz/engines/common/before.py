"""Before: a copy of the numbers that a step changes, to undo it."""

from __future__ import annotations

from typing import final

import numpy as np

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
        self._count = bank.count_of_steps()
        self._has_gradients = bank.has_gradients
        arrays = [bank.value, bank.state]
        if optimizer.row.slots:
            arrays.append(bank.slot_block(optimizer.row.slots))
        if gradients:
            arrays.append(bank.grad)
        self._gradients = gradients
        # For a small network bytes take half the time of a copy.
        self._copies = [(array, array.tobytes()) for array in arrays]

    def restore(self) -> None:
        """Copy the numbers back."""
        for array, numbers in self._copies:
            array[...] = np.frombuffer(numbers, array.dtype).reshape(array.shape)
        self._bank.restore_count(self._count)
        if self._gradients:
            self._bank.has_gradients = self._has_gradients
