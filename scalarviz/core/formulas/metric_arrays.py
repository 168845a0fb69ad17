"""What metrics do with rows of numbers, one a sample; pages have it in web/metric_arrays.js."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.losses import Weights


def mean(each: FloatArray | list[float], w: Weights = None) -> float:
    """Return the mean of one number a sample, or of several, by the weights of samples."""
    if w is None:
        return float(np.mean(each))
    return float(np.average(np.reshape(each, (len(w), -1)).mean(axis=1), weights=w))


def totals(rows: FloatArray, w: Weights) -> list[float]:
    """Return the sum of each output over the samples, by their weights."""
    weighted = rows if w is None else rows * w[:, np.newaxis]
    return [float(total) for total in weighted.sum(axis=0)]


def centered(rows: FloatArray, w: Weights) -> FloatArray:
    """Return rows less their mean over the samples, by their weights."""
    found: FloatArray = rows - np.average(rows, axis=0, weights=w)
    return found


def largest_of(rows: FloatArray) -> FloatArray:
    """Return where the largest number of each row is."""
    return np.asarray(np.arange(rows.shape[1]) == rows.argmax(axis=1)[:, np.newaxis])


def areas(p: FloatArray, there: FloatArray, w: Weights) -> list[float]:
    """Return the area under the ROC curve of each output that divides the samples.

    Args:
        there: which classes are there
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
