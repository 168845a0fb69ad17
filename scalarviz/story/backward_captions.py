"""Captions of the backward pass: the slope, what arrives through weights, and other operations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.texts import plural, row_text, text
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.formula_words import formula_of, written
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LossRow, log_sum_exp
from scalarviz.core.program import NONE, Buffer, Operation, Program, parametric_rows
from scalarviz.story.caption import Caption, Piece, plain_lines
from scalarviz.story.equations import (
    FIRST_ON_CUBE,
    PRODUCT,
    CaptionLine,
    EquationTerm,
    equation,
    in_brackets,
    is_long,
    listed,
    signed,
    sum_line,
    summed,
    whole_line,
)
from scalarviz.story.formats import MOST, agreeing, pretty, said
from scalarviz.story.forward_captions import (
    CaptionFn,
    about,
    average_line,
    caption_of,
    feature_of,
    kept_line,
    loss_term,
    loss_text,
    product_term,
    term_of,
    window,
)
from scalarviz.story.names import sentence
from scalarviz.story.traced_weight import TracedWeight, weights_from

LONGEST = 40  # letters of a slope with numbers; of a longer one there is only the number
FLAT, STEEP = 0.1, 0.8  # shares of the largest slope of an activation, or of 1


# The delta of a sum.


def delta(ctx: TracedWeight) -> Caption:
    """Gradient of the sums: for the outputs from the loss, for others from what arrives."""
    name, place = ctx.operation.formula, ctx.place[0]
    row = ACTIVATIONS.get(name)
    arrived = float(ctx.of_sample(ctx.numbers.upstream)[place])
    is_activation = ctx.operation.source in ctx.moment.gradients and row is not None
    if not ctx.is_last:
        assert row is not None
        line, result, slope = slope_line(ctx, row, arrived)
        title = row.backward_caption and row_text(
            f"rows.activations.{name}.backward_caption", row.backward_caption
        )
        title = title.replace("{unit}", ctx.called(ctx.behind)) or slope_words(ctx, row)
        formula = text("captions.delta.formula", slope=slope)
        return about(ctx, Caption(sentence(title), formula, (line,)), result, "delta")
    formula, first = loss_derivative(ctx, arrived, "dL/dp" if is_activation else "signal")
    lines, result = [first], arrived
    if is_activation:
        assert row is not None
        line, result, slope = slope_line(ctx, row, arrived)
        lines.append(line)
        formula += " × " + re.sub(r"\ba(?![A-Za-z_0-9])", "p", slope)  # a² becomes p²
    title = output_words(ctx, arrived)
    return about(ctx, Caption(title, f"signal = {formula}", tuple(lines)), result, "delta")


def slope_line(
    ctx: TracedWeight, row: ActivationFormula, arrived: float
) -> tuple[CaptionLine, float, str]:
    """Return what arrives times the slope as a line, the delta, and the formula of the slope."""
    place = ctx.place[0]
    z, a = (float(each[place]) for each in map(ctx.of_sample, ctx.ends))
    result = float(ctx.of_sample(ctx.numbers.gradient)[place])
    formula, derivative = row.slope, row.derivative
    if not formula:
        formula = written(row.derivative, ("z", "a"))
        own = formula_of(row.derivative, ("z", "a"), (z, a))
        in_numbers, derivative = ("", derivative) if own is None else (own.text, own.compute)
    else:
        in_numbers = "" if " if " in formula else formula
    shown = pretty(formula) or text("captions.slope", name=row.name)
    if in_numbers and len(in_numbers) <= LONGEST:
        term, sloped = term_of(in_numbers, {"z": z, "a": a}, derivative, ctx.behind)
    else:
        term, sloped = EquationTerm((row.derivative(z, a),), neuron=ctx.behind), sum
    parts: list[EquationTerm | str] = ["signal = ", EquationTerm((arrived,)), " × ", term]
    line = equation(parts, lambda v: v[0] * sloped(v[1:]), result, about=ctx.behind)
    return line, result, shown


def slope_words(ctx: TracedWeight, row: ActivationFormula) -> str:
    """Return what the slope does to what arrives at a neuron, in its numbers."""
    place = ctx.place[0]
    z, a = (float(each[place]) for each in map(ctx.of_sample, ctx.ends))
    slope = row.derivative(z, a)
    steepest = max(abs(row.derivative(x, row.value(x))) for x in (-2.0, -0.5, 0.0, 0.5, 2.0))
    steepest = min(1.0, steepest)
    known = {"unit": ctx.called(ctx.behind), "name": row.name, "slope": said(slope)}
    known["a"] = said(a)
    if slope == 0.0:
        key = "zero"
    elif known["slope"] == "1":
        key = "one"
    elif abs(slope) < FLAT * steepest:
        key = "flat"
    elif abs(slope) >= STEEP * steepest and 0.0 < slope < 1.0:
        key = "steep"
    elif 0.0 < slope < 1.0:
        key = "between"
    else:
        key = "times"
    return text(f"captions.delta.{key}", **known)


def output_words(ctx: TracedWeight, derivative: float) -> str:
    """Return in which direction an output must go for a smaller loss."""
    unit = ctx.called(ctx.behind)
    if derivative == 0.0 or not np.isfinite(derivative):
        return sentence(text("captions.last_delta.none", unit=unit))
    way = text(f"captions.way.{'down' if derivative > 0.0 else 'up'}")
    if ctx.loss.row.logits or ctx.operation.formula in ("softmax", "log_softmax"):
        return sentence(text("captions.last_delta.logit", unit=unit, way=way))
    p, t = (float(each[ctx.sample, ctx.place[0]]) for each in ctx.answers)
    off = p - t
    if np.sign(off) != np.sign(derivative):
        return sentence(text("captions.last_delta.logit", unit=unit, way=way))
    _, written, _ = agreeing([p, t], lambda v: abs(v[0] - v[1]), abs(off))
    which = text(f"captions.last_delta.{'high' if off > 0.0 else 'low'}", off=written)
    return sentence(text("captions.last_delta", unit=unit, way=way, off=which))


def loss_derivative(ctx: TracedWeight, value: float, name: str) -> tuple[str, CaptionLine]:
    """Return the derivative of the loss by a prediction: as formula, and as a line."""
    function = ctx.loss
    prediction, target = ctx.answers
    samples, outputs = prediction.shape
    place, row = ctx.place[0], function.row
    p, t = (float(each[ctx.sample, place]) for each in (prediction, target))
    derivative = loss_text(row, "derivative")
    divisor = function.divisor(outputs)
    count = samples * divisor
    counts = [plural("counts.samples", samples)] * (samples > 1)
    counts += [plural("counts.outputs", outputs)] * (divisor > 1)
    divided = " × ".join(counts)
    divided = f" / ({divided})" if len(counts) > 1 else f" / {divided}" if counts else ""
    before = "" if function.factor == 1.0 else f"{said(function.factor, MOST)} × "
    formula = before + pretty(derivative) + (divided if count > 1 else "")
    after = f" / {count}" if count > 1 else ""
    scale = function.factor / (count or 1)
    start = f"{name} = {before}"
    if isinstance(row, LossRow):
        term, slope = loss_term(row, "derivative", p, t, ctx.behind)

        def compute(v: Sequence[float]) -> float:
            return slope(v) * scale

    elif row.name == "softmax_cross_entropy":
        z = prediction[ctx.sample].astype(np.float64).tolist()
        mass = float(target[ctx.sample].sum())
        share = mass * float(np.exp(z[place] - log_sum_exp(z)))
        term = EquationTerm((share, t), "({} - {})".format, neuron=ctx.behind)

        def compute(v: Sequence[float]) -> float:
            return (v[0] - v[1]) * scale

    else:  # depends on the other outputs of the row, too
        words_now = f"{name} = {formula} = {said(value)}"
        return formula, (Piece(words_now, neuron=ctx.behind),)
    return formula, equation([start, term, after], compute, value, about=ctx.behind)


# Through an operation, from its outputs to its inputs.


def weighted_back(ctx: TracedWeight) -> Caption:
    """Through weights: each weight times the delta behind it."""
    operation, (output, column) = ctx.operation, ctx.place
    upstream = ctx.of_sample(ctx.numbers.upstream)
    arrived = float(ctx.of_sample(ctx.numbers.gradient)[column])
    rows, into = weights_from(operation, column)
    target, value = operation.target.name, ctx.network.bank.value
    terms = [
        EquationTerm(
            (float(value[row]), float(upstream[i])), PRODUCT, row, (target, i), FIRST_ON_CUBE
        )
        for row, i in zip(rows.tolist(), into.tolist(), strict=True)
    ]
    passed = np.flatnonzero(into == output)
    keep = int(passed[0]) if ctx.chosen and len(passed) else NONE
    line = sum_line(terms, arrived, keep=keep, about=ctx.before)
    whole = (whole_line(terms, arrived, keep=keep, about=ctx.before),) if is_long(terms) else ()
    kind = "scale" if len(operation.shape) == 1 else "sum"
    caption = caption_of(f"weighted_back.{kind}", line, unit=ctx.called(ctx.before))
    added = summed(terms, arrived, ctx.behind, back=True)
    return about(ctx, replace(caption, whole=whole, summed=added), arrived, "arrives")


def row_back(ctx: TracedWeight) -> Caption:
    """Through an operation on a whole sample or batch."""
    name = (ctx.operation.formula or ctx.operation.kind).replace("_", " ")
    upstream = ctx.of_sample(ctx.numbers.upstream)
    gradient = ctx.of_sample(ctx.numbers.gradient)
    found = float(gradient[ctx.place[1]])
    line = plain_lines(f"{listed(upstream.tolist())} → {listed(gradient.tolist())}")
    formula = ctx.operation.formula or ctx.operation.kind
    caption = caption_of("row_back", *line, name=name, formula=formula)
    return about(ctx, caption, found, "arrives")


def norm_back(ctx: TracedWeight) -> Caption:
    """Through a norm: what all numbers share is removed from what arrives."""
    operation, place = ctx.operation, ctx.place[1]
    x, y, g = (ctx.of_sample(each) for each in (*ctx.ends, ctx.numbers.upstream))
    eps, shift = float(operation.settings[-1]), float(g.mean())
    result, own = float(ctx.of_sample(ctx.numbers.gradient)[place]), float(g[place])
    own_y = float(y[place])
    if operation.kind == "batch_norm":
        if operation.is_held(ctx.network.bank.frozen):
            return row_back(ctx)
        feature, eps = place // int(operation.settings[1]), float(operation.settings[2])
        ends = *ctx.ends, ctx.numbers.upstream
        x, y, g = (feature_of(ctx, each, feature).ravel() for each in ends)
        shift = float(g.mean())
    centred = operation.formula != "rms_norm"
    spread = float(x.var()) if centred else float(np.mean(x * x))
    stretch = float(np.mean(g * y))
    parts: list[EquationTerm | str] = [
        "(",
        EquationTerm((own,)),
        *(signed(shift) if centred else ()),
    ]
    parts += [*signed(stretch), " × ", EquationTerm((own_y,), in_brackets), ") / sqrt("]
    parts += [EquationTerm((spread,)), " + ", EquationTerm((eps,), exact=True), ")"]
    signs = -np.sign(shift), -np.sign(stretch)

    def compute(v: Sequence[float]) -> float:
        shifted = v[0] + (signs[0] * v[1] if centred else 0.0)
        found, y_now, spread_now, eps_now = v[-4:]
        return float((shifted + signs[1] * found * y_now) / np.sqrt(spread_now + eps_now))

    line = equation(parts, compute, result, about=ctx.before)
    unit = ctx.called(ctx.before)
    caption = caption_of("norm_back" if centred else "rms_back", line, unit=unit)
    return about(ctx, caption, result, "arrives")


def softmax_back(ctx: TracedWeight) -> Caption:
    place, g = ctx.place[1], ctx.of_sample(ctx.numbers.upstream)
    y = ctx.of_sample(ctx.numbers.outputs)
    mean, result = float(np.sum(g * y)), float(ctx.of_sample(ctx.numbers.gradient)[place])
    sign = -float(np.sign(mean))
    parts: list[EquationTerm | str] = [EquationTerm((float(y[place]),), neuron=ctx.behind), " × ("]
    parts += [EquationTerm((float(g[place]),)), *signed(mean), ")"]
    line = equation(parts, lambda v: v[0] * (v[1] + sign * v[2]), result, about=ctx.before)
    unit = ctx.called(ctx.before)
    return about(ctx, caption_of("softmax_back", line, unit=unit), result, "arrives")


def log_softmax_back(ctx: TracedWeight) -> Caption:
    place, g = ctx.place[1], ctx.of_sample(ctx.numbers.upstream)
    y, total = float(ctx.of_sample(ctx.numbers.outputs)[place]), float(np.sum(g))
    result, sign = float(ctx.of_sample(ctx.numbers.gradient)[place]), -float(np.sign(total))
    parts: list[EquationTerm | str] = [EquationTerm((float(g[place]),)), *signed(total), " × exp("]
    parts += [EquationTerm((y,), neuron=ctx.behind), ")"]
    line = equation(parts, lambda v: v[0] + sign * v[1] * math.exp(v[2]), result, about=ctx.before)
    unit = ctx.called(ctx.before)
    return about(ctx, caption_of("log_softmax_back", line, unit=unit), result, "arrives")


def branch_back(ctx: TracedWeight) -> Caption:
    """The sum of what arrives over the branch, and what has arrived over other ways."""
    column, around = ctx.place[1], way_around(ctx.program, ctx.operation)
    through = float(ctx.of_sample(ctx.numbers.upstream)[column])
    result = float(ctx.of_sample(ctx.numbers.gradient)[column])
    rest = EquationTerm((result - through,))
    if around is not None:
        gradients = ctx.session.timeline.trainer.run.gradients(around)
        straight = float(ctx.of_sample(gradients)[column])
        rest = EquationTerm((straight,), neuron=(around.name, column))
    terms = [rest, EquationTerm((through,), neuron=ctx.behind)]
    line = sum_line(terms, result, about=ctx.before)
    return about(
        ctx, caption_of("branch_back", line, unit=ctx.called(ctx.before)), result, "arrives"
    )


def way_around(program: Program, branch: Operation) -> Buffer | None:
    """Return the sum that the only other way of a branch leads to at once, as in a Residual."""
    before, last = program.readers(branch.source)[-2:]
    return last.target if before is branch and last.kind == "sum" else None


def unchanged_back(ctx: TracedWeight) -> Caption:
    """Through a sum or a concatenation: what arrives goes on."""
    found = float(ctx.of_sample(ctx.numbers.upstream)[ctx.place[0]])
    is_sum = ctx.operation.kind == "sum"
    words = text("captions.sum_back.number", number=said(found)) if is_sum else said(found)
    line: CaptionLine = (Piece(words, neuron=ctx.before),)
    unit = ctx.called(ctx.behind)
    caption = caption_of("sum_back" if is_sum else "concatenation_back", line, unit=unit)
    return about(ctx, caption, found, "arrives")


def product_back(ctx: TracedWeight) -> Caption:
    """What goes on to each factor: what arrives, times the other one."""
    place, (a, b) = ctx.place[0], ctx.operation.sources
    found = float(ctx.of_sample(ctx.numbers.upstream)[place])
    lines = []
    for source, other in ((a, b), (b, a)):
        factor, ends = float(ctx.held(other)[place]), (ctx.behind, (other.name, place))
        term = product_term((found, factor), *ends)
        lines.append(sum_line([term], found * factor, about=(source.name, place)))
    caption = caption_of("product_back", *lines, unit=ctx.called(ctx.behind))
    return about(ctx, caption, found * float(ctx.held(b)[place]), "arrives")


def parametric_back(ctx: TracedWeight) -> Caption:
    """Through a formula with parameters: what arrives, times its slope."""
    name, place = ctx.operation.formula, ctx.place[0]
    x, g = (
        float(ctx.of_sample(each)[place]) for each in (ctx.numbers.inputs, ctx.numbers.upstream)
    )
    found, value = float(ctx.of_sample(ctx.numbers.gradient)[place]), ctx.network.bank.value
    given = [float(value[row]) for row in parametric_rows(ctx.operation, place)]
    slope = PARAMETRIC_FORMULAS[name].derivative(x, *given)
    line = sum_line([EquationTerm((g, slope), PRODUCT)], found, about=ctx.before)
    return about(ctx, caption_of("row_back", line, name=name, formula=name), found, "arrives")


def dropout_back(ctx: TracedWeight) -> Caption:
    (rate,), place = ctx.operation.settings, ctx.place[0]
    arrived = float(ctx.of_sample(ctx.numbers.upstream)[place])
    result = float(ctx.of_sample(ctx.numbers.gradient)[place])
    unit = ctx.called(ctx.behind)
    if result == 0.0 != arrived:
        words = text("captions.dropout_back.own", arrived=said(arrived))
        line: CaptionLine = (Piece(words, neuron=ctx.before),)
    else:
        line = kept_line(EquationTerm((arrived,)), rate, result, ctx.before)
    return about(ctx, caption_of("dropout_back", line, unit=unit), result, "arrives")


def pool_back(ctx: TracedWeight) -> Caption:
    """Through the windows of a pooling: to the largest number of each, or to all."""
    upstream, column = ctx.of_sample(ctx.numbers.upstream), ctx.place[1]
    result = float(ctx.of_sample(ctx.numbers.gradient)[column])
    x, y = map(ctx.of_sample, ctx.ends)
    name, mine = ctx.operation.target.name, []
    for place in range(len(upstream)):
        inside = window(ctx, place)
        largest = next((i for i in inside if x[i] == y[place]), NONE)
        if column in inside and (ctx.operation.formula == "average_pool" or largest == column):
            mine.append(place)
    terms = [EquationTerm((float(upstream[i]),), neuron=(name, i)) for i in mine]
    title, formula = pool_words(ctx, bool(mine))
    start = text("captions.goes_on")
    line: CaptionLine = Piece(start), Piece(said(result), neuron=ctx.before)
    if ctx.operation.formula == "average_pool" and mine:
        line = average_line(ctx, terms, result, ctx.before, start)
    elif len(mine) > 1:
        line = sum_line(terms, result, start=start, about=ctx.before)
    return about(ctx, Caption(title, formula, (line,)), result, "arrives")


def pool_words(ctx: TracedWeight, reached: bool) -> tuple[str, str]:
    """Return title and formula of the way back through a pooling."""
    unit, kind = ctx.called(ctx.before), "reached" if reached else "missed"
    title = text(f"captions.pool_back.{ctx.operation.formula}.{kind}", unit=unit)
    return sentence(title), text(f"captions.pool_formula.{ctx.operation.formula}")


def row_formula_back(ctx: TracedWeight) -> Caption:
    return ROWS_BACK.get(ctx.operation.formula, row_back)(ctx)


ROWS_BACK: dict[str, CaptionFn] = {
    "layer_norm": norm_back,
    "rms_norm": norm_back,
    "softmax": softmax_back,
    "log_softmax": log_softmax_back,
    "max_pool": pool_back,
    "average_pool": pool_back,
}
BACKWARD_KINDS: dict[str, CaptionFn] = {
    "affine": weighted_back,
    "convolution": weighted_back,
    "scale": weighted_back,
    "parametric": parametric_back,
    "row": row_formula_back,
    "branch": branch_back,
    "sum": unchanged_back,
    "product": product_back,
    "concatenation": unchanged_back,
    "dropout": dropout_back,
    "batch_norm": norm_back,
    "own": row_back,
}
