"""PATTERNS: activations that exporters write out in several nodes, by the operators of these.

In a pattern, x is the value that goes in, a number is one that the file stores, and another name
stands for a stored number whose name is kept; all of these are equal. The inputs of Add and Mul may
stand in any order. A keyword is an attribute; a node with one has no other attributes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

from scalarviz.files.onnx.graph import GraphNode, shortest
from scalarviz.files.onnx.trace import SAME

if TYPE_CHECKING:
    from scalarviz.files.onnx.fusions import Fused, Uses

Found = tuple[dict[str, str], tuple[GraphNode, ...]]  # values by name, and nodes, outer ones first


@dataclass(frozen=True)
class Pattern:
    """A pattern, and the operator that replaces its nodes.

    roles       for the nodes of the pattern, from the left, which name of the layer theirs is; "-":
                none, as for those further on
    attributes  those of the operator; beta is added where there are further names
    """

    operator: str
    text: str
    roles: str = "node"
    attributes: Mapping[str, Any] | None = None

    @property
    def tree(self) -> ast.Call:
        tree = ast.parse(self.text, mode="eval").body
        assert isinstance(tree, ast.Call)
        return tree


def gelus(kind: str, *gates: str) -> Iterator[Pattern]:
    """Return the patterns of x * 0.5 * gate, whatever is multiplied first."""
    for gate in gates:
        for text in (f"Mul(Mul(0.5, x), {gate})", f"Mul(Mul(0.5, {gate}), x)"):
            yield Pattern("Gelu", text, attributes={"approximate": kind})
        yield Pattern("Gelu", f"Mul(Mul(x, {gate}), 0.5)", attributes={"approximate": kind})


CUBES = (
    "Mul(0.044715, Pow(x, 3.0))",
    "Mul(0.044715, Mul(x, Mul(x, x)))",
    "Mul(x, Mul(x, Mul(x, 0.044715)))",
)
SCALED = "Div(Softplus(Mul(x, mul1)), div1)"
SIXTH = "alpha=0.1666667"
PATTERNS = (
    *gelus("none", f"Add(1.0, Erf(Div(x, {sqrt(2.0)})))", f"Add(1.0, Erf(Mul(x, {sqrt(0.5)})))"),
    *gelus("tanh", *(f"Add(1.0, Tanh(Mul({sqrt(2.0 / pi)}, Add(x, {cube}))))" for cube in CUBES)),
    Pattern("Mish", "Mul(x, Tanh(Softplus(x)))"),
    Pattern("HardSwish", f"Mul(x, HardSigmoid(x, {SIXTH}))"),
    Pattern("HardSwish", f"Mul(x, HardSigmoid(x, {SIXTH}, beta=0.5))"),
    Pattern("Softsign", "Div(x, Add(1.0, Abs(x)))"),
    Pattern("LogSigmoid", "Log(Sigmoid(x))"),
    Pattern("LogSigmoid", "Neg(Softplus(Neg(x)))", "behind node before"),
    Pattern("Softplus", SCALED, "behind node before"),
    # PyTorch's Softplus is x itself from 20 on.
    Pattern("Softplus", "Where(Greater(x, 20.0), x, Softplus(x))", "- - node"),
    Pattern(
        "Softplus",
        f"Where(Greater(Mul(x, mul1), 20.0), x, {SCALED})",
        "- - before behind node before",
    ),
)


def written_out(node: GraphNode, uses: Uses) -> Fused | None:
    """Return what replaces the nodes of a pattern that end in this one; None if there is none."""
    for pattern in PATTERNS:
        if not pattern.text.startswith(f"{node.operator}("):
            continue
        found = match(pattern.tree, node, uses, {})
        if found is None:
            continue
        named, nodes = found
        x, inner = named.pop("x"), nodes[1:]
        numbers = [uses.number(name) for name in named.values()]
        times = Counter(each.outputs[0] for each in inner)
        if any(uses.counts[name] != count for name, count in times.items()):
            continue
        attributes = dict(pattern.attributes or {})
        if numbers:
            first = numbers[0]
            if first is None or not all(uses.is_number(name, first) for name in named.values()):
                continue
            attributes["beta"] = shortest(first)
        roles = zip(pattern.roles.split(), nodes, strict=False)
        parts = {role: each.name for role, each in roles if role != "-"}
        made = GraphNode(
            pattern.operator, parts.pop("node"), (x,), node.outputs, attributes, parts | named
        )
        return made, inner
    return None


def match(
    tree: ast.Call, node: GraphNode | None, uses: Uses, named: dict[str, str]
) -> Found | None:
    """Return values by name, and nodes, if a node ends what the tree describes."""
    if node is None or node.operator != ast.unparse(tree.func) or not has_attributes(tree, node):
        return None
    if len(tree.args) != len(node.inputs):
        return None
    orders = [node.inputs, node.inputs[::-1]] if node.operator in ("Add", "Mul") else [node.inputs]
    for order in orders:
        found: Found | None = (named, (node,))
        for part, name in zip(tree.args, order, strict=True):
            found = argument(part, name, uses, *found) if found else None
        if found:
            return found
    return None


def argument(
    part: ast.expr, name: str, uses: Uses, named: dict[str, str], nodes: tuple[GraphNode, ...]
) -> Found | None:
    """Return what is found with one input more; None if it is not what the pattern says."""
    if isinstance(part, ast.Constant):
        return (named, nodes) if uses.is_number(name, float(str(part.value))) else None
    if isinstance(part, ast.Name):
        return ({**named, part.id: name}, nodes) if named.get(part.id, name) == name else None
    assert isinstance(part, ast.Call)
    inner = match(part, uses.makers.get(name), uses, named)
    return inner and (inner[0], nodes + inner[1])


def has_attributes(tree: ast.Call, node: GraphNode) -> bool:
    """Return whether a node has the attributes of a pattern, if that names any."""
    wanted = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
    if wanted.keys() not in (set(), node.attributes.keys()):
        return False
    given = [(node.attributes[name], value) for name, value in wanted.items()]
    return all(
        isinstance(here, (int, float)) and abs(here - value) <= SAME * abs(value)
        for here, value in given
    )
