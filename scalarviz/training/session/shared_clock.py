"""SharedClock: several sessions that advance and go back together.

Each session takes bit for bit the same steps as it would alone. When advancing, sessions that are
ahead wait for the others; when going back, sessions that are behind wait.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import final

from scalarviz.base.checks import size
from scalarviz.base.texts import text
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.session import Session, Unit
from scalarviz.training.session.threads import Background, SessionLock, TakenLock, play
from scalarviz.training.session.timeline import check_unit, holding, paced

ROUND = 0.01  # seconds in which all sessions advance to the same step during play
Place = tuple[int, int]  # a step and a phase within it
Halted = dict[Session, tuple[Clock, BaseException | str]]

PHASES = ("zero_grad", "forward", "loss", "backward", "step")


@final
class SharedClock:
    """A common clock for several sessions.

    Attributes:
        sessions: the sessions; during play, each of them is `playing`
        halted: sessions that cannot continue, each with its clock and the error or the reason given
            by a callback. Other sessions continue without them until they are moved
    """

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = tuple(sessions)
        self.halted: Halted = {}
        self._lock = SessionLock()
        self._player = Background(self._lock)
        self._pace = 1.0  # steps that take about ROUND

    # Its position.

    @property
    def _left(self) -> list[Session]:
        """Sessions that can continue."""
        self.halted = {each: why for each, why in self.halted.items() if each.clock == why[0]}
        return [each for each in self.sessions if each not in self.halted]

    @property
    def going(self) -> list[Session]:
        """Sessions that can continue, or all sessions if none can."""
        return self._left or [*self.sessions]

    @property
    def is_over(self) -> bool:
        """Whether no session can continue."""
        return not self._left

    @property
    def step_index(self) -> int:
        """Number of steps that every session that can still continue has completed."""
        return min(session.step_index for session in self.going)

    @property
    def clock(self) -> Clock:
        """Clock of the session that is furthest behind."""
        return min((session.clock for session in self.going), key=lambda clock: clock.place)

    @property
    def operations(self) -> list[str]:
        """Names of the operations of a step; each phase is taken from the session with the most."""
        moments = [session.timeline.here.moments for session in self.sessions]
        found: list[str] = []
        for phase in PHASES:
            names: list[list[str]] = [
                [each.name for each in parts if each.phase == phase] for parts in moments
            ]
            longest: list[str] = max(names, key=len)
            found += longest
        return found

    @property
    def loss(self) -> float:
        """The loss of the first session."""
        return self.sessions[0].loss

    # Moving.

    def advance(self, n: int = 1, unit: Unit = "step") -> None:
        """Advance by `n` units; sessions that are ahead wait for the others.

        Args:
            n: number of units, at least 0; 1 by default
            unit: "operation", "phase", "sample", "step" (default) or "epoch"; epochs are counted in
                the first session

        When moving by operations, sessions wait for each other at the end of each phase. If a
        session cannot continue, its error is raised after the others have advanced.
        """
        self._check(unit)
        with self.still():
            if unit in ("operation", "phase"):
                for _ in range(size(n, "n", least=0)):
                    self._advance_least(unit)
            elif size(n, "n", least=0):
                each = self._steps(unit)
                self._advance_to((self.step_index // each + n) * each)

    def back(self, n: int = 1, unit: Unit = "step") -> None:
        """Go back by `n` units, at most to the start; sessions that are behind wait.

        Args:
            n, unit: see `advance`
        """
        self._check(unit)
        with self.still():
            for _ in range(size(n, "n", least=0)):
                if not max(map(begun, self.sessions)):
                    break
                if unit in ("operation", "phase"):
                    last = max(map(place_before, self.sessions))
                    movers = [each for each in self.sessions if place_before(each) == last]
                    move(movers, lambda session: session.back(1, unit))
                    continue
                each = self._steps(unit)
                furthest = max(map(begun, self.sessions))
                target = max(0, -(-furthest // each) - 1) * each
                movers = [session for session in self.sessions if session.clock > Clock(target)]
                move(movers, lambda session: session.seek(target))  # noqa: B023

    def seek(self, step: int) -> None:
        """Go to the start of a step with all sessions."""
        step = size(step, "step", least=0)
        with self.still():
            self.halted.clear()
            move(self.sessions, lambda session: session.seek(step))

    def reset(self) -> None:
        """Go to step 0 with all sessions, and begin a new branch in each."""
        with self.still():
            self.halted.clear()
            move(self.sessions, Session.reset)

    # Playing.

    @property
    def playing(self) -> bool:
        """Whether background play is running."""
        return self._player.busy

    def play(
        self, speed: float | None = None, unit: Unit = "step", until: int | None = None
    ) -> None:
        """Advance in a background thread; if already playing, change the speed, unit or end.

        Args:
            speed: units per second; None (default) means as fast as possible
            unit: see `advance`; "step" by default
            until: step at which to pause; None (default) means no limit

        Returns immediately. Stops the background play of the individual sessions. Raises the error
        that ended the previous play, unless `pause` has already raised it.
        """
        self._check(unit)
        for session in self.sessions:
            session.follow(self._player)
        play(self._player, self._lock, self._portion, speed, unit, until)

    def pause(self, timeout: float | None = None) -> None:
        """Stop background play after the current round.

        Args:
            timeout: maximum number of seconds to wait; None (default) means no limit

        Raises the error that ended the play, but only once.
        """
        self._player.pause(timeout)

    def still(self, seconds: float = -1) -> TakenLock:
        """Return a context manager that locks the clock, so that no session moves.

        It yields False if the lock was not acquired within `seconds`; by default there is no limit.
        """
        return self._lock.taken(seconds)

    # Implementation.

    def _check(self, unit: str) -> None:
        for session in self.sessions:
            check_unit(session.timeline, unit)

    def _steps(self, unit: str) -> int:
        """Return the number of steps in one unit, for the first session."""
        return self.sessions[0].trainer.batches.steps_an_epoch if unit == "epoch" else 1

    def _advance_least(self, unit: str) -> None:
        """Advance the sessions that are furthest behind by one operation or phase."""
        going = self.going
        least = min(map(place_of, going))
        movers = [session for session in going if place_of(session) == least]
        one: Unit = "phase" if unit == "phase" else "operation"
        self._go_on(movers, lambda session: session.advance(1, one, progress=False))

    def _advance_to(self, step: int) -> None:
        """Advance to a step with all sessions that can continue and have not reached it.

        If some sessions are recorded runs, advance at least to their next recorded step.
        """
        records = [each for each in self.going if each.trainer.recorded is not None]
        kept = [each.trainer.run.step_after(each.step_index, 1) for each in records]
        step = max(step, min(kept, default=step))
        movers = [session for session in self.going if session.clock < Clock(step)]

        def go(session: Session) -> None:
            if session not in records:
                session.advance(step - session.step_index, progress=False)
                return
            session.seek(step)
            if session.step_index == session.timeline.branch.end.step:
                self.halted[session] = session.clock, text("follow.over")

        self._go_on(movers, go)

    def _go_on(self, movers: Sequence[Session], go: Callable[[Session], None]) -> None:
        """Move sessions; mark those that cannot continue as halted, and raise the first error."""

        def go_or_halt(session: Session) -> None:
            try:
                go(session)
            except Exception as error:  # if one ends, the others continue
                self.halted[session] = session.clock, error
                raise
            finally:
                if stopped := session.visits.stopped:
                    self.halted[session] = session.clock, stopped

        move(movers, go_or_halt)

    def _portion(self, most: int | None, unit: str, until: int | None) -> int:
        """Advance by at most `most` units, for about ROUND seconds; return the number of units.

        Does not advance beyond the step `until`.
        """
        with self.still():
            before, went = set(self.halted), 1
            left = math.inf if until is None else until - self.step_index
            if left <= 0:
                return 0
            if unit == "step":
                went = max(1, int(min(self._pace, left)))
                went = went if most is None else min(most, went)
                begun = time.perf_counter()
                with holding(*(session.timeline for session in self.sessions)):
                    self._advance_to(self.step_index + went)
                self._pace = paced(self._pace, (time.perf_counter() - begun) / went, ROUND)
            else:
                self._advance_least(unit)
            if set(self.halted) - before:  # a callback has stopped a session
                self._player.stop()
        return went


def place_of(session: Session) -> Place:
    """Return the step and the phase of the next operation."""
    here = session.timeline.here
    return here.clock.step, PHASES.index(here.moments[here.clock.operation].phase)


def place_before(session: Session) -> Place:
    """Return the step and the phase of the last operation."""
    here = session.timeline.here
    step, operation = here.clock.place
    if operation:
        return step, PHASES.index(here.moments[operation - 1].phase)
    return (step - 1, len(PHASES) - 1) if step else (-1, 0)


def begun(session: Session) -> int:
    """Return the number of steps that a session has begun."""
    return session.step_index + (session.clock.operation > 0)


def move(sessions: Sequence[Session], go: Callable[[Session], None]) -> None:
    """Call `go` with every session, even if one of them fails; then raise the first error."""
    errors: list[Exception] = []
    for session in sessions:
        try:
            go(session)
        except Exception as error:  # raised below, after all have moved
            errors.append(error)
    if errors:
        raise errors[0]
