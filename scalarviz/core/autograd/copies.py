"""Copies and pickles of Values, without recursion, since graphs are deeper than Python's stack.

A pickler follows references from a Value to its inputs, one call deeper each time. So a Value that
an operation made passes the pickler first all its ancestors, inputs before results; each of them
then refers only to Values that have been written already.
"""

from __future__ import annotations

import copy
import threading
import weakref
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, final

from scalarviz.core.autograd.graph import made_values
from scalarviz.errors import InputError

if TYPE_CHECKING:
    from scalarviz.core.autograd.value import Value

State = tuple[dict[str, Any], dict[str, Any]]
ValueT = TypeVar("ValueT", bound="Value")
T = TypeVar("T")

MOST_EXPRESSIONS = 100  # most Values pickled together with gradients that are expressions


def state(value: Value) -> State:
    """Return what a copy of a Value gets: its attributes and slots.

    Properties, such as the numbers of a Value in a bank, are left out: the bank is copied with
    them.
    """
    if value._own_backward is not None:
        raise InputError(
            f"your own operation {value._op!r} cannot be copied or pickled, since its _backward "
            "writes into these very Values: make the copy by the code that made it"
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
    """`copy.copy`: a Value with the same number and the same inputs."""
    made = type(value).__new__(type(value))
    fill(made, *state(value))
    return made


def deep(root: ValueT, memo: dict[int, Any]) -> ValueT:
    """`copy.deepcopy`: a copy of the whole graph, and of gradients that are expressions."""
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
    """Whether a gradient is a Value; that class cannot be imported here."""
    return hasattr(gradient, "_formula")


# ---- pickles ------------------------------------------------------------------------------------

_this = threading.local()  # `written`: weak reference to the last Written of a thread


@final
class Written:
    """The Values that one pickler has met. The pickler keeps this object alive, and so the Values.

    known    those that it has, or is writing now
    due      those of them that it will reduce next
    """

    def __init__(self) -> None:
        self.known: set[Value] = set()
        self.due: set[Value] = set()
        _this.written = weakref.ref(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Called by a pickler that meets this for the first time, and so knows no Values."""
        self.known, self.due = set(), set()
        return object, ()


@final
class Ancestors:
    """Pickles the ancestors of a Value that a pickler does not know yet, then the Value."""

    def __init__(self, value: Value, written: Written) -> None:
        self.value = value
        self.written = written

    def __reduce__(self) -> tuple[Any, ...]:
        made = made_values(self.value, self.written.known)
        if len(made) > MOST_EXPRESSIONS and any(is_expression(value.grad) for value in made):
            raise InputError(
                f"the gradients of these {len(made):,} Values are expressions, which refer to each "
                "other: call zero_grad() before they are pickled"
            )
        self.written.due.update(made)
        return last, tuple(made)


def reduce(value: Value, protocol: SupportsIndex) -> str | tuple[Any, ...]:
    """`pickle`: the ancestors first, unless the pickler is writing them already."""
    found = getattr(_this, "written", None)
    written: Written | None = found() if found else None
    if value._x is None or (written and value in written.due):
        if written:
            written.due.discard(value)
        return object.__reduce_ex__(value, protocol)
    if written is None or value in written.known:  # by another pickler if known
        written = Written()
    return last, (written, Ancestors(value, written))


def last(*values: T) -> T:
    """Return the last argument; pickles call this."""
    return values[-1]
