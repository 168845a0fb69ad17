"""Pictures per second of the texture scene, by a fragment shader and by the cpu engine.

    python -m benchmarks shader
    python -m benchmarks.sides benchmarks.shader shader 256
    python -m benchmarks.sides benchmarks.shader cpu 256

A picture is the network of the texture scene, 12-64-64-64-64-3, evaluated at the centers of all
pixels, from the array of points to the array of colors. The parameters change before each picture.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.cases import texture_session
from benchmarks.sides import Options, in_turn, seconds_of, spread

SIDES_OF_PICTURES = 256, 1024  # pixels along a side
LEAST = 2.5  # seconds that a side is measured
FEWEST = 3  # pictures


def pictures(make: Callable[[Any], Callable[[Any], Any]], side: str) -> dict[str, Any]:
    """The seconds of a picture, which `make(network)` computes."""
    import numpy as np

    from scalarviz import data

    net = texture_session(data.Texture(size=64)).network
    points = data.pixel_centres(int(side), int(side))
    compute = make(net)
    compute(points)
    times: list[float] = []
    while sum(times) < LEAST or len(times) < FEWEST:
        net.bank.value[:] *= 1.0001
        times.append(seconds_of(compute, points))
    found = compute(points)
    rows = slice(None, None, max(1, len(points) // 65536))
    wanted = net.copy("float64").to("cpu")(points[rows])
    error = float(np.abs(found[rows] - wanted).max() / np.abs(wanted).max())
    return {"seconds": statistics.median(times), "error": error}


def shader(side: str) -> dict[str, Any]:
    """By a fragment shader."""
    import scalarviz as sv

    made: list[Any] = []

    def make(net: Any) -> Any:
        made.append(sv.shader(net))
        return made[0]

    found = pictures(make, side)
    return {**found, "renderer": made[0].renderer or f"the cpu, since {made[0].why}"}


def cpu(side: str) -> dict[str, Any]:
    """By the cpu engine."""
    return pictures(lambda net: net.to("cpu"), side)


SIDES = {"shader": shader, "cpu": cpu}


def report(options: Options) -> None:
    """Pictures a second of both, and the largest error relative to float64."""
    print("\nTexture scene, pictures a second by a fragment shader and by the cpu engine")
    for side in SIDES_OF_PICTURES:
        programs = {name: [__name__, name, str(side)] for name in SIDES}
        found = in_turn(programs, options.rounds)
        if side == SIDES_OF_PICTURES[0]:
            print(f"    the shader is computed by {found['shader'][0]['renderer']}")
        for name, each in found.items():
            rates = [1.0 / one["seconds"] for one in each]
            error = max(one["error"] for one in each)
            print(
                f"    {side:4} x {side:<4} {name:6} {spread(rates, 'a second', 1)}, "
                f"relative error {error:.1e}"
            )
