"""What counts as success in a sweep, and when a network ends early."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, check_signature, number, shorten
from scalarviz.engines.own.checks import digest
from scalarviz.errors import InputError

Judge = Callable[[FloatArray, FloatArray], object]

RIGHT = "all right"
ARGUMENTS = ["outputs", "targets"]


@final
@dataclass(frozen=True)
class Goal:
    """A condition that is tested at every check of a training.

    bound  the mean loss since the previous check is below it; NaN: no bound
    judge  function of outputs and targets of all samples that returns whether they are good
           enough; None: no function
    words  the condition in words, for tables
    """

    bound: float
    judge: Judge | None
    words: str

    @property
    def key(self) -> str:
        """The condition as a text that changes with it, its function's source included."""
        return f"{self.bound!r} {code_of(self.judge) if self.judge else ''}"

    def reached(
        self, losses: FloatArray, outputs: Callable[[], FloatArray], targets: FloatArray
    ) -> npt.NDArray[np.bool_]:
        """Return which networks reach the goal.

        losses   mean loss of each network since the previous check
        outputs  function that returns the outputs of each network for all samples
        targets  shape (samples, outputs)
        """
        if self.judge is None:
            return losses < self.bound
        if self.judge is right_side:  # for all networks at once
            return np.asarray(right_side(outputs(), targets))
        return np.array([bool(self.judge(each, targets)) for each in outputs()])


def right_side(outputs: FloatArray, targets: FloatArray) -> Any:
    """Whether every output is on the same side of the middle between two targets as its target.

    `outputs` has the shape of the targets, or (networks, samples, outputs) for one answer each.
    """
    middle = float(targets.min() + targets.max()) / 2
    return ((outputs > middle) == (targets > middle)).all(axis=(-2, -1))


def goal_of(wanted: object, what: str) -> Goal | None:
    """Return the Goal of an argument of a sweep: a bound on the loss, a function, or None."""
    if wanted is None:
        return None
    if isinstance(wanted, str):
        if wanted == RIGHT:
            return Goal(np.nan, right_side, "every output on the side of its target")
        raise InputError(
            f"{what} is a bound on the loss, such as 0.05, {RIGHT!r}, or a function of outputs and "
            f"targets, not {shorten(wanted)}"
        )
    if callable(wanted):
        check_signature(wanted, ARGUMENTS, what, f"def {what}(outputs, targets): ...")
        return Goal(np.nan, wanted, getattr(wanted, "__name__", type(wanted).__name__))
    bound = number(wanted, f"{what}, a bound on the loss,", 0.0, open_low=True)
    return Goal(bound, None, f"loss below {bound:g}")


def has_sides(targets: FloatArray) -> bool:
    """Return whether targets are two numbers only, so that each has a side."""
    return targets.size > 0 and len(np.unique(targets)) == 2


def code_of(function: Any) -> str:
    """Return a text that changes with the source of a function and of what it calls."""
    try:
        return digest(function)
    except (InputError, TypeError, OSError, SyntaxError):  # source that formulas cannot have
        pass
    code = getattr(function, "__code__", None)
    parts = [
        getattr(function, "__module__", ""),
        getattr(function, "__qualname__", repr(type(function))),
    ]
    if code is not None:
        closure = [repr(cell.cell_contents) for cell in function.__closure__ or ()]
        parts += [code.co_code.hex(), repr(code.co_consts), repr(code.co_names), repr(closure)]
        parts += [repr(function.__defaults__), repr(function.__kwdefaults__)]
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()
