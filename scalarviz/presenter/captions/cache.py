"""Narration: the texts of a picture: title, status and caption."""

from __future__ import annotations

from typing import final

from scalarviz.presenter.answers import Answer
from scalarviz.presenter.captions.moments import caption
from scalarviz.presenter.captions.operations import Caption
from scalarviz.presenter.live_values import LiveValues
from scalarviz.presenter.motion import Motion
from scalarviz.presenter.show import Show
from scalarviz.session.branches import Clock
from scalarviz.texts import text
from scalarviz.view.frame_data import Words

NOTHING = Caption("", "", ())


@final
class Narration:
    """The texts for a reading; `pause` is shown instead of the speed during a pause."""

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self.pause = text("status.paused")
        self._said = Answer(NOTHING)
        reading.answers.append(self._said)

    def caption(self, pinned: int | None) -> Caption:
        """Return the caption of the last operation; computed once for each."""
        session = self.reading.session
        key = self.reading.key, pinned, session.focus
        said = self.reading.ask(self._said, key, lambda: caption(session, pinned))
        return NOTHING if self._said.pending else said

    def words(self, show: Show, motion: Motion, pinned: int | None, rate: float) -> Words:
        """Return all texts of a picture, with `rate` steps a second."""
        session = self.reading.session
        speed = text(f"status.{'fast' if rate >= 9.5 else 'slow'}", rate=rate)
        status = [
            (text("status.step"), f"{session.step_index:,}"),
            (text("status.epoch"), f"{session.epoch:,.1f}"),
            (text("status.learning_rate"), f"{session.learning_rate:g}"),
            ("", speed if session.playing else self.pause),
            (text("status.engine"), session.engine),
            (text("status.done"), session.done or text("status.nothing")),
            (text("status.next"), session.next),
        ]
        return Words(show.title, show.about, status, self._strip(show, motion, pinned))

    def _strip(
        self, show: Show, motion: Motion, pinned: int | None
    ) -> tuple[str, str, tuple[str, ...]] | None:
        """Return the caption below the scene; at the very start, the show's description."""
        session = self.reading.session
        if session.clock == Clock() and not session.playing:
            return show.about, "", ()
        # Captions that change too quickly cannot be read.
        if self.reading.asleep or not motion.walking or (session.playing and motion.hasty):
            return None
        said = self.caption(pinned)
        return said.title, said.formula, said.numbers
