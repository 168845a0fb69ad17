"""Writes a network as one GLSL or HLSL function with its weights as constants.

Each operation of the program becomes a block of lines, each buffer an array of floats. Weight
matrices are cut into 4 x 4 blocks, padded with zeros, because GPUs multiply those at once; so the
length of every buffer is padded to a multiple of 4.

The code needs GLSL 1.20 or GLSL ES 3.00 (WebGL 2), or HLSL shader model 4, which has 4,096
constants of four floats. Compilers are slow with many constants: Mesa's software renderer took 7 to
17 seconds for 13,500 weights, and did not finish 100,000 in 8 minutes. Hence the limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS, ROW_FORMULAS
from scalarviz.core.program import NONE, Buffer, Operation, Windows, parametric_counts
from scalarviz.errors import InputError
from scalarviz.files.shaders.shader_functions import ShaderWriter, literal

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network


NAME = "network"
PARTS = "xyzw"


@dataclass(frozen=True, slots=True)
class Language:
    """Templates for what GLSL and HLSL write differently."""

    name: str
    version: str
    vector: str
    matrix: str
    product: str
    array: str

    def constants(self, kind: str, name: str, items: Sequence[str]) -> str:
        """Return an array of constants, one per line."""
        lines = ",\n    ".join(items)
        return self.array.format(kind=kind, name=name, count=len(items), items=lines)

    def short(self, size: int) -> str:
        """Return the type of a vector of `size` floats, at most four."""
        return "float" if size == 1 else f"{self.vector}{size}"


GLSL = Language(
    "GLSL",
    "GLSL 1.20 or newer, or GLSL ES 3.00 or newer with `precision highp float;`",
    "vec",
    "mat4",
    "{matrix} * {vector}",
    "const {kind} {name}[{count}] = {kind}[{count}](\n    {items});",
)
HLSL = Language(
    "HLSL",
    "HLSL of shader model 4 or newer",
    "float",
    "float4x4",
    "mul({vector}, {matrix})",
    "static const {kind} {name}[{count}] = {{\n    {items}}};",
)


def padded(size: int) -> int:
    """Return the next multiple of 4."""
    return -(-size // 4) * 4


class Shader(ABC):
    """The arrays and functions of one shader, collected while it is written.

    Subclasses differ in where the parameters stand: as constants in the text, or in a texture.
    """

    def __init__(self, net: Network, language: Language) -> None:
        self.language = language
        self.writer = ShaderWriter(NAME, taken=(NAME, f"{NAME}_row"))
        self._arrays = {buffer: f"b{i}" for i, buffer in enumerate(net.program.buffers)}

    def array(self, buffer: Buffer) -> str:
        """Return the name of a buffer's array."""
        return self._arrays[buffer]

    def same(self, target: Buffer, source: Buffer) -> None:
        """Make a buffer an alias of another one."""
        self._arrays[target] = self._arrays[source]

    def arrays(self) -> dict[str, int]:
        """Return the names and lengths of the arrays in use."""
        return {name: padded(buffer.size) for buffer, name in self._arrays.items()}

    def rest(self, buffer: Buffer) -> list[str]:
        """Return lines that set the padding of a buffer to zero."""
        places = range(buffer.size, padded(buffer.size))
        return [f"{self.array(buffer)}[{i}] = 0.0;" for i in places]

    def vector(self, array: str, four: str = "j") -> str:
        """Return the expression for four elements of an array, from 4 * `four` on."""
        parts = ", ".join(f"{array}[4 * {four} + {i}]" for i in range(4))
        return f"{self.language.vector}4({parts})"

    @abstractmethod
    def affine(self, operation: Operation) -> list[str]:
        """Return the lines of z = W x + b."""

    @abstractmethod
    def four(self, first: int, shape: tuple[int, int], row: str, four: str) -> str:
        """Return the expression for four numbers of a row of a matrix, from 4 * `four` on.

        What stands behind the end of a row is to be multiplied by zero.
        """

    @abstractmethod
    def number(self, what: str, first: int, size: int, place: str) -> str:
        """Return the expression for one of `size` parameters from row `first`."""

    def bias(self, operation: Operation, size: int, place: str) -> str:
        """Return the expression for one of `size` biases; "0.0" without biases."""
        first = operation.biases
        return "0.0" if first == NONE else self.number("biases", first, size, place)

    @abstractmethod
    def statistics(self, operation: Operation, place: str) -> tuple[str, str]:
        """Return the expressions for the mean of a feature and 1 / deviation, of batch_norm."""


class ConstantShader(Shader):
    """A shader with the parameters as constants; those of a shared layer are written once."""

    def __init__(self, net: Network, values: FloatArray, language: Language) -> None:
        super().__init__(net, language)
        self.values = values
        self.state = net.bank.state
        self.tables: dict[str, str] = {}

    def affine(self, operation: Operation) -> list[str]:
        """Return the lines of z = W x + b, in 4 x 4 blocks."""
        x, y = self.array(operation.source), self.array(operation.target)
        rows, columns = padded(operation.target.size) // 4, padded(operation.source.size) // 4
        matrix = self.matrices(operation)
        product = self.language.product.format(
            matrix=f"{matrix}[i * {columns} + j]", vector=self.vector(x)
        )
        return [
            f"for (int i = 0; i < {rows}; i++) {{",
            f"    {self.language.vector}4 total = {self.biases(operation)};",
            f"    for (int j = 0; j < {columns}; j++) total += {product};",
            *[f"    {y}[4 * i + {i}] = total.{part};" for i, part in enumerate(PARTS)],
            "}",
        ]

    def four(self, first: int, shape: tuple[int, int], row: str, four: str) -> str:
        rows, columns = shape
        numbers = self.values[first : first + rows * columns].reshape(shape)
        filled = np.zeros((rows, padded(columns)), self.values.dtype)
        filled[:, :columns] = numbers
        kind = f"{self.language.vector}4"
        items = [self.call(kind, x) for x in filled.reshape(-1, 4)]
        table = self.table("weights", first, kind, items)
        return f"{table}[{row} * {padded(columns) // 4} + {four}]"

    def number(self, what: str, first: int, size: int, place: str) -> str:
        return f"{self.numbers(what, first, self.values[first : first + size])}[{place}]"

    def statistics(self, operation: Operation, place: str) -> tuple[str, str]:
        features, first = int(operation.settings[0]), operation.state
        known = self.state[first : first + 2 * features].astype(np.float64)
        mean, variance = known.reshape(2, features)
        factors = 1.0 / np.sqrt(variance + operation.settings[2])
        means = self.numbers("means", first, mean)
        return f"{means}[{place}]", f"{self.numbers('factors', first, factors)}[{place}]"

    def matrices(self, operation: Operation) -> str:
        """Return the name of an operation's weights, in 4 x 4 blocks, block row by block row."""
        rows, columns = operation.target.size, operation.source.size
        weights = np.zeros((padded(rows), padded(columns)), self.values.dtype)
        first = operation.weights
        weights[:rows, :columns] = self.values[first : first + rows * columns].reshape(
            rows, columns
        )
        # Both languages list the four numbers that multiply x[0] first.
        blocks = weights.reshape(padded(rows) // 4, 4, padded(columns) // 4, 4).transpose(
            0, 2, 3, 1
        )
        items = [self.call(self.language.matrix, block) for block in blocks.reshape(-1, 16)]
        return self.table("weights", first, self.language.matrix, items)

    def biases(self, operation: Operation) -> str:
        """Return the expression for the i-th four biases."""
        kind = f"{self.language.vector}4"
        if operation.biases == NONE:
            return f"{kind}(0.0, 0.0, 0.0, 0.0)"
        size = operation.target.size
        biases = np.zeros(padded(size), self.values.dtype)
        biases[:size] = self.values[operation.biases : operation.biases + size]
        items = [self.call(kind, four) for four in biases.reshape(-1, 4)]
        return f"{self.table('biases', operation.biases, kind, items)}[i]"

    def numbers(self, what: str, first: int, values: FloatArray) -> str:
        """Return the name of a table of numbers."""
        return self.table(what, first, "float", [literal(value) for value in values])

    def table(self, what: str, first: int, kind: str, items: Sequence[str]) -> str:
        """Add a table of constants, named after the first bank index; return its name."""
        name = f"{NAME}_{what}_{first}"
        self.tables[name] = self.language.constants(kind, name, items)
        return name

    def call(self, kind: str, values: FloatArray) -> str:
        return f"{kind}({', '.join(map(literal, values))})"


# Shader code of each kind of operation, in evaluation mode: a function and a row of WRITERS.


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
    bias = shader.bias(operation, kernels, "k")
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
        f"        int y = p / {w.out_width} * {w.stride_height} - {w.padding_height}"
        f" + down * {w.dilation_height};",
        f"        int x = (p - p / {w.out_width} * {w.out_width}) * {w.stride_width}"
        f" - {w.padding_width} + (at - down * {w.kernel_width}) * {w.dilation_width};",
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


def by_number(shader: Shader, target: Buffer, expression: str) -> list[str]:
    """Return the lines of target[i] = an expression of i, and of its padding."""
    line = f"{shader.array(target)}[i] = {expression};"
    return [f"for (int i = 0; i < {target.size}; i++) {line}", *shader.rest(target)]


def activation(shader: Shader, operation: Operation) -> list[str]:
    function = shader.writer.scalar(ACTIVATIONS[operation.formula].value)
    return by_number(shader, operation.target, f"{function}({shader.array(operation.source)}[i])")


def row(shader: Shader, operation: Operation) -> list[str]:
    source, target = operation.source, operation.target
    name = shader.writer.row(
        ROW_FORMULAS[operation.formula].forward,
        (source.size, target.size),
        (padded(source.size), padded(target.size)),
        *operation.settings,
    )
    return [f"{name}({shader.array(source)}, {shader.array(target)});", *shader.rest(target)]


def scale(shader: Shader, operation: Operation) -> list[str]:
    """y = w x + b elementwise; several elements may share w and b."""
    x, (count,), each = shader.array(operation.source), operation.shape, operation.outputs_per_bias
    place = "i" if each == 1 else f"i / {each}"
    found = f"{shader.number('gains', operation.weights, count, place)} * {x}[i]"
    if operation.biases != NONE:
        found += f" + {shader.number('shifts', operation.biases, count, place)}"
    return by_number(shader, operation.target, found)


def parametric(shader: Shader, operation: Operation) -> list[str]:
    """y = f(x, w, ...), number by number."""
    given, first = [f"{shader.array(operation.source)}[i]"], operation.weights
    counts = parametric_counts(operation)
    for i, (each, count) in enumerate(zip(operation.settings, counts, strict=True)):
        place = "0" if count == 1 else "i" if each == 1 else f"i / {int(each)}"
        given.append(shader.number(f"parameters_{i}", first, count, place))
        first += count
    function = shader.writer.scalar(PARAMETRIC_FORMULAS[operation.formula].value)
    return by_number(shader, operation.target, f"{function}({', '.join(given)})")


def batch_norm(shader: Shader, operation: Operation) -> list[str]:
    """y = (x - mean) / deviation, with the running mean and variance."""
    x, pixels = shader.array(operation.source), int(operation.settings[1])
    mean, factor = shader.statistics(operation, "i" if pixels == 1 else f"i / {pixels}")
    return by_number(shader, operation.target, f"({x}[i] - {mean}) * {factor}")


def nothing(shader: Shader, operation: Operation) -> list[str]:
    """Identity: the output buffer is the input buffer."""
    shader.same(operation.target, operation.source)
    return []


def joined(sign: str, shader: Shader, operation: Operation) -> list[str]:
    """y = x + or * the second buffer."""
    x, second = map(shader.array, operation.sources)
    return by_number(shader, operation.target, f"{x}[i] {sign} {second}[i]")


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
    "sum": partial(joined, "+"),
    "product": partial(joined, "*"),
    "concatenation": concatenation,
}


WIDEST_VECTOR = len(PARTS)
MOST_WEIGHTS = 2**14
MOST_NUMBERS = 2**13  # floats that a shader holds per pixel


def write_shader(net: Network, values: FloatArray, language: Language, note: str) -> str:
    """Return the source of a shader that computes a network.

    net       the network
    values    its parameters, in bank order
    language  GLSL or HLSL
    note      a remark for the comment at its head

    Raises InputError if the network is too large for a shader.
    """
    require(
        len(values) <= MOST_WEIGHTS,
        f"the network has {len(values):,} parameters, and a shader can hold {MOST_WEIGHTS:,}: "
        "export it as .npz and hand the shader a texture, or make the network smaller",
    )
    check_workspace(net)
    shader = ConstantShader(net, values, language)
    body = body_of(shader, net)
    pieces = [
        heading(net, language, note),
        *shader.tables.values(),
        *shader.writer.sources,
        row_function(shader, net, body),
    ]
    if max(net.inputs, net.outputs) <= WIDEST_VECTOR:
        pieces.append(vector_function(net, language))
    return "\n\n".join(pieces) + "\n"


def check_workspace(net: Network) -> None:
    """Raise InputError if a network holds more numbers for a sample than a shader can."""
    require(
        net.program.workspace <= MOST_NUMBERS,
        f"the network holds {net.program.workspace:,} numbers for each sample, and a shader "
        f"can hold {MOST_NUMBERS:,}: export it as .npz, or give it smaller pictures",
    )


def body_of(shader: Shader, net: Network) -> list[list[str]]:
    """Return the lines of each operation, which also name the arrays of `shader`."""
    return [write_operation(shader, operation) for operation in net.program.operations]


def reading(shader: Shader, net: Network) -> list[str]:
    """Return lines that declare the arrays and read the inputs, which are in `x`."""
    x = shader.array(net.program.inputs)
    return [
        *[f"float {name}[{size}];" for name, size in shader.arrays().items()],
        *[f"{x}[{i}] = 0.0;" for i in range(net.inputs, padded(net.inputs))],
        f"for (int i = 0; i < {net.inputs}; i++) {x}[i] = x[i];",
    ]


def row_function(shader: Shader, net: Network, body: list[list[str]]) -> str:
    """Return the function that computes all outputs."""
    y = shader.array(net.program.outputs)
    lines = [
        *reading(shader, net),
        *[line for lines in body for line in lines],
        f"for (int i = 0; i < {net.outputs}; i++) y[i] = {y}[i];",
    ]
    head = f"void {NAME}_row(in float x[{net.inputs}], out float y[{net.outputs}]) {{"
    return "\n".join([head, *[f"    {line}" for line in lines], "}"])


def heading(net: Network, language: Language, note: str) -> str:
    """Return the comment at the head of the file."""
    shape = " -> ".join(str(size) for size in (net.inputs, *[each.outputs for each in net.layers]))
    lines = [
        f"A neural network, {shape}: {len(net.bank):,} parameters, {note}.",
        f"Written by scalarviz; for {language.version}.",
        "Put this text above your own shader and call",
        f"    void {NAME}_row(in float x[{net.inputs}], out float y[{net.outputs}])",
    ]
    if max(net.inputs, net.outputs) <= WIDEST_VECTOR:
        lines.append(f"or  {language.short(net.outputs)} {NAME}({language.short(net.inputs)} x)")
    return "\n".join(f"// {line}" for line in lines)


def vector_function(net: Network, language: Language) -> str:
    """Return a function on vectors, for networks of at most four inputs and outputs."""
    result, given = language.short(net.outputs), language.short(net.inputs)
    reads = [f"x.{part}" for part in PARTS[: net.inputs]] if net.inputs > 1 else ["x"]
    values = ", ".join(f"b[{i}]" for i in range(net.outputs))
    return "\n".join(
        [
            f"{result} {NAME}({given} x) {{",
            f"    float a[{net.inputs}];",
            f"    float b[{net.outputs}];",
            *[f"    a[{i}] = {read};" for i, read in enumerate(reads)],
            f"    {NAME}_row(a, b);",
            f"    return {values if net.outputs == 1 else f'{result}({values})'};",
            "}",
        ]
    )
