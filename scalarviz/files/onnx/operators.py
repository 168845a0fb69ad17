"""OPERATORS: readers of ONNX operators. To add one, write a function and a row.

A function takes a `NodeContext`, which is a node with its inputs, and returns the output as a Flow.
It raises InputError with the reason if that is impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from math import inf, pi, prod
from typing import Any

import numpy as np

from scalarviz.base.checks import Shape, require, shorten
from scalarviz.core.formulas.activations import (
    ACTIVATIONS,
    FAMILIES,
    ActivationFormula,
    WithSettings,
    activation_row,
)
from scalarviz.core.layers import (
    Attention,
    AvgPool2d,
    BatchNorm,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Embedding,
    FrequencyEncoding,
    GroupNorm,
    LayerNorm,
    LogSoftmax,
    MaxPool2d,
    PReLU,
    RMSNorm,
    Softmax,
)
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.core.layers.nested import Concatenate, Product, Residual, TwoBranches
from scalarviz.core.layers.picture_layers import Pool, in_short
from scalarviz.core.layers.rowwise_layers import Slice, Spread
from scalarviz.core.layers.shapes import layer_size, shape_behind
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Array
from scalarviz.files.onnx.flows import (
    PICTURE,
    SAME,
    SCALED,
    Flow,
    LayerStep,
    NodeContext,
    Parameter,
    checked,
    nothing,
)
from scalarviz.files.onnx.onnx_graph import FLOATS, HIDDEN, Constant, shortest
from scalarviz.files.onnx_names import Names

# Operators that keep the numbers of a value, and at most change its shape.


def cast(at: NodeContext) -> Flow:
    """Cast to a float type, which is ignored: the network has a single dtype."""
    at.only("to", 1, *FLOATS)
    return at.flow


def flatten(at: NodeContext) -> Flow:
    """Flatten each sample."""
    flow = at.flow
    at.only("axis", 1, 1, -len(flow.shape))
    return flow.seen_as((prod(flow.shape),), at.node)


def reshape(at: NodeContext) -> Flow:
    """A Reshape that does not mix samples."""
    flow = at.flow
    stored = at.needed(1, "sizes").array
    require(
        stored.ndim == 1 and stored.dtype.kind == "i" and stored.size,
        "its sizes are not a list of whole numbers",
    )
    first, *rest = at.few(1)
    if not at.get("allowzero", 0):
        first = -1 if first == 0 else first
        rest = [flow.shape[i] if n == 0 and i < len(flow.shape) else n for i, n in enumerate(rest)]
    if rest.count(-1) == 1 and first in (at.batch, -1):
        known = prod(n for n in rest if n != -1)
        rest = [prod(flow.shape) // known if n == -1 and known > 0 else n for n in rest]
    whole = bool(rest) and min(rest) > 0 and prod(rest) == prod(flow.shape)
    require(
        whole and first in (-1, at.batch),
        f"its sizes are {shorten(stored)}, which does not leave each sample its "
        f"{prod(flow.shape)} numbers",
    )
    return flow.seen_as(tuple(rest), at.node)


def axes_of(at: NodeContext, rank: int) -> list[int]:
    """Return the axes of a node, from its attribute or input; the batch is axis 0."""
    found: Any = at.few(1) if at.constant(1) else at.get("axes", [])
    require(
        isinstance(found, list) and all(type(a) is int and -rank <= a < rank for a in found),
        f"its axes are {shorten(found)}",
    )
    axes = sorted(a % rank for a in found)
    require(axes and axes[0] != 0 and len(set(axes)) == len(axes), f"its axes are {shorten(found)}")
    return axes


def unsqueeze(at: NodeContext) -> Flow:
    """Insert axes of size 1."""
    flow = at.flow
    count = len(at.few(1)) if at.constant(1) else len(at.get("axes", []))
    shape = list(flow.shape)
    for axis in axes_of(at, min(len(shape) + 1 + count, 9)):
        shape.insert(axis - 1, 1)
    return flow.seen_as(tuple(shape), at.node)


def squeeze(at: NodeContext) -> Flow:
    """Remove axes of size 1."""
    flow = at.flow
    axes = axes_of(at, len(flow.shape) + 1)
    require(
        all(flow.shape[axis - 1] == 1 for axis in axes),
        f"it takes out axes of {shorten(flow.shape)} that have more than one number",
    )
    shape: Shape = tuple(n for i, n in enumerate(flow.shape, 1) if i not in axes)
    return flow.seen_as(shape, at.node)


def dropout(at: NodeContext) -> Flow:
    """Dropout, which is the identity in inference mode."""
    flow = at.flow.settled
    training = at.constant(2)
    require(
        training is None or not training.array.any(),
        "it drops numbers in training mode: export the model in evaluation mode",
    )
    stored = at.constant(1)
    rate = float(stored.array.ravel()[0]) if stored and stored.array.size == 1 else 0.5
    return flow.then(Dropout(layer_size(flow.shape), rate), at.names, shape=flow.shape)


# Operators with windows: Conv, MaxPool, AveragePool, and global averages.


def windows_of(at: NodeContext, kernel: Sequence[int] = ()) -> list[list[int]]:
    """Return kernel, strides, paddings and dilations of a node, for each side of the input.

    Args:
        kernel: sides of the kernel of a convolution; by default an attribute of the node

    Raises:
        InputError: if no layer supports such windows.
    """
    lengths, given = at.picture.shape[1:], at.get("kernel_shape", [*kernel])
    require(
        len(given) == at.sides and (not kernel or given == [*kernel]) and min(given) >= 1,
        f"its kernel has the shape {shorten(given)}, and not (height, width)",
    )
    strides, gaps = (at.get(name, [1] * at.sides) for name in ("strides", "dilations"))
    for name, each in (("strides", strides), ("dilations", gaps)):
        require(
            len(each) == at.sides and min(each) >= 1,
            f"its {name} are {shorten(each)}, and not numbers of at least 1 for each side",
        )
    extents = [(n - 1) * gap + 1 for n, gap in zip(given, gaps, strict=True)]
    at.only("auto_pad", "NOTSET")
    pads = at.get("pads", [0] * 2 * at.sides)
    edges = pads[: at.sides]
    require(
        pads == edges * 2 and len(edges) == at.sides and min(pads) >= 0,
        f"its pads are {shorten(pads)}: they must be the same on opposite sides",
    )
    sides = zip(lengths, extents, strides, edges, strict=True)
    require(
        not at.get("ceil_mode", 0)
        or not any((n + 2 * edge - size) % step for n, size, step, edge in sides),
        "its ceil_mode lets windows reach beyond the edge",
    )
    return [given, strides, edges, gaps]


def convolution(at: NodeContext) -> Flow:
    """Conv on an image or a sequence."""
    flow, weights, groups = at.picture, at.needed(1, "weights"), at.get("group", 1)
    shape = weights.shape
    require(
        len(shape) == at.sides + 2 and shape[1] * groups == flow.shape[0],
        f"its weights {shorten(weights.name)} have the shape {shape}, for a picture of "
        f"{flow.shape} in {groups} group{'s' * (groups != 1)}",
    )
    window, stride, padding, dilation = map(in_short, windows_of(at, shape[2:]))
    bias = [at.parameter("bias", 2, shape[:1])] if at.constant(2) else []
    layer = (Conv2d if at.sides > 1 else Conv1d)(
        flow.shape, shape[0], window, stride, padding, bias=bool(bias), dilation=dilation,
        groups=groups,
    )  # fmt: skip
    weight = Parameter("weight", weights.name, weights.array, tied=True)
    return flow.then(layer, at.names, weight, *bias, shape=shape_behind(layer, flow.shape))


def pool(kind: Callable[..., Pool], at: NodeContext) -> Flow:
    """MaxPool or AveragePool; AveragePool must count padding as 0 if windows overlap it."""
    kernel, strides, edges, gaps = windows_of(at)
    require({*gaps} == {1}, f"its dilations are {shorten(gaps)}: they must be 1")
    at.only("storage_order", 0)
    require(
        kind is MaxPool2d or not any(edges) or at.get("count_include_pad", 0),
        "its count_include_pad is 0, and numbers beyond the edge count here",
    )
    one = [1] * (2 - at.sides)  # along a sequence
    layer = kind(layer_size(at.flow.shape), one + kernel, one + strides, [0] * len(one) + edges)
    return at.picture.then(layer, at.names, shape=shape_behind(layer, at.flow.shape))


def global_pool(kind: Callable[..., Pool], at: NodeContext) -> Flow:
    """GlobalAveragePool or GlobalMaxPool: one number per channel, as an image of one pixel."""
    flow = at.picture
    layer = kind(layer_size(flow.shape), layer_size(flow.shape)[1:])
    return flow.then(layer, at.names, shape=shape_behind(layer, flow.shape))


def reduced(kind: Callable[..., Pool], at: NodeContext) -> Flow:
    """ReduceMean or ReduceMax over height and width: a global pool. ReduceMean also of a row."""
    if at.sides == 0 and kind is AvgPool2d:
        return reduce_sum(at, 1.0 / at.flow.shape[0])
    axes = at.few(1) if at.constant(1) else at.get("axes", [])
    rank = at.sides + 2
    whole = isinstance(axes, list) and sorted(a % rank for a in axes if type(a) is int)
    require(
        whole == [*range(2, rank)],
        f"its axes are {shorten(axes)}, and only a whole picture has a mean here, or a "
        "largest number",
    )
    found = global_pool(kind, at)
    return found if at.get("keepdims", 1) else found.seen_as((prod(found.shape),), at.node)


def reduce_sum(at: NodeContext, each: float = 1.0) -> Flow:
    """ReduceSum over the numbers of a row, times `each`: a Dense that is not trained."""
    count, name = prod(at.row.shape), f"{at.node.name}.weight"
    axes_of(at, 2)  # must equal the type of the numbers
    weight = Parameter("weight", name, np.full(count, each), tied=True, held=True)
    return at.row.then(Dense(count, 1, bias=False), at.names, weight, shape=(1,))


# ---- products -----------------------------------------------------------------------------------


def one_of_each(at: NodeContext) -> tuple[Flow, Constant]:
    """Return the inputs of a node with one computed value and one constant, in either order."""
    flows = [each for each in at.inputs if isinstance(each, Flow)]
    stored = [each for each in at.inputs if isinstance(each, Constant)]
    require(len(flows) == 1 and len(stored) == 1, "it needs one computed value and stored numbers")
    return flows[0], stored[0]


def two_flows(at: NodeContext) -> list[Flow]:
    """Return both inputs of a node that joins two computed values, otherwise []."""
    flows = [each.settled for each in at.inputs if isinstance(each, Flow)]
    return flows if len(flows) == len(at.inputs) == 2 else []


def multiply(at: NodeContext) -> Flow:
    """Mul of two values, or by constants: a Product or an Affine."""
    if flows := two_flows(at):
        return joined(Product, flows, at)
    flow, stored = one_of_each(at)
    require(stored.array.dtype.kind == "f", "it multiplies by whole numbers")
    names = {**at.names, "weight": stored.name}
    return at.scaled(flow, stored.array, np.zeros(1), names)


def cosine(at: NodeContext) -> Flow:
    """Cos: a shifted Sin."""
    turned = at.scaled(at.flow, np.ones(1), np.full(1, pi / 2.0), {"shift": at.node.name})
    return replace(at, inputs=(turned,)).activated("sin")


def concat(at: NodeContext) -> Flow:
    """Concat of two values."""
    flows = two_flows(at)
    require(flows, "it puts other than two computed values side by side")
    at.only("axis", 1, 1, -len(flows[0].shape))
    return joined(Concatenate, flows, at)


def encoding(at: NodeContext) -> Flow:
    """FrequencyEncoding, as written by `save`: sines and cosines of multiples of each number."""
    flow, stored = at.flow, at.needed(1, "frequencies").array
    count, octaves = prod(flow.shape), min(stored.size, MOST_OCTAVES)
    layer = FrequencyEncoding(count, octaves)
    frequencies = (pi * 2.0 ** np.arange(octaves)).reshape(octaves, 1)
    require(
        len(flow.seen) == 1
        and flow.shape == (count, 1, 1)
        and stored.shape == frequencies.shape
        and np.allclose(stored, frequencies, SAME)
        and at.get("axis", -1) in (-1, 3),
        "it is not a FrequencyEncoding as sv.onnx.save writes it",
    )
    row = replace(flow, shape=flow.seen)
    names = {**at.names, "frequencies": at.needed(1, "frequencies").name}
    made = row.then(layer, names, shape=(layer.outputs,))
    return made.seen_as((count, octaves, 2), at.node)


LARGEST = 3e38  # larger bounds of a Clip have no effect
CLIPPED = {(0.0, inf): "relu", (0.0, 6.0): "relu6"}
MOST_ROWS = 2**16  # of the coefficients
SOFTMAX_IS_OF_ONE_AXIS = 13  # by opset
MOST_OCTAVES = 64

# ---- sums ---------------------------------------------------------------------------------------


def gemm(at: NodeContext) -> Flow:
    """Gemm: a Dense with weights of shape (out, in) or (in, out)."""
    for name, number in (("transA", 0), ("alpha", 1.0), ("beta", 1.0)):
        at.only(name, number)
    return dense(at, turned=not at.get("transB", 0))


def dense(at: NodeContext, *, turned: bool = True) -> Flow:
    """A Dense layer: by default MatMul, with the following Add if it was fused.

    Args:
        turned: whether the weights have the shape (in, out)
    """
    flow, weights = at.row, at.needed(1, "weights")
    require(
        len(weights.shape) == 2,
        f"its weights {shorten(weights.name)} have the shape {weights.shape}",
    )
    matrix = weights.array.T if turned else weights.array
    outputs, inputs = matrix.shape
    require(
        inputs == flow.shape[0],
        f"its weights {shorten(weights.name)} are for {inputs} inputs, and it is given "
        f"{flow.shape[0]}",
    )
    bias = at.bias(outputs)
    weight = Parameter("weight", weights.name, matrix, tied=True)
    layer = Dense(inputs, outputs, bias=bool(bias))
    return flow.then(layer, at.names, weight, *bias, shape=(outputs,))


def linear_regressor(at: NodeContext) -> Flow:
    """LinearRegressor: scikit-learn's linear regression models."""
    at.only("post_transform", "NONE")
    targets = at.get("targets", 1)
    intercepts = at.get("intercepts", [], float) or [0.0] * min(targets, MOST_ROWS)
    require(
        len(intercepts) == targets, f"it has {len(intercepts)} intercepts for {targets} targets"
    )
    return linear(at, at.get("coefficients", [], float), intercepts)


def linear_classifier(at: NodeContext) -> Flow:
    """LinearClassifier: scikit-learn's linear classifiers, followed by softmax or sigmoid."""
    coefficients, intercepts = at.get("coefficients", [], float), at.get("intercepts", [], float)
    outputs, kind = len(intercepts), at.get("post_transform", "NONE")
    classes = len(at.get("classlabels_ints", []) or at.get("classlabels_strings", [], str))
    rows = "1 row" if outputs == 1 else f"{outputs} rows"
    require(  # missing rows are derived by a rule of the format
        outputs == classes,
        f"it has {rows} of coefficients for {classes} classes, and needs one for each: choose "
        "an earlier value with output=, or train it with more classes",
    )
    found = linear(at, coefficients, intercepts)
    last = {"node": f"{at.node.name}.{kind.lower()}"}
    if kind == "SOFTMAX":
        return found.then(Softmax(outputs), last, shape=(outputs,))
    if kind == "LOGISTIC":
        return found.then(Activation(outputs, "sigmoid"), last, shape=(outputs,))
    at.only("post_transform", "NONE")
    return found


def linear(at: NodeContext, coefficients: list[float], intercepts: list[float]) -> Flow:
    """A Dense layer whose weights and biases are attributes of the node."""
    flow = at.row
    inputs, outputs = flow.shape[0], len(intercepts)
    numbers = [np.array(each, np.float64) for each in (coefficients, intercepts)]
    require(
        outputs
        and numbers[0].size == inputs * outputs
        and all(np.isfinite(each).all() for each in numbers),
        f"its coefficients are not {outputs} rows of {inputs}",
    )
    roles = (("weight", numbers[0], True), ("bias", numbers[1], False))
    parameters = [Parameter(role, f"{at.node.name}.{role}", v, m) for role, v, m in roles]
    return flow.then(Dense(inputs, outputs), at.names, *parameters, shape=(outputs,))


def normalizer(at: NodeContext) -> Flow:
    """scikit-learn's Normalizer: division by the sum of probabilities, 1 after a Softmax."""
    flow = at.row
    at.only("norm", "MAX", "L1")
    require(
        flow.steps and isinstance(flow.steps[-1].layer, Softmax),
        "it divides by a sum, and does not follow a Softmax",
    )
    return flow


def add(at: NodeContext) -> Flow:
    """Add of two values: a Residual, with a skip branch unless one is computed from the other."""
    flows = two_flows(at)
    if not flows:
        return moved(at)
    before, after = sorted(flows, key=lambda flow: len(flow.steps))
    count = len(before.steps)
    require(
        before.shape == after.shape, f"it adds {shorten(before.shape)} and {shorten(after.shape)}"
    )
    if after.steps[:count] != before.steps:
        return joined(Residual, flows, at)
    inner = after.steps[count:] or (nothing(before.shape),)
    return Flow(
        before.shape,
        before.shape,
        (*before.steps, LayerStep(None, at.names, inner=inner, node=at.node)),
    )


def moved(at: NodeContext) -> Flow:
    """Add or Sub of constants, in either order: an Affine. Sub of two values: a Residual."""
    if at.node.operator == "Sub" and (flows := two_flows(at)):
        less = at.scaled(flows[1], np.full(1, -1.0), np.zeros(1), {"node": f"{at.node.name}.minus"})
        return add(replace(at, inputs=(flows[0], less)))
    flow, stored = one_of_each(at)
    sign = -1.0 if at.node.operator == "Sub" else 1.0
    scale = sign if at.inputs[0] is stored else 1.0
    names = at.names | ({"bias": stored.name} if sign > 0.0 else {})
    return at.scaled(flow, np.full(1, scale), scale * sign * stored.array, names)


def divide(at: NodeContext) -> Flow:
    """Div by constants: an Affine."""
    numbers = at.needed(1, "divisors").array.astype(np.float64)
    require(numbers.all(), "it divides by 0")
    return at.scaled(at.flow, 1.0 / numbers, np.zeros(1), {"node": at.node.name})


def scaler(at: NodeContext) -> Flow:
    """Scaler: scikit-learn's scalers, (x - offset) times scale."""
    offset, scale = (np.array(at.get(name, [], float)) for name in ("offset", "scale"))
    centred = at.scaled(at.row, np.ones(1), -offset, {})
    return centred.scaled(scale, np.zeros(1), {"node": at.node.name})


def expand(at: NodeContext) -> Flow:
    """Expand of one number per channel to a picture."""
    flow, given = at.picture, at.few(1)
    size = given[-PICTURE:]
    require(
        given in (size, [1, *size]) and flow.shape == (*size[:1], 1, 1),
        f"it makes {shorten(given)} of {shorten(flow.shape)}",
    )
    return flow.then(Spread(size), at.names, shape=tuple(size))


def part(at: NodeContext) -> Flow:
    """Slice of consecutive items along one axis of a sample."""
    flow = at.flow.settled
    starts, ends = at.few(1), at.few(2)
    axes = at.few(3) if at.constant(3) else [0]
    steps = at.few(4) if at.constant(4) else [1]
    rank = len(flow.shape) + 1
    is_plain = len(axes) == len(starts) == len(ends) == 1 and axes[0] % rank and steps == [1]
    require(
        is_plain,
        f"it takes axes {shorten(axes)} in steps of {shorten(steps)}, and here it takes neighbours "
        "along one axis of a sample",
    )
    length = flow.shape[axes[0] % rank - 1]
    first, end = (each + length * (each < 0) for each in (starts[0], ends[0]))
    first, end = max(first, 0), min(end, length)
    if axes[0] % rank == 1:
        return sliced(flow, first, end, at.names)
    return cropped(at, axes[0] % rank, first, end)


def cropped(at: NodeContext, axis: int, first: int, end: int) -> Flow:
    """Return a crop of a picture along an axis, as a convolution with one constant weight of 1."""
    flow, sizes = at.picture, [1] * at.sides
    sizes[axis - 2] = flow.shape[axis - 1] - end + first + 1
    require(first < end, f"it takes nothing from {shorten(flow.shape)}")
    at.budget.take(SCALED * flow.shape[0] * prod(sizes), f"what cuts {shorten(flow.shape)}")
    weight = np.zeros((flow.shape[0], 1, *sizes))
    weight[(slice(None),) * axis + (first,)] = 1.0
    layer = (Conv2d if at.sides > 1 else Conv1d)(
        flow.shape, flow.shape[0], in_short(sizes), bias=False, groups=flow.shape[0]
    )
    held = Parameter("weight", f"{at.node.name}.weight", weight, tied=False, held=True)
    return flow.then(layer, at.names, held, shape=shape_behind(layer, flow.shape))


def split(at: NodeContext) -> Flow:
    """Split along the first axis of a sample: a Slice for each output."""
    flow, count = at.flow.settled, len(at.node.outputs)
    at.only("axis", 0, 1, -len(flow.shape))
    at.only("num_outputs", count)
    sizes = at.few(1) if at.constant(1) else [flow.shape[0] // count] * count
    require(
        len(sizes) == count and sum(sizes) == flow.shape[0],
        f"it has {count} outputs of the sizes {shorten(sizes)}, for {shorten(flow.shape)} a sample",
    )
    first = sum(sizes[: at.place])
    return sliced(flow, first, first + sizes[at.place], at.names)


def sliced(flow: Flow, first: int, end: int, names: Names) -> Flow:
    layer = Slice(layer_size(flow.shape), first, end)
    return flow.then(layer, names, shape=(end - first, *flow.shape[1:]))


def of_pixels(flow: Flow, shape: Shape) -> Flow:
    """Return a value, spread over all pixels of a shape if it has one number per channel."""
    is_gate = len(shape) == PICTURE and flow.shape == (shape[0], 1, 1)
    return flow.then(Spread(shape), {}, shape=shape) if is_gate else flow


def joined(kind: type[TwoBranches], flows: list[Flow], at: NodeContext) -> Flow:
    """Return two values joined by a layer of two branches, after their common first steps."""
    a, b = flows
    if kind is Product and a.shape != b.shape:
        a, b = of_pixels(a, b.shape), of_pixels(b, a.shape)
    sizes = [each.shape[1:] if kind is Concatenate else each.shape for each in (a, b)]
    require(
        sizes[0] == sizes[1] and len(a.shape) == len(b.shape),
        f"it joins {shorten(a.shape)} and {shorten(b.shape)}",
    )
    channels = a.shape[0] + b.shape[0] if kind is Concatenate else a.shape[0]
    shape = checked((channels, *a.shape[1:]))
    pairs = zip(a.steps, b.steps, strict=False)
    count = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    first, second = [each.steps[count:] or (nothing(each.shape),) for each in (a, b)]
    step = LayerStep(
        None, at.names, inner=first + second, node=at.node, kind=kind, first=len(first)
    )
    return Flow(shape, shape, (*a.steps[:count], step))


# ---- activations --------------------------------------------------------------------------------


def activation(rows: Sequence[ActivationFormula], at: NodeContext) -> Flow:
    """The activation, among `rows`, that has the attributes of the node."""
    given: dict[str, float | str] = {}
    for row in rows:
        assert row.onnx is not None
        given = {key: at.get(key, usual) for key, (_, usual) in row.onnx.attributes.items()}
        if all(is_same(given[key], here) for key, (here, _) in row.onnx.attributes.items()):
            return at.activated(row.name)
    if rows[0].name not in FAMILIES:
        told = ", ".join(f"{key} = {value}" for key, value in given.items())
        raise InputError(f"it has {told}, which no activation here has")
    settings = ",".join(map(repr, given.values()))
    return at.activated(activation_row(f"{rows[0].name}({settings})").name)


def is_same(given: float | str, here: float | str) -> bool:
    """Return whether an attribute equals the attribute of an activation; False for NaN."""
    if isinstance(given, str) or isinstance(here, str):
        return given == here
    return abs(given - here) <= SAME * abs(here)


def softplus(at: NodeContext) -> Flow:
    """Softplus, with the number from a fused pattern."""
    return at.activated(activation_row(f"softplus({at.get('beta', 1.0)!r})").name)


def shrink(at: NodeContext) -> Flow:
    """Shrink: hardshrink, or softshrink if the bias equals lambd."""
    lambd, bias = at.get("lambd", 0.5), at.get("bias", 0.0)
    require(
        bias in (0.0, lambd),
        f"its bias is {bias}: it must be 0 for hardshrink, lambd for softshrink",
    )
    kind = "softshrink" if bias else "hardshrink"
    return at.activated(activation_row(f"{kind}({lambd!r})").name)


def clip(at: NodeContext) -> Flow:
    """Clip: relu, relu6, or hard_tanh with the bounds as settings."""
    bounds = bound(at, 1, -inf), bound(at, 2, inf)
    require(
        bounds in CLIPPED or inf not in map(abs, bounds),
        "it has one bound, and hard_tanh has two; a single lower bound of 0 is relu",
    )
    name = CLIPPED.get(bounds) or activation_row("hard_tanh({},{})".format(*bounds)).name
    return at.activated(name)


def bound(at: NodeContext, place: int, none: float) -> float:
    """Return a bound of a Clip, or `none` if it has no effect."""
    if place >= len(at.inputs) or at.inputs[place] is None:
        return none
    stored = at.needed(place, "bounds")
    require(stored.array.size == 1, f"its bound {shorten(stored.name)} is not one number")
    number = shortest(float(stored.array.ravel()[0]))
    return none if abs(number) >= LARGEST else number


# ---- norms and probabilities --------------------------------------------------------------------


def softmax(kind: type[Softmax] | type[LogSoftmax], at: NodeContext) -> Flow:
    """Softmax or LogSoftmax over all numbers of a sample; LogSoftmax also at each place."""
    flow = at.flow.settled
    rank, axis = len(flow.shape) + 1, at.get("axis", -1)
    newer = at.opset >= SOFTMAX_IS_OF_ONE_AXIS
    if kind is LogSoftmax and newer and rank == PICTURE + 1 and axis in (1, 1 - rank):
        return flow.then(LogSoftmax(flow.shape), at.names, shape=flow.shape)
    require(
        axis in (1, 1 - rank) and rank == 2,
        f"it is over axis {axis} of {rank}, and here it takes all numbers",
    )
    return flow.then(kind(prod(flow.shape)), at.names, shape=flow.shape)


def batch_norm(at: NodeContext) -> Flow:
    """BatchNormalization in inference mode."""
    flow = at.flow.settled
    require(0 < len(flow.shape) <= PICTURE, f"it is given {shorten(flow.shape)} a sample")
    at.only("training_mode", 0)
    channels = flow.shape[:1]
    weight, bias = at.parameter("weight", 1, channels), at.parameter("bias", 2, channels)
    mean, variance = at.parameter("mean", 3, channels), at.parameter("variance", 4, channels)
    require(not (variance.values < 0).any(), f"its variance {shorten(variance.name)} is below 0")
    momentum = round(1.0 - at.get("momentum", 0.9), 6)  # ONNX has the share that is kept
    layer = BatchNorm(layer_size(flow.shape), eps=at.get("epsilon", 1e-5), momentum=momentum)
    names = {**at.names, "mean": mean.name, "variance": variance.name}
    state = {"running_mean": mean.values, "running_variance": variance.values}
    return flow.then(layer, names, weight, bias, shape=flow.shape, state=state)


def layer_norm(at: NodeContext, *, at_places: bool = False) -> Flow:
    """LayerNormalization over all numbers of a sample, or over the features of each place."""
    flow = at.flow.settled
    shape, rank = flow.shape[: 1 if at_places else None], len(flow.shape) + 1
    require(
        at.get("axis", -1) in ((-1,) if at_places else (1, 1 - rank)),
        f"it is over axis {at.get('axis', -1)} of {rank}, and here it takes all numbers",
    )
    count = prod(shape)
    weight = at.parameter("weight", 1, shape)
    shift = Parameter("bias", f"{at.node.name}.bias", np.broadcast_to(0.0, count), tied=False)
    bias = at.parameter("bias", 2, shape) if at.constant(2) else shift
    parameters = [replace(each, tied=False) for each in (weight, bias)]
    layer = LayerNorm(layer_size(flow.shape) if at_places else count, at.get("epsilon", 1e-5))
    return flow.then(layer, at.names, *parameters, shape=flow.shape)


def group_norm(at: NodeContext) -> Flow:
    """InstanceNormalization, GroupNormalization, and the forms that PyTorch and `save` write."""
    flow, channels = at.flow.settled, at.flow.shape[0]
    groups = at.few(5)[1] if at.constant(5) else at.get("num_groups", channels)
    parameters = []
    for place, role in enumerate(("weight", "bias"), 1):
        found, plain = at.needed(place, role), at.constant(place + 2)
        require(
            found.array.size == channels and (not plain or (plain.array == 2 - place).all()),
            f"its {role} has the shape {shorten(found.shape)}, and not one number for each channel",
        )
        parameters.append(Parameter(role, found.name, found.array.ravel(), tied=False))
    layer = GroupNorm(layer_size(flow.shape), groups, at.get("epsilon", 1e-5))
    return flow.then(layer, at.names, *parameters, shape=flow.shape)


def rms_norm(at: NodeContext, gains: int = 1) -> Flow:
    """RMSNorm, as written by `save`, also at each place; `gains` is 1 if it has gains, or 0."""
    flow = at.flow.settled
    eps, axes = at.needed(1 + gains, "eps").array, at.few(2 + gains)
    require(
        eps.size == 1 and (axes == [1] or (axes == [-1] and len(flow.shape) == 1)),
        "it is not an RMSNorm over all numbers of a sample, or of each place",
    )
    number = float(eps.ravel()[0])
    number = number if eps.dtype == np.float64 else shortest(number)
    layer = RMSNorm(layer_size(flow.shape), number, gain=bool(gains))
    shape = (layer.features, *[1] * (len(flow.shape) - 1))
    weight = [replace(at.parameter("weight", 1, shape), tied=False)] if gains else []
    return flow.then(layer, at.names, *weight, shape=flow.shape)


def embedding(at: NodeContext) -> Flow:
    """Embedding, as written by `save`: a row for each index, then the numbers of each place."""
    flow, rows, zeros = at.flow, at.needed(1, "rows"), at.needed(2, "zeros").array
    places, (*_, size), is_sum = prod(flow.shape), (0, *rows.shape), at.constant(5) is not None
    shape = (size, 1, places) if places > 1 else (size,)
    require(
        len(rows.shape) == 2
        and zeros.shape == (1, size)
        and not zeros.any()
        and [at.few(3)[1:], at.few(4)[1:]] == [[places, size], [*shape]],
        "it is not an Embedding as sv.onnx.save writes it",
    )
    layer = Embedding(rows.shape[0], size, places, positions=is_sum)
    weight = Parameter("weight", rows.name, rows.array, tied=False)
    more = [replace(at.parameter("position", 5, shape), tied=False)] if is_sum else []
    return flow.then(layer, at.names, weight, *more, shape=shape)


def is_causal(mask: Array, places: int) -> bool:
    square = places, places
    return mask.shape == square and np.allclose(mask, np.triu(np.full(square, HIDDEN), 1), SAME)


def attention(at: NodeContext) -> Flow:
    """Attention, as written by `save`."""
    flow, mask, factor = at.flow, at.constant(7), at.needed(5, "factor").array
    heads, _, size, places = at.few(1)[1:] if at.needed(1, "heads").array.size == 5 else [1] * 4
    layer = Attention(heads * size, heads, places=places, causal=mask is not None)
    require(
        flow.shape == layer.input_shape
        and [at.few(i) for i in (2, 3, 4)] == [[0], [1], [2]]
        and at.few(6)[1:] == [*layer.output_shape]
        and np.allclose(factor, layer.numbers[-1], SAME)
        and (mask is None or is_causal(mask.array, places)),
        "it is not Attention as sv.onnx.save writes it",
    )
    return flow.then(layer, at.names, shape=layer.output_shape)


def prelu(at: NodeContext) -> Flow:
    """PRelu with a single slope, or with one slope per channel or feature."""
    flow = at.flow.settled
    slopes = at.needed(1, "weight")
    each = flow.shape[:1] + (1,) * len(flow.shape[1:])
    require(
        prod(slopes.shape) == 1 or slopes.shape in (each, (1, *each)),
        f"its slopes have the shape {slopes.shape} for {flow.shape} numbers",
    )
    weight = Parameter("weight", slopes.name, slopes.array.ravel(), tied=False)
    layer = PReLU(layer_size(flow.shape), prod(slopes.shape))
    return flow.then(layer, at.names, weight, shape=flow.shape)


OPERATORS: dict[str, Callable[[NodeContext], Flow]] = {
    "Gemm": gemm,
    "MatMul": dense,
    "ai.onnx.ml.LinearClassifier": linear_classifier,
    "ai.onnx.ml.LinearRegressor": linear_regressor,
    "ai.onnx.ml.Normalizer": normalizer,
    "ai.onnx.ml.Scaler": scaler,
    "Add": add,
    "Sub": moved,
    "Div": divide,
    "Conv": convolution,
    "MaxPool": partial(pool, MaxPool2d),
    "AveragePool": partial(pool, AvgPool2d),
    "GlobalAveragePool": partial(global_pool, AvgPool2d),
    "GlobalMaxPool": partial(global_pool, MaxPool2d),
    "ReduceMean": partial(reduced, AvgPool2d),
    "ReduceMax": partial(reduced, MaxPool2d),
    "ReduceSum": reduce_sum,
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "InstanceNormalization": group_norm,
    "GroupNormalization": group_norm,
    "RMSNorm": rms_norm,
    "PRelu": prelu,
    "Expand": expand,
    "Slice": part,
    "Split": split,
    "Softmax": partial(softmax, Softmax),
    "LogSoftmax": partial(softmax, LogSoftmax),
    "Softplus": softplus,
    "Shrink": shrink,
    "Clip": clip,
    "Identity": lambda at: at.flow,
    "Cast": cast,
    "Dropout": dropout,
    "Flatten": flatten,
    "Reshape": reshape,
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Mul": multiply,
    "Cos": cosine,
    "Concat": concat,
}

# Results of fusions, except RMSNorm.
FUSED: dict[str, Callable[[NodeContext], Flow]] = {
    "LogSigmoid": partial(NodeContext.activated, name="log_sigmoid"),
    "RMSNorm without gain": partial(rms_norm, gains=0),
    "LayerNorm of places": partial(layer_norm, at_places=True),
    "Embedding": embedding,
    "Attention": attention,
    "FrequencyEncoding": encoding,
}


def reader(operator: str) -> Callable[[NodeContext], Flow] | None:
    """Return the reader of an operator or activation, or None if it is unknown."""
    if found := OPERATORS.get(operator) or FUSED.get(operator):
        return found
    usual = (row for row in ACTIVATIONS.values() if not isinstance(row, WithSettings))
    rows = [row for row in usual if row.onnx is not None and row.onnx.name == operator]
    return partial(activation, rows) if rows else None
