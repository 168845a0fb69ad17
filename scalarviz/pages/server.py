"""Serves pages to a class: some files in memory, each by its exact address, and nothing else.

A request never leads to the file system. What a client can hold is bounded: connections, the size
of a request, the seconds for sending it and for taking the answer.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from socketserver import BaseRequestHandler, TCPServer
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any
from urllib.parse import quote

from scalarviz.pages.index_page import INDEX

MOST = 128  # connections at once
LONGEST_HEAD = 16_384  # bytes of a request with its headers
LONGEST_LINE = 2_048  # bytes of its first line
ASKING = 10.0  # seconds until a client has sent its request
TAKING = 120.0  # seconds until it has taken the answer
PARTING = 1.0  # seconds in which the rest of a refused request is read
LOOK = 0.1  # seconds until `shutdown` is noticed
MOST_VISITORS = 10_000  # of which it is remembered what they have opened

REQUEST = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
# Sent with everything. A connection carries one answer, so that idle ones take no place.
ALWAYS = {
    "Connection": "close",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asks again each time, by the tag
}

Came = Callable[[str, str], object]  # called with the address of a laptop and a page it opens


@dataclass(frozen=True)
class File:
    """A page as it is sent: as it is, and compressed; its tag, and its policy as a header."""

    name: str
    plain: bytes
    packed: bytes
    tag: str
    policy: str

    @classmethod
    def of(cls, name: str, content: bytes) -> File:
        """Return a page, whose policy is the one that it states itself."""
        found = POLICY.search(content.decode())
        stated = unescape(found[1]) if found else "default-src 'none'"
        tag = f'W/"{hashlib.sha256(content).hexdigest()[:20]}"'
        packed = gzip.compress(content, 6, mtime=0)
        return cls(name, content, packed, tag, f"{stated}; frame-ancestors 'none'")


class Refused(Exception):
    """A request that cannot be answered, by its status."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """A server of pages, bound to an address; `serve` begins to answer.

    address  an IP address of this machine
    port     0 for any that is free; `port` then tells which
    came     called once for each laptop and page

    Raises OSError if the address is not of this machine, or the port is taken.
    """

    daemon_threads = True
    allow_reuse_port = False  # a second server on one port would take half of the laptops
    request_queue_size = MOST

    def __init__(self, address: str, port: int, came: Came = lambda address, name: None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Visit, bind_and_activate=False)
        self.files: Mapping[str, File] = {}
        self.visitors: set[tuple[str, str]] = set()
        self._came, self._lock = came, Lock()
        self._room = BoundedSemaphore(MOST)
        try:
            self.server_bind()
        except BaseException:  # whatever is wrong with the address, the socket does not stay open
            self.server_close()
            raise

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # that of HTTPServer asks the network for a name

    def serve(self, pages: Mapping[str, bytes], ready: Callable[[], object] = lambda: None) -> None:
        """Answer requests until an exception, such as that of Ctrl-C, or `shutdown` ends it.

        pages  contents by file name; the one called index.html also answers /
        ready  called when requests find a server, which answers them soon
        """
        files = {name: File.of(name, content) for name, content in pages.items()}
        answers = {f"/{quote(name)}": file for name, file in files.items()}
        if INDEX in files:
            answers["/"] = files[INDEX]
        self.server_activate()
        self.files = answers
        ready()
        self.serve_forever(LOOK)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or refuse at once if there are too many."""
        if not self._room.acquire(blocking=False):
            with suppress(OSError):  # who does not take the answer at once gets none
                request.setblocking(False)
                request.send(refusal(HTTPStatus.SERVICE_UNAVAILABLE))
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # Ctrl-C, too
            with suppress(ValueError):  # a thread that had begun has released it
                self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def note(self, address: str, name: str) -> None:
        """Report a laptop that opens a page for the first time."""
        visitor = address, name
        with self._lock:
            if visitor in self.visitors or len(self.visitors) >= MOST_VISITORS:
                return
            self.visitors.add(visitor)
        self._came(address, name)


class Visit(BaseRequestHandler):
    """One request of a client, and its answer."""

    request: socket.socket
    server: PageServer

    def handle(self) -> None:
        with suppress(OSError):  # a client that is gone, or too slow
            try:
                answer = self.answer(head_of(self.request))
            except Refused as error:
                self.request.settimeout(TAKING)
                self.request.sendall(refusal(error.status))
                self.part()
            else:
                self.request.settimeout(TAKING)  # for the whole answer
                self.request.sendall(answer)

    def answer(self, head: bytes) -> bytes:
        """Return the answer to a request; raise Refused if it has none."""
        line, _, rest = head.partition(b"\r\n")
        if len(line) > LONGEST_LINE:
            raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG)
        found = REQUEST.fullmatch(line)
        if found is None:
            raise Refused(HTTPStatus.BAD_REQUEST)
        if found[1] not in (b"GET", b"HEAD"):
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED)
        file = self.server.files.get(found[2].decode().partition("?")[0])
        if file is None:
            raise Refused(HTTPStatus.NOT_FOUND)
        headers = headers_of(rest)
        if found[1] == b"GET" and file.name != INDEX:
            self.server.note(self.client_address[0], file.name)
        more = {"ETag": file.tag, "Vary": "Accept-Encoding", "Content-Security-Policy": file.policy}
        if file.tag in headers.get("if-none-match", ""):
            return start(HTTPStatus.NOT_MODIFIED, more)
        body = file.plain
        if takes_gzip(headers.get("accept-encoding", "")):
            body, more["Content-Encoding"] = file.packed, "gzip"
        more |= {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
        return start(HTTPStatus.OK, more) + (body if found[1] == b"GET" else b"")

    def part(self) -> None:
        """Read what a refused client still sends: closing at once would discard the answer."""
        self.request.shutdown(socket.SHUT_WR)
        end = monotonic() + PARTING
        while (rest := end - monotonic()) > 0.0:
            self.request.settimeout(rest)
            if not self.request.recv(LONGEST_HEAD):
                return


def head_of(connection: socket.socket) -> bytes:
    """Return the request with its headers; raise Refused if it is too long or comes too slowly."""
    head, end = b"", monotonic() + ASKING
    while b"\r\n\r\n" not in head:
        if len(head) > LONGEST_HEAD:
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        rest = end - monotonic()
        if rest <= 0.0:
            raise Refused(HTTPStatus.REQUEST_TIMEOUT)
        connection.settimeout(rest)
        try:
            part = connection.recv(4096)
        except TimeoutError:
            raise Refused(HTTPStatus.REQUEST_TIMEOUT) from None
        if not part:
            raise ConnectionAbortedError
        head += part
    return head


def headers_of(lines: bytes) -> dict[str, str]:
    """Return headers by their names in small letters."""
    pairs = (line.partition(":") for line in lines.decode("latin-1").split("\r\n"))
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def takes_gzip(accepted: str) -> bool:
    """Return whether an Accept-Encoding allows gzip."""
    for each in accepted.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";")
        if name == "gzip":
            return re.fullmatch(r"q=0(\.0*)?", weight) is None
    return False


def start(status: HTTPStatus, headers: Mapping[str, str]) -> bytes:
    """Return the first line of an answer, and its headers."""
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in {**ALWAYS, **headers}.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def refusal(status: HTTPStatus) -> bytes:
    """Return the whole answer to a request that is refused."""
    body = f"{status.value} {status.phrase}\n".encode()
    more = {"Allow": "GET, HEAD"} if status is HTTPStatus.METHOD_NOT_ALLOWED else {}
    kind = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    return start(status, {**kind, **more, "Content-Security-Policy": "default-src 'none'"}) + body
