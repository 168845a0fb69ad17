"""Questions: what is asked before a result is seen, and what is said to each guess.

Those of the lessons stand in questions/, a file of TOML for each; a custom page has its questions
in its text.
"""

from __future__ import annotations

import ast
import math
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from scalarviz.base.checks import number, shorten
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError

# A number, with a point or a comma before its decimals; 1,000 may mean two numbers, and is none.
NUMBER = re.compile(
    r"(?!([+-]\s*)?[1-9]\d{0,2},\d{3}$)([+-]\s*)?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?",
    re.ASCII | re.IGNORECASE,
)
NEAR = 0.02  # relative tolerance of a numeric guess
ZERO = 1e-12  # an answer up to this is 0, as of a sum whose terms cancel
FOLDER = Path(__file__).with_name("questions")
AT = (
    (2.0, -3.0, 4.0, 0.5),
    (0.5, 3.0, -1.0, 2.0),
)  # numbers for the names of a line, if none are given


def is_text(given: object) -> bool:
    return isinstance(given, str)


def is_number(given: object) -> TypeGuard[float]:
    return isinstance(given, float | int) and not isinstance(given, bool)


def is_finite(given: object) -> bool:
    return is_number(given) and abs(given) <= sys.float_info.max


def each_of(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return whether a value is a list of such values."""
    return lambda given: isinstance(given, list) and bool(given) and all(map(is_one, given))


# The fields of a question in TOML, and which values they may have.
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
    """A question, its answer, and what is said to a guess.

    ask      the question, with $formulas$ and `code`
    answer   a number, a word, one of the choices, or with names an expression of them
    near     largest relative error of a number that counts as right, of 0 the largest absolute one
    choices  words to choose from; none: a number or a word is typed
    hint     said with a wrong guess that has no reply of its own
    why      the reason, said after the answer
    replies  by wrong guess what is said to it
    line     what stands around the blank that an expression fills
    names    names in the expression
    at       numbers for the names, in turn; the answer and a guess are compared there
    see      the moment of the picture that shows it, as the part of an address
    lesson   the name of the lesson, "" for a question of one's own
    key      its name there
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
        if self.choices and not (is_word and self.answer in self.choices):
            raise InputError(
                f"the answer {shorten(self.answer)} is none of the choices: "
                f"{', '.join(map(repr, self.choices))}"
            )
        if not is_word:
            number(self.answer, "the answer")
        if not self.is_right(self.answer):
            raise InputError(
                f"the answer {shorten(self.answer)} has no value where {', '.join(self.names)} are "
                f"{shorten(self.at)}: give others with `at`"
            )
        for wrong in self.replies:
            try:
                self._agree(wrong, self.answer)
            except InputError as error:
                raise InputError(
                    f"nobody can guess {shorten(wrong)}, to which there is a reply: {error}"
                ) from error

    def is_right(self, guess: object) -> bool:
        """Return whether a guess is right; raise InputError if it is no number, no expression."""
        return self._agree(guess, self.answer)

    def reply(self, guess: object) -> str:
        """Return what is said to a wrong guess, or the hint, also to one of another question."""
        if self.names and self._is_one_of_its_numbers(str(guess)):
            return text("predict.letters")
        with suppress(InputError):
            for wrong, words in self.replies.items():
                other = wrong if isinstance(self.answer, str) else as_number(wrong)
                if self._agree(guess, other):
                    return words
        return self.hint

    def _is_one_of_its_numbers(self, guess: str) -> bool:
        """Return whether a number was typed that the answer has at some of the numbers of `at`."""
        with suppress(InputError):
            value = value_of(guess, {})
            return any(math.isclose(value, each) for each in self.values(str(self.answer)))
        return False

    def values(self, line: str) -> list[float]:
        """Return the values of an expression at the numbers of `at`."""
        return [value_of(line, dict(zip(self.names, row, strict=False))) for row in self.at]

    def _agree(self, guess: object, answer: float | str) -> bool:
        if self.names:
            pairs = zip(self.values(str(guess)), self.values(str(answer)), strict=True)
            return all(
                math.isfinite(one) and math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
                for one, other in pairs
            )
        if isinstance(answer, str):
            words = [str(guess), answer]
            if not self.choices:  # as JavaScript does: casefold would also make ss of ß
                words = [word.strip().lower() for word in words]
            return words[0] == words[1]
        of_zero = self.near if abs(answer) <= ZERO else 0.0
        return math.isclose(as_number(guess), answer, rel_tol=self.near, abs_tol=of_zero + ZERO)


def as_number(guess: object) -> float:
    """Return a typed number, also a product or a fraction; raise InputError if it is not one."""
    if not isinstance(guess, str):
        return number(guess, "a guess")
    plain = guess.translate(SIGNS)
    factors = [NUMBER.fullmatch(each.strip()) for each in re.split(r"[*/]", plain)]
    value = value_of(plain.replace(",", "."), {}) if all(factors) else math.nan
    if not math.isfinite(value):
        raise InputError("type a number, like 0.25, -3 or 1/3")
    return value


def in_words(answer: float | str) -> str:
    """Return an answer as text: a whole number with all digits, another with four."""
    if isinstance(answer, str):
        return answer
    is_whole = abs(answer) < 1e15 and answer == round(answer)
    return str(round(answer)) if is_whole else f"{answer:.4g}"


def quoted(words: str, question: Question) -> str:
    """Return a choice in quotation marks, and other guesses as they are."""
    return text("predict.choice", words=words) if question.choices else words


@cache
def lesson_names() -> dict[str, str]:
    """Return the names of the lessons by their numbers, as 01: 01-one-weight."""
    return {path.stem.partition("-")[0]: path.stem for path in sorted(FOLDER.glob("*.toml"))}


@cache
def questions_of(lesson: str) -> dict[str, Question]:
    """Return the questions of a lesson by their keys."""
    return questions_in((FOLDER / f"{lesson}.toml").read_text(encoding="utf-8"), lesson)


def question(place: str) -> Question:
    """Return the question of a place, as 01/gradient; raise UnknownNameError if there is none."""
    if not isinstance(place, str):
        raise InputError(f"a question must be a str, not {shorten(place)}")
    lesson, _, key = place.partition("/")
    return pick(questions_of(pick(lesson_names(), lesson, "lesson")), key, "question")


def questions_in(content: str, lesson: str = "") -> dict[str, Question]:
    """Return the questions of a text in TOML, a table each; raise InputError for a fault."""
    try:
        tables = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"the questions are no TOML: {error}") from error
    return {key: made(table, lesson, key) for key, table in tables.items()}


def made(table: Any, lesson: str, key: str) -> Question:
    """Return the question of a table; raise InputError for a field that it lacks or has not."""
    if not isinstance(table, dict):
        raise InputError(f"{shorten(key)} stands outside of a question: put [name] before it")
    for name in ("ask", "answer"):
        if name not in table:
            raise InputError(f"the question {key} has no {name}: add one")
    for name, given in table.items():
        if not pick(FIELDS, name, f"field of the question {key}")(given):
            raise InputError(
                f"{name} of the question {key} is {shorten(given)}: see docs/guide/lessons.md"
            )
    try:
        return Question(**table, lesson=lesson, key=key)
    except InputError as error:
        raise InputError(f"the question {key}: {error}") from error


# One line that a learner fills in: an expression, read and never run as code.

LONGEST = 200  # characters
SIGNS = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "·": "*",
        "×": "*",
        "÷": "/",
        "²": "**2",
        "³": "**3",
        "^": "**",
        "\u00a0": " ",
    }
)
# A number, a name or a sign; the pages read the same, see judging.js.
TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z_]\w*|\*\*|[-+*/(),]))",
    re.ASCII | re.IGNORECASE,
)
OPERATIONS: dict[type, Callable[..., float]] = {  # of numpy, which has no number as JavaScript does
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "abs": np.absolute,
    "relu": lambda x: np.maximum(x, 0.0),
    "max": lambda a, b: np.maximum(a, b),
    "min": lambda a, b: np.minimum(a, b),
}


def value_of(line: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression; raise InputError if it is none, or has another name.

    A division by 0 or a root of -1 is no error: it gives infinity or NaN, a wrong number.
    """
    if len(line) > LONGEST:
        raise InputError(f"a line has at most {LONGEST} characters, not {len(line)}: shorten it")
    try:
        with np.errstate(all="ignore"):
            return float(walked(ast.parse(plain(line, names), mode="eval").body, names))
    except (SyntaxError, RecursionError, MemoryError, TypeError, LookupError) as error:
        raise InputError(
            f"{shorten(line)} is no expression here: write one of {', '.join(names)} and numbers, "
            "such as 2 * (a - b)"
        ) from error


def plain(line: str, names: Mapping[str, float]) -> str:
    """Return a line as Python writes it, also where a product has no sign, as in 2(y - t)y.

    Raises SyntaxError for a sign that it must not have.
    """
    line, parts, at = line.translate(SIGNS).strip(), [""], 0
    while at < len(line):
        found = TOKEN.match(line, at)
        if found is None:
            raise SyntaxError(line)
        number = repr(float(found[1] or 0)).replace("inf", "1e999")  # as Python reads it
        last, sign = parts[-1], found[2] or ""
        is_factor = last == ")" or last in names or last[:1].isdigit()
        if is_factor and (sign == "(" or sign[:1].isidentifier()):
            parts.append("*")
        parts.append(number if found[1] else sign)
        at = found.end()
    return " ".join(parts).lstrip()


def walked(node: ast.AST, names: Mapping[str, float]) -> float:
    """Return the value of a part of an expression; raise InputError for an unknown name."""
    match node:
        case ast.Constant(value=float() as number):
            return np.float64(number)
        case ast.Name(id=name) if name in names:
            return np.float64(names[name])
        case ast.Name(id=name):
            raise InputError(f"{name} has no value here: use {', '.join(names)}")
        case ast.UnaryOp(op=sign, operand=part):
            return OPERATIONS[type(sign)](walked(part, names))
        case ast.BinOp(left=left, op=sign, right=right):
            return OPERATIONS[type(sign)](walked(left, names), walked(right, names))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(walked(part, names) for part in parts))
    raise TypeError(type(node).__name__)
