"""How many of 55 ordinary PyTorch models become networks, by themselves and by a file of ONNX.

PyTorch writes files by the package onnxscript; `make test-all` installs both.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, InputError

# Those that nothing here computes; what is read is compared, so that a model leaves a list only if
# it is right.
NEITHER = {
    "Threshold", "lstm", "transposed convolution", "powers and roots",
    "logarithm and maximum", "embedding",
}  # fmt: skip
# In forms that are read, by torch.onnx in opset 20.
NOT_EXPORTED = NEITHER | {"attention", "transformer", "Softshrink", "Hardshrink"}


def built(forward: Callable[..., Any], kind: str = "Model", /, **parts: Any) -> Any:
    """A PyTorch module of these parts and this forward, whose first argument is the module."""
    import torch

    module = type(kind, (torch.nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def models() -> dict[str, tuple[Any, tuple[tuple[int, ...], ...]]]:
    """Return modules, and the shape of a sample of each input."""
    import torch
    from torch import cat, nn, relu, sigmoid, sin, tanh

    def both(f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a forward of what the module `a` gives, which is called once."""
        return lambda m, x: f(m, m.a(x))

    row, line, picture = nn.Sequential, nn.Linear, (1, 8, 8)
    a, b, o = line(4, 8), line(4, 8), line(8, 2)
    activations = [
        nn.ReLU(), nn.LeakyReLU(0.1), nn.ELU(), nn.SELU(), nn.CELU(2.0), nn.GELU(), nn.GELU("tanh"),
        nn.SiLU(), nn.Mish(), nn.Tanh(), nn.Sigmoid(), nn.Softplus(), nn.Softsign(), nn.Hardtanh(),
        nn.Hardsigmoid(), nn.Hardswish(), nn.ReLU6(), nn.LogSigmoid(), nn.PReLU(), nn.PReLU(8),
        nn.Softmax(1), nn.LogSoftmax(1), nn.Tanhshrink(), nn.Softshrink(), nn.Hardshrink(),
        nn.Threshold(0.1, 0.5),
    ]  # fmt: skip
    twice = "GELU", "PReLU"
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {}
    for each in activations:
        name = type(each).__name__
        found[f"{each}" if name in twice else name] = row(line(4, 8), each, line(8, 2)), ((4,),)
    return found | {
        "batch norm": (row(line(4, 8), nn.BatchNorm1d(8), nn.ReLU(), line(8, 2)), ((4,),)),
        "layer norm": (row(line(4, 8), nn.LayerNorm(8), nn.ReLU(), line(8, 2)), ((4,),)),
        "rms norm": (row(line(4, 8), nn.RMSNorm(8), nn.ReLU(), line(8, 2)), ((4,),)),
        "residual": (built(lambda m, x: x + m.b(relu(m.a(x))), a=a, b=line(8, 4)), ((4,),)),
        "normed residual": (
            built(lambda m, x: x + m.b(relu(m.a(m.n(x)))), n=nn.LayerNorm(4), a=a, b=line(8, 4)),
            ((4,),),
        ),
        "convolutions": (
            row(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                line(64, 9)),
            (picture,),
        ),
        "lenet": (
            row(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5),
                nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), line(400, 120), nn.Tanh(),
                line(120, 10)),
            ((1, 28, 28),),
        ),
        "depthwise": (
            row(nn.Conv2d(1, 8, 3, 2, 1), nn.Hardswish(), nn.Conv2d(8, 8, 3, padding=1, groups=8),
                nn.Conv2d(8, 8, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), line(8, 3)),
            (picture,),
        ),
        "autoencoder": (row(line(9, 3), nn.ReLU(), line(3, 9), nn.Sigmoid()), ((9,),)),
        "gated": (built(lambda m, x: m.o(m.a(x) * sigmoid(m.b(x))), a=a, b=b, o=o), ((4,),)),
        "concatenated": (built(lambda m, x: cat([m.a(x), tanh(m.b(x))], 1), a=a, b=b), ((4,),)),
        "dense skip": (built(lambda m, x: cat([x, relu(m.a(x))], 1), a=a), ((4,),)),
        "deeponet": (
            built(lambda m, x, y: (m.a(x) * tanh(m.b(y))).sum(1, keepdim=True), a=a, b=line(1, 8)),
            ((4,), (1,)),
        ),
        "glu": (row(line(4, 16), nn.GLU(1), line(8, 2)), ((4,),)),
        "attention": (
            built(lambda m, x: m.a(x, x, x)[0], a=nn.MultiheadAttention(8, 2, batch_first=True)),
            ((5, 8),),
        ),
        "transformer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), ((5, 8),)),
        "lstm": (built(lambda m, x: m.a(x)[0], a=nn.LSTM(3, 4, batch_first=True)), ((5, 3),)),
        "sequence": (
            row(nn.Conv1d(2, 4, 3), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), line(28, 2)),
            ((2, 16),),
        ),
        "transposed convolution": (row(nn.ConvTranspose2d(1, 2, 2, 2), nn.Flatten()), (picture,)),
        "group norm": (row(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.Flatten()), (picture,)),
        "instance norm": (row(nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4), nn.ReLU()), (picture,)),
        "siren": (built(lambda m, x: m.o(sin(30 * m.a(x))), a=a, o=o), ((4,),)),
        "fourier features": (built(both(lambda m, h: cat([sin(h), h.cos()], 1)), a=a), ((4,),)),
        "powers and roots": (built(both(lambda m, h: torch.sqrt(h.abs() ** 2 + 1)), a=a), ((4,),)),
        "logarithm and maximum": (
            built(lambda m, x: torch.log(torch.maximum(m.a(x), m.b(x)) ** 2 + 1), a=a, b=b), ((4,),)
        ),
        "mean of a row": (built(lambda m, x: relu(m.a(x)).mean(1, keepdim=True), a=a), ((4,),)),
        "two heads": (
            built(both(lambda m, h: cat([m.o(h), m.b(h)], 1)), a=a, b=line(8, 3), o=o), ((4,),)
        ),
        "tied": (built(lambda m, x: m.a(relu(m.a(x))), a=line(4, 4)), ((4,),)),
        "embedding": (built(lambda m, x: m.a(x.long()).flatten(1), a=nn.Embedding(5, 3)), ((2,),)),
    }  # fmt: skip


def exported(model: Any, batches: tuple[Any, ...], path: Path) -> sv.Network:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, batches, path, verbose=False)
    return sv.onnx.load(path)


def traced(model: Any, batches: tuple[Any, ...], path: Path) -> sv.Network:
    return sv.from_torch(model, batches)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "refused"), [(traced, NEITHER), (exported, NOT_EXPORTED)])
def test_most_ordinary_models_are_read_and_the_others_are_known(
    way: Callable[..., sv.Network], refused: set[str], tmp_path: Path
) -> None:
    import torch

    if way is exported:
        pytest.importorskip("onnxscript", reason="torch.onnx.export writes files by onnxscript")
    known, failed = models(), set()
    for name, (model, shapes) in known.items():
        batches = tuple(torch.rand(3, *shape) for shape in shapes)
        wanted = model.eval()(*batches).detach()
        try:
            net = way(model, batches, tmp_path / "model.onnx")
        except (InputError, FileError, RuntimeError, TypeError):
            failed.add(name)
            continue
        if name in (
            "attention",
            "transformer",
        ):  # of (places, features), and of (features, places) here
            batches, wanted = (batches[0].mT,), wanted.mT
        row = np.hstack([each.reshape(3, -1).numpy() for each in batches])
        np.testing.assert_allclose(net(row), wanted.reshape(3, -1), atol=1e-5, err_msg=name)
    assert len(known) == 55
    assert failed == refused
