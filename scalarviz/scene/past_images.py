"""Images of weights over time, and of a probe, by numpy.

Pages use web/past_images.js.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import (
    Theme,
    class_colors,
    faded,
    largest,
    rgb,
    to_bytes,
)
from scalarviz.scene.frame_data import PastWeights
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import DiagramMark
from scalarviz.scene.loss_chart import ChartScales

NEAR_END = 0.02  # fraction of the shown steps within which the last moment extends to the end
STRONGEST, NOT_KNOWN, LOST = 250, 251, 252  # codes of a number; LOST is not finite
LEAST_SHADE = 3.0  # pixels of the last known number
STRIPE = 5  # pixels of a stripe of such numbers
STRIPES = "#78222e", "#3c0e16"


def draw_tiles(
    canvas: Canvas2D, scales: ChartScales, past: PastWeights, end: float, theme: Theme
) -> None:
    """Draw a row for each tile with its numbers as colors, over the steps up to `end`."""
    seen, plot = past.over_time, scales.plot
    places = np.linspace(scales.first, scales.last, max(2, int(plot.width)))
    end = max(seen.steps[-1], end)
    if end > scales.last - NEAR_END * (scales.last - scales.first):
        end = scales.last  # the last moment also has a width
    known = (places >= seen.steps[0]) & (places <= end)
    if not known.any():
        return
    if theme.name not in past.images:
        past.images[theme.name] = to_bytes(theme.map(seen.tiles, past.scale))
    at = np.searchsorted(seen.steps, places[known], side="right") - 1
    left = scales.x(float(places[known][0]))
    wide = max(1.0, scales.x(float(places[known][-1])) - left)
    canvas.image(left, plot.y, wide, plot.height, past.images[theme.name][:, at])


def draw_shades(
    canvas: Canvas2D,
    scales: ChartScales,
    health: Any,
    rows: Sequence[int],
    measure: int,
    color: str,
    theme: Theme,
) -> None:
    """Draw some rows of codes of a measure, see stage/health_rows.py, over the steps.

    Black is exactly 0, striped is not finite. A row ends at its last known number.
    """
    plot, steps = scales.plot, health.steps
    places = np.linspace(scales.first, scales.last, max(2, int(plot.width)))
    if places[-1] < steps[0]:
        return
    places = places[places >= steps[0]]
    codes = np.asarray(health.shades[measure]).reshape(len(health.names), -1)[rows]
    at = np.searchsorted(steps, places, side="right") - 1
    after = np.searchsorted(steps, places - LEAST_SHADE * (places[-1] - places[0]) / len(places))
    known = np.hstack([codes, np.full((len(codes), 1), NOT_KNOWN)])
    codes = np.where(known[:, after] == NOT_KNOWN, NOT_KNOWN, codes[:, at])
    ground, hue, black, *stripes = rgb((theme.panel[:7], color, "#000000", *STRIPES))
    found = faded(hue, np.clip((codes[..., np.newaxis] - 1.0) / (STRONGEST - 1), 0.0, 1.0), ground)
    found[codes == 0], found[codes == NOT_KNOWN] = black, ground
    for i, stripe in enumerate(stripes):
        found[(codes == LOST) & (np.arange(len(places)) // STRIPE % 2 == i)] = stripe
    left = scales.x(float(places[0]))
    canvas.image(left, plot.y, plot.right - left, plot.height, to_bytes(found))


def draw_probe_map(canvas: Canvas2D, box: Box, probe: Any, mark: DiagramMark, theme: Theme) -> None:
    """Draw the map of a mark in a box, if the probe has it."""
    maps = {} if probe is None else probe[1].get(mark.words, {})
    shares = shares_of(maps[mark.look], mark.look) if mark.look in maps else ()
    if mark.size < len(shares):
        numbers, (ground, ink) = shares[int(mark.size)], rgb((theme.ground, theme.ink))
        grey = ground + np.nan_to_num(numbers)[..., np.newaxis] * (ink - ground)
        canvas.image(*box.place, grey if mark.look == "attention" else theme.map(numbers))


def shares_of(maps: Any, part: str) -> FloatArray:
    """Return maps of a probe as parts of the largest number; outputs are one map of a column.

    For attention it is the largest number of each row, and the root of the part.
    """
    numbers = np.asarray(maps, np.float64)
    if part == "attention":
        shares = np.nan_to_num(numbers).clip(1e-9, 1.0)
        return np.asarray(np.sqrt(shares / shares.max(axis=2, keepdims=True)))
    top = largest(np.ravel(numbers)) or 1.0
    return (numbers if part == "maps" else numbers.reshape(1, -1, 1)) / top


def line_colors(classes: Sequence[int], theme: Theme) -> Sequence[str]:
    """Return colors of classes as "#rrggbb", for lines and their names."""
    colors = class_colors(np.array(classes), theme.ground)
    return [f"#{bytes(color).hex()}" for color in to_bytes(colors)]
