"""Losses: the error of a prediction p for a target t, and its derivative with respect to p.

A row of `LOSSES` works on one number; a row of `ROW_LOSSES` (softmax) works on all outputs of a
sample. `Loss` reduces the errors to one number, with a mean and a factor.

The relative losses multiply the error by a `weight`, such as 1 / (p * p + .01). The derivative
treats the weight as a constant although it depends on p, as in the renderers that introduced these
losses: otherwise the error could be lowered by increasing p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final, get_args
from weakref import WeakValueDictionary

import numpy as np

from scalarviz.base.attributes import unknown
from scalarviz.base.checks import (
    FloatArray,
    answered,
    as_batch,
    as_targets,
    as_weights,
    number,
    require,
    widened,
)
from scalarviz.base.messages import caution
from scalarviz.core.formulas.activations import ACTIVATIONS, sigmoid
from scalarviz.core.formulas.elementary import exp, log, log1p
from scalarviz.core.formulas.formula import FloatFunction, pick, table
from scalarviz.errors import OrderError, ShapeError

EVERYWHERE = (-math.inf, math.inf)
# Predictions of computed losses, by id, while they are alive.
JUDGED: WeakValueDictionary[int, FloatArray] = WeakValueDictionary()
FLOOR = 0.01  # keeps the relative losses finite where the divisor is 0


def squared(p: float, t: float) -> float:
    return (p - t) * (p - t)


def squared_derivative(p: float, t: float) -> float:
    return 2.0 * (p - t)


def absolute(p: float, t: float) -> float:
    return abs(p - t)


def absolute_derivative(p: float, t: float) -> float:
    return 1.0 if p > t else (-1.0 if p < t else 0.0)


def huber(p: float, t: float) -> float:
    e = abs(p - t)
    return 0.5 * e * e if e <= 1.0 else e - 0.5


def huber_derivative(p: float, t: float) -> float:
    e = p - t
    return 1.0 if e > 1.0 else (-1.0 if e < -1.0 else e)


def cross_entropy_on_logit(p: float, t: float) -> float:
    return (0.0 if p <= 0.0 else p) - p * t + log1p(exp(-abs(p)))


def cross_entropy_on_logit_derivative(p: float, t: float) -> float:
    return sigmoid(p) - t


def by_nothing(p: float, t: float) -> float:
    return 1.0


def by_prediction(p: float, t: float) -> float:
    return 1.0 / (abs(p) + FLOOR)


def by_squared_prediction(p: float, t: float) -> float:
    return 1.0 / (p * p + FLOOR)


def by_target(p: float, t: float) -> float:
    return 1.0 / (abs(t) + FLOOR)


def by_both(p: float, t: float) -> float:
    return 1.0 / (0.5 * (abs(p) + abs(t)) + FLOOR)


def log_sum_exp(z: Sequence[float]) -> float:
    """Return log(sum of exp(z)) without overflow: the largest z is subtracted first."""
    largest = z[0]
    for i in range(len(z)):
        largest = z[i] if z[i] > largest else largest
    total = exp(z[0] - largest)
    for i in range(1, len(z)):
        total += exp(z[i] - largest)
    return largest + log(total)


def softmax_cross_entropy(z: Sequence[float], t: Sequence[float]) -> float:
    """Return minus the sum of t * log(softmax(z)) over one row."""
    normalizer = log_sum_exp(z)
    loss = t[0] * (normalizer - z[0])
    for i in range(1, len(z)):
        loss += t[i] * (normalizer - z[i])
    return loss


def softmax_cross_entropy_gradient(
    z: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    """Write the derivative of the error with respect to each z of a row into `gradient`."""
    normalizer = log_sum_exp(z)
    mass = t[0]
    for i in range(1, len(z)):
        mass += t[i]
    for i in range(len(z)):
        gradient[i] = mass * exp(z[i] - normalizer) - t[i]


def negative_log_likelihood(z: Sequence[float], t: Sequence[float]) -> float:
    """Return minus the sum of t * z over one row; z are logarithms of probabilities."""
    loss = -t[0] * z[0]
    for i in range(1, len(z)):
        loss -= t[i] * z[i]
    return loss


def negative_log_likelihood_gradient(
    z: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    """Write the derivative of the error with respect to each z of a row into `gradient`."""
    for i in range(len(z)):
        gradient[i] = -t[i]


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutLoss:
    """Common attributes of the rows of `LOSSES` and `ROW_LOSSES`.

    Attributes:
        logits: name of the activation included in the loss, or ""
        error, slope: formulas of the error and its derivative in captions, in terms of p and t and
            including the weight; by default they are read from the code of the functions, or are
            "NAME(p, t)" and "NAME'(p, t)" if there is a weight or they do not fit on a line.
            Captions replace p and t by numbers, and a test evaluates the formulas: a product is
            `2 (p - t)` or `t * p`, a power `p^2`, a magnitude `|p|`; functions are exp (or `e^p`),
            log, cos, sign, clip and the activations.
        digest: hash of the source of a custom loss, otherwise ""
        domain: bounds of predictions; by default all numbers
        outputs, targets: required numbers of outputs and targets of a row loss; 0 (default) means
            any number of outputs, and one target for each
    """

    logits: str = ""
    error: str = ""
    slope: str = ""
    digest: str = ""
    domain: tuple[float, float] = EVERYWHERE
    outputs: int = 0
    targets: int = 0


@dataclass(frozen=True, slots=True)
class LossRow(AboutLoss):
    """A row of `LOSSES`; only name, value and derivative are required.

    Attributes:
        value, derivative: the error of one number, and its derivative with respect to p
        weight: factor of the value and the derivative, treated as a constant; by default 1
    """

    name: str
    value: FloatFunction
    derivative: FloatFunction
    weight: FloatFunction = by_nothing


@dataclass(frozen=True, slots=True)
class RowLossRow(AboutLoss):
    """A row of `ROW_LOSSES`: the error of a row of numbers, and a function for its gradient.

    Captions show `error` and `slope` without substituting numbers; by default "NAME(p, t)" and
    "NAME'(p, t)".
    """

    name: str
    value: Callable[[Sequence[float], Sequence[float]], float]
    gradient: Callable[[Sequence[float], Sequence[float], MutableSequence[float]], None]


LOSSES = table(
    [
        LossRow(
            "mse",
            squared,
            squared_derivative,
            error="(p - t)^2",
            slope="2 (p - t)",
        ),
        LossRow(
            "mae",
            absolute,
            absolute_derivative,
            error="|p - t|",
            slope="sign(p - t)",
        ),
        LossRow(
            "huber",
            huber,
            huber_derivative,
            error="huber(p - t)",
            slope="clip(p - t, -1, 1)",
        ),
        LossRow(
            "relative_l1",
            absolute,
            absolute_derivative,
            by_prediction,
            error="|p - t| / (|p| + 0.01)",
            slope="sign(p - t) / (|p| + 0.01)",
        ),
        LossRow(
            "relative_l2",
            squared,
            squared_derivative,
            by_squared_prediction,
            error="(p - t)^2 / (p^2 + 0.01)",
            slope="2 (p - t) / (p^2 + 0.01)",
        ),
        LossRow(
            "mape",
            absolute,
            absolute_derivative,
            by_target,
            error="|p - t| / (|t| + 0.01)",
            slope="sign(p - t) / (|t| + 0.01)",
        ),
        LossRow(
            "smape",
            absolute,
            absolute_derivative,
            by_both,
            error="|p - t| / ((|p| + |t|) / 2 + 0.01)",
            slope="sign(p - t) / ((|p| + |t|) / 2 + 0.01)",
        ),
        LossRow(
            "sigmoid_cross_entropy",
            cross_entropy_on_logit,
            cross_entropy_on_logit_derivative,
            logits="sigmoid",
            error="(log(1 + e^p) - t * p)",
            slope="(sigmoid(p) - t)",
        ),
    ]
)

ROW_LOSSES = table(
    [
        RowLossRow(
            "softmax_cross_entropy",
            softmax_cross_entropy,
            softmax_cross_entropy_gradient,
            logits="softmax",
            error="(-sum of t * log softmax(p))",
            slope="(softmax(p) - t)",
        ),
        RowLossRow(
            "negative_log_likelihood",
            negative_log_likelihood,
            negative_log_likelihood_gradient,
            error="(-sum of t * p)",
            slope="-t",
        ),
    ]
)

Weights = FloatArray | None  # weights of samples; None: equal weights
Mean = Literal["all", "samples", "none"]
MEANS: dict[str, Mean] = {mean: mean for mean in get_args(Mean)}


@final
class LossValue(float):
    """A loss: a float whose missing attribute `backward` raises an error that says what to call."""

    if not TYPE_CHECKING:
        __getattr__ = unknown


class Loss:
    """The loss of a batch of predictions, as one number: `Loss("mse")`.

    The errors of a batch are added up, multiplied by `factor`, and divided according to `mean`:
    "all" divides by the number of samples times outputs, as in PyTorch; "samples" divides by the
    number of samples; "none" does not divide. A softmax loss has one error per sample, so "all" and
    "samples" agree.

    The relative losses (relative_l1, relative_l2, mape, smape) divide by a number that may depend
    on the prediction; their derivative treats this number as a constant.

    Other conventions for "mse": for the gradient (p - t) / batch use `factor=.5, mean="samples"`;
    for 2 (p - t) / batch use `mean="samples"`; for a plain sum of squares use `mean="none"`.

    With `sample_weight` the error of each sample is multiplied by its weight, and the sum of
    weights replaces the number of samples in the divisor.

    Args:
        name: row of LOSSES or ROW_LOSSES: "mse" (default), "mae", "huber",
            "softmax_cross_entropy", ..., or a loss made by `sv.loss`
        factor: positive factor of the sum of errors; by default 1.0
        mean: "all" (default), "samples" or "none"

    Raises:
        UnknownNameError: if the name is unknown.
        InputError: if the factor is invalid.

    >>> loss = Loss("mse")
    >>> loss.forward([[0.0, 1.0]], [[1.0, 1.0]])
    0.5
    >>> loss.backward()
    array([[-1.,  0.]])
    """

    @answered
    def __init__(
        self,
        name: str | LossRow | RowLossRow = "mse",
        *,
        factor: float = 1.0,
        mean: Mean = "all",
    ) -> None:
        is_plain = isinstance(name, str) and name in LOSSES
        rows: Mapping[str, LossRow | RowLossRow] = LOSSES if is_plain else {**LOSSES, **ROW_LOSSES}
        self._begin(
            name if isinstance(name, LossRow | RowLossRow) else pick(rows, name, "loss"),
            number(factor, "the factor of a loss", 0.0, open_low=True),
            pick(MEANS, mean, "mean of a loss"),
        )

    @staticmethod
    def of(loss: AnyLoss) -> Loss:
        """Return `loss` if it is a Loss, otherwise the Loss with that name or row."""
        if isinstance(loss, Loss):
            return loss
        row = LOSSES.get(loss) if isinstance(loss, str) else None
        if row is None:
            return Loss(loss)
        made = Loss.__new__(Loss)  # without checks of missing numbers
        made._begin(row)
        return made

    def _begin(self, row: LossRow | RowLossRow, factor: float = 1.0, mean: Mean = "all") -> None:
        self.row, self.factor, self.mean = row, factor, mean
        self._stack: list[tuple[FloatArray, FloatArray, Weights, bool]] = []

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def key(self) -> tuple[str, str, float, str]:
        """All settings, for comparison."""
        return self.row.name, self.row.digest, self.factor, self.mean

    def __call__(self, prediction: object, target: object, sample_weight: object = None) -> float:
        """Return the loss like `forward`, without storing anything for `backward`."""
        return self._value(*self._batch(prediction, target, sample_weight)[:3])

    def forward(self, prediction: object, target: object, sample_weight: object = None) -> float:
        """Return the loss of a batch, and store its derivative for `backward`.

        `prediction` and `target` have shape (samples, outputs), or (outputs,) for one sample. A
        target of shape (samples,) contains numbers for one output, or labels for a loss on logits.
        `sample_weight` is the weight of each sample; None (default) means equal weights. Raises
        ShapeError if the shapes do not match, NotFiniteError if the target is not finite, and
        InputError if a label is invalid.
        """
        batch = self._batch(prediction, target, sample_weight)
        self._stack.append(batch)
        return self._value(*batch[:3])

    def of_each(self, prediction: object, target: object) -> FloatArray:
        """Return the loss of each sample; the loss of the batch is their mean or sum.

        `prediction` and `target` are as in `forward`. With weights, the loss of the batch is the
        weighted mean.

        >>> Loss("mse").of_each([[0.0], [3.0]], [[1.0], [1.0]])
        array([1., 4.])
        """
        p, t, _, _ = self._batch(prediction, target)
        return self._errors(p, t) * self.scale((1, p.shape[1]))

    def backward(self) -> FloatArray:
        """Return the gradient of the most recent unmatched loss with respect to its predictions.

        Raises:
            OrderError: if there is no unmatched forward.
        """
        require(
            self._stack, "backward of a loss without a forward: call loss.forward first", OrderError
        )
        p, t, weights, single = self._stack.pop()
        gradient = self._gradient(p, t) * self.scale(p.shape, weights)
        if weights is not None:
            with np.errstate(invalid="ignore"):  # infinity times 0
                gradient *= weights[:, np.newaxis]
        return gradient[0] if single else gradient

    def classes(self, outputs: int) -> int:
        """Return the number of classes if labels are accepted for `outputs` outputs, otherwise 0.

        The losses on logits accept labels from 0, one for each output; sigmoid_cross_entropy
        accepts 0 and 1 for a single output.
        """
        if not self.row.logits:
            return 0
        return outputs if outputs > 1 or isinstance(self.row, RowLossRow) else 2

    def targets(self, outputs: int) -> int:
        """Return the number of targets of a sample, given its number of `outputs`.

        Engines get targets as wide as the outputs, padded with zeros. Raises ShapeError if the loss
        requires another number of outputs.
        """
        if self.row.outputs not in (0, outputs):
            raise ShapeError(
                f"the loss {self.name!r} takes {self.row.outputs} outputs per sample, not "
                f"{outputs}: give the last layer this many"
            )
        return self.row.targets or outputs

    def check_output(self, activation: str) -> None:
        """Raise InputError if the last `activation` of a network does not fit this loss.

        It does not fit if the loss already includes it, or if its results can be outside the
        domain of the loss.
        """
        row = ACTIVATIONS.get(activation)
        low, high = self.row.domain
        reach = row.limits[:2] if row is not None and row.limits else ()
        require(
            not reach or low <= min(reach) <= max(reach) <= high,
            f"the loss {self.name!r} takes predictions between {low:g} and {high:g}, and the "
            f"last layer's activation {activation!r} gives others: choose one such as 'sigmoid'",
        )
        require(
            not self.row.logits or activation not in ("sigmoid", "softmax"),
            f"the loss {self.name!r} takes logits and applies {self.row.logits} itself, but "
            f"the last layer's activation is {activation!r}: make it 'linear', or choose a "
            "loss such as 'mse'",
        )
        if self.row.logits and row is not None and reach and min(reach) >= 0.0 <= row.value(-1.0):
            caution(
                f"the loss {self.name!r} takes logits of both signs, and the last layer's "
                f"activation {activation!r} gives none below 0: make it 'linear'"
            )

    def _batch(
        self, prediction: object, target: object, sample_weight: object = None
    ) -> tuple[FloatArray, FloatArray, Weights, bool]:
        if isinstance(prediction, np.ndarray):
            JUDGED[id(prediction)] = prediction
        # A diverging network predicts inf: the loss is then inf or NaN, which is not an error.
        p, single = as_batch(prediction, None, "a loss", finite=False)
        who = f"the target of a prediction of shape {p.shape}"
        classes, width = self.classes(p.shape[1]), self.targets(p.shape[1])
        is_wide = getattr(target, "shape", ()) == p.shape  # as in engines
        t = as_targets(target, len(p), p.shape[1] if is_wide else width, who, classes=classes)
        weights = None if sample_weight is None else as_weights(sample_weight, len(p), least=0)
        return p, widened(t, p.shape[1]), weights, single

    def scale(self, shape: tuple[int, ...], weights: Weights = None) -> float:
        """Return the factor for the sum of errors of a batch; `shape` is (samples, outputs).

        Args:
            weights: weights of the samples, added up in order, as in kernels
        """
        samples, outputs = shape
        total = samples if weights is None else float(np.cumsum(weights, dtype=np.float64)[-1])
        return self.factor / (total * self.divisor(outputs) or 1)

    def divisor(self, outputs: int) -> int:
        """Return the divisor for a sample's sum of errors over `outputs`; 0 means no division."""
        if self.mean == "none":
            return 0
        return outputs if self.mean == "all" and isinstance(self.row, LossRow) else 1

    def _value(self, p: FloatArray, t: FloatArray, weights: Weights) -> float:
        total, own = 0.0, [1.0] * len(p) if weights is None else weights.tolist()
        for error, weight in zip(self._errors(p, t).tolist(), own, strict=True):
            total += error * weight
        return LossValue(total * self.scale(p.shape, weights))

    def _errors(self, p: FloatArray, t: FloatArray) -> FloatArray:
        """Return the sum of errors of each sample."""
        row = self.row
        pairs = zip(p.tolist(), t.tolist(), strict=True)
        if isinstance(row, RowLossRow):
            return np.array([row.value(ps, ts) for ps, ts in pairs])
        return np.array(
            [
                sum(row.value(a, b) * row.weight(a, b) for a, b in zip(ps, ts, strict=True))
                for ps, ts in pairs
            ]
        )

    def _gradient(self, p: FloatArray, t: FloatArray) -> FloatArray:
        row = self.row
        rows = []
        for ps, ts in zip(p.tolist(), t.tolist(), strict=True):
            gradient = [0.0] * len(ps)
            if isinstance(row, RowLossRow):
                row.gradient(ps, ts, gradient)
            else:
                for i, (a, b) in enumerate(zip(ps, ts, strict=True)):
                    gradient[i] = row.derivative(a, b) * row.weight(a, b)
            rows.append(gradient)
        return np.array(rows)

    def __repr__(self) -> str:
        return f"Loss({self.name!r}, factor={self.factor:g}, mean={self.mean!r})"


AnyLoss = str | Loss | LossRow | RowLossRow
