"""Playing: a session that advances by itself, its speed, and where it stops."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import final

from scalarviz.base.checks import number, size
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.show import Show
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock

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
