"""Captions of operations on a whole sample: norms, pooling, softmax, waves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import row_text, text
from scalarviz.pictures.presenter.captions.format import exact_sum, said
from scalarviz.pictures.presenter.captions.lines import (
    MOST_TERMS,
    Line,
    Term,
    between,
    equation,
    listed,
)
from scalarviz.pictures.presenter.captions.names import sentence
from scalarviz.pictures.presenter.captions.operations import (
    about,
    standardized,
    standardizing,
)
from scalarviz.pictures.presenter.traced_weight import TracedWeight
from scalarviz.training.session.caption import Caption, Neuron, plain_lines

LineFn = Callable[[TracedWeight, FloatArray, float], tuple[Line, ...]]


def row_formula(ctx: TracedWeight) -> Caption:
    """One number of a row formula, with its arithmetic if it has some here."""
    name, unit = ctx.operation.formula, ctx.called(ctx.behind)
    title = row_text(f"rows.row_formulas.{name}.caption", text("captions.row", name=name))
    formula = row_text(f"rows.row_formulas.{name}.formula", f"y = {name}(x)")
    x, y = map(ctx.of_sample, ctx.ends)
    own = float(y[ctx.place[0]])
    if name in LINES:
        lines = LINES[name](ctx, x, own)
    else:
        lines = plain_lines(f"{listed(x.tolist())} → {listed(y.tolist())}")
    caption = Caption(sentence(title.replace("{unit}", unit)), formula, lines)
    return about(ctx, caption, own)


def layer_norm(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    mean, variance, eps = float(x.mean()), float(x.var()), float(ctx.operation.settings[-1])
    parts = standardizing(float(x[ctx.place[0]]), mean, variance, eps)
    line = equation(parts, standardized(mean), y, about=ctx.behind)
    numbers = {"mean": said(mean, 3), "variance": said(variance, 3)}
    return line, *plain_lines(text("captions.layer_norm.over", count=len(x), **numbers))


def rms_norm(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    square, eps = float(np.mean(x * x)), float(ctx.operation.settings[-1])
    parts: list[Term | str] = [Term((float(x[ctx.place[0]]),), neuron=ctx.before), " / sqrt("]
    parts += [Term((square,)), " + ", Term((eps,), exact=True), ")"]
    line = equation(parts, lambda v: v[0] / math.sqrt(v[1] + v[2]), y, about=ctx.behind)
    return line, *plain_lines(text("captions.rms_norm.over", count=len(x), square=said(square, 3)))


def softmax(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    top, own = float(x.max()), float(x[ctx.place[0]])
    total = float(np.exp(x - top).sum())
    parts: list[Term | str] = ["exp(", Term((own,), neuron=ctx.before), " - ", Term((top,))]
    parts += [") / ", Term((total,))]
    line = equation(parts, lambda v: math.exp(v[0] - v[1]) / v[2], y, about=ctx.behind)
    return line, *plain_lines(text("captions.softmax.over", count=len(x), top=said(top, 3)))


def log_softmax(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    top, own = float(x.max()), float(x[ctx.place[0]])
    total = float(np.exp(x - top).sum())
    parts: list[Term | str] = [Term((own,), neuron=ctx.before), " - ", Term((top,)), " - log("]
    parts += [Term((total,)), ")"]
    line = equation(parts, lambda v: v[0] - v[1] - math.log(v[2]), y, about=ctx.behind)
    return line, *plain_lines(text("captions.log_softmax.over", count=len(x), top=said(top, 3)))


def waves(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    octaves, place = int(ctx.operation.settings[0]), ctx.place[0]
    which, wave = divmod(place, 2 * octaves)
    name, function = (("sin", math.sin), ("cos", math.cos))[wave % 2]
    times = 2.0 ** (wave // 2)
    number = Term((float(x[which]),), neuron=(ctx.operation.source.name, which))
    before = f"{times:.0f} × " if times > 1.0 else ""
    parts: list[Term | str] = [f"{name}({before}π × ", number, ")"]
    line = equation(parts, lambda v: function(times * math.pi * v[0]), y, about=ctx.behind)
    return (line,)


def spread(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    channel = ctx.place[0] // int(ctx.operation.settings[0])
    number = Term((float(x[channel]),), neuron=(ctx.operation.source.name, channel))
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


def window_terms(ctx: TracedWeight, x: FloatArray) -> list[Term]:
    source = ctx.operation.source.name
    places = window(ctx, ctx.place[0])
    return [Term((float(x[i]),), neuron=(source, i)) for i in places[:MOST_TERMS]]


def max_pool(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    terms = window_terms(ctx, x)
    parts: list[Term | str] = [text("captions.max_pool.of"), *between(terms, ", "), ")"]
    return (equation(parts, max, y, about=ctx.behind),)


def average_pool(ctx: TracedWeight, x: FloatArray, y: float) -> tuple[Line, ...]:
    return (average_line(ctx, window_terms(ctx, x), y, ctx.behind),)


def average_line(
    ctx: TracedWeight, terms: Sequence[Term], result: float, about: Neuron, start: str = ""
) -> Line:
    """Return the line of a sum that an average pooling divides by the pixels of its window."""
    pixels = int(ctx.operation.settings[3]) ** 2
    parts: list[Term | str] = [f"{start}(", *between(terms), f") / {pixels}"]
    return equation(parts, lambda v: exact_sum(v) / pixels, result, about=about)


LINES: dict[str, LineFn] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "frequency_encoding": waves,
    "spread": spread,
    "max_pool": max_pool,
    "average_pool": average_pool,
}
