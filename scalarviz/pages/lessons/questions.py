"""Questions that are asked before a result is shown, and the replies to guesses.

Questions of the lessons are in questions/, one TOML file per lesson. The questions of a custom page
are in its text.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from scalarviz.base.checks import number, require, shorten
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.story.judging import agrees, reply_to, values_at

NEAR = 0.02  # relative tolerance of a numeric guess
FOLDER = Path(__file__).with_name("questions")
AT = (
    (2.0, -3.0, 4.0, 0.5),
    (0.5, 3.0, -1.0, 2.0),
)  # default numbers for the names in a line


def is_text(given: object) -> bool:
    return isinstance(given, str)


def is_number(given: object) -> TypeGuard[float]:
    return isinstance(given, float | int) and not isinstance(given, bool)


def is_finite(given: object) -> bool:
    return is_number(given) and abs(given) <= sys.float_info.max


def each_of(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a function that checks whether a value is a list whose items all pass `is_one`."""
    return lambda given: isinstance(given, list) and bool(given) and all(map(is_one, given))


# The fields of a question in TOML, and their valid values.
FIELDS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("ask", "hint", "why", "line", "see"), is_text),
    "answer": lambda given: is_text(given) or is_number(given),
    "near": is_number,
    "choices": each_of(is_text),
    "names": each_of(is_text),
    "at": each_of(each_of(is_finite)),
    "replies": lambda given: isinstance(given, dict) and all(map(is_text, given.values())),
}


@dataclass(frozen=True)
class Question:
    """A question, its answer, and the replies to guesses.

    Attributes:
        ask: text of the question, with $formulas$ and `code`
        answer: a number, a word, one of the choices, or, if `names` is not empty, an expression
        near: relative error up to which a number is right, or absolute error if the answer is 0
        choices: words to choose from; if empty, the user types a number, a word or an expression
        hint: reply to a wrong guess that has no specific reply
        why: explanation that is shown with the answer
        replies: specific replies, by wrong guess
        line: text with a blank into which the user types an expression
        names: variables in the expression
        at: values of the variables for which the answer and a guess are compared
        see: moment of the picture that shows the answer, as part of a URL fragment
        lesson: name of the lesson; "" for a custom question
        key: key of the question in the lesson
    """

    ask: str
    answer: float | str
    near: float = NEAR
    choices: Sequence[str] = ()
    hint: str = ""
    why: str = ""
    replies: Mapping[str, str] = field(default_factory=dict)
    line: str = ""
    names: Sequence[str] = ()
    at: Sequence[Sequence[float]] = AT
    see: str = ""
    lesson: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.ask, str) or not self.ask.strip():
            raise InputError(f"a question must be a str, not {shorten(self.ask)}")
        number(self.near, "near", 0.0)
        is_word = isinstance(self.answer, str) and self.answer.strip() != ""
        require(
            not self.choices or (is_word and self.answer in self.choices),
            f"the answer {shorten(self.answer)} is not among the choices: "
            f"{', '.join(map(repr, self.choices))}",
        )
        if not is_word:
            number(self.answer, "the answer")
        require(
            self.is_right(self.answer),
            f"the answer {shorten(self.answer)} has no value where {', '.join(self.names)} are "
            f"{shorten(self.at)}: give others with `at`",
        )
        for wrong in self.replies:
            try:
                self._agree(wrong, self.answer)
            except InputError as error:
                raise InputError(
                    f"the reply to {shorten(wrong)} can never be shown: {error}"
                ) from error

    values = values_at

    def is_right(self, guess: object) -> bool:
        """Return whether a guess is right; raise InputError if it cannot be compared."""
        return self._agree(guess, self.answer)

    def reply(self, guess: object) -> str:
        """Return the specific reply to a wrong guess; the hint if there is no specific reply."""
        return reply_to(self, str(guess))

    def _agree(self, guess: object, answer: float | str) -> bool:
        try:
            return agrees(self, str(guess), answer)
        except ValueError as error:
            raise InputError(str(error)) from error


@cache
def lesson_names() -> dict[str, str]:
    """Return the names of the lessons by number, such as {"01": "01-one-weight"}."""
    return {path.stem.partition("-")[0]: path.stem for path in sorted(FOLDER.glob("*.toml"))}


@cache
def questions_of(lesson: str) -> dict[str, Question]:
    """Return the questions of a lesson, by key."""
    return questions_in((FOLDER / f"{lesson}.toml").read_text(encoding="utf-8"), lesson)


def question(place: str) -> Question:
    """Return the question with a key such as 01/gradient; raise UnknownNameError if unknown."""
    if not isinstance(place, str):
        raise InputError(f"a question must be a str, not {shorten(place)}")
    lesson, _, key = place.partition("/")
    return pick(questions_of(pick(lesson_names(), lesson, "lesson")), key, "question")


def questions_in(content: str, lesson: str = "") -> dict[str, Question]:
    """Read questions from TOML, a table for each question; raise InputError if it is invalid."""
    try:
        tables = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"the questions are not TOML: {error}") from error
    return {key: made(table, lesson, key) for key, table in tables.items()}


def made(table: Any, lesson: str, key: str) -> Question:
    """Read a question from a TOML table; raise InputError if a field is missing or unknown."""
    if not isinstance(table, dict):
        raise InputError(f"{shorten(key)} is outside of a question: put [name] before it")
    for name in ("ask", "answer"):
        require(name in table, f"the question {key} has no {name}: add one")
    for name, given in table.items():
        if not pick(FIELDS, name, f"field of the question {key}")(given):
            raise InputError(
                f"{name} of the question {key} is {shorten(given)}: see docs/guide/lessons.md"
            )
    try:
        return Question(**table, lesson=lesson, key=key)
    except InputError as error:
        raise InputError(f"the question {key}: {error}") from error
