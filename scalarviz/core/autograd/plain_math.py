"""Functions of `math` that are called with a Value: they give plain numbers, without a gradient."""

from __future__ import annotations

import dis
import math
from functools import cache
from types import CodeType, FrameType

from scalarviz.base.messages import caution
from scalarviz.core.formulas.arithmetic import OPERATIONS


def check_call(frame: FrameType) -> None:
    """Warn if a frame, which converts a Value into a float, calls a function of math for that.

    Such a function is a method of Values, too; `float(v)` says what is meant.
    """
    names = names_called(frame.f_code, frame.f_lasti)
    if names and names[-1] in OPERATIONS:
        name, root = names[-1], {**frame.f_globals, **frame.f_locals}.get(names[0])
        if root is math or root is getattr(math, name, math):
            caution(
                f"math.{name} of a Value gives a plain number, through which no gradient passes: "
                f"write v.{name}(), or math.{name}(v.data) for the number alone"
            )


@cache
def names_called(code: CodeType, place: int) -> tuple[str, ...]:
    """Return the names before the brackets of the call at a `place`, such as ("math", "exp")."""
    steps = [each for each in dis.get_instructions(code) if each.positions]
    at = next((each.positions for each in steps if each.offset == place), None)
    starts = [each for each in steps if at and each.positions and each.positions[::2] == at[::2]]
    names = [each for each in starts if each.opname.startswith("LOAD_") and each.positions != at]
    return tuple([str(each.argval) for each in names])
