"""What is read off the numbers of all weights over time: at a tile, and between two steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded
from scalarviz.story.facts import Facts
from scalarviz.story.names import weight_title

Span = tuple[float, float]  # two steps that are compared


def past_words(
    pointed: tuple[int, float] | None,
    compared: Span | None,
    number_at: Callable[[int, float], float],
    step_at: Callable[[float], float],
    name_of: Callable[[int], str],
    moved_most: Callable[[float, float], Sequence[tuple[int, float]]],
) -> str:
    """Return what is read: a tile at a step or between two, else what moved most; "" for none.

    pointed     tile and step under the mouse
    compared    the two steps that are compared
    number_at   returns the number of a tile at a step
    step_at     returns the step of the moment that is known then
    name_of     returns the name of a tile
    moved_most  returns the tiles that moved most between two steps, with by how much
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
    moved = [f"{name_of(tile)} {signed(change)}" for tile, change in moved_most(start, end)]
    return text("past.most", first=step_at(start), last=step_at(end), moved="; ".join(moved))


def signed(number: float) -> str:
    """Return a number with its sign."""
    return f"+{rounded(number, 3)}" if number > 0.0 else rounded(number, 3)


def name_of_tile(
    facts: Facts, groups: Sequence[tuple[str, int, int]], tile: int, count: int, row: int
) -> str:
    """Return the name of a weight, or how many weights of which layer a tile is the mean of.

    groups  name, first tile and number of tiles of each layer
    count   number of weights of the tile; `row` is the bank index of the first
    """
    if count == 1:
        return weight_title(facts, row)
    label: str = [name for name, first, _ in groups if first <= tile][-1]
    layer = text("plates.layer", label=label) if label else ""
    return plural("past.tile", count, layer=layer).rstrip(" ,")
