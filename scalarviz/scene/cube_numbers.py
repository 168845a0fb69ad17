"""Numbers on cubes, each written on the face that is largest on the screen.

A cube in a row has its number on a face that is wide enough, or above the cube. Hovered, pinned and
explained cubes always have their numbers, in front of everything. If all cubes have numbers, those
that would be wider than their cell, overlap another number or a neuron, or be hidden are left out.
While weights change, cubes show their numbers before and after the step. Dimmed cubes have no
numbers.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scalarviz.base.texts.decimals import short
from scalarviz.scene.annotations import (
    FACE_LETTERS,
    ON_CUBES,
    Number,
    above_face,
    choices,
    fitted,
    on_face,
    write_number,
    write_on_faces,
)
from scalarviz.scene.cube_faces import CubeFaces
from scalarviz.scene.focus import chosen_rows, rows_explained, rows_in_focus, rows_of_sum
from scalarviz.story.facts import NONE
from scalarviz.story.panel_words import FEW, formula_digits

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.cube_faces import SeenCube
    from scalarviz.scene.frame_data import CubeValues, FrameData
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.lights import Lights


def draw_numbers(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, lit: Lights, theme: Theme
) -> None:
    """Write numbers on the cubes that are not dimmed."""
    found = numbers_on_cubes(canvas, see, frame_data, at_rest=True)
    rows = [row for row in found if not lit.is_dim(row, frame_data.layout.plate_number(row))]
    bright = [found[row] for row in rows]
    write_on_faces(canvas, [each for each in bright if each.share is not None], theme)
    for number in [each for each in bright if each.share is None]:
        inks = (theme.ink, theme.ground) if number.plain else (theme.number, theme.halo)
        write_number(canvas, number, inks[0], inks[1])


def numbers_on_cubes(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, *, at_rest: bool = False
) -> dict[int, Number]:
    """Return the numbers to write on cubes, by bank index.

    Args:
        at_rest: whether to include numbers on cubes in rows that were not requested
    """
    first, asks, told = first_rows(frame_data), frame_data.look.numbers, frame_data.told
    is_said = told is not None and told.outcome is not None  # the change, in its panel
    found: dict[int, Number] = {}
    if frame_data.layout.crossbar is not None:
        return found  # beside its bars, see `crossbar_marks`
    held = NONE if frame_data.held is None else frame_data.held.row  # being dragged
    if not first and not asks and not at_rest:
        return found
    least = 0.0 if asks else FACE_LETTERS[0][1] * canvas.scale if at_rest else math.inf
    faces = CubeFaces(see, frame_data, first, canvas.scale, least)
    pushes = frame_data.cubes.pushes  # with arrows above cubes
    upright = [
        row
        for fan in frame_data.layout.fans
        if fan.form == "upright"
        for row in rows_of_sum(fan, 0)
    ]
    plates = [each for each in frame_data.layout.plates if each.role == "gain"]
    formula = formula_digits(frame_data.layout.steps, frame_data.buffers.values, frame_data.weights)
    gains = [each.first + row for each in plates for row in range(each.rows)]
    for cube in faces.cubes if at_rest else []:
        is_beside = cube.row in first or cube.row in upright
        is_free = told is None or (len(frame_data.layout.written) > 0 and pushes is None)
        is_above = not is_beside and is_free and see.camera.is_front
        plain: Number | None = None
        if cube.row in gains and not is_beside:  # two digits, if there is room
            plain = number_at(canvas, faces, cube, short(cube.value), is_above=is_above)
        if plain is None and not is_beside:
            own = formula.get(f"#{cube.row}", FEW)
            for said in [short(cube.value, own), ""] if own > FEW else [""]:
                if plain is None:
                    plain = number_at(canvas, faces, cube, said, is_above=is_above)
        if plain is not None:
            found[cube.row] = plain
            faces.take(plain)
    for cube in faces.cubes:
        rank = first.get(cube.row, 2)
        if cube.row in found or cube.row == held or (rank > 1 and not asks):
            continue
        for words, face, is_open in choices(
            None if is_said else cube.before,
            cube.value,
            cube.order,
            rank,
            formula.get(f"#{cube.row}", FEW),
        ):
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


def number_at(
    canvas: Canvas2D, faces: CubeFaces, cube: SeenCube, said: str, *, is_above: bool
) -> Number | None:
    """Return a cube's number on its face, or above it if necessary; None if it does not fit.

    Args:
        said: text to write on the face; "" for the default
        is_above: whether the number may be above the cube
    """
    face = cube.order[0]
    front, room = cube.fronts[face], cube.rooms[face]
    plain = on_face(canvas, cube.value, front, cube.near, room, cube.share, said=said)
    if plain is not None and faces.hides(cube, face, plain.wide):
        plain = None
    if plain is None and is_above:
        plain = above_face(canvas, cube.value, front, room[0], cube.above)
        if plain is not None and faces.is_taken(plain, 0):
            plain = None
    return plain


def first_rows(frame_data: FrameData) -> dict[int, int]:
    """Return the bank indices that always have numbers, with rank 0 for marked cubes, else 1."""
    told = frame_data.told
    cubes: CubeValues = frame_data.cubes
    kind = "" if told is None or frame_data.moment is None else frame_data.moment.kind
    chain = [*told.rows[:1], *told.linked] if told is not None and kind == "weight gradient" else []
    is_added = kind == "forward" and told is not None and told.bars is not None
    own = [] if is_added else rows_explained(frame_data)  # its numbers are above the cubes
    beside = [*own, *[row for row in chain if row != NONE]]
    if not is_added and not chain and not cubes.moved[0]:  # these have arrows or outlines
        beside += rows_in_focus(frame_data)[: int(ON_CUBES["most"])]
    marked = told.rows if told is not None and kind in ("weight gradient", "step") else ()
    chosen = [*chosen_rows(frame_data), *frame_data.beside, *marked]
    first = {**dict.fromkeys(beside, 1), **dict.fromkeys(chosen, 0)}
    card = NONE if told is None or told.uses is None else told.uses.row  # which has its number
    return {row: rank for row, rank in first.items() if row != card}
