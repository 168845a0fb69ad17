"""Language: the differences of GLSL and HLSL; Shader and ConstantShader: arrays, and constants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Buffer, Operation
from scalarviz.files.shaders.source import literal
from scalarviz.files.shaders.writer import ShaderWriter

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
