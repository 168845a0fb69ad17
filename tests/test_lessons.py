"""The lessons as they are stored: each has its parts, shows its pictures, and is small.

That they run and draw the stored pictures is tested by the items that conftest.py makes of them.
"""

import base64
import itertools
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from tests.lessons import MOST, WIDGET, difference, former, is_check, lessons, pictures, read

ROOT = Path(__file__).parent.parent
LARGEST = 600 * 1024  # bytes
NUMBERS = range(1, 12)

each_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)


def texts(book: Any) -> list[str]:
    return [cell.source for cell in book.cells if cell.cell_type == "markdown"]


def outputs(book: Any) -> list[Any]:
    return [output for cell in book.cells for output in cell.get("outputs", [])]


def test_there_are_eleven() -> None:
    assert [int(path.stem[:2]) for path in lessons()] == list(NUMBERS)


@each_lesson
def test_it_begins_with_its_title_its_minutes_and_its_goal(path: Path) -> None:
    first = texts(read(path))[0]
    number = int(path.stem[:2])
    assert re.match(rf"# {number}\. \w", first)
    minutes = re.search(r"^\*\*(\d+) minutes\.\*\* Goal: \w.*\.$", first, re.MULTILINE)
    assert minutes
    assert 5 <= int(minutes[1]) <= 20


@each_lesson
def test_it_asks_for_predictions_and_ends_with_play_and_solutions(path: Path) -> None:
    book = read(path)
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    assert code.count("sv.predict(") >= 2
    assert "input(" not in code
    heads = re.findall(r"^## (.*)$", "\n".join(texts(book)), re.MULTILINE)
    assert heads[-3:] == ["Play", "Exercises", "Solutions"]
    solutions = texts(book)[-1]
    assert solutions.count("<details>") == solutions.count("</details>") >= 2


@each_lesson
def test_its_checks_are_hidden_and_check_something(path: Path) -> None:
    checks = [cell for cell in read(path).cells if is_check(cell)]
    assert len(checks) >= 3
    for cell in checks:
        assert cell.metadata.jupyter.source_hidden
        assert "assert " in cell.source
        assert "you need not read it" in cell.source.splitlines()[0]


@each_lesson
def test_it_was_run_from_top_to_bottom_without_an_error(path: Path) -> None:
    book = read(path)
    counts = [cell.execution_count for cell in book.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert not [output for output in outputs(book) if output.output_type == "error"]
    assert not [output for output in outputs(book) if output.get("name") == "stderr"]


@each_lesson
def test_its_pictures_are_stored_and_not_empty(path: Path) -> None:
    book = read(path)
    stored = [
        output.data["image/png"]
        for output in outputs(book)
        if "image/png" in output.get("data", {})
    ]
    assert stored
    for data in stored:
        picture = np.asarray(PIL.Image.open(BytesIO(base64.b64decode(data))).convert("RGB"), float)
        assert min(picture.shape[:2]) >= 100
        coloured = np.ptp(picture, axis=2) > 40.0  # axes and words have no colour
        assert coloured.mean() > 0.002


@each_lesson
def test_what_needs_a_kernel_is_not_kept_and_something_else_is(path: Path) -> None:
    book = read(path)
    shown = [output.data for output in outputs(book) if "data" in output]
    assert not [data for data in shown if WIDGET in data]
    asked = [data for data in shown if "<b>Predict:</b>" in data.get("text/html", "")]
    assert len(asked) == "\n".join(cell.source for cell in book.cells).count("sv.predict(")


@each_lesson
def test_it_is_small_and_has_nothing_of_the_machine_it_was_run_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) <= LARGEST
    assert "widgets" not in read(path).metadata
    for output in outputs(read(path)):
        words = str(output.get("text", "")) + str(output.get("data", {}).get("text/plain", ""))
        assert not re.search(r"(/home/|/root/|/tmp/|[A-Z]:\\\\Users)", words)


@each_lesson
def test_what_is_printed_stands_in_one_piece(path: Path) -> None:
    for cell in read(path).cells:
        kinds = [output.get("name") for output in cell.get("outputs", [])]
        assert not any(a and a == b for a, b in itertools.pairwise(kinds))


@each_lesson
def test_its_code_is_short(path: Path) -> None:
    cells = [cell for cell in read(path).cells if cell.cell_type == "code" and not is_check(cell)]
    assert max(len(cell.source.splitlines()) for cell in cells) <= 30


def test_the_readme_names_every_lesson() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in lessons():
        assert f"notebooks/{path.name}" in readme


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_lesson_keeps_no_empty_output(path: Path) -> None:
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "display_data" or any(output.data.values())


def test_a_stored_picture_of_another_design_is_told_from_that_of_another_driver() -> None:
    book, other = read(lessons()[3]), read(lessons()[3])
    place, now = pictures(book)[0]
    assert former(book, other) == []
    shaken = np.clip(now + np.random.default_rng(0).normal(0.0, 8.0, now.shape), 0.0, 255.0)
    assert difference(now, shaken) == 0.0
    moved = now.copy()
    moved[200:240, 300:340] = moved[0, 0]  # some cubes are gone
    assert difference(now, moved) > MOST
    shown = [output for output in outputs(other) if "image/png" in output.get("data", {})]
    shown[0].data["image/png"] = shown[1].data["image/png"]
    (told,) = former(other, book)
    assert told.startswith(place)
