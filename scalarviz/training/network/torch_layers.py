"""Convert PyTorch modules to equivalent layers; each kind is a row of a table.

The tables are LAYERS, AT_PLACES for layers of sequences, and ACTIVATIONS.
PyTorch is not imported here; a caller that has a module has already imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

from scalarviz.base.checks import Shape
from scalarviz.core.layers import Layer
from scalarviz.core.layers.dense import Dense
from scalarviz.core.layers.elementwise_layers import Activation, Dropout, PReLU
from scalarviz.core.layers.normalization import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from scalarviz.core.layers.picture_layers import AvgPool2d, Conv1d, Conv2d, MaxPool2d, in_short
from scalarviz.core.layers.rowwise_layers import Flatten, LogSoftmax, Reshape, Softmax
from scalarviz.core.layers.sequence_layers import Attention, Embedding
from scalarviz.core.layers.shapes import layer_size

Settings = dict[str, Any]
Arrays = Mapping[str, Any]  # objects with a shape, by role

WRAPPERS = "_orig_mod", "module"  # of torch.compile and of data parallel modules
ACTIVATIONS = {
    "ReLU": "relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "LeakyReLU": "leaky_relu",
    "GELU": "gelu",
    "SiLU": "swish",
    "ELU": "elu",
    "Softplus": "softplus",
    "SELU": "selu",
    "CELU": "celu",
    "Mish": "mish",
    "Hardswish": "hard_swish",
    "Hardsigmoid": "hard_sigmoid",
    "Hardtanh": "hard_tanh",
    "ReLU6": "relu6",
    "Softsign": "softsign",
    "LogSigmoid": "log_sigmoid",
    "Softshrink": "softshrink",
    "Hardshrink": "hardshrink",
}
GIVEN = {  # settings of activations, in brackets
    "leaky_relu": ("negative_slope",),
    "elu": ("alpha",),
    "celu": ("alpha",),
    "softplus": ("beta",),
    "hard_tanh": ("min_val", "max_val"),
    "softshrink": ("lambd",),
    "hardshrink": ("lambd",),
}
# Values of module settings that have no effect; modules with other values have no equivalent.
USUAL = {
    "ceil_mode": False,
    "count_include_pad": True,
    "divisor_override": None,
    "start_dim": 1,
    "end_dim": -1,
    "threshold": 20,
    "padding_idx": None,
    "max_norm": None,
    "scale_grad_by_freq": False,
    "sparse": False,
}
# Other attributes of modules that become layers.
DESCRIBED = (
    *("kernel_size", "stride", "padding", "dilation", "groups", "padding_mode", "approximate"),
    *("eps", "momentum", "num_features", "normalized_shape", "num_groups", "num_parameters", "p"),
    *("return_indices", "affine", "dim", "unflattened_size", "output_size"),
)


def unwrapped(model: Any) -> Any:
    """Return the original module inside wrappers of torch.compile or data parallel training."""
    while name := next((each for each in WRAPPERS if is_wrapped(model, each)), ""):
        model = getattr(model, name)
    return model


def is_wrapped(model: Any, name: str) -> bool:
    """Return whether a module wraps a single child called `name`, which has all parameters."""
    inner = dict(model.named_children()) if name in WRAPPERS else {}
    return [*inner] == [name] and all(
        each.startswith(f"{name}.") for each, _ in model.named_parameters()
    )


def described(module: Any) -> Settings:
    """Return the settings of a module that are numbers, strings or tuples of such values."""
    names = {*DESCRIBED, *USUAL, *sum(GIVEN.values(), ())}
    found = {name: getattr(module, name) for name in names if hasattr(module, name)}
    if found.get("eps", 0.0) is None:  # of RMSNorm: eps of its dtype
        kinds = [each.dtype for each in module.parameters()]
        found["eps"] = sys.modules["torch"].finfo(*kinds[:1]).eps
    return {name: each for name, each in sorted(found.items()) if is_plain(each)}


def is_plain(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def layer_of(
    kind: str, settings: Settings, arrays: Arrays, shape: Shape, *, at_places: bool = False
) -> Layer:
    """Return the layer that is equivalent to a PyTorch module.

    Args:
        arrays: mapping from a role, such as "weight", to an object with a shape
        shape: shape of an input sample
        at_places: whether the module is applied at each place of a sequence; `shape` is then
            (features, places), and PyTorch's is (places, features)

    Raises KeyError, ValueError, TypeError or a ScalarvizError for a module without an equivalent.
    """
    if any(settings.get(name, usual) != usual for name, usual in USUAL.items()):
        raise ValueError(settings)
    if kind in ACTIVATIONS:
        return Activation(layer_size(shape), activation_of(kind, settings))
    return (AT_PLACES if at_places else LAYERS)[kind](settings, arrays, shape)


def activation_of(kind: str, settings: Settings) -> str:
    """Return the name of an activation, followed by its settings in brackets if it has any."""
    name = ACTIVATIONS[kind]
    if name in GIVEN:
        return f"{name}({','.join(str(float(settings[each])) for each in GIVEN[name])})"
    return "gelu_tanh" if settings.get("approximate") == "tanh" else name


def linear(settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    outputs, inputs = arrays["weight"].shape
    if shape != (inputs,):
        raise ValueError(shape)
    return Dense(inputs, outputs, bias="bias" in arrays)


def convolution(settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    (count, _, *kernel), padding = arrays["weight"].shape, settings["padding"]
    if padding in ("valid", "same"):
        same = [(n - 1) * d / 2 for n, d in zip(kernel, settings["dilation"], strict=True)]
        padding = same if padding == "same" else [0] * len(kernel)
    if settings["padding_mode"] != "zeros" or any(edge % 1 for edge in padding):
        raise ValueError(padding)
    sizes = kernel, settings["stride"], [*map(int, padding)], settings["dilation"]
    window, stride, edges, dilation = map(in_short, sizes)
    return (Conv2d if len(kernel) > 1 else Conv1d)(
        shape, count, window, stride, edges, dilation=dilation, groups=settings["groups"],
        bias="bias" in arrays,
    )  # fmt: skip


def pool(kind: Callable[..., Layer], settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    usual = (("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1))
    *sizes, dilation = [of_sides(settings.get(name, n), shape, n) for name, n in usual]
    if dilation != [1, 1] or settings.get("return_indices"):
        raise ValueError(settings)
    return kind(layer_size(shape), *sizes)


def of_sides(given: Any, shape: Shape, usual: int) -> list[int]:
    """Expand a setting to two axes; for a 1-D sequence, the first axis gets the value `usual`."""
    sides = len(shape) - 1
    return [usual] * (2 - sides) + ([given] * sides if isinstance(given, int) else [*given])


def global_pool(settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    if of_sides(settings["output_size"], shape, 1) != [1, 1]:
        raise ValueError(settings)
    return AvgPool2d(layer_size(shape), layer_size(shape)[1:])


def norm(kind: Callable[..., Layer], settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    if prod(settings["normalized_shape"]) != prod(shape):
        raise ValueError(shape)
    return kind(prod(shape), settings["eps"])


def softmax(kind: Callable[..., Layer], settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    if len(shape) != 1 or settings["dim"] not in (1, -1):
        raise ValueError(settings["dim"])
    return kind(*shape)


def linear_at_places(settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    outputs, inputs = arrays["weight"].shape
    if shape[0] != inputs:
        raise ValueError(shape)
    return Conv1d(shape, outputs, 1, bias="bias" in arrays)


def norm_at_places(
    kind: Callable[..., Layer], settings: Settings, arrays: Arrays, shape: Shape
) -> Layer:
    if [*settings["normalized_shape"]] != [shape[0]]:
        raise ValueError(shape)
    return kind(shape, settings["eps"])


def log_softmax_at_places(settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    if settings["dim"] not in (2, -1):
        raise ValueError(settings["dim"])
    return LogSoftmax(shape)


def embedding(settings: Settings, arrays: Arrays, shape: Shape) -> Layer:
    (count, size), (places,) = arrays["weight"].shape, shape
    return Embedding(count, size, places)


LAYERS: dict[str, Callable[[Settings, Arrays, Shape], Layer]] = {
    "Linear": linear,
    **dict.fromkeys(("Conv1d", "Conv2d"), convolution),
    **dict.fromkeys(("MaxPool1d", "MaxPool2d"), partial(pool, MaxPool2d)),
    **dict.fromkeys(("AvgPool1d", "AvgPool2d"), partial(pool, AvgPool2d)),
    **dict.fromkeys(("AdaptiveAvgPool1d", "AdaptiveAvgPool2d"), global_pool),
    "Flatten": lambda settings, arrays, shape: Flatten(layer_size(shape)),
    "Unflatten": lambda settings, arrays, shape: Reshape(prod(shape), settings["unflattened_size"]),
    "LayerNorm": partial(norm, LayerNorm),
    "RMSNorm": partial(norm, RMSNorm),
    **dict.fromkeys(
        ("GroupNorm", "InstanceNorm1d", "InstanceNorm2d"),
        lambda settings, arrays, shape: GroupNorm(
            layer_size(shape), settings.get("num_groups", shape[0]), settings["eps"]
        ),
    ),
    **dict.fromkeys(
        ("BatchNorm1d", "BatchNorm2d"),
        lambda settings, arrays, shape: BatchNorm(
            layer_size(shape), settings["eps"], settings["momentum"]
        ),
    ),
    "Dropout": lambda settings, arrays, shape: Dropout(layer_size(shape), settings["p"]),
    "PReLU": lambda settings, arrays, shape: PReLU(layer_size(shape), settings["num_parameters"]),
    "Softmax": partial(softmax, Softmax),
    "LogSoftmax": partial(softmax, LogSoftmax),
}
# Modules applied at each place of a sequence, which gets the shape (features, places).
AT_PLACES: dict[str, Callable[[Settings, Arrays, Shape], Layer]] = {
    "Linear": linear_at_places,
    "LayerNorm": partial(norm_at_places, LayerNorm),
    "RMSNorm": partial(norm_at_places, RMSNorm),
    "LogSoftmax": log_softmax_at_places,
    "Dropout": LAYERS["Dropout"],
    "PReLU": LAYERS["PReLU"],
    "Embedding": embedding,
    "Attention": lambda settings, arrays, shape: Attention(
        shape[0] // 3, settings["heads"], places=shape[1], causal=settings["causal"]
    ),
}
