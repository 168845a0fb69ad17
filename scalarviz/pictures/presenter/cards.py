"""Cards of hovered and pinned weights and neurons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.program import NONE
from scalarviz.errors import ScalarvizError
from scalarviz.pictures.presenter.answers import Answer
from scalarviz.pictures.presenter.captions.format import digits_between, said
from scalarviz.pictures.presenter.channels import Source
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.presenter.neuron_card import (
    drawing_of,
    facts_of,
    neuron_card,
    numbers_of,
)
from scalarviz.pictures.presenter.node_card import node_card
from scalarviz.pictures.presenter.pointing import Target
from scalarviz.pictures.presenter.throttle import Throttle
from scalarviz.pictures.presenter.why import Blocks, blocks_about, title_of
from scalarviz.pictures.view.exhibits.exhibit import Exhibit
from scalarviz.pictures.view.frame_data import Card, Drawing, History, Line, NeuronMaps, Table
from scalarviz.pictures.view.scene.plates import Layout
from scalarviz.training.session.replays import POINTS
from scalarviz.training.session.session import Session

DIGITS = 3  # fewest of a value
MOVED = 3  # samples that moved a weight most
NOTABLE, LEAST = 0.05, 0.005  # of all that moved it: the first part at least, and any other one
REPEATED, QUICK = (
    30,
    30_000_000,
)  # steps that are repeated to find them, and multiplications at most
DENSE = 4  # records further apart than so many times the usual distance leave a gap


def hover_card(reading: LiveValues, row: int | None, source: Source) -> Card | None:
    """Return the card beside a hovered cube, with its last change; None if there is none."""
    if row is None:
        return None
    session = reading.session
    value, before = float(source.numbers.value[row]), float(source.before[row])
    change = value - before
    digits = max(DIGITS, digits_between(before, value))
    facts = [
        (text("card.value"), said(value, digits)),
        (text("card.change"), f"{'+' * (change > 0.0)}{said(change)}"),
        (text("card.gradient"), said(float(source.numbers.grad[row]))),
    ]
    if session.network.bank.frozen[row]:
        facts.append((text("card.frozen"), text("card.frozen.meaning")))
    return Card(row, title_of(session, reading.program, row), facts)


@final
class Cards:
    """Cards of what is hovered and pinned; arithmetic is recomputed when the clock has moved.

    foretells  whether that of a weight has the step that is to come, once its gradient is known
    """

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self.session = reading.session
        self._blocks: Answer[Blocks] = Answer(())
        self._asked: tuple[object, ...] = ()
        self._moved = Answer("")
        reading.answers += [self._blocks, self._moved]
        self.foretells = True
        self._recalling = Throttle()
        self._recalled = NONE, (np.zeros(0), np.zeros(0))

    def hovered(
        self, hovered: Target, pinned: Target, source: Source, layout: Layout, done: int
    ) -> Card | None:
        """Return the card beside what is hovered, unless it is pinned.

        source  numbers of the bank
        layout  where the neurons stand
        done    operations of the step that are shown; 0: all of them
        """
        if not hovered or hovered == pinned:
            return None
        if hovered.neuron is None:
            return hover_card(self.reading, hovered.row, source)
        card = node_card(self.reading, hovered.neuron, done)
        if card is not None:
            return Card(NONE, card.name, card.facts)
        known = numbers_of(self.reading, layout, hovered.neuron, done)
        return None if known is None else Card(NONE, known.title, facts_of(known))

    def pinned(
        self,
        pinned: Target,
        source: Source,
        layout: Layout,
        done: int,
        learned: tuple[NeuronMaps | None, Exhibit | None] = (None, None),
        beside: Sequence[int] = (),
    ) -> Card | None:
        """Return the card of what is pinned; arguments as in `hovered`.

        learned  what neurons answer over the plane, and the exhibit, for the card of a neuron
        beside   further weights, whose numbers stand on the card of a weight
        """
        if self.reading.asleep or not pinned:
            return None
        if pinned.neuron is None:
            return self._weight(pinned.row, source, beside)
        card = node_card(self.reading, pinned.neuron, done)
        if card is not None:
            return card
        known = numbers_of(self.reading, layout, pinned.neuron, done)
        return None if known is None else neuron_card(known, drawing_of(known, *learned))

    def _weight(self, row: int | None, source: Source, beside: Sequence[int]) -> Card | None:
        """Return the card of a weight: why it has its value, and its history.

        While the session plays, the arithmetic of the step at which it began stays.
        """
        if row is None:
            return None
        session, key = self.session, self.reading.key
        if not session.playing or self._asked[:1] != (row,):
            self._asked = row, key, session.focus, self.foretells
        about = partial(arithmetic, session, row, foretells=self.foretells)
        found = self.reading.ask(self._blocks, self._asked, about)
        waits = [Line(text("explanation.pending"), "quiet")]
        blocks: list[Line | Table | History | Drawing] = [
            *(waits if self._blocks.pending else found)
        ]
        if session.playing:
            now = said(float(source.numbers.value[row]), DIGITS)
            blocks.insert(0, Line(text("card.value_is", value=now), "large", text("card.now")))
        history = self._history(row, source)
        if history is not None:
            blocks.insert(before_heading(blocks), history)
        if not session.playing and (moved := self.moved(row)):
            blocks.insert(before_heading(blocks), Line(moved, "quiet"))
        blocks[:0] = [self._beside(other, source) for other in beside]
        return Card(row, title_of(session, self.reading.program, row), blocks=blocks)

    def _beside(self, row: int, source: Source) -> Line:
        """Return the line of a weight that is pinned beside another one."""
        value = float(source.numbers.value[row])
        since = value - float(self.session.branches[0].frames[0].value[row])
        name = title_of(self.session, self.reading.program, row)
        fields = {"value": said(value, DIGITS), "change": f"{'+' * (since > 0.0)}{said(since)}"}
        return Line(text("card.beside", name=name, **fields))

    def moved(self, row: int) -> str | None:
        """Return which samples moved a weight most; "" without any, None until it is found."""
        key = row, self.reading.key
        words = self.reading.ask(self._moved, key, lambda: moved_most(self.session, row))
        return None if self._moved.pending else words

    def _history(self, row: int, source: Source) -> History | None:
        """Return the history so far; while the session plays, refreshed only at intervals.

        A picture that waits for all results waits for the earlier steps, too.
        """
        if row not in self.session.pinned:
            return None
        waits = self.reading.patience == math.inf
        if row != self._recalled[0] or not self.session.playing or self._recalling.due:
            with self._recalling.doing():
                self._recalled = row, self.session.history(row, wait=waits)
        steps, values = self._recalled[1]
        frame = self.session.branches[0].frames[0]
        now = self.reading.place[0], float(source.numbers.value[row])
        return history_of(steps, values, float(frame.value[row]), now)


def history_of(
    steps: FloatArray, values: FloatArray, first: float, now: tuple[int, float]
) -> History | None:
    """Return a history with the value at step 0 and the present one; None without a step.

    steps, values  the known ones, in order
    first          the value at step 0
    now            the present step and value
    """
    step, value = now
    good = steps <= step
    steps, values = steps[good].astype(np.float64), values[good]
    if not len(steps) or steps[0] > 0:
        steps, values = np.append(0.0, steps), np.append(first, values)
    if steps[-1] < step or values[-1] != value:  # the same step again: after an edit
        steps, values = np.append(steps, float(step)), np.append(values, value)
    if step == 0:
        return None
    dense = max(1, DENSE * (step // POINTS))
    return History(steps, values, np.diff(steps) <= dense)


def before_heading(blocks: Sequence[object]) -> int:
    """Return the place of the first heading among the blocks of a card, else their end."""
    heads = [isinstance(each, Line) and each.look == "strong" for each in blocks]
    return heads.index(True) if True in heads else len(blocks)


def moved_most(session: Session, row: int) -> str:
    """Return which samples moved a weight most in the last steps, as many as repeat quickly."""
    count = len(session.operations) * session.timeline.trainer.batches.size
    steps = max(1, min(REPEATED, QUICK // (count * len(session.network.bank))))
    try:
        found = session.samples_that_moved(row, steps, MOVED, progress=False)
    except ScalarvizError:
        return ""
    if not found.total or found.samples[0].amount < NOTABLE * found.total:
        return ""
    parts = [(each.sample, each.amount / found.total) for each in found.samples]
    shares = [f"{sample} ({part:.0%})" for sample, part in parts if part >= LEAST]
    return plural("card.moved_most", found.last + 1 - found.first, samples=", ".join(shares))


def arithmetic(session: Session, row: int, *, foretells: bool = True) -> Blocks:
    """Return the lines and tables of the card of a weight."""
    try:
        return blocks_about(session, row, foretells=foretells)
    except ScalarvizError:
        return [Line(text("explanation.none"), "quiet")]
