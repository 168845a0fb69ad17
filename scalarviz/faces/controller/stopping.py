"""Stopping by itself, and the search for the first time: commands of the fields in the panel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

from scalarviz.base.texts import text
from scalarviz.scene.frame_data import Work
from scalarviz.training.session.conditions import checked, examples
from scalarviz.training.session.measurements import measured_names
from scalarviz.training.session.replays import first_held
from scalarviz.training.session.session import Session

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller
    from scalarviz.faces.controller.state import State


class CancelledError(Exception):
    """A search that the user has cancelled."""


@final
class Search:
    """A search for the first time that a condition held, which goes on on the hand's thread."""

    def __init__(self) -> None:
        self.words = ""
        self._done, self._total = 0, 1
        self._is_cancelled = False

    @property
    def work(self) -> Work | None:
        """What is done, with a button to end it; None if nothing is."""
        if not self.words:
            return None
        said = text("notices.searching", condition=self.words)
        return Work(said, text("exports.cancel"), self._done / self._total)

    def cancel(self) -> None:
        """End it after the present step."""
        self._is_cancelled = True

    def run(self, session: Session, words: str) -> int | None:
        """Return the first step at which a condition held, or None; raise CancelledError."""
        self._done, self._total = 0, max(1, session.step_index)
        self._is_cancelled, self.words = False, words
        try:
            with session.doing():
                timeline = session.timeline
                metrics = measured_names(timeline.visits.metrics, timeline.trainer.settings.data)
                given = checked([words], session.network, metrics)
                return first_held(timeline, given, self._tell)
        finally:
            self.words = ""

    def _tell(self, step: int) -> None:
        self._done = step
        if self._is_cancelled:
            raise CancelledError


def find_first(controller: Controller, words: str) -> None:
    """Search the past for the first step at which a condition held, and offer to go there."""
    session, search = controller.session, controller.search
    if not words.strip():
        return
    controller.pause()

    def run() -> tuple[str, int | None]:
        try:
            step = search.run(session, words)
        except CancelledError:
            return text("notices.first.cancelled", condition=words), None
        if step is None:
            return text("notices.first.never", condition=words), None
        session.stops.mark(session.timeline.branch, step, words)
        return text("notices.first", condition=words, step=step), step

    def found(result: tuple[str, int | None]) -> None:
        words, step = result
        if step is None:
            controller.tell(words)
        else:
            action = text("notices.first.go", step=step)
            controller.tell(words, action, partial(controller.seek, step))

    controller.do(run, found)


def stop_when(controller: Controller, words: str) -> None:
    """Stop by itself from now on where a condition holds; without words nowhere any more."""
    given = [words] if words.strip() else []
    controller.do(partial(controller.session.stop_when, *given))


def tell_stop(controller: Controller, _: object = None) -> None:
    """Say why the training has stopped by itself, if it has."""
    why = controller.session.stopped
    if why:
        controller.tell(why[0].upper() + why[1:])


def cancel(controller: Controller) -> None:
    """End the processes that write files, and a search."""
    controller.search.cancel()
    for result in controller.exports.stop():
        controller.tell(result)


def completions(state: State) -> list[str]:
    """Return conditions that a field completes; those of weights name the pinned one."""
    return examples(state.metrics, 0 if state.pinned is None else state.pinned.row)
