"""`scalarviz class`: what is served, where, and what is refused."""

import errno
import re
import socket
import sys
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.cli import class_pages as module
from scalarviz.faces.cli import commands
from scalarviz.pages import addresses, web_server
from scalarviz.pages.addresses import listening
from scalarviz.pages.page import Page
from scalarviz.pages.web_server import PageServer
from tests.wording import refused

Run = Callable[..., tuple[int, str, str]]
Fetched = dict[str, tuple[int, bytes]]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are their titles, and `sys.path` stays."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(
        module, "page_of", lambda show, links: Page((show.title + links).encode(), 3)
    )


@pytest.fixture
def fetched() -> Fetched:
    return {}


def got(port: int, path: str) -> tuple[int, bytes]:
    """The status and the content of a page, as soon as there is a server."""
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", path)
        except ConnectionRefusedError:
            continue
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fetched: Fetched
) -> Run:
    """What `scalarviz class` answers; while it serves, all is fetched, then comes Ctrl-C."""

    def fetch(server: PageServer) -> None:
        for path in ("/", *server.files):
            fetched[unquote(path[1:])] = got(server.port, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(web_server.PageServer, "wait", fetch)

    def answer(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            commands.main(["class", *words])
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return answer


def test_the_named_scenes_are_served_to_this_machine_until_ctrl_c(
    run: Run, fetched: Fetched
) -> None:
    code, out, err = run("xor", "circle", "--port", "0")
    assert (code, err) == (130, "")
    assert re.search(r"^The pages are on http://127\.0\.0\.1:\d+/ for this machine", out, re.M)
    assert [*fetched] == ["", "xor.html", "circle.html", "index.html"]
    assert all(status == 200 and content for status, content in fetched.values())
    assert b"xor.html" in fetched[""][1] and b"rgb.html" not in fetched[""][1]
    assert "127.0.0.1 opens xor.html\n127.0.0.1 opens circle.html\nStopped: 1 device came.\n" in out


def test_each_page_leads_back_to_the_list_and_on_to_the_next(
    run: Run, fetched: Fetched, tmp_path: Path
) -> None:
    (lesson := tmp_path / "mine.md").write_text("# Mine\n\nA text.", encoding="utf-8")
    run("xor", str(lesson), "--port", "0")
    for name, following in (("xor", "mine"), ("mine", "xor")):
        page = fetched[f"{name}.html"][1].decode()
        links = re.findall('href="([^"]*html)"', page[page.index('<nav class="links">') :])
        assert links[:2] == ["index.html", f"{following}.html"]


def test_without_names_there_are_three(run: Run, fetched: Fetched) -> None:
    run("--port", "0")
    assert [*fetched][1:] == ["rgb.html", "xor.html", "circle.html", "index.html"]


def test_a_file_is_a_scene_too_and_one_that_is_named_twice_is_made_once(
    run: Run, fetched: Fetched, tmp_path: Path
) -> None:
    path = tmp_path / "Mine & yours.py"
    text = module.find("xor").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    run(str(path), "xor", "xor", "--port", "0", "--address", "localhost")
    assert b'href="Mine%20%26%20yours.html"><h2>Mine &amp; yours</h2>' in fetched[""][1]
    assert len(fetched) == 4


@pytest.mark.parametrize(
    ("found", "said"),
    [("192.168.1.5", "For the class: http://192.168.1.5:"), ("", "This machine is in no network")],
)
def test_for_a_class_the_address_of_this_machine_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, found: str, said: str
) -> None:
    monkeypatch.setattr(addresses, "address_for_others", lambda version: found)
    assert said in run("xor", "--address", "0.0.0.0", "--port", "0")[1]


def test_an_address_of_version_6_stands_in_brackets() -> None:
    assert module.url_of("::1", 80) == "http://[::1]:80/"


def test_it_serves_only_this_machine_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(module, "serve", lambda *words, **more: asked.append((words, more)) or 0)
    for line in (["class"], ["class", "01", "--without-solutions"]):
        with pytest.raises(SystemExit):
            commands.main(line)
    here = "127.0.0.1", None, None
    assert asked == [(((), *here), {"without": False}), ((["01"], *here), {"without": True})]


def test_a_lesson_brings_the_glossary_to_which_it_leads() -> None:
    assert [*module.paths_of(["04b"])] == ["04b-trouble", "glossary"]
    assert [*module.paths_of(["04b", "glossary"])] == ["04b-trouble", "glossary"]
    assert [*module.paths_of(["rgb"])] == ["rgb"]


def test_the_list_says_which_page_has_pictures() -> None:
    about = {
        name: module.entry_of(name, path)
        for name, path in module.paths_of(["01", "glossary"]).items()
    }
    assert about["01-one-weight"].about == text("class.lesson")
    assert about["glossary"].about == text("class.text") and about["glossary"].title == "Glossary"


# What is refused, before any page is made.


@pytest.mark.parametrize("address", ["example.org", "1.2.3", "", "0.0.0.0:80"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with refused(InputError, address):
        module.serve(["xor"], address, 0)


@pytest.mark.parametrize("address", ["192.0.2.7", "224.0.0.1", "255.255.255.255", "ff02::1"])
def test_an_address_of_no_one_machine_here_is_refused(address: str) -> None:
    with refused(InputError, address):
        module.serve(["xor"], address, 0)


def test_a_taken_port_is_refused_and_another_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with refused(InputError, str(port), varies=r"\d+"):
            module.serve(["xor"], "127.0.0.1", port)


def test_a_port_that_nobody_named_gives_way_to_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(addresses, "USUAL", taken.getsockname()[1])
        with listening("127.0.0.1", None) as listener:
            assert listener.getsockname()[1] != addresses.USUAL
    with listening("127.0.0.1", None) as listener:
        assert listener.getsockname()[1] == addresses.USUAL


def test_a_port_of_the_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object, **more: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", forbid)
    with refused(InputError, "80"):
        module.serve(["xor"], "127.0.0.1", 80)


def test_two_scenes_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("xor", "index"):
        (tmp_path / f"{name}.py").touch()
        with refused(InputError, f"{name}.html"):
            module.serve(["xor", str(tmp_path / f"{name}.py")], "127.0.0.1", 0)


def test_what_no_page_can_train_is_said(run: Run) -> None:
    code, _, err = run("expression", "--port", "0")
    assert code == 1 and "a page trains networks of layers, and Expression is none" in err
