"""Make the models that the tests load: what PyTorch's and scikit-learn's exporters write.

    python -m tests.files.onnx.make_models

takes the packages of the extra `bench` and scikit-learn. The same versions of them give the same
files again. "digits" is the network that the scene `retrain` begins with; it stands beside it.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import torch
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from torch import nn

from scalarviz import data
from tests.machine import ROOT

FOLDER = Path(__file__).parent / "models"
SCENES = ROOT / "scenes"
DYNAMIC = torch.export.Dim("batch", min=1, max=4096)


class Block(nn.Module):
    """x + f(x), then Relu: the block of a ResNet, without a second path."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(features, 6), nn.Tanh(), nn.Linear(6, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.inner(x))


class ConvBlock(nn.Module):
    """The same on pictures, with a BatchNorm after each convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(inner)))


class Encoded(nn.Module):
    """The texture network: a coordinate as sines and cosines, then Linear layers."""

    def __init__(self, inputs: int, octaves: int) -> None:
        super().__init__()
        frequencies = math.pi * 2.0 ** torch.arange(octaves)
        self.register_buffer("frequencies", frequencies.reshape(octaves, 1))
        self.outputs = 2 * inputs * octaves
        self.hidden = nn.Linear(self.outputs, 8)
        self.colour = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        angles = x[:, :, None, None] * self.frequencies
        waves = torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(1)
        return torch.sigmoid(self.colour(torch.relu(self.hidden(waves))))


def perceptrons() -> nn.Module:
    return nn.Sequential(
        nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8, bias=False), nn.LeakyReLU(),
        nn.Linear(8, 3), nn.Sigmoid(),
    )  # fmt: skip


def pictures() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3), nn.ELU(), nn.AvgPool2d(2, stride=1),
        nn.Flatten(), nn.Linear(4, 5), nn.Softmax(dim=1),
    )  # fmt: skip


def normed_pictures() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), ConvBlock(4),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.25), nn.Linear(4, 3),
    )  # fmt: skip


def depthwise() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, (2, 1), 1, groups=2), nn.ReLU(),
        nn.Conv2d(6, 6, 3, padding=2, dilation=(2, 3), groups=6, bias=False), nn.Conv2d(6, 4, 1),
        nn.ReLU(), nn.Flatten(), nn.Linear(64, 3),
    )  # fmt: skip


def normed() -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 6), nn.GELU(),
        nn.LayerNorm(6, eps=1e-3), nn.Linear(6, 2), nn.Softplus(),
    )  # fmt: skip


def residual() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 5), Block(5), Block(5), nn.Linear(5, 2))


def settled(model: nn.Module) -> nn.Module:
    """With numbers in which no two vectors are alike, as a training leaves them; evaluating."""
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()


def older(
    name: str, model: nn.Module, shape: tuple[int, ...], opset: int = 17, folder: Path = FOLDER
) -> None:
    """Save what the older exporter makes of it, with a batch of any size."""
    torch.onnx.export(
        settled(model), (torch.zeros(2, *shape),), folder / f"{name}.onnx", dynamo=False,
        opset_version=opset, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}},
        training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
    )  # fmt: skip


def newer(name: str, model: nn.Module, shape: tuple[int, ...], opset: int = 18) -> None:
    """Save what the exporter on torch.export makes of it."""
    path = FOLDER / f"{name}.onnx"
    torch.onnx.export(
        settled(model), (torch.zeros(2, *shape),), path, dynamo=True, opset_version=opset,
        input_names=["x"], output_names=["y"], dynamic_shapes=({0: DYNAMIC},),
        external_data=False, verbose=False,
    )  # fmt: skip
    without_history(path)


def without_history(path: Path) -> None:
    """Take out what the exporter tells of the source: it is long, and names files of a machine."""
    model = onnx.load(path)
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info,
                 *graph.initializer):  # fmt: skip
        del part.metadata_props[:]
    for node in graph.node:
        node.doc_string = ""
    path.write_bytes(model.SerializeToString(deterministic=True))


def learned(name: str, model: object, *, classes: int = 0) -> None:
    """Save what skl2onnx makes of a model that has learned a little."""
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 4)).astype(np.float32)
    if classes:
        y = (x @ random.normal(size=(4, classes))).argmax(axis=1)
    else:
        y = x @ random.normal(size=4)
    model.fit(x, y)  # type: ignore[attr-defined]  # of scikit-learn
    options = {id(model): {"zipmap": False}} if classes else None
    made = to_onnx(model, x[:1], options=options, target_opset=17)
    (FOLDER / f"{name}.onnx").write_bytes(made.SerializeToString(deterministic=True))


class Digits(nn.Module):
    """A network of two convolutions that knows the digits 0 to 7."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def digits() -> None:
    """Train it on what the scene `retrain` does not hold out, and save it beside the scenes."""
    torch.set_num_threads(1)
    known = data.Digits(digits="01234567")
    assert known.held_out is not None
    x, wanted = (torch.tensor(array) for array in known.training)
    x, labels = x.reshape(-1, *known.shape), wanted.argmax(dim=1)
    model = Digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(1500):
        rows = torch.randint(len(x), (64,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
        optimizer.step()
    held, answers = (torch.tensor(array) for array in known.held_out)
    right = model(held.reshape(-1, *known.shape)).argmax(dim=1) == answers.argmax(dim=1)
    print(f"digits 0 to 7: {right.float().mean():.1%} of the held-out ones are recognized")
    older("digits_0_to_7", model, known.shape, folder=SCENES)


MODELS: dict[str, Callable[[str], None]] = {
    "torch_mlp": lambda name: older(name, perceptrons(), (3,)),
    "torch_mlp_newer": lambda name: newer(name, perceptrons(), (3,)),
    "torch_mlp_opset9": lambda name: older(name, perceptrons(), (3,), opset=9),
    "torch_conv": lambda name: older(name, pictures(), (1, 8, 8)),
    "torch_conv_newer": lambda name: newer(name, pictures(), (1, 8, 8)),
    "torch_batchnorm": lambda name: older(name, normed_pictures(), (2, 6, 6)),
    "torch_batchnorm_newer": lambda name: newer(name, normed_pictures(), (2, 6, 6)),
    "torch_depthwise": lambda name: older(name, depthwise(), (2, 7, 6)),
    "torch_depthwise_newer": lambda name: newer(name, depthwise(), (2, 7, 6)),
    "torch_layernorm_newer": lambda name: newer(name, normed(), (4,), opset=20),
    "torch_residual": lambda name: older(name, residual(), (3,)),
    "torch_residual_newer": lambda name: newer(name, residual(), (3,)),
    "torch_encoded": lambda name: older(name, Encoded(2, 3), (2,)),
    "torch_encoded_newer": lambda name: newer(name, Encoded(2, 3), (2,)),
    "sklearn_classifier": lambda name: learned(
        name, MLPClassifier((6,), activation="tanh", max_iter=30, random_state=0), classes=3
    ),
    "sklearn_regressor": lambda name: learned(
        name,
        MLPRegressor(hidden_layer_sizes=(6, 5), activation="relu", max_iter=30, random_state=0),
    ),
    "sklearn_logistic": lambda name: learned(
        name, LogisticRegression(max_iter=50, random_state=0), classes=3
    ),
    "sklearn_binary": lambda name: learned(
        name, MLPClassifier((4,), activation="logistic", max_iter=30, random_state=0), classes=2
    ),
}


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    for name in names or [*MODELS, "digits"]:
        torch.manual_seed(0)
        if name == "digits":
            digits()
            continue
        MODELS[name](name)
        print(f"{name}.onnx  {(FOLDER / f'{name}.onnx').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
