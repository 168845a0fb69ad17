"""Answers: what a picture asks that may take long, such as a step that is done once more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, TypeVar, final

from scalarviz.session.worker import Background, Job

AT_ONCE = 0.05  # seconds that a face waits for what a session computes; more would be felt

Value = TypeVar("Value")


@final
class Answer(Generic[Value]):
    """The answer to one question; `key` is what it depends on, and it is asked once for each.

    Where it takes longer than some patience, the value before stands until it is there, and the
    answer is `pending`.
    """

    def __init__(self, before: Value) -> None:
        self.value = before
        self._key: object = None
        self._asked: object = None
        self._thread = Background()

    @property
    def pending(self) -> bool:
        """Whether the value is that of another key than was asked for."""
        return self._asked != self._key

    def get(self, key: object, ask: Callable[[], Value], patience: float = math.inf) -> Value:
        """The answer for a key, by `ask`: here, or with less patience on a thread of its own."""
        if key != self._key and not (key == self._asked and self._thread.busy):
            if patience == math.inf:
                self.value, self._key = ask(), key
            else:
                self._thread.start(self._answer(key, ask))
                self._thread.finish(patience)
        self._asked = key
        error = self._thread.take_error()
        if error is not None:
            raise error
        return self.value

    def _answer(self, key: object, ask: Callable[[], Value]) -> Job:
        try:
            self.value = ask()
        finally:  # what fails is not asked again
            self._key = key
        yield 0.0
