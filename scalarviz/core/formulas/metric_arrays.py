"""Array operations of metrics, with one row per sample; pages use web/metric_arrays.js."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.losses import Weights


def mean(each: FloatArray | list[float], w: Weights = None) -> float:
    """Return the mean over samples of one or more numbers each, with optional weights `w`."""
    if w is None:
        return float(np.mean(each))
    return float(np.average(np.reshape(each, (len(w), -1)).mean(axis=1), weights=w))


def totals(rows: FloatArray, w: Weights) -> list[float]:
    """Return the weighted sum of each output over the samples."""
    weighted = rows if w is None else rows * w[:, np.newaxis]
    return [float(total) for total in weighted.sum(axis=0)]


def centered(rows: FloatArray, w: Weights) -> FloatArray:
    """Return rows minus their weighted mean over the samples."""
    found: FloatArray = rows - np.average(rows, axis=0, weights=w)
    return found


def largest_of(rows: FloatArray) -> FloatArray:
    """Return a mask that is True at the largest number of each row."""
    return np.asarray(np.arange(rows.shape[1]) == rows.argmax(axis=1)[:, np.newaxis])


def areas(p: FloatArray, there: FloatArray, w: Weights) -> list[float]:
    """Return the area under the ROC curve of each class with positive and negative samples.

    Args:
        there: mask of the true classes of each sample
    """
    found, weights = [], np.ones(len(p)) if w is None else w
    for scores, own in zip(p.T, there.T, strict=True):
        if weights[own].any() and weights[~own].any():
            order = np.argsort(scores[~own])
            others, mine = scores[~own][order], scores[own]
            sums = np.append(0.0, np.cumsum(weights[~own][order]))
            below = [sums[np.searchsorted(others, mine, side)] for side in ("left", "right")]
            found.append(np.average(np.mean(below, axis=0), weights=weights[own]) / sums[-1])
    return found
