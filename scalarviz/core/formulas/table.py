"""Formula and table: rows of tables, found by name.

A formula is a plain function on floats with its derivatives beside it. It runs on Python's floats,
in a numba kernel on a CPU or a GPU, and on `Value`s, for derivatives of derivatives (see
`retarget.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from scalarviz.errors import UnknownNameError

FloatFunction = Callable[..., float]


@dataclass(frozen=True, slots=True)
class Formula:
    """One operation on scalars: `value(*inputs)`, and one partial derivative for each input.

    A partial derivative is called as `partial(*inputs, result)`, so that tanh can say
    `1 - y * y` without computing tanh again.
    """

    name: str
    value: FloatFunction
    partials: tuple[FloatFunction, ...]
    symbol: str = ""

    @property
    def derivative(self) -> FloatFunction:
        """The derivative of a formula of one input: `derivative(x, y)`, y being the result."""
        (derivative,) = self.partials
        return derivative


class Named(Protocol):
    """An object that can be a row of a table."""

    @property
    def name(self) -> str: ...


RowT = TypeVar("RowT", bound=Named)
AnyT = TypeVar("AnyT")


def table(rows: Iterable[RowT]) -> dict[str, RowT]:
    """Return rows by name; asserts that names are unique."""
    found: dict[str, RowT] = {}
    for row in rows:
        assert row.name not in found, f"two rows are called {row.name}"
        found[row.name] = row
    return found


def pick(rows: Mapping[str, AnyT], name: object, kind: str) -> AnyT:
    """Return the row called `name`; raise UnknownNameError, which lists the names."""
    if isinstance(name, str) and name in rows:
        return rows[name]
    raise UnknownNameError(kind, name, rows)
