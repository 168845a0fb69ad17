"""Strategies for random networks, which several tests share."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.engines.registry import ENGINES
from scalarviz.formulas.activations import ACTIVATIONS

# Those that can run on this machine. The tests of cuda without a GPU are in tests/engines.
RUNNABLE = [name for name, row in ENGINES.items() if not row.lack()]

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negate": operator.neg,
}
LAYER_KINDS = st.sampled_from(
    [
        "dense", "layer_norm", "rms_norm", "encoding", "softmax", "pool", "convolution", "residual",
        "activation", "reshape",
    ]
)  # fmt: skip
# What these do depends on the whole batch, or on chance.
LEARNING_KINDS = ["batch_norm", "dropout"]


@st.composite
def networks(draw: st.DrawFn, learning: bool = False) -> tuple[sv.Network, np.ndarray]:
    """A random network, and a batch for it.

    With `learning` there are layers, too, that do something else while a network learns.
    """
    kinds = LAYER_KINDS | st.sampled_from(LEARNING_KINDS) if learning else LAYER_KINDS
    width = inputs = draw(st.integers(1, 4))
    layers: list[sv.Layer] = []
    for kind in draw(st.lists(kinds, min_size=1, max_size=4)):
        if kind == "dense" or width == 1:  # a norm of one number is constant
            after = draw(st.integers(1, 5))
            activation = draw(st.sampled_from(list(ACTIVATIONS)))
            layers.append(sv.Dense(width, after, activation, bias=draw(st.booleans())))
            width = after
        elif kind == "encoding":
            layers.append(sv.FrequencyEncoding(width, draw(st.integers(1, 2))))
            width = layers[-1].outputs
        elif kind == "softmax":
            layers.append(sv.Softmax(width))
        elif kind == "pool":
            pool = draw(st.sampled_from([sv.MaxPool2d, sv.AvgPool2d]))
            layers.append(pool((1, 1, width), kernel=2, stride=1, padding=1))
            width = layers[-1].outputs
        elif kind == "convolution":
            channels = draw(st.integers(1, 5))
            padding, stride = draw(st.integers(0, 1)), draw(st.integers(1, 2))
            kernel = (3, 2) if padding else (1, min(2, width))
            shape = (1, 1, width)
            layers.append(sv.Conv2d(shape, channels, kernel, stride, padding, "tanh"))
            width = layers[-1].outputs
        elif kind == "residual":
            inner = draw(st.integers(1, 3))
            layers.append(sv.Residual(sv.Dense(width, inner, "tanh"), sv.Dense(inner, width)))
        elif kind == "activation":
            layers.append(sv.Activation(width, draw(st.sampled_from(list(ACTIVATIONS)))))
        elif kind == "reshape":
            layers.append(sv.Reshape(width, (width, 1, 1)))
        elif kind == "batch_norm":
            layers.append(sv.BatchNorm(draw(st.sampled_from([width, (1, 1, width)]))))
        elif kind == "dropout":
            layers.append(sv.Dropout(width, draw(st.sampled_from([0.0, 0.3]))))
        else:
            layers.append(sv.LayerNorm(width) if kind == "layer_norm" else sv.RMSNorm(width))
        if layers[-1].output_shape:
            layers.append(sv.Flatten(layers[-1].output_shape))
    seed = draw(st.integers(0, 2**32))
    net = sv.Network(layers, seed=seed, dtype="float64")
    net.bank.value[:] += 0.1 * np.random.default_rng(seed).normal(size=len(net.bank))
    batch = np.random.default_rng(seed + 1).normal(size=(draw(st.integers(1, 3)), inputs))
    return net, batch
