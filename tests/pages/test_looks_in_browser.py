"""Where the parts of a page stand, on any screen, and what a browser that lacks something shows."""

from __future__ import annotations

import itertools
import random
import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.pages.page import page_of
from scalarviz.scene.canvas.palette import contrast
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def measured(files: Files) -> Path:
    """A page of points in a plane, half of them held out, with the loss and the share of these."""
    points = data.Circle(share=0.5, signed=True)
    network = sv.Network([2, 4, 1], "tanh", output="tanh", seed=0)
    session = sv.Session(network, points, "mse", sv.SGD(0.03), batch=10, metrics=["accuracy"])
    session.advance(200)
    return files.write("measured", page_of(session).text)


# Keeps what is written on the canvases of the loss and of an operation: words, and the place of
# their left end, in logical pixels, as what is drawn before and after a change of the size is
# alike.
WRITTEN = """
    const write = CanvasRenderingContext2D.prototype.fillText;
    globalThis.written = new Map();
    CanvasRenderingContext2D.prototype.fillText = function (words, x, y, room) {
        const wide = this.measureText(words).width;
        const left = { right: x - wide, center: x - wide / 2 }[this.textAlign] ?? x;
        if (this.canvas.closest(".curve, .side")) written.set(words, [left, y, wide, room ?? wide]);
        write.call(this, words, x, y, ...(room ? [room] : []));
    };
"""


def colors_of(tab: Tab, button: str) -> np.ndarray:
    """The colour of the letters of an element, of 1, and that of its ground."""
    found = tab.ask(f"""(() => {{
        const all = [];
        for (let each = document.querySelector("{button}"); each; each = each.parentElement) {{
            all.push(getComputedStyle(each));
        }}
        const isFull = (color) => !/^rgba.*, 0\\)$/.test(color);
        const ground = all.map((each) => each.backgroundColor).find(isFull);
        return [all[0].color, ground].map((each) => each.match(/[\\d.]+/g).slice(0, 3).map(Number));
    }})()""")
    return np.array(found) / 255.0


def overlap(tab: Tab, first: str, second: str) -> bool:
    """Whether two visible parts of the page share pixels."""
    one, other = (tab.page.locator(each).bounding_box() for each in (first, second))
    if one is None or other is None:
        return False
    return all(
        min(one[at] + one[size], other[at] + other[size]) - max(one[at], other[at]) > 1
        for at, size in [("x", "width"), ("y", "height")]
    )


@pytest.mark.parametrize("size", [(360, 740), (800, 500), (1280, 800)], ids=str)
def test_a_message_covers_no_part_of_the_network_and_no_caption(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("xor", size).ready()
    tab.do("app.tell('input x to neuron 0: -0.2 to 0.3', 'train on')")
    for part in ("h1", ".task p", "#picture", "#exhibit", "#caption", "#curve", "#controls"):
        assert not overlap(tab, "#chip", part)


@ONLY_CHROMIUM
@pytest.mark.parametrize("size", [(390, 844), (800, 500), (1280, 800)], ids=str)
def test_a_step_stands_beside_what_came_out_before_it_with_the_digits_of_its_panel(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("rgb", size, reduced_motion="reduce").ready()
    tab.do("app.run('seek', 89)")
    for _ in range(tab.ask("app.counts.length")):
        tab.do("app.still('advance', { count: 1, unit: 'operation' })")
    before, after = tab.ask("app.picture.frame.told.outcome.off")
    assert after < before and tab.shown("exhibit").count(text("exhibits.former")) == 1
    found = [tab.page.inner_text(f".result {each}") for each in (".yet", ".begun i + span")]
    assert found == [text("outputs.off", error=short(each, 3)) for each in (after, before)]
    parts = [".headline", ".pair", ".yet", ".begun", "canvas.side"]
    for one, other in itertools.combinations(parts, 2):
        assert not overlap(tab, one, other), (one, other)
    for part in parts:
        box = tab.page.locator(part).bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
        assert box["x"] + box["width"] <= size[0] and box["y"] + box["height"] <= size[1]


@pytest.mark.parametrize("size", [(390, 844), (800, 500)], ids=str)
def test_colours_stand_below_each_other_while_one_is_shown(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("rgb", size).ready()
    assert tab.page.locator(".swatches .now").count() == 1  # at the start
    boxes = tab.ask("""[...document.querySelectorAll('.swatches > div:not(.names, .others)')]
        .map((each) => each.getBoundingClientRect())
        .map(({ left, top, bottom }) => [left, top, bottom])""")
    assert len({round(left) for left, _, _ in boxes}) == 1
    assert all(one[2] <= other[1] + 1 for one, other in pairwise(boxes))


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=str)
def test_loss_and_step_stand_once_beside_the_curve(opened: Opens, size: tuple[int, int]) -> None:
    tab = opened("xor", size, before=WRITTEN).ready()
    tab.do("app.run('advance', 3, 'step')")
    assert tab.shown("place") == "step 3"
    assert re.fullmatch(r"loss now \.\d+", tab.shown("loss"))
    tab.do("app.run('seek', 1)")
    written = tab.ask("[...written.keys()]")
    assert "3" in written and not {"step 3", "step 1"} & {*written}  # the end of the axis


def test_a_network_of_one_input_shows_the_curve_that_it_learns(opened: Opens) -> None:
    xs = np.linspace(-1.0, 1.0, 9)[:, np.newaxis]
    network = sv.Network([1, 1], "linear", seed=0)
    network.bank.value[:] = [0.5, 0.25]
    session = sv.Session(network, data.Arrays(xs, xs), "mse", sv.SGD(0.1))
    tab = opened(page_of(session).text, reduced_motion="reduce").ready()
    tab.settle()
    accent = tab.ask("getComputedStyle(document.body).getPropertyValue('--accent')").strip()
    shot = PIL.Image.open(BytesIO(tab.page.locator(".pair .map").screenshot())).convert("RGB")
    wanted = [int(accent[i : i + 2], 16) for i in (1, 3, 5)]
    down, across = np.nonzero(np.abs(np.asarray(shot, int) - wanted).sum(axis=2) < 40)
    assert np.ptp(across) > 0.8 * shot.width
    assert np.polyfit(across, down, 1)[0] == pytest.approx(-0.5 * 2.0 / 2.6, abs=0.02)
    assert tab.shown("exhibit").count(text("exhibits.swatches.target")) == 1


@pytest.mark.page("normalized", reduced_motion="reduce")
def test_key_and_button_write_the_numbers_of_all_cubes(tab: Tab) -> None:
    few = tab.ask("app.picture.words.length")  # on faces with room
    tab.press("n")
    assert tab.ask("app.picture.words.length") > few
    tab.do("document.querySelector('#numbers').click()")
    assert tab.ask("app.picture.words.length") == few


@pytest.mark.parametrize(("name", "step"), [("rgb", 400), ("circle", 900)])
def test_every_large_cube_has_its_number(opened: Opens, name: str, step: int) -> None:
    tab = opened(name, reduced_motion="reduce").ready()
    tab.do(f"app.run('seek', {step})")
    tab.press("n")
    written = [(words.replace("–", "-"), *at) for words, *at in tab.written()]  # short minus
    for row, value in enumerate(tab.state["value"]):
        edge = tab.ask(f"""(({{ picture: {{ see, placed, frame }} }}) => {{
            const [plate, ...place] = placed.plate_of({row});
            const half = plate.halves(frame.sizes[{row}], frame.sizeScaleAt({row}));
            return 2 * half * see.one(plate.middle(...place, half)).unit;
        }})(app)""")
        middle = tab.ask(f"Object.values(app.picture.placeOf({{row: {row}}}))")[:2]
        own = [at for words, *at in written if words in (short(value), short(value, 1))]
        near = [at for at in own if np.abs(np.subtract(at, middle)).max() < edge]
        assert near or edge < 24.0, (row, value, edge)


def test_no_name_of_a_layer_is_cut_at_the_upper_edge(opened: Opens) -> None:
    xs = [[each / 4] for each in range(-4, 5)]
    network = sv.Network([1, 8, 1], "relu", seed=0)
    session = sv.Session(network, data.Arrays(xs, xs), "mse", sv.SGD(0.1))
    tab = opened(page_of(session).text, (390, 776)).ready()
    shot = PIL.Image.open(BytesIO(tab.page.locator("#cubes").screenshot())).convert("L")
    upper = np.asarray(shot)[0].astype(int)
    assert np.abs(np.diff(upper)).max() <= 1  # the ground alone, with its pool of light


# The share of the caption with a ball, a cube or a tray under it.
UNDER_CAPTION = """(({ taken, canvas }) => {
    const [own, other] = [document.querySelector("#caption"), canvas].map((each) =>
        each.getBoundingClientRect());
    const [x, y, { width, height }] = [own.x - other.x, own.y - other.y, own];
    return taken.covered({ x, y, width, height });
})(app.picture)"""


@pytest.mark.parametrize("size", [(360, 740), (800, 500)], ids=str)
def test_the_result_of_a_caption_is_in_sight(opened: Opens, size: tuple[int, int]) -> None:
    tab = opened("circle", size).ready()
    assert tab.ask(UNDER_CAPTION) == 0.0
    for _ in range(4):
        tab.press(".")
        assert tab.ask(UNDER_CAPTION) == 0.0
        box = tab.page.locator("#caption").bounding_box()
        lines = tab.page.locator("#caption .line").all()
        last = lines[-1].bounding_box() if lines else None
        if last is not None:
            assert last["y"] + last["height"] <= box["y"] + box["height"] + 1
    assert tab.page.locator("#picture").bounding_box()["height"] >= 150


@pytest.mark.parametrize("size", [(1920, 300), (900, 360), (800, 500)], ids=str)
def test_parts_give_way_in_a_low_window(opened: Opens, size: tuple[int, int]) -> None:
    tab = opened("circle", size).ready()
    strip = tab.page.locator("#strip").bounding_box()
    for part in ("#exhibit .map", "#exhibit .keys-of-map", "#exhibit .yet"):
        box = tab.page.locator(part).bounding_box()
        assert box is None or box["y"] + box["height"] <= strip["y"] + 1
    assert not overlap(tab, "#curve", "#strip")
    assert (tab.page.locator("#curve").bounding_box() is None) == (size[1] <= 320)


@pytest.mark.page("xor")
def test_the_dragged_cube_is_the_one_that_is_marked(tab: Tab) -> None:
    x, y = tab.place_of("{row: 3}")
    scale = tab.ask("app.picture.frame.scale")
    tab.page.mouse.move(x, y)
    row = tab.ask("app.hover.row")
    tab.page.mouse.down()
    tab.page.mouse.move(x, y - 40)
    tab.page.mouse.move(x, y - 250)
    tab.settle()
    assert tab.ask("app.hover.row") == row
    value = tab.ask(f"app.state.value[{row}]")
    assert value > scale == tab.ask("app.picture.frame.scale")  # the cube does not shrink
    tab.page.mouse.up()
    tab.settle()
    assert tab.ask("app.picture.frame.scale") >= value


@pytest.mark.parametrize("size", [(390, 844), (800, 500), (1280, 800)], ids=str)
def test_the_sheet_covers_neither_the_network_nor_its_result(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("circle", size).ready()
    tab.do("app.setSheet(true)")
    assert tab.page.locator("#exhibit .pair").is_visible()
    for part in ("#picture", "#exhibit", "#strip", "#curve", "#controls"):
        assert not overlap(tab, "#sheet", part)


@pytest.mark.page("rgb", reduced_motion="reduce")
def test_out_of_another_sample_never_stands_beside_a_goal(tab: Tab) -> None:
    shown = "app.exhibit.result.faces.map((each) => each.style.backgroundColor)"
    tab.do("app.run('seek', 3)")
    assert all(tab.ask(shown))
    tab.press(".")
    out, goal = tab.ask(shown)
    assert goal and not out
    tab.press(".", 5)
    assert all(tab.ask(shown))


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=str)
def test_numbers_of_out_and_goal_are_whole(opened: Opens, size: tuple[int, int]) -> None:
    names = {"output_names": ["horizontal"]}
    samples = data.Arrays([[1.0, 2.0, 0.0], [2.0, 9.0, 1.0]], [[-11.0], [3.0]], **names)
    session = sv.Session(sv.Network([3, 1], "linear", seed=0), samples, "mse")
    tab = opened(page_of(session).text, size).ready()
    tiles = tab.page.locator(".tile").all()
    for tile in tiles:
        assert re.match(r"-?\d*\.?\d+\n", tile.inner_text())
        assert tile.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    assert len(tiles) == 3


@pytest.mark.page("circle", (360, 740), has_touch=True, is_mobile=True)
def test_the_map_of_the_plane_is_square_on_a_phone(tab: Tab) -> None:
    box = tab.page.locator("#exhibit .map").first.bounding_box()
    assert abs(box["width"] - box["height"]) < 2
    assert tab.page.locator("#exhibit .headline b").all_inner_texts() == ["125"] * 2
    assert tab.ask(OUTSIDE) == []


# Whether names in bold letters of 13 pixels beside the spheres of outputs end before the edge.
NAMES_FIT = """(({see, placed, glyphs, ratio, right}) => {
    const line = placed.neurons.at(-1), {x, unit} = see.see(line.points);
    return line.names.map((name, i) => {
        const wide = glyphs.width(name, Math.round(12 * ratio), true) / ratio;
        const left = Math.min(x[i] + line.radius * unit[i] + 6, see.box.right + 9 - wide);
        return left + wide <= right;
    });
})(app.picture)"""


@pytest.mark.parametrize("size", [(390, 844), (800, 500), (1280, 800)], ids=str)
def test_names_of_outputs_are_not_cut_off(opened: Opens, size: tuple[int, int]) -> None:
    names = ["A", "B", "versicolor"]
    points = data.Arrays(np.eye(3)[:, :2], [0, 1, 2], classes=3, output_names=names)
    session = sv.Session(sv.Network([2, 3], seed=0), points, "softmax_cross_entropy", sv.SGD(0.5))
    tab = opened(page_of(session).text, size).ready()
    assert tab.ask(NAMES_FIT) == [True] * 3
    assert tab.ask("app.picture.words").count("versicolor") == 1
    tab.do("app.pin({row: 5})")
    tab.page.wait_for_timeout(500)  # the camera moves
    assert tab.ask(NAMES_FIT) == [True] * 3


@pytest.mark.parametrize("size", [(320, 568), (360, 740), (800, 500), (1280, 800)], ids=str)
def test_the_values_of_metrics_are_written(
    opened: Opens, measured: Path, size: tuple[int, int]
) -> None:
    tab = opened(measured, size, before=WRITTEN).ready()
    tab.press("ArrowRight")
    tab.ask("written.clear()")
    tab.press("ArrowRight")
    written = tab.until("written.size && [...written]")
    width, height = tab.ask("(({clientWidth: w, clientHeight: h}) => [w, h])(app.curve.canvas)")
    for name in ("new data: loss ", "new data: right ")[: size[0] // 350]:  # with room
        words, place = next(each for each in written if each[0].startswith(name))
        left, _, wide, room = place
        assert re.fullmatch(r"[\d.]+( %)?( \(step 200\))?", words.removeprefix(name)), words
        assert left >= 0 and left + min(wide, room) <= width + 1 and wide <= room + 1
    places = sorted(place for _, place in written)
    for (left, base, wide, _), (other, low, *_) in itertools.combinations(places, 2):
        assert abs(base - low) >= 12 or left + wide <= other
    assert max(base for _, base, *_ in places) <= height


@pytest.mark.parametrize("size", [(320, 568), (360, 640), (360, 740), (800, 500)], ids=str)
def test_both_ends_of_the_curve_of_the_loss_are_written(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("circle", size, before=WRITTEN).ready()
    tab.press("ArrowRight", 3)
    tab.ask("written.clear()")
    tab.press("ArrowRight")
    (name, (left, base, wide, _)), (loss, (at, low, end, _)) = tab.ask("[...written]")
    assert name == text("chart.start") and re.fullmatch(r"\.\d{3}", loss)
    below = tab.ask("app.curve.chart.plot.y + app.curve.chart.plot.height")
    (canvas,), (now,), (place,) = (
        boxes(tab, each) for each in ("#curve canvas", "#loss", "#place")
    )
    assert below + 10 <= base == low <= canvas["height"] and 0 <= left < 60 and left + wide < at
    assert canvas["x"] + at + end < now["x"] and now["x"] + now["width"] < place["x"]
    assert re.fullmatch(r"loss now \.\d+", tab.shown("loss")) and tab.shown("place") == "step 4"


@pytest.mark.parametrize(
    ("theme", "forced"), [("dark", "none"), ("light", "none"), ("dark", "active")]
)
def test_a_disabled_button_is_told_apart_and_can_be_read(
    opened: Opens, theme: str, forced: str
) -> None:
    tab = opened("xor", color_scheme=theme, forced_colors=forced).ready()
    tab.do("app.setSheet(true)")
    assert tab.page.locator("#undo").is_disabled() and tab.page.locator("#home").is_enabled()
    looks = [
        tab.page.locator(each).evaluate(
            "e => [getComputedStyle(e).borderTopStyle, getComputedStyle(e).color]"
        )
        for each in ("#undo", "#home")
    ]
    assert looks[0][0] == "dashed" != looks[1][0] and looks[0][1] != looks[1][1]
    assert float(contrast(*colors_of(tab, "#undo"))) >= 3.0


@pytest.mark.parametrize(
    ("size", "fingers"), [((1280, 800), False), ((800, 500), False), ((360, 740), True)], ids=str
)
def test_the_legend_opens_a_key_to_the_marks(
    opened: Opens, size: tuple[int, int], fingers: bool
) -> None:
    more = {"has_touch": True, "is_mobile": True} if fingers else {}
    tab = opened("circle", size, **more).ready()
    button, key = tab.page.locator("#legend"), tab.page.locator("#marks")
    shown = button.inner_text()
    signs = [text(f"legend.{each}") in shown for each in ("hangs", "stands")]
    assert signs == [size[0] > 1000] * 2
    assert ("?" in shown) == (size[0] <= 1000)
    assert button.bounding_box()["width"] >= 44 and not key.is_visible()
    button.focus()
    tab.press("Enter")
    assert key.is_visible() and button.get_attribute("aria-expanded") == "true"
    said = key.inner_text()
    assert said.startswith(text("marks.title")) and text("marks.cube.meaning") in said
    assert text("marks.arrow.meaning") not in said
    for part in ("#exhibit", "#strip", "#curve", "#controls"):
        assert not overlap(tab, "#marks", part)
    tab.do("app.run('seek', 300)")
    operation = tab.ask("app.picture.scene.moments.map(({kind}) => kind)").index("weight gradient")
    tab.do(f"app.run('go', {operation + 1})")
    tab.until(
        f"document.querySelector('#marks').textContent.includes({text('marks.arrow.name')!r})"
    )
    assert tab.ask("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('#marks'))")
    tab.press("Escape")
    assert not key.is_visible()
    tab.press("h")
    assert key.is_visible()
    tab.press("Escape")
    tab.page.click("#more")
    tab.page.click("#others summary")
    tab.page.click("#explain")
    assert key.is_visible()


# The mean of the colours of a canvas, from 0 to 255.
BRIGHTNESS = """(id => {
  const drawn = document.getElementById(id), copy = document.createElement("canvas");
  Object.assign(copy, { width: drawn.width, height: drawn.height });
  copy.getContext("2d").drawImage(drawn, 0, 0);
  const all = copy.getContext("2d").getImageData(0, 0, copy.width, copy.height).data;
  return all.reduce((sum, each, i) => (i % 4 < 3 ? sum + each : sum), 0) / (0.75 * all.length);
})"""


@ONLY_CHROMIUM  # the driver of the other one does not print
@pytest.mark.page("xor", place="#tour=no&theme=dark")
def test_a_dark_page_is_printed_light_and_is_dark_again(tab: Tab) -> None:
    tab.settle()
    tab.ask("dispatchEvent(new Event('beforeprint'))")
    assert tab.ask("app.theme") == "light"
    assert tab.ask(f"{BRIGHTNESS}('printed')") > 200
    tab.do("app.pin({row: 0})")
    tab.page.emulate_media(media="print")
    assert tab.page.locator("#card h2").is_visible()
    for control in ("label", ".freezing", "header button"):
        assert tab.page.locator(f"#card {control}").is_hidden()
    tab.page.emulate_media(media="screen")
    tab.do("dispatchEvent(new Event('afterprint'))")
    assert tab.ask("app.theme") == "dark"
    assert tab.page.locator("#printed").count() == 0


@pytest.mark.page("rgb")
def test_points_of_numbers_stand_below_each_other_in_a_column_of_a_card(tab: Tab) -> None:
    tab.press("ArrowRight", 2)
    tab.do("app.pin({neuron: ['tanh 0', 2]})")
    columns = tab.ask("""[2, 3, 4].map((j) => {
        const table = document.querySelector("#card table");
        const tails = table.querySelectorAll(`td:nth-child(${j}) .tail`);
        return [...tails].map((each) => each.getBoundingClientRect().left);
    })""")
    assert max(map(len, columns)) > 3
    assert all(np.ptp(column) < 1.0 for column in columns if column)
    assert "-" not in "".join(tab.page.locator("#card td").all_inner_texts())


SIZES = [
    (320, 568), (360, 740), (480, 800), (640, 480), (667, 375), (740, 360), (800, 500), (900, 360),
    (1024, 600), (768, 1024), (1280, 800), (1246, 686),
]  # fmt: skip  # the last one: a lesson on a screen of 1280 x 800

# Points of the maps and pictures, a tenth apart, that something else covers; and how far the sides
# of each differ from its shape, in pixels.
COVERED = """[...document.querySelectorAll("#exhibit canvas:not(.sorted, .side)")].map((map) => {
    const box = map.getBoundingClientRect();
    const parts = [...Array(10).keys()].map((i) => (i + 0.5) / 10);
    const points = box.width ? parts.flatMap((x) => parts.map((y) => [x, y])) : [];
    const [wide, high] = (map.style.aspectRatio || "1 / 1").split("/").map(Number);
    return [
        points.filter(([x, y]) => {
            const at = [box.left + x * box.width, box.top + y * box.height];
            return !document.elementsFromPoint(...at).slice(0, 1).every((each) => each === map);
        }).length,
        map.classList.contains("pad") ? 0 : Math.abs(box.width - (box.height * wide) / high),
    ];
})"""
# Whether the panel of an operation stands beside OUT, where it is below the network, and above the
# parts of a step.
BESIDE = """(() => {
    const [side, pair, strip] = [".side", ".pair", "#strip"].map((each) =>
        document.querySelector(each).getBoundingClientRect());
    return !side.height || innerWidth >= 640 || !pair.height ||
        (side.bottom <= strip.top + 1 && side.left >= pair.right - 1);
})()"""
# Words of the exhibit that are cut off.
CUT = """[...document.querySelectorAll("#exhibit")]
    .flatMap((all) => [...all.querySelectorAll("p, figcaption, .begun, .keys-of-map, .bars > *")])
    .filter((each) => {
        const [box, room] = [each, document.querySelector("#exhibit")].map((of) =>
            of.getBoundingClientRect());
        const isSeen = each.checkVisibility() && !each.closest(".unseen") && box.height;
        return isSeen && (box.top < room.top - 1 || box.bottom > room.bottom + 1);
    }).map((each) => each.textContent)"""


@pytest.fixture(scope="module", params=["circle", "xor", "texture", "digits"])
def file(request: pytest.FixtureRequest, files: dict[str, Path]) -> Path:
    return files[request.param]


def test_nothing_covers_or_cuts_the_exhibit(opened: Opens, file: Path) -> None:
    tab = opened(file).ready()
    acts = "app.change({opened: false})", "app.change({opened: true})", "app.tell('it')"
    tab.ask("app.run('advance', 2, 'operation')")
    for width, height in SIZES:
        tab.page.set_viewport_size({"width": width, "height": height})
        for act in acts:
            tab.do(act)
            tab.page.wait_for_timeout(100)  # parts that are observed are drawn again
            for covered, off in tab.ask(COVERED):
                assert covered == 0 and off < 1.5, (width, height, act)
            assert tab.ask(CUT) == [], (width, height, act)
            assert tab.ask(BESIDE), (width, height, act)
        tab.do("app.pin({row: 0})")
        tab.page.wait_for_timeout(100)
        assert tab.ask(CUT) == [], (width, height, "a card")
        tab.do("app.pin(null)")
    assert "exhibits." not in tab.page.inner_text("#exhibit")  # a text that the page lacks


@pytest.mark.parametrize(
    ("name", "size"), [("rgb", (800, 500)), ("rgb", (1366, 700)), ("digits", (1280, 800))], ids=str
)
def test_a_click_moves_nothing_for_a_card_has_the_room_of_the_exhibit(
    opened: Opens, name: str, size: tuple[int, int]
) -> None:
    tab = opened(name, size, reduced_motion="reduce").ready()
    for row in np.linspace(0, len(tab.state["value"]) - 1, 8, dtype=int).tolist():
        place = np.array(tab.place_of(f"{{row: {row}}}"))
        tab.page.mouse.click(*place)
        tab.until("app.pinned && document.querySelector('#card').checkVisibility()")
        tab.page.wait_for_timeout(100)
        assert np.abs(tab.place_of(f"{{row: {row}}}") - place).max() < 0.5
        assert tab.ask("JSON.stringify(app.hover) === JSON.stringify(app.pinned)")
        exhibit, card = (tab.page.locator(f"#{each}").bounding_box() for each in PARTS)
        assert exhibit["x"] == card["x"] and exhibit["y"] >= card["y"] + card["height"]
        tab.do("app.pin(null)")


PARTS = "exhibit", "card"
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
    return [each.bounding_box() for each in tab.page.locator(where).all() if each.is_visible()]


SCREENS = [
    ((320, 640), PHONE), ((360, 740), {**PHONE, "device_scale_factor": 3}), ((740, 360), PHONE),
    ((768, 1024), PHONE), ((800, 500), {}), ((1000, 700), {}), ((1280, 800), {}),
]  # fmt: skip


@pytest.mark.parametrize("name", ["rgb", "circle"])
def test_a_product_has_both_of_its_factors_on_a_phone(opened: Opens, name: str) -> None:
    tab = opened(name, (390, 844), before=WRITTEN, reduced_motion="reduce", **PHONE).ready()
    tab.press(".", 2)
    (side,) = boxes(tab, ".side")
    assert side["x"] >= 0 and side["x"] + side["width"] <= 390
    products = tab.ask("[...written].filter(([words]) => words.includes('×'))")
    for words, (left, base, wide, _) in products:
        assert re.fullmatch(r"\S+ × \S+", words) and 0 < base < side["height"]
        assert left >= 0 and left + wide <= side["width"]
    assert len(products) >= 2


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
    assert text("page.untrained.touch") in tab.page.inner_html("#caption")
    tab.press("ArrowRight")
    assert text("captions.rest.hint") not in tab.page.inner_html("#caption")


@pytest.mark.page("digits", (360, 740), **PHONE)
def test_a_long_card_on_a_phone_is_reached_to_its_end(tab: Tab) -> None:
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
    assert tab.page.evaluate("scrollY") > 0 and frame.evaluate(height) == before
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
    x, y = box["x"] + at["x"], box["y"] + at["y"]
    tab.touch("touchStart", (x, y))
    for up in range(4, 41, 4):
        tab.touch("touchMove", (x, y - up))
    tab.page.wait_for_timeout(300)
    lifted = frame.evaluate("scalarviz.state.value[2]")
    tab.touch("touchCancel")  # without a place
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
def test_a_map_and_its_verdict_have_room_in_a_low_page(opened: Opens, width: int) -> None:
    tab = opened("xor", (width, 560)).ready()
    sizes = "each => [each.clientHeight, each.getBoundingClientRect().bottom]"
    [end] = tab.page.locator("#exhibit").evaluate_all(f"all => all.map({sizes})")
    for each, least in ((".pair .map", 40), (".headline > div", 12)):
        high, bottom = tab.page.locator(f"#exhibit {each}").evaluate(sizes)
        assert high >= least and bottom <= end[1], each
    assert tab.ask(CUT) == []
    table = tab.page.locator("#exhibit .questions").bounding_box()
    assert table["y"] + table["height"] <= end[1] + 1


NO_WEBGL = """
const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind === "webgl2" ? null : get.call(this, kind, ...more);
};
"""
# The worker has globals of its own: its text is changed.
NO_MEMORY = """
const Whole = Blob;
globalThis.Blob = function (parts, more) {
  const change = (part) => part.replaceAll?.("new WebAssembly.Memory(", "new NoMemory(") ?? part;
  return new Whole(parts.map(change), more);
};
"""
LACKS = {
    "wasm": "delete globalThis.WebAssembly",
    "memory": NO_MEMORY,
}
STEPS = 600  # of the recording of rgb


@pytest.mark.parametrize("lack", LACKS)
def test_without_what_training_needs_the_page_says_what_and_plays_a_recording(
    opened: Opens, lack: str
) -> None:
    tab = opened("rgb", before=LACKS[lack]).ready()
    assert tab.page.locator("#chip").is_visible()
    spare = text("page.spare", steps=STEPS)
    assert tab.shown("chip") == f"{text(f'page.lack.{lack}')} {spare}"
    assert not tab.page.locator("#rate").is_visible()
    tab.press("ArrowRight", 3)  # 1, which ends a step that is recorded by operation, 50 and 100
    assert tab.state["step"] == 100
    tab.press("ArrowLeft", 3)
    tab.press(".", 2)
    assert tab.state["operation"] == 2 and "adds up" in tab.shown("caption")
    before = tab.state["value"]
    tab.page.click("#play")
    tab.until("app.state.step > 20")
    assert tab.state["value"] != before
    tab.press("z")
    assert tab.shown("chip") == text("page.recorded.refused")


@pytest.mark.parametrize("name", ["rgb", "digits"])
def test_without_webgl_the_weights_stand_in_tables_and_it_trains(opened: Opens, name: str) -> None:
    tab = opened(name, (800, 500), before=NO_WEBGL).ready()
    tables, picture = tab.page.locator("#walls"), tab.page.locator("#picture")
    assert tables.bounding_box() == picture.bounding_box()
    assert tables.locator("p").inner_text() == text("page.lack.webgl")
    assert not tab.page.locator("#cubes").is_visible()
    cell = tables.locator("button").first
    before = cell.inner_text()
    tab.press("ArrowRight", 3)
    after = cell.inner_text()
    assert after != before and tab.state["step"] == 3
    tab.page.click("#play")
    tab.until(f"document.querySelector('#walls button').innerText !== '{after}'")
    tab.press("Space")
    cell.click()
    tab.settle()
    assert tab.ask("app.pinned.row") == 0 and tab.page.locator("#card").is_visible()


@pytest.mark.page("circle", before=NO_WEBGL + LACKS["wasm"])
def test_without_both_the_tables_show_the_recording(tab: Tab) -> None:
    assert tab.shown("chip").startswith(text("page.lack.wasm"))
    before = tab.shown("walls")
    tab.press("ArrowRight", 2)
    assert tab.state["step"] == 50 and tab.shown("walls") != before


def test_a_file_that_is_cut_off_or_changed_says_so(opened: Opens, files: dict[str, Path]) -> None:
    whole = files["rgb"].read_text(encoding="utf-8")
    tab = opened(whole[: len(whole) // 2].encode())
    tab.until("getComputedStyle(document.querySelector('#waiting')).visibility === 'visible'")
    assert tab.shown("waiting") == text("page.html.waiting")
    starts = {name: whole.index(f'"{name}":"') for name in ("module", "image", "plain")}
    packed = [
        at + 200
        for at in (*starts.values(), *(whole.index(f'id="{name}"') for name in ("code", "rules")))
    ]
    for at in (*packed, starts["module"]):  # the last one is of the JSON around the parts
        changed = "A" if whole[at] != "A" else "B"
        tab = opened(f"{whole[:at]}{changed}{whole[at + 1 :]}".encode())
        tab.until("!document.querySelector('#failure').hidden")
        assert tab.page.inner_text("#failure p") == text("page.html.damaged")
        assert tab.page.locator("#waiting").count() == 0
        assert tab.complaints  # the error itself
        tab.complaints.clear()
        assert tab.page.locator("#reload").is_visible()


def test_a_loader_that_is_changed_does_not_run_and_the_page_says_so(
    opened: Opens, files: dict[str, Path]
) -> None:
    whole = files["rgb"].read_text(encoding="utf-8")
    tab = opened(whole.replace("scalarviz/loader.js", "scalarviz/lOader.js").encode())
    tab.until("getComputedStyle(document.querySelector('#waiting')).visibility === 'visible'")
    assert tab.shown("waiting") == text("page.html.waiting")
    said = tab.complaints[0]  # it is not the one that the policy names
    assert "Content" in said or "blocked an inline script" in said
    tab.complaints.clear()
