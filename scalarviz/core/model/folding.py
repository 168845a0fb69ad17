"""Folding: the nodes that a graph of operations is shown as.

A graph of few operations has a node for each; of very few, if parts have names. Of more, an
operation whose result only one other takes is part of that one, so that a neuron is one node: its
products, its sum, and its activation.
Nodes that compute the same from the same parameters, as for each sample of a batch, are one node;
if these are still too many, so are those of equal operations, as the neurons of a layer; and of a
graph that is too deep even so, some nodes that follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.core.model.trace import Trace

WHOLE = 100  # operations, or nodes, that are shown one by one; few of more have room for numbers
NAMED = 40  # and if parts of the graph have names
DEEP = 20  # nodes of a graph that is too deep for more


@dataclass(frozen=True, slots=True)
class Node:
    """Operations that are shown as one.

    members  their numbers in the trace, each after those whose results it takes
    roots    those whose results others take: one, or one for each of the equal computations that
             the node stands for; of nodes that follow each other, those of all
    """

    members: tuple[int, ...]
    roots: tuple[int, ...]

    @property
    def root(self) -> int:
        return self.roots[-1]

    @property
    def count(self) -> int:
        """How many results it has."""
        return len(self.roots)


def folded(trace: Trace, most: int) -> list[Node]:
    """Return the nodes of a trace, at most so many, each after those it takes."""
    operations = range(len(trace.operations))
    if len(operations) <= min(most, NAMED if any(trace.names) else WHOLE):
        return [Node((i,), (i,)) for i in operations]
    found = cones = cones_of(trace)
    for by_parameters, limit in ((True, min(most, WHOLE)), (False, most)):
        if len(found) > limit:
            found = merged(trace, cones, by_parameters=by_parameters)
    return found if len(found) <= most else in_rows(trace, found, DEEP)


def cones_of(trace: Trace) -> list[Node]:
    """Return the nodes of operations whose results only one other takes.

    A result with a label, and that of a function of one number, such as relu, is a node of its own.
    In a block of `sv.name` functions are not, nor what several operations of it take.
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
    """Return nodes that stand for all that compute the same from the results of the same nodes.

    by_parameters  whether they must take the same parameters and inputs, too
    """
    first, kinds = trace.first_made, trace.operations.tolist()
    groups = dict[tuple[int, ...], list[Node]]()
    where: dict[int, tuple[int, int]] = {}  # of a root: how deep it is, and its group
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
                else:  # constants differ from sample to sample
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
    """Return nodes that stand for as many as it takes of those that follow each other."""
    length, first = -(-len(nodes) // most), trace.first_made
    found, needed = list[Node](), set(trace.outputs)
    for end in range(len(nodes), 0, -length):
        members = sorted({i for each in nodes[max(0, end - length) : end] for i in each.members})
        roots = tuple(i for i in members if first + i in needed)
        needed |= {place for i in members for place in trace.taken[i]}
        found.append(Node((*members,), roots))
    return found[::-1]


def operands_of_node(trace: Trace, node: Node) -> list[int]:
    """Return the places of what a node takes: all operands of one operation, in order.

    Of several operations, what none of them computes, each once, without constants.
    """
    taken = [place for i in node.members for place in trace.taken[i]]
    if len(node.members) == 1:
        return taken
    inside = {trace.first_made + i for i in node.members}
    constants = range(trace.inputs, trace.first_parameter)
    return [
        place for place in dict.fromkeys(taken) if place not in inside and place not in constants
    ]
