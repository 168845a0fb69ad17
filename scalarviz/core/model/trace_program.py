"""The program of a compiled function: the nodes of its graph, and the moments of a step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.core.model.folding import Node, folded, operands_of_node
from scalarviz.core.model.operations import SCALAR, Buffer, Operation
from scalarviz.core.model.program import Moment, Program
from scalarviz.core.model.trace import Trace

MOST_NODES = 300


@final
class TraceProgram(Program):
    """The program of a compiled function: nodes, each of which is an operation or several.

    A step goes from node to node, forward and back. The workspace has one number for each value of
    the trace, in order.

    trace  the function as a table
    rows   rows of the bank that hold its parameters
    """

    is_graph = True

    def __init__(self, trace: Trace, rows: npt.NDArray[np.intp]) -> None:
        super().__init__(trace.inputs)
        del self.operations  # made on access
        self.trace = trace
        self.rows = rows
        self.outputs = self.buffer("outputs", len(trace.outputs))
        self.workspace = trace.first_made + len(trace.operations)

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes that its graph is shown as."""
        return folded(self.trace, MOST_NODES)

    @cached_property
    def operations(self) -> list[Operation]:  # type: ignore[override]  # it can be set as well
        """The nodes as operations."""
        formulas, found = self.trace.formulas, []
        for i, node in enumerate(self.nodes):
            taken = [self.node(place) for place in operands_of_node(self.trace, node)]
            sources = taken if len(node.members) == 1 else dict.fromkeys(taken)
            name, target = formulas[node.root].name, self.node(self.trace.first_made + node.root)
            found.append(Operation(SCALAR.name, name, (*sources,), target, label=str(i)))
        return found

    def node(self, place: int) -> Buffer:
        """Return the buffer of a value of the trace; of a node of several results, that of all."""
        if place < self.trace.first_made:
            name = self.trace.name(place)  # a parameter may be labelled as the outputs are called
            return Buffer(f"{name} " if name == self.outputs.name else name, 1, place)
        roots = self._results.get(place, [place])
        return Buffer(f"[{roots[-1] - self.trace.first_made}]", len(roots), roots[-1])

    def places_of(self, buffer: Buffer) -> Sequence[int]:
        """Return the places in the trace of the numbers of a buffer."""
        if buffer == self.outputs:
            return self.trace.outputs
        last = buffer.offset + buffer.size
        return self._results.get(buffer.offset, range(buffer.offset, last))

    @cached_property
    def _results(self) -> dict[int, list[int]]:
        """The places of all results of a node that has several, by the place of each."""
        first = self.trace.first_made
        several = [[first + i for i in node.roots] for node in self.nodes if node.count > 1]
        return {place: roots for roots in several for place in roots}

    @cached_property
    def node_at(self) -> dict[int, int]:
        """The number of the node with a result, by the place of that."""
        first = self.trace.first_made
        return {first + root: i for i, node in enumerate(self.nodes) for root in node.roots}

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The places of inputs and results of nodes, by the names of their buffers."""
        results = {each.target.name: each.target.offset for each in self.operations}
        return {**{self.trace.name(i): i for i in range(self.trace.inputs)}, **results}

    @property
    def given(self) -> list[Buffer]:
        return [self.inputs, *map(self.node, range(self.trace.inputs))]

    def rows_read(self, operation: int) -> Sequence[int]:
        first, end = self.trace.first_parameter, self.trace.first_made
        taken = {each.offset for each in self.operations[operation].sources}
        return [int(self.rows[each - first]) for each in taken if first <= each < end]

    @cached_property
    def products(self) -> int:
        """Number of operations of the trace, for one sample."""
        return len(self.trace.operations)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """Each node forward, the loss, and back to what each node takes."""
        made = self.operations
        forward, backward = list[Moment](), list[Moment]()
        ends = [self.node(place) for place in dict.fromkeys(self.trace.outputs)]
        for i, each in enumerate(made):
            written = each.target, *([self.outputs] if i == len(made) - 1 else [])
            forward.append(Moment("forward", "forward", each.name, i, values=written))
            name, read = f"{each.formula} gradient {each.label}", each.sources
            backward.append(Moment("operand gradient", "backward", name, i, gradients=read))
        return (
            Moment("zero_grad", "zero_grad", "zero_grad"),
            *forward,
            Moment("loss", "loss", "loss", gradients=(self.outputs, *ends)),
            *reversed(backward),
            Moment("step", "step", "step"),
        )
