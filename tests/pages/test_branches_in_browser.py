"""Branches in a page that is open in a browser: on the loss curve, and in the list."""

from __future__ import annotations

import pytest

from scalarviz.base.texts import text
from tests.pages.browser import Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow


@pytest.fixture
def tab(opened: Opens) -> Tab:
    """rgb after 60 steps, gone back to step 20, and trained for 30 steps at another rate."""
    found = opened().ready()
    for name, args in [
        ("advance", "{count: 60, unit: 'step'}"),
        ("seek", "{step: 20}"),
        ("rate", "{rate: 4}"),
        ("advance", "{count: 30, unit: 'step'}"),
    ]:
        found.ask(f"app.player.ask({name!r}, {args})")
    found.settle()
    return found


def place_on_line(tab: Tab, step: int) -> tuple[float, float]:
    """Where the line of the other branch has a step, in the window."""
    box = tab.page.locator("#curve").bounding_box()
    [points] = tab.ask("app.curve.others.map(({points}) => points)")
    x, width, end = tab.ask("[app.curve.plot.x, app.curve.plot.width, app.curve.end]")
    wanted = x + width * step / end
    x, y = min(points, key=lambda point: abs(point[0] - wanted))
    return box["x"] + x, box["y"] + y


def test_the_branch_that_was_left_is_chosen_by_a_click_on_its_line(tab: Tab) -> None:
    assert tab.shown("chip") == text("notices.branch", step=20)
    assert tab.ask("app.curve.end") == 60 and tab.state["last"] == 50
    x, y = place_on_line(tab, 58)
    tab.page.mouse.move(x, y)
    tab.until("document.querySelector('#curve').title.startsWith('0: from the start, to step 60')")
    tab.page.mouse.click(x, y)
    tab.until("app.state.branch === 0 && app.client.asked.size === 0")
    assert tab.state["step"] == 58 and tab.state["last"] == 60 and tab.state["rate"] != 4
    assert tab.ask("app.losses.end") == 60
    tab.press("z")
    assert (tab.state["step"], tab.state["last"], tab.state["rate"]) == (50, 50, 4)
    tab.press("y")
    assert (tab.state["step"], tab.state["last"]) == (58, 60)


def test_a_branch_is_chosen_in_the_list_by_keys(tab: Tab) -> None:
    tab.page.focus("#more")
    tab.page.keyboard.press("Enter")
    for _ in range(20):
        tab.page.keyboard.press("Tab")
        if tab.ask("document.activeElement.tagName") == "SUMMARY":
            tab.page.keyboard.press("Enter")
        if tab.ask("document.activeElement.id === 'branch'"):
            break
    assert tab.ask("document.activeElement.id") == "branch"
    options = tab.page.locator("#branch option").all_inner_texts()
    assert [each.rpartition(",")[0] for each in options] == [
        "0: from the start, to step 60",
        "1: from step 20: rate 4, to step 50",
    ]
    tab.page.keyboard.press("ArrowUp")
    tab.until("app.state.branch === 0 && app.client.asked.size === 0")
    assert tab.state["step"] == 50 and tab.state["last"] == 60


def test_without_branches_there_is_no_list(opened: Opens) -> None:
    tab = opened().ready()
    tab.page.click("#more")
    tab.page.click("#others summary")
    assert not tab.page.locator("#branch").is_visible()
