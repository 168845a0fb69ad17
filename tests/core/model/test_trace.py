"""Trace: the recorded table of a function, and functions that cannot be compiled."""

import math
import threading
from typing import Any

import pytest

from scalarviz.core.trace import record_function, recorded_inputs
from scalarviz.core.value import Value
from scalarviz.errors import InputError
from scalarviz.training.network.expression import compile
from tests.wording import refused


def test_dead_code_is_dropped_and_a_leaf_used_twice_is_one_row() -> None:
    w, unused = Value(1.0), Value(2.0)

    def function(x: Any, y: Any) -> Any:
        (unused * x).exp()
        return w * x + w * 2.0 + x * 2.0

    recording = record_function(function, recorded_inputs(2))
    assert recording.parameters == [w]
    assert [formula.name for formula in recording.formulas].count("exp") == 0
    assert recording.constants.tolist() == [2.0]


def test_a_recording_prints_as_a_table() -> None:
    w = Value(1.0, label="w")
    assert repr(record_function(lambda x: (w * x - 2.5).tanh(), recorded_inputs(1))) == (
        "Trace: 1 inputs, 1 parameters, 3 operations; results [2]\n"
        "     operation  of\n"
        "[0]  multiply   w, x0\n"
        "[1]  subtract   [0], 2.5\n"
        "[2]  tanh       [1]"
    )


def test_parameters_are_the_same_objects_in_the_order_of_first_use() -> None:
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    before = a * b  # made outside: it is computed anew, from a and b

    def function(x: Any) -> Any:
        first = before * x
        second = c * x * before
        return second + first

    f = compile(function, 1, engine="python")
    assert [id(p) for p in f.parameters] == [id(a), id(b), id(c)]
    a.data = 10.0
    assert f([1.0]) == pytest.approx([80.0])


def test_another_thread_compares_while_one_records() -> None:
    seen: list[object] = []

    def function(x: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append(Value(1.0) < Value(2.0)))
        thread.start()
        thread.join()
        return x * 2.0

    compile(function, 1, engine="python")
    assert seen == [True]


# What is refused

KEPT: list[Any] = []


def keep(x: Any) -> Any:
    """Leaves a Value behind that depends on the input."""
    KEPT.append(x * 2.0)
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x,
        lambda x: x if x == 1.0 else -x,
        lambda x: x if x else -x,
        lambda x: x * float(x),
        lambda x: x * int(x),
        lambda x: x * x.data,
        lambda x: x * math.sin(x),
        lambda x: max(x, 0.0),
        lambda x: x * (1.0 if Value(2.0) > 1.0 else 0.0),
    ],
)
def test_a_function_that_asks_for_a_number_is_pointed_to_where(function: Any) -> None:
    with refused(InputError, "Recorded("):
        compile(function, 1)


@pytest.mark.parametrize(
    ("function", "inputs", "options", "value"),
    [
        (lambda x: 3.0, 1, {}, "gave 3.0"),
        (lambda x: None, 1, {}, "gave None"),
        (lambda x: [], 1, {}, "gave []"),
        (lambda x: [x, 1.0], 1, {}, "gave 1.0"),
        (lambda x: x, 0, {}, "not 0"),
        (lambda x: x, 1.5, {}, "not 1.5"),
        ("x * x", 1, {}, "'x * x'"),
        (lambda x: x, 1, {"dtype": "float16"}, "'float16'"),
        (lambda x: Value(x.label == "", (x,), "own"), 1, {}, "'own'"),
        (lambda x: KEPT[0] + x, 1, {}, "Recorded(x0)"),
    ],
)
def test_what_cannot_be_compiled(function: Any, inputs: Any, options: Any, value: str) -> None:
    compile(keep, 1, engine="python")
    with refused(InputError, value):
        compile(function, inputs, **options)


def test_a_leaf_of_a_class_of_the_users_own() -> None:
    class Own(Value):
        pass

    with refused(InputError, "Value(data=1.0, grad=0)"):
        compile(lambda x: Own(1.0) * x, 1)
