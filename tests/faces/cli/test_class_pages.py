"""`scalarviz class` and `scalarviz lessons`: what is served, where, what is kept of a class."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.parse import unquote

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from scalarviz.base.shell_commands import pip_command
from scalarviz.base.texts import text
from scalarviz.errors import FileError, InputError
from scalarviz.faces.browser.link_server import FREE
from scalarviz.faces.cli import class_pages, commands
from scalarviz.faces.cli.class_pages import AT_ONCE, EVERY, Collecting, copy_lessons
from scalarviz.pages import addresses, web_server
from scalarviz.pages.addresses import listening
from scalarviz.pages.lessons.answers import LARGEST_RECORD, table_in
from scalarviz.pages.page import Page
from scalarviz.pages.plain_pages import Entry
from scalarviz.pages.web_server import LARGEST, MOST, PageServer
from tests.machine import ROOT, until
from tests.pages.lessons.test_answers import given, record
from tests.wording import refused

Run = Callable[..., tuple[int, str, str]]
Fetched = dict[str, tuple[int, bytes]]


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are their titles, and `sys.path` stays."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(
        class_pages, "page_of", lambda show, links: Page((show.title + links).encode(), 3)
    )


@pytest.fixture
def fetched() -> Fetched:
    return {}


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


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, fetched: Fetched) -> Run:
    """What `scalarviz class` answers; while it serves, all is fetched, then comes Ctrl-C."""

    def fetch(server: PageServer) -> None:
        for path in ("/", *server.files):
            fetched[unquote(path[1:])] = got(server.port, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(web_server.PageServer, "wait", fetch)
    return partial(run, "class")


@pytest.mark.usefixtures("_quick")
def test_the_named_scenes_are_served_to_this_machine_until_ctrl_c(
    run: Run, fetched: Fetched
) -> None:
    code, out, err = run("xor", "circle", "--port", "0")
    assert (code, err) == (130, "")
    assert re.search(r"^The pages are at http://127\.0\.0\.1:\d+/, for this machine", out, re.M)
    assert [*fetched] == ["", "xor.html", "circle.html", "index.html"]
    assert all(status == 200 and content for status, content in fetched.values())
    assert b"xor.html" in fetched[""][1] and b"rgb.html" not in fetched[""][1]
    assert (
        "127.0.0.1 opens xor.html\n127.0.0.1 opens circle.html\nStopped. 1 device connected.\n"
        in out
    )


@pytest.mark.usefixtures("_quick")
def test_each_page_leads_back_to_the_list_and_on_to_the_next(
    run: Run, fetched: Fetched, tmp_path: Path
) -> None:
    (lesson := tmp_path / "mine.md").write_text("# Mine\n\nA text.", encoding="utf-8")
    run("xor", str(lesson), "--port", "0")
    for name, following in (("xor", "mine"), ("mine", "xor")):
        page = fetched[f"{name}.html"][1].decode()
        links = re.findall('href="([^"]*html)"', page[page.index('<nav class="links">') :])
        assert links[:2] == ["index.html", f"{following}.html"]


@pytest.mark.usefixtures("_quick")
def test_without_names_there_are_three(run: Run, fetched: Fetched) -> None:
    run("--port", "0")
    assert [*fetched][1:] == ["rgb.html", "xor.html", "circle.html", "index.html"]


@pytest.mark.usefixtures("_quick")
def test_a_file_is_a_scene_too_and_one_that_is_named_twice_is_made_once(
    run: Run, fetched: Fetched, tmp_path: Path
) -> None:
    path = tmp_path / "Mine & yours.py"
    path.write_text(class_pages.find("xor").read_text(encoding="utf-8"), encoding="utf-8")
    run(str(path), "xor", "xor", "--port", "0", "--address", "localhost")
    assert b'href="Mine%20%26%20yours.html"><h2>Mine &amp; yours</h2>' in fetched[""][1]
    assert len(fetched) == 4


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("192.168.1.5", "For the class: http://192.168.1.5:"),
        ("", "This machine is not connected to a network"),
    ],
)
def test_for_a_class_the_address_of_this_machine_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, found: str, said: str
) -> None:
    monkeypatch.setattr(addresses, "address_for_others", lambda version: found)
    assert said in run("xor", "--address", "0.0.0.0", "--port", "0")[1]


@pytest.mark.usefixtures("_quick")
def test_an_address_of_version_6_stands_in_brackets() -> None:
    assert class_pages.url_of("::1", 80) == "http://[::1]:80/"


@pytest.mark.usefixtures("_quick")
def test_it_serves_only_this_machine_unless_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        class_pages, "serve", lambda *words, **more: asked.append((words, more)) or 0
    )
    for line in ([], ["01", "--without-solutions"]):
        run(*line)
    here = "127.0.0.1", None, None
    assert asked == [(((), *here), {"without": False}), ((["01"], *here), {"without": True})]


@pytest.mark.usefixtures("_quick")
def test_a_lesson_brings_the_glossary_to_which_it_leads() -> None:
    assert [*class_pages.paths_of(["04b"])] == ["04b-trouble", "glossary"]
    assert [*class_pages.paths_of(["04b", "glossary"])] == ["04b-trouble", "glossary"]
    assert [*class_pages.paths_of(["rgb"])] == ["rgb"]


@pytest.mark.usefixtures("_quick")
def test_the_list_says_which_page_has_pictures() -> None:
    about = {
        name: class_pages.entry_of(name, path)
        for name, path in class_pages.paths_of(["01", "glossary"]).items()
    }
    assert about["01-one-weight"].about == text("class.lesson")
    assert about["glossary"].about == text("class.text") and about["glossary"].title == "Glossary"


# What is refused, before any page is made.


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize(
    "address",
    [
        *("example.org", "1.2.3", "", "0.0.0.0:80"),
        *("192.0.2.7", "224.0.0.1", "255.255.255.255", "ff02::1"),
    ],
)
def test_an_address_of_no_machine_or_of_none_here_is_refused(address: str) -> None:
    refused(InputError, address).by(class_pages.serve, ["xor"], address, 0)


@pytest.mark.usefixtures("_quick")
def test_a_taken_port_is_refused_and_another_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(InputError, str(port), varies=r"\d+").by(
            class_pages.serve, ["xor"], "127.0.0.1", port
        )


@pytest.mark.usefixtures("_quick")
def test_a_port_that_nobody_named_gives_way_to_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(addresses, "USUAL", taken.getsockname()[1])
        with listening("127.0.0.1", None) as listener:
            assert listener.getsockname()[1] != addresses.USUAL
    with listening("127.0.0.1", None) as listener:
        assert listener.getsockname()[1] == addresses.USUAL


@pytest.mark.usefixtures("_quick")
def test_a_port_of_the_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        socket,
        "create_server",
        Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")),
    )
    refused(InputError, "80").by(class_pages.serve, ["xor"], "127.0.0.1", 80)


@pytest.mark.usefixtures("_quick")
def test_two_scenes_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("xor", "index"):
        (tmp_path / f"{name}.py").touch()
        refused(InputError, f"{name}.html").by(
            class_pages.serve, ["xor", str(tmp_path / f"{name}.py")], "127.0.0.1", 0
        )


@pytest.mark.usefixtures("_quick")
def test_what_no_page_can_train_is_said(run: Run) -> None:
    code, _, err = run("expression", "--port", "0")
    assert code == 1 and "a page trains networks of layers, not Expression" in err


def test_lessons_and_the_guide_are_copied_and_what_is_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(class_pages, "find_spec", lambda name: object())
    mine = tmp_path / "a room" / "notebooks" / "05-xor.ipynb"
    mine.parent.mkdir(parents=True)
    mine.write_text("my answers")
    copy_lessons(str(tmp_path / "a room"))
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("1 existing files were kept")
    assert said[2].endswith(f"jupyter lab '{tmp_path}/a room'")
    assert mine.read_text() == "my answers"
    for folder in ("notebooks", "docs/guide"):
        copied = {path.name for path in (tmp_path / "a room" / folder).iterdir()}
        assert copied == {path.name for path in (ROOT / folder).iterdir() if path.is_file()}


def test_they_are_opened_where_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", SimpleNamespace(main=opened.append))
    monkeypatch.setattr(class_pages, "find_spec", lambda name: object())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    copy_lessons(str(tmp_path))
    assert opened == [["--allow-root", f"--notebook-dir={tmp_path}"]]


def test_what_is_missing_to_open_them_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(class_pages, "find_spec", lambda name: None)
    copy_lessons(str(tmp_path))
    assert pip_command("lessons") in capsys.readouterr().out


CLASS = 30
PAGES = {"01.html": b"a lesson" * 10_000}


class Room:
    """A server that collects, and what visitors send to it."""

    def __init__(self, path: Path, *, is_open: bool = False) -> None:
        self.path, self.seconds = path, 0.0
        self.collecting = Collecting(str(path), is_open=is_open, now=lambda: self.seconds)
        self.collecting.entries = [Entry("01", "One weight")]
        hooks = self.collecting.gate, self.collecting.visit
        self.server = PageServer(listening("127.0.0.1", 0), lambda *who: None, *hooks)

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    @property
    def token(self) -> str:
        return self.collecting.tokens.short if self.collecting.tokens else ""

    def sent(self, message: object, **more: Any) -> Any:
        """What is answered to a message."""
        address = f"ws://127.0.0.1:{self.server.port}/socket"
        with connect(address, proxy=None, close_timeout=1, **more) as client:
            is_raw = isinstance(message, (str, bytes))
            with suppress(ConnectionClosed):  # one who comes too often is answered at once
                client.send(message if is_raw else json.dumps(message))
            return json.loads(client.recv(timeout=30))

    def sends(self, found: object, token: str | None = None, **more: Any) -> Any:
        """What is answered to a record."""
        return self.sent({"token": self.token if token is None else token, "record": found}, **more)

    def got(self, path: str) -> tuple[int, bytes]:
        return got(self.server.port, path)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Callable[..., Room]]:
    with ExitStack() as stack:

        def opened(**more: Any) -> Room:
            made = Room(tmp_path / "class.jsonl", **more)
            stack.enter_context(made.server).start(PAGES)
            return made

        yield opened


@pytest.fixture
def at(room: Callable[..., Room]) -> Room:
    return room()


OK = {"ok": True}


def test_a_class_fetches_a_page_and_sends_its_answers_at_once(
    room: Callable[..., Room], tmp_path: Path
) -> None:
    at, folder = room(is_open=True), tmp_path / "folder"
    folder.mkdir()
    records = [record(f"Pupil {i}", gradient=given("8", f"{i}", right=False)) for i in range(CLASS)]

    def visit(found: dict[str, Any]) -> Any:
        status, page = at.got(f"/01.html?token={at.token}")
        assert (status, page) == (200, PAGES["01.html"])
        (folder / f"{found['name']}.json").write_text(json.dumps(found))
        return at.sends(found)

    with ThreadPoolExecutor(CLASS) as pupils:
        assert list(pupils.map(visit, records)) == [OK] * CLASS
    assert len(at.lines) == CLASS
    one, other = table_in(at.path), table_in(folder)
    assert one.sheet() == other.sheet() and len(one.rows) == CLASS
    assert one.remarks == other.remarks == []


def test_the_file_has_the_record_alone_and_is_for_its_owner(at: Room) -> None:
    assert at.sends(record("Änna") | {"born": 2011, "address": "here"}) == OK
    assert at.lines[0].keys() == record().keys() and at.lines[0]["name"] == "Änna"
    assert "127.0.0.1" not in at.path.read_text("utf-8")
    assert stat.S_IMODE(at.path.stat().st_mode) == 0o600
    at.path.unlink()
    assert at.sends(record("Bo")) == OK
    assert stat.S_IMODE(at.path.stat().st_mode) == 0o600 and len(at.lines) == 1


def test_what_is_kept_is_acknowledged_where_nothing_can_be_printed(
    room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = room()
    monkeypatch.setattr(class_pages, "say", Mock(side_effect=BrokenPipeError))
    assert at.sends(record("Anna")) == OK and len(at.lines) == 1


def test_an_existing_file_is_continued_behind_what_was_cut_off(
    room: Callable[..., Room], tmp_path: Path
) -> None:
    path = tmp_path / "class.jsonl"
    path.write_text(json.dumps(record("Anna")) + '\n{"format": "scal')
    path.chmod(0o644)
    at = room()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert at.sends(record("Bo")) == OK
    assert [*table_in(path).rows] == ["Anna", "Bo"]


# Who may send.


def test_on_this_machine_alone_no_token_is_needed(at: Room) -> None:
    assert at.token == "" and at.sends(record()) == OK
    assert at.got("/01.html")[0] == 200


def test_in_a_room_the_list_of_pages_is_for_those_with_the_token_and_passes_it_on(
    room: Callable[..., Room],
) -> None:
    at = room(is_open=True)
    for path in ("/", "/index.html"):
        status, form = at.got(path)
        assert status == 403 and b"<form>" in form and text("class.token.ask").encode() in form
    status, listed = at.got(f"/?token={at.token.lower()}")
    assert status == 200 and f'href="01.html?token={at.token}"'.encode() in listed
    assert text("page.index.collects").encode() in listed


def test_a_wrong_token_is_refused_and_guesses_are_few(room: Callable[..., Room]) -> None:
    at = room(is_open=True)
    for token in ("", "WRONG2", ["list"], None):
        told = at.sent({"token": token, "record": record()})
        assert told == {"error": text("class.token.elsewhere")}
    assert at.sent({"record": record()}) == {"error": text("class.token.elsewhere")}
    for _ in range(FREE + 1):
        told = at.sends(record(), "WRONG3")
    assert re.search(r"wait \d+ s", told["error"])
    assert at.got("/?token=WRONG4")[0] == 429
    assert not at.lines


def test_another_origin_cannot_send(room: Callable[..., Room]) -> None:
    at = room(is_open=True)
    here = f"http://127.0.0.1:{at.server.port}"
    assert at.sends(record(), origin=here) == OK
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus, match="403"):
            at.sends(record(), origin=origin)
    assert len(at.lines) == 1


# What is sent.


@pytest.mark.parametrize(
    "message",
    [
        "", "{", "[]", "5", "null", '{"record": NaN}', "[" * 60_000, "1" * 10_000, b"\xff\0", b"{}",
        "{}", '{"record": 5}', '{"record": {"format": "scalarviz answers"}}',
        json.dumps({"record": record("a" * 10_000)}),
        json.dumps({"record": record(q=given(*["1"] * 2_000))}),
        json.dumps({"record": record(), "more": "x" * LARGEST_RECORD}),
    ],
    ids=lambda message: str(message[:24]),
)  # fmt: skip
def test_garbage_is_refused_in_a_sentence_and_not_kept(
    at: Room, message: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    told = at.sent(message)
    assert told.keys() == {"error"} and 10 < len(told["error"]) < 200
    assert at.sends(record()) == OK and len(at.lines) == 1
    assert not caplog.records


def test_a_message_beyond_all_bounds_ends_its_connection(at: Room) -> None:
    with pytest.raises(ConnectionClosed):
        at.sent("x" * (LARGEST + 1))
    assert at.sends(record()) == OK


def test_a_visitor_that_floods_waits(at: Room) -> None:
    told = [at.sends(record(f"{i}")) for i in range(AT_ONCE + 5)]
    assert told[:AT_ONCE] == [OK] * AT_ONCE
    assert all("10 s" in each["error"] for each in told[AT_ONCE:])
    at.wait(EVERY)
    assert at.sends(record("again")) == OK and "error" in at.sends(record("more"))
    assert len(at.lines) == AT_ONCE + 1


def test_large_records_of_a_visitor_count_as_several(room: Callable[..., Room]) -> None:
    at, large = room(), record("Bo", q=given(*["1" * 1000] * 55))
    told = [at.sends(large) for _ in range(5)]
    assert told[:4] == [OK] * 4
    (wait,) = re.findall(r"in (\d+) s", told[4]["error"])
    assert at.sends(record("Anna")) == OK  # of the same address
    at.wait(int(wait))
    assert "in 10 s" in at.sends(large)["error"]  # since Anna has sent hers
    at.wait(EVERY)
    assert at.sends(large) == OK and len(at.lines) == 6


def test_a_visitor_cannot_fill_the_file(
    room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_pages, "MOST_OF_ONE", 5)
    at, large = room(), record("Bo", q=given(*["1" * 1000] * 9))
    told = [at.sends(each) for each in (large, record("Bo"), large, record("Cem"), record("Bo"))]
    assert [each == OK for each in told] == [True, True, False, True, False]
    assert "tell your teacher" in told[2]["error"] and told[4] == told[2]
    at.collecting._take(json.dumps({"record": record("Anna")}), "10.0.0.2")
    assert [each["name"] for each in at.lines] == ["Bo", "Bo", "Cem", "Anna"]


def test_the_file_holds_so_many_records_and_so_many_bytes(
    room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "class.jsonl").write_text(f"{json.dumps(record('Anna'))}\n" * 3)
    monkeypatch.setattr(class_pages, "MOST_RECORDS", 5)
    at = room()
    told = [at.sends(record("Bo")) for _ in range(3)]
    assert told[:2] == [OK] * 2 and "full" in told[2]["error"]
    monkeypatch.setattr(class_pages, "MOST_RECORDS", 1000)
    monkeypatch.setitem(
        class_pages.FILES, ".jsonl", (at.path.stat().st_size + 10, bytes.splitlines)
    )
    assert "full" in at.sends(record("Bo"))["error"] and len(at.lines) == 5


@pytest.mark.parametrize("taken", [None, 7])
def test_what_the_disk_does_not_take_is_told_and_the_file_stays_whole(
    at: Room, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], taken: int | None
) -> None:
    assert at.sends(record("Anna")) == OK
    opened = at.collecting._opened

    class Full:
        """A file on a disk that takes so many bytes, or raises an error."""

        def __enter__(self) -> Any:
            self.file = opened()
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, line: bytes) -> int:
            if taken is None:
                raise OSError(28, "No space left on device")
            return self.file.write(line[:taken])

    monkeypatch.setattr(at.collecting, "_opened", Full)
    assert "cannot save" in at.sends(record("Bo"))["error"]
    assert "cannot be saved: " in capsys.readouterr().out  # where the teacher reads it
    monkeypatch.undo()
    assert at.sends(record("Cem")) == OK
    assert [each["name"] for each in at.lines] == ["Anna", "Cem"]


def test_pupils_can_send_while_somebody_holds_all_the_connections_he_gets(
    room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_pages, "ASKING", 1.0)
    monkeypatch.setattr(web_server, "ASKING", 1.0)
    at, upgrade = room(), b"GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    upgrade += b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    upgrade += b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(MOST):
            held = socket.create_connection(("127.0.0.1", at.server.port), timeout=30)
            stack.enter_context(held).sendall(upgrade)
        until(lambda: is_served(at))
        until(lambda: at.sends(record("Anna")) == OK, lambda: at.wait(EVERY))
    assert [each["name"] for each in at.lines] == ["Anna"]


def is_served(at: Room) -> bool:
    """Whether a page can be fetched."""
    with suppress(ConnectionError, HTTPException):
        return at.got("/01.html")[0] == 200
    return False


# The command.


@pytest.fixture
def run_collecting(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """What `scalarviz class` prints; while it serves, a pupil sends a record."""
    monkeypatch.setattr(class_pages, "page_of", lambda show, links: Page(show.title.encode(), 3))

    def send(server: PageServer) -> None:
        said = capsys.readouterr().out
        token = (re.search(r"token=(\w+)", said) or ["", ""])[1]
        with connect(f"ws://127.0.0.1:{server.port}/socket", proxy=None) as client:
            client.send(json.dumps({"token": token, "record": record("Anna")}))
            assert json.loads(client.recv(timeout=30)) == OK
        while "FORCE_COLOR" in os.environ and "right after 2" not in said:
            said += capsys.readouterr().out
        print(said, end="")
        raise KeyboardInterrupt

    monkeypatch.setattr(PageServer, "wait", send)

    def answer(*words: str) -> str:
        code, out, _ = run("xor", "--port", "0", *words)
        assert code == 130
        return out

    return answer


def test_the_command_keeps_answers_and_ends_with_the_table(
    run_collecting: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "class.jsonl"
    said = run_collecting("--collect", str(path))
    assert f"Answers from pages on this machine are saved in {path}." in said
    assert "token" not in said and "Anna sends answers to 01-one-weight" in said
    with pytest.raises(SystemExit):
        commands.main(["collect", str(path)])
    assert said.endswith(capsys.readouterr().out) and "right after 2" in said


@pytest.mark.slow
def test_a_terminal_shows_the_table_while_the_class_works(
    run_collecting: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = run_collecting("--collect", str(tmp_path / "class.jsonl"))
    live, end = said.split(text("class.ended.one", count=0).partition(":")[0], 1)
    assert live.index("once: 8") < live.index("right after 2")  # what fits is the questions
    assert end.rindex("right after 2") < end.rindex("once: 8")


def test_for_a_room_the_address_has_a_token_and_who_can_send_is_said(
    run_collecting: Callable[..., str], tmp_path: Path
) -> None:
    said = run_collecting("--address", "0.0.0.0", "--collect", str(tmp_path / "class.jsonl"))
    assert re.search(r"/\?token=[2-9A-Z]{6}\n", said) or "not connected to a network" in said
    assert "Anyone with this address" in said and "only you can read" in said


@pytest.mark.parametrize("content", ["notes of a teacher\n", "{}\n", "a" * 8_000_001])
def test_a_file_of_something_else_or_too_much_is_refused_and_stays(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "class.jsonl"
    path.write_text(content)
    path.chmod(0o644)
    refused(InputError, "class.jsonl").by(Collecting, str(path), is_open=False)
    assert path.read_text() == content and stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_file_of_another_kind_or_in_no_folder_is_refused(tmp_path: Path) -> None:
    refused(InputError, "class.csv").by(Collecting, "class.csv", is_open=False)
    refused(FileError).by(Collecting, str(tmp_path / "none" / "class.jsonl"), is_open=False)
