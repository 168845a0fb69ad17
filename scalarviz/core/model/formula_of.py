"""The formula of a recorded function, in pieces: words, and its parameters by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.base.messages import shortened
from scalarviz.core.autograd.graph import NAME, PRECEDENCE, spelled
from scalarviz.core.formulas.table import Formula
from scalarviz.core.model.folding import Node
from scalarviz.core.model.trace import Trace

# Signs that are not those of Python.
SIGNS = {"subtract": "−", "negate": "−", "multiply": "×", "power": "^"}
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
    row = place - trace.first_made
    if row < 0:
        number = place - trace.first_parameter
        return [number if number >= 0 else name_of(trace, place)]
    formula = trace.formulas[row]
    found = spelled_out(formula, trace.taken[row])
    return found if PRECEDENCE.get(formula.name, NAME) >= binds else ["(", *found, ")"]


def formula_words(trace: Trace, place: int, most: int) -> str:
    """Return the formula of a value with the labels of what it takes; a short one if it is longer.

    most  letters; of a longer formula all operands without a label are "…"
    """
    words, waiting = "", list[Piece | tuple[int, int]]([(place, 0)])
    while waiting and len(words) <= most:
        piece = waiting.pop()
        if isinstance(piece, str):
            words += piece
        elif isinstance(piece, int):
            words += trace.name(trace.first_parameter + piece)
        elif piece[0] != place and trace.label(piece[0] - trace.first_made):
            words += trace.label(piece[0] - trace.first_made)
        else:
            waiting += reversed(one_step(trace, *piece))
    if len(words) <= most:
        return words
    row = place - trace.first_made
    if row < 0:
        return shortened(words, most)
    parts = spelled_out(trace.formulas[row], trace.taken[row])
    return shortened(
        "".join(each if isinstance(each, str) else short_name(trace, each[0]) for each in parts),
        most,
    )


def short_name(trace: Trace, place: int) -> str:
    """Return the name of a value, "…" for a result without a label."""
    row = place - trace.first_made
    return name_of(trace, place) if row < 0 else trace.label(row) or "…"


def name_of(trace: Trace, place: int) -> str:
    """Return the name of a value; a sole input is x."""
    return "x" if place < trace.inputs == 1 else trace.name(place)


def spelled_out(formula: Formula, operands: Sequence[int]) -> list[str | tuple[int, int]]:
    """Return the words of an operation, its operands as (place, precedence around it)."""
    found = spelled(formula, operands, sign_of(formula))
    return ["^" if each == " ^ " else each for each in found]


def sign_of(formula: Formula) -> str:
    return SIGNS.get(formula.name, formula.symbol)


def sign_of_node(trace: Trace, node: Node) -> str:
    """Return what stands above a node: its name, else its sign, and how many it stands for."""
    label = trace.label(node.root) if len(node.members) > node.count else ""
    sign = label or written_above(trace, node.root)
    if len({trace.formulas[i].name for i in node.roots}) > 1:
        sign = "…"
    return f"{sign} ({node.count:,})" if node.count > 1 else sign


def written_above(trace: Trace, operation: int) -> str:
    """Return what stands above an operation: its sign, with a constant that it takes."""
    formula, taken = trace.formulas[operation], trace.taken[operation]
    sign = sign_of(formula) or formula.name
    constants = range(trace.inputs, trace.first_parameter)
    given = [trace.name(each) if each in constants else "" for each in taken]
    if not any(given):
        return sign
    if len(given) == 2 and formula.symbol:
        return ("" if sign == "^" else " ").join(filter(None, (given[0], sign, given[1])))
    return f"{sign}({', '.join(each or '…' for each in given)})"
