"""Cost of conditions in training on the cpu engine: processor time of a step, microseconds.

python -m benchmarks conditions [rounds]
python -m benchmarks.sides benchmarks.conditions rgb|64|128
"""

from __future__ import annotations

import statistics
import time
from functools import partial

from benchmarks.sides import Options, in_turn

CONDITIONS = {
    "none": (),
    "loss": ("loss < 1e-9",),
    "weight": ("weight 7 > 50",),
    "grad norm": ("grad norm > 1000",),
    "norm rises": ("grad norm rises 1e9x",),
    "five": ("loss < 1e-9", "weight 7 > 50", "grad norm > 1000", "not finite", "gradient 3 > 99"),
    "dead neuron": ("a neuron is dead",),
}
HIDDEN = {"rgb": (8,), "64": (64, 64, 64), "128": (128, 128, 128, 128)}
SECONDS = 0.3  # that each is measured for, three times


def step_times(hidden: tuple[int, ...]) -> dict[str, float]:
    """Microseconds a step: the least of three, so that other programs count less."""
    import scalarviz as sv
    from scalarviz import data

    found: dict[str, float] = {}
    for name, conditions in CONDITIONS.items():
        net = sv.Network([3, *hidden, 3], "tanh", "sigmoid", seed=0)
        s = sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="cpu", seed=0)
        s.advance(300, progress=False)
        if conditions:
            s.stop_when(*conditions)
        s.advance(300, progress=False)
        times = []
        for _ in range(3):
            start, first = time.thread_time(), s.step_index
            while time.thread_time() < start + SECONDS:
                s.advance(200, progress=False)
            times.append((time.thread_time() - start) / (s.step_index - first))
        found[name] = 1e6 * min(times)
    return found


SIDES = {name: partial(step_times, hidden) for name, hidden in HIDDEN.items()}


def report(options: Options) -> None:
    """Each condition's medians, for each network."""
    print("\nA step with conditions, processor time in microseconds")
    print(f"    {'3-...-3':12}" + "".join(f"{name:>12}" for name in CONDITIONS))
    programs = {name: [__name__, name] for name in SIDES}
    for name, found in in_turn(programs, options.rounds).items():
        medians = [statistics.median(each[condition] for each in found) for condition in CONDITIONS]
        sizes = "-".join(map(str, HIDDEN[name]))
        print(f"    {sizes:12}" + "".join(f"{each:12.2f}" for each in medians))
