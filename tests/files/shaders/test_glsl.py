"""Exported shaders compute what forward computes."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.errors import InputError
from scalarviz.files.shaders.network_export import export_network
from scalarviz.files.shaders.shader import GLSL, WRITERS, Shader
from tests.core.layers.test_layers import MAKERS
from tests.files.shaders import run_shaders
from tests.wording import refused

Floats = npt.NDArray[np.float64]

NO_OPENGL = "needs OpenGL without a screen (libegl1, libgl1-mesa-dri, PyOpenGL): "
GLSLANG = shutil.which("glslangValidator")
SPIRV_CROSS = shutil.which("spirv-cross")
needs_glslang = pytest.mark.skipif(
    GLSLANG is None, reason="needs a compiler for HLSL, glslangValidator of glslang-tools"
)


@dataclass
class Case:
    """A network, the samples it is asked about, and by which of its two functions."""

    network: sv.Network
    samples: Floats
    precision: str = "float32"
    by_vector: bool = False


def grid(inputs: int, width: float = 2.0) -> Floats:
    """Samples all over a cube, and its middle."""
    samples = np.random.default_rng(inputs).uniform(-width, width, (400, inputs))
    samples[0] = 0.0
    return samples.astype(np.float32).astype(np.float64)


def shared() -> sv.Network:
    again = sv.Dense(5, 5, "tanh")
    return sv.Network([sv.Dense(2, 5, "relu"), again, again, sv.Dense(5, 2)], seed=2)


def trained(net: sv.Network) -> sv.Network:
    """A network whose gains and shifts are no longer 1 and 0."""
    net.bank.value[:] += np.random.default_rng(0).normal(0, 0.2, len(net.bank))
    return net


def single(activation: str) -> Case:
    """One neuron that hands its input to an activation, from small to very large."""
    net = sv.Network([sv.Dense(1, 1, activation, bias=False)])
    net.parameters()[0].value = 1.0
    samples = np.concatenate([np.linspace(-8, 8, 801), [-1000, -100, -50, -1e-5, 1e-5, 50, 80]])
    return Case(net, samples.astype(np.float32)[:, np.newaxis].astype(np.float64))


def deep(activation: str) -> Case:
    return Case(sv.Network([3, 7, 5, 2], activation, seed=3), grid(3))


def normed() -> sv.Network:
    """Two norms of one size, and one of another between them."""
    return trained(
        sv.Network(
            [sv.LayerNorm(5), sv.Dense(5, 3), sv.LayerNorm(3), sv.Dense(3, 5), sv.LayerNorm(5)]
        )
    )


def moved(case: Case) -> Case:
    """The same with statistics as after some batches."""
    state = case.network.bank.state
    state[:] += np.random.default_rng(1).uniform(0.1, 0.9, len(state))
    return case


def layered(*layers: sv.Layer, width: float = 2.0) -> Case:
    return Case(trained(sv.Network(layers)), grid(layers[0].inputs, width))


def writable(network: sv.Network) -> bool:
    """Whether each kind of operation of a network has code in shaders."""
    return {operation.kind for operation in network.program.operations} <= set(WRITERS)


CASES = {
    **{name: layered(make()) for name, make in MAKERS.items() if writable(sv.Network([make()]))},
    **{f"activation {name}": single(name) for name in ACTIVATIONS},
    **{f"network {name}": deep(name) for name in ("leaky_relu", "gelu", "exp")},
    "Dense": layered(sv.Dense(9, 6, "tanh", bias=False), sv.Dense(6, 1)),
    "LayerNorm": layered(sv.Dense(2, 7), sv.LayerNorm(7), sv.Dense(7, 3)),
    "RMSNorm": layered(sv.RMSNorm(6), sv.Dense(6, 3)),
    "MaxPool2d": layered(
        sv.Dense(2, 24), sv.MaxPool2d((2, 3, 4), kernel=3, stride=2, padding=1), sv.Dense(8, 2)
    ),
    "AvgPool2d": layered(sv.Dense(2, 18), sv.AvgPool2d((2, 3, 3), kernel=2), sv.Dense(2, 2)),
    "Conv2d": layered(
        sv.Dense(2, 40, "tanh"),
        sv.Conv2d((2, 4, 5), 3, (3, 2), stride=2, padding=1, activation="relu"),
        sv.Flatten((3, 2, 3)),
        sv.Dense(18, 2),
    ),
    "Conv2d of groups": layered(
        sv.Dense(2, 60, "tanh"),
        sv.Conv2d((4, 3, 5), 6, (3, 2), (2, 1), 1, dilation=(1, 3), groups=2),
        sv.Conv2d((6, 2, 4), 6, 1, groups=6),
        sv.Dense(48, 2),
    ),
    "Conv2d without biases": layered(
        sv.Reshape(12, (3, 2, 2)), sv.Conv2d((3, 2, 2), 5, 1, bias=False)
    ),
    "BatchNorm": moved(layered(sv.Dense(3, 5), sv.BatchNorm(5), sv.Dense(5, 2))),
    "BatchNorm of a picture": moved(layered(sv.BatchNorm((2, 1, 3)), sv.Dense(6, 2))),
    "Dropout": layered(sv.Dense(3, 5, "tanh"), sv.Dropout(5, 0.7), sv.Dense(5, 2)),
    "Residual": layered(
        sv.Dense(2, 3), sv.Residual(sv.Dense(3, 5, "tanh"), sv.Dense(5, 3)), sv.Dense(3, 1)
    ),
    "Product": layered(
        sv.Dense(2, 3), sv.Product(sv.Dense(3, 5, "tanh"), sv.Dense(3, 5)), sv.Dense(5, 1)
    ),
    "Concatenate": layered(sv.Concatenate(sv.Dense(2, 3, "tanh"), sv.Activation(2, "relu"))),
    "Residual at the end": layered(sv.Residual(sv.Residual(sv.Dense(2, 2, "tanh")))),
    "Activation": layered(sv.Dense(2, 3), sv.Activation(3, "sigmoid"), sv.Activation(3, "exp")),
    "Softmax": layered(sv.Dense(2, 5), sv.Softmax(5)),
    "LogSoftmax": layered(sv.Dense(2, 5), sv.LogSoftmax(5)),
    "FrequencyEncoding": layered(sv.FrequencyEncoding(3), sv.Dense(18, 2), width=1.0),
    "FrequencyEncoding alone": layered(sv.FrequencyEncoding(1, octaves=6), width=1.0),
    "a shared layer": Case(shared(), grid(2)),
    "two norms of one size": Case(normed(), grid(5)),
    "float64": Case(sv.Network([3, 8, 3], "tanh", dtype="float64"), grid(3)),
    "float16": Case(sv.Network([3, 8, 3], "tanh", "sigmoid", seed=4), grid(3), precision="float16"),
    **{
        f"vectors {inputs} {outputs}": Case(
            sv.Network([inputs, 6, outputs], "tanh", seed=5), grid(inputs), by_vector=True
        )
        for inputs, outputs in [(1, 1), (2, 3), (4, 4), (3, 1)]
    },
}


def expected(case: Case) -> Any:
    """What forward gives, with the weights as they were exported."""
    net = case.network.copy("float64")
    net.bank.value[:] = case.network.bank.value.astype(case.precision)
    return net(case.samples)


def write_case(folder: Path, name: str, case: Case) -> None:
    """Write a shader, its inputs, and what run_shaders.py is to know of it."""
    export_network(case.network, folder / f"{name}.glsl", case.precision)
    np.save(folder / f"{name}.inputs.npy", case.samples)
    about = {"outputs": case.network.outputs, "by_vector": case.by_vector}
    (folder / f"{name}.json").write_text(json.dumps(about))


def run_all(folder: Path) -> None:
    """Run every shader of a folder; skip where there is no OpenGL."""
    command = [sys.executable, run_shaders.__file__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    if done.returncode == run_shaders.MISSING:
        pytest.skip(NO_OPENGL + done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


def found(folder: Path, name: str) -> Any:
    return np.load(folder / f"{name}.outputs.npy")


def check(outputs: Floats, case: Case) -> None:
    with np.errstate(over="ignore"):
        wanted = expected(case).astype(np.float32)[:, : outputs.shape[1]]
    np.testing.assert_allclose(outputs, wanted, rtol=1e-5, atol=1e-5)


def asked(request: pytest.FixtureRequest) -> list[str]:
    """The cases of the tests of this run that take a fixture."""
    taking = [
        each
        for each in request.session.items
        if getattr(each, "module", None) is request.module
        and request.fixturename in each.fixturenames  # type: ignore[attr-defined]  # all have them
    ]
    return [each.callspec.params["name"] for each in taking]  # type: ignore[attr-defined]  # all have


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every case of this run has been run."""
    made = tmp_path_factory.mktemp("shaders")
    for name in asked(request):
        write_case(made, name, CASES[name])
    run_all(made)
    return made


@pytest.mark.some(14)
@pytest.mark.parametrize("name", CASES)
def test_the_shader_computes_what_forward_computes(name: str, folder: Path) -> None:
    check(found(folder, name), CASES[name])


def test_the_shader_has_the_settings_of_an_activation(tmp_path: Path) -> None:
    cases = {name: single(name) for name in ("celu(2)", "softplus(3)", "hard_sigmoid(0.25,0.4)")}
    for name, case in cases.items():
        write_case(tmp_path, name, case)
    run_all(tmp_path)
    for name, case in cases.items():
        check(found(tmp_path, name), case)


@pytest.mark.slow
def test_a_large_network_becomes_a_shader_too(tmp_path: Path) -> None:
    case = Case(sv.Network([12, 64, 64, 64, 64, 3], "leaky_relu", "sigmoid"), grid(12))
    write_case(tmp_path, "large", case)
    run_all(tmp_path)
    check(found(tmp_path, "large"), case)


# ---- HLSL ---------------------------------------------------------------------------------------

# One sample for each pixel of a picture.
HLSL_MAIN = """
float4 main(float4 place : SV_POSITION) : SV_TARGET {{
    float x[{inputs}];
    float y[{outputs}];
    for (int i = 0; i < {inputs}; i++) x[i] = (place.x - 0.5 + place.y * float(i)) / 32.0 - 1.0;
    network_row(x, y);
    float4 found = float4(0.0, 0.0, 0.0, 0.0);
    for (int j = 0; j < {outputs} && j < 4; j++) found[j] = y[j];
    return found;
}}
"""


def samples_of_pixels(inputs: int) -> Floats:
    """The same samples as HLSL_MAIN has, row by row."""
    y, x = np.mgrid[: run_shaders.SIDE, : run_shaders.SIDE].reshape(2, -1)
    return np.array([(x + (y + 0.5) * i) / 32.0 - 1.0 for i in range(inputs)]).T


def run_program(*command: str) -> str:
    """What a program prints, if it ends well."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_hlsl(case: Case, folder: Path) -> Path:
    """The compiled form of a shader that calls an exported network."""
    path, target = folder / "network.hlsl", folder / "network.spv"
    export_network(case.network, path, case.precision)
    main = HLSL_MAIN.format(inputs=case.network.inputs, outputs=case.network.outputs)
    path.write_text(path.read_text(encoding="utf-8") + main)
    options = ["-D", "-V", "-S", "frag", "-e", "main", "-o", str(target)]
    run_program(str(GLSLANG), *options, str(path))
    return target


@pytest.mark.some(14)
@needs_glslang
@pytest.mark.parametrize("name", CASES)
def test_the_hlsl_compiles(name: str, tmp_path: Path) -> None:
    assert compile_hlsl(CASES[name], tmp_path).stat().st_size > 0


@pytest.mark.slow
@needs_glslang
@pytest.mark.skipif(SPIRV_CROSS is None, reason="needs spirv-cross to turn HLSL into GLSL")
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("activation")])
def test_the_hlsl_computes_what_forward_computes(name: str, hlsl: Path) -> None:
    case = CASES[name]
    case = Case(case.network, samples_of_pixels(case.network.inputs), case.precision)
    check(found(hlsl, name).reshape(-1, 4)[:, : case.network.outputs], case)


@pytest.fixture(scope="module")
def hlsl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every case has been run as HLSL: compiled, turned into GLSL, and drawn."""
    made = tmp_path_factory.mktemp("hlsl")
    for name, case in CASES.items():
        if not name.startswith("activation"):
            compiled = compile_hlsl(case, made)
            text = run_program(str(SPIRV_CROSS), "--version", "150", "--no-es", str(compiled))
            (made / f"{name}.frag").write_text(text)
    run_all(made)
    return made


def test_a_network_of_too_many_numbers_is_refused() -> None:
    refused(InputError, "10,003").by(Shader, sv.Network([2, 10000, 1]), GLSL)
