"""A network learns a picture: a place goes in, the colour there comes out."""

from itertools import pairwise

import scalarviz as sv
from scalarviz import data
from scalarviz.presenter.show import Show, whole_number


def scene(
    picture="",
    transform="identity",
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
    """A network of four hidden layers paints a picture, from random points of it.

    picture    a PNG or JPEG of yours; without one, a landscape made by code
    transform  where the picture is looked at: identity, zoom or flip
    size       a larger picture is reduced to so many pixels
    hidden     how many perceptrons a hidden layer has
    depth      how many hidden layers there are
    octaves    in how many frequencies it is told a place
    lr         the learning rate
    batch      how many points it sees in a step
    precision  full, or mixed: weights and gradients rounded to half precision
    engine     what it runs on: python, cpu, cuda, or auto for the fastest
    seed       decides on the first weights and on the points
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
        title=f"A network of {len(network.bank):,} weights learns a picture",
        hint="scalarviz watch texture --transform zoom",
        frame=128,
        steps=5_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
