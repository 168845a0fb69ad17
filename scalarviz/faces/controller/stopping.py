"""Stopping conditions, the search for the first step that met one, and suggestions after a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, final

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.controller.changes import begin_input, type_value
from scalarviz.faces.controller.control import FaceState, following
from scalarviz.scene.frame_data import Work
from scalarviz.training.session.conditions import checked, examples
from scalarviz.training.session.measurements import measured_names
from scalarviz.training.session.replays import first_held
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


# Conditions at which it stops by itself, and the search for the first step that met one.


class CancelledError(Exception):
    """Raised if the user has cancelled a search."""


@final
class Search:
    """A search, in the command thread, for the first step at which a condition was true."""

    def __init__(self) -> None:
        self.words = ""
        self._done, self._total = 0, 1
        self._is_cancelled = False

    @property
    def work(self) -> Work | None:
        """The progress of the search, with a button to cancel it; None if there is no search."""
        if not self.words:
            return None
        said = text("notices.searching", condition=self.words)
        return Work(said, text("notices.searching.cancel"), self._done / self._total)

    def cancel(self) -> None:
        """Cancel the search after the current step."""
        self._is_cancelled = True

    def run(self, session: Session, words: str) -> int | None:
        """Return the first step that met a condition, or None; cancelling raises CancelledError."""
        self._done, self._total = 0, max(1, session.step_index)
        self._is_cancelled, self.words = False, words
        try:
            with session.doing():
                timeline = session.timeline
                metrics = measured_names(timeline.visits.metrics, timeline.trainer.settings.data)
                return first_held(timeline, checked([words], metrics), self._tell)
        finally:
            self.words = ""

    def _tell(self, step: int) -> None:
        self._done = step
        if self._is_cancelled:
            raise CancelledError


def find_first(controller: Controller, words: str) -> None:
    """Search past steps for the first one that met a condition, and offer to go there."""
    session, search = controller.session, controller.search
    if not words.strip():
        return
    controller.time.pause()

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
            controller.tell(words, action, partial(controller.time.seek, step))

    controller.do(run, found)


def stop_when(controller: Controller, words: str) -> None:
    """Set the condition at which training stops; an empty text removes the condition."""
    given = [words] if words.strip() else []
    controller.do(partial(controller.session.stop_when, *given))


def completions(state: FaceState) -> list[str]:
    """Return completions for a condition."""
    return examples(state.metrics)


# The buttons offered at the end of a run.


def offer_more(controller: Controller) -> None:
    """Show a large button for each suggestion of what to do next."""
    controller.stage.offer(
        {name: partial(take_offer, controller, name) for name in offers_of(controller)}
    )


def take_offer(controller: Controller, offer: str) -> None:
    """Do what the button `offer` suggested at the end of a run."""
    controller.stage.offer({})
    pick(offers_of(controller), offer, "offer")()


def offers_of(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return the suggestions of what to do next: labels of buttons, and their actions."""
    if controller.session.trainer.recorded is not None:
        return {}
    found: dict[str, Callable[[], None]] = {
        text("offers.step"): partial(step_through, controller),
        text("offers.start"): partial(controller.time.seek, 0),
        text("offers.weight"): partial(type_value, controller),
    }
    if controller.session.network.layers:
        found[text("offers.own")] = partial(begin_input, controller)
    for choice in controller.options.choices(settings_now(controller.session)):
        if choice.offer and choice.value in choice.choices:
            value = following(choice.choices, choice.value)
            other = partial(learn_other, controller, choice.name, value)
            found[text("offers.another", noun=choice.offer)] = other
    return found


def step_through(controller: Controller) -> None:
    controller.time.set_unit("operation")
    controller.time.step(+1)


def learn_other(controller: Controller, option: str, value: str) -> None:
    controller.set_option(option, value)
    controller.time.play()
