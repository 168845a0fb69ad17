"""Lessons in German: whole, of this English text, with its numbers, formulas and code."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scalarviz.base.texts import choose, file_of, texts
from scalarviz.errors import InputError
from scalarviz.faces.cli.class_pages import named, page_of_lesson
from scalarviz.pages.lessons.lesson import (
    Lesson,
    Text,
    Translation,
    lessons,
    mark_of,
    translation_of,
    words_of,
)
from scalarviz.pages.lessons.questions import Question, questions_of
from tests.lesson_to_translate import shown_cells, template
from tests.wording import refused

NOTE = "hat sie keine Lehrkraft gelesen, deren Muttersprache Deutsch ist"
FILES = sorted(file_of("german").with_suffix("").glob("*.toml"))
NUMBERS = [path.stem.partition("-")[0] for path in FILES]
CHANGED = "translate it anew: `python -m tests.lesson_to_translate` has the new mark"


@pytest.fixture(autouse=True)
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SCALARVIZ_LANGUAGE", "english")
    choose("german")
    yield
    monkeypatch.undo()
    texts.cache_clear()


def own_parts(words: str) -> Counter[str]:
    """The numbers, formulas, lines of code and links of a text, but no words in them."""
    words = re.sub(r"\\text\{[^}]*\}", "", words)
    code = re.findall(r"```python\n(.*?)```", words, re.DOTALL)
    lines = [line.partition("  #")[0].rstrip() for each in code for line in each.splitlines()]
    found = re.findall(r"\$\$[^$]+\$\$|\$[^$]+\$|\(\S+\.ipynb\)|\d+(?:\.\d+)?", words)
    return Counter([*found, *lines])


def parts_of(lesson: Lesson) -> list[Question]:
    return [each for each in lesson.parts if isinstance(each, Question)]


def test_the_first_lessons_are_translated() -> None:
    assert {"01", "02", "03", "04", "04b"} <= {*NUMBERS}


@pytest.mark.parametrize("number", NUMBERS)
def test_each_text_of_a_page_is_translated_since_it_was_changed(number: str) -> None:
    spoken, shown = translation_of(lessons()[number].stem), shown_cells(number)
    marks = [mark_of(words) for words in shown]
    assert [mark for mark in marks if mark not in spoken.texts] == [], CHANGED
    assert spoken.texts.keys() - {*marks} == set(), "no English text has these marks any more"
    assert NOTE in spoken.text(shown[0])
    for words in shown:
        assert own_parts(spoken.text(words)) == own_parts(words), words


@pytest.mark.parametrize("number", NUMBERS)
def test_each_question_is_translated_since_it_was_changed(number: str) -> None:
    stem = lessons()[number].stem
    spoken, english = translation_of(stem), questions_of(stem)
    assert spoken.questions.keys() == english.keys()
    for key, asked in english.items():
        table, german = spoken.questions[key], spoken.question(asked)
        assert table["of"] == mark_of(words_of(asked)), f"{key}: {CHANGED}"
        for name in ("ask", "hint", "why"):
            assert own_parts(getattr(german, name)) == own_parts(getattr(asked, name)), key
        assert len(german.replies) == len(asked.replies), key
        for (wrong, said), (other, words) in zip(
            german.replies.items(), asked.replies.items(), strict=True
        ):
            assert own_parts(said) == own_parts(words), key
            assert wrong == other or wrong in german.choices, key


@pytest.mark.parametrize("number", NUMBERS)
def test_the_right_choice_is_the_one_in_the_same_place(number: str) -> None:
    english = questions_of(lessons()[number].stem)
    for german in parts_of(named(number)):
        asked = english[german.key]
        for choice, other in zip(german.choices, asked.choices, strict=True):
            assert german.is_right(choice) == asked.is_right(other), german.key
            assert german.is_right(choice) or german.reply(choice), german.key


def test_a_page_is_german_and_trains() -> None:
    page = page_of_lesson(named("01")).decode()
    assert '<html lang="de">' in page and "<h1>1. Ein Gewicht</h1>" in page and NOTE in page
    assert "Was vermutest du?" in page and 'class="picture" data-number="0"' in page


def test_a_text_that_was_changed_stays_english() -> None:
    spoken = translation_of("01-one-weight")
    asked = questions_of("01-one-weight")["goal"]
    assert spoken.text("Changed.") == "Changed."
    changed = Translation(spoken.texts, {"goal": {**spoken.questions["goal"], "of": "0"}})
    assert changed.question(asked) is asked
    assert spoken.question(asked) != asked


def test_a_lesson_without_a_translation_is_english() -> None:
    first = named("12").parts[0]
    assert isinstance(first, Text) and "<h1>12. " in first.html


def test_a_translation_of_ones_own_lies_beside_its_texts(tmp_path: Path) -> None:
    choose(str(tmp_path / "mine.json"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "01-one-weight.toml").write_text(template("01"), encoding="utf-8")
    english = questions_of("01-one-weight")
    assert {each.key: each for each in parts_of(named("01"))} == english
    assert named("01").title == "1. One weight"


@pytest.mark.parametrize("content", ["[", "texts = 5", "goal = 5", "\0"])
def test_a_damaged_translation_is_refused(content: str, tmp_path: Path) -> None:
    choose(str(tmp_path / "mine.json"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "01-one-weight.toml").write_text(content, encoding="utf-8")
    with refused(InputError, "01-one-weight.toml"):
        named("01")


@pytest.mark.parametrize("more", ['choices = ["a"]', "ask = 5", "answer = 5"])
def test_a_question_with_other_fields_or_choices_is_refused(more: str) -> None:
    asked = questions_of("01-one-weight")["quarter"]
    table = tomllib.loads(f'of = "{mark_of(words_of(asked))}"\n{more}')
    with refused(InputError, "quarter"):
        Translation({}, {"quarter": table}).question(asked)
