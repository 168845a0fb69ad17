"""What screen readers, keys and large letters need, in Node and in a browser."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text, texts
from scalarviz.pages import page
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.page import first_style, properties, rules_of_page
from scalarviz.scene.canvas.palette import THEMES, contrast, rgb
from tests.pages.browser import Tab
from tests.pages.conftest import Opens
from tests.pages.node import in_web

LEAST = 4.5  # contrast of letters to their ground, WCAG 2 AA
# Letters and their grounds in the style; those of a disabled button need none.
LETTERS = [
    ("ink", "ground"), ("ink", "panel"), ("ink", "raised"),
    ("quiet", "ground"), ("quiet", "panel"), ("quiet", "raised"),
    ("on-accent", "accent"), ("chosen", "ground"), ("push", "ground"), ("good", "ground"),
    ("accent", "raised"), ("soft", "ground"), ("former", "ground"), ("worse", "ground"),
]  # fmt: skip


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_letters_have_contrast(theme: object) -> None:
    colors = dict(re.findall(r"--([\w-]+): (#\w{6});", properties(theme)))
    low = {}
    for letters, ground in LETTERS:
        ratio = float(contrast(*rgb((colors[letters], colors[ground]))))
        if ratio < LEAST:
            low[letters, ground] = round(ratio, 2)
    assert low == {}


def test_all_colors_of_letters_in_the_style_are_among_those() -> None:
    used = set(re.findall(r"[{;]\s*color: var\(--([\w-]+)\)", first_style() + rules_of_page()))
    assert used <= {letters for letters, _ in LETTERS}


def tables_of(session: sv.Session) -> list:
    facts = caption_data(session)
    body = """
    setTexts(data.texts);
    const counted = (count) => [...Array(count).keys()];
    return wallsOf(data.facts).map((wall) => ({
      title: wall.title,
      head: counted(wall.columns).map(wall.head),
      names: counted(wall.rows).map(wall.name),
      places: counted(wall.rows).map((i) => counted(wall.columns).map((j) => wall.place(i, j))),
    }));"""
    return in_web("access texts", body, facts=facts, texts=dict(texts()))


def test_play_is_among_the_first_five_that_tab_leads_to() -> None:
    html = text_beside(page.__file__, "page.html")
    stops = re.findall(r'<(?:button|select|input|\w+(?=[^>]*tabindex))[^>]* id="([^"]*)"', html)
    assert "play" in stops[:5] and len(stops) > 20


def test_every_weight_is_in_one_table_under_the_names_of_its_neurons() -> None:
    session = sv.Session(sv.Network([2, 3, 1], seed=0), sv.data.Xor(), engine="python")
    tables = tables_of(session)
    places = [place for each in tables for line in each["places"] for place in line]
    assert sorted(places) == list(range(len(session.network.bank)))
    for table, layer in zip(tables, session.network.layers, strict=True):
        where, first = np.array(table["places"]), layer.rows.start
        weights, biases = np.split(
            np.arange(first, layer.rows.stop), [layer.inputs * layer.outputs]
        )
        np.testing.assert_array_equal(where[:, :-1], weights.reshape(layer.outputs, layer.inputs))
        np.testing.assert_array_equal(where[:, -1], biases)
        assert table["head"][-1] == "bias"
    assert tables[0]["head"][:2] == ["input x", "input y"]
    assert tables[0]["names"][1] == "Neuron 1" and len(tables[0]["names"]) == 3


def test_parameters_of_other_layers_are_listed_by_name() -> None:
    layers = [sv.Conv2d((1, 8, 8), 2, 3), sv.Dense(2 * 6 * 6, 10)]
    session = sv.Session(sv.Network(layers, seed=0), sv.data.Digits(), engine="python")
    listed, wall = tables_of(session)
    assert np.ravel(listed["places"]).tolist() == list(range(20))
    assert len(set(listed["names"])) == 20
    assert np.shape(wall["places"]) == (10, 73)


def test_the_cell_with_the_focus_always_exists() -> None:
    body = """
    const wall = { rows: 40, columns: 20 };
    let [place, first] = [[0, 0], [0, 0]];
    const seen = [];
    for (const key of data.keys) {
      place = cellAfter(key, place, wall);
      first = [firstLine(first[0], place[0], 40), firstLine(first[1], place[1], 20)];
      seen.push([place, first]);
    }
    return seen;"""
    keys = ["ArrowUp", "ArrowDown", "PageDown", "PageDown", "PageDown", "End", "Home", "PageUp"]
    seen = in_web("access", body, keys=keys)
    assert [place for place, _ in seen] == [
        [0, 0], [1, 0], [17, 0], [33, 0], [39, 0], [39, 19], [39, 0], [23, 0],
    ]  # fmt: skip
    for place, first in seen:
        for i, start, count in zip(place, first, (40, 20), strict=True):
            assert start <= i < start + 16 <= count


def test_an_input_of_the_users_own_is_answered_between_steps_only() -> None:
    body = """
    const engine = {
      step: 3, loss: 1, rate: 0.1, value: [1], grad: [0], frozen: [0], state: [],
      slots: {}, batch: 1,
      arrays: { probe: [] },
      spec: { slots: [], moments: [{ values: [], gradients: [] }], dropouts: [],
        buffers: [{ name: "in" }] },
      draw() {}, sample: () => ({ row: 0, inputs: [1, 2], targets: [3] }),
      look: (inputs) => ({ out: [inputs[0] + inputs[1]] }),
      values: () => [1, 2], gradients: () => [],
    };
    const branches = { since: () => [] };
    const clock = { engine, operation: 0, moment: -1, before: null, branches, shown: new Shown(),
      focus: 0, first: 0, step: 3, branch: { end: { step: 3 } }, all: null,
      edited: new Map(), since: 0, place() { return { step: 3, operation: this.operation }; } };
    const seen = [];
    for (const [own, operation] of data.cases) {
      clock.shown.own = own;
      clock.operation = operation;
      clock.moment = operation ? 0 : -1;
      const state = stateOf(clock, 0);
      seen.push([state.own ?? false, [...state.inputs], state.values.out ?? null, state.target]);
    }
    return seen;"""
    cases = [(None, 0), ([5, 6], 0), ([5, 6], 1), (None, 0)]
    sample = [False, [1, 2], [3], [3]]
    assert in_web("state", body, cases=cases) == [
        sample, [True, [5, 6], [11], None], [False, [1, 2], None, [3]], sample,
    ]  # fmt: skip


HEADINGS = """[...document.querySelectorAll("h1, h2, h3")].filter((each) => each.checkVisibility())
  .map(({ tagName }) => Number(tagName[1]))"""
IN_NO_LANDMARK = """[...document.querySelectorAll("button, input, select, canvas, [tabindex], p")]
  .filter((each) => each.checkVisibility()
    && !each.closest("header, main, nav, aside, section[aria-label], [role=status], [role=alert]"))
  .map((each) => each.outerHTML.slice(0, 80))"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
def test_headings_go_down_one_by_one_and_all_stands_in_a_landmark(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("digits", size).ready()
    acts = (
        "change({opened: true})",
        "pin({row: 3})",
        "run('more')",
        "tell('a', 'b')",
    )
    for act in acts:
        tab.do(f"app.{act}")
        levels = tab.ask(HEADINGS)
        assert levels[0] == 1 and all(low <= high + 1 for high, low in pairwise(levels)), levels
        assert tab.ask(IN_NO_LANDMARK) == []


@pytest.mark.slow
def test_a_weight_is_found_and_pinned_by_keys_alone(tab: Tab) -> None:
    for _ in range(20):
        tab.page.keyboard.press("Tab")
        if tab.ask("!!document.activeElement.closest('#walls')"):
            break
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        tab.press(key)
    row = 2 * 3 + 1  # neuron 2, input G
    assert tab.ask("app.hover") == {"row": row}
    assert tab.middle(".ring") == pytest.approx(tab.place_of(f"{{row: {row}}}"), abs=3)
    assert (tab.state["step"], tab.state["operation"]) == (0, 0)  # arrows did not step
    tab.press("Enter")
    assert tab.ask("app.pinned") == {"row": row}
    assert tab.page.get_attribute("#walls [tabindex='0']", "aria-pressed") == "true"


@pytest.mark.slow
@pytest.mark.page("xor")
def test_tables_follow_at_rest_and_captions_are_spoken_when_stepping(tab: Tab) -> None:
    cell = tab.page.locator("#walls button").first
    before = cell.inner_text()
    tab.press("ArrowRight", 3)
    assert cell.inner_text() != before
    tab.press(".", 2)
    spoken = tab.ask("document.querySelector('#spoken').textContent")
    drawn = re.sub(r"(?<![0-9])0\.", ".", spoken)  # drawn numbers have no 0 before the point
    assert spoken and tab.shown("caption").startswith(drawn)
    tab.press("Space")
    tab.until("app.state.step > 8")
    assert tab.ask("document.querySelector('#spoken').textContent") == spoken
    tab.press("Space")


@pytest.mark.slow
@pytest.mark.page("circle")
def test_a_point_of_the_map_is_asked_for_by_click_and_arrows(tab: Tab) -> None:
    tab.page.locator(".map").click()
    tab.until("app.state.own && app.frame === 0")
    assert tab.page.locator(".own").is_visible()
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    assert tab.ask("[...app.state.inputs]") == pytest.approx(middle, abs=0.1)
    x = tab.ask("app.state.inputs[0]")
    tab.press("ArrowRight")
    assert tab.ask("app.state.inputs[0]") > x and tab.state["step"] == 0
    answer = tab.ask("app.state.values[app.spec.facts.outputs][0]")
    tab.page.locator(".own button").click()
    tab.until("!app.state.own && app.frame === 0")
    assert not tab.page.locator(".own").is_visible()
    assert tab.ask("app.state.values[app.spec.facts.outputs][0]") != answer


@pytest.mark.slow
def test_a_colour_of_ones_own_is_answered(tab: Tab) -> None:
    tab.page.locator("input[type=color]").fill("#ff0080")
    tab.until("app.state.own")
    tab.settle()
    assert tab.ask("[...app.state.inputs]") == pytest.approx([1.0, 0.0, 128 / 255])
    assert tab.shown("caption").startswith("Your colour: R 1, G 0")
    tab.press("Escape")  # leaves the field
    tab.press("ArrowRight")
    assert tab.ask("app.state.own") and tab.state["step"] == 1  # the answer follows the training


@pytest.mark.slow
@pytest.mark.page("rgb", (320, 200))
def test_a_small_window_of_large_letters_scrolls_down_only(tab: Tab) -> None:
    assert tab.ask("document.documentElement.scrollWidth") <= 320
    for name in ("curve", "exhibit", "caption", "strip"):
        part = tab.page.locator(f"#{name}")
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        assert box["y"] < 200 and box["y"] + box["height"] > 0, name
        assert box["width"] > (150 if name == "curve" else 250), name  # Play and loss beside it


@pytest.mark.slow
@pytest.mark.page("xor", reduced_motion="reduce")
def test_with_reduced_motion_the_camera_arrives_at_once(tab: Tab) -> None:
    home = tab.place_of("{row: 0}")
    tab.do("(app.run('whole-network'), app.move('orbit', 80, 20), 0)")
    assert tab.place_of("{row: 0}") != home
    tab.ask("(app.run('whole-network'), app.draw(), 0)")
    assert tab.place_of("{row: 0}") == pytest.approx(home, abs=0.5)


# Cubes and neurons by keys.


@pytest.mark.slow
def test_arrows_walk_from_cubes_to_neurons_and_enter_pins(tab: Tab) -> None:
    tab.press("Enter")
    assert tab.shown("chip") == text("notices.walking")
    seen = [tab.spoken("walked")]
    for _ in range(12):
        tab.press("ArrowLeft")
        seen.append(tab.spoken("walked"))
    assert (tab.state["step"], tab.ask("app.pinned")) == (0, None)
    assert any(each.startswith("The weight from ") for each in seen)
    assert seen[-1].startswith("Input ")
    here = tab.ask("app.hover")
    assert here["neuron"][0] == "inputs"
    assert tab.middle(".ring") == pytest.approx(tab.place_of(json.dumps(here)), abs=3)
    tab.press("Enter")
    assert tab.ask("app.pinned") == here and tab.page.locator("#card").is_visible()
    tab.press("Escape")
    assert tab.ask("app.pinned") is None
    tab.press("Escape")
    assert not tab.page.locator(".ring").is_visible()
    tab.press("ArrowRight")
    assert tab.state["step"] == 1


@pytest.mark.slow
def test_a_click_on_a_cube_leaves_the_arrows_to_the_clock(tab: Tab) -> None:
    tab.page.mouse.click(*tab.place_of("{row: 30}"))
    tab.press("ArrowRight")
    assert tab.state["step"] == 1 and tab.ask("app.pinned") == {"row": 30}


@pytest.mark.slow
def test_a_weight_and_its_layer_are_frozen_and_let_go(tab: Tab) -> None:
    tab.do("app.pin({row: 40})")
    frozen = "app.state.frozen.reduce((sum, each) => sum + each, 0)"
    one, layer = tab.page.locator("#card .toggle").all()
    assert one.inner_text() == text("page.frozen") == "freeze"
    one.click()
    tab.until(f"{frozen} === 1 && app.frame === 0")
    assert one.inner_text() == text("page.unfreeze")
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


@pytest.mark.slow
def test_a_picture_that_is_taken_away_is_told_and_comes_back(tab: Tab) -> None:
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
    assert tab.state["step"] == 2
    tab.press("ArrowLeft", 2)
    assert tab.ask(drawn) == before > 0
    colors = "new Set(new Uint32Array((() => { const { canvas, gl } = app.picture;"
    colors += " app.picture.draw(app.state); const bytes = new Uint8Array(4 * 400 * 300);"
    colors += " gl.readPixels(200, 100, 400, 300, gl.RGBA, gl.UNSIGNED_BYTE, bytes);"
    colors += " return bytes.buffer })())).size"
    assert tab.ask(colors) > 50
