"""Cards of nodes: how a result is computed, and the gradients that come back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scalarviz.base.texts import text
from scalarviz.core.program import NONE
from scalarviz.core.trace_program import TraceProgram, numbers_within, slopes_of_node
from scalarviz.pictures.presenter.arithmetic import Product, product_table
from scalarviz.pictures.presenter.captions.format import said
from scalarviz.pictures.presenter.captions.names import entitled, named
from scalarviz.pictures.presenter.captions.nodes import computed
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.view.frame_data import Card, Drawing, Line, Table
from scalarviz.training.session.caption import Neuron

DIGITS, MOST_READERS = 3, 4  # fewest digits; nodes that are named


def node_card(reading: LiveValues, neuron: Neuron, done: int) -> Card | None:
    """Return the card of an input or a node of a compiled function; None for anything else.

    done  operations of the step that are shown; 0: all of them
    """
    program = reading.program
    if not isinstance(program, TraceProgram) or neuron[0] not in program.place_of:
        return None
    place, first = program.place_of[neuron[0]], program.trace.first_made
    known, flows = known_numbers(reading, program, done)
    value = known.get(place)
    written = text("card.neuron.empty") if value is None else said(value, DIGITS)
    facts = [(text("card.value"), written)]
    about = text("card.neuron.sample", number=reading.session.focus)
    blocks: list[Line | Table | Drawing] = [Line(written, "large", about)]
    readers = [
        i for i, each in enumerate(program.operations) if program.node(place) in each.sources
    ]
    node = next((each for each in program.nodes if first + each.root == place), None)
    if node is not None and node.count > 1:
        blocks.append(Line(text("card.node.equal", count=node.count)))
    elif node is not None and value is not None:
        lines, whole = computed(program, node, known, least=DIGITS)
        shown = [*lines[:-1], *(whole or lines[-1:])]
        blocks += [Line("".join(piece.words for piece in line)) for line in shown]
    if node is not None and place in flows:
        gradient = said(flows[place], DIGITS)
        facts.append((text("card.gradient"), gradient))
        way = "up" if flows[place] > 0.0 else "down" if flows[place] < 0.0 else "none"
        blocks.append(Line(text(f"card.node.gradient.{way}", gradient=said(flows[place]))))
        passed = [i for i in reversed(readers) if has_passed(reading, i, done)]
        blocks += came_back(program, place, passed, known, flows)
        readers = [i for i in readers if i not in passed]
    if len(readers) > MOST_READERS:
        blocks.append(Line(text("card.node.into_many", count=len(readers))))
        readers = []
    for i in readers:
        name = named(program, program.operations[i].target.offset)
        blocks.append(Line(text("card.neuron.into", name=name)))
    return Card(NONE, entitled(program, place), facts, blocks)


def known_numbers(
    reading: LiveValues, program: TraceProgram, done: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the values and gradients of the focus sample so far, by place in the trace."""
    buffers, trace, places = reading.buffers(done), program.trace, program.place_of
    numbers = dict(enumerate(reading.numbers.value[program.rows].tolist(), trace.first_parameter))
    flows = buffers.flows if done else reading.way.flows
    numbers |= {places[name]: float(x[0]) for name, x in buffers.values.items() if name in places}
    return numbers, {places[name]: float(x[0]) for name, x in flows.items() if name in places}


def came_back(
    program: TraceProgram,
    place: int,
    readers: Sequence[int],
    known: Mapping[int, float],
    flows: Mapping[int, float],
) -> list[Table]:
    """Return the gradients that came back from the nodes that take a value, as a table.

    None if one of them stands for several, of which only the mean is known.
    """
    products, trace = list[Product](), program.trace
    for node in map(program.nodes.__getitem__, readers):
        numbers, result = numbers_within(trace, node, known), trace.first_made + node.root
        if node.count > 1 or result not in numbers or program.node(place).size > 1:
            return []
        slopes = [slope for each, slope in slopes_of_node(trace, node, numbers) if each == place]
        products += [Product(named(program, result), slope, flows[result]) for slope in slopes]
    head = text("card.node.into"), text("card.node.slope"), text("card.gradient")
    total = text("card.gradient")
    table = product_table((*head, text("card.node.back")), products, total, least=DIGITS)
    return [table] if products else []


def has_passed(reading: LiveValues, node: int, done: int) -> bool:
    """Return whether a node has passed its gradient on to all that it takes."""
    past = reading.moments[:done] if done else reading.moments
    return any(each.kind == "operand gradient" and each.operation == node for each in past)
