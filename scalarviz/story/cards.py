"""Cards of neurons and nodes: how their numbers are computed, and what gradients come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import row_text, text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LossRow, RowLossRow
from scalarviz.core.program import NONE, Operation, Places, Program
from scalarviz.core.trace_program import TraceProgram, numbers_within, slopes_of_node
from scalarviz.scene.exhibits.plots import NeuronMap, Plane
from scalarviz.scene.frame_data import Drawing, NeuronMaps
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.pointing import buffer_of, count_of
from scalarviz.story.caption import Card, CardLine, CardTable, Neuron, Piece
from scalarviz.story.equations import MOST_ROWS, ProductRow, equation, product_table
from scalarviz.story.formats import agreeing, pretty, said
from scalarviz.story.forward_captions import activation_line, error_at, loss_term, loss_text
from scalarviz.story.names import entitled, name_in, named, names_in
from scalarviz.training.session.node_captions import computed
from scalarviz.story.traced_weight import weights_from, weights_into

NEURON_DIGITS = 3  # fewest of a number
FEW_TERMS = 12  # terms of a sum in the order of the picture; of more, the largest come first


@dataclass(frozen=True)
class NeuronNumbers:
    """A neuron of the focus sample, and what is computed of it so far.

    program  the program of the network
    names    of input and output neurons, by buffer
    weights  numbers of the bank
    line     where it stands; `place` in it
    values   activations, `flows` gradients, by buffer
    target   targets of the outputs, or None
    answers  outputs as the loss reads them, or None
    loss     row of the loss
    sample   index of the focus sample
    """

    program: Program
    names: Mapping[str, Sequence[str]]
    weights: FloatArray
    line: Neurons
    place: int
    values: Mapping[str, FloatArray]
    flows: Mapping[str, FloatArray]
    target: FloatArray | None
    answers: FloatArray | None
    loss: LossRow | RowLossRow
    sample: int

    @property
    def logits(self) -> str:
        """Name of the activation that the loss applies to the outputs, or ""."""
        return self.loss.logits

    @property
    def is_one(self) -> bool:
        """Whether it is the 1 of the biases."""
        return self.place >= len(self.line.points)

    @property
    def value(self) -> float | None:
        """Its value; the sum while the activation is not computed; None before that."""
        if self.is_one:
            return 1.0
        for name in (self.line.values, *self.line.also, self.line.sums):
            if name in self.values:
                return float(self.values[name][self.place])
        return None

    @property
    def delta(self) -> float | None:
        """The gradient of the loss by its sum, or by its value if it has no sum."""
        flow = self.flows.get(self.line.sums or self.line.values)
        is_input = self.line.values == self.program.inputs.name
        return None if flow is None or self.is_one or is_input else float(flow[self.place])

    @property
    def wanted(self) -> float | None:
        """Its target, if it is an output that is computed."""
        is_output = self.program.outputs.name in self.line.buffers
        known = self.program.outputs.name in self.values and self.target is not None
        if not is_output or not known or self.is_one or self.target is None:
            return None
        return float(self.target[self.place]) if len(self.target) == len(self.line.points) else None

    @property
    def answer(self) -> float | None:
        """Its value as the loss reads it, if it has a target."""
        if self.wanted is None or self.answers is None:
            return None
        return float(self.answers[self.place])

    @cached_property
    def writers(self) -> list[Operation]:
        """The operations that make its value, from the last to the one before the line."""
        found, name = [], buffer_of(self.line)
        by_target = {operation.target.name: operation for operation in self.program.operations}
        while name in by_target:
            found.append(by_target[name])
            name = by_target[name].source.name
            if name not in self.line.buffers:
                break
        return found

    @cached_property
    def readers(self) -> list[Operation]:
        """The operations that its value goes into."""
        own = self.line.buffers
        return [
            operation
            for operation in self.program.operations
            if operation.target.name not in own
            and any(source.name in own for source in operation.sources)
            and operation.kind != "branch"
        ]

    def called(self, name: str, place: int) -> str:
        return name_in(self.program, self.names, (name, place))

    def in_table(self, name: str, place: int) -> str:
        """Return the name of a neuron in a table: of a pixel, its map, row and column."""
        shape = next(buffer.shape for buffer in self.program.buffers if buffer.name == name)
        if not shape:
            return self.called(name, place)
        channel, row, column = (int(i) for i in np.unravel_index(place, shape))
        if shape[0] == 1:
            return f"{row}, {column}"
        return text("card.unit.cell", number=channel, row=row, column=column)

    @property
    def title(self) -> str:
        if self.is_one:
            return text("card.neuron.one")
        name = self.called(buffer_of(self.line), self.place)
        return name[:1].upper() + name[1:]


def numbers_of(
    reading: LiveValues, layout: Layout, neuron: Neuron, done: int
) -> NeuronNumbers | None:
    """Return what is known of a neuron after `done` operations of the step, 0 for all of them."""
    buffers, program = reading.buffers(done), reading.program
    line = next((each for each in layout.neurons if buffer_of(each) == neuron[0]), None)
    if line is None or neuron[1] >= count_of(line):
        return None
    names = names_in(program, reading.session.data)
    flows = buffers.flows if done else reading.way.flows
    least = min(neuron[1], len(line.points) - 1)  # of arrays that have come to it
    values, flows = (
        {k: v for k, v in numbers.items() if len(v) > least or k not in line.buffers}
        for numbers in (buffers.values, flows)
    )
    return NeuronNumbers(
        program,
        names,
        reading.numbers.value,
        line,
        neuron[1],
        values,
        flows,
        buffers.target,
        buffers.answers,
        reading.session.trainer.loss.row,
        reading.session.focus,
    )


def neuron_card(known: NeuronNumbers, drawing: Drawing | None = None) -> Card:
    """Return the card of a neuron; `drawing` is that of what it answers, if there is one."""
    value = known.value
    number = text("card.neuron.empty") if value is None else said(value, NEURON_DIGITS)
    about = text("card.neuron.sample", number=known.sample)
    blocks: list[CardLine | CardTable | Drawing] = [CardLine(number, "large", about)]
    blocks += [drawing] if drawing is not None else []
    if known.is_one:
        blocks.append(CardLine(text("card.neuron.one.about")))
    for operation in reversed(known.writers):
        blocks += made_by(known, operation)
    if known.wanted is not None and known.answer is not None:
        ends = [known.answer, known.wanted]
        shown, off, _ = agreeing(
            ends, lambda both: both[0] - both[1], ends[0] - ends[1], NEURON_DIGITS
        )
        kind = known.logits or "value"
        words = text(f"card.neuron.target.{kind}", value=shown[0], target=shown[1], off=off)
        blocks.append(CardLine(words))
        if isinstance(known.loss, LossRow):
            blocks += error_lines(known, known.wanted)
    if known.delta is not None:
        way = "up" if known.delta > 0.0 else "down" if known.delta < 0.0 else "none"
        blocks.append(CardLine(text(f"card.neuron.delta.{way}", delta=said(known.delta))))
    blocks += sent_by(known)
    return Card(NONE, known.title, facts_of(known), blocks)


def drawing_of(known: NeuronNumbers, maps: NeuronMaps | None, plane: object) -> Drawing | None:
    """Return what a neuron answers over the plane.

    known  the neuron
    maps   those of all neurons, or None
    plane  what is learned, which has the samples and axes
    """
    buffers = known.line.values, *known.line.also, known.line.sums
    name = next((each for each in buffers if each in known.values), "")
    if known.is_one or maps is None or name not in maps.values or not isinstance(plane, Plane):
        return None
    place = known.place
    return Drawing(NeuronMap(maps.values[name][place], maps.parts(name)[place], plane))


def line_of(pieces: Sequence[Piece]) -> CardLine:
    """Return a line of a caption as a line of a card."""
    return CardLine("".join(piece.words for piece in pieces))


def error_lines(known: NeuronNumbers, target: float) -> list[CardLine]:
    """Return the error of an output, by the formula of the loss, and a formula with cases."""
    row, name = known.loss, known.program.outputs.name
    assert isinstance(row, LossRow)
    formula, p = loss_text(row, "error"), float(known.values[name][known.place])
    term, compute = loss_term(row, "error", p, target, (name, known.place))
    found = line_of(equation([text("card.neuron.error"), term], compute, error_at(row, p, target)))
    return [found, CardLine(pretty(formula), "quiet")] if " if " in formula else [found]


def facts_of(known: NeuronNumbers) -> list[tuple[str, str]]:
    """Return value, sum, answer, target and delta of a neuron, as names and texts."""
    sums = known.values.get(known.line.sums)
    numbers = {
        "sum": None if sums is None or known.is_one else float(sums[known.place]),
        "value": known.value if known.line.values in known.values or known.is_one else None,
        known.logits: known.answer if known.logits else None,
        "target": known.wanted,
        "delta": known.delta,
    }
    found = [
        (text(f"card.neuron.fact.{name}"), said(number, NEURON_DIGITS))
        for name, number in numbers.items()
        if number is not None
    ]
    return found or [(text("card.neuron.fact.value"), text("card.neuron.empty"))]


# What arrives.


def made_by(known: NeuronNumbers, operation: Operation) -> list[CardLine | CardTable]:
    """Return how an operation makes the number of a neuron, as far as it is computed."""
    x, y = known.values.get(operation.source.name), known.values.get(operation.target.name)
    if known.is_one or x is None or y is None:
        return []
    if operation.about.multiplies:
        return [sum_table(known, operation, x)]
    if operation.kind == "activation":
        row = ACTIVATIONS[operation.formula]
        given, result = float(x[known.place]), float(y[known.place])
        return [line_of(activation_line(row, given, result, least=NEURON_DIGITS))]
    if operation.kind == "sum":
        other = known.values.get(operation.sources[1].name)
        if other is not None:
            pair = [float(other[known.place]), float(x[known.place])]
            shown, found, _ = agreeing(pair, sum, float(y[known.place]), NEURON_DIGITS)
            return [CardLine(f"{shown[0]} + {shown[1]} = {found}".replace("+ -", "- "))]
    words = row_text(f"rows.kinds.{operation.kind}.meaning", operation.about.meaning)
    formula = operation.formula or operation.kind
    return [
        CardLine(text("card.neuron.by", name=formula.replace("_", " "))),
        CardLine(words, "quiet"),
    ]


def sum_table(known: NeuronNumbers, operation: Operation, x: FloatArray) -> CardTable:
    """Return weight times input of each term of a sum, and the sum."""
    rows, read = weights_into(operation, known.place)
    name = partial(known.in_table, operation.source.name)
    terms = terms_of(known.weights[rows], x[read], read, name)
    if operation.biases != NONE:
        row = operation.biases + known.place // operation.outputs_per_bias
        bias = ProductRow(text("card.neuron.bias"), 1.0, float(known.weights[row]))
        terms.insert(0 if len(terms) > FEW_TERMS else len(terms), bias)
    head = tuple(text(f"card.neuron.head.{name}") for name in ("from", "x", "weight", "product"))
    least = NEURON_DIGITS if len(terms) <= FEW_TERMS else 2
    return product_table(head, terms, text("card.neuron.fact.sum"), least=least)


# What it sends on.


def sent_by(known: NeuronNumbers) -> list[CardLine | CardTable]:
    """Return what a neuron sends on, and where."""
    found: list[CardLine | CardTable] = []
    is_known = known.is_one or buffer_of(known.line) in known.values
    for operation in known.readers:
        if operation.about.multiplies:
            if is_known and (operation.biases != NONE or not known.is_one):
                found.append(sent_table(known, operation))
        elif not known.is_one:
            name = operation.formula or operation.kind
            plain = row_text(f"rows.kinds.{operation.kind}.plain", name)
            found.append(CardLine(text("card.neuron.into", name=plain.replace("_", " "))))
    return found


def sent_table(known: NeuronNumbers, operation: Operation) -> CardTable:
    """Return what arrives at each neuron behind an operation with weights."""
    value = known.value
    assert value is not None
    if known.is_one:
        count = operation.target.size // operation.outputs_per_bias
        rows = operation.biases + np.arange(count)
        outputs = np.arange(count) * operation.outputs_per_bias
    else:
        rows, outputs = weights_from(operation, known.place)
    name = partial(known.in_table, operation.target.name)
    sent = terms_of(known.weights[rows], np.full(len(rows), value), outputs, name)
    head = ("to", "sends", "weight", "arrives")
    names = tuple(text(f"card.neuron.head.{name}") for name in head)
    return product_table(names, sent, "", least=NEURON_DIGITS)


def terms_of(
    weights: FloatArray, values: FloatArray, places: Places, name: Callable[[int], str]
) -> list[ProductRow]:
    """Return value times weight of each term: in order, of many the largest first.

    Only those that a table can show get the names that `name` returns for their places.
    """
    order = np.arange(len(weights))
    if len(order) > FEW_TERMS:
        order = np.argsort(-np.abs(weights * values), kind="stable")
    names = [name(int(place)) for place in places[order[:MOST_ROWS]]]
    names += [""] * (len(order) - len(names))
    pairs = zip(names, values[order].tolist(), weights[order].tolist(), strict=True)
    return [ProductRow(*each) for each in pairs]


# Nodes of a compiled function.

NODE_DIGITS, MOST_READERS = 3, 4  # fewest digits; nodes that are named


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
    written = text("card.neuron.empty") if value is None else said(value, NODE_DIGITS)
    facts = [(text("card.value"), written)]
    about = text("card.neuron.sample", number=reading.session.focus)
    blocks: list[CardLine | CardTable | Drawing] = [CardLine(written, "large", about)]
    readers = [
        i for i, each in enumerate(program.operations) if program.node(place) in each.sources
    ]
    node = next((each for each in program.nodes if first + each.root == place), None)
    if node is not None and node.count > 1:
        blocks.append(CardLine(text("card.node.equal", count=node.count)))
    elif node is not None and value is not None:
        lines, whole = computed(program, node, known, least=NODE_DIGITS)
        shown = [*lines[:-1], *(whole or lines[-1:])]
        blocks += [CardLine("".join(piece.words for piece in line)) for line in shown]
    if node is not None and place in flows:
        gradient = said(flows[place], NODE_DIGITS)
        facts.append((text("card.gradient"), gradient))
        way = "up" if flows[place] > 0.0 else "down" if flows[place] < 0.0 else "none"
        blocks.append(CardLine(text(f"card.node.gradient.{way}", gradient=said(flows[place]))))
        passed = [i for i in reversed(readers) if has_passed(reading, i, done)]
        blocks += came_back(program, place, passed, known, flows)
        readers = [i for i in readers if i not in passed]
    if len(readers) > MOST_READERS:
        blocks.append(CardLine(text("card.node.into_many", count=len(readers))))
        readers = []
    for i in readers:
        name = named(program, program.operations[i].target.offset)
        blocks.append(CardLine(text("card.neuron.into", name=name)))
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
) -> list[CardTable]:
    """Return the gradients that came back from the nodes that take a value, as a table.

    None if one of them stands for several, of which only the mean is known.
    """
    products, trace = list[ProductRow](), program.trace
    for node in map(program.nodes.__getitem__, readers):
        numbers, result = numbers_within(trace, node, known), trace.first_made + node.root
        if node.count > 1 or result not in numbers or program.node(place).size > 1:
            return []
        slopes = [slope for each, slope in slopes_of_node(trace, node, numbers) if each == place]
        products += [ProductRow(named(program, result), slope, flows[result]) for slope in slopes]
    head = text("card.node.into"), text("card.node.slope"), text("card.gradient")
    total = text("card.gradient")
    table = product_table((*head, text("card.node.back")), products, total, least=NODE_DIGITS)
    return [table] if products else []


def has_passed(reading: LiveValues, node: int, done: int) -> bool:
    """Return whether a node has passed its gradient on to all that it takes."""
    past = reading.moments[:done] if done else reading.moments
    return any(each.kind == "operand gradient" and each.operation == node for each in past)
