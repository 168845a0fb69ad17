"""A network of four perceptrons learns XOR, with one sample in each step."""

from typing import Annotated

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.faces.scenefiles.options import OptionInfo
from scalarviz.pictures.presenter.show import Show, whole_number


def scene(
    activation: Annotated[str, OptionInfo(ACTIVATIONS, changes="activations")] = "sigmoid",
    hidden=3,
    half=True,
    lr=0.1,
    engine="auto",
    seed=0,
):
    """A 3-3-1 network whose third input is always 1 learns XOR; it has no biases.

    activation  sigmoid, as originally published, or tanh, which learns ten times faster
    hidden      number of hidden perceptrons
    half        leave out the factor 2 of the gradient, as originally published
    lr          learning rate
    engine      the engine: python, cpu, cuda, or auto for the fastest
    seed        seed of the initial weights and of the order of the samples
    """
    hidden = whole_number(hidden, "hidden")
    network = sv.Network(
        [sv.Dense(3, hidden, activation, bias=False), sv.Dense(hidden, 1, activation, bias=False)],
        init="uniform",
        seed=seed,
    )
    session = sv.Session(
        network,
        data.Xor(bias=True, order="picked"),
        loss=sv.Loss("mse", factor=0.5 if half else 1.0),
        optimizer=sv.SGD(lr),
        batch=1,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        about="Each cube is one weight. This network learns to say whether exactly one of two "
        "inputs is 1.",
        title=f"A 3-{hidden}-1 network learns XOR: {activation}",
        hint="scalarviz watch xor " + ("--seed 1" if activation == "tanh" else "--activation tanh"),
        speed=500,
        steps=5_000 if activation == "tanh" else 30_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
