"""WRITERS: shader code of each kind of operation, in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ROW_FORMULAS
from scalarviz.core.program import NONE, Operation, Windows, parametric_counts
from scalarviz.errors import InputError
from scalarviz.files.shaders.constants import Shader, padded


def write_operation(shader: Shader, operation: Operation) -> list[str]:
    """Return the lines of one operation; raise InputError if its kind has no writer."""
    write = WRITERS.get(operation.kind)
    if write is None:
        raise InputError(
            f"a shader cannot have operations of the kind {operation.kind!r} ({operation.name}): "
            "export the network as .npz, or leave out the layer"
        )
    return [f"// {operation.name}", *write(shader, operation)]


def affine(shader: Shader, operation: Operation) -> list[str]:
    """z = W x + b."""
    return shader.affine(operation)


def convolution(shader: Shader, operation: Operation) -> list[str]:
    """z = W x + b per window: the window is gathered, then multiplied with every kernel."""
    x, y = shader.array(operation.source), shader.array(operation.target)
    w = Windows.of(operation)
    kernels, count = operation.shape[0], int(np.prod(operation.shape[1:]))
    weights = shader.four(operation.weights, (kernels, count), "k", "j")
    fours, share, seen = padded(count) // 4, kernels // w.groups, w.seen_channels
    bias = "0.0"
    if operation.biases != NONE:
        bias = shader.number("biases", operation.biases, kernels, "k")
    inside = f"y >= 0 && y < {w.height} && x >= 0 && x < {w.width}"
    return [
        f"for (int q = 0; q < {w.groups * w.pixels}; q++) {{",
        f"    int group = q / {w.pixels};",
        f"    int p = q - group * {w.pixels};",
        f"    float seen[{padded(count)}];",
        f"    for (int i = 0; i < {padded(count)}; i++) {{",
        f"        int c = i / {w.kernel_height * w.kernel_width};",
        f"        int at = i - c * {w.kernel_height * w.kernel_width};",
        f"        int down = at / {w.kernel_width};",
        f"        int y = p / {w.out_width} * {w.stride_height} - {w.padding}"
        f" + down * {w.dilation_height};",
        f"        int x = (p - p / {w.out_width} * {w.out_width}) * {w.stride_width} - {w.padding}"
        f" + (at - down * {w.kernel_width}) * {w.dilation_width};",
        "        seen[i] = 0.0;",
        f"        if (c < {seen} && {inside})"
        f" seen[i] = {x}[((group * {seen} + c) * {w.height} + y) * {w.width} + x];",
        "    }",
        f"    for (int k = group * {share}; k < (group + 1) * {share}; k++) {{",
        f"        float total = {bias};",
        f"        for (int j = 0; j < {fours}; j++)"
        f" total += dot({weights}, {shader.vector('seen')});",
        f"        {y}[k * {w.pixels} + p] = total;",
        "    }",
        "}",
        *shader.rest(operation.target),
    ]


def activation(shader: Shader, operation: Operation) -> list[str]:
    x, y = shader.array(operation.source), shader.array(operation.target)
    function = ACTIVATIONS[operation.formula].value
    size = operation.target.size
    call = f"{shader.writer.scalar(function)}({x}[i])"
    return [f"for (int i = 0; i < {size}; i++) {y}[i] = {call};", *shader.rest(operation.target)]


def row(shader: Shader, operation: Operation) -> list[str]:
    source, target = operation.source, operation.target
    name = shader.writer.row(
        ROW_FORMULAS[operation.formula].forward,
        (source.size, target.size),
        (padded(source.size), padded(target.size)),
        *operation.settings,
    )
    call = f"{name}({shader.array(source)}, {shader.array(target)});"
    return [call, *shader.rest(target)]


def scale(shader: Shader, operation: Operation) -> list[str]:
    """y = w x + b elementwise; several elements may share w and b."""
    x, y = shader.array(operation.source), shader.array(operation.target)
    size, (count,), each = operation.target.size, operation.shape, operation.outputs_per_bias
    place = "i" if each == 1 else f"i / {each}"
    line = f"{y}[i] = {shader.number('gains', operation.weights, count, place)} * {x}[i]"
    if operation.biases != NONE:
        line += f" + {shader.number('shifts', operation.biases, count, place)}"
    return [f"for (int i = 0; i < {size}; i++) {line};", *shader.rest(operation.target)]


def parametric(shader: Shader, operation: Operation) -> list[str]:
    """y = f(x, w, ...), number by number."""
    x, y = shader.array(operation.source), shader.array(operation.target)
    given, first = [f"{x}[i]"], operation.weights
    counts = parametric_counts(operation)
    for i, (each, count) in enumerate(zip(operation.settings, counts, strict=True)):
        place = "0" if count == 1 else "i" if each == 1 else f"i / {int(each)}"
        given.append(shader.number(f"parameters_{i}", first, count, place))
        first += count
    function = shader.writer.scalar(PARAMETRIC_FORMULAS[operation.formula].value)
    line = f"{y}[i] = {function}({', '.join(given)})"
    size = operation.target.size
    return [f"for (int i = 0; i < {size}; i++) {line};", *shader.rest(operation.target)]


def batch_norm(shader: Shader, operation: Operation) -> list[str]:
    """y = (x - mean) / deviation, with the running mean and variance."""
    x, y = shader.array(operation.source), shader.array(operation.target)
    pixels = int(operation.settings[1])
    means, factor = shader.statistics(operation, "i" if pixels == 1 else f"i / {pixels}")
    line = f"{y}[i] = ({x}[i] - {means}) * {factor}"
    size = operation.target.size
    return [f"for (int i = 0; i < {size}; i++) {line};", *shader.rest(operation.target)]


def nothing(shader: Shader, operation: Operation) -> list[str]:
    """Identity: the output buffer is the input buffer."""
    shader.same(operation.target, operation.source)
    return []


def added(shader: Shader, operation: Operation) -> list[str]:
    """y = x + the second buffer."""
    x, second = map(shader.array, operation.sources)
    y = shader.array(operation.target)
    line = f"{y}[i] = {second}[i] + {x}[i]"
    size = operation.target.size
    return [f"for (int i = 0; i < {size}; i++) {line};", *shader.rest(operation.target)]


def product(shader: Shader, operation: Operation) -> list[str]:
    """y = x times the second buffer."""
    x, second = map(shader.array, operation.sources)
    y, size = shader.array(operation.target), operation.target.size
    line = f"{y}[i] = {x}[i] * {second}[i]"
    return [f"for (int i = 0; i < {size}; i++) {line};", *shader.rest(operation.target)]


def concatenation(shader: Shader, operation: Operation) -> list[str]:
    """y = x, followed by the second buffer."""
    lines, first, y = [], 0, shader.array(operation.target)
    for source in operation.sources:
        place = f"i + {first}" if first else "i"
        line = f"{y}[{place}] = {shader.array(source)}[i]"
        lines.append(f"for (int i = 0; i < {source.size}; i++) {line};")
        first += source.size
    return [*lines, *shader.rest(operation.target)]


WRITERS: dict[str, Callable[[Shader, Operation], list[str]]] = {
    "affine": affine,
    "convolution": convolution,
    "activation": activation,
    "row": row,
    "scale": scale,
    "parametric": parametric,
    "batch_norm": batch_norm,
    "dropout": nothing,
    "branch": nothing,
    "sum": added,
    "product": product,
    "concatenation": concatenation,
}
