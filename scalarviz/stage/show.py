"""Show: a session and how to present it; what a scene returns."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import final

from scalarviz.checks import number, shorten, size
from scalarviz.errors import InputError
from scalarviz.foreign import visible
from scalarviz.session import Session

STEPS = 2000
LONGEST_TITLE = 200


def whole_numbers(text: str, what: str) -> list[int]:
    """The numbers in a text such as "8,4", as scenes take the sizes of layers."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"{what} takes whole numbers, such as 8,4, not {text!r}") from None


@final
@dataclass(frozen=True)
class Show:
    """A session, and what is said and done around it; what is drawn follows from its data.

    title  one line above the picture
    about  a sentence below it
    hint   what to try next, told at the end
    speed  steps a second at first, so that one sees it learn, then ever faster; None: flat out
    frame  steps between two pictures, if it is always the same number
    steps  how many are taken if nobody says another number
    """

    session: Session
    title: str = ""
    hint: str = ""
    about: str = "Each cube is one weight."
    speed: float | None = None
    frame: int | None = None
    steps: int = STEPS

    def __post_init__(self) -> None:
        if not isinstance(self.session, Session):
            raise InputError(
                f"a show is of a session, not of {shorten(self.session)}: "
                "write Show(sv.Session(network, data))"
            )
        if self.speed is not None:
            number(self.speed, "the speed of a show", 0.0, open_low=True)
        if self.frame is not None:
            size(self.frame, "the steps a frame of a show")
        size(self.steps, "the steps of a show")
        object.__setattr__(self, "title", visible(self.title, LONGEST_TITLE))

    @staticmethod
    def of(shown: object, about: object = None) -> Show:
        """A show from a session; `about` has the docstring that a title is taken from.

        Without one it is called by its network.
        """
        if isinstance(shown, Session):
            shown = Show(shown)
        if not isinstance(shown, Show):
            raise InputError(
                f"what can be seen is a Session or a Show, not {shorten(shown)}: "
                "write sv.Session(network, data)"
            )
        if shown.title:
            return shown
        text = (inspect.getdoc(about) if about is not None else "") or ""
        fallback = repr(shown.session.network).partition(":")[0]
        return replace(shown, title=text.partition("\n")[0].rstrip(".") or fallback)
