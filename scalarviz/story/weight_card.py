"""Why a weight changed: a sentence, the sum that makes its gradient, and the optimizer's lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalarviz.base.texts import plural, text
from scalarviz.core.program import NONE, Moment, Operation, Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.story.caption import CardLine, CardTable, Neuron
from scalarviz.story.equations import (
    ProductRow,
    WrittenNumbers,
    change_between,
    optimizer_rows,
    product_table,
)
from scalarviz.story.formats import said
from scalarviz.story.names import name_in, name_of_moment, named, names_in, weight_name
from scalarviz.story.names import sentence as sentence_of
from scalarviz.training.session.explanation import (
    Explanation,
    LastChange,
    explain,
    is_ready,
    last_change,
    last_edit,
)
from scalarviz.training.session.session import Session

Blocks = Sequence[CardLine | CardTable]
FINAL = 2**31  # operations of a step: all of them


@dataclass(frozen=True)
class Why:
    """What is known about one weight at one moment.

    change   its last change; None before the first one
    found    the arithmetic of the step; None before the first one
    sample   index of the focus sample, of `samples`
    step     number of the step, from 1
    done     operations of the step that are done; 0 after the whole step
    """

    session: Session
    row: int
    change: LastChange | None
    found: Explanation | None = None
    sample: int = 0
    samples: int = 1
    step: int = 0
    done: int = 0

    @property
    def program(self) -> Program:
        program: Program = self.session.network.program
        return program

    def called(self, neuron: Neuron) -> str:
        """Return the name of a neuron."""
        return name_in(self.program, names_in(self.program, self.session.data), neuron)

    @property
    def value(self) -> float:
        return float(self.session.trainer.bank.value[self.row])

    @property
    def is_pushed(self) -> bool:
        """Whether the gradient of the weight is final."""
        return is_ready(self.session.trainer, self.row, self.done or FINAL)

    @property
    def homes(self) -> list[Operation]:
        """Operations that have the weight among their parameters."""
        return [each for each in self.program.operations if self.row in each.parameters]

    @property
    def multiplies(self) -> bool:
        """Whether the weight is a factor of inputs wherever it is used."""
        return all(each.about.multiplies for each in self.homes)

    @property
    def uses(self) -> list[tuple[Operation, int, int]]:
        """Operations that use the weight, with the output and input of the first of its places."""
        found = []
        for operation in self.homes:
            written, read = operation.uses(self.row)
            if len(written):
                column = NONE if read is None else int(read[0])
                found.append((operation, int(written[0]), column))
        return found

    @property
    def places(self) -> int:
        """Number of places of each sample at which the weight is used."""
        return sum(len(operation.uses(self.row)[0]) for operation in self.homes)


def blocks_about(session: Session, row: int, *, foretells: bool = True) -> Blocks:
    """Return the lines and tables about the weight at `row`; the session does not change.

    foretells  whether the step under way has the value that it leads to, once that is known
    """
    with session.doing(), np.errstate(all="ignore"):
        timeline, bank = session.timeline, session.network.bank
        (step, done), new = timeline.clock.place, float(bank.value[row])
        change = last_change(timeline, row) if done or not step else last_edit(timeline, row)
        if (step, done) == (0, 0):
            return blocks_of(Why(session, row, change))
        # Within at_work the session must not be used: it would journal the older numbers as edits.
        with timeline.at_work():
            if change is None and step and not done:
                change = LastChange(step, False, float(bank.value[row]), new)
            found = explain(timeline.trainer, row, timeline.clock.operation)
            found = found if foretells or not done else replace(found, new_value=None)
            samples = len(timeline.trainer.run.targets())
            place = min(session.focus, samples - 1), samples, timeline.clock.step + 1, done
            return blocks_of(Why(session, row, change, found, *place))


def blocks_of(known: Why) -> Blocks:
    """Return the lines and tables of a card."""
    blocks: list[CardLine | CardTable] = [change_line(known)]
    change, found = known.change, known.found
    if change is not None and change.is_edit:
        blocks.append(CardLine(text("card.edited"), "quiet"))
    if found is None or (change is not None and change.is_edit and not known.done):
        return blocks  # the step before an edit is not why the weight has its value
    why = text("card.why_not") if found.frozen else text("card.why")
    title = text("card.so_far", step=known.step) if known.done else why
    blocks.append(CardLine(title, "strong"))
    tables = table_of(known)
    grad = tables[0].total[-1] if tables and tables[0].total else said(found.total or 0.0)
    blocks += [CardLine(sentence(known, grad)), *tables]
    if known.is_pushed and found.new_value is not None:
        slots = known.session.trainer.settings.optimizer.row.slots
        old, new, _ = change_between(found.value, found.new_value)
        blocks += optimizer_rows(found.lines, slots, found, WrittenNumbers(old, new, grad))
    return blocks


def change_line(known: Why) -> CardLine:
    """Return the last change: the value before and after it, and when it was."""
    change = known.change
    if change is None:
        return CardLine(
            text("card.value_is", value=said(known.value, 3)), "large", text("card.no_change")
        )
    old, new, _ = change_between(change.old, change.new)
    if change.is_edit:
        arrow = text("card.changed.edit", old=old, new=new)
        return CardLine(arrow, "large", text("card.after", step=change.step))
    step = text("card.step", step=change.step)
    if known.found is not None and known.found.frozen:
        return CardLine(text("card.frozen_at", value=said(change.new, 3)), "large", step)
    return CardLine(text("card.changed.step", old=old, new=new), "large", step)


def sentence(known: Why, grad: str) -> str:
    """Return why the weight changed in this step, or what is known of that so far.

    known  what is known; `grad` is its gradient as it is written elsewhere on the card
    """
    found = known.found
    assert found is not None
    if known.program.is_graph or not known.multiplies:
        return by_chain_rule(known, found, grad)
    if not known.uses:
        return text("explanation.beyond")
    operation, output, column = known.uses[0]
    unit = known.called((operation.target.name, output))
    if known.places > 1:
        return shared(known, found, grad)
    x = found.x[known.sample] if known.sample < len(found.x) else None
    sent = sender(known, operation, column, x)
    if found.g is None:
        return f"{sent} {waits(known, 'delta')}"
    says = {"unit": unit, "delta": said(float(found.g[known.sample]))}
    if not known.is_pushed:
        off = text("card.off_now", sent=sent, **says)
        return f"{off} {waits(known, 'product')}"
    off = text("card.off", sent=sent.rstrip("."), **says)
    if known.samples > 1:
        off = text("card.off_in", sample=known.sample, off=off)
    whole = plural("card.product_is", known.samples, off=off, grad=grad)
    return f"{whole} {pushed(known, found)}"


def by_chain_rule(known: Why, found: Explanation, grad: str) -> str:
    """Return the sentence of a parameter of a compiled expression."""
    if found.total is None:
        return waits(known, "grad")
    return f"{text('card.chain_rule', grad=grad)} {pushed(known, found)}"


def shared(known: Why, found: Explanation, grad: str) -> str:
    """Return the sentence of a weight that is used at several places of each sample."""
    start = text("card.shared", count=known.places)
    if found.total is None or not known.is_pushed:
        return f"{start} {waits(known, 'delta' if found.total is None else 'product')}"
    whole = plural("card.shared_is", known.samples, start=start, grad=grad)
    return f"{whole} {pushed(known, found)}"


def waits(known: Why, what: str) -> str:
    """Return which number is not computed yet, and at which operation it comes."""
    operations = known.homes
    when = text("card.later")
    if isinstance(program := known.program, TraceProgram):  # on the way back, the first is the last
        places = range(len(program.operations))
        readers = [i for i in places if known.row in program.rows_read(i)]
        when = named(program, program.operations[readers[0]].target.offset) if readers else when
        return text(f"card.waits.{what}", when=when)
    for moment in known.session.trainer.moments:
        own = operations[:1] == [known.program.operations[moment.operation]] if operations else True
        is_push = moment.kind == "weight gradient" and own
        is_delta = bool(operations) and operations[0].target in moment.gradients
        if is_delta if what == "delta" else is_push:
            when = called(known.program, moment)
            break
    return text(f"card.waits.{what}", when=when)


def called(program: Program, moment: Moment) -> str:
    """Return the name of a moment in the strip, with its layer."""
    name = name_of_moment(program, moment)
    if moment.layer == NONE:
        return name
    return f"{text('plates.layer', label=moment.layer)}: {name}"


def sender(known: Why, operation: Operation, column: int, x: float | None) -> str:
    """Return what a weight multiplies, as a sentence."""
    if column == NONE:
        return text("card.sent_one")
    name = known.called((operation.source.name, column))
    name = name[:1].upper() + name[1:]
    if x is None:
        return text("card.sent_nothing", name=name)
    return text("card.sent", name=name, x=said(float(x)))


def pushed(known: Why, found: Explanation) -> str:
    """Return what a step makes of the gradient."""
    if found.frozen:
        return text("card.push_frozen")
    if found.new_value is None:
        return ""
    if known.done:
        return text("card.push_coming", when=text("strip.step"))
    by = found.new_value - found.value
    way = "up" if by > 0.0 else "down" if by < 0.0 else "none"
    return text(f"card.push.{way}", step=known.step, by=said(abs(by)))


def title_of(session: Session, program: Program, row: int) -> str:
    """Return the title of the card of a weight: the neurons that it joins, else its name."""
    for operation in program.operations:
        if row in operation.parameters and operation.kind == "affine":
            given = names_in(program, session.data)
            written, read = operation.uses(row)
            unit = name_in(program, given, (operation.target.name, int(written[0])))
            if read is None:
                return text("card.title.bias", unit=unit)
            before = name_in(program, given, (operation.source.name, int(read[0])))
            return text("card.title.weight", before=before, unit=unit)
        if row in operation.parameters and operation.kind == "convolution":
            return sentence_of(weight_name(session, operation, row))
    return str(session.network.name_of(row))


def table_of(known: Why) -> list[CardTable]:
    """Return input, delta and product of each sample: the focus sample first, or the largest."""
    found = known.found
    assert found is not None
    if found.products is None or found.g is None or not len(found.products) or not known.is_pushed:
        return []
    count = len(found.products)
    if known.places > 1:  # most terms of a shared weight may be 0
        order = np.argsort(-np.abs(found.products), kind="stable").tolist()
    else:
        order = [known.sample, *(i for i in range(count) if i != known.sample)]
    samples = samples_of(known)
    products = [ProductRow(str(samples[i]), float(found.x[i]), float(found.g[i])) for i in order]
    head = tuple(text(f"card.head.{name}") for name in ("sample", "x", "delta", "product"))
    marked = 0 if known.places == 1 else NONE
    return [product_table(head, products, text("card.head.grad"), marked=marked)]


def samples_of(known: Why) -> list[int]:
    """Return the sample of each term of a gradient, in the order of an Explanation."""
    found: list[int] = []
    for operation in known.program.operations:
        if known.row in operation.parameters:
            places = len(operation.uses(known.row)[0])
            found += np.repeat(np.arange(known.samples), places).tolist()
    return found
