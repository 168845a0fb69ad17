"""NetworkParts: the layers and parameters of a network, by index, by row and by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from scalarviz.base.checks import FloatArray, matching, shorten, true_or_false
from scalarviz.core.bank import Rows
from scalarviz.core.layers import Layer
from scalarviz.core.layers.parameters import (
    ParameterArray,
    Parameters,
    named_layers,
    own_parameters,
)
from scalarviz.core.program import columns
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import InputError, OwnershipError
from scalarviz.training.network.base import Model
from scalarviz.training.network.state_dict import LoadedKeys, arrays_of, copies_of, load_arrays

if TYPE_CHECKING:

    class AnyLayer(Layer):
        """A layer of a network, for type checkers: what else it has depends on its kind."""

        def __getattr__(self, name: str) -> Any: ...


class NetworkParts(Model):
    """The base of Network: how its layers and parameters are found, listed and loaded."""

    if TYPE_CHECKING:
        layers: tuple[AnyLayer, ...]

    _parts: Sequence[Layer]  # its layers, a shared one once

    def parameters(self) -> Parameters:
        """Return all weights and biases as a sequence in the order of the bank."""
        return Parameters(len(self._bank), self.weight)

    def named_parameters(self) -> Iterator[tuple[str, ParameterArray]]:
        """Yield name and ParameterArray of the kernel and the bias of each layer.

        Names are as in PyTorch: "0.weight" is the kernel of layer 0, "3.1.bias" the bias of layer 1
        in layer 3, a Residual. A layer that is used several times has the name of its first place.
        """
        for name, layer in named_layers(self.layers):
            for parameter in own_parameters(layer, f"{name}.").values():
                yield parameter.name, parameter

    def state_dict(self, like: object = None) -> dict[str, FloatArray]:
        """Return copies of kernels, biases and running statistics by name: "0.weight", "0.bias".

        like  state dict of the same network in PyTorch, whose names are used: there activations
              are numbered, too; None, the default: numbers are indices of `layers`

        Raises InputError if `like` has other arrays.
        """
        return copies_of(arrays_of(self.layers), like)

    def load_state_dict(self, state_dict: object, strict: bool = True) -> LoadedKeys:
        """Load arrays by name: those that `state_dict` has returned, or a PyTorch module's.

        state_dict  names and arrays or tensors; if the names are not those of `net.state_dict()`,
                    and differ in their numbers only, they are taken in the order of the numbers,
                    such as "0.weight", "2.weight" or "fc1.weight", "fc2.weight"
        strict      False: load what both have; by default True: all must be in both

        In a session this is an edit. Returns the names that were missing and unexpected. Raises
        InputError, with nothing changed, for names or shapes that do not fit.
        """
        strict, ours = true_or_false(strict, "strict"), arrays_of(self.layers)
        return load_arrays(ours, self._bank, state_dict, strict, self.layers)

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)

    @overload
    def __getitem__(self, index: int) -> AnyLayer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AnyLayer, ...]: ...
    def __getitem__(self, index: int | slice) -> AnyLayer | tuple[AnyLayer, ...]:
        """Return the layer at an index, or those of a slice, as `net.layers[index]`."""
        try:
            return self.layers[index]
        except (IndexError, TypeError):
            raise IndexError(
                f"the network has layers 0 to {len(self.layers) - 1}, and no {shorten(index)}"
            ) from None

    def __iter__(self) -> Iterator[AnyLayer]:
        return iter(self.layers)

    def name_of(self, row: int) -> str:
        """Return the name of the weight on a `row` of the bank."""
        return self._bank.name_of(row)

    def weight(self, row: int) -> Weight:
        """Return the weight on a `row` of the bank: `net.weight(w.index) is w`."""
        layer = self._layer_at(row)
        return layer.weight(row - layer.first_row)

    def find_rows(self, part: object) -> object:
        """Return the rows of a `part` of this network, or of names; return others unchanged."""
        if isinstance(part, str):
            return self._rows_named(part)
        if not isinstance(part, Part):
            return part
        self.check_owns(part)
        return part.index if isinstance(part, Weight) else np.arange(len(self._bank))[part.rows]

    def _rows_named(self, names: str | Sequence[str]) -> Rows:
        """Return the rows of parameters by their names, beginnings of names, or patterns."""
        known, chosen = dict(self.named_parameters()), np.zeros(len(self._bank), np.bool_)
        for name in matching([*known], [names] if isinstance(names, str) else names, "names"):
            chosen[known[name].rows] = True
        return np.flatnonzero(chosen)

    def check_owns(self, part: Part) -> None:
        """Raise OwnershipError if a `part` (a Weight, Layer, ...) belongs to another network."""
        if part.bank is not self._bank:
            kind = type(part).__name__
            raise OwnershipError(
                f"this {kind} belongs to another network: pass one of this network"
            )

    def _layer_at(self, row: int) -> Layer:
        whole = isinstance(row, (int, np.integer))
        for layer in self._parts if whole else ():
            if layer.first_row <= row < layer.first_row + layer.size:
                return layer
        raise InputError(
            f"the network has rows 0 to {len(self._bank) - 1}, and no row {shorten(row)}"
        )

    def _row_name(self, row: int) -> str:
        layer = self._layer_at(row)
        return f"layer {self.layers.index(layer)}, {layer.row_name(row - layer.first_row)}"

    def __repr__(self) -> str:
        sizes = " -> ".join(
            str(n) for n in (self.inputs, *[layer.outputs for layer in self.layers])
        )
        head = (
            f"Network {sizes}: {len(self._bank):,} parameters, {self.dtype}, engine {self.engine}"
        )
        lines = [("layer", "kind", "shape", "activation", "parameters", "rows")]
        for i, layer in enumerate(self.layers):
            first, end = layer.first_row, layer.first_row + layer.size
            rows = f"{first} to {end - 1}" if layer.size else "-"
            again = self.layers.index(layer)
            shape = f"{layer.inputs} -> {layer.outputs}"
            count = f"{layer.size:,}" if again == i else f"shared with {again}"
            lines.append((str(i), type(layer).__name__, shape, layer.activation, count, rows))
        return "\n".join([head, *columns(lines)])
