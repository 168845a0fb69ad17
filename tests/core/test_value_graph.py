"""The graph of Values: its size, depth and text, and its gradients against finite differences."""

import gc
import math
import operator
import re
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.value import Value
from scalarviz.core.value_functions import maximum, where
from scalarviz.training.network.gradcheck import gradcheck
from tests.machine import traced_memory
from tests.sessions import OPERATORS


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the garbage collector only what has no reference cycle is freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def count_values() -> int:
    return sum(type(thing) is Value for thing in gc.get_objects())


def every_operation(x: Value) -> Value:
    """An expression with a Value of each kind: made of one, two and three, and with numbers."""
    y = (x * x + 3 - 1 / x).tanh() * x**2.5
    return where(x > 0, maximum(y, x), 2 - y) + x.sigmoid()


def chain(length: int) -> tuple[Value, Value]:
    x = Value(1.0, label="x")
    y = x
    for _ in range(length):
        y = y + x
    return x, y


# Memory


@pytest.mark.slow
@pytest.mark.usefixtures("no_collector")
def test_discarded_graphs_leave_memory_flat() -> None:
    x = Value(0.7)

    def use() -> None:
        y = every_operation(x)
        y.backward()
        str(y), y.to_dot()
        y.zero_grad()

    for _ in range(100):
        use()
    values = count_values()
    with traced_memory() as memory:
        use()
        before = memory()[0]
        for _ in range(1000):
            use()
        assert memory()[0] - before < 2000
    assert count_values() == values


@pytest.mark.slow
@pytest.mark.usefixtures("no_collector")
def test_gradients_that_are_expressions_are_freed_by_zero_grad() -> None:
    x = Value(0.7)
    values = count_values()
    for _ in range(3):
        y = every_operation(x)
        y.backward(create_graph=True)
        slope = x.grad
        y.zero_grad()
        slope.backward(create_graph=True)
        slope.zero_grad()
    del y, slope
    assert count_values() == values


# Depth


@pytest.mark.slow
def test_a_chain_of_100_000_operations() -> None:
    x, y = chain(100_000)
    y.backward()
    assert x.grad == 100_001
    assert repr(y) == "Value(data=100001.0, grad=1.0)"
    assert str(y).startswith("x + x + x")
    assert y.to_dot().count("oval") == 100_000
    y.zero_grad()
    assert x.grad == 0


@pytest.mark.slow
def test_a_chain_of_100_000_can_be_differentiated_twice() -> None:
    x = Value(1.0)
    y = x * x
    for _ in range(100_000):
        y = -y
    y.backward(create_graph=True)
    slope = x.grad
    y.zero_grad()
    slope.backward()
    assert x.grad == 2.0
    slope.zero_grad()


@pytest.mark.slow
def test_a_chain_of_a_million_can_be_dropped() -> None:
    _, y = chain(1_000_000)
    alive = weakref.ref(y)
    del y
    assert alive() is None


# Text

x, y, z = (Value(number, label=label) for number, label in [(2.0, "x"), (3.0, "y"), (5.0, "z")])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (x * x + 3, "x * x + 3"),
        (Value(2.0), "2.0"),
        (x, "x"),
        ((x + y) * z, "(x + y) * z"),
        (x - (y - z), "x - (y - z)"),
        (x - y - z, "x - y - z"),
        (x / (y * z), "x / (y * z)"),
        (x + -y, "x + -y"),
        (-(x + y), "-(x + y)"),
        (-x.linear(), "-linear(x)"),
        (-Value(-2.0), "-(-2.0)"),
        (-(x**2), "-x ** 2"),
        ((-x) ** 2, "(-x) ** 2"),
        (Value(-2.0) ** 2, "(-2.0) ** 2"),
        (Value(-2.0, label="w") ** 2, "w ** 2"),
        (x**y**z, "x ** y ** z"),
        ((x**y) ** z, "(x ** y) ** z"),
        (2**-x, "2 ** -x"),
        (x ** (y + 1), "x ** (y + 1)"),
        (1 / x, "1 / x"),
        ((x + y).tanh() * 2, "tanh(x + y) * 2"),
        (abs(x), "abs(x)"),
        (maximum(x, y + 1), "maximum(x, y + 1)"),
        (where(x > y, x, -y), "where(False, x, -y)"),
    ],
    ids=str,
)
def test_an_expression_prints_as_a_formula(value: Value, text: str) -> None:
    assert str(value) == text


LEAVES = st.one_of(st.sampled_from([x, y, z]), st.floats(-3, 3).map(Value))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.builds(operator.neg, parts),
        st.builds(operator.add, parts, parts),
        st.builds(operator.sub, parts, parts),
        st.builds(operator.mul, parts, parts),
        st.builds(lambda a, b: a ** b.tanh(), parts, parts),
        st.builds(lambda a: a ** (Value(2.0) ** a.tanh()), parts),
        st.builds(maximum, parts, parts),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_the_formula_read_by_python_gives_the_same_number(value: Value) -> None:
    names: dict[str, Any] = {"x": x, "y": y, "z": z, "maximum": maximum, "tanh": Value.tanh}
    names |= {"nan": math.nan, "inf": math.inf}
    plain = re.sub(r"(?<![\w.])(\d[\d.e+-]*\d|\d)(?![\w.])", r"Value(\1)", str(value))
    again = eval(plain, names, {"Value": Value})
    assert again.data == value.data or (math.isnan(again.data) and math.isnan(value.data))


def test_a_long_formula_ends_in_an_ellipsis_after_1000_characters() -> None:
    _, y = chain(10_000)
    assert len(str(y)) == 1000
    assert str(y).endswith("…")
    assert "…" not in str(chain(200)[1])


def test_dot_has_a_box_for_each_value_and_an_oval_for_each_operation() -> None:
    a, b = Value(2.0, label="a"), Value(-0.5)
    c = a * b + a
    c.backward()
    assert (
        c.to_dot()
        == """\
digraph {
  rankdir=LR;
  node [shape=box];
  n0 [label="a | data 2 | grad 0.5"];
  n1 [label="data -0.5 | grad 2"];
  n2 [label="data -1 | grad 1"];
  n2_made [label="*", shape=oval];
  n0 -> n2_made;
  n1 -> n2_made;
  n2_made -> n2;
  n3 [label="data 1 | grad 1"];
  n3_made [label="+", shape=oval];
  n2 -> n3_made;
  n0 -> n3_made;
  n3_made -> n3;
}
"""
    )


def test_dot_escapes_what_would_break_it() -> None:
    text = Value(1.0, label='a "b" \\N\nc').to_dot()
    assert '[label="a \\"b\\" \\\\N\\nc | data 1 | grad 0"];' in text


def test_dot_shows_the_number_of_a_gradient_that_is_an_expression() -> None:
    v = Value(2.0)
    w = v * v
    w.backward(create_graph=True)
    assert "data 2 | grad 4" in w.to_dot()
    assert repr(v) == "Value(data=2.0, grad=4.0)"
    w.zero_grad()


LOWEST = {"log": 0.0, "sqrt": 0.0, "log1p": -1.0, "power": 0.0}  # where a function begins


def call(name: str, *inputs: Value) -> Any:
    """The operation of a row."""
    return (OPERATORS.get(name) or getattr(Value, name))(*inputs)


def derivatives(y: Value, x: Value, count: int) -> list[float]:
    """The first, second, ... derivative of y with respect to x."""
    found: list[float] = []
    for _ in range(count):
        y.backward(create_graph=True)
        gradient = x.grad
        y.zero_grad()
        if not isinstance(gradient, Value):  # x no longer occurs in it
            return found + [0.0] * (count - len(found))
        found.append(gradient.data)
        y = gradient
    return found


# The graph


def test_leaves_accumulate_and_made_values_keep_the_last_gradient() -> None:
    x = Value(3.0)
    y = x * 2
    z = y * y
    z.backward()
    z.backward()
    assert (x.grad, y.grad, z.grad) == (2 * 24.0, 12.0, 1.0)
    (y * 5).backward()
    assert (x.grad, y.grad, z.grad) == (2 * 24.0 + 10.0, 5.0, 1.0)


def test_zero_grad_clears_all_that_a_value_is_made_of() -> None:
    x, other = Value(3.0), Value(1.0)
    y = x * 2
    z = y + 1
    (z + other).backward()
    z.zero_grad()
    assert [v.grad for v in (x, y, z, other)] == [0, 0, 0, 1.0]


# Against finite differences
# Differences do not see the slope of a cosine at 1e-300.


@pytest.mark.parametrize("name", OPERATIONS)
def test_second_derivatives_agree_with_differences_of_the_first(name: str) -> None:
    count = len(OPERATIONS[name].partials)
    for numbers in ([0.7, 1.3, 0.4], [1.7, 0.6, -0.9], [-0.3, 0.9, 0.2], [-1.7, 2.0, 1.0]):
        if numbers[0] < LOWEST.get(name, -9.0):
            continue
        for i in range(count):

            def slope(*leaves: Value, i: int = i) -> Value:
                y = call(name, *leaves)
                y.backward(create_graph=True)
                gradient = leaves[i].grad
                y.zero_grad()
                return gradient + 0.0 * sum(leaves) if gradient else 0.0 * sum(leaves)

            assert gradcheck(slope, numbers[:count]).error < 1e-6


# Higher derivatives


@pytest.mark.parametrize("x", [0.0, 1e-310, -1e-310, math.nan, math.inf, -2.0])
def test_a_power_with_the_exponent_0_has_the_slope_0(x: float) -> None:
    base = Value(x)
    (base ** Value(0.0)).backward()
    assert base.grad == 0.0


# Far away


def name_of(case: ActivationFormula | float) -> str:
    return case.name if isinstance(case, ActivationFormula) else str(case)


FAR = [(row, x) for row in ACTIVATIONS.values() for x in (-1000.0, 1000.0)]


@pytest.mark.parametrize(("row", "x"), FAR, ids=name_of)
def test_far_away_is_the_limit_or_at_least_a_number(row: ActivationFormula, x: float) -> None:
    leaf = Value(x)
    y = call(row.name, leaf)
    y.backward()
    assert not math.isnan(y.data) and not math.isnan(leaf.grad)
    assert row.limits is None or (y.data, leaf.grad) == row.limits[x > 0 :: 2]


@pytest.mark.parametrize(("row", "x"), FAR, ids=name_of)
def test_far_away_the_second_derivative_is_a_number_too(row: ActivationFormula, x: float) -> None:
    leaf, name = Value(x), row.name
    two = derivatives(call(name, leaf), leaf, 2)[1]
    if name == "exp":
        assert two == (math.inf if x > 0 else 0.0)
    elif name == "sin":
        assert two == -math.sin(x)
    else:
        assert abs(two) < 1e-8
