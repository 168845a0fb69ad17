"""Small sessions for tests of the page's picture, and a projection in JavaScript."""

import numpy as np

import scalarviz as sv
from scalarviz.scene.layout.division import Box

# The body of a function in which `see` is the projection that `data` describes.
SEE = """
const { x, y, width, height } = data.box;
const box = new Box(x, y, width, height);
const see = new Projection(new Camera(data.camera), box, ...data.size, data.reach);
"""


def made(*sizes: int) -> sv.Session:
    network = sv.Network([*sizes], "tanh", seed=1)
    inputs = np.linspace(-1.0, 1.0, 4 * sizes[0]).reshape(4, -1)
    return sv.Session(network, (inputs, np.zeros((4, sizes[-1]))), "mse", engine="python")


def convolved() -> sv.Session:
    layers = [sv.Conv2d((1, 6, 6), 2, 3), sv.MaxPool2d((2, 4, 4)), sv.Dense(8, 3)]
    samples = np.linspace(0.0, 1.0, 72).reshape(2, 36), np.zeros((2, 3))
    return sv.Session(sv.Network(layers, seed=2), samples, "mse", engine="python")


def depthwise() -> sv.Session:
    few = sv.Conv2d((2, 6, 6), 4, 3, (2, 1), groups=2, dilation=(2, 1))
    layers = [few, sv.Conv2d((4, 1, 4), 4, 1, groups=4), sv.Dense(16, 3)]
    samples = np.linspace(0.0, 1.0, 144).reshape(2, 72), np.zeros((2, 3))
    return sv.Session(sv.Network(layers, seed=2), samples, "mse", engine="python")


def box_data(box: Box) -> dict[str, float]:
    return dict(zip(("x", "y", "width", "height"), box.place, strict=True))
