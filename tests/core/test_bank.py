"""The bank, and a Weight on its row.

One array of each kind for its whole life, the four verbs, finite numbers only.
"""

import copy
import math
import pickle
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.kernel_threads import Guard
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import start_scaling
from scalarviz.core.device_arrays import DeviceNumbers
from scalarviz.core.formulas.arithmetic import COMPARISONS
from scalarviz.core.precision import Precision
from scalarviz.core.weight import Part
from scalarviz.errors import (
    GradientError,
    InputError,
    NotFiniteError,
    OrderError,
    ShapeError,
    UnknownNameError,
    UnknownSlotError,
    UpdateError,
)
from tests.sessions import OPERATORS, every_engine
from tests.wording import refused

PAIR = [[0.0, 1.0], [1.0, 0.5]], [[1.0], [0.0]]


def trained(engine: str = "python") -> sv.Network:
    net = sv.Network([2, 3, 1], "tanh", engine=engine)
    net.train(*PAIR, "mse", sv.Adam(0.1), steps=2)
    return net


@pytest.fixture
def bank() -> sv.Bank:
    return trained().bank


# One array of each kind.


@pytest.fixture
def w() -> sv.Weight:
    return sv.Weight(1.0)


@every_engine
def test_a_bank_that_is_assigned_to_stays_the_one_truth(engine: str) -> None:
    net = trained()
    bank, w, rows = net.bank, net.parameters()[4], len(net.bank)
    arrays = bank.value, bank.grad, bank.frozen, bank.state, bank.slots["m"]
    net.to(engine).train(*PAIR, "mse", sv.Adam(0.1), steps=2)
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


@every_engine
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
    name: str, wrong: Any, error: type[Exception], value: str, bank: sv.Bank
) -> None:
    before = pickle.dumps(bank)
    refused(error, value).by(assign, bank, name, wrong)
    assert pickle.dumps(bank) == before


@pytest.mark.parametrize("name", ["value", "grad", "m"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_what_is_no_finite_number_of_its_type_is_refused(
    name: str, bad: float, bank: sv.Bank
) -> None:
    before = pickle.dumps(bank)
    numbers = np.zeros(ROWS)
    numbers[7] = bad
    refused(NotFiniteError, "row 7").by(assign, bank, name, numbers)
    assert pickle.dumps(bank) == before


def test_losses_are_scaled_in_mixed_precision_only() -> None:
    bank = Bank(2, "float32")
    for name, scale in (("mixed", 256.0), ("full", 1.0)):
        start_scaling(bank, Precision(name, loss_scale=256.0))
        assert bank.scaling.tolist() == [scale, 0.0, 0.0]


def test_slots_are_written_by_their_names(bank: sv.Bank) -> None:
    refused(InputError).by(setattr, bank, "slots", {"m": np.zeros(ROWS)})
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
    refused(InputError, bad).by(setattr, part, name, bad)
    assert getattr(part, name) == before


def test_an_edit_that_is_too_large_says_where_its_type_ends() -> None:
    s = sv.Session(sv.Network([2, 3, 1]), PAIR, engine="python")
    refused(InputError, "1e+300").by(s.edit, 0, 1e300)
    refused(InputError, "nan").by(s.edit, 0, math.nan)


def test_no_other_way_makes_an_infinite_weight_of_a_large_number() -> None:
    refused(InputError, "1e+300").by(sv.Weight, 1e300, dtype="float32")
    wide = sv.Network([2, 3, 1], dtype="float64")
    wide.bank.value[3] = 1e300
    refused(InputError, "1e+300").by(wide.copy, "float32")
    value = sv.Value(1e300)
    refused(InputError, "1e+300").by(sv.compile, lambda x: x * value, 1, dtype="float32")
    assert type(value) is sv.Value and value.data == 1e300
    for bad in (math.nan, math.inf, "0.5", 10**400, [1.0]):
        refused(InputError).by(sv.Weight, bad)


def test_a_slot_that_there_is_not_yet_is_said_to_come_with_the_first_step() -> None:
    slots = sv.Network([2, 1]).bank.slots
    with refused(UnknownNameError, "'m'"):
        _ = slots["m"]
    with refused(KeyError, "'velocity'"):
        _ = trained().bank.slots["velocity"]
    assert "m" not in slots and slots.get("m") is None


@pytest.mark.parametrize("bad", ["a", -1, 1.5, None, 2**63])
def test_a_count_of_steps_is_a_whole_number(bad: Any, bank: sv.Bank) -> None:
    steps = bank.step_count
    refused(InputError, bad).by(setattr, bank, "step_count", bad)
    assert bank.step_count == steps
    bank.step_count = 7
    assert bank.step_count == copy.deepcopy(bank).step_count == 7


def test_backward_adds_to_the_gradient_and_hands_on_w_times_g() -> None:
    w = sv.Weight(0.5)
    w.forward(3.0)
    assert w.backward(2.0) == 1.0
    assert w.grad == 6.0


def test_backward_before_forward_is_refused_and_changes_nothing(w: sv.Weight) -> None:
    refused(OrderError).by(w.backward, 1.0)
    assert (w.value, w.grad, w.bank.has_gradients) == (1.0, 0.0, False)


@pytest.mark.parametrize(
    "part",
    [sv.Weight(1.0), sv.Perceptron(2), sv.Dense(2, 3), sv.Network([2, 3, 1])],
    ids=lambda part: type(part).__name__,
)
def test_freezing_takes_whether_to_freeze_as_a_session_does(part: Part) -> None:
    part.freeze(True)
    assert part.frozen
    part.freeze(False)
    assert not part.frozen and not part.bank.frozen.any()
    part.freeze(on=True)
    assert part.frozen


def test_an_input_that_is_no_number_is_refused_and_not_kept(w: sv.Weight) -> None:
    refused(InputError, "'three'").by(w.forward, "three")
    refused(InputError, "None").by(w, None)
    assert w.unmatched == 0


def test_a_step_that_is_too_large_for_float32_is_not_taken() -> None:
    bank = sv.Bank(1)
    bank.grad[0] = 3e38
    refused(UpdateError, "-inf").by(bank.step, sv.SGD(1e10), slice(None))
    assert bank.value[0] == 0.0 and bank.step_count == 0


def test_a_weight_and_a_bank_print_their_state() -> None:
    w = sv.Weight(0.5)
    assert repr(w) == "Weight(the weight: value=0.5, grad=0)"
    assert repr(w.bank) == "Bank(1 rows of float64: value, grad; step 0)"


def test_a_gradient_can_be_set_by_hand(w: sv.Weight) -> None:
    w.grad = 0.0
    w.step()
    w.grad = 2.0
    w.step(sv.SGD(0.25))
    assert w.value == 0.5


# In an expression of Values.


def test_a_weight_in_an_expression_gets_its_gradient_in_its_bank() -> None:
    net = sv.Network([2, 2], dtype="float64")
    a, b = net.parameters()[0], net.parameters()[3]
    x = sv.Value(0.7)
    ((a * x - b) ** 2).backward()
    inside = 2 * (a.value * 0.7 - b.value)
    assert net.bank.grad.tolist() == pytest.approx([inside * 0.7, 0, 0, -inside, 0, 0])
    assert x.grad == pytest.approx(inside * a.value)
    net.step(sv.SGD(0.1))


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - COMPARISONS))
@pytest.mark.parametrize("others", [(3,), (sv.Value(3.0),)], ids=["number", "value"])
def test_a_weight_has_the_operators_of_a_value(name: str, others: tuple[Any, ...]) -> None:
    for turn in (1, -1):
        found = []
        for leaf in (sv.Weight(2.0), sv.Value(2.0)):
            result = OPERATORS[name](*[leaf, *others[: name != "negate"]][::turn])
            (result + leaf * leaf + abs(leaf)).backward()
            found.append((float(result), leaf.grad))
        assert found[0] == pytest.approx(found[1])


def test_the_gradient_of_a_weight_cannot_be_an_expression() -> None:
    w, x = sv.Weight(2.0), sv.Value(3.0)
    refused(InputError).by((w * x).backward, create_graph=True)
    assert (w.grad, x.grad) == (0.0, 0)


def test_what_no_weight_can_be_combined_with_is_refused() -> None:
    with refused(InputError, "'x'"):
        _ = sv.Weight(1.0) * "x"  # type: ignore[operator]  # on purpose


# Findings of a first user.


@pytest.mark.parametrize("bad", ["x", None, [1.0], 1j])
def test_an_upstream_gradient_that_is_no_number_is_refused_and_nothing_is_lost(
    bad: object, w: sv.Weight
) -> None:
    w.forward(2.0)
    refused(InputError, bad).by(w.backward, bad)
    assert (w.unmatched, w.grad) == (1, 0.0)
    w.backward(1.0)
    assert w.grad == 2.0


def test_an_expression_whose_gradient_is_infinite_is_named_by_the_step() -> None:
    w, x = sv.Weight(0.0), sv.Value(2.0)
    (x * w.as_value().log() + x).backward()
    assert w.grad == math.inf
    refused(GradientError, "inf").by(w.step)


@pytest.mark.parametrize("rows", [-1, "a", 1.5])
def test_a_bank_has_a_whole_number_of_rows(rows: object) -> None:
    refused(InputError, rows).by(sv.Bank, rows)
    refused(InputError, "7").by(sv.Weight.on, sv.Bank(2), 7)


class Keeper:
    """Counts how often its numbers are fetched."""

    count = 0

    def fetch(self) -> None:
        self.count += 1


def test_they_are_not_fetched_within_a_portion_of_another_thread() -> None:
    away, keeper, guard = DeviceNumbers(), Keeper(), Guard()
    away.leave(keeper)
    with guard:  # as a portion of background play holds it
        reader = Thread(target=away.fetch, args=(guard,))
        reader.start()
        reader.join()
        assert keeper.count == 0 and away.keeper is keeper
        away.fetch(guard)
        assert keeper.count == 1 and away.keeper is None
    away.leave(keeper)
    away.fetch(guard)
    assert keeper.count == 2
