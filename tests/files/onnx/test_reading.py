"""Reading ONNX: nodes, attributes, constants and parameters, read or refused with the reason."""

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import scalarviz as sv
from scalarviz.errors import FileError, InputError, UnknownNameError
from tests.files.onnx.models import FOLDER, floats, graph, node, read, same, there_and_back
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


def test_a_gelu_in_its_parts_names_the_opset_that_has_it(tmp_path: Path) -> None:
    numbers = W | {"r": np.float32(math.sqrt(2)), "h": np.float32(0.5), "i": np.float32(1)}
    nodes = [
        MATMUL,
        node("Div", "z r", "a"),
        node("Erf", "a", "e"),
        node("Add", "i e", "p"),
        node("Mul", "h z", "half"),
        node("Mul", "half p", "y", name="product"),
    ]
    refused(FileError, "'erf' (Erf)").by(read, graph(*nodes, numbers=numbers), tmp_path)


def part(operator: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    """A node called by its output: several have one operator."""
    return node(operator, inputs, output, name=output, **attributes)


NUMBERS = {
    name: np.float32(number)
    for name, number in {
        "one": 1.0, "half": 0.5, "two": 2.0, "six": 6.0, "low": -1.0, "zero": 0.0, "twenty": 20.0,
    }.items()
}  # fmt: skip
SIGMOID = part("Sigmoid", "z", "s")
TWICE = [part("Mul", "z two", "d"), part("Softplus", "d", "s"), part("Div", "s two", "q")]
WRITTEN = {
    "gelu_tanh": ([part("Gelu", "z", "y", approximate="tanh")], "gelu_tanh"),
    "mish": ([part("Mish", "z", "y")], "mish"),
    "hard_swish": ([part("HardSwish", "z", "y")], "hard_swish"),
    "swish": ([SIGMOID, part("Mul", "s z", "y")], "swish"),
    "hard_sigmoid": ([part("HardSigmoid", "z", "y", alpha=1.0 / 6.0)], "hard_sigmoid"),
    "hard_sigmoid of ONNX": ([part("HardSigmoid", "z", "y")], "hard_sigmoid(0.2,0.5)"),
    "softsign": (
        [part("Abs", "z", "m"), part("Add", "m one", "p"), part("Div", "z p", "y")], "softsign"
    ),
    "log_sigmoid": ([SIGMOID, part("Log", "s", "y")], "log_sigmoid"),
    "log_sigmoid, as saved": (
        [part("Neg", "z", "n"), part("Softplus", "n", "s"), part("Neg", "s", "y")], "log_sigmoid"
    ),
    "softplus, as saved": ([*TWICE[:2], part("Div", "s two", "y")], "softplus(2)"),
    "softplus, of PyTorch": (
        [*TWICE, part("Greater", "d twenty", "over"), part("Where", "over z q", "y")], "softplus(2)"
    ),
    "leaky_relu": ([part("LeakyRelu", "z", "y", alpha=0.2)], "leaky_relu(0.2)"),
    "elu": ([part("Elu", "z", "y", alpha=2.0)], "elu(2)"),
    "celu": ([part("Celu", "z", "y", alpha=0.5)], "celu(0.5)"),
    "selu": ([part("Selu", "z", "y")], "selu"),
    "hard_tanh": ([part("Clip", "z low one", "y")], "hard_tanh"),
    "hard_tanh, other bounds": ([part("Clip", "z low half", "y")], "hard_tanh(-1,0.5)"),
    "softshrink": ([part("Shrink", "z", "y", lambd=0.3, bias=0.3)], "softshrink(0.3)"),
    "hardshrink": ([part("Shrink", "z", "y", lambd=0.3)], "hardshrink(0.3)"),
    "relu6": ([part("Clip", "z zero six", "y")], "relu6"),
    "relu": ([part("Clip", "z zero", "y")], "relu"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_an_activation_is_found_in_its_parts(name: str, tmp_path: Path) -> None:
    nodes, activation = WRITTEN[name]
    used = {each for made in nodes for each in made.input} & NUMBERS.keys()
    numbers = {"w": 4.0 * floats(3, 2)} | {each: NUMBERS[each] for each in used}
    net = same(graph(MATMUL, *nodes, numbers=numbers, opset=20), tmp_path)
    assert [layer.activation for layer in net.layers] == [activation]
    sv.onnx.save(net, tmp_path / "again.onnx")
    again = sv.onnx.load(tmp_path / "again.onnx")
    assert [layer.activation for layer in again.layers] == [activation]


@pytest.mark.parametrize(
    "nodes",
    [
        [*TWICE[:2], part("Div", "s half", "y")],
        [*TWICE, part("Greater", "z twenty", "over"), part("Where", "over z q", "y")],
        [part("Softplus", "z", "s"), part("Neg", "s", "y")],
        [part("Abs", "z", "m"), part("Add", "m two", "p"), part("Div", "z p", "y")],
    ],
)
def test_what_only_resembles_an_activation_is_not_taken_for_it(
    nodes: list[onnx.NodeProto], tmp_path: Path
) -> None:
    used = {each for made in nodes for each in made.input} & NUMBERS.keys()
    model = graph(MATMUL, *nodes, numbers=W | {each: NUMBERS[each] for each in used}, opset=20)
    with suppress(FileError):
        same(model, tmp_path)


def test_rms_norm_is_found_as_pytorch_writes_it(tmp_path: Path) -> None:
    numbers = {"two": NUMBERS["two"], "axes": np.array([1]), "eps": np.float32(1e-6)}
    nodes = [
        part("Pow", "x two", "p"), part("ReduceMean", "p axes", "m", keepdims=1),
        part("Add", "m eps", "e"), part("Sqrt", "e", "s"), part("Reciprocal", "s", "r"),
        part("Mul", "x r", "n"), part("Mul", "n gain", "y"),
    ]  # fmt: skip
    model = graph(*nodes, numbers=numbers | {"gain": floats(3)}, out=("batch", 3), opset=18)
    net = same(model, tmp_path)
    assert [repr(layer) for layer in net.layers] == ["RMSNorm(features=3, eps=1e-06)"]
    sv.onnx.save(net, tmp_path / "again.onnx")
    assert repr(sv.onnx.load(tmp_path / "again.onnx").layers[0]) == repr(net.layers[0])


def test_flatten_reshape_and_squeeze_are_read(tmp_path: Path) -> None:
    nodes = [
        node("Reshape", "x to", "r"),
        node("Squeeze", "r axes", "s"),
        node("Flatten", "s", "f"),
        node("MatMul", "f w", "y"),
    ]
    numbers = {"to": np.array([0, 1, -1]), "axes": np.array([1]), "w": floats(8, 2)}
    model = graph(*nodes, numbers=numbers, shape=("batch", 1, 2, 4))
    assert [repr(layer) for layer in same(model, tmp_path).layers] == [
        "Flatten(shape=[1, 2, 4])",
        "Dense(inputs=8, outputs=2, activation='linear', bias=False)",
    ]


@pytest.mark.parametrize("opset", [9, 13, 17, 21])
def test_old_and_new_opsets_are_read(opset: int, tmp_path: Path) -> None:
    nodes = [MATMUL, node("Relu", "z", "r"), node("Softmax", "r", "y")]
    assert len(same(graph(*nodes, numbers=W, opset=opset), tmp_path).layers) == 2


def test_vectors_that_were_stored_once_become_two(tmp_path: Path) -> None:
    numbers = {"w": floats(3, 3), "v": floats(3, 3, seed=1), "b": floats(3)}
    nodes = [node("Gemm", "x w b", "z", name="first"), node("Gemm", "z v b", "y", name="second")]
    net = same(graph(*nodes, numbers=numbers, out=("batch", 3)), tmp_path)
    assert net.names is not None
    assert [each["bias"] for each in net.names["layers"]] == ["b", "b_2"]
    net.layers[0].bank.value[net.layers[0].rows] = 0.0
    assert net.bank.value[net.layers[1].rows].any()


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
        node("Erf", "z", "h", name="/act/erf"),
        node("LeakyRelu", "z", "l", alpha=math.nan),
        node("Foo", "l", "f", domain="my.own"),
        node("Concat", "a h f", "y", axis=1),
    ]
    refused(
        FileError,
        "'memory' (LSTM): unsupported layer",
        "'/act/erf' (Erf): unsupported layer",
        "'leakyrelu' (LeakyRelu): leaky_relu cannot have the settings 'nan'",
        "'foo' (my.own.Foo): unsupported layer",
        "4 nodes have no counterpart here",
    ).by(read, graph(*nodes, numbers=W), tmp_path)


@pytest.mark.parametrize("labels", [{"int64s": [3, 5]}, {"strings": ["no", "yes"]}])
def test_a_list_of_maps_at_the_end_is_left_out_and_a_message_says_so(
    labels: dict[str, list[Any]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    ((kind, given),) = labels.items()
    made = {f"classlabels_{kind}": given}
    model = graph(MATMUL, node("ZipMap", "z", "y", domain="ai.onnx.ml", **made), numbers=W)
    model.graph.output[0].type.CopyFrom(onnx.TypeProto(sequence_type=onnx.TypeProto.Sequence()))
    x = floats(4, 3)
    np.testing.assert_allclose(read(model, tmp_path)(x), x @ W["w"], rtol=1e-5)
    assert "the ZipMap 'zipmap' at the end is left out" in caplog.text
    assert str(given) in caplog.text


def test_mul_and_concat_of_two_values_are_a_product_and_a_concatenation(tmp_path: Path) -> None:
    x = floats(2, 3)
    nodes = node("Mul", "x x", "z"), node("Tanh", "x", "t"), node("Concat", "t z", "y", axis=1)
    net = read(graph(*nodes, numbers={}, shape=(1, 3), out=None), tmp_path)
    assert net(x) == pytest.approx(np.concatenate([np.tanh(x), x * x], axis=1), rel=1e-6)


TWO = {"c": np.float32(2)}
CONV = {"k": floats(2, 3, 3, 3)}


@pytest.mark.parametrize(
    ("nodes", "numbers", "shape"),
    [
        ([MATMUL, node("Selu", "z", "y", alpha=2.0)], W, (1, 3)),
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
        ([node("Tan", "x", "y")], {}, (1, 3)),
        ([node("Div", "c x", "y")], TWO, (1, 3)),
        ([MATMUL, node("Cosh", "z", "y")], W, (1, 3)),
        ([MATMUL, node("Gelu", "z", "y", approximate="other")], W, (1, 3)),
        ([MATMUL, node("Celu", "z", "y", alpha=-1.0)], W, (1, 3)),
        ([node("Softmax", "x", "y", axis=1)], {}, (1, 3, 4, 4)),
        ([node("Conv", "x k", "y", group=3)], CONV, PICTURE),
        ([node("Conv", "x k", "y", strides=[1, 0])], CONV, PICTURE),
        ([node("Conv", "x k", "y", pads=[1, 1, 0, 0])], CONV, PICTURE),
        ([node("Conv", "x k", "y", dilations=[1, 3])], CONV, PICTURE),
        ([node("Conv", "x k", "y")], CONV, (1, 3, 2, 2)),
        ([node("Conv", "x k", "y")], CONV, (1, 4, 6, 6)),
        ([node("MaxPool", "x", "y", kernel_shape=[2])], {}, PICTURE),
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
        ([node("GlobalAveragePool", "x", "y")], {}, (1, 3)),
        ([node("Relu", "nothing", "y")], {}, (1, 3)),
        ([node("Div", "x c", "y")], {"c": np.float32(0)}, (1, 3)),
        ([node("Reshape", "x to", "y")], {"to": np.array([5, 3])}, (4, 3)),
        (
            [node("BatchNormalization", "x b b b v", "y")],
            B | {"v": np.float32([1, -1])}, (1, 2),
        ),
        ([MATMUL], W, (1, 3)),
        ([node("Relu", "x", "y")], {}, (3,)),
        ([node("MatMul", "x w", "y")], W, (1, None)),
        ([node("Gemm", "x w", "y", alpha=0.5)], W, (1, 3)),
        ([node("Conv", "x k", "y", auto_pad="SAME_UPPER")], CONV, PICTURE),
        ([node("Conv", "x k", "y")], CONV, (1, 3, None, None)),
        ([node("Div", "x c", "y")], {"c": np.float32(1e-44)}, (1, 3)),
        ([node("Scaler", "x", "y", domain="ai.onnx.ml", offset=[1.0, 2.0])], {}, (1, 3)),
        (
            [node("Scaler", "x", "y", domain="ai.onnx.ml", scale=[math.inf], offset=[0.0])],
            {}, (1, 3),
        ),
        ([node("Conv", "x k", "y", group=3)], CONV, (1, 9, 6, 6)),
        ([node("MaxPool", "x", "y", kernel_shape=[2, 2], dilations=[1, 2])], {}, PICTURE),
        ([MATMUL, node("Shrink", "z", "y", lambd=0.5, bias=0.3)], W, (1, 3)),
    ],
)  # fmt: skip
def test_what_cannot_be_had_says_why(
    nodes: Sequence[onnx.NodeProto],
    numbers: dict[str, Any],
    shape: Sequence[Any],
    tmp_path: Path,
) -> None:
    refused(FileError, "model.onnx").by(
        read, graph(*nodes, numbers=numbers, shape=shape, out=None), tmp_path
    )


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
        refused(FileError, "'concat'").by(read, model, tmp_path)


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
    refused(FileError, "'w'").by(read, graph(*nodes, numbers=numbers, out=None), tmp_path)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    for use in (lambda: sv.onnx.load("x.onnx"), lambda: sv.onnx.save(sv.Network([1, 1]), "x.onnx")):
        refused(InputError, "onnx").by(use)


FURTHER = TWO | B | {"t": np.array(True)}


@pytest.mark.parametrize(
    "made",
    [
        node("Clip", "z c", "y", name="one bound"),
        node("Clip", "z z", "y", name="a computed bound"),
        node("Clip", "z b", "y", name="many bounds"),
        node("LogSoftmax", "z", "y", axis=0, name="samples"),
        node("Dropout", "z c t", "y", name="training"),
    ],
    ids=lambda made: made.name,
)
def test_an_operator_with_other_numbers_is_refused(made: onnx.NodeProto, tmp_path: Path) -> None:
    numbers = {name: FURTHER[name] for name in made.input if name in FURTHER}
    refused(FileError, made.name).by(
        read, graph(MATMUL, made, numbers=W | numbers, shape=(1, 3), out=None), tmp_path
    )


# ---- classifiers --------------------------------------------------------------------------------


def classifier(rows: int, labels: int, **attributes: Any) -> onnx.ModelProto:
    """A linear classifier with its probabilities as the output."""
    about: dict[str, Any] = {
        "coefficients": floats(rows * 3).tolist(),
        "intercepts": floats(rows, seed=1).tolist(),
    }
    if labels:
        about["classlabels_ints"] = list(range(labels))
    made = helper.make_node(
        "LinearClassifier", ["x"], ["label", "y"], name="lc", domain="ai.onnx.ml",
        **(about | attributes),
    )  # fmt: skip
    return graph(made, out=None)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("intercepts", [True, False])
def test_a_linear_regressor_is_read(targets: int, intercepts: bool, tmp_path: Path) -> None:
    given = {"intercepts": floats(targets, seed=1).tolist()} if intercepts else {}
    made = helper.make_node(
        "LinearRegressor", ["x"], ["y"], name="lr", domain="ai.onnx.ml", targets=targets,
        coefficients=floats(targets, 3).ravel().tolist(), **given,
    )  # fmt: skip
    assert same(graph(made, out=None), tmp_path).outputs == targets


@pytest.mark.parametrize("after", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_with_a_row_for_each_class_is_read(
    after: str, classes: int, tmp_path: Path
) -> None:
    assert same(classifier(classes, classes, post_transform=after), tmp_path).outputs == classes


# ---- shapes that are for other numbers than features or channels ---------------------------------


def test_slopes_for_each_feature_may_have_an_axis_of_samples(tmp_path: Path) -> None:
    made = [MATMUL, node("PRelu", "z s", "y")]
    net = same(graph(*made, numbers=W | {"s": floats(1, 2)}, out=None), tmp_path)
    assert [type(each).__name__ for each in net.layers] == ["Dense", "PReLU"]


def test_a_sine_of_a_multiple_is_an_activation(tmp_path: Path) -> None:
    made = [node("Mul", "x m", "z"), node("Sin", "z", "y")]
    net = same(graph(*made, numbers={"m": np.array(30.0, np.float32)}, out=None), tmp_path)
    assert [type(each).__name__ for each in net.layers] == ["Affine", "Activation"]


@pytest.mark.parametrize(("start", "end", "outputs"), [(1, 3, 2), (-2, 9, 2), (0, -1, 3)])
def test_a_part_of_a_row_is_read(start: int, end: int, outputs: int, tmp_path: Path) -> None:
    numbers = {"a": np.array([start]), "b": np.array([end]), "c": np.array([1])}
    given = graph(node("Slice", "x a b c", "y"), numbers=numbers, out=None, shape=("batch", 4))
    assert same(given, tmp_path).outputs == outputs


@pytest.mark.parametrize(
    ("sizes", "opset", "more"),
    [
        ({}, 20, {"num_outputs": 2}),
        ({}, 11, {}),
        ({"sizes": [3, 1]}, 20, {}),
    ],
)
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2)])
def test_the_parts_of_a_split_are_all_read(
    sizes: dict[str, list[int]],
    opset: int,
    more: dict[str, Any],
    shape: tuple[int, ...],
    tmp_path: Path,
) -> None:
    numbers = {name: np.array(each) for name, each in sizes.items()}
    made = [
        node("Split", " ".join(["x", *sizes]), "a b", axis=1, **more),
        node("Sin", "b", "s"),
        node("Concat", "s a", "y", axis=1),
    ]
    same(graph(*made, numbers=numbers, opset=opset, out=None, shape=("batch", *shape)), tmp_path)


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        (node("Conv", "x k", "y", strides=[2], pads=[2, 2], dilations=[2]), (3, 9)),
        (node("MaxPool", "x", "y", kernel_shape=[3], strides=[2], pads=[1, 1]), (2, 8)),
        (node("AveragePool", "x", "y", kernel_shape=[2]), (2, 5)),
        (node("GlobalAveragePool", "x", "y"), (2, 5)),
        (node("ReduceMean", "x", "y", axes=[-1]), (2, 5)),
        (node("MaxPool", "x", "y", kernel_shape=[2, 3], pads=[1, 0, 1, 0]), (1, 4, 7)),
        (node("AveragePool", "x", "y", kernel_shape=[1, 3], strides=[2, 1]), (1, 4, 7)),
        (node("GlobalAveragePool", "x", "y"), (3, 4, 6)),
    ],
)
def test_windows_of_sequences_and_of_two_sizes_are_read(
    made: onnx.NodeProto, shape: tuple[int, ...], tmp_path: Path
) -> None:
    numbers = {"k": floats(4, 3, 3)} if "k" in made.input else {}
    same(graph(made, numbers=numbers, out=None, shape=("batch", *shape)), tmp_path)


def test_norms_of_channels_and_of_groups_are_read(tmp_path: Path) -> None:
    numbers = {"g": floats(4, seed=1), "s": floats(4, seed=2)}
    for made in (
        node("InstanceNormalization", "x g s", "y", epsilon=0.1),
        node("GroupNormalization", "x g s", "y", num_groups=2),
    ):
        for shape in ((4, 5), (4, 2, 3)):
            given = graph(made, numbers=numbers, out=None, shape=("batch", *shape), opset=21)
            assert type(same(given, tmp_path).layers[0]) is sv.GroupNorm


@pytest.mark.parametrize("keepdims", [0, 1])
def test_a_sum_or_mean_of_a_row_is_a_layer_whose_weights_stay(
    keepdims: int, tmp_path: Path
) -> None:
    for made, wanted in (
        (node("ReduceMean", "x", "y", axes=[1], keepdims=keepdims), 2.5),
        (node("ReduceSum", "x a", "y", keepdims=keepdims), 10.0),
    ):
        given = graph(made, numbers={"a": np.array([1])}, out=None, shape=("batch", 4))
        net = read(given, tmp_path)
        np.testing.assert_allclose(net([1.0, 2.0, 3.0, 4.0]), [wanted])
        assert net.layers[0].weight(0).frozen


def test_a_cosine_and_a_difference_of_two_values_are_read(tmp_path: Path) -> None:
    cosine = graph(MATMUL, node("Cos", "z", "y"), numbers=W)
    assert [layer.activation for layer in same(cosine, tmp_path).layers] == ["linear"] * 2 + ["sin"]
    same(graph(node("Tanh", "x", "z"), node("Sub", "x z", "y"), out=None), tmp_path)
    same(graph(node("Tanh", "x", "z"), node("Sub", "z x", "y"), out=None), tmp_path)


def test_several_inputs_are_parts_of_a_row(tmp_path: Path) -> None:
    given = graph(node("Concat", "q x", "y", axis=1), out=None, shape=("batch", 3))
    given.graph.input.append(
        onnx.helper.make_tensor_value_info("q", onnx.TensorProto.FLOAT, ["batch", 2])
    )
    net = read(given, tmp_path)
    assert net([1.0, 2.0, 3.0, 4.0, 5.0]).tolist() == [4.0, 5.0, 1.0, 2.0, 3.0]
    assert [*net.input_widths.items()] == [("x", 3), ("q", 2)]
    assert net({"q": [4.0, 5.0], "x": [1.0, 2.0, 3.0]}).tolist() == [4.0, 5.0, 1.0, 2.0, 3.0]


def joined(sizes: Sequence[int], axis: int) -> onnx.ModelProto:
    """Of two inputs, x and q, that are put side by side."""
    nodes = node("Concat", "x q", "z", axis=axis), node("Flatten", "z", "f"), node("Tanh", "f", "y")
    made = graph(*nodes, out=None, shape=("batch", *sizes))
    made.graph.input.append(
        onnx.helper.make_tensor_value_info("q", onnx.TensorProto.FLOAT, ["batch", *sizes])
    )
    return made


@pytest.mark.parametrize("axis", [1, -1])
def test_all_inputs_put_side_by_side_are_the_row(axis: int, tmp_path: Path) -> None:
    net = read(joined([3], axis), tmp_path)
    assert [type(layer) for layer in net.layers] == [sv.Activation]
    assert net.input_widths == {"x": 3, "q": 3}


def test_sizes_of_a_reshape_may_be_put_together_of_constants(tmp_path: Path) -> None:
    made = [
        node("Concat", "a b", "s", axis=0),
        node("Reshape", "x s", "z"),
        node("Flatten", "z", "y"),
    ]
    sizes = {"a": np.array([-1]), "b": np.array([8])}
    net = same(graph(*made, numbers=sizes, out=None, shape=("batch", 2, 2, 2)), tmp_path)
    assert net.outputs == 8


# ---- attributes of another type -----------------------------------------------------------------

ONE_CHANNEL = ("batch", 1, 4, 4)
KERNEL = {"k": floats(1, 1, 3, 3)}
POOL = {"kernel_shape": [2, 2]}


@pytest.mark.parametrize(
    ("odd", "shape"),
    [
        (node("MaxPool", "x", "y", kernel_shape=["a", "b"]), ONE_CHANNEL),
        (node("MaxPool", "x", "y", kernel_shape=[2.0, 2.0]), ONE_CHANNEL),
        (node("MaxPool", "x", "y", strides=["a", "a"], **POOL), ONE_CHANNEL),
        (node("Conv", "x k", "y", pads=["a"] * 4), ONE_CHANNEL),
        (node("Conv", "x k", "y", pads=[0.5] * 4), ONE_CHANNEL),
        (node("Squeeze", "x", "y", axes=["a"]), ONE_CHANNEL),
        (node("Unsqueeze", "x", "y", axes=[1.0]), (1, 3)),
        (node("LeakyRelu", "x", "y", alpha=float("nan")), (1, 3)),
        (node("Elu", "x", "y", alpha=float("nan")), (1, 3)),
        (node("Swish", "x", "y", alpha=float("nan")), (1, 3)),
        (node("Constant", "", "y", value=5), (1, 3)),
        (node("Constant", "", "y", value_string="a"), (1, 3)),
    ],
)
def test_attributes_of_another_kind_are_refused(
    odd: onnx.NodeProto, shape: tuple[Any, ...], tmp_path: Path
) -> None:
    refused(FileError, f"({odd.op_type})").by(
        read, graph(odd, numbers=KERNEL, shape=shape, out=None), tmp_path
    )


# ---- other graphs that are refused, and the reasons ----------------------------------------------


def own(operator: str, **attributes: Any) -> onnx.NodeProto:
    """A node of the operators of scikit-learn."""
    return helper.make_node(operator, ["x"], ["y"], name="own", domain="ai.onnx.ml", **attributes)


def split(sizes: Sequence[int] = (), axis: int = 1, **attributes: Any) -> onnx.ModelProto:
    given = "x sizes" if sizes else "x"
    made = node("Split", given, "a b", axis=axis, **attributes), node("Concat", "b a", "y", axis=1)
    numbers = {"sizes": np.array(sizes)} if sizes else {}
    return graph(*made, numbers=numbers, out=None, shape=("batch", 5))


def sliced(**other: int) -> onnx.ModelProto:
    """A part of a row, by other numbers."""
    known = {name: np.array([n]) for name, n in ({"a": 0, "b": 3, "c": 1} | other).items()}
    made = node("Slice", f"x {' '.join(sorted(known))}", "y")
    return graph(made, numbers=known, out=None, shape=("batch", 4))


SLOPES = [MATMUL, node("PRelu", "z s", "y")]
FLAT = node("Flatten", "z", "y")
SUMS = [node("Concat", "a b", "s", axis=0), node("Reshape", "x s", "z"), FLAT]
CUBES = {"out": None, "shape": ("batch", 2, 2, 2)}
TURNED = [node("Gemm", "x w", "z", name="there"), node("Gemm", "z w", "y", transB=1)]
WRONG = {
    "an output": (graph(node("MatMul", "x w", "y"), numbers=W, out=("batch", 7)), "(7,)"),
    "a product": (
        graph(MATMUL, node("Mul", "x z", "y"), numbers=W, shape=(1, 3), out=None), "it joins"
    ),
    "side by side": (
        graph(MATMUL, node("Concat", "x z", "y", axis=2), numbers=W, shape=(1, 3), out=None),
        "its axis",
    ),
    "columns": (joined([2, 2, 2], -1), "Concat"),
    "weights that are turned": (graph(*TURNED, numbers={"w": floats(3, 3)}, out=None), "'w'"),
    "L2": (graph(own("Normalizer", norm="L2"), out=None), "must be 'L1' here, not 'L2'"),
    "MAX": (graph(own("Normalizer", norm="MAX"), out=None), "must be 'L1' here, not 'MAX'"),
    "a row for two": (classifier(1, 2, post_transform="NONE"), "1 row of coefficients"),
    "a row, sigmoid": (classifier(1, 2, post_transform="LOGISTIC"), "1 row of coefficients"),
    "texts": (classifier(3, 3, coefficients=["a"] * 12), "'lc'"),
    "integers": (classifier(3, 3, coefficients=[1] * 12), "'lc'"),
    "no numbers": (classifier(3, 3, coefficients=[math.nan] * 12), "'lc'"),
    "intercepts": (
        graph(own("LinearRegressor", targets=1, coefficients=[1.0] * 6, intercepts=[0.0, 1.0])),
        "2 intercepts for 1 targets",
    ),
    "slopes of samples": (
        graph(*SLOPES, numbers=W | {"s": floats(2, 1)}, out=None), "its slopes have the shape"
    ),
    "slopes of pictures": (
        graph(*SLOPES, numbers=W | {"s": floats(2, 1, 1)}, out=None), "its slopes have the shape"
    ),
    "slopes of columns": (
        graph(node("PRelu", "x s", "z"), FLAT, numbers={"s": floats(2)}, **CUBES),
        "its slopes have the shape",
    ),
    "more samples": (
        graph(
            node("Expand", "x s", "z"), FLAT, numbers={"s": np.array([5, 2, 3, 3])}, out=None,
            shape=("batch", 2, 1, 1),
        ),
        "it makes",
    ),
    "sizes": (
        graph(*SUMS, numbers={"a": np.array([-1]), "b": np.array([[8]])}, **CUBES), "Concat"
    ),
    "a group": (
        graph(
            node("GroupNormalization", "x g s", "y", num_groups=2),
            numbers={"g": floats(2), "s": floats(4)}, out=None, shape=(1, 4, 5), opset=21,
        ),
        "its weight has the shape (2,)",
    ),
    "a sum": (
        graph(node("ReduceSum", "x a", "y"), numbers={"a": np.array([1, 2])}, shape=("batch", 4)),
        "axes are [1, 2]",
    ),
    "axis 0": (sliced(c=0), "axes [0]"),
    "every second": (sliced(d=2), "steps of [2]"),
    "nothing": (sliced(a=3), "none from 3"),
    "halves": (split(), "2 outputs of the sizes [2, 2], for (5,)"),
    "too many": (split([2, 4]), "2 outputs of the sizes [2, 4]"),
    "one part": (split([5]), "2 outputs of the sizes [5]"),
    "less than none": (split([6, -1]), "none from 0"),
    "three parts": (split(num_outputs=3), "its num_outputs must be 2"),
    "samples": (split(axis=0), "its axis must be 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_graph_that_cannot_be_had_says_why(name: str, tmp_path: Path) -> None:
    model, said = WRONG[name]
    refused(FileError, said).by(read, model, tmp_path)


# ---- numbers in the graph -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"value_float": 0.5}, [0.5, 0.5]),
        ({"value_floats": [0.5, -2.0]}, [0.5, -2.0]),
        ({"value": helper.make_tensor("", TensorProto.FLOAT, (2,), [3.0, 4.0])}, [3.0, 4.0]),
    ],
)
def test_a_constant_may_say_its_numbers_in_many_ways(
    about: dict[str, Any], expected: list[float], tmp_path: Path
) -> None:
    nodes = [node("Constant", "", "b", **about), MATMUL, node("Add", "z b", "y")]
    assert same(graph(*nodes, numbers=W), tmp_path).bank.value[6:].tolist() == expected


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,), (1, 2)])
@pytest.mark.parametrize("form", ["Gemm", "Add"])
def test_a_bias_may_be_one_number_for_all(
    form: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    nodes = [node("Gemm", "x w b", "y")] if form == "Gemm" else [MATMUL, node("Add", "b z", "y")]
    net = same(graph(*nodes, numbers=W | {"b": floats(*shape)}), tmp_path)
    sv.onnx.save(net, tmp_path / "again.onnx")
    (bias,) = [n for n in onnx.load(tmp_path / "again.onnx").graph.initializer if n.name == "b"]
    assert list(bias.dims) == [2]
    np.testing.assert_array_equal(sv.onnx.load(tmp_path / "again.onnx").bank.value, net.bank.value)


def test_a_convolution_may_have_groups_dilations_and_two_strides(tmp_path: Path) -> None:
    about = {"pads": [2, 1, 2, 1], "group": 2, "dilations": [2, 1], "strides": [1, 3]}
    conv, numbers = node("Conv", "x k", "y", **about), {"k": floats(6, 2, 5, 5)}
    net = same(graph(conv, numbers=numbers, shape=("batch", 4, 9, 7), out=None), tmp_path)
    assert net.layers[0].settings()["groups"] == 2
    there_and_back(net, tmp_path / "again.onnx")


def frozen(**options: Any) -> list[str]:
    """The names of what is frozen, which is so as a whole."""
    net = sv.onnx.load(FOLDER / "torch_conv.onnx", **options)
    assert net.names is not None
    found = []
    for layer, names in zip(net.layers, net.names["layers"], strict=True):
        biases = layer.rows.stop - getattr(layer, "count", 0)
        for role, rows in (
            ("weight", slice(layer.first_row, biases)),
            ("bias", slice(biases, layer.rows.stop)),
        ):
            if net.bank.frozen[rows].any():
                assert net.bank.frozen[rows].all()
                found.append(names[role])
    return found


@pytest.mark.parametrize(
    ("options", "stays"),
    [
        ({}, ""),
        ({"train": ["7", "3.bias"]}, "0.weight 0.bias 3.weight"),
        ({"freeze": ["0"]}, "0.weight 0.bias"),
        ({"freeze": ["*.bias"]}, "0.bias 3.bias 7.bias"),
        ({"train": ["7.*"], "freeze": ["0", "3"]}, "0.weight 0.bias 3.weight 3.bias"),
        ({"train": []}, "0.weight 0.bias 3.weight 3.bias 7.weight 7.bias"),
    ],
)
def test_chosen_parameters_learn_and_the_others_stand_still(
    options: dict[str, Any], stays: str
) -> None:
    assert frozen(**options) == stays.split()


@pytest.mark.parametrize(
    ("options", "error", "value"),
    [
        ({"train": ["3.wieght"]}, UnknownNameError, "'3.wieght'"),
        ({"freeze": ["3.b"]}, UnknownNameError, "'3.b'"),
        ({"train": "7"}, InputError, "'7'"),
        ({"train": ["7"], "freeze": ["0", "3", "7.bias"]}, InputError, "'7.bias'"),  # in both
        ({"train": ["7"], "freeze": ["0"]}, InputError, "'3.bias'"),  # in neither
    ],
)
def test_a_wrong_choice_of_parameters_is_refused(
    options: dict[str, Any], error: type[Exception], value: str
) -> None:
    refused(error, value).by(frozen, **options)
