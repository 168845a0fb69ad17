"""What operations there are: what each kind means, which parameters it has, and where each is used.

This is the one place that knows a kind of operation apart from the kernels that do it: engines ask
for the shape of its parameters and what it must keep, the picture and the explanations ask where a
weight is multiplied. Another kind is one row of KINDS, and a kernel on each engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.formulas.table import table

NONE = -1  # the place of parameters that are not there
OVERFLOW = -2  # instead of the row of a bad gradient: an update whose result is not finite

Places = npt.NDArray[np.intp]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Some numbers for each sample, at an offset in the workspace.

    Where they are a picture, `shape` is (channels, height, width).
    """

    name: str
    size: int
    offset: int
    shape: Shape = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that is done to every sample.

    weights, biases  the first rows of its parameters in the bank, or NONE
    state            the first of its numbers in `bank.state`, or NONE
    held_by          the rows of its layer, if its statistics stand still while all these are frozen
    layer            the place in the network of the layer that it belongs to; `label` says so
    other            a second buffer that takes part: see the kinds "branch" and "sum"
    """

    kind: str
    formula: str
    source: Buffer
    target: Buffer
    weights: int = NONE
    biases: int = NONE
    settings: tuple[float, ...] = ()
    layer: int = 0
    label: str = ""
    other: Buffer | None = None
    state: int = NONE
    held_by: range = range(0)

    @property
    def about(self) -> Kind:
        """What is known of its kind."""
        return KINDS[self.kind]

    def is_held(self, frozen: npt.NDArray[np.bool_]) -> bool:
        """Whether its layer is frozen as a whole, so that its statistics stand still."""
        return bool(self.held_by) and bool(frozen[self.held_by].all())

    @property
    def formula_place(self) -> int:
        """The place of its formula in the table of its kind; 0 if there is none."""
        formulas = self.about.formulas
        return 0 if formulas is None else list(formulas).index(self.formula)

    @property
    def name(self) -> str:
        """What it is called where its progress is shown: "affine 0", "tanh 0"."""
        return f"{self.formula or self.kind} {self.label or self.layer}"

    @property
    def shape(self) -> Shape:
        """The shape of its weights, the perceptrons first; empty if it has none."""
        return () if self.weights == NONE else self.about.shape(self)

    @property
    def outputs_per_bias(self) -> int:
        """How many numbers that it writes share a bias; they stand one after the other."""
        return self.about.outputs_per_bias(self)

    @property
    def parameters(self) -> range:
        """The rows of its weights and its biases, which stand one after the other in the bank."""
        if self.weights == NONE:
            return range(0)
        biases = self.target.size // self.outputs_per_bias if self.biases != NONE else 0
        return range(self.weights, self.weights + prod(self.shape) + biases)

    @property
    def all_uses(self) -> tuple[Places, Places, Places]:
        """Every use of every parameter: which one, counted from the first; where to; by what.

        What a bias is multiplied by stands one place after all that is read.
        """
        return all_uses(self)

    def uses(self, row: int) -> tuple[Places, Places | None]:
        """Where a parameter is used: what it is added into, and what it is multiplied by there.

        Both are places in the buffers, pair by pair; what a bias is multiplied by is 1: None.
        """
        if self.biases != NONE and row >= self.biases:
            count = self.outputs_per_bias
            return np.arange(count) + (row - self.biases) * count, None
        return self.about.uses(self, row - self.weights)


@lru_cache(maxsize=64)
def all_uses(operation: Operation) -> tuple[Places, Places, Places]:
    """See `Operation.all_uses`."""
    places, written, read = [], [], []
    for place, row in enumerate(operation.parameters):
        to, by = operation.uses(row)
        places.append(np.full(len(to), place))
        written.append(to)
        read.append(np.full(len(to), operation.source.size) if by is None else by)
    none = np.zeros(0, np.intp)
    return (
        np.concatenate(places or [none]),
        np.concatenate(written or [none]),
        np.concatenate(read or [none]),
    )


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a picture that a convolution looks through, one for each number it writes."""

    channels: int
    height: int
    width: int
    kernel_height: int
    kernel_width: int
    stride: int
    padding: int

    @staticmethod
    def of(operation: Operation) -> Windows:
        """Those of a convolution."""
        return Windows(*map(int, operation.settings))

    @property
    def out_height(self) -> int:
        """How many windows there are from top to bottom."""
        return (self.height + 2 * self.padding - self.kernel_height) // self.stride + 1

    @property
    def out_width(self) -> int:
        """How many windows there are from left to right."""
        return (self.width + 2 * self.padding - self.kernel_width) // self.stride + 1

    @property
    def pixels(self) -> int:
        """How many windows there are."""
        return self.out_height * self.out_width

    def inputs_of(self, channel: int, line: int, column: int) -> tuple[Places, Places]:
        """The windows whose place (channel, line, column) lies on the picture, and its inputs."""
        y = np.arange(self.out_height) * self.stride - self.padding + line
        x = np.arange(self.out_width) * self.stride - self.padding + column
        rows = np.flatnonzero((y >= 0) & (y < self.height))
        columns = np.flatnonzero((x >= 0) & (x < self.width))
        windows = rows[:, np.newaxis] * self.out_width + columns
        places = (channel * self.height + y[rows][:, np.newaxis]) * self.width + x[columns]
        return windows.ravel(), places.ravel()


def no_shape(operation: Operation) -> Shape:
    """Of an operation without weights."""
    return ()


def one(operation: Operation) -> int:
    return 1


def none(operation: Operation) -> int:
    return 0


def all_outputs(operation: Operation) -> int:
    return operation.target.size


def no_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    """Of an operation without weights."""
    return np.arange(0), np.arange(0)


def affine_shape(operation: Operation) -> Shape:
    return operation.target.size, operation.source.size


def affine_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    output, column = divmod(place, operation.source.size)
    return np.array([output]), np.array([column])


def scale_shape(operation: Operation) -> Shape:
    return (operation.target.size // operation.outputs_per_bias,)


def scale_outputs_per_bias(operation: Operation) -> int:
    return int(operation.settings[0]) if operation.settings else 1


def scale_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    numbers = np.arange(
        place * operation.outputs_per_bias, (place + 1) * operation.outputs_per_bias
    )
    return numbers, numbers


def convolution_shape(operation: Operation) -> Shape:
    windows = Windows.of(operation)
    kernels = operation.target.size // windows.pixels
    return kernels, windows.channels, windows.kernel_height, windows.kernel_width


def convolution_outputs_per_bias(operation: Operation) -> int:
    return Windows.of(operation).pixels


def convolution_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    windows = Windows.of(operation)
    kernel, channel, line, column = (int(i) for i in np.unravel_index(place, operation.shape))
    written, read = windows.inputs_of(channel, line, column)
    return kernel * windows.pixels + written, read


def batch_norm_features(operation: Operation) -> int:
    return int(operation.settings[0])


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of operation.

    formulas    the table of its formulas, if it has several
    shape       the shape of its weights
    uses        where a weight is used, the weights being counted from its first
    memo        how many numbers a sample it must keep for its way back
    statistics  how many features it takes the mean of over the whole batch: all samples must have
                arrived before it can be done
    learning    whether it does something else while the network learns

    `outputs_per_bias` is how many numbers that it writes share a bias.
    """

    name: str
    meaning: str
    formulas: Mapping[str, object] | None = None
    shape: Callable[[Operation], Shape] = no_shape
    outputs_per_bias: Callable[[Operation], int] = one
    uses: Callable[[Operation, int], tuple[Places, Places]] = no_uses
    memo: Callable[[Operation], int] = none
    statistics: Callable[[Operation], int] = none
    learning: bool = False


KINDS = table(
    [
        Kind(
            "affine",
            "z = W x + b; W is outputs times inputs, row by row",
            shape=affine_shape,
            uses=affine_uses,
        ),
        Kind(
            "activation",
            "y = f(x), number by number; f is a row of ACTIVATIONS",
            formulas=ACTIVATIONS,
        ),
        Kind(
            "row",
            "y = f(x), a sample at a time; f is a row of ROW_FORMULAS",
            formulas=ROW_FORMULAS,
            memo=one,
        ),
        Kind(
            "scale",
            "y = w x + b, number by number, or so many numbers that share w and b",
            shape=scale_shape,
            outputs_per_bias=scale_outputs_per_bias,
            uses=scale_uses,
        ),
        Kind(
            "convolution",
            "z = W x + b for each window x of a picture; W is kernels times numbers in a window",
            shape=convolution_shape,
            outputs_per_bias=convolution_outputs_per_bias,
            uses=convolution_uses,
        ),
        Kind("branch", "y = x; what comes back to x is also what came back to the other buffer"),
        Kind("sum", "y = x + what the other buffer holds"),
        Kind(
            "dropout",
            "y = x times 0 or 1 / (1 - rate), by chance, while the network learns; else y = x",
            memo=all_outputs,
            learning=True,
        ),
        Kind(
            "batch_norm",
            "y = (x - mean) / deviation, a feature at a time, over the whole batch",
            memo=batch_norm_features,
            statistics=batch_norm_features,
            learning=True,
        ),
    ]
)
