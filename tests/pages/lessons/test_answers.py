"""Records of answers: what is read, in which files, and what is left out why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scalarviz.errors import InputError
from scalarviz.pages.lessons.answers import FILES, Given, Record, record_of, records_in
from tests.answers import LESSON, given, link, notebook, record
from tests.wording import refused


def read(folder: Path, name: str, content: str | bytes) -> tuple[list[Record], list[str]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return records_in(path)


def test_a_record_is_read_and_written_the_same() -> None:
    made = record("Anna", gradient=given("8", "-8"), tanh=given(right=False, shown=True))
    found = record_of(made)
    answers = {"gradient": Given(("8", "-8"), True), "tanh": Given((), False, True)}
    assert found == Record(LESSON, "Anna", answers, (7, 10))
    assert record_of(json.loads(found.line())) == found
    assert found.line().endswith(b"}\n") and found.line().count(b"\n") == 1


def test_what_a_record_has_beside_its_parts_is_not_kept() -> None:
    found = record_of(record("Anna") | {"address": "10.0.0.7", "born": 2011})
    assert json.loads(found.line()).keys() == record().keys()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (given("-8"), "right"),
        (given("8", "4", "-8"), "right after 3"),
        (given("8", "4", right=False), "wrong: 4"),
        (given("8", right=False, shown=True), "shown"),
        (given("8", "-8", shown=True), "shown"),
        (given(), "right"),
        (given(right=False), "not yet"),
    ],
)
def test_a_cell_says_how_it_went(made: Any, words: str) -> None:
    assert record_of(record(q=made)).answers["q"].words == words


def test_texts_are_kept_visible_and_in_one_line() -> None:
    found = record_of(record(" An\n na\x1b[31m\u202e\ud800 ", **{"a\tb": given("1\x00")}))
    assert found.name == r"An na\x1b[31m\u202e\ud800"
    assert found.answers == {"a b": Given((r"1\x00",), True)}
    assert record_of(json.loads(found.line())) == found


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"format": "other"}, "scalarviz"),
        ({"version": 2}, 2),
        ({"version": None}, None),
        ({"lesson": None}, None),
        ({"lesson": 5}, 5),
        ({"name": "a" * 10_000}, 10_000),
        ({"name": ["Anna"]}, ["Anna"]),
        ({"answers": []}, []),
        ({"answers": {f"q{i}": given() for i in range(201)}}, 201),
        ({"answers": {"k" * 201: given()}}, 201),
        ({"answers": {"q": None}}, None),
        ({"answers": {"q": {"guesses": "-8", "right": True}}}, "-8"),
        ({"answers": {"q": given(*["1"] * 1001)}}, 1001),
        ({"answers": {"q": given("1" * 1001)}}, 1001),
        ({"answers": {"q": {"guesses": [1], "right": True}}}, 1),
        ({"answers": {"q": given(right=1)}}, 1),  # type: ignore[arg-type]
        ({"answers": {"q": given(shown="no")}}, "no"),
        ({"guessed": 7}, None),
        ({"guessed": {"right": True, "asked": 3}}, True),
        ({"guessed": {"right": -1, "asked": 3}}, -1),
        ({"guessed": {"right": 1, "asked": 10**9}}, 10**9),
        ({"guessed": {"right": 1, "asked": 1e300}}, 1e300),
    ],
)
def test_a_record_of_another_form_is_refused(change: dict[str, Any], value: object) -> None:
    with refused(InputError, value):
        record_of(record() | change)


@pytest.mark.parametrize("found", [None, 5, "text", [], {}, [[[]]]])
def test_what_is_no_record_is_refused(found: object) -> None:
    with refused(InputError):
        record_of(found)


def test_a_notebook_has_a_record_of_each_lesson_with_its_checks(tmp_path: Path) -> None:
    text = notebook(
        {"lesson": "", "key": "check Value.__mul__", **given()},
        {"lesson": LESSON, "key": "gradient", **given("8", right=False)},
        {"lesson": LESSON, "key": "gradient", **given("8", "-8")},
        {"lesson": "02-layers", "key": "w", **given("3")},
    )
    first, second = read(tmp_path, "a.ipynb", text)[0]
    right = Given((), True)
    assert first == Record(
        LESSON, "", {"check Value.__mul__": right, "gradient": Given(("8", "-8"), True)}
    )
    assert (second.lesson, second.answers) == ("02-layers", {"w": Given(("3",), True)})


def test_links_are_found_in_any_text_and_lines_in_a_file_of_lines(tmp_path: Path) -> None:
    text = f"Hello,\r\n{link(record('Anna'))}\n<{link(record('Bo'))}&step=3> and {link(5)}"
    found, faults = read(tmp_path, "a.TXT", text)
    assert [each.name for each in found] == ["Anna", "Bo"] and len(faults) == 1
    lines = [json.dumps(record(name)) for name in ("Anna", "Bo")]
    found, faults = read(tmp_path, "a.jsonl", "\n\n".join([*lines, '{"format']))
    assert [each.name for each in found] == ["Anna", "Bo"] and len(faults) == 1


def test_files_of_windows_are_read(tmp_path: Path) -> None:
    text = json.dumps(record("Anna"), indent=2)
    for code in ("utf-8-sig", "utf-16"):
        assert read(tmp_path, "a.json", text.encode(code))[0][0].name == "Anna"


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\0\xff\xfe",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"1" * 60_000,
        b'{"cells": 5}',
        b'{"cells": [[], 5, {"outputs": 5}, {"outputs": [5, {"data": []}]}]}',
        b"#answers=",
        b"#answers=A",
        b"#answers=_-_-_",
        json.dumps(record("a" * 10_000)).encode(),
        json.dumps(record(q=given(*["1"] * 1_000_000))).encode(),
        notebook({"lesson": 5}).encode(),
        notebook({"lesson": LESSON, "key": "q", "guesses": {}, "right": True}).encode(),
        notebook(*[{"lesson": LESSON, "key": f"q{i}", **given()} for i in range(300)]).encode(),
        b" " * 8_000_001,
    ],
    ids=lambda content: str(content[:12]) if isinstance(content, bytes) else "",
)
def test_a_damaged_or_hostile_file_has_a_reason_and_no_records(
    tmp_path: Path, kind: str, content: bytes
) -> None:
    found, faults = read(tmp_path, f"a{kind}", content)
    assert not found and len(faults) == 1 and len(faults[0]) < 200 and faults[0].isprintable()


def test_of_a_file_that_is_too_large_only_so_much_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 10**12)
    assert records_in(path) == ([], ["it has more than 65,536 bytes"])


def test_a_file_that_cannot_be_read_has_the_reason_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    assert records_in(tmp_path / "a.json") == ([], ["Is a directory"])
