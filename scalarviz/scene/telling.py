"""Explanations drawn in the network: sums, errors of outputs, and changes of weights.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded, short, typeset
from scalarviz.scene.annotations import LEFT, draw_before, fill_panel
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.pace import ARRIVES
from scalarviz.story.caption import Caption, Group, Miss, head_of
from scalarviz.story.panel_words import FINE, closing, digits_of_off, in_print, said_in

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.ways import SeenFan

# Fraction of an operation before the first input arrives; then bars appear in sequence, until the
# result ARRIVES.
STARTED = 0.12
LETTERS = 12.0  # pixels of words
NAMED, WIDEST = 18.0, 36.0  # pixels above a neuron for its name, and of the widest number
BAR_WIDE = 22.0  # of a bar in a column
PAD = 10.0  # padding


def clamped(part: float) -> float:
    """Clip a number to the range from 0 to 1."""
    return min(1.0, max(0.0, part))


def kept_clear(x: float, y: float, radius: float, scale: float) -> Box:
    """Return the box of a neuron with its name above or below, which cards must not overlap."""
    name = NAMED * scale
    wide: float = max(2.0 * radius, (1.0 - LEFT) * radius + WIDEST * scale)
    return Box(x - radius, y - radius - name, wide, 2.0 * (radius + name))


# A sum, explained at its row: inputs over each cube, and the products below the tray, end to end.

ROWED, LEAST_ROW = 20, 80.0  # maximum cubes of such a row, and its minimum pixels
PANEL, GAP_BELOW, OVER = 196.0, 18.0, (29.0, 15.0)  # height, from feet to it, and words over cubes
# Distances of bars from the top and from the foot, line of products, letters.
BARS, PRODUCTS, SENTENCE = (66.0, 48.0), 44.0, 16.0
LEAST_PANEL = 140.0  # height of the panel if space is short


@dataclass
class ToldRow:
    """A row whose sum is explained, in logical pixels of the picture.

    Attributes:
        feet: points below its cubes, the bias last
        tops: y coordinates of the tops of its cubes
        gate: center of its gate
        left: left end of its tray
        arrives: inputs, one for each cube except the bias
        weights: numbers of all cubes
        result: value of the sum in the engine
    """

    feet: list[tuple[float, float]]
    tops: list[float]
    gate: tuple[float, float]
    left: float
    arrives: list[float]
    weights: list[float]
    result: float

    @property
    def inputs(self) -> list[float]:
        """The inputs of all cubes; 1 for the bias."""
        return [*self.arrives, *[1.0] * (len(self.weights) - len(self.arrives))]


LEAST_WIDE, BESIDE_GATE = 300.0, 6.0  # pixels of the panel of a loss, and from it to a gate
COLUMN = 40.0  # minimum distance of two cubes with numbers above them


def panel_of(row: ToldRow, rows: Sequence[float], view: Box, scale: float) -> Box | None:
    """Return the box of the panel below a row; None if it does not fit.

    Args:
        rows: top of each row of the layer; the panel overlaps none of them
    """
    right, left = row.gate[0] + 12.0 * scale, row.left - 8.0 * scale
    foot = row.feet[0][1]
    top = foot + GAP_BELOW * scale
    high = min(PANEL * scale, min([view.bottom, *[each for each in rows if each > foot]]) - top)
    return None if high < LEAST_PANEL * scale else Box(left, top, right - left, high)


def draw_row(
    canvas: Canvas2D,
    theme: Theme,
    row: ToldRow,
    rows: Sequence[float],
    view: Box,
    words: str,
    signs: tuple[Color, Color],
    part: float,
) -> list[Box]:
    """Explain a sum at its row; return the box of its panel in a list, empty if it does not fit.

    The factors above the cubes are written in both cases.

    Args:
        rows: as in `panel_of`; the other arguments are as in `draw_sum`
    """
    along, scale = [x for x, _ in row.feet], canvas.scale
    if max(along) - min(along) < COLUMN * scale * (len(row.feet) - 1):  # numbers would meet
        return []
    lines = closing(row.inputs, row.weights, row.result)
    draw_over(canvas, theme, row, lines, signs)
    panel = panel_of(row, rows, view, scale)
    if panel is None:
        return []
    draw_sum(canvas, theme, row, lines, panel, words, signs, part)
    return [panel]


def draw_over(
    canvas: Canvas2D,
    theme: Theme,
    row: ToldRow,
    lines: Sequence[tuple[str, str, str]],
    signs: tuple[Color, Color],
) -> None:
    """Write the input and the weight above each cube of a row.

    Args:
        lines: factors as text; if they are too wide, they are shortened
        signs: colors of negative and positive numbers
    """
    scale, size, high = canvas.scale, LETTERS * canvas.scale, min(row.tops)
    named = [x for x, _ in row.feet[: len(row.arrives)]]
    top = high - (OVER[0] + 10.0) * scale
    left, right = min(named) - 22.0 * scale, max(named) + 22.0 * scale
    canvas.box(left, top, right - left, high - 10.0 * scale - top, theme.panel[:7], radius=4.0)
    pitch = (max(named) - min(named)) / max(1, len(named) - 1)
    if canvas.widest([f"×{each[1]}" for each in lines], size=size) > pitch > 0.0:
        lines = [
            (typeset(short(x)), typeset(short(w)), "")
            for x, w in zip(row.inputs, row.weights, strict=True)
        ]
    for place, (x, _) in enumerate(row.feet):
        arrives, weight = lines[place][0], lines[place][1]
        if place < len(row.arrives):
            color = signs[0 if row.arrives[place] < 0.0 else 1]
            low, weight = high - OVER[0] * scale, f"×{weight}"
            canvas.text(x, low, arrives, size=size, color=color, anchor="center")
        canvas.text(x, high - OVER[1] * scale, weight, size=size, color=theme.ink, anchor="center")


def draw_sum(
    canvas: Canvas2D,
    theme: Theme,
    row: ToldRow,
    lines: Sequence[tuple[str, str, str]],
    box: Box,
    words: str,
    signs: tuple[Color, Color],
    part: float,
) -> None:
    """Explain a sum by its products as bars end to end from 0, in the columns of their cubes.

    Args:
        lines: factors and product of each term as text
        words: the sentence below the bars
        signs: colors of negative and positive numbers
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    terms = [number * weight for number, weight in zip(row.inputs, row.weights, strict=True)]
    said = [each[2] for each in lines]
    fill_panel(canvas, theme, box, theme.rim)
    inside = box.x + PAD * scale
    canvas.text(inside, box.y + 20.0 * scale, text("telling.products"), size=size, color=theme.soft)
    order = sorted(range(len(terms)), key=lambda place: row.feet[place][0])
    sums: list[float] = [0.0]
    for place in order:
        sums.append(sums[len(sums) - 1] + terms[place])
    most: float = max(sums)
    least: float = min(sums)
    room, large = box.width - 2.0 * PAD * scale, SENTENCE * scale
    large = large if canvas.measure(words, size=large, bold=True) <= room else size
    sentence = lines_of(canvas, words, room, large)
    under = BARS[1] * scale + 1.25 * large * (len(sentence) - 1)
    first, last = box.y + BARS[0] * scale, box.bottom - under
    unit = (last - first) / ((most - least) or 1.0)
    zero = first + most * unit
    canvas.line([(inside, zero), (box.right - PAD * scale, zero)], theme.quiet, width=scale)
    come = clamped((part - STARTED) / (ARRIVES - STARTED)) * len(terms)
    wide, lower = BAR_WIDE * scale, 0.0
    if len(row.feet) > 1:
        pitch = abs(row.feet[1][0] - row.feet[0][0])
        wide = min(wide, 0.6 * pitch)
        lower = size if canvas.widest(said, size=size) > pitch else 0.0  # every second one
    at = 0.0
    for number, place in enumerate(order):
        if come <= number:
            break
        x, term = row.feet[place][0], terms[place]
        color = signs[0 if term < 0.0 else 1]
        a, b = zero - unit * at, zero - unit * (at + term)
        canvas.box(x - 0.5 * wide, min(a, b), wide, max(abs(b - a), scale), color)
        low = box.y + PRODUCTS * scale + lower * (number % 2)
        canvas.text(x, low, said[place], size=size, color=color, anchor="center")
        at += term
        if number + 1 < len(order):
            right = row.feet[order[number + 1]][0]
            canvas.line([(x, b), (right, b)], theme.quiet, width=scale)
    if part >= ARRIVES:
        color = signs[0 if row.result < 0.0 else 1]
        x, end = box.right - 1.6 * PAD * scale, zero - unit * at
        canvas.box(x - 4.0 * scale, min(zero, end), 8.0 * scale, max(abs(end - zero), scale), color)
        total = said[len(terms)]
        low = max(zero, end) + 1.2 * size
        canvas.text(
            x + 6.0 * scale, low, total, size=size, color=theme.ink, bold=True, anchor="right"
        )
    low = box.bottom - 14.0 * scale - 1.25 * large * (len(sentence) - 1)
    for line in sentence:
        canvas.text(inside, low, line, size=large, color=theme.ink, bold=True)
        low += 1.25 * large


def lines_of(
    canvas: Canvas2D, words: str, room: float, size: float, *, bold: bool = True
) -> list[str]:
    """Wrap text to lines of the width `room`."""
    lines: list[str] = []
    for word in words.replace(" → ", "\u00a0→\u00a0").split(" "):
        last = len(lines) - 1
        longer = word if last < 0 else f"{lines[last]} {word}"
        if last >= 0 and canvas.measure(longer, size=size, bold=bold) <= room:
            lines[last] = longer
        else:
            lines.append(word)
    return lines


# Change of a weight, below its row: its cube, dashed the requested one, and the reason.

WISH, BESIDE_CUBE, WISHED = 90.0, 70.0, 36.0  # height of the panel, its words, side of the largest
WISH_WIDE, BELOW_ROW = 430.0, 28.0  # minimum width of the panel, and from the feet to it
LOWER = 40.0, 80.0, 120.0, 160.0  # further distances that are tried
GROWN = 0.8  # maximum change of a cube, relative to its edge: it is magnified


def wish_of(row: ToldRow, view: Box, scale: float, others: Sequence[Box]) -> Box | None:
    """Return the box of a weight's panel, below its row or above it; None if it does not fit."""
    wide, high = max(row.gate[0] - row.left, WISH_WIDE * scale), WISH * scale
    left = max(view.x, min(row.left, view.right - wide))
    below, above = row.feet[0][1] + BELOW_ROW * scale, min(row.tops) - 40.0 * scale - high
    for top in (below, above, *[below + each * scale for each in LOWER]):
        box = Box(left, top, min(wide, view.width), high)
        is_in = top >= view.y and box.bottom <= view.bottom
        if is_in and not any(box.meets(each) for each in others):
            return box
    return None


def wished(share: float, push: float) -> float:
    """Return the requested weight, exaggerated; both arguments are relative to their scales."""
    return share - GROWN * push


def wish_words(caption: Caption, share: float, push: float) -> list[str]:
    """Return the lines of text about the change of a weight."""
    goal = wished(share, push)
    if abs(goal) > abs(share):
        kind = text("telling.larger.plus") if goal >= 0.0 else text("telling.larger.minus")
    else:
        kind = text("telling.smaller.plus") if share >= 0.0 else text("telling.smaller.minus")
    return [head_of(caption), *([caption.comes] if caption.comes else []), kind, caption.why]


def draw_wish(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    cube: tuple[float, float],
    words: Sequence[str],
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
) -> None:
    """Draw the requested change of a weight on a panel.

    Args:
        cube: the weight, and the requested weight (dashed, magnified), relative to the scale
        words: a heading, and the lines below it
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    fill_panel(canvas, theme, box, theme.accent)
    x, foot = box.x + 0.5 * BESIDE_CUBE * scale, box.y + 0.5 * box.height + 0.4 * WISHED * scale
    side = WISHED * scale
    draw_cubes([(x, foot, side, cube[0])])
    half = 0.5 * side * edge_of(cube[1])
    goal = Box(x - half, foot - 2.0 * half, 2.0 * half, 2.0 * half)
    draw_before(canvas, theme, goal.corners, theme.push)
    left = box.x + BESIDE_CUBE * scale
    room = box.right - left - PAD * scale
    lines = [words[0]]
    for each in words[1:]:
        lines += lines_of(canvas, each, room, size, bold=False)
    step = min(20.0 * scale, (box.height - 8.0 * scale) / len(lines))
    y = box.y + step
    is_wide = canvas.measure(words[0], size=14.0 * scale, bold=True) <= room
    for place, line in enumerate(lines):
        letters = 14.0 * scale if place == 0 and is_wide else size
        ink = theme.ink if place == 0 else theme.soft
        said = canvas.fit(line, room, size=letters, bold=place == 0)
        canvas.text(left, y, said, size=letters, color=ink, bold=place == 0)
        y += step


def edge_of(share: float) -> float:
    """Return the edge of a cube for a fraction of the scale, relative to the largest cube."""
    edge: float = abs(share) ** (1.0 / 3.0)
    return min(1.06, max(0.3, edge))


# The error of an answer: for each output a track with its target, and the gap between them.

TRACK, TRACKS, AXIS = 74.0, 78.0, 240.0  # between tracks, down to the first, its length
FEW_OUTPUTS, SQUARE = 4, 66.0  # maximum outputs with tracks, and side of the largest square
# Pixels of the losses of all samples, across and up, and maximum number.
LEAST_BARS, BARS_HIGH, MOST_BARS = 190.0, 230.0, 40


def error_box(fans: Sequence[SeenFan | None], view: Box, scale: float) -> Box | None:
    """Return the box of the panel of the loss; None if it does not fit.

    It covers the last layer, and earlier layers until it is wide enough.
    """
    right, left = 0.0, 0.0
    for fan in [*fans][::-1]:
        if fan is None:
            return None
        right = right or fan.gates[0][0] - fan.half_gate - BESIDE_GATE * scale
        left = fan.first
        if right - left >= LEAST_WIDE * scale:
            return Box(left, view.y, right - left, view.height)
    return None


def draw_track(
    canvas: Canvas2D,
    theme: Theme,
    miss: Miss,
    color: Color,
    box: Box,
    span: tuple[float, float],
    digits: int = FINE,
) -> None:
    """Draw a track with an output, its target, and the gap between them.

    Args:
        span: numbers at the left and right end of the track
        digits: number of digits of output and target
    """
    scale, size, y = canvas.scale, LETTERS * canvas.scale, box.y + 0.5 * box.height
    unit = box.width / (span[1] - span[0])
    out, goal = box.x + unit * (miss.out - span[0]), box.x + unit * (miss.goal - span[0])
    canvas.box(box.x, y - 4.0 * scale, box.width, 8.0 * scale, theme.faint, radius=4.0 * scale)
    wide, dot, tall = abs(goal - out), 6.5 * scale, 11.0 * scale
    canvas.box(min(out, goal), y - 4.0 * scale, wide, 8.0 * scale, theme.loss)
    canvas.line([(goal, y - tall), (goal, y + tall)], theme.ink, width=3.0 * scale)
    side, rim = 2.0 * dot, theme.ground
    canvas.box(out - dot, y - dot, side, side, color, radius=dot, outline=rim)
    for x, low, name, value, ink in (
        (goal, y - 18.0 * scale, text("telling.goal"), miss.goal, theme.ink),
        (out, y + 28.0 * scale, text("telling.out"), miss.out, color),
    ):
        said = f"{name} {said_in(miss, value, digits)}"
        half = 0.5 * canvas.measure(said, size=size, bold=True)
        middle = min(max(x, box.x + half - 20.0 * scale), box.right - half + 20.0 * scale)
        canvas.text(middle, low, said, size=size, color=ink, bold=True, anchor="center")


def span_of(misses: Sequence[Miss]) -> tuple[float, float]:
    """Return the numbers at both ends of the tracks of several outputs."""
    numbers: list[float] = [*[each.out for each in misses], *[each.goal for each in misses]]
    low: float = min([0.0, *numbers])
    high: float = max([1.0, *numbers])
    return low, high


def draw_misses(
    canvas: Canvas2D,
    theme: Theme,
    caption: Caption,
    colors: Sequence[Color],
    box: Box,
    *,
    squared: bool,
) -> None:
    """Draw the errors of the outputs on a panel, with the losses of all samples of the step.

    Args:
        colors: colors of the outputs
        squared: whether the loss consists of squared errors, which are then drawn
    """
    scale, size, misses = canvas.scale, LETTERS * canvas.scale, caption.misses
    large, left, right = SENTENCE * scale, box.x + 22.0 * scale, box.right - 22.0 * scale
    fill_panel(canvas, theme, box, theme.rim)
    gaps: list[float] = [abs(each.out - each.goal) for each in misses]
    y, room, small = box.y + 32.0 * scale, right - left, 14.0 * scale
    group = caption.group
    has_bars = group is not None and 0 < len(group.amounts) <= MOST_BARS
    own = group.amounts[group.place] if group is not None and has_bars else -1.0
    digits = digits_of_off([x.out for x in misses], [x.goal for x in misses], loss=own)
    letters = large
    if canvas.measure(caption.title, size=large, bold=True) > room:
        letters = size
    title = canvas.fit(caption.title, room, size=letters, bold=True)
    canvas.text(left, y, title, size=letters, color=theme.ink, bold=True)
    start, span = left + 50.0 * scale, span_of(misses)
    long = min(AXIS * scale, right - start - 110.0 * scale)
    unit = long / (span[1] - span[0])
    step = min(TRACK * scale, (box.height - (TRACKS + 50.0) * scale) / len(misses))
    for place, each in enumerate(misses):
        y = box.y + (TRACKS + 10.0) * scale + step * place
        track = Box(start, y - 4.0 * scale, long, 8.0 * scale)
        draw_track(canvas, theme, each, colors[place], track, span, digits)
        gap = in_print(each.out, digits) - in_print(each.goal, digits)
        fine = digits if len(misses) > 1 else FINE  # as in the title
        base, said = y + 0.36 * large, text("outputs.off", error=short(abs(gap), fine))
        canvas.text(left, base, each.name, size=large, color=colors[place], bold=True)
        canvas.text(right, base, said, size=14.0 * scale, color=theme.soft, anchor="right")
    y = box.y + TRACKS * scale + step * len(misses)
    if len(misses) > 1:
        said = text("telling.mean", error=short(sum(gaps) / len(gaps), FINE))
        canvas.text(right, y, said, size=14.0 * scale, color=theme.loss, bold=True, anchor="right")
    y += 20.0 * scale
    if y + 60.0 * scale < box.bottom:
        canvas.line([(left, y), (right, y)], theme.faint, width=scale)
    y += 28.0 * scale
    most: float = max([1e-9, *gaps])
    across: float = (sum(gaps) or 1.0) * unit + (18.0 + 24.0 * len(misses)) * scale
    tall = (box.bottom - y - 90.0 * scale) / (most * unit)
    beside = max(1.0, room - LEAST_BARS * scale)
    side = unit * min(beside / across, tall, 1.0)  # as long as the error on its track
    x = left
    if squared and y + (SQUARE + 64.0) * scale < box.bottom:
        count, said = len(misses), text("telling.squares")
        mean = sum([each * each for each in gaps]) / count
        if short(mean, 3) == short(own, 3):  # not the half
            said = plural("telling.squares.bar", count)
        elif short(0.5 * mean, 3) == short(own, 3):
            said = text("telling.squares.half")
        for line in lines_of(canvas, said, room, small):
            canvas.text(left, y, line, size=small, color=theme.soft, bold=True)
            y += 1.25 * small
        y -= 1.25 * small
        low, x = y + 18.0 * scale + side * most, x + 18.0 * scale
        for place, each in enumerate(misses):
            own = side * gaps[place]
            canvas.box(x, low - own, own, own, theme.loss, radius=2.0)
            middle, base = x + 0.5 * own, low + 16.0 * scale
            color = colors[place]
            canvas.text(middle, base, each.name, size=size, color=color, bold=True, anchor="center")
            x += own + 24.0 * scale
        x += 12.0 * scale
    y += 18.0 * scale
    bars = Box(x, y, right - x, min(BARS_HIGH * scale, box.bottom - 62.0 * scale - y))
    if group is not None and has_bars and bars.height > 20.0 * scale:
        draw_losses(canvas, theme, bars, group)
    words = canvas.fit(caption.why, room, size=small, bold=True)
    canvas.text(left, box.bottom - 16.0 * scale, words, size=small, color=theme.ink, bold=True)


def draw_losses(canvas: Canvas2D, theme: Theme, box: Box, group: Group) -> None:
    """Draw the losses of all samples of a step as bars, and their mean as a line."""
    scale, size, amounts = canvas.scale, LETTERS * canvas.scale, group.amounts
    mean = sum(amounts) / len(amounts)
    name = f"{text('telling.average')} {rounded(mean, 3)}"  # as in the caption
    room = box.width - canvas.measure(name, size=size) - 14.0 * scale
    step = min(24.0 * scale, room / len(amounts))
    unit = box.height / max([1e-12, *amounts])
    for place, each in enumerate(amounts):
        is_own, high = place == group.place, max(scale, unit * each)
        ink = theme.loss if is_own else theme.quiet
        canvas.box(box.x + place * step, box.bottom - high, 0.6 * step, high, ink)
        if is_own:
            low, middle = box.bottom + 16.0 * scale, box.x + (place + 0.3) * step
            words = f"{text('telling.this')}: {short(each, 3)}"
            x = max(middle, box.x + 0.5 * canvas.measure(words, size=size))
            canvas.text(x, low, words, size=size, color=theme.loss, anchor="center")
    end = box.x + step * len(amounts)
    y = box.bottom - unit * mean
    canvas.line([(box.x - 4.0 * scale, y), (end, y)], theme.ink, width=1.6 * scale)
    canvas.text(end + 6.0 * scale, y + 0.36 * size, name, size=size, color=theme.ink)


# Numbers that add up in print.


def printed(values: Sequence[float], result: float) -> list[str]:
    """Return terms and their sum as text, correct as printed; empty if that is impossible."""
    for digits in (2, 3, 4):
        power = 10.0**digits
        parts = [round(each * power) for each in values]
        if max([abs(each) for each in parts]) < 10:  # the largest has one digit
            continue
        if sum(parts) == round(result * power):
            return [typeset(f"{each / power:.{digits}f}") for each in [*parts, sum(parts)]]
    return []
