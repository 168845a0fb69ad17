"""copy and pickle: what becomes an independent copy, and errors that name another way."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import errors
from scalarviz.errors import InputError
from scalarviz.faces.notebook.notebook_cells import CellOutput
from tests.sessions import advanced
from tests.wording import refused

WAYS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
all_ways = pytest.mark.parametrize("way", [*WAYS.values(), copy.copy], ids=[*WAYS, "copy"])


@pytest.fixture
def net() -> sv.Network:
    layers = [sv.Dense(2, 3, "tanh"), sv.Residual(sv.Dense(3, 3)), sv.Dense(3, 1)]
    return sv.Network(layers, seed=3)


@pytest.fixture
def session(net: sv.Network) -> sv.Session:
    return advanced(sv.Session(net, sv.data.Xor(), optimizer=sv.Adam(0.1), engine="python"), 3)


# What has a way of its own.


@all_ways
def test_a_session_names_its_own_ways(session: sv.Session, way: Callable[[Any], Any]) -> None:
    with refused(InputError, "a session"):
        way(session)


@every_way
def test_a_show_does_as_its_session_does(session: sv.Session, way: Callable[[Any], Any]) -> None:
    with refused(InputError, "a session"):
        way(sv.Show(session))
    assert copy.copy(sv.Show(session)).session is session


@all_ways
def test_replicas_and_what_looks_on_name_theirs(
    session: sv.Session, way: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its kernels are not needed here.
    monkeypatch.setattr("scalarviz.engines.cpu.parallel_networks.CpuMany", lambda *_: None)
    session.to("cpu")
    replicas = sv.replicate(session, [1, 2])
    with refused(InputError, "replicas"):
        way(replicas)
    with refused(InputError, "the snapshot"):
        way(session.snapshot())
    with refused(InputError, "what shows a training"):
        way(CellOutput())


# Errors, which come out of other processes.


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


# What is copied.


@every_way
def test_a_network_is_copied_whole_and_stands_by_itself(
    session: sv.Session, way: Callable[[Any], Any]
) -> None:
    net = session.network
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
def test_a_copy_of_a_network_learns_as_the_network_does(
    net: sv.Network, way: Callable[[Any], Any]
) -> None:
    net.train([[0.0, 1.0]], [[1.0]], optimizer=sv.Adam(0.1), steps=3)
    other = way(net)
    for each in (net, other):
        each.train([[0.0, 1.0]], [[1.0]], optimizer=sv.Adam(0.1), steps=3)
    assert np.array_equal(net.bank.value, other.bank.value)


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
        last = other.perceptrons[0].weights[-1]
        assert last.name == layer.row_name(layer.inputs - 1)
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
