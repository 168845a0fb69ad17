"""Signs of a graph: the operation above each node, its name and its gradient below."""

from __future__ import annotations

import numpy as np

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.core.program import NONE
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.scene.frame import Projection
from scalarviz.pictures.view.scene.plates import Sign

LARGEST, SMALLEST = 17.0, 9.0  # pixels of letters
PART = 0.62  # of the radius of an operation, on small stages
NEARLY = 0.65  # of SMALLEST, that most have of themselves; less, and nothing is written
SMALLER = 0.85  # letters of a gradient where there is little room
DIGITS, TINY = 3, 0.01  # of a gradient; smaller ones have one digit less
WIDEST = 2.0  # cells that a gradient and its word may be wide
AWAY = 0.3  # from a node to its words, in letters
SIGNS = {"largest": LARGEST, "smallest": SMALLEST, "part": PART, "nearly": NEARLY,
         "smaller": SMALLER, "digits": DIGITS, "tiny": TINY, "widest": WIDEST,
         "away": AWAY}  # for pages  # fmt: skip


def draw_signs(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Write what stands around the nodes of a graph; smaller than readable, nothing."""
    signs = frame_data.layout.signs
    if not signs:
        return
    seen = see(np.array([sign.middle for sign in signs]))
    least, halo = SMALLEST * scale, theme.ground
    if np.nanmedian(PART * seen.unit) < NEARLY * least:
        return
    for sign, (x, y), unit in zip(signs, seen.xy.tolist(), seen.unit.tolist(), strict=True):
        radius, size = sign.radius * unit, max(least, min(LARGEST * scale, PART * unit))
        if not np.isfinite(x + y):
            continue
        look = {"size": size, "anchor": "center", "outline": halo}
        if sign.above:
            canvas.text(x, y - radius - AWAY * size, sign.above, color=theme.ink, bold=True, **look)
        low = y + radius + (AWAY + 0.8) * size
        if sign.below:
            canvas.text(x, low, sign.below, color=theme.ink, bold=True, **look)
            low += 1.15 * size
        gradient = gradient_of(sign, frame_data)
        if gradient is None:
            continue
        words = rounded(gradient, DIGITS if abs(gradient) >= TINY else DIGITS - 1)
        lines, room = bool(sign.above) + bool(sign.below), sign.apart * unit - 2.0 * radius
        named = text("graph.gradient", gradient=words)
        is_narrow = canvas.measure(named, size=size) < WIDEST * unit
        if room > (lines + 1.0 + 2.0 * AWAY) * size and is_narrow:
            words = named
        else:  # without the word, since the next node stands there
            look["size"], low = SMALLER * size, low - (1.0 - SMALLER) * size
        if room < (lines + SMALLER) * size:
            x, low = x + radius + AWAY * size + 0.5 * canvas.measure(words, size=look["size"]), y
        canvas.text(x, low, words, color=theme.accent, **look)


def gradient_of(sign: Sign, frame_data: FrameData) -> float | None:
    """Return the gradient of a node as far as it is known in this step; None if it is not."""
    if sign.row != NONE:
        pushes = frame_data.cubes.pushes
        found = None if pushes is None else float(pushes[sign.row])
    else:
        flow = frame_data.buffers.flows.get(sign.buffer)
        found = None if flow is None else float(flow[0])
    return None if found is None or np.isnan(found) else found
