"""Assessment of answers: which are right, the replies to wrong ones, and typed expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from scalarviz.base.texts import text

# A number with a point or a comma before its decimals; 1,000 is ambiguous and is rejected.
NUMBER = re.compile(
    r"(?:[+-] *)?(?![1-9]\d{0,2},\d{3}(?!\d|e|E))(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII
)
ZERO = 1e-12  # answers up to this magnitude count as 0, as for a sum whose terms cancel

# A question has the fields of Question in pages/lessons/questions.py.


def agrees(question: Any, guess: str, answer: float | str) -> bool:
    """Return whether a guess is equivalent to an answer.

    Raise ValueError, with a message for the user, if the guess is no number and no expression.
    """
    if question.names:
        pairs = zip(values_at(question, guess), values_at(question, str(answer)), strict=True)
        return all(is_close(one, other, 1e-6, 1e-9) for one, other in pairs)
    if isinstance(answer, str):
        if question.choices:
            return guess == answer
        return guess.strip().lower() == answer.strip().lower()
    of_zero = question.near if abs(answer) <= ZERO else 0.0
    return is_close(typed_number(guess), answer, question.near, of_zero + ZERO)


def is_close(one: float, other: float, relative: float, absolute: float = 0.0) -> bool:
    """Return whether two finite numbers are equal within either tolerance."""
    apart, largest = abs(one - other), max(abs(one), abs(other))
    return math.isfinite(apart) and apart <= max(relative * largest, absolute)


def reply_to(question: Any, guess: str) -> str:
    """Return the reply to a wrong guess; the hint if the question has no reply for this guess."""
    if question.names and is_one_of_its_numbers(question, guess):
        return text("predict.letters")
    said: str = question.hint
    try:
        for wrong, words in question.replies.items():
            other = wrong if isinstance(question.answer, str) else typed_number(wrong)
            if agrees(question, guess, other):
                return str(words)
    except ValueError:  # a guess at another question
        return said
    return said


def is_one_of_its_numbers(question: Any, guess: str) -> bool:
    """Return whether a guess is the value of the answer at one of the numbers in `at`."""
    try:
        value = line_value(guess, {})
        return any(is_close(value, each, 1e-9) for each in values_at(question, question.answer))
    except ValueError:
        return False


def typed_number(guess: str) -> float:
    """Return the value of a typed number, product or fraction; raise ValueError otherwise."""
    plain = plain_signs(guess)
    is_typed = all(NUMBER.fullmatch(x.strip()) for x in plain.replace("/", "*").split("*"))
    value = line_value(plain.replace(",", "."), {}) if is_typed else math.nan
    if not math.isfinite(value):
        raise ValueError(text("lesson.no_number"))
    return value


def answer_words(answer: float | str) -> str:
    """Return an answer as text: integers with all digits, others with four."""
    if isinstance(answer, str):
        return answer
    is_whole = abs(answer) < 1e15 and answer == round(answer)
    return str(round(answer)) if is_whole else f"{answer:.4g}"


def quoted(words: str, question: Any) -> str:
    """Return a choice in quotation marks, and other guesses unchanged."""
    return text("predict.choice", words=words) if question.choices else words


# A line that a learner fills in: an expression, parsed and never run as code.

LONGEST = 200  # characters
FIGURES = "0123456789."
SIGNS = {
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
PART = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[a-zA-Z_]\w*|\*\*|[-+*/(),]", re.ASCII)
# Precedence of operators: sums, factors including brackets, and powers.
LEVELS = {")": 0, ",": 0, "+": 1, "-": 1, "*": 2, "/": 2, "(": 2, "**": 3}
OPERATIONS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else a * math.inf,
    "**": lambda a, b: a**b if a >= 0.0 or b == math.floor(b) else math.nan,
}
TAKE_TWO = "max", "min"
FUNCTIONS: dict[str, Callable[..., float]] = {
    "(": float,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "abs": abs,
    "relu": lambda x: max(x, 0.0),
    "max": lambda a, b: max(a, b),
    "min": lambda a, b: min(a, b),
}


def values_at(question: Any, line: str) -> list[float]:
    """Return the values of an expression for the numbers of `at`."""
    return [line_value(line, dict(zip(question.names, row, strict=False))) for row in question.at]


def line_value(line: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression; raise ValueError with a message if it is invalid.

    Division by 0 or a root of -1 is not an error: the result is infinity or NaN.
    """
    plain = plain_signs(line)
    is_line = len(line) <= LONGEST and not PART.sub("", plain).strip()
    parts = list(reversed(PART.findall(plain))) if is_line else ["?"]
    try:
        value = value_in(parts, names, 1)
    except (LookupError, ValueError):
        parts = ["?"]
    if parts:
        raise ValueError(text("lesson.no_line", names=", ".join(names)))
    return value


def plain_signs(line: str) -> str:
    """Return an expression with the operators of Python in place of mathematical signs."""
    for sign, plain in SIGNS.items():
        line = line.replace(sign, plain)
    return line


def value_in(parts: list[str], names: Mapping[str, float], level: int) -> float:
    """Parse a value from the end of `parts`, with operators of precedence `level` or higher."""
    part = parts.pop()
    if part in ("+", "-"):
        value = OPERATIONS[part](0.0, value_in(parts, names, 3))  # -a**2 is -(a**2)
    elif part[0] in FIGURES:
        value = float(part)
    elif part in names:
        value = names[part]
    else:
        value = computed(FUNCTIONS[part], arguments_in(parts, names, part))
    while parts and level_of(parts[-1]) >= level:
        sign = parts.pop() if parts[-1] in OPERATIONS else "*"  # 2(y - t)y
        above = min(LEVELS[sign] + 1, 3)  # powers are evaluated from right to left
        value = computed(OPERATIONS[sign], [value, value_in(parts, names, above)])
    return value


def level_of(part: str) -> int:
    return 0 if part[0] in FIGURES else LEVELS.get(part, 2)


def arguments_in(parts: list[str], names: Mapping[str, float], name: str) -> list[float]:
    """Parse the arguments of a function, or a value in brackets, and the closing bracket."""
    end = "(" if name == "(" else parts.pop()
    found: list[float] = []
    while end == ("," if found else "("):
        found.append(value_in(parts, names, 1))
        end = parts.pop()
    if end != ")" or len(found) != (2 if name in TAKE_TWO else 1):
        raise ValueError(name)
    return found


def computed(compute: Callable[..., float], given: list[float]) -> float:
    """Return the result of a function or an operator, infinity or NaN where it is undefined."""
    try:
        return compute(*given)
    except ArithmeticError:
        return math.inf
    except ValueError:
        return math.nan
