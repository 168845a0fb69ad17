"""Session: trains a network or compiled expression, with a clock that can run backwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, final
from weakref import finalize

import numpy as np

from scalarviz.base.checks.attributes import set_known, unknown
from scalarviz.base.checks.numbers import answered, number, shorten, size, true_or_false
from scalarviz.base.leaf_calls import caption_and_edit, load_timeline, save_timeline
from scalarviz.base.messages import caution
from scalarviz.base.process.memory import check_losses
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.losses import AnyLoss, Loss
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.model.away import EVERY
from scalarviz.core.model.optimizer import Optimizer
from scalarviz.core.model.precision import Precision
from scalarviz.core.model.weight import Weight
from scalarviz.errors import InputError, OwnershipError
from scalarviz.training.network.base import Model
from scalarviz.training.session.background import Player
from scalarviz.training.session.branch_names import checked_name, find_branch
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.callbacks import Callback, StepView, check_callback
from scalarviz.training.session.caption import Caption
from scalarviz.training.session.doing import Doing
from scalarviz.training.session.kept import Kept
from scalarviz.training.session.lock import SessionLock, SharedSnapshot, Taken
from scalarviz.training.session.metrics import metrics_of
from scalarviz.training.session.plateau import MetricCallback
from scalarviz.training.session.stops import in_one_text
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import (
    Trainer,
    one_row,
    rows_of,
    settings_of,
)
from scalarviz.training.session.units import advance, advance_with_bar, back, check_unit
from scalarviz.training.session.user_actions import UserActions
from scalarviz.training.session.weight_history import WeightHistory, copy_at_start

Unit = Literal["operation", "phase", "sample", "step", "epoch"]

MEMORY = 256 * 2**20


@final
class Session(UserActions):
    """A network, its data, a loss and an optimizer, and a clock that stands between operations.

    A step does zero_grad, forward (operation by operation), loss, backward (last to first: delta,
    weight gradient, input gradient), step. `advance` and `back` move by operations, phases, steps
    or epochs; `seek` goes to any step. Actions of the user are journalled with their moment and
    replayed; going back and doing something else starts a branch.

    network    a Network or a compiled Expression; the session moves it to its engine
    data       a data set, or a pair of arrays (inputs, targets); the targets are rows of numbers,
               one number a sample for one output, or, with softmax_cross_entropy and
               sigmoid_cross_entropy, class labels 0, 1, ..., one a sample
    loss       a name, a Loss, or what `sv.loss` returned; by default "mse"
    optimizer  an Optimizer; None, the default: SGD(0.01)
    batch      samples a step; None, the default: all of them
    engine     "python", "cpu", "cuda" or "auto", the default: the fastest that works here
    seed       seed of the batches, an integer from 0; by default 0
    precision  "full", the default, "mixed" or a Precision; mixed runs on the engine cpu
    memory     bytes for keyframes, by default 256 MB; less memory means longer replays
    metrics    names, such as "accuracy", and functions f(predictions, targets) -> float, in a list;
               both arrays have the shape (samples, outputs), and predictions are probabilities if
               the loss is on logits. "loss" is the loss of held-out samples, which the others
               measure too. By default none; see the property `metrics`
    every      steps between two measurements; by default 100

    Raises InputError for unsuitable arguments, EngineError if the engine cannot run here.

    Every method can be called from any thread; one thing is done at a time.

    - What moves, changes or computes waits for the call that is under way, such as the whole of
      `advance(1_000_000)`; during background play, for one portion: some 5 ms, at least one step.
      These are `advance`, `back`, `seek`, `reset`, `edit`, `freeze`, `set_activation`, `to`,
      `stop_when`, `first`, `branch`, `switch`, `undo`, `redo`, `numbers`, `norms`, `explain`,
      `samples_that_moved`, `caption`, `copy`, `save`, and setting a rate, optimizer, data, loss
      function, batch, engine or precision.
    - What only reads does not wait: every property, `repr`, `history`, `to_csv`, `to_pandas`, and
      `request` and `ready` of a `snapshot`, which is filled in between two portions, also of a long
      `advance`. Neither do `play`, `pin`, `on_step` and `pause(timeout=0)`.
    - `pause()` waits for the current portion, `read` of a snapshot that is not ready for the lock,
      `history(wait=True)` for the background thread.
    - The thread of a window, or of a picture in a notebook, never waits for a training: a request
      that takes longer than 50 ms is finished in another thread.

    Background play ends when the session is no longer referenced, and at the end of the program.

    >>> from scalarviz import Network
    >>> net = Network([2, 4, 1], "tanh", seed=1)
    >>> s = Session(net, ([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]]), engine="python")
    >>> s.advance(3)
    >>> s.step_index, s.next
    (3, 'zero_grad')
    >>> s.back(1)
    >>> s.advance(2, "operation")
    >>> s.done, s.next
    ('affine 0', 'tanh 0')
    """

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

    @answered
    def __init__(
        self,
        network: Model,
        data: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | None = None,
        batch: int | None = None,
        engine: str = "auto",
        seed: int = 0,
        *,
        precision: str | Precision = "full",
        memory: int = MEMORY,
        metrics: object = (),
        every: int = 100,
    ) -> None:
        if not isinstance(network, Model):
            raise InputError(
                f"a session trains a Network or a compiled function, not {shorten(network)}"
            )
        if isinstance(loss, (np.ndarray, list, tuple)):
            raise InputError(
                f"the loss is a name, not {shorten(loss)}: pass inputs and targets as one pair, "
                "sv.Session(net, (inputs, targets))"
            )
        precision, loss, seed = Precision.of(precision), Loss.of(loss), check_seed(seed)
        batch = None if batch is None else size(batch, "batch")
        settings = settings_of(network, data, loss, optimizer, batch, engine, precision)
        memory, every = size(memory, "memory"), size(every, "every")
        measured = metrics_of(metrics, every, settings.data)
        with network.bank.guard:  # another session may be training it
            trainer = Trainer(network, settings, seed)
            if batch is not None and batch > trainer.batches.size:
                caution(
                    f"a batch of {batch:,} samples is larger than the data, so that each step has "
                    f"its {trainer.batches.size:,}: pass batch=None for all of them"
                )
            timeline = Timeline(trainer, memory)
            timeline.visits.metrics = measured
            self._begin(timeline)

    def _begin(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self._session_lock = SessionLock()
        self._player = Player(self._session_lock)
        self._weight_history = WeightHistory(timeline, self._session_lock)
        self._focus = 0
        self._rests = False  # whether background play rests for long between portions
        timeline.between = self._session_lock.between
        timeline.trainer.bank.guard = self._session_lock.lock
        timeline.trainer.bank.session = self
        finalize(self, self._weight_history.stop).atexit = False

    # Moving the clock.

    def advance(self, n: int = 1, unit: Unit = "step", *, progress: bool = True) -> None:
        """Advance by `n` of a `unit`.

        n         number of units, at least 0, which changes nothing; by default 1
        unit      "operation", "phase", "sample", "step", the default, or "epoch"
        progress  True, the default: a progress bar in a terminal or a notebook, if it takes longer
                  than a second; False: none

        Raises GradientError if a gradient is not finite, UpdateError if a step would make a weight
        infinite; the session then stands before that step.
        """
        check_unit(self.timeline, unit)
        if progress is not True:
            progress = true_or_false(progress, "progress")
        if size(n, "n", least=0):
            with self.doing():
                self.timeline.visits.stopped = ""
                advance_with_bar(self.timeline, int(n), unit, progress)

    def back(self, n: int = 1, unit: Unit = "step") -> None:
        """Go back by `n` of a `unit`, at most to the start; arguments as in `advance`."""
        check_unit(self.timeline, unit)
        if size(n, "n", least=0):
            with self.doing():
                back(self.timeline, int(n), unit)

    def seek(self, step: int) -> None:
        """Go to the moment of arrival at `step`, an integer from 0, before the actions there.

        A callback that stops the training at an earlier step ends it there.
        """
        clock = Clock(size(step, "step", least=0))
        check_losses(clock.step)
        with self.doing():
            self.timeline.leaps += 1
            self.timeline.visits.stopped = ""
            self.timeline.go(clock)

    def reset(self) -> None:
        """Go to the start and begin a new branch; earlier branches are kept."""
        with self.doing(as_one=True):
            self.timeline.leaps += 1
            self.timeline.go(Clock())
            if self.timeline.branch.end > Clock():
                self.timeline.fork()

    def play(
        self, speed: float | None = None, unit: Unit = "step", until: int | None = None
    ) -> None:
        """Advance in a background thread; if it plays already, change speed, unit or end.

        speed  units per second; None, the default: as fast as possible
        unit   as in `advance`; by default "step"
        until  the step at which it pauses by itself; None, the default: none

        Returns at once. Raises the error that ended the previous play if no `pause` has raised it.
        """
        check_unit(self.timeline, unit)
        if unit == "epoch":
            steps = self.timeline.trainer.batches.steps_an_epoch
            speed, unit = (None if speed is None else speed * steps), "step"
        self.timeline.visits.stopped = ""
        self._rests = speed is not None and speed * EVERY < 1.0
        end = None if until is None else size(until, "until", least=0)
        self._player.play(self._portion, speed, unit, end)
        if self._rests:
            self.network.bank.fetch()

    def pause(self, timeout: float | None = None) -> None:
        """Stop background play after the current portion; safe to call at any time.

        timeout  seconds to wait for the portion; None, the default: no limit

        Raises the error that ended the play, once: in the first call after it.
        """
        if timeout is not None:
            timeout = number(timeout, "the timeout", 0.0)
        try:
            self._player.pause(timeout)
        finally:
            self.network.bank.fetch()

    def follow(self, leader: Player) -> None:
        """Let a SharedClock advance this session in the background; its own play ends.

        leader  the Player of the clock; `playing` and `pause` mean its play, too
        """
        self._player.follow(leader)

    def on_step(self, function: Callable[[StepView], object], every: int | None = None) -> Callback:
        """Call a function of yours at every some steps; `remove()` of the result ends that.

        function  f(view), called on arrival at a step, after its metrics were measured. The view
                  shows `step`, `loss`, `losses`, `metrics`, `learning_rate`, and `values` and
                  `gradients` of all weights, read-only; `set_rate`, `edit`, `freeze` and `stop`
                  take effect when the function returns. What it writes into weights takes effect,
                  too; methods that change the session raise OrderError
        every     steps between two calls; None, the default: 1, or, for EarlyStopping and
                  ReduceOnPlateau, the steps between two measurements

        A step is visited once: going back and on again repeats what the function has changed,
        without calling it, until `branch()` or a change starts a branch. In background play it is
        called by the background thread. Its errors end the training at this step. Copies and files
        have no callbacks. Returns a Callback. Raises InputError for an unsuitable function.
        """
        check_callback(function)
        metrics, period = self.timeline.visits.metrics, 1
        if isinstance(function, MetricCallback):
            period = function.check(metrics, held_out=self.data.held_out is not None)
        period = period if every is None else size(every, "every")
        return self.timeline.visits.add(function, period)

    @property
    def playing(self) -> bool:
        """Whether background play is under way, of its own or with others on one clock."""
        return self._player.playing

    def snapshot(self) -> SharedSnapshot:
        """Return a Snapshot of the current numbers, which does not hold up training.

        Its `request()` asks for a copy and `ready` says whether it has arrived, both at once;
        `read()` waits for it, and so does `await s.snapshot()` in a coroutine.
        """
        timeline = self.timeline
        return SharedSnapshot(self._session_lock, timeline.trainer.snapshot, lambda: timeline.here)

    # Branches, and what is shown.

    def branch(self, name: str = "") -> Branch:
        """Start a branch at this moment and return it; later steps stay in the previous branch.

        name  its name, see `Branch.name`; "", the default: what will be done there

        Raises InputError for a name that is too long or cannot be read.
        """
        name = checked_name(name)
        with self.doing(as_one=True):
            made = self.timeline.fork()
            made.given_name = name
            return made

    def switch(self, branch: Branch | int | str) -> None:
        """Switch to another `branch`, one of `branches`, its number or its name.

        The session goes to the same step if the branch reaches it, else to the end of the branch.
        Raises InputError for a branch that it does not have, and for a name that several have.
        """
        with self.doing(as_one=True):
            self.timeline.switch(find_branch(self.timeline.branches, branch))

    def pin(self, weight: Weight | int | Sequence[int], on: bool = True) -> None:
        """Record values and gradients of some weights; earlier ones are replayed in the background.

        weight  a Weight of the network, its row in the bank, or several rows
        on      False: stop recording and forget the history; by default True

        Returns at once.
        """
        if on:
            self._check_owner()
        self._weight_history.pin(rows_of(self.network, weight).tolist(), on)

    def caption(self, weight: Weight | int | None = None) -> Caption:
        """Return what the last operation did, in words and in numbers, as below the picture.

        weight  the Weight, or its row of the bank, that the caption is about: for an operation on
                its layer it has the numbers of this weight, or of its neuron; None, the default:
                what the picture shows when no weight is pinned

        A prompt and `print` show it as text; its parts are `title`, a sentence, `formula`, and
        `numbers`, lines with the numbers of the sample `focus` in the formula. Between two steps it
        says what the whole step did to the weight, before the first what a cube is. A weight that
        was edited since has a line more. Raises ShapeError for a row that the network lacks.
        """
        row = None if weight is None else one_row(self.network, weight)
        return caption_and_edit(self, row)

    # Files, and copies.

    def copy(self, branch: Branch | int | None = None) -> Session:
        """Return a session at this moment on a copy of the network, independent of this one.

        branch  one of `branches`, or its number: the copy goes over to it, see `switch`; None, the
                default: that of this session

        It has the same past, branches, keyframes, memory, pinned weights and focus, and does not
        play. `sv.watch([s.copy(branch) for branch in s.branches])` shows branches side by side, and
        all of them can go on. Raises InputError for a session of a compiled expression, and for a
        branch that it does not have.
        """
        number = None if branch is None else find_branch(self.branches, branch).number
        with self.doing():
            memory = self.timeline.keyframes.budget
            twin = copy_at_start(self.timeline, self.network, self.timeline.clock, memory)
            copied = Session.of(twin)
            copied._weight_history.take_over(self._weight_history)
            copied._focus = self._focus
            copied.timeline.visits.metrics = self.timeline.visits.metrics
        if number is not None and number != copied.current_branch.number:
            with copied.doing():
                copied.timeline.switch(copied.branches[number])
        return copied

    def save(self, path: object, *, progress: bool = True) -> None:
        """Write the session with its past and all branches to a file, for `Session.load(path)`.

        path      the file; one of that name is replaced, whole or not at all
        progress  True, the default: a progress bar in a terminal or a notebook, if writing takes
                  longer than a second; False: none

        Raises FileError if the file cannot be written.
        """
        with Progress(0, true_or_false(progress, "progress"), "megabytes"), self.doing():
            save_timeline(self.timeline, path)
            self.timeline.kept = Kept.of(self.timeline, path)

    @classmethod
    def load(
        cls, path: object, data: object = None, *, limit: int | None = None, metrics: object = ()
    ) -> Session:
        """Load a session from a file; it continues as if it had not stopped.

        path     a file written by `save`
        data     the data set; needed if it is made by code, which the file cannot hold
        limit    bytes that a data set which the file only describes, and one sample on its way
                 through the network, may take; None, the default: 128 MB or eight times the size of
                 the file, whichever is more, and 640 MB for the sample
        metrics  functions that the session measured, which the file cannot hold; without them their
                 recorded values are kept, and no more are measured

        Raises FileError if the file is damaged, of another kind or too large.
        """
        timeline = load_timeline(path, data, limit, metrics)
        timeline.kept, timeline.was_loaded = Kept.of(timeline, path), True
        return cls.of(timeline)

    @classmethod
    def of(cls, timeline: Timeline) -> Session:
        """Return a session of a `timeline` that no other session has."""
        session = cls.__new__(cls)
        session._begin(timeline)
        return session

    def _portion(self, most: int | None, unit: str, until: int | None) -> int:
        """Advance by at most `most` units, for about PORTION seconds; return by how many.

        It does not go beyond the step `until`.
        """
        with Doing(self._session_lock, self.timeline, self._check_owner, plays=True):
            count = max(1, int(self.timeline.pace)) if unit == "step" else 1
            count = count if most is None else min(count, most)
            if until is not None:
                count = max(0, min(count, until - self.step_index))
            advance(self.timeline, count, unit)
            if self.timeline.visits.stopped:
                self._player.stop()
        if self._rests or not self.playing:
            self.network.bank.fetch()  # the next portion may be long in coming
        return count

    def doing(self, *, as_one: bool = False) -> Doing:
        """Hold the lock, after journalling direct writes to the bank as edits.

        as_one  True: one `undo` takes back all that is changed meanwhile; by default False

        Raises OrderError when called from within a portion, OwnershipError if another session has
        taken over the network.
        """
        return Doing(self._session_lock, self.timeline, self._check_owner, as_one=as_one)

    @property
    def has_turn(self) -> bool:
        """Whether this thread holds the session's lock, and so need not wait."""
        return self._session_lock.mine

    def inherit(self, thread: int | None) -> None:
        """Hold the lock from now on if `thread` holds it, which never goes on."""
        self._session_lock.inherit(thread)

    def still(self, seconds: float) -> Taken:
        """Hold the lock, so that the clock stands still; yield False if not within `seconds`."""
        return self._session_lock.taken(-1 if seconds == math.inf else seconds)

    def _check_owner(self) -> None:
        if self.timeline.trainer.bank.session is not self:
            raise OwnershipError(
                "this network is trained by another session now: go on with that one, or give "
                "each session a network of its own, such as net.copy()"
            )

    def __repr__(self) -> str:
        place = f"done: {self.done or 'nothing'}, next: {self.next}"
        loss = "" if np.isnan(self.loss) else f", loss {self.loss:.4g}"
        came = f"; {self.origin}" if self.origin else ""
        own = len(self.timeline.trainer.settings.optimizer.own_rates)
        rates = f", {own:,} weights with a rate of their own" if own else ""
        conditions = in_one_text(self.stop_conditions)
        stops = f"; stops when {conditions}" if conditions else ""
        about = f"{loss}, {self.engine}{rates}; {place}{came}{stops}"
        return f"Session: step {self.step_index:,}{about}"
