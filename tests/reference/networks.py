"""Initializers, layers and whole networks."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from tensors import Entry, flat, random
from torch import Tensor, nn
from torch.nn import functional as F

# ---- initializers: the bounds, not the draws -----------------------------------------------------

SHAPES = [(3, 8), (8, 3), (1, 1), (784, 128)]


class Recorder(torch.Tensor):
    """A tensor that does not draw: it notes which distribution it was to be drawn from."""

    def uniform_(self, low: float = 0.0, high: float = 1.0, **_: Any) -> "Recorder":
        self.kind, self.spread = "uniform", [float(low), float(high)]
        return self

    def normal_(self, mean: float = 0.0, std: float = 1.0, **_: Any) -> "Recorder":
        self.kind, self.spread = "normal", [float(mean), float(std)]
        return self


def linear_layer(weight: Recorder, bias: Recorder) -> None:
    """What PyTorch's Linear does when it is made."""
    nn.Linear.reset_parameters(SimpleNamespace(weight=weight, bias=bias))  # type: ignore[arg-type]  # all that it reads


INITIALIZERS: dict[str, tuple[dict[str, float], Callable[[Recorder, Recorder], Any]]] = {
    "pytorch": ({}, linear_layer),
    "uniform": ({"low": -0.2, "high": 0.7}, lambda w, b: nn.init.uniform_(w, -0.2, 0.7)),
    "normal": ({"mean": 0.1, "deviation": 2.0}, lambda w, b: nn.init.normal_(w, 0.1, 2.0)),
    "xavier_uniform": ({}, lambda w, b: nn.init.xavier_uniform_(w)),
    "xavier_normal": ({}, lambda w, b: nn.init.xavier_normal_(w)),
    "he_uniform": ({}, lambda w, b: nn.init.kaiming_uniform_(w, nonlinearity="relu")),
    "he_normal": ({}, lambda w, b: nn.init.kaiming_normal_(w, nonlinearity="relu")),
    "lecun_uniform": ({}, lambda w, b: nn.init.kaiming_uniform_(w, nonlinearity="linear")),
    "lecun_normal": ({}, lambda w, b: nn.init.kaiming_normal_(w, nonlinearity="linear")),
    "zeros": ({}, lambda w, b: nn.init.uniform_(w, 0.0, 0.0)),
}


BIASES: dict[str, Callable[[Recorder, Recorder], Any]] = {"fan_in": linear_layer}


def recorded(fill: Callable[[Recorder, Recorder], Any], part: str) -> Entry:
    """The kind of the distribution, and its two numbers for each shape."""
    kinds, spreads = set(), []
    for fan_in, fan_out in SHAPES:
        tensors = {
            "weight": torch.empty(fan_out, fan_in, dtype=torch.float64).as_subclass(Recorder),
            "bias": torch.empty(fan_out, dtype=torch.float64).as_subclass(Recorder),
        }
        fill(tensors["weight"], tensors["bias"])
        kinds.add(tensors[part].kind)
        spreads.append(tensors[part].spread)
    (kind,) = kinds
    return {"kind": kind, "shapes": SHAPES, "spreads": spreads}


def initializers() -> Entry:
    return {
        name: {"settings": settings, **recorded(fill, "weight")}
        for name, (settings, fill) in INITIALIZERS.items()
    }


def biases() -> Entry:
    return {name: recorded(fill, "bias") for name, fill in BIASES.items()}


# ---- layers and networks -------------------------------------------------------------------------


class Encoding(nn.Module):
    """For each input in turn: sin and cos of pi x, 2 pi x, 4 pi x, ..."""

    def __init__(self, octaves: int) -> None:
        super().__init__()
        self.octaves = octaves

    def forward(self, x: Tensor) -> Tensor:
        waves = [2.0**k * math.pi * x for k in range(self.octaves)]
        columns = [f(wave) for wave in waves for f in (torch.sin, torch.cos)]
        return torch.stack(columns, dim=-1).flatten(1)


def dense(inputs: int, outputs: int, activation: nn.Module, bias: bool = True) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, outputs, bias), activation)


def pictures(channels: int, height: int, width: int, inner: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Unflatten(1, (channels, height, width)), inner, nn.Flatten())


# The settings, as ours take them, and PyTorch's layer.
LAYERS: dict[str, list[tuple[Entry, Callable[[], nn.Module]]]] = {
    "Dense": [
        ({"inputs": 4, "outputs": 3}, lambda: dense(4, 3, nn.Identity())),
        (
            {"inputs": 2, "outputs": 5, "activation": "tanh", "bias": False},
            lambda: dense(2, 5, nn.Tanh(), bias=False),
        ),
    ],
    "FrequencyEncoding": [
        ({"inputs": 2, "octaves": 3}, lambda: Encoding(3)),
        ({"inputs": 3, "octaves": 1}, lambda: Encoding(1)),
    ],
    "LayerNorm": [
        ({"features": 5}, lambda: nn.LayerNorm(5)),
        ({"features": 4, "eps": 0.1}, lambda: nn.LayerNorm(4, eps=0.1)),
    ],
    "RMSNorm": [
        # PyTorch's own eps is the float's resolution, ours is that of LayerNorm.
        ({"features": 5}, lambda: nn.RMSNorm(5, eps=1e-5)),
        ({"features": 4, "eps": 0.1}, lambda: nn.RMSNorm(4, eps=0.1)),
    ],
    "Softmax": [({"features": 5}, lambda: nn.Softmax(dim=1))],
    "MaxPool2d": [
        ({"shape": [2, 4, 6]}, lambda: pictures(2, 4, 6, nn.MaxPool2d(2))),
        (
            {"shape": [1, 5, 4], "kernel": 3, "stride": 2, "padding": 1},
            lambda: pictures(1, 5, 4, nn.MaxPool2d(3, 2, 1)),
        ),
    ],
    "AvgPool2d": [
        ({"shape": [2, 4, 6]}, lambda: pictures(2, 4, 6, nn.AvgPool2d(2))),
        (
            {"shape": [1, 5, 4], "kernel": 3, "stride": 2, "padding": 1},
            lambda: pictures(1, 5, 4, nn.AvgPool2d(3, 2, 1)),
        ),
    ],
    "Conv2d": [
        (
            {"shape": [2, 5, 4], "channels": 3, "kernel": 3, "padding": 1},
            lambda: pictures(2, 5, 4, nn.Conv2d(2, 3, 3, padding=1)),
        ),
        (
            {
                "shape": [1, 7, 6], "channels": 5, "kernel": [3, 2], "stride": 2, "padding": 1,
                "activation": "tanh", "bias": False,
            },
            lambda: pictures(
                1, 7, 6, nn.Sequential(nn.Conv2d(1, 5, (3, 2), 2, 1, bias=False), nn.Tanh())
            ),
        ),
    ],
    "BatchNorm": [
        ({"shape": 5}, lambda: nn.BatchNorm1d(5)),
        (
            {"shape": [2, 3, 2], "eps": 0.1, "momentum": 0.3},
            lambda: pictures(2, 3, 2, nn.BatchNorm2d(2, eps=0.1, momentum=0.3)),
        ),
    ],
    "PReLU": [
        ({"shape": 5}, nn.PReLU),
        ({"shape": [2, 3, 2], "slopes": 2}, lambda: pictures(2, 3, 2, nn.PReLU(2))),
    ],
    "LogSoftmax": [({"features": 5}, lambda: nn.LogSoftmax(dim=1))],
}  # fmt: skip

# Further cases, whose numbers are drawn last: those above keep theirs.
LATER: dict[str, list[tuple[Entry, Callable[[], nn.Module]]]] = {
    "Conv2d": [
        (
            {
                "shape": [4, 7, 6], "channels": 6, "kernel": [3, 2], "stride": [2, 1], "padding": 1,
                "dilation": [1, 2], "groups": 2,
            },
            lambda: pictures(4, 7, 6, nn.Conv2d(4, 6, (3, 2), (2, 1), 1, (1, 2), 2)),
        ),
        (
            {
                "shape": [3, 5, 6], "channels": 3, "stride": 2, "padding": 2, "dilation": 3,
                "groups": 3, "activation": "tanh", "bias": False,
            },
            lambda: pictures(
                3, 5, 6, nn.Sequential(nn.Conv2d(3, 3, 3, 2, 2, 3, 3, bias=False), nn.Tanh())
            ),
        ),
    ],
}  # fmt: skip


def fill(module: nn.Module) -> list[float]:
    """Give a module random parameters; they are returned as they stand in our bank."""
    for parameter in module.parameters():
        parameter.data = random(*parameter.shape, scale=0.5)
    return flat(list(module.parameters()))


def layer(settings: Entry, make: Callable[[], nn.Module]) -> Entry:
    module = make().double()
    parameters = fill(module)
    shape = settings.get("shape", 0)
    count = math.prod(shape) if isinstance(shape, list) else shape
    x = random(4, settings.get("inputs") or settings.get("features") or count)
    x[0] = 0.001 * x[0]  # nearly constant: here eps matters
    x.requires_grad_()
    y = module(x)
    upstream = random(*y.shape)
    y.backward(upstream)
    assert x.grad is not None
    return {
        "settings": settings,
        "parameters": parameters,
        "inputs": x.tolist(),
        "outputs": y.tolist(),
        "upstream": upstream.tolist(),
        "input_gradients": x.grad.tolist(),
        "gradients": flat([p.grad for p in module.parameters() if p.grad is not None]),
        # A layer that has learned something about batches says something else afterwards.
        **({"evaluated": module.eval()(x).tolist()} if [*module.buffers()] else {}),
    }


def layers() -> Entry:
    torch.manual_seed(2)
    found = {name: [layer(*case) for case in cases] for name, cases in LAYERS.items()}
    for name, cases in LATER.items():
        found[name] += [layer(*case) for case in cases]
    return found


def encoded() -> nn.Module:
    """A coordinate as sines and cosines, a norm in the middle, no bias at the end."""
    return nn.Sequential(
        Encoding(3),
        dense(12, 6, nn.LeakyReLU(0.01)),
        nn.LayerNorm(6),
        dense(6, 3, nn.Sigmoid(), bias=False),
    )


def shared() -> nn.Module:
    """One layer stands in it twice."""
    twice = dense(5, 5, nn.Tanh())
    return nn.Sequential(dense(3, 5, nn.Tanh()), twice, twice, dense(5, 2, nn.Identity()))


def small() -> nn.Module:
    return nn.Sequential(dense(3, 8, nn.Tanh()), dense(8, 3, nn.Sigmoid()))


# The network, its inputs and outputs, PyTorch's optimizer. All are trained on MSE.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], int, int, Callable[[Any], Any]]] = {
    "3-8-3, Adam": (small, 3, 3, lambda p: torch.optim.Adam(p, 0.02, foreach=False)),
    "3-8-3, SGD": (small, 3, 3, lambda p: torch.optim.SGD(p, 0.5, foreach=False)),
    "encoded": (encoded, 2, 3, lambda p: torch.optim.Adam(p, 0.01, foreach=False)),
    "shared": (shared, 3, 2, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, foreach=False)),
}


def network(make: Callable[[], nn.Module], inputs: int, outputs: int, rule: Any) -> Entry:
    """The first outputs and gradients, then 100 full-batch steps."""
    module = make().double()
    start = fill(module)
    x = random(6, inputs).requires_grad_()
    targets = torch.rand(6, outputs, dtype=torch.float64).round(decimals=3)
    optimizer = rule(module.parameters())
    found: Entry = {"start": start, "inputs": x.tolist(), "targets": targets.tolist()}
    losses = []
    for step in range(100):
        optimizer.zero_grad()
        y = module(x)
        value = F.mse_loss(y, targets)
        value.backward()
        losses.append(value.item())
        if step == 0:
            assert x.grad is not None
            found["outputs"] = y.tolist()
            found["input_gradients"] = x.grad.tolist()
            found["gradients"] = flat([p.grad for p in module.parameters() if p.grad is not None])
        optimizer.step()
    return {**found, "losses": losses, "end": flat(list(module.parameters()))}


def networks() -> Entry:
    torch.manual_seed(3)
    return {name: network(*row) for name, row in NETWORKS.items()}
