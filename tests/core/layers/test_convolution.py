"""Conv2d: sums over windows, one Weight for many windows, names, errors."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import ShapeError
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
    kernels = layer.bank.value[:36].reshape(3, 2, 2, 3)
    expected = np.einsum("ncyxhw,ochw->noyx", windows, kernels)
    expected += layer.bank.value[36:].reshape(3, 1, 1)
    assert layer.output_shape == expected.shape[1:]
    assert layer(x.reshape(2, -1)) == pytest.approx(expected.reshape(2, -1))


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (((1, 2, 2), 1, 3), "2 x 2"),
        (((1, 4, 4), 1, 2, 1, 2), "padding of 2"),
        (((4, 4), 1), "(4, 4)"),
    ],
)
def test_windows_that_make_no_sense_are_refused(arguments: tuple, value: str) -> None:
    with refused(ShapeError, value):
        sv.Conv2d(*arguments)


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
    session = sv.Session(net, (x, x[:, :2]), batch=None, engine="cpu", optimizer=sv.SGD(0.1))
    session.advance(len(net.program.moments) - 1, "operation")
    weight = net.layers[0].perceptrons[1].weights[4]  # type: ignore[attr-defined]  # of a layer that has it
    told = session.explain(weight)
    assert len(told.x) == 3 * 4  # samples times windows
    assert told.total == pytest.approx(weight.grad)
    session.advance(1, "operation")
    assert weight.value == pytest.approx(told.new_value)
