"""Names of one moment, below the large loss curve: always from the same random numbers.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import typeset
from scalarviz.data.written_names import HEAT, WrittenName
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.sequence_places import veil
from scalarviz.scene.loss_chart import LETTERS

ROW, ADVANCE, LETTER = 31.0, 15.6, 18.0  # pixels of a name, of a letter, and its size
BAR, LIKELY = 6.0, 0.5  # height of a bar, and the probability of that height
LONGEST, KNOWN = 13.5, 78.0  # letters with room in a column; room of the words beside them


@dataclass(frozen=True)
class NamesOfMoment:
    """Names that the network writes at a step."""

    names: Sequence[WrittenName]
    step: float
    heat: float = HEAT


def words_of_names(seen: NamesOfMoment) -> str:
    """Return how the names were written."""
    return text("names.about", step=seen.step, heat=typeset(f"{seen.heat:g}".lstrip("0")))


def draw_names(canvas: Canvas2D, box: Box, seen: NamesOfMoment, theme: Theme, scale: float) -> None:
    """Draw names in columns; under each letter a bar shows how likely it was."""
    count = len(seen.names)
    rows, part = 1, 0.0
    for some in range(1, count + 1):  # the rows with the largest letters
        wide = math.ceil(count / some) * (LONGEST * ADVANCE + KNOWN)
        fits = min(scale, box.height / (some * ROW), box.width / wide)
        rows, part = (some, fits) if fits > part else (rows, part)
    across, high = box.width / max(1, math.ceil(count / rows)), ROW * part
    for i, name in enumerate(seen.names):
        left = box.x + across * (i // rows)
        base = box.y + high * (i % rows) + 0.62 * high
        draw_name(canvas, left, base, name, theme, part)


def draw_name(
    canvas: Canvas2D, left: float, base: float, name: WrittenName, theme: Theme, scale: float
) -> None:
    """Draw a name from `left` on, with its letters on a baseline."""
    advance, size = ADVANCE * scale, LETTER * scale
    look: dict[str, Any] = {"size": size, "anchor": "center"}
    for i, (letter, chance) in enumerate(zip(name.letters, name.chances, strict=True)):
        x, share = left + advance * i, min(1.0, chance / LIKELY)
        color = veil(theme.ink, 0.4 + 0.6 * share)
        canvas.text(x + 0.5 * advance, base, letter, color=color, **look)
        fill = veil(theme.signs[1], 0.4 + 0.6 * share)
        tall = max(1.0, BAR * scale * share)
        canvas.box(x + 0.16 * advance, base + 5.0 * scale, 0.68 * advance, tall, fill)
    words = text("names.known") if name.is_known else "" if name.letters else text("names.empty")
    x, small = left + advance * (len(name.chances) + 0.5), max(9.0, LETTERS * scale)
    if words:
        color = theme.accent if name.is_known else theme.quiet
        canvas.text(x, base - 2.0 * scale, words, size=small, color=color)
