"""What a row of a table is, and how a row is found by its name.

A formula is a plain function on floats with its derivatives beside it. Nothing in a formula knows
who calls it: Python's own floats, a numba kernel on a CPU or a GPU, or `Value`s for the derivative
of a derivative (see `retarget.py`).
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
    """Anything that can be a row: it has a name."""

    @property
    def name(self) -> str: ...


RowT = TypeVar("RowT", bound=Named)
AnyT = TypeVar("AnyT")


def table(rows: Iterable[RowT]) -> dict[str, RowT]:
    """Rows by name; two rows of one name are a mistake of ours."""
    found: dict[str, RowT] = {}
    for row in rows:
        assert row.name not in found, f"two rows are called {row.name}"
        found[row.name] = row
    return found


def pick(rows: Mapping[str, AnyT], name: object, kind: str) -> AnyT:
    """The row called `name`, or an error that lists the names there are."""
    if isinstance(name, str) and name in rows:
        return rows[name]
    raise UnknownNameError(kind, name, rows)
