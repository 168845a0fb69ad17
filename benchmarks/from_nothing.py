"""Ten steps of six architectures from an empty folder of kernels, each in a separate process.

    python -m benchmarks from_nothing [rounds]
    python -m benchmarks.sides benchmarks.from_nothing SIDE

The second prints, for one architecture, seconds of processor time with an empty folder of kernels,
of whole seconds too, then with the folder that this left, and with the kernels that `python -m
docs.build_kernels` has compiled for a wheel, if it has. Other work of the machine and its clock
change all of these: so each is also given as a multiple of the processor time in which numba alone
compiles four functions that never change.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial

from benchmarks.sides import Options, in_turn, seconds_of
from docs.build_kernels import FOLDER

FOUR = """
import numba, numpy as np
def sums(a, b):
    for i in range(len(a)):
        b[i % 8] += a[i] * np.tanh(a[i])
def product(a, b):
    for i in range(8):
        for j in range(8):
            for k in range(8):
                b[8 * i + j] += a[8 * i + k] * a[8 * k + j]
def ordered(a, b):
    b[:] = np.sort(a)[::-1]
def windows(a, b):
    for i in range(1, len(a) - 1):
        b[i] = max(a[i - 1], a[i], a[i + 1]) - np.exp(-a[i])
for function in (sums, product, ordered, windows):
    numba.njit(function, fastmath=True)(np.ones(64, np.float32), np.ones(64, np.float32))
"""
STEPS = """
import numpy as np, scalarviz as sv
from pathlib import Path
from scalarviz.engines.codegen import machine_code
machine_code.FOLDER = Path({folder!r})
rng = np.random.default_rng(0)
{session}
s.advance(10)
"""
TABLE = (
    "s = sv.Session({}, (rng.random((64, {})), rng.random((64, {}))), {}, engine='cpu', batch=8)"
)
ARCHITECTURES = {
    "rgb: tanh, sigmoid, mse, SGD": "s = sv.Session(sv.Network([3, 8, 3], 'tanh', 'sigmoid'), "
    "sv.data.Rgb('invert'), 'mse', sv.SGD(0.5), batch=8, engine='cpu')",
    "relu, Adam": TABLE.format("sv.Network([4, 16, 3], 'relu')", 4, 3, "'mse', sv.Adam(0.01)"),
    "gelu, Adam": TABLE.format("sv.Network([4, 16, 3], 'gelu')", 4, 3, "'mse', sv.Adam(0.01)"),
    "convolution, batch norm": TABLE.format(
        "sv.Network([sv.Conv2d((1, 8, 8), 4), sv.BatchNorm((4, 6, 6)), sv.Dense(144, 3, 'relu')])",
        64, 3, "'mse', sv.SGD(0.1)",
    ),
    "tanh, huber, float64": TABLE.format(
        "sv.Network([4, 16, 3], 'tanh', 'linear', dtype='float64')", 4, 3, "'huber', sv.SGD(0.1)"
    ),
    "512 wide": TABLE.format("sv.Network([12, 512, 512, 3], 'relu')", 12, 3, "'mse', sv.SGD(0.1)"),
}  # fmt: skip
COLUMNS = "four functions", "empty", "whole", "warm", "shipped"


def seconds_for(name: str) -> list[float]:
    """Seconds of an architecture, by column."""
    run = partial(run_for, name)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        four = processor_time(["-c", FOUR], folder)
        empty: list[float] = []
        whole = seconds_of(lambda: empty.append(run(folder)))
        shipped = run(other, str(FOLDER)) if list(FOLDER.glob("*.zip")) else float("nan")
        return [four, *empty, whole, run(folder), shipped]


def run_for(name: str, folder: str, shipped: str = "") -> float:
    """Seconds of processor time of ten steps, with a folder of kernels and of shipped ones."""
    program = STEPS.format(folder=shipped, session=ARCHITECTURES[name])
    return processor_time(["-c", program], folder)


def processor_time(arguments: Sequence[str], folder: str) -> float:
    """Seconds of processor time of one program, with its children, that works in a folder."""
    here = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"SCALARVIZ_CACHE_DIR": folder, "PYTHONPATH": here}
    before = time_of_children()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
    )
    return time_of_children() - before


def time_of_children() -> float:
    """Seconds of processor time of all children that have ended, and of theirs."""
    import resource  # Windows has none

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SIDES = {name: partial(seconds_for, name) for name in ARCHITECTURES}


def report(options: Options) -> None:
    """Seconds and multiples for each architecture."""
    print("\nTen steps from an empty folder of kernels: seconds of processor time, and whole")
    print(f"    {'':34}" + "".join(f"{each:>16}" for each in COLUMNS))
    times = in_turn({name: [__name__, name] for name in ARCHITECTURES}, options.rounds)
    for name, rounds in times.items():
        middle = [statistics.median(column) for column in zip(*rounds, strict=True)]
        multiples = [f"{seconds:7.2f} ({seconds / middle[0]:4.1f}x)" for seconds in middle]
        print(f"    {name:34}" + "".join(f"{each:>16}" for each in multiples), flush=True)
