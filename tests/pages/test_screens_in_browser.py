"""A page on phones, on tablets and in a slide, at a late step, and with bad links, in a browser."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

PHONE = {"has_touch": True, "is_mobile": True}
LATE = 1_234_567  # step
# A state of a far step is shown, without going there.
AT_A_LATE_STEP = f"""(() => {{
  const state = {{ ...app.state, step: {LATE}, last: {LATE + 1} }};
  Object.assign(app, {{ state, take: () => {{}} }});
  app.motion.at = () => ({{ state, part: 1, moving: false }});
  app.request();
}})()"""
OUTSIDE = """[...document.querySelectorAll("body *")].filter((each) => {
  if (!each.checkVisibility() || each.closest("#walls, .strip, svg, .unseen")) return false;
  const box = each.getBoundingClientRect();
  const scrolls = each.closest(".caption, .card, .sheet");
  const below = !scrolls && box.bottom > innerHeight + 1;
  return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1 || box.top < -1 || below);
}).map((each) => each.id || each.outerHTML.slice(0, 80))"""


def boxes(tab: Tab, where: str) -> list[dict[str, float]]:
    """The boxes of what is visible of a selector."""
    every = tab.page.locator(where).all()
    return [each.bounding_box() for each in every if each.is_visible()]


SCREENS = [
    ((320, 640), PHONE), ((360, 740), {**PHONE, "device_scale_factor": 3}), ((740, 360), PHONE),
    ((768, 1024), PHONE), ((800, 500), {}), ((1000, 700), {}), ((1280, 800), {}),
]  # fmt: skip


@pytest.mark.parametrize(("size", "more"), SCREENS, ids=str)
def test_the_bar_is_one_row_within_the_screen_at_a_late_step(
    opened: Opens, size: tuple[int, int], more: dict[str, Any]
) -> None:
    tab = opened("rgb", size, **more).ready()
    tab.press(".", 2)
    tab.ask(f"void {AT_A_LATE_STEP}")
    tab.until("app.frame === 0")
    assert tab.ask(OUTSIDE) == []
    row = boxes(tab, "#controls > button, #controls > label, #controls .rest > *")
    middles = [box["y"] + box["height"] / 2 for box in row]
    assert max(middles) - min(middles) < 2
    assert f"{LATE:,}" in tab.shown("place")
    apart = sorted((box["x"], box["x"] + box["width"]) for box in row)
    assert all(end <= start for (_, end), (start, _) in pairwise(apart))
    ((place),) = boxes(tab, "#place")
    within = tab.page.locator("#place").evaluate("each => each.scrollWidth <= each.clientWidth + 1")
    assert within and place["x"] >= 0 and place["x"] + place["width"] <= size[0]


@ONLY_CHROMIUM
def test_on_a_phone_the_tour_ends_with_words_for_fingers(opened: Opens) -> None:
    tab = opened("xor", (360, 740), place="", **PHONE).ready()
    tab.until("app.player.playing && !app.tour")
    assert tab.shown("chip") == text("page.tour.touch")
    tab = opened("xor", (360, 740), **PHONE).ready()
    assert tab.shown("caption") == text("page.untrained.touch")
    tab.press("ArrowRight")
    assert text("captions.rest.hint") not in tab.page.inner_html("#caption")


def test_a_long_card_on_a_phone_is_reached_to_its_end(opened: Opens) -> None:
    tab = opened("digits", (360, 740), **PHONE).ready()
    tab.press("ArrowRight", 2)
    tab.do("app.pin({row: 20})")
    assert tab.ask(OUTSIDE) == []
    card = tab.page.locator("#card")
    long, high = card.evaluate("each => [each.scrollHeight, each.clientHeight]")
    assert high > 200 and long > high  # Adam's arithmetic takes more than there is
    card.locator("input[type=range]").scroll_into_view_if_needed()
    (slider,) = boxes(tab, "#card input[type=range]")
    (strip,) = boxes(tab, "#strip")
    assert slider["y"] + slider["height"] <= strip["y"]
    assert boxes(tab, "#card header button")[0]["y"] > 0  # the header stays
    assert boxes(tab, "#curve") and boxes(tab, "#play")


SLIDE = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head>
<body style="height: 3000px">
<iframe src="xor.html#tour=no" width="420" height="500"></iframe></body></html>"""


def test_a_page_around_it_still_scrolls(opened: Opens, files: dict[str, Path]) -> None:
    slide = files["xor"].with_name("slide.html")
    slide.write_text(SLIDE)
    tab = opened(slide, (480, 600), place="")
    frame = tab.page.frames[1]
    while not frame.evaluate("globalThis.scalarviz?.drawn"):
        tab.page.wait_for_timeout(20)
    height = "scalarviz.picture.eyes.camera.height"
    before = frame.evaluate(height)
    tab.page.mouse.move(200, 90)
    tab.page.mouse.wheel(0, 100)
    tab.page.wait_for_timeout(300)
    scrolled = tab.page.evaluate("scrollY")
    assert scrolled > 0 and frame.evaluate(height) == before
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.wait_for_timeout(1500)  # another turn of the wheel, to the browser
    tab.page.mouse.click(200, 90)
    tab.page.mouse.wheel(0, 100)
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate("scrollY") == 0 and frame.evaluate(height) != before
    assert (
        frame.evaluate("getComputedStyle(document.querySelector('#cubes')).touchAction") == "pan-y"
    )


@ONLY_CHROMIUM
def test_a_finger_that_drags_a_cube_scrolls_no_page_around_it(
    opened: Opens, files: dict[str, Path]
) -> None:
    slide = files["xor"].with_name("slide.html")
    slide.write_text(SLIDE.replace("500", "900"))  # cubes that a finger can hold
    tab = opened(slide, (480, 960), place="", has_touch=True)
    frame = tab.page.frames[1]
    while not frame.evaluate("globalThis.scalarviz?.drawn"):
        tab.page.wait_for_timeout(20)
    frame.evaluate("scalarviz.pin({row: 2})")
    tab.page.wait_for_timeout(500)
    at = frame.evaluate("scalarviz.picture.placeOf({row: 2})")
    box = frame.locator("#cubes").bounding_box()
    assert box is not None
    old = frame.evaluate("scalarviz.state.value[2]")
    fingers = tab.page.context.new_cdp_session(tab.page)

    def touch(kind: str, *ups: float) -> None:
        points = [{"x": box["x"] + at["x"], "y": box["y"] + at["y"] - up} for up in ups]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0)
    for up in range(4, 41, 4):
        touch("touchMove", up)
    tab.page.wait_for_timeout(300)
    lifted = frame.evaluate("scalarviz.state.value[2]")
    touch("touchCancel")  # without a place
    tab.page.wait_for_timeout(300)
    assert frame.evaluate("scalarviz.state.value[2]") == lifted > old
    assert tab.page.evaluate("scrollY") == 0


PIECES = [
    "step=1", "step=x", "step=", "op=99", "op=2", "pin=1e9", "pin=0", "neuron=sums 0:0",
    "neuron=inputs:0", "neuron=:", "neuron=toString:0", "neuron=loss:0", "sample=0", "sample=-1",
    "hide=", "hide=<b>", "hide=,", "play=NaN", "play=1e999", "theme=dark;}", "tour=yes",
    "<img src=x onerror=alert(1)>", "<script>alert(1)</script>=1", "%00=%00", "%", "%zz=%f",
    "%E2%80%AE=x", "%ED%A0%80=1", "javascript:alert(1)", "__proto__=1", "constructor=x",
    "a=" + "b" * 3000, "=", "&", "é=ü", "\"'`=${1}", "{parts}=1", "on=click", "<!--=-->", "]]>",
    "%3Csvg/onload=alert(1)%3E=1", "#", "##step=2",
]  # fmt: skip


def test_two_hundred_hostile_links_are_one_sentence_each_and_never_html(opened: Opens) -> None:
    draw = random.Random(7)
    tab = opened("xor").ready()
    foreign = "document.querySelectorAll('img, b, script, svg[onload]').length"
    before = tab.ask(foreign)
    told = 0
    for _ in range(200):
        link = "#" + "&".join(draw.choices(PIECES, k=draw.randint(1, 9)))
        tab.ask(f"void (app.chip.hide(), location.hash = {link!r})")
        tab.page.wait_for_timeout(15)
        tab.settle()
        words = tab.ask("document.querySelector('#told').textContent")
        inner = tab.ask("document.querySelectorAll('#chip *, #told *').length")
        assert len(words) < 400 and inner == 2, link  # the words and a button
        told += bool(words)
        assert tab.page.locator("#failure").is_hidden(), link
    assert told > 150
    assert tab.ask(foreign) == before


@ONLY_CHROMIUM
@pytest.mark.parametrize("width", [380, 576])  # those of two pages beside each other in a notebook
def test_a_truth_table_and_its_map_have_room_in_a_low_page(opened: Opens, width: int) -> None:
    tab = opened("xor", (width, 560)).ready()
    sizes = "each => [each.clientHeight, each.getBoundingClientRect().bottom]"
    rows = tab.page.locator("#exhibit tr").evaluate_all(f"all => all.map({sizes})")
    assert len(rows) == 5 and min(high for high, _ in rows) >= 15  # letters have 13
    [end] = tab.page.locator("#exhibit").evaluate_all(f"all => all.map({sizes})")
    for each in ("table", ".map"):
        assert tab.page.locator(f"#exhibit {each}").evaluate(sizes)[1] <= end[1]
