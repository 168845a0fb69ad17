"""A scene, which is run as a script, may have formulas of its own."""

from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.faces.cli.commands import main

SCENE = '''
"""A scene with formulas of its own."""

import math

import scalarviz as sv

SMALL = 0.01


def bend(x):
    return x / (1.0 + abs(x))


def bend_derivative(x, y):
    return (1.0 - abs(y)) ** 2


def smooth(p, t):
    return math.sqrt((p - t) ** 2 + SMALL)


def nudge(w, g, lr, most=0.5):
    move = lr * g
    if abs(move) > most:
        return w - (most if move > 0.0 else -most)
    return w - move


sv.activation(bend, bend_derivative)
sv.loss(smooth)
Nudge = sv.optimizer(nudge)


def scene():
    """Learn xor."""
    net = sv.Network([2, 3, 1], "bend", seed=0)
    return sv.Session(net, sv.data.Xor(), "smooth", Nudge(0.1), engine="cpu")
'''


@pytest.mark.slow  # kernels are compiled, the first time
def test_a_scene_trains_is_saved_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SCENE, encoding="utf-8")
    kept = str(tmp_path / "run.safetensors")
    train(path, capsys, "--steps", "20", "--save", kept)
    for table in (ACTIVATIONS, LOSSES, OPTIMIZERS):
        table.popitem()
    train(path, capsys, "--steps", "10", "--resume", kept, "--save", kept)
    loaded = sv.Session.load(kept)
    assert repr(loaded.optimizer) == "Nudge(lr=0.1, most=0.5)"
    assert loaded.step_index > 20


def train(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", str(path), *options])
    assert ended.value.code in (0, None), capsys.readouterr().err
