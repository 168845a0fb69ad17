"""Each kind of operation as nodes, forward and backward, for the graph of a training step.

To add one, write its two functions and a row of `KINDS`, or of `ROWS` for a formula of whole rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import pi

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.program import NONE, Buffer, Operation, Windows, parametric_counts
from scalarviz.files.onnx.step_graph import StepGraph


@dataclass
class StepParts:
    """What the operations of a step share.

    graph       the nodes
    parameters  names of the inputs with parameters, or state, by their first rows
    samples     name of the number of samples, as a float
    gradients   names of the gradients of parameters so far, by their first rows
    states      new running statistics, by their first places
    """

    graph: StepGraph
    parameters: dict[int, str]
    samples: str
    state: dict[int, str]
    gradients: dict[int, str] = field(default_factory=dict)
    states: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class At:
    """One operation: names of what it reads, and on the way back of its outputs and their gradient.

    Values have shape (samples, size).
    """

    parts: StepParts
    operation: Operation
    inputs: tuple[str, ...]
    y: str = ""
    upstream: str = ""

    @property
    def graph(self) -> StepGraph:
        return self.parts.graph

    @property
    def x(self) -> str:
        return self.inputs[0]

    @property
    def weights(self) -> str:
        return self.parts.parameters[self.operation.weights]

    @property
    def biases(self) -> list[str]:
        """The name of the biases, if there are some."""
        rows = self.operation.biases
        return [] if rows == NONE else [self.parts.parameters[rows]]

    def learn(self, row: int, gradient: str) -> None:
        """Add to the gradient of the parameters from a row on."""
        known = self.parts.gradients
        known[row] = self.graph.put("Add", known[row], gradient) if row in known else gradient

    def spread(self, row: int, each: int) -> str:
        """Return parameters that `each` consecutive numbers share, one for each number."""
        name, count = self.parts.parameters[row], self.operation.target.size // each
        if each == 1 or count == 1:
            return name
        wide = self.graph.put(
            "Expand", self.graph.shaped(name, count, 1), self.graph.integers(count, each)
        )
        return self.graph.shaped(wide, count * each)

    def gathered(self, x: str, each: int) -> str:
        """Return sums over samples, and over `each` consecutive numbers."""
        found = self.graph.sums(x, 0)
        if each == 1:
            return found
        return self.graph.sums(self.graph.shaped(found, -1, each), 1)

    def picture(self, name: str, buffer: Buffer, channels: int, height: int, width: int) -> str:
        """Return numbers of a buffer as pictures."""
        return self.graph.shaped(name, -1, channels, height, width)


Forward = Callable[[At], str]
Backward = Callable[[At], tuple[str, ...]]


def affine(at: At) -> str:
    return at.graph.put("Gemm", at.x, at.weights, *at.biases, transB=1)


def affine_back(at: At) -> tuple[str, ...]:
    at.learn(at.operation.weights, at.graph.put("Gemm", at.upstream, at.x, transA=1))
    if at.biases:
        at.learn(at.operation.biases, at.graph.sums(at.upstream, 0))
    return (at.graph.put("MatMul", at.upstream, at.weights),)


def activation(at: At) -> str:
    return at.graph.formula(ACTIVATIONS[at.operation.formula].value, at.x)


def activation_back(at: At) -> tuple[str, ...]:
    slope = at.graph.formula(ACTIVATIONS[at.operation.formula].derivative, at.x, at.y)
    return (at.graph.put("Mul", at.upstream, slope),)


def scale(at: At) -> str:
    each = at.operation.outputs_per_bias
    found = at.graph.put("Mul", at.x, at.spread(at.operation.weights, each))
    if at.biases:
        found = at.graph.put("Add", found, at.spread(at.operation.biases, each))
    return found


def scale_back(at: At) -> tuple[str, ...]:
    each, g = at.operation.outputs_per_bias, at.upstream
    at.learn(at.operation.weights, at.gathered(at.graph.put("Mul", g, at.x), each))
    if at.biases:
        at.learn(at.operation.biases, at.gathered(g, each))
    return (at.graph.put("Mul", g, at.spread(at.operation.weights, each)),)


def shares(operation: Operation) -> list[tuple[int, int]]:
    """Return the first row of each parameter of a formula, and how many numbers share one."""
    found, row = [], operation.weights
    for each, count in zip(operation.settings, parametric_counts(operation), strict=True):
        found.append((row, int(each)))
        row += count
    return found


def parametric(at: At) -> str:
    given = [at.spread(*each) for each in shares(at.operation)]
    return at.graph.formula(PARAMETRIC_FORMULAS[at.operation.formula].value, at.x, *given)


def parametric_back(at: At) -> tuple[str, ...]:
    row, own = PARAMETRIC_FORMULAS[at.operation.formula], shares(at.operation)
    given = [at.spread(*each) for each in own]
    for place, (first, each) in enumerate(own):
        slope = at.graph.formula(row.by_parameter, float(place), at.x, *given)
        at.learn(first, at.gathered(at.graph.put("Mul", at.upstream, slope), each))
    return (at.graph.put("Mul", at.upstream, at.graph.formula(row.derivative, at.x, *given)),)


def convolution(at: At) -> str:
    w = Windows.of(at.operation)
    x = at.graph.shaped(at.x, -1, w.channels, w.height, w.width)
    found = at.graph.put("Conv", x, at.weights, *at.biases, group=w.groups, **moves_of(w))
    return at.graph.shaped(found, -1, at.operation.target.size)


def convolution_back(at: At) -> tuple[str, ...]:
    w, graph = Windows.of(at.operation), at.graph
    x = graph.shaped(at.x, -1, w.channels, w.height, w.width)
    g = graph.shaped(at.upstream, -1, at.operation.shape[0], w.out_height, w.out_width)
    # The gradient of a kernel is a convolution of the inputs by what arrives, over the samples.
    moves = moves_of(w)
    moves["strides"], moves["dilations"] = moves["dilations"], moves["strides"]
    seen = graph.shaped(x, -1, w.groups, w.seen_channels, w.height * w.width)
    seen = graph.put("Transpose", seen, perm=[2, 1, 0, 3])
    seen = graph.shaped(seen, w.seen_channels, -1, w.height, w.width)
    wide = graph.put("Conv", seen, graph.turned(g), group=w.groups, **moves)
    ends, axes = graph.integers(w.kernel_height, w.kernel_width), graph.integers(2, 3)
    at.learn(
        at.operation.weights,
        graph.turned(graph.put("Slice", wide, graph.integers(0, 0), ends, axes)),
    )
    if at.biases:
        at.learn(at.operation.biases, graph.sums(g, 0, 2, 3))
    return (back_through(at, w, g, at.weights),)


def moves_of(w: Windows) -> dict[str, list[int]]:
    """Return the attributes of windows, apart from their size."""
    return {
        "strides": [w.stride_height, w.stride_width],
        "pads": [w.padding] * 4,
        "dilations": [w.dilation_height, w.dilation_width],
    }


def back_through(at: At, w: Windows, g: str, kernel: str) -> str:
    """Return what arrives at the pixels that windows have read."""
    rest = [
        (w.height + 2 * w.padding - w.extent[0]) % w.stride_height,
        (w.width + 2 * w.padding - w.extent[1]) % w.stride_width,
    ]
    found = at.graph.put(
        "ConvTranspose", g, kernel, output_padding=rest, group=w.groups, **moves_of(w)
    )
    return at.graph.shaped(found, -1, at.operation.source.size)


def unchanged(at: At) -> str:
    return at.x


def unchanged_back(at: At) -> tuple[str, ...]:
    return tuple([at.upstream for _ in at.inputs])


def joined(at: At) -> str:
    return at.graph.put("Add", *at.inputs)


def product(at: At) -> str:
    return at.graph.put("Mul", *at.inputs)


def product_back(at: At) -> tuple[str, ...]:
    x, second = at.inputs
    return at.graph.put("Mul", at.upstream, second), at.graph.put("Mul", at.upstream, x)


def concatenation(at: At) -> str:
    return at.graph.put("Concat", *at.inputs, axis=1)


def concatenation_back(at: At) -> tuple[str, ...]:
    sizes = at.graph.integers(*(source.size for source in at.operation.sources))
    first, second = at.graph.puts("Split", at.upstream, sizes, results=2, axis=1)
    return first, second


# Over a whole batch, and over rows.


def centred(at: At, x: str, axes: tuple[int, ...]) -> tuple[str, str, str]:
    """Return numbers less their mean over axes, that mean, and the mean of the squares."""
    mean = at.graph.means(x, *axes)
    rest = at.graph.put("Sub", x, mean)
    return rest, mean, at.graph.means(at.graph.put("Mul", rest, rest), *axes)


def divided(at: At, x: str, square: str, eps: float) -> tuple[str, str]:
    """Return numbers by the root of a mean square, and the factor that does it."""
    root = at.graph.put("Sqrt", at.graph.put("Add", square, at.graph.number(eps)))
    factor = at.graph.put("Div", at.graph.number(1.0), root)
    return at.graph.put("Mul", x, factor), factor


def less_shared(
    at: At, y: str, g: str, factor: str, axes: tuple[int, ...], *, shifts: bool = True
) -> str:
    """Return what arrives before a norm: what all numbers share is taken away."""
    graph = at.graph
    stretch = graph.means(graph.put("Mul", g, y), *axes)
    if shifts:
        g = graph.put("Sub", g, graph.means(g, *axes))
    rest = graph.put("Sub", g, graph.put("Mul", y, stretch))
    return graph.put("Mul", rest, factor)


OVER_BATCH = 0, 2


def by_feature(at: At, name: str) -> str:
    features, pixels = map(int, at.operation.settings[:2])
    return at.graph.shaped(name, -1, features, pixels)


def batch_norm(at: At) -> str:
    graph, place = at.graph, at.operation.state
    features, pixels, eps, momentum = at.operation.settings
    rest, mean, square = centred(at, by_feature(at, at.x), OVER_BATCH)
    count = graph.put("Mul", at.parts.samples, graph.number(pixels))
    fewer = graph.put("Max", graph.put("Sub", count, graph.number(1.0)), graph.number(1.0))
    estimate = graph.put("Mul", square, graph.put("Div", count, fewer))
    for first, found in ((place, mean), (place + int(features), estimate)):
        old = at.parts.state[first]
        change = graph.put("Sub", graph.shaped(found, int(features)), old)
        moved = graph.put("Mul", graph.number(momentum), change)
        at.parts.states[first] = graph.put("Add", old, moved)
    return graph.shaped(divided(at, rest, square, eps)[0], -1, at.operation.target.size)


def batch_norm_back(at: At) -> tuple[str, ...]:
    rest, _, square = centred(at, by_feature(at, at.x), OVER_BATCH)
    y, factor = divided(at, rest, square, at.operation.settings[2])
    found = less_shared(at, y, by_feature(at, at.upstream), factor, OVER_BATCH)
    return (at.graph.shaped(found, -1, at.operation.source.size),)


def layer_norm(at: At) -> str:
    rest, _, square = centred(at, at.x, (1,))
    return divided(at, rest, square, at.operation.settings[1])[0]


def layer_norm_back(at: At) -> tuple[str, ...]:
    rest, _, square = centred(at, at.x, (1,))
    y, factor = divided(at, rest, square, at.operation.settings[1])
    return (less_shared(at, y, at.upstream, factor, (1,)),)


def rms_norm(at: At) -> str:
    square = at.graph.means(at.graph.put("Mul", at.x, at.x), 1)
    return divided(at, at.x, square, at.operation.settings[1])[0]


def rms_norm_back(at: At) -> tuple[str, ...]:
    square = at.graph.means(at.graph.put("Mul", at.x, at.x), 1)
    y, factor = divided(at, at.x, square, at.operation.settings[1])
    return (less_shared(at, y, at.upstream, factor, (1,), shifts=False),)


def softmax(at: At) -> str:
    return at.graph.put("Softmax", at.x, axis=1)


def softmax_back(at: At) -> tuple[str, ...]:
    graph, y = at.graph, at.y
    mean = graph.sums(graph.put("Mul", at.upstream, y), 1, keep=True)
    return (graph.put("Mul", y, graph.put("Sub", at.upstream, mean)),)


def log_softmax(at: At) -> str:
    return at.graph.put("LogSoftmax", at.x, axis=1)


def log_softmax_back(at: At) -> tuple[str, ...]:
    graph = at.graph
    total = graph.sums(at.upstream, 1, keep=True)
    return (graph.put("Sub", at.upstream, graph.put("Mul", graph.put("Exp", at.y), total)),)


def spread(at: At) -> str:
    each = int(at.operation.settings[0])
    wide = at.graph.put(
        "Mul",
        at.graph.shaped(at.x, -1, at.operation.source.size, 1),
        at.graph.number(np.ones((1, each))),
    )
    return at.graph.shaped(wide, -1, at.operation.target.size)


def spread_back(at: At) -> tuple[str, ...]:
    each = int(at.operation.settings[0])
    return (at.graph.sums(at.graph.shaped(at.upstream, -1, at.operation.source.size, each), 2),)


def waves(at: At) -> tuple[str, str, str]:
    """Return frequencies, sines and cosines of a frequency encoding."""
    octaves = int(at.operation.settings[0])
    frequencies = at.graph.number(pi * 2.0 ** np.arange(octaves))
    angles = at.graph.put(
        "Mul", at.graph.shaped(at.x, -1, at.operation.source.size, 1), frequencies
    )
    return frequencies, at.graph.put("Sin", angles), at.graph.put("Cos", angles)


def encoding(at: At) -> str:
    _, *pair = waves(at)
    last = at.graph.integers(-1)
    both = at.graph.put(
        "Concat", *[at.graph.put("Unsqueeze", each, last) for each in pair], axis=-1
    )
    return at.graph.shaped(both, -1, at.operation.target.size)


def encoding_back(at: At) -> tuple[str, ...]:
    frequencies, sine, cosine = waves(at)
    length = int(at.operation.settings[0])
    g = at.graph.shaped(at.upstream, -1, at.operation.source.size, length, 2)
    by_sine, by_cosine = at.graph.puts("Split", g, results=2, axis=-1, num_outputs=2)
    last = at.graph.integers(-1)
    of_sine = at.graph.put("Mul", at.graph.put("Squeeze", by_sine, last), cosine)
    of_cosine = at.graph.put("Mul", at.graph.put("Squeeze", by_cosine, last), sine)
    rest = at.graph.put("Sub", of_sine, of_cosine)
    return (at.graph.sums(at.graph.put("Mul", rest, frequencies), 2),)


def pool_windows(at: At) -> Windows:
    channels, height, width, kernel, stride, padding = map(int, at.operation.settings[:6])
    size = kernel, kernel, stride, stride, padding
    return Windows(channels, height, width, *size, groups=channels)


def pooled(at: At, operator: str, results: int, **more: int) -> list[str]:
    """Write a pool; return its result, and for the largest where they were."""
    w = pool_windows(at)
    x = at.graph.shaped(at.x, -1, w.channels, w.height, w.width)
    kernel = [w.kernel_height, w.kernel_width]
    moves = {"kernel_shape": kernel, "strides": [w.stride_height] * 2, "pads": [w.padding] * 4}
    return at.graph.puts(operator, x, results=results, **moves, **more)


def max_pool(at: At) -> str:
    return at.graph.shaped(pooled(at, "MaxPool", 2)[0], -1, at.operation.target.size)


def max_pool_back(at: At) -> tuple[str, ...]:
    graph, places = at.graph, at.graph.shaped(pooled(at, "MaxPool", 2)[1], -1)
    flat = graph.shaped(at.x, -1)
    zeros = graph.put("Expand", graph.number(np.zeros(1)), graph.put("Shape", flat))
    g = graph.shaped(at.upstream, -1)
    found = graph.put("ScatterElements", zeros, places, g, axis=0, reduction="add")
    return (graph.shaped(found, -1, at.operation.source.size),)


def average_pool(at: At) -> str:
    found = pooled(at, "AveragePool", 1, count_include_pad=1)[0]
    return at.graph.shaped(found, -1, at.operation.target.size)


def average_pool_back(at: At) -> tuple[str, ...]:
    w = pool_windows(at)
    shape = w.channels, 1, w.kernel_height, w.kernel_width
    kernel = at.graph.number(np.full(shape, at.operation.settings[6]))
    g = at.graph.shaped(at.upstream, -1, w.channels, w.out_height, w.out_width)
    return (back_through(at, w, g, kernel),)


KINDS: dict[str, tuple[Forward, Backward]] = {
    "affine": (affine, affine_back),
    "activation": (activation, activation_back),
    "scale": (scale, scale_back),
    "parametric": (parametric, parametric_back),
    "convolution": (convolution, convolution_back),
    "branch": (unchanged, unchanged_back),
    "sum": (joined, unchanged_back),
    "product": (product, product_back),
    "concatenation": (concatenation, concatenation_back),
    "batch_norm": (batch_norm, batch_norm_back),
}
ROWS: dict[str, tuple[Forward, Backward]] = {
    "layer_norm": (layer_norm, layer_norm_back),
    "rms_norm": (rms_norm, rms_norm_back),
    "softmax": (softmax, softmax_back),
    "log_softmax": (log_softmax, log_softmax_back),
    "frequency_encoding": (encoding, encoding_back),
    "spread": (spread, spread_back),
    "max_pool": (max_pool, max_pool_back),
    "average_pool": (average_pool, average_pool_back),
}


def writers_of(operation: Operation) -> tuple[Forward, Backward] | None:
    """Return the two functions of an operation; None if it has none."""
    return (ROWS if operation.kind == "row" else KINDS).get(
        operation.formula if operation.kind == "row" else operation.kind
    )
