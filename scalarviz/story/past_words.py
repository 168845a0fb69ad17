"""Readouts of all weights over time: at a tile, and between two steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded
from scalarviz.story.equations import largest_first
from scalarviz.story.facts import Facts
from scalarviz.story.names import weight_title

Span = tuple[float, float]  # two steps for comparison
MOVED = 3  # number of listed tiles or samples that moved most
NOTABLE_SHARE, LEAST_SHARE = 0.05, 0.005  # of the movement: first sample, others


def past_words(
    pointed: tuple[int, float] | None,
    compared: Span | None,
    number_at: Callable[[int, float], float],
    step_at: Callable[[float], float],
    name_of: Callable[[int], str],
    tiles: int,
) -> str:
    """Return the readout of the tile under the mouse, else of the tiles that moved most, or "".

    Args:
        pointed: tile and step under the mouse
        compared: the two compared steps
        number_at: function that returns the number of a tile at a step
        step_at: function that returns the step of the recorded moment shown at a step
        name_of: function that returns the name of a tile
        tiles: number of tiles
    """
    if pointed is not None:
        tile, step = pointed
        if compared is None:
            value = rounded(number_at(tile, step), 3)
            return text("past.reads", name=name_of(tile), value=value, step=step_at(step))
        old: float = number_at(tile, compared[0])
        new: float = number_at(tile, compared[1])
        first, last, change = rounded(old, 3), rounded(new, 3), signed(new - old)
        return text("past.compares", name=name_of(tile), first=first, last=last, change=change)
    if compared is None:
        return ""
    start, end = compared
    moves = [number_at(tile, end) - number_at(tile, start) for tile in range(tiles)]
    moved = [f"{name_of(k)} {signed(moves[k])}" for k in largest_first(moves)[:MOVED]]
    return text("past.most", first=step_at(start), last=step_at(end), moved="; ".join(moved))


def words_of_samples(amounts: Sequence[tuple[int, float]], total: float, steps: int) -> str:
    """Return a text on the samples that moved a weight most in some steps; "" if none stands out.

    Args:
        amounts: indices of samples, each with the distance by which it moved the weight
        total: sum of the amounts of all samples
    """
    most = sorted(amounts, key=lambda each: (-each[1], each[0]))[:MOVED]
    if not total > 0.0 or most[0][1] < NOTABLE_SHARE * total:
        return ""
    parts = [(sample, amount / total) for sample, amount in most]
    shares = [f"{sample} ({part:.0%})" for sample, part in parts if part >= LEAST_SHARE]
    return plural("card.moved_most", steps, samples=", ".join(shares))


def signed(number: float) -> str:
    """Return a number as text, with its sign."""
    return f"+{rounded(number, 3)}" if number > 0.0 else rounded(number, 3)


def name_of_tile(
    facts: Facts, groups: Sequence[tuple[str, int, int]], tile: int, count: int, row: int
) -> str:
    """Return the name of a tile: its weight, or the number of averaged weights and their layer.

    Args:
        groups: name, first tile and number of tiles of each layer
        count: number of weights of the tile; `row` is the bank index of the first one
    """
    if count == 1:
        return weight_title(facts, row)
    label: str = [name for name, first, _ in groups if first <= tile][-1]
    layer = text("plates.layer", label=label) if label else ""
    return plural("past.tile", count, layer=layer).rstrip(" ,")
