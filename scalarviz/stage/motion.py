"""Motion: the animation of operations and steps by light, and the gradients known so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Moment, Program
from scalarviz.engines.engine import SnapshotValues
from scalarviz.scene.pace import (
    ARRIVES,
    LONGEST,
    MOST_ANIMATED,
    MOST_MOVED,
    Light,
    NeuronPart,
    is_late,
    longest,
    magnification,
    moved,
    share_known,
)
from scalarviz.stage.by_parts import walked
from scalarviz.stage.channels import ChannelSource, read
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.sample_pass import SamplePass
from scalarviz.story.guide import ByNeuron

CHANGED = (
    "zero_grad",
    "weight gradient",
    "operand gradient",
    "step",
)  # they change the bank's numbers


@dataclass(frozen=True)
class Passage:
    """An operation to animate.

    Attributes:
        moment: the operation, its `step`, and its `number` in the step, from 1
        before, after: the numbers of the bank before and after the operation
        samples: the samples shown before and after its results arrive; None: the focus sample
        forward: whether the operation is done; False if it is undone
        neuron: number of the neuron that appears, or disappears when undone; 0: all neurons
    """

    moment: Moment
    step: int
    number: int
    before: SnapshotValues
    after: SnapshotValues
    samples: tuple[SamplePass | None, SamplePass | None]
    forward: bool
    neuron: int = 0

    @property
    def goes(self) -> bool:
        """Whether the whole operation is undone."""
        return not self.forward and self.neuron < 2


@final
class Motion(Light):
    """Shows each operation that the clock has passed since the last picture, in order.

    If more than one step has passed, only the operations of the last step are shown; if the clock
    has jumped, none are.

    Attributes:
        by_neuron: shown neurons of the last operation
    """

    waiting: list[Passage]

    def __init__(self, reading: LiveValues, *, cuts: bool) -> None:
        super().__init__(cuts)
        self.reading = reading
        self.by_neuron = ByNeuron()
        self._remember()
        last, now = reading.last_operation, reading.numbers
        if last is not None:
            before = replace(now, value=reading.before()[0])
            moment = reading.moments[last[1] - 1]
            self.waiting.append(Passage(moment, *last, before, now, (None, None), True))

    def _remember(self) -> None:
        reading = self.reading
        self._place, self._leaps = reading.place, reading.here.leaps
        self._numbers, self._sample = reading.numbers, reading.way
        self._neuron = self._shown_at(reading.place)

    def _shown_at(self, place: Sequence[int]) -> int:
        """Return how many neurons are shown at a clock position; 0 means the whole operation."""
        return self.by_neuron.at(place[0] * len(self.reading.moments) + place[1])

    @property
    def walking(self) -> bool:
        """Whether operations are shown, instead of the network alone."""
        return bool(self.waiting)

    def follow(self, now: float) -> None:
        """Queue the operations since the last call for animation."""
        self.now = now
        reading, old = self.reading, self._place
        place = reading.place
        if place[2] != old[2] or (place != old and reading.here.leaps != self._leaps):
            return self.stop()
        way = passed(old[:2], place[:2], len(reading.moments))
        if place != old and (way.skips or not way.places):
            self.stop()
        if place == old and self._neuron and not self._shown_at(place):
            self._show_whole()
        passages = self._passages(way) if way.places else self._neurons()
        if passages:
            neuron = self._shown_at(place) if passages[-1].forward else self._neuron
            passages[-1] = replace(passages[-1], neuron=neuron)
            most = max(longest(reading.program, passage.moment) for passage in passages)
            self.take_up(passages, most, now, reading.now.playing)
        self._remember()
        return self._hold()

    def _neurons(self) -> list[Passage]:
        """Return a list of one passage, of the neuron that appears or disappears, or []."""
        reading = self.reading
        (step, number, _), now = reading.place, reading.numbers
        shown = self._shown_at(reading.place)
        if self._place != reading.place or not number or shown in (0, self._neuron):
            return []
        moment = reading.moments[number - 1]
        if not self._neuron:  # all were shown
            buffer = walked(reading.program, moment)
            self._neuron = 0 if buffer is None else buffer.size
        return [Passage(moment, step, number, now, now, (None, None), forward=shown > self._neuron)]

    def _show_whole(self) -> None:
        """Show all neurons of the last operation."""
        if self.waiting and not self.waiting[-1].goes:
            self.waiting = [replace(self.waiting[-1], neuron=0, forward=True)]
            self.part = 1.0
        self._neuron = 0

    def _passages(self, way: Passed) -> list[Passage]:
        """Return the operations between the previous and the current state of the session."""
        reading = self.reading
        moments = [reading.moments[number - 1] for _, number, _ in way.places]
        if way.forward:
            numbers = chain(self._numbers, reading.numbers, moments, reading.program)
        else:
            numbers = chain(reading.numbers, self._numbers, moments[::-1], reading.program)[::-1]
        passages = []
        for i, (step, number, olds) in enumerate(way.places):
            before, after = numbers[i : i + 2][:: 1 if way.forward else -1]
            first, last = (self._sample if old else None for old in olds)
            numbered = moments[i], step, number
            passages.append(Passage(*numbered, before, after, (first, last), way.forward))
        return passages

    def stop(self) -> None:
        """End the animation, so that the network alone is shown."""
        self.empty()
        self._hold()
        self._remember()

    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves."""
        moves = self.advance(now)
        self._hold()
        return moves

    def _hold(self) -> None:
        """Show the sample that belongs to the current operation."""
        passage = self._shown
        self.reading.held, self.reading.neurons = None, self.neurons
        if passage is not None:
            self.reading.held = passage.samples[self.shown()[1] >= ARRIVES]

    @property
    def _shown(self) -> Passage | None:
        """The current operation; None if it is undone and the operation before it is shown."""
        passage = self.waiting[0] if self.waiting else None
        if passage is None or self.part < 1.0 or passage.forward:
            return passage
        # Undone: the neuron before it is shown now, or else the operation before it.
        return None if passage.goes else replace(passage, neuron=passage.neuron - 1, forward=True)

    @property
    def neurons(self) -> NeuronPart | None:
        """The neurons of the shown operation, when stepping by neuron; else None."""
        (moment, part), passage = self.shown(), self._shown
        buffer = None if moment is None else walked(self.reading.program, moment)
        number = self._neuron if passage is None else passage.neuron
        if moment is None or buffer is None or not number:
            return None
        return NeuronPart(
            moment.kind,
            [each.name for each in moment.values],
            [each.name for each in moment.gradients],
            buffer.name,
            buffer.size,
            number,
            part,
        )

    def shown(self) -> tuple[Moment | None, float]:
        """Return the operation to show, and the finished fraction of its animation."""
        passage = self._shown
        if passage is not None:
            return passage.moment, self.part if passage.forward else 1.0 - self.part
        # Undone: the last operation is now the one before it.
        done = self.current if self.waiting else 0
        return self.reading.moments[done - 1] if done else None, 1.0

    @property
    def current(self) -> int:
        """The number of the shown operation, from 1; 0 if the network alone is shown."""
        if not self.waiting:
            return self.reading.place[1]
        return self.waiting[0].number - (self._shown is None)

    @property
    def place(self) -> tuple[int, int]:
        """The clock position (step, operation) after the shown operation."""
        count = len(self.reading.moments)
        return divmod(self.waiting[0].step * count + self.current, count)

    @property
    def coming(self) -> int:
        """The value of `current` when all queued operations have been shown."""
        if not self.waiting:
            return self.reading.place[1]
        return self.waiting[-1].number - self.waiting[-1].goes

    @property
    def hasty(self) -> bool:
        """Whether operations follow too fast for captions to be read."""
        return bool(self.waiting) and self.seconds < 0.5 * LONGEST

    @property
    def done(self) -> int:
        """The number of operations of the step shown as finished; 0 for all or none.

        The results of an operation are shown as soon as its light has arrived.
        """
        passage = self._shown
        if passage is None:
            return self.current
        done = passage.number - is_late(self.shown()[1], passage.neuron)
        return max(1, done) % len(self.reading.moments)

    def mixed(
        self, color: str, size: str, source: ChannelSource
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return numbers for colors and for sizes; third, color numbers before a step, or None."""
        passage = self._shown
        if passage is not None and len(self.waiting) > 1:  # the current numbers come later
            source = replace(
                source,
                numbers=passage.after,
                before=passage.before.value,
                way=self.reading.held or self.reading.way,
            )
        colors = read(color, source)
        sizes = colors if size == color else read(size, source)
        if (
            passage is None
            or self.neurons is not None
            or passage.moment.kind not in CHANGED
            or len(colors) > MOST_ANIMATED
        ):
            return colors, sizes, None
        is_step = passage.moment.kind == "step"
        part = moved(self.shown()[1], self.seconds) if is_step else self.shown()[1]
        old, new = (
            replace(source, numbers=numbers, before=passage.before.value)
            for numbers in (passage.before, passage.after)
        )
        first, last = read(color, old), read(color, new)
        colors = mixture(first, last, part)
        if size != color:
            return colors, mixture(read(size, old), read(size, new), part), None
        return colors, colors, first if is_step else None

    @property
    def ends(self) -> tuple[SnapshotValues, SnapshotValues]:
        """The numbers of the bank before and after the shown operation."""
        passage, now = self._shown, self.reading.numbers
        return (now, now) if passage is None else (passage.before, passage.after)


def magnified(
    before: FloatArray,
    sizes: FloatArray,
    after: FloatArray,
    scale: float,
    followed: Sequence[int],
) -> tuple[FloatArray, tuple[tuple[int, ...], float]]:
    """Return sizes with the largest changes of a step magnified, their rows, and the factor.

    Args:
        before, after: the numbers before and after the step; `sizes` are in between
        scale: the number shown by the largest cube
        followed: bank indices that are always included
    """
    changes = np.nan_to_num(np.abs(after - before), nan=0.0, posinf=0.0)
    rows = np.argsort(-changes, kind="stable")[:MOST_MOVED]
    rows = np.array(list(dict.fromkeys([*rows.tolist(), *followed])), dtype=int)
    rows = rows[changes[rows] > 0.0]
    factor = magnification(float(changes[rows].max(initial=0.0)), scale)
    sizes = sizes.copy()
    sizes[rows] = before[rows] + factor * (sizes[rows] - before[rows])
    return sizes, (tuple(rows.tolist()), factor)


@dataclass(frozen=True)
class Passed:
    """The operations between two moments, in order.

    Attributes:
        places: step and number of each operation, and whether the sample of the first moment is
            shown before and after its results arrive
        skips: whether operations of other steps are omitted
    """

    places: Sequence[tuple[int, int, tuple[bool, bool]]]
    forward: bool
    skips: bool


def passed(old: tuple[int, int], new: tuple[int, int], count: int) -> Passed:
    """Return the operations between two positions (step, operation); `count` operations are a step.

    If more than one step ends in between, only the operations of the last step are returned, since
    the weights in other steps are unknown.
    """
    first, last = (step * count + operation for step, operation in (old, new))
    forward = last > first
    low, high = min(first, last), max(first, last)
    skips = high // count - low // count > 1  # more than one step ends in between
    if skips and forward:
        low = new[0] * count
    elif skips:
        high = (new[0] + 1) * count - 1
    # Between two steps the sample still belongs to the step before.
    back = not forward and not new[1]
    places = [
        (
            at // count,
            at % count + 1,
            (back or at // count != new[0], back or (at + 1) // count != new[0]),
        )
        for at in range(low, high)[:: 1 if forward else -1]
    ]
    return Passed(places, forward, skips)


def chain(
    early: SnapshotValues, late: SnapshotValues, moments: Sequence[Moment], program: Program
) -> list[SnapshotValues]:
    """Return the numbers before, between and after operations, given the first and the last.

    Gradients that were cleared before they could be read are left unchanged.
    """
    found = [early]
    for i, moment in enumerate(moments[:-1]):
        now, cleared = found[-1], any(each.kind == "zero_grad" for each in moments[i + 1 :])
        if len(now.value) > MOST_ANIMATED:
            now = late
        elif moment.kind == "step":
            now = replace(now, value=late.value, slots=late.slots)
        elif moment.kind == "zero_grad":
            now = replace(now, grad=np.zeros_like(now.grad))
        elif moment.kind == "weight gradient" and not cleared:
            grad, rows = now.grad.copy(), program.operations[moment.operation].parameters
            grad[rows] = late.grad[rows]
            now = replace(now, grad=grad)
        found.append(now)
    return [*found, late]


def mixture(first: FloatArray, last: FloatArray, part: float) -> FloatArray:
    """Interpolate between two arrays; infinities give NaN until the end."""
    if part >= 1.0:
        return last
    with np.errstate(invalid="ignore", over="ignore"):
        found: FloatArray = first + part * (last - first)
    return found


# The gradients known at a moment of a step, shown by cubes as arrows.


def pushes(
    program: Program,
    moments: Sequence[Moment],
    current: int,
    part: float,
    before: FloatArray,
    after: FloatArray,
    frozen: FloatArray,
) -> FloatArray | None:
    """Return the gradient of each parameter, NaN if not known yet; None if all are unknown.

    Args:
        program: the program of the network
        moments: moments of a step
        current: number of the shown moment, from 1; 0 for none
        part: its finished fraction, 0 to 1
        before, after: gradients before and after the moment, in bank order
        frozen: mask of the frozen parameters, which have no arrows
    """
    if not 0 < current <= len(moments) or len(after) > MOST_ANIMATED:
        return None
    moment = moments[current - 1]
    found = np.full(len(after), np.nan)
    with np.errstate(invalid="ignore"):  # no part of an infinity is known
        share = share_known(moment.kind, part)
        if moment.kind in ("zero_grad", "step"):
            found[:] = share * (before if moment.kind == "zero_grad" else after)
        else:
            for each in moments[:current]:
                rows = gradients_of(program, each)
                found[rows] = (share if each is moment else 1.0) * after[rows]
    found[frozen] = np.nan
    return found if np.isfinite(found).any() and np.nanmax(np.abs(found)) > 0.0 else None


def gradients_of(program: Program, moment: Moment) -> slice | Sequence[int]:
    """Return the bank indices of the parameters whose gradients a moment computes."""
    if moment.kind == "operand gradient":
        return program.rows_read(moment.operation)
    if moment.kind != "weight gradient":
        return slice(0, 0)
    rows = program.operations[moment.operation].parameters
    return slice(rows.start, rows.stop)
