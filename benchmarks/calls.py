"""Cost of a call for a single step of a small network, cpu engine.

    python -m benchmarks calls [rounds]
    python -m benchmarks.sides benchmarks.calls SIDE BATCH

The second prints the median seconds of processor time of a call of `session.advance(1)`, of
`net.train_step(...)`, of `net(x)`, of forward and backward, of a step by operations, and those of a
step within `session.advance(n)`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.cases import CASES, SMALL
from benchmarks.sides import Options, in_turn, short_spread

if TYPE_CHECKING:
    import scalarviz as sv

CASE = CASES["3-16-16-3"]
BATCHES = (1, 32)
CALLS = 2_000  # in a row, whose time is divided by their number
REPEATS = 10
STEPS = 100_000


def network() -> sv.Network:
    """The network of the case."""
    import scalarviz as sv

    return sv.Network(SMALL, CASE.activation, CASE.output, engine="cpu")


def session(batch: str) -> sv.Session:
    """A session that has taken some steps, so that the kernels are there."""
    import scalarviz as sv

    made = sv.Session(network(), CASE.samples(int(batch)), "mse", sv.SGD(CASE.rate), engine="cpu")
    made.advance(100)
    return made


def advance(batch: str) -> float:
    """A call of `advance(1)`."""
    made = session(batch)
    return median_call(lambda: made.advance(1))


def train_step(batch: str) -> float:
    """A call of `train_step`."""
    import scalarviz as sv

    net, (inputs, targets), optimizer = network(), CASE.samples(int(batch)), sv.SGD(CASE.rate)
    return median_call(lambda: net.train_step(inputs, targets, "mse", optimizer))


def evaluate(batch: str) -> float:
    """A call of the network."""
    net, (inputs, _) = network(), CASE.samples(int(batch))
    return median_call(lambda: net(inputs))


def verbs(batch: str) -> float:
    """A call of forward and one of backward."""
    net, (inputs, targets) = network(), CASE.samples(int(batch))

    def forward_and_backward() -> None:
        net.forward(inputs)
        net.backward(targets)

    return median_call(forward_and_backward)


def operations(batch: str) -> float:
    """A step, operation by operation."""
    made = session(batch)
    count = len(made.operations)
    return median_call(lambda: made.advance(count, "operation"), CALLS // 20)


def steps(batch: str) -> float:
    """A step of a single call that takes many."""
    made = session(batch)
    start = time.process_time()
    made.advance(STEPS)
    return (time.process_time() - start) / STEPS


def median_call(call: Callable[[], object], calls: int = CALLS) -> float:
    """The median seconds of a call, over several rows of calls.

    Of processor time: what else runs on the machine counts less, and nothing here has a thread.
    """
    times = []
    for _ in range(REPEATS + 1):  # the first row warms up
        start = time.process_time()
        for _ in range(calls):
            call()
        times.append((time.process_time() - start) / calls)
    return statistics.median(times[1:])


SIDES = {
    "advance": advance,
    "train_step": train_step,
    "evaluate": evaluate,
    "verbs": verbs,
    "operations": operations,
    "steps": steps,
}
TITLES = {
    "advance": "session.advance(1)",
    "train_step": "net.train_step(...)",
    "evaluate": "net(x)",
    "verbs": "net.forward(x), net.backward(g)",
    "operations": "a step by operations",
    "steps": "a step of session.advance(n)",
}


def report(options: Options) -> None:
    """A call of each kind, for each batch."""
    print(
        "\nA call a step, 3-16-16-3, cpu engine (asked for: 15 us for advance, 10 for train_step)"
    )
    for batch in BATCHES:
        print(f"  batch {batch}")
        sides = {name: [__name__, name, str(batch)] for name in SIDES}
        for name, seconds in in_turn(sides, options.rounds).items():
            print(f"    {TITLES[name]:31} {short_spread(seconds)}")
