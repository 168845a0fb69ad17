"""A training that is served to browsers.

Its server, who gets in, what is printed, and how it ends.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import segno
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.browser import serve
from scalarviz.faces.browser.link_server import MOST_WRONG, Denied, LinkServer, Tokens
from scalarviz.faces.browser.serve import BLOCKS, BORDER, qr_code
from scalarviz.pages import web_server
from scalarviz.pages.addresses import listening
from scalarviz.pages.web_server import LOOK
from tests.machine import until
from tests.pages.test_web_server import got
from tests.wording import refused

SECONDS = 60.0

BEYOND = 2_100  # steps; the scene has 2,000


class Served:
    """A process that serves rgb, and what it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said = ""
        assert process.stdout is not None
        for line in process.stdout:
            self.said += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://([\d.]+):(\d+)/\?token=(\S+)", self.said)
        assert found, self.said
        self.port, self.token = int(found[2]), found[3]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(SECONDS)


@contextmanager
def joined(served: Served | LinkServer, token: str, **more: Any) -> Iterator[ClientConnection]:
    """A page with a token at a training that is served."""
    server = served if isinstance(served, Served) else served.server
    address = f"ws://127.0.0.1:{server.port}/socket"
    with connect(address, proxy=None, close_timeout=1, **more) as client:
        client.send(json.dumps({"token": token}))
        yield client


@contextmanager
def serving(*words: str) -> Iterator[Served]:
    """A process of Python that serves a training, it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        try:
            yield Served(process)
        finally:
            process.kill()


def watching(*more: str, scene: str = "rgb") -> AbstractContextManager[Served]:
    return serving("-m", "scalarviz", "watch", scene, "--browser", "--port", "0", *more)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with watching("--address", "0.0.0.0") as made:
        yield made


def read(client: ClientConnection) -> Any:
    """The header of the next message."""
    frame = client.recv(timeout=SECONDS)
    assert isinstance(frame, bytes)
    return json.loads(frame[4 : 4 + int.from_bytes(frame[:4], "little")])


def heard(client: ClientConnection, wanted: str) -> Any:
    """The next message that has a field."""
    while wanted not in (message := read(client)):
        pass
    return message


def asked(client: ClientConnection, number: int, name: str, **args: Any) -> Any:
    """The answer to a command: its state, or why it is refused."""
    client.send(json.dumps({"id": number, "name": name, "args": args}))
    while True:
        message = read(client)
        if "n" in message:
            client.send(json.dumps({"taken": message["n"]}))
        if number == message.get("id") or number in message.get("ids", ()):
            return message


def short_token(served: Served) -> str:
    found = re.search(r"with the token (\w{6})", served.said)
    assert found, served.said
    return found[1]


def test_the_owner_controls_and_others_look_on(served: Served) -> None:
    assert "watch, but not change it" in served.said
    with joined(served, served.token) as own, joined(served, short_token(served)) as other:
        asked(own, 1, "open", version=1)
        asked(own, 2, "pause")
        step = asked(own, 3, "state")["state"]["step"]
        assert asked(own, 4, "advance", count=3)["state"]["step"] == step + 3
        assert asked(other, 1, "open", version=1)["state"]["step"] == step + 3
        assert "a viewer" in asked(other, 2, "advance", count=3)["refused"]
        assert asked(own, 5, "state")["state"]["step"] == step + 3


def test_it_goes_on_past_the_steps_of_its_scene(served: Served) -> None:
    with joined(served, served.token) as own:
        asked(own, 1, "open", version=1)
        asked(own, 2, "play")
        number, step, until = 3, 0, time.monotonic() + SECONDS
        while step <= BEYOND and time.monotonic() < until:
            step = asked(own, number, "state")["state"]["step"]
            number += 1
        assert step > BEYOND
        asked(own, number, "pause")


def test_it_ends_by_ctrl_c(served: Served) -> None:
    with joined(served, served.token) as client:
        asked(client, 1, "open", version=1)
        assert served.end() == 130
        assert heard(client, "closed")["closed"]


@pytest.mark.slow
def test_without_a_network_no_address_is_told_to_others() -> None:
    words = ["watch", "rgb", "--browser", "--address", "0.0.0.0", "--port", "0"]
    program = f"""
from scalarviz.faces.cli.commands import main
from scalarviz.pages import addresses
addresses.address_for_others = lambda version: ""
main({words})
"""
    with serving("-c", program) as alone:
        assert alone.end() == 130
    assert (
        "This machine is not connected to a network" in alone.said and "//0.0.0.0" not in alone.said
    )


def test_only_one_session_of_a_network_is_served() -> None:
    refused(InputError, "browser=True").by(sv.watch, {"a": "rgb", "b": "xor"}, browser=True)


@pytest.mark.slow
def test_without_websockets_a_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['websockets'] = None; import scalarviz as sv\n"
        "try: sv.watch('rgb', browser=True)\n"
        "except sv.errors.InputError as error: print(error)"
    )
    command = (
        "import sys; sys.modules['websockets'] = None; from scalarviz.__main__ import run; run()"
    )
    for words in ([program], [command, "watch", "rgb", "--browser"]):
        done = subprocess.run([sys.executable, "-c", *words], capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert "-m pip install 'websockets>=17'" in said and "Traceback" not in said


def test_what_cannot_be_served_is_refused() -> None:
    refused(UnknownNameError, "'all'").by(sv.watch, "rgb", browser=True, share="all")
    refused(InputError, "'nowhere'").by(sv.watch, "rgb", browser=True, address="nowhere")
    refused(InputError, "99999").by(sv.watch, "rgb", browser=True, port=99_999)
    refused(InputError, "'abc'").by(sv.watch, "rgb", browser=True, port="abc")  # type: ignore[arg-type]  # on purpose


ADDRESS = "http://192.168.1.5:8000/?token=ABC234"


def test_the_viewer_of_a_training_ends_when_that_is_over_and_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SCALARVIZ_VIEWER", "1")
    monkeypatch.setattr(serve, "ABANDONED", 0.0)
    parents = iter([1, 1, 1, 2])  # the training ends after some rounds
    monkeypatch.setattr(serve.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(serve, "has_display", lambda: True)
    seen: list[tuple[Path, str]] = []

    def opened(url: str) -> None:
        path = Path(url.removeprefix("file://"))
        assert path.stat().st_mode & 0o777 == 0o600
        seen.append((path, path.read_text()))

    monkeypatch.setattr(serve.webbrowser, "open", opened)
    assert sv.watch("rgb", browser=True, play=False) == 0 and not [*parents]
    [(path, content)] = seen  # others see the command line of a browser, not this file
    assert re.search(r"http://\S+", capsys.readouterr().out)[0] in content  # type: ignore[index]
    assert not path.exists()


def test_its_blocks_are_the_modules_of_the_code_light_on_dark() -> None:
    halves = {block: pair for pair, block in BLOCKS.items()}
    rows = [
        row for line in qr_code(ADDRESS) for row in zip(*(halves[c] for c in line), strict=True)
    ]
    code = segno.make(ADDRESS, micro=False).matrix
    dark = [
        [not light for light in row[BORDER:-BORDER]] for row in rows[BORDER : BORDER + len(code)]
    ]
    assert dark == [[bool(each) for each in row] for row in code]
    assert all(rows[0]) and all(row[0] and row[-1] for row in rows[:-1])


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert qr_code(ADDRESS) == []


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
    return Tokens(is_open=True, controls=False)


@pytest.fixture
def link_server(link: Noting, tokens: Tokens) -> Iterator[LinkServer]:
    with LinkServer(link, lambda: b"<p>a page", listening("127.0.0.1", 0), tokens) as made:
        yield made


def framed(header: object, numbers: bytes = b"") -> bytes:
    head = json.dumps(header).encode()
    return len(head).to_bytes(4, "little") + head + numbers


def test_a_command_is_answered_by_a_frame_of_a_header_and_arrays(
    link_server: LinkServer, link: Noting, tokens: Tokens
) -> None:
    with joined(link_server, tokens.own) as client:
        client.send('{"id": 1, "name": "open", "args": {}}')
        frame = client.recv(timeout=30)
        assert isinstance(frame, bytes)
        start = 4 + int.from_bytes(frame[:4], "little")
        header = json.loads(frame[4:start])
        assert header == {"id": 1, "state": {"step": 7}, "n": 1, "buffers": [3, 8]}
        assert start % 8 == 0 and frame[start:] == b"abc\0\0\0\0\x0012345678"
    until(lambda: not link.posts)
    assert link.looks == [False] and link.owns == [True]


def test_the_short_token_only_looks(link_server: LinkServer, link: Noting, tokens: Tokens) -> None:
    with joined(link_server, tokens.short.lower()):
        until(lambda: link.posts)
    assert link.looks == [True] and link.owns == [False]


def test_a_page_is_for_those_with_a_token(link_server: LinkServer, tokens: Tokens) -> None:
    assert got(link_server.server.port, f"/?token={tokens.own}") == (200, b"<p>a page")
    assert got(link_server.server.port, f"/?token={tokens.short}")[0] == 200
    status, form = got(link_server.server.port, "/")
    assert status == 403 and b"a page" not in form and b"<form>" in form and b"<style>" in form
    wrong, again = got(link_server.server.port, "/?token=WRONG2")
    assert wrong == 403 and text("browser.wrong").encode() in again != form


def test_other_hosts_and_origins_are_refused(link_server: LinkServer, tokens: Tokens) -> None:
    assert got(link_server.server.port, f"/?token={tokens.own}", Host="evil.example")[0] == 421
    with (
        pytest.raises(InvalidStatus),
        joined(link_server, tokens.own, origin="http://evil.example"),
    ):
        pass


@pytest.mark.parametrize("sent", ["//[", "//[x]/?token=a"])
def test_an_address_that_cannot_be_parsed_is_an_address_like_others(
    link_server: LinkServer, caplog: pytest.LogCaptureFixture, sent: str
) -> None:
    assert got(link_server.server.port, sent)[0] == 404
    with pytest.raises(InvalidStatus, match="403"), joined(link_server, "", origin="http://["):
        pass
    assert not caplog.records


def test_a_wrong_token_does_not_join(link_server: LinkServer, link: Noting) -> None:
    with joined(link_server, "wrong") as client:
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
    link_server: LinkServer, link: Noting, tokens: Tokens, sent: str | bytes
) -> None:
    with joined(link_server, tokens.own) as other, joined(link_server, tokens.own) as client:
        client.send(sent)
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=30)
        other.send('{"id": 2, "name": "state", "args": {}}')
        assert other.recv(timeout=30)
    assert link.told == [{"id": 2, "name": "state", "args": {}}]


def test_a_client_that_never_reads_gets_the_newest_state_and_holds_nobody(
    link_server: LinkServer, link: Noting, tokens: Tokens
) -> None:
    with joined(link_server, tokens.own, max_queue=1, ping_interval=None) as client:
        until(lambda: link.posts)
        (post,) = link.posts
        for n in range(300):
            post({"id": None, "state": {}, "n": n}, [os.urandom(200_000)])
        (visitor,) = link_server._visitors
        assert len(visitor._waiting) <= 1
        seen = []
        while 299 not in seen:
            frame = bytes(client.recv(timeout=30))
            seen.append(json.loads(frame[4 : 4 + int.from_bytes(frame[:4], "little")])["n"])
    assert len(seen) < 300


def test_a_client_that_takes_no_answer_is_not_heard_further(
    link_server: LinkServer, link: Noting, tokens: Tokens
) -> None:
    with joined(link_server, tokens.own, max_queue=1, ping_interval=None) as client:
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
    link_server: LinkServer, link: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "MOST_UNTAKEN", 100_000)
    asks = "GET /socket HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade"
    key = "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {'A' * 22}=="
    with socket.create_connection(("127.0.0.1", link_server.server.port), timeout=30) as client:
        client.sendall("\r\n".join([*asks, *key, "", ""]).encode())
        pings = (b"\x89\xfd" + bytes(4 + 125)) * 1000
        with pytest.raises(ConnectionError):
            client.sendall(300 * pings)


def test_guesses_wait_longer_and_at_last_there_is_a_new_token(
    capsys: pytest.CaptureFixture[str],
) -> None:
    time = [0.0]
    tokens = Tokens(is_open=True, controls=False, now=lambda: time[0])
    first, waits = tokens.short, []
    for _ in range(6):
        denied = refused(Denied).by(tokens.looks, "a", "WRONG1")
        waits.append(denied.wait)
        time[0] += denied.wait
    assert waits == [0, 0, 0, 1, 2, 4]
    for guess in range(MOST_WRONG):
        refused(Denied).by(tokens.looks, f"visitor {guess}", "WRONG1")
    said = capsys.readouterr().out.splitlines()
    assert said == [text("browser.renewed", token=tokens.short)] and tokens.short != first
    assert refused(Denied).by(tokens.looks, "late", first).old
