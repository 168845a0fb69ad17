"""Cards of nodes: how a result is computed, and the gradients that come back to it."""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.core.model.formula_of import operands_of
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.trace import TraceProgram
from scalarviz.pictures.presenter.arithmetic import Product, product_table
from scalarviz.pictures.presenter.captions.format import said
from scalarviz.pictures.presenter.captions.nodes import computed, entitled, named
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.view.frame_data import Card, Drawing, Line, Table
from scalarviz.training.session.caption import Neuron

DIGITS = 3  # fewest of a number


def node_card(reading: LiveValues, node: Neuron, done: int) -> Card | None:
    """Return the card of an input or a result of a compiled function; None for anything else.

    done  operations of the step that are shown; 0: all of them
    """
    program = reading.program
    if not isinstance(program, TraceProgram):
        return None
    trace, (name, _) = program.trace, node
    made = range(trace.first_made, trace.first_made + len(trace.operations))
    place = next((i for i in [*range(trace.inputs), *made] if program.node(i).name == name), NONE)
    if place == NONE:
        return None
    numbers, flows = known_numbers(reading, program, done)
    value, gradient = numbers.get(place), flows.get(place) if place in made else None
    written = text("card.neuron.empty") if value is None else said(value, DIGITS)
    facts = [(text("card.value"), written)]
    blocks: list[Line | Table | Drawing] = [
        Line(written, "large", text("card.neuron.sample", number=reading.session.focus))
    ]
    if place in made and value is not None:
        line = computed(program, place - trace.first_made, numbers, value, least=DIGITS)
        blocks.append(Line("".join(piece.words for piece in line)))
    readers = [i for i in range(len(trace.operations)) if place in operands_of(trace, i)]
    if gradient is not None:
        facts.append((text("card.gradient"), said(gradient, DIGITS)))
        way = "up" if gradient > 0.0 else "down" if gradient < 0.0 else "none"
        blocks.append(Line(text(f"card.node.gradient.{way}", gradient=said(gradient))))
        passed = [i for i in reversed(readers) if has_passed(reading, i, done)]
        products = [
            Product(named(trace, trace.first_made + i), slope, flows[trace.first_made + i])
            for i in passed
            for slope in slopes_in(program, i, place, numbers)
        ]
        if products:
            head = text("card.node.into"), text("card.node.slope"), text("card.gradient")
            total = text("card.gradient")
            table = product_table((*head, text("card.node.back")), products, total, least=DIGITS)
            blocks.append(table)
        readers = [i for i in readers if i not in passed]
    blocks += [
        Line(text("card.neuron.into", name=named(trace, trace.first_made + i))) for i in readers
    ]
    return Card(NONE, entitled(trace, place), facts, blocks)


def known_numbers(
    reading: LiveValues, program: TraceProgram, done: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the values and gradients of the focus sample so far, by place in the trace."""
    buffers, trace = reading.buffers(done), program.trace
    numbers = dict(enumerate(trace.constants, trace.inputs))
    numbers |= dict(enumerate(reading.numbers.value[program.rows].tolist(), trace.first_parameter))
    nodes = {program.node(i).name: i for i in range(trace.inputs)}
    made = range(trace.first_made, trace.first_made + len(trace.operations))
    nodes |= {program.node(i).name: i for i in made}
    flows = buffers.flows if done else reading.way.flows
    numbers |= {nodes[name]: float(x[0]) for name, x in buffers.values.items() if name in nodes}
    return numbers, {nodes[name]: float(x[0]) for name, x in flows.items() if name in nodes}


def has_passed(reading: LiveValues, operation: int, done: int) -> bool:
    """Return whether an operation has passed its gradient on to its operands."""
    past = reading.moments[:done] if done else reading.moments
    return any(each.kind == "operand gradient" and each.operation == operation for each in past)


def slopes_in(
    program: TraceProgram, operation: int, operand: int, numbers: dict[int, float]
) -> list[float]:
    """Return the slopes of an operation in each of its operands that is a certain value."""
    trace, taken = program.trace, operands_of(program.trace, operation)
    known = [numbers[each] for each in (*taken, trace.first_made + operation)]
    partials = zip(taken, trace.formulas[operation].partials, strict=True)
    return [float(partial(*known)) for each, partial in partials if each == operand]
