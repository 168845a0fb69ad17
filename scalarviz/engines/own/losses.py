"""loss: adds a loss of the user's own to the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scalarviz.base.checks import answered, check_signature, shorten, size, true_or_false
from scalarviz.base.checks import number as as_number
from scalarviz.core.formulas.losses import EVERYWHERE, LOSSES, ROW_LOSSES, LossRow, RowLossRow
from scalarviz.engines.own.checks import check_plain, check_source, checked_name, digest
from scalarviz.engines.own.derivatives import on_numbers, recorded_derivative
from scalarviz.engines.own.frozen import frozen
from scalarviz.errors import InputError

BUILT_IN = frozenset({**LOSSES, **ROW_LOSSES})

POINTS = 50  # where derivatives are compared with differences
FAR = 1000.0
WIDTH = 4  # numbers of a sample in the checks of a loss on rows, unless it takes others
STEP = 1e-5
OTHER = "outputs= says how many numbers a sample has, if the loss does not take any number of them"
ASKED = "a formula gives a number everywhere; pass domain=(0, 1) if predictions lie between these"
NEAR = 1e-4  # relative error of a difference
ROUNDING = 1e-14  # of a value, relative: it is divided by STEP


@answered
def loss(
    value: Any,
    derivative: Any = None,
    name: str = "",
    *,
    rows: bool = False,
    domain: tuple[float, float] = EVERYWHERE,
    outputs: int = WIDTH,
) -> LossRow | RowLossRow:
    """Add a loss of your own: the error of a prediction p with target t, one number.

    The name is valid wherever a loss is named: `Session(net, data, loss="pinball")`, or
    `sv.Loss("pinball", factor=0.5)`. The functions must be defined by a plain def, since kernels
    are made from their source. They may use constants and helpers of yours, which are those of
    now, and `math`, whose functions are infinite or NaN here where they would raise.
    `sv.where(condition, a, b)` chooses.

    Adding one of the same name replaces it for all that is made afterwards; losses and sessions
    that exist keep the old functions, and so do the files that they save; on cuda they raise an
    EngineError, unless both have the same source.

    value       function of two floats p and t that returns a float; with `rows`, of the numbers of
                one sample, two sequences
    derivative  function of p and t that returns the derivative of value with respect to p. None,
                the default: it is found by recording `value` with Values, which cannot be done if
                that compares its arguments otherwise than in `sv.where`. With `rows`: function of
                p, t and a sequence `gradient`, which it fills; it is required
    name        name of the new loss; "", the default: that of the function
    rows        whether the loss is one of whole rows of numbers, as softmax_cross_entropy is; by
                default False, one of each number
    domain      the numbers between which predictions lie, such as (0, 1) for the outputs of a
                sigmoid; by default (-inf, inf). The functions are checked inside only
    outputs     with `rows`: how many numbers the samples have with which it is checked, by default
                4; to be passed for a loss that takes a fixed number of them

    Returns the row of `LOSSES` or `ROW_LOSSES`. Raises InputError for functions that cannot be
    called like this, whose source cannot be read, that raise or give NaN at one of 50 points or at
    +-1000, if the domain has them, or whose derivative is another one than finite differences give.

    >>> def log_cosh(p, t):
    ...     return abs(p - t) + math.log1p(math.exp(-2.0 * abs(p - t)))
    >>> round(loss(log_cosh).derivative(1.0, 1.5), 6)
    -0.462117
    """
    true_or_false(rows, "rows")
    low, high = ends_of(domain)
    wanted = (
        "value(p, t) and gradient(p, t, gradient)" if rows else "value(p, t) and derivative(p, t)"
    )
    for function in (value, derivative):
        if not callable(function) and not (function is None and function is derivative):
            raise InputError(f"a loss is two functions, {wanted}, not {shorten(function)}")
        check_plain(function)
    check_signature(value, ["p", "t"], "a loss", "def value(p, t): ...")
    copies: dict[int, Any] = {}  # of functions that both use
    value, derivative = frozen(value, copies), frozen(derivative, copies)
    if rows:
        return add_rows(value, derivative, name, low, high, size(outputs, "outputs"))
    name = checked_name(name, value, "a loss", BUILT_IN)
    if derivative is not None:
        how = "def derivative(p, t): ..."
        check_signature(derivative, ["p", "t"], "the derivative of a loss", how)
    hashed = digest(value, *([] if derivative is None else [derivative]))
    slope = recorded_derivative(value, "the loss") if derivative is None else on_numbers(derivative)
    made = LossRow(name, on_numbers(value), slope, digest=hashed, domain=(low, high))
    for function in (made.value, made.derivative):
        check_source(function)
    check_numbers(made, low, high)
    ROW_LOSSES.pop(name, None)
    LOSSES[name] = made
    return made


def ends_of(domain: object) -> tuple[float, float]:
    """Return the ends of a domain; raise InputError if it is none."""
    if isinstance(domain, tuple | list) and len(domain) == 2:
        low, high = (as_number(end, "an end of the domain", finite=False) for end in domain)
        if low < high:
            return low, high
    raise InputError(
        f"the domain of a loss is two numbers, the lower one first, such as (0, 1), not "
        f"{shorten(domain)}"
    )


def add_rows(
    value: Any, gradient: Any, name: str, low: float, high: float, outputs: int
) -> RowLossRow:
    """Add a loss of whole rows."""
    name = checked_name(name, value, "a loss", BUILT_IN)
    if gradient is None:
        raise InputError(
            f"the gradient of the loss {name!r} on rows is not found by itself: pass it, as "
            "def gradient(p, t, gradient): ..., which writes gradient[i] for each p[i]"
        )
    how = "def gradient(p, t, gradient): ..., which writes gradient[i] for each p[i]"
    check_signature(gradient, ["p", "t", "gradient"], "the gradient of a loss on rows", how)
    hashed = digest(value, gradient)
    slope = on_numbers(gradient)
    made = RowLossRow(name, on_numbers(value), slope, digest=hashed, domain=(low, high))
    for function in (made.value, made.gradient):
        check_source(function)
    check_rows(made, low, high, outputs)
    LOSSES.pop(name, None)
    ROW_LOSSES[name] = made
    return made


# ---- the numbers --------------------------------------------------------------------------------


def points(low: float, high: float) -> Iterator[tuple[float, float]]:
    """Iterate over predictions and targets in a domain; half of the targets are between 0 and 1."""
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
    """Return predictions far from 0 in a domain."""
    return [p for p in (-FAR, FAR) if low < p < high]


def check_numbers(row: LossRow, low: float, high: float) -> None:
    """Raise InputError if a loss of single numbers fails somewhere, or its derivative is wrong."""
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


def check_rows(row: RowLossRow, low: float, high: float, outputs: int = WIDTH) -> None:
    """Do the same as `check_numbers` for a loss on rows of a fixed length."""
    samples = [*points(low, high)]
    for n in range(POINTS // outputs + 1):
        p, t = ([samples[(outputs * n + i) % POINTS][k] for i in range(outputs)] for k in (0, 1))
        t = [abs(x) / sum(map(abs, t)) for x in t] if n % 2 else t
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
    """Return the gradient of a row of predictions; raise InputError unless all are numbers."""
    place = f"the gradient of {row.name}({in_brief(p)}, {in_brief(t)})"
    unwritten = -math.nan  # an object of its own
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
    """Raise InputError for a derivative unlike the differences to both sides.

    At a kink the two sides differ, and the derivative may be anything between them.
    """
    if not all(map(math.isfinite, (lower, middle, upper, given))):
        return
    sides = [(middle - lower) / STEP, (upper - middle) / STEP]
    allowed = NEAR * (1.0 + max(map(abs, sides))) + ROUNDING * abs(middle) / STEP
    if not min(sides) - allowed <= given <= max(sides) + allowed:
        found = (upper - lower) / (2.0 * STEP)
        raise InputError(f"{what} is {given:.6g}, and finite differences give {found:.6g}{remedy}")


def attempt(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """Call a function of the user; raise InputError with the place if it raises anything."""
    try:
        return function(*arguments)
    except Exception as error:  # whatever a function of the user does
        hint = OTHER if isinstance(error, IndexError) else ASKED
        raise InputError(f"{what} raises {type(error).__name__}: {error}; {hint}") from error


def number(function: Callable[..., Any], what: str, *arguments: Any) -> float:
    """Return the number that a function gives; raise InputError if it gives none, or NaN."""
    given = attempt(function, what, *arguments)
    try:
        found = math.nan if isinstance(given, str | bytes) else float(given)
    except (TypeError, ValueError):
        found = math.nan
    if math.isnan(found):
        raise InputError(f"{what} is {shorten(given)}: {ASKED}")
    return found


def in_brief(numbers: Sequence[float]) -> str:
    return f"[{', '.join(f'{x:.3g}' for x in numbers)}]"
