"""WRITERS: how each layer is written as ONNX operators. To add one, write a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS, OnnxOperator
from scalarviz.core.formulas.elementary import pi
from scalarviz.core.layers import (
    Affine,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dense,
    Dropout,
    Elementwise,
    FrequencyEncoding,
    Layer,
    LayerNorm,
    MaxPool2d,
    PReLU,
    Reshape,
    Residual,
    RMSNorm,
)
from scalarviz.core.layers.nested import TwoBranches
from scalarviz.errors import InputError
from scalarviz.files.onnx.formula_nodes import is_writable
from scalarviz.files.onnx.tensors import Array
from scalarviz.files.onnx.trace import Shape
from scalarviz.files.onnx.writer import GraphWriter
from scalarviz.files.onnx_names import Names


def operator_of(activation: str) -> OnnxOperator | None:
    """Return the operator of an activation; None if ONNX has none or it is linear."""
    row = ACTIVATIONS.get(activation)
    return None if row is None else row.onnx


def can_write(activation: str) -> bool:
    """Return whether an activation has an operator, or can be written by its formula."""
    row = ACTIVATIONS.get(activation)
    if activation == "linear" or row is None:
        return activation == "linear"
    return row.onnx is not None or is_writable(row.value, "x")


@dataclass(frozen=True, eq=False)
class LayerContext:
    """A layer being written, its names in the file, and its name otherwise."""

    writer: GraphWriter
    layer: Any
    names: Names
    name: str

    def called(self, role: str, ending: str) -> str:
        """Return the name of a part in the file, or one derived from the layer's."""
        found = self.names.get(role)
        return found if isinstance(found, str) and found else f"{self.name}{ending}"

    def numbers(self, role: str, array: Array) -> str:
        """Store an array of the layer; return its name."""
        name = self.called(role, f".{role}")
        return self.writer.store_once(self.layer, role, name, array)

    def rows(self, role: str, first: int, shape: Shape) -> str:
        """Store parameters of the layer, from its bank index `first` on; return their name."""
        begin = self.layer.first_row + first
        values = self.writer.net.bank.value[begin : begin + int(np.prod(shape))]
        return self.numbers(role, values.reshape(shape))

    def activate(self, role: str, ending: str) -> None:
        """Write the layer's activation, if it has one."""
        operator = operator_of(self.layer.activation)
        writer, x = self.writer, self.writer.current
        if operator is None:
            if self.layer.activation != "linear":
                writer.place = self.called(role, ending)
                writer.current = writer.formula(ACTIVATIONS[self.layer.activation].value, x)
            return
        if operator.gate:
            role_of_gate = operator.gate.lower()
            gate = writer.node(operator.gate, self.called(role_of_gate, f".{role_of_gate}"))
            writer.node("Mul", self.called(role, ending), x, gate)
            return
        attributes: dict[str, Any] = {name: here for name, (here, _) in operator.attributes.items()}
        for before, numbers in operator.around[:1]:
            self.apply(before, self.called("before", f"{ending}.before"), numbers)
        self.apply(operator.name, self.called(role, ending), operator.inputs, **attributes)
        for behind, numbers in operator.around[1:]:
            self.apply(behind, self.called("behind", f"{ending}.behind"), numbers)

    def apply(
        self, operator: str, name: str, numbers: tuple[float, ...], **attributes: Any
    ) -> None:
        """Write an operator on the last value and on numbers."""
        x = self.writer.current
        roles = [f"{operator.lower()}{i}" for i in range(1, len(numbers) + 1)]
        stored = map(self.numbers, roles, map(np.array, numbers))
        self.writer.node(operator, name, x, *stored, **attributes)

    @property
    def ending(self) -> str:
        return f".{self.layer.activation}"


def write_layer(writer: GraphWriter, layer: Layer, names: Names) -> None:
    """Write a layer that takes the last value."""
    word, write = WRITERS[type(layer).__name__]
    found = names.get("node")
    name = found if isinstance(found, str) and found else writer.numbered(word)
    if layer.input_shape:
        writer.see(layer.input_shape, name)
    write(LayerContext(writer, layer, names, name))


def dense(at: LayerContext) -> None:
    """Write a Dense in its original form: Gemm with either order of weights, or MatMul and Add."""
    layer, writer = at.layer, at.writer
    assert isinstance(layer, Dense)
    writer.flat(at.name)
    matrix = layer.kernel
    form = at.names.get("form", "Gemm")
    weight = at.numbers("weight", matrix if form == "Gemm" else matrix.T)
    bias = [at.rows("bias", matrix.size, (layer.outputs,))] if layer.has_bias else []
    out: Shape = (layer.outputs,)
    if form == "MatMul":
        writer.node("MatMul", at.name, writer.current, weight, shape=out)
        if bias:
            writer.node("Add", at.called("add", ".add"), writer.current, *bias)
    else:
        turned = int(form == "Gemm")
        writer.node("Gemm", at.name, writer.current, weight, *bias, shape=out, transB=turned)
    at.activate("activation", at.ending)


def convolution(at: LayerContext) -> None:
    layer = at.layer
    assert isinstance(layer, Conv2d)
    shape = layer.kernel.shape
    inputs = [at.writer.current, at.rows("weight", 0, shape)]
    if layer.has_bias:
        inputs.append(at.rows("bias", int(np.prod(shape)), (layer.channels,)))
    more: dict[str, Any] = {
        "kernel_shape": list(layer.kernel_size),
        "strides": list(layer.stride),
        "pads": [layer.padding] * 4,
    }
    if layer.dilation != (1, 1):
        more["dilations"] = list(layer.dilation)
    if layer.groups != 1:
        more["group"] = layer.groups
    at.writer.node("Conv", at.name, *inputs, shape=layer.output_shape, **more)
    at.activate("activation", at.ending)


def windows(layer: MaxPool2d | AvgPool2d) -> dict[str, list[int]]:
    """Return the attributes of a window."""
    return {
        "kernel_shape": [layer.kernel] * 2,
        "strides": [layer.stride] * 2,
        "pads": [layer.padding] * 4,
    }


def max_pool(at: LayerContext) -> None:
    at.writer.node("MaxPool", at.name, shape=at.layer.output_shape, **windows(at.layer))


def average_pool(at: LayerContext) -> None:
    layer, shape = at.layer, at.layer.output_shape
    whole = layer.kernel == layer.shape[1] == layer.shape[2] and not layer.padding
    if whole and at.names.get("form") == "GlobalAveragePool":
        at.writer.node("GlobalAveragePool", at.name, shape=shape)
    else:
        more = windows(layer)
        at.writer.node("AveragePool", at.name, shape=shape, count_include_pad=1, **more)


def flatten(at: LayerContext) -> None:
    at.writer.node("Flatten", at.name, shape=(at.layer.outputs,), axis=1)


def reshape(at: LayerContext) -> None:
    assert isinstance(at.layer, Reshape)
    at.writer.reshape(at.layer.shape, at.name)


def batch_norm(at: LayerContext) -> None:
    layer = at.layer
    assert isinstance(layer, BatchNorm)
    if not layer.input_shape:
        at.writer.flat(at.name)
    of_each = (layer.features,)
    inputs = (
        at.writer.current,
        at.rows("weight", 0, of_each),
        at.rows("bias", layer.features, of_each),
        at.numbers("mean", layer.running_mean),
        at.numbers("variance", layer.running_variance),
    )
    kept = 1.0 - layer.momentum
    at.writer.node("BatchNormalization", at.name, *inputs, epsilon=layer.eps, momentum=kept)


def affine(at: LayerContext) -> None:
    layer, writer = at.layer, at.writer
    assert isinstance(layer, Affine)
    if not layer.input_shape:
        writer.flat(at.name)
    of_each: Shape = (layer.features, 1, 1) if layer.input_shape else (layer.features,)
    writer.node("Mul", at.name, writer.current, at.rows("weight", 0, of_each))
    shift = at.rows("bias", layer.features, of_each)
    writer.node("Add", at.called("add", ".add"), writer.current, shift)


def layer_norm(at: LayerContext) -> None:
    writer, layer = at.writer, at.layer
    assert isinstance(layer, LayerNorm)
    shape = writer.shape
    inputs = (
        writer.current,
        at.rows("weight", 0, shape),
        at.rows("bias", layer.inputs, shape),
    )
    writer.node("LayerNormalization", at.name, *inputs, axis=-len(shape), epsilon=layer.eps)


def rms_norm(at: LayerContext) -> None:
    """Write RMSNorm as several nodes: ONNX has it from opset 23 on only."""
    writer, layer = at.writer, at.layer
    assert isinstance(layer, RMSNorm)
    writer.flat(at.name)
    x, row = writer.current, writer.shape
    axes, eps = at.numbers("axes", np.array([-1])), at.numbers("eps", np.array(layer.eps))
    writer.node("Mul", at.called("square", ".square"), x, x)
    mean = at.called("mean", ".mean")
    writer.node("ReduceMean", mean, writer.current, axes, shape=(1,), keepdims=1)
    writer.node("Add", at.called("sum", ".sum"), writer.current, eps)
    root = writer.node("Sqrt", at.called("root", ".root"))
    writer.node("Div", at.called("quotient", ".quotient"), x, root, shape=row)
    writer.node("Mul", at.name, writer.current, at.rows("weight", 0, row))


def softmax(at: LayerContext) -> None:
    at.writer.flat(at.name)
    at.writer.node("Softmax", at.name, axis=-1)


def log_softmax(at: LayerContext) -> None:
    at.writer.flat(at.name)
    at.writer.node("LogSoftmax", at.name, axis=-1)


def spread(at: LayerContext) -> None:
    shape = at.layer.output_shape
    at.writer.node(
        "Expand",
        at.name,
        at.writer.current,
        at.numbers("shape", np.array([1, *shape])),
        shape=shape,
    )


def activation(at: LayerContext) -> None:
    at.activate("node", "")


def prelu(at: LayerContext) -> None:
    """Write the slopes of PReLU: one, or one for each channel or feature."""
    layer, shape = at.layer, at.writer.shape
    assert isinstance(layer, PReLU)
    if layer.counts[0] not in (1, shape[0]):
        raise InputError(
            f"{layer} has {layer.counts[0]} slopes, and ONNX has one, or one for each of "
            f"{shape[0]} channels or features: make PReLU with one of these"
        )
    slopes = at.rows("weight", 0, (layer.counts[0], *[1] * (len(shape) - 1)))
    at.writer.node("PRelu", at.name, at.writer.current, slopes)


def elementwise(at: LayerContext) -> None:
    """Write a formula with parameters by its source, with a number for each feature."""
    layer, writer, row = at.layer, at.writer, at.layer.first_row
    assert isinstance(layer, Elementwise)
    given = []
    for key, count in zip(layer.formula.parameters, layer.counts, strict=True):
        numbers = layer.bank.value[row : row + count]
        row += count
        wide = np.repeat(numbers, layer.inputs // count).reshape(writer.shape)
        given.append(at.numbers(key, wide if count > 1 else numbers[0]))
    writer.place = at.name
    writer.current = writer.formula(layer.formula.value, writer.current, *given)


def dropout(at: LayerContext) -> None:
    assert isinstance(at.layer, Dropout)
    at.writer.node(
        "Dropout", at.name, at.writer.current, at.numbers("ratio", np.array(at.layer.rate))
    )


def encoding(at: LayerContext) -> None:
    """Write a FrequencyEncoding as Mul, Sin, Cos and Concat."""
    writer, layer = at.writer, at.layer
    assert isinstance(layer, FrequencyEncoding)
    writer.flat(at.name)
    n, octaves = layer.inputs, layer.octaves
    frequencies = (pi * 2.0 ** np.arange(octaves)).reshape(octaves, 1)
    writer.reshape((n, 1, 1), at.called("reshape", ".inputs"))
    stored = at.numbers("frequencies", frequencies)
    angles = writer.node("Mul", at.name, writer.current, stored, shape=(n, octaves, 1))
    waves = (
        writer.node("Sin", at.called("sin", ".sin"), angles),
        writer.node("Cos", at.called("cos", ".cos"), angles),
    )
    writer.node("Concat", at.called("concat", ".waves"), *waves, shape=(n, octaves, 2), axis=-1)
    name = at.called("flatten", ".row")
    writer.node("Flatten", name, shape=(layer.outputs,), axis=1)


def residual(at: LayerContext) -> None:
    writer, layer = at.writer, at.layer
    assert isinstance(layer, Residual)
    if layer.branches[1]:
        return branches("Add", at)
    x, shape = writer.current, writer.shape
    write_inner(at)
    writer.see(shape, at.name)
    writer.node("Add", at.name, x, writer.current)


def write_inner(at: LayerContext, low: int = 0, high: int | None = None) -> None:
    """Write the inner layers `low` to before `high`, by default all."""
    layers = at.layer.layers
    names = at.names.get("layers") or [{}] * len(layers)
    for each in range(low, len(layers) if high is None else high):
        write_layer(at.writer, layers[each], names[each])


def branches(operator: str, at: LayerContext) -> None:
    """Write two branches, and the operator that joins them: rows, or pictures of one size."""
    writer, layer = at.writer, at.layer
    assert isinstance(layer, TwoBranches)
    start = writer.current, writer.shape
    write_inner(at, high=layer.first)
    a, a_shape = writer.current, writer.shape
    writer.current, writer.shape = start
    write_inner(at, layer.first)
    shape = layer.joined_shape(a_shape, writer.shape) or (layer.outputs,)
    if len(shape) == 1:
        writer.flat(f"{at.name}.second")
        b = writer.current
        writer.current, writer.shape = a, a_shape
        writer.flat(f"{at.name}.first")
        a, writer.current = writer.current, b
    axis = {"axis": 1} if operator == "Concat" else {}
    writer.node(operator, at.name, a, writer.current, shape=shape, **axis)


# Each kind of layer: the stem of its generated names, and how it is written.
WRITERS: Mapping[str, tuple[str, Callable[[LayerContext], None]]] = {
    "Dense": ("dense", dense),
    "Conv2d": ("conv", convolution),
    "MaxPool2d": ("max_pool", max_pool),
    "AvgPool2d": ("average_pool", average_pool),
    "Flatten": ("flatten", flatten),
    "Reshape": ("reshape", reshape),
    "BatchNorm": ("batch_norm", batch_norm),
    "Affine": ("affine", affine),
    "LayerNorm": ("layer_norm", layer_norm),
    "RMSNorm": ("rms_norm", rms_norm),
    "PReLU": ("prelu", prelu),
    "Elementwise": ("formula", elementwise),
    "Softmax": ("softmax", softmax),
    "Spread": ("spread", spread),
    "LogSoftmax": ("log_softmax", log_softmax),
    "Activation": ("activation", activation),
    "Dropout": ("dropout", dropout),
    "FrequencyEncoding": ("encoding", encoding),
    "Residual": ("residual", residual),
    "Product": ("product", partial(branches, "Mul")),
    "Concatenate": ("concatenate", partial(branches, "Concat")),
}
