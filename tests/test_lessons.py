"""The stored lessons.

Each is complete, shows its pictures, is small, and runs in any folder.
"""

import base64
import itertools
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from textwrap import indent
from typing import Any
from urllib.parse import parse_qsl

import nbformat
import numpy as np
import PIL.Image
import pytest

from scalarviz.pages.lessons.questions import Question, question, questions_of
from tests.lessons import MOST, WIDGET, difference, former, is_check, lessons, pictures, read, run
from tests.machine import ROOT

LARGEST = 600 * 1024  # bytes

each_lesson = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)


ASKS = re.compile(r'sv\.predict\("(\d\d\w?/\w+)"\)')
DRAWS = ("sv.watch(", "sv.picture(")


def texts(book: Any) -> list[str]:
    return [cell.source for cell in book.cells if cell.cell_type == "markdown"]


def outputs(book: Any) -> list[Any]:
    return [output for cell in book.cells for output in cell.get("outputs", [])]


def number_of(path: Path) -> str:
    return path.stem.partition("-")[0]


def numbered(number: str) -> Path:
    (path,) = [path for path in lessons() if number_of(path) == number]
    return path


@pytest.fixture
def book(path: Path) -> Any:
    return read(path)


def test_they_are_read_in_the_order_of_their_numbers() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^/notebooks/(\S+)$", index, re.M) == [path.stem for path in lessons()]
    assert len(lessons()) == 16


@each_lesson
def test_it_begins_with_its_title_its_minutes_and_its_goal(path: Path) -> None:
    first = texts(read(path))[0]
    assert re.match(rf"# {number_of(path).lstrip('0')}\. \w", first)
    assert 5 <= int(minutes_of(path)) <= 20


def minutes_of(path: Path) -> str:
    first = texts(read(path))[0]
    (minutes,) = re.findall(r"^\*\*(\d+) minutes\.\*\* Goal: \w.*\.$", first, re.MULTILINE)
    return str(minutes)


def asked_in(path: Path) -> dict[str, Question]:
    """Return the questions of a lesson by key, in order."""
    sources = [cell.source for cell in read(path).cells]
    places = [found[1] for source in sources if (found := ASKS.fullmatch(source))]
    return {place: question(place) for place in places}


@each_lesson
def test_it_ends_with_play_what_was_thought_and_solutions(book: Any) -> None:
    assert "input(" not in "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    heads = re.findall(r"^## (.*)$", "\n".join(texts(book)), re.MULTILINE)
    assert heads[-4:] == ["Play", "Exercises", "What you thought", "Solutions"]
    solutions = texts(book)[-1]
    assert solutions.count("<details>") == solutions.count("</details>") >= 2
    last = [cell.source for cell in book.cells if not is_check(cell)][-2:]
    assert last == ["sv.predictions()", solutions]


@each_lesson
def test_its_questions_are_those_of_its_file_and_folded(path: Path) -> None:
    keys = [place.partition("/") for place in asked_in(path)]
    assert {number for number, _, _ in keys} == {number_of(path)}
    assert [key for _, _, key in keys] == [*questions_of(path.stem)]
    for cell in read(path).cells:
        if "sv.predict(" in cell.source:
            assert ASKS.fullmatch(cell.source)  # no answer is in a cell
            assert cell.metadata.tags == ["question"] and cell.metadata.jupyter.source_hidden


@each_lesson
def test_each_question_says_why_and_replies_to_typical_guesses(path: Path) -> None:
    for asked in asked_in(path).values():
        typed = not asked.choices
        assert asked.why and (asked.hint or not typed)
        assert len(asked.replies) >= (2 if typed else 1)
        assert not asked.choices or {*asked.replies} < {*asked.choices}
        for wrong, reply in asked.replies.items():
            assert not asked.is_right(wrong) and asked.reply(wrong) == reply


@each_lesson
def test_its_hidden_checks_compute_each_answer(path: Path) -> None:
    checks = "\n".join(cell.source for cell in read(path).cells if is_check(cell))
    for place in asked_in(path):
        assert f'question("{place}")' in checks


@each_lesson
def test_a_picture_answers_three_of_its_questions(path: Path) -> None:
    assert len([*before_pictures(read(path))]) >= 3
    for asked in asked_in(path).values():
        moment = dict(parse_qsl(asked.see, strict_parsing=True)) if asked.see else {}
        assert {*moment} <= {"step", "op", "pin", "sample"}
        assert all(map(str.isdecimal, moment.values()))


def before_pictures(book: Any) -> Iterator[str]:
    """Yield the questions followed by a picture, with only texts in between."""
    waiting: list[str] = []
    for cell in book.cells:
        if ASKS.fullmatch(cell.source):
            waiting.append(cell.source)
        elif cell.cell_type == "code" and not is_check(cell):
            if any(draws in cell.source for draws in DRAWS):
                yield from waiting
            waiting = []


@each_lesson
def test_lessons_are_linked_in_their_order(path: Path) -> None:
    first, *_, last = texts(read(path))
    place = lessons().index(path)
    before, after = lessons()[:place][-1:], lessons()[place + 1 :][:1]
    assert re.findall(r"\((\S+\.ipynb)\)", first) == [each.name for each in before]
    assert re.findall(r"\((\S+\.ipynb)\)", last) == [each.name for each in after or lessons()[:1]]


@pytest.mark.parametrize("number", "01 02 03 04 04b 05 06 07 09 10 12 13 14 15".split())
def test_what_a_learner_writes_is_checked_and_its_solution_passes(number: str) -> None:
    book = read(numbered(number))
    written = [cell for cell in book.cells if "sv.check(My" in cell.source and not is_check(cell)]
    assert [cell.metadata.tags for cell in written] == [["notebook"]]
    assert "..." in written[0].source and written[0].source.splitlines()[-1].startswith("sv.check(")
    (solution,) = re.findall(
        r"```python\n((?:import \w+\n\n)?class My.*?\n)```", texts(book)[-1], re.S
    )
    checks = [cell.source for cell in book.cells if is_check(cell)]
    assert any(
        indent(solution, "    ") in check and "assert sv.check(solution()" in check
        for check in checks
    )


@pytest.mark.parametrize("number", "01 02 03 04 05 08 11 12 13 14 15".split())
def test_some_lessons_ask_for_a_line(number: str) -> None:
    assert any(asked.line for asked in asked_in(numbered(number)).values())


@each_lesson
def test_its_checks_are_hidden_and_check_something(path: Path) -> None:
    checks = [cell for cell in read(path).cells if is_check(cell)]
    assert len(checks) >= 3
    for cell in checks:
        assert cell.metadata.jupyter.source_hidden
        assert "assert " in cell.source
        assert "you need not read it" in cell.source.splitlines()[0]


@each_lesson
def test_it_was_run_from_top_to_bottom_without_an_error(book: Any) -> None:
    counts = [cell.execution_count for cell in book.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert not [output for output in outputs(book) if output.output_type == "error"]
    assert not [output for output in outputs(book) if output.get("name") == "stderr"]


@pytest.mark.some(5)
@each_lesson
def test_its_pictures_are_stored_and_not_empty(path: Path) -> None:
    stored = [
        output.data["image/png"]
        for output in outputs(read(path))
        if "image/png" in output.get("data", {})
    ]
    assert stored
    for data in stored:
        picture = np.asarray(PIL.Image.open(BytesIO(base64.b64decode(data))).convert("RGB"), float)
        assert min(picture.shape[:2]) >= 100
        coloured = np.ptp(picture, axis=2) > 40.0  # axes and words are gray
        assert coloured.mean() > 0.002


@each_lesson
def test_what_needs_a_kernel_is_not_kept_and_something_else_is(book: Any) -> None:
    shown = [output.data for output in outputs(book) if "data" in output]
    assert not [data for data in shown if WIDGET in data]
    asked = [data for data in shown if "<b>Predict:</b>" in data.get("text/html", "")]
    assert len(asked) == "\n".join(cell.source for cell in book.cells).count("sv.predict(")


@each_lesson
def test_it_is_small_and_has_nothing_of_the_machine_it_was_run_on(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8")) <= LARGEST
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


def test_the_guide_names_every_lesson_in_order_with_its_minutes() -> None:
    guide = (ROOT / "docs/guide/lessons.md").read_text(encoding="utf-8")
    rows = re.findall(r"/notebooks/(\S+)\) \|.*\| (\d+) \|$", guide, re.MULTILINE)
    assert rows == [(path.name, minutes_of(path)) for path in lessons()]


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_a_lesson_keeps_no_empty_output(path: Path) -> None:
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "display_data" or any(output.data.values())


def test_a_stored_picture_of_another_design_is_told_from_that_of_another_driver() -> None:
    book, other = (read(numbered("04b")) for _ in range(2))
    place, now = pictures(book)[0]
    assert former(book, other) == []
    shaken = np.clip(now + np.random.default_rng(0).normal(0.0, 8.0, now.shape), 0.0, 255.0)
    assert difference(now, shaken) == 0.0
    moved = now.copy()
    moved[85:125, 100:140] = moved[0, 0]  # some cubes are missing
    assert difference(now, moved) > MOST
    shown = [output for output in outputs(other) if "image/png" in output.get("data", {})]
    shown[0].data["image/png"] = shown[1].data["image/png"]
    (told,) = former(other, book)
    assert told.startswith(place)


# The state of a session and its network, in a cell before and after each check.
LOOK = """
_own = set()  # what checks have made for themselves

def _seen():
    import scalarviz
    everything = {n: v for n, v in globals().items() if n[0] != "_" and n not in _own}
    sessions = {n: v for n, v in everything.items() if isinstance(v, scalarviz.Session)}
    networks = {n: v for n, v in everything.items() if isinstance(v, scalarviz.Network)}
    return {
        **{n: (id(s), s.clock, s.current_branch.number, len(s.branches), s.learning_rate, s.focus)
           for n, s in sessions.items()},
        **{n: (id(v), v.bank.value.tobytes(), v.bank.frozen.tobytes())
           for n, v in networks.items()},
    }
"""
BEFORE = "_before = _seen()"
AFTER = """
_after = _seen()
_changed = [name for name, was in _before.items() if _after.get(name) != was]
assert not _changed, f"a check changed {_changed}"
_own |= set(_after) - set(_before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_it_runs_anywhere_and_its_checks_change_nothing_in_it(
    path: Path, tmp_path: Path, book: Any
) -> None:
    cells = [nbformat.v4.new_code_cell(LOOK)]
    for cell in book.cells:
        around = (BEFORE, AFTER) if is_check(cell) else ()
        cells += [nbformat.v4.new_code_cell(each) for each in around[:1]]
        cells += [cell]
        cells += [nbformat.v4.new_code_cell(each) for each in around[1:]]
    book.cells = cells
    run(book, tmp_path)
