"""What the tests of all engines share: numbers to compute with, and how near answers must be."""

import copy
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.optimizers import SCHEDULES
from scalarviz.core.optimizer import Optimizer

Array = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
MAKERS: dict[str, Any] = {make(0.1).name: make for make in Optimizer.__subclasses__()}


SHAPE = 2, 4, 5
# Networks by what they are about; odd sizes, windows larger and smaller than the steps between
# them, and products of more than one tile in both directions.
NETWORKS: dict[str, list[sv.Layer]] = {
    "one weight": [sv.Dense(1, 1)],
    "products": [sv.Dense(18, 33, "tanh"), sv.Dense(33, 2, bias=False)],
    "rows": [
        sv.FrequencyEncoding(2, 3), sv.Dense(12, 19), sv.LayerNorm(19), sv.Dense(19, 9, "swish"),
        sv.RMSNorm(9), sv.Dense(9, 3), sv.Softmax(3), sv.LogSoftmax(3),
    ],
    "shared": [sv.Dense(2, 9), *[sv.Dense(9, 9, "leaky_relu")] * 2, sv.Dense(9, 3)],
    "residual": [
        sv.Residual(sv.Dense(7, 3, "tanh"), sv.Residual(sv.Dense(3, 3)), sv.Dense(3, 7)),
        sv.Residual(sv.Dense(7, 5, "tanh"), skip=sv.Dense(7, 5)), sv.Dense(5, 8),
        sv.MaxPool2d((2, 2, 2)),  # alone reads in its backward what it was given
    ],
    "branches": [
        sv.Product([sv.Dense(5, 3, "tanh"), sv.Dense(3, 7)], sv.Dense(5, 7, "sigmoid")),
        sv.Concatenate(sv.Dense(7, 2), sv.Activation(7, "tanh")), sv.Dense(9, 2),
    ],
    "dropout": [sv.Dropout(7, 0.4), sv.Dense(7, 6), sv.Dropout(6, 0.1), sv.Dense(6, 2)],
    "slopes": [
        sv.PReLU(7, 7), sv.Dense(7, 6), sv.PReLU((3, 1, 2), 3), sv.Dense(6, 2), sv.PReLU(2)
    ],
    "features": [sv.Dense(5, 7), sv.BatchNorm(7), sv.Dense(7, 2)],  # more than blocks
    "channels": [
        sv.BatchNorm(SHAPE, eps=0.1, momentum=0.3), sv.BatchNorm(SHAPE), sv.Dense(40, 2)
    ],
    "gate": [sv.Dense(3, 2), sv.Spread((2, 3, 4)), sv.Dense(24, 2)],
    "inputs": [
        sv.Product([sv.Slice(7, 0, 3), sv.Dense(3, 4)], [sv.Slice(7, 2, 7), sv.Dense(5, 4)]),
        sv.Dense(4, 2),
    ],
    "groups of channels": [sv.GroupNorm((4, 3, 2), 2), sv.GroupNorm(24, 8), sv.Dense(24, 2)],
    "pools": [
        sv.MaxPool2d(SHAPE, kernel=(1, 2), stride=1, padding=(0, 1)),
        sv.AvgPool2d((2, 4, 6), kernel=(3, 2), stride=(1, 2)), sv.Dense(12, 2),
    ],
    "convolution": [sv.Conv2d(SHAPE, 3, (2, 3), activation="tanh")],
    "stride and padding": [sv.Conv2d((3, 4, 7), 5, (2, 3), stride=2, padding=1)],
    "far apart": [sv.Conv2d((2, 6, 3), 9, (3, 2), stride=3, padding=1, bias=False)],
    "five channels": [sv.Conv2d((5, 3, 3), 4, 3, padding=1)],
    "letters": [
        sv.Embedding(3, 6, 5, positions=True), sv.RMSNorm((6, 5), gain=False),
        sv.Residual(sv.Conv1d((6, 5), 18, 1), sv.Attention(6, 2, places=5)),
        sv.LayerNorm((6, 5)), sv.Conv1d((6, 5), 3, 1, activation="tanh"), sv.LogSoftmax((3, 5)),
    ],
    "no order": [
        sv.Embedding(4, 6, 4), sv.Attention(2, places=4, causal=False), sv.Dense(8, 2)
    ],
    "one letter": [sv.Embedding(2, 4), sv.Dense(4, 2)],
    "sequence": [sv.Conv1d((3, 9), 5, 4, stride=2, padding=3)],
    "tall window": [sv.Conv2d((2, 3, 5), 3, (4, 2), padding=1)],
    "depthwise": [sv.Conv2d((3, 4, 4), 6, (3, 2), (2, 1), 1, groups=3)],
    "groups with holes": [
        sv.Conv2d((4, 5, 6), 10, 3, (3, 2), 1, bias=False, dilation=(2, 3), groups=2)
    ],
    "two convolutions": [
        sv.Conv2d((2, 3, 4), 2, 2, padding=1, bias=False), sv.Conv2d((2, 4, 5), 2, 3, padding=1),
        sv.Dense(40, 2),
    ],
    "pooled pictures": [
        sv.Conv2d((1, 4, 4), 5, padding=1, activation="relu"), sv.MaxPool2d((5, 4, 4)),
        sv.Conv2d((5, 2, 2), 3, 2, padding=1), sv.AvgPool2d((3, 3, 3), 3, 1, 1), sv.Dense(27, 2),
    ],
    "pictures in branches": [
        sv.Concatenate(sv.Conv2d((1, 4, 4), 2, padding=1), sv.Activation((1, 4, 4), "tanh")),
        sv.BatchNorm((3, 4, 4)),
        sv.Product([sv.Dense(48, 5, "tanh"), sv.Dropout(5, 0.3)], sv.Dense(48, 5, "sigmoid")),
        sv.Concatenate(sv.Product(sv.Dense(5, 3), sv.Dense(5, 3)), sv.Residual(sv.Dense(5, 5))),
        sv.Dense(8, 2),
    ],
    "all": [
        sv.Conv2d(SHAPE, 2, 3, padding=1),
        sv.Residual(sv.BatchNorm(SHAPE), sv.Dropout(SHAPE, 0.2), sv.Conv2d(SHAPE, 2, 3, padding=1)),
        sv.Dropout(SHAPE, 0.3),
    ],
}  # fmt: skip
LARGE: dict[str, list[sv.Layer]] = {
    "wide window": [sv.Conv2d((3, 5, 5), 3, 5, padding=2)],
    "many kernels": [sv.Conv2d((2, 2, 2), 67, (1, 2))],
    "far padding": [sv.Conv2d((6, 4, 4), 5, 4, stride=2, padding=3, bias=False)],
}


def network(name: str, dtype: Any = "float64") -> sv.Network:
    """One of these, whose weights and running statistics are not what they begin with."""
    net = sv.Network(copy.deepcopy((NETWORKS | LARGE)[name]), dtype=dtype, seed=5)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    for layer in net.layers:
        if isinstance(layer, sv.BatchNorm):
            layer.running_mean[:] = 0.3
            layer.running_variance[:] = 0.7
    return net


def difference(a: object, b: object) -> float:
    """The largest difference over the largest value."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(abs(x - y).max(initial=0.0) / max(abs(x).max(initial=0.0), 1e-30))


def numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape)


def schedule_of(name: str, **given: float) -> sv.Schedule:
    """A schedule with those of the settings that it has."""
    known = dict(SCHEDULES[name].settings)
    return sv.Schedule(name, **{k: v for k, v in given.items() if k in known})


def bits_of(bank: Any) -> list[bytes]:
    """All numbers of a bank, or of a snapshot of one."""
    slots = [bank.slots[name] for name in sorted(bank.slots)]
    return [each.tobytes() for each in (bank.value, bank.grad, bank.state, *slots)]


def gradients_agree(net: sv.Network, engine: str, batch: Array) -> None:
    """The verbs give the same outputs, gradients and statistics as the objects."""
    reference, fast = net.copy().to("python"), net.copy().to(engine)
    near = TOLERANCE[net.dtype]
    assert difference(reference(batch), fast(batch)) < near
    assert (fast.bank.state == net.bank.state).all()
    assert difference(reference.forward(batch), fast.forward(batch)) < near
    upstream = numbers(len(batch), net.outputs)
    assert difference(reference.backward(upstream), fast.backward(upstream)) < near
    assert difference(reference.bank.grad, fast.bank.grad) < near
    assert difference(reference.bank.state, fast.bank.state) < near
    assert difference(reference(batch), fast(batch)) < near


def banks_agree(reference: Bank, other: Bank, steps: int) -> None:
    """Two banks after so many steps, in float64."""
    assert difference(reference.value, other.value) < 1e-9
    assert difference(reference.grad, other.grad) < 1e-8
    for name, slot in reference.slots.items():
        assert difference(slot, other.slots[name]) < 1e-8
    assert reference.step_count == other.step_count == steps
    assert difference(reference.state, other.state) < 1e-9
