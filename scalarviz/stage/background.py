"""Work that blocks neither training nor drawing: in the background, at intervals, in portions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Generic, TypeVar, final

from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock
from scalarviz.training.session.threads import Background, Job
from scalarviz.training.session.timeline import paced

AT_ONCE = 0.05  # seconds that an interface waits for a session without noticeable delay
# Python's switch interval in seconds. With a longer one, waiting threads starve: NumPy releases the
# lock more often, but too briefly for them to take it.
SWITCH = 0.0001

Value = TypeVar("Value")


@contextmanager
def quick_turns(seconds: float = SWITCH) -> Iterator[None]:
    """Shorten Python's thread switch interval, so that interfaces respond during playback."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, seconds))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@final
class Answer(Generic[Value]):
    """The result of a computation, cached until it is requested for another key.

    If it takes longer than the caller's patience, the previous value is used until the result
    arrives; meanwhile the answer is `pending`.
    """

    def __init__(self, before: Value) -> None:
        self.value = before
        self.known: object = None  # the key of the value
        self._asked: object = None
        self._thread = Background()

    @property
    def pending(self) -> bool:
        """Whether the result for the requested key has not arrived yet."""
        return self._asked != self.known

    def get(self, key: object, ask: Callable[[], Value], patience: float = math.inf) -> Value:
        """Return the result of `ask` for a key, or the previous result if `patience` is exceeded.

        Args:
            key: determines the result
            ask: function that computes the result
            patience: seconds to wait for a background thread; by default infinite, which computes
                the result in the calling thread

        Errors of `ask` are raised by this method.
        """
        if key != self.known and not (key == self._asked and self._thread.busy):
            if patience == math.inf:
                self.value, self.known = ask(), key
            else:
                self._thread.start(self._answer(key, ask))
                self._thread.wait(patience)
        self._asked = key
        return self.take()

    def take(self) -> Value:
        """Return the latest result; raise the error of the last computation."""
        self._thread.raise_error()
        return self.value

    def _answer(self, key: object, ask: Callable[[], Value]) -> Job:
        try:
            self.value = ask()
        finally:  # a failed computation is not repeated
            self.known = key
        yield 0.0


REST = 4.0  # pause after the work, relative to its duration
# Maximum pause in seconds: the first run may be slow, and fast from then on.
LONGEST_REST = 2.0


@final
class Throttle:
    """A timer for repeated work, which is due again after a pause.

    Args:
        least: minimum pause in seconds; by default 0

    >>> throttle = Throttle()
    >>> with throttle.doing():
    ...     before = throttle.due
    >>> before
    True
    """

    def __init__(self, least: float = 0.0) -> None:
        self._least = least
        self._next = 0.0

    @property
    def due(self) -> bool:
        return perf_counter() >= self._next

    @contextmanager
    def doing(self) -> Iterator[None]:
        """Time the work in this block; the longer it takes, the longer the pause until the next."""
        start = perf_counter()
        try:
            yield
        finally:
            now = perf_counter()
            self._next = now + max(self._least, min(REST * (now - start), LONGEST_REST))


@final
class Refreshed(Generic[Value]):
    """A value that is recomputed when its input changes, at intervals if that is slow.

    Args:
        value: the latest value; initially the given one
        least: minimum seconds between two computations; by default 0
    """

    def __init__(self, value: Value, least: float = 0.0) -> None:
        self.value = value
        self._key: tuple[object, object] = None, None
        self._throttle = Throttle(least=least)

    def get(
        self, about: object, moment: object, make: Callable[[], Value], *, may_wait: bool
    ) -> Value:
        """Return the value for an object at a moment, or an older one for the same object.

        Args:
            may_wait: whether an older value suffices until recomputation is due, as during playback
        """
        is_same = self._key == (about, moment)
        if not is_same and not (may_wait and about == self._key[0] and not self._throttle.due):
            with self._throttle.doing():
                self.value = make()
            self._key = about, moment
        return self.value


PORTION = 0.01  # seconds of training between two checks for input

SubjectT = TypeVar("SubjectT", bound=Session | SharedClock)


@final
class Portions(Generic[SubjectT]):
    """Advances one or several sessions in portions of about PORTION seconds."""

    def __init__(self, session: SubjectT) -> None:
        self.session: SubjectT = session
        self.size = 1.0

    def take(self, most: float) -> None:
        """Advance by at most `most` steps."""
        count = int(min(most, self.size))
        start = perf_counter()
        self.session.advance(count)
        self.size = paced(self.size, (perf_counter() - start) / max(count, 1), PORTION)
