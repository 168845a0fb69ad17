"""Activations with settings: one row for equal settings, which is right like any other."""

import copy
import pickle
from pathlib import Path

import pytest
from mpmath import mp, mpf

import scalarviz as sv
from scalarviz.core.formulas import activations
from scalarviz.core.formulas.activations import ACTIVATIONS, FAMILIES, activation_row
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.training.network.gradcheck import gradcheck
from tests.core.formulas.test_activations import TO_FIFTY_DIGITS
from tests.wording import refused

NAMES = "leaky_relu(0.2) elu(0.5) celu(2) softplus(3) hard_sigmoid(0.25,0.4) hard_tanh(-2,0.5)"
every_one = pytest.mark.parametrize("name", NAMES.split())
POINTS = -30.0, -7.3, -1.99, -0.6, -1e-3, 1e-3, 0.4, 1.7, 6.1, 30.0


def test_every_family_is_tested_and_has_a_usual_row() -> None:
    assert {name.partition("(")[0] for name in NAMES.split()} == FAMILIES.keys()
    assert FAMILIES.keys() <= ACTIVATIONS.keys()


@every_one
def test_it_is_right_to_twelve_digits_and_has_limits(name: str) -> None:
    row = activation_row(name)
    exact = TO_FIFTY_DIGITS.retarget(row.value)
    for x in POINTS:
        y = row.value(x)
        assert y == pytest.approx(float(exact(mpf(x))), rel=1e-12, abs=1e-300)
        slope = float(mp.diff(exact, mpf(x)))
        assert row.derivative(x, y) == pytest.approx(slope, rel=1e-12, abs=1e-15)
        assert gradcheck(row, x).error < 1e-6
    assert row.limits is not None and all(abs(limit) <= 1000.0 for limit in row.limits)


@pytest.mark.parametrize("name", FAMILIES)
def test_with_the_usual_settings_the_functions_of_a_family_are_the_usual_ones(name: str) -> None:
    family, usual = FAMILIES[name], ACTIVATIONS[name]
    functions = family.functions or (usual.value, usual.derivative)
    constants = dict(family.settings)
    value = activations.with_constants(functions[0], constants)
    derivative = activations.with_constants(functions[1], constants)
    for x in (*POINTS, 0.0, -1000.0, 1000.0):
        y = usual.value(x)
        assert value(x) == pytest.approx(y, rel=1e-15)
        assert derivative(x, y) == pytest.approx(usual.derivative(x, y), rel=1e-15)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("leaky_relu(.20)", "leaky_relu(0.2)"),
        (" leaky_relu ( 2e-1 ) ", "leaky_relu(0.2)"),
        ("leaky_relu(-0.0)", "leaky_relu(0)"),
        ("hard_tanh(-2.0, 2)", "hard_tanh(-2,2)"),
        ("elu(1e20)", "elu(1e20)"),
        ("elu(1.0)", "elu"),
        ("hard_tanh(-1, 1)", "hard_tanh"),
    ],
)
def test_equal_settings_are_one_row_in_one_spelling(name: str, canonical: str) -> None:
    net = sv.Network([2, 3, 1], name)
    assert net.layers[0].activation == canonical
    assert activation_row(canonical) is activation_row(name) is ACTIVATIONS[canonical]


def test_copies_and_pickles_have_the_row_of_the_table() -> None:
    net = sv.Network([2, 3, 1], "elu(0.5)")
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.layers[0].formula is ACTIVATIONS["elu(0.5)"]


def test_a_training_with_settings_comes_back_from_its_file(tmp_path: Path) -> None:
    net = sv.Network([2, 3, 1], "softplus(3)")
    pairs = [[0.0, 1.0], [1.0, 0.5]], [[1.0], [0.0]]
    s = sv.Session(net, pairs, optimizer=sv.SGD(0.1), engine="python")
    s.advance(2)
    s.set_activation(0, "celu( 2.0)")
    s.advance(2)
    s.save(tmp_path / "run.safetensors")
    del ACTIVATIONS["softplus(3)"], ACTIVATIONS["celu(2)"]  # as in another process
    again = sv.Session.load(tmp_path / "run.safetensors")
    assert again.network.layers[0].activation == "celu(2)"
    assert (again.network.bank.value == net.bank.value).all()
    again.seek(0)
    assert again.network.layers[0].activation == "softplus(3)"


@pytest.mark.parametrize(
    "name",
    [
        "elu(nan)", "elu(inf)", "elu(1e40)", "elu()", "elu(1, 2)", "elu(one)", "celu(0)",
        "softplus(-1)", "hard_tanh(1, -1)", "hard_tanh(1)", "hard_sigmoid(0.2)",
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(name: str) -> None:
    with refused(InputError, name.partition("(")[2].rstrip(")")):
        sv.Dense(2, 2, name)
    assert name not in ACTIVATIONS


@pytest.mark.parametrize("name", ["relu(2)", "hardtanh(0, 1)"])
def test_who_gives_settings_to_another_activation_is_told_which_take_them(name: str) -> None:
    with refused(UnknownNameError, name.partition("(")[0]):
        sv.Dense(2, 2, name)


@pytest.mark.parametrize("name", ["elu(print(1))", "elu(1", "elu(" + "1" * 200 + ")", "e(1)(2)"])
def test_what_looks_like_settings_and_is_none_is_an_unknown_name(name: str) -> None:
    with pytest.raises(UnknownNameError):
        sv.Dense(2, 2, name)


def test_a_file_with_a_thousand_names_cannot_fill_the_table() -> None:
    with refused(InputError, "1,000", varies=r"(?<=leaky_relu.)\d+"):
        for slope in range(activations.MOST_ROWS):
            activation_row(f"leaky_relu({slope})")
    assert len(ACTIVATIONS) == activations.MOST_ROWS
    activation_row("leaky_relu(1)")
