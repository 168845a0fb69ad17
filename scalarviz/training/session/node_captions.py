"""Captions of the operations of a compiled function: a node of its graph, forward and back."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.program import NONE, Buffer, Operation
from scalarviz.core.trace import Trace
from scalarviz.core.trace_program import (
    Node,
    TraceProgram,
    formula_words,
    numbers_within,
    slopes_of_node,
    spelled_out,
)
from scalarviz.story.caption import Bar, Bars, Caption, Piece
from scalarviz.story.captions import step, zero_grad
from scalarviz.story.equations import (
    PRODUCT,
    CaptionLine,
    EquationTerm,
    bars_of,
    equation,
    in_brackets,
    is_changed,
    is_long,
    sum_line,
    whole_line,
)
from scalarviz.story.facts import TERMS, Neuron, sample_of
from scalarviz.story.formats import FEW, pretty, said
from scalarviz.story.forward_captions import CaptionFn, loss
from scalarviz.story.traced_weight import TracedWeight

DIGITS = 3  # fewest of a result
LONGEST_FORMULA = 48  # letters of the formula of a node
SHORT = 24  # letters of the formula of what a node takes
FEW_OPERANDS = 3  # lines on the way back; of more, those with the largest gradients


def program_of(ctx: TracedWeight) -> TraceProgram:
    found: TraceProgram = ctx.facts.program
    return found


def operation_of(ctx: TracedWeight) -> Operation:
    return program_of(ctx).operations[ctx.moment.operation]


def of_focus(ctx: TracedWeight, numbers: FloatArray) -> FloatArray:
    """Return the focus sample's row of an array."""
    found: FloatArray = numbers[sample_of(ctx.state)].astype(np.float64)
    return found


def numbers_of(ctx: TracedWeight, read: Callable[[Buffer], FloatArray]) -> dict[int, float]:
    """Return the numbers of the focus sample of all that a node takes, by place in the trace.

    read  gives values or gradients of a buffer
    """
    program = program_of(ctx)
    found: dict[int, float] = {}
    for buffer in dict.fromkeys(operation_of(ctx).sources):
        found |= zip(program.places_of(buffer), of_focus(ctx, read(buffer)).tolist(), strict=True)
    return found


def node_name(program: TraceProgram, name: str) -> str:
    """Return the name of a node of a compiled function, by the name of its buffer."""
    is_end = name == program.outputs.name
    return text("captions.end.output.only") if is_end else named(program, program.place_of[name])


def named(program: TraceProgram, place: int, most: int = LONGEST_FORMULA) -> str:
    """Return the label of a value, or its formula as sentences write it.

    What is too long for that is named as its operation, such as "relu 12".
    """
    label = program.trace.label(place - program.trace.first_made)
    words = label or formula_words(program.trace, place, most)
    if "…" in words and place in program.node_at:
        return program.operations[program.node_at[place]].name
    return pretty(words).replace("−", "-")


def entitled(program: TraceProgram, place: int) -> str:
    """Return the label of a value, and its formula; of many equal ones, how many they are."""
    label = program.trace.label(place - program.trace.first_made)
    found = pretty(formula_words(program.trace, place, LONGEST_FORMULA)).replace("−", "-")
    if label and "…" not in found:
        found = text("captions.node.label", label=label, formula=found)
    elif label or "…" in found:
        found = named(program, place)
    count = program.node(place).size
    return text("captions.node.equal", count=count, name=found) if count > 1 else found


def node_forward(ctx: TracedWeight) -> Caption:
    """A node with the numbers of the focus sample."""
    program, node = program_of(ctx), program_of(ctx).nodes[ctx.moment.operation]
    run, own = ctx.state.run, (operation_of(ctx).target.name, 0)
    results = of_focus(ctx, run.values(operation_of(ctx).target))
    name = entitled(program, program.trace.first_made + node.root)
    if node.count > 1:
        mean = said(float(results.mean()))
        return Caption(text("captions.node.forward_mean", name=name, value=mean), neurons=(own,))
    title = text("captions.node.forward", name=name, value=said(float(results[0]), DIGITS))
    lines, whole, bars = computed(program, node, numbers_of(ctx, run.values), DIGITS)
    lines = (of_sample(ctx, lines[0]), *lines[1:])
    return Caption(title, "", lines, neurons=(own,), whole=whole, bars=bars)


def computed(
    program: TraceProgram, node: Node, taken: Mapping[int, float], least: int = FEW
) -> tuple[tuple[CaptionLine, ...], tuple[CaptionLine, ...], Bars | None]:
    """Return how a node is computed, a long sum with all its terms, and what goes in as bars.

    taken  the numbers of what it takes, by place in the trace
    least  fewest digits
    """
    trace = program.trace
    numbers = numbers_within(trace, node, taken)
    place, inside = trace.first_made + node.root, {trace.first_made + i for i in node.members}
    found, own = list[CaptionLine](), (program.node(place).name, 0)
    while place in numbers:
        operation = place - trace.first_made
        parts = addends(trace, place, numbers, inside)
        terms = [term_of(program, each, numbers, inside) for each in parts]
        if len(terms) > 2 and not is_changed(terms, numbers[place]):
            found.append(sum_line(terms, numbers[place], about=own))
            whole = (whole_line(terms, numbers[place], about=own),) if is_long(terms) else ()
            return (*found,), whole, bars_of(terms, numbers[place], TERMS)
        found.append(one_operation(program, operation, numbers, least))
        taken_by = trace.taken[operation]
        if len(taken_by) > 1 or taken_by[0] not in inside:
            break
        (place,) = taken_by
    taken_by = trace.taken[node.root]
    rows = [Bar(named(program, each, SHORT), numbers[each]) for each in taken_by]
    result = trace.first_made + node.root
    rows.append(Bar("=", numbers[result]))
    return (*found,), (), Bars(tuple(rows), marked=len(taken_by))


def addends(
    trace: Trace, place: int, numbers: Mapping[int, float], inside: Container[int]
) -> list[int]:
    """Return the parts of a sum that a node computes, in their order."""
    found, waiting = list[int](), [place]
    while waiting:
        each = waiting.pop()
        operation = each - trace.first_made
        if each in inside and trace.formulas[operation].name == "add":
            waiting += reversed(trace.taken[operation])
        elif numbers[each] != 0.0 or each >= trace.first_parameter:  # sum() begins with 0
            found.append(each)
    return found


def term_of(
    program: TraceProgram, place: int, numbers: Mapping[int, float], inside: Container[int]
) -> EquationTerm:
    """Return a part of a sum: a product that the node computes as its factors."""
    trace, operation = program.trace, place - program.trace.first_made
    if place in inside and trace.formulas[operation].name == "multiply":
        factors = trace.taken[operation]
        subjects = [subject_of(program, each) for each in factors]
        row = next((row for row, _ in subjects if row != NONE), NONE)
        neuron = next((neuron for _, neuron in subjects if neuron is not None), None)
        return EquationTerm(tuple(numbers[each] for each in factors), PRODUCT, row, neuron)
    row, neuron = subject_of(program, place) if place not in inside else (NONE, None)
    return EquationTerm((numbers[place],), str, row, neuron)


def one_operation(
    program: TraceProgram, operation: int, numbers: Mapping[int, float], least: int = FEW
) -> CaptionLine:
    """Return an operation with the numbers of its operands, and its result.

    numbers  by place in the trace
    least    fewest digits
    """
    formula, taken = program.trace.formulas[operation], program.trace.taken[operation]
    trace, parts = program.trace, list[EquationTerm | str]()
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
        parts.append(EquationTerm((numbers[operand],), words, *about, exact=exact))
        order.append(operand)

    def compute(shown: Sequence[float]) -> float:
        now = {**numbers, **dict(zip(order, shown, strict=True))}
        return formula.value(*(now[each] for each in taken))

    place = trace.first_made + operation
    return equation(
        parts, compute, numbers[place], about=subject_of(program, place)[1], least=least
    )


def itself(ctx: TracedWeight) -> Caption:
    """The number that is to fall, from which the way back starts with 1."""
    program = program_of(ctx)
    behind = program.node(program.trace.outputs[0])
    title = text("captions.node.itself", name=entitled(program, program.trace.outputs[0]))
    return Caption(title, text("captions.node.start"), neurons=((behind.name, 0),))


def node_back(ctx: TracedWeight) -> Caption:
    """What goes back from a node to all that it takes: the slope times what came back."""
    program, node = program_of(ctx), program_of(ctx).nodes[ctx.moment.operation]
    trace, run, target = program.trace, ctx.state.run, operation_of(ctx).target
    subjects = [
        subject_of(program, each.offset) for each in dict.fromkeys(operation_of(ctx).sources)
    ]
    rows = tuple(row for row, _ in subjects if row != NONE)
    neurons = (target.name, 0), *(each for _, each in subjects if each is not None)
    came = float(of_focus(ctx, run.gradients(target)).sum())
    about = {"name": entitled(program, trace.first_made + node.root), "gradient": said(came)}
    if node.count > 1:
        title = text("captions.node.back_all", **about)
        return Caption(title, text("captions.node.rule"), rows=rows, neurons=neurons)
    numbers, gradients = numbers_of(ctx, run.values), numbers_of(ctx, run.gradients)
    slopes = slopes_of_node(trace, node, numbers_within(trace, node, numbers))
    taken = sorted(
        dict.fromkeys(each for each, _ in slopes),
        key=lambda each: -abs(gradients[each]) if len(subjects) > FEW_OPERANDS else 0.0,
    )
    names = [named(program, each, SHORT) for each in taken]
    both = filter(None, [", ".join(names[:-1]), *names[-1:]])
    title = text("captions.node.back", **about, operands=text("captions.node.and").join(both))
    if not names:
        title = text("captions.node.back_to_none", **about)
    if len(names) > FEW_OPERANDS:
        title = text("captions.node.back_to_many", **about, count=len(names))
    lines: list[CaptionLine] = []
    for each, name in zip(taken[:FEW_OPERANDS], names, strict=False):
        passed = [slope for operand, slope in slopes if operand == each]
        lines += operand_lines(ctx, each, name, [(slope, came) for slope in passed])
    lines[:1] = [of_sample(ctx, line) for line in lines[:1]]
    caption = Caption(title, text("captions.node.rule"), (*lines,), (), rows, neurons)
    blame = [
        Bar(name, -came * sum(slope for operand, slope in slopes if operand == each))
        for each, name in zip(taken[:TERMS], names, strict=False)
    ]
    if came == 0.0:
        return replace(caption, title=text("captions.back.none", unit=about["name"]))
    return replace(caption, bars=Bars((*blame,), unit="blame") if blame else None)


def operand_lines(
    ctx: TracedWeight, place: int, name: str, parts: Sequence[tuple[float, float]]
) -> list[CaptionLine]:
    """Return the gradient of what a node takes: what it had, and slopes times what came back."""
    program, run = program_of(ctx), ctx.state.run
    row, neuron = subject_of(program, place)
    buffer = program.node(place)
    gradients = run.gradients(buffer)[:, [program.places_of(buffer).index(place)]]
    result = float(of_focus(ctx, gradients)[0])
    terms = [EquationTerm(part, PRODUCT, row, neuron) for part in parts]
    before = result - sum(term.value for term in terms)
    if abs(before) > 1e-9 * max(1.0, abs(result)):
        terms.insert(0, EquationTerm((before,)))
    line = sum_line(terms, result, about=neuron, start=text("captions.node.operand", name=name))
    return [line, *(batch_line(ctx, name, row, gradients) if neuron is None else [])]


def batch_line(ctx: TracedWeight, name: str, row: int, gradients: FloatArray) -> list[CaptionLine]:
    """Return the gradient of a parameter so far, added up over the batch; none of one sample."""
    if len(gradients) < 2:
        return []
    words = said(float(gradients.sum()))
    start = text("captions.node.batch", name=name, count=len(gradients))
    return [(Piece(start), Piece(words, row))]


def of_sample(ctx: TracedWeight, line: CaptionLine) -> CaptionLine:
    """Return a line that says which sample has these numbers, if there are several."""
    sample = Piece(text("captions.sample", sample=sample_of(ctx.state)) + ": ")
    return line if len(ctx.state.run.targets()) < 2 else (sample, *line)


def subject_of(program: TraceProgram, place: int) -> tuple[int, Neuron | None]:
    """Return bank index and neuron of a value; NONE and None for one that is not in the picture."""
    number = place - program.trace.first_parameter
    if 0 <= number < len(program.trace.parameters):
        return int(program.rows[number]), None
    is_drawn = place < program.trace.inputs or place in program.node_at
    return NONE, (program.node(place).name, 0) if is_drawn else None


def loss_or_value(ctx: TracedWeight) -> Caption:
    return itself(ctx) if ctx.facts.loss.is_value else loss(ctx)


# By the kind of the moment.
TELLERS: dict[str, CaptionFn] = {
    "zero_grad": zero_grad,
    "forward": node_forward,
    "loss": loss_or_value,
    "operand gradient": node_back,
    "step": step,
}
