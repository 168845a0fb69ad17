"""A loaded model can be saved, as a network and as ONNX, and loaded again."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import scalarviz as sv
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.errors import FileError, InputError
from scalarviz.files.checked_safetensors import read as read_file
from scalarviz.files.checked_safetensors import write as write_file
from tests.files.onnx.models import batch, floats, graph, node, saved, there_and_back
from tests.sessions import reloaded
from tests.wording import refused

# ---- names --------------------------------------------------------------------------------------


def named(graph_name: str, *nodes: str, weights: str = "w") -> onnx.ModelProto:
    """A model of two layers with these names."""
    first, second = nodes or ("fc1", "fc2")
    gemms = [
        helper.make_node("Gemm", ["x", f"{weights}1"], ["z"], name=first),
        helper.make_node("Gemm", ["z", f"{weights}2"], ["y"], name=second),
    ]
    model = graph(*gemms, numbers={f"{weights}1": floats(3, 3), f"{weights}2": floats(3, 2)})
    model.graph.name = graph_name
    return model


@pytest.mark.parametrize(
    "model",
    [
        named("g" * 1500),
        named("a\nb"),
        named("g", "fc\u00a01", "fc\u00a02"),
        named("g", "fc\x001", "fc\t1"),
        named("g", "n" * 999 + "1", "n" * 999 + "2"),
        named("\u2028\u202e", "\u0085", "\x7f"),
        named("g", weights="w" * 990),
        named("g", weights="w\r\n"),
    ],
)
def test_a_model_with_unusual_names_can_be_saved_by_all(
    model: onnx.ModelProto, tmp_path: Path
) -> None:
    net = sv.onnx.load(saved(model, tmp_path))
    x = batch(net)
    again = reloaded(net, tmp_path)
    assert again.names == net.names and net.names is not None
    first, second = (each["node"] for each in net.names["layers"])
    assert first != second
    sv.onnx.save(again, tmp_path / "again.onnx")
    np.testing.assert_array_equal(sv.onnx.load(tmp_path / "again.onnx")(x), net(x))
    session = sv.Session(net, (np.zeros((2, 3)), np.zeros((2, 2))), engine="python")
    assert reloaded(session, tmp_path).network.names == net.names


# ---- layers that stand in several places --------------------------------------------------------


def test_a_residual_that_stands_twice_stays_one(path: Path) -> None:
    r = sv.Residual(sv.Dense(3, 3, "tanh"), sv.Residual(sv.Dense(3, 3)), sv.BatchNorm(3))
    again = there_and_back(sv.Network([r, sv.Dense(3, 3), r]), path)
    assert again.layers[0] is again.layers[2] and again.layers[0] is not again.layers[1]
    assert len(again.bank) == 12 * 3 + 6


def test_residuals_that_differ_but_share_weights_are_refused(tmp_path: Path) -> None:
    nodes = [
        node("Gemm", "x w", "a", name="g1"),
        node("Relu", "a", "b"),
        node("Add", "b x", "c", name="a1"),
        node("Gemm", "c w", "d", name="g2"),
        node("Add", "d c", "y", name="a2"),
    ]
    with refused(FileError, "'w'"):
        sv.onnx.load(saved(graph(*nodes, numbers={"w": floats(3, 3)}, out=None), tmp_path))


@pytest.mark.parametrize("make", [sv.BatchNorm, sv.LayerNorm, sv.RMSNorm])
def test_a_norm_that_stands_twice_is_refused(make: Any, path: Path) -> None:
    for norm in (make(3), sv.Residual(make(3))):
        with refused(InputError, type(norm).__name__):
            sv.onnx.save(sv.Network([norm, sv.Dense(3, 3), norm]), path)
        assert not path.exists()


# ---- next to nothing ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [3, (2, 2, 2)])
def test_a_network_that_does_nothing_comes_back(shape: Any, path: Path) -> None:
    again = there_and_back(sv.Network([Activation(shape, "linear")]), path)
    assert [layer.activation for layer in again.layers] == ["linear"]
    there_and_back(again, path)


# ---- the shape of the input ---------------------------------------------------------------------

SHAPES = [(2, 3), (1, 2, 3), (1, 2, 1, 3), (6,)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_of_the_input_stays(shape: tuple[int, ...], path: Path) -> None:
    nodes = [node("Flatten", "x", "f"), node("Gemm", "f w", "y")]
    model = graph(*nodes, numbers={"w": floats(6, 2)}, shape=("batch", *shape))
    net = sv.onnx.load(saved(model, path.parent))
    net.save(path.with_suffix(".safetensors"))
    sv.onnx.save(sv.load(path.with_suffix(".safetensors")), path)
    feed = {"x": floats(4, *shape, seed=3)}
    first, second = (
        onnxruntime.InferenceSession(p.read_bytes(), providers=["CPUExecutionProvider"])
        for p in (path.parent / "model.onnx", path)
    )
    np.testing.assert_allclose(first.run(None, feed)[0], second.run(None, feed)[0], atol=1e-6)
    again = sv.onnx.load(path)
    assert again.names is not None and net.names is not None
    assert again.names.get("shape") == net.names.get("shape")
    assert len(again.layers) == len(net.layers)


def test_a_picture_without_channels_stays_one(path: Path) -> None:
    nodes = [node("Unsqueeze", "x one", "u"), node("Conv", "u k", "y")]
    numbers = {"one": np.array([1]), "k": floats(2, 1, 3, 3)}
    model = graph(*nodes, numbers=numbers, shape=("batch", 4, 5), out=None)
    net = sv.onnx.load(saved(model, path.parent))
    there_and_back(net, path)
    sizes = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    assert [size.dim_value for size in sizes][1:] == [4, 5]


@pytest.mark.parametrize("odd", [[2], [1, 2], ["a"], "6", [-2, -3], [2, 3.0], [1] * 50 + [6], 6])
def test_a_shape_that_does_not_fit_is_refused(odd: object, tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    sv.Network([6, 1]).save(file)
    description, arrays = read_file(file, "network")
    names = {"graph": "g", "input": "i", "output": "o", "layers": [{}], "shape": odd}
    write_file(file, "network", description | {"names": names}, arrays)
    with refused(FileError, "6 numbers"):
        sv.load(file)


def test_only_a_network_can_be_saved(path: Path) -> None:
    for odd in ("a", None, sv.Dense(1, 1)):
        with refused(InputError, odd):
            sv.onnx.save(odd, path)  # type: ignore[arg-type]  # on purpose


def test_residuals_in_one_another_without_end_are_refused(path: Path) -> None:
    adds = [node("Add", f"x v{i}", f"v{i + 1}", name=f"a{i}") for i in range(1000)]
    model = graph(node("Relu", "x", "v0"), *adds, node("Relu", "v1000", "y"), out=None)
    with refused(FileError, "20 deep"):
        sv.onnx.load(saved(model, path.parent))
