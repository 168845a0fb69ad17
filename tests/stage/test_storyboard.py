"""One training step, seen.

What every operation lights up and marks, forward and back, also as a page.
"""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts.decimals import short
from scalarviz.errors import InputError
from scalarviz.scene.canvas.palette import THEMES, contrast, rgb
from scalarviz.scene.marks import cube_boxes, pushed_rows
from scalarviz.stage.encoders import png
from scalarviz.stage.storyboard_page import COLORS, StoryboardStill, page
from scalarviz.story.caption import Caption, plain_lines
from tests.faces.browser.conftest import browser as browser
from tests.stage.conftest import go
from tests.studio import (
    NAMES,
    SIZE,
    Studio,
    Walk,
    above_number,
    assert_dimmed,
    at,
    biases,
    lit,
    shade,
    widths,
)
from tests.wording import refused

# Which layers' plates are bright while an operation is shown; the rest is dim.
BRIGHT = {
    "zero_grad": {0, 1},
    "affine 0": {0},
    "affine 1": {1},
    "step": {0, 1},
    "weight gradient 1": {1},
    "input gradient 1": {1},
    "weight gradient 0": {0},
}


@pytest.mark.slow
def test_what_takes_no_part_is_dim(walk: Walk) -> None:
    seen = []
    for _ in NAMES:
        name = walk.go()
        seen.append(name)
        pixels, colors = walk.look(1.0), walk.colors()
        if name == "step":
            continue  # numbers lie on the cubes
        for layer, row, _, index, xy in walk.cubes():
            bias = row >= 0 and index in biases(walk)
            bright = layer in BRIGHT.get(name, ()) and not (bias and name == "input gradient 1")
            if not bright:
                assert_dimmed(at(pixels, xy), colors[index], "dark")
                continue
            np.testing.assert_allclose(at(pixels, xy), colors[index], atol=2.5)
        assert walk.stage.frame_data().moment.name == name
    assert seen == NAMES


def test_wires_at_work_are_lit(walk: Walk) -> None:
    wires = next(w for w in walk.stage.plan.wires if w.operation == 0)
    start, end = wires.start[1], wires.end[1]

    def brightness(name: str) -> np.ndarray:
        """Along the wire of the second sum, between the cubes."""
        walk.go_to(name)
        pixels = walk.look(0.5)
        places = walk.see(start + np.linspace(0.0, 1.0, 200)[:, None] * (end - start)).xy
        light = np.array([at(pixels, place).mean() for place in places])
        plate = walk.stage.plan.plates[0]
        columns = (places[:, 0] - walk.see(plate.point(0, 0)).xy[0, 0]) / walk.unit()
        between = np.abs(columns - np.round(columns)) < 0.1
        return light[between & (columns > 0.5) & (columns < plate.columns + 0.1)]

    assert brightness("affine 0").min() > 150 > 120 > brightness("affine 1").max()


# Back.


@pytest.mark.slow
@pytest.mark.parametrize(  # with marks the rest falls back and comes back first
    ("marks", "part"), [(False, 0.5), (True, 0.48), (True, 0.52)]
)
def test_going_back_shows_the_same_pictures_in_reverse(
    studio: Studio, part: float, marks: bool
) -> None:
    walk = Walk(studio, marks=marks)
    inner = walk.stage.frame_data().division(*SIZE).inner

    def picture(part: float) -> np.ndarray:
        return walk.look(part)[int(inner.y) : int(inner.bottom), : int(inner.right)]

    forward = {walk.go(): picture(part) for _ in NAMES}
    for _ in NAMES:
        name = walk.go(-1)
        assert np.abs(picture(1.0 - part) - forward[name]).max() <= 2, name


@pytest.mark.some(1)
@pytest.mark.parametrize("move", [("advance", 1), ("seek", 0), ("reset",)])
def test_after_any_other_move_all_is_bright(walk: Walk, move: Any) -> None:
    walk.go_to("affine 1")
    go(walk.session, move)
    walk.now += 10.0
    pixels, colors = walk.look(0.0), walk.colors()
    assert walk.stage.frame_data().moment is None
    for _, _, _, index, xy in walk.cubes():
        np.testing.assert_allclose(at(pixels, xy), colors[index], atol=2.5)


# Sizes.


@pytest.mark.slow
def test_a_weight_gradient_grows_the_cubes_of_its_layer_only(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No arrows stand beside the cubes whose widths are measured.
    monkeypatch.setattr("scalarviz.stage.stage.pushes", lambda *given: None)
    walk.stage.take(cubes="gradient")
    least = walk.stage.plan.plates[0].least
    for name, layer in (("weight gradient 1", 1), ("weight gradient 0", 0)):
        walk.go_to(name)
        start, half, end = (widths(walk, walk.look(part)) for part in (0.0, 0.6, 1.0))
        for each, _, _, index, _ in walk.cubes():
            if each == layer:
                assert start[index] == pytest.approx(least, abs=0.08)
                assert start[index] - 0.08 <= half[index] <= end[index] + 0.08
            else:
                assert end[index] == pytest.approx(start[index], abs=0.08)
        shown = walk.stage.frame_data().cubes
        parts = np.sqrt(np.minimum(np.abs(shown.sizes) / shown.size_scales[0], 1.0))
        for each, _, _, index, _ in walk.cubes():
            if each == layer:
                assert end[index] == pytest.approx(max(least, parts[index]), abs=0.08)
        assert parts.max() > 0.5


def test_arrows_stand_over_the_cubes_of_the_row_that_is_spoken_of(studio: Studio) -> None:
    """They are the longer, the larger the gradient."""
    walk = Walk(studio, marks=True)
    walk.go_to("weight gradient 1")
    pixels, data = walk.look(1.0), walk.stage.frame_data()
    push, long = rgb((THEMES["dark"].push,))[0] * 255.0, {}
    rows = pushed_rows(data)
    for row in rows:
        (box,) = cube_boxes(walk.see, data, [row], None)
        left, right = (round(box.x + 0.5 * box.width + side * 16.0) for side in (-1, 1))
        above = pixels[round(box.y) - 20 : round(box.y), left:right]
        long[abs(float(data.cubes.pushes[row]))] = (np.abs(above - push).max(axis=2) < 40).sum()
    assert len(rows) == 9 and max(long.values()) > 20
    assert long[max(long)] >= long[min(long)]


def test_a_step_has_dashes_around_what_moves_most_where_it_was(walk: Walk) -> None:
    values = walk.session.network.bank.value
    walk.session.learning_rate, values[:] = 14.0, np.sign(values)  # so that sizes change
    walk.go_to("weight gradient 0")
    old = values.copy()
    assert walk.go() == "step"
    pixels, unit = walk.look(1.0), walk.unit()
    shown = walk.stage.frame_data().cubes
    rows, factor = shown.moved
    assert shown.pushes is None and len(rows) == 10
    np.testing.assert_array_equal(shown.before, old)
    np.testing.assert_allclose(
        shown.sizes[list(rows)], (old + factor * (values - old))[list(rows)], rtol=1e-6
    )
    halves, top = walk.stage.plan.plates[0].halves, float(shown.size_scales[0])
    was, now = halves(old, top), halves(shown.sizes, top)
    light, seen = rgb((THEMES["dark"].light,))[0] * 255.0, 0
    for _, _, _, index, (x, y) in walk.cubes():
        if index not in rows or abs(was - now)[index] * unit < 2.0:
            continue
        seen += 1
        edge, half = round(x - was[index] * unit), round(was[index] * unit)
        side = pixels[round(y) - half : round(y) + half, edge - 2 : edge + 3]
        assert (np.abs(side - light).max(axis=2) < 60).any(axis=1).sum() > 0.2 * len(side)
    assert seen > 2


# Neurons.


def test_a_sphere_is_empty_then_holds_the_sum_and_then_the_activation(walk: Walk) -> None:
    hidden = walk.stage.plan.neurons[1]
    empty = rgb((THEMES["dark"].tray,))[0] * 255.0
    known = {"inputs"}
    for name, shown in (("zero_grad", ""), ("affine 0", "affine 0"), ("tanh 0", "tanh 0")):
        walk.go_to(name)
        pixels, buffers = walk.look(1.0), walk.stage.frame_data().buffers
        known |= {shown} if shown else set()
        assert set(buffers.values) == known
        values = buffers.values.get(shown)
        colors = np.tile(empty, (8, 1)) if values is None else shade("dark", values, buffers.scale)
        for place, color in zip(above_number(walk.see, hidden), colors, strict=True):
            np.testing.assert_allclose(at(pixels, place), lit(color), atol=8)
        if values is not None:
            assert {short(float(value)) for value in values} <= set(walk.stage.picture().words)


NASTY = "<script>alert(\"1\")</script> & 'more'"
VOID = set("meta link img input path br".split())


def of_one_color(color: tuple[int, int, int], width: int = 32, height: int = 20) -> bytes:
    return png(np.full((height, width, 3), color, np.uint8))


@pytest.fixture
def stills() -> list[StoryboardStill]:
    return [
        StoryboardStill(
            "zero_grad",
            Caption("All gradients are set to 0.", "grad = 0"),
            of_one_color((9, 9, 9)),
            "A",
        ),
        StoryboardStill(
            "affine 0",
            Caption("Each adds up.", "z = w x + ... + b", plain_lines("1 * 2 = 2", "a < b")),
            of_one_color((200, 90, 20), 1280, 800),
            "Plates & lines.",
        ),
        StoryboardStill(
            NASTY,
            Caption(NASTY, NASTY, plain_lines(NASTY, "x" * 150)),
            of_one_color((20, 90, 200)),
            NASTY,
        ),
    ]


class Reader(HTMLParser):
    """What is in a page; it fails where an element is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_a_page_is_well_formed_and_says_its_language(stills: list[StoryboardStill]) -> None:
    text = page(stills, "one step")
    reader = Reader(text)
    assert text.startswith("<!DOCTYPE html>\n")
    assert reader.all("html") == [{"lang": "en"}]
    assert ("title", "one step") in reader.words and ("h1", "one step") in reader.words


def test_a_page_asks_nobody_for_anything(stills: list[StoryboardStill]) -> None:
    text = page(stills, "one step")
    assert "http:" not in text and "https:" not in text
    for _, attributes in Reader(text).elements:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert attributes.get(name, "data:").startswith(("data:", "#"))  # type: ignore[union-attr]  # it is there
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert "@import" not in text and "url(" not in text


def test_the_browser_is_told_to_run_only_what_is_in_the_page(stills: list[StoryboardStill]) -> None:
    reader = Reader(page(stills, "one step"))
    (policy,) = [each["content"] or "" for each in reader.all("meta") if "Security" in str(each)]
    assert policy.startswith("default-src 'none'; img-src data:;") and "unsafe" not in policy
    for tag in ("style", "script"):
        (text,) = [words for where, words in reader.words if where == tag]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_what_users_wrote_is_text(stills: list[StoryboardStill]) -> None:
    text = page(stills, NASTY)
    reader = Reader(text)
    assert len(reader.all("script")) == 1 and text.count("<script") == 1
    assert ("h1", NASTY) in reader.words and ("h2", NASTY) in reader.words
    assert ("button", NASTY) in reader.words and ("code", "a < b") in reader.words
    assert [each["alt"] for each in reader.all("img")[2:]] == ["A", "Plates & lines.", NASTY]


def test_every_still_stands_in_the_page_once_without_any_script(
    stills: list[StoryboardStill],
) -> None:
    text = page(stills, "one step")
    pictures = [each for each in Reader(text).all("img") if "src" in each]
    found = [base64.b64decode((each["src"] or "").partition("base64,")[2]) for each in pictures]
    assert found == [still.picture for still in stills]
    assert [each["width"] for each in pictures] == ["32", "1280", "32"]
    frames = unescape(text.partition("<main>")[2]).partition('class="frames"')[2]
    for still in stills:
        caption = still.caption
        for said in (still.name, still.alt, caption.title, caption.formula, *caption.numbers):
            assert said in frames
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert ".stage, .scripted .frames { display: none; }" in style


def test_the_strip_lists_the_operations_and_the_slider_reaches_them(
    stills: list[StoryboardStill],
) -> None:
    reader = Reader(page(stills, "one step"))
    (slider,) = reader.all("input")
    assert (slider["min"], slider["max"], slider["type"]) == ("0", "2", "range")
    names = [words for where, words in reader.words if where == "button"]
    assert names == [still.name for still in stills]
    assert [b["aria-label"] for b in reader.all("button") if "aria-label" in b] == [
        "back",
        "play",
        "forward",
    ]
    assert {"aria-live": "polite"} in reader.all("figcaption")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_text_has_contrast(stills: list[StoryboardStill], theme: str) -> None:
    text = page(stills, "a", dark=theme == "dark")
    assert f"color-scheme: {theme};" in text
    colors = dict(re.findall(r"--([\w-]+): (#\w{6});", COLORS[theme]))
    assert colors["back"] in text.partition("@media print")[0]

    for ink, ground, least in (
        ("text", "back", 12), ("quiet", "back", 7), ("strong", "on-strong", 12), ("edge", "back", 3)
    ):  # fmt: skip
        assert contrast(rgb((colors[ink],)), rgb((colors[ground],)))[0] > least


def test_a_page_without_stills_is_refused() -> None:
    refused(InputError).by(page, [], "nothing")


@pytest.mark.slow
def test_a_browser_steps_through_the_page(
    browser: Any, stills: list[StoryboardStill], tmp_path: Path
) -> None:
    file = tmp_path / "step.html"
    file.write_text(page(stills, NASTY), encoding="utf-8")
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    asked, complaints = [], []
    tab.on("request", lambda request: asked.append(request.url))
    for name in ("console", "pageerror", "dialog"):
        tab.on(name, lambda found: complaints.append(str(found)))
    tab.goto(file.as_uri())

    def here() -> tuple[str, int, str]:
        title = tab.inner_text(".stage h2")
        assert tab.get_attribute(".now", "src").startswith("data:image/png;base64,")
        assert tab.locator("nav [aria-current=step]").count() == 1
        return title, int(tab.input_value("input")), tab.inner_text("nav [aria-current=step]")

    first = ("All gradients are set to 0.", 0, "zero_grad")
    second = ("Each adds up.", 1, "affine 0")
    third = (NASTY, 2, NASTY)
    assert here() == first
    shot = tab.screenshot(path=tmp_path / "first.png")
    seen = [tab.get_attribute(".now", "src")]
    for key, wanted in [
        ("ArrowRight", second), ("End", third), ("ArrowRight", third), ("ArrowLeft", second),
        ("Home", first), ("ArrowLeft", first), ("ArrowRight", second),
    ]:  # fmt: skip
        tab.keyboard.press(key)
        assert here() == wanted
    seen.append(tab.get_attribute(".now", "src"))
    assert tab.get_attribute(".now", "alt") == "Plates & lines."
    assert "1 * 2 = 2" in tab.inner_text(".stage figcaption")
    tab.wait_for_timeout(300)
    assert tab.screenshot(path=tmp_path / "second.png") != shot and len(set(seen)) == 2

    tab.locator("input").fill("2")
    assert here() == third
    tab.locator("input").press("ArrowLeft")  # one operation, not two
    assert here() == second
    for place, wanted in (
        ("nav button >> nth=0", first),
        ("[aria-label=forward]", second),
        ("[aria-label=back]", first),
    ):
        tab.click(place)
        assert here() == wanted

    tab.keyboard.press(" ")  # it plays to the end, and stops there
    assert tab.get_attribute(".stage figcaption", "aria-live") == "off"
    tab.wait_for_selector("nav li:nth-child(3) [aria-current]", timeout=5000)
    tab.wait_for_selector("[aria-label=play]", timeout=5000)
    assert here() == third
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
    assert complaints == []

    for width in (320, 390, 768, 1400):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_without_scripts_and_on_paper_all_stills_are_there(
    browser: Any, stills: list[StoryboardStill], tmp_path: Path
) -> None:
    file = tmp_path / "step.html"
    stills = [*stills, stills[0]]
    file.write_text(page(stills, "one step"), encoding="utf-8")
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(file.as_uri())
    assert plain.locator(".frames h2").all_inner_texts() == [s.caption.title for s in stills]
    assert all(plain.locator(".frames img").nth(i).is_visible() for i in range(4))
    assert not plain.locator(".stage").is_visible()

    paper = browser.new_page()
    paper.goto(file.as_uri())
    assert not paper.locator(".frames").is_visible()
    paper.emulate_media(media="print")
    assert all(paper.locator(".frames figure").nth(i).is_visible() for i in range(4))
    assert not paper.locator(".stage").is_visible()
    assert len(re.findall(rb"/Type\s*/Page\b", paper.pdf(format="A4"))) == 2
