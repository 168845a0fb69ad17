"""Exports as shaders and NPZ: formats, precision, limits, errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.errors import InputError
from scalarviz.files.shaders import network_export
from scalarviz.files.shaders.network_export import export_network
from scalarviz.files.shaders.shader import MOST_WEIGHTS
from tests.wording import refused


def network() -> sv.Network:
    again = sv.Dense(3, 3, "tanh")
    layers = [sv.FrequencyEncoding(2, 1), sv.Dense(4, 3, "relu", bias=False), again]
    return sv.Network([*layers, sv.LayerNorm(3), again, sv.RMSNorm(3)], seed=3)


def by_numpy(path: Path, x: Any) -> Any:
    """What a program knows that has only the file: this is how one reads it."""
    with np.load(path, allow_pickle=False) as file:
        for operation in json.loads(str(file["description"]))["operations"]:
            weights = file[operation["weights"]].astype(float) if "weights" in operation else None
            biases = file[operation["biases"]].astype(float) if "biases" in operation else 0.0
            if operation["kind"] == "affine":
                x = x @ weights.T + biases
            elif operation["kind"] == "scale":
                x = x * weights + biases
            elif operation["kind"] == "activation":
                x = np.vectorize(ACTIVATIONS[operation["formula"]].value)(x)
            else:
                y = np.zeros((len(x), operation["outputs"]))
                settings = [int(s) if s == int(s) else s for s in operation["settings"]]
                for row, result in zip(x, y, strict=True):
                    ROW_FORMULAS[operation["formula"]].forward(row, result, *settings)
                x = y
    return x


@pytest.mark.parametrize(("precision", "error"), [("float32", 1e-6), ("float16", 2e-2)])
def test_npz_holds_all_that_it_takes_to_compute_the_network(
    precision: str, error: float, tmp_path: Path
) -> None:
    net, path = network(), tmp_path / "net.npz"
    export_network(net, path, precision)
    x = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    np.testing.assert_allclose(by_numpy(path, x), net(x), atol=error)
    with np.load(path, allow_pickle=False) as file:
        assert {file[name].dtype.name for name in file.files} == {
            precision,
            file["description"].dtype.name,
        }
        assert file["weights_0"].shape == (3, 4)


def test_float16_rounds_the_weights_of_a_shader(tmp_path: Path) -> None:
    net = sv.Network([sv.Dense(1, 1, bias=False)])
    net.bank.value[0] = 1.0 / 3.0
    for precision, text in [("float32", "mat4(0.33333334,"), ("float16", "mat4(0.33325195,")]:
        export_network(net, tmp_path / "net.glsl", precision)
        assert text in (tmp_path / "net.glsl").read_text()


@pytest.mark.parametrize("name", ["net.glsl", "net.hlsl", "net.npz"])
def test_a_weight_that_cannot_be_held_is_named(name: str, tmp_path: Path) -> None:
    net = network()
    net.weight(1).value = 70_000.0
    export_network(net, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    with refused(InputError, "70000"):
        export_network(net, tmp_path / name, "float16")
    net.bank.value[2] = np.nan
    with refused(InputError, "nan"):
        export_network(net, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_a_shader_has_a_limit_and_npz_has_none(tmp_path: Path) -> None:
    net = sv.Network([128, 128])
    assert len(net.bank) > MOST_WEIGHTS
    for name in ("net.glsl", "net.hlsl"):
        with refused(InputError, "16,512"):
            export_network(net, tmp_path / name)
    export_network(net, tmp_path / "net.npz")


def test_an_npz_tells_all_that_it_takes_to_compute_the_network(tmp_path: Path) -> None:
    conv = sv.Conv2d((2, 4, 4), 2, 3, padding=1, activation="tanh")
    parts = sv.Residual(conv), sv.BatchNorm((2, 4, 4)), sv.Dropout(32, 0.5), sv.Dense(32, 3)
    net = sv.Network(parts, dtype="float64", seed=1)
    rng = np.random.default_rng(0)
    net.bank.value[:] += rng.normal(size=len(net.bank))
    net.bank.state[:-2] += rng.uniform(0.1, 1.0, len(net.bank.state) - 2)
    x = rng.normal(size=(5, 32))
    export_network(net, tmp_path / "net.npz")
    with np.load(tmp_path / "net.npz") as file:
        arrays = dict(file)
    operations = json.loads(str(arrays["description"]))["operations"]
    held = {operations[0]["reads"]: x}
    for each in operations:
        result = DONE[each["kind"]](each, arrays, held[each["reads"]])
        if each["kind"] == "sum":
            result = result + held[each["other"]]
        held[each["writes"]] = result
    np.testing.assert_allclose(held[operations[-1]["writes"]], net(x), rtol=1e-5, atol=1e-5)


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


DONE = {
    "affine": lambda each, arrays, x: x @ arrays[each["weights"]].T + arrays[each["biases"]],
    "activation": lambda each, arrays, x: np.tanh(x),
    "scale": lambda each, arrays, x: (
        x * arrays[each["weights"]].repeat(int(each["settings"][0]))
        + arrays[each["biases"]].repeat(int(each["settings"][0]))
    ),
    "convolution": convolve,
    "batch_norm": normed,
    "branch": lambda each, arrays, x: x,
    "dropout": lambda each, arrays, x: x,
    "sum": lambda each, arrays, x: x,
}


def test_glsl_and_hlsl_hold_the_same_formulas(tmp_path: Path) -> None:
    texts = []
    for name in ("net.glsl", "net.hlsl"):
        export_network(network(), tmp_path / name)
        lines = (tmp_path / name).read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("float network_"))
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
