"""Flow: a value of a graph, with its shape and the steps that compute it from the input.

A step is a layer with its numbers and their names in the file, which are not in a bank yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from scalarviz.base.checks import Shape, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.core.layers import Affine, Flatten, Layer, Reshape
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.core.layers.nested import Residual, TwoBranches
from scalarviz.core.layers.shapes import layer_size
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Array
from scalarviz.files.onnx.onnx_graph import Constant, GraphNode
from scalarviz.files.onnx_names import MOST_DIMENSIONS, Names

LARGEST_SAMPLE = 2**24  # maximum count of numbers
SCALED = 32  # maximum bytes of an Affine per number
PICTURE = 3  # dimensions: channels, height, width
SAME = 1e-5  # relative tolerance for constants of a formula


@dataclass(frozen=True, eq=False)
class Parameter:
    """Numbers in the file that become rows of the bank, in the layer's order.

    They are views of the content of the file, possibly transposed, until they are in the bank.
    """

    role: str  # key among the layer's names, such as "weight"
    name: str
    values: Array
    tied: bool  # whether all its uses share it; for ONNX matrices only, see `KnownLayers.apart`
    held: bool = False  # whether it is frozen, because it is not a number of the model
    order: Array | None = None  # index of each value in the model's array, if that is ordered else


@dataclass(frozen=True, eq=False)
class LayerStep:
    """A layer, its names in the file, and its numbers.

    `layer` is None for a layer of two branches, whose class is `kind`, until all its `inner` steps
    are known. The first branch consists of the first `first` inner steps, or of all if it is 0.
    """

    layer: Any  # a Layer, or None
    names: Names
    parameters: tuple[Parameter, ...] = ()
    state: Mapping[str, Array] = field(default_factory=dict)
    inner: tuple[LayerStep, ...] = ()
    node: GraphNode | None = None
    kind: type[TwoBranches] = Residual
    first: int = 0


def nothing(shape: Shape) -> LayerStep:
    """Return a step that is the identity, for use where a layer is required."""
    return LayerStep(Activation(layer_size(shape), "linear"), {})


@dataclass(frozen=True, eq=False)
class Flow:
    """A value of the graph: its shape for one sample, and the steps that compute it.

    After the last step, the graph may have changed the shape to `seen`. The layer for this shape
    is created when needed, and named after the last node that changed the shape.
    """

    shape: Shape
    seen: Shape
    steps: tuple[LayerStep, ...] = ()
    view: Names = field(default_factory=dict)

    def then(
        self,
        layer: Layer,
        names: Names,
        *parameters: Parameter,
        shape: Shape | None = None,
        **more: Any,
    ) -> Flow:
        """Append a layer."""
        here = self.settled
        to = here.shape if shape is None else checked(shape)
        return Flow(to, to, (*here.steps, LayerStep(layer, names, parameters, **more)))

    def scaled(self, scale: Array, shift: Array, names: Names) -> Flow:
        """Append an Affine, or merge it with a preceding one.

        Args:
            scale, shift: arrays that broadcast to a sample, with equal numbers in each channel
        """
        here = self.settled
        scale, shift = (of_features(each, here.shape) for each in (scale, shift))
        last = here.steps[-1] if here.steps else None
        if last is not None and isinstance(last.layer, Affine) and not last.parameters:
            with np.errstate(all="ignore"):  # Affine raises an error for non-finite numbers
                scale, shift = last.layer.scale * scale, last.layer.shift * scale + shift
            here, names = replace(here, steps=here.steps[:-1]), {**last.names, **names}
        return here.then(Affine(layer_size(here.shape), scale, shift), names)

    def seen_as(self, shape: Shape, node: GraphNode) -> Flow:
        """Return the same numbers in another shape."""
        require(
            prod(shape) == prod(self.shape),
            f"{shorten(self.shape)} has a different number of values than {shorten(shape)}",
        )
        return replace(self, shape=shape, view={"node": node.name})

    @cached_property
    def settled(self) -> Flow:
        """The flow with a layer appended for a pending reshape."""
        seen, shape = layer_size(self.seen), layer_size(self.shape)
        ranks = {len(self.seen), len(self.shape)}
        is_other = ranks <= {1, PICTURE} or (PICTURE in ranks and seen != shape)
        if self.seen == self.shape or not is_other:
            return self
        layer = Flatten(self.seen) if len(self.shape) == 1 else Reshape(seen, shape)
        return Flow(self.shape, self.shape, (*self.steps, LayerStep(layer, self.view)))


def checked(shape: Shape) -> Shape:
    """Return a shape; raise InputError if it is too large."""
    require(
        prod(shape) <= LARGEST_SAMPLE, f"{shorten(shape)} are more than {LARGEST_SAMPLE:,} numbers"
    )
    return shape


def of_features(numbers: Array, shape: Shape) -> Array:
    """Return one number for each feature or channel, from numbers that broadcast to a sample."""
    try:
        each = np.broadcast_to(numbers, (1, *shape)).reshape(shape[0], -1)
    except ValueError:
        raise InputError(
            f"it takes numbers of the shape {numbers.shape} and {shorten(shape)} a sample: give "
            "each feature or channel one"
        ) from None
    is_even = np.isfinite(each).all() and (each == each[:, :1]).all()
    require(
        is_even and len(shape) in (1, PICTURE),
        "it takes finite numbers that are equal within a channel: give each one",
    )
    return each[:, 0].astype(np.float64)


@dataclass(frozen=True, eq=False)
class NodeContext:
    """A node with its inputs, each of which is a flow, a constant, or None if not connected."""

    node: GraphNode
    opset: int
    batch: int | None  # number of samples, if fixed by the model
    inputs: tuple[Flow | Constant | None, ...]
    budget: Budget  # memory limit of the network
    place: int = 0  # index of the requested output

    @property
    def flow(self) -> Flow:
        """The only computed input; raises InputError if another input is not a constant."""
        first = self.inputs[0] if self.inputs else None
        rest = [each for each in self.inputs[1:] if isinstance(each, Flow)]
        if not isinstance(first, Flow) or rest:
            raise InputError("it needs one computed value, and otherwise stored numbers")
        return first

    @property
    def row(self) -> Flow:
        """The only computed input; raises InputError unless samples are vectors."""
        flow = self.flow.settled
        require(
            len(flow.shape) == 1,
            f"it is given {shorten(flow.shape)} a sample, and takes one row of numbers",
        )
        return flow

    @property
    def picture(self) -> Flow:
        """The only computed input; raises InputError unless samples are images or sequences."""
        flow = self.flow.settled
        require(
            self.sides in (1, 2),
            f"it is given {shorten(flow.shape)} a sample, and no (channels, height, width)",
        )
        return flow

    @property
    def sides(self) -> int:
        """Number of sides of the input: 2 for pictures, 1 for sequences (channels, length)."""
        return len(self.flow.shape) - 1

    def constant(self, place: int) -> Constant | None:
        """Return the constant at an input, or None if it is missing."""
        found = self.inputs[place] if place < len(self.inputs) else None
        return found if isinstance(found, Constant) else None

    def needed(self, place: int, what: str) -> Constant:
        """Return the constant at an input; raise InputError if it is missing."""
        found = self.constant(place)
        if found is None:
            raise InputError(f"its {what} are not stored in the file")
        return found

    def few(self, place: int) -> list[Any]:
        """Return a short constant, such as axes, as a list."""
        found = self.needed(place, "numbers")
        require(
            found.array.size <= MOST_DIMENSIONS + 1,
            f"its {shorten(found.name)} has {found.array.size:,} numbers",
        )
        return found.array.ravel().tolist()

    def parameter(self, role: str, place: int, shape: Shape) -> Parameter:
        """Return a constant as a parameter; its shape may differ from `shape` by leading 1s."""
        found = self.needed(place, role)
        given = found.shape
        require(
            len(given) <= len(shape) + 1
            and given[len(given) - len(shape) :] == shape
            and prod(given) == prod(shape),
            f"its {role} {shorten(found.name)} has the shape {given}, and should have {shape}",
        )
        return Parameter(role, found.name, found.array.ravel(), tied=len(shape) > 1)

    def bias(self, outputs: int) -> list[Parameter]:
        """Return [bias], or [] if missing; a single number is repeated for all outputs."""
        found = self.constant(2)
        if found is None:
            return []
        if found.shape in ((), (1,), (1, 1)):
            same = np.broadcast_to(found.array.ravel()[0], outputs)
            return [Parameter("bias", found.name, same, False)]
        return [self.parameter("bias", 2, (outputs,))]

    def get(self, name: str, default: Any, items: type = int) -> Any:
        """Return an attribute; raise InputError if its type, or the type of its items, is wrong."""
        found = self.node.attributes.get(name, default)
        if isinstance(default, float) and isinstance(found, int):
            found = float(found)
        both_lists = isinstance(default, list) and isinstance(found, list)
        odd = both_lists and any(type(each) is not items for each in found)
        require(
            not odd and (default is None or type(found) is type(default)),
            f"its {name} cannot be {shorten(found)}",
        )
        return found

    def only(self, name: str, default: Any, *allowed: Any) -> None:
        """Raise InputError unless an attribute is in `allowed`, or equals `default` if it is ()."""
        found, wanted = self.get(name, default), allowed or (default,)
        require(
            found in wanted, f"its {name} must be {shorten(wanted[0])} here, not {shorten(found)}"
        )

    def scaled(self, flow: Flow, scale: Array, shift: Array, names: Names) -> Flow:
        """Append an Affine to `flow`, as `flow.scaled` does, and check the memory budget."""
        self.budget.take(SCALED * prod(flow.shape), f"what scales {shorten(flow.shape)}")
        return flow.scaled(scale, shift, names)

    @property
    def names(self) -> Names:
        """The name of this node."""
        return {"node": self.node.name}

    def activated(self, name: str) -> Flow:
        """Append an activation to the only computed input."""
        flow = self.flow.settled
        return flow.then(Activation(layer_size(flow.shape), name), self.names, shape=flow.shape)
