"""Pace: the durations of operations in a picture, and their phases.

Pages run it as JavaScript, see docs/TRANSLATOR.md; `scene_data` has the program-specific values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from scalarviz.core.program import Moment, Program
from scalarviz.story.facts import NONE, Neuron

SHORTEST, LONGEST = 0.1, 0.9  # seconds for one operation
SLOWEST = 2.4  # seconds for one operation during slow playback
ARRIVES = 0.8  # fraction of an operation from which its results are shown
MOVED = 0.5  # fraction of a step from which the new numbers are shown
SUM = 1.56  # seconds for a sum of products
MOVE = 0.3  # seconds in which cubes change their size
MOST_ANIMATED = 200_000  # parameters; larger banks are not animated, and have no arrows
MOST_MOVED = 10  # cubes whose change is drawn in a step
SEEN_MOVE = 0.4  # the largest change of a step as drawn, relative to the scale
SEAM = 0.35  # light between OUT and its target in the backward pass
REST = 0.3  # seconds between two operations in a slow step
FALL, RISE = 0.25, 0.4  # seconds for dimming everything out of focus, and for restoring it
SHOWN = 0.95  # fraction of the interval between operations in which one moves
BEHIND = 0.25  # approximate maximum delay of the light behind the clock in seconds
# Maximum seconds for a slow step of few operations and of many; for each of many, if less. A second
# one takes half of the first.
SLOW_STEP, SLOWEST_STEP, EACH = 12.0, 16.0, 0.6

SAME_PLACE = 1e-4  # distance in the picture up to which positions are equal

# Operations on their own cubes, backward operations, and operations with light.
WAYS_BACK = {"input gradient", "operand gradient"}
OF_CUBES = {"forward", "weight gradient", *WAYS_BACK}
BACK = {"delta", "weight gradient", *WAYS_BACK}
LIT = {"forward", "loss", "step", *BACK}


# Seconds.


def longest(program: Program, moment: Moment) -> float:
    """Return the seconds for an operation without time pressure."""
    adds_up = moment.kind in ("forward", "input gradient")
    has_weights = adds_up and program.operations[moment.operation].weights != NONE
    return SUM if has_weights else LONGEST


def pauses(program: Program, *, again: bool) -> list[float]:
    """Return the seconds between the operations of a slow step; `again`: of a second one."""
    return shared([longest(program, moment) for moment in program.moments], again=again)


def shared(seconds: Sequence[float], *, again: bool) -> list[float]:
    """Return the seconds of operations with a pause after each, and less for many."""
    own = [each + REST for each in seconds]
    most = min(SLOWEST_STEP, max(SLOW_STEP, EACH * len(own)))
    share = min(1.0, most / sum(own)) * (0.5 if again else 1.0)
    return [share * each for each in own]


def moved(part: float, seconds: float) -> float:
    """Return the progress of cubes from their old to the new size during a step, 0 to 1.

    Args:
        part: finished fraction of the step, 0 to 1
        seconds: its duration; the cubes move in the middle
    """
    span = min(1.0, MOVE / seconds) if seconds else 1.0
    far = min(1.0, max(0.0, 0.5 + (part - 0.5) / span))
    return far * far * (3.0 - 2.0 * far)


def seam(kind: str, part: float) -> float:
    """Return the light between OUT and its target, 0 to 1: it flashes, and stays while going back.

    Args:
        kind: kind of the operation with finished fraction `part`, or ""
    """
    if kind == "loss":
        return math.sin(math.pi * part) if part < 0.5 else 1.0 - (1.0 - SEAM) * (2.0 * part - 1.0)
    return SEAM if kind in BACK else 0.0


def magnification(change: float, scale: float) -> float:
    """Return the magnification of the changes of a step: 1, or 2, 5, 10, 20, ... times.

    Args:
        change: the largest one; `scale` is the number of the largest cube
    """
    wanted = SEEN_MOVE * scale / change if change > 0.0 else 1.0
    if not (math.isfinite(wanted) and wanted >= 2.0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * (5.0 if wanted >= 5.0 * power else 2.0 if wanted >= 2.0 * power else 1.0)


# The known results of a partly finished operation.


def is_late(part: float, neuron: int) -> bool:
    """Return whether no result is available, as before its light has arrived.

    Args:
        neuron: index of its neuron with finished fraction `part`, from 1; 0 without
    """
    return part < ARRIVES and neuron < 2


def share_known(kind: str, part: float) -> float:
    """Return the fraction of gradients that cubes show: before a "zero_grad", else after it.

    They grow when the light meets at the cubes, and a step resets them.
    """
    if kind == "zero_grad":
        return 1.0 - part
    if kind == "step":
        return max(0.0, 1.0 - part / MOVED)
    return min(1.0, max(0.0, 2.0 * part - 1.0))


@final
@dataclass(frozen=True)
class NeuronPart:
    """An operation with only some of its neurons shown.

    Attributes:
        kind: of the operation
        values, gradients: names of the buffers whose values it writes, and whose gradients
        buffer, size: the buffer of the neurons, and their number
        number: index of the last shown neuron, from 1
        part: its finished fraction, 0 to 1
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
        """The last shown neuron."""
        return self.buffer, self.number - 1

    def cut(self, arrays: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Drop the results of neurons not yet computed from arrays with these names."""
        count = self.number if self.part >= ARRIVES else self.number - 1
        found = {name: x[:count] if name in names else x for name, x in arrays.items()}
        return {name: x for name, x in found.items() if len(x)}

    def growing(self) -> list[tuple[Neuron, float | None]]:
        """Return neurons and the available fraction of the gradients of their weights.

        It is None for later neurons, whose gradients are unknown.
        """
        if self.kind != "weight gradient":
            return []
        later = [((self.buffer, place), None) for place in range(self.number, self.size)]
        return [(self.neuron, share_known(self.kind, self.part)), *later]


class Light:
    """Shows operations one after the other, following a clock.

    Queued ones speed up the others, so that the light stays close to the clock.

    Attributes:
        cuts: whether each is shown complete, at once
        given: seconds that a slow step adds to the next operation; 0: those between the last two
        seconds: present duration of an operation
        waiting: the queue; its first operation is shown, with finished fraction `part`
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
        """Queue operations.

        Args:
            most: maximum seconds for one of them
            plays: whether they may take longer, in a slow step
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
        """Show the end of the current operation."""
        self.part = 1.0

    def empty(self) -> None:
        """Clear the queue."""
        self.waiting.clear()
        self.part = 1.0


@final
class Attention:
    """The dimming of everything out of focus.

    Attributes:
        moves: whether it still changes
    """

    def __init__(self) -> None:
        self.moves = False
        self._level, self._at, self._goal = 0.0, 0.0, 0.0

    def follow(self, focused: bool, now: float, calm: bool) -> float:
        """Return the dimming at a time in seconds, 0 to 1.

        Args:
            focused: whether anything is in focus from now on
            calm: whether to change at once, without motion
        """
        goal = 1.0 if focused else 0.0
        passed: float = max(0.0, now - self._at)
        level: float = self._level + (passed / FALL if self._goal > 0.0 else -passed / RISE)
        level = goal if calm else min(1.0, max(0.0, level))
        self._level, self._at, self._goal, self.moves = level, now, goal, level != goal
        return level * level * (3.0 - 2.0 * level)
