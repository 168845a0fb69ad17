"""Formulas of layers: norms, encodings, softmax, pooling, attention, and some with parameters.

A row of `ROW_FORMULAS` needs all numbers of a sample, or of a place. It works on any sequence: on
lists in plain Python, on arrays in a kernel. `forward` reads x, writes y, and returns one number
for `backward`; `backward` writes the derivative with respect to each x into `gradient`. The length
is passed as a float, since an integer would turn float32 into float64 in a kernel.

A row of `PARAMETRIC_FORMULAS` is an elementwise function y = f(x, w, ...) with separate weights.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from scalarviz.base.checks import FloatArray, require
from scalarviz.core.formulas.elementary import cos, exp, log, pi, sin, sqrt
from scalarviz.core.formulas.formula import FloatFunction, pick, table

# Pooling: the maximum or mean of each window of a picture. A picture is a row of numbers: channel
# by channel, line by line. Windows are `tall` x `broad` pixels, and `down` and `across` pixels
# apart; the first one begins `above` and `beside` pixels before the edge. There are `high` windows
# from top to bottom and `wide` from left to right. `share` is 1 / (tall * broad), the weight of one
# pixel, as a float.


def max_pool(
    x: Row, y: MutableRow, height: int, width: int, tall: int, broad: int, down: int, across: int,
    above: int, beside: int, high: int, wide: int, share: float,
) -> float:  # fmt: skip
    """Write the maximum of each window to y; padding is ignored."""
    for place in range(len(y)):
        top = place // wide % high * down - above
        left = place % wide * across - beside
        first = place // (wide * high) * height
        upper = max(top, 0)
        begin = max(left, 0)
        end = min(left + broad, width)
        best = x[(first + upper) * width + begin]
        for line in range(upper, min(top + tall, height)):
            for column in range(begin, end):
                value = x[(first + line) * width + column]
                # NaN wins
                best = value if value > best or value != value else best
        y[place] = best
    return 0.0


def max_pool_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, height: int,
    width: int, tall: int, broad: int, down: int, across: int, above: int, beside: int, high: int,
    wide: int, share: float,
) -> None:  # fmt: skip
    """Pass the gradient of each window to its largest pixel, the first one if several are equal.

    The pixel is found by comparison with y.
    """
    for i in range(len(gradient)):
        gradient[i] = 0.0
    for place in range(len(y)):
        top = place // wide % high * down - above
        left = place % wide * across - beside
        first = place // (wide * high) * height
        largest = y[place]
        rest = upstream[place]
        for line in range(max(top, 0), min(top + tall, height)):
            for column in range(max(left, 0), min(left + broad, width)):
                here = x[(first + line) * width + column]
                taken = rest if here == largest or here != here else 0.0
                gradient[(first + line) * width + column] += taken
                rest = 0.0 if here == largest or here != here else rest


def average_pool(
    x: Row, y: MutableRow, height: int, width: int, tall: int, broad: int, down: int, across: int,
    above: int, beside: int, high: int, wide: int, share: float,
) -> float:  # fmt: skip
    """Write the mean of each window to y; padding counts as 0."""
    for place in range(len(y)):
        top = place // wide % high * down - above
        left = place % wide * across - beside
        first = place // (wide * high) * height
        total = 0.0
        for line in range(max(top, 0), min(top + tall, height)):
            for column in range(max(left, 0), min(left + broad, width)):
                total += x[(first + line) * width + column]
        y[place] = total * share
    return 0.0


def average_pool_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, height: int,
    width: int, tall: int, broad: int, down: int, across: int, above: int, beside: int, high: int,
    wide: int, share: float,
) -> None:  # fmt: skip
    """Pass an equal share of the gradient to each pixel of a window."""
    for i in range(len(gradient)):
        gradient[i] = 0.0
    for place in range(len(y)):
        top = place // wide % high * down - above
        left = place % wide * across - beside
        first = place // (wide * high) * height
        for line in range(max(top, 0), min(top + tall, height)):
            for column in range(max(left, 0), min(left + broad, width)):
                gradient[(first + line) * width + column] += upstream[place] * share


Row = Sequence[float]
MutableRow = MutableSequence[float]


def layer_norm(x: Row, y: MutableRow, length: float, eps: float) -> float:
    """Normalize to mean 0 and variance 1; return the factor applied after centring."""
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
    """Remove the gradient components that shift or scale all of x, which do not affect y."""
    shift = 0.0
    stretch = 0.0
    for i in range(len(y)):
        shift += upstream[i] / length
        stretch += upstream[i] * y[i] / length
    for i in range(len(y)):
        gradient[i] = scale * (upstream[i] - shift - stretch * y[i])


def group_norm(x: Row, y: MutableRow, size: int, length: float, eps: float) -> float:
    """Normalize groups of `size` numbers to mean 0, variance 1; `length` is `size` as a float."""
    for group in range(len(x) // size):
        mean = 0.0
        for k in range(size):
            mean += x[group * size + k] / length
        variance = 0.0
        for k in range(size):
            variance += (x[group * size + k] - mean) * (x[group * size + k] - mean) / length
        scale = 1.0 / sqrt(variance + eps)
        for k in range(size):
            y[group * size + k] = (x[group * size + k] - mean) * scale
    return 0.0


def group_norm_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, size: int, length: float,
    eps: float,
) -> None:  # fmt: skip
    """Apply `layer_norm_backward` to each group, whose factor is computed again."""
    for group in range(len(x) // size):
        mean = 0.0
        shift = 0.0
        stretch = 0.0
        for k in range(size):
            mean += x[group * size + k] / length
            shift += upstream[group * size + k] / length
            stretch += upstream[group * size + k] * y[group * size + k] / length
        variance = 0.0
        for k in range(size):
            variance += (x[group * size + k] - mean) * (x[group * size + k] - mean) / length
        factor = 1.0 / sqrt(variance + eps)
        for k in range(size):
            gradient[group * size + k] = factor * (
                upstream[group * size + k] - shift - stretch * y[group * size + k]
            )


def rms_norm(x: Row, y: MutableRow, length: float, eps: float) -> float:
    """Normalize to mean square 1; return the factor applied to the row."""
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
    """Write the gradient, since the derivative of sin is cos, and of cos is -sin."""
    for i in range(len(x)):
        frequency = pi
        total = 0.0
        for octave in range(octaves):
            j = 2 * (i * octaves + octave)
            total += frequency * (upstream[j] * y[j + 1] - upstream[j + 1] * y[j])
            frequency = frequency * 2.0
        gradient[i] = total


def softmax(x: Row, y: MutableRow, length: float) -> float:
    """Write exp(x) divided by its sum; the maximum is subtracted first, to avoid overflow."""
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
    """Subtract the y-weighted mean from the gradient, since the sum of y is always 1."""
    mean = 0.0
    for i in range(len(y)):
        mean += upstream[i] * y[i]
    for i in range(len(y)):
        gradient[i] = y[i] * (upstream[i] - mean)


def log_softmax(x: Row, y: MutableRow, length: float) -> float:
    """Write the logarithms of `softmax`, finite even where softmax underflows to 0."""
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
    """Subtract from each gradient its probability times the sum of all gradients."""
    total = 0.0
    for i in range(len(y)):
        total += upstream[i]
    for i in range(len(y)):
        gradient[i] = upstream[i] - exp(y[i]) * total


def spread(x: Row, y: MutableRow, each: int) -> float:
    """Write each number `each` times."""
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


def part(x: Row, y: MutableRow, first: int) -> float:
    """Write the numbers of x from index `first` on."""
    for i in range(len(y)):
        y[i] = x[first + i]
    return 0.0


def part_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, first: int
) -> None:
    for i in range(len(x)):
        gradient[i] = upstream[i - first] if i >= first and i < first + len(y) else 0.0


# Attention: each place of a sequence takes shares of the values of other places. The channels of x
# are a query, a key and a value of `size` numbers for each head, with one number per place.


def attention(
    x: Row, y: MutableRow, heads: int, size: int, places: int, causal: int, scale: float
) -> float:
    """Write the sum of share * value over the places, for each head and place.

    The shares are the softmax of query * key * `scale`; with `causal`, later places get no share.
    """
    for head in range(heads):
        query = 3 * head * size * places
        key = query + size * places
        value = key + size * places
        out = head * size * places
        for here in range(places):
            end = here + 1 if causal == 1 else places
            largest = 0.0
            for other in range(end):
                score = 0.0
                for d in range(size):
                    score += x[query + d * places + here] * x[key + d * places + other] * scale
                largest = score if other == 0 or score > largest else largest
            total = 0.0
            for d in range(size):
                y[out + d * places + here] = 0.0
            for other in range(end):
                score = 0.0
                for d in range(size):
                    score += x[query + d * places + here] * x[key + d * places + other] * scale
                part = exp(score - largest)
                total += part
                for d in range(size):
                    y[out + d * places + here] += part * x[value + d * places + other]
            for d in range(size):
                y[out + d * places + here] = y[out + d * places + here] / total
    return 0.0


def attention_backward(
    x: Row, y: Row, scale: float, upstream: Row, gradient: MutableRow, heads: int, size: int,
    places: int, causal: int, factor: float,
) -> None:  # fmt: skip
    """Write the gradients of queries, keys and values; the shares are computed again.

    A score gets its share times what it gains beyond the mean of all: the shares add up to 1.
    """
    for i in range(len(gradient)):
        gradient[i] = 0.0
    for head in range(heads):
        query = 3 * head * size * places
        key = query + size * places
        value = key + size * places
        out = head * size * places
        for here in range(places):
            end = here + 1 if causal == 1 else places
            largest = 0.0
            for other in range(end):
                score = 0.0
                for d in range(size):
                    score += x[query + d * places + here] * x[key + d * places + other] * factor
                largest = score if other == 0 or score > largest else largest
            total = 0.0
            for other in range(end):
                score = 0.0
                for d in range(size):
                    score += x[query + d * places + here] * x[key + d * places + other] * factor
                total += exp(score - largest)
            mean = 0.0
            for d in range(size):
                mean += upstream[out + d * places + here] * y[out + d * places + here]
            for other in range(end):
                score = 0.0
                gain = 0.0
                for d in range(size):
                    score += x[query + d * places + here] * x[key + d * places + other] * factor
                    gain += upstream[out + d * places + here] * x[value + d * places + other]
                share = exp(score - largest) / total
                slope = share * (gain - mean) * factor
                for d in range(size):
                    gradient[query + d * places + here] += slope * x[key + d * places + other]
                    gradient[key + d * places + other] += slope * x[query + d * places + here]
                    gradient[value + d * places + other] += (
                        share * upstream[out + d * places + here]
                    )


@dataclass(frozen=True, slots=True)
class RowFormula:
    """One operation on a row of numbers.

    `forward(x, y, *settings)` returns the argument `number` of
    `backward(x, y, number, upstream, gradient, *settings)`.
    """

    name: str
    forward: Callable[..., float]
    backward: Callable[..., None]

    def run(
        self, x: list[float], outputs: int, settings: Sequence[float]
    ) -> tuple[list[float], float]:
        """Return the outputs of a sample, and the number that `gradient` needs."""
        y = [0.0] * outputs
        return y, self.forward(x, y, *settings)

    def gradient(
        self,
        upstream: list[float],
        settings: Sequence[float],
        x: list[float],
        y: list[float],
        number: float,
    ) -> list[float]:
        """Return the gradient of the inputs of a sample, given the gradient of its outputs."""
        found = [0.0] * len(x)
        self.backward(x, y, number, upstream, found, *settings)
        return found


ROW_FORMULAS = table(
    [
        RowFormula("layer_norm", layer_norm, layer_norm_backward),
        RowFormula("group_norm", group_norm, group_norm_backward),
        RowFormula("rms_norm", rms_norm, rms_norm_backward),
        RowFormula("frequency_encoding", frequency_encoding, frequency_encoding_backward),
        RowFormula("softmax", softmax, softmax_backward),
        RowFormula("log_softmax", log_softmax, log_softmax_backward),
        RowFormula("spread", spread, spread_backward),
        RowFormula("slice", part, part_backward),
        RowFormula("max_pool", max_pool, max_pool_backward),
        RowFormula("average_pool", average_pool, average_pool_backward),
        RowFormula("attention", attention, attention_backward),
    ]
)


def typed(function: Callable[..., Any], settings: Sequence[float] | FloatArray) -> list[Any]:
    """Return settings for the last parameters of a function, converted to int if declared so."""
    parameters = list(signature(function).parameters.values())[-len(settings) :]
    return [
        int(setting) if parameter.annotation in ("int", int) else setting
        for parameter, setting in zip(parameters, settings, strict=True)
    ]


# Formulas with parameters. To add one, write its functions and a row of `PARAMETRIC_FORMULAS` and,
# for a layer with a separate name, a class in `core/layers/elementwise_layers.py`. `sv.layer` adds
# rows to the same table.


@dataclass(frozen=True, slots=True)
class ParametricFormula:
    """A row of `PARAMETRIC_FORMULAS`.

    Attributes:
        value: function of x and the parameters
        derivative: its derivative with respect to x, with the same arguments
        by_parameter: its derivative with respect to a parameter, whose index is the first argument
        starts: initial value of each parameter, by name
        digest: hash of the source of a custom formula, otherwise ""
    """

    name: str
    value: FloatFunction
    derivative: FloatFunction
    by_parameter: Callable[..., float]
    starts: tuple[tuple[str, float], ...]
    digest: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Copy or pickle by name, as custom functions cannot be pickled."""
        return formula_called, (self.name, self.digest)

    def check_is_current(self) -> None:
        """Raise InputError if another formula now has this name."""
        formula_called(self.name, self.digest)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple([name for name, _ in self.starts])


def formula_called(name: str, digest: str) -> ParametricFormula:
    """Return the formula called `name`; raise UnknownNameError, or InputError if it has changed."""
    row = pick(PARAMETRIC_FORMULAS, name, "formula")
    require(
        row.digest == digest,
        f"another formula has the name {name} now, so this layer cannot be copied or saved: "
        "register the previous formula with sv.layer(...), or rename the new one",
    )
    return row


# NaN must give NaN, as in activations.
def prelu(x: float, weight: float) -> float:
    return weight * x if x <= 0.0 else x


def prelu_derivative(x: float, weight: float) -> float:
    return weight if x <= 0.0 else 1.0


def prelu_by_parameter(place: int, x: float, weight: float) -> float:
    return x if x <= 0.0 else 0.0


PARAMETRIC_FORMULAS = table(
    [
        ParametricFormula(
            "prelu", prelu, prelu_derivative, prelu_by_parameter, (("weight", 0.25),)
        ),
    ]
)
