"""The measured networks and their training settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import scalarviz as sv


@dataclass(frozen=True)
class Case:
    """A network and how it is trained, by mean squared error."""

    sizes: Sequence[int]
    activation: str
    output: str
    optimizer: str
    rate: float
    batches: Sequence[int]

    def samples(self, batch: int) -> tuple[Any, Any]:
        """Random inputs and targets in float32."""
        rng = np.random.default_rng(0)
        inputs = rng.random((batch, self.sizes[0]), dtype=np.float32)
        return inputs, rng.random((batch, self.sizes[-1]), dtype=np.float32)


SMALL = [3, 16, 16, 3]
TEXTURE = [12, 64, 64, 64, 64, 3]
CASES = {
    "3-16-16-3": Case(SMALL, "relu", "linear", "SGD", 0.1, (1, 32, 1024)),
    "3-16-16-3 tanh": Case(SMALL, "tanh", "linear", "SGD", 0.1, (1, 32, 1024)),
    "12-64x4-3": Case(TEXTURE, "leaky_relu", "sigmoid", "Adam", 1e-3, (1024,)),
    "12-64x4-3 tanh": Case(TEXTURE, "tanh", "sigmoid", "Adam", 1e-3, (1024,)),
    "784-512-512-10": Case([784, 512, 512, 10], "relu", "linear", "Adam", 1e-3, (64, 256, 1024)),
    "12-256-256-3": Case([12, 256, 256, 3], "relu", "linear", "SGD", 0.01, (1024,)),
    "12-1024-1024-3": Case([12, 1024, 1024, 3], "relu", "linear", "SGD", 0.01, (256,)),
    "12-2048-2048-3": Case([12, 2048, 2048, 3], "relu", "linear", "SGD", 0.01, (256,)),
}
MOST_OPERATIONS = 2 * 10**10  # of a call, about 200 ms


def multiplications(sizes: Sequence[int], batch: int) -> int:
    """Additions and multiplications of the matrix products of one step."""
    products = [a * b for a, b in pairwise(sizes)]
    return 2 * batch * (3 * sum(products) - products[0])  # no gradient by the first inputs


def steps_a_call(batch: int, operations: int) -> int:
    """Enough that the call itself does not count, of steps with so many operations each."""
    return max(1, min(max(64, 4096 // batch), MOST_OPERATIONS // operations))


def picture() -> sv.data.Texture:
    """The astronaut of scikit-image at 256 x 256; the built-in landscape without scikit-image."""
    from scalarviz import data

    if not find_spec("skimage"):
        return data.Texture()
    from skimage.data import astronaut

    return data.Texture(astronaut(), size=256)


def texture_session(picture: sv.data.Texture, seed: int = 0) -> sv.Session:
    """The training of a texture: encoded points to colours, 12-64-64-64-64-3, 1024 a batch."""
    import scalarviz as sv

    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 64, "leaky_relu"),
        *(sv.Dense(64, 64, "leaky_relu") for _ in range(3)),
        sv.Dense(64, 3, "sigmoid"),
    ]
    net = sv.Network(layers, init=sv.Init("xavier_uniform", bias="fan_out"), seed=seed)
    loss, optimizer = sv.Loss("mse", mean="samples"), sv.Adam(1e-3)
    return sv.Session(net, picture, loss, optimizer, batch=1024, engine="cpu", seed=seed)
