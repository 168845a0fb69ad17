"""Hostile requests and links, and two hundred readers.

A page or a refusal, and the server lives.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import re
import socket
import string
import struct
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from http import HTTPStatus
from itertools import count
from pathlib import Path
from threading import active_count
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import pytest
from websockets.asyncio.client import ClientConnection, connect

from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.cli import watch_scene
from scalarviz.faces.links import Link, pairs_of, read_link
from scalarviz.pages import web_server as module
from scalarviz.pages.addresses import listening
from scalarviz.pages.web_server import PageServer, answer
from scalarviz.story.build_link import LONGEST
from scalarviz.story.moments import HIDEABLE
from tests.faces.browser.test_served_in_browser import serving
from tests.pages.node import in_web
from tests.proofs.mutants import ANY, Chance
from tests.proofs.report import Proof

REQUEST_SEED = 15
CLIENTS = 8  # at once
PATIENCE = 20.0  # seconds for an answer
ASKING = 0.2  # seconds that the server waits for the rest of a request
PAGES = {
    "rgb.html": b"<!DOCTYPE html>" + b"a page that trains " * 5000,
    "a b.html": b"spaces",
    "index.html": b"<!DOCTYPE html>a list",
}
ANSWERS = {"/": "index.html", **{f"/{quote(name)}": name for name in PAGES}}
GOOD = b"GET /rgb.html HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, br\r\n\r\n"
TOO_LONG = b"Failed to open a WebSocket connection: "  # how websockets refuses a long line

METHODS = [
    b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI", b"get",
    b"G\0T", b"", b"A" * 17, b"GET GET", b"\xff",
]  # fmt: skip
PATHS = [
    *(path.encode() for path in ANSWERS), b"/rgb.html?x=1", b"/rgb.html?../../etc/passwd",
    b"/../web_server.py", b"/%2e%2e/%2e%2e/etc/passwd", b"/..%2f..%2fetc%2fpasswd", b"//rgb.html",
    b"/./rgb.html", b"/rgb.html/..", b"/rgb.html%00", b"/rgb%2Ehtml", b"/RGB.html", b"\\rgb.html",
    b"/..\\..\\server.py", b"/web_server.py", b"/etc/passwd", b"file:///etc/passwd", b"*",
    b"rgb.html", b"http://elsewhere/rgb.html", b"/rgb.html#x", b"/%", b"/%zz", b"/a b.html",
    b"/" + b"a" * 3000, b"/<script>alert(1)</script>", b"/\x1b[31m", b"/%0d%0aSet-Cookie:%20x=1",
    b"/{0}%s%n", b"",
]  # fmt: skip
VERSIONS = [b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.1 ", b"http/1.1", b""]
HEADERS = [
    b"Host: localhost", b"Host: a\r\nHost: b", b"Content-Length: 99999999999",
    b"Content-Length: -1", b"Transfer-Encoding: chunked",
    b"Connection: Upgrade\r\nUpgrade: websocket", b"Range: bytes=0-",
    b"Accept-Encoding: gzip;q=0", b"Accept-Encoding: " + b"gzip," * 300, b"If-None-Match: *",
    b"If-None-Match: " + b"a" * 5000, b": no name", b"no colon", b" folded", b"X: \0\xff\x1b",
    b"Expect: 100-continue", b"Cookie: " + b"c" * 20_000, b"X: y\r\n" * 3000, b"Origin: null",
]  # fmt: skip
ENDS = [b"\r\n\r\n", b"\r\n\r\n", b"\r\n\r\n", b"\n\n", b"\r\n", b"", b"\r\n\r\n" + GOOD]


def request(chance: Chance) -> bytes:
    """Some request: parts that belong together or not, or a good one that is spoilt."""
    if chance.random() < 0.4:
        found = GOOD
        for _ in range(chance.choice((1, 1, 2, 5))):
            found = chance.choice(ANY)(found or GOOD, chance)
        return found
    if chance.random() < 0.05:
        return chance.randbytes(chance.choice((1, 100, 5000, 50_000)))
    usual = chance.random() < 0.5  # then one part is odd at most
    line = [
        METHODS[0] if usual and chance.random() < 0.7 else chance.choice(METHODS),
        chance.choice(PATHS),
        VERSIONS[0] if usual or chance.random() < 0.5 else chance.choice(VERSIONS),
    ]
    headers = [chance.choice(HEADERS) for _ in range(chance.choice((0, 1, 1, 3)))]
    return b" ".join(line) + b"".join(b"\r\n" + each for each in headers) + chance.choice(ENDS)


def answered(port: int, sent: bytes, way: str) -> bytes | None:
    """What is answered to some bytes; None if nobody waited for it.

    Args:
        way: "whole"; "parts": in small ones; "ended": nothing comes after it; "left": the
            connection is reset at once
    """
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            for at in range(0, len(sent), 4000 if way == "parts" else len(sent) or 1):
                connection.sendall(sent[at : at + 4000] if way == "parts" else sent)
            if way == "ended":
                connection.shutdown(socket.SHUT_WR)
            if way == "left":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return None
            found = b""
            while part := connection.recv(65_536):
                found += part
        except TimeoutError:
            return b"nothing, and stays open"
        except OSError:  # it is closed: more was sent than is read
            return None
        return found


def fault(sent: bytes, got: bytes) -> str:
    """What is wrong with an answer; "" for a page that was asked for, a refusal, or nothing."""
    if not got:
        return ""  # the request was not complete, or none
    head, _, body = got.partition(b"\r\n\r\n")
    try:
        status = HTTPStatus(int(head.split(b" ")[1]))
    except (ValueError, IndexError):
        return f"is no answer: {got[:80]!r}"
    if status not in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
        said = TOO_LONG in body or got == answer(status).serialize()
        return "" if said and status < 500 else f"gives {got[:200]!r}"
    method, path, *_ = sent.split(b" ")
    name = ANSWERS.get(path.decode("latin-1").partition("?")[0])
    if name is None or method not in (b"GET", b"HEAD"):
        return f"gives a page: {got[:80]!r}"
    if status is HTTPStatus.NOT_MODIFIED or method == b"HEAD":
        return "has a body" if body else ""
    plain = gzip.decompress(body) if b"Content-Encoding: gzip" in head else body
    return "" if plain == PAGES[name] else f"gives another page than {name}"


@pytest.mark.slow
def test_requests_that_no_browser_sends_get_a_page_or_a_refusal(
    proof: Proof, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "ASKING", ASKING)
    count, found, slowest = proof.count(4000), Counter[str](), 0.0
    wrong: list[str] = []
    ways = {"whole": 3, "parts": 1, "ended": 2, "left": 1}
    before = active_count()
    with PageServer(listening("127.0.0.1", 0)) as server:
        server.start(PAGES)

        def visit(number: int) -> tuple[int, bytes, bytes | None, float]:
            chance = random.Random(f"{REQUEST_SEED} {number}")
            sent, (way,) = request(chance), chance.choices(list(ways), list(ways.values()))
            start = monotonic()
            got = answered(server.port, sent, way)
            return number, sent, got, monotonic() - start

        with ThreadPoolExecutor(CLIENTS) as clients:
            for number, sent, got, seconds in clients.map(visit, range(count)):
                slowest = max(slowest, seconds)
                kind = "left" if got is None else got[9:12].decode() or "nothing"
                found[kind] += 1
                if got is not None and (said := fault(sent, got)):
                    wrong.append(f"request {number}, {sent[:80]!r}, {said}")
                if number % 100 == 0:  # it answers as ever
                    good = answered(server.port, GOOD, "whole") or b""
                    if not good.startswith(b"HTTP/1.1 200 ") or fault(GOOD, good):
                        wrong.append(f"after request {number} a good one gets {good[:80]!r}")
        end = monotonic() + PATIENCE
        while server.connections and monotonic() < end:
            sleep(0.01)
        assert not server.connections, "places of connections are lost"
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    assert active_count() <= before
    assert capfd.readouterr().err == ""  # an error while one is answered is logged here
    assert {"200", "404", "405", "left"} <= {*found} or count < 1000
    proof.seeds = str(REQUEST_SEED)
    proof.tried = [f"{count:,} requests to the server of a class, {CLIENTS} at once"]
    kinds = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(found.items()))
    proof.found = [
        f"{kinds}; only pages requested by name, no text but statuses, no slot lost",
        f"the slowest took {slowest:.1f} s",
    ]


LINK_SEED = 16
SIZES = {"tanh 0": 9, "a:b": 2, "sigmoid 1": 3}
# Of a page, whose sizes are SIZES.
LIMITS = """
const sizes = new Map(Object.entries(data.sizes));
const limits = {first: 0, end: 1e9, operations: 13, rows: 99, batch: 8, sizes};
"""
LETTERS = string.printable + "\0\x1b\x85\ufeff\u202e\ud7ff\U0001f600é١²½－"
PIECES = [
    "#", "?", "&", "=", ";", "%", "%00", "%zz", "%ff", "%F0%9F%98%80", "+", "//", "../", "\\\\x",
    "http://host/x", "file:", "$(id)", "`id`", "<script>", "';--", "__proto__=1", "constructor=2",
    "step=", "step=1e3", "step=-1", "step=1_0", "step=٣", "op=0x2", "pin=", "pin=1.5", "play=inf",
    "play=nan", "play=1e9", "play=.", "hide=", "hide=,", "neuron=:", "neuron=tanh 0:-1",
    "op=13", "9" * 30, "a" * 500, "scene.py", "engine=cuda", "hidden=99999999999", "\n", "\0",
]  # fmt: skip

UNSEEN = {"Cc", "Cf", "Zl", "Zp"}  # categories of letters that steer a terminal, or turn others
GIVEN = {"limit": None, "save": None, "autosave": None, "speed": None, "theme": "auto"}


def link(chance: Chance) -> Link:
    """A link to a moment that the network of rgb and a page have."""
    parts: dict[str, Any] = {
        "step": chance.randrange(40), "operation": chance.randint(1, 5), "pin": chance.randrange(9),
        "neuron": ("tanh 0", chance.randrange(4)), "sample": chance.randint(1, 7),
        "hide": tuple(chance.sample(HIDEABLE, chance.randint(1, 3))), "tour": "no",
        "play": chance.choice((0.5, 7.0, 30.0)), "theme": chance.choice(("dark", "light")),
    }  # fmt: skip
    named = [name for name in parts if chance.random() < 0.4]
    if "pin" in named and "neuron" in named:  # a link has one of them, in Python both can be read
        named.remove("pin")
    options = {"hidden": chance.choice(("4", "3,3")), "map": "grey"}
    kept = {"engine": "python"} | {
        name: value for name, value in options.items() if chance.random() < 0.3
    }
    return Link("rgb", kept, **{name: parts[name] for name in named})


def other_writing(made: Link, chance: Chance) -> str:
    """Another text of the same link: parts in another order, letters written as %41, doubled."""
    parts = made.fragment.split("&") if made.fragment else []
    chance.shuffle(parts)
    if parts and chance.random() < 0.3:  # the last one holds
        name, _, value = chance.choice(parts).partition("=")
        if name == "step":
            parts.insert(0, f"step={int(value) + 1}")
    written = []
    for part in parts:
        name, _, value = part.partition("=")
        if "%" not in value and chance.random() < 0.3:
            value = "".join(f"%{ord(c):02x}" if chance.random() < 0.5 else c for c in value)
        written.append(f"{name}={value}")
    return f"{str(made).partition('#')[0]}#{'&'.join(written)}"


def spoilt(text: str, chance: Chance) -> str:
    """A text with some letters or pieces more, less, doubled or exchanged."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        way = chance.randrange(5)
        if way == 0:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif way == 1:
            text = text[:at] + "".join(chance.choices(LETTERS, k=3)) + text[at + 1 :]
        elif way == 2:
            text = text[:at] + text[min(end, at + 4) :]
        elif way == 3:
            text = text[:end] + text[at:]
        else:
            text = text[:at] + "&" + chance.choice(PIECES) + "&" + text[at:]
    return text


def texts(count: int) -> list[tuple[str, Link | None]]:
    """Texts of links, each with the link that it is, if that is known."""
    chance = random.Random(LINK_SEED)
    found: list[tuple[str, Link | None]] = []
    for _ in range(count):
        made, way = link(chance), chance.random()
        if way < 0.3:
            found.append((other_writing(made, chance), made))
        elif way < 0.9:
            found.append((spoilt(str(made), chance), None))
        else:
            found.append(("".join(chance.choices(LETTERS, k=chance.randrange(60))), None))
    return found


def is_sentence(words: str) -> bool:
    """Whether some words are short, on one line, and have no letter that steers a terminal."""
    return not UNSEEN & {unicodedata.category(each) for each in words} and 10 < len(words) < 600


def fault_of_reader(text: str, expected: Link | None) -> tuple[str, Link | None]:
    """What is wrong with what Python reads in a text, and what it reads."""
    try:
        read = read_link(text)
    except InputError as error:
        told = "" if is_sentence(str(error)) else f"refused by {str(error)!r}"
        return (told if expected is None else f"refused: {error}"), None
    if expected is not None and read != expected:
        return f"read as {read}", read
    written = str(read)
    if len(written) <= LONGEST and plain(read_link(written)) != plain(read):
        return f"written as {written!r}, which is {read_link(written)}", read
    return "", read


def plain(read: Link) -> Link:
    """A link without what its text need not have: the first sample, and digits of a speed."""
    play = None if read.play is None else float(f"{read.play:g}")
    return replace(read, sample=read.sample or None, play=play, target=read.target.strip())


def pages_read_otherwise(fragments: Sequence[str]) -> list[str]:
    """What the reader of pages and that of Python say otherwise of what follows a #."""
    body = LIMITS + "return data.links.map((hash) => readLink(`#${hash}`, limits));"
    wrong = []
    for fragment, page in zip(
        fragments, in_web("links", body, links=fragments, sizes=SIZES), strict=True
    ):
        if not all(is_part(each) for each in page["bad"] + page["over"]):
            wrong.append(f"a page names parts of {fragment!r} as {page['bad'] + page['over']}")
        try:
            ours = read_link(f"rgb#{fragment}")
        except InputError:
            if not page["bad"] and len(fragment) < LONGEST - 4:
                wrong.append(f"a page reads {fragment!r}, Python refuses it")
            continue
        pairs = pairs_of(fragment)
        if has_page(ours) and page["bad"] and len(dict(pairs)) == len(pairs):
            wrong.append(f"a page leaves out {page['bad']} of {fragment!r}, Python reads it")
        elif has_page(ours) and not page["bad"] and shown(page) != shown_by(ours):
            wrong.append(f"{fragment!r} is {shown(page)} for a page, {shown_by(ours)} for Python")
    return wrong


def is_part(words: str) -> bool:
    """Whether a part of a link can stand in a sentence of a page."""
    return len(words) <= 26 * 2 and not UNSEEN & {unicodedata.category(each) for each in words}


def has_page(read: Link) -> bool:
    """Whether a page with LIMITS has what a link names; of two pins it holds the last one."""
    buffer, place = read.neuron or ("tanh 0", 0)
    inside = (read.operation <= 12, (read.pin or 0) < 99, place < SIZES.get(buffer, 0))
    return all(inside) and (read.sample or 0) < 8 and None in (read.pin, read.neuron)


def shown(page: Mapping[str, Any]) -> list[Any]:
    """The moment that a page reads."""
    return [page["step"] or 0, page["operation"] or 0, page["pinned"], page["sample"], page["play"],
            page["hide"], page["theme"] or "", page["tour"] or ""]  # fmt: skip


def shown_by(read: Link) -> list[Any]:
    """The moment that Python reads, as a page has it."""
    pinned = None if read.pin is None else {"row": read.pin}
    pinned = {"neuron": [*read.neuron]} if read.neuron else pinned
    return [read.step or 0, read.operation, pinned, read.sample, read.play, [*read.hide],
            read.theme, read.tour]  # fmt: skip


def is_quick(read: Link | None) -> bool:
    """Whether a link asks for a short training."""
    hidden = "" if read is None else read.options.get("hidden", "")
    return read is not None and (read.step or 0) < 100 and len(hidden) < 6


def opened_at(text: str, read: Link, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """What is wrong with where `scalarviz open` leads, and what came of it."""
    seen: list[Any] = []
    monkeypatch.setattr(
        watch_scene, "watch_anywhere", lambda show, *given, **more: seen.append((show, more)) or 0
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        watch_scene.open_link(text, GIVEN)
    except ScalarvizError as error:
        return ("" if is_sentence(str(error)) else f"refused by {str(error)!r}"), "refused"
    ((show, more),) = seen
    session = show.session
    count = len(session.operations)
    clock, step = session.clock, read.step or 0
    if clock.step * count + clock.operation != step * count + read.operation:
        return f"stands at {clock.place}", "elsewhere"
    pin = read.pin if read.neuron is None else read.neuron
    if more["pin"] != pin or session.focus != (read.sample or 0):
        return f"pins {more['pin']} and shows sample {session.focus}", "elsewhere"
    return "", "led to their moment"


@pytest.mark.slow
def test_links_of_any_text_lead_to_their_moment_or_are_refused(
    proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = texts(proof.count(20_000))
    wrong, reads = [], []
    for text, expected in tried:
        said, read = fault_of_reader(text, expected)
        reads.append(read)
        if said:
            wrong.append(f"{text!r}: {said}")
    wrong += pages_read_otherwise([text.strip().partition("#")[2] for text, _ in tried])
    few = [pair for pair in zip(tried, reads, strict=True) if is_quick(pair[1])]
    opened = Counter[str]()
    for (text, _), read in few[: proof.count(300)]:
        said, came = opened_at(text, read, monkeypatch)
        opened[came] += 1
        if said:
            wrong.append(f"scalarviz open {text!r}: {said}")
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    proof.seeds = str(LINK_SEED)
    refused = sum(read is None for read in reads)
    proof.tried = [
        f"{len(tried):,} texts read as links by `scalarviz open` and by pages, "
        f"{opened.total():,} of them opened"
    ]
    proof.found = [
        f"{len(tried) - refused:,} accepted by both; {refused:,} refused with an error message; "
        + "of the opened ones "
        + ", ".join(f"{number:,} {came}" for came, number in sorted(opened.items()))
    ]


READERS = 200
SLOW = 20  # of them stop reading for a while
SECONDS = 60
RATE = 400.0  # steps a second, while the memory is looked at
FASTEST = 6.0  # seconds in which it goes as fast as it can
LEAST = 0.1  # of the steps without readers that there are with them
SOON = 15.0  # seconds until each reader has a state of now
PARTS = 5  # of the time: what memory is in the last one is compared with the second
GROWTH = 24 * 2**20  # bytes
STATE = re.compile(rb'"n":(\d+)')
STEP = re.compile(rb'"step":(\d+)')


class Reader:
    """A page that takes each state, unless it rests."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.reads = asyncio.Event()
        self.reads.set()
        self.step, self.states = -1, 0
        self.numbers = count(1)
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            await self.reads.wait()
            frame = await self.connection.recv(decode=False)
            head = frame[4 : 4 + int.from_bytes(frame[:4], "little")]
            if found := STATE.findall(head):
                self.step, self.states = int(STEP.findall(head)[0]), self.states + 1
                await self.connection.send(json.dumps({"taken": int(found[-1])}))

    async def ask(self, name: str, **args: Any) -> None:
        words = {"id": next(self.numbers), "name": name, "args": args}
        await self.connection.send(json.dumps(words))


class Readers:
    """Readers of one server."""

    def __init__(self, port: int, token: str, process: int, stack: AsyncExitStack) -> None:
        self._port, self._token, self._process, self._stack = port, token, process, stack
        self.all: list[Reader] = []
        self.memory: list[int] = []
        self.newest = 0  # a step that has been taken

    async def join(self) -> Reader:
        address = f"ws://127.0.0.1:{self._port}/socket"
        connection = await self._stack.enter_async_context(
            connect(address, proxy=None, max_queue=1, ping_interval=None, close_timeout=1)
        )
        await connection.send(json.dumps({"token": self._token}))
        reader = Reader(connection)
        await reader.ask("open", version=1)
        self.all.append(reader)
        self._stack.callback(reader.task.cancel)
        return reader

    def check(self) -> None:
        """No reader has lost its connection."""
        for reader in self.all:
            assert not reader.task.done(), reader.task

    async def are_current(self) -> float:
        """Seconds until each reader that reads has a state that is not older than now."""
        began = time.monotonic()
        while (late := time.monotonic() - began) < SOON:
            if all(each.step >= self.newest for each in self.all if each.reads.is_set()):
                return late
            await asyncio.sleep(0.01)
        steps = sorted(each.step for each in self.all if each.reads.is_set())
        raise AssertionError(f"after {SOON:g} s of {self.newest} readers have {steps}")

    async def speed(self, seconds: float) -> float:
        """Steps a second."""
        first, began = self.all[0], time.monotonic()
        step = first.step
        await asyncio.sleep(seconds)
        self.check()
        return (first.step - step) / (time.monotonic() - began)

    def look(self) -> None:
        pages = int(Path(f"/proc/{self._process}/statm").read_text().split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE"))


async def read_by_many(readers: Readers, seconds: float) -> dict[str, Any]:
    first = await readers.join()
    for _ in range(2):  # from the end of what is played at first it goes on without one
        await first.ask("play", speed=None)
        await asyncio.sleep(2.0)
    alone = await readers.speed(FASTEST)
    for _ in range(READERS - SLOW - 1):
        await readers.join()
    await asyncio.sleep(2.0)
    with_many = await readers.speed(FASTEST)
    await first.ask("reset")
    began = time.monotonic()
    while first.step:
        assert time.monotonic() - began < SOON, first.step
        await asyncio.sleep(0.01)
    await first.ask("play", speed=RATE)
    await asyncio.sleep(2.0)
    late = [await readers.join() for _ in range(SLOW)]
    readers.newest = first.step
    joined = await readers.are_current()
    for each in late:
        each.reads.clear()
    states, began = sum(each.states for each in readers.all), time.monotonic()
    while time.monotonic() - began < seconds:
        await asyncio.sleep(1.0)
        readers.check()
        readers.look()
    states = sum(each.states for each in readers.all) - states
    for each in late:
        each.reads.set()
    readers.newest = first.step
    return {
        "alone": alone,
        "with many": with_many,
        "joined": joined,
        "woken": await readers.are_current(),
        "states": states / (READERS - SLOW) / seconds,
    }


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_two_hundred_readers_of_a_training(proof: Proof) -> None:
    seconds = proof.count(SECONDS)
    with serving("--port", "0") as served:

        async def all_of_it() -> tuple[dict[str, Any], list[int]]:
            async with AsyncExitStack() as stack:
                readers = Readers(served.port, served.token, served.process.pid, stack)
                return await read_by_many(readers, seconds), readers.memory

        found, memory = asyncio.run(all_of_it())
    part = len(memory) // PARTS
    means = [sum(memory[i * part :][:part]) / part / 2**20 for i in range(PARTS)]
    proof.tried = [
        f"{READERS} readers over loopback for {seconds} s, {SLOW} of which come late and then "
        "stop reading"
    ]
    proof.found = [
        f"{found['alone']:,.0f} steps per second with one reader, {found['with many']:,.0f} with "
        f"{READERS - SLOW}",
        f"{found['states']:.1f} states per second for each",
        f"late readers had the newest state after {found['joined']:.1f} s, and after "
        f"{found['woken']:.1f} s when they read again",
        f"memory in each fifth of the time: {', '.join(f'{each:.0f}' for each in means)} MiB",
    ]
    assert found["with many"] > LEAST * found["alone"], found
    assert (means[-1] - means[1]) * 2**20 < GROWTH, means
