"""SweepLook: display options of a sweep, and the order and groups of its settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.base.checks import size as count_of
from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.scene.sweep_panels import CUBES, KINDS
from scalarviz.sweeps.results import as_key, in_order, in_words, is_empty, plain, value_of
from scalarviz.sweeps.sweep_arguments import FALLING, Ranking
from scalarviz.sweeps.tasks import NEVER, Outcome

if TYPE_CHECKING:
    from scalarviz.sweeps.sweep import Sweep


MOST_GROUPS = 8  # more numbers are grouped by ranges
RANGES = 4
Known = Mapping[int, tuple[Mapping[str, Any], Outcome | None]]  # settings and results by index
RESULTS = "rank", "loss", "success", "steps to success", "failed", "seconds", "seed"
NO_GROUPS = "rank", "seed"  # columns that cannot form groups


@final
@dataclass(frozen=True)
class SweepLook:
    """Display options of a sweep.

    Attributes:
        networks: how each network is drawn: "cubes", a wall of cubes; "maps", a map of the plane;
            "swatches" of its colors; or "losses", its loss line
        order: table column by which settings and networks are sorted, prefixed by - for descending
            order; "": settings in grid order, networks by the ranking of the sweep
        group: column by whose values settings are grouped, or ""
        against: index of the setting with which the others are compared; None: the best one
    """

    networks: str = CUBES
    order: str = ""
    group: str = ""
    against: int | None = None

    def check(self, sweep: Sweep) -> None:
        """Raise UnknownNameError or InputError for options that this sweep does not support."""
        pick({kind: kind for kind in KINDS}, self.networks, "picture of networks")
        columns = {name: name for name in columns_of(sweep)}
        for given, name in ((self.order, self.column), (self.group, self.group)):
            if given:
                pick(columns, name, "column of the sweep")
        if self.against is not None:
            count = len(sweep.settings)
            require(
                count_of(self.against, "against, the number of a setting,", least=0) < count,
                f"the sweep has settings 0 to {count - 1}, not {self.against}",
            )

    @property
    def column(self) -> str:
        """The column of `order`, without the prefix for the direction."""
        return self.order.removeprefix(FALLING)

    @property
    def is_falling(self) -> bool:
        return self.order.startswith(FALLING)

    def arranged(self, known: Known, ranking: Ranking) -> list[tuple[int, str]]:
        """Return the indices of settings in the order of their panels, each with its group.

        A group is given by its name, "" without groups. Settings with empty cells come last.
        """

        def cells_in(column: str) -> dict[int, Any]:
            return {number: value_of(*known[number], column, ranking) for number in known}

        numbers = list(known)
        if self.column and self.column != "seed":
            numbers = in_order(cells_in(self.column), falling=self.is_falling)
        if not self.group or self.group in NO_GROUPS:
            return [(number, "") for number in numbers]
        cells = cells_in(self.group)
        names = group_names(self.group, cells)
        rising = sorted(known, key=lambda number: group_key(cells[number]))
        groups = dict.fromkeys(names[number] for number in rising)
        return [(number, name) for name in groups for number in numbers if names[number] == name]

    def order_of_networks(self, outcome: Outcome, ranking: Ranking) -> Any:
        """Return the indices of the networks of an outcome in drawing order."""
        keys = keys_of(outcome, self.column, ranking)
        return np.lexsort((outcome.scores(ranking), -keys if self.is_falling else keys))


def columns_of(sweep: Sweep) -> list[str]:
    """Return the columns by which a sweep can be sorted and grouped."""
    names = [*sweep.settings[0], *RESULTS, *sweep.metrics]
    if not sweep.success:
        names = [name for name in names if "success" not in name or name in sweep.settings[0]]
    return list(dict.fromkeys(names))


def keys_of(outcome: Outcome, column: str, ranking: Ranking) -> FloatArray:
    """Return the sort key of each network for a column; zeros for other columns."""
    if column in outcome.metrics:
        return np.asarray(np.nan_to_num(outcome.last(column), nan=np.inf))
    succeeded, failed = outcome.succeeded != NEVER, outcome.failed != NEVER
    keys = {
        "rank": outcome.scores(ranking),
        "seed": outcome.seeds.view(np.uint64),
        "steps to success": np.where(succeeded, outcome.succeeded, np.inf),
        "success": succeeded,
        "failed": failed,
        "loss": outcome.scores(),
    }
    return np.asarray(keys.get(column, np.zeros(len(outcome.seeds))), np.float64)


def group_names(column: str, cells: dict[int, Any]) -> dict[int, str]:
    """Return the name of each setting's group: its value, or a range for many numbers."""
    words = {number: in_words(plain(cell)) for number, cell in cells.items()}
    known = {
        number: cell
        for number, cell in cells.items()
        if isinstance(cell, (int, float)) and math.isfinite(cell)
    }
    if len(set(words.values())) > MOST_GROUPS and known:
        found = list(map(float, known.values()))
        edges = np.quantile(found, np.linspace(0.0, 1.0, RANGES + 1)).tolist()
        for number, cell in known.items():
            part = min(int(np.searchsorted(edges[1:], cell)), RANGES - 1)
            ends = in_words(float(edges[part])), in_words(float(edges[part + 1]))
            words[number] = text("sweep.picture.range", low=ends[0], high=ends[1])
    return {
        number: text(
            "sweep.picture.group", name=visible(column), value=each or text("sweep.picture.none")
        )
        for number, each in words.items()
    }


def group_key(cell: Any) -> tuple[bool, tuple[int, Any]]:
    """Return a sort key of a group: numbers by size, then strings, then empty cells."""
    return is_empty(cell), (0, 0) if is_empty(cell) else as_key(plain(cell))


def sweep_look(
    shown: object,
    networks: str | None = None,
    order: str | None = None,
    group: str | None = None,
    against: int | None = None,
) -> SweepLook:
    """Return the SweepLook with these options; None means the default.

    Raises:
        InputError: for an object that is not a sweep, or an option that it does not support.
    """
    from scalarviz.sweeps.sweep import Sweep

    options = {"networks": networks, "order": order, "group": group, "against": against}
    given: dict[str, Any] = {name: each for name, each in options.items() if each is not None}
    if isinstance(shown, Sweep):
        look = SweepLook(**given)
        look.check(shown)
        return look
    for name, each in given.items():
        raise InputError(f"{name}={shorten(each)} is only for sweeps: leave it out")
    return SweepLook()
