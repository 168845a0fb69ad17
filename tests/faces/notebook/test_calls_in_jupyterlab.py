"""What the calls of cells do to pages and pictures, in a real JupyterLab and a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.faces.notebook.lab import LivePage, Page, Server, chromium, lack, serving, until
from tests.lessons import KERNEL

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if why := lack():
        pytest.skip(why)
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("lab")) as made:
        yield made


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


def seen(page: Page, selector: str, index: int = 1) -> int:
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
    until(lambda: seen(page, PICTURE, 2) == 1, "the snapshot is seen")
    assert seen(page, PICTURE) == 0
    live.show().press("play")
    live.wait(lambda: live.step > 1)
    page.run(2, "view.close()")
    until(lambda: (seen(page, LIVE), seen(page, PICTURE)) == (0, 1), "the picture is left")
    page.tab.screenshot(path=tmp_path / "closed.png")
    assert page.run(2, "s.playing") == "False"


def test_a_cell_that_runs_again_has_one_page_of_the_same_training(page: Page) -> None:
    page.run(1, "view = sv.watch(s)")
    LivePage(page, 1).show().press("play")
    page.run(1, "view = sv.watch(s)")
    live = LivePage(page, 1).show()
    assert seen(page, LIVE) == 1
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
