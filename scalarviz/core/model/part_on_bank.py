"""PartOnBank: a part of a network without its verbs: rows of a bank, which can be frozen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.model.bank import Bank, Rows
from scalarviz.errors import InputError


class PartOnBank(ABC):
    """The base of Part, without the verbs: its rows of a bank, and whether steps move them."""

    __slots__ = ()

    @property
    @abstractmethod
    def bank(self) -> Bank:
        """The bank that holds the parameters."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """Rows of the bank that belong to this part."""

    @final
    def freeze(self, on: bool | str | Sequence[str] = True) -> None:
        """Freeze these parameters, so that steps do not move them; `on=False` unfreezes them.

        on  True, the default, or False; or names of parameters of a network, which alone are
            frozen: "0.weight", the beginning "0", a pattern such as "*.bias", or a list of these

        Raises UnknownNameError for a name that fits no parameter, InputError for other arguments.
        """
        if isinstance(on, (bool, np.bool_)):
            self._set_frozen(self.rows, bool(on))
        else:
            self._set_frozen(self._rows_named(on), True)

    @final
    def unfreeze(self, names: str | Sequence[str] | None = None) -> None:
        """Let steps move these parameters again.

        names  those of a network to unfreeze, as for `freeze`; None, the default: all
        """
        self._set_frozen(self.rows if names is None else self._rows_named(names), False)

    def _set_frozen(self, rows: Rows, on: bool) -> None:
        with self.bank.guard:
            self.bank.fetch()
            self.bank.frozen[rows] = on

    def _rows_named(self, names: str | Sequence[str]) -> Rows:
        """Return the rows of parameters by name; a network has some."""
        raise InputError(
            f"{type(self).__name__} has no parameters with names, such as {shorten(names)}: write "
            "net.freeze('0.weight') of a network, or freeze() for all of it"
        )

    @final
    @property
    def frozen(self) -> bool:
        """True if all parameters are frozen."""
        return bool(self.bank.frozen[self.rows].all())
