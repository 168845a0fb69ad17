"""A small network learns to turn every colour into another one."""

import numpy as np

import scalarviz as sv
from scalarviz.apps.terminal import Training, watch
from scalarviz.checks import size
from scalarviz.formulas.table import pick

MAPS = {
    "invert": lambda rgb: 1.0 - rgb,
    "grey": lambda rgb: np.repeat(rgb @ [[0.299], [0.587], [0.114]], 3, axis=1),
    "swap": lambda rgb: rgb[:, [2, 0, 1]],
    "copy": lambda rgb: rgb,
}

# The network never trains on these; they only show how far it has come.
PALETTE = np.array(
    [
        [0.90, 0.20, 0.20],
        [0.95, 0.60, 0.15],
        [0.90, 0.85, 0.20],
        [0.20, 0.70, 0.30],
        [0.15, 0.65, 0.75],
        [0.20, 0.30, 0.85],
        [0.60, 0.25, 0.75],
        [0.35, 0.35, 0.35],
    ]
)


def scene(map="invert", hidden=8, lr=0.5, batch=8, seed=0):
    """A 3-8-3 network, tanh and sigmoid, learns a map from colours to colours.

    map     what becomes of a colour: invert, grey, swap (red, green, blue change places) or copy
    hidden  how many perceptrons the hidden layer has
    lr      the learning rate
    batch   how many random colours it sees in a step
    seed    decides on the first weights and on the colours
    """
    target = pick(MAPS, map, "map")
    batch = size(batch, "batch")
    network = sv.Network([3, hidden, 3], activation="tanh", output="sigmoid", seed=seed)

    def batches(step):
        colors = np.random.default_rng([seed, step]).random((batch, 3))
        return colors, target(colors)

    return Training(
        network,
        batches,
        loss="mse",
        optimizer=sv.SGD(lr),
        palette=(PALETTE, target(PALETTE)),
        title=f"A 3-{hidden}-3 network learns colours: {map}",
        hint="scalarviz watch rgb " + ("--map grey" if map == "invert" else "--lr 2"),
    )


if __name__ == "__main__":
    watch(scene())
