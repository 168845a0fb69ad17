"""Captions of the forward pass: operations on neurons and whole samples, predictions, the loss."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded, short, typeset
from scalarviz.story.caption import Bar, Bars, Bent, Caption, Group, Miss, Piece, plain_lines
from scalarviz.story.equations import (
    MOST_TERMS,
    PRODUCT,
    SHOWN_TERMS,
    CaptionLine,
    EquationTerm,
    bars_of,
    between,
    equation,
    is_long,
    listed,
    shortened,
    signed,
    sum_line,
    sums,
    whole_line,
)
from scalarviz.story.facts import (
    NONE,
    TERMS,
    ActivationFacts,
    Cases,
    FormulaCase,
    LossFacts,
    LossPart,
    Neuron,
    Numbers,
    sample_of,
)
from scalarviz.story.formats import FEW, MOST, exact_sum, fill, pretty, said, written_apart
from scalarviz.story.names import color_name, number_word, sentence, short_name
from scalarviz.story.panel_words import FINE, mean_off, number, percent
from scalarviz.story.traced_weight import (
    TracedWeight,
    has_filters,
    input_told,
    largest_place,
    right_output,
    weights_into,
    window,
)
from scalarviz.story.trial import bars_among, misses_of

REACH, CURVE = 3.0, 24  # range of an activation's curve on both sides of 0, and its segments there
LEAST_SHARE = 0.01  # of the curve of a loss
LARGEST, MOST_SCORE = 3, 300.0  # scores with their power of e, and the largest such score
CaptionFn = Callable[[TracedWeight], Caption]
NAME = re.compile(r"\b[A-Za-z_]\w*\b", re.ASCII)
RESULT = re.compile(r"^\w+ =", re.ASCII)  # beginning of a formula


def caption_of(key: str, *lines: CaptionLine, **fields: object) -> Caption:
    """Return a caption with the texts of a key, and with lines of numbers."""
    title, formula = (text(f"captions.{key}.{part}", **fields) for part in ("title", "formula"))
    return Caption(sentence(title), formula, lines)


def floats(numbers: Numbers) -> list[float]:
    """Return numbers of a state as a list."""
    return [float(each) for each in numbers]


def mean(numbers: Sequence[float]) -> float:
    return exact_sum(numbers) / len(numbers)


def variance(numbers: Sequence[float]) -> float:
    middle = mean(numbers)
    return mean([(each - middle) * (each - middle) for each in numbers])


def largest(numbers: Sequence[float]) -> float:
    """Return the largest number, or NaN if one is NaN."""
    return math.nan if any(each != each for each in numbers) else max(numbers)


def first_of(items: Sequence[int], wanted: int) -> int:
    """Return the index of the first occurrence of a number, or NONE."""
    return next((place for place, each in enumerate(items) if each == wanted), NONE)


LONG_SUM = 20  # terms of a sum; a longer one is written as products and b


def weighted(ctx: TracedWeight) -> Caption:
    """Explain the weighted sum of one output."""
    operation, value, (output, column) = ctx.operation, ctx.state.value, ctx.place
    x, y = ctx.inputs, float(ctx.outputs[output])
    rows, read = weights_into(ctx.facts, operation, output)
    source = operation.source
    terms = [
        EquationTerm((float(x[i]), float(value[row])), PRODUCT, row, (source, i))
        for row, i in zip(rows, read, strict=True)
    ]
    kind, has_bias = operation.kind, operation.biases != NONE
    if has_bias:
        row = operation.biases + output // operation.each
        word = text("plates.shift" if kind == "scale" else "plates.bias")
        named = f"{word} {{}}".format
        terms.append(EquationTerm((float(value[row]),), named, row, stays=True))
    keep = first_of(read, column) if ctx.chosen else NONE
    kind = "shifted" if kind == "scale" and has_bias else kind
    line = sum_line(terms, y, keep=keep, about=ctx.behind)
    whole = (whole_line(terms, y, keep=keep, about=ctx.behind),) if is_long(terms) else ()
    said_of = {"unit": sum_name(ctx), "count": number_word(len(terms)), "sum": number(y)}
    caption = caption_of(f"weighted.{kind}", line, x=ctx.letter, **said_of)
    bias = text("captions.weighted.bias") if has_bias and operation.kind != "scale" else ""
    bars = bars_of(terms, y, TERMS)
    if has_bias and (kind == "convolution" or len(terms) > LONG_SUM):
        words = text("captions.weighted.filter", count=len(terms) - 1, sum=number(y))
        caption = replace(caption, title=words)
    if (
        has_filters(ctx.facts)
        and bars is not None
        and ctx.moment.operation != ctx.facts.first_parameters
    ):
        place, row = input_told(ctx.facts, ctx.state, x, ctx.moment.operation, output)
        bars = replace(bars, marked=first_of([each.row for each in bars.rows], row))
        caption = replace(
            caption, why=text("captions.weighted.carried", number=number(float(x[place])))
        )
    return replace(caption, formula=caption.formula + bias, whole=whole, bars=bars)


def sum_name(ctx: TracedWeight) -> str:
    """Return the name of an operation's result; for a color output, only the color's name."""
    name, place = ctx.behind
    names = ctx.facts.buffers[name].names
    own = names[place] if place < len(names) else ""
    return own if color_name(own) != own else ctx.named(ctx.behind)


def activation(ctx: TracedWeight) -> Caption:
    name, (z, a) = ctx.operation.formula, ctx.through
    row = ctx.facts.activations[name]
    words = row.zero if row.zero and a == 0.0 else row.caption
    own = plain_lines(sentence(words.replace("{unit}", ctx.called(ctx.behind))))
    title = bent_words(z, a, sum_name(ctx))
    if row.value is None:
        return replace(plain(ctx), title=title, lines=own)
    line = activation_line(name, row, z, a, ctx.before, ctx.behind)
    formula = f"a = {name}(z)" + (f" = {pretty(row.alone)}" if row.alone else "")
    return Caption(title, formula, (line, *own), bent=bent_at(row.value, z, a))


def bent_words(before: float, after: float, name: str) -> str:
    """Return the effect of an activation on a number as a sentence; `name` can be a color."""
    if after == 0.0 and before < 0.0:
        return text("captions.bend.off")
    if after == before:
        return text("captions.bend.same", number=number(after))
    color = color_name(name)
    result = f"{number(after)} {color}" if color != name else number(after)
    return text("captions.bend", before=number(before), after=result)


def bent_at(
    value: Callable[[float], float], z: float, a: float, least: float = REACH
) -> Bent | None:
    """Return the curve of an activation in a range around 0 that contains its input, or None."""
    reach: float = max(least, 1.25 * abs(z))
    places = [reach * (i - CURVE) / CURVE for i in range(2 * CURVE + 1)]
    points = [(place, value(place)) for place in places]
    is_known = math.isfinite(sum([z, a, *[y for _, y in points]]))
    return Bent(z, a, tuple(points)) if is_known else None


def case_of(cases: Cases, numbers: Mapping[str, float]) -> FormulaCase | None:
    """Return the case of a formula for the given numbers, by name; None if there is no match.

    It is the first case whose conditions hold, preferably of those in which formulas replace calls
    of functions.
    """
    values = [*numbers.values()]
    for each in cases:
        found = next((case for case in each if is_met(case, values)), None)
        if found is not None and found.text:
            return found
    return None


def is_met(case: FormulaCase, values: Sequence[float]) -> bool:
    """Return whether the conditions of a case hold."""
    try:
        return all(test(*values) == holds for test, holds in case.tests)
    except (ArithmeticError, ValueError):  # such as a division by 0
        return False


def activation_line(
    name: str,
    row: ActivationFacts,
    z: float,
    a: float,
    before: Neuron | None = None,
    behind: Neuron | None = None,
    *,
    least: int = FEW,
) -> CaptionLine:
    """Return the effect of an activation on a number as a line of a caption.

    Args:
        name, row: name and facts of the activation, whose value can be computed
        z, a: input and output of the activation
        before, behind: neurons of the input and of the output
        least: minimum number of digits; by default 2
    """
    parts: list[EquationTerm | str] = [f"{name}(", EquationTerm((z,), neuron=before), ")"]
    own, value = case_of(row.cases, {"z": z}), row.value
    if own is None:
        assert value is not None
        return equation(parts, lambda v: value(v[0]), a, about=behind, least=least)
    formula, compute = own.alone, own.compute
    parts[-1] = ") = "
    parts.append(EquationTerm((z,), lambda number: fill(formula, {"z": number})))
    return equation(parts, lambda v: compute(v[1]), a, about=behind, least=least)


def parametric(ctx: TracedWeight) -> Caption:
    """Explain an elementwise formula with parameters, for one number."""
    name, place, numbers = ctx.operation.formula, ctx.place[0], ctx.state.value
    x, y = ctx.through
    row = ctx.facts.parametrics[name]
    title = bent_words(x, y, "")
    value = row.value
    if value is None:
        return replace(plain(ctx), title=title)
    parts: list[EquationTerm | str] = [f"{name}(", EquationTerm((x,), neuron=ctx.before)]
    for each in parameter_rows(ctx, place):
        parts += [", ", EquationTerm((float(numbers[each]),), row=each)]
    line = equation([*parts, ")"], lambda v: value(*v), y, about=ctx.behind)
    formula = f"y = {name}(x, {', '.join(row.parameters)})"
    given = [float(numbers[each]) for each in parameter_rows(ctx, place)]
    return Caption(title, formula, (line,), bent=bent_at(lambda z: value(z, *given), x, y))


def parameter_rows(ctx: TracedWeight, output: int) -> list[int]:
    """Return the bank indices of the parameters of a formula for an output."""
    rows, first = [], ctx.operation.weights
    for each in ctx.operation.settings:  # number of consecutive outputs that share a parameter
        rows.append(first + output // int(each))
        first += len(ctx.outputs) // int(each)
    return rows


def plain(ctx: TracedWeight) -> Caption:
    """Explain an operation of a kind without a special caption, by the meaning of the kind."""
    name = (ctx.operation.formula or ctx.operation.kind).replace("_", " ")
    inputs = ", ".join(listed(ctx.state.values[each]) for each in ctx.operation.sources)
    lines = plain_lines(f"{inputs} → {listed(ctx.outputs)}")
    return Caption(text("captions.plain", name=name), pretty(ctx.operation.meaning), lines)


def unchanged(ctx: TracedWeight) -> Caption:
    """Explain a branch or a concatenation, which leaves the numbers unchanged."""
    is_branch, line = ctx.operation.kind == "branch", plain_lines(listed(ctx.outputs))
    return caption_of("branch" if is_branch else "concatenation", *line)


def joined(ctx: TracedWeight) -> Caption:
    place, second = ctx.place[0], ctx.operation.sources[1]
    x, y = ctx.through
    terms = [
        EquationTerm((float(ctx.state.values[second][place]),), neuron=(second, place)),
        EquationTerm((x,), neuron=ctx.before),
    ]
    line = sum_line(terms, y, about=ctx.behind)
    names = [text("bars.past"), text("bars.through")]
    rows = [Bar(name, each.value) for name, each in zip(names, terms, strict=True)]
    found = caption_of("sum", line, unit=ctx.called(ctx.behind), sum=number(y))
    return replace(found, bars=Bars(tuple(rows), y))


def product(ctx: TracedWeight) -> Caption:
    place, (a, b) = ctx.place[0], ctx.operation.sources
    numbers, result = (
        [float(ctx.state.values[each][place]) for each in (a, b)],
        float(ctx.outputs[place]),
    )
    line = sum_line(
        [EquationTerm(tuple(numbers), PRODUCT, neuron=(a, place))], result, about=ctx.behind
    )
    words = f"{number(numbers[0])} × {number(numbers[1])} = {number(result)}"
    return caption_of("product", line, unit=ctx.called(ctx.behind), product=words)


def dropout(ctx: TracedWeight) -> Caption:
    """Explain whether dropout drops the traced number, and how many other numbers."""
    rate, place = float(ctx.operation.settings[0]), ctx.place[0]
    x, y = floats(ctx.inputs), floats(ctx.outputs)
    unit, own_x, own_y = ctx.called(ctx.behind), x[place], y[place]
    kept = [after for before, after in zip(x, y, strict=True) if before != 0.0]
    some, left_out = len(kept), len([after for after in kept if after == 0.0])
    count = text("captions.dropout.count", left_out=left_out, some=some)
    if some < len(x):
        count = text("captions.dropout.zeros", count=count, others=len(x) - some)
    if own_y == 0.0 and own_x != 0.0:
        out: CaptionLine = (Piece(text("captions.dropout.own", x=said(own_x)), neuron=ctx.behind),)
        lines = out, *plain_lines(count)
        return caption_of("dropout_out", *lines, unit=unit)
    line = kept_line(EquationTerm((own_x,), neuron=ctx.before), rate, own_y, ctx.behind)
    return caption_of("dropout", line, *plain_lines(count), unit=unit)


def kept_line(number: EquationTerm, rate: float, result: float, about: Neuron) -> CaptionLine:
    """Return the line of a number that dropout keeps and scales up."""
    parts: list[EquationTerm | str] = [number, " / (1 - ", EquationTerm((rate,), exact=True), ")"]
    return equation(parts, lambda v: v[0] / (1.0 - v[1]), result, about=about)


def standardized(
    x: float, mean: float, variance: float, eps: float, result: float, about: Neuron
) -> CaptionLine:
    """Return the line of (x - mean) / sqrt(variance + eps)."""
    sign = -1.0 if mean < 0.0 else 1.0
    parts: list[EquationTerm | str] = ["(", EquationTerm((x,)), *signed(mean), ") / sqrt("]
    parts += [EquationTerm((variance,)), " + ", EquationTerm((eps,), exact=True), ")"]
    return equation(
        parts, lambda v: (v[0] - sign * v[1]) / math.sqrt(v[2] + v[3]), result, about=about
    )


def batch_norm(ctx: TracedWeight) -> Caption:
    """Explain mean and variance of one feature over all samples and pixels."""
    operation, place, kept = ctx.operation, ctx.place[0], ctx.state.bank_state
    features, pixels, eps = (float(each) for each in operation.settings[:3])
    feature = place // int(pixels)
    held, every = is_held(ctx), ctx.of_batch("values", operation.source)
    if held and len(kept):
        first = operation.state + feature
        middle, spread = float(kept[first]), float(kept[first + int(features)])
        over = text("captions.batch_norm.running")
    elif not held and every is not None:
        own = feature_of(ctx, every, feature)
        middle, spread = mean(own), variance(own)
        over = text("captions.batch_norm.over", count=len(own))
    else:
        return plain(ctx)
    x, y = ctx.through
    line = standardized(x, middle, spread, eps, y, ctx.behind)
    shown = text(
        "captions.batch_norm.feature",
        feature=feature,
        over=over,
        mean=said(middle, 3),
        variance=said(spread, 3),
    )
    lines, unit = (line, *plain_lines(shown)), ctx.called(ctx.behind)
    found = caption_of("frozen_batch_norm" if held else "batch_norm", *lines, unit=unit)
    head = text("captions.norm.head", before=number(x), after=number(y))
    return replace(found, title=head, lines=(*lines, *plain_lines(found.title)))


def is_held(ctx: TracedWeight) -> bool:
    """Return whether the whole layer is frozen, so that its running statistics stop."""
    first, end = ctx.operation.held
    return first < end and all(ctx.state.frozen[row] for row in range(first, end))


def feature_of(ctx: TracedWeight, numbers: Numbers, feature: int) -> list[float]:
    """Return the numbers of one feature of a batch norm, for all samples and pixels."""
    features, pixels = int(ctx.operation.settings[0]), int(ctx.operation.settings[1])
    size = features * pixels
    return [float(each) for i, each in enumerate(numbers) if i % size // pixels == feature]


# Operations on a whole sample: norms, pooling, softmax, frequency encodings.

LineFn = Callable[[TracedWeight, list[float], float], tuple[CaptionLine, ...]]


def row_formula(ctx: TracedWeight) -> Caption:
    """Explain one number of a formula on a whole sample, with its arithmetic if available."""
    operation, own = ctx.operation, float(ctx.outputs[ctx.place[0]])
    if operation.formula in ROW_LINES:
        lines = ROW_LINES[operation.formula](ctx, floats(ctx.inputs), own)
    else:
        lines = plain_lines(f"{listed(ctx.inputs)} → {listed(ctx.outputs)}")
    title = sentence(operation.caption.replace("{unit}", ctx.called(ctx.behind)))
    if operation.formula not in ROW_HEADS:
        return Caption(title, operation.written, lines)
    head, bars = ROW_HEADS[operation.formula], row_bars(ctx)
    count = 0 if bars is None else len(bars.rows)
    before, after = number(float(ctx.inputs[ctx.place[1]])), number(own)
    fields = {"before": before, "after": after, "count": number_word(count)}
    words = text(f"captions.{head}.head", **fields)
    bent = any(
        each.target == operation.source and each.formula == "relu" for each in ctx.facts.operations
    )
    why = text("captions.max_pool.relu") if bent and operation.formula == "max_pool" else ""
    return Caption(words, operation.written, (*lines, *plain_lines(title)), bars=bars, why=why)


def row_bars(ctx: TracedWeight) -> Bars | None:
    """Return the inputs of a pooling, or the probabilities of a softmax, as bars; else None."""
    formula, place = ctx.operation.formula, ctx.place[0]
    if formula == "softmax":
        return bars_among([Bar(f"{i}", each) for i, each in enumerate(floats(ctx.outputs))], place)
    if not formula.endswith("pool"):
        return None
    pixels = [
        Bar(number(each), each)
        for each in [float(ctx.inputs[i]) for i in window(ctx.operation, place)]
    ]
    if formula == "average_pool" or len(pixels) == 0:
        return bars_among(pixels, NONE, "number")
    best = largest_place([each.value for each in pixels])
    return bars_among(pixels, best, "number")


def layer_norm(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    group, eps = in_group(ctx, x, ctx.place[0]), float(ctx.operation.settings[-1])
    middle, spread = mean(group), variance(group)
    line = standardized(x[ctx.place[0]], middle, spread, eps, y, ctx.behind)
    said_mean, said_spread = said(middle, 3), said(spread, 3)
    over = text("captions.layer_norm.over", count=len(group), mean=said_mean, variance=said_spread)
    return line, *plain_lines(over)


def in_group(ctx: TracedWeight, numbers: list[float], place: int) -> list[float]:
    """Return the numbers that a norm normalizes together with the number at an index."""
    size = int(ctx.operation.settings[0])
    return numbers[place // size * size :][:size]


def rms_norm(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    square, eps = mean([each * each for each in x]), float(ctx.operation.settings[-1])
    own = EquationTerm((x[ctx.place[0]],), neuron=ctx.before)
    parts: list[EquationTerm | str] = [own, " / sqrt("]
    parts += [EquationTerm((square,)), " + ", EquationTerm((eps,), exact=True), ")"]
    line = equation(parts, lambda v: v[0] / math.sqrt(v[1] + v[2]), y, about=ctx.behind)
    return line, *plain_lines(text("captions.rms_norm.over", count=len(x), square=said(square, 3)))


def softmax(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    """Return the lines of a caption for softmax or log-softmax."""
    top, own = largest(x), EquationTerm((x[ctx.place[0]],), neuron=ctx.before)
    total = exact_sum(math.exp(each - top) for each in x)
    head: list[EquationTerm | str] = [own, " - ", EquationTerm((top,))]
    is_log = ctx.operation.formula == "log_softmax"
    parts: list[EquationTerm | str] = [*head, " - log("] if is_log else ["exp(", *head, ") / "]
    parts += [EquationTerm((total,)), ")"] if is_log else [EquationTerm((total,))]

    def compute(v: Sequence[float]) -> float:
        return v[0] - v[1] - math.log(v[2]) if is_log else math.exp(v[0] - v[1]) / v[2]

    line = equation(parts, compute, y, about=ctx.behind)
    count, most = len(x), said(top, 3)
    if is_log:
        return line, *plain_lines(text("captions.log_softmax.over", count=count, top=most))
    return line, *plain_lines(text("captions.softmax.over", count=count, top=most))


def waves(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    count, place = 2 * int(ctx.operation.settings[0]), ctx.place[0]
    which, wave = place // count, place % count
    is_cosine, times = wave % 2 == 1, 2.0 ** (wave // 2)
    number = EquationTerm((x[which],), neuron=(ctx.operation.source, which))
    before = f"{times:.0f} × " if times > 1.0 else ""
    name = "cos" if is_cosine else "sin"
    parts: list[EquationTerm | str] = [f"{name}({before}π × ", number, ")"]

    def compute(v: Sequence[float]) -> float:
        angle = times * math.pi * v[0]
        return math.cos(angle) if is_cosine else math.sin(angle)

    return (equation(parts, compute, y, about=ctx.behind),)


def copied(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    """Return a line for a number broadcast to all pixels of a channel, or selected by a slice."""
    operation, by = ctx.operation, int(ctx.operation.settings[0])
    place = ctx.place[0] // by if operation.formula == "spread" else ctx.place[0] + by
    number = EquationTerm((x[place],), neuron=(ctx.operation.source, place))
    return (equation([number], lambda v: v[0], y, about=ctx.behind),)


def window_terms(ctx: TracedWeight, x: Sequence[float]) -> list[EquationTerm]:
    places = window(ctx.operation, ctx.place[0])[:MOST_TERMS]
    return [EquationTerm((x[i],), neuron=(ctx.operation.source, i)) for i in places]


def max_pool(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    terms = window_terms(ctx, x)
    parts: list[EquationTerm | str] = [text("captions.max_pool.of"), *between(terms, ", "), ")"]
    return (equation(parts, lambda v: max(v), y, about=ctx.behind),)


def average_pool(ctx: TracedWeight, x: list[float], y: float) -> tuple[CaptionLine, ...]:
    return (average_line(ctx, window_terms(ctx, x), y, ctx.behind),)


def average_line(
    ctx: TracedWeight, terms: Sequence[EquationTerm], result: float, about: Neuron, start: str = ""
) -> CaptionLine:
    """Return the line of a sum that an average pooling divides by its window size."""
    pixels = int(ctx.operation.settings[2] * ctx.operation.settings[3])
    parts: list[EquationTerm | str] = [f"{start}(", *between(terms), f") / {pixels}"]
    return equation(parts, lambda v: exact_sum(v) / pixels, result, about=about)


ROW_LINES: dict[str, LineFn] = {
    "layer_norm": layer_norm,
    "group_norm": layer_norm,
    "rms_norm": rms_norm,
    "softmax": softmax,
    "log_softmax": softmax,
    "frequency_encoding": waves,
    "spread": copied,
    "slice": copied,
    "max_pool": max_pool,
    "average_pool": average_pool,
}


# Titles of the common layers.
ROW_HEADS = {
    "layer_norm": "norm",
    "group_norm": "norm",
    "rms_norm": "norm",
    "softmax": "softmax",
    "log_softmax": "softmax",
    "frequency_encoding": "waves",
    "max_pool": "max_pool",
    "average_pool": "average_pool",
}


# Predictions and the loss.

MOST_SAMPLES, MOST_OUTPUTS = 4096, 65_536  # maximum size of a batch whose errors a caption computes


def is_small(samples: int, outputs: int) -> bool:
    """Return whether a batch is small enough for captions to recompute its errors."""
    return samples <= MOST_SAMPLES and outputs <= MOST_OUTPUTS


def loss(ctx: TracedWeight) -> Caption:
    """Explain the loss of the batch, with the errors of the focus sample."""
    function, behind = ctx.facts.loss, ctx.facts.outputs
    outputs, whole = len(ctx.answers[0]), ctx.state.loss
    way = "sum" if function.mean == "none" else "mean"
    if function.mean == "samples" and function.scalar and outputs > 1:
        way = "mean_of_sums"
    error = pretty(function.error.text)
    if ctx.state.weight is not None:
        error = text("captions.loss.formula.weight", error=error)
    words = text(f"captions.loss.formula.{way}", error=error)
    misses = misses_of(ctx.facts, ctx.state)
    caption = Caption(
        loss_title(ctx.state.batch, whole),
        f"L = {factor_of(function)}{words}",
        neurons=tuple((behind, i) for i in range(min(outputs, MOST_TERMS))),
    )
    if len(misses) > 0:
        told = loss_told(ctx, misses)
        group = group_of(ctx, losses_of(ctx))
        caption = replace(told, formula=caption.formula, why=caption.title, group=group)
    if (function.error.compute if function.scalar else function.of_row) is None:
        return replace(caption, lines=plain_lines(only(whole)))
    terms, line = errors_of(ctx)
    parts, total = part_lines(ctx, terms, whole)
    caption = replace(caption, lines=(line, *parts))
    return caption if total is None else replace(caption, whole=(line, *parts[:-1], total))


def losses_of(ctx: TracedWeight) -> list[float]:
    """Return the loss of each sample of the batch; empty if unknown."""
    function = ctx.facts.loss
    compute = function.error.compute if function.scalar else function.of_row
    is_mean = function.mean != "none" and ctx.state.weight is None
    errors = errors_of_samples(ctx) if compute is not None and is_mean else None
    return [function.factor * each / function.divisor for each in errors or []]


def group_of(ctx: TracedWeight, amounts: Sequence[float]) -> Group | None:
    """Return the samples of a step, with their `amounts` if known; None for a single sample."""
    count = ctx.state.batch
    return Group(tuple(amounts), count, sample_of(ctx.state)) if count > 1 else None


def loss_title(count: int, whole: float) -> str:
    """Return the loss of one or several samples as a sentence."""
    shown = rounded(whole, 3)  # as beside the loss curve
    together = text("captions.loss.together", count=number_word(count), loss=shown)
    return together if count > 1 else text("captions.loss.single", loss=shown)


def loss_told(ctx: TracedWeight, misses: Sequence[Miss]) -> Caption:
    """Return a caption of the error of the shown sample, with the bars or curve to draw."""
    right, neurons = right_output(ctx.facts, ctx.state), tuple([each.neuron for each in misses])
    if right is not None:
        share = misses[right[1]].out
        bars = shares_in_print(floats(ctx.answers[0]), misses, right[1])
        comes = "" if bars is None else text("captions.softmax.powers")
        bars = bars or bars_among([Bar(each.name, each.out) for each in misses], right[1])
        words, bent = text("captions.loss.right", share=percent(share)), loss_of_share(share)
        return Caption(words, neurons=(right,), bars=bars, bent=bent, comes=comes)
    off = mean_off([each.out for each in misses], [each.goal for each in misses])
    words = text("captions.loss.off", off=number(off, FINE))
    return Caption(words, neurons=neurons[:MOST_TERMS], misses=tuple(misses))


def shares_in_print(scores: Sequence[float], misses: Sequence[Miss], right: int) -> Bars | None:
    """Return bars for the largest scores: score, exp(score), and the probability that follows.

    The last bars are all other scores and the sum. Returns None if captions have too few digits for
    the printed probabilities to follow.
    """
    count = LARGEST + (len(scores) == LARGEST + 1)  # no single other
    order = sorted([*range(len(scores))], key=lambda i: -scores[i])
    shown = order[:count] if right in order[:count] else [*order[: count - 1], right]
    shown = shown if len(order) > count else [*range(len(order))]
    rest = [i for i in order if i not in shown]
    for digits in (2, 3, 4):
        printed = [short(each, digits) for each in scores]
        powers = [math.exp(min(MOST_SCORE, read(each))) for each in printed]
        parts = [short(powers[i], digits) for i in shown]
        others = [short(exact_sum([powers[i] for i in rest]), digits)] if len(rest) > 0 else []
        total = short(exact_sum([read(each) for each in [*parts, *others]]), digits)
        whole = read(total)  # 0 where all scores are far below 0
        found = [percent(read(each) / whole) for each in parts] if whole > 0 else []
        if found != [percent(misses[i].out) for i in shown]:
            continue
        rows = [
            Bar(typeset(f"{misses[i].name}: {printed[i]} → {part}"), misses[i].out)
            for i, part in zip(shown, parts, strict=True)
        ]
        for each in others:
            name = text("captions.softmax.others", count=len(rest), sum=each)
            rows.append(Bar(typeset(name), exact_sum([misses[i].out for i in rest])))
        rows.append(Bar(typeset(text("captions.softmax.sum", sum=total)), 1.0))
        return Bars(tuple(rows), None, shown.index(right), "share")
    return None


def read(printed: str) -> float:
    """Return the value of a printed number."""
    return float(printed.replace(",", ""))


def loss_of_share(share: float) -> Bent | None:
    """Return the curve of the loss over the probability of the right class, or None."""
    if not share > 0.0:
        return None
    least: float = min(LEAST_SHARE, share)
    places = [least ** (1.0 - i / CURVE) for i in range(CURVE + 1)]
    points = tuple([(each, -math.log(each)) for each in places])
    return Bent(share, -math.log(share), points, is_share=True)


def weighed(ctx: TracedWeight) -> list[EquationTerm | str]:
    """Return the weight of the focus sample as a factor; [] if samples have no weights."""
    weight = ctx.state.weight
    return [] if weight is None else [EquationTerm((weight,)), " × "]


def by_weight(
    compute: Callable[[Sequence[float]], float], weight: Sequence[EquationTerm | str]
) -> Callable[[Sequence[float]], float]:
    """Return `compute`, with its result multiplied by the first number if `weight` is not empty."""
    return (lambda v: v[0] * compute(v[1:])) if weight else compute


def factor_of(function: LossFacts) -> str:
    """Return the leading factor of a loss as text; "" if it is 1."""
    return "" if function.factor == 1.0 else f"{said(function.factor, MOST)} × "


def only(whole: float) -> str:
    """Return a text with the loss alone, without the errors of the samples."""
    return text("captions.loss.only", loss=said(whole, 3))


def errors_of(ctx: TracedWeight) -> tuple[list[float], CaptionLine]:
    """Return the errors of the focus sample, and a line that shows some of these errors."""
    function, name = ctx.facts.loss, ctx.facts.outputs
    p, t = (floats(each) for each in ctx.answers)
    errors = errors_in(function, p, t)
    if not function.scalar:
        return errors, row_line(ctx, p, t, errors[0])
    pieces: list[Piece] = []
    for i in range(min(len(p), SHOWN_TERMS)):
        term, compute = loss_term(function.error, p[i], t[i], (name, i))
        start = [f"{short_name(ctx.facts, i)}: "] if len(p) > 1 else []
        pieces += [Piece("; ")] if pieces else []
        pieces += equation([*start, term], compute, errors[i], about=(name, i))
    left = len(p) - SHOWN_TERMS
    pieces += [Piece("; "), Piece(text("captions.others", count=left))] if left > 0 else []
    return errors, tuple(pieces)


def errors_in(function: LossFacts, p: Sequence[float], t: Sequence[float]) -> list[float]:
    """Return the error of each output of a sample; a single error if the loss combines outputs."""
    if not function.scalar:
        assert function.of_row is not None
        return [function.of_row(p, t)]
    compute = function.error.compute
    assert compute is not None
    return [compute(a, b) for a, b in zip(p, t, strict=True)]


def loss_term(
    part: LossPart, p: float, t: float, neuron: Neuron
) -> tuple[EquationTerm, Callable[[Sequence[float]], float]]:
    """Return the error of a loss, or its slope, as a term, and a function that computes it.

    If the formula has cases, the case that holds for p and t is used.
    """
    known = {"p": p, "t": t}
    own = case_of(part.cases, known)
    if own is not None:
        return term_of(own.text, known, own.compute, neuron)
    assert part.compute is not None
    return term_of(part.text, known, part.compute, neuron)


def term_of(
    formula: str,
    known: Mapping[str, float],
    function: Callable[..., float],
    neuron: Neuron,
) -> tuple[EquationTerm, Callable[[Sequence[float]], float]]:
    """Return a formula with inserted numbers as a term, and a function of the term's numbers.

    Args:
        formula: the formula, which may use only some of the numbers
        known: the numbers by name
        function: a function of all of them
        neuron: the neuron of the term
    """
    written = NAME.findall(formula)
    names = [each for each in known if each in written]

    def words(*numbers: str) -> str:
        return fill(formula, dict(zip(names, numbers, strict=True)))

    def compute(v: Sequence[float]) -> float:
        now = {**known, **dict(zip(names, v, strict=True))}
        return function(*now.values())

    return EquationTerm(tuple(known[each] for each in names), words, neuron=neuron), compute


def log_sum_exp(z: Sequence[float]) -> float:
    """Return log(sum of exp(z)) without overflow: the largest is subtracted first."""
    top = largest(z)
    return top + math.log(exact_sum(math.exp(each - top) for each in z))


def row_line(ctx: TracedWeight, p: list[float], t: list[float], error: float) -> CaptionLine:
    """Return the line of a sample's error for a loss that combines all outputs."""
    function, name, right = ctx.facts.loss, ctx.facts.outputs, largest_place(t)
    is_softmax = function.name == "softmax_cross_entropy"
    if not is_softmax or t[right] != 1.0 or sum(abs(each) for each in t) != 1.0:
        words = text("captions.loss.error", error=said(error, 3))
        return plain_lines(words if is_softmax else f"{function.name}: {words}")[0]
    share = math.exp(p[right] - log_sum_exp(p))
    start = text("captions.loss.share", unit=ctx.called((name, right)))
    term = EquationTerm((share,), "-log({})".format, neuron=(name, right))
    return equation([f"{start}: ", term], lambda v: -math.log(v[0]), error, about=(name, right))


def part_lines(
    ctx: TracedWeight, errors: list[float], whole: float
) -> tuple[list[CaptionLine], CaptionLine | None]:
    """Return lines in which errors add up to the loss: of the focus sample, then of all samples.

    The second result is the last line with all samples, if the first lines omit some; else None.
    """
    function, samples = ctx.facts.loss, ctx.state.batch
    divisor = (function.divisor or 1) if function.scalar else 1
    scale, last = function.factor / divisor, samples == 1
    weight = weighed(ctx)
    own = exact_sum(errors) * scale * (1.0 if ctx.state.weight is None else ctx.state.weight)
    found: list[CaptionLine] = []
    if len(errors) > 1 or scale != 1.0 or weight:
        terms = shortened([EquationTerm((each,)) for each in errors], 0, SHOWN_TERMS)
        before = factor_of(function)
        is_sum = len(terms) > 1 and (before != "" or divisor > 1 or len(weight) > 0)
        inner: list[EquationTerm | str] = ["(", *between(terms), ")"] if is_sum else between(terms)
        start = "L = " if last else text("captions.sample", sample=sample_of(ctx.state)) + ": "
        end = [f" / {divisor}"] if divisor > 1 else []
        add = sums(terms)
        parts: list[EquationTerm | str] = [start + before, *weight, *inner, *end]
        compute = by_weight(add, weight)
        found.append(equation(parts, lambda v: compute(v) * scale, whole if last else own))
    if last:
        return found or [plain_lines(only(whole))[0]], None
    if not is_small(samples, samples * len(ctx.answers[0])):
        words = text("captions.loss.over", loss=said(whole, 3), count=samples)
        return [*found, *plain_lines(words)], None
    each, count = errors_of_samples(ctx), 1 if function.mean == "none" else samples
    others = whole * count - own
    if each is not None:
        others = exact_sum(
            error * scale for i, error in enumerate(each) if i != sample_of(ctx.state)
        )
    more = plural("captions.more_samples", samples - 1, rest="{}").format
    terms = [EquationTerm((own,)), EquationTerm((others,), more, opens=True)]
    found.append(mean_line(terms, count, whole))
    if each is None:
        return found, None
    every = shortened(
        [EquationTerm((error * scale,)) for error in each], sample_of(ctx.state), MOST_TERMS
    )
    return found, written_apart(lambda: mean_line(every, count, whole))


def mean_line(terms: Sequence[EquationTerm], count: int, whole: float) -> CaptionLine:
    """Return the loss as the mean of the samples' losses, or as their sum if `count` is 1."""
    add = sums(terms)
    parts: list[EquationTerm | str] = ["L = ", *between(terms)]
    if count > 1:
        parts = ["L = (", *between(terms), f") / {count}"]
    return equation(parts, lambda v: add(v) / count, whole)


def errors_of_samples(ctx: TracedWeight) -> list[float] | None:
    """Return the error of each sample of the batch; None if unknown."""
    function, size = ctx.facts.loss, len(ctx.answers[0])
    p, t = ctx.of_batch("values", ctx.facts.outputs), ctx.of_batch("targets")
    if p is None or t is None:
        return None
    starts = range(0, ctx.state.batch * size, size)
    pairs = [(floats(p[first : first + size]), floats(t[first : first + size])) for first in starts]
    errors = [exact_sum(errors_in(function, own, wanted)) for own, wanted in pairs]
    weights = None if ctx.state.all is None else ctx.state.all.weights
    if weights is None:
        return errors
    return [error * float(weight) for error, weight in zip(errors, weights, strict=True)]
