"""OPERATORS: how each ONNX operator is read. To add one, write a function and a row.

A function takes an `At`, the node with its inputs, and returns the output as a Flow; it raises
Refused, with the reason, if it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from math import inf, prod

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.formulas.activations import (
    ACTIVATIONS,
    FAMILIES,
    ActivationFormula,
    WithSettings,
    activation_row,
)
from scalarviz.core.layers import BatchNorm, Dense, LayerNorm, LogSoftmax, PReLU, RMSNorm, Softmax
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.core.layers.nested import Concatenate, Product, Residual, TwoBranches
from scalarviz.core.layers.rowwise_layers import Spread
from scalarviz.files.onnx.frequency_encoding import concat, multiply, wave
from scalarviz.files.onnx.graph import shortest
from scalarviz.files.onnx.reshape_ops import (
    cast,
    dropout,
    flatten,
    identity,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
)
from scalarviz.files.onnx.tensors import Constant
from scalarviz.files.onnx.trace import (
    PICTURE,
    SAME,
    At,
    Flow,
    LayerStep,
    Parameter,
    Refused,
    Shape,
    checked,
    nothing,
)
from scalarviz.files.onnx.windows import (
    average_pool,
    convolution,
    global_average_pool,
    max_pool,
    reduce_mean,
)

LARGEST = 3e38  # bounds of a Clip from here on bound nothing
CLIPPED = {(0.0, inf): "relu", (0.0, 6.0): "relu6"}
MOST_ROWS = 2**16  # of coefficients
SOFTMAX_IS_OF_ONE_AXIS = 13  # the opset; earlier ones flatten from an axis on

# ---- sums ---------------------------------------------------------------------------------------


def gemm(at: At) -> Flow:
    """Gemm: a layer, with weights as (out, in) or as (in, out); its factors become theirs."""
    at.only("transA", 0)
    form = "Gemm" if at.get("transB", 0) else "Gemm (in, out)"
    return dense(at, form, at.get("alpha", 1.0), at.get("beta", 1.0))


def dense(at: At, form: str = "MatMul", alpha: float = 1.0, beta: float = 1.0) -> Flow:
    """A fully connected layer: by default MatMul, with the Add behind it if it was fused.

    alpha  factor of the weights
    beta   factor of the biases
    """
    flow, weights = at.row, at.needed(1, "weights")
    if len(weights.shape) != 2:
        raise Refused(f"its weights {shorten(weights.name)} have the shape {weights.shape}")
    matrix = weights.array if form == "Gemm" else weights.array.T
    outputs, inputs = matrix.shape
    if inputs != flow.shape[0]:
        raise Refused(
            f"its weights {shorten(weights.name)} are for {inputs} inputs, and it is given "
            f"{flow.shape[0]}"
        )
    if weights.turned:
        form = "Gemm" if form != "Gemm" else "Gemm (in, out)"
    bias = [times(each, beta) for each in at.bias(outputs)]
    weight = times(Parameter("weight", weights.name, matrix, matrix=True), alpha)
    layer = Dense(inputs, outputs, bias=bool(bias))
    return flow.then(layer, {**at.names, "form": form}, weight, *bias, shape=(outputs,))


def times(parameter: Parameter, factor: float) -> Parameter:
    """Return a parameter whose numbers are multiplied."""
    with np.errstate(all="ignore"):  # what is not finite then is refused
        return parameter if factor == 1.0 else replace(parameter, values=parameter.values * factor)


def linear_regressor(at: At) -> Flow:
    """scikit-learn's linear models of numbers."""
    at.only("post_transform", "NONE")
    targets = at.get("targets", 1)
    intercepts = at.get("intercepts", [], float) or [0.0] * min(targets, MOST_ROWS)
    if len(intercepts) != targets:
        raise Refused(f"it has {len(intercepts)} intercepts for {targets} targets")
    return linear(at, at.get("coefficients", [], float), intercepts)


def linear_classifier(at: At) -> Flow:
    """scikit-learn's linear classifiers, with the softmax or sigmoid behind them."""
    coefficients, intercepts = at.get("coefficients", [], float), at.get("intercepts", [], float)
    outputs, kind = len(intercepts), at.get("post_transform", "NONE")
    classes = len(at.get("classlabels_ints", []) or at.get("classlabels_strings", [], str))
    if (outputs, classes, kind) == (1, 2, "LOGISTIC"):  # 1 - sigmoid(z) and sigmoid(z)
        coefficients, intercepts = [0.0] * len(coefficients) + coefficients, [0.0, *intercepts]
        outputs, kind = 2, "SOFTMAX"
    if outputs != classes:  # the format then derives the missing rows by a rule of its own
        rows = "1 row" if outputs == 1 else f"{outputs} rows"
        raise Refused(
            f"it has {rows} of coefficients for {classes} classes, and needs one for each: choose "
            "an earlier value with output=, or train it with more classes"
        )
    found = linear(at, coefficients, intercepts)
    last = {"node": f"{at.node.name}.{kind.lower()}"}
    if kind == "SOFTMAX":
        return found.then(Softmax(outputs), last, shape=(outputs,))
    if kind == "LOGISTIC":
        return found.then(Activation(outputs, "sigmoid"), last, shape=(outputs,))
    at.only("post_transform", "NONE")
    return found


def linear(at: At, coefficients: list[float], intercepts: list[float]) -> Flow:
    """A fully connected layer whose numbers are attributes."""
    flow = at.row
    inputs, outputs = flow.shape[0], len(intercepts)
    numbers = [np.array(each, np.float64) for each in (coefficients, intercepts)]
    if not outputs or numbers[0].size != inputs * outputs or not all(map(is_finite, numbers)):
        raise Refused(f"its coefficients are not {outputs} rows of {inputs}")
    names = {**at.names, "form": "Gemm"}
    roles = (("weight", numbers[0], True), ("bias", numbers[1], False))
    parameters = [Parameter(role, f"{at.node.name}.{role}", v, m) for role, v, m in roles]
    return flow.then(Dense(inputs, outputs), names, *parameters, shape=(outputs,))


def is_finite(numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    return bool(np.isfinite(numbers).all())


def normalizer(at: At) -> Flow:
    """scikit-learn's division by the sum of the probabilities, which is 1 behind a Softmax."""
    flow = at.row
    at.only("norm", "MAX", "L1")
    if not flow.steps or not isinstance(flow.steps[-1].layer, Softmax):
        raise Refused("it divides by a sum, and does not follow a Softmax")
    return flow


def add(at: At) -> Flow:
    """Add of two values, which makes a Residual: with a skip, unless one follows from the other."""
    flows = [each.settled for each in at.inputs if isinstance(each, Flow)]
    if len(flows) != 2 or len(at.inputs) != 2:
        return moved(at)
    before, after = sorted(flows, key=lambda flow: len(flow.steps))
    count = len(before.steps)
    if before.shape != after.shape:
        raise Refused(f"it adds {shorten(before.shape)} and {shorten(after.shape)}")
    if after.steps[:count] != before.steps:
        return joined(Residual, flows, at)
    inner = after.steps[count:] or (nothing(before.shape),)
    return Flow(
        before.shape,
        before.shape,
        (*before.steps, LayerStep(None, at.names, inner=inner, node=at.node)),
    )


def moved(at: At) -> Flow:
    """Add or Sub of numbers of the file, in either order: an Affine."""
    flows = [each for each in at.inputs if isinstance(each, Flow)]
    stored = [each for each in at.inputs if isinstance(each, Constant)]
    if len(flows) != 1 or len(stored) != 1:
        raise Refused("it is to take one computed value, and numbers of the file")
    sign = -1.0 if at.node.operator == "Sub" else 1.0
    scale = sign if at.inputs[0] is stored[0] else 1.0
    names = {"add": at.node.name} | ({"bias": stored[0].name} if sign > 0.0 else {})
    return at.scaled(flows[0], np.full(1, scale), scale * sign * stored[0].array, names)


def divide(at: At) -> Flow:
    """Div by numbers of the file: an Affine."""
    numbers = at.needed(1, "divisors").array.astype(np.float64)
    if not numbers.all():
        raise Refused("it divides by 0")
    return at.scaled(at.flow, 1.0 / numbers, np.zeros(1), {"node": at.node.name})


def scaler(at: At) -> Flow:
    """scikit-learn's scalers: (x - offset) times scale."""
    offset, scale = (np.array(at.get(name, [], float)) for name in ("offset", "scale"))
    centred = at.scaled(at.row, np.ones(1), -offset, {})
    return centred.scaled(scale, np.zeros(1), {"node": at.node.name})


def branches(kind: type[TwoBranches], otherwise: Callable[[At], Flow], at: At) -> Flow:
    """Mul or Concat of two values, which makes a Product or Concatenate of two branches."""
    flows = [each for each in at.inputs if isinstance(each, Flow) and not each.is_wave]
    if len(flows) != 2 or len(at.inputs) != 2:
        return otherwise(at)
    return joined(kind, [each.settled for each in flows], at)


def expand(at: At) -> Flow:
    """Expand of one number for each channel to a picture."""
    flow, given = at.picture, at.few(1)
    size = given[-PICTURE:]
    if given not in (size, [1, *size]) or flow.shape != (*size[:1], 1, 1):
        raise Refused(f"it makes {shorten(given)} of {shorten(flow.shape)}")
    return flow.then(Spread(size), {**at.names, **constant_names(at, shape=1)}, shape=tuple(size))


def of_pixels(flow: Flow, shape: Shape) -> Flow:
    """Return a value as a picture of a shape, if it has one number for each channel of it."""
    is_gate = len(shape) == PICTURE and flow.shape == (shape[0], 1, 1)
    return flow.then(Spread(shape), {}, shape=shape) if is_gate else flow


def joined(kind: type[TwoBranches], flows: list[Flow], at: At) -> Flow:
    """Return two values joined by a layer of a kind; their first steps are those of both."""
    a, b = flows
    if kind is Product and a.shape != b.shape:
        a, b = of_pixels(a, b.shape), of_pixels(b, a.shape)
    if kind is Concatenate:
        at.only("axis", 1, 1, -len(a.shape))
    sizes = [each.shape[1:] if kind is Concatenate else each.shape for each in (a, b)]
    if sizes[0] != sizes[1] or len(a.shape) != len(b.shape):
        raise Refused(f"it joins {shorten(a.shape)} and {shorten(b.shape)}")
    shape = a.shape
    if kind is Concatenate:
        shape = checked((a.shape[0] + b.shape[0], *a.shape[1:]))
    pairs = zip(a.steps, b.steps, strict=False)
    count = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    first, second = [each.steps[count:] or (nothing(each.shape),) for each in (a, b)]
    step = LayerStep(
        None, at.names, inner=first + second, node=at.node, kind=kind, first=len(first)
    )
    return Flow(shape, shape, (*a.steps[:count], step))


# ---- activations --------------------------------------------------------------------------------


def activation(rows: Sequence[ActivationFormula], at: At) -> Flow:
    """The activation with these attributes, or that of its family with these settings."""
    given: dict[str, float | str] = {}
    for row in rows:
        assert row.onnx is not None
        given = {key: at.get(key, usual) for key, (_, usual) in row.onnx.attributes.items()}
        if all(is_same(given[key], here) for key, (here, _) in row.onnx.attributes.items()):
            return at.activated(row.name)
    if rows[0].name not in FAMILIES:
        told = ", ".join(f"{key} = {value}" for key, value in given.items())
        raise Refused(f"it has {told}, which no activation here has")
    settings = ",".join(map(repr, given.values()))
    return at.activated(activation_row(f"{rows[0].name}({settings})").name)


def is_same(given: float | str, here: float | str) -> bool:
    """Return whether an attribute is that of an activation; NaN is not."""
    if isinstance(given, str) or isinstance(here, str):
        return given == here
    return abs(given - here) <= SAME * abs(here)


def softplus(at: At) -> Flow:
    """Softplus, and PyTorch's with a beta, which was fused."""
    return at.activated(activation_row(f"softplus({at.get('beta', 1.0)!r})").name)


def clip(at: At) -> Flow:
    """Clip: relu, relu6, or hard_tanh with its bounds."""
    bounds = bound(at, 1, "min", -inf), bound(at, 2, "max", inf)
    if bounds not in CLIPPED and inf in map(abs, bounds):
        raise Refused("it has one bound, and hard_tanh has two; a lower bound of 0 alone is relu")
    name = CLIPPED.get(bounds) or activation_row("hard_tanh({},{})".format(*bounds)).name
    return at.activated(name, **constant_names(at, clip1=1, clip2=2))


def bound(at: At, place: int, name: str, none: float) -> float:
    """Return a bound of a Clip, from an input or an attribute; infinity if it is above all."""
    stored = at.constant(place)
    if stored is None and place < len(at.inputs) and at.inputs[place] is not None:
        raise Refused(f"its {name} is computed, and must be a number")
    if stored is not None and stored.array.size != 1:
        raise Refused(f"its {name} {shorten(stored.name)} is not one number")
    number = at.get(name, none) if stored is None else shortest(float(stored.array.ravel()[0]))
    return none if abs(number) >= LARGEST else number


# ---- norms and shares ---------------------------------------------------------------------------


def softmax(kind: type[Softmax] | type[LogSoftmax], at: At) -> Flow:
    """Softmax over all numbers of a sample, or LogSoftmax."""
    flow = at.flow.settled
    rank = len(flow.shape) + 1
    newer = at.opset >= SOFTMAX_IS_OF_ONE_AXIS
    axis = at.get("axis", -1 if newer else 1)
    if axis not in (1, 1 - rank) or (newer and rank != 2):
        raise Refused(f"it is over axis {axis} of {rank}, and here it takes all numbers")
    return flow.then(kind(prod(flow.shape)), at.names, shape=flow.shape)


def batch_norm(at: At) -> Flow:
    """BatchNormalization in inference mode."""
    flow = at.flow.settled
    if len(flow.shape) not in (1, PICTURE):
        raise Refused(f"it is given {shorten(flow.shape)} a sample")
    at.only("training_mode", 0)
    at.only("spatial", 1)
    channels = flow.shape[:1]
    weight, bias = at.parameter("weight", 1, channels), at.parameter("bias", 2, channels)
    mean, variance = at.parameter("mean", 3, channels), at.parameter("variance", 4, channels)
    if (variance.values < 0).any():
        raise Refused(f"its variance {shorten(variance.name)} is below 0")
    shape = flow.shape if len(flow.shape) == PICTURE else flow.shape[0]
    momentum = round(1.0 - at.get("momentum", 0.9), 6)  # ONNX gives the share that is kept
    layer = BatchNorm(shape, eps=at.get("epsilon", 1e-5), momentum=momentum)
    names = {**at.names, "mean": mean.name, "variance": variance.name}
    state = {"running_mean": mean.values, "running_variance": variance.values}
    return flow.then(layer, names, weight, bias, shape=flow.shape, state=state)


def layer_norm(at: At) -> Flow:
    """LayerNormalization over all numbers of a sample."""
    flow = at.flow.settled
    rank = len(flow.shape) + 1
    if at.get("axis", -1) not in (1, 1 - rank):
        raise Refused(
            f"it is over axis {at.get('axis', -1)} of {rank}, and here it takes all numbers"
        )
    count = prod(flow.shape)
    weight = at.parameter("weight", 1, flow.shape)
    shift = Parameter("bias", f"{at.node.name}.bias", np.broadcast_to(0.0, count), matrix=False)
    bias = at.parameter("bias", 2, flow.shape) if at.constant(2) else shift
    parameters = [Parameter(p.role, p.name, p.values, False) for p in (weight, bias)]
    layer = LayerNorm(count, at.get("epsilon", 1e-5))
    return flow.then(layer, at.names, *parameters, shape=flow.shape)


def rms_norm(at: At) -> Flow:
    """RMSNorm, as `save` writes it."""
    flow = at.row
    eps, axes = at.needed(2, "eps").array, at.constant(3)
    if eps.size != 1 or (at.few(3) if axes else at.get("axes", [])) not in ([-1], [1]):
        raise Refused("it is no RMSNorm over all numbers of a sample")
    number = float(eps.ravel()[0])
    layer = RMSNorm(flow.shape[0], number if eps.dtype == np.float64 else shortest(number))
    weight = at.parameter("weight", 1, flow.shape)
    names = {**at.names, **constant_names(at, eps=2, axes=3)}
    return flow.then(layer, names, weight, shape=flow.shape)


def prelu(at: At) -> Flow:
    """PRelu with one slope, or one for each channel or feature."""
    flow = at.flow.settled
    slopes = at.needed(1, "weight").array
    if slopes.size != 1 and slopes.shape != flow.shape[:1] + (1,) * len(flow.shape[1:]):
        raise Refused(f"its slopes have the shape {slopes.shape} for {flow.shape} numbers")
    size = flow.shape if len(flow.shape) == PICTURE else flow.shape[0]
    weight = at.parameter("weight", 1, slopes.shape)
    weight = Parameter("weight", weight.name, weight.values.ravel(), matrix=False)
    return flow.then(PReLU(size, slopes.size), at.names, weight, shape=flow.shape)


def constant_names(at: At, **places: int) -> dict[str, str]:
    """Return the names of constants that are not parameters."""
    found = {role: at.constant(place) for role, place in places.items()}
    return {role: constant.name for role, constant in found.items() if constant is not None}


OPERATORS: dict[str, Callable[[At], Flow]] = {
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
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "ReduceMean": reduce_mean,
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "RMSNorm": rms_norm,
    "PRelu": prelu,
    "Expand": expand,
    "Softmax": partial(softmax, Softmax),
    "LogSoftmax": partial(softmax, LogSoftmax),
    "Softplus": softplus,
    "Clip": clip,
    "Identity": identity,
    "Cast": cast,
    "Dropout": dropout,
    "Flatten": flatten,
    "Reshape": reshape,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Mul": partial(branches, Product, multiply),
    "Sin": partial(wave, "sin"),
    "Cos": partial(wave, "cos"),
    "Concat": partial(branches, Concatenate, concat),
}

# What fusions make of several nodes, apart from RMSNorm.
FUSED: dict[str, Callable[[At], Flow]] = {
    "LogSigmoid": partial(At.activated, name="log_sigmoid"),
}

# The output to use, of operators where it is not the first.
PLACES = {"ai.onnx.ml.LinearClassifier": 1}


def reader(operator: str) -> Callable[[At], Flow] | None:
    """Return the function that reads an operator or activation; None if it is unknown."""
    if found := OPERATORS.get(operator) or FUSED.get(operator):
        return found
    usual = (row for row in ACTIVATIONS.values() if not isinstance(row, WithSettings))
    rows = [row for row in usual if row.onnx is not None and row.onnx.name == operator]
    return partial(activation, rows) if rows else None
