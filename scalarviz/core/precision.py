"""Precision: full or mixed (half) precision, and loss scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from scalarviz.base.checks import answers, number, require, size, true_or_false
from scalarviz.core.formulas.formula import pick

PRECISIONS: dict[str, str] = {"full": "full", "mixed": "mixed"}


@answers
@dataclass(frozen=True)
class Precision:
    """How an engine computes: "full", in the type of the bank, or `Precision("mixed", ...)`.

    Mixed, on the engine cpu: weights, activations and gradients are rounded to half precision
    (fp16: three digits, at most 65,504, nothing below 6e-8) wherever they are kept; products and
    sums are float32, and so are the weights that the optimizer moves and what it keeps for them.
    Gradients are computed `loss_scale` times too large, so that small ones do not round to zero,
    and divided by it before the optimizer sees them.

    A gradient that overflows counts as 0 in that step. If the scale is `dynamic`, one such gradient
    skips the whole step and halves the scale, and after `patience` steps without one it doubles.
    It is not halved below 2**-14, nor doubled above 2**40.

    Attributes:
        name: "full", the default, or "mixed"
        loss_scale: above 0; by default 1024.0
        dynamic: whether the scale follows the gradients; by default False
        patience: steps, at least 1; by default 2000
    """

    name: Literal["full", "mixed"] = "full"
    loss_scale: float = 1024.0
    dynamic: bool = False
    patience: int = 2000

    def __post_init__(self) -> None:
        pick(PRECISIONS, self.name, "precision")
        require(
            not isinstance(self.loss_scale, (bool, np.bool_)),
            f"the loss scale must be a number, not {self.loss_scale}",
        )
        # Files store these, so numpy scalars become Python numbers.
        for name, checked in (
            ("loss_scale", number(self.loss_scale, "the loss scale", 0.0, open_low=True)),
            ("dynamic", true_or_false(self.dynamic, "dynamic of a precision")),
            ("patience", size(self.patience, "the patience of a dynamic loss scale")),
        ):
            object.__setattr__(self, name, checked)

    @staticmethod
    def of(precision: str | Precision) -> Precision:
        """Return `precision` if it is a Precision, else the Precision of that name."""
        if isinstance(precision, Precision):
            return precision
        # `pick` returns one of the names, which a type checker cannot know.
        return Precision(pick(PRECISIONS, precision, "precision"))  # type: ignore[arg-type]  # a name

    @property
    def mixed(self) -> bool:
        return self.name == "mixed"


# How a dynamic loss scale changes. It stays between two powers of 2: a scale of 0 or infinity
# would make every gradient NaN.

SMALLEST_SCALE = 2.0**-14  # the smallest normal half: a gradient of 1 still has all its digits
LARGEST_SCALE = 2.0**40  # a gradient above 6e-8, the smallest half number, overflows


def lowered_scale(scale: float) -> float:
    """Return the scale after a skipped step: half, but not below the smallest."""
    return 0.5 * scale if 0.5 * scale >= SMALLEST_SCALE else scale


def raised_scale(scale: float) -> float:
    """Return the scale after enough good steps: twice, but not above the largest."""
    return 2.0 * scale if 2.0 * scale <= LARGEST_SCALE else scale
