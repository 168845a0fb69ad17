"""Weight: the four verbs, and its row in a bank."""

import math

import pytest

import scalarviz as sv
from scalarviz.core.weight import Part
from scalarviz.errors import GradientError, InputError, OrderError, UpdateError
from tests.wording import refused


def test_backward_adds_to_the_gradient_and_hands_on_w_times_g() -> None:
    w = sv.Weight(0.5)
    w.forward(3.0)
    assert w.backward(2.0) == 1.0
    assert w.grad == 6.0


def test_backward_before_forward_is_refused_and_changes_nothing() -> None:
    w = sv.Weight(1.0)
    with refused(OrderError):
        w.backward(1.0)
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


@pytest.mark.parametrize("rows", [-1, "a", 1.5])
def test_a_bank_has_a_whole_number_of_rows(rows: object) -> None:
    with refused(InputError, rows):
        sv.Bank(rows)  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "7"):
        sv.Weight.on(sv.Bank(2), 7)
