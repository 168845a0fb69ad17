"""Timeline: a trainer with a clock, branches and keyframes, which can go to any moment.

To go back, it restores the latest keyframe before the target, and replays the following steps
together with the user's actions.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final
from weakref import WeakMethod

import numpy as np
import numpy.typing as npt

from scalarviz.base.attributes import meanwhile
from scalarviz.base.checks import FloatArray, require
from scalarviz.base.interrupt import ctrl_c
from scalarviz.base.limits import check_losses
from scalarviz.base.progress import Progress
from scalarviz.core.bank_arrays import bad_gradient
from scalarviz.core.formulas.formula import pick
from scalarviz.core.program import NONE, Moment, Program
from scalarviz.engines.engine import RunOutcome
from scalarviz.errors import GradientError, OrderError
from scalarviz.training.network.model_queries import remark_of_schedule
from scalarviz.training.session.actions import ACTIONS, Action, nothing
from scalarviz.training.session.branches import Branch, Clock, Frame, Keyframes
from scalarviz.training.session.callbacks import FirstArrivals
from scalarviz.training.session.stops import Stops
from scalarviz.training.session.threads import SessionLock
from scalarviz.training.session.trainer import Trainer
from scalarviz.training.session.user_changes import BankDiff, BranchMoment, Change, UndoLog

if TYPE_CHECKING:
    from scalarviz.training.session.session import Session


PORTION = 0.005  # seconds between keyframes, and of training until a pause is noticed
SHARE = 10  # keyframes of a large network take at most one part in SHARE of the time,
LONGEST = 0.08  # unless that leaves more seconds to replay
MOST_STEPS = 100_000  # maximum in one portion
TIMES = 15  # portions used to measure the time of a step


@final
class Timeline:
    """A trainer with its clock, its branches and their keyframes."""

    def __init__(self, trainer: Trainer, memory: int) -> None:
        self.trainer = trainer
        self.lock = SessionLock()  # of its session
        self.clock = Clock()
        self.branch = Branch(0, renames=WeakMethod(self._renamed))
        self.branches = [self.branch]
        self.keyframes = Keyframes(memory)
        self.keyframes.add(self.branch, Frame.of(trainer.bank, 0, trainer.settings))
        self.loss = np.nan
        self.leaps = 0
        self.walked: tuple[int, Clock] | None = None  # leaps and clock after the last operation
        self.pace = 1.0  # steps that take about PORTION
        self._times: deque[float] = deque(maxlen=TIMES)  # seconds per step, for the last portions
        self.each_portion: Callable[[], None] = nothing  # called after whole steps
        self.most_steps: Callable[[], int] = lambda: MOST_STEPS  # maximum in a portion
        self.between: Callable[[], None] = nothing  # called between two portions
        self.origin: Origin | None = None  # the session from which this one was made
        self.steps_before = 0  # taken by its network when it was made
        self.kept: SavedFile | None = None  # the file that stores it
        self.was_loaded = False  # whether it was loaded from a file
        self.title = ""  # name under which it was shown last
        self.visits = FirstArrivals()  # called at some steps
        self.stops = Stops()  # conditions at which it stops automatically
        self.undo_log = UndoLog()  # changes by the user
        self.plays = False  # in a portion of background play, which may leave numbers on a device
        self.holds = False  # whether `seen` is unchanged while whole steps are taken
        self.seen, self._place = 0, (0, 0)  # the step whose batch pictures show, and its start
        self.asking = False  # while it visits another moment for a look-up
        self._home: Clock | None = None  # its actual position meanwhile
        self._kept_at = self._kept_in = 0.0  # time of the last keyframe, and its duration
        self._interrupted = False  # numbers and clock may disagree, e.g. after Ctrl-C
        self._outside_writes = BankDiff(trainer)
        program = trainer.network.program
        self.here = Position(self.clock, self.branch, program, self.loss, 0, self.clock, 0)

    def show(self) -> None:
        """Publish the current position as `here`, for other threads."""
        branch, program = self.branch, self.trainer.network.program
        now = self.clock, branch, program, self.loss, self.leaps, branch.end
        if not self.asking and now != self.here[:-1]:
            step, operation = place = self.clock.place
            if operation or not (self.holds or self._place == place):
                self.seen = max(0, step - (operation == 0))
            self._place = place
            self.here = Position(*now, self.seen)

    @property
    def is_at_work(self) -> bool:
        """Whether a portion or a user function is running, for example while a batch is made."""
        return self._interrupted or self.visits.under_way

    # Moving the clock.

    def go(self, target: Clock) -> None:
        """Go to a moment of this branch; a past moment is reached by a replay from a keyframe."""
        if target < self.clock:
            self.restore(target.step)
        self.forward(target)

    def enter(self, step: int) -> None:
        """Go to the start of a step, after user actions there that may change its operations."""
        self.go(Clock(step, 0, len(self.branch.actions_at((step, 0)))))

    @contextmanager
    def step_again(self) -> Iterator[None]:
        """Go to the start of the current step during this block, then repeat its operations.

        The clock does not move if it is between steps, or if there are changes within the step.
        """
        (step, operation), branch = self.clock.place, self.branch
        begun = Clock(step, 0, len(branch.actions_at((step, 0))))
        later = branch.next_place(begun.place)
        if not operation or (later is not None and later[0] <= step + 1):
            yield
            return
        with self.unseen():
            self.go(begun)
            self.remember()
            if branch.end.step == step and not any(
                each.parent is branch and each.fork > begun for each in self.branches
            ):
                branch.end = begun  # otherwise a change would begin a branch
            try:
                yield
            finally:
                self.leaps += 1  # the place is the same again, its numbers may differ
                self.forward(self.clock._replace(operation=operation, actions=0))

    def restore(self, step: int, branch: Branch | None = None) -> None:
        """Restore the latest keyframe at or before a step, by default of the current branch."""
        branch = branch or self.branch
        # A step without an exact loss is repeated, which computes it again.
        frame = branch.frame_before(step if branch.is_exact(step - 1) else step - 1)
        assert frame is not None, "the keyframe of step 0 is never removed"
        clock, loss = Clock(frame.step), branch.loss_at(frame.step - 1)
        anew, self._interrupted = self._interrupted, True
        self.trainer.restore(frame, anew=anew)
        self.branch, self.clock, self.loss = branch, clock, loss
        self._interrupted = False

    def forward(self, target: Clock) -> None:
        """Advance to a moment, and replay the journalled actions on the way.

        During this call, an engine may leave the numbers of the bank on its device.
        """
        bank = self.trainer.bank
        before, bank.away.allowed = bank.away.allowed, True
        try:
            self._forward(target)
            if bank.away.keeper is not None and not self.plays:
                bank.fetch()
                self.keep_frame()
        finally:
            bank.away.allowed = before

    def _forward(self, target: Clock) -> None:
        while self.clock < target:
            is_due = is_looked_at = is_refused = False
            first, journal = self.clock.step, self.branch.journal
            if not (journal and self._redo(target)):
                now, end = self.clock.place, target.place
                if now >= end:
                    break
                action = (journal and self.branch.next_place(now)) or end
                most = min(target.step, action[0]) - first  # whole steps before both
                if most > 0 and now[1] == 0:
                    is_refused = self._take_steps(most)
                else:
                    is_refused = self._take_operation()
                is_due = self.visits.any and self.visits.is_due(self)
                is_looked_at = (
                    bool(self.trainer.settings.stops)
                    and self.clock.operation == 0
                    and self._stops_after(self.clock)
                )
            self.branch.end = max(self.branch.end, self.clock)
            self.show()
            if is_due:
                self.trainer.bank.fetch()  # for user functions
                self.visits.measure(self)
            if is_looked_at:
                self.visits.stopped = self.stops.arrive(self, first)
            if is_due:
                self.visits.call(self)
                self.show()
            if is_refused or ((is_due or is_looked_at) and self.visits.stopped):
                break
            ctrl_c.deliver()
            if not self.asking:
                self.between()

    def _redo(self, target: Clock) -> bool:
        """Replay actions at the current operation up to the target; return False without any."""
        now = self.clock
        last = target.actions if now.place == target.place else None
        waiting = self.branch.actions_at(now.place)[now.actions : last]
        if waiting:
            self._apply(*waiting)
        return bool(waiting)

    def _apply(self, *actions: Action) -> None:
        """Apply journalled actions at the current step and operation."""
        clock = self.clock._replace(actions=self.clock.actions + len(actions))
        self._interrupted = True
        self.trainer.apply(*actions)
        self.clock = clock
        self._interrupted = False

    def _stops_after(self, moment: Clock) -> bool:
        """Return whether to check existing stop conditions; call it before the branch grows.

        They are checked at new steps, and during `advance` also at repeated steps.
        """
        can_stop = not (self.asking or self.stops.are_ignored)
        return can_stop and (self.stops.everywhere or moment > self.branch.end)

    def repair(self) -> None:
        """After an interrupted portion, recompute the numbers so that they match the clock."""
        if self._interrupted or self.trainer.bank.away.is_lost:
            self._return_to(self.clock)

    def _return_to(self, moment: Clock) -> None:
        self.restore(moment.step)
        try:
            with self.unseen():
                self.forward(moment)
        except BaseException:  # at a keyframe numbers and clock agree
            self.restore(self.clock.step)
            raise

    def settle(self) -> None:
        """After an error or Ctrl-C, end whatever was in progress and repair the numbers."""
        home, self._home = self._home, None
        self.asking = self.visits.under_way = self.stops.everywhere = False
        if home is None:
            self.repair()
        else:
            self._return_to(home)

    def _take_steps(self, most: int) -> bool:
        """Take up to `most` steps; return True if training stops before a rejected step."""
        self._interrupted = True
        first = self.clock.step
        if self.visits.any:
            known = max(first, self.branch.end.step)  # earlier steps are replayed
            most = min(most, known + self.visits.steps_until(known) - first)
        stops = self.trainer.settings.stops
        if stops and self._stops_after(Clock(first + most)):
            most = self.stops.most_steps(self, first, most)
        count = max(1, min(most, int(self.pace), self.most_steps()))
        start = time.perf_counter()
        counted = self.trainer.bank.step_count
        outcome = self.trainer.run.steps(self.trainer.settings.optimizer, first, count)
        remark_of_schedule(self.trainer.settings.optimizer, counted, self.trainer.bank.step_count)
        if stops and self._stops_after(Clock(first + count)):
            outcome = self._cut(first, outcome)
        seconds = (time.perf_counter() - start) / max(1, len(outcome.losses))
        self._times.append(seconds)
        self.pace = paced(self.pace, seconds, PORTION)
        self.branch.record.record(first, outcome.losses)
        if len(outcome.losses):
            self.loss = float(outcome.losses[-1])
            self.clock = Clock(first + len(outcome.losses))
        bank, error = self.trainer.bank, outcome.overflow
        if error is not None:
            self.repair()
        if error is not None or outcome.bad != NONE:
            self._stop_before_step()
            self._interrupted = False
            return self.stops.refuse(self, error or bad_gradient(bank, outcome.bad))
        if bank.away.is_due and not self.plays:  # otherwise the next portion does so, see `Turn`
            bank.fetch()
        if bank.away.keeper is None:
            self.keep_frame()
        self.each_portion()
        self._interrupted = False
        return False

    def _cut(self, first: int, outcome: RunOutcome) -> RunOutcome:
        """Return the outcome of the steps up to the first stop condition, and undo later steps."""
        count = self.stops.steps_until_stop(self, first, outcome.losses)
        is_whole = outcome.bad == NONE and outcome.overflow is None
        if count is None or (is_whole and count == len(outcome.losses)):
            return outcome
        here = self.clock
        with self.unseen():
            self.restore(first)
            self.forward(here)
        self._interrupted = True
        return self.trainer.run.steps(self.trainer.settings.optimizer, first, count)

    @property
    def seconds_a_step(self) -> float:
        """Recent median duration of a step in seconds; NaN before the first step."""
        is_measured = self._times and self.trainer.recorded is None
        return float(np.median(self._times)) if is_measured else np.nan

    def _stop_before_step(self) -> None:
        """Perform the operations of this step except the update, which would not be finite."""
        trainer, step = self.trainer, self.clock.step
        *before, _ = trainer.moments
        trainer.run.begin(step)
        for moment in before:
            trainer.run.perform(moment, trainer.settings.optimizer)
        self.loss = trainer.run.loss
        self.clock = Clock(step, len(before))
        self.branch.end = max(self.branch.end, self.clock)

    def _take_operation(self) -> bool:
        """Perform one operation; return True if training stops before a rejected update."""
        (step, operation), trainer = self.clock.place, self.trainer
        self._interrupted = True
        if operation == 0:
            trainer.run.begin(step)
        try:
            trainer.run.perform(trainer.moments[operation], trainer.settings.optimizer)
        except GradientError as error:
            self._interrupted = False  # the operation changed nothing
            return self.stops.refuse(self, error)
        if trainer.moments[operation].kind == "loss":
            self.loss = trainer.run.loss
        self.clock = self.after_operation()
        if self.clock.operation == 0:
            self.branch.record.record(step, np.array([self.loss]))
            self.keep_frame()
            self.each_portion()
        self._interrupted = False
        return False

    def keep_frame(self) -> None:
        """Store a keyframe if the clock is at the start of a step and the last one is old enough.

        At least every `pace`-th step gets a keyframe, so slow steps always do, unless the network
        is large.
        """
        if self.clock.operation or self.clock.actions:
            return
        last, now = self.branch.frame_before(self.clock.step), time.perf_counter()
        apart = min(SHARE * self._kept_in, LONGEST)
        is_due = now - self._kept_at >= max(apart, PORTION)
        if apart <= PORTION and last is not None:
            is_due = is_due or self.clock.step - last.step >= self.pace
        if last is None or is_due:
            frame = Frame.of(self.trainer.bank, self.clock.step, self.trainer.settings)
            self.keyframes.add(self.branch, frame)
            self._kept_at = time.perf_counter()
            self._kept_in = self._kept_at - now

    def after_operation(self) -> Clock:
        """Return the moment after the next operation."""
        step, operation = self.clock.place
        last = len(self.trainer.moments) - 1
        return Clock(step, operation + 1) if operation < last else Clock(step + 1)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Visit a moment within a step: the current one or, between steps, before the last update.

        Raises:
            OrderError: at the start of training.
        """
        now = self.clock
        if now.operation:
            yield
            return
        require(now.step != 0, "nothing has been computed yet: advance first", OrderError)
        with self.visit_end(now.step - 1):
            yield

    @contextmanager
    def visit(self, moment: Clock) -> Iterator[None]:
        """Visit another moment of this branch, and return to the current moment at the end."""
        with self._visiting():
            self.go(moment)
            yield

    @contextmanager
    def visit_end(self, step: int) -> Iterator[None]:
        """Visit the moment before the update of an earlier step."""
        with self._visiting():
            self.enter(step)
            self.forward(Clock(step, len(self.trainer.moments) - 1))
            yield

    @contextmanager
    def _visiting(self) -> Iterator[None]:
        """Return to the current moment at the end of the block, unnoticed by other threads."""
        now, home = self.clock, self._home
        with self.unseen():
            self._home = home or now
            try:
                yield
            finally:
                self.repair()
                self.go(now)
                self._home = home

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Publish the position only at the end of this block, for example of a replay."""
        try:
            with meanwhile(self, asking=True):
                yield
        finally:
            self.show()

    # Actions of the user.

    def note(self, kind: str, details: dict[str, Any]) -> Action:
        """Journal a user action, and apply it now or, if it must wait, at the next step."""
        actions = self.applied((kind, details))
        self.journal(*actions)
        return actions[0]

    def applied(self, *changes: tuple[str, dict[str, Any]]) -> list[Action]:
        """Return user actions made from kinds and details; apply those that need not wait."""
        self.trainer.check_changes()
        self._apply_queued()
        here, made = self.clock.place, []
        for kind, details in changes:
            later = ACTIONS[kind].waits and self.clock.operation > 0
            place = (self.clock.step + 1, 0) if later else here
            made.append(Action(*place, kind, details, here if later else None))
        if now := [action for action in made if action.asked is None]:
            self._interrupted = True
            self.trainer.apply(*now)
        return made

    def journal(self, *actions: Action) -> None:
        """Journal actions that `applied` has returned."""
        before, waiting = self.spot, self.branch.waiting_at(self.clock)
        if self.branch.end > self.clock:
            self.fork()
        for action in actions:
            self.branch.insert(action)
            if action.asked is None:
                self.clock = self.clock._replace(actions=self.clock.actions + 1)
                self._interrupted = False
        self.branch.end = self.clock
        if not self.visits.under_way:  # changes by callbacks belong to the training
            self.undo_log.add(Change(before, self.spot, [*actions], waiting))

    @property
    def spot(self) -> BranchMoment:
        """The current branch and moment."""
        return BranchMoment(self.branch, self.clock)

    def _apply_queued(self) -> None:
        """Apply actions that were requested in the previous step and are due now."""
        for action in self.branch.actions_at(self.clock.place)[self.clock.actions :]:
            if action.asked is None:
                break
            self._apply(action)
            self.branch.end = max(self.branch.end, self.clock)

    def fork(self) -> Branch:
        """Start a new branch at the current moment, and return it."""
        self.branch = self.branch.fork_at(len(self.branches), self.clock)
        self.branch.renames = WeakMethod(self._renamed)
        self.branches.append(self.branch)
        return self.branch

    def _renamed(self, branch: Branch, before: str) -> None:
        """Record the renaming of a branch for undo."""
        if not self.visits.under_way:
            self.undo_log.add(Change(self.spot, self.spot, name=(branch, before)))

    def switch(self, branch: Branch) -> None:
        """Switch to the same step of another branch, or to its end if that is earlier."""
        target = branch.end if branch.end.step <= self.clock.step else Clock(self.clock.step)
        self.restore(target.step, branch)
        self.forward(target)

    def take_over(self, branches: list[Branch], branch: Branch, clock: Clock) -> None:
        """Use loaded or copied branches, and go to a moment of one of them."""
        self.branches, self.branch = branches, branch
        for each in branches:
            each.renames = WeakMethod(self._renamed)
        self.keyframes = Keyframes(self.keyframes.budget)
        self.restore(clock.step)
        self.keyframes.take(branches, branch)
        self.forward(clock)
        self.remember()
        self.show()

    def remember(self) -> None:
        """Store the current numbers, so that direct writes to the bank can be detected later."""
        self._outside_writes.remember(self.clock.operation > 0)

    @property
    def remembered(self) -> FloatArray:
        """The weights as of the last `remember`, which match the clock."""
        self.trainer.bank.fetch()
        return self._outside_writes.value.array

    @property
    def has_outside_writes(self) -> bool:
        """Return whether the bank was written to since the last `remember`."""
        return bool(self._outside_writes.changes())

    def journal_outside_writes(self) -> None:
        """Journal direct writes to the bank since the last `remember`.

        Numbers that a device has lost are restored from the last keyframe. Raises OrderError if the
        engine or an activation of the network was changed outside the session.
        """
        if self.trainer.bank.away.is_lost:
            self.restore(self.clock.step)
            self.remember()
        for kind, details in self._outside_writes.changes():
            self.note(kind, details)
        try:
            self.trainer.check_untouched()
        except OrderError:  # _set_network made another run, which has not begun this step
            self._interrupted = self.clock.operation > 0
            raise


def paced(steps: float, seconds: float, portion: float) -> float:
    """Return how many steps to take in about `portion` seconds, after a portion of `steps`.

    Args:
        seconds: duration of a step in the last portion; a portion has at most four times the steps
            of the last one
    """
    return min(max(portion / max(seconds, 1e-9), 1.0), 4.0 * steps, MOST_STEPS)


@contextmanager
def holding(*timelines: Timeline) -> Iterator[None]:
    """Let pictures show the same samples throughout this block, while entire steps are taken."""
    with ExitStack() as stack:
        for each in timelines:
            stack.enter_context(meanwhile(each, holds=True))
        yield


class Position(NamedTuple):
    """An immutable position of a Timeline, which other threads can read at any time.

    `leaps` counts moves other than by single operations, such as entire steps. `end` is the current
    end of the branch, which grows during training. `seen` is the step whose batch is shown in
    pictures, which does not change while entire steps are played.
    """

    clock: Clock
    branch: Branch
    program: Program
    loss: float
    leaps: int
    end: Clock
    seen: int

    @property
    def moments(self) -> tuple[Moment, ...]:
        """All operations of a step, in order, from zero_grad to the update."""
        return self.program.moments


# Units: advancing and going back by operations, phases, samples, steps or epochs.

UNITS = {name: name for name in ("operation", "phase", "sample", "step", "epoch")}


def check_unit(timeline: Timeline, unit: str) -> None:
    """Raise InputError if the unit is unknown or not available for this batch size."""
    require(
        unit != "neuron",
        "the unit neuron exists only in pictures: a session moves by operations, of all neurons "
        "of a layer",
    )
    pick(UNITS, unit, "unit")
    count = timeline.trainer.batches.size
    require(
        unit != "sample" or count == 1,
        f"the batch has {count} samples, which pass each operation together: move by operations, "
        "phases, steps or epochs",
    )


def advance(timeline: Timeline, count: int, unit: str) -> None:
    """Advance by `count` units, or until training stops automatically.

    A recorded training run always moves by recorded moments, whatever the unit.
    """
    unit = "step" if timeline.trainer.recorded is not None else unit
    stops = timeline.stops
    before, stops.everywhere = stops.everywhere, True  # also in repeated steps
    try:
        if unit in ("operation", "phase"):
            check_losses(timeline.clock.step + count // len(timeline.trainer.moments))
            for _ in range(count):
                after = timeline.after_operation() if unit == "operation" else after_phase(timeline)
                timeline.forward(after)
                if timeline.visits.stopped:
                    break
            timeline.walked = timeline.leaps, timeline.clock
        else:
            timeline.leaps += 1
            steps = timeline.trainer.batches.steps_an_epoch if unit == "epoch" else 1
            target = timeline.trainer.run.step_after(timeline.clock.step // steps, count) * steps
            check_losses(target)
            timeline.forward(Clock(target))
    finally:
        stops.everywhere = before


def advance_with_bar(timeline: Timeline, count: int, unit: str, wanted: bool) -> None:
    """Call `advance`, with a progress bar if `wanted` and there are several steps."""
    steps = 1 if count == 1 and unit == "step" else steps_in(timeline, count, unit)
    if steps < 2 and wanted:
        return advance(timeline, count, unit)
    first, between = timeline.clock.step, timeline.between
    with Progress(steps, wanted) as progress:

        def tell() -> None:
            between()
            progress.tell(timeline.clock.step - first, timeline.loss)

        with meanwhile(timeline, between=tell):
            advance(timeline, count, unit)


def steps_in(timeline: Timeline, count: int, unit: str) -> int:
    """Return the approximate number of steps in `count` units."""
    if unit == "epoch":
        return count * timeline.trainer.batches.steps_an_epoch
    return count // len(beginnings(timeline, unit)) if unit in ("operation", "phase") else count


def back(timeline: Timeline, count: int, unit: str) -> None:
    """Go back by `count` units, at most to the start."""
    unit = "step" if timeline.trainer.recorded is not None else unit
    if unit in ("operation", "phase"):
        with timeline.unseen():
            back_within_steps(timeline, count, unit)
    else:
        timeline.leaps += 1
        steps = timeline.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        begun = timeline.clock.step + (timeline.clock.operation > 0)
        target = timeline.trainer.run.step_after(-(-begun // steps), -count) * steps
        timeline.go(Clock(max(0, target)))


def beginnings(timeline: Timeline, unit: str) -> list[int]:
    """Return the indices of a step's operations at which a unit (operation or phase) begins."""
    phases = ["", *(moment.phase for moment in timeline.trainer.moments)]
    return [
        i
        for i, (before, phase) in enumerate(pairwise(phases))
        if unit == "operation" or before != phase
    ]


def after_phase(timeline: Timeline) -> Clock:
    """Return the moment at the end of the current phase."""
    step, operation = timeline.clock.place
    later = [first for first in beginnings(timeline, "phase") if first > operation]
    return Clock(step, later[0]) if later else Clock(step + 1)


def back_within_steps(timeline: Timeline, count: int, unit: str) -> None:
    """Go back by `count` operations or phases, at most to the start."""
    step, operation = timeline.clock.place
    while True:
        begun = [first for first in beginnings(timeline, unit) if first < operation]
        if count <= len(begun) or step == 0:
            return timeline.go(Clock(step, begun[-count] if count <= len(begun) else 0))
        count, step = count - len(begun), step - 1
        timeline.enter(step)
        operation = len(timeline.trainer.moments)


@final
@dataclass(frozen=True, eq=False)
class SavedFile:
    """The file to which a session was last saved, or from which it was loaded.

    Attributes:
        path: absolute path of the file
        branch: current branch at the time of saving or loading
        actions: user actions in this branch at that time
    """

    path: Path
    branch: Branch
    actions: list[Action]

    @staticmethod
    def of(timeline: Timeline, path: object) -> SavedFile:
        """Return a SavedFile for a file that has just been written or read."""
        return SavedFile(Path(str(path)).absolute(), timeline.branch, actions_of(timeline.branch))

    def has(self, branch: Branch) -> bool:
        """Return whether the saved file is enough to reproduce all moments of a branch."""
        return branch is self.branch and actions_of(branch) == self.actions and self.path.is_file()


def actions_of(branch: Branch) -> list[Action]:
    """Return the user actions, except engine changes that keep the precision."""
    start = branch.frame_before(0)
    precision = None if start is None else start.settings.precision
    found = []
    for action in branch.journal:
        before, precision = precision, action.details.get("precision", precision)
        if action.kind != "engine" or precision != before:
            found.append(action)
    return found


@final
@dataclass(frozen=True, eq=False)
class Origin:
    """Origin of a session that was made by changing a network, such as by adding a neuron.

    Attributes:
        did: description of the change, such as "1 neuron added to layer 0"
        step: number of steps taken by the earlier session
        operation: number of operations done in the next step of the earlier session
        session: the earlier Session, unchanged; None in a loaded session
        rows: for each row of the bank, the row of the earlier bank, int64; -1 for a new weight.
            None in a loaded session
    """

    did: str
    step: int = 0
    operation: int = 0
    session: Session | None = None
    rows: npt.NDArray[np.int64] | None = None

    def __str__(self) -> str:
        within = f", operation {self.operation}" if self.operation else ""
        return f"from step {self.step:,}{within}: {self.did}"

    def __repr__(self) -> str:
        return f"Origin({self})"
