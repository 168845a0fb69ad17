"""Names of parameters, chosen by name, by a beginning of names, or by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from scalarviz.base.checks.numbers import shorten
from scalarviz.errors import InputError, UnknownNameError

SEPARATORS = "./_:"  # may follow the given beginning of a name


def matching(names: Sequence[str], patterns: object, what: str) -> set[str]:
    """Return the names that match any pattern; raise an error for a pattern without matches."""
    if isinstance(patterns, str) or not isinstance(patterns, Sequence):
        raise InputError(
            f"{what} is a list of names, not {shorten(patterns)}: pass one such as {[*names[:1]]}"
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
