"""Captions of the operations of a compiled function: a node of its graph, forward and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.model.formula_of import formula_words, operands_of, spelled_out
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.trace import Trace, TraceProgram
from scalarviz.engines.expression.engines import ExpressionRun
from scalarviz.pictures.presenter.captions.format import FEW, pretty, said
from scalarviz.pictures.presenter.captions.lines import (
    PRODUCT,
    Line,
    Term,
    equation,
    in_brackets,
    sum_line,
)
from scalarviz.pictures.presenter.traced_weight import TracedWeight
from scalarviz.training.session.caption import Caption, Neuron, Piece

LONGEST = 48  # letters of the formula of a node


def named(trace: Trace, place: int, most: int = LONGEST) -> str:
    """Return the label of a node, or its formula as sentences write it."""
    words = trace.label(place - trace.first_made) or formula_words(trace, place, most)
    return pretty(words).replace("−", "-")


def entitled(trace: Trace, place: int) -> str:
    """Return the label of a node, and its formula."""
    formula = pretty(formula_words(trace, place, LONGEST)).replace("−", "-")
    label = trace.label(place - trace.first_made)
    return text("captions.node.label", label=label, formula=formula) if label else formula


def program_of(ctx: TracedWeight) -> TraceProgram:
    assert isinstance(ctx.program, TraceProgram)
    return ctx.program


def node_forward(ctx: TracedWeight) -> Caption:
    """An operation with the numbers of the focus sample."""
    program, i = program_of(ctx), ctx.moment.operation
    trace, run = program.trace, ctx.session.timeline.trainer.run
    operands = {each: run.values(program.node(each)) for each in operands_of(trace, i)}
    numbers = {each: float(ctx.of_sample(values)[0]) for each, values in operands.items()}
    result = float(ctx.of_sample(run.values(ctx.operation.target))[0])
    line = computed(program, i, numbers, result)
    name = entitled(trace, trace.first_made + i)
    title = text("captions.node.forward", name=name, value=said(result))
    own = ctx.operation.target.name, 0
    return Caption(title, "", (of_sample(ctx, line),), neurons=(own,))


def computed(
    program: TraceProgram,
    operation: int,
    numbers: Mapping[int, float],
    result: float,
    least: int = FEW,
) -> Line:
    """Return an operation with the numbers of its operands, and its result.

    numbers  by place in the trace
    least    fewest digits
    """
    formula, taken = program.trace.formulas[operation], operands_of(program.trace, operation)
    trace, parts = program.trace, list[Term | str]()
    order: list[int] = []
    for piece in spelled_out(formula, taken):
        if isinstance(piece, str):
            parts.append(piece.replace("−", "-"))
            continue
        operand = piece[0]
        if parts[-1:] == ["^"] and numbers[operand] == 2.0 and operand < trace.first_parameter:
            parts[-1] = "²"
            continue
        words = in_brackets if formula.symbol and (parts or formula.name == "power") else str
        exact = trace.inputs <= operand < trace.first_parameter
        about = subject_of(program, operand)
        parts.append(Term((numbers[operand],), words, *about, exact=exact))
        order.append(operand)

    def compute(shown: Sequence[float]) -> float:
        now = {**numbers, **dict(zip(order, shown, strict=True))}
        return formula.value(*(now[each] for each in taken))

    own = program.node(trace.first_made + operation).name, 0
    return equation(parts, compute, result, about=own, least=least)


def itself(ctx: TracedWeight) -> Caption:
    """The number that is to fall, from which the way back starts with 1."""
    trace = program_of(ctx).trace
    name = entitled(trace, trace.outputs[0])
    title = text("captions.node.itself", name=name)
    behind = program_of(ctx).node(trace.outputs[0]).name, 0
    return Caption(title, text("captions.node.start"), neurons=(behind,))


def node_back(ctx: TracedWeight) -> Caption:
    """What goes back from a node to each operand: the slope times what came back."""
    program, i = program_of(ctx), ctx.moment.operation
    trace, run = program.trace, ctx.session.timeline.trainer.run
    place, own = trace.first_made + i, (ctx.operation.target.name, 0)
    came = float(ctx.of_sample(run.gradients(ctx.operation.target))[0])
    lines: list[Line] = []
    names, rows, neurons = [], [], [own]
    assert isinstance(run, ExpressionRun)
    slopes = run.slopes(i)
    for operand in dict.fromkeys(each for each, _ in slopes):
        row, neuron = subject_of(program, operand)
        result = float(ctx.of_sample(run.gradients(program.node(operand)))[0])
        terms = [
            Term((float(slope[ctx.sample]), came), PRODUCT, row, neuron, behind=None)
            for each, slope in slopes
            if each == operand
        ]
        before = result - sum(term.value for term in terms)
        if abs(before) > 1e-9 * max(1.0, abs(result)):
            terms.insert(0, Term((before,)))
        name = named(trace, operand, LONGEST // 2)
        names.append(name)
        start = text("captions.node.operand", name=name)
        lines.append(sum_line(terms, result, about=neuron, start=start))
        if neuron is None:
            rows.append(row)
            lines += batch_line(ctx, name, row, run.gradients(program.node(operand)))
        neurons += [neuron] if neuron is not None else []
    listed = (
        text("captions.node.and").join([", ".join(names[:-1]), *names[-1:]])
        if names[1:]
        else "".join(names)
    )
    name = entitled(trace, place)
    title = text("captions.node.back", name=name, operands=listed, gradient=said(came))
    if not names:
        title = text("captions.node.back_to_none", name=name, gradient=said(came))
    formula = text("captions.node.rule")
    return Caption(
        title,
        formula,
        (of_sample(ctx, lines[0]), *lines[1:]) if lines else (),
        (),
        tuple(rows),
        tuple(neurons),
    )


def batch_line(ctx: TracedWeight, name: str, row: int, gradients: FloatArray) -> list[Line]:
    """Return the gradient of a parameter so far, added up over the batch; none of one sample."""
    if len(gradients) < 2:
        return []
    words = said(float(gradients.sum()))
    start = text("captions.node.batch", name=name, count=len(gradients))
    return [(Piece(start), Piece(words, row, mark=f"gradient\n{words}"))]


def of_sample(ctx: TracedWeight, line: Line) -> Line:
    """Return a line that says which sample has these numbers, if there are several."""
    if len(ctx.session.timeline.trainer.run.targets()) < 2:
        return line
    return Piece(text("captions.sample", sample=ctx.sample) + ": "), *line


def subject_of(program: TraceProgram, place: int) -> tuple[int, Neuron | None]:
    """Return bank index and neuron of a value of the trace; NONE and None for a constant."""
    number = place - program.trace.first_parameter
    if 0 <= number < len(program.trace.parameters):
        return int(program.rows[number]), None
    is_constant = program.trace.inputs <= place < program.trace.first_parameter
    return NONE, None if is_constant else (program.node(place).name, 0)
