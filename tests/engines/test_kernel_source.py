"""What a formula may look like, and what becomes of it in a file of kernels."""

import linecache
from pathlib import Path

import numpy as np
import pytest

from scalarviz.core.formulas import activations
from scalarviz.core.formulas.formula import FloatFunction, Formula
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula
from scalarviz.engines.codegen.kernel_units import source_of
from scalarviz.engines.cpu.table import KERNELS, kernels_of
from scalarviz.errors import InputError
from tests.engines.conftest import Kernels, text_of
from tests.wording import refused


def text(field: str, value: FloatFunction, derivative: FloatFunction) -> str:
    """The file of a kernel of an activation: `forward` or `back`."""
    row = Formula("mine", value, (derivative,))
    return source_of(kernels_of("activation", KERNELS["activation"], row)[field], "float32").text


def forward(value: FloatFunction) -> str:
    return text("forward", value, activations.linear_derivative)


def wavy(x: float) -> float:
    return 2 * x if x > 0 else x**2


def wavy_derivative(x: float, y: float) -> float:
    return 2 if x > 0 else 2 * x


def largest(x: list[float], y: list[float], length: float) -> float:
    top = x[0]
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
    for i in range(len(x)):
        y[i] = x[i] / (top * length)
    return top


def largest_backward(
    x: list[float], y: list[float], top: float, g: list[float], d: list[float], length: float
) -> None:
    for i in range(len(x)):
        d[i] = g[i] / (top * length)


def test_whole_numbers_in_a_formula_are_floats() -> None:
    value, slope = text("forward", wavy, wavy_derivative), text("back", wavy, wavy_derivative)
    assert "return _2_0 * x if x > _0_0 else x ** 2" in value
    assert "return _2_0 if x > _0_0 else _2_0 * x" in slope
    assert "_2_0 = np.float32(2.0)" in value and "_2_0 = np.float32(2.0)" in slope


def test_a_row_formula_that_branches_goes_sample_by_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = RowFormula("largest", largest, largest_backward)
    monkeypatch.setitem(ROW_FORMULAS, "largest", row)
    called = "test_kernel_source_largest(x[:, n], y[:, n], settings_0)"
    assert called in text_of("row_forward", row, "float32")
    called = "test_kernel_source_largest_backward_tile(x, y, memo,"
    assert called in text_of("row_backward", row, "float32")
    changed = Kernels("float32", row)
    x = np.random.default_rng(0).random((5, 21))
    arguments = (
        list(ROW_FORMULAS).index("largest"),
        x,
        np.zeros_like(x),
        np.zeros(21),
        np.array([5.0]),
        20,
    )
    changed.check("row_forward", *arguments)
    assert changed.compiled("row_forward", *arguments)[2][:20] == pytest.approx(x.max(axis=0)[:20])


def times(factor: float) -> FloatFunction:
    def scale(x: float) -> float:
        return factor * x

    return scale


double, triple = times(2.0), times(3.0)


def between(x: float) -> float:
    return double(x) if x > 0.0 else triple(x)


def test_two_formulas_of_one_name_do_not_clash() -> None:
    found = forward(between)
    assert found.count("def test_kernel_source_scale(") == 1
    assert found.count("def test_kernel_source_scale_2(") == 1
    assert "test_kernel_source_scale(x) if x > _0_0 else test_kernel_source_scale_2(x)" in found
    assert "return _2_0 * x" in found and "return _3_0 * x" in found


class Outside:
    """Has a function whose source cannot be had."""

    @staticmethod
    def relu(x: float) -> float:
        return x + 1.0


def test_a_method_is_refused_in_one_sentence() -> None:
    for function in (Outside.relu, lambda x: x, eval("lambda x: x")):
        with refused(InputError, "source of the formula"):
            forward(function)


THRESHOLDS = {"low": 1.0}


def uses_a_dict(x: float) -> float:
    return x if x > THRESHOLDS["low"] else 0.0


def test_a_formula_may_not_use_what_a_kernel_cannot() -> None:
    with refused(InputError, "THRESHOLDS"):
        forward(uses_a_dict)


def test_a_file_that_was_edited_after_it_was_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edited.py"
    path.write_text("def steep(x):\n    return 3.0 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited  # type: ignore[import-not-found]  # made by the test

    path.write_text("def steep(x):\n    return 30.0 * x\n")
    linecache.checkcache()
    with refused(InputError, "'steep'"):
        forward(edited.steep)
