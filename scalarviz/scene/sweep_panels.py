"""SweepPanels: the networks of a sweep, with a panel for each setting, drawn in 2D.

A panel shows the success rate of its networks with an interval, a comparison of the losses with
another setting, the loss of each network as a thin line and the mean as a thick line, and a
thumbnail of each network, framed if it failed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.scene.canvas.canvas2d import Canvas2D, color_bytes, sheet_of
from scalarviz.scene.canvas.palette import THEMES, Theme, class_colors
from scalarviz.scene.curve_points import draw_thin, nothing, pixels, shown
from scalarviz.scene.frame_data import Mask
from scalarviz.scene.layout.division import HEIGHT, WIDTH, Box
from scalarviz.scene.layout.plates import DOWN, HALF, NEAR, RIGHT, Plate
from scalarviz.scene.loss_chart import ChartScales, draw_ends, loss_scale

# Networks as thumbnails in rows and columns: walls of cubes, maps, swatches or loss lines. All
# thumbnails of a panel form one image, whose cubes are drawn once per quantized number.

CUBES, MAPS, SWATCHES, LOSSES = KINDS = ("cubes", "maps", "swatches", "losses")
FAILED = "#ff5d5d"  # frame of a failed network
SUCCESS_LINE = 1.5  # height of the line below a successful network
PICTURE_GAP = 0.14  # gap between two thumbnails, relative to their width, within the next two
LEAST_GAP, MOST_GAP = 1.0, 8.0
CUBE = 7.0  # minimum pixels of a cube; below, weights are tiles
LEVELS = 32  # shades of a sign
EDGE_SAMPLES = 4  # samples along a pixel of a cube
CUBE_PLATE = Plate(0, 1, 1, 1, np.zeros(3), RIGHT, DOWN, NEAR, seat=HALF)  # defines their sizes
DEPTH = 0.24  # depth of a cube in the front view, relative to its edge
TOP, SIDE = 1.17, 0.64  # brightness of these faces, relative to the front, as of all cubes
GAP_FROM = 4.0  # minimum pixels of a tile or swatch with a gap beside it
OUTPUT = 0.65  # fraction of a swatch's height for the output; below is the target
CHART_SHAPE = 1.6  # aspect ratio of a chart

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class SmallPictures:
    """The contents of the thumbnails of several networks.

    Attributes:
        kind: one of KINDS
        numbers: for cubes the weights, shape (networks, height, width), with NaN for empty cells;
            for maps the outputs from -1 to 1 or classes, shape (networks, side, side); for swatches
            the colors of outputs and targets, shape (networks, samples, 2, 3); unused for losses
        classes: whether maps show classes
    """

    kind: str = LOSSES
    numbers: FloatArray = field(default_factory=partial(np.zeros, 0))
    classes: bool = False

    @property
    def shape(self) -> float:
        """Aspect ratio of a thumbnail."""
        if self.kind == CUBES:
            return float(self.numbers.shape[2] / self.numbers.shape[1])
        if self.kind == SWATCHES:
            columns, rows = tiling(self.numbers.shape[1])
            return columns / rows
        return 1.0 if self.kind == MAPS else CHART_SHAPE

    def tiles(self, wide: float, ratio: float, scale: float, theme: Theme) -> Bytes:
        """Return the pixels of the thumbnails, shape (networks, height, width, 4); not for losses.

        Args:
            wide: maximum width of a thumbnail in device pixels
            ratio: device pixels per logical pixel
            scale: number with the strongest color and the largest cube
        """
        if self.kind == CUBES:
            return cube_tiles(self.numbers / scale, wide, ratio, theme)
        if self.kind == MAPS:
            colors = (
                class_colors(self.numbers, theme.ground)
                if self.classes
                else theme.map(np.clip(self.numbers, -1.0, 1.0))
            )
            return map_tiles(colors, wide)
        return swatch_tiles(self.numbers, wide, ratio)


def draw_networks(
    canvas: Canvas2D, panel: SweepPanel, box: Box, scales: ChartScales, scale: float, theme: Theme
) -> list[Box]:
    """Draw the thumbnails that fit in a box; return their boxes.

    Args:
        scales: scales of the loss curves
        scale: number with the strongest color and the largest cube
    """
    pictures, ratio = panel.pictures, canvas.ratio
    columns, wide, gap = packed(len(panel.losses), box.width, box.height, pictures.shape)
    count, corner = len(panel.losses), np.array([box.x, box.y])
    size, around, sheet = np.array([wide, wide / CHART_SHAPE]), 0.0, None
    if pictures.kind != LOSSES:  # these are aligned to device pixels
        tiles = pictures.tiles(wide * ratio, ratio, scale, theme)
        apart, size = max(1, round(gap * ratio)), np.array(tiles.shape[2:0:-1])
        room = (np.array([box.width, box.height]) * ratio + apart) // (size + apart)
        columns, rows = np.maximum(1, room).astype(int).tolist()
        count = min(count, rows * columns)
        sheet = sheet_of(tiles[:count], columns, apart)
        corner, size, gap = np.round(corner * ratio) / ratio, size / ratio, apart / ratio
        around = apart // 3 / ratio
    places = np.arange(count)
    cells = np.stack([places % columns, places // columns], axis=1)
    corners = corner + cells * (size + gap)
    if pictures.kind in (CUBES, LOSSES):  # otherwise their parts have no gaps
        canvas.boxes(corners - around, size + 2.0 * around, theme.tray, outline=theme.rim)
    if sheet is None:
        draw_charts(canvas, panel, corners, size, scales, theme)
    else:
        x, y = corner.tolist()
        canvas.image(x, y, sheet.shape[1] / ratio, sheet.shape[0] / ratio, sheet)
    draw_marks(canvas, panel, corners, size, gap, theme)
    return [Box(x, y, *size.tolist()) for x, y in corners.tolist()]


def draw_marks(
    canvas: Canvas2D,
    panel: SweepPanel,
    corners: FloatArray,
    size: FloatArray,
    gap: float,
    theme: Theme,
) -> None:
    """Draw frames around failed networks, and a line below successful ones."""
    failed = panel.failed[: len(corners)]
    succeeded = panel.succeeded[: len(corners)] & ~failed
    edge, high = min(1.5, gap), min(SUCCESS_LINE, gap)
    canvas.boxes(corners[failed] - edge, size + 2.0 * edge, None, outline=FAILED, line=edge)
    below = corners[succeeded] + [0.0, size[1] + min(0.5, 0.5 * (gap - high))]
    canvas.boxes(below, (size[0], high), theme.metric)


def draw_charts(
    canvas: Canvas2D,
    panel: SweepPanel,
    corners: FloatArray,
    size: FloatArray,
    scales: ChartScales,
    theme: Theme,
) -> None:
    """Draw the loss of each network as a small chart."""
    wide, high = size.tolist()
    scales = replace(scales, plot=Box(0.0, 0.0, wide, high).inside(min(2.0, 0.1 * high)))
    points = points_of(scales, panel.checks, panel.losses)
    points += np.repeat(corners, len(panel.checks) + 1, axis=0)
    draw_thin(canvas, points, theme.accent, 1.2)


def points_of(scales: ChartScales, steps: FloatArray, losses: FloatArray) -> FloatArray:
    """Return the pixels of several loss curves with the same steps, separated by NaN."""
    gap = np.full((len(losses), 1), np.nan)
    across = np.hstack([np.broadcast_to(steps, losses.shape), gap])
    return pixels(scales, across.ravel(), np.hstack([losses, gap]).ravel())


def packed(count: int, width: float, height: float, shape: float) -> tuple[int, float, float]:
    """Return columns, width and gap of `count` pictures that are as large as possible."""
    columns = np.arange(1, count + 1)
    rows = -(-count // columns)

    def widths(gap: float) -> FloatArray:
        across = (width + gap) / columns - gap
        down = ((height + gap) / rows - gap) * shape
        return np.asarray(np.minimum(across, down))

    gap = float(np.clip(PICTURE_GAP * widths(0.0).max(), LEAST_GAP, MOST_GAP))
    found = widths(gap)
    best = int(found.argmax())
    return int(columns[best]), max(float(found[best]), 1.0), gap


def cube_tiles(numbers: FloatArray, wide: float, ratio: float, theme: Theme) -> Bytes:
    """Draw numbers from -1 to 1 as cubes, or as flat tiles or a subset if `wide` is small."""
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
    """Return a square of each shade, and last an empty square."""
    found = np.zeros((2 * LEVELS + 2, side, side, 4), np.uint8)
    filled = side - (side >= GAP_FROM)
    colors = color_bytes(THEMES[theme].map(np.linspace(-1.0, 1.0, 2 * LEVELS + 1)))
    found[:-1, :filled, :filled] = colors[:, np.newaxis, np.newaxis]
    return found


@lru_cache(maxsize=16)
def cubes_of(side: int, theme: str) -> Bytes:
    """Return an image of a cube for each shade, seen from above; the last image is empty."""
    numbers = np.linspace(-1.0, 1.0, 2 * LEVELS + 1)
    colors = THEMES[theme].map(numbers)
    places = (np.arange(side * EDGE_SAMPLES) + 0.5) / EDGE_SAMPLES
    x, y = places[np.newaxis, :], places[:, np.newaxis]
    found = np.zeros((len(numbers) + 1, side, side, 4), np.uint8)
    sides = CUBE_PLATE.halves(numbers, 1.0) / CUBE_PLATE.half  # relative to the largest
    for i, edge in enumerate(sides * (side - 1.0) / (1.0 + DEPTH)):
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
        pixels = fine.reshape(side, EDGE_SAMPLES, side, EDGE_SAMPLES, 4).mean(axis=(1, 3))
        found[i] = np.round(255.0 * pixels)
    return found


def map_tiles(colors: FloatArray, wide: float) -> Bytes:
    """Return maps resampled to a width of `wide` pixels."""
    side = max(1, int(wide))
    near = np.arange(side) * colors.shape[1] // side
    return color_bytes(colors)[:, near][:, :, near]


def swatch_tiles(swatches: FloatArray, wide: float, ratio: float) -> Bytes:
    """Return images of swatches: the output above the target of each sample."""
    columns, _ = tiling(swatches.shape[1])
    side = max(1, int(wide / columns))
    filled = side - (side >= GAP_FROM * ratio) * max(1, round(ratio))
    which = (np.arange(filled) >= OUTPUT * filled).astype(np.intp)
    colors = color_bytes(swatches)[:, :, which]  # networks, samples, height, 4
    tiles = np.repeat(colors[:, :, :, np.newaxis], filled, axis=3)
    return np.array([sheet_of(each, columns, side - filled) for each in tiles])


def tiling(samples: int) -> tuple[int, int]:
    """Return the number of columns and rows of swatches."""
    columns = math.ceil(math.sqrt(2 * samples)) if samples > 2 else samples
    return columns, math.ceil(samples / columns)


# The panels.

# Logical pixels in a picture of 1280 x 800; all scale with it.
LARGE, SIZE = 16.0, 13.0  # letters
MARGIN, GAP = 14.0, 18.0  # around all panels, and between two of them
HEAD = 40.0  # head of the whole picture
GROUP = 24.0  # above the panels of a group
TITLE, WORDS = 22.0, 17.0  # of a panel, and of its line of words
BAR = 5.0
LEAST = (150.0, 96.0)  # minimum size of a panel
ROOMY = 104.0  # minimum height of a panel with a line of words
AXIS = 44.0  # left of a curve
BEST, HIGH = 0.5, 0.4  # width of the curves, relative to a panel, and height in a high one
LINES = 100  # maximum thin lines of a panel
THIN = "a0"  # their opacity: each has a contrast of 3 : 1 to the background
LEGEND = 0.6  # maximum fraction of the line above all panels for the legend


@dataclass(frozen=True)
class SweepPanel:
    """One setting of a sweep, as shown by a panel.

    Attributes:
        setting: index of the setting
        name: the setting as text
        seeds: seed of each network; the following arrays have the same order
        checks: steps at which the losses are known
        losses: losses, shape (networks, checks); NaN after a network has stopped
        mean: mean of the losses at each check, as in the table
        pictures: contents of the thumbnails of the networks
        failed: mask of failed networks
        succeeded: mask of successful networks
        success: success rate with its interval; None without a success criterion
        error: error of the whole setting, or ""
        against: texts that compare it with another setting, the widest first, of which the first
            that fits is written; empty without a comparison
        is_other: whether this is the setting that others are compared with
        score: ranking score as text, shown if there is no success criterion
    """

    setting: int
    name: str
    seeds: Sequence[int] = ()
    checks: FloatArray = field(default_factory=nothing)
    losses: FloatArray = field(default_factory=partial(np.zeros, (0, 0)))
    mean: FloatArray = field(default_factory=nothing)
    pictures: SmallPictures = field(default_factory=SmallPictures)
    failed: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    succeeded: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    success: tuple[float, float, float] | None = None
    error: str = ""
    against: Sequence[str] = ()
    is_other: bool = False
    score: str = ""


@dataclass(frozen=True)
class SweepPanels:
    """The contents of a picture of a sweep.

    Attributes:
        title: one line above all panels
        panels: the settings, in order
        groups: name and number of panels of each group, in order
        columns: number of panels per row if they fit, such as the number of values of the last
            parameter; 0 for any number
        scale: number with the strongest color
        steps: end of the step axis
        kind: contents of the thumbnails
        clipped: whether some numbers are beyond the scale
        before: number of settings that precede these
    """

    title: str
    panels: Sequence[SweepPanel]
    groups: Sequence[tuple[str, int]]
    columns: int
    scale: float
    steps: int
    kind: str = CUBES
    clipped: bool = False
    before: int = 0


def draw_panels(canvas: Canvas2D, sweep: SweepPanels, theme: Theme) -> list[list[Box]]:
    """Draw a sweep on the whole canvas; return the boxes of the networks, panel by panel."""
    scale = scale_of(canvas.width, canvas.height)
    draw_title(canvas, sweep, theme, scale)
    if not sweep.panels:
        words = text("sweep.picture.begins")
        y = (HEAD + 16.0) * scale
        canvas.text(MARGIN * scale, y, words, size=SIZE * scale, color=theme.quiet)
        return []
    boxes, names = divided(canvas.width, canvas.height, sweep.groups, sweep.columns)
    for name, x, y in names:
        canvas.text(x, y, name, size=LARGE * scale, color=theme.ink, bold=True)
    scales = common_scales(sweep)
    found = [
        draw_panel(canvas, panel, box, scales, sweep, theme, scale)
        for panel, box in zip(sweep.panels, boxes, strict=False)
    ]
    missing = len(sweep.panels) - len(boxes)
    if missing or sweep.before:
        words, below = plural("sweep.picture.more", missing), canvas.height - 6.0 * scale
        if sweep.before:
            words = text("sweep.picture.part", before=sweep.before, behind=missing)
        canvas.text(MARGIN * scale, below, words, size=SIZE * scale, color=theme.quiet)
    return found


def scale_of(width: float, height: float) -> float:
    """Return the size of letters and margins relative to a picture of 1280 x 800."""
    return max(1.0, min(width / WIDTH, height / HEIGHT))


def draw_title(canvas: Canvas2D, sweep: SweepPanels, theme: Theme, scale: float) -> None:
    """Draw the line above all panels, with a label of the thumbnails' contents at the right end."""
    margin, base, size = MARGIN * scale, 0.5 * HEAD * scale + 5.0 * scale, SIZE * scale
    room, words = canvas.width - 2.0 * margin, text(f"sweep.picture.legend.{sweep.kind}")
    words = "   ".join([words, *ends_of(sweep)]) if sweep.kind == CUBES else words
    wide = canvas.measure(words, size=size)
    has_pictures = any(panel.pictures.kind != LOSSES for panel in sweep.panels)
    wanted = wide + GAP * scale if has_pictures and wide < LEGEND * room else 0.0
    look: dict[str, Any] = {"color": theme.ink, "bold": True, "room": room - wanted}
    canvas.text(margin, base, sweep.title, size=LARGE * scale, **look)
    if wanted:
        right = canvas.width - margin
        canvas.text(right, base, words, size=size, color=theme.quiet, anchor="right")


def ends_of(sweep: SweepPanels) -> tuple[str, str]:
    """Return the numbers at both ends of the color scale, as text."""
    kind = "clipped" if sweep.clipped else "exact"
    return (
        text(f"sweep.picture.least.{kind}", scale=sweep.scale),
        text(f"sweep.picture.most.{kind}", scale=sweep.scale),
    )


def draw_chosen(canvas: Canvas2D, box: Box, words: str, theme: Theme) -> None:
    """Draw a frame around a network, and its result in a box below or above it."""
    scale = scale_of(canvas.width, canvas.height)
    canvas.box(*box.inside(-2.5).place, None, outline=theme.ink, line=2.0)
    size = SIZE * scale
    wide, high = canvas.measure(words, size=size) + 16.0 * scale, 26.0 * scale
    x = min(max(box.x, 4.0), canvas.width - wide - 4.0)
    y = box.bottom + 8.0 if box.bottom + 8.0 + high <= canvas.height else box.y - 8.0 - high
    canvas.box(x, y, wide, high, theme.panel[:7], radius=5.0 * scale, outline=theme.faint)
    canvas.text(x + 8.0 * scale, y + 17.5 * scale, words, size=size, color=theme.ink)


def divided(
    width: float, height: float, groups: Sequence[tuple[str, int]], columns: int
) -> tuple[list[Box], list[tuple[str, float, float]]]:
    """Return the boxes of the panels that fit, row by row; each group starts a new row.

    The second list contains the name of each group with the x and y of its baseline.
    """
    scale = scale_of(width, height)
    gap, margin, head = GAP * scale, MARGIN * scale, HEAD * scale
    above = GROUP * scale if any(name for name, _ in groups) else 0.0
    wide, high = width - 2.0 * margin + gap, height - head - margin + gap
    least = LEAST[0] * scale + gap, LEAST[1] * scale + gap
    most = max(1, int(wide / least[0]))
    count = sum(number for _, number in groups)
    if above:
        columns = min(most, max(number for _, number in groups))
    elif not columns or columns > most or math.ceil(count / columns) > int(high / least[1]):
        shape = 1.7 * high / wide  # panels are wider than high
        columns = min(max(1, math.ceil(math.sqrt(count / max(shape, 0.1)))), most, count)
        columns = max(columns, min(math.ceil(count / max(1, int(high / least[1]))), most))
    rows = [
        ("" if first else name, min(columns, number - first))
        for name, number in groups
        for first in range(0, number, columns)
    ]
    down, room = len(rows), high - above * len(groups)
    if down * least[1] > room:  # in whole panels, with the number of the others below
        high -= WORDS * scale
        room -= WORDS * scale
        down = down if above else max(1, int(high / least[1]))
    each = wide / columns - gap, max(room / down, least[1]) - gap
    boxes, names, y = list[Box](), list[tuple[str, float, float]](), head
    for name, number in rows:
        top = y + above if name else y
        if boxes and top + each[1] > head + high - gap + 0.5:
            break
        if name:
            names.append((name, margin, y + 17.0 * scale))
        boxes += [Box(margin + i * (each[0] + gap), top, *each) for i in range(number)]
        y = top + each[1] + gap
    return boxes, names


def common_scales(sweep: SweepPanels) -> ChartScales:
    """Return the scales of the losses of all panels, with a dummy plot box.

    Failed networks are ignored, unless all networks have failed.
    """
    whole = [panel.losses for panel in sweep.panels]
    good = [panel.losses[~panel.failed] for panel in sweep.panels]
    found = [each.ravel() for each in (good if any(map(len, good)) else whole)]
    losses = shown(np.concatenate([np.zeros(0), *found]))
    steps = ChartScales(Box(0.0, 0.0, 1.0, 1.0), 0.0, max(sweep.steps, 1.0))
    if not len(losses):
        return steps
    return replace(steps, losses=loss_scale(losses, float(np.percentile(losses, 99.8))))


def draw_panel(
    canvas: Canvas2D,
    panel: SweepPanel,
    box: Box,
    scales: ChartScales,
    sweep: SweepPanels,
    theme: Theme,
    scale: float,
) -> list[Box]:
    """Draw one setting in its box; return the boxes of its networks."""
    draw_head(canvas, panel, box, theme, scale)
    bar = BAR if panel.success is not None else 0.0
    top = (TITLE + bar + 6.0) * scale
    if panel.against and box.height >= ROOMY * scale:
        words = canvas.first_fit(panel.against, box.width, size=SIZE * scale)
        color, base = theme.ink if panel.is_other else theme.quiet, box.y + top + 8.0 * scale
        canvas.text(box.x, base, words, size=SIZE * scale, color=color, room=box.width)
        top += WORDS * scale
    body = Box(box.x, box.y + top, box.width, box.height - top)
    if panel.error:
        lines = max(1, int(body.height / (17.0 * scale)))
        for i, line in enumerate(canvas.wrap(panel.error, body.width, lines, size=SIZE * scale)):
            y = body.y + (13.0 + 17.0 * i) * scale
            canvas.text(body.x, y, line, size=SIZE * scale, color=theme.quiet)
        return []
    curves, side = halves(body, scale)
    draw_curves(canvas, panel, curves, scales, theme, scale)
    return draw_networks(canvas, panel, side, scales, sweep.scale, theme)


def halves(body: Box, scale: float) -> tuple[Box, Box]:
    """Return the boxes of the curves and of the thumbnails: side by side, or stacked."""
    gap = 8.0 * scale
    if body.height > body.width:
        high = HIGH * body.height
        below = Box(body.x, body.y + high + gap, body.width, body.height - high - gap - 4.0)
        return replace(body, height=high), below
    left = BEST * body.width
    side = Box(body.x + left + gap, body.y, body.width - left - gap, body.height - 4.0)
    return replace(body, width=left - gap), side


def draw_head(canvas: Canvas2D, panel: SweepPanel, box: Box, theme: Theme, scale: float) -> None:
    """Draw a setting's name, and its success rate as a number and as a bar with interval."""
    base, right, size, bar = box.y + 15.0 * scale, box.right, SIZE * scale, BAR * scale
    room = box.width - canvas.measure(panel.name, size=size, bold=True) - 8.0 * scale
    shapes = [panel.score, ""]
    if panel.success is not None:
        share, low, high = panel.success
        known = {"share": share, "low": low, "high": high}
        shapes = [text(f"sweep.picture.success.{each}", **known) for each in ("long", "short")]
        shapes.append(text("sweep.picture.success.alone", share=share))
        y = box.y + TITLE * scale
        canvas.box(box.x, y, box.width, bar, theme.rim, radius=bar / 2.0)
        start, end = box.x + low * box.width, box.x + high * box.width
        canvas.box(start, y, max(end - start, 1.0), bar, theme.metric + "60", radius=bar / 2.0)
        if share > 0.0:
            wide, line = max(share * box.width, bar), scale
            canvas.box(box.x, y + line, wide, bar - 2.0 * line, theme.metric, radius=bar / 2 - line)
    words = canvas.first_fit(shapes, room, size=size)
    right -= (
        canvas.text(right, base, words, size=size, color=theme.ink, anchor="right") + 8.0 * scale
    )
    canvas.text(
        box.x,
        base,
        panel.name,
        size=size,
        color=theme.ink,
        bold=True,
        room=max(right - box.x, 20.0),
    )


def draw_curves(
    canvas: Canvas2D, panel: SweepPanel, box: Box, scales: ChartScales, theme: Theme, scale: float
) -> None:
    """Draw the losses of all networks and their mean, on a logarithmic scale."""
    size, axis = SIZE * scale, AXIS * scale
    plot = Box(box.x + axis, box.y + 4.0, box.width - axis - 2.0, box.height - 20.0 * scale)
    if plot.width < 24.0 * scale or plot.height < 22.0 * scale:
        return
    scales = replace(scales, plot=plot)
    corner = (plot.x, plot.bottom)
    canvas.segments([(plot.x, plot.y), corner], [corner, (plot.right, plot.bottom)], theme.faint)
    draw_ends(canvas, scales, theme, scale, SIZE)
    under = plot.bottom + 14.0 * scale
    ends = text("chart.step", step=scales.last), f"{scales.last:,.0f}"
    end = canvas.first_fit(ends, plot.width, size=size)
    canvas.text(plot.right, under, end, size=size, color=theme.quiet, anchor="right")
    with canvas.clip(plot.x - 2.0, plot.y - 2.0, plot.width + 4.0, plot.height + 4.0):
        some = np.linspace(0, len(panel.losses) - 1, min(len(panel.losses), LINES)).astype(np.intp)
        points = points_of(scales, panel.checks, panel.losses[some])
        draw_thin(canvas, points, theme.accent + THIN, scale)
        mean = pixels(scales, panel.checks, panel.mean)
        canvas.line(mean, theme.ground, width=5.0 * scale)
        canvas.line(mean, theme.ink, width=2.5 * scale)
