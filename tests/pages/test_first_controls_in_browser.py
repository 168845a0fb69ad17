"""What a page shows at first behind "…", and the field on the pinned cube, in a browser."""

import numpy as np
import pytest

from tests.pages.conftest import Opens

FIRST = "[...document.querySelectorAll('#first :is(button, select, input)')]"
BOX = """((places) => [0, 1].map((k) => {
  const all = places.map((each) => each[k]);
  return Math.max(...all) - Math.min(...all);
}))(Array.from({length: app.spec.say.rows}, (_, row) => app.picture.placeOf({row}))
  .filter(Boolean).map(({x, y}) => [x, y]))"""
FILLED = """[...document.querySelectorAll('button')].filter((each) => each.checkVisibility()
  && getComputedStyle(each).backgroundColor
    === getComputedStyle(document.querySelector('#play')).backgroundColor).length"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_twelve_controls_in_groups_stand_behind_the_button_at_first(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("circle", size).ready()
    tab.page.click("#more")
    assert 5 <= tab.ask(f"{FIRST}.filter((each) => each.checkVisibility()).length") <= 12
    titles = tab.ask("[...document.querySelectorAll('#first h3')].map((each) => each.textContent)")
    assert titles == ["Look", "Change"]  # a page by itself has nothing that goes wrong
    assert not tab.page.locator("#tour").is_visible()
    tab.page.click("#others summary")
    assert tab.page.locator("#tour").is_visible()


@pytest.mark.parametrize("size", [(1280, 800), (1366, 700)])
def test_beside_the_sheet_the_network_has_three_quarters_of_its_size(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("circle", size, reduced_motion="reduce").ready()
    alone = np.array(tab.ask(BOX))
    tab.do("app.setSheet(true)")
    tab.page.wait_for_timeout(300)
    assert (np.array(tab.ask(BOX)) >= 0.75 * alone).all()


def test_e_opens_a_field_on_the_pinned_cube(opened: Opens) -> None:
    tab = opened("circle", (1280, 800), reduced_motion="reduce").ready()
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


def test_one_button_at_most_is_filled(opened: Opens) -> None:
    tab = opened("circle").ready()
    assert tab.ask(FILLED) == 1
    tab.page.click("#play")
    assert tab.ask(FILLED) == 1
    tab.page.click("#play")
    tab.do("app.pin({row: 3})")
    tab.page.click(".freezing button")
    tab.until("document.querySelector('.toggle').ariaPressed === 'true'")
    assert tab.ask(FILLED) == 1
