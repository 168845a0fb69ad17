"""A scene as it was written for scalarviz 0.1.0, but for `sv.Show`; it must go on to work."""

import scalarviz as sv
from scalarviz import data


def scene(activation="sigmoid", half=True, lr=0.1, engine="auto", seed=0):
    """A 3-3-1 network whose third input is always 1 learns XOR; it has no other biases.

    Args:
        activation: sigmoid, as it was posted, or tanh, which learns ten times faster
        half: leave out the factor 2 of the gradient, as it was posted
        lr: the learning rate
        engine: what it runs on: python, cpu, cuda, or auto for the fastest
        seed: decides on the first weights and on the order of the corners
    """
    network = sv.Network(
        [sv.Dense(3, 3, activation, bias=False), sv.Dense(3, 1, activation, bias=False)],
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
    return sv.Show(
        session,
        title=f"A 3-3-1 network learns XOR: {activation}",
        hint="scalarviz watch xor " + ("--seed 1" if activation == "tanh" else "--activation tanh"),
        speed=500,
        steps=5_000 if activation == "tanh" else 30_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
