"""Reasons: why a gradient asks for a larger or a smaller weight, as a chain of links.

Each link is about a thing in the picture. The chain is true for the shown sample and a small step:
a larger weight makes its neuron higher, which makes an output lower, which is closer to the goal.
"""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.story.caption import Piece
from scalarviz.story.facts import NONE
from scalarviz.story.names import short_name
from scalarviz.story.traced_weight import TracedWeight, weights_from


def chain_of(ctx: TracedWeight, row: int, total: float) -> tuple[Piece, ...]:
    """Return why a weight of a dense layer is to change; empty where nothing simple is true.

    total  its gradient over the batch
    """
    operation = ctx.operation
    written, read = ctx.uses(row)
    if operation.kind != "affine" or len(written) != 1 or not (total < 0.0 or total > 0.0):
        return ()
    unit, way = written[0], -1.0 if total > 0.0 else 1.0  # way: where the value is to go
    x = 1.0 if read is None else float(ctx.inputs[read[0]])
    is_larger = way * float(ctx.state.value[row]) >= 0.0
    wish = text("reason.larger") if is_larger else text("reason.smaller")
    first = Piece(wish, row)
    delta = float(ctx.upstream[unit])
    if not way * x * delta < 0.0:  # the shown sample does not ask for it
        return (Piece(f"{wish}: {text('reason.others')}", row),)
    moves = 1.0 if way * x > 0.0 else -1.0
    if ctx.facts.outputs == operation.target or following(ctx, operation.target) == NONE:
        return first, ending(ctx, operation.target, unit, moves)
    higher = text("reason.higher") if moves > 0.0 else text("reason.lower")
    links = [first, Piece(higher, neuron=(operation.target, unit))]
    number = following(ctx, operation.target)
    after = ctx.facts.operations[number]
    arrived = float(ctx.state.gradients[after.source][unit])
    moves = moves if arrived * delta > 0.0 else -moves  # a slope may be negative
    rows, outs = weights_from(ctx.facts, after, unit)
    values, deltas = ctx.state.value, ctx.state.gradients[after.target]
    best, most = NONE, 0.0
    for place in range(len(rows)):
        pull = float(values[rows[place]]) * float(deltas[outs[place]])
        if pull * arrived > most * abs(arrived):
            best, most = place, abs(pull)
    if best == NONE:
        return ()
    weight = float(values[rows[best]])
    links.append(Piece(f"× {typeset(short(weight))}", rows[best]))
    moves = moves if weight > 0.0 else -moves
    return *links, ending(ctx, after.target, outs[best], moves)


def following(ctx: TracedWeight, name: str) -> int:
    """Return the dense layer that reads a buffer, at once or by activations; else NONE."""
    for number, each in enumerate(ctx.facts.operations):
        if name in each.sources:
            if each.kind == "affine":
                return number
            if each.kind != "activation":
                return NONE
            name = each.target
    return NONE


def ending(ctx: TracedWeight, name: str, unit: int, moves: float) -> Piece:
    """Return the last link: what becomes of an output, or of a neuron on the way to one."""
    neuron = name, unit
    if following(ctx, name) == NONE:
        name = short_name(ctx.facts, unit)
        words = text("reason.more", name=name) if moves > 0.0 else text("reason.less", name=name)
    else:
        name = ctx.called(neuron)
        words = text("reason.rises", name=name) if moves > 0.0 else text("reason.falls", name=name)
    return Piece(f"{words}: {text('reason.closer')}", neuron=neuron)  # what all that is good for
