"""Time: where a training stands, what its user did and when, and how to get back to any moment.

Every step follows from the seed, the number of the step, and what the user did. So a few keyframes
and the list of what was done are enough to make any moment again, bit for bit. Whoever goes back
and does something else starts a branch; the old future stays.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.bank import Bank

CURVE_POINTS = 2000


@total_ordering
@dataclass(frozen=True, slots=True)
class Clock:
    """A moment between two operations: step, the operations of it that are done, and the actions.

    `actions` counts what the user did at just this place that is done already.
    """

    step: int = 0
    operation: int = 0
    actions: int = 0

    def __lt__(self, other: Clock) -> bool:
        return self.key < other.key

    @property
    def key(self) -> tuple[int, int, int]:
        return self.step, self.operation, self.actions

    @property
    def place(self) -> tuple[int, int]:
        """Step and operation."""
        return self.step, self.operation


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """Something that the user did: its kind, what it needs, and where it takes effect.

    `asked` is where it was asked for, if it had to wait for the next step.
    """

    step: int
    operation: int
    kind: str
    details: Mapping[str, Any]
    asked: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[int, int]:
        return self.step, self.operation

    def __str__(self) -> str:
        told = ", ".join(f"{key}={short(value)}" for key, value in self.details.items())
        return f"step {self.step}: {self.kind} {told}"


def short(value: object) -> str:
    """A detail of an action, in a few characters."""
    if isinstance(value, np.ndarray) and value.size != 1:
        return f"{value.size} numbers"
    return f"{value.item():g}" if isinstance(value, np.ndarray) else str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """All numbers of a network on arrival at a step, and what was set then."""

    step: int
    value: FloatArray
    grad: FloatArray
    frozen: Any
    slots: Mapping[tuple[str, ...], FloatArray]
    state: FloatArray
    step_count: int
    has_gradients: bool
    settings: Any

    @staticmethod
    def of(bank: Bank, step: int, settings: object) -> Frame:
        """The numbers of a bank as they are now."""
        return Frame(
            step,
            bank.value.copy(),
            bank.grad.copy(),
            bank.frozen.copy() if bank.frozen.any() else None,
            {names: block.copy() for names, block in bank.blocks.items() if block.any()},
            bank.state.copy(),
            bank.step_count,
            bank.has_gradients,
            settings,
        )

    def restore(self, bank: Bank) -> None:
        """Write the numbers back."""
        bank.value[:] = self.value
        bank.grad[:] = self.grad
        bank.frozen[:] = False if self.frozen is None else self.frozen
        for names in {*self.slots, *bank.blocks}:
            bank.slot_block(names)[:] = self.slots.get(names, 0.0)
        bank.state[:] = self.state
        bank.restart_count(self.step_count)
        bank.has_gradients = self.has_gradients

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        frozen = 0 if self.frozen is None else self.frozen.nbytes
        slots = sum(block.nbytes for block in self.slots.values())
        return int(self.value.nbytes + self.grad.nbytes + self.state.nbytes + frozen + slots) + 500


@final
class Losses:
    """The loss of every step from `first` on; what came before is the parent's."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._room = np.empty(64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def own(self) -> FloatArray:
        """Those that were recorded here."""
        return self._room[: self._count]

    def record(self, step: int, losses: FloatArray) -> None:
        """Note the losses of some steps; what is known already is the same and stays."""
        start = step - self.first
        new = losses[max(self._count - start, 0) :]
        end = self._count + len(new)
        if end > len(self._room):
            room = np.empty(max(end, 2 * len(self._room)))
            room[: self._count] = self.own
            self._room = room
        self._room[self._count : end] = new
        self._count = end


@dataclass(eq=False)
class Branch:
    """One course of events: what was done in it, how its losses went, and where it left its parent.

    number    0 is the first
    parent    the branch that it left, at `fork`; None for the first
    journal   everything that the user did on the way, from step 0 on
    end       how far it has been followed
    """

    number: int
    parent: Branch | None = None
    fork: Clock = field(default_factory=Clock)
    journal: list[Action] = field(default_factory=list)
    end: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.record = Losses(self.fork.step)
        self.frames: list[Frame] = []

    @property
    def losses(self) -> FloatArray:
        """The loss of every step of this branch, from step 0 on, at full resolution."""
        parts, end = [], self.record.first + len(self.record)
        for branch in self.lineage():
            parts.append(branch.record.own[: max(end - branch.record.first, 0)])
            end = min(end, branch.record.first)
        return np.concatenate(parts[::-1])

    def loss_at(self, step: int) -> float:
        """The loss of one step; NaN before the first."""
        if step < 0:
            return np.nan
        owner = next(branch for branch in self.lineage() if step >= branch.record.first)
        return float(owner.record.own[step - owner.record.first])

    def curve(self, points: int = CURVE_POINTS) -> tuple[FloatArray, FloatArray]:
        """Steps and losses for a plot: the mean of each of at most so many equal stretches."""
        losses = self.losses
        stretch = max(1, -(-len(losses) // points))
        starts = np.arange(0, len(losses), stretch)
        if not len(starts):
            return starts, losses
        counts = np.diff([*starts, len(losses)])
        return starts + (counts - 1) / 2, np.add.reduceat(losses, starts) / counts

    def actions_at(self, place: tuple[int, int]) -> list[Action]:
        """What was done at a place, in its order."""
        first = bisect_left(self.journal, place, key=place_of)
        return self.journal[first : bisect_right(self.journal, place, key=place_of)]

    def next_place(self, place: tuple[int, int]) -> tuple[int, int] | None:
        """The first place after this one where something was done."""
        later = bisect_right(self.journal, place, key=place_of)
        return self.journal[later].place if later < len(self.journal) else None

    def insert(self, action: Action) -> None:
        """Note something that is done at its place, after what is noted there already."""
        insort(self.journal, action, key=place_of)

    def fork_at(self, number: int, now: Clock) -> Branch:
        """A new branch from a moment on, with everything that was done before it."""
        gone_back = self.end > now
        here = bisect_left(self.journal, now.place, key=place_of) + now.actions
        done = self.journal[:here]
        for action in self.journal[here:]:
            asked = action.asked
            if asked and (asked < now.place or (asked == now.place and not gone_back)):
                done.append(action)
        return Branch(number, self, now, done, now)

    def frame_before(self, step: int) -> Frame | None:
        """The newest keyframe at most at this step, of this branch or those it came from."""
        for branch in self.lineage():
            at = bisect_right(branch.frames, step, key=lambda frame: frame.step)
            if at:
                return branch.frames[at - 1]
            step = min(step, branch.fork.step)
        return None

    def owner_of(self, step: int) -> Branch:
        """The branch that arrival at a step belongs to: this one, or one that it came from."""
        lineage = self.lineage()
        return next(each for each in lineage if each.parent is None or step > each.fork.step)

    def lineage(self) -> list[Branch]:
        """This branch and those it came from."""
        found, branch = [self], self.parent
        while branch is not None:
            found.append(branch)
            branch = branch.parent
        return found

    def __repr__(self) -> str:
        start = "the start" if self.parent is None else f"step {self.fork.step}"
        steps = len(self.losses)
        last = f", loss {self.losses[-1]:.4g}" if steps else ""
        return f"Branch {self.number} from {start}: {steps:,} steps{last}"


def copies_of(branches: Sequence[Branch]) -> list[Branch]:
    """All branches of a training once more, which go their own way from now on."""
    copies: dict[Branch, Branch] = {}
    for branch in branches:  # a parent stands before its children
        parent = None if branch.parent is None else copies[branch.parent]
        copy = Branch(branch.number, parent, branch.fork, list(branch.journal), branch.end)
        copy.record.record(branch.record.first, branch.record.own)
        copy.frames = list(branch.frames)
        copies[branch] = copy
    return list(copies.values())


def place_of(action: Action) -> tuple[int, int]:
    """By what a journal is ordered."""
    return action.place


@final
class Keyframes:
    """The keyframes of all branches, within a budget of bytes: the older, the fewer.

    The first one, at step 0, always stays.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = 0
        self._branches: list[Branch] = []

    def add(self, branch: Branch, frame: Frame) -> None:
        """Keep a frame of a branch; where one is there already, that one stays."""
        branch = branch.owner_of(frame.step)
        at = bisect_right(branch.frames, frame.step, key=lambda kept: kept.step)
        if at and branch.frames[at - 1].step == frame.step:
            return
        branch.frames.insert(at, frame)
        if branch not in self._branches:
            self._branches.append(branch)
        self.used += frame.size
        if self.used > self.budget:
            self._thin(branch)

    def take(self, branches: Sequence[Branch], newest: Branch) -> None:
        """Have the frames of these branches, as far as the budget allows, and no others."""
        self._branches = [branch for branch in branches if branch.frames]
        self.used = sum(frame.size for branch in self._branches for frame in branch.frames)
        if self.used > self.budget:
            self._thin(newest)

    def _thin(self, newest: Branch) -> None:
        """Remove frames that are missed least, until a tenth of the budget is free."""
        candidates = []
        for branch in self._branches:
            steps = np.array([frame.step for frame in branch.frames], np.float64)
            if not len(steps):
                continue
            now = steps[-1] if branch is newest else steps[-1] + 1000.0
            before = np.concatenate([[branch.fork.step], steps[:-1]])
            after = np.concatenate([steps[1:], [steps[-1]]])
            # The older, the wider apart, but hardly: going back is quick everywhere.
            missed = (after - before) / (now - steps + 16.0) ** 0.25
            for i, frame in enumerate(branch.frames):
                is_start = branch.parent is None and i == 0
                is_newest = branch is newest and i == len(steps) - 1
                if not is_start and not is_newest:
                    candidates.append((float(missed[i]), i, branch, frame))
        candidates.sort(key=lambda each: each[:2])
        # What stands beside something that goes is missed more: it waits for the next round.
        gone: dict[Branch, set[int]] = {branch: set() for branch in self._branches}
        for _, i, branch, frame in candidates[: max(1, len(candidates) // 4)]:
            if not gone[branch] & {i - 1, i + 1}:
                gone[branch].add(i)
                self.used -= frame.size
        for branch, places in gone.items():
            if places:
                kept = [frame for i, frame in enumerate(branch.frames) if i not in places]
                branch.frames[:] = kept
        if self.used > 0.9 * self.budget and candidates:
            self._thin(newest)

    def __len__(self) -> int:
        return sum(len(branch.frames) for branch in self._branches)
