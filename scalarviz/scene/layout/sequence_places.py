"""Where the parts of a network that reads a sequence lie, in pixels of a stage of 1280 x 622.

Left to right: the rows of letters and of places, the numbers of the chosen place, queries, keys and
values with the columns of all places, what looking back adds, the neurons, and the scores. All
walls have one height. Below them is the road: what is not changed.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scalarviz.story.facts import NONE

WIDE, HIGH = 1280.0, 622.0  # of the stage; wider stages have wider gaps
MARGIN = 12.0  # of it, left and right
TOP, BOTTOM = 54.0, 594.0  # of all walls
CLOSED = 158.0, 180.0  # left and right edge of closed blocks, which move as x does
ROAD = BOTTOM + 10.0  # height of the road
PITCH, WALL = 6.6, 16  # distance of cubes in a row, and cubes of a whole row
# Left end of each part in the narrowest stage, and its fraction of the additional width.
PARTS = {
    "letters": (32.0, 0.0),
    "x": (196.0, 0.15),
    "qkv": (240.0, 0.2),
    "own": (354.0, 0.2),
    "column": (500.0, 0.4),
    "heads": (516.0, 0.4),
    "mix": (540.0, 0.4),
    "join": (582.0, 0.55),
    "h": (702.0, 0.55),
    "wide": (746.0, 0.7),
    "z": (860.0, 0.7),
    "comb": (875.0, 0.74),
    "narrow": (890.0, 0.78),
    "y": (1010.0, 0.78),
    "scores": (1054.0, 0.95),
    "signs": (1173.0, 0.95),
    "bars": (1184.0, 0.95),
}
LETTERS = 0.63  # fraction of the height for the rows of letters, and of places
PLACES = 0.305
BEFORE, LANES = 8.0, 21.6  # from the last lane to its wall, and width of all lanes
OVER, CLIMB = 27.0, 18.4  # from the top of a wall up to the first lane, and down to the last
COLUMNS, MOST, SQUARE = 108.0, 36.0, 7.2  # width and pitch of columns of places, and their squares
BALL, SMALL, SILENT = 8.0, 3.6, 1.8  # radius of the balls of the road, of others, of silent ones
QUERY, KEY, VALUE = 0, 1, 2
# What a wall reads: the line of balls, their radius, and the buffer. What its rows give: the same
# of their results, and the additional width of their lines.
COMES = {
    "qkv": ("x", BALL, "x"),
    "join": ("mix", SMALL, "mix"),
    "wide": ("h", BALL, "n"),
    "scores": ("y", BALL, "y"),
}
GIVES = {
    "qkv": ("own", SMALL, "qkv", 1.6),
    "join": ("h", BALL, "a", 2.6),
    "wide": ("z", SMALL, "z", 1.8),
    "narrow": ("y", BALL, "o", 2.6),
    "scores": ("signs", 6.4, "scores", 2.2),
}
SCALE = 0.3  # weight of the largest cube; a scale that follows them would make small random
# numbers look as strong as learned ones
VEILS = (
    "00",
    "11",
    "22",
    "33",
    "44",
    "55",
    "66",
    "77",
    "88",
    "99",
    "aa",
    "bb",
    "cc",
    "dd",
    "ee",
    "ff",
)
AT_PLACE = "@"  # ends the name of the numbers of the chosen place


def veil(color: str, part: float) -> str:
    """Return a color with an opacity from 0 to 1."""
    return f"{color}{VEILS[round(15.0 * min(1.0, max(0.0, part)))]}"


def share_of(weight: float) -> float:
    """Return a weight as a fraction of the largest, from -1 to 1."""
    return min(1.0, max(-1.0, weight / SCALE))


@dataclass(frozen=True)
class Choice:
    """What the user has chosen.

    NONE means the usual place, the best letter, no head and no neuron.

    Attributes:
        heat: the temperature by which all scores are divided
    """

    place: int = NONE
    letter: int = NONE
    head: int = NONE
    neuron: int = NONE
    heat: float = 1.0


@dataclass(frozen=True)
class SequencePlan:
    """A network of blocks with attention that reads a sequence, and the width of its stage.

    One block is open. All names mean its numbers and weights; x is what enters it.

    Attributes:
        letters: number of letters
        size: numbers of a place
        places: number of places
        heads: number of heads
        hidden: number of neurons
        signs: how each letter is written
        buffers: names of buffers: inputs, e, x, qkv, mix, a, h, n, u, z, o, y, scores, out
        rows: bank index of the first weight of letters, places, qkv, join, wide, narrow, scores
        usual: index of the place that is shown if none is chosen
        wide: width of the stage
        closed: number of closed blocks before the open one
    """

    letters: int
    size: int
    places: int
    heads: int
    hidden: int
    signs: Sequence[str]
    buffers: Mapping[str, str]
    rows: Mapping[str, int]
    usual: int = 3
    wide: float = WIDE
    closed: int = 0

    @property
    def closed_rows(self) -> tuple[int, int]:
        """The first bank index of the closed blocks, and the one after their last."""
        return self.rows["places"] + self.size * self.places, self.rows["qkv"]

    @property
    def corners(self) -> list[tuple[float, float, float]]:
        """Opposite corners of the stage."""
        return [(MARGIN, 0.0, 0.0), (self.wide - MARGIN, -HIGH, 0.0)]

    @property
    def each(self) -> int:
        """Numbers of a query, of a key and of a value."""
        return self.size // self.heads

    @property
    def pitch(self) -> float:
        """Distance of the cubes of a row."""
        return PITCH * WALL / max(WALL // 2, self.size)

    @property
    def step(self) -> float:
        """Distance between the balls of the road."""
        return (BOTTOM - TOP) / self.size

    @property
    def lines(self) -> int:
        """Lines of cubes on a tray of the wall "narrow"."""
        return -(-self.hidden // WALL)

    def line_of(self, start: int) -> int:
        """Return the cubes of a line of the wall "narrow" that begins after `start` weights."""
        return min(WALL, self.hidden - start % self.hidden)

    def x(self, part: str) -> float:
        """Return the left end of a wall, or the center of a line of balls or of a column."""
        left, fraction = PARTS[part]
        return left + fraction * (self.wide - WIDE)

    @property
    def closed_x(self) -> tuple[float, float]:
        """Left and right edge of the closed blocks."""
        moved = self.x("x") - PARTS["x"][0]
        return CLOSED[0] + moved, CLOSED[1] + moved

    def cube_x(self, wall: str, column: int) -> float:
        """Return the center of a column of a wall."""
        pitch = PITCH if wall == "narrow" else self.pitch
        return self.x(wall) + pitch * (column + 0.5)

    def end_x(self, wall: str) -> float:
        """Return the right end of the trays of a wall."""
        return self.x(wall) + PITCH * WALL

    # Heights.

    def ball_y(self, number: int) -> float:
        return TOP + self.step * (number + 0.5)

    def letter_y(self, letter: int) -> float:
        return TOP + LETTERS * (BOTTOM - TOP) * (letter + 0.5) / self.letters

    def place_y(self, place: int) -> float:
        return BOTTOM - PLACES * (BOTTOM - TOP) * (1.0 - (place + 0.5) / self.places)

    def score_y(self, letter: int) -> float:
        return TOP + (BOTTOM - TOP) * (letter + 0.5) / self.letters

    def neuron_y(self, neuron: int) -> float:
        return TOP + (BOTTOM - TOP) * (neuron + 0.5) / self.hidden

    def narrow_y(self, number: int, neuron: int) -> float:
        """Return the height of the cube between a neuron and a number of the road."""
        line = neuron // WALL
        return TOP + self.step * (number + 0.05 + 0.9 * (line + 0.5) / self.lines)

    def head_top(self, head: int) -> float:
        """Return the upper edge of a head: its query, its key and its value."""
        return TOP + (BOTTOM - TOP + 0.5 * self.row) * head / self.heads

    @property
    def row(self) -> float:
        """Distance of the rows of a head, which leaves a part for gaps."""
        return (BOTTOM - TOP) / self.heads / (3.0 * self.each + 3.9)

    def head_y(self, head: int, kind: int, number: int) -> float:
        """Return the height of a number of a head's query (0), key (1) or value (2)."""
        return self.head_top(head) + self.row * (kind * (self.each + 0.8) + number + 0.5)

    def channel_y(self, channel: int) -> float:
        """Return the height of a channel of queries, keys and values."""
        head, rest = divmod(channel, 3 * self.each)
        return self.head_y(head, rest // self.each, rest % self.each)

    def mix_y(self, number: int) -> float:
        return self.head_y(number // self.each, VALUE, number % self.each)

    def row_y(self, wall: str, row: int) -> float:
        """Return the height of a row of a wall."""
        rows = {
            "letters": self.letter_y(row),
            "places": self.place_y(row),
            "qkv": self.channel_y(row),
            "wide": self.neuron_y(row),
            "scores": self.score_y(row),
        }
        return rows.get(wall, self.ball_y(row))

    def result_x(self, wall: str) -> float:
        """Return the end of the lines from the rows of a wall."""
        return self.x(GIVES[wall][0]) - GIVES[wall][1]

    # Lanes and columns.

    def lane(self, number: int, wall: str) -> tuple[float, float]:
        """Return x of the lane of a number before a wall, and y above the wall."""
        left = self.x(wall) - BEFORE - LANES + LANES * number / self.size
        return left, TOP - OVER + CLIMB * number / self.size

    def way_over(self, number: int, wall: str) -> list[tuple[float, float]]:
        """Return the way of a number from its ball over a wall down to the top of its column."""
        part, radius, _ = COMES[wall]
        y = self.mix_y(number) if part == "mix" else self.ball_y(number)
        lane, over = self.lane(number, wall)
        return [
            (self.x(part) + radius, y),
            (lane, y),
            (lane, over),
            (self.cube_x(wall, number), over),
        ]

    def column_pitch(self, place: int) -> float:
        room = 1.0 + 0.12 * (self.wide - WIDE) / COLUMNS
        return room * min(MOST, COLUMNS / max(1, place))

    def column_x(self, place: int, chosen: int) -> float:
        """Return x of the column of a place; the chosen place has the last one."""
        return self.x("column") - self.column_pitch(chosen) * (chosen - place)

    def square(self, chosen: int) -> float:
        """Return the side of the squares of all columns."""
        return min(SQUARE, 0.82 * self.column_pitch(chosen))
