"""Captions and cards: sentences, arithmetic and tables, and where in the picture they are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalarviz.story.facts import NONE, Neuron

FORWARD, ERROR, BACKWARD, STEP = "forward", "error", "backward", "step"  # parts of a step


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line of a caption, such as one term of a sum.

    Attributes:
        words: its text, such as "0.27 × -0.105" or " + "
        row: bank index of the weight that it is about; -1 for none
        neuron: the neuron that it is about, as the name of a buffer and the place in it; None for
            none
        opens: whether it stands for terms that are left out, and shows them when it is clicked
    """

    words: str
    row: int = NONE
    neuron: Neuron | None = None
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A number as a bar.

    Attributes:
        name: what it is, or what it is made of, such as "1.00 × .26"
        value: its length
        row: bank index of its weight; NONE for none
        before: the number before a step; None for none
    """

    name: str
    value: float
    row: int = NONE
    before: float | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """What goes into an operation, or comes out of it, as bars.

    Attributes:
        rows: in the order of the picture
        total: what they add up to, end to end; None: each begins at zero
        marked: place of the one that is spoken of, or NONE
        unit: what the numbers are: "number", "share", or "blame", which has no digits
    """

    rows: tuple[Bar, ...]
    total: float | None = None
    marked: int = NONE
    unit: str = "number"


@dataclass(frozen=True, slots=True)
class Miss:
    """An output of the shown sample as the loss reads it, and its goal.

    Attributes:
        is_share: whether it is a share of 100 %
    """

    neuron: Neuron
    name: str
    out: float
    goal: float
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """How a step, or another weight, changes a neuron of the shown sample."""

    neuron: Neuron
    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class BlamePart:
    """One way by which blame comes to a neuron: through a weight of a neuron of the next layer.

    Attributes:
        row: bank index of the weight
        neuron: the one that passes it on
        amount: how much the way asks for a higher number; negative: for a lower one
        words: what both should say
    """

    row: int
    neuron: Neuron
    amount: float
    words: str


@dataclass(frozen=True, slots=True)
class Blame:
    """How blame comes from the outputs to a weight, which is drawn as ways that meet.

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
    """What the network answers with one weight changed, and all else as it is.

    Attributes:
        step: by which it is higher; `weight` is its value before and after
        neuron: of the weight; None in a formula
        outputs: as the loss reads them
        between: weights from the neuron to each output; empty where layers are between them
        off: how far the outputs are off in the mean, before and after
        name: of the weight, if it has one
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
    """What a step makes of the shown sample.

    Attributes:
        outputs: as the loss reads them; of classes, that of the right one
        goals: theirs
        off: how far all are off in the mean, before and after
        others: number of other samples of the batch
        weights: number of weights that learn
        shares: of all classes, before and after; None without classes
        moved: each of few numbers with a name that learn
        closer: number of samples that come closer, if it is known
    """

    outputs: tuple[Effect, ...]
    goals: tuple[float, ...]
    off: tuple[float, float]
    others: int
    weights: int
    shares: Bars | None = None
    moved: tuple[Effect, ...] = ()
    closer: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """The samples of a step together.

    Attributes:
        amounts: of each: its loss, how much it asks for a higher weight, or how much nearer it
            came; empty if not known
        count: how many they are; `place` is that of the shown one
    """

    amounts: tuple[float, ...]
    count: int
    place: int


@dataclass(frozen=True, slots=True)
class Bent:
    """What an activation makes of a number, or of the blame that comes back to it.

    Attributes:
        before, after: the number, and the result
        points: of its curve, from left to right
        slope: of the curve there, where blame comes back; else None
        is_share: whether it is what a loss makes of a share
    """

    before: float
    after: float
    points: tuple[tuple[float, float], ...]
    slope: float | None = None
    is_share: bool = False


def ends_of_bars(bars: Bars) -> list[tuple[float, float]]:
    """Return where bars begin and end, from 0 to 1; the last is their sum, if they have one.

    Those of a sum begin where the one before ends, all others at zero.
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
    """What an operation did, with the numbers of one sample, weight or neuron.

    Attributes:
        title: one plain sentence
        formula: the formula without numbers, or ""
        lines: lines of pieces: the formula with numbers; long sums leave terms out
        whole: the same lines with all terms; empty if nothing is left out
        rows: bank indices of weights that are spoken of, beside those of the pieces; the first one
            is the subject
        neurons: neurons that are spoken of, beside those of the pieces; the first one is the
            subject if there are no rows
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
        """Bank indices of the weights by which a gradient comes to its weight."""
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
        """The pieces about weights and neurons: those of the lines, and what only `whole` has."""
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

    __repr__ = __str__  # a prompt and a notebook show it, too


def head_of(caption: Caption) -> str:
    """Return the title of a gradient, with the numbers of its weight as far as they are known."""
    is_shown = caption.wish != "" and not caption.rolls
    return f"{caption.title[:-1]}: {caption.wish}" if is_shown else caption.title


def plain_lines(*lines: str) -> tuple[tuple[Piece, ...], ...]:
    """Return lines that consist of one piece each, about nothing in the picture."""
    return tuple((Piece(line),) for line in lines)


@dataclass(frozen=True)
class CardLine:
    """A line of a card, which is continued in further ones: a sentence, or a formula.

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
    """Columns of numbers on a card, of which as many rows are shown as there is room for.

    Attributes:
        head: names of the columns
        rows: the cells of each row
        rests: what stands for the rows that are left out, if the first 0, 1, 2 ... are shown
        total: cells of the last row; empty for none
        marked: index of the row of the focus sample, or NONE
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    rests: Sequence[Sequence[str]]
    total: Sequence[str] = ()
    marked: int = NONE


@dataclass(frozen=True)
class Card:
    """What is written about a cube or a neuron.

    Attributes:
        row: bank index; NONE for a neuron
        facts: pairs of name and value, beside the cube or sphere
        blocks: what the inspector shows, from top to bottom: lines, tables, and drawings of `scene`
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
        name: plain name; `technical` is that of the session
        done: number of operations of the step that are done after it
    """

    part: str
    layer: str
    name: str
    technical: str
    done: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Equal for the operations of one layer in one part; others have a key of their own."""
        return self.part, self.layer, 0 if self.layer else self.done


def label(cell: Cell) -> str:
    """Return the name of a moment with its layer, such as "layer 0: add up"."""
    return f"{cell.layer}: {cell.name}" if cell.layer and cell.name else cell.layer or cell.name
