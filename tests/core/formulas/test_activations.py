"""Activations and row-wise formulas.

Derivatives, limits and NaN of every row, and settings of families.
"""

import copy
import math
import operator
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.lib.stride_tricks import sliding_window_view

import scalarviz as sv
from scalarviz.core.formulas import activations, elementary
from scalarviz.core.formulas.activations import (
    ACTIVATIONS,
    FAMILIES,
    activation_row,
)
from scalarviz.core.formulas.formula import ELEMENTARY, Formula, Target
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.training.network.gradcheck import gradcheck
from tests.sessions import advanced
from tests.wording import refused

every_activation = pytest.mark.parametrize("row", ACTIVATIONS.values(), ids=ACTIVATIONS)

# The formulas as they stand, computed to fifty digits.
mp.dps = 50
FUNCTIONS = {name: getattr(mp, name) for name in ELEMENTARY if hasattr(mp, name)}
TO_FIFTY_DIGITS = Target(
    {**FUNCTIONS, "divide": operator.truediv, "power": operator.pow}, number=mpf
)


@every_activation
def test_the_derivative_agrees_with_finite_differences(row: Formula) -> None:
    for x in (-7.3, -2.0, -0.6, -0.01, 0.01, 0.4, 1.7, 6.1):
        assert gradcheck(row, x).error < 1e-6, x


@every_activation
def test_the_formula_and_its_derivative_are_right_to_twelve_digits(row: Formula) -> None:
    check_digits(row, (-30.0, -7.3, -2.0, -0.6, -1e-3, 1e-3, 0.4, 1.7, 6.1, 30.0))


def check_digits(row: Formula, points: Iterable[float]) -> None:
    exact = TO_FIFTY_DIGITS.retarget(row.value)
    for x in points:
        y = row.value(x)
        assert y == pytest.approx(float(exact(mpf(x))), rel=1e-12, abs=1e-300)
        slope = float(mp.diff(exact, mpf(x)))
        assert row.derivative(x, y) == pytest.approx(slope, rel=1e-12, abs=1e-15)


NAMES = (
    "leaky_relu(0.2) elu(0.5) celu(2) softplus(3) hard_sigmoid(0.25,0.4) hard_tanh(-2,0.5) "
    "softshrink(0.25) hardshrink(2)"
)
every_one = pytest.mark.parametrize("name", NAMES.split())
POINTS = -30.0, -7.3, -1.99, -0.6, -1e-3, 1e-3, 0.4, 1.7, 6.1, 30.0


def test_every_family_is_tested_and_has_a_usual_row() -> None:
    assert {name.partition("(")[0] for name in NAMES.split()} == FAMILIES.keys()
    assert FAMILIES.keys() <= ACTIVATIONS.keys()


@every_one
def test_it_is_right_to_twelve_digits_and_has_limits(name: str) -> None:
    row = activation_row(name)
    check_digits(row, POINTS)
    assert all(gradcheck(row, x).error < 1e-6 for x in POINTS)
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
    assert sv.Network([2, 3, 1], name).layers[0].activation == canonical
    assert activation_row(canonical) is activation_row(name) is ACTIVATIONS[canonical]


def test_copies_and_pickles_have_the_row_of_the_table() -> None:
    net = sv.Network([2, 3, 1], "elu(0.5)")
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.layers[0].formula is ACTIVATIONS["elu(0.5)"]


def test_a_training_with_settings_comes_back_from_its_file(tmp_path: Path) -> None:
    net = sv.Network([2, 3, 1], "softplus(3)")
    pairs = [[0.0, 1.0], [1.0, 0.5]], [[1.0], [0.0]]
    s = advanced(sv.Session(net, pairs, optimizer=sv.SGD(0.1), engine="python"), 2)
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
        "hardshrink(-1)",
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(name: str) -> None:
    refused(InputError, name.partition("(")[2].rstrip(")")).by(sv.Dense, 2, 2, name)
    assert name not in ACTIVATIONS


@pytest.mark.parametrize("name", ["relu(2)", "hardtanh(0, 1)"])
def test_who_gives_settings_to_another_activation_is_told_which_take_them(name: str) -> None:
    refused(UnknownNameError, name.partition("(")[0]).by(sv.Dense, 2, 2, name)


@pytest.mark.parametrize("name", ["elu(print(1))", "elu(1", "elu(" + "1" * 200 + ")", "e(1)(2)"])
def test_what_looks_like_settings_and_is_none_is_an_unknown_name(name: str) -> None:
    refused(UnknownNameError).by(sv.Dense, 2, 2, name)


def test_a_file_with_a_thousand_names_cannot_fill_the_table() -> None:
    with refused(InputError, "1,000", varies=r"(?<=leaky_relu.)\d+"):
        for slope in range(activations.MOST_ROWS):
            activation_row(f"leaky_relu({slope})")
    assert len(ACTIVATIONS) == activations.MOST_ROWS
    activation_row("leaky_relu(1)")


ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, 1e308, -1e308]
)
ON_ARRAYS = {
    name: getattr(np, name)
    for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "divide", "power")
}


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("name", [name for name in ON_ARRAYS if name not in ("divide", "power")])
@given(x=ANY_FLOAT)
def test_a_function_agrees_with_numpy_everywhere(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(ON_ARRAYS[name](np.float64(x)))
    assert same(getattr(elementary, name)(x), expected)


@pytest.mark.parametrize("name", ["divide", "power"])
@given(x=ANY_FLOAT, y=ANY_FLOAT)
def test_division_and_powers_agree_with_numpy_everywhere(name: str, x: float, y: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(ON_ARRAYS[name](np.float64(x), np.float64(y)))
    assert same(getattr(elementary, name)(x, y), expected)


X = np.array([0.4, -1.2, 2.2, 0.7, -0.3, 1.9, 0.1, -2.5])
PICTURE = 2, 4, 2, 2, 1, 1, 1, 1, 3, 5  # its size, that of windows, strides, paddings, how many


def windows(x: Any, beyond: float) -> Any:
    """The four numbers of each window of a picture with an edge around it."""
    return sliding_window_view(np.pad(x.reshape(2, 4), 1, constant_values=beyond), (2, 2)).reshape(
        -1, 4
    )


def waves(x: Any) -> Any:
    angles = np.outer(x, [np.pi, 2.0 * np.pi])
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).ravel()


def normed_in_halves(x: Any) -> Any:
    halves = x.reshape(2, 4)
    spread = np.sqrt(halves.var(axis=1, keepdims=True) + 0.1)
    return ((halves - halves.mean(axis=1, keepdims=True)) / spread).ravel()


def attended(x: Any) -> Any:
    """One head at two places, of which each sees both: queries, keys and values."""
    query, key, value = x[:6].reshape(3, 2)
    parts = np.exp(0.3 * np.outer(query, key))
    return parts @ value / parts.sum(axis=1)


# The settings of each row, and what it writes with them.
DEFINITIONS: dict[str, tuple[tuple[float, ...], Callable[[Any], Any]]] = {
    "layer_norm": ((8.0, 0.1), lambda x: (x - x.mean()) / np.sqrt(x.var() + 0.1)),
    "group_norm": ((4, 4.0, 0.1), normed_in_halves),
    "rms_norm": ((8.0, 0.1), lambda x: x / np.sqrt((x * x).mean() + 0.1)),
    "frequency_encoding": ((2,), waves),
    "softmax": ((8.0,), lambda x: np.exp(x) / np.exp(x).sum()),
    "log_softmax": ((8.0,), lambda x: x - np.log(np.exp(x).sum())),
    "spread": ((3,), lambda x: np.repeat(x, 3)),
    "slice": ((2,), lambda x: x[2:6]),
    "attention": ((1, 1, 2, 0, 0.3), attended),
    "max_pool": ((*PICTURE, 0.25), lambda x: windows(x, -np.inf).max(axis=1)),
    "average_pool": ((*PICTURE, 0.25), lambda x: windows(x, 0.0).mean(axis=1)),
}


@pytest.mark.parametrize("row", ROW_FORMULAS.values(), ids=ROW_FORMULAS)
def test_a_row_is_what_its_definition_gives_and_its_gradient_agrees_with_differences(
    row: RowFormula,
) -> None:
    settings, definition = DEFINITIONS[row.name]
    wanted = definition(X)
    y, gradient = np.zeros(len(wanted)), np.zeros(len(X))
    number = row.forward(X, y, *settings)
    np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-14)
    upstream = np.cos(np.arange(len(y)))
    row.backward(X, y, number, upstream, gradient, *settings)
    slopes = [(definition(X + h) - definition(X - h)) @ upstream / 2e-6 for h in 1e-6 * np.eye(8)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7, atol=1e-8)
