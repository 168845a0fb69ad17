"""Lessons in a real JupyterLab and a real browser: they run, and pages are linked with them."""

import base64
import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from scalarviz.base.texts import text
from scalarviz.faces.notebook.exercises import MIME
from scalarviz.pages.lessons.lesson import lesson_of, lessons
from scalarviz.pages.lessons.questions import Question
from scalarviz.story.judging import quoted
from tests.faces.notebook.lab import LESSON, LivePage, Page, Server, prepared, until

pytestmark = pytest.mark.slow

ROW = 29
SIZE = (800, 560)


@dataclass
class Lesson:
    """The lesson, open and run."""

    page: Page
    first: LivePage
    second: LivePage
    file: Path


@pytest.fixture(scope="module")
def opened(server: Server, browser: Any) -> Lesson:
    file = server.notebooks / "lesson.ipynb"
    live = prepared(file)
    page = Page.open(browser, server, file.name)
    page.run_all()
    page.answer_all()
    first, second = (LivePage(page, index) for index in live)
    return Lesson(page, first, second, file)


@pytest.fixture
def lesson(opened: Lesson, tmp_path: Path) -> Iterator[Lesson]:
    """The first page is in sight and stands still; at the end nobody may have complained."""
    opened.first.show().pause()
    opened.first.do("pin(null)")
    yield opened
    opened.page.tab.screenshot(path=tmp_path / "page.png")
    assert opened.page.heard() == []
    for live in (opened.first, opened.second):
        assert (
            live.cell.locator('[data-mime-type*="stderr"], [data-mime-type*="error"]').count() == 0
        )


@pytest.fixture
def first(lesson: Lesson) -> LivePage:
    return lesson.first


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
        assert PIL.Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).size == SIZE


def test_a_page_has_its_size_and_the_state_that_the_last_cell_left(first: LivePage) -> None:
    box = first.element.bounding_box()
    assert (round(box["width"]), round(box["height"])) == SIZE
    assert str(first.step) == first.ask("session.step_index")


def test_it_plays_while_cells_run_and_pauses(first: LivePage) -> None:
    step = first.step
    first.press("play")
    first.wait(lambda: first.step > step + 2)
    one = int(first.ask("session.step_index"))
    until(lambda: int(first.ask("session.step_index")) > one, "it has gone on")
    assert first.ask("session.playing") == "True"
    first.pause()
    until(lambda: first.ask("session.playing") == "False", "it pauses")
    first.wait(lambda: str(first.step) == first.ask("session.step_index"))


def test_what_a_cell_does_is_seen_in_the_page(first: LivePage) -> None:
    first.ask("session.seek(7)")
    first.wait(lambda: first.step == 7)
    first.ask(f"net.bank.value[{ROW}] = 0.75")
    first.wait(lambda: first.app(f"state.value[{ROW}]") == 0.75)
    first.ask("session.advance(3)")
    first.wait(lambda: first.step == 10)


def test_a_drag_turns_it_and_a_click_pins_a_cube_whose_value_can_be_typed(
    first: LivePage, tmp_path: Path
) -> None:
    assert first.turns()
    first.do("picture.home()")
    row, x, y = first.cube_in_sight()
    first.mouse.click(x, y)
    first.wait(lambda: first.app("pinned?.row") == row)
    first.show().element.screenshot(path=tmp_path / "pinned.png")
    field = first.frame.locator("#card input[type=text], #card input[inputmode]").first
    field.fill("0.625")
    field.press("Enter")
    ask = f"float(net.bank.value[{row}])"
    until(lambda: first.ask(ask) == "0.625", "the weight is as typed")
    first.do("run('undo')")
    until(lambda: first.ask(ask) != "0.625", "the edit is undone")


def test_keys_are_for_the_page_while_it_has_the_focus_and_only_then(lesson: Lesson) -> None:
    first, keyboard = lesson.first, lesson.page.tab.keyboard
    cells = lesson.page.tab.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")
    first.ask("session.advance(1)")
    first.show().rest()
    step = first.step
    first.mouse.click(*first.at(20.0, 250.0))  # where nothing is
    keyboard.press("ArrowLeft")
    first.wait(lambda: first.step == step - 1)
    for key in ("b", "x", "a"):  # of a notebook: another cell, none of this one
        keyboard.press(key)
    keyboard.press("Space")
    first.wait(lambda: first.app("state.playing"))
    keyboard.press("Space")
    first.wait(lambda: not first.app("state.playing"))
    step = first.step
    lesson.page.cell(first.index + 1).locator(".jp-InputPrompt").click()
    keyboard.press("ArrowLeft")
    first.rest(0.5)
    assert first.show().step == step
    now = lesson.page.tab.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")
    assert now == cells


LONG = """import pathlib, time
end = time.monotonic() + 120.0
while not pathlib.Path({!r}).exists() and time.monotonic() < end:
    session.advance(1)
    {}
    time.sleep(0.1)"""


@pytest.mark.parametrize("refresh", ["view.refresh()", "pass"])
def test_a_long_cell_leaves_it_free_and_shows_what_it_refreshes(
    first: LivePage, refresh: str, tmp_path: Path
) -> None:
    first.ask("view = sv.watch(session)")
    live = LivePage(first.notebook, first.index + 1).show()
    begun, enough = live.step, tmp_path / "enough"
    own = first.notebook.cell(first.index + 2).locator(".cm-content").inner_text()
    first.notebook.start(first.index + 2, LONG.format(str(enough), refresh))
    live.rest(1.0)
    live.show()
    assert live.turns()
    row, x, y = live.cube_in_sight()
    live.mouse.move(x, y)
    live.wait(lambda: live.app("hover?.row") == row)
    live.mouse.click(x, y)
    live.wait(lambda: live.frame.locator("#card").is_visible())
    live.element.screenshot(path=tmp_path / "long.png")
    between = live.step
    assert between > begun if refresh != "pass" else between == begun
    assert not first.notebook.has_run()
    enough.touch()
    until(first.notebook.has_run, "the cell has ended")
    ended = first.notebook.run(first.index + 2, "session.step_index")
    live.wait(lambda: str(live.step) == ended)
    first.notebook.run(first.index + 2, own)
    first.ask("view.close()")


def test_two_views_of_one_session_see_what_the_other_does(lesson: Lesson, tmp_path: Path) -> None:
    first, tab = lesson.first, lesson.page.tab
    lesson.page.activate(first.index)
    lesson.page.command("notebook:create-output-view")
    frame = tab.locator(".jp-LinkedOutputView .scalarviz-page iframe")
    frame.wait_for()
    other = frame.element_handle().content_frame()
    ask = "globalThis.scalarviz?.state?.step ?? -1"
    linked = "globalThis.scalarviz?.client.last > 0"  # it shows a state before
    until(lambda: other.evaluate(linked), "the other view is linked")
    assert other.evaluate(ask) == first.step
    before, camera = first.step, first.camera()
    other.click("#on")
    first.wait(lambda: first.step == before + 1)
    first.show().press("on")
    until(lambda: other.evaluate(ask) == before + 2, "the other view follows")
    assert first.camera() == camera
    tab.screenshot(path=tmp_path / "views.png")
    tab.locator(".lm-TabBar-tab", has_text="Output View").locator(".lm-TabBar-tabCloseIcon").click()
    frame.wait_for(state="detached")
    first.show().press("on")
    first.wait(lambda: first.step == before + 3)


def test_scrolled_away_and_back_it_is_as_it_was(lesson: Lesson) -> None:
    first = lesson.first
    assert first.turns()
    first.do(f"pin({{row: {ROW}}})")
    camera = first.camera()
    lesson.page.scroll_to(0)
    first.rest(1.0)
    lesson.second.show()
    first.show().rest()
    assert (first.camera(), first.app("pinned.row")) == (camera, ROW)
    first.do("picture.home()")


def test_the_page_follows_the_theme_of_jupyterlab(lesson: Lesson, tmp_path: Path) -> None:
    first = lesson.first
    assert first.app("theme") == "light"
    lesson.page.command("apputils:change-theme", theme="JupyterLab Dark")
    first.wait(lambda: first.app("theme") == "dark")
    first.rest()
    lesson.page.tab.screenshot(path=tmp_path / "dark.png")
    lesson.page.command("apputils:change-theme", theme="JupyterLab Light")
    first.wait(lambda: first.app("theme") == "light")


def test_what_follows_a_question_is_seen_after_the_guess_which_is_saved(
    server: Server, browser: Any, tmp_path: Path
) -> None:
    file = server.notebooks / "one.ipynb"
    shutil.copy(LESSON.with_name("01-one-weight.ipynb"), file)
    page = Page.open(browser, server, file.name)
    page.run_all()
    form, after = page.tab.locator(".scalarviz-open").first, page.tab.get_by_text("upstream = 2")
    form.get_by_text("continues when you have found").wait_for()
    assert not after.is_visible()
    field = form.get_by_placeholder("your answer")
    field.fill("8")
    field.press("Enter")
    form.get_by_text("the error the other way round").wait_for()
    assert not after.is_visible()
    page.tab.screenshot(path=tmp_path / "wrong.png")
    field.fill("-8")
    form.get_by_text("Check", exact=True).click()
    after.wait_for()
    page.tab.screenshot(path=tmp_path / "right.png")
    given = answers_in_saved(page, file)["gradient"]
    assert given["guesses"] == ["8", "-8"] and given["right"]
    page.restart()
    page.run_all()
    page.tab.locator(".scalarviz", has_text="Yes: -8.").wait_for()  # it stays in the notebook
    assert after.is_visible()
    assert page.heard() == []
    page.tab.close()


SIZES = """() => [...document.querySelectorAll('img[src^="data:image/png"]')]
  .map(image => [image.naturalWidth, image.naturalHeight, image.getBoundingClientRect().width])"""


def test_a_notebook_that_was_not_run_shows_its_stored_pictures(
    server: Server, browser: Any, tmp_path: Path
) -> None:
    shutil.copy(LESSON, server.notebooks / "stored.ipynb")
    page = Page.open(browser, server, "stored.ipynb")
    until(lambda: len(page.tab.evaluate(SIZES)) == 2, "there are all pictures")
    sizes = page.tab.evaluate(SIZES)
    assert [tuple(size[:2]) for size in sizes].count(SIZE) == 2
    assert all(shown > 600 for *_, shown in sizes)
    assert page.tab.locator(".scalarviz-page").count() == 0
    picture = page.tab.locator('img[src^="data:image/png"]').first
    picture.scroll_into_view_if_needed()
    page.tab.screenshot(path=tmp_path / "stored.png")
    assert np.asarray(PIL.Image.open(io.BytesIO(picture.screenshot()))).std() > 10
    assert page.heard() == []
    page.tab.close()


SCREENS = [(390, 844), (800, 500), (1280, 800)]
RIGHT = "element => element.getBoundingClientRect().right"
BLANK = """notebook => {
  const cells = [...notebook.querySelectorAll('.jp-Cell')].filter((cell) => cell.offsetHeight)
  const end = cells.at(-1).getBoundingClientRect().bottom
  return notebook.scrollTop && notebook.getBoundingClientRect().bottom - end
}"""  # pixels below the last cell that is seen, where it was scrolled
SEEN = ".jp-Cell .scalarviz-page iframe"


def give(form: Any, question: Question, guess: str) -> None:
    """Guess at a question, by its buttons or its field."""
    if question.choices:
        form.get_by_role("button", name=guess, exact=True).click()
    else:
        form.get_by_placeholder("your answer").fill(guess)
        form.get_by_text("Check", exact=True).click()


@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05"])
def test_a_learner_comes_to_the_end_of_a_lesson(
    server: Server, browser: Any, number: str, tmp_path: Path
) -> None:
    source = lessons()[number]
    file = server.notebooks / source.name
    shutil.copy(source, file)
    page = Page.open(browser, server, file.name)
    page.command("application:toggle-left-area")
    page.run_all()
    until(page.tab.locator(".scalarviz-open").count, "it asks")
    assert page.tab.locator(".jp-WindowedPanel-outer").evaluate(BLANK) < 100
    questions = [each for each in lesson_of(source).parts if isinstance(each, Question)]
    for i, question in enumerate(questions):
        width, height = SCREENS[i % len(SCREENS)]
        page.tab.set_viewport_size({"width": width, "height": height})
        form = page.tab.locator(".scalarviz-open").first
        form.scroll_into_view_if_needed()
        others = [*question.replies, *question.choices]
        wrong = next(each for each in others if not question.is_right(each))
        give(form, question, wrong)
        form.get_by_text(text("predict.said.wrong", guess=quoted(wrong, question))).wait_for()
        assert all(each.evaluate(RIGHT) <= width for each in form.get_by_role("button").all())
        if i < len(SCREENS):
            page.tab.screenshot(path=tmp_path / f"{width}x{height}.png")
        open_ones = page.tab.locator(".scalarviz-open").count()
        give(form, question, str(question.answer))
        fewer = page.tab.locator(".scalarviz-open")
        until(lambda fewer=fewer, before=open_ones: fewer.count() == before - 1, "it is right")
    page.tab.set_viewport_size({"width": 1280, "height": 800})
    page.tab.locator(".jp-Cell table tr", has_text=text("predict.table.why")).first.wait_for()
    found = answers_in_saved(page, file)
    assert len(found) == len(questions)
    assert all(each["right"] and len(each["guesses"]) == 2 for each in found.values())
    assert page.tab.locator(SEEN).count() >= 1
    page.tab.screenshot(path=tmp_path / "end.png")
    assert page.heard() == []
    page.tab.close()


def answers_in_saved(page: Page, file: Path) -> dict[str, Any]:
    """The answers to questions in the notebook as it is saved, by key."""
    outputs = [each for cell in page.stored(file)["cells"] for each in cell.get("outputs", [])]
    records = [each["data"][MIME] for each in outputs if MIME in each.get("data", {})]
    return {each["key"]: each for each in records}
