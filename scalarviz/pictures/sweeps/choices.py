"""What a user can choose in a window or a notebook on a sweep: how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scalarviz.base.texts import text
from scalarviz.pictures.sweeps.look import FALLING, SweepLook, columns_of
from scalarviz.pictures.sweeps.panels import Panels

MOST_SETTINGS = 100  # that others can be compared with


@dataclass(frozen=True)
class Choice:
    """One field of a SweepLook, with all its values.

    field   its name
    about   what it is for, in words
    values  of the field
    words   what stands for each value
    """

    field: str
    about: str
    values: list[Any]
    words: list[str]

    def place(self, look: SweepLook) -> int:
        """Return the place of the value that a look has; 0 if it is not among them."""
        value = getattr(look, self.field)
        return self.values.index(value) if value in self.values else 0

    def chosen(self, look: SweepLook, place: int) -> SweepLook:
        """Return a look with the value at a place."""
        return replace(look, **{self.field: self.values[place]})


def choices_of(panels: Panels) -> list[Choice]:
    """Return the choices there are for a sweep."""
    sweep = panels.sweep
    orders, order_words = [""], [text("sweep.choose.order.grid")]
    groups, group_words = [""], [text("sweep.choose.group.none")]
    for name in columns_of(sweep):
        orders += [name, FALLING + name]
        order_words += [text("sweep.choose.order.rising", name=name)]
        order_words += [text("sweep.choose.order.falling", name=name)]
        if name != "seed":
            groups.append(name)
            group_words.append(text("sweep.choose.group.by", name=name))
    count = min(len(sweep.settings), MOST_SETTINGS)
    names = [text("sweep.choose.against.is", name=panels.full_name(i)) for i in range(count)]
    kinds = panels.kinds
    return [
        Choice(
            "networks", text("sweep.choose.networks"), kinds,
            [text(f"sweep.choose.networks.{kind}") for kind in kinds],
        ),
        Choice("order", text("sweep.choose.order"), orders, order_words),
        Choice("group", text("sweep.choose.group"), groups, group_words),
        Choice(
            "against", text("sweep.choose.against"), [None, *range(count)],
            [text("sweep.choose.against.best"), *names],
        ),
    ]  # fmt: skip
