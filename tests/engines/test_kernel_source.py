"""What a formula may look like, and what becomes of it in a file of kernels."""

import linecache
from pathlib import Path

import numpy as np
import pytest

from scalarviz.engines.codegen import kernel_file
from scalarviz.errors import InputError
from scalarviz.formulas import activations, losses
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.rowwise import ROW_FORMULAS, RowFormula
from scalarviz.formulas.table import Formula
from tests.engines.conftest import TEMPLATE, Kernels
from tests.wording import refused

pytestmark = pytest.mark.usefixtures("template")


def text(dtype: kernel_file.Dtype = "float32") -> str:
    return kernel_file.source(TEMPLATE, dtype).text


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


def test_whole_numbers_in_a_formula_are_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACTIVATIONS, "wavy", Formula("wavy", wavy, (wavy_derivative,)))
    assert "return _2_0 * x if x > _0_0 else x ** 2" in text()
    assert "return _2_0 if x > _0_0 else _2_0 * x" in text()
    assert "_2_0 = np.float32(2.0)" in text()


def test_a_row_formula_that_branches_goes_sample_by_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = RowFormula("largest", largest, largest_backward)
    monkeypatch.setitem(ROW_FORMULAS, "largest", row)
    assert "test_kernel_source_largest(x[:, n], y[:, n], settings_0)" in text()
    assert "test_kernel_source_largest_backward_tile(x, y, memo," in text()
    changed = Kernels("float32")
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


def test_two_formulas_of_one_name_do_not_clash() -> None:
    formulas = {losses.absolute: "losses_absolute"}
    found = text()
    for name in formulas.values():
        assert found.count(f"def {name}(") == 1
    names = [line for line in found.splitlines() if line.startswith("def ")]
    assert len(names) == len(set(names))


class Outside:
    """Makes functions whose names clash, or whose source cannot be had."""

    @staticmethod
    def relu(x: float) -> float:
        return x + 1.0


def test_a_method_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (Outside.relu, lambda x: x, eval("lambda x: x")):
        row = Formula("mine", function, (activations.linear_derivative,))
        monkeypatch.setitem(ACTIVATIONS, "mine", row)
        with refused(InputError, "source of the formula"):
            text()


THRESHOLDS = {"low": 1.0}


def uses_a_dict(x: float) -> float:
    return x if x > THRESHOLDS["low"] else 0.0


def test_a_formula_may_not_use_what_a_kernel_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Formula("mine", uses_a_dict, (activations.linear_derivative,))
    monkeypatch.setitem(ACTIVATIONS, "mine", row)
    with refused(InputError, "THRESHOLDS"):
        text()


def test_a_file_that_was_edited_after_it_was_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edited.py"
    path.write_text("def steep(x):\n    return 3.0 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited  # type: ignore[import-not-found]

    row = Formula("steep", edited.steep, (activations.linear_derivative,))
    monkeypatch.setitem(ACTIVATIONS, "steep", row)
    path.write_text("def steep(x):\n    return 30.0 * x\n")
    linecache.checkcache()
    with refused(InputError, "'steep'"):
        text()
