"""The engines, and how one is chosen. To add one, write its file and a row of `ENGINES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scalarviz.bank import Bank
from scalarviz.engines.python import PythonEngine
from scalarviz.errors import UnknownNameError
from scalarviz.formulas.table import pick, table
from scalarviz.layers import Layer


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine that `net.to(name)` can ask for, and one line about it."""

    name: str
    make: Callable[[Sequence[Layer], Bank], PythonEngine]
    about: str


# The best engine that works comes first: "auto" takes it.
ENGINES = table([EngineRow("python", PythonEngine, "the objects themselves, one number at a time")])
AUTO = "auto"


def choose(name: str) -> EngineRow:
    """The engine of that name; "auto" is the first of the table."""
    if name == AUTO:
        return next(iter(ENGINES.values()))
    if name not in ENGINES:
        raise UnknownNameError("engine", name, [*ENGINES, AUTO])
    return pick(ENGINES, name, "engine")
