"""A notebook whose kernel has ended or is another one keeps its pictures and its question."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from scalarviz.base.texts import text
from tests.faces.notebook.lab import LivePage, Page, chromium, lack, serving, until
from tests.lessons import KERNEL

pytestmark = pytest.mark.slow

CELLS = (
    """import scalarviz as sv
net = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=0)
session = sv.Session(net, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
view = sv.watch(session)""",
    """sv.predict("How many parameters?", 31)""",
)
PICTURE = 'img[src^="data:image/png"]'
LIVE = ".scalarviz-page iframe"
FIELD = ".scalarviz input[type=text]"
AGAIN, GONE = text("notebook.again"), text("notebook.gone").split(":")[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if why := lack():
        pytest.skip(why)
    with chromium() as made:
        yield made


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
