"""Challenges of a playground in a browser, solved by their ways."""

from typing import Any

import pytest

from scalarviz.base.texts import texts
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.playground import playground_page
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens
from tests.pages.test_challenges import CHALLENGES

pytestmark = [pytest.mark.slow, ONLY_CHROMIUM]
BOX = "app.around.challenges"
# Whether an element has no part below the card of a challenge.
FREE = """((element) => {
  const [one, other] = [element, document.querySelector("#challenge-card")].map((each) =>
    each.getBoundingClientRect());
  return one.bottom <= other.top || one.right <= other.left || one.top >= other.bottom;
})"""
FOLLOWED = "!app.around.busy && app.around.addressed !== undefined"
NUMBERED = [*enumerate(CHALLENGES, start=1)]


@pytest.fixture(scope="module", autouse=True)
def page_file(files: Files) -> Files:
    files.write("playground", playground_page(load(find("circle"))).text)
    return files


def begun(opened: Opens, number: int, **more: Any) -> Tab:
    tab = opened("playground", place=f"#c={number}", **more)
    tab.until(f"app?.around && {BOX}.first && app.drawn && !app.around.busy && app.frame === 0")
    return tab


def follow(tab: Tab, entry: list[Any]) -> None:
    kind, name, *given = entry
    asks = {
        "edit": f"app.edit({name}, {given and given[0]})",
        "features": f"app.around.toggleInput('{name}')",
        "layers": f"app.around.change({{hidden: [{given and given[0]}]}})",
        "pause": f"app.player.play({BOX}.film({name}))",
    }
    tab.ask(f"({asks.get(kind, f'app.around.learn({kind!r}, {name})')}, 0)")
    tab.until("!app.around.busy")


@pytest.mark.parametrize(("number", "challenge"), NUMBERED, ids=lambda each: str(each)[:12])
def test_the_way_solves_it_in_the_page(opened: Opens, number: int, challenge: Any) -> None:
    tab = begun(opened, number)
    assert tab.ask(f"{BOX}.isOver") is False
    for entry in challenge["way"]:
        follow(tab, entry)
    if "play" in challenge["may"] and not challenge.get("tries"):
        tab.page.click("#play")
    tab.until("document.querySelector('.challenge-card:not([hidden]) table')")
    assert tab.ask("JSON.parse(localStorage['scalarviz solved'])") == [challenge["id"]]
    assert f"#c={number}" in tab.page.url
    tab.until(f"!app.player.playing && app.frame === 0 && {BOX}.line.matches('.won')")
    is_last = challenge.get("last", "by" not in challenge)  # others count at once
    assert (tab.state["step"] == challenge.get("by", 0)) == is_last


def test_it_is_solved_by_a_drag_and_its_card_leaves_out_and_picture_free(opened: Opens) -> None:
    for size, unsolves in (((1280, 800), "run('undo')"), ((390, 844), "edit(13, 9)")):
        tab = begun(opened, 1, size=size)
        x, y = tab.place_of("{row: 13}")
        tab.page.mouse.move(x, y)
        tab.page.mouse.down()
        tab.page.mouse.move(x, y - 20)
        tab.page.mouse.move(x, y - 70)
        tab.until("document.querySelector('.challenge.won')")
        assert tab.page.locator("#challenge-card").is_hidden()
        tab.page.mouse.up()
        tab.until("document.querySelector('.challenge-card:not([hidden]) table')")
        tab.until(f"{FREE}(app.exhibit.canvas) && {FREE}(document.querySelector('#cubes'))")
        tab.ask(f"(app.{unsolves}, 0)")
        tab.until("document.querySelector('#challenge-card').hidden")


def test_a_made_challenge_is_begun_by_its_link_and_a_damaged_one_is_a_sentence(
    opened: Opens,
) -> None:
    tab = opened("playground", place="#step=800")
    tab.until("app?.state?.step === 800")
    tab.page.click("#make-challenge")
    tab.until(f"{BOX}.made")
    tab.page.click("#challenge-maker .first")
    link = tab.ask(f"{BOX}.made")
    assert tab.ask("app.chip.element.textContent") == texts()["challenge.copied"]
    for wrong in ("c=AAAA", "c=99"):
        tab.ask(f"(location.hash = 'hidden=3&{wrong}', 0)")
        tab.until("app.state?.value.length === 13 && !app.around.busy")
        tab.until(f"app.chip.element.textContent.startsWith({texts()['challenge.bad']!r})")
    tab.ask(f"(location.hash = '{link}', 0)")
    tab.until(f"{BOX}.first && app.drawn")
    assert tab.page.url.endswith(link) and tab.page.inner_text("h1") == "Challenge"
    for entry in tab.ask(f"{BOX}.now.way"):
        follow(tab, entry)
    tab.until("document.querySelector('.challenge-card:not([hidden]) table')")
    assert tab.ask("JSON.parse(localStorage['scalarviz solved'])") == []


def test_what_may_not_be_changed_stays(opened: Opens) -> None:
    tab = begun(opened, 4)
    first = tab.state
    for key in ("Space", "ArrowRight", "n", "r", "3", "+", "ArrowUp"):
        tab.press(key)
    tab.ask(
        "(app.player.play(), app.around.learn('lr', 1), app.run('new weights'), app.setRate(2), 0)"
    )
    tab.page.wait_for_timeout(500)
    now = tab.state
    assert {name: now[name] for name in ("step", "value", "rate")} == {
        name: first[name] for name in ("step", "value", "rate")
    }
    assert not tab.ask("app.player.playing")
    assert not tab.page.locator("#play").is_visible()


def test_hints_mark_a_cube_and_do_it_and_leaving_brings_back_what_was(opened: Opens) -> None:
    tab = begun(opened, 1)
    tab.page.click("[data-act=hint]")
    assert tab.page.locator("#challenge-card").is_visible()  # without a try
    tab.page.click("#challenge-card .first")
    tab.until("!document.querySelector('.challenge-mark:not(#first-mark)').hidden")
    tab.page.click("#challenge-card .first")
    tab.page.click("#challenge-card .first")
    tab.until("Math.abs(app.state.value[13] - 1.73) < .01")
    tab.page.click("[data-act=leave]")
    tab.until("!document.body.classList.contains('challenging') && app.state.value.length === 25")
    assert tab.page.inner_text("h1") == "Playground"
    tab.page.click("#open-challenges")
    tab.page.click("#challenge-list button >> nth=3")
    tab.until("document.activeElement.id === 'challenge'")
    for link, count in (("#c=5", 9), ("#v=1&hidden=3", 13), ("#c=99", 25)):
        tab.ask(f"(location.hash = '{link}', 0)")
        tab.until(f"app.state?.value.length === {count}")
        assert tab.ask("document.body.classList.contains('challenging')") == (link == "#c=5")


def test_back_and_forward_go_between_the_playground_and_challenges(opened: Opens) -> None:
    tab = opened("playground", place="#step=0&hidden=3").ready()
    tab.until("location.hash.startsWith('#v=1')")
    tab.page.evaluate("window.isHere = true")
    tab.ask("(app.run('seek', 40), 0)")
    tab.until("app.state.step === 40")
    home, value = tab.page.url, tab.state["value"]
    for act in ("#open-challenges", "#challenge-list li:nth-child(2) button"):
        tab.page.click(act)
    tab.until(f"{BOX}.number === 2 && {BOX}.first && location.hash === '#c=2'")
    tab.ask(f"({BOX}.enter({BOX}.table[2]), 0)")
    tab.until(f"{BOX}.number === 3 && {BOX}.first && location.hash === '#c=3'")
    for by, number in ((-1, 2), (-1, 0), (1, 2), (-1, 0), (1, 2), (1, 3)):
        tab.page.evaluate(f"history.go({by})")
        tab.until(f"{BOX}.number === {number} && {FOLLOWED}")
        if number == 0:
            assert tab.page.url == home
            assert tab.state["value"] == value and tab.state["step"] == 40
    tab.page.click("[data-act=leave]")
    tab.until(f"{BOX}.number === 0 && location.href === '{home}'")
    assert tab.ask("isHere") and tab.page.locator("h1").inner_text() == "Playground"


@pytest.mark.parametrize("place", ["#c=2", "#c=99", "#v=1", ""])
def test_the_first_page_of_a_link_is_the_first_of_its_history(opened: Opens, place: str) -> None:
    tab = opened("playground", place=place, before="localStorage['scalarviz cards'] = 9")
    length = tab.page.evaluate("history.length")
    tab.until(f"app?.drawn && {FOLLOWED}")
    tab.until(f"location.hash === '{place if place == '#c=2' else '#v=1'}'")
    assert tab.page.evaluate("history.length") == length
