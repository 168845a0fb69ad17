"""A GPT of 4,192 weights, one training step on a name: in scalars, and as the layers of the scene.

    python -m benchmarks microgpt
    python -m benchmarks.sides benchmarks.microgpt plain|value|compiled|layers CALLS

The scalars are those of docs/guide/microgpt.py: a plain class, Value, and compiled; the layers,
those of scenes/names.py, on one core. The result is processor time of a step, the minimum of CALLS
calls, because a machine is shared; a ratio is that of medians over the rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.batched_step import keep_on_cores
from benchmarks.sides import Options, in_turn

if TYPE_CHECKING:
    import scalarviz as sv

NAME = "tarn"
CALLS = {"plain": 5, "value": 5, "compiled": 300, "layers": 300}
STEPS = {"layers": 256}  # of a call; else 1
FOLDER = Path(__file__).parents[1] / "docs" / "guide"


def stepper(side: str) -> Callable[[], object]:
    """A function that takes the steps of a call."""
    import scalarviz as sv

    if side == "layers":
        keep_on_cores(1)
        return partial(session().advance, STEPS[side])
    sys.path.insert(0, str(FOLDER))
    import microgpt

    gpt = microgpt.Gpt(microgpt.Scalar if side == "plain" else sv.Value)
    if side == "compiled":
        return partial(microgpt.Compiled(gpt, [NAME], sv.Adam(0.01)).step, NAME)
    adam = microgpt.Adam(gpt.parameters())

    def step() -> None:
        gpt.loss(NAME).backward()
        adam.step()

    return step


def session() -> sv.Session:
    """The training of the layers, on one name again and again."""
    from scalarviz.scenes.names import gpt

    import scalarviz as sv

    name, adam = sv.data.Names(names=[NAME], held_out=0), sv.Adam(0.01, 0.85, 0.99)
    return sv.Session(gpt(27, 16), name, "negative_log_likelihood", adam, batch=1, engine="cpu")


def milliseconds(side: str, calls: str) -> float:
    """The least processor time of a step in some calls, after a first one."""
    take_steps = stepper(side)
    take_steps()
    least = float("inf")
    for _ in range(int(calls)):
        before = time.process_time()
        take_steps()
        least = min(least, time.process_time() - before)
    return least * 1e3 / STEPS.get(side, 1)


SIDES = {side: partial(milliseconds, side) for side in CALLS}


def report(options: Options) -> None:
    """Milliseconds a step, and how many times as fast as the plain class."""
    print(f"\nA GPT of 4,192 weights, a step on {NAME!r}: milliseconds, times as fast")
    programs = {side: [__name__, side, str(calls)] for side, calls in CALLS.items()}
    taken = {
        side: statistics.median(each) for side, each in in_turn(programs, options.rounds).items()
    }
    for side, each in taken.items():
        print(f"    {side:8} {each:8.4f} {taken['plain'] / each:8.1f}")
