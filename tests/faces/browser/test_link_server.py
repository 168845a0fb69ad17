"""LinkServer with a link that only notes: who gets in, what reaches the link, who is left."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from queue import SimpleQueue
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from scalarviz.base.texts import text
from scalarviz.faces.browser.link_server import MOST_WRONG, Denied, LinkServer, Tokens
from scalarviz.pages import web_server
from scalarviz.pages.addresses import listening
from scalarviz.pages.web_server import LOOK
from tests.waiting import until


class Noting:
    """A link that keeps what it is told, and answers each command."""

    def __init__(self) -> None:
        self.posts: list[Any] = []
        self.told: list[Any] = []
        self.looks: list[bool] = []
        self.owns: list[bool] = []

    def join(self, post: Any, *, looks: bool, owns: bool) -> Any:
        self.posts.append(post)
        self.looks.append(looks)
        self.owns.append(owns)
        return post

    def receive(self, reader: Any, message: Any) -> None:
        self.told.append(message)
        if "id" in message:
            reader({"id": message["id"], "state": {"step": 7}, "n": 1}, [b"abc", b"12345678"])

    def leave(self, reader: Any) -> None:
        self.posts.remove(reader)


@pytest.fixture
def link() -> Noting:
    return Noting()


@pytest.fixture
def tokens() -> Tokens:
    return Tokens(is_open=True, controls=False, renewed=lambda token: None)


@pytest.fixture
def served(link: Noting, tokens: Tokens) -> Iterator[LinkServer]:
    with LinkServer(link, lambda: b"<p>a page", listening("127.0.0.1", 0), tokens) as made:
        yield made


@contextmanager
def joined(served: LinkServer, token: str, **more: Any) -> Iterator[ClientConnection]:
    address = f"ws://127.0.0.1:{served.server.port}/socket"
    with connect(address, proxy=None, close_timeout=1, **more) as client:
        client.send(json.dumps({"token": token}))
        yield client


def framed(header: object, numbers: bytes = b"") -> bytes:
    head = json.dumps(header).encode()
    return len(head).to_bytes(4, "little") + head + numbers


def got(served: LinkServer, path: str, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", served.server.port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_a_command_is_answered_by_a_frame_of_a_header_and_arrays(
    served: LinkServer, link: Noting, tokens: Tokens
) -> None:
    with joined(served, tokens.own) as client:
        client.send('{"id": 1, "name": "open", "args": {}}')
        frame = client.recv(timeout=30)
        assert isinstance(frame, bytes)
        start = 4 + int.from_bytes(frame[:4], "little")
        header = json.loads(frame[4:start])
        assert header == {"id": 1, "state": {"step": 7}, "n": 1, "buffers": [3, 8]}
        assert start % 8 == 0 and frame[start:] == b"abc\0\0\0\0\x0012345678"
    until(lambda: not link.posts)
    assert link.looks == [False] and link.owns == [True]


def test_the_short_token_only_looks(served: LinkServer, link: Noting, tokens: Tokens) -> None:
    with joined(served, tokens.short.lower()):
        until(lambda: link.posts)
    assert link.looks == [True] and link.owns == [False]


def test_a_page_is_for_those_with_a_token(served: LinkServer, tokens: Tokens) -> None:
    assert got(served, f"/?token={tokens.own}") == (200, b"<p>a page")
    assert got(served, f"/?token={tokens.short}")[0] == 200
    status, form = got(served, "/")
    assert status == 403 and b"a page" not in form and b"<form>" in form and b"<style>" in form
    wrong, again = got(served, "/?token=WRONG2")
    assert wrong == 403 and text("browser.wrong").encode() in again != form


def test_other_hosts_and_origins_are_refused(served: LinkServer, tokens: Tokens) -> None:
    assert got(served, f"/?token={tokens.own}", Host="evil.example")[0] == 421
    with (
        pytest.raises(InvalidStatus),
        joined(served, tokens.own, origin="http://evil.example"),
    ):
        pass


@pytest.mark.parametrize("sent", ["//[", "//[x]/?token=a"])
def test_an_address_that_cannot_be_parsed_is_an_address_like_others(
    served: LinkServer, caplog: pytest.LogCaptureFixture, sent: str
) -> None:
    assert got(served, sent)[0] == 404
    with pytest.raises(InvalidStatus, match="403"), joined(served, "", origin="http://["):
        pass
    assert not caplog.records


def test_a_wrong_token_does_not_join(served: LinkServer, link: Noting) -> None:
    with joined(served, "wrong") as client:
        assert b'"closed"' in bytes(client.recv(timeout=30))
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=30)
    assert not link.looks


@pytest.mark.parametrize(
    "sent",
    ["", "{", "[]", "[" * 100_000, '{"id": NaN}', '{"taken": true}', '{"id": 1, "name": 2}',
     '{"taken": 1, "x": 2}', "1" * 10_000, b"\xff\0", "x" * 300_000,
     framed({"id": 1, "name": "exact", "args": {}}), framed({"array": ["rows", "f8"]}),
     framed({"id": 1, "name": "exact", "args": {}, "array": ["rows", "u1"]}),
     framed({"id": 1, "name": "exact", "args": {}, "array": ["rows", "f8"]}, b"123"),
     framed({"id": 1, "name": "exact", "args": [], "array": ["rows", "f8"]}, bytes(8)),
     framed({"id": 1, "name": "exact", "args": {}, "array": "rows"}), framed([]),
     framed({"id": 1, "name": "open", "args": {}, "array": ["version", "u4"]}, bytes(8)),
     framed({"id": 1, "name": "past", "args": {}, "array": ["order", "u4"]}, bytes(8))],
)  # fmt: skip
def test_what_no_page_sends_ends_its_connection_alone(
    served: LinkServer, link: Noting, tokens: Tokens, sent: str | bytes
) -> None:
    with joined(served, tokens.own) as other, joined(served, tokens.own) as client:
        client.send(sent)
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=30)
        other.send('{"id": 2, "name": "state", "args": {}}')
        assert other.recv(timeout=30)
    assert link.told == [{"id": 2, "name": "state", "args": {}}]


def test_a_client_that_never_reads_gets_the_newest_state_and_holds_nobody(
    served: LinkServer, link: Noting, tokens: Tokens
) -> None:
    with joined(served, tokens.own, max_queue=1, ping_interval=None) as client:
        until(lambda: link.posts)
        (post,) = link.posts
        for n in range(300):
            post({"id": None, "state": {}, "n": n}, [os.urandom(200_000)])
        (visitor,) = served._visitors
        assert len(visitor._waiting) <= 1
        seen = []
        while 299 not in seen:
            frame = bytes(client.recv(timeout=30))
            seen.append(json.loads(frame[4 : 4 + int.from_bytes(frame[:4], "little")])["n"])
    assert len(seen) < 300


def test_a_client_that_takes_no_answer_is_not_heard_further(
    served: LinkServer, link: Noting, tokens: Tokens
) -> None:
    with joined(served, tokens.own, max_queue=1, ping_interval=None) as client:
        until(lambda: link.posts)
        (post,) = link.posts
        for _ in range(40):
            post({"id": 1, "answers": {}}, [bytes(400_000)])
        client.send('{"taken": 1}')
        client.send('{"taken": 2}')
        until(lambda: link.told)
        time.sleep(3 * LOOK)
        assert link.told == [{"taken": 1}]
        for _ in range(40):
            client.recv(timeout=30)
        until(lambda: len(link.told) == 2)


def test_commands_of_others_wait_for_each_other_and_the_owner_for_one_of_them(
    link: Noting, tokens: Tokens
) -> None:
    calls: SimpleQueue[Callable[[], object]] = SimpleQueue()

    def work() -> None:
        while calls.qsize():
            calls.get()()

    with (
        LinkServer(link, lambda: b"", listening("127.0.0.1", 0), tokens, calls.put) as served,
        ExitStack() as stack,
    ):
        given = [*[tokens.short] * 3, tokens.own]
        clients = [stack.enter_context(joined(served, token)) for token in given]
        until(lambda: len(link.posts) == 4, work)
        for number, client in enumerate(clients):
            client.send(json.dumps({"id": number, "name": "evaluate", "args": {}}))
            until(lambda: calls.qsize())
        time.sleep(3 * LOOK)
        assert calls.qsize() == 2  # of the owner, and of one of the others
        until(lambda: len(link.told) == 4, work)
        assert {each["id"] for each in link.told[:2]} == {0, 3}


def test_a_client_that_pings_and_takes_nothing_is_cut_off(
    served: LinkServer, link: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "MOST_UNTAKEN", 100_000)
    asks = "GET /socket HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade"
    key = "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {'A' * 22}=="
    with socket.create_connection(("127.0.0.1", served.server.port), timeout=30) as client:
        client.sendall("\r\n".join([*asks, *key, "", ""]).encode())
        pings = (b"\x89\xfd" + bytes(4 + 125)) * 1000
        with pytest.raises(ConnectionError):
            client.sendall(300 * pings)


def test_guesses_wait_longer_and_at_last_there_is_a_new_token() -> None:
    new: list[str] = []
    time = [0.0]
    tokens = Tokens(is_open=True, controls=False, renewed=new.append, now=lambda: time[0])
    first, waits = tokens.short, []
    for _ in range(6):
        with pytest.raises(Denied) as denied:
            tokens.looks("a", "WRONG1")
        waits.append(denied.value.wait)
        time[0] += denied.value.wait
    assert waits == [0, 0, 0, 1, 2, 4]
    for guess in range(MOST_WRONG):
        with pytest.raises(Denied):
            tokens.looks(f"visitor {guess}", "WRONG1")
    assert new == [tokens.short] and tokens.short != first
    with pytest.raises(Denied) as denied:
        tokens.looks("late", first)
    assert denied.value.old
