"""Every browser, and Node, train a page to the same bits, also back and after an edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.conftest import Opens
from tests.pages.pages import InPage

pytestmark = pytest.mark.slow

DRAGGED = "app.player.ask('edit', {row: 30, value: 0.25})"


def test_a_browser_trains_to_the_bits_of_node(opened: Opens, tmp_path: Path) -> None:
    show, file = Show.of(load(find("rgb"))(engine="cpu")), tmp_path / "rgb.html"
    file.write_bytes(page_of(show).text)
    wanted = InPage(show.session, tmp_path).run("""
        engine.train(120)
        const before = [...engine.value]
        engine.value[30] = 0.25
        engine.train(30)
        return [before, [...engine.value], engine.loss]
    """)
    tab = opened(file).ready()
    tab.press("Shift+ArrowRight", 15)
    tab.press("Shift+ArrowLeft", 3)
    assert tab.state["value"] == wanted[0]
    tab.do(f"void {DRAGGED}")
    tab.press("Shift+ArrowRight", 3)
    now = tab.state
    assert (now["step"], now["value"], now["loss"]) == (150, *wanted[1:])
