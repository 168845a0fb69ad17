"""Captions of operations by their kind, forward and backward, with their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.model.operations import NONE
from scalarviz.presenter.captions.format import (
    equation,
    largest_products,
    listed,
    products,
    said,
)
from scalarviz.presenter.paths import weights_from, weights_into
from scalarviz.presenter.traced_weight import TracedWeight
from scalarviz.session.caption import Caption, plain_lines
from scalarviz.texts import plural, row_text, text


def caption_of(key: str, *numbers: str, **fields: object) -> Caption:
    """Return the caption with the texts of a key and these lines of numbers."""
    title, formula = (text(f"captions.{key}.{part}", **fields) for part in ("title", "formula"))
    return Caption(title, formula, plain_lines(*numbers))


def weighted(ctx: TracedWeight) -> Caption:
    """The weighted sum of one output."""
    operation, (output, column) = ctx.operation, ctx.place
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    bank, (rows, read) = ctx.network.bank, weights_into(operation, output)
    w, x = bank.value[rows].astype(np.float64), x[read]
    pinned = np.flatnonzero(read == column)
    terms, parts = products(w, x, int(pinned[0]) if len(pinned) else 0), w * x
    has_bias = operation.biases != NONE
    if has_bias:
        b = float(bank.value[operation.biases + output // operation.outputs_per_bias])
        terms, parts = [*terms, said(b)], np.append(parts, b)
    line = f"{ctx.unit}: {equation(terms, parts, y[output])}"
    kind = "shifted" if operation.kind == "scale" and has_bias else operation.kind
    caption = caption_of(f"weighted.{kind}", line, x="x" if ctx.is_first else "a")
    return replace(caption, formula=caption.formula + " + b" * has_bias)


def activation(ctx: TracedWeight) -> Caption:
    name, place = ctx.formula, ctx.place[0]
    z, a = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    title = ACTIVATIONS[name].caption or text("captions.activation", name=name)
    title = row_text(f"rows.activations.{name}.caption", title)
    return Caption(
        title, f"a = {name}(z)", plain_lines(f"{ctx.unit}: {name}({said(z)}) = {said(a)}")
    )


def row_formula(ctx: TracedWeight) -> Caption:
    name = ctx.formula
    title = row_text(f"rows.row_formulas.{name}.caption", text("captions.row", name=name))
    formula = row_text(f"rows.row_formulas.{name}.formula", f"y = {name}(x)")
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    return Caption(title, formula, plain_lines(f"{listed(x)} -> {listed(y)}"))


def plain(ctx: TracedWeight) -> Caption:
    """Caption of a kind without one of its own: the meaning in its table row."""
    name = (ctx.formula or ctx.operation.kind).replace("_", " ")
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    kind = ctx.operation.about
    meaning = row_text(f"rows.kinds.{kind.name}.meaning", kind.meaning)
    return Caption(
        text("captions.plain", name=name), meaning, plain_lines(f"{listed(x)} -> {listed(y)}")
    )


def branch(ctx: TracedWeight) -> Caption:
    x = ctx.of_sample(ctx.numbers.inputs)
    return caption_of("branch", listed(x))


def joined(ctx: TracedWeight) -> Caption:
    place = ctx.place[0]
    straight = ctx.held(ctx.operation.other)[place]
    x, y = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    sums = equation([said(straight), said(x)], np.array([straight, x]), y)
    return caption_of("sum", f"{ctx.unit}: {sums}")


def dropout(ctx: TracedWeight) -> Caption:
    """Whether the traced number is dropped, and how many others are."""
    (rate,), place = ctx.operation.settings, ctx.place[0]
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    left_out = int(np.sum((y == 0.0) & (x != 0.0)))
    own = f"{said(x[place])} / (1 - {said(rate)}) = {said(y[place])}"
    if y[place] == 0.0 != x[place]:
        own = text("captions.dropout.own", x=said(x[place]))
    some = int(np.count_nonzero(x))
    count = text("captions.dropout.count", left_out=left_out, some=some)
    if some < len(x):
        count = text("captions.dropout.zeros", count=count, others=len(x) - some)
    return caption_of("dropout", f"{ctx.unit}: {own}", count)


def batch_norm(ctx: TracedWeight) -> Caption:
    """Mean and variance of one feature over all samples and pixels."""
    operation, place = ctx.operation, ctx.place[0]
    inputs = ctx.numbers.inputs
    assert inputs is not None
    features, pixels, eps = (operation.settings[i] for i in range(3))
    feature = place // int(pixels)
    own = inputs.astype(np.float64).reshape(len(inputs), int(features), -1)[:, feature]
    x, y = ctx.of_sample(inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    mean, variance = float(own.mean()), float(own.var())
    over = plural("captions.batch_norm.over", own.size)
    is_held = operation.is_held(ctx.network.bank.frozen)
    if is_held:
        first = operation.state + feature
        mean, variance = (float(ctx.network.bank.state[i]) for i in (first, first + int(features)))
        over = text("captions.batch_norm.running")
    numbers = {"mean": said(mean), "variance": said(variance)}
    over = text("captions.batch_norm.feature", feature=feature, over=over, **numbers)
    above = f"({said(x)} - {said(mean)})".replace("- -", "+ ")
    line = f"{ctx.unit}: {above} / sqrt({said(variance)} + {eps:g}) = {said(y)}"
    return caption_of("frozen_batch_norm" if is_held else "batch_norm", over, line)


# Backward.


def weighted_back(ctx: TracedWeight) -> Caption:
    """Through weights: each path times its weight."""
    operation, (output, column) = ctx.operation, ctx.place
    upstream = ctx.of_sample(ctx.numbers.upstream)
    gradient = ctx.of_sample(ctx.numbers.gradient)
    rows, into, _ = weights_from(operation, column)
    w, flow = ctx.network.bank.value[rows].astype(np.float64), upstream[into]
    passed = np.flatnonzero(into == output)
    terms = products(w, flow, int(passed[0]) if len(passed) else 0)
    if operation.outputs_per_bias > 1:
        terms = largest_products(w, flow)
    total = equation(terms, w * flow, gradient[column])
    kind = "scale" if len(operation.shape) == 1 else "sum"
    return caption_of(f"weighted_back.{kind}", f"{place_name(ctx, column)}: {total}")


def place_name(ctx: TracedWeight, column: int) -> str:
    """Return the name of an input: its number, or its pixel."""
    shape = ctx.operation.source.shape
    if not shape:
        return text("captions.input", number=column)
    channel, line, at = (int(i) for i in np.unravel_index(column, shape))
    return text("units.channel.pixel", number=channel, row=line, column=at)


def row_back(ctx: TracedWeight) -> Caption:
    """Through an operation on a whole sample or batch."""
    name = (ctx.formula or ctx.operation.kind).replace("_", " ")
    upstream = ctx.of_sample(ctx.numbers.upstream)
    gradient = ctx.of_sample(ctx.numbers.gradient)
    line = f"{listed(upstream)} -> {listed(gradient)}"
    return caption_of("row_back", line, name=name, formula=ctx.formula or ctx.operation.kind)


def branch_back(ctx: TracedWeight) -> Caption:
    column, run = ctx.place[1], ctx.timeline.trainer.run
    assert ctx.operation.other is not None
    straight = ctx.of_sample(run.gradients(ctx.operation.other))[column]
    through = ctx.of_sample(ctx.numbers.upstream)[column]
    g = ctx.of_sample(ctx.numbers.gradient)[column]
    sums = equation([said(straight), said(through)], np.array([straight, through]), g)
    return caption_of("branch_back", f"{place_name(ctx, column)}: {sums}")


def sum_back(ctx: TracedWeight) -> Caption:
    g = ctx.of_sample(ctx.numbers.upstream)[ctx.place[0]]
    return caption_of("sum_back", text("captions.sum_back.number", unit=ctx.unit, g=said(g)))


def dropout_back(ctx: TracedWeight) -> Caption:
    (rate,), place = ctx.operation.settings, ctx.place[0]
    upstream = ctx.of_sample(ctx.numbers.upstream)[place]
    g = ctx.of_sample(ctx.numbers.gradient)[place]
    own = f"{said(upstream)} / (1 - {said(rate)}) = {said(g)}"
    if g == 0.0 != upstream:
        own = text("captions.dropout_back.own", g=said(upstream))
    return caption_of("dropout_back", f"{ctx.unit}: {own}")


# Kinds in neither table have the captions `plain` and `row_back`.
CaptionFn = Callable[[TracedWeight], Caption]
FORWARD_KINDS: dict[str, CaptionFn] = {
    "affine": weighted,
    "convolution": weighted,
    "scale": weighted,
    "activation": activation,
    "row": row_formula,
    "branch": branch,
    "sum": joined,
    "dropout": dropout,
    "batch_norm": batch_norm,
}
BACKWARD_KINDS: dict[str, CaptionFn] = {
    "affine": weighted_back,
    "convolution": weighted_back,
    "scale": weighted_back,
    "row": row_back,
    "branch": branch_back,
    "sum": sum_back,
    "dropout": dropout_back,
    "batch_norm": row_back,
}
