"""UndoLog: what a user changed in a training, to be undone and done again.

An undo goes back to the moment before the change. What was trained since stays in a branch, so
undo and redo lose nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, final

from scalarviz.base.process.whole import whole
from scalarviz.errors import OrderError
from scalarviz.training.session.branches import Action, Branch, Clock

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline

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
    waiting  actions that waited for the next step then, asked before
    name     if a branch was given another name: the branch, and the name that it does not have
    """

    before: Spot
    after: Spot | None
    actions: list[Action] = field(default_factory=list)
    waiting: list[Action] = field(default_factory=list)
    name: tuple[Branch, str] | None = None

    def swap_names(self) -> bool:
        """Give the branch the name that it does not have; return whether a name was changed."""
        if self.name is None:
            return False
        branch, name = self.name
        self.name = branch, branch.given_name
        branch.given_name = name
        return True


@final
class UndoLog:
    """The changes of a session, oldest first; those that were undone, in `undone`.

    A change of the user begins another list `undone`.
    """

    def __init__(self) -> None:
        self.done: deque[Change] = deque(maxlen=MOST)
        self.undone: list[Change] = []
        self._is_off = False  # while what is done is no change of the user

    def add(self, change: Change) -> None:
        """Add a change that was just made."""
        if not self._is_off:
            self.done.append(change)
            self.undone = []

    @property
    def last(self) -> Change | None:
        """The newest change that was not undone."""
        return self.done[-1] if self.done else None

    @whole
    def join(self) -> None:
        """Make one change of the last two."""
        last = self.done.pop()
        self.done[-1].after = last.after
        self.done[-1].actions += last.actions

    def join_since(self, last: Change | None, before: Spot, after: Spot) -> None:
        """Make one change of all since `last`, or of a move that is no change yet."""
        if self.last is last and before != after:
            self.add(Change(before, after))
        while len(self.done) > 1 and last not in (self.done[-1], self.done[-2]):
            self.join()

    @contextmanager
    def off(self) -> Iterator[None]:
        """Note nothing in this block: what is done there, no user has asked for."""
        was, self._is_off = self._is_off, True
        try:
            yield
        finally:
            self._is_off = was

    def undo(self, timeline: Timeline) -> None:
        """Go to the moment before the last change; raise OrderError if there is none."""
        if not self.done:
            raise OrderError("there is nothing to undo: nothing was changed in this session")
        change = self.done[-1]  # which stays there if Ctrl-C ends this
        branch, clock = change.before
        was_last = (
            timeline.spot == change.after
            and timeline.clock == timeline.branch.end
            and len({action.place for action in change.actions}) < 2
            # Branches that begin after that moment need the branch as it is.
            and not any(each.parent is branch and each.fork > clock for each in timeline.branches)
        )
        if change.name is None:
            go(timeline, change.before)
        self._note_undo(timeline, was_last)

    @whole
    def _note_undo(self, timeline: Timeline, was_last: bool) -> None:
        """Take a change, before which the timeline is, from its branch, or go on without it."""
        change = self.done[-1]
        after, before = change.after, change.before
        if not change.swap_names() and change.actions:
            assert after is not None, "a change that is done has a moment after it"
            if after.branch is before.branch:
                others = {*change.actions, *change.waiting}
                if not was_last:
                    fork_with(timeline, change.waiting)
                timeline.branch.remove(change.actions, timeline.clock)
                if was_last or asked_at(after) - others:  # which the way there would bring along
                    change.after = None
        self.undone.append(self.done.pop())

    def redo(self, timeline: Timeline) -> None:
        """Go to the moment after the change that was undone last, or make it again."""
        if not self.undone:
            raise OrderError("there is nothing to redo: nothing was undone since the last change")
        change, actions = self.undone[-1], None
        if change.name is None:
            go(timeline, change.after or change.before)
            if change.after is None:
                details = [(each.kind, dict(each.details)) for each in change.actions]
                actions = timeline.applied(*details)
        self._note_redo(timeline, actions)

    @whole
    def _note_redo(self, timeline: Timeline, actions: list[Action] | None) -> None:
        """Journal the actions of a change that were applied anew, if any; it is done."""
        change = self.undone[-1]
        change.swap_names()
        if actions is not None:
            if timeline.branch.end > timeline.clock:
                fork_with(timeline, change.waiting)
            with self.off():
                timeline.journal(*actions)
            change.actions, change.after = actions, timeline.spot
        self.done.append(self.undone.pop())


def asked_at(spot: Spot) -> set[Action]:
    """Return the actions that were asked at a moment, where they have to wait for the next step."""
    return {action for action in spot.branch.journal if action.asked == spot.clock.place}


def fork_with(timeline: Timeline, waiting: Sequence[Action]) -> None:
    """Start a branch at this moment, with actions that wait there."""
    branch = timeline.fork()
    for action in waiting:
        if action not in branch.journal:
            branch.insert(action)


def go(timeline: Timeline, spot: Spot) -> None:
    """Go to a moment of any branch."""
    timeline.leaps += 1
    if timeline.branch is not spot.branch:
        timeline.restore(spot.clock.step, spot.branch)
    timeline.go(spot.clock)
