"""Messages: short notices that disappear by themselves, and buttons that stay."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

SECONDS = 8.0  # shortest time that a notice stays
LETTERS = 15.0  # reading speed in characters per second
MOST = 2


@dataclass
class Notice:
    """A notice; `until` is infinite before the first `tick`."""

    text: str
    action: str
    then: Callable[[], None] | None
    until: float

    @property
    def seconds(self) -> float:
        """How long it stays."""
        return max(SECONDS, len(self.text) / LETTERS)


@final
class Messages:
    """Current notices and offers; `status` stays until it is cleared."""

    def __init__(self) -> None:
        self.status = ""
        self._now = math.inf  # until the first tick
        self._notices: list[Notice] = []
        self._offers: dict[str, Callable[[], None]] = {}

    def notice(self, text: str, action: str, then: Callable[[], None] | None) -> None:
        """Add a notice in place of the one of its kind, with a button or without."""
        kept = [each for each in self._notices if bool(each.action) != bool(action)]
        notice = Notice(text, action, then, 0.0)
        notice.until = self._now + notice.seconds
        self._notices = [*kept, notice]

    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None:
        self._offers = dict(offers)

    def tick(self, now: float) -> bool:
        """Remove expired notices; return whether there were any."""
        self._now = now
        for each in self._notices:
            each.until = min(each.until, now + each.seconds)
        kept = [each for each in self._notices if each.until > now]
        gone = len(kept) < len(self._notices)
        self._notices = kept
        return gone

    def press(self, name: str) -> bool:
        """Run the action of a button; return whether the button exists."""
        for each in reversed(self._notices):
            if each.action == name and each.then is not None:
                self._notices.remove(each)
                each.then()
                return True
        if name in self._offers:
            then = self._offers[name]
            self._offers = {}
            then()
            return True
        return False

    def chips(self) -> list[tuple[str, str]]:
        """Return the messages, at most two: the status, if there is one, and the newest notices."""
        status = [(self.status, "")] if self.status else []
        notices = [(each.text, each.action) for each in self._notices]
        return [*status, *notices[len(status) - MOST :]]

    def offers(self) -> list[str]:
        return list(self._offers)
