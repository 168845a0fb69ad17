"""`scalarviz collect`: the table in the terminal and as CSV."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from scalarviz.errors import FileError, InputError
from scalarviz.faces.cli import class_pages
from scalarviz.faces.cli.class_pages import collect_answers
from scalarviz.pages.lessons.answers import Column, as_cell, table_in
from tests.pages.lessons.test_answers import LESSON, given, link, notebook, record
from tests.wording import refused

Cells = dict[str, dict[str, str]]


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., None]:
    """put(name, content): a file that is newer than those before."""
    times = iter(range(1_000_000_000, 2_000_000_000))

    def write(name: str, content: object) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (0, next(times)))

    return write


def cells(place: Path) -> Cells:
    """The cells that are not empty, by pupil and column."""
    table = table_in(place)
    rows = {
        name: {each.words: table.words(name, each) for each in table.columns} for name in table.rows
    }
    return {name: {key: cell for key, cell in row.items() if cell} for name, row in rows.items()}


def test_all_kinds_of_files_make_one_table(put: Callable[..., None], tmp_path: Path) -> None:
    put("Anna-01-one-weight.json", record("Anna"))
    put("Bo/01-one-weight.ipynb", notebook({"lesson": LESSON, "key": "gradient", **given("-8")}))
    none = {"guessed": {"right": 0, "asked": 0}}
    put("all.txt", link(record("Cem", gradient=given("8", right=False)) | none))
    put("class.jsonl", json.dumps(record("Dora", gradient=given(shown=True))) + "\n")
    put("README.md", "no answers")
    put(".ipynb_checkpoints/01-one-weight.ipynb", "damaged")
    put("._hidden.json", "damaged")
    gradient, picture = f"{LESSON}/gradient", f"{LESSON}/guessed in the picture"
    assert cells(tmp_path) == {
        "Anna": {gradient: "right after 2", picture: "7 of 10"},
        "Bo": {gradient: "right"},
        "Cem": {gradient: "wrong: 8"},
        "Dora": {gradient: "shown", picture: "7 of 10"},
    }
    assert not table_in(tmp_path).remarks


@pytest.mark.parametrize(
    ("name", "pupil"),
    [
        ("Anna-01-one-weight.json", "Anna"),
        ("Anna-01-one-weight (1).json", "Anna"),
        ("01-one-weight_Anna.json", "Anna"),
        ("monday/Anna-01-one-weight.json", "Anna"),
        ("Anna/01-one-weight.json", "Anna"),
        ("Anna/work/01-one-weight (2).json", "Anna"),
        ("Anna/Untitled.json", "Anna"),
        ("Anna.json", "Anna"),
        ("01-one-weight.json", "01-one-weight"),
        ("A\x1b[31m.json", r"A\x1b[31m"),
    ],
)
def test_a_pupil_without_a_name_has_that_of_the_file_or_the_folder(
    put: Callable[..., None], tmp_path: Path, name: str, pupil: str
) -> None:
    put(name, record())
    assert [*cells(tmp_path)] == [pupil]


def test_records_without_names_in_one_file_are_those_of_several_pupils(
    put: Callable[..., None], tmp_path: Path
) -> None:
    put("class.jsonl", "\n".join([json.dumps(record())] * 2))
    assert [*cells(tmp_path)] == [*cells(tmp_path / "class.jsonl")] == ["class 1", "class 2"]


def test_of_a_page_the_newest_answers_count_and_two_of_one_name_have_a_row_each(
    put: Callable[..., None], tmp_path: Path
) -> None:
    put("b.json", record("Anna", gradient=given("8", right=False)) | {"id": "x"})
    put("c.json", record("Anna", gradient=given("4", right=False)) | {"id": "y"})
    put("a.json", record("Anna", gradient=given("8", "-8")) | {"id": "x"})
    put("d.json", record("Anna", "02-layers", w=given("1")) | {"id": "z"})
    put("e.json", record("Anna (2)", gradient=given("-8")))
    found = {name: row.get(f"{LESSON}/gradient") for name, row in cells(tmp_path).items()}
    assert found == {"Anna": "right after 2", "Anna (2)": "wrong: 4", "Anna (2) (2)": "right"}
    assert cells(tmp_path)["Anna"]["02-layers/w"] == "right"
    assert table_in(tmp_path).remarks == [
        f"{LESSON} was answered 2 times under the name {name}: each attempt has its own row."
        for name in ("Anna", "Anna (2)")
    ]


def test_answers_that_came_twice_without_letters_of_a_page_are_those_of_one(
    put: Callable[..., None], tmp_path: Path
) -> None:
    put("a.json", record("Anna"))
    put("b.txt", link(record("Anna")))
    assert [*cells(tmp_path)] == ["Anna"] and not table_in(tmp_path).remarks


def test_a_question_shows_who_was_right_at_first_and_what_went_wrong_most(
    put: Callable[..., None], tmp_path: Path
) -> None:
    for i, each in enumerate([["-8"], ["8", "8", "-8"], ["-4", "8"], ["8"]]):
        put(f"{i}.json", record(f"{i}", q=given(*each, right=each[-1] == "-8")))
    table = table_in(tmp_path)
    assert [table.summary(each) for each in table.columns] == [("1 of 4", "3 times: 8"), ("", "")]


def test_questions_stand_in_the_order_of_the_lesson(
    put: Callable[..., None], tmp_path: Path
) -> None:
    put("a.json", record("Anna", z=given(), a=given()))
    put("b.json", record("Bo", a=given()))
    put("c.json", record("Cem", a=given(), z=given(), m=given()))
    assert [each.short for each in table_in(tmp_path).columns[:3]] == ["a", "z", "m"]


@pytest.mark.slow
def test_a_flood_of_made_up_questions_hides_none_of_the_class(
    put: Callable[..., None], tmp_path: Path
) -> None:
    made_up = [
        record(f"{i}", f"0{i}", **{f"q{j}": given() for j in range(200)}) for i in range(400)
    ]
    put("flood.jsonl", "\n".join(map(json.dumps, made_up)))
    for name in ("Anna", "Bo"):
        put(f"{name}.json", record(name))
    table = table_in(tmp_path)
    assert len(table.columns) == 500 and table.summary(Column(LESSON, "gradient"))[0] == "0 of 2"
    assert table.remarks == ["Shown: the 500 most answered of 80,402 questions."]
    assert Column(LESSON, "gradient") in table.columns and len(table.sheet()) < 10**7


def test_what_is_left_out_is_told_and_stops_nothing(
    put: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put("a.json", "[" * 60_000)
    put("b\x1b[31m.json", "{}")
    put("c.jsonl", json.dumps(record("Anna")) + "\n{\n5\n")
    put("d.ipynb", " " * 5_000_001)
    put("e.txt", "no link")
    (tmp_path / "f.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "g.json")
    (tmp_path / "h").symlink_to(tmp_path)
    collect_answers(str(tmp_path))
    said = capsys.readouterr().out.splitlines()
    assert said[-5:] == [
        "a.json was skipped: it is damaged or not JSON.",
        r"b\x1b[31m.json was skipped: it contains no answers of scalarviz.",
        "c.jsonl: 2 of 3 records were skipped, the first because it is damaged or not JSON.",
        "d.ipynb was skipped: it has more than 5,000,000 bytes.",
        "e.txt was skipped: it has no answers.",
    ]
    assert any("Anna" in line for line in said)


def test_a_table_fits_the_terminal_and_shows_all_columns(
    put: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [f"question-{i}" for i in range(12)]
    put("a.json", record("[b]Anna[/b]", **{key: given("x" * 300, right=False) for key in keys}))
    for columns in ("80", "200", "20"):
        monkeypatch.setenv("COLUMNS", columns)
        collect_answers(str(tmp_path))
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) <= int(columns)
    monkeypatch.setenv("COLUMNS", "80")
    collect_answers(str(tmp_path))
    said = capsys.readouterr().out
    assert "[b]Anna[/b]" in said and "7 of 10" in said and all(key in said for key in keys)


def test_the_file_has_the_table_and_the_summary(
    put: Callable[..., None], run: Any, tmp_path: Path
) -> None:
    put("a.json", record("Änna, 2", gradient=given("8", "-8")))
    out = tmp_path / "table.csv"
    code, said, _ = run("collect", str(tmp_path), "-o", str(out))
    assert code == 0 and str(out) in said.replace("\n", "")
    assert out.read_bytes().startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(out.read_text(encoding="utf-8-sig").splitlines())) == [
        ["pupil", f"{LESSON}/gradient", f"{LESSON}/guessed in the picture"],
        ["Änna, 2", "right after 2", "7 of 10"],
        ["right at first", "0 of 1", ""],
        ["most frequent wrong guess", "once: 8", ""],
    ]


def test_the_file_is_written_before_the_table_is_printed(
    put: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.json", record("Anna"))
    monkeypatch.setattr(class_pages.Console, "print", Mock(side_effect=BrokenPipeError))
    with pytest.raises(BrokenPipeError):
        collect_answers(str(tmp_path), str(tmp_path / "table.csv"))
    assert "Anna" in (tmp_path / "table.csv").read_text(encoding="utf-8-sig")


@pytest.mark.parametrize(
    ("words", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-b", "'-b"),
        (" =1", "' =1"),
        ("＝1", "'＝1"),
        ("a;=1", "a;'=1"),
        ('a;"=1"', 'a;\'"=1"'),
        ("-4", "-4"),
        ("+0.5", "+0.5"),
        ("b * g", "b * g"),
        ("wrong: -4", "wrong: -4"),
    ],
)
def test_no_cell_is_a_formula_and_numbers_stay(words: str, cell: str) -> None:
    assert as_cell(words) == cell


def test_hostile_names_are_texts_in_the_file(put: Callable[..., None], tmp_path: Path) -> None:
    put("a.json", record("=HYPERLINK(1)", "@lesson", **{"=q": given("=1", right=False)}))
    cells = [cell for row in csv.reader(table_in(tmp_path).sheet().splitlines()) for cell in row]
    assert "'=HYPERLINK(1)" in cells and "'@lesson/=q" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_a_folder_of_damaged_files_has_a_table_without_columns(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    collect_answers(str(tmp_path), str(tmp_path / "table.csv"))
    assert len((tmp_path / "table.csv").read_text(encoding="utf-8-sig").splitlines()) == 3


@pytest.mark.parametrize("name", ["nowhere", ".", "table.csv"])
def test_a_place_without_answers_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "table.csv").touch()
    refused(FileError, "jsonl", varies="answers in '.*?'").by(collect_answers, str(tmp_path / name))


def test_a_table_of_another_kind_or_in_no_folder_is_refused(tmp_path: Path) -> None:
    refused(InputError, "table.xlsx").by(collect_answers, str(tmp_path), "table.xlsx")
    refused(FileError).by(collect_answers, str(tmp_path), str(tmp_path / "none" / "table.csv"))
