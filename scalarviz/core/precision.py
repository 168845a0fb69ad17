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
    """Precision of an engine: "full", which is the dtype of the bank, or "mixed".

    In mixed precision, on the cpu engine, weights, activations and gradients are stored in half
    precision (fp16: three digits, at most 65,504, at least 6e-8); products and sums are float32, as
    are the master weights and slots of the optimizer. The loss is multiplied by `loss_scale`, so
    that small gradients do not underflow, and gradients are divided by it before the update.

    A gradient that overflows counts as 0 in its step. With `dynamic` scaling, the whole step is
    skipped and the scale is halved instead, and `patience` steps without overflow double the scale,
    which remains between 2**-14 and 2**40.

    Attributes:
        name: "full" (default) or "mixed"
        loss_scale: positive factor of the loss; by default 1024.0
        dynamic: whether the scale adapts to overflows; by default False
        patience: number of steps without overflow before the scale doubles; by default 2000
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
        """Return `precision` if it is a Precision, otherwise the Precision with that name."""
        if isinstance(precision, Precision):
            return precision
        # `pick` returns one of the names, which type checkers do not know.
        return Precision(pick(PRECISIONS, precision, "precision"))  # type: ignore[arg-type]  # a name

    @property
    def mixed(self) -> bool:
        return self.name == "mixed"


# Updates of a dynamic loss scale. It stays between two powers of 2: a scale of 0 or infinity would
# turn every gradient into NaN.

SMALLEST_SCALE = 2.0**-14  # the smallest normal half: a gradient of 1 keeps all digits
LARGEST_SCALE = 2.0**40  # a gradient above 6e-8, the smallest half number, overflows


def lowered_scale(scale: float) -> float:
    """Return the scale after a skipped step: half of it, but at least SMALLEST_SCALE."""
    return 0.5 * scale if 0.5 * scale >= SMALLEST_SCALE else scale


def raised_scale(scale: float) -> float:
    """Return the scale after `patience` good steps: doubled, but at most LARGEST_SCALE."""
    return 2.0 * scale if 2.0 * scale <= LARGEST_SCALE else scale
