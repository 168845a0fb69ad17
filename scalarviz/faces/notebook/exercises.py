"""Exercises: `predict` asks a question before a cell shows the answer, `check` tests code.

`predictions` shows all guesses.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

from scalarviz.base.checks import answered, require, shorten
from scalarviz.base.leaf_calls import value_html
from scalarviz.base.processes import shell
from scalarviz.base.texts import text
from scalarviz.core.value_graph import all_values
from scalarviz.errors import ScalarvizError
from scalarviz.faces.notebook.notebook_cells import CellOutput, run_of
from scalarviz.pages.lessons.questions import NEAR, Question
from scalarviz.pages.lessons.questions import question as question_at
from scalarviz.story.judging import answer_words, quoted
from scalarviz.training.learner_checks import Comparison, first_wrong, scenario, shown

Answer = float | str | Callable[[], float | str]

MIME = "application/vnd.scalarviz.answer+json"  # of a record of guesses in the output of a cell

_asked: dict[str, Prediction] = {}  # by place, in the order of the first questions
_tables: dict[str, Predictions] = {}  # by cell, which may be run again


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

    In a notebook, a form is shown below the cell. In texts, write formulas between dollar signs and
    code between backticks. Words are compared case-insensitively. In JupyterLab, the rest of the
    notebook is hidden until the guess is right or the user requests the answer. `sv.predictions()`
    shows all guesses.

    Args:
        question: text of the question; without `answer`, the key of a question of the lessons, such
            as "01/gradient"
        answer: a number, a word, one of the choices, or a function that returns one of these and is
            called when a guess is checked
        near: relative error up to which a number is right, or absolute error if the answer is 0; by
            default 0.02
        choices: words to choose from; if empty (default), the user types a number or a word
        hint: text that is shown after a wrong guess; by default empty
        why: explanation that is shown with the answer; by default empty
        replies: feedback on particular wrong guesses, such as {-8: "mind the sign"}

    Returns:
        The question as a Prediction.

    Raises:
        InputError: if the answer is not one of the choices, is empty, or is not finite.
        UnknownNameError: if the lessons do not contain the question.

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
        made = _asked.get(place_of(asked)) or Prediction(asked)  # the cell may have run before
    else:
        choices = tuple(choices)
        require(
            all(isinstance(each, str) for each in choices),
            f"choices are strings, such as '1', not {shorten(choices)}",
        )
        require(
            isinstance(replies, Mapping | None),
            f"replies are a dict, such as {{-8: 'why'}}, not {shorten(replies)}",
        )
        known = answer if not callable(answer) else choices[0] if choices else 0.0
        said = {str(wrong): words for wrong, words in (replies or {}).items()}
        asked = Question(question, known, near, choices, hint, why, said)
        made = Prediction(asked, answer if callable(answer) else None)
    _asked[place_of(made.asked)] = made
    made.show()
    return made


@final
class Prediction(CellOutput):
    """A question, its answer, and the guesses.

    Args:
        asked: the question
        computes: function that computes the answer when a guess is checked; None (default) means
            the answer of the question
    """

    def __init__(self, asked: Question, computes: Callable[[], Any] | None = None) -> None:
        self.asked, self.choices = asked, asked.choices
        guesses, self.right, self.given_up = stored_answers().get(
            (asked.lesson, asked.key), ((), False, False)
        )
        self.guesses = [*guesses]
        self._computes = computes

    @property
    def question(self) -> str:
        return self.asked.ask

    @property
    def answer(self) -> float | str:
        return self.asked.answer

    @property
    def is_open(self) -> bool:
        """Whether the result must stay hidden, since it was neither guessed nor requested."""
        return not (self.right or self.given_up)

    def check(self, guess: float | str) -> bool:
        """Record a guess and return whether it is right; a number may be a text such as "1/3"."""
        if self._computes is not None:
            self.asked = replace(self.asked, answer=self._computes())
        self.right = self.asked.is_right(guess)
        self.guesses.append(guess if isinstance(guess, str) else answer_words(guess))
        self._changed()
        return self.right

    def give_up(self) -> None:
        """Show the answer without a right guess."""
        self.given_up = True
        self._changed()

    def _changed(self) -> None:
        """Update the stored outputs of the question and of all tables of guesses."""
        self.renew()
        for table in _tables.values():
            table.renew()

    @property
    def result(self) -> str:
        """The answer as text; "" while it is hidden."""
        return "" if self.is_open else answer_words(self.answer)

    @property
    def said(self) -> str:
        """The feedback on the last guess, or the answer if the user has requested it."""
        if self.given_up:
            answer = quoted(self.result, self.asked)
            return f"{text('predict.said.answer', answer=answer)} {self.asked.why}".rstrip()
        return self.judged(self.guesses[-1], self.right)

    def judged(self, guess: str, right: bool) -> str:
        """Return the feedback on a guess, given whether it is right."""
        if right:
            answer = quoted(answer_words(self.answer), self.asked)
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
        """Return the output of the cell by mime type, with a record of the guesses."""
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
        """Return the form for the answer, or None if widgets are not available."""
        return form_of(self) if find_spec("ipywidgets") is not None else None


def place_of(asked: Question) -> str:
    """Return the key of a question of the lessons, or the text of a custom question."""
    return f"{asked.lesson}/{asked.key}" if asked.key else asked.ask


@cache
def stored_answers() -> dict[tuple[str, str], tuple[tuple[str, ...], bool, bool]]:
    """Return what is stored in the file of the running notebook, by lesson and key of the question.

    It is the guesses, whether the last one was right, and whether the answer was requested.
    """
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))  # set by Jupyter
    if path.suffix != ".ipynb" or not os.path.isfile(path):
        return {}
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [each.get("data", {}) for cell in cells for each in cell.get("outputs", ())]
        records = [each[MIME] for each in outputs if MIME in each]
        return {
            (each["lesson"], each["key"]): (
                tuple(map(str, each["guesses"])),
                each["right"] is True,
                each.get("shown") is True,
            )
            for each in records
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}  # a file that is no notebook, or was edited


def predictions() -> Predictions:
    """Show a table of all questions so far, with guesses, results and explanations.

    In a notebook, the table is updated when a question is answered.
    """
    made = Predictions()
    _tables[run_of(shell())[0]] = made
    made.show()
    return made


@final
class Predictions(CellOutput):
    """A table of the questions asked so far."""

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Question, guesses, result and explanation in each row; "" for those that are hidden."""
        return [
            (
                each.question,
                ", ".join(each.guesses),
                each.result,
                "" if each.is_open else each.asked.why,
            )
            for each in _asked.values()
        ]

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


# The widget of a prediction: question, input field, and feedback.

COLORS = {True: "#1a7f37", False: "#9a6700"}
OPEN = "scalarviz-open"  # cells after such a form are hidden, see again.css


def form_of(prediction: Prediction) -> Any:
    """Return a widget that asks for a guess and checks it."""
    ipywidgets: Any = import_module("ipywidgets")
    question = ipywidgets.HTMLMath(prediction.html)
    field: Any
    if prediction.choices:
        field = ipywidgets.ToggleButtons(options=prediction.choices, value=None)
        field.style.button_width = "auto"
    else:
        field = ipywidgets.Text(placeholder=text("predict.field"), layout={"width": "140px"})
    check = ipywidgets.Button(description=text("predict.check"), layout={"width": "80px"})
    shown = ipywidgets.Button(description=text("predict.show"), layout={"width": "90px"})
    said = ipywidgets.HTMLMath()
    row = [field, shown] if prediction.choices else [field, check, shown]
    goes_on = ipywidgets.HTML(f'<p class="scalarviz-goes-on">{text("predict.goes_on")}</p>')
    form = ipywidgets.VBox([question, ipywidgets.HBox(row), said, goes_on]).add_class("scalarviz")

    def say(words: str) -> None:
        said.value = f'<b style="color: {COLORS[prediction.right]}">{as_html(words)}</b>'

    def follow() -> None:
        """Update the form after a guess."""
        shown.layout.display = "" if prediction.guesses and prediction.is_open else "none"
        if prediction.is_open:
            form.add_class(OPEN)
        else:
            form.remove_class(OPEN)
        if prediction.guesses:
            say(prediction.said)

    def look(_: object = None) -> None:
        if field.value in (None, ""):
            return say(text("predict.first"))
        if field.value == "".join(prediction.guesses[-1:]):  # a button, after leaving the field
            return follow()
        try:
            if not prediction.is_open:  # settled questions are not checked again
                return say(prediction.judged(field.value, prediction.asked.is_right(field.value)))
            prediction.check(field.value)
        except ScalarvizError as error:
            return say(str(error))
        except Exception as error:  # the answer may be computed from variables of cells
            return say(text("predict.cells", why=f"{type(error).__name__}: {error}"))
        return follow()

    def reveal(_: object) -> None:
        prediction.give_up()
        follow()

    check.on_click(look)
    shown.on_click(reveal)
    field.observe(look, "value")
    field.continuous_update = False  # Return submits like the button
    follow()
    return form


# Code of a learner is run beside the reference; the first wrong number is reported.


@answered
def check(mine: Any, like: Any = None, x: Any = None) -> Checked:
    """Compare your implementation with the reference, and explain the first wrong number.

    Parts that are not yet implemented are skipped. `mine` can be:

    - a class of weights, constructed from a number: `forward(x)`, `backward(upstream)`,
      `step(rate)`, `zero_grad()`, and the attributes `value` and `grad`
    - a class of Values, constructed from a number: operators, functions such as `tanh`,
      `backward()`, and the attributes `data` and `grad`
    - a perceptron or a layer object: `forward(x)`, `backward(upstream)`, and optionally
      `zero_grad()`; parameters are arrays such as `weights`, with gradients such as `weights_grad`
      that are defined after them, or objects with `value` and `grad`. Each row of the weights
      belongs to one output
    - an optimizer: a function of w, its gradient and optionally the learning rate that returns the
      new w; or a class, constructed from a learning rate, with `step(w, gradient)`

    Args:
        mine: your implementation, see above
        like: the reference: an optimizer, a Perceptron, a Dense, or a function from the inputs of a
            layer to its outputs. None (default) compares a weight or a Value with the class of
            scalarviz, and gradients of a layer with finite differences
        x: inputs for a layer, shape (inputs,) or (batch, inputs); None (default) means one sample

    Returns:
        A Checked, which is true if all numbers are right. If your code raises an error, the Checked
        reports it with its line.

    Raises:
        InputError: if `mine` is none of these, or if `like` or `x` does not fit it.

    >>> class Number:
    ...     def __init__(self, value):
    ...         self.value, self.grad = value, 0.0
    ...     def forward(self, x):
    ...         self.x = x
    ...         return self.value * x
    ...     def backward(self, upstream):
    ...         self.grad += upstream
    >>> check(Number).wrong.got
    -4.0
    """
    name = getattr(mine, "__name__", type(mine).__name__)
    kind, moments = scenario(mine, like, x)
    made = Checked(name, kind, first_wrong(moments, name))
    made.show()
    return made


@final
class Checked(CellOutput):
    """The result of a check: true if all numbers are right.

    Args:
        name: name of the learner's class or function
        kind: name of the reference: "Weight", "Value", "Dense", "sgd", ...
        wrong: the first wrong number, with `place`, `got`, `expected` and `why`; or None
    """

    def __init__(self, name: str, kind: str, wrong: Comparison | None) -> None:
        self.name, self.kind, self.wrong = name, kind, wrong

    def __bool__(self) -> bool:
        return self.wrong is None

    @property
    def said(self) -> str:
        """The result as a sentence."""
        if self.wrong is None:
            return text("check.right", name=self.name)
        return text("check.said", name=self.name, wrong=self.wrong)

    def __repr__(self) -> str:
        lines = [self.said]
        if self.wrong and self.wrong.graph:
            root, wrong = self.wrong.graph
            for node in all_values(root):
                numbers = {"data": shown(float(node.data)), "grad": shown(float(node.grad))}
                mark = text("check.mark", got=shown(self.wrong.got)) if node is wrong else ""
                lines.append(text("check.node", node=node, mark=mark, **numbers))
        return "\n".join(lines)

    def bundle(self) -> dict[str, Any]:
        """Return the output by mime type: sentence, and graph with the wrong number."""
        html = f"<p>{as_html(self.said)}</p>"
        if self.wrong and self.wrong.graph:
            root, node = self.wrong.graph
            label, mark = node.label, text("check.mark", got=shown(self.wrong.got))
            node.label = f"{label} {mark}"
            html += value_html(root)
            node.label = label
        return {"text/plain": repr(self), "text/html": html}


# Text as HTML, for questions and tables.


def as_html(words: str) -> str:
    """Return a text as HTML; text in backquotes becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words, quote=False))
