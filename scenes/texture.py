"""A network learns a picture: it maps positions to colours."""

from itertools import pairwise
from typing import Annotated

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_number


def scene(
    picture: Annotated[str, OptionInfo(changes="data")] = "",
    transform: Annotated[str, OptionInfo(data.TRANSFORMS)] = "identity",
    size=256,
    hidden=64,
    depth=4,
    octaves=3,
    lr=0.001,
    batch=1024,
    precision="full",
    engine="auto",
    seed=0,
):
    """A network of four hidden layers learns a picture from random points.

    Args:
        picture: a PNG or JPEG file; by default, a generated landscape
        transform: transform of the positions: identity, zoom or flip
        size: largest side in pixels; a larger picture is reduced
        hidden: perceptrons in each hidden layer
        depth: number of hidden layers
        octaves: frequencies of the encoding of a position
        lr: learning rate
        batch: points per step
        precision: full, or mixed: weights and gradients rounded to half precision
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the initial weights and of the points
    """
    hidden, depth = whole_number(hidden, "hidden"), whole_number(depth, "depth", 1, 100)
    octaves, size = whole_number(octaves, "octaves", 1, 64), whole_number(size, "size")
    inputs = 4 * octaves
    sizes = [inputs] + [hidden] * depth
    layers = [sv.FrequencyEncoding(2, octaves=octaves)]
    layers += [sv.Dense(a, b, "leaky_relu") for a, b in pairwise(sizes)]
    layers += [sv.Dense(sizes[-1], 3, "sigmoid")]
    network = sv.Network(layers, init=sv.Init("xavier_uniform", bias="fan_out"), seed=seed)
    session = sv.Session(
        network,
        data.Texture(picture or None, transform=transform, size=size),
        loss=sv.Loss("mse", mean="samples"),
        optimizer=sv.Adam(lr, not_finite="zero"),
        batch=batch,
        engine=engine,
        seed=seed,
        precision=precision,
    )
    return Show(
        session,
        about="Each square shows one neuron, each cube one weight. This network learns a picture, "
        "point by point.",
        title="A network paints a picture from memory",
        task="Task: given only a place, say which colour the picture has there.",
        hint="scalarviz watch texture --transform zoom",
        steps=5_000,
        film=True,
    )


if __name__ == "__main__":
    sv.watch(scene())
