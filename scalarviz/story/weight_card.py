"""Cards that explain why a weight changed: its gradient as a sum, and the optimizer's lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from scalarviz.base.texts import plural, text
from scalarviz.story.caption import CardLine, CardTable
from scalarviz.story.equations import (
    ProductRow,
    change_between,
    largest_first,
    optimizer_rows,
    product_table,
)
from scalarviz.story.facts import (
    NONE,
    Explained,
    Facts,
    LastChange,
    OperationFacts,
    State,
    UpdateLine,
    sample_of,
)
from scalarviz.story.formats import agreeing, said
from scalarviz.story.names import neuron_name, owns, uses_of, weight_title
from scalarviz.story.names import sentence as sentence_of

Blocks = Sequence[CardLine | CardTable]


@dataclass(frozen=True)
class Use:
    """An operation that uses a weight as a parameter.

    Attributes:
        written: indices of the outputs that the weight adds to
        read: indices of the inputs that it multiplies; None for a bias
    """

    operation: OperationFacts
    written: Sequence[int]
    read: Sequence[int] | None


@dataclass(frozen=True)
class Why:
    """The known facts about one weight at one moment.

    Attributes:
        change: its last change; None if unknown
        found: its update in the step; None before the first step
        first_use: for compiled functions: function from a bank index to the name of the first node
            that uses this parameter
    """

    facts: Facts
    state: State
    row: int
    change: LastChange | None
    found: Explained | None
    first_use: Callable[[int], str] | None = None

    @property
    def step(self) -> int:
        """Number of the step, from 1."""
        return self.state.step + (1 if self.state.operation else 0)

    @property
    def done(self) -> int:
        """Number of finished operations of the step."""
        return self.state.operation or len(self.facts.moments)

    @cached_property
    def homes(self) -> list[int]:
        """Indices of the operations that use the weight as a parameter."""
        return [i for i, each in enumerate(self.facts.operations) if owns(each, self.row)]

    @cached_property
    def uses(self) -> list[Use]:
        """The operations that use the weight, with the outputs and inputs concerned."""
        homes = [self.facts.operations[i] for i in self.homes]
        return [Use(each, *uses_of(self.facts, each, self.row)) for each in homes]

    @property
    def multiplies(self) -> bool:
        """Whether the weight multiplies inputs in all its uses."""
        return not self.facts.is_graph and all(each.operation.multiplies for each in self.uses)

    @property
    def places(self) -> int:
        """Number of positions at which each sample uses the weight."""
        return sum(len(each.written) for each in self.uses)

    @cached_property
    def is_final(self) -> bool:
        """Whether the gradient is final; if gradients are clipped together, whether all are."""
        if self.facts.is_graph:
            return all(each.kind == "step" for each in self.facts.moments[self.done :])
        clips = self.found is not None and self.found.clips
        pushes = [
            i
            for i, each in enumerate(self.facts.moments)
            if each.kind == "weight gradient" and (clips or each.operation in self.homes)
        ]
        return all(i < self.done for i in pushes)

    @cached_property
    def products(self) -> list[ProductRow] | None:
        """Input and delta of each sample at each use, as rows named by sample; None if unknown."""
        found: list[ProductRow] = []
        for use in self.uses:
            x, g = of_samples(self, use, is_input=True), of_samples(self, use, is_input=False)
            if x is None or g is None:
                return None
            count = len(use.written)
            found += [ProductRow(str(i // count), x[i], g[i]) for i in range(len(g))]
        return found if self.multiplies else None

    @property
    def factors(self) -> tuple[float | None, float | None]:
        """Input and delta of the focus sample for a weight with a single use; None if unknown."""
        if self.products is not None:
            own = self.products[sample_of(self.state)]
            return own.first, own.second
        state, use = self.state, next(each for each in self.uses if each.written)
        source, target = use.operation.source, use.operation.target
        x = 1.0 if use.read is None else None
        is_known = source in state.values and (state.operation or source == self.facts.inputs)
        if use.read is not None and is_known:  # of a step in progress, or given to it
            x = float(state.values[source][use.read[0]])
        g = float(state.gradients[target][use.written[0]]) if target in state.gradients else None
        return x, g

    @property
    def total(self) -> float:
        """The gradient: the sum of the products, if known."""
        if self.products is not None:
            return sum(each.value for each in self.products)
        return 0.0 if self.found is None else self.found.grad

    @property
    def lines(self) -> Sequence[UpdateLine]:
        """The optimizer's lines, once the gradient is final."""
        return self.found.lines if self.found is not None and self.is_final else ()

    @property
    def new_value(self) -> float | None:
        """The value after the step; None if unknown."""
        if self.found is None or not self.is_final:
            return None
        if self.lines:
            return self.lines[-1].value
        return self.found.value if self.found.frozen else None


def of_samples(known: Why, use: Use, *, is_input: bool) -> list[float] | None:
    """Return the inputs or the deltas of one use of a weight, in sample order; None if unknown."""
    name, places = (
        (use.operation.source, use.read) if is_input else (use.operation.target, use.written)
    )
    if places is None:
        return [1.0] * (known.state.batch * len(use.written))
    state = known.state
    own = state.values if is_input else state.gradients
    if state.all is None:
        is_now = state.operation or not is_input or name == known.facts.inputs
        if known.state.batch > 1 or name not in own or not is_now:
            return None
        return [float(own[name][place]) for place in places]
    every = state.all.values if is_input else state.all.gradients
    if name not in every:
        return None
    numbers, size = every[name], known.facts.buffers[name].size
    starts = range(0, known.state.batch * size, size)
    return [float(numbers[start + place]) for start in starts for place in places]


def change_of(state: State, row: int) -> LastChange | None:
    """Return the last change of a weight, made by the user or by a step; None if unknown."""
    now = float(state.value[row])
    if row in state.edited and state.edited[row] != now:
        return LastChange(state.step, True, state.edited[row], now)
    last = state.earlier if state.operation else state.before
    if not state.step or last is None:
        return None
    return LastChange(state.step, False, float(last[row]), now)


def blocks_about(
    facts: Facts,
    state: State,
    row: int,
    *,
    first_use: Callable[[int], str] | None = None,
) -> Blocks:
    """Return the lines and tables about the weight at `row`.

    Args:
        first_use: for compiled functions: function from a bank index to the name of the first node
            that uses this parameter
    """
    is_new = not (state.step or state.operation)
    found = None if is_new or state.explained is None else state.explained(row)
    return blocks_of(Why(facts, state, row, change_of(state, row), found, first_use))


def blocks_of(known: Why) -> Blocks:
    """Return the lines and tables of the card of a weight."""
    blocks: list[CardLine | CardTable] = [change_line(known)]
    found, is_walked = known.found, known.state.operation > 0
    is_edit = known.change is not None and known.change.is_edit
    if is_edit:
        blocks.append(CardLine(text("card.edited"), "quiet"))
    if found is None or (is_edit and not is_walked):
        return [*blocks, *at_rest(known)]  # after an edit, the step does not explain the value
    why = text("card.why_not") if found.frozen else text("card.why")
    blocks.append(CardLine(text("card.so_far", step=known.step) if is_walked else why, "strong"))
    tables = table_of(known)
    grad = tables[0].total[-1] if tables and tables[0].total else said(known.total)
    blocks += [CardLine(sentence(known, grad)), *tables]
    new = known.new_value
    if new is not None and all(line.follows for line in known.lines):
        shown = change_between(found.value, new)
        blocks += optimizer_rows(found, shown[0], shown[1], grad)
    return blocks


def at_rest(known: Why) -> list[CardLine]:
    """Return what a weight of a dense layer does with its present input, if it is known."""
    lines: list[CardLine] = []
    for use in known.uses:
        sent = known.state.values.get(use.operation.source)
        if use.operation.kind == "affine" and sent is not None:
            x = 1.0 if use.read is None else float(sent[use.read[0]])
            w = float(known.state.value[known.row])
            shown, found, _ = agreeing([x, w], lambda v: v[0] * v[1], x * w, 2)
            words = sender(known, use, shown[0])
            lines.append(CardLine(f"{words} {shown[0]} × {shown[1]} = {found}"))
    return lines


def change_line(known: Why) -> CardLine:
    """Return a line on the last change: the values before and after, and the step."""
    change = known.change
    if change is None:
        value = text("card.value_is", value=said(float(known.state.value[known.row]), 3))
        return CardLine(value, "large", "" if known.state.step else text("card.no_change"))
    old, new, _ = change_between(change.old, change.new)
    if change.is_edit:
        arrow = text("card.changed.edit", old=old, new=new)
        return CardLine(arrow, "large", text("card.after", step=change.step))
    step = text("card.step", step=change.step)
    if known.found is not None and known.found.frozen:
        return CardLine(text("card.frozen_at", value=said(change.new, 3)), "large", step)
    return CardLine(text("card.changed.step", old=old, new=new), "large", step)


def sentence(known: Why, grad: str) -> str:
    """Return a sentence on why the weight changed in this step, as far as this is known.

    Args:
        grad: gradient of the weight, as written elsewhere on the card
    """
    if not known.multiplies:
        return by_chain_rule(known, grad)
    used = [each for each in known.uses if each.written]
    if not used:
        return text("explanation.beyond")
    if known.places > 1:
        return shared(known, grad)
    operation = used[0].operation
    x, g = known.factors
    if known.is_final and (x is None or g is None):  # the numbers of the sample are gone
        return by_chain_rule(known, grad)
    sent = sender(known, used[0], None if x is None else said(x))
    if g is None:
        return f"{sent} {waits(known, 'delta')}"
    unit, delta = neuron_name(known.facts, (operation.target, used[0].written[0])), said(g)
    if not known.is_final:
        off = text("card.off_now", sent=sent, unit=unit, delta=delta)
        return f"{off} {waits(known, 'product')}"
    off = text("card.off", sent=sent.rstrip("."), unit=unit, delta=delta)
    if known.state.batch > 1:
        off = text("card.off_in", sample=sample_of(known.state), off=off)
    whole = plural("card.product_is", known.state.batch, off=off, grad=grad)
    return f"{whole} {pushed(known)}".rstrip()


def by_chain_rule(known: Why, grad: str) -> str:
    """Return the sentence for a gradient that is not shown as a sum of products."""
    if not known.is_final:
        return waits(known, "grad")
    return f"{text('card.chain_rule', grad=grad)} {pushed(known)}".rstrip()


def shared(known: Why, grad: str) -> str:
    """Return the sentence for a weight with several uses per sample."""
    start = text("card.shared", count=known.places)
    if not known.is_final:
        return f"{start} {waits(known, 'delta' if known.products is None else 'product')}"
    whole = plural("card.shared_is", known.state.batch, start=start, grad=grad)
    return f"{whole} {pushed(known)}".rstrip()


def waits(known: Why, what: str) -> str:
    """Return a sentence on which number is not computed yet, and the operation that computes it."""
    facts, home = known.facts, known.homes[0] if known.homes else NONE
    titles: list[str] = []
    if facts.is_graph:  # in the backward pass, the first node is the last
        titles = [] if known.first_use is None else [known.first_use(known.row)]
    elif what == "delta":
        target = facts.operations[home].target
        titles = [each.title for each in facts.moments if target in each.gradients]
    else:
        titles = [
            each.title
            for each in facts.moments
            if each.kind == "weight gradient" and each.operation == home
        ]
    when = titles[0] if titles else ""
    return text(f"card.waits.{what}", when=when or text("card.later"))


def sender(known: Why, use: Use, x: str | None) -> str:
    """Return a sentence on the input that the weight multiplies, as written."""
    if use.read is None:
        return text("card.sent_one")
    name = sentence_of(neuron_name(known.facts, (use.operation.source, use.read[0])))
    return text("card.sent_nothing", name=name) if x is None else text("card.sent", name=name, x=x)


def pushed(known: Why) -> str:
    """Return a sentence on the direction and size of the update."""
    found, new = known.found, known.new_value
    if found is not None and found.frozen:
        return text("card.push_frozen")
    if found is None or new is None:
        return ""
    if known.state.operation:
        return text("card.push_coming", when=text("strip.step"))
    by = new - found.value
    way = "up" if by > 0.0 else "down" if by < 0.0 else "none"
    return text(f"card.push.{way}", step=known.step, by=said(abs(by)))


def table_of(known: Why) -> list[CardTable]:
    """Return a list with a table of the gradient's products, by sample or the largest first."""
    products = known.products
    if not products or not known.is_final:
        return []
    if known.places > 1:  # most terms of a shared weight may be 0
        order = largest_first([each.value for each in products])
    else:
        order = [
            sample_of(known.state),
            *(i for i in range(len(products)) if i != sample_of(known.state)),
        ]
    head = tuple(text(f"card.head.{name}") for name in ("sample", "x", "delta", "product"))
    marked = 0 if known.places == 1 else NONE
    every = [products[i] for i in order]
    return [product_table(head, every, text("card.head.grad"), marked=marked)]


# The value during playback, and additionally pinned weights.

DIGITS = 3  # minimum digits of a value


def value_now(value: float) -> CardLine:
    """Return a line with only the value of a weight, for use during playback."""
    return CardLine(text("card.value_is", value=said(value, DIGITS)), "large", text("card.now"))


def line_beside(facts: Facts, row: int, value: float, since: float | None) -> CardLine:
    """Return a line with the value and the change of an additionally pinned weight.

    Args:
        since: its change since the start of training; None if unknown
    """
    name, number = weight_title(facts, row), said(value, DIGITS)
    if since is None:
        return CardLine(text("card.beside.value", name=name, value=number))
    change = f"+{said(since)}" if since > 0.0 else said(since)
    return CardLine(text("card.beside", name=name, value=number, change=change))
