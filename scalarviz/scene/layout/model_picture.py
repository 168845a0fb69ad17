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
    LINE,
    ModelLayout,
    Path,
    Place,
    Point,
    is_ring,
)
from scalarviz.scene.layout.model_tree import Item
from scalarviz.scene.layout.model_walls import LABEL, LETTERS, MARGIN, SMALL, Grid, text_width
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
    opened: Mapping[str, int],
) -> Layout:
    """Lay out a followed model with a recorded structure.

    Args:
        arrays: the recorded arrays with their positions in the bank
        size: width and height of the picture, in pixels of a picture with text of 12 pixels
        opened: frames that the user opened or closed, see `ModelLayout`
    """
    kept = {each.name: tuple(each.kept) for each in arrays}
    made = ModelLayout(structure, kept, *size, opened)
    firsts = {each.name: (each.first,) for each in arrays}
    operations = {
        first: (number, each.layer)
        for number, each in enumerate(program.operations)
        for first in (each.weights, each.biases)
    }
    plates = [
        plate_of(grid, grid_corner(place), first, operations.get(first, (NONE, NONE)))
        for place in made.places.values()
        for grid in (place.wall.grids if place.wall is not None else ())
        for first in firsts.get(grid.array, ())
    ]
    whole = made.places[made.root]
    aside, below = (
        max(0.0, 0.5 * each) for each in (size[0] - whole.width, size[1] - whole.height)
    )
    corners = [(-aside, -below), (whole.width + aside, whole.height + below)]
    room = mark("room", "", corners)  # text is never larger
    marks = [room, *frames_of(made), *lines_of(made), *items_of(made)]
    views = dict.fromkeys(("perspective", "orthographic", "flat"), CAMERA)
    nobody = Neurons(np.zeros((0, 3)), "", "")  # the values of neurons are unknown
    return Layout(plates, [nobody], (), (), views, marks=marks)


def grid_corner(place: Place) -> Point:
    """Return the corner of the arrays of a wall or a closed frame."""
    return place.x + place.corner[0], place.high + place.corner[1]


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


def frames_of(made: ModelLayout) -> Iterator[DiagramMark]:
    """Yield the marks of the open frames."""
    for each in made.root.visible():
        if each.node is None and each.is_open:
            place = made.places[each]
            left, high, right, low = place.x, place.high, place.right, place.low
            for behind in (9.0, 6.0, 3.0) if each.units else ():
                corner = left + behind, high - behind
                yield box("behind", *corner, right + behind, low - behind, ROUND)
            yield mark("box", "frame", [(left, high), (right, low)], size=ROUND, key=each.key)
            yield from title_of(made, each, left + ROUND, high + 13.0)
            yield from badge_of(each, right - 6.0, high)


def title_of(made: ModelLayout, item: Item, x: float, y: float) -> Iterator[DiagramMark]:
    """Yield the name of a frame and its kind, if there is room."""
    name, kind = made.title(item)
    yield words("bold", x, y, name, anchor="left")
    before = text_width(name, bold=True) + 7.0
    room = made.places[item].width - before - (92.0 if item.units else 16.0)
    if kind and text_width(kind, bold=True) < room:
        yield words("quiet", x + before, y, kind, anchor="left")


def badge_of(item: Item, right: float, y: float) -> Iterator[DiagramMark]:
    """Yield the number of repetitions, and of the shown one, at the upper corner of a frame."""
    if item.units:
        shown = text("structure.unit", number=item.number + 1, count=item.times)
        said = shown if item.is_open else f"× {item.times}"
        wide = text_width(said, 13, bold=True) + 18.0
        corners = [(right - wide, y - 9.0), (right, y + 11.0)]
        yield mark("box", "badge", corners, size=10.0, key=item.key)
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
    """Yield the word at a line that goes around items, or back, on the longest such part."""
    way = -1.0 if path.kind == "loop" else 1.0  # to the next row, other lines go back
    start, end = max(pairwise(path.points), key=lambda two: way * (two[1][0] - two[0][0]))
    x, y = 0.5 * (start[0] + end[0]), start[1]
    if path.word and abs(end[0] - start[0]) >= HINT:
        yield words("line", x, y, path.word, SMALL)
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
            yield from closed_marks(made, each, place)
        elif place.maps is None or each.kind == "output":
            is_end = each.kind in ("input", "output")
            look = "input" if is_end else "ring" if is_ring(each) else "chip"
            yield box(look, *edges, 6.0 if is_end else CHIP if look == "chip" else 9.5)
            for number, said in enumerate(each.words):
                y = place.y + LINE * (number - 0.5 * (len(each.words) - 1))
                yield words("bold" if look == "ring" else "soft", place.middle, y, said)
    for each in shown:
        yield from map_marks(made.places[each])
    names = [(made.title(each)[0], made.places[each]) for each in walls]
    yield from (words("ink", place.middle, place.low + 11.0, said) for said, place in names)
    for each in walls:
        x, y = made.places[each].middle, made.places[each].low + 26.0
        look = "tied" if each in made.tied else "quiet"
        for number, said in enumerate(made.about(each)):
            yield words(look, x, y + LABEL * number, said, SMALL)


def map_marks(place: Place) -> Iterator[DiagramMark]:
    """Yield the maps of a probe at the foot of an item, with the numbers of heads."""
    maps = place.maps
    if maps is None:
        return
    left = place.middle - 0.5 * maps.width
    top = place.low - maps.height - place.corner[1]
    for number, (dx, dy) in enumerate(maps.corners):
        x, y = left + dx, top + dy
        corners = [(x, y), (x + maps.side, y + maps.side)]
        yield mark("map", maps.part, corners, maps.path, number)
        if maps.part == "attention":
            said = text("structure.head", number=number)
            yield words("quiet", x + 0.5 * maps.side, y - 0.5 * LABEL, said, SMALL)


def wall_marks(made: ModelLayout, item: Item, place: Place) -> Iterator[DiagramMark]:
    """Yield the ground of a wall, its edge if tied, and the names of its parts."""
    assert place.wall is not None
    grids, parts = place.wall.grids, place.wall.parts
    left, top = grid_corner(place)
    wide = 0.0 if place.maps is None else 0.5 * place.maps.width
    edges = min(left, place.middle - wide) - MARGIN, place.high, place.right, place.low
    yield box("tied" if item in made.tied else "wall", *edges, 4.0)
    for x, y, said in place.wall.labels:
        yield words("quiet", left + x, top + y, said, SMALL, "left")
    if not grids:
        return
    head, low = grids[0].y, grids[0].bottom
    right = left + MARGIN + max(x.right for x in grids if x.bottom > 0.9 * low)
    for number, letter in enumerate(parts):
        step = (low - head) / len(parts)
        y = top + head + step * number
        yield words("bold", left - 10.0, y + 0.5 * step, letter)
        if number:
            yield mark("line", "cut", [(left - MARGIN, y), (right, y)])


def closed_marks(made: ModelLayout, item: Item, place: Place) -> Iterator[DiagramMark]:
    """Yield the skip connections of a closed frame; of repetitions, also rows and columns."""
    assert place.wall is not None
    left, top = grid_corner(place)
    rows = [each for each in place.wall.grids if each.x == 0.0 and each.first == 0]
    skips = made.skips(item)
    for first, last, _ in skips:
        high, low = top + rows[first].y + 2.0, top + rows[last].bottom - 2.0
        points = [(left - 4.0, high), (left - 12.0, high), (left - 12.0, low), (left - 4.0, low)]
        yield mark("line", "around", points, size=CORNER)
    if not item.units:
        return
    yield from title_of(made, item, place.x + ROUND, place.high + 13.0)
    yield from badge_of(item, place.right - 6.0, place.high)
    for _, y, name in place.wall.labels:
        x = left - (18.0 if skips else 5.0)
        yield words("quiet", x, top + y, name, SMALL, "right")
    columns = [each for each in place.wall.grids if each.y == 0.0]
    step = max(1, ceil(18.0 / max(1.0, columns[1].x - columns[0].x)))
    for number, grid in enumerate(columns[::step]):
        x = left + grid.x + 0.5 * grid.columns * grid.cell[0]
        yield words("quiet", x, place.low - 10.0, str(number * step), SMALL)
