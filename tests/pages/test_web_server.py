"""The server of pages: where it listens, what it answers, and what a client can hold of it."""

from __future__ import annotations

import errno
import gzip
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from time import perf_counter
from unittest.mock import Mock
from urllib.parse import quote

import pytest

from scalarviz.errors import InputError
from scalarviz.pages import addresses
from scalarviz.pages import web_server as module
from scalarviz.pages.addresses import listening
from scalarviz.pages.plain_pages import index_of
from scalarviz.pages.web_server import PageServer, takes_gzip
from tests.machine import until
from tests.wording import refused

LONGEST_LINE = 8_192  # bytes
POLICY = "default-src 'none'; script-src 'sha256-abc='"
META = f'<meta http-equiv="Content-Security-Policy" content="{POLICY.replace(chr(39), "&#x27;")}">'
RGB = f"<!DOCTYPE html>{META}<p>{'a page that trains ' * 30_000}".encode()  # 570 kB
PAGES = {"rgb.html": RGB, "a b.html": b"spaces", "index.html": index_of(["rgb.html"])}
Ask = Callable[..., tuple[HTTPResponse, bytes]]


@pytest.fixture
def came() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def served(came: list[tuple[str, str]]) -> Iterator[PageServer]:
    """A server that serves while the test runs."""
    listener = listening("127.0.0.1", 0)
    with PageServer(listener, lambda *visitor: came.append(visitor)) as made:
        made.start(PAGES)
        yield made


@pytest.fixture
def ask(served: PageServer) -> Ask:
    def answer(path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection("127.0.0.1", served.port, timeout=30)
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        got = connection.getresponse()
        return got, got.read()

    return answer


def got(port: int, path: str, **headers: str) -> tuple[int, bytes]:
    """The status and the content of a page, as soon as there is a server."""
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", path, headers=headers)
        except ConnectionRefusedError:
            continue
        answer = connection.getresponse()
        return answer.status, answer.read()


def raw(server: PageServer, sent: bytes) -> bytes:
    """All that is answered to some bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(sent)
        found = b""
        while part := connection.recv(65_536):
            found += part
        return found


def is_left(client: socket.socket) -> bool:
    """Whether the connection ends without an answer."""
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


def test_a_page_is_sent_whole_with_its_own_policy_and_nothing_to_guess(ask: Ask) -> None:
    got, body = ask("/rgb.html")
    assert (got.status, body) == (200, RGB)
    assert int(got.headers["Content-Length"]) == len(RGB)
    assert got.headers["Content-Type"] == "text/html; charset=utf-8"
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Content-Security-Policy"] == f"{POLICY}; frame-ancestors 'none'"
    assert "Content-Encoding" not in got.headers and "Server" not in got.headers


def test_a_page_is_compressed_for_those_who_take_it(ask: Ask) -> None:
    got, body = ask("/rgb.html", Accept_Encoding="deflate, gzip, br")
    assert got.headers["Content-Encoding"] == "gzip"
    assert int(got.headers["Content-Length"]) == len(body) < len(RGB) / 3
    assert gzip.decompress(body) == RGB
    assert got.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("br;q=1.0, GZIP ;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.00", False),
        ("br", False),
        ("notgzip", False),
        ("", False),
    ],
)
def test_who_takes_gzip(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


def test_head_is_the_answer_without_the_page(ask: Ask) -> None:
    got, body = ask("/rgb.html", "HEAD")
    assert (got.status, body) == (200, b"")
    assert int(got.headers["Content-Length"]) == len(RGB)


def test_what_a_browser_has_is_not_sent_again(ask: Ask) -> None:
    got, body = ask("/rgb.html", If_None_Match=ask("/rgb.html")[0].headers["ETag"])
    assert (got.status, body) == (304, b"")
    assert ask("/rgb.html", If_None_Match='"another"')[0].status == 200


def test_the_list_links_to_the_pages(ask: Ask) -> None:
    assert ask("/")[1] == ask("/index.html")[1] == PAGES["index.html"]
    (link,) = re.findall(r'href="(\w[^":]*)"', ask("/")[1].decode())
    assert ask(f"/{link}?from=list")[1] == RGB
    assert ask("/a%20b.html")[1] == b"spaces"


@pytest.mark.parametrize(
    "path",
    [
        "/../web_server.py",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/rgb.html/../rgb.html",
        "//rgb.html",
        "/./rgb.html",
        "/RGB.html",
        "/rgb.html%00",
        "/rgb%2Ehtml",
        "/rgb.html/",
        "/web_server.py",
        quote(f"/{Path(module.__file__)}"),
    ],
)
def test_other_addresses_lead_nowhere(ask: Ask, path: str) -> None:
    got, body = ask(path)
    assert (got.status, body) == (404, b"404 Not Found\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(ask: Ask, method: str) -> None:
    got, _ = ask("/rgb.html", method)
    assert got.status == 405 and got.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * LONGEST_LINE + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * LONGEST_LINE, 431),
        (b"A" * 10 * LONGEST_LINE, 414),
    ],
)
def test_what_is_too_long_is_refused(served: PageServer, sent: bytes, status: int) -> None:
    assert raw(served, sent).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",  # a browser that tries https
        b"GET /rgb.html\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET /a\nb HTTP/1.1\r\n\r\n",
        b"GET /rgb.html HTTP/1.1\r\n\r\n" * 2,
    ],
)
def test_what_is_no_request_ends_its_connection(
    served: PageServer, ask: Ask, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    with suppress(ConnectionResetError):
        assert raw(served, sent) == b""
    assert ask("/rgb.html")[1] == RGB
    assert not caplog.records


def test_a_client_that_asks_slowly_is_left_and_others_do_not_wait(
    served: PageServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ASKING", 0.3)
    slow = [socket.create_connection(("127.0.0.1", served.port), timeout=30) for _ in range(5)]
    for each in slow:
        each.sendall(b"GET /rgb.html HTT")
    assert ask("/rgb.html")[1] == RGB
    for each in slow:
        with each:
            assert is_left(each)


def test_single_bytes_do_not_prolong_a_request(
    served: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ASKING", 0.3)
    with socket.create_connection(("127.0.0.1", served.port), timeout=0.02) as slow:
        for _ in range(1500):
            try:
                slow.sendall(b"G")
                left = is_left(slow)
            except TimeoutError:
                continue
            except OSError:
                return
            assert left
            return
    pytest.fail("the connection is held")


def test_a_client_that_does_not_take_its_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAKING", 0.2)
    with PageServer(listening("127.0.0.1", 0)) as served, socket.socket() as slow:
        served.start({"large.html": bytes(50_000_000)})
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(30)
        slow.connect(("127.0.0.1", served.port))
        slow.sendall(b"GET /large.html HTTP/1.1\r\n\r\n")
        until(lambda: served.connections)
        until(lambda: not served.connections)


def test_there_are_only_so_many_connections_and_their_places_come_back(
    served: PageServer, ask: Ask
) -> None:
    idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(module.MOST)]
    until(lambda: len(served.connections) == module.MOST)
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as late:
        assert late.recv(100).startswith(b"HTTP/1.1 503 ")
    for each in idle:
        each.close()
    until(lambda: not served.connections)
    assert ask("/rgb.html")[1] == RGB


def test_one_that_never_starts_leaves_nothing(recwarn: pytest.WarningsRecorder) -> None:
    with PageServer(listening("127.0.0.1", 0)) as made:
        port = made.port
    listening("127.0.0.1", port).close()
    assert not recwarn.list


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("127.0.0.2:80", 200), ("[::1]:80", 200), ("evil.example", 421)],
)
def test_names_that_lead_to_this_machine_by_a_trick_are_refused(
    served: PageServer, host: str, status: int
) -> None:
    sent = f"GET /rgb.html HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    assert raw(served, sent).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_laptop_is_reported_once_for_each_page(ask: Ask, came: list[tuple[str, str]]) -> None:
    for path in ("/", "/rgb.html", "/none", "/rgb.html", "/a%20b.html"):
        ask(path)
    ask("/rgb.html", "HEAD")
    assert came == [("127.0.0.1", "rgb.html"), ("127.0.0.1", "a b.html")]


def test_forty_clients_at_once_each_get_the_page(served: PageServer, ask: Ask) -> None:
    began = perf_counter()
    with ThreadPoolExecutor(40) as clients:
        got = [*clients.map(lambda _: ask("/rgb.html")[1], range(40))]
    assert all(each == RGB for each in got)
    print(f"forty clients: {perf_counter() - began:.2f} s")


# What is refused.


@pytest.mark.parametrize(
    "address",
    [
        *("example.org", "1.2.3", "", "0.0.0.0:80"),
        *("192.0.2.7", "224.0.0.1", "255.255.255.255", "ff02::1"),
    ],
)
def test_an_address_of_no_machine_or_of_none_here_is_refused(address: str) -> None:
    refused(InputError, address).by(listening, address, 0)


def test_a_taken_port_is_refused_and_another_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(InputError, str(port), varies=r"\d+").by(listening, "127.0.0.1", port)


def test_a_port_that_nobody_named_gives_way_to_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(addresses, "USUAL", taken.getsockname()[1])
        with listening("127.0.0.1", None) as listener:
            assert listener.getsockname()[1] != addresses.USUAL
    with listening("127.0.0.1", None) as listener:
        assert listener.getsockname()[1] == addresses.USUAL


def test_a_port_of_the_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        socket,
        "create_server",
        Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")),
    )
    refused(InputError, "80").by(listening, "127.0.0.1", 80)


def test_an_address_of_version_6_stands_in_brackets() -> None:
    assert addresses.url_of("::1", 80) == "http://[::1]:80/"
