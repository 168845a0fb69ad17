"""The table of a session: losses and metrics with a row for each step."""

import csv
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, InputError
from tests.sessions import advanced
from tests.wording import refused

X = np.linspace(-1.0, 1.0, 10).reshape(5, 2)


def session() -> sv.Session:
    table = data.Arrays(X, X[:, 0], held_out=2)
    return advanced(
        sv.Session(sv.Network([2, 1], seed=0), table, metrics=["mae"], every=2, engine="python"), 4
    )


def test_a_csv_has_every_number_bit_for_bit(tmp_path: Path) -> None:
    s = session()
    s.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["step", "loss", "mae", "held_out_loss", "held_out_mae"]
    assert [row["step"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [float(row["loss"]) for row in rows[:4]] == s.losses.tolist()
    assert rows[4]["loss"] == rows[3]["mae"] == rows[0]["mae"] == ""
    for name, (steps, values) in s.metrics.items():
        assert [float(rows[step][name]) for step in steps] == values.tolist()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with refused(FileError, varies=r"'[^']*'"):
        session().to_csv(tmp_path / "missing" / "table.csv")


def test_a_data_frame_has_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    pandas = ModuleType("pandas")  # pandas itself is not among the requirements of the tests
    pandas.RangeIndex = lambda stop, name: (stop, name)  # type: ignore[attr-defined]  # in its place
    pandas.DataFrame = lambda columns, index: made.update(columns, index=index)  # type: ignore[attr-defined]  # in its place
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    s = session()
    s.to_pandas()
    assert made["index"] == (5, "step")
    np.testing.assert_array_equal(made["loss"], [*s.losses, np.nan])
    np.testing.assert_array_equal(np.isfinite(made["held_out_mae"]), [0, 0, 1, 0, 1])


def test_without_pandas_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refused(InputError, "pandas>=2.2"):
        session().to_pandas()
