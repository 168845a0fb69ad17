"""Guidance through a training session: the tour, stepping by neuron, and manual changes.

The tour lasts ten to thirty seconds, until the network has learned.

The tour's clock adds the time between consecutive pictures, at most SLOWEST for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import typeset
from scalarviz.story.caption import Caption
from scalarviz.story.facts import Facts, Numbers, State
from scalarviz.story.formats import both, said
from scalarviz.story.names import neuron_name
from scalarviz.story.traced_weight import read_answers

# End of each part of the tour, in seconds.
STAND, FORWARD, ERROR, BACKWARD, STEP, END = 1.0, 3.5, 4.5, 7.0, 8.0, 10.0
# Steps per second in the last parts, of equal duration: enough steps for small networks.
SPEEDS = 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0
MORE = 20.0  # seconds after the end for a slow machine to catch up
SLOWEST = 0.35  # maximum seconds counted between two pictures
LONG = 0.1  # seconds of steps at once
LEARNED = 0.1  # fraction of the initial loss at which the tour ends
FIRST, LAST = 8, 32  # steps over which the initial and the current loss are averaged


@final
class Tour:
    """The schedule of the tour: one step operation by operation, then more steps ever faster.

    Attributes:
        kinds: kinds of the moments of the first step, which always takes eight seconds
        stills: whether each part of the tour is a single picture, for reduced motion; by default
            False
        ends: number of finished operations at the end of each part

    Report started steps and operations with `count`.
    """

    def __init__(self, kinds: Sequence[str], *, stills: bool = False) -> None:
        loss, count = kinds.index("loss"), len(kinds)
        self.ends = {
            "stand": 0,
            "forward": loss,
            "error": loss + 1,
            "backward": count - 1,
            "step": count,
        }
        self._times = [
            STAND,  # clears the gradients, together with the first operation
            *spread(STAND, STAND if stills else FORWARD, loss - 1),
            FORWARD,
            *spread(ERROR, ERROR if stills else BACKWARD, count - loss - 2),
            BACKWARD,
        ]
        self._stills = stills
        self._pace = math.inf  # shortest time of a step in seconds: any may be delayed
        self._operations, self._steps = 0, 0

    def due(self, seconds: float) -> tuple[int, int]:
        """Return how many steps and operations are due after `seconds`; one of the two is 0."""
        operations = sum(time <= seconds for time in self._times) - self._operations
        if operations or seconds <= STEP:
            return 0, operations
        steps = steps_after(max(seconds, END) if self._stills else seconds) - self._steps
        return int(min(steps, max(1.0, LONG / self._pace))), 0

    def count(self, steps: int, operations: int) -> None:
        """Record the started steps and operations."""
        self._steps += steps
        self._operations += operations

    def took(self, steps: int, seconds: float) -> None:
        """Record that `steps` steps have taken `seconds`."""
        self._pace = min(self._pace, max(seconds, 1e-6) / steps)

    def part(self, done: int) -> str:
        """Return the name of the part of the tour that is shown after `done` operations."""
        return next((name for name, end in self.ends.items() if done <= end), "faster")

    def is_over(self, seconds: float, *, learned: bool) -> bool:
        """Return whether the tour is over: the network has learned, or learning takes too long."""
        return seconds >= END and (learned or seconds > END + MORE)


def spread(start: float, end: float, count: int) -> list[float]:
    """Return `count` evenly spaced times from `start` to before `end`."""
    return [start + (end - start) * i / count for i in range(count)]


def steps_after(seconds: float) -> int:
    """Return the number of steps finished after `seconds`, not counting the first one."""
    each, done = (END - STEP) / len(SPEEDS), SPEEDS[-1] * max(0.0, seconds - END)
    for i, speed in enumerate(SPEEDS):
        done += speed * min(each, max(0.0, seconds - STEP - i * each))
    return int(done + 1e-9)


def has_learned(loss_at: Callable[[int], float], first: int, end: int) -> bool:
    """Return whether the loss has fallen far enough since a step; True if losses are unknown.

    Args:
        loss_at: function that returns the loss of each step up to `end`, NaN if unknown
    """
    if end - first < LAST:
        return False
    before: float = sum([loss_at(first + i) for i in range(FIRST)]) / FIRST
    return not sum([loss_at(end - 1 - i) for i in range(LAST)]) / LAST > LEARNED * before


TINTS = "rgb", "grey"  # kinds of inputs that are a color or a picture
FEW = 4  # maximum outputs for which the largest error is shown


def tour_caption(part: str, facts: Facts, state: State) -> Caption:
    """Return the caption of a part of the tour, with the numbers of the focus sample.

    Args:
        part: "stand", "forward", "error", "backward", "step" or "faster"
    """
    if part == "error":
        return Caption(error_words(facts, state))
    if part == "forward":
        kind = facts.tint if facts.tint in TINTS else "sample"
        return Caption(text(f"captions.tour.forward.{kind}"))
    return Caption(text(f"captions.tour.{part}"))


def error_words(facts: Facts, state: State) -> str:
    """Return the errors of the focus sample's outputs as text; for many outputs, the loss."""
    target, outputs = state.target, state.values.get(facts.outputs)
    count = 0 if target is None else len(target)
    if target is not None and outputs is not None and len(outputs) == count <= FEW:
        answers = read_answers(outputs, facts.loss.logits)
        off = max(abs(a - t) for a, t in zip(answers, target, strict=True))
        if off == off:
            return text(f"captions.tour.error.{'one' if count == 1 else 'some'}", off=said(off))
    if state.loss == state.loss:
        return text("captions.tour.error.loss", loss=said(state.loss))
    return text("captions.tour.error")


@final
@dataclass
class ByNeuron:
    """Position within the last operation when stepping by neuron.

    Attributes:
        shown: number of shown neurons, by number of finished operations; 0 is the whole operation
        aim: number of operations that are finished at the destination
    """

    shown: dict[int, int] = field(default_factory=dict)
    aim: int = 0

    def at(self, done: int) -> int:
        """Return how many neurons are shown after `done` operations; 0 is the whole operation."""
        return self.shown.get(done, 0)

    def go(self, sizes: Sequence[int], done: int, by: int, *, waits: bool) -> int:
        """Step by neurons; return the operations for the session to take, negative if backward.

        Args:
            sizes: number of neurons of each moment of a step; 1 for moments without neurons
            done: number of finished operations of the session
            by: number of neurons to step; negative values step backward
            waits: whether the session has not yet reached the previous destination
        """
        if not (waits and self.shown):
            self.shown, self.aim = {done: self.at(done)}, done
        at, shown = self.aim, self.at(self.aim) or size_at(sizes, self.aim)
        for _ in range(abs(by)):
            if by > 0:
                at, shown = (at, shown + 1) if shown < size_at(sizes, at) else (at + 1, 1)
            elif shown > 1:
                shown -= 1
            elif at:
                at -= 1
                shown = size_at(sizes, at)
        passed, self.aim = at - self.aim, at
        self.shown[at] = shown
        return passed


def size_at(sizes: Sequence[int], done: int) -> int:
    """Return the number of neurons of the last of `done` operations."""
    return sizes[done % len(sizes) - 1] if done else 1


# Manual changes: outputs while a cube is dragged, and for custom inputs.

MOST_SAID = 4  # numbers that a sentence lists


def moved_answer(facts: Facts, before: Numbers, after: Numbers, old: str, new: str) -> str:
    """Return how a manual change of a weight changes the most affected output, as text; or ""."""
    moved = [abs(float(b) - float(a)) for a, b in zip(before, after, strict=True)]
    if not all(math.isfinite(each) for each in moved):
        return ""
    place = moved.index(max(moved))
    start, end = both(float(before[place]), float(after[place]))
    if start == end:
        return ""
    unit = neuron_name(facts, (facts.outputs, place))
    what = text("notices.dragged.answer") if len(moved) == 1 else unit
    words = text("notices.dragged.moves", old=old, new=new, what=what, start=start, end=end)
    return typeset(words)


def custom_answer(facts: Facts, inputs: Numbers, outputs: Numbers, what: str = "") -> str:
    """Return a sentence about the outputs for a custom input.

    Args:
        outputs: outputs of the network
        what: name of the input, or ""
    """
    answers = read_answers(outputs, facts.loss.logits)
    answer = listed(facts, facts.outputs, answers)
    if not answer:
        name = neuron_name(facts, (facts.outputs, answers.index(max(answers))))
        return text("own.answered.largest" if what else "own.says.largest", what=what, name=name)
    given = listed(facts, facts.inputs, inputs)
    if given:
        return text("own.answered" if what else "own.says", what=what, inputs=given, outputs=answer)
    return text("own.answered.short" if what else "own.says.short", what=what, outputs=answer)


def listed(facts: Facts, buffer: str, values: Numbers) -> str:
    """Return the numbers of a few neurons, with their names; "" for many."""
    names = facts.buffers[buffer].names
    if len(values) > MOST_SAID:
        return ""
    if len(values) == 1 and not names:
        return said(float(values[0]))
    known = names or [neuron_name(facts, (buffer, i)) for i in range(len(values))]
    return ", ".join(f"{name} {said(float(x))}" for name, x in zip(known, values, strict=True))
