"""The graph of Values: its size in memory, its depth, and its text."""

import gc
import math
import re
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.core.value import Value
from scalarviz.core.value_functions import maximum, where


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
    tracemalloc.start()
    use()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        use()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert count_values() == values
    assert after - before < 2000


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
        st.builds(lambda a: -a, parts),
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a - b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
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
