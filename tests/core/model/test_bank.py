"""The bank: one array of each kind for its whole life, and only finite numbers in it."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import start_scaling
from scalarviz.core.precision import Precision
from scalarviz.errors import (
    InputError,
    NotFiniteError,
    ShapeError,
    UnknownNameError,
    UnknownSlotError,
)
from tests.strategies import RUNNABLE
from tests.wording import refused

PAIR = [[0.0, 1.0], [1.0, 0.5]], [[1.0], [0.0]]


def trained(engine: str = "python") -> sv.Network:
    net = sv.Network([2, 3, 1], "tanh", engine=engine)
    net.train(*PAIR, "mse", sv.Adam(0.1), steps=2)
    return net


# One array of each kind.


@pytest.mark.parametrize("engine", RUNNABLE)
def test_a_bank_that_is_assigned_to_stays_the_one_truth(engine: str) -> None:
    net = trained(engine)
    bank, w, rows = net.bank, net.parameters()[4], len(net.bank)
    arrays = bank.value, bank.grad, bank.frozen, bank.state, bank.slots["m"]
    numbers = np.linspace(-1.0, 1.0, rows)
    bank.value = numbers
    bank.grad = 2.0 * numbers
    bank.frozen = numbers > 0.5
    bank.state = np.array([2.0, 3.0, 4.0])
    bank.slots["m"] = 3.0 * numbers
    now = bank.value, bank.grad, bank.frozen, bank.state, bank.slots["m"]
    assert all(np.shares_memory(a, b) for a, b in zip(arrays, now, strict=True))
    assert all(a is b for a, b in zip(arrays[:4], now[:4], strict=True))
    numbers[:] = 9.0  # what was assigned was copied
    assert w.value == bank.value[4] == pytest.approx(-1.0 + 8.0 / (rows - 1))
    assert w.grad == pytest.approx(2.0 * w.value)
    assert bank.slot_block(("m", "v"))[0, 4] == pytest.approx(3.0 * w.value)
    assert bank.state.tolist() == [2.0, 3.0, 4.0] and bank.frozen.any()


@pytest.mark.parametrize("engine", RUNNABLE)
def test_engines_and_objects_go_on_with_what_was_assigned(engine: str) -> None:
    net, other = trained(engine), trained(engine)
    numbers = np.linspace(-1.0, 1.0, len(net.bank))
    net.bank.value = numbers
    other.bank.value[:] = numbers
    assert (net([0.3, 0.7]) == other([0.3, 0.7])).all()
    for each in (net, other):
        each.train(*PAIR, "mse", sv.Adam(0.1), steps=3)
    assert (net.bank.value == other.bank.value).all()
    assert net.parameters()[0].value == net.bank.value[0]


ROWS = 13


@pytest.mark.parametrize("name", ["value", "grad", "frozen", "state", "m"])
@pytest.mark.parametrize(
    ("wrong", "error", "value"),
    [
        (
            np.zeros(5),
            ShapeError,
            "shape (5,)",
        ),
        (1.0, ShapeError, "of shape ()"),
        ([[1.0], [1.0, 2.0]], ShapeError, "[[1.0], [1.0, 2.0]]"),
        (np.zeros((ROWS, 1)), ShapeError, "1)"),
        (["a"] * ROWS, ShapeError, "<U1"),
        ([1j] * ROWS, ShapeError, "complex128"),
        (None, ShapeError, "of object"),
    ],
)
def test_what_does_not_fit_a_bank_is_refused(
    name: str, wrong: Any, error: type[Exception], value: str
) -> None:
    bank = trained().bank
    before = pickle.dumps(bank)
    with refused(error, value):
        assign(bank, name, wrong)
    assert pickle.dumps(bank) == before


@pytest.mark.parametrize("name", ["value", "grad", "m"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_what_is_no_finite_number_of_its_type_is_refused(name: str, bad: float) -> None:
    bank = trained().bank
    before = pickle.dumps(bank)
    numbers = np.zeros(ROWS)
    numbers[7] = bad
    with refused(NotFiniteError, "row 7"):
        assign(bank, name, numbers)
    assert pickle.dumps(bank) == before


def test_losses_are_scaled_in_mixed_precision_only() -> None:
    bank = Bank(2, "float32")
    for name, scale in (("mixed", 256.0), ("full", 1.0)):
        start_scaling(bank, Precision(name, loss_scale=256.0))
        assert bank.scaling.tolist() == [scale, 0.0, 0.0]


def test_slots_are_written_by_their_names() -> None:
    bank = trained().bank
    with refused(InputError):
        bank.slots = {"m": np.zeros(ROWS)}
    with refused(UnknownSlotError, "'x'"):
        bank.slots["x"] = np.zeros(ROWS)
    assert repr(bank.slots) == "Slots(m, v)" and len(bank.slots) == 2


def assign(bank: Bank, name: str, numbers: Any) -> None:
    if name == "m":
        bank.slots["m"] = numbers
    else:
        setattr(bank, name, numbers)


# One number.


def leaf_of_a_network(dtype: str) -> Any:
    return sv.Network([2, 3, 1], dtype=dtype).parameters()[4]


def leaf_of_an_expression(dtype: str) -> Any:
    value = sv.Value(0.5, label="w")
    sv.compile(lambda x: x * value, 1, dtype=dtype)
    return value


WRITES: dict[str, tuple[Callable[[str], Any], str]] = {
    "value": (leaf_of_a_network, "value"),
    "gradient": (leaf_of_a_network, "grad"),
    "leaf": (lambda dtype: leaf_of_a_network(dtype).as_value(), "data"),
    "compiled": (leaf_of_an_expression, "data"),
    "alone": (lambda dtype: sv.Weight(0.5, dtype=dtype), "value"),
}


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize("bad", [1e300, -1e39, 2.0**128, math.nan, math.inf, "1", None, 10**400])
def test_a_number_that_its_type_cannot_hold_is_refused(kind: str, bad: Any) -> None:
    make, name = WRITES[kind]
    part = make("float32")
    before = getattr(part, name)
    with refused(InputError, bad):
        setattr(part, name, bad)
    assert getattr(part, name) == before


def test_an_edit_that_is_too_large_says_where_its_type_ends() -> None:
    s = sv.Session(sv.Network([2, 3, 1]), PAIR, engine="python")
    with refused(InputError, "1e+300"):
        s.edit(0, 1e300)
    with refused(InputError, "nan"):
        s.edit(0, math.nan)


def test_no_other_way_makes_an_infinite_weight_of_a_large_number() -> None:
    with refused(InputError, "1e+300"):
        sv.Weight(1e300, dtype="float32")
    wide = sv.Network([2, 3, 1], dtype="float64")
    wide.bank.value[3] = 1e300
    with refused(InputError, "1e+300"):
        wide.copy("float32")
    value = sv.Value(1e300)
    with refused(InputError, "1e+300"):
        sv.compile(lambda x: x * value, 1, dtype="float32")
    assert type(value) is sv.Value and value.data == 1e300


def test_a_slot_that_there_is_not_yet_is_said_to_come_with_the_first_step() -> None:
    slots = sv.Network([2, 1]).bank.slots
    with refused(UnknownNameError, "'m'"):
        _ = slots["m"]
    with refused(KeyError, "'velocity'"):
        _ = trained().bank.slots["velocity"]
    assert "m" not in slots and slots.get("m") is None


@pytest.mark.parametrize("bad", ["a", -1, 1.5, None, 2**63])
def test_a_count_of_steps_is_a_whole_number(bad: Any) -> None:
    bank = trained().bank
    steps = bank.step_count
    with refused(InputError, bad):
        bank.step_count = bad
    assert bank.step_count == steps
    bank.step_count = 7
    assert bank.step_count == copy.deepcopy(bank).step_count == 7
