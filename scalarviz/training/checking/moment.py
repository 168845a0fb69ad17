"""Moment: one number of a learner's code beside the right one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb, format_exception_only
from typing import Any

import numpy as np

from scalarviz.base.checks import cut, number, shorten
from scalarviz.base.messages import escaped
from scalarviz.base.package_files import PACKAGE
from scalarviz.base.texts import text
from scalarviz.core.value import Value
from scalarviz.errors import InputError

LONGEST = 200  # characters of an error that is quoted
DOTS = re.compile(r"\.\.\.(?! *[],])")  # in place of code, and not of an index
# Folders of code that is no learner's: this package, and what Python brings.
OURS = tuple(f"{x}{os.sep}" for x in (PACKAGE, Path(os.__file__).parent))

Mistakes = Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Moment:
    """A number that the code of a learner has given, or the error that it has raised.

    place     where it stands: "w.grad after backward(-4)", or the line of an error
    got       the number; None, or any object, if the code gives none; an error as text;
              `...` where code is still to be written
    expected  the right number; None of an error
    why       how the right number is made, or which mistake gives this one; "" of an error
    graph     our Value at this moment, and the one in its graph that has this number
    """

    place: str
    got: Any
    expected: Any
    why: str = ""
    graph: tuple[Value, Value] | None = None

    def __str__(self) -> str:
        if self.expected is None:
            if self.got is ...:
                return text("check.dots", place=self.place)
            return text("check.raised", place=self.place, error=self.got)
        numbers = {"got": shown(self.got), "expected": shown(self.expected)}
        return text("check.wrong", place=self.place, why=self.why, **numbers)


def compared(
    place: str,
    got: Any,
    expected: Any,
    why: str,
    mistakes: Mistakes = (),
    graph: tuple[Value, Value] | None = None,
    **fields: object,
) -> Moment:
    """Return a Moment that says which mistake gives its number.

    why       key of the text for a number that no mistake gives
    mistakes  the number that each typical mistake gives, with the key of its text
    fields    fields of these texts
    """
    key = next((key for key, result in mistakes if near(got, result)), why)
    told = {name: shown(field) for name, field in fields.items()}
    return Moment(place, got, expected, text(f"check.why.{key}", **told), graph)


def near(got: Any, expected: Any) -> bool:
    """Return whether a learner's number is the expected one, but for rounding."""
    try:
        return bool(np.isclose(number(got, "", finite=False), expected, rtol=1e-5, atol=1e-8))
    except (InputError, TypeError):  # no numbers
        return False


def shown(x: object) -> str:
    """Return a number as text, a text as it is, anything else as its shortened repr."""
    if isinstance(x, (float, np.floating)):
        return f"{x:.6g}"
    if x is ...:
        return "..."  # as it is written
    return x if isinstance(x, str) else shorten(x)


def first_wrong(moments: Iterable[Moment], name: str) -> Moment | None:
    """Return the first moment that is wrong or an error; `name` is that of the learner's code."""
    try:
        return next((each for each in moments if not near(each.got, each.expected)), None)
    except Exception as error:  # code of a learner raises anything
        frames = extract_tb(error.__traceback__)
        theirs = [each for each in frames if not each.filename.startswith(OURS)]
        if isinstance(error, InputError) and not theirs:
            raise
        told = escaped(" ".join("".join(format_exception_only(error)).split()))
        dots = "llipsis" in told  # whose type and value are written differently
        for each in theirs[-1:]:
            name = text("check.line", line=each.lineno, code=escaped(each.line or each.name))
            dots = dots or bool(DOTS.search((each.line or "").partition("#")[0]))
        return Moment(name, ... if dots else cut(told, LONGEST), None)
