"""A small network learns XOR, with all four samples in each step."""

from typing import Annotated

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.errors import InputError
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_number


def scene(
    activation: Annotated[str, OptionInfo(ACTIVATIONS, changes="activations")] = "tanh",
    hidden=4,
    lr=1.0,
    engine="auto",
    seed=0,
    as_posted=False,
):
    """A 2-4-1 network, tanh and sigmoid, learns XOR in some hundred steps.

    Two hidden perceptrons can solve XOR, and four leave room for a poor start. Each step averages
    the gradients of all four samples, so that no sample undoes what another one has taught.

    Args:
        activation: activation of the hidden layer; the output is sigmoid
        hidden: number of hidden perceptrons
        lr: learning rate
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the initial weights and of the order of the samples
        as_posted: 3-3-1 without biases, all sigmoid, rate 0.1, one sample per step, half the
            gradient
    """
    own = {"activation": (activation, "tanh"), "hidden": (hidden, 4), "lr": (lr, 1.0)}
    changed = [name for name, (value, usual) in own.items() if value != usual]
    if as_posted and changed:
        raise InputError(f"as_posted has its own {changed[0]}: leave out {changed[0]}")
    hidden = 3 if as_posted else whole_number(hidden, "hidden")
    if as_posted:  # a third input, always 1, replaces the biases of the first layer
        layers = [sv.Dense(3, 3, "sigmoid", bias=False), sv.Dense(3, 1, "sigmoid", bias=False)]
    else:
        layers = [sv.Dense(2, hidden, activation), sv.Dense(hidden, 1, "sigmoid")]
    session = sv.Session(
        sv.Network(layers, init="uniform" if as_posted else "pytorch", seed=seed),
        data.Xor(bias=as_posted, order="picked" if as_posted else "shuffled"),
        loss=sv.Loss("mse", factor=0.5 if as_posted else 1.0),
        optimizer=sv.SGD(0.1 if as_posted else lr),
        batch=1 if as_posted else 4,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        about="Each cube is one weight. This network learns to say whether exactly one of two "
        "inputs is 1.",
        title="A network learns XOR" + (" as it was posted" if as_posted else ""),
        task="Task: four questions; the answer is 1 if exactly one of x and y is 1.",
        hint="scalarviz watch xor "
        + (f"--seed {seed + 1}" if as_posted or changed else "--as-posted"),
        speed=500 if as_posted else 50,
        steps=30_000 if as_posted else 1_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
