"""Captions of the backward pass: slopes, gradients through weights, and other operations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import typeset
from scalarviz.story.caption import Bar, Caption, Miss, Piece, plain_lines
from scalarviz.story.equations import (
    PRODUCT,
    CaptionLine,
    EquationTerm,
    bars_of,
    equation,
    in_brackets,
    is_long,
    listed,
    signed,
    sum_line,
    whole_line,
)
from scalarviz.story.facts import NONE, TERMS, ActivationFacts, OperationFacts
from scalarviz.story.formats import exact_sum, pretty, said, written_apart
from scalarviz.story.forward_captions import (
    CaptionFn,
    average_line,
    bent_at,
    by_weight,
    caption_of,
    case_of,
    factor_of,
    feature_of,
    first_of,
    floats,
    in_group,
    is_held,
    kept_line,
    log_sum_exp,
    loss_term,
    mean,
    parameter_rows,
    term_of,
    variance,
    weighed,
)
from scalarviz.story.names import per_unit, sentence
from scalarviz.story.panel_words import miss_title, miss_words, number
from scalarviz.story.reason import blame_at
from scalarviz.story.traced_weight import TracedWeight, weights_from, window
from scalarviz.story.trial import misses_of

SAME = 1e-3  # relative difference of an error and its product: numbers may have half precision
LONGEST = 40  # letters of a slope with numbers; a longer one is shown as the number only
FLAT, STEEP = 0.1, 0.8  # shares of the largest slope of an activation, or of 1
A_NAME = re.compile(r"\ba(?![A-Za-z_0-9])", re.ASCII)


# The delta of a sum.


def delta(ctx: TracedWeight) -> Caption:
    """Explain the gradient of a weighted sum, from the loss or through the activation after it."""
    name, place = ctx.operation.formula, ctx.place[0]
    row = ctx.facts.activations.get(name)
    arrived = float(ctx.upstream[place])
    is_activation = row is not None and ctx.operation.source in ctx.moment.gradients
    if not ctx.is_last:
        assert row is not None
        line, slope = slope_line(ctx, row, arrived)
        formula = text("captions.delta.formula", slope=slope)
        bent = None if row.value is None else bent_at(row.value, *ctx.through)
        bent = None if bent is None else replace(bent, slope=slope_at(ctx, row))
        blame = blame_at(ctx, *ctx.behind)
        blame = None if blame is None else replace(blame, stays=True)
        title, why = slope_words(ctx, row)
        own = (ctx.behind,)
        return Caption(title, formula, (line,), neurons=own, why=why, bent=bent, blame=blame)
    formula, first = loss_derivative(ctx, arrived, "dL/dp" if is_activation else "signal")
    found = [first]
    if is_activation:
        assert row is not None
        line, slope = slope_line(ctx, row, arrived)
        found.append(line)
        formula += " × " + A_NAME.sub("p", slope)  # a² becomes p²
    misses = misses_of(ctx.facts, ctx.state)[place : place + 1]
    title, why = text("captions.miss.none"), ""
    if len(misses) > 0 and arrived != 0.0 and math.isfinite(arrived):
        title, why = miss_title(misses[0]), miss_words(misses[0])
    told = Caption(title, f"signal = {formula}", tuple(found), neurons=(ctx.behind,))
    comes = error_words(ctx, misses[0]) if why != "" else ""
    return replace(told, why=why, misses=tuple(misses), comes=comes)


def error_words(ctx: TracedWeight, miss: Miss) -> str:
    """Return, as a sentence, the product that gives the gradient of an output's weighted sum.

    The factors come from the error `miss`. The result is "" if their product does not give the
    gradient, for example for a sample with a weight.
    """
    function, place = ctx.facts.loss, ctx.place[0]
    p, t = (float(each[place]) for each in ctx.answers)
    row = ctx.facts.activations.get(ctx.operation.formula)
    is_bent = row is not None and ctx.operation.source in ctx.moment.gradients
    came = float((ctx.gradient if is_bent else ctx.upstream)[place])
    size = -came * ctx.averaged
    compute, off = function.slope.compute, abs(miss.out - miss.goal)
    slope = 0.0 if compute is None else function.factor * abs(compute(p, t))
    named: list[tuple[str, float]] = [("loss", slope)]
    if abs(slope - off) <= SAME * slope:
        named = [("off", off)]
    elif function.name == "mse" and abs(slope - 2.0 * off) <= SAME * slope:
        named = [("square", 2.0), ("off", off)]
    named += [] if row is None or not is_bent else [("curve", abs(slope_at(ctx, row)))]
    parts: list[EquationTerm | str] = []
    for key, factor in named:
        parts += [" × "] if len(parts) > 0 else []
        words = text(f"captions.born.{key}", number="{}").format
        parts.append(EquationTerm((factor,), words, exact=key == "square"))
    divisor = function.divisor if function.mean != "none" else 1
    parts += [text("captions.divided", count=divisor)] if divisor > 1 else []
    found = math.prod([factor for _, factor in named]) / divisor
    if not found > 0.0 or abs(found - abs(size)) > SAME * found:
        return ""
    line = written_apart(lambda: equation(parts, lambda v: math.prod(v) / divisor, found))
    product, result = "".join([each.words for each in line]), line[-1].words
    error = result if size > 0.0 else f"-{result}"
    if len(named) == 1 and divisor == 1:
        product = text("captions.error.same" if named[0][0] == "off" else "captions.error.slope")
    way = "up" if size > 0.0 else "down"
    return typeset(text(f"captions.error.{way}", product=product, error=error))


def slope_line(ctx: TracedWeight, row: ActivationFacts, arrived: float) -> tuple[CaptionLine, str]:
    """Return a line with incoming gradient times slope, and the formula of the slope."""
    z, a = ctx.through
    result, known = float(ctx.gradient[ctx.place[0]]), {"z": z, "a": a}
    own = case_of(row.slope_cases, known)
    in_numbers, derivative = row.slope_text, row.derivative
    if own is not None:
        in_numbers, derivative = own.text, own.compute
    shown = pretty(row.slope) or text("captions.slope", name=ctx.operation.formula)
    if derivative is not None and in_numbers and len(in_numbers) <= LONGEST:
        term, sloped = term_of(in_numbers, known, derivative, ctx.behind)
    else:
        term, sloped = EquationTerm((slope_at(ctx, row),), neuron=ctx.behind), exact_sum
    parts: list[EquationTerm | str] = ["signal = ", EquationTerm((arrived,)), " × ", term]
    line = equation(parts, lambda v: v[0] * sloped(v[1:]), result, about=ctx.behind)
    return line, shown


def slope_at(ctx: TracedWeight, row: ActivationFacts) -> float:
    """Return the slope of an activation; without a derivative, the ratio of the two gradients."""
    if row.derivative is not None:
        return row.derivative(*ctx.through)
    place = ctx.place[0]
    arrived = float(ctx.upstream[place])
    return float(ctx.gradient[place]) / arrived if arrived else math.nan


def slope_words(ctx: TracedWeight, row: ActivationFacts) -> tuple[str, str]:
    """Return how much of the gradient passes an activation, as a sentence and as a product."""
    slope, steepest = slope_at(ctx, row), row.steepest
    if slope == 0.0:
        return text("captions.delta.zero"), ""
    shown = number(slope)
    if shown == "1.00":
        return text("captions.delta.one"), ""
    is_flat = abs(slope) < FLAT * steepest
    key = "flat" if is_flat else "steep" if slope >= STEEP * steepest else "between"
    arrived = -ctx.averaged * float(ctx.upstream[ctx.place[0]])
    parts: list[EquationTerm | str] = [EquationTerm((arrived,)), " × ", EquationTerm((slope,))]
    line = written_apart(lambda: equation(parts, math.prod, arrived * slope))
    said_of = [typeset(each.words) for each in line]
    fields = {"blame": said_of[0], "slope": said_of[2], "passed": said_of[4]}
    words = text("captions.delta.share", **fields)
    return text(f"captions.slope.{key}"), words


def sign_of(number: float) -> float:
    """Return 1, -1 or 0."""
    return 1.0 if number > 0.0 else -1.0 if number < 0.0 else 0.0


def loss_derivative(ctx: TracedWeight, value: float, name: str) -> tuple[str, CaptionLine]:
    """Return the derivative of the loss by a prediction: the formula, and a line with numbers."""
    function, samples, place = ctx.facts.loss, ctx.state.batch, ctx.place[0]
    prediction, target = (floats(each) for each in ctx.answers)
    p, t, slope = prediction[place], target[place], function.slope
    count = samples * function.divisor
    counts = [plural("counts.samples", samples)] if samples > 1 else []
    counts += [plural("counts.outputs", function.divisor)] if function.divisor > 1 else []
    divided = " × ".join(counts)
    divided = f" / ({divided})" if len(counts) > 1 else f" / {divided}"
    before = factor_of(function)
    weight = weighed(ctx)
    formula = pretty(slope.text)
    if weight:
        formula = text("captions.loss.formula.weight", error=formula)
    formula = before + formula + (divided if count > 1 else "")
    after = f" / {count}" if count > 1 else ""
    scale = function.factor / (count or 1)
    if function.scalar and slope.compute is not None:
        term, compute = loss_term(slope, p, t, ctx.behind)
    elif function.name == "softmax_cross_entropy":
        share = exact_sum(target) * math.exp(p - log_sum_exp(prediction))
        term = EquationTerm((share, t), "({} - {})".format, neuron=ctx.behind)
        compute = difference
    else:  # also depends on the other outputs of the row
        words_now = f"{name} = {formula} = {said(value)}"
        return formula, (Piece(words_now, neuron=ctx.behind),)
    parts: list[EquationTerm | str] = [f"{name} = {before}", *weight, term, after]
    product = by_weight(compute, weight)
    return formula, equation(parts, lambda v: product(v) * scale, value, about=ctx.behind)


def difference(numbers: Sequence[float]) -> float:
    return numbers[0] - numbers[1]


# Through an operation, from its outputs to its inputs.


def weighted_back(ctx: TracedWeight) -> Caption:
    """Explain gradients through weights: each weight times the delta of its output."""
    operation, (output, column) = ctx.operation, ctx.place
    upstream, arrived = ctx.upstream, float(ctx.gradient[column])
    rows, into = weights_from(ctx.facts, operation, column)
    target, value = operation.target, ctx.state.value
    terms = [
        EquationTerm((float(value[row]), float(upstream[i])), PRODUCT, row, (target, i))
        for row, i in zip(rows, into, strict=True)
    ]
    keep = first_of(into, output) if ctx.chosen else NONE
    line = sum_line(terms, arrived, keep=keep, about=ctx.before)
    whole = (whole_line(terms, arrived, keep=keep, about=ctx.before),) if is_long(terms) else ()
    kind = "scale" if len(operation.shape) == 1 else "sum"
    caption = caption_of(f"weighted_back.{kind}", line)
    size = ctx.averaged
    errors = [
        EquationTerm((-size * each.numbers[1], each.numbers[0]), PRODUCT, each.row)
        for each in terms
    ]
    bars = bars_of(errors, -size * arrived, TERMS)  # to the right: say more
    blame = blame_at(ctx, operation.source, column) if operation.kind == "affine" else None
    names = ctx.facts.buffers[target].names
    if bars is not None:
        own = [replace(each, name=named_part(each, operation, names)) for each in bars.rows]
        bars = replace(bars, rows=tuple(own), unit="blame")
        if len(terms) == 1:  # no sum
            way = text(f"captions.weighted_back.{'minus' if terms[0].numbers[0] < 0.0 else 'plus'}")
            caption, bars = replace(caption, title=way), replace(bars, total=None)
    return replace(caption, whole=whole, bars=bars, blame=blame)


def named_part(bar: Bar, operation: OperationFacts, names: Sequence[str]) -> str:
    """Return the label of a bar: error and weight, after the name of the output if it has one."""
    if bar.row == NONE:
        return bar.name
    unit = (bar.row - operation.weights) // per_unit(operation)
    own = names[unit] if operation.kind == "affine" and unit < len(names) else ""
    return bar.name if own == "" else f"{own}: {bar.name}"


def row_back(ctx: TracedWeight) -> Caption:
    """Explain gradients through an operation on a whole sample or batch."""
    formula = ctx.operation.formula or ctx.operation.kind
    line = plain_lines(f"{listed(ctx.upstream)} → {listed(ctx.gradient)}")
    return caption_of("row_back", *line, name=formula.replace("_", " "), formula=formula)


def norm_back(ctx: TracedWeight) -> Caption:
    """Explain a norm: the common part of all numbers is removed from the incoming gradient."""
    place, known = ctx.place[1], normed(ctx)
    if known is None:
        return row_back(ctx)
    numbers, eps = known
    x, y, g = numbers
    result, own, own_y = (float(each[place]) for each in (ctx.gradient, ctx.upstream, ctx.outputs))
    centred = ctx.operation.formula != "rms_norm"
    shift, stretch = mean(g), mean([a * b for a, b in zip(g, y, strict=True)])
    spread = variance(x) if centred else mean([each * each for each in x])
    parts: list[EquationTerm | str] = ["(", EquationTerm((own,))]
    parts += signed(shift) if centred else []
    parts += [*signed(stretch), " × ", EquationTerm((own_y,), in_brackets), ") / sqrt("]
    parts += [EquationTerm((spread,)), " + ", EquationTerm((eps,), exact=True), ")"]
    signs = -sign_of(shift), -sign_of(stretch)

    def compute(v: Sequence[float]) -> float:
        shifted = v[0] + (signs[0] * v[1] if centred else 0.0)
        found, y_now, spread_now, eps_now = v[-4:]
        return (shifted + signs[1] * found * y_now) / math.sqrt(spread_now + eps_now)

    line = equation(parts, compute, result, about=ctx.before)
    return caption_of("norm_back" if centred else "rms_back", line)


def normed(ctx: TracedWeight) -> tuple[list[list[float]], float] | None:
    """Return inputs, outputs and output gradients of a norm, and its eps; None if unknown.

    The numbers are normalized together: a sample, a group in it, or a feature of the batch.
    """
    operation, settings = ctx.operation, ctx.operation.settings
    if operation.kind != "batch_norm":
        rows = [floats(each) for each in (ctx.inputs, ctx.outputs, ctx.upstream)]
        return [in_group(ctx, each, ctx.place[1]) for each in rows], settings[-1]
    feature, found = ctx.place[1] // int(settings[1]), []
    for kind, name in (
        ("values", operation.source),
        ("values", operation.target),
        ("gradients", operation.target),
    ):
        numbers = ctx.of_batch(kind, name)
        if numbers is None or is_held(ctx):
            return None
        found.append(feature_of(ctx, numbers, feature))
    return found, settings[2]


def softmax_back(ctx: TracedWeight) -> Caption:
    place, g, y = ctx.place[1], floats(ctx.upstream), floats(ctx.outputs)
    shared = exact_sum(a * b for a, b in zip(g, y, strict=True))
    result, sign = float(ctx.gradient[place]), -sign_of(shared)
    parts: list[EquationTerm | str] = [EquationTerm((y[place],), neuron=ctx.behind), " × ("]
    parts += [EquationTerm((g[place],)), *signed(shared), ")"]
    line = equation(parts, lambda v: v[0] * (v[1] + sign * v[2]), result, about=ctx.before)
    return caption_of("softmax_back", line)


def log_softmax_back(ctx: TracedWeight) -> Caption:
    place, g, y = ctx.place[1], floats(ctx.upstream), float(ctx.outputs[ctx.place[1]])
    result, total = float(ctx.gradient[place]), exact_sum(g)
    sign = -sign_of(total)
    parts: list[EquationTerm | str] = [EquationTerm((g[place],)), *signed(total), " × exp("]
    parts += [EquationTerm((y,), neuron=ctx.behind), ")"]
    line = equation(parts, lambda v: v[0] + sign * v[1] * math.exp(v[2]), result, about=ctx.before)
    return caption_of("log_softmax_back", line)


def branch_back(ctx: TracedWeight) -> Caption:
    """Explain a branch: the gradients of the branch and of the other paths are added up."""
    column, around = ctx.place[1], ctx.operation.around
    through, result = float(ctx.upstream[column]), float(ctx.gradient[column])
    rest = EquationTerm((result - through,))
    if around is not None:
        straight = float(ctx.state.gradients[around][column])
        rest = EquationTerm((straight,), neuron=(around, column))
    terms = [rest, EquationTerm((through,), neuron=ctx.behind)]
    line = sum_line(terms, result, about=ctx.before)
    return caption_of("branch_back", line)


def unchanged_back(ctx: TracedWeight) -> Caption:
    """Explain a sum or a concatenation: the incoming gradient is unchanged."""
    found = float(ctx.upstream[ctx.place[0]])
    is_sum = ctx.operation.kind == "sum"
    words = text("captions.sum_back.number", number=said(found)) if is_sum else said(found)
    line: CaptionLine = (Piece(words, neuron=ctx.before),)
    return caption_of("sum_back" if is_sum else "concatenation_back", line)


def product_back(ctx: TracedWeight) -> Caption:
    """Explain a product: each factor gets the incoming gradient times the other factor."""
    place, (a, b) = ctx.place[0], ctx.operation.sources
    found = float(ctx.upstream[place])
    lines = []
    for source, other in ((a, b), (b, a)):
        factor = float(ctx.state.values[other][place])
        term = EquationTerm((found, factor), PRODUCT, neuron=ctx.behind)
        lines.append(sum_line([term], found * factor, about=(source, place)))
    return caption_of("product_back", *lines)


def parametric_back(ctx: TracedWeight) -> Caption:
    """Explain a formula with parameters: the incoming gradient times its slope."""
    name, place = ctx.operation.formula, ctx.place[0]
    derivative = ctx.facts.parametrics[name].derivative
    if derivative is None:
        return row_back(ctx)
    given = [float(ctx.state.value[row]) for row in parameter_rows(ctx, place)]
    slope, found = derivative(float(ctx.inputs[place]), *given), float(ctx.gradient[place])
    term = EquationTerm((float(ctx.upstream[place]), slope), PRODUCT)
    line = sum_line([term], found, about=ctx.before)
    return caption_of("row_back", line, name=name, formula=name)


def dropout_back(ctx: TracedWeight) -> Caption:
    rate, place = float(ctx.operation.settings[0]), ctx.place[0]
    arrived, result = float(ctx.upstream[place]), float(ctx.gradient[place])
    if result == 0.0 and arrived != 0.0:
        words = text("captions.dropout_back.own", arrived=said(arrived))
        line: CaptionLine = (Piece(words, neuron=ctx.before),)
    else:
        line = kept_line(EquationTerm((arrived,)), rate, result, ctx.before)
    return caption_of("dropout_back", line)


def pool_back(ctx: TracedWeight) -> Caption:
    """Explain gradients through pooling: to the maximum of each window, or to all its numbers."""
    upstream, column = ctx.upstream, ctx.place[1]
    x, y, result = ctx.inputs, ctx.outputs, float(ctx.gradient[column])
    name, mine = ctx.operation.target, []
    for place in range(len(upstream)):
        inside = window(ctx.operation, place)
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
    return Caption(title, formula, (line,))


def pool_words(ctx: TracedWeight, reached: bool) -> tuple[str, str]:
    """Return title and formula of a pooling's backward pass, with or without a gradient."""
    kind = "reached" if reached else "missed"
    title = text(f"captions.pool_back.{ctx.operation.formula}.{kind}")
    return sentence(title), text(f"captions.pool_formula.{ctx.operation.formula}")


def row_formula_back(ctx: TracedWeight) -> Caption:
    return ROWS_BACK.get(ctx.operation.formula, row_back)(ctx)


ROWS_BACK: dict[str, CaptionFn] = {
    "layer_norm": norm_back,
    "group_norm": norm_back,
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
    "each_place": row_back,
    "embedding": row_back,
    "branch": branch_back,
    "sum": unchanged_back,
    "product": product_back,
    "concatenation": unchanged_back,
    "dropout": dropout_back,
    "batch_norm": norm_back,
    "own": row_back,
}
