"""Show: a session and how it is presented, as scenes return it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from scalarviz.base.checks import answers, number, shorten, size
from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.core.layers.normalization import Affine
from scalarviz.core.trace_program import formula_words
from scalarviz.core.value import Value
from scalarviz.core.weight import Part
from scalarviz.errors import InputError
from scalarviz.pictures.presenter.captions.format import pretty
from scalarviz.training.network.model import Model
from scalarviz.training.session.replicas import Replicas
from scalarviz.training.session.session import Session
from scalarviz.training.session.value_session import session_of

# What to write for things that are no session, by their class.
A_SESSION = "write sv.Session(network, data)"
INSTEAD = (
    (Model, A_SESSION),
    (Replicas, "write sv.sweep(make, {}, seeds), whose networks are shown"),
    (Part, "show the session that trains it, and it with pin="),
    (object, A_SESSION),
)

STEPS = 2000
LONGEST_TITLE = 200
LONGEST_FORMULA = 60  # letters of one that is a title


LARGEST = 2**16  # sizes that scenes accept


def whole_number(value: object, what: str, low: int = 1, high: int = LARGEST) -> int:
    """Return an integer option of a scene; raise InputError if it is out of range.

    value  the option
    what   its name, for the error
    low    lowest valid value; 1 by default
    high   highest valid value; 65,536 by default
    """
    found = int(value) if isinstance(value, (int, np.integer)) else None
    if found is None or isinstance(value, bool) or not low <= found <= high:
        given = shorten(value)
        raise InputError(f"{what} must be a whole number from {low:,} to {high:,}, not {given}")
    return found


def whole_numbers(text: str, what: str, least: int = 1) -> list[int]:
    """Return the integers in a text such as "8,4", for the sizes of layers.

    text   numbers separated by commas
    what   the name of the option, for the error
    least  how many numbers are required; 1 by default

    Raises InputError for anything else.
    """
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
        least = 1
    if len(found) < least:
        raise InputError(f"{what} takes whole numbers, such as 8,4, not {shorten(text)}")
    for count in found:
        if not 1 <= count <= LARGEST:
            raise InputError(
                f"{what} takes whole numbers from 1 to {LARGEST:,}, such as 8,4, not "
                f"{shorten(count)}"
            )
    return found


def trained_by(shown: Any) -> Any:
    """Return the session of an estimator, as `sv.sklearn` has them; anything else as it is.

    It can be the last part of a pipeline of scikit-learn, the best one of a search, or the one
    within a TransformedTargetRegressor, and these in each other.
    """
    while hasattr(type(shown), "get_params"):
        inner = getattr(shown, "best_estimator_", getattr(shown, "regressor_", shown))
        inner = inner[-1] if hasattr(inner, "named_steps") else inner
        if inner is shown:
            break
        shown = inner
    return shown.session_ if hasattr(type(shown), "session_") else shown


@final
@answers
@dataclass(frozen=True)
class Show:
    """A session, with texts and speed for its presentation.

    session  a Session
    title    one line above the picture; by default the first line of the scene's docstring, or the
             network's description
    hint     what to try next, shown at the end; by default nothing
    about    a sentence below the title; by default "Each cube is one weight."
    speed    steps a second; None, the default: as fast as possible
    steps    steps of a training unless another number is given; by default 2000

    Raises InputError if `session` is no Session or a number is out of range.
    """

    session: Session
    title: str = ""
    hint: str = ""
    about: str = field(default_factory=lambda: text("captions.start"))
    speed: float | None = None
    steps: int = STEPS

    def __post_init__(self) -> None:
        if not isinstance(self.session, Session):
            raise InputError(
                f"a Show takes a Session, not {shorten(self.session)}: "
                "write Show(sv.Session(network, data))"
            )
        if self.speed is not None:
            number(self.speed, "the speed of a show", 0.0, open_low=True)
        size(self.steps, "the steps of a show")
        for name in ("title", "hint", "about"):
            words: object = getattr(self, name)
            if not isinstance(words, str):
                raise InputError(f"the {name} of a show is a text, not {shorten(words)}")
        object.__setattr__(self, "title", visible(self.title, LONGEST_TITLE))
        if self.title:
            self.session.timeline.title = self.title  # which is saved with it

    @staticmethod
    def of(shown: object, about: object = None) -> Show:
        """Return a Show of a Session or a fitted estimator, or `shown` itself if it is a Show.

        A missing title is that with which the session was saved; else it is taken from the
        docstring of `about`, or from the network. Raises InputError for anything else.
        """
        shown = trained_by(shown)
        if isinstance(shown, Session):
            shown = Show(shown)
        if isinstance(shown, Value):
            session = session_of(shown)
            trace = session.network.program.trace
            title = pretty(formula_words(trace, trace.outputs[0], LONGEST_FORMULA))
            if "…" in title:
                title = text("captions.graph", count=len(trace.operations))
            is_folded = len(session.network.program.operations) != len(trace.operations)
            about = text("captions.start.folded") if is_folded else text("captions.start.graph")
            shown = Show(session, title, about=about)
        if isinstance(shown, (list, tuple, dict)):
            raise InputError(
                f"several sessions are shown side by side by sv.watch, sv.picture and sv.record "
                f"alone, and here is a {type(shown).__name__}: pass one of them"
            )
        if not isinstance(shown, Show):
            remedy = next(words for kind, words in INSTEAD if isinstance(shown, kind))
            raise InputError(
                f"a Session, a Show or a Value can be shown, not {shorten(shown)}: {remedy}"
            )
        if shown.title:
            return shown
        doc = (inspect.getdoc(about) if about is not None else "") or ""
        first, *sizes = repr(shown.session.network).partition(":")[0].split(" -> ")
        affine = [each for each in shown.session.network.layers[:1] if isinstance(each, Affine)]
        fallback = " -> ".join([first, *sizes[len(affine) :]])  # those that were asked for
        title = shown.session.timeline.title or doc.partition("\n")[0].rstrip(".") or fallback
        return replace(shown, title=title)
