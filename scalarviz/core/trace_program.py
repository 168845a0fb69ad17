"""The program of a compiled function: nodes of its graph, their numbers, formulas and moments.

A small graph has one node for each operation. In a larger graph (or a medium-sized graph with named
parts), an operation that only one other operation uses is merged into that operation, so that a
neuron (products, sum and activation) is one node. Nodes with the same formula and parameters are
merged, such as one node for each sample of a batch. If there are still too many nodes, nodes with
the same formula are merged, such as the neurons of a layer, and finally consecutive nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from scalarviz.base.messages import shortened
from scalarviz.core.bank_arrays import Wall
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.program import NONE, SCALAR, Buffer, Moment, Operation, Program
from scalarviz.core.trace import Trace
from scalarviz.core.value_graph import NAME, PRECEDENCE, spelled

MOST_NODES = 300


@final
class TraceProgram(Program):
    """The program of a compiled function: nodes of one or several operations.

    A step visits the nodes forward, then backward. The workspace has one number for each value of
    the trace, in order.

    Args:
        trace: the function as a table
        rows: rows of the bank that hold its parameters
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
        """The nodes shown in the graph."""
        return folded(self.trace, MOST_NODES)

    @cached_property
    def operations(self) -> list[Operation]:  # type: ignore[override]  # it can also be set
        """The nodes as operations."""
        formulas, found = self.trace.formulas, []
        for i, node in enumerate(self.nodes):
            taken = [self.node(place) for place in operands_of_node(self.trace, node)]
            sources = taken if len(node.members) == 1 else dict.fromkeys(taken)
            name, target = formulas[node.root].name, self.node(self.trace.first_made + node.root)
            found.append(Operation(SCALAR.name, name, (*sources,), target, label=str(i)))
        return found

    def node(self, place: int) -> Buffer:
        """Return the buffer of a value; it holds all results of a node with several results."""
        if place < self.trace.first_made:
            name = self.trace.name(place)  # a parameter may have the label of the outputs
            return Buffer(f"{name} " if name == self.outputs.name else name, 1, place)
        roots = self._results.get(place, [place])
        return Buffer(f"[{roots[-1] - self.trace.first_made}]", len(roots), roots[-1])

    def places_of(self, buffer: Buffer) -> Sequence[int]:
        """Return the indices in the trace of the numbers of a buffer."""
        if buffer == self.outputs:
            return self.trace.outputs
        return self._results.get(buffer.offset, range(buffer.offset, buffer.offset + buffer.size))

    @cached_property
    def _results(self) -> dict[int, list[int]]:
        """Maps each result of a multi-result node to the indices of all results of that node."""
        first = self.trace.first_made
        several = [[first + i for i in node.roots] for node in self.nodes if node.count > 1]
        return {place: roots for roots in several for place in roots}

    @cached_property
    def node_at(self) -> dict[int, int]:
        """Index of the node that computes a result, by the index of the result."""
        first = self.trace.first_made
        return {first + root: i for i, node in enumerate(self.nodes) for root in node.roots}

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The indices of the inputs and node results, by buffer name."""
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
        """All moments of a step: each node forward, the loss, and each node backward."""
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


@dataclass(frozen=True, eq=False)
class Chain:
    """The layers of a compiled function that is a network of neurons made of single Values.

    Attributes:
        operations: one operation for each layer: the sums and, if present, the activation
        places: indices in the trace of the neurons of a layer, by name of its buffer
    """

    inputs: Buffer
    operations: list[Operation]
    places: Mapping[str, Sequence[int]]
    is_chain = True

    def numbers(
        self, values: Sequence[float] | npt.NDArray[np.float64]
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the numbers of each layer, given all values of the trace."""
        return {
            name: np.array([values[place] for place in places])
            for name, places in self.places.items()
        }


CHAINS: WeakKeyDictionary[TraceProgram, Chain | None] = WeakKeyDictionary()


def chain_of(program: TraceProgram, walls: Mapping[str, Wall]) -> Chain | None:
    """Return the layers of a compiled function that is a network of neurons, otherwise None.

    Each row of a wall (a named array) must hold the weights and then the bias of a neuron. Neurons
    must read all neurons of the previous wall, or all inputs in the first wall; the last wall must
    compute the results.
    """
    if program not in CHAINS:
        CHAINS[program] = found_chain(program, walls)
    return CHAINS[program]


def found_chain(program: TraceProgram, walls: Mapping[str, Wall]) -> Chain | None:
    """Compute the result of `chain_of`, which caches it."""
    trace, found = program.trace, list[Operation]()
    at = {int(row): trace.first_parameter + i for i, row in enumerate(program.rows)}
    beside = partners(trace)
    rows, read = list[list[list[int]]](), list[list[int]]()
    for wall in walls.values():
        if len(wall.shape) != 2:
            return None
        units, columns = wall.shape
        first = range(wall.first, wall.first + units * columns, columns)
        rows.append([[at.get(start + j, NONE) for j in range(columns)] for start in first])
        sources = [[beside.get(place, NONE) for place in row[:-1]] for row in rows[-1]]
        read.append(sources[0])
        if any(row != sources[0] for row in sources):
            return None
    ends = [*read[1:], list(trace.outputs)]
    if not rows or read[0] != [*range(trace.inputs)]:
        return None
    before = Buffer(program.inputs.name, trace.inputs, 0)
    places: dict[str, Sequence[int]] = {before.name: read[0]}
    for number, (name, wall) in enumerate(walls.items()):
        if [below(trace, end, {*read[number]}) for end in ends[number]] != [
            set(row) for row in rows[number]
        ]:
            return None
        last = number == len(walls) - 1
        target = Buffer(program.outputs.name if last else name, wall.shape[0], 0)
        start = wall.first, wall.first + wall.shape[1] - 1
        formula = trace.formulas[ends[number][0] - trace.first_made].name
        formula = formula if formula in ACTIVATIONS else ""
        made = Operation(
            "affine", formula, (before,), target, *start, layer=number, label=str(number)
        )
        found.append(made)
        before, places[target.name] = target, ends[number]
    return Chain(found[0].source, found, places)


def partners(trace: Trace) -> dict[int, int]:
    """Return, for each parameter that only one product uses, the other factor of the product."""
    found, several = dict[int, int](), set[int]()
    for taken, formula in zip(trace.taken, trace.formulas, strict=True):
        for place, other in zip(taken, taken[::-1], strict=True):
            if trace.first_parameter <= place < trace.first_made:
                several |= {place} & found.keys()
                found[place] = other if formula.name == "multiply" and len(taken) == 2 else NONE
    return {place: other for place, other in found.items() if place not in several}


def below(trace: Trace, end: int, known: set[int]) -> set[int]:
    """Return the parameters on which a result depends, without passing through `known`."""
    found, left = set[int](), [end]
    while left:
        place = left.pop()
        if place >= trace.first_made and place not in known:
            left += trace.taken[place - trace.first_made]
        elif trace.first_parameter <= place < trace.first_made:
            found.add(place)
    return found


# The nodes of the displayed graph.

WHOLE = 100  # operations, or nodes, shown separately; numbers are readable only on few
NAMED = 40  # also if parts of the graph have names
DEEP = 20  # nodes of a graph that is too deep for more


@dataclass(frozen=True, slots=True)
class Node:
    """Operations shown as one node.

    Attributes:
        members: indices in the trace, operands first
        roots: operations whose results are used outside of the node: one for each of the merged
            equal computations, or several if consecutive nodes were merged
    """

    members: tuple[int, ...]
    roots: tuple[int, ...]

    @property
    def root(self) -> int:
        return self.roots[-1]

    @property
    def count(self) -> int:
        """Number of results."""
        return len(self.roots)


def folded(trace: Trace, most: int) -> list[Node]:
    """Return at most `most` nodes of a trace, each after the nodes it depends on."""
    operations = range(len(trace.operations))
    if len(operations) <= min(most, NAMED if any(trace.names) else WHOLE):
        return [Node((i,), (i,)) for i in operations]
    found = cones = cones_of(trace)
    for by_parameters, limit in ((True, min(most, WHOLE)), (False, most)):
        if len(found) > limit:
            found = merged(trace, cones, by_parameters=by_parameters)
    return found if len(found) <= most else in_rows(trace, found, DEEP)


def cones_of(trace: Trace) -> list[Node]:
    """Return nodes in which an operation used by only one other operation is merged with it.

    Labelled results and functions of one number, such as relu, remain separate nodes. In a block of
    `sv.name`, functions and shared results are also merged.
    """
    count, formulas = len(trace.operations), trace.formulas
    readers: list[set[int]] = [set() for _ in range(count)]
    for i, operands in enumerate(trace.taken):
        for place in operands:
            if place >= trace.first_made:
                readers[place - trace.first_made].add(i)
    owner = list(range(count))
    results = {place - trace.first_made for place in trace.outputs}
    for i in reversed(range(count)):
        is_function = len(formulas[i].partials) == 1 and formulas[i].name != "negate"
        owners = {owner[x] for x in readers[i]}
        name = trace.names[i] if trace.names else ""
        inner = name != "" and all(trace.names[x] == name for x in readers[i])
        plain = len(readers[i]) == 1 and not is_function
        if len(owners) == 1 and (inner or plain) and i not in results and not trace.label(i):
            (owner[i],) = owners
    members: dict[int, list[int]] = {}
    for i, root in enumerate(owner):
        members.setdefault(root, []).append(i)
    return [Node(tuple(members[root]), (root,)) for root in sorted(members)]


def merged(trace: Trace, cones: list[Node], *, by_parameters: bool) -> list[Node]:
    """Return nodes, merging those with equal formulas that read results of the same nodes.

    Args:
        by_parameters: whether their parameters and inputs must also be the same
    """
    first, kinds = trace.first_made, trace.operations.tolist()
    groups = dict[tuple[int, ...], list[Node]]()
    where: dict[int, tuple[int, int]] = {}  # for each root: its depth and its group
    numbers: dict[tuple[int, ...], int] = {}
    for cone in cones:
        at = {first + i: k for k, i in enumerate(cone.members)}
        depth, parts = 0, list[int]()
        for i in cone.members:
            parts.append(kinds[i])
            for place in trace.taken[i]:
                if place in at:
                    parts.append(4 * at[place])
                elif place >= first:
                    deep, group = where[place - first]
                    depth = max(depth, deep + 1)
                    parts.append(4 * group + 1)
                elif by_parameters and not trace.inputs <= place < trace.first_parameter:
                    parts.append(4 * place + 2)
                else:  # constants differ between samples
                    parts.append(3)
        key = (depth, *parts)
        groups.setdefault(key, []).append(cone)
        where[cone.root] = depth, numbers.setdefault(key, len(numbers))
    found = [(where[own[0].root][0], own) for own in groups.values()]
    return [
        Node(
            tuple(sorted(i for each in own for i in each.members)),
            tuple(each.root for each in own),
        )
        for _, own in sorted(found, key=lambda pair: (pair[0], pair[1][-1].root))
    ]


def in_rows(trace: Trace, nodes: list[Node], most: int) -> list[Node]:
    """Return at most `most` nodes, merging consecutive ones where necessary."""
    length, first = -(-len(nodes) // most), trace.first_made
    found, needed = list[Node](), set(trace.outputs)
    for end in range(len(nodes), 0, -length):
        members = sorted({i for each in nodes[max(0, end - length) : end] for i in each.members})
        roots = tuple(i for i in members if first + i in needed)
        needed |= {place for i in members for place in trace.taken[i]}
        found.append(Node((*members,), roots))
    return found[::-1]


def operands_of_node(trace: Trace, node: Node) -> list[int]:
    """Return the indices of a node's operands; for a single operation all operands, in order.

    For a node of several operations, these are the operands from outside of the node, without
    duplicates and constants.
    """
    taken = [place for i in node.members for place in trace.taken[i]]
    if len(node.members) == 1:
        return taken
    inside = {trace.first_made + i for i in node.members}
    constants = range(trace.inputs, trace.first_parameter)
    return [
        place for place in dict.fromkeys(taken) if place not in inside and place not in constants
    ]


# The numbers within a node: results of its operations, and derivatives of its result.


def numbers_within(trace: Trace, node: Node, taken: Mapping[int, float]) -> dict[int, float]:
    """Return all values in a node by index in the trace, given the values `taken` of its operands.

    Values that depend on an unknown operand are left out.
    """
    found = {**dict(enumerate(trace.constants.tolist(), trace.inputs)), **taken}
    for i in node.members:
        places = trace.taken[i]
        if all(place in found for place in places):
            value = trace.formulas[i].value
            found[trace.first_made + i] = value(*(found[place] for place in places))
    return found


def slopes_of_node(
    trace: Trace, node: Node, numbers: Mapping[int, float]
) -> list[tuple[int, float]]:
    """Return each operand of a node with one result, with the derivative of the result by it.

    For a node of one operation, operands keep their order, and an operand that is used twice occurs
    twice.

    Args:
        numbers: all values of the node
    """
    first = trace.first_made
    if len(node.members) == 1:
        return slopes_of_operation(trace, node.root, numbers)
    found = {first + node.root: 1.0}
    for i in reversed(node.members):
        passed = found.pop(first + i)
        for place, slope in slopes_of_operation(trace, i, numbers):
            found[place] = found.get(place, 0.0) + slope * passed
    return sorted(found.items())


def slopes_of_operation(
    trace: Trace, operation: int, numbers: Mapping[int, float] | Sequence[float]
) -> list[tuple[int, float]]:
    """Return each non-constant operand of an operation, and the derivative of the result.

    Args:
        numbers: all values, by index
    """
    places = trace.taken[operation]
    known = [*(numbers[place] for place in places), numbers[trace.first_made + operation]]
    return [
        (place, float(partial(*known)))
        for place, partial in zip(places, trace.formulas[operation].partials, strict=True)
        if not trace.inputs <= place < trace.first_parameter
    ]


# The formula of a recorded function, in pieces: words, and parameters as indices.

# Signs that differ from Python's.
SIGNS = {"subtract": "−", "negate": "−", "multiply": "×", "power": "^"}
MOST = 100  # pieces


@dataclass(frozen=True, slots=True)
class Bound:
    """The beginning or end of the part of a formula that computes a value."""

    place: int
    begins: bool


Piece = str | int | Bound


def formula_of(trace: Trace) -> list[Piece]:
    """Return the formula of a function as pieces; [] for several results or too many pieces.

    A line can be broken before a piece of text that begins with a space.
    """
    found = [*islice(pieces_of(trace, trace.outputs[0]), 4 * MOST)]
    count = sum(not isinstance(piece, Bound) for piece in found)
    return found if count <= MOST and len(trace.outputs) == 1 else []


def pieces_of(trace: Trace, place: int, *, labelled: bool = False) -> Iterator[Piece]:
    """Yield the pieces of the formula of a value.

    Args:
        labelled: whether labelled operands are written as their labels
    """
    waiting: list[Piece | tuple[int, int]] = [(place, 0)]
    while waiting:
        piece = waiting.pop()
        if not isinstance(piece, tuple):
            yield piece
        elif labelled and piece[0] != place and trace.label(piece[0] - trace.first_made):
            yield trace.label(piece[0] - trace.first_made)
        else:
            step = formula_step(trace, *piece)
            waiting += reversed([Bound(piece[0], True), *step, Bound(piece[0], False)])


def formula_step(trace: Trace, place: int, binds: int) -> Sequence[Piece | tuple[int, int]]:
    """Return the pieces that compute a value; operands are (index, precedence around it)."""
    row = place - trace.first_made
    if row < 0:
        number = place - trace.first_parameter
        return [number if number >= 0 else name_of(trace, place)]
    formula = trace.formulas[row]
    found = spelled_out(formula, trace.taken[row])
    return found if PRECEDENCE.get(formula.name, NAME) >= binds else ["(", *found, ")"]


def formula_words(trace: Trace, place: int, most: int) -> str:
    """Return the formula of a value with labels for its operands, shortened if too long.

    Args:
        most: maximum number of characters; in a longer formula, operands without label are "…"
    """
    words = ""
    for piece in pieces_of(trace, place, labelled=True):
        if isinstance(piece, Bound):
            continue
        words += piece if isinstance(piece, str) else trace.name(trace.first_parameter + piece)
        if len(words) > most:
            break
    if len(words) <= most:
        return words
    row = place - trace.first_made
    if row < 0:
        return shortened(words, most)
    parts = spelled_out(trace.formulas[row], trace.taken[row])
    return shortened(
        "".join(each if isinstance(each, str) else short_name(trace, each[0]) for each in parts),
        most,
    )


def short_name(trace: Trace, place: int) -> str:
    """Return the name of a value, or "…" for a result without a label."""
    row = place - trace.first_made
    return name_of(trace, place) if row < 0 else trace.label(row) or "…"


def name_of(trace: Trace, place: int) -> str:
    """Return the name of a value; a single input is called x."""
    return "x" if place < trace.inputs == 1 else trace.name(place)


def spelled_out(formula: Formula, operands: Sequence[int]) -> list[str | tuple[int, int]]:
    """Return the pieces of an operation; operands are (index, precedence around it)."""
    return ["^" if each == " ^ " else each for each in spelled(formula, operands, sign_of(formula))]


def sign_of(formula: Formula) -> str:
    return SIGNS.get(formula.name, formula.symbol)


def sign_of_node(trace: Trace, node: Node) -> str:
    """Return the text above a node: its name or its sign, and the number of merged nodes."""
    label = trace.label(node.root) if len(node.members) > node.count else ""
    is_mixed = len({trace.formulas[i].name for i in node.roots}) > 1
    sign = "…" if is_mixed else label or written_above(trace, node.root)
    return f"{sign} ({node.count:,})" if node.count > 1 else sign


def written_above(trace: Trace, operation: int) -> str:
    """Return the text above an operation: its sign, and a constant operand if present."""
    formula, taken = trace.formulas[operation], trace.taken[operation]
    sign = sign_of(formula) or formula.name
    constants = range(trace.inputs, trace.first_parameter)
    given = [trace.name(each) if each in constants else "" for each in taken]
    if not any(given):
        return sign
    if len(given) == 2 and formula.symbol:
        return ("" if sign == "^" else " ").join(filter(None, (given[0], sign, given[1])))
    return f"{sign}({', '.join(each or '…' for each in given)})"
