"""Activations, the other operations on scalars, and losses: values and derivatives."""

import math
from collections.abc import Callable
from typing import Any

import torch
from tensors import Entry, tensor
from torch import Tensor
from torch.nn import functional as F

# ---- activations and other operations ------------------------------------------------------------

SIZES = """
    1e-300 1e-8 1e-4 0.01 0.1 0.3 0.5 0.7 1 1.5 2 3 4.5 6 8 12 20 30 40 100 700 1000
""".split()
GELU = 2.0 * math.sqrt(2.0 / math.pi)
POINTS = sorted([0.0, *(float(size) for size in SIZES), *(-float(size) for size in SIZES)])

ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "linear": torch.clone,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    # F.softplus itself is a straight line from 20 on, off by 2e-9 there.
    "softplus": lambda x: -F.logsigmoid(-x),
    "swish": F.silu,
    # F.gelu itself adds 1 to erf, which leaves no correct digit from -9 down.
    "gelu": lambda x: x * 0.5 * torch.erfc(-x * math.sqrt(0.5)),
    # F.gelu(x, approximate="tanh") itself adds 1 to tanh, which leaves no correct digit either.
    "gelu_tanh": lambda x: x * torch.sigmoid(GELU * (x + 0.044715 * x * x * x)),
    "selu": F.selu,
    "celu": F.celu,
    "mish": F.mish,
    # F.hardsigmoid itself has the derivative 1 / 6 in float32.
    "hard_sigmoid": lambda x: F.relu6(x + 3.0) / 6.0,
    "hard_swish": F.hardswish,
    "hard_tanh": F.hardtanh,
    "relu6": F.relu6,
    "softsign": F.softsign,
    "log_sigmoid": F.logsigmoid,
    "softshrink": F.softshrink,
    "hardshrink": F.hardshrink,
    "exp": torch.exp,
    "sin": torch.sin,
}
WITH_SETTINGS: dict[str, Callable[..., Tensor]] = {
    "leaky_relu(0.2)": lambda x: F.leaky_relu(x, 0.2),
    "elu(0.5)": lambda x: F.elu(x, 0.5),
    "celu(2)": lambda x: F.celu(x, 2.0),
    "softplus(3)": lambda x: -F.logsigmoid(-3.0 * x) / 3.0,
    "hard_sigmoid(0.25,0.4)": lambda x: torch.clamp(0.25 * x + 0.4, 0.0, 1.0),
    "hard_tanh(-2,0.5)": lambda x: F.hardtanh(x, -2.0, 0.5),
    "softshrink(0.25)": lambda x: F.softshrink(x, 0.25),
    "hardshrink(2)": lambda x: F.hardshrink(x, 2.0),
}

PAIRS = [(0.3, 2.0), (-1.7, 0.6), (4.0, -3.1), (-2.5, -0.2), (1e-8, 1e8), (0.0, 1.0)]
TIES = [(1.5, 1.5), (0.0, 0.0), (-2.0, -2.0)]
BY_ZERO = [(1.0, 0.0), (-2.0, 0.0)]
POWERS_OF_0 = [(0.0, 0.0), (0.0, 2.0), (0.0, 0.5), (0.0, -1.0)]
POWERS = [(2.0, 3.0), (0.3, -1.5), (5.0, 0.0), (-2.0, 3.0), (-2.0, 0.0), (1e3, 200.0)]
CHOICES = [(1.0, 2.0, 3.0), (0.0, 2.0, 3.0), (-0.5, 1.0, -1.0)]
AROUND_0 = [(x,) for x in (-1000.0, -3.0, -0.7, -1e-8, 0.0, 1e-8, 0.7, 3.0, 1000.0)]
ABOVE_0 = [(x,) for x in (0.0, 1e-300, 1e-8, 0.3, 1.0, 2.0, 1000.0)]

OPERATIONS: dict[str, tuple[Callable[..., Tensor], list[tuple[float, ...]]]] = {
    "add": (torch.add, PAIRS),
    "subtract": (torch.sub, PAIRS),
    "multiply": (torch.mul, PAIRS),
    "divide": (torch.div, PAIRS + BY_ZERO),
    "power": (torch.pow, POWERS_OF_0 + POWERS),
    "maximum": (torch.maximum, PAIRS + TIES),
    "minimum": (torch.minimum, PAIRS + TIES),
    "where": (lambda condition, x, y: torch.where(condition != 0.0, x, y), CHOICES),
    "negate": (torch.neg, AROUND_0),
    "abs": (torch.abs, AROUND_0),
    "log": (torch.log, ABOVE_0),
    "log1p": (torch.log1p, [(-0.9,), (-1e-8,), *ABOVE_0]),
    "expm1": (torch.expm1, AROUND_0),
    "sqrt": (torch.sqrt, ABOVE_0),
    "cos": (torch.cos, AROUND_0),
    "erfc": (torch.erfc, AROUND_0),
}


def operation(function: Callable[..., Tensor], points: list[tuple[float, ...]]) -> Entry:
    """The value at each point, and the derivative by each input there."""
    inputs = [tensor(column, learns=True) for column in zip(*points, strict=True)]
    value = function(*inputs)
    partials = torch.autograd.grad(value, inputs, torch.ones_like(value), materialize_grads=True)
    return {
        "points": points,
        "value": value.tolist(),
        "partials": [partial.tolist() for partial in partials],
    }


def activations() -> Entry:
    points = [(x,) for x in POINTS]
    return {name: operation(function, points) for name, function in ACTIVATIONS.items()}


def activations_with_settings() -> Entry:
    points = [(x,) for x in POINTS]
    return {name: operation(function, points) for name, function in WITH_SETTINGS.items()}


def operations() -> Entry:
    return {name: operation(*row) for name, row in OPERATIONS.items()}


# ---- losses --------------------------------------------------------------------------------------


def relative(error: Callable[..., Tensor], by: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """An error divided by something that the derivative treats as a constant."""
    return lambda p, t: error(p, t, reduction="none") / (by(p, t).detach() + 0.01)


def each(error: Callable[..., Tensor]) -> Any:
    return lambda p, t: error(p, t, reduction="none")


# The error of every single output (of every sample, where it is a softmax), before any mean.
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mse": each(F.mse_loss),
    "mae": each(F.l1_loss),
    "huber": each(F.huber_loss),
    "relative_l1": relative(F.l1_loss, lambda p, t: p.abs()),
    "relative_l2": relative(F.mse_loss, lambda p, t: p * p),
    "mape": relative(F.l1_loss, lambda p, t: t.abs()),
    "smape": relative(F.l1_loss, lambda p, t: 0.5 * (p.abs() + t.abs())),
    "sigmoid_cross_entropy": each(F.binary_cross_entropy_with_logits),
    "softmax_cross_entropy": each(F.cross_entropy),
}
MEANS: dict[str, Callable[[Tensor], Tensor]] = {
    "all": torch.mean,
    "samples": lambda errors: errors.sum() / len(errors),
    "none": torch.sum,
}

# For each loss (p, t): ordinary numbers with the special cases 0 and 1 among them, then large ones.
ERRORS = [
    (
        [[0.5, -1.2, 0.0], [2.0, 0.3, -0.7], [0.0, 1.0, 0.25], [-2.3, 0.9, 0.1]],
        [[0.5, 0.1, 0.6], [1.0, 1.3, -0.2], [0.0, 0.0, -0.8], [0.0, 0.89, -0.6]],
    ),
    ([[1000.0, -1000.0], [1e-8, 0.0]], [[-0.3, 1e-8], [1000.0, -1e-8]]),
]
PROBABILITIES = [
    (
        [[0.5, -1.2, 0.0], [2.0, 0.3, -0.7], [3.3, 8.0, -0.25], [-3.0, 0.9, 0.1]],
        [[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.0, 0.9, 0.1], [0.3, 0.1, 0.3]],
    ),
    ([[1000.0, -1000.0, 40.0], [-1e-8, 1e-8, 0.0]], [[0.4, 0.5, 0.1], [0.0, 1.0, 0.0]]),
]


def loss(errors: Callable[[Tensor, Tensor], Tensor], batches: Any) -> list[Entry]:
    found = []
    for predictions, targets in batches:
        p, t = tensor(predictions, learns=True), tensor(targets)
        means = {}
        for name, mean in MEANS.items():
            value = mean(errors(p, t))
            (gradient,) = torch.autograd.grad(value, p)
            means[name] = {"value": value.item(), "gradient": gradient.tolist()}
        found.append({"prediction": predictions, "target": targets, "means": means})
    return found


def losses() -> Entry:
    return {
        name: loss(errors, PROBABILITIES if "cross_entropy" in name else ERRORS)
        for name, errors in LOSSES.items()
    }
