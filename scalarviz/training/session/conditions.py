"""Conditions on a step of a training run, written as text, such as "grad norm > 10".

A text is one clause, or several clauses joined by "or". A clause is "not finite", or consists of a
quantity, which is the loss, a metric or the norm of the gradients, and a predicate, which is a row
of `PREDICATES`. Texts are never executed as code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.base.limits import LONGEST_CONDITION, MOST_CONDITIONS
from scalarviz.base.messages import caution, visible
from scalarviz.core.formulas.formula import table
from scalarviz.core.formulas.metric_formulas import HELD_OUT, LOSS, METRICS
from scalarviz.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from scalarviz.training.session.trainer import Settings, Trainer

LOSSES, MEASURED, NUMBERS = "losses", "measured", "numbers"  # sources of a condition
NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf)"
NOT_FINITE, GRAD_NORM = "not finite", "grad norm"
# Clauses of earlier versions, which their files contain.
GONE = re.compile(
    rf"(weight \d+|gradient \d+|learning rate) .*|.* changes sign|a neuron is dead|"
    rf"{GRAD_NORM} (rises|falls).*|own function .*",
    re.IGNORECASE,
)
INSTEAD = "write s.on_step(f), where f(view) sees the step and calls view.stop(reason)"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A row of PREDICATES.

    Attributes:
        name: text after the quantity, with `NUMBER` as the placeholder of a number
        holds: function f(values, earlier, number) that returns whether the predicate is true;
            `earlier` has one earlier value for each value, and `number` is the one in the text
        before: function that accumulates the earlier values, such as numpy.fmin for the smallest;
            None if there is nothing to compare with
        least: smallest valid number; any number is valid by default
    """

    name: str
    holds: Callable[[Any, Any, float], Any]
    before: np.ufunc | None = None
    least: float = -math.inf


PREDICATES = table(
    [
        Predicate("> NUMBER", lambda v, before, x: v > x),
        Predicate("< NUMBER", lambda v, before, x: v < x),
        Predicate("rises NUMBERx", lambda v, low, x: v > x * low, np.fmin, 1.0),
        Predicate("falls NUMBERx", lambda v, high, x: x * v < high, np.fmax, 1.0),
    ]
)
IS_LOST = Predicate("", lambda v, before, x: ~np.isfinite(v))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition:
    """A condition: one clause of a text.

    Attributes:
        text: text of the condition in messages and files
        quantity: NOT_FINITE, "loss", GRAD_NORM, or the name of a metric
        predicate: predicate that the quantity must fulfil
        number: number in the text; 0 if there is no number
    """

    text: str
    quantity: str
    predicate: Predicate
    number: float = 0.0

    def __repr__(self) -> str:
        return self.text

    @property
    def is_not_finite(self) -> bool:
        """Whether this is the condition "not finite", which includes the loss."""
        return self.quantity == NOT_FINITE

    def number_at(self, trainer: Trainer, step: int, loss: float) -> float:
        """Return the number on arrival at a step, if it is not recorded; `loss` is the last loss.

        It is the norm of the gradients, or for "not finite" 0 if all numbers are finite, else NaN.
        """
        bank = trainer.bank
        if self.is_not_finite:
            is_finite = np.isfinite(bank.value).all() and np.isfinite(bank.grad).all()
            return 0.0 if math.isfinite(loss) and is_finite else math.nan
        return norm_of_gradients(trainer) if step else math.nan

    def source_with(self, settings: Settings) -> str:
        """Return where the number comes from under these settings.

        LOSSES or MEASURED are recorded, and NUMBERS is read from the bank. If a step with
        non-finite numbers is rejected, the losses are sufficient for "not finite".
        """
        is_refused = settings.optimizer.not_finite == "error" and not settings.precision.mixed
        if self.quantity == LOSS or (self.is_not_finite and is_refused):
            return LOSSES
        return NUMBERS if self.quantity in (NOT_FINITE, GRAD_NORM) else MEASURED

    def holds_over(self, values: FloatArray, before: FloatArray | None = None) -> Any:
        """Return whether the condition holds at each of a series of values.

        Args:
            before: earlier value to compare with each value; None (default) takes it from `values`,
                which then must begin at step 0
        """
        if before is None:
            before = self.before_each(values, math.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            return self.predicate.holds(values, before, self.number)

    def before_each(self, values: FloatArray, first: float) -> FloatArray:
        """Return what each value is compared with; `first` precedes them all."""
        past = np.concatenate([[first], values[:-1]])
        if self.predicate.before is None:
            return past
        known = np.where(np.isfinite(past), past, math.nan)
        found: FloatArray = self.predicate.before.accumulate(known)
        return found

    def told(self, value: float) -> str:
        """Return the condition with its current value, such as "grad norm > 10 (it is 11.3)"."""
        return self.text if self.is_not_finite else f"{self.text} (it is {value:.4g})"


def norm_of_gradients(trainer: Trainer) -> float:
    """Return the Euclidean norm of the gradients of all weights that are not frozen."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(trainer.bank.grad[~trainer.bank.frozen], dtype=np.float64)
        return math.sqrt(squares.sum())


def parse(text: object, metrics: Sequence[str] | None = None) -> list[Condition]:
    """Parse a text into conditions; raise UnknownNameError or InputError if it is invalid.

    Args:
        metrics: names of the measured metrics, as in `Session.metrics`; None accepts any name as a
            metric, as needed for files
    """
    if callable(text):
        raise InputError(f"a condition is a text such as 'grad norm > 10', no function: {INSTEAD}")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_CONDITION:
        raise InputError(
            f"a condition is a text of up to {LONGEST_CONDITION} letters, such as 'grad norm > 10',"
            f" not {shorten(text)}"
        )
    if re.search(r" and ", text, re.IGNORECASE):
        raise InputError(
            f"conditions are joined only by 'or', but {shorten(text)} has 'and': {INSTEAD}"
        )
    clauses = re.split(r"\bor\b", " ".join(text.split()), flags=re.IGNORECASE)
    return [one_clause(clause.strip(), metrics) for clause in clauses]


def one_clause(text: str, metrics: Sequence[str] | None) -> Condition:
    """Parse one clause into a condition."""
    if text.lower() == NOT_FINITE:
        return Condition(NOT_FINITE, NOT_FINITE, IS_LOST)
    if GONE.fullmatch(text):
        raise InputError(f"{text!r} is not a condition: {INSTEAD}")
    for predicate in PREDICATES.values():
        pattern = r"(.+?) ?" + predicate.name.replace(" NUMBER", f" ?{NUMBER}")
        found = re.fullmatch(pattern, text, re.IGNORECASE)
        if found is None:
            continue
        name, number = found[1], float(found[2])
        if number < predicate.least:
            raise InputError(
                f"{text!r} takes a factor of at least {predicate.least:g}: write "
                f"{predicate.name.replace('NUMBER', '3')!r}, say"
            )
        is_plain = name.lower() in (LOSS, GRAD_NORM)
        quantity = name.lower() if is_plain else metric_named(name, metrics)
        shown = quantity.replace(HELD_OUT, "held-out ")
        words = predicate.name.replace("NUMBER", written(number))
        return Condition(f"{shown} {words}", quantity, predicate, number)
    raise UnknownNameError("condition", text, examples(metrics))


def written(number: float) -> str:
    """Return the shortest text that represents a number exactly."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def metric_named(name: str, metrics: Sequence[str] | None) -> str:
    """Convert the name of a metric in a text to its name in `Session.metrics`.

    Raises:
        UnknownNameError: for an unknown name.
        InputError: for a metric that the session does not measure.
    """
    plain = re.sub(r"^held[-_ ]out[-_ ]", "", name, flags=re.IGNORECASE)
    metric = (HELD_OUT if plain != name else "") + plain.replace(" ", "_")
    if metric.isidentifier() and (metrics is None or metric in metrics):
        return metric
    if metric.removeprefix(HELD_OUT) in (*METRICS, LOSS):
        raise InputError(
            f"{name!r} is not measured in this session: write sv.Session(..., metrics="
            f"[{metric.removeprefix(HELD_OUT)!r}], every=100)"
            + ", with data that hold samples out"
            * metric.startswith(HELD_OUT)
        )
    known = [LOSS, GRAD_NORM, *(metrics or METRICS)]
    raise UnknownNameError("quantity of a condition", name, known)


def examples(metrics: Iterable[str] | None = None) -> list[str]:
    """Return examples of conditions of every kind.

    Args:
        metrics: names of the measured metrics
    """
    shown = [name.replace(HELD_OUT, "held-out ") for name in metrics or ()]
    return [
        NOT_FINITE,
        "loss < 0.01",
        "loss rises 3x",
        "grad norm > 10",
        *(f"{name} {'< 0.1' if name.endswith(LOSS) else '> 0.9'}" for name in shown),
    ]


def checked(given: Iterable[object], metrics: Sequence[str] | None) -> list[Condition]:
    """Convert texts to conditions; raise UnknownNameError or InputError if they are invalid.

    Args:
        metrics: see `parse`
    """
    found = [condition for text in given for condition in parse(text, metrics)]
    require(
        len(found) <= MOST_CONDITIONS,
        f"at most {MOST_CONDITIONS} conditions are watched, not {len(found)}",
    )
    return found


def of_file(given: Iterable[object]) -> list[Condition]:
    """Return the conditions in a file; for those of an earlier version, a warning is shown."""
    gone = [each for each in given if isinstance(each, str) and GONE.fullmatch(each)]
    if gone:
        names = ", ".join(visible(each, LONGEST_CONDITION) for each in gone)
        caution(f"the training no longer stops at {names}: {INSTEAD}")
    return checked([each for each in given if each not in gone], None)
