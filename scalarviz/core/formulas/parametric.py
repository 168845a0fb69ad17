"""Formulas with parameters: y = f(x, w, ...), number by number, each with weights of its own.

To add one, write its functions and a row of `PARAMETRIC_FORMULAS`, and a class in
`core/layers/elementwise.py` if it is to be a layer by a name of its own. Rows that users add by
`sv.layer` stand in the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scalarviz.core.formulas.table import FloatFunction, pick, table
from scalarviz.errors import InputError


@dataclass(frozen=True, slots=True)
class ParametricFormula:
    """A row of `PARAMETRIC_FORMULAS`.

    value         function of x and the parameters
    derivative    its derivative with respect to x, with the same arguments
    by_parameter  that with respect to a parameter, given by its place before these arguments
    starts        what each parameter is at first, by its name
    digest        hash of the source of a formula of the user's own, else ""
    """

    name: str
    value: FloatFunction
    derivative: FloatFunction
    by_parameter: Callable[..., float]
    starts: tuple[tuple[str, float], ...]
    digest: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Copy or pickle by the name, as the functions of a user cannot be pickled."""
        return formula_called, (self.name, self.digest)

    def check_is_current(self) -> None:
        """Raise InputError if another formula has its name by now."""
        formula_called(self.name, self.digest)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple([name for name, _ in self.starts])


def formula_called(name: str, digest: str) -> ParametricFormula:
    """Return a row by its name; raise UnknownNameError, and InputError if it is another by now."""
    row = pick(PARAMETRIC_FORMULAS, name, "formula")
    if row.digest != digest:
        raise InputError(
            f"another formula has the name {name} by now, so that this layer cannot be copied or "
            "saved: register the former one with sv.layer(...), or give the other one another name"
        )
    return row


# NaN must give NaN, as in activations.
def prelu(x: float, weight: float) -> float:
    return weight * x if x <= 0.0 else x


def prelu_derivative(x: float, weight: float) -> float:
    return weight if x <= 0.0 else 1.0


def prelu_by_parameter(place: int, x: float, weight: float) -> float:
    return x if x <= 0.0 else 0.0


PARAMETRIC_FORMULAS = table(
    [
        ParametricFormula(
            "prelu", prelu, prelu_derivative, prelu_by_parameter, (("weight", 0.25),)
        ),
    ]
)
