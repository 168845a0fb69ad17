"""predict asks a question before a cell shows the answer; predictions shows all guesses."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, final

from scalarviz.base.checks import answered, shorten
from scalarviz.base.processes import shell
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.notebook.form import form_of
from scalarviz.faces.notebook.html import as_html
from scalarviz.faces.notebook.place import Shown, has_widgets, run_of
from scalarviz.pages.lessons.answers import MIME, Given, records_in
from scalarviz.pages.lessons.questions import NEAR, Question, in_words, quoted
from scalarviz.pages.lessons.questions import question as question_at

Answer = float | str | Callable[[], float | str]

_asked: dict[str, Prediction] = {}  # by place, in the order in which they were asked first
_tables: dict[str, Predictions] = {}  # by cell, which may run again


@answered
def predict(
    question: str,
    answer: Answer | None = None,
    *,
    near: float = NEAR,
    choices: Sequence[str] = (),
    hint: str = "",
    why: str = "",
    replies: Mapping[object, str] | None = None,
) -> Prediction:
    """Ask for a number, a word, or one of several choices, and check the guess.

    question  text that is shown; without an answer, the place of a question of the lessons, such as
              "01/gradient"
    answer    a number, a word, a choice, or a function that returns it, called when a guess is
              checked
    near      largest relative error of a number that counts as right, of 0 the largest absolute
              one; by default 0.02
    choices   words to choose from; by default none: a number or a word is typed
    hint      text that is shown beside a wrong guess; by default none
    why       the reason, shown after the answer; by default none
    replies   what is shown beside certain wrong guesses, as {-8: "mind the sign"}

    In a notebook, a form is shown below the cell; formulas are written between dollars and code
    between backticks. A word may be typed in capitals, too. In JupyterLab what follows is hidden
    until the guess is right or the answer is asked for. `sv.predictions()` shows all guesses.

    Returns a Prediction. Raises InputError if the answer is none of the choices, an empty text or
    no finite number, and UnknownNameError if the lessons have no such question.

    >>> guess = predict("What is 2 times 3?", 6)
    >>> guess
    Predict: What is 2 times 3?
    >>> guess.check(5)
    False
    >>> guess.check("6.05")
    True
    """
    if answer is None:
        asked = question_at(question)
        made = _asked.get(place_of(asked)) or Prediction(asked)  # its cell may have run before
    else:
        choices = tuple(choices)
        if not all(isinstance(each, str) for each in choices):
            raise InputError(f"choices are texts, such as '1', not {shorten(choices)}")
        if not isinstance(replies, Mapping | None):
            raise InputError(f"replies are a dict, such as {{-8: 'why'}}, not {shorten(replies)}")
        known = answer if not callable(answer) else choices[0] if choices else 0.0
        said = {str(wrong): words for wrong, words in (replies or {}).items()}
        asked = Question(question, known, near, choices, hint, why, said)
        made = Prediction(asked, answer if callable(answer) else None)
    _asked[place_of(made.asked)] = made
    made.show()
    return made


@final
class Prediction(Shown):
    """A question, its answer, and the guesses.

    asked     the question
    computes  returns its answer when a guess is checked; None: the one of the question
    """

    def __init__(self, asked: Question, computes: Callable[[], Any] | None = None) -> None:
        self.asked, self.choices = asked, asked.choices
        given = stored_answers().get((asked.lesson, asked.key), Given((), right=False))
        self.guesses = [*given.guesses]
        self.right = given.right
        self.given_up = given.shown  # the answer was asked for
        self._computes = computes

    @property
    def question(self) -> str:
        return self.asked.ask

    @property
    def answer(self) -> float | str:
        return self.asked.answer

    @property
    def is_open(self) -> bool:
        """Whether the result should not be seen yet."""
        return not (self.right or self.given_up)

    def check(self, guess: float | str) -> bool:
        """Return whether a guess is right; a number may be given as text, also as a fraction."""
        if self._computes is not None:
            self.asked = replace(self.asked, answer=self._computes())
        self.right = self.asked.is_right(guess)
        self.guesses.append(guess if isinstance(guess, str) else in_words(guess))
        self._changed()
        return self.right

    def give_up(self) -> None:
        """Show the answer."""
        self.given_up = True
        self._changed()

    def _changed(self) -> None:
        """Store the guesses in the notebook, with the question."""
        if self._cell is not None:
            self._publish(update=True)
        for table in _tables.values():
            table.refresh()

    @property
    def result(self) -> str:
        """The answer, once it may be seen."""
        return "" if self.is_open else in_words(self.answer)

    @property
    def said(self) -> str:
        """The feedback on the last guess, or the answer."""
        if self.given_up:
            answer = quoted(self.result, self.asked)
            return f"{text('predict.said.answer', answer=answer)} {self.asked.why}".rstrip()
        return self.judged(self.guesses[-1], self.right)

    def judged(self, guess: str, right: bool) -> str:
        """Return the feedback on a guess."""
        if right:
            answer = quoted(in_words(self.answer), self.asked)
            return f"{text('predict.said.right', answer=answer)} {self.asked.why}".rstrip()
        words = text("predict.said.wrong", guess=quoted(guess, self.asked))
        return f"{words} {self.asked.reply(guess)}".rstrip()

    def __repr__(self) -> str:
        return text("predict.question", question=self.question)

    @property
    def html(self) -> str:
        """The question as HTML."""
        line = f"<br>{as_html(f'`{self.asked.line}`')}" if self.asked.line else ""
        return text("predict.html", question=as_html(self.question)) + line

    def bundle(self) -> dict[str, Any]:
        """Return the question, and what was guessed as data, which `scalarviz collect` reads."""
        if not self.guesses:
            return {"text/plain": repr(self), "text/html": f"<p>{self.html}</p>"}
        record = {
            "lesson": self.asked.lesson,
            "key": self.asked.key or self.question,
            "guesses": self.guesses,
            "right": self.right,
            "shown": self.given_up,
        }
        html = f"<p>{self.html}</p><p><b>{as_html(self.said)}</b></p>"
        return {"text/plain": f"{self!r} {self.said}", "text/html": html, MIME: record}

    def live(self) -> Any:
        """Return the form to answer it, if widgets are available."""
        if not has_widgets():
            return None
        return form_of(self)


def place_of(asked: Question) -> str:
    """Return what a question of the lessons is known by; one of one's own by its words."""
    return f"{asked.lesson}/{asked.key}" if asked.key else asked.ask


@cache
def stored_answers() -> dict[tuple[str, str], Given]:
    """Return what was answered in the notebook that runs here, as its file has it, by question."""
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))  # what Jupyter tells its kernels
    if path.suffix != ".ipynb" or not os.path.isfile(path):
        return {}
    found, _ = records_in(path)
    return {(each.lesson, key): given for each in found for key, given in each.answers.items()}


def predictions() -> Predictions:
    """Show what was guessed so far: question, guesses, result and reason side by side.

    In a notebook the table follows as questions are answered.
    """
    made = Predictions()
    _tables[run_of(shell())[0]] = made
    made.show()
    return made


@final
class Predictions(Shown):
    """A table of the questions that were asked."""

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Question, guesses, result, reason of each; the last two once they may be seen."""
        return [
            (
                each.question,
                ", ".join(each.guesses),
                each.result,
                "" if each.is_open else each.asked.why,
            )
            for each in _asked.values()
        ]

    def refresh(self) -> None:
        if self._cell is not None:
            self._publish(update=True)

    def __repr__(self) -> str:
        lines = [
            f"{question}  {guess or '-'}  {result}" for question, guess, result, _ in self.rows
        ]
        return "\n".join(lines) or text("predict.none")

    def bundle(self) -> dict[str, Any]:
        names = ("question", "guess", "result", "why")
        head = "".join(f"<th>{text(f'predict.table.{name}')}</th>" for name in names)
        rows = ("".join(f"<td>{as_html(each)}</td>" for each in row) for row in self.rows)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return {"text/plain": repr(self), "text/html": f"<table><tr>{head}</tr>{body}</table>"}
