"""Frozen functions: those of a user, with what they know from outside as it is now.

A notebook's cell may give a constant another value later. The value of a loss would follow it, and
a derivative that was recorded before would not; a file would name what was registered, and not what
trained.
"""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from scalarviz.engines.own.checks import library


def frozen(function: Any, made: dict[int, Any] | None = None) -> Any:
    """Return a copy of a function of the user, and of all that it calls, with its values of now.

    function  the function; anything else is returned as it is
    made      copies so far, by the identity of their functions; None: none
    """
    made = {} if made is None else made
    if not isinstance(function, FunctionType) or library(function):
        return function
    if id(function) in made:
        return made[id(function)]
    code = function.__code__
    known: dict[str, Any] = dict(function.__globals__)
    cells = tuple(CellType() for _ in code.co_freevars)
    copy = FunctionType(code, known, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    made[id(function)] = copy
    for name in code.co_names:
        if name in known:
            known[name] = frozen(known[name], made)
    for mine, cell in zip(cells, function.__closure__ or (), strict=True):
        try:
            mine.cell_contents = frozen(cell.cell_contents, made)
        except ValueError:  # not yet assigned
            continue
    return copy
