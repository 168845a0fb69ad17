"""What is read and what is refused: named all at once, with the node and the reason."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import scalarviz as sv
from scalarviz.errors import FileError, InputError
from tests.files.onnx.models import floats, graph, node, read, same
from tests.wording import refused

W, B = {"w": floats(3, 2)}, {"b": floats(2)}
MATMUL = node("MatMul", "x w", "z")
OF_THREE = {"b": floats(3), "d": floats(3, seed=1), "c": np.float32(2)}
ROW, PICTURE = ("batch", 3), ("batch", 3, 6, 6)


# ---- what is read -------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["Relu", "Elu", "Sigmoid", "Tanh", "Softplus", "Sin", "Exp"])
def test_an_activation_joins_the_layer_before_it(operator: str, tmp_path: Path) -> None:
    net = same(graph(MATMUL, node(operator, "z", "y"), numbers=W), tmp_path)
    assert [type(layer) for layer in net.layers] == [sv.Dense]
    assert net.layers[0].activation == operator.lower()


def test_gelu_and_swish_are_found_in_their_parts(tmp_path: Path) -> None:
    numbers = W | {"r": np.float32(math.sqrt(2)), "h": np.float32(0.5), "i": np.float32(1)}
    nodes = [
        MATMUL,
        node("Div", "z r", "a"),
        node("Erf", "a", "e"),
        node("Add", "i e", "p"),
        node("Mul", "h z", "half"),
        node("Mul", "half p", "g", name="product"),
        node("Sigmoid", "g", "s"),
        node("Mul", "s g", "y", name="swish"),
    ]
    net = same(graph(*nodes, numbers=numbers), tmp_path)
    assert [layer.activation for layer in net.layers] == ["gelu", "swish"]


def test_flatten_reshape_and_transpose_are_read_where_they_are_plain(tmp_path: Path) -> None:
    nodes = [
        node("Transpose", "x", "t", perm=[0, 3, 1, 2]),  # one channel: nothing changes its place
        node("Reshape", "t to", "r"),
        node("Squeeze", "r axes", "s"),
        node("Flatten", "s", "f"),
        node("MatMul", "f w", "y"),
    ]
    numbers = {"to": np.array([0, 1, -1]), "axes": np.array([1]), "w": floats(8, 2)}
    model = graph(*nodes, numbers=numbers, shape=("batch", 2, 4, 1))
    assert [repr(layer) for layer in same(model, tmp_path).layers] == [
        "Flatten(shape=[2, 4, 1])",
        "Dense(inputs=8, outputs=2, activation='linear', bias=False)",
    ]


@pytest.mark.parametrize("opset", [9, 11, 13, 17, 21])
def test_old_and_new_opsets_say_things_in_other_places(opset: int, tmp_path: Path) -> None:
    newer = opset >= 12
    numbers = W | ({"rate": np.float32(0.25)} if newer else {})
    drop = (
        node("Dropout", "z rate", "d")
        if newer
        else node("Dropout", "z", "d", ratio=0.25)
    )  # fmt: skip
    net = same(
        graph(MATMUL, drop, node("Softmax", "d", "y"), numbers=numbers, opset=opset), tmp_path
    )
    assert repr(net.layers[1]) == "Dropout(shape=2, rate=0.25)"


def test_vectors_that_were_stored_once_become_two(tmp_path: Path) -> None:
    numbers = {"w": floats(3, 3), "v": floats(3, 3, seed=1), "b": floats(3)}
    nodes = [node("Gemm", "x w b", "z", name="first"), node("Gemm", "z v b", "y", name="second")]
    net = same(graph(*nodes, numbers=numbers, out=("batch", 3)), tmp_path)
    assert net.names is not None
    assert [each["bias"] for each in net.names["layers"]] == ["b", "b_2"]
    net.layers[0].bank.value[net.layers[0].rows] = 0.0
    assert net.bank.value[net.layers[1].rows].any()


def test_the_shape_of_a_sample_may_come_from_the_first_weights(tmp_path: Path) -> None:
    model = graph(MATMUL, node("Relu", "z", "y"), numbers=W, shape=("batch", "features"))
    assert read(model, tmp_path).inputs == 3


def test_numbers_in_other_forms_are_read(tmp_path: Path) -> None:
    w = floats(3, 2)
    listed = helper.make_tensor("w", TensorProto.FLOAT, (3, 2), w.ravel().tolist())
    half = helper.make_tensor("w", TensorProto.FLOAT16, (3, 2), w.ravel().tolist())
    for tensor, tolerance in ((listed, 0), (half, 1e-2), (w.astype(np.float64), 0)):
        net = read(graph(node("MatMul", "x w", "y"), numbers={"w": tensor}), tmp_path)
        np.testing.assert_allclose(net.bank.value, w.T.ravel(), rtol=0, atol=tolerance)


SCALER = {"domain": "ai.onnx.ml", "offset": [1.0, -2.0, 3.0], "scale": [0.5, 4.0, -1.0]}
OF_CHANNELS = {"c": floats(1, 3, 1, 1), "d": floats(3, 1, 1, seed=1), "e": np.float32([1.5])}


@pytest.mark.parametrize(
    ("nodes", "numbers", "shape", "kinds"),
    [
        ([node("Sub", "x b", "z"), node("Div", "z d", "y")], OF_THREE, ROW, "Affine"),
        ([node("Mul", "x b", "z"), node("Add", "d z", "y")], OF_THREE, ROW, "Affine"),
        ([node("Sub", "c x", "z"), node("Mul", "c z", "y")], OF_THREE, ROW, "Affine"),
        ([node("Scaler", "x", "y", **SCALER)], {}, ROW, "Affine"),
        ([MATMUL, node("Mul", "z c", "p"), node("Relu", "p", "y")], W | OF_THREE, ROW,
         "Dense Affine Activation"),
        ([node("Mul", "x c", "z"), node("Mul", "z x", "y", name="p")], OF_THREE, ROW, "Product"),
        ([MATMUL, node("Add", "z v", "s"), node("Add", "s z", "y", name="again")],
         W | {"v": floats(2)}, ROW, "Dense Residual"),
        ([node("Sub", "x c", "z"), node("Div", "z d", "y")], OF_CHANNELS, PICTURE, "Affine"),
        ([node("Mul", "x e", "z"), node("Add", "z c", "y")], OF_CHANNELS, PICTURE, "Affine"),
        ([MATMUL, node("Reshape", "z to", "r"), node("Mul", "r c", "y")],
         OF_CHANNELS | {"w": floats(3, 12), "to": np.array([-1, 3, 2, 2])}, ROW,
         "Dense Reshape Affine"),
    ],
)  # fmt: skip
def test_numbers_that_scale_and_shift_are_a_frozen_affine(
    nodes: Sequence[onnx.NodeProto],
    numbers: dict[str, Any],
    shape: Sequence[Any],
    kinds: str,
    tmp_path: Path,
) -> None:
    net = same(graph(*nodes, numbers=numbers, shape=shape, out=None), tmp_path)
    assert [type(layer).__name__ for layer in net.layers] == kinds.split()
    for layer in net.layers:
        assert layer.frozen or not isinstance(layer, sv.Affine)


# ---- what is refused ----------------------------------------------------------------------------


def test_all_that_is_not_supported_is_named_at_once(tmp_path: Path) -> None:
    nodes = [
        node("LSTM", "x w w", "a", hidden_size=2, name="memory"),
        MATMUL,
        node("HardSwish", "z", "h", name="/act/hard"),
        node("LeakyRelu", "z", "l", alpha=0.2),
        node("Foo", "l", "f", domain="my.own"),
        node("Concat", "a h f", "y", axis=1),
    ]
    with pytest.raises(FileError) as error:
        read(graph(*nodes, numbers=W), tmp_path)
    text = str(error.value)
    assert "'memory' (LSTM): there is no such layer" in text
    assert "'/act/hard' (HardSwish): there is no such layer" in text
    assert "'leakyrelu' (LeakyRelu): its alpha is 0.2, and leaky_relu has 0.01" in text
    assert "'foo' (my.own.Foo): there is no such layer" in text
    assert "4 nodes have no counterpart here" in text


def test_a_classifier_that_ends_in_a_list_of_maps_is_told_how_to_export(tmp_path: Path) -> None:
    maps = node("ZipMap", "z", "y", domain="ai.onnx.ml")
    with refused(FileError, "zipmap"):
        read(graph(MATMUL, maps, numbers=W), tmp_path)


def test_mul_and_concat_of_two_values_are_a_product_and_a_concatenation(tmp_path: Path) -> None:
    x = floats(2, 3)
    nodes = node("Mul", "x x", "z"), node("Tanh", "x", "t"), node("Concat", "t z", "y", axis=1)
    net = read(graph(*nodes, numbers={}, shape=(1, 3), out=None), tmp_path)
    assert net(x) == pytest.approx(np.concatenate([np.tanh(x), x * x], axis=1), rel=1e-6)
    wrong = node("Mul", "x z", "y"), node("Concat", "x z", "y", axis=2)
    for each, reason in zip(wrong, ("it joins", "its axis"), strict=True):
        with refused(FileError, reason):
            read(graph(MATMUL, each, numbers=W, shape=(1, 3), out=None), tmp_path)


TWO = {"c": np.float32(2)}
CONV = {"k": floats(2, 3, 3, 3)}


@pytest.mark.parametrize(
    ("nodes", "numbers", "shape"),
    [
        ([node("Gemm", "x w", "y", alpha=0.5)], W, (1, 3)),
        ([node("Gemm", "x w", "y", transA=1)], W, (1, 3)),
        ([node("MatMul", "x x", "y")], {}, (1, 3)),
        ([node("MatMul", "x w", "y")], W, (1, 4)),
        ([node("MatMul", "x w", "y")], W, (1, 2, 3)),
        ([node("Gemm", "x w c", "y")], W | {"c": floats(5)}, (1, 3)),
        ([MATMUL, node("Add", "z x", "y")], {"w": floats(3, 3)}, (1, 4)),
        ([node("Add", "x b", "y")], B, (1, 3)),
        ([node("Add", "x w", "y")], W, (1, 3)),
        ([node("Add", "x c", "y")], TWO, (1, 3, 4)),
        ([node("Mul", "c c", "z"), node("Add", "x z", "y")], TWO, (1, 3)),
        ([node("Mul", "x i", "y")], {"i": np.array([2])}, (1, 3)),
        ([node("Sub", "x c", "y")], {"c": floats(1, 1, 6)}, PICTURE),
        ([node("Sub", "x x", "y")], {}, (1, 3)),
        ([node("Div", "c x", "y")], TWO, (1, 3)),
        ([MATMUL, node("Cos", "z", "y")], W, (1, 3)),
        ([MATMUL, node("Gelu", "z", "y", approximate="tanh")], W, (1, 3)),
        ([MATMUL, node("Elu", "z", "y", alpha=2.0)], W, (1, 3)),
        ([node("Softmax", "x", "y", axis=1)], {}, (1, 3, 4, 4)),
        ([node("Conv", "x k", "y", group=3)], CONV, PICTURE),
        ([node("Conv", "x k", "y", strides=[1, 2])], CONV, PICTURE),
        ([node("Conv", "x k", "y", pads=[1, 1, 0, 0])], CONV, PICTURE),
        ([node("Conv", "x k", "y", dilations=[2, 2])], CONV, PICTURE),
        ([node("Conv", "x k", "y")], CONV, (1, 3, 2, 2)),
        ([node("Conv", "x k", "y")], CONV, (1, 4, 6, 6)),
        ([node("MaxPool", "x", "y", kernel_shape=[2, 3])], {}, PICTURE),
        (
            [node("AveragePool", "x", "y", kernel_shape=[2, 2], pads=[1] * 4)],
            {}, PICTURE,
        ),
        (
            [node("MaxPool", "x", "y", kernel_shape=[4, 4], strides=[3, 3], ceil_mode=1)],
            {}, PICTURE,
        ),
        ([node("Reshape", "x to", "y")], {"to": np.array([-1, 6])}, PICTURE),
        ([node("Transpose", "x", "y", perm=[0, 2, 3, 1])], {}, PICTURE),
        ([node("Flatten", "x", "y", axis=2)], {}, PICTURE),
        ([node("GlobalAveragePool", "x", "y")], {}, (1, 3, 4, 6)),
        ([node("Relu", "nothing", "y")], {}, (1, 3)),
        ([node("Div", "x c", "y")], {"c": np.float32(0)}, (1, 3)),
        ([node("Reshape", "x to", "y")], {"to": np.array([5, 3])}, (4, 3)),
        (
            [node("BatchNormalization", "x b b b v", "y")],
            B | {"v": np.float32([1, -1])}, (1, 2),
        ),
        ([MATMUL], W, (1, 3)),
        ([node("Relu", "x", "y")], {}, (3,)),
        ([node("Conv", "x k", "y")], CONV, (1, 3, None, None)),
        ([node("Div", "x c", "y")], {"c": np.float32(1e-44)}, (1, 3)),
        ([node("Scaler", "x", "y", domain="ai.onnx.ml", offset=[1.0, 2.0])], {}, (1, 3)),
        (
            [node("Scaler", "x", "y", domain="ai.onnx.ml", scale=[math.inf], offset=[0.0])],
            {}, (1, 3),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_had_says_why(
    nodes: Sequence[onnx.NodeProto],
    numbers: dict[str, Any],
    shape: Sequence[Any],
    tmp_path: Path,
) -> None:
    with refused(FileError, "model.onnx"):
        read(graph(*nodes, numbers=numbers, shape=shape, out=None), tmp_path)


def test_an_output_of_another_shape_than_stated_is_refused(tmp_path: Path) -> None:
    with refused(FileError, "(7,)"):
        read(graph(node("MatMul", "x w", "y"), numbers=W, out=("batch", 7)), tmp_path)


@pytest.mark.parametrize("off", [1.0, 1.01])
def test_only_the_octaves_are_an_encoding(off: float, tmp_path: Path) -> None:
    frequencies = (np.pi * np.array([1.0, 2.0, 4.0 * off])).astype(np.float32).reshape(3, 1)
    nodes = [
        node("Unsqueeze", "x a", "u"),
        node("Mul", "u f", "m", name="waves"),
        node("Sin", "m", "s"),
        node("Cos", "m", "c"),
        node("Concat", "s c", "w", axis=-1),
        node("Flatten", "w", "y"),
    ]
    numbers = {"a": np.array([2, 3]), "f": frequencies}
    model = graph(*nodes, numbers=numbers, shape=("batch", 2), out=("batch", 12))
    if off == 1.0:
        assert repr(same(model, tmp_path).layers[0]) == "FrequencyEncoding(inputs=2, octaves=3)"
    else:
        with refused(FileError, "'waves'"):
            read(model, tmp_path)


def test_weights_of_two_layers_that_differ_are_refused(tmp_path: Path) -> None:
    numbers = {"w": floats(3, 3)}
    nodes = [
        node("Gemm", "x w", "z", name="there"),
        node("Gemm", "z w", "y", name="back", transB=1),
        node("Relu", "y", "r"),
    ]
    net = read(graph(*nodes[:1], node("Gemm", "z w", "y"), numbers=numbers, out=None), tmp_path)
    assert net.layers[0] is net.layers[1]
    nodes[2] = node("Relu", "q", "y")
    nodes[1] = node("Gemm", "z w", "q", name="back", transB=1)
    with refused(FileError, "'w'"):
        read(graph(*nodes, numbers=numbers, out=None), tmp_path)


def test_two_inputs_are_refused(tmp_path: Path) -> None:
    model = graph(node("Add", "x z", "y"))
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (1, 3)))
    with refused(FileError, "['x', 'z']"):
        read(model, tmp_path)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    for use in (lambda: sv.onnx.load("x.onnx"), lambda: sv.onnx.save(sv.Network([1, 1]), "x.onnx")):
        with refused(InputError, "onnx"):
            use()
