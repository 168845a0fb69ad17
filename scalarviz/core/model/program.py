"""Program: a network as a table of operations and buffers, which engines run and the view draws.

Each layer adds its operations in `lower`. Engines, pictures and files work on the program alone and
need no case for a kind of layer.

Every operation reads named buffers and writes another; a buffer holds some numbers for each
sample, at an offset in the workspace. The parameters are rows of the bank.

A buffer is read by any number of operations of the kind "branch", then by one other operation. In
backward that one writes the gradient of the buffer, and each branch adds to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scalarviz.core.formulas.table import pick
from scalarviz.core.model.operations import KINDS, NONE, Buffer, Operation, Shape

MOST_LINES = 200  # of a table that is printed


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry of a training step; the clock of a session stands between two moments.

    kind        zero_grad, forward, loss, delta, weight gradient, input gradient, or step
    phase       zero_grad, forward, loss, backward, or step
    name        name in displays: "affine 0", "delta 1", "weight gradient 1"
    operation   index of its operation in the program, or NONE
    layer       index of the layer of that operation, or NONE
    values      buffers whose values it writes
    gradients   buffers whose gradients it writes: of the loss, with respect to their values
    """

    kind: str
    phase: str
    name: str
    operation: int = NONE
    layer: int = NONE
    values: tuple[Buffer, ...] = ()
    gradients: tuple[Buffer, ...] = ()

    def flows_into(self, operation: Operation) -> bool:
        """Return whether it writes the gradient of a buffer that the operation reads."""
        return not set(operation.sources).isdisjoint(self.gradients)


class Program:
    """Operations in the order in which they run, and the buffers between them.

    `buffers[0]` holds the inputs, `outputs` what the last operation writes.

    inputs  number of inputs of a sample
    """

    is_graph = (
        False  # whether each operation computes one number of numbers, of a compiled function
    )

    def __init__(self, inputs: int) -> None:
        self.buffers: list[Buffer] = []
        self.operations: list[Operation] = []
        self.workspace = 0  # size, in numbers a sample
        self.layer = 0
        self.part = ""  # place within a layer that is made of layers, such as ".1"
        self.outputs = self.buffer("inputs", inputs)

    @property
    def inputs(self) -> Buffer:
        """The buffer of the input batch."""
        return self.buffers[0]

    def buffer(self, name: str, size: int, shape: Shape = ()) -> Buffer:
        """Add a buffer of `size` numbers a sample and return it."""
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
        """Append an operation; return the buffer it writes. By default it reads the outputs."""
        formulas = pick(KINDS, kind, "kind of operation").formulas
        if formulas is not None:
            pick(formulas, formula, f"formula of the kind {kind}")
        label = f"{self.layer}{self.part}"
        target = self.buffer(f"{formula or kind} {label}", size, shape)
        ours = weights, biases, settings, self.layer, label, state, held_by, own
        read = sources or (self.outputs,)
        self.operations.append(Operation(kind, formula, read, target, *ours))
        self.outputs = target
        return target

    def set_shape(self, shape: Shape) -> None:
        """Set the shape of the present outputs: (channels, height, width)."""
        seen, known = replace(self.outputs, shape=shape), self.outputs
        self.buffers[self.buffers.index(known)] = seen
        for i, operation in enumerate(self.operations):
            target = seen if operation.target == known else operation.target
            sources = tuple(seen if each == known else each for each in operation.sources)
            self.operations[i] = replace(operation, target=target, sources=sources)
        self.outputs = seen

    def branch(self, shape: Shape = ()) -> Buffer:
        """Start a branch, which reads a copy of the outputs; return these, to be read once more.

        `shape` is that of the outputs, if it is known.
        """
        if shape:
            self.set_shape(shape)
        source = self.outputs
        self.add("branch", size=source.size, shape=source.shape)
        return source

    @property
    def given(self) -> list[Buffer]:
        """The buffers that no operation writes."""
        return [self.inputs]

    def rows_read(self, operation: int) -> Sequence[int]:
        """Return the bank indices of the parameters of an operation."""
        return self.operations[operation].parameters

    def readers(self, buffer: Buffer) -> list[Operation]:
        """Return the operations that read a buffer: its branches, then the one that goes on."""
        return [each for each in self.operations if buffer in each.sources]

    @cached_property
    def affines(self) -> list[Operation]:
        """The operations of Affine layers: a scale that is all that its layer does."""
        counts = Counter(each.label for each in self.operations)
        return [each for each in self.operations if each.kind == "scale" and counts[each.label] < 2]

    @cached_property
    def raw(self) -> dict[str, str]:
        """The name of the inputs, or outputs, that an Affine scales, and of its other buffer."""
        sides = [(each.source, each.target) for each in self.affines]
        ends = self.inputs, self.outputs
        return {x.name: y.name for a, b in sides for x, y in ((a, b), (b, a)) if x in ends}

    @cached_property
    def products(self) -> int:
        """Number of multiplications of a parameter in the forward pass of one sample."""
        return sum(each.products for each in self.operations)

    @cached_property
    def most_products(self) -> int:
        """The most of these multiplications of one operation."""
        return max((each.products for each in self.operations), default=0)

    @cached_property
    def first_parameters(self) -> int:
        """Index of the first operation with parameters; backward stops there."""
        places = [i for i, operation in enumerate(self.operations) if operation.parameters]
        return places[0] if places else len(self.operations)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """All moments of a training step, in the order that all engines keep.

        zero_grad; each operation forward; loss; each operation backward, from the last to the
        first: delta (gradient with respect to the sums), weight gradient, input gradient, as far as
        they are needed; step.
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


def columns(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Format rows of cells as lines of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
