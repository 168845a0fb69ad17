"""Fusions: several nodes that form one layer are replaced by one node.

A rule takes the last of the nodes. It returns the node that replaces them and the nodes that it
removes, or None. The values between them must have no other use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.files.onnx.graph import GraphNode, ModelGraph
from scalarviz.files.onnx.patterns import written_out
from scalarviz.files.onnx.tensors import Constant
from scalarviz.files.onnx.trace import SAME

Fused = tuple[GraphNode, tuple[GraphNode, ...]]

# The number of inputs of operators with more than one.
INPUTS = {"Add": 2, "Div": 2, "Greater": 2, "MatMul": 2, "Mul": 2, "Pow": 2, "Sub": 2}


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


def gated(node: GraphNode, uses: Uses) -> Fused | None:
    """x times an operator of x: an activation with a gate, such as swish."""
    for operator in [row.onnx for row in ACTIVATIONS.values() if row.onnx and row.onnx.gate]:
        for x, value in both_ways(node):
            made = uses.maker(value, operator.gate)
            if made is not None and made.inputs == (x,):
                parts = {operator.gate.lower(): made}
                return replaced(operator.name, node, (x,), node, **parts), (made,)
    return None


def rms_norm(node: GraphNode, uses: Uses) -> Fused | None:
    """x / sqrt(mean(x * x) + eps), times a gain: as `save` writes RMSNorm, and as PyTorch does."""
    for value, gain in both_ways(node):
        x, divided = quotient(value, uses)
        root = uses.maker(divided[-1].inputs[-1], "Sqrt") if divided else None
        added = uses.maker(root.inputs[0], "Add") if root else None
        mean = uses.maker(added.inputs[0], "ReduceMean") if added else None
        square = square_of(x, mean.inputs[0], uses) if mean else None
        if not (divided and root and added and mean and square) or gain not in uses.constants:
            continue
        parts = {"square": square, "mean": mean, "sum": added, "root": root, "quotient": divided[0]}
        inputs = (x, gain, added.inputs[1], *mean.inputs[1:])
        made = replaced("RMSNorm", node, inputs, node, **parts)
        norm = GraphNode(
            made.operator, made.name, inputs, made.outputs, mean.attributes, made.parts
        )
        return norm, (*divided, root, added, mean, square)
    return None


def quotient(name: str, uses: Uses) -> tuple[str, tuple[GraphNode, ...]]:
    """Return x and the nodes of x / y: a Div, or a Mul with a Reciprocal, which is the last."""
    divided, product = uses.maker(name, "Div"), uses.maker(name, "Mul")
    for x, value in both_ways(product) if product else ():
        inverse = uses.maker(value, "Reciprocal")
        if product and inverse:
            return x, (product, inverse)
    return (divided.inputs[0], (divided,)) if divided else ("", ())


def square_of(x: str, name: str, uses: Uses) -> GraphNode | None:
    """Return the node of x^2: a Mul or a Pow; None for others."""
    product, power = uses.maker(name, "Mul"), uses.maker(name, "Pow")
    if power and power.inputs[0] == x and uses.is_number(power.inputs[1], 2.0):
        return power
    return product if product and product.inputs == (x, x) else None


# The rules by the operator of the last node.
RULES: dict[str, tuple[Callable[[GraphNode, Uses], Fused | None], ...]] = {
    "Add": (product_and_sum,),
    "Mul": (written_out, gated, rms_norm),
    **dict.fromkeys(("Div", "Log", "Neg", "Where"), (written_out,)),
}
