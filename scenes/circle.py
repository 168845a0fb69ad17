"""A network classifies points of the plane, as in TensorFlow Playground."""

from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import require
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_numbers
from scalarviz.story.build_link import points_in

CLASSES = {
    "circle": "lie inside a circle",
    "gaussians": "belong to which cloud",
    "spiral": "lie on which spiral",
    "moons": "lie on which moon",
    "quadrants": "have coordinates of the same sign",
}
TASKS = {
    "circle": "inside (lime) or outside (teal)",
    "gaussians": "which cloud is it of",
    "spiral": "which arm of the spiral",
    "moons": "upper moon (teal) or lower moon (lime)",
    "quadrants": "have x and y the same sign",
}
SHAPES = {
    "circle": data.Circle,
    "gaussians": data.Gaussians,
    "spiral": data.Spiral,
    "moons": data.Moons,
    "quadrants": data.Quadrants,
}


def scene(
    shape: Annotated[str, OptionInfo(SHAPES, changes="data", offer="shape")] = "circle",
    noise: Annotated[float, OptionInfo(changes="data")] = 0.0,
    share: Annotated[float, OptionInfo(changes="data")] = 0.5,
    points="",
    features="x,y",
    hidden="4,2",
    activation: Annotated[
        str, OptionInfo(ACTIVATIONS, changes="activations", others=True)
    ] = "tanh",
    lr=0.03,
    batch=10,
    l1: Annotated[float, OptionInfo(changes="penalties")] = 0.0,
    l2: Annotated[float, OptionInfo(changes="penalties")] = 0.0,
    engine="auto",
    seed=1,
):
    """A 2-4-2-1 network with tanh learns two classes of points, as in TensorFlow Playground.

    Args:
        shape: shape of the classes: circle, gaussians, spiral, moons or quadrants
        noise: noise of the points
        share: share of the 500 points to train on; the others are held out
        points: your own points instead, as the link of a playground has them
        features: inputs of the network: some of x, y, x2, y2, xy, sinx and siny
        hidden: sizes of the hidden layers; empty for none
        activation: activation of the hidden layers, or of each: tanh,relu; the output is tanh
        lr: learning rate
        batch: points per step
        l1: L1 regularization: pulls all weights to 0 equally
        l2: L2 regularization: pulls large weights to 0 more
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the points, the initial weights and the order
    """
    plane = pick(SHAPES, shape, "shape")
    learned = plane(noise=noise, share=share, scale=5.0, signed=True, seed=seed, features=features)
    own = np.array(points_in(points))
    require(not points or len(own), f"points has four letters for each point, not {points[:24]!r}")
    if len(own):
        inputs = learned.inputs_of(own[:, :2])
        learned = data.Arrays(inputs, own[:, 2], input_names=learned.input_names)
    sizes = [learned.inputs, *whole_numbers(hidden, "hidden", 0), 1]
    names = activation.split(",")
    network = sv.Network(sizes, names[0], "tanh", seed=seed)
    for layer, name in enumerate(names[1:], 1):
        network.set_activation(layer, name)
    session = sv.Session(
        network,
        learned,
        loss=sv.Loss("mse", factor=0.5),
        optimizer=sv.SGD(lr, l1=l1, l2=l2),
        batch=batch,
        engine=engine,
        seed=seed,
        metrics="accuracy",
        every=250,
    )
    return Show(
        session,
        about=f"Each cube is one weight. This network learns which points {CLASSES[shape]}.",
        title=f"A network learns {'what lies in a circle' if shape == 'circle' else shape}",
        task=f"Task: say of every point: {TASKS[shape]}?",
        hint="scalarviz watch circle --shape spiral --hidden 16,16 --activation relu --lr 0.1",
        speed=100,
        steps=5_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
