"""Answer: a result that may take long, computed on a background thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, TypeVar, final

from scalarviz.training.session.threads import Background, Job

AT_ONCE = 0.05  # seconds that a face waits for a session's result without a noticeable delay

Value = TypeVar("Value")


@final
class Answer(Generic[Value]):
    """The result of one question, computed once for each `key`.

    If it takes longer than the caller's patience, the previous value is used until the result is
    there; meanwhile the answer is `pending`.
    """

    def __init__(self, before: Value) -> None:
        self.value = before
        self.known: object = None  # the key of the value
        self._asked: object = None
        self._thread = Background()

    @property
    def pending(self) -> bool:
        """Whether the value belongs to another key than the one asked for."""
        return self._asked != self.known

    def get(self, key: object, ask: Callable[[], Value], patience: float = math.inf) -> Value:
        """Return the result of `ask` for a key, computed here or, with less patience, on a thread.

        key       what the result depends on
        ask       computes it
        patience  seconds to wait; infinite, the default: compute it on this thread

        Errors of `ask` are raised here.
        """
        if key != self.known and not (key == self._asked and self._thread.busy):
            if patience == math.inf:
                self.value, self.known = ask(), key
            else:
                self._thread.start(self._answer(key, ask))
                self._thread.finish(patience)
        self._asked = key
        return self.take()

    def take(self) -> Value:
        """Return the newest result; raise the error of the last question."""
        self._thread.raise_error()
        return self.value

    def _answer(self, key: object, ask: Callable[[], Value]) -> Job:
        try:
            self.value = ask()
        finally:  # a failed question is not asked again
            self.known = key
        yield 0.0
