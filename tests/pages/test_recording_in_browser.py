"""A page with a recording in a browser: it plays, goes back, follows links, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("recorded") / "rgb.html"
    found.write_bytes(page_of(Show.of(load(find("rgb"))()), engine=False, steps=200).text)
    return found


WITHOUT_ENGINE = "delete globalThis.WebAssembly; delete globalThis.Worker"


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
def test_a_recording_is_played_walked_and_linked(
    opened: Opens, file: Path, size: tuple[int, int]
) -> None:
    tab = opened(file, size, "#step=20&op=7&pin=42", before=WITHOUT_ENGINE).ready()
    tab.until("app.state.step === 20 && app.state.operation === 7 && app.pinned?.row === 42")
    tab.settle()
    assert len(tab.shown("caption")) > 20 and len(tab.shown("card")) > 40
    hiding = "#rate", "#rate-number", "#undo", "#card label", "#sample-after"
    for hidden in (*hiding, "#card .toggle", "#branch", "#optimizer", "#size", "#weights"):
        assert not tab.page.locator(hidden).first.is_visible(), hidden
    before = tab.state
    tab.press(".", 2)
    tab.press(",", 2)
    assert tab.state == before
    for key in ("ArrowUp", "e", "b"):
        tab.ask("app.chip.hide()")
        tab.press(key)
        assert tab.shown("chip") == text("page.recorded.refused")
    tab.page.keyboard.press("Escape")
    tab.page.locator("#strip button").first.click()
    tab.settle()
    tab.page.click("#play")
    tab.until("app.player.playing && app.state.step > 22")
    tab.page.click("#play")
    tab.until("!app.player.playing")
    tab.ask("void (location.hash = '#step=199&op=3')")
    tab.until("app.state.step === 199 && app.state.operation === 0")
    assert "0, 20, 40" in tab.shown("chip")
    tab.ask("void (location.hash = '#step=200&tour=no')")
    tab.until("app.state.step === 200")
    tab.press("ArrowRight")
    assert tab.shown("chip") == text("page.stopped.end")


def test_a_recording_begins_with_the_tour(opened: Opens, file: Path) -> None:
    tab = opened(file, place="", before=WITHOUT_ENGINE).ready()
    tab.until("app.state.step > 20 && !app.tour")
