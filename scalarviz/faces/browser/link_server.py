"""LinkServer: connects pages on this machine or others to a session.

The server knows nothing about the session: a PageLink replies to messages and posts states. A slow
page does not delay the session, because only the latest unrequested state is queued for each page.

Messages to a page are binary frames: the length of a header as uint32, the header as JSON, then
arrays, each aligned to 8 bytes. Messages from a page are JSON, or a frame of the same form with one
array. This array is the argument of a command; the header contains its name and its data type.

Tokens determine who may see the session and who may control it. The owner's token is too long to
guess. The token for others is short enough to type, so guessing is limited: a visitor waits longer
after each wrong token, and after MOST_WRONG wrong tokens from all visitors a new one is created.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from math import ceil
from secrets import choice, token_urlsafe
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, final
from urllib.parse import parse_qs

import numpy as np
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request

from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.files.checked_safetensors import refuse
from scalarviz.pages.plain_pages import token_page
from scalarviz.pages.web_server import ASKING, LOOK, PARTING, TAKING, Answer, File, PageServer

if TYPE_CHECKING:
    from scalarviz.faces.browser.link import PageLink


MOST_WAITING = 64  # messages queued for a page that does not read
FEW = 4  # queued messages above which commands of a page wait


@final
class Visitor:
    """A connected page, and its queue of outgoing messages."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.reader: Any = None  # its reader in the link
        self._loop, self._lock, self._wake = loop, Lock(), asyncio.Event()
        self._waiting: deque[tuple[bool, bytes]] = deque()
        self._ends = False

    def post(self, header: Mapping[str, Any], buffers: Sequence[Any] = ()) -> None:
        """Queue a message; can be called from any thread. A new state replaces a queued state."""
        frame = packed(header, buffers)
        is_news = "state" in header and not header.get("ids") and header.get("id") is None
        with self._lock:
            if self._ends:
                return
            if is_news:
                self._waiting = deque(each for each in self._waiting if not each[0])
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append((is_news, frame))
                self._ends = "closed" in header
            else:
                self._ends = True
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._wake.set)

    @property
    def is_slow(self) -> bool:
        return len(self._waiting) > FEW

    async def send(self, connection: ServerConnection) -> None:
        """Send queued messages until the message "closed", or until the page is too slow."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._waiting:
                    with self._lock:
                        _, frame = self._waiting.popleft()
                    async with asyncio.timeout(TAKING):
                        await connection.send(frame)
                if self._ends:
                    await connection.close()
                    return
        except ConnectionClosed:
            return
        except TimeoutError:
            connection.transport.abort()


@final
class LinkServer:
    """A server in its own thread for a page and its messages; `close` stops it.

    Args:
        link: replies to messages from the pages
        page: creates the page when it is first requested
        listener: a listening socket
        tokens: tokens that determine who may watch and who may control
        call: schedules a function in the thread of the link; by default, functions run immediately
    """

    def __init__(
        self,
        link: PageLink,
        page: Callable[[], bytes],
        listener: socket.socket,
        tokens: Tokens,
        call: Callable[[Callable[[], object]], object] = lambda function: function(),
    ) -> None:
        self._link, self._page, self._tokens, self._call = link, page, tokens, call
        self._visitors: set[Visitor] = set()
        self._made: File | None = None
        self._turn = asyncio.Lock()
        self.server = PageServer(listener, gate=self._gate, visit=self._visit)

    def __enter__(self) -> Self:
        self.server.start({})
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server, and close all connections."""
        for each in list(self._visitors):
            each.post({"closed": text("browser.closed")})
        self.server.close()

    async def _called(self, function: Callable[[], Any]) -> Any:
        """Run a function in the thread of the link, and return its result."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def finish(found: Any) -> None:
            if not done.done():
                done.set_result(found)

        def run() -> None:
            found = None
            try:
                found = function()
            finally:  # errors are raised in the thread of the link
                loop.call_soon_threadsafe(finish, found)

        self._call(run)
        return await done

    async def _gate(self, request: Request, who: str) -> Answer | None:
        """Return the page if a request has a valid token, otherwise a form that asks for it."""
        if request.path.partition("?")[0] != "/":
            return None
        if refused := self._tokens.refusal(request, who):
            return refused
        if self._made is None:
            self._made = File.of("", await self._called(self._page))
        return HTTPStatus.OK, self._made

    async def _visit(self, connection: ServerConnection, who: str) -> None:
        """Connect a page to the link if its token is valid; stop at an invalid message."""
        visitor = Visitor(asyncio.get_running_loop())
        sending = asyncio.create_task(visitor.send(connection))
        try:
            with suppress(ConnectionClosed, TimeoutError):
                first = read(await asyncio.wait_for(connection.recv(), ASKING))
                if first is None or type(first.get("token")) is not str:
                    await connection.close(CloseCode.POLICY_VIOLATION)
                    return
                try:
                    looks = self._tokens.looks(who, first["token"])
                except Denied as denied:
                    visitor.post({"closed": denied.words(text("browser.other"))})
                    await asyncio.wait([sending], timeout=PARTING)
                    return
                rights = {"looks": looks, "owns": self._tokens.owns(first["token"])}
                await self._talk(connection, visitor, sending, rights)
        finally:
            sending.cancel()

    async def _talk(
        self,
        connection: ServerConnection,
        visitor: Visitor,
        sending: asyncio.Task[None],
        rights: Mapping[str, bool],
    ) -> None:
        def join() -> None:
            visitor.reader = self._link.join(visitor.post, **rights)

        self._visitors.add(visitor)
        try:
            await self._called(join)
            async for sent in connection:  # the next one is read once this one is processed
                message = read(sent)
                if message is None or not is_command(message):
                    await connection.close(CloseCode.POLICY_VIOLATION)
                    return
                # A command of the owner waits for at most one command of all others.
                is_free = rights["owns"] or "taken" in message
                async with nullcontext() if is_free else self._turn:
                    await self._called(partial(self._link.receive, visitor.reader, message))
                while visitor.is_slow and not sending.done():
                    await asyncio.sleep(LOOK)
        finally:
            self._visitors.discard(visitor)
            self._call(lambda: self._link.leave(visitor.reader))


# Messages between a page and this process over a WebSocket.

MULTIPLE = 8  # bytes
ARRAY_TYPES = {"f8": "<f8", "u4": "<u4"}  # types of arrays sent by a page
ARRAYS = {"evaluate": "inputs", "survey": "inputs", "exact": "rows"}  # commands with an array


def packed(header: Mapping[str, Any], buffers: Sequence[Any]) -> bytes:
    """Return a binary frame with a header and arrays; the arrays are buffer objects."""
    arrays = [memoryview(each).cast("B") for each in buffers]
    told = {**header, "buffers": [len(each) for each in arrays]}
    head = json.dumps(told, allow_nan=False, separators=(",", ":")).encode()
    head += b" " * (-(4 + len(head)) % MULTIPLE)
    parts: list[Any] = [len(head).to_bytes(4, "little"), head]
    for each in arrays:
        parts += [each, bytes(-len(each) % MULTIPLE)]
    return b"".join(parts)


def read(sent: str | bytes) -> dict[str, Any] | None:
    """Return the parsed message of a page, or None if it is invalid."""
    try:
        if isinstance(sent, str):
            found = json.loads(sent, parse_constant=refuse)
        else:
            end = 4 + int.from_bytes(sent[:4], "little")
            found = json.loads(sent[4:end], parse_constant=refuse)
            name, kind = found.pop("array")
            if ARRAYS.get(found["name"]) != name:
                return None
            found["args"][name] = np.frombuffer(sent, ARRAY_TYPES[kind], offset=end)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return found if isinstance(found, dict) else None


def is_command(found: Mapping[str, Any]) -> bool:
    """Return whether a message is a valid command, or confirms that a state was received."""
    if found.keys() == {"taken"}:
        return type(found["taken"]) is int
    kinds = {"id": int, "name": str, "args": dict}
    return found.keys() == kinds.keys() and all(type(found[k]) is kinds[k] for k in kinds)


# Tokens.

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without letters that are easily confused
LENGTH = 6
FREE = 3  # wrong guesses of a visitor before the first wait
LONGEST = 3600.0  # maximum seconds of a wait
MOST_WRONG = 100  # maximum guesses at one token
MOST_VISITORS = 10_000  # visitors whose wrong guesses are remembered


class Denied(Exception):
    """Raised for a wrong token.

    Args:
        wait: seconds until the next attempt is accepted
        old: whether the token was valid until a new one replaced it
    """

    def __init__(self, wait: float = 0.0, *, old: bool = False) -> None:
        super().__init__(wait)
        self.wait, self.old = ceil(wait), old

    def words(self, why: str) -> str:
        """Return the message for the visitor: the time to wait if there is one, otherwise `why`."""
        return text("browser.wait", seconds=self.wait) if self.wait else why


@final
class Tokens:
    """The tokens of a server: one for the owner, and a short one for other users.

    Args:
        is_open: whether to create a short token for other users
        controls: whether other users may control the session
        now: a clock in seconds
    """

    def __init__(
        self,
        *,
        is_open: bool,
        controls: bool,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self.own = token_urlsafe(16)
        self.short = short_token() if is_open else ""
        self._old: list[str] = []
        self._controls, self._now = controls, now
        self._wrong = 0
        self._waits: dict[str, tuple[int, float]] = {}  # wrong guesses, end of wait, by visitor

    def owns(self, given: str) -> bool:
        """Return whether a token belongs to the owner of this machine."""
        return is_same(given, self.own)

    def looks(self, who: str, given: str) -> bool:
        """Return whether a token only allows watching; raise Denied if the token is wrong.

        Args:
            who: address of the visitor
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
            raise Denied(old=bool(given))  # no guess: the first request of a page
        wait = min(2.0 ** (count - FREE), LONGEST) if count >= FREE else 0.0
        self._waits.pop(who, None)
        self._waits[who] = count + 1, self._now() + wait
        if len(self._waits) > MOST_VISITORS:
            del self._waits[next(iter(self._waits))]
        self._wrong += 1
        if self.short and self._wrong >= MOST_WRONG:
            self._old, self._wrong = [*self._old, self.short], 0
            self.short = short_token()
            say(text("browser.renewed", token=self.short))
        raise Denied(wait)

    def refusal(self, request: Request, who: str) -> Answer | None:
        """Return a form that asks for the token, or None if the token of a request is valid.

        Args:
            who: address of the visitor
        """
        given = parse_qs(request.path.partition("?")[2]).get("token", [""])[0]
        try:
            self.looks(who, given)
        except Denied as denied:
            status = HTTPStatus.TOO_MANY_REQUESTS if denied.wait else HTTPStatus.FORBIDDEN
            why = text("browser.wrong") if given else text("browser.ask")
            why = denied.words(text("browser.old") if denied.old else why)
            return status, File.of("", token_page(why))
        return None


def short_token() -> str:
    return "".join(choice(LETTERS) for _ in range(LENGTH))


def is_same(given: str, token: str) -> bool:
    """Return whether two strings are equal, in constant time."""
    return compare_digest(given.encode("utf-8", "replace"), token.encode())
