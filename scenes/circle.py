"""A network classifies points of the plane, as in TensorFlow Playground."""

from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import require
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.links import lines_of
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_numbers
from scalarviz.story.build_link import points_in, standardized, task_of

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

LOSSES = {
    "sides": sv.Loss("mse", factor=0.5),
    "classes": sv.Loss("softmax_cross_entropy"),
    "numbers": sv.Loss("mse"),
}


def data_of(table, names, classes, share, seed):
    """Return what a network learns of a packed table, and the samples, standardized."""
    kinds = [each for each in classes if each]
    settings = {"table": table, "names": names, "classes": kinds}
    (lines, _), task = lines_of(settings), task_of(settings)
    require(lines, "the table, its names and classes do not fit: copy the link again")
    columns = len(names) - (1 if kinds else 0)
    whole = np.array(lines)
    split = data.Arrays(whole, whole[:, -1], classes=len(kinds) or None, share=share, seed=seed)
    rows = [*split.rows, *split.held_out_rows]
    made = np.array(standardized([lines[i] for i in rows], len(split.rows), columns))
    goals = 2.0 * made[:, -1] - 1.0 if task == "sides" else made[:, -1]
    return task, data.Arrays(
        made[:, :-1],
        goals,
        classes=len(kinds) if task == "classes" else None,
        held_out=len(split.held_out_rows) or None,
        input_names=names[:-1],
        output_names={"classes": kinds, "numbers": names[-1:]}.get(task),
    )


def scene(
    shape: Annotated[str, OptionInfo(SHAPES, changes="data", offer="shape")] = "circle",
    noise: Annotated[float, OptionInfo(changes="data")] = 0.0,
    share: Annotated[float, OptionInfo(changes="data")] = 0.5,
    points="",
    table="",
    names="",
    classes="",
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
        table: a table instead, as the link of a playground has it
        names: names of the columns of the table: a,b,c
        classes: names of the classes in its last column; empty if numbers are learned
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
    task = "sides"
    if table or names or classes:
        task, learned = data_of(table, names.split(","), classes.split(","), share, seed)
    sizes = [learned.inputs, *whole_numbers(hidden, "hidden", 0), learned.outputs]
    bends = activation.split(",")
    network = sv.Network(sizes, bends[0], "tanh" if task == "sides" else "linear", seed=seed)
    for layer, name in enumerate(bends[1:], 1):
        network.set_activation(layer, name)
    session = sv.Session(
        network,
        learned,
        loss=LOSSES[task],
        optimizer=sv.SGD(lr, l1=l1, l2=l2),
        batch=batch,
        engine=engine,
        seed=seed,
        metrics="loss" if task == "numbers" else "accuracy",
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
