"""Value.

Micrograd's interface, Python's operators, operands that are refused, rows of a table by their
index.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import micrograd.engine
import micrograd.nn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.value import Value
from scalarviz.core.value_functions import minimum, where
from scalarviz.core.weight import Weight
from scalarviz.errors import InputError
from tests.sessions import OPERATORS
from tests.wording import refused

NO_NUMBERS = ["a", b"a", None, [1.0], (1.0,), {}, 1j, object(), Value]
STEPS = ["add", "subtract", "multiply", "divide", "power", "negate", "relu", "constant"]


def reach(name: str) -> Callable[..., Value]:
    """How a user calls the row of this name."""
    return OPERATORS.get(name) or getattr(Value, name)


# Every row


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=OPERATIONS)
def test_every_row_of_the_table_is_an_operation(row: Any) -> None:
    numbers = [0.7, 1.3, 0.4][: len(row.partials)]
    made = reach(row.name)(*map(Value, numbers))
    assert made._formula.name == row.name
    assert made.data == row.value(*numbers)


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=OPERATIONS)
def test_no_number_raises(row: Any) -> None:
    for number in (1000.0, -1000.0, 0.0, math.inf, -math.inf, math.nan):
        inputs = [Value(number) for _ in row.partials]
        reach(row.name)(*inputs).backward()
        assert all(isinstance(x.grad, float) for x in inputs), number


def test_the_limits_are_those_of_a_processor() -> None:
    zero = Value(0.0)
    infinite = [1 / zero, -1 / zero, zero**-1, zero.log(), Value(1000.0).exp()]
    assert [x.data for x in infinite] == [math.inf, -math.inf, math.inf, -math.inf, math.inf]
    assert np.isnan([(Value(-8.0) ** (1 / 3)).data, Value(-1.0).sqrt().data]).all()


# micrograd


Program = tuple[list[float], list[tuple[str, int, int]]]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Numbers to begin with, and steps that each take two earlier results, by position."""
    numbers = draw(st.lists(st.floats(-2, 2).map(lambda x: round(x, 3)), min_size=2, max_size=4))
    steps = []
    for i in range(draw(st.integers(1, 8))):
        earlier = st.integers(0, len(numbers) + i - 1)
        steps.append((draw(st.sampled_from(STEPS)), draw(earlier), draw(earlier)))
    return numbers, steps


def run(kind: Any, program: Program) -> tuple[Any, list[Any]]:
    """The result of a program on Values of this kind, and its leaves."""
    numbers, steps = program
    leaves = [kind(number) for number in numbers]
    results = list(leaves)
    for name, i, j in steps:
        x, y = results[i], results[j]
        if name == "power":
            results.append(x ** (j % 4 - 1))
        elif name == "constant":
            results.append(2.5 - x * 3 + 0.5 / (x * x + 1))
        elif name == "negate":
            results.append(-x)
        elif name == "relu":
            results.append(x.relu())
        else:
            results.append(OPERATORS[name](x, y))
    return results[-1], leaves


@given(programs())
def test_any_expression_has_the_data_and_the_gradients_of_micrograd(program: Program) -> None:
    try:
        theirs, their_leaves = run(micrograd.engine.Value, program)
        theirs.backward()
    except (ZeroDivisionError, OverflowError):
        return
    if any(abs(x.data) > 1e6 for x in everything(theirs)):
        return  # rounding, amplified
    ours, our_leaves = run(Value, program)
    ours.backward()
    assert ours.data == pytest.approx(theirs.data, rel=1e-6, abs=1e-6)
    gradients = [x.grad for x in their_leaves]
    scale = max(1.0, *map(abs, gradients))
    assert [x.grad for x in our_leaves] == pytest.approx(gradients, rel=1e-6, abs=1e-6 * scale)


def everything(root: Any) -> set[Any]:
    """All that a Value is made of, found as micrograd's drawing code does."""
    found, waiting = {root}, [root]
    while waiting:
        new = set(waiting.pop()._prev) - found
        found |= new
        waiting += new
    return found


def test_a_graph_can_be_walked_as_in_micrograd() -> None:
    x, y = Value(2.0), Value(3.0)
    z = x * y
    assert z._prev == {x, y}
    assert (z._op, x._op, x._prev) == ("*", "", set())
    assert (x * x)._prev == {x}
    assert everything((z + 1).relu()) > {x, y, z}


def cube(x: Value) -> Value:
    """An operation of one's own, made as in micrograd."""
    out = Value(x.data**3, (x,), "cube")

    def backward() -> None:
        x.grad += 3 * x.data**2 * out.grad

    out._backward = backward
    return out


def test_an_operation_of_ones_own_takes_part() -> None:
    x = Value(2.0)
    y = x * 2
    (cube(y) + y).backward()
    assert x.grad == (3 * 4.0**2 + 1) * 2
    assert (cube(x)._op, cube(x)._prev, str(cube(x))) == ("cube", {x}, "cube(2.0)")


@pytest.mark.parametrize("name", ["add", "negate", "*", ""])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_an_operation_of_ones_own_has_any_name_and_any_number_of_inputs(
    name: str, count: int
) -> None:
    inputs = [Value(1.0) for _ in range(count)]
    out = Value(5.0, inputs, name)

    def backward() -> None:
        for x in inputs:
            x.grad += out.grad

    out._backward = backward
    (out * 2).backward()
    assert [x.grad for x in inputs] == [2.0] * count
    assert str(out) == f"{name}({', '.join(['1.0'] * count)})"


def test_the_backward_of_an_operation_can_be_replaced() -> None:
    x, y = Value(2.0), Value(3.0)
    z = x * y
    z._backward = lambda: setattr(x, "grad", 100.0)
    (z + 1).backward()
    assert (x.grad, y.grad, z._op, z._prev) == (100.0, 0, "*", {x, y})


def test_an_own_operation_without_backward_stops_the_gradient() -> None:
    x = Value(2.0)
    Value(4.0, (x,), "opaque").backward()
    assert x.grad == 0


@pytest.mark.parametrize("name", ["tanh", "multiply", "where"])
def test_backward_can_be_called_by_hand_step_by_step(name: str) -> None:
    inputs = [Value(0.5) for _ in OPERATIONS[name].partials]
    by_hand = reach(name)(*inputs)
    by_hand.grad = 1.0
    by_hand._backward()
    gradients = [x.grad for x in inputs]
    for x in inputs:
        x.grad = 0
    reach(name)(*inputs).backward()
    assert gradients == [x.grad for x in inputs] != [0] * len(inputs)


class Row(Value):
    """A leaf whose numbers live elsewhere."""

    numbers: list[float]

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers
        super().__init__(numbers[0])

    @property  # type: ignore[override]  # a property in place of an attribute
    def data(self) -> float:
        return self.numbers[0]

    @data.setter
    def data(self, number: float) -> None:
        self.numbers[0] = number

    @property  # type: ignore[override]  # a property in place of an attribute
    def grad(self) -> float:
        return self.numbers[1]

    @grad.setter
    def grad(self, number: float) -> None:
        self.numbers[1] = number


def test_a_subclass_may_keep_its_numbers_elsewhere() -> None:
    numbers = [3.0, 0.0]
    row, x = Row(numbers), Value(2.0)
    (row * x + x * row + row**2 + (1 - row)).backward()
    assert numbers == [3.0, 2.0 + 2.0 + 6.0 - 1.0]
    assert x.grad == 6.0
    assert type(row + row) is Value


# Python's protocols


@pytest.mark.parametrize(
    "make", [Value, lambda x: Value(x / 2) * 2, Weight, lambda x: Weight(x).as_value()]
)
@pytest.mark.parametrize("number", [2.5, -1234.5678])
def test_it_is_the_number_where_one_is_asked_for(
    make: Callable[[float], Value | Weight], number: float
) -> None:
    x = make(number)
    assert x.item() == number and type(x.item()) is float
    assert math.fabs(x) == abs(float(x)) == abs(number)
    assert int(x) == int(number) and type(int(x)) is int
    assert round(x) == round(number) and type(round(x)) is int
    assert round(x, 1) == round(number, 1) and round(x, -2) == round(number, -2)
    assert f"{x:.2f} {x:>12,.1f} {x:e}" == f"{number:.2f} {number:>12,.1f} {number:e}"
    assert f"{x}" == str(x)


class Celsius:
    """A class that knows what to do with a Value."""

    def __rmul__(self, other: object) -> str:
        return "warm"


def test_another_class_may_define_what_it_means() -> None:
    assert Value(2.0) * Celsius() == "warm"
    with pytest.raises(TypeError, match=r"unsupported operand type.*'Value' and 'Celsius'"):
        _ = Value(2.0) + Celsius()


# Bad input


@pytest.mark.parametrize("bad", NO_NUMBERS, ids=lambda bad: repr(bad).partition(" at 0x")[0])
@pytest.mark.parametrize(
    "use",
    [
        Value,
        lambda bad: Value(1.0) + bad,
        lambda bad: bad - Value(1.0),
        lambda bad: Value(1.0) ** bad,
        lambda bad: bad ** Value(1.0),
        lambda bad: Value(1.0).maximum(bad),
        lambda bad: minimum(bad, 1.0),
        lambda bad: where(bad, 1.0, 2.0),
    ],
)
def test_what_is_no_number_is_refused(use: Callable[[Any], Any], bad: Any) -> None:
    refused(InputError, bad).by(use, bad)


def test_an_own_operation_has_no_second_derivative() -> None:
    x = Value(2.0)
    y = x * 1
    z = cube(y)
    z.backward()
    before = [v.grad for v in (x, y, z)]
    refused(InputError, "'cube'").by(z.backward, create_graph=True)
    assert [v.grad for v in (x, y, z)] == before == [12.0, 12.0, 1.0]


# What is set.


def test_data_that_is_no_number_is_refused() -> None:
    a = Value(2.0)
    for bad in ("x", None, [1.0], 1j, Value(1.0), np.ones(2)):
        refused(InputError, bad).by(setattr, a, "data", bad)
    assert a.data == 2.0
    for good in (3, 1.5, True, float("inf"), np.float32(0.5), np.int64(7)):
        a.data = good  # type: ignore[assignment]  # on purpose
        assert a.data == good and not isinstance(a.data, np.generic)


def test_a_subclass_may_have_attributes_and_read_the_number_its_own_way() -> None:
    class Twice(Value):
        @property  # type: ignore[override]  # a property in place of an attribute
        def data(self) -> float:
            return 2.0 * super().data

        @data.setter
        def data(self, number: float) -> None:
            Value.data.__set__(self, number)  # type: ignore[attr-defined]  # a slot

    x = Twice(3.0)
    x.note = "mine"  # type: ignore[attr-defined]  # an attribute of one's own
    assert ((x * x).data, x.note) == (36.0, "mine")  # type: ignore[attr-defined]  # an attribute of one's own
    x.data = 5.0
    assert (x + 1.0).data == 11.0


def table(rows: int = 4, columns: int = 3) -> list[list[sv.Value]]:
    numbers = np.random.default_rng(0).normal(size=(rows, columns)).tolist()
    return [[sv.Value(x) for x in row] for row in numbers]


@pytest.fixture
def rows() -> Any:
    return table()


@pytest.mark.parametrize("index", [2, np.int64(2), sv.Value(2), 2.0])
def test_a_known_index_gives_the_row_itself(index: Any, rows: Any) -> None:
    assert sv.lookup(rows, index) is rows[2]
    assert sv.lookup(rows[0], index) is rows[0][2]


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_an_input_chooses_at_each_call(engine: str, rows: Any) -> None:
    f = sv.compile(lambda i: sv.lookup(rows, i), 1, parameters={"rows": rows}, engine=engine)
    inputs = [[2.0], [0.0], [3.0], [2.0], [-5.0], [9.0]]
    wanted = [[x.data for x in rows[i]] for i in (2, 0, 3, 2, 0, 3)]
    np.testing.assert_array_equal(f.forward(np.array(inputs)), wanted)


def test_the_gradient_goes_to_the_row_alone(rows: Any) -> None:
    f = sv.compile(lambda i: sv.lookup(rows, i)[1] * 5.0, 1, engine="python")
    f.forward(np.array([[2.0]]))
    f.backward()
    assert [[row[1].grad] for row in rows] == [[0.0], [0.0], [5.0], [0.0]]


def test_sequences_of_different_lengths_are_a_batch() -> None:
    """A letter guesses the next one; -1 stands behind the end, where no loss is counted."""
    rows = table(3, 3)

    def surprise(*letters: Any) -> Any:
        total, count = sv.Value(0.0), sv.Value(0.0)
        for letter, following in pairwise(letters):
            weights = [each.exp() for each in sv.lookup(rows, letter)]
            own = -(sv.lookup(weights, following) / (weights[0] + weights[1] + weights[2])).log()
            total = total + sv.where(following >= 0, own, 0.0)
            count = count + (following >= 0)
        return total / count

    words = [[0, 1, 2, 1], [2, 2], [1, 0, 0]]
    padded = np.array([[*word, *[-1] * (4 - len(word))] for word in words], float)
    f = sv.compile(surprise, 4, engine="python", parameters={"rows": rows})
    numbers = np.array([[x.data for x in row] for row in rows])
    shares = np.exp(numbers) / np.exp(numbers).sum(axis=1, keepdims=True)
    wanted = [[np.mean([-np.log(shares[a, b]) for a, b in pairwise(w)])] for w in words]
    np.testing.assert_allclose(f.forward(padded), wanted)


@pytest.mark.parametrize(
    ("rows", "index", "said"),
    [
        *[(table(), each, (each,)) for each in (4, -1, 1.5, float("nan"), "a")],
        ([], 0, ()),
        ([[sv.Value(1.0)], [sv.Value(1.0), sv.Value(2.0)]], 0, ()),
    ],
)
def test_a_wrong_index_or_rows_of_different_lengths_are_refused(
    rows: Any, index: Any, said: tuple[Any, ...]
) -> None:
    refused(InputError, *said).by(sv.lookup, rows, index)
