"""The layout of a network with an embedding and attention: walls, and balls of one place.

`sequence_places` has the positions; pages get the finished layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.scene.layout.camera import FRONT, Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    FLUSH,
    FULL,
    NEAR,
    PIXEL,
    RIGHT,
    Label,
    Layout,
    Neurons,
    Plate,
)
from scalarviz.scene.layout.points import vector
from scalarviz.scene.layout.sequence_places import (
    AT_PLACE,
    BALL,
    HIGH,
    MARGIN,
    PITCH,
    SILENT,
    SMALL,
    WALL,
    WIDE,
    SequencePlan,
)

CAMERA = Camera(azimuth=FRONT[0], elevation=FRONT[1], fov=0.0)
# The operations of a network of one block, in their order: from `BEGINS` to `ENDS` is the block.
BEGINS, ENDS = 2, 13
BLOCK = [
    "embedding",
    "each_place",
    "branch",
    "convolution",
    "row",
    "convolution",
    "sum",
    "branch",
    "each_place",
    "convolution",
    "activation",
    "convolution",
    "sum",
    "convolution",
    "each_place",
]
FORMULAS = ["rms_norm", "attention", "rms_norm", "log_softmax"]
# What they write.
NAMES = "e", "x", "-", "qkv", "mix", "a", "h", "-", "n", "u", "z", "o", "y", "scores", "out"
WALLS = {"qkv": 3, "join": 5, "wide": 9, "narrow": 11, "scores": 13}  # operations with weights
NARROW = WALLS["narrow"]
LARGEST = 100, 64  # letters, and numbers of a place, whose cubes can be distinguished
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def sequence_of(
    program: Program, signs: Sequence[str] = (), counted: int = 0
) -> SequencePlan | None:
    """Return the plan of a network of blocks that reads a sequence; None for other networks.

    The last block is open; all before it are closed.

    Args:
        signs: how each letter is written; by default "·" and the letters from a to z, or numbers
        counted: index of the first place whose error counts; by default 0
    """
    operations = program.operations
    formulas = [each.formula for each in operations if each.kind in ("row", "each_place")]
    blocks = max(1, (len(operations) - len(BLOCK)) // (ENDS - BEGINS) + 1)
    kinds = [*BLOCK[:BEGINS], *blocks * BLOCK[BEGINS:ENDS], *BLOCK[ENDS:]]
    wanted = [*FORMULAS[:1], *blocks * FORMULAS[1:3], *FORMULAS[3:]]
    if [each.kind for each in operations] != kinds or formulas != wanted:
        return None
    operations = [operations[place_of(program, each)] for each in range(len(BLOCK))]
    table, attention = operations[0], operations[4]
    heads, _, places, is_causal = (int(each) for each in attention.settings[:4])
    letters, size = table.shape[:2]
    hidden, answers = operations[9].shape[0], operations[13].shape[0]
    fits = letters <= LARGEST[0] and size <= LARGEST[1]
    if answers != letters or not (fits and is_causal and is_plain(operations)):
        return None
    named = ["·", *ALPHABET] if letters == 1 + len(ALPHABET) else [*map(str, range(letters))]
    buffers = {
        name: each.target.name for name, each in zip(NAMES, operations, strict=True) if name != "-"
    }
    rows = {name: operations[place].weights for name, place in WALLS.items()}
    rows |= {"letters": table.weights, "places": table.biases}
    buffers["inputs"] = program.inputs.name
    made = [*(signs or named)]
    usual = max(SequencePlan.usual, counted)
    return SequencePlan(
        letters, size, places, heads, hidden, made, buffers, rows, usual, closed=blocks - 1
    )


def place_of(program: Program, number: int) -> int:
    """Return the place in a program of an operation of BLOCK, in the open block."""
    return number and len(program.operations) - len(BLOCK) + number


def is_plain(operations: Sequence[Operation]) -> bool:
    """Return whether the walls show all weights: rows of letters and places, and no biases."""
    walls = [operations[place] for place in WALLS.values()]
    has_positions = operations[0].biases != NONE
    is_pointwise = all(each.shape[2:] == (1, 1) for each in walls)
    return has_positions and is_pointwise and all(each.biases == NONE for each in walls)


def sequence_layout(program: Program, plan: SequencePlan, shape: float) -> Layout:
    """Return the layout of a network of blocks for a stage with an aspect ratio."""
    plan = replace(plan, wide=max(WIDE, 2.0 * MARGIN + HIGH * shape))
    plates = [*plates_of(plan, program)]
    labels = [Label(*each) for each in labels_of(plan, plates)]
    views = dict.fromkeys(("perspective", "orthographic", "flat"), CAMERA)
    views["flat"] = replace(CAMERA, azimuth=0.0, elevation=0.0)
    return Layout(plates, [*neurons_of(plan)], (), labels, views, sequence=plan)


def at(x: float, y: float) -> FloatArray:
    return vector(PIXEL * x, -PIXEL * y, 0.0)


def plates_of(plan: SequencePlan, program: Program) -> Iterator[Plate]:
    """Yield the plates; rows that are dimmed separately are separate plates."""
    size, rows, each = plan.size, plan.rows, plan.each

    def wall(name: str, part: int, first: float, pitch: float, count: int, operation: int) -> Plate:
        """Return rows of a wall; the bank index of the first one is `part` rows further on."""
        index = rows[name] + part * size
        return plate(index, (count, size, size), plan.cube_x(name, 0), first, pitch, operation)

    def plate(
        index: int, shape: tuple[int, int, int], x: float, y: float, pitch: float, operation: int
    ) -> Plate:
        wide = PITCH if operation == NARROW else plan.pitch
        seat = FLUSH * 0.5 * FULL * PIXEL * min(wide, pitch)
        corner = PIXEL * ((x - 0.5 * wide) * RIGHT + (y - 0.5 * pitch) * DOWN)
        ways = PIXEL * wide * RIGHT, PIXEL * pitch * DOWN, NEAR
        number = place_of(program, operation)
        layer = program.operations[number].layer
        return Plate(index, *shape, corner, *ways, "weight", number, layer, None, seat)

    letters = plan.letter_y(0), plan.letter_y(1) - plan.letter_y(0)
    yield wall("letters", 0, *letters, plan.letters, 0)
    pitch = plan.place_y(1) - plan.place_y(0)
    for feature in range(size):  # the numbers of a feature follow each other in the bank
        index, shape = rows["places"] + feature * plan.places, (plan.places, 1, 1)
        x = plan.cube_x("letters", feature)
        yield plate(index, shape, x, plan.place_y(0), pitch, 0)
    for channel in range(0, 3 * size, each):
        yield wall("qkv", channel, plan.channel_y(channel), plan.row, each, 3)
    yield wall("join", 0, plan.ball_y(0), plan.step, size, 5)
    for neuron in range(plan.hidden):
        height = plan.neuron_y(1) - plan.neuron_y(0)
        yield wall("wide", neuron, plan.neuron_y(neuron), height, 1, 9)
    for neuron in range(plan.hidden):
        index, shape = rows["narrow"] + neuron, (size, 1, plan.hidden)
        x, y = plan.cube_x("narrow", neuron % WALL), plan.narrow_y(0, neuron)
        yield plate(index, shape, x, y, plan.step, 11)
    heights = plan.score_y(0), plan.score_y(1) - plan.score_y(0)
    yield wall("scores", 0, *heights, plan.letters, 13)


def neurons_of(plan: SequencePlan) -> Iterator[Neurons]:
    """Yield the lines of balls, which show the numbers of the chosen place."""
    numbers, all_rows = range(plan.size), range(3 * plan.size)
    lines = [
        ("x", BALL, "x", [plan.ball_y(each) for each in numbers]),
        ("qkv", SMALL, "own", [plan.channel_y(each) for each in all_rows]),
        ("mix", SMALL, "mix", [plan.mix_y(each) for each in numbers]),
        ("h", BALL, "h", [plan.ball_y(each) for each in numbers]),
        ("z", SILENT, "z", [plan.neuron_y(each) for each in range(plan.hidden)]),
        ("y", BALL, "y", [plan.ball_y(each) for each in numbers]),
    ]
    for name, radius, part, heights in lines:
        points = np.array([at(plan.x(part), y) for y in heights])
        yield Neurons(points, "", plan.buffers[name] + AT_PLACE, radius=PIXEL * radius)


def labels_of(
    plan: SequencePlan, plates: Sequence[Plate]
) -> Iterator[tuple[str, str, FloatArray, slice]]:
    """Yield the name of each wall, its position, and its rows in the bank."""
    ends = plan.closed_rows[0], max(each.indices.stop for each in plates)
    stops = sorted([*plan.rows.values(), *ends])
    for name, first in plan.rows.items():
        stop = next(each for each in stops if each > first)
        words = text(f"sequence.wall.{name}", count=plan.hidden)
        yield (
            words,
            "",
            at(plan.x("letters" if name == "places" else name), 0.0),
            slice(first, stop),
        )
