"""Fusions: nodes that form one layer are replaced by one node, which becomes a layer.

PATTERNS lists the nodes to replace and their replacements. Values between these nodes must not be
used elsewhere.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.layers import Layer
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.core.layers.nested import MOST_DEPTH
from scalarviz.errors import InputError
from scalarviz.files.onnx.flows import SAME, LayerStep
from scalarviz.files.onnx.onnx_graph import Constant, GraphNode, ModelGraph, shortest
from scalarviz.files.onnx_names import unused

# PATTERNS: layers written as several nodes by exporters, given by their operators. In a pattern, x
# is the input value, a number is a stored number, and another name is any stored value. The inputs
# of Add and Mul may be in any order. A keyword is an attribute; a node with one has no other
# attributes.

Found = tuple[dict[str, str], tuple[GraphNode, ...]]  # values by name, and nodes, outer ones first


@dataclass(frozen=True)
class Pattern:
    """A pattern, and the operator that replaces its nodes.

    Attributes:
        inputs: names in the pattern that become inputs of the operator after x. Other names
            are single numbers that must all be equal, which becomes the attribute beta
    """

    operator: str
    text: str
    inputs: str = ""

    @property
    def tree(self) -> ast.Call:
        tree = ast.parse(self.text, mode="eval").body
        assert isinstance(tree, ast.Call)
        return tree


def rms_norms() -> Iterator[Pattern]:
    """Yield the patterns of x / sqrt(mean(x * x) + eps), times a gain, of `save` and PyTorch."""
    root = "Sqrt(Add(ReduceMean({}, axes), eps))"
    for norm in (
        f"Div(x, {root.format('Mul(x, x)')})",
        f"Mul(x, Reciprocal({root.format('Pow(x, 2.0)')}))",
    ):
        yield Pattern("RMSNorm", f"Mul({norm}, gain)", "gain eps axes")
        yield Pattern("RMSNorm without gain", norm, "eps axes")


def attentions() -> Iterator[Pattern]:
    """Yield the patterns of all heads, with and without a mask, as `save` writes them."""
    query, key, value = [
        f"Gather(Reshape(x, heads), {each}, axis=2)" for each in ("query", "key", "value")
    ]
    product = f"MatMul(Transpose({query}, perm=[0, 1, 3, 2]), {key})"
    for scores in (f"Mul({product}, factor)", f"Add(Mul({product}, factor), mask)"):
        shares = f"Transpose(Softmax({scores}, axis=-1), perm=[0, 1, 3, 2])"
        yield Pattern(
            "Attention",
            f"Reshape(MatMul({value}, {shares}), shape)",
            "heads query key value factor shape mask",
        )


ROWS = (  # of an Embedding, as `save` writes them
    "Reshape(Transpose(Reshape(Gather(Concat(rows, zeros, axis=0), Cast(x, to=7), axis=0), "
    "places), perm=[0, 2, 1]), shape)"
)
ANGLES = "Mul(x, frequencies)"  # of a FrequencyEncoding
SCALED = "Div(Softplus(Mul(x, mul1)), div1)"
PATTERNS = (
    Pattern("Softsign", "Div(x, Add(1.0, Abs(x)))"),
    Pattern("LogSigmoid", "Log(Sigmoid(x))"),
    Pattern("LogSigmoid", "Neg(Softplus(Neg(x)))"),
    Pattern("Softplus", SCALED),
    # PyTorch's Softplus is the identity from 20.
    Pattern("Softplus", "Where(Greater(x, 20.0), x, Softplus(x))"),
    Pattern("Softplus", f"Where(Greater(Mul(x, mul1), 20.0), x, {SCALED})"),
    *[
        Pattern(row.onnx.name, f"Mul(x, {row.onnx.gate}(x))")
        for row in ACTIVATIONS.values()
        if row.onnx and row.onnx.gate  # such as swish
    ],
    *rms_norms(),
    Pattern(  # as written by `save` and PyTorch: groups are the channels of a sequence
        "GroupNormalization",
        "Add(Mul(Reshape(InstanceNormalization(Reshape(x, sizes), ones, zeros), back), gain), "
        "shift)",
        "gain shift ones zeros sizes back",
    ),
    Pattern("MatMul", "Add(MatMul(x, weights), bias)", "weights bias"),
    *attentions(),
    Pattern("Embedding", ROWS, "rows zeros places shape"),
    Pattern("Embedding", f"Add({ROWS}, position)", "rows zeros places shape position"),
    Pattern("FrequencyEncoding", f"Concat(Sin({ANGLES}), Cos({ANGLES}))", "frequencies"),
    Pattern(
        "LayerNorm of places",
        "Transpose(LayerNormalization(Transpose(x, perm=[0, 2, 3, 1]), gain, shift), "
        "perm=[0, 3, 1, 2])",
        "gain shift",
    ),
)


def written_out(node: GraphNode, uses: Uses) -> Fused | None:
    """Return the replacement for the nodes of a pattern that ends in this node, or None."""
    for pattern in PATTERNS:
        if not pattern.text.startswith(f"{node.operator}("):
            continue
        found = match(pattern.tree, node, uses, {})
        if found is None:
            continue
        named, nodes = found
        x, inner = named.pop("x"), nodes[1:]
        inputs = [named.pop(name) for name in pattern.inputs.split() if name in named]
        numbers = [uses.number(name) for name in named.values()]
        times = Counter(each.outputs[0] for each in inner)
        is_alone = all(uses.counts[name] == count for name, count in times.items())
        if not is_alone or not uses.constants.keys() >= set(inputs):
            continue
        attributes = {name: value for each in nodes for name, value in each.attributes.items()}
        if numbers:
            first = numbers[0]
            if first is None or not all(uses.is_number(name, first) for name in named.values()):
                continue
            attributes["beta"] = shortest(first)
        made = replace(node, operator=pattern.operator, inputs=(x, *inputs), attributes=attributes)
        return made, inner
    return None


def match(
    tree: ast.Call, node: GraphNode | None, uses: Uses, named: dict[str, str]
) -> Found | None:
    """Return the named values and the nodes if the pattern `tree` ends in this node, or None."""
    if (
        node is None
        or node.operator != ast.unparse(tree.func)
        or not has_attributes(tree, node)
        or len(tree.args) != len(node.inputs)
    ):
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
    """Return a match extended by one input, or None if the input does not fit the pattern."""
    if isinstance(part, ast.Constant):
        return (named, nodes) if uses.is_number(name, float(str(part.value))) else None
    if isinstance(part, ast.Name):
        return ({**named, part.id: name}, nodes) if named.get(part.id, name) == name else None
    assert isinstance(part, ast.Call)
    inner = match(part, uses.makers.get(name), uses, named)
    return inner and (inner[0], nodes + inner[1])


def has_attributes(tree: ast.Call, node: GraphNode) -> bool:
    """Return whether a node has the attributes that a pattern requires."""
    wanted = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
    if wanted.keys() not in (set(), node.attributes.keys()):
        return False
    return all(node.attributes[name] == value for name, value in wanted.items())


Fused = tuple[GraphNode, tuple[GraphNode, ...]]


class Uses:
    """The node that computes each value, and the number of uses of each value."""

    def __init__(self, graph: ModelGraph, nodes: tuple[GraphNode, ...], output: str) -> None:
        self.constants: Mapping[str, Constant] = graph.constants
        self.makers = {name: node for node in nodes for name in node.outputs}
        self.counts = Counter(name for node in nodes for name in node.inputs)
        self.counts[output] += 1

    def is_number(self, name: str, value: float) -> bool:
        """Return whether a value is a stored number equal to `value`, within a tolerance."""
        found = self.number(name)
        return found is not None and abs(found - value) <= SAME * abs(value)

    def number(self, name: str) -> float | None:
        """Return the number stored under a name, or None if it is not a single float."""
        constant = self.constants.get(name)
        if constant is None or constant.array.size != 1 or constant.array.dtype.kind != "f":
            return None
        return float(constant.array.ravel()[0])


def fuse(graph: ModelGraph, nodes: tuple[GraphNode, ...], output: str) -> tuple[GraphNode, ...]:
    """Return the nodes after all fusions."""
    uses = Uses(graph, nodes, output)
    gone: set[int] = set()
    instead: dict[int, GraphNode] = {}
    for node in nodes:
        found = written_out(node, uses)
        if found is not None:
            instead[id(node)] = found[0]
            gone.update(map(id, found[1]))
    return tuple(instead.get(id(node), node) for node in nodes if id(node) not in gone)


# Steps become layers of a network: activations are merged into the preceding layer, branches become
# layers, and tied weights are shared.


def join(steps: Sequence[LayerStep]) -> tuple[LayerStep, ...]:
    """Return the steps of a network, each with a layer, which is shared if the weights are."""
    known = KnownLayers()
    return tuple(known.once(each) for each in as_made(steps))


def as_made(steps: Sequence[LayerStep], depth: int = 0) -> list[LayerStep]:
    """Return one layer per step, with activations merged."""
    found: list[LayerStep] = []
    alike = followed_alike(steps)
    for before, step in zip((None, *steps), steps, strict=False):
        if before is not None and step.layer is not None and joins(before, step, alike):
            found[-1].layer.set_activation(step.layer.activation)
            parts = {role: name for role, name in step.names.items() if role != "node"}
            names = {**found[-1].names, "activation": step.names["node"], **parts}
            found[-1] = replace(found[-1], names=names)
        elif step.layer is None:
            found.append(nested(step, depth + 1))
        elif step.parameters or step.layer.state_size:
            found.append(step)
        else:  # a value used twice is computed on both paths
            found.append(replace(step, layer=step.layer.again()))
    return found


def joins(before: LayerStep, step: LayerStep, alike: Mapping[str, bool]) -> bool:
    """Return whether a step is an activation that can be merged into the preceding layer."""
    if not isinstance(before.layer, PerceptronLayer) or not isinstance(step.layer, Activation):
        return False
    return alike[first_tied(before)]


def followed_alike(steps: Sequence[LayerStep]) -> dict[str, bool]:
    """Return, for each shared (tied) parameter, whether one activation follows all its uses."""
    found: dict[str, set[str]] = {}
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        layer = after.layer if after is not None else None
        activation = layer.activation if isinstance(layer, Activation) else "linear"
        found.setdefault(first_tied(step), set()).add(activation)
    return {name: len(activations) == 1 for name, activations in found.items()}


def first_tied(step: LayerStep) -> str:
    """Return the name of the first tied parameter of a step itself, or ""."""
    return next((each.name for each in step.parameters if each.tied), "")


def nested(step: LayerStep, depth: int) -> LayerStep:
    """Return a step with a layer made of its inner steps; raise InputError if too deep."""
    require(depth <= MOST_DEPTH, f"{step.kind.__name__}s are nested more than {MOST_DEPTH} deep")
    first = as_made(step.inner[: step.first], depth) if step.first else []
    inner = (*first, *as_made(step.inner[step.first :], depth))
    try:
        layer = step.kind(layers=[each.layer for each in inner], first=len(first))
    except InputError as error:
        raise InputError(f"{step.node}: {error}") from error
    return replace(step, layer=layer, inner=inner)


class KnownLayers:
    """The layers created so far, by the names of their weights."""

    def __init__(self) -> None:
        self.layers: dict[str, tuple[LayerStep, LayerStep]] = {}  # as read, and with unique names
        self.placed: set[Layer] = set()
        self.taken: set[str] = set()

    def once(self, made: LayerStep) -> LayerStep:
        """Return a layer, or the earlier layer that has the same weights."""
        names = tied_names(made)
        known = [name for name in names if name in self.layers]
        if not known:
            found = self.apart(made)
            self.layers |= dict.fromkeys(names, (made, found))
            return found
        first, before = self.layers[known[0]]
        require(
            are_one(first, made),
            f"its weights {shorten(known[0])} are used by two layers that differ in more than "
            "their place: give each place separate weights",
        )
        return renamed(before, made)

    def apart(self, made: LayerStep) -> LayerStep:
        """Return a layer with unique names for its parameters.

        Exporters merge equal vectors, but the layers train them separately.
        """
        require(
            made.layer not in self.placed,
            f"the result of {shorten(made.names.get('node'))} goes two ways, which meet behind "
            "other layers: use it once, such as x + t * (h - x) for t * h + (1 - t) * x",
        )
        self.placed.add(made.layer)
        parameters = []
        for each in made.parameters:
            require(
                not each.tied or each.name not in self.taken,
                f"its weights {shorten(each.name)} are used twice, at least once in a branch, "
                "where layers share none: give each place separate weights",
            )
            parameters.append(replace(each, name=unused(each.name, self.taken)))
        inner = tuple(map(self.apart, made.inner))
        return renamed(replace(made, parameters=tuple(parameters), inner=inner), made)


def tied_names(made: LayerStep) -> list[str]:
    """Return the names of all tied parameters of a layer and its inner layers."""
    own = [each.name for each in made.parameters if each.tied]
    return own + [name for part in made.inner for name in tied_names(part)]


def are_one(first: LayerStep, second: LayerStep) -> bool:
    """Return whether two layers have equal settings, names and numbers."""
    return (
        type(first.layer) is type(second.layer)
        and len(first.inner) == len(second.inner)
        and all(map(are_one, first.inner, second.inner))
        and settings_of(first) == settings_of(second)
        and [p.name for p in first.parameters] == [p.name for p in second.parameters]
        and all(
            p.values is q.values or np.array_equal(p.values, q.values)
            for p, q in zip(first.parameters, second.parameters, strict=True)
        )
        and first.state.keys() == second.state.keys()
        and all(np.array_equal(first.state[name], second.state[name]) for name in first.state)
    )


def settings_of(made: LayerStep) -> str:
    return repr(sorted(made.layer.settings().items()))


def renamed(made: LayerStep, place: LayerStep) -> LayerStep:
    """Return a layer with the node names of `place`, but its original parameter names."""
    names = {**place.names, **{each.role: each.name for each in made.parameters}}
    if made.inner:
        parts = zip(made.inner, place.inner, strict=True)
        names["layers"] = [renamed(part, there).names for part, there in parts]
    return replace(made, names=names)
