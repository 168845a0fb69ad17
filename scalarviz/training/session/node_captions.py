"""Captions for the graph nodes of a compiled function, in the forward and backward pass."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded, short, typeset
from scalarviz.core.program import NONE, Buffer, Operation
from scalarviz.core.trace import Trace
from scalarviz.core.trace_program import (
    SIGNS,
    Node,
    TraceProgram,
    formula_words,
    name_of,
    numbers_within,
    slopes_of_node,
    spelled_out,
)
from scalarviz.story.caption import Bar, Bars, Caption, Effect, Piece, Trial
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
from scalarviz.story.facts import TERMS, Neuron, Numbers, sample_of
from scalarviz.story.formats import pretty, said
from scalarviz.story.forward_captions import REACH, CaptionFn, bent_at, loss
from scalarviz.story.names import number_word
from scalarviz.story.panel_words import FINE, in_print, number, said_goal
from scalarviz.story.reason import change_of, others_words, stepped
from scalarviz.story.traced_weight import TracedWeight, read_answers
from scalarviz.story.trial import STEPS, misses_of, off_of

DIGITS = 3  # minimum digits of a result
LONGEST_FORMULA = 48  # characters in the formula of a node
SHORT = 12  # characters in the label of a bar
FEW_PARAMETERS = 5  # listed in a step
FEW_OPERANDS = 3  # lines in the backward pass; of more, those with the largest gradients


def program_of(ctx: TracedWeight) -> TraceProgram:
    found: TraceProgram = ctx.facts.program
    return found


def operation_of(ctx: TracedWeight) -> Operation:
    return program_of(ctx).operations[ctx.moment.operation]


def of_focus(ctx: TracedWeight, numbers: FloatArray) -> FloatArray:
    """Return the row of an array that belongs to the displayed sample, as float64."""
    found: FloatArray = numbers[sample_of(ctx.state)].astype(np.float64)
    return found


def numbers_of(ctx: TracedWeight, read: Callable[[Buffer], FloatArray]) -> dict[int, float]:
    """Return the numbers of a node's operands for the displayed sample, by index in the trace.

    Args:
        read: function that returns the values or the gradients of a buffer
    """
    program = program_of(ctx)
    found: dict[int, float] = {}
    for buffer in dict.fromkeys(operation_of(ctx).sources):
        found |= zip(program.places_of(buffer), of_focus(ctx, read(buffer)).tolist(), strict=True)
    return found


def node_name(program: TraceProgram, name: str) -> str:
    """Return the display name of a compiled function's node, given the name of its buffer."""
    is_end = name == program.outputs.name
    return text("captions.end.output.only") if is_end else named(program, program.place_of[name])


def named(program: TraceProgram, place: int) -> str:
    """Return the label of a value or, if it has no label, its formula for use in sentences.

    If the formula is too long, return the name of the operation, such as "relu 12".
    """
    label = program.trace.label(place - program.trace.first_made)
    words = label or formula_words(program.trace, place, LONGEST_FORMULA)
    if "…" in words and place in program.node_at:
        return program.operations[program.node_at[place]].name
    return pretty(words).replace("−", "-")


def spoken(program: TraceProgram, place: int) -> str:
    """Return the name of a value in a sentence: OUT, its label, its formula, or a generic name."""
    inputs = range(program.trace.inputs)
    if place in program.trace.outputs and np.isin(program.trace.operands, inputs).any():
        return text("picture.out")
    words = program.trace.label(place - program.trace.first_made)
    words = words or pretty(formula_words(program.trace, place, LONGEST_FORMULA))
    return text("captions.node.part") if "…" in words else words.replace("exp(", "e^(")


def entitled(program: TraceProgram, place: int) -> str:
    """Return the label and the formula of a value, and for merged equal values their count."""
    label = program.trace.label(place - program.trace.first_made)
    found = pretty(formula_words(program.trace, place, LONGEST_FORMULA)).replace("−", "-")
    if label and "…" not in found:
        found = text("captions.node.label", label=label, formula=found)
    elif label or "…" in found:
        found = named(program, place)
    count = program.node(place).size
    return text("captions.node.equal", count=count, name=found) if count > 1 else found


def node_forward(ctx: TracedWeight) -> Caption:
    """Return the forward caption of a node, with the numbers of the displayed sample."""
    program, node = program_of(ctx), program_of(ctx).nodes[ctx.moment.operation]
    run, own = ctx.state.run, (operation_of(ctx).target.name, 0)
    results = of_focus(ctx, run.values(operation_of(ctx).target))
    name = entitled(program, program.trace.first_made + node.root)
    if node.count > 1:
        mean = said(float(results.mean()))
        return Caption(text("captions.node.forward_mean", name=name, value=mean), neurons=(own,))
    value, taken = float(results[0]), numbers_of(ctx, run.values)
    name = spoken(program, program.trace.first_made + node.root)
    title = text("captions.node.forward", name=name, value=said_goal(value))
    lines, whole, bars = computed(program, node, taken, DIGITS)
    why = "".join(piece.words for piece in lines[0]).replace("exp(", "e^(")
    formula, bent = program.trace.formulas[node.root], None
    if len(node.members) == len(formula.partials) == 1 and not formula.symbol:
        (x,) = taken.values()
        reach = abs(x) if formula.name == "exp" else REACH
        bent = bent_at(formula.value, x, value, reach)
    lines = (of_sample(ctx, lines[0]), *lines[1:])
    return Caption(title, "", lines, whole, neurons=(own,), why=why, bars=bars, bent=bent)


def computed(
    program: TraceProgram, node: Node, taken: Mapping[int, float], least: int
) -> tuple[tuple[CaptionLine, ...], tuple[CaptionLine, ...], Bars | None]:
    """Return lines for the computation of a node, all terms of a long sum, and bars of operands.

    Args:
        taken: values of the operands, by index in the trace
        least: minimum number of digits
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
    if trace.formulas[node.root].name != "add":
        return (*found,), (), None
    names = {each: spoken(program, each) for each in trace.taken[node.root]}
    rows = [
        Bar(name if len(name) <= SHORT else short(numbers[each]), numbers[each])
        for each, name in names.items()
    ]
    return (*found,), (), Bars((*rows,), numbers[trace.first_made + node.root])


def addends(
    trace: Trace, place: int, numbers: Mapping[int, float], inside: Container[int]
) -> list[int]:
    """Return the trace indices of the terms in a sum that a node computes, in order."""
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
    """Return one term of a sum; a product that the node computes is shown as its factors."""
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
    program: TraceProgram, operation: int, numbers: Mapping[int, float], least: int
) -> CaptionLine:
    """Return a line that shows an operation with the values of its operands and its result.

    Args:
        numbers: values by index in the trace
        least: minimum number of digits
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
    """Return the caption of the minimized value, at which the backward pass starts with 1."""
    program = program_of(ctx)
    behind = program.node(program.trace.outputs[0])
    title = text("captions.node.itself", name=entitled(program, program.trace.outputs[0]))
    return Caption(title, text("captions.node.start"), neurons=((behind.name, 0),))


def node_back(ctx: TracedWeight) -> Caption:
    """Return the backward caption of a node: slope times upstream gradient for each operand."""
    program, node = program_of(ctx), program_of(ctx).nodes[ctx.moment.operation]
    trace, run, target = program.trace, ctx.state.run, operation_of(ctx).target
    subjects = [
        subject_of(program, each.offset) for each in dict.fromkeys(operation_of(ctx).sources)
    ]
    rows = tuple(row for row, _ in subjects if row != NONE)
    parts = [each for _, each in subjects if each is not None]
    made = [each for each in parts if program.place_of[each[0]] >= trace.inputs]
    neurons = (target.name, 0), *made
    came = float(of_focus(ctx, run.gradients(target)).sum())
    if node.count > 1:
        title = text("captions.node.back_all", name=entitled(program, trace.first_made + node.root))
        return Caption(title, text("captions.node.rule"), rows=rows, neurons=neurons)
    numbers, gradients = numbers_of(ctx, run.values), numbers_of(ctx, run.gradients)
    slopes = slopes_of_node(trace, node, numbers_within(trace, node, numbers))
    taken = sorted(
        dict.fromkeys(each for each, _ in slopes if each >= trace.inputs),
        key=lambda each: -abs(gradients[each]) if len(subjects) > FEW_OPERANDS else 0.0,
    )
    lines: list[CaptionLine] = []
    for each in taken[:FEW_OPERANDS]:
        passed = [(slope, came) for operand, slope in slopes if operand == each]
        lines += operand_lines(ctx, each, named(program, each), passed)
    lines[:1] = [of_sample(ctx, line) for line in lines[:1]]
    name = spoken(program, trace.first_made + node.root)
    if came == 0.0:
        title = text("captions.back.none", unit=name)
        return Caption(title, text("captions.node.rule"), (*lines,), (), rows, neurons)
    asks = text("captions.node.should", name=name, way=way_of(came))
    asking = [each for each in taken[:2] if rows and subject_of(program, each)[0] == rows[0]]
    why = [
        text("captions.node.since", name=spoken(program, each), way=way_of(slope * came), by=by)
        for each in asking or taken[:2]
        for slope in [sum(k for x, k in slopes if x == each)]
        for by in [passed_on(program, node, slope)]
        if slope
    ]
    caption = Caption(asks, text("captions.node.rule"), (*lines,), (), rows, neurons)
    if not rows:
        return replace(caption, why=" ".join(why))
    place = next(each for each in taken if subject_of(program, each)[0] == rows[0])
    return asked(ctx, replace(caption, why=" ".join([asks, *why])), place, gradients[place])


def way_of(gradient: float) -> str:
    """Return the word for the direction in which a number should change: up or down."""
    return text(f"captions.way.{'down' if gradient > 0.0 else 'up'}")


def passed_on(program: TraceProgram, node: Node, slope: float) -> str:
    """Return a description of how an operation passes the gradient to its operands."""
    formula, kept = program.trace.formulas[node.root], "same" if slope > 0.0 else "turned"
    sign = SIGNS.get(formula.name, formula.symbol)
    if len(node.members) > 1 or (not sign and len(formula.partials) == 1):
        return text(f"blame.curve.{kept}")
    by = f"×{number(slope)}" if sign == "×" else sign or formula.name
    return text(f"blame.passed.{kept}", by=by)


def asked(ctx: TracedWeight, caption: Caption, place: int, own: float) -> Caption:
    """Add to a caption how the batch would change a parameter, and the effect of a trial change.

    Args:
        place: index of the parameter in the trace
        own: gradient of the parameter for the displayed sample only
    """
    program, (row, _) = program_of(ctx), subject_of(program_of(ctx), place)
    grad = float(ctx.state.run.gradients(program.node(place)).sum())
    way = -1.0 if grad > 0.0 else 1.0
    title = text("captions.node.should", name=named(program, place), way=way_of(grad))
    why = caption.why if own * grad > 0.0 else others_words(way, own, ctx.state.batch)
    trial, wish = trial_of(ctx, place, row, way), change_of(ctx.state, row)
    caption = replace(caption, title=title, why=why, trial=trial)
    new = stepped(ctx.state, row)
    if wish and new is not None and way * (new - float(ctx.state.value[row])) < 0.0:
        title = text("captions.node.momentum", name=named(program, place), way=way_of(grad))
        caption = replace(caption, title=title)
    return replace(caption, wish=wish)


def trial_of(ctx: TracedWeight, place: int, row: int, way: float) -> Trial | None:
    """Return a trial change of a parameter that brings the output closer to its target, or None."""
    program, state, misses = program_of(ctx), ctx.state, misses_of(ctx.facts, ctx.state)
    old = float(state.value[row])
    value = list(state.value)
    for by in STEPS if len(misses) == 1 else ():
        new, miss = old + way * by, misses[0]
        value[row] = new
        answer = answer_of(program, inputs_of(ctx), value)
        after = read_answers([answer], ctx.facts.loss.logits)
        out = Effect(miss.neuron, miss.name, miss.out, after[0])
        off = off_of([out], misses)
        is_seen = short(out.before) != short(out.after) and short(off[0], 3) != short(off[1], 3)
        if is_seen and off[1] < off[0]:
            name = named(program, place)
            return Trial(way * by, (old, new), None, (out,), (), off, name)
    return None


def answer_of(program: TraceProgram, inputs: Sequence[float], value: Numbers) -> float:
    """Return the first output for these inputs and the bank values `value`."""
    trace, values = program.trace, np.asarray(value)[program.rows].tolist()
    given = {**dict(enumerate(inputs)), **dict(enumerate(values, trace.first_parameter))}
    whole = Node((*range(len(trace.formulas)),), ())
    return numbers_within(trace, whole, given)[trace.outputs[0]]


def cleared(ctx: TracedWeight) -> Caption:
    """Return the caption of a step's first operation, which introduces the displayed sample."""
    caption, state, trace = zero_grad(ctx), ctx.state, program_of(ctx).trace
    if state.batch < 2 or state.target is None or trace.inputs + len(state.target) > FEW_PARAMETERS:
        return caption
    title = text("captions.node.follows", count=number_word(state.batch))
    given = [(name_of(trace, i), x) for i, x in enumerate(inputs_of(ctx))]
    goals = [(text("telling.goal"), float(each)) for each in state.target]
    numbers = ", ".join(f"{name} = {number(x)}" for name, x in [*given, *goals])
    return replace(caption, title=title, why=f"{numbers}. {caption.title}", rows=())


def inputs_of(ctx: TracedWeight) -> list[float]:
    """Return the inputs of the displayed sample."""
    inputs = range(program_of(ctx).trace.inputs)
    run, program = ctx.state.run, program_of(ctx)
    return [float(of_focus(ctx, run.values(program.node(i)))[0]) for i in inputs]


def node_step(ctx: TracedWeight) -> Caption:
    """Return the caption of the update; if there are few parameters, with all their changes."""
    caption, state, program = step(ctx), ctx.state, program_of(ctx)
    outcome, found, trace = caption.outcome, state.explained, program.trace
    if found is None or outcome is None or len(program.rows) > FEW_PARAMETERS:
        return caption
    moved = [
        Effect(("", NONE), trace.name(i), found(row).value, float(state.value[row]))
        for i, row in enumerate(program.rows.tolist(), trace.first_parameter)
    ]
    goals, words = ctx.of_batch("targets"), []
    names = [program.node(i).name for i in range(trace.inputs)]
    known = {} if state.all is None else state.all.values
    if {*names} <= known.keys() and goals is not None and len(outcome.outputs) == 1:
        inputs = [known[name] for name in names]
        after = [answer_of(program, each, state.value) for each in zip(*inputs, strict=True)]
        before = np.subtract(known[program.outputs.name], goals)
        moves = np.abs(np.subtract(after, goals)) - np.abs(before)
        near, far = int((moves < 0.0).sum()), int((moves > 0.0).sum())
        words = [text("outcome.dots", near=near, far=far)]
    if words and state.again is not None and ctx.facts.loss.name == "mse":
        way = "rose" if state.again > state.loss else "fell" if near > far else "still"
        words.append(text(f"outcome.mean.{way}"))
    outcome = replace(outcome, moved=(*moved,))
    return replace(caption, why=" ".join(words), outcome=outcome, rows=())  # all are in the panel


def operand_lines(
    ctx: TracedWeight, place: int, name: str, parts: Sequence[tuple[float, float]]
) -> list[CaptionLine]:
    """Return lines for an operand's gradient: the old one plus slopes times upstream gradients."""
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
    """Return a line with a parameter's gradient summed over the batch; [] for a single sample."""
    if len(gradients) < 2:
        return []
    words = said(float(gradients.sum()))
    start = text("captions.node.batch", name=name, count=len(gradients))
    return [(Piece(start), Piece(words, row))]


def of_sample(ctx: TracedWeight, line: CaptionLine) -> CaptionLine:
    """Prefix a line with the index of the displayed sample if the batch has several."""
    sample = Piece(text("captions.sample", sample=sample_of(ctx.state)) + ": ")
    return line if len(ctx.state.run.targets()) < 2 else (sample, *line)


def subject_of(program: TraceProgram, place: int) -> tuple[int, Neuron | None]:
    """Return the bank row and the neuron that display a value, or NONE and None if none do."""
    number = place - program.trace.first_parameter
    if 0 <= number < len(program.trace.parameters):
        return int(program.rows[number]), None
    is_drawn = place < program.trace.inputs or place in program.node_at
    return NONE, (program.node(place).name, 0) if is_drawn else None


def loss_or_value(ctx: TracedWeight) -> Caption:
    if ctx.facts.loss.is_value:
        return itself(ctx)
    caption, function = loss(ctx), ctx.facts.loss
    if (function.name, function.factor, len(caption.misses)) != ("mse", 1.0, 1):
        return caption
    off = in_print(abs(caption.misses[0].out - caption.misses[0].goal), FINE)
    title = text("captions.node.off", off=number(off, FINE), square=number(off * off, FINE))
    count, whole = number_word(ctx.state.batch), typeset(rounded(ctx.state.loss, 3))
    return replace(caption, title=title, why=text("captions.node.squared", count=count, loss=whole))


# By kind of moment.
TELLERS: dict[str, CaptionFn] = {
    "zero_grad": cleared,
    "forward": node_forward,
    "loss": loss_or_value,
    "operand gradient": node_back,
    "step": node_step,
}
