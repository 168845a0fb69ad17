"""Captions of a session's moments, with their numbers."""

from __future__ import annotations

import re

import numpy as np

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LossRow
from scalarviz.model.operations import NONE
from scalarviz.model.optimizer import Optimizer
from scalarviz.presenter.captions.format import (
    SHOWN,
    both,
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
    CaptionFn,
    caption_of,
    plain,
    row_back,
)
from scalarviz.presenter.traced_weight import TracedWeight, first_row, old_gradient
from scalarviz.session.caption import Caption, plain_lines
from scalarviz.session.explanation import Explanation, explain
from scalarviz.session.session import Session
from scalarviz.texts import plural, row_text, text

MOST = 4096  # most samples whose loss is recomputed
# Actions after a step that do not change the network's outputs.
HARMLESS = {"learning rate", "optimizer", "data", "engine", "freeze"}


def caption(session: Session, row: int | None = None) -> Caption:
    """Return the caption of the last moment; the session does not change.

    session  the session
    row      bank index of the weight whose numbers are shown; None: the first one
    """
    with session.doing(), np.errstate(all="ignore"):  # infinities are shown as they are
        step, operation = session.clock.place
        if (step, operation) == (0, 0):
            return Caption(text("captions.start"))
        moment = session.timeline.trainer.moments[operation - 1]
        tellers = TELLERS if session.network.program.stepped else OF_EXPRESSIONS
        if moment.kind not in tellers:
            return Caption(f"{moment.name[:1].upper()}{moment.name[1:]}.")
        followed = first_row(session.network) if row is None else int(row)
        return tellers[moment.kind](TracedWeight(session, moment, followed))


# Captions of a network's moments.


def zero_grad(ctx: TracedWeight) -> Caption:
    if ctx.row == NONE:
        return caption_of("zero_grad")
    old = old_gradient(ctx.timeline, ctx.row)
    if old == 0.0 and ctx.session.step_index == 0:
        return caption_of("zero_grad", text("captions.zero_grad.first"))
    return caption_of("zero_grad", f"{ctx.name_of(ctx.row)}: grad {said(old)} -> 0")


def forward(ctx: TracedWeight) -> Caption:
    plainly = FORWARD_KINDS.get(ctx.operation.kind, plain)(ctx)
    if not ctx.is_last:
        return plainly
    prediction, target = (listed(each[ctx.sample]) for each in ctx.answers)
    says = text("captions.prediction", prediction=prediction)
    should = text("captions.target", target=target)
    formula = re.sub(r"^\w+ =", "p =", plainly.formula)
    return Caption(text("captions.last"), formula, (*plainly.lines, *plain_lines(says, should)))


def loss(ctx: TracedWeight) -> Caption:
    """Up to three errors of the focus sample, and the loss of the batch."""
    function = ctx.loss
    prediction, target = ctx.answers
    p, t = prediction[ctx.sample].tolist(), target[ctx.sample].tolist()
    row = function.row
    error = row_text(f"rows.losses.{row.name}.error", row.error or f"{row.name}(p, t)")
    if isinstance(row, LossRow):
        errors = [
            f"{fill(error, p=a, t=b)} = {said(row.value(a, b) * row.weight(a, b))}"
            for a, b in zip(p[:SHOWN], t[:SHOWN], strict=True)
        ]
        own = ", ".join([*errors, *more(len(p))])
    else:
        own = text("captions.loss.error", error=said(function.row.value(p, t)))
    mean = "sum" if function.mean == "none" else "mean"
    if function.mean == "samples" and isinstance(function.row, LossRow):
        mean = "mean_of_sums"
    samples, outputs = prediction.shape
    factor = "" if function.factor == 1.0 else f"{said(function.factor)} * "
    counts = {
        "samples": plural("counts.samples", samples),
        "outputs": plural("counts.outputs", outputs),
    }
    total = f"L = {said(ctx.session.loss)}, {factor}{text(f'captions.loss.over.{mean}', **counts)}"
    numbers = (text("captions.loss.sample", sample=ctx.sample, errors=own), total)
    formula = text(f"captions.loss.formula.{mean}", error=error, samples=samples)
    return Caption(text("captions.loss.title"), f"L = {factor}{formula}", plain_lines(*numbers))


def delta(ctx: TracedWeight) -> Caption:
    """Gradient of the sums: for the outputs from the loss, for others from upstream."""
    name, place = ctx.formula, ctx.place[0]
    row = ACTIVATIONS.get(name)
    slope = row.slope if row and row.slope else f"{name}'(z)"
    title = row_text(
        f"rows.activations.{name}.backward_caption", row.backward_caption if row else ""
    )
    upstream = ctx.of_sample(ctx.numbers.upstream)[place]
    numbers = []
    title, formula = title or text("captions.delta"), "delta = g"
    if ctx.is_last:
        title = text("captions.last_delta")
        derivative, line = loss_derivative(ctx, upstream)
        formula, slope = f"delta = {derivative}", re.sub(r"\ba\b", "p", slope)
        numbers.append(f"{ctx.unit}: {line}")
    if ctx.operation.source not in ctx.moment.gradients:
        return Caption(title, formula, plain_lines(*numbers))
    z, a = ctx.of_sample(ctx.numbers.inputs)[place], ctx.of_sample(ctx.numbers.outputs)[place]
    result = ctx.of_sample(ctx.numbers.gradient)[place]
    filled = fill(slope, z=z, a=a, p=a)
    numbers.append(f"{ctx.unit}: delta = {said(upstream)} * {filled} = {said(result)}")
    is_bracket = slope.startswith("(") and not ctx.is_last
    return Caption(title, formula + (" " if is_bracket else " * ") + slope, plain_lines(*numbers))


def loss_derivative(ctx: TracedWeight, value: float) -> tuple[str, str]:
    """Return the derivative of the loss by a prediction: as formula, and with numbers."""
    function = ctx.loss
    prediction, target = ctx.answers
    samples, outputs = prediction.shape
    p, t = (float(each[ctx.sample, ctx.place[0]]) for each in (prediction, target))
    row = function.row
    derivative = row_text(f"rows.losses.{row.name}.derivative", row.slope or f"{row.name}'(p, t)")
    before = "" if function.factor == 1.0 else f"{said(function.factor)} * "
    count = samples * function.divisor(outputs)
    after = f" / {count}" if count > 1 else ""
    filled = fill(derivative, p=p, t=t)
    if not isinstance(row, LossRow):  # depends on the other outputs of the row, too
        filled = derivative
    formula = before + derivative + after
    return formula, f"dL/dp = {before}{filled}{after} = {said(value)}"


def weight_gradient(ctx: TracedWeight) -> Caption:
    """The sum over the batch, and over all places of a shared weight, of input times upstream."""
    found, row = ctx.session.explain(ctx.own_row), ctx.own_row
    assert found.g is not None and found.products is not None
    written, _ = ctx.operation.uses(row)
    places = len(written)
    terms = products(found.g, found.x, ctx.sample)
    if places > 1:
        terms = largest_products(found.g, found.x)
    line = f"grad = {equation(terms, found.products, found.grad)}"
    title = text(f"captions.weight_gradient.{'first' if ctx.is_first else 'title'}")
    formula = f"grad += delta * {'x' if ctx.is_first else 'a'}"
    if places == 1:
        return Caption(title, formula, plain_lines(found.name, line))
    if not places:
        return Caption(title, formula, plain_lines(found.name, text("explanation.beyond")))
    used = plural("captions.weight_gradient.used", places, name=found.name)
    formula = text("captions.weight_gradient.shared", formula=formula)
    return Caption(title, formula, plain_lines(used, line))


def input_gradient(ctx: TracedWeight) -> Caption:
    """The gradient of one input of the focus sample, over all paths."""
    return BACKWARD_KINDS.get(ctx.operation.kind, row_back)(ctx)


def step(ctx: TracedWeight) -> Caption:
    """The optimizer's arithmetic, and the new loss."""
    if ctx.row == NONE:
        return Caption(text("captions.step.empty"))
    timeline, trainer = ctx.timeline, ctx.timeline.trainer
    actions = timeline.branch.actions_at(timeline.clock.place)[: timeline.clock.actions]
    # Within at_work the session must not be used: it would journal the older numbers as edits.
    with timeline.at_work():
        found = explain(trainer, ctx.row, timeline.clock.operation)
        optimizer = trainer.settings.optimizer
        inputs, targets = trainer.batches.at(timeline.clock.step)
    formula, lines = moved(found, optimizer, ctx.name_of(ctx.row))
    # Dropout and the like differ in training and evaluation mode.
    is_plain = not any(operation.about.learning for operation in ctx.network.program.stepped)
    if is_plain and len(inputs) <= MOST and all(action.kind in HARMLESS for action in actions):
        again = trainer.loss(trainer.network(inputs), targets)
        old, new = both(timeline.loss, again)
        lines.append(text("captions.step.loss", old=old, new=new))
    return Caption(text("captions.step.title"), formula, plain_lines(*lines))


def moved(found: Explanation, optimizer: Optimizer, name: str) -> tuple[str, list[str]]:
    """Return the optimizer's formula, and the same with the numbers of one weight."""
    if not found.lines:
        kept = {"name": name, "value": said(found.value)}
        return "w", [text(f"captions.step.{'frozen' if found.frozen else 'still'}", **kept)]
    last = found.lines[-1]
    known = {**optimizer.settings, "w": found.value, "g": found.grad}
    pieces = []
    for line in found.lines[:-1]:
        known[line.name] = line.value
        if line.name in ("g", "w", *optimizer.row.slots):
            name_now = text("captions.step.decayed") if line.name == "w" else line.name
            pieces.append(f"{name_now} = {said(line.value)}")
    formula, has_own_g = last.formula, any(line.name == "g" for line in found.lines)
    old, new = both(known["w"], last.value)
    numbers = fill(re.sub(r"^w\b", old, formula), **known)
    if not has_own_g:
        formula = re.sub(r"\bg\b", "grad", formula)
    start = [f"grad = {said(found.grad)}"] if pieces else []
    lines = [", ".join([*start, *pieces])] if pieces else []
    return text("captions.step.formula", formula=formula), [*lines, f"{name}: {numbers} = {new}"]


# Captions of a compiled expression, which has five phases and no operations.


def answer(ctx: TracedWeight) -> Caption:
    run, network = ctx.timeline.trainer.run, ctx.network
    x, p = run.values(network.program.inputs)[ctx.sample], ctx.answers[0][ctx.sample]
    name = network.name if network.name.isidentifier() else "f"
    line = text("captions.answer.sample", sample=ctx.sample, name=name, x=listed(x), p=listed(p))
    target = text("captions.target", target=listed(ctx.answers[1][ctx.sample]))
    return caption_of("answer", line, target, name=name)


def backward(ctx: TracedWeight) -> Caption:
    if ctx.row == NONE:
        return caption_of("backward")
    grad = ctx.session.explain(ctx.row).grad
    return caption_of("backward", f"{ctx.name_of(ctx.row)}: grad = {said(grad)}")


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
