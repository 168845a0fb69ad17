"""Playing: a training that goes on by itself, at which speed, and until when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import final

from scalarviz.checks.numbers import number, size
from scalarviz.export.rate import DOUBLING, SECONDS
from scalarviz.presenter.answers import AT_ONCE
from scalarviz.presenter.show import Show
from scalarviz.session.branches import Clock
from scalarviz.session.session import Session

FASTEST = 1e5  # steps a second; an opening that would be faster goes on flat out
SLOW = 3.0  # steps a second, up to which one sees what each operation does
LAGS = 0.8  # of the speed that was asked for: a training that is slower does what it can
APART = 0.1  # seconds between two looks at the clock, by which the speed is measured


@final
class Playing:
    """A session's playing, as it was asked for; the thread is the session's own.

    steps  after how many it pauses by itself, the first time; None: as many as the show says
    speed  steps a second, 0 for flat out; None: the show's own way

    `speed` is what it goes at, None for flat out. An opening doubles it now and then.
    """

    def __init__(self, show: Show, steps: int | None = None, speed: float | None = None) -> None:
        if speed is not None:
            number(speed, "the speed", 0.0)
        self.opening = show.speed if speed is None else None
        self.speed = self.opening or speed or None
        self.begin(show, steps)

    def begin(self, show: Show, steps: int | None = None) -> None:
        """Take up the session of a show, at the speed that is chosen."""
        self.session: Session = show.session
        self.asked = False  # whether it is wanted that it plays
        steps = show.steps if steps is None else size(steps, "steps")
        self.until: int | None = self.session.step_index + steps
        self.errand = False  # whether it plays only to get to `until`, as fast as it can
        self._played = 0.0  # seconds, up to the last pause
        self._since = 0.0
        self._long: Clock | None = None  # where a portion goes on that takes longer than AT_ONCE
        self._seen: deque[tuple[float, int]] = deque(maxlen=11)

    def play(self) -> None:
        """Go on in the background."""
        if self.until is not None and self.session.step_index >= self.until:
            self.until = None
        self._seen.clear()
        self._start(None if self.errand else self.speed)
        self.asked, self._since = True, perf_counter()

    def run_to(self, step: int) -> None:
        """Go on to a step, flat out."""
        self.until, self.errand = step, True
        self.play()

    def pause(self) -> None:
        """Stop; an error that has stopped it already is raised here."""
        self._played = self.seconds
        self.asked, self.errand = False, False
        self._seen.clear()
        self.session.pause(AT_ONCE)

    def restart(self) -> None:
        """The opening begins again."""
        self._played = 0.0
        if self.opening is not None:
            self.speed = self.opening

    @property
    def seconds(self) -> float:
        """How long it has been playing."""
        return self._played + (perf_counter() - self._since if self.asked else 0.0)

    @property
    def ended(self) -> bool:
        """Whether it has stopped by itself, though nobody said so."""
        return self.asked and not self.session.playing

    @property
    def arrived(self) -> bool:
        """Whether it has got as far as it should."""
        return self.asked and self.until is not None and self.session.step_index >= self.until

    def measured(self) -> float:
        """How many steps a second it went since the last pause, lately."""
        now = perf_counter()
        if not self._seen or now - self._seen[-1][0] > APART:
            self._seen.append((now, self.session.step_index))
        (before, first), (after, last) = self._seen[0], self._seen[-1]
        return max(0.0, (last - first) / (after - before)) if after > before else 0.0

    @property
    def flat_out(self) -> bool:
        """Whether it goes as fast as it can: then every moment of drawing costs it steps."""
        if not self.asked:
            return False
        wanted = None if self.errand else self.speed
        return wanted is None or self.measured() < LAGS * wanted

    def set_speed(self, speed: float | None) -> None:
        """So many steps a second from now on; None: flat out. An opening ends."""
        if speed is not None:
            number(speed, "the speed", 0.0, open_low=True)
        self.opening = None
        self._go_at(speed)

    def quicken(self) -> None:
        """In an opening: double the speed when it is time."""
        if self.opening is None or not self.asked or self.errand:
            return
        doubled = max(0, int((self.seconds - SECONDS) // DOUBLING) + 1)
        speed = self.opening * 2.0 ** min(doubled, 100)
        wanted = speed if speed < FASTEST else None
        if wanted != self.speed:
            self._go_at(wanted)

    def undisturbed(self, work: Callable[[], None]) -> None:
        """Draw, say, while the python engine waits.

        It hands Python over every moment, and drawing gives it away a thousand times: one picture
        would take seconds. Compiled engines leave Python to others and need not wait. A step that
        takes long is disturbed, and waited for only once.
        """
        now = self.session.clock
        if not (self.session.playing and self.session.engine == "python") or now == self._long:
            return work()
        with self.session.still(AT_ONCE) as still:
            self._long = None if still else now
            return work()

    def _go_at(self, speed: float | None) -> None:
        self.speed = speed
        if self.asked and not self.errand:
            self._start(speed)

    def _start(self, speed: float | None) -> None:
        """Whole steps; if they are slow enough to be seen, each operation of them."""
        if speed is not None and speed <= SLOW:
            self.session.play(speed * len(self.session.operations), "operation")
        else:
            self.session.play(speed, "step")
