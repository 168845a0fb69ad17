"""Keys, screen readers and inputs of one's own in a page that is open in a browser."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from scalarviz.base.texts import text
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

HEADINGS = """[...document.querySelectorAll("h1, h2, h3")].filter((each) => each.checkVisibility())
  .map(({ tagName }) => Number(tagName[1]))"""
IN_NO_LANDMARK = """[...document.querySelectorAll("button, input, select, canvas, [tabindex], p")]
  .filter((each) => each.checkVisibility()
    && !each.closest("header, main, nav, aside, section[aria-label], [role=status], [role=alert]"))
  .map((each) => each.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
def test_headings_go_down_one_by_one_and_all_stands_in_a_landmark(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("digits", size).ready()
    for act in ("app.change({opened: true})", "app.pin({row: 3})"):
        tab.do(act)
        levels = tab.ask(HEADINGS)
        assert levels and all(low <= high + 1 for high, low in pairwise(levels)), levels
        assert tab.ask(IN_NO_LANDMARK) == []


def test_a_weight_is_found_and_pinned_by_keys_alone(opened: Opens) -> None:
    tab = opened().ready()
    for _ in range(20):
        tab.page.keyboard.press("Tab")
        if tab.ask("!!document.activeElement.closest('#walls')"):
            break
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        tab.press(key)
    row = 2 * 3 + 1  # neuron 2, input G
    assert tab.ask("app.hover") == {"row": row}
    x, y = tab.place_of(f"{{row: {row}}}")
    ring = tab.page.locator(".ring").bounding_box()
    assert abs(ring["x"] + ring["width"] / 2 - x) < 3
    assert abs(ring["y"] + ring["height"] / 2 - y) < 3
    assert (tab.state["step"], tab.state["operation"]) == (0, 0)  # arrows did not step
    tab.press("Enter")
    assert tab.ask("app.pinned") == {"row": row}
    assert tab.page.get_attribute("#walls [tabindex='0']", "aria-pressed") == "true"


def test_tables_follow_at_rest_and_captions_are_spoken_when_stepping(opened: Opens) -> None:
    tab = opened("xor").ready()
    cell = tab.page.locator("#walls button").first
    before = cell.inner_text()
    tab.press("ArrowRight", 3)
    assert cell.inner_text() != before
    tab.press(".", 2)
    spoken = tab.ask("document.querySelector('#spoken').textContent")
    assert spoken and tab.shown("caption").startswith(spoken)
    tab.press("Space")
    tab.until("app.state.step > 8")
    assert tab.ask("document.querySelector('#spoken').textContent") == spoken
    tab.press("Space")


def test_a_point_of_the_map_is_asked_for_by_click_and_arrows(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.page.locator(".map").click()
    tab.until("app.state.own && app.frame === 0")
    assert tab.page.locator(".own").is_visible()
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    assert tab.ask("[...app.state.inputs]") == pytest.approx(middle, abs=0.1)
    x = tab.ask("app.state.inputs[0]")
    tab.press("ArrowRight")
    assert tab.ask("app.state.inputs[0]") > x and tab.state["step"] == 0
    answer = tab.ask("app.state.values[app.spec.say.outputs][0]")
    tab.page.locator(".own button").click()
    tab.until("!app.state.own && app.frame === 0")
    assert not tab.page.locator(".own").is_visible()
    assert tab.ask("app.state.values[app.spec.say.outputs][0]") != answer


def test_a_colour_of_ones_own_is_answered(opened: Opens) -> None:
    tab = opened().ready()
    tab.page.locator("input[type=color]").fill("#ff0080")
    tab.until("app.state.own")
    tab.settle()
    assert tab.ask("[...app.state.inputs]") == pytest.approx([1.0, 0.0, 128 / 255])
    assert tab.shown("caption").startswith("Your colour: R 1, G 0")
    tab.press("ArrowRight")
    assert tab.ask("app.state.own") and tab.state["step"] == 1  # the answer follows the training


def test_a_small_window_of_large_letters_scrolls_down_only(opened: Opens) -> None:
    tab = opened("rgb", (320, 200)).ready()  # 1280 x 800 at 400 %
    assert tab.ask("document.documentElement.scrollWidth") <= 320
    for name in ("curve", "exhibit", "caption", "strip"):
        part = tab.page.locator(f"#{name}")
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        assert box["y"] < 200 and box["y"] + box["height"] > 0 and box["width"] > 250, name


def test_with_reduced_motion_the_camera_arrives_at_once(opened: Opens) -> None:
    tab = opened("xor", reduced_motion="reduce").ready()
    home = tab.place_of("{row: 0}")
    tab.do("(app.run('home'), app.move('orbit', 80, 20), 0)")
    assert tab.place_of("{row: 0}") != home
    tab.ask("(app.run('home'), app.draw(), 0)")
    assert tab.place_of("{row: 0}") == pytest.approx(home, abs=0.5)


# Cubes and neurons by keys.


def test_arrows_walk_from_cubes_to_neurons_and_enter_pins(opened: Opens) -> None:
    tab = opened().ready()
    tab.press("Enter")
    assert tab.shown("chip") == text("notices.walking")
    seen = [tab.spoken("walked")]
    for _ in range(12):
        tab.press("ArrowLeft")
        seen.append(tab.spoken("walked"))
    assert (tab.state["step"], tab.ask("app.pinned")) == (0, None)
    assert seen[0].startswith("The bias of neuron 3") and seen[-1].startswith("Input ")
    here = tab.ask("app.hover")
    assert here["neuron"][0] == "inputs"
    x, y = tab.place_of(json.dumps(here))
    ring = tab.page.locator(".ring").bounding_box()
    assert abs(ring["x"] + ring["width"] / 2 - x) < 3
    assert abs(ring["y"] + ring["height"] / 2 - y) < 3
    tab.press("Enter")
    assert tab.ask("app.pinned") == here and tab.page.locator("#card").is_visible()
    tab.press("Escape")
    assert tab.ask("app.pinned") is None
    tab.press("Escape")
    assert not tab.page.locator(".ring").is_visible()
    tab.press("ArrowRight")
    assert tab.state["step"] == 1


def test_a_click_on_a_cube_leaves_the_arrows_to_the_clock(opened: Opens) -> None:
    tab = opened().ready()
    tab.page.mouse.click(*tab.place_of("{row: 30}"))
    tab.press("ArrowRight")
    assert tab.state["step"] == 1 and tab.ask("app.pinned") == {"row": 30}


def test_the_number_of_the_pinned_cube_is_typed(opened: Opens) -> None:
    tab = opened().ready()
    tab.press("e")
    assert tab.shown("chip") == text("notices.pin_first")
    tab.do("app.pin({row: 30})")
    before = tab.state["value"]
    for words in ("-.25", "much", "1e99"):
        tab.press("e")
        tab.page.keyboard.type(words)
        tab.press("Enter")
        assert tab.state["value"][30] == -0.25
        assert (tab.spoken() == text("page.no_value")) == (words != "-.25")
        assert tab.page.input_value("#card .number") == "-0.25"
    tab.press("z")
    assert tab.state["value"] == before


def test_a_weight_and_its_layer_are_frozen_and_let_go(opened: Opens) -> None:
    tab = opened().ready()
    tab.do("app.pin({row: 40})")
    frozen = "app.state.frozen.reduce((sum, each) => sum + each, 0)"
    one, layer = tab.page.locator("#card .toggle").all()
    one.click()
    tab.until(f"{frozen} === 1 && app.frame === 0")
    before = tab.state["value"]
    assert one.get_attribute("aria-pressed") == "true"
    tab.press("ArrowRight", 2)
    moved = [a != b for a, b in zip(tab.state["value"], before, strict=True)]
    assert moved.count(False) == 1 and not moved[40]
    layer.click()
    tab.until(f"{frozen} === 27 && app.frame === 0")
    assert layer.get_attribute("aria-pressed") == "true"
    tab.page.keyboard.press("Escape")
    tab.press("z")
    assert tab.ask(frozen) == 1


def test_a_picture_that_is_taken_away_is_told_and_comes_back(opened: Opens) -> None:
    tab = opened().ready()
    drawn = "app.picture.gl ? app.picture.words.length : 0"
    before = tab.ask(drawn)
    tab.ask("(app.lost = app.picture.gl.getExtension('WEBGL_lose_context')).loseContext()")
    tab.until("app.picture.fault !== ''")
    tab.page.wait_for_timeout(4500)
    assert tab.shown("chip") == tab.spoken() == text("page.lost.picture")
    tab.press("ArrowRight", 2)
    tab.ask("app.lost.restoreContext()")
    tab.until("app.picture.fault === '' && app.frame === 0")
    assert not tab.page.locator("#chip").is_visible()
    assert tab.ask(drawn) == before > 0 and tab.state["step"] == 2
    colors = "new Set(new Uint32Array((() => { const { canvas, gl } = app.picture;"
    colors += " app.picture.draw(app.state); const bytes = new Uint8Array(4 * 400 * 300);"
    colors += " gl.readPixels(200, 100, 400, 300, gl.RGBA, gl.UNSIGNED_BYTE, bytes);"
    colors += " return bytes.buffer })())).size"
    assert tab.ask(colors) > 50
