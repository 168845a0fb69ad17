"""Layers that join two branches: their product, and their concatenation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, final

from scalarviz.core.layers.base import Batch, Layer
from scalarviz.core.layers.chain import check_chain
from scalarviz.core.layers.nested import (
    NestedLayer,
    added,
    backward_through,
    check_layers,
    evaluate_through,
    forward_through,
    unlike,
)
from scalarviz.core.model.operations import Shape
from scalarviz.core.model.program import Program
from scalarviz.errors import ShapeError

Row = list[float]


class TwoBranches(NestedLayer):
    """Two branches with the same inputs, whose outputs an operation joins.

    A branch without layers is the inputs themselves.

    branches  the two branches, as arguments: each is a layer, or a list of layers in a row
    layers    the layers of both in one list, instead; the first `first` are those of one branch
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
        if a.inputs != b.inputs or unlike(a.input_shape, b.input_shape):
            takes = [each.input_shape or each.inputs for each in (a, b)]
            raise ShapeError(
                f"the branches of a {name} take {takes[0]} and {takes[1]} numbers: make them equal"
            )
        ends = [branch[-1] for branch in pair]
        outputs = self._joined_size(*[each.outputs for each in ends])
        shape = self.joined_shape(*[each.output_shape for each in ends])
        if outputs is None or shape is None:
            gives = [each.output_shape or each.outputs for each in ends]
            raise ShapeError(
                f"the branches of a {name} give {gives[0]} and {gives[1]} numbers, which do not "
                "fit together: make them equal"
            )
        super().__init__(found, a.inputs, outputs)
        self._set(len(pair[0]), a.input_shape or b.input_shape, shape)

    @final
    def _set(self, first: int, input_shape: Shape, output_shape: Shape) -> None:
        """Set the number of layers of the first branch, and the shapes."""
        self.first = first
        self.input_shape, self.output_shape = input_shape, output_shape

    @abstractmethod
    def _joined_size(self, a: int, b: int) -> int | None:
        """Return the number of outputs of branches with `a` and `b`; None if they do not fit."""

    @abstractmethod
    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        """Return the shape of the outputs of branches with `a` and `b`; None if they are unlike."""

    @abstractmethod
    def _joined(self, a: Row, b: Row) -> Row:
        """Return the outputs for one sample, of which the branches make `a` and `b`."""

    @abstractmethod
    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        """Return the gradients of `a` and `b` for one sample; `upstream` is that of the outputs."""

    @final
    @property
    def branches(self) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
        """The layers of each branch."""
        return self.layers[: self.first], self.layers[self.first :]

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "first": self.first}

    def lower(self, program: Program) -> None:
        inputs = program.branch(self.input_shape)
        self.lower_parts(program, high=self.first)
        a, program.outputs = program.outputs, inputs
        self.lower_parts(program, self.first)
        b = program.outputs
        shape = self.joined_shape(a.shape, b.shape) or ()
        program.add(self._kind, size=self.outputs, shape=shape, sources=(a, b))

    def forward_rows(self, batch: Batch) -> Batch:
        a, b = [forward_through(branch, batch) for branch in self.branches]
        self.kept.extend(zip(a, b, strict=True))
        return [self._joined(*pair) for pair in zip(a, b, strict=True)]

    def backward_rows(self, upstream: Batch) -> Batch:
        pairs = [self.kept.pop() for _ in upstream][::-1]
        gradients = [self._split(g, *pair) for g, pair in zip(upstream, pairs, strict=True)]
        both = zip(self.branches, zip(*gradients, strict=True), strict=True)
        return added(*[backward_through(branch, list(rows)) for branch, rows in both])

    def evaluate_rows(self, batch: Batch) -> Batch:
        a, b = [evaluate_through(branch, batch) for branch in self.branches]
        return [self._joined(*pair) for pair in zip(a, b, strict=True)]


@final
class Product(TwoBranches):
    """y = a(x) b(x), number by number, where a and b are branches: layers, or lists of layers.

    branches  the two branches, as arguments: each is a layer, or a list of layers in a row
    layers    the layers of both in one list, instead; the first `first` are those of branch a

    Raises ShapeError unless both have as many inputs, and as many outputs, InputError for
    unsuitable layers.

    >>> from scalarviz import Activation
    >>> Product(Activation(2, "linear"), Activation(2, "relu"))([3, -4]).tolist()
    [9.0, -0.0]
    """

    _kind = "product"

    def _joined_size(self, a: int, b: int) -> int | None:
        return a if a == b else None

    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        return None if unlike(a, b) else a or b

    def _joined(self, a: Row, b: Row) -> Row:
        return [x * y for x, y in zip(a, b, strict=True)]

    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        return self._joined(upstream, b), self._joined(upstream, a)


@final
class Concatenate(TwoBranches):
    """y = a(x) followed by b(x), where a and b are branches: layers, or lists of layers.

    Pictures of one height and width are joined by channels.

    branches  the two branches, as arguments: each is a layer, or a list of layers in a row
    layers    the layers of both in one list, instead; the first `first` are those of branch a

    Raises ShapeError unless both have as many inputs, or for pictures of two sizes, InputError for
    unsuitable layers.

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
