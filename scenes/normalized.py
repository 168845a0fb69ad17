"""A network with normalization layers learns two arms of a spiral."""

from typing import Annotated

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_number

NORMS = {"layer": sv.LayerNorm, "rms": sv.RMSNorm, "none": None}


def scene(
    norm: Annotated[str, OptionInfo(NORMS)] = "layer",
    hidden=8,
    noise: Annotated[float, OptionInfo(changes="data")] = 0.02,
    lr=0.02,
    batch=25,
    engine="auto",
    seed=6963,
):
    """A 2-8-8-1 network with normalized hidden layers learns a spiral.

    Args:
        norm: normalization: layer, rms, or none for comparison
        hidden: perceptrons in each of the two hidden layers
        noise: noise of the points
        lr: learning rate
        batch: points per step
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the points, the initial weights and the order
    """
    hidden = whole_number(hidden, "hidden")
    kind = pick(NORMS, norm, "norm")
    layers = []
    for inputs in (2, hidden):
        layers += [sv.Dense(inputs, hidden, "tanh")]
        layers += [kind(hidden)] if kind else []
    layers += [sv.Dense(hidden, 1, "sigmoid")]
    session = sv.Session(
        sv.Network(layers, seed=seed),
        data.Spiral(noise=noise, seed=seed),
        loss="mse",
        optimizer=sv.Adam(lr),
        batch=batch,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        title="A network learns a spiral" + ("" if norm == "layer" else f", norm: {norm}"),
        task="Task: say of every point: which arm of the spiral?",
        hint="scalarviz watch normalized --norm none",
        speed=50,
        steps=5_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
