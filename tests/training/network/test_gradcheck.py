"""gradcheck: it finds wrong derivatives, and skips kinks."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.layers.dense import Dense
from scalarviz.errors import GradientMismatchError, InputError
from tests.wording import refused


def test_a_wrong_derivative_is_found() -> None:
    wrong = Formula("wrong", lambda x: x * x, (lambda x, y: 2.0001 * x,))
    with refused(GradientMismatchError, "6.0003"):
        sv.gradcheck(wrong, 3.0)


def test_an_error_of_a_millionth_is_found_and_one_of_a_billionth_is_not() -> None:
    for factor, found in ((1.0 + 2e-6, True), (1.0 + 1e-9, False)):
        row = Formula("row", lambda x: x * x * x, (lambda x, y, f=factor: 3.0 * x * x * f,))
        if found:
            with pytest.raises(GradientMismatchError):
                sv.gradcheck(row, 1.3)
        else:
            sv.gradcheck(row, 1.3)


def test_a_right_derivative_is_accepted_where_every_slope_is_tiny() -> None:
    assert sv.gradcheck(lambda x: x.cos() + 5.0, [1e-6]).error < 1e-6


def test_a_layer_that_hands_back_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Dense.backward_rows
    monkeypatch.setattr(
        Dense, "backward_rows", lambda self, g: [[2 * v for v in row] for row in original(self, g)]
    )
    with refused(GradientMismatchError, "input 1", varies=r"-?\d\.\d+(e-\d+)?"):
        sv.gradcheck(sv.Dense(2, 3), [0.4, 0.6])


def test_a_kink_is_skipped_and_counted() -> None:
    report = sv.gradcheck(lambda a, b: a * a + abs(b - 1.0000003), [2.0, 1.0])
    assert (report.checked, report.total, report.kinks) == (1, 2, 1)
    assert "skipped at kinks: 1" in str(report)


def test_a_float32_network_is_checked_in_float64_and_left_as_it_was() -> None:
    net = sv.Network([2, 4, 2], "tanh", seed=1)
    net.forward([0.1, 0.2])
    value, grad = net.bank.value.copy(), net.bank.grad.copy()
    assert sv.gradcheck(net, [0.3, 0.4]).error < 1e-8
    assert (net.bank.value == value).all() and (net.bank.grad == grad).all()
    assert net.parameters()[0].unmatched == 1


@pytest.mark.parametrize("pick", [lambda n: n.layers[1], lambda n: n.layers[1].perceptrons[0]])
def test_a_part_of_a_network_is_checked_by_itself(pick: object) -> None:
    part = pick(sv.Network([2, 4, 2], "tanh"))  # type: ignore[operator]  # a function of a parametrized test
    assert sv.gradcheck(part, [0.3, 0.4, -0.1, 0.9]).error < 1e-6


def test_a_large_network_is_thinned_out_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.training.network.gradcheck.MOST", 20)
    report = sv.gradcheck(sv.Network([6, 5, 2], "tanh"), np.linspace(0, 1, 6))
    assert (report.checked, report.total) == (20, 35 + 12 + 6)
    assert "20 of 53 gradients agree" in str(report)


def test_what_cannot_be_checked_is_refused() -> None:
    with refused(InputError, "'net'"):
        sv.gradcheck("net", [1.0])
    with refused(InputError, "0.0"):
        sv.gradcheck(sv.Weight(1.0), 1.0, tolerance=0.0)
    with refused(InputError, "(2,)"):
        sv.gradcheck(sv.Network([3, 2]), [1.0, 2.0])


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_agrees_with_finite_differences(row: Formula) -> None:
    for point in ([0.7, 1.3, 0.4], [1.9, 0.6, -0.8]):
        assert sv.gradcheck(row, point[: len(row.partials)]).error < 1e-6


def test_a_smaller_gradient_may_not_hide_behind_a_large_one() -> None:
    def wrong(x: float, y: float, z: float) -> float:
        return 1.0 + 1e-5

    row = Formula("row", lambda x, y: 100.0 * x + y, (lambda x, y, z: 100.0, wrong))
    with refused(GradientMismatchError, "1.00001"):
        sv.gradcheck(row, [1.0, 1.0])


def test_a_function_must_return_a_finite_value() -> None:
    with refused(InputError, "3.0"):
        sv.gradcheck(lambda a: 3.0, [1.0])
    with refused(InputError):
        sv.gradcheck(lambda a: a.log(), [-1.0])
    with refused(InputError, "(2, 2)"):
        sv.gradcheck(lambda a, b: a * b, [[1.0, 2.0], [3.0, 4.0]])
    assert sv.gradcheck(lambda a: a * a, 3.0).checked == 1
    with refused(InputError, "-1"):
        sv.gradcheck(sv.Weight(1.0), 1.0, seed=-1)
    with refused(InputError, "[1.0]"):
        sv.gradcheck(sv.Weight(1.0), [1.0])
