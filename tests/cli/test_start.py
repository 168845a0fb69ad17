"""`scalarviz` without a command: a window, else a page in a browser, else what to type."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from scalarviz.cli import commands
from scalarviz.cli import start as starting
from scalarviz.errors import DisplayError
from scalarviz.pages.server import PageServer
from tests.wording import refused

ROOT = Path(__file__).parent.parent.parent
BROWSER = """
import sys, urllib.request
page = urllib.request.urlopen(sys.argv[1]).read().decode()
open({seen!r}, "w").write(f"{{sys.argv[1]}} {{len(page) > 100_000}} {{'<html' in page}}")
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")


def nowhere(patch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        patch.delenv(name, raising=False)


def test_in_a_pipe_it_prints_its_help() -> None:
    command = [sys.executable, "-m", "scalarviz"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0 and "Usage: scalarviz" in ran.stdout and "watch" in ran.stdout


def test_a_window_opens_on_rgb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    seen = []
    monkeypatch.setattr(starting, "check_window", lambda: None)
    monkeypatch.setattr(starting, "watch", lambda show, **more: seen.append((show, more)) or 0)
    assert starting.start("") == 0
    ((show, more),) = seen
    assert "learns colours" in show.title and more["recipe"].values["hidden"] == 8


def test_without_window_and_browser_it_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    nowhere(monkeypatch)
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    with refused(DisplayError, "scalarviz render rgb -o rgb.png"):
        commands.start()


def test_a_refused_context_leads_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    nowhere(monkeypatch)
    monkeypatch.setenv("BROWSER", "true")

    def watch(*given: object, **more: object) -> int:
        raise DisplayError("OpenGL is refused here; without a window ")

    told = []
    monkeypatch.setattr(starting, "check_window", lambda: None)
    monkeypatch.setattr(starting, "watch", watch)
    monkeypatch.setattr(starting, "in_browser", lambda show, lack: told.append(lack) or 130)
    assert starting.start("") == 130 and told == ["OpenGL is refused here"]


def test_a_browser_that_runs_already_finds_the_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[PageServer] = []
    came: list[bytes] = []

    class Server(PageServer):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    def browse(url: str) -> None:
        try:
            address = ("127.0.0.1", made[0].port)
            with socket.create_connection(address, timeout=20.0) as connection:
                connection.sendall(b"GET /rgb.html HTTP/1.1\r\n\r\n")
                came.append(connection.recv(1000))
        finally:
            made[0].shutdown()

    class Now:
        """A thread that is quicker than everything else."""

        def __init__(self, target: Any, args: Any, daemon: bool) -> None:
            self.thread = Thread(target=target, args=args, daemon=daemon)

        def start(self) -> None:
            self.thread.start()
            self.thread.join(0.3)

    monkeypatch.setattr(starting, "PageServer", Server)
    monkeypatch.setattr(starting, "Thread", Now)
    monkeypatch.setattr(starting.webbrowser, "open", browse)
    monkeypatch.setattr(starting, "page_of", lambda show: SimpleNamespace(text=b"<html>page"))
    assert starting.in_browser(None, "no screen") == 130
    assert b"200 OK" in came[0] and "no screen" in capsys.readouterr().out


def test_without_a_screen_a_browser_gets_the_page_and_nothing_is_written(tmp_path: Path) -> None:
    import pty

    seen, script = tmp_path / "seen", tmp_path / "browser.py"
    script.write_text(BROWSER.format(seen=str(seen)), encoding="utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY")
    } | {"BROWSER": f"{sys.executable} {script} %s", "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scalarviz"], stdout=theirs, stderr=theirs, stdin=theirs,
        cwd=folder, env=environment,
    )  # fmt: skip
    os.close(theirs)
    said = ""
    while "Ctrl-C" not in said:
        said += os.read(ours, 4096).decode()
    for _ in range(600):
        if seen.exists() and seen.read_text():
            break
        assert process.poll() is None
        signal.sigtimedwait([], 0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    url, large, html = seen.read_text().split()
    assert url in said and (large, html) == ("True", "True")
    assert "there is no screen" in said or "needs PySide6" in said
    assert list(folder.iterdir()) == []
