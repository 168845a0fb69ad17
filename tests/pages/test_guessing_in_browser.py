"""Guesses and custom inputs in a page that is open in a browser."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text, texts
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens

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


@pytest.mark.slow
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
    tab.drag((x - 20, y + 10), (x - 20, y + 10 - 40 * way))
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


@pytest.mark.slow
@pytest.mark.page("rgb", reduced_motion="reduce")
def test_keys_alone_guess_go_on_and_end(tab: Tab) -> None:
    rate = tab.state["rate"]
    tab.press("p")
    _, slope = now_of(tab, asked(tab).ask("app.guess.question.row"))
    assert tab.shown("guess-words").endswith("will this weight go up or down?")
    tab.press("Enter")  # nothing is guessed yet
    assert tab.ask(ASKS)
    tab.press("ArrowUp" if slope > 0 else "ArrowDown")
    assert "?" in tab.ask("app.picture.words") and tab.state["rate"] == rate
    tab.press("Enter")
    guess = "up" if slope > 0 else "down"
    assert tab.shown("guess-words").startswith(f"Not {guess}: it went from ")
    assert tab.shown("guess-tally") == text("guess.tally", right=0, asked=1)

    tab.press("x")
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

    tab.press("x")
    row = asked(tab).ask("app.guess.question.row")
    old, slope = now_of(tab, row)
    tab.press("ArrowDown" if slope > 0 else "ArrowUp")
    tab.enter("#guess-number", f"{old - rate * slope:.4g}")
    assert tab.shown("guess-tally") == text("guess.tally", right=right + 1, asked=3)
    tab.press("Escape")
    assert not tab.ask("app.guess.isOn") and not tab.page.locator("#guess").is_visible()
    assert tab.state["rate"] == rate


@pytest.mark.slow
def test_a_number_far_from_the_true_one_is_wrong_and_named(opened: Opens) -> None:
    tab = asked(opened("xor", place="#step=2&guess=1", reduced_motion="reduce").ready())
    guess = "Down" if now_of(tab, tab.ask("app.guess.question.row"))[1] > 0 else "Up"
    tab.click(f"#guess-{guess.lower()}")
    tab.enter("#guess-number", "7.5")
    assert tab.shown("guess-words").startswith(f"{guess} is right, but not 7.5: it went from ")
    assert tab.shown("guess-tally") == text("guess.tally", right=0, asked=1)


def dragged(tab: Tab, x: float, y: float, up: float) -> None:
    tab.drag((x, y), (x, y - up))


@pytest.mark.slow
def test_while_it_asks_a_drag_is_the_guess_and_moves_no_weight(opened: Opens) -> None:
    for scene, size in (("rgb", (1280, 800)), ("xor", (2560, 1600))):
        tab = asked(opened(scene, size, "#step=2&guess=1", reduced_motion="reduce").ready())
        state = tab.state
        x, y = tab.place_of("app.guess.question")
        half = tab.ask("app.picture.placeOf(app.guess.question).half")
        scale = max(1.0, min(size[0] / 1280.0, tab.ask("app.picture.size[1]") / 600.0))
        aside = max(15.0 * scale, half) + 20.0 * scale
        for up in (30.0, -30.0):  # on the words, whatever is there
            dragged(tab, x - aside, y - 0.8 * up * scale, up)
            assert tab.ask("app.guess.question.way") == (1 if up > 0.0 else -1)
        for row in range(len(state["value"])):
            dragged(tab, *tab.place_of(f"{{row: {row}}}"), 30.0)
        assert tab.state == state and tab.ask(ASKS)
        tab.press("Escape")
        dragged(tab, *tab.place_of("{row: 5}"), 30.0)
        assert tab.state["value"] != state["value"]


@pytest.mark.slow
def test_marks_wait_for_the_answer_and_a_gradient_has_words(opened: Opens) -> None:
    tab = asked(opened("rgb", place="#step=2&guess=1", reduced_motion="reduce").ready())
    pushes = "app.picture.frame.pushes !== null"
    said = "app.picture.words.filter((each) => ['⇅', 'Positive', 'Negative'].includes(each))"
    assert not tab.ask(pushes) and tab.ask(said) == ["⇅"]
    tab.press("ArrowUp")
    tab.press("Enter")
    tab.press("x")
    asked(tab)
    assert not tab.ask(pushes) and tab.ask(said) == ["⇅"]
    tab.press("ArrowDown")
    assert tab.ask(said) == ["Negative"]
    tab.press("Enter")
    assert tab.ask(pushes) and tab.ask(said) == ["Negative"]
    assert tab.ask("app.picture.words.includes(app.guess.question.result)")


@pytest.mark.slow
def test_the_cube_that_is_asked_about_is_marked_alone_and_shows_its_number(opened: Opens) -> None:
    tab = asked(opened("circle", place="#step=20&guess=1", reduced_motion="reduce").ready())
    row = tab.ask("app.guess.question.row")
    assert row not in tab.ask("app.picture.frame.moment.rows")  # of the first layer, just before
    assert tab.ask("[[...app.picture.focus.rows], app.picture.frame.caption]") == [[row], None]
    x, y, half = tab.ask("Object.values(app.picture.placeOf(app.guess.question))")
    places = {words: (left, low) for words, left, low in tab.written()}
    near = [words for words, at in places.items() if np.hypot(at[0] - x, at[1] - y) < half + 8.0]
    assert [each for each in near if each[-1].isdigit()] and "?" not in near
    assert places["?"][1] > y + half
    way = text("guess.larger" if tab.state["value"][row] > 0.0 else "guess.smaller")
    assert tab.shown("guess-up") == f"Up: {way}"


@pytest.mark.slow
def test_going_back_ends_a_question_and_playing_all(opened: Opens) -> None:
    tab = asked(opened("xor", place="#step=2&guess=1", reduced_motion="reduce").ready())
    for key in (",", "."):
        tab.press("x")
        asked(tab).press(key)
        assert not tab.ask("app.guess.question") and tab.ask("app.guess.isOn")
        assert tab.shown("guess-words") == tab.shown("guess-tally") == ""
    tab.press("x")
    asked(tab).page.keyboard.press(" ")
    tab.until("app.player.playing && !app.guess.isOn")
    assert tab.spoken() == text("guess.over")
    tab.page.keyboard.press("p")  # pauses
    asked(tab)
    assert not tab.ask("app.player.playing")


@pytest.mark.slow
@pytest.mark.page("xor", reduced_motion="reduce")
def test_it_is_begun_behind_the_dots_unless_nothing_can_move(tab: Tab) -> None:
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


@pytest.mark.slow
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
    tab.stroke(*((x, y + down) for down in (0, 10, 20, 30)))
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_recording_asks_at_steps_that_were_recorded_by_operation(opened: Opens) -> None:
    recorded = page_of(Show.of(load(find("rgb"))()), engine=False, steps=100).text
    tab = asked(opened(recorded, place="#step=15&guess=1", reduced_motion="reduce").ready())
    for step in (20, 30, 30):
        assert tab.state["step"] == step and "?" in tab.ask("app.picture.words")
        tab.press("ArrowUp")
        tab.press("Enter")
        tab.press("x")
        asked(tab)
    assert tab.ask("app.guess.asked") == 3


@pytest.fixture(scope="module")
def files(files: Files) -> Files:
    picture = np.random.default_rng(0).random((30, 40, 3))
    net = sv.Network([2, 6, 3], "tanh", seed=0)
    session = sv.Session(net, data.Texture(picture), "mse", sv.Adam(0.01), 64)
    files.write("texture", page_of(Show.of(session)).text)
    return files


def own(tab: Tab) -> list[float]:
    """The input of one's own that is answered."""
    tab.until("app.state.own")
    tab.settle()
    return [float(each) for each in tab.ask("[...app.state.inputs]")]


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("rgb", reduced_motion="reduce")
def test_an_input_sphere_is_dragged_to_another_colour(tab: Tab) -> None:
    before = tab.ask("[...app.state.inputs]")
    x, y = tab.place_of("{neuron: ['inputs', 1]}")
    tab.drag((x, y), (x, y - 75))
    green = min(1.0, before[1] + 0.5)
    assert own(tab) == pytest.approx([before[0], green, before[2]], abs=1e-6)
    assert tab.page.locator(".own").inner_text().startswith("your colour")
    assert tab.shown("caption").startswith("Your colour: R ")
    code = "#" + "".join(f"{int(255 * each + 0.5):02x}" for each in own(tab))
    assert tab.page.input_value("input[type=color]") == code
    tab.drag((x, y), (x, y + 400))
    assert own(tab)[1] == 0.0 and tab.ask("app.pinned") is None
    tab.page.locator(".own button").click()
    tab.until("!app.state.own")
    assert tab.ask("[...app.state.inputs]") == before


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("rgb", reduced_motion="reduce")
def test_a_step_is_that_of_the_samples_and_says_so(tab: Tab) -> None:
    tab.ask("app.own.set([0, 1, 0])")
    assert own(tab) == [0.0, 1.0, 0.0]
    tab.page.keyboard.press(".")
    tab.until("app.state.operation > 0 && app.own.inputs === null")
    assert texts()["own.left"] in tab.shown("told")
    tab.page.keyboard.press("?")
    tab.until("document.querySelector('.sheet .keys').getBoundingClientRect().bottom < innerHeight")


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("rgb", (390, 844), has_touch=True, is_mobile=True)
def test_an_input_has_a_slider_on_its_card_for_fingers_and_keys(tab: Tab) -> None:
    tab.page.touchscreen.tap(*tab.place_of("{neuron: ['inputs', 0]}"))
    tab.until("app.pinned?.neuron")
    tab.settle()
    slider = tab.page.locator(".own-slider input")
    assert slider.is_visible() and slider.bounding_box()["height"] >= 44
    slider.focus()
    tab.page.keyboard.press("End")
    assert own(tab)[0] == 1.0
    tab.page.keyboard.press("Home")
    tab.until("app.state.inputs[0] === 0")
    tab.do("(app.pin({neuron: ['tanh 0', 0]}), 0)")
    assert not slider.is_visible()


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("circle", (390, 844), has_touch=True, is_mobile=True)
def test_a_point_of_the_plane_is_asked_for_by_a_finger(tab: Tab) -> None:
    box = tab.page.locator(".map").bounding_box()
    tab.page.touchscreen.tap(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    margin = tab.ask("app.exhibit.margin")
    part = (0.75 - margin) / (1 - 2 * margin)
    wanted = [a + part * (b - a) for a, b in zip(low, high, strict=True)]
    assert own(tab) == pytest.approx(wanted, abs=0.15)
    assert tab.page.locator(".own").inner_text().startswith("your point")


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("digits", has_touch=True)
def test_a_digit_is_drawn_by_finger_mouse_and_keys(tab: Tab) -> None:
    pad = tab.page.locator(".pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.drag((middle[0], box["y"] + 0.2 * box["height"]), middle)
    ink = sum(own(tab))
    assert ink > 1 and tab.page.locator(".own").inner_text().startswith("your digit")
    assert tab.shown("caption").startswith("Your digit: the largest answer is ")
    tab.page.touchscreen.tap(box["x"] + 0.1 * box["width"], box["y"] + 0.9 * box["height"])
    tab.until(f"app.state.inputs.reduce((a, b) => a + b, 0) > {ink}")
    more = sum(own(tab))
    pad.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        tab.press(key)
    assert sum(own(tab)) > more and tab.state["step"] == 0
    tab.page.locator(".own button").click()
    tab.until("!app.state.own")


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("digits")
def test_a_pen_that_leaves_the_pad_selects_no_words_beside_it(tab: Tab) -> None:
    select = "getSelection().selectAllChildren(document.querySelector('.now-digit'))"
    tab.ask(select)  # as browsers do by themselves from where a button went down to where it is up
    assert tab.page.locator(".bars").inner_text() and tab.ask("`${getSelection()}`") == ""


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("texture", has_touch=True)
def test_a_point_of_a_picture_is_asked_for_by_click_finger_and_keys(tab: Tab) -> None:
    canvas = tab.page.locator(".pair canvas").nth(0)
    box = canvas.bounding_box()
    at = box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"]
    tab.page.mouse.click(*at)
    assert own(tab) == pytest.approx([0.25, 0.5], abs=0.02)
    assert tab.middle(".spot") == pytest.approx(at, abs=2)
    canvas.focus()
    tab.press("ArrowRight", 5)
    assert own(tab) == pytest.approx([0.35, 0.5], abs=0.02)
    tab.page.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + 0.1 * box["height"])
    tab.until("app.state.inputs[0] > 0.7")
    assert own(tab) == pytest.approx([0.8, 0.1], abs=0.02)
    assert tab.page.locator(".own").inner_text().startswith("your point")


def file_of(image: Image.Image, kind: str = "PNG") -> bytes:
    made = io.BytesIO()
    image.save(made, kind)
    return made.getvalue()


DROP = """([name, type, bytes]) => {
  const given = new DataTransfer();
  given.items.add(new File([Uint8Array.from(bytes)], name, { type }));
  for (const kind of ["dragover", "drop"])
    document.querySelector(".pair").dispatchEvent(
      new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: given }));
}"""


def drop(tab: Tab, name: str, content: bytes, kind: str = "image/png") -> None:
    tab.page.evaluate(DROP, [name, kind, list(content)])


TARGET = """(() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.drawImage(app.exhibit.canvases[1], 0, 0);
  return [...context.getImageData(0, 0, 40, 30).data];
})()"""


REFINED = "app.exhibit.canvases[0].ariaLabel.includes('dB') && app.exhibit.result.yet.textContent"


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("texture")
def test_a_picture_that_is_dropped_stands_beside_the_output(tab: Tab) -> None:
    first = tab.ask(TARGET)
    tab.until(REFINED)
    noise = tab.shown("exhibit")
    wide = Image.new("RGB", (200, 60), (255, 0, 0))  # of which the middle is taken
    wide.paste((0, 128, 255), (60, 0, 140, 60))
    drop(tab, "mine.png", file_of(wide))
    tab.until("app.exhibit.own")
    assert (np.reshape(tab.ask(TARGET), (30, 40, 4)) == [0, 128, 255, 255]).all()
    assert "your picture" in tab.shown("exhibit")
    tab.until(REFINED)
    assert tab.shown("exhibit") != noise
    assert "still learns its own" in tab.shown("chip")
    tab.page.get_by_text("Back to the target").click()
    assert tab.ask(TARGET) == first


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("texture")
def test_a_picture_is_chosen_by_keys(tmp_path: Path, tab: Tab) -> None:
    (tmp_path / "photo.jpg").write_bytes(file_of(Image.new("RGB", (64, 64), (9, 200, 40)), "JPEG"))
    # From here on choosers are caught; `expect_file_chooser` may begin after the key.
    tab.page.on("filechooser", lambda chooser: chooser.set_files(tmp_path / "photo.jpg"))
    tab.until(REFINED)
    tab.page.get_by_role("button", name="Your own picture").focus()
    tab.page.keyboard.press("Enter")
    tab.until("app.exhibit.own")
    assert np.reshape(tab.ask(TARGET), (-1, 4))[:, 1] == pytest.approx(200, abs=3)


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not a PNG or JPEG"),
        ("a.png", b"hello", "is not a PNG or JPEG"),
        ("cut.png", file_of(Image.new("RGB", (64, 64)))[:60], "cannot be read"),
        ("wide.png", file_of(Image.new("L", (4097, 2))), "4,097 x 2 pixels"),
        ("\u202e<b>" + 60 * "x" + ".png", b"", "\ufffd<b>xxx"),
    ],
)
@pytest.mark.page("texture")
def test_a_bad_picture_is_refused_in_one_sentence(
    name: str, content: bytes, told: str, tab: Tab
) -> None:
    before = tab.ask(TARGET)
    drop(tab, name, content)
    tab.until("!document.querySelector('#chip').hidden")
    chip = tab.shown("chip").strip()
    assert told in chip and chip.count(".") <= 2 and len(chip) < 130
    assert tab.ask("document.querySelector('#told[role=status]').textContent") == chip
    assert tab.ask(TARGET) == before and tab.ask("app.exhibit.own") is None


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("texture")
def test_a_large_file_is_refused_before_it_is_read(tab: Tab) -> None:
    tab.ask("(app.exhibit.read(new File([new Uint8Array(33e6)], 'huge.png')), 0)")
    tab.until("!document.querySelector('#chip').hidden")
    assert tab.shown("chip").startswith("huge.png is 33 MB")


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("rgb", reduced_motion="reduce")
def test_a_tube_of_its_color_leads_from_each_output_to_its_door(tab: Tab) -> None:
    tab.settle()
    doors = tab.ask("app.picture.frame.doors")
    stage, edge = (tab.page.locator(each).bounding_box() for each in ("#cubes", ".pair i >> nth=0"))
    middle = edge["y"] + edge["height"] / 2 - stage["y"]
    assert len(doors) == 3 and doors[1][1] == pytest.approx(middle, abs=0.5)
    shot = Image.open(io.BytesIO(tab.page.locator("#cubes").screenshot())).convert("RGB")
    colors = np.asarray(shot, int)
    for channel, (x, y) in enumerate(doors):
        assert x + stage["x"] == pytest.approx(edge["x"], abs=0.5)
        across = colors[int(y) - 4 : int(y) + 5, int(x) - 2]
        wall = across[np.ptp(across, axis=1).argmax()]
        assert wall.argmax() == channel, (channel, wall.tolist())


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("rgb", (390, 844), has_touch=True, is_mobile=True)
def test_on_a_phone_the_line_of_an_own_input_covers_no_cube_and_no_card(tab: Tab) -> None:
    tab.do("app.own.set([0.25, 0.5, 0.75], 'colour')")
    own = tab.page.locator(".own")
    own.wait_for()
    box = own.bounding_box()
    highest = min(tab.place_of(f"{{row: {row}}}")[1] for row in range(59))
    assert box["y"] + box["height"] < highest - 6  # half a cube
    tab.do("app.pin({row: 3})")
    assert not own.is_visible()
