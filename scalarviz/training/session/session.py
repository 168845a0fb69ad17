"""Session: train a network or a compiled expression, and move back and forward in time."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, final
from weakref import finalize

import numpy as np

from scalarviz.base.attributes import set_known, unknown
from scalarviz.base.checks import (
    FloatArray,
    answered,
    not_copied,
    require,
    shorten,
    size,
    true_or_false,
)
from scalarviz.base.leaf_calls import (
    caption_and_edit,
    load_timeline,
    save_text,
    save_timeline,
    session_html,
)
from scalarviz.base.limits import check_losses
from scalarviz.base.messages import inform
from scalarviz.base.progress import Progress
from scalarviz.core.device_arrays import EVERY
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, AnyLoss, Loss
from scalarviz.core.formulas.metric_formulas import LOSS
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.weight import Part, Weight
from scalarviz.data import DataSet
from scalarviz.errors import InputError, OrderError, OwnershipError
from scalarviz.story.caption import Caption
from scalarviz.training.network.model import Model
from scalarviz.training.network.model_queries import (
    check_activation,
    check_engine,
    check_loss,
    places_of,
)
from scalarviz.training.network.named_arrays import Norms, norms_of
from scalarviz.training.session.actions import addable, check_batch_of, checked_batch, checked_rate
from scalarviz.training.session.branches import (
    KEYFRAMES,
    Branch,
    Clock,
    Series,
    checked_name,
    find_branch,
)
from scalarviz.training.session.callbacks import (
    Callback,
    MetricCallback,
    StepView,
    check_callback,
    is_rising,
    place_of_best,
)
from scalarviz.training.session.conditions import checked
from scalarviz.training.session.explanation import (
    Explanation,
    OperationNumbers,
    explain,
    last_edit,
    numbers_of,
)
from scalarviz.training.session.measurements import (
    csv_of,
    data_frame,
    history_columns,
    measured_names,
    metrics_of,
    series,
)
from scalarviz.training.session.replays import (
    KINDS,
    Recorded,
    SamplesMoved,
    WeightHistory,
    copy_at_start,
    first_held,
    samples_that_moved,
)
from scalarviz.training.session.stops import KIND, in_one_text
from scalarviz.training.session.threads import (
    Background,
    SharedSnapshot,
    TakenLock,
    Turn,
    play,
)
from scalarviz.training.session.timeline import (
    Origin,
    SavedFile,
    Timeline,
    advance,
    advance_with_bar,
    back,
    check_unit,
    holding,
)
from scalarviz.training.session.trainer import (
    Trainer,
    as_values,
    one_row,
    rows_of,
    settings_now,
    settings_of,
)

Unit = Literal["operation", "phase", "sample", "step", "epoch"]

MEMORY = 256 * 2**20
OF_A_SESSION = "of a session cannot be set here: set s.learning_rate, or another s.optimizer"


@final
class Session:
    """A training session: a network, data, a loss and an optimizer, with a clock that can go back.

    A step consists of zero_grad, forward (operation by operation), loss, backward (from the last
    operation to the first: delta, weight gradient, input gradient) and step. `advance` and `back`
    move by operations, phases, steps or epochs; `seek` goes to any step. Changes by the user are
    journalled and replayed. A change after going back starts a new branch.

    Args:
        network: a Network or a compiled Expression; the session moves it to `engine`
        data: a data set, or a pair of arrays (inputs, targets). Named inputs may be a dict, see
            `net.input_rows`. Targets have shape (samples, outputs); or (samples,) for one output,
            or for class labels 0, 1, ... with softmax_cross_entropy and sigmoid_cross_entropy
        loss: a name, a Loss, or a custom loss made by `sv.loss`; "mse" by default
        optimizer: an Optimizer, or a name such as "adam" with its default rate; SGD(0.01) by
            default
        batch: number of samples per step; None (default) means all samples
        engine: "python", "cpu", "cuda" or "auto"; "auto" (default) chooses the fastest one
            available
        seed: seed of the batches, a non-negative integer; 0 by default
        precision: "full" (default), "mixed" or a Precision; "mixed" requires the "cpu" engine
        memory: number of bytes for keyframes, 256 MB by default; less memory makes going back
            slower
        metrics: list of names, such as "accuracy", and functions f(predictions, targets) -> float
            of two arrays of shape (samples, outputs); predictions are probabilities if the loss is
            on logits. The held-out loss is measured along with any metric; "loss" measures only
            that. Empty by default; see the property `metrics`
        every: number of steps between measurements; 100 by default

    Raises:
        InputError: for invalid arguments.
        EngineError: if the engine is not available.

    All methods are thread-safe. Calls are executed one at a time.

    - Methods that move, change or compute wait until the current call returns, even if it is
      `advance(1_000_000)`. During background play they only wait for the current portion, which
      takes about 5 ms or one step. These are `advance`, `back`, `seek`, `reset`, `edit`, `freeze`,
      `set_rate`, `add_samples`, `set_activation`, `to`, `stop_when`, `first`, `branch`, `switch`,
      `undo`, `redo`, `numbers`, `norms`, `explain`, `sample_losses`, `samples_that_moved`,
      `caption`, `copy`, `save`, and setting a rate, optimizer, data, loss function, batch, engine
      or precision.
    - Methods that only read do not wait: every property, `own_rate`, `repr`, `history`,
      `best_step`, `to_csv`, `to_pandas`, and `request` and `ready` of a `snapshot`, which is filled
      between two portions even during a long `advance`. `play`, `pin`, `on_step` and
      `pause(timeout=0)` do not wait either.
    - `pause()` waits for the current portion, `read` of a snapshot that is not ready waits for the
      lock, and `history(wait=True)` waits for the background thread.
    - The thread of a window, or of a picture in a notebook, never waits for training; a request
      that takes longer than 50 ms is completed in another thread.

    Background play ends when the session is no longer referenced, or when the program exits.

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

    timeline: Timeline

    __reduce_ex__ = not_copied(
        "a session, which has locks and possibly a thread",
        "s.copy() makes a second one, and s.save(path) keeps it in a file for Session.load(path)",
    )

    @answered
    def __init__(
        self,
        network: Model,
        data: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | str | None = None,
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
                f"a session trains a Network or a compiled function, not {shorten(network)}: write "
                "sv.Network([3, 8, 3]), or sv.compile(lambda x, y: model([x, y]), inputs=2)"
            )
        names = {*LOSSES, *ROW_LOSSES, *OPTIMIZERS} if isinstance(data, str) else ()
        if isinstance(data, (Optimizer, Loss)) or data in names:
            raise InputError(
                f"the data is missing, got {shorten(data)} instead: write sv.Session(net, data, "
                "loss, optimizer), with data such as sv.data.Xor() or a pair of arrays (inputs, "
                "targets)"
            )
        if isinstance(loss, (np.ndarray, list, tuple)):
            raise InputError(
                f"the loss is a name, not {shorten(loss)}: pass inputs and targets as one pair, "
                "sv.Session(net, (inputs, targets))"
            )
        precision, loss, seed = Precision.of(precision), Loss.of(loss), check_seed(seed)
        batch = checked_batch(batch)
        settings = settings_of(network, data, loss, optimizer, batch, engine, precision)
        check_batch_of(settings.data, batch, seed)
        memory, every = size(memory, "memory"), size(every, "every")
        measured = metrics_of(metrics, every, settings)
        with network.bank.guard:  # another session may be training it
            before = network.bank.step_count
            trainer = Trainer(network, settings, seed)
            timeline = Timeline(trainer, memory)
            timeline.visits.metrics, timeline.steps_before = measured, before
            self._begin(timeline)

    def _begin(self, timeline: Timeline) -> None:
        self.timeline = timeline  # the clock and its branches
        self.trainer = timeline.trainer  # the settings, and the runner of steps
        self.visits = timeline.visits  # metrics and callbacks
        self.stops = timeline.stops  # the conditions at which it stops automatically
        self.undo_log = timeline.undo_log  # the changes by the user
        self._player = self._own_player = Background(timeline.lock)
        self._weight_history = WeightHistory(timeline)
        self._focus = 0
        self._rests = False  # whether background play rests for long between portions
        timeline.between = timeline.lock.between
        timeline.trainer.bank.guard = timeline.lock.lock
        timeline.trainer.bank.session = self
        finalize(self, self._weight_history.background.stop).atexit = False

    # The current moment.

    @property
    def network(self) -> Any:  # a Model; attributes of Network are checked before use
        """The Network or Expression being trained."""
        return self.trainer.network

    @property
    def clock(self) -> Clock:
        """The current moment: step, operations done in it, and user actions applied there."""
        return self.timeline.here.clock

    @property
    def step_index(self) -> int:
        """Number of completed steps, which is also the index of the next step."""
        return self.timeline.here.clock.step

    @property
    def epoch(self) -> float:
        """Number of epochs so far: the number of steps divided by the steps per epoch."""
        return self.timeline.here.clock.step / self.trainer.batches.steps_an_epoch

    @property
    def branches(self) -> list[Branch]:
        """All branches, in the order of their creation."""
        return list(self.timeline.branches)

    @property
    def current_branch(self) -> Branch:
        """The branch to which the current moment belongs."""
        return self.timeline.here.branch

    @property
    def origin(self) -> Origin | None:
        """The session from which this one was made, and the change of its network.

        None unless this session was made by a function that changes the network, such as
        `add_neurons`, `remove_neuron`, `insert_layer` or `remove_layer`.
        """
        return self.timeline.origin

    @property
    def operations(self) -> list[str]:
        """Names of the operations of a step, in order."""
        return [moment.name for moment in self.timeline.here.moments]

    @property
    def done(self) -> str:
        """Name of the last operation; "" at the start of training."""
        here = self.timeline.here
        before = here.moments[here.clock.operation - 1].name
        return before if here.clock.operation or here.clock.step else ""

    @property
    def next(self) -> str:
        """Name of the next operation."""
        here = self.timeline.here
        return here.moments[here.clock.operation].name

    @property
    def phase(self) -> str:
        """Phase of the next operation, such as "backward"."""
        here = self.timeline.here
        return here.moments[here.clock.operation].phase

    @property
    def loss(self) -> float:
        """The last computed loss; initially NaN."""
        return self.timeline.here.loss

    @property
    def losses(self) -> FloatArray:
        """Loss of each step taken, before its update; float64, 1-D.

        At least the last 2**20 losses of a branch are exact. For older steps, only the minimum and
        maximum of each block of several hundred steps are stored (also in files), and returned
        alternately for the steps of the block. `first` and `seek` compute exact losses by a replay.
        """
        here = self.timeline.here
        return here.branch.losses[: here.clock.step]

    @property
    def stopped(self) -> str:
        """Reason for which the last `advance`, `seek` or `play` ended early, or "".

        The reason is a condition of `stop_when`, or a text given by a callback.
        """
        return self.visits.stopped

    @property
    def metrics(self) -> dict[str, Series]:
        """Steps (int64) and values (float64) of each metric on this branch so far, 1-D arrays.

        The value at step k is measured with the weights after k steps, on the next batch. The names
        of metrics on held-out samples begin with "held_out_", such as "held_out_loss".
        """
        here = self.timeline.here
        return series(here.branch, here.clock.step)

    def best_step(self, metric: str = "held_out_loss", mode: str = "auto") -> int:
        """Return the step with the best value of a metric on this branch so far.

        Args:
            metric: name in `s.metrics`; "held_out_loss" by default
            mode: "min", "max" or "auto", as in EarlyStopping; "auto" by default

        Raises:
            InputError: if the metric has not been measured.
        """
        measured = self.metrics
        require(
            measured,
            "no metric has been measured here: write sv.Session(..., metrics=['accuracy'], "
            "every=100), and advance",
        )
        steps, values = pick(measured, metric, "metric measured here:")
        return int(steps[place_of_best(values, is_rising(metric, mode))])

    def to_pandas(self) -> Any:
        """Return the losses and metrics of this branch so far as a pandas DataFrame.

        The index is the number of steps. A row contains measurements of the weights after these
        steps; cells without a measurement are NaN. Raises InputError if pandas is not installed.
        """
        columns = history_columns(self.losses, self.metrics, np.nan, float)
        return data_frame(columns, "write a file by s.to_csv(path)", len(columns[LOSS]))

    def to_csv(self, path: object) -> None:
        """Write the losses and metrics of this branch so far to the CSV file `path`.

        The rows are as in `to_pandas`; cells without a measurement are empty. Raises FileError if
        the file cannot be written.
        """
        columns = history_columns(self.losses, self.metrics, "", object)
        save_text(csv_of({"step": range(len(columns[LOSS])), **columns}), path)

    # Moving the clock.

    def advance(
        self,
        n: int = 1,
        unit: Unit = "step",
        *,
        epochs: int | None = None,
        progress: bool = True,
    ) -> None:
        """Advance training by `n` units.

        Args:
            n: number of units, at least 0; 1 by default
            unit: "operation", "phase", "sample", "step" (default) or "epoch"
            epochs: number of epochs, as an alternative to `n` and `unit`
            progress: whether to show a progress bar in a terminal or notebook if this takes longer
                than a second; True by default

        Raises:
            GradientError: if a gradient is not finite.
            UpdateError: if a step would make a weight infinite; the session then stays before this
                step.
        """
        if epochs is not None:
            require(
                (n, unit) == (1, "step"),
                "pass only epochs=, without n and unit: s.advance(epochs=3)",
            )
            n, unit = size(epochs, "epochs", least=0), "epoch"
        timeline = self.timeline
        if unit != "step":
            check_unit(timeline, unit)
        if progress is not True:
            progress = true_or_false(progress, "progress")
        if count := size(n, "n", least=0):
            with self.doing():
                timeline.visits.stopped = ""
                advance_with_bar(timeline, count, unit, progress)

    def back(self, n: int = 1, unit: Unit = "step") -> None:
        """Go back by `n` of a `unit`, stopping at the start; see `advance` for the units."""
        check_unit(self.timeline, unit)
        if size(n, "n", least=0):
            with self.doing():
                back(self.timeline, int(n), unit)

    def seek(self, step: int) -> None:
        """Go to the start of a step, before the user actions there; train if it is in the future.

        `step` is a non-negative integer. If a callback stops training at an earlier step, the
        session stays there.
        """
        step = size(step, "step", least=0)
        check_losses(step)
        with self.doing():
            self.timeline.leaps += 1
            self.visits.stopped = ""
            # In a record, this is the last recorded moment up to the step.
            self.timeline.go(Clock(self.trainer.run.step_after(step + 1, -1)))

    def reset(self) -> None:
        """Go to step 0 and begin a new branch; earlier branches are kept."""
        with self.doing(as_one=True):
            self.timeline.leaps += 1
            self.timeline.go(Clock())
            if self.timeline.branch.end > Clock() and self.trainer.recorded is None:
                self.timeline.fork()

    def play(
        self,
        speed: float | None = None,
        unit: Unit = "step",
        until: int | None = None,
        *,
        film: bool = False,
    ) -> None:
        """Advance in a background thread; if already playing, change the speed, unit or end.

        Args:
            speed: units per second; None (default) means as fast as possible
            unit: see `advance`; "step" by default
            until: step at which to pause; None (default) means no limit
            film: whether to first show 27 moments in 16 seconds on a logarithmic time scale: the
                steps 0, 1, 2, 3, 4, 5, 6, 8, 11, ..., 2,964 that are not yet passed, and `until`,
                at least 0.6 seconds apart; False by default

        Returns immediately. If threads are not available, as in a browser, the running asyncio loop
        advances the session. Raises the error that ended the previous play, unless `pause` has
        already raised it.
        """
        check_unit(self.timeline, unit)
        if unit == "epoch":
            steps = self.trainer.batches.steps_an_epoch
            speed, unit = (None if speed is None else speed * steps), "step"
        self.visits.stopped = ""
        film = true_or_false(film, "film")
        self._rests = film or (speed is not None and speed * EVERY < 1.0)
        end = None if until is None else size(until, "until", least=0)
        if self._player is not self._own_player:
            self._player.stop()  # of a SharedClock
            self._player = self._own_player
        first = self.step_index if film else None
        play(self._player, self.timeline.lock, self._portion, speed, unit, end, film=first)
        if self._rests:
            self.network.bank.fetch()

    def pause(self, timeout: float | None = None) -> None:
        """Stop background play after the current portion; has no effect if not playing.

        Args:
            timeout: maximum number of seconds to wait; None (default) means no limit

        Raises the error that ended the play, but only once.
        """
        try:
            # A thread with the lock would wait forever for others that wait for the lock.
            self._player.pause(0.0 if self.timeline.lock.mine else timeout)
        finally:
            self.network.bank.fetch()

    def follow(self, leader: Background) -> None:
        """Let another thread do the background play of this session.

        Args:
            leader: thread of a SharedClock, to which `playing` and `pause` refer from now on
        """
        if self._player is not leader:
            self.pause()
        self._player = leader

    def on_step(self, function: Callable[[StepView], object], every: int | None = None) -> Callback:
        """Register a callback: a function that is called at regular steps.

        Args:
            function: function f(view), called on arrival at a step, after metrics have been
                measured. The view has the read-only attributes `step`, `loss`, `losses`, `metrics`,
                `learning_rate`, `values` and `gradients`. Its methods `set_rate`, `edit`, `freeze`
                and `stop` take effect when the function returns. Assigning to weights also takes
                effect; methods that change the session raise OrderError
            every: number of steps between calls; None (default) means 1 or, for EarlyStopping and
                ReduceOnPlateau, the steps between measurements

        The function is called only once for each step of a branch. When steps are repeated after
        going back, its changes are replayed without calling it. During background play, it is
        called by the background thread. If it raises an error, training ends at this step. Copies
        and files do not contain callbacks. Returns a Callback, whose `remove()` ends the calls.
        Raises InputError for an invalid function.
        """
        check_callback(function)
        period = 1
        if isinstance(function, MetricCallback):
            period = function.check(self.visits.metrics, held_out=self.data.held_out is not None)
        period = period if every is None else size(every, "every")
        return self.visits.add(function, period)

    @property
    def playing(self) -> bool:
        """Whether background play is running, of this session alone or on a SharedClock."""
        return self._player.busy

    def snapshot(self) -> SharedSnapshot:
        """Return a Snapshot, which copies the current numbers without delaying training.

        `request()` starts a copy and `ready` is whether it has arrived; neither blocks. `read()`,
        or `await s.snapshot()` in a coroutine, waits for the copy.
        """
        return SharedSnapshot(self.timeline)

    # Branches.

    def branch(self, name: str = "") -> Branch:
        """Start a new branch at the current moment and return it.

        Args:
            name: name of the branch, see `Branch.name`; "" (default) describes the first change in
                the branch

        Later steps remain in the previous branch. Raises InputError for a name that is too long or
        has invisible characters.
        """
        name = checked_name(name)
        with self.doing(as_one=True):
            self.trainer.check_changes()
            made = self.timeline.fork()
            made.given_name = name
            return made

    def switch(self, branch: Branch | int | str) -> None:
        """Switch to another `branch`: a Branch, its number or its name.

        The session goes to the same step if the branch reaches it, otherwise to the end of the
        branch. Raises InputError for an unknown branch or an ambiguous name.
        """
        with self.doing(as_one=True):
            self.timeline.switch(find_branch(self.timeline.branches, branch))

    def undo(self) -> None:
        """Undo the last change by going to the moment before it.

        Changes are edits (including direct writes to the bank), freezing, settings, renaming a
        branch, `reset`, `branch` and `switch`. Later steps are kept in a branch, to which `redo`
        returns. Changes by callbacks cannot be undone. Copies and loaded sessions have no changes
        to undo. Raises OrderError if there is nothing to undo.
        """
        with self.doing():
            self.undo_log.undo(self.timeline)

    def redo(self) -> None:
        """Redo the change that was undone last by going to the moment after it.

        Steps taken after the change can be reached again, up to the next change that is still
        undone. Raises OrderError if nothing has been undone since the last change.
        """
        with self.doing():
            self.undo_log.redo(self.timeline)

    # Changes by the user: each is a row of `ACTIONS`, journalled and replayed.

    def edit(self, weight: Weight | int | Sequence[int], value: object) -> None:
        """Set the value of one or several weights at the current moment.

        Args:
            weight: a Weight of the network, its bank row, or several rows
            value: a finite number; for several rows, one number for all or one for each

        Raises:
            InputError: for an invalid value.
            ShapeError: for a row that the network does not have.
        """
        rows = rows_of(self.network, weight)
        self._do("edit", rows=rows, values=as_values(value, rows, self.network.bank.dtype))

    def freeze(self, part: Part | int | str | Sequence[int], on: bool = True) -> None:
        """Freeze a part of the network, so that training does not change it, or unfreeze it.

        Args:
            part: a Weight, a Perceptron, a Layer, a name such as "0.weight", a bank row or several
                rows
            on: True (default) freezes the part; False unfreezes it
        """
        self._do("freeze", rows=rows_of(self.network, part), on=bool(on))

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step, including the factor of the schedule; at least 0.

        Setting the rate ends the schedule and takes effect at the next step.
        """
        return self.trainer.settings.optimizer.rate(self.network.bank.step_count)

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._do("learning rate", rate=checked_rate(rate))

    def set_rate(self, part: Part | int | str | Sequence[int], rate: float | None) -> None:
        """Set a separate learning rate for a part of the network, starting with the next step.

        Args:
            part: a Weight, a Perceptron, a Layer, a name such as "0.weight", a bank row or several
                rows
            rate: learning rate, at least 0; None returns to the rate of the session

        The rate is kept when the `learning_rate` or the `optimizer` of the session changes, and is
        multiplied by the factor of the schedule. With a rate of 0, the part does not change, but
        unlike with `freeze`, the optimizer still updates its slots. `own_rate` returns the rate.
        Raises InputError for an invalid rate or a frozen part.
        """
        rows = rows_of(self.network, part)
        rate = None if rate is None else checked_rate(rate)
        with self.doing():
            if rate is not None and self.network.bank.frozen[rows].all():
                several = (
                    f"each of {len(rows)} weights" if isinstance(part, Sequence) else shorten(part)
                )
                name = self.network.name_of(rows[0]) if len(rows) == 1 else several
                raise InputError(
                    f"{name} is frozen, so it has no effective rate: write "
                    "s.freeze(part, False) first"
                )
            self.timeline.note("own rate", {"rows": rows, "rate": rate})

    def own_rate(self, part: Part | int | str | Sequence[int]) -> float | None:
        """Return the learning rate set by `set_rate` for a part, or None for the session's rate.

        Args:
            part: a Weight, a Perceptron, a Layer, a name such as "0.weight", a bank row or several
                rows

        The rate does not include the schedule; it is NaN if the part has several rates. Raises
        ShapeError for a row that the network does not have.
        """
        return self.trainer.settings.optimizer.own_rates.of_all(rows_of(self.network, part))

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer, which is read-only; to change it, set `learning_rate` or a new optimizer.

        A new optimizer with the same slot names and schedule, such as Adam with other penalties or
        AdamW after Adam, keeps the slots and the step count. Any other optimizer starts with empty
        slots and restarts the schedule.
        """
        return self.trainer.settings.optimizer.sealed(OF_A_SESSION)

    @optimizer.setter
    def optimizer(self, optimizer: Optimizer | str) -> None:
        chosen = copy.copy(Optimizer.of(optimizer)).on(self.network._rows_named)
        with self.doing():
            goes_on = chosen.goes_on_from(settings_now(self).optimizer)
            self.timeline.note("optimizer", {"optimizer": chosen, "goes_on": goes_on})

    @property
    def data(self) -> DataSet:
        """The data set; setting it takes effect at the next step."""
        return self.trainer.settings.data

    @data.setter
    def data(self, data: object) -> None:
        with self.doing():
            found = self.trainer.fitting(data, settings_now(self).loss)
            self.timeline.note("data", {"data": found})

    @property
    def loss_function(self) -> Loss:
        """The Loss that training minimizes; setting a name or a Loss takes effect at the next step.

        The attribute `loss` is its last value. Setting a loss that does not fit the last activation
        or the targets raises InputError.
        """
        return self.trainer.settings.loss

    @loss_function.setter
    def loss_function(self, loss: AnyLoss) -> None:
        chosen = Loss.of(loss)
        with self.doing():
            now = settings_now(self)
            chosen.check_output(now.activations[-1] if now.activations else "linear")
            if now.activations == self.network.activations:
                check_loss(self.network, chosen)
            self.trainer.fitting(now.data, chosen)
            self.timeline.note("loss", {"loss": chosen})

    @property
    def batch(self) -> int | None:
        """Number of samples per step, or None for all; setting it takes effect at the next step.

        Setting a number larger than the data set raises InputError. The samples of a step depend on
        the seed, the step and the batch size, so changing the size also changes the order of
        samples.
        """
        return self.trainer.settings.batch

    @batch.setter
    def batch(self, count: int | None) -> None:
        chosen = checked_batch(count)
        with self.doing():
            check_batch_of(settings_now(self).data, chosen, self.trainer.seed)
            self.timeline.note("batch", {"size": chosen})

    def add_samples(self, inputs: object, targets: object) -> None:
        """Add one or several samples to the training data, starting with the next step.

        Args:
            inputs: array of shape (inputs,) or (samples, inputs), or a dict of named inputs
            targets: array of shape (outputs,) or (samples, outputs), or class labels if the targets
                of the data are one-hot, as in Digits

        The new samples are appended to `data.training`, and `data.added` contains only them. With
        `batch=None`, each step includes them; otherwise the batch keeps its size, and its samples
        depend on the seed, the step and the number of samples. Held-out samples are not changed.
        Setting another data set removes the added samples. At most 10,000 samples can be added.
        Their sample weights are 1.

        Raises:
            InputError: for generated data, or for invalid numbers, such as a colour above 1.
            ShapeError: for samples of another shape.
            NotFiniteError: for samples with NaN or infinity.
        """
        with self.doing():
            data = addable(settings_now(self).data)
            x, y = data.as_added(self.network.input_rows(inputs), targets)
            self.trainer.fitting(data.with_added(x, y), settings_now(self).loss)
            self.timeline.note("samples", {"inputs": x, "targets": y})

    @property
    def engine(self) -> str:
        """Name of the engine; setting it calls `to(name)`."""
        return self.trainer.network.engine

    @engine.setter
    def engine(self, name: str) -> None:
        self.to(name)

    @property
    def precision(self) -> Precision:
        """The precision; setting "full", "mixed" or a Precision calls `to(engine, ...)`."""
        return self.trainer.network.precision

    @precision.setter
    def precision(self, precision: str | Precision) -> None:
        self.to(settings_now(self).engine, precision)

    def to(self, engine: str, precision: str | Precision | None = None) -> None:
        """Switch to another engine or precision, starting with the next step.

        Args:
            engine: "python", "cpu", "cuda" or "auto"
            precision: "full", "mixed" or a Precision; None (default) keeps the precision

        Raises:
            EngineError: if the engine is not available, or does not support the precision; mixed
                precision requires "cpu".
        """
        name, chosen = check_engine(self.network, engine, precision, self.trainer.batches)
        self._do("engine", name=name, precision=chosen)

    def set_activation(self, layer: int, name: str) -> None:
        """Set the activation of a layer, starting with the next step.

        Args:
            layer: index of the layer
            name: name of an activation, such as "tanh"

        Raises:
            UnknownNameError: for an unknown name.
            InputError: for a layer without an activation.
        """
        places = places_of(self.network, check_activation(self.network, layer, name))
        name = activation_row(name).name
        with self.doing(as_one=True):
            if len(self.network.activations) - 1 in places:
                settings_now(self).loss.check_output(name)
            for place in places:
                self.timeline.note("activation", {"layer": place, "name": name})

    def stop_when(self, *conditions: str) -> None:
        """Stop training automatically at the first step at which a condition holds.

        Args:
            conditions: strings, such as "grad norm > 10", "loss rises 3x", "held-out accuracy >
                0.9" or "not finite", optionally joined by "or". They replace all earlier
                conditions; without arguments, training no longer stops automatically

        `advance` and `play` stop at this step, even when repeating steps after going back; `seek`
        stops only at new steps. `stopped` contains the reason. A condition that continues to hold
        stops training only once, and again after a step at which it did not hold. With "not
        finite", training ends before a step that would raise an error, without raising it.

        See "Stop at a condition" in the guide for all conditions. For anything else, a callback
        stops the training: `on_step` and `view.stop`. Raises UnknownNameError or InputError for an
        invalid text.
        """
        with self.doing():
            found = checked(conditions, self._measured_names())
            self.timeline.note(KIND, {"conditions": found})

    @property
    def stop_conditions(self) -> list[str]:
        """Conditions at which training stops automatically, as strings; set by `stop_when`."""
        return [each.text for each in self.trainer.settings.stops]

    # The numbers of the current batch.

    @property
    def focus(self) -> int:
        """Index in the batch of the sample to display; can be set."""
        return min(self._focus, self.trainer.batches.size - 1)

    @focus.setter
    def focus(self, sample: int) -> None:
        count = self.trainer.batches.size
        if not isinstance(sample, (int, np.integer)) or not 0 <= sample < count:
            raise InputError(f"the batch has samples 0 to {count - 1}, and no {shorten(sample)}")
        self._focus = int(sample)

    def numbers(self, operation: str) -> OperationNumbers:
        """Return the inputs, outputs and gradients of one operation for the current batch.

        Args:
            operation: name of an operation, such as "affine 0"

        Between two steps, the numbers belong to the last step. Raises UnknownNameError for an
        unknown operation, and OrderError before the first step or if the operation exists only from
        the next step.
        """
        with self.doing():
            coming = [each.name for each in self.network.program.operations]
            with self.timeline.at_work():
                known = {each.name: each for each in self.network.program.operations}
                if operation in coming and operation not in list(known):
                    raise OrderError(
                        f"{operation!r} has not been computed yet, since an activation was "
                        f"changed after the last step, which has {', '.join(known)}: advance first"
                    )
                found = pick(known, operation, "operation")
                return numbers_of(self.trainer, found, self.timeline.clock.operation)

    def explain(self, weight: Weight | int) -> Explanation:
        """Explain a weight's update in this step: x * g of each sample, gradient and new value.

        `weight` is a Weight or a bank row. Between two steps, the last step is explained; the
        attribute `edit` of the result contains any later edit. Returns an Explanation. Raises
        OrderError before the first step.
        """
        row = one_row(self.network, weight)
        with self.doing():
            edit = last_edit(self.timeline, row)
            with self.timeline.at_work():
                found = explain(self.trainer, row, self.timeline.clock.operation)
            return replace(found, edit=edit)

    def sample_losses(self, *, held_out: bool = False) -> FloatArray:
        """Return the loss of each training sample with the current weights, shape (samples,).

        The network is evaluated without dropout, as when it is called; sample weights are ignored.
        If `held_out`, return the losses of held-out samples. Raises InputError if there are no
        held-out samples, or for data that is generated in each step.

        If `data` is an Arrays made from `inputs`, the ten worst samples are
        `inputs[data.rows[s.sample_losses().argsort()[::-1][:10]]]`.
        """
        with self._looking():
            data = self.trainer.settings.data
            asks = true_or_false(held_out, "held_out")
            given: Any = data.held_out if asks else getattr(data, "training", None)
            lacks = "held-out samples" if held_out else "fixed samples"
            require(given is not None, f"this data has no {lacks}: pass others, as sv.data.Arrays")
            inputs, targets = given
            return self.trainer.loss.of_each(self.network(inputs), targets)

    def samples_that_moved(
        self, weight: Weight | int, steps: int = 100, most: int = 5, *, progress: bool = True
    ) -> SamplesMoved:
        """Return the samples that changed a weight most in the last steps.

        Args:
            weight: a Weight or a bank row
            steps: number of steps to look back; 100 by default
            most: maximum number of samples to return; 5 by default
            progress: whether to show a progress bar in a terminal or notebook if this takes longer
                than a second; True by default

        The steps are replayed. In one step, a sample's part of the gradient is the sum of x * g
        over all uses of the weight. With SGD, the amount of a sample is the sum of |rate * part|
        over the steps, where the rate includes the schedule and clip_norm. Apart from l1 and l2,
        this is exactly the change that the sample causes. With other optimizers, clip_value or
        mixed precision, the amount is the sum of |part|. Steps at which the weight is frozen count
        as 0; steps before a change of the data set are left out. Returns SamplesMoved.

        Raises:
            OrderError: before the first step.
            InputError: for data that is generated in each step, or for a compiled function.
        """
        row, steps, most = one_row(self.network, weight), size(steps, "steps"), size(most, "most")
        wanted = true_or_false(progress, "progress")
        with self.doing(), Progress(min(steps, self.timeline.clock.step), wanted) as bar:
            return samples_that_moved(self.timeline, row, steps, most, bar.tell)

    def norms(self) -> dict[str, Norms]:
        """Return the norms of the values and the gradients of each layer with parameters.

        The keys are layer indices, as in `net.state_dict()`. Between two steps, the gradients
        belong to the last step. Raises InputError for a compiled function.
        """
        with self._looking():
            return norms_of(self.network.layers)

    def caption(self, weight: Weight | int | None = None) -> Caption:
        """Return the caption of the last operation: a description with its numbers.

        Args:
            weight: a Weight or a bank row; for operations on its layer, the caption shows the
                numbers of this weight or its neuron. None (default) means the weight that a picture
                explains by default

        Returns a Caption, which prints as text. Its attributes include `title`, a sentence;
        `formula`; and `numbers`, lines with the numbers of the sample `focus`. Between two steps,
        the caption describes the effect of the last step on the weight; before the first step, it
        explains the meaning of a cube. If the weight has been edited since, another line describes
        the edit. Raises ShapeError for a row that the network does not have.
        """
        row = None if weight is None else one_row(self.network, weight)
        found: Caption = caption_and_edit(self, row)
        return found

    # The past.

    def first(self, *conditions: str, progress: bool = True) -> int | None:
        """Return the first step so far at which one of the conditions held, or None.

        Args:
            conditions: strings, as in `stop_when`
            progress: whether to show a progress bar in a terminal or notebook if this takes longer
                than a second; True by default

        Conditions on losses and metrics use recorded values. The other conditions require a
        step-by-step replay of this branch, which Ctrl-C cancels. The session does not move; use
        `seek` to go to the step. At each step, the numbers before any changes made there are used.
        Raises the same errors as `stop_when`.
        """
        wanted = true_or_false(progress, "progress")
        with self.doing(), Progress(self.timeline.clock.step + 1, wanted) as bar:
            given = checked(conditions, self._measured_names())
            found = first_held(self.timeline, given, bar.tell)
            if found is not None:
                self.stops.mark(self.timeline.branch, found, in_one_text(given))
            return found

    def pin(self, weight: Weight | int | Sequence[int], on: bool = True) -> None:
        """Record the values and gradients of weights; earlier steps are replayed in the background.

        Args:
            weight: a Weight of the network, its bank row, or several rows
            on: True (default) starts recording; False stops it and discards the history

        Returns immediately.
        """
        if on:
            self._check_owner()
        self._weight_history.pin(rows_of(self.network, weight).tolist(), on)

    @property
    def pinned(self) -> list[int]:
        """Bank rows of the pinned weights."""
        return self._weight_history.rows

    def history(
        self, weight: Weight | int, kind: Recorded = "value", *, wait: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the recorded steps of a pinned weight so far, and its values or gradients there.

        Args:
            weight: a Weight or a bank row
            kind: "value" (default) for the value on arrival at a step; "gradient" for the gradient
                used by the previous step, 0 at the start
            wait: whether to wait until the background thread has replayed the steps before pinning,
                and to raise any error in it; False by default

        Returns two arrays of the same length, int64 and float64. If the weight is not pinned, they
        are empty and a message is logged.
        """
        row, kind = one_row(self.network, weight), pick(KINDS, kind, "kind of history")
        if wait:
            self._weight_history.background.complete()
        if row not in self.pinned:
            inform(f"{self.network.name_of(row)} has no history: s.pin({row}) records it")
        return self._weight_history.history(row, kind)

    # Files, and copies.

    def copy(self, branch: Branch | int | None = None) -> Session:
        """Return an independent copy of the session and its network, at the current moment.

        Args:
            branch: Branch, or branch number, to which the copy switches, see `switch`; None
                (default) means the current branch

        The copy has the same history, branches, keyframes, memory limit, pinned weights and focus,
        and is not playing. `sv.watch([s.copy(branch) for branch in s.branches])` shows all branches
        side by side, and each can be trained. Raises InputError for a session of a compiled
        expression, or an unknown branch.
        """
        number = None if branch is None else find_branch(self.branches, branch).number
        with self.doing():
            memory = self.timeline.keyframes.budget
            twin = copy_at_start(self.timeline, self.network, self.timeline.clock, memory)
            copied = Session.of(twin)
            copied._weight_history.take_over(self._weight_history)
            copied._focus = self._focus
            copied.visits.metrics = self.visits.metrics
        if number is not None and number != copied.current_branch.number:
            with copied.doing():
                copied.timeline.switch(copied.branches[number])
        return copied

    def save(
        self,
        path: object,
        *,
        data: bool = True,
        keyframes: int | None = KEYFRAMES,
        progress: bool = True,
    ) -> None:
        """Save the session with its history and all branches to a file for `Session.load(path)`.

        Args:
            path: path of the file; an existing file is replaced atomically
            data: True (default) stores the samples of `sv.data.Arrays`; False stores only their
                SHA-256, so that `Session.load(path, data=...)` requires the same samples
            keyframes: number of bytes for keyframes in the file, 16 MB by default; None stores all
                keyframes. Fewer keyframes make the file smaller, but going back is slower in the
                loaded session
            progress: whether to show a progress bar in a terminal or notebook if writing takes
                longer than a second; True by default

        Raises:
            FileError: if the file cannot be written.
            InputError: if loading the file would require more than one data set.
        """
        data = true_or_false(data, "data")
        keyframes = None if keyframes is None else size(keyframes, "keyframes", 0)
        with Progress(0, true_or_false(progress, "progress"), "megabytes"), self._looking():
            save_timeline(self.timeline, path, data, keyframes)
            self.timeline.kept = SavedFile.of(self.timeline, path)

    @classmethod
    def load(
        cls, path: object, data: object = None, *, limit: int | None = None, metrics: object = ()
    ) -> Session:
        """Load a session from a file; training continues as if it had not been interrupted.

        Args:
            path: path of a file written by `save`
            data: a data set or a pair of arrays; required for data sets made by code, and after
                `save(path, data=False)`, with the same samples
            limit: maximum number of bytes for a data set described in the file, and for the
                activations of one sample; None (default) means 128 MB or eight times the size of
                the file, whichever is more, and 640 MB for the activations
            metrics: custom metric functions of the session, which files cannot store; without them,
                the recorded values are kept, but these metrics are no longer measured

        Raises:
            FileError: if the file is damaged, of another kind, or exceeds the limit.
        """
        timeline = load_timeline(path, data, limit, metrics)
        timeline.kept, timeline.was_loaded = SavedFile.of(timeline, path), True
        return cls.of(timeline)

    @classmethod
    def of(cls, timeline: Timeline) -> Session:
        """Return a session for a `timeline` that does not belong to another session."""
        session = cls.__new__(cls)
        session._begin(timeline)
        return session

    def _do(self, kind: str, **details: Any) -> None:
        with self.doing():
            self.timeline.note(kind, details)

    def _measured_names(self) -> list[str]:
        """Return the names of the measured metrics."""
        return measured_names(self.visits.metrics, self.trainer.settings.data)

    def _portion(self, most: int | None, unit: str, until: int | None) -> int:
        """Advance by at most `most` units, for about PORTION seconds; return the number of units.

        Does not advance beyond the step `until`.
        """
        with Turn(self.timeline, self._check_owner, plays=True):
            count = max(1, int(self.timeline.pace)) if unit == "step" else 1
            count = count if most is None else min(count, most)
            if until is not None:
                count = max(0, min(count, until - self.step_index))
            with holding(self.timeline):
                advance(self.timeline, count, unit)
            if self.visits.stopped:
                self._own_player.stop()
        if self._rests or not self.playing:
            self.network.bank.fetch()  # the next portion may come much later
        return count

    def doing(self, *, as_one: bool = False) -> Turn:
        """Return a context manager that holds the lock and journals direct writes to the bank.

        Args:
            as_one: whether a single `undo` reverts all changes made in the block; False by default

        Raises:
            OrderError: if called from within a portion of training.
            OwnershipError: if another session has taken over the network.
        """
        return Turn(self.timeline, self._check_owner, as_one=as_one)

    def _looking(self) -> AbstractContextManager[None]:
        """Return a context manager that holds the lock for reading, even within a callback."""
        if not (self.timeline.lock.mine and self.timeline.visits.under_way):
            return self.doing()
        self.timeline.journal_outside_writes()
        return nullcontext()

    def still(self, seconds: float) -> TakenLock:
        """Return a context manager that yields whether it acquired the lock within `seconds`."""
        return self.timeline.lock.taken(-1 if seconds == math.inf else seconds)

    def _check_owner(self) -> None:
        if self.trainer.bank.session is not self:
            raise OwnershipError(
                "this network is now trained by another session: continue with it, or give each "
                "session a separate network, such as net.copy()"
            )

    def __repr__(self) -> str:
        place = f"done: {self.done or 'nothing'}, next: {self.next}"
        loss = "" if np.isnan(self.loss) else f", loss {self.loss:.4g}"
        came = f"; {self.origin}" if self.origin else ""
        own = len(self.trainer.settings.optimizer.own_rates)
        rates = f", {own:,} weights with separate rates" if own else ""
        conditions = in_one_text(self.stop_conditions)
        stops = f"; stops when {conditions}" if conditions else ""
        about = f"{loss}, {self.engine}{rates}; {place}{came}{stops}"
        return f"Session: step {self.step_index:,}{about}"

    def _repr_html_(self) -> str:
        return session_html(self)
