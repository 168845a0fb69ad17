"""Statistics of runs that differ in their seed: rates, means and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray

Z = 1.959963984540054  # of the normal distribution, for 95 %
RESAMPLES = 2000
SEED = 0  # of the bootstrap: the same runs always have the same interval
SIDE = 2.5  # percent outside of a 95 % interval on each side


class Interval(NamedTuple):
    """A number, and the 95 % interval around it."""

    value: float
    low: float
    high: float


def rate(successes: int, count: int) -> Interval:
    """Return a share with its Wilson score interval."""
    share = successes / count
    middle = share + Z**2 / (2 * count)
    half = Z * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    below = 1 + Z**2 / count
    low, high = (middle - half) / below, (middle + half) / below
    return Interval(
        share, max(low, 0.0) if successes else 0.0, min(high, 1.0) if successes < count else 1.0
    )


def interquartile_mean(values: FloatArray) -> FloatArray:
    """Return the mean of the middle half of the last axis; infinite if an infinite one is in it.

    Where the count is no multiple of four, the values at the edges count by their share.
    """
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    edges = np.clip(np.arange(count + 1) / count, 0.25, 0.75)
    weights = np.diff(edges) * 2
    with np.errstate(invalid="ignore"):
        terms = np.where(weights > 0, ordered * weights, 0.0)
    return np.asarray(terms.sum(axis=-1))


def mean_with_interval(values: FloatArray) -> Interval:
    """Return the interquartile mean with its bootstrap interval, by resampling the runs."""
    random, count = np.random.Generator(np.random.PCG64(SEED)), len(values)
    return with_interval(
        float(interquartile_mean(values)),
        count,
        lambda some: interquartile_mean(values[random.integers(0, count, (some, count))]),
    )


def beats(ours: FloatArray, theirs: FloatArray) -> Interval:
    """Return the probability that a run of the first has a smaller loss than one of the second.

    Equal ones count half. The interval is a bootstrap over the runs of both.
    """
    random = np.random.Generator(np.random.PCG64(SEED))
    theirs = np.sort(theirs)

    def resampled(some: int) -> FloatArray:
        drawn = [drawn_times(random, len(each), some) for each in (ours, theirs)]
        return shares_below(ours, theirs, *drawn)

    return with_interval(share_below(ours, theirs), len(ours) + len(theirs), resampled)


def with_interval(value: float, runs: int, resampled: Callable[[int], FloatArray]) -> Interval:
    """Return a number with its bootstrap interval.

    runs       number of runs that each resample draws
    resampled  function that returns the number for each of so many resamples
    """
    portion = max(1, 2**20 // runs)  # resamples at once, in bounded memory
    counts = (min(portion, RESAMPLES - first) for first in range(0, RESAMPLES, portion))
    found = np.concatenate([resampled(some) for some in counts])
    low, high = np.percentile(found, [SIDE, 100 - SIDE], method="nearest")
    return Interval(value, float(low), float(high))


def share_below(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the share of pairs of which ours is smaller, equal ones counted half."""
    once = np.ones((1, len(ours))), np.ones((1, len(theirs)))
    return float(shares_below(ours, np.sort(theirs), *once)[0])


def shares_below(
    ours: FloatArray, ordered: FloatArray, times: FloatArray, others: FloatArray
) -> FloatArray:
    """Return `share_below` of several resamples.

    ordered  theirs, from the smallest
    times    how often each of ours is in each resample; `others` how often each of theirs
    """
    above = np.zeros((len(others), len(ordered) + 1))  # number of theirs from each place on
    above[:, :-1] = others[:, ::-1].cumsum(axis=1)[:, ::-1]
    larger = above[:, np.searchsorted(ordered, ours, side="right")]
    at_least = above[:, np.searchsorted(ordered, ours, side="left")]
    pairs = times.sum(axis=1) * others.sum(axis=1)
    found: FloatArray = (times * (larger + at_least) / 2).sum(axis=1) / pairs
    return found


def drawn_times(random: np.random.Generator, count: int, resamples: int) -> FloatArray:
    """Return how often each of `count` things is drawn, in each resample of as many draws."""
    drawn = random.integers(0, count, (resamples, count))
    places = drawn + count * np.arange(resamples)[:, np.newaxis]
    times = np.bincount(places.ravel(), minlength=count * resamples)
    return times.reshape(resamples, count).astype(np.float64)
