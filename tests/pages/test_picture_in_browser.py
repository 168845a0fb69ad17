"""The page's picture in a browser beside that of a window at the same moment."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import texts
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.page import module_text, page_of
from scalarviz.pages.scene_data import SHAPES, scene_data
from scalarviz.scene.canvas import fonts
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.focus import focus_of
from scalarviz.scene.frame_data import FrameData, NeuronMaps
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.look import Look
from scalarviz.scene.tray_card import MARGIN, tray_box
from scalarviz.stage.render_options import RenderOptions, drawn
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens
from tests.pages.states import made, state_of, told_data
from tests.studio import go_by_neurons

FONTS = Path(fonts.__file__).parent / "dejavu"
HTML = """<!doctype html><meta charset="utf-8">
<style>
@font-face {font-family: Shown; src: url(DejaVuSans.ttf)}
@font-face {font-family: Shown; src: url(DejaVuSans-Bold.ttf); font-weight: bold}
body {margin: 0; font-family: Shown} canvas {display: block}
</style>
<canvas id="picture"></canvas>
<script type="module">
import { withLayouts } from "./layout_maker.js";
import { Picture } from "./picture.js";
import { unpackedAll } from "./arrays.js";
import { setTexts } from "./texts.js";
Object.assign(window, { Picture, setTexts, unpackedAll, withLayouts });
await Promise.all(["13px Shown", "bold 13px Shown"].map((font) => document.fonts.load(font)));
window.ready = true;
</script>"""
BEGIN = """({scene, facts, texts}) => {
  setTexts(texts);
  window.given = withLayouts(scene, facts);
  window.picture = new Picture(document.getElementById("picture"), given);
  Object.assign(picture, {slow: true, calm: true});  // as on a machine without a GPU
  return picture.fault;
}"""
DRAW = """({size, ratio, theme, state, options}) => {
  picture.theme = theme;
  picture.resize(...size, ratio);
  picture.canvas.style.width = size[0] + "px";
  const known = unpackedAll(state);
  window.drawn = [known, options];
  if (!("now" in options)) options.now = 1000;
  picture.draw(known, options);
  return {words: picture.words, image: picture.canvas.toDataURL("image/png")};
}"""


class PicturePage:
    """A page with one picture.

    Attributes:
        errors: what the console has said
    """

    def __init__(self, page: Any, scene: Any, facts: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", lambda said: self.errors.append(said.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.route("**/*", self._answer)
        page.goto("http://page.test/index.html")
        page.wait_for_function("window.ready || false")
        self.fault = page.evaluate(
            BEGIN,
            {**json.loads(json.dumps({"scene": scene, "facts": facts})), "texts": {**texts()}},
        )

    def _answer(self, route: Any) -> None:
        name = route.request.url.partition("page.test/")[2]
        if name == "index.html":
            route.fulfill(body=HTML, content_type="text/html")
        elif name.endswith(".ttf"):
            route.fulfill(body=(FONTS / name).read_bytes(), content_type="font/ttf")
        elif name.endswith(".js"):
            route.fulfill(body=module_text(name), content_type="text/javascript")
        else:
            route.fulfill(status=204)

    def draw(
        self,
        state: Any,
        size: tuple[int, int],
        /,
        *,
        theme: str = "dark",
        ratio: float = 1.0,
        **options: Any,
    ) -> tuple[np.ndarray, list[str]]:
        """Draw a state; return its pixels, (height, width, 3), and all text."""
        given = {"size": size, "ratio": ratio, "theme": theme, "state": state, "options": options}
        found = self.page.evaluate(DRAW, given)
        return self.image(found["image"]), found["words"]

    def image(self, url: str) -> np.ndarray:
        """The pixels of a picture that a page has given."""
        from PIL import Image

        return np.asarray(Image.open(BytesIO(b64decode(url.partition(",")[2]))).convert("RGB"))

    def ask(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)


@contextmanager
def picture_page(browser: Any, show: Any, shapes: Sequence[float] = ()) -> Iterator[PicturePage]:
    """A page of a browser with one picture of a scene, with layouts for some shapes."""
    scene, facts = scene_data(show, shapes), caption_data(Show.of(show).session)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    try:
        yield PicturePage(page, scene, facts)
    finally:
        page.close()


BLOCK = 8  # pixels of the squares that are compared: letters differ, what is drawn does not
CLOSE = 20.0  # levels of color, of 255
# Parts of a window's picture that are elements of a page, with what they return if left out.
ELEMENTS: dict[str, Any] = {
    "doors": None,
    "result": None,
    "card": None,
    "head": (None, []),
    "band": (None, [], [], []),
}
Opened = tuple[str, Show, PicturePage]
SCENES = {
    "xor": [(20, 0), (20, 2), (20, 9)],
    "rgb": [(300, 0), (300, 2), (300, 5), (300, 8), (300, 11), (300, 12)],
    "texture": [(20, 0), (20, 9)],
    "digits": [(3, 0), (3, 5), (3, 15)],
    "micrograd": [(1, 0), (1, 3), (1, 34), (1, 35), (1, 40), (1, 68)],
    "expression": [(30, 0), (30, 4), (30, 9), (30, 15), (30, 18)],
}


def tray_in_corner(seen: FrameData, division: Division) -> Box | None:
    """The card of a tray as a page has it: the card of what is pinned stands beside the picture."""
    view = division.view
    scene = Box(view.x, view.y, view.width - MARGIN, view.height - MARGIN)
    return tray_box(seen, replace(division, scene=scene, card=Box(0.0, 0.0, 0.0, 0.0)))


def blocks(image: np.ndarray) -> np.ndarray:
    """The mean color of each square of an image."""
    high, wide = (length // BLOCK * BLOCK for length in image.shape[:2])
    parts = image[:high, :wide].reshape(high // BLOCK, BLOCK, wide // BLOCK, BLOCK, 3)
    return parts.astype(float).mean(axis=(1, 3))


@contextmanager
def window(
    show: Show, size: tuple[int, int], theme: str, *, reduced_motion: bool = False
) -> Iterator[Stage]:
    """A stage without buttons, as in a file."""
    stage = Stage(show, Look(theme=theme), reduced_motion=reduced_motion)
    stage.common.silent = True
    stage.resize(*size)
    if stage.reading.program.is_graph:
        stage.unfold()
    try:
        yield stage
    finally:
        stage.leave()


def maps_data(maps: NeuronMaps | None) -> dict[str, Any] | None:
    """The maps of all neurons as a worker gives them to a page."""
    if maps is None:
        return None
    flat = {name: own.reshape(len(own), -1).tolist() for name, own in maps.values.items()}
    dot = None if maps.dot is None else maps.dot.tolist()
    paints = {name: weights.tolist() for name, weights in maps.paints.items()}
    return {"values": flat, "isPlane": not maps.is_curve, "dot": dot, "paints": paints}


def fall_back(stage: Stage) -> None:
    """Let what is out of focus have fallen back."""
    stage._attention.follow(focus_of(stage.frame_data()) is not None, stage._now, calm=True)


def compare(page: PicturePage, stage: Stage, size: tuple[int, int], **options: Any) -> None:
    """Draw the present moment in a window and in the page, and compare words and colors."""
    look = RenderOptions(size=size, theme=stage.look.theme, samples=1)
    with look.canvas() as canvas:
        image = drawn(canvas, stage, look)
        seen = stage.frame_data()
        division = seen.division(*size)
        scene, inner = division.scene, division.inner
        box = replace(inner, y=inner.y - scene.y)
        words = stage.picture().words
        found, said = page.draw(
            state_of(stage, seen),
            (int(scene.width), int(scene.height)),
            theme=stage.look.theme,
            part=seen.part,
            seconds=stage.motion.seconds,
            neuron=stage.motion.neurons.number if stage.motion.neurons else 0,
            caption=seen.moment and told_data(seen.words.caption),
            scale=division.scale,
            maps=maps_data(seen.maps),
            result=seen.exhibit is not None and division.exhibit.width > 0,
            border=seen.border and asdict(seen.border),
            box=dict(zip(("x", "y", "width", "height"), box.place, strict=True)),
            **options,
        )
        stage.release()
    said = [each.replace("\N{NO-BREAK SPACE}", " ") for each in said]  # which are drawn alike
    assert Counter(said) == Counter(words), (seen.moment, seen.part)
    wide, high, top = int(division.view.right - scene.x), int(scene.height), int(scene.y)
    # The edge of a cube may lie between two pixels, which two rasterizers round otherwise.
    shifted = [np.roll(found, each, (0, 1)) for each in product((0, -1, 1), repeat=2)]
    window = blocks(image[top : top + high, :wide, :3])
    apart = np.min([np.abs(window - blocks(each[:, :wide])).max(-1) for each in shifted], axis=0)
    # The explanation of arrows has another place in a window with a head.
    apart[: 40 // BLOCK, : 400 // BLOCK] = 0.0
    assert apart.max() < CLOSE, (seen.moment, seen.part)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have the caption, the lines to the result and all panels as elements."""
    by_turns = Canvas2D.by_turns

    def without_elements(canvas: Canvas2D, name: str, *given: Any, **more: Any) -> Any:
        return ELEMENTS[name] if name in ELEMENTS else by_turns(canvas, name, *given, **more)

    monkeypatch.setattr(Canvas2D, "by_turns", without_elements)
    monkeypatch.setattr("scalarviz.scene.picture.draw_beside", lambda _, __, box, *___: box)
    monkeypatch.setattr("scalarviz.scene.picture.tray_box", tray_in_corner)


# A page has the scales of the picture before, and knows what it has shown first.
FORGET = """() => {
  for (const name of ["scales", "followed"]) picture[name] = new picture[name].constructor();
  delete picture.scene.first;
}"""


@pytest.fixture(scope="module", params=SCENES)
def opened_picture(request: pytest.FixtureRequest, browser: Any) -> Iterator[Opened]:
    name = request.param
    show = import_module(f"scalarviz.scenes.{name}").scene()
    with picture_page(browser, show, SHAPES) as page:
        yield name, show, page


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
# At 1280x800 pixels of maps of digits end in the middle of one of the screen, either side of which
# renderers round to.
@pytest.mark.parametrize(("size", "theme"), [((1280, 808), "dark"), ((800, 500), "light")])
def test_page_and_window_show_the_same(
    opened_picture: Opened, size: tuple[int, int], theme: str
) -> None:
    name, show, page = opened_picture
    for step, operation in SCENES[name]:
        show.session.seek(step)
        if operation:
            show.session.advance(operation, "operation")
        with window(show, size, theme, reduced_motion=True) as stage:
            page.ask(FORGET)
            compare(page, stage, size)
    assert page.fault == "" and page.errors == []


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_light_is_where_it_is_in_a_window(opened_picture: Opened) -> None:
    name, show, page = opened_picture
    if name not in ("rgb", "expression"):
        return
    session, size = show.session, (1280, 800)
    session.seek(40)
    with window(show, size, "dark") as stage:
        page.ask(FORGET)
        stage.frame_data()
        session.advance(1, "operation")
        for done in range(1, len(session.operations)):
            stage.tick(1000.0 * done)  # the operation before is done
            stage.frame_data()
            session.advance(1, "operation")
            stage.frame_data()
            fall_back(stage)
            for part in (0.3, 0.65, 0.9):
                stage.motion.part = part
                compare(page, stage, size)


# By scene: neurons from the beginning of a step, at which a window and a page are compared.
NEURONS = {
    "xor": [3, 7, 10, 13, 14, 17, 20, 25],
    "rgb": [3, 12, 19, 22, 24, 26, 29, 33, 40, 48],
}


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(("size", "theme"), [((1280, 800), "dark"), ((800, 500), "light")])
def test_a_neuron_is_shown_as_in_a_window(
    opened_picture: Opened, size: tuple[int, int], theme: str
) -> None:
    name, show, page = opened_picture
    for number in NEURONS.get(name, ()):
        show.session.seek(30)
        with window(show, size, theme, reduced_motion=True) as stage:
            page.ask(FORGET)
            go_by_neurons(stage, number)
            compare(page, stage, size)
    assert page.fault == "" and page.errors == []


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_a_neuron_comes_as_in_a_window(opened_picture: Opened) -> None:
    name, show, page = opened_picture
    if name != "rgb":
        return
    show.session.seek(40)
    with window(show, (1280, 800), "dark") as stage:
        page.ask(FORGET)
        stage.frame_data()
        for done in range(1, 56):
            go_by_neurons(stage, 1)
            stage.tick(1000.0 * done)
            stage.frame_data()
            fall_back(stage)
            # Also the page sees every neuron, since it knows which ones it has explained.
            for part in (0.4, 0.65, 0.9) if done % 6 == 3 else (0.9,):
                stage.motion.part = part
                stage.motion._hold()
                compare(page, stage, (1280, 800))


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_what_is_pointed_at_is_marked_alike(
    opened_picture: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, show, page = opened_picture
    monkeypatch.setattr("scalarviz.scene.picture.draw_hover", lambda *_: None)  # a page has its own
    size, program = (1280, 808), show.session.network.program
    target = program.operations[0].target
    neuron = target.name, min(1, target.size - 1)
    show.session.seek(4)
    page.ask(FORGET)
    with window(show, size, "dark", reduced_motion=True) as stage:
        compare(page, stage, size)
        stage.hover, stage.pinned_neuron = 1, neuron
        options = {"hover": {"row": 1}, "pinned": {"neuron": neuron}}
        compare(page, stage, size, **options)


@pytest.fixture(scope="module")
def small(browser: Any) -> Iterator[tuple[PicturePage, Any]]:
    """A page with a small network, and its state."""
    session = made(2, 3, 1)
    with (
        picture_page(browser, session) as page,
        window(Show.of(session), (640, 400), "dark", reduced_motion=True) as stage,
    ):
        yield page, state_of(stage, stage.frame_data())


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_a_picture_that_stands_still_gets_smooth_edges(small: tuple[PicturePage, Any]) -> None:
    page, state = small
    page.ask("() => {performance.now = () => 0}")  # pictures seem quick also if it is busy
    rough, words = page.draw(state, (640, 400))
    page.page.wait_for_function("() => picture.canvas.width === 1280")
    assert page.ask("() => picture.words") == words
    fine = page.image(page.ask("() => {picture.render(1, 2); return picture.canvas.toDataURL()}"))
    smooth = fine.reshape(400, 2, 640, 2, 3).mean(axis=(1, 3))
    assert np.percentile(np.abs(blocks(smooth) - blocks(rough)), 99) < CLOSE
    colors = [len(np.unique(each.reshape(-1, 3), axis=0)) for each in (rough, smooth)]
    assert colors[1] > 1.2 * colors[0]  # edges mix the colors beside them
    again, _ = page.draw(state, (640, 400))
    np.testing.assert_array_equal(again, rough)
    slow = "picture.gl.getSyncParameter = () => null"
    for late in ("picture.plays = () => true", slow):
        page.ask(f"() => {{picture.plays = () => false; {late}}}")
        page.draw(state, (640, 400))
        page.page.wait_for_timeout(1500)
        assert page.ask("() => picture.canvas.width") == 640


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_a_theme_and_a_channel_change_colors_alone(small: tuple[PicturePage, Any]) -> None:
    page, state = small
    dark, words = page.draw(state, (640, 400))
    light, same = page.draw(state, (640, 400), theme="light")
    assert sorted(same) == sorted(words) and light.mean() > 200.0 > 60.0 > dark.mean()
    look = {"color": "gradient", "cubes": "gradient"}
    pushed, _ = page.draw(state, (640, 400), look=look)
    assert np.abs(blocks(pushed) - blocks(dark)).max() > 2.0 * CLOSE
    back, _ = page.draw(state, (640, 400))
    np.testing.assert_array_equal(back, dark)


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_the_camera_follows_the_hand_and_comes_home(small: tuple[PicturePage, Any]) -> None:
    page, state = small
    first, _ = page.draw(state, (640, 400))
    row = page.ask("() => [picture.placeOf({row: 2}), picture.at(320, 200)]")[0]
    assert page.ask("([x, y]) => picture.at(x, y)", [row["x"], row["y"]]) is not None
    for move in ("orbit(30, 10)", "zoom(1.5, 100, 100)", "move(20, 5)"):
        page.ask(f"() => picture.eyes.{move}")
        moved, _ = page.draw(state, (640, 400))
        assert np.abs(moved.astype(int) - first).mean() > 1.0
    page.ask("() => {picture.calm = false; picture.home()}")
    page.draw(state, (640, 400), now=1000.0)
    moving, _ = page.draw(state, (640, 400), now=1000.3)
    assert np.abs(moving.astype(int) - first).mean() > 1.0
    for now in (1000.6, 1002.0):
        home, _ = page.draw(state, (640, 400), now=now)
    page.ask("() => {picture.calm = true}")
    np.testing.assert_allclose(home.astype(int), first, atol=2)


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_a_card_takes_of_the_width_without_a_jump(small: tuple[PicturePage, Any]) -> None:
    page, state = small
    pinned = {"row": 2}
    page.draw(state, (1000, 400), pinned=pinned)  # whose products are written then
    page.ask("() => {picture.calm = false}")
    places = "() => [0, 5].map((row) => picture.placeOf({row}))"
    layout, before = page.ask("() => picture.placed.place = 7"), page.ask(places)
    assert page.draw(state, (500, 400), pinned=pinned, now=2000.0) is not None
    first = page.ask(places)
    for now in (2000.1, 2000.3):
        page.draw(state, (500, 400), pinned=pinned, now=now)
    for old, kept, new in zip(before, first, page.ask(places), strict=True):
        # It stays where it was, exactly so at the depth of the target.
        assert abs(kept["x"] - old["x"]) < 0.2 * abs(new["x"] - old["x"])
        assert abs(new["x"] - old["x"]) > 20.0 and 0.0 < new["x"] < 500.0
    assert page.ask("() => picture.placed.place") == layout  # the same one, seen from nearer
    page.ask("() => {picture.calm = true}")
    page.draw(state, (500, 400))
    assert page.ask("() => picture.placed.place ?? 0") == 0


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_walls_of_tiny_cubes_look_alike(browser: Any) -> None:
    session = made(500, 400, 10)
    size = 800, 500
    with (
        picture_page(browser, session) as page,
        window(Show.of(session), size, "dark", reduced_motion=True) as stage,
    ):
        compare(page, stage, size)
        levels = "() => [picture.cubes.levels, picture.cubes.meant.filter(Boolean).length]"
        assert page.ask(levels) == [[7, 7, 7, 0], 3]
        small = """() => {  // a graphics card without room for the means
          const { gl } = picture;
          gl.getParameter = () => 64;
          picture.cubes.setLayout(picture.placed);
          delete gl.getParameter;
        }"""
        page.ask(small)
        image, _ = page.draw(state_of(stage, stage.frame_data()), (800, 400))
        assert page.ask(levels) == [[0, 0, 0, 0], 0] and page.errors == []
        assert len(np.unique(image.reshape(-1, 3), axis=0)) > 500


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("circle")
def test_squares_have_the_maps_of_their_neurons_while_it_trains_and_at_rest(tab: Tab) -> None:
    tab.until("app.maps.now && app.maps.of[0] === app.state.value")
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    across, down = (np.arange(32) + 0.5) / 32, 1 - (np.arange(32) + 0.5) / 32
    x, y = (low[k] + part * (high[k] - low[k]) for k, part in enumerate((across, down)))
    value = np.array(tab.state["value"])
    wanted = np.tanh(value[6] * x + value[7] * y[:, np.newaxis] + value[8 + 3])
    found = tab.ask("Array.from(app.maps.now.values['tanh 0'][3])")
    np.testing.assert_allclose(np.reshape(found, (32, 32)), wanted, atol=1e-5)
    tab.do("(made = [], survey = app.maps.survey, app.maps.survey = (inputs) => "
           "(made.push(performance.now()), survey(inputs)), 0)")  # fmt: skip
    tab.press("Space")
    tab.until("app.state.step > 20 && made.length > 5")
    assert np.diff(tab.ask("made")).min() >= 200.0
    tab.press("Space")
    tab.until("app.maps.of[0] === app.state.value")


@pytest.mark.slow
@ONLY_CHROMIUM
def test_squares_of_a_table_have_curves_over_the_input_that_is_pointed_at(
    opened: Opens, files: Files
) -> None:
    inputs = np.random.default_rng(0).uniform(-2.0, 3.0, (40, 3))
    network = sv.Network([3, 4, 1], "tanh", seed=0)
    session = sv.Session(network, data.Arrays(inputs, inputs[:, :1]), engine="cpu")
    tab = opened(files.write("table", page_of(Show.of(session)).text)).ready()
    tab.until("app.maps.now && app.maps.of[0] === app.state.value")
    sample = np.array(tab.ask("Array.from(app.state.inputs)"))
    value = np.array(tab.state["value"])
    for axis in (0, 2):
        tab.do(f"(app.change({{hover: {{neuron: ['inputs', {axis}]}}}}), 0)")
        tab.until(f"app.maps.now.axis === {axis}")
        along = np.array(tab.ask(f"Array.from(app.maps.now.values.inputs[{axis}])"))
        assert along[[0, -1]] == pytest.approx([inputs[:, axis].min(), inputs[:, axis].max()])
        samples = np.tile(sample, (64, 1))
        samples[:, axis] = along
        wanted = np.tanh(samples @ value[3:6] + value[13])
        found = tab.ask("Array.from(app.maps.now.values['tanh 0'][1])")
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        (dot,) = tab.ask("app.maps.now.dot")
        assert along[0] + dot * (along[-1] - along[0]) == pytest.approx(sample[axis], abs=1e-5)


@pytest.mark.slow
@ONLY_CHROMIUM
@pytest.mark.page("circle")
def test_a_pinned_neuron_has_its_own_map_on_its_card(tab: Tab) -> None:
    tab.press("Shift+ArrowRight", 3)
    tab.until("app.maps.now && app.maps.of[0] === app.state.value")
    image = "document.querySelector('.neuron-map canvas').toDataURL()"
    seen = set()
    for neuron in (["tanh 0", 1], ["tanh 0", 2], ["inputs", 0]):
        tab.do(f"(app.pin({{neuron: {neuron!r}}}), 0)")
        assert tab.page.locator(".neuron-map").is_visible()
        seen.add(tab.ask(image))
    assert len(seen) == 3
    tab.do("(app.pin({row: 2}), 0)")
    assert not tab.page.locator(".neuron-map").is_visible()
