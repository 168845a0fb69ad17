"""Softmax: exp of each number, divided by the sum of all; and LogSoftmax, its logarithm."""

from __future__ import annotations

from typing import Any, final

from scalarviz.base.checks import size
from scalarviz.core.formulas.rowwise import ROW_FORMULAS
from scalarviz.core.layers.rowwise import Rowwise


@final
class Softmax(Rowwise):
    """exp of each number, divided by the sum over the sample: probabilities; no parameters.

    To train a classifier, leave this layer out and use the loss `softmax_cross_entropy`, which
    includes it.

    features  numbers of a sample, at least 1

    >>> Softmax(3)([0.0, 1.0, 0.0]).round(3).tolist()
    [0.212, 0.576, 0.212]
    """

    def __init__(self, features: int) -> None:
        count = size(features, "the features of Softmax")
        super().__init__(count, count, ROW_FORMULAS["softmax"], (float(count),))

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}


@final
class LogSoftmax(Rowwise):
    """The logarithms of the probabilities of `Softmax`, also where those are too small for a float.

    To train a classifier, leave this layer out and use the loss `softmax_cross_entropy`, which
    includes it. No parameters.

    features  numbers of a sample, at least 1

    >>> LogSoftmax(2)([0.0, 0.0]).round(3).tolist()
    [-0.693, -0.693]
    """

    def __init__(self, features: int) -> None:
        count = size(features, "the features of LogSoftmax")
        super().__init__(count, count, ROW_FORMULAS["log_softmax"], (float(count),))

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}
