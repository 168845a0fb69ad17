"""Time for a session to go back one step in a long run, on the cpu engine.

    python -m benchmarks sessions [rounds] [--long]
    python -m benchmarks.sides benchmarks.sessions rgb|texture STEPS

The second prints the seconds of the run and of every `back(1)`: from the end, from the middle, and
from positions all over the run, three times in a row at each. --long trains the texture for 100,000
steps, which takes minutes, instead of 5,000.
"""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from benchmarks.cases import texture_session
from benchmarks.sides import Options, in_turn, seconds_of

PLACES = 10  # beside the end and the middle
IN_A_ROW = 3
LONG = 100_000
STEPS = {"rgb": LONG, "texture": 5_000}


def rgb():
    """3-8-3 learns to invert colours."""
    import scalarviz as sv
    from scalarviz import data

    net = sv.Network([3, 8, 3], "tanh", "sigmoid")
    return sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="cpu")


def texture():
    """12-64-64-64-64-3 learns a picture."""
    from scalarviz import data

    return texture_session(data.Texture())


def times_back(make, steps: str) -> dict[str, object]:
    """Seconds of the run, and of every single step back."""
    count = int(steps)
    session = make()
    session.advance(1)  # loads the kernels
    run = seconds_of(session.advance, count - 1)
    places = np.random.default_rng(0).integers(IN_A_ROW, count, PLACES).tolist()
    back = []
    for place in [count, count // 2, *places]:
        session.seek(place)
        for _ in range(IN_A_ROW):
            back.append(seconds_of(session.back, 1))
    return {"run": run, "back": back}


SIDES = {"rgb": partial(times_back, rgb), "texture": partial(times_back, texture)}


def report(options: Options) -> None:
    """The median and the worst of all steps back."""
    print("\nGoing back one step (asked for: under 100 ms)")
    steps = {name: LONG if options.long else count for name, count in STEPS.items()}
    sides = {name: [__name__, name, str(count)] for name, count in steps.items()}
    for name, found in in_turn(sides, options.rounds).items():
        run = statistics.median(each["run"] for each in found)
        back = [1e3 * seconds for each in found for seconds in each["back"]]
        at_end = [1e3 * seconds for each in found for seconds in each["back"][:IN_A_ROW]]
        print(
            f"    {name:8} run of {steps[name]:7,} steps in {run:6.1f} s; back(1) "
            f"{statistics.median(back):6.2f} ms, at most {max(back):6.2f} ms; "
            f"at the end {statistics.median(at_end):6.2f} ms"
        )
