"""A network as one function of a shader, in GLSL or HLSL, with its weights as constants.

It is made from the program: one block of lines an operation, one array of floats a buffer. A matrix
of weights is cut into blocks of 4 x 4, filled up with zeros, since graphics processors multiply
those at once; so every buffer is a multiple of 4 long.

GLSL 1.20 has all that is used here, and so has GLSL ES 3.00 (WebGL 2); HLSL needs shader model 4,
which holds 4,096 times four constants. Compilers take long over many of them: Mesa, in software,
took 7 to 17 seconds over 13,500 weights, and gave no result in 8 minutes over 100,000. Hence the
limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.errors import InputError
from scalarviz.files.shader_source import literal
from scalarviz.files.shader_writer import ShaderWriter
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.operations import NONE, Buffer, Operation

if TYPE_CHECKING:
    from scalarviz.network import Network

NAME = "network"
PARTS = "xyzw"
WIDEST_VECTOR = len(PARTS)
MOST_WEIGHTS = 2**14


@dataclass(frozen=True, slots=True)
class Language:
    """How a shader language says what GLSL and HLSL say differently."""

    name: str
    version: str
    vector: str
    matrix: str
    product: str
    array: str

    def constants(self, kind: str, name: str, items: Sequence[str]) -> str:
        """An array of constants, one a line."""
        lines = ",\n    ".join(items)
        return self.array.format(kind=kind, name=name, count=len(items), items=lines)

    def short(self, size: int) -> str:
        """The type of so many floats, at most four."""
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


def write_shader(net: Network, values: FloatArray, language: Language, note: str) -> str:
    """The text of a shader that computes `net` with these values of its parameters."""
    if len(values) > MOST_WEIGHTS:
        raise InputError(
            f"the network has {len(values):,} parameters, and a shader can hold {MOST_WEIGHTS:,}: "
            "export it as .npz and hand the shader a texture, or make the network smaller"
        )
    shader = Shader(net, values, language)
    body = [line for operation in net.program.operations for line in shader.operation(operation)]
    x, y = shader.array(net.program.inputs), shader.array(net.program.outputs)
    pieces = [
        heading(net, language, note),
        *shader.tables.values(),
        *shader.writer.sources,
        "\n".join(
            [
                f"void {NAME}_row(in float x[{net.inputs}], out float y[{net.outputs}]) {{",
                *[f"    float {shader.array(b)}[{padded(b.size)}];" for b in net.program.buffers],
                *[f"    {x}[{i}] = 0.0;" for i in range(net.inputs, padded(net.inputs))],
                f"    for (int i = 0; i < {net.inputs}; i++) {x}[i] = x[i];",
                *[f"    {line}" for line in body],
                f"    for (int i = 0; i < {net.outputs}; i++) y[i] = {y}[i];",
                "}",
            ]
        ),
    ]
    if max(net.inputs, net.outputs) <= WIDEST_VECTOR:
        pieces.append(vector_function(net, language))
    return "\n\n".join(pieces) + "\n"


def padded(size: int) -> int:
    """The next multiple of 4."""
    return -(-size // 4) * 4


def heading(net: Network, language: Language, note: str) -> str:
    """What stands at the top of the file."""
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
    """The same with vectors, for networks of at most four inputs and outputs."""
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


class Shader:
    """The constants and the functions of one shader, as its operations ask for them."""

    def __init__(self, net: Network, values: FloatArray, language: Language) -> None:
        self.values = values
        self.language = language
        self.tables: dict[str, str] = {}
        self.writer = ShaderWriter(NAME, taken=(NAME, f"{NAME}_row"))
        self._arrays = {buffer: f"b{i}" for i, buffer in enumerate(net.program.buffers)}

    def array(self, buffer: Buffer) -> str:
        """The name of the array that a buffer is."""
        return self._arrays[buffer]

    def operation(self, operation: Operation) -> list[str]:
        """The lines of one operation."""
        write: dict[str, Callable[[Operation], list[str]]] = {
            "affine": self.affine,
            "activation": self.activation,
            "row": self.row,
            "scale": self.scale,
        }
        return [f"// {operation.name}", *write[operation.kind](operation)]

    def affine(self, operation: Operation) -> list[str]:
        """z = W x + b, four rows and four columns at a time."""
        x, y = self.array(operation.source), self.array(operation.target)
        rows, columns = padded(operation.target.size) // 4, padded(operation.source.size) // 4
        matrix = self.matrices(operation)
        four = ", ".join(f"{x}[4 * j + {i}]" for i in range(4))
        product = self.language.product.format(
            matrix=f"{matrix}[i * {columns} + j]", vector=f"{self.language.vector}4({four})"
        )
        return [
            f"for (int i = 0; i < {rows}; i++) {{",
            f"    {self.language.vector}4 total = {self.biases(operation)};",
            f"    for (int j = 0; j < {columns}; j++) total += {product};",
            *[f"    {y}[4 * i + {i}] = total.{part};" for i, part in enumerate(PARTS)],
            "}",
        ]

    def activation(self, operation: Operation) -> list[str]:
        x, y = self.array(operation.source), self.array(operation.target)
        function = ACTIVATIONS[operation.formula].value
        size = operation.target.size
        call = f"{self.writer.scalar(function)}({x}[i])"
        return [f"for (int i = 0; i < {size}; i++) {y}[i] = {call};", *self.rest(operation.target)]

    def row(self, operation: Operation) -> list[str]:
        source, target = operation.source, operation.target
        name = self.writer.row(
            ROW_FORMULAS[operation.formula].forward,
            (source.size, target.size),
            (padded(source.size), padded(target.size)),
            *operation.settings,
        )
        call = f"{name}({self.array(source)}, {self.array(target)});"
        return [call, *self.rest(target)]

    def scale(self, operation: Operation) -> list[str]:
        """y = w x + b, number by number."""
        x, y, size = (
            self.array(operation.source),
            self.array(operation.target),
            operation.target.size,
        )
        line = f"{y}[i] = {self.floats('gains', operation.weights, size)}[i] * {x}[i]"
        if operation.biases != NONE:
            line += f" + {self.floats('shifts', operation.biases, size)}[i]"
        return [f"for (int i = 0; i < {size}; i++) {line};", *self.rest(operation.target)]

    def rest(self, buffer: Buffer) -> list[str]:
        """Zeros behind the numbers of a buffer, which would otherwise be anything."""
        places = range(buffer.size, padded(buffer.size))
        return [f"{self.array(buffer)}[{i}] = 0.0;" for i in places]

    # Constants; those of a shared layer are written once.

    def matrices(self, operation: Operation) -> str:
        """The array of the weights, in blocks of 4 x 4, block row by block row."""
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
        """Four biases, the i-th four of them."""
        kind = f"{self.language.vector}4"
        if operation.biases == NONE:
            return f"{kind}(0.0, 0.0, 0.0, 0.0)"
        size = operation.target.size
        biases = np.zeros(padded(size), self.values.dtype)
        biases[:size] = self.values[operation.biases : operation.biases + size]
        items = [self.call(kind, four) for four in biases.reshape(-1, 4)]
        return f"{self.table('biases', operation.biases, kind, items)}[i]"

    def floats(self, what: str, first: int, size: int) -> str:
        items = [literal(value) for value in self.values[first : first + size]]
        return self.table(what, first, "float", items)

    def table(self, what: str, first: int, kind: str, items: Sequence[str]) -> str:
        """The name of an array of constants, which begins at this row of the bank."""
        name = f"{NAME}_{what}_{first}"
        self.tables[name] = self.language.constants(kind, name, items)
        return name

    def call(self, kind: str, values: FloatArray) -> str:
        return f"{kind}({', '.join(map(literal, values))})"
