"""Numbers on cubes: each stands on the face of its cube that is largest on the screen.

What is hovered, pinned or spoken of has its numbers, covered by nothing, on cubes of any size. If
all cubes are to have theirs, a number is left out that would be wider than its cell, meet another
number or a neuron, or be covered by something nearer. While weights move, cubes have the numbers
before and after the step. Out of focus there are no numbers.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.scene.annotations import (
    ON_CUBES,
    Number,
    choices,
    fitted,
    write_number,
)
from scalarviz.scene.cube_faces import CubeFaces
from scalarviz.scene.focus import chosen_rows, rows_explained, rows_in_focus
from scalarviz.story.facts import NONE

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.frame_data import CubeValues, FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout
    from scalarviz.scene.lights import Lights


def draw_numbers(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    lit: Lights,
    inks: tuple[Color, Color],
) -> None:
    """Write numbers on the cubes that are bright.

    inks  of letters and of their halos
    """
    layout: Layout = frame_data.layout
    for row, number in numbers_on_cubes(canvas, see, frame_data).items():
        if not lit.is_dim(row, layout.plate_number(row)):
            write_number(canvas, number, inks[0], inks[1])


def numbers_on_cubes(canvas: Canvas2D, see: Projection, frame_data: FrameData) -> dict[int, Number]:
    """Return what is written on cubes, by bank index."""
    first = first_rows(frame_data)
    found: dict[int, Number] = {}
    if not first and not frame_data.look.numbers:
        return found
    faces = CubeFaces(see, frame_data, first, canvas.scale)
    for cube in faces.cubes:
        rank = first.get(cube.row, 2)
        for words, face, is_open in choices(cube.before, cube.value, cube.order, rank):
            front = cube.fronts[face]
            aside, room = cube.x - front[0], cube.rooms[face]
            number = fitted(canvas, words, rank, front, aside, cube.near, room)
            if number is None or faces.is_taken(number, rank):
                continue
            if not is_open or not faces.hides(cube, face, 2.0 * ON_CUBES["seen"] * number.wide):
                found[cube.row] = number
                faces.take(number)
                break
    return found


def first_rows(frame_data: FrameData) -> dict[int, int]:
    """Return the bank indices that have their numbers always: 0 if it is marked itself, else 1."""
    told = frame_data.told
    cubes: CubeValues = frame_data.cubes
    chain = [] if told is None else list(told.chain)
    beside = [*rows_explained(frame_data), *[each.row for each in chain if each.row != NONE]]
    if not chain and not cubes.moved[0]:  # these have arrows or outlines
        beside += rows_in_focus(frame_data)[: int(ON_CUBES["most"])]
    chosen = [*chosen_rows(frame_data), *frame_data.beside]
    return {**dict.fromkeys(beside, 1), **dict.fromkeys(chosen, 0)}
