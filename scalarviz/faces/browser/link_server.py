"""LinkServer: pages of other machines, or of this one, at a link to a training.

The server knows nothing of a training: a link answers messages, and posts states. Nothing waits
for a slow page: of states that nobody asked for only the newest is kept for it.

Down, a message is one binary frame: the length of a header as uint32, the header as JSON, then
arrays, each at a multiple of 8 bytes. Up it is JSON, or such a frame with one array at its end,
which is the argument of a command: the header names it, and the type of its numbers.

Tokens say who may see the training, and who may control it. That of the owner is long enough that
nobody guesses it. One for others is short, so that it can be typed; guesses at it are few: each
visitor waits longer after each wrong one, and after MOST_WRONG of all visitors there is a new
token.
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


MOST_WAITING = 64  # messages for a page that does not read
FEW = 4  # messages for a page, beyond which its own wait until it has taken some


@final
class Visitor:
    """A page that is connected, and what is to be sent to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.reader: Any = None  # what the link has made for it
        self._loop, self._lock, self._wake = loop, Lock(), asyncio.Event()
        self._waiting: deque[tuple[bool, bytes]] = deque()
        self._ends = False

    def post(self, header: Mapping[str, Any], buffers: Sequence[Any] = ()) -> None:
        """Send a message soon, from any thread; a state takes the place of an earlier one."""
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
        """Send what is posted until "closed" is, or the page takes too long or too little."""
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
    """Serves a page and its link on a thread; `close` ends it.

    Args:
        link: answers the pages
        page: makes the page, when it is first asked for
        listener: a socket that listens
        tokens: who may look and who may control
        call: has a function called on the thread of the link, in order; by default at once
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
        """Say that the training is gone, and end all connections."""
        for each in list(self._visitors):
            each.post({"closed": text("browser.closed")})
        self.server.close()

    async def _called(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns on the thread of the link."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def finish(found: Any) -> None:
            if not done.done():
                done.set_result(found)

        def run() -> None:
            found = None
            try:
                found = function()
            finally:  # an error is for the thread of the link
                loop.call_soon_threadsafe(finish, found)

        self._call(run)
        return await done

    async def _gate(self, request: Request, who: str) -> Answer | None:
        """Answer with the page, to those who have a token, or with a form that asks for it."""
        if request.path.partition("?")[0] != "/":
            return None
        why = text("browser.ask"), text("browser.wrong"), text("browser.old")
        if refused := self._tokens.refusal(request, who, *why):
            return refused
        if self._made is None:
            self._made = File.of("", await self._called(self._page))
        return HTTPStatus.OK, self._made

    async def _visit(self, connection: ServerConnection, who: str) -> None:
        """Let a page with a token talk to the link, as long as it talks as pages do."""
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
            async for sent in connection:  # the next one is read when the link has had this one
                message = read(sent)
                if message is None or not is_command(message):
                    await connection.close(CloseCode.POLICY_VIOLATION)
                    return
                # A command of the owner waits for one command of all others, at most.
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
ARRAY_TYPES = {"f8": "<f8", "u4": "<u4"}  # of arrays of a page
ARRAYS = {"evaluate": "inputs", "survey": "inputs", "exact": "rows"}  # commands that take one


def packed(header: Mapping[str, Any], buffers: Sequence[Any] = ()) -> bytes:
    """Return the frame of a header and its arrays, anything with a buffer."""
    arrays = [memoryview(each).cast("B") for each in buffers]
    told = {**header, "buffers": [len(each) for each in arrays]}
    head = json.dumps(told, allow_nan=False, separators=(",", ":")).encode()
    head += b" " * (-(4 + len(head)) % MULTIPLE)
    parts: list[Any] = [len(head).to_bytes(4, "little"), head]
    for each in arrays:
        parts += [each, bytes(-len(each) % MULTIPLE)]
    return b"".join(parts)


def read(sent: str | bytes) -> dict[str, Any] | None:
    """Return what a page sends; None for what it never sends: no object, or another one."""
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
    """Return whether a message is a command, or says that a state is taken."""
    if found.keys() == {"taken"}:
        return type(found["taken"]) is int
    kinds = {"id": int, "name": str, "args": dict}
    return found.keys() == kinds.keys() and all(type(found[k]) is kinds[k] for k in kinds)


# Tokens.

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # none that is taken for another one
LENGTH = 6
FREE = 3  # wrong guesses of a visitor before the first wait
LONGEST = 3600.0  # seconds of a wait
MOST_WRONG = 100  # guesses at one token
MOST_VISITORS = 10_000  # whose wrong guesses are remembered


class Denied(Exception):
    """A token is wrong.

    Args:
        wait: seconds in which no further one is looked at
        old: whether it was right until a new one took its place
    """

    def __init__(self, wait: float = 0.0, *, old: bool = False) -> None:
        super().__init__(wait)
        self.wait, self.old = ceil(wait), old

    def words(self, why: str) -> str:
        """Return what the visitor reads: how long to wait, else why."""
        return text("browser.wait", seconds=self.wait) if self.wait else why


@final
class Tokens:
    """The tokens of a server, which says when a new short one takes the place of the old one.

    Args:
        is_open: whether there is a short one for others
        controls: whether others may control the training
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
        self._waits: dict[str, tuple[int, float]] = {}  # by visitor: wrong guesses, until when

    def owns(self, given: str) -> bool:
        """Return whether a token is that of the owner of this machine."""
        return is_same(given, self.own)

    def looks(self, who: str, given: str) -> bool:
        """Return whether the bearer of a token may only look; raise Denied for a wrong one.

        Args:
            who: the address of the visitor
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
            say(text("browser.renewed", token=self.short))
        raise Denied(wait)

    def refusal(self, request: Request, who: str, ask: str, wrong: str, old: str) -> Answer | None:
        """Return a form that asks for a token, if that of a request is not right.

        Args:
            who: the address of the visitor
            ask, wrong, old: what the form says without a token, with a wrong one, with a former one
        """
        given = parse_qs(request.path.partition("?")[2]).get("token", [""])[0]
        try:
            self.looks(who, given)
        except Denied as denied:
            status = HTTPStatus.TOO_MANY_REQUESTS if denied.wait else HTTPStatus.FORBIDDEN
            why = denied.words(old if denied.old else wrong if given else ask)
            return status, File.of("", token_page(why))
        return None


def short_token() -> str:
    return "".join(choice(LETTERS) for _ in range(LENGTH))


def is_same(given: str, token: str) -> bool:
    """Return whether two texts are equal, in a time that does not tell where they differ."""
    return compare_digest(given.encode("utf-8", "replace"), token.encode())
