"""Names of inputs and outputs of Arrays: checked, kept in copies and files."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.wording import refused

INPUTS, LABELS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 2]
WEATHER, PETS = ["wind", "rain"], ["cat", "dog", "cow"]


def session_of(data: sv.data.Arrays) -> sv.Session:
    return sv.Session(sv.Network([2, 3], "linear"), data, "softmax_cross_entropy")


def test_names_that_are_set_before_the_session_reach_it() -> None:
    data = sv.data.Arrays(INPUTS, LABELS)
    data.input_names, data.output_names = WEATHER, PETS
    found = session_of(data).data
    assert (list(found.input_names), list(found.output_names)) == (WEATHER, PETS)


def test_names_can_be_arguments_and_are_kept_when_the_data_is_made_again() -> None:
    data = sv.data.Arrays(INPUTS, LABELS, input_names=WEATHER, output_names=PETS)
    assert list(session_of(data).data.output_names) == PETS
    again = sv.data.remake(data.name, data.settings())
    assert (list(again.input_names), list(again.output_names)) == (WEATHER, PETS)
    again.output_names = []
    assert not again.output_names
    assert "output_names" not in again.settings()


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", 1], 3])
def test_names_that_do_not_fit_the_inputs_are_refused(names: Any) -> None:
    with refused(InputError, "2 inputs", names):
        sv.data.Arrays([[1, 2]], [1], input_names=names)
    data = sv.data.Arrays([[1, 2]], [1])
    with refused(InputError, "2 inputs", names):
        data.input_names = names


@pytest.mark.parametrize("names", [["a", "b"], "abc", [1, 2, 3]])
@pytest.mark.parametrize(
    ("targets", "wanted"),
    [([[0.1, 0.2, 0.3]] * 3, "3 outputs"), (LABELS, "3 classes")],
    ids=["rows", "labels"],
)
def test_names_that_do_not_fit_the_outputs_are_refused(
    targets: Any, names: Any, wanted: str
) -> None:
    with refused(InputError, wanted, names):
        sv.data.Arrays(INPUTS, targets, output_names=names)


class Frame:
    """What numpy takes from a data frame: its numbers, and the names of its columns."""

    def __init__(self, columns: list[Any], rows: Any) -> None:
        self.columns, self.rows = columns, np.array(rows, np.float64)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.rows.astype(dtype or np.float64)


def test_columns_of_a_data_frame_are_names() -> None:
    data = sv.data.Arrays(Frame(WEATHER, INPUTS), Frame(["sun"], [[0.5], [1.5], [2.5]]))
    assert (list(data.input_names), list(data.output_names)) == (WEATHER, ["sun"])
    of = sv.Session(sv.Network([2, 3]), (Frame(WEATHER, INPUTS), LABELS), "softmax_cross_entropy")
    assert (list(of.data.input_names), list(of.data.output_names)) == (WEATHER, [])
    labels = Frame(["pet"], [[0], [1], [2]])
    assert not sv.data.Arrays(Frame(WEATHER, INPUTS), labels).output_names
    own = sv.data.Arrays(Frame(WEATHER, INPUTS), LABELS, input_names=["a", "b"])
    assert list(own.input_names) == ["a", "b"]


@pytest.mark.parametrize("data", [sv.data.Xor, sv.data.Xnor])
def test_the_constant_input_of_corners_is_called_by_its_number(data: Any) -> None:
    assert [*data(bias=True).input_names] == ["x", "y", "1"]
    assert [*data().input_names] == ["x", "y"]
