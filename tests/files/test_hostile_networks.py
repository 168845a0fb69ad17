"""A network file that says anything else in any place is refused, or makes a network."""

import copy
import random
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError
from scalarviz.files.checked_safetensors import read, write
from tests.files.test_hostile_runs import MOST_SECONDS, Whole, spoiled
from tests.wording import refused


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A network of every kind of layer."""
    path = tmp_path_factory.mktemp("networks") / "net"
    inner = sv.Residual(sv.Activation((2, 3, 3), "tanh"))
    layers = [
        sv.Conv2d((1, 6, 6), 2, 3, padding=1, activation="relu"),
        sv.MaxPool2d((2, 6, 6)),
        sv.BatchNorm((2, 3, 3)),
        sv.Residual(sv.Conv2d((2, 3, 3), 2, padding=1), inner),
        sv.Flatten((2, 3, 3)),
        sv.Dropout(18, 0.2),
        sv.LayerNorm(18),
        sv.Dense(18, 4, "tanh", init=sv.Init("uniform", low=-0.5, high=0.5)),
        sv.FrequencyEncoding(4, 2),
        sv.RMSNorm(16),
        sv.Dense(16, 3),
        sv.Softmax(3),
    ]
    net = sv.Network(layers, seed=3)
    net.train_step(np.full((2, 36), 0.5), np.eye(3)[:2], "mse", sv.Adam(0.1))
    net.save(path)
    return read(path, "network")


def use(path: Path, engine: str) -> str:
    """Load a network and keep it again: what it was refused with, if it was."""
    try:
        net = sv.load(path, engine)
    except FileError as error:
        return str(error)
    net(np.zeros((2, net.inputs)))
    net.save(path)
    sv.load(path)
    return ""


def spoil_often(good: Whole, path: Path, seeds: range) -> int:
    """How many of many spoiled files are refused; the others make a network that can be kept."""
    refused = 0
    for seed in seeds:
        chance = random.Random(seed)
        write(path, "network", spoiled(good[0], chance), good[1])
        began = perf_counter()
        said = use(path, chance.choice(["python", "cpu"]))
        assert perf_counter() - began < MOST_SECONDS, f"seed {seed}"
        assert "\n" not in said
        refused += bool(said)
    return refused


def test_a_spoiled_network_is_refused_or_made(good: Whole, tmp_path: Path) -> None:
    assert spoil_often(good, tmp_path / "net", range(120)) > 80


@pytest.mark.slow
def test_many_spoiled_networks_are_refused_or_made(good: Whole, tmp_path: Path) -> None:
    assert spoil_often(good, tmp_path / "net", range(1000, 6000)) > 3500


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        (1, {"shape": [1, 10**400, 2]}),
        (1, {"shape": [1, 2, 2], "kernel": 2**63}),
        (8, {"inputs": 3, "octaves": 10**400}),
        (5, {"shape": 2**64, "rate": 0.5}),
        (0, {"shape": [2**40, 2**40, 2**40], "channels": 2**40, "kernel": 2**40}),
    ],
)
def test_sizes_beyond_all_measure_are_refused(
    place: int, settings: dict[str, Any], good: Whole, tmp_path: Path
) -> None:
    changed = copy.deepcopy(good[0])
    changed["layers"][place]["settings"] = settings
    write(tmp_path / "net", "network", changed, good[1])
    with refused(FileError, "tmp_path/net"):
        sv.load(tmp_path / "net")


def test_what_is_spoiled_above_was_a_good_network(good: Whole, tmp_path: Path) -> None:
    write(tmp_path / "net", "network", *good)
    assert len(sv.load(tmp_path / "net").layers) == 12
