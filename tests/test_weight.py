"""No room is heavier than its row in tests/weight.tsv allows."""

import shutil
from pathlib import Path

import pytest

from tests import weight
from tests.weight import Row, Weight, Weights, faults, lowered, read, weights

ROOM = "scalarviz/sweeps"


@pytest.fixture(scope="module")
def now() -> Weights:
    return weights()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a folder with a copy of one room."""
    shutil.copytree(weight.ROOT / ROOM, tmp_path / ROOM)
    return tmp_path


def test_no_room_is_above_its_row(now: Weights) -> None:
    wrong = "\n".join(faults(now, read()))
    assert not wrong, f"{wrong}\npython -m tests.weight write ROOM REASON raises a row"


def test_a_room_with_one_more_statement_is_above_its_row(copied: Path) -> None:
    rows = {ROOM: Row(weights(copied)[ROOM], weights(copied)[ROOM])}
    assert not faults(weights(copied), rows)
    with next((copied / ROOM).glob("s*.py")).open("a", encoding="utf-8") as file:
        file.write("one = 1\n")
    (wrong,) = faults(weights(copied), rows)
    assert wrong.startswith(f"{ROOM} has {rows[ROOM].most.statements + 1:,} statements")


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (Row(Weight(5, 2, 1), Weight(5, 2, 1)), None),
        (Row(Weight(9, 9, 9), Weight(9, 9, 9)), None),
        (Row(Weight(5, 2, 1), Weight(4, 2, 1), "a layer"), None),
        (Row(Weight(5, 2, 1), Weight(4, 2, 1)), "without a reason"),
        (Row(Weight(4, 2, 1), Weight(4, 2, 1)), "has 5 statements"),
        (Row(Weight(5, 1, 1), Weight(5, 1, 1)), "has 2 lines"),
        (Row(Weight(5, 2, 0), Weight(5, 2, 0)), "has 1 files"),
    ],
)
def test_a_row_is_raised_with_a_reason_only(row: Row, wrong: str | None) -> None:
    found = faults({"a": Weight(5, 2, 1)}, {"a": row})
    assert not found if wrong is None else len(found) == 1 and wrong in found[0]


def test_a_room_without_a_row_is_reported() -> None:
    assert faults({"a": Weight()}, {}) == ["a has no row"]


def test_rows_are_lowered_and_never_raised() -> None:
    rows = {"a": Row(Weight(9, 1, 9), Weight(7, 7, 7), "b"), "gone": Row(Weight(1, 1, 1))}
    assert lowered({"a": Weight(5, 5, 5), "new": Weight(1)}, rows) == {
        "a": Row(Weight(5, 1, 5), Weight(7, 7, 7), "b")
    }


def test_the_table_is_read_as_it_is_written(tmp_path: Path) -> None:
    weight.write(read(), tmp_path / "a.tsv")
    assert read(tmp_path / "a.tsv") == read()
    assert (tmp_path / "a.tsv").read_bytes() == weight.TABLE.read_bytes()


def test_one_row_is_raised_by_its_command(
    now: Weights,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.tsv"
    rows = {ROOM: Row(Weight(1, 1, 1)), "tests": Row(Weight(1, 1, 1))}
    weight.write(rows, path)
    monkeypatch.setattr(weight, "weights", lambda: now)
    monkeypatch.setattr(weight, "read", lambda: read(path))
    monkeypatch.setattr(weight, "write", lambda rows, to=weight.write: to(rows, path))
    assert weight.main(["write", ROOM, " "]) == weight.main(["write", "no room", "why"]) == 2
    assert read(path) == rows
    assert weight.main(["write", ROOM, "a new store"]) == 0
    assert read(path) == {**rows, ROOM: Row(now[ROOM], Weight(), "a new store")}
    assert weight.main(["changes"]) == weight.main([]) == 0
    assert f"{ROOM} " in capsys.readouterr().out


def test_imports_docstrings_blank_lines_and_comments_weigh_nothing(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.py").write_text('"""A."""\nimport b\n\n# c\na, b = 1, lambda: 2\n')
    (tmp_path / "tests" / "a.js").write_text("// a\n\n/* b\n * c */\nlet d;\n")
    assert weights(tmp_path) == {"tests": Weight(3, 1, 2)}
