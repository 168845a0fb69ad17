"""Narration: the texts of a picture: title, step and caption."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from scalarviz.base.texts import plural, text
from scalarviz.pictures.presenter.answers import Answer
from scalarviz.pictures.presenter.captions.moments import caption_at
from scalarviz.pictures.presenter.captions.names import came_from
from scalarviz.pictures.presenter.captions.progress import OF_THE_LOSS, progress_of
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.presenter.motion import Motion
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.view.frame_data import Words
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.caption import Caption, Neuron
from scalarviz.training.session.explanation import done_in

NOTHING = Caption("")
KEPT = 64  # captions of operations


@final
class Narration:
    """The texts for a reading.

    lesson  returns what to look for while it plays, above how far it has come, or ""
    """

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self.lesson: Callable[[], str] = lambda: ""
        self._said = Answer(NOTHING)
        self._kept: dict[object, Caption] = {}
        reading.answers.append(self._said)

    def caption(
        self,
        pinned: int | None,
        neuron: Neuron | None = None,
        place: tuple[int, int] | None = None,
    ) -> Caption:
        """Return the caption of the last operation, or of the one before a place of the clock."""
        session, place = self.reading.session, place or self.reading.place[:2]
        key = self.reading.key, place, pinned, neuron, session.focus
        said = self.reading.ask(self._said, key, lambda: caption_at(place, session, pinned, neuron))
        return NOTHING if self._said.pending else said

    def _lit(self, motion: Motion, pinned: int | None, neuron: Neuron | None) -> Caption:
        """Return the caption of the operation that is lit, which the clock may have left."""
        *here, branch = self.reading.place
        about = motion.place, branch, pinned, neuron, self.reading.session.focus
        said = self._kept.pop(about, None) if motion.place != tuple(here) else None
        said = said or self.caption(pinned, neuron, motion.place)
        if said is not NOTHING:
            self._kept[about] = said
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
        every: int = 1,
    ) -> Words:
        """Return all texts of a picture.

        show     the show
        motion   has the operation that is shown
        pinned   bank index of the pinned weight, or None
        neuron   the pinned neuron, or None
        clock    whether the step is one of the texts
        instead  the caption if it is not that of the operation; None: that
        every    while it plays, of how many steps one is lit
        """
        step = text("chart.step", step=self.reading.session.step_index) if clock else ""
        about = show, motion, pinned, neuron
        caption = instead or self._caption(*about, hint=not clock, every=every)
        is_new = instead is None and self.reading.session.clock == Clock()
        return Words(show.title, show.about, step, caption, is_new)

    def _caption(
        self,
        show: Show,
        motion: Motion,
        pinned: int | None,
        neuron: Neuron | None,
        *,
        hint: bool,
        every: int,
    ) -> Caption:
        """Return the caption below the stage: of the operation shown, else of the training."""
        session = self.reading.session
        # Captions that change too quickly cannot be read.
        is_read = not self.reading.asleep and not (session.playing and motion.hasty)
        if is_read and motion.walking and motion.current:
            return self._lit(motion, pinned, neuron)
        hint_words = text("captions.rest.hint") if hint else ""
        if session.clock == Clock() and not session.playing:
            return Caption(came_from(session) or text("captions.before"), hint_words)
        if session.playing:
            lesson, words = self.lesson(), progress_of(self.reading)
            lit = text("captions.playing.every", count=every) if every > 1 else ""
            return Caption(lesson, words) if lesson else Caption(words, lit)
        steps, loss = session.step_index, session.loss
        is_edited = any(action.kind in OF_THE_LOSS for action in done_in(session.timeline))
        if loss != loss:
            return Caption(show.about, hint_words)
        title = plural(
            "captions.rest.edited" if is_edited else "captions.rest", steps, loss=f"{loss:.3g}"
        )
        return Caption(title, hint_words)
