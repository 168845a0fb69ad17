"""The plane of a network that reads a sequence in the picture, and the drawings on it.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, stripped, typeset
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.scene.layout.sequence_places import SequencePlan, veil
from scalarviz.scene.layout.ways import BEHIND, Point, Stroke, rounded
from scalarviz.scene.lines import draw_signed
from scalarviz.scene.sequence_ways import SequenceNumbers
from scalarviz.scene.silhouettes import balls_of

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import FrameData
    from scalarviz.scene.layout.division import Projection

ROUND = 5.0  # radius of corners
NAME_WIDE = 174.0  # width of a name
SIDE, LONG = 26.0, 6  # side of a chip of a name, and most letters with large ones
LETTERS, LEAST_NAME, LEAST_LETTER = 12.0, 10.5, 7.5  # letter sizes, and least ones in pixels,
ROOMY, ROW_NAME = 0.8, 9.5  # zoom from which there is room for more words; letters of rows
BACK = 0.26  # brightness of what no slope runs along
SMALLER, LEGIBLE = 19.0, 6.0  # which are smaller in small pictures, and left out below a size


class Plane:
    """The plane of the network in the picture, on which positions are pixels of the stage.

    Attributes:
        zoom: pixels of the picture per pixel of the stage
    """

    def __init__(self, see: Projection) -> None:
        points = [(0.0, 0.0, 0.0), (PIXEL, 0.0, 0.0), (0.0, -PIXEL, 0.0)]
        seen = balls_of(see, points, 0.0)
        self.origin: Point = (seen[0].x, seen[0].y)
        self.right: Point = (seen[1].x - seen[0].x, seen[1].y - seen[0].y)
        self.down: Point = (seen[2].x - seen[0].x, seen[2].y - seen[0].y)
        self.zoom: float = PIXEL * seen[0].unit

    def at(self, x: float, y: float) -> Point:
        """Return a position in the picture."""
        zero, right, down = self.origin, self.right, self.down
        return zero[0] + x * right[0] + y * down[0], zero[1] + x * right[1] + y * down[1]

    def box(self, x: float, y: float, right: float, low: float) -> Box:
        """Return the box in the picture between two positions."""
        left, top = self.at(x, y)
        far, bottom = self.at(right, low)
        return Box(left, top, far - left, bottom - top)


class Sheet:
    """What draws on the plane of the network.

    Attributes:
        plane: the plane
        strokes: lines to be drawn together, with their depths
        taken: boxes of the texts
        level: brightness of lines and squares
    """

    def __init__(self, canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme):
        assert frame_data.layout.sequence is not None
        self.canvas: Canvas2D = canvas
        self.theme: Theme = theme
        self.plan: SequencePlan = frame_data.layout.sequence
        self.known: SequenceNumbers = numbers_of(frame_data)
        self.plane: Plane = Plane(see)
        self.strokes: list[tuple[Stroke, tuple[float, float]]] = []
        self.taken: list[Box] = []
        self.level: float = BACK if goes_back(frame_data) else 1.0

    @property
    def zoom(self) -> float:
        """Pixels of the picture per pixel of the plane."""
        return self.plane.zoom

    def at(self, x: float, y: float) -> Point:
        """Return a position in the picture."""
        return self.plane.at(x, y)

    def path(self, points: Sequence[Point], radius: float = ROUND) -> list[Point]:
        """Return a path with round corners in the picture."""
        return rounded([self.at(*each) for each in points], radius * self.zoom)

    def way(
        self, points: Sequence[Point], value: float, width: float, strength: float = 1.0
    ) -> None:
        """Add a line that carries a number, behind all cubes."""
        self.add_line(self.path(points, 3.0), value, width, strength)

    def triangle(self, head: int, left: float, top: float, cell: float) -> None:
        """Draw which place looks at which: the shares of a head, in cells of this side."""
        known = self.known
        for row in range(known.place + 1):
            for column, share in enumerate(known.shares[head][row]):
                x, y = left + cell * (column + 0.5), top + cell * (row + 0.5)
                fill = veil(self.theme.signs[1], 0.1 + 0.9 * share)
                self.square(x, y, 0.88 * cell, fill, veil(self.theme.ink, 0.07))

    def add_line(
        self,
        path: list[Point],
        value: float,
        width: float,
        strength: float = 1.0,
        *,
        casing: float = 0.0,
        above: bool = False,
    ) -> None:
        wide = max(0.6, width * self.zoom)
        stroke = Stroke(
            "in",
            path,
            -1,
            -1,
            value,
            wide,
            casing * self.zoom,
            strength * (1.0 if above else self.level),
        )
        self.strokes.append((stroke, (-1.0, -1.0) if above else BEHIND))

    def flush(self) -> None:
        """Draw the lines added so far."""
        draw_signed(self.canvas, self.theme, self.strokes)
        self.strokes = []

    def gray(
        self, points: Sequence[Point], width: float, color: str, radius: float = ROUND
    ) -> None:
        """Draw a line without sign."""
        wide = max(0.6, width * self.zoom)
        self.canvas.line(self.path(points, radius), color, width=wide, depth=BEHIND[0])

    def square(self, x: float, y: float, side: float, fill: str, rim: str) -> None:
        """Draw a small square with its center at a position."""
        middle, half = self.at(x, y), 0.5 * side * self.zoom
        left, top = middle[0] - half, middle[1] - half
        self.canvas.box(
            left, top, 2.0 * half, 2.0 * half, fill, radius=0.2 * half, outline=rim, line=0.6
        )

    def disc(self, x: float, y: float, radius: float, fill: Color) -> None:
        """Draw a disc around a position."""
        middle, half = self.at(x, y), radius * self.zoom
        left, top = middle[0] - half, middle[1] - half
        self.canvas.box(left, top, 2.0 * half, 2.0 * half, fill, radius=half)

    def hue(self, value: float) -> str:
        """Return the color of the sign of a number."""
        return self.theme.signs[1 if value >= 0.0 else 0]

    def shade(self, value: float, top: float) -> str:
        """Return the color of a square: its hue is the sign, its opacity the size."""
        return veil(self.hue(value), self.level * min(1.0, abs(value) / top) ** 0.6)

    def label(
        self,
        x: float,
        y: float,
        said: str,
        color: str,
        *,
        anchor: str = "center",
        bold: bool = False,
        least: float = LEAST_NAME,
        large: float = LETTERS,
        halo: bool = False,
        within: float = 0.0,
    ) -> float:
        """Write a text centered at the height y; return its width in pixels of the stage.

        Its letters are smaller if it would be wider than `within`, in pixels of the stage.
        """
        size = max(min(least, SMALLER * self.zoom), large * self.zoom)
        if within > 0.0:
            size *= min(1.0, within * self.zoom / self.canvas.measure(said, size=size, bold=bold))
        if size < LEGIBLE:
            return 0.0
        place = self.at(x, y)
        look: dict[str, Any] = {"size": size, "color": color, "bold": bold, "anchor": anchor}
        rim = self.theme.ground if halo else None
        self.canvas.text(place[0], place[1] + 0.36 * size, said, outline=rim, **look)
        wide: float = self.canvas.measure(said, size=size, bold=bold)
        part = {"left": 0.0, "center": 0.5, "right": 1.0}[anchor]
        self.taken.append(Box(place[0] - part * wide, place[1] - 0.5 * size, wide, size))
        return wide / self.zoom

    def name_rows(self, head: int) -> None:
        """Write which rows of a head are its query, its key and its value, if there is room."""
        plan = self.plan
        for kind, name in enumerate(("query", "key", "value") if self.zoom > ROOMY else ()):
            y = plan.head_y(head, kind, 0) + 0.5 * plan.row * (plan.each - 1)
            self.label(plan.x("qkv") - 3.0, y, text(f"sequence.row.{name}"), self.theme.ink,
                       anchor="right", halo=True, least=ROW_NAME, large=ROW_NAME)  # fmt: skip

    def box(
        self,
        x: float,
        y: float,
        right: float,
        low: float,
        fill: Color,
        *,
        least: float = 0.0,
        radius: float = 1.0,
        outline: Color = None,
        line: float = 1.0,
    ) -> None:
        """Draw a box between two positions, at least `least` pixels of the picture wide."""
        box = self.plane.box(x, y, right, low)
        self.canvas.box(
            box.x, box.y, max(least, box.width), box.height, fill,
            radius=radius * self.zoom, outline=outline, line=line,
        )  # fmt: skip

    def card(self, x: float, y: float, right: float, low: float) -> None:
        """Draw a card."""
        fill, outline = self.theme.panel[:7], self.theme.rim
        self.box(x, y, right, low, fill, radius=12.0, outline=outline)

    def frame(self, x: float, y: float, right: float, low: float) -> None:
        """Draw brackets at the corners of what is chosen."""
        box = self.plane.box(x, y, right, low)
        arm = min(0.4 * box.width, 0.4 * box.height, 9.0 * self.zoom)
        for side, into in ((box.x, arm), (box.right, -arm)):
            for end, down in ((box.y, arm), (box.bottom, -arm)):
                points = [(side + into, end), (side, end), (side, end + down)]
                self.canvas.line(points, self.theme.lit, width=max(1.0, 1.7 * self.zoom))

    def chip(self, x: float, y: float, side: float, sign: str, look: str) -> None:
        """Draw a letter in a box: "read", "chosen", "later", "out" or "goal"."""
        theme, plus = self.theme, self.theme.signs[1]
        fills = {
            "chosen": veil(theme.lit, 0.13),
            "out": veil(plus, 0.27),
            "later": veil(theme.ink, 0.0),
        }
        rims = {"chosen": theme.lit, "out": plus, "goal": theme.quiet, "later": theme.faint}
        inks = {"later": theme.ghost}
        corner, wide = self.at(x, y), side * self.zoom
        strong = look in ("chosen", "out")
        self.canvas.box(
            corner[0], corner[1], wide, wide, fills.get(look, theme.chip), radius=0.22 * wide,
            outline=rims.get(look, theme.rim), line=max(1.0, (1.5 if strong else 1.0) * self.zoom),
        )  # fmt: skip
        ink = inks.get(look, theme.ink)
        middle, letter = 0.5 * side, max(0.6 * side, min(LETTERS, 0.85 * side))
        self.label(x + middle, y + middle, sign, ink, bold=strong, least=LEAST_LETTER, large=letter)


def goes_back(frame_data: FrameData) -> bool:
    """Return whether slopes go back through the network."""
    kind = "" if frame_data.moment is None else frame_data.moment.kind
    return kind == "delta" or kind.endswith("gradient")


def numbers_of(frame_data: FrameData) -> SequenceNumbers:
    """Return the numbers of the shown sample."""
    assert frame_data.layout.sequence is not None
    choice = frame_data.choice
    if frame_data.moment is not None:  # a step has no temperature
        choice = replace(choice, heat=1.0)
    known = frame_data.layout.sequence, frame_data.buffers.values, frame_data.weights
    return SequenceNumbers(*known, choice)


def heat_words(known: SequenceNumbers) -> str:
    """Return by what the scores are divided; "" for a temperature of 1."""
    heat = known.choice.heat
    return "" if heat == 1.0 else f", ÷ {typeset(stripped(short(heat)))}"


def places_of_chips(known: SequenceNumbers) -> list[tuple[float, float, float]]:
    """Return the position and the side of the chip of each letter of the name."""
    count = len(known.read)
    pitch = min(SIDE + 3.0, NAME_WIDE / count) if count > LONG else SIDE + 3.0
    side, left = min(SIDE, pitch - 1.4), known.plan.x("letters")
    return [(left + pitch * each, 17.0 - 0.5 * side, side) for each in range(count)]
