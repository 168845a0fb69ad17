"""One whole training step on a batch: the cpu engine beside PyTorch eager.

    python -m tests.benchmarks.batched_step cpu|torch NETWORK BATCH THREADS

prints the median seconds of a step: zero_grad, forward, loss, backward, step. The cpu engine takes
many steps a call, as it does when it trains. PyTorch comes with the extra `bench`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.benchmarks.sides import median_time


@dataclass(frozen=True)
class Case:
    """A network and how it is trained."""

    sizes: Sequence[int]
    activation: str
    output: str
    optimizer: str
    rate: float


CASES = {
    "3-16-16-3": Case([3, 16, 16, 3], "relu", "linear", "SGD", 0.1),
    "3-16-16-3 tanh": Case([3, 16, 16, 3], "tanh", "linear", "SGD", 0.1),
    "12-64x4-3": Case([12, 64, 64, 64, 64, 3], "leaky_relu", "sigmoid", "Adam", 1e-3),
    "12-64x4-3 tanh": Case([12, 64, 64, 64, 64, 3], "tanh", "sigmoid", "Adam", 1e-3),
}
BATCHES = {"3-16-16-3": (1, 32, 1024), "3-16-16-3 tanh": (1, 32, 1024)}


def multiplications(case: Case, batch: int) -> int:
    """Additions and multiplications of the matrix products of one step."""
    products = [a * b for a, b in zip(case.sizes, case.sizes[1:], strict=False)]
    return 2 * batch * (3 * sum(products) - products[0])  # no gradient by the first inputs


def samples(case: Case, batch: int) -> tuple[Any, Any]:
    """Random inputs and targets in float32."""
    rng = np.random.default_rng(0)
    inputs = rng.random((batch, case.sizes[0]), dtype=np.float32)
    return inputs, rng.random((batch, case.sizes[-1]), dtype=np.float32)


def cpu_step(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """The cpu engine, `steps_a_call(batch)` steps at once."""
    import numba

    import scalarviz as sv

    numba.set_num_threads(threads)
    net = sv.Network(list(case.sizes), case.activation, case.output, engine="cpu")
    inputs, targets = samples(case, batch)
    loss, optimizer = sv.Loss("mse"), getattr(sv, case.optimizer)(case.rate)
    steps = steps_a_call(batch)
    return lambda: net.train(inputs, targets, loss, optimizer, steps=steps)


def steps_a_call(batch: int) -> int:
    """Enough that the call itself does not count."""
    return max(1, 4096 // batch)


def torch_step(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """PyTorch eager, as its tutorials train."""
    import torch

    torch.set_num_threads(threads)
    kinds = {
        "relu": torch.nn.ReLU,
        "leaky_relu": torch.nn.LeakyReLU,
        "tanh": torch.nn.Tanh,
        "sigmoid": torch.nn.Sigmoid,
        "linear": torch.nn.Identity,
    }
    layers: list[Any] = []
    last = len(case.sizes) - 2
    for i, (a, b) in enumerate(zip(case.sizes, case.sizes[1:], strict=False)):
        layers += [torch.nn.Linear(a, b), kinds[case.output if i == last else case.activation]()]
    model = torch.nn.Sequential(*layers)
    optimizer = getattr(torch.optim, case.optimizer)(model.parameters(), lr=case.rate)
    inputs, targets = map(torch.from_numpy, samples(case, batch))
    criterion = torch.nn.MSELoss()

    def step() -> float:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


SIDES = {"cpu": cpu_step, "torch": torch_step}


def matrix_rate(threads: int) -> float:
    """The machine's own rate for a large float32 matrix product, in operations a second."""
    a = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    return 2 * 1024**3 / median_time(lambda: a @ a, least_seconds=0.5)


if __name__ == "__main__":
    side, name, batch, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if side == "matrix":
        print(json.dumps(matrix_rate(threads)))
    else:
        step = SIDES[side](CASES[name], batch, threads)
        seconds = median_time(step, warm_up=20, least_seconds=1.0)
        print(json.dumps(seconds / (steps_a_call(batch) if side == "cpu" else 1)))
