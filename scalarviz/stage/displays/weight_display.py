"""Display of a Weight: its numbers, and the arithmetic of its next update, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import plural, text
from scalarviz.scene.canvas.palette import largest, rgb, to_bytes
from scalarviz.scene.exhibits.classified import readable_on
from scalarviz.stage.displays.html_tables import factors, never_raises, number_text, table
from scalarviz.stage.displays.svg import LOOK, escaped

if TYPE_CHECKING:
    from scalarviz.core.bank import Bank
    from scalarviz.core.weight import Weight
    from scalarviz.training.session.explanation import Explanation


MOST_TERMS = 3
PATIENCE = 0.25  # maximum wait for a busy session, in seconds
MOST_WORK = 200_000  # maximum weights times samples of a step replayed with objects
COLORED = "padding: 4px 10px; border-radius: 4px; margin-right: 8px"

Row = tuple[str, ...]  # name, formula and result; or a single sentence


@never_raises
def weight_html(weight: Weight) -> str:
    """Return a weight as HTML: its number in color, its name, gradient and arithmetic."""
    value, rows = weight.value, inputs_rows(weight, weight.value)
    title, explanation = explained(weight)
    rows += [(title,)] if title else []
    rows += [] if explanation is None else explanation_rows(explanation)
    color = color_of(value, largest(weight.bank.value) or 1.0)
    about = ["grad", number_text(weight.grad, 6), *[text("card.frozen")] * weight.frozen]
    return (
        f'<div><span style="{COLORED}; background: {color}; color: {ink_on(color)}">'
        f"{number_text(value)}</span><b>{escaped(weight.name)}</b> {' '.join(about)}</div>"
        f"{table(rows, 'column')}"
    )


def color_of(value: float, scale: float) -> str:
    """Return the color of a number; `scale` is the number with the strongest color."""
    return "#" + to_bytes(LOOK.map(value, scale)).tobytes().hex()


def ink_on(color: str) -> str:
    """Return white or black, whichever has more contrast with a color."""
    return "#" + to_bytes(readable_on(rgb((color,)))[0]).tobytes().hex()


def inputs_rows(weight: Weight, value: float) -> list[Row]:
    """Return y = w x for the latest inputs without a backward call; the next one is first."""
    waiting = list(weight._inputs)
    if not waiting:
        return [(text("displays.weight.no_inputs"),)]
    rows: list[Row] = [
        ("y", f"w x = {factors(value, x)}", number_text(value * x))
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
    rows: list[Row] = [("w", "", number_text(explanation.value, 6)), ("grad", terms, total)]
    for line in explanation.spoken_lines():
        value = number_text(line.value, 6)
        formula = line.formula.replace(" * ", " · ").replace(" - ", " − ")
        same = formula in (value, f"{line.value:.6g}")
        rows.append((line.name, "" if same else formula, value))
    if explanation.frozen:
        rows.append((text("displays.weight.still"),))
    return rows


def sum_text(explanation: Explanation) -> str:
    """Return x g + x g + ... for the first samples; "" if the gradient is not such a sum."""
    if explanation.g is None or explanation.products is None:
        return ""
    pairs = list(zip(explanation.x.tolist(), explanation.g.tolist(), strict=True))
    terms = [factors(x, g) for x, g in pairs[:MOST_TERMS]]
    if len(pairs) > MOST_TERMS:
        terms.append(text("displays.more", count=len(pairs) - MOST_TERMS))
    return " + ".join(f"({t})" if i and t.startswith("−") else t for i, t in enumerate(terms))


def explained(weight: Weight) -> tuple[str, Explanation | None]:
    """Return a heading, and the session's explanation of a weight; "" without a session.

    The explanation must have no side effects: it is left out while the session plays or is busy,
    and after writes from outside, which would be recorded as edits.
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
        # Objects keep inputs of an interrupted step, which an explanation would discard.
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
    """Restore a bank's gradients after the block, since explaining a step recomputes them."""
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
