"""docs/GLOSSARY.md has the words of the project, and the classes that it names exist."""

import re

from tests.root import ROOT

TEXT = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")][1:]


def test_it_is_sorted_and_has_each_word_once() -> None:
    words = [word for word, *_ in ROWS]
    assert words == sorted({*words}) and len(words) >= 60


def test_a_row_is_a_word_and_its_meaning_in_a_sentence_or_two() -> None:
    for word, meaning, *unused in ROWS:
        assert len(unused) <= 1 and 10 < len(meaning) < 160, word


def test_a_word_that_is_no_longer_used_is_no_word_of_the_project() -> None:
    words = {word for word, *_ in ROWS}
    for _, _, *unused in ROWS:
        assert words.isdisjoint(re.findall(r"`([^`]+)`", "".join(unused)))


def test_the_classes_and_tables_that_it_names_are_there() -> None:
    code = "\n".join(path.read_text() for path in sorted((ROOT / "scalarviz").rglob("*.py")))
    named = {name for _, meaning, *_ in ROWS for name in re.findall(r"`([A-Z]\w+)`", meaning)}
    lost = [name for name in named if not re.search(rf"^(class )?{name}\b( =|:|\()", code, re.M)]
    assert len(named) > 30 and lost == []
