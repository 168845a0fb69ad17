"""Walls: the parameters of a compiled function by name, as arrays of Values."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.core.bank import Bank
from scalarviz.core.value import Value
from scalarviz.errors import InputError, OwnershipError

REST = "parameters"  # the name of those that have none


class Wall(NamedTuple):
    """Where the numbers of a name stand in the bank: from row `first` on, in this shape."""

    first: int
    shape: tuple[int, ...]

    def of(self, numbers: FloatArray) -> FloatArray:
        """Return the numbers of this wall, of all in the bank, as a view."""
        return numbers[self.first : self.first + prod(self.shape)].reshape(self.shape)


def as_arrays(parameters: object) -> dict[str, npt.NDArray[Any]]:
    """Return Values by name as arrays of objects; raise InputError."""
    if not (isinstance(parameters, Mapping) and all(isinstance(name, str) for name in parameters)):
        raise InputError(
            f"parameters maps names to Values, and cannot be {shorten(parameters)}: write "
            "parameters={'w': [[a, b], [c, d]], 'bias': e}"
        )
    found: dict[str, npt.NDArray[Any]] = {}
    homes: dict[int, str] = {}
    if REST in parameters:
        raise InputError(f"{REST!r} is what Values without a name are: choose another name")
    for name, values in parameters.items():
        found[name] = array = np.array(values, object)
        if array.ndim > 2 or not array.size:
            raise InputError(
                f"{name!r} has shape {array.shape}: a name stands for a Value, a list of Values, "
                "or a list of such lists"
            )
        for value in array.flat:
            if not isinstance(value, Value) or value._inputs:
                raise InputError(
                    f"{name!r} holds {shorten(value)}, which is no Value made from a number; its "
                    "rows are equally long"
                )
            if id(value) in homes:
                raise InputError(
                    f"a Value of {name!r} stands in {homes[id(value)]!r} already: name it once"
                )
            homes[id(value)] = name
    return found


def label(arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Give a label to Values that have none, by their name and place: "wte[3, 2]"."""
    for name, array in arrays.items():
        for place, value in np.ndenumerate(array):
            at = f"[{', '.join(map(str, place))}]" if place else ""
            value.label = value.label or name + at


def walls_of(
    arrays: Mapping[str, npt.NDArray[Any]], places: npt.NDArray[np.intp], bank: Bank
) -> dict[str, Wall]:
    """Return the walls of arrays whose Values are the first at these `places` of a bank."""
    found, start = {}, 0
    for name, array in arrays.items():
        rows = places[start : start + array.size]
        start += array.size
        if (np.diff(rows) != 1).any():
            raise OwnershipError(
                f"the Values of {name!r} are in a bank already, in another order: compile the "
                "function with `parameters` first, before others that use them"
            )
        found[name] = Wall(int(rows[0]), array.shape)
    return found
