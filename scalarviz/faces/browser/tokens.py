"""Tokens: who may see a training that is served, and who may control it.

The own token is long enough that nobody guesses it. One for others is short, so that it can be
typed; guesses at it are few: each visitor waits longer after each wrong one, and after MOST_WRONG
of all visitors there is a new token.
"""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest
from math import ceil
from secrets import choice, token_urlsafe
from time import monotonic
from typing import final

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # none that is taken for another one
LENGTH = 6
FREE = 3  # wrong guesses of a visitor before the first wait
LONGEST = 3600.0  # seconds of a wait
MOST_WRONG = 100  # guesses at one token
MOST_VISITORS = 10_000  # whose wrong guesses are remembered


class Denied(Exception):
    """A token is wrong.

    wait  seconds in which no further one is looked at
    old   whether it was right until a new one took its place
    """

    def __init__(self, wait: float = 0.0, *, old: bool = False) -> None:
        super().__init__(wait)
        self.wait, self.old = ceil(wait), old


@final
class Tokens:
    """The tokens of a server.

    is_open   whether there is a short one for others
    controls  whether others may control the training
    renewed   called with a new short token
    now       a clock in seconds
    """

    def __init__(
        self,
        *,
        is_open: bool,
        controls: bool,
        renewed: Callable[[str], object],
        now: Callable[[], float] = monotonic,
    ) -> None:
        self.own = token_urlsafe(16)
        self.short = short_token() if is_open else ""
        self._old: list[str] = []
        self._controls, self._renewed, self._now = controls, renewed, now
        self._wrong = 0
        self._waits: dict[str, tuple[int, float]] = {}  # by visitor: wrong guesses, until when

    def owns(self, given: str) -> bool:
        """Return whether a token is that of the owner of this machine."""
        return is_same(given, self.own)

    def looks(self, who: str, given: str) -> bool:
        """Return whether the bearer of a token may only look; raise Denied for a wrong one.

        who  the address of the visitor
        """
        if self.owns(given):
            return False
        count, until = self._waits.get(who, (0, 0.0))
        if (rest := until - self._now()) > 0.0:
            raise Denied(rest)
        typed = "".join(given.split()).upper()
        if self.short and is_same(typed, self.short):
            self._waits.pop(who, None)
            return not self._controls
        if not given or any([is_same(typed, each) for each in self._old]):  # noqa: C419  # in constant time
            raise Denied(old=bool(given))  # no guess: a page that is opened again asks so
        wait = min(2.0 ** (count - FREE), LONGEST) if count >= FREE else 0.0
        self._waits.pop(who, None)
        self._waits[who] = count + 1, self._now() + wait
        if len(self._waits) > MOST_VISITORS:
            del self._waits[next(iter(self._waits))]
        self._wrong += 1
        if self.short and self._wrong >= MOST_WRONG:
            self._old, self._wrong = [*self._old, self.short], 0
            self.short = short_token()
            self._renewed(self.short)
        raise Denied(wait)


def short_token() -> str:
    return "".join(choice(LETTERS) for _ in range(LENGTH))


def is_same(given: str, token: str) -> bool:
    """Return whether two texts are equal, in a time that does not tell where they differ."""
    return compare_digest(given.encode("utf-8", "replace"), token.encode())
