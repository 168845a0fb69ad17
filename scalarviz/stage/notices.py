"""Messages: temporary notices, the progress of background work, and permanent buttons."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from scalarviz.scene.frame_data import Work
from scalarviz.training.session.actions import nothing

NOTICE_SECONDS, BUTTON_SECONDS = (
    8.0,
    15.0,
)  # minimum time of a notice, and of one with a button
READING_SPEED = 15.0  # reading speed in characters per second
MOST_NOTICES = 2


@dataclass
class Notice:
    """A message that is shown until the time `until`, which is infinite before the first `tick`."""

    text: str
    action: str
    then: Callable[[], None] | None
    until: float

    @property
    def seconds(self) -> float:
        """Duration of the notice in seconds."""
        return max(
            BUTTON_SECONDS if self.action else NOTICE_SECONDS, len(self.text) / READING_SPEED
        )


class Messages(ABC):
    """The messages of a stage: notices and offers.

    Attributes:
        status: permanent message until it is cleared
        work: background work to show until it is cleared; or None
        end_work: function called by the button that ends the work
    """

    def __init__(self) -> None:
        self.status = ""
        self.work: Work | None = None
        self.end_work: Callable[[], object] = nothing
        self._clock = math.inf  # until the first tick
        self._notices: list[Notice] = []
        self._offers: dict[str, Callable[[], None]] = {}

    @abstractmethod
    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves."""

    @final
    def notice(self, text: str, action: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a message for a few seconds, in place of an earlier message of the same kind.

        `action` is the label of its button, or "".
        """
        kept = [each for each in self._notices if bool(each.action) != bool(action)]
        notice = Notice(text, action, then, 0.0)
        notice.until = self._clock + notice.seconds
        self._notices = [*kept, notice]

    @final
    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None:
        """Show large buttons; an empty mapping removes them."""
        self._offers = dict(offers)

    @final
    def expire(self, now: float) -> bool:
        """Remove expired notices; return whether there were any."""
        self._clock = now
        for each in self._notices:
            each.until = min(each.until, now + each.seconds)
        kept = [each for each in self._notices if each.until > now]
        gone = len(kept) < len(self._notices)
        self._notices = kept
        return gone

    @final
    def press(self, name: str) -> bool:
        """Run the action of a button; return whether the button exists."""
        if self.work is not None and name == self.work.action:
            self.end_work()
            return True
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

    @final
    def chips(self) -> list[tuple[str, str]]:
        """Return at most two messages to show: the status and the latest notices."""
        status = [(self.status, "")] if self.status else []
        notices = [(each.text, each.action) for each in self._notices]
        return [*status, *notices[len(status) - MOST_NOTICES :]]

    @property
    def offered(self) -> tuple[str, ...]:
        """Labels of the large buttons."""
        return tuple(self._offers)
