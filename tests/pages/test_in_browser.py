"""The page of a scene in a browser, opened from disk.

What it does when it is used, to the same bits.
"""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens
from tests.pages.node import InPage

pytestmark = pytest.mark.slow

NASTY = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
SIZES = [(320, 640), (390, 844), (844, 390), (800, 500), (1280, 800), (3840, 2160)]
OPERATIONS = 12  # of a step of rgb


@pytest.fixture(scope="module", autouse=True)
def scene_files(files: Files) -> Files:
    """The pages of scenes, and one with a title that would do harm."""
    trained = Show.of(load(find("rgb"))())
    trained.session.advance(50)
    files.write("trained", page_of(trained).text)
    nasty = sv.Session(sv.Network([2, 3, 1], "tanh", seed=0), data.Xor(), "mse", sv.SGD(0.5))
    files.write("nasty", page_of(sv.Show(nasty, title=NASTY, about=NASTY)).text)
    return files


# The first ten seconds.


WATCH = """
globalThis.said = [];
new MutationObserver(() => {
  const words = document.querySelector("#caption h2")?.textContent;
  if (words && words !== said.at(-1)) said.push(words);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


@pytest.mark.page(place="", before=WATCH)
def test_the_tour_shows_one_step_and_then_it_trains(tab: Tab) -> None:
    assert tab.page.locator("#skip").is_visible()
    tab.until("app.player.playing && !app.tour")
    assert tab.shown("chip") == text("captions.tour.end")
    tab.until("said.at(-1)?.includes('off by .')")
    seen = tab.ask("said")
    parts = ("stand", "forward.rgb", "backward", "step", "faster")
    told = [text(f"captions.tour.{part}") for part in parts]
    order = [seen.index(words) for words in told if words in seen]  # a slow machine leaves some out
    assert order == sorted(order) and len(order) >= 3
    assert not tab.page.locator("#skip").is_visible()
    tab.press("Space")
    assert not tab.ask("app.player.playing")


@pytest.mark.page(place="")
def test_the_tour_is_skipped_at_the_end_of_its_step_and_it_trains(tab: Tab) -> None:
    tab.until("app.state.operation > 2")
    tab.page.click("#skip")
    tab.until("app.player.playing && app.state.step > 1")
    assert not tab.page.locator("#skip").is_visible()


@pytest.mark.page(place="", reduced_motion="reduce")
def test_without_motion_a_key_or_a_button_leads_through_the_tour(tab: Tab) -> None:
    told = [tab.until("document.querySelector('#caption h2')?.textContent")]
    for lead in (lambda: tab.press("ArrowRight"), lambda: tab.page.click("#next")) * 2:
        lead()
        tab.settle()
        told.append(tab.page.inner_text("#caption h2"))
    parts = ("stand", "forward.rgb", "backward", "step")
    assert [told[k] for k in (0, 1, 3, 4)] == [text(f"captions.tour.{each}") for each in parts]
    assert tab.state["step"] == 1 and tab.state["operation"] == 0
    tab.page.click("#next")
    tab.until("!app.tour")
    assert not tab.ask("app.player.playing") and tab.shown("chip") == text("captions.tour.end")
    assert tab.state["step"] > 300 and not tab.page.locator("#next").is_visible()


@pytest.mark.parametrize("more", [{"place": "#tour=no"}, {"place": "", "reduced_motion": "reduce"}])
def test_without_a_tour_the_untrained_network_stands(opened: Opens, more: Any) -> None:
    tab = opened(**more).ready()
    tab.page.wait_for_timeout(1500)
    assert (tab.state["step"], tab.state["operation"]) == (0, 0)
    assert "invert colours" in tab.shown("about")


# Time.


def test_play_and_pause_by_button_and_by_key(tab: Tab) -> None:
    for start, stop in itertools.product([lambda: tab.page.click("#play"), None], repeat=2):
        for act in (start, stop):
            act() if act else tab.page.keyboard.press("Space")
            tab.settle()
        step = tab.state["step"]
        assert not tab.ask("app.player.playing")
        tab.page.wait_for_timeout(300)
        assert tab.state["step"] == step
    tab.page.click("#play")
    first = tab.state["step"]
    tab.until(f"app.state.step > {first} + 3")
    assert tab.page.get_attribute("#play", "aria-label") == "Pause"


def test_arrows_go_by_the_unit_and_ten_times_with_shift(tab: Tab) -> None:
    tab.press("ArrowRight", 2)
    assert tab.state["step"] == 2
    tab.press("Shift+ArrowRight")
    assert tab.state["step"] == 12
    tab.press("Shift+ArrowLeft")
    assert tab.state["step"] == 2
    tab.page.select_option("#unit", "operation")
    tab.press("ArrowRight")
    assert (tab.state["step"], tab.state["operation"]) == (2, 1)


def click_curve(tab: Tab, part: float) -> None:
    """Click a part of the way from the first step of the curve to the last."""
    box = tab.page.locator("#curve").bounding_box()
    x, width = tab.ask("[app.curve.chart.plot.x, app.curve.chart.plot.width]")
    tab.page.mouse.click(box["x"] + x + part * width, box["y"] + box["height"] / 2)
    tab.settle()


def test_a_click_on_the_curve_goes_to_its_step(tab: Tab) -> None:
    tab.press("Shift+ArrowRight", 4)
    seen = {40: tab.state["value"]}
    tab.press("Shift+ArrowLeft", 2)
    seen[20] = tab.state["value"]
    for part, step in ((1.0, 40), (0.5, 20)):
        click_curve(tab, part)
        assert tab.state["step"] == step and tab.state["value"] == seen[step]
    assert tab.page.get_attribute("#curve", "aria-valuenow") == "20"


@pytest.mark.page("trained")
def test_the_curve_of_a_page_that_was_trained_before_leads_to_its_own_steps(tab: Tab) -> None:
    assert tab.state["step"] == 50
    tab.press("Shift+ArrowRight")
    for part, step in ((0.9, 54), (0.5, 50)):
        click_curve(tab, part)
        assert tab.state["step"] == step
    assert tab.page.get_attribute("#curve", "aria-valuemin") == "50"


def test_a_click_on_the_strip_goes_to_its_operation(tab: Tab) -> None:
    cells = tab.page.locator("#strip button")
    assert cells.count() == OPERATIONS
    tab.click("#strip button >> nth=5")
    assert (tab.state["step"], tab.state["operation"]) == (0, 6)
    assert tab.page.inner_text("#strip [aria-current]") == cells.nth(5).inner_text()
    tab.click("#strip button >> nth=2")
    assert (tab.state["step"], tab.state["operation"]) == (0, 3)
    tab.click(f"#strip button >> nth={OPERATIONS - 1}")
    assert (tab.state["step"], tab.state["operation"]) == (1, 0)


def test_a_worker_that_fails_is_replaced_and_goes_on_from_there(tab: Tab) -> None:
    tab.press("ArrowRight", 3)
    before = tab.state
    tab.ask("app.client.fail('')")
    tab.until("app.client.asked.size === 0")
    assert tab.state["value"] == before["value"]
    assert tab.shown("chip") == text("page.fault.again")
    tab.press("ArrowRight")
    assert tab.state["step"] == 4


def test_a_worker_that_always_fails_is_told_with_a_button(tab: Tab) -> None:
    bad = "new Worker(URL.createObjectURL(new Blob(['throw 1'])))"
    tab.ask(f"(app.client.makeWorker = () => {bad}, 0)")
    tab.ask("app.client.fail('')")
    tab.until("!document.querySelector('#failure').hidden")
    assert tab.page.inner_text("#failure p") == text("page.fault.lost")
    assert tab.page.locator("#reload").is_visible()
    tab.complaints.clear()


def test_stop_works_where_the_worker_does_not_answer(tab: Tab) -> None:
    tab.press("ArrowRight", 2)
    before = tab.state
    tab.page.click("#play")
    tab.ask("(app.client.worker.onmessage = () => {}, 0)")
    tab.page.click("#play")
    tab.until(f"app.client.asked.size === 0 && app.state.step >= {before['step']}")
    step = tab.state["step"]
    tab.press("ArrowRight")
    assert tab.state["step"] == step + 1


# Things in the picture.


def test_a_click_on_a_cube_opens_its_card_and_escape_closes_it(tab: Tab) -> None:
    tab.press("ArrowRight", 5)
    tab.tap("{row: 30}")
    assert tab.ask("app.pinned.row") == 30
    assert tab.page.locator("#card").is_visible() and len(tab.shown("card")) > 40
    tab.press(".", 2)
    assert tab.page.locator("#card").is_visible()
    tab.press("Escape")
    assert tab.ask("app.pinned") is None and not tab.page.locator("#card").is_visible()


def test_a_click_on_a_neuron_opens_its_card(tab: Tab) -> None:
    tab.press(".", 3)
    tab.tap("{neuron: ['tanh 0', 2]}")
    assert tab.ask("app.pinned.neuron[1]") == 2 and tab.page.locator("#card").is_visible()


@pytest.mark.page(reduced_motion="reduce")
def test_every_part_of_every_caption_pins_something_or_opens_the_terms(tab: Tab) -> None:
    tab.press("ArrowRight", 2)
    for _ in range(OPERATIONS):
        tab.press(".")
        for part in range(tab.page.locator("#caption .line button").count()):
            tab.click(f"#caption .line button >> nth={part}")
            if tab.ask("app.opened"):
                tab.ask("app.change({opened: false})")
            else:
                assert len(tab.shown("card")) > 20
                tab.press("Escape")


@pytest.mark.page(reduced_motion="reduce")
def test_a_cube_that_is_dragged_up_gets_a_larger_weight_and_undo_puts_it_back(tab: Tab) -> None:
    tab.press("ArrowRight", 2)
    before = tab.state["value"]
    x, y = tab.place_of("{row: 30}")
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    answers = "[...app.state.values['sigmoid 1'], ...app.state.probe]"
    old = tab.ask(answers)
    tab.page.mouse.move(x + 3, y - 20, steps=4)
    tab.until(f"JSON.stringify({answers}) !== '{json.dumps(old, separators=(',', ':'))}'")
    tab.page.mouse.move(x + 3, y - 40, steps=4)
    tab.page.mouse.up()
    tab.settle()
    now = tab.state["value"]
    assert now[30] == pytest.approx(before[30] + 0.4 * tab.ask("app.picture.frame.scale"), 0.01)
    assert now[31:] == before[31:] and "goes from" in tab.shown("chip")
    assert tab.ask("app.client.resume.journal.length") == 1
    tab.press("z")
    assert tab.state["value"] == before and not tab.page.locator("#chip").is_visible()
    tab.press("y")
    assert tab.state["value"] == now
    x, y = tab.place_of("{row: 30}")
    tab.drag((x, y), (x, y - 30))
    tab.page.locator("#chip button").click()
    tab.until("app.player.playing && app.state.step > 3")
    done = tab.ask("app.state.undoable")  # a drag while it plays is also one change
    tab.drag((x, y), (x, y - 30))
    tab.until("app.player.playing && app.client.asked.size === 0")
    assert tab.ask("app.state.undoable") == done + 1


@pytest.mark.page(reduced_motion="reduce")
def test_a_drag_turns_the_wheel_zooms_and_escape_or_a_button_shows_the_whole(tab: Tab) -> None:
    camera = "[app.picture.eyes.camera.azimuth, app.picture.eyes.camera.height]"
    angle, height = tab.ask(camera)
    assert tab.page.locator("#whole").is_hidden()
    tab.drag((100, 150), (200, 170))
    assert tab.ask(camera)[0] != angle and tab.ask("app.pinned") is None
    for act in (lambda: tab.page.keyboard.press("Escape"), lambda: tab.page.click("#whole")):
        for _ in range(6):
            tab.page.mouse.wheel(0, -300)
        tab.until(f"app.picture.eyes.camera.height < {height}")
        act()
        tab.until(f"Math.abs(app.picture.eyes.camera.height - {height}) < 1e-3")
    tab.page.locator("#whole").wait_for(state="hidden")


# Controls.


@pytest.mark.page("rgb", (2100, 1000))  # smaller bars have no slider for it
def test_the_rate_is_typed_dragged_doubled_and_kept_within_reason(tab: Tab) -> None:
    tab.enter("#rate-number", "0,1")
    assert tab.state["rate"] == 0.1
    tab.press("ArrowUp")
    assert tab.state["rate"] == 0.2
    tab.page.locator("#rate").focus()
    tab.press("ArrowRight")
    assert tab.state["rate"] > 0.2
    rate, before = tab.state["rate"], tab.page.input_value("#rate-number")
    for words in ("0", "-1", "much", "0x10"):
        tab.enter("#rate-number", words)
        assert tab.state["rate"] == rate and tab.page.input_value("#rate-number") == before
        assert tab.shown("chip") == tab.spoken() == text("page.no_rate", rate=rate)
    tab.enter("#rate-number", "0.25")
    assert chip(tab) == "" and tab.state["rate"] == 0.25


@pytest.mark.page(color_scheme="light")
def test_the_theme_is_that_of_the_system_until_another_is_chosen(tab: Tab) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    assert tab.ask(ground) == "rgb(246, 248, 251)" and tab.ask("app.picture.theme") == "light"
    tab.press("d")
    assert tab.ask(ground) == "rgb(13, 17, 23)" and tab.ask("app.picture.theme") == "dark"


def test_another_sample_is_shown_by_keys_and_buttons(tab: Tab) -> None:
    tab.press(".", 2)
    first = tab.ask("[...app.state.inputs]")
    tab.press(">")
    assert tab.ask("[...app.state.inputs]") != first
    tab.press("<")
    assert tab.ask("[...app.state.inputs]") == first
    tab.page.click("#more")
    tab.page.click("#others summary")
    sample = tab.ask("app.state.focus")
    for button, by in (("#sample-after", 1), *[("#sample-before", -1)] * 9):
        tab.click(button)
        sample = (sample + by) % 8
        assert tab.ask("app.state.focus") == sample


# Result.


@pytest.mark.parametrize(("name", "steps"), [("rgb", 3000), ("circle", 400)])
def test_what_is_learned_is_seen_at_the_end_of_the_flow(
    opened: Opens, name: str, steps: int
) -> None:
    tab = opened(name).ready()
    before = tab.ask("app.exhibit.verdict(app.state)")
    tab.do(f"app.player.ask('advance', {{count: {steps}, unit: 'step'}})")
    after = tab.ask("app.exhibit.verdict(app.state)")
    assert after["right"] > before["right"]
    numbers = [before["number"], after["number"]]
    assert [
        each for each in tab.shown("exhibit .headline").split("\n") if each in numbers
    ] == numbers
    if name == "circle":
        assert tab.shown("exhibit .yet") == after["words"]
        assert tab.shown("exhibit .begun").split("\n") == ["at the start", before["words"]]


# Wherever it is opened.


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_nothing_is_clipped_small_or_over_another(
    opened: Opens, size: tuple[int, int], scheme: str
) -> None:
    tab = opened("rgb", size, color_scheme=scheme, has_touch=size[0] < 500).ready()
    width, height = size
    for moment in range(4):
        boxes = {}
        for name in ("picture", "exhibit", "strip", "caption", "curve", "controls", "card"):
            part = tab.page.locator(f"#{name}")
            if part.is_visible():
                boxes[name] = part.bounding_box()
        assert {"picture", "controls"} <= boxes.keys()
        for name, box in boxes.items():
            assert box["x"] >= 0 and box["x"] + box["width"] <= width + 0.5, name
            assert box["y"] >= 0 and box["y"] + box["height"] <= height + 0.5, name
        for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
            beside = a["x"] + a["width"] <= b["x"] + 0.5 or b["x"] + b["width"] <= a["x"] + 0.5
            above = a["y"] + a["height"] <= b["y"] + 0.5 or b["y"] + b["height"] <= a["y"] + 0.5
            assert beside or above or (one, other) == ("picture", "caption"), (one, other)
        assert boxes["picture"]["height"] >= 0.24 * height
        assert tab.ask("document.documentElement.scrollWidth") <= width
        small = tab.ask(
            "[...document.querySelectorAll('body *')].filter(each => each.checkVisibility()"
            " && [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())"
            " && parseFloat(getComputedStyle(each).fontSize) < 12).map(each => each.outerHTML)"
        )
        assert small == []
        low = tab.ask(
            "[...document.querySelectorAll('button, select, input')].filter(each =>"
            " each.checkVisibility() && !each.closest('#caption')).filter(each => {"
            " const box = each.getBoundingClientRect(), more = getComputedStyle(each, '::before');"
            " const beyond = more.position === 'absolute'"
            "   ? parseFloat(more.top) + parseFloat(more.bottom) : 0;"
            " return box.height - beyond < 43.9 || box.width < 43.9 && !each.closest('#strip') })"
            ".map(each => each.outerHTML)"
        )
        assert low == []
        if moment == 0:
            tab.press(".", 6)
        elif moment == 1:
            tab.press(".", 2)
        elif moment == 2:
            tab.do("app.pin({row: 30})")


@ONLY_CHROMIUM
@pytest.mark.page("rgb", (390, 844), has_touch=True, is_mobile=True)
def test_fingers_tap_turn_and_zoom_on_a_phone(tab: Tab) -> None:
    tab.page.touchscreen.tap(*tab.place_of("{row: 30}"))
    tab.until("app.pinned?.row === 30 && !document.querySelector('#card').hidden")
    tab.page.touchscreen.tap(*tab.middle("#card header button"))
    tab.until("app.pinned === null")
    tab.page.touchscreen.tap(*tab.middle("#play"))
    tab.until("app.state.step > 2")
    tab.page.touchscreen.tap(*tab.middle("#play"))
    tab.until("!app.player.playing")
    angle, height = tab.ask("[app.picture.eyes.camera.azimuth, app.picture.eyes.camera.height]")
    tab.do("app.pin({row: 30})")
    tab.page.wait_for_timeout(300)
    x, y = tab.place_of("{row: 30}")
    value = tab.state["value"][30]
    tab.stroke(*((x, y - up) for up in range(0, 41, 5)))
    tab.settle()
    assert tab.state["value"][30] > value
    assert tab.ask("app.picture.eyes.camera.azimuth") == angle
    tab.do("app.pin(null)")
    value = tab.state["value"][30]
    x, y = tab.place_of("{row: 30}")
    tab.touch("touchStart", (x, y))
    tab.page.wait_for_timeout(600)  # a long press
    for up in range(5, 41, 5):
        tab.touch("touchMove", (x, y + up))
    tab.touch("touchEnd")
    tab.settle()
    assert tab.state["value"][30] < value and tab.ask("app.pinned") is None
    tab.stroke((200, 200), *((x, 205) for x in range(210, 281, 10)))
    tab.until(f"app.picture.eyes.camera.azimuth !== {angle}")
    tab.touch("touchStart", (180, 220), (210, 220))
    for apart in range(5, 41, 5):
        tab.touch("touchMove", (180 - apart, 220), (210 + apart, 220))
    tab.touch("touchEnd")
    tab.until(f"app.picture.eyes.camera.height < {height}")
    assert tab.ask("app.pinned") is None
    tab.page.touchscreen.tap(*tab.middle("#more"))
    assert tab.page.locator("#rate").is_visible() and tab.page.locator("#speed").is_visible()
    tab.page.locator("#others summary").tap()
    tab.page.locator("#enlarge").tap()  # "Weights over time", which the sheet would cover
    assert not tab.page.locator("#sheet").is_visible() and tab.ask("app.past.isOpen")


@ONLY_CHROMIUM
@pytest.mark.page("rgb", (390, 844), has_touch=True, is_mobile=True)
def test_the_slider_of_a_weight_keeps_its_range_under_a_finger(tab: Tab) -> None:
    tab.do("app.pin({row: 30})")
    slider = "#card label input[type=range]"
    ends = tab.page.locator(slider).evaluate("(field) => [field.min, field.max]")
    x, y = tab.middle(slider)
    for kind, right in [("touchStart", 0), *[("touchMove", each) for each in range(10, 101, 10)]]:
        tab.touch(kind, (x + right, y))
        tab.settle()
    assert tab.page.locator(slider).evaluate("(field) => [field.min, field.max]") == ends
    assert 0 < tab.state["value"][30] <= float(ends[1])
    tab.touch("touchEnd")
    tab.settle()
    assert tab.ask("document.activeElement === document.body")  # so that it follows the training


def test_a_browser_that_cannot_unpack_the_page_is_told_in_one_sentence(opened: Opens) -> None:
    tab = opened(before="delete globalThis.DecompressionStream")
    tab.until("!document.querySelector('#failure').hidden")
    assert tab.page.inner_text("#failure p") == text("page.html.unpacking")


def test_an_error_is_one_sentence_with_a_button(tab: Tab) -> None:
    tab.ask("setTimeout(() => { throw new Error('such is life') })")
    tab.until("!document.querySelector('#failure').hidden")
    assert "such is life" in tab.page.inner_text("#failure p")
    tab.complaints.clear()
    tab.page.click("#reload")
    tab.ready()
    assert not tab.page.locator("#failure").is_visible()


@ONLY_CHROMIUM
def test_without_scripts_there_is_a_sentence(browser: Any, scene_files: dict[str, Path]) -> None:
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(scene_files["rgb"].as_uri())
    assert text("page.html.no_script") in plain.inner_text("body")


@pytest.mark.page("nasty")
def test_what_users_wrote_is_text_in_the_page(tab: Tab) -> None:
    assert tab.shown("title") == NASTY and tab.page.title() == NASTY
    tab.press(".", 4)
    assert tab.page.locator("img").count() == 0


DRAGGED = "app.player.ask('edit', {row: 30, value: 0.25})"


def test_a_browser_trains_to_the_bits_of_node(opened: Opens, tmp_path: Path) -> None:
    show = Show.of(load(find("rgb"))(engine="cpu"))
    wanted = InPage(show.session, tmp_path).run("""
        engine.train(120)
        const before = [...engine.value]
        engine.value[30] = 0.25
        engine.train(30)
        return [before, [...engine.value], engine.loss]
    """)
    tab = opened(page_of(show).text).ready()
    tab.press("Shift+ArrowRight", 15)
    tab.press("Shift+ArrowLeft", 3)
    assert tab.state["value"] == wanted[0]
    tab.do(f"void {DRAGGED}")
    tab.press("Shift+ArrowRight", 3)
    now = tab.state
    assert (now["step"], now["value"], now["loss"]) == (150, *wanted[1:])


FOR_USE = {"place": "#tour=no", "reduced_motion": "reduce"}
for_use = pytest.mark.page(**FOR_USE)


def chip(tab: Tab) -> str:
    return tab.shown("chip") if tab.page.locator("#chip").is_visible() else ""


@for_use
def test_a_typed_value_is_fixed_by_training_or_leaves_no_trace_when_undone(tab: Tab) -> None:
    tab.press("ArrowRight", 6)
    scale = tab.ask("app.picture.frame.scale")
    tab.do("app.pin({ row: 3 })")
    tab.enter("#card input.number", "0x10")
    assert chip(tab) == text("page.no_value")
    tab.enter("#card input.number", "99")
    assert text("notices.repair") in chip(tab)
    assert tab.shown("caption").startswith("After 6 steps the loss was ")
    assert tab.ask("app.picture.frame.scale") == 100
    assert tab.page.locator("#redo").is_disabled()
    tab.press("z")
    assert chip(tab) == "" and tab.ask("app.picture.frame.scale") == scale
    assert tab.shown("caption").startswith("After 6 steps the loss is ")
    assert tab.ask("document.querySelector('#undo').disabled")


@for_use
def test_one_goes_by_neurons_there_and_back(tab: Tab) -> None:
    tab.page.select_option("#unit", "neuron")

    def seen() -> list[Any]:
        tab.settle()
        outputs = tab.ask("Object.values(app.picture.frame.values).map((each) => each.length)")
        picture = tab.ask("(app.draw(), app.picture.canvas.toDataURL())")
        newest = tab.ask("Object.values(app.picture.frame.values).at(-1).at(-1)")
        return [tab.shown("caption"), tab.state["operation"], outputs, picture, newest]

    there = []
    for key in [*["ArrowRight"] * 11, *["."] * 14]:
        tab.press(key)
        there.append(seen())
    assert [each[1] for each in there] == [1, *[2] * 8, *[3] * 8, *[4] * 3, *[5] * 3, 6, 7]
    assert [each[2] for each in there[:4]] == [[3], [3, 1], [3, 2], [3, 3]]
    for words, *_, newest in there[1:9]:
        said = words.removeprefix("This neuron adds up four numbers: ").split("\n")[0]
        assert float(said.rstrip(".").replace("\N{MINUS SIGN}", "-")) == pytest.approx(
            newest, abs=0.005
        )
    outputs = [each[0].split("\n")[0] for each in there if each[1] == 5]
    assert [each.split()[-1] for each in outputs] == ["red.", "green.", "blue."]
    assert len({each[3] for each in there}) == len(there)
    for key, before in zip([*["ArrowLeft"] * 14, *[","] * 10], there[-2::-1], strict=True):
        tab.press(key)
        assert seen() == before
    tab.press("ArrowRight", 3)
    tab.page.select_option("#unit", "operation")
    tab.press("ArrowRight")
    assert tab.ask("app.picture.frame.walked") is None and tab.state["operation"] == 3
    tab.press("ArrowLeft")
    assert tab.ask("app.picture.frame.walked") is None and tab.state["operation"] == 2


@pytest.mark.page("digits", **FOR_USE)
def test_where_layers_are_no_dense_ones_no_page_goes_by_neurons(tab: Tab) -> None:
    assert tab.ask("[...document.querySelectorAll('#unit option')].map((each) => each.value)") == [
        "operation", "step", "epoch",
    ]  # fmt: skip
    tab.do("app.setUnit('neuron')")
    assert tab.page.input_value("#unit") == "operation"


@for_use
def test_play_keeps_its_speed(tab: Tab) -> None:
    tab.press("Space")
    speed = tab.ask("app.player.speed")
    tab.ask("((now) => (performance.now = () => now() + 60000))(performance.now.bind(performance))")
    tab.until("app.state.step > 5")
    assert tab.ask("app.player.speed") == speed


@for_use
def test_the_branch_that_b_leads_to_is_named(tab: Tab) -> None:
    tab.press("ArrowRight", 4)
    tab.press("ArrowLeft", 2)
    tab.press("ArrowUp")
    tab.press("ArrowRight", 3)
    for number, name in enumerate(("from the start", "from step 2: rate 1")):
        tab.press("b")
        tab.until("!app.player.going")
        assert chip(tab) == text("notices.switched", number=number, last=1, name=name)


@pytest.mark.page(place="#step=99999999", reduced_motion="reduce")
def test_a_far_link_ends_at_esc_and_takes_its_message_along(tab: Tab) -> None:
    tab.until("document.querySelector('#chip span').textContent.includes('Esc')")
    tab.page.keyboard.press("Escape")
    tab.until("document.querySelector('#chip').hidden")
    tab.page.wait_for_timeout(1500)
    step = tab.state["step"]
    tab.page.wait_for_timeout(500)
    assert tab.state["step"] == step < 99999999
    assert chip(tab) == ""


@ONLY_CHROMIUM  # a screenshot in Firefox adds a style, which the page refuses
def test_the_stage_is_not_black_before_the_first_state_is_there(
    browser: Any, files: dict[str, Path]
) -> None:
    never = "globalThis.Worker = class { postMessage() {} terminate() {} }"
    tab = Tab(browser, files["rgb"], before=never, color_scheme="light")
    tab.page.wait_for_timeout(1500)
    assert tab.ask("!app && document.querySelector('#waiting') === null")
    shown = Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB")
    assert shown.getpixel((500, 300)) == (246, 248, 251)
    tab.close()


@for_use
def test_a_rate_that_is_too_large_is_told_with_what_helps(tab: Tab) -> None:
    tab.page.click("#more")
    tab.enter("#rate-number", "1e30")
    tab.page.click("#more")
    tab.press("ArrowRight")
    assert chip(tab) == text("page.growing")
