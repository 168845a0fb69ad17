"""The formula of a recorded function, in pieces: words, and its parameters by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.core.autograd.graph import NAME, PRECEDENCE
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.trace import Trace

SIGNS = {"subtract": "−", "multiply": "·", "power": "^"}  # that are not those of Python
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
    found: list[Piece | tuple[int, int]]
    if place < trace.inputs:
        return ["x" if trace.inputs == 1 else trace.name(place)]
    if place < trace.first_made:
        number = place - trace.first_parameter
        return [number if number >= 0 else trace.name(place)]
    row = place - trace.first_made
    formula = trace.formulas[row]
    name, symbol = formula.name, formula.symbol
    operands = [each for each in trace.operands[row].tolist() if each != NONE]
    own = PRECEDENCE.get(name, NAME)
    if name == "negate":
        found = ["−", (operands[0], own + 1)]
    elif symbol:
        sides = (own + 1, PRECEDENCE["negate"]) if name == "power" else (own, own + 1)
        sign = f" {SIGNS.get(name, symbol)} "
        found = [(operands[0], sides[0]), sign, (operands[1], sides[1])]
    else:
        found = [f"{name}("]
        for each in operands:
            found += [(each, 0), ", "]
        found[-1] = ")"
    return found if own >= binds else ["(", *found, ")"]
