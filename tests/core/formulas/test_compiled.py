"""Every formula compiles for CPU and GPU as it stands, and float32 stays float32 there."""

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from scalarviz.core.formulas import optimizers
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import ELEMENTARY, Target
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.formulas.randomness import normal, uniform
from tests.engines.conftest import body

SCALAR_FORMULAS: list[Callable[..., Any]] = [
    *[f for row in OPERATIONS.values() for f in (row.value, *row.partials)],
    *[f for loss in LOSSES.values() for f in (loss.value, loss.derivative, loss.weight)],
    *[optimizer.update for optimizer in OPTIMIZERS.values()],
    optimizers.clip,
    optimizers.regularize,
    *[schedule.factor for schedule in SCHEDULES.values()],
    uniform,
    normal,
]
ROW_WISE: list[Callable[..., Any]] = [
    *[f for row in ROW_LOSSES.values() for f in (row.value, row.gradient)],
    *[f for row in ROW_FORMULAS.values() for f in (row.forward, row.backward)],
]


def unique(functions: list[Callable[..., Any]]) -> list[Any]:
    """Each formula once, with a readable id; built-in functions compile by themselves."""
    plain = [f for f in dict.fromkeys(functions) if inspect.isfunction(f)]
    return [pytest.param(f, id=f"{f.__module__.rpartition('.')[2]}.{f.__name__}") for f in plain]


def argument_types(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a kernel passes: arrays for rows, integers where they are declared, else floats."""
    kinds = {"x": "row", "y": "row", "z": "row", "t": "row", "upstream": "row", "gradient": "row"}
    if not any(function is parameter.values[0] for parameter in unique(ROW_WISE)):
        kinds = {}
    types = {"row": numba.float32[:], "int": numba.int32}
    return tuple(
        types.get(kinds.get(name, str(parameter.annotation)), numba.float32)
        for name, parameter in inspect.signature(function).parameters.items()
    )


def floats_only(types: Any) -> bool:
    """Whether a result is float32, or a tuple of them, or nothing."""
    return all(member in (numba.float32, numba.none) for member in getattr(types, "types", [types]))


def in_float32(kernel: Any, types: tuple[Any, ...]) -> tuple[bool, bool]:
    """Whether the result of a kernel and its code are in float32."""
    kernel.compile(types)
    result = kernel.overloads[types].signature.return_type
    return floats_only(result), "double" not in body(kernel.inspect_llvm(types))


def make_target(compiler: Callable[..., Any]) -> Target:
    def compiled(function: Callable[..., float]) -> Any:
        return compiler(lambda x: function(x))

    functions = {name: compiled(getattr(math, name)) for name in ELEMENTARY if hasattr(math, name)}
    functions["divide"] = compiler(lambda x, y: x / y)
    functions["power"] = compiler(lambda x, y: x**y)
    return Target(functions, np.float32, compiler)


@pytest.fixture(scope="module")
def on_cpu() -> Target:
    return make_target(numba.njit(error_model="numpy"))


@pytest.mark.some(4)
@pytest.mark.parametrize("formula", unique(SCALAR_FORMULAS + ROW_WISE))
def test_a_formula_compiles_for_the_cpu_and_stays_float32(
    formula: Callable[..., Any], on_cpu: Target
) -> None:
    assert in_float32(on_cpu.retarget(formula), argument_types(formula)) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("formula", unique(SCALAR_FORMULAS + ROW_WISE))
def test_a_formula_compiles_for_the_gpu_and_stays_float32(
    formula: Callable[..., Any], compile_ptx: Callable[..., str]
) -> None:
    from numba import cuda

    target = make_target(cuda.jit(device=True, fastmath=True))
    text = compile_ptx(target.retarget(formula).py_func, *argument_types(formula))
    assert not re.search(r"\.f64", text)
    assert ".entry" in text or ".func" in text


def test_the_check_for_float64_can_fail(on_cpu: Target) -> None:
    assert in_float32(numba.njit(lambda x: x * 0.1), (numba.float32,)) == (False, False)
