"""The panel below the output: how an operation computes, and the effect of a weight or a step.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import draw_before, fill_panel
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.pace import ARRIVES
from scalarviz.scene.telling import STARTED, clamped, draw_track, lines_of, span_of
from scalarviz.story.caption import (
    Bars,
    Bent,
    Caption,
    Group,
    Outcome,
    Trial,
    ends_of_bars,
    head_of,
)
from scalarviz.story.facts import NONE
from scalarviz.story.panel_words import (
    MOST_VOTES,
    PARTS,
    group_title,
    group_words,
    miss_title,
    miss_words,
    moved_rows,
    moved_title,
    outcome_digits,
    outcome_end,
    outcome_reason,
    outcome_title,
    pair_words,
    percent,
    said_goal,
    scale_of,
    share_words,
    trial_end,
    trial_rows,
    trial_title,
)

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.story.caption import Effect
    from scalarviz.story.panel_words import PanelRow

SIDE, EACH, MOST = 212.0, 32.0, 3  # height of the panel, per further output; maximum outputs
HEAD, LARGE, LETTERS = 16.0, 14.0, 12.0  # pixels: letters of the head, larger ones, and others
# Padding, distance to numbers, and between rows; distance of compact rows.
EDGE, NUMBERS, LINE, TRACK, ROW = 14.0, 88.0, 24.0, 34.0, 20.0
FOOT, MISS, CURVE, BAR = 32.0, 74.0, 136.0, 17.0  # heights: of the end, a track, a curve, a bar
VOTES = 44.0  # height of what all samples ask for
VOTE, BARS_WIDE = 12.0, 0.34  # pixels from bar to bar, and the most that all have of the width
MOST_NOTES = 5  # lines of them
SECOND = 20.0  # height of a second head
SHORT_WEIGHT = 5  # maximum letters of a weight's number in the text of votes
LEAST, TIGHT = 0.7, 0.9  # fractions of its height for a figure, and beside notes
START, BREAK = 20.0, 22.0  # pixels to the scale of an output, and of a broken axis
NAME, BAR_HIGH = 106.0, 11.0  # of the longest name of a bar, and of the bar
MIDDLE = 76.0  # height of words between bars and a curve
BESIDE, BELOW = (26.0, 44.0), 18.0  # beside a curve and below it, for its numbers


@dataclass
class Side:
    """The contents of the panel, from top to bottom.

    Attributes:
        head, notes, end: sentences, or ""
        middle: a sentence between bars and a curve, or above the effect of another weight
        caption: the caption whose bars, curve or errors are drawn, or None
        trial: effect of another weight, or None
        outcome: effect of a step, or None
        group: requests or improvements of all samples of the step, or None
        votes: text about the group, or ""
    """

    head: str
    notes: str = ""
    end: str = ""
    caption: Caption | None = None
    trial: Trial | None = None
    outcome: Outcome | None = None
    middle: str = ""
    group: Group | None = None
    votes: str = ""


def side_of(caption: Caption, things: str, *, told: bool) -> Side | None:
    """Return the contents of the panel for an operation; None if the network explains it.

    Args:
        things: name of the samples
        told: whether a panel in the network already shows the sentence
    """
    trial, outcome, group = caption.trial, caption.outcome, caption.group
    named = caption.wish.split(" → ")[0]
    named = named if 0 < len(named) <= SHORT_WEIGHT else text("group.weight")
    weight = "" if outcome is not None else named
    votes = "" if group is None or len(group.amounts) == 0 else group_words(group, weight)
    if trial is not None and trial.neuron is None:
        return Side(head_of(caption), caption.why, trial_end(trial), trial=trial)
    if trial is not None:
        found = Side(trial_title(trial), "", trial_end(trial), None, trial, None, "", group, votes)
        if told:
            return found
        notes = f"{caption.comes} {caption.why}" if caption.rolls else caption.comes
        return replace(found, head=head_of(caption), notes=notes, middle=found.head)
    if outcome is not None and len(outcome.outputs) > 0:
        notes = outcome_reason(outcome, things)
        if notes == "" and caption.wish != "" and len(outcome.moved) == 0:
            notes = f"{moved_title(caption)} {plural('moved.all', outcome.weights)}"
        notes = " ".join([each for each in (caption.why, notes) if each != ""])
        head, end = outcome_title(outcome), outcome_end(outcome)
        if outcome.shares is not None:
            return Side(head, notes, end, replace(caption, bars=outcome.shares))
        return Side(head, notes, end, outcome=outcome, group=group, votes=votes)
    if caption.bars is not None and caption.bent is not None and not told:
        head = text("captions.softmax.head")
        return Side(head, caption.comes, caption.why, caption, middle=caption.title)
    if caption.wish != "" and len(caption.misses) > 0:
        miss, end = caption.misses[0], caption.tried
        why = f" {caption.why}" if caption.rolls else ""
        head, notes = (miss_title(miss), "") if told else (head_of(caption), caption.comes + why)
        end = miss_words(miss) if end == "" else end
        return Side(head, notes, end, caption, group=group, votes=votes)
    if len(caption.misses) > 0 and not told:
        return Side(caption.title, caption.comes, caption.why, caption)
    head, notes = head_of(caption), caption.why
    if group is not None and len(group.amounts) == 0 and len(caption.misses) == 0:
        head = group_title(group, things)
        notes = f"{text('group.one')} {notes}"
    if caption.wish != "":
        notes = " ".join([each for each in (caption.comes, notes) if each != ""])
    return None if told else Side(head, notes, caption.tried, caption, group=group, votes=votes)


def side_room(outputs: int) -> float:
    """Return the maximum height of the panel, given the number of outputs."""
    return SIDE + EACH * min(outputs - 1, MOST)


def figure_high(side: Side) -> float:
    """Return the height of the contents between head and end."""
    caption, trial, outcome = side.caption, side.trial, side.outcome
    if trial is not None:
        return LINE * len(trial_rows(trial))
    if outcome is not None and len(outcome.moved) > 0:
        return ROW * len(moved_rows(outcome))
    if outcome is not None:
        return TRACK * len(outcome.outputs)
    if caption is None:
        return 0.0
    if caption.bars is not None:
        rest = MIDDLE + CURVE if side.middle != "" else 0.0
        return BAR * len(ends_of_bars(caption.bars)) + rest
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
    """Draw the panel at the top of a box, as high as necessary; return its box.

    Args:
        colors: colors of the outputs
        tint: color of the subject if it is an output, otherwise None
        signs: colors of negative and positive numbers
        part: finished fraction of the operation, from 0 to 1
    """
    scale = canvas.scale
    left, room = box.x + EDGE * scale, box.width - 2.0 * EDGE * scale
    small, large = LETTERS * scale, HEAD * scale
    head = side.head
    if canvas.measure(head, size=large, bold=True) > room:
        large = LARGE * scale
    heads = lines_of(canvas, head, room, large)[:3]
    top = (EDGE + 6.0) * scale + 1.25 * large * len(heads)
    foot = FOOT * scale if side.end != "" else 0.4 * EDGE * scale
    asked, most = 0 if side.group is None else len(side.group.amounts), figure_high(side) * scale
    votes = VOTES * scale if 0 < asked <= MOST_VOTES else 0.0
    second = SECOND * scale if side.trial is not None and side.middle != "" else 0.0
    if side.outcome is not None and top + foot + votes > box.height:
        votes = 0.0
    words = f"{side.votes} {side.notes}".strip() if asked > MOST_VOTES else side.notes
    notes = [] if words == "" else lines_of(canvas, words, room, small, bold=False)[:MOST_NOTES]
    is_tight = False
    free = box.height - top - votes - second - foot
    if most > 0.0 and 1.4 * small * len(notes) + TIGHT * most > free:  # no room
        notes, is_tight = [], asked > MOST_VOTES
    top += 1.4 * small * len(notes) + votes + second
    figure = min(most, max(0.0, box.height - top - foot))
    figure = figure if figure >= LEAST * most else 0.0
    is_tight = is_tight or top + foot > box.height or (most > 0.0 and figure == 0.0)
    if is_tight and side.votes != "" and side.outcome is None:  # the votes come first
        brief = Side(side.head, side.votes)
        if side.middle == "" and side.trial is not None:  # the network has the head
            brief = Side(side.votes)
        return draw_side(canvas, theme, box, brief, colors, tint, signs, part)
    if figure == 0.0 and side.middle != "":
        rest = None if side.caption is None else replace(side.caption, bent=None)
        brief = replace(side, head=side.middle, notes=side.head, caption=rest, middle="")
        return draw_side(canvas, theme, box, brief, colors, tint, signs, part)
    panel = Box(box.x, box.y, box.width, min(box.height, top + figure + foot))
    fill_panel(canvas, theme, panel, theme.rim)
    y = box.y + 0.7 * EDGE * scale
    for line in heads:
        y += 1.25 * large
        canvas.text(left, y, line, size=large, color=theme.ink, bold=True)
    for line in notes:
        y += 1.4 * small
        canvas.text(left, y, line, size=small, color=theme.soft)
    if side.group is not None and votes > 0.0:
        draw_votes(canvas, theme, Box(left, y + 0.4 * small, room, votes), side.group, side)
    if second > 0.0:
        ink, low = theme.ink, y + votes + second
        canvas.text(left, low, side.middle, size=LARGE * scale, color=ink, bold=True, room=room)
    if side.end != "":
        size = LARGE * scale
        size = size if canvas.measure(side.end, size=size, bold=True) <= room else small
        bold = canvas.measure(side.end, size=size, bold=True) <= room  # else it is narrower
        end, low = canvas.fit(side.end, room, size=size, bold=bold), panel.bottom - 14.0 * scale
        canvas.text(left, low, end, size=size, color=theme.ink, bold=bold)
    inside, caption = Box(left, box.y + top, room, figure), side.caption
    if figure == 0.0:
        return panel
    if side.trial is not None:
        draw_rows(canvas, theme, inside, trial_rows(side.trial), colors)
    elif side.outcome is not None and len(side.outcome.moved) > 0:
        draw_rows(canvas, theme, inside, moved_rows(side.outcome), colors)
    elif side.outcome is not None:
        draw_outcome(canvas, theme, inside, side.outcome, colors)
    elif caption is not None and caption.bars is not None:
        if side.middle != "" and caption.bent is not None:
            inside = draw_shares(canvas, theme, inside, side, caption.bent, part)
        draw_bars(canvas, theme, caption.bars, inside, signs, part)
    elif caption is not None and caption.bent is not None:
        draw_curve(canvas, theme, caption.bent, inside, tint, signs, part)
    elif caption is not None:
        miss, middle = caption.misses[0], inside.y + 0.47 * figure
        track = Box(left + 20.0 * scale, middle, room - 40.0 * scale, 0.0)
        color = colors[miss.neuron[1]]
        draw_track(canvas, theme, miss, color, track, span_of([miss]))
    return panel


def draw_shares(
    canvas: Canvas2D, theme: Theme, box: Box, side: Side, bent: Bent, part: float
) -> Box:
    """Draw the loss as a function of the right class's probability; return the rest of the box."""
    scale, unit = canvas.scale, box.height / figure_high(side)
    high, words = box.height - unit * (MIDDLE + CURVE), share_words(bent)
    y, small, size = box.y + high + 26.0 * scale, LETTERS * scale, LARGE * scale
    size = size if canvas.measure(side.middle, size=size, bold=True) <= box.width else small
    canvas.text(box.x, y, side.middle, size=size, color=theme.ink, bold=True, room=box.width)
    for line in lines_of(canvas, words, box.width, small, bold=False)[:2]:
        y += 16.0 * scale
        canvas.text(box.x, y, line, size=small, color=theme.soft, room=box.width)
    below = Box(box.x, box.bottom - unit * CURVE, box.width, unit * CURVE)
    draw_curve(canvas, theme, bent, below, theme.loss, (theme.lit, theme.lit), part)
    return Box(box.x, box.y, box.width, high)


def draw_votes(canvas: Canvas2D, theme: Theme, box: Box, group: Group, side: Side) -> None:
    """Draw each sample's requested change, or its improvement, as a bar, with a text."""
    scale, size, is_step = canvas.scale, LETTERS * canvas.scale, side.outcome is not None
    step = min(VOTE * scale, BARS_WIDE * box.width / len(group.amounts))
    most: float = max([1e-12, *group.amounts])
    least: float = min([0.0, *group.amounts])
    unit = (box.height - 4.0 * scale) / (most - least)
    x, middle = box.x, box.y + 2.0 * scale + unit * most
    for place, each in enumerate(group.amounts):
        up, down = (theme.light, theme.quiet) if is_step else (theme.push, theme.push)
        high, wide = max(unit * abs(each), scale), 0.6 * step
        top = middle - high if each > 0.0 else middle
        canvas.box(x, top, wide, high, up if each > 0.0 else down)
        if place == group.place:
            edge = 2.0 * scale
            across, tall = wide + 2.0 * edge, high + 2.0 * edge
            rim, color = 1.5 * scale, theme.lit
            canvas.box(x - edge, top - edge, across, tall, None, outline=color, line=rim)
        x += step
    canvas.line([(box.x, middle), (x, middle)], theme.quiet, width=scale)
    x += 8.0 * scale
    lines = lines_of(canvas, side.votes, box.right - x, size, bold=False)
    low = box.y + 0.5 * box.height + (0.36 - 0.6 * (len(lines) - 1)) * size
    for line in lines:
        canvas.text(x, low, line, size=size, color=theme.soft)
        low += 1.2 * size


# Numbers before and after.


def draw_rows(
    canvas: Canvas2D, theme: Theme, box: Box, rows: Sequence[PanelRow], colors: Sequence[Color]
) -> None:
    """Draw rows of numbers before and after a change of a weight or a step.

    Args:
        colors: colors of the outputs
    """
    scale, small, large = canvas.scale, LETTERS * canvas.scale, LARGE * canvas.scale
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
    """Draw the effect of a step on the outputs of the current sample."""
    step, size = box.height / len(outcome.outputs), LETTERS * canvas.scale
    y, digits = box.y + 0.5 * step, outcome_digits(outcome)
    for place, each in enumerate(outcome.outputs):
        color = colors[each.neuron[1]]
        aside = START * canvas.scale if len(outcome.outputs) > 1 else 0.0
        scale_box = Box(box.x + aside, box.y, box.width - aside, box.height)
        draw_scale(canvas, theme, scale_box, y, each, outcome.goals[place], color, digits)
        if aside > 0.0:
            room = aside - 4.0 * canvas.scale
            name = canvas.fit(each.name, room, size=size, bold=True)
            canvas.text(box.x, y + 0.36 * size, name, size=size, color=color, bold=True)
        y += step


def draw_scale(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    y: float,
    effect: Effect,
    goal: float,
    color: Color,
    digits: int,
) -> None:
    """Draw the scale of an output with its previous value, its current value and its target.

    The target is labeled at the end of the scale; if it is far away, the scale is broken there.
    """
    scale, small = canvas.scale, LETTERS * canvas.scale
    found, base = scale_of(effect, goal), y + 0.36 * small
    one, two = pair_words(effect.before, effect.after, digits)
    words, is_left = f"{text('telling.goal')} {said_goal(goal, digits)}", found.goal <= 0.5
    is_far = not 0.0 <= found.goal <= 1.0
    named, gap = canvas.measure(words, size=small), (BREAK if is_far else 8.0) * scale
    start, right = box.x, box.right
    end = right - canvas.measure(f"{one} → {two}", size=small, bold=True) - 14.0 * scale
    far, other = (
        (start + named + 6.0 * scale, end) if is_left else (end - named - 6.0 * scale, start)
    )
    way = -1.0 if is_left else 1.0
    canvas.text(start if is_left else end - named, base, words, size=small, color=theme.ink)
    first = far + gap if is_left else other
    long = abs(other - far) - gap
    canvas.line([(first, y), (first + long, y)], theme.quiet, width=2.0 * scale)
    for part in range(PARTS + 1):
        x = first + part * long / PARTS
        canvas.line([(x, y - 4.0 * scale), (x, y + 4.0 * scale)], theme.quiet, width=scale)
    if is_far:
        near, tip = far - way * gap, 5.0 * scale
        canvas.line([(near, y), (far, y)], theme.quiet, width=2.0 * scale)
        canvas.line([(far - way * tip, y - tip), (far, y), (far - way * tip, y + tip)], theme.ink)
        for place in (0.35, 0.6):  # two strokes: the axis is broken
            x = near + place * (far - near)
            stroke = [(x - 2.5 * scale, y + tip), (x + 2.5 * scale, y - tip)]
            canvas.line(stroke, theme.quiet, width=1.6 * scale)
    else:
        x = first + long * found.goal
        canvas.line([(x, y - 11.0 * scale), (x, y + 11.0 * scale)], theme.ink, width=3.0 * scale)
    before, after = first + long * found.before, first + long * found.after
    ring, dot = 6.0 * scale, 5.0 * scale
    draw_before(canvas, theme, Box(before - ring, y - ring, 2.0 * ring, 2.0 * ring).corners)
    canvas.box(after - dot, y - dot, 2.0 * dot, 2.0 * dot, color, radius=dot, outline=theme.ground)
    way = 1.0 if after > before else -1.0
    high, tip = y - 12.0 * scale, 4.0 * scale
    canvas.line([(before, high), (after, high)], color, width=2.4 * scale)
    hook = [(after - way * tip, high - tip), (after, high), (after - way * tip, high + tip)]
    canvas.line(hook, color, width=2.0 * scale)
    canvas.text(right, base, two, size=small, color=color, bold=True, anchor="right")
    right -= canvas.measure(f" {two}", size=small, bold=True)
    canvas.text(right, base, f"{one} →", size=small, color=theme.former, anchor="right")


# Inputs and outputs: bars, and the curve of an activation.


def draw_bars(
    canvas: Canvas2D, theme: Theme, bars: Bars, box: Box, signs: tuple[Color, Color], part: float
) -> None:
    """Draw numbers as bars from a zero line, end to end if they are added up."""
    scale, size, ends = canvas.scale, LETTERS * canvas.scale, ends_of_bars(bars)
    names, values = [each.name for each in bars.rows], [each.value for each in bars.rows]
    is_share = bars.unit == "share"
    words = [percent(each) if is_share else typeset(short(each)) for each in values]
    for row, each in enumerate(bars.rows):
        if each.before is not None and percent(each.before) != words[row]:
            words[row] = f"{percent(each.before)[:-2]} → {words[row]}"
    if bars.total is not None:
        names.append(text("card.neuron.fact.sum"))
        words = [*[each.said for each in bars.rows], bars.said]
    step = box.height / len(ends)
    widest = [
        max([canvas.measure(each, size=size, bold=True) for each in own]) for own in (names, words)
    ]
    room = min(NAME * scale, widest[0] + 6.0 * scale)
    left = box.x + room + widest[1] + 16.0 * scale
    high = min(BAR_HIGH * scale, 0.8 * step)
    long = box.right - left
    zero = left + long * ends[0][0]
    canvas.line([(zero, box.y), (zero, box.bottom)], theme.quiet, width=scale)
    come = clamped((part - STARTED) / (ARRIVES - STARTED)) * len(ends)
    for row, (first, end) in enumerate(ends):
        middle = box.y + (row + 0.5) * step
        base, is_strong = middle + 0.36 * size, row in (bars.marked, len(values))
        name = canvas.fit(names[row], room, size=size, bold=is_strong)
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
        if row < len(bars.rows):
            before = bars.rows[row].before
            x, low = left + long * (before or 0.0), middle - 0.5 * high
            if before is not None and abs(x - b) > scale:
                draw_before(canvas, theme, Box(left, low, x - left, high).corners)
        if typeset(names[row]) != words[row]:
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
    """Draw how an activation maps a sum (below the curve) to its output (on the right).

    In the backward pass, the slope of the curve is also drawn.

    Args:
        tint: color of the output; None uses the color of its sign
    """
    scale, size, heights = canvas.scale, LETTERS * canvas.scale, [y for _, y in bent.points]
    reach = bent.points[len(bent.points) - 1][0]
    low: float = min([0.0, *heights])
    high: float = max([0.0, *heights])
    left, right = box.x + BESIDE[0] * scale, box.right - BESIDE[1] * scale
    top, foot = box.y + 0.5 * size, box.bottom - BELOW * scale
    first: float = min(0.0, bent.points[0][0])
    across, up = (right - left) / (reach - first), (foot - top) / (high - low or 1.0)

    def at(x: float, y: float) -> tuple[float, float]:
        return left + across * (x - first), foot - up * (y - low)

    thin, quiet, halo = scale, theme.quiet, theme.panel[:7]
    canvas.line([at(0.0, low), at(0.0, high)], quiet, width=thin)
    far = [each for each in {low, high} if up * abs(each) > size and not bent.is_share]
    for y in sorted({0.0, *far}):
        canvas.line([at(first, y), at(reach, y)], quiet, width=thin)
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
        run = min(run, (y - box.y) / (abs(steep) or 1.0))
        back, on = min(run, x - left), min(run, right - x)  # not over items beside it
        ends = [(x - back, y + steep * back), (x + on, y - steep * on)]
        canvas.line(ends, theme.push, width=wide)
        canvas.box(x - dot, y - dot, 2.0 * dot, 2.0 * dot, theme.push, radius=dot, outline=halo)
        return
    came = clamped((part - STARTED) / (ARRIVES - STARTED))
    canvas.line([(x, foot), (x, foot - came * (foot - y))], color, width=wide)
    words = percent(bent.before) if bent.is_share else typeset(short(bent.before))
    base = foot + (1.5 if bent.is_share else 1.3) * size
    canvas.text(x, base, words, size=size, color=color, bold=True, anchor="center", outline=halo)
    if came >= 1.0:
        own: Color = signs[0] if bent.after < 0.0 else signs[1]
        own = own if tint is None else tint
        canvas.line([(x, y), (right, y)], own, width=wide)
        canvas.box(x - dot, y - dot, 2.0 * dot, 2.0 * dot, own, radius=dot, outline=halo)
        words, x = typeset(short(bent.after)), right + 6.0 * scale
        words = "<.01" if bent.is_share and bent.after < 0.005 else words
        canvas.text(x, y + 0.36 * size, words, size=size, color=own, bold=True)
