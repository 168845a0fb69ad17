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
        value: its length
        row: bank index of its weight; NONE without a weight
        before: the number before a step, or None
        said: the value in print, by which a sum closes, or ""
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
        rows: in the order of the picture
        total: the sum if the bars are drawn end to end; None if each starts at zero
        marked: index of the explained bar, or NONE
        unit: unit of the numbers: "number", "share", or "blame", which has no digits
    """

    rows: tuple[Bar, ...]
    total: float | None = None
    marked: int = NONE
    unit: str = "number"


@dataclass(frozen=True, slots=True)
class Miss:
    """An output of the shown sample as the loss reads it, and its target.

    Attributes:
        is_share: whether it is a percentage
    """

    neuron: Neuron
    name: str
    out: float
    goal: float
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """The change of a neuron of the shown sample by a step or by another weight."""

    neuron: Neuron
    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class BlamePart:
    """The blame that reaches a neuron through one weight to the next layer.

    Attributes:
        row: bank index of the weight
        neuron: the neuron of the next layer
        amount: requested change of the number: positive for higher, negative for lower
        words: labels of both neurons
    """

    row: int
    neuron: Neuron
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class Blame:
    """The blame that reaches a weight from the outputs, drawn as converging paths.

    Attributes:
        row: bank index of the weight
        parts: by neuron of the next layer
        total: their sum, the blame of the neuron of the weight
        words: what that neuron should say
        earlier: weights of the ways between later layers
        stays: whether all of it was shown by the operation before
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
        step: the change; `weight` is the value before and after
        neuron: neuron of the weight; None in a formula
        outputs: outputs as the loss reads them
        between: weights from the neuron to each output; empty if layers are between
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
        outputs: outputs as the loss reads them; for classes, the right one
        goals: their targets
        off: mean error of all outputs, before and after
        others: number of other samples of the batch
        weights: number of trainable weights
        shares: probabilities of all classes, before and after; None without classes
        moved: named trainable numbers, if they are few
    """

    outputs: tuple[Effect, ...]
    goals: tuple[float, ...]
    off: tuple[float, float]
    others: int
    weights: int
    shares: Bars | None = None
    moved: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """All samples of a step.

    Attributes:
        amounts: for each sample its loss, its pull towards a higher weight, or its improvement;
            empty if unknown
        count: number of samples; `place` is the index of the shown one
    """

    amounts: tuple[float, ...]
    count: int
    place: int


@dataclass(frozen=True, slots=True)
class Bent:
    """The effect of an activation on a number, or on the blame on the way back.

    Attributes:
        before, after: the number, and the result
        points: points of its curve, from left to right
        slope: slope of the curve there in the backward pass; otherwise None
        is_share: whether the curve is the loss of a probability
    """

    before: float
    after: float
    points: tuple[tuple[float, float], ...]
    slope: float | None = None
    is_share: bool = False


def ends_of_bars(bars: Bars) -> list[tuple[float, float]]:
    """Return the begin and end of bars, from 0 to 1; the last is their sum, if they have one.

    Bars of a sum begin where the previous one ends, all others at zero.
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
class Caption:
    """The description of an operation, with the numbers of one sample, weight or neuron.

    Attributes:
        title: one plain sentence
        formula: the formula without numbers, or ""
        lines: lines of pieces: the formula with numbers, abbreviated for long sums
        whole: the same lines with all terms; empty if nothing is omitted
        rows: bank indices of weights in the caption beside those of the pieces; the first one is
            the subject
        neurons: neurons in the caption beside those of the pieces; the first one is the subject if
            there are no rows
        why: a sentence below the title, or ""
        bars: what goes in or comes out, as bars; None for none
        bent: what an activation made of the subject's number; None if it is none
        misses: outputs that it is about, and their goals
        blame: how it comes to the weight; None in the last layer, and where layers are not dense
        trial: what comes of another value of the weight, where blame comes to it
        wish: the weight before and after its step, or what its gradient asks for; "" if unknown
        comes: how the shown sample comes to its blame for the weight, and the mean of all; or ""
        rolls: whether its step is to move it against its arrow; then `why` says so
        tried: what becomes of the right class with another weight, or ""
        outcome: what a step makes of the outputs of the shown sample
        group: the samples of the step, of which the caption shows one; None for one alone
        losses: loss of the samples of a step, before and after it; before its loss is known, that
            of the step before; None where it is not known
        thread: neurons that the whole step explains, one for each layer that is computed
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

    @property
    def linked(self) -> list[int]:
        """Bank indices of the weights through which the gradient of its weight is computed."""
        blame = self.blame
        return [] if blame is None else [*[each.row for each in blame.parts], *blame.earlier]

    @property
    def subject(self) -> Neuron | None:
        """The neuron that the picture explains."""
        return self.neurons[0] if len(self.neurons) else None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The text of each line."""
        return tuple("".join(piece.words for piece in line) for line in self.lines)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces about weights and neurons: in the lines, then those only in `whole`."""
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
    """Return the title of a gradient, with the numbers of its weight as far as they are known."""
    is_shown = caption.wish != "" and not caption.rolls
    return f"{caption.title[:-1]}: {caption.wish}" if is_shown else caption.title


def plain_lines(*lines: str) -> tuple[tuple[Piece, ...], ...]:
    """Return lines of one piece each, without a position in the picture."""
    return tuple((Piece(line),) for line in lines)


@dataclass(frozen=True)
class CardLine:
    """A line of a card, wrapped if necessary: a sentence, or a formula.

    Attributes:
        look: "plain", "quiet", "strong" for a heading, "bold", or "large" for the numbers of a
            change
        aside: quiet words behind it
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
        rests: replacement of the omitted rows if the first 0, 1, 2 ... are shown
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
        facts: pairs of name and value, beside the cube or sphere
        blocks: contents of the inspector, from top to bottom: lines, tables, and drawings of
            `scene`
    """

    row: int
    name: str
    facts: Sequence[tuple[str, str]] = ()
    blocks: Sequence[Any] = ()


@dataclass(frozen=True)
class Cell:
    """One operation of a step, in the strip.

    Attributes:
        part: FORWARD, ERROR, BACKWARD or STEP
        layer: its layer, such as "layer 0", or ""
        name: plain name; `technical` is the name used by the session
        done: number of finished operations of the step after it
    """

    part: str
    layer: str
    name: str
    technical: str
    done: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Key that the operations of one layer in one part share; unique for all others."""
        return self.part, self.layer, 0 if self.layer else self.done


def label(cell: Cell) -> str:
    """Return the name of a moment with its layer, such as "layer 0: add up"."""
    return f"{cell.layer}: {cell.name}" if cell.layer and cell.name else cell.layer or cell.name
