"""Options behind "…" in a page that is open in a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.browser import Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

OPTIMIZER = "[...document.querySelector('#optimizer').selectedOptions].map(each => each.text)[0]"


@pytest.fixture(scope="module")
def show() -> Show:
    return Show.of(load(find("rgb"))())


@pytest.fixture
def tab(opened: Opens, show: Show, tmp_path: Path) -> Tab:
    """rgb after 3 steps, with "…" open."""
    path = tmp_path / "rgb.html"
    path.write_bytes(page_of(show).text)
    found = opened(path, reduced_motion="reduce").ready()
    found.press("ArrowRight", 3)
    found.page.click("#more")
    return found


def test_options_are_chosen_explained_and_undone(tab: Tab, show: Show) -> None:
    tab.page.select_option("#optimizer", label="Adam")
    tab.settle()
    tab.page.select_option("#size", "2")
    tab.settle()
    assert (tab.state["rate"], tab.ask("app.state.size")) == (0.001, 2)
    tab.page.select_option("#channel", label="change since start")
    tab.settle()
    assert "change since start" in tab.ask("JSON.stringify(app.picture.words)")
    tab.page.click("#more")
    tab.press(".", 12)
    assert "sqrt(v / correction2)" in tab.shown("caption")
    assert tab.ask("app.state.batch") == 2
    tab.page.locator("h1").click()
    tab.press("z", 2)
    assert tab.ask(OPTIMIZER) == "SGD" and tab.state["rate"] == 0.5
    assert tab.ask("app.state.size") == 8 and tab.state["step"] == 3

    tab.page.click("#more")
    tab.click("#weights")
    network = show.session.network
    assert tab.shown("chip") == text("page.weights", seed=network.seed + 1)
    wanted = network.fresh(network.seed + 1).bank.value
    np.testing.assert_array_equal(np.array(tab.state["value"], np.float32), wanted)
    assert tab.state["step"] == 0
    tab.page.locator("h1").click()
    tab.press("z")
    assert tab.state["step"] == 3
