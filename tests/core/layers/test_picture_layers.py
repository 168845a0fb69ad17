"""Conv2d and arrays of parameters: sums over windows, shapes as in PyTorch, names, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines.reference import OperationArrays, operation_backward, operation_forward
from scalarviz.errors import InputError, NotFiniteError, OwnershipError, ShapeError
from tests.sessions import advanced
from tests.wording import refused


def test_a_weight_is_one_object_that_remembers_an_input_for_each_window() -> None:
    layer = sv.Conv2d((1, 3, 3), 1, kernel=2, bias=False)
    weight = layer.perceptrons[0].weights[0]
    layer.forward(np.arange(9.0))
    assert weight.unmatched == 4  # the four windows
    layer.backward(np.ones(4))
    assert weight.unmatched == 0
    assert weight.grad == 0 + 1 + 3 + 4  # what it saw, each times an upstream of 1


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1])
def test_it_is_a_sum_over_windows(stride: int, padding: int) -> None:
    layer = sv.Conv2d((2, 5, 6), 3, kernel=(2, 3), stride=stride, padding=padding)
    x = np.random.default_rng(0).normal(size=(2, 2, 5, 6))
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    expected = np.einsum("ncyxhw,ochw->noyx", windows, layer.bank.value[:36].reshape(3, 2, 2, 3))
    expected += layer.bank.value[36:].reshape(3, 1, 1)
    assert layer.output_shape == expected.shape[1:]
    assert layer(x.reshape(2, -1)) == pytest.approx(expected.reshape(2, -1))


SIZES = (4, 5, 5), 6


@pytest.mark.parametrize(
    ("sizes", "settings", "error", "value"),
    [
        (((1, 2, 2), 1, 3), {}, ShapeError, "2 x 2"),
        (((1, 4, 4), 1, 2, 1, 2), {}, ShapeError, "padding of 2"),
        (((4, 4), 1), {}, ShapeError, "(4, 4)"),
        (SIZES, {"groups": 3}, ShapeError, "groups is 3"),
        (SIZES, {"groups": 4}, ShapeError, "groups is 4"),
        (SIZES, {"groups": 0}, InputError, "0"),
        (SIZES, {"dilation": 0}, InputError, "0"),
        (SIZES, {"dilation": (1, 2.5)}, InputError, "2.5"),
        (SIZES, {"dilation": (1, 3)}, ShapeError, "3 x 7"),
        (SIZES, {"stride": (1, 2, 3)}, InputError, "(1, 2, 3)"),
        (SIZES, {"padding": 5, "dilation": 2}, ShapeError, "5 x 5"),
    ],
)
def test_windows_groups_and_dilations_that_make_no_sense_are_refused(
    sizes: tuple, settings: dict, error: type[Exception], value: str
) -> None:
    refused(error, value).by(sv.Conv2d, *sizes, **settings)


def test_a_kernel_sees_the_channels_of_its_group_only() -> None:
    layer = sv.Conv2d((4, 3, 3), 2, groups=2, bias=False)
    assert layer.kernel.shape == (2, 2, 3, 3)
    layer.kernel = np.ones((2, 2, 3, 3))
    assert layer(np.repeat([1.0, 10.0, 100.0, 1000.0], 9)).tolist() == [9 * 11.0, 9 * 1100.0]
    assert layer.row_name(18) == "kernel 1, weight of channel 2 at 0, 0"


@pytest.mark.some(12)
@pytest.mark.parametrize("stride", [1, 2, (2, 1), (1, 3)])
@pytest.mark.parametrize("dilation", [1, 2, (1, 2), (3, 2)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_engines_agree_on_groups_dilations_and_strides(
    stride: Any, dilation: Any, groups: int
) -> None:
    layer = sv.Conv2d((4, 7, 8), 8, (3, 2), stride, 1, dilation=dilation, groups=groups)
    x = np.random.default_rng(0).normal(size=(9, layer.inputs))
    g = np.random.default_rng(1).normal(size=(9, layer.outputs))
    found = []
    for engine in ("python", "cpu"):
        # A layer before it, so that its inputs get a gradient.
        net = sv.Network([sv.Activation(layer.inputs, "linear"), layer.again()], dtype="float64")
        net.to(engine)
        found.append([net.forward(x), net.backward(g), net.bank.grad.copy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    (operation,) = [each for each in net.program.operations if each.parameters]
    numbers = OperationArrays(net.bank.value, net.bank.state, 0, (x,), upstream=g)
    np.testing.assert_allclose(operation_forward(operation, numbers), found[0][0], atol=1e-12)
    np.testing.assert_allclose(operation_backward(operation, numbers)[0], found[0][1], atol=1e-12)


def test_fans_are_those_of_pytorch() -> None:
    # torch.nn.init._calculate_fan_in_and_fan_out of its weights.
    assert sv.Conv2d((4, 5, 5), 6, 3, groups=2).fans() == (2 * 9, 6 * 9)


def test_a_layer_of_an_older_file_has_one_group_and_only_other_ones_say_it() -> None:
    plain = sv.Conv2d((2, 5, 5), 4, stride=2, padding=1)
    assert plain.settings() == {
        "shape": [2, 5, 5], "channels": 4, "kernel": [3, 3], "stride": 2, "padding": 1,
        "activation": "linear", "bias": True,
    }  # fmt: skip
    other = sv.Conv2d((2, 5, 5), 4, stride=(2, 1), dilation=2, groups=2)
    assert other.settings() == plain.settings() | {
        "stride": [2, 1], "padding": 0, "dilation": 2, "groups": 2
    }  # fmt: skip
    assert other.again().settings() == other.settings()


def test_an_operation_knows_every_use_of_a_weight() -> None:
    net = sv.Network([sv.Conv2d((2, 4, 3), 2, 3, 1, 1, bias=True)], seed=2, dtype="float64")
    (operation,) = net.program.operations
    assert operation.shape == (2, 2, 3, 3) and operation.outputs_per_bias == 12
    x = np.random.default_rng(1).normal(size=24)
    g = np.random.default_rng(2).normal(size=24)
    net.forward(x)
    net.backward(g)
    for row in operation.parameters:
        written, read = operation.uses(row)
        total = g[written].sum() if read is None else (g[written] * x[read]).sum()
        assert total == pytest.approx(net.bank.grad[row])


def test_explain_lists_every_place_where_a_weight_is_used() -> None:
    net = sv.Network([sv.Conv2d((1, 4, 4), 2), sv.Dense(8, 2)], seed=0, dtype="float64")
    x = np.random.default_rng(0).normal(size=(3, 16))
    session = advanced(
        sv.Session(net, (x, x[:, :2]), batch=None, engine="cpu", optimizer=sv.SGD(0.1)),
        len(net.program.moments) - 1,
        "operation",
    )
    weight = net.layers[0].perceptrons[1].weights[4]  # type: ignore[attr-defined]  # of a layer that has it
    told = session.explain(weight)
    assert len(told.x) == 3 * 4  # samples times windows
    assert told.total == pytest.approx(weight.grad)
    session.advance(1, "operation")
    assert weight.value == pytest.approx(told.new_value)


every_engine = pytest.mark.parametrize("engine", ["python", "cpu"])


def network(**options: Any) -> sv.Network:
    return sv.Network(
        [
            sv.Conv2d((2, 4, 4), channels=3, kernel=(2, 3), activation="relu"),
            sv.BatchNorm((3, 3, 2)),
            sv.Flatten((3, 3, 2)),
            sv.Dense(18, 5, "tanh"),
            sv.LayerNorm(5),
            sv.Residual(sv.RMSNorm(5), sv.Dense(5, 5, bias=False)),
        ],
        **options,
    )


def test_each_number_is_that_of_its_weight() -> None:
    net = network(dtype="float64")
    dense, conv = net.layers[3], net.layers[0]
    for i, perceptron in enumerate(dense.perceptrons):
        assert dense.kernel[i].tolist() == [w.value for w in perceptron.weights]
        assert dense.bias[i] == perceptron.bias.value
    conv.kernel[2, 1, 0, 2] = 7.0
    assert conv.perceptrons[2].weights[6 + 2].value == 7.0
    assert conv.perceptrons[2].weights[8].name == ("layer 0, kernel 2, weight of channel 1 at 0, 2")
    norm = net.layers[4]
    norm.kernel[:], norm.bias[:] = 3.0, -1.0
    assert {w.value for w in norm.gains} == {3.0} and {w.value for w in norm.shifts} == {-1.0}


@every_engine
def test_a_network_computes_with_what_is_written_into_them(
    engine: str, rng: np.random.Generator
) -> None:
    net = sv.Network([3, 4, 2], "tanh", dtype="float64").to(engine)
    first, last = net.layers
    first.kernel[:] = a = rng.standard_normal((4, 3))
    first.bias = b = rng.standard_normal(4)
    last.kernel = c = rng.standard_normal((2, 4))
    last.bias *= 0.0
    x = rng.standard_normal((5, 3))
    np.testing.assert_allclose(net(x), np.tanh(x @ a.T + b) @ c.T, rtol=0, atol=1e-14)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    net = network()
    dense, conv = net.layers[3], net.layers[0]
    before = net.bank.value.copy()
    refused(ShapeError, "(5, 18)", "(18, 5)").by(setattr, dense, "kernel", np.zeros((18, 5)))
    refused(NotFiniteError, "nan", "[1, 0, 0, 2]").by(
        setattr, conv, "kernel", np.where(np.arange(36).reshape(3, 2, 2, 3) == 14, np.nan, 0.0)
    )
    refused(NotFiniteError, "1e+300", "float32").by(
        setattr, dense, "bias", [0.0, 0.0, 1e300, 0.0, 0.0]
    )
    refused(InputError, "'many'").by(setattr, dense, "kernel", "many")
    refused(InputError, "has no bias").by(setattr, net.layers[5].layers[1], "bias", np.zeros(5))
    assert (net.bank.value == before).all()


def test_a_layer_whose_array_was_handed_out_joins_no_network() -> None:
    layer = sv.Dense(2, 2)
    layer.kernel  # noqa: B018  # a write to it would be lost
    refused(OwnershipError, "Dense(2 -> 2)").by(sv.Network, [layer])
    assert sv.Dense(2, 2, bias=False).bias is None


def test_what_numpy_has_written_in_place_is_not_called_unchanged() -> None:
    dense = network().layers[3]
    with refused(NotFiniteError, "nan", "[0, 0]", "already written it"):
        dense.kernel += np.nan
    dense.kernel = np.ones((5, 18))
    dense.kernel *= 2.0
    assert (dense.kernel == 2.0).all()
    refused(NotFiniteError, "None", "[1]", "nothing was changed").by(
        setattr, dense, "bias", [0.0, None, 0.0, 0.0, 0.0]
    )
