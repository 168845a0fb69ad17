"""Session: the whole of a training, with a clock that can run backwards."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, final
from weakref import finalize

import numpy as np

from scalarviz.checks.attributes import set_known, unknown
from scalarviz.checks.numbers import answered, number, shorten, size
from scalarviz.data import DataSet
from scalarviz.errors import InputError, OrderError, OwnershipError
from scalarviz.formulas.losses import Loss
from scalarviz.formulas.randomness import check_seed
from scalarviz.leaf_calls import load_run, save_run
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.weight import Part, Weight
from scalarviz.network.expression import Expression
from scalarviz.network.network import Network
from scalarviz.process.memory import check_losses
from scalarviz.session.background import Player
from scalarviz.session.lock import SessionLock, SharedSnapshot
from scalarviz.session.replay import History
from scalarviz.session.state import SessionState
from scalarviz.session.timeline import Branch, Clock
from scalarviz.session.trainer import Trainer, as_values, checked_rate, rows_of, settings_of
from scalarviz.session.units import advance, back
from scalarviz.session.weight_history import WeightHistory, copy_at_start

Unit = Literal["operation", "phase", "sample", "step", "epoch"]

MEMORY = 256 * 2**20
OF_A_SESSION = "cannot be set in what a session shows: set s.learning_rate, or another s.optimizer"


@final
class Session(SessionState):
    """A network, its data, a loss and an optimizer, and a clock that stands between operations.

    A step does zero_grad, forward (operation by operation), loss, backward (last to first: delta,
    weight gradient, input gradient), step. `advance` and `back` go on and back by operations,
    phases, steps or epochs; `seek` goes to any step. What the user does on the way is kept with its
    moment and done again on every replay; going back and doing something else starts a branch.

    data     a data set, or a pair of arrays (inputs, targets)
    batch    samples a step; None: all of them
    memory   bytes for keyframes; less memory means longer replays

    Any thread may call anything at any time; one thing is done at a time.

    - What moves, changes or computes waits for the call that is under way, such as the whole of
      `advance(1_000_000)`; while it plays, for a portion: some 5 ms, at least one step. These are
      `advance`, `back`, `seek`, `reset`, `edit`, `freeze`, `set_activation`, `to`, `branch`,
      `switch`, `numbers`, `explain`, `copy`, `save`, and setting a rate, optimizer, data or engine.
    - What looks on waits for nobody: every property, `repr`, `history`, and `request` and `ready`
      of a `snapshot`, which is filled in between two portions, also of a long `advance`. Nor do
      `play`, `pin` and `pause(timeout=0)` wait.
    - `pause()` waits for the portion under way, `read` of a snapshot that is not ready for a turn,
      `history(wait=True)` for the background.
    - The thread of a window, or of a picture in a notebook, never waits for a training: what it
      asks a session for or has it do goes on elsewhere where it takes longer than 50 ms.

    Playing ends when nobody holds the session any more, and at the end of the program.

    network    a Network or a compiled Expression; the session moves it to its engine
    loss       a name or a Loss; by default "mse"
    optimizer  an Optimizer; by default SGD(0.01)
    engine     "python", "cpu", "cuda" or "auto", the default: the fastest that works here
    seed       of the batches, an integer from 0; by default 0
    precision  "full", the default, "mixed" or a Precision

    Raises InputError for what does not fit together, EngineError if the engine cannot run here.

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
        network: Network | Expression,
        data: object,
        loss: str | Loss = "mse",
        optimizer: Optimizer | None = None,
        batch: int | None = None,
        engine: str = "auto",
        seed: int = 0,
        *,
        precision: str | Precision = "full",
        memory: int = MEMORY,
    ) -> None:
        if not isinstance(network, (Network, Expression)):
            raise InputError(
                f"a session trains a Network or a compiled function, not {shorten(network)}"
            )
        precision, loss, seed = Precision.of(precision), Loss.of(loss), check_seed(seed)
        settings = settings_of(network, data, optimizer, engine, precision)
        batch = None if batch is None else size(batch, "batch")
        memory = size(memory, "memory")
        with network.bank.guard:  # another session may be training it
            trainer = Trainer(network, settings, loss, batch, seed)
            self._begin(History(trainer, memory))

    def _begin(self, course: History) -> None:
        self.course = course
        self._turns = SessionLock()
        self._player = Player(self._turns)
        self._pins = WeightHistory(course, self._turns)
        self._focus = 0
        course.between = self._turns.between
        course.trainer.bank.guard = self._turns.lock
        course.trainer.bank.session = self
        finalize(self, self._pins.stop).atexit = False

    # Going on, and back.

    def advance(self, n: int = 1, unit: Unit = "step") -> None:
        """Go on by `n` of a `unit`.

        n     at least 1; by default 1
        unit  "operation", "phase", "sample", "step", the default, or "epoch"

        Raises GradientError for a gradient, and UpdateError for a step, that is not finite; the
        session stands before that step then.
        """
        self.course.check_unit(unit)
        with self.doing():
            advance(self.course, size(n, "n"), unit)

    def back(self, n: int = 1, unit: Unit = "step") -> None:
        """Go back by `n` of a `unit`, at most to the start; `n` and `unit` are as in `advance`."""
        self.course.check_unit(unit)
        with self.doing():
            back(self.course, size(n, "n"), unit)

    def seek(self, step: int) -> None:
        """Go to the moment of arrival at a `step`, before whatever was done there."""
        clock = Clock(size(step, "step", least=0))
        check_losses(clock.step)
        with self.doing():
            self.course.go(clock)

    def reset(self) -> None:
        """Start again with the same initial weights and settings; what was done so far is kept."""
        with self.doing():
            self.course.go(Clock())
            if self.course.branch.end > Clock():
                self.course.fork()

    def play(self, speed: float | None = None, unit: Unit = "step") -> None:
        """Go on in the background; if it plays already, at another speed from now on.

        speed  units a second; None, the default: as fast as it can
        unit   as in `advance`; by default "step"

        Nobody is waited for. Raises the error that ended an earlier playing, if no `pause` has
        raised it.
        """
        self.course.check_unit(unit)
        if unit == "epoch":
            steps = self.course.trainer.batches.steps_an_epoch
            speed, unit = (None if speed is None else speed * steps), "step"
        self._player.play(self._portion, speed, unit)

    def pause(self, timeout: float | None = None) -> None:
        """Stop going on by itself, after the portion that is under way; safe to call at any time.

        The portion is waited for, at most `timeout` seconds if that is given. An error that ended
        the playing is raised here: by one call, the first one after it.
        """
        if timeout is not None:
            timeout = number(timeout, "the timeout", 0.0)
        self._player.pause(timeout)

    @property
    def playing(self) -> bool:
        return self._player.playing

    def snapshot(self) -> SharedSnapshot:
        """The current numbers, with `request`, `ready` and `read`; training is not held up.

        `request` asks for them and `ready` says whether they have come, at once; `read` waits.
        """
        return SharedSnapshot(self._turns, self.network.bank)

    # What the user does.

    def edit(self, weight: Weight | int | Sequence[int], value: object) -> None:
        """Give a weight another value, from this moment on.

        weight  a Weight of the network, its row in the bank, or several rows
        value   a finite number; for several rows, one number or one for each
        """
        rows = rows_of(self.network, weight)
        self._do("edit", rows=rows, values=as_values(value, rows, self.network.bank.dtype))

    def freeze(self, part: Part | int | Sequence[int], on: bool = True) -> None:
        """Keep a part of the network from moving, from this moment on.

        part  a Weight, Perceptron or Layer, a row of the bank, or several rows
        on    False: let it move again; by default True
        """
        self._do("freeze", rows=rows_of(self.network, part), on=bool(on))

    @property
    def learning_rate(self) -> float:
        """The rate of a step, schedule included; what is set holds from the next step on.

        Setting it ends the schedule.
        """
        optimizer = self.course.trainer.settings.optimizer
        return optimizer.rate(self.network.bank.step_count)

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._do("learning rate", rate=checked_rate(rate))

    @property
    def optimizer(self) -> Optimizer:
        """How weights move, to be read; to change it, set `learning_rate`, or another optimizer."""
        return self.course.trainer.settings.optimizer.sealed(OF_A_SESSION)

    @optimizer.setter
    def optimizer(self, optimizer: Optimizer) -> None:
        self._do("optimizer", optimizer=copy.copy(Optimizer.of(optimizer)))

    @property
    def data(self) -> DataSet:
        return self.course.trainer.settings.data

    @data.setter
    def data(self, data: object) -> None:
        chosen = DataSet.of(data)
        self.course.trainer.check_data(chosen)
        self._do("data", data=chosen)

    @property
    def engine(self) -> str:
        return self.course.trainer.network.engine

    @engine.setter
    def engine(self, name: str) -> None:
        self.to(name)

    def to(self, engine: str, precision: str | Precision | None = None) -> None:
        """Run on another engine, or in another precision, from the next step on.

        engine     "python", "cpu", "cuda" or "auto"
        precision  "full", "mixed" or a Precision; None, the default: as it is

        Raises EngineError if the engine cannot run here.
        """
        name, chosen = self.network.check_engine(engine, precision)
        self._do("engine", name=name, precision=chosen)

    def set_activation(self, layer: int, name: str) -> None:
        """Give the layer at place `layer` the activation `name`, from the next step on."""
        places = self.network.places_of(self.network.check_activation(layer, name))
        if len(self.network.activations) - 1 in places:
            self.course.trainer.loss.check_output(name)
        with self.doing():
            for place in places:
                self.course.note("activation", {"layer": place, "name": name})

    def branch(self) -> Branch:
        """Start a branch here; what comes after this moment so far stays in the one before."""
        with self.doing():
            return self.course.fork()

    def switch(self, branch: Branch | int) -> None:
        """Go over to another `branch`, one of `branches` or its number.

        The session stands at the same step there if the branch has got so far, else at its end.
        """
        with self.doing():
            self.course.switch(self.course.find(branch))

    def pin(self, weight: Weight | int | Sequence[int], on: bool = True) -> None:
        """Keep the history of some weights from now on; what came before is made in the background.

        weight  a Weight of the network, its row in the bank, or several rows
        on      False: forget the history; by default True

        Nobody is waited for.
        """
        self._check_owner()
        self._pins.pin(rows_of(self.network, weight).tolist(), on)

    # Files, and copies.

    def copy(self) -> Session:
        """Another session at this moment, on a copy of the network; it goes its own way.

        It has the same past, branches, keyframes, memory, pinned weights and focus, and does not
        play. Raises InputError for a session of a compiled expression.
        """
        if not isinstance(self.network, Network):
            raise InputError("a compiled expression stands on its Values: it cannot be copied")
        copied = Session.__new__(Session)
        with self.doing():
            memory = self.course.keyframes.budget
            copied._begin(copy_at_start(self.course, self.network, self.course.clock, memory))
            copied._pins.take_over(self._pins)
            copied._focus = self._focus
        return copied

    def save(self, path: object) -> None:
        """Write everything, the past and the branches included, into the file `path`."""
        with self.doing():
            save_run(self.course, path)

    @classmethod
    def load(cls, path: object, data: object = None, *, limit: int | None = None) -> Session:
        """The session in a file, which goes on as if it had not stopped.

        `data` must be passed again where it is made by code. Data sets that the file only
        describes may take `limit` bytes, as may one sample on its way through the network; None:
        128 MB, or eight times the size of the file, and 640 MB for the sample.

        `path` is the file; FileError if it is damaged, of another kind or too large.
        """
        session = cls.__new__(cls)
        session._begin(load_run(path, data, limit))
        return session

    def _portion(self, most: int | None, unit: str) -> int:
        """Go on by at most so many, but not for long: by how many."""
        with self.doing():
            count = max(1, int(self.course.pace)) if unit == "step" else 1
            count = count if most is None else min(count, most)
            advance(self.course, count, unit)
        return count

    @contextmanager
    def doing(self) -> Iterator[None]:
        """One thing at a time; what was written past the session becomes an edit first."""
        with self._turns.taken():
            if self.course.is_at_work:
                raise OrderError(
                    "this session is at work just now, and was called by what it called itself, "
                    "such as a function that makes data: do that after the call that goes on"
                )
            self._check_owner()
            try:
                self.course.journal_outside_writes()
                self.course.show()
                yield
            except BaseException:  # Ctrl-C too: the numbers must belong to the clock
                self.course.repair()
                raise
            finally:
                self.course.remember()
                self.course.show()

    @property
    def has_turn(self) -> bool:
        """Whether this thread keeps the training where it is, and need not wait for it."""
        return self._turns.mine

    @contextmanager
    def still(self, seconds: float) -> Iterator[bool]:
        """Keep the training where it is; False if it does not come to rest within `seconds`."""
        with self._turns.taken(-1 if seconds == math.inf else seconds) as mine:
            yield mine

    def _check_owner(self) -> None:
        if self.course.trainer.bank.session is not self:
            raise OwnershipError(
                "this network is trained by another session now: go on with that one, or give "
                "each session a network of its own, such as net.copy()"
            )

    def _do(self, kind: str, **details: Any) -> None:
        with self.doing():
            self.course.note(kind, details)

    def __repr__(self) -> str:
        place = f"done: {self.done or 'nothing'}, next: {self.next}"
        loss = "" if np.isnan(self.loss) else f", loss {self.loss:.4g}"
        return f"Session: step {self.step_index:,}{loss}, {self.engine}; {place}"
