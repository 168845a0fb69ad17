"""Pages judge guesses as Python does, and take up the answers that they have kept."""

import dataclasses
import json
import math
from typing import Any

import pytest

from scalarviz.base.texts import texts
from scalarviz.errors import InputError
from scalarviz.pages.lessons.questions import Question, lesson_names, questions_of, value_of
from tests.pages.in_web import in_web

LINES = [
    "a * b", "b·a", "-a**2", "2**-a", "2 ** 3 ** 2", "-2 ** 2", "(a - b) / (a + b)", "1e-3 * a",
    ".5a", "a b", "2(a)", "2(a - b)b(1 - a)",
    "2 3", "3a²", "(a)(b)", "a2", "exp(a)b",
    "a – b", "a +", "(a", "a)", "max(a)", "max(a, b)", "min(a, b, a)",
    "exp(a) - log(b)",
    "relu(-a) + abs(-b) + sqrt(b) + tanh(a)", "a / 0", "c", "a;b", "a,b", "", "--a",
    "+a", "a^2 - b²", "constructor", "a['b']", "__proto__", "a" * 201, "−a × b ÷ 2", "sqrt(-a)",
    "a % b", "a // b", "~a", "a @ b", "not a", "True", "1_0", "0x1", "1E3", "01", "1j", "a # b",
    "a\u00a0* b", "1 / exp(1000)", "tanh(1 / 0)", "sqrt(-a) * c", "max(1 / 0, b)", "exp(a, b)",
]  # fmt: skip
GUESSES = [
    "8", "-8", " −8 ", "0", "1/3", "0.5", "1e1", "ten", "1/0", "up", "UP ", "a * b", "x * upstream",
    "-0.0001", "7.9", "8.16", "8.17", "1_000", "inf", "nan", "1e400", "٣", "1.5/2", "1/-3",
    " 1 / 3 ", "−1e−5", "1/2/3", "1" * 400 + "/1", "strasse", "STRAßE",
    "–8", "- 8", "-2*4", "−2 · 4", "2 × −0,4e1", "1/2", "2**3", "2²", "2*", "*2", "- - 8",
    "1,000*2", "1/3*3", "8\u00a0/ 1", "(8)", "8 8",
    "0,5", "-8,0", "1,000", "+12,345", "1,5/3", ",5", "1,2,3", "0,125", "1,0000", "1,5.2",
]  # fmt: skip
NAMES = {"a": 2.0, "b": 3.0}


def ours(question: Question, guess: str) -> Any:
    """Whether a guess is right and what is said to it; None if it is no guess."""
    try:
        return question.is_right(guess), question.reply(guess)
    except InputError:
        return None


def test_lines_have_the_values_of_python() -> None:
    found = in_web(
        "judging",
        """return data.lines.map((line) => {
          try { return lineValue(line, data.names); } catch (error) { return "none"; }
        });""",
        lines=LINES,
        names=NAMES,
    )
    for line, theirs in zip(LINES, found, strict=True):
        try:
            value: Any = value_of(line, NAMES)
        except InputError:
            value = "none"
        if value == "none":
            assert theirs == "none", line
        elif math.isfinite(value):
            assert theirs == pytest.approx(value), line
        else:
            assert theirs in ("NaN", "Infinity", "-Infinity"), line


def test_every_question_is_judged_as_by_python() -> None:
    questions = [each for name in lesson_names().values() for each in questions_of(name).values()]
    questions.append(Question("Which way?", "Straße"))
    told = [dataclasses.asdict(each) for each in questions]
    guesses = [[*GUESSES, *each.replies, str(each.answer)] for each in questions]
    found = in_web(
        "judging texts",
        """setTexts(data.texts);
        return data.questions.map((question, i) => data.guesses[i].map((guess) => {
          try { return [isRight(question, guess), replyTo(question, guess)]; }
          catch (error) { return null; }
        }));""",
        questions=told,
        texts=texts(),
        guesses=guesses,
    )
    assert len(found) == len(questions) > 0
    for each, tried, theirs in zip(questions, guesses, found, strict=True):
        for guess, said in zip(tried, theirs, strict=True):
            wanted = ours(each, guess)
            assert said == (None if wanted is None else list(wanted)), (each.ask, guess)
        assert theirs[-1][0]


KEPT: dict[str, Any] = {"guesses": ["8"], "right": False, "shown": True}
OTHERS: list[Any] = [
    None, 1, [], {"name": 1}, {"name": None}, {"answers": {"01": None}},
    {"id": 5}, {"answers": {"01": {}}}, {"answers": {"01": KEPT | {"guesses": "8"}}},
    {"answers": {"01": KEPT | {"guesses": [8]}}}, {"answers": {"01": KEPT | {"right": "no"}}},
    {"guessed": {}}, {"guessed": {"right": "<b>", "asked": 1}}, {"answers": None},
]  # fmt: skip


@pytest.mark.parametrize("other", [{}, {"id": "of this page"}, *OTHERS], ids=str)
def test_answers_are_taken_up_only_in_the_form_in_which_they_are_kept(other: Any) -> None:
    kept: dict[str, Any] = {
        "name": "Ada",
        "answers": {"01": KEPT},
        "guessed": {"right": 1, "asked": 2},
    }
    is_whole = other in ({}, {"id": "of this page"})
    found = in_web(
        "lesson_answers",
        """globalThis.localStorage = { getItem: () => data.kept };
        const { name, answers, guessed, id } = new LessonAnswers("01", "", "");
        return { name, answers, guessed, id };""",
        kept=json.dumps({**kept, "lesson": "01", **other} if isinstance(other, dict) else other),
    )
    mark = found.pop("id")
    assert found == (
        kept if is_whole else {"name": "", "answers": {}, "guessed": {"right": 0, "asked": 0}}
    )
    assert len(mark) > 5 and (mark == "of this page") == (other == {"id": "of this page"})
