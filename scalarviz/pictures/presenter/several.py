"""Several: the sessions that are shown side by side, and their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import final

from scalarviz.base.checks import shorten
from scalarviz.base.messages import visible
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.pictures.presenter.show import LONGEST_TITLE, Show, trained_by
from scalarviz.training.session.branches import Branch
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

MOST = 6  # sessions


@final
@dataclass(frozen=True)
class Several:
    """The sessions that are shown side by side, with a name for each; see `of`.

    replays  whether a video is of what they have done: each ends with its branch
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
    def of(given: object) -> Several | None:
        """Return the sessions of a list, or of a dict by their names; None for anything else.

        Several are returned as they are. Raise InputError if they are not 1 to 6 different Sessions
        or Shows.
        """
        if isinstance(given, Several):
            return given
        if not isinstance(given, (list, tuple, Mapping)):
            return None
        names = list(given) if isinstance(given, Mapping) else []
        listed = given.values() if isinstance(given, Mapping) else given
        parts = [trained_by(part) for part in listed]
        if not parts:
            raise InputError(
                f"side by side are 1 to {MOST} sessions, and there is none: write [s1, s2]"
            )
        if len(parts) > MOST:
            raise InputError(
                f"side by side are 1 to {MOST} sessions, not {len(parts)}: leave out some"
            )
        for name in names:
            if not isinstance(name, str) or not name.strip():
                raise InputError(
                    f"the name of a session is a text, not {shorten(name)}: write "
                    '{"small": s1, "large": s2}'
                )
        for place, part in enumerate(parts, 1):
            if isinstance(part, Branch):
                raise InputError(
                    f"side by side are Sessions or Shows, and number {place} is a branch of one: "
                    "s.copy(branch) is a session that goes on from it"
                )
            if not isinstance(part, (Session, Show)):
                raise InputError(
                    f"side by side are Sessions or Shows, and number {place} is "
                    f"{shorten(part)}: write [s1, s2]"
                )
        check_different([part.session if isinstance(part, Show) else part for part in parts])
        found = names or names_of(parts)
        shows = [Show.of(part) for part in parts]
        named = [
            replace(show, title=visible(name, LONGEST_TITLE))
            for show, name in zip(shows, found, strict=True)
        ]
        return Several(tuple(named), tuple(show.title for show in named))


def check_different(sessions: Sequence[Session]) -> None:
    """Raise InputError if two of the sessions are one, or train one network."""
    for (i, first), (j, second) in combinations(enumerate(sessions, 1), 2):
        if first is second:
            raise InputError(
                f"side by side are different sessions, and numbers {i} and {j} are the same: "
                "s.copy() is one that goes on by itself"
            )
        if first.network.bank is second.network.bank:
            raise InputError(
                f"numbers {i} and {j} train the same network: give each session a network of its "
                "own, such as net.copy()"
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


def sizes_of(session: Session) -> str:
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


def alike(first: Session, second: Session) -> bool:
    """Return whether two sessions train networks of one shape, whose weights can be compared."""
    shapes = [
        [(each.kind, each.shape, each.parameters) for each in session.network.program.operations]
        for session in (first, second)
    ]
    return shapes[0] == shapes[1] and len(first.network.bank) == len(second.network.bank)
