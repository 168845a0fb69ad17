"""Copies and pickles of Values: deep graphs, shared Values, and Values in a bank."""

import copy
import io
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.wording import refused

WAYS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "pickle in Python": lambda thing: pickle.loads(pickle._dumps(thing)),  # as dill has it
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def chain(length: int) -> tuple[sv.Value, sv.Value]:
    """A leaf, and what so many operations make of it."""
    x = sv.Value(1.0, label="x")
    y = x
    for _ in range(length):
        y = (y * 0.999 + x).tanh()
    return x, y


@pytest.mark.some(3)
@every_way
@pytest.mark.parametrize("length", [0, 1, 5000])
def test_a_chain_is_copied_whole(way: Callable[[Any], Any], length: int) -> None:
    x, y = chain(length)
    y.backward()
    x2, y2 = way((x, y))
    assert (x2.data, x2.grad, x2.label, y2.data) == (x.data, x.grad, "x", y.data)
    assert x2 is not x and (y2 is x2) == (length == 0)
    x2.grad = 0
    y2.backward()
    assert x2.grad == x.grad and str(y2) == str(y)


@pytest.mark.slow
@every_way
def test_a_chain_may_be_very_long(way: Callable[[Any], Any]) -> None:
    x, y = chain(100_000)
    x2, y2 = way((x, y))
    y2.backward(), y.backward()
    assert x2.grad == x.grad


@every_way
def test_a_row_of_sums_takes_no_longer_than_its_length(way: Callable[[Any], Any]) -> None:
    sums = [sv.Value(0.0)]
    for i in range(1000):
        sums.append(sums[-1] + i)
    again = way(sums)
    assert all(b._x is a for a, b in pairwise(again))
    assert len(pickle.dumps(sums)) < 200 * len(sums)


def test_two_picklers_each_get_all_of_it() -> None:
    x, y = chain(2000)
    first = io.BytesIO()
    pickler = pickle.Pickler(first)
    pickler.dump(y)
    z = y * x
    alone = pickle.loads(pickle.dumps(z))  # while the other one knows most of it
    pickler.dump([z, y, x])
    first.seek(0)
    reader = pickle.Unpickler(first)
    y1, (z2, y2, x2) = reader.load(), reader.load()
    assert y1 is y2 and z2._prev == {y2, x2}
    for each in (alone, z2):
        each.backward()
        assert each.data == z.data


def test_a_pickle_that_failed_leaves_nothing_behind() -> None:
    _, y = chain(2000)
    y._x.label = lambda: None  # type: ignore[assignment,union-attr]  # what no pickle takes
    for _ in range(2):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(y)
    y._x.label = ""  # type: ignore[union-attr]  # it is there
    again = pickle.loads(pickle.dumps(y))
    assert again.data == y.data
    again.backward()


@every_way
def test_gradients_that_are_expressions_are_copied(way: Callable[[Any], Any]) -> None:
    x, y = chain(10)
    y.backward(create_graph=True)
    x2, y2 = way((x, y))
    assert x2.grad.data == x.grad.data
    y2.zero_grad()
    slope = way(x.grad)
    slope.backward()


def test_long_ones_are_deep_copied_and_not_pickled() -> None:
    x, y = chain(2000)
    y.backward(create_graph=True)
    x2, _ = copy.deepcopy((x, y))
    assert x2.grad.data == x.grad.data and x2.grad is not x.grad
    with refused(InputError, "6,000"):
        pickle.dumps(y)
    y.zero_grad()
    pickle.dumps(y)


def test_a_shallow_copy_is_made_of_the_same_values() -> None:
    x = sv.Value(3.0, label="x")
    y = x * x
    again = copy.copy(y)
    assert again is not y and again._prev == {x} and again.data == 9.0
    assert copy.copy(x).label == "x"


@pytest.mark.parametrize("way", [*WAYS.values(), copy.copy])
def test_an_operation_of_ones_own_is_not_copied(way: Callable[[Any], Any]) -> None:
    x = sv.Value(3.0)
    y = sv.Value(9.0, (x,), "square")

    def back() -> None:
        x.grad += 6.0 * y.grad

    y._backward = back
    with refused(InputError, "'square'"):
        way(y + 1.0) if way is not copy.copy else way(y)


# Values on a bank.


@every_way
def test_a_parameter_of_an_expression_is_copied_with_its_bank(way: Callable[[Any], Any]) -> None:
    slope, shift = sv.Value(2.0, label="slope"), sv.Value(1.0)
    line = sv.compile(lambda x: slope * x + shift, inputs=1, engine="python")
    slope2, shift2, made = way((slope, shift, slope * 3.0 + shift))
    assert (slope2.data, slope2.label, shift2.data, made.data) == (2.0, "slope", 1.0, 7.0)
    assert slope2._bank is shift2._bank is not slope._bank
    assert not slope2._bank.has_gradients
    slope2.data = 5.0
    assert slope.data == 2.0 and line([3.0]).tolist() == [7.0]
    made.backward()
    assert (slope2.grad, slope.grad) == (3.0, 0.0)


def test_an_input_of_a_function_that_is_recorded_is_not_copied() -> None:
    with refused(InputError, "Recorded(x0)"):
        sv.compile(copy.deepcopy, inputs=1, engine="python")
