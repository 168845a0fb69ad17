"""The playground in a browser: what is changed, what stays of it, and what is undone."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.pages.playground import playground_page
from tests.pages.browser import Tab
from tests.pages.conftest import Files, Opens

pytestmark = pytest.mark.slow

MORE, LESS = ".layer:nth-child(1) > button:last-child", ".layer:nth-child(1) > button"
SIZES = "app.around.settings.hidden.join()"
ROWS = "[app.state.value.length, app.spec.facts.rows]"
PRESS = """(k => {
  const all = [...document.querySelectorAll("button, select, input[type=range]")].filter((each) =>
    each.checkVisibility() && !each.disabled && !each.closest(".unseen, .strip"));
  const one = all[k % all.length];
  if (one.matches("select")) one.selectedIndex = k % one.options.length;
  if (one.matches("button")) one.click();
  else one.dispatchEvent(new Event(one.matches("select") ? "change" : "input", {bubbles: true}));
})"""


@pytest.fixture(scope="module")
def playground(files: Files) -> Path:
    return files.write("playground", playground_page(load(find("circle"))).text)


@pytest.fixture
def tab(opened: Opens, playground: Path) -> Tab:
    """The playground, paused at step 0."""
    return opened(playground, place="#step=0").ready()


def rest(tab: Tab) -> Tab:
    """Wait until all changes are made."""
    tab.until("app.around.busy === 0")
    return tab


def test_a_page_begins_to_train_by_itself_and_goes_on_through_a_change(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="").ready()
    tab.until("app.state.step > 5")
    tab.page.click(MORE)
    step = rest(tab).ask("app.spec.engine.step")
    assert step > 5
    tab.until(f"app.player.playing && app.state.step > {step}")
    assert tab.ask("app.losses.first") == 0 and tab.ask("app.losses.end") > step


def test_another_neuron_changes_no_answer_and_is_undone_to_the_bit(tab: Tab) -> None:
    before = tab.ask("[[...app.state.value], app.exhibit.answers.slice(0, 9)]")
    tab.page.click(MORE)
    assert rest(tab).ask(SIZES) == "5,2" and tab.ask(ROWS) == [30, 30]
    assert tab.ask("app.exhibit.answers.slice(0, 9)") == pytest.approx(before[1], abs=1e-6)
    assert "25" in tab.shown("chip") and "2 → 5 → 2 → 1" in tab.page.inner_text(".task p")
    tab.page.click("#undo")
    assert rest(tab).ask("[...app.state.value]") == before[0] and tab.ask(SIZES) == "4,2"
    tab.page.click("#redo")
    assert rest(tab).ask(SIZES) == "5,2"


def test_the_last_neuron_takes_its_layer_with_it_and_keys_do_the_same(tab: Tab) -> None:
    for _ in range(4):
        tab.page.click(LESS)
    assert rest(tab).ask(SIZES) == "2" and tab.ask(ROWS) == [9, 9]
    for key in ("2", "+", "+"):
        tab.page.keyboard.press(key)
    assert rest(tab).ask(f"app.around.settings.shape + {SIZES}") == "spiral4"


def test_the_dots_of_a_caption_can_be_pointed_at(tab: Tab) -> None:
    tab.page.click("#strip > :first-child")
    tab.page.hover(".line button")  # an error in the page fails the test
    assert rest(tab).ask("app.pointed") is None


def test_a_link_opens_what_was_built(tab: Tab, opened: Opens, playground: Path) -> None:
    tab.page.click("#chosen-inputs")
    tab.page.click("#shelf button:nth-child(6)")
    tab.page.select_option(".layer:nth-child(2) select", "relu")
    assert rest(tab).page.url.endswith("#v=1&features=x,y,sinx&activation=tanh,relu")
    other = opened(
        playground, place=tab.page.url.partition("#")[1] + tab.page.url.partition("#")[2]
    )
    assert other.ready().ask("app.around.settings") == tab.ask("app.around.settings")


def test_numbers_beyond_all_bounds_lead_back_with_a_lower_rate(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="#lr=1000&l2=1").ready()
    tab.until("app.state.stopped")
    tab.page.click("#chip button")
    tab.until("app.state.rate === 100 && !app.state.stopped")


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_presses_leave_one_network(
    opened: Opens, playground: Path, size: tuple[int, int], seed: int
) -> None:
    tab, choose = opened(playground, size, "").ready(), random.Random(seed)
    for _ in range(100):
        tab.page.evaluate(PRESS, choose.randrange(10**6))
        tab.page.wait_for_timeout(choose.choice([0, 30]))
    rows = rest(tab).ask(ROWS)
    wanted = "((s) => [s.features.length, ...s.hidden, 1])(app.around.settings)"
    sizes = tab.ask(wanted)
    assert rows == [sum(b * (a + 1) for a, b in pairwise(sizes))] * 2
    assert len(tab.page.query_selector_all(".layer:not(.output)")) == len(sizes) - 2
