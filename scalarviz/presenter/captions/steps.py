"""Captions of a step: the optimizer's arithmetic for one weight, and the new loss."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scalarviz.formulas.elementary import sqrt
from scalarviz.model.operations import NONE
from scalarviz.model.optimizer import Optimizer
from scalarviz.presenter.captions.format import (
    FEW,
    both,
    digits_between,
    figures,
    fill,
    pretty,
    said,
)
from scalarviz.presenter.captions.lines import Line, Term, equation
from scalarviz.presenter.captions.losses import is_small
from scalarviz.presenter.traced_weight import TracedWeight
from scalarviz.session.caption import Caption, plain_lines
from scalarviz.session.explanation import Explanation, FormulaLine, explain
from scalarviz.texts import plural, text

# Actions after a step that do not change the network's outputs.
HARMLESS = {"learning rate", "optimizer", "data", "engine", "freeze"}
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+\.?\d*(?:e-?\d+)?|\.\d+")
FUNCTIONS = {
    "sqrt": sqrt,
    "clip": lambda g, low, high: min(max(g, low), high),
    "sign": lambda w: float((w > 0.0) - (w < 0.0)),
}


def step(ctx: TracedWeight) -> Caption:
    """The optimizer's arithmetic, and the new loss."""
    if ctx.row == NONE:
        return Caption(text("captions.step.empty"))
    timeline, trainer = ctx.timeline, ctx.timeline.trainer
    actions = timeline.branch.actions_at(timeline.clock.place)[: timeline.clock.actions]
    # Within at_work the session must not be used: it would journal the older numbers as edits.
    with timeline.at_work():
        found = explain(trainer, ctx.row, timeline.clock.operation)
        optimizer = trainer.settings.optimizer
        inputs, targets = trainer.batches.at(timeline.clock.step)
        slots = optimizer.row.slots
        block = trainer.bank.slot_block(slots)
        kept = {name: float(slot[ctx.row]) for name, slot in zip(slots, block, strict=True)}
    caption = moved(found, optimizer, kept, ctx.name_of(ctx.row))
    count = len(inputs)
    if caption.lines:
        who = text(f"captions.step.{'some' if ctx.network.bank.frozen.any() else 'all'}")
        together = plural("captions.step.together", count, who=who)
        caption = replace(caption, lines=(*caption.lines, *plain_lines(together)))
    caption = replace(caption, title=ctx.opened(caption.title))
    # Dropout and the like differ in training and evaluation mode.
    is_plain = not any(operation.about.learning for operation in ctx.network.program.stepped)
    few = is_small(count, targets.size)
    if is_plain and few and all(action.kind in HARMLESS for action in actions):
        old, new = both(timeline.loss, ctx.once(lambda: trainer.loss(ctx.network(inputs), targets)))
        words = plural("captions.step.loss", count, old=old, new=new)
        caption = replace(caption, lines=(*caption.lines, *plain_lines(words)))
    return caption


def moved(
    found: Explanation, optimizer: Optimizer, kept: Mapping[str, float], name: str
) -> Caption:
    """Return how a weight moves: the optimizer's formula, and the same with its numbers."""
    row, old = found.row, found.value
    if not found.lines:
        kind = "frozen" if found.frozen else "still"
        title = text(f"captions.stays.{kind}", name=name, value=said(old, 3))
        return Caption(title, rows=(row,))
    known = {**optimizer.settings, **kept, "w": old, "grad": found.grad, "g": found.grad}
    names = {"g": "grad", "w": "w"}
    exactly = {"lr", "fresh", "fresh1", "fresh2", *optimizer.settings}
    before: list[Line] = []
    for line in found.lines[:-1]:
        if is_told(line, optimizer):
            key = {"g": "clipped", "w": "decayed"}.get(line.name, "")
            name_now = text(f"captions.computed.{key}") if key else line.name
            before.append(formula_line(line, known, exactly=exactly, start=f"{name_now} = "))
            names[line.name] = name_now
        known[line.name] = line.value
    last = found.lines[-1]
    digits = digits_between(old, last.value)
    mark = "{}\n→ ".format
    ended, shown = ending(found, known, exactly, digits)
    if figures(shown) > digits:  # the new number needs as many, so that the two can be compared
        ended, shown = ending(found, known, exactly, figures(shown))
    new = ended[-1].words
    whole = text("captions.step.title", name=name, old=shown, new=new)
    ended = tuple(
        replace(piece, mark=mark(shown) + new) if piece.row == row else piece for piece in ended
    )
    formula = pretty(fill(last.formula.replace("**", "^"), names))
    formula = text("captions.step.formula", formula=formula)
    return Caption(whole, formula, (ended, *before), rows=(row,))


def ending(
    found: Explanation, known: Mapping[str, float], exactly: Collection[str], digits: int
) -> tuple[Line, str]:
    """Return the last line of an optimizer, and the old number as it is written."""
    line = formula_line(found.lines[-1], known, exactly=exactly, row=found.row, least=digits)
    if "w" in names_of_lines(found):  # the number in the line is that after decay
        return line, said(found.value, digits)
    return line, next(piece.words for piece in line if piece.row == found.row)


def names_of_lines(found: Explanation) -> set[str]:
    """Return what is computed before the last line."""
    return {line.name for line in found.lines[:-1]}


def is_told(line: FormulaLine, optimizer: Optimizer) -> bool:
    """Return whether a line computes something; rates and constants are put in as numbers."""
    return line.name in ("g", "w", *optimizer.row.slots)


def formula_line(
    line: FormulaLine,
    known: Mapping[str, float],
    *,
    exactly: Collection[str] = (),
    start: str = "",
    row: int = NONE,
    least: int = FEW,
) -> Line:
    """Return a line of the optimizer with numbers in place of its names.

    line     the line, a formula of Python
    known    numbers of names
    exactly  names whose numbers are not rounded
    start    words before the formula
    row      bank index of the weight that `w` in it is; NONE for none
    least    fewest digits; by default 2
    """
    parts: list[Term | str] = [start] if start else []
    code, at, count = "", 0, 0
    for found in TOKEN.finditer(line.formula):
        between = line.formula[at : found.start()]
        at = found.end()
        word = found[0]
        if word in FUNCTIONS:
            parts.append(pretty(between) + word)
            code += between + word
            continue
        if word not in known and not word[0].isdigit() and word[0] != ".":
            return plain_lines(f"{start}{line.formula}")[0]
        value = known[word] if word in known else float(word)
        parts += [pretty(between)] if between else []
        exact = word in exactly
        parts.append(Term((value,), row=row if word == "w" else NONE, exact=exact))
        code += f"{between}v[{count}]"
        count += 1
    rest = line.formula[at:]
    code += rest
    parts += [pretty(rest)] if rest else []
    compiled = compile(code.strip(), "<formula>", "eval")

    def compute(v: Sequence[float]) -> float:
        return float(eval(compiled, dict(FUNCTIONS), {"v": v}))

    return equation(parts, compute, line.value, least=least)
