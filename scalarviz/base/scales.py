"""Ends of scales: stops (upper ends), which follow the data slowly, and ends of a loss axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

GROWTH_SECONDS = 5.0  # minimum time between two growths of a scale, and until it shrinks
SAID_SECONDS = 2.0  # seconds for which the legend shows it
FEW_NUMBERS = 4096  # up to this many numbers, a scale covers the largest
HIGH_PERCENTILE = 99.0  # percentile covered for more numbers
SAMPLE = 65536  # maximum number of numbers read
STOPS = "1", "1.5", "2", "3", "5", "7"
PLAIN = "1", "1.5", "2", "3", "4", "6", "8"
LARGEST = 1.7976931348623157e308
LARGEST_LOSS, LEAST_LOSS = 1e300, 1e-300  # losses on a linear scale, and their difference
NEARLY_EQUAL = 1e-9  # relative difference of nearly equal losses
# Shown on the step scale below a large loss curve:
WEIGHTS = "value"  # of all weights
SCALARS, HEALTH = "scalars", "health"  # of followed models
NAMES = "names"  # written by a network that learns names
# Settings of scalars and of the loss: without means, and another axis.
SETTINGS = "raw", "log", "linear"


@final
@dataclass
class GrowingStops:
    """The end of the scale, or stop, of each quantity: 1, 1.5, 2, 3, 5 or 7 times a power of ten.

    Attributes:
        known: stop of each quantity
        held: whether a cube is being dragged; stops then do not change, so that it does not shrink
        growth: old and new stop of the last growth, which took place at the time `grown_at`
        unneeded: for each quantity, the time since which its stop has been too large, and the
            smallest stop that would have been sufficient
    """

    known: dict[Any, float] = field(default_factory=dict)
    held: bool = False
    growth: tuple[float, float] | None = None
    grown_at: float = -math.inf
    unneeded: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def choose(self, largest: Mapping[Any, float]) -> None:
        """Set stops immediately so that they cover the `largest` number of each quantity."""
        self.known.update([(key, stop_above(number)) for key, number in largest.items()])
        self.unneeded.clear()
        self.growth = None

    def follow(self, largest: Mapping[Any, float], now: float, *, tells: bool = True) -> None:
        """Adapt the stops slowly to the `largest` number of each quantity.

        A stop grows if a number exceeds it, at most once in GROWTH_SECONDS, and shrinks if it has
        been too large for that time.

        Args:
            tells: whether the legend shows the growth
        """
        for key, number in largest.items():
            stop, before = stop_above(number), self.of(key)
            is_needed = stop >= before or self.held
            since, most = self.unneeded.get(key, (now, 0.0))
            since, most = (math.inf, 0.0) if is_needed else (min(since, now), max(most, stop))
            self.unneeded[key] = since, most
            is_time = now - self.grown_at >= GROWTH_SECONDS or now < self.grown_at
            if not self.known.get(key, 0.0):  # the first numbers
                self.known[key] = stop
            elif stop > before and is_time and not self.held:
                self.known[key], self.grown_at = stop, now
                self.growth = (before, stop) if tells else None
            elif most > 0.0 and now - since >= GROWTH_SECONDS:
                self.known[key], self.unneeded[key] = most, (math.inf, 0.0)

    def hold(self, held: bool) -> None:
        """Begin or end the drag of a cube; after the end, stops may grow immediately."""
        self.held = held
        if not held:
            self.grown_at = -math.inf

    def just_grown(self, now: float, after: float = 0.0) -> tuple[float, float] | None:
        """Return (old, new) of a stop that grew within SAID_SECONDS + `after`, otherwise None."""
        return self.growth if 0.0 <= now - self.grown_at < SAID_SECONDS + after else None

    def of(self, key: object) -> float:
        """Return the stop of a quantity, or 1 if it is unknown."""
        return self.known.get(key, 0.0) or 1.0


def stop_above(number: float) -> float:
    """Return the smallest stop that is at least `number`; 0 for 0.

    >>> [stop_above(number) for number in (0.8, 1.0, 1.01, 33.0, 0.04, 0.0)]
    [1.0, 1.0, 1.5, 50.0, 0.05, 0.0]
    """
    return round_up(number * (1.0 - 1e-12), STOPS) if number > 0.0 else 0.0


def round_up(value: float, digits: Sequence[str] = PLAIN) -> float:
    """Return the smallest round number, such as .08, .1, .15, 2 or 30, that is at least `value`."""
    return min([plain for plain in plain_numbers(value, digits) if plain >= value])


def round_down(value: float) -> float:
    """Return the largest round number that is at most `value`."""
    return max([plain for plain in plain_numbers(value, PLAIN) if plain <= value])


def plain_numbers(value: float, digits: Sequence[str]) -> list[float]:
    """Return the round numbers for the powers of ten around `value`, limited to LARGEST."""
    power = math.floor(math.log10(value))
    powers = range(power - 1, power + 2)
    return [min(float(f"{digit}e{p}"), LARGEST) for p in powers for digit in digits]


def loss_ends(least: float, most: float) -> tuple[float, float]:
    """Return the ends of a loss axis: at least a factor of 10 apart, or around 0 if least <= 0."""
    if least > 0.0:
        high = max(round_up(most), 10.0 * LEAST_LOSS)
        return max(min(round_down(least), high / 10.0), LEAST_LOSS), high
    return even_ends(least, most, -1)


def even_ends(least: float, most: float, highest: float = math.inf) -> tuple[float, float]:
    """Return round ends of a linear axis, the lower one up to `highest` ticks above 0."""
    least, most = (min(max(each, -LARGEST_LOSS), LARGEST_LOSS) for each in (least, most))
    largest = max(-least, most)
    step = apart(most - least if most - least > NEARLY_EQUAL * largest else largest or 1.0)
    first = min(math.floor(least / step), highest)
    return step * first, step * max(math.ceil(most / step), first + 1)


def apart(between: float) -> float:
    """Return a round spacing of ticks, from a tenth to a fourth of a difference of losses."""
    power = 10.0 ** math.floor(math.log10(max(between, LEAST_LOSS)))
    return power / (5.0 if between < 2.0 * power else 2.0 if between < 5.0 * power else 1.0)
