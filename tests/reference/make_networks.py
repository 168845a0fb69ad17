"""PyTorch's results for random networks, which tests/proofs/test_numbers.py needs.

Run by hand with PyTorch installed, after a layer or an option was added here:

    python tests/reference/make_networks.py

It writes random_networks.npz beside itself: `recipes`, how each network is made, as JSON, and
`numbers`, all float64, one after the other. A network is drawn again if rounding alone would change
what it learns: where an activation has a corner nearby, say.
"""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from networks import Encoding, pictures
from scalars import ACTIVATIONS, LOSSES, MEANS
from tensors import Entry, flat
from torch import Tensor, nn
from training import OPTIMIZERS, OTHER_SETTINGS

FILE = Path(__file__).with_name("random_networks.npz")
NETWORKS = 200
STEPS = 6
SEED = 7
ROUNDING = 1e-13  # by so much the weights are changed to see what rounding does,
STEADY = 1e-10  # and by so much the result may change
LARGEST = 1e3

# PyTorch has no relu whose slope at 0 is 1; there, `where` hands the gradient to the second.
FUNCTIONS = {**ACTIVATIONS, "relu_right": lambda x: torch.where(x < 0.0, 0.0 * x, x)}

# ---- the layers ----------------------------------------------------------------------------------


class Apply(nn.Module):
    """A function of a tensor as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Around(nn.Module):
    """x + f(x)."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inner(x)


class Joined(nn.Module):
    """What a function makes of the outputs of two branches."""

    def __init__(self, s: Entry, join: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        layers, first = s["layers"], s["first"]
        self.one, self.other = (
            nn.Sequential(*map(module, part)) for part in (layers[:first], layers[first:])
        )
        self.join = join

    def forward(self, x: Tensor) -> Tensor:
        return self.join(self.one(x), self.other(x))


def with_activation(module: nn.Module, s: Entry) -> nn.Module:
    return nn.Sequential(module, Apply(FUNCTIONS[s["activation"]]))


def convolution(s: Entry) -> nn.Module:
    channels, size = s["shape"][0], (s["kernel"], s["stride"], s["padding"])
    inner = nn.Conv2d(channels, s["channels"], *size, bias=s["bias"])
    return pictures(*s["shape"], with_activation(inner, s))


def batch_norm(s: Entry) -> nn.Module:
    options = {"eps": s["eps"], "momentum": s["momentum"]}
    if isinstance(s["shape"], int):
        return nn.BatchNorm1d(s["shape"], **options)
    return pictures(*s["shape"], nn.BatchNorm2d(s["shape"][0], **options))


def pool(s: Entry, kind: Any) -> nn.Module:
    return pictures(*s["shape"], kind(s["kernel"], s["stride"], s["padding"]))


MODULES: dict[str, Callable[[Entry], nn.Module]] = {
    "Dense": lambda s: with_activation(nn.Linear(s["inputs"], s["outputs"], s["bias"]), s),
    "Activation": lambda s: Apply(FUNCTIONS[s["activation"]]),
    "LayerNorm": lambda s: nn.LayerNorm(s["features"], s["eps"]),
    "RMSNorm": lambda s: nn.RMSNorm(s["features"], s["eps"]),
    "FrequencyEncoding": lambda s: Encoding(s["octaves"]),
    "Softmax": lambda s: nn.Softmax(dim=1),
    "LogSoftmax": lambda s: nn.LogSoftmax(dim=1),
    "MaxPool2d": lambda s: pool(s, nn.MaxPool2d),
    "AvgPool2d": lambda s: pool(s, nn.AvgPool2d),
    "Conv2d": convolution,
    "BatchNorm": batch_norm,
    "PReLU": lambda s: nn.PReLU(s["slopes"]),
    # Which numbers are dropped is a draw of ours: here none is.
    "Dropout": lambda s: nn.Identity(),
    "Flatten": lambda s: nn.Identity(),
    "Reshape": lambda s: nn.Identity(),
    "Residual": lambda s: Around(nn.Sequential(*map(module, s["layers"]))),
    "Product": lambda s: Joined(s, torch.mul),
    "Concatenate": lambda s: Joined(s, lambda a, b: torch.cat((a, b), dim=1)),
}


def module(layer: Entry) -> nn.Module:
    return MODULES[layer["kind"]](layer["settings"])


# ---- the recipes ---------------------------------------------------------------------------------


def layer(kind: str, **settings: Any) -> Entry:
    return {"kind": kind, "settings": settings}


def dense(chance: random.Random, inputs: int, outputs: int, activation: str = "") -> Entry:
    activation = activation or chance.choice(list(FUNCTIONS))
    bias = chance.random() < 0.8
    return layer("Dense", inputs=inputs, outputs=outputs, activation=activation, bias=bias)


def on_vector(chance: random.Random, width: int) -> tuple[list[Entry], int]:
    """A layer or two that take so many numbers; how many they give."""
    kind = chance.choice(
        "Dense Dense Dense Activation LayerNorm RMSNorm BatchNorm Softmax LogSoftmax Residual "
        "Dropout PReLU FrequencyEncoding Reshape Product Concatenate".split()
    )
    if kind == "Dense" or (width < 3 and "Norm" in kind) or (width > 4 and "Freq" in kind):
        outputs = chance.randint(1, 8)
        return [dense(chance, width, outputs)], outputs
    if kind == "Activation":
        return [layer(kind, shape=width, activation=chance.choice(list(FUNCTIONS)))], width
    if kind == "FrequencyEncoding":
        octaves = chance.randint(1, 2)
        return [layer(kind, inputs=width, octaves=octaves)], 2 * octaves * width
    if kind == "Residual":
        inner = chance.randint(1, 6)
        parts = [dense(chance, width, inner), dense(chance, inner, width)]
        if inner > 2 and chance.random() < 0.4:
            parts.insert(1, layer("LayerNorm", features=inner, eps=1e-5))
        return [layer(kind, layers=parts)], width
    if kind in ("Product", "Concatenate"):
        widths = [chance.randint(1, 4) for _ in range(2)]
        if kind == "Product":
            widths[1] = widths[0]
        parts = [dense(chance, width, outputs) for outputs in widths]
        outputs = widths[0] if kind == "Product" else sum(widths)
        return [layer(kind, layers=parts, first=1)], outputs
    if kind == "BatchNorm":
        options = {"eps": chance.choice([1e-5, 0.1]), "momentum": chance.choice([0.1, 0.3])}
        return [layer(kind, shape=width, **options)], width
    if kind == "Dropout":
        return [layer(kind, shape=width, rate=0.0)], width
    if kind == "PReLU":
        return [layer(kind, shape=width, slopes=chance.choice([1, width]))], width
    if kind == "Reshape":
        shape = [1, 1, width]
        return [layer(kind, inputs=width, shape=shape), layer("Flatten", shape=shape)], width
    options = {} if "Softmax" in kind else {"eps": chance.choice([1e-5, 0.1])}
    return [layer(kind, features=width, **options)], width


def on_picture(chance: random.Random, shape: list[int]) -> tuple[Entry, list[int]]:
    """A layer that takes a picture, and the shape of the one that it gives."""
    channels, high, wide = shape
    kind = chance.choice(
        "Conv2d Conv2d Conv2d MaxPool2d AvgPool2d BatchNorm Activation Dropout Residual".split()
    )
    if kind == "BatchNorm":
        return layer(kind, shape=shape, eps=1e-5, momentum=0.1), shape
    if kind == "Activation":
        return layer(kind, shape=shape, activation=chance.choice(list(FUNCTIONS))), shape
    if kind == "Dropout":
        return layer(kind, shape=shape, rate=0.0), shape
    if kind == "Residual":
        activation = chance.choice(list(FUNCTIONS))
        options = {"kernel": [3, 3], "stride": 1, "padding": 1, "activation": activation}
        inner = layer("Conv2d", shape=shape, channels=channels, bias=True, **options)
        return layer(kind, layers=[inner]), shape
    size = [chance.randint(1, 3), chance.randint(1, 3)] if kind == "Conv2d" else [2, 2]
    stride, padding = chance.randint(1, 2), chance.randint(0, min(*size, 2) - 1)
    if min(high + 2 * padding - size[0], wide + 2 * padding - size[1]) < 0:
        return on_picture(chance, shape)
    after = [(n + 2 * padding - k) // stride + 1 for n, k in zip((high, wide), size, strict=True)]
    options = {"shape": shape, "stride": stride, "padding": padding}
    if kind != "Conv2d":
        return layer(kind, kernel=2, **options), [channels, *after]
    options |= {"channels": chance.randint(1, 3), "kernel": size, "bias": chance.random() < 0.7}
    activation = chance.choice(list(FUNCTIONS))
    return layer(kind, activation=activation, **options), [options["channels"], *after]


def layers(chance: random.Random) -> tuple[list[Entry], list[int], int, int]:
    """Layers and their order, inputs and outputs."""
    found: list[Entry] = []
    if chance.random() < 0.5:
        shape = [chance.randint(1, 2), chance.randint(2, 5), chance.randint(2, 5)]
        inputs = math.prod(shape)
        for _ in range(chance.randint(1, 3)):
            made, shape = on_picture(chance, shape)
            found.append(made)
        found.append(layer("Flatten", shape=shape))
        width = math.prod(shape)
    else:
        width = inputs = chance.randint(1, 5)
    shared = None
    for _ in range(chance.randint(1, 4)):
        more, width = on_vector(chance, width)
        found += more
    if chance.random() < 0.2:
        shared = len(found)
        found.append(dense(chance, width, width, "tanh"))
    if width > 8 or chance.random() < 0.5:
        found.append(dense(chance, width, 3))
        width = 3
    order = list(range(len(found)))
    if shared is not None:
        order.insert(shared, shared)
    return found, order, inputs, width


def recipe(chance: random.Random) -> Entry:
    """A network, and how it is trained."""
    found, order, inputs, outputs = layers(chance)
    loss = chance.choice(list(LOSSES))
    if "cross_entropy" in loss:
        order.append(len(found))
        found.append(dense(chance, outputs, 3, "linear"))
        outputs = 3
    optimizer = chance.choice(list(OPTIMIZERS))
    names = OPTIMIZERS[optimizer][1]
    samples = chance.randint(3, 6)
    # The first batch has all, the others have some; a BatchNorm takes two at least.
    batches = [chance.sample(range(samples), chance.randint(2, samples)) for _ in range(STEPS)]
    common = {"l1": 0.01, "l2": 0.05, "clip_norm": 0.8, "clip_value": 0.3}
    return {
        "layers": found,
        "order": order,
        "samples": samples,
        "batches": [list(range(samples)), *batches[1:]],
        "widths": [inputs, outputs],
        "loss": {
            "name": loss,
            "factor": chance.choice([1.0, 0.5]),
            "mean": chance.choice(list(MEANS)),
        },
        "optimizer": optimizer,
        "lr": 0.05 if optimizer in ("sgd", "momentum", "nesterov") else 0.01,
        "settings": {k: OTHER_SETTINGS[k] for k in names if chance.random() < 0.5},
        "common": {k: v for k, v in common.items() if chance.random() < 0.25},
        "every": chance.choice([0, 0, 2]),  # steps after which the rate is multiplied by .7
    }


# ---- the numbers ---------------------------------------------------------------------------------


def train(r: Entry, start: Tensor, inputs: Tensor, targets: Tensor) -> Entry:
    """The first outputs and gradients, some steps, and what they have made of the network."""
    made = [module(each) for each in r["layers"]]
    net = nn.Sequential(*[made[i] for i in r["order"]]).double()
    nn.utils.vector_to_parameters(start.clone(), net.parameters())
    x = inputs.clone().requires_grad_()
    parameters = list(net.parameters())
    rule = optimizer(r, parameters)
    found: Entry = {}
    losses = []
    for step, rows in enumerate(r["batches"]):
        rule.param_groups[0]["lr"] = r["lr"] * (0.7 ** (step // r["every"]) if r["every"] else 1.0)
        rule.zero_grad()
        y = net(x[rows])
        errors = LOSSES[r["loss"]["name"]](y, targets[rows])
        value = r["loss"]["factor"] * MEANS[r["loss"]["mean"]](errors)
        value.backward()
        losses.append(value.item())
        if step == 0:
            assert x.grad is not None
            found["outputs"], found["input_gradients"] = y.tolist(), x.grad.tolist()
            found["gradients"] = flat([p.grad for p in parameters if p.grad is not None])
        if parameters:
            prepare(r, parameters)
            rule.step()
    buffers = [b.double() for name, b in net.named_buffers() if "running" in name]
    evaluated = net.eval()(x)
    return {
        **found, "losses": losses, "end": flat(parameters), "state": flat(buffers),
        "evaluated": evaluated.tolist(),
    }  # fmt: skip


def optimizer(r: Entry, parameters: list[Any]) -> Any:
    make, names, _ = OPTIMIZERS[r["optimizer"]]
    settings = r["settings"]
    options = {names[key]: value for key, value in settings.items() if "beta" not in key}
    if "beta1" in names:
        options["betas"] = (settings.get("beta1", 0.9), settings.get("beta2", 0.999))
    return make(parameters, lr=r["lr"], foreach=False, **options)


def prepare(r: Entry, parameters: list[Any]) -> None:
    """Clip the gradients, then add those of l1 and l2."""
    common = r["common"]
    if "clip_norm" in common:
        nn.utils.clip_grad_norm_(parameters, common["clip_norm"])
    if "clip_value" in common:
        nn.utils.clip_grad_value_(parameters, common["clip_value"])
    for p in parameters:
        w = p.detach()
        p.grad += common.get("l1", 0.0) * w.sign() + common.get("l2", 0.0) * w


def thousandths(numbers: Any) -> Tensor:
    return torch.tensor(np.round(numbers, 3), dtype=torch.float64)


def case(chance: random.Random) -> tuple[Entry, Entry]:
    """A network that rounding does not lead astray, and its numbers."""
    while True:
        r = recipe(chance)
        rng = np.random.default_rng(chance.randrange(2**32))
        made = [module(each) for each in r["layers"]]
        count = sum(p.numel() for m in made for p in m.parameters())
        if not 0 < count < 250:
            continue
        start = thousandths(0.5 * rng.normal(size=count))
        inputs = thousandths(rng.normal(size=(r["samples"], r["widths"][0])))
        targets = rng.random((r["samples"], r["widths"][1]))
        if r["loss"]["name"] == "softmax_cross_entropy":
            targets /= targets.sum(axis=1, keepdims=True)
        goal = thousandths(targets)
        numbers = train(r, start, inputs, goal)
        noise = ROUNDING * (1.0 + torch.rand(count, dtype=torch.float64))
        again = train(r, start * (1.0 + noise), inputs * (1.0 + ROUNDING), goal)
        known = {"start": start.tolist(), "inputs": inputs.tolist(), "targets": goal.tolist()}
        if any(numbers["gradients"]) and all(steady(numbers[key], again[key]) for key in numbers):
            return r, {**known, **numbers}


def steady(a: Any, b: Any) -> bool:
    x, y = np.ravel(np.array(a)), np.ravel(np.array(b))
    largest = np.abs(x).max(initial=0.0)
    return bool(largest < LARGEST and np.abs(x - y).max(initial=0.0) <= STEADY * largest)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    recipes, numbers = [], []
    for _ in range(NETWORKS):
        r, found = case(chance)
        r["shapes"] = {name: list(np.shape(array)) for name, array in found.items()}
        recipes.append(r)
        numbers += [np.ravel(array) for array in found.values()]
    about = {"torch": torch.__version__, "networks": recipes}
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez_compressed(FILE, recipes=text, numbers=np.concatenate(numbers))
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
