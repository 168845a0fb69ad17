"""What is drawn of the graph of a compiled function: nodes, inputs, parameters, and edges."""

from __future__ import annotations

from typing import final

from scalarviz.core.trace_program import TraceProgram

MANY = 20  # parameters that a node takes, of which it has edges


@final
class Graph:
    """What is drawn of a compiled function: inputs, parameters and nodes, by place in the trace.

    A node has the place of its result. Where nodes are several operations, parameters that only one
    of them takes stand before it, and others that the same nodes take are one block. A node that
    takes most parameters of all, as a sum of their squares, has a word for that and no edges.

    taken   what each takes, for all that is drawn
    blocks  bank indices of the parameters at each place: of a block, or before a node
    all     how many parameters such a node takes, by its place
    """

    def __init__(self, program: TraceProgram) -> None:
        trace, self.program = program.trace, program
        self.taken: dict[int, list[int]] = {}
        self.blocks: dict[int, list[int]] = {}
        self.all: dict[int, int] = {}
        is_folded = any(len(node.members) > 1 for node in program.nodes)
        readers: dict[int, list[int]] = {}
        for operation in program.operations:
            sources = [each.offset for each in dict.fromkeys(operation.sources)]
            drawn = [each for each in sources if not trace.inputs <= each < trace.first_parameter]
            self.taken[operation.target.offset] = drawn
            for each in drawn:
                readers.setdefault(each, []).append(operation.target.offset)
        parameters = range(trace.first_parameter, trace.first_made)
        for reader, drawn in self.taken.items():
            count = sum(each in parameters for each in drawn)
            if is_folded and len(self.taken) > 1 and count > max(MANY, 0.5 * len(parameters)):
                self.all[reader] = count
                self.taken[reader] = [each for each in drawn if each not in parameters]
        for each in parameters:
            others = [x for x in readers.get(each, []) if x not in self.all]
            readers[each] = others or readers.get(each, [])[:1]
        at: dict[tuple[int, ...], int] = {}  # places of blocks, by what takes them
        for each in parameters:
            row, own = int(program.rows[each - trace.first_parameter]), readers.get(each, [])
            place = each
            if is_folded:
                place = own[0] if len(own) == 1 else at.setdefault((*own,), each)
            self.blocks.setdefault(place, []).append(row)
            for reader in own:
                kept = [place if x == each else x for x in self.taken[reader]]
                self.taken[reader] = [x for x in dict.fromkeys(kept) if x != reader]
        for places in [*self.taken.values()]:
            self.taken |= {each: [] for each in places if each not in self.taken}
        alone = [*self.blocks, *(each for each in trace.outputs if each < trace.inputs)]
        self.taken |= {each: [] for each in alone if each not in self.taken}

    def is_node(self, place: int) -> bool:
        return place >= self.program.trace.first_made

    def in_order(self) -> list[int]:
        """Return all that is drawn as the formula has it, each after what it takes."""
        outputs = [self.program.node(each).offset for each in self.program.trace.outputs]
        found, begun = dict[int, None](), set[int]()
        waiting = [*self.taken, *(each for each in reversed(outputs) if each in self.taken)]
        while waiting:
            place = waiting[-1]
            if place in begun:
                waiting.pop()
                found[place] = None
            else:
                begun.add(place)
                waiting += reversed([each for each in self.taken[place] if each not in begun])
        return [*found]
