"""Words of the project.

They are in the glossary, and turns of phrase that are out of style become fewer.
"""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests import style
from tests.machine import ROOT
from tests.style import Phrase, excess, prose_of, read

ROW = Phrase("told", r"\btold\b", "shown", 2)


def test_no_turn_of_phrase_is_used_more_often_than_before() -> None:
    wrong = "\n".join(excess(read(), prose_of()))
    assert not wrong, f"{wrong}\npython -m tests.style PHRASE names the places, write lowers limits"


@pytest.mark.parametrize(
    ("count", "wrong"),
    [(2, None), (1, None), (3, "occurs 3 times, not 2: shown"), (0, None)],
)
def test_a_phrase_has_a_limit_in_some_files(count: int, wrong: str | None) -> None:
    found = excess(
        [ROW._replace(where="a")],
        {"a.md": [(1, "told " * count)], "b.md": [(1, "told " * 9)]},
    )
    assert found == ([] if wrong is None else [f"'told' {wrong}"])


def test_a_limit_that_is_far_above_the_count_is_to_be_lowered() -> None:
    assert excess([ROW._replace(most=90)], {"a.md": [(1, "told " * 81)]}) == []
    (found,) = excess([ROW._replace(most=90)], {"a.md": [(1, "told " * 80)]})
    assert found == "'told' occurs 80 times: lower its limit 90"


def test_files_and_folders_that_prose_names_exist() -> None:
    rooms = "|".join(each.parent.name for each in (ROOT / "scalarviz").glob("[a-z]*/__init__.py"))
    named = re.compile(rf"(?<![\w/.-])(?:{'|'.join(style.FOLDERS)}|notebooks|{rooms})/[\w./-]*\w")
    prose = {path: texts for path, texts in prose_of(quoted=True).items() if ":" not in path}
    for path, texts in prose.items():
        around = ROOT, ROOT / "scalarviz", (ROOT / path).parent
        found = {name for _, text in texts for name in named.findall(text) if "/dutch/" not in name}
        if path.startswith("docs/"):  # `make docs` writes a page for each scene
            found = {name for name in found if not re.fullmatch(r"pages/\w+\.html", name)}
        assert not [name for name in found if not any((top / name).exists() for top in around)], (
            path
        )


def test_prose_is_docstrings_comments_texts_and_markdown(tmp_path: Path) -> None:
    files = {  # X: the phrase, Q: three quotes
        "a.md": "it was\nX `X`",
        "scalarviz/a.py": "X = Q\nX\nQ  # X\n\n\ndef f():\n    QX.Q\n",
        "scalarviz/a.js": 'let X = "X"; // X\n/** a\n * X */',
        "scalarviz/a.glsl": "// X",
        style.TEXTS: '{"X.key": "It is X."}',
        "notebooks/a.ipynb": '{"cells": [{"cell_type": "markdown", "source": ["X ", "`X`"]}, '
        '{"cell_type": "code", "source": ["X"]}]}',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("X", "told").replace("Q", '"' * 3))
    assert sorted(ROW.places(prose_of(tmp_path))) == [
        "a.md:2",
        "notebooks/a.ipynb:1",
        "scalarviz/a.js:1",
        "scalarviz/a.js:3",
        "scalarviz/a.py:3",
        "scalarviz/a.py:7",
        f"{style.TEXTS}:2",
    ]


def test_a_phrase_is_found_over_the_end_of_a_line_of_a_comment() -> None:
    (row,) = [row for row in read() if row.name == ", too"]
    prose = {"a.py": [*style.of_python("# one,\n# too\n\nb = 1\n")]}
    assert row.places(prose) == ["a.py:1"]


def test_limits_are_lowered_and_never_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, prose = tmp_path / "a.tsv", {"a.md": [(1, "told told told")]}
    rows = [ROW._replace(most=9), ROW]
    write = style.write
    monkeypatch.setattr(style, "read", lambda: rows)
    monkeypatch.setattr(style, "prose_of", lambda: prose)
    monkeypatch.setattr(style, "write", lambda found: write(found, path))
    assert style.main(["write"]) == 0
    assert read(path) == [ROW._replace(most=3), ROW]


TEXT = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if line.startswith("| ")]
ROWS = [line.strip("| ").split(" | ") for line in LINES][1:]


def test_it_is_one_table_of_markdown() -> None:
    (table,) = (
        each
        for each in MarkdownIt("commonmark").enable("table").parse(TEXT)
        if each.type == "tbody_open"
    )
    assert table.map and table.map[1] - table.map[0] == len(ROWS)


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
