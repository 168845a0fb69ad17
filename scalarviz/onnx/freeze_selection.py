"""Selects the parameters to freeze, by their names in a file."""

from __future__ import annotations

from collections.abc import Sequence, Set
from fnmatch import fnmatchcase

from scalarviz.checks.numbers import shorten
from scalarviz.errors import InputError, UnknownNameError

Frozen = Set[str]

SEPARATORS = "./_:"  # may follow the given beginning of a name


def choose_frozen(
    names: Sequence[str], train: Sequence[str] | None, freeze: Sequence[str] | None
) -> Frozen:
    """Return the names of the frozen parameters; see `scalarviz.onnx.load`.

    Raise InputError if `train` and `freeze` contradict each other.
    """
    learning = None if train is None else matching(names, train, "train")
    kept = None if freeze is None else matching(names, freeze, "freeze")
    if learning is None:
        return kept or frozenset()
    if kept is None:
        return frozenset(names) - learning
    both, none = learning & kept, frozenset(names) - learning - kept
    if both or none:
        which = "both train and freeze name" if both else "neither train nor freeze names"
        one = min(both or none)
        raise InputError(
            f"{which} {shorten(one)}: give one of them, or name each parameter in one of them"
        )
    return kept


def matching(names: Sequence[str], patterns: object, what: str) -> Frozen:
    """Return the names that match any pattern; raise an error for a pattern without matches."""
    if isinstance(patterns, str) or not isinstance(patterns, Sequence):
        raise InputError(
            f"{what} is a list of names, not {shorten(patterns)}: write {what}=['fc2']"
        )
    found: set[str] = set()
    for pattern in patterns:
        meant = {name for name in names if means(pattern, name)}
        if not meant:
            raise UnknownNameError("parameter", pattern, dict.fromkeys(names))
        found |= meant
    return found


def means(pattern: object, name: str) -> bool:
    """Return whether a name, a beginning of one, or a pattern with * and ? matches a name."""
    if not isinstance(pattern, str) or not pattern:
        return False
    if name == pattern or fnmatchcase(name, pattern):
        return True
    rest = name.removeprefix(pattern)
    return rest != name and (rest[0] in SEPARATORS or pattern[-1] in SEPARATORS)
