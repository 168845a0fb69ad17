"""predict: asks a question before a cell shows the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from importlib import import_module
from typing import Any, final

from scalarviz.base.checks.numbers import answered, number, shorten
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.notebook.place import Shown, has_widgets

NEAR = 0.02  # relative tolerance of a numeric guess
ZERO = 1e-12  # an answer up to this is 0, as of a sum whose terms cancel

Answer = float | str | Callable[[], float | str]


@answered
def predict(
    question: str,
    answer: Answer,
    *,
    near: float = NEAR,
    choices: Sequence[str] = (),
    hint: str = "",
) -> Prediction:
    """Ask for a number, a word, or one of several choices, and check the guess.

    question  text that is shown
    answer    a number, a word, a choice, or a function that returns it, called when a guess is
              checked
    near      largest relative error of a number that counts as right, of 0 the largest absolute
              one; by default 0.02
    choices   words to choose from; by default none: a number or a word is typed
    hint      text that is shown beside a wrong guess; by default none

    In a notebook, a form is shown below the cell; formulas are written between dollars and code
    between backticks. A word may be typed in capitals, too. Returns a Prediction. Raises InputError
    if the answer is none of the choices, an empty text or no finite number.

    >>> guess = predict("What is 2 times 3?", 6)
    >>> guess
    Predict: What is 2 times 3?
    >>> guess.check(5)
    False
    >>> guess.check("6.05")
    True
    """
    made = Prediction(question, answer, near, tuple(choices), hint)
    made.show()
    return made


@final
class Prediction(Shown):
    """A question, its answer, and the guesses."""

    def __init__(
        self, question: str, answer: Answer, near: float, choices: tuple[str, ...], hint: str
    ) -> None:
        if not isinstance(question, str):
            raise InputError(f"a question must be a str, not {shorten(question)}")
        self.question = question
        self.known = ""  # the answer as text, after the first guess
        self.near = number(near, "near", 0.0)
        self.choices = choices
        self.hint = hint
        self.guesses: list[float | str] = []
        self.right = False
        self._answer = answer
        if not callable(answer):
            self._checked(answer)

    @property
    def answer(self) -> float | str:
        return self._checked(self._answer() if callable(self._answer) else self._answer)

    def check(self, guess: float | str) -> bool:
        """Return whether a guess is right; a number may be given as text, also as a fraction."""
        given: float | str
        answer = self.answer
        self.known = in_words(answer)
        if isinstance(answer, str):
            given = typed = str(guess)
            plain = str if self.choices else as_typed
            self.right = plain(typed) == plain(answer)
        else:
            given = as_number(guess)
            of_zero = self.near if abs(answer) <= ZERO else 0.0
            self.right = math.isclose(given, answer, rel_tol=self.near, abs_tol=of_zero + ZERO)
        self.guesses.append(given)
        return self.right

    def _checked(self, answer: object) -> float | str:
        if self.choices:
            if not isinstance(answer, str) or answer not in self.choices:
                raise InputError(
                    f"the answer {shorten(answer)} is none of the choices: "
                    f"{', '.join(map(repr, self.choices))}"
                )
            return str(answer)
        if isinstance(answer, str) and answer.strip():
            return answer
        return number(answer, "the answer")

    @property
    def said(self) -> str:
        """The feedback on the last guess."""
        if self.right:
            return text("predict.right", answer=self.known)
        wrong = text("predict.wrong", guess=in_words(self.guesses[-1]))
        return f"{wrong} {self.hint}".rstrip()

    def __repr__(self) -> str:
        return text("predict.question", question=self.question)

    @staticmethod
    def as_html(words: str) -> str:
        """Return a text as HTML, with what stands between backticks as code."""
        return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words, quote=False))

    @property
    def html(self) -> str:
        """The question as HTML."""
        return text("predict.html", question=self.as_html(self.question))

    def bundle(self) -> dict[str, Any]:
        """Return the question."""
        return {"text/plain": repr(self), "text/html": f"<p>{self.html}</p>"}

    def live(self) -> Any:
        """Return the form to answer it, if widgets are available."""
        if not has_widgets():
            return None
        return import_module("scalarviz.faces.notebook.form").form_of(self)


def as_number(guess: object) -> float:
    """Return a typed number; raise InputError if it is not one."""
    if isinstance(guess, str):
        typed = guess.strip().replace("−", "-")
        try:
            return float(Fraction(typed)) if "/" in typed else float(typed)
        except (ValueError, ZeroDivisionError) as error:
            raise InputError("type a number, like 0.25, -3 or 1/3") from error
    return number(guess, "a guess")


def as_typed(word: str) -> str:
    """Return a word without capitals and spaces around it."""
    return word.strip().casefold()


def in_words(answer: float | str) -> str:
    return answer if isinstance(answer, str) else f"{answer:.4g}"
