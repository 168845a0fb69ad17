"""The text of exported shaders and NPZ files: formats, precision, formulas, limits, errors."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import ELEMENTARY, Formula
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.errors import InputError
from scalarviz.files.shaders import network_export, shader_math
from scalarviz.files.shaders.network_export import export_network
from scalarviz.files.shaders.shader import MOST_WEIGHTS
from scalarviz.files.shaders.shader_functions import ShaderWriter, literal
from tests.wording import refused


def network() -> sv.Network:
    again = sv.Dense(3, 3, "tanh")
    layers = [sv.FrequencyEncoding(2, 1), sv.Dense(4, 3, "relu", bias=False), again]
    return sv.Network([*layers, sv.LayerNorm(3), again, sv.RMSNorm(3)], seed=3)


def pictures() -> sv.Network:
    conv = sv.Conv2d((2, 4, 4), 2, 3, padding=1, activation="tanh")
    parts = sv.Residual(conv), sv.BatchNorm((2, 4, 4)), sv.Dropout(32, 0.5), sv.Dense(32, 3)
    net, rng = sv.Network(parts, dtype="float64", seed=1), np.random.default_rng(0)
    net.bank.value[:] += rng.normal(size=len(net.bank))
    net.bank.state[:-2] += rng.uniform(0.1, 1.0, len(net.bank.state) - 2)
    return net


def convolve(each: Any, arrays: Any, x: Any) -> Any:
    w, (_, height, width, *_, padding) = arrays[each["weights"]], map(int, each["settings"])
    pad = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    seen = np.pad(x.reshape(len(x), -1, height, width), pad)
    windows = np.lib.stride_tricks.sliding_window_view(seen, w.shape[2:], axis=(2, 3))
    sums = np.einsum("nchwij,kcij->nkhw", windows, w) + arrays[each["biases"]][:, None, None]
    return sums.reshape(len(x), -1)


def normed(each: Any, arrays: Any, x: Any) -> Any:
    _, pixels, eps, _ = each["settings"]
    mean, variance = (arrays[each[name]].repeat(int(pixels)) for name in ("mean", "variance"))
    return (x - mean) / np.sqrt(variance + eps)


def of_rows(each: Any, arrays: Any, x: Any) -> Any:
    y = np.zeros((len(x), each["outputs"]))
    settings = [int(s) if s == int(s) else s for s in each["settings"]]
    for row, result in zip(x, y, strict=True):
        ROW_FORMULAS[each["formula"]].forward(row, result, *settings)
    return y


DONE = {
    "affine": lambda each, arrays, x: (
        x @ arrays[each["weights"]].T.astype(float) + arrays.get(each.get("biases"), 0.0)
    ),
    "activation": lambda each, arrays, x: np.vectorize(ACTIVATIONS[each["formula"]].value)(x),
    "scale": lambda each, arrays, x: (
        x * arrays[each["weights"]].repeat(int(each["settings"][0]))
        + arrays.get(each.get("biases"), np.zeros(1)).repeat(int(each["settings"][0]))
    ),
    "row": of_rows,
    "convolution": convolve,
    "batch_norm": normed,
    "branch": lambda each, arrays, x: x,
    "dropout": lambda each, arrays, x: x,
    "sum": lambda each, arrays, x: x,
}


def by_numpy(path: Path, x: Any) -> Any:
    """What a program knows that has only the file: this is how one reads it."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    operations = json.loads(str(arrays["description"]))["operations"]
    held = {operations[0]["reads"]: x}
    for each in operations:
        result = DONE[each["kind"]](each, arrays, held[each["reads"]])
        held[each["writes"]] = result + held[each["other"]] if "other" in each else result
    return held[operations[-1]["writes"]]


@pytest.mark.parametrize(
    ("net", "precision", "relative", "error"),
    [
        (network(), "float32", 1e-7, 1e-6),
        (network(), "float16", 1e-7, 2e-2),
        (pictures(), "float32", 1e-5, 1e-5),
    ],
)
def test_npz_holds_all_that_it_takes_to_compute_the_network(
    net: sv.Network, precision: str, relative: float, error: float, tmp_path: Path
) -> None:
    path = tmp_path / "net.npz"
    export_network(net, path, precision)
    x = np.random.default_rng(0).uniform(-1, 1, (20, net.inputs))
    np.testing.assert_allclose(by_numpy(path, x), net(x), relative, error)


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_arrays_of_an_npz_have_its_precision_and_their_shapes(
    precision: str, tmp_path: Path
) -> None:
    export_network(network(), tmp_path / "net.npz", precision)
    with np.load(tmp_path / "net.npz", allow_pickle=False) as file:
        kinds = {file[name].dtype.name for name in file.files}
        assert kinds == {precision, file["description"].dtype.name}
        assert file["weights_0"].shape == (3, 4)


def test_float16_rounds_the_weights_of_a_shader(tmp_path: Path) -> None:
    net = sv.Network([sv.Dense(1, 1, bias=False)])
    net.bank.value[0] = 1.0 / 3.0
    for precision, text in [("float32", "vec4(0.33333334,"), ("float16", "vec4(0.33325195,")]:
        export_network(net, tmp_path / "net.glsl", precision)
        assert text in (tmp_path / "net.glsl").read_text()


@pytest.mark.parametrize("name", ["net.glsl", "net.hlsl", "net.npz"])
def test_a_weight_that_cannot_be_held_is_named(name: str, tmp_path: Path) -> None:
    net = network()
    net.weight(1).value = 70_000.0
    export_network(net, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    refused(InputError, "70000").by(export_network, net, tmp_path / name, "float16")
    net.bank.value[2] = np.nan
    refused(InputError, "nan").by(export_network, net, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_a_shader_has_a_limit_and_npz_has_none(tmp_path: Path) -> None:
    net = sv.Network([128, 128])
    assert len(net.bank) > MOST_WEIGHTS
    for name in ("net.glsl", "net.hlsl"):
        refused(InputError, "16,512").by(export_network, net, tmp_path / name)
    export_network(net, tmp_path / "net.npz")


def test_glsl_and_hlsl_hold_the_same_formulas(tmp_path: Path) -> None:
    texts = []
    for name in ("net.glsl", "net.hlsl"):
        export_network(network(), tmp_path / name)
        lines = (tmp_path / name).read_text().splitlines()
        _, start, *_ = [i for i, line in enumerate(lines) if line.startswith("float network_")]
        end = next(i for i, line in enumerate(lines) if line.startswith("void network_row"))
        texts.append(lines[start:end])
    assert texts[0] == texts[1]
    assert any("sin(" in line for line in texts[0])


def cubed(x: float) -> float:
    return x**3 if x > 0.0 else -cubed_positive(abs(x))


def cubed_positive(x: float) -> float:
    total = 1.0
    for _ in range(3):
        total *= x
    return total


def test_a_new_activation_exports_by_being_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ACTIVATIONS, "cubed", Formula("cubed", cubed, (cubed,)))
    export_network(sv.Network([1, 1], output="cubed"), tmp_path / "net.glsl")
    text = (tmp_path / "net.glsl").read_text()
    assert text.index("float network_cubed_positive(") < text.index("float network_cubed(")
    assert "((v_x > 0.0) ? (v_x * v_x * v_x) : (-network_cubed_positive(abs(v_x))))" in text


def test_every_ending_is_one_that_is_tested_here() -> None:
    assert set(network_export.EXPORTS) == {".glsl", ".hlsl", ".npz"}


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
    refused(InputError).by(ShaderWriter("p").scalar, formula)
