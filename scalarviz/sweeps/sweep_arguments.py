"""Check the arguments of a sweep: settings, seeds and ranking."""

from __future__ import annotations

import inspect
import itertools
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from scalarviz.base.checks import number, require, shorten
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.metric_formulas import HELD_OUT, LOSS, METRICS, MetricRow
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.training.session.replicas import checked_seeds
from scalarviz.training.session.session import Session

MOST_SETTINGS = 100_000
MOST_RUNS = 10_000_000
SEED = "seed"  # the argument of `make` set by the sweep

Setting = dict[str, Any]


Make = Callable[..., Any]  # returns a Session, or has one as `session`, such as a Show


def settings_of(make: Make, grid: object) -> list[Setting]:
    """Return the settings of a grid, each a mapping from argument names of `make` to values.

    Args:
        grid: mapping from names to lists of values; the settings are all combinations, in which the
            last name varies fastest. Or a list of settings, each a mapping from names to values

    Raises:
        InputError: for an invalid grid.
        UnknownNameError: for a name that `make` does not accept.
    """
    found = [dict(setting) for setting in rows_of(grid)]
    if not found:
        raise InputError(f"the grid {shorten(grid)} has no settings: give each name values")
    require(
        len(found) <= MOST_SETTINGS,
        f"a sweep has at most {MOST_SETTINGS:,} settings: make several sweeps",
    )
    check_names(make, list(dict.fromkeys(name for setting in found for name in setting)))
    names = set(found[0])
    for setting in found:
        if set(setting) != names:
            raise InputError(
                f"all settings of a sweep need the same names, and {shorten(setting)} differs "
                f"from {shorten(found[0])}: give each setting every name"
            )
    return found


def rows_of(grid: object) -> list[Mapping[str, Any]]:
    """Return the settings of a grid, without checking their names."""
    if isinstance(grid, Mapping):
        lists = {name: values_of(name, values) for name, values in grid.items()}
        rows = islice(itertools.product(*lists.values()), MOST_SETTINGS + 1)
        return [dict(zip(lists, values, strict=True)) for values in rows]
    if (
        isinstance(grid, Sequence)
        and not isinstance(grid, str)
        and all(isinstance(row, Mapping) for row in grid)
    ):
        return list(grid)
    raise InputError(
        "a grid is a mapping from names to lists of values, such as {'hidden': [2, 4, 8]}, or a "
        f"list of settings, not {shorten(grid)}"
    )


def values_of(name: object, values: object) -> list[Any]:
    """Return the values of an argument as a list; raise InputError if empty or with duplicates."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
        raise InputError(
            f"the values of {shorten(name)} are a list, such as [0.1, 1.0], not {shorten(values)}"
        )
    found = list(islice(values, MOST_SETTINGS + 1))
    if not found:
        raise InputError(f"{shorten(name)} has no values: leave it out, or list values")
    if len(found) > MOST_SETTINGS:
        raise InputError(
            f"a sweep has at most {MOST_SETTINGS:,} settings, and {shorten(name)} has more values: "
            "make several sweeps"
        )
    seen: set[object] = set()
    for value in found:
        key = type(value), identity_of(value)
        if key in seen:
            raise InputError(f"{shorten(name)} has the value {shorten(value)} twice: remove one")
        seen.add(key)
    return found


def identity_of(value: object) -> object:
    """Return a hashable key that is equal for equal values, also for NaN, arrays and lists."""
    try:
        if isinstance(value, (float, np.ndarray, list, dict)):
            return pickle.dumps(value)
        hash(value)
    except Exception:  # of any class: objects define how they are pickled and hashed
        return id(value)
    return value


def check_names(make: Make, names: Sequence[object]) -> None:
    """Raise InputError if `make` does not accept these names and `seed` as keyword arguments."""
    require(
        callable(make),
        f"a sweep calls a function that returns a Session, not {shorten(make)}: write "
        "def make(hidden=8, lr=0.5, seed=0): ...",
    )
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"the names of a grid are names of arguments, not {shorten(name)}")
    require(SEED not in names, "a sweep sets the seed itself: pass seeds=range(100), for example")
    try:
        takes = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # without a signature: found out by the call
        return
    if any(each.kind == each.VAR_KEYWORD for each in takes):
        return
    known = [
        each.name for each in takes if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    if SEED not in known:
        raise InputError(
            f"{getattr(make, '__name__', 'the function')} takes no seed, which distinguishes the "
            "runs of a setting: write def make(..., seed=0) and pass it to Network and Session"
        )
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"argument of {make.__name__}", name, [n for n in known if n != SEED]
            )


def seeds_of(seeds: object, settings: int) -> list[int]:
    """Return the seeds as a list; raise InputError for invalid, repeated or too many seeds.

    Args:
        settings: number of settings that are trained with these seeds
    """
    too_many = (
        f"a sweep has at most {MOST_RUNS:,} networks, and {settings:,} settings of "
        f"{shorten(seeds)} are more: make several sweeps"
    )
    found = checked_seeds(seeds, MOST_RUNS // max(settings, 1), too_many, "a sweep needs")
    if len(set(found)) < len(found):
        raise InputError(f"the seeds {shorten(found)} contain a duplicate: two runs would be equal")
    return found


def session_of(make: Make, setting: Setting, seed: int) -> Session:
    """Call `make` with a setting and a seed, and return its session.

    Raises:
        InputError: if it returns anything but an untrained session.
    """
    made: object = make(**setting, seed=seed)
    session = made if isinstance(made, Session) else getattr(made, "session", made)
    if not isinstance(session, Session):
        name = getattr(make, "__name__", "the function")
        raise InputError(f"{name} returned {shorten(made)}: a sweep needs a Session or a Show")
    require(
        session.clock.place <= (0, 0),
        f"the session is at step {session.step_index}: return it untrained, the sweep trains it",
    )
    return session


# Ranking of networks and settings.


@final
@dataclass(frozen=True)
class Ranking:
    """The quantity by which networks are ranked.

    Attributes:
        name: "loss" or the name of a metric, prefixed with HELD_OUT for held-out samples
        rises: whether larger is better
    """

    name: str = LOSS
    rises: bool = False


Measured = Mapping[str, MetricRow | None]  # metrics measured at checks; None: the loss


def ranking_of(
    goal: object, rows: Mapping[str, MetricRow], held_out: bool
) -> tuple[Ranking, Measured]:
    """Return the Ranking of a sweep, and all metrics to measure, including the ranked one.

    Args:
        goal: name of the quantity to rank by; None means the loss, on held-out samples if present
        rows: the requested metrics by name; the goal can also be any other row of `METRICS`
        held_out: whether the data has held-out samples

    Raises:
        UnknownNameError: for an unknown name.
        InputError: if the goal needs held-out samples that the data does not have.
    """
    found: dict[str, MetricRow | None] = {**rows}
    if held_out:
        found |= {HELD_OUT + LOSS: None, **{HELD_OUT + name: row for name, row in rows.items()}}
    name = HELD_OUT * held_out + LOSS if goal is None else goal
    known = {LOSS: MetricRow(LOSS, min), **METRICS, **rows}
    names = {prefix + each: row for prefix in ("", HELD_OUT) for each, row in known.items()}
    row = pick(names, name, "goal of a sweep")
    ranking = Ranking(str(name), row.rises)
    require(
        not ranking.name.startswith(HELD_OUT) or held_out,
        f"goal={goal!r} needs held-out samples, which this data does not have: write "
        "sv.data.Arrays(inputs, targets, share=0.8), for example",
    )
    return ranking, found if row.name == LOSS else {ranking.name: row} | found


def bound_of(success: object) -> float | None:
    """Return the bound on the loss below which a network succeeds; raise InputError if invalid."""
    if success is None:
        return None
    return number(success, "success, a bound on the loss,", 0.0, open_low=True)
