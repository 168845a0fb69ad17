"""Outputs of a network: `net(x)` of 784-128-10 compared with PyTorch and JAX, if installed.

    python -m benchmarks evaluate [rounds]
    python -m benchmarks.sides benchmarks.evaluate cpu|torch|jax 784-128-10 BATCH THREADS

The second prints the median seconds of a call. The inputs are float32 on all sides, PyTorch stores
nothing for a backward pass, and JAX is jitted.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from benchmarks.batched_step import installed, side
from benchmarks.cases import Case
from benchmarks.rivals import jax_outputs, torch_outputs
from benchmarks.sides import Options, in_turn, print_beside

CASES = {"784-128-10": Case([784, 128, 10], "relu", "linear", "SGD", 0.01, (1, 1000))}
NAMES = {"cpu": "cpu engine", "torch": "PyTorch", "jax": "JAX, jitted"}


def cpu_outputs(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """The cpu engine."""
    import numba

    import scalarviz as sv

    numba.set_num_threads(threads)
    net = sv.Network(list(case.sizes), case.activation, case.output, engine="cpu")
    inputs, _ = case.samples(batch)
    return lambda: net(inputs)


SIDES = {
    "cpu": side(cpu_outputs, cases=CASES),
    "torch": side(torch_outputs, cases=CASES),
    "jax": side(jax_outputs, cases=CASES),
}


def report(options: Options) -> None:
    """One sample and many, on one thread and on all."""
    for threads in sorted({1, os.cpu_count() or 1}):
        ((network, case),) = CASES.items()
        print(f"\nnet(x), {network}, {threads} threads")
        for batch in case.batches:
            print(f"  {batch} samples" if batch > 1 else "  1 sample")
            names = [name for name in installed(threads) if name in SIDES]
            sides = {name: [__name__, name, network, str(batch), str(threads)] for name in names}
            print_beside(NAMES, in_turn(sides, options.rounds))
