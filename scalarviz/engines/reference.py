"""Reference operations: each kind of operation on a batch, forward and backward, in numpy.

These are the readable definitions of the operations, in float64; arrays have shape (samples, size).
The python engine uses them for numbers between its method calls; other engines use them for
operations without a kernel, and log how long this takes. An overflow gives infinity without a
warning, as on every engine; the optimizer step then raises the error.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, shorten
from scalarviz.base.messages import inform
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ROW_FORMULAS, typed
from scalarviz.core.layers.elementwise_layers import dropout_factors
from scalarviz.core.layers.layer import Batch, Layer
from scalarviz.core.program import (
    NONE,
    Buffer,
    Operation,
    Program,
    Windows,
    parametric_counts,
    places_of,
)
from scalarviz.errors import InputError

Key = TypeVar("Key", str, Buffer)


class OperationArrays(NamedTuple):
    """Arguments of an operation.

    Attributes:
        value, state, step: parameters, state and step count of the network's bank
        inputs: values of each input buffer; `x` is the first one
        y: outputs, for backward
        upstream: gradient with respect to the outputs
        learning: whether the network is trained; otherwise dropout is disabled, and running
            statistics are used instead of batch statistics
        first: index in the batch of the first sample
    """

    value: FloatArray
    state: FloatArray
    step: int
    inputs: tuple[FloatArray, ...]
    y: FloatArray | None = None
    upstream: FloatArray | None = None
    learning: bool = True
    first: int = 0

    @property
    def x(self) -> FloatArray:
        return self.inputs[0]


@dataclass(frozen=True, slots=True)
class Reference:
    """The functions for a kind of operation: forward returns y, backward the gradient of x.

    For a kind with several inputs, backward returns a tuple with the gradient of each. For the kind
    "own", a custom layer, the tuple ends with the gradient of its parameters.
    """

    forward: Callable[[Operation, OperationArrays], FloatArray]
    backward: Callable[[Operation, OperationArrays], FloatArray | tuple[FloatArray, ...]]


def operation_forward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return the outputs of an operation, computed by its reference."""
    with np.errstate(all="ignore"):
        return reference_of(operation).forward(operation, numbers)


def sent_forward(
    program: Program,
    inputs: FloatArray,
    numbers: OperationArrays,
    learns: Callable[[Operation], bool],
) -> tuple[dict[str, FloatArray], Sequence[tuple[Operation, OperationArrays]]]:
    """Run a batch forward through a program; return values by buffer, and each operation's arrays.

    Args:
        inputs: the samples, one per row
        numbers: parameters, state and step count of the network, and the index of the first sample
        learns: function that returns whether an operation computes as in training
    """
    found, passed = {program.inputs.name: np.asarray(inputs, np.float64)}, []
    with np.errstate(all="ignore"):
        for each in program.operations:
            read = tuple([found[source.name] for source in each.sources])
            arrays = OperationArrays(*numbers[:3], read, None, None, learns(each), numbers.first)
            found[each.target.name] = reference_of(each).forward(each, arrays)
            passed.append((each, arrays))
    return found, passed


def send_back(
    passed: Sequence[tuple[Operation, OperationArrays]],
    found: Mapping[str, FloatArray],
    flows: dict[str, FloatArray],
) -> None:
    """Add the gradients of all buffers to `flows`, which initially has the output gradients.

    Args:
        passed, found: operations and values, as returned by `sent_forward`
    """
    for operation, arrays in reversed(passed):
        arrays = arrays._replace(
            y=found[operation.target.name], upstream=flows[operation.target.name]
        )
        gradients = operation_backward(operation, arrays)
        add_gradients(flows, zip([x.name for x in operation.sources], gradients, strict=True))


def program_forward(
    program: Program, value: FloatArray, state: FloatArray, inputs: FloatArray
) -> dict[str, FloatArray]:
    """Return the values of all neurons for a batch: arrays of shape (samples, neurons) by buffer.

    Args:
        program: the program of the network
        value, state: its parameters in bank order, and its non-parameter state
        inputs: the samples, one per row
    """
    return sent_forward(program, inputs, OperationArrays(value, state, 0, ()), lambda _: False)[0]


def program_backward(
    program: Program, bank: Bank, inputs: FloatArray, upstream: FloatArray, *, learning: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the outputs for a batch and the gradient of each parameter, in float64.

    Args:
        upstream: gradient with respect to the outputs
        learning: whether batch norm uses batch statistics; dropout is always disabled
    """
    gradient = np.zeros(len(bank))
    found, passed = sent_forward(
        *(program, inputs, OperationArrays(bank.value, bank.state, 0, ())),
        lambda each: learning and each.kind != "dropout" and not each.is_held(bank.frozen),
    )
    flows = {program.outputs.name: upstream}
    send_back(passed, found, flows)
    for operation, arrays in reversed(passed):
        if operation.parameters:
            gradient[operation.parameters] += parameter_gradients(
                operation, arrays._replace(upstream=flows[operation.target.name])
            )
    return found[program.outputs.name], gradient


def parameter_gradients(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return the gradients of an operation's parameters, for kinds with kernels."""
    g, x, shared = not_none(numbers.upstream), numbers.x, operation.outputs_per_bias
    if operation.kind == "parametric":
        slope, counts = PARAMETRIC_FORMULAS[operation.formula].by_parameter, operation.settings
        slopes = [of_each(partial(slope, i), operation, numbers) for i in range(len(counts))]
        pairs = zip(slopes, map(int, counts), strict=True)
        return np.concatenate([(g * each).sum(0).reshape(-1, n).sum(1) for each, n in pairs])
    if operation.kind == "convolution":
        by_kernels = by_group(operation, g.reshape(len(g), operation.shape[0], -1))
        seen = np.pad(x, ((0, 0), (0, 1)))[:, windows_of(operation)]
        by_weight: FloatArray = (by_kernels @ seen).sum(0)
    elif operation.kind == "affine":
        by_weight = g.T @ x
    elif operation.kind == "embedding":
        by_place = g.reshape(len(g), -1, operation.source.size)
        by_weight = np.einsum("npc,nfp->cf", chosen(operation, numbers), by_place)
    else:
        by_weight = (g * x).sum(0).reshape(-1, shared).sum(1)
    by_bias = g.sum(0).reshape(-1, shared).sum(1) if operation.biases != NONE else g[0, :0]
    return np.concatenate([by_weight.ravel(), by_bias])


def operation_backward(operation: Operation, numbers: OperationArrays) -> tuple[FloatArray, ...]:
    """Return the gradient with respect to each input of an operation."""
    return all_gradients(reference_of(operation), operation, numbers)[: len(operation.sources)]


def all_gradients(
    reference: Reference, operation: Operation, numbers: OperationArrays
) -> tuple[FloatArray, ...]:
    """Return the result of an operation's backward, always as a tuple."""
    with np.errstate(all="ignore"):
        found = reference.backward(operation, numbers)
    return found if isinstance(found, tuple) else (found,)


def reference_of(operation: Operation) -> Reference:
    """Return the functions of an operation's kind, or of a copy of its custom layer."""
    if operation.own is None:
        return REFERENCES[operation.kind]
    twin = LayerCopy(operation.own)
    return Reference(twin.forward, twin.backward)


def add_gradients(
    flows: dict[Key, FloatArray], gradients: Iterable[tuple[Key, FloatArray]]
) -> None:
    """Add gradients to `flows`; a buffer that is read several times gets their sum."""
    for key, gradient in gradients:
        flows[key] = flows[key] + gradient if key in flows else gradient


def not_none(array: FloatArray | None) -> FloatArray:
    """Return an array after asserting that it is not None."""
    assert array is not None
    return array


def gains(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return the weight of each output of a scale operation."""
    each: FloatArray = np.repeat(weights(operation, numbers), operation.outputs_per_bias)
    return each


def activation_forward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    formula = ACTIVATIONS[operation.formula].value
    return np.array([[formula(z) for z in sample] for sample in numbers.x.tolist()])


def activation_backward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    derivative = ACTIVATIONS[operation.formula].derivative
    samples = zip(numbers.x.tolist(), not_none(numbers.y).tolist(), strict=True)
    slopes = [[derivative(z, a) for z, a in zip(*pair, strict=True)] for pair in samples]
    gradient: FloatArray = not_none(numbers.upstream) * np.array(slopes)
    return gradient


def row_forward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    formula, size = ROW_FORMULAS[operation.formula], operation.target.size
    settings = typed(formula.forward, operation.settings)
    return np.array([formula.run(x, size, settings)[0] for x in numbers.x.tolist()])


def row_backward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    formula, size = ROW_FORMULAS[operation.formula], operation.target.size
    settings = typed(formula.backward, operation.settings)
    pairs = zip(numbers.x.tolist(), not_none(numbers.upstream).tolist(), strict=True)
    return np.array(
        [formula.gradient(g, settings, x, *formula.run(x, size, settings)) for x, g in pairs]
    )


def at_one_place(operation: Operation, batch: FloatArray) -> tuple[Operation, FloatArray]:
    """Return the operation on the numbers of one place, and these numbers of all places."""
    places = places_of(operation)
    target = replace(operation.target, size=operation.target.size // places)
    rows = batch.reshape(len(batch), -1, places).swapaxes(1, 2).reshape(len(batch) * places, -1)
    return replace(operation, target=target, settings=operation.settings[:-1]), rows


def from_places(operation: Operation, rows: FloatArray) -> FloatArray:
    """Return the samples from the numbers of all places, the inverse of `at_one_place`."""
    places = places_of(operation)
    by_sample = rows.reshape(len(rows) // places, places, -1)
    return by_sample.swapaxes(1, 2).reshape(len(by_sample), -1)


def chosen(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return 1 for the row that each place of each sample chooses, 0 for the others."""
    is_chosen: npt.NDArray[np.bool_] = np.floor(numbers.x)[..., np.newaxis] == np.arange(
        operation.shape[0]
    )
    return is_chosen.astype(np.float64)


def embedding_forward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    rows = chosen(operation, numbers) @ weights(operation, numbers)
    found: FloatArray = rows.swapaxes(1, 2).reshape(len(rows), -1) + biases(operation, numbers)
    return found


def each_place_forward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    inner, rows = at_one_place(operation, numbers.x)
    return from_places(operation, row_forward(inner, numbers._replace(inputs=(rows,))))


def each_place_backward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    inner, rows = at_one_place(operation, numbers.x)
    _, upstream = at_one_place(operation, not_none(numbers.upstream))
    found = row_backward(inner, numbers._replace(inputs=(rows,), upstream=upstream))
    return from_places(operation, found)


def parametric_given(operation: Operation, numbers: OperationArrays) -> list[list[float]]:
    """Return the formula's parameters for each output."""
    ends = np.cumsum(parametric_counts(operation))[:-1]
    parts = np.split(weights(operation, numbers), ends)
    each = map(int, operation.settings)
    return np.stack([np.repeat(*pair) for pair in zip(parts, each, strict=True)], 1).tolist()  # type: ignore[no-any-return]


def of_each(
    function: Callable[..., float], operation: Operation, numbers: OperationArrays
) -> FloatArray:
    """Apply a function to each number and the parameters of its output."""
    given, rows = parametric_given(operation, numbers), numbers.x.tolist()
    return np.array([[function(x, *p) for x, p in zip(row, given, strict=True)] for row in rows])


@lru_cache(maxsize=64)
def windows_of(operation: Operation) -> npt.NDArray[np.intp]:
    """Return the input indices of each window, shape (groups, windows, weights).

    The index `source.size` means padding.
    """
    windows = Windows.of(operation)
    _, channels, high, wide = operation.shape
    shape = windows.groups, windows.pixels, channels, high, wide
    found = np.full(shape, operation.source.size)
    for group, channel, line, column in np.ndindex(windows.groups, channels, high, wide):
        pixels, places = windows.inputs_of(group * channels + channel, line, column)
        found[group, pixels, channel, line, column] = places
    return found.reshape(*shape[:2], -1)


def by_group(operation: Operation, array: FloatArray) -> FloatArray:
    """Split an array into groups of convolution kernels, along the second to last axis."""
    return np.stack(np.split(array, Windows.of(operation).groups, axis=-2), axis=-3)


def convolution_forward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    padded = np.pad(numbers.x, ((0, 0), (0, 1)))
    kernels = by_group(operation, weights(operation, numbers))
    sums = kernels @ padded[:, windows_of(operation)].swapaxes(-1, -2)
    found: FloatArray = sums.reshape(len(padded), -1) + biases(operation, numbers)
    return found


def convolution_backward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    kernels, g = weights(operation, numbers), not_none(numbers.upstream)
    by_kernels = by_group(operation, g.reshape(len(g), len(kernels), -1))
    by_windows = by_group(operation, kernels).swapaxes(-1, -2) @ by_kernels
    found = np.zeros((len(g), operation.source.size + 1))
    for group, places in enumerate(windows_of(operation)):
        # For one weight, no two windows read the same input.
        for weight, read in enumerate(places.T):
            found[:, read] += by_windows[:, group, weight]
    return found[:, :-1]


def to_each(operation: Operation, numbers: OperationArrays) -> tuple[FloatArray, ...]:
    """Return the upstream gradient once for each input of an operation."""
    return (not_none(numbers.upstream),) * len(numbers.inputs)


def factors(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return the dropout factor of each number."""
    if not numbers.learning:
        return np.ones_like(numbers.x, np.float64)
    low, high = map(int, numbers.state[operation.state : operation.state + 2])
    (rate,), size = operation.settings, operation.source.size
    return np.array(
        [
            dropout_factors(size, rate, sample, numbers.step, operation.state, low, high)
            for sample in range(numbers.first, numbers.first + len(numbers.x))
        ]
    )


def by_feature(operation: Operation, table: FloatArray) -> FloatArray:
    """Return the numbers of a batch in float64, shape (samples, features, pixels)."""
    return table.astype(np.float64).reshape(len(table), int(operation.settings[0]), -1)


def standardized(operation: Operation, numbers: OperationArrays) -> tuple[FloatArray, FloatArray]:
    """Return the outputs of batch norm, and the scale of each feature."""
    x = by_feature(operation, numbers.x)
    if numbers.learning:
        mean = x.mean(axis=(0, 2), keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=(0, 2), keepdims=True)
    else:
        features = x.shape[1]
        known = numbers.state[operation.state : operation.state + 2 * features]
        mean, variance = known.reshape(2, 1, features, 1)
    scale = 1.0 / np.sqrt(variance + operation.settings[2])
    return (x - mean) * scale, scale


def batch_norm_backward(operation: Operation, numbers: OperationArrays) -> FloatArray:
    y, scale = standardized(operation, numbers)
    g = by_feature(operation, not_none(numbers.upstream))
    gradient: FloatArray = scale * g
    if numbers.learning:
        shift = g.mean(axis=(0, 2), keepdims=True)
        stretch = (g * y).mean(axis=(0, 2), keepdims=True)
        gradient = scale * (g - shift - y * stretch)
    return gradient.reshape(numbers.x.shape)


@final
class LayerCopy:
    """A copy of a custom layer that computes with given numbers.

    Forwards and gradients of the layer itself are therefore not affected.
    """

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._settings: object = None

    def forward(self, operation: Operation, numbers: OperationArrays) -> FloatArray:
        twin = self._ready(operation, numbers)
        run = twin.forward_rows if numbers.learning else twin.evaluate_rows
        return np.array(run(numbers.x.tolist()))

    def backward(
        self, operation: Operation, numbers: OperationArrays
    ) -> tuple[FloatArray, FloatArray]:
        """Return the gradients of the inputs and of the parameters."""
        twin = self._ready(operation, numbers)
        twin.forward_rows(numbers.x.tolist())
        twin.bank.grad[:] = 0.0
        return np.array(twin.backward_rows(not_none(numbers.upstream).tolist())), twin.bank.grad

    def _ready(self, operation: Operation, numbers: OperationArrays) -> Layer:
        """Return the copy with the given parameters; make a new one if settings have changed."""
        settings = settings_key(self._layer.settings())
        if settings != self._settings:
            self._twin = checked_copy(self._layer, numbers.x.tolist())
            self._settings = settings
        self._twin.forget()
        self._twin.bank.value[:] = numbers.value[operation.parameters]
        return self._twin


def settings_key(settings: dict[str, Any]) -> object:
    """Return a key that differs for different settings, even if only an array item differs."""
    try:
        return pickle.dumps(settings)
    except Exception:  # any error of a user's setting
        return repr(settings)


def checked_copy(layer: Layer, batch: Batch) -> Layer:
    """Copy a layer from its settings; raise InputError if the copy's results differ."""
    twin = layer.again()
    twin.bank.value[:] = layer.bank.value[layer.rows]
    here, again, other = (np.array(each.evaluate_rows(batch)) for each in (layer, layer, twin))
    is_same = np.allclose(here, other, 1e-3, 1e-5, equal_nan=True)
    if not is_same and np.array_equal(here, again, equal_nan=True):  # otherwise it draws numbers
        raise InputError(
            f"{layer} computes different numbers than a copy made from its settings, "
            f"{shorten(layer.settings())}: let settings() return all arguments of __init__"
        )
    return twin


def runs_as_python(operation: Operation) -> bool:
    """Return whether a Python function can replace the kernel for part of a batch.

    False for parameters, whose gradients the functions in REFERENCES do not compute.
    """
    is_known = operation.kind in REFERENCES and not operation.about.statistics(operation)
    return operation.own is not None or (is_known and not operation.parameters)


def weights(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return the weights of an operation in float64, one perceptron per row."""
    shape, first = operation.shape, operation.weights
    rows = (shape[0], -1) if len(shape) > 1 else shape
    return numbers.value[first:][: prod(shape)].astype(np.float64).reshape(rows)


def biases(operation: Operation, numbers: OperationArrays) -> FloatArray:
    """Return the bias of each output in float64; zeros if the operation has no biases."""
    size = operation.target.size
    if operation.biases == NONE:
        return np.zeros(size)
    found = numbers.value[operation.biases : operation.biases + size // operation.outputs_per_bias]
    return found.astype(np.float64).repeat(operation.outputs_per_bias)


# Each kind: forward and backward of an operation, given its arrays `n`.
REFERENCES = {
    "affine": Reference(
        lambda operation, n: n.x @ weights(operation, n).T + biases(operation, n),
        lambda operation, n: not_none(n.upstream) @ weights(operation, n),
    ),
    "activation": Reference(activation_forward, activation_backward),
    "row": Reference(row_forward, row_backward),
    "each_place": Reference(each_place_forward, each_place_backward),
    "embedding": Reference(embedding_forward, lambda _, n: np.zeros_like(n.x)),
    "scale": Reference(
        lambda operation, n: n.x * gains(operation, n) + biases(operation, n),
        lambda operation, n: not_none(n.upstream) * gains(operation, n),
    ),
    "parametric": Reference(
        lambda operation, n: of_each(PARAMETRIC_FORMULAS[operation.formula].value, operation, n),
        lambda operation, n: (
            not_none(n.upstream)
            * of_each(PARAMETRIC_FORMULAS[operation.formula].derivative, operation, n)
        ),
    ),
    "convolution": Reference(convolution_forward, convolution_backward),
    "branch": Reference(lambda _, n: n.x, to_each),
    "sum": Reference(lambda _, n: np.add(*n.inputs), to_each),
    "product": Reference(
        lambda _, n: np.multiply(*n.inputs),
        lambda _, n: tuple([not_none(n.upstream) * other for other in n.inputs[::-1]]),
    ),
    "concatenation": Reference(
        lambda _, n: np.concatenate(n.inputs, axis=1),
        lambda operation, n: tuple(np.split(not_none(n.upstream), [operation.source.size], axis=1)),
    ),
    "dropout": Reference(
        lambda operation, n: n.x * factors(operation, n),
        lambda operation, n: not_none(n.upstream) * factors(operation, n),
    ),
    "batch_norm": Reference(
        lambda operation, n: standardized(operation, n)[0].reshape(n.x.shape),
        batch_norm_backward,
    ),
}


# ---- cost of operations that run as Python ------------------------------------------------------

_said: set[str] = set()


def say_once(about: str, message: str) -> None:
    """Log a message once per subject `about`."""
    if about not in _said:
        _said.add(about)
        inform(message)


@final
class Costs:
    """Measurement of the time spent in operations without kernels.

    Args:
        engine: name of the engine
        operations: operations that run as Python code

    Attributes:
        seconds: seconds spent in Python since the last call of `say`
    """

    def __init__(self, engine: str, operations: Sequence[Operation]) -> None:
        names = " and ".join(each.owner for each in operations)
        self._what = f"the {engine} engine has no kernels for {names}"
        self.seconds = 0.0
        self._is_warm = False  # after the first steps, which load and allocate

    @contextmanager
    def python(self) -> Iterator[None]:
        """Return a context manager that adds the time spent in its block to `seconds`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def say(self, steps: int, seconds: float) -> None:
        """Log the cost per step once, but not for the first call, which loads and allocates."""
        python, self.seconds = self.seconds, 0.0
        if self._is_warm and steps:
            say_once(
                self._what,
                f"{self._what}: as Python it takes {python / steps * 1e3:.2g} ms of a step of "
                f"{seconds / steps * 1e3:.2g} ms",
            )
        self._is_warm |= steps > 0
