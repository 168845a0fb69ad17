"""A lesson in a real JupyterLab and a real browser: it runs, and its live pictures are alive.

One page serves all tests that run the lesson; each begins by having the first picture stand still.
"""

import base64
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from scalarviz.faces.controller.time_controls import RATES
from tests.faces.notebook.lab import (
    LESSON,
    LivePicture,
    Page,
    Server,
    browsing,
    lack,
    prepared,
    serving,
    until,
)

pytestmark = pytest.mark.slow

LEAST = 3.0  # pictures a second; far below what any machine does, as no test fails on a time
EMPTY = 60.0, 300.0  # a place of the picture where nothing is
NOTICES = 45  # lines of the picture
SAME = 0.001  # a page that was scrolled may stand a part of a pixel elsewhere; a new digit is more
CUBE = """from scalarviz.faces.notebook.live import _open
controller = next(each.controller for each in _open if each.controller.session is session)
cube_at = lambda x, y: controller.stage.target_at(x, y).row
found = [(x, y) for y in range(100, 400, 5) for x in range(100, 480, 5)
         if cube_at(x, y) is not None
         and len({cube_at(x + d, y + e) for d in (-4, 0, 4) for e in (-4, 0, 4)}) == 1]
print(*found[len(found) // 2], cube_at(*found[len(found) // 2]))"""
TIP = """box => {
  const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
  return at?.closest('[title]')?.title
}"""


@dataclass
class Lesson:
    """The lesson, open and run."""

    page: Page
    first: LivePicture
    second: LivePicture
    file: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if why := lack():
        pytest.skip(why)
    with serving(tmp_path_factory.mktemp("lab")) as made:
        yield made


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[Any]:
    with browsing() as made:
        yield made


@pytest.fixture(scope="module")
def opened(server: Server, browser: Any) -> Lesson:
    file = server.notebooks / "lesson.ipynb"
    live = prepared(file)
    page = Page.open(browser, server, file.name)
    page.run_all()
    first, second = (LivePicture(page, index) for index in live)
    return Lesson(page, first, second, file)


@pytest.fixture
def lesson(opened: Lesson, tmp_path: Path) -> Iterator[Lesson]:
    """The first picture is in sight and stands still; at the end nobody may have complained."""
    opened.first.show().pause()
    yield opened
    opened.page.tab.screenshot(path=tmp_path / "page.png")
    assert opened.page.heard() == []
    for live in (opened.first, opened.second):
        assert (
            live.cell.locator('[data-mime-type*="stderr"], [data-mime-type*="error"]').count() == 0
        )


@pytest.fixture
def first(lesson: Lesson) -> LivePicture:
    return lesson.first


def difference(one: bytes, other: bytes) -> float:
    """By how much two pictures differ below their notices, which go by themselves: 0 to 255."""
    a, b = (np.asarray(PIL.Image.open(io.BytesIO(x)).convert("RGB"), float) for x in (one, other))
    return float(np.abs(a - b)[NOTICES:].mean())


def tip(live: LivePicture, control: Any) -> Any:
    """What a mouse is told that points at the middle of a control; None if it is not seen yet."""
    box = control.bounding_box()
    return None if box is None else live.page.tab.evaluate(TIP, box)


def pinned(first: LivePicture) -> int:
    """Click on a cube: its row."""
    x, y, row = map(int, first.ask(CUBE).split())
    first.show().click(x, y)  # a cell that runs scrolls to itself
    return row


def test_the_whole_lesson_runs_and_what_is_saved_has_its_pictures(lesson: Lesson) -> None:
    saved = lesson.page.stored(lesson.file)
    code = [cell for cell in saved["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(code) > 20 and all(cell["execution_count"] for cell in code)
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert [output for output in outputs if output.get("name") == "stderr"] == []
    for live in (lesson.first, lesson.second):
        data = {}
        for output in saved["cells"][live.index]["outputs"]:
            data |= output["data"]
        assert "application/vnd.jupyter.widget-view+json" in data
        kept = PIL.Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
        assert kept.size == (800, 500)


def test_a_link_to_what_is_shown_is_on_the_clipboard(lesson: Lesson, tmp_path: Path) -> None:
    first, tab = lesson.first, lesson.page.tab
    path = tmp_path / "run.safetensors"
    first.ask(f"session.save({str(path)!r}); print('saved')")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    first.click(*EMPTY)
    tab.keyboard.press("k")
    read = "() => navigator.clipboard.readText()"
    until(lambda: tab.evaluate(read) == f"{path}#step={first.step}", "the link is copied")


def test_it_plays_and_many_pictures_a_second_arrive(first: LivePicture, tmp_path: Path) -> None:
    before, step = first.still(), first.step
    box = first.image.bounding_box()
    assert (round(box["width"]), round(box["height"])) == (800, 500)
    first.play()
    until(lambda: first.step > step + 2, "the label counts on")
    rate = first.frames(lambda: first.page.tab.wait_for_timeout(3000))
    print(f"{rate:.1f} pictures a second while it plays")
    first.shot(tmp_path / "plays.png")
    assert rate > LEAST
    assert difference(first.shot(), before) > 0.05


def test_pause_stands_still(first: LivePicture, tmp_path: Path) -> None:
    step = first.step
    first.play()
    until(lambda: first.step > step, "the label counts on")
    first.button("Pause").click()
    first.button("Play").wait_for()
    shot, label = first.still(), first.label.inner_text()
    first.page.tab.wait_for_timeout(1500)
    assert first.shot(tmp_path / "paused.png") == shot
    assert first.label.inner_text() == label
    assert int(first.ask("session.step_index")) == first.step


def test_back_is_one_step_less_and_on_one_more(first: LivePicture) -> None:
    step, shot = first.step, first.still()
    first.button("Back by one step").click()
    until(lambda: first.step == step - 1, "the label says one less")
    assert difference(first.still(), shot) > 0.001
    first.button("On by one step").click()
    until(lambda: first.step == step, "the label says one more")
    assert int(first.ask("session.step_index")) == step


def test_the_learning_rate_is_typed_and_is_drawn(first: LivePicture, tmp_path: Path) -> None:
    field = first.field("Learning rate, in numbers")
    field.fill("0.25")
    field.press("Enter")
    until(lambda: float(first.ask("session.learning_rate")) == 0.25, "the session has the rate")
    handle = first.slider("Learning rate").locator(".noUi-handle")
    place = RATES.place(0.25)
    until(lambda: float(handle.get_attribute("aria-valuenow")) == place, "so its slider")
    box, mouse = handle.bounding_box(), first.page.tab.mouse
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x - 20, y, steps=8)
    mouse.up()
    until(lambda: float(field.input_value()) < 0.2, "the field says what the slider is at")
    rate = float(first.ask("session.learning_rate"))
    assert 1e-5 < rate < 0.1
    assert float(field.input_value()) == pytest.approx(rate, rel=1e-5)
    first.shot(tmp_path / "rate.png")


def test_a_page_sends_nothing_back_of_what_its_sliders_are_told(first: LivePicture) -> None:
    handle = first.slider("Learning rate").locator(".noUi-handle")
    long = "session.learning_rate = 1.0; import time; time.sleep(2.0); session.learning_rate = {};"
    for rate in (0.0321, 3e-9, 0.0456):
        first.ask(long.format(rate) + "session.learning_rate")
        place = str(RATES.place(rate))
        handle.and_(first.page.tab.locator(f'[aria-valuetext^="{place}"]')).wait_for()
        first.page.tab.wait_for_timeout(500)
        assert float(first.ask("session.learning_rate")) == rate


def test_a_drag_turns_the_picture_and_escape_shows_the_whole(
    first: LivePicture, tmp_path: Path
) -> None:
    before = first.still()
    rate = first.frames(lambda: first.drag(2.5))
    print(f"{rate:.1f} pictures a second while it is turned")
    assert first.has_ring()
    first.point(*EMPTY)
    turned = first.still()
    assert difference(turned, before) > 1.0
    assert rate > LEAST
    first.page.tab.keyboard.press("Escape")
    whole = first.still()
    first.page.tab.mouse.wheel(0, -300)
    near = first.still()
    (tmp_path / "near.png").write_bytes(near)
    assert difference(near, whole) > 2.0
    first.page.tab.keyboard.press("Escape")
    until(lambda: difference(first.still(), whole) < 0.2, "all of it is seen again")
    first.shot(tmp_path / "whole.png")
    assert first.has_ring()


def test_keys_work_while_the_ring_is_shown_and_only_then(lesson: Lesson, tmp_path: Path) -> None:
    first, keyboard = lesson.first, lesson.page.tab.keyboard
    elsewhere = lesson.page.cell(first.index + 1).locator(".jp-InputPrompt")
    elsewhere.click()
    until(lambda: not first.has_ring(), "there is no ring")
    step = first.step
    keyboard.press("Space")
    keyboard.press("ArrowLeft")
    lesson.page.tab.wait_for_timeout(500)
    assert first.ask("session.playing, session.step_index") == f"(False, {step})"
    first.show().click(*EMPTY)
    until(first.has_ring, "there is a ring")
    assert first.wrapper.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    first.page.tab.screenshot(path=tmp_path / "ring.png")
    keyboard.press("ArrowLeft")
    until(lambda: first.step == step - 1, "the arrow steps back")
    keyboard.press("Space")
    first.button("Pause").wait_for()
    keyboard.press("Space")
    first.button("Play").wait_for()
    elsewhere.click()
    until(lambda: not first.has_ring(), "the ring is gone")
    assert lesson.page.cell(first.index).count() == 1


def test_a_click_pins_a_cube_and_its_value_can_be_typed(first: LivePicture, tmp_path: Path) -> None:
    first.click(*EMPTY)
    until(lambda: first.field("Click a cube").is_disabled(), "nothing is pinned")
    row = pinned(first)
    name = first.ask(f"print(net.bank.name_of({row}))")
    field = first.field(f"Value of {name}")
    first.open_more()
    until(field.is_enabled, "the field is open")
    until(lambda: tip(first, field) == f"Value of {name}", "its tooltip names the weight")
    first.page.tab.screenshot(path=tmp_path / "pinned.png")
    assert float(field.input_value()) == pytest.approx(
        float(first.ask(f"float(net.bank.value[{row}])")), rel=1e-5
    )
    field.fill("0.625")
    field.press("Enter")
    until(lambda: first.ask(f"float(net.bank.value[{row}])") == "0.625", "the weight is as typed")
    first.button("Undo the last change").click()
    until(lambda: first.ask(f"float(net.bank.value[{row}])") != "0.625", "the edit is undone")


def test_a_colour_is_picked_and_learned_and_that_is_undone(
    first: LivePicture, tmp_path: Path
) -> None:
    samples = int(first.ask("session.data.samples"))
    first.open_more()
    before = first.still()
    first.button("Put in something of your own").click()
    picker = first.cell.locator('input[type="color"]')
    picker.wait_for()
    picker.fill("#3366cc")
    until(lambda: difference(first.show().still(), before) > 0.05, "the colour is seen")
    first.page.tab.screenshot(path=tmp_path / "picked.png")
    first.cell.get_by_role("button", name="Learn this too").click()
    until(lambda: first.ask("session.data.samples") == str(samples + 1), "it is a sample")
    assert first.ask("session.data.training[0][-1].round(3).tolist()") == "[0.2, 0.4, 0.8]"
    first.show().button("Undo the last change").click()
    until(lambda: first.ask("session.data.samples") == str(samples), "it is none any more")
    first.show().cell.get_by_role("button", name="Back to the samples").click()
    until(lambda: not picker.is_visible(), "the row is gone")


@pytest.mark.parametrize(
    "name",
    [
        "Every step so far",
        "Steps a second; at the left end an operation in 4 s, at the right end flat out",
        "Learning rate",
        "Learning rate, in numbers",
    ],
)
def test_sliders_and_fields_say_what_they_are(first: LivePicture, name: str) -> None:
    control = first.slider(name)
    until(lambda: tip(first, control) == name, "it is said to a mouse that points at it")
    named = control.locator("input, [role=slider]")
    assert named.get_attribute("aria-label") == name


def test_cells_run_while_it_plays(first: LivePicture) -> None:
    first.play()
    one = int(first.ask("session.step_index"))
    until(lambda: int(first.ask("session.step_index")) > one, "it has gone on")
    assert first.ask("session.playing") == "True"
    assert first.button("Pause").count() == 1


def test_one_picture_plays_and_the_other_stays_as_it_is(lesson: Lesson, tmp_path: Path) -> None:
    first, second = lesson.first, lesson.second
    second.show().pause()
    shot, label = second.still(), second.label.inner_text()
    step = first.show().step
    first.play()
    until(lambda: first.step > step, "the first counts on")
    assert difference(second.show().still(), shot) < SAME
    second.shot(tmp_path / "second.png")
    assert second.label.inner_text() == label
    steps = "session.step_index, dead.step_index"
    before = json.loads(second.ask(steps).replace("(", "[").replace(")", "]"))
    until(lambda: second.ask("session.step_index") != str(before[0]), "the first goes on")
    assert second.ask("dead.step_index") == str(before[1]) == str(second.step)
    first.show().pause()
    stands = first.still()
    second.show().play()
    until(lambda: second.step > before[1], "the second counts on")
    second.pause()
    assert difference(first.show().still(), stands) < SAME


def test_a_prediction_is_answered(lesson: Lesson, tmp_path: Path) -> None:
    form = lesson.page.tab.locator(".jp-Cell", has_text="How many weights does it have").first
    form.scroll_into_view_if_needed()
    field = form.get_by_placeholder("your answer")
    field.fill("3")
    field.press("Enter")
    form.get_by_text("Not 3.").wait_for()
    assert form.get_by_text("Yes").count() == 0
    form.screenshot(path=tmp_path / "wrong.png")
    field.fill("59")
    form.get_by_text("Check", exact=True).click()
    form.get_by_text("Yes: 59.").wait_for()
    form.screenshot(path=tmp_path / "right.png")


SIZES = """() => [...document.querySelectorAll('img[src^="data:image/png"]')]
  .map(image => [image.naturalWidth, image.naturalHeight, image.getBoundingClientRect().width])"""
LIVE_SIZE = [800, 500]


def test_a_notebook_that_was_not_run_shows_its_stored_pictures(
    server: Server, browser: Any, tmp_path: Path
) -> None:
    shutil.copy(LESSON, server.notebooks / "stored.ipynb")
    page = Page.open(browser, server, "stored.ipynb")
    until(lambda: len(page.tab.evaluate(SIZES)) == 4, "there are all pictures")
    sizes = page.tab.evaluate(SIZES)
    assert [size[:2] for size in sizes].count(LIVE_SIZE) == 2
    assert all(shown > 600 for *_, shown in sizes)
    assert page.tab.locator(".renderview-wrapper").count() == 0
    picture = page.tab.locator('img[src^="data:image/png"]').first
    picture.scroll_into_view_if_needed()
    page.tab.screenshot(path=tmp_path / "stored.png")
    assert np.asarray(PIL.Image.open(io.BytesIO(picture.screenshot()))).std() > 10
    assert page.heard() == []
    page.tab.close()


def test_a_page_made_of_it_shows_them_too(browser: Any, tmp_path: Path) -> None:
    words = ["-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path), str(LESSON)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    tab = browser.new_page(viewport={"width": 1400, "height": 1000})
    tab.route(re.compile("^https?:"), lambda route: route.abort())  # it asks for MathJax and others
    tab.goto((tmp_path / f"{LESSON.stem}.html").as_uri(), wait_until="domcontentloaded")
    until(lambda: len(tab.evaluate(SIZES)) == 4, "there are all pictures")
    sizes = tab.evaluate(SIZES)
    assert [size[:2] for size in sizes].count(LIVE_SIZE) == 2
    assert all(shown > 600 for *_, shown in sizes)
    tab.locator('img[src^="data:image/png"]').first.scroll_into_view_if_needed()
    tab.screenshot(path=tmp_path / "html.png")
    tab.close()
