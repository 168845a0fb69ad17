"""Row-wise formulas, which need all numbers of a sample: norms, frequency encoding, softmax.

They work on any sequence: lists in plain Python, arrays in a kernel. `forward` reads x, writes y,
and returns one number for `backward`; `backward` writes the derivative with respect to each x into
`gradient`. The length is passed as a float, since an integer would turn float32 into float64 in a
kernel.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.elementary import cos, exp, log, pi, sin, sqrt
from scalarviz.core.formulas.pooling import (
    average_pool,
    average_pool_backward,
    max_pool,
    max_pool_backward,
)
from scalarviz.core.formulas.table import table

Row = Sequence[float]
MutableRow = MutableSequence[float]


def layer_norm(x: Row, y: MutableRow, length: float, eps: float) -> float:
    """Normalize to mean 0 and variance 1; return the factor of the centred row."""
    mean = 0.0
    for i in range(len(x)):
        mean += x[i] / length
    variance = 0.0
    for i in range(len(x)):
        variance += (x[i] - mean) * (x[i] - mean) / length
    scale = 1.0 / sqrt(variance + eps)
    for i in range(len(x)):
        y[i] = (x[i] - mean) * scale
    return scale


def layer_norm_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, length: float, eps: float
) -> None:
    """y does not change when x is shifted or scaled as a whole: these components are removed."""
    shift = 0.0
    stretch = 0.0
    for i in range(len(y)):
        shift += upstream[i] / length
        stretch += upstream[i] * y[i] / length
    for i in range(len(y)):
        gradient[i] = scale * (upstream[i] - shift - stretch * y[i])


def rms_norm(x: Row, y: MutableRow, length: float, eps: float) -> float:
    """Normalize to mean square 1; return the factor of the row."""
    square = 0.0
    for i in range(len(x)):
        square += x[i] * x[i] / length
    scale = 1.0 / sqrt(square + eps)
    for i in range(len(x)):
        y[i] = x[i] * scale
    return scale


def rms_norm_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, length: float, eps: float
) -> None:
    stretch = 0.0
    for i in range(len(y)):
        stretch += upstream[i] * y[i] / length
    for i in range(len(y)):
        gradient[i] = scale * (upstream[i] - stretch * y[i])


def frequency_encoding(x: Row, y: MutableRow, octaves: int) -> float:
    """Write sin and cos of pi x, 2 pi x, 4 pi x, ... for each x."""
    for i in range(len(x)):
        frequency = pi
        for octave in range(octaves):
            j = 2 * (i * octaves + octave)
            y[j] = sin(frequency * x[i])
            y[j + 1] = cos(frequency * x[i])
            frequency = frequency * 2.0
    return 0.0


def frequency_encoding_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, octaves: int
) -> None:
    """The derivative of the sine is the cosine beside it, that of the cosine minus the sine."""
    for i in range(len(x)):
        frequency = pi
        total = 0.0
        for octave in range(octaves):
            j = 2 * (i * octaves + octave)
            total += frequency * (upstream[j] * y[j + 1] - upstream[j + 1] * y[j])
            frequency = frequency * 2.0
        gradient[i] = total


def softmax(x: Row, y: MutableRow, length: float) -> float:
    """Write exp(x) by their sum; the largest is subtracted first, to avoid overflow."""
    largest = x[0]
    for i in range(len(x)):
        largest = x[i] if x[i] > largest else largest
    total = 0.0
    for i in range(len(x)):
        y[i] = exp(x[i] - largest)
        total += y[i]
    for i in range(len(x)):
        y[i] = y[i] / total
    return total


def softmax_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, length: float
) -> None:
    """The sum of y is always 1: the mean of the gradient, weighted by y, is subtracted."""
    mean = 0.0
    for i in range(len(y)):
        mean += upstream[i] * y[i]
    for i in range(len(y)):
        gradient[i] = y[i] * (upstream[i] - mean)


def log_softmax(x: Row, y: MutableRow, length: float) -> float:
    """Write the logarithms of the shares of `softmax`, also of shares too small for a float."""
    largest = x[0]
    for i in range(len(x)):
        largest = x[i] if x[i] > largest else largest
    total = 0.0
    for i in range(len(x)):
        y[i] = x[i] - largest
        total += exp(y[i])
    logarithm = log(total)
    for i in range(len(x)):
        y[i] = y[i] - logarithm
    return total


def log_softmax_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, length: float
) -> None:
    """Each y loses its share of what all of them gain."""
    total = 0.0
    for i in range(len(y)):
        total += upstream[i]
    for i in range(len(y)):
        gradient[i] = upstream[i] - exp(y[i]) * total


def spread(x: Row, y: MutableRow, each: int) -> float:
    """Write each x `each` times."""
    for i in range(len(y)):
        y[i] = x[i // each]
    return 0.0


def spread_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, each: int
) -> None:
    for i in range(len(x)):
        total = 0.0
        for k in range(each):
            total += upstream[i * each + k]
        gradient[i] = total


@dataclass(frozen=True, slots=True)
class RowFormula:
    """One operation on a row of numbers.

    `forward(x, y, *settings)` returns a number for
    `backward(x, y, number, upstream, gradient, *settings)`.
    """

    name: str
    forward: Callable[..., float]
    backward: Callable[..., None]


ROW_FORMULAS = table(
    [
        RowFormula("layer_norm", layer_norm, layer_norm_backward),
        RowFormula("rms_norm", rms_norm, rms_norm_backward),
        RowFormula("frequency_encoding", frequency_encoding, frequency_encoding_backward),
        RowFormula("softmax", softmax, softmax_backward),
        RowFormula("log_softmax", log_softmax, log_softmax_backward),
        RowFormula("spread", spread, spread_backward),
        RowFormula("max_pool", max_pool, max_pool_backward),
        RowFormula("average_pool", average_pool, average_pool_backward),
    ]
)


def typed(function: Callable[..., Any], settings: Sequence[float] | FloatArray) -> list[Any]:
    """Return settings for the last parameters of a function, as int where declared so."""
    parameters = list(signature(function).parameters.values())[-len(settings) :]
    return [
        int(setting) if parameter.annotation in ("int", int) else setting
        for parameter, setting in zip(parameters, settings, strict=True)
    ]
