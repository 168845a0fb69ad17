"""Lessons in another language: translated texts and questions in place of the English ones.

Those of `german.json` lie in the folder german beside it, a file of TOML for each lesson: its table
`texts` has the text of each cell under the mark of the English one, and a table for each question
its texts, with the mark of the English ones as `of`. An English text that has been changed has
another mark: it is shown in English until it is translated again. Code is not translated, and
numbers and formulas are judged as in English.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scalarviz.base.texts import LANGUAGE, file_of
from scalarviz.errors import InputError
from scalarviz.pages.lessons.questions import FIELDS, Question

TRANSLATED = ("ask", "hint", "why", "choices", "replies")  # fields of a question


@dataclass(frozen=True)
class Translation:
    """The texts of a lesson by the marks of the English ones, and its questions by their keys."""

    texts: Mapping[str, Any] = field(default_factory=dict)
    questions: Mapping[str, Any] = field(default_factory=dict)

    def text(self, english: str) -> str:
        """Return the translation of a text, or the English text if there is none."""
        return str(self.texts.get(mark_of(english), english))

    def question(self, english: Question) -> Question:
        """Return a question with translated texts; of its choices the same one, by place, is right.

        Raises InputError if its fields or its choices are not those of the English question.
        """
        table = self.questions.get(english.key, {})
        if table.get("of") != mark_of(words_of(english)):
            return english
        given = {name: words for name, words in table.items() if name != "of"}
        choices = given.get("choices", english.choices)
        if not all(
            name in TRANSLATED and FIELDS[name](words) for name, words in given.items()
        ) or len(choices) != len(english.choices):
            raise InputError(
                f"the translated question {english.key} has other fields than the English one: "
                f"give it {', '.join(TRANSLATED)}, and as many choices"
            )
        if english.choices:
            given["answer"] = choices[english.choices.index(str(english.answer))]
        return replace(english, **given)


def translation_of(lesson: str) -> Translation:
    """Return the translation of a lesson into the chosen language, which may be empty.

    Raises InputError for a file that cannot be read as one.
    """
    path = file_of(os.environ.get(LANGUAGE) or "english").with_suffix("") / f"{lesson}.toml"
    if not path.is_file():
        return Translation()
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the translation {path.name} is no TOML: {error}") from error
    if not all(isinstance(each, dict) for each in found.values()):
        raise InputError(
            f"the translation {path.name} has a line outside of its tables: put [texts] before "
            "texts, and its key before a question"
        )
    return Translation(found.pop("texts", {}), found)


def mark_of(words: str) -> str:
    """Return the mark of a text, which another text has not."""
    return hashlib.sha256(words.encode()).hexdigest()[:8]


def words_of(question: Question) -> str:
    """Return all texts of a question that are translated, as one."""
    return json.dumps([getattr(question, name) for name in TRANSLATED])
