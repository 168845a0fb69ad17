"""Writer of ONNX models from networks, with original or generated names.

WRITERS has a function for each kind of layer, which writes it as ONNX operators. To add a layer,
add a row. A layer without names from a file is named by kind and number: the node "dense1", its
parameters "dense1.weight" and "dense1.bias".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Generic, TypeVar, final

import numpy as np

from scalarviz.base.checks import Shape, require, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import pi
from scalarviz.core.formulas.formula_trees import Tree, UnwritableError, function_tree
from scalarviz.core.layers import (
    Affine,
    Attention,
    AvgPool2d,
    BatchNorm,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Elementwise,
    Embedding,
    FrequencyEncoding,
    GroupNorm,
    Layer,
    LayerNorm,
    MaxPool2d,
    PReLU,
    Reshape,
    Residual,
    RMSNorm,
    Slice,
)
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.layers.nested import TwoBranches
from scalarviz.core.layers.parameters import own_parameters
from scalarviz.core.program import Windows
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file
from scalarviz.files.checked_safetensors import Array
from scalarviz.files.onnx.onnx_graph import HIDDEN, the_package
from scalarviz.files.onnx_names import Names, check_names, clean_names, texts_of, unused
from scalarviz.training.network.network import Network

OPSET = 20  # the first opset with Gelu
FORMAT = 9  # IR version of that opset


def save_model(net: Network, path: object) -> None:
    """Save a network as an ONNX model; see `scalarviz.files.onnx.save`."""
    onnx = the_package()
    found = as_path(path)
    if not isinstance(net, Network):
        raise InputError(
            f"sv.onnx.save saves a Network, not {shorten(net)}: write sv.onnx.save(net, path)"
        )
    nothing: list[Names] = [{} for _ in net.layers]
    plain = {"graph": "network", "input": "input", "output": "output", "layers": nothing}
    names = clean_names(check_names(plain if net.names is None else net.names, net.layers))
    check_layers(net.layers)
    check_places(net.layers)
    writer = GraphWriter(net, onnx.helper, names)
    for layer, own in zip(net.layers, names["layers"], strict=True):
        write_layer(writer, layer, own)
    write_model(onnx, writer.finish(), found)


def write_model(onnx: Any, graph: Any, path: Path) -> None:
    """Check a graph and write it to a file as a model."""
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=FORMAT,
        producer_name="scalarviz",
    )
    onnx.checker.check_model(model, full_check=True)
    replace_file(path, model.SerializeToString(deterministic=True))


def check_layers(layers: Iterable[Layer]) -> None:
    """Raise InputError, with a list, if ONNX does not support all layers and activations."""
    odd = list(dict.fromkeys(odd_parts(layers)))
    require(
        not odd,
        f"ONNX has no operator for {', '.join(odd)}: choose other layers and activations to "
        "save it there",
    )


def check_places(layers: Sequence[Layer]) -> None:
    """Raise InputError if a shared layer would be read back as separate layers.

    Shared layers are recognized by their matrix, because exporters also merge equal vectors.
    """
    for layer, places in Counter(layers).items():
        require(
            places == 1 or not layer.size or has_matrix(layer),
            f"{layer} is used in more than one place, which an ONNX file cannot express: give "
            "each place a separate layer to save it there",
        )


def has_matrix(layer: Layer) -> bool:
    """Return whether a layer, or an inner layer, has a weight matrix."""
    return isinstance(layer, PerceptronLayer) or any(map(has_matrix, layer.layers))


def odd_parts(layers: Iterable[Layer]) -> list[str]:
    """Return descriptions of the parts of these layers that cannot be written."""
    found = []
    for layer in layers:
        if type(layer).__name__ not in WRITERS:
            found.append(f"the layer {type(layer).__name__}")
        if not can_write(layer.activation):
            found.append(f"the activation {shorten(layer.activation)}")
        if isinstance(layer, Elementwise) and not is_writable(
            layer.formula.value, "x", *layer.formula.parameters
        ):
            found.append(f"the formula {layer.formula.name}")
        found += odd_parts(layer.layers)
    return found


# Writers of layers.


def can_write(activation: str) -> bool:
    """Return whether an activation has an operator, or its formula can be written."""
    row = ACTIVATIONS.get(activation)
    if activation == "linear" or row is None:
        return activation == "linear"
    return row.onnx is not None or is_writable(row.value, "x")


LayerT = TypeVar("LayerT", bound=Layer, covariant=True)


@dataclass(frozen=True, eq=False)
class LayerContext(Generic[LayerT]):
    """A layer that is being written, with its names in the file and its default name."""

    writer: GraphWriter
    layer: LayerT
    names: Names
    name: str

    def numbers(self, role: str, array: Array) -> str:
        """Store an array of the layer under its original name, and return its name."""
        name = self.names.get(role) or f"{self.name}.{role}"
        return self.writer.store_once(self.layer, role, name, array)

    def rows(self, role: str, shape: Shape) -> str:
        """Store the parameters that have the given role, reshaped to `shape`; return their name."""
        return self.numbers(role, own_parameters(self.layer)[role].value.reshape(shape))

    def activate(self, name: str) -> None:
        """Write the activation of the layer, unless it is linear."""
        if self.layer.activation == "linear":
            return
        row = ACTIVATIONS[self.layer.activation]
        operator, writer, x = row.onnx, self.writer, self.writer.current
        if operator is None:
            writer.place = name
            writer.current = writer.formula(row.value, x)
            return
        if operator.gate:
            gate = writer.node(operator.gate, f"{self.name}.{operator.gate.lower()}")
            writer.node("Mul", name, x, gate)
            return
        attributes: dict[str, Any] = {name: here for name, (here, _) in operator.attributes.items()}
        for before, numbers in operator.around[:1]:
            self.apply(before, f"{name}.before", numbers)
        inner = f"{name}.inner" if operator.around else name
        self.apply(operator.name, inner, operator.inputs, **attributes)
        for behind, numbers in operator.around[1:]:
            self.apply(behind, name, numbers)

    def apply(
        self, operator: str, name: str, numbers: tuple[float, ...], **attributes: Any
    ) -> None:
        """Write an operator with the last value and constant numbers as inputs."""
        x = self.writer.current
        roles = [f"{operator.lower()}{i}" for i in range(1, len(numbers) + 1)]
        stored = map(self.numbers, roles, map(np.array, numbers))
        self.writer.node(operator, name, x, *stored, **attributes)

    def end(self) -> None:
        """Write the activation that ends a layer."""
        self.activate(self.names.get("activation") or f"{self.name}.{self.layer.activation}")


def write_layer(writer: GraphWriter, layer: Layer, names: Names) -> None:
    """Write a layer whose input is the last value."""
    word, write = WRITERS[type(layer).__name__]
    found = names.get("node")
    name = found if isinstance(found, str) and found else writer.numbered(word)
    if layer.input_shape and not isinstance(layer, Conv1d):
        writer.see(layer.input_shape, name)
    write(LayerContext(writer, layer, names, name))


def dense(at: LayerContext[Dense]) -> None:
    layer, writer = at.layer, at.writer
    writer.flat(at.name)
    inputs = [writer.current, at.numbers("weight", layer.kernel)]
    if layer.has_bias:
        inputs.append(at.rows("bias", (layer.outputs,)))
    writer.node("Gemm", at.name, *inputs, shape=(layer.outputs,), transB=1)
    at.end()


def convolution(at: LayerContext[Conv1d | Conv2d]) -> None:
    layer, shape = at.layer, at.layer.kernel.shape
    sides = len(shape) - 2
    at.writer.see((layer.shape[0], *layer.shape[-sides:]), at.name)
    inputs = [at.writer.current, at.rows("weight", shape)]
    if layer.has_bias:
        inputs.append(at.rows("bias", (layer.channels,)))
    made, more = (layer.channels, *layer.output_shape[-sides:]), windows(layer.windows, sides)
    at.writer.node("Conv", at.name, *inputs, shape=made, group=layer.groups, **more)
    at.end()


def windows(w: Windows, sides: int = 2) -> dict[str, list[int]]:
    """Return the ONNX attributes of windows over pictures (2 sides) or sequences (1 side)."""
    return {
        "kernel_shape": [w.kernel_height, w.kernel_width][-sides:],
        "strides": [w.stride_height, w.stride_width][-sides:],
        "pads": [w.padding_height, w.padding_width][-sides:] * 2,
        "dilations": [w.dilation_height, w.dilation_width][-sides:],
    }


def pool(operator: str, at: LayerContext[MaxPool2d | AvgPool2d]) -> None:
    layer = at.layer
    more: dict[str, Any] = {"count_include_pad": 1} if operator == "AveragePool" else {}
    more |= windows(layer.windows)
    at.writer.node(operator, at.name, shape=layer.output_shape, **more)


def flatten(at: LayerContext[Layer]) -> None:
    at.writer.node("Flatten", at.name, shape=(at.layer.outputs,), axis=1)


def reshape(at: LayerContext[Reshape]) -> None:
    at.writer.reshape(at.layer.shape, at.name)


def batch_norm(at: LayerContext[BatchNorm]) -> None:
    layer = at.layer
    if not layer.input_shape:
        at.writer.flat(at.name)
    of_each = (layer.features,)
    inputs = (
        at.writer.current,
        at.rows("weight", of_each),
        at.rows("bias", of_each),
        at.numbers("mean", layer.running_mean),
        at.numbers("variance", layer.running_variance),
    )
    kept = 1.0 - layer.momentum
    at.writer.node("BatchNormalization", at.name, *inputs, epsilon=layer.eps, momentum=kept)


def affine(at: LayerContext[Affine | GroupNorm]) -> None:
    layer, writer = at.layer, at.writer
    if not layer.input_shape:
        writer.flat(at.name)
    of_each: Shape = (layer.features, 1, 1) if layer.input_shape else (layer.features,)
    writer.node("Mul", f"{at.name}.scale", writer.current, at.rows("weight", of_each))
    writer.node("Add", at.name, writer.current, at.rows("bias", of_each))


def layer_norm(at: LayerContext[LayerNorm]) -> None:
    writer, layer = at.writer, at.layer
    shape, is_sequence = writer.shape, len(writer.shape) > 1 and bool(layer.input_shape)
    name = f"{at.name}.norm" if is_sequence else at.name
    if is_sequence:
        turned(at, f"{at.name}.turn", (0, 2, 3, 1))
    inside = shape[:1] if is_sequence else shape
    inputs = writer.current, at.rows("weight", inside), at.rows("bias", inside)
    writer.node("LayerNormalization", name, *inputs, axis=-len(inside), epsilon=layer.eps)
    if is_sequence:
        turned(at, at.name, (0, 3, 1, 2))


def turned(at: LayerContext[Any], name: str, axes: Shape) -> None:
    """Write a Transpose to these axes, of which the first one is the batch."""
    shape = tuple([at.writer.shape[axis - 1] for axis in axes[1:]])
    at.writer.node("Transpose", name, shape=shape, perm=[*axes])


def embedding(at: LayerContext[Embedding]) -> None:
    """Write Gather; a row of zeros behind the others is chosen by -1."""
    writer, layer = at.writer, at.layer
    shape = layer.output_shape or (layer.features,)
    writer.place, size = at.name, (*writer.shape, layer.features)
    whole = writer.helper.np_dtype_to_tensor_dtype(np.dtype(np.int64))
    indices = writer.put("Cast", writer.current, to=whole)
    rows = at.rows("weight", (layer.count, layer.features))
    zeros = at.numbers("zeros", np.zeros((1, layer.features)))
    table = writer.put("Concat", rows, zeros, axis=0)
    writer.node("Gather", f"{at.name}.rows", table, indices, shape=size, axis=0)
    writer.reshape((layer.places, layer.features), f"{at.name}.places")
    turned(at, f"{at.name}.turn", (0, 2, 1))
    writer.reshape(shape, f"{at.name}.sequence" if layer.positions else at.name)
    if layer.positions:
        writer.node("Add", at.name, writer.current, at.rows("position", shape))


def attention(at: LayerContext[Attention]) -> None:
    """Write the products, the mask and the softmax of all heads."""
    writer, layer, shape = at.writer, at.layer, at.layer.output_shape
    heads, size, places = layer.heads, layer.features // layer.heads, layer.places
    writer.reshape((heads, 3, size, places), f"{at.name}.heads")
    parts = []
    for i, role in enumerate(("query", "key", "value")):
        index = at.numbers(f"index_of_{role}", np.array(i))
        inputs, name = (writer.current, index), f"{at.name}.{role}"
        parts.append(writer.node("Gather", name, *inputs, shape=(heads, size, places), axis=2))
        writer.current, writer.shape = inputs[0], (heads, 3, size, places)
    query, key, value = parts
    writer.current, writer.shape = query, (heads, size, places)
    turned(at, f"{at.name}.turn", (0, 1, 3, 2))
    square = heads, places, places
    writer.node("MatMul", f"{at.name}.scores", writer.current, key, shape=square)
    factor = at.numbers("factor", np.array(layer.numbers[-1]))
    writer.node("Mul", f"{at.name}.scaled", writer.current, factor)
    if layer.causal:
        mask = at.numbers("mask", np.triu(np.full((places, places), HIDDEN), 1))
        writer.node("Add", f"{at.name}.masked", writer.current, mask)
    writer.node("Softmax", f"{at.name}.shares", axis=-1)
    turned(at, f"{at.name}.turn_back", (0, 1, 3, 2))
    made = heads, size, places
    writer.node("MatMul", f"{at.name}.values", value, writer.current, shape=made)
    writer.reshape(shape, at.name)


def group_norm(at: LayerContext[GroupNorm]) -> None:
    """Write GroupNorm as InstanceNormalization of groups, the only possibility in opset 20."""
    writer, layer, ones = at.writer, at.layer, np.ones(at.layer.groups)
    shape, plain = writer.shape, (at.numbers("ones", ones), at.numbers("zeros", 0.0 * ones))
    writer.reshape((layer.groups, layer.inputs // layer.groups), f"{at.name}.groups")
    name = f"{at.name}.norm"
    writer.node("InstanceNormalization", name, writer.current, *plain, epsilon=layer.eps)
    writer.reshape(shape, f"{at.name}.channels")
    affine(at)


def rms_norm(at: LayerContext[RMSNorm]) -> None:
    """Write RMSNorm as several nodes, since ONNX has an operator only from opset 23 on."""
    writer, layer = at.writer, at.layer
    if not layer.input_shape:
        writer.flat(at.name)
    x, row = writer.current, writer.shape
    axes, eps = at.numbers("axes", np.array([1])), at.numbers("eps", np.array(layer.eps))
    writer.node("Mul", f"{at.name}.square", x, x)
    mean, shape = f"{at.name}.mean", (1, *row[1:])
    writer.node("ReduceMean", mean, writer.current, axes, shape=shape, keepdims=1)
    writer.node("Add", f"{at.name}.sum", writer.current, eps)
    root = writer.node("Sqrt", f"{at.name}.root")
    writer.node("Div", f"{at.name}.quotient" if layer.size else at.name, x, root, shape=row)
    if layer.size:
        gains = at.rows("weight", (row[0], *[1] * (len(row) - 1)))
        writer.node("Mul", at.name, writer.current, gains)


def of_row(operator: str, at: LayerContext[Layer]) -> None:
    """Write an operator on all numbers of a sample, or of each place of a sequence."""
    if not at.layer.input_shape:
        at.writer.flat(at.name)
    at.writer.node(operator, at.name, axis=1)


def spread(at: LayerContext[Layer]) -> None:
    shape = at.layer.output_shape
    at.writer.node(
        "Expand",
        at.name,
        at.writer.current,
        at.numbers("shape", np.array([1, *shape])),
        shape=shape,
    )


def part(at: LayerContext[Slice]) -> None:
    layer = at.layer
    given = {"starts": layer.first, "ends": layer.end, "axes": 1}
    places = [at.numbers(role, np.array([number])) for role, number in given.items()]
    shape = layer.output_shape or (layer.outputs,)
    at.writer.node("Slice", at.name, at.writer.current, *places, shape=shape)


def activation(at: LayerContext[Layer]) -> None:
    at.activate(at.name)


def prelu(at: LayerContext[PReLU]) -> None:
    """Write PReLU with a single slope, or with one slope per channel or feature."""
    layer, shape = at.layer, at.writer.shape
    require(
        layer.counts[0] in (1, shape[0]),
        f"{layer} has {layer.counts[0]} slopes, and ONNX has one, or one for each of "
        f"{shape[0]} channels or features: make PReLU with one of these",
    )
    slopes = at.rows("weight", (layer.counts[0], *[1] * (len(shape) - 1)))
    at.writer.node("PRelu", at.name, at.writer.current, slopes)


def elementwise(at: LayerContext[Elementwise]) -> None:
    """Write a formula with parameters, read from its source, with one number per feature."""
    layer, writer, given = at.layer, at.writer, []
    for key, each in own_parameters(layer).items():
        numbers = each.value.ravel()
        wide = np.repeat(numbers, layer.inputs // numbers.size).reshape(writer.shape)
        given.append(at.numbers(key, wide if numbers.size > 1 else numbers[0]))
    writer.place = at.name
    writer.current = writer.formula(layer.formula.value, writer.current, *given)


def dropout(at: LayerContext[Dropout]) -> None:
    at.writer.node(
        "Dropout", at.name, at.writer.current, at.numbers("ratio", np.array(at.layer.rate))
    )


def encoding(at: LayerContext[FrequencyEncoding]) -> None:
    """Write a FrequencyEncoding as Mul, Sin, Cos and Concat."""
    writer, layer = at.writer, at.layer
    writer.flat(at.name)
    n, octaves = layer.inputs, layer.octaves
    frequencies = (pi * 2.0 ** np.arange(octaves)).reshape(octaves, 1)
    writer.reshape((n, 1, 1), f"{at.name}.inputs")
    stored = at.numbers("frequencies", frequencies)
    angles = writer.node("Mul", f"{at.name}.angles", writer.current, stored, shape=(n, octaves, 1))
    waves = (
        writer.node("Sin", f"{at.name}.sin", angles),
        writer.node("Cos", f"{at.name}.cos", angles),
    )
    writer.node("Concat", at.name, *waves, shape=(n, octaves, 2), axis=-1)
    writer.node("Flatten", f"{at.name}.row", shape=(layer.outputs,), axis=1)


def residual(at: LayerContext[Residual]) -> None:
    writer, layer = at.writer, at.layer
    if layer.branches[1]:
        return branches("Add", at)
    x, shape = writer.current, writer.shape
    write_inner(at)
    writer.see(shape, at.name)
    writer.node("Add", at.name, x, writer.current)


def write_inner(at: LayerContext[Layer], low: int = 0, high: int | None = None) -> None:
    """Write the inner layers `low` to `high` - 1, by default all."""
    layers = at.layer.layers
    names = at.names.get("layers") or [{}] * len(layers)
    for each in range(low, len(layers) if high is None else high):
        write_layer(at.writer, layers[each], names[each])


def branches(operator: str, at: LayerContext[TwoBranches]) -> None:
    """Write two branches, and the operator that joins them, for rows or pictures of equal size."""
    writer, layer = at.writer, at.layer
    start = writer.current, writer.shape
    write_inner(at, high=len(layer.branches[0]))
    a, a_shape = writer.current, writer.shape
    writer.current, writer.shape = start
    write_inner(at, len(layer.branches[0]))
    shape = layer.joined_shape(a_shape, writer.shape) or (layer.outputs,)
    if len(shape) == 1:
        writer.flat(f"{at.name}.second")
        b = writer.current
        writer.current, writer.shape = a, a_shape
        writer.flat(f"{at.name}.first")
        a, writer.current = writer.current, b
    axis = {"axis": 1} if operator == "Concat" else {}
    writer.node(operator, at.name, a, writer.current, shape=shape, **axis)


# Each kind of layer: the prefix of its generated names, and its writer.
WRITERS: Mapping[str, tuple[str, Callable[[LayerContext[Any]], None]]] = {
    "Dense": ("dense", dense),
    "Conv2d": ("conv", convolution),
    "Conv1d": ("conv", convolution),
    "MaxPool2d": ("max_pool", partial(pool, "MaxPool")),
    "AvgPool2d": ("average_pool", partial(pool, "AveragePool")),
    "Flatten": ("flatten", flatten),
    "Reshape": ("reshape", reshape),
    "BatchNorm": ("batch_norm", batch_norm),
    "Affine": ("affine", affine),
    "LayerNorm": ("layer_norm", layer_norm),
    "GroupNorm": ("group_norm", group_norm),
    "RMSNorm": ("rms_norm", rms_norm),
    "Embedding": ("embedding", embedding),
    "Attention": ("attention", attention),
    "PReLU": ("prelu", prelu),
    "Elementwise": ("formula", elementwise),
    "Softmax": ("softmax", partial(of_row, "Softmax")),
    "Spread": ("spread", spread),
    "Slice": ("slice", part),
    "LogSoftmax": ("log_softmax", partial(of_row, "LogSoftmax")),
    "Activation": ("activation", activation),
    "Dropout": ("dropout", dropout),
    "FrequencyEncoding": ("encoding", encoding),
    "Residual": ("residual", residual),
    "Product": ("product", partial(branches, "Mul")),
    "Concatenate": ("concatenate", partial(branches, "Concat")),
}


# Formulas written as nodes of standard operators, from their source.

OPERATORS = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "divide": "Div", "**": "Pow", "power": "Pow",
    "<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal",
    "neg": "Neg", "not": "Not", "and": "And", "or": "Or", "abs": "Abs", "min": "Min", "max": "Max",
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tanh": "Tanh",
    "sign": "Sign", "if": "Where",
}  # fmt: skip
TRUTHS = {"<", "<=", ">", ">=", "==", "not", "and", "or"}


def is_writable(function: Callable[..., Any], *given: str) -> bool:
    """Return whether a formula with these arguments can be written as nodes."""
    try:
        Trial().formula(function, *given)
    except UnwritableError:
        return False
    return True


class FormulaNodes(ABC):
    """Base class of graphs to which formulas are appended as nodes."""

    def __init__(self) -> None:
        self._truths: set[str] = set()  # names of boolean values

    @abstractmethod
    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node, and return the name of its result."""

    @abstractmethod
    def number(self, value: float) -> str:
        """Store a constant and return its name."""

    @final
    def formula(self, function: Callable[..., Any], *given: str | float, place: int = 0) -> str:
        """Write a formula as nodes and return the name of its result.

        Raises UnwritableError if it is not a plain function of numbers.

        Args:
            given: arguments of the formula: names of values, or numbers
            place: index of the result, if the formula returns several numbers
        """
        tree = function_tree(function, place)
        if tree is None:
            raise UnwritableError
        return self.value(self._called(tree, given))

    @final
    def value(self, found: str | float) -> str:
        """Return the name of a value, or of a constant for a number."""
        return found if isinstance(found, str) else self.number(found)

    def _called(self, function: Tree, given: tuple[str | float, ...]) -> str | float:
        return self._made(function["result"], dict(zip(function["names"], given, strict=True)))

    def _made(self, tree: Tree, known: Mapping[str, str | float]) -> str | float:
        match tree:
            case str():
                return known[tree]
            case float():
                return tree
            case ["let", name, given, rest]:
                return self._made(rest, {**known, name: self._made(given, known)})
            case ["call", function, *parts]:
                return self._called(function, tuple([self._made(part, known) for part in parts]))
        word, *found = tree[0], *[self._made(part, known) for part in tree[1:]]
        match word, found:
            case "==", [int() | float() as a, int() | float() as b]:
                return float(a == b)
            case "if", [int() | float() as test, yes, no]:
                return yes if test else no
        return self._word(word, [self.value(each) for each in found])

    def _word(self, word: str, parts: list[str]) -> str | float:
        """Write one operation of a formula tree and return its result."""
        match word, parts:
            case (("inf" | "nan"), []):
                return float(word)
            case "float", [x]:
                return x
            case (("!=" | "=="), [x, _]) if x in self._truths:  # compared with 0
                return x if word == "!=" else self._truth("Not", x)
            case "!=", _:
                return self._truth("Not", self._truth("Equal", *parts))
        one = self.number(1.0)
        match word:
            case "erfc":
                return self.put("Sub", one, self.put("Erf", *parts))
            case "expm1":
                return self.put("Sub", self.put("Exp", *parts), one)
            case "log1p":
                return self.put("Log", self.put("Add", *parts, one))
        if word not in OPERATORS:
            raise UnwritableError
        write = self._truth if word in TRUTHS else self.put
        return write(OPERATORS[word], *parts)

    def _truth(self, operator: str, *parts: str) -> str:
        """Append a node with a boolean result and return the name of the result."""
        found = self.put(operator, *parts)
        self._truths.add(found)
        return found


@final
class Trial(FormulaNodes):
    """A graph that discards its nodes, to try whether a formula can be written."""

    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return operator

    def number(self, value: float) -> str:
        return str(value)


# A graph built node by node, with unique names.

BATCH = "batch"


def tensor_of(helper: Any, name: str, array: Array) -> Any:
    """Return an array as a TensorProto."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return helper.make_tensor(name, kind, array.shape, data, raw=True)


class GraphWriter(FormulaNodes):
    """A graph under construction: the nodes and constants so far, and the last value.

    Attributes:
        current: name of the last value
        shape: shape of the last value for one sample
        place: prefix for the names of nodes of a formula
    """

    def __init__(self, net: Network, helper: Any, names: Names) -> None:
        super().__init__()
        self.net = net
        self.helper = helper
        self.names = names
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(net.dtype))
        first = net.layers[0]
        self.current = names["input"] or "input"
        self.shape: Shape = tuple(names.get("shape", ())) or first.input_shape or (net.inputs,)
        self.inputs = [self._value(self.current, self.shape)]
        self.place = ""
        self._nodes: list[Any] = []
        self._numbers: dict[str, Any] = {}
        self._values: list[Any] = []
        self._shared: dict[tuple[int, str], str] = {}
        self._counts: Counter[str] = Counter()
        self._reserved = set(texts_of(names))
        self._used = {self.current, *net.input_widths}
        self._node_names: set[str] = set()
        if net.input_widths:
            self.inputs = [self._value(name, (n,)) for name, n in net.input_widths.items()]
            self.node("Concat", self.current, *net.input_widths, shape=(net.inputs,), axis=1)

    def numbered(self, kind: str) -> str:
        """Return a new name for a layer of a kind: "dense1", "dense2", ..."""
        self._counts[kind] += 1
        return f"{kind}{self._counts[kind]}"

    def node(
        self,
        operator: str,
        name: str,
        *inputs: str,
        shape: Shape | None = None,
        **attributes: Any,
    ) -> str:
        """Append a node, by default with the last value as input; return the name of its output."""
        name = unused(name, self._node_names)
        output = self._free(f"{name}_output")
        made = self.helper.make_node(
            operator, list(inputs or (self.current,)), [output], name=name, **attributes
        )
        self._nodes.append(made)
        self.current, self.shape = output, self.shape if shape is None else shape
        self._values.append(self._value(output, self.shape))
        return output

    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        found = self.node(operator, f"{self.place}.{operator.lower()}", *inputs, **attributes)
        self._values.pop()  # it may be a comparison, of another type
        return found

    def number(self, value: float) -> str:
        return self.store(f"{self.place}.number", np.asarray(value))

    def store(self, name: str, array: Array) -> str:
        """Store an array under a name, or a similar name if that is taken; return the name."""
        plain = array.astype(np.int64 if array.dtype.kind == "i" else self.net.dtype)
        made = tensor_of(self.helper, name, plain)
        if made == self._numbers.get(name):
            return name
        stored = name if name and name not in self._used else self._free(name or "numbers")
        self._used.add(stored)
        made.name = stored
        self._numbers[stored] = made
        return stored

    def store_once(self, layer: Layer, role: str, name: str, array: Array) -> str:
        """Store a layer's array once, even if the layer is used in several places."""
        key = id(layer), role
        if key not in self._shared:
            self._shared[key] = self.store(name, array)
        return self._shared[key]

    def see(self, shape: Shape, name: str) -> None:
        """Reshape the last value if its shape differs from `shape`."""
        if shape == self.shape:
            return
        if len(shape) == 1:
            self.node("Flatten", f"{name}.flatten", shape=shape, axis=1)
        else:
            self.reshape(shape, f"{name}.reshape")

    def reshape(self, shape: Shape, name: str) -> None:
        """Append a Reshape of each sample of the last value."""
        sizes = self.store(f"{name}.shape", np.array([-1, *shape]))
        self.node("Reshape", name, self.current, sizes, shape=shape)

    def flat(self, name: str) -> None:
        """Flatten the last value to one vector per sample."""
        self.see((prod(self.shape),), name)

    def finish(self) -> Any:
        """Give the last value the name of the output, and return the graph."""
        if not self._nodes:
            self.node("Identity", "identity")
        output = self.names["output"]
        if not output or output in self._used:
            output = self._free(output or "output")
        last, self._nodes[-1].output[0] = self._nodes[-1].output[0], output
        return self.helper.make_graph(
            self._nodes,
            self.names["graph"] or "network",
            self.inputs,
            [self._value(output, self.shape)],
            list(self._numbers.values()),
            value_info=[each for each in self._values if each.name != last],
        )

    def _value(self, name: str, shape: Sequence[int]) -> Any:
        return self.helper.make_tensor_value_info(name, self.kind, [BATCH, *shape])

    def _free(self, name: str) -> str:
        """Return a name, similar to `name`, that is neither used nor reserved."""
        found = unused(name, self._used | self._reserved)
        self._used.add(found)
        return found
