"""Writer of networks as GLSL or HLSL functions, whose parameters are constants.

Each operation of the program becomes a block of lines, and each buffer an array of floats. Matrices
are stored row by row as vectors of four floats, padded with zeros, because GPUs multiply such
vectors in one operation; so the length of every buffer is also padded to a multiple of 4.

The code requires GLSL 1.20 or GLSL ES 3.00 (WebGL 2), or HLSL shader model 4, which has 4,096
constants of four floats. Compilers are slow for many constants: Mesa's software renderer took 7 to
17 seconds for 13,500 weights, and did not finish 100,000 in 8 minutes. Hence the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

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
    """Templates for code that differs between GLSL and HLSL."""

    name: str
    version: str
    vector: str
    constants: str

    def short(self, size: int) -> str:
        """Return the type of a vector of `size` floats, at most four."""
        return "float" if size == 1 else f"{self.vector}{size}"


READER = f"""\

{{kind}} {NAME}_four(int place) {{{{
    return {NAME}_fours[place / 4];
}}}}"""
GLSL = Language(
    "GLSL",
    "GLSL 1.20 or newer, or GLSL ES 3.00 or newer with `precision highp float;`",
    "vec",
    f"const {{kind}} {NAME}_fours[{{count}}] = {{kind}}[{{count}}](\n    {{items}});\n{READER}",
)
HLSL = Language(
    "HLSL",
    "HLSL of shader model 4 or newer",
    "float",
    f"static const {{kind}} {NAME}_fours[{{count}}] = {{{{\n    {{items}}}}}};\n{READER}",
)
NUMBER = f"""\
float {NAME}_number(int place) {{{{
    {{kind}} four = {NAME}_four(place);
    int part = place - place / 4 * 4;
    return part < 2 ? (part == 0 ? four.x : four.y) : (part == 2 ? four.z : four.w);
}}}}"""


def padded(size: int) -> int:
    """Return `size` rounded up to a multiple of 4."""
    return -(-size // 4) * 4


@dataclass(frozen=True, slots=True)
class MatrixPlace:
    """Position of a matrix in a shader, where it is stored row by row, padded with zeros.

    Attributes:
        first: bank index of its first number; indices from the number of parameters on refer to
            the state
        rows: number of rows, each of `columns` numbers
        at: position of its first number in the shader, a multiple of 4
        stride: distance between the starts of rows in the shader, a multiple of 4
    """

    first: int
    rows: int
    columns: int
    at: int
    stride: int


@final
class Shader:
    """The function of a network as a shader, which reads parameters and state by position.

    Attributes:
        text: code that defines `network_row` and `network_number`, and calls `network_four(place)`,
            which must be defined before the text and return the four numbers from a position on
        places: positions of the matrices

    Raises:
        InputError: if an operation of the network is not supported in shaders, or the network is
            too large.
    """

    def __init__(self, net: Network, language: Language) -> None:
        check_workspace(net)
        self.language = language
        self.writer = ShaderWriter(NAME, taken=(NAME, f"{NAME}_row"))
        self.places: list[MatrixPlace] = []
        self._arrays = {buffer: f"b{i}" for i, buffer in enumerate(net.program.buffers)}
        self._state = len(net.bank)
        body = [line for each in net.program.operations for line in write_operation(self, each)]
        number = [NUMBER.format(kind=f"{language.vector}4")] if self.places else []
        self.text = "\n\n".join([*number, *self.writer.sources, row_function(self, net, body)])

    def array(self, buffer: Buffer) -> str:
        """Return the name of a buffer's array."""
        return self._arrays[buffer]

    def same(self, target: Buffer, source: Buffer) -> None:
        """Make the buffer `target` an alias of `source`."""
        self._arrays[target] = self._arrays[source]

    def arrays(self) -> dict[str, int]:
        """Return the names and lengths of the arrays in use."""
        return {name: padded(buffer.size) for buffer, name in self._arrays.items()}

    def rest(self, buffer: Buffer) -> list[str]:
        """Return the lines that set the padding of a buffer to zero."""
        places = range(buffer.size, padded(buffer.size))
        return [f"{self.array(buffer)}[{i}] = 0.0;" for i in places]

    def product(self, weights: str, array: str, count: int) -> str:
        """Return a loop that adds the products of a row of weights and an array to `total`."""
        parts = ", ".join(f"{array}[4 * j + {i}]" for i in range(4))
        four = f"{self.language.vector}4({parts})"
        return f"for (int j = 0; j < {padded(count) // 4}; j++) total += dot({weights}, {four});"

    def four(self, first: int, shape: tuple[int, int], row: str) -> str:
        """Return the expression for the j-th vector of four numbers in a row of a matrix.

        Numbers after the end of a row are undefined and must be multiplied by zero.
        """
        known = self._place(first, *shape)
        return f"{NAME}_four({known.at} + {row} * {known.stride} + 4 * j)"

    def number(self, first: int, size: int, place: str) -> str:
        """Return the expression for number `place` of `size` numbers from bank index `first`."""
        return f"{NAME}_number({self._place(first, 1, size).at} + {place})"

    def bias(self, operation: Operation, size: int, place: str) -> str:
        """Return the expression for bias `place` of `size` biases, or "0.0" without biases."""
        return "0.0" if operation.biases == NONE else self.number(operation.biases, size, place)

    def statistics(self, operation: Operation, place: str) -> tuple[str, str]:
        """Return the expressions for mean and 1 / deviation of a feature of a batch_norm."""
        features, first = int(operation.settings[0]), self._state + operation.state
        variance = self.number(first + features, features, place)
        deviation = f"sqrt({variance} + {literal(operation.settings[2])})"
        return self.number(first, features, place), f"(1.0 / {deviation})"

    def _place(self, first: int, rows: int, columns: int) -> MatrixPlace:
        """Return the position of a matrix; a shared layer is stored once."""
        known = next((each for each in self.places if each.first == first), None)
        if known is None:
            known = MatrixPlace(first, rows, columns, self.size, padded(columns))
            self.places.append(known)
        return known

    @property
    def size(self) -> int:
        """Number of floats in all matrices with their padding, a multiple of 4."""
        return sum(each.rows * each.stride for each in self.places)

    def in_fours(self, numbers: FloatArray) -> npt.NDArray[np.float32]:
        """Return the numbers of all matrices with their padding, shape (vectors, 4).

        `numbers` are the parameters, in bank order, followed by the state.
        """
        flat = np.zeros(self.size, np.float32)
        with np.errstate(over="ignore"):
            for place in self.places:
                shape = place.rows, place.columns
                rows = flat[place.at : place.at + place.rows * place.stride]
                own = numbers[place.first : place.first + place.rows * place.columns]
                rows.reshape(-1, place.stride)[:, : place.columns] = own.reshape(shape)
        return flat.reshape(-1, 4)


# Shader code of each kind of operation, in evaluation mode: a function and a row of WRITERS.


def write_operation(shader: Shader, operation: Operation) -> list[str]:
    """Return the lines for one operation; raise InputError if its kind is not supported."""
    write = WRITERS.get(operation.kind)
    if write is None:
        raise InputError(
            f"a shader cannot have operations of the kind {operation.kind!r} ({operation.name}): "
            "export the network as .npz, or leave out the layer"
        )
    return [f"// {operation.name}", *write(shader, operation)]


def affine(shader: Shader, operation: Operation) -> list[str]:
    """z = W x + b."""
    rows, columns = operation.target.size, operation.source.size
    weights = shader.four(operation.weights, (rows, columns), "i")
    return [
        f"for (int i = 0; i < {rows}; i++) {{",
        f"    float total = {shader.bias(operation, rows, 'i')};",
        f"    {shader.product(weights, shader.array(operation.source), columns)}",
        f"    {shader.array(operation.target)}[i] = total;",
        "}",
        *shader.rest(operation.target),
    ]


def convolution(shader: Shader, operation: Operation) -> list[str]:
    """z = W x + b for each window, which is copied and then multiplied by every kernel."""
    x, y = shader.array(operation.source), shader.array(operation.target)
    w = Windows.of(operation)
    kernels, count = operation.shape[0], int(np.prod(operation.shape[1:]))
    weights = shader.four(operation.weights, (kernels, count), "k")
    share, seen = kernels // w.groups, w.seen_channels
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
        f"        {shader.product(weights, 'seen', count)}",
        f"        {y}[k * {w.pixels} + p] = total;",
        "    }",
        "}",
        *shader.rest(operation.target),
    ]


def by_number(shader: Shader, target: Buffer, expression: str) -> list[str]:
    """Return the lines that set target[i] to an expression of i, and the padding to zero."""
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
    found = f"{shader.number(operation.weights, count, place)} * {x}[i]"
    if operation.biases != NONE:
        found += f" + {shader.number(operation.biases, count, place)}"
    return by_number(shader, operation.target, found)


def parametric(shader: Shader, operation: Operation) -> list[str]:
    """y = f(x, w, ...), elementwise."""
    given, first = [f"{shader.array(operation.source)}[i]"], operation.weights
    counts = parametric_counts(operation)
    for each, count in zip(operation.settings, counts, strict=True):
        place = "0" if count == 1 else "i" if each == 1 else f"i / {int(each)}"
        given.append(shader.number(first, count, place))
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
    """y = x + second buffer, or y = x * second buffer; `sign` is + or *."""
    x, second = map(shader.array, operation.sources)
    return by_number(shader, operation.target, f"{x}[i] {sign} {second}[i]")


def concatenation(shader: Shader, operation: Operation) -> list[str]:
    """y = x followed by the second buffer."""
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

    Args:
        net: the network
        values: parameters of the network, in bank order
        language: GLSL or HLSL
        note: remark about the weights for the comment at the top

    Raises:
        InputError: if the network is too large for a shader.
    """
    require(
        len(values) <= MOST_WEIGHTS,
        f"the network has {len(values):,} parameters, and a shader can hold {MOST_WEIGHTS:,}: "
        "export it as .npz and pass it to the shader as a texture, or make the network smaller",
    )
    shader = Shader(net, language)
    fours = shader.in_fours(np.concatenate([values, net.bank.state]))
    pieces, kind = [heading(net, language, note)], f"{language.vector}4"
    if len(fours):
        items = [f"{kind}({', '.join(map(literal, each))})" for each in fours]
        listed = ",\n    ".join(items)
        pieces.append(language.constants.format(kind=kind, count=len(fours), items=listed))
    pieces.append(shader.text)
    if max(net.inputs, net.outputs) <= WIDEST_VECTOR:
        pieces.append(vector_function(net, language))
    return "\n\n".join(pieces) + "\n"


def check_workspace(net: Network) -> None:
    """Raise InputError if a network has more numbers per sample than a shader can store."""
    require(
        net.program.workspace <= MOST_NUMBERS,
        f"the network holds {net.program.workspace:,} numbers for each sample, and a shader can "
        f"hold {MOST_NUMBERS:,}: export it as .npz, or use smaller pictures",
    )


def row_function(shader: Shader, net: Network, body: list[str]) -> str:
    """Return the code of the function that computes all outputs; `body` has its operations."""
    x, y = shader.array(net.program.inputs), shader.array(net.program.outputs)
    lines = [
        *[f"float {name}[{size}];" for name, size in shader.arrays().items()],
        *[f"{x}[{i}] = 0.0;" for i in range(net.inputs, padded(net.inputs))],
        f"for (int i = 0; i < {net.inputs}; i++) {x}[i] = x[i];",
        *body,
        f"for (int i = 0; i < {net.outputs}; i++) y[i] = {y}[i];",
    ]
    head = f"void {NAME}_row(in float x[{net.inputs}], out float y[{net.outputs}]) {{"
    return "\n".join([head, *[f"    {line}" for line in lines], "}"])


def heading(net: Network, language: Language, note: str) -> str:
    """Return the comment at the top of the shader."""
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
    """Return the code of a function on vectors, for up to four inputs and outputs."""
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
