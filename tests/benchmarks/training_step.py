"""One training step of 3-16-16-3 with a batch of 32, in one of several ways.

    python -m tests.benchmarks.training_step micrograd|values|objects|compiled [nogc]

prints the median seconds of a step: zero_grad, forward, loss, backward, step.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from collections.abc import Callable

from tests.benchmarks.sides import median_time

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

    from scalarviz.value import Value

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
    from scalarviz.expression import compile

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


SIDES = {
    "micrograd": micrograd_step,
    "values": values_step,
    "objects": objects_step,
    "compiled": compiled_step,
}

if __name__ == "__main__":
    sys.setrecursionlimit(100_000)  # micrograd's backward calls itself
    step = SIDES[sys.argv[1]]()
    if "nogc" in sys.argv:
        gc.disable()
    print(json.dumps(median_time(step)))
