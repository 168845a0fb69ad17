"""Telling: a sum on an upright tray and in bars, an activation's curve, the chain of a reason.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import CHANGE, short, typeset
from scalarviz.scene.annotations import BIG, LEFT, Ball, lead
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.pace import ARRIVES, MOVED
from scalarviz.story.caption import Bent, Caption, Effect, Piece, Summed, ends_of_bars

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D, Color
    from scalarviz.scene.canvas.palette import Theme

# Parts of an operation until which the tray has swung upright, light has come to its cubes, and
# products to the ball; then bars come, one after the other, until the result ARRIVES.
UPRIGHT, COME, ADDED = 0.12, 0.3, 0.46
PLACE, BEFORE = 0.46, 0.26  # of the tray, on the way to the ball, and before squares
PITCH, CUBE, WIDE = 64.0, 44.0, 116.0  # pixels of a lane, of its largest cube, of the tray
FACTORS = 84.0  # width of a tray for two factors, where three quarters of the way have it
LEAST_PITCH = 34.0  # of a lane with words
LETTERS, AROUND = 12.0, 10.0  # of words, and space around a tray
ROUND = 16  # pieces of a line
BAR_HIGH, BAR_PITCH, BAR_LONG = 12.0, 20.0, 118.0  # pixels; from a bar to the next, the longest
CURVE = 180.0, 116.0  # pixels of the card of a curve
# Least pixels from a neuron to its card, above one for its name, and of the widest number.
BESIDE, NAMED, WIDEST = 12.0, 18.0, 36.0
PLACES = 9  # that are tried for a card, across and down, less one
NAME, NUMBER, PAD = 52.0, 44.0, 10.0  # width of names and numbers left of bars, space around


@dataclass
class Lane:
    """A product of a sum, and what it is made of.

    ball    where the number comes from, as it is seen; None: nothing comes in
    color   of what comes in
    tube    whether that is a color channel, which comes in a tube
    number  the other factor of the product
    share   the weight as a share of the scale of the cubes
    """

    ball: Ball | None
    color: Color
    tube: bool
    number: float
    weight: float
    share: float


@dataclass
class Upright:
    """Where a tray stands upright: its box, and the middles of its lanes."""

    box: Box
    x: float
    lanes: list[float]


def stood(
    lanes: Sequence[Lane],
    ball: Ball,
    view: Box,
    scale: float,
    part: float,
    place: float = PLACE,
) -> Upright | None:
    """Return where the tray of a ball stands, of an operation's `part`; None without room.

    view   box of the picture that it stays in
    place  part of the way to the ball
    """
    pad, count = AROUND * scale, len(lanes)
    starts = [each.ball.x + each.ball.radius for each in lanes if each.ball is not None]
    end, start = ball.x - ball.radius, max(starts) if starts else -math.inf
    start = max(start, view.x, end - 6.0 * PITCH * scale)
    room = end - start
    wide: float = min(WIDE * scale, max(0.5 * room, min(0.75 * room, FACTORS * scale)))
    pitch: float = min(PITCH * scale, (view.height - 2.0 * pad) / max(1, count))
    if wide < 0.5 * CUBE * scale or pitch < 0.4 * CUBE * scale:
        return None
    x, high = start + place * (end - start), pitch * count
    top = min(max(ball.y - 0.5 * high, view.y + pad), view.bottom - pad - high)
    risen: float = min(1.0, part / UPRIGHT)
    places = [ball.y + risen * (top + pitch * (each + 0.5) - ball.y) for each in range(count)]
    whole = risen * high
    box = Box(x - 0.5 * wide, ball.y + risen * (top - ball.y) - 0.5 * pad, wide, whole + pad)
    return Upright(box, x, places)


def draw_upright(
    canvas: Canvas2D,
    theme: Theme,
    lanes: Sequence[Lane],
    ball: Ball,
    tray: Upright,
    signs: tuple[Color, Color],
    part: float,
    draw_cubes: Callable[[list[tuple[float, float, float, float]]], None],
    draw_squares: Callable[[list[Box]], None] | None,
) -> None:
    """Draw the tray: what comes in, its cubes, and the products on their way to the ball.

    signs         colors of minus and plus
    draw_squares  draws what products are over all places, then their sums so far; None: these have
                  no squares, and products run to the ball at once
    """
    scale, box, x = canvas.scale, tray.box, tray.x
    canvas.box(
        box.x, box.y, box.width, box.height, theme.panel[:7], radius=6.0 * scale, outline=theme.rim
    )
    size, count = LETTERS * scale, max(1, len(lanes))
    pitch = (box.height - AROUND * scale) / count
    side: float = min(CUBE * scale, 0.62 * pitch, 0.6 * box.width)
    sizes = [
        abs(each.number) for each in lanes if each.ball is not None and each.number == each.number
    ]
    products = [each.number * each.weight for each in lanes]
    largest: float = max([*sizes, 1e-30])
    top: float = max([*[abs(each) for each in products if each == each], 1e-30])
    come: float = clamped((part - UPRIGHT) / (COME - UPRIGHT))
    gone: float = clamped((part - COME) / (ADDED - COME))
    cubes: list[tuple[float, float, float, float]] = []
    has_words = pitch >= LEAST_PITCH * scale and part >= UPRIGHT
    for place, lane in enumerate(lanes):
        y, product = tray.lanes[place], products[place]
        middle = y - (0.5 * size if has_words else 0.0)
        half = 0.5 * side * max(0.2, math.sqrt(min(1.0, abs(lane.share))))
        if lane.ball is not None:
            words = typeset(short(lane.number))
            written: float = canvas.measure(words, size=BIG * scale, bold=True) + 7.0 * scale
            right: float = max(lane.ball.radius, written - LEFT * lane.ball.radius)
            start = lane.ball.x + right, lane.ball.y
            wide = (1.6 + 3.4 * abs(lane.number) / largest) * scale
            run(canvas, theme, start, (x - half, middle), come, wide, lane.color)
            if lane.tube:
                run(canvas, theme, start, (x - half, middle), come, 0.45 * wide, theme.ground)
        if draw_squares is not None:
            cubes.append((x, middle + half, side, min(1.0, max(-1.0, lane.share))))
            continue
        angle = 1.1 * (place - 0.5 * (count - 1)) / count
        end = ball.x - ball.radius - 2.0 * scale, ball.y + ball.radius * math.sin(angle)
        wide = (1.4 + 5.0 * abs(product) / top) * scale
        run(canvas, theme, (x + half, middle), end, gone, wide, signs[0 if product < 0.0 else 1])
        cubes.append((x, middle + half, side, min(1.0, max(-1.0, lane.share))))
    if draw_squares is not None:
        end = ball.x - ball.radius, ball.y
        heights = [y - (0.5 * size if has_words else 0.0) for y in tray.lanes]
        added = (x, side), heights, end
        draw_squares(added_squares(canvas, theme, *added, gone, products, signs))
    draw_cubes(cubes)
    for place, lane in enumerate(lanes):
        if not has_words:
            break
        words = f"{short(lane.number)} × {short(lane.weight)}"
        if lane.ball is None:
            words = f"{text('plates.bias')} {short(lane.weight)}"
        low = tray.lanes[place] + 0.5 * side + 0.5 * size
        ink, halo = theme.ink, theme.ground
        look = typeset(words)
        long: float = canvas.measure(look, size=size, bold=True)
        # Lines come in at the left; wider words are on its middle, and in sight.
        edge: float = max(box.right - 6.0 * scale, box.x + 0.5 * (box.width + long), long + size)
        canvas.text(edge, low, look, size=size, color=ink, bold=True, anchor="right", outline=halo)


def added_squares(
    canvas: Canvas2D,
    theme: Theme,
    cube: tuple[float, float],
    heights: Sequence[float],
    end: tuple[float, float],
    part: float,
    products: Sequence[float],
    signs: tuple[Color, Color],
) -> list[Box]:
    """Draw the lines of squares that add up; return the boxes of products, and of sums so far.

    cube     where cubes stand, and the side of the largest
    heights  of the lanes; `end` is where the last sum goes
    part     of the time for all: those to come are not drawn
    """
    scale, count, size = canvas.scale, len(heights), LETTERS * canvas.scale
    x, side = cube
    room = end[0] - x
    half = 0.5 * min(1.3 * side, 0.3 * room)
    left, right = x + 0.4 * room, x + 0.76 * room
    middle = 0.5 * (left + right)
    shown = math.ceil(part * count) if part > 0.0 else 0
    parts: list[Box] = []
    sums: list[Box] = []
    named = [(left, text("reason.part")), (right, text("reason.so_far"))]
    wide: float = sum([canvas.measure(words, size=size) for _, words in named]) + size
    for at, words in named:
        if shown > 0 and 0.5 * wide < right - left:
            top, ink, halo = heights[0] - half - 0.5 * size, theme.ink, theme.ground
            canvas.text(at, top, words, size=size, color=ink, anchor="center", outline=halo)
    for place in range(shown):
        y = heights[place]
        color = signs[0 if products[place] < 0.0 else 1]
        canvas.line([(x + 0.5 * side, y), (right, y)], color, width=3.0 * scale)
        if place > 0:
            before = sums[place - 1]
            canvas.line([(right, before.bottom), (right, y)], theme.ink, width=3.0 * scale)
            canvas.text(
                middle,
                y + 0.36 * size,
                "+",
                size=size,
                color=theme.ink,
                bold=True,
                anchor="center",
                outline=theme.ground,
            )
        parts.append(Box(left - half, y - half, 2.0 * half, 2.0 * half))
        sums.append(Box(right - half, y - half, 2.0 * half, 2.0 * half))
    if shown == count and count:
        last = sums[count - 1]
        start = last.right, last.y + 0.5 * last.height
        run(canvas, theme, start, end, 1.0, 3.4 * scale, theme.ink)
    return [*parts, *sums]


def clamped(part: float) -> float:
    """Return a part between 0 and 1."""
    return min(1.0, max(0.0, part))


def run(
    canvas: Canvas2D,
    theme: Theme,
    start: tuple[float, float],
    end: tuple[float, float],
    part: float,
    width: float,
    color: Color,
) -> None:
    """Draw a part of a curve that is level at both ends, from its start on, on a dark rim."""
    if part <= 0.0:
        return
    (x, y), (right, low) = start, end
    points: list[tuple[float, float]] = []
    for i in range(ROUND + 1):
        at = part * i / ROUND
        points.append((x + at * (right - x), y + at * at * (3.0 - 2.0 * at) * (low - y)))
    if color != theme.ground:
        canvas.line(points, theme.ground, width=width + 3.0 * canvas.scale)
    canvas.line(points, color, width=width)


def card_size(caption: Caption, scale: float) -> tuple[float, float]:
    """Return width and height of the card of a caption: of bars, of changes, or of a curve."""
    if caption.summed is not None:
        return bars_size(len(ends_of_bars(caption.summed)), scale)
    if len(caption.changes) > 0:
        return changes_size(len(caption.changes), scale)
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


# The chain of a reason: capsules in a row, each below what it is about, which a line leads to.

CAPSULE, CHAIN_GAP, LOW = 26.0, 26.0, 3.0  # height of a capsule, between two, above the edge
LINKS = 0.45, 0.95  # parts of an operation in which the links come, one after the other


def chain_places(
    canvas: Canvas2D, links: Sequence[Piece], things: Sequence[Box | None], view: Box
) -> list[Box]:
    """Return the boxes of the links of a chain, at the lower edge of a view; none without room.

    things  what each link is about, as it is seen
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    gap, y = CHAIN_GAP * scale, view.bottom - (CAPSULE + LOW) * scale
    boxes: list[Box] = []
    left = view.x + 3.0 * size
    for link, thing in zip(links, things, strict=True):
        wide = canvas.measure(link.words, size=size, bold=True) + 2.0 * PAD * scale
        x = left if thing is None else max(left, thing.x + 0.5 * (thing.width - wide))
        boxes.append(Box(x, y, wide, CAPSULE * scale))
        left = x + wide + gap
    last: float = view.right
    for place in range(len(boxes) - 1, -1, -1):  # those too far right move back
        box = boxes[place]
        boxes[place] = Box(min(box.x, last - box.width), box.y, box.width, box.height)
        last = boxes[place].x - gap
    return boxes if len(boxes) and boxes[0].x >= view.x + 2.0 * size else []


def draw_chain(
    canvas: Canvas2D,
    theme: Theme,
    links: Sequence[Piece],
    things: Sequence[Box | None],
    places: Sequence[Box],
    part: float,
) -> None:
    """Draw a chain as far as it has come: lines from things down to their links, and arrows."""
    scale, size = canvas.scale, LETTERS * canvas.scale
    come = clamped((part - LINKS[0]) / (LINKS[1] - LINKS[0])) * len(links)
    for place, box in enumerate(places):
        if come < place + 0.5:
            break
        thing, link = things[place], links[place]
        middle, radius, edge = box.x + 0.5 * box.width, 0.5 * box.height, 1.6 * scale
        if thing is not None:
            x = min(max(thing.x + 0.5 * thing.width, box.x + radius), box.right - radius)
            above = thing.x + 0.5 * thing.width, thing.bottom + 5.0 * scale
            canvas.line([above, (x, box.y)], theme.lit, width=1.3 * scale)
        low = box.y + radius
        if place > 0:
            start, tip = places[place - 1].right + 2.0 * scale, box.x - 3.0 * scale
            canvas.line([(start, low), (tip, low)], theme.lit, width=2.2 * scale)
            head = 5.0 * scale
            hook = [(tip - head, low - head), (tip, low), (tip - head, low + head)]
            canvas.line(hook, theme.lit, width=2.2 * scale)
        fill = theme.panel[:7]
        canvas.box(
            box.x, box.y, box.width, box.height, fill, radius=radius, outline=theme.lit, line=edge
        )
        words, base = link.words, low + 0.36 * size
        canvas.text(middle, base, words, size=size, color=theme.ink, bold=True, anchor="center")
        if place == 0 and len(links) > 1:
            before, ink, said = box.x - 0.5 * size, theme.ink, text("reason.if")
            canvas.text(before, base, said, size=size, color=ink, bold=True, anchor="right")


# What a step makes of the outputs: bars of change from one line, drawn larger than they are.

CHANGED = 110.0  # width of a number before and after


def changes_size(count: int, scale: float) -> tuple[float, float]:
    """Return width and height of the card of some changes."""
    return (NAME + CHANGED + BAR_LONG + 3.0 * PAD) * scale, (
        (count + 1) * BAR_PITCH + 2.0 * PAD
    ) * scale


def draw_changes(
    canvas: Canvas2D,
    theme: Theme,
    changes: Sequence[Effect],
    colors: Sequence[Color],
    box: Box,
    part: float,
) -> None:
    """Draw on a card how outputs change; the largest change has the longest bar."""
    scale, size, pad = canvas.scale, LETTERS * canvas.scale, PAD * canvas.scale
    left, step, half = box.x + pad, BAR_PITCH * scale, 0.5 * BAR_LONG * scale
    zero, top = box.right - pad - half, box.y + pad + BAR_PITCH * scale
    most: float = max([1e-300, *[abs(each.after - each.before) for each in changes]])
    grown = clamped((part - MOVED) / (ARRIVES - MOVED))
    off = changes[len(changes) - 1]
    is_worse = off.neuron is None and off.after > off.before
    title = text("reason.worse") if is_worse else text("reason.changes")
    title = canvas.fit(title, box.width - 2.0 * pad, size=size)
    ink = theme.ink
    canvas.text(left, box.y + pad + 0.9 * size, title, size=size, color=theme.quiet)
    canvas.line([(zero, top), (zero, box.bottom - pad)], theme.quiet, width=scale)
    for row, each in enumerate(changes):
        y, color = top + row * step, colors[row]
        low, long = y + 0.5 * step + 0.36 * size, half * grown * (each.after - each.before) / most
        name = canvas.fit(each.name, NAME * scale, size=size, bold=True)
        canvas.text(left, low, name, size=size, color=color, bold=True)
        words = f"{short(each.before, CHANGE)} → {short(each.after, CHANGE)}"
        canvas.text(left + NAME * scale, low, words, size=size, color=ink, bold=True)
        high = BAR_HIGH * scale
        y += 0.5 * (step - high)
        canvas.box(min(zero, zero + long), y, max(abs(long), scale), high, color)


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
