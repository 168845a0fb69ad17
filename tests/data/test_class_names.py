"""Names of classes in files, lists, arrays and tables are labels, and names of the outputs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, ShapeError, UnknownNameError
from tests.wording import refused

KINDS = ["setosa", "virginica", "setosa", "versicolor"]
LABELS = [[0.0], [2.0], [0.0], [1.0]]
SORTED = ["setosa", "versicolor", "virginica"]
INPUTS = np.arange(8.0).reshape(4, 2)
IRIS = "long,wide,kind\n" + "\n".join(f"{i},{i + 1}, {kind} " for i, kind in enumerate(KINDS))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "iris.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


class Column:
    """A series of pandas or polars: numpy reads an array of objects from it."""

    def __init__(self, values: list[Any]) -> None:
        self.values = np.array(values, object)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)


@pytest.mark.parametrize("text", [IRIS, IRIS.partition("\n")[2], IRIS.replace(",", ";")])
def test_a_column_of_names_in_a_file(written: Any, text: str) -> None:
    data = sv.data.from_csv(written(text))
    assert data.training[1].tolist() == LABELS and data.output_names == SORTED
    assert data.training[0][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_the_example_of_the_docstring_trains(written: Any) -> None:
    data = sv.data.from_csv(written(IRIS), targets="kind", share=0.75)
    s = sv.Session(sv.Network([2, 4, 3], "tanh"), data, "softmax_cross_entropy", metrics="accuracy")
    s.advance(3)
    assert s.data.output_names == SORTED and s.data.held_out[1].sum() == 1.0
    again = sv.data.remake(s.data.name, s.data.settings())
    assert again.output_names == SORTED


def test_held_out_names_are_those_of_the_training() -> None:
    data = sv.data.Arrays(INPUTS, KINDS, held_out=(INPUTS[:2], ["virginica", "setosa"]))
    assert data.held_out is not None and data.held_out[1].tolist() == [[2.0], [0.0]]
    with refused(UnknownNameError, "'virginca'"):
        sv.data.Arrays(INPUTS, KINDS, held_out=(INPUTS[:1], ["virginca"]))


def test_one_output_is_named_by_the_second_of_two_classes() -> None:
    net = sv.Network([2, 1])
    s = sv.Session(net, (INPUTS, ["no", "yes", "no", "yes"]), "sigmoid_cross_entropy")
    assert s.data.output_names == ["yes"] and s.data.training[1].ravel().tolist() == [0, 1, 0, 1]


def test_names_of_classes_need_a_loss_that_takes_labels() -> None:
    with refused(ShapeError, "setosa", "softmax_cross_entropy"):
        sv.Session(sv.Network([2, 1]), (INPUTS, KINDS), "mse")


@pytest.mark.parametrize("missing", [None, float("nan"), 3])
def test_a_sample_without_a_name_is_refused(missing: object) -> None:
    with refused(InputError, "row 1", missing):
        sv.data.Arrays(INPUTS, Column(["a", missing, "b", "b"]))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("1,a\n2,3\n", "line 2, column 2: '3'"),
        ("1,a\n2,\n", "line 2, column 2: the cell is empty"),
        ("1,a\n2,NA\n", "line 2, column 2: 'NA' stands for no name"),
        ("1,7\n2,b\n", "line 2, column 2: 'b'"),
        ("x,1,5\n,2,6\n", "line 1, column 1: 'x'"),
        ("1,5%\n", "line 1, column 2: '5%'"),
        ("1;1,5\n", "line 1, column 2: '1,5'"),
        ("NA,1\n", "line 1, column 1: 'NA'"),
        (",1\n", "line 1, column 1"),
    ],
)
def test_a_cell_that_is_neither_name_nor_number(written: Any, text: str, where: str) -> None:
    with refused(InputError, where):
        sv.data.from_csv(written(text))


def test_several_targets_are_numbers(written: Any) -> None:
    with refused(InputError, "line 1, column 2: 'a'"):
        sv.data.from_csv(written("1,a,b\n"), targets=[1, 2])
