"""Captions of the forward pass: operations on neurons and whole samples, predictions, the loss."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, row_text, text
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.formula_words import WrittenFormula, formula_of, value_at, written
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LossRow, RowLossRow, by_nothing, log_sum_exp
from scalarviz.core.program import NONE, parametric_rows
from scalarviz.story.caption import Caption, Neuron, Piece, plain_lines
from scalarviz.story.equations import (
    MOST_TERMS,
    PRODUCT,
    SECOND_ON_CUBE,
    SHOWN_TERMS,
    CaptionLine,
    EquationTerm,
    between,
    equation,
    is_long,
    listed,
    shortened,
    signed,
    sum_line,
    summed,
    sums,
    whole_line,
)
from scalarviz.story.formats import FEW, MOST, both, exact_sum, fill, pretty, said, written_apart
from scalarviz.story.names import sentence, short_name
from scalarviz.story.traced_weight import TracedWeight, weights_into

CaptionFn = Callable[[TracedWeight], Caption]


def caption_of(key: str, *lines: CaptionLine, **fields: object) -> Caption:
    """Return the caption with the texts of a key and these lines of numbers."""
    title, formula = (text(f"captions.{key}.{part}", **fields) for part in ("title", "formula"))
    return Caption(sentence(title), formula, lines)


def about(ctx: TracedWeight, caption: Caption, value: float, what: str = "") -> Caption:
    """Return a caption whose subject is a neuron with this value.

    what  "": the output of the operation, the default; "delta": that of its delta; "arrives": the
          input, with what arrives there
    """
    neuron = ctx.before if what == "arrives" else ctx.behind
    words = text(
        f"captions.callout{'.arrives' if what == 'arrives' else '.delta' if what else ''}",
        unit=ctx.called(neuron),
        value=said(value),
    )
    return replace(caption, neurons=(neuron,), callout=words)


def weighted(ctx: TracedWeight) -> Caption:
    """The weighted sum of one output."""
    operation, (output, column) = ctx.operation, ctx.place
    x, y = ctx.of_sample(ctx.numbers.inputs), float(ctx.of_sample(ctx.numbers.outputs)[output])
    bank, (rows, read) = ctx.network.bank, weights_into(operation, output)
    source = operation.source.name
    terms = [
        EquationTerm(
            (float(x[i]), float(bank.value[row])), PRODUCT, row, (source, i), SECOND_ON_CUBE
        )
        for row, i in zip(rows.tolist(), read.tolist(), strict=True)
    ]
    kept = np.flatnonzero(read == column)
    kind, has_bias = operation.kind, operation.biases != NONE
    if has_bias:
        row = operation.biases + output // operation.outputs_per_bias
        word = text("plates.shift" if kind == "scale" else "plates.bias")
        named, mark = f"{word} {{}}".format, "{}\n× 1".format
        terms.append(EquationTerm((float(bank.value[row]),), named, row, mark=mark, stays=True))
    keep = int(kept[0]) if ctx.chosen and len(kept) else NONE
    kind = "shifted" if kind == "scale" and has_bias else kind
    line = sum_line(terms, y, keep=keep, about=ctx.behind)
    whole = (whole_line(terms, y, keep=keep, about=ctx.behind),) if is_long(terms) else ()
    caption = caption_of(f"weighted.{kind}", line, x=ctx.letter, unit=ctx.called(ctx.behind))
    bias = text("captions.weighted.bias") if has_bias and operation.kind != "scale" else ""
    added = summed(terms, y, (source, len(x)))
    caption = replace(caption, formula=caption.formula + bias, whole=whole, summed=added)
    return about(ctx, caption, y)


def activation(ctx: TracedWeight) -> Caption:
    name, place = ctx.operation.formula, ctx.place[0]
    z, a = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    row, unit = ACTIVATIONS[name], ctx.called(ctx.behind)
    words = row.caption or text("captions.activation", unit="{unit}", name=name)
    if row.zero_caption and a == 0.0:
        words = row_text(f"rows.activations.{name}.zero_caption", row.zero_caption)
    else:
        words = row_text(f"rows.activations.{name}.caption", words)
    line = activation_line(row, float(z), float(a), ctx.before, ctx.behind)
    own = own_formula(row)
    formula = f"a = {name}(z)" + (f" = {pretty(own.alone)}" if own is not None else "")
    title = sentence(words.replace("{unit}", unit))
    return about(ctx, Caption(title, formula, (line,)), float(a))


def own_formula(row: ActivationFormula, *at: float) -> WrittenFormula | None:
    """Return the formula of an activation without captions of its own, of z; None if it has none.

    row  the activation
    at   z, of which only the case that it meets is written; by default all cases
    """
    return None if row.caption or row.slope else formula_of(row.value, ("z",), at)


def activation_line(
    row: ActivationFormula,
    z: float,
    a: float,
    before: Neuron | None = None,
    behind: Neuron | None = None,
    *,
    least: int = FEW,
) -> CaptionLine:
    """Return what an activation makes of a number, as a line.

    row            the activation
    z, a           the number, and the result
    before, behind the neurons that have them
    least          fewest digits; by default 2
    """
    parts: list[EquationTerm | str] = [f"{row.name}(", EquationTerm((z,), neuron=before), ")"]
    own = own_formula(row, z)
    if own is None:
        return equation(parts, lambda v: row.value(v[0]), a, about=behind, least=least)
    formula, compute = own.alone, own.compute
    parts[-1] = ") = "
    parts.append(EquationTerm((z,), lambda number: fill(formula, {"z": number})))
    return equation(parts, lambda v: compute(v[1]), a, about=behind, least=least)


def parametric(ctx: TracedWeight) -> Caption:
    """A formula with parameters, of one number."""
    operation, place = ctx.operation, ctx.place[0]
    x, y = (float(ctx.of_sample(each)[place]) for each in (ctx.numbers.inputs, ctx.numbers.outputs))
    name, value = operation.formula, ctx.network.bank.value
    row = PARAMETRIC_FORMULAS[name]
    own = [
        EquationTerm((float(value[each]),), row=each) for each in parametric_rows(operation, place)
    ]
    parts: list[EquationTerm | str] = [f"{name}(", EquationTerm((x,), neuron=ctx.before)]
    for term in own:
        parts += [", ", term]
    line = equation([*parts, ")"], lambda v: row.value(*v), y, about=ctx.behind)
    title = sentence(text("captions.parametric", unit=ctx.called(ctx.behind), name=name))
    formula = f"y = {name}(x, {', '.join(row.parameters)})"
    return about(ctx, Caption(title, formula, (line,)), y)


def plain(ctx: TracedWeight) -> Caption:
    """Caption of a kind without one of its own: the meaning in its table row."""
    name = (ctx.operation.formula or ctx.operation.kind).replace("_", " ")
    read, y = map(ctx.held, ctx.operation.sources), ctx.of_sample(ctx.numbers.outputs)
    kind = ctx.operation.about
    meaning = pretty(row_text(f"rows.kinds.{kind.name}.meaning", kind.meaning))
    inputs = ", ".join(listed(each.tolist()) for each in read)
    lines = plain_lines(f"{inputs} → {listed(y.tolist())}")
    caption = Caption(text("captions.plain", name=name), meaning, lines)
    return about(ctx, caption, float(y[ctx.place[0]]))


def unchanged(ctx: TracedWeight) -> Caption:
    """A branch, or a concatenation: the numbers go on as they are."""
    y = ctx.of_sample(ctx.numbers.outputs)
    is_branch, line = ctx.operation.kind == "branch", plain_lines(listed(y.tolist()))
    caption = caption_of("branch" if is_branch else "concatenation", *line)
    return about(ctx, caption, float(y[ctx.place[0]]))


def joined(ctx: TracedWeight) -> Caption:
    place, second = ctx.place[0], ctx.operation.sources[1]
    straight = float(ctx.held(second)[place])
    x, y = (float(each[place]) for each in map(ctx.of_sample, ctx.ends))
    terms = [
        EquationTerm((straight,), neuron=(second.name, place)),
        EquationTerm((x,), neuron=ctx.before),
    ]
    line = sum_line(terms, y, about=ctx.behind)
    return about(ctx, caption_of("sum", line, unit=ctx.called(ctx.behind)), y)


def product(ctx: TracedWeight) -> Caption:
    place, result = ctx.place[0], float(ctx.of_sample(ctx.numbers.outputs)[ctx.place[0]])
    numbers = [float(ctx.held(source)[place]) for source in ctx.operation.sources]
    ends = [(source.name, place) for source in ctx.operation.sources]
    line = sum_line([product_term(numbers, *ends)], result, about=ctx.behind)
    return about(ctx, caption_of("product", line, unit=ctx.called(ctx.behind)), result)


def product_term(numbers: Sequence[float], first: Neuron, second: Neuron) -> EquationTerm:
    """Return the product of the numbers of two neurons."""
    return EquationTerm(tuple(numbers), PRODUCT, neuron=first, behind=second)


def dropout(ctx: TracedWeight) -> Caption:
    """Whether the traced number is dropped, and how many others are."""
    (rate,), place = ctx.operation.settings, ctx.place[0]
    x, y = map(ctx.of_sample, ctx.ends)
    unit, own_x, own_y = ctx.called(ctx.behind), float(x[place]), float(y[place])
    some, left_out = int(np.count_nonzero(x)), int(np.sum((y == 0.0) & (x != 0.0)))
    count = text("captions.dropout.count", left_out=left_out, some=some)
    if some < len(x):
        count = text("captions.dropout.zeros", count=count, others=len(x) - some)
    if own_y == 0.0 != own_x:
        out: CaptionLine = (Piece(text("captions.dropout.own", x=said(own_x)), neuron=ctx.behind),)
        lines = out, *plain_lines(count)
        return about(ctx, caption_of("dropout_out", *lines, unit=unit), own_y)
    line = kept_line(EquationTerm((own_x,), neuron=ctx.before), rate, own_y, ctx.behind)
    return about(ctx, caption_of("dropout", line, *plain_lines(count), unit=unit), own_y)


def kept_line(number: EquationTerm, rate: float, result: float, about: Neuron) -> CaptionLine:
    """Return the line of a number that a dropout of this rate keeps, which makes it larger."""
    parts: list[EquationTerm | str] = [number, " / (1 - ", EquationTerm((rate,), exact=True), ")"]
    return equation(parts, lambda v: v[0] / (1.0 - v[1]), result, about=about)


def standardizing(x: float, mean: float, variance: float, eps: float) -> list[EquationTerm | str]:
    """Return the parts of (x - mean) / sqrt(variance + eps)."""
    parts: list[EquationTerm | str] = ["(", EquationTerm((x,)), *signed(mean), ") / sqrt("]
    return [*parts, EquationTerm((variance,)), " + ", EquationTerm((eps,), exact=True), ")"]


def standardized(mean: float) -> Callable[[Sequence[float]], float]:
    """Return what computes (x - mean) / sqrt(variance + eps) from x, |mean|, variance and eps."""
    sign = -1.0 if mean < 0.0 else 1.0
    return lambda v: float((v[0] - sign * v[1]) / np.sqrt(v[2] + v[3]))


def batch_norm(ctx: TracedWeight) -> Caption:
    """Mean and variance of one feature over all samples and pixels."""
    operation, place = ctx.operation, ctx.place[0]
    features, pixels, eps = (operation.settings[i] for i in range(3))
    feature = place // int(pixels)
    own = feature_of(ctx, ctx.numbers.inputs, feature)
    x, y = (float(each[place]) for each in map(ctx.of_sample, ctx.ends))
    mean, variance = float(own.mean()), float(own.var())
    is_held = operation.is_held(ctx.network.bank.frozen)
    over = text("captions.batch_norm.over", count=own.size)
    if is_held:
        first = operation.state + feature
        mean, variance = (float(ctx.network.bank.state[i]) for i in (first, first + int(features)))
        over = text("captions.batch_norm.running")
    parts = standardizing(x, mean, variance, eps)
    line = equation(parts, standardized(mean), y, about=ctx.behind)
    numbers = {"mean": said(mean, 3), "variance": said(variance, 3)}
    over = text("captions.batch_norm.feature", feature=feature, over=over, **numbers)
    lines, unit = (line, *plain_lines(over)), ctx.called(ctx.behind)
    caption = caption_of("frozen_batch_norm" if is_held else "batch_norm", *lines, unit=unit)
    return about(ctx, caption, y)


def feature_of(ctx: TracedWeight, numbers: FloatArray | None, feature: int) -> FloatArray:
    """Return a feature of all samples."""
    assert numbers is not None
    features = int(ctx.operation.settings[0])
    found: FloatArray = numbers.astype(np.float64).reshape(len(numbers), features, -1)[:, feature]
    return found


# Operations on a whole sample: norms, pooling, softmax, waves.

LineFn = Callable[[TracedWeight, FloatArray, float], tuple[CaptionLine, ...]]


def row_formula(ctx: TracedWeight) -> Caption:
    """One number of a row formula, with its arithmetic if it has some here."""
    name, unit = ctx.operation.formula, ctx.called(ctx.behind)
    title = row_text(f"rows.row_formulas.{name}.caption", text("captions.row", name=name))
    formula = row_text(f"rows.row_formulas.{name}.formula", f"y = {name}(x)")
    x, y = map(ctx.of_sample, ctx.ends)
    own = float(y[ctx.place[0]])
    if name in ROW_LINES:
        lines = ROW_LINES[name](ctx, x, own)
    else:
        lines = plain_lines(f"{listed(x.tolist())} → {listed(y.tolist())}")
    caption = Caption(sentence(title.replace("{unit}", unit)), formula, lines)
    return about(ctx, caption, own)


def layer_norm(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    mean, variance, eps = float(x.mean()), float(x.var()), float(ctx.operation.settings[-1])
    parts = standardizing(float(x[ctx.place[0]]), mean, variance, eps)
    line = equation(parts, standardized(mean), y, about=ctx.behind)
    numbers = {"mean": said(mean, 3), "variance": said(variance, 3)}
    return line, *plain_lines(text("captions.layer_norm.over", count=len(x), **numbers))


def rms_norm(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    square, eps = float(np.mean(x * x)), float(ctx.operation.settings[-1])
    parts: list[EquationTerm | str] = [
        EquationTerm((float(x[ctx.place[0]]),), neuron=ctx.before),
        " / sqrt(",
    ]
    parts += [EquationTerm((square,)), " + ", EquationTerm((eps,), exact=True), ")"]
    line = equation(parts, lambda v: v[0] / math.sqrt(v[1] + v[2]), y, about=ctx.behind)
    return line, *plain_lines(text("captions.rms_norm.over", count=len(x), square=said(square, 3)))


def softmax(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    top, own = float(x.max()), float(x[ctx.place[0]])
    total = float(np.exp(x - top).sum())
    parts: list[EquationTerm | str] = [
        "exp(",
        EquationTerm((own,), neuron=ctx.before),
        " - ",
        EquationTerm((top,)),
    ]
    parts += [") / ", EquationTerm((total,))]
    line = equation(parts, lambda v: math.exp(v[0] - v[1]) / v[2], y, about=ctx.behind)
    return line, *plain_lines(text("captions.softmax.over", count=len(x), top=said(top, 3)))


def log_softmax(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    top, own = float(x.max()), float(x[ctx.place[0]])
    total = float(np.exp(x - top).sum())
    parts: list[EquationTerm | str] = [
        EquationTerm((own,), neuron=ctx.before),
        " - ",
        EquationTerm((top,)),
        " - log(",
    ]
    parts += [EquationTerm((total,)), ")"]
    line = equation(parts, lambda v: v[0] - v[1] - math.log(v[2]), y, about=ctx.behind)
    return line, *plain_lines(text("captions.log_softmax.over", count=len(x), top=said(top, 3)))


def waves(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    octaves, place = int(ctx.operation.settings[0]), ctx.place[0]
    which, wave = divmod(place, 2 * octaves)
    name, function = (("sin", math.sin), ("cos", math.cos))[wave % 2]
    times = 2.0 ** (wave // 2)
    number = EquationTerm((float(x[which]),), neuron=(ctx.operation.source.name, which))
    before = f"{times:.0f} × " if times > 1.0 else ""
    parts: list[EquationTerm | str] = [f"{name}({before}π × ", number, ")"]
    line = equation(parts, lambda v: function(times * math.pi * v[0]), y, about=ctx.behind)
    return (line,)


def spread(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    channel = ctx.place[0] // int(ctx.operation.settings[0])
    number = EquationTerm((float(x[channel]),), neuron=(ctx.operation.source.name, channel))
    return (equation([number], sum, y, about=ctx.behind),)


def window(ctx: TracedWeight, place: int) -> list[int]:
    """Return the inputs in the window of an output of a pooling."""
    channels, height, width, kernel, stride, padding = map(int, ctx.operation.settings[:6])
    high, wide = ((side + 2 * padding - kernel) // stride + 1 for side in (height, width))
    channel, line, column = (int(i) for i in np.unravel_index(place, (channels, high, wide)))
    top, left = line * stride - padding, column * stride - padding
    return [
        (channel * height + i) * width + j
        for i in range(max(top, 0), min(top + kernel, height))
        for j in range(max(left, 0), min(left + kernel, width))
    ]


def window_terms(ctx: TracedWeight, x: FloatArray) -> list[EquationTerm]:
    source = ctx.operation.source.name
    places = window(ctx, ctx.place[0])
    return [EquationTerm((float(x[i]),), neuron=(source, i)) for i in places[:MOST_TERMS]]


def max_pool(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    terms = window_terms(ctx, x)
    parts: list[EquationTerm | str] = [text("captions.max_pool.of"), *between(terms, ", "), ")"]
    return (equation(parts, max, y, about=ctx.behind),)


def average_pool(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[CaptionLine, ...]:
    return (average_line(ctx, window_terms(ctx, x), y, ctx.behind),)


def average_line(
    ctx: TracedWeight, terms: Sequence[EquationTerm], result: float, about: Neuron, start: str = ""
) -> CaptionLine:
    """Return the line of a sum that an average pooling divides by the pixels of its window."""
    pixels = int(ctx.operation.settings[3]) ** 2
    parts: list[EquationTerm | str] = [f"{start}(", *between(terms), f") / {pixels}"]
    return equation(parts, lambda v: exact_sum(v) / pixels, result, about=about)


ROW_LINES: dict[str, LineFn] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "frequency_encoding": waves,
    "spread": spread,
    "max_pool": max_pool,
    "average_pool": average_pool,
}


# Predictions and the loss.

MOST_SAMPLES, MOST_OUTPUTS = 4096, 65_536  # of a batch whose errors a caption computes itself


def is_small(samples: int, outputs: int) -> bool:
    """Return whether the errors of a batch with so many outputs in all are computed again."""
    return samples <= MOST_SAMPLES and outputs <= MOST_OUTPUTS


def predicted(ctx: TracedWeight, plainly: Caption) -> Caption:
    """Return the caption of the last operation: the prediction beside the target."""
    prediction, target = (each[ctx.sample].astype(np.float64) for each in ctx.answers)
    place, unit = ctx.place[0], ctx.called(ctx.behind)
    formula = re.sub(r"^\w+ =", "p =", plainly.formula)
    name = ctx.operation.target.name
    if ctx.loss.row.logits:
        top, right = int(np.argmax(prediction)), int(np.argmax(target))
        words = [text("captions.largest", unit=ctx.called((name, top)))] * (len(target) > 1)
        words += [text("captions.right", unit=ctx.called((name, right)))] * (len(target) > 1)
        pairs = zip(words, (top, right), strict=False)
        pieces, title = [Piece(each, neuron=(name, at)) for each, at in pairs], plainly.title
    else:
        own, should = both(float(prediction[place]), float(target[place]))
        title = sentence(text("captions.last", unit=unit, prediction=own, target=should))
        others = [i for i in range(len(target)) if i != place][:SHOWN_TERMS]
        pieces = []
        for i in others:
            p, t = both(float(prediction[i]), float(target[i]))
            unit_now = short_name(ctx.session, i)
            words_now = text("captions.should", unit=unit_now, prediction=p, target=t)
            pieces.append(Piece(words_now, neuron=(name, i)))
        left = len(target) - 1 - len(others)
        pieces += [Piece(text("captions.others", count=left))] * (left > 0)
    lines = (*plainly.lines, with_signs(pieces)) if pieces else plainly.lines
    return replace(plainly, title=title, formula=formula, lines=lines)


def with_signs(pieces: Sequence[Piece]) -> CaptionLine:
    """Return pieces with signs between them."""
    found: list[Piece] = []
    for piece in pieces:
        found += [Piece("; "), piece] if found else [piece]
    return tuple(found)


def loss(ctx: TracedWeight) -> Caption:
    """The errors of the focus sample, and the loss of the batch."""
    function, row = ctx.loss, ctx.loss.row
    outputs = ctx.answers[0].shape[1]
    error = pretty(loss_text(row, "error"))
    mean = "sum" if function.mean == "none" else "mean"
    if function.mean == "samples" and isinstance(row, LossRow) and outputs > 1:
        mean = "mean_of_sums"
    factor = "" if function.factor == 1.0 else f"{said(function.factor, MOST)} × "
    formula = f"L = {factor}{text(f'captions.loss.formula.{mean}', error=error)}"
    terms, line = errors_of(ctx)
    whole = ctx.session.timeline.loss
    parts, total = part_lines(ctx, terms, whole)
    title = text("captions.loss.title", loss=said(whole, 3))
    caption = Caption(title, formula, (line, *parts))
    if total:
        caption = replace(caption, whole=(line, *parts[:-1], total))
    behind = ctx.program.outputs.name
    neurons = tuple((behind, i) for i in range(min(outputs, MOST_TERMS)))
    words = text("captions.callout.loss", loss=said(whole))
    return replace(caption, neurons=neurons, callout=words)


def errors_of(ctx: TracedWeight) -> tuple[list[float], CaptionLine]:
    """Return the errors of the focus sample, and a line with some of them."""
    row, sample, name = ctx.loss.row, ctx.sample, ctx.program.outputs.name
    p, t = (each[sample].astype(np.float64).tolist() for each in ctx.answers)
    if not isinstance(row, LossRow):
        return row_error(ctx, p, t)
    errors = [error_at(row, a, b) for a, b in zip(p, t, strict=True)]
    pieces: list[Piece] = []
    for i in range(min(len(p), SHOWN_TERMS)):
        term, compute = loss_term(row, "error", p[i], t[i], (name, i))
        start = [f"{short_name(ctx.session, i)}: "] if len(p) > 1 else []
        pieces += [Piece("; ")] * bool(pieces)
        pieces += equation([*start, term], compute, errors[i], about=(name, i))
    left = len(p) - SHOWN_TERMS
    pieces += [Piece("; "), Piece(text("captions.others", count=left))] * (left > 0)
    return errors, tuple(pieces)


def error_at(row: LossRow, p: float, t: float) -> float:
    """Return the error of one number."""
    return value_at(row.value, p, t) * row.weight(p, t)


def loss_text(row: LossRow | RowLossRow, part: str) -> str:
    """Return the "error" of a loss or its "derivative" as captions write it, of p and t."""
    by_hand, mark = (row.error, "") if part == "error" else (row.slope, "'")
    if not by_hand and isinstance(row, LossRow) and row.weight is by_nothing:
        by_hand = written(row.value if part == "error" else row.derivative, ("p", "t"))
    return row_text(f"rows.losses.{row.name}.{part}", by_hand or f"{row.name}{mark}(p, t)")


def loss_term(
    row: LossRow, part: str, p: float, t: float, neuron: Neuron
) -> tuple[EquationTerm, Callable[[Sequence[float]], float]]:
    """Return the "error" of a loss or its "derivative" as a term, and what computes it.

    Of a formula with conditions, the term is the case that p and t meet.
    """
    function, formula = row.value if part == "error" else row.derivative, loss_text(row, part)
    if formula == written(function, ("p", "t")):
        own = formula_of(function, ("p", "t"), (p, t))
        if own is not None:
            return term_of(own.text, {"p": p, "t": t}, own.compute, neuron)

    def compute(p: float, t: float) -> float:
        return value_at(function, p, t) * row.weight(p, t)

    return term_of(formula, {"p": p, "t": t}, compute, neuron)


def term_of(
    formula: str,
    known: Mapping[str, float],
    function: Callable[..., float],
    neuron: Neuron,
) -> tuple[EquationTerm, Callable[[Sequence[float]], float]]:
    """Return a formula with numbers as a term, and what computes it from the term's numbers.

    formula   the formula, which may have only some of the numbers
    known     the numbers that it may have, by name
    function  of all of them
    neuron    the neuron that the term is about
    """
    names = [each for each in known if re.search(rf"\b{each}\b", formula)]

    def words(*numbers: str) -> str:
        return fill(formula, dict(zip(names, numbers, strict=True)))

    def compute(v: Sequence[float]) -> float:
        now = {**known, **dict(zip(names, v, strict=True))}
        return function(*now.values())

    return EquationTerm(tuple(known[each] for each in names), words, neuron=neuron), compute


def row_error(ctx: TracedWeight, p: list[float], t: list[float]) -> tuple[list[float], CaptionLine]:
    """Return the error of a sample whose loss takes all outputs together, and its line."""
    row, name = ctx.loss.row, ctx.program.outputs.name
    assert not isinstance(row, LossRow)
    error = row.value(p, t)
    right = int(np.argmax(t))
    if row.name != "softmax_cross_entropy" or t[right] != 1.0 or sum(map(abs, t)) != 1.0:
        words = text("captions.loss.error", error=said(error, 3))
        if row.name != "softmax_cross_entropy":
            words = f"{row.name}: {words}"
        return [error], plain_lines(words)[0]
    share = math.exp(p[right] - log_sum_exp(p))
    start = text("captions.loss.share", unit=ctx.called((name, right)))
    parts: list[EquationTerm | str] = [
        f"{start}: ",
        EquationTerm((share,), "-log({})".format, neuron=(name, right)),
    ]
    return [error], equation(parts, lambda v: -math.log(v[0]), error, about=(name, right))


def part_lines(
    ctx: TracedWeight, errors: list[float], whole: float
) -> tuple[list[CaptionLine], CaptionLine | None]:
    """Return how the errors of the focus sample, and then those of all samples, make the loss.

    The second part is the last line with all samples, if some are left out.
    """
    function, row = ctx.loss, ctx.loss.row
    samples, outputs = ctx.answers[0].shape
    divisor = (function.divisor(outputs) or 1) if isinstance(row, LossRow) else 1
    scale = function.factor / divisor
    own = exact_sum(errors) * scale
    found = []
    last = samples == 1
    if len(errors) > 1 or scale != 1.0:
        terms = shortened([EquationTerm((each,)) for each in errors], 0, SHOWN_TERMS)
        before = "" if function.factor == 1.0 else f"{said(function.factor, MOST)} × "
        is_sum = len(terms) > 1 and (before or divisor > 1)
        inner: list[EquationTerm | str] = ["(", *between(terms), ")"] if is_sum else between(terms)
        start = "L = " if last else text("captions.sample", sample=ctx.sample) + ": "
        end = f" / {divisor}" if divisor > 1 else ""
        add = sums(terms)
        parts: list[EquationTerm | str] = [start + before, *inner, *([end] if end else [])]
        found.append(equation(parts, lambda v: add(v) * scale, whole if last else own))
    if last:
        return found or [plain_lines(text("captions.loss.only", loss=said(whole, 3)))[0]], None
    if not is_small(samples, samples * outputs):
        words = text("captions.loss.over", loss=said(whole, 3), count=samples)
        return [*found, *plain_lines(words)], None
    each = [EquationTerm((error * scale,)) for error in ctx.once(lambda: errors_of_samples(ctx))]
    others = exact_sum(term.value for i, term in enumerate(each) if i != ctx.sample)
    more = plural("captions.more_samples", samples - 1, rest="{}").format
    terms = [EquationTerm((own,)), EquationTerm((others,), more, opens=True)]
    every = shortened(each, ctx.sample, MOST_TERMS)
    total = written_apart(lambda: mean_line(ctx, every, whole))
    return [*found, mean_line(ctx, terms, whole)], total


def mean_line(ctx: TracedWeight, terms: Sequence[EquationTerm], whole: float) -> CaptionLine:
    """Return the loss as the mean, or the sum, of parts of samples."""
    count = 1 if ctx.loss.mean == "none" else len(ctx.answers[0])
    add = sums(terms)
    parts: list[EquationTerm | str] = ["L = ", *between(terms)]
    if count > 1:
        parts = ["L = (", *between(terms), f") / {count}"]
    return equation(parts, lambda v: add(v) / count, whole)


def errors_of_samples(ctx: TracedWeight) -> list[float]:
    """Return the error of each sample of the batch."""
    pairs = zip(*(numbers.astype(np.float64).tolist() for numbers in ctx.answers), strict=True)
    return [error_of(ctx, p, t) for p, t in pairs]


def error_of(ctx: TracedWeight, p: list[float], t: list[float]) -> float:
    """Return the error of a sample from its outputs and targets, added up."""
    row = ctx.loss.row
    if not isinstance(row, LossRow):
        return row.value(p, t)
    return exact_sum(error_at(row, a, b) for a, b in zip(p, t, strict=True))
