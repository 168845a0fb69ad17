"""The layout of a followed model: plates for its arrays; frames, lines and words as marks.

`model_tree` finds the items, `model_layout` places them in pixels, and this module makes plates and
marks in space, all in one plane that faces the viewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from scalarviz.base.texts import text
from scalarviz.core.program import NONE, Program
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.model_layout import (
    CARD,
    CLOSED,
    LABEL,
    LETTERS,
    LINE,
    SMALL,
    ModelLayout,
    Path,
    Place,
    Point,
    is_ring,
    row_names,
)
from scalarviz.scene.layout.model_tree import Item
from scalarviz.scene.layout.model_walls import MARGIN, Grid
from scalarviz.scene.layout.plates import (
    DOWN,
    NEAR,
    PIXEL,
    RIGHT,
    DiagramMark,
    Layout,
    Neurons,
    Plate,
)
from scalarviz.story.facts import ArrayFacts

CAMERA = Camera(azimuth=0.0, elevation=0.0, fov=0.0)
ROUND, CHIP = 9.0, 8.0  # radius of corners
CORNER = 7.0  # of lines
FINE = 4.0  # pixels of cells without gaps
HINT = 70.0  # least length of a line with a word


def layout_of_model(
    structure: Mapping[str, Any],
    program: Program,
    arrays: Sequence[ArrayFacts],
    size: tuple[float, float],
    opened: Mapping[str, bool],
) -> Layout:
    """Lay out a followed model with a recorded structure.

    Args:
        arrays: the recorded arrays with their positions in the bank
        size: width and height of the picture, in pixels of a picture with text of 12 pixels
        opened: frames that the user opened (True) or closed (False), by key
    """
    kept = {each.name: tuple(each.kept) for each in arrays}
    made = ModelLayout(structure, kept, *size, opened)
    firsts = {each.name: each.first for each in arrays}
    operations: dict[int, tuple[int, int]] = {}
    for number, each in enumerate(program.operations):
        layer = int(each.label.partition(".")[0]) if each.label else NONE
        operations |= {each.weights: (number, layer), each.biases: (number, layer)}
    plates = []
    for item, place in made.places.items():
        for grid in place.wall.grids if place.wall is not None else ():
            if grid.array in firsts:
                first = firsts[grid.array]
                at = operations.get(first, (NONE, NONE))
                plates.append(plate_of(grid, grid_corner(item, place), first, at))
    whole = made.places[made.root]
    aside, below = 0.5 * (size[0] - whole.width), 0.5 * (size[1] - whole.height)
    corners = [(-aside, -below), (whole.width + aside, whole.height + below)]
    room = mark("room", "", corners)  # text is never larger
    marks = [room, *frames_of(made, made.root), *lines_of(made), *items_of(made)]
    views = dict.fromkeys(("perspective", "orthographic", "flat"), CAMERA)
    nobody = Neurons(np.zeros((0, 3)), "", "")  # the values of neurons are unknown
    return Layout(plates, [nobody], (), (), views, marks=marks)


def grid_corner(item: Item, place: Place) -> Point:
    """Return the corner of the arrays of a wall or a closed frame."""
    assert place.wall is not None
    if item.node is not None:
        return place.right - MARGIN - place.wall.width, place.high + MARGIN
    if item.units:
        return place.right - CLOSED[0] - place.wall.width, place.high + CLOSED[1]
    return place.x + CARD, place.high + CARD


def plate_of(grid: Grid, corner: Point, first: int, at: tuple[int, int]) -> Plate:
    """Return the plate of a grid; `at` is the index of its operation and of its layer."""
    return Plate(
        *(first + grid.first, grid.rows, grid.columns, grid.stride),
        PIXEL * ((corner[0] + grid.x) * RIGHT + (corner[1] + grid.y) * DOWN),
        PIXEL * grid.cell[0] * RIGHT,
        PIXEL * grid.cell[1] * DOWN,
        NEAR,
        *(grid.role, *at),
        tiles=grid.tiles,
        is_full=min(grid.cell) < FINE,
    )


def mark(
    kind: str,
    look: str,
    points: Sequence[Point],
    words: str = "",
    size: float = 0.0,
    anchor: str = "center",
    key: str = "",
) -> DiagramMark:
    """Return a mark at points in pixels."""
    in_space = [(PIXEL * x, -PIXEL * y, 0.0) for x, y in points]
    return DiagramMark(kind, look, in_space, words, size, anchor, key)


def box(look: str, x: float, y: float, right: float, low: float, radius: float) -> DiagramMark:
    return mark("box", look, [(x, y), (right, low)], size=radius)


def words(
    look: str, x: float, y: float, said: str, size: float = LETTERS, anchor: str = "center"
) -> DiagramMark:
    """Return text whose letters are centered at the height y."""
    return mark("text", look, [(x, y + 0.36 * size)], said, size, anchor)


# Frames.


def frames_of(made: ModelLayout, frame: Item) -> Iterator[DiagramMark]:
    """Yield the marks of the open frames in a frame."""
    for each in frame.children:
        if each.node is not None or not each.is_open:
            continue
        place = made.places[each]
        left, high, right, low = place.x, place.high, place.right, place.low
        for behind in (9.0, 6.0, 3.0) if each.units else ():
            yield box("behind", left + behind, high - behind, right + behind, low - behind, ROUND)
        yield mark("box", "frame", [(left, high), (right, low)], size=ROUND, key=each.key)
        yield from title_of(made, each, left + ROUND, high + 13.0)
        yield from badge_of(each, right - 6.0, high)
        yield from frames_of(made, each)


def title_of(made: ModelLayout, item: Item, x: float, y: float) -> Iterator[DiagramMark]:
    """Yield the name of a frame and its kind, if there is room."""
    name, kind = made.title(item)
    yield words("bold", x, y, name, anchor="left")
    before = made.words_width(name) + 7.0
    room = made.places[item].width - before - (62.0 if item.units else 16.0)
    if kind and made.words_width(kind) < room:
        yield words("quiet", x + before, y, kind, anchor="left")


def badge_of(item: Item, right: float, y: float) -> Iterator[DiagramMark]:
    """Yield the number of repetitions at the upper right corner of a frame."""
    if item.units:
        said = f"× {item.times}"
        wide = 14.0 + 9.0 * len(said)
        yield mark("box", "badge", [(right - wide, y - 9.0), (right, y + 11.0)], size=10.0)
        yield words("badge", right - 0.5 * wide, y + 1.0, said, 13.0)


# Lines.


def lines_of(made: ModelLayout) -> Iterator[DiagramMark]:
    """Yield the lines between items, long ones first, and the words at some of them."""
    paths = sorted(made.paths, key=lambda each: -abs(each.points[-1][0] - each.points[0][0]))
    for each in paths:
        yield mark("line", each.kind, each.points, size=CORNER)
    for each in paths:
        yield from word_at(each)


def word_at(path: Path) -> Iterator[DiagramMark]:
    """Yield the word at a line that goes around items, or back, on its longest level part."""
    start, end = max(pairwise(path.points), key=lambda two: abs(two[1][0] - two[0][0]))
    x, y = 0.5 * (start[0] + end[0]), start[1]
    if path.kind == "around" and abs(end[0] - start[0]) >= HINT:
        yield words("line", x, y, text("structure.skip"), SMALL)
    if path.kind == "loop":
        times = 1 if path.start.node is None else path.start.node["times"]
        said = text("structure.loop.times", count=times) if times > 1 else text("structure.loop")
        yield words("line", x, y, said, SMALL)


# Items.


def items_of(made: ModelLayout) -> Iterator[DiagramMark]:
    """Yield the marks of walls, chips and closed frames: boxes first, names, and sizes last."""
    shown = [x for x in made.root.visible() if x.node is not None or not x.is_open]
    walls = [x for x in shown if x.kind == "wall" or (x.is_closed and not x.units)]
    for each in shown:
        place = made.places[each]
        edges = place.x, place.high, place.right, place.low
        if each.kind == "wall":
            yield from wall_marks(made, each, place)
        elif each.is_closed:
            yield mark("box", "closed", [edges[:2], edges[2:]], size=ROUND, key=each.key)
            if each.units:
                yield from repeats_marks(made, each, place)
        else:
            is_input = each.kind == "input"
            look = "input" if is_input else "ring" if is_ring(each) else "chip"
            yield box(look, *edges, 6.0 if is_input else CHIP if look == "chip" else 9.5)
            lines = [each.name] if is_input else each.words
            for number, said in enumerate(lines):
                y = place.y + LINE * (number - 0.5 * (len(lines) - 1))
                yield words("bold" if look == "ring" else "soft", place.middle, y, said)
    for each in walls:
        place = made.places[each]
        yield words("ink", place.middle, place.low + 11.0, made.title(each)[0])
    for each in walls:
        place = made.places[each]
        look = "tied" if made.tied(each) else "quiet"
        for number, said in enumerate(made.about(each)):
            yield words(look, place.middle, place.low + 26.0 + LABEL * number, said, SMALL)


def wall_marks(made: ModelLayout, item: Item, place: Place) -> Iterator[DiagramMark]:
    """Yield the ground of a wall, its edge if tied, and the names of its parts."""
    if place.wall is None:
        return
    grids, parts = place.wall.grids, place.wall.parts
    left, top = grid_corner(item, place)
    edges = left - MARGIN, place.high, place.right, place.low
    yield box("tied" if made.tied(item) else "wall", *edges, 4.0)
    high = max((x.bottom for x in grids[:1]), default=0.0)
    right = left + MARGIN + max((x.right for x in grids if x.bottom > 0.9 * high), default=0.0)
    for number, letter in enumerate(parts):
        step = high / len(parts)
        yield words("bold", left - 10.0, top + step * (number + 0.5), letter)
        if number:
            y = top + step * number
            yield mark("line", "cut", [(left - MARGIN, y), (right, y)])


def repeats_marks(made: ModelLayout, item: Item, place: Place) -> Iterator[DiagramMark]:
    """Yield names of the rows and numbers of the columns of closed repetitions."""
    assert place.wall is not None
    grids, names = place.wall.grids, row_names(item)
    left, top = grid_corner(item, place)
    yield from title_of(made, item, place.x + ROUND, place.high + 13.0)
    yield from badge_of(item, place.right - 6.0, place.high)
    rows = [each for each in grids if each.x == grids[0].x and each.first == 0]
    for grid, name in zip(rows, names, strict=False):
        yield words("quiet", left - 22.0, top + grid.y + 0.5 * grid.rows * grid.cell[1], name,
                    SMALL, "right")  # fmt: skip
    columns = [each for each in grids if each.y == 0.0]
    step = max(1, ceil(18.0 / max(1.0, columns[1].x - columns[0].x)))
    for number, grid in enumerate(columns):
        if number % step == 0:
            x = left + grid.x + 0.5 * grid.columns * grid.cell[0]
            yield words("quiet", x, place.low - 10.0, str(number), SMALL)
    for first, last in residuals(made, item):
        y = top + rows[first].y + 2.0, top + rows[last].bottom - 2.0
        points = [(left - 5.0, y[0]), (left - 13.0, y[0]), (left - 13.0, y[1]), (left - 5.0, y[1])]
        yield mark("line", "around", points, size=CORNER)


def residuals(made: ModelLayout, item: Item) -> list[tuple[int, int]]:
    """Return the first and last row of the matrices that each skip connection goes around."""
    found: list[tuple[int, int]] = []
    row, start = 0, 0
    for leaf in item.leaves():
        if leaf.words[:1] == ["+"]:
            if row > start and sum(end == leaf.id for _, end in made.flow) > 1:
                found.append((start, row - 1))
            start = row
        row += sum(len(size) > 1 for size in leaf.arrays.values())
    return found
