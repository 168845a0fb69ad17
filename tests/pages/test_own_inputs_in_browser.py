"""Something of one's own in a page: a colour, a point, a digit, a picture, given in each way."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import texts
from scalarviz.stage.show import Show
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens

pytestmark = [pytest.mark.slow, ONLY_CHROMIUM]


@pytest.fixture(scope="module")
def files(files: Files) -> Files:
    picture = np.random.default_rng(0).random((30, 40, 3))
    net = sv.Network([2, 6, 3], "tanh", seed=0)
    files.write(
        "texture", Show.of(sv.Session(net, data.Texture(picture), "mse", sv.Adam(0.01), 64))
    )
    return files


def own(tab: Tab) -> list[float]:
    """The input of one's own that is answered."""
    tab.until("app.state.own")
    tab.settle()
    return [float(each) for each in tab.ask("[...app.state.inputs]")]


def test_an_input_sphere_is_dragged_to_another_colour(opened: Opens) -> None:
    tab = opened("rgb", reduced_motion="reduce").ready()
    before = tab.ask("[...app.state.inputs]")
    x, y = tab.place_of("{neuron: ['inputs', 1]}")
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x, y - 60, steps=4)
    tab.page.mouse.up()
    green = min(1.0, before[1] + 0.5)
    assert own(tab) == pytest.approx([before[0], green, before[2]], abs=1e-6)
    assert tab.page.locator(".own").inner_text().startswith("your colour")
    assert tab.shown("caption").startswith("Your colour: R ")
    code = "#" + "".join(f"{round(255 * each):02x}" for each in own(tab))
    assert tab.page.input_value("input[type=color]") == code
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x, y + 400, steps=4)
    tab.page.mouse.up()
    assert own(tab)[1] == 0.0 and tab.ask("app.pinned") is None
    tab.page.locator(".own button").click()
    tab.until("!app.state.own")
    assert tab.ask("[...app.state.inputs]") == before


def test_a_step_is_that_of_the_samples_and_says_so(opened: Opens) -> None:
    tab = opened("rgb", reduced_motion="reduce").ready()
    tab.ask("app.own.set([0, 1, 0])")
    assert own(tab) == [0.0, 1.0, 0.0]
    tab.page.keyboard.press(".")
    tab.until("app.state.operation > 0 && app.own.inputs === null")
    assert texts()["own.left"] in tab.shown("told")
    tab.page.keyboard.press("?")
    tab.until("document.querySelector('.sheet .keys').getBoundingClientRect().bottom < innerHeight")


def test_an_input_has_a_slider_on_its_card_for_fingers_and_keys(opened: Opens) -> None:
    tab = opened("rgb", (390, 844), has_touch=True, is_mobile=True).ready()
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


def test_a_point_of_the_plane_is_asked_for_by_a_finger(opened: Opens) -> None:
    tab = opened("circle", (390, 844), has_touch=True, is_mobile=True).ready()
    box = tab.page.locator(".map").bounding_box()
    tab.page.touchscreen.tap(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    margin = tab.ask("app.exhibit.margin")
    part = (0.75 - margin) / (1 - 2 * margin)
    wanted = [a + part * (b - a) for a, b in zip(low, high, strict=True)]
    assert own(tab) == pytest.approx(wanted, abs=0.15)
    assert tab.page.locator(".own").inner_text().startswith("your point")


def test_a_digit_is_drawn_by_finger_mouse_and_keys(opened: Opens) -> None:
    tab = opened("digits", has_touch=True).ready()
    pad = tab.page.locator(".pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(middle[0], box["y"] + 0.2 * box["height"])
    tab.page.mouse.down()
    tab.page.mouse.move(*middle, steps=3)
    tab.page.mouse.up()
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


def test_a_pen_that_leaves_the_pad_selects_no_words_beside_it(opened: Opens) -> None:
    tab = opened("digits").ready()
    select = "getSelection().selectAllChildren(document.querySelector('.now-digit'))"
    tab.ask(select)  # as browsers do by themselves from where a button went down to where it is up
    assert tab.page.locator(".bars").inner_text() and tab.ask("`${getSelection()}`") == ""


def test_a_point_of_a_picture_is_asked_for_by_click_finger_and_keys(opened: Opens) -> None:
    tab = opened("texture", has_touch=True).ready()
    canvas = tab.page.locator(".pictures canvas").nth(1)
    box = canvas.bounding_box()
    at = box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"]
    tab.page.mouse.click(*at)
    assert own(tab) == pytest.approx([0.25, 0.5], abs=0.02)
    spot = tab.page.locator(".spot").nth(1).bounding_box()
    place = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
    assert place == pytest.approx(at, abs=2)
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
    document.querySelector(".pictures").dispatchEvent(
      new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: given }));
}"""


def drop(tab: Tab, name: str, content: bytes, kind: str = "image/png") -> None:
    tab.page.evaluate(DROP, [name, kind, list(content)])


TARGET = """(() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  context.drawImage(app.exhibit.canvases[0], 0, 0);
  return [...context.getImageData(0, 0, 40, 30).data];
})()"""


def test_a_picture_that_is_dropped_stands_beside_the_output(opened: Opens) -> None:
    tab = opened("texture").ready()
    first = tab.ask(TARGET)
    tab.until("document.querySelector('.exhibit').textContent.includes('dB')")
    noise = tab.shown("exhibit")
    wide = Image.new("RGB", (200, 60), (255, 0, 0))  # of which the middle is taken
    wide.paste((0, 128, 255), (60, 0, 140, 60))
    drop(tab, "mine.png", file_of(wide))
    tab.until("app.exhibit.own")
    seen = np.reshape(tab.ask(TARGET), (30, 40, 4))
    assert (seen == [0, 128, 255, 255]).all()
    assert "your picture" in tab.shown("exhibit")
    tab.until("document.querySelector('.exhibit').textContent.includes('dB')")
    assert tab.shown("exhibit") != noise
    assert "still learns its own" in tab.shown("chip")
    tab.page.get_by_text("Back to the target").click()
    assert tab.ask(TARGET) == first


def test_a_picture_is_chosen_by_keys(opened: Opens, tmp_path: Path) -> None:
    tab = opened("texture").ready()
    (tmp_path / "photo.jpg").write_bytes(file_of(Image.new("RGB", (64, 64), (9, 200, 40)), "JPEG"))
    # From here on choosers are caught; `expect_file_chooser` may begin after the key.
    tab.page.on("filechooser", lambda chooser: chooser.set_files(tmp_path / "photo.jpg"))
    tab.until("document.querySelector('.exhibit').textContent.includes('dB')")
    tab.page.get_by_role("button", name="Your own picture").focus()
    tab.page.keyboard.press("Enter")
    tab.until("app.exhibit.own")
    assert np.reshape(tab.ask(TARGET), (-1, 4))[:, 1] == pytest.approx(200, abs=3)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no PNG or JPEG"),
        ("a.png", b"hello", "no PNG or JPEG"),
        ("cut.png", file_of(Image.new("RGB", (64, 64)))[:60], "cannot be read"),
        ("wide.png", file_of(Image.new("L", (4097, 2))), "4,097 x 2 pixels"),
        ("\u202e<b>" + 60 * "x" + ".png", b"", "\ufffd<b>xxx"),
    ],
)
def test_a_bad_picture_is_refused_in_one_sentence(
    opened: Opens, name: str, content: bytes, told: str
) -> None:
    tab = opened("texture").ready()
    before = tab.ask(TARGET)
    drop(tab, name, content)
    tab.until("!document.querySelector('#chip').hidden")
    chip = tab.shown("chip").strip()
    assert told in chip and chip.count(".") <= 2 and len(chip) < 130
    assert tab.ask("document.querySelector('#told[role=status]').textContent") == chip
    assert tab.ask(TARGET) == before and tab.ask("app.exhibit.own") is None


def test_a_large_file_is_refused_before_it_is_read(opened: Opens) -> None:
    tab = opened("texture").ready()
    tab.ask("(app.exhibit.read(new File([new Uint8Array(33e6)], 'huge.png')), 0)")
    tab.until("!document.querySelector('#chip').hidden")
    assert tab.shown("chip").startswith("huge.png has 33 MB")


def test_a_thread_leads_from_the_output_to_the_point_in_use(opened: Opens) -> None:
    tab = opened("circle", reduced_motion="reduce").ready()
    tab.settle()
    x, y = tab.place_of("{neuron: [app.picture.scene.outputs, 0]}")
    end = tab.ask("app.exhibit.spot()")
    left, top, right, bottom = tab.ask(
        "((box) => [box.left, box.top, box.right, box.bottom])"
        "(document.querySelector('.thread').getBoundingClientRect())"
    )
    down = end[1] > y
    assert (right, bottom if down else top) == pytest.approx(end, abs=2.0)
    part = (left - x) / (end[0] - x)  # it begins at the rim of the sphere
    assert 0.0 < part < 0.5
    assert (top if down else bottom) == pytest.approx(y + part * (end[1] - y), abs=2.0)


def test_on_a_phone_the_line_of_an_own_input_covers_no_cube_and_no_card(opened: Opens) -> None:
    tab = opened("rgb", (390, 844), has_touch=True, is_mobile=True).ready()
    tab.do("app.own.set([0.25, 0.5, 0.75], 'colour')")
    own = tab.page.locator(".own")
    own.wait_for()
    box = own.bounding_box()
    highest = min(tab.place_of(f"{{row: {row}}}")[1] for row in range(59))
    assert box["y"] + box["height"] < highest - 6  # half a cube
    tab.do("app.pin({row: 3})")
    assert not own.is_visible()
