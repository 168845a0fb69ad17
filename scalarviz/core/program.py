"""Program: a network as a table of operations and buffers, which engines run and pictures draw.

Each layer adds its operations in `lower`. Engines, pictures and files use only the program and do
not distinguish kinds of layers.

Every operation reads named buffers and writes another one; a buffer holds some numbers for each
sample, at an offset in the workspace. The parameters are rows of the bank.

A buffer is read by any number of "branch" operations, then by one other operation. In backward this
operation writes the gradient of the buffer, and each branch adds to it.

KINDS describes each kind of operation except for the kernels: engines read the parameter shape and
the count of numbers stored for backward; pictures and explanations read where a weight is used. A
new kind consists of a row of KINDS, a row of REFERENCES in engines/reference.py (its forward and
backward in Python), and kernels for each engine that compiles; other engines run the Python code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import FloatFunction, pick, table
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ROW_FORMULAS

NONE = -1  # first parameter row of an operation without parameters
OVERFLOW = -2  # instead of the row of a bad gradient: an update is not finite

Places = npt.NDArray[np.intp]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """`size` numbers for each sample, at an offset in the workspace.

    `shape` is (channels, height, width) for a picture, otherwise ().
    """

    name: str
    size: int
    offset: int
    shape: Shape = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on every sample of a batch, from buffers `sources` to buffer `target`.

    Attributes:
        sources: buffers read; backward computes a gradient for each
        weights, biases: first bank rows of its parameters, or NONE
        state: index of its first number in `bank.state`, or NONE
        held_by: bank rows of its layer, if running statistics stop while all these rows are frozen;
            otherwise empty
        layer: index of its layer in the network; `label` is this index as text, including the
            position in a residual, such as "2.1"
        own: the layer whose Python code runs an operation of the "own" kind; otherwise None
    """

    kind: str
    formula: str
    sources: tuple[Buffer, ...]
    target: Buffer
    weights: int = NONE
    biases: int = NONE
    settings: tuple[float, ...] = ()
    layer: int = 0
    label: str = ""
    state: int = NONE
    held_by: range = range(0)
    own: Any = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> Buffer:
        """The first buffer read; for most kinds the only one."""
        return self.sources[0]

    @property
    def about(self) -> Kind:
        """The row of KINDS that describes this kind of operation."""
        return SCALAR if self.kind == SCALAR.name else KINDS[self.kind]

    def is_held(self, frozen: npt.NDArray[np.bool_]) -> bool:
        """Return whether running statistics are not updated because the whole layer is frozen."""
        return bool(self.held_by) and bool(frozen[self.held_by].all())

    @property
    def formula_place(self) -> int:
        """Index of the formula in the table of this kind; 0 for kinds without formulas."""
        formulas = self.about.formulas
        return 0 if formulas is None else list(formulas).index(self.formula)

    @property
    def curve(self) -> FloatFunction:
        """The function of an activation."""
        return ACTIVATIONS[self.formula].value

    @property
    def windows(self) -> Windows:
        """The windows of a convolution."""
        return Windows.of(self)

    @property
    def name(self) -> str:
        """Name for display: "affine 0", "tanh 0"."""
        return f"{self.formula or self.kind} {self.label or self.layer}"

    @property
    def owner(self) -> str:
        """Name for messages: "Radial(2 -> 8) of layer 1", "'row' of layer 2.1"."""
        return f"{repr(self.kind) if self.own is None else self.own} of layer {self.label}"

    @property
    def shape(self) -> Shape:
        """Shape of the weights, with the perceptrons as first axis; () without weights."""
        return () if self.weights == NONE else self.about.shape(self)

    @property
    def outputs_per_bias(self) -> int:
        """Number of consecutive outputs that share a bias."""
        return self.about.outputs_per_bias(self)

    @property
    def parameters(self) -> range:
        """Bank rows of the weights and biases, which are consecutive."""
        if self.weights == NONE:
            return range(0)
        biases = self.target.size // self.outputs_per_bias if self.biases != NONE else 0
        return range(self.weights, self.weights + prod(self.shape) + biases)

    @property
    def products(self) -> int:
        """Number of multiplications by a parameter in the forward pass of one sample."""
        return len(self.parameters) * self.outputs_per_bias

    @property
    @lru_cache(maxsize=64)  # noqa: B019  # of few operations, which are small
    def all_uses(self) -> tuple[Places, Places, Places]:
        """Every use of every parameter, as three arrays: parameter, output, input.

        Parameters are numbered from the first parameter of the operation. The input of a bias is
        `source.size`, one past the inputs.
        """
        places, written, read = [], [], []
        for place, row in enumerate(self.parameters):
            to, by = self.uses(row)
            places.append(np.full(len(to), place))
            written.append(to)
            read.append(np.full(len(to), self.source.size) if by is None else by)
        none = np.zeros(0, np.intp)
        return (
            np.concatenate(places or [none]),
            np.concatenate(written or [none]),
            np.concatenate(read or [none]),
        )

    def uses(self, row: int) -> tuple[Places, Places | None]:
        """Return the outputs to which the parameter at `row` contributes, and its inputs.

        Both are arrays of buffer indices, which form pairs; the second is None for a bias.
        """
        if self.about.multiplies and self.biases != NONE and row >= self.biases:
            count = self.outputs_per_bias
            return np.arange(count) + (row - self.biases) * count, None
        return self.about.uses(self, row - self.weights)


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a picture in a convolution, one for each output pixel.

    Each kernel reads only the channels of its group.
    """

    channels: int
    height: int
    width: int
    kernel_height: int
    kernel_width: int
    stride_height: int
    stride_width: int
    padding_height: int
    dilation_height: int = 1
    dilation_width: int = 1
    groups: int = 1
    padding_width: int = 0

    @staticmethod
    def of(operation: Operation) -> Windows:
        """Return the windows of a convolution."""
        return Windows(*map(int, operation.settings))

    @property
    def seen_channels(self) -> int:
        """Number of channels in a window."""
        return self.channels // self.groups

    def first_channel(self, kernel: int, kernels: int) -> int:
        """Return the first channel that a kernel reads; `kernels` is the number of kernels."""
        return kernel * self.groups // kernels * self.seen_channels

    @property
    def extent(self) -> tuple[int, int]:
        """Height and width of a window in pixels of the picture."""
        return (
            (self.kernel_height - 1) * self.dilation_height + 1,
            (self.kernel_width - 1) * self.dilation_width + 1,
        )

    @property
    def out_height(self) -> int:
        """Number of windows from top to bottom."""
        return (self.height + 2 * self.padding_height - self.extent[0]) // self.stride_height + 1

    @property
    def out_width(self) -> int:
        """Number of windows from left to right."""
        return (self.width + 2 * self.padding_width - self.extent[1]) // self.stride_width + 1

    @property
    def left_over(self) -> tuple[int, int]:
        """Number of rows and columns of the padded picture beyond the last windows."""
        return (
            (self.height + 2 * self.padding_height - self.extent[0]) % self.stride_height,
            (self.width + 2 * self.padding_width - self.extent[1]) % self.stride_width,
        )

    @property
    def pixels(self) -> int:
        """Number of windows."""
        return self.out_height * self.out_width

    def inputs_of(self, channel: int, line: int, column: int) -> tuple[Places, Places]:
        """Return the windows in which a kernel weight is inside the picture, and its inputs.

        `channel` is a channel of the picture; `line` and `column` are a position in the window.
        """
        down, across = line * self.dilation_height, column * self.dilation_width
        y = np.arange(self.out_height) * self.stride_height - self.padding_height + down
        x = np.arange(self.out_width) * self.stride_width - self.padding_width + across
        rows = np.flatnonzero((y >= 0) & (y < self.height))
        columns = np.flatnonzero((x >= 0) & (x < self.width))
        windows = rows[:, np.newaxis] * self.out_width + columns
        places = (channel * self.height + y[rows][:, np.newaxis]) * self.width + x[columns]
        return windows.ravel(), places.ravel()


def no_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    """Return empty arrays, for kinds without weights that are factors of inputs."""
    return np.arange(0), np.arange(0)


def affine_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    output, column = divmod(place, operation.source.size)
    return np.array([output]), np.array([column])


def scale_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    numbers = np.arange(
        place * operation.outputs_per_bias, (place + 1) * operation.outputs_per_bias
    )
    return numbers, numbers


def parametric_counts(operation: Operation) -> list[int]:
    """Return the size of each parameter; `settings` gives how many outputs share one number."""
    return [operation.target.size // int(each) for each in operation.settings]


def convolution_shape(operation: Operation) -> Shape:
    windows = Windows.of(operation)
    kernels = operation.target.size // windows.pixels
    return kernels, windows.seen_channels, windows.kernel_height, windows.kernel_width


def convolution_uses(operation: Operation, place: int) -> tuple[Places, Places]:
    windows = Windows.of(operation)
    kernel, channel, line, column = (int(i) for i in np.unravel_index(place, operation.shape))
    channel += windows.first_channel(kernel, operation.shape[0])
    written, read = windows.inputs_of(channel, line, column)
    return kernel * windows.pixels + written, read


def places_of(operation: Operation) -> int:
    """Return the number of places of a sequence at which an operation uses a formula."""
    return int(operation.settings[-1])


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of operation; the functions get an Operation.

    Attributes:
        formulas: table of formulas, for kinds that have several
        shape: shape of the weights
        outputs_per_bias: number of consecutive outputs that share a bias
        uses: outputs and inputs of a weight, given its index; see `Operation.uses`
        memo: count of numbers per sample stored for backward
        statistics: number of features averaged over all samples of a batch; 0 for most kinds
        learning: whether the operation differs between training and evaluation
    """

    name: str
    meaning: str
    formulas: Mapping[str, object] | None = None
    shape: Callable[[Operation], Shape] = lambda operation: ()
    outputs_per_bias: Callable[[Operation], int] = lambda operation: 1
    uses: Callable[[Operation, int], tuple[Places, Places]] = no_uses
    memo: Callable[[Operation], int] = lambda operation: 0
    statistics: Callable[[Operation], int] = lambda operation: 0
    learning: bool = False

    @property
    def multiplies(self) -> bool:
        """Whether its weights are factors of inputs, so that gradients are sums of products."""
        return self.uses is not no_uses


KINDS = table(
    [
        Kind(
            "affine",
            "z = W x + b; W is outputs times inputs, row by row",
            shape=lambda operation: (operation.target.size, operation.source.size),
            uses=affine_uses,
        ),
        Kind(
            "activation",
            "y = f(x), elementwise",
            formulas=ACTIVATIONS,
        ),
        Kind(
            "row",
            "y = f(x), sample by sample",
            formulas=ROW_FORMULAS,
            memo=lambda operation: 1,
        ),
        Kind(
            "each_place",
            "y = f(x) of the numbers of each place of a sequence",
            formulas=ROW_FORMULAS,
            outputs_per_bias=places_of,
            memo=places_of,
        ),
        Kind(
            "embedding",
            "y = row x of W, at each place of a sequence, plus the bias of each number",
            shape=lambda operation: (
                int(operation.settings[0]),
                operation.target.size // operation.source.size,
            ),
        ),
        Kind(
            "scale",
            "y = w x + b, elementwise; consecutive numbers may share w and b",
            shape=lambda operation: (operation.target.size // operation.outputs_per_bias,),
            outputs_per_bias=lambda operation: (
                int(operation.settings[0]) if operation.settings else 1
            ),
            uses=scale_uses,
        ),
        Kind(
            "parametric",
            "y = f(x, w, ...), elementwise; consecutive numbers may share a w",
            formulas=PARAMETRIC_FORMULAS,
            shape=lambda operation: (sum(parametric_counts(operation)),),
            # Kernels store the parameters of each output.
            memo=lambda operation: len(operation.settings) * operation.target.size,
        ),
        Kind(
            "convolution",
            "z = W x + b for each window x of a picture; W is kernels times numbers in a window",
            shape=convolution_shape,
            outputs_per_bias=lambda operation: Windows.of(operation).pixels,
            uses=convolution_uses,
        ),
        Kind("branch", "y = x; the gradient of y is added to the gradient of x"),
        Kind("sum", "y = x + the second buffer"),
        Kind("product", "y = x times the second buffer, elementwise"),
        Kind("concatenation", "y = x, followed by the second buffer"),
        Kind(
            "dropout",
            "y = x times 0 or 1 / (1 - rate), at random, in training; y = x in evaluation",
            memo=lambda operation: operation.target.size,
            learning=True,
        ),
        Kind(
            "batch_norm",
            "y = (x - mean) / deviation of each feature over the whole batch",
            memo=lambda operation: int(operation.settings[0]),  # features
            statistics=lambda operation: int(operation.settings[0]),
            learning=True,
        ),
        Kind(
            "own",
            "y = what the Python of the layer returns for x",
            shape=lambda operation: tuple(map(int, operation.settings)),
        ),
    ]
)

# The operations of compiled functions, which have separate engines.
SCALAR = Kind("scalar", "y = f(x, ...), on numbers of a sample")


MOST_LINES = 200  # rows of a printed table


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry of a training step; the clock of a session is between two moments.

    Attributes:
        kind: zero_grad, forward, loss, delta, weight gradient, input gradient, or step
        phase: zero_grad, forward, loss, backward, or step
        name: name in displays: "affine 0", "delta 1", "weight gradient 1"
        operation: index of its operation in the program, or NONE
        layer: index of the layer of that operation, or NONE
        values: buffers whose values it writes
        gradients: buffers for which it writes the gradient of the loss with respect to their values
    """

    kind: str
    phase: str
    name: str
    operation: int = NONE
    layer: int = NONE
    values: tuple[Buffer, ...] = ()
    gradients: tuple[Buffer, ...] = ()

    def flows_into(self, operation: Operation) -> bool:
        """Return whether this moment writes the gradient of a buffer that an operation reads."""
        return not set(operation.sources).isdisjoint(self.gradients)


class Program:
    """Operations in execution order, and the buffers between them.

    `buffers[0]` holds the inputs; `outputs` is written by the last operation.

    Args:
        inputs: number of inputs of a sample
    """

    is_graph = (
        False  # whether each operation computes one number from others, as in a compiled function
    )

    is_chain = False  # whether each bias follows the weights of its neuron

    def __init__(self, inputs: int) -> None:
        self.buffers: list[Buffer] = []
        self.operations: list[Operation] = []
        self.workspace = 0  # size, in numbers per sample
        self.layer = 0
        self.part = ""  # position within a composite layer, such as ".1"
        self.outputs = self.buffer("inputs", inputs)

    @property
    def inputs(self) -> Buffer:
        """The buffer of the input batch."""
        return self.buffers[0]

    def buffer(self, name: str, size: int, shape: Shape = ()) -> Buffer:
        """Add a buffer of `size` numbers per sample and return it."""
        made = Buffer(name, size, self.workspace, shape)
        self.workspace += size
        self.buffers.append(made)
        return made

    def add(
        self,
        kind: str,
        formula: str = "",
        *,
        size: int,
        weights: int = NONE,
        biases: int = NONE,
        settings: tuple[float, ...] = (),
        shape: Shape = (),
        sources: tuple[Buffer, ...] = (),
        state: int = NONE,
        held_by: range = range(0),
        own: object = None,
    ) -> Buffer:
        """Append an operation, which by default reads the outputs; return the buffer it writes.

        Raises:
            InputError: if the program already has an operation of this name.
        """
        formulas = pick(KINDS, kind, "kind of operation").formulas
        if formulas is not None:
            pick(formulas, formula, f"formula of the kind {kind}")
        label = f"{self.layer}{self.part}"
        target = self.buffer(f"{formula or kind} {label}", size, shape)
        require(
            target.name not in [each.target.name for each in self.operations],
            f"layer {label} has two operations named {target.name!r}: write "
            'program.part += ".1" before the second one, or give its formula another name',
        )
        ours = weights, biases, settings, self.layer, label, state, held_by, own
        self.operations.append(Operation(kind, formula, sources or (self.outputs,), target, *ours))
        self.outputs = target
        return target

    def set_shape(self, shape: Shape) -> None:
        """Set the shape of the current outputs, (channels, height, width); () changes nothing."""
        if not shape:
            return
        seen, known = replace(self.outputs, shape=shape), self.outputs
        self.buffers[self.buffers.index(known)] = seen
        for i, operation in enumerate(self.operations):
            target = seen if operation.target == known else operation.target
            sources = tuple(seen if each == known else each for each in operation.sources)
            self.operations[i] = replace(operation, target=target, sources=sources)
        self.outputs = seen

    def branch(self, shape: Shape = ()) -> Buffer:
        """Start a branch on a copy of the outputs; return the outputs, for another operation.

        `shape` is the shape of the outputs, if known.
        """
        self.set_shape(shape)
        source = self.outputs
        self.add("branch", size=source.size, shape=source.shape)
        return source

    @property
    def given(self) -> list[Buffer]:
        """The buffers that are not written by an operation."""
        return [self.inputs]

    def rows_read(self, operation: int) -> Sequence[int]:
        """Return the bank indices of the parameters of an operation."""
        return self.operations[operation].parameters

    def readers(self, buffer: Buffer) -> list[Operation]:
        """Return the operations that read a buffer: its branches, then its final reader."""
        return [each for each in self.operations if buffer in each.sources]

    @cached_property
    def affines(self) -> list[Operation]:
        """The "scale" operations of Affine layers, which have no other operation."""
        counts = Counter(each.label for each in self.operations)
        return [each for each in self.operations if each.kind == "scale" and counts[each.label] < 2]

    @cached_property
    def apart(self) -> dict[int, Operation]:
        """The operations with a scale of their parameters: Affine layers and recorded modules."""
        affines = {id(each) for each in self.affines}
        return {
            i: each
            for i, each in enumerate(self.operations)
            if id(each) in affines or (each.kind == "own" and each.formula == "module")
        }

    @cached_property
    def raw(self) -> dict[str, str]:
        """Map inputs or outputs scaled by an Affine to the buffer on its other side, by name."""
        sides = [(each.source, each.target) for each in self.affines]
        ends = self.inputs, self.outputs
        return {x.name: y.name for a, b in sides for x, y in ((a, b), (b, a)) if x in ends}

    @cached_property
    def products(self) -> int:
        """Number of multiplications by a parameter in the forward pass of one sample."""
        return sum(each.products for each in self.operations)

    @cached_property
    def most_products(self) -> int:
        """Largest number of multiplications by a parameter in one operation, per sample."""
        return max((each.products for each in self.operations), default=0)

    @cached_property
    def first_parameters(self) -> int:
        """Index of the first operation with parameters, at which backward stops."""
        return next(
            (i for i, operation in enumerate(self.operations) if operation.parameters),
            len(self.operations),
        )

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """All moments of a training step, in the order followed by all engines.

        zero_grad; the forward of each operation; loss; the backward of each operation, from last to
        first: as needed, delta (gradient with respect to the sums), weight gradient and input
        gradient; step.
        """
        last = len(self.operations) - 1
        learned: set[Buffer] = set()  # buffers that depend on a parameter
        for operation in self.operations:
            if operation.parameters or learned.intersection(operation.sources):
                learned.add(operation.target)
        forward = [
            Moment("forward", "forward", operation.name, i, operation.layer, (operation.target,))
            for i, operation in enumerate(self.operations)
        ]
        backward = []
        for i, operation in reversed(list(enumerate(self.operations))):
            needed = tuple(source for source in operation.sources if source in learned)
            by_sums: tuple[Buffer, ...] = (self.outputs,) if i == last else ()
            steps: list[tuple[str, str, tuple[Buffer, ...]]] = []
            if operation.kind == "activation":
                by_sums, needed = by_sums + needed, ()
            if by_sums:
                steps.append(("delta", "delta", by_sums))
            if operation.parameters:
                steps.append(("weight gradient", "weight gradient", ()))
            if needed:
                own = f"{operation.formula or operation.kind} gradient"
                label = "input gradient" if operation.parameters else own
                steps.append(("input gradient", label, needed))
            for kind, label, gradients in steps:
                name, place = f"{label} {operation.label}", (i, operation.layer)
                backward.append(Moment(kind, "backward", name, *place, gradients=gradients))
        return (
            Moment("zero_grad", "zero_grad", "zero_grad"),
            *forward,
            Moment("loss", "loss", "loss"),
            *backward,
            Moment("step", "step", "step"),
        )

    def __repr__(self) -> str:
        head = (
            f"Program: {len(self.operations)} operations, "
            f"{self.inputs.size} -> {self.outputs.size}, "
            f"workspace of {self.workspace} numbers a sample"
        )
        lines = [("", "operation", "reads", "writes", "shape", "parameters")]
        for i, operation in enumerate(self.operations[:MOST_LINES]):
            rows = operation.parameters
            lines.append(
                (
                    str(i),
                    operation.name,
                    ", ".join(each.name for each in operation.sources),
                    operation.target.name,
                    f"{', '.join(str(each.size) for each in operation.sources)}"
                    f" -> {operation.target.size}",
                    f"{rows.start} to {rows.stop - 1}" if rows else "-",
                )
            )
        more = len(self.operations) - MOST_LINES
        return "\n".join([head, *columns(lines), *([f"... and {more:,} more"] if more > 0 else [])])


def columns(
    lines: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.ljust
) -> list[str]:
    """Format rows of cells as lines of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(align, line, widths)).rstrip() for line in lines]
