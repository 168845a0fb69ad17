"""A GPT in scalars: one training step on a name, with a plain class, with Value, and compiled.

    python -m benchmarks microgpt
    python -m benchmarks.sides benchmarks.microgpt plain|value|compiled STEPS

The file is docs/guide/microgpt.py: 4,192 numbers, Adam. The result is processor time, the minimum
of STEPS steps on one name, because a machine is shared; a ratio is that of medians over the rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.sides import Options, in_turn

NAME = "tarn"
STEPS = {"plain": 5, "value": 5, "compiled": 300}
FOLDER = Path(__file__).parents[1] / "docs" / "guide"


def stepper(side: str) -> Callable[[], object]:
    """A function that takes one step."""
    sys.path.insert(0, str(FOLDER))
    import microgpt

    import scalarviz as sv

    gpt = microgpt.Gpt(microgpt.Scalar if side == "plain" else sv.Value)
    if side == "compiled":
        return partial(microgpt.Compiled(gpt, [NAME], sv.Adam(0.01)).step, NAME)
    adam = microgpt.Adam(gpt.parameters())

    def step() -> None:
        gpt.loss(NAME).backward()
        adam.step()

    return step


def milliseconds(side: str, steps: str) -> float:
    """The least processor time of some steps, after a first one."""
    step = stepper(side)
    step()
    least = float("inf")
    for _ in range(int(steps)):
        before = time.process_time()
        step()
        least = min(least, time.process_time() - before)
    return least * 1e3


SIDES = {side: partial(milliseconds, side) for side in STEPS}


def report(options: Options) -> None:
    """Milliseconds a step, and how many times as fast as the plain class."""
    print(f"\nA GPT of 4,192 scalars, a step on {NAME!r}: milliseconds, times as fast")
    programs = {side: [__name__, side, str(steps)] for side, steps in STEPS.items()}
    taken = {
        side: statistics.median(each) for side, each in in_turn(programs, options.rounds).items()
    }
    for side, each in taken.items():
        print(f"    {side:8} {each:8.2f} {taken['plain'] / each:8.1f}")
