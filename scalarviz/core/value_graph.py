"""The graph of operations behind a Value: traversal, formula and DOT texts, copies and pickles."""

from __future__ import annotations

import copy
import dis
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, final

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.base.messages import caution
from scalarviz.core.formulas.arithmetic import COMPARISONS, OPERATIONS, no_gradient, one
from scalarviz.core.formulas.formula import Formula, Target
from scalarviz.errors import InputError

if TYPE_CHECKING:
    from scalarviz.core.value import Value


T = TypeVar("T")

LONGEST = 1000  # characters of a formula; longer ones are cut with an ellipsis
PRECEDENCE = {"add": 1, "subtract": 1, "multiply": 2, "divide": 2, "negate": 3, "power": 4}
PRECEDENCE |= dict.fromkeys(COMPARISONS, 0)
LARGEST = 2**1023  # larger ints do not fit into a float
NAME = 5  # precedence of a name, a number or a call: above all operators


def unknown(*numbers: float) -> float:
    """Placeholder formula of leaves and custom operations, which are not in the table."""
    raise NotImplementedError


LEAF = Formula("", unknown, ())

# While `sv.compile` records a function, comparisons and choices call this with the name of the
# operation and its operands.
recorder: ContextVar[Callable[..., Any] | None] = ContextVar("recorder", default=None)

# Inside `with sv.name(...)`, its name and the Values made in it; and the names in all threads, so
# that other code only checks whether this is empty.
block: ContextVar[tuple[str, list[Any]] | None] = ContextVar("block", default=None)
naming: list[str] = []


def enter(value: Value) -> Value:
    """Register a new Value with the current `sv.name` block, and return it."""
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
    """Return a property that stores its value in a slot and accepts only numbers."""
    put = slot.__set__

    def put_number(value: Value, data: object) -> None:
        put(value, data if type(data) is float else plain_number(data))

    return property(slot.__get__, put_number)


def is_foreign(operand: object) -> bool:
    """Return whether the class of an operand, such as numpy.ndarray, may handle Values itself."""
    known = isinstance(operand, (int, float, np.generic))
    return not known and type(operand).__module__ != "builtins"


def compare(name: str, test: Callable[[float, float], bool]) -> Callable[[Value, object], bool]:
    """Return the method that compares data, or records an operation for `sv.compile`."""

    def method(self: Value, other: Any) -> bool:
        is_value = hasattr(other, "_formula")  # Value cannot be imported here
        if not is_value and not isinstance(other, (int, float, np.generic)):
            return NotImplemented  # type: ignore[no-any-return]  # required by Python's protocol
        record = recorder.get()
        if record is not None:
            return record(name, self, other)  # type: ignore[no-any-return]  # a recorded Value
        return test(self._data, other._data if is_value else plain_number(other))

    return method


def made_values(root: Value, found: set[Value] | None = None) -> list[Value]:
    """Return the operation results among `root` and its ancestors, inputs first.

    Values in `found`, and their ancestors, are left out; the others are added to it.
    """
    found = set() if found is None else found
    made: list[Value] = []
    waiting: list[Value | None] = [root]
    while waiting:
        value = waiting.pop()
        if value is None:  # the inputs of the next one are done
            made.append(waiting.pop())  # type: ignore[arg-type]  # below a None is a Value
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
    """Return `root` and all its ancestors, including leaves, inputs first."""
    return [*dict.fromkeys(x for value in made_values(root) for x in value._inputs), root]


def formula_text(value: Value) -> str:
    """Return the formula in Python notation; leaves appear as labels or numbers."""
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
    """Return the formula of `value` in terms of its inputs, as strings and Values."""
    inputs = value._inputs
    if not inputs:
        return [str(value.label) or str(value.data)]
    pieces: list[Value | str] = []
    for piece in spelled(value._formula, inputs, value._formula.symbol):
        pieces += [piece] if isinstance(piece, str) else bracketed(*piece)
    return pieces


def spelled(formula: Formula, inputs: Sequence[T], sign: str) -> list[tuple[T, int] | str]:
    """Return an operation as a list of strings, and of inputs with the precedence of their context.

    Args:
        sign: the symbol of the operation
    """
    operation = formula.name
    if not formula.symbol:
        listed: list[tuple[T, int] | str] = [piece for x in inputs for piece in (", ", (x, 0))]
        return [f"{operation}(", *listed[1:], ")"]
    binds = PRECEDENCE[operation]
    if operation == "negate":
        return [sign, (inputs[0], binds + 1)]
    # a - b - c is (a - b) - c, and a ** b ** c is a ** (b ** c); a ** -b needs no brackets.
    is_power = operation == "power"
    left, right = (binds + 1, PRECEDENCE["negate"]) if is_power else (binds, binds + 1)
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
    """Return the graph as DOT text for Graphviz: boxes for Values, ovals for operations."""
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


# `backward(create_graph=True)`: gradients are Values with a `backward` method.


def backward_as_values(root: Value, start: Value, on_values: Target) -> None:
    """Run `backward` from a Value with expressions as gradients; `start` is its gradient.

    `on_values` is the target on which formulas of derivatives work with Values.
    """
    made = made_values(root)
    refuse_own(made)
    for value in made:
        value.grad = 0.0
    root.grad = total(root.grad, start)
    for value in reversed(made):
        inputs = value._inputs
        for x, partial in zip(inputs, value._formula.partials, strict=True):
            if partial is not no_gradient:
                slope = on_values.retarget(partial)(*inputs, value)
                x.grad = total(x.grad, value.grad if partial is one else value.grad * slope)


def total(gradient: Any, more: Value) -> Value:
    """Return the sum of two gradients; the first may be the initial 0."""
    return gradient + more if is_expression(gradient) or gradient != 0 else more


def refuse_own(made: list[Value]) -> None:
    """Raise InputError if a derivative cannot be an expression; called before any change."""
    for value in made:
        require(
            all(x._takes_values for x in value._inputs),
            "the gradient of a Weight is a number in its bank and cannot be an expression: "
            "leave out create_graph, or use Value(w.value) in its place",
        )
        require(
            value._formula.partials,
            f"the derivative of the custom operation {value._op!r} is not known as an expression: "
            "leave out create_graph, or build it from the operations of Value",
        )


# Copies and pickles of Values, without recursion, since graphs are deeper than Python's stack. A
# pickler follows references from a Value to its inputs recursively. Therefore the result of an
# operation first passes all its ancestors to the pickler, inputs before results; each of them then
# refers only to Values already written.

State = tuple[dict[str, Any], dict[str, Any]]
ValueT = TypeVar("ValueT", bound="Value")

MOST_EXPRESSIONS = 100  # most Values pickled together with gradients that are expressions


def state(value: Value) -> State:
    """Return the state of a Value for a copy: its attributes and slots.

    Properties, such as the numbers of a Value in a bank, are left out: they are copied with the
    bank.
    """
    if value._own_backward is not None:
        raise InputError(
            f"the custom operation {value._op!r} cannot be copied or pickled, since its _backward "
            "writes to these Values: rebuild the copy with the code that made it"
        )
    kind = type(value)
    names = [name for each in kind.__mro__ for name in vars(each).get("__slots__", ())]
    slots = {
        name: getattr(value, name)
        for name in names
        if not name.startswith("__") and not isinstance(getattr(kind, name), property)
    }
    return value.__dict__, slots


def fill(value: Value, attributes: dict[str, Any], slots: dict[str, Any]) -> None:
    """Set attributes and slots of a new Value."""
    value.__dict__.update(attributes)
    for name, x in slots.items():
        setattr(value, name, x)


def shallow(value: ValueT) -> ValueT:
    """Implement `copy.copy`: return a Value with the same number and the same inputs."""
    made = type(value).__new__(type(value))
    fill(made, *state(value))
    return made


def deep(root: ValueT, memo: dict[int, Any]) -> ValueT:
    """Implement `copy.deepcopy`: copy the whole graph, including gradients that are expressions."""
    found: list[Value] = []
    waiting: list[Value] = [root]
    while waiting:
        value = waiting.pop()
        if id(value) not in memo:
            memo[id(value)] = type(value).__new__(type(value))
            found.append(value)
            waiting += value._inputs
            waiting += [value.grad] if is_expression(value.grad) else []
    for value in found:
        attributes, slots = state(value)
        formula = slots.pop("_formula")
        slots = copy.deepcopy(slots, memo)
        fill(memo[id(value)], copy.deepcopy(attributes, memo), slots | {"_formula": formula})
    copied: ValueT = memo[id(root)]
    return copied


def is_expression(gradient: object) -> bool:
    """Return whether a gradient is a Value, a class that cannot be imported here."""
    return hasattr(gradient, "_formula")


# ---- pickles ------------------------------------------------------------------------------------

_this = threading.local()  # `written`: weak reference to the last Pickled of a thread


@final
class Pickled:
    """The Values seen by one pickler, which keeps this object, and so the Values, alive.

    Attributes:
        known: Values already written, or being written
        due: known Values that the pickler will reduce next
    """

    def __init__(self) -> None:
        self.known: set[Value] = set()
        self.due: set[Value] = set()
        _this.written = weakref.ref(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Forget all Values; a pickler calls this once, before it has written any Value."""
        self.known, self.due = set(), set()
        return object, ()


@final
class Ancestors:
    """Pickle a Value, after all its ancestors that the pickler has not written yet."""

    def __init__(self, value: Value, written: Pickled) -> None:
        self.value = value
        self.written = written

    def __reduce__(self) -> tuple[Any, ...]:
        made = made_values(self.value, self.written.known)
        require(
            not (len(made) > MOST_EXPRESSIONS and any(is_expression(value.grad) for value in made)),
            f"the gradients of these {len(made):,} Values are expressions, which refer to each "
            "other: call zero_grad() before they are pickled",
        )
        self.written.due.update(made)
        return last, tuple(made)


def reduce(value: Value, protocol: SupportsIndex) -> str | tuple[Any, ...]:
    """Implement `pickle`: write ancestors first, unless the pickler is already writing them."""
    found = getattr(_this, "written", None)
    written: Pickled | None = found() if found else None
    if value._x is None or (written and value in written.due):
        if written:
            written.due.discard(value)
        return object.__reduce_ex__(value, protocol)
    if written is None or value in written.known:  # known from another pickler
        written = Pickled()
    return last, (written, Ancestors(value, written))


def last(*values: T) -> T:
    """Return the last argument; called when a pickle is loaded."""
    return values[-1]


# Functions of `math` called with a Value return plain numbers without a gradient.


def check_call(frame: FrameType) -> None:
    """Warn if a frame converts a Value into a float to call a function of math.

    Values have a method for each such function; `float(v)` avoids the warning.
    """
    names = names_called(frame.f_code, frame.f_lasti)
    if names and names[-1] in OPERATIONS:
        name, root = names[-1], {**frame.f_globals, **frame.f_locals}.get(names[0])
        if root is math or root is getattr(math, name, math):
            caution(
                f"math.{name} of a Value gives a plain number, through which no gradient passes: "
                f"write v.{name}(), or math.{name}(v.data) for only the number"
            )


@cache
def names_called(code: CodeType, place: int) -> tuple[str, ...]:
    """Return the dotted name of the function called at an offset, such as ("math", "exp")."""
    steps = [each for each in dis.get_instructions(code) if each.positions]
    at = next((each.positions for each in steps if each.offset == place), None)
    starts = [each for each in steps if at and each.positions and each.positions[::2] == at[::2]]
    names = [each for each in starts if each.opname.startswith("LOAD_") and each.positions != at]
    return tuple([str(each.argval) for each in names])
