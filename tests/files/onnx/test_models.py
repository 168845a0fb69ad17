"""Each stored model, as an exporter wrote it: the same outputs, learning, and back."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import scalarviz as sv
from tests.files.onnx.models import FOLDER, MODELS, batch, load, run, trained
from tests.root import ROOT

every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_a_model_gives_what_onnxruntime_gives(name: str) -> None:
    net = load(name)
    x = batch(net, 16)
    assert net.names is not None
    expected = run(FOLDER / f"{name}.onnx", x, net.names["output"])
    np.testing.assert_allclose(net(x), expected, rtol=0, atol=1e-5)


@pytest.mark.some(3)
@every_model
def test_a_model_learns_the_same_on_each_engine(name: str) -> None:
    nets = [load(name), load(name)]
    losses = [trained(net, engine) for net, engine in zip(nets, ("python", "cpu"), strict=True)]
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    np.testing.assert_allclose(nets[1].bank.value, nets[0].bank.value, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not available for this system or Python",
)
def test_a_model_learns_the_same_on_cuda() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tests.engines.simulator", "-W", "ignore::RuntimeWarning"]
    command += ["tests/files/onnx/simulated_cuda.py"]
    settings = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@every_model
def test_a_model_that_has_learned_comes_back(name: str, tmp_path: Path) -> None:
    net = load(name)
    before = net(batch(net))
    trained(net, "cpu")
    path = tmp_path / "again.onnx"
    sv.onnx.save(net, path)
    x = batch(net, 16)
    np.testing.assert_allclose(run(path, x), net(x), rtol=0, atol=1e-5)
    again = sv.onnx.load(path)
    np.testing.assert_array_equal(again.bank.value, net.bank.value)
    # What a BatchNorm has seen is float64 in a network, and float32 in the file.
    np.testing.assert_allclose(again(x), net.to("python")(x), rtol=0, atol=1e-7)
    assert again.names == net.names
    assert not np.allclose(again(batch(net)), before)


def parts(path: Path) -> tuple[set[str], set[tuple[str, str]]]:
    """The names of numbers, and of nodes with their operators."""
    found = onnx.load(path).graph
    return {each.name for each in found.initializer}, {(n.op_type, n.name) for n in found.node}


def test_numbers_keep_their_names_where_nodes_cannot(tmp_path: Path) -> None:
    sv.onnx.save(load("torch_mlp"), tmp_path / "again.onnx")
    numbers, nodes = parts(tmp_path / "again.onnx")
    assert numbers == {"0.weight", "0.bias", "2.weight", "4.weight", "4.bias"}
    assert ("Gemm", "/2/MatMul") in nodes  # it was a Transpose and a MatMul
    sv.onnx.save(load("sklearn_classifier"), tmp_path / "again.onnx")
    numbers, nodes = parts(tmp_path / "again.onnx")
    assert numbers == {"coefficient", "intercepts", "coefficient1", "intercepts1"}
    assert {("MatMul", "MatMul"), ("Add", "Add"), ("Tanh", "Tanh")} < nodes


def test_the_probability_of_the_first_of_two_classes_is_1_minus_the_other() -> None:
    file = FOLDER / "sklearn_binary.onnx"
    net = sv.onnx.load(file)
    assert [type(layer).__name__ for layer in net.layers][-1] == "Concatenate"
    np.testing.assert_allclose(net(batch(net)), run(file, batch(net), "probabilities"), atol=1e-6)


def test_a_batch_norm_keeps_what_it_has_seen() -> None:
    net = load("torch_batchnorm")
    norm = net.layers[1]
    assert isinstance(norm, sv.BatchNorm)
    stored = {t.name: t for t in onnx.load(FOLDER / "torch_batchnorm.onnx").graph.initializer}
    expected = onnx.numpy_helper.to_array(stored["1.running_var"])
    np.testing.assert_array_equal(norm.running_variance.astype(np.float32), expected)
    assert norm.momentum == pytest.approx(0.1)


def test_the_stored_models_are_small() -> None:
    assert len(MODELS) >= 15
    for name in MODELS:
        assert (FOLDER / f"{name}.onnx").stat().st_size < 5000


def test_the_model_of_the_scene_retrain_is_one_of_them(tmp_path: Path) -> None:
    model = ROOT / "scenes" / "digits_0_to_7.onnx"
    net = sv.onnx.load(model)
    x = batch(net, 16)
    np.testing.assert_allclose(net(x), run(model, x), rtol=1e-5, atol=1e-5)
    sv.onnx.save(net, tmp_path / "again.onnx")
    assert parts(tmp_path / "again.onnx") == parts(model)
    assert model.stat().st_size < 5000
