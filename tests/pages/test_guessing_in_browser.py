"""Guess first in a page that is open in a browser: what is seen before and after the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

ROW = 40
ASKS = "app.guess.isAsking"


def asked(tab: Tab) -> Tab:
    """The page when it waits for a guess, and has drawn that."""
    tab.until(ASKS)
    tab.settle()
    return tab


def all_words(tab: Tab) -> str:
    """What is read on the page and in its picture."""
    found = "[document.body.innerText, ...app.picture.words].join(' ')"
    return str(tab.ask(found)).replace("\u2212", "-")


def now_of(tab: Tab, row: int) -> tuple[float, float]:
    """Value and gradient of a weight."""
    state = tab.state
    return state["value"][row], state["grad"][row]


def test_an_arrow_is_dragged_and_the_answer_comes_after_it_alone(opened: Opens) -> None:
    tab = asked(opened("rgb", place=f"#step=3&guess=1&pin={ROW}", reduced_motion="reduce").ready())
    old, slope = now_of(tab, ROW)
    fresh = old - tab.state["rate"] * slope
    assert tab.state["step"] == 3 and slope != 0.0
    assert tab.ask("app.spec.scene.moments[app.state.operation].kind") == "step"
    assert "?" in tab.ask("app.picture.words")
    card = tab.shown("card")
    assert text("card.so_far", step=4) in card and text("card.new_w") not in card
    assert not tab.page.locator("#caption").is_visible() and tab.spoken("spoken") == ""
    assert f"{fresh:.4f}"[:6] not in all_words(tab)

    x, y = tab.place_of(f"{{row: {ROW}}}")
    way = 1 if fresh > old else -1
    tab.page.mouse.move(x - 20, y + 10)
    tab.page.mouse.down()
    tab.page.mouse.move(x - 20, y + 10 - 40 * way, steps=5)
    tab.page.mouse.up()
    assert now_of(tab, ROW) == (old, slope)  # the cube itself is not dragged
    pressed = "#guess-up" if way > 0 else "#guess-down"
    assert tab.page.get_attribute(pressed, "aria-pressed") == "true"
    tab.press("Enter")
    assert now_of(tab, ROW)[0] == pytest.approx(fresh, rel=1e-6)
    assert tab.shown("guess-words").startswith(text("guess.right", came="")[:6])
    assert tab.shown("guess-tally") == text("guess.tally", right=1, asked=1)
    assert tab.shown("guess-words") == tab.spoken("guess-words")  # which is a live region
    assert tab.page.locator("#caption").is_visible() and text("card.new_w") in tab.shown("card")
    assert "?" not in tab.ask("app.picture.words")


def test_keys_alone_guess_go_on_and_end(opened: Opens) -> None:
    tab = opened("rgb", reduced_motion="reduce").ready()
    rate = tab.state["rate"]
    tab.press("p")
    _, slope = now_of(tab, asked(tab).ask("app.guess.question.row"))
    assert tab.shown("guess-words").endswith("which way will this weight go?")
    tab.press("Enter")  # nothing is guessed yet
    assert tab.ask(ASKS)
    tab.press("ArrowUp" if slope > 0 else "ArrowDown")
    assert "?" in tab.ask("app.picture.words") and tab.state["rate"] == rate
    tab.press("Enter")
    guess = "up" if slope > 0 else "down"
    assert tab.shown("guess-words").startswith(f"Not {guess}: it went from ")
    assert tab.shown("guess-tally") == text("guess.tally", right=0, asked=1)

    tab.press("n")
    row = asked(tab).ask("app.guess.question.row")
    assert tab.shown("guess-words").endswith("is its gradient positive or negative?")
    assert now_of(tab, row)[1] == 0.0 and tab.state["step"] == 1
    tab.press(",")
    assert not tab.ask(ASKS)  # who goes elsewhere has no question any more
    assert tab.shown("guess-tally") == text("guess.tally", right=0, asked=1)

    tab.press("Enter")
    assert asked(tab).ask("app.guess.question.row") == row  # the same question once more
    tab.press("ArrowUp")
    tab.enter("#guess-number", "x")
    assert tab.ask(ASKS) and tab.shown("chip") == text("page.no_value")
    tab.enter("#guess-number", " ")
    right = int(now_of(tab, row)[1] > 0)
    assert tab.shown("guess-tally") == text("guess.tally", right=right, asked=2)

    tab.press("n")
    row = asked(tab).ask("app.guess.question.row")
    old, slope = now_of(tab, row)
    tab.press("ArrowDown" if slope > 0 else "ArrowUp")
    tab.enter("#guess-number", f"{old - rate * slope:.4g}")
    assert tab.shown("guess-tally") == text("guess.tally", right=right + 1, asked=3)
    tab.press("Escape")
    assert not tab.ask("app.guess.isOn") and not tab.page.locator("#guess").is_visible()
    assert tab.state["rate"] == rate


def test_a_number_far_from_the_true_one_is_wrong_and_named(opened: Opens) -> None:
    tab = asked(opened("xor", place="#step=2&guess=1", reduced_motion="reduce").ready())
    row = tab.ask("app.guess.question.row")
    guess = "Down" if now_of(tab, row)[1] > 0 else "Up"
    tab.click(f"#guess-{guess.lower()}")
    tab.enter("#guess-number", "7.5")
    assert tab.shown("guess-words").startswith(f"{guess} is right, but not 7.5: it went from ")
    assert tab.shown("guess-tally") == text("guess.tally", right=0, asked=1)


def dragged(tab: Tab, x: float, y: float, up: float) -> None:
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x, y - up, steps=5)
    tab.page.mouse.up()
    tab.settle()


def test_while_it_asks_a_drag_is_the_guess_and_moves_no_weight(opened: Opens) -> None:
    for scene, size in (("rgb", (1280, 800)), ("xor", (2560, 1600))):
        place = "#step=2&guess=1"
        tab = asked(opened(scene, size, place, reduced_motion="reduce").ready())
        state = tab.state
        x, y = tab.place_of("app.guess.question")
        half = tab.ask("app.picture.placeOf(app.guess.question).half")
        scale = max(1.0, min(size[0] / 1280.0, tab.ask("app.picture.size[1]") / 600.0))
        aside = max(11.0 * scale, 1.2 * half) + 18.0 * scale
        for up in (30.0, -30.0):  # on the arrow, whatever is there
            dragged(tab, x - aside, y - 0.8 * up * scale, up)
            assert tab.ask("app.guess.question.way") == (1 if up > 0.0 else -1)
        for row in range(len(state["value"])):
            dragged(tab, *tab.place_of(f"{{row: {row}}}"), 30.0)
        assert tab.state == state and tab.ask(ASKS)
        tab.press("Escape")
        dragged(tab, *tab.place_of("{row: 5}"), 30.0)
        assert tab.state["value"] != state["value"]


def test_arrows_wait_for_the_answer_and_a_gradient_has_signs(opened: Opens) -> None:
    tab = asked(opened("rgb", place="#step=2&guess=1", reduced_motion="reduce").ready())
    pushes, signs = (
        "app.picture.frame.pushes !== null",
        "app.picture.words.filter((each) => '+−'.includes(each))",
    )
    assert not tab.ask(pushes) and tab.ask(signs) == []
    tab.press("ArrowUp")
    tab.press("Enter")
    tab.press("n")
    asked(tab)
    assert not tab.ask(pushes) and tab.ask(signs) == ["+", "−"]
    tab.press("ArrowDown")
    assert tab.ask(signs) == ["−"]
    tab.press("Enter")
    assert tab.ask(pushes) and len(tab.ask(signs)) == 2
    assert tab.ask("'+−'[Number(app.guess.question.truth < 0)]") == tab.ask(signs)[1]


def test_going_back_ends_a_question_and_playing_all(opened: Opens) -> None:
    tab = asked(opened("xor", place="#step=2&guess=1", reduced_motion="reduce").ready())
    for key in (",", "."):
        tab.press("n")
        asked(tab).press(key)
        assert not tab.ask("app.guess.question") and tab.ask("app.guess.isOn")
        assert tab.shown("guess-words") == tab.shown("guess-tally") == ""
    tab.press("n")
    asked(tab).page.keyboard.press(" ")
    tab.until("app.player.playing && !app.guess.isOn")
    assert tab.spoken() == text("guess.over")
    tab.page.keyboard.press("p")  # pauses
    asked(tab)
    assert not tab.ask("app.player.playing")


def test_it_is_begun_behind_the_dots_unless_nothing_can_move(opened: Opens) -> None:
    tab = opened("xor", reduced_motion="reduce").ready()
    tab.page.click("#more")
    assert tab.shown("guess-about") == text("guess.help")
    tab.click("#guess-first")
    assert asked(tab).page.is_checked("#guess-first")
    tab.click("#guess-end")
    rows = "[...app.state.value.keys()]"
    tab.do(f"void app.player.ask('freeze', {{rows: {rows}, on: true}})")
    tab.page.click("#more")
    assert tab.page.is_disabled("#guess-first")
    assert tab.shown("guess-about") == text("guess.not_here")
    tab.press("p")
    assert tab.shown("chip") == text("guess.not_here") and not tab.ask("app.guess.isOn")


FIT = """(() => {
  const box = document.querySelector("#guess").getBoundingClientRect()
  const buttons = [...document.querySelectorAll("#guess :is(button, input)")]
  const seen = buttons.filter((each) => each.checkVisibility())
  const sizes = seen.map((each) => each.getBoundingClientRect())
  const clipped = sizes.filter(({ left, right, bottom }) =>
    left < 0 || right > innerWidth || bottom > box.bottom || bottom > innerHeight)
  return [seen.length, Math.min(...sizes.map(({ width, height }) => Math.min(width, height))),
    clipped.length, box.top]
})()"""


@ONLY_CHROMIUM
@pytest.mark.parametrize("size", [(390, 844), (360, 640)], ids=str)
def test_a_finger_drags_the_arrow_on_a_phone_where_nothing_is_clipped(
    opened: Opens, size: tuple[int, int]
) -> None:
    more: dict[str, Any] = {"has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
    tab = asked(opened("rgb", size, "#step=3&guess=1", **more).ready())
    x, y = tab.place_of("app.guess.question")
    count, least, clipped, top = tab.ask(FIT)
    assert (count, clipped) == (6, 0) and least >= 44 and y < top
    fingers = tab.page.context.new_cdp_session(tab.page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for down in (10, 20, 30):
        touch("touchMove", (x, y + down))
    touch("touchEnd")
    assert tab.page.get_attribute("#guess-down", "aria-pressed") == "true"
    tab.click("#guess-on")
    tab.until("app.guess.asked === 1")
    tab.settle()
    count, least, clipped, _ = tab.ask(FIT)
    assert (count, clipped) == (2, 0) and least >= 44
    tab.do("app.pin({row: 30})")
    slider = tab.page.locator("#card label")
    assert slider.is_visible()
    tab.click("#guess-on")
    tab.until("app.guess.isAsking")
    assert slider.is_hidden()  # the picture takes its room


def test_the_page_around_a_frame_gets_the_tally(opened: Opens, tmp_path: Path) -> None:
    (tmp_path / "x.html").write_bytes(page_of(Show.of(load(find("xor"))())).text)
    slide = tmp_path / "slide.html"
    slide.write_text(
        "<!DOCTYPE html><script>globalThis.told = [];"
        "addEventListener('message', ({ data }) => told.push(data))</script>"
        '<iframe src="x.html#guess=1" width="700" height="500"></iframe>',
        encoding="utf-8",
    )
    tab = opened(slide)
    frame = tab.page.frame_locator("iframe")
    frame.locator("#guess-stays").click()
    touch = "(cubes) => getComputedStyle(cubes).touchAction"
    assert frame.locator("#cubes").evaluate(touch) == "none"  # a finger drags an arrow
    for count in (1, 2):
        frame.locator("#guess-on").click()
        tab.page.wait_for_function(f"told.length === {count}")
        assert tab.page.evaluate("told.at(-1)") == {
            "scalarviz": "guess",
            "right": 0,
            "asked": count,
        }
        frame.locator("#guess-on").click()
        frame.locator("#guess-stays").click()


def test_a_recording_asks_at_steps_that_were_recorded_by_operation(
    opened: Opens, tmp_path: Path
) -> None:
    recorded = tmp_path / "recorded.html"
    recorded.write_bytes(page_of(Show.of(load(find("rgb"))()), engine=False, steps=100).text)
    tab = asked(opened(recorded, place="#step=15&guess=1", reduced_motion="reduce").ready())
    for step in (20, 30, 30):
        assert tab.state["step"] == step and "?" in tab.ask("app.picture.words")
        tab.press("ArrowUp")
        tab.press("Enter")
        tab.press("n")
        asked(tab)
    assert tab.ask("app.guess.asked") == 3
