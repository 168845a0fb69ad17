"""Networks as ONNX files: every layer and activation, readable names, and back again."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.errors import FileError, InputError
from scalarviz.files.onnx.writing import WRITERS
from tests.files.onnx.models import (
    batch,
    floats,
    graph,
    node,
    run,
    runner,
    saved,
    there_and_back,
)
from tests.sessions import reloaded
from tests.wording import refused

# What is another function of x in ONNX by its name alone, if at all.
SAME_VALUES = {"relu_right": "relu"}


def pictures() -> sv.Network:
    layers = [
        sv.Reshape(36, (1, 6, 6)),
        sv.Affine((1, 6, 6), [0.25], [-1.5]),
        sv.Conv2d((1, 6, 6), 2, kernel=3, padding=1, activation="relu"),
        sv.MaxPool2d((2, 6, 6), 2),
        sv.Conv2d((2, 3, 3), 3, kernel=(2, 2), bias=False),
        sv.BatchNorm((3, 2, 2)),
        Activation((3, 2, 2), "leaky_relu"),
        sv.Residual(sv.Conv2d((3, 2, 2), 3, kernel=3, padding=1, activation="elu")),
        sv.AvgPool2d((3, 2, 2), 2, padding=1),
        sv.PReLU((3, 2, 2), 3),
        sv.GroupNorm((3, 2, 2), 3, 1e-3),
        sv.Product(
            sv.Activation((3, 2, 2), "tanh"),
            [sv.AvgPool2d((3, 2, 2)), sv.Conv2d((3, 1, 1), 3, 1), sv.Spread((3, 2, 2))],
        ),
        sv.Concatenate(sv.Slice((3, 2, 2), 1, 3), sv.Slice((3, 2, 2), 0, 1)),
        sv.Dropout((3, 2, 2), 0.25),
        sv.Residual(sv.Conv2d((3, 2, 2), 3, 1, activation="relu"), skip=sv.BatchNorm((3, 2, 2))),
        sv.Flatten((3, 2, 2)),
        sv.Dense(12, 4, "softplus(2)"),
        sv.LogSoftmax(4),
        sv.Softmax(4),
        sv.Conv1d((2, 2), 3, 2, padding=1, activation="tanh"),
        sv.AvgPool2d((3, 1, 3), (1, 2)),
        sv.Conv1d((3, 1), 2, 1, bias=False),
    ]
    net = sv.Network(layers, seed=1)
    norm = net.layers[5]
    norm.running_mean[:] = [0.1, -0.2, 0.3]
    norm.running_variance[:] = [0.5, 1.5, 2.0]
    return net


def rows() -> sv.Network:
    layers = [
        sv.Affine(2, [0.125, 7.0], [1.5, -3.0]),
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 6, "sin", bias=False),
        sv.LayerNorm(6, 1e-3),
        sv.Residual(sv.Dense(6, 6, "tanh"), sv.RMSNorm(6, 1e-4), sv.Residual(sv.Dense(6, 6))),
        sv.Residual(sv.Dense(6, 4, "tanh"), sv.Dense(4, 6), skip=[sv.Dense(6, 6, bias=False)]),
        sv.BatchNorm(6),
        sv.Product([sv.Dense(6, 4, "tanh"), sv.Dense(4, 5)], sv.Dense(6, 5, "sigmoid")),
        sv.Concatenate(sv.Dense(5, 2), sv.Activation(5, "tanh")),
        sv.Dense(7, 3, "swish"),
    ]
    return sv.Network(layers, seed=2)


@pytest.mark.parametrize("make", [pictures, rows])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_network_of_all_layers_comes_back(make: object, dtype: str, path: Path) -> None:
    net = make().copy(dtype)  # type: ignore[operator]  # a function of a parametrized test
    if dtype == "float64" and make is pictures:  # onnxruntime has no convolution of float64
        sv.onnx.save(net, path)
        again = sv.onnx.load(path, dtype=dtype)
        np.testing.assert_array_equal(again(batch(net)), net(batch(net)))
    else:
        again = there_and_back(net, path)
    assert [repr(layer) for layer in again.layers] == [repr(layer) for layer in net.layers]
    assert again.dtype == dtype
    np.testing.assert_array_equal(again.bank.value, net.bank.value)


def test_these_two_networks_have_every_layer_that_can_be_written() -> None:
    layers = [layer for net in (pictures(), rows()) for layer in net.layers]
    kinds = {type(each).__name__ for layer in layers for each in (layer, *layer.layers)}
    assert kinds | {"Elementwise", "Embedding", "Attention"} == set(WRITERS)


@pytest.mark.parametrize("causal", [True, False])
def test_a_network_of_sequences_comes_back(causal: bool, path: Path) -> None:
    layers = [
        sv.Embedding(5, 6, 4, positions=True),
        sv.RMSNorm((6, 4), gain=False),
        sv.Residual(
            sv.Conv1d((6, 4), 18, 1), sv.Attention(6, 2, places=4, causal=causal),
            sv.LayerNorm((6, 4)),
        ),
        sv.RMSNorm((6, 4)),
        sv.Conv1d((6, 4), 5, 1),
        sv.LogSoftmax((5, 4)),
    ]  # fmt: skip
    net = sv.Network(layers, seed=3)
    sv.onnx.save(net, path)
    x = np.array([[0, 4, 2, -1], [1, 1, 3, 0]], np.float32)
    np.testing.assert_allclose(run(path, x), net(x), rtol=1e-5, atol=1e-5)
    again, written = sv.onnx.load(path), path.read_bytes()
    np.testing.assert_array_equal(again(x), net(x))
    assert repr(again.layers) == repr(net.layers)
    sv.onnx.save(again, path)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("attention1.mask", np.zeros((2, 2)), "'attention1' (Attention): it is not Attention"),
        ("attention1.index_of_key", np.array(0), "'attention1' (Attention): it is not Attention"),
        ("attention1.factor", np.array(0.5), "'attention1' (Attention): it is not Attention"),
        ("embedding1.zeros", np.ones((1, 3)), "'embedding1' (Embedding): it is not an Embedding"),
    ],
)
def test_other_attention_and_embeddings_are_refused(
    name: str, values: Any, said: str, path: Path
) -> None:
    layers = [sv.Embedding(5, 3, 2), sv.Attention(1, places=2)]
    sv.onnx.save(sv.Network(layers), path)
    model = onnx.load(path)
    (stored,) = [each for each in model.graph.initializer if each.name == name]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(stored.data_type)
    stored.CopyFrom(onnx.numpy_helper.from_array(values.astype(dtype), name))
    onnx.save(model, path)
    refused(FileError, said).by(sv.onnx.load, path)


@pytest.mark.parametrize("slopes", [1, 6])
def test_slopes_of_features_come_back(slopes: int, path: Path) -> None:
    net = sv.Network([sv.Dense(3, 6), sv.PReLU(6, slopes), sv.Dense(6, 2)], seed=1)
    net.bank.value[24 : 24 + slopes] = np.linspace(-0.5, 0.7, slopes)
    again = there_and_back(net, path)
    assert repr(again.layers[1]) == f"PReLU(shape=6, slopes={slopes})"
    np.testing.assert_array_equal(again.bank.value, net.bank.value)


def test_slopes_that_onnx_cannot_have_are_refused(path: Path) -> None:
    refused(InputError, "3 slopes").by(
        sv.onnx.save, sv.Network([sv.PReLU(6, 3), sv.Dense(6, 2)]), path
    )
    assert not path.exists()


SETTINGS = (
    "leaky_relu(0.2)", "elu(0.5)", "celu(2)", "softplus(3)", "hard_sigmoid(0.25,0.4)",
    "hard_tanh(-2,0.5)", "softshrink(0.25)", "hardshrink(2)",
)  # fmt: skip


WITH_OPERATOR = [row.name for row in ACTIVATIONS.values() if row.onnx or row.name == "linear"]


@pytest.mark.parametrize("name", [*WITH_OPERATOR, *SETTINGS])
def test_an_activation_comes_back(name: str, path: Path) -> None:
    net = sv.Network([sv.Dense(3, 4, name), sv.LayerNorm(4), Activation(4, name)])
    again = there_and_back(net, path)
    expected = SAME_VALUES.get(name, name)
    assert again.layers[0].activation == expected
    assert [layer.activation for layer in again.layers[2:]] == [expected] * (name != "linear")


def test_a_shared_layer_is_stored_once_and_stays_shared(path: Path) -> None:
    shared = sv.Dense(3, 3, "tanh")
    again = there_and_back(sv.Network([shared, sv.Dense(3, 3), shared]), path)
    assert again.layers[0] is again.layers[2]
    assert len(onnx.load(path).graph.initializer) == 4


def test_what_onnx_has_not_is_named_all_at_once(path: Path) -> None:
    odd, inner = sv.Dense(2, 2), sv.Dense(2, 2)
    net = sv.Network([odd, sv.Residual(inner)])
    odd._activation, inner._activation = "of my own", "another"
    refused(InputError, "'another'").by(sv.onnx.save, net, path)
    assert not path.exists()


def test_names_that_are_taken_twice_become_two(path: Path) -> None:
    net = sv.Network([3, 3, 3])
    same = {"node": "n", "weight": "w", "bias": "input"}
    vars(net)["names"] = {
        "graph": "g",
        "input": "input",
        "output": "w",
        "layers": [same, dict(same)],
    }
    there_and_back(net, path)
    names = [each.name for each in onnx.load(path).graph.initializer]
    assert len(set(names)) == 4 and names[0] == "w"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    refused(FileError, "nowhere/net.onnx").by(
        sv.onnx.save, sv.Network([1, 1]), tmp_path / "nowhere" / "net.onnx"
    )


def softened(x: float) -> float:
    y = abs(x) + 1.0
    return 0.0 if x <= -3.0 else x / y


def softened_derivative(x: float, y: float) -> float:
    return 0.0 if x <= -3.0 else 1.0 / (abs(x) + 1.0) ** 2.0


def curved(x: Any, slope: float = 2.0, bend: float = 0.5) -> Any:
    return sv.where(x > bend, slope * x, math.log1p(math.exp(x)) * bend)


def rounded(x: float) -> float:
    return math.fmod(x, 2.0)


def test_formulas_of_ones_own_are_written_by_their_source(path: Path) -> None:
    sv.activation(softened, softened_derivative)
    own = sv.layer(curved, {"slope": (3,), "bend": ()}, shape=(3, 2, 2))
    layers = [
        sv.Conv2d((1, 3, 3), 3, 2, activation="softened"), own, sv.Dense(12, 4, "softened"),
        sv.layer(curved, {"slope": (2,)}, 4),
    ]  # fmt: skip
    net = sv.Network(layers, seed=1)
    net.bank.value[:] += np.random.default_rng(2).normal(size=len(net.bank)) * 0.3
    sv.onnx.save(net, path)
    np.testing.assert_allclose(run(path, batch(net)), net(batch(net)), rtol=2e-6, atol=2e-6)


def test_a_formula_that_is_no_arithmetic_is_refused(path: Path) -> None:
    sv.activation(rounded, always_one, check=False)
    refused(InputError, "'rounded'").by(sv.onnx.save, sv.Network([2, 2], output="rounded"), path)
    assert not path.exists()


def always_one(x: float, y: float) -> float:
    return 1.0


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


# ---- several inputs -----------------------------------------------------------------------------


def test_a_network_of_named_inputs_has_them_in_the_file(tmp_path: Path) -> None:
    net = sv.Network(
        [sv.Product([sv.Slice(5, 0, 4), sv.Dense(4, 3)], sv.Dense(5, 3)), sv.Dense(3, 2)]
    )
    net.input_widths = {"output": 4, "input": 1}
    sv.onnx.save(net, tmp_path / "net.onnx")
    numbers = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    given = {"output": numbers[:, :4], "input": numbers[:, 4:]}
    written = runner(tmp_path / "net.onnx")
    assert [each.name for each in written.get_inputs()] == ["output", "input"]
    np.testing.assert_allclose(written.run(None, given)[0], net(numbers), atol=1e-6)
    again = sv.onnx.load(tmp_path / "net.onnx")
    assert [*again.input_widths.items()] == [("output", 4), ("input", 1)]
    assert repr(again.layers) == repr(net.layers) and (again(given) == net(numbers)).all()


def test_a_picture_among_named_inputs_is_a_row_in_the_file(tmp_path: Path) -> None:
    net = sv.Network([sv.Conv2d((1, 3, 3), 2, 2), sv.Flatten((2, 2, 2)), sv.Dense(8, 2)])
    net.input_widths = {"top": 3, "rest": 6}
    sv.onnx.save(net, tmp_path / "net.onnx")
    again = sv.onnx.load(tmp_path / "net.onnx")
    numbers = np.random.default_rng(0).normal(size=(2, 9))
    assert (again({"top": numbers[:, :3], "rest": numbers[:, 3:]}) == net(numbers)).all()


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
    refused(FileError, "'w'").by(
        sv.onnx.load, saved(graph(*nodes, numbers={"w": floats(3, 3)}, out=None), tmp_path)
    )


@pytest.mark.parametrize("make", [sv.BatchNorm, sv.LayerNorm, sv.RMSNorm])
def test_a_norm_that_stands_twice_is_refused(make: Any, path: Path) -> None:
    for norm in (make(3), sv.Residual(make(3))):
        refused(InputError, type(norm).__name__).by(
            sv.onnx.save, sv.Network([norm, sv.Dense(3, 3), norm]), path
        )
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
    first, second = map(runner, (path.parent / "model.onnx", path))
    np.testing.assert_allclose(first.run(None, feed)[0], second.run(None, feed)[0], atol=1e-6)
    again = sv.onnx.load(path)
    assert again.names is not None and net.names is not None
    assert again.names.get("shape") == net.names.get("shape")
    assert len(again.layers) == len(net.layers)


def test_a_picture_without_channels_stays_one(path: Path) -> None:
    nodes = [node("Unsqueeze", "x one", "u"), node("Conv", "u k", "y")]
    numbers = {"one": np.array([1]), "k": floats(2, 1, 3, 3)}
    model = graph(*nodes, numbers=numbers, shape=("batch", 4, 5), out=None)
    there_and_back(sv.onnx.load(saved(model, path.parent)), path)
    sizes = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    assert [size.dim_value for size in sizes][1:] == [4, 5]


def test_only_a_network_can_be_saved(path: Path) -> None:
    for odd in ("a", None, sv.Dense(1, 1)):
        refused(InputError, odd).by(sv.onnx.save, odd, path)


def test_residuals_in_one_another_without_end_are_refused(path: Path) -> None:
    adds = [node("Add", f"x v{i}", f"v{i + 1}", name=f"a{i}") for i in range(1000)]
    model = graph(node("Relu", "x", "v0"), *adds, node("Relu", "v1000", "y"), out=None)
    refused(FileError, "20 deep").by(sv.onnx.load, saved(model, path.parent))
