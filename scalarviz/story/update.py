"""The update of one weight in one step: the optimizer's formulas with the values of the weight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scalarviz.story.facts import (
    MovingWeight,
    NamedFormula,
    OptimizerFacts,
    UpdateLine,
    UpdateStep,
)

SAME = 1e-12  # relative difference up to which two computations agree
STEP = "#step"  # name of the step number, distinct from any optimizer setting


def optimizer_lines(optimizer: OptimizerFacts, weight: MovingWeight) -> list[UpdateLine]:
    """Return the optimizer's arithmetic for one weight, from its gradient to its new value."""
    if optimizer.refuses and not math.isfinite(weight.grad):
        words = "as it is: the step will be refused, since g is not finite"
        return [UpdateLine("w", words, weight.value, words=words)]
    lines = gradient_lines(optimizer, weight)
    g = lines[-1].value if lines else weight.grad
    rate = rate_line(optimizer, weight)
    step = weight.taken + 1.0
    known = {"step": step, STEP: step, "w": weight.value, "g": g, **weight.kept, "lr": rate.value}
    known.update({**optimizer.settings, **weight.own})
    constants = lines_of(optimizer.constants, known)
    lines.append(rate)
    if constants is None:
        return [*lines, unknown_line(weight, known)]
    known.update([(each.name, each.value) for each in constants])
    return [*lines, *constants, *update_lines(optimizer, weight, known)]


def unknown_line(weight: MovingWeight, known: Mapping[str, float]) -> UpdateLine:
    """Return a line with a new weight whose computation is unknown."""
    return UpdateLine("w", "", weight.new, known, follows=False)


def gradient_lines(optimizer: OptimizerFacts, weight: MovingWeight) -> list[UpdateLine]:
    """Return the lines of clipping and regularization, which precede the update."""
    lines: list[UpdateLine] = []
    known = {"w": weight.value, "g": weight.grad, "scale": weight.scale, **optimizer.given}
    if not math.isfinite(weight.grad):
        known["g"] = 0.0
        words = "0, since it is not finite"
        lines.append(UpdateLine("g", words, 0.0, words=words))
    for each in optimizer.before:
        if weight.scale != 1.0 or "scale" not in each.names:
            for line in lines_of([each], known) or []:
                formula = line.formula.replace("scale", f"{weight.scale:.6g}")
                lines.append(replace(line, formula=formula))
                known = {**known, "g": line.value}
    return lines


def rate_line(optimizer: OptimizerFacts, weight: MovingWeight) -> UpdateLine:
    """Return the line that computes the learning rate, including its schedule."""
    own, schedule = weight.own_rate, optimizer.schedule
    lr = optimizer.lr if own is None else own
    line = UpdateLine("lr", f"{lr:g}", lr, same=True)
    if own is not None:
        line = UpdateLine("lr", "its own rate", lr, own_rate=True)
    if not schedule:
        return line
    rate = lr * optimizer.factor(float(weight.taken), *optimizer.factor_settings)
    formula = f"{'' if own is None else 'its own rate, '}{lr:g} * {optimizer.schedule_text}"
    known = {"lr": lr, schedule: rate / lr if lr else 0.0}
    card = NamedFormula(f"lr * {schedule}", ["lr", schedule], lambda lr, factor: lr * factor)
    return replace(line, formula=formula, value=rate, known=known, card=card)


def update_lines(
    optimizer: OptimizerFacts, weight: MovingWeight, known: Mapping[str, float]
) -> list[UpdateLine]:
    """Return the lines of an optimizer's update with the numbers of one weight.

    There is a line for each assignment that is executed for these numbers, and for each returned
    value; the last line is the new weight. An update that cannot be traced, for example because
    of a loop, has lines with only the new values of the slots and of the weight.
    """
    numbers = [known[name] for name in optimizer.names]
    values = [None if each is None else each(*numbers) for each in optimizer.results]
    new = values[0]
    for case in optimizer.cases:
        lines = lines_of(case.steps, known)
        if lines is not None:
            last = lines.pop(case.last)
            # The source may have been edited: then the result differs.
            if (
                new is None
                or new != new
                or last.value == new
                or abs(last.value - new) <= SAME * abs(new)
            ):
                return [*lines, last]
    whole = optimizer.whole.line
    if new is None or whole is None or optimizer.whole.compute is None:
        return [unknown_line(weight, known)]
    found: list[UpdateLine] = []
    for name, value in zip(optimizer.slots, values[1:], strict=False):
        if value is not None:
            found.append(UpdateLine(name, f"{value:.6g}", value, known))
    return [*found, replace(whole, value=new, known=known)]


def lines_of(steps: Sequence[UpdateStep], given: Mapping[str, float]) -> list[UpdateLine] | None:
    """Return the lines of steps; None if a condition fails or a step cannot be computed."""
    numbers = {**given}  # by index
    lines: list[UpdateLine] = []
    for each in steps:
        own = [
            each.constants[name] if name in each.constants else numbers[place]
            for name, place in zip(each.names, each.places, strict=True)
        ]
        if each.compute is None:
            return None
        value = each.compute(*own)
        numbers[each.place] = value
        if each.line is not None:
            known = {**given, **dict(zip(each.names, own, strict=True))}
            lines.append(replace(each.line, value=value, known=known))
        elif bool(value) != each.holds:
            return None
    return lines
