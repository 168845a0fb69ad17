"""Batched training steps: the cpu engine compared with PyTorch and JAX, if installed.

    python -m benchmarks batched_step [rounds]
    python -m benchmarks.sides benchmarks.batched_step cpu|torch|jax|jax_loop NETWORK BATCH THREADS

The second prints the median seconds of a step: zero_grad, forward, loss, backward, step. The cpu
engine runs many steps per call, as in training; so does jax_loop, while torch and jax run one.

XLA uses one thread per visible core, whatever its flags (xla_cpu_multi_thread_eigen has no effect).
Therefore, with fewer threads than cores, every side is restricted to that number of cores, if the
system supports it (Linux); elsewhere JAX is compared only on all cores.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.cases import CASES, Case, multiplications, steps_a_call
from benchmarks.rivals import jax_loop, jax_step, torch_step
from benchmarks.sides import Options, Side, in_turn, median_time, print_beside

NAMES = {
    "cpu": "cpu engine",
    "torch": "PyTorch",
    "jax": "JAX, jitted step",
    "jax_loop": "JAX, jitted loop",
}
Make = Callable[[Case, int, int], Callable[[], object]]


def cpu_step(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """The cpu engine, `steps_a_call` steps at once."""
    import numba

    import scalarviz as sv

    numba.set_num_threads(threads)
    net = sv.Network(list(case.sizes), case.activation, case.output, engine="cpu")
    inputs, targets = case.samples(batch)
    loss, optimizer = sv.Loss("mse"), getattr(sv, case.optimizer)(case.rate)
    steps = steps_of(case, batch)
    return lambda: net.train(inputs, targets, loss, optimizer, steps=steps)


def steps_of(case: Case, batch: int) -> int:
    """How many steps a call of the cpu engine takes."""
    return steps_a_call(batch, multiplications(case.sizes, batch))


def one(case: Case, batch: int) -> int:
    """How many steps a call takes on the other sides."""
    return 1


def side(make: Make, steps: Callable[[Case, int], int] = one) -> Side:
    """A side of this benchmark: the seconds of a step, given network, batch and threads."""

    def seconds(name: str, batch: str, threads: str) -> float:
        keep_on_cores(int(threads))
        step = make(CASES[name], int(batch), int(threads))
        return median_time(step, warm_up=20, least_seconds=0.4) / steps(CASES[name], int(batch))

    return seconds


def keep_on_cores(count: int) -> None:
    """Let this process run on so many cores only, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def matrix_rate(name: str, batch: str, threads: str) -> float:
    """The machine's own rate for a large float32 matrix product, in operations a second."""
    keep_on_cores(int(threads))
    a = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    return 2 * 1024**3 / median_time(lambda: a @ a, least_seconds=0.5)


SIDES = {
    "matrix": matrix_rate,
    "cpu": side(cpu_step, steps_of),
    "torch": side(torch_step),
    "jax": side(jax_step),
    "jax_loop": side(jax_loop, steps_of),
}


def installed(threads: int) -> list[str]:
    """The sides that can run here."""
    sides = ["cpu"]
    if find_spec("torch"):
        sides.append("torch")
    if find_spec("jax") and (threads == os.cpu_count() or hasattr(os, "sched_setaffinity")):
        sides += ["jax", "jax_loop"]
    return sides


def report(options: Options) -> None:
    """Every case, on one thread and on all."""
    for package, name in (("torch", "PyTorch"), ("jax", "JAX")):
        if not find_spec(package):
            print(f"\n{name} is not installed: pip install {package} compares the cpu engine to it")
    for threads in sorted({1, os.cpu_count() or 1}):
        product = {"matrix": [__name__, "matrix", "-", "1", str(threads)]}
        matrix = in_turn(product, 3, OPENBLAS_NUM_THREADS=str(threads))["matrix"]
        rate = statistics.median(matrix)
        print(f"\nWhole training steps, {threads} threads; matrix product {rate / 1e9:.0f} GFLOP/s")
        for name, case in CASES.items():
            for batch in case.batches:
                compare(name, batch, threads, rate, options.rounds)


def compare(name: str, batch: int, threads: int, rate: float, rounds: int) -> None:
    """The sides in turn, a line for each."""
    arguments = [name, str(batch), str(threads)]
    times = in_turn({side: [__name__, side, *arguments] for side in installed(threads)}, rounds)
    speed = multiplications(CASES[name].sizes, batch) / statistics.median(times["cpu"])
    print(f"  {name}, batch {batch}")
    share = f"{speed / 1e9:.1f} GFLOP/s, {100 * speed / rate:.0f}% of the matrix product"
    print_beside(NAMES, times, share)
