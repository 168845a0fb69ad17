"""make: objects made again from settings, which may come from a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from scalarviz.core.formulas.table import pick
from scalarviz.errors import InputError, UnknownNameError

MadeT = TypeVar("MadeT")

BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make(kind: Callable[..., MadeT], settings: Mapping[str, Any], what: str, **given: Any) -> MadeT:
    """Return `kind(**settings, **given)`; raise an error for names that `kind` does not take.

    `what` names the object in errors: "layer Dense". Values are checked by `kind`.
    """
    check_names(kind, settings, what, *given)
    return kind(**settings, **given)


@cache
def parameters_of(kind: Callable[..., object]) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the keyword parameters of a function, and whether it has **kwargs."""
    parameters = inspect.signature(kind).parameters.values()
    known = {row.name: row for row in parameters if row.kind in BY_KEYWORD}
    return known, any(row.kind == row.VAR_KEYWORD for row in parameters)


def given(**settings: float | None) -> dict[str, float]:
    """Return the settings that are not None."""
    return {key: value for key, value in settings.items() if value is not None}


def check_names(
    kind: Callable[..., object], settings: Mapping[str, Any], what: str, *given: str
) -> None:
    """Raise an error for settings that a function does not take, or that are missing."""
    known, takes_more = parameters_of(kind)
    for key in settings:
        if key in given or not isinstance(key, str):
            others = [name for name in known if name not in given]
            raise UnknownNameError(f"setting of the {what}:", key, others)
        if not takes_more:
            pick(known, key, f"setting of the {what}:")
    missing = [
        name
        for name, row in known.items()
        if row.default is row.empty and name not in settings and name not in given
    ]
    if missing:
        raise InputError(f"the {what} cannot be made again: its setting {missing[0]!r} is missing")
