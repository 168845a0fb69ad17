"""SweepPanels: the networks of a sweep, a panel for each setting, drawn flat.

A panel has the share of networks that succeeded with its interval, the loss of each network as a
thin line and their mean as a thick one, and each network as a small picture of its weights, best
first, those that failed in a frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.braille_curve import round_down, round_up
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import plural, text
from scalarviz.view.charts import Scales, draw_thin, ticks
from scalarviz.view.scene.frame import Box

SIZE, SMALL = 13.0, 12.0  # letters
MARGIN, GAP = 14.0, 18.0  # around all panels, and between two of them
HEAD = 30.0  # of the whole picture
TITLE = 22.0  # of a panel
BAR = 5.0
LEAST = (150.0, 96.0)  # of a panel
AXIS = 40.0  # pixels left of a curve
BEST = 0.5  # width of the curves, as a share of a panel that has small pictures beside them
APART = 0.16  # between small pictures, as a share of their side
COARSEST = 48  # cells along a side of a small picture
FAILED = "#ff5d5d"  # frame of a network that failed
LINE = 1.5  # height of the line below a network that succeeded
CELL = 4.0  # pixels of a cell from which on there are gaps between cells
FINER = 8  # parts of a cell, of which the last is the gap
LINES = 100  # thin lines of a panel at most

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SweepPanel:
    """One setting of a sweep.

    setting  number of the setting
    name     the setting in words
    seeds    seed of each network, in the order of everything below
    checks   steps at which losses are known
    losses   shape (networks, checks); NaN after a network has ended
    mean     the mean of the losses at each check, as the table has it
    pictures cells of small pictures, shape (networks, height, width); NaN where there is none, no
             networks if weights are not known
    failed   which networks failed; `succeeded` which succeeded
    success  share of networks that succeeded, and its interval; None: nothing counts as success
    error    what went wrong with the setting as a whole; "" if nothing
    """

    setting: int
    name: str
    seeds: Sequence[int]
    checks: FloatArray
    losses: FloatArray
    mean: FloatArray
    pictures: FloatArray
    failed: Mask
    succeeded: Mask
    success: tuple[float, float, float] | None = None
    error: str = ""


@dataclass(frozen=True)
class SweepPanels:
    """All that a picture of a sweep shows.

    title    one line above all panels
    chosen   panel and place of the network that is looked at, or None
    words    what is said of it
    panels   settings, in their order
    columns  number of panels in a row if there is room, such as the values of the last name; 0: any
    scale    number that the brightest color stands for
    steps    end of the axis of steps
    """

    title: str
    panels: Sequence[SweepPanel]
    columns: int
    scale: float
    steps: int
    chosen: tuple[int, int] | None = None
    words: str = ""


@dataclass(frozen=True)
class Spots:
    """Where the small pictures of a panel stand.

    panel    index of the panel
    origin   upper left corner of the first one
    step     from one to the next, to the right and down
    columns  number of them in a row
    count    number of them
    """

    panel: int
    origin: tuple[float, float]
    step: tuple[float, float]
    columns: int
    count: int

    def box(self, place: int) -> Box:
        """Return the box of a small picture."""
        row, column = divmod(place, self.columns)
        wide, high = (side * (1.0 - APART) for side in self.step)
        return Box(
            self.origin[0] + column * self.step[0], self.origin[1] + row * self.step[1], wide, high
        )

    def at(self, x: float, y: float) -> int | None:
        """Return the place of the small picture at a pixel, or None."""
        column = math.floor((x - self.origin[0]) / self.step[0])
        row = math.floor((y - self.origin[1]) / self.step[1])
        place = row * self.columns + column
        inside = 0 <= column < self.columns and 0 <= place < self.count
        return place if inside else None


def draw_panels(canvas: Canvas2D, sweep: SweepPanels, theme: Theme) -> list[Spots]:
    """Draw a sweep on the whole canvas; return where its networks stand."""
    right = canvas.width - MARGIN
    legend = text("sweep.picture.legend", scale=sweep.scale)
    wide = canvas.measure(legend, size=SMALL)
    has_legend = any(len(panel.pictures) for panel in sweep.panels)
    room = right - MARGIN - (wide + GAP if has_legend else 0.0)
    title = canvas.fit(sweep.title, max(room, 40.0), size=SIZE, bold=True)
    canvas.text(MARGIN, 20.0, title, size=SIZE, color=theme.ink, bold=True)
    if has_legend and room > 120.0:
        canvas.text(right, 20.0, legend, size=SMALL, color=theme.quiet, anchor="right")
    if not sweep.panels:
        words = text("sweep.picture.begins")
        canvas.text(MARGIN, HEAD + 16.0, words, size=SIZE, color=theme.quiet)
        return []
    boxes = divided(canvas.width, canvas.height, len(sweep.panels), sweep.columns)
    scales = common_scales(sweep)
    spots = []
    for i, box in enumerate(boxes):
        spots += draw_panel(canvas, i, box, scales, sweep, theme)
    if len(boxes) < len(sweep.panels):
        words = plural("sweep.picture.more", len(sweep.panels) - len(boxes))
        below = canvas.height - 6.0
        canvas.text(MARGIN, below, words, size=SMALL, color=theme.quiet)
    for each in spots:
        if sweep.chosen is not None and each.panel == sweep.chosen[0]:
            draw_chosen(canvas, each.box(sweep.chosen[1]), sweep.words, theme)
    return spots


def draw_chosen(canvas: Canvas2D, box: Box, words: str, theme: Theme) -> None:
    """Frame a network, and say what it came to in a box below or above it."""
    canvas.box(
        box.x - 2.5, box.y - 2.5, box.width + 5.0, box.height + 5.0, None,
        outline=theme.ink, line=2.0,
    )  # fmt: skip
    wide = canvas.measure(words, size=SMALL) + 16.0
    x = min(max(box.x, 4.0), canvas.width - wide - 4.0)
    y = box.bottom + 8.0
    if y + 24.0 > canvas.height:
        y = box.y - 32.0
    canvas.box(x, y, wide, 24.0, theme.panel[:7], radius=5.0, outline=theme.rim)
    canvas.text(x + 8.0, y + 16.0, words, size=SMALL, color=theme.ink)


def divided(width: float, height: float, count: int, columns: int) -> list[Box]:
    """Return the boxes of as many panels as fit, row by row."""
    wide, high = width - 2.0 * MARGIN + GAP, height - HEAD - MARGIN + GAP
    most = (
        max(1, int(wide / (LEAST[0] + GAP))),
        max(1, int(high / (LEAST[1] + GAP))),
    )
    if not columns or columns > most[0] or math.ceil(count / columns) > most[1]:
        shape = 1.7 * high / wide  # panels are wider than high
        columns = min(max(1, math.ceil(math.sqrt(count / max(shape, 0.1)))), most[0], count)
        columns = max(columns, min(math.ceil(count / most[1]), most[0]))
    rows = min(math.ceil(count / columns), most[1])
    more = count > rows * columns
    each = wide / columns - GAP, (high - (16.0 if more else 0.0)) / rows - GAP
    return [
        Box(MARGIN + column * (each[0] + GAP), HEAD + row * (each[1] + GAP), *each)
        for row in range(rows)
        for column in range(columns)
    ][:count]


def common_scales(sweep: SweepPanels) -> Scales:
    """Return the scales of the losses of all panels, without their places."""
    found = [panel.losses[np.isfinite(panel.losses) & (panel.losses > 0)] for panel in sweep.panels]
    losses = np.concatenate([np.zeros(0), *found])
    nowhere = Box(0.0, 0.0, 1.0, 1.0)
    if not len(losses):
        return Scales(nowhere, 0.0, max(sweep.steps, 1.0))
    high = round_up(float(np.percentile(losses, 99.8)))
    low = min(round_down(float(losses.min())), high / 10.0)
    return Scales(nowhere, 0.0, max(sweep.steps, 1.0), low, high)


def draw_panel(
    canvas: Canvas2D,
    place: int,
    box: Box,
    scales: Scales,
    sweep: SweepPanels,
    theme: Theme,
) -> list[Spots]:
    """Draw one setting in its box; return where its networks stand."""
    panel, spots = sweep.panels[place], []
    draw_head(canvas, panel, box, theme)
    body = Box(box.x, box.y + TITLE + BAR + 6.0, box.width, box.height - TITLE - BAR - 6.0)
    if panel.error:
        for i, line in enumerate(canvas.wrap(panel.error, body.width, 3, size=SMALL)):
            y = body.y + 14.0 + 16.0 * i
            canvas.text(body.x, y, line, size=SMALL, color=theme.quiet)
        return []
    curves = body
    if len(panel.pictures):
        left = BEST * body.width
        curves = replace(body, width=left - 8.0)
        side = Box(body.x + left + 8.0, body.y, body.width - left - 8.0, body.height)
        spots = [draw_networks(canvas, place, side, sweep, theme)]
    draw_curves(canvas, panel, curves, scales, theme)
    return spots


def draw_head(canvas: Canvas2D, panel: SweepPanel, box: Box, theme: Theme) -> None:
    """Draw the name, the share that succeeded as a number and as a bar, and its interval."""
    base, right = box.y + 15.0, box.right
    if panel.success is not None:
        share, low, high = panel.success
        words = text("sweep.picture.success", share=share, low=low, high=high)
        if canvas.measure(words, size=SMALL) > 0.62 * box.width:
            words = f"{share:.0%}"
        right -= canvas.text(right, base, words, size=SMALL, color=theme.ink, anchor="right") + 8.0
        y = box.y + TITLE
        canvas.box(box.x, y, box.width, BAR, theme.rim, radius=BAR / 2.0)
        start, end = box.x + low * box.width, box.x + high * box.width
        canvas.box(start, y, max(end - start, 1.0), BAR, theme.metric + "60", radius=BAR / 2.0)
        if share > 0.0:
            wide = max(share * box.width, BAR)
            canvas.box(box.x, y + 1.0, wide, BAR - 2.0, theme.metric, radius=BAR / 2.0 - 1.0)
    words = canvas.fit(panel.name, max(right - box.x, 20.0), size=SIZE, bold=True)
    canvas.text(box.x, base, words, size=SIZE, color=theme.ink, bold=True)


def draw_curves(
    canvas: Canvas2D, panel: SweepPanel, box: Box, scales: Scales, theme: Theme
) -> None:
    """Draw the loss of each network, and their mean, on a logarithmic scale."""
    plot = Box(box.x + AXIS, box.y + 4.0, box.width - AXIS - 2.0, box.height - 20.0)
    if plot.width < 24.0 or plot.height < 16.0:
        return
    scales = replace(scales, plot=plot)
    corner = (plot.x, plot.bottom)
    canvas.segments([(plot.x, plot.y), corner], [corner, (plot.right, plot.bottom)], theme.faint)
    for value in ticks(scales.low, scales.high, plot.height):
        y = scales.y(value)
        canvas.segments([(plot.x, y)], [(plot.right, y)], theme.rim)
        words = f"{value:g}"
        canvas.text(plot.x - 5.0, y + 4.0, words, size=SMALL, color=theme.quiet, anchor="right")
    under = plot.bottom + 13.0
    end = text("chart.step", step=scales.last)
    if canvas.measure(end, size=SMALL) > plot.width:
        end = f"{scales.last:,.0f}"
    canvas.text(plot.right, under, end, size=SMALL, color=theme.quiet, anchor="right")
    with canvas.clip(plot.x - 2.0, plot.y - 2.0, plot.width + 4.0, plot.height + 4.0):
        some = np.linspace(0, len(panel.losses) - 1, min(len(panel.losses), LINES)).astype(np.intp)
        gap = np.full((len(some), 1), np.nan)
        steps = np.hstack([np.broadcast_to(panel.checks, (len(some), len(panel.checks))), gap])
        losses = np.hstack([panel.losses[some], gap])
        points = scales.all_points(steps.ravel(), losses.ravel())
        draw_thin(canvas, points, theme.accent + "48", 1.0)
        canvas.line(scales.all_points(panel.checks, panel.mean), theme.ink, width=2.0)


def draw_networks(
    canvas: Canvas2D, place: int, box: Box, sweep: SweepPanels, theme: Theme
) -> Spots:
    """Draw the weights of each network as a small picture, those that failed in a frame."""
    panel = sweep.panels[place]
    count, high, wide = panel.pictures.shape
    columns, side = packed(count, box.width, box.height - 4.0, wide / high)
    down = side * high / wide
    size = np.array([side, down]) * (1.0 - APART)
    places = np.arange(count)
    xy = np.stack([places % columns * side, places // columns * down], axis=1)
    xy += [box.x, box.y + 4.0]
    across, below = np.array([size[0], 0.0]), np.array([0.0, size[1]])
    corners = np.stack([xy, xy + across, xy + below], axis=1)
    cells = panel.pictures.reshape(count * high, wide)
    pixels = colored(apart(cells, side / wide * canvas.ratio), sweep.scale, theme)
    cuts = np.arange(count + 1) / count
    parts = np.stack([np.zeros(count), cuts[:-1], np.ones(count), cuts[1:]], axis=1)
    canvas.images(corners, pixels, parts)
    failed = panel.failed
    if failed.any():
        frame = np.broadcast_to(size + 3.0, (int(failed.sum()), 2))
        canvas.boxes(xy[failed] - 1.5, frame, None, outline=FAILED, line=1.5)
    good = panel.succeeded & ~failed
    if panel.success is not None and good.any():
        line = np.broadcast_to([size[0], LINE], (int(good.sum()), 2))
        canvas.boxes(xy[good] + below + [0.0, 0.5], line, theme.metric)
    return Spots(place, (box.x, box.y + 4.0), (side, down), columns, count)


def packed(count: int, width: float, height: float, shape: float) -> tuple[int, float]:
    """Return columns and the width of a cell for `count` cells of a shape, as large as they fit."""
    best = 1, 0.0
    for columns in range(1, count + 1):
        rows = math.ceil(count / columns)
        side = min(width / columns, height / rows * shape)
        if side > best[1]:
            best = columns, side
    return best


def apart(cells: FloatArray, pixels: float) -> FloatArray:
    """Return cells with a gap around each if one is so many `pixels` wide that it can be seen."""
    if pixels < CELL:
        return cells
    finer = np.full((len(cells), FINER, cells.shape[1], FINER), np.nan)
    finer[:, :-1, :, :-1] = cells[:, np.newaxis, :, np.newaxis]
    return finer.reshape(len(cells) * FINER, -1)


def colored(cells: FloatArray, scale: float, theme: Theme) -> FloatArray:
    """Return the colors of cells, red, green, blue and opacity; transparent where there is none."""
    known = np.isfinite(cells)
    shades = theme.map(np.clip(np.where(known, cells, 0.0) / scale, -1.0, 1.0).ravel())
    colors = np.asarray(shades, np.float64).reshape(*cells.shape, -1)[..., :3]
    return np.concatenate([colors, known[..., np.newaxis].astype(np.float64)], axis=-1)
