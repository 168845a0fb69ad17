"""BankStack: the banks of several networks of one shape, in common arrays for the kernels."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.model.bank import Bank


@final
class BankStack:
    """One array for each kind of number with a row for each network, and a bank on each row.

    banks        one `Bank` for each network, all numbers 0
    value, grad  shape (networks, parameters)
    slots        shape (networks, slots of the optimizer, parameters)
    frozen       shape (networks, parameters)
    state        shape (networks, length of a bank's state)
    """

    def __init__(self, count: int, like: Bank, slots: tuple[str, ...]) -> None:
        rows, dtype = len(like), like.dtype
        self.value: FloatArray = np.zeros((count, rows), dtype)
        self.grad: FloatArray = np.zeros((count, rows), dtype)
        self.slots: FloatArray = np.zeros((count, len(slots), rows), dtype)
        self.frozen: npt.NDArray[np.bool_] = np.zeros((count, rows), np.bool_)
        self.state: FloatArray = np.zeros((count, len(like.state)))
        arrays = zip(self.value, self.grad, self.frozen, self.state, self.slots, strict=True)
        self.banks = [
            Bank.on(value, grad, frozen, state, {slots: block})
            for value, grad, frozen, state, block in arrays
        ]
