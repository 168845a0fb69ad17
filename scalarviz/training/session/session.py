"""Session: trains a network or compiled expression, with a clock that can run backwards."""

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
from scalarviz.core.past_numbers import LossPlane
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
from scalarviz.training.session.conditions import Function, checked
from scalarviz.training.session.explanation import (
    Explanation,
    OperationNumbers,
    explain,
    last_edit,
    numbers_of,
)
from scalarviz.training.session.landscape import Landscape
from scalarviz.training.session.landscape import checked as checked_plane
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
    check_end,
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
    """A network, its data, a loss and an optimizer, and a clock that stands between operations.

    A step does zero_grad, forward (operation by operation), loss, backward (last to first: delta,
    weight gradient, input gradient), step. `advance` and `back` move by operations, phases, steps
    or epochs; `seek` goes to any step. Actions of the user are journalled with their moment and
    replayed; going back and doing something else starts a branch.

    Args:
        network: a Network or a compiled Expression; the session moves it to its engine
        data: a data set, or a pair of arrays (inputs, targets), of which inputs by name may be a
            dict, see `net.input_rows`; the targets are rows of numbers, one number a sample for one
            output, or, with softmax_cross_entropy and sigmoid_cross_entropy, class labels 0, 1,
            ..., one a sample
        loss: a name, a Loss, or what `sv.loss` returned; by default "mse"
        optimizer: an Optimizer, or a name such as "adam", with its own rate; by default SGD(0.01)
        batch: samples a step; None, the default: all of them
        engine: "python", "cpu", "cuda" or "auto", the default: the fastest that works here
        seed: seed of the batches, an integer from 0; by default 0
        precision: "full", the default, "mixed" or a Precision; mixed runs on the engine cpu
        memory: bytes for keyframes, by default 256 MB; less memory means longer replays
        metrics: names, such as "accuracy", and functions f(predictions, targets) -> float, in a
            list; both arrays have the shape (samples, outputs), and predictions are probabilities
            if the loss is on logits. "loss" is the loss of held-out samples, which the others
            measure too. By default none; see the property `metrics`
        every: steps between two measurements; by default 100

    Raises:
        InputError: for unsuitable arguments.
        EngineError: if the engine cannot run here.

    Every method can be called from any thread; one thing is done at a time.

    - What moves, changes or computes waits for the call that is under way, such as the whole of
      `advance(1_000_000)`; during background play, for one portion: some 5 ms, at least one step.
      These are `advance`, `back`, `seek`, `reset`, `edit`, `freeze`, `set_rate`, `add_samples`,
      `set_activation`, `to`, `stop_when`, `first`, `branch`, `switch`, `undo`, `redo`, `numbers`,
      `norms`, `explain`, `sample_losses`, `samples_that_moved`, `landscape`, `caption`, `copy`,
      `save`, and setting a rate, optimizer, data, loss function, batch, engine or precision.
    - What only reads does not wait: every property, `own_rate`, `repr`, `history`, `best_step`,
      `to_csv`, `to_pandas`, and `request` and `ready` of a `snapshot`, which is filled in between
      two portions, also of a long `advance`. Neither do `play`, `pin`, `on_step` and
      `pause(timeout=0)`.
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

    timeline: Timeline

    __reduce_ex__ = not_copied(
        "a session, which has locks and perhaps a thread of its own",
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
                f"the data is missing, {shorten(data)} stands in its place: write sv.Session(net, "
                "data, loss, optimizer), with data such as sv.data.Xor() or a pair of arrays "
                "(inputs, targets)"
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
        self.trainer = timeline.trainer  # the settings, and what performs a step
        self.visits = timeline.visits  # metrics and callbacks
        self.stops = timeline.stops  # the conditions at which it stops by itself
        self.undo_log = timeline.undo_log  # the changes by a user
        self._player = self._own_player = Background(timeline.lock)
        self._weight_history = WeightHistory(timeline)
        self._focus = 0
        self._rests = False  # whether background play rests for long between portions
        timeline.between = timeline.lock.between
        timeline.trainer.bank.guard = timeline.lock.lock
        timeline.trainer.bank.session = self
        finalize(self, self._weight_history.background.stop).atexit = False

    # The present moment.

    @property
    def network(self) -> Any:  # a Model; what a Network alone has is checked where it is used
        """The Network or Expression that is trained."""
        return self.trainer.network

    @property
    def clock(self) -> Clock:
        """The present moment: step, operation, and actions done at this place."""
        return self.timeline.here.clock

    @property
    def step_index(self) -> int:
        """Number of whole steps done, which is the index of the next one."""
        return self.timeline.here.clock.step

    @property
    def epoch(self) -> float:
        """Epochs done so far: steps divided by steps per epoch."""
        return self.timeline.here.clock.step / self.trainer.batches.steps_an_epoch

    @property
    def branches(self) -> list[Branch]:
        """All branches, in the order in which they were started."""
        return list(self.timeline.branches)

    @property
    def current_branch(self) -> Branch:
        """The branch that the session is on."""
        return self.timeline.here.branch

    @property
    def origin(self) -> Origin | None:
        """The session that this one was made from by a change of the network, and what was done.

        None for a session that was not made by `add_neurons`, `remove_neuron`, `insert_layer` or
        `remove_layer`.
        """
        return self.timeline.origin

    @property
    def operations(self) -> list[str]:
        """Names of the moments of a step, in order."""
        return [moment.name for moment in self.timeline.here.moments]

    @property
    def done(self) -> str:
        """Name of the moment that the clock has just passed; "" at the very start."""
        here = self.timeline.here
        before = here.moments[here.clock.operation - 1].name
        return before if here.clock.operation or here.clock.step else ""

    @property
    def next(self) -> str:
        """Name of the moment that comes next."""
        here = self.timeline.here
        return here.moments[here.clock.operation].name

    @property
    def phase(self) -> str:
        """Phase of the moment that comes next."""
        here = self.timeline.here
        return here.moments[here.clock.operation].phase

    @property
    def loss(self) -> float:
        """The last loss that was computed; NaN at first."""
        return self.timeline.here.loss

    @property
    def losses(self) -> FloatArray:
        """Loss of each step that is done, before its update; float64, 1-D.

        The last 2**20 steps of a branch, at least, have their loss exactly, and so has each step of
        a training that is no longer. For older steps only the smallest and the largest loss of each
        block of some hundred steps are kept: steps of a block have them by turns, also in a file.
        `first` and `seek` find the exact ones by a replay.
        """
        here = self.timeline.here
        return here.branch.losses[: here.clock.step]

    @property
    def stopped(self) -> str:
        """Reason for which the last `advance`, `seek` or `play` was ended, or "".

        It is that of a callback, or the condition of `stop_when`.
        """
        return self.visits.stopped

    @property
    def metrics(self) -> dict[str, Series]:
        """Steps and values of each metric on this branch up to now: int64 and float64, 1-D.

        The value at step k is that of the weights after k steps, on the batch that comes next. The
        names of those of held-out samples begin with "held_out_", such as "held_out_loss".
        """
        here = self.timeline.here
        return series(here.branch, here.clock.step)

    def best_step(self, metric: str = "held_out_loss", mode: str = "auto") -> int:
        """Return the step at which a metric was best on this branch up to now; `s.seek` goes there.

        Args:
            metric: name in `s.metrics`; by default "held_out_loss"
            mode: "min", "max" or "auto", the default: as for EarlyStopping

        Raises:
            InputError: if it was never measured.
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
        """Return losses and metrics of this branch up to now as a pandas DataFrame.

        Its index is the step; a row belongs to the weights after so many steps, and is NaN where
        nothing was measured. Raises InputError without pandas.
        """
        columns = history_columns(self.losses, self.metrics, np.nan, float)
        return data_frame(columns, "write a file by s.to_csv(path)", len(columns[LOSS]))

    def to_csv(self, path: object) -> None:
        """Write losses and metrics of this branch up to now into the CSV file `path`.

        Rows are those of `to_pandas`; cells where nothing was measured are empty. Raises FileError
        if the file cannot be written.
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
        """Advance by `n` of a `unit`.

        Args:
            n: number of units, at least 0, which changes nothing; by default 1
            unit: "operation", "phase", "sample", "step", the default, or "epoch"
            epochs: number of epochs, in place of `n` and `unit`
            progress: True, the default: a progress bar in a terminal or a notebook, if it takes
                longer than a second; False: none

        Raises:
            GradientError: if a gradient is not finite.
            UpdateError: if a step would make a weight infinite; the session then stands before that
                step.
        """
        if epochs is not None:
            require(
                (n, unit) == (1, "step"),
                "pass epochs= alone, without n and unit: s.advance(epochs=3)",
            )
            n, unit = size(epochs, "epochs", least=0), "epoch"
        check_unit(self.timeline, unit)
        if progress is not True:
            progress = true_or_false(progress, "progress")
        if size(n, "n", least=0):
            with self.doing():
                self.visits.stopped = ""
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
        step = size(step, "step", least=0)
        check_losses(step)
        with self.doing():
            self.timeline.leaps += 1
            self.visits.stopped = ""
            # Of a record, this is the newest kept moment up to the step.
            self.timeline.go(Clock(self.trainer.run.step_after(step + 1, -1)))

    def reset(self) -> None:
        """Go to the start and begin a new branch; earlier branches are kept."""
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
        """Advance in a background thread; if it plays already, change speed, unit or end.

        Args:
            speed: units per second; None, the default: as fast as possible
            unit: as in `advance`; by default "step"
            until: the step at which it pauses by itself; None, the default: none
            film: True: first 27 moments in 16 seconds, on a logarithmic clock: steps 0, 1, 2, 3, 4,
                5, 6, 8, 11, ... 2,964, those that are left, and `until`, 0.6 seconds apart, or more
                where training takes longer; by default False

        Returns at once. Where no thread can be started, as in a browser, the running loop of
        asyncio advances it. Raises the error that ended the previous play if no `pause` has raised
        it.
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
        """Stop background play after the current portion; safe to call at any time.

        Args:
            timeout: seconds to wait for the portion; None, the default: no limit

        Raises the error that ended the play, once: in the first call after it.
        """
        try:
            # A thread that holds the lock would wait for ever for others, which wait for the lock.
            self._player.pause(0.0 if self.timeline.lock.mine else timeout)
        finally:
            self.network.bank.fetch()

    def follow(self, leader: Background) -> None:
        """Let a thread advance this session in the background, in place of the present one.

        Args:
            leader: the thread of a SharedClock, which `playing` and `pause` mean from now on
        """
        if self._player is not leader:
            self.pause()
        self._player = leader

    def on_step(self, function: Callable[[StepView], object], every: int | None = None) -> Callback:
        """Call a function of yours at every some steps; `remove()` of the result ends that.

        Args:
            function: f(view), called on arrival at a step, after its metrics were measured. The
                view shows `step`, `loss`, `losses`, `metrics`, `learning_rate`, and `values` and
                `gradients` of all weights, read-only; `set_rate`, `edit`, `freeze` and `stop` take
                effect when the function returns. What it writes into weights also takes effect;
                methods that change the session raise OrderError
            every: steps between two calls; None, the default: 1, or, for EarlyStopping and
                ReduceOnPlateau, the steps between two measurements

        A step is visited once: going back and on again repeats what the function has changed,
        without calling it, until `branch()` or a change starts a branch. In background play it is
        called by the background thread. Its errors end the training at this step. Copies and files
        have no callbacks. Returns a Callback. Raises InputError for an unsuitable function.
        """
        check_callback(function)
        period = 1
        if isinstance(function, MetricCallback):
            period = function.check(self.visits.metrics, held_out=self.data.held_out is not None)
        period = period if every is None else size(every, "every")
        return self.visits.add(function, period)

    @property
    def playing(self) -> bool:
        """Whether background play is under way, of its own or with others on one clock."""
        return self._player.busy

    def snapshot(self) -> SharedSnapshot:
        """Return a Snapshot of the current numbers, which does not hold up training.

        Its `request()` asks for a copy and `ready` says whether it has arrived, both at once;
        `read()` waits for it, and so does `await s.snapshot()` in a coroutine.
        """
        return SharedSnapshot(self.timeline)

    # Branches.

    def branch(self, name: str = "") -> Branch:
        """Start a branch at this moment and return it; later steps stay in the previous branch.

        Args:
            name: its name, see `Branch.name`; "", the default: what will be done there

        Raises:
            InputError: for a name that is too long or cannot be read.
        """
        name = checked_name(name)
        with self.doing(as_one=True):
            self.trainer.check_changes()
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

    def undo(self) -> None:
        """Undo the last change: go to the moment before it.

        A change is an edit, a freeze or a setting, also one written into the bank directly, another
        name of a branch, and `reset`, `branch` and `switch`. What was trained since stays in a
        branch, and `redo` leads there. What callbacks changed belongs to the training. Files and
        copies have no changes to undo. Raises OrderError if there is none.
        """
        with self.doing():
            self.undo_log.undo(self.timeline)

    def redo(self) -> None:
        """Do the change that was undone last again: go to the moment after it.

        What was trained there since lies ahead, but no change that is still undone. Raises
        OrderError if nothing was undone since the last change.
        """
        with self.doing():
            self.undo_log.redo(self.timeline)

    # What a user changes: each is a row of `ACTIONS`, journalled and replayed.

    def edit(self, weight: Weight | int | Sequence[int], value: object) -> None:
        """Set the value of one or several weights, from this moment on.

        Args:
            weight: a Weight of the network, its row in the bank, or several rows
            value: a finite number; for several rows, one number or one for each

        Raises:
            InputError: for an unsuitable value.
            ShapeError: for a row that the network lacks.
        """
        rows = rows_of(self.network, weight)
        self._do("edit", rows=rows, values=as_values(value, rows, self.network.bank.dtype))

    def freeze(self, part: Part | int | str | Sequence[int], on: bool = True) -> None:
        """Freeze a part of the network, so that steps do not move it, or unfreeze it.

        Args:
            part: a Weight, Perceptron, Layer, name such as "0.weight", row of the bank, or several
                rows
            on: False: unfreeze; by default True
        """
        self._do("freeze", rows=rows_of(self.network, part), on=bool(on))

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step, schedule included; at least 0.

        Setting it ends the schedule, and takes effect from the next step on.
        """
        return self.trainer.settings.optimizer.rate(self.network.bank.step_count)

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._do("learning rate", rate=checked_rate(rate))

    def set_rate(self, part: Part | int | str | Sequence[int], rate: float | None) -> None:
        """Give a part of the network a learning rate of its own, from the next step on.

        Args:
            part: a Weight, Perceptron, Layer, name such as "0.weight", row of the bank, or several
                rows
            rate: at least 0; None: that of the session again

        It stays the same when the `learning_rate` or the `optimizer` of the session changes, and
        the schedule of the optimizer multiplies it as it does the session's. With a rate of 0 the
        part stays as it is, while the optimizer still notes its gradients; `freeze` ends that, too.
        `own_rate` returns it. Raises InputError for an unsuitable rate or a frozen part.
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
                    f"{name} is frozen, so that no rate moves it: write s.freeze(part, False) first"
                )
            self.timeline.note("own rate", {"rows": rows, "rate": rate})

    def own_rate(self, part: Part | int | str | Sequence[int]) -> float | None:
        """Return the learning rate that `set_rate` gave a part, or None: it has the session's.

        Args:
            part: a Weight, Perceptron, Layer, name such as "0.weight", row of the bank, or several
                rows

        The rate is that before the schedule; NaN if the weights of the part have several. Raises
        ShapeError for a row that the network lacks.
        """
        return self.trainer.settings.optimizer.own_rates.of_all(rows_of(self.network, part))

    @property
    def optimizer(self) -> Optimizer:
        """Read-only optimizer; to change it, set `learning_rate` or another optimizer.

        An optimizer whose slots have the same names and whose schedule is the same, such as Adam
        with other penalties or AdamW after Adam, goes on with the slots and the count of steps.
        Any other one begins with empty slots, and its schedule at its start.
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
        """The data set; setting it takes effect from the next step on."""
        return self.trainer.settings.data

    @data.setter
    def data(self, data: object) -> None:
        with self.doing():
            found = self.trainer.fitting(data, settings_now(self).loss)
            self.timeline.note("data", {"data": found})

    @property
    def loss_function(self) -> Loss:
        """The loss that steps make smaller; setting a name or a Loss holds from the next step on.

        `loss` is its last number. Setting one that does not go with the last activation, or with
        the targets of the data, raises InputError.
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
        """Samples a step, or None: all of them; setting it takes effect from the next step on.

        Setting more than the data has raises InputError. The samples of a step follow from the
        seed, its number and the batch, so that another batch also begins another order of samples.
        """
        return self.trainer.settings.batch

    @batch.setter
    def batch(self, count: int | None) -> None:
        chosen = checked_batch(count)
        with self.doing():
            check_batch_of(settings_now(self).data, chosen, self.trainer.seed)
            self.timeline.note("batch", {"size": chosen})

    def add_samples(self, inputs: object, targets: object) -> None:
        """Add one or several samples to those it learns, from the next step on.

        Args:
            inputs: numbers of a sample, or rows of them; or a dict of them by name
            targets: numbers of its target, or rows; or class labels, if the targets of the data are
                rows that are 1 at a class, such as those of digits

        They come after the others: `data.training` has them at its end, and `data.added` alone.
        `batch=None` takes them into each step; a numbered batch keeps its size, and the samples of
        a step follow from the seed, the step and the number of samples. Held-out samples stay.
        Another data set, or another setting of it, does not have them. At most 10,000 can be added.
        Where samples have weights, theirs are 1.

        Raises:
            InputError: for data that is no table, and for samples that it could not have, such as a
                colour beyond 1; ShapeError, NotFiniteError.
        """
        with self.doing():
            data = addable(settings_now(self).data)
            x, y = data.as_added(self.network.input_rows(inputs), targets)
            self.trainer.fitting(data.with_added(x, y), settings_now(self).loss)
            self.timeline.note("samples", {"inputs": x, "targets": y})

    @property
    def engine(self) -> str:
        """Name of the engine; setting it is `to(name)`."""
        return self.trainer.network.engine

    @engine.setter
    def engine(self, name: str) -> None:
        self.to(name)

    @property
    def precision(self) -> Precision:
        """How numbers are rounded; setting "full", "mixed" or a Precision is `to(engine, ...)`."""
        return self.trainer.network.precision

    @precision.setter
    def precision(self, precision: str | Precision) -> None:
        self.to(settings_now(self).engine, precision)

    def to(self, engine: str, precision: str | Precision | None = None) -> None:
        """Run on another engine, or in another precision, from the next step on.

        Args:
            engine: "python", "cpu", "cuda" or "auto"
            precision: "full", "mixed" or a Precision; None, the default: unchanged

        Raises:
            EngineError: if the engine cannot run here, or not in this precision: mixed runs on
                "cpu".
        """
        name, chosen = check_engine(self.network, engine, precision, self.trainer.batches)
        self._do("engine", name=name, precision=chosen)

    def set_activation(self, layer: int, name: str) -> None:
        """Set the activation of a layer, from the next step on.

        Args:
            layer: index of the layer
            name: name of an activation, such as "tanh"

        Raises:
            UnknownNameError: for an unknown name.
            InputError: for a layer without activation.
        """
        places = places_of(self.network, check_activation(self.network, layer, name))
        name = activation_row(name).name
        with self.doing(as_one=True):
            if len(self.network.activations) - 1 in places:
                settings_now(self).loss.check_output(name)
            for place in places:
                self.timeline.note("activation", {"layer": place, "name": name})

    def stop_when(self, *conditions: str | Function) -> None:
        """Stop by itself from now on, at the first step at which a condition holds; none: no more.

        Args:
            conditions: texts, such as "grad norm > 10", "loss rises 3x", "not finite", "weight 7
                changes sign" or "a neuron is dead", several with "or" between them; or functions
                f(view) -> bool. They replace those set before

        `advance` and `play` stop at that very step, also in steps that are repeated after going
        back, and `stopped` says why; `seek` stops in new steps only. A condition that goes on to
        hold stops once, and again after a step where it did not hold. With "not finite" a step
        that would be refused with an error ends the training before it, without the error.

        The guide, "Stopping by itself", has all conditions. A function sees the `step`, `loss`,
        `losses`, `metrics`, `learning_rate`, `values`, `gradients` and `outputs`, read-only, is
        called after each step, and must change nothing; no file can hold it. Raises
        UnknownNameError for a text without meaning, InputError, ShapeError for a row that the
        network lacks.
        """
        with self.doing():
            found = checked(conditions, self.network, self._measured_names())
            self.timeline.note(KIND, {"conditions": found})

    @property
    def stop_conditions(self) -> list[str]:
        """The conditions at which it stops by itself, as texts; `stop_when` sets them."""
        return [
            each.text + " (lost with its file)" * each.is_lost
            for each in self.trainer.settings.stops
        ]

    # The numbers of the current batch.

    @property
    def focus(self) -> int:
        """Index in the batch of the sample whose numbers are shown; can be set."""
        return min(self._focus, self.trainer.batches.size - 1)

    @focus.setter
    def focus(self, sample: int) -> None:
        count = self.trainer.batches.size
        if not isinstance(sample, (int, np.integer)) or not 0 <= sample < count:
            raise InputError(f"the batch has samples 0 to {count - 1}, and no {shorten(sample)}")
        self._focus = int(sample)

    def numbers(self, operation: str) -> OperationNumbers:
        """Return the numbers of one operation of the current batch, and their gradients.

        Args:
            operation: name of an operation, such as "affine 0"

        Between two steps the current batch is that of the step that is done, with the operations
        that this step had. Raises UnknownNameError if it had no such operation, OrderError if only
        the next step will have it, or if no step has begun yet.
        """
        with self.doing():
            coming = [each.name for each in self.network.program.operations]
            with self.timeline.at_work():
                known = {each.name: each for each in self.network.program.operations}
                if operation in coming and operation not in list(known):
                    raise OrderError(
                        f"{operation!r} has not been computed yet, since an activation was changed "
                        f"after the step that is done, which has {', '.join(known)}: advance first"
                    )
                found = pick(known, operation, "operation")
                return numbers_of(self.trainer, found, self.timeline.clock.operation)

    def explain(self, weight: Weight | int) -> Explanation:
        """Explain how a `weight` moves in this step: x * g of each sample, gradient, new value.

        `weight` is a Weight or a row of the bank. Between two steps, the step that is done is
        explained; an edit since then is in its `edit`. Raises OrderError before the first step.
        """
        row = one_row(self.network, weight)
        with self.doing():
            edit = last_edit(self.timeline, row)
            with self.timeline.at_work():
                found = explain(self.trainer, row, self.timeline.clock.operation)
            return replace(found, edit=edit)

    def sample_losses(self, *, held_out: bool = False) -> FloatArray:
        """Return the loss of each training sample by itself, by the present weights of the network.

        The network is evaluated as by a call, without dropout; weights of samples do not count.
        With `held_out` they are those of the held-out samples. Raises InputError for data without
        these, and for data that makes its samples anew in each step.

        The ten worst of the samples that were given are
        `inputs[data.rows[s.sample_losses().argsort()[::-1][:10]]]`, of `data`, an Arrays.
        """
        with self._looking():
            data = self.trainer.settings.data
            asks = true_or_false(held_out, "held_out")
            given: Any = data.held_out if asks else getattr(data, "training", None)
            lacks = "held-out samples" if held_out else "samples that stay the same in each step"
            require(given is not None, f"this data has no {lacks}: pass others, as sv.data.Arrays")
            inputs, targets = given
            return self.trainer.loss.of_each(self.network(inputs), targets)

    def samples_that_moved(
        self, weight: Weight | int, steps: int = 100, most: int = 5, *, progress: bool = True
    ) -> SamplesMoved:
        """Return the samples that moved a weight most over the last steps.

        Args:
            weight: a Weight or a row of the bank
            steps: how many of the steps that are done; by default 100
            most: how many samples; by default 5
            progress: True, the default: a progress bar in a terminal or a notebook, if it takes
                longer than a second; False: none

        These steps are replayed, and the batch of each follows from seed and step. In one step, a
        sample's part of the gradient is the sum of x * g over the places where the weight is used.
        With SGD the amount is the sum over the steps of |rate * part|, the rate with its schedule
        and clip_norm: exactly what the sample changed the weight by, l1 and l2 apart. With other
        optimizers, clip_value or mixed precision it is the sum of |part|. Steps in which the weight
        was frozen count as 0; those before another data set are left out.

        Raises:
            OrderError: before the first step.
            InputError: for data that makes its samples anew in each step and for a compiled
                function.
        """
        row, steps, most = one_row(self.network, weight), size(steps, "steps"), size(most, "most")
        wanted = true_or_false(progress, "progress")
        with self.doing(), Progress(min(steps, self.timeline.clock.step), wanted) as bar:
            return samples_that_moved(self.timeline, row, steps, most, bar.tell)

    def landscape(
        self,
        weights: Sequence[Weight | int] | None = None,
        size: int = 41,
        *,
        progress: bool = True,
    ) -> LossPlane:
        """Return the loss over a plane through the present weights, and the path of a branch there.

        Args:
            weights: two weights, each a Weight or a row of the bank, along which the plane goes;
                None, the default: the two directions in which the weights moved most, which are the
                main components of the path of this branch, up to its end
            size: points of the grid in each direction, from 2 to 201; by default 41
            progress: True, the default: a progress bar in a terminal or a notebook, if it takes
                longer than a second; False: none

        Each loss is that of the training samples, of 4,096 at equal distances if there are more, of
        256 on the engine python; of data that makes its samples anew in each step, that of the
        batch of step 0. A copy of the network computes it on its engine, as by a call: without
        dropout, and with the running statistics of a norm. The grid has all moments of the
        path, and a margin around them.

        Raises:
            InputError: for another size, for weights that are not two different ones of this
                network which training moves.
            OwnershipError: for a weight of another network.
        """
        wanted, asked = (
            true_or_false(progress, "progress"),
            checked_plane(self.network, weights, size),
        )
        with self.doing():
            found = Landscape(self.timeline, *asked)
        with Progress(asked[1] ** 2, wanted, "points") as bar:
            for count in found.portions():
                bar.tell(count)
                check_end()
        assert found.plane is not None
        return found.plane

    def norms(self) -> dict[str, Norms]:
        """Return the norms of the values and of the gradients of each layer with parameters.

        Keys are indices of layers, as in `net.state_dict()`. Between two steps the gradients are
        those of the step that is done. Raises InputError for a compiled function.
        """
        with self._looking():
            return norms_of(self.network.layers)

    def caption(self, weight: Weight | int | None = None) -> Caption:
        """Return what the last operation did, in words and in numbers, as below the picture.

        Args:
            weight: the Weight, or its row of the bank, that the caption is about: for an operation
                on its layer it has the numbers of this weight, or of its neuron; None, the default:
                what the picture shows when no weight is pinned

        A prompt and `print` show it as text; its parts are `title`, a sentence, `formula`, and
        `numbers`, lines with the numbers of the sample `focus` in the formula. Between two steps it
        says what the whole step did to the weight, before the first what a cube is. A weight that
        was edited since has a line more. Raises ShapeError for a row that the network lacks.
        """
        row = None if weight is None else one_row(self.network, weight)
        found: Caption = caption_and_edit(self, row)
        return found

    # The past.

    def first(self, *conditions: str | Function, progress: bool = True) -> int | None:
        """Return the first step up to now at which one of some conditions held; None: it never did.

        Args:
            conditions: texts and functions, as in `stop_when`
            progress: True, the default: a progress bar in a terminal or a notebook, if it takes
                longer than a second; False: none

        Losses and metrics are on record. Anything else is found by a replay of the whole past of
        this branch, step by step, since a condition may hold for a while and then not: Ctrl-C
        cancels it. The session stays where it is; `seek` goes to the step. At step k the numbers
        are those on arrival there, before what was done there. Raises errors as `stop_when` does.
        """
        wanted = true_or_false(progress, "progress")
        with self.doing(), Progress(self.timeline.clock.step + 1, wanted) as bar:
            given = checked(conditions, self.network, self._measured_names())
            found = first_held(self.timeline, given, bar.tell)
            if found is not None:
                self.stops.mark(self.timeline.branch, found, in_one_text(given))
            return found

    def pin(self, weight: Weight | int | Sequence[int], on: bool = True) -> None:
        """Record values and gradients of some weights; earlier ones are replayed in the background.

        Args:
            weight: a Weight of the network, its row in the bank, or several rows
            on: False: stop recording and forget the history; by default True

        Returns at once.
        """
        if on:
            self._check_owner()
        self._weight_history.pin(rows_of(self.network, weight).tolist(), on)

    @property
    def pinned(self) -> list[int]:
        """Rows of the pinned weights in the bank."""
        return self._weight_history.rows

    def history(
        self, weight: Weight | int, kind: Recorded = "value", *, wait: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the steps up to now at which a pinned `weight` is known, and its numbers there.

        Args:
            weight: a Weight or a row of the bank
            kind: "value", the default, on arrival at a step; "gradient": that of the step before,
                by which the weight came to this value, and 0 at the start
            wait: True: wait until the background thread has replayed the steps before the pinning,
                and raise the error that ended it, if any; by default False

        Returns two arrays of the same length, int64 and float64. They are empty, and a message says
        so, if the weight is not pinned.
        """
        row, kind = one_row(self.network, weight), pick(KINDS, kind, "kind of history")
        if wait:
            self._weight_history.background.complete()
        if row not in self.pinned:
            inform(f"{self.network.name_of(row)} has no history: s.pin({row}) records it")
        return self._weight_history.history(row, kind)

    # Files, and copies.

    def copy(self, branch: Branch | int | None = None) -> Session:
        """Return a session at this moment on a copy of the network, independent of this one.

        Args:
            branch: one of `branches`, or its number: the copy goes over to it, see `switch`; None,
                the default: that of this session

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
        """Write the session with its past and all branches to a file, for `Session.load(path)`.

        Args:
            path: the file; one of that name is replaced, whole or not at all
            data: True, the default: samples of `sv.data.Arrays` travel in the file; False: only
                their SHA-256, for `Session.load(path, data=...)` with the same samples
            keyframes: bytes of the keyframes in the file, by default 16 MB; None: all of them. With
                fewer the file is smaller, and the loaded session takes longer to go back, to the
                same numbers
            progress: True, the default: a progress bar in a terminal or a notebook, if writing
                takes longer than a second; False: none

        Raises:
            FileError: if the file cannot be written.
            InputError: if more than one data set would have to be passed.
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
        """Load a session from a file; it continues as if it had not stopped.

        Args:
            path: a file written by `save`
            data: the data set, or a pair of arrays; needed if it is made by code, which the file
                cannot hold, or was left out by `save(path, data=False)`: the same samples
            limit: bytes that a data set which the file only describes, and one sample on its way
                through the network, may take; None, the default: 128 MB or eight times the size of
                the file, whichever is more, and 640 MB for the sample
            metrics: functions that the session measured, which the file cannot hold; without them
                their recorded values are kept, and no more are measured

        Raises:
            FileError: if the file is damaged, of another kind or too large.
        """
        timeline = load_timeline(path, data, limit, metrics)
        timeline.kept, timeline.was_loaded = SavedFile.of(timeline, path), True
        return cls.of(timeline)

    @classmethod
    def of(cls, timeline: Timeline) -> Session:
        """Return a session of a `timeline` that no other session has."""
        session = cls.__new__(cls)
        session._begin(timeline)
        return session

    def _do(self, kind: str, **details: Any) -> None:
        with self.doing():
            self.timeline.note(kind, details)

    def _measured_names(self) -> list[str]:
        """Names of the metrics that are measured."""
        return measured_names(self.visits.metrics, self.trainer.settings.data)

    def _portion(self, most: int | None, unit: str, until: int | None) -> int:
        """Advance by at most `most` units, for about PORTION seconds; return by how many.

        It does not go beyond the step `until`.
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
            self.network.bank.fetch()  # the next portion may be long in coming
        return count

    def doing(self, *, as_one: bool = False) -> Turn:
        """Hold the lock, after journalling direct writes to the bank as edits.

        Args:
            as_one: True: one `undo` takes back all that is changed meanwhile; by default False

        Raises:
            OrderError: when called from within a portion.
            OwnershipError: if another session has taken over the network.
        """
        return Turn(self.timeline, self._check_owner, as_one=as_one)

    def _looking(self) -> AbstractContextManager[None]:
        """Hold the lock for what only reads: also in a function of the user between two steps."""
        if not (self.timeline.lock.mine and self.timeline.visits.under_way):
            return self.doing()
        self.timeline.journal_outside_writes()
        return nullcontext()

    def still(self, seconds: float) -> TakenLock:
        """Hold the lock, so that the clock stands still; yield False if not within `seconds`."""
        return self.timeline.lock.taken(-1 if seconds == math.inf else seconds)

    def _check_owner(self) -> None:
        if self.trainer.bank.session is not self:
            raise OwnershipError(
                "this network is trained by another session now: go on with that one, or give "
                "each session a network of its own, such as net.copy()"
            )

    def __repr__(self) -> str:
        place = f"done: {self.done or 'nothing'}, next: {self.next}"
        loss = "" if np.isnan(self.loss) else f", loss {self.loss:.4g}"
        came = f"; {self.origin}" if self.origin else ""
        own = len(self.trainer.settings.optimizer.own_rates)
        rates = f", {own:,} weights with a rate of their own" if own else ""
        conditions = in_one_text(self.stop_conditions)
        stops = f"; stops when {conditions}" if conditions else ""
        about = f"{loss}, {self.engine}{rates}; {place}{came}{stops}"
        return f"Session: step {self.step_index:,}{about}"

    def _repr_html_(self) -> str:
        return session_html(self)
