"""Things that are made again from settings, which may come from anywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.formulas.table import pick

MadeT = TypeVar("MadeT")

BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make(kind: Callable[..., MadeT], settings: Mapping[str, Any], what: str, **given: Any) -> MadeT:
    """What `kind` makes of settings and of what is `given`; names that it does not take are errors.

    `what` says what is made: "layer Dense". What the values are is checked by `kind`.
    """
    check_names(kind, settings, what, *given)
    return kind(**settings, **given)


@cache
def parameters_of(kind: Callable[..., object]) -> tuple[dict[str, inspect.Parameter], bool]:
    """What a function takes by keyword, and whether it takes any others too."""
    parameters = inspect.signature(kind).parameters.values()
    known = {row.name: row for row in parameters if row.kind in BY_KEYWORD}
    return known, any(row.kind == row.VAR_KEYWORD for row in parameters)


def given(**settings: float | None) -> dict[str, float]:
    """The settings that are not None."""
    return {key: value for key, value in settings.items() if value is not None}


def check_names(
    kind: Callable[..., object], settings: Mapping[str, Any], what: str, *given: str
) -> None:
    """Refuse settings that a function does not take by keyword, or does not take twice."""
    known, takes_more = parameters_of(kind)
    for key in settings:
        if key in given or not isinstance(key, str):
            raise UnknownNameError(f"setting of the {what}:", key, {*known} - {*given})
        if not takes_more:
            pick(known, key, f"setting of the {what}:")
    missing = [
        name
        for name, row in known.items()
        if row.default is row.empty and name not in settings and name not in given
    ]
    if missing:
        raise InputError(f"the {what} cannot be made again: its {missing[0]} is missing")
