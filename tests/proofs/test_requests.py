"""The server of a class under requests that no browser sends: a page or a refusal, and it lives."""

from __future__ import annotations

import gzip
import random
import socket
import struct
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from threading import active_count
from time import monotonic, sleep
from urllib.parse import quote

import pytest

from scalarviz.pages import web_server as module
from scalarviz.pages.addresses import listening
from scalarviz.pages.web_server import PageServer, answer
from tests.proofs.mutants import ANY, Chance
from tests.proofs.report import Proof

SEED = 15
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

    way  "whole"; "parts": in small ones; "ended": nothing comes after it; "left": the connection
         is reset at once
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
            chance = random.Random(f"{SEED} {number}")
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
    proof.seeds = str(SEED)
    proof.tried = [f"{count:,} requests to the server of a class, {CLIENTS} at once"]
    kinds = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(found.items()))
    proof.found = [
        f"{kinds}; no page but those asked for by name, no text but statuses, no place lost",
        f"the slowest took {slowest:.1f} s",
    ]
