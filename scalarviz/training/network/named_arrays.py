"""Access to the numbers of a model by name: PyTorch state dicts, bank rows, walls and norms.

PyTorch also numbers activations: nn.Sequential(Linear, Tanh, Linear) has "0.weight" and "2.weight",
but two Dense layers have "0.weight" and "1.weight". So names that differ only in their numbers are
matched in numerical order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, matching, require, shorten
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import Wall
from scalarviz.core.layers import Layer
from scalarviz.core.layers.parameters import (
    checked_array,
    first_places,
    named_layers,
    own_parameters,
    state_arrays,
)
from scalarviz.core.layers.shapes import placed
from scalarviz.core.value import Value
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import InputError, OwnershipError, ShapeError

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network

MOST = 6  # names listed in an error
ONLY_THERE = "num_batches_tracked"  # used by PyTorch's BatchNorm only without momentum


class LoadedKeys(NamedTuple):
    """Names that are missing in a loaded state dict, and names in it that are unexpected."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def arrays_of(layers: Iterable[Layer]) -> dict[str, FloatArray]:
    """Return views of all parameter and state arrays of layers, by name."""
    found: dict[str, FloatArray] = {}
    for name, layer in named_layers(layers):
        for role, parameter in own_parameters(layer).items():
            found[f"{name}.{role}"] = parameter.value
        found |= {f"{name}.{role}": array for role, array in state_arrays(layer).items()}
    return found


def copies_of(ours: Mapping[str, FloatArray], like: object = None) -> dict[str, FloatArray]:
    """Return copies of arrays, under the names used in the state dict `like` if it is given."""
    theirs = ours if like is None else checked_dict(like)
    names, keys = match(ours, theirs)
    check_keys(keys, "")
    wrong = [
        f"{name} has shape {tuple(np.shape(theirs[name]))}, and {own} {ours[own].shape}"
        for name, own in names.items()
        if tuple(np.shape(theirs[name])) != ours[own].shape
    ]
    check_shapes(wrong)
    return {name: ours[own].copy() for name, own in names.items()}


def load_arrays(
    ours: Mapping[str, FloatArray],
    bank: Bank,
    state_dict: object,
    strict: bool,
    layers: Sequence[Layer] = (),
) -> LoadedKeys:
    """Copy the arrays of a state dict into `ours`; if an array does not fit, change nothing."""
    theirs = checked_dict(state_dict)
    names, keys = match(ours, theirs)
    if strict:
        check_keys(keys, ", or pass strict=False to load the others")
    found: list[tuple[FloatArray, FloatArray]] = []
    wrong: list[str] = []
    for name, own in names.items():
        array, said = ours[own], name if name == own else f"{own}, from {name},"
        try:
            found.append((array, checked_array(theirs[name], said, array.shape, array.dtype.name)))
        except ShapeError as error:
            wrong.append(str(error))
    check_shapes(wrong)
    with bank.guard:
        before = bank.value.copy(), bank.state.copy()
        try:
            for array, numbers in found:
                array[...] = numbers
            for layer in layers:
                layer.check_states(bank.state[np.newaxis])
        except BaseException:  # raised again: nothing is half loaded
            bank.value[:], bank.state[:] = before
            raise
    return keys


def checked_dict(state_dict: object) -> Mapping[str, Any]:
    """Return a state dict unchanged; raise InputError for any other object."""
    if isinstance(state_dict, Mapping) and all(isinstance(name, str) for name in state_dict):
        return state_dict
    raise InputError(
        f"a state dict maps names to arrays, and cannot be {shorten(state_dict)}: pass "
        "model.state_dict(), for example"
    )


def match(
    ours: Mapping[str, FloatArray], theirs: Mapping[str, Any]
) -> tuple[dict[str, str], LoadedKeys]:
    """Map each name in `theirs` to its name in `ours`; also return the unmatched names."""
    names = [name for name in theirs if name.rpartition(".")[2] != ONLY_THERE]
    same = {name: name for name in names if name in ours}
    if len(same) < max(len(names), len(ours)):
        same = match_by_order([*ours], names) or same
    missing = [name for name in ours if name not in same.values()]
    return same, LoadedKeys(missing, [name for name in names if name not in same])


def match_by_order(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """Map names in `theirs` to `ours` in numerical order; {} if more than the numbers differ."""
    own = dict(zip(in_order(theirs), in_order(ours), strict=False))
    found = {}
    for name in theirs:
        prefix, _, role = name.rpartition(".")
        found[name] = f"{own.get(prefix)}.{role}"
    return found if {*found.values()} == {*ours} else {}


def in_order(names: Sequence[str]) -> list[str]:
    """Return the prefixes of names in numerical order; [] if the order is ambiguous."""
    prefixes = {name.rpartition(".")[0] for name in names}
    numbers = {prefix: tuple(map(int, re.findall("[0-9]+", prefix))) for prefix in prefixes}
    letters = {re.sub("[0-9.]", "", prefix) for prefix in prefixes}
    if len(letters) > 1 or len({*numbers.values()}) < len(prefixes):
        return []
    return sorted(prefixes, key=lambda prefix: numbers[prefix])


def check_keys(keys: LoadedKeys, more: str) -> None:
    """Raise InputError if names are missing or unexpected; `more` completes the message."""
    said = [
        f"{what} {listed(names)}"
        for what, names in zip(("it lacks", "it also has"), keys, strict=True)
        if names
    ]
    if said:
        raise InputError(
            "the state dict does not fit the network, and nothing was changed: "
            f"{'; '.join(said)}: rename the matching entry{more}"
        )


def check_shapes(wrong: Sequence[str]) -> None:
    """Raise ShapeError with the messages in `wrong` about wrong shapes, unless it is empty."""
    if wrong:
        raise ShapeError(
            "the state dict does not fit the network, and nothing was changed: "
            + listed(wrong, "; ")
        )


def listed(names: Sequence[str], between: str = ", ") -> str:
    """Join the first few names, and add the number of the remaining ones."""
    more = f"{between}and {len(names) - MOST} more" if len(names) > MOST else ""
    return between.join(map(shortened, names[:MOST])) + more


def shortened(name: str) -> str:
    """Shorten a name to at most 100 characters."""
    return name if len(name) <= 100 else f"{name[:97]}..."


# Parts of a network, and parameters by name, as rows of its bank.


def rows_of_part(net: Network, part: object) -> object:
    """Return the bank rows of a part of a network or of a name; return other objects unchanged."""
    if isinstance(part, str):
        return rows_named(net, part)
    if not isinstance(part, Part):
        return part
    if part.bank is not net.bank:
        raise OwnershipError(
            f"this {type(part).__name__} belongs to another network: pass one of this network"
        )
    return part.index if isinstance(part, Weight) else np.arange(len(net.bank))[part.rows]


def layer_at(net: Network, row: int) -> Layer:
    """Return the layer that contains a `row` of the bank; raise InputError if no layer does."""
    whole = isinstance(row, (int, np.integer))
    for layer in net._parts if whole else ():
        if layer.first_row <= row < layer.first_row + layer.size:
            return layer
    raise InputError(f"the network has rows 0 to {len(net.bank) - 1}, and no row {shorten(row)}")


def rows_named(net: Network, names: str | Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the bank rows of parameters, given by names, prefixes or patterns.

    "vectors" means all parameters with one axis, such as biases.
    """
    known, chosen = dict(net.named_parameters()), np.zeros(len(net.bank), np.bool_)
    if names == "vectors":
        names = [name for name, each in known.items() if len(each.shape) < 2]
    for name in matching([*known], [names] if isinstance(names, str) else names, "names"):
        chosen[known[name].rows] = True
    return np.flatnonzero(chosen)


# Walls: the named parameters of a compiled function, as arrays of Values.

REST = "parameters"  # the name of unnamed parameters


def as_arrays(parameters: object) -> dict[str, npt.NDArray[Any]]:
    """Convert named Values to object arrays; raise InputError for anything but Values."""
    if not (isinstance(parameters, Mapping) and all(isinstance(name, str) for name in parameters)):
        raise InputError(
            f"parameters maps names to Values, and cannot be {shorten(parameters)}: write "
            "parameters={'w': [[a, b], [c, d]], 'bias': e}"
        )
    found: dict[str, npt.NDArray[Any]] = {}
    homes: dict[int, str] = {}
    require(REST not in parameters, f"{REST!r} is reserved for unnamed Values: choose another name")
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
                    f"{name!r} holds {shorten(value)}, which is not a Value made from a number; "
                    "all rows need equal length"
                )
            if id(value) in homes:
                raise InputError(
                    f"a Value of {name!r} is already in {homes[id(value)]!r}: name it once"
                )
            homes[id(value)] = name
    return found


def label(arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Label each unlabelled Value with a name and an index, such as "wte[3, 2]"."""
    for name, array in arrays.items():
        for place, value in np.ndenumerate(array):
            at = f"[{', '.join(map(str, place))}]" if place else ""
            value.label = value.label or name + at


def walls_of(
    arrays: Mapping[str, npt.NDArray[Any]], places: npt.NDArray[np.intp], bank: Bank
) -> dict[str, Wall]:
    """Return the bank position and shape, a Wall, of each array; `places` are the bank rows."""
    found = {}
    for name, shape, start in placed({name: array.shape for name, array in arrays.items()}):
        rows = places[start : start + prod(shape)]
        if (np.diff(rows) != 1).any():
            raise OwnershipError(
                f"the Values of {name!r} are in a bank already, in another order: first compile "
                "the function with `parameters`, before others that use them"
            )
        found[name] = Wall(int(rows[0]), shape)
    return found


# Norms of the parameters of each layer, and of their gradients.


class Norms(NamedTuple):
    """Euclidean norms of the values and of the gradients of all parameters of a layer."""

    value: float
    gradient: float


def norms_of(layers: Sequence[Layer]) -> dict[str, Norms]:
    """Return the Norms of each layer that has parameters, with the layer index as a string key."""
    require(layers, "a compiled function has no layers: its numbers are in f.bank.grad")
    return {
        str(i): Norms(*[norm(array[layer.rows]) for array in (layer.bank.value, layer.bank.grad)])
        for layer, i in first_places(layers).items()
        if layer.size
    }


def norm(numbers: np.ndarray) -> float:
    """Return the Euclidean norm, computed in float64."""
    return float(np.linalg.norm(numbers.astype(np.float64)))
