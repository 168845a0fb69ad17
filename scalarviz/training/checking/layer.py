"""The check of a learner's perceptron or layer, by finite differences and beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.layers import Perceptron
from scalarviz.core.layers.dense import Dense
from scalarviz.errors import InputError
from scalarviz.training.checking.moment import Moment, compared
from scalarviz.training.network.gradcheck import MOST, TOLERANCE, Problem, difference

INPUTS = (0.5, -1.5, 2.0, -0.75, 1.25)
UPSTREAM = (2.0, -3.0, 0.5, 1.5, -1.0)
TINY = 1e-300  # of relu the derivative may be 0

Arrays = list[tuple[str, FloatArray]]  # by the key of a text


class Learned:
    """A copy of a learner's layer, with the names of its parameters.

    A parameter is an attribute such as `weights` with its gradient in `weights_grad`: a number, a
    list or an array; or an attribute with objects that have `value` and `grad`.
    """

    def __init__(self, mine: Any) -> None:
        self.mine = deepcopy(mine)
        kept = {name: x for name, x in getattr(mine, "__dict__", {}).items() if x is not None}
        held = {name: objects_in(x) for name, x in kept.items()}
        self.names = [
            name
            for name, objects in held.items()
            if hasattr(mine, f"{name}_grad") or any(hasattr(each, "grad") for each in objects)
        ]
        if not self.names or not {"weights", "bias"} & {*held} <= {*self.names}:
            raise InputError(
                f"{type(mine).__name__} lacks a gradient: keep that of `weights` in "
                "`weights_grad`, that of `bias` in `bias_grad`, and so on"
            )

    def numbers(self, kept: str, of: str = "value") -> FloatArray:
        """Return the numbers of an attribute; of objects their values or their gradients."""
        found = np.array(getattr(self.mine, kept), dtype=object)
        return np.array([getattr(x, of, x) for x in found.flat], float).reshape(found.shape)

    def gradient(self, name: str) -> tuple[str, FloatArray]:
        """Return the gradient of a parameter, and how the learner writes it."""
        if hasattr(self.mine, f"{name}_grad"):
            return f"{name}_grad", self.numbers(f"{name}_grad")
        return f"{name}.grad", self.numbers(name, "grad")

    def given(self, array: FloatArray) -> Any:
        """Return numbers as the learner has the weights: an array, or lists."""
        is_array = isinstance(getattr(self.mine, self.names[0]), np.ndarray)
        return array.copy() if is_array else array.tolist()

    def outputs(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.mine.forward(self.given(x)), float)

    def put(self, name: str, values: FloatArray) -> None:
        """Set the numbers of a parameter."""
        if hasattr(self.mine, f"{name}_grad"):
            setattr(self.mine, name, self.given(values))
            return
        objects = np.array(getattr(self.mine, name), dtype=object).flat
        for weight, value in zip(objects, values.ravel().tolist(), strict=True):
            weight.value = value


def objects_in(kept: Any) -> Any:
    """Return the objects that an attribute holds; of an array of numbers, however large, none."""
    if isinstance(kept, np.ndarray) and kept.dtype != object:
        return ()
    try:
        return np.array(kept, dtype=object).flat
    except ValueError:  # arrays of several shapes, of which no parameter is made
        return ()


def of_layer(made: Any, like: Perceptron | Dense | None, x: FloatArray | None) -> Iterator[Moment]:
    """Compare a forward with one of ours, if it is given, and gradients with differences.

    The first parameter are the weights W, if the outputs are f(W x + b).
    """
    mine = Learned(made)
    parts = [mine.numbers(name) for name in mine.names]
    x = np.resize(INPUTS, parts[0].shape[-1:]) if x is None else x
    y, z = mine.outputs(x), sums(parts, x)
    if not np.isfinite(y).all():
        raise InputError(
            f"forward gives {shorten(y.tolist())}, where no slope can be found: take other numbers"
        )
    row = activation_of(like, z, y)
    if like is not None:
        call, right = f"forward({shorten(x.tolist())})", np.vectorize(row.value)(z)
        known = [("layer_no_activation", z)]
        yield from entries("", call, y, right, "layer_forward", known, activation=row.name)
    g = np.resize(UPSTREAM, y.shape)
    rights, slopes, fields = differences(mine, [*parts, x], g), [], {"g": g.flat[0]}
    if row is not None:
        slopes = wrong_slopes(row, z, y)
        fields |= {"activation": row.name, "slope": row.derivative(z.flat[0], y.flat[0])}
    wrong = mistakes(rights, parts, x, y, slopes)
    yield from of_backward(mine, x, g, rights, wrong, fields)


def of_backward(
    mine: Learned,
    x: FloatArray,
    g: FloatArray,
    rights: list[FloatArray],
    wrong: list[Arrays],
    fields: dict[str, Any],
) -> Iterator[Moment]:
    """Compare the gradients of a backward of g, of one more, and after zero_grad."""
    before = [mine.gradient(name)[1] for name in mine.names]
    once = f"backward({shorten(g.tolist())})"
    for call in (once, f"{once}, {once}"):
        returned = mine.mine.backward(mine.given(g))
        for i, name in enumerate(mine.names):
            known = [("layer_assigned", rights[i])]
            known += [(key, before[i] + each) for key, each in wrong[i]]
            before[i] = before[i] + rights[i]
            place, got = mine.gradient(name)
            yield from entries(place, call, got, before[i], "layer_grad", known, **fields)
        yield from entries("", call, returned, rights[-1], "layer_result", wrong[-1], **fields)
        mine.outputs(x)
    if hasattr(mine.mine, "zero_grad"):
        mine.mine.zero_grad()
        for name, right in zip(mine.names, rights, strict=False):
            place, got = mine.gradient(name)
            yield from entries(place, "zero_grad()", got, 0.0 * right, "layer_zero_grad", [])


def entries(
    name: str, call: str, got: Any, right: FloatArray, why: str, known: Arrays, **fields: Any
) -> Iterator[Moment]:
    """Compare arrays entry by entry: of a gradient, or if the name is empty of a result."""
    if got is ...:
        yield Moment(name or call, got, None)
        return
    if np.shape(got) != right.shape:
        place, shape = text("check.shape", name=name or call), str(np.shape(got))
        yield compared(place, shape, str(right.shape), why if got is None else "layer_shape")
        return
    for at in np.ndindex(right.shape):
        index = "".join(f"[{i}]" for i in at)
        place = text("check.after", name=f"{name}{index}", call=call)
        place = place if name else text("check.result", call=f"{call}{index}")
        wrong = [(key, each[at]) for key, each in known]
        if not np.isnan(right[at]):  # at a kink
            number = np.asarray(got)[at].item()
            yield compared(place, number, float(right[at]), why, wrong, **fields)


def sums(parts: list[FloatArray], x: FloatArray) -> Any:
    """Return W x + b; None if the shapes do not fit. A row or a column of W makes an output."""
    weights, *others = parts
    try:
        return x @ (weights.T if weights.shape[-1:] == x.shape[-1:] else weights) + sum(others)
    except ValueError:
        return None


def activation_of(like: Perceptron | Dense | None, z: Any, y: FloatArray) -> Any:
    """Return the activation of one of ours, or the first that makes y of z, or None."""
    if like is None:
        rows = ACTIVATIONS.values() if np.shape(z) == y.shape else ()
        return next((row for row in rows if np.allclose(np.vectorize(row.value)(z), y)), None)
    if z is None:
        raise InputError(f"the weights do not fit {like}: let a row of them make an output")
    return ACTIVATIONS[like.activation if isinstance(like, Dense) else like.activation.name]


def differences(mine: Learned, parts: list[FloatArray], g: FloatArray) -> list[FloatArray]:
    """Return the gradients of parameters and inputs, `parts`, by finite differences."""
    ends = np.cumsum([part.size for part in parts])[:-1]

    def pieces(point: FloatArray) -> list[FloatArray]:
        split = zip(np.split(point, ends), parts, strict=True)
        return [piece.reshape(part.shape) for piece, part in split]

    def loss(point: FloatArray) -> float:
        twin = Learned(mine.mine)
        *values, x = pieces(point)
        for name, value in zip(twin.names, values, strict=True):
            twin.put(name, value)
        return float((twin.outputs(x) * g).sum())

    point = np.concatenate([part.ravel() for part in parts])
    if point.size > MOST:
        raise InputError(f"{point.size:,} numbers take too long: check a smaller layer")
    problem = Problem(loss, point, point, str)
    found = [difference(problem, i, TOLERANCE) for i in range(point.size)]
    return pieces(np.array(found, float))  # NaN at a kink


def mistakes(
    rights: list[FloatArray], parts: list[FloatArray], x: FloatArray, y: FloatArray, slopes: Arrays
) -> list[Arrays]:
    """Return the gradients that typical mistakes give, of each parameter and of the inputs."""
    samples = len(np.atleast_2d(x))
    found: list[Arrays] = [
        [("layer_sign", -right), ("layer_nothing", 0.0 * right), ("layer_mean", right / samples)]
        for right in rights
    ]
    if x.ndim == 1 and parts[0].shape[-1:] == x.shape:  # one sample, and a row for each output
        found[0].append(("layer_no_input", rights[0] / (x + TINY)))
        for wrong, right in zip(found[:-1] if y.ndim else found, rights, strict=False):
            each = y.shape + (1,) * (right.ndim - y.ndim)
            wrong += [(key, right * ratio.reshape(each)) for key, ratio in slopes]
    if x.shape == y.shape and len(parts) == 2:
        found[0].append(("layer_transposed", rights[0].T))
        found[-1].append(("layer_transposed", parts[0] @ rights[1]))
    return found


def wrong_slopes(row: Formula, z: FloatArray, y: FloatArray) -> Arrays:
    """Return wrong derivatives of an activation relative to the right one, for each output."""
    slope = np.vectorize(row.derivative, otypes=[float])
    ends = ((z, z), (y, y), (y, np.vectorize(row.value)(y)))
    wrong = [("layer_no_derivative", 1.0), *[("layer_wrong_place", slope(*end)) for end in ends]]
    return [(key, np.asarray(each / (slope(z, y) + TINY))) for key, each in wrong]
