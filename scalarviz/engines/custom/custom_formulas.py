"""activation, loss and layer: add user-defined functions as rows to the tables of formulas."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from scalarviz.base.checks import answered, check_signature, require, shorten, size, true_or_false
from scalarviz.base.checks import number as as_number
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ParametricFormula
from scalarviz.core.formulas.losses import EVERYWHERE, LOSSES, ROW_LOSSES, LossRow, RowLossRow
from scalarviz.core.layers.elementwise_layers import Elementwise, counts_of
from scalarviz.core.layers.shapes import numbers_of
from scalarviz.engines.custom.user_functions import (
    check_callable,
    check_plain,
    check_source,
    checked_name,
    digest,
    freezing,
    function_of,
    on_numbers,
    recorded_derivative,
)
from scalarviz.errors import InputError

BUILT_IN_ACTIVATIONS = frozenset(ACTIVATIONS)
REMEDY = ": fix it, or pass check=False to keep it"


@answered
def activation(
    value: Any, derivative: Any = None, name: str = "", *, check: bool = True
) -> Formula:
    """Register a custom activation y = value(x) with derivative(x, y).

    Its name can be used wherever an activation is named. The functions must be defined by a plain
    def, since kernels are generated from their source. An activation with an existing name
    replaces the existing one: recreate all networks that use it, because their objects keep the
    old functions while kernels use the new ones.

    Args:
        value: function of a float x that returns a float; use `sv.where(condition, a, b)` for
            conditions
        derivative: function of x and y = value(x) that returns dy/dx. None (default) means that it
            is derived automatically by recording `value` with Values, which is not possible if
            `value` compares x other than by `sv.where`
        name: name of the activation; "" (default) means the name of the function
        check: whether to compare the derivative with finite differences; by default True. Use False
            for surrogate derivatives, e.g. of a step function

    Returns the row of `ACTIVATIONS`. Raises InputError for functions with other arguments or
    without readable source, and for a wrong derivative.

    >>> def bump(x):
    ...     return 1.0 / (1.0 + x * x)
    >>> def bump_derivative(x, y):
    ...     return -2.0 * x * y * y
    >>> activation(bump, bump_derivative).name
    'bump'
    >>> ACTIVATIONS.pop("bump").value(1.0)
    0.5
    """
    true_or_false(check, "check")
    wanted = "an activation is two functions, f(x) and its derivative(x, y)"
    check_callable(value, derivative, wanted)
    check_signature(value, ["x"], "an activation", "def value(x): ...")
    if derivative is not None:
        how = "def derivative(x, y): ..., y being value(x)"
        check_signature(derivative, ["x", "y"], "the derivative of an activation", how)
    name = checked_name(name, value, "an activation", BUILT_IN_ACTIVATIONS)
    hashed = digest(value, derivative)
    slope = derivative or recorded_derivative(value, "the activation", "y")
    made = ActivationFormula(name, on_numbers(value), (on_numbers(slope),), digest=hashed)
    check_source(made.value, *made.partials)
    if check and derivative is not None:
        check_slope(made)
    ACTIVATIONS[name] = made
    return made


def check_slope(row: ActivationFormula) -> None:
    """Raise InputError if a derivative differs from finite differences where both are finite."""
    for x, _ in points(*EVERYWHERE):
        try:
            lower, middle, upper = (float(row.value(x + h)) for h in (-STEP, 0.0, STEP))
            given = float(row.derivative(x, middle))
        except (ArithmeticError, TypeError, ValueError):  # of a logarithm, for example
            continue
        compare(lower, middle, upper, given, f"the derivative of {row.name} at {x:.6g}", REMEDY)


# ---- losses -------------------------------------------------------------------------------------

BUILT_IN_LOSSES = frozenset({**LOSSES, **ROW_LOSSES})

POINTS = 50  # points at which derivatives are compared with differences
FAR = 1000.0
WIDTH = 4  # numbers per sample in the checks of a row loss, by default
STEP = 1e-5
OTHER = (
    "outputs= sets the number of outputs of a sample, if the loss needs a fixed number; "
    "check=False skips the check"
)
ASKED_OF_A_FORMULA = (
    "a formula must return a number everywhere; pass domain=(0, 1) if predictions are between these"
)
NEAR = 1e-4  # relative error of a difference
ROUNDING = 1e-14  # of a value, relative; it is divided by STEP


@answered
def loss(
    value: Any,
    derivative: Any = None,
    name: str = "",
    *,
    rows: bool = False,
    domain: tuple[float, float] = EVERYWHERE,
    outputs: int | None = None,
    targets: int | None = None,
    check: bool = True,
) -> LossRow | RowLossRow:
    """Register a custom loss: the error of one prediction p with target t.

    Its name can be used wherever a loss is named: `Session(net, data, loss="pinball")`, or
    `sv.Loss("pinball", factor=0.5)`. The functions must be defined by a plain def, since kernels
    are generated from their source. They may use other constants and functions, with their current
    values, and `math`, whose functions return infinity or NaN instead of raising errors. Use
    `sv.where(condition, a, b)` for conditions.

    A loss with an existing name replaces the existing one for new objects; existing losses and
    sessions, and the files that they save, keep the old functions. On cuda, old objects raise an
    EngineError unless both losses have the same source.

    Args:
        value: function of two floats p and t that returns a float; if `rows` is True, p and t are
            sequences with the numbers of one sample
        derivative: function of p and t that returns the derivative of value with respect to p. None
            (default) means that it is derived automatically by recording `value` with Values, which
            is not possible if `value` compares its arguments other than by `sv.where`. With `rows`
            it is required: a function of p, t and a sequence `gradient`, which it fills
        name: name of the loss; "" (default) means the name of the function
        rows: whether the loss is computed from the whole row of a sample, like
            softmax_cross_entropy, or from single numbers; by default False
        domain: bounds of the predictions, such as (0, 1) for the outputs of a sigmoid; by default
            (-inf, inf). The functions are checked only within these bounds
        outputs: required number of outputs, with `rows`; None (default) means any number, and 4 are
            used in the checks
        targets: number of targets per sample, with `outputs`: from 1 to `outputs`, such as 1 for a
            mean and a deviation; t is padded with zeros to the length of p. None (default) means
            one target for each output
        check: whether to check the functions at 50 points; by default True

    Returns the row of `LOSSES` or `ROW_LOSSES`. Raises InputError for functions with other
    arguments or without readable source, for functions that raise an error or return NaN at one of
    50 points or at +-1000 within the domain, and for a derivative that differs from finite
    differences.

    >>> def log_cosh(p, t):
    ...     return abs(p - t) + math.log1p(math.exp(-2.0 * abs(p - t)))
    >>> round(loss(log_cosh).derivative(1.0, 1.5), 6)
    -0.462117
    """
    true_or_false(rows, "rows")
    true_or_false(check, "check")
    low, high = ends_of(domain)
    wanted = (
        "value(p, t) and gradient(p, t, gradient)" if rows else "value(p, t) and derivative(p, t)"
    )
    check_callable(value, derivative, f"a loss is two functions, {wanted}")
    for function in (value, derivative):
        check_plain(function)
    check_signature(value, ["p", "t"], "a loss", "def value(p, t): ...")
    value, derivative = map(freezing(), (value, derivative))
    outputs = 0 if outputs is None else size(outputs, "outputs")
    targets = outputs if targets is None else size(targets, "targets")
    require(
        targets <= outputs,
        f"the loss takes {targets} targets and {outputs or 'any number of'} outputs: pass "
        "outputs= with targets=, at least this many; a formula can ignore some of them",
    )
    name = checked_name(name, value, "a loss", BUILT_IN_LOSSES)
    about: dict[str, Any] = {
        "digest": digest(value, derivative),
        "domain": (low, high),
        "outputs": outputs,
        "targets": targets,
    }
    made = (row_loss if rows else number_loss)(value, derivative, name, about)
    if check:
        (check_rows if isinstance(made, RowLossRow) else check_numbers)(made, low, high)  # type: ignore[arg-type]  # of one kind
    (LOSSES if rows else ROW_LOSSES).pop(name, None)
    (ROW_LOSSES if rows else LOSSES)[name] = made  # type: ignore[assignment]  # of one kind
    return made


def number_loss(value: Any, derivative: Any, name: str, about: Mapping[str, Any]) -> LossRow:
    """Return the row of a loss that is computed from single numbers."""
    if derivative is not None:
        how = "def derivative(p, t): ..."
        check_signature(derivative, ["p", "t"], "the derivative of a loss", how)
    slope = recorded_derivative(value, "the loss") if derivative is None else on_numbers(derivative)
    made = LossRow(name, on_numbers(value), slope, **about)
    check_source(made.value, made.derivative)
    return made


def ends_of(domain: object) -> tuple[float, float]:
    """Return the bounds of a domain; raise InputError if they are invalid."""
    if isinstance(domain, tuple | list) and len(domain) == 2:
        low, high = (as_number(end, "an end of the domain", finite=False) for end in domain)
        if low < high:
            return low, high
    raise InputError(
        f"the domain of a loss is two numbers, the lower one first, such as (0, 1), not "
        f"{shorten(domain)}"
    )


def row_loss(value: Any, gradient: Any, name: str, about: Mapping[str, Any]) -> RowLossRow:
    """Return the row of a loss that is computed from the whole row of a sample."""
    how = "def gradient(p, t, gradient): ..., which writes gradient[i] for each p[i]"
    require(
        gradient is not None,
        f"the gradient of the loss {name!r} on rows cannot be derived automatically: "
        f"pass it, as {how}",
    )
    check_signature(gradient, ["p", "t", "gradient"], "the gradient of a loss on rows", how)
    made = RowLossRow(name, on_numbers(value), on_numbers(gradient), **about)
    check_source(made.value, made.gradient)
    return made


# ---- the numbers --------------------------------------------------------------------------------


def points(low: float, high: float) -> Iterator[tuple[float, float]]:
    """Yield pairs of prediction and target in a domain; half of the targets are from 0 to 1."""
    start, wide = low + 0.01, high - low - 0.02
    if (low, high) == EVERYWHERE:
        start, wide = -3.0, 6.0
    elif math.isinf(high):
        wide = 6.0
    elif math.isinf(low):
        start, wide = high - 6.0, 5.99
    elif wide < 0.96:
        start, wide = low + 0.01 * (high - low), 0.98 * (high - low)
    for i in range(POINTS):
        p = start + wide * math.fmod(0.137 + 0.618033988749895 * i, 1.0)
        t = math.fmod(0.271 + 0.754877666246693 * i, 1.0)
        if (low, high) == EVERYWHERE:
            yield p, (t if i % 2 else 4.0 * t - 2.0)
        else:
            yield p, start + wide * t


def far_in(low: float, high: float) -> list[float]:
    """Return the predictions -1000 and 1000 if they are inside a domain."""
    return [p for p in (-FAR, FAR) if low < p < high]


def check_numbers(row: LossRow, low: float, high: float) -> None:
    """Raise InputError if a loss of single numbers fails, or if its derivative is wrong."""
    value, slope = (
        f"{row.name}({{:.6g}}, {{:.6g}})",
        f"the derivative of {row.name} at ({{:.6g}}, {{:.6g}})",
    )
    for p, t in points(low, high):
        here = number(row.derivative, slope.format(p, t), p, t)
        lower, middle, upper = (
            number(row.value, value.format(p, t), p + h, t) for h in (-STEP, 0.0, STEP)
        )
        compare(lower, middle, upper, here, slope.format(p, t))
    for p in far_in(low, high):
        for t in (t for t in (-1.0, 0.0, 1.0, p, -p) if low < t < high):
            number(row.value, value.format(p, t), p, t)
            number(row.derivative, slope.format(p, t), p, t)


def check_rows(row: RowLossRow, low: float, high: float) -> None:
    """Check a loss of whole rows, at a fixed row length, as `check_numbers` does."""
    samples, outputs = [*points(low, high)], row.outputs or WIDTH
    behind = [0.0] * (row.outputs - row.targets)  # previous content in training
    for n in range(POINTS // outputs + 1):
        p, t = ([samples[(outputs * n + i) % POINTS][k] for i in range(outputs)] for k in (0, 1))
        t = [abs(x) / sum(map(abs, t)) for x in t] if n % 2 else t
        t[outputs - len(behind) :] = behind
        place = f"{row.name}({in_brief(p)}, {in_brief(t)})"
        number(row.value, place, p, t)
        for i, here in enumerate(gradient_of(row, p, t)):
            moved = [[x + h * (j == i) for j, x in enumerate(p)] for h in (-STEP, 0.0, STEP)]
            lower, middle, upper = (number(row.value, place, each, t) for each in moved)
            compare(lower, middle, upper, here, f"{place}: gradient[{i}]")
    for far in far_in(low, high):
        p, t = [far, *[0.5] * (outputs - 1)], [0.0, 1.0, *[0.0] * outputs][:outputs]
        number(row.value, f"{row.name}({in_brief(p)}, {in_brief(t)})", p, t)
        gradient_of(row, p, t)


def gradient_of(row: RowLossRow, p: Sequence[float], t: Sequence[float]) -> list[float]:
    """Return the gradient of a loss of whole rows; raise InputError unless it is complete."""
    place = f"the gradient of {row.name}({in_brief(p)}, {in_brief(t)})"
    unwritten = -math.nan  # a separate object
    found = [unwritten] * len(p)
    attempt(row.gradient, place, p, t, found)
    if lacking := [i for i, x in enumerate(found) if x is unwritten]:
        raise InputError(
            f"{place}: gradient[{lacking[0]}] is not written: write one for each of the {len(p)} "
            f"numbers; {OTHER}"
        )
    return [number(lambda x=x: x, f"{place}: gradient[{i}]") for i, x in enumerate(found)]


def compare(
    lower: float, middle: float, upper: float, given: float, what: str, remedy: str = ""
) -> None:
    """Raise InputError if a derivative differs from both one-sided differences.

    At a kink the two differences are unequal, and any derivative between them is accepted.
    """
    if not all(map(math.isfinite, (lower, middle, upper, given))):
        return
    sides = [(middle - lower) / STEP, (upper - middle) / STEP]
    allowed = NEAR * (1.0 + max(map(abs, sides))) + ROUNDING * abs(middle) / STEP
    if not min(sides) - allowed <= given <= max(sides) + allowed:
        found = (upper - lower) / (2.0 * STEP)
        raise InputError(f"{what} is {given:.6g}, and finite differences give {found:.6g}{remedy}")


def attempt(function: Callable[..., Any], what: str, *arguments: Any, hint: str = "") -> Any:
    """Call a custom function; if it raises an error, raise an InputError that says where."""
    try:
        return function(*arguments)
    except Exception as error:  # any error of a custom function
        hint = hint or (OTHER if isinstance(error, IndexError) else ASKED_OF_A_FORMULA)
        raise InputError(f"{what} raises {type(error).__name__}: {error}; {hint}") from error


def number(function: Callable[..., Any], what: str, *arguments: Any) -> float:
    """Return the result of a custom function; raise InputError unless it is a number."""
    given = attempt(function, what, *arguments)
    try:
        found = math.nan if isinstance(given, str | bytes) else float(given)
    except (TypeError, ValueError):
        found = math.nan
    if math.isnan(found):
        raise InputError(f"{what} is {shorten(given)}: {ASKED_OF_A_FORMULA}")
    return found


def in_brief(numbers: Sequence[float]) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in numbers)}]"


# ---- layers -------------------------------------------------------------------------------------

BUILT_IN_PARAMETRIC = frozenset(PARAMETRIC_FORMULAS)
ASKED_OF_A_LAYER = (
    "a layer must return a number everywhere for its initial parameters: change their defaults"
)
MOST = 7  # maximum number of parameters in kernels
HOW = "def snake(x, slope=1.0): ..."


@answered
def layer(
    function: Any,
    parameters: Mapping[str, Any] | None = None,
    shape: int | Sequence[int] | None = None,
    name: str = "",
) -> Elementwise:
    """Return a custom layer: y = function(x, ...) for each number, with trainable parameters.

    The function must be a plain def, since kernels are generated from its source; its derivatives
    are derived automatically by recording it. The first argument is the input. The others are
    trainable parameters; their defaults are the initial values, 1 if missing. Use
    `sv.where(condition, a, b)` for conditions.

    Args:
        function: function of a float x and 1 to 7 float parameters that returns a float
        parameters: shape of each parameter by name: (n,) or n for n numbers, each of which is
            shared by an equal part of the features; () (default) for one number shared by all
        shape: number of features, or the shape (channels, height, width) of a picture; None
            (default) means the largest n
        name: name of the formula; "" (default) means the name of the function

    For new layers, a formula replaces an existing one with the same name. Files store the name and
    a digest of the function, so call `sv.layer` before loading them. Raises InputError for a
    function that has other arguments, cannot be recorded, or has no readable source, and for
    unknown parameters.

    >>> def snake(x, slope=1.0):
    ...     return x + math.sin(slope * x) ** 2.0 / slope
    >>> layer(snake, {"slope": (2,)})([0.0, math.pi / 2.0]).round(4).tolist()
    [0.0, 2.5708]
    """
    check_plain(function)
    starts = starts_of(function)
    counts = {key: count_of(key, each) for key, each in given_shapes(parameters).items()}
    picture = max(counts.values(), default=1) if shape is None else shape
    require(
        shape is not None or picture != 1,
        "the number of features is missing: pass shape=8, for example, or a parameter with one "
        "value per feature, as in parameters={'" + starts[0][0] + "': (8,)}",
    )
    _, features = numbers_of(picture, "the numbers of a layer")
    row = row_of(freezing()(function), starts, name)
    counts_of(row, features, counts)
    PARAMETRIC_FORMULAS[row.name] = row
    return Elementwise(picture, row.name, counts)


def starts_of(function: Any) -> tuple[tuple[str, float], ...]:
    """Return a layer's parameters with their initial values; raise InputError if invalid."""
    require(
        isinstance(function, FunctionType),
        f"a layer is a function, {HOW}, not {shorten(function)}",
    )
    found = [*inspect.signature(function).parameters.values()][1:]
    require(
        1 <= len(found) <= MOST,
        f"the function of a layer takes a number and 1 to {MOST} parameters, as in {HOW}, and "
        f"this one {len(found)}: without parameters, write sv.activation",
    )
    starts = [1.0 if each.default is each.empty else each.default for each in found]
    return tuple(
        [
            (each.name, as_number(start, f"the default of {each.name}"))
            for each, start in zip(found, starts, strict=True)
        ]
    )


def given_shapes(parameters: object) -> Mapping[str, Any]:
    """Return the shapes of parameters by name; raise InputError unless they are a dict."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise InputError(
            "parameters= gives each parameter a shape, as in {'slope': (8,)}, not "
            f"{shorten(parameters)}"
        )
    return parameters


def count_of(key: str, shape: Any) -> Any:
    """Return the number of values of a parameter whose shape is n, (n,) or ()."""
    if not isinstance(shape, tuple | list):
        return shape
    require(
        len(shape) <= 1,
        f"the parameter {key} has the shape (n,) or (), not {shorten(shape)}: for more dimensions "
        "write a custom layer class",
    )
    return shape[0] if shape else 1


def row_of(function: Any, starts: tuple[tuple[str, float], ...], name: str) -> ParametricFormula:
    """Create the row of a layer's function with its derivatives; raise InputError if invalid."""
    name, taken = checked_name(name, function, "a layer", BUILT_IN_PARAMETRIC), 1 + len(starts)
    slopes = [
        recorded_derivative(function, "the layer", taken=taken, by=i, remedy="")
        for i in range(taken)
    ]
    value, by_parameter = on_numbers(function), by_place(function, slopes[1:])
    row = ParametricFormula(name, value, slopes[0], by_parameter, starts, digest=digest(function))
    check_source(row.value, row.derivative, row.by_parameter)
    for x in [*(p for p, _ in points(*EVERYWHERE)), -FAR, FAR]:
        check_number(row, [x, *[start for _, start in starts]])
    return row


def check_number(row: ParametricFormula, given: list[float]) -> None:
    """Raise InputError unless a formula returns a number for these arguments."""
    place = f"{row.name}({', '.join(f'{each:.6g}' for each in given)})"
    if math.isnan(attempt(lambda: float(row.value(*given)), place, hint=ASKED_OF_A_LAYER)):
        raise InputError(f"{place} is not a number; {ASKED_OF_A_LAYER}")


def by_place(function: Any, slopes: list[Any]) -> Any:
    """Combine derivatives into one function, whose first argument is the index of a derivative."""
    name = f"{function.__name__}_by_parameter"
    given = [*inspect.signature(function).parameters]
    names = [slope.__name__ for slope in slopes]
    place, *called = (unlike(each, [*given, name]) for each in ["place", *names])
    arguments = ", ".join(given)
    lines = [f"def {name}({place}, {arguments}):"]
    for i, slope in enumerate(called[:-1]):
        lines += [f"    if {place} == {i}:", f"        return {slope}({arguments})"]
    lines.append(f"    return {called[-1]}({arguments})")
    known = dict(zip(called, slopes, strict=True))
    return function_of("\n".join([*lines, ""]), name, function.__module__, known)


def unlike(name: str, others: list[str]) -> str:
    """Append underscores to a name until it differs from the others."""
    while name in others:
        name += "_"
    return name
