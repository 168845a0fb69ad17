"""A training that is served to browsers: what is printed, who may do what, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import scalarviz as sv
from scalarviz.errors import InputError, UnknownNameError
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

    @contextmanager
    def joined(self, token: str) -> Iterator[ClientConnection]:
        address = f"ws://127.0.0.1:{self.port}/socket"
        with connect(address, proxy=None, close_timeout=1) as client:
            client.send(json.dumps({"token": token}))
            yield client

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(SECONDS)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    words = ["-m", "scalarviz", "watch", "rgb", "--browser", "--address", "0.0.0.0", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        yield Served(process)
        process.kill()


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
    found = re.search(r"by the token (\w{6})", served.said)
    assert found, served.said
    return found[1]


def test_the_owner_controls_and_others_look_on(served: Served) -> None:
    assert "look on, and cannot change it" in served.said
    with served.joined(served.token) as own, served.joined(short_token(served)) as other:
        asked(own, 1, "open", version=1)
        asked(own, 2, "pause")
        step = asked(own, 3, "state")["state"]["step"]
        assert asked(own, 4, "advance", count=3)["state"]["step"] == step + 3
        assert asked(other, 1, "open", version=1)["state"]["step"] == step + 3
        assert "looking on" in asked(other, 2, "advance", count=3)["refused"]
        assert asked(own, 5, "state")["state"]["step"] == step + 3


def test_it_goes_on_past_the_steps_of_its_scene(served: Served) -> None:
    with served.joined(served.token) as own:
        asked(own, 1, "open", version=1)
        asked(own, 2, "play")
        number, step, until = 3, 0, time.monotonic() + SECONDS
        while step <= BEYOND and time.monotonic() < until:
            step = asked(own, number, "state")["state"]["step"]
            number += 1
        assert step > BEYOND
        asked(own, number, "pause")


def test_a_hostile_page_is_cut_off_and_the_training_goes_on(served: Served) -> None:
    for words in ("{", "[]", '{"id": 1}', '{"id": 1, "name": "edit", "args": [1]}', "x" * 300_000):
        with served.joined(served.token) as client:
            client.send(words)
            with pytest.raises(ConnectionClosed):
                client.recv(timeout=SECONDS)
    with served.joined("wrong") as client:
        assert heard(client, "closed")["closed"]
    with served.joined(served.token) as client:
        assert asked(client, 1, "open", version=1)["state"]["step"] >= 0
        assert "refused" in asked(client, 2, "edit", row=10**9, value=0.0)


def test_it_ends_by_ctrl_c(served: Served) -> None:
    with served.joined(served.token) as client:
        asked(client, 1, "open", version=1)
        assert served.end() == 130
        assert heard(client, "closed")["closed"]


def test_without_a_network_no_address_is_told_to_others() -> None:
    words = ["watch", "rgb", "--browser", "--address", "0.0.0.0", "--port", "0"]
    program = f"""
from scalarviz.faces.cli.commands import main
from scalarviz.pages import addresses
addresses.address_for_others = lambda version: ""
main({words})
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        alone = Served(process)
        assert alone.end() == 130
    assert "This machine is in no network" in alone.said and "//0.0.0.0" not in alone.said


def test_only_one_session_of_a_network_is_served() -> None:
    with refused(InputError, "browser=True"):
        sv.watch({"a": "rgb", "b": "xor"}, browser=True)


def test_without_websockets_a_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['websockets'] = None; import scalarviz as sv\n"
        "try: sv.watch('rgb', browser=True)\n"
        "except sv.errors.InputError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "-m pip install 'websockets>=17'" in done.stdout, done.stderr


def test_what_cannot_be_served_is_refused() -> None:
    with refused(UnknownNameError, "'all'"):
        sv.watch("rgb", browser=True, share="all")
    with refused(InputError, "'nowhere'"):
        sv.watch("rgb", browser=True, address="nowhere")
    with refused(InputError, "99999"):
        sv.watch("rgb", browser=True, port=99_999)
    with refused(InputError, "'abc'"):
        sv.watch("rgb", browser=True, port="abc")  # type: ignore[arg-type]  # on purpose
