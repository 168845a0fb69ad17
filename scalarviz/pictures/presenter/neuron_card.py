"""Cards of neurons: the sum with all terms, the activation, delta, and what it sends on."""

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
from scalarviz.pictures.presenter.arithmetic import ROWS, Product, product_table
from scalarviz.pictures.presenter.captions.format import agreeing, pretty, said
from scalarviz.pictures.presenter.captions.lines import equation
from scalarviz.pictures.presenter.captions.losses import error_at, loss_term, loss_text
from scalarviz.pictures.presenter.captions.names import name_in, names_in
from scalarviz.pictures.presenter.captions.operations import activation_line
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.presenter.paths import weights_from, weights_into
from scalarviz.pictures.presenter.pointing import count_of, name_of
from scalarviz.pictures.view.exhibits.neuron_map import NeuronMap
from scalarviz.pictures.view.exhibits.plane import Plane
from scalarviz.pictures.view.frame_data import Card, Drawing, Line, NeuronMaps, Table
from scalarviz.pictures.view.scene.plates import Layout, Neurons
from scalarviz.training.session.caption import Neuron, Piece

DIGITS = 3  # fewest of a number
FEW = 12  # terms of a sum in the order of the picture; of more, the largest come first


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
        found, name = [], name_of(self.line)
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
        name = self.called(name_of(self.line), self.place)
        return name[:1].upper() + name[1:]


def numbers_of(
    reading: LiveValues, layout: Layout, neuron: Neuron, done: int
) -> NeuronNumbers | None:
    """Return what is known of a neuron after `done` operations of the step, 0 for all of them."""
    buffers, program = reading.buffers(done), reading.program
    line = next((each for each in layout.neurons if name_of(each) == neuron[0]), None)
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
    number = text("card.neuron.empty") if value is None else said(value, DIGITS)
    about = text("card.neuron.sample", number=known.sample)
    blocks: list[Line | Table | Drawing] = [Line(number, "large", about)]
    blocks += [drawing] if drawing is not None else []
    if known.is_one:
        blocks.append(Line(text("card.neuron.one.about")))
    for operation in reversed(known.writers):
        blocks += made_by(known, operation)
    if known.wanted is not None and known.answer is not None:
        ends = [known.answer, known.wanted]
        shown, off, _ = agreeing(ends, lambda both: both[0] - both[1], ends[0] - ends[1], DIGITS)
        kind = known.logits or "value"
        words = text(f"card.neuron.target.{kind}", value=shown[0], target=shown[1], off=off)
        blocks.append(Line(words))
        if isinstance(known.loss, LossRow):
            blocks += error_lines(known, known.wanted)
    if known.delta is not None:
        way = "up" if known.delta > 0.0 else "down" if known.delta < 0.0 else "none"
        blocks.append(Line(text(f"card.neuron.delta.{way}", delta=said(known.delta))))
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


def line_of(pieces: Sequence[Piece]) -> Line:
    """Return a line of a caption as a line of a card."""
    return Line("".join(piece.words for piece in pieces))


def error_lines(known: NeuronNumbers, target: float) -> list[Line]:
    """Return the error of an output, by the formula of the loss, and a formula with cases."""
    row, name = known.loss, known.program.outputs.name
    assert isinstance(row, LossRow)
    formula, p = loss_text(row, "error"), float(known.values[name][known.place])
    term, compute = loss_term(row, "error", p, target, (name, known.place))
    found = line_of(equation([text("card.neuron.error"), term], compute, error_at(row, p, target)))
    return [found, Line(pretty(formula), "quiet")] if " if " in formula else [found]


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
        (text(f"card.neuron.fact.{name}"), said(number, DIGITS))
        for name, number in numbers.items()
        if number is not None
    ]
    return found or [(text("card.neuron.fact.value"), text("card.neuron.empty"))]


# What arrives.


def made_by(known: NeuronNumbers, operation: Operation) -> list[Line | Table]:
    """Return how an operation makes the number of a neuron, as far as it is computed."""
    x, y = known.values.get(operation.source.name), known.values.get(operation.target.name)
    if known.is_one or x is None or y is None:
        return []
    if operation.about.multiplies:
        return [sum_table(known, operation, x)]
    if operation.kind == "activation":
        row = ACTIVATIONS[operation.formula]
        given, result = float(x[known.place]), float(y[known.place])
        return [line_of(activation_line(row, given, result, least=DIGITS))]
    if operation.kind == "sum":
        other = known.values.get(operation.sources[1].name)
        if other is not None:
            pair = [float(other[known.place]), float(x[known.place])]
            shown, found, _ = agreeing(pair, sum, float(y[known.place]), DIGITS)
            return [Line(f"{shown[0]} + {shown[1]} = {found}".replace("+ -", "- "))]
    words = row_text(f"rows.kinds.{operation.kind}.meaning", operation.about.meaning)
    formula = operation.formula or operation.kind
    return [Line(text("card.neuron.by", name=formula.replace("_", " "))), Line(words, "quiet")]


def sum_table(known: NeuronNumbers, operation: Operation, x: FloatArray) -> Table:
    """Return weight times input of each term of a sum, and the sum."""
    rows, read = weights_into(operation, known.place)
    name = partial(known.in_table, operation.source.name)
    terms = terms_of(known.weights[rows], x[read], read, name)
    if operation.biases != NONE:
        row = operation.biases + known.place // operation.outputs_per_bias
        bias = Product(text("card.neuron.bias"), 1.0, float(known.weights[row]))
        terms.insert(0 if len(terms) > FEW else len(terms), bias)
    head = tuple(text(f"card.neuron.head.{name}") for name in ("from", "x", "weight", "product"))
    least = DIGITS if len(terms) <= FEW else 2
    return product_table(head, terms, text("card.neuron.fact.sum"), least=least)


# What it sends on.


def sent_by(known: NeuronNumbers) -> list[Line | Table]:
    """Return what a neuron sends on, and where."""
    found: list[Line | Table] = []
    is_known = known.is_one or name_of(known.line) in known.values
    for operation in known.readers:
        if operation.about.multiplies:
            if is_known and (operation.biases != NONE or not known.is_one):
                found.append(sent_table(known, operation))
        elif not known.is_one:
            name = operation.formula or operation.kind
            plain = row_text(f"rows.kinds.{operation.kind}.plain", name)
            found.append(Line(text("card.neuron.into", name=plain.replace("_", " "))))
    return found


def sent_table(known: NeuronNumbers, operation: Operation) -> Table:
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
    return product_table(names, sent, "", least=DIGITS)


def terms_of(
    weights: FloatArray, values: FloatArray, places: Places, name: Callable[[int], str]
) -> list[Product]:
    """Return value times weight of each term: in order, of many the largest first.

    Only those that a table can show get the names that `name` returns for their places.
    """
    order = np.arange(len(weights))
    if len(order) > FEW:
        order = np.argsort(-np.abs(weights * values), kind="stable")
    names = [name(int(place)) for place in places[order[:ROWS]]]
    names += [""] * (len(order) - len(names))
    pairs = zip(names, values[order].tolist(), weights[order].tolist(), strict=True)
    return [Product(*each) for each in pairs]
