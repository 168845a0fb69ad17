"""Networks as small pictures in rows and columns: walls of cubes, maps, swatches or loss lines.

All pictures of a panel are one image, whose cubes are drawn once for each of some numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.batch import color_bytes
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.class_colors import class_colors
from scalarviz.pictures.draw2d.theme import THEMES, Theme
from scalarviz.pictures.view.charts import Scales, draw_thin
from scalarviz.pictures.view.legend import sides_of
from scalarviz.pictures.view.scene.frame import Box

CUBES, MAPS, SWATCHES, LOSSES = KINDS = ("cubes", "maps", "swatches", "losses")
FAILED = "#ff5d5d"  # frame of a network that failed
LINE = 1.5  # height of the line below a network that succeeded
GAP = 0.14  # between two pictures, as a share of their width, within the next two
LEAST_GAP, MOST_GAP = 1.0, 8.0
CUBE = 7.0  # pixels of a cube; below, weights are tiles
LEVELS = 32  # shades of a sign
FINE = 4  # samples along a pixel of a cube
DEPTH = 0.24  # of a cube, as seen from the front, relative to its edge
TOP, SIDE = 1.18, 0.66  # brightness of these faces, relative to the front, as of all cubes
APART = 4.0  # pixels of a tile or swatch from which on there is a gap beside it
OUTPUT = 0.65  # of the height of a swatch; below is the target
SHAPE = 1.6  # width of a chart relative to its height

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SmallPictures:
    """What small pictures of some networks show.

    kind    one of KINDS
    cells   weights of walls of cubes, shape (networks, height, width); NaN where there is none
    parts   numbers of maps from -1 to 1, or classes, shape (networks, side, side)
    swatches  colors of outputs and targets, shape (networks, samples, 2, 3)
    classes  whether maps are of classes
    """

    kind: str = LOSSES
    cells: FloatArray | None = None
    parts: FloatArray | None = None
    swatches: FloatArray | None = None
    classes: bool = False

    @property
    def shape(self) -> float:
        """Width of a picture relative to its height."""
        if self.kind == CUBES and self.cells is not None:
            return float(self.cells.shape[2] / self.cells.shape[1])
        if self.kind == SWATCHES and self.swatches is not None:
            columns, rows = tiling(self.swatches.shape[1])
            return columns / rows
        return 1.0 if self.kind == MAPS else SHAPE

    def tiles(self, wide: float, ratio: float, scale: float, theme: Theme) -> Bytes:
        """Return the pixels, shape (networks, height, width, 4).

        wide   most device pixels of the width
        ratio  device pixels per logical pixel
        scale  number with the brightest color and the largest cube
        """
        if self.kind == CUBES and self.cells is not None:
            return cube_tiles(self.cells / scale, wide, ratio, theme)
        if self.kind == MAPS and self.parts is not None:
            colors = theme.map(np.clip(self.parts, -1.0, 1.0))
            if self.classes:
                colors = class_colors(self.parts, theme.ground)
            return map_tiles(colors, wide)
        assert self.swatches is not None, "loss lines have no tiles"
        return swatch_tiles(self.swatches, wide, ratio)


@dataclass(frozen=True)
class Spots:
    """Where the small pictures of a panel stand.

    panel    index of the panel
    origin   upper left corner of the first one
    size     width and height of each
    gap      between two of them
    columns  number of them in a row
    count    number of them
    """

    panel: int
    origin: tuple[float, float]
    size: tuple[float, float]
    gap: float
    columns: int
    count: int

    @property
    def corners(self) -> FloatArray:
        """Upper left corner of each, shape (networks, 2)."""
        places = np.arange(self.count)
        cells = np.stack([places % self.columns, places // self.columns], axis=1)
        corners: FloatArray = np.array(self.origin) + cells * (np.array(self.size) + self.gap)
        return corners

    def box(self, place: int) -> Box:
        """Return the box of a small picture."""
        row, column = divmod(place, self.columns)
        wide, high = self.size
        x, y = self.origin
        return Box(x + column * (wide + self.gap), y + row * (high + self.gap), wide, high)

    def at(self, x: float, y: float) -> int | None:
        """Return the place of the small picture at a pixel, or None."""
        column = math.floor((x - self.origin[0]) / (self.size[0] + self.gap))
        row = math.floor((y - self.origin[1]) / (self.size[1] + self.gap))
        place = row * self.columns + column
        inside = 0 <= column < self.columns and 0 <= place < self.count
        return place if inside else None


def draw_networks(
    canvas: Canvas2D,
    place: int,
    box: Box,
    pictures: SmallPictures,
    losses: tuple[FloatArray, FloatArray, Scales],
    scale: float,
    theme: Theme,
) -> Spots:
    """Draw small pictures that fill a box, and return where they stand.

    place   index of the panel
    losses  steps, losses of the networks at them, and their scales
    scale   number with the brightest color and the largest cube
    """
    count, ratio = len(losses[1]), canvas.ratio
    columns, wide, gap = packed(count, box.width, box.height, pictures.shape)
    if pictures.kind == LOSSES:
        spots = Spots(place, (box.x, box.y), (wide, wide / SHAPE), gap, columns, count)
        draw_charts(canvas, spots, *losses, theme)
        return spots
    tiles = pictures.tiles(wide * ratio, ratio, scale, theme)
    high, across = tiles.shape[1:3]
    gap = max(1, round(gap * ratio))
    columns = max(1, int((box.width * ratio + gap) // (across + gap)))
    rows = max(1, int((box.height * ratio + gap) // (high + gap)))
    count = min(count, rows * columns)
    x, y = round(box.x * ratio) / ratio, round(box.y * ratio) / ratio
    sheet = sheet_of(tiles[:count], columns, gap)
    spots = Spots(place, (x, y), (across / ratio, high / ratio), gap / ratio, columns, count)
    if pictures.kind == CUBES:  # between its layers there is nothing
        draw_trays(canvas, spots, theme, gap // 3 / ratio)
    canvas.image(x, y, sheet.shape[1] / ratio, sheet.shape[0] / ratio, sheet)
    return spots


def draw_trays(canvas: Canvas2D, spots: Spots, theme: Theme, around: float = 0.0) -> None:
    """Draw a framed ground below each network, which ends so far around its picture."""
    frames = np.broadcast_to(np.array(spots.size) + 2.0 * around, (spots.count, 2))
    canvas.boxes(spots.corners - around, frames, theme.tray, outline=theme.rim)


def draw_marks(canvas: Canvas2D, spots: Spots, failed: Mask, succeeded: Mask, theme: Theme) -> None:
    """Frame the networks that failed, and underline those that succeeded."""
    corners, size = spots.corners, np.array(spots.size)
    failed, succeeded = failed[: spots.count], succeeded[: spots.count] & ~failed[: spots.count]
    edge = min(1.5, spots.gap)
    if failed.any():
        frame = np.broadcast_to(size + 2.0 * edge, (int(failed.sum()), 2))
        canvas.boxes(corners[failed] - edge, frame, None, outline=FAILED, line=edge)
    if succeeded.any():
        high = min(LINE, spots.gap)
        line = np.broadcast_to([size[0], high], (int(succeeded.sum()), 2))
        start = np.array([0.0, size[1] + min(0.5, 0.5 * (spots.gap - high))])
        canvas.boxes(corners[succeeded] + start, line, theme.metric)


def draw_charts(
    canvas: Canvas2D,
    spots: Spots,
    steps: FloatArray,
    losses: FloatArray,
    scales: Scales,
    theme: Theme,
) -> None:
    """Draw the loss of each network in a chart of its own."""
    wide, high = spots.size
    draw_trays(canvas, spots, theme)
    scales = replace(scales, plot=Box(0.0, 0.0, wide, high).inside(min(2.0, 0.1 * high)))
    gap = np.full((spots.count, 1), np.nan)
    across = np.hstack([np.broadcast_to(steps, losses.shape), gap])
    points = scales.all_points(across.ravel(), np.hstack([losses, gap]).ravel())
    points += np.repeat(spots.corners, across.shape[1], axis=0)
    draw_thin(canvas, points, theme.accent, 1.2)


def packed(count: int, width: float, height: float, shape: float) -> tuple[int, float, float]:
    """Return columns, width and gap of `count` pictures of a shape, as large as they fit."""
    columns = np.arange(1, count + 1)
    rows = -(-count // columns)

    def widths(gap: float) -> FloatArray:
        across = (width + gap) / columns - gap
        down = ((height + gap) / rows - gap) * shape
        return np.asarray(np.minimum(across, down))

    gap = float(np.clip(GAP * widths(0.0).max(), LEAST_GAP, MOST_GAP))
    found = widths(gap)
    best = int(found.argmax())
    return int(columns[best]), max(float(found[best]), 1.0), gap


def sheet_of(tiles: Bytes, columns: int, gap: int) -> Bytes:
    """Return small pictures in rows of so many columns, as one image."""
    count, high, wide, _ = tiles.shape
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    whole = np.zeros((rows * columns, high + gap, wide + gap, 4), np.uint8)
    whole[:count, :high, :wide] = tiles
    placed = whole.reshape(rows, columns, high + gap, wide + gap, 4).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(placed.reshape(rows * (high + gap), columns * (wide + gap), 4))


def cube_tiles(numbers: FloatArray, wide: float, ratio: float, theme: Theme) -> Bytes:
    """Return walls of cubes of numbers from -1 to 1; without room, of tiles, or of some of them."""
    side = int(wide / numbers.shape[2])
    if side < 1:
        step = math.ceil(numbers.shape[2] / wide)
        numbers, side = numbers[:, ::step, ::step], 1
    shades = tiles_of if side < CUBE * ratio else cubes_of
    known = np.isfinite(numbers)
    levels = np.rint(np.clip(np.where(known, numbers, 0.0), -1.0, 1.0) * LEVELS).astype(np.intp)
    levels = np.where(known, levels + LEVELS, 2 * LEVELS + 1)
    found = shades(side, theme.name)[levels].transpose(0, 1, 3, 2, 4, 5)
    return found.reshape(len(numbers), side * numbers.shape[1], side * numbers.shape[2], 4)


@lru_cache(maxsize=16)
def tiles_of(side: int, theme: str) -> Bytes:
    """Return a square of each shade, and an empty one."""
    found = np.zeros((2 * LEVELS + 2, side, side, 4), np.uint8)
    filled = side - (side >= APART)
    colors = color_bytes(THEMES[theme].map(np.linspace(-1.0, 1.0, 2 * LEVELS + 1)))
    found[:-1, :filled, :filled] = colors[:, np.newaxis, np.newaxis]
    return found


@lru_cache(maxsize=16)
def cubes_of(side: int, theme: str) -> Bytes:
    """Return a cube of each shade and its size, seen from the front and from above, and nothing."""
    numbers = np.linspace(-1.0, 1.0, 2 * LEVELS + 1)
    colors = THEMES[theme].map(numbers)
    places = (np.arange(side * FINE) + 0.5) / FINE
    x, y = places[np.newaxis, :], places[:, np.newaxis]
    found = np.zeros((len(numbers) + 1, side, side, 4), np.uint8)
    for i, edge in enumerate(sides_of(numbers) * (side - 1.0) / (1.0 + DEPTH)):
        deep = DEPTH * edge
        left, top = (side - edge - deep) / 2.0, (side - edge - deep) / 2.0 + deep
        across, down = x - left, y - top
        front = (across >= 0) & (across < edge) & (down >= 0) & (down < edge)
        above = (down < 0) & (down >= -deep) & (across >= -down) & (across < edge - down)
        beside = (across >= edge) & (across < edge + deep)
        beside = beside & (down >= edge - across) & (down < 2.0 * edge - across)
        light = front * 1.0 + above * TOP + beside * SIDE
        shown = np.clip(light[..., np.newaxis] * colors[i], 0.0, 1.0)
        fine = np.concatenate([shown, (light > 0)[..., np.newaxis]], axis=2)
        pixels = fine.reshape(side, FINE, side, FINE, 4).mean(axis=(1, 3))
        found[i] = np.round(255.0 * pixels)
    return found


def map_tiles(colors: FloatArray, wide: float) -> Bytes:
    """Return maps of so many pixels."""
    side = max(1, int(wide))
    near = np.arange(side) * colors.shape[1] // side
    return color_bytes(colors)[:, near][:, :, near]


def swatch_tiles(swatches: FloatArray, wide: float, ratio: float) -> Bytes:
    """Return swatches: the output above the target of each sample."""
    count, samples = swatches.shape[:2]
    columns, rows = tiling(samples)
    side = max(1, int(wide / columns))
    filled = side - (side >= APART * ratio) * max(1, round(ratio))
    which = (np.arange(filled) >= OUTPUT * filled).astype(np.intp)
    whole = np.zeros((count, rows * columns, side, side, 4), np.uint8)
    colors = color_bytes(swatches)[:, :, which]  # networks, samples, height, 4
    whole[:, :samples, :filled, :filled] = colors[:, :, :, np.newaxis]
    placed = whole.reshape(count, rows, columns, side, side, 4).transpose(0, 1, 3, 2, 4, 5)
    return placed.reshape(count, rows * side, columns * side, 4)


def tiling(samples: int) -> tuple[int, int]:
    """Return columns and rows of swatches."""
    columns = math.ceil(math.sqrt(2 * samples)) if samples > 2 else samples
    return columns, math.ceil(samples / columns)
