"""The formula of a recorded function, in pieces: words, and its parameters by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.core.autograd.graph import NAME, PRECEDENCE, spelled
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.trace import EVERY_OPERATION, Trace

# Signs that are not those of Python.
SIGNS = {"subtract": "−", "negate": "−", "multiply": "·", "power": "^"}
ROWS = list(EVERY_OPERATION.values())
MOST = 100  # pieces

Piece = str | int


def formula_of(trace: Trace) -> list[Piece]:
    """Return the formula of the only result; [] for several, or if it has too many pieces.

    Words that begin with a space may begin a line.
    """
    pieces: list[Piece] = []
    waiting: list[Piece | tuple[int, int]] = [(trace.outputs[0], 0)]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, tuple):
            waiting += reversed(one_step(trace, *piece))
        else:
            pieces.append(piece)
        if len(pieces) + len(waiting) > MOST:
            return []
    return pieces if len(trace.outputs) == 1 else []


def one_step(trace: Trace, place: int, binds: int) -> Sequence[Piece | tuple[int, int]]:
    """Return what computes a value, its operands as (place, precedence around it)."""
    if place < trace.inputs:
        return ["x" if trace.inputs == 1 else trace.name(place)]
    row = place - trace.first_made
    if row < 0:
        number = place - trace.first_parameter
        return [number if number >= 0 else trace.name(place)]
    formula = ROWS[trace.operations[row]]
    operands = [each for each in trace.operands[row].tolist() if each != NONE]
    found = spelled(formula, operands, SIGNS.get(formula.name, formula.symbol))
    return found if PRECEDENCE.get(formula.name, NAME) >= binds else ["(", *found, ")"]
