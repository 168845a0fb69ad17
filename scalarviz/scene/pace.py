"""Pace: the durations of operations in a picture, and how far they are shown.

Pages run this module as JavaScript, see docs/TRANSLATOR.md; `scene_data` contains the values that
depend on the program.
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
    """Return the duration of an operation in seconds if there is enough time."""
    adds_up = moment.kind in ("forward", "input gradient")
    has_weights = adds_up and program.operations[moment.operation].weights != NONE
    return SUM if has_weights else LONGEST


def pauses(program: Program, *, again: bool) -> list[float]:
    """Return the seconds between the operations of a slow step, half as long if `again`."""
    return shared([longest(program, moment) for moment in program.moments], again=again)


def shared(seconds: Sequence[float], *, again: bool) -> list[float]:
    """Return the durations with a pause after each, shortened if there are many or `again`."""
    own = [each + REST for each in seconds]
    most = min(SLOWEST_STEP, max(SLOW_STEP, EACH * len(own)))
    share = min(1.0, most / sum(own)) * (0.5 if again else 1.0)
    return [share * each for each in own]


def moved(part: float, seconds: float) -> float:
    """Return the progress of cubes from their old to their new size in a step, from 0 to 1.

    Args:
        part: finished fraction of the step, from 0 to 1
        seconds: duration of the step; the cubes change in the middle of it
    """
    span = min(1.0, MOVE / seconds) if seconds else 1.0
    far = min(1.0, max(0.0, 0.5 + (part - 0.5) / span))
    return far * far * (3.0 - 2.0 * far)


def seam(kind: str, part: float) -> float:
    """Return the brightness of the light between output and target, from 0 to 1.

    Args:
        kind: kind of the current operation, or ""
        part: finished fraction of the operation; the light flashes at the loss and stays on during
            the backward pass
    """
    if kind == "loss":
        return math.sin(math.pi * part) if part < 0.5 else 1.0 - (1.0 - SEAM) * (2.0 * part - 1.0)
    return SEAM if kind in BACK else 0.0


def magnification(change: float, scale: float) -> float:
    """Return the magnification of the changes in a step: 1, or 2, 5, 10, 20, ...

    Args:
        change: the largest change
        scale: number that has the largest cube
    """
    wanted = SEEN_MOVE * scale / change if change > 0.0 else 1.0
    if not (math.isfinite(wanted) and wanted >= 2.0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * (5.0 if wanted >= 5.0 * power else 2.0 if wanted >= 2.0 * power else 1.0)


# The known results of a partly finished operation.


def is_late(part: float, neuron: int) -> bool:
    """Return whether an operation shows no result yet because its light has not arrived.

    Args:
        neuron: index from 1 of the neuron that is computed; 0 if not stepping by neuron
        part: finished fraction of that neuron or of the operation
    """
    return part < ARRIVES and neuron < 2


def share_known(kind: str, part: float) -> float:
    """Return the fraction at which cubes show gradients, the old ones if `kind` is "zero_grad".

    The fraction grows when the light arrives at the cubes, and falls to 0 during a step.
    """
    if kind == "zero_grad":
        return 1.0 - part
    if kind == "step":
        return max(0.0, 1.0 - part / MOVED)
    return min(1.0, max(0.0, 2.0 * part - 1.0))


@final
@dataclass(frozen=True)
class NeuronPart:
    """An operation of which only the first neurons are shown.

    Attributes:
        kind: kind of the operation
        values, gradients: names of the buffers whose values and whose gradients it writes
        buffer, size: buffer of the neurons, and their number
        number: index of the last shown neuron, from 1
        part: finished fraction of that neuron, from 0 to 1
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
        """Drop the results of neurons not computed yet from the arrays with these names."""
        count = self.number if self.part >= ARRIVES else self.number - 1
        found = {name: x[:count] if name in names else x for name, x in arrays.items()}
        return {name: x for name, x in found.items() if len(x)}

    def growing(self) -> list[tuple[Neuron, float | None]]:
        """Return neurons with the fraction at which the gradients of their weights are shown.

        The fraction is None for later neurons, whose gradients are not computed yet.
        """
        if self.kind != "weight gradient":
            return []
        later = [((self.buffer, place), None) for place in range(self.number, self.size)]
        return [(self.neuron, share_known(self.kind, self.part)), *later]


class Light:
    """Shows queued operations one after the other at the pace of a session.

    The longer the queue, the faster it is shown, so that the picture keeps up with the session.

    Attributes:
        cuts: whether operations are shown finished, without animation
        given: seconds until the next operation in a slow step; 0 uses the time between the last two
        seconds: duration of the current operation
        waiting: the queue, whose first operation is shown
        part: finished fraction of that operation
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
        """Add operations to the queue.

        Args:
            most: maximum duration of an operation in seconds
            plays: whether operations may take longer, in a slow step
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
        """Advance to a time; return whether anything still changes."""
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
        """Show the current operation as finished."""
        self.part = 1.0

    def empty(self) -> None:
        """Clear the queue."""
        self.waiting.clear()
        self.part = 1.0


@final
class Attention:
    """The dimming of everything out of focus, with smooth changes.

    Attributes:
        moves: whether the dimming still changes
    """

    def __init__(self) -> None:
        self.moves = False
        self._level, self._at, self._goal = 0.0, 0.0, 0.0

    def follow(self, focused: bool, now: float, calm: bool) -> float:
        """Return the dimming at a time in seconds, from 0 to 1.

        Args:
            focused: whether anything is in focus from now on
            calm: whether to change immediately, without animation
        """
        goal = 1.0 if focused else 0.0
        passed: float = max(0.0, now - self._at)
        level: float = self._level + (passed / FALL if self._goal > 0.0 else -passed / RISE)
        level = goal if calm else min(1.0, max(0.0, level))
        self._level, self._at, self._goal, self.moves = level, now, goal, level != goal
        return level * level * (3.0 - 2.0 * level)
