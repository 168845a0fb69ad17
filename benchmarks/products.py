"""The three matrix products of a wide layer compared with numpy, for 64 to 2,048 neurons.

    python -m benchmarks products [rounds]
    python -m benchmarks.sides benchmarks.products ours|numpy WIDTH SAMPLES

The second prints billions of operations per second, on one core in float32, of forward, of the
weight gradients, and of the input gradients, for which W is transposed once. The cpu engine
processes 128 samples at a time, stored side by side; numpy's BLAS processes all of them in one
product.
"""

from __future__ import annotations

import statistics
import types

import numpy as np

from benchmarks.sides import Options, in_turn, median_time
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.codegen.kernel_units import HEAD, UnitWriter, joined
from scalarviz.engines.cpu import wide_products
from scalarviz.engines.cpu.products import LONGEST, TILE

NAMES = "forward", "weights", "inputs"
WIDTHS = 64, 128, 256, 512, 1024, 2048
SAMPLES = 256
CALLS = """
@numba.njit(fastmath=REORDERED, **OPTIONS)
def forward(w, x, panels, grad, s, tiles, n, stride):
    for k in range(tiles):
        at, to = k * s * stride, (tiles + k) * s * stride
        affine_by_blocks(w, ZERO, s, w[:0], ZERO, x, x, at, to, s, s, n, stride)


@numba.njit(fastmath=REORDERED, **OPTIONS)
def weights(w, x, panels, grad, s, tiles, n, stride):
    for k in range(tiles):
        at, to = k * s * stride, (tiles + k) * s * stride
        wide_outer(grad, ZERO, x, x, at, to, s, s, n, stride)


@numba.njit(fastmath=REORDERED, **OPTIONS)
def inputs(w, x, panels, grad, s, tiles, n, stride):
    group = group_of_rows(w)
    fill_panels(panels, w, ZERO, s, s, ZERO, (s + group - ONE) // group)
    for k in range(tiles):
        at, to = k * s * stride, (tiles + k) * s * stride
        transposed_affine(panels, w, ZERO, x, to, at, s, s, s, n, stride)
"""


def module() -> types.ModuleType:
    """The products of the engine, compiled as its kernels are."""
    writer = UnitWriter("float32", None)
    for each in ("affine_by_blocks", "wide_outer", "fill_panels", "transposed_affine"):
        writer.name(getattr(wide_products, each))
    made = types.ModuleType("products")
    head = HEAD.format(versions=versions(), dtype="float32")
    exec(joined([head, *writer.parts(), CALLS]), vars(made))
    return made


def ours(width: str, samples: str) -> list[float]:
    """The cpu engine's, in operations a second."""
    s, count, tile, stride = int(width), int(samples), int(TILE), int(LONGEST)
    made, rng = module(), np.random.default_rng(0)
    tiles = count // tile
    w, grad = rng.random(s * s, np.float32), np.zeros(s * s, np.float32)
    panels = np.zeros((s + 2) * (s + 16), np.float32)
    x = rng.random(2 * tiles * s * stride, np.float32)  # and the results
    sizes = [np.uint64(each) for each in (s, tiles, tile, stride)]
    times = [
        median_time(
            lambda name=name: getattr(made, name)(w, x, panels, grad, *sizes), least_seconds=0.3
        )
        for name in NAMES
    ]
    return [2 * s * s * count / time for time in times]


def numpys(width: str, samples: str) -> list[float]:
    """Those of numpy's BLAS, of the same shape."""
    s, count, rng = int(width), int(samples), np.random.default_rng(0)
    w, x, g = (rng.random(shape, np.float32) for shape in ((s, s), (s, count), (s, count)))
    calls = (lambda: w @ x), (lambda: g @ x.T), (lambda: w.T @ g)
    return [2 * s * s * count / median_time(call, least_seconds=0.3) for call in calls]


SIDES = {"ours": ours, "numpy": numpys}


def report(chosen: Options) -> None:
    """GF/s of both, and their ratio."""
    print(f"{SAMPLES} samples, GF/s of the engine / of numpy (ratio): {', '.join(NAMES)}")
    for width in WIDTHS:
        sides = {name: (__name__, name, str(width), str(SAMPLES)) for name in SIDES}
        found = in_turn(sides, chosen.rounds, OPENBLAS_NUM_THREADS="1")
        cells = []
        for k in range(len(NAMES)):
            here, there = (statistics.median(row[k] for row in found[name]) / 1e9 for name in sides)
            cells.append(f"{here:6.0f} / {there:4.0f} ({here / there:4.2f})")
        print(f"{width:5}", *cells, sep="  ")
