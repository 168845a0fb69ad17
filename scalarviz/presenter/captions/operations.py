"""What is said of each kind of operation, forward and back, with its real numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalarviz.model.operations import NONE
from scalarviz.presenter.captions.format import (
    FORWARD,
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
from scalarviz.presenter.traced_weight import Followed


@dataclass(frozen=True)
class Caption:
    """A sentence, a formula (or ""), and up to three lines with its real numbers."""

    title: str
    formula: str = ""
    numbers: tuple[str, ...] = ()


def weighted(tale: Followed) -> Caption:
    """What is multiplied and added up for one output."""
    operation, (output, column) = tale.operation, tale.place
    x, y = tale.of_sample(tale.numbers.inputs), tale.of_sample(tale.numbers.outputs)
    bank, (rows, read) = tale.network.bank, weights_into(operation, output)
    w, x = bank.value[rows].astype(np.float64), x[read]
    pinned = np.flatnonzero(read == column)
    terms, parts = products(w, x, int(pinned[0]) if len(pinned) else 0), w * x
    has_bias = operation.biases != NONE
    if has_bias:
        b = float(bank.value[operation.biases + output // operation.each])
        terms, parts = [*terms, said(b)], np.append(parts, b)
    title, formula = WEIGHTED[operation.kind]
    name, bias = "x" if tale.is_first else "a", " and its shift" * has_bias
    line = f"{tale.unit}: {equation(terms, parts, y[output])}"
    return Caption(title.format(bias=bias), formula.format(x=name) + " + b" * has_bias, (line,))


def activation(tale: Followed) -> Caption:
    name, place = tale.formula, tale.place[0]
    z, a = tale.of_sample(tale.numbers.inputs)[place], tale.of_sample(tale.numbers.outputs)[place]
    title = FORWARD.get(name, f"Each sum goes through {name}.")
    return Caption(title, f"a = {name}(z)", (f"{tale.unit}: {name}({said(z)}) = {said(a)}",))


def row_formula(tale: Followed) -> Caption:
    name = tale.formula
    title, formula = ROWS.get(name, (f"Each sample goes through {name}.", f"y = {name}(x)"))
    x, y = tale.of_sample(tale.numbers.inputs), tale.of_sample(tale.numbers.outputs)
    return Caption(title, formula, (f"{listed(x)} -> {listed(y)}",))


def branch(tale: Followed) -> Caption:
    x = tale.of_sample(tale.numbers.inputs)
    title = "The numbers go two ways: through the next layers, and straight past them."
    return Caption(title, "y = x", (listed(x),))


def joined(tale: Followed) -> Caption:
    place = tale.place[0]
    straight = tale.held(tale.operation.other)[place]
    x, y = tale.of_sample(tale.numbers.inputs)[place], tale.of_sample(tale.numbers.outputs)[place]
    sums = equation([said(straight), said(x)], np.array([straight, x]), y)
    title = "The two ways come together: their numbers are added."
    return Caption(title, "y = x + f(x)", (f"{tale.unit}: {sums}",))


def dropout(tale: Followed) -> Caption:
    """Whether the number that is followed is left out, and how many others are."""
    (rate,), place = tale.operation.settings, tale.place[0]
    x, y = tale.of_sample(tale.numbers.inputs), tale.of_sample(tale.numbers.outputs)
    left_out = int(np.sum((y == 0.0) & (x != 0.0)))
    told = f"{tale.unit}: {said(x[place])} / (1 - {said(rate)}) = {said(y[place])}"
    if y[place] == 0.0 != x[place]:
        told = f"{tale.unit}: {said(x[place])} is left out"
    some = int(np.count_nonzero(x))
    count = f"{left_out:,} of {some:,} are left out"
    if some < len(x):
        count += f"; the other {len(x) - some:,} were 0 before"
    title = "By chance some numbers are left out; the others grow to make up for it."
    return Caption(title, "y = x / (1 - rate), or 0", (told, count))


def batch_norm(tale: Followed) -> Caption:
    """The mean and the variance of one feature over all samples, and all pixels."""
    operation, place = tale.operation, tale.place[0]
    inputs = tale.numbers.inputs
    assert inputs is not None
    features, pixels, eps = (operation.settings[i] for i in range(3))
    feature = place // int(pixels)
    own = inputs.astype(np.float64).reshape(len(inputs), int(features), -1)[:, feature]
    x, y = tale.of_sample(inputs)[place], tale.of_sample(tale.numbers.outputs)[place]
    mean, variance = float(own.mean()), float(own.var())
    over = f"over {counted(own.size, 'number')}"
    title = "Over the whole batch each feature is brought to mean 0 and variance 1."
    if operation.is_held(tale.network.bank.frozen):
        first = operation.state + feature
        mean, variance = (float(tale.network.bank.state[i]) for i in (first, first + int(features)))
        over = "running numbers, which stand still"
        title = "This layer is frozen: each feature is brought to scale by its running numbers."
    over = f"feature {feature}: mean {said(mean)}, variance {said(variance)}, {over}"
    above = f"({said(x)} - {said(mean)})".replace("- -", "+ ")
    line = f"{tale.unit}: {above} / sqrt({said(variance)} + {eps:g}) = {said(y)}"
    return Caption(title, "y = (x - mean) / sqrt(variance + eps)", (over, line))


# And on the way back.


def weighted_back(tale: Followed) -> Caption:
    """Through weights: each path with its own."""
    operation, (output, column) = tale.operation, tale.place
    upstream = tale.of_sample(tale.numbers.upstream)
    gradient = tale.of_sample(tale.numbers.gradient)
    rows, into, _ = weights_from(operation, column)
    w, flow = tale.network.bank.value[rows].astype(np.float64), upstream[into]
    passed = np.flatnonzero(into == output)
    terms = products(w, flow, int(passed[0]) if len(passed) else 0)
    if operation.each > 1:
        terms = largest_products(w, flow)
    total = equation(terms, w * flow, gradient[column])
    title, formula = "Paths add up; W has not changed yet.", "sum of w"
    if len(operation.shape) == 1:
        title, formula = "Each gain passes on its part.", "w"
    return Caption(title, f"g = {formula} * delta", (f"{place_name(tale, column)}: {total}",))


def place_name(tale: Followed, column: int) -> str:
    """An input by its number, or by its place on the picture."""
    shape = tale.operation.source.shape
    if not shape:
        return f"input {column}"
    channel, line, at = (int(i) for i in np.unravel_index(column, shape))
    return f"channel {channel} at {line}, {at}"


def row_back(tale: Followed) -> Caption:
    """Back through something that is done to a sample, or a batch, as a whole."""
    name = (tale.formula or tale.operation.kind).replace("_", " ")
    upstream = tale.of_sample(tale.numbers.upstream)
    gradient = tale.of_sample(tale.numbers.gradient)
    line = f"{listed(upstream)} -> {listed(gradient)}"
    formula = f"g = derivative of {tale.formula or tale.operation.kind}"
    return Caption(f"The light goes back through {name}.", formula, (line,))


def branch_back(tale: Followed) -> Caption:
    column, run = tale.place[1], tale.course.trainer.run
    assert tale.operation.other is not None
    straight = tale.of_sample(run.gradients(tale.operation.other))[column]
    through = tale.of_sample(tale.numbers.upstream)[column]
    g = tale.of_sample(tale.numbers.gradient)[column]
    sums = equation([said(straight), said(through)], np.array([straight, through]), g)
    title = "Where the ways parted, what comes back on both adds up."
    return Caption(title, "g = straight + through", (f"{place_name(tale, column)}: {sums}",))


def sum_back(tale: Followed) -> Caption:
    g = tale.of_sample(tale.numbers.upstream)[tale.place[0]]
    title = "Both ways get all of the light: a sum passes it on as it is."
    return Caption(title, "g = delta, twice", (f"{tale.unit}: {said(g)}, on both ways",))


def dropout_back(tale: Followed) -> Caption:
    (rate,), place = tale.operation.settings, tale.place[0]
    upstream = tale.of_sample(tale.numbers.upstream)[place]
    g = tale.of_sample(tale.numbers.gradient)[place]
    told = f"{said(upstream)} / (1 - {said(rate)}) = {said(g)}"
    if g == 0.0 != upstream:
        told = f"it was left out, and {said(upstream)} stops here"
    title = "What was left out gets no light; the others get more."
    return Caption(title, "g = delta / (1 - rate), or 0", (f"{tale.unit}: {told}",))


Teller = Callable[[Followed], Caption]
FORWARD_KINDS: dict[str, Teller] = {
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
BACKWARD_KINDS: dict[str, Teller] = {
    "affine": weighted_back,
    "convolution": weighted_back,
    "scale": weighted_back,
    "row": row_back,
    "branch": branch_back,
    "sum": sum_back,
    "dropout": dropout_back,
    "batch_norm": row_back,
}
