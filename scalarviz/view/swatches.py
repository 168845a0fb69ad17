"""Swatches: colours that go in, what a network makes of them, and what it should make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from rich.segment import Segment

from scalarviz.checks import FloatArray
from scalarviz.view.blocks import QUIET, Block, paint
from scalarviz.view.colors import to_bytes
from scalarviz.view.exhibit import Exhibit, Look

LABEL = 7  # columns left of the squares
LEAST, GOOD = 5, 8  # lines


@final
@dataclass(frozen=True)
class Swatches(Exhibit):
    """Colours, 0 to 1, one row a sample: what goes in, what comes out, what should come out."""

    inputs: FloatArray
    outputs: FloatArray
    targets: FloatArray
    title: str = "colours"

    def lines(self, width: int, room: int) -> int:
        return min(GOOD, max(LEAST, room // 3))

    def columns(self, width: int, height: int) -> int:
        return width * 11 // 20

    def block(self, look: Look, width: int, height: int) -> Block:
        """Three rows of squares; outputs touch their targets, so that one sees them meet."""
        gap = int(height > 5)
        side = min(8, max(1, (width - LABEL + 1) // len(self.inputs) - 1))
        first = min(3, max(1, (height - gap) // 3))
        tall = min(6, max(1, (height - gap - first) // 2))
        block = rows("input", self.inputs, side, first, look.color)
        block += [[]] * gap
        block += rows("output", self.outputs, side, tall, look.color)
        return block + rows("target", self.targets, side, tall, look.color)

    def words(self) -> list[str]:
        return [
            " ".join([f"{name:8}", *(f"#{code.tobytes().hex()}" for code in to_bytes(colors))])
            for name, colors in (
                ("inputs", self.inputs),
                ("outputs", self.outputs),
                ("targets", self.targets),
            )
        ]


def rows(name: str, colors: FloatArray, side: int, height: int, color: bool) -> Block:
    """Some lines of squares beside each other, named in the middle one."""
    codes = [tuple(code) for code in to_bytes(colors).tolist()]
    block = []
    for i in range(height):
        named = i == (height - 1) // 2
        line = [Segment(f"{name if named else '':{LABEL}}", QUIET)]
        for code in codes:
            digits = hexadecimal(code, side) if named and not color else ""
            line += [Segment(f"{digits:{side}}", paint(*code) if color else None), Segment(" ")]
        block.append(line)
    return block


def hexadecimal(code: tuple[int, ...], width: int) -> str:
    """A colour in six or in three hexadecimal digits, or none, as there is room."""
    if width >= 6:
        return "".join(f"{part:02x}" for part in code)
    return "".join(f"{part // 16:x}" for part in code) if width >= 3 else ""
