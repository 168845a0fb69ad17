"""The panel below OUT: how an operation comes to its number, and what comes of a weight or a step.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import draw_before
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.pace import ARRIVES
from scalarviz.scene.telling import STARTED, clamped, draw_track, lines_of, printed, span_of
from scalarviz.story.caption import Bars, Bent, Caption, Outcome, Trial, ends_of_bars, head_of
from scalarviz.story.facts import NONE
from scalarviz.story.panel_words import (
    PARTS,
    miss_title,
    miss_words,
    outcome_end,
    outcome_reason,
    outcome_title,
    pair_words,
    said_goal,
    scale_of,
    trial_end,
    trial_rows,
    trial_title,
)

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.story.caption import Effect

SIDE, EACH, MOST = 180.0, 24.0, 3  # room for the panel, for each further output, and of how many
HEAD, LARGE, LETTERS = 16.0, 14.0, 12.0  # pixels: letters of the head, larger ones, and others
EDGE, NUMBERS, LINE, TRACK = 14.0, 88.0, 26.0, 46.0  # around, to numbers, and from row to row
FOOT, MISS, CURVE, BAR = 36.0, 74.0, 136.0, 17.0  # heights: of the end, a track, a curve, a bar
LEAST = 0.7  # part of its height from which on a figure is drawn
START, AXIS = 46.0, 104.0  # pixels to the scale of an output, and its length
NAME, NUMBER, BAR_HIGH = 84.0, 48.0, 11.0  # of what stands left of a bar, and of the bar
BESIDE, BELOW = (26.0, 44.0), 18.0  # beside a curve and below it, for its numbers


@dataclass
class Side:
    """What the panel shows, from top to bottom.

    head, notes, end  sentences; "" for none
    caption           whose bars, curve or misses it has; or None
    trial, outcome    what comes of another weight, or of a step; or None
    """

    head: str
    notes: str = ""
    end: str = ""
    caption: Caption | None = None
    trial: Trial | None = None
    outcome: Outcome | None = None


def side_of(caption: Caption, things: str, *, blamed: bool, told: bool) -> Side | None:
    """Return what the panel shows of an operation; None if the network says it all.

    things  what the samples are
    blamed  whether the ways of blame are drawn
    told    whether the network has a panel with the sentence
    """
    trial, outcome = caption.trial, caption.outcome
    if trial is not None and blamed:
        notes = "" if told else f"{head_of(caption)}. {caption.comes}"
        return Side(trial_title(trial), notes, trial_end(trial), trial=trial)
    if outcome is not None and len(outcome.outputs) > 0:
        moved = "" if told or caption.wish == "" else text("moved.title", change=caption.wish)
        notes = outcome_reason(outcome, things) or moved
        return Side(outcome_title(outcome), notes, outcome_end(outcome), outcome=outcome)
    if caption.wish != "" and len(caption.misses) > 0:
        miss = caption.misses[0]
        head, notes = (miss_title(miss), "") if told else (head_of(caption), miss_title(miss))
        return Side(head, notes, miss_words(miss), caption)
    if len(caption.misses) > 0 and not told:
        return Side(caption.title, "", caption.why, caption)
    return None if told else Side(head_of(caption), caption.why, "", caption)


def side_room(outputs: int) -> float:
    """Return the most height that the panels have, by the number of outputs."""
    return SIDE + EACH * min(outputs - 1, MOST)


def figure_high(side: Side) -> float:
    """Return the height of what stands between head and end."""
    caption, trial, outcome = side.caption, side.trial, side.outcome
    if trial is not None:
        return LINE * (2 + len(trial.outputs))
    if outcome is not None:
        return TRACK * len(outcome.outputs)
    if caption is None:
        return 0.0
    if caption.bars is not None:
        return BAR * len(ends_of_bars(caption.bars))
    return CURVE if caption.bent is not None else MISS if len(caption.misses) == 1 else 0.0


def draw_side(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    side: Side,
    colors: Sequence[Color],
    tint: Color | None,
    signs: tuple[Color, Color],
    part: float,
) -> Box:
    """Draw the panel at the top of a box, as high as it needs; return its box.

    colors  of the outputs; `tint` is that of what it is about, if it is one of them
    signs   colors of minus and plus
    part    of the operation that is done
    """
    scale = canvas.scale
    left, room = box.x + EDGE * scale, box.width - 2.0 * EDGE * scale
    small, large = LETTERS * scale, HEAD * scale
    if canvas.measure(side.head, size=large, bold=True) > room:
        large = LARGE * scale
    heads = lines_of(canvas, side.head, room, large)[:3]
    notes = [] if side.notes == "" else lines_of(canvas, side.notes, room, small, bold=False)[:2]
    top = (EDGE + 6.0) * scale + 1.25 * large * len(heads)
    foot = FOOT * scale if side.end != "" else 0.4 * EDGE * scale
    if top + 1.4 * small * len(notes) + foot > box.height:  # no room
        notes = []
    top += 1.4 * small * len(notes)
    figure = min(figure_high(side) * scale, max(0.0, box.height - top - foot))
    figure = figure if figure >= LEAST * figure_high(side) * scale else 0.0
    high = min(box.height, top + figure + foot)
    fill, rim = theme.panel[:7], 8.0 * scale
    canvas.box(box.x, box.y, box.width, high, fill, radius=rim, outline=theme.rim)
    y = box.y + 0.7 * EDGE * scale
    for line in heads:
        y += 1.25 * large
        canvas.text(left, y, line, size=large, color=theme.ink, bold=True)
    for line in notes:
        y += 1.4 * small
        canvas.text(left, y, line, size=small, color=theme.soft)
    if side.end != "":
        size = LARGE * scale
        size = size if canvas.measure(side.end, size=size, bold=True) <= room else small
        end, low = canvas.fit(side.end, room, size=size, bold=True), box.y + high - 14.0 * scale
        canvas.text(left, low, end, size=size, color=theme.ink, bold=True)
    inside, caption = Box(left, box.y + top, room, figure), side.caption
    if figure == 0.0:
        return Box(box.x, box.y, box.width, high)
    if side.trial is not None:
        draw_trial(canvas, theme, inside, side.trial, colors)
    elif side.outcome is not None:
        draw_outcome(canvas, theme, inside, side.outcome, colors)
    elif caption is not None and caption.bars is not None:
        draw_bars(canvas, theme, caption.bars, inside, signs, part)
    elif caption is not None and caption.bent is not None:
        draw_curve(canvas, theme, caption.bent, inside, tint, signs, part)
    elif caption is not None:
        miss, middle = caption.misses[0], inside.y + 0.47 * figure
        track = Box(left + 20.0 * scale, middle, room - 40.0 * scale, 0.0)
        color = colors[miss.neuron[1]]
        draw_track(canvas, theme, miss, color, track, span_of([miss]))
    return Box(box.x, box.y, box.width, high)


# Numbers before and after.


def draw_trial(
    canvas: Canvas2D, theme: Theme, box: Box, trial: Trial, colors: Sequence[Color]
) -> None:
    """Draw what another weight would make of the outputs.

    colors  of the outputs
    """
    scale, small, large = canvas.scale, LETTERS * canvas.scale, LARGE * canvas.scale
    rows = trial_rows(trial)
    step, start = box.height / len(rows), box.x + (NUMBERS - EDGE) * scale
    y = box.y + 0.5 * step
    for row in rows:
        low = y + 0.36 * large
        ink = theme.soft if row.place == NONE else theme.ink
        canvas.text(box.x, low, row.name, size=small, color=ink)
        color = theme.ink if row.place == NONE else colors[row.place]
        x = start
        for words, look in ((row.before, theme.former), (" → ", theme.quiet), (row.after, color)):
            is_number = look != theme.quiet
            canvas.text(x, low, words, size=large, color=look, bold=is_number)
            x += canvas.measure(words, size=large, bold=is_number)
        if x + 6.0 * scale < box.right - canvas.measure(row.words, size=small):
            canvas.text(box.right, low, row.words, size=small, color=theme.soft, anchor="right")
        y += step
    canvas.line([(box.x, box.bottom), (box.right, box.bottom)], theme.faint, width=scale)


def draw_outcome(
    canvas: Canvas2D, theme: Theme, box: Box, outcome: Outcome, colors: Sequence[Color]
) -> None:
    """Draw what a step made of the outputs of the shown sample."""
    step, size = box.height / len(outcome.outputs), LETTERS * canvas.scale
    y = box.y + 0.5 * step
    for place, each in enumerate(outcome.outputs):
        color = colors[each.neuron[1]]
        draw_scale(canvas, theme, box, y, each, outcome.goals[place], color)
        if len(outcome.outputs) > 1:
            room = (START - EDGE - 4.0) * canvas.scale
            name = canvas.fit(each.name, room, size=size, bold=True)
            canvas.text(box.x, y + 0.36 * size, name, size=size, color=color, bold=True)
        y += step


def draw_scale(
    canvas: Canvas2D, theme: Theme, box: Box, y: float, effect: Effect, goal: float, color: Color
) -> None:
    """Draw the scale of an output: where it was, where it is, and where its goal lies."""
    scale, small = canvas.scale, LETTERS * canvas.scale
    found, start = scale_of(effect, goal), box.x + (START - EDGE) * scale
    one, two = pair_words(effect.before, effect.after)
    right = box.right
    wide = canvas.measure(f"{one} → {two}", size=small, bold=True)
    long = min(AXIS * scale, right - wide - 14.0 * scale - start)
    canvas.line([(start, y), (start + long, y)], theme.quiet, width=2.0 * scale)
    for part in range(PARTS + 1):
        x = start + part * long / PARTS
        canvas.line([(x, y - 4.0 * scale), (x, y + 4.0 * scale)], theme.quiet, width=scale)
    if 0.0 <= found.goal <= 1.0:
        x = start + long * found.goal
        canvas.line([(x, y - 11.0 * scale), (x, y + 11.0 * scale)], theme.ink, width=3.0 * scale)
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
    words, low = f"{text('telling.goal')} {said_goal(goal)}", y + 20.0 * scale
    end, other = 0, start + long
    if found.goal > 0.5:
        end, other = 1, start
    last = typeset(short(found.ends[1 - end]))
    if canvas.measure(f"{words}  {last}", size=small) < long:
        side = "right" if end == 0 else "left"
        canvas.text(other, low, last, size=small, color=theme.quiet, anchor=side)
    far = start - 8.0 * scale if end == 0 else start + long + 8.0 * scale
    aside = "left" if end == 0 else "right"
    canvas.text(far, low, words, size=small, color=theme.ink, anchor=aside)
    if not 0.0 <= found.goal <= 1.0:
        inner = far + (5.0 if end == 0 else -5.0) * scale
        tips = [(inner, y - 5.0 * scale), (far, y), (inner, y + 5.0 * scale)]
        canvas.line(tips, theme.ink, width=2.0 * scale)
    base = y + 0.36 * small
    canvas.text(right, base, two, size=small, color=color, bold=True, anchor="right")
    right -= canvas.measure(f"→ {two}", size=small, bold=True)
    canvas.text(right, base, f"{one} →", size=small, color=theme.former, anchor="right")


# What goes in and what comes out: bars, and the curve of an activation.


def draw_bars(
    canvas: Canvas2D, theme: Theme, bars: Bars, box: Box, signs: tuple[Color, Color], part: float
) -> None:
    """Draw numbers as bars from a zero line, of a sum end to end, as far as they have come."""
    scale, size, ends = canvas.scale, LETTERS * canvas.scale, ends_of_bars(bars)
    names, values = [each.name for each in bars.rows], [each.value for each in bars.rows]
    words = [typeset(short(each)) for each in values]
    if bars.total is not None:
        names.append(text("card.neuron.fact.sum"))
        said = printed(values, bars.total)
        words = said or [*["" for _ in values], typeset(short(bars.total))]
    step = box.height / len(ends)
    left, high = box.x + (NAME + NUMBER) * scale, min(BAR_HIGH * scale, 0.8 * step)
    long = box.right - left
    zero = left + long * ends[0][0]
    canvas.line([(zero, box.y), (zero, box.bottom)], theme.quiet, width=scale)
    come = clamped((part - STARTED) / (ARRIVES - STARTED)) * len(ends)
    for row, (first, end) in enumerate(ends):
        middle = box.y + (row + 0.5) * step
        base, is_strong = middle + 0.36 * size, row in (bars.marked, len(values))
        name = canvas.fit(names[row], (NAME - 4.0) * scale, size=size, bold=is_strong)
        ink = theme.ink if is_strong else theme.quiet
        canvas.text(box.x, base, name, size=size, color=ink, bold=is_strong)
        if come <= row:
            continue
        color: Color = signs[0] if end < first else signs[1]
        if bars.unit != "number":
            color = theme.push if bars.unit == "blame" else theme.lit if is_strong else theme.soft
        a, b = left + long * first, left + long * end
        is_hollow = bars.unit == "blame" and end < first
        wide, fill = max(abs(b - a), scale), None if is_hollow else color
        canvas.box(min(a, b), middle - 0.5 * high, wide, high, fill, outline=color, line=scale)
        if bars.unit != "blame" and typeset(names[row]) != words[row]:
            x = left - 8.0 * scale
            canvas.text(x, base, words[row], size=size, color=ink, bold=True, anchor="right")


def draw_curve(
    canvas: Canvas2D,
    theme: Theme,
    bent: Bent,
    box: Box,
    tint: Color | None,
    signs: tuple[Color, Color],
    part: float,
) -> None:
    """Draw what a curve makes of a number: the sum below it, the result at its right.

    Of blame that comes back it has its slope there.

    tint  of the result; None: that of its sign
    """
    scale, size, heights = canvas.scale, LETTERS * canvas.scale, [y for _, y in bent.points]
    reach = bent.points[len(bent.points) - 1][0]
    low: float = min([0.0, *heights])
    high: float = max([0.0, *heights])
    left, right = box.x + BESIDE[0] * scale, box.right - BESIDE[1] * scale
    top, foot = box.y + 0.5 * size, box.bottom - BELOW * scale
    across, up = 0.5 * (right - left) / reach, (foot - top) / (high - low or 1.0)

    def at(x: float, y: float) -> tuple[float, float]:
        return left + across * (x + reach), foot - up * (y - low)

    thin, quiet, halo = scale, theme.quiet, theme.panel[:7]
    canvas.line([at(0.0, low), at(0.0, high)], quiet, width=thin)
    for y in sorted({low, 0.0, high}):
        canvas.line([at(-reach, y), at(reach, y)], quiet, width=thin)
        words = typeset(f"{round(y)}" if abs(y - round(y)) < 0.1 else short(y))
        x = left - 6.0 * scale
        canvas.text(x, at(0.0, y)[1] + 0.36 * size, words, size=size, color=quiet, anchor="right")
    canvas.line([at(x, y) for x, y in bent.points], theme.ink, width=2.0 * scale)
    x, y = at(bent.before, bent.after)
    dot, wide = 5.0 * scale, 3.0 * scale
    color: Color = signs[0] if bent.before < 0.0 else signs[1]
    if bent.slope is not None:
        steep = bent.slope * up / across
        run = 0.45 * (foot - top) / math.hypot(1.0, steep)
        back, on = min(run, x - left), min(run, right - x)  # not over what stands beside it
        ends = [(x - back, y + steep * back), (x + on, y - steep * on)]
        canvas.line(ends, theme.push, width=wide)
        canvas.box(x - dot, y - dot, 2.0 * dot, 2.0 * dot, theme.push, radius=dot, outline=halo)
        return
    came = clamped((part - STARTED) / (ARRIVES - STARTED))
    canvas.line([(x, foot), (x, foot - came * (foot - y))], color, width=wide)
    words, base = typeset(short(bent.before)), foot + 1.3 * size
    canvas.text(x, base, words, size=size, color=color, bold=True, anchor="center", outline=halo)
    if came >= 1.0:
        own: Color = signs[0] if bent.after < 0.0 else signs[1]
        own = own if tint is None else tint
        canvas.line([(x, y), (right, y)], own, width=wide)
        canvas.box(x - dot, y - dot, 2.0 * dot, 2.0 * dot, own, radius=dot, outline=halo)
        words, x = typeset(short(bent.after)), right + 6.0 * scale
        canvas.text(x, y + 0.36 * size, words, size=size, color=own, bold=True)
