"""What is seen of a picture and drawn of a sum, computed without OpenGL.

Silhouettes by depth, terms.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.callout import draw_told
from scalarviz.scene.canvas.canvas2d import ARROW, AXIS, BOX, CLIP, EXTRA, FILL, HALF, KIND, MIDDLE
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.lights import lights
from scalarviz.scene.look import Look
from scalarviz.scene.picture import draw_beside, side_in, write_ends
from scalarviz.scene.silhouettes import inside, points_in
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.sessions import advanced
from tests.studio import Noted, OneByOne, Written

NOTHING = -1


@dataclass
class Seen:
    """What is seen of the cubes and spheres of a picture.

    Attributes:
        shown, whole: pixels of each cube that are seen, and that its silhouette has
        edges: geometric mean of the sides of the box around what is seen of each cube, in pixels
        spheres: the same two for the spheres: (n, 2)
        circles: (n, 3), x, y and radius of the spheres
        picture: the number of what is seen at each pixel: cubes, then spheres; NOTHING elsewhere
        rows: bank indices of the cubes
    """

    shown: np.ndarray
    whole: np.ndarray
    edges: np.ndarray
    spheres: np.ndarray
    circles: np.ndarray
    picture: np.ndarray
    rows: np.ndarray


def stage_of(show: Any, size: tuple[int, int], **look: Any) -> Stage:
    """A stage of this size, as in a picture."""
    stage = Stage(show, Look(**look), reduced_motion=True)
    stage.common.silent = True
    stage.resize(*size)
    stage.frame_data()  # the camera is fitted
    return stage


def projection(stage: Stage) -> Projection:
    data = stage.frame_data()
    box = data.division(*stage._extent).inner
    points = data.layout.extent
    reach = (
        float(np.linalg.norm(points - np.array(stage.eyes.camera.target), axis=1).max(initial=0.0))
        + 2.0
    )
    return Projection(stage.eyes.camera, box, *stage._extent, reach)


def look(stage: Stage, fine: int = 1, *, spheres: bool = True) -> Seen:
    """Look at a picture: cubes and spheres are painted from the farthest to the nearest.

    Args:
        fine: so many samples a side stand for a pixel: all that is counted are samples
        spheres: whether there are spheres
    """
    data, see = stage.frame_data(), projection(stage)
    shapes: list[tuple[float, int, np.ndarray]] = []  # depth, number, outline
    number, rows = 0, []
    for plate, top in zip(data.layout.plates, data.cubes.size_scales, strict=True):
        row, column, indices = plate.cells()
        rows.append(indices)
        half = plate.halves(data.cubes.sizes[indices], float(top))
        places = zip(row.tolist(), column.tolist(), half.tolist(), strict=True)
        seen = see(np.array([plate.corners_of(*place) for place in places]).reshape(-1, 3))
        depth = see(plate.point(column + 0.5, row + 0.5)).depth
        for each, outline in zip(depth, seen.xy.reshape(-1, 8, 2), strict=True):
            shapes.append((float(each), number, outline))
            number += 1
    cubes, circles = number, []
    for line in data.layout.neurons:
        if line.shape or not spheres:
            continue
        seen = see(line.points)
        for xy, unit, depth in zip(seen.xy, seen.unit, seen.depth, strict=True):
            circles.append((*xy, line.radius * unit))
            shapes.append((float(depth), number, np.array([[*xy, line.radius * unit]])))
            number += 1
    picture = np.full((fine * round(see.height), fine * round(see.width)), NOTHING, np.int32)
    whole = np.zeros(number)
    for _, which, outline in sorted(shapes, key=lambda shape: -shape[0]):
        whole[which] = paint(picture, fine * outline, which)
    flat = picture.ravel()
    shown = np.bincount(flat[flat >= 0], minlength=number).astype(float)
    return Seen(
        shown[:cubes],
        whole[:cubes],
        edges_of(picture, cubes),
        np.stack([shown[cubes:], whole[cubes:]], axis=1),
        np.array(circles).reshape(-1, 3),
        picture,
        np.concatenate(rows),
    )


def paint(picture: np.ndarray, outline: np.ndarray, which: int) -> int:
    """Paint a convex outline, or a circle given as (1, 3), and return its number of pixels."""
    circle = outline.shape == (1, 3)
    reach = outline[0, 2] if circle else 0.0
    low = np.maximum(np.floor(outline[:, :2].min(axis=0) - reach), 0).astype(int)
    high = np.ceil(outline[:, :2].max(axis=0) + reach).astype(int)
    high = np.minimum(high, np.array(picture.shape[::-1]))
    if (high <= low).any():
        return 0
    y, x = np.mgrid[low[1] : high[1], low[0] : high[0]] + 0.5
    if circle:
        found = (x - outline[0, 0]) ** 2 + (y - outline[0, 1]) ** 2 < reach**2
    else:
        points = np.stack([x, y], axis=-1).reshape(-1, 2)
        found = inside(points, hull(outline)[np.newaxis]).reshape(x.shape)
    picture[low[1] : high[1], low[0] : high[0]][found] = which
    return int(found.sum())


def hull(points: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points in the plane, counterclockwise."""
    points = np.unique(np.round(points, 9), axis=0)
    x, y = np.moveaxis(points - points[:, np.newaxis], 2, 0)
    lefts = x[..., np.newaxis] * y[:, np.newaxis] >= y[..., np.newaxis] * x[:, np.newaxis]
    ends = points[(lefts.all(axis=2) & ~np.eye(len(points), dtype=bool)).any(axis=1)]
    x, y = (ends - ends.mean(axis=0)).T
    return np.asarray(ends[np.argsort(np.arctan2(y, x))])


def edges_of(picture: np.ndarray, count: int) -> np.ndarray:
    """The geometric mean of the sides of the box around what is seen of each cube."""
    y, x = np.nonzero((picture >= 0) & (picture < count))
    which = picture[y, x]
    low, high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    for axis, places in enumerate((x, y)):
        np.minimum.at(low[:, axis], which, places)
        np.maximum.at(high[:, axis], which, places + 1)
    return np.sqrt(np.where(np.isfinite(low), high - low, 0.0).prod(axis=1))


def maps_of(stage: Stage) -> np.ndarray:
    """The geometric mean of the sides of each feature map, in pixels."""
    data, see = stage.frame_data(), projection(stage)
    corners = [line.corners() for line in data.layout.neurons if line.shape]
    xy = see(np.concatenate(corners).reshape(-1, 3)).xy.reshape(-1, 3, 2)
    last = xy[:, 1] + xy[:, 2] - xy[:, 0]
    whole = np.concatenate([xy, last[:, np.newaxis]], axis=1)
    return np.sqrt(np.prod(whole.max(axis=1) - whole.min(axis=1), axis=1))


def layers_of(kind: str, sizes: Sequence[int]) -> list[Any]:
    """The layers of a network, see `dense_session`."""
    *hidden, last = itertools.pairwise(sizes)
    curve = "tanh" if kind in ("", "normed") else kind
    found: list[Any] = []
    for inputs, outputs in hidden:
        found.append(sv.Dense(inputs, outputs, curve))
        found += [sv.LayerNorm(outputs)] * (kind == "normed")
    if kind != curve:
        return [*found, sv.Dense(*last)]
    return [*found, sv.Dense(*last, curve), sv.Softmax(last[1])]


def dense_session(name: str) -> sv.Session:
    """A session of a network whose sizes are its name, such as "12-64x4-3".

    "normed 3-8-3" has a normalization after each hidden layer, so that it is no crossbar, and
    "relu 3-8-3" has another activation, and a softmax at the end.
    """
    kind, _, shape = name.rpartition(" ")
    parts = [part.split("x") for part in shape.split("-")]
    sizes = [int(a) for a, *more in parts for _ in range(int(more[0]) if more else 1)]
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(32, sizes[0]))
    targets = np.tanh(inputs @ rng.normal(size=(sizes[0], sizes[-1])))
    return sv.Session(sv.Network(layers_of(kind, sizes), seed=0), (inputs, targets))


@lru_cache(maxsize=32)
def trained(name: str) -> Any:
    """A scene after some steps, or a network with a name as in `dense_session`."""
    return played(name, 20) if name.isalpha() else advanced(dense_session(name), 20)


def played(name: str, steps: int, operations: int = 0, **options: Any) -> Show:
    """A scene after some steps, and operations of the next one."""
    show = Show.of(load(find(name))(**options))
    show.session.advance(steps)
    show.session.advance(operations, "operation")
    return show


def at_each_operation(show: Show, size: tuple[int, int]) -> Iterator[Stage]:
    """The stage after each operation of the next step."""
    for _ in show.session.operations:
        show.session.advance(1, "operation")
        yield stage_of(show, size)


class Words(OneByOne):
    """A canvas that remembers the boxes of its texts."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.found: list[tuple[str, Box]] = []

    def text(self, x, y, words, *, size=13.0, anchor="left", **look):
        wide = super().text(x, y, words, size=size, anchor=anchor, **look)
        left = x - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[anchor]
        self.found.append((words, Box(left, y - 0.75 * size, wide, 0.8 * size)))
        return wide

    def kept(self, name, key, draw):
        return draw(self)


DARK = THEMES["dark"]
BESIDE = Box(1000.0, 300.0, 260.0, 246.0)  # room for the panel beside the network


class Notes(OneByOne):
    """A canvas that notes boxes and words; all letters have one width."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.noted: list[tuple[Any, ...]] = []
        self.said: list[tuple[Any, ...]] = []

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        return 0.6 * size * len(words)

    def fit(self, words: str, width: float, *, size: float = 13.0, bold: bool = False) -> str:
        return words

    def box(self, x: float, y: float, width: float, height: float, fill: Any, **look: Any) -> None:
        self.noted.append((x, y, width, height, fill, look.get("outline")))

    def boxes(self, xy: Any, size: Any, fill: Any, **look: Any) -> None:
        self.noted += [(*at, *size, fill, look.get("outline")) for at in np.asarray(xy).tolist()]

    def text(self, x: float, y: float, words: str, **look: Any) -> float:
        self.said.append((x, y, words))
        return 0.0


def drawn_terms(
    stage: Stage, part: float = 1.0, given: FrameData | None = None
) -> tuple[Notes, Box | None, Obstacles]:
    """The notes of a canvas, the box of the panel beside, and what it was to keep clear of."""
    frame_data, see = given or stage.frame_data(), projection(stage)
    size = see.width, see.height
    taken = write_ends(Notes(*size), see, frame_data, DARK)
    notes = Notes(*size)
    now = replace(frame_data, part=part)
    draw_told(notes, see, now, taken, DARK)
    side = side_in(now, told=taken.panel is not None)
    return notes, side and draw_beside(notes, now, BESIDE, side, DARK), taken


class Layers(Noted):
    """A canvas that remembers which of its shapes are the letters of a text, and their depth."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.letters: list[tuple[Written, int, int, float]] = []

    def text(self, x: float, y: float, words: str, **look: Any) -> float:
        first, before = self._quads.count, len(self.written)
        wide = super().text(x, y, words, **look)
        for each in self.written[before:]:
            self.letters.append((each, first, self._quads.count, look.get("depth", -1.0)))
        return wide


def flat_of(stage: Stage) -> Any:
    """All shapes and texts of a picture."""
    data, picture = stage.frame_data(), stage.picture()
    see = picture.see(data, stage.eyes.camera, *stage._extent)
    lit = lights(data.layout, picture.program, data.moment, data.focus, data.attention)
    with drawn_by(Layers) as drawn:
        picture._flat(data, see, lit, 1.0)
    return drawn[-1]


def words_at_rest(name: str, size: tuple[int, int] = (1280, 800)) -> list[Written]:
    """All texts on the picture of a scene at rest; their sizes are those of the smallest scale."""
    flat = flat_of(stage_of(trained(name), size))
    return [replace(each, size=each.size / flat.scale) for each in flat.written]


NUMBER = re.compile(r"[-+−]?[\d,]*\.?\d+%?")


def covered_numbers(stage: Stage, seen: Seen) -> list[tuple[str, ...]]:
    """Numbers on which a later shape, a nearer cube or an arrow head lies, and what that is."""
    found: list[tuple[str, ...]] = []
    flat = flat_of(stage)
    rows, depths = flat._quads.rows(1.0), depths_of(stage)
    numbers = np.arange(len(rows))
    for text, first, last, depth in flat.letters:
        if not NUMBER.fullmatch(text.words) or text.words == "0":  # of an axis, or of nothing
            continue
        points = points_in(text.box.inside(0.5), 15, 7)
        on = lies_on(points, rows)
        opaque = (rows[:, KIND] == BOX) & (rows[:, FILL][:, 1] % 256.0 == 255.0)
        if (on.all(axis=0) & opaque & (numbers >= last)).any():  # a card hides all of it
            continue
        is_ground = on.all(axis=0) & (rows[:, KIND] == BOX) & (numbers < first)
        ground = numbers[is_ground].max(initial=-1)  # what a card hides
        heads = (rows[:, KIND] == ARROW) & (numbers > ground)
        for row in np.flatnonzero(on.any(axis=0) & (heads | (numbers >= last))).tolist():
            over = [each.words for each, start, end, _ in flat.letters if start <= row < end]
            found.append((text.words, *over, f"{rows[row, [KIND, *range(4)]].round()}"))
        x, y = points.T.astype(int)
        for cube in {*seen.picture[y, x].tolist()} & {*range(len(depths))}:
            if depths[cube] < depth:
                found.append((text.words, f"cube {cube}"))
    return found


def depths_of(stage: Stage) -> list[float]:
    """The depths of the middles of all cubes, in the order of `look`."""
    see, found = projection(stage), []
    for plate in stage.frame_data().layout.plates:
        row, column, _ = plate.cells()
        found += see(plate.middle(row, column)).depth.tolist()
    return found


def lies_on(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which points (n, 2) are inside which shapes of a canvas: (n, shapes)."""
    along = rows[:, AXIS]
    away = points[:, np.newaxis] - rows[:, MIDDLE]
    right, down = (
        (away * along).sum(axis=2),
        away[..., 1] * along[:, 0] - away[..., 0] * along[:, 1],
    )
    wide, high = rows[:, HALF].T
    narrow = np.clip((wide - right) / np.maximum(rows[:, EXTRA][:, 0], 1e-9), 0.0, 1.0)
    high = np.where(rows[:, KIND] == ARROW, narrow * high, high)
    found = (np.abs(right) < wide) & (np.abs(down) < high)
    low, top = rows[:, CLIP][:, :2], rows[:, CLIP][:, 2:]
    return found & ((points[:, np.newaxis] >= low) & (points[:, np.newaxis] < top)).all(axis=2)


@contextmanager
def drawn_by(kind: type[Noted]) -> Iterator[list[Noted]]:
    """Pictures are drawn on canvases of a kind that notes what is drawn; these, in order."""
    drawn: list[Noted] = []

    def noted(width: float, height: float, ratio: float, scale: float, *parts: object) -> Noted:
        drawn.append(kind(THEMES["dark"].ground, width, height, scale))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scalarviz.scene.picture.Canvas2D", noted)
        yield drawn


if __name__ == "__main__":  # a table of the scenes that are named
    for scene in sys.argv[1:]:
        print(f"{scene:12} {len(words_at_rest(scene)):4} texts at rest")
