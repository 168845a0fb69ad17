"""Panels beside the network, below OUT: what comes of another weight, and of a step.

In a page they are elements, see pages/web/caption_box.js.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import draw_before
from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.layout.camera import Box
from scalarviz.story.caption import Effect, Outcome, Trial
from scalarviz.story.facts import NONE
from scalarviz.story.panel_words import (
    PARTS,
    outcome_end,
    outcome_reason,
    outcome_title,
    pair_words,
    scale_of,
    trial_end,
    trial_rows,
    trial_title,
)

LETTERS, LARGE, LINE = 12.0, 14.0, 26.0  # pixels: letters, larger ones, from row to row
EDGE, NUMBERS = 14.0, 88.0  # around a panel, and from its edge to numbers
TOP, FOOT = 34.0, 40.0  # height of the title, and of the last line
TRACK, START, AXIS = 46.0, 46.0, 104.0  # from output to output, to its scale, and length of that


def trial_high(trial: Trial, scale: float) -> float:
    """Return the height of the panel of a trial."""
    return (TOP + FOOT + LINE * (2 + len(trial.outputs))) * scale


def draw_trial(
    canvas: Canvas2D, theme: Theme, box: Box, trial: Trial, colors: Sequence[Color]
) -> None:
    """Draw what another weight would make of the outputs.

    colors  of the outputs
    """
    scale = canvas.scale
    left, right = box.x + EDGE * scale, box.right - EDGE * scale
    small, large, rim = LETTERS * scale, LARGE * scale, 8.0 * scale
    canvas.box(box.x, box.y, box.width, box.height, theme.panel[:7], radius=rim, outline=theme.rim)
    title = canvas.fit(trial_title(trial), right - left, size=large, bold=True)
    canvas.text(left, box.y + 24.0 * scale, title, size=large, color=theme.ink, bold=True)
    y = box.y + (TOP + 0.5 * LINE) * scale
    for row in trial_rows(trial):
        low = y + 0.36 * large
        ink = theme.soft if row.place == NONE else theme.ink
        canvas.text(left, low, row.name, size=small, color=ink)
        color = theme.ink if row.place == NONE else colors[row.place]
        draw_change(
            canvas, theme, left + (NUMBERS - EDGE) * scale, low, row.before, row.after, color
        )
        said = canvas.measure(f"{row.before} → {row.after}", size=large, bold=True)
        if left + (NUMBERS - EDGE) * scale + said < right - canvas.measure(row.words, size=small):
            canvas.text(right, low, row.words, size=small, color=theme.soft, anchor="right")
        y += LINE * scale
    line = y - 0.4 * LINE * scale
    canvas.line([(left, line), (right, line)], theme.faint, width=scale)
    low = box.bottom - 15.0 * scale
    end = canvas.fit(trial_end(trial), right - left, size=large, bold=True)
    canvas.text(left, low, end, size=large, color=theme.ink, bold=True)


def draw_change(
    canvas: Canvas2D, theme: Theme, x: float, low: float, before: str, after: str, color: Color
) -> None:
    """Write a number before and after, with an arrow between them."""
    size = LARGE * canvas.scale
    canvas.text(x, low, before, size=size, color=theme.former, bold=True)
    x += canvas.measure(before, size=size, bold=True)
    canvas.text(x, low, " → ", size=size, color=theme.quiet)
    x += canvas.measure(" → ", size=size)
    canvas.text(x, low, after, size=size, color=color, bold=True)


def outcome_high(outcome: Outcome, things: str, scale: float) -> float:
    """Return the height of the panel of a step."""
    lines = 18.0 if outcome_reason(outcome, things) else 0.0
    return (TOP + 6.0 + FOOT + lines + TRACK * len(outcome.outputs)) * scale


def draw_outcome(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    outcome: Outcome,
    colors: Sequence[Color],
    things: str,
) -> None:
    """Draw what a step made of the outputs of the shown sample.

    colors  of the outputs
    things  what the samples are
    """
    scale = canvas.scale
    left, right = box.x + EDGE * scale, box.right - EDGE * scale
    small, large, rim = LETTERS * scale, LARGE * scale, 8.0 * scale
    canvas.box(box.x, box.y, box.width, box.height, theme.panel[:7], radius=rim, outline=theme.rim)
    title = canvas.fit(outcome_title(outcome), right - left, size=16.0 * scale, bold=True)
    y = box.y + 26.0 * scale
    canvas.text(left, y, title, size=16.0 * scale, color=theme.ink, bold=True)
    reason = outcome_reason(outcome, things)
    if reason:
        y += 18.0 * scale
        said = canvas.fit(reason, right - left, size=small)
        canvas.text(left, y, said, size=small, color=theme.soft)
    y += 30.0 * scale
    for place, each in enumerate(outcome.outputs):
        color = colors[each.neuron[1]]
        draw_scale(canvas, theme, box, y, each, outcome.goals[place], color)
        if len(outcome.outputs) > 1:
            name = canvas.fit(each.name, (START - EDGE - 4.0) * scale, size=small, bold=True)
            canvas.text(left, y + 0.36 * small, name, size=small, color=color, bold=True)
        y += TRACK * scale
    low = box.bottom - 14.0 * scale
    canvas.text(left, low, outcome_end(outcome), size=large, color=theme.ink, bold=True)


def draw_scale(
    canvas: Canvas2D, theme: Theme, box: Box, y: float, effect: Effect, goal: float, color: Color
) -> None:
    """Draw the scale of an output: where it was, where it is, and where its goal lies."""
    scale, small = canvas.scale, LETTERS * canvas.scale
    found, start = scale_of(effect, goal), box.x + START * scale
    one, two = pair_words(effect.before, effect.after)
    right = box.right - EDGE * scale
    wide = canvas.measure(f"{one} → {two}", size=small, bold=True)
    long = min(AXIS * scale, right - wide - 14.0 * scale - start)
    canvas.line([(start, y), (start + long, y)], theme.quiet, width=2.0 * scale)
    for part in range(PARTS + 1):
        x = start + part * long / PARTS
        canvas.line([(x, y - 4.0 * scale), (x, y + 4.0 * scale)], theme.quiet, width=scale)
    before, after = start + long * found.before, start + long * found.after
    ring, dot = 6.0 * scale, 5.0 * scale
    ends = [(before - ring, y - ring), (before + ring, y + ring)]
    draw_before(canvas, theme, [*ends, (before - ring, y + ring), (before + ring, y - ring)])
    canvas.box(after - dot, y - dot, 2.0 * dot, 2.0 * dot, color, radius=dot, outline=theme.ground)
    way = 1.0 if after > before else -1.0
    high, tip = y - 13.0 * scale, 4.0 * scale
    canvas.line([(before, high), (after, high)], color, width=2.4 * scale)
    hook = [(after - way * tip, high - tip), (after, high), (after - way * tip, high + tip)]
    canvas.line(hook, color, width=2.0 * scale)
    words, low = f"{text('telling.goal')} {typeset(short(goal))}", y + 18.0 * scale
    end, other = 0, start + long
    if found.goal > 0.5:
        end, other = 1, start
    last = typeset(short(found.ends[1 - end]))
    if canvas.measure(f"{words}  {last}", size=small) < long:
        side = "right" if end == 0 else "left"
        canvas.text(other, low, last, size=small, color=theme.quiet, anchor=side)
    far = start - 8.0 * scale if end == 0 else start + long + 8.0 * scale
    canvas.text(
        far, low, words, size=small, color=theme.ink, anchor="left" if end == 0 else "right"
    )
    if 0.0 <= found.goal <= 1.0:
        x = start + long * found.goal
        canvas.line([(x, y - 9.0 * scale), (x, y + 9.0 * scale)], theme.ink, width=2.5 * scale)
    else:
        inner = far + (5.0 if end == 0 else -5.0) * scale
        tips = [(inner, y - 5.0 * scale), (far, y), (inner, y + 5.0 * scale)]
        canvas.line(tips, theme.ink, width=2.0 * scale)
    canvas.text(right, y + 0.36 * small, two, size=small, color=color, bold=True, anchor="right")
    right -= canvas.measure(f"→ {two}", size=small, bold=True)
    canvas.text(right, y + 0.36 * small, f"{one} →", size=small, color=theme.former, anchor="right")
