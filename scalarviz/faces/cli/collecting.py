"""Collecting: a class sends records of answers, which one file on the teacher's machine keeps.

A record is kept without the address that it came from. What visitors can send is bounded: the size
of a record, how often, and all of them together.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from math import ceil
from time import monotonic
from typing import BinaryIO, cast, final
from urllib.parse import parse_qs

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request

from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.browser.link_server import MOST_VISITORS, Denied, Tokens, read
from scalarviz.files.atomic import as_path, check_place, shown, unsaved
from scalarviz.pages.lessons.answers import FILES, LARGEST_RECORD, Record, record_of, records_in
from scalarviz.pages.plain_pages import INDEX, Entry, index_of, token_page
from scalarviz.pages.web_server import ASKING, Answer, File

KIND = ".jsonl"
MOST_RECORDS = 1000
AT_ONCE = 60  # records of a visitor: a room may have one address
EVERY = 10.0  # seconds, after which a visitor may send one more
USUAL = 4096  # bytes of a record; a larger one counts as several
MOST_OF_ONE = MOST_RECORDS // 2  # records that are kept of a visitor


@final
class Collecting:
    """Takes records of pages and adds them to a file.

    path     of the file, .jsonl; an existing one is continued
    is_open  whether other machines reach the server: then a token guards the collecting
    entries  the pages that are listed to those who have it
    now      a clock in seconds

    Raises InputError or FileError for a file that holds something else, or cannot be written.
    """

    def __init__(self, path: str, *, is_open: bool, now: Callable[[], float] = monotonic) -> None:
        self.path = as_path(path)
        if self.path.suffix != KIND:
            raise InputError(f"answers are kept in a file {KIND}, not in {shown(self.path)}")
        check_place(self.path)
        try:
            with self._opened() as file:
                size = file.seek(0, os.SEEK_END)
                old, faults = records_in(self.path)
                if size and not old:
                    raise InputError(
                        f"{shown(self.path)} cannot be continued, since {faults[0]}: name another "
                        "file"
                    )
                self.path.chmod(0o600)
                file.seek(max(0, size - 1))
                if file.read(1) not in (b"", b"\n"):  # it was cut off
                    file.write(b"\n")
        except OSError as error:
            raise unsaved(self.path, error) from error

        def renewed(token: str) -> None:
            say(text("browser.renewed", token=token))

        self.tokens = Tokens(is_open=True, controls=False, renewed=renewed) if is_open else None
        self.entries: Sequence[Entry] = ()
        self._count, self._now = len(old), now
        self._left: dict[str, tuple[float, float]] = {}  # by visitor: how many more, and when
        self._kept: Counter[str] = Counter()  # by visitor

    @property
    def query(self) -> str:
        """What addresses end with that may send."""
        return f"?token={self.tokens.short}" if self.tokens else ""

    async def gate(self, request: Request, who: str) -> Answer | None:
        """Answer with the list of pages, to those who have the token, or with a form for it."""
        path, _, asked = request.path.partition("?")
        if self.tokens is None or path not in ("/", f"/{INDEX}"):
            return None
        given = parse_qs(asked).get("token", [""])[0]
        try:
            self.tokens.looks(who, given)
        except Denied as denied:
            status = HTTPStatus.TOO_MANY_REQUESTS if denied.wait else HTTPStatus.FORBIDDEN
            return status, File.of("", token_page(refusal(denied, "wrong" if given else "ask")))
        entries = (each._replace(query=self.query) for each in self.entries)
        return HTTPStatus.OK, File.of(INDEX, index_of(entries, collects=True))

    async def visit(self, connection: ServerConnection, who: str) -> None:
        """Take one record of a page, and answer {"ok": true} or {"error": a sentence}."""
        with suppress(ConnectionClosed, TimeoutError):
            try:
                self._charge(who, 1)
                record = self._take(await asyncio.wait_for(connection.recv(), ASKING), who)
            except InputError as error:
                return await connection.send(json.dumps({"error": str(error)}))
            await connection.send(json.dumps({"ok": True}))  # first: printing may fail
            name = record.name or text("class.nameless")
            say(text("class.record", name=name, lesson=record.lesson))

    def _charge(self, who: str, count: int) -> None:
        """Raise InputError for a visitor that sends too many records, of USUAL bytes, at once."""
        now = self._now()
        left, since = self._left.pop(who, (AT_ONCE, now))
        left = min(AT_ONCE, left + (now - since) / EVERY)
        rest = left - count
        self._left[who] = rest if rest >= 0.0 else left, now
        if len(self._left) > MOST_VISITORS:
            del self._left[next(iter(self._left))]
        if rest < 0.0:
            wait = ceil(-rest * EVERY)
            raise InputError(f"too many answers come from here: send them again in {wait} s")

    def _take(self, sent: str | bytes, who: str) -> Record:
        """Keep and return a record; raise InputError if it cannot be kept, or without the token."""
        found = read(sent) if len(sent) <= LARGEST_RECORD else None
        if found is None:
            raise InputError(
                f"answers come as JSON of at most {LARGEST_RECORD:,} letters: load the page again"
            )
        try:
            if self.tokens is not None:
                self.tokens.looks(who, str(found.get("token", "")))
        except Denied as denied:
            raise InputError(refusal(denied, "elsewhere")) from None
        record = record_of(found.get("record"))
        line = record.line()
        count = ceil(len(line) / USUAL)
        if self._kept[who] + count > MOST_OF_ONE:
            raise InputError("no more answers are kept from here: say that to your teacher")
        self._charge(who, -1)  # one was charged when it came
        self._charge(who, count)
        self._add(line)
        self._kept[who] += count
        return record

    def _add(self, line: bytes) -> None:
        """Add the line of a record to the file, whole or not at all."""
        try:
            with self._opened() as file:
                size = file.seek(0, os.SEEK_END)
                if self._count >= MOST_RECORDS or size + len(line) > FILES[KIND][0]:
                    raise InputError("the file of your teacher is full: say that, and send again")
                if file.write(line) != len(line):
                    file.truncate(size)
                    raise OSError("the disk is full")
        except OSError as error:
            say(*unsaved(self.path, error).lines)
            raise InputError("your teacher's machine cannot keep answers: say that") from None
        self._count += 1

    def _opened(self) -> BinaryIO:
        """Return the file, to add to it; a new one can be read by its owner alone."""
        opener = partial(os.open, mode=0o600)
        return cast(BinaryIO, open(self.path, "a+b", buffering=0, opener=opener))


def refusal(denied: Denied, why: str) -> str:
    """Return what a visitor without the right token reads."""
    return text("browser.wait", seconds=denied.wait) if denied.wait else text(f"class.token.{why}")
