"""Questions of lessons: their files, which guesses are right, what is said to the others."""

import math
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.pages.lessons.questions import (
    Question,
    in_words,
    lesson_names,
    question,
    questions_in,
    questions_of,
    value_of,
)
from tests.pages.in_web import in_web
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
        with pytest.raises(InputError):
            asked.is_right(typed)


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
        with pytest.raises(InputError):
            asked.is_right(typed)
    with refused(InputError, "x"):
        asked.is_right("b * x")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("2*a - 1", 3.0),
        ("−a²", -4.0),
        ("a^3", 8.0),
        ("exp(0) + relu(-a) + max(a, 1)", 3.0),
        ("2 × a ÷ 4", 1.0),
        ("2(a - 1)a", 4.0),
    ],
)
def test_a_line_is_read_as_people_write_it(line: str, value: float) -> None:
    assert value_of(line, {"a": 2.0}) == value


@pytest.mark.parametrize("line", ["1 / (a - 2)", "exp(1000 * a)", "9 ** 9 ** 9"])
def test_what_has_no_value_is_a_wrong_number_and_no_error(line: str) -> None:
    assert not math.isfinite(value_of(line, {"a": 2.0}))


@pytest.mark.parametrize(
    "line", ["__import__('os')", "exp(a, a)", "open('x')", "a.__class__", "lambda: 1", "1j"]
)
def test_a_line_is_never_run(line: str) -> None:
    with pytest.raises(InputError):
        value_of(line, {"a": 2.0})


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
    with refused(InputError, name):
        questions_in(content)


def test_unknown_places_name_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'gradeint'.*'gradient'"):
        question("01/gradeint")
    with pytest.raises(UnknownNameError, match="'99'"):
        question("99/gradient")
    with refused(UnknownNameError, "'anser'"):
        questions_in("[a]\nask = 'x'\nanser = 1\nanswer = 1")


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
    assert in_words(answer) == words
    if abs(answer) < 1e15:
        assert in_web("judging", "return answerWords(data)", answer=answer) == words
