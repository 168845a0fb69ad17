"""LossScale: how high a loss stands in a chart, on a logarithmic scale where all are above 0."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks import FloatArray

PLAIN_DIGITS = 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0
NEAREST = 22.0  # pixels from one tick to the next
LARGEST, LEAST = 1e300, 1e-300  # losses on a linear scale, and what is between them
EQUAL = 1e-9  # relative difference of losses that are nearly the same


@dataclass(frozen=True)
class LossScale:
    """A scale from `low` to `high`: linear if it begins below 0, else logarithmic."""

    low: float = 0.1
    high: float = 1.0

    @staticmethod
    def of(losses: FloatArray, most: float | None = None) -> LossScale:
        """Return the scale, with plain numbers at its ends, of losses that `shown` has returned.

        most  the largest one, if not that of the losses
        """
        least, most = float(losses.min()), float(losses.max() if most is None else most)
        if least > 0.0:
            high = round_up(most)
            return LossScale(
                max(min(round_down(least), high / 10.0), LEAST), max(high, 10.0 * LEAST)
            )
        least, most = (min(max(each, -LARGEST), LARGEST) for each in (least, most))
        largest = max(-least, most)
        step = apart(most - least if most - least > EQUAL * largest else largest)
        first = min(math.floor(least / step), -1)
        return LossScale(step * first, step * max(math.ceil(most / step), first + 1))

    @property
    def is_linear(self) -> bool:
        return self.low < 0.0

    def up(self, losses: FloatArray) -> FloatArray:
        """Return how high losses stand, from 0 at `low` to 1 at `high`; NaN where nothing does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_linear:
                near = np.where(np.isfinite(losses), np.clip(losses, -LARGEST, LARGEST), np.nan)
                found = (near - self.low) / (self.high - self.low)
            else:
                decades = math.log10(self.high / self.low)
                found = (np.log10(losses) - math.log10(self.low)) / decades
        return np.where(np.isfinite(found), found, np.nan)

    def ticks(self, height: float) -> list[float]:
        """Return as many plain numbers or powers of ten as fit, two at least: else the ends."""
        if self.is_linear:
            step = apart(self.high - self.low)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            numbers = [step * i for i in range(first, last + 1)]
        else:
            first = math.ceil(math.log10(self.low) - 1e-9)
            numbers = [10.0**p for p in range(first, math.floor(math.log10(self.high) + 1e-9) + 1)]
        found = numbers[:: max(1, math.ceil(len(numbers) * NEAREST / max(height, 1.0)))]
        return found if len(found) > 1 else [self.low, self.high]


def shown(losses: FloatArray) -> FloatArray:
    """Return the losses that a scale can show: finite ones, and of a logarithm no 0."""
    found: FloatArray = losses[np.isfinite(losses)]
    return found if (found < 0.0).any() else found[found > 0.0]


def apart(between: float) -> float:
    """Return 1, 2 or 5 times a power of ten: a fourth to a tenth of what is between two losses."""
    power = 10.0 ** math.floor(math.log10(max(between, LEAST)))
    return power / (5.0 if between < 2.0 * power else 2.0 if between < 5.0 * power else 1.0)


def round_up(value: float) -> float:
    """Return the smallest plain number, such as .08, .1, .15, 2 or 30, that is not below this."""
    return min(sys.float_info.max, *(plain for plain in plain_numbers(value) if plain >= value))


def round_down(value: float) -> float:
    """Return the largest plain number that is not above this."""
    return max(plain for plain in plain_numbers(value) if plain <= value)


def plain_numbers(value: float) -> list[float]:
    """Return the plain numbers around this one."""
    power = math.floor(math.log10(value))
    powers = range(power - 1, min(power + 1, sys.float_info.max_10_exp) + 1)
    return [digit * 10.0**p for p in powers for digit in PLAIN_DIGITS]
