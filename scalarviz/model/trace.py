"""A function of Values, written down: what it does to its inputs, as a flat table.

The function is called once, with inputs that have no number. What operations make of them has none
either, so a function that would decide something by a number is noticed at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.autograd import graph
from scalarviz.autograd.value import Value
from scalarviz.checks.numbers import FloatArray, shorten
from scalarviz.errors import InputError
from scalarviz.formulas.arithmetic import COMPARISONS, OPERATIONS, by_some, no_gradient
from scalarviz.formulas.table import Formula
from scalarviz.model.program import columns
from scalarviz.model.weight import WeightValue
from scalarviz.process.memory import enough_memory

# What a recording can hold, in the order of its operation numbers.
EVERY_OPERATION = {**OPERATIONS, **COMPARISONS}
NUMBERS = {name: i for i, name in enumerate(EVERY_OPERATION)}

BYTES = 420  # that an input takes
NONE = -1
MOST_OPERANDS = 3
MOST_LINES = 40

_counter = count()


def method(name: str) -> Callable[..., Any]:
    """The method for a row of the table."""

    def call(*operands: Any) -> Any:
        if any(not isinstance(x, Value) and graph.is_foreign(x) for x in operands):
            return NotImplemented
        return record(name, *operands)

    return call


def reflected(name: str) -> Callable[[Any, Any], Any]:
    """The method for a row whose operands come the other way round."""
    call = method(name)
    return lambda self, other: call(other, self)


@final
class Recorded(Value):
    """An input of a function that is being recorded, or what an operation made of one."""

    __slots__ = ("number",)

    _is_recorded = True
    number: int  # they are counted as they are made

    def __init__(self, formula: Formula, inputs: Sequence[Value], label: str = "") -> None:
        self._set_inputs(formula, *inputs)
        self.label = label
        self.number = next(_counter)

    @property
    def data(self) -> float:  # type: ignore[override]  # a recorded Value has no number
        raise InputError(no_number(self))

    @property
    def grad(self) -> float:
        raise InputError(no_number(self))

    def __bool__(self) -> bool:
        raise InputError(no_number(self))

    def __float__(self) -> float:
        raise InputError(no_number(self))

    def __int__(self) -> int:
        raise InputError(no_number(self))

    def __repr__(self) -> str:
        return f"Recorded({self})"

    __add__ = method("add")
    __sub__ = method("subtract")
    __mul__ = method("multiply")
    __truediv__ = method("divide")
    __pow__ = method("power")
    __radd__ = reflected("add")
    __rsub__ = reflected("subtract")
    __rmul__ = reflected("multiply")
    __rtruediv__ = reflected("divide")
    __rpow__ = reflected("power")
    __neg__ = method("negate")
    __abs__ = method("abs")


for _name in OPERATIONS.keys() & vars(Value).keys():
    setattr(Recorded, _name, method(_name))


def no_number(value: Recorded) -> str:
    """Why a recorded Value has no number, and what to do about it."""
    return (
        f"{shorten(value)} has no number: a function is recorded once, for all numbers, and cannot "
        "branch on them; choose with sv.where(condition, a, b), and compute with Values throughout"
    )


def record(name: str, *operands: Any) -> Recorded:
    """What an operation makes while a function is recorded."""
    inputs = [x if isinstance(x, Value) else Value(x) for x in operands]
    formula = by_some(EVERY_OPERATION[name], [isinstance(x, Value) for x in operands])
    return Recorded(formula, inputs)


@dataclass(frozen=True, slots=True)
class Trace:
    """What a function does, as a flat table: one row for each operation, after those it needs.

    Numbers have places: first the inputs, then the constants, the parameters, and what the
    operations make, in their order.

    operations   which row of EVERY_OPERATION each of them is
    operands     the places of what it takes, up to three; NONE where it takes fewer
    outputs      the places of the results
    """

    inputs: int
    constants: FloatArray
    parameters: list[Value]
    operations: npt.NDArray[np.int64]
    operands: npt.NDArray[np.int64]
    outputs: list[int]

    @property
    def first_parameter(self) -> int:
        """The place of the first parameter."""
        return self.inputs + len(self.constants)

    @property
    def first_made(self) -> int:
        """The place of what the first operation makes."""
        return self.first_parameter + len(self.parameters)

    @property
    def formulas(self) -> list[Formula]:
        """The row of each operation."""
        rows = list(EVERY_OPERATION.values())
        return [rows[i] for i in self.operations]

    def name(self, place: int) -> str:
        """How a place is printed: x0, 2.5, p3, or a number of an operation."""
        if place < self.inputs:
            return f"x{place}"
        if place < self.first_parameter:
            return f"{self.constants[place - self.inputs]:g}"
        if place < self.first_made:
            row = place - self.first_parameter
            return self.parameters[row].label or f"p{row}"
        return f"[{place - self.first_made}]"

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
    """A list of names, cut where it would fill the line."""
    return text if len(text) <= 60 else text[:57] + "..."


def recorded_inputs(count: int) -> list[Recorded]:
    """So many inputs for a function that is to be recorded."""
    what, remedy = f"{count:,} inputs as objects", "choose fewer, or a Network, which makes none"
    with enough_memory(count * BYTES, what, remedy):
        return [Recorded(graph.LEAF, (), f"x{i}") for i in range(count)]


def record_function(function: Callable[..., Any], given: list[Recorded]) -> Trace:
    """Call a function once, with these inputs, and write down what it does."""
    token = graph.recorder.set(record)
    try:
        result = function(*given)
    finally:
        graph.recorder.reset(token)
    results = [result] if isinstance(result, Value) else result
    if not isinstance(results, (list, tuple)) or not results:
        raise InputError(wrong_result(result))
    for value in results:
        if not isinstance(value, Value):
            raise InputError(wrong_result(value))
    return write_down(given, list(results))


def wrong_result(result: object) -> str:
    return (
        f"a compiled function returns a Value, or a list of Values, but this one gave "
        f"{shorten(result)}: return what it computed from its inputs"
    )


def write_down(given: list[Recorded], results: list[Value]) -> Trace:
    """The table of everything that the results need."""
    made = in_order_of_making(results)
    uses = [
        (x, partial is no_gradient)
        for value in made
        for x, partial in zip(value._inputs, known_formula(value).partials, strict=True)
    ]
    uses += [(x, False) for x in results]
    leaves = [(x, constant) for x, constant in uses if x._x is None and type(x) is not Recorded]
    # Equal constants, and the Values of one weight, are one row.
    constants: dict[object, Value] = {}
    parameters: dict[object, Value] = {}
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
    )


def same(leaf: Value, constant: bool) -> object:
    """What leaves have in common that are one row; 0.0 and -0.0 are two."""
    if constant:
        return float(leaf.data).hex()
    return leaf.weight if isinstance(leaf, WeightValue) else leaf


def place_of(value: Value, places: dict[int, int]) -> int:
    """The place of a Value, which may be a left-over of another recording."""
    if id(value) not in places:
        raise InputError(
            f"{shorten(value)} was recorded by another call of compile: make every Value that "
            "depends on the inputs anew inside the function"
        )
    return places[id(value)]


def known_formula(value: Value) -> Formula:
    """The row of a Value that an operation made; an operation of the user's own has none."""
    if value._formula.name not in EVERY_OPERATION or not value._formula.partials:
        raise InputError(
            f"your own operation {value._op!r} cannot be compiled, since its formula is not known: "
            "make it of the operations that Value has"
        )
    return value._formula


def in_order_of_making(results: list[Value]) -> list[Value]:
    """What operations made on the way to the results, in the order of the calls."""
    everything = Recorded(graph.LEAF, results)
    made = graph.made_values(everything)[:-1]
    # A Value that was there before, or that is made of parameters only, has no number of its own:
    # it comes just before the first one that needs it.
    when: dict[int, float] = {}
    for value in reversed(made):
        own = value.number if isinstance(value, Recorded) else when.get(id(value), math.inf)
        when[id(value)] = own
        for x in value._inputs:
            if not isinstance(x, Recorded):
                when[id(x)] = min(own, when.get(id(x), math.inf))
    return sorted(made, key=lambda value: (when[id(value)], isinstance(value, Recorded)))
