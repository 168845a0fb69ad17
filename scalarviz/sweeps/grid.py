"""The settings of a sweep, from a grid of values or a list of settings."""

from __future__ import annotations

import inspect
import itertools
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.training.session.session import Session

MOST_SETTINGS = 100_000
MOST_RUNS = 10_000_000
SEED = "seed"  # the argument of `make` that a sweep sets by itself

Setting = dict[str, Any]


Make = Callable[..., Any]  # returns a Session, or what has one as `session`, such as a Show


def settings_of(make: Make, grid: object) -> list[Setting]:
    """Return the settings of a grid: arguments of `make` by name.

    grid  a mapping from names to lists of values, of which every combination is a setting, the last
          name changing fastest; or a list of settings, each a mapping from names to values

    Raises InputError for grids that are none, UnknownNameError for names that `make` does not take.
    """
    found = [dict(setting) for setting in rows_of(grid)]
    if not found:
        raise InputError(f"the grid {shorten(grid)} has no setting: give each name some values")
    if len(found) > MOST_SETTINGS:
        raise InputError(f"a sweep has at most {MOST_SETTINGS:,} settings: make several sweeps")
    check_names(make, list(dict.fromkeys(name for setting in found for name in setting)))
    names = set(found[0])
    for setting in found:
        if set(setting) != names:
            raise InputError(
                f"all settings of a sweep have the same names, and {shorten(setting)} has others "
                f"than {shorten(found[0])}: give each setting every name"
            )
    return found


def rows_of(grid: object) -> list[Mapping[str, Any]]:
    """Return the settings of a grid, with unchecked names."""
    if isinstance(grid, Mapping):
        lists = {name: values_of(name, values) for name, values in grid.items()}
        combined = itertools.product(*lists.values())
        rows = islice(combined, MOST_SETTINGS + 1)
        return [dict(zip(lists, values, strict=True)) for values in rows]
    if isinstance(grid, Sequence) and not isinstance(grid, str):
        for row in grid:
            if not isinstance(row, Mapping):
                break
        else:
            return list(grid)
    raise InputError(
        "a grid is a mapping from names to lists of values, such as {'hidden': [2, 4, 8]}, or a "
        f"list of settings, not {shorten(grid)}"
    )


def values_of(name: object, values: object) -> list[Any]:
    """Return the values of a name of the grid, each once."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
        raise InputError(
            f"the values of {shorten(name)} are a list, such as [0.1, 1.0], not {shorten(values)}"
        )
    found = list(islice(values, MOST_SETTINGS + 1))
    if not found:
        raise InputError(f"{shorten(name)} has no values: leave it out, or give it some")
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
    """Return what is equal for equal values: of NaN, arrays and lists a text."""
    try:
        if isinstance(value, (float, np.ndarray, list, dict)):
            return pickle.dumps(value)
        hash(value)
    except Exception:  # of any class: objects define how they are pickled and hashed
        return id(value)
    return value


def check_names(make: Make, names: Sequence[object]) -> None:
    """Raise InputError if `make` does not take a seed and these arguments by name."""
    if not callable(make):
        raise InputError(
            f"a sweep calls a function that returns a Session, not {shorten(make)}: write "
            "def make(hidden=8, lr=0.5, seed=0): ..."
        )
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"the names of a grid are those of arguments, not {shorten(name)}")
    if SEED in names:
        raise InputError("a sweep sets the seed by itself: pass seeds=range(100), say")
    try:
        takes = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # without a signature: its call tells
        return
    if any(each.kind == each.VAR_KEYWORD for each in takes):
        return
    known = [
        each.name for each in takes if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    if SEED not in known:
        raise InputError(
            f"{getattr(make, '__name__', 'the function')} takes no seed, by which the runs of a "
            "setting differ: write def make(..., seed=0) and pass it to Network and Session"
        )
    for name in names:
        if name not in known:
            raise UnknownNameError(
                f"argument of {make.__name__}", name, [n for n in known if n != SEED]
            )


def seeds_of(seeds: object, settings: int = 1) -> list[int]:
    """Return the seeds as a list; raise InputError for unsuitable, repeated or too many ones.

    settings  number of settings that have these seeds
    """
    if not isinstance(seeds, Iterable):
        raise InputError(f"seeds are several numbers, such as range(100), not {shorten(seeds)}")
    most = MOST_RUNS // max(settings, 1)
    some = list(islice(seeds, most + 1))
    if len(some) > most:
        raise InputError(
            f"a sweep has at most {MOST_RUNS:,} networks, and {settings:,} settings of "
            f"{shorten(seeds)} are more: make several sweeps"
        )
    found = [check_seed(seed) for seed in some]
    if not found:
        raise InputError("a sweep needs at least one seed: write seeds=range(100)")
    if len(set(found)) < len(found):
        raise InputError(f"the seeds {shorten(found)} have one twice: two runs would be the same")
    return found


def session_of(make: Make, setting: Setting, seed: int) -> Session:
    """Return the session that `make` returns for a setting and a seed.

    Raises InputError if it returns something else, or a session that has been trained.
    """
    made: object = make(**setting, seed=seed)
    session = made if isinstance(made, Session) else getattr(made, "session", made)
    if not isinstance(session, Session):
        name = getattr(make, "__name__", "the function")
        raise InputError(f"{name} returned {shorten(made)}: a sweep needs a Session or a Show")
    if session.step_index or session.done:
        raise InputError(
            f"the session that was made stands at step {session.step_index}: return it untrained, "
            "a sweep does the training"
        )
    return session
