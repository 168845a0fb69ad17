"""Scales of numbers: stops, which follow the numbers slowly, and round ends of an axis."""

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
# On the step scale below a large loss curve: numbers of all weights, their orders, and instead of
# them the loss on a plane, with its directions.
KINDS, ORDERS = ("value", "gradient", "change"), ("layer", "distance", "norms")
LANDSCAPE, ALONG = "landscape", ("main", "two")


@final
@dataclass
class GrowingStops:
    """Stops by quantity: 1, 1.5, 2, 3, 5 or 7 times a power of ten.

    Attributes:
        known: the stops
        held: whether a cube is being dragged, which must not shrink: stops do not change
        growth: the last growth: the stop before and after it, at the time `grown_at`
        unneeded: since when each stop has not been needed, and the largest sufficient one
    """

    known: dict[Any, float] = field(default_factory=dict)
    held: bool = False
    growth: tuple[float, float] | None = None
    grown_at: float = -math.inf
    unneeded: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def choose(self, largest: Mapping[Any, float]) -> None:
        """Choose stops that cover some numbers, larger or smaller than before."""
        self.known.update([(key, stop_above(number)) for key, number in largest.items()])
        self.unneeded.clear()
        self.growth = None

    def follow(self, largest: Mapping[Any, float], now: float, *, tells: bool = True) -> None:
        """Let stops follow some numbers.

        A stop grows if a number exceeds it, at most once in GROWTH_SECONDS, and shrinks if not
        needed for this time.

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
        """Begin or end a drag; after the end, stops may grow immediately."""
        self.held = held
        if not held:
            self.grown_at = -math.inf

    def just_grown(self, now: float, after: float = 0.0) -> tuple[float, float] | None:
        """Return a stop before and after its growth, for some seconds, plus `after`."""
        return self.growth if 0.0 <= now - self.grown_at < SAID_SECONDS + after else None

    def of(self, key: object) -> float:
        """Return a stop, 1 if unknown."""
        return self.known.get(key, 0.0) or 1.0


def stop_above(number: float) -> float:
    """Return the smallest stop not below a number; 0 for 0.

    >>> [stop_above(number) for number in (0.8, 1.0, 1.01, 33.0, 0.04, 0.0)]
    [1.0, 1.0, 1.5, 50.0, 0.05, 0.0]
    """
    return round_up(number * (1.0 - 1e-12), STOPS) if number > 0.0 else 0.0


def round_up(value: float, digits: Sequence[str] = PLAIN) -> float:
    """Return the smallest plain number, such as .08, .1, .15, 2 or 30, not below this one."""
    return min([plain for plain in plain_numbers(value, digits) if plain >= value])


def round_down(value: float, digits: Sequence[str] = PLAIN) -> float:
    """Return the largest plain number not above this one."""
    return max([plain for plain in plain_numbers(value, digits) if plain <= value])


def plain_numbers(value: float, digits: Sequence[str]) -> list[float]:
    """Return the plain numbers of the powers of ten around this one, at most the largest."""
    power = math.floor(math.log10(value))
    powers = range(power - 1, power + 2)
    return [min(float(f"{digit}e{p}"), LARGEST) for p in powers for digit in digits]


def loss_ends(least: float, most: float, digits: Sequence[str] = PLAIN) -> tuple[float, float]:
    """Return the ends of a scale of losses: below 0 if one is, else at least a factor ten apart."""
    if least > 0.0:
        high = max(round_up(most, digits), 10.0 * LEAST_LOSS)
        return max(min(round_down(least, digits), high / 10.0), LEAST_LOSS), high
    least, most = (min(max(each, -LARGEST_LOSS), LARGEST_LOSS) for each in (least, most))
    largest = max(-least, most)
    step = apart(most - least if most - least > NEARLY_EQUAL * largest else largest)
    first = min(math.floor(least / step), -1)
    return step * first, step * max(math.ceil(most / step), first + 1)


def apart(between: float) -> float:
    """Return 1, 2 or 5 times a power of ten: a fourth to a tenth of a difference of losses."""
    power = 10.0 ** math.floor(math.log10(max(between, LEAST_LOSS)))
    return power / (5.0 if between < 2.0 * power else 2.0 if between < 5.0 * power else 1.0)


# Heights of losses on a plane.

COARSEST = 8  # spacing of points in the first pass over a grid


def heights_of(losses: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return heights from 0 to 1 for the finest completely known grid, else for the coarsest.

    They are logarithmic if all losses are positive.
    """
    gap = COARSEST
    while gap > 1 and len(known_in(losses, gap // 2)) == len(losses[:: gap // 2]) ** 2:
        gap //= 2
    known = known_in(losses, gap)
    is_log = min(known) > 0.0
    low, high = [math.log(each) if is_log else each for each in (min(known), max(known))]
    found: list[list[float]] = []
    for row in losses[::gap]:
        numbers = [math.log(each) if is_log and each > 0.0 else each for each in row[::gap]]
        heights = [(each - low) / ((high - low) or 1.0) for each in numbers]
        found.append([each if math.isfinite(each) else 1.0 for each in heights])
    return found


def known_in(losses: Sequence[Sequence[float]], gap: int) -> list[float]:
    """Return the finite losses of a part of a grid."""
    return [each for row in losses[::gap] for each in row[::gap] if math.isfinite(each)]
