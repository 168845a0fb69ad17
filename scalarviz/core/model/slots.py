"""Slots: the optimizer state of a bank, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, final

from scalarviz.base.checks import FloatArray
from scalarviz.errors import UnknownSlotError

if TYPE_CHECKING:
    from scalarviz.core.model.bank_arrays import BankArrays


@final
class Slots(Mapping[str, FloatArray]):
    """Mapping of slot names to the optimizer state of each row of a bank: Adam's "m" and "v".

    Values are views of the bank; assigning to a name writes into the bank.
    """

    def __init__(self, bank: BankArrays) -> None:
        self._bank = bank
        self._rows = {
            name: row
            for names, block in bank.blocks.items()
            for name, row in zip(names, block, strict=True)
        }

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self._rows:
            raise UnknownSlotError(name, [*self._rows])
        row: FloatArray = self._rows[name]
        return row

    def __setitem__(self, name: str, numbers: object) -> None:
        self._bank.write(f"slots[{name!r}]", self[name], numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Slots({', '.join(self._rows)})"
