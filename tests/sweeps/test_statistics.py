"""Statistics of sweeps against numbers computed by hand and by definition."""

import numpy as np
import pytest

from scalarviz.sweeps.results import beats, interquartile_mean, mean_with_interval, rate


def test_wilson_interval_of_a_share() -> None:
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    assert rate(81, 263) == pytest.approx((81 / 263, 0.2553, 0.3662), abs=5e-5)
    assert rate(15, 148) == pytest.approx((15 / 148, 0.0624, 0.1605), abs=5e-5)
    assert rate(0, 20) == pytest.approx((0.0, 0.0, 0.1611), abs=5e-5)
    assert rate(1, 29) == pytest.approx((1 / 29, 0.0061, 0.1718), abs=5e-5)
    assert rate(20, 20).high == 1.0


def test_interquartile_mean_leaves_out_the_outer_quarters() -> None:
    assert interquartile_mean(np.array([1.0, 2.0, 3.0, 100.0])) == 2.5
    assert interquartile_mean(np.array([np.inf, 1.0, 2.0, 3.0])) == 2.5
    assert interquartile_mean(np.array([np.inf, np.inf, 2.0, 3.0])) == np.inf
    assert interquartile_mean(np.array([7.0])) == 7.0
    # Five values: the second and the fourth count by .75 of 1, the third by 1, out of 2.5.
    assert interquartile_mean(np.array([0.0, 1.0, 2.0, 4.0, 9.0])) == pytest.approx(5.75 / 2.5)


def test_the_bootstrap_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    hits = 0
    for _ in range(60):
        found = mean_with_interval(random.normal(size=60))
        hits += found.low <= 0.0 <= found.high  # the interquartile mean of the distribution
        assert found.low <= found.value <= found.high
    assert hits >= 50  # 57 are expected
    assert mean_with_interval(np.arange(9.0)) == mean_with_interval(np.arange(9.0))


def test_probability_to_beat_counts_all_pairs() -> None:
    ours, theirs = np.array([1.0, 2.0, np.inf]), np.array([2.0, 3.0])
    assert beats(ours, theirs).value == pytest.approx((2 + 1.5 + 0) / 6)
    found = beats(np.arange(20.0), np.arange(20.0))
    assert found.value == 0.5 and found.low < 0.5 < found.high
