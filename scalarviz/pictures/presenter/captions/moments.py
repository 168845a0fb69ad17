"""Captions of a session's moments, with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.program import NONE, Moment, Program
from scalarviz.pictures.presenter.captions.backward import BACKWARD_KINDS, delta, row_back
from scalarviz.pictures.presenter.captions.format import exact_sum, said, written_alike
from scalarviz.pictures.presenter.captions.lines import (
    FIRST_ON_CUBE,
    PRODUCT,
    Line,
    Term,
    ending_on,
    is_long,
    sum_line,
    whole_line,
)
from scalarviz.pictures.presenter.captions.losses import loss, predicted
from scalarviz.pictures.presenter.captions.names import sentence
from scalarviz.pictures.presenter.captions.nodes import itself, node_back, node_forward
from scalarviz.pictures.presenter.captions.operations import (
    CaptionFn,
    activation,
    batch_norm,
    caption_of,
    dropout,
    joined,
    parametric,
    plain,
    product,
    unchanged,
    weighted,
)
from scalarviz.pictures.presenter.captions.rows import row_formula
from scalarviz.pictures.presenter.captions.steps import step
from scalarviz.pictures.presenter.traced_weight import (
    TracedWeight,
    first_row,
    old_gradient,
    row_beside,
    told_neuron,
    told_row,
)
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.caption import Caption, Neuron, Piece, plain_lines
from scalarviz.training.session.session import Session
from scalarviz.training.session.value_session import VALUE


def caption(session: Session, row: int | None = None, neuron: Neuron | None = None) -> Caption:
    """Return the caption of the last moment; the session does not change.

    session  the session
    row      bank index of the weight whose numbers are shown; None: one of `told_neuron`
    neuron   the neuron whose numbers are shown instead, as buffer and place; None: no neuron
    """
    with session.doing(), np.errstate(all="ignore"):  # infinities are shown as they are
        step, operation = session.timeline.clock.place
        if (step, operation) == (0, 0):
            return Caption(text("captions.before"))
        moment = session.trainer.moments[operation - 1]
        program = session.network.program
        tellers = OF_EXPRESSIONS if program.is_graph else TELLERS
        if moment.kind not in tellers:
            return Caption(f"{moment.name[:1].upper()}{moment.name[1:]}.")
        chosen = row is not None or neuron is not None
        if neuron is not None and is_one(program, neuron):
            row, neuron = bias_behind(program, neuron), None
        if row is not None or program.is_graph:
            neuron = None
        elif neuron is None:
            neuron = told_neuron(session, moment, step - (operation == 0))
            row = None if neuron is None else told_row(session, moment, neuron)
        if chosen and neuron is not None:
            row = row_beside(program, neuron)
        followed = row_followed(session, moment) if row is None else int(row)
        traced = TracedWeight(session, moment, followed, neuron, chosen)
        return written_alike(lambda: tellers[moment.kind](traced))


def caption_at(
    place: tuple[int, int], session: Session, row: int | None, neuron: Neuron | None
) -> Caption:
    """Return the caption of the operation before a place of the clock, as `caption` does.

    place  step and operation, a moment of this branch; the session is there, or visits it
    """
    timeline = session.timeline
    with session.doing():
        if timeline.clock.place == place:
            return caption(session, row, neuron)
        with timeline.visit(Clock(*place)):
            timeline.remember()  # else the numbers there would be journalled as edits
            return caption(session, row, neuron)


def row_followed(session: Session, moment: Moment) -> int:
    """Return the weight that is followed by default: of a graph that moves, the one pushed most."""
    rows = session.network.row_numbers
    if not rows or moment.kind != "step" or not session.network.program.is_graph:
        return first_row(session.network)
    pushes = np.nan_to_num(np.abs(session.network.bank.grad[np.array(rows)]))
    return int(rows[int(pushes.argmax())])


def is_one(program: Program, neuron: Neuron) -> bool:
    """Return whether a neuron is the 1 of the biases, which stands behind the last place."""
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    return neuron[1] >= sizes.get(neuron[0], neuron[1] + 1)


def bias_behind(program: Program, neuron: Neuron) -> int:
    """Return the first bias that a 1 is multiplied by."""
    found = [each.biases for each in program.operations if each.source.name == neuron[0]]
    return next((row for row in found if row != NONE), program.operations[0].weights)


# Captions of a network's moments.


def zero_grad(ctx: TracedWeight) -> Caption:
    if ctx.row == NONE:
        return caption_of("zero_grad")
    old = old_gradient(ctx.session.timeline, ctx.row)
    is_first = old == 0.0 and ctx.session.timeline.clock.step == 0
    words = "0" if is_first else f"{said(old)} → 0"
    start = ctx.opened(text("captions.zero_grad.of", name=ctx.name_of(ctx.row)))
    line = Piece(f"{start} "), Piece(words, ctx.row, mark="gradient\n0")
    found = caption_of("zero_grad", line)
    title = text("captions.zero_grad.first") if is_first else found.title
    callout = text("captions.callout.grad", grad=words)
    return replace(found, title=title, rows=(ctx.row,), callout=callout)


def forward(ctx: TracedWeight) -> Caption:
    plainly = FORWARD_KINDS.get(ctx.operation.kind, plain)(ctx)
    return predicted(ctx, plainly) if ctx.is_last else plainly


def weight_gradient(ctx: TracedWeight) -> Caption:
    """Input times delta: of the focus sample, over its places, and added up over the batch."""
    operation, row = ctx.operation, ctx.own_row
    if not operation.about.multiplies:
        return slope_times_signal(ctx, row)
    written, read = operation.uses(row)
    name, bias = ctx.name_of(row), read is None
    formula = "gradient = signal" if bias else f"gradient = {ctx.letter} × signal"
    if not len(written):
        words = plain_lines(text("explanation.beyond"))
        title = sentence(text("captions.weight_gradient.none", name=name))
        return Caption(title, formula, words, rows=(row,))
    inputs, upstream = ctx.numbers.inputs, ctx.numbers.upstream
    assert inputs is not None and upstream is not None
    deltas = upstream[:, written].astype(np.float64)
    x = np.ones_like(deltas) if read is None else inputs[:, read].astype(np.float64)
    total = float((x * deltas).sum())
    kind = "bias_title" if bias else "title"
    if total == 0.0:
        kind = "no_delta" if not deltas.any() else "no_input" if not x.any() else "none"
    elif total != total:
        kind = "nan"
    way = text(f"captions.way.{'down' if total > 0.0 else 'up'}")
    title = sentence(text(f"captions.weight_gradient.{kind}", name=name, way=way))
    lines, whole = gradient_lines(ctx, row, x, deltas)
    if len(written) > 1:
        formula = plural("captions.weight_gradient.used", len(written), formula=formula)
    middle = ctx.operation.target.name, int(written[len(written) // 2])
    neurons = [middle] if len(written) == 1 else []
    if len(written) == 1 and read is not None:
        neurons.append((operation.source.name, int(read[0])))
    callout = text("captions.callout.grad", grad=lines[-1][-1].words)
    return Caption(title, formula, lines, whole, (row,), tuple(neurons), callout)


def slope_times_signal(ctx: TracedWeight, row: int) -> Caption:
    """The gradient of a parameter that is no factor of an input."""
    name, grad = ctx.name_of(row), float(ctx.network.bank.grad[row])
    kind = "none" if grad == 0.0 else "nan" if grad != grad else "slope"
    way = text(f"captions.way.{'down' if grad > 0.0 else 'up'}")
    title = sentence(text(f"captions.weight_gradient.{kind}", name=name, way=way))
    line = Piece("gradient = "), Piece(said(grad), row)
    formula = text("captions.weight_gradient.by_slope")
    callout = text("captions.callout.grad", grad=said(grad))
    return Caption(title, formula, (line,), rows=(row,), callout=callout)


def gradient_lines(
    ctx: TracedWeight, row: int, x: FloatArray, deltas: FloatArray
) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the gradient of a weight in lines, and with all samples if some are left out.

    x, deltas  factors of the products, shape (samples, places)
    """
    operation, sample, (samples, places) = ctx.operation, ctx.sample, x.shape
    written, read = operation.uses(row)
    behind = [(operation.target.name, int(i)) for i in written]
    before: Sequence[Neuron | None] = [None] * places
    if read is not None:
        before = [(operation.source.name, int(i)) for i in read]

    def products(index: int) -> list[Term]:
        """The products of a sample; the neurons have the numbers of the focus sample only."""
        numbers = [*zip(x[index].tolist(), deltas[index].tolist(), strict=True)]
        if index != sample:
            return [Term(pair, PRODUCT) for pair in numbers]
        ends = zip(numbers, before, behind, strict=True)
        return [Term(pair, PRODUCT, neuron=a, behind=b) for pair, a, b in ends]

    own = products(sample)
    sums = (x * deltas).sum(axis=1)
    total = float(sums.sum())
    grad = total if len(homes_of(ctx, row)) > 1 else float(ctx.network.bank.grad[row])
    first = own[0]
    if places == 1:  # it stands on the cube
        own = [replace(first, row=row, mark=FIRST_ON_CUBE)]
    if samples == 1:
        line = sum_line(own, grad, start="gradient = ")
        whole = whole_line(own, grad, start="gradient = ")
        if places > 1:
            line, whole = ending_on(line, row), ending_on(whole, row)
        return (line,), ((whole,) if is_long(own) else ())
    start = text("captions.sample", sample=sample) + ": "
    line = sum_line(own, float(sums[sample]), start=start)
    rest = exact_sum(sums[i] for i in range(samples) if i != sample)
    more = plural("captions.more_samples", samples - 1, rest="{}").format
    added = sum_line(
        [Term((float(sums[sample]),)), Term((rest,), more, opens=True)], grad, start="gradient = "
    )
    if places > 1:
        every = [Term((float(each),)) for each in sums]
    else:
        every = [own[0] if i == sample else products(i)[0] for i in range(samples)]
    whole = whole_line(every, grad, keep=sample, start="gradient = ")
    if places > 1:
        added, whole = ending_on(added, row), ending_on(whole, row)
    return (line, added), (whole,)


def homes_of(ctx: TracedWeight, row: int) -> list[int]:
    """Return the operations that a weight belongs to; layers can share it."""
    return [i for i, each in enumerate(ctx.program.operations) if row in each.parameters]


def input_gradient(ctx: TracedWeight) -> Caption:
    """What arrives at one input of the focus sample, over all paths."""
    return BACKWARD_KINDS.get(ctx.operation.kind, row_back)(ctx)


def loss_or_value(ctx: TracedWeight) -> Caption:
    return itself(ctx) if ctx.loss.row is VALUE else loss(ctx)


# Kinds in neither table have the captions `plain` and `row_back`.
FORWARD_KINDS: dict[str, CaptionFn] = {
    "affine": weighted,
    "convolution": weighted,
    "scale": weighted,
    "parametric": parametric,
    "activation": activation,
    "row": row_formula,
    "branch": unchanged,
    "sum": joined,
    "product": product,
    "concatenation": unchanged,
    "dropout": dropout,
    "batch_norm": batch_norm,
    "own": plain,
}
TELLERS: dict[str, Callable[[TracedWeight], Caption]] = {
    "zero_grad": zero_grad,
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
    "step": step,
}
OF_EXPRESSIONS: dict[str, Callable[[TracedWeight], Caption]] = {
    "zero_grad": zero_grad,
    "forward": node_forward,
    "loss": loss_or_value,
    "operand gradient": node_back,
    "step": step,
}
