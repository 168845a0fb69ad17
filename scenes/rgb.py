"""A small network learns a map from colours to colours."""

from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import require
from scalarviz.errors import InputError
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_number, whole_numbers
from scalarviz.story.build_link import colours_in

DOES = {
    "invert": "invert colours",
    "grey": "turn colours grey",
    "sepia": "turn colours into sepia",
    "hue": "turn every hue into another",
    "swap": "let red, green and blue change places",
    "copy": "copy colours",
}


TITLES = {"invert": "the opposite of every colour"}
TASKS = {"invert": "Task: red in, cyan out; white in, black out; and so for every colour."}


def scene(
    map: Annotated[str, OptionInfo(data.MAPS, changes="data", offer="colour map")] = "invert",
    hidden=8,
    depth=1,
    sizes="",
    colours="",
    lr=0.5,
    batch=8,
    engine="auto",
    seed=0,
    first_setup: Annotated[bool, OptionInfo(label="one linear layer")] = False,
):
    """A 3-8-3 network, tanh and sigmoid, learns a map from colours to colours.

    Args:
        map: the map: invert, grey, sepia, hue, swap or copy
        hidden: perceptrons in each hidden layer; 0: a single layer, 3-3
        depth: number of hidden layers
        sizes: sizes of the hidden layers instead, if they differ: 8,4
        colours: your own pairs of colours instead, as the link of a playground has them
        lr: learning rate
        batch: colours per step
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the initial weights and of the order of the colours
        first_setup: one layer without activation, weights from 0 to 1, rate 0.01, one colour per
            step
    """
    if first_setup:
        for name, value, usual in (("hidden", hidden, 8), ("lr", lr, 0.5), ("batch", batch, 8)):
            if value != usual:
                raise InputError(
                    f"first_setup has its own {name}: leave {name} at {usual}, not {value}"
                )
        hidden, lr, batch = 0, 0.01, 1
    hidden, depth = whole_number(hidden, "hidden", 0), whole_number(depth, "depth", 1, 100)
    hint = "--hidden 0 --map grey" if map == "invert" else "--lr 2.0"
    if first_setup:
        hint = "--map grey" if map == "invert" else "--map invert"
    layers = whole_numbers(sizes, "sizes", 0) or [hidden] * depth * (hidden > 0)
    output = "linear" if first_setup else "sigmoid"
    init = sv.Init("uniform", low=0.0, high=1.0) if first_setup else "pytorch"
    network = sv.Network([3, *layers, 3], "tanh", output, init=init, seed=seed)
    learned, pairs = data.Rgb(map), np.array(colours_in(colours))
    require(not colours or len(pairs), "colours fits no pairs of colours: copy the link again")
    if len(pairs):
        names = ["R", "G", "B"]
        learned = data.Arrays(pairs[:, :3], pairs[:, 3:], input_names=names, output_names=names)
    session = sv.Session(
        network,
        learned,
        loss="mse",
        optimizer=sv.SGD(lr),
        batch=batch,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        title=f"A network learns {TITLES.get(map, f'colours: {map}')}",
        task=TASKS.get(map, f"Task: {DOES[map]}."),
        about=f"Each cube is one weight. This network learns to {DOES[map]}.",
        hint=f"scalarviz watch rgb {hint}",
        speed=10,
    )


if __name__ == "__main__":
    sv.watch(scene())
