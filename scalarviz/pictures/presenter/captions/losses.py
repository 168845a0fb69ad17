"""Captions of the predictions and of the loss."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.texts import plural, row_text, text
from scalarviz.core.formulas.formula_words import formula_of, value_at, written
from scalarviz.core.formulas.losses import LossRow, RowLossRow, by_nothing, log_sum_exp
from scalarviz.pictures.presenter.captions.format import (
    MOST,
    both,
    exact_sum,
    fill,
    pretty,
    said,
    written_apart,
)
from scalarviz.pictures.presenter.captions.lines import (
    MOST_TERMS,
    SHOWN,
    Line,
    Term,
    between,
    equation,
    shortened,
    sums,
)
from scalarviz.pictures.presenter.captions.names import sentence, short_name
from scalarviz.pictures.presenter.traced_weight import TracedWeight
from scalarviz.training.session.caption import Caption, Neuron, Piece, plain_lines

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
        others = [i for i in range(len(target)) if i != place][:SHOWN]
        pieces = []
        for i in others:
            p, t = both(float(prediction[i]), float(target[i]))
            unit_now = short_name(ctx.session, i)
            words_now = text("captions.should", unit=unit_now, prediction=p, target=t)
            pieces.append(Piece(words_now, neuron=(name, i)))
        left = len(target) - 1 - len(others)
        pieces += [Piece(text("captions.others", count=left))] * (left > 0)
    lines = (*plainly.lines, joined(pieces)) if pieces else plainly.lines
    return replace(plainly, title=title, formula=formula, lines=lines)


def joined(pieces: Sequence[Piece]) -> Line:
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


def errors_of(ctx: TracedWeight) -> tuple[list[float], Line]:
    """Return the errors of the focus sample, and a line with some of them."""
    row, sample, name = ctx.loss.row, ctx.sample, ctx.program.outputs.name
    p, t = (each[sample].astype(np.float64).tolist() for each in ctx.answers)
    if not isinstance(row, LossRow):
        return row_error(ctx, p, t)
    errors = [error_at(row, a, b) for a, b in zip(p, t, strict=True)]
    pieces: list[Piece] = []
    for i in range(min(len(p), SHOWN)):
        term, compute = loss_term(row, "error", p[i], t[i], (name, i))
        start = [f"{short_name(ctx.session, i)}: "] if len(p) > 1 else []
        pieces += [Piece("; ")] * bool(pieces)
        pieces += equation([*start, term], compute, errors[i], about=(name, i))
    left = len(p) - SHOWN
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
) -> tuple[Term, Callable[[Sequence[float]], float]]:
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
) -> tuple[Term, Callable[[Sequence[float]], float]]:
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

    return Term(tuple(known[each] for each in names), words, neuron=neuron), compute


def row_error(ctx: TracedWeight, p: list[float], t: list[float]) -> tuple[list[float], Line]:
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
    parts: list[Term | str] = [
        f"{start}: ",
        Term((share,), "-log({})".format, neuron=(name, right)),
    ]
    return [error], equation(parts, lambda v: -math.log(v[0]), error, about=(name, right))


def part_lines(
    ctx: TracedWeight, errors: list[float], whole: float
) -> tuple[list[Line], Line | None]:
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
        terms = shortened([Term((each,)) for each in errors], 0, SHOWN)
        before = "" if function.factor == 1.0 else f"{said(function.factor, MOST)} × "
        is_sum = len(terms) > 1 and (before or divisor > 1)
        inner: list[Term | str] = ["(", *between(terms), ")"] if is_sum else between(terms)
        start = "L = " if last else text("captions.sample", sample=ctx.sample) + ": "
        end = f" / {divisor}" if divisor > 1 else ""
        add = sums(terms)
        parts: list[Term | str] = [start + before, *inner, *([end] if end else [])]
        found.append(equation(parts, lambda v: add(v) * scale, whole if last else own))
    if last:
        return found or [plain_lines(text("captions.loss.only", loss=said(whole, 3)))[0]], None
    if not is_small(samples, samples * outputs):
        words = text("captions.loss.over", loss=said(whole, 3), count=samples)
        return [*found, *plain_lines(words)], None
    each = [Term((error * scale,)) for error in ctx.once(lambda: errors_of_samples(ctx))]
    others = exact_sum(term.value for i, term in enumerate(each) if i != ctx.sample)
    more = plural("captions.more_samples", samples - 1, rest="{}").format
    terms = [Term((own,)), Term((others,), more, opens=True)]
    every = shortened(each, ctx.sample, MOST_TERMS)
    total = written_apart(lambda: mean_line(ctx, every, whole))
    return [*found, mean_line(ctx, terms, whole)], total


def mean_line(ctx: TracedWeight, terms: Sequence[Term], whole: float) -> Line:
    """Return the loss as the mean, or the sum, of parts of samples."""
    count = 1 if ctx.loss.mean == "none" else len(ctx.answers[0])
    add = sums(terms)
    parts: list[Term | str] = ["L = ", *between(terms)]
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
