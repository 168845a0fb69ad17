"""Passes: in how many goes a batch is taken through a program, forward and back.

Without statistics of the whole batch it is one: each chunk does everything. With them all chunks
must have arrived before some operations, so that there is one pass up to each of these, and on the
way back one from each.

A pass is a row; see `step`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.step import WHAT
from scalarviz.model.program import Program

Passes = npt.NDArray[np.int64]


def gathering(program: Program) -> list[int]:
    """The operations that need something of the whole batch."""
    return [i for i, each in enumerate(program.operations) if each.about.statistics(each)]


def forward_passes(program: Program, first: int, last: int) -> list[list[int]]:
    """All operations forward; `first` and `last` is what else the first and last pass do."""
    places = gathering(program)
    bounds = [0, *places, len(program.operations)]
    asked = [0, *[place + 1 for place in places]]
    what = plans.DO_LEARN | plans.DO_FORWARD | (plans.DO_KEEP if places else 0)
    rows = [[what, *row] for row in zip(bounds[:-1], bounds[1:], asked, strict=True)]
    rows[0][WHAT] |= first
    rows[-1][WHAT] |= last
    return rows


def backward_passes(program: Program, first: int, last: int) -> list[list[int]]:
    """The same backward, from the last operation to the first."""
    places = gathering(program)[::-1]
    ends = [len(program.operations), *[place + 1 for place in places]]
    asked = [0, *[-place - 1 for place in places]]
    what = plans.DO_WEIGHTS | plans.DO_FLOW | (plans.DO_KEEP if places else 0)
    rows = [
        [what, low, high, which]
        for low, high, which in zip([*ends[1:], 0], ends, asked, strict=True)
    ]
    rows[0][WHAT] |= first
    rows[-1][WHAT] |= last
    return rows


def training_passes(program: Program) -> Passes:
    """Those of a whole step, but for its optimizer."""
    aim = plans.DO_AIM | plans.DO_ERROR | plans.DO_DELTA
    forward = forward_passes(program, plans.DO_LOAD, aim)
    backward = backward_passes(program, 0, 0)
    if len(forward) == 1:
        forward[0][WHAT] |= backward.pop()[WHAT]
    return np.array([*forward, *backward], np.int64)
