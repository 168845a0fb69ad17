"""What is said of each kind of operation, forward and back, with its real numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.model.operations import NONE
from scalarviz.presenter.captions.format import (
    ROWS,
    WEIGHTED,
    counted,
    equation,
    largest_products,
    listed,
    products,
    said,
)
from scalarviz.presenter.paths import weights_from, weights_into
from scalarviz.presenter.traced_weight import TracedWeight


@dataclass(frozen=True)
class Caption:
    """A sentence, a formula (or ""), and up to three lines with its real numbers."""

    title: str
    formula: str = ""
    numbers: tuple[str, ...] = ()


def weighted(ctx: TracedWeight) -> Caption:
    """What is multiplied and added up for one output."""
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
    title, formula = WEIGHTED[operation.kind]
    name, bias = "x" if ctx.is_first else "a", " and its shift" * has_bias
    line = f"{ctx.unit}: {equation(terms, parts, y[output])}"
    return Caption(title.format(bias=bias), formula.format(x=name) + " + b" * has_bias, (line,))


def activation(ctx: TracedWeight) -> Caption:
    name, place = ctx.formula, ctx.place[0]
    z, a = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    title = ACTIVATIONS[name].caption or f"Each sum goes through {name}."
    return Caption(title, f"a = {name}(z)", (f"{ctx.unit}: {name}({said(z)}) = {said(a)}",))


def row_formula(ctx: TracedWeight) -> Caption:
    name = ctx.formula
    title, formula = ROWS.get(name, (f"Each sample goes through {name}.", f"y = {name}(x)"))
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    return Caption(title, formula, (f"{listed(x)} -> {listed(y)}",))


def plain(ctx: TracedWeight) -> Caption:
    """What the row of a kind says, for one of which nothing else is said."""
    name = (ctx.formula or ctx.operation.kind).replace("_", " ")
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    meaning = ctx.operation.about.meaning
    return Caption(f"The numbers go through {name}.", meaning, (f"{listed(x)} -> {listed(y)}",))


def branch(ctx: TracedWeight) -> Caption:
    x = ctx.of_sample(ctx.numbers.inputs)
    title = "The numbers go two ways: through the next layers, and straight past them."
    return Caption(title, "y = x", (listed(x),))


def joined(ctx: TracedWeight) -> Caption:
    place = ctx.place[0]
    straight = ctx.held(ctx.operation.other)[place]
    x, y = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    sums = equation([said(straight), said(x)], np.array([straight, x]), y)
    title = "The two ways come together: their numbers are added."
    return Caption(title, "y = x + f(x)", (f"{ctx.unit}: {sums}",))


def dropout(ctx: TracedWeight) -> Caption:
    """Whether the number that is followed is left out, and how many others are."""
    (rate,), place = ctx.operation.settings, ctx.place[0]
    x, y = ctx.of_sample(ctx.numbers.inputs), ctx.of_sample(ctx.numbers.outputs)
    left_out = int(np.sum((y == 0.0) & (x != 0.0)))
    text = f"{ctx.unit}: {said(x[place])} / (1 - {said(rate)}) = {said(y[place])}"
    if y[place] == 0.0 != x[place]:
        text = f"{ctx.unit}: {said(x[place])} is left out"
    some = int(np.count_nonzero(x))
    count = f"{left_out:,} of {some:,} are left out"
    if some < len(x):
        count += f"; the other {len(x) - some:,} were 0 before"
    title = "By chance some numbers are left out; the others grow to make up for it."
    return Caption(title, "y = x / (1 - rate), or 0", (text, count))


def batch_norm(ctx: TracedWeight) -> Caption:
    """The mean and the variance of one feature over all samples, and all pixels."""
    operation, place = ctx.operation, ctx.place[0]
    inputs = ctx.numbers.inputs
    assert inputs is not None
    features, pixels, eps = (operation.settings[i] for i in range(3))
    feature = place // int(pixels)
    own = inputs.astype(np.float64).reshape(len(inputs), int(features), -1)[:, feature]
    x, y = ctx.of_sample(inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    mean, variance = float(own.mean()), float(own.var())
    over = f"over {counted(own.size, 'number')}"
    title = "Over the whole batch each feature is brought to mean 0 and variance 1."
    if operation.is_held(ctx.network.bank.frozen):
        first = operation.state + feature
        mean, variance = (float(ctx.network.bank.state[i]) for i in (first, first + int(features)))
        over = "running numbers, which stand still"
        title = "This layer is frozen: each feature is brought to scale by its running numbers."
    over = f"feature {feature}: mean {said(mean)}, variance {said(variance)}, {over}"
    above = f"({said(x)} - {said(mean)})".replace("- -", "+ ")
    line = f"{ctx.unit}: {above} / sqrt({said(variance)} + {eps:g}) = {said(y)}"
    return Caption(title, "y = (x - mean) / sqrt(variance + eps)", (over, line))


# And on the way back.


def weighted_back(ctx: TracedWeight) -> Caption:
    """Through weights: each path with its own."""
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
    title, formula = "Paths add up; W has not changed yet.", "sum of w"
    if len(operation.shape) == 1:
        title, formula = "Each gain passes on its part.", "w"
    return Caption(title, f"g = {formula} * delta", (f"{place_name(ctx, column)}: {total}",))


def place_name(ctx: TracedWeight, column: int) -> str:
    """An input by its number, or by its place on the picture."""
    shape = ctx.operation.source.shape
    if not shape:
        return f"input {column}"
    channel, line, at = (int(i) for i in np.unravel_index(column, shape))
    return f"channel {channel} at {line}, {at}"


def row_back(ctx: TracedWeight) -> Caption:
    """Back through something that is done to a sample, or a batch, as a whole."""
    name = (ctx.formula or ctx.operation.kind).replace("_", " ")
    upstream = ctx.of_sample(ctx.numbers.upstream)
    gradient = ctx.of_sample(ctx.numbers.gradient)
    line = f"{listed(upstream)} -> {listed(gradient)}"
    formula = f"g = derivative of {ctx.formula or ctx.operation.kind}"
    return Caption(f"The light goes back through {name}.", formula, (line,))


def branch_back(ctx: TracedWeight) -> Caption:
    column, run = ctx.place[1], ctx.course.trainer.run
    assert ctx.operation.other is not None
    straight = ctx.of_sample(run.gradients(ctx.operation.other))[column]
    through = ctx.of_sample(ctx.numbers.upstream)[column]
    g = ctx.of_sample(ctx.numbers.gradient)[column]
    sums = equation([said(straight), said(through)], np.array([straight, through]), g)
    title = "Where the ways parted, what comes back on both adds up."
    return Caption(title, "g = straight + through", (f"{place_name(ctx, column)}: {sums}",))


def sum_back(ctx: TracedWeight) -> Caption:
    g = ctx.of_sample(ctx.numbers.upstream)[ctx.place[0]]
    title = "Both ways get all of the light: a sum passes it on as it is."
    return Caption(title, "g = delta, twice", (f"{ctx.unit}: {said(g)}, on both ways",))


def dropout_back(ctx: TracedWeight) -> Caption:
    (rate,), place = ctx.operation.settings, ctx.place[0]
    upstream = ctx.of_sample(ctx.numbers.upstream)[place]
    g = ctx.of_sample(ctx.numbers.gradient)[place]
    text = f"{said(upstream)} / (1 - {said(rate)}) = {said(g)}"
    if g == 0.0 != upstream:
        text = f"it was left out, and {said(upstream)} stops here"
    title = "What was left out gets no light; the others get more."
    return Caption(title, "g = delta / (1 - rate), or 0", (f"{ctx.unit}: {text}",))


# A kind that is in neither table has the captions `plain` and `row_back`.
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
