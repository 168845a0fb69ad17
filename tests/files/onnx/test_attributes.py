"""Attributes of ONNX nodes, and constants: read or refused."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import scalarviz as sv
from scalarviz.errors import FileError
from tests.files.onnx.models import floats, graph, node, read, same, there_and_back
from tests.wording import refused

W = {"w": floats(3, 2)}
MATMUL = node("MatMul", "x w", "z")


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


@pytest.mark.parametrize("norm", ["L2", "MAX"])
def test_a_normalizer_that_is_no_sum_is_refused(norm: str, tmp_path: Path) -> None:
    made = helper.make_node("Normalizer", ["x"], ["y"], name="n", domain="ai.onnx.ml", norm=norm)
    with refused(FileError, f"its norm must be 'L1' here, not '{norm}'"):
        read(graph(made, out=None), tmp_path)


@pytest.mark.parametrize("after", ["NONE", "SOFTMAX"])
def test_a_classifier_of_two_classes_and_one_row_is_refused(after: str, tmp_path: Path) -> None:
    with refused(FileError, "1 row of coefficients"):
        read(classifier(1, 2, post_transform=after), tmp_path)


def test_a_row_for_two_classes_with_a_sigmoid_gives_the_shares_of_both(tmp_path: Path) -> None:
    net = same(classifier(1, 2, post_transform="LOGISTIC"), tmp_path)
    assert net(floats(5, 3)).sum(axis=1) == pytest.approx(np.ones(5))


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


def test_a_linear_regressor_has_an_intercept_for_each_target(tmp_path: Path) -> None:
    made = helper.make_node(
        "LinearRegressor", ["x"], ["y"], name="lr", domain="ai.onnx.ml", targets=1,
        coefficients=floats(2, 3).ravel().tolist(), intercepts=[0.0, 1.0],
    )  # fmt: skip
    with refused(FileError, "2 intercepts for 1 targets"):
        read(graph(made, out=None), tmp_path)


# ---- shapes that are for other numbers than features or channels ---------------------------------


@pytest.mark.parametrize("shape", [(2, 1), (2, 1, 1)])
def test_slopes_for_each_sample_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    made = [MATMUL, node("PRelu", "z s", "y")]
    with refused(FileError, "its slopes have the shape"):
        read(graph(*made, numbers={**W, "s": floats(*shape)}, out=None), tmp_path)


def test_slopes_for_each_column_of_a_picture_are_refused(tmp_path: Path) -> None:
    made = [node("PRelu", "x s", "z"), node("Flatten", "z", "y")]
    given = graph(*made, numbers={"s": floats(2)}, out=None, shape=("batch", 2, 2, 2))
    with refused(FileError, "its slopes have the shape"):
        read(given, tmp_path)


def test_an_expand_to_more_samples_is_refused(tmp_path: Path) -> None:
    made = [node("Expand", "x s", "z"), node("Flatten", "z", "y")]
    sizes = np.array([5, 2, 3, 3])
    given = graph(*made, numbers={"s": sizes}, out=None, shape=("batch", 2, 1, 1))
    with refused(FileError, "it makes"):
        read(given, tmp_path)


# ---- attributes of another type -----------------------------------------------------------------

PICTURE = ("batch", 1, 4, 4)
KERNEL = {"k": floats(1, 1, 3, 3)}
POOL = {"kernel_shape": [2, 2]}


@pytest.mark.parametrize(
    ("odd", "shape"),
    [
        (node("MaxPool", "x", "y", kernel_shape=["a", "b"]), PICTURE),
        (node("MaxPool", "x", "y", kernel_shape=[2.0, 2.0]), PICTURE),
        (node("MaxPool", "x", "y", strides=["a", "a"], **POOL), PICTURE),
        (node("Conv", "x k", "y", pads=["a"] * 4), PICTURE),
        (node("Conv", "x k", "y", pads=[0.5] * 4), PICTURE),
        (node("Transpose", "x", "y", perm=["a", "b"]), (1, 3)),
        (node("Transpose", "x", "y", perm=[0.0, 1.0]), (1, 3)),
        (node("Squeeze", "x", "y", axes=["a"]), PICTURE),
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
    with refused(FileError, f"({odd.op_type})"):
        read(graph(odd, numbers=KERNEL, shape=shape, out=None), tmp_path)


@pytest.mark.parametrize("numbers", [["a"] * 12, [1] * 12, [float("nan")] * 12])
def test_coefficients_that_are_no_numbers_are_refused(numbers: list[Any], tmp_path: Path) -> None:
    with refused(FileError, "'lc'"):
        read(classifier(3, 3, coefficients=numbers), tmp_path)


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
    net = same(graph(*nodes, numbers=W), tmp_path)
    assert net.bank.value[6:].tolist() == expected


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
    again = sv.onnx.load(tmp_path / "again.onnx")
    np.testing.assert_array_equal(again.bank.value, net.bank.value)


# onnxruntime pads nothing by itself where there are dilations.
@pytest.mark.parametrize(
    ("auto_pad", "dilations"), [("SAME_UPPER", [1, 1]), ("SAME_LOWER", [1, 1]), ("VALID", [2, 1])]
)
def test_a_convolution_may_have_groups_dilations_and_two_strides(
    auto_pad: str, dilations: list[int], tmp_path: Path
) -> None:
    about = {"auto_pad": auto_pad, "group": 2, "dilations": dilations, "strides": [1, 3]}
    conv, numbers = node("Conv", "x k", "y", **about), {"k": floats(6, 2, 5, 5)}
    net = same(graph(conv, numbers=numbers, shape=("batch", 4, 9, 7), out=None), tmp_path)
    assert net.layers[0].settings()["groups"] == 2
    there_and_back(net, tmp_path / "again.onnx")


def test_the_same_weights_turned_are_another_layer(tmp_path: Path) -> None:
    nodes = [node("Gemm", "x w", "z", name="there"), node("Gemm", "z w", "y", transB=1)]
    with refused(FileError, "'w'"):
        read(graph(*nodes, numbers={"w": floats(3, 3)}, out=None), tmp_path)
