"""Names that a network writes letter by letter, from given random numbers.

Sessions and pages share this file; docs/TRANSLATOR.md lists the supported Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

SHOWN, HEAT = 10, 0.7  # names, and their temperature


@dataclass(frozen=True)
class WrittenName:
    """A name that a network has written.

    Attributes:
        letters: its letters
        chances: the probability of each letter when it was drawn
        is_known: whether it is one of the names for training
    """

    letters: str
    chances: Sequence[float]
    is_known: bool


def shares_of(scores: Sequence[float], heat: float) -> list[float]:
    """Return the softmax of scores divided by a temperature."""
    top = max(scores)
    powers = [math.exp((score - top) / heat) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def drawn_sign(shares: Sequence[float], random: float) -> int:
    """Return the index of a sign, drawn by a number from 0 to 1."""
    sum_so_far: float = 0.0
    for sign, share in enumerate(shares):
        sum_so_far += share
        if random <= sum_so_far:
            return sign
    return len(shares) - 1


def write_names(
    ask: Callable[[list[float]], Sequence[float]],
    random: Sequence[Sequence[float]],
    signs: str,
    known: Collection[str],
    heat: float = HEAT,
) -> list[WrittenName]:
    """Return a name for each row of random numbers, as `sv.data.Names.write` draws it.

    Args:
        ask: function from the inputs of all names, one after the other, to the outputs of the
            network: for each name, all places of the first sign, then of the second one
        random: numbers from 0 to 1, a row of `places` - 1 for each name
        signs: the sign of the end, then the letters
        known: the names for training
        heat: temperature by which scores are divided
    """
    places, count = len(random[0]) + 1, len(signs)
    names = [[0] for _ in random]
    chances: list[list[float]] = [[] for _ in random]
    going = list(range(len(random)))
    for place in range(places - 1):
        rows: list[float] = []
        for name in names:
            padding = [-1.0 for _ in range(places - len(name))]
            rows += [*[float(sign) for sign in name], *padding]
        answers = ask(rows) if going else []
        more: list[int] = []
        for i in going:
            first = i * count * places + place
            scores = [float(answers[first + sign * places]) for sign in range(count)]
            shares = shares_of(scores, heat)
            sign: int = drawn_sign(shares, random[i][place])
            if sign > 0:
                names[i].append(sign)
                chances[i].append(shares[sign])
                more.append(i)
        going = more
    found: list[WrittenName] = []
    for name, parts in zip(names, chances, strict=True):
        letters = "".join([signs[sign] for sign in name[1:]])
        found.append(WrittenName(letters, parts, letters in known))
    return found
