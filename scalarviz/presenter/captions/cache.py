"""Narration: the texts of a picture: title, step and caption."""

from __future__ import annotations

from typing import final

from scalarviz.presenter.answers import Answer
from scalarviz.presenter.captions.moments import caption
from scalarviz.presenter.live_values import LiveValues
from scalarviz.presenter.motion import Motion
from scalarviz.presenter.show import Show
from scalarviz.session.branches import Clock
from scalarviz.session.caption import Caption, Neuron, plain_lines
from scalarviz.texts import plural, text
from scalarviz.view.frame_data import Words

NOTHING = Caption("")
OF_THE_LOSS = "edit", "numbers", "data", "samples", "loss", "activation"  # actions that change it
KEPT = 64  # captions of operations that can be undone


@final
class Narration:
    """The texts for a reading."""

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self._said = Answer(NOTHING)
        self._kept: dict[object, Caption] = {}
        reading.answers.append(self._said)

    def caption(self, pinned: int | None, neuron: Neuron | None = None) -> Caption:
        """Return the caption of the last operation; computed once for each."""
        session = self.reading.session
        key = self.reading.key, pinned, neuron, session.focus
        said = self.reading.ask(self._said, key, lambda: caption(session, pinned, neuron))
        return NOTHING if self._said.pending else said

    def _shown(self, motion: Motion, pinned: int | None, neuron: Neuron | None) -> Caption:
        """Return the caption of the operation that is shown, which the clock may have left.

        While an operation is undone, its caption stays; while the light catches up, the newest
        one says nothing about cubes and neurons.
        """
        step, done, branch = self.reading.place
        count = len(self.reading.moments)
        about = branch, pinned, neuron, self.reading.session.focus
        if motion.current == done + 1 and (undone := self._kept.get((step, done + 1, *about))):
            return undone
        said = self.caption(pinned, neuron)
        if said is NOTHING:
            return said
        last = (step, done) if done else (step - 1, count)
        if motion.current != last[1]:
            return Caption(said.title, said.formula, plain_lines(*said.numbers))
        self._kept.pop((*last, *about), None)
        self._kept[(*last, *about)] = said
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return said

    def words(
        self,
        show: Show,
        motion: Motion,
        pinned: int | None,
        neuron: Neuron | None = None,
        *,
        clock: bool,
        instead: Caption | None = None,
    ) -> Words:
        """Return all texts of a picture.

        show     the show
        motion   has the operation that is shown
        pinned   bank index of the pinned weight, or None
        neuron   the pinned neuron, or None
        clock    whether the step is one of the texts
        instead  the caption if it is not that of the operation; None: that
        """
        step = text("chart.step", step=self.reading.session.step_index) if clock else ""
        caption = instead or self._caption(show, motion, pinned, neuron, hint=not clock)
        return Words(show.title, show.about, step, caption)

    def _caption(
        self,
        show: Show,
        motion: Motion,
        pinned: int | None,
        neuron: Neuron | None,
        *,
        hint: bool,
    ) -> Caption:
        """Return the caption below the stage: of the operation shown, else of the training."""
        session = self.reading.session
        if session.clock == Clock() and not session.playing:
            return Caption(show.about)
        # Captions that change too quickly cannot be read.
        if not self.reading.asleep and motion.walking and not (session.playing and motion.hasty):
            return self._shown(motion, pinned, neuron)
        if session.playing:
            return Caption(text("captions.playing"))
        steps, loss = session.step_index, session.loss
        clock, branch = session.timeline.clock, session.timeline.branch
        done = branch.actions_at(clock.place)[: clock.actions]
        is_edited = any(action.kind in OF_THE_LOSS for action in done)
        said = f"{loss:.3g}"
        if is_edited:
            title = plural("captions.rest.edited", steps, loss=said)
        else:
            title = plural("captions.rest", steps, loss=said)
        if loss != loss:
            title = show.about
        return Caption(title, text("captions.rest.hint") if hint else "")
