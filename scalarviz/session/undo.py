"""UndoLog: what a user changed in a training, to be undone and done again.

An undo goes back to the moment before the change. What was trained since stays in a branch, so
undo and redo lose nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, final

from scalarviz.errors import OrderError
from scalarviz.session.branches import Action, Branch, Clock

if TYPE_CHECKING:
    from scalarviz.session.timeline import Timeline

MOST = 1000  # changes that can be undone


class Spot(NamedTuple):
    """A moment of a branch."""

    branch: Branch
    clock: Clock


@dataclass(eq=False)
class Change:
    """Actions that are undone together, or, without any, a reset or the choice of a branch.

    before   the moment before
    after    the moment after; None while an undone change stands in no branch
    actions  in the order in which they were done
    name     if a branch was given another name: the branch, and the name that it does not have
    """

    before: Spot
    after: Spot | None
    actions: list[Action] = field(default_factory=list)
    name: tuple[Branch, str] | None = None

    def swap_names(self) -> bool:
        """Give the branch the name that it does not have; return whether a name was changed."""
        if self.name is None:
            return False
        branch, name = self.name
        self.name = branch, branch.given_name
        branch.given_name = name
        return True

    @property
    def is_at_once(self) -> bool:
        """Whether all actions belong to one moment."""
        return all(action.place == self.actions[0].place for action in self.actions)


@final
class UndoLog:
    """The changes of a session, oldest first; those that were undone, in `undone`."""

    def __init__(self) -> None:
        self.done: deque[Change] = deque(maxlen=MOST)
        self.undone: list[Change] = []
        self._is_off = False  # while what is done is no change of the user

    def add(self, before: Spot, after: Spot, action: Action | None = None) -> None:
        """Add a change that was just made."""
        if not self._is_off:
            self.done.append(Change(before, after, [] if action is None else [action]))
            self.undone.clear()

    def add_name(self, spot: Spot, branch: Branch, before: str) -> None:
        """Add that a branch was given another name than the one before."""
        self.add(spot, spot)
        if not self._is_off:
            self.done[-1].name = branch, before

    def join(self) -> None:
        """Make one change of the last two."""
        last = self.done.pop()
        self.done[-1].after = last.after
        self.done[-1].actions += last.actions

    @contextmanager
    def off(self) -> Iterator[None]:
        """Note nothing in this block: what is done there, no user has asked for."""
        was, self._is_off = self._is_off, True
        try:
            yield
        finally:
            self._is_off = was

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one change of all that are made in this block."""
        before = self.done[-1] if self.done else None
        try:
            yield
        finally:
            while len(self.done) > 1 and before not in (self.done[-1], self.done[-2]):
                self.join()

    def undo(self, timeline: Timeline) -> None:
        """Go to the moment before the last change; raise OrderError if there is none."""
        if not self.done:
            raise OrderError("there is nothing to undo: nothing was changed in this session")
        change = self.done.pop()
        if change.swap_names():
            self.undone.append(change)
            return
        after, before = change.after, change.before
        assert after is not None, "a change that is done has a moment after it"
        was_last = timeline.spot == after and after.clock == after.branch.end
        was_last = was_last and change.is_at_once and not has_forks(timeline, before)
        go(timeline, before)
        if after.branch is before.branch and change.actions:
            if was_last:
                change.after = None
            else:
                timeline.fork()
            timeline.branch.remove(change.actions, timeline.clock)
        self.undone.append(change)

    def redo(self, timeline: Timeline) -> None:
        """Go to the moment after the change that was undone last, or make it again."""
        if not self.undone:
            raise OrderError("there is nothing to redo: nothing was undone since the last change")
        change = self.undone.pop()
        if change.swap_names():
            self.done.append(change)
            return
        if change.after is None:
            go(timeline, change.before)
            made, change.actions = change.actions, []
            with self.off():
                for action in made:
                    change.actions.append(timeline.note(action.kind, dict(action.details)))
            change.after = Spot(timeline.branch, timeline.clock)
        else:
            go(timeline, change.after)
        self.done.append(change)


def has_forks(timeline: Timeline, spot: Spot) -> bool:
    """Return whether branches begin after a moment of a branch, which has to stay for them."""
    return any(each.parent is spot.branch and each.fork > spot.clock for each in timeline.branches)


def go(timeline: Timeline, spot: Spot) -> None:
    """Go to a moment of any branch."""
    timeline.leaps += 1
    if timeline.branch is not spot.branch:
        timeline.branch = spot.branch
        timeline.restore(spot.clock.step)
    timeline.go(spot.clock)
