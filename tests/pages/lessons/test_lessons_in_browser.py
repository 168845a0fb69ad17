"""Lessons in a browser: a pupil guesses, is wrong, sees why, and has a table in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.faces.cli.lessons import named, page_of_lesson
from scalarviz.pages.lessons.lesson import lessons
from scalarviz.pages.lessons.questions import Question
from scalarviz.story.judging import quoted
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files

pytestmark = pytest.mark.slow

SIZES = [(390, 844), (800, 500), (1280, 800)]
WIDE = "document.documentElement.scrollWidth - innerWidth"
SMALL = """[...document.querySelectorAll('button, input')].filter((each) => each.offsetParent)
  .map((each) => each.getBoundingClientRect().height).filter((height) => height < 43)"""
ALL_BUT_LAST = "scalarvizLesson.asked.slice(0, -1).forEach((each) => each.settle({ shown: true }))"
OPEN = ".question:not([hidden]):not(.settled)"

Lessons = Callable[..., Tab]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The pages of lessons by their numbers."""
    return Files(tmp_path_factory.mktemp("lessons"), lambda number: page_of_lesson(named(number)))


@pytest.fixture
def lesson(browser: Any, pages: Files) -> Iterator[Lessons]:
    tabs = []

    def opened(number: str, size: tuple[int, int] = SIZES[2], place: str = "", **more: Any) -> Tab:
        tab = Tab(browser, pages[number], size=size, place=place, **more)
        tabs.append(tab)
        tab.page.wait_for_selector(".question .said", state="attached")
        return tab

    yield opened
    for tab in tabs:
        tab.close()


def give(place: Any, guess: str) -> None:
    """Guess at a question, by its field or its choices."""
    field = place.locator("input")
    if field.count():
        field.fill(guess)
        place.locator(".check").click()
    else:
        place.get_by_role("button", name=guess, exact=True).click()


def wrong_guess(question: Question) -> str:
    """A typical wrong guess, or another choice."""
    others = [*question.replies, *question.choices]
    return next(each for each in others if not question.is_right(each))


@ONLY_CHROMIUM
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("number", list(lessons()))
def test_a_pupil_is_wrong_sees_why_and_comes_to_the_end(
    lesson: Lessons, number: str, size: tuple[int, int]
) -> None:
    tab = lesson(number, size)
    questions = [each for each in named(number).parts if isinstance(each, Question)]
    for i, question in enumerate(questions):
        place = tab.page.locator(".question").nth(i)
        assert tab.page.locator(OPEN).count() == 1 and place.is_visible()
        wrong = wrong_guess(question)
        give(place, wrong)
        assert place.locator(".said b").inner_text() == text(
            "predict.said.wrong", guess=quoted(wrong, question)
        )
        assert bool(place.locator(".said > span").inner_text()) == bool(question.reply(wrong))
        assert tab.page.locator(OPEN).count() == 1  # what follows is still hidden
        assert tab.ask(WIDE) <= 0 and tab.ask(SMALL) == []
        give(place, str(question.answer))
        assert tab.page.locator(".question.right").count() == i + 1
    done = text("lesson.progress", done=len(questions), all=len(questions))
    assert tab.page.locator("#progress").inner_text() == done
    assert tab.page.locator("#guesses tr").count() == len(questions) + 1
    assert tab.ask(WIDE) <= 0 and tab.ask(SMALL) == []
    tab.page.locator("#name").fill("Ada")
    record = tab.ask("scalarvizLesson.answers.record()")
    assert record["name"] == "Ada" and record["lesson"].startswith(number)
    answers = record["answers"].values()
    assert [len(each["guesses"]) for each in answers] == [2] * len(questions)
    assert all(each["right"] for each in answers)


@ONLY_CHROMIUM
def test_guesses_stay_on_the_device_until_one_begins_anew(lesson: Lessons) -> None:
    tab = lesson("01")
    give(tab.page.locator(OPEN), "8")
    tab.page.get_by_text(text("predict.show")).first.click()
    assert tab.page.locator(".question.settled").count() == 1
    tab.page.reload()
    tab.page.wait_for_selector(".question.settled")
    first = tab.page.locator(".question").first
    assert first.locator(".said b").inner_text() == text("predict.said.answer", answer="-8")
    assert tab.page.locator(OPEN).count() == 1
    give(first, "8")  # what was settled stays so
    assert first.locator(".said > span").inner_text()
    assert tab.page.locator(".question.settled").count() == 1
    tab.page.fill("#name", "Anna K")
    link = tab.ask("scalarvizLesson.answers.link(location.href)")
    tab.page.locator("#again").click()
    assert tab.page.inner_text("#told") == text("lesson.again")
    assert tab.page.locator(".question.settled").count() == 1  # a finger may have slipped
    tab.page.locator("#again").click()
    assert tab.page.locator(".question.settled").count() == 0
    assert tab.page.input_value("#name") == ""  # else the next pupil's answers replace Anna's
    assert tab.ask("scalarvizLesson.answers.record().name") == ""
    tab.page.goto(link)
    tab.page.reload()
    tab.page.wait_for_selector(".question.settled")
    for damaged in ("#answers=%%%", "#answers=bnVsbA", "#answers=eyJhbnN3ZXJzIjoxfQ"):
        tab.page.goto(link.split("#")[0] + damaged)
        tab.page.reload()
        tab.page.wait_for_selector(OPEN)


def test_a_picture_trains_in_the_lesson_and_a_question_leads_to_its_moment(lesson: Lessons) -> None:
    tab = lesson("01", bypass_csp=True)  # to ask the frame; the policy is at work in the others
    picture = tab.page.locator(".picture").last
    assert not picture.is_visible()
    tab.ask(ALL_BUT_LAST)
    tab.page.locator(".see:visible").first.click()
    assert picture.is_visible() and tab.page.locator(OPEN).count() == 1
    tab.page.locator("#again").dblclick()
    for question in (each for each in named("01").parts if isinstance(each, Question)):
        give(tab.page.locator(OPEN), str(question.answer))
    picture.scroll_into_view_if_needed()
    frame = picture.locator("iframe").element_handle().content_frame()
    frame.wait_for_function("globalThis.scalarviz?.drawn")
    assert frame.evaluate("scalarviz.state.step") == 3  # of the question
    frame.click("#on")
    frame.wait_for_function("scalarviz.state.step === 4")
    tab.page.locator(".see:visible").last.click()
    frame.wait_for_function("scalarviz.state.step === 20 && scalarviz.pinned")


@ONLY_CHROMIUM
def test_a_link_leads_to_a_question_before_the_others_are_answered(lesson: Lessons) -> None:
    tab = lesson("01", place="#question-quarter")
    assert tab.page.locator(OPEN).count() == 2
    assert tab.page.locator("#question-quarter").bounding_box()["y"] < SIZES[2][1]
    give(tab.page.locator("#question-quarter"), "it is divided by four")
    tab.page.evaluate("location.hash = 'question-line'")
    tab.page.locator("#question-line").wait_for()
    assert tab.page.locator(".settled:visible").count() == 1


@ONLY_CHROMIUM
def test_the_glossary_has_no_answers_to_keep(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "glossary.html"
    file.write_bytes(page_of_lesson(named("glossary")))
    tab = Tab(browser, file, place="")
    tab.page.wait_for_selector(".end", state="hidden")
    assert not tab.page.locator("header").is_visible()
    assert tab.page.locator("main").is_visible()
    tab.close()


@ONLY_CHROMIUM  # the driver of the other one does not print
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_page_of_questions_alone_is_printed_as_a_sheet(
    browser: Any, tmp_path: Path, when: str
) -> None:
    file = tmp_path / "questions.html"
    file.write_bytes(page_of_lesson(named(f"questions-{when}")))
    tab = Tab(browser, file, place="")
    tab.page.wait_for_selector(".question .said", state="attached")
    seen = tab.page.locator(".question:visible, .choice:visible")
    before = seen.count()
    tab.page.emulate_media(media="print")
    assert before < 10 < 40 < seen.count()
    assert not tab.page.locator("header:visible, .goes-on:visible, .end button:visible").count()
    tab.close()


@ONLY_CHROMIUM
def test_a_lesson_that_is_printed_keeps_what_is_not_answered(lesson: Lessons) -> None:
    tab = lesson("01")
    tab.page.emulate_media(media="print")
    assert tab.page.locator(".question:visible").count() == 1
