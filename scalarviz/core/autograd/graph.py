"""The graph of operations behind a Value: traversal, comparison, formula text, DOT text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.formulas.arithmetic import COMPARISONS
from scalarviz.core.formulas.table import Formula
from scalarviz.errors import InputError

if TYPE_CHECKING:
    from scalarviz.core.autograd.value import Value

T = TypeVar("T")

LONGEST = 1000  # characters of a formula; longer ones are cut with an ellipsis
PRECEDENCE = {"add": 1, "subtract": 1, "multiply": 2, "divide": 2, "negate": 3, "power": 4}
PRECEDENCE |= dict.fromkeys(COMPARISONS, 0)
LARGEST = 2**1023  # larger ints do not fit into a float
NAME = 5  # precedence of a name, a number or a call: above all operators


def unknown(*numbers: float) -> float:
    """Formula of a leaf or of an operation of the user's own, which is in no table."""
    raise NotImplementedError


LEAF = Formula("", unknown, ())

# While `sv.compile` records a function, comparisons and choices call this with the name of the
# operation and its operands.
recorder: ContextVar[Callable[..., Any] | None] = ContextVar("recorder", default=None)

# Within `with sv.name(...)`, its name and the Values made in it; and all names, of any thread, so
# that operations elsewhere need only see that there is none.
block: ContextVar[tuple[str, list[Any]] | None] = ContextVar("block", default=None)
naming: list[str] = []


def enter(value: Value) -> Value:
    """Return a Value that an operation has made, noted for the block that it is in."""
    within = block.get()
    if within is not None:
        value._name = within[0]
        within[1].append(value)
    return value


def plain_number(data: object) -> float:
    """Return `data` as a Python float or int; raise InputError for anything else."""
    if isinstance(data, np.generic):
        data = data.item()
    if isinstance(data, float) or (isinstance(data, int) and abs(data) < LARGEST):
        return data
    raise InputError(f"a Value holds one number, not {shorten(data)}: pass an int or a float")


def checked(slot: Any) -> property:
    """Return a property over a slot that accepts numbers only."""
    put = slot.__set__

    def put_number(value: Value, data: object) -> None:
        put(value, data if type(data) is float else plain_number(data))

    return property(slot.__get__, put_number)


def is_foreign(operand: object) -> bool:
    """Whether an operand's class may implement operations with Values, such as numpy.ndarray."""
    known = isinstance(operand, (int, float, np.generic))
    return not known and type(operand).__module__ != "builtins"


def compare(name: str, test: Callable[[float, float], bool]) -> Callable[[Value, object], bool]:
    """Return the method that compares data, or records an operation for `sv.compile`."""

    def method(self: Value, other: Any) -> bool:
        is_value = hasattr(other, "_formula")  # Value cannot be imported here
        if not is_value and not isinstance(other, (int, float, np.generic)):
            return NotImplemented  # type: ignore[no-any-return]  # as Python's protocol wants
        record = recorder.get()
        if record is not None:
            return record(name, self, other)  # type: ignore[no-any-return]  # a recorded Value
        return test(self._data, other._data if is_value else plain_number(other))

    return method


def made_values(root: Value, found: set[Value] | None = None) -> list[Value]:
    """Return `root` and its ancestors that operations made, each after its inputs.

    Those in `found`, and their ancestors, are left out; the others are added to it.
    """
    found = set() if found is None else found
    made: list[Value] = []
    waiting: list[Value | None] = [root]
    while waiting:
        value = waiting.pop()
        if value is None:  # the inputs of the next one are done
            made.append(waiting.pop())  # type: ignore[arg-type]  # under a None lies a Value
            continue
        while value._x is not None and value not in found:
            found.add(value)
            waiting.append(value)
            waiting.append(None)
            if value._y is not None:
                waiting.append(value._y)
            elif value._others:
                waiting += value._others
            value = value._x
    return made


def all_values(root: Value) -> list[Value]:
    """Return `root` and all its ancestors, leaves too, each after its inputs."""
    found = dict.fromkeys(x for value in made_values(root) for x in value._inputs)
    return [*found, root]


def formula_text(value: Value) -> str:
    """Return the formula in Python's notation; leaves appear as labels, or else as numbers."""
    text = ""
    waiting: list[Value | str] = [value]
    while waiting and len(text) <= LONGEST:
        piece = waiting.pop()
        if isinstance(piece, str):
            text += piece
        else:
            waiting.extend(reversed(one_step(piece)))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def one_step(value: Value) -> list[Value | str]:
    """Return the text of the operation of `value`, with its inputs in between as Values."""
    inputs = value._inputs
    if not inputs:
        return [str(value.label) or str(value.data)]
    pieces: list[Value | str] = []
    for piece in spelled(value._formula, inputs, value._formula.symbol):
        pieces += [piece] if isinstance(piece, str) else bracketed(*piece)
    return pieces


def spelled(formula: Formula, inputs: Sequence[T], sign: str) -> list[tuple[T, int] | str]:
    """Return the text of an operation; in between its inputs, each with the precedence around it.

    sign  the symbol of the operation
    """
    operation = formula.name
    if not formula.symbol:
        listed: list[tuple[T, int] | str] = [piece for x in inputs for piece in (", ", (x, 0))]
        return [f"{operation}(", *listed[1:], ")"]
    binds = PRECEDENCE[operation]
    if operation == "negate":
        return [sign, (inputs[0], binds + 1)]
    if operation == "power":  # a ** b ** c is a ** (b ** c), and a ** -b needs no brackets
        left, right = binds + 1, PRECEDENCE["negate"]
    else:  # a - b - c is (a - b) - c
        left, right = binds, binds + 1
    return [(inputs[0], left), f" {sign} ", (inputs[1], right)]


def bracketed(value: Value, binds: int) -> list[Value | str]:
    """Return `value`, in brackets if its precedence is below `binds`."""
    own = NAME
    if value._formula.symbol:
        own = PRECEDENCE[value._formula.name]
    elif not (value._inputs or value.label) and str(value.data).startswith("-"):
        own = PRECEDENCE["negate"]
    return [value] if own >= binds else ["(", value, ")"]


def dot_text(root: Value) -> str:
    """Return the graph as DOT text for Graphviz: a box a Value, an oval an operation."""
    lines = ["digraph {", "  rankdir=LR;", "  node [shape=box];"]
    names: dict[Value, str] = {}
    for value in all_values(root):
        name = names[value] = f"n{len(names)}"
        numbers = f"data {value.data:.4g} | grad {float(value.grad):.4g}"
        label = f"{value.label} | {numbers}" if value.label else numbers
        lines.append(f"  {name} [label={quoted(label)}];")
        if value._inputs:
            lines.append(f"  {name}_made [label={quoted(value._op)}, shape=oval];")
            lines += [f"  {names[x]} -> {name}_made;" for x in value._inputs]
            lines.append(f"  {name}_made -> {name};")
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """Return a string quoted for DOT."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
