"""Weight: the four verbs, and its row in a bank."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.model.part import Part
from scalarviz.errors import GradientError, InputError, OrderError, UpdateError
from tests.wording import refused


def test_backward_adds_to_the_gradient_and_hands_on_w_times_g() -> None:
    w = sv.Weight(0.5)
    w.forward(3.0)
    assert w.backward(2.0) == 1.0
    assert w.grad == 6.0


def test_step_goes_against_the_gradient_with_rate_01_by_default() -> None:
    w = sv.Weight(0.5)
    w.forward(3.0)
    w.backward(1.0)
    w.step()
    assert w.value == 0.5 - 0.01 * 3.0


def test_a_call_evaluates_and_keeps_nothing() -> None:
    w = sv.Weight(2.0)
    assert [w(3.0) for _ in range(10_000)][-1] == 6.0
    assert w.unmatched == 0


def test_backward_before_forward_is_refused_and_changes_nothing() -> None:
    w = sv.Weight(1.0)
    with refused(OrderError):
        w.backward(1.0)
    assert (w.value, w.grad, w.bank.has_gradients) == (1.0, 0.0, False)


def test_a_step_without_gradients_is_refused() -> None:
    w = sv.Weight(1.0)
    w.forward(1.0)
    with refused(OrderError):
        w.step()
    w.backward(1.0)
    w.step()
    w.zero_grad()
    with pytest.raises(OrderError):
        w.step()


def test_a_gradient_that_is_0_is_a_gradient() -> None:
    w = sv.Weight(1.0)
    w.forward(0.0)
    w.backward(1.0)
    w.step()
    assert w.value == 1.0


def test_a_frozen_weight_does_not_step() -> None:
    w = sv.Weight(1.0)
    w.freeze()
    w.forward(1.0)
    w.backward(1.0)
    w.step()
    assert (w.value, w.grad, w.frozen) == (1.0, 1.0, True)
    w.unfreeze()
    w.step()
    assert w.value == 0.99


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


@pytest.mark.parametrize("bad", [math.nan, math.inf, "0.5", b"1", 10**400, None, [1.0]])
def test_a_value_must_be_a_finite_number(bad: object) -> None:
    w = sv.Weight(1.0)
    with refused(InputError, bad):
        w.value = bad  # type: ignore[assignment]  # on purpose
    assert w.value == 1.0
    with refused(InputError, bad):
        sv.Weight(bad)  # type: ignore[arg-type]  # on purpose


def test_an_input_that_is_no_number_is_refused_and_not_kept() -> None:
    w = sv.Weight(1.0)
    with refused(InputError, "'three'"):
        w.forward("three")  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "None"):
        w(None)  # type: ignore[arg-type]  # on purpose
    assert w.unmatched == 0


def test_a_weight_is_a_live_view_of_its_row() -> None:
    bank = sv.Bank(3)
    w = sv.Weight.on(bank, 1)
    w.value = 0.25
    assert bank.value.tolist() == [0.0, 0.25, 0.0]
    bank.value[1] = 2.0
    bank.grad[1] = -1.0
    assert (w.value, w.grad) == (2.0, -1.0)


def test_a_bank_is_float32_unless_float64_is_asked_for() -> None:
    assert sv.Bank(2).value.dtype == np.float32
    assert sv.Bank(2, "float64").grad.dtype == np.float64
    with refused(InputError, "'float16'"):
        sv.Bank(2, "float16")


def test_stepping_one_by_one_counts_as_one_step() -> None:
    together, apart = sv.Network([3, 2], seed=5), sv.Network([3, 2], seed=5)
    for _ in range(3):
        for net in (together, apart):
            net.zero_grad()
            net.forward([0.1, 0.2, 0.3])
            net.backward([1.0, -1.0])
        together.step(sv.Adam(0.01))
        for weight in apart.parameters():
            weight.step(sv.Adam(0.01))
    assert (together.bank.value == apart.bank.value).all()
    assert together.bank.step_count == apart.bank.step_count == 3


def test_a_step_that_is_too_large_for_float32_is_not_taken() -> None:
    bank = sv.Bank(1)
    bank.grad[0] = 3e38
    with refused(UpdateError, "-inf"):
        bank.step(sv.SGD(1e10), slice(None))
    assert bank.value[0] == 0.0 and bank.step_count == 0


def test_a_weight_and_a_bank_print_their_state() -> None:
    w = sv.Weight(0.5)
    assert repr(w) == "Weight(the weight: value=0.5, grad=0)"
    assert repr(w.bank) == "Bank(1 rows of float64: value, grad; step 0)"


def test_zero_grad_of_one_weight_leaves_the_gradients_of_the_others() -> None:
    p = sv.Perceptron(2)
    p.forward([0.0, 0.0])
    p.backward(0.0)  # a gradient of 0 is a gradient, here for all three
    p.weights[0].zero_grad()
    p.step()


def test_a_gradient_can_be_set_by_hand() -> None:
    w = sv.Weight(1.0)
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


@pytest.mark.parametrize(
    ("expression", "value", "slope"),
    [
        (lambda w: w + 1, 3.0, 1.0),
        (lambda w: 1 + w, 3.0, 1.0),
        (lambda w: w - 1, 1.0, 1.0),
        (lambda w: 1 - w, -1.0, -1.0),
        (lambda w: w * 3, 6.0, 3.0),
        (lambda w: 3 * w, 6.0, 3.0),
        (lambda w: w / 4, 0.5, 0.25),
        (lambda w: 4 / w, 2.0, -1.0),
        (lambda w: w**3, 8.0, 12.0),
        (lambda w: -w, -2.0, -1.0),
        (lambda w: 3**w, 9.0, 9.0 * math.log(3.0)),
        (lambda w: sv.Value(3.0) ** w, 9.0, 9.0 * math.log(3.0)),
        (lambda w: abs(w - 5), 3.0, -1.0),
        (lambda w: abs(w), 2.0, 1.0),
        (lambda w: w * w, 4.0, 4.0),
        (lambda w: sv.Value(3.0) * w, 6.0, 3.0),
        (lambda w: w.as_value().log(), math.log(2.0), 0.5),
    ],
)
def test_a_weight_has_the_operators_of_a_value(
    expression: object, value: float, slope: float
) -> None:
    w = sv.Weight(2.0)
    result = expression(w)  # type: ignore[operator]  # a function of a parametrized test
    result.backward()
    assert (result.data, w.grad) == pytest.approx((value, slope))


def test_a_weight_is_read_when_the_expression_is_made() -> None:
    w = sv.Weight(2.0)
    leaf = w.as_value()
    w.value = 5.0
    assert (leaf * 1.0).data == 5.0
    leaf.data = 3.0
    assert w.value == 3.0


def test_the_gradient_of_a_weight_cannot_be_an_expression() -> None:
    w, x = sv.Weight(2.0), sv.Value(3.0)
    with refused(InputError):
        (w * x).backward(create_graph=True)
    assert (w.grad, x.grad) == (0.0, 0)


def test_what_no_weight_can_be_combined_with_is_refused() -> None:
    with refused(InputError, "'x'"):
        _ = sv.Weight(1.0) * "x"  # type: ignore[operator]  # on purpose


# Findings of a first user.


@pytest.mark.parametrize("bad", ["x", None, [1.0], 1j])
def test_an_upstream_gradient_that_is_no_number_is_refused_and_nothing_is_lost(bad: object) -> None:
    w = sv.Weight(1.0)
    w.forward(2.0)
    with refused(InputError, bad):
        w.backward(bad)  # type: ignore[arg-type]  # on purpose
    assert (w.unmatched, w.grad) == (1, 0.0)
    w.backward(1.0)
    assert w.grad == 2.0


def test_an_expression_whose_gradient_is_infinite_is_named_by_the_step() -> None:
    w, x = sv.Weight(0.0), sv.Value(2.0)
    y = x * w.as_value().log() + x
    y.backward()
    assert w.grad == math.inf
    with refused(GradientError, "inf"):
        w.step()


def test_clearing_the_gradients_of_an_expression_leaves_none_to_step_with() -> None:
    w = sv.Weight(1.0)
    y = w * 2
    y.zero_grad()
    with pytest.raises(OrderError):
        w.step()


@pytest.mark.parametrize("rows", [-1, "a", 1.5])
def test_a_bank_has_a_whole_number_of_rows(rows: object) -> None:
    with refused(InputError, rows):
        sv.Bank(rows)  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "7"):
        sv.Weight.on(sv.Bank(2), 7)
