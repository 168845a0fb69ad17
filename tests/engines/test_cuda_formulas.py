"""A formula has the same bits in a kernel for the formulas in use as in one with all of them.

The simulator takes the same steps with both. Of what the compiler makes of a formula, the
operations on floating point numbers are compared, in their order and with their constants: there
is nothing else that bits could depend on, since each of them is rounded by itself.
"""

import importlib.util
import re
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES, no_constants
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import products_rounded
from scalarviz.engines.cuda import kernels
from tests.conftest import FakeDevice
from tests.engines.machine_code import GPU, IN_USE, NOT_ROUNDED, unit

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)


class Chosen(NamedTuple):
    """A function with the formulas of a table, in the file of a kernel, and a call of it.

    call  takes the function and the index of a formula; returns a kernel of two arrays
    """

    name: str
    kernel: Any
    table: str
    rows: dict[str, Any]
    call: Callable[[Any, int], Any]
    before: int = 0  # rows that are counted first
    dtype: str = "float32"


def number(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        out[0] = f(k, x[0])

    return probe


def slope(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        out[0] = f(k, x[0], x[1])

    return probe


PLACES = tuple(np.uint64(n) for n in (0, 8, 16, 24, 32))
ONE = np.uint64(1)


def row(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        f(k, *PLACES[:3], out, ONE, 4, 8, x[20:], 1, 0, 1, x[4:11])

    return probe


def row_back(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        f(k, *PLACES, x, out, ONE, 4, 8, x[20:], 1, 0, 1, x[4:11])

    return probe


def error(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        out[0] = f(k, x[0:3], x[3:6])

    return probe


def error_back(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        f(k, x[0:3], x[3:6], out)

    return probe


def move(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        f(k, out[0:1], x[0], out[1:5], x[1:17])

    return probe


def constants(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        f(k, x[0], x[1:9], out)

    return probe


def factor(f: Any, k: int) -> Any:
    def probe(out: Any, x: Any) -> None:
        out[0] = f(k, x[0], x[1:9])

    return probe


LATER, WIDE = len(LOSSES), "float64"
FORWARD, BACK = kernels.forward_all, kernels.input_gradient_all
ALL = [
    Chosen("activation_value", FORWARD, "ACTIVATIONS", {**ACTIVATIONS}, number),
    Chosen("activation_slope", BACK, "ACTIVATIONS", {**ACTIVATIONS}, slope),
    Chosen("row_values", FORWARD, "ROW_FORMULAS", {**ROW_FORMULAS}, row),
    Chosen("row_gradients", BACK, "ROW_FORMULAS", {**ROW_FORMULAS}, row_back),
    Chosen("sample_error", kernels.sum_errors, "LOSSES", {**LOSSES}, error),
    Chosen("sample_gradient", kernels.loss_gradient_all, "LOSSES", {**LOSSES}, error_back),
    Chosen("sample_error", kernels.sum_errors, "ROW_LOSSES", {**ROW_LOSSES}, error, LATER),
    Chosen(
        "sample_gradient", kernels.loss_gradient_all, "ROW_LOSSES", {**ROW_LOSSES}, error_back,
        LATER,
    ),
    Chosen("move_one", kernels.move_all, "OPTIMIZERS", {**OPTIMIZERS}, move),
    Chosen(
        "optimizer_constants", kernels.look_over, "OPTIMIZERS", {**OPTIMIZERS}, constants, 0, WIDE
    ),
    Chosen("schedule_factor", kernels.look_over, "SCHEDULES", {**SCHEDULES}, factor, 0, WIDE),
]  # fmt: skip
QUICK = "leaky_relu", "cosine"
CASES = [
    pytest.param(
        each, name, id=f"{each.name}-{name}", marks=[] if name in QUICK else pytest.mark.slow
    )
    for each in ALL
    for name in each.rows
]


@cache
def module_of(kernel: Any, rows: frozenset[tuple[str, str]] | None) -> ModuleType:
    return cuda_file.import_file(cuda_file.path_of_unit(unit(kernel, rows), "float32"))


def rows_with(table: str, name: str) -> frozenset[tuple[str, str]]:
    """The rows in use, with one row of a table in place of those that were."""
    kinds = {("KINDS_OF_LOSSES", table)} if "LOSSES" in table else set()
    if table == "ROW_FORMULAS":
        kinds = {("KERNELS", "row"), ("WHOLE_BATCH", "row")}
    tables = {table, *[each for each, _ in kinds]}
    return frozenset({each for each in IN_USE if each[0] not in tables} | kinds | {(table, name)})


def operations(probe: Any, dtype: str) -> list[str]:
    """The operations on floating point numbers of a kernel, without the names of registers."""
    from numba import cuda, types

    numbers = getattr(types, dtype)[::1]
    with products_rounded():
        text, _ = cuda.compile_ptx(probe, (numbers, numbers), cc=GPU)
    assert not NOT_ROUNDED.search(text)
    pattern = r"^\s+(?:@\S+\s+)?(st\.global\.\S+\s+.*|[a-z]+\.\S*f(?:16|32|64)\s+.*);"
    lines = re.findall(pattern, text, re.MULTILINE)
    return [re.sub(r"%\w+", "%", line) for line in lines]


@pytest.mark.some(1)
@pytest.mark.parametrize(("chosen", "name"), CASES)
def test_the_operations_of_a_formula_are_those_among_all_formulas(
    chosen: Chosen, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.cuda import dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: FakeDevice)
    found = []
    for rows in (rows_with(chosen.table, name), None):
        function = getattr(module_of(chosen.kernel, rows), chosen.name)
        place = chosen.before + list(chosen.rows).index(name)
        found.append(operations(chosen.call(function, place), chosen.dtype))
    assert found[0] == found[1]
    writes = chosen.name != "optimizer_constants" or OPTIMIZERS[name].constants is not no_constants
    assert any("st.global" in line for line in found[0]) == writes
