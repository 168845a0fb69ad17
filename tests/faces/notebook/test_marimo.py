"""The page of a session in a real marimo and a real browser; pip install marimo."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.faces.notebook.lab import chromium, until
from tests.root import ROOT

pytestmark = pytest.mark.slow

BOOK = """import marimo
app = marimo.App()

@app.cell
def _():
    import scalarviz as sv
    net = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=0)
    s = sv.Session(net, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
    sv.watch(s)
"""
FRAME = "iframe[sandbox]"
STEP = "globalThis.scalarviz?.state?.step ?? -1"


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}health", timeout=5):
            return True
    except (URLError, TimeoutError, ConnectionError):
        return False


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of the notebook, which runs as an application."""
    pytest.importorskip("marimo", reason="pip install marimo")
    book = tmp_path / "book.py"
    book.write_text(BOOK)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-y", "run", str(book), "--headless", "--no-token", "--port", str(port)]
    with (tmp_path / "marimo.log").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "marimo", *words],
            env=os.environ | {"PYTHONPATH": str(ROOT), "MARIMO_SKIP_UPDATE_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            until(lambda: answers(address), "marimo answers")
            yield address
        finally:
            process.terminate()
            process.wait(20.0)


def test_the_page_is_linked_with_its_session(url: str, tmp_path: Path) -> None:
    with chromium() as browser:
        tab: Any = browser.new_page()
        complaints: list[str] = []
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(url)
        element = tab.locator(FRAME)
        element.wait_for(timeout=60e3)
        page = element.element_handle().content_frame()
        until(lambda: page.evaluate(STEP) == 0, "it has the state")
        page.click("#on")
        until(lambda: page.evaluate(STEP) == 1, "a step is taken")
        page.click("#play")
        until(lambda: page.evaluate(STEP) > 5, "it plays")
        tab.emulate_media(color_scheme="dark")
        tab.evaluate("document.body.dataset.theme = 'dark'")
        until(lambda: page.evaluate("scalarviz.theme") == "dark", "it has the theme around")
        tab.screenshot(path=tmp_path / "marimo.png")
        assert complaints == []
