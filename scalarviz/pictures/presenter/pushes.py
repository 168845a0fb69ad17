"""Pushes: the gradients that are known at a moment of a step, which cubes show as arrows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Moment, Program
from scalarviz.pictures.view.lights import MOVED

MOST = 200_000  # parameters; more have no arrows


def pushes(
    program: Program,
    moments: Sequence[Moment],
    current: int,
    part: float,
    before: FloatArray,
    after: FloatArray,
    frozen: FloatArray,
) -> FloatArray | None:
    """Return the gradient of each parameter, NaN where it is not known yet; None if none is.

    program  the program of the network
    moments  of a step
    current  number of the moment that is shown, from 1; 0 if none is
    part     how much of it is done, 0 to 1
    before   gradients before the moment, in bank order; `after`, those after it
    frozen   mask of the frozen parameters, which are not pushed
    """
    if not 0 < current <= len(moments) or len(after) > MOST:
        return None
    moment = moments[current - 1]
    found = np.full(len(after), np.nan)
    with np.errstate(invalid="ignore"):  # no part of an infinity is known
        if moment.kind == "zero_grad":
            found[:] = (1.0 - part) * before
        elif moment.kind == "step":
            found[:] = max(0.0, 1.0 - part / MOVED) * after
        else:
            for each in moments[:current]:
                grown = min(1.0, max(0.0, 2.0 * part - 1.0)) if each is moment else 1.0
                rows = gradients_of(program, each)
                found[rows] = grown * after[rows]
    found[frozen] = np.nan
    return found if np.isfinite(found).any() and np.nanmax(np.abs(found)) > 0.0 else None


def gradients_of(program: Program, moment: Moment) -> slice | Sequence[int]:
    """Return the bank indices of the parameters whose gradients a moment computes."""
    if moment.kind == "operand gradient":
        return program.rows_read(moment.operation)
    if moment.kind != "weight gradient":
        return slice(0, 0)
    rows = program.operations[moment.operation].parameters
    return slice(rows.start, rows.stop)
