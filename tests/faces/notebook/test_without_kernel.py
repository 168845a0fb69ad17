"""Calls of cells in a real JupyterLab or marimo, and notebooks whose kernel has ended."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest

from scalarviz.base.texts import text
from tests.faces.notebook.lab import LivePage, Page, Server, chromium, serving, until
from tests.lessons import KERNEL
from tests.machine import ROOT

pytestmark = pytest.mark.slow

LIVE = ".scalarviz-page iframe"
PICTURE = 'img[src^="data:image/png"]'
NOTHING = "'nothing asked yet'"
SMALL = {"width": 1280, "height": 800}
SESSION = """import scalarviz as sv
def session(seed=0):
    net = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=seed)
    return sv.Session(net, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
s = session()
"""


@pytest.fixture
def page(
    server: Server, browser: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Page]:
    """A notebook with the sessions, and two cells; nothing may be complained of."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTHING) for _ in range(3)])
    book.metadata.kernelspec = KERNEL
    file = server.notebooks / f"{request.node.name}.ipynb"
    nbformat.write(book, file)
    made = Page.open(browser, server, file.name)
    made.tab.set_viewport_size(SMALL)
    made.run(0, SESSION)
    yield made
    made.tab.screenshot(path=tmp_path / "end.png")
    assert made.heard() == []
    made.tab.close()


def seen_below(page: Page, selector: str, index: int = 1) -> int:
    """How many elements below a cell are not hidden."""
    return sum(each.is_visible() for each in page.cell(index).locator(selector).all())


def test_several_stand_side_by_side_and_are_readable(page: Page, tmp_path: Path) -> None:
    page.run(1, "view = sv.watch([s, session(1)])")
    pages = [LivePage(page, 1, number).show() for number in (0, 1)]
    boxes = [each.element.bounding_box() for each in pages]
    page.tab.screenshot(path=tmp_path / "several.png")
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    assert min(box["width"] for box in boxes) > 400.0
    pages[1].press("on")
    for each in pages:
        each.wait(lambda each=each: each.step == 1)
        assert each.turns()


def test_a_snapshot_is_a_picture_and_a_closed_view_leaves_one(page: Page, tmp_path: Path) -> None:
    page.run(1, "view = sv.watch(s)")
    live = LivePage(page, 1).show()
    page.run(2, "view.snapshot()")
    until(lambda: seen_below(page, PICTURE, 2) == 1, "the snapshot is seen")
    assert seen_below(page, PICTURE) == 0
    live.show().press("play")
    live.wait(lambda: live.step > 1)
    page.run(2, "view.close()")
    until(
        lambda: (seen_below(page, LIVE), seen_below(page, PICTURE)) == (0, 1), "the picture is left"
    )
    page.tab.screenshot(path=tmp_path / "closed.png")
    assert page.run(2, "s.playing") == "False"


def test_a_cell_that_runs_again_has_one_page_of_the_same_training(page: Page) -> None:
    page.run(1, "view = sv.watch(s)")
    LivePage(page, 1).show().press("play")
    page.run(1, "view = sv.watch(s)")
    live = LivePage(page, 1).show()
    assert seen_below(page, LIVE) == 1
    live.wait(lambda: live.app("state.playing"))
    step = live.step
    live.wait(lambda: live.step > step)
    live.pause()


def test_an_output_that_is_cleared_lets_the_training_rest(page: Page) -> None:
    page.run(1, "view = sv.watch(s)")
    LivePage(page, 1).show().press("play")
    until(lambda: page.run(2, "s.playing") == "True", "it plays")
    page.activate(1)
    page.command("notebook:clear-cell-output")
    until(lambda: page.run(2, "s.playing") == "False", "it rests")


def test_the_page_of_an_expression_follows_its_session(page: Page, tmp_path: Path) -> None:
    page.run(0, SESSION + "slope = sv.Value(0.5)\nline = sv.compile(lambda x: slope * x, inputs=1)")
    page.run(1, "e = sv.Session(line, ([[1.0]], [[2.0]]), 'mse', sv.SGD(0.1)); v = sv.watch(e)")
    live = LivePage(page, 1).show()
    for move, step in (("e.advance(5)", 5), ("e.back(2)", 3), ("e.advance(37)", 40)):
        page.run(2, move)
        live.wait(lambda step=step: live.step == step)
    live.show().press("on")
    live.wait(lambda: live.step == 41)
    page.tab.screenshot(path=tmp_path / "expression.png")


FOLLOWED = """import time, numpy as np
run = sv.follow(path="night.sv", show=None)
run"""
TRAINS = """began, kernel = time.time(), np.ones((3, 2))
while time.time() - began < 30.0:
    run.step({"kernel": kernel}, loss=1.0 / (1 + run.steps))
    time.sleep(0.02)"""


def test_a_followed_run_is_live_below_its_cell_while_a_later_one_trains(page: Page) -> None:
    assert page.run(1, FOLLOWED) == text("notebook.follow")
    page.start(2, TRAINS)
    live, prompt = LivePage(page, 1), page.cell(2).locator(".jp-InputPrompt")
    until(lambda: page.cell(1).locator(LIVE).count() and live.is_drawn, "the page appears")
    first = live.step
    live.wait(lambda: live.step > first + 1)
    assert prompt.inner_text() == "[*]:"  # the kernel is busy all the while


CELLS = (
    """import scalarviz as sv
net = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=0)
session = sv.Session(net, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
view = sv.watch(session)""",
    """sv.predict("How many parameters?", 31)""",
)
FIELD = ".scalarviz input[type=text]"
AGAIN, GONE = text("notebook.again"), text("notebook.gone").split(":")[0]


def written(path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    book.metadata.kernelspec = KERNEL
    nbformat.write(book, path)


def seen(tab: Any, selector: str) -> int:
    """How many elements are not hidden."""
    return sum(each.is_visible() for each in tab.locator(selector).all())


def words(tab: Any) -> str:
    """What is written below the cells."""
    return "\n".join(tab.locator(".jp-OutputArea").all_inner_texts())


def is_stored(tab: Any) -> bool:
    """Whether picture and question are seen as a notebook without a kernel stores them."""
    said = words(tab)
    return (
        seen(tab, PICTURE) == 1
        and seen(tab, LIVE) == seen(tab, FIELD) == 0
        and said.count("How many parameters?") == 1
        and said.count(AGAIN) == 2
        and "widget" not in said
    )


def works(tab: Any) -> bool:
    said = words(tab)
    return (
        seen(tab, LIVE) == 1
        and seen(tab, PICTURE) == 0
        and seen(tab, f"{FIELD}[placeholder]") == 1
        and said.count("How many parameters?") == 1
        and AGAIN not in said
    )


def test_after_a_restart_the_page_says_so_and_turns_and_the_next_day_its_picture_is_there(
    browser: Any, tmp_path: Path
) -> None:
    with serving(tmp_path) as server:
        file = server.notebooks / "book.ipynb"
        written(file)
        page = Page.open(browser, server, file.name)
        page.run_all()
        until(lambda: works(page.tab), "page and question are live, and seen once")
        live = LivePage(page, 0).show()
        page.stored(file)
        page.tab.screenshot(path=tmp_path / "live.png")
        live.press("on")
        live.wait(lambda: live.step == 1)
        page.restart()
        live.wait(lambda: GONE in live.said())
        assert live.turns() and live.step == 1
        until(lambda: seen(page.tab, FIELD) == 0 and AGAIN in words(page.tab), "as it was stored")
        page.tab.screenshot(path=tmp_path / "restarted.png")
        page.run_all()
        until(lambda: works(page.tab), "they are live again")
        live.show()
        assert GONE not in live.said() and live.step == 0
        assert page.heard() == []
        page.tab.close()
        shutil.copy(file, server.notebooks / "next-day.ipynb")  # a notebook without its kernel
        page = Page.open(browser, server, "next-day.ipynb")
        until(lambda: is_stored(page.tab), "both are as they were stored")
        page.tab.wait_for_timeout(4e3)  # so long it looks for what needs the kernel
        assert is_stored(page.tab), words(page.tab)
        page.tab.screenshot(path=tmp_path / "next-day.png")
        page.tab.close()


def test_a_page_that_was_executed_by_nbconvert_shows_both_without_a_network(
    browser: Any, tmp_path: Path
) -> None:
    written(tmp_path / "book.ipynb")
    command = ["-m", "nbconvert", "--execute", "--to", "html", str(tmp_path / "book.ipynb")]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    tab = browser.new_page()
    tab.route(re.compile("^https?:"), lambda route: route.abort())
    tab.goto((tmp_path / "book.html").as_uri(), wait_until="domcontentloaded")
    until(lambda: is_stored(tab), "picture and question are seen", 20.0)
    tab.screenshot(path=tmp_path / "page.png")
    tab.close()


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
