"""Playing: a session that advances by itself, its speed, where it stops, what is offered then."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, final

from scalarviz.base.checks import number, size
from scalarviz.base.texts import row_text, text
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.controller.changes import begin_input, type_value
from scalarviz.scene.frame_data import Work
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.show import Show
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.conditions import checked, examples
from scalarviz.training.session.measurements import measured_names
from scalarviz.training.session.replays import first_held
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.control import FaceState
    from scalarviz.faces.controller.controller import Controller


SLOW = 36.0  # operations a second, up to which they are done one by one: more cannot be seen
WALKED = ("neuron", "operation")  # units with which one operation after the other is done
WALK = 1.0  # operations a second at which it plays first where the unit is the operation
LAGS = 0.8  # share of the wanted speed below which a training cannot keep up
APART = 0.1  # seconds between two measurements of the speed


@final
class Playing:
    """Plays a session; the background thread belongs to the session.

    show   the show whose session is played
    clock  of several sessions, which are played in place of that one; None, the default: none
    steps  number of steps after which it pauses, the first time; None: those of the show
    speed  steps a second, 0 for as fast as possible; None: the speed of the show

    It plays by steps, or by one operation after the other if that is its `unit`; each has a speed
    of its own, which stays as it was chosen.
    """

    def __init__(
        self,
        show: Show,
        steps: int | None = None,
        speed: float | None = None,
        clock: SharedClock | None = None,
    ) -> None:
        if speed is not None:
            number(speed, "the speed", 0.0)
        self._unit = "step"
        self._walk = WALK  # operations a second of that
        self._steps = (show.speed if speed is None else speed) or None  # steps a second otherwise
        self.begin(show, steps, clock)

    def begin(self, show: Show, steps: int | None = None, clock: SharedClock | None = None) -> None:
        """Start over with the session of a show, or with several, at the chosen speed."""
        self.session: Session | SharedClock = clock or show.session
        self.asked = False  # whether it should play
        steps = show.steps if steps is None else size(steps, "steps")
        self.until: int | None = self.session.step_index + steps
        self.errand = False  # whether it plays only to reach `until`, at full speed
        self._long: Clock | None = None  # clock within a step that took longer than AT_ONCE
        self._seen: deque[tuple[float, float]] = deque(maxlen=11)

    def play(self, *, anew: bool = True) -> None:
        """Play in the background; `anew`: beyond the step where it pauses, if it is there."""
        if anew and self.until is not None and self.session.step_index >= self.until:
            self.until = None
        self._seen.clear()
        self._start(None if self.errand else self.speed)
        self.asked = True

    def run_to(self, step: int) -> None:
        """Play to a step at full speed."""
        self.until, self.errand = step, True
        self.play()

    def pause(self) -> None:
        """Pause; raise the error that has stopped the session, if there is one."""
        self.asked, self.errand = False, False
        self._seen.clear()
        self.session.pause(AT_ONCE)

    @property
    def speed(self) -> float | None:
        """Steps a second that are wanted, None for as fast as possible."""
        return self._walk / len(self.session.operations) if self.by_operation else self._steps

    @property
    def ended(self) -> bool:
        """Whether the session has stopped by itself."""
        return self.asked and not self.session.playing

    @property
    def arrived(self) -> bool:
        """Whether it has reached the step where it pauses."""
        return self.asked and self.until is not None and self.session.step_index >= self.until

    def measured(self) -> float:
        """Return the measured steps a second since the last pause."""
        now, clock = perf_counter(), self.session.clock
        if not self._seen or now - self._seen[-1][0] > APART:
            part = clock.operation / len(self.session.operations)
            self._seen.append((now, clock.step + part))
        (before, first), (after, last) = self._seen[0], self._seen[-1]
        return max(0.0, (last - first) / (after - before)) if after > before else 0.0

    @property
    def flat_out(self) -> bool:
        """Whether it plays as fast as it can, so that drawing slows it down."""
        if not self.asked:
            return False
        wanted = None if self.errand else self.speed
        return wanted is None or self.measured() < LAGS * wanted

    def set_speed(self, speed: float | None) -> None:
        """Play at a speed from now on, None for as fast as possible.

        speed  steps a second; where the unit is the operation, at most SLOW operations a second

        Raise InputError if the speed is not positive.
        """
        if speed is not None:
            number(speed, "the speed", 0.0, open_low=True)
        if self.by_operation:
            rate = math.inf if speed is None else speed * len(self.session.operations)
            self._walk = min(rate, SLOW)
        else:
            self._steps = speed
        self._go_on()

    @property
    def unit(self) -> str:
        """The unit that the user has chosen; it plays by operations or by steps."""
        return self._unit

    @unit.setter
    def unit(self, unit: str) -> None:
        before, self._unit = self.by_operation, unit
        if before != self.by_operation:
            self._go_on()

    @property
    def by_operation(self) -> bool:
        """Whether it does one operation after the other."""
        return self._unit in WALKED

    def undisturbed(self, work: Callable[[], None]) -> None:
        """Call `work`, such as drawing, while the python engine waits.

        The python engine and drawing compete for Python's global lock, so one picture would take
        seconds. Compiled engines release the lock. A step that takes long is waited for only once.
        """
        now = self.session.clock
        if not (self.session.playing and self.session.engine == "python") or now == self._long:
            return work()
        with self.session.still(AT_ONCE) as still:
            self._long = None if still else now
            return work()

    def _go_on(self) -> None:
        """Play at the speed that is wanted now, if it plays."""
        if self.asked and not self.errand:
            self._start(self.speed)

    def _start(self, speed: float | None) -> None:
        """Play by steps, or by operations if they are slow enough to be seen."""
        rate = math.inf if speed is None else speed * len(self.session.operations)
        if rate <= SLOW * (1.0 + 1e-9):
            self.session.play(rate, "operation", self.until)
        else:
            self.session.play(speed, "step", self.until)


# Conditions: those at which it stops by itself, and the search for the first step that met one.


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


def completions(state: FaceState) -> list[str]:
    """Return conditions that a field completes; those of weights name the pinned one."""
    return examples(state.metrics, 0 if state.pinned is None else state.pinned.row)


# The buttons offered at the end of a run.


def offer_more(controller: Controller) -> None:
    """Show a large button for each of the offers."""
    controller.stage.offer(
        {name: partial(take_offer, controller, name) for name in offers_of(controller)}
    )


def take_offer(controller: Controller, offer: str) -> None:
    """Execute an offer made at the end of a run."""
    controller.stage.offer({})
    pick(offers_of(controller), offer, "offer")()


def offers_of(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return the offers: their labels and actions."""
    found: dict[str, Callable[[], None]] = {
        text("offers.step"): partial(step_through, controller),
        text("offers.start"): partial(controller.time.seek, 0),
        text("offers.weight"): partial(type_value, controller),
    }
    if controller.session.network.layers:
        found[text("offers.own")] = partial(begin_input, controller)
    for choice in controller.options.choices(settings_now(controller.session)):
        if choice.offer and choice.value in choice.choices:
            place = choice.choices.index(choice.value)
            following = choice.choices[(place + 1) % len(choice.choices)]
            other = partial(learn_other, controller, choice.name, following)
            noun = row_text(f"rows.options.{choice.name}.offer", choice.offer)
            found[text("offers.another", noun=noun)] = other
    return found


def step_through(controller: Controller) -> None:
    controller.time.set_unit("operation")
    controller.time.step(+1)


def learn_other(controller: Controller, option: str, value: str) -> None:
    controller.set_option(option, value)
    controller.time.play()
