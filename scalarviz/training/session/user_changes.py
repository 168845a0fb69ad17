"""Changes by the user: undo, redo, and detection of direct writes to the bank.

The rules of undo:

- An undo goes to the moment before the last change. A redo goes to the moment after the change that
  was undone last, on the branch that the undo left, where later steps can be reached again.
- An undone change is never ahead of the clock. If it would be, a branch begins at this moment; if
  the change was the last action in its branch, it is removed, and a redo makes it again.
- A change that waits for the next step continues to wait in the new branch.
- A new change clears the redo list. Undo and redo of older changes do not restore earlier undone
  changes. Undo and redo never delete a branch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, final
from weakref import ref

import numpy as np
import numpy.typing as npt

from scalarviz.base.attributes import meanwhile
from scalarviz.errors import OrderError
from scalarviz.training.session.actions import ACTIONS, Action, numbers_of_bank
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.trainer import Trainer

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Position, Timeline


MOST = 1000  # changes that can be undone


class BranchMoment(NamedTuple):
    """A moment (clock) of a branch."""

    branch: Branch
    clock: Clock


@dataclass(eq=False)
class Change:
    """A change to undo as a whole: user actions, or a reset or a move to another branch.

    Attributes:
        before: the moment before the change
        after: the moment after the change; None while the change is undone and in no branch
        actions: the actions, in order
        waiting: earlier actions that were waiting for the next step at that time
        name: for the renaming of a branch, the branch and its other name
        dropped: number of permanently undone actions at the time of the change
    """

    before: BranchMoment
    after: BranchMoment | None
    actions: list[Action] = field(default_factory=list)
    waiting: list[Action] = field(default_factory=list)
    name: tuple[Branch, str] | None = None
    dropped: int = 0

    def swap_names(self) -> None:
        """If the change renamed a branch, exchange its current and its other name."""
        if self.name is not None:
            branch, name = self.name
            self.name = branch, branch.given_name
            branch.given_name = name


@final
class UndoLog:
    """The changes of a session, oldest first, and the undone changes, in `undone`.

    A new change clears `undone`.
    """

    def __init__(self) -> None:
        self.done: deque[Change] = deque(maxlen=MOST)
        self.undone: list[Change] = []
        self._dropped: list[Action] = []  # undone, and followed by another change
        self._is_off = False  # while changes are not made by the user

    def add(self, change: Change) -> None:
        """Add a change that was just made."""
        if not self._is_off:
            self.drop()
            change.dropped = len(self._dropped)
            self.done.append(change)

    def drop(self) -> None:
        """Discard the undone changes, so that they cannot be redone."""
        self._dropped += [action for each in self.undone for action in each.actions]
        self.undone = []

    @property
    def last(self) -> Change | None:
        """The latest change that is not undone."""
        return self.done[-1] if self.done else None

    def join(self) -> None:
        """Merge the last two changes into one."""
        last = self.done.pop()
        self.done[-1].after = last.after
        self.done[-1].actions += last.actions

    def join_since(self, last: Change | None, before: BranchMoment, after: BranchMoment) -> None:
        """Merge all changes since `last` into one; a move without a change counts as one."""
        if self.last is last and before != after:
            self.add(Change(before, after))
        while len(self.done) > 1 and last not in (self.done[-1], self.done[-2]):
            self.join()

    def off(self) -> AbstractContextManager[None]:
        """Return a context manager in which changes are not recorded for undo."""
        return meanwhile(self, _is_off=True)

    def undo(self, timeline: Timeline) -> None:
        """Go to the moment before the last change; raise OrderError if nothing was changed."""
        if not self.done:
            raise OrderError("nothing to undo: nothing was changed in this session")
        change = self.done[-1]  # remains there if interrupted by Ctrl-C
        branch, clock = change.before
        left = timeline.branch
        was_last = (
            timeline.spot == change.after == BranchMoment(branch, branch.end)
            and len({action.place for action in change.actions}) == 1
            # Branches that begin after that moment need the branch unchanged.
            and not any(each.parent is branch and each.fork > clock for each in timeline.branches)
        )
        if change.name is None:
            go(timeline, change.before)
        self._note_undo(timeline, left, was_last)

    def _note_undo(self, timeline: Timeline, left: Branch, was_last: bool) -> None:
        """Update the undo and redo lists after an undo that left the branch `left`."""
        change = self.done.pop()
        self.undone.append(change)
        change.swap_names()
        if was_last:
            timeline.branch.remove(change.actions, timeline.clock)
            change.after = None
        elif change.after and change.actions and {*change.actions} <= {*left.journal}:
            change.after = BranchMoment(left, change.after.clock)
        self._leave_out(timeline, change, change.waiting)

    def redo(self, timeline: Timeline) -> None:
        """Go to the moment after the change that was undone last, or make that change again."""
        if not self.undone:
            raise OrderError("nothing to redo: nothing was undone since the last change")
        change = self.undone[-1]
        if change.name is None:
            go(timeline, change.after or change.before)
            if change.after is None:
                timeline.applied(*[(each.kind, dict(each.details)) for each in change.actions])
        self._note_redo(timeline)

    def _note_redo(self, timeline: Timeline) -> None:
        """Update the undo and redo lists after a redo, and journal actions that were made again."""
        change = self.undone.pop()
        self.done.append(change)
        change.swap_names()
        if change.after is None:
            if timeline.branch.end > timeline.clock:
                fork_with(timeline, change.waiting)
            with self.off():
                timeline.journal(*change.actions)
            change.after = timeline.spot
            for each in self.undone:  # those made after this one, at its former place
                if each.before.branch is change.before.branch:
                    each.before = BranchMoment(timeline.branch, each.before.clock)
        self._leave_out(timeline, change, [*change.waiting, *change.actions])

    def _leave_out(self, timeline: Timeline, change: Change, waiting: Sequence[Action]) -> None:
        """If the current branch contains undone actions, start a branch without them.

        Also start one if a waiting action was requested at this moment and the branch continues.
        """
        clock, undone = timeline.clock, {each for past in self.undone for each in past.actions}
        undone.update(self._dropped[change.dropped :])
        waits = any(each.asked == clock.place for each in waiting) and timeline.branch.end > clock
        if waits or undone & {*timeline.branch.journal}:
            fork_with(timeline, waiting)
            timeline.branch.remove([*undone], clock)


def fork_with(timeline: Timeline, waiting: Sequence[Action]) -> None:
    """Start a branch at the current moment, and add the actions in `waiting` to its journal."""
    branch = timeline.fork()
    for action in waiting:
        if action not in branch.journal:
            branch.insert(action)


def go(timeline: Timeline, spot: BranchMoment) -> None:
    """Go to a moment of any branch."""
    timeline.leaps += 1
    if timeline.branch is not spot.branch:
        timeline.restore(spot.clock.step, spot.branch)
    timeline.go(spot.clock)


# Direct writes to a bank, which the session journals as edits.

OutsideWrite = tuple[str, dict[str, Any]]


@final
class ArrayCopy:
    """A copy of an array that can be compared with the original bit for bit, including NaN.

    Bytes are compared in one call, which is ten times as fast as numpy for small networks.
    """

    def __init__(self, original: npt.NDArray[Any]) -> None:
        self._original = original
        self._bytes, self._original_bytes = bytearray(original.data), original.data
        self.array: npt.NDArray[Any] = np.ndarray(original.shape, original.dtype, self._bytes)

    def take(self) -> None:
        """Copy the current numbers of the original."""
        self.array[...] = self._original

    @property
    def is_same(self) -> bool:
        """Return whether the original is still equal to the last copy."""
        return self._bytes == self._original_bytes


@final
class BankDiff:
    """Detects direct writes to a bank by comparing it with the numbers last used by the session."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        bank = trainer.bank
        self.value = ArrayCopy(bank.value)
        self._frozen = ArrayCopy(bank.frozen)
        self._state = ArrayCopy(bank.state)
        self._grad: ArrayCopy | None = None
        self._count = bank.step_count
        self._is_comparable = True  # also those of the arrays when numbers were left on a device
        bank.away.watcher = ref(self)

    def remember(self, mid_step: bool) -> None:
        """Copy the current numbers; gradients are only copied within a step, where they matter.

        Numbers on a device are copied later, when they are fetched.
        """
        bank = self._trainer.bank
        if bank.away.keeper is None:
            self.left()
        self._state.take()
        self._grad = ArrayCopy(bank.grad) if mid_step else None
        self._count = bank.step_count

    def changes(self) -> list[OutsideWrite]:
        """Return the writes since the last `remember`, as kinds and details of actions."""
        bank = self._trainer.bank
        if bank.away.keeper is not None:
            if bank.step_count == self._count and self._state.is_same:
                return []  # writes into the arrays are found when numbers arrive there
            bank.fetch()
        found: list[OutsideWrite] = []
        has_other_grad = self._grad is not None and not self._grad.is_same
        if bank.step_count != self._count or has_other_grad or not self._state.is_same:
            found.append(("numbers", numbers_of_bank(bank)))
        elif not self.value.is_same:
            rows = self._written_rows()
            found.append(("edit", {"rows": rows, "values": bank.value[rows]}))
        if not self._frozen.is_same:
            changed = bank.frozen != self._frozen.array
            for on in (True, False):
                rows = np.flatnonzero(changed & (bank.frozen == on))
                if len(rows):
                    found.append(("freeze", {"rows": rows, "on": on}))
        return found

    def _written_rows(self) -> npt.NDArray[np.intp]:
        """Return the rows whose values differ from the copied ones."""
        value = self._trainer.bank.value
        bits = f"u{value.itemsize}"
        return np.flatnonzero(value.view(bits) != self.value.array.view(bits))

    # Called when numbers are left on a device, and when they are fetched; see `Watcher`.

    def left(self) -> None:
        self.value.take()
        self._frozen.take()
        self._is_comparable = True

    def arriving(self, copy: Callable[[], None]) -> None:
        """Call `copy` to fetch numbers from a device, and keep values written in the meantime."""
        bank = self._trainer.bank
        rows = np.zeros(0, np.intp)
        if self._is_comparable and not bank.away.allowed and not self.value.is_same:
            rows = self._written_rows()
        written = bank.value[rows]
        self._is_comparable = False  # also if Ctrl-C interrupts the copy
        copy()
        self.value.take()
        self._is_comparable = True
        bank.value[rows] = written


# Changes of the loss.

OF_THE_LOSS = {name for name, kind in ACTIONS.items() if kind.changes}  # actions that change it


def changed_at(here: Position) -> int:
    """Return the first step whose loss reflects the last user change; 0 if there are no changes."""
    place, branch = here.clock.place, here.branch
    coming = branch.actions_at(place)[here.clock.actions :]
    done = (each for each in reversed(branch.journal) if each.place <= place and each not in coming)
    return next((each.step + (each.operation > 0) for each in done if each.kind in OF_THE_LOSS), 0)
