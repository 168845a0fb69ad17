"""Names of inputs and outputs of Arrays: checked, kept in copies and files."""

from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError, ShapeError
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


def test_names_of_classes_do_not_fit_a_network_of_one_output() -> None:
    data = sv.data.Arrays(INPUTS, [0, 1, 1], output_names=["no", "yes"])
    with refused(ShapeError, "output_names", "2", "1 output"):
        sv.Session(sv.Network([2, 1], "linear"), data, "mse")
