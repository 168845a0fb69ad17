"""Fusions: several nodes that form one layer are replaced by one node.

A rule takes the last of the nodes. It returns the node that replaces them and the nodes that it
removes, or None. The values between them must have no other use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import sqrt

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.files.onnx.graph import GraphNode, ModelGraph
from scalarviz.files.onnx.tensors import Constant
from scalarviz.files.onnx.trace import SAME

Fused = tuple[GraphNode, tuple[GraphNode, ...]]
DEEPEST = 4  # nested products

# From here on PyTorch's Softplus is x itself.
LINEAR_FROM = 20.0

# The number of inputs of operators with more than one.
INPUTS = {"Add": 2, "Div": 2, "Greater": 2, "MatMul": 2, "Mul": 2}


class Uses:
    """The producer of each value, and how often it is used."""

    def __init__(self, graph: ModelGraph, nodes: tuple[GraphNode, ...], output: str) -> None:
        self.constants: Mapping[str, Constant] = graph.constants
        self.makers = {name: node for node in nodes for name in node.outputs}
        self.counts = Counter(name for node in nodes for name in node.inputs)
        self.counts[output] += 1

    def maker(self, name: str, operator: str, uses: int = 1) -> GraphNode | None:
        """Return the producer of a value if it has this operator and number of uses; else None."""
        node = self.makers.get(name)
        if node is None or node.operator != operator or self.counts[name] != uses:
            return None
        return node if len(node.inputs) >= INPUTS.get(operator, 1) else None

    def is_number(self, name: str, value: float) -> bool:
        """Return whether a value is a stored number that equals `value`, up to SAME."""
        found = self.number(name)
        return found is not None and abs(found - value) <= SAME * abs(value)

    def number(self, name: str) -> float | None:
        """Return the number stored under a name; None if it is not a single float."""
        constant = self.constants.get(name)
        if constant is None or constant.array.size != 1 or constant.array.dtype.kind != "f":
            return None
        return float(constant.array.ravel()[0])


def fuse(graph: ModelGraph, nodes: tuple[GraphNode, ...], output: str) -> tuple[GraphNode, ...]:
    """Return the nodes with all fusions applied."""
    uses = Uses(graph, nodes, output)
    gone: set[int] = set()
    instead: dict[int, GraphNode] = {}
    for node in nodes:
        for rule in RULES.get(node.operator, ()):
            found = rule(node, uses)
            if found is not None:
                instead[id(node)] = found[0]
                gone.update(map(id, found[1]))
                break
    return tuple(instead.get(id(node), node) for node in nodes if id(node) not in gone)


def both_ways(node: GraphNode) -> list[tuple[str, str]]:
    """Return the two inputs of a node in both orders."""
    if len(node.inputs) != 2:
        return []
    first, second = node.inputs
    return [(first, second), (second, first)]


def replaced(
    operator: str, last: GraphNode, inputs: tuple[str, ...], main: GraphNode, **parts: GraphNode
) -> GraphNode:
    """Return the node that replaces several, with the outputs of the last one."""
    names = {role: node.name for role, node in parts.items()}
    return GraphNode(operator, main.name, inputs, last.outputs, main.attributes, names)


def product_and_sum(node: GraphNode, uses: Uses) -> Fused | None:
    """MatMul, then Add of a constant: a layer with a bias."""
    for value, bias in both_ways(node):
        made = uses.maker(value, "MatMul")
        if made is not None and len(made.inputs) == 2 and bias in uses.constants:
            inputs = (*made.inputs, bias)
            return replaced("MatMul", node, inputs, made, add=node), (made,)
    return None


def factors(name: str, uses: Uses, depth: int = 0) -> tuple[list[str], list[GraphNode]]:
    """Return the factors of a value, and the Mul nodes between them."""
    made = uses.maker(name, "Mul") if depth < DEEPEST else None
    if made is None:
        return [name], []
    found: list[str] = []
    nodes = [made]
    for each in made.inputs:
        more, inner = factors(each, uses, depth + 1)
        found += more
        nodes += inner
    return found, nodes


def gelu(node: GraphNode, uses: Uses) -> Fused | None:
    """x * 0.5 * (1 + erf(x / sqrt(2))), in any order."""
    found: list[str] = []
    nodes: list[GraphNode] = []
    for each in node.inputs:
        more, inner = factors(each, uses)
        found += more
        nodes += inner
    half = [name for name in found if uses.is_number(name, 0.5)]
    rest = [name for name in found if name not in half]
    if len(half) != 1 or len(rest) != 2:
        return None
    for x, sum_ in (rest, rest[::-1]):
        inner_nodes = erf_of(x, sum_, uses)
        if inner_nodes:
            taken = (*nodes, *inner_nodes)
            return replaced("Gelu", node, (x,), GraphNode("Gelu", node.name, (), (), {})), taken
    return None


def erf_of(x: str, name: str, uses: Uses) -> tuple[GraphNode, ...]:
    """Return the nodes of 1 + erf(x / sqrt(2)); empty if a value is something else."""
    added = uses.maker(name, "Add")
    for value, one in both_ways(added) if added else ():
        erf = uses.maker(value, "Erf") if uses.is_number(one, 1.0) else None
        if erf is None or added is None:
            continue
        divided, times = uses.maker(erf.inputs[0], "Div"), uses.maker(erf.inputs[0], "Mul")
        if divided and divided.inputs[0] == x and uses.is_number(divided.inputs[1], sqrt(2.0)):
            return added, erf, divided
        for inner, factor in both_ways(times) if times else ():
            if times and inner == x and uses.is_number(factor, sqrt(0.5)):
                return added, erf, times
    return ()


def gated(node: GraphNode, uses: Uses) -> Fused | None:
    """x times an operator of x: an activation with a gate, such as swish."""
    for operator in [row.onnx for row in ACTIVATIONS.values() if row.onnx and row.onnx.gate]:
        for x, value in both_ways(node):
            made = uses.maker(value, operator.gate)
            if made is not None and made.inputs == (x,):
                parts = {operator.gate.lower(): made}
                return replaced(operator.name, node, (x,), node, **parts), (made,)
    return None


def softplus(node: GraphNode, uses: Uses) -> Fused | None:
    """PyTorch's Softplus, which is x itself from 20 on."""
    if len(node.inputs) != 3:
        return None
    which, x, value = node.inputs
    made, compared = uses.maker(value, "Softplus"), uses.maker(which, "Greater")
    fits = made and made.inputs == (x,) and compared and compared.inputs[0] == x
    if made and compared and fits and uses.is_number(compared.inputs[1], LINEAR_FROM):
        return replaced("Softplus", node, (x,), made), (made, compared)
    return None


def rms_norm(node: GraphNode, uses: Uses) -> Fused | None:
    """x / sqrt(mean(x * x) + eps), times a gain: what `save` writes for RMSNorm."""
    for value, gain in both_ways(node):
        divided = uses.maker(value, "Div")
        root = uses.maker(divided.inputs[1], "Sqrt") if divided else None
        added = uses.maker(root.inputs[0], "Add") if root else None
        mean = uses.maker(added.inputs[0], "ReduceMean") if added else None
        square = uses.maker(mean.inputs[0], "Mul") if mean else None
        if not (divided and root and added and mean and square) or gain not in uses.constants:
            continue
        x = divided.inputs[0]
        if square.inputs != (x, x):
            continue
        parts = {"square": square, "mean": mean, "sum": added, "root": root, "quotient": divided}
        inputs = (x, gain, added.inputs[1], *mean.inputs[1:])
        made = replaced("RMSNorm", node, inputs, node, **parts)
        norm = GraphNode(
            made.operator, made.name, inputs, made.outputs, mean.attributes, made.parts
        )
        return norm, (divided, root, added, mean, square)
    return None


# The rules by the operator of the last node.
RULES: dict[str, tuple[Callable[[GraphNode, Uses], Fused | None], ...]] = {
    "Add": (product_and_sum,),
    "Mul": (gelu, gated, rms_norm),
    "Where": (softplus,),
}
