"""Parameters of layers: parts of a bank, with the shapes and names that PyTorch uses.

"0.weight" is the kernel of layer 0; "3.1.bias" is the bias of layer 1 inside layer 3, a Residual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, TypeVar, final, overload

import numpy as np

from scalarviz.base.checks import FloatArray, as_floats, require
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import is_like
from scalarviz.core.layers.shapes import placed
from scalarviz.core.program import Shape
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import NotFiniteError, OwnershipError, ShapeError

if TYPE_CHECKING:
    from scalarviz.core.layers.layer import Layer

T = TypeVar("T")

UNCHANGED = "nothing was changed"


@final
class ParameterArray(Part):
    """The weight or bias array of a layer, like a parameter of a module in PyTorch.

    `value` and `grad` are views of the bank. It can be frozen, stepped, edited and pinned like any
    other part of a network.

    Args:
        name: name in the network, such as "0.weight"
        bank: Bank of the layer
        first: row of its first number
        shape: shape of its arrays
    """

    __slots__ = ("_bank", "_first", "name", "shape")

    def __init__(self, name: str, bank: Bank, first: int, shape: Shape) -> None:
        self.name = name
        self._bank = bank
        self._first = first
        self.shape = shape

    @property
    def bank(self) -> Bank:
        return self._bank

    @property
    def rows(self) -> slice:
        return slice(self._first, self._first + prod(self.shape))

    @property
    def value(self) -> FloatArray:
        """The numbers, a view of `bank.value`; an assigned array of the same shape is copied."""
        return self._bank.value[self.rows].reshape(self.shape)

    @value.setter
    def value(self, numbers: object) -> None:
        in_place = isinstance(numbers, np.ndarray) and np.may_share_memory(numbers, self.value)
        state = "numpy has already written it: set finite numbers" if in_place else UNCHANGED
        checked = checked_array(numbers, self.name, self.shape, self._bank.dtype, state)
        with self._bank.guard:
            self.value[...] = checked

    @property
    def grad(self) -> FloatArray:
        """The gradients, a view of `bank.grad`; an assigned array, as by `+=`, is copied."""
        return self._bank.grad[self.rows].reshape(self.shape)

    @grad.setter
    def grad(self, numbers: object) -> None:
        self._bank.has_gradients = True
        self.grad[...] = numbers

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"ParameterArray({self.name}: shape {self.shape}{frozen})"


def checked_array(
    numbers: object, name: str, shape: Shape, dtype: str, state: str = UNCHANGED
) -> FloatArray:
    """Return finite numbers of this shape and dtype; raise InputError that mentions `name`.

    `state` is the end of the error, about the current numbers.
    """
    detach = getattr(numbers, "detach", None)  # as a PyTorch tensor that requires a gradient
    found = as_floats(detach() if callable(detach) else numbers, name)
    require(
        found.shape == shape,
        f"{name} has shape {shape}, and cannot be an array of shape {found.shape}",
        ShapeError,
    )
    with np.errstate(over="ignore"):
        made = found.astype(dtype)
    if not np.isfinite(made).all():
        place = np.unravel_index(np.flatnonzero(~np.isfinite(made))[0], shape)
        is_list = isinstance(numbers, (list, tuple))  # numpy reads None as NaN
        wrong = (np.array(numbers, object) if is_list else found)[place]
        raise NotFiniteError(
            f"{name} takes finite numbers of {dtype}, and was given {wrong} at "
            f"{list(map(int, place))}: {state}"
        )
    return made


def own_parameters(layer: Layer, prefix: str = "") -> dict[str, ParameterArray]:
    """Return the arrays of a layer by role, "weight" and "bias", without inner layers."""
    bank = layer.bank  # which sets the first row, if it is made now
    return {
        role: ParameterArray(prefix + role, bank, row, shape)
        for role, shape, row in placed(layer.parameter_shapes(), layer.first_row)
    }


def named_layers(layers: Iterable[Layer], prefix: str = "") -> Iterator[tuple[str, Layer]]:
    """Yield layers, each followed by its inner layers, with names such as "1" and "1.0".

    A layer that is used several times is named after its first position.
    """
    for layer, i in first_places(layers).items():
        yield f"{prefix}{i}", layer
        yield from named_layers(layer.layers, f"{prefix}{i}.")


def first_places(layers: Iterable[Layer]) -> dict[Layer, int]:
    """Return the index of the first occurrence of each layer, in order."""
    places: dict[Layer, int] = {}
    for i, layer in enumerate(layers):
        places.setdefault(layer, i)
    return places


def own_states(layer: Layer, states: FloatArray) -> FloatArray:
    """Return the columns that belong to a layer from `states`, of shape (steps, state)."""
    return states[:, layer.first_state : layer.first_state + layer.state_size]


def state_arrays(layer: Layer) -> dict[str, FloatArray]:
    """Return views of the state of a layer by role, such as "running_mean"."""
    return {
        role: layer.state[place : place + prod(shape)].reshape(shape)
        for role, shape, place in placed(layer.state_shapes())
    }


class OnDemand(Sequence[T]):
    """A sequence of `count` items; `make(index)` creates an item on first access."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._places = range(count)
        self._make = make
        self._items: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        place = self._places[index]
        if isinstance(place, range):
            return [self[i] for i in place]
        if place not in self._items:
            self._items[place] = self._make(place)
        return self._items[place]

    def __iter__(self) -> Iterator[T]:
        return map(self.__getitem__, self._places)

    def made(self) -> list[T]:
        """Return the items created so far."""
        return [*self._items.values()]

    def __repr__(self) -> str:
        return f"[{len(self)} items, {len(self.made())} of them made so far]"


@final
class Parameters(OnDemand[Weight]):
    """All weights of a network as a sequence, in the order of the bank, created on access."""

    def __repr__(self) -> str:
        return f"Parameters({len(self)} weights)"


# ---- ownership of banks --------------------------------------------------------------------------


def check_free(layer: Layer) -> None:
    """Raise OwnershipError if a layer, or one of its inner layers, already uses a bank.

    An unused separate bank does not count.
    """
    is_unused = layer._has_own_bank and not is_in_use(layer)
    if is_unused and is_like(layer.bank, layer.again().bank):
        return
    for part in layer.layers:
        check_free(part)
    require(
        layer._bank is None,
        f"{layer} already has its parameters, from another network or from direct use: make a new "
        "layer",
        OwnershipError,
    )


def is_in_use(layer: Layer) -> bool:
    """Return whether a layer, or an inner layer, has unmatched forwards or gave out weights."""
    inner = set(layer.layers)
    return (
        bool(layer._batches)
        or layer._has_lent
        or any(part not in inner for part in layer.made_parts())
        or any(map(is_in_use, inner))
    )


def leave_bank(layer: Layer, bank: Bank) -> None:
    """Detach a layer from its `bank`, whose arrays become read-only so that no write is lost."""
    for array in (bank.value, bank.grad, bank.frozen, bank.state):
        array.flags.writeable = False
    layer._bank, layer._has_own_bank = None, False
    for part in layer.layers:
        leave_bank(part, bank)
