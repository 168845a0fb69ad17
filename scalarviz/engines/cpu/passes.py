"""The passes of a program: how far all chunks of a batch go at once, forward and back.

Without statistics of the whole batch it is one: each chunk does everything. With them all chunks
must have arrived before some operations, so that there is one pass up to each of these, and on the
way back one from each.

A pass is a record; see `records`.
"""

from __future__ import annotations

import numpy as np

from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.records import PASS, Records
from scalarviz.model.program import Program


def gathering(program: Program) -> list[int]:
    """The operations that need something of the whole batch."""
    return [i for i, each in enumerate(program.operations) if each.about.statistics(each)]


def forward_passes(program: Program, first: int, last: int) -> Records:
    """All operations forward; `first` and `last` is what else the first and last pass do."""
    places = gathering(program)
    bounds = [0, *places, len(program.operations)]
    asked = [0, *[place + 1 for place in places]]
    what = plans.DO_LEARN | plans.DO_FORWARD | (plans.DO_KEEP if places else 0)
    return passes(what, bounds[:-1], bounds[1:], asked, first, last)


def backward_passes(program: Program, first: int, last: int) -> Records:
    """The same backward, from the last operation to the first."""
    places = gathering(program)[::-1]
    ends = [len(program.operations), *[place + 1 for place in places]]
    asked = [0, *[-place - 1 for place in places]]
    what = plans.DO_WEIGHTS | plans.DO_FLOW | (plans.DO_KEEP if places else 0)
    return passes(what, [*ends[1:], 0], ends, asked, first, last)


def passes(
    what: int, lows: list[int], highs: list[int], asked: list[int], first: int = 0, last: int = 0
) -> Records:
    """Passes that do the same with different operations; the first and the last do more."""
    rows = [(what, *row) for row in zip(lows, highs, asked, strict=True)]
    table = np.array(rows, PASS)
    table["what"][0] |= first
    table["what"][-1] |= last
    return table


def training_passes(program: Program) -> Records:
    """Those of a whole step, but for its optimizer."""
    aim = plans.DO_AIM | plans.DO_ERROR | plans.DO_DELTA
    forward = forward_passes(program, plans.DO_LOAD, aim)
    backward = backward_passes(program, 0, 0)
    if len(forward) == 1:
        forward["what"] |= backward["what"]
        return forward
    return np.array([*forward.tolist(), *backward.tolist()], PASS)
