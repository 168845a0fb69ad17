"""A formula with four parameters is fitted to measurements, without a network."""

from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz.base.checks import number
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_number


def scene(
    noise: Annotated[float, OptionInfo(changes="data")] = 0.05,
    samples=100,
    lr=0.02,
    engine="auto",
    seed=0,
):
    """Fit a damped oscillation, height * exp(growth x) * sin(speed x + phase), to measurements.

    Args:
        noise: noise of the measurements
        samples: number of measurements
        lr: learning rate
        engine: the engine: python, cpu, or auto for the faster
        seed: seed of the noise
    """
    samples = whole_number(samples, "samples")
    seed = whole_number(seed, "seed", 0, 2**64 - 1)
    noise = number(noise, "noise", 0.0)
    height, growth = sv.Value(0.5, label="height"), sv.Value(0.0, label="growth")
    speed, phase = sv.Value(5.0, label="speed"), sv.Value(0.0, label="phase")
    swing = sv.compile(
        lambda x: height * (growth * x).exp() * (speed * x + phase).sin(),
        inputs=1,
    )
    x = 3.0 * np.arange(samples) / samples  # for 100 samples, x has two digits, as printed
    scatter = noise * np.random.default_rng(seed).normal(size=samples)
    y = 1.5 * np.exp(-0.7 * x) * np.sin(6.0 * x + 0.4) + scatter
    session = sv.Session(
        swing,
        (x[:, np.newaxis], y[:, np.newaxis]),
        loss="mse",
        optimizer=sv.Adam(lr),
        engine=engine,
        seed=seed,
    )
    session.focus = samples // 8  # at sample 0, parts of the formula are 0
    return Show(
        session,
        about="Each cube is one number of the formula.",
        title="A formula learns its four numbers",
        task="Task: turn the four numbers until the curve runs through all the dots.",
        hint="scalarviz watch expression --noise 0.3",
        speed=20,
        steps=1_000,
    )


if __name__ == "__main__":
    sv.watch(scene())
