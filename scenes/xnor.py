"""A network with two hidden layers learns XNOR, with all four samples in each step."""

import scalarviz as sv
from scalarviz import data
from scalarviz.stage.show import Show, whole_number


def scene(hidden=8, lr=0.01, engine="auto", seed=168):
    """A 2-8-8-1 network, ReLU and linear, learns XNOR.

    Args:
        hidden: perceptrons in each of the two hidden layers
        lr: learning rate
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the initial weights
    """
    hidden = whole_number(hidden, "hidden")
    network = sv.Network(
        [2, hidden, hidden, 1],
        activation="relu_right",
        init=sv.Init("he_uniform", bias="fan_out"),
        seed=seed,
    )
    session = sv.Session(
        network,
        data.Xnor(order="in_order"),
        loss=sv.Loss("mse", factor=0.5),
        optimizer=sv.SGD(lr),
        engine=engine,
        seed=seed,
    )
    session.focus = 3  # the sample with x = y = 1, where all weights contribute
    return Show(
        session,
        title="A network learns XNOR",
        task="Task: four questions; the answer is 1 if x and y are the same.",
        hint="scalarviz watch xnor --hidden 3 --seed 1",
        speed=50,
        steps=3_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
