"""gradcheck: compare gradients with finite differences, in float64.

A derivative is estimated twice, at two scales, each time by extrapolating central differences of
two step sizes. While the two estimates disagree, they are repeated with smaller steps. If they
never agree, the function has a kink (such as relu at 0), and the entry is skipped and counted. This
decision does not use the gradient under test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, answered, as_batch, as_sample, check_signature, number
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.losses import LossRow, RowLossRow
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.layers import Layer, Perceptron
from scalarviz.core.value import Value
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import GradientMismatchError, InputError
from scalarviz.training.network.model import Model

TOLERANCE = 1e-6
MOST = 1000  # entries checked in one network, evenly spaced in larger ones
FIRST_STEP = 1e-3
SHRINK = 0.25
TRIES = 6
FLOOR = 1e-3  # gradients below this share of the largest are compared relative to that share
SEEN = 1e-5  # and those below this share of the function value, relative to that share


@dataclass(frozen=True, slots=True)
class Report:
    """Result of `gradcheck`; prints as a sentence.

    Attributes:
        checked: number of entries compared
        total: number of all entries, which are parameters and inputs
        kinks: number of entries skipped because the function has a kink there
        error: largest relative error
        worst: name of the entry with the largest error
    """

    checked: int
    total: int
    kinks: int
    error: float
    worst: str

    def __str__(self) -> str:
        part = "" if self.checked == self.total else f" of {self.total:,}"
        kinks = f"; skipped at kinks: {self.kinks}" if self.kinks else ""
        agree = "gradient agrees" if self.checked == 1 else "gradients agree"
        return (
            f"{self.checked:,}{part} {agree} with finite differences: the largest relative "
            f"error is {self.error:.1e}, at {self.worst}{kinks}"
        )

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Problem:
    """A function of an array, and its gradient to check at one point."""

    function: Callable[[FloatArray], float]
    point: FloatArray
    gradient: FloatArray
    name_of: Callable[[int], str]


@answered
def gradcheck(target: Any, x: Any, *, tolerance: float = TOLERANCE, seed: int = 0) -> Report:
    """Compare the gradients of `target` at `x` with finite differences; raise if they disagree.

    For a Network, Layer, Perceptron or Weight, the gradients of a random weighted sum of the
    outputs are checked with respect to parameters and inputs, on a float64 copy. A target can also
    be a row of a table of formulas, or a function of `Value` objects.

    Args:
        target: network, layer, perceptron, weight, row of a table of formulas, or function of
            Values
        x: inputs, array of shape (inputs,) or (batch, inputs)
        tolerance: largest accepted relative error; 1e-6 by default
        seed: non-negative integer that determines the random weighted sum; 0 by default

    Returns a Report. Raises GradientMismatchError, which names the worst entry, or InputError for a
    target without gradients.

    >>> from scalarviz.training.network.network import Network
    >>> gradcheck(Network([3, 4, 2], "tanh"), [0.1, 0.2, 0.3]).checked
    29
    """
    problem = as_problem(target, x, np.random.default_rng(check_seed(seed)))
    tolerance = number(tolerance, "the tolerance of gradcheck", 0.0, open_low=True)
    total = len(problem.point)
    entries = np.unique(np.linspace(0, total - 1, min(total, MOST)).round().astype(int)).tolist()
    estimates = {i: difference(problem, i, tolerance) for i in entries}
    smooth = {i: estimate for i, estimate in estimates.items() if estimate is not None}
    here = abs(problem.function(problem.point))
    if not np.isfinite(here):
        raise InputError("the function is not a finite number at this point: choose another point")
    if not smooth:
        raise GradientMismatchError(
            "the function has a kink in every direction at this point: choose another point"
        )
    floor = max(FLOOR * max(abs(estimate) for estimate in smooth.values()), SEEN * here)
    errors = {i: relative(float(problem.gradient[i]), n, floor) for i, n in smooth.items()}
    worst = max(errors, key=lambda i: errors[i])
    if not errors[worst] <= tolerance:
        raise GradientMismatchError(
            f"the gradient of {problem.name_of(worst)} is {problem.gradient[worst]:.9g}, but "
            f"finite differences give {smooth[worst]:.9g} (relative error {errors[worst]:.1e}): "
            "correct the derivative"
        )
    kinks = len(entries) - len(smooth)
    return Report(len(smooth), total, kinks, errors[worst], problem.name_of(worst))


def relative(gradient: float, estimate: float, floor: float) -> float:
    """Return the relative error of a gradient: 0 if both numbers are 0, NaN if one is NaN."""
    size = max(abs(gradient), abs(estimate), floor)
    return 0.0 if gradient == estimate else abs(gradient - estimate) / size


def difference(problem: Problem, i: int, tolerance: float) -> float | None:
    """Return the derivative for entry i by finite differences, or None at a kink."""
    step = FIRST_STEP * max(1.0, abs(problem.point[i]))
    best, best_error = None, np.inf
    for _ in range(TRIES):
        slopes = [slope(problem, i, h) for h in (step, step / 2, step / 4)]
        coarse = (4.0 * slopes[1] - slopes[0]) / 3.0
        fine = (4.0 * slopes[2] - slopes[1]) / 3.0
        error = abs(fine - coarse)
        if error < best_error:
            best, best_error = fine, error
        if error <= 0.01 * tolerance * abs(fine):
            break
        step *= SHRINK
    scale = max(abs(slopes[0]), abs(slopes[-1]), abs(best or 0.0))
    enough = max(100.0 * tolerance * scale, 1e-9)
    return best if best_error <= enough and not bent(problem, i, step, enough) else None


def bent(problem: Problem, i: int, step: float, enough: float) -> bool:
    """Return whether the function has a kink at the point, where one-sided slopes differ.

    For a smooth function, a step four times smaller makes the difference of the slopes four times
    smaller.
    """
    wide, narrow = gap(problem, i, step), gap(problem, i, step / 4)
    return narrow > enough and narrow > 0.5 * wide


def gap(problem: Problem, i: int, step: float) -> float:
    """Return the absolute difference of the slopes after and before the point."""
    here = problem.function(problem.point)
    ends = [beside(problem, i, h) for h in (step, -step)]
    after, before = [(value - here) / (place - problem.point[i]) for place, value in ends]
    return float(abs(after - before))


def slope(problem: Problem, i: int, step: float) -> float:
    """Return the central difference quotient for entry i."""
    after, high = beside(problem, i, step)
    before, low = beside(problem, i, -step)
    return float((high - low) / (after - before))


def beside(problem: Problem, i: int, step: float) -> tuple[Any, float]:
    """Move entry i by a step; return the new entry and the function value there."""
    point = problem.point.copy()
    point[i] += step
    return point[i], problem.function(point)


@singledispatch
def as_problem(target: Any, x: Any, rng: np.random.Generator) -> Problem:
    """Return the Problem for a target; one implementation is registered per type of target."""
    if not callable(target):
        raise InputError(
            f"gradcheck takes a network, a layer, a perceptron, a weight, a row of formulas or a "
            f"function of Values, not {target!r}"
        )
    point = np.array(as_sample(np.atleast_1d(x), None, "gradcheck of a function"))
    inputs = [Value(v) for v in point.tolist()]
    names = [f"x{i}" for i in range(len(inputs))]
    check_signature(target, names, "a function of Values", "an x with one number for each argument")
    output = target(*inputs)
    if not isinstance(output, Value):
        raise InputError(
            f"the function returned {output!r}: return a Value computed from its inputs"
        )
    output.backward()
    return Problem(
        lambda p: float(target(*[Value(v) for v in p.tolist()]).data),
        point,
        np.array([float(v.grad) for v in inputs]),
        "input {}".format,
    )


@as_problem.register
def problem_of_formula(target: Formula, x: Any, rng: np.random.Generator) -> Problem:
    point = np.array(as_sample(np.atleast_1d(x), len(target.partials), target.name))
    inputs = point.tolist()
    y = target.value(*inputs)
    return Problem(
        lambda p: target.value(*p.tolist()),
        point,
        np.array([partial(*inputs, y) for partial in target.partials]),
        f"{target.name}, input {{}}".format,
    )


@as_problem.register
def problem_of_loss(target: LossRow, x: Any, rng: np.random.Generator) -> Problem:
    p, t = as_sample(x, 2, target.name)
    weight = target.weight(p, t)  # a constant, by the definition of the loss
    return Problem(
        lambda point: target.value(float(point[0]), t) * weight,
        np.array([p]),
        np.array([target.derivative(p, t) * weight]),
        f"{target.name}, the prediction{{}}".format,
    )


@as_problem.register
def problem_of_row_loss(target: RowLossRow, x: Any, rng: np.random.Generator) -> Problem:
    p, t = (as_batch(row, None, target.name)[0][0].tolist() for row in x)
    gradient = [0.0] * len(p)
    target.gradient(p, t, gradient)
    return Problem(
        lambda point: target.value(point.tolist(), t),
        np.array(p),
        np.array(gradient),
        f"{target.name}, prediction {{}}".format,
    )


@as_problem.register
def problem_of_part(target: Part, x: Any, rng: np.random.Generator) -> Problem:
    twin = as_float64(target)
    if isinstance(target, Model | Layer | Perceptron):
        batch, single = as_batch(x, target.inputs, "gradcheck")
        point = batch[0] if single else batch
    else:
        point = np.array(number(x, "what gradcheck passes to a weight"))
    outputs = np.asarray(twin.forward(shaped(point)))
    upstream = np.asarray(rng.standard_normal(outputs.shape))
    twin.zero_grad()
    inputs = np.asarray(twin.backward(shaped(upstream)))
    rows = len(twin.bank)
    start = twin.bank.value.copy()

    def function(numbers: FloatArray) -> float:
        twin.bank.value[:] = numbers[:rows]
        # As in training: batch statistics, and the same units dropped.
        outputs = np.asarray(twin.forward(shaped(numbers[rows:].reshape(point.shape))))
        twin.forget()
        twin.bank.value[:] = start
        return float((outputs * upstream).sum())

    return Problem(
        function,
        np.concatenate([start, point.ravel()]),
        np.concatenate([twin.bank.grad, inputs.ravel()]),
        lambda i: twin.bank.name_of(i) if i < rows else f"input {i - rows}",
    )


def shaped(array: npt.NDArray[np.float64]) -> Any:
    """Return a 0-d array as a float, as a Weight needs it; return other arrays unchanged."""
    return float(array) if array.ndim == 0 else array


def as_float64(part: Part) -> Any:
    """Return a float64 copy of a network, layer, perceptron or weight, on a separate bank."""
    twin: Layer | Perceptron | Weight
    if isinstance(part, Model):
        return part.copy("float64")
    if isinstance(part, Layer):
        twin = part.again()
        twin.bind(Bank(part.size, "float64", part.state_size), 0, Init(), 0)
        twin.state[:] = part.state
    elif isinstance(part, Perceptron):
        twin = Perceptron(part.inputs, part.activation.name, bias=part.bias is not None)
    else:
        twin = Weight(0.0)
    rows = np.arange(len(part.bank))[part.rows]
    twin.bank.value[:] = part.bank.value[rows]
    twin.bank.name_of = lambda row: part.bank.name_of(int(rows[row]))
    return twin
