"""A network with convolutions learns handwritten digits."""

import scalarviz as sv
from scalarviz import data
from scalarviz.presenter.show import Show, whole_numbers


def scene(folder="", channels="8,16", lr=0.01, batch=64, engine="auto", seed=0):
    """A small network of convolutions tells handwritten digits apart.

    folder    of the files of MNIST; without one, the 8 x 8 digits inside scikit-learn
    channels  how many kernels each convolution has; after each, pictures are halved
    lr        the learning rate
    batch     how many digits it sees in a step
    engine    what it runs on: python, cpu, cuda, or auto for the fastest
    seed      decides which digits are held out, on the first weights and on the order
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
    )
    return Show(
        session,
        about="Each cube is one weight. The held-out digits are sorted by what it says they are.",
        title=f"A network of {len(network.bank):,} weights learns digits",
        hint="scalarviz watch digits --batch 1 --lr 0.001",
        speed=20,
        steps=1_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
