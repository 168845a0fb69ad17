"""Show and Several: a session, or several side by side, and their presentation options."""

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

# What to pass instead of objects that are not sessions, by class.
A_SESSION = "write sv.Session(network, data)"
INSTEAD = (
    (Model, A_SESSION),
    (Replicas, "write sv.Session(replicas.networks[0], data)"),
    (Part, "show the session that trains it, and pass pin="),
    (object, A_SESSION),
)

NO_SWEEP = "runs.table() compares the settings of a sweep, and runs[4, 17] is one run as a Session"
NO_SWEEPS = dict.fromkeys(
    ("networks", "order", "group", "against"), f"sweeps have no picture: {NO_SWEEP}"
)

STEPS = 2000
LONGEST_TITLE = 200
LONGEST_FORMULA = 60  # letters of a formula that is used as a title


MOST_STEPS = 2**24  # maximum growth of a record while it is shown
LARGEST = 2**16  # largest size that a scene accepts


def whole_number(value: object, what: str, low: int = 1, high: int = LARGEST) -> int:
    """Return an option of a scene as an integer; raise InputError if it is out of range.

    Args:
        value: the option
        what: name of the option, for the error
        low: lowest valid value; by default 1
        high: highest valid value; by default 65,536
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
        what: name of the option, for the error
        least: minimum number of integers; by default 1

    Raises:
        InputError: if the text is anything else.
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
    """Return the session of an estimator of `sv.sklearn`; return anything else unchanged.

    The estimator can be the last step of a scikit-learn pipeline, the best one of a search, the
    regressor of a TransformedTargetRegressor, or nested in several of these. For a followed
    training run, or its record, it is the session that replays its recorded moments.
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
    """A session with titles, texts and a speed for its presentation.

    Attributes:
        session: a Session
        title: one line above the picture; by default the first line of the scene's docstring, or
            the description of the network
        task: the task to learn, one sentence below the title; by default empty
        hint: suggestion what to try next, shown at the end; by default empty
        about: sentence shown at the start; by default "Each cube is one weight."
        speed: steps per second; by default None, as fast as possible
        steps: number of training steps if none is given; by default 2000
        film: whether a window opened at step 0 plays `Session.play(film=True)` until the user
            interacts; with animations turned off it pauses instead. By default False

    Raises:
        InputError: if `session` is not a Session or a number is out of range.
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
            self.session.timeline.title = self.title  # saved with the session

    @staticmethod
    def of(shown: object, about: object = None) -> Show:
        """Return a Show of a Session or a fitted estimator, or `shown` itself if it is a Show.

        A missing title is replaced by the title saved with the session, else by the first line of
        the docstring of `about`, else by the description of the network. Raises InputError for
        anything else.
        """
        shown = trained_by(shown)
        if isinstance(shown, Session):
            end = shown.current_branch.end.step + MOST_STEPS
            steps = STEPS if shown.trainer.recorded is None else end
            has_tiles = bool((shown.trainer.run.structure or {}).get("nodes"))
            begin = text("captions.start.tiles") if has_tiles else text("captions.start")
            shown = Show(shown, about=begin, speed=speed_of(shown), steps=steps)
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
            from scalarviz.sweeps.sweep import Sweep  # slow to import

            rows = ((Sweep, NO_SWEEP), *INSTEAD)
            remedy = next(words for kind, words in rows if isinstance(shown, kind))
            raise InputError(
                f"a Session, a Show or a Value can be shown, not {shorten(shown)}: {remedy}"
            )
        if shown.title:
            return shown
        doc = (inspect.getdoc(about) if about is not None else "") or ""
        first, *sizes = repr(shown.session.network).partition(":")[0].split(" -> ")
        affine = [each for each in shown.session.network.layers[:1] if isinstance(each, Affine)]
        fallback = " -> ".join([first, *sizes[len(affine) :]])  # the requested sizes
        title = shown.session.timeline.title or doc.partition("\n")[0].rstrip(".") or fallback
        return replace(shown, title=title)


REPLAY = 20.0  # seconds that a record is played
SLOWEST, FASTEST = 2.0, 30.0  # moments of a record per second


def speed_of(session: Session) -> float | None:
    """Return how many recorded moments to show per second; None if the session is not a record."""
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
    """Sessions to show side by side, each with a name; create one with `Several.of`."""

    shows: tuple[Show, ...]
    names: tuple[str, ...]

    @property
    def sessions(self) -> list[Session]:
        return [show.session for show in self.shows]

    @property
    def steps(self) -> int:
        """Default number of training steps: the maximum over the shows."""
        return max(show.steps for show in self.shows)

    @property
    def speed(self) -> float | None:
        """Initial steps per second: the minimum over the shows."""
        return min((show.speed for show in self.shows if show.speed is not None), default=None)

    @property
    def title(self) -> str:
        """Title of all sessions together: their names."""
        return " | ".join(self.names)

    @staticmethod
    def of(given: Several | Sequence[object] | Mapping[str, object]) -> Several:
        """Return the sessions of a list, or of a dict from names to sessions.

        A Several is returned unchanged. Raises InputError unless `given` has 1 to 6 different
        Sessions or Shows.
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
    """Raise InputError if two sessions are identical or train the same network."""
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
    """Return unique names: titles of Shows, else network sizes, completed by other differences."""
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
    """Return the layer sizes of a network as a title, such as "3-8-3"; "" without layers."""
    layers = session.network.layers
    if not layers:
        return ""
    return "-".join(map(str, [layers[0].inputs, *(layer.outputs for layer in layers)]))


def optimizer_of(session: Session) -> str:
    optimizer = settings_now(session).optimizer
    return f"{type(optimizer).__name__} {optimizer.lr:g}"


# Properties that distinguish sessions on networks of equal sizes, the clearest first.
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
    """Return a unique text for each session: its differences from the others, or a number."""
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
    """Return whether two networks have equal shapes, so that their weights can be compared."""
    shapes = [
        [(each.kind, each.shape, each.parameters) for each in session.network.program.operations]
        for session in (first, second)
    ]
    return shapes[0] == shapes[1] and len(first.network.bank) == len(second.network.bank)
