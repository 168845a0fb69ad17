"""The card of a head: how the chosen place compares all places, and what it takes from each.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, stripped, typeset
from scalarviz.base.texts.sums import adds_up, share_words, sum_words, top_of
from scalarviz.scene.layout.sequence_places import BOTTOM, KEY, QUERY, VALUE, veil
from scalarviz.scene.sequence_sheet import Sheet

LEFT, TOP, LOW = 36.0, 52.0, 10.0  # of the card: right of the rows of heads, and below the walls
ROWS, ROW, CELL = 318.0, 76.0, 34.0  # height of all rows and of one; largest side of a cell
WRITTEN, WHOLE = 4, 50.0  # rows with numbers; height from which a row shows all products
UNIT, REACH = 22.0, 50.0  # pixels of a product of 1, and of the largest sum
SHARE, LIT = 44.0, 0.5  # width of a share of 1, and share with full strength
NUMBERS, MIXED = 1.8, 1.2  # numbers with the strongest color
LETTERS, SMALL = 12.0, 0.8  # letter size, and zoom up to which headings are short


def draw_card_of_head(sheet: Sheet, head: int) -> None:
    """Draw query, keys, products, shares, values and their sum, for one head."""
    plan, known, theme, zoom = sheet.plan, sheet.known, sheet.theme, sheet.zoom
    here, each = known.place, plan.each
    left, low = plan.x("own") + LEFT, BOTTOM + LOW
    sheet.card(left, TOP, plan.wide - 16.0, low)
    sheet.frame(
        plan.x("qkv") - 5.0, plan.head_top(head) - 4.0, plan.x("own") + 8.0, head_low(sheet, head)
    )
    sheet.name_rows(head)
    shares, scores = known.shares[head][here], known.scores(head, here)
    best, own = top_of(shares, 1.0), plan.signs[known.read[here]]
    other = plan.signs[known.read[best]]
    title = text("sequence.head.title", letter=own, head=head + 1, other=other)
    sheet.label(left + 20.0, TOP + 22.0, title, theme.ink, anchor="left", bold=True, large=16.0)
    step = 160.0 / each
    keys = [left + 76.0 + step * (number + 0.5) - 20.0 for number in range(each)]
    values = [x + 402.0 for x in keys]
    products = [x + 586.0 for x in keys]
    middle, query_y, heading = left + 306.0, TOP + 98.0, TOP + 142.0
    first = keys[0] - 0.5 * min(CELL, step - 6.0)
    sheet.label(
        first, TOP + 60.0, text("sequence.head.query", letter=own), theme.ink, anchor="left"
    )
    root = stripped(short(math.sqrt(float(each))))
    for x, said in (
        (first, text("sequence.head.keys")),
        (left + 400.0, text("sequence.head.share")),
        (first + 402.0, text("sequence.head.values")),
        (first + 586.0, text("sequence.head.products")),
    ):
        words = said if zoom > SMALL else said.partition(":")[0]
        sheet.label(x, heading, words, theme.quiet, anchor="left")
    said = text("sequence.head.fit")
    if zoom > SMALL:
        sheet.label(middle - 76.0, heading - 18.0, said, theme.quiet, anchor="left")
        said = text("sequence.head.root", root=root, count=each)
    sheet.label(middle - 76.0, heading, said.partition(":")[0] if zoom <= SMALL else said,
                theme.quiet, anchor="left")  # fmt: skip
    pitch = min(ROW, ROWS / (here + 1))
    wide, high = min(CELL, step - 6.0), min(CELL, pitch - 4.0)
    rows = [heading + 16.0 + pitch * (place + 0.5) for place in range(here + 1)]
    likely = sorted(range(here + 1), key=lambda place: -shares[place])
    written = likely[: WRITTEN if here >= WRITTEN + 1 else WRITTEN + 1]
    query = [known.of_head(head, QUERY, number, here) for number in range(each)]
    top: float = max([1e-9, *[abs(number) for number in query]])
    for number, x in enumerate(keys):
        for start, end in (
            (query_y + 18.0, heading - 9.0),
            (heading + 9.0, rows[here] - 0.5 * high),
        ):
            size = 1.0 + 2.2 * abs(query[number]) / top
            sheet.add_line(
                [sheet.at(x, start), sheet.at(x, end)], query[number], size, 0.35, above=True
            )
    sheet.flush()
    for number, x in enumerate(keys):
        draw_ball(sheet, x, query_y, query[number], NUMBERS)
    lines = [known.products(head, here, place) for place in range(here + 1)]
    unit = min(UNIT, REACH / max([1e-9, *[reach_of(terms) for terms in lines]]))
    mixed = [
        [share * known.of_head(head, VALUE, number, place) for place, share in enumerate(shares)]
        for number in range(each)
    ]
    order = sorted(range(each), key=lambda number: -abs(sum(mixed[number])))
    columns = [number for number in order if adds_up(mixed[number], 2)]
    column = [*columns, *order][0]
    added = sum_words(mixed[column]) if here <= WRITTEN else sum_words(mixed[column], [2])
    for place, y in enumerate(rows):
        sign, is_written = plan.signs[known.read[place]], place in written
        side = min(28.0, pitch - 2.0)
        look = "chosen" if place == here else "read"
        sheet.chip(left + 18.0, y - 0.5 * side, side, sign, look)
        for number in range(each):
            key = known.of_head(head, KEY, number, place)
            value = known.of_head(head, VALUE, number, place)
            draw_cell(
                sheet, keys[number], y, wide, high, key, NUMBERS, short(key) if is_written else ""
            )
            said = short(value) if place == best else ""
            draw_cell(sheet, values[number], y, wide, high, value, NUMBERS, said)
            said = added[place] if number == column and is_written else ""
            draw_cell(
                sheet, products[number], y, wide, high, mixed[number][place], MIXED / 2.0, said
            )
        draw_products(sheet, middle, y, pitch, lines[place], unit)
        if is_written:
            color = sheet.hue(scores[place])
            said = typeset(short(scores[place]))
            sheet.label(left + 392.0, y, said, color, anchor="right", bold=True)
        draw_share(sheet, left + 402.0, y, pitch, shares[place], said=is_written)
    foot = rows[here] + 0.5 * pitch
    sheet.canvas.line(
        [sheet.at(products[0] - 18.0, foot + 2.0), sheet.at(products[each - 1] + 18.0, foot + 2.0)],
        theme.quiet, width=1.2 * zoom,
    )  # fmt: skip
    mix_y = low - 34.0
    for number, x in enumerate(products):
        value = sum(mixed[number])
        sheet.add_line(
            [sheet.at(x, foot + 4.0), sheet.at(x, mix_y - 18.0)], value, 2.0, 0.85, above=True
        )
        sheet.flush()
        draw_ball(sheet, x, mix_y, value, MIXED, added[here + 1] if number == column else "")
    half = 0.5 * wide + 4.0
    sheet.frame(
        products[column] - half, rows[0] - 0.5 * high - 4.0, products[column] + half, mix_y + 22.0
    )
    said = text("sequence.head.sum", letter=own)
    sheet.label(products[0] - 26.0, mix_y, said, theme.ink, anchor="right")
    write_share(sheet, left + 20.0, low - 62.0, scores, best)


def head_low(sheet: Sheet, head: int) -> float:
    """Return the lower edge of the rows of a head."""
    return sheet.plan.head_y(head, VALUE, sheet.plan.each - 1) + 0.5 * sheet.plan.row + 4.0


def reach_of(terms: list[float]) -> float:
    """Return how far a chain of products reaches from 0."""
    most, added = 0.0, 0.0
    for each in terms:
        added += each
        most = max(most, abs(added))
    return most


def draw_ball(sheet: Sheet, x: float, y: float, value: float, top: float, said: str = "") -> None:
    """Draw a number of the chosen place as a ball with its number."""
    share = min(1.0, max(-1.0, value / top))
    sheet.disc(x, y, 18.0, sheet.theme.map(share))
    words, ink = typeset(said or short(value)), sheet.theme.on_face(share)
    sheet.label(x, y, words, ink, bold=True, least=7.0, within=33.0)


def draw_cell(
    sheet: Sheet, x: float, y: float, wide: float, high: float, value: float, top: float, said: str
) -> None:
    """Draw a number of a place as a square, with its number if it is given."""
    share, theme, zoom = min(1.0, max(-1.0, value / top)), sheet.theme, sheet.zoom
    left, above = sheet.at(x - 0.5 * wide, y - 0.5 * high)
    sheet.canvas.box(
        left,
        above,
        wide * zoom,
        high * zoom,
        theme.map(share),
        radius=3.0 * zoom,
        outline=theme.rim,
    )
    if said:
        ink = theme.on_face(share)
        sheet.label(x, y, typeset(said), ink, bold=True, least=7.0, large=11.0, within=wide - 3.0)


def draw_products(
    sheet: Sheet, middle: float, y: float, pitch: float, terms: list[float], unit: float
) -> None:
    """Draw products one below the other, each from where the last one ended, and their sum."""
    theme, zoom, added = sheet.theme, sheet.zoom, 0.0
    is_whole = pitch >= WHOLE
    high = 0.8 * pitch / (len(terms) + 1) if is_whole else min(10.0, pitch - 5.0)
    top = y - 0.4 * pitch if is_whole else y - 0.5 * high

    def bar(start: float, value: float, above: float, fill: str) -> None:
        left, corner = sheet.at(middle + unit * min(start, start + value), above)
        wide = max(1.2, unit * abs(value) * zoom)
        sheet.canvas.box(left, corner, wide, (high - 1.0) * zoom, fill, radius=zoom)

    ends = [sheet.at(middle, y - 0.42 * pitch), sheet.at(middle, y + 0.42 * pitch)]
    sheet.canvas.line(ends, theme.quiet, width=max(0.8, zoom))
    for number, each in enumerate(terms if is_whole else []):
        bar(added, each, top + high * number, sheet.hue(each))
        added += each
    total = sum(terms)
    bar(0.0, total, top + high * len(terms) if is_whole else top, veil(sheet.hue(total), 0.7))


def draw_share(sheet: Sheet, x: float, y: float, pitch: float, share: float, *, said: bool) -> None:
    """Draw a share as a band as thick as the share, with its number."""
    thick = max(1.5, min(SHARE, 0.8 * pitch) * share)
    box = sheet.plane.box(x, y - 0.5 * thick, x + 56.0, y + 0.5 * thick)
    fill = veil(sheet.theme.signs[1], 0.35 + 0.65 * min(1.0, share / LIT))
    sheet.canvas.box(box.x, box.y, box.width, box.height, fill, radius=min(4.0, 0.5 * box.height))
    if said:
        inside = thick > LETTERS + 2.0
        color = sheet.theme.on_face(1.0) if inside and share > 0.4 else sheet.theme.ink
        middle = y if inside else y - 0.5 * thick - 8.0
        sheet.label(x + 28.0, middle, typeset(short(share)), color, bold=True)


def write_share(sheet: Sheet, x: float, y: float, scores: list[float], best: int) -> None:
    """Write how the largest share follows from the scores."""
    theme = sheet.theme
    numbers = [f"e^{typeset(short(each))}" for each in scores]
    score, part, whole, share = share_words(scores, best)
    numbers[best] = f"e^{score}"
    many = text("sequence.head.all", count=len(scores))
    below = " + ".join(numbers) if len(scores) <= WRITTEN + 1 else many
    sheet.label(x, y, text("sequence.head.softmax"), theme.ink, anchor="left")
    if sheet.zoom > SMALL:
        sheet.label(x, y + 20.0, f"{numbers[best]} / ({below})", theme.quiet, anchor="left")
    said = f"= {part} / {whole} = {share}"
    sheet.label(x, y + 42.0, said, theme.ink, anchor="left", bold=True, large=14.0)
