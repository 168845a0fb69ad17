"""1,000 networks that learn XNOR, trained together by `sv.replicate`, and one after the other.

    python -m benchmarks replicas [rounds] [--long]
    python -m benchmarks.sides benchmarks.replicas together|singly|success STEPS

The networks are those of an array language: 2-8-8-1, a ReLU whose derivative at 0 is 1, float64,
1,000 steps on all four corners. Of the networks trained one after the other, only a few are
measured, and the time is scaled. `success` prints the fractions of networks whose largest error is
below .5, .25, .1. --long also trains for 10,000 steps.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.sides import Options, answer, in_turn

NETWORKS = 1000
STEPS = 1000
SINGLE_CALLS = 20_000
BOUNDS = (0.5, 0.25, 0.1)
MEASURED = {1000: (0.96, 0.85, 0.68), 10_000: (0.986, 0.986, 0.986)}  # elsewhere, other seeds


def session(seed: int):
    """One of the trainings."""
    import scalarviz as sv
    from scalarviz import data

    init = sv.Init("he_uniform", bias="fan_out")
    net = sv.Network([2, 8, 8, 1], "relu_right", init=init, seed=seed, dtype="float64")
    loss = sv.Loss("mse", factor=0.5, mean="samples")
    return sv.Session(net, data.Xnor(), loss, sv.SGD(0.01), engine="cpu", seed=seed)


def replicas():
    """All of them as one."""
    import scalarviz as sv

    return sv.replicate(session(0), range(NETWORKS))


def together() -> list[float]:
    """Seconds to make all networks, and to train them."""
    replicas().advance(1)  # loads the kernels
    start = time.perf_counter()
    made = replicas()
    middle = time.perf_counter()
    made.advance(STEPS)
    return [middle - start, time.perf_counter() - middle]


def singly() -> float:
    """Seconds of single calls, for as many as all networks take; making them is not counted."""
    session(0).advance(1)
    seconds = 0.0
    for seed in range(SINGLE_CALLS // STEPS):
        one = session(seed)
        start = time.perf_counter()
        for _ in range(STEPS):
            one.advance(1)
        seconds += time.perf_counter() - start
    return seconds * NETWORKS * STEPS / SINGLE_CALLS


def success(steps: str) -> list[float]:
    """The shares of networks whose largest error is below each bound, after so many steps."""
    from scalarviz import data

    inputs, targets = data.Xnor().training
    trained = replicas()
    trained.advance(int(steps))
    errors = abs(trained.outputs(inputs) - targets).max(axis=(1, 2))
    return [float(np.mean(errors < bound)) for bound in BOUNDS]


SIDES = {"together": together, "singly": singly, "success": success}


def report(options: Options) -> None:
    """The ratio, and how many learn it."""
    print(f"\n{NETWORKS:,} networks 2-8-8-1, XNOR, {STEPS:,} steps each, float64")
    times = in_turn({side: [__name__, side] for side in ("together", "singly")}, options.rounds)
    making, training = map(statistics.median, zip(*times["together"], strict=True))
    single = statistics.median(times["singly"])
    print(f"    one after the other    {single:7.2f} s, scaled from {SINGLE_CALLS:,} calls")
    print(f"    sv.replicate           {training:7.2f} s, 1/{single / training:.1f} of that")
    both = making + training
    print(f"    making them            {making:7.2f} s, {making / training:.2f} of the training")
    print(f"    both                   {both:7.2f} s, 1/{single / both:.1f} of that")
    print("    (asked for: at least 50 times faster, made in less time than trained)")
    for steps in MEASURED if options.long else [STEPS]:
        shares = answer([__name__, "success", str(steps)])
        print(f"  after {steps:,} steps, share of networks whose largest error is")
        for bound, share, known in zip(BOUNDS, shares, MEASURED[steps], strict=True):
            print(f"    below {bound:<4}  {100 * share:5.1f}%  (a prototype: {100 * known:.1f}%)")
