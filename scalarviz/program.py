"""Program: a network as a short table of operations, for whoever runs it, draws it or stores it.

Each layer says once, in `lower`, which operations it is made of. From then on nobody asks a layer
what it is: engines run the operations, the picture lays them out, files store them.

Every operation reads one named buffer and writes another; a buffer holds some numbers for each
sample, at an offset in the workspace. The parameters are rows of the bank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from scalarviz.displays.program import program_html
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.formulas.table import pick

KINDS = {
    "affine": "z = W x + b; W is outputs times inputs, row by row",
    "activation": "y = f(x), number by number; f is a row of ACTIVATIONS",
    "row": "y = f(x), a sample at a time; f is a row of ROW_FORMULAS",
    "scale": "y = w x + b, number by number",
}
FORMULAS: Mapping[str, Mapping[str, object]] = {"activation": ACTIVATIONS, "row": ROW_FORMULAS}
NONE = -1  # the place of parameters that are not there


@dataclass(frozen=True, slots=True)
class Buffer:
    """Some numbers for each sample, at an offset in the workspace."""

    name: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that is done to every sample.

    `weights` and `biases` are the first rows of its parameters in the bank, or NONE; `layer` is the
    place in the network of the layer that it belongs to.
    """

    kind: str
    formula: str
    source: Buffer
    target: Buffer
    weights: int = NONE
    biases: int = NONE
    settings: tuple[float, ...] = ()
    layer: int = 0

    @property
    def name(self) -> str:
        """What it is called where its progress is shown: "affine 0", "tanh 0"."""
        return f"{self.formula or self.kind} {self.layer}"

    @property
    def parameters(self) -> range:
        """The rows of its weights and its biases, which stand one after the other in the bank."""
        if self.weights == NONE:
            return range(0)
        count = self.target.size * (self.source.size if self.kind == "affine" else 1)
        return range(self.weights, self.weights + count + (self.biases != NONE) * self.target.size)


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that is done in a training step; a clock stands before or after it.

    kind        zero_grad, forward, loss, delta, weight gradient, input gradient, or step
    phase       zero_grad, forward, loss, backward, or step
    name        what is shown: "affine 0", "delta 1", "weight gradient 1"
    operation   the place of the operation in the program, and `layer` that of its layer; or NONE
    """

    kind: str
    phase: str
    name: str
    operation: int = NONE
    layer: int = NONE


class Program:
    """Operations in the order in which they run, the buffers between them, and their workspace.

    `buffers[0]` holds the inputs; what the last operation writes are the outputs.
    """

    def __init__(self, inputs: int) -> None:
        self.buffers: list[Buffer] = []
        self.operations: list[Operation] = []
        self.workspace = 0  # numbers a sample
        self.layer = 0
        self.outputs = self.buffer("inputs", inputs)

    @property
    def inputs(self) -> Buffer:
        """The buffer that a batch is written into."""
        return self.buffers[0]

    def buffer(self, name: str, size: int) -> Buffer:
        """A new buffer of `size` numbers a sample."""
        made = Buffer(name, size, self.workspace)
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
    ) -> Buffer:
        """One more operation, on what the last one wrote; the buffer it writes, `size` a sample."""
        pick(KINDS, kind, "kind of operation")
        if kind in FORMULAS:
            pick(FORMULAS[kind], formula, f"formula of the kind {kind}")
        source = self.outputs
        self.outputs = self.buffer(f"{formula or kind} {self.layer}", size)
        self.operations.append(
            Operation(kind, formula, source, self.outputs, weights, biases, settings, self.layer)
        )
        return self.outputs

    @cached_property
    def first_parameters(self) -> int:
        """The first operation with parameters; nobody needs the gradient by what it reads."""
        places = [i for i, operation in enumerate(self.operations) if operation.parameters]
        return places[0] if places else len(self.operations)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """What is done in a training step, in the one order that is the same everywhere.

        zero_grad; every operation forward; the loss; every operation backward, from the last to the
        first: the delta, which is the gradient by the sums, then the gradients by the weights, then
        by the inputs, as far as somebody needs them; step.
        """
        last = len(self.operations) - 1
        forward = [
            Moment("forward", "forward", operation.name, i, operation.layer)
            for i, operation in enumerate(self.operations)
        ]
        backward = []
        for i, operation in reversed(list(enumerate(self.operations))):
            layer = operation.layer
            steps = [("weight gradient", "weight gradient")] if operation.parameters else []
            if operation.kind != "activation" and i > self.first_parameters:
                row = operation.kind == "row"
                label = f"{operation.formula} gradient" if row else "input gradient"
                steps.append(("input gradient", label))
            if i == last or (operation.kind == "activation" and i > self.first_parameters):
                steps.insert(0, ("delta", "delta"))
            for kind, label in steps:
                backward.append(Moment(kind, "backward", f"{label} {layer}", i, layer))
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
        for i, operation in enumerate(self.operations):
            rows = operation.parameters
            lines.append(
                (
                    str(i),
                    operation.name,
                    operation.source.name,
                    operation.target.name,
                    f"{operation.source.size} -> {operation.target.size}",
                    f"{rows.start} to {rows.stop - 1}" if rows else "-",
                )
            )
        return "\n".join([head, *columns(lines)])

    def _repr_html_(self) -> str:
        return program_html(self)


def columns(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of cells as lines of text, every column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
