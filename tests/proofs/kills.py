"""Kills a process that saves repeatedly, at random moments, and checks the files it left.

    python -m tests.proofs.kills KIND SEED COUNT FOLDER

The last line is JSON: how many different files were found, and how many kills left an unfinished
file beside it, which is hidden.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import data

WIDTH = 160  # of a square layer
LATEST = 0.06  # seconds after which a kill comes
VERSIONS = 3


def network(number: int) -> sv.Network:
    """A network all of whose weights are one number."""
    net = sv.Network([WIDTH, WIDTH], seed=number)
    net.bank.value[:] = number
    return net


def session(number: int) -> sv.Session:
    rng = np.random.default_rng(0)
    pair = data.Arrays(rng.random((50, WIDTH)), rng.random((50, WIDTH)))
    return sv.Session(network(number), pair, engine="python", seed=number)


def one_number(values: Any) -> int:
    """The number that all of them are."""
    (number,) = set(np.asarray(values).ravel().tolist())
    return int(number)


def arrays_of(path: Path) -> list[int]:
    with np.load(path) as file:
        return [one_number(file[name]) for name in file.files if file[name].dtype == np.float32]


# What is saved, how, and which number is found in the file.
Kind = tuple[Callable[[int], Any], Callable[[Any, Path], None], Callable[[Path], int]]
KINDS: dict[str, Kind] = {
    "network": (
        network,
        lambda net, path: net.save(path),
        lambda path: one_number(sv.load(path).bank.value),
    ),
    "run": (
        session,
        lambda s, path: s.save(path),
        lambda path: one_number(sv.Session.load(path).network.bank.value),
    ),
    "onnx": (
        network,
        lambda net, path: sv.onnx.save(net, path),
        lambda path: one_number(sv.onnx.load(path).bank.value),
    ),
    "npz": (
        network,
        lambda net, path: net.export(path),
        lambda path: one_number(arrays_of(path)),
    ),
}  # fmt: skip


def main(kind: str, seed: str, count: str, folder: str) -> None:
    make, save, read = KINDS[kind]
    versions = [make(number) for number in range(VERSIONS)]
    path = Path(folder) / f"file.{kind if kind in ('onnx', 'npz') else 'safetensors'}"
    chance = random.Random(int(seed))
    save(versions[0], path)
    read(path)
    found, litter = [], 0
    for _ in range(int(count)):
        child = os.fork()
        if not child:
            for i in range(10**9):
                save(versions[1 + i % (VERSIONS - 1)], path)
        time.sleep(chance.uniform(0.0, LATEST))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for part in Path(folder).glob(f".{path.name}.*.part"):
            part.unlink()
            litter += 1
        number = read(path)
        assert number in range(VERSIONS)
        found.append(number)
        save(versions[0], path)
        assert read(path) == 0
        assert os.listdir(folder) == [path.name], os.listdir(folder)
    print(json.dumps({"found": sorted(set(found)), "litter": litter}))


if __name__ == "__main__":
    main(*sys.argv[1:])
