"""An operation, explained: the bars of a sum, a curve, misses, and what a weight should become.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.scene.annotations import LEFT, Ball, draw_before, lead
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.pace import ARRIVES
from scalarviz.story.caption import Bent, Caption, Summed, ends_of_bars, head_of

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.ways import SeenFan

# Parts of an operation until which nothing has come, light has come to cubes, and products to the
# ball; then bars come, one after the other, until the result ARRIVES.
STARTED, COME, ADDED = 0.12, 0.3, 0.46
LETTERS = 12.0  # pixels of words
BAR_HIGH, BAR_PITCH, BAR_LONG = 12.0, 20.0, 118.0  # pixels; from a bar to the next, the longest
CURVE = 180.0, 116.0  # pixels of the card of a curve
# Least pixels from a neuron to its card, above one for its name, and of the widest number.
BESIDE, NAMED, WIDEST = 12.0, 18.0, 36.0
PLACES = 9  # that are tried for a card, across and down, less one
BAR_WIDE = 22.0  # of a bar in a column
NAME, NUMBER, PAD = 52.0, 44.0, 10.0  # width of names and numbers left of bars, space around


def clamped(part: float) -> float:
    """Return a part between 0 and 1."""
    return min(1.0, max(0.0, part))


def card_size(caption: Caption, scale: float) -> tuple[float, float]:
    """Return width and height of the card of a caption: of bars, or of a curve."""
    if caption.summed is not None:
        return bars_size(len(ends_of_bars(caption.summed)), scale)
    return CURVE[0] * scale, CURVE[1] * scale


def kept_clear(x: float, y: float, radius: float, scale: float) -> Box:
    """Return the box of a neuron with its name and number, of which cards keep clear."""
    name = NAMED * scale
    wide: float = max(2.0 * radius, (1.0 - LEFT) * radius + WIDEST * scale)
    return Box(x - radius, y - radius - name, wide, 2.0 * radius + name)


def told_about(ball: Ball, scale: float) -> Box:
    """Return the box around a neuron that a card is about."""
    reach = ball.radius + BESIDE * scale
    return Box(ball.x - reach, ball.y - reach, 2.0 * reach, 2.0 * reach)


def card_place(
    wide: float, high: float, subject: Box, view: Box, others: Sequence[Box]
) -> Box | None:
    """Return where a card stands beside its subject, in view: near it, and it covers no other.

    None where it would cover one.
    """
    x, y = subject.x + 0.5 * (subject.width - wide), subject.y + 0.5 * (subject.height - high)
    best: Box | None = None
    least = math.inf
    right, low = view.right - wide, view.bottom - high
    parts = [i / PLACES for i in range(PLACES + 1)]
    lefts = [subject.right, x, subject.x - wide, *[view.x + i * (right - view.x) for i in parts]]
    tops = [y, subject.bottom, subject.y - high, *[view.y + i * (low - view.y) for i in parts]]
    for left in lefts:
        for top in tops:
            x, y = max(min(left, right), view.x), max(min(top, low), view.y)
            box = Box(x, y, wide, high)
            start, end = box.shortest(subject)
            far = math.hypot(end[0] - start[0], end[1] - start[1])
            if far < least and not any(box.meets(each) for each in others):
                best, least = box, far
    return best


def draw_card(canvas: Canvas2D, theme: Theme, box: Box, subject: Box, *, back: bool) -> None:
    """Draw an empty card, with a line to what it is about."""
    light, scale = theme.accent if back else theme.light, canvas.scale
    lead(canvas, box, subject, light)
    rim, line, fill = 8.0 * scale, 1.5 * scale, theme.panel[:7]
    canvas.box(box.x, box.y, box.width, box.height, fill, radius=rim, outline=light, line=line)


# A sum, explained at its row: what arrives over each cube, below the tray the products, end to end.

ROWED = 20  # most cubes of a row that is explained so
PANEL, GAP_BELOW, OVER = 196.0, 40.0, (31.0, 16.0)  # height, from feet to it, and words over cubes
BARS, PRODUCTS, SENTENCE = (
    (84.0, 46.0),
    46.0,
    16.0,
)  # bars from the top and from the foot, line of products, letters
LEAST_PANEL = 140.0  # height of the panel where there is little room


@dataclass
class ToldRow:
    """A row whose sum is explained, as it is seen, in logical pixels.

    feet     below each of its cubes, with the bias last; `tops` are above them
    gate     the middle of its gate; `left`, where its tray begins
    arrives  what comes in, one for each cube but the bias
    weights  of all cubes
    result   what the engine has
    """

    feet: list[tuple[float, float]]
    tops: list[float]
    gate: tuple[float, float]
    left: float
    arrives: list[float]
    weights: list[float]
    result: float


LEAST_WIDE = 300.0  # pixels of the panel of a loss
COLUMN = 26.0  # least distance of two cubes whose numbers stand above them


def panel_of(row: ToldRow, view: Box, scale: float) -> Box | None:
    """Return where the panel of a row stands: below it, else above it; None without room."""
    along = [x for x, _ in row.feet]
    if max(along) - min(along) < COLUMN * scale * (len(row.feet) - 1):  # numbers would meet
        return None
    right, left = row.gate[0] + 12.0 * scale, row.left - 8.0 * scale
    low = row.feet[0][1] + GAP_BELOW * scale
    end = min(row.tops) - (OVER[0] + 20.0) * scale
    below, above = view.bottom - low, end - view.y
    high = min(PANEL * scale, max(below, above))
    if high < LEAST_PANEL * scale:
        return None
    return Box(left, low if below >= high else end - high, right - left, high)


def draw_sum(
    canvas: Canvas2D,
    theme: Theme,
    row: ToldRow,
    box: Box,
    words: str,
    signs: tuple[Color, Color],
    part: float,
) -> None:
    """Explain a sum: its products stand in the columns of their cubes, as bars end to end from 0.

    words  the sentence below them
    signs  the colors of minus and plus
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    numbers = [*row.arrives, 1.0] if len(row.weights) > len(row.arrives) else row.arrives
    terms = [number * weight for number, weight in zip(numbers, row.weights, strict=True)]
    said = printed(terms, row.result)
    plain: Sequence[str] = said if len(said) else [typeset(short(each)) for each in terms]
    high = min(row.tops)
    along, top = [x for x, _ in row.feet], high - (OVER[0] + 13.0) * scale
    left, right = min(along) - 22.0 * scale, max(along) + 22.0 * scale
    canvas.box(left, top, right - left, high - 10.0 * scale - top, theme.panel[:7], radius=4.0)
    for place, (x, _) in enumerate(row.feet):
        weight = typeset(short(row.weights[place]))
        if place < len(row.arrives):
            number = row.arrives[place]
            color = signs[0 if number < 0.0 else 1]
            arrives, low = typeset(short(number)), high - OVER[0] * scale
            canvas.text(x, low, arrives, size=size, color=color, anchor="center")
            weight = f"×{weight}"
        canvas.text(x, high - OVER[1] * scale, weight, size=size, color=theme.ink, anchor="center")
    rim, fill = 8.0 * scale, theme.panel[:7]
    canvas.box(box.x, box.y, box.width, box.height, fill, radius=rim, outline=theme.rim)
    inside = box.x + PAD * scale
    canvas.text(inside, box.y + 20.0 * scale, text("telling.products"), size=size, color=theme.soft)
    sums: list[float] = [0.0]
    for term in terms:
        sums.append(sums[len(sums) - 1] + term)
    most: float = max(sums)
    least: float = min(sums)
    first, last = box.y + BARS[0] * scale, box.bottom - BARS[1] * scale
    unit = (last - first) / ((most - least) or 1.0)
    zero = first + most * unit
    canvas.line([(inside, zero), (box.right - PAD * scale, zero)], theme.quiet, width=scale)
    come = clamped((part - STARTED) / (ARRIVES - STARTED)) * len(terms)
    wide = BAR_WIDE * scale
    if len(row.feet) > 1:
        wide = min(wide, 0.6 * abs(row.feet[1][0] - row.feet[0][0]))
    order = sorted(range(len(terms)), key=lambda place: row.feet[place][0])
    at = 0.0
    for number, place in enumerate(order):
        if come <= number:
            break
        x, term = row.feet[place][0], terms[place]
        color = signs[0 if term < 0.0 else 1]
        a, b = zero - unit * at, zero - unit * (at + term)
        canvas.box(x - 0.5 * wide, min(a, b), wide, max(abs(b - a), scale), color)
        canvas.text(
            x, box.y + PRODUCTS * scale, plain[place], size=size, color=color, anchor="center"
        )
        at += term
        if number + 1 < len(order):
            right = row.feet[order[number + 1]][0]
            canvas.line([(x, b), (right, b)], theme.quiet, width=scale)
    if part >= ARRIVES:
        color = signs[0 if row.result < 0.0 else 1]
        x, end = box.right - 1.6 * PAD * scale, zero - unit * at
        canvas.box(x - 4.0 * scale, min(zero, end), 8.0 * scale, max(abs(end - zero), scale), color)
        total = said[len(terms)] if len(said) else typeset(short(row.result))
        low = max(zero, end) + 1.2 * size
        canvas.text(
            x + 6.0 * scale, low, total, size=size, color=theme.ink, bold=True, anchor="right"
        )
    room = box.width - 2.0 * PAD * scale
    large, low = SENTENCE * scale, box.bottom - 14.0 * scale
    lines = [words]
    if canvas.measure(words, size=large, bold=True) > room:  # two smaller lines
        large, parts = size, words.split(" ")
        half = (len(parts) + 1) // 2
        lines = [" ".join(parts[:half]), " ".join(parts[half:])]
        low -= 1.25 * large
    for line in lines:
        sentence = canvas.fit(line, room, size=large, bold=True)
        canvas.text(inside, low, sentence, size=large, color=theme.ink, bold=True)
        low += 1.25 * large


# What a weight is to become, below its row: its cube, dashed that which it shall be, and why.

WISH, BESIDE_CUBE, WISHED = 76.0, 70.0, 36.0  # height of the panel, its words, side of the largest
WISH_WIDE, BELOW_ROW = 430.0, 28.0  # least width of the panel, and from the feet to it
GROWN = 0.8  # how much a cube shall grow or shrink at most, of its edge: it is drawn larger


def wish_of(row: ToldRow, view: Box, scale: float, others: Sequence[Box]) -> Box | None:
    """Return where the panel of a weight stands: below its row, else above; None without room."""
    wide, high = max(row.gate[0] - row.left, WISH_WIDE * scale), WISH * scale
    left = max(view.x, min(row.left, view.right - wide))
    for top in (row.feet[0][1] + BELOW_ROW * scale, min(row.tops) - 40.0 * scale - high):
        box = Box(left, top, min(wide, view.width), high)
        is_in = top >= view.y and box.bottom <= view.bottom
        if is_in and not any(box.meets(each) for each in others):
            return box
    return None


def wished(share: float, push: float) -> float:
    """Return the share that a weight shall have, drawn larger; `push` is that of its gradient."""
    return share - GROWN * push


def wish_words(caption: Caption, share: float, push: float) -> list[str]:
    """Return the words about a weight that is to change."""
    goal = wished(share, push)
    if abs(goal) > abs(share):
        kind = text("telling.larger.plus") if goal >= 0.0 else text("telling.larger.minus")
    else:
        kind = text("telling.smaller.plus") if share >= 0.0 else text("telling.smaller.minus")
    links = [piece.words for piece in caption.chain]
    why = " → ".join(links[1:])
    last = f"{text('telling.then')} {why}." if why else f"{links[0]}."
    return [head_of(caption), *([caption.comes] if caption.comes else []), kind, last]


def moved_words(caption: Caption, count: int, factor: float) -> list[str]:
    """Return the words about a weight that has moved, with others.

    count   of those whose change is drawn; `factor` is how much larger
    """
    weights = 0 if caption.outcome is None else caption.outcome.weights
    dashed = text("moved.dashed")
    if factor > 1.0:
        dashed = plural("moved.dashed.larger", count, factor=f"{factor:g}")
    return [text("moved.title", change=caption.wish), plural("moved.all", weights), dashed]


def draw_wish(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    cube: tuple[float, float],
    words: Sequence[str],
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
) -> None:
    """Draw what a weight is to become, or what it was, on a panel.

    cube   the weight as a share of the scale, and the other one, dashed; its change is larger
    words  a head, and lines below it
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    wide, high, rim = box.width, box.height, 8.0 * scale
    canvas.box(box.x, box.y, wide, high, theme.panel[:7], radius=rim, outline=theme.accent)
    x, foot = box.x + 0.5 * BESIDE_CUBE * scale, box.y + 0.5 * high + 0.4 * WISHED * scale
    side = WISHED * scale
    draw_cubes([(x, foot, side, cube[0])])
    half = 0.5 * side * edge_of(cube[1])
    ends = [(x - half, foot), (x + half, foot), (x - half, foot - 2.0 * half)]
    draw_before(canvas, theme, [*ends, (x + half, foot - 2.0 * half)])
    left = box.x + BESIDE_CUBE * scale
    room = box.right - left - PAD * scale
    lines, arrow = list(words), " → "
    parts = lines[len(lines) - 1].split(arrow)
    kept = len(parts)
    while kept > 1 and canvas.measure(arrow.join(parts[:kept]), size=size) > room:
        kept -= 1
    if kept < len(parts):  # the reason has two lines
        lines = [*lines[:-1], arrow.join(parts[:kept]), f"→ {arrow.join(parts[kept:])}"]
    step = (20.0 if len(lines) < 4 else 16.0) * scale
    y = box.y + step + 2.0 * scale
    is_wide = canvas.measure(words[0], size=14.0 * scale, bold=True) <= room
    for place, line in enumerate(lines):
        letters = 14.0 * scale if place == 0 and is_wide else size
        ink = theme.ink if place == 0 else theme.soft
        said = canvas.fit(line, room, size=letters, bold=place == 0)
        canvas.text(left, y, said, size=letters, color=ink, bold=place == 0)
        y += step


def edge_of(share: float) -> float:
    """Return the edge of a cube relative to the largest one."""
    edge: float = abs(share) ** (1.0 / 3.0)
    return min(1.06, max(0.3, edge))


# How wrong an answer is: for each output a track with its goal, and the gap between them.

TRACK, TRACKS, AXIS = 74.0, 78.0, 240.0  # from one track to the next, down to the first, its length
FEW_OUTPUTS, SQUARE = 4, 66.0  # outputs that have tracks, and the side of the largest square


@dataclass
class Miss:
    """An output, and how far it is from its goal."""

    name: str
    color: Color
    out: float
    goal: float


def error_box(fans: Sequence[SeenFan | None], view: Box, scale: float) -> Box | None:
    """Return where the panel of a loss stands: in the place of the last layer, and of layers
    before it until it is wide enough; None without room.
    """
    right, left = 0.0, 0.0
    for fan in [*fans][::-1]:
        if fan is None:
            return None
        right = right or fan.gates[0][0] + fan.half_gate
        left = fan.first
        if right - left >= LEAST_WIDE * scale:
            return Box(left, view.y, right - left, view.height)
    return None


def draw_misses(
    canvas: Canvas2D, theme: Theme, misses: Sequence[Miss], box: Box, words: str, *, squared: bool
) -> None:
    """Draw how wrong an answer is on a panel, and what the network learns from.

    words    the sentence about the loss
    squared  whether it learns from the square of each miss
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    large, left, right = SENTENCE * scale, box.x + 22.0 * scale, box.right - 22.0 * scale
    fill, rim = theme.panel[:7], 8.0 * scale
    canvas.box(box.x, box.y, box.width, box.height, fill, radius=rim, outline=theme.rim)
    gaps: list[float] = [abs(each.out - each.goal) for each in misses]
    mean = sum(gaps) / max(1, len(gaps))
    y = box.y + 32.0 * scale
    said = f"{text('telling.wrong')} "
    canvas.text(left, y, said, size=large, color=theme.ink, bold=True)
    at = left + canvas.measure(said, size=large, bold=True)
    off = text("outputs.off", error=short(mean))
    canvas.text(at, y, off, size=large, color=theme.loss, bold=True)
    numbers: list[float] = [*[each.out for each in misses], *[each.goal for each in misses]]
    low: float = min([0.0, *numbers])
    high: float = max([1.0, *numbers])
    start = left + 50.0 * scale
    long = min(AXIS * scale, right - start - 110.0 * scale)
    unit = long / (high - low)
    for place, each in enumerate(misses):
        y = box.y + (TRACKS + 10.0 + TRACK * place) * scale
        out, goal = start + unit * (each.out - low), start + unit * (each.goal - low)
        canvas.box(start, y - 4.0 * scale, long, 8.0 * scale, theme.faint, radius=4.0 * scale)
        wide = abs(goal - out)
        canvas.box(min(out, goal), y - 4.0 * scale, wide, 8.0 * scale, theme.loss)
        canvas.line(
            [(goal, y - 11.0 * scale), (goal, y + 11.0 * scale)], theme.ink, width=3.0 * scale
        )
        dot = 6.5 * scale
        canvas.box(
            out - dot, y - dot, 2.0 * dot, 2.0 * dot, each.color, radius=dot, outline=theme.ground
        )
        base = y + 0.36 * large
        canvas.text(left, base, each.name, size=large, color=each.color, bold=True)
        said = f"{text('telling.goal')} {short(each.goal)}"
        above, below = y - 18.0 * scale, y + 28.0 * scale
        canvas.text(goal, above, said, size=size, color=theme.ink, bold=True, anchor="center")
        said = f"{text('telling.out')} {short(each.out)}"
        canvas.text(out, below, said, size=size, color=each.color, bold=True, anchor="center")
        said = text("outputs.off", error=short(gaps[place]))
        canvas.text(right, base, said, size=14.0 * scale, color=theme.soft, anchor="right")
    y = box.y + (TRACKS + TRACK * len(misses)) * scale
    if len(misses) > 1:
        said = text("telling.mean", error=short(mean))
        canvas.text(right, y, said, size=14.0 * scale, color=theme.loss, bold=True, anchor="right")
    y += 20.0 * scale
    canvas.line([(left, y), (right, y)], theme.faint, width=scale)
    y += 28.0 * scale
    most: float = max([1e-9, *gaps])
    across: float = (sum(gaps) or 1.0) * unit + (18.0 + 24.0 * len(misses)) * scale
    room = min((right - left) / across, (box.bottom - y - 90.0 * scale) / (most * unit), 1.0)
    side = unit * room  # as long as the miss on its track, where there is room
    if squared and y + (SQUARE + 64.0) * scale < box.bottom:
        canvas.text(
            left, y, text("telling.squares"), size=14.0 * scale, color=theme.soft, bold=True
        )
        low, x = y + 18.0 * scale + side * most, left + 18.0 * scale
        for place, each in enumerate(misses):
            own = side * gaps[place]
            canvas.box(x, low - own, own, own, theme.loss, radius=2.0)
            canvas.text(
                x + 0.5 * own,
                low + 16.0 * scale,
                each.name,
                size=size,
                color=each.color,
                bold=True,
                anchor="center",
            )
            x += own + 24.0 * scale
    canvas.text(
        left,
        box.bottom - 16.0 * scale,
        canvas.fit(words, right - left, size=14.0 * scale, bold=True),
        size=14.0 * scale,
        color=theme.ink,
        bold=True,
    )


# The curve of an activation.


def draw_curve(
    canvas: Canvas2D, theme: Theme, bent: Bent, box: Box, signs: tuple[Color, Color], part: float
) -> None:
    """Draw what an activation makes of a number: along its curve as far as it has come.

    box  of the card, which is drawn
    """
    scale, size, heights = canvas.scale, LETTERS * canvas.scale, [y for _, y in bent.points]
    reach = bent.points[-1][0]
    low: float = min([0.0, *heights])
    high: float = max([0.0, *heights])
    around = 1.6 * PAD * scale
    wide, tall = box.width - 2.0 * around, box.height - 2.0 * around
    unit = tall / (high - low or 1.0)
    left, zero = box.x + around + 0.5 * wide, box.bottom - around + unit * low

    def at(x: float, y: float) -> tuple[float, float]:
        return left + 0.5 * wide * x / reach, zero - unit * y

    thin, quiet = 1.2 * scale, theme.quiet
    canvas.line([at(-reach, 0.0), at(reach, 0.0)], quiet, width=thin)
    canvas.line([at(0.0, low), at(0.0, high)], quiet, width=thin)
    canvas.line([at(x, y) for x, y in bent.points], theme.ink, width=2.0 * scale)
    came: float = clamped((part - COME) / (ARRIVES - COME))
    color = signs[0 if bent.after < 0.0 else 1]
    foot, end = at(bent.before, 0.0), at(bent.before, bent.after)
    canvas.line([at(0.0, 0.0), foot], color, width=3.0 * scale)
    canvas.line([foot, (foot[0], foot[1] + came * (end[1] - foot[1]))], color, width=3.0 * scale)
    dot = 5.0 * scale
    on = foot[1] + came * (end[1] - foot[1])
    canvas.box(
        foot[0] - dot, on - dot, 2.0 * dot, 2.0 * dot, color, radius=dot, outline=theme.ground
    )
    below = foot[1] + (1.2 if bent.after >= 0.0 else -0.5) * size
    words = f"{text('card.neuron.fact.sum')} {short(bent.before)}"
    most = canvas.measure(words, size=size, bold=True) + 0.5 * PAD * scale
    x = max(foot[0], box.x + most) if bent.before < 0.0 else min(foot[0], box.right - most)
    look, halo, side = theme.ink, theme.panel[:7], "right" if bent.before < 0.0 else "left"
    canvas.text(x, below, words, size=size, color=look, bold=True, anchor=side, outline=halo)
    if came >= 1.0:
        aside = -1.0 if bent.before > 0.0 else 1.0
        canvas.text(
            left + 0.8 * aside * size,
            end[1] + 0.36 * size,
            short(bent.after),
            size=size,
            color=color,
            bold=True,
            anchor="right" if aside < 0.0 else "left",
            outline=halo,
        )


# Bars end to end.


def printed(values: Sequence[float], result: float) -> list[str]:
    """Return terms and their sum with digits that add up; nothing if they never do."""
    for digits in (2, 3, 4):
        power = 10.0**digits
        parts = [round(each * power) for each in values]
        if max([abs(each) for each in parts]) < 10:  # the largest has one digit
            continue
        if sum(parts) == round(result * power):
            return [typeset(f"{each / power:.{digits}f}") for each in [*parts, sum(parts)]]
    return []


def bars_size(count: int, scale: float) -> tuple[float, float]:
    """Return width and height of the card of some bars."""
    wide = NAME + NUMBER + BAR_LONG + 3.0 * PAD
    return wide * scale, (count * BAR_PITCH + 2.0 * PAD) * scale


def draw_bars(
    canvas: Canvas2D,
    theme: Theme,
    summed: Summed,
    chips: Sequence[Color | None],
    box: Box,
    signs: tuple[Color, Color],
    part: float,
    *,
    back: bool,
) -> None:
    """Draw the terms of a sum on its card as bars end to end, as far as they have come.

    chips    the color of what each term comes from; None for a bias, which is named
    back     whether it goes back, in a color of its own
    """
    scale, ends, size = canvas.scale, ends_of_bars(summed), LETTERS * canvas.scale
    values = [each.number * each.weight for each in summed.largest]
    values += [] if summed.others is None else [summed.others]
    words, last, pad = printed(values, summed.result), len(ends) - 1, PAD * scale
    left, high, step = (
        box.x + (NAME + NUMBER + 2.0 * PAD) * scale,
        BAR_HIGH * scale,
        BAR_PITCH * scale,
    )
    long, low = BAR_LONG * scale, box.y + pad
    zero = left + long * ends[0][0]
    canvas.line([(zero, low - 0.3 * pad), (zero, box.bottom - 0.7 * pad)], theme.quiet, width=scale)
    come = (part - ADDED) / (ARRIVES - ADDED) * len(ends)
    for row, (first, end) in enumerate(ends):
        y = low + row * step + 0.5 * (step - high)
        base, is_sum = y + 0.5 * high + 0.36 * size, row == last
        chip = chips[row] if row < len(chips) else None
        if chip is not None:
            canvas.box(box.x + pad, y, high, high, chip, radius=0.5 * high)
        else:
            name = "…" if row >= len(chips) else text("plates.bias")
            name = text("card.neuron.fact.sum") if is_sum else name
            letters = theme.ink if is_sum else theme.quiet
            name = canvas.fit(name, NAME * scale, size=size, bold=is_sum)
            canvas.text(box.x + pad, base, name, size=size, color=letters, bold=is_sum)
        grown = clamped(come - row)
        if is_sum:
            grown = 1.0 if part >= ARRIVES else 0.0
        if grown <= 0.0:
            continue
        a, b = left + long * first, left + long * (first + grown * (end - first))
        color = theme.push if back else signs[0] if end < first else signs[1]
        fill = None if back and end < first else color
        wide: float = max(abs(b - a), scale)
        canvas.box(min(a, b), y, wide, high, fill, outline=color, line=scale)
        if len(words):
            ink: Color = theme.ink if back else color
            canvas.text(
                left - 0.6 * pad, base, words[row], size=size, color=ink, bold=True, anchor="right"
            )
