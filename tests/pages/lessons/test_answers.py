"""Questions of lessons and answers: which are right, what is said and kept."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from scalarviz.base.texts import text, texts
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.pages.lessons.questions import (
    Question,
    lesson_names,
    question,
    questions_in,
    questions_of,
)
from scalarviz.story.judging import answer_words, line_value
from tests.pages.node import in_web
from tests.wording import refused

ASKED = """
[gradient]
ask = 'What is $dL/dw$?'
answer = -8
hint = "Multiply."
[gradient.replies]
"8" = "The sign."
"-1/3" = "A third."
"""


def test_a_typical_wrong_guess_has_a_reply_of_its_own_and_others_have_the_hint() -> None:
    asked = questions_in(ASKED)["gradient"]
    assert asked.is_right("-8") and not asked.is_right("8")
    assert asked.reply(8) == asked.reply("8.0") == "The sign."
    assert asked.reply("-0.333") == "A third."
    assert asked.reply("5") == asked.reply("a word") == "Multiply."


def test_a_number_may_have_a_comma_before_its_decimals() -> None:
    asked = Question("?", 0.125)
    assert all(map(asked.is_right, ("0,125", ",125", "+0,1250", "0,5/4")))
    assert not asked.is_right("1,25")
    for typed in ("1,000", "12,345", "1,2,3", "1,2.3"):
        refused(InputError).by(asked.is_right, typed)


@pytest.mark.parametrize("typed", ["–8", "- 8", "−8,0", "-2*4", "2 · −4", "-16/2", "-1/2*16"])
def test_a_number_is_read_as_people_write_it(typed: str) -> None:
    assert Question("?", -8).is_right(typed)


def test_a_line_is_compared_by_its_values() -> None:
    asked = Question("?", "b * g", names=("a", "b", "g"), replies={"a * g": "The other one."})
    assert asked.is_right("g*b") and asked.is_right("(b + b) * g / 2")
    assert not asked.is_right("b + g")
    assert asked.reply("g · a") == "The other one."
    assert asked.reply("-12") == text("predict.letters")
    for typed in ("b *", "", "b if a else g", "[b][0]", "b.real", "'b'", "a=b", "b" * 300, "((((("):
        refused(InputError).by(asked.is_right, typed)
    refused(InputError, "a, b, g").by(asked.is_right, "b * x")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a = 1", "'a'"),
        ("[a]\nask = 'x'", "answer"),
        ("[a]\nanswer = 1", "ask"),
        ("[a]\nask = 'x'\nanswer = 1\nreplies = { '2' = 3 }", "replies"),
        ("[a]\nask = 'x'\nanswer = true", "answer"),
        ("[a]\nask = 'x'\nanswer = 1\nat = [1]", "at"),
        ("[a]\nask = 'x'\nanswer = 'a'\nnames = ['a']\nat = [[nan]]", "at"),
        ("[a]\nask = 'x'\nanswer = 'a / sqrt(b)'\nnames = ['a', 'b']", "'a / sqrt(b)'"),
        ("[a]\nask = 'x'\nanswer = 1\nreplies = { 'two' = '3' }", "'two'"),
        ("[a", "TOML"),
    ],
)
def test_what_is_no_question_is_refused(content: str, name: str) -> None:
    refused(InputError, name).by(questions_in, content)


def test_unknown_places_name_the_nearest() -> None:
    refused(UnknownNameError, "'gradeint'", "'gradient'").by(question, "01/gradeint")
    refused(UnknownNameError, "'99'", varies="one of .*").by(question, "99/gradient")
    refused(UnknownNameError, "'anser'").by(questions_in, "[a]\nask = 'x'\nanser = 1\nanswer = 1")


def test_each_reply_of_the_lessons_is_to_a_wrong_guess() -> None:
    for lesson in lesson_names().values():
        for asked in questions_of(lesson).values():
            assert asked.why, asked.key
            for wrong in asked.replies:
                assert not asked.is_right(wrong), (lesson, asked.key, wrong)


def test_a_question_of_the_lessons_is_asked_by_its_place() -> None:
    import scalarviz as sv

    guess: Any = sv.predict("01/gradient")
    assert not guess.check("8")
    assert "sign" in guess.said
    assert guess.check("-8") and guess.asked.why in guess.said
    assert guess.question in repr(sv.predictions())


@pytest.mark.parametrize(
    ("answer", "words"), [(12544, "12544"), (-3.0, "-3"), (0.12345, "0.1235"), (1e20, "1e+20")]
)
def test_a_whole_number_is_said_with_all_its_digits(answer: float, words: str) -> None:
    assert answer_words(answer) == words


NAMES = {"a": 2.0, "b": 3.0}
# Lines with their values for those names: infinity and NaN are None.
LINES = {
    "a * b": 6, "b·a": 6, "-a**2": -4, "2**-a": 0.25, "2 ** 3 ** 2": 512, "-2 ** 2": -4,
    "(a - b) / (a + b)": -0.2, "1e-3 * a": 0.002, ".5a": 1, "a b": 6, "2(a)": 4, "3a²": 12,
    "2(a - b)b(1 - a)": 6, "(a)(b)": 6, "exp(a)b": 3 * math.exp(2), "a – b": -1, "a - b - a": -3,
    "a / b / b": 2 / 9, "max(a, b)": 3, "min(a, b)": 2,
    "exp(a) - log(b)": math.exp(2) - math.log(3),
    "relu(-a) + abs(-b) + sqrt(b) + tanh(a)": 3 + math.sqrt(3) + math.tanh(2), "a / 0": None,
    "--a": 2, "+a": 2, "a^2 - b²": -5, "−a × b ÷ 2": -3, "sqrt(-a)": None, "1E3": 1000, "01": 1,
    "a\u00a0* b": 6, "1 / exp(1000)": 0, "tanh(1 / 0)": 1, "max(1 / 0, b)": None, "(-a)**.5": None,
    "(-a)**b": -8, "0 ** -1": None, "log(0)": None, "2*a - 1": 3, "−a²": -4, "a^3": 8,
    "exp(0) + relu(-a) + max(a, 1)": 3, "2 × a ÷ 4": 1, "2(a - 1)a": 4, "1 / (a - 2)": None,
    "exp(1000 * a)": None, "9 ** 9 ** 9": None,
}  # fmt: skip
NO_LINES = [
    "2 3", "a2", "a +", "(a", "a)", "max(a)", "min(a, b, a)", "c", "a;b", "a,b", "", "constructor",
    "a['b']", "__proto__", "a" * 201, "a % b", "a // b", "~a", "a @ b", "not a", "True", "1_0",
    "0x1", "1j", "a # b", "sqrt(-a) * c", "exp(a, b)", "exp a", "exp()", "*(a, b)", "nan",
    "inf", "a .5", "__import__('os')", "exp(a, a)", "open('x')", "a.__class__", "lambda: 1",
]  # fmt: skip
GUESSES = [
    "8", "-8", " −8 ", "0", "1/3", "0.5", "1e1", "ten", "1/0", "up", "UP ", "a * b", "x * upstream",
    "-0.0001", "7.9", "8.16", "8.17", "1_000", "inf", "nan", "1e400", "٣", "1.5/2", "1/-3",
    " 1 / 3 ", "−1e−5", "1/2/3", "1" * 400 + "/1", "strasse", "STRAßE",
    "–8", "- 8", "-2*4", "−2 · 4", "2 × −0,4e1", "1/2", "2**3", "2²", "2*", "*2", "- - 8",
    "1,000*2", "1/3*3", "8\u00a0/ 1", "(8)", "8 8",
    "0,5", "-8,0", "1,000", "+12,345", "1,5/3", ",5", "1,2,3", "0,125", "1,0000", "1,5.2",
]  # fmt: skip


def ours(question: Question, guess: str) -> Any:
    """Whether a guess is right and what is said to it; None if it is no guess."""
    try:
        return question.is_right(guess), question.reply(guess)
    except InputError:
        return None


@pytest.mark.parametrize(("line", "wanted"), LINES.items())
def test_lines_have_values(line: str, wanted: float | None) -> None:
    found = line_value(line, NAMES)
    assert (found if math.isfinite(found) else None) == (wanted and pytest.approx(wanted))


@pytest.mark.parametrize("line", NO_LINES)
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expression of a, b"):
        line_value(line, NAMES)


def test_every_question_is_judged_as_by_python() -> None:
    questions = [each for name in lesson_names().values() for each in questions_of(name).values()]
    questions.append(Question("Which way?", "Straße"))
    told = [dataclasses.asdict(each) for each in questions]
    guesses = [[*GUESSES, *each.replies, str(each.answer)] for each in questions]
    found = in_web(
        "story/judging texts",
        """setTexts(data.texts);
        return data.questions.map((question, i) => data.guesses[i].map((guess) => {
          try { return [agrees(question, guess, question.answer), reply_to(question, guess)]; }
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
    {"answers": {"01": {}}}, {"answers": {"01": KEPT | {"guesses": "8"}}},
    {"answers": {"01": KEPT | {"guesses": [8]}}}, {"answers": {"01": KEPT | {"right": "no"}}},
    {"answers": None},
]  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("other", [{}, {"id": "of an earlier page"}, *OTHERS], ids=str)
def test_answers_are_taken_up_only_in_the_form_in_which_they_are_kept(other: Any) -> None:
    kept: dict[str, Any] = {
        "name": "Ada",
        "answers": {"01": KEPT},
    }
    is_whole = other in ({}, {"id": "of an earlier page"})
    found = in_web(
        "lesson_answers",
        """globalThis.localStorage = { getItem: () => data.kept };
        const { name, answers } = new LessonAnswers("01", "");
        return { name, answers };""",
        kept=json.dumps({**kept, "lesson": "01", **other} if isinstance(other, dict) else other),
    )
    assert found == (kept if is_whole else {"name": "", "answers": {}})
