"""What is said about the operation that a session has just done, with its real numbers."""

from __future__ import annotations

import re

import numpy as np

from scalarviz.formulas.losses import LossRow
from scalarviz.model.operations import NONE
from scalarviz.model.optimizer import Optimizer
from scalarviz.presenter.captions.format import (
    BACKWARD,
    LOSSES,
    SHOWN,
    SLOPES,
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
from scalarviz.presenter.captions.operations import BACKWARD_KINDS, FORWARD_KINDS, Caption, Teller
from scalarviz.presenter.traced_weight import Followed, first_row, old_gradient
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
        return tellers[moment.kind](Followed(session, moment, followed))


# What is said of each kind of moment of a network.


def zero_grad(tale: Followed) -> Caption:
    title, formula = "Forget the old gradients.", "grad = 0"
    if tale.row == NONE:
        return Caption(title, formula)
    old = old_gradient(tale.course, tale.row)
    if old == 0.0 and tale.session.step_index == 0:
        return Caption(title, formula, ("grad = 0 already: this is the first step",))
    return Caption(title, formula, (f"{tale.name_of(tale.row)}: grad {said(old)} -> 0",))


def forward(tale: Followed) -> Caption:
    told = FORWARD_KINDS[tale.operation.kind](tale)
    if not tale.is_last:
        return told
    prediction, target = tale.answers
    says = f"prediction {listed(prediction[tale.sample])}"
    should = f"target {listed(target[tale.sample])}"
    formula = re.sub(r"^\w+ =", "p =", told.formula)
    return Caption("The prediction, beside the target.", formula, (*told.numbers, says, should))


def loss(tale: Followed) -> Caption:
    """Three errors of the focus sample, and the one number of the batch."""
    function = tale.loss
    prediction, target = tale.answers
    p, t = prediction[tale.sample].tolist(), target[tale.sample].tolist()
    error, _ = LOSSES.get(function.name, (f"{function.name}(p, t)", ""))
    if isinstance(function.row, LossRow):
        row = function.row
        errors = [
            f"{fill(error, p=a, t=b)} = {said(row.value(a, b) * row.weight(a, b))}"
            for a, b in zip(p[:SHOWN], t[:SHOWN], strict=True)
        ]
        told = ", ".join([*errors, *more(len(p))])
    else:
        told = f"error {said(function.row.value(p, t))}"
    samples, outputs = prediction.shape
    kind = {"all": "mean", "samples": "mean", "none": "sum"}[function.mean]
    over = f"{kind} over {counted(samples, 'sample')} of {counted(outputs, 'output')}"
    formula = f"{kind} {error}"
    if function.mean == "samples" and isinstance(function.row, LossRow):
        over = f"sum over {counted(outputs, 'output')}, mean over {counted(samples, 'sample')}"
        formula = f"sum of {error} / {samples}"
    factor = "" if function.factor == 1.0 else f"{said(function.factor)} * "
    total = f"L = {said(tale.session.loss)}, {factor}the {over}"
    numbers = (f"sample {tale.sample}: {told}", total)
    return Caption("How wrong is the prediction?", f"L = {factor}{formula}", numbers)


def delta(tale: Followed) -> Caption:
    """The gradient by the sums: of the outputs from the loss, of the others from what came back."""
    name, place = tale.formula, tale.place[0]
    slope = SLOPES.get(name, f"{name}'(z)")
    upstream = tale.of_sample(tale.numbers.upstream)[place]
    numbers = []
    title, formula = BACKWARD.get(name, "Each slope decides how much light passes."), "delta = g"
    if tale.is_last:
        title = "The error begins its way back."
        derivative, line = loss_derivative(tale, upstream)
        formula, slope = f"delta = {derivative}", re.sub(r"\ba\b", "p", slope)
        numbers.append(f"{tale.unit}: {line}")
    if tale.operation.kind != "activation":
        return Caption(title, formula, tuple(numbers))
    z, a = tale.of_sample(tale.numbers.inputs)[place], tale.of_sample(tale.numbers.outputs)[place]
    result = tale.of_sample(tale.numbers.gradient)[place]
    filled = fill(slope, z=z, a=a, p=a)
    numbers.append(f"{tale.unit}: delta = {said(upstream)} * {filled} = {said(result)}")
    is_bracket = slope.startswith("(") and not tale.is_last
    return Caption(title, formula + (" " if is_bracket else " * ") + slope, tuple(numbers))


def loss_derivative(tale: Followed, value: float) -> tuple[str, str]:
    """The derivative of the loss by a prediction: its formula, and the same with numbers."""
    function = tale.loss
    prediction, target = tale.answers
    samples, outputs = prediction.shape
    p, t = (float(each[tale.sample, tale.place[0]]) for each in (prediction, target))
    _, derivative = LOSSES.get(function.name, ("", f"{function.name}'(p, t)"))
    before = "" if function.factor == 1.0 else f"{said(function.factor)} * "
    count = samples * function.divisor(outputs)
    after = f" / {count}" if count > 1 else ""
    filled = fill(derivative, p=p, t=t)
    if not isinstance(function.row, LossRow):  # the others of its row are in it too
        filled = derivative
    formula = before + derivative + after
    return formula, f"dL/dp = {before}{filled}{after} = {said(value)}"


def weight_gradient(tale: Followed) -> Caption:
    """The sum over the batch of what came in times what comes back; over all places, too."""
    told, row = tale.session.explain(tale.own_row), tale.own_row
    assert told.g is not None and told.products is not None
    written, _ = tale.operation.uses(row)
    places = len(written)
    terms = products(told.g, told.x, tale.sample)
    if places > 1:
        terms = largest_products(told.g, told.x)
    line = f"grad = {equation(terms, told.products, told.grad)}"
    title = "Each weight gets its share of the error"
    title += "; the inputs stay dark: not needed." if tale.is_first else "."
    formula = f"grad += delta * {'x' if tale.is_first else 'a'}"
    if places == 1:
        return Caption(title, formula, (told.name, line))
    if not places:
        return Caption(title, formula, (told.name, "grad = 0: it only ever lies beyond the edge"))
    used = f"{told.name}, used at {counted(places, 'place')} of each sample"
    return Caption(title, f"{formula}, at every place; the largest first", (used, line))


def input_gradient(tale: Followed) -> Caption:
    """What comes back along all paths into one place, for the focus sample."""
    return BACKWARD_KINDS[tale.operation.kind](tale)


def step(tale: Followed) -> Caption:
    """The optimizer's arithmetic, and what the loss is now."""
    title = "Every weight takes a small step downhill."
    if tale.row == NONE:
        return Caption("A step, but there are no weights.")
    course, trainer = tale.course, tale.course.trainer
    actions = course.branch.actions_at(course.clock.place)[: course.clock.actions]
    # Within at_work the session must not be asked: it would take the older numbers for edits.
    with course.at_work():
        told = explain(trainer, tale.row, course.clock.operation)
        optimizer = trainer.settings.optimizer
        inputs, targets = trainer.batches.at(course.clock.step)
    formula, lines = moved(told, optimizer, tale.name_of(tale.row))
    # A network that does something else while it learns would answer another question.
    plain = not any(operation.about.learning for operation in tale.network.program.operations)
    if plain and len(inputs) <= MOST and all(action.kind in HARMLESS for action in actions):
        again = trainer.loss(trainer.network(inputs), targets)
        old, new = both(course.loss, again)
        lines.append(f"the loss computed again: {old} -> {new}")
    return Caption(title, formula, tuple(lines))


def moved(told: Explanation, optimizer: Optimizer, name: str) -> tuple[str, list[str]]:
    """The formula of an optimizer, and the same with the numbers of one weight."""
    if not told.lines:
        reason = "it is frozen and stays" if told.frozen else "it stays"
        return "w", [f"{name}: {reason} {said(told.value)}"]
    last = told.lines[-1]
    known = {**optimizer.settings, "w": told.value, "g": told.grad}
    pieces = []
    for line in told.lines[:-1]:
        known[line.name] = line.value
        if line.name in ("g", "w", *optimizer.row.slots):
            name_now = "w after decay" if line.name == "w" else line.name
            pieces.append(f"{name_now} = {said(line.value)}")
    formula, has_own_g = last.formula, any(line.name == "g" for line in told.lines)
    old, new = both(known["w"], last.value)
    numbers = fill(re.sub(r"^w\b", old, formula), **known)
    if not has_own_g:
        formula = re.sub(r"\bg\b", "grad", formula)
    start = [f"grad = {said(told.grad)}"] if pieces else []
    lines = [", ".join([*start, *pieces])] if pieces else []
    return f"{formula} = new w", [*lines, f"{name}: {numbers} = {new}"]


# A compiled expression has five phases, and no operations to look into.


def answer(tale: Followed) -> Caption:
    run, network = tale.course.trainer.run, tale.network
    x, p = run.values(network.program.inputs)[tale.sample], tale.answers[0][tale.sample]
    name = network.name if network.name.isidentifier() else "f"
    line = f"sample {tale.sample}: {name}({listed(x)}) = {listed(p)}"
    target = f"target {listed(tale.answers[1][tale.sample])}"
    return Caption("The formula answers every sample.", f"p = {name}(x)", (line, target))


def backward(tale: Followed) -> Caption:
    title, formula = "One sweep back gives every gradient.", "grad = dL/dw, by the chain rule"
    if tale.row == NONE:
        return Caption(title, formula)
    grad = tale.session.explain(tale.row).grad
    return Caption(title, formula, (f"{tale.name_of(tale.row)}: grad = {said(grad)}",))


TELLERS: dict[str, Teller] = {
    "zero_grad": zero_grad,
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
    "step": step,
}
OF_EXPRESSIONS: dict[str, Teller] = {
    "zero_grad": zero_grad,
    "forward": answer,
    "loss": loss,
    "backward": backward,
    "step": step,
}
