"""The graph of a Value: every Value once, every use an edge, its numbers as they are."""

import math
import time
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.value import Value
from scalarviz.core.value_graph import all_values
from scalarviz.stage.displays.html_tables import number_text
from scalarviz.stage.displays.value_display import MOST
from tests.pictures.displays.drawn import Drawn, overlap


def draw(value: Value) -> Drawn:
    return Drawn(value._repr_html_())


def example() -> Value:
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    c = (a * b + a**2).relu() + b
    c.label = "c"
    c.backward()
    return c


@st.composite
def expressions(draw: st.DrawFn) -> Value:
    """Some Values, each made of earlier ones, by names and operations of all widths."""
    values = [Value(0.5, label="x"), Value(-2.0, label="a long name"), Value(1.0)]
    for _ in range(draw(st.integers(1, 14))):
        x, y = [values[draw(st.integers(0, len(values) - 1))] for _ in range(2)]
        made = (x * y, x + y, x - 3, x.leaky_relu(), sv.where(x > 0, x, y), x.maximum(y))
        values.append(made[draw(st.integers(0, 5))])
    return values[-1]


def test_every_value_is_a_box_and_every_use_an_edge() -> None:
    drawn = draw(example())
    assert len(drawn.all("rect", "value")) == 8  # a, b, 2 and five that were made
    assert len(drawn.all("path", "edge")) == 9  # relu has one input, the others two
    assert len(drawn.all("rect", "operation")) == 5


def test_it_shows_labels_operations_values_and_gradients() -> None:
    texts = draw(example()).texts
    for text in ("a", "b", "c", "×", "**", "+", "relu", "−6", "4", "−2", "−3"):
        assert text in texts
    assert texts.count("value") == texts.count("grad") == 7  # the exponent is a plain number
    assert texts.count("+") == 2


def test_a_weight_used_twice_is_one_box() -> None:
    w = sv.Weight(0.5)
    assert draw(w * w + w).texts.count("the weight") == 1


@given(expressions())
def test_nothing_lies_on_top_of_another(value: Value) -> None:
    drawn = draw(value)
    boxes = drawn.boxes("value") + drawn.boxes("operation")
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    assert all(x >= 0 and right <= drawn.width for x, _, right, _ in boxes)


@given(expressions())
def test_edges_lead_from_box_to_operation(value: Value) -> None:
    drawn = draw(value)
    starts = {(round(right, 1), round((top + bottom) / 2, 1)) for _, top, right, bottom in
              drawn.boxes("value")}  # fmt: skip
    for edge in drawn.all("path", "edge"):
        x, y = map(float, edge.attrib["d"][1:].split("C")[0].split())
        assert any(abs(x - a) < 0.2 and abs(y - b) < 0.2 for a, b in starts)
        *_, x, y = map(float, edge.attrib["d"].replace("L", " ").replace("C", " ").split()[1:])
        inside = [left - 1 <= x <= right and top <= y <= bottom for left, top, right, bottom in
                  drawn.boxes("operation")]  # fmt: skip
        assert sum(inside) == 1


def test_a_second_derivative_is_shown_as_a_number() -> None:
    x = Value(2.0, label="x")
    y = x**3
    y.backward(create_graph=True)
    texts = draw(y).texts
    at = texts.index("x")
    assert texts[at + 1 : at + 5] == ["value", "2", "grad", "12"]
    assert "12" in draw(x.grad).texts


@pytest.mark.parametrize(
    ("data", "text"), [(math.nan, "NaN"), (math.inf, "∞"), (-math.inf, "−∞"), (1e-7, "1e−7")]
)
def test_every_number_can_be_shown(data: float, text: str) -> None:
    value = Value(1.0) * 1.0
    value.data = data
    value.grad = data
    assert draw(value).texts.count(text) == 2


def test_a_gradient_that_is_none_says_so() -> None:
    value = Value(1.0)
    value.grad = None
    assert draw(value).texts == ["value", "1", "grad", "none"]


def sum_of(count: int) -> Value:
    """A graph of so many Values, an odd number."""
    x = Value(1.0, label="x")
    y = x * 2.0
    while len(all_values(y)) < count:
        y = y * 2.0
    return y


def test_a_large_graph_says_how_large_it_is() -> None:
    assert len(draw(sum_of(MOST - 1)).all("rect", "value")) == MOST - 1
    drawn = draw(sum_of(MOST + 1))
    assert not drawn.all("rect", "value") and drawn.width < 600
    assert "61 Values, 30 operations: too many for a picture" in drawn.texts
    assert "… * 2.0 * 2.0 * 2.0 * 2.0" in drawn.texts
    assert "61 Values" in drawn.words


@pytest.mark.parametrize("deep", [5_000, 50_000])
def test_a_deep_chain_is_quick_and_needs_no_recursion(deep: int) -> None:
    x = Value(1.0, label="x")
    y = x
    for _ in range(deep):
        y = y + x
    start = time.perf_counter()
    drawn = draw(y)
    assert time.perf_counter() - start < 5.0
    assert any(f"{deep + 1:,} Values, {deep:,} operations" in text for text in drawn.texts)
    assert f"value {number_text(deep + 1)}, gradient 0" in drawn.texts


def test_a_deep_graph_of_one_column_each_is_drawn_up_to_the_limit() -> None:
    y = Value(1.0, label="x")
    for _ in range(MOST - 1):
        y = y.tanh()
    drawn = draw(y)
    assert len(drawn.all("rect", "value")) == MOST
    assert "min-width" in y._repr_html_()


def test_looking_changes_nothing() -> None:
    c = example()
    before = [(v.data, v.grad) for v in (c, *c._inputs)]
    c._repr_html_()
    assert [(v.data, v.grad) for v in (c, *c._inputs)] == before


def test_an_operation_of_your_own_is_drawn() -> None:
    x = Value(2.0, label="x")
    y = Value(4.0, (x,), "my op")
    assert "my op" in draw(y).texts and len(draw(y).all("path", "edge")) == 1


def test_a_parameter_of_a_compiled_function_is_drawn() -> None:
    slope = Value(1.5, label="slope")
    sv.compile(lambda x: slope * x, inputs=1, engine="python")
    assert draw(slope).texts == ["slope", "value", "1.5", "grad", "0"]


def test_text_can_be_read() -> None:
    assert min(draw(example()).sizes()) >= 11
