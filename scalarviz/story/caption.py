"""Captions and cards: sentences, arithmetic and tables, and their positions in the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalarviz.story.facts import NONE, Neuron

FORWARD, ERROR, BACKWARD, STEP = "forward", "error", "backward", "step"  # parts of a step


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a caption line, such as one term of a sum.

    Attributes:
        words: its text, such as "0.27 × -0.105" or " + "
        row: bank index of its weight; -1 without a weight
        neuron: its neuron, as buffer name and index; or None
        opens: whether it represents omitted terms, which a click shows
    """

    words: str
    row: int = NONE
    neuron: Neuron | None = None
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A number drawn as a bar.

    Attributes:
        name: label or term, such as "1.00 × .26"
        value: the number, which is the length of the bar
        row: bank index of its weight; NONE without a weight
        before: the number before a step, or None
        said: the number as printed; "" prints two digits
    """

    name: str
    value: float
    row: int = NONE
    before: float | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Inputs or outputs of an operation as bars.

    Attributes:
        rows: the bars, in the order of the picture
        total: the sum if the bars are drawn end to end; None if each starts at zero
        marked: index of the explained bar, or NONE
        unit: "number", "share" (probability) or "blame"; bars of "blame" show no numbers
        said: the sum as printed
    """

    rows: tuple[Bar, ...]
    total: float | None = None
    marked: int = NONE
    unit: str = "number"
    said: str = ""


@dataclass(frozen=True, slots=True)
class Miss:
    """An output of the shown sample, after the activation of the loss, and its target.

    Attributes:
        is_share: whether the output is a probability, printed as a percentage
    """

    neuron: Neuron
    name: str
    out: float
    goal: float
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """The change of a neuron's value for the shown sample, by a step or by another weight."""

    neuron: Neuron
    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class BlamePart:
    """The part of the negative gradient ("blame") of a neuron that comes through one weight.

    Attributes:
        row: bank index of the weight
        neuron: the neuron of the next layer
        amount: the negative gradient: positive if the neuron should be higher
        words: text with the labels of both neurons
    """

    row: int
    neuron: Neuron
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class Blame:
    """The negative gradient ("blame") of a weight's neuron, drawn as paths from the outputs.

    Attributes:
        row: bank index of the weight
        parts: the parts that come from each neuron of the next layer
        total: their sum, the blame of the neuron
        words: text: whether the neuron should be higher or lower
        earlier: bank indices of the weights on the paths between later layers
        stays: whether the previous operation already showed all parts
    """

    row: int
    parts: tuple[BlamePart, ...]
    total: float
    words: str
    earlier: tuple[int, ...]
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """The outputs of the network with one weight changed and all others fixed.

    Attributes:
        step: the change of the weight; `weight` is its value before and after
        neuron: change of the weight's neuron; None in a formula
        outputs: changes of the outputs, after the activation of the loss
        between: weights from the neuron to each output; empty if there are layers in between
        off: mean error of the outputs, before and after
        name: name of the weight, or ""
    """

    step: float
    weight: tuple[float, float]
    neuron: Effect | None
    outputs: tuple[Effect, ...]
    between: tuple[float, ...]
    off: tuple[float, float]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of a step on the shown sample.

    Attributes:
        outputs: changes of the outputs, after the activation of the loss; for classes, of the
            output of the right class only
        goals: targets of these outputs
        off: mean error of all outputs, before and after
        others: number of other samples of the batch
        weights: number of trainable weights
        shares: probabilities of all classes, before and after; None without classes
        moved: changes of the trainable numbers, if they are few and have names
        wrong: whether a single output with two possible targets is closer to the wrong one
    """

    outputs: tuple[Effect, ...]
    goals: tuple[float, ...]
    off: tuple[float, float]
    others: int
    weights: int
    shares: Bars | None = None
    moved: tuple[Effect, ...] = ()
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The samples of a step, one number for each.

    Attributes:
        amounts: for each sample its loss, its negative gradient for a weight, or its improvement;
            empty if unknown
        count: number of samples; `place` is the index of the shown sample
        silent: number of samples in which the input of the weight is 0
        losses: their mean loss before and after a step, as text; empty if unknown
    """

    amounts: tuple[float, ...]
    count: int
    place: int
    silent: int = 0
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bent:
    """The effect of an activation on a number or, in the backward pass, on its gradient.

    Attributes:
        before, after: the input and the output of the activation
        points: points of its curve, from left to right
        slope: slope of the curve at the input, in the backward pass; else None
        is_share: whether the curve is the loss of a probability, instead of an activation
    """

    before: float
    after: float
    points: tuple[tuple[float, float], ...]
    slope: float | None = None
    is_share: bool = False


def ends_of_bars(bars: Bars) -> list[tuple[float, float]]:
    """Return start and end of each bar, scaled to 0 to 1; if there is a sum, it comes last.

    Bars of a sum start where the previous bar ends, all other bars start at zero.
    """
    ends: list[tuple[float, float]] = []
    reached: float = 0.0
    for each in bars.rows:
        ends.append((reached, reached + each.value))
        reached += 0.0 if bars.total is None else each.value
    if bars.total is not None:
        ends.append((0.0, bars.total))
    low: float = min([0.0, *[min(end) for end in ends]])
    least = 1.0 if bars.unit == "share" else 0.0
    high: float = max([least, *[max(end) for end in ends]])
    reach = high - low or 1.0
    return [((first - low) / reach, (last - low) / reach) for first, last in ends]


@dataclass(frozen=True, slots=True)
class Uses:
    """A weight that a sequence uses at every place, and its slope.

    Attributes:
        row: bank index of the weight
        place: the place that the caption is about
        parts: what each place adds to the slope of the shown sample
        said: the parts and their sum as text
        name: name of the weight
        beats: its step as mean slope / usual size, and as the rate by which that is
            multiplied, as text; () if unknown
        way: what the step does, as text
        old, new: the weight before and after the step, if known
        links: what a change of it against its slope does at the place, up to the goal, as texts;
            () unless each follows from the one before
        route: the number of the road through which it does most, and the number or the neuron
            before it, or NONE; () without `links`
        moved: what the step of all weights does to the share of the goal, as text; "" if unknown
    """

    row: int
    place: int
    parts: tuple[float, ...]
    said: tuple[str, ...]
    name: str
    beats: tuple[str, ...] = ()
    way: str = ""
    old: float = 0.0
    new: float = 0.0
    links: tuple[str, ...] = ()
    route: tuple[int, ...] = ()
    moved: str = ""


@dataclass(frozen=True, slots=True)
class Caption:
    """The description of an operation, with the numbers of one sample, weight or neuron.

    Attributes:
        title: one plain sentence
        formula: the formula without numbers, or ""
        lines: lines of pieces: the formula with numbers, abbreviated for long sums
        whole: the same lines with all terms; empty if nothing is omitted
        rows: bank indices of further weights of the caption, to which no piece refers; the first
            one is the subject
        neurons: further neurons of the caption, to which no piece refers; the first one is the
            subject if `rows` is empty
        why: a sentence below the title, or ""
        bars: inputs or outputs of the operation as bars, or None
        bent: effect of an activation on the subject; None for other operations
        misses: the outputs that the caption is about, and their targets
        blame: negative gradients on the paths to the weight; None in the last layer, and if layers
            are not dense
        trial: effect of another value of the weight on the outputs, or None
        wish: the weight before and after its update, as text; "" if unknown
        comes: products that give the sample's negative gradient of the weight, and the mean of all
            samples, as text; or ""
        rolls: whether the weight will move up its gradient because of momentum, as `why` says
        tried: effect of another weight on the probability of the right class, as text; or ""
        outcome: effect of a step on the outputs of the shown sample, or None
        group: the samples of the step; None for a single sample
        losses: the loss, as text, before and after a step; only the loss of the previous step until
            the new one is computed; None if unknown
        thread: neurons with which the step is explained, one for each layer computed so far
        uses: a weight that is used at every place of a sequence, or None
    """

    title: str
    formula: str = ""
    lines: tuple[tuple[Piece, ...], ...] = ()
    whole: tuple[tuple[Piece, ...], ...] = ()
    rows: tuple[int, ...] = ()
    neurons: tuple[Neuron, ...] = ()
    why: str = ""
    bars: Bars | None = None
    misses: tuple[Miss, ...] = ()
    bent: Bent | None = None
    outcome: Outcome | None = None
    blame: Blame | None = None
    trial: Trial | None = None
    wish: str = ""
    comes: str = ""
    rolls: bool = False
    tried: str = ""
    losses: tuple[str, ...] | None = None
    group: Group | None = None
    thread: tuple[Neuron, ...] = ()
    uses: Uses | None = None

    @property
    def linked(self) -> list[int]:
        """Bank indices of the weights on the paths by which the gradient reaches the weight."""
        blame = self.blame
        return [] if blame is None else [*[each.row for each in blame.parts], *blame.earlier]

    @property
    def subject(self) -> Neuron | None:
        """The neuron that the picture explains, or None."""
        return self.neurons[0] if len(self.neurons) else None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The text of each line."""
        return tuple("".join(piece.words for piece in line) for line in self.lines)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces with a weight or a neuron: from `lines`, then further ones from `whole`."""
        told = [p for line in self.lines for p in line if p.row != NONE or p.neuron is not None]
        known = {(p.row, p.neuron) for p in told}
        rest = [piece for line in self.whole for piece in line]
        told += [
            p
            for p in rest
            if (p.row != NONE or p.neuron is not None) and (p.row, p.neuron) not in known
        ]
        return tuple(dict.fromkeys(told))

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.title, self.formula, *self.numbers)))

    __repr__ = __str__  # for prompts and notebooks


def head_of(caption: Caption) -> str:
    """Return the title, with the weight before and after its update unless shown below."""
    is_shown = caption.wish != "" and not caption.rolls and " → " not in caption.comes
    return f"{caption.title[:-1]}: {caption.wish}" if is_shown else caption.title


def plain_lines(*lines: str) -> tuple[tuple[Piece, ...], ...]:
    """Return lines of one piece each, not connected to a cube or neuron of the picture."""
    return tuple((Piece(line),) for line in lines)


@dataclass(frozen=True)
class CardLine:
    """A line of a card, wrapped if necessary: a sentence, or a formula.

    Attributes:
        look: "plain", "quiet", "strong" for a heading, "bold", or "large" for the numbers of a
            change
        aside: less prominent words at its end
    """

    words: str
    look: str = "plain"
    aside: str = ""


@dataclass(frozen=True)
class CardTable:
    """Columns of numbers on a card, limited to the rows that fit.

    Attributes:
        head: names of the columns
        rows: the cells of each row
        rests: summary rows; rests[n] replaces the rows after the first n
        total: cells of the last row, or empty
        marked: index of the row of the focus sample, or NONE
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    rests: Sequence[Sequence[str]]
    total: Sequence[str] = ()
    marked: int = NONE


@dataclass(frozen=True)
class Card:
    """The text about a cube or a neuron.

    Attributes:
        row: bank index; NONE for a neuron
        facts: pairs of name and value, shown next to the cube or sphere
        blocks: contents of the inspector, from top to bottom: lines, tables, and drawings of
            `scene`
    """

    row: int
    name: str
    facts: Sequence[tuple[str, str]] = ()
    blocks: Sequence[Any] = ()


@dataclass(frozen=True)
class Cell:
    """One operation of a step, as a cell of the strip below the network.

    Attributes:
        part: FORWARD, ERROR, BACKWARD or STEP
        layer: its layer, such as "layer 0", or ""
        name: plain name; `technical` is the name used by the session
        done: number of operations of the step that are finished after this one
    """

    part: str
    layer: str
    name: str
    technical: str
    done: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Key shared by the operations of one layer in one part; unique for all other cells."""
        return self.part, self.layer, 0 if self.layer else self.done


def label(cell: Cell) -> str:
    """Return the name of a moment with its layer, such as "layer 0: add up"."""
    return f"{cell.layer}: {cell.name}" if cell.layer and cell.name else cell.layer or cell.name
