"""Controls of a page in a browser: at first sight, options, branches, links to moments."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.commands import page_keys
from scalarviz.stage.show import Show
from tests.pages.browser import PATIENCE, Tab
from tests.pages.conftest import Files, Opens
from tests.stage.test_first_sight import NOT_PLAIN


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "texture", "digits"])
def test_no_number_has_an_exponent_or_is_a_zero_with_a_sign(opened: Opens, name: str) -> None:
    tab = opened(page_of(Show.of(load(find(name))())).text).ready()
    tab.settle()
    drawn = tab.ask("app.picture.words")
    lines = tab.page.inner_text("body").splitlines()
    assert any(any(letter.isdigit() for letter in each) for each in drawn) and lines
    assert [each for each in [*drawn, *lines] if NOT_PLAIN.search(each)] == []


FIRST = "[...document.querySelectorAll('#first :is(button, select, input)')]"
BOX = """((places) => [0, 1].map((k) => {
  const all = places.map((each) => each[k]);
  return Math.max(...all) - Math.min(...all);
}))(Array.from({length: app.spec.facts.rows}, (_, row) => app.picture.placeOf({row}))
  .filter(Boolean).map(({x, y}) => [x, y]))"""
FILLED = """(() => {
  const mark = document.createElement("i");
  mark.style.backgroundColor = "var(--accent)";
  document.body.append(mark);
  const accent = getComputedStyle(mark).backgroundColor;
  mark.remove();
  return [...document.querySelectorAll("button")].filter((each) => each.checkVisibility()
    && getComputedStyle(each).backgroundColor === accent).length;
})()"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_twelve_controls_in_groups_stand_behind_the_button_at_first(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("circle", size).ready()
    tab.page.click("#more")
    assert 5 <= tab.ask(f"{FIRST}.filter((each) => each.checkVisibility()).length") <= 12
    titles = tab.ask("[...document.querySelectorAll('#first h2')].map((each) => each.textContent)")
    assert titles == ["Look", "Change"]  # a page by itself has nothing that goes wrong
    assert not tab.page.locator("#tour").is_visible()
    tab.page.click("#others summary")
    assert tab.page.locator("#tour").is_visible()


@pytest.mark.parametrize("size", [(1280, 800), (1366, 700)])
def test_beside_the_sheet_the_network_has_its_size(opened: Opens, size: tuple[int, int]) -> None:
    tab = opened("circle", size, reduced_motion="reduce").ready()
    alone = np.array(tab.ask(BOX))
    tab.do("app.setSheet(true)")
    tab.page.wait_for_timeout(300)
    assert (np.array(tab.ask(BOX)) > 0.99 * alone).all()


@pytest.mark.page("circle", (1280, 800), reduced_motion="reduce")
def test_e_opens_a_field_on_the_pinned_cube(tab: Tab) -> None:
    tab.press("e")
    assert tab.shown("chip") == text("notices.pin_first")
    for row in (0, 9, 20):
        tab.do(f"app.pin({{row: {row}}})")
        tab.page.keyboard.press("e")
        tab.page.wait_for_timeout(300)
        box = tab.page.locator(".on-cube").bounding_box()
        stage = tab.page.locator("#picture").bounding_box()
        at = tab.ask(f"app.picture.placeOf({{row: {row}}})")
        middle = box["x"] + box["width"] / 2 - stage["x"], box["y"] + box["height"] / 2 - stage["y"]
        assert np.hypot(middle[0] - at["x"], middle[1] - at["y"]) <= 100.0
        assert not tab.page.locator("#sheet").is_visible()
        tab.page.keyboard.type("0.5")
        tab.page.keyboard.press("Enter")
        tab.until(f"app.state.value[{row}] === 0.5")
        assert not tab.page.locator(".on-cube").is_visible()
    tab.page.keyboard.press("e")
    tab.page.keyboard.type("7")
    tab.page.keyboard.press("Escape")
    tab.settle()
    assert tab.ask("app.state.value[20]") == 0.5 and tab.ask("app.pinned.row") == 20
    for words in ("much", "1e99"):
        tab.press("e")
        tab.page.keyboard.type(words)
        tab.press("Enter")
        assert tab.ask("app.state.value[20]") == 0.5 and tab.spoken() == text("page.no_value")
        assert tab.page.input_value("#card .number") == "0.5"


@pytest.mark.page("circle")
def test_each_key_and_each_button_has_the_command_of_its_row(tab: Tab) -> None:
    tab.do("app.pin({row: 3})")
    keys, ctrl = (
        {{" ": "Space", "Z": "Shift+Z"}.get(key, key): name for key, name in keys.items()}
        for keys in page_keys().values()
    )
    for key in keys:
        tab.press(key)
    tab.press("Escape", 3)
    buttons = tab.ask("[...document.querySelectorAll('[data-row]')].map((x) => x.dataset.row)")
    assert {*buttons, *keys.values()} <= {*tab.ask("Object.keys(app.commands)")}
    tab.ask("(app.heard = [], app.run = (name) => app.heard.push(name), 0)")
    for key in (*keys, *(f"Control+{key}" for key in ctrl)):
        tab.page.keyboard.press(key)
    assert tab.ask("app.heard") == [*keys.values(), *ctrl.values()]


@pytest.mark.page("circle")
def test_no_button_is_filled(tab: Tab) -> None:
    assert tab.ask(FILLED) == 0
    tab.page.click("#play")
    assert tab.ask(FILLED) == 0
    tab.page.click("#play")
    tab.do("app.pin({row: 3})")
    tab.page.click(".freezing button")
    tab.until("document.querySelector('.toggle').ariaPressed === 'true'")
    assert tab.ask(FILLED) == 0


OPTIMIZER = "[...document.querySelector('#optimizer').selectedOptions].map(each => each.text)[0]"


@pytest.fixture(scope="module")
def show() -> Show:
    return Show.of(load(find("rgb"))())


@pytest.fixture
def options_tab(opened: Opens, show: Show) -> Tab:
    """rgb after 3 steps, with "…" open."""
    found = opened(page_of(show).text, reduced_motion="reduce").ready()
    found.press("ArrowRight", 3)
    found.page.click("#more")
    return found


@pytest.mark.slow
def test_options_are_chosen_explained_and_undone(options_tab: Tab, show: Show) -> None:
    options_tab.page.select_option("#optimizer", label="Adam")
    options_tab.settle()
    options_tab.page.select_option("#size", "2")
    options_tab.settle()
    assert (options_tab.state["rate"], options_tab.ask("app.state.size")) == (0.001, 2)
    options_tab.page.select_option("#channel", label="change since start")
    options_tab.settle()
    assert "change since start" in options_tab.page.inner_text("#legend")
    options_tab.page.click("#more")
    options_tab.press(".", 12)
    options_tab.page.click("#caption button")
    assert "sqrt(v / correction2)" in options_tab.shown("caption")
    assert options_tab.ask("app.state.batch") == 2
    options_tab.page.locator("h1").click()
    options_tab.press("z", 2)
    assert options_tab.ask(OPTIMIZER) == "SGD" and options_tab.state["rate"] == 0.5
    assert options_tab.ask("app.state.size") == 8 and options_tab.state["step"] == 3

    options_tab.page.click("#more")
    options_tab.click("#weights")
    network = show.session.network
    assert options_tab.shown("chip") == text("page.weights", seed=network.seed + 1)
    wanted = network.fresh(network.seed + 1).bank.value
    np.testing.assert_array_equal(np.array(options_tab.state["value"], np.float32), wanted)
    assert options_tab.state["step"] == 0
    options_tab.page.locator("h1").click()
    options_tab.press("z")
    assert options_tab.state["step"] == 3


@pytest.fixture
def branched_tab(opened: Opens) -> Tab:
    """rgb after 60 steps, gone back to step 20, and trained for 30 steps at another rate."""
    found = opened().ready()
    for name, args in [
        ("advance", "{count: 60, unit: 'step'}"),
        ("seek", "{step: 20}"),
        ("learning rate", "{rate: 4}"),
        ("advance", "{count: 30, unit: 'step'}"),
    ]:
        found.ask(f"app.player.ask({name!r}, {args})")
    found.settle()
    return found


def place_on_line(branched_tab: Tab, step: int) -> tuple[float, float]:
    """Where the line of the other branch has a step, in the window."""
    box = branched_tab.page.locator("#curve").bounding_box()
    [points] = branched_tab.ask("app.curve.chart.others.map(([, points]) => points)")
    x, width = branched_tab.ask("[app.curve.chart.plot.x, app.curve.chart.plot.width]")
    end = branched_tab.ask("app.curve.chart.last")
    wanted = x + width * step / end
    x, y = min(points, key=lambda point: abs(point[0] - wanted))
    return box["x"] + x, box["y"] + y


@pytest.mark.slow
def test_the_branch_that_was_left_is_chosen_by_a_click_on_its_line(branched_tab: Tab) -> None:
    assert branched_tab.shown("chip") == text("notices.branch", step=20)
    assert branched_tab.ask("app.curve.chart.last") == 60 and branched_tab.state["last"] == 50
    x, y = place_on_line(branched_tab, 58)
    branched_tab.page.mouse.move(x, y)
    branched_tab.until(
        "document.querySelector('#curve').title.startsWith('0: from the start, to step 60')"
    )
    branched_tab.page.mouse.click(x, y)
    branched_tab.until("app.state.branch === 0 && app.client.asked.size === 0")
    assert (
        branched_tab.state["step"] == 58
        and branched_tab.state["last"] == 60
        and branched_tab.state["rate"] != 4
    )
    assert branched_tab.ask("app.losses.end") == 60
    branched_tab.press("z")
    assert (branched_tab.state["step"], branched_tab.state["last"], branched_tab.state["rate"]) == (
        50,
        50,
        4,
    )
    branched_tab.press("y")
    assert (branched_tab.state["step"], branched_tab.state["last"]) == (58, 60)


@pytest.mark.slow
def test_a_branch_is_chosen_in_the_list_by_keys(branched_tab: Tab) -> None:
    branched_tab.page.focus("#more")
    branched_tab.page.keyboard.press("Enter")
    for _ in range(20):
        branched_tab.page.keyboard.press("Tab")
        if branched_tab.ask("document.activeElement.tagName") == "SUMMARY":
            branched_tab.page.keyboard.press("Enter")
        if branched_tab.ask("document.activeElement.id === 'branch'"):
            break
    assert branched_tab.ask("document.activeElement.id") == "branch"
    options = branched_tab.page.locator("#branch option").all_inner_texts()
    assert [each.rpartition(",")[0] for each in options] == [
        "0: from the start, to step 60",
        "1: from step 20: rate 4, to step 50",
    ]
    branched_tab.page.keyboard.press("ArrowUp")
    branched_tab.until("app.state.branch === 0 && app.client.asked.size === 0")
    assert branched_tab.state["step"] == 50 and branched_tab.state["last"] == 60


@pytest.mark.slow
def test_without_branches_there_is_no_list(tab: Tab) -> None:
    tab.page.click("#more")
    tab.page.click("#others summary")
    assert not tab.page.locator("#branch").is_visible()


PARTS = ("controls", "strip", "curve", "head", "exhibit")


@pytest.fixture(scope="module")
def file(files: Files) -> Path:
    session = sv.Session(sv.Network([2, 3, 1], "tanh", seed=0), data.Xor(), "mse", sv.SGD(0.5))
    return files.write("x", page_of(sv.Show(session, title="Links")).text)


def follow(tab: Tab, link: str) -> None:
    """Change what stands after the #, as slides do."""
    tab.ask(f"void (location.hash = {link!r})")
    tab.page.wait_for_timeout(50)
    tab.settle()


@pytest.mark.slow
def test_a_link_opens_a_moment_and_its_changes_are_followed(opened: Opens, file: Path) -> None:
    tab = opened(file, place="#step=120&op=7&pin=4&hide=controls,strip,curve,head,exhibit")
    tab.until("app?.state?.step === 120 && app.state.operation === 7 && app.pinned?.row === 4")
    tab.settle()
    assert not any(tab.page.locator(f".{name}").is_visible() for name in PARTS)
    assert tab.page.locator("#card").is_visible() and tab.page.locator("#caption").is_visible()
    told = tab.shown("caption")
    follow(tab, "#step=3&hide=strip&theme=light")
    tab.until("app.state.step === 3 && app.pinned === null")
    assert [n for n in PARTS if not tab.page.locator(f".{n}").is_visible()] == ["strip"]
    assert tab.ask("app.theme") == "light"
    follow(tab, "#step=120&op=7&pin=4")
    tab.until("app.state.step === 120 && app.state.operation === 7")
    assert tab.shown("caption") == told
    last = tab.ask("app.spec.engine.moments.length")
    follow(tab, f"#step=5&op={last}&play=fast&neuron=none:1")
    tab.until(f"app.state.step === 6 && app.state.moment === {last - 1}")
    assert tab.shown("chip") == text("page.link.bad", parts="play=fast, neuron=none:1")
    follow(tab, "#play=30")
    tab.until("app.player.playing && app.state.step > 8")
    follow(tab, "#step=0")
    tab.until("!app.player.playing && app.state.step === 0")


@pytest.mark.slow
def test_a_far_moment_is_trained_in_portions_until_somebody_does_something(
    opened: Opens, file: Path
) -> None:
    tab = opened(file, place="#step=900000000").ready()
    tab.until("!document.querySelector('#chip').hidden")
    words = tab.shown("chip")
    step = int(re.findall(r"[\d,]+", words)[0].replace(",", ""))
    assert words == text("page.link.going", step=step, goal=900_000_000)
    tab.press("ArrowLeft")
    stood = tab.state["step"]
    tab.page.wait_for_timeout(600)
    assert tab.state["step"] == stood < 900_000_000


@pytest.mark.slow
def test_a_link_to_this_moment_is_copied_and_opens_it(opened: Opens, file: Path) -> None:
    tab = opened(file, permissions=["clipboard-read", "clipboard-write"]).ready()
    tab.press("ArrowRight", 2)
    tab.press(".", 3)
    tab.ask("app.pin({neuron: ['tanh 0', 2]})")
    tab.page.click("#more")
    tab.page.click("#others summary")
    tab.page.click("#link")
    tab.until("!document.querySelector('#chip').hidden")
    assert tab.shown("chip") == text("page.link.copied")
    link = tab.ask("navigator.clipboard.readText()")
    sample = tab.ask("app.state.focus")  # the clearest one
    assert link == f"{file.as_uri()}#step=2&op=3&neuron=tanh%200:2&sample={sample}"
    wanted = tab.state
    tab.press("ArrowUp")
    tab.page.click("#more")
    tab.page.click("#link")
    words = text("page.link.copied.changed")
    tab.until(f"document.querySelector('#chip').textContent === {words!r}")
    other = opened(file, place="#" + link.split("#")[1])
    other.until("app?.state?.operation === 3 && app.pinned?.neuron")
    assert other.state == wanted
    for each in (tab, other):
        each.close()


SLIDE = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head><body>
<h1>A slide</h1><iframe src="x.html#step=4&amp;op=2&amp;hide=head,strip,curve"
 sandbox="allow-scripts" width="420" height="300"></iframe></body></html>"""


@pytest.mark.slow
def test_a_page_works_within_a_slide_that_allows_scripts_only(opened: Opens, file: Path) -> None:
    slide = file.with_name("slide.html")
    slide.write_text(SLIDE)
    tab = opened(slide, place="")
    frame = tab.page.frames[1]
    within(tab, frame, "scalarviz?.state?.step === 4 && scalarviz.state.operation === 2")
    frame.click("#on")
    within(tab, frame, "scalarviz.state.step === 5")
    frame.click("#more")
    frame.click("#others summary")
    frame.click("#link")
    within(tab, frame, "document.querySelector('#chip').checkVisibility()")


def within(tab: Tab, frame: Any, words: str) -> None:
    """Wait until an expression is true in a frame."""
    ends = time.monotonic() + PATIENCE
    while not frame.evaluate(f"globalThis.{words}"):
        assert time.monotonic() < ends, f"never: {words}; {tab.complaints}"
        tab.page.wait_for_timeout(20)


@pytest.mark.slow
def test_a_hidden_page_pauses_until_it_is_seen_again(opened: Opens, file: Path) -> None:
    tab = opened(file).ready()
    tab.press("Space")
    tab.until("app.state.step > 2")
    hide = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}})"
    event = "document.dispatchEvent(new Event('visibilitychange'))"
    tab.do(f"{hide.format('true')} && {event}")
    step = tab.state["step"]
    tab.page.wait_for_timeout(500)
    assert tab.state["step"] == step
    tab.ask(f"{hide.format('false')} && {event}")
    tab.until(f"app.state.step > {step} && app.player.playing")
