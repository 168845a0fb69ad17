"""Display of a Weight: its numbers, and the arithmetic of its next update."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import plural, text
from scalarviz.scene.canvas.palette import largest, rgb, to_bytes
from scalarviz.scene.exhibits.classified import readable_on
from scalarviz.stage.displays.html_tables import factors, never_raises, number_text
from scalarviz.stage.displays.svg import (
    LARGE,
    LOOK,
    NORMAL,
    SMALL,
    SvgDrawing,
    image,
    shorten,
    width_of,
)

if TYPE_CHECKING:
    from scalarviz.core.bank import Bank
    from scalarviz.core.weight import Weight
    from scalarviz.training.session.explanation import Explanation


LONGEST_NAME = 70
MOST_TERMS = 3
PATIENCE = 0.25  # longest wait for a busy session, in seconds
MOST_WORK = 200_000  # most weights times samples of a step that is replayed by objects
LINE = 21.0
CELL = 98.0, 46.0  # width and height

Row = tuple[str, ...]  # the sides of an equation, or a single sentence


@never_raises
def weight_html(weight: Weight) -> str:
    """Return a weight's name, number, gradient, and arithmetic."""
    value, grad = weight.value, weight.grad
    sections = [("", inputs_rows(weight, value))]
    title, explanation = explained(weight)
    if title:
        sections.append((title, [] if explanation is None else explanation_rows(explanation)))
    drawing = SvgDrawing()
    cell(drawing, value, largest(weight.bank.value) or 1.0)
    left = CELL[0] + 14
    drawing.text(left, 17, shorten(weight.name, LONGEST_NAME), LARGE, bold=True)
    drawing.text(left, 40, "grad", NORMAL, color=LOOK.quiet)
    drawing.text(left + 36, 40, number_text(grad, 6))
    if weight.frozen:
        tag = left + 54 + width_of(number_text(grad, 6))
        frozen = text("card.frozen")
        drawing.rect(tag, 27, width_of(frozen, SMALL) + 18, 18, LOOK.ink, radius=9)
        drawing.text(tag + 9, 40, frozen, SMALL, color=LOOK.ground)
    y = CELL[1] + 28
    for title, rows in sections:
        if title:
            y += 6
            drawing.text(0, y, title, NORMAL, color=LOOK.quiet)
            y += LINE + 3
        y = equations(drawing, y, rows)
    told = [" = ".join(row) for _, rows in sections for row in rows]
    numbers = text("displays.numbers", value=number_text(value), grad=number_text(grad))
    if weight.frozen:
        numbers = text("displays.weight.frozen", numbers=numbers)
    return image(drawing, f"{weight.name}: {numbers}. {title}. {'; '.join(told)}.")


def color_of(value: float, scale: float) -> str:
    """Return the color of a number; that of `scale` is the strongest one."""
    return "#" + to_bytes(LOOK.map(value, scale)).tobytes().hex()


def ink_on(color: str) -> str:
    """Return white or black, whichever has more contrast with a color."""
    return "#" + to_bytes(readable_on(rgb((color,)))[0]).tobytes().hex()


def cell(drawing: SvgDrawing, value: float, scale: float) -> None:
    """Draw a number in a cell of its color."""
    width, height = CELL
    color = color_of(value, scale)
    drawing.rect(0, 0, width, height, color, radius=4.0)
    texts = [number_text(value, digits) for digits in (3, 2, 1)]
    shown = next((each for each in texts if width_of(each, LARGE) <= width - 4), texts[-1])
    middle = height / 2 + 0.36 * LARGE
    drawing.text(width / 2, middle, shown, LARGE, color=ink_on(color), anchor="middle")


def equations(drawing: SvgDrawing, y: float, rows: list[Row]) -> float:
    """Draw lines of arithmetic with aligned equals signs; return the y of the next line.

    A row of one text is a sentence.
    """
    left = max([width_of(row[0]) for row in rows if len(row) > 1], default=0.0)
    for row in rows:
        if len(row) == 1:
            drawing.text(0, y, row[0], color=LOOK.quiet)
        else:
            drawing.text(left, y, row[0], anchor="end", italic=True)
            *sides, result = row[1:]
            runs = [(part, False) for side in sides for part in ("=", side)]
            drawing.words(left + 6, y, [*runs, ("=", False), (result, True)])
        y += LINE
    return y


def inputs_rows(weight: Weight, value: float) -> list[Row]:
    """Return y = w x for the newest inputs that wait for a backward, the next one first."""
    waiting = list(weight._inputs)
    if not waiting:
        return [(text("displays.weight.no_inputs"),)]
    rows: list[Row] = [
        ("y", "w x", factors(value, x), number_text(value * x))
        for x in waiting[: -MOST_TERMS - 1 : -1]
    ]
    if len(waiting) > MOST_TERMS:
        rows.append((text("displays.more", count=len(waiting) - MOST_TERMS),))
    rows.append((plural("displays.weight.inputs", len(waiting), x=number_text(waiting[-1])),))
    return rows


def explanation_rows(explanation: Explanation) -> list[Row]:
    """Return the gradient as a sum of products, then the optimizer's lines to the new value."""
    if explanation.total is None:
        return [(text("displays.weight.no_gradient"),)]
    total, terms = number_text(explanation.total, 6), sum_text(explanation)
    rows: list[Row] = [("w", number_text(explanation.value, 6))]
    rows.append(("grad", *([terms] if terms else []), total))
    for line in explanation.spoken_lines():
        value = number_text(line.value, 6)
        formula = line.formula.replace(" * ", " · ").replace(" - ", " − ")
        same = formula in (value, f"{line.value:.6g}")
        rows.append((line.name, *([] if same else [formula]), value))
    if explanation.frozen:
        rows.append((text("displays.weight.still"),))
    return rows


def sum_text(explanation: Explanation) -> str:
    """Return x g + x g + ... for the first samples; "" if the gradient is no such sum."""
    if explanation.g is None or explanation.products is None:
        return ""
    pairs = list(zip(explanation.x.tolist(), explanation.g.tolist(), strict=True))
    terms = [factors(x, g) for x, g in pairs[:MOST_TERMS]]
    if len(pairs) > MOST_TERMS:
        terms.append(text("displays.more", count=len(pairs) - MOST_TERMS))
    return " + ".join(f"({t})" if i and t.startswith("−") else t for i, t in enumerate(terms))


def explained(weight: Weight) -> tuple[str, Explanation | None]:
    """Return a heading, and the session's explanation of a weight; "" without a session.

    It explains only where that has no side effects: not while the session plays or is busy, and not
    after writes from outside, which it would journal as edits.
    """
    session: Any = weight.bank.session
    if session is None:
        return "", None
    timeline = session.timeline
    if session.playing:
        return text("displays.weight.playing", step=timeline.clock.step), None
    with session.still(PATIENCE) as is_free:
        if not is_free:
            return text("displays.weight.at_work"), None
        step, operation = timeline.clock.place
        # Objects keep inputs of an interrupted step, which explaining would drop.
        keeps = len(getattr(timeline.trainer.run, "_waiting", ())) > 0
        reasons = {
            text("displays.weight.nothing"): step == operation == 0,
            text("displays.weight.disturbed"): is_disturbed(timeline),
            text("displays.weight.unfinished"): keeps and not operation,
            text("displays.weight.long"): is_long(timeline) and not operation,
        }
        for words, holds in reasons.items():
            if holds:
                return words, None
        first = step if operation else step - 1
        title = text("displays.weight.step", first=first, last=first + 1)
        if operation:
            title = text("displays.weight.done", step=title, operation=session.done)
        with kept(weight.bank):
            explanation: Explanation = session.explain(weight.index)
        return title, explanation


@contextmanager
def kept(bank: Bank) -> Iterator[None]:
    """Restore a bank's gradients at the end: explaining a step recomputes them."""
    arrays = bank.grad, bank._moved, bank._cleared
    before, has_gradients = [array.copy() for array in arrays], bank.has_gradients
    try:
        yield
    finally:
        for array, copy in zip(arrays, before, strict=True):
            array[:] = copy
        bank.has_gradients = has_gradients


def is_disturbed(timeline: Any) -> bool:
    """Return whether the session has been changed from outside."""
    trainer = timeline.trainer
    network, settings = trainer.network, trainer.settings
    as_set = settings.engine, settings.precision, settings.activations
    now = network.engine, network.precision, network.activations
    return bool(now != as_set or timeline.has_outside_writes)


def is_long(timeline: Any) -> bool:
    """Return whether replaying a step would take long."""
    trainer = timeline.trainer
    work = len(trainer.bank) * trainer.batches.size
    return bool(trainer.network.engine == "python" and work > MOST_WORK)
