"""Sequences of layers, and layers made of layers: Residual, Product and Concatenate."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, final

from scalarviz.base.checks import require, shorten, size
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.dense import Dense
from scalarviz.core.layers.layer import Batch, Layer
from scalarviz.core.layers.parameters import check_free
from scalarviz.core.program import Program, Shape
from scalarviz.core.weight import Weight
from scalarviz.errors import InputError, ShapeError

MOST_DEPTH = 20  # nested layers; files rely on this bound


class NestedLayer(Layer):
    """A layer that has the parameters and state of its inner layers, in order.

    Args:
        found: the inner layers
        inputs, outputs: number of inputs and outputs, or shapes of pictures

    Raises:
        InputError: if layers are nested too deeply.
    """

    def __init__(self, found: tuple[Layer, ...], inputs: int | Shape, outputs: int | Shape) -> None:
        if depth_of(found) > MOST_DEPTH:
            name = type(self).__name__
            raise InputError(f"{name}s are nested more than {MOST_DEPTH} deep: nest fewer")
        for layer in found:
            check_free(layer)
        super().__init__(inputs, outputs)
        self.layers = found
        self.size = sum(layer.size for layer in self.layers)
        self.state_size = sum(layer.state_size for layer in self.layers)

    def made_parts(self) -> Sequence[Layer]:
        return self.layers

    def initialize(self, init: Init, seed: int) -> None:
        row, state = self.first_row, self.first_state
        for layer in self.layers:
            if layer._bank is self.bank:  # drawn again for another seed
                layer.initialize(init, seed)
            else:
                layer.bind(self.bank, row, init, seed, state)
            row, state = row + layer.size, state + layer.state_size

    def row_name(self, row: int) -> str:
        layer, inner = self._at(row)
        return f"part {self.layers.index(layer)}, {layer.row_name(inner)}"

    def state_name(self, place: int) -> str:
        for i, layer in enumerate(self.layers):
            if place < layer.state_size:
                return f"part {i}, {layer.state_name(place)}"
            place -= layer.state_size
        raise IndexError(f"{self} keeps {self.state_size} numbers")

    def weight(self, row: int) -> Weight:
        bank, (layer, inner) = self.bank, self._at(row)
        assert layer._bank is bank, "inner layers are on the same bank"
        return layer.weight(inner)

    def settings(self) -> dict[str, Any]:
        return {"layers": [layer.again() for layer in self.layers]}

    @final
    def lower_parts(self, program: Program, low: int = 0, high: int | None = None) -> None:
        """Append the operations of the inner layers `low` to `high` - 1 to a `program`."""
        part = program.part
        for i in range(low, len(self.layers) if high is None else high):
            program.part = f"{part}.{i}"
            self.layers[i].lower(program)
        program.part = part

    @final
    def _at(self, row: int) -> tuple[Layer, int]:
        """Return the inner layer that contains a row, and the index of the row in that layer."""
        for layer in self.layers:
            if row < layer.size:
                return layer, row
            row -= layer.size
        raise IndexError(f"{self} has {self.size} rows")


def check_layers(found: Sequence[Layer], kind: str, example: str) -> None:
    """Raise InputError unless `found` consists of one or more layers, all different."""
    require(
        found and all(isinstance(layer, Layer) for layer in found),
        f"{kind} is made of {example}",
    )
    require(len(set(found)) == len(found), f"a layer is used twice in a {kind}: make a second one")


def depth_of(layers: Sequence[Layer]) -> int:
    """Return the nesting depth: 1 for layers without inner layers."""
    return max((1 + depth_of(layer.layers) for layer in layers), default=0)


def unlike(shape: Shape, other: Shape) -> bool:
    """Return whether two shapes are picture shapes and differ."""
    return bool(shape and other and shape != other)


def through(layers: Iterable[Layer], verb: Callable[[Layer, Batch], Batch], rows: Batch) -> Batch:
    """Pass rows through layers in sequence, with a method such as forward."""
    for layer in layers:
        rows = verb(layer, rows)
    return rows


def added(rows: Batch, others: Batch) -> Batch:
    """Return the elementwise sum of two batches."""
    return [[x + y for x, y in zip(*pair, strict=True)] for pair in zip(rows, others, strict=True)]


Row = list[float]


class TwoBranches(NestedLayer):
    """Two branches with the same inputs, whose outputs an operation combines.

    A branch without layers passes on the inputs.

    Args:
        branches: the two branches as arguments, each a layer or a list of layers in sequence
        layers: alternatively, the layers of both branches in one list, of which the first `first`
            form one branch
    """

    _kind: ClassVar[str]  # of the operation

    def __init__(
        self, *branches: Layer | Sequence[Layer], layers: Sequence[Layer] = (), first: int = 0
    ) -> None:
        name, counts = type(self).__name__, type(first) is int and isinstance(layers, Sequence)
        parts = branches or ((layers[:first], layers[first:]) if counts else ())
        pair = [tuple(part) if isinstance(part, Sequence) else (part,) for part in parts]
        found = sum(pair, ()) if len(pair) == 2 and all(pair) else ()
        example = f"two branches of layers: write {name}(Dense(8, 4), [Dense(8, 6), Dense(6, 4)])"
        check_layers(found, name, example)
        for branch in pair:
            check_chain(branch)
        (a, *_), (b, *_) = pair
        check_beginnings(a, b, f"the branches of a {name}")
        ends = [branch[-1] for branch in pair]
        outputs = self._joined_size(*[each.outputs for each in ends])
        shape = self.joined_shape(*[each.output_shape for each in ends])
        if outputs is None or shape is None:
            gives = [each.output_shape or each.outputs for each in ends]
            raise ShapeError(
                f"the branches of a {name} give {gives[0]} and {gives[1]} numbers, which must be "
                "equal"
            )
        super().__init__(found, a.input_shape or b.input_shape or a.inputs, shape or outputs)
        self._first = len(pair[0])  # layers of the first branch

    @abstractmethod
    def _joined_size(self, a: int, b: int) -> int | None:
        """Return the number of outputs for branches with `a` and `b` outputs; None if invalid."""

    @abstractmethod
    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        """Return the output shape for branches of shapes `a` and `b`; None if they do not fit."""

    @abstractmethod
    def _joined(self, a: Row, b: Row) -> Row:
        """Return the outputs of one sample, given the outputs `a` and `b` of the branches."""

    @abstractmethod
    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        """Return the gradients of `a` and `b` for one sample, given the gradient of the outputs."""

    @final
    @property
    def branches(self) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
        """The layers of each branch."""
        return self.layers[: self._first], self.layers[self._first :]

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "first": self._first}

    def lower(self, program: Program) -> None:
        inputs = program.branch(self.input_shape)
        self.lower_parts(program, high=self._first)
        a, program.outputs = program.outputs, inputs
        self.lower_parts(program, self._first)
        b = program.outputs
        shape = self.joined_shape(a.shape, b.shape) or ()
        program.add(self._kind, size=self.outputs, shape=shape, sources=(a, b))

    def forward_rows(self, batch: Batch) -> Batch:
        a, b = [through(branch, Layer.forward_batch, batch) for branch in self.branches]
        self.kept.extend(zip(a, b, strict=True))
        return [self._joined(*pair) for pair in zip(a, b, strict=True)]

    def backward_rows(self, upstream: Batch) -> Batch:
        pairs = [self.kept.pop() for _ in upstream][::-1]
        gradients = [self._split(g, *pair) for g, pair in zip(upstream, pairs, strict=True)]
        both = zip(self.branches, zip(*gradients, strict=True), strict=True)
        return added(*[through(reversed(way), Layer.backward_batch, [*rows]) for way, rows in both])

    def evaluate_rows(self, batch: Batch) -> Batch:
        a, b = [
            through(branch, lambda layer, rows: layer.evaluate_rows(rows), batch)
            for branch in self.branches
        ]
        return [self._joined(*pair) for pair in zip(a, b, strict=True)]


class BranchesOfOneSize(TwoBranches):
    """Two branches with the same number of outputs, which are combined elementwise.

    Attributes:
        branches: the two branches as arguments, each a layer or a list of layers in sequence
        layers: alternatively, the layers of both branches in one list, of which the first `first`
            form one branch
    """

    @final
    def _joined_size(self, a: int, b: int) -> int | None:
        return a if a == b else None

    @final
    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        return None if unlike(a, b) else a or b


@final
class Product(BranchesOfOneSize):
    """Elementwise product of two branches: y = a(x) b(x), each a layer or a list of layers.

    Attributes:
        branches: the two branches as arguments, each a layer or a list of layers in sequence
        layers: alternatively, the layers of both branches in one list, of which the first `first`
            form branch a

    Raises:
        ShapeError: if the branches differ in the number of inputs or of outputs.
        InputError: if the layers are invalid.

    >>> from scalarviz import Activation
    >>> Product(Activation(2, "linear"), Activation(2, "relu"))([3, -4]).tolist()
    [9.0, -0.0]
    """

    _kind = "product"

    def _joined(self, a: Row, b: Row) -> Row:
        return [x * y for x, y in zip(a, b, strict=True)]

    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        return self._joined(upstream, b), self._joined(upstream, a)


@final
class Concatenate(TwoBranches):
    """Concatenate two branches: y = a(x) followed by b(x), each a layer or a list of layers.

    Pictures of the same height and width are joined along the channels.

    Attributes:
        branches: the two branches as arguments, each a layer or a list of layers in sequence
        layers: alternatively, the layers of both branches in one list, of which the first `first`
            form branch a

    Raises:
        ShapeError: if the branches differ in the number of inputs, or in the size of their output
            pictures.
        InputError: if the layers are invalid.

    >>> from scalarviz import Activation
    >>> Concatenate(Activation(2, "linear"), Activation(2, "relu"))([3, -4]).tolist()
    [3.0, -4.0, 3.0, 0.0]
    """

    _kind = "concatenation"

    def _joined_size(self, a: int, b: int) -> int | None:
        return a + b

    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        if not a or not b:
            return ()
        return None if unlike(a[1:], b[1:]) else (a[0] + b[0], *a[1:])

    def _joined(self, a: Row, b: Row) -> Row:
        return [*a, *b]

    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        return upstream[: len(a)], upstream[len(a) :]


EXAMPLE = "layers, at least one: write Residual(Dense(8, 4), Dense(4, 8)), or layers= for a list"


@final
class Residual(BranchesOfOneSize):
    """Residual connection: y = x + f(x), or y = skip(x) + f(x); f is one or several layers.

    Args:
        parts: the layers of f, as arguments, in order
        layers: alternatively, the layers of f as a list
        skip: layer, or list of layers in sequence, applied to x before it is added; required if f
            changes the number of features
        first: only with `layers`: the first `first` layers form f, the others form skip; 0
            (default) means that all form f

    Raises:
        ShapeError: if f and the skip connection differ in the number of outputs.
        InputError: if the layers are invalid.

    >>> from scalarviz import Dense
    >>> layer = Residual(Dense(2, 4, "relu"), Dense(4, 2))
    >>> layer.bank.value[layer.layers[1].rows] = 0.0
    >>> layer([3, 4]).tolist()
    [3.0, 4.0]
    >>> Residual(Dense(2, 4, "relu"), skip=Dense(2, 4, bias=False)).outputs
    4
    """

    _kind = "sum"

    def __init__(
        self,
        *parts: Layer,
        layers: Sequence[Layer] = (),
        skip: Layer | Sequence[Layer] = (),
        first: int = 0,
    ) -> None:
        around = tuple(skip) if isinstance(skip, Sequence) else (skip,)
        first = size(first, "first", 0)
        given = (*parts, *layers) if isinstance(layers, Sequence) else ()
        inside, around = (given[:first], given[first:]) if first else (given, around)
        check_layers(inside, "Residual", EXAMPLE)
        check_layers((*inside, *around), "Residual", EXAMPLE)
        for way in (inside, around):
            check_chain(way)
        begin, last = inside[0], inside[-1]
        end_size, end_shape = begin.inputs, begin.input_shape
        if around:
            end_size, end_shape = around[-1].outputs, around[-1].output_shape
            check_beginnings(begin, around[0], "the paths of a Residual")
        if end_size != last.outputs or unlike(end_shape, last.output_shape):
            raise ShapeError(
                f"{last} gives {last.output_shape or last.outputs} numbers, but "
                f"{f'{around[-1]} gives' if around else f'{begin} takes'} {end_shape or end_size}: "
                "make the two equal"
                + ("" if around else ", or pass skip=, layers applied to the inputs")
            )
        shapes = begin.input_shape or begin.inputs, last.output_shape or end_shape or last.outputs
        NestedLayer.__init__(self, (*inside, *around), *shapes)
        self._first = len(inside)

    def _joined(self, a: Row, b: Row) -> Row:
        return [x + y for x, y in zip(b, a, strict=True)]

    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        return upstream, upstream

    def settings(self) -> dict[str, Any]:
        found = NestedLayer.settings(self)
        return found if self._first == len(self.layers) else found | {"first": self._first}


def check_beginnings(a: Layer, b: Layer, what: str) -> None:
    """Raise ShapeError unless the first layers of two branches have the same inputs."""
    require(
        a.inputs == b.inputs and not unlike(a.input_shape, b.input_shape),
        f"{what} take {a.input_shape or a.inputs} and {b.input_shape or b.inputs} numbers: "
        "make them equal",
        ShapeError,
    )


# The layers of a network, given as sizes or layers, and checked to fit each other.


def as_layers(
    layers: Sequence[int | Layer], activation: str | None, output: str | None
) -> tuple[Layer, ...]:
    """Return the layers of a network, given as sizes, layers, or a layer and then a mixture.

    Raises:
        InputError: if `layers` is anything else.
        ShapeError: if layers do not fit each other.
    """
    if isinstance(layers, (str, bytes)) or not isinstance(layers, Sequence) or not layers:
        raise InputError(
            f"a network is made of a list of sizes or a list of layers, not {shorten(layers)}: "
            "write Network([3, 8, 3]) or Network([Dense(3, 8), Dense(8, 3)])"
        )
    if all(isinstance(layer, Layer) for layer in layers):
        require(
            activation is None and output is None,
            "activation= and output= are for a list of sizes: give each layer its own "
            "activation, such as Dense(3, 8, 'tanh')",
        )
        return check_chain(tuple(layer for layer in layers if isinstance(layer, Layer)))
    first = layers[0]
    leads = isinstance(first, Layer)  # then further sizes are Dense layers
    require(
        leads or not any(isinstance(layer, Layer) for layer in layers),
        "a network of layers and sizes must begin with a layer, which defines the number of "
        "inputs: write Network([Affine(3), 8, 3]) or Network([Dense(3, 8), Dense(8, 3)])",
    )
    sizes = [size(n, "each size of a network") for n in layers if not isinstance(n, Layer)]
    require(
        len(sizes) + leads >= 2,
        f"a network needs at least two sizes, inputs and outputs, not {sizes}",
    )
    inner, last = ("linear" if name is None else name for name in (activation, output))
    for name in (inner, last):
        activation_row(name)
    names = iter([inner] * (len(sizes) - 2 + leads) + [last])
    made = [first] if isinstance(first, Layer) else []
    for each in layers[1:]:
        width = made[-1].outputs if made else sizes[0]
        made.append(each if isinstance(each, Layer) else Dense(width, int(each), next(names)))
    return check_chain(tuple(made))


def check_chain(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Return the layers; raise an error if they do not fit each other, or if one is used twice."""
    check_parts(layers)
    for i, (layer, after) in enumerate(pairwise(layers)):
        require(
            layer.outputs == after.inputs,
            f"layer {i}, {layer}, gives {layer.outputs} numbers, but layer {i + 1}, {after}, "
            f"takes {after.inputs}: make the two equal",
            ShapeError,
        )
        made, taken = layer.output_shape, after.input_shape
        require(
            not unlike(made, taken),
            f"layer {i}, {layer}, gives a picture of {made}, but layer {i + 1}, {after}, takes "
            f"one of {taken}: make the two equal, or put Reshape({made}, {taken}) between them",
            ShapeError,
        )
    return layers


def check_parts(layers: tuple[Layer, ...]) -> None:
    """Raise InputError if an inner layer of a Residual is also used elsewhere."""
    whole = list(dict.fromkeys(layers))
    every = Counter([*whole, *[part for layer in whole for part in inner(layer)]])
    for layer, count in every.items():
        require(
            count == 1,
            f"{layer} is used twice, at least once inside another layer: make a second one",
        )


def inner(layer: Layer) -> Iterator[Layer]:
    """Yield the inner layers of a layer, recursively."""
    for part in layer.layers:
        yield part
        yield from inner(part)
