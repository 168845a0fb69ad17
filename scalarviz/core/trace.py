"""Trace: a function of Values recorded as a table of operations, for `compile`.

The function is called once with symbolic inputs. These inputs, and the results of operations on
them, have no number, so a function that branches on a number raises an error immediately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.base.limits import enough_memory
from scalarviz.base.messages import visible
from scalarviz.core import value_graph
from scalarviz.core.bank_values import WeightValue
from scalarviz.core.formulas.arithmetic import COMPARISONS, OPERATIONS, by_some, no_gradient
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.program import columns
from scalarviz.core.value import Value
from scalarviz.errors import InputError

# All operations of a trace, in numerical order.
EVERY_OPERATION = {**OPERATIONS, **COMPARISONS}
OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power"
}  # fmt: skip
NUMBERS = {name: i for i, name in enumerate(EVERY_OPERATION)}

BYTES = 420  # approximate memory of an input
NONE = -1
MOST_OPERANDS = 3
MOST_LINES = 40

_counter = count()


def method(name: str) -> Callable[..., Any]:
    """Return the method that records an operation, given by name."""

    def call(*operands: Any) -> Any:
        if any(not isinstance(x, Value) and value_graph.is_foreign(x) for x in operands):
            return NotImplemented
        return record(name, *operands)

    return call


def reflected(name: str) -> Callable[[Any, Any], Any]:
    """Return the method that records an operation with swapped operands, as in `2 - x`."""
    call = method(name)
    return lambda self, other: call(other, self)


def no_number(value: Recorded) -> NoReturn:
    """Raise InputError because a recorded Value has no number."""
    larger = (
        "write sv.maximum(a, b) for max(a, b), or " if value._formula.name in COMPARISONS else ""
    )
    raise InputError(
        f"{shorten(value)} has no number: a function is recorded once, for all numbers, and cannot "
        f"branch on them; {larger}choose with sv.where(condition, a, b), and compute with Values "
        "throughout"
    )


@final
class Recorded(Value):
    """A symbolic Value: an input of a function being recorded, or a result of an operation."""

    __slots__ = ("number",)

    _is_recorded = True
    number: int  # number of Recorded, in the order of creation

    def __init__(self, formula: Formula, inputs: Sequence[Value], label: str = "") -> None:
        self._set_inputs(formula, *inputs)
        self.label = label
        self.number = next(_counter)
        if value_graph.naming and inputs and formula is not value_graph.LEAF:
            value_graph.enter(self)

    data = property(no_number)
    grad = property(no_number)
    __bool__ = no_number
    __float__ = no_number
    __int__ = no_number

    def __repr__(self) -> str:
        return f"Recorded({self})"

    __neg__ = method("negate")
    __abs__ = method("abs")


for _operator, _name in OPERATORS.items():
    setattr(Recorded, f"__{_operator}__", method(_name))
    setattr(Recorded, f"__r{_operator}__", reflected(_name))
for _name in OPERATIONS.keys() & vars(Value).keys():
    setattr(Recorded, _name, method(_name))


def record(name: str, *operands: Any) -> Recorded:
    """Record one operation and return its result."""
    inputs = [x if isinstance(x, Value) else Value(x) for x in operands]
    formula = by_some(EVERY_OPERATION[name], [isinstance(x, Value) for x in operands])
    return Recorded(formula, inputs)


@dataclass(frozen=True)
class Trace:
    """A function as a flat table with one row for each operation, after the rows of its operands.

    Each value has an index; the order is inputs, constants, parameters, results of operations.

    Attributes:
        inputs: number of inputs
        constants: values of the constants, float64, 1-D
        parameters: the leaf Values used from outside
        operations: index of each operation in EVERY_OPERATION
        operands: indices of the operands, shape (operations, 3); NONE where unused
        outputs: indices of the results of the function
        labels: labels of the results of operations, "" if missing; empty if all are missing
        names: names of the enclosing `sv.name` blocks, in the same form
    """

    inputs: int
    constants: FloatArray
    parameters: list[Value]
    operations: npt.NDArray[np.int64]
    operands: npt.NDArray[np.int64]
    outputs: list[int]
    labels: Sequence[str] = ()
    names: Sequence[str] = ()

    @cached_property
    def first_parameter(self) -> int:
        """Index of the first parameter."""
        return self.inputs + len(self.constants)

    @cached_property
    def first_made(self) -> int:
        """Index of the result of the first operation."""
        return self.first_parameter + len(self.parameters)

    @cached_property
    def formulas(self) -> list[Formula]:
        """The table row of each operation."""
        rows = list(EVERY_OPERATION.values())
        return [rows[i] for i in self.operations.tolist()]

    @cached_property
    def taken(self) -> list[list[int]]:
        """The indices of the operands of each operation."""
        return [[place for place in row if place != NONE] for row in self.operands.tolist()]

    def name(self, place: int) -> str:
        """Return the name of a value: x0, 2.5, p3 or a parameter's label; [4] for a result."""
        if place < self.inputs:
            return f"x{place}"
        if place < self.first_parameter:
            return f"{self.constants[place - self.inputs]:g}"
        if place < self.first_made:
            row = place - self.first_parameter
            return visible(str(self.parameters[row].label)) or f"p{row}"
        return self.label(place - self.first_made) or f"[{place - self.first_made}]"

    def label(self, operation: int) -> str:
        """Return the label of the result of an operation, or ""."""
        return visible(self.labels[operation]) if self.labels and operation >= 0 else ""

    def __repr__(self) -> str:
        results = ", ".join(map(self.name, self.outputs))
        head = (
            f"Trace: {self.inputs} inputs, {len(self.parameters)} parameters, "
            f"{len(self.operations)} operations; results {shorten_list(results)}"
        )
        lines = [("", "operation", "of")]
        for i, formula in enumerate(self.formulas[:MOST_LINES]):
            taken = [self.name(place) for place in self.operands[i] if place != NONE]
            lines.append((f"[{i}]", formula.name, ", ".join(taken)))
        more = len(self.operations) - MOST_LINES
        return "\n".join([head, *columns(lines), *([f"... and {more} more"] if more > 0 else [])])


def shorten_list(text: str) -> str:
    """Cut a list of names to 60 characters."""
    return text if len(text) <= 60 else text[:57] + "..."


def recorded_inputs(count: int) -> list[Recorded]:
    """Return `count` symbolic inputs; raise InputError if memory is insufficient."""
    what = f"{count:,} inputs as objects"
    remedy = "choose fewer, or use a Network, which makes no objects"
    with enough_memory(count * BYTES, what, remedy):
        return [Recorded(value_graph.LEAF, (), f"x{i}") for i in range(count)]


def record_function(
    function: Callable[..., Any], given: list[Recorded], parameters: Sequence[Value] = ()
) -> Trace:
    """Call a function once with symbolic inputs and return its Trace; raise InputError on failure.

    Args:
        parameters: leaves that become the first parameters of the Trace, even if unused
    """
    token = value_graph.recorder.set(record)
    try:
        result = function(*given)
    finally:
        value_graph.recorder.reset(token)
    results = [result] if isinstance(result, Value) else result
    is_list = isinstance(results, (list, tuple)) and results
    wrong = [each for each in results if not isinstance(each, Value)] if is_list else [result]
    if wrong:
        raise InputError(
            "a compiled function returns a Value, or a list of Values, but this one gave "
            f"{shorten(wrong[0])}: return a result computed from the inputs"
        )
    return write_down(given, list(results), parameters)


def write_down(given: list[Recorded], results: list[Value], known: Sequence[Value] = ()) -> Trace:
    """Return the Trace of all ancestors of the results; `known` parameters come first."""
    made = in_order_of_making(results)
    uses = [
        (x, partial is no_gradient)
        for value in made
        for x, partial in zip(value._inputs, known_formula(value).partials, strict=True)
    ]
    uses += [(x, False) for x in results]
    leaves = [(x, constant) for x, constant in uses if x._x is None and type(x) is not Recorded]
    # Equal constants share a row, as do all Values of one weight.
    constants: dict[object, Value] = {}
    parameters = {same(x, False): x for x in known}
    stands_for: dict[Value, Value] = {}
    for x, constant in leaves:
        rows = constants if constant else parameters
        stands_for[x] = rows.setdefault(same(x, constant), x)
    numbered = [*given, *constants.values(), *parameters.values(), *made]
    places = {id(value): i for i, value in enumerate(numbered)}
    operands = np.full((len(made), MOST_OPERANDS), NONE)
    for i, value in enumerate(made):
        inputs = [place_of(stands_for.get(x, x), places) for x in value._inputs]
        operands[i, : len(inputs)] = inputs
    return Trace(
        len(given),
        np.array([float(x.data) for x in constants.values()]),
        list(parameters.values()),
        np.array([NUMBERS[value._formula.name] for value in made], np.int64),
        operands,
        [place_of(stands_for.get(x, x), places) for x in results],
        [str(value.label) for value in made],
        [value._name for value in made],
    )


def same(leaf: Value, constant: bool) -> object:
    """Return a key of a leaf; leaves with equal keys share a row. 0.0 and -0.0 differ."""
    if constant:
        return float(leaf.data).hex()
    return leaf.weight if isinstance(leaf, WeightValue) else leaf


def place_of(value: Value, places: dict[int, int]) -> int:
    """Return the index of a Value; raise InputError if it is from another recording."""
    if id(value) not in places:
        raise InputError(
            f"{shorten(value)} was recorded by another call of compile: recreate every Value that "
            "depends on the inputs inside the function"
        )
    return places[id(value)]


def known_formula(value: Value) -> Formula:
    """Return the formula of a Value; raise InputError for a custom operation."""
    if value._formula.name not in EVERY_OPERATION or not value._formula.partials:
        raise InputError(
            f"the custom operation {value._op!r} cannot be compiled, since its formula is "
            "unknown: build it from the operations of Value"
        )
    return value._formula


def in_order_of_making(results: list[Value]) -> list[Value]:
    """Return the results of operations on which `results` depend, in the order of the calls."""
    made = value_graph.made_values(Recorded(value_graph.LEAF, results))[:-1]
    # A Value made earlier, or from parameters only, is not counted: it is placed just before the
    # first operation that uses it.
    when: dict[int, float] = {}
    for value in reversed(made):
        own = value.number if isinstance(value, Recorded) else when.get(id(value), math.inf)
        when[id(value)] = own
        for x in value._inputs:
            if not isinstance(x, Recorded):
                when[id(x)] = min(own, when.get(id(x), math.inf))
    return sorted(made, key=lambda value: (when[id(value)], isinstance(value, Recorded)))
