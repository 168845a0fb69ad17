"""A page in browsers that lack something: it says what, and trains or plays a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalarviz.base.texts import text
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

NO_WEBGL = """
const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind === "webgl2" ? null : get.call(this, kind, ...more);
};
"""
# The worker has globals of its own: its text is changed.
NO_MEMORY = """
const Whole = Blob;
globalThis.Blob = function (parts, more) {
  const change = (part) => part.replaceAll?.("new WebAssembly.Memory(", "new NoMemory(") ?? part;
  return new Whole(parts.map(change), more);
};
"""
LACKS = {
    "wasm": "delete globalThis.WebAssembly",
    "vectors": "WebAssembly.validate = () => false",
    "worker": "delete globalThis.Worker",
    "memory": NO_MEMORY,
}
STEPS = 600  # of the recording of rgb


@pytest.mark.parametrize("lack", LACKS)
def test_without_what_training_needs_the_page_says_what_and_plays_a_recording(
    opened: Opens, lack: str
) -> None:
    tab = opened("rgb", before=LACKS[lack]).ready()
    assert tab.page.locator("#chip").is_visible()
    spare = text("page.spare", steps=STEPS)
    assert tab.shown("chip") == f"{text(f'page.lack.{lack}')} {spare}"
    assert not tab.page.locator("#rate").is_visible()
    tab.press("ArrowRight", 3)  # 1, which ends a step that is recorded by operation, 20 and 40
    assert tab.state["step"] == 40
    tab.press("ArrowLeft", 3)
    tab.press(".", 2)
    assert tab.state["operation"] == 2 and "adds up" in tab.shown("caption")
    before = tab.state["value"]
    tab.page.click("#play")
    tab.until("app.state.step > 20")
    assert tab.state["value"] != before
    tab.press("z")
    assert tab.shown("chip") == text("page.recorded.refused")


@pytest.mark.parametrize("name", ["rgb", "digits"])
def test_without_webgl_the_weights_stand_in_tables_and_it_trains(opened: Opens, name: str) -> None:
    tab = opened(name, (800, 500), before=NO_WEBGL).ready()
    tables, picture = tab.page.locator("#walls"), tab.page.locator("#picture")
    assert tables.bounding_box() == picture.bounding_box()
    assert tables.locator("p").inner_text() == text("page.lack.webgl")
    assert not tab.page.locator("#cubes").is_visible()
    cell = tables.locator("button").first
    before = cell.inner_text()
    tab.press("ArrowRight", 3)
    after = cell.inner_text()
    assert after != before and tab.state["step"] == 3
    tab.page.click("#play")
    tab.until(f"document.querySelector('#walls button').innerText !== '{after}'")
    tab.press("Space")
    cell.click()
    tab.settle()
    assert tab.ask("app.pinned.row") == 0 and tab.page.locator("#card").is_visible()


def test_without_both_the_tables_show_the_recording(opened: Opens) -> None:
    tab = opened("circle", before=NO_WEBGL + LACKS["wasm"]).ready()
    assert tab.shown("chip").startswith(text("page.lack.wasm"))
    before = tab.shown("walls")
    tab.press("ArrowRight", 2)
    assert tab.state["step"] == 20 and tab.shown("walls") != before


def test_a_file_that_is_cut_off_or_changed_says_so(
    opened: Opens, files: dict[str, Path], tmp_path: Path
) -> None:
    whole = files["rgb"].read_text(encoding="utf-8")
    damaged = tmp_path / "damaged.html"
    damaged.write_text(whole[: len(whole) // 2], encoding="utf-8")
    tab = opened(damaged)
    tab.until("getComputedStyle(document.querySelector('#waiting')).visibility === 'visible'")
    assert tab.shown("waiting") == text("page.html.waiting")
    starts = {name: whole.index(f'"{name}":"') for name in ("module", "image", "plain")}
    packed = [at + 200 for at in (*starts.values(), whole.index('id="code"'))]
    for at in (*packed, starts["module"]):  # the last one is of the JSON around the parts
        changed = "A" if whole[at] != "A" else "B"
        damaged.write_text(whole[:at] + changed + whole[at + 1 :], encoding="utf-8")
        tab = opened(damaged)
        tab.until("!document.querySelector('#failure').hidden")
        assert tab.page.inner_text("#failure p") == text("page.html.damaged")
        assert tab.page.locator("#waiting").count() == 0
        assert tab.complaints  # the error itself
        tab.complaints.clear()
        assert tab.page.locator("#reload").is_visible()


def test_a_loader_that_is_changed_does_not_run_and_the_page_says_so(
    opened: Opens, files: dict[str, Path], tmp_path: Path
) -> None:
    whole = files["rgb"].read_text(encoding="utf-8")
    damaged = tmp_path / "damaged.html"
    damaged.write_text(whole.replace("// loader.js", "// lOader.js"), encoding="utf-8")
    tab = opened(damaged)
    tab.until("getComputedStyle(document.querySelector('#waiting')).visibility === 'visible'")
    assert tab.shown("waiting") == text("page.html.waiting")
    said = tab.complaints[0]  # it is not the one that the policy names
    assert "Content" in said or "blocked an inline script" in said
    tab.complaints.clear()
