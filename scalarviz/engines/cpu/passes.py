"""The passes of a program: ranges of operations that each chunk runs without waiting for others.

A program without statistics of the whole batch has one pass. An operation that needs such
statistics, as batch norm, waits for all chunks, so a new pass begins with it, both forward and
backward. A pass is a record of the type PASS in `records`; `what` is a sum of the flags of `step`.
"""

from __future__ import annotations

import numpy as np

from scalarviz.core.program import Moment, Program
from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.records import PASS, Records


def gathering(program: Program) -> list[int]:
    """Return the indices of operations that need statistics of the whole batch."""
    return [i for i, each in enumerate(program.operations) if each.about.statistics(each)]


def forward_passes(program: Program, first: int, last: int) -> Records:
    """Return the forward passes; `first` and `last` are additional flags of the first and last."""
    places = gathering(program)
    bounds = [0, *places, len(program.operations)]
    asked = [0, *[place + 1 for place in places]]
    what = plans.DO_LEARN | plans.DO_FORWARD | (plans.DO_KEEP if places else 0)
    return passes(what, bounds[:-1], bounds[1:], asked, first, last)


def backward_passes(program: Program, first: int, last: int) -> Records:
    """Return the backward passes, the last operations first; arguments as `forward_passes`."""
    places = gathering(program)[::-1]
    ends = [len(program.operations), *[place + 1 for place in places]]
    asked = [0, *[-place - 1 for place in places]]
    what = plans.DO_WEIGHTS | plans.DO_FLOW | (plans.DO_KEEP if places else 0)
    return passes(what, [*ends[1:], 0], ends, asked, first, last)


def passes(
    what: int, lows: list[int], highs: list[int], asked: list[int], first: int = 0, last: int = 0
) -> Records:
    """Return passes over the operations from each low to before its high, with the flags `what`.

    `asked` is the field `gathers` of each; `first` and `last` are additional flags.
    """
    rows = [(what, *row) for row in zip(lows, highs, asked, strict=True)]
    table = np.array(rows, PASS)
    table["what"][0] |= first
    table["what"][-1] |= last
    return table


def training_passes(program: Program) -> Records:
    """Return the passes of a training step: forward, loss and backward, without the optimizer."""
    aim = plans.DO_AIM | plans.DO_ERROR | plans.DO_DELTA
    forward = forward_passes(program, plans.DO_LOAD, aim)
    backward = backward_passes(program, 0, 0)
    if len(forward) == 1:
        forward["what"] |= backward["what"]
        return forward
    return np.array([*forward.tolist(), *backward.tolist()], PASS)


def pass_of(moment: Moment, program: Program) -> Records:
    """Return the pass that performs a moment other than zero_grad and step, as one record."""
    place, what, gathers = moment.operation, 0, 0
    if moment.kind == "loss":
        return passes(plans.DO_AIM | plans.DO_ERROR | plans.DO_KEEP, [0], [0], [0])
    operation = program.operations[place]
    gathered = place + 1 if operation.about.statistics(operation) else 0
    if moment.kind == "forward":
        what, gathers = plans.DO_LEARN | plans.DO_FORWARD, gathered
    elif moment.kind == "weight gradient":
        what = plans.DO_WEIGHTS
    else:
        what = plans.DO_DELTA if program.outputs in moment.gradients else 0
        what |= plans.DO_FLOW if moment.flows_into(operation) else 0
        gathers = -gathered
    return passes(what | plans.DO_KEEP, [place], [place + 1], [gathers])
