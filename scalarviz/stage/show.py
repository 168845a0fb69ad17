"""Show and Several: a session, or several side by side, and how they are presented."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, final

import numpy as np

from scalarviz.base.checks import answers, number, require, shorten, size
from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.core.layers.normalization import Affine
from scalarviz.core.trace_program import formula_words
from scalarviz.core.value import Value
from scalarviz.core.weight import Part
from scalarviz.errors import InputError
from scalarviz.story.formats import pretty
from scalarviz.training.follow.followed import Followed
from scalarviz.training.follow.followed_session import RecordedRun
from scalarviz.training.follow.following import Following
from scalarviz.training.network.model import Model
from scalarviz.training.session.branches import Branch
from scalarviz.training.session.reading import TrainingState
from scalarviz.training.session.replicas import Replicas
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now
from scalarviz.training.session.value_session import session_of

# What to write for things that are no session, by their class.
A_SESSION = "write sv.Session(network, data)"
INSTEAD = (
    (Model, A_SESSION),
    (Replicas, "write sv.sweep(make, {}, seeds), which shows its networks"),
    (Part, "show the session that trains it, and pass pin="),
    (object, A_SESSION),
)

STEPS = 2000
LONGEST_TITLE = 200
LONGEST_FORMULA = 60  # letters of one that is a title


MOST_STEPS = 2**24  # that a record may grow by while it is shown
LARGEST = 2**16  # sizes that scenes accept


def whole_number(value: object, what: str, low: int = 1, high: int = LARGEST) -> int:
    """Return an integer option of a scene; raise InputError if it is out of range.

    Args:
        value: the option
        what: its name, for the error
        low: lowest valid value; 1 by default
        high: highest valid value; 65,536 by default
    """
    found = int(value) if isinstance(value, (int, np.integer)) else None
    if found is None or isinstance(value, bool) or not low <= found <= high:
        given = shorten(value)
        raise InputError(f"{what} must be a whole number from {low:,} to {high:,}, not {given}")
    return found


def whole_numbers(text: str, what: str, least: int = 1) -> list[int]:
    """Return the integers in a text such as "8,4", for the sizes of layers.

    Args:
        text: numbers separated by commas
        what: the name of the option, for the error
        least: how many numbers are required; 1 by default

    Raises:
        InputError: for anything else.
    """
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
        least = 1
    require(len(found) >= least, f"{what} takes whole numbers, such as 8,4, not {shorten(text)}")
    for count in found:
        require(
            1 <= count <= LARGEST,
            f"{what} takes whole numbers from 1 to {LARGEST:,}, such as 8,4, not {shorten(count)}",
        )
    return found


def trained_by(shown: Any) -> Any:
    """Return the session of an estimator, as `sv.sklearn` has them; anything else as it is.

    It can be the last part of a pipeline of scikit-learn, the best one of a search, or the one
    within a TransformedTargetRegressor, and these in each other. Of a training that is followed, or
    its record, it is the session that goes through its kept moments.
    """
    if isinstance(shown, Following):
        shown = shown.followed
    if isinstance(shown, Followed):
        return shown.session
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

    Attributes:
        session: a Session
        title: one line above the picture; by default the first line of the scene's docstring, or
            the network's description
        task: what is to be learned, in one sentence below the title; by default nothing
        hint: what to try next, shown at the end; by default nothing
        about: a sentence at the start; by default "Each cube is one weight."
        speed: steps a second; None, the default: as fast as possible
        steps: steps of a training unless another number is given; by default 2000
        film: whether a window that opens on it at step 0 plays `film` of `Session.play` by itself,
            until the user does something; without animations it then waits. By default False

    Raises:
        InputError: if `session` is no Session or a number is out of range.
    """

    session: Session
    title: str = ""
    hint: str = ""
    about: str = field(default_factory=lambda: text("captions.start"))
    speed: float | None = None
    steps: int = STEPS
    film: bool = False
    task: str = ""

    def __post_init__(self) -> None:
        require(
            isinstance(self.session, Session),
            f"a Show takes a Session, not {shorten(self.session)}: "
            "write Show(sv.Session(network, data))",
        )
        if self.speed is not None:
            number(self.speed, "the speed of a show", 0.0, open_low=True)
        size(self.steps, "the steps of a show")
        for name in ("title", "hint", "about", "task"):
            words: object = getattr(self, name)
            require(
                isinstance(words, str), f"the {name} of a show is a string, not {shorten(words)}"
            )
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
            end = shown.current_branch.end.step + MOST_STEPS
            steps = STEPS if shown.trainer.recorded is None else end
            shown = Show(shown, speed=speed_of(shown), steps=steps)
        if isinstance(shown, Value):
            session = session_of(shown)
            trace = session.network.program.trace
            title = pretty(formula_words(trace, trace.outputs[0], LONGEST_FORMULA))
            if "…" in title:
                title = text("captions.graph", count=len(trace.operations))
            is_folded = len(session.network.program.operations) != len(trace.operations)
            about = text("captions.start.folded") if is_folded else text("captions.start.graph")
            shown = Show(session, title, about=about)
        require(
            not isinstance(shown, (list, tuple, dict)),
            "only sv.watch, sv.picture and sv.record show several sessions side by side, and "
            f"this is a {type(shown).__name__}: pass one of them",
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


REPLAY = 20.0  # seconds that a record plays
SLOWEST, FASTEST = 2.0, 30.0  # kept moments a second


def speed_of(session: Session) -> float | None:
    """Return how many kept moments of a record are shown in a second; None of other sessions."""
    run = session.trainer.run
    if not isinstance(run, RecordedRun):
        return None
    record = run.followed.record
    speed = len(record.steps) / REPLAY if record.is_done else FASTEST
    return min(max(speed, SLOWEST), FASTEST)


# Several sessions side by side, and their names.

MOST_SESSIONS = 6  # sessions


@final
@dataclass(frozen=True)
class Several:
    """The sessions that are shown side by side, with a name for each; see `of`.

    Attributes:
        replays: whether a video is of what they have done: each ends with its branch
    """

    shows: tuple[Show, ...]
    names: tuple[str, ...]
    replays: bool = False

    @property
    def sessions(self) -> list[Session]:
        return [show.session for show in self.shows]

    @property
    def steps(self) -> int:
        """Steps of a training unless another number is given."""
        return max(show.steps for show in self.shows)

    @property
    def speed(self) -> float | None:
        """Steps a second at first: the least of those that the shows ask for."""
        return min((show.speed for show in self.shows if show.speed is not None), default=None)

    @property
    def title(self) -> str:
        """All names."""
        return " | ".join(self.names)

    @staticmethod
    def of(given: Several | Sequence[object] | Mapping[str, object]) -> Several:
        """Return the sessions of a list, or of a dict by their names.

        Several are returned as they are. Raise InputError if they are not 1 to 6 different Sessions
        or Shows.
        """
        if isinstance(given, Several):
            return given
        names = list(given) if isinstance(given, Mapping) else []
        listed = given.values() if isinstance(given, Mapping) else given
        parts = [trained_by(part) for part in listed]
        require(
            parts,
            f"side by side are 1 to {MOST_SESSIONS} sessions, not 0: write [s1, s2]",
        )
        require(
            len(parts) <= MOST_SESSIONS,
            f"side by side are 1 to {MOST_SESSIONS} sessions, not {len(parts)}: leave out some",
        )
        for name in names:
            require(
                isinstance(name, str) and name.strip(),
                f"the name of a session is a string, not {shorten(name)}: write "
                '{"small": s1, "large": s2}',
            )
        for place, part in enumerate(parts, 1):
            require(
                not isinstance(part, Branch),
                f"side by side are Sessions or Shows, and number {place} is a branch of one: "
                "s.copy(branch) makes a session of it",
            )
            require(
                isinstance(part, (Session, Show)),
                f"side by side are Sessions or Shows, and number {place} is "
                f"{shorten(part)}: write [s1, s2]",
            )
        check_different([part.session if isinstance(part, Show) else part for part in parts])
        found = names or names_of(parts)
        named = [
            replace(show, title=visible(name, LONGEST_TITLE))
            for show, name in zip([Show.of(part) for part in parts], found, strict=True)
        ]
        return Several(tuple(named), tuple(show.title for show in named))


def check_different(sessions: Sequence[Session]) -> None:
    """Raise InputError if two of the sessions are one, or train one network."""
    for (i, first), (j, second) in combinations(enumerate(sessions, 1), 2):
        require(
            first is not second,
            f"side by side are different sessions, and numbers {i} and {j} are the same: s.copy() "
            "makes an independent one",
        )
        require(
            first.network.bank is not second.network.bank,
            f"numbers {i} and {j} train the same network: give each session a separate network, "
            "such as net.copy()",
        )


def names_of(parts: Sequence[Session | Show]) -> list[str]:
    """Return different names: titles of Shows, else sizes of networks, with what else differs."""
    sessions = [part.session if isinstance(part, Show) else part for part in parts]
    names = [
        (part.title if isinstance(part, Show) else "")
        or sizes_of(session)
        or repr(session.network).partition(":")[0]
        for part, session in zip(parts, sessions, strict=True)
    ]
    found = list(names)
    for name in dict.fromkeys(names):
        same = [i for i, each in enumerate(names) if each == name]
        if len(same) > 1:
            for i, more in zip(same, differences([sessions[i] for i in same]), strict=True):
                found[i] = f"{name}, {more}"
    return found


def sizes_of(session: Session | TrainingState) -> str:
    """Return the sizes of a network as titles name them, such as "3-8-3"; "" without layers."""
    layers = session.network.layers
    if not layers:
        return ""
    return "-".join(map(str, [layers[0].inputs, *(layer.outputs for layer in layers)]))


def optimizer_of(session: Session) -> str:
    optimizer = settings_now(session).optimizer
    return f"{type(optimizer).__name__} {optimizer.lr:g}"


# What tells sessions on networks of the same sizes apart, the most telling first.
FEATURES: Sequence[Callable[[Session], str]] = (
    lambda session: text("where.branch", number=session.current_branch.number),
    lambda session: " ".join(dict.fromkeys(session.network.activations)),
    optimizer_of,
    lambda session: str(session.trainer.loss.name),
    lambda session: str(session.data.name),
    lambda session: text("compared.batch", count=session.trainer.batches.size),
    lambda session: text("compared.seed", seed=session.trainer.seed),
    lambda session: session.engine,
)


def differences(sessions: Sequence[Session]) -> list[str]:
    """Return a different text for each session: in what they differ, with numbers if need be."""
    known: list[list[str]] = []
    joined = [""] * len(sessions)
    for feature in FEATURES:
        found = [feature(session) for session in sessions]
        if len(set(found)) == 1:
            continue
        known.append(found)
        if len(set(found)) == len(sessions):
            return found
        joined = [", ".join(parts) for parts in zip(*known, strict=True)]
        if len(set(joined)) == len(sessions):
            return joined
    numbers = [joined[: i + 1].count(each) for i, each in enumerate(joined)]
    if not known:
        return [str(number) for number in numbers]
    return [
        f"{each} ({number})" if number > 1 else each
        for each, number in zip(joined, numbers, strict=True)
    ]


def alike(first: Session | TrainingState, second: Session | TrainingState) -> bool:
    """Return whether two sessions train networks of one shape, whose weights can be compared."""
    shapes = [
        [(each.kind, each.shape, each.parameters) for each in session.network.program.operations]
        for session in (first, second)
    ]
    return shapes[0] == shapes[1] and len(first.network.bank) == len(second.network.bank)
