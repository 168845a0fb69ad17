"""Lessons 1 to 5 in JupyterLab: each question is answered wrongly, then rightly, up to the end."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.pages.lessons.answers import records_in
from scalarviz.pages.lessons.lesson import lesson_of, lessons
from scalarviz.pages.lessons.questions import Question, quoted
from tests.faces.notebook.lab import Page, Server, until

pytestmark = pytest.mark.slow

SIZES = [(390, 844), (800, 500), (1280, 800)]
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
        width, height = SIZES[i % len(SIZES)]
        page.tab.set_viewport_size({"width": width, "height": height})
        form = page.tab.locator(".scalarviz-open").first
        form.scroll_into_view_if_needed()
        others = [*question.replies, *question.choices]
        wrong = next(each for each in others if not question.is_right(each))
        give(form, question, wrong)
        form.get_by_text(text("predict.said.wrong", guess=quoted(wrong, question))).wait_for()
        assert all(each.evaluate(RIGHT) <= width for each in form.get_by_role("button").all())
        if i < len(SIZES):
            page.tab.screenshot(path=tmp_path / f"{width}x{height}.png")
        open_ones = page.tab.locator(".scalarviz-open").count()
        give(form, question, str(question.answer))
        fewer = page.tab.locator(".scalarviz-open")
        until(lambda fewer=fewer, before=open_ones: fewer.count() == before - 1, "it is right")
    page.tab.set_viewport_size({"width": 1280, "height": 800})
    rows = page.tab.locator(".jp-Cell table tr", has_text=text("predict.table.why"))
    rows.first.wait_for()
    found, faults = records_in_saved(page, file)
    assert not faults and len(found) == len(questions)
    assert all(each.right and len(each.guesses) == 2 for each in found.values())
    assert page.tab.locator(SEEN).count() >= 1
    page.tab.screenshot(path=tmp_path / "end.png")
    assert page.heard() == []
    page.tab.close()


def records_in_saved(page: Page, file: Path) -> tuple[dict[str, Any], list[str]]:
    """The answers to questions in the notebook as it is saved, by key; and faults."""
    page.stored(file)
    records, faults = records_in(file)
    answers = {key: given for record in records for key, given in record.answers.items()}
    return {key: given for key, given in answers.items() if not key.startswith("check")}, faults
