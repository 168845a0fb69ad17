"""Guided playback: slow steps, the tour, and accumulation over a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, final

from scalarviz.base.kernel_files import cache_folder
from scalarviz.base.texts import text
from scalarviz.stage.by_parts import can_add_up
from scalarviz.story.guide import (
    SLOWEST,
    Tour,
    has_learned,
)
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.session import Session, Unit

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


OPERATION = 0.45  # seconds for each operation of a walk
LONGEST_WALK = 3.0  # seconds
SEEN = "tour-seen"
SAMPLE = 1.2  # seconds for each accumulated sample of a batch
LONGEST_SUM = 10.0  # seconds
SUM_STANDS = 1.5  # seconds for which the complete sum is shown


def was_seen() -> bool:
    """Return whether the tour has been shown on this machine before."""
    with suppress(OSError):
        return seen().exists()
    return False


def seen() -> Path:
    return cache_folder() / SEEN


@final
class Walk:
    """A sequence of operations, forward or backward, shown slowly one after the other.

    Attributes:
        left: number of remaining operations; negative for backward, 0 at the end
        then: function to call at the end, or None
        slow: whether the sequence is a slow step
        again: whether a slow step was completed before
    """

    def __init__(self) -> None:
        self.left = 0
        self._pause = 0.0
        self.slow = self.again = False
        self._pauses: list[float] = []  # of the remaining operations
        self._last = 0.0
        self.then: Callable[[], None] | None = None

    def begin(
        self, operations: int, pauses: Sequence[float] = (), then: Callable[[], None] | None = None
    ) -> None:
        """Begin a sequence of operations; the first one is due immediately.

        Args:
            operations: number of operations; negative for backward
            pauses: seconds for each operation of a slow step; by default, all pauses are short, and
                the more operations, the shorter
            then: called after the last operation
        """
        usual = min(OPERATION, LONGEST_WALK / max(1, abs(operations)))
        self.left, self.slow, self.then = operations, bool(pauses), then
        self._pauses = [*pauses] or [usual] * abs(operations)
        self._last = -math.inf

    def stop(self) -> None:
        """Cancel the remaining operations."""
        self.left, self.slow, self.then = 0, False, None

    @property
    def given(self) -> float:
        """The duration in seconds of the last operation of a slow step; 0 if it is not one."""
        return self._pause if self.slow else 0.0

    def due(self) -> int:
        """Return the direction (+1 or -1) if the next operation is due, and count it; else 0."""
        if not self.left or perf_counter() - self._last < self._pause:
            return 0
        self._last, self._pause = perf_counter(), self._pauses.pop(0)
        direction = 1 if self.left > 0 else -1
        self.left -= direction
        return direction

    def end(self) -> None:
        """Call `then` once, after the last operation has been shown long enough."""
        if self.left or perf_counter() - self._last < self._pause:
            return
        self.again, self.slow = self.again or self.slow, False
        then, self.then = self.then, None
        if then is not None:
            then()


@final
class BatchAddition:
    """Animates the sum over a batch: shows one sample after the other.

    Args:
        session: a session after an operation that has computed weight gradients
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.count = session.trainer.batches.size
        self._pause = min(SAMPLE, LONGEST_SUM / self.count)
        self._former = self._focus = session.focus
        self._place = session.clock.place
        self._began = perf_counter()

    @property
    def goes_on(self) -> bool:
        """Whether to continue: there is more to show, and the user has not moved elsewhere."""
        session = self.session
        over = perf_counter() - self._began > self._pause * self.count + SUM_STANDS
        return not over and session.focus == self._focus and session.clock.place == self._place

    def added(self) -> float:
        """Show the current sample, and return the number of samples added so far."""
        samples = min((perf_counter() - self._began) / self._pause, float(self.count))
        self.session.focus = self._focus = min(int(samples), self.count - 1)
        return max(samples, 1e-6)

    def end(self) -> None:
        """Show the original sample again, unless the user has chosen another one."""
        if self.session.focus == self._focus:
            self.session.focus = self._former


@final
class Guide:
    """Plays the tour and other guided animations with the session of a controller.

    Attributes:
        tour: the rest of the tour, or None if it is not being shown
        adding: animation of the sum over a batch, or None
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.tour: Tour | None = None
        self.adding: BatchAddition | None = None
        self._seconds = self._looked = 0.0  # of the tour, and the time of the last check
        self._first = 0  # its first step
        self._left: Clock | None = None  # position to which the tour has moved the session
        self._then: Callable[[], None] = nothing

    def stop(self) -> None:
        """Stop the current animation; the session stays at its current position."""
        self.controller.time.walk.stop()
        self.interrupt()

    def attend(self) -> None:
        """Continue the current animation if its next part is due."""
        controller = self.controller
        if controller.hand.busy or controller.warming.held:
            return
        if self._left is not None and controller.session.clock.place != self._left.place:
            self.interrupt()  # the session was moved elsewhere
        if self.adding is not None and self.adding.goes_on:
            controller.stage.adding = self.adding.added()
        elif self.adding is not None:
            self._end_adding()
        elif self.tour is not None:
            self._tour_on(self.tour)
        controller.time.attend_walk()

    # The batch.

    def add_up(self) -> None:
        """Animate the sum over the batch for the next operation that computes weight gradients."""
        controller = self.controller
        session, here = controller.session, controller.session.timeline.here
        if controller.warming.held:
            return controller.tell(text("notices.wait"))
        controller.time.pause()
        controller.stage.offer({})
        program = session.network.program
        ends = [
            done
            for done, moment in enumerate(here.moments, 1)
            if moment.kind == "weight gradient" and can_add_up(program.operations[moment.operation])
        ]
        if not ends:
            return controller.tell(text("notices.no_batch_sum"))
        done, count = here.clock.operation, len(here.moments)
        left = min((end - done) % count for end in ends)
        self.controller.time.walk.begin(left, then=self._begin_adding)
        return self.attend()

    def _begin_adding(self) -> None:
        self.adding = BatchAddition(self.controller.session)

    def _end_adding(self) -> None:
        if self.adding is not None:
            self.adding.end()
        self.adding, self.controller.stage.adding = None, 0.0

    # The tour.

    def show_tour(self, then: Callable[[], None] | None = None) -> None:
        """Show the tour, beginning at the current position.

        `then` is called after the tour, even if the user skips it. By default, playback starts.
        """
        controller = self.controller
        session = controller.session
        if controller.warming.held:
            return controller.tell(text("notices.wait"))
        controller.time.pause()
        self._then = then or self.controller.time.play_on
        self.tour = Tour(
            [each.kind for each in session.timeline.here.moments],
            stills=controller.stage.reduced_motion,
        )
        self._seconds, self._looked = 0.0, math.inf
        self._first = session.clock.step + bool(session.clock.operation)
        self._lead(self._first - session.clock.step, "step")
        controller.stage.part_of_tour = "stand"
        return controller.stage.offer({text("notices.skip"): self.skip})

    def skip(self) -> None:
        """Skip the rest of the tour, and complete the current step immediately."""
        if self.tour is None:
            return
        session, then = self.controller.session, self._then
        self.interrupt()
        if session.clock.operation:
            self.controller.do(partial(session.advance, 1))
        then()

    def interrupt(self) -> None:
        """End the tour, the animation of a sum, or a film; any action of the user does this."""
        self._end_adding()
        self.controller.time.end_film()
        if self.tour is not None:
            self.controller.withdraw()
            with suppress(OSError):
                seen().touch()
        self.tour, self._left = None, None
        self.controller.stage.part_of_tour = ""

    def _tour_on(self, tour: Tour) -> None:
        before, self._looked = self._looked, perf_counter()
        self._seconds += min(max(0.0, self._looked - before), SLOWEST)
        steps, operations = tour.due(self._seconds)
        tour.count(steps, operations)
        self._lead(steps, "step")
        self._lead(operations, "operation")
        session, until = self.controller.session, self.controller.time.until
        step, operation = session.clock.place
        done = (step - self._first) * len(session.operations) + operation
        self.controller.stage.part_of_tour = tour.part(done)
        learned = has_learned(session.current_branch.loss_at, self._first, step)
        if tour.is_over(self._seconds, learned=learned or step == until):
            then = self._then
            self.interrupt()
            self.controller.tell(text("captions.tour.end"))
            then()

    def _lead(self, count: int, unit: Unit) -> None:
        """Advance the session for the tour, and record the position that it will reach."""
        session = self.controller.session
        now = self._left or session.clock
        until = self.controller.time.until
        if unit == "step" and until is not None:
            count = max(0, min(count, until - now.step))
        self._left, tour = now, self.tour
        if not count:
            return
        done = now.step * len(session.operations) + now.operation + count
        place = (now.step + count, 0) if unit == "step" else divmod(done, len(session.operations))
        self._left = Clock(*place)

        def advance() -> None:
            begin = perf_counter()
            session.advance(count, unit)
            if tour is not None and unit == "step":
                tour.took(count, perf_counter() - begin)

        self.controller.do(advance)
