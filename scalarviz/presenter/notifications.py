"""Messages: short notices on the picture that go by themselves, and choices that wait."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

SECONDS = 8.0  # that a notice stays, at least
LETTERS = 15.0  # that are read in a second, by those who are not in a hurry
MOST = 2


@dataclass
class Notice:
    """`until` is infinite before the time was told: nobody can have seen it then."""

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
    """What was said lately, and what can be chosen; `status` is said as long as it is so."""

    def __init__(self) -> None:
        self.status = ""
        self._now = math.inf  # until somebody has told the time
        self._notices: list[Notice] = []
        self._offers: dict[str, Callable[[], None]] = {}

    def notice(self, text: str, action: str, then: Callable[[], None] | None) -> None:
        """Say something; the oldest goes if there are too many."""
        kept = [each for each in self._notices if each.text != text]
        notice = Notice(text, action, then, 0.0)
        notice.until = self._now + notice.seconds
        self._notices = [*kept, notice][-MOST:]

    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None:
        self._offers = dict(offers)

    def tick(self, now: float) -> bool:
        """Let old notices go; whether one has gone just now."""
        self._now = now
        for each in self._notices:
            each.until = min(each.until, now + each.seconds)
        kept = [each for each in self._notices if each.until > now]
        gone = len(kept) < len(self._notices)
        self._notices = kept
        return gone

    def press(self, name: str) -> bool:
        """Do what belongs to a name that was pressed; whether there was something."""
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
        status = [(self.status, "")] if self.status else []
        return [*status, *((each.text, each.action) for each in self._notices)]

    def offers(self) -> list[str]:
        return list(self._offers)
