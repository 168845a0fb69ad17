"""HTTP server for pages: it serves files in memory, each at an exact URL, and a WebSocket.

Requests never reach the file system. The number of connections, the size of requests, and the time
for sending a request and receiving the response are limited.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from threading import Event, Thread
from typing import Any, final
from urllib.parse import quote

from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import InputError
from scalarviz.pages.bundle import stated_policy
from scalarviz.pages.plain_pages import INDEX
from scalarviz.training.session.actions import nothing

try:
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response
    from websockets.protocol import State
except ImportError as error:
    raise InputError(
        f"serving pages needs websockets 17 or newer: {pip_command('serve')}"
    ) from error

MOST = 300  # simultaneous connections
LARGEST = 262_144  # bytes of a client message
MOST_UNTAKEN = 4_000_000  # bytes that a client may send without reading, such as pings
ASKING = 10.0  # seconds for sending a request
TAKING = 120.0  # seconds for receiving a response or a message
PARTING = 1.0  # seconds for closing connections at shutdown
LOOK = 0.1  # seconds until shutdown is noticed
MOST_VISITORS = 10_000  # visitors whose opened pages are remembered

SOCKET = "/socket"
HERE = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", re.IGNORECASE)
# Headers of all responses. A connection carries one response, so that idle ones are closed.
ALWAYS = {
    "Connection": "close",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # revalidate each time, by the ETag
}
QUIET = logging.getLogger("scalarviz.server")
QUIET.setLevel(logging.ERROR)  # lower levels would log addresses with their tokens


@final
@dataclass(frozen=True)
class File:
    """A page as it is served: uncompressed and compressed, with the ETag and policy headers."""

    name: str
    plain: bytes
    packed: bytes
    tag: str
    policy: str

    @classmethod
    def of(cls, name: str, content: bytes) -> File:
        """Return a page with the content security policy that it contains."""
        stated = stated_policy(content.decode()) or "default-src 'none'"
        tag = f'W/"{hashlib.sha256(content).hexdigest()[:20]}"'
        packed = gzip.compress(content, 6, mtime=0)
        return cls(name, content, packed, tag, f"{stated}; frame-ancestors 'none'")


Came = Callable[[str, str], object]  # called with the address of a visitor and the page opened
Answer = tuple[HTTPStatus, File | None]
# Called with a request and the client's address; returns a response, or None for the file.
Gate = Callable[[Request, str], Awaitable[Answer | None]]
Visit = Callable[[ServerConnection, str], Awaitable[None]]  # handles a WebSocket


@final
class Connection(ServerConnection):
    """A client connection; it is closed if there are more than MOST or its request is late."""

    def __init__(self, all_of_them: set[Connection], *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._all = all_of_them
        self._untaken = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._all.add(self)
        self.asking = self.loop.call_later(ASKING, transport.abort)
        if len(self._all) > MOST:
            transport.write(answer(HTTPStatus.SERVICE_UNAVAILABLE).serialize())
            transport.close()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_taking = not self.transport.get_write_buffer_size()
        self._untaken = 0 if is_taking else self._untaken + len(data)
        # Assertions of websockets fail when it answers one of several requests at once.
        is_several = self.protocol.parser_exc is not None and self.state is State.CONNECTING
        if is_several or self._untaken > MOST_UNTAKEN:
            self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._all.discard(self)
        self.asking.cancel()
        super().connection_lost(error)


@final
class PageServer(AbstractContextManager["PageServer"]):
    """A server of pages on a listening socket; `start` serves them in a thread.

    Args:
        listener: socket returned by `listening` of addresses.py; `close` closes it
        came: callback, called once for each visitor and page
        gate: function that can answer a request in place of the file, or None
        visit: function that handles a WebSocket at SOCKET, or None
    """

    def __init__(
        self,
        listener: socket.socket,
        came: Came = nothing,
        gate: Gate | None = None,
        visit: Visit | None = None,
    ) -> None:
        self.address, self.port = listener.getsockname()[:2]
        self.files: Mapping[str, File] = {}
        self.visitors: set[tuple[str, str]] = set()
        self.connections: set[Connection] = set()
        self._listener, self._came, self._gate, self._visit = listener, came, gate, visit
        self._ready = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self, pages: Mapping[str, bytes]) -> None:
        """Serve requests until `close`.

        Args:
            pages: contents by file name; index.html is also served at /
        """
        files = {name: File.of(name, content) for name, content in pages.items()}
        self.files = {f"/{quote(name)}": file for name, file in files.items()}
        if INDEX in files:
            self.files |= {"/": files[INDEX]}
        self._thread.start()
        self._ready.wait()

    def wait(self) -> None:
        """Wait until `close` is called; exceptions such as KeyboardInterrupt interrupt the wait."""
        while self._thread.is_alive():  # a longer wait is not interrupted on Windows
            self._thread.join(LOOK)

    def close(self) -> None:
        """Close all connections and stop the thread."""
        if self._thread.ident:  # it has started
            with suppress(RuntimeError):  # it has ended
                self.loop.call_soon_threadsafe(self._end.set)
            self._thread.join()
        self._listener.close()

    async def _run(self) -> None:
        self.loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await serve(
            self._talk,
            sock=self._listener,
            create_connection=partial(Connection, self.connections),  # type: ignore[arg-type]
            process_request=self._answer,
            server_header=None,
            compression=None,  # numbers hardly compress, and it costs time for each reader
            open_timeout=TAKING,
            close_timeout=PARTING,
            max_size=LARGEST,
            max_queue=4,  # queued messages per page; the default 16 took a gigabyte for 300 pages
            write_limit=(65_536, 0),  # a response counts as received when its local buffer is empty
            logger=QUIET,
        )
        self._ready.set()
        await self._end.wait()
        server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), 2 * PARTING)
        for each in list(self.connections):
            each.transport.abort()
        await asyncio.sleep(0)

    async def _talk(self, connection: ServerConnection) -> None:
        if self._visit is not None:
            await self._visit(connection, connection.remote_address[0])

    async def _answer(self, visit: ServerConnection, request: Request) -> Response | None:
        """Return the response to a request; None to open a WebSocket."""
        if isinstance(visit, Connection):
            visit.asking.cancel()
        who, path = visit.remote_address[0], request.path.partition("?")[0]
        named = any(HERE.fullmatch(each) is None for each in request.headers.get_all("Host"))
        if named and ip_address(self.address).is_loopback:
            return answer(HTTPStatus.MISDIRECTED_REQUEST)  # DNS rebinding
        if request.method not in ("GET", "HEAD"):
            return answer(HTTPStatus.METHOD_NOT_ALLOWED)
        if path == SOCKET and self._visit is not None:
            return None if is_same_origin(request) else answer(HTTPStatus.FORBIDDEN)
        if self._gate is not None and (found := await self._gate(request, who)):
            return answer(found[0], found[1], request)
        file = self.files.get(path)
        if file is None:
            return answer(HTTPStatus.NOT_FOUND)
        if request.method == "GET" and file.name != INDEX:
            self._note(who, file.name)
        return answer(HTTPStatus.OK, file, request)

    def _note(self, address: str, name: str) -> None:
        """Report a visitor who has opened a page for the first time."""
        visitor = address, name
        if visitor not in self.visitors and len(self.visitors) < MOST_VISITORS:
            self.visitors.add(visitor)
            self._came(address, name)


def is_same_origin(request: Request) -> bool:
    """Return whether a request comes from a page of this server, or from no page."""
    hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
    return all(hosts == [each.partition("://")[2]] for each in origins)


def answer(
    status: HTTPStatus, file: File | None = None, request: Request | None = None
) -> Response:
    """Return the response to a request: a file, or an error without one."""
    if file is None or request is None:
        body = f"{status.value} {status.phrase}\n".encode()
        head = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
        head["Content-Security-Policy"] = "default-src 'none'"
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            head["Allow"] = "GET, HEAD"
        return Response(status.value, status.phrase, Headers(ALWAYS | head), body)
    asked = {
        name: ", ".join(request.headers.get_all(name))
        for name in ("If-None-Match", "Accept-Encoding")
    }
    head = {"ETag": file.tag, "Vary": "Accept-Encoding", "Content-Security-Policy": file.policy}
    if status is HTTPStatus.OK and file.tag in asked["If-None-Match"]:
        status = HTTPStatus.NOT_MODIFIED
        return Response(status.value, status.phrase, Headers(ALWAYS | head))
    body = file.plain
    if takes_gzip(asked["Accept-Encoding"]):
        body, head["Content-Encoding"] = file.packed, "gzip"
    head |= {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    sent = body if request.method == "GET" else b""
    return Response(status.value, status.phrase, Headers(ALWAYS | head), sent)


def takes_gzip(accepted: str) -> bool:
    """Return whether an Accept-Encoding header allows gzip."""
    for each in accepted.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";")
        if name == "gzip":
            return re.fullmatch(r"q=0(\.0*)?", weight) is None
    return False
