"""A convolutional network learns handwritten digits."""

import scalarviz as sv
from scalarviz import data
from scalarviz.stage.show import Show, whole_numbers


def scene(folder="", channels="8,16", lr=0.01, batch=64, engine="auto", seed=0):
    """A small convolutional network classifies handwritten digits.

    Args:
        folder: folder with the files of MNIST; by default 1,797 digits of 8 x 8 pixels
        channels: kernels of each convolution, each followed by 2 x 2 pooling
        lr: learning rate
        batch: digits per step
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the held-out digits, the initial weights and the order
    """
    counts = whole_numbers(channels, "channels", least=0)
    digits = data.Digits(folder or None, seed=seed)
    shape, layers = digits.shape, []
    for count in counts:
        layers += [sv.Conv2d(shape, count, 3, padding=1, activation="relu")]
        layers += [sv.MaxPool2d(layers[-1].output_shape)]
        shape = layers[-1].output_shape
    layers += [sv.Dense(layers[-1].outputs if layers else digits.inputs, 10)]
    network = sv.Network(layers, seed=seed)
    session = sv.Session(
        network,
        digits,
        loss="softmax_cross_entropy",
        optimizer=sv.Adam(lr),
        batch=batch,
        engine=engine,
        seed=seed,
        metrics="accuracy",
        every=50,
    )
    return Show(
        session,
        about="Each cube is one weight. This network learns to read digits: the held-out digits "
        "are sorted by its answers.",
        title="A network learns to read digits",
        task="Task: say which digit from 0 to 9 is written here. "
        f"Tested on {len(digits.held_out[0]):,} pictures that it never saw.",
        hint="scalarviz watch digits --batch 1 --lr 0.001",
        speed=20,
        steps=1_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
