"""LossScale: logarithmic above 0, linear with losses below."""

import math
import sys

import numpy as np
import pytest

from scalarviz.scene.charts import LossScale, apart, round_down, round_up, shown


def test_losses_above_zero_have_a_logarithmic_scale() -> None:
    scale = LossScale.of(np.array([0.8, 0.03]))
    assert (scale.low, scale.high, scale.is_linear) == (0.03, 0.8, False)
    found = scale.up(np.array([0.03, 0.8, 0.0, -1.0, math.nan]))
    np.testing.assert_allclose(found, [0.0, 1.0, math.nan, math.nan, math.nan], atol=1e-12)
    assert LossScale(0.01, 1.0).ticks(200.0) == pytest.approx([0.01, 0.1, 1.0])
    assert LossScale(0.2, 0.8).ticks(200.0) == [0.2, 0.8]
    assert len(LossScale(1e-12, 1.0).ticks(60.0)) <= 3
    assert LossScale(0.001, 0.2).ticks(29.0) == [0.001, 0.2]  # an axis has two numbers at least


@pytest.mark.parametrize(
    ("losses", "low", "high"),
    [
        ([-3.0, -4.7], -4.8, -3.0),
        ([2.3, -0.4], -0.5, 2.5),
        ([-7.0], -7.0, -6.0),
        ([5.0, -95.0], -100.0, 20.0),
    ],
)
def test_with_losses_below_zero_it_is_linear(losses: list[float], low: float, high: float) -> None:
    scale = LossScale.of(np.array(losses))
    assert (scale.low, scale.high) == pytest.approx((low, high)) and scale.is_linear
    assert scale.up(np.array([low, (low + high) / 2.0, high])) == pytest.approx([0.0, 0.5, 1.0])
    ticks = scale.ticks(1000.0)
    assert low <= ticks[0] + 1e-9 and ticks[-1] <= high + 1e-9 and 3 < len(ticks) < 13
    assert ticks == pytest.approx([round(each, 9) for each in ticks])
    assert 2 <= len(scale.ticks(50.0)) <= 3


def test_any_finite_losses_have_a_scale() -> None:
    largest = sys.float_info.max
    for losses in ([largest, -largest], [-5e-324], [5e-324, -5e-324], [largest], [5e-324, largest]):
        scale = LossScale.of(np.array(losses))
        assert math.isfinite(scale.high - scale.low) and scale.low < scale.high
        assert len(scale.ticks(100.0)) > 1


def test_of_a_logarithm_zeros_are_left_out() -> None:
    assert shown(np.array([0.0, 1.0, math.inf, math.nan])).tolist() == [1.0]
    assert shown(np.array([0.0, -1.0, math.inf])).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("between", [1.0, 1.9999, 2.0, 4.9, 5.0, 9.99, 1e-7, 3e200])
def test_four_to_ten_steps_are_between_two_losses(between: float) -> None:
    assert 4.0 - 1e-9 <= between / apart(between) <= 10.0 + 1e-9


@pytest.mark.parametrize("value", [1e-7, 0.3, 0.999999999999999, 1.0, 7.3, 999.9999999999999])
def test_plain_numbers_enclose_a_number(value: float) -> None:
    assert value / 2.01 <= round_down(value) <= value <= round_up(value) <= 1.51 * value


def test_no_number_is_too_large_for_a_plain_one() -> None:
    for value in (1e308, 1.7e308, sys.float_info.max):
        assert value <= round_up(value) <= sys.float_info.max
