"""Digits: seconds to 97% held-out accuracy, and the time of a step compared with PyTorch.

    python -m benchmarks digits [rounds] [--long]
    python -m benchmarks.sides benchmarks.digits learn SEED
    python -m benchmarks.sides benchmarks.digits cpu|torch BATCH THREADS

Network and training are those of the scene: two convolutions with 8 and 16 kernels, each followed
by pooling, and a layer of ten, on pictures of 8 x 8; Adam. `learn` prints seconds, steps and the
accuracy, evaluated every 20 steps; evaluation counts, compilation does not. The third prints the
median seconds of a step: zero_grad, forward, loss, backward, step. The cpu engine runs many steps
per call, as in training, PyTorch one. --long uses five seeds instead of three.
"""

from __future__ import annotations

import os
import runpy
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.batched_step import keep_on_cores
from benchmarks.cases import steps_a_call
from benchmarks.rivals import step_of_torch
from benchmarks.sides import Options, answer, in_turn, median_time, print_beside

GOAL, LIMIT = 0.97, 20.0  # of the held-out digits, and seconds
WANTED = {1: 3.0, 64: 1.2}  # times as fast as PyTorch, by batch
EVERY, MOST = 20, 3000  # steps
NAMES = {"cpu": "cpu engine", "torch": "PyTorch"}


def session(seed: int = 0) -> Any:
    """The training of the scene."""
    scene = Path(__file__).parents[1] / "scenes" / "digits.py"
    return runpy.run_path(str(scene))["scene"](engine="cpu", seed=seed).session


def learn(seed: str) -> dict[str, float]:
    """How long it takes until enough of the held-out digits are told right."""
    training = session(int(seed))
    inputs, targets = training.data.held_out
    labels = targets.argmax(axis=1)

    def right() -> float:
        return float(np.mean(training.network(inputs).argmax(axis=1) == labels))

    training.copy().advance(2)  # compiles
    right()
    start, share = time.perf_counter(), 0.0
    while share < GOAL and training.step_index < MOST:
        training.advance(EVERY)
        share = right()
    return {"seconds": time.perf_counter() - start, "steps": training.step_index, "right": share}


def samples(batch: int) -> tuple[Any, Any]:
    """Random pictures, and random digits as rows of ten."""
    rng = np.random.default_rng(0)
    inputs = rng.random((batch, 64), dtype=np.float32)
    return inputs, np.eye(10, dtype=np.float32)[rng.integers(0, 10, batch)]


def cpu_step(batch: int, threads: int) -> Callable[[], object]:
    """The cpu engine, `steps_a_call(batch)` steps at once."""
    import numba

    numba.set_num_threads(threads)
    training = session()
    network, loss = training.network.copy().to("cpu"), training.trainer.loss
    inputs, targets = samples(batch)
    optimizer, steps = training.optimizer, steps_a_call(batch)
    return lambda: network.train(inputs, targets, loss, optimizer, steps=steps)


def torch_step(batch: int, threads: int) -> Callable[[], object]:
    """PyTorch eager, a call a step."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    pictures, wanted = samples(batch)
    inputs = torch.from_numpy(pictures).reshape(batch, 1, 8, 8)
    labels = torch.from_numpy(wanted.argmax(axis=1))
    return step_of_torch(model, optimizer, nn.CrossEntropyLoss(), inputs, labels)


def cpu(batch: str, threads: str) -> float:
    """The seconds of a step of the cpu engine."""
    keep_on_cores(int(threads))
    step = cpu_step(int(batch), int(threads))
    return median_time(step, warm_up=5, least_seconds=1.0) / steps_a_call(int(batch))


def torch(batch: str, threads: str) -> float:
    """The seconds of a step of PyTorch."""
    keep_on_cores(int(threads))
    return median_time(torch_step(int(batch), int(threads)), warm_up=50, least_seconds=1.0)


SIDES = {"learn": learn, "cpu": cpu, "torch": torch}


def report(options: Options) -> None:
    """How fast digits are learned, and a step of either side."""
    if not find_spec("sklearn"):
        print("\nscikit-learn is not installed")
        return
    seeds = range(5 if options.long else 3)
    found = [answer([__name__, "learn", str(seed)]) for seed in seeds]
    slowest = max(each["seconds"] for each in found)
    enough = all(each["right"] >= GOAL for each in found) and slowest < LIMIT
    print(f"\nDigits of 8 x 8: {GOAL:.0%} of the held-out ones, on all cores")
    for seed, each in zip(seeds, found, strict=True):
        print(
            f"    seed {seed}  {each['seconds']:6.2f} s, {each['steps']:5,} steps, "
            f"{each['right']:.1%} right"
        )
    print(f"    wanted: under {LIMIT:.0f} s: {'met' if enough else 'MISSED'}")
    compare(options.rounds)


def compare(rounds: int) -> None:
    """A step of both sides in turn, on one thread and on all."""
    sides = ["cpu", "torch"] if find_spec("torch") else ["cpu"]
    if len(sides) == 1:
        print("\nPyTorch is not installed: pip install torch compares the cpu engine to it")
    for threads in sorted({1, os.cpu_count() or 1}):
        print(f"\nOne training step on digits, {threads} threads")
        for batch, wanted in WANTED.items():
            programs = {side: [__name__, side, str(batch), str(threads)] for side in sides}
            times = in_turn(programs, rounds)
            print(f"  batch {batch}")
            print_beside(NAMES, times, more=f", wanted {wanted:g}")
