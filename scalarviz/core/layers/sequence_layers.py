"""Layers for sequences: Embedding, and Attention between the places of a sequence.

A sequence of shape (features, places) is a picture 1 pixel high, as in Conv1d: all places of the
first feature, then of the second one. A Conv1d with kernel=1 is a Dense layer at each place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import floor, sqrt
from typing import Any, final

from scalarviz.base.checks import require, true_or_false
from scalarviz.base.checks import size as checked_size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.layers import custom_layers
from scalarviz.core.layers.dense import WeightedLayer
from scalarviz.core.layers.layer import Batch, Layer
from scalarviz.core.layers.rowwise_layers import Rowwise
from scalarviz.core.program import NONE, Program
from scalarviz.core.weight import Weight
from scalarviz.errors import ShapeError


@final
class Embedding(WeightedLayer):
    """Turn each place's index into the row of `size` numbers that belongs to it.

    The inputs are indices from 0 to `count` - 1, one for each place, such as the letters of a name,
    and rounded down. Any other number, such as -1, chooses no row: the result is then 0. With
    `positions`, each place also adds its numbers: "position", of shape (size, places).

    Args:
        count: number of rows, such as the number of letters
        size: numbers per row
        places: number of places; by default 1
        positions: whether each place adds its numbers; by default False
        init: initializer of this layer, a name or an Init; None (default) means the initializer of
            the network

    >>> layer = Embedding(2, 3, places=2)
    >>> layer.kernel = [[1, 2, 3], [4, 5, 6]]
    >>> layer([1, 0]).reshape(3, 2).T.tolist()
    [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]
    """

    def __init__(
        self,
        count: int,
        size: int,
        places: int = 1,
        *,
        positions: bool = False,
        init: str | Init | Callable[..., Any] | None = None,
    ) -> None:
        self.count, self.places = checked_size(count, "count"), checked_size(places, "places")
        self.features = checked_size(size, "the size of Embedding")
        self.positions = true_or_false(positions, "positions")
        shapes = {"weight": (self.count, self.features)}
        if self.positions:
            shapes["position"] = (self.features, self.places)
        several = self.places > 1
        super().__init__(
            (1, 1, self.places) if several else 1,
            (self.features, 1, self.places) if several else self.features,
            parameters=shapes,
        )
        self.init = None if init is None else Init.of(init)

    def initialize(self, init: Init, seed: int) -> None:
        fans = self.features, self.features
        custom_layers.draw_arrays(self, self.init or init, seed, fans)

    def again(self) -> Layer:
        return type(self)(**self.settings(), init=self.init)

    def settings(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "size": self.features,
            "places": self.places,
            "positions": self.positions,
        }

    def row_name(self, row: int) -> str:
        letter, feature = divmod(row, self.features)
        if letter < self.count:
            return f"row {letter}, feature {feature}"
        feature, place = divmod(row - self.count * self.features, self.places)
        return f"place {place}, feature {feature}"

    def lower(self, program: Program) -> None:
        program.set_shape(self.input_shape)
        rows = self.count * self.features
        program.add(
            "embedding",
            size=self.outputs,
            weights=self.first_row,
            biases=self.first_row + rows if self.positions else NONE,
            settings=(float(self.count),),
            shape=self.output_shape,
        )

    @cached_property
    def _all(self) -> list[Weight]:
        return [self.weight(row) for row in range(self.size)]

    def made_parts(self) -> Sequence[Weight]:
        made: Sequence[Weight] = vars(self).get("_all", ())
        return made

    def forward_rows(self, batch: Batch) -> Batch:
        self.kept += batch
        return self._summed(batch, Weight.forward)

    def evaluate_rows(self, batch: Batch) -> Batch:
        return self._summed(batch, Weight.evaluate)

    def backward_rows(self, upstream: Batch) -> Batch:
        """Add the gradients for `upstream`; an index has no gradient, so zeros are returned."""
        weights, rows = self._all, self.count * self.features
        for sample in reversed(upstream):
            self.kept.pop()
            for at in range(self.outputs - 1, -1, -1):
                if self.positions:
                    weights[rows + at].backward(sample[at])
                for letter in range(self.count - 1, -1, -1):
                    weights[letter * self.features + at // self.places].backward(sample[at])
        return [[0.0] * self.inputs for _ in upstream]

    def _summed(self, batch: Batch, verb: Callable[[Weight, float], float]) -> Batch:
        """Return the rows; the weights of all letters are used, times 1 or 0."""
        weights, rows, found = self._all, self.count * self.features, []
        for sample in batch:
            row = [0.0] * self.outputs
            for at in range(self.outputs):
                feature, place = divmod(at, self.places)
                for letter in range(self.count):
                    weight = weights[letter * self.features + feature]
                    row[at] += verb(weight, float(floor(sample[place]) == letter))
                if self.positions:
                    row[at] += verb(weights[rows + at], 1.0)
            found.append(row)
        return found


@final
class Attention(Rowwise):
    """Let each place of a sequence take shares of the numbers of other places; no parameters.

    The inputs are, for each head, channels of a query, a key and a value. A place compares its
    query with the key of each place: the softmax of these scores are shares, which add up to 1. The
    result is the sum of the values times their shares, for all heads: `size` channels. A Conv1d
    with kernel=1 from `size` to 3 * `size` channels makes queries, keys and values.

    Args:
        size: number of channels of the result, a multiple of `heads`
        heads: number of heads; by default 1
        places: number of places
        causal: whether a place sees only itself and earlier places; by default True

    Raises:
        ShapeError: if `heads` does not divide `size`.

    >>> layer = Attention(1, places=2)  # channels: query, key, value
    >>> layer([0, 0, 5, 7, 2, 4]).tolist()
    [2.0, 3.0]
    """

    def __init__(self, size: int, heads: int = 1, *, places: int, causal: bool = True) -> None:
        self.features = checked_size(size, "the size of Attention")
        self.heads, self.causal = checked_size(heads, "heads"), true_or_false(causal, "causal")
        self.places = checked_size(places, "places")
        require(
            self.features % self.heads == 0,
            f"{self.heads} heads cannot share {self.features} channels: choose a size that is a "
            "multiple of heads",
            ShapeError,
        )
        each = self.features // self.heads
        numbers = self.heads, each, self.places, self.causal
        super().__init__(
            (3 * self.features, 1, self.places),
            (self.features, 1, self.places),
            ROW_FORMULAS["attention"],
            (*map(float, numbers), 1.0 / sqrt(each)),
        )

    def settings(self) -> dict[str, Any]:
        return {
            "size": self.features,
            "heads": self.heads,
            "places": self.places,
            "causal": self.causal,
        }
