"""Pace: the seconds that operations take in a picture, and what happens in them.

Pages have it in JavaScript, see docs/TRANSLATOR.md; `scene_data` has what depends on a program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from scalarviz.core.program import Moment, Program
from scalarviz.story.facts import NONE, Neuron

SHORTEST, LONGEST = 0.1, 0.9  # seconds for one operation
SLOWEST = 2.4  # seconds for one operation while it plays slowly
ARRIVES = 0.8  # part of an operation from which its results are shown
MOVED = 0.5  # part of a step from which on the new numbers are there
SUM = 1.56  # seconds for a sum of products
MOVE = 0.3  # seconds in which cubes get their new size
MOST_ANIMATED = 200_000  # parameters; larger banks are not animated, and have no arrows
MOST_MOVED = 10  # cubes whose change is drawn in a step
SEEN_MOVE = 0.4  # the largest change of a step as it is drawn, as a share of the scale
SEAM = 0.35  # light between OUT and its goal on the way back
REST = 0.3  # seconds from the end of an operation to the next one, in a slow step
FALL, RISE = 0.25, 0.4  # seconds until all else has fallen back from a focus, and is back again
SHOWN = 0.95  # share of the time from one to the next in which an operation moves
BEHIND = 0.25  # seconds that the light is behind the clock, at most about
# Seconds for a slow step of few operations and of many, at most; for each of many, if that is less.
# A second one takes half of the first.
SLOW_STEP, SLOWEST_STEP, EACH = 12.0, 16.0, 0.6

SAME_PLACE = 1e-4  # distance in the picture up to which two places are one

# Operations that are about their own cubes, those of the way back, and those that light anything.
WAYS_BACK = {"input gradient", "operand gradient"}
OF_CUBES = {"forward", "weight gradient", *WAYS_BACK}
BACK = {"delta", "weight gradient", *WAYS_BACK}
LIT = {"forward", "loss", "step", *BACK}


# Seconds.


def longest(program: Program, moment: Moment) -> float:
    """Return the seconds for an operation that one has the time to look at."""
    adds_up = moment.kind in ("forward", "input gradient")
    has_weights = adds_up and program.operations[moment.operation].weights != NONE
    return SUM if has_weights else LONGEST


def pauses(program: Program, *, again: bool) -> list[float]:
    """Return the seconds from each operation of a slow step to the next; `again`: of a second."""
    return shared([longest(program, moment) for moment in program.moments], again=again)


def shared(seconds: Sequence[float], *, again: bool) -> list[float]:
    """Return the seconds of operations with a rest after each, and less for many."""
    own = [each + REST for each in seconds]
    most = min(SLOWEST_STEP, max(SLOW_STEP, EACH * len(own)))
    share = min(1.0, most / sum(own)) * (0.5 if again else 1.0)
    return [share * each for each in own]


def moved(part: float, seconds: float) -> float:
    """Return how far cubes are from their old size to the new one, 0 to 1, during a step.

    Args:
        part: how much of the step is done, 0 to 1
        seconds: for all of it; the cubes move in the middle
    """
    span = min(1.0, MOVE / seconds) if seconds else 1.0
    far = min(1.0, max(0.0, 0.5 + (part - 0.5) / span))
    return far * far * (3.0 - 2.0 * far)


def seam(kind: str, part: float) -> float:
    """Return the light between OUT and its goal, 0 to 1: it flashes, and stays for the way back.

    Args:
        kind: of the operation of which `part` is done; "" for none
    """
    if kind == "loss":
        return math.sin(math.pi * part) if part < 0.5 else 1.0 - (1.0 - SEAM) * (2.0 * part - 1.0)
    return SEAM if kind in BACK else 0.0


def magnification(change: float, scale: float) -> float:
    """Return by how much the changes of a step are drawn larger: 1, or 2, 5, 10, 20, ... times.

    Args:
        change: the largest one; `scale` is the number of the largest cube
    """
    wanted = SEEN_MOVE * scale / change if change > 0.0 else 1.0
    if not (math.isfinite(wanted) and wanted >= 2.0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * (5.0 if wanted >= 5.0 * power else 2.0 if wanted >= 2.0 * power else 1.0)


# What is known of an operation of which a part is done.


def is_late(part: float, neuron: int) -> bool:
    """Return whether none of its results is there, as before its light has arrived.

    Args:
        neuron: the number of its neuron of which `part` is done, from 1; 0 without
    """
    return part < ARRIVES and neuron < 2


def share_known(kind: str, part: float) -> float:
    """Return the share of gradients that cubes show: of those before a "zero_grad", else after it.

    They grow when the light meets at the cubes, and a step uses them up.
    """
    if kind == "zero_grad":
        return 1.0 - part
    if kind == "step":
        return max(0.0, 1.0 - part / MOVED)
    return min(1.0, max(0.0, 2.0 * part - 1.0))


@final
@dataclass(frozen=True)
class NeuronPart:
    """An operation of which a picture shows some neurons.

    Attributes:
        kind: of the operation
        values, gradients: names of the buffers whose values it writes, and whose gradients
        buffer, size: the buffer of the neurons, and how many they are
        number: that of the neuron that is shown last, from 1
        part: how much of it is done, 0 to 1
    """

    kind: str
    values: Sequence[str]
    gradients: Sequence[str]
    buffer: str
    size: int
    number: int
    part: float

    @property
    def neuron(self) -> Neuron:
        """The neuron that is shown last."""
        return self.buffer, self.number - 1

    def cut(self, arrays: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Leave out the results of later neurons in arrays with these names."""
        count = self.number if self.part >= ARRIVES else self.number - 1
        found = {name: x[:count] if name in names else x for name, x in arrays.items()}
        return {name: x for name, x in found.items() if len(x)}

    def growing(self) -> list[tuple[Neuron, float | None]]:
        """Return neurons and the share that is there of the gradients of their weights.

        It is None for later neurons, of which nothing is known.
        """
        if self.kind != "weight gradient":
            return []
        later = [((self.buffer, place), None) for place in range(self.number, self.size)]
        return [(self.neuron, share_known(self.kind, self.part)), *later]


class Light:
    """Shows operations one after the other, while a clock goes on.

    Those that wait make the others faster, so that the light stays close to the clock.

    Attributes:
        cuts: whether each is shown whole, at once
        given: seconds that a slow step gives to the next operation; 0: those between the last two
        seconds: in which an operation moves now
        waiting: the operations, of which the first is shown; `part` of it is done
    """

    def __init__(self, cuts: bool) -> None:
        self.cuts: bool = cuts
        self.given: float = 0.0
        self.seconds: float = SHORTEST
        self.part: float = 1.0
        self.waiting: list[Any] = []
        self.moved_at: float = -math.inf
        self.now: float = 0.0

    def take_up(self, passages: Sequence[Any], most: float, now: float, plays: bool) -> None:
        """Show operations after those that wait.

        Args:
            most: seconds for one of them
            plays: whether they may take longer, since a slow step plays
        """
        pause = SHOWN * self.given or 0.8 * (now - self.moved_at) / len(passages)
        longest = SLOWEST if plays and math.isfinite(pause) else most
        self.seconds = min(longest, max(SHORTEST, pause))
        self.moved_at = now
        if self.part >= 1.0:
            self.waiting.clear()
            self.part = 0.0
        self.waiting.extend(passages)
        if self.cuts:
            self.waiting, self.part = self.waiting[-1:], 1.0

    def advance(self, now: float) -> bool:
        """Advance to a time; return whether something moves."""
        passed, self.now = max(0.0, now - self.now), now
        if self.waiting and not self.cuts:
            behind = len(self.waiting) - self.part if len(self.waiting) > 1 else 0.0
            self.part += passed * max(1.0 / self.seconds, behind / BEHIND)
            while self.part >= 1.0 and len(self.waiting) > 1:
                self.part -= 1.0
                self.waiting.pop(0)
            self.part = min(self.part, 1.0)
        return len(self.waiting) > 1 or (bool(self.waiting) and self.part < 1.0)

    def finish(self) -> None:
        """Show the end of the operation that is under way."""
        self.part = 1.0

    def empty(self) -> None:
        """Show no operation."""
        self.waiting.clear()
        self.part = 1.0


@final
class Attention:
    """How far what is out of focus has fallen back.

    Attributes:
        moves: whether it still changes by itself
    """

    def __init__(self) -> None:
        self.moves = False
        self._level, self._at, self._goal = 0.0, 0.0, 0.0

    def follow(self, focused: bool, now: float, calm: bool) -> float:
        """Return how far it has fallen back at a time in seconds, 0 to 1.

        Args:
            focused: whether anything is in focus from now on
            calm: whether nothing moves: it jumps
        """
        goal = 1.0 if focused else 0.0
        passed: float = max(0.0, now - self._at)
        level: float = self._level + (passed / FALL if self._goal > 0.0 else -passed / RISE)
        level = goal if calm else min(1.0, max(0.0, level))
        self._level, self._at, self._goal, self.moves = level, now, goal, level != goal
        return level * level * (3.0 - 2.0 * level)
