"""Losses: every row's derivative, the options that name a convention, and what is refused."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, LossRow, RowLossRow
from scalarviz.errors import InputError, NotFiniteError, OrderError, ShapeError, UnknownNameError
from tests.wording import refused

EVERY_NAME = [*LOSSES, *ROW_LOSSES]
POINTS = [(0.3, 0.9), (1.7, 0.2), (-2.5, 0.6), (0.05, -0.4), (4.0, 1.0)]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("row", LOSSES.values(), ids=LOSSES)
def test_the_derivative_agrees_with_finite_differences(
    row: LossRow, point: tuple[float, float]
) -> None:
    assert sv.gradcheck(row, point).error < 1e-6


@pytest.mark.parametrize("targets", [[0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [2.0, 0.0, 1.0]])
@pytest.mark.parametrize("row", ROW_LOSSES.values(), ids=ROW_LOSSES)
def test_the_gradient_of_a_row_agrees_with_finite_differences(
    row: RowLossRow, targets: list[float]
) -> None:
    assert sv.gradcheck(row, ([0.4, -1.2, 2.2], targets)).error < 1e-6


@pytest.mark.parametrize("name", EVERY_NAME)
@pytest.mark.parametrize("p", [-1000.0, 1000.0])
@pytest.mark.parametrize("t", [0.0, 1.0])
def test_at_1000_there_is_no_exception_and_no_nan(name: str, p: float, t: float) -> None:
    loss = sv.Loss(name)
    assert math.isfinite(loss.forward([p, 0.0], [t, 1.0 - t]))
    assert np.isfinite(loss.backward()).all()


@pytest.mark.parametrize("name", EVERY_NAME)
@pytest.mark.parametrize("mean", ["all", "samples", "none"])
def test_the_gradient_of_a_batch_is_that_of_its_loss(name: str, mean: str) -> None:
    p = np.array([[0.3, 1.7, -0.4], [0.8, 0.1, 2.2]])
    t = np.array([[0.1, 0.5, 0.4], [1.0, 0.0, 0.0]])
    loss = sv.Loss(name, factor=0.7, mean=mean)  # type: ignore[arg-type]  # one of the names
    loss.forward(p, t)
    gradient = loss.backward()
    h = 1e-6
    for index in np.ndindex(p.shape):
        if name in ("relative_l1", "relative_l2", "smape"):
            continue  # their weight is held, so that the loss itself moves otherwise
        high, low = p.copy(), p.copy()
        high[index] += h
        low[index] -= h
        assert gradient[index] == pytest.approx((loss(high, t) - loss(low, t)) / (2 * h), rel=1e-6)


def test_the_conventions_can_be_chosen() -> None:
    p, t = np.array([[1.0, 2.0], [3.0, 5.0]]), np.zeros((2, 2))

    def gradient(**options: object) -> list[list[float]]:
        loss = sv.Loss("mse", **options)  # type: ignore[arg-type]  # of many types
        loss.forward(p, t)
        return loss.backward().tolist()

    assert gradient() == (2 * p / 4).tolist()  # PyTorch: by samples and outputs
    assert gradient(mean="samples") == (2 * p / 2).tolist()  # by samples, not by channels
    assert gradient(mean="samples", factor=0.5) == (p / 2).tolist()  # without the factor 2
    assert gradient(mean="none", factor=0.5) == p.tolist()  # the posted XOR rule


def test_a_relative_loss_holds_its_denominator() -> None:
    row = LOSSES["relative_l2"]
    p, t = 2.0, 1.0
    assert row.derivative(p, t) * row.weight(p, t) == 2.0 * (p - t) / (p * p + 0.01)


def test_softmax_losses_have_one_error_a_sample() -> None:
    p, t = [[1.0, 2.0, 3.0]] * 4, [[0.0, 0.0, 1.0]] * 4
    one = sv.Loss("softmax_cross_entropy")(p[0], t[0])
    assert sv.Loss("softmax_cross_entropy")(p, t) == pytest.approx(one)
    assert sv.Loss("softmax_cross_entropy", mean="none")(p, t) == pytest.approx(4 * one)


@pytest.mark.parametrize("name", ["sigmoid_cross_entropy", "softmax_cross_entropy"])
def test_a_sigmoid_under_a_loss_on_logits_is_refused(name: str) -> None:
    net = sv.Network([2, 2], output="sigmoid")
    with refused(InputError, "'sigmoid'"):
        net.train_step([0.1, 0.2], [1.0, 0.0], name)
    sv.Network([2, 2]).train_step([0.1, 0.2], [1.0, 0.0], name)


def test_a_softmax_under_a_loss_on_logits_is_refused() -> None:
    with refused(InputError, "'softmax'"):
        sv.Loss("softmax_cross_entropy").check_output("softmax")


def test_what_does_not_fit_is_refused() -> None:
    loss = sv.Loss("mse")
    with refused(ShapeError, "(1, 1)"):
        loss.forward([[1.0, 2.0]], [[1.0]])
    with refused(ShapeError, "2 rows"):
        loss.forward([[1.0], [2.0]], [[1.0]])
    with refused(NotFiniteError, "nan at row 0, column 1"):
        loss.forward([[1.0, 2.0]], [[1.0, math.nan]])
    with pytest.raises(OrderError):  # nothing of these forwards was kept
        loss.backward()
    with refused(UnknownNameError, "'msee'"):
        sv.Loss("msee")
    with refused(UnknownNameError, "'batch'"):
        sv.Loss("mse", mean="batch")  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "0.0"):
        sv.Loss("mse", factor=0.0)


def test_a_last_layer_of_softmax_is_refused_by_the_loss_that_applies_it() -> None:
    net = sv.Network([sv.Dense(2, 3), sv.Softmax(3)], seed=0)
    with refused(InputError, "softmax"):
        sv.Session(net, ([[0.0, 1.0]], [2]), "softmax_cross_entropy")
    sv.Session(net, ([[0.0, 1.0]], [[0.0, 0.0, 1.0]]), "mse")


def test_a_network_without_operations_takes_any_loss() -> None:
    net = sv.Network([sv.Flatten((1, 1, 2))], seed=0)
    assert sv.Session(net, ([[0.0, 1.0]], [[0.0, 1.0]]), "mse", engine="python").loss != 0.0
