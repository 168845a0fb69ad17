"""What is said about the operation that a session has just done, with its real numbers."""

from __future__ import annotations

import re

import numpy as np

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LossRow
from scalarviz.model.operations import NONE
from scalarviz.model.optimizer import Optimizer
from scalarviz.presenter.captions.format import (
    LOSSES,
    SHOWN,
    both,
    counted,
    equation,
    fill,
    largest_products,
    listed,
    more,
    products,
    said,
)
from scalarviz.presenter.captions.operations import (
    BACKWARD_KINDS,
    FORWARD_KINDS,
    Caption,
    CaptionFn,
    plain,
    row_back,
)
from scalarviz.presenter.traced_weight import TracedWeight, first_row, old_gradient
from scalarviz.session.explanation import Explanation, explain
from scalarviz.session.session import Session

MOST = 4096  # samples whose loss is computed again
# What may be done after a step without a change of what the network says.
HARMLESS = {"learning rate", "optimizer", "data", "engine", "freeze"}


def caption(session: Session, row: int | None = None) -> Caption:
    """What is said about the operation that a session has just done; the session stays as it is.

    `row` is that of the weight whose numbers are told; None: the first one.
    """
    with session.doing(), np.errstate(all="ignore"):  # what is infinite is told as it is
        step, operation = session.clock.place
        if (step, operation) == (0, 0):
            return Caption("Each cube is one weight.")
        moment = session.course.trainer.moments[operation - 1]
        tellers = TELLERS if session.network.program.operations else OF_EXPRESSIONS
        if moment.kind not in tellers:
            return Caption(f"{moment.name[:1].upper()}{moment.name[1:]}.")
        followed = first_row(session.network) if row is None else int(row)
        return tellers[moment.kind](TracedWeight(session, moment, followed))


# What is said of each kind of moment of a network.


def zero_grad(ctx: TracedWeight) -> Caption:
    title, formula = "Forget the old gradients.", "grad = 0"
    if ctx.row == NONE:
        return Caption(title, formula)
    old = old_gradient(ctx.course, ctx.row)
    if old == 0.0 and ctx.session.step_index == 0:
        return Caption(title, formula, ("grad = 0 already: this is the first step",))
    return Caption(title, formula, (f"{ctx.name_of(ctx.row)}: grad {said(old)} -> 0",))


def forward(ctx: TracedWeight) -> Caption:
    text = FORWARD_KINDS.get(ctx.operation.kind, plain)(ctx)
    if not ctx.is_last:
        return text
    prediction, target = ctx.answers
    says = f"prediction {listed(prediction[ctx.sample])}"
    should = f"target {listed(target[ctx.sample])}"
    formula = re.sub(r"^\w+ =", "p =", text.formula)
    return Caption("The prediction, beside the target.", formula, (*text.numbers, says, should))


def loss(ctx: TracedWeight) -> Caption:
    """Three errors of the focus sample, and the one number of the batch."""
    function = ctx.loss
    prediction, target = ctx.answers
    p, t = prediction[ctx.sample].tolist(), target[ctx.sample].tolist()
    error, _ = LOSSES.get(function.name, (f"{function.name}(p, t)", ""))
    if isinstance(function.row, LossRow):
        row = function.row
        errors = [
            f"{fill(error, p=a, t=b)} = {said(row.value(a, b) * row.weight(a, b))}"
            for a, b in zip(p[:SHOWN], t[:SHOWN], strict=True)
        ]
        text = ", ".join([*errors, *more(len(p))])
    else:
        text = f"error {said(function.row.value(p, t))}"
    samples, outputs = prediction.shape
    kind = {"all": "mean", "samples": "mean", "none": "sum"}[function.mean]
    over = f"{kind} over {counted(samples, 'sample')} of {counted(outputs, 'output')}"
    formula = f"{kind} {error}"
    if function.mean == "samples" and isinstance(function.row, LossRow):
        over = f"sum over {counted(outputs, 'output')}, mean over {counted(samples, 'sample')}"
        formula = f"sum of {error} / {samples}"
    factor = "" if function.factor == 1.0 else f"{said(function.factor)} * "
    total = f"L = {said(ctx.session.loss)}, {factor}the {over}"
    numbers = (f"sample {ctx.sample}: {text}", total)
    return Caption("How wrong is the prediction?", f"L = {factor}{formula}", numbers)


def delta(ctx: TracedWeight) -> Caption:
    """The gradient by the sums: of the outputs from the loss, of the others from what came back."""
    name, place = ctx.formula, ctx.place[0]
    row = ACTIVATIONS.get(name)
    slope = row.slope if row and row.slope else f"{name}'(z)"
    title = row.backward_caption if row else ""
    upstream = ctx.of_sample(ctx.numbers.upstream)[place]
    numbers = []
    title, formula = title or "Each slope decides how much light passes.", "delta = g"
    if ctx.is_last:
        title = "The error begins its way back."
        derivative, line = loss_derivative(ctx, upstream)
        formula, slope = f"delta = {derivative}", re.sub(r"\ba\b", "p", slope)
        numbers.append(f"{ctx.unit}: {line}")
    if ctx.operation.source not in ctx.moment.gradients:
        return Caption(title, formula, tuple(numbers))
    z, a = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    result = ctx.of_sample(ctx.numbers.gradient)[place]
    filled = fill(slope, z=z, a=a, p=a)
    numbers.append(f"{ctx.unit}: delta = {said(upstream)} * {filled} = {said(result)}")
    is_bracket = slope.startswith("(") and not ctx.is_last
    return Caption(title, formula + (" " if is_bracket else " * ") + slope, tuple(numbers))


def loss_derivative(ctx: TracedWeight, value: float) -> tuple[str, str]:
    """The derivative of the loss by a prediction: its formula, and the same with numbers."""
    function = ctx.loss
    prediction, target = ctx.answers
    samples, outputs = prediction.shape
    p, t = (float(each[ctx.sample, ctx.place[0]]) for each in (prediction, target))
    _, derivative = LOSSES.get(function.name, ("", f"{function.name}'(p, t)"))
    before = "" if function.factor == 1.0 else f"{said(function.factor)} * "
    count = samples * function.divisor(outputs)
    after = f" / {count}" if count > 1 else ""
    filled = fill(derivative, p=p, t=t)
    if not isinstance(function.row, LossRow):  # the others of its row are in it too
        filled = derivative
    formula = before + derivative + after
    return formula, f"dL/dp = {before}{filled}{after} = {said(value)}"


def weight_gradient(ctx: TracedWeight) -> Caption:
    """The sum over the batch of what came in times what comes back; over all places, too."""
    text, row = ctx.session.explain(ctx.own_row), ctx.own_row
    assert text.g is not None and text.products is not None
    written, _ = ctx.operation.uses(row)
    places = len(written)
    terms = products(text.g, text.x, ctx.sample)
    if places > 1:
        terms = largest_products(text.g, text.x)
    line = f"grad = {equation(terms, text.products, text.grad)}"
    title = "Each weight gets its share of the error"
    title += "; the inputs stay dark: not needed." if ctx.is_first else "."
    formula = f"grad += delta * {'x' if ctx.is_first else 'a'}"
    if places == 1:
        return Caption(title, formula, (text.name, line))
    if not places:
        return Caption(title, formula, (text.name, "grad = 0: it only ever lies beyond the edge"))
    used = f"{text.name}, used at {counted(places, 'place')} of each sample"
    return Caption(title, f"{formula}, at every place; the largest first", (used, line))


def input_gradient(ctx: TracedWeight) -> Caption:
    """What comes back along all paths into one place, for the focus sample."""
    return BACKWARD_KINDS.get(ctx.operation.kind, row_back)(ctx)


def step(ctx: TracedWeight) -> Caption:
    """The optimizer's arithmetic, and what the loss is now."""
    title = "Every weight takes a small step downhill."
    if ctx.row == NONE:
        return Caption("A step, but there are no weights.")
    course, trainer = ctx.course, ctx.course.trainer
    actions = course.branch.actions_at(course.clock.place)[: course.clock.actions]
    # Within at_work the session must not be asked: it would take the older numbers for edits.
    with course.at_work():
        text = explain(trainer, ctx.row, course.clock.operation)
        optimizer = trainer.settings.optimizer
        inputs, targets = trainer.batches.at(course.clock.step)
    formula, lines = moved(text, optimizer, ctx.name_of(ctx.row))
    # A network that does something else while it learns would answer another question.
    is_plain = not any(operation.about.learning for operation in ctx.network.program.operations)
    if is_plain and len(inputs) <= MOST and all(action.kind in HARMLESS for action in actions):
        again = trainer.loss(trainer.network(inputs), targets)
        old, new = both(course.loss, again)
        lines.append(f"the loss computed again: {old} -> {new}")
    return Caption(title, formula, tuple(lines))


def moved(text: Explanation, optimizer: Optimizer, name: str) -> tuple[str, list[str]]:
    """The formula of an optimizer, and the same with the numbers of one weight."""
    if not text.lines:
        reason = "it is frozen and stays" if text.frozen else "it stays"
        return "w", [f"{name}: {reason} {said(text.value)}"]
    last = text.lines[-1]
    known = {**optimizer.settings, "w": text.value, "g": text.grad}
    pieces = []
    for line in text.lines[:-1]:
        known[line.name] = line.value
        if line.name in ("g", "w", *optimizer.row.slots):
            name_now = "w after decay" if line.name == "w" else line.name
            pieces.append(f"{name_now} = {said(line.value)}")
    formula, has_own_g = last.formula, any(line.name == "g" for line in text.lines)
    old, new = both(known["w"], last.value)
    numbers = fill(re.sub(r"^w\b", old, formula), **known)
    if not has_own_g:
        formula = re.sub(r"\bg\b", "grad", formula)
    start = [f"grad = {said(text.grad)}"] if pieces else []
    lines = [", ".join([*start, *pieces])] if pieces else []
    return f"{formula} = new w", [*lines, f"{name}: {numbers} = {new}"]


# A compiled expression has five phases, and no operations to look into.


def answer(ctx: TracedWeight) -> Caption:
    run, network = ctx.course.trainer.run, ctx.network
    x, p = run.values(network.program.inputs)[ctx.sample], ctx.answers[0][ctx.sample]
    name = network.name if network.name.isidentifier() else "f"
    line = f"sample {ctx.sample}: {name}({listed(x)}) = {listed(p)}"
    target = f"target {listed(ctx.answers[1][ctx.sample])}"
    return Caption("The formula answers every sample.", f"p = {name}(x)", (line, target))


def backward(ctx: TracedWeight) -> Caption:
    title, formula = "One sweep back gives every gradient.", "grad = dL/dw, by the chain rule"
    if ctx.row == NONE:
        return Caption(title, formula)
    grad = ctx.session.explain(ctx.row).grad
    return Caption(title, formula, (f"{ctx.name_of(ctx.row)}: grad = {said(grad)}",))


TELLERS: dict[str, CaptionFn] = {
    "zero_grad": zero_grad,
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
    "step": step,
}
OF_EXPRESSIONS: dict[str, CaptionFn] = {
    "zero_grad": zero_grad,
    "forward": answer,
    "loss": loss,
    "backward": backward,
    "step": step,
}
