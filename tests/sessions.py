"""Sessions that tests of many folders begin with."""

from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import scalarviz as sv
from scalarviz import data

Trained = TypeVar("Trained", bound=Any)


def advanced(session: Trained, *count: Any, **options: Any) -> Trained:
    """The session after `session.advance(*count, **options)`; sweeps and clocks have it too."""
    session.advance(*count, **options)
    return session


def inverting(engine: str = "python", batch: int = 8) -> sv.Session:
    """A 3-4-3 network that learns to invert colours."""
    net = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=batch, engine=engine)


def plane() -> sv.Session:
    """A 2-3-1 network that learns xor."""
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    return sv.Session(net, data.Xor(), "mse", sv.SGD(0.5), engine="python")


def image() -> sv.Session:
    """A convolution that tells five pictures apart; the first ones are black and white."""
    net = sv.Network([sv.Conv2d((1, 6, 6), 2, 3, activation="relu"), sv.Dense(32, 2)], seed=0)
    rows = np.random.default_rng(0).uniform(size=(5, 36))
    rows[:2] = [[0.0], [1.0]]
    return sv.Session(net, (rows, np.eye(2)[[0, 1, 0, 1, 0]]), "mse", sv.SGD(0.1), engine="python")


def reloaded(trained: Trained, folder: Path) -> Trained:
    """A session or a network as its file brings it back."""
    path = folder / "reloaded.safetensors"
    trained.save(path)
    load: Any = sv.Session.load if isinstance(trained, sv.Session) else sv.load
    return load(path)
