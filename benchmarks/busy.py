"""Training with one thread and with all, on an idle machine and on one with all cores busy.

    python -m benchmarks busy [rounds]
    python -m benchmarks.sides benchmarks.busy trained THREADS

The second prints the mean seconds of a step of 784-128-10, Adam, batch 256, over three seconds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.sides import Options, in_turn

SECONDS = 3.0


def trained(threads: str) -> float:
    import numba

    import scalarviz as sv

    numba.set_num_threads(int(threads))
    rng = np.random.default_rng(0)
    pair = rng.random((4096, 784)), rng.random((4096, 10))
    net = sv.Network([784, 128, 10], "relu", "linear")
    session = sv.Session(net, pair, optimizer=sv.Adam(1e-3), batch=256, engine="cpu")
    session.advance(3, progress=False)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        session.advance(10, progress=False)
        steps += 10
    return (time.perf_counter() - start) / steps


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """Run programs that compute without end."""
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(programs)
    ]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


SIDES = {"trained": trained}


def report(options: Options) -> None:
    """Both machines."""
    cores = os.cpu_count() or 1
    for programs in (0, cores):
        with busy(programs):
            sides = {n: [__name__, "trained", str(n)] for n in (1, cores)}
            times = in_turn({str(n): side for n, side in sides.items()}, options.rounds)
        one, several = statistics.median(times["1"]), statistics.median(times[str(cores)])
        print(
            f"\n784-128-10, batch 256, beside {programs} busy programs: one thread "
            f"{1e3 * one:.2f} ms a step, {cores} threads {1e3 * several:.2f} ms, "
            f"{one / several:.2f} times as fast"
        )
