"""Functions that make sessions; at the top level of a module, so that processes find them."""

import os
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.base.checks import FloatArray
from tests.sessions import advanced, session_on

GRID = {"hidden": [2, 3, 4]}
PLACES = [[0, 0], [0, 1], [1, 0], [1, 1]]
EITHER = [[0], [1], [1], [0]]


def of_seed(seed: int, *given: Any, **options: Any) -> sv.Session:
    """A session on the cpu engine that draws weights and batches by one seed."""
    return session_on(*given, first=seed, seed=seed, **{"engine": "cpu"} | options)


def xor(hidden: int = 3, lr: float = 1.0, seed: int = 0, **options: Any) -> sv.Session:
    """A network learns XOR."""
    return of_seed(
        seed, (PLACES, EITHER), [2, hidden, 1], "tanh", "sigmoid", optimizer=sv.SGD(lr), **options
    )


def colors(sizes: tuple[int, ...] = (3, 8, 3), map: str = "hue", seed: int = 0) -> sv.Session:
    """A network of some shape learns a map of colors."""
    return of_seed(seed, sv.data.Rgb(map), sizes, "tanh", "sigmoid", optimizer=sv.SGD(0.5), batch=8)


def own_data(noise: float = 0.1, seed: int = 0) -> sv.Session:
    """The samples differ with the seed, so that no two sessions can share them."""
    data = sv.data.Circle(noise=noise, samples=40, seed=seed)
    return of_seed(seed, data, [2, 3, 1], "tanh", batch=10, optimizer=sv.SGD(0.1))


def folds(hidden: int = 3, seed: int = 0) -> sv.Session:
    """One of three folds of a cross validation: seeds 0 and 3 train on the same samples."""
    inputs = np.random.default_rng(0).random((12, 2))
    targets = (inputs.sum(axis=1, keepdims=True) > 1) * 1.0
    fold = np.arange(12) % 3 != seed % 3
    data = inputs[fold], targets[fold]
    return of_seed(seed, data, [2, hidden, 1], "tanh", "sigmoid", optimizer=sv.SGD(0.5))


def classes(lr: float = 0.3, seed: int = 0, **options: Any) -> sv.Session:
    """Three classes of places, of which a part is held out."""
    inputs = np.random.default_rng(0).random((30, 2))
    labels = (inputs.sum(axis=1) * 1.5).astype(int)
    data = sv.data.Arrays(inputs[:20], labels[:20], held_out=(inputs[20:], labels[20:]))
    given = {"loss": "softmax_cross_entropy", "optimizer": sv.Adam(lr)} | options
    return of_seed(seed, data, [2, 8, 3], "tanh", **given)


def furthest(predictions: FloatArray, targets: FloatArray) -> float:
    return float(np.abs(predictions - targets).max())


def diverging(lr: float = 1.0, seed: int = 0) -> sv.Session:
    pair = [[3.0], [5.0]], [[20.0], [-30.0]]
    return of_seed(seed, pair, [1, 4, 1], "relu", optimizer=sv.SGD(lr))


def raising(hidden: int = 2, seed: int = 0) -> sv.Session:
    if hidden == 5:
        raise ValueError("five is not for me")
    return xor(hidden, seed=seed)


def killing(outputs: FloatArray, targets: FloatArray) -> float:
    """A metric that ends the process which measures it, the first time."""
    marks = Path(os.environ["SWEEP_MARKS"])
    if os.getpid() != int(os.environ["SWEEP_PARENT"]) and not (marks / "killed").exists():
        (marks / "killed").touch()
        os._exit(9)
    return furthest(outputs, targets)


def always_killing(outputs: FloatArray, targets: FloatArray) -> float:
    if os.getpid() != int(os.environ["SWEEP_PARENT"]):
        os._exit(9)
    return 1.0


def digests(runs: Any) -> list[tuple[str, ...]]:
    return [runs.outcome(number).digests for number in range(len(runs.settings))]


def digests_here() -> list[tuple[str, ...]]:
    """The digests of a sweep over GRID, 30 steps in this process."""
    return digests(advanced(sv.sweep(xor, GRID, seeds=range(4)), 30))
