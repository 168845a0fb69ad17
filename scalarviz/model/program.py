"""Program: a network as a short table of operations, for whoever runs it, draws it or stores it.

Each layer says once, in `lower`, which operations it is made of. From then on nobody asks a layer
what it is: engines run the operations, the picture lays them out, files store them.

Every operation reads one named buffer and writes another; a buffer holds some numbers for each
sample, at an offset in the workspace. The parameters are rows of the bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scalarviz.formulas.table import pick
from scalarviz.leaf_calls import program_html
from scalarviz.model.operations import KINDS, NONE, Buffer, Operation, Shape


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that is done in a training step; a clock stands before or after it.

    kind        zero_grad, forward, loss, delta, weight gradient, input gradient, or step
    phase       zero_grad, forward, loss, backward, or step
    name        what is shown: "affine 0", "delta 1", "weight gradient 1"
    operation   the place of the operation in the program, and `layer` that of its layer; or NONE
    values      the buffers whose numbers it writes
    gradients   the buffers whose gradients, of the loss by their numbers, it writes
    """

    kind: str
    phase: str
    name: str
    operation: int = NONE
    layer: int = NONE
    values: tuple[Buffer, ...] = ()
    gradients: tuple[Buffer, ...] = ()


class Program:
    """Operations in the order in which they run, the buffers between them, and their workspace.

    `buffers[0]` holds the inputs; what the last operation writes are the outputs.
    """

    def __init__(self, inputs: int) -> None:
        self.buffers: list[Buffer] = []
        self.operations: list[Operation] = []
        self.workspace = 0  # numbers a sample
        self.layer = 0
        self.part = ""  # which part of a layer that is made of layers: ".1"
        self.outputs = self.buffer("inputs", inputs)

    @property
    def inputs(self) -> Buffer:
        """The buffer that a batch is written into."""
        return self.buffers[0]

    def buffer(self, name: str, size: int, shape: Shape = ()) -> Buffer:
        """A new buffer of `size` numbers a sample."""
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
        other: Buffer | None = None,
        state: int = NONE,
        held_by: range = range(0),
    ) -> Buffer:
        """One more operation, on what the last one wrote; the buffer it writes, `size` a sample."""
        formulas = pick(KINDS, kind, "kind of operation").formulas
        if formulas is not None:
            pick(formulas, formula, f"formula of the kind {kind}")
        source, label = self.outputs, f"{self.layer}{self.part}"
        target = self.buffer(f"{formula or kind} {label}", size, shape)
        ours = weights, biases, settings, self.layer, label, other, state, held_by
        self.operations.append(Operation(kind, formula, source, target, *ours))
        self.outputs = target
        return target

    def set_shape(self, shape: Shape) -> None:
        """Note that what the last operation wrote is a picture of this shape."""
        seen, known = replace(self.outputs, shape=shape), self.outputs
        self.buffers[self.buffers.index(known)] = seen
        for i, operation in enumerate(self.operations):
            if operation.target == known:
                self.operations[i] = replace(operation, target=seen)
            elif operation.other == known:
                self.operations[i] = replace(operation, other=seen)
        self.outputs = seen

    def branch(self) -> int:
        """From here on there are two ways: the next operations, and straight to a `join`."""
        self.add("branch", size=self.outputs.size, shape=self.outputs.shape)
        return len(self.operations) - 1

    def join(self, branch: int) -> None:
        """The two ways from a branch on come together: their numbers are added."""
        source = self.operations[branch].source
        self.add("sum", size=source.size, shape=source.shape, other=source)
        self.operations[branch] = replace(self.operations[branch], other=self.outputs)

    @cached_property
    def products(self) -> int:
        """How many products of a parameter and a number one sample takes."""
        return sum(len(each.parameters) * each.outputs_per_bias for each in self.operations)

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
            Moment("forward", "forward", operation.name, i, operation.layer, (operation.target,))
            for i, operation in enumerate(self.operations)
        ]
        backward = []
        for i, operation in reversed(list(enumerate(self.operations))):
            needed: tuple[Buffer, ...] = (operation.source,) if i > self.first_parameters else ()
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
