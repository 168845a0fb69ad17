"""The check of a learner's perceptron or layer, by finite differences and beside ours.

Its parameters are attributes such as `weights`, each with its gradient in `weights_grad`: a number,
a list or an array; or attributes with objects that have `value` and `grad`. The first are the
weights W, if the outputs are f(W x + b).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from scalarviz.base.checks.numbers import FloatArray, shorten
from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.table import Formula
from scalarviz.core.layers import Perceptron
from scalarviz.core.layers.dense import Dense
from scalarviz.errors import InputError
from scalarviz.training.checking.moment import Moment, compared
from scalarviz.training.network.gradcheck import MOST, TOLERANCE, Problem, difference

INPUTS = (0.5, -1.5, 2.0, -0.75, 1.25)
TINY = 1e-300  # of relu the derivative may be 0
UPSTREAM = (2.0, -3.0, 0.5, 1.5, -1.0)

Arrays = list[tuple[str, FloatArray]]  # by the key of a text


def of_layer(made: Any, like: Perceptron | Dense | None, x: FloatArray | None) -> Iterator[Moment]:
    """Compare a forward with one of ours, if it is given, and gradients with differences."""
    mine = deepcopy(made)
    names = names_of(mine)
    parts = [numbers(mine, name) for name in names]
    x = np.resize(INPUTS, parts[0].shape[-1:]) if x is None else x
    y, z = outputs(mine, names, x), sums(parts, x)
    row = activation_of(like, z, y)
    if like is not None and row is not None:
        call, right = f"forward({shorten(x.tolist())})", np.vectorize(row.value)(z)
        known = [("layer_no_activation", z)]
        yield from entries("", call, y, right, "layer_forward", known, activation=row.name)
    g = np.resize(UPSTREAM, y.shape)
    rights, slopes, fields = differences(mine, names, [*parts, x], g), [], {"g": g.flat[0]}
    if row is not None:
        slopes = wrong_slopes(row, z, y)
        fields |= {"activation": row.name, "slope": row.derivative(z.flat[0], y.flat[0])}
    wrong = mistakes(rights, parts, x, y, slopes)
    before = [numbers(mine, name, "grad") for name in names]
    once = f"backward({shorten(g.tolist())})"
    for call in (once, f"{once}, {once}"):
        returned = mine.backward(given(mine, names, g))
        for i, name in enumerate(names):
            known = [("layer_assigned", rights[i])]
            known += [(key, before[i] + each) for key, each in wrong[i]]
            before[i] = before[i] + rights[i]
            got = numbers(mine, name, "grad")
            yield from entries(
                named(mine, name), call, got, before[i], "layer_grad", known, **fields
            )
        yield from entries("", call, returned, rights[-1], "layer_result", wrong[-1], **fields)
        outputs(mine, names, x)
    if hasattr(mine, "zero_grad"):
        mine.zero_grad()
        for name, part in zip(names, parts, strict=True):
            got, call = numbers(mine, name, "grad"), "zero_grad()"
            yield from entries(named(mine, name), call, got, 0 * part, "layer_zero_grad", [])


def names_of(mine: Any) -> list[str]:
    """Return the names of the parameters."""
    held = {name: np.array(kept, dtype=object).flat for name, kept in vars(mine).items()}
    names = [
        name
        for name, objects in held.items()
        if hasattr(mine, f"{name}_grad") or any(hasattr(each, "grad") for each in objects)
    ]
    if not names or not {"weights", "bias"} & {*held} <= {*names}:
        raise InputError(
            f"{type(mine).__name__} lacks a gradient: keep that of `weights` in `weights_grad`, "
            "that of `bias` in `bias_grad`, and so on"
        )
    return names


def numbers(mine: Any, name: str, of: str = "value") -> FloatArray:
    """Return the values of a parameter, or "grad": its gradient."""
    kept = f"{name}_grad" if of == "grad" and hasattr(mine, f"{name}_grad") else name
    found = np.array(getattr(mine, kept), dtype=object)
    return np.array([getattr(each, of, each) for each in found.flat], float).reshape(found.shape)


def named(mine: Any, name: str) -> str:
    """Return how a learner writes the gradient of a parameter."""
    return f"{name}_grad" if hasattr(mine, f"{name}_grad") else f"{name}.grad"


def given(mine: Any, names: list[str], array: FloatArray) -> Any:
    """Return numbers as the weights of a learner are kept: an array, or lists."""
    return array.copy() if isinstance(getattr(mine, names[0]), np.ndarray) else array.tolist()


def outputs(mine: Any, names: list[str], x: FloatArray) -> FloatArray:
    return np.asarray(mine.forward(given(mine, names, x)), float)


def sums(parts: list[FloatArray], x: FloatArray) -> Any:
    """Return W x + b; None if the shapes do not fit. A row or a column of W makes an output."""
    weights, *others = parts
    try:
        return x @ (weights.T if weights.shape[-1:] == x.shape[-1:] else weights) + sum(others)
    except ValueError:
        return None


def activation_of(like: Perceptron | Dense | None, z: Any, y: FloatArray) -> Any:
    """Return the activation of one of ours, or the first that makes y of z, or None."""
    if like is not None and z is not None:
        name = like.activation.name if isinstance(like, Perceptron) else like.activation
        return ACTIVATIONS[name]
    rows = ACTIVATIONS.values() if np.shape(z) == y.shape else ()
    return next((row for row in rows if np.allclose(np.vectorize(row.value)(z), y)), None)


def differences(
    mine: Any, names: list[str], parts: list[FloatArray], upstream: FloatArray
) -> list[FloatArray]:
    """Return the gradients of parameters and inputs, `parts`, by finite differences."""
    ends = np.cumsum([part.size for part in parts])[:-1]

    def pieces(point: FloatArray) -> list[FloatArray]:
        split = zip(np.split(point, ends), parts, strict=True)
        return [piece.reshape(part.shape) for piece, part in split]

    def loss(point: FloatArray) -> float:
        twin = deepcopy(mine)
        *values, x = pieces(point)
        for name, value in zip(names, values, strict=True):
            put(twin, name, value)
        return float((outputs(twin, names, x) * upstream).sum())

    point = np.concatenate([part.ravel() for part in parts])
    if point.size > MOST:
        raise InputError(f"{point.size:,} numbers take too long: check a smaller layer")
    problem = Problem(loss, point, point, str)
    found = [difference(problem, i, TOLERANCE) for i in range(point.size)]
    return pieces(np.array(found, float))  # NaN at a kink


def put(mine: Any, name: str, value: FloatArray) -> None:
    """Set the values of a parameter."""
    if hasattr(mine, f"{name}_grad"):
        setattr(mine, name, given(mine, [name], value))
        return
    held = np.array(getattr(mine, name), dtype=object).flat
    for weight, number in zip(held, value.ravel().tolist(), strict=True):
        weight.value = number


def mistakes(
    rights: list[FloatArray], parts: list[FloatArray], x: FloatArray, y: FloatArray, slopes: Arrays
) -> list[Arrays]:
    """Return the gradients that typical mistakes give, of each parameter and of the inputs."""
    found: list[Arrays] = [
        [
            ("layer_sign", -right),
            ("layer_nothing", 0.0 * right),
            ("layer_mean", right / len(np.atleast_2d(x))),
        ]
        for right in rights
    ]
    if x.ndim == 1 and parts[0].shape[-1:] == x.shape:  # one sample, and a row for each output
        found[0].append(("layer_no_input", rights[0] / x))
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
    return [(key, each / (slope(z, y) + TINY)) for key, each in wrong]


def entries(
    name: str, call: str, got: Any, right: FloatArray, why: str, known: Arrays, **fields: Any
) -> Iterator[Moment]:
    """Compare arrays entry by entry: of a gradient, or if the name is empty of a result."""
    if np.shape(got) != right.shape:
        place, shape = text("check.shape", name=name or call), str(np.shape(got))
        yield compared(place, shape, str(right.shape), why if got is None else "layer_shape")
        return
    for at in np.ndindex(right.shape):
        index = "".join(f"[{i}]" for i in at)
        place = text("check.after", name=f"{name}{index}", call=call)
        place = place if name else text("check.result", call=f"{call}{index}")
        wrong = [(key, each[at]) for key, each in known]
        if not np.isnan(right[at]):
            number = np.asarray(got)[at].item()
            yield compared(place, number, float(right[at]), why, wrong, **fields)
