"""Build the network that is drawn for a followed model: equivalent layers or bare arrays.

A chain of modules that all have an equivalent layer becomes a network of these layers. For other
models the computation is unknown, and each matrix becomes a ModuleArray with the name of its
module.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import require
from scalarviz.core.bank import Bank
from scalarviz.core.layers import Layer
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.core.layers.layer import Batch
from scalarviz.core.layers.parameters import own_parameters, state_arrays
from scalarviz.core.layers.shapes import shape_behind
from scalarviz.core.program import NONE, Program, Shape
from scalarviz.errors import ScalarvizError
from scalarviz.story.facts import ArrayFacts
from scalarviz.story.names import place_in_array
from scalarviz.training.follow.followed import FOREIGN, Head, RecordedStep
from scalarviz.training.follow.sources import WHOLE, Array
from scalarviz.training.network.network import Network
from scalarviz.training.network.torch_layers import layer_of

MOST_NESTED = 50  # frames around a module


class Unknown(Layer):
    """A layer of which only the sizes are known; its results are NaN."""

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}

    def forward_rows(self, batch: Batch) -> Batch:
        return [[np.nan] * self.outputs for _ in batch]

    def backward_rows(self, upstream: Batch) -> Batch:
        return [[0.0] * self.inputs for _ in upstream]

    def evaluate_rows(self, batch: Batch) -> Batch:
        return self.forward_rows(batch)


@final
class ModuleArray(Unknown):
    """A parameter array of a module whose computation is unknown.

    before  number of outputs of the previous layer
    rows    number of rows of the matrix; with one column it is a vector, such as gains
    columns number of columns of the matrix
    biases  whether the matrix is followed by a bias for each row
    """

    def __init__(self, before: int, rows: int, columns: int, *, biases: bool) -> None:
        super().__init__(before, rows)
        self.columns, self.biases = columns, biases
        self.size = rows * (columns + biases)

    def settings(self) -> dict[str, Any]:
        return {
            "before": self.inputs, "rows": self.outputs, "columns": self.columns,
            "biases": self.biases,
        }  # fmt: skip

    def lower(self, program: Program) -> None:
        """Add the matrix to a program, after an unknown layer if its inputs have another size."""
        reads = self.columns if self.columns > 1 else self.outputs
        part = program.part
        if program.outputs.size != reads:
            between = Unknown(program.outputs.size, reads)
            program.add("own", "between", size=reads, own=between)
        weights, shape = self.first_row, (self.outputs, self.columns)
        program.add(
            "own",
            "module",
            size=self.outputs,
            weights=weights,
            biases=weights + prod(shape) if self.biases else NONE,
            settings=tuple(map(float, shape if self.columns > 1 else shape[:1])),
            own=self,
        )
        program.part = part


IDLE = "Identity", "Dropout", "Dropout2d"  # modules that are the identity while evaluating a probe


def layers_of(head: Head) -> list[tuple[str, Layer]]:
    """Return the module names and layers of a chain; raise an error for other models."""
    by_module: dict[str, dict[str, Array]] = {}
    for each in head.arrays:
        by_module.setdefault(each.module, {})[each.name.rpartition(".")[2]] = each
    shape: Shape = tuple(head.probe["shape"]) if head.probe else head.arrays[0].shape[1:2]
    found: list[tuple[str, Layer]] = []
    for module in head.modules:
        if module["kind"] in IDLE:
            continue
        sides = 1 if module["kind"] == "Conv1d" else 2 if module["kind"].endswith("2d") else 0
        if len(shape) == sides:  # a probe without its single channel
            shape = (1, *shape)
        arrays = by_module.get(module["name"], {})
        layer = layer_of(module["kind"], module["settings"], arrays, shape)
        last = found[-1][1] if found else None
        is_open = isinstance(last, PerceptronLayer) and last.activation == "linear"
        if last is not None and is_open and isinstance(layer, Activation):
            last.set_activation(layer.activation)
            continue
        found.append((module["name"], layer))
        shape = shape_behind(layer, shape)
    return found


def walls_of(head: Head) -> tuple[list[Layer], list[Array]]:
    """Return a ModuleArray for each parameter matrix or vector, and the arrays in bank order."""
    left = [each for each in head.arrays if not each.is_buffer and 0 not in each.kept]
    require(left, "the record has no parameters to show")
    layers: list[Layer] = []
    order: list[Array] = []
    before = 0
    while left:
        each = left.pop(0)
        shape: Shape = each.kept if len(each.kept) > 1 else (prod(each.kept), 1)
        rows, columns = shape[0], prod(shape[1:])
        beside = [x for x in left if x.module == each.module and len(x.shape) == 1]
        bias = next((x for x in beside if prod(x.kept) == rows and columns > 1), None)
        before = before or (columns if columns > 1 else rows)
        layers.append(ModuleArray(before, rows, columns, biases=bias is not None))
        order.append(each)
        if bias is not None:
            left.remove(bias)
            order.append(bias)
        before = rows
    return layers, order


def structure_of(head: Head, lack: str) -> dict[str, Any]:
    """Return a structure of the modules with parameters only, in their order and without lines.

    Args:
        lack: why the recorded structure is unknown, or ""
    """
    frames: dict[str, dict[str, Any]] = {}
    nodes: dict[str, dict[str, Any]] = {}

    def frame_of(path: str) -> int:
        """Return the number of the frame with this path; -1 for the whole model."""
        path = path if path.count(".") < MOST_NESTED else ""
        if path and path not in frames:
            frames[path] = {
                "path": path, "kind": "", "parent": frame_of(path.rpartition(".")[0]),
                "first": len(nodes), "times": 1, "within": [],
            }  # fmt: skip
        return [*frames].index(path) if path else -1

    for each in (x for x in head.arrays if not x.is_buffer):
        path = each.module or each.name
        if path not in nodes:
            nodes[path] = {
                "id": len(nodes), "kind": "module", "name": each.kind, "path": path,
                "frame": frame_of(path.rpartition(".")[0]), "times": 1, "out": False,
                "arrays": [], "sizes": [], "shared": [], "settings": {}, "shape": (),
                "ways": [], "within": [],
            }  # fmt: skip
        nodes[path]["arrays"].append(each.name)
        nodes[path]["sizes"].append(each.shape)
    return {"lack": lack, "frames": [*frames.values()], "nodes": [*nodes.values()], "edges": []}


class FollowedModel:
    """The network drawn for a followed model, and the bank positions of the model's arrays.

    Attributes:
        network: the Network
        computes: whether the network computes the same function as the model
    """

    def __init__(self, head: Head) -> None:
        self.head, self.computes = head, False
        self._states: list[tuple[slice, Array]] = []  # indices in the state of the bank
        if head.is_chain and head.is_whole:
            with suppress(ScalarvizError, StopIteration, *FOREIGN):
                self._begin_chain(layers_of(head))
        if not self.computes:
            self._states.clear()  # of a chain that was begun
            layers, order = walls_of(head)
            self.network = Network(layers, dtype=head.dtype.name)
            self._order = order
        sizes = [prod(each.kept) for each in self._order]
        firsts = np.cumsum([0, *sizes]).tolist()
        self.arrays = [
            ArrayFacts(x.name, first, x.shape, x.kept, () if x.pick == WHOLE else x.pick)
            for x, first in zip(self._order, firsts, strict=False)
        ]
        self.rows = np.concatenate([np.r_[each.numbers] for each in self._order])
        self.network.bank.name_of = partial(place_in_array, self.arrays)
        self.places = {each.name: i for i, each in enumerate(head.arrays)}

    def _begin_chain(self, chain: list[tuple[str, Layer]]) -> None:
        self.network = Network([layer for _, layer in chain], dtype=self.head.dtype.name)
        known = {each.name: each for each in self.head.arrays}
        order: list[Array] = []
        for name, layer in chain:
            prefix = f"{name}." if name else ""
            for role, parameter in own_parameters(layer).items():
                order.append(known.pop(prefix + role))
                require(order[-1].shape == parameter.shape, role)
            place = layer.first_state
            for role, state in state_arrays(layer).items():
                each = known.pop(prefix + role)
                require(prod(each.shape) == state.size, role)
                self._states.append((slice(place, place + state.size), each))
                place += state.size
        require(not known, "arrays are left over")
        self._order, self.computes = order, True

    def write(self, kept: RecordedStep, part: str, bank: Bank) -> None:
        """Copy a part of a recorded moment, "value", "gradient" or "before", into a bank."""
        numbers = kept.parts.get(part)
        if numbers is not None and kept.head is self.head:
            (bank.grad if part == "gradient" else bank.value)[:] = numbers[self.rows]
            for place, each in self._states if part == "value" else ():
                bank.state[place] = numbers[each.numbers]

    def by_row(self, numbers: Any) -> Any:
        """Expand `numbers`, one for each array of the head, to one number for each bank row."""
        found = [numbers[self.places[each.name]] for each in self._order]
        return np.repeat(found, [prod(each.kept) for each in self._order])
