"""Writes a network as GLSL that reads its parameters from a texture: it follows a training.

The text is that of `shader.write_shader`, with a texture instead of constants. A program adds what
reads the texture, `FOURS_READER`: four numbers in each texel, `TexturePlace` says what is where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.package_files import text_beside
from scalarviz.core.program import Operation
from scalarviz.files.shaders.shader import (
    GLSL,
    NAME,
    Shader,
    body_of,
    check_workspace,
    padded,
    row_function,
)
from scalarviz.files.shaders.shader_functions import literal

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network


TEXELS = 256  # in a line of the texture of `FOURS_READER`
FOURS_READER = f"#define TEXELS {TEXELS}\n" + text_beside(__file__, "fours_reader.glsl")
DECLARED = f"float {NAME}_number(int place);\nvec4 {NAME}_four(int place);"


@dataclass(frozen=True, slots=True)
class TexturePlace:
    """Where a matrix stands in the texture of `FOURS_READER`: row by row, padded with zeros.

    first    bank index of its first number; its rows follow each other there; indices from the
             number of parameters on are those of the state
    rows     of the matrix, each of `columns` numbers
    at       number of its first texel part, a multiple of 4
    stride   parts from a row to the next, a multiple of 4
    """

    first: int
    rows: int
    columns: int
    at: int
    stride: int


@final
class LiveShader(Shader):
    """GLSL that computes a network with the parameters that a texture has, and the state behind.

    text    declares `network_number` and `network_four`, which read the parameters, and defines
            `network_row`, as an export does
    places  of the matrices in the texture

    Raises InputError if a shader cannot have an operation of the network, or if the network is too
    large.
    """

    def __init__(self, net: Network) -> None:
        check_workspace(net)
        super().__init__(net, GLSL)
        self.places: list[TexturePlace] = []
        self._state = len(net.bank)
        body = body_of(self, net)
        pieces = [DECLARED, *self.writer.sources, row_function(self, net, body)]
        self.text = "\n\n".join(pieces) + "\n"

    def affine(self, operation: Operation) -> list[str]:
        """Return the lines of z = W x + b, by four products at once."""
        x, y = self.array(operation.source), self.array(operation.target)
        rows, columns = operation.target.size, operation.source.size
        bias = self.bias(operation, rows, "i")
        weights = self.four(operation.weights, (rows, columns), "i", "j")
        return [
            f"for (int i = 0; i < {rows}; i++) {{",
            f"    float total = {bias};",
            f"    for (int j = 0; j < {padded(columns) // 4}; j++)"
            f" total += dot({weights}, {self.vector(x)});",
            f"    {y}[i] = total;",
            "}",
            *self.rest(operation.target),
        ]

    def four(self, first: int, shape: tuple[int, int], row: str, four: str) -> str:
        at, stride = self.place(first, *shape)
        return f"{NAME}_four({at} + {row} * {stride} + 4 * {four})"

    def number(self, what: str, first: int, size: int, place: str) -> str:
        return f"{NAME}_number({self.place(first, 1, size)[0]} + {place})"

    def statistics(self, operation: Operation, place: str) -> tuple[str, str]:
        features, first = int(operation.settings[0]), self._state + operation.state
        mean = self.number("means", first, features, place)
        variance = self.number("variances", first + features, features, place)
        return mean, f"(1.0 / sqrt({variance} + {literal(operation.settings[2])}))"

    def place(self, first: int, rows: int, columns: int) -> tuple[int, int]:
        """Return where a matrix begins in the texture, and the distance of its rows."""
        known = next((each for each in self.places if each.first == first), None)
        if known is None:
            at = sum(each.rows * each.stride for each in self.places)
            known = TexturePlace(first, rows, columns, at, padded(columns))
            self.places.append(known)
        return known.at, known.stride

    def in_fours(self, numbers: FloatArray) -> npt.NDArray[np.float32]:
        """Return the texels of the texture of `FOURS_READER`, shape (lines, TEXELS, 4).

        `numbers` are the parameters, in bank order, followed by the state.
        """
        count = sum(each.rows * each.stride for each in self.places)
        texels = np.zeros((max(1, -(-count // (4 * TEXELS))), TEXELS, 4), np.float32)
        flat = texels.reshape(-1)
        with np.errstate(over="ignore"):
            for place in self.places:
                shape = place.rows, place.columns
                rows = flat[place.at : place.at + place.rows * place.stride]
                own = numbers[place.first : place.first + place.rows * place.columns]
                rows.reshape(-1, place.stride)[:, : place.columns] = own.reshape(shape)
        return texels
