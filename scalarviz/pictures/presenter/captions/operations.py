"""Captions of operations by their kind, forward, with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import row_text, text
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.formula_words import WrittenFormula, formula_of
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.program import NONE, parametric_rows
from scalarviz.pictures.presenter.captions.format import FEW, fill, pretty, said
from scalarviz.pictures.presenter.captions.lines import (
    PRODUCT,
    SECOND_ON_CUBE,
    Line,
    Term,
    equation,
    is_long,
    listed,
    signed,
    sum_line,
    summed,
    whole_line,
)
from scalarviz.pictures.presenter.captions.names import sentence
from scalarviz.pictures.presenter.paths import weights_into
from scalarviz.pictures.presenter.traced_weight import TracedWeight
from scalarviz.training.session.caption import Caption, Neuron, Piece, plain_lines

CaptionFn = Callable[[TracedWeight], Caption]


def caption_of(key: str, *lines: Line, **fields: object) -> Caption:
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
        Term((float(x[i]), float(bank.value[row])), PRODUCT, row, (source, i), SECOND_ON_CUBE)
        for row, i in zip(rows.tolist(), read.tolist(), strict=True)
    ]
    kept = np.flatnonzero(read == column)
    kind, has_bias = operation.kind, operation.biases != NONE
    if has_bias:
        row = operation.biases + output // operation.outputs_per_bias
        word = text("plates.shift" if kind == "scale" else "plates.bias")
        named, mark = f"{word} {{}}".format, "{}\n× 1".format
        terms.append(Term((float(bank.value[row]),), named, row, mark=mark, stays=True))
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
) -> Line:
    """Return what an activation makes of a number, as a line.

    row            the activation
    z, a           the number, and the result
    before, behind the neurons that have them
    least          fewest digits; by default 2
    """
    parts: list[Term | str] = [f"{row.name}(", Term((z,), neuron=before), ")"]
    own = own_formula(row, z)
    if own is None:
        return equation(parts, lambda v: row.value(v[0]), a, about=behind, least=least)
    formula, compute = own.alone, own.compute
    parts[-1] = ") = "
    parts.append(Term((z,), lambda number: fill(formula, {"z": number})))
    return equation(parts, lambda v: compute(v[1]), a, about=behind, least=least)


def parametric(ctx: TracedWeight) -> Caption:
    """A formula with parameters, of one number."""
    operation, place = ctx.operation, ctx.place[0]
    x, y = (float(ctx.of_sample(each)[place]) for each in (ctx.numbers.inputs, ctx.numbers.outputs))
    name, value = operation.formula, ctx.network.bank.value
    row = PARAMETRIC_FORMULAS[name]
    own = [Term((float(value[each]),), row=each) for each in parametric_rows(operation, place)]
    parts: list[Term | str] = [f"{name}(", Term((x,), neuron=ctx.before)]
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
    terms = [Term((straight,), neuron=(second.name, place)), Term((x,), neuron=ctx.before)]
    line = sum_line(terms, y, about=ctx.behind)
    return about(ctx, caption_of("sum", line, unit=ctx.called(ctx.behind)), y)


def product(ctx: TracedWeight) -> Caption:
    place, result = ctx.place[0], float(ctx.of_sample(ctx.numbers.outputs)[ctx.place[0]])
    numbers = [float(ctx.held(source)[place]) for source in ctx.operation.sources]
    ends = [(source.name, place) for source in ctx.operation.sources]
    line = sum_line([product_term(numbers, *ends)], result, about=ctx.behind)
    return about(ctx, caption_of("product", line, unit=ctx.called(ctx.behind)), result)


def product_term(numbers: Sequence[float], first: Neuron, second: Neuron) -> Term:
    """Return the product of the numbers of two neurons."""
    return Term(tuple(numbers), PRODUCT, neuron=first, behind=second)


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
        out: Line = (Piece(text("captions.dropout.own", x=said(own_x)), neuron=ctx.behind),)
        lines = out, *plain_lines(count)
        return about(ctx, caption_of("dropout_out", *lines, unit=unit), own_y)
    line = kept_line(Term((own_x,), neuron=ctx.before), rate, own_y, ctx.behind)
    return about(ctx, caption_of("dropout", line, *plain_lines(count), unit=unit), own_y)


def kept_line(number: Term, rate: float, result: float, about: Neuron) -> Line:
    """Return the line of a number that a dropout of this rate keeps, which makes it larger."""
    parts: list[Term | str] = [number, " / (1 - ", Term((rate,), exact=True), ")"]
    return equation(parts, lambda v: v[0] / (1.0 - v[1]), result, about=about)


def standardizing(x: float, mean: float, variance: float, eps: float) -> list[Term | str]:
    """Return the parts of (x - mean) / sqrt(variance + eps)."""
    parts: list[Term | str] = ["(", Term((x,)), *signed(mean), ") / sqrt("]
    return [*parts, Term((variance,)), " + ", Term((eps,), exact=True), ")"]


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
