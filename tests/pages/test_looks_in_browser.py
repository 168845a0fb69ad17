"""Where the parts of a page stand, and what gives way where there is no room, in a browser."""

from __future__ import annotations

import itertools
from io import BytesIO
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.pages.page import page_of
from scalarviz.scene.canvas.palette import contrast
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of points in a plane, half of them held out, with the loss and the share of these."""
    points = data.Circle(share=0.5, signed=True)
    network = sv.Network([2, 4, 1], "tanh", output="tanh", seed=0)
    session = sv.Session(network, points, "mse", sv.SGD(0.03), batch=10, metrics=["accuracy"])
    session.advance(200)
    file = tmp_path_factory.mktemp("measured") / "measured.html"
    file.write_bytes(page_of(session).text)
    return file


# Keeps what is written on the canvas of the loss: words, and the place of their left end, in
# logical pixels, as what is drawn before and after a change of the size is alike.
WRITTEN = """
    const write = CanvasRenderingContext2D.prototype.fillText;
    globalThis.written = new Map();
    CanvasRenderingContext2D.prototype.fillText = function (words, x, y, room) {
        const wide = this.measureText(words).width;
        const left = { right: x - wide, center: x - wide / 2 }[this.textAlign] ?? x;
        if (this.canvas.closest(".curve")) written.set(words, [left, y, wide, room ?? wide]);
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
    ends = [("x", "width"), ("y", "height")]
    return all(
        min(one[at] + one[size], other[at] + other[size]) - max(one[at], other[at]) > 1
        for at, size in ends
    )


@pytest.mark.parametrize("size", [(360, 740), (800, 500), (1280, 800)], ids=str)
def test_a_message_covers_no_part_of_the_network_and_no_caption(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("xor", size).ready()
    tab.do("app.tell('input x to neuron 0: -0.2 to 0.3', 'train on')")
    for part in ("#picture", "#exhibit", "#caption", "#curve", "#controls"):
        assert not overlap(tab, "#chip", part)


@pytest.mark.parametrize(("size", "on_axis"), [((390, 844), "3"), ((1280, 800), "step 3")], ids=str)
def test_the_step_stands_once_beside_the_curve(
    opened: Opens, size: tuple[int, int], on_axis: str
) -> None:
    tab = opened("xor", size, before=WRITTEN).ready()
    tab.do("app.run('on', 3, 'step')")
    written = tab.ask("[...written.keys()]")
    assert on_axis in written and tab.shown("place") == "step 3"
    assert ("step 3" in written) == (on_axis == "step 3")


def test_no_name_of_a_layer_is_cut_at_the_upper_edge(opened: Opens, tmp_path: Path) -> None:
    xs = [[each / 4] for each in range(-4, 5)]
    network = sv.Network([1, 8, 1], "relu", seed=0)
    session = sv.Session(network, data.Arrays(xs, xs), "mse", sv.SGD(0.1))
    file = tmp_path / "wide_names.html"
    file.write_bytes(page_of(session).text)
    tab = opened(file, (390, 776)).ready()
    shot = PIL.Image.open(BytesIO(tab.page.locator("#cubes").screenshot())).convert("L")
    assert np.ptp(np.asarray(shot)[0]) == 0


@pytest.mark.parametrize("size", [(360, 740), (800, 500)], ids=str)
def test_the_result_of_a_caption_is_in_sight(opened: Opens, size: tuple[int, int]) -> None:
    tab = opened("circle", size).ready()
    for _ in range(4):
        tab.press(".")
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
    for part in ("#exhibit .map", "#exhibit .keys-of-map", "#exhibit > p:last-child"):
        box = tab.page.locator(part).bounding_box()
        assert box is None or box["y"] + box["height"] <= strip["y"] + 1
    assert not overlap(tab, "#curve", "#strip")
    assert (tab.page.locator("#curve").bounding_box() is None) == (size[1] <= 320)


def test_the_buttons_of_a_card_say_what_they_do(opened: Opens) -> None:
    tab = opened("xor").ready()
    tab.do("app.pin({row: 0})")
    one, _ = tab.page.locator(".freezing button").all()
    assert one.inner_text() == text("page.frozen") == "freeze"
    one.click()
    tab.settle()
    assert one.inner_text() == text("page.unfreeze")
    assert one.get_attribute("aria-pressed") == "true"


def test_the_dragged_cube_is_the_one_that_is_marked(opened: Opens) -> None:
    tab = opened("xor").ready()
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
    assert value > scale
    assert tab.ask("app.picture.frame.scale") >= value
    tab.page.mouse.up()


def test_the_sheet_stands_beside_the_network_in_a_wide_window(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.do("app.setSheet(true)")
    for part in ("#picture", "#exhibit", "#strip", "#curve", "#controls"):
        assert not overlap(tab, "#sheet", part)


def test_arrows_move_the_strip_of_operations(opened: Opens) -> None:
    tab = opened("circle", (800, 500)).ready()
    tab.page.locator(".strip .way.on").click()
    tab.page.wait_for_timeout(100)
    assert tab.ask("document.querySelector('#strip').scrollLeft") > 100
    assert len([each for each in tab.page.locator(".strip .way").all() if each.is_visible()]) >= 1


def test_the_map_of_the_plane_is_square_on_a_phone(opened: Opens) -> None:
    tab = opened("circle", (360, 740), has_touch=True, is_mobile=True).ready()
    box = tab.page.locator("#exhibit .map").bounding_box()
    assert abs(box["width"] - box["height"]) < 2
    assert tab.page.locator("#exhibit > p:last-child").is_visible()


# Whether names in bold letters of 13 pixels beside the spheres of outputs end before the edge.
NAMES_FIT = """(({see, placed, glyphs, ratio, right}) => {
    const line = placed.neurons.at(-1), {x, unit} = see.see(line.points);
    return line.names.map((name, i) => {
        const wide = glyphs.width(name, Math.round(13 * ratio), true) / ratio;
        return x[i] + line.radius * unit[i] + 6 + wide <= right;
    });
})(app.picture)"""


@pytest.mark.parametrize("size", [(390, 844), (800, 500), (1280, 800)], ids=str)
def test_names_of_outputs_are_not_cut_off(
    opened: Opens, tmp_path: Path, size: tuple[int, int]
) -> None:
    names = ["A", "B", "versicolor"]
    points = data.Arrays(np.eye(3)[:, :2], [0, 1, 2], classes=3, output_names=names)
    session = sv.Session(sv.Network([2, 3], seed=0), points, "softmax_cross_entropy", sv.SGD(0.5))
    file = tmp_path / "named.html"
    file.write_bytes(page_of(session).text)
    tab = opened(file, size).ready()
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
    for name in ("loss ", "held out ", "held-out accuracy "):
        words, place = next(each for each in written if each[0].startswith(name))
        left, _, wide, room = place
        assert words.removeprefix(name).rstrip("%").replace(".", "").isdigit(), words
        assert left >= 0 and left + min(wide, room) <= width + 1 and wide <= room + 1
    bases = sorted({base for _, (_, base, _, _) in written})
    assert min(b - a for a, b in itertools.pairwise(bases)) >= 12
    assert bases[-1] <= height


@pytest.mark.parametrize("size", [(320, 568), (360, 640), (360, 740), (800, 500)], ids=str)
def test_both_ends_of_the_axis_of_the_loss_are_written(
    opened: Opens, size: tuple[int, int]
) -> None:
    tab = opened("circle", size, before=WRITTEN).ready()
    tab.press("ArrowRight", 3)
    tab.ask("written.clear()")
    tab.press("ArrowRight")
    left = tab.ask("app.curve.plot.x")
    ends = tab.ask("[...written].filter(([, [x]]) => x < app.curve.plot.x - 5)")
    assert len(ends) == 2 and abs(ends[0][1][1] - ends[1][1][1]) >= 13 and left < 60


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
    assert {"-1", "+1"} <= set(tab.ask("app.picture.words"))
    button, key = tab.page.locator("#legend"), tab.page.locator("#marks")
    box = button.bounding_box()
    assert box["width"] >= 200 and not key.is_visible()
    button.focus()
    tab.press("Enter")
    assert key.is_visible() and button.get_attribute("aria-expanded") == "true"
    said = key.inner_text()
    assert said.startswith(text("marks.title")) and text("marks.cube.meaning") in said
    assert text("marks.arrow.meaning") not in said
    for part in ("#exhibit", "#strip", "#curve", "#controls"):
        assert not overlap(tab, "#marks", part)
    tab.do("app.run('seek', 300)")
    kinds = tab.ask("app.picture.scene.moments.map(({kind}) => kind)")
    operation = kinds.index("weight gradient")
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
def test_a_dark_page_is_printed_light_and_is_dark_again(opened: Opens) -> None:
    tab = opened("xor", place="#tour=no&theme=dark").ready()
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


def test_a_button_leads_back_to_the_whole_network(opened: Opens) -> None:
    tab = opened("xor").ready()
    whole = tab.page.locator("#whole")
    assert whole.is_hidden()
    before = tab.place_of("{row: 0}")
    tab.page.mouse.move(400, 300)
    for _ in range(12):
        tab.page.mouse.wheel(0, -300)
    whole.click()
    whole.wait_for(state="hidden")
    tab.until("!app.picture.eyes.from")
    assert tab.place_of("{row: 0}") == pytest.approx(before, abs=1.0)


def test_points_of_numbers_stand_below_each_other_in_a_column_of_a_card(opened: Opens) -> None:
    tab = opened("rgb").ready()
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
