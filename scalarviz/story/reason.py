"""Reasons why a weight should be higher or lower, which hold for the shown sample."""

from __future__ import annotations

from dataclasses import replace

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.story.caption import Blame, BlamePart
from scalarviz.story.facts import NONE, Facts, State
from scalarviz.story.names import color_name, number_word, short_name
from scalarviz.story.traced_weight import (
    TracedWeight,
    following,
    most_blamed,
    summing,
    weights_from,
)

LITTLE = 0.25  # fraction of the largest part below which a part counts as small


def reason_of(ctx: TracedWeight, row: int, total: float) -> str:
    """Return a sentence on why a dense layer's weight should change; "" without a simple reason.

    If the shown sample disagrees with the batch, the sentence says so. Otherwise it describes the
    effect on the output in the last layer; in earlier layers, drawn gradients are the reason.

    Args:
        total: gradient of the weight over the batch
    """
    operation = ctx.operation
    written, read = ctx.uses(row)
    if operation.kind != "affine" or len(written) != 1 or not (total < 0.0 or total > 0.0):
        return ""
    unit, way = written[0], -1.0 if total > 0.0 else 1.0  # direction of the wanted change
    x = 1.0 if read is None else float(ctx.inputs[read[0]])
    delta = float(ctx.upstream[unit])
    if not way * x * delta < 0.0:  # the shown sample does not ask for it
        return others_words(way, x * delta, ctx.state.batch)
    if ctx.moment.operation != summing(ctx.facts)[-1]:
        return ""
    own, rises = color_name(short_name(ctx.facts, unit)), way * x > 0.0
    is_named = own != ctx.called((operation.target, unit))
    then = text("reason.rises" if rises else "reason.falls", name=own)
    if is_named:
        then = text("reason.more" if rises else "reason.less", name=own)
    return text("reason.closer", then=then)  # the final effect


def others_words(way: float, own: float, count: int) -> str:
    """Return a sentence on a weight that the batch moves differently than the shown sample.

    Args:
        way: direction of the change: 1 is higher, -1 is lower
        own: gradient of the weight for the shown sample
        count: number of samples of the batch
    """
    names = [text("captions.way.down"), text("captions.way.up")]
    fields = {"way": names[1 if way > 0.0 else 0], "count": number_word(count)}
    if own == 0.0:
        return text("reason.others.none", **fields)
    return text("reason.others", own=names[0 if own > 0.0 else 1], **fields)


# Blame of a weight before the last layer.


def blame_of(ctx: TracedWeight, row: int) -> Blame | None:
    """Return the negative gradient of a dense weight in parts; None if no dense layer follows.

    It is also None if it is zero, or if the shown sample disagrees with the batch.
    """
    operation, total = ctx.operation, float(ctx.state.grad[row])
    written, read = ctx.uses(row)
    if operation.kind != "affine" or len(written) != 1 or read is None:
        return None
    came = float(ctx.inputs[read[0]])
    if not came * float(ctx.upstream[written[0]]) * total > 0.0:
        return None
    blame = blame_at(ctx, operation.target, written[0])
    return blame and replace(blame, row=row)


def blame_at(ctx: TracedWeight, name: str, unit: int) -> Blame | None:
    """Return the negative gradient of a neuron in parts; None if zero or no dense layer follows."""
    parts = parts_of(ctx.facts, ctx.state, name, unit)
    whole: float = sum([each.amount for each in parts])
    if not (whole > 0.0 or whole < 0.0):
        return None
    words = text("blame.added.more") if whole > 0.0 else text("blame.added.less")
    earlier = tuple(earlier_rows(ctx.facts, ctx.state, name))
    return Blame(NONE, tuple(parts), whole, words, earlier)


def parts_of(facts: Facts, state: State, name: str, unit: int) -> list[BlamePart]:
    """Return a neuron's negative gradient in parts, one per neuron of the next dense layer."""
    number = following(facts, name)
    if number == NONE:
        return []
    after = facts.operations[number]
    deltas = state.gradients[after.target]
    rows, outs = weights_from(facts, after, unit)
    size = 1 if facts.loss.mean == "none" else state.batch  # of one sample, not of the mean
    amounts: list[float] = []
    for row, out in zip(rows, outs, strict=True):
        amounts.append(-float(state.value[row]) * float(deltas[out]) * size)
    most: float = max([abs(each) for each in amounts])
    found: list[BlamePart] = []
    for row, out, amount in zip(rows, outs, amounts, strict=True):
        little = abs(amount) < LITTLE * most
        words = tag_of(facts, after.target, out, float(deltas[out]), amount, little=little)
        found.append(BlamePart(row, (after.target, out), amount, words))
    return found


def tag_of(facts: Facts, name: str, unit: int, delta: float, amount: float, *, little: bool) -> str:
    """Return a label: what is wrong with a neuron of the next layer, and what follows from it."""
    much = delta > 0.0
    more = amount > 0.0
    names = facts.buffers[facts.outputs].names
    if following(facts, name) != NONE:
        start = text("blame.less.neuron" if much else "blame.more.neuron")
    elif len(names) > 1 and unit < len(names):
        start = text("blame.much" if much else "blame.little", name=color_name(names[unit]))
    else:
        start = text("blame.high" if much else "blame.low")
    is_plus = (delta > 0.0) != more
    sign = text("blame.sign.plus") if is_plus else text("blame.sign.minus")
    if little:
        return text("blame.bit.more" if more else "blame.bit.less", start=start, sign=sign)
    return text("blame.tag.more" if more else "blame.tag.less", start=start, sign=sign)


def earlier_rows(facts: Facts, state: State, name: str) -> list[int]:
    """Return the weights on the paths between later layers, which earlier captions showed."""
    number = following(facts, name)
    found: list[int] = []
    while number != NONE:
        target = facts.operations[number].target
        behind = following(facts, target)
        if behind != NONE:
            unit = most_blamed(facts, state, target)
            found += weights_from(facts, facts.operations[behind], unit)[0]
        number = behind
    return found


def stepped(state: State, row: int) -> float | None:
    """Return the value of a weight after its update; None if unknown."""
    lines = [] if state.explained is None else list(state.explained(row).lines)
    if len(lines) == 0 or not lines[len(lines) - 1].follows:
        return None
    return lines[len(lines) - 1].value


def change_of(state: State, row: int) -> str:
    """Return a weight before and after its update as text.

    The text is empty if the update is unknown, or too small for the printed digits.
    """
    new = stepped(state, row)
    return "" if new is None else written_change(float(state.value[row]), new)


def written_change(old: float, new: float) -> str:
    """Return a number before and after, with the fewest digits that show a change, or ""."""
    for digits in (2, 3, 4):
        before, after = short(old, digits), short(new, digits)
        if before != after:
            return f"{typeset(before)} → {typeset(after)}"
    return ""
