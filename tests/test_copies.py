"""copy and pickle.

Independent copies of Values, banks, networks and sessions, and errors for unsupported objects.
"""

import copy
import io
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import errors
from scalarviz.errors import InputError
from scalarviz.faces.notebook.notebook_cells import CellOutput
from tests.sessions import advanced
from tests.training.session.test_session import COLOURS, PAIR, session
from tests.wording import refused

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}
every_way = pytest.mark.parametrize("way", COPIES.values(), ids=COPIES)
all_ways = pytest.mark.parametrize("way", [*COPIES.values(), copy.copy], ids=[*COPIES, "copy"])


@pytest.fixture
def net() -> sv.Network:
    return sv.Network([sv.Dense(2, 3, "tanh"), sv.Residual(sv.Dense(3, 3)), sv.Dense(3, 1)], seed=3)


@pytest.fixture
def network_session(net: sv.Network) -> sv.Session:
    return advanced(sv.Session(net, sv.data.Xor(), optimizer=sv.Adam(0.1), engine="python"), 3)


# Classes with a specific copy method.


@all_ways
def test_a_session_names_its_own_ways(
    network_session: sv.Session, way: Callable[[Any], Any]
) -> None:
    refused(InputError, "a session").by(way, network_session)


@every_way
def test_a_show_does_as_its_session_does(
    network_session: sv.Session, way: Callable[[Any], Any]
) -> None:
    refused(InputError, "a session").by(way, sv.Show(network_session))
    assert copy.copy(sv.Show(network_session)).session is network_session


@all_ways
def test_replicas_and_what_looks_on_name_theirs(
    network_session: sv.Session, way: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its kernels are not needed here.
    monkeypatch.setattr("scalarviz.engines.cpu.parallel_networks.CpuMany", lambda *_: None)
    network_session.to("cpu")
    replicas = sv.replicate(network_session, [1, 2])
    refused(InputError, "replicas").by(way, replicas)
    refused(InputError, "the snapshot").by(way, network_session.snapshot())
    refused(InputError, "what shows a training").by(way, CellOutput())


# Errors passed between processes.


def test_errors_are_pickled_whatever_they_are_made_from() -> None:
    errors_of_ours = [
        errors.UnknownNameError("map", "gray", ["grey"]),
        errors.SceneError("mine.py, line 3: NameError: x", ["  File mine.py, line 3\n"]),
        errors.InputError("one line", "and another"),
        errors.UpdateError(3, "weight 1 inf: take a smaller learning rate"),
    ]
    for error in errors_of_ours:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


# Copied objects.


@every_way
def test_a_network_is_copied_whole_and_stands_by_itself(
    network_session: sv.Session, way: Callable[[Any], Any]
) -> None:
    net = network_session.network
    other = way(net)
    assert np.array_equal(other.bank.value, net.bank.value)
    assert {name: kept.tolist() for name, kept in other.bank.slots.items()} == {
        name: kept.tolist() for name, kept in net.bank.slots.items()
    }
    assert [other.weight(row).name for row in range(len(net.bank))] == [
        net.weight(row).name for row in range(len(net.bank))
    ]
    assert other.weight(4).bank is other.bank is other.layers[1].bank
    before = net.bank.value.copy()
    other.train([[0.0, 1.0]], [[1.0]], optimizer=sv.Adam(0.1), steps=2)
    assert np.array_equal(net.bank.value, before)
    assert not np.array_equal(other.bank.value, before)
    sv.Session(other, sv.data.Xor(), engine="python").advance(1)


@every_way
def test_the_parts_of_a_network_are_copied_with_their_bank(
    net: sv.Network, way: Callable[[Any], Any]
) -> None:
    for part in (net.layers[2], net.layers[1], net.layers[2].perceptrons[0], net.weight(4)):
        other = way(part)
        assert other.bank is not net.bank
        assert np.array_equal(other.bank.value[other.rows], net.bank.value[part.rows])
        other.bank.value[other.rows] = 7.0
        assert not (net.bank.value == 7.0).any()
    assert np.array_equal(way(net.bank).value, net.bank.value)
    assert way(net.weight(4).as_value()).data == net.weight(4).value


@every_way
def test_a_layer_that_is_copied_alone_knows_the_names_of_its_weights(
    net: sv.Network, way: Callable[[Any], Any]
) -> None:
    for layer in (sv.Dense(2, 3), net.layers[2]):
        other = way(layer)
        assert other.perceptrons[0].weights[-1].name == layer.row_name(layer.inputs - 1)
        assert other.bank.name_of(0) in ("row 0", "perceptron 0, weight from input 0")
        assert np.array_equal(other(np.ones(layer.inputs)), layer(np.ones(layer.inputs)))


def test_a_shallow_copy_leaves_the_names_to_the_network(net: sv.Network) -> None:
    name = net.weight(20).name
    copy.copy(net.layers[2]), copy.copy(net)
    assert net.weight(20).name == name


@pytest.mark.parametrize("engine", ["python", "cpu"])
@every_way
def test_an_expression_is_copied_with_its_parameters(
    way: Callable[[Any], Any], engine: str
) -> None:
    slope, shift = sv.Value(2.0, label="slope"), sv.Value(1.0)
    other = way(sv.compile(lambda x: slope * x + shift, inputs=1, engine=engine))
    assert other.engine == engine and other([3.0]).tolist() == [7.0]
    other.parameters[0].data = 5.0
    assert other([3.0]).tolist() == [16.0] and slope.data == 2.0
    assert [p.label for p in other.parameters] == ["slope", ""]


# In the form of dill.
VALUE_COPIES = COPIES | {"pickle in Python": lambda thing: pickle.loads(pickle._dumps(thing))}
every_way_of_values = pytest.mark.parametrize("way", VALUE_COPIES.values(), ids=VALUE_COPIES)


def chain(length: int) -> tuple[sv.Value, sv.Value]:
    """Return a leaf, and the result of `length` operations on it."""
    x = sv.Value(1.0, label="x")
    y = x
    for _ in range(length):
        y = (y * 0.999 + x).tanh()
    return x, y


@pytest.mark.some(3)
@every_way_of_values
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
@every_way_of_values
def test_a_chain_may_be_very_long(way: Callable[[Any], Any]) -> None:
    x, y = chain(100_000)
    x2, y2 = way((x, y))
    y2.backward(), y.backward()
    assert x2.grad == x.grad


@pytest.mark.some(3)
@every_way_of_values
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
    alone = pickle.loads(pickle.dumps(z))  # while the other one holds most of the graph
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


@every_way_of_values
def test_gradients_that_are_expressions_are_copied(way: Callable[[Any], Any]) -> None:
    x, y = chain(10)
    y.backward(create_graph=True)
    x2, y2 = way((x, y))
    assert x2.grad.data == x.grad.data
    y2.zero_grad()
    way(x.grad).backward()


def test_long_ones_are_deep_copied_and_not_pickled() -> None:
    x, y = chain(2000)
    y.backward(create_graph=True)
    x2, _ = copy.deepcopy((x, y))
    assert x2.grad.data == x.grad.data and x2.grad is not x.grad
    refused(InputError, "6,000").by(pickle.dumps, y)
    y.zero_grad()
    pickle.dumps(y)


def test_a_shallow_copy_is_made_of_the_same_values() -> None:
    x = sv.Value(3.0, label="x")
    y = x * x
    again = copy.copy(y)
    assert again is not y and again._prev == {x} and again.data == 9.0
    assert copy.copy(x).label == "x"


@pytest.mark.parametrize("way", [*VALUE_COPIES.values(), copy.copy])
def test_an_operation_of_ones_own_is_not_copied(way: Callable[[Any], Any]) -> None:
    x = sv.Value(3.0)
    y = sv.Value(9.0, (x,), "square")

    def back() -> None:
        x.grad += 6.0 * y.grad

    y._backward = back
    with refused(InputError, "'square'"):
        way(y + 1.0) if way is not copy.copy else way(y)


# Values of a bank.


@every_way_of_values
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
    refused(InputError, "Recorded(x0)").by(sv.compile, copy.deepcopy, inputs=1, engine="python")


def test_a_copy_has_the_pinned_weights_of_its_original() -> None:
    s = advanced(session(), 20)
    s.pin([3, 5])
    s.history(3, wait=True)
    s.back(10)
    s.branch()
    s.advance(5)
    copied = s.copy()
    assert copied.pinned == [3, 5]
    for each in (3, 5):
        (steps, values), (own, known) = s.history(each), copied.history(each)
        assert steps.tolist() == own.tolist() == list(range(16))
        assert values.tolist() == known.tolist()
    copied.advance(1)
    copied.pin(5, on=False)
    assert s.pinned == [3, 5] and len(s.history(3)[0]) == 16


def test_a_copy_shows_the_sample_that_its_original_showed() -> None:
    s = advanced(session(), 1)
    s.focus = 5
    assert s.copy().focus == 5


def test_a_batch_that_has_become_smaller_has_no_sample_beyond_its_end() -> None:
    s = session()
    s.focus = 7
    s.data = COLOURS[:3], COLOURS[:3]
    assert s.focus == 2
    s.data = PAIR
    assert s.focus == 7
