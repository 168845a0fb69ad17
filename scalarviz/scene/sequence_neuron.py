"""The card of a neuron: its sum, whether it speaks, and what it adds to each score.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.base.texts.sums import sum_words, top_of
from scalarviz.scene.layout.sequence_places import BOTTOM, SMALL, TOP, WALL, share_of, veil
from scalarviz.scene.overlay import draw_cubes
from scalarviz.scene.sequence_head import LOW, draw_products, reach_of
from scalarviz.scene.sequence_lines import BIG
from scalarviz.scene.sequence_sheet import LEAST_LETTER, ROOMY, Sheet
from scalarviz.scene.sequence_ways import SequenceNumbers

LEFT, ABOVE, GAP = 16.0, 2.0, 32.0  # of the card; above the walls, and to the wall it speaks of
ROW = 24.0  # largest height of a product
UNIT, REACH = 60.0, 44.0  # pixels of a product of 1, and of the largest sum
SPEAKS, SCORE = 2.2, 360.0  # number with the strongest color; pixels of a score of 1


def draw_card_of_neuron(sheet: Sheet, neuron: int) -> None:
    """Draw inputs, weights and products of a neuron, and what it adds to each score."""
    draw_trunk(sheet, neuron)
    right, low = sheet.plan.x("wide") - GAP, BOTTOM + LOW
    if not speaks_of(sheet.known, neuron):
        right = sheet.plan.x("qkv") + 136.0  # it adds nothing
    sheet.card(LEFT, TOP - ABOVE, right, low)
    draw_neuron(sheet, neuron, (LEFT + 20.0, TOP, right - 20.0, low))


def speaks_of(known: SequenceNumbers, neuron: int) -> bool:
    """Return whether a neuron is above 0 at the chosen place."""
    return max(known.numbers("z", known.place)[neuron : neuron + 1], default=0.0) > 0.0


def draw_neuron(sheet: Sheet, neuron: int, card: tuple[float, float, float, float]) -> None:
    """Draw a neuron in a card; `card` has its left, upper, right and lower edge."""
    plan, known, theme, zoom = sheet.plan, sheet.known, sheet.theme, sheet.zoom
    x, top, right, low = card
    title = text("sequence.neuron.title", neuron=neuron + 1, count=plan.hidden)
    sheet.label(x, top + 22.0, title, theme.ink, anchor="left", bold=True, large=16.0)
    inputs, weights = known.numbers("n", known.place), known.row("wide", neuron)
    terms = [a * b for a, b in zip(inputs, weights, strict=True)]
    start, largest = top + 68.0, top_of([abs(each) for each in terms], 1.0)
    high = min(ROW, (low - start - 82.0) / (len(terms) + 1))
    for column, words in (
        (54.0, text("sequence.neuron.input")),
        (138.0, text("sequence.neuron.weight")),
        (206.0, text("sequence.neuron.product")),
    ):
        if zoom > ROOMY:
            sheet.label(x + column, top + 52.0, words, theme.quiet, anchor="right")
    said = sum_words(terms)
    cubes: list[tuple[float, float, float, float]] = []
    ball = x + 4.0
    for number, value in enumerate(inputs):
        y = start + high * (number + 0.5)
        sheet.disc(ball, y, min(8.0, 0.45 * high), theme.map(max(-1.0, min(1.0, value / SPEAKS))))
        place, side = sheet.at(x + 84.0, y + 0.4 * high), 0.75 * high * zoom
        cubes.append((place[0], place[1], side, share_of(weights[number])))
        is_told = number == largest
        for column, words in ((54.0, short(value)), (138.0, short(weights[number])),
                              (206.0, said[number])):  # fmt: skip
            color = theme.ink if is_told else theme.quiet
            sheet.label(x + column, y, typeset(words), color, anchor="right", bold=is_told,
                        least=LEAST_LETTER)  # fmt: skip
        for column, words in ((63.0, "×"), (149.0, "=")):
            left = x + column
            sheet.label(left, y, words, theme.ghost, least=LEAST_LETTER)
    draw_cubes(sheet.canvas, cubes, theme)
    y = start + high * (largest + 0.5)
    sheet.frame(ball - 11.0, y - 0.5 * high, x + 206.0 + 6.0, y + 0.5 * high)
    unit = min(UNIT, REACH / max(1e-9, reach_of(terms)))
    whole = high * (len(terms) + 1) / 0.8
    draw_products(sheet, x + 264.0, start + 0.4 * whole, whole, terms, unit)
    y = start + high * (len(terms) + 0.5)
    left = ball - 4.0
    sheet.label(left, y, text("sequence.neuron.sum"), theme.ink, anchor="left", bold=True)
    sheet.label(x + 206.0, y, said[len(terms)], theme.ink, anchor="right", bold=True, large=14.0)
    active, speaks = known.numbers("z", known.place), speaks_of(known, neuron)
    silent = len([each for each in active if each <= 0.0])
    words = text("sequence.neuron.speaks") if speaks else text("sequence.neuron.silent")
    sheet.label(left, low - 44.0, words, theme.ink, anchor="left", bold=True)
    words = text("sequence.neuron.others", silent=silent, count=plan.hidden)
    sheet.label(left, low - 22.0, words, theme.quiet, anchor="left")
    if zoom > ROOMY:
        draw_bend(sheet, x + 268.0, low - 20.0, sum(terms))
    if speaks:
        card = x + 340.0, top, right, low - 10.0
        draw_additions(sheet, card, known.additions(neuron))


def draw_trunk(sheet: Sheet, neuron: int) -> None:
    """Draw what the neuron says on its way to its cubes, which are enlarged, and frame its row."""
    plan, known, zoom = sheet.plan, sheet.known, sheet.zoom
    y, x, comb = plan.neuron_y(neuron), plan.cube_x("narrow", neuron % WALL), plan.x("comb")
    sheet.frame(plan.x("wide") - 3.0, y - 6.0, plan.x("z") + 7.0, y + 6.0)
    cubes: list[tuple[float, float, float, float]] = []
    speaks = speaks_of(known, neuron)
    for number in range(plan.size):
        high = plan.narrow_y(number, neuron)
        if speaks:
            points = [(plan.x("z") + SMALL, y), (comb, y), (comb, high), (x - 4.0, high)]
            sheet.add_line(sheet.path(points, 2.0), 1.0, 1.4, 0.9, above=True)
        weight = known.weight("narrow", number, neuron, plan.hidden)
        place, side = sheet.at(x, high), BIG * zoom
        cubes.append((place[0], place[1] + 0.5 * side - zoom, side, share_of(weight)))
    sheet.flush()
    draw_cubes(sheet.canvas, cubes, sheet.theme)


def draw_bend(sheet: Sheet, x: float, y: float, value: float) -> None:
    """Draw what becomes of a sum: 0 if it is below 0."""
    theme, far = sheet.theme, 44.0
    sheet.canvas.line([sheet.at(x, y + 8.0), sheet.at(x, y - far)], theme.faint, width=1.0)
    points = [sheet.at(x - far, y), sheet.at(x, y), sheet.at(x + far, y - far)]
    sheet.canvas.line(points, theme.quiet, width=max(1.0, 2.0 * sheet.zoom))
    place = min(1.0, max(-1.0, value)) * far
    sheet.disc(x + place, y - max(0.0, place), 5.0, sheet.hue(value))


def draw_additions(
    sheet: Sheet, card: tuple[float, float, float, float], added: list[float]
) -> None:
    """Draw what a neuron adds to each score as bars with numbers."""
    left, above, right, bottom = card
    plan, known, theme = sheet.plan, sheet.known, sheet.theme
    most, least = top_of(added, 1.0), top_of(added, -1.0)
    title = text("sequence.neuron.says", more=plan.signs[most], less=plan.signs[least])
    sheet.label(left, above + 22.0, title, theme.ink, anchor="left", bold=True, large=16.0)
    sheet.label(left, above + 52.0, text("sequence.neuron.adds"), theme.quiet, anchor="left")
    top = above + 66.0
    pitch = (bottom - top) / plan.letters
    low, high = min(0.0, min(added)), max(0.0, max(added))
    unit = min(SCORE, (right - left - 90.0) / max(1e-9, high - low))
    zero = left + 28.0 - unit * low
    ends = [sheet.at(zero, top), sheet.at(zero, bottom)]
    sheet.canvas.line(ends, theme.quiet, width=max(0.8, sheet.zoom))
    for letter, value in enumerate(added):
        y, is_told = top + pitch * (letter + 0.5), letter in (most, least, known.letter)
        color = theme.ink if is_told else theme.quiet
        sheet.label(left + 6.0, y, plan.signs[letter], color, bold=is_told, least=LEAST_LETTER)
        start = zero + unit * min(0.0, value)
        end, fill = start + unit * abs(value), veil(sheet.hue(value), 1.0 if is_told else 0.6)
        sheet.box(start, y - 0.32 * pitch, end, y + 0.32 * pitch, fill, least=1.0)
        words = ("+" if value >= 0.005 else "") + typeset(short(value))
        sheet.label(right, y, words, color, anchor="right", bold=is_told, least=LEAST_LETTER)
