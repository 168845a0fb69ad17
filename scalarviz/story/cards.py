"""Cards of neurons: how their numbers are computed, and their incoming gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scalarviz.base.texts import text
from scalarviz.story.caption import Card, CardLine, CardTable, Piece
from scalarviz.story.equations import (
    MOST_ROWS,
    ProductRow,
    equation,
    largest_first,
    product_table,
)
from scalarviz.story.facts import (
    NONE,
    Facts,
    Neuron,
    NeuronLine,
    Numbers,
    OperationFacts,
    State,
)
from scalarviz.story.formats import agreeing, pretty, said
from scalarviz.story.forward_captions import activation_line, loss_term
from scalarviz.story.names import neuron_name, sentence, unraveled
from scalarviz.story.traced_weight import read_answers, weights_from, weights_into

NEURON_DIGITS = 3  # minimum digits of a number
FEW_TERMS = 12  # terms of a sum in picture order; a longer one is sorted by size


@dataclass(frozen=True)
class NeuronNumbers:
    """A neuron of the focus sample and its numbers computed so far.

    Attributes:
        line: row of neurons that contains it; `place` is its index there
    """

    facts: Facts
    state: State
    line: NeuronLine
    place: int

    @cached_property
    def buffers(self) -> list[str]:
        """Names of the buffers of its row of neurons."""
        return [name for name in (self.line.sums, self.line.values, *self.line.also) if name]

    @property
    def name(self) -> str:
        """Name of the buffer from which the neurons of its row get their names."""
        return self.line.values or self.line.sums

    def find(self, arrays: Mapping[str, Numbers], name: str) -> Numbers | None:
        """Return the numbers of a buffer; None if missing or not yet computed for this neuron."""
        if name not in arrays:
            return None
        found = arrays[name]
        return None if name in self.buffers and len(found) <= self.place else found

    def array(self, name: str) -> Numbers | None:
        """Return the values of a buffer, or None."""
        return self.find(self.state.values, name)

    @property
    def value(self) -> float | None:
        """Its value, or its sum until the activation is computed; None if neither is known."""
        for name in (self.line.values, *self.line.also, self.line.sums):
            found = self.array(name)
            if found is not None:
                return float(found[self.place])
        return None

    @property
    def delta(self) -> float | None:
        """The gradient of the loss with respect to its sum or, without a sum, its value."""
        flow = self.find(self.state.gradients, self.line.sums or self.line.values)
        is_input = self.line.values == self.facts.inputs
        return None if flow is None or is_input else float(flow[self.place])

    @property
    def wanted(self) -> float | None:
        """Its target; only for a computed output."""
        target, count = self.state.target, self.line.count
        is_known = self.outputs is not None and len(self.outputs) == count
        if not is_known or target is None or len(target) != count:
            return None
        return float(target[self.place])

    @property
    def outputs(self) -> Numbers | None:
        """The outputs, if they are computed and the neuron is one of them."""
        name = self.facts.outputs
        return self.array(name) if name in self.buffers else None

    @property
    def answer(self) -> float | None:
        """Its value after the activation of the loss; None without a target."""
        if self.outputs is None or self.wanted is None:
            return None
        return read_answers(self.outputs, self.facts.loss.logits)[self.place]

    @cached_property
    def writers(self) -> list[OperationFacts]:
        """The operations that compute this row of neurons from the previous row."""
        found: list[OperationFacts] = []
        name, writers = self.name, {each.target: each for each in self.facts.operations}
        while name in writers:
            found = [writers[name], *found]
            name = writers[name].source
            if name not in self.buffers:
                break
        return found

    @cached_property
    def readers(self) -> list[OperationFacts]:
        """The operations that read its value."""
        return [
            each
            for each in self.facts.operations
            if each.target not in self.buffers
            and any(source in self.buffers for source in each.sources)
            and each.kind != "branch"
        ]

    def in_table(self, name: str, place: int) -> str:
        """Return the name of a neuron for a table; for a pixel, its channel, row and column."""
        shape = self.facts.buffers[name].shape
        if not shape:
            return neuron_name(self.facts, (name, place))
        channel, row, column = unraveled(place, shape)
        if shape[0] == 1:
            return f"{row}, {column}"
        return text("card.unit.cell", number=channel, row=row, column=column)

    @property
    def title(self) -> str:
        return sentence(neuron_name(self.facts, (self.name, self.place)))


def numbers_of(facts: Facts, state: State, neuron: Neuron) -> NeuronNumbers | None:
    """Return the known numbers of a neuron; None if it is not in the picture."""
    name, place = neuron
    lines = [each for each in facts.lines if (each.values or each.sums) == name]
    if not lines or place >= lines[0].count:
        return None
    return NeuronNumbers(facts, state, lines[0], place)


def neuron_card(
    facts: Facts,
    state: State,
    neuron: Neuron,
    drawn: Callable[[NeuronNumbers], Any] | None = None,
) -> Card | None:
    """Return the card of a neuron; None if it is not in the picture.

    Args:
        drawn: function that returns a drawing of the neuron's function, or None
    """
    known = numbers_of(facts, state, neuron)
    if known is None:
        return None
    drawing = None if drawn is None else drawn(known)
    blocks = blocks_of(known)
    drawings = [] if drawing is None else [drawing]
    return Card(NONE, known.title, neuron_facts(known), [blocks[0], *drawings, *blocks[1:]])


def blocks_of(known: NeuronNumbers) -> list[CardLine | CardTable]:
    """Return the lines and tables of the card of a neuron."""
    value = known.value
    number = text("card.neuron.empty") if value is None else said(value, NEURON_DIGITS)
    about = text("card.neuron.sample", number=known.state.focus)
    blocks: list[CardLine | CardTable] = [CardLine(number, "large", about)]
    for operation in known.writers:
        blocks += made_by(known, operation)
    loss, answer, wanted = known.facts.loss, known.answer, known.wanted
    if wanted is not None and answer is not None:
        shown, off, _ = agreeing(
            [answer, wanted], lambda v: v[0] - v[1], answer - wanted, NEURON_DIGITS
        )
        kind = loss.logits or "value"
        words = text(f"card.neuron.target.{kind}", value=shown[0], target=shown[1], off=off)
        blocks.append(CardLine(words))
        if loss.scalar:
            blocks += error_lines(known, wanted)
    if known.delta is not None:
        way = "up" if known.delta > 0.0 else "down" if known.delta < 0.0 else "none"
        blocks.append(CardLine(text(f"card.neuron.delta.{way}", delta=said(known.delta))))
    return [*blocks, *sent_by(known)]


def line_of(pieces: Sequence[Piece]) -> CardLine:
    """Return a line of a caption, as a line of a card."""
    return CardLine("".join(piece.words for piece in pieces))


def error_lines(known: NeuronNumbers, target: float) -> list[CardLine]:
    """Return the error of an output as lines; a formula with cases has a second line."""
    name, part = known.facts.outputs, known.facts.loss.error
    if known.outputs is None or part.compute is None:
        return []
    p = float(known.outputs[known.place])
    term, compute = loss_term(part, p, target, (name, known.place))
    line = equation([text("card.neuron.error"), term], compute, part.compute(p, target))
    found = [line_of(line)]
    return [*found, CardLine(pretty(part.text), "quiet")] if " if " in part.text else found


def neuron_facts(known: NeuronNumbers) -> list[tuple[str, str]]:
    """Return value, sum, prediction, target and delta of a neuron, as pairs of name and text."""
    sums, logits = known.array(known.line.sums), known.facts.loss.logits
    is_there = known.array(known.line.values) is not None
    numbers = [
        ("sum", None if sums is None else float(sums[known.place])),
        ("value", known.value if is_there else None),
        (logits, known.answer if logits else None),
        ("target", known.wanted),
        ("delta", known.delta),
    ]
    found = [
        (text(f"card.neuron.fact.{name}"), said(number, NEURON_DIGITS))
        for name, number in numbers
        if number is not None
    ]
    return found or [(text("card.neuron.fact.value"), text("card.neuron.empty"))]


# Inputs.


def made_by(known: NeuronNumbers, operation: OperationFacts) -> list[CardLine | CardTable]:
    """Return how an operation computes the number of a neuron, as far as it is known."""
    arrived, made, place = (
        known.array(operation.source),
        known.array(operation.target),
        known.place,
    )
    if arrived is None or made is None:
        return []
    if operation.multiplies:
        return [sum_table(known, operation, arrived)]
    formula, x, y = operation.formula, float(arrived[place]), float(made[place])
    if operation.kind == "activation" and known.facts.activations[formula].value is not None:
        row = known.facts.activations[formula]
        return [line_of(activation_line(formula, row, x, y, least=NEURON_DIGITS))]
    other = known.array(operation.sources[1]) if operation.kind == "sum" else None
    if other is not None:
        pair = [float(other[place]), x]
        shown, found, _ = agreeing(pair, lambda v: v[0] + v[1], y, NEURON_DIGITS)
        return [CardLine(f"{shown[0]} + {shown[1]} = {found}".replace("+ -", "- "))]
    name = (formula or operation.kind).replace("_", " ")
    by = CardLine(text("card.neuron.by", name=name))
    return [by, CardLine(operation.meaning, "quiet")]


def sum_table(known: NeuronNumbers, operation: OperationFacts, x: Numbers) -> CardTable:
    """Return a table with the terms of a sum, weight times input, and the sum."""
    value, source = known.state.value, operation.source
    rows, read = weights_into(known.facts, operation, known.place)
    weights, inputs = [float(value[row]) for row in rows], [float(x[i]) for i in read]
    terms = terms_of(weights, inputs, read, lambda i: known.in_table(source, i))
    if operation.biases != NONE:
        row = operation.biases + known.place // operation.each
        bias = ProductRow(text("card.neuron.bias"), 1.0, float(value[row]))
        terms = [bias, *terms] if len(terms) > FEW_TERMS else [*terms, bias]
    head = tuple(text(f"card.neuron.head.{name}") for name in ("from", "x", "weight", "product"))
    least = NEURON_DIGITS if len(terms) <= FEW_TERMS else 2
    return product_table(head, terms, text("card.neuron.fact.sum"), least=least)


# Outputs.


def sent_by(known: NeuronNumbers) -> list[CardLine | CardTable]:
    """Return the numbers that a neuron passes on, and the neurons that get them."""
    found: list[CardLine | CardTable] = []
    is_known = known.array(known.name) is not None
    names: list[str] = []
    for operation in known.readers:
        plain = operation.plain.replace("_", " ")
        if operation.multiplies:
            if is_known:
                found.append(sent_table(known, operation))
        elif plain not in names:
            names.append(plain)
            found.append(CardLine(text("card.neuron.into", name=plain)))
    return found


def sent_table(known: NeuronNumbers, operation: OperationFacts) -> CardTable:
    """Return a table with the product that a neuron adds to each neuron of an operation."""
    value, facts = known.value, known.facts
    assert value is not None
    rows, outputs = weights_from(facts, operation, known.place)
    weights = [float(known.state.value[row]) for row in rows]
    target, same = operation.target, [value] * len(rows)
    sent = terms_of(weights, same, outputs, lambda i: known.in_table(target, i))
    head = ("to", "sends", "weight", "arrives")
    names = tuple(text(f"card.neuron.head.{name}") for name in head)
    return product_table(names, sent, "", least=NEURON_DIGITS)


def terms_of(
    weights: Sequence[float],
    values: Sequence[float],
    places: Sequence[int],
    name: Callable[[int], str],
) -> list[ProductRow]:
    """Return the terms as rows of value times weight, the largest first if there are many.

    Only rows that fit into a table get a name, which `name` returns for their index.
    """
    order = [*range(len(weights))]
    if len(order) > FEW_TERMS:
        order = largest_first([a * b for a, b in zip(weights, values, strict=True)])
    return [
        ProductRow(name(places[i]) if at < MOST_ROWS else "", values[i], weights[i])
        for at, i in enumerate(order)
    ]
