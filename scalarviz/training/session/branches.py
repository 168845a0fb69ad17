"""Branches: alternative courses of a training run, with user actions, losses and keyframes.

Every step is determined by the seed, the step index and the user's actions. So a few keyframes and
the journal of actions reproduce any moment bit for bit. A change made after going back starts a new
branch; the old branch is kept.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, cast, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.base.interrupt import uncut
from scalarviz.base.messages import visible
from scalarviz.core.bank import Bank
from scalarviz.errors import InputError
from scalarviz.story.branch_names import branch_name, in_few_words
from scalarviz.training.session.actions import (
    ACTIONS,
    Action,
    Details,
    numbers_of_bank,
    set_numbers,
)

CURVE_POINTS = 2000
KEYFRAMES = 2**24  # bytes of keyframes in a file
Rename = Callable[["Branch", str], None]  # of a branch with its previous name


class Clock(NamedTuple):
    """A moment between two operations: step index, and number of operations done in the step.

    `actions` is the number of user actions that were applied there.
    """

    step: int = 0
    operation: int = 0
    actions: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """The pair (step, operation)."""
        return self.step, self.operation


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A keyframe: all numbers of a network and the settings on arrival at a step.

    Attributes:
        numbers: keyword arguments of `set_numbers`, without optimizer slots that are all 0
        frozen: frozen flags of all weights, or None if no weight is frozen
    """

    step: int
    numbers: Details
    frozen: Any
    settings: Any

    @staticmethod
    def of(bank: Bank, step: int, settings: object) -> Frame:
        """Return a keyframe with a copy of the current values of a bank."""
        frozen = bank.frozen.copy() if bank.frozen.any() else None
        return Frame(step, numbers_of_bank(bank, zeros=False), frozen, settings)

    @property
    def value(self) -> FloatArray:
        return cast("FloatArray", self.numbers["value"])

    @property
    def grad(self) -> FloatArray:
        return cast("FloatArray", self.numbers["grad"])

    def restore(self, bank: Bank) -> None:
        """Copy the numbers of the keyframe into a bank."""
        bank.frozen[:] = False if self.frozen is None else self.frozen
        set_numbers(bank, **self.numbers)

    @property
    def size(self) -> int:
        """Size of the keyframe in bytes."""
        arrays = [each for each in (*self.numbers.values(), self.frozen) if hasattr(each, "nbytes")]
        return 500 + sum(int(each.nbytes) for each in arrays)


@dataclass(eq=False)
class Branch:
    """A branch of a training run: its user actions, losses, metrics and keyframes.

    Attributes:
        number: index of the branch; the first is 0
        name: name set by the user; by default a description of its start
        parent: the branch from which it forked, at the moment `fork`; None for the first branch
        journal: all user actions from step 0, including those in the parent before `fork`
        end: the latest moment reached on the branch
    """

    number: int
    parent: Branch | None = None
    fork: Clock = field(default_factory=Clock)
    journal: list[Action] = field(default_factory=list)
    end: Clock = field(default_factory=Clock)
    given_name: str = ""
    renames: Callable[[], Rename | None] = lambda: None  # rename callback, or None

    def __post_init__(self) -> None:
        self.record = Losses(self.fork.step)
        self.frames: list[Frame] = []
        self.metrics: dict[str, MetricPoints] = {}  # of its own steps

    @property
    def name(self) -> str:
        """Name of the branch, a string of at most 60 characters; can be set.

        The default describes where the branch starts and what was changed there, such as "from step
        120: rate 0.3"; setting "" restores the default. Names are saved in run files, and renaming
        can be undone. Raises InputError for other objects and for invisible characters.
        """
        did = [] if self.parent is None else began_by(self)
        begun = branch_name(self.fork.step, self.fork.operation, did_in_words(did))
        return self.given_name or begun

    @name.setter
    @uncut
    def name(self, name: str) -> None:
        before, self.given_name = self.given_name, checked_name(name)
        rename = self.renames()
        if rename is not None and self.given_name != before:
            rename(self, before)

    @property
    def losses(self) -> FloatArray:
        """Loss of every step of this branch, from step 0, float64; see `Session.losses`."""
        return self.losses_between(0, self.record.first + len(self.record))

    def losses_between(self, start: int, end: int, *, ends: bool = False) -> FloatArray:
        """Return the known losses of the steps from `start` up to, but not including, `end`.

        For old steps only the minimum and the maximum of each block are known. They alternate over
        the steps of the block or, with `ends`, are returned once per block; see `Losses`.
        """
        parts = []
        for branch in self.lineage():
            first = branch.record.first
            low, high = max(start - first, 0), max(end - first, 0)
            parts.append(branch.record.between(low, high, ends=ends))
            end = min(end, first)
        return np.concatenate(parts[::-1])

    def loss_at(self, step: int) -> float:
        """Return the loss of one step; NaN for a negative step."""
        return np.nan if step < 0 else float(self.losses_between(step, step + 1)[0])

    def is_exact(self, step: int) -> bool:
        """Return whether the loss of a step is known exactly, not only the range of its block."""
        record = next((b.record for b in self.lineage() if step >= b.record.first), self.record)
        return record.is_exact(step)

    def curve(self, points: int = CURVE_POINTS) -> tuple[FloatArray, FloatArray]:
        """Return steps and mean losses over at most `points` equal intervals, for a plot."""
        return self.means(0, self.record.first + len(self.record), points)

    def means(self, start: int, end: int, points: int) -> tuple[FloatArray, FloatArray]:
        """Return the centres and mean losses of at most `points` intervals from `start` to `end`.

        Centres are relative to `start`. Losses are read in portions to save memory.
        """
        stretch = max(1, -(-(end - start) // points))
        portion = stretch * max(1, EXACT // stretch)
        found = [
            means_of(self.losses_between(first, min(first + portion, end)), stretch)
            for first in range(start, max(end, start + 1), portion)
        ]
        middles = [each + i * portion for i, (each, _) in enumerate(found)]
        return np.concatenate(middles), np.concatenate([means for _, means in found])

    def actions_at(self, place: tuple[int, int]) -> list[Action]:
        """Return the actions at a (step, operation), in order."""
        first = bisect_left(self.journal, place, key=place_of)
        return self.journal[first : bisect_right(self.journal, place, key=place_of)]

    def next_place(self, place: tuple[int, int]) -> tuple[int, int] | None:
        """Return the next (step, operation) at which there is an action, or None."""
        later = bisect_right(self.journal, place, key=place_of)
        return self.journal[later].place if later < len(self.journal) else None

    def waiting_at(self, now: Clock) -> list[Action]:
        """Return the actions already requested at a moment that take effect at the next step."""
        step, operation, done = now
        noted = self.actions_at((step + 1, 0)) if operation else self.actions_at((step, 0))[done:]
        return [each for each in noted if each.asked is not None and each.asked <= now.place]

    def insert(self, action: Action) -> None:
        """Add an action to the journal, after all actions at the same (step, operation)."""
        insort(self.journal, action, key=place_of)

    def remove(self, actions: Sequence[Action], end: Clock) -> None:
        """Remove actions from the journal, and move the end of the branch back before them."""
        self.journal = [action for action in self.journal if action not in actions]
        self.end = end

    def fork_at(self, number: int, now: Clock) -> Branch:
        """Return a new branch that starts at a moment and contains the earlier actions."""
        gone_back = self.end > now
        here = bisect_left(self.journal, now.place, key=place_of) + now.actions
        asked = [
            each
            for each in self.journal[here:]
            if each.asked
            and (each.asked < now.place or (each.asked == now.place and not gone_back))
        ]
        return Branch(number, self, now, self.journal[:here] + asked, now)

    def frame_before(self, step: int) -> Frame | None:
        """Return the latest keyframe at or before a step, also from ancestors, or None."""
        if self.frames and self.frames[-1].step <= step:  # usually the clock is past all of them
            return self.frames[-1]
        for branch, last in self.way(step):
            at = bisect_right(branch.frames, last, key=lambda frame: frame.step)
            if at:
                return branch.frames[at - 1]
        return None

    def owner_of(self, step: int) -> Branch:
        """Return the branch that reached a step: this one or an ancestor."""
        lineage = self.lineage()
        return next(each for each in lineage if each.parent is None or step > each.fork.step)

    def lineage(self) -> list[Branch]:
        """Return this branch and its ancestors, starting with this branch."""
        found, branch = [self], self.parent
        while branch is not None:
            found.append(branch)
            branch = branch.parent
        return found

    def way(self, end: float = math.inf) -> Iterator[tuple[Branch, float]]:
        """Yield this branch and its ancestors, each with its last step on the path to this branch.

        Args:
            end: last step on this branch; unlimited by default
        """
        for branch in self.lineage():
            yield branch, end
            end = min(end, branch.fork.step)

    def __repr__(self) -> str:
        start = "the start" if self.parent is None else f"step {self.fork.step}"
        steps = self.record.first + len(self.record)
        last = f", loss {self.loss_at(steps - 1):.4g}" if steps else ""
        name = f" {self.given_name!r}" if self.given_name else ""
        return f"Branch {self.number}{name} from {start}: {steps:,} steps{last}"


place_of = attrgetter("place")  # sort key of a journal


def means_of(losses: FloatArray, stretch: int) -> tuple[FloatArray, FloatArray]:
    """Return the centres of intervals of `stretch` losses, and the means of the known losses."""
    starts = np.arange(0, len(losses), stretch)
    if not len(starts):
        return starts, losses
    counts = np.diff(np.append(starts, len(losses)))
    middles, known = starts + (counts - 1) / 2, ~np.isnan(losses)
    sums = np.add.reduceat(np.where(known, losses, 0.0), starts)
    counts = np.add.reduceat(known, starts, dtype=float)
    return middles, sums / np.where(counts > 0.0, counts, np.nan)


def copies_of(branches: Sequence[Branch]) -> list[Branch]:
    """Return independent copies of all branches, which share their keyframes."""
    copies: dict[Branch, Branch] = {}
    for branch in branches:  # parents come before their children
        parent = None if branch.parent is None else copies[branch.parent]
        copy = Branch(branch.number, parent, branch.fork, list(branch.journal), branch.end)
        copy.given_name = branch.given_name
        copy.record = deepcopy(branch.record)
        copy.frames = list(branch.frames)
        copy.metrics = deepcopy(branch.metrics)
        copies[branch] = copy
    return list(copies.values())


def thinned(
    branches: Sequence[Branch], newest: Branch, budget: int | None
) -> dict[Branch, list[Frame]]:
    """Return the keyframes of each branch, thinned out to fit `budget` bytes unless it is None."""
    copies = {branch: copy(branch) for branch in branches}
    if budget is not None:
        Keyframes(budget).take([*copies.values()], copies[newest])
    return {branch: each.frames for branch, each in copies.items()}


@final
class Keyframes:
    """The keyframes of all branches, thinned out to fit a budget in bytes; old ones are sparser.

    The keyframe at step 0 is never removed.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = 0
        self._branches: list[Branch] = []

    def add(self, branch: Branch, frame: Frame) -> None:
        """Add a keyframe, unless the branch already has a keyframe at this step."""
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
        """Replace the managed branches by these, and thin out their keyframes to fit the budget."""
        self._branches = [branch for branch in branches if branch.frames]
        self.used = sum(frame.size for branch in self._branches for frame in branch.frames)
        if self.used > self.budget:
            self._thin(newest)

    def _thin(self, newest: Branch) -> None:
        """Remove the least useful keyframes until a tenth of the budget is free."""
        candidates = []
        for branch in self._branches:
            steps = np.array([frame.step for frame in branch.frames], np.float64)
            if not len(steps):
                continue
            now = steps[-1] if branch is newest else steps[-1] + 1000.0
            before = np.concatenate([[branch.fork.step], steps[:-1]])
            after = np.concatenate([steps[1:], [steps[-1]]])
            # The small exponent keeps old intervals short: going back is quick everywhere.
            missed = (after - before) / (now - steps + 16.0) ** 0.25
            for i, frame in enumerate(branch.frames):
                is_start = branch.parent is None and i == 0
                is_newest = branch is newest and i == len(steps) - 1
                if not is_start and not is_newest:
                    candidates.append((float(missed[i]), i, branch, frame))
        candidates.sort(key=lambda each: each[:2])
        # A neighbour of a removed keyframe has become more important: it is kept until the next
        # round.
        gone: dict[Branch, set[int]] = {branch: set() for branch in self._branches}
        for _, i, branch, frame in candidates[: max(1, len(candidates) // 4)]:
            if not gone[branch] & {i - 1, i + 1}:
                gone[branch].add(i)
                self.used -= frame.size
        for branch, places in gone.items():
            if places:
                branch.frames = [f for i, f in enumerate(branch.frames) if i not in places]
        if self.used > 0.9 * self.budget and candidates:
            self._thin(newest)


# Losses of the steps of a branch in bounded memory: exact for the last ones.

EXACT = 2**20  # minimum number of steps with exact losses
BLOCK = 2**8  # initial number of steps in a block
MOST_BLOCKS = 2**13  # above, two blocks are merged


@final
class Losses:
    """The losses of a branch from step `first`, exact for at least the last EXACT steps.

    For older steps, only the minimum and maximum of each block of steps are stored. `between`
    returns them alternately for the steps of a block, so curves keep their minima and maxima.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self._count = 0
        # Number of earlier losses, exact losses, blocks and block size: replaced as a whole, for
        # other threads.
        self._kept = 0, np.empty(64), np.empty((0, 2)), BLOCK

    def __len__(self) -> int:
        return self._count

    def is_exact(self, step: int) -> bool:
        """Return whether the loss of a step is exact; steps before `first` count as exact."""
        return not self.first <= step < self.first + self._kept[0]

    def between(self, start: int, end: int, *, ends: bool = False) -> FloatArray:
        """Return the losses in the half-open interval [start, end), counted from `first`.

        Args:
            ends: whether to return minimum and maximum once per block instead of alternately per
                step
        """
        end = min(end, self._count)
        before, room, blocks, size = self._kept
        new = room[max(start - before, 0) : max(end - before, 0)]
        if ends:
            past = blocks[start // size : -(-min(end, before) // size)]
            return np.append(past, new) if len(past) else new
        old = np.arange(start, min(end, before))
        return np.append(blocks[old // size, old % 2], new) if len(old) else new

    def parts(self) -> list[FloatArray]:
        """Return the losses of all steps as a list of arrays, without copying them."""
        before, room, blocks, size = self._kept
        pairs = np.broadcast_to(blocks[:, np.newaxis], (len(blocks), size // 2, 2))
        return [*pairs, room[: self._count - before]]

    def record(self, step: int, losses: FloatArray) -> None:
        """Append the losses of the steps from `step`, skipping steps that are already recorded."""
        new = losses[max(self._count - (step - self.first), 0) :]
        while len(new):
            if self._count - self._kept[0] == 2 * EXACT:
                self._leave()
            before, room, blocks, size = self._kept
            used = self._count - before
            part = new[: 2 * EXACT - used]
            if used + len(part) > len(room):
                larger = np.empty(min(2 * EXACT, max(used + len(part), 2 * len(room))))
                larger[:used] = room[:used]
                room, self._kept = larger, (before, larger, blocks, size)
            room[used : used + len(part)] = part
            self._count += len(part)
            new = new[len(part) :]

    def _leave(self) -> None:
        """Reduce the older half of the exact losses to the minimum and maximum of blocks."""
        before, room, blocks, size = self._kept
        left = room[:EXACT].reshape(-1, size)
        blocks = np.concatenate([blocks, np.stack([left.min(axis=1), left.max(axis=1)], axis=1)])
        if len(blocks) >= MOST_BLOCKS and size < EXACT:
            pairs = blocks.reshape(-1, 2, 2)
            blocks = np.stack([pairs[..., 0].min(axis=1), pairs[..., 1].max(axis=1)], axis=1)
            size *= 2
        newer = np.empty(2 * EXACT)
        newer[:EXACT] = room[EXACT:]
        self._kept = before + EXACT, newer, blocks, size


# Values of a metric at some steps of a branch.

Series: TypeAlias = tuple[npt.NDArray[np.int64], FloatArray]  # steps and values


@final
class MetricPoints:
    """Values of a metric at increasing steps; other threads may read them at any time."""

    def __init__(self, steps: Sequence[int] = (), values: Sequence[float] = ()) -> None:
        self._steps, self._values = array("q", steps), array("d", values)

    def add(self, step: int, value: float) -> None:
        """Append the value of a later step."""
        self._steps.append(step)
        self._values.append(value)

    def until(self, last: float = math.inf) -> Series:
        """Return the steps and values up to step `last`, by default all."""
        count = len(self._values)  # appended after the steps
        steps = np.array(self._steps[:count], np.int64)
        end = int(np.searchsorted(steps, last, "right"))
        return steps[:end], np.array(self._values[:end], np.float64)


# Names of branches: set by users, or by default from the start of the branch.

LONGEST = 60  # characters of a name
LISTED = 5  # names in an error


def checked_name(name: object) -> str:
    """Return a branch name without surrounding spaces; raise InputError if it is invalid.

    A name has at most 60 characters, all of them visible.
    """
    if not isinstance(name, str):
        raise InputError(f"the name of a branch is a string, not {shorten(name)}")
    name = name.strip()
    require(
        len(name) <= LONGEST,
        f"the name of a branch has at most {LONGEST} characters, and this one has "
        f"{len(name):,}: {shorten(name)}",
    )
    require(
        visible(name, LONGEST) == name,
        f"the name of a branch is one line of visible characters, not {visible(name)}: remove the "
        "others",
    )
    return name


def find_branch(branches: Sequence[Branch], branch: Branch | int | str) -> Branch:
    """Return a branch, given the branch, its number or its name; raise InputError if unknown."""
    if isinstance(branch, str):
        return branch_of_name(branches, branch)
    if isinstance(branch, int) and 0 <= branch < len(branches):
        return branches[branch]
    if branch in branches:
        return cast("Branch", branch)
    raise InputError(
        f"this session has the branches 0 to {len(branches) - 1}, and no "
        f"{shorten(branch)}: choose one of s.branches"
    )


def branch_of_name(branches: Sequence[Branch], name: str) -> Branch:
    """Return the branch with a name; raise InputError if it is missing or ambiguous."""
    found = [each for each in branches if each.name == name]
    if len(found) == 1:
        return found[0]
    if not found:
        names = ", ".join(repr(each.name) for each in branches[-LISTED:])
        raise InputError(f"no branch is named {shorten(name)}: the newest ones are {names}")
    numbers = ", ".join(str(each.number) for each in found)
    raise InputError(
        f"several branches are named {shorten(name)}: use one of the numbers {numbers}"
    )


def did_in_words(actions: Sequence[Action]) -> str:
    """Describe actions in a few words; of consecutive actions on one target only the last."""
    words = [ACTIONS[each.kind].words(**each.details) for each in actions]
    return in_few_words([*zip(map(subject, actions), words, strict=True)])


def subject(action: Action) -> tuple[object, ...]:
    """Return a key for the target of an action: its kind, layer and rows."""
    rows = action.details.get("rows")
    return action.kind, action.details.get("layer"), None if rows is None else rows.tobytes()


def began_by(branch: Branch) -> list[Action]:
    """Return the user actions at the start of a branch, in order."""
    fork = branch.fork
    here = branch.actions_at(fork.place)[fork.actions :]
    found = [each for each in here if each.asked is None or each.asked >= fork.place]
    if fork.operation:  # the rest waited for the next step
        waited = branch.actions_at((fork.step + 1, 0))
        found += [each for each in waited if each.asked == fork.place]
    return found
