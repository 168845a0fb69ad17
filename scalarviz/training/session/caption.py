"""Caption: what the last operation did, as a sentence, its arithmetic, and where that is seen."""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.core.program import NONE

Neuron = tuple[str, int]  # the name of a buffer of the program, and the place in it


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line of a caption, such as one term of a sum.

    words   its text, such as "0.27 × -0.105" or " + "
    row     bank index of the weight that it is about; -1 for none
    neuron  the neuron that it is about, as the name of a buffer and the place in it; None for none
    mark    what is written on the weight's cube meanwhile, such as "-.028"; "" for its value
    opens   whether it stands for terms that are left out, and shows them when it is clicked
    behind  the neuron whose delta is its second factor; None if it is no product with a delta
    """

    words: str
    row: int = NONE
    neuron: Neuron | None = None
    mark: str = ""
    opens: bool = False
    behind: Neuron | None = None


@dataclass(frozen=True, slots=True)
class Summand:
    """A product of a sum: the number of a neuron times a weight, by its bank index `row`."""

    row: int
    neuron: Neuron
    number: float
    weight: float


@dataclass(frozen=True, slots=True)
class Summed:
    """A sum of products, as it is shown beside its neuron.

    largest  the largest products, in the order of the picture
    others   the sum of the other ones; None without
    result   what the engine has
    """

    largest: tuple[Summand, ...]
    others: float | None
    result: float


@dataclass(frozen=True, slots=True)
class Caption:
    """What an operation did, with the numbers of one sample, weight or neuron.

    title    one plain sentence
    formula  the formula without numbers, or ""
    lines    lines of pieces: the formula with numbers; long sums leave terms out
    whole    the same lines with all terms; empty if nothing is left out
    rows     bank indices of weights that are spoken of, beside those of the pieces; the first one
             is the subject
    neurons  neurons that are spoken of, beside those of the pieces; the first one is the subject
             if there are no rows
    callout  a few words that stand beside the subject in the picture, such as "neuron 3: 0.28"
    summed   the sum of products that is the number of the subject; None if it is none
    """

    title: str
    formula: str = ""
    lines: tuple[tuple[Piece, ...], ...] = ()
    whole: tuple[tuple[Piece, ...], ...] = ()
    rows: tuple[int, ...] = ()
    neurons: tuple[Neuron, ...] = ()
    callout: str = ""
    summed: Summed | None = None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The text of each line."""
        return tuple("".join(piece.words for piece in line) for line in self.lines)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces about weights and neurons: those of the lines, and what only `whole` has."""
        told = [p for line in self.lines for p in line if p.row != NONE or p.neuron is not None]
        known = {(p.row, p.neuron) for p in told}
        rest = (piece for line in self.whole for piece in line)
        told += [
            p
            for p in rest
            if (p.row != NONE or p.neuron is not None) and (p.row, p.neuron) not in known
        ]
        return tuple(dict.fromkeys(told))

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.title, self.formula, *self.numbers)))

    __repr__ = __str__  # a prompt and a notebook show it, too


def plain_lines(*lines: str) -> tuple[tuple[Piece, ...], ...]:
    """Return lines that consist of one piece each, about nothing in the picture."""
    return tuple((Piece(line),) for line in lines)
