"""Program: a network as a table of operations, run by numpy, agrees with its objects."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, typed
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.errors import UnknownNameError
from tests.sessions import networks
from tests.wording import refused

Array = np.ndarray[Any, np.dtype[np.float64]]


def parameters(operation: Operation, numbers: Array) -> tuple[Array, Array | None]:
    """The weights and biases of an operation, as views of a flat array."""
    rows, size = operation.parameters, operation.target.size // operation.outputs_per_bias
    weights = numbers[rows.start : rows.stop - (operation.biases != NONE) * size]
    biases = None if operation.biases == NONE else numbers[operation.biases :][:size]
    return weights.reshape(size, -1), biases


def forward(program: Program, value: Array, x: Array) -> Array:
    """The workspace of a batch after all operations, one row a sample."""
    space = np.full((len(x), program.workspace), np.nan)
    space[:, : program.inputs.size] = x
    for operation in program.operations:
        source, target = part(space, operation.source), part(space, operation.target)
        if operation.kind == "affine":
            weights, biases = parameters(operation, value)
            target[:] = source @ weights.T + (0.0 if biases is None else biases)
        elif operation.kind == "scale":
            weights, biases = parameters(operation, value)
            target[:] = source * weights[:, 0] + (0.0 if biases is None else biases)
        elif operation.kind == "convolution":
            weights, biases = parameters(operation, value)
            seen = windows(operation, source)
            sums = np.einsum("nws,ks->nkw", seen, on_all_channels(operation, weights))
            target[:] = (sums + (0.0 if biases is None else biases[:, None])).reshape(target.shape)
        elif operation.kind == "branch":
            target[:] = source
        elif operation.kind == "sum":
            target[:] = source + part(space, operation.sources[1])
        elif operation.kind == "product":
            target[:] = source * part(space, operation.sources[1])
        elif operation.kind == "concatenation":
            target[:] = np.hstack([part(space, each) for each in operation.sources])
        elif operation.kind == "activation":
            target[:] = np.vectorize(ACTIVATIONS[operation.formula].value)(source)
        else:
            for x_row, y_row in zip(source, target, strict=True):
                ROW_FORMULAS[operation.formula].forward(x_row, y_row, *settings(operation))
    return space


def backward(program: Program, value: Array, space: Array, upstream: Array) -> tuple[Array, Array]:
    """The gradient of the parameters, and that of the inputs."""
    grad, flow = np.zeros_like(value), np.zeros_like(space)
    part(flow, program.outputs)[:] = upstream
    for operation in reversed(program.operations):
        x, y = part(space, operation.source), part(space, operation.target)
        g = part(flow, operation.target)
        if operation.kind in ("affine", "scale"):
            weights, _ = parameters(operation, value)
            by_weights, by_biases = parameters(operation, grad)
            if operation.kind == "affine":
                by_weights += g.T @ x
                part(flow, operation.source)[:] += g @ weights
            else:
                by_weights[:, 0] += (g * x).sum(axis=0)
                part(flow, operation.source)[:] += g * weights[:, 0]
            if by_biases is not None:
                by_biases += g.sum(axis=0)
        elif operation.kind == "convolution":
            weights, _ = parameters(operation, value)
            by_weights, by_biases = parameters(operation, grad)
            by_windows = g.reshape(len(g), len(weights), -1)
            by_all = np.einsum("nkw,nws->ks", by_windows, windows(operation, x))
            by_weights += np.take_along_axis(by_all, own_columns(operation), axis=1)
            if by_biases is not None:
                by_biases += by_windows.sum(axis=(0, 2))
            spread = np.einsum("nkw,ks->nws", by_windows, on_all_channels(operation, weights))
            one = np.eye(x.shape[1])  # where a number of the picture is seen
            places = windows(operation, one)
            part(flow, operation.source)[:] += np.einsum("nws,iws->ni", spread, places)
        elif operation.kind == "branch":
            part(flow, operation.source)[:] += g
        elif operation.kind == "sum":
            for each in operation.sources:
                part(flow, each)[:] += g
        elif operation.kind == "product":
            for each, factor in zip(operation.sources, operation.sources[::-1], strict=True):
                part(flow, each)[:] += g * part(space, factor)
        elif operation.kind == "concatenation":
            for each, own in zip(operation.sources, np.split(g, [x.shape[1]], axis=1), strict=True):
                part(flow, each)[:] += own
        elif operation.kind == "activation":
            derivative = np.vectorize(ACTIVATIONS[operation.formula].derivative)
            part(flow, operation.source)[:] += g * derivative(x, y)
        else:
            formula, gradient = ROW_FORMULAS[operation.formula], np.zeros(operation.source.size)
            for row in range(len(x)):
                scale = formula.forward(x[row], y[row].copy(), *settings(operation))
                formula.backward(x[row], y[row], scale, g[row], gradient, *settings(operation))
                part(flow, operation.source)[row] += gradient
    return grad, part(flow, program.inputs)


def windows(operation: Operation, pictures: Array) -> Array:
    """What each window of a convolution sees, (samples, windows, numbers)."""
    channels, height, width, tall, broad, down, across, above, *gaps, _, beside = map(
        int, operation.settings
    )
    shaped = pictures.reshape(-1, channels, height, width)
    padded = np.pad(shaped, ((0, 0), (0, 0), (above, above), (beside, beside)))
    extent = (tall - 1) * gaps[0] + 1, (broad - 1) * gaps[1] + 1
    seen = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
    seen = seen[:, :, ::down, ::across, :: gaps[0], :: gaps[1]].transpose(0, 2, 3, 1, 4, 5)
    return seen.reshape(len(shaped), -1, channels * tall * broad)


def own_columns(operation: Operation) -> Array:
    """Where each kernel has its weights, if it had some for all channels: (kernels, numbers)."""
    kernels, channels, tall, broad = operation.shape
    group = np.arange(kernels) * int(operation.settings[10]) // kernels
    columns: Array = np.arange(channels * tall * broad)
    return columns + group[:, None] * len(columns)


def on_all_channels(operation: Operation, weights: Array) -> Array:
    """Kernels with weights for all channels, which are 0 for those of other groups."""
    found = np.zeros((len(weights), weights.shape[1] * int(operation.settings[10])))
    np.put_along_axis(found, own_columns(operation), weights, axis=1)
    return found


def part(space: Array, buffer: Any) -> Array:
    return space[:, buffer.offset : buffer.offset + buffer.size]


def settings(operation: Operation) -> list[Any]:
    """What its formula takes, whole numbers as such."""
    return typed(ROW_FORMULAS[operation.formula].forward, operation.settings)


@given(networks())
def test_a_program_gives_what_the_objects_give(case: tuple[sv.Network, Array]) -> None:
    net, batch = case
    space = forward(net.program, net.bank.value, batch)
    outputs = net.forward(batch)
    assert part(space, net.program.outputs) == pytest.approx(outputs, rel=1e-12, abs=1e-12)
    upstream = np.random.default_rng(0).normal(size=outputs.shape)
    by_inputs = net.backward(upstream)
    grad, flow = backward(net.program, net.bank.value, space, upstream)
    assert grad == pytest.approx(net.bank.grad, rel=1e-10, abs=1e-10)
    assert flow == pytest.approx(by_inputs, rel=1e-10, abs=1e-10)


def test_it_prints_as_a_table() -> None:
    assert repr(sv.Network([3, 8, 3], "tanh").program).splitlines() == [
        "Program: 3 operations, 3 -> 3, workspace of 22 numbers a sample",
        "   operation  reads     writes    shape   parameters",
        "0  affine 0   inputs    affine 0  3 -> 8  0 to 31",
        "1  tanh 0     affine 0  tanh 0    8 -> 8  -",
        "2  affine 1   tanh 0    affine 1  8 -> 3  32 to 58",
    ]


@pytest.mark.parametrize(
    ("kind", "formula", "value"),
    [
        ("activation", "tahn", "'tahn'"),
        ("row", "layernorm", "'layernorm'"),
        ("afine", "", "'afine'"),
    ],
)
def test_an_operation_that_no_engine_knows_is_refused_by_name(
    kind: str, formula: str, value: str
) -> None:
    refused(UnknownNameError, value).by(Program(3).add, kind, formula, size=3)
