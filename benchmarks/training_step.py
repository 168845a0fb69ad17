"""One training step of 3-16-16-3 with a batch of 32, by one of several implementations.

    python -m benchmarks training_step [rounds]
    python -m benchmarks.sides benchmarks.training_step micrograd|values|objects|compiled [nogc]

The second prints the median seconds of a step: zero_grad, forward, loss, backward, step.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from benchmarks.sides import Options, in_turn, median_time, spread

SIZES = [3, 16, 16, 3]
BATCH = 32
RATE = 0.1


def colours() -> list[list[float]]:
    """The batch: random colours, whose inverses are the targets."""
    random.seed(0)
    return [[random.random() for _ in range(3)] for _ in range(BATCH)]


def micrograd_step() -> Callable[[], object]:
    """micrograd's own MLP, as its README trains it."""
    from micrograd.nn import MLP  # type: ignore[import-untyped]  # it has no types

    model, inputs = MLP(SIZES[0], SIZES[1:]), colours()
    targets = [[1 - c for c in colour] for colour in inputs]

    def step() -> float:
        model.zero_grad()
        outputs = [model(colour) for colour in inputs]
        pairs = [
            (o, t)
            for os, ts in zip(outputs, targets, strict=True)
            for o, t in zip(os, ts, strict=True)
        ]
        loss = sum((o - t) ** 2 for o, t in pairs) * (1.0 / len(pairs))
        loss.backward()
        for parameter in model.parameters():
            parameter.data -= RATE * parameter.grad
        return float(loss.data)

    return step


def values_step() -> Callable[[], object]:
    """The same code, with `Value` taken from scalarviz."""
    import micrograd.nn

    from scalarviz.core.value import Value

    micrograd.nn.Value = Value
    return micrograd_step()


def objects_step() -> Callable[[], object]:
    """The objects of scalarviz: every weight's own forward, backward and step."""
    import numpy as np

    import scalarviz as sv

    net = sv.Network(SIZES, "relu", engine="python", seed=0)
    inputs = np.array(colours())
    loss, optimizer = sv.Loss("mse"), sv.SGD(RATE)
    return lambda: net.train_step(inputs, 1 - inputs, loss, optimizer)


def compiled_step() -> Callable[[], object]:
    """micrograd's MLP made of Values and compiled; they are current after each step."""
    import micrograd.nn
    import numpy as np

    import scalarviz as sv
    from scalarviz.training.network.expression import compile

    micrograd.nn.Value = sv.Value
    model = micrograd.nn.MLP(SIZES[0], SIZES[1:])
    f = compile(lambda *colour: model(colour), SIZES[0])
    inputs = np.array(colours())
    targets, optimizer = 1 - inputs, sv.SGD(RATE)

    def step() -> float:
        f.zero_grad()
        errors = f.forward(inputs) - targets
        f.backward(errors * (2.0 / errors.size))
        f.step(optimizer)
        return float((errors * errors).mean())

    return step


def seconds(make: Callable[[], Callable[[], object]], collector: str = "gc") -> float:
    """The seconds of a step of one of these, with or without Python's garbage collector."""
    sys.setrecursionlimit(100_000)  # micrograd's backward calls itself
    step = make()
    if collector == "nogc":
        gc.disable()
    return median_time(step)


SIDES = {
    "micrograd": partial(seconds, micrograd_step),
    "values": partial(seconds, values_step),
    "objects": partial(seconds, objects_step),
    "compiled": partial(seconds, compiled_step),
}


def report(options: Options) -> None:
    """The objects and Value beside micrograd, with the garbage collector on and off."""
    if not find_spec("micrograd"):
        print("\nmicrograd is not installed: pip install micrograd compares a step with its step")
        return
    print(f"\nOne training step of {'-'.join(map(str, SIZES))}, batch {BATCH}")
    for name, flag in (("on", "gc"), ("off", "nogc")):
        times = in_turn({side: [__name__, side, flag] for side in SIDES}, options.rounds)
        reference = statistics.median(times["micrograd"])
        print(f"  garbage collector {name}")
        for side, found in times.items():
            ratio = reference / statistics.median(found)
            apart = [a / b for a, b in zip(times["micrograd"], found, strict=True)]
            print(
                f"    {side:10} {spread(found):42} 1/{ratio:.1f} of micrograd's time "
                f"(by round: 1/{min(apart):.1f} to 1/{max(apart):.1f})"
            )
