"""Unknown and read-only attributes raise errors, with a hint at what to write instead."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import errors
from scalarviz.base import near_names
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused

PAIR = ([[0.0, 1.0]], [[1.0]])


def network() -> sv.Network:
    return sv.Network([2, 3, 1], seed=0)


def session() -> sv.Session:
    return sv.Session(network(), PAIR, engine="python")


THINGS: dict[str, Callable[[], Any]] = {
    "Session": session,
    "Network": network,
    "Expression": lambda: sv.compile(lambda x: x * x, inputs=1, engine="python"),
    "Dense": lambda: sv.Dense(2, 3),
    "BatchNorm": lambda: sv.BatchNorm(3),
    "SGD": lambda: sv.SGD(0.1),
    "AdamW": lambda: sv.AdamW(0.1),
}
ALL = THINGS | {"Weight": lambda: sv.Weight(1.0), "Value": lambda: sv.Value(1.0)}


# What is set.


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("Session", "learning_rte"),
        ("Session", "lr"),
        ("Session", "optimizr"),
        ("Session", "engin"),
        ("Session", "batch_size"),
        ("Session", "seed"),
        ("Expression", "engin"),
        ("Expression", "lr"),
        ("Network", "engin"),
        ("Network", "lr"),
        ("Dense", "activaton"),
        ("BatchNorm", "momentm"),
        ("SGD", "lrr"),
        ("SGD", "momentum"),
        ("AdamW", "learning_rate"),
        ("AdamW", "weight_decay"),
        ("AdamW", "beta1"),
    ],
)
def test_what_is_misspelt_is_not_set(make: str, name: str) -> None:
    thing = THINGS[make]()
    with refused(UnknownNameError, f"{make} has no attribute {name!r}") as caught:
        setattr(thing, name, 3)
    assert isinstance(caught.value, AttributeError) and not hasattr(thing, name)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("Session", "loss"),
        ("Session", "network"),
        ("Session", "current_branch"),
        ("Session", "step_index"),
        ("Session", "playing"),
        ("Session", "losses"),
        ("Session", "pause"),
        ("Network", "engine"),
        ("Network", "dtype"),
        ("Network", "activation"),
        ("Dense", "activation"),
        ("Dense", "frozen"),
        ("SGD", "name"),
        ("SGD", "settings"),
        ("Session", "timeline"),
        ("Network", "seed"),
        ("Network", "init"),
        ("Network", "layers"),
        ("Network", "inputs"),
        ("Network", "program"),
        ("BatchNorm", "momentum"),
        ("Expression", "engine"),
        ("Expression", "parameters"),
        ("Expression", "precision"),
    ],
)
def test_what_can_only_be_read_says_what_to_call(make: str, name: str) -> None:
    thing = THINGS[make]()
    with refused(InputError, name) as caught:
        setattr(thing, name, "mae")
    assert isinstance(caught.value, AttributeError)


def test_what_can_be_set_is_set() -> None:
    s = session()
    s.learning_rate, s.optimizer, s.focus, s.data = 0.5, sv.Adam(0.1), 0, PAIR
    s.engine = "python"
    optimizer = sv.AdamW(0.1)
    optimizer.lr, optimizer.l1, optimizer.clip_norm = 0.2, 0.3, 1.0
    assert (optimizer.lr, optimizer.l1, optimizer.clip_norm) == (0.2, 0.3, 1.0)
    s.advance = lambda n: n  # type: ignore[method-assign,assignment,misc]  # as mocks do
    assert s.advance(7) == 7


@pytest.mark.parametrize("make", [network, lambda: sv.Dense(2, 3), lambda: sv.Adam(0.1)])
def test_copies_and_pickles_have_all_that_the_original_has(make: Callable[[], Any]) -> None:
    thing = make()
    for each in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert {*vars(each)} == {*vars(thing)} and repr(each) == repr(thing)
        with pytest.raises(UnknownNameError):
            each.whatever = 3


def test_the_errors_go_through_a_pickle() -> None:
    for name in ("lr", "loss"):
        with pytest.raises(InputError) as caught:
            setattr(session(), name, 3)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again)) == (type(caught.value), str(caught.value))


# What is asked for.


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("Network", "cuda"),
        ("Network", "eval"),
        ("Network", "save_weights"),
        ("Network", "weights"),
        ("Network", "fit"),
        ("Network", "paramters"),
        ("Weight", "numpy"),
        ("Value", "numpy"),
        ("Value", "detach"),
        ("SGD", "step"),
        ("SGD", "zero_grad"),
        ("AdamW", "param_groups"),
        ("AdamW", "state_dict"),
        ("Session", "train"),
        ("Session", "parameters"),
        ("Session", "state_dict"),
        ("Session", "advnce"),
    ],
)
def test_a_name_of_another_library_is_answered_by_ours(make: str, name: str) -> None:
    thing = ALL[make]()
    assert not hasattr(thing, name) and getattr(thing, name, None) is None
    with refused(AttributeError, f"{make} has no attribute {name!r}"):
        getattr(thing, name)


@pytest.mark.parametrize("name", ["value", "gradient", "requires_grad", "numpy", "detach"])
def test_what_is_called_otherwise_elsewhere_is_not_hung_on_a_value(name: str) -> None:
    by_operation = sv.Value(1.0) * 2.0
    settled = sv.Value(1.0)
    sv.compile(lambda x: settled * x, inputs=1, engine="python")
    for x in (sv.Value(1.0), by_operation, settled):
        with refused(UnknownNameError, f"Value has no attribute {name!r}"):
            setattr(x, name, 3.0)
        assert not hasattr(x, name)


def test_classes_of_users_may_call_things_as_they_like() -> None:
    class Named(sv.Value):
        pass

    x = Named(1.0)
    assert not hasattr(x, "value")
    x.value = 3.0
    assert (x.value, copy.deepcopy(x).value, x.data) == (3.0, 3.0, 1.0)


def test_a_name_is_absent_from_the_class_too() -> None:
    assert not hasattr(sv.Value, "numpy") and not hasattr(sv.Weight, "numpy")
    with pytest.raises(AttributeError):
        sv.Weight(1.0).numpy = 3  # type: ignore[attr-defined]  # on purpose


def test_an_error_within_a_property_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = property(lambda self: self.bank.nothing)
    monkeypatch.setattr(sv.Network, "dtype", broken)
    with pytest.raises(AttributeError, match="'Bank' object has no attribute 'nothing'"):
        _ = network().dtype


# The table itself.


def test_every_attribute_in_the_table_is_one_of_ours() -> None:
    others = {"Part": THINGS["Dense"], "Optimizer": THINGS["SGD"]}
    things = ALL | others | {"LossValue": lambda: sv.Loss("mse")([1.0], [0.0])}
    for kind, names in near_names.ATTRIBUTES_OF.items():
        thing = things[kind]()
        for word, meant in names.items():
            assert word == near_names.plain(word)
            assert " " in meant or hasattr(thing, meant), (kind, word, meant)


def test_the_tree_of_errors_has_them() -> None:
    for kind in (errors.UnknownAttributeError, errors.ReadOnlyError):
        assert issubclass(kind, AttributeError) and issubclass(kind, InputError)
        assert kind.__name__ in str(errors.__doc__)
