"""Every error that scalarviz raises, in one tree.

    ScalarvizError
    ├── InputError             an argument cannot be used (also a ValueError)
    │   ├── ShapeError             wrong length, or wrong number of rows or columns
    │   ├── NotFiniteError         NaN or infinity in the data
    │   ├── UnknownNameError       unknown name; lists the valid names and the nearest one
    │   │   ├── UnknownAttributeError  no such attribute (also an AttributeError)
    │   │   ├── UnknownArrayError      no such array of a record (also a KeyError)
    │   │   └── UnknownSlotError       no such optimizer slot (also a KeyError)
    │   └── ReadOnlyError          an attribute that cannot be set (also an AttributeError)
    ├── OrderError             calls in the wrong order, such as backward before forward
    ├── OwnershipError         a weight or layer that belongs to another network
    ├── EngineError            an engine that is not available; names what is missing
    ├── DisplayError           a picture cannot be shown: no OpenGL, or no screen
    ├── SceneError             the code of a scene fails; names its file and line
    ├── FileError              a file that cannot be read, trusted or written (also a ValueError)
    ├── GradientError          a gradient became NaN or infinite; names the weight
    │   └── UpdateError            a step would make a weight, slot or statistic infinite
    └── GradientMismatchError  a derivative and its finite differences disagree

A message is one sentence that states the problem, with the value, and the remedy. A failed call
leaves the state unchanged: invalid arguments and bad gradients are rejected before any parameter
changes, and a step that overflows is undone. Names from files are shown by `messages.visible`.

    KeyboardInterrupt
    └── Interrupted            Ctrl-C during `Network.train`; contains the losses so far
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Self

from scalarviz.base.messages import LONGEST_LINE, visible
from scalarviz.base.near_names import meaning

MOST_NAMES = 40  # maximum number of names listed in a message
MOST_SEARCHED = 2000  # maximum number of names searched for the nearest one
LONGEST_SEARCHED = 100  # characters


def __dir__() -> list[str]:
    classes = [each for each in globals().values() if isinstance(each, type)]
    return [each.__name__ for each in classes if issubclass(each, BaseException)]


class ScalarvizError(Exception):
    """Base class of all errors that scalarviz raises deliberately.

    The message has one or more lines; control characters are escaped.
    """

    def __init__(self, *lines: object) -> None:
        super().__init__(*[visible(str(line), LONGEST_LINE) for line in lines])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message itself, since constructors of subclasses take other arguments."""
        return remade, (type(self), self.args, self.__dict__)

    @property
    def lines(self) -> tuple[str, ...]:
        """The message, line by line."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(self.lines)


def remade(
    kind: type[ScalarvizError], lines: tuple[str, ...], about: dict[str, object]
) -> ScalarvizError:
    """Return an error from its pickled state, e.g. from another process."""
    error = kind.__new__(kind, *lines)
    error.__dict__.update(about)
    return error


class InputError(ScalarvizError, ValueError):
    """An argument cannot be used."""


class ShapeError(InputError):
    """An array has a wrong length, or a wrong number of rows or columns."""


class NotFiniteError(InputError):
    """The data contains NaN or infinity."""


def lost_by_forward(statistic: str) -> NotFiniteError:
    """Return the error for a forward outside training that makes a running statistic infinite."""
    return NotFiniteError(
        f"this forward would make {statistic}, so it was undone, and inputs waiting for a "
        "backward were dropped: scale the data down"
    )


class UnknownNameError(InputError):
    """A name is unknown; the message lists the valid names."""

    def __init__(self, kind: str, name: object, valid: Iterable[str]) -> None:
        names = list(valid)
        meant = meaning(kind, name, names[:MOST_SEARCHED])
        how = hint(meant, name, names)
        listed = [visible(each) for each in names[:MOST_NAMES]]
        more = [f"and {len(names) - MOST_NAMES:,} more"] if len(names) > MOST_NAMES else []
        choice = f"choose one of {', '.join(listed + more)}" if names else "none available"
        super().__init__(f"unknown {kind} {reprlib.repr(name)}: {choice}{how and f'; {how}'}")


class UnknownAttributeError(UnknownNameError, AttributeError):
    """An object has no such attribute; `meant` is one of `names`, a remedy, or ""."""

    def __init__(self, kind: str, name: str, names: list[str], meant: str) -> None:
        how = hint(meant, name, names)
        InputError.__init__(
            self, f"{kind} has no attribute {reprlib.repr(name)}{how and f': {how}'}"
        )


class UnknownArrayError(UnknownNameError, KeyError):
    """A record has no array of this name."""


class UnknownSlotError(UnknownNameError, KeyError):
    """A bank has no optimizer slot of this name."""

    def __init__(self, name: object, names: list[str]) -> None:
        super().__init__("slot", name, names)
        if not names:
            self.args = (
                f"unknown slot {reprlib.repr(name)}: slots exist from the first step of an "
                "optimizer with slots on, such as Adam's 'm' and 'v'",
            )


class ReadOnlyError(InputError, AttributeError):
    """An attribute cannot be set."""


def hint(meant: str, name: object, names: list[str]) -> str:
    """Return a question for the nearest of `names`, or the remedy `meant`; else "".

    Args:
        meant: result of `near_names.meaning`
        name: the unknown name
        names: the valid names
    """
    if " " in meant:
        return meant
    nearest = [meant] if meant else nearest_names(name, names)
    return f"did you mean {nearest[0]!r}?" if nearest and nearest[0] in names else ""


def nearest_names(name: object, names: list[str]) -> list[str]:
    """Return names similar to `name`, except very long ones and those beyond MOST_SEARCHED."""
    if not isinstance(name, str) or len(name) > LONGEST_SEARCHED:
        return []
    near = [known for known in names[:MOST_SEARCHED] if len(known) <= LONGEST_SEARCHED]
    found = get_close_matches(name.lower(), near, n=1, cutoff=0.5)
    return found + [known for known in near if name and known.startswith(name.lower())]


class OrderError(ScalarvizError, RuntimeError):
    """Methods were called in the wrong order, such as backward before forward."""


class OwnershipError(ScalarvizError, ValueError):
    """A weight or a layer belongs to another network."""


class EngineError(ScalarvizError, RuntimeError):
    """An engine is not available on this machine or in this process."""


class DisplayError(ScalarvizError, RuntimeError):
    """A picture cannot be drawn, or a window cannot be opened, on this machine."""


class SceneError(ScalarvizError, RuntimeError):
    """The user's code of a scene failed; `frames` are the lines of its traceback."""

    def __init__(self, sentence: str, frames: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.frames = "".join(frames)

    def _render_traceback_(self) -> list[str]:
        """Return the text shown by IPython instead of a traceback."""
        return [f"{type(self).__name__}: {self}", *self.frames.splitlines()]


class FileError(ScalarvizError, ValueError):
    """A file cannot be read, has unexpected content, or cannot be written."""


class GradientError(ScalarvizError, ArithmeticError):
    """A gradient is NaN or infinite; the step was not taken.

    Attributes:
        losses: losses of the earlier steps, if raised by `Network.train`
        back: the step to return to before trying other settings, if raised by a session
    """

    losses: Any = ()
    back: int | None = None

    def with_way_back(self, step: int, why: str) -> Self:
        """Add the session step to return to, and the reason, to the message; return this error."""
        self.back = step
        line = f"Changes made here apply from the next step on: go back first, s.seek({step}){why}"
        self.args = (*self.args, line)
        return self


class UpdateError(GradientError):
    """A step would make a weight, a slot or a running statistic NaN or infinite; it was not taken.

    Args:
        step: index of the step, from 0
        change: the number that would become infinite, and a remedy
    """

    def __init__(self, step: int, change: str) -> None:
        super().__init__(f"step {step:,} would make {change}")
        self.change = change

    def at(self, step: int) -> UpdateError:
        """Return the same error with another step index."""
        return UpdateError(step, self.change)


class Interrupted(KeyboardInterrupt):
    """Raised after Ctrl-C by `Network.train`, which first completed the current step.

    Args:
        losses: losses of the steps taken
        steps: number of requested steps
    """

    def __init__(self, losses: Any, steps: int) -> None:
        super().__init__(losses, steps)
        self.losses, self.steps = losses, steps

    def __str__(self) -> str:
        return (
            f"stopped after {len(self.losses):,} of {self.steps:,} steps; this exception contains "
            "the losses of the steps taken"
        )


class GradientMismatchError(ScalarvizError, AssertionError):
    """A derivative and its finite differences disagree."""
