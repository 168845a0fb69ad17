"""Formulas as shaders say them, and the functions that shaders lack."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import ELEMENTARY
from scalarviz.errors import InputError
from scalarviz.files.shaders import shader_math
from scalarviz.files.shaders.shader_functions import ShaderWriter, literal
from tests.wording import refused

LEFT = np.concatenate([np.linspace(-9, 9, 2001), [-1000.0, -1e-9, 0.0, 1e-9, 80.0]])


@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh", "erfc"])
def test_what_shaders_lack_is_good_to_the_last_digits_of_float32(name: str) -> None:
    points = LEFT[LEFT > -1.0] if name == "log1p" else LEFT
    ours, theirs = getattr(shader_math, name), getattr(elementary, name)
    found = np.array([ours(x) for x in points.tolist()])
    wanted = np.array([theirs(x) for x in points.tolist()])
    np.testing.assert_allclose(found, wanted, rtol=2e-7, atol=1e-40)


@pytest.mark.parametrize("x", [-3.0, -2.5, -1.0, 1e-9, 0.5, 1.0, 7.0])
@pytest.mark.parametrize("y", [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_power_knows_negative_numbers(x: float, y: float) -> None:
    found, wanted = shader_math.power(x, y), elementary.power(x, y)
    assert found == pytest.approx(wanted, nan_ok=True)


def test_every_elementary_function_can_be_said() -> None:
    known = {**shader_math.BUILT_IN, **shader_math.WRITTEN}
    assert [name for name in ELEMENTARY if getattr(elementary, name) not in known] == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_can_be_written(name: str) -> None:
    writer = ShaderWriter("p")
    called = writer.scalar(OPERATIONS[name].value)
    in_file = [source for source in writer.sources if source.startswith(f"float {called}(")]
    assert len(in_file) == (called.startswith("p_"))


def test_a_formula_is_written_once_and_after_what_it_calls() -> None:
    writer = ShaderWriter("p")
    names = [writer.scalar(ACTIVATIONS[name].value) for name in ("swish", "sigmoid", "swish")]
    assert names == ["p_swish", "p_sigmoid", "p_swish"]
    assert writer.sources == [
        "float p_sigmoid(float v_x) {\n    return (1.0 / (1.0 + exp((-v_x))));\n}",
        "float p_swish(float v_x) {\n    return (v_x * p_sigmoid(v_x));\n}",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (0.1, "0.1"), (1 / 3, "0.33333334"), (1e-5, "1e-05"), (1e20, "1e+20")],
)
def test_a_number_is_as_short_as_float32_permits(value: float, text: str) -> None:
    assert literal(value) == text
    assert np.float32(float(text)) == np.float32(value)


def whole_numbers(x: float) -> float:
    total = 0.0
    for i in range(1, 4):
        j = 2 * i
        if i == 2 and not x > 1.0:
            total += i / j
        else:
            total -= j * x
    sample: float = max(total, 1)
    return sample


def test_whole_numbers_become_floats_where_floats_are_needed() -> None:
    writer = ShaderWriter("p")
    writer.scalar(whole_numbers)
    assert writer.sources[0].splitlines() == [
        "float p_whole_numbers(float v_x) {",
        "    float v_total;",
        "    int v_j;",
        "    float v_sample;",
        "    v_total = 0.0;",
        "    for (int v_i = 1; v_i < 4; v_i++) {",
        "        v_j = (2 * v_i);",
        "        if (((v_i == 2) && !((v_x > 1.0)))) {",
        "            v_total += (float(v_i) / float(v_j));",
        "        } else {",
        "            v_total -= (float(v_j) * v_x);",
        "        }",
        "    }",
        "    v_sample = max(v_total, 1.0);",
        "    return v_sample;",
        "}",
    ]


def loops_for_ever(x: float) -> float:
    while x > 1.0:
        x = x / 2.0
    return x


def by_math(x: float) -> float:
    return math.gamma(x)


def by_list(x: float) -> float:
    return [x, 1.0][0]


def by_name(x: float) -> float:
    return cube(x=x)


def cube(x: float) -> float:
    return x * x * x


def infinite(x: float) -> float:
    return min(x, math.inf)


def truth(x: float) -> float:
    return 1.0 if x else 0.0


def remainder(x: float) -> float:
    return x % 2.0


def unknown(x: float) -> float:
    return nowhere(x)  # type: ignore[name-defined]  # noqa: F821


def changes(x: float) -> float:
    n = 1
    n = x
    return n


def recursive(x: float) -> float:
    return x if x < 1.0 else recursive(x - 1.0)


@pytest.mark.parametrize(
    "formula",
    [
        loops_for_ever,
        by_math,
        by_list,
        by_name,
        infinite,
        truth,
        remainder,
        unknown,
        changes,
        recursive,
    ],
)
def test_what_a_shader_cannot_say_is_refused_with_the_reason(
    formula: Callable[[float], Any],
) -> None:
    with refused(InputError):
        ShaderWriter("p").scalar(formula)
