"""Reading: what a picture needs to know of a session, asked for without holding up its training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.base import TableSet
from scalarviz.draw2d.braille_curve import round_up
from scalarviz.engines.common.snapshot import HostSnapshot, SnapshotValues
from scalarviz.errors import ScalarvizError
from scalarviz.model.program import Moment, Program
from scalarviz.network.network import Network
from scalarviz.presenter.answers import Answer
from scalarviz.presenter.exhibits_of import exhibit_of
from scalarviz.presenter.sample_pass import SampleContext, SamplePass, backward, forward
from scalarviz.presenter.scene_layout import tints_of
from scalarviz.presenter.throttle import Throttle
from scalarviz.session.replay import Here
from scalarviz.session.session import Session
from scalarviz.session.trainer import Trainer
from scalarviz.view.exhibits.exhibit import Exhibit
from scalarviz.view.frame_data import Buffers, Curve

Value = TypeVar("Value")

# Above so many numbers a sample is followed only while nothing moves, and they are copied only when
# the clock has moved.
LARGE = 300_000
POINTS = 700  # of a curve


@final
class LiveValues:
    """The numbers of a session as they were when it was last looked at.

    numbers  of the bank; `last`, those before the clock moved, and `since`, the step then
    program  of the network, as it was then: other activations make another one
    way      of the focus sample through the network; empty for an expression
    place    where the clock stood: step, operation, and the number of the branch
    held     whether the focus sample is shown as it was before the clock moved
    asleep   whether nothing may be computed: what the session does not just know is not shown
    """

    def __init__(self, session: Session, patience: float = math.inf) -> None:
        self.session = session
        self.patience = patience
        here = session.course.here
        self.program: Program = session.network.program
        self.moments: tuple[Moment, ...] = self.program.moments
        self.has_layers = isinstance(session.network, Network)
        self.way = SamplePass()
        self.exhibit: Exhibit | None = None
        self.target: FloatArray | None = None
        self.held = self.asleep = False
        self._before: tuple[SamplePass, FloatArray | None] = (self.way, self.target)
        self._snapshot = session.snapshot()
        self._snapshot.request()
        at_once = HostSnapshot(session.network.bank)  # as they are, though somebody is at work
        self.numbers: SnapshotValues = (self._snapshot if self._snapshot.ready else at_once).read()
        self.last = self.numbers
        self.since = here.clock.step
        self.key = key_of(here)
        self._twin: Any = None
        self._twin_key: Any = None
        self._asking, self._curving, self._following = Throttle(), Throttle(), Throttle()
        self._exhibit_key: Any = None
        self._curves: tuple[FloatArray, ...] = (np.zeros(0),) * 4
        self._curve_key: tuple[int, ...] = ()
        self._earlier = Answer(self.numbers.value)
        self._batch: Answer[Any] = Answer(None)
        self._first: Answer[Any] = Answer(None)
        self.answers: list[Answer[Any]] = [self._earlier, self._batch, self._first]
        self._follow()

    def ask(self, answer: Answer[Value], key: object, question: Callable[[], Value]) -> Value:
        """Ask the session for something; with a patience that is limited, see `pending`."""
        patience = self.patience
        if patience < math.inf and self.session.has_turn:  # the other thread would wait for this
            patience = 0.0
        return answer.get(key, question, patience)

    @property
    def pending(self) -> bool:
        """Whether something that was asked for is not there yet."""
        return any(answer.pending for answer in self.answers)

    @property
    def place(self) -> tuple[int, int, int]:
        return self.key[0], self.key[1], self.key[3]

    def refresh(self) -> None:
        """Look again; while somebody is at work, as it was when the last portion was done."""
        here, program = self.session.course.here, self.session.network.program
        if self.moments is not here.moments and self.moments != here.moments:
            if program.moments != here.moments:  # somebody is looking up a step that had others
                return
            self.program, self.moments = program, here.moments
        key, old, shot = key_of(here), self.numbers, self._snapshot
        if self.session.playing:
            if shot.ready:
                self.numbers = shot.read()
                shot.request()
        elif key != self.key or len(old.value) <= LARGE:  # what is written past the session counts
            if shot.ready:  # else those come that are asked for already
                shot.request()
            if shot.ready:
                self.numbers = shot.read()
        if key != self.key:
            self.last, self.since = old, self.key[0]
            self._before = self.way, self.target
        self.key = key
        self._follow()
        self._look()

    def before(self) -> tuple[FloatArray, int]:
        """The values before the last change, and the step from which they are.

        While it plays, those of the picture before; at rest between two steps, exactly one step
        earlier, which is made again for that.
        """
        step, operation, _ = self.place
        near = operation or not step or self.since == step - 1
        if self.asleep or self.session.playing or near:
            return self.last.value, self.since
        earlier = self.ask(self._earlier, self.key, self._make_earlier)
        return (self.last.value, self.since) if self._earlier.pending else (earlier, step - 1)

    def _make_earlier(self) -> FloatArray:
        course = self.session.course
        with self.session.doing(), course.at_work():
            values: FloatArray = course.trainer.bank.value.copy()
        return values

    # The focus sample.

    def _follow(self) -> None:
        if not self.has_layers or (self.session.playing and len(self.numbers.value) > LARGE):
            return
        session, trainer = self.session, self.session.course.trainer
        if session.playing and not self._following.due:  # large pictures take long
            return
        with self._following.doing():
            self._follow_now(session, trainer)

    def _follow_now(self, session: Session, trainer: Trainer) -> None:
        """Send the focus sample through the network, and the gradient back."""
        clock, bank = session.clock, session.network.bank
        step = 0 if session.playing else max(0, clock.step - (clock.operation == 0))
        batches = trainer.batches
        batch = self.ask(self._batch, (batches, step), lambda: batches.at(step))
        if self._batch.pending or batch is None:
            return
        inputs, targets = batch
        focus = min(session.focus, len(inputs) - 1)
        # An optimizer that was exchanged counts its steps anew.
        taken = bank.step_count - (0 if session.playing else clock.step - step)
        place = SampleContext(bank.state, taken, focus)
        way = forward(self.program, self.numbers.value, inputs[focus], place)
        self.target = np.asarray(targets[focus], np.float64)
        self.way = way
        try:
            numbers = self.numbers.value, way, self.target, trainer.loss, len(inputs), place
            backward(self.program, *numbers)
        except (ScalarvizError, ArithmeticError):  # a loss that these outputs have no value of
            way.flows.clear()

    def buffers(self, done: int) -> Buffers:
        """The sample after so many moments of the step; 0 is all of it."""
        way, target = self._before if self.held else (self.way, self.target)
        if not way.values:
            return Buffers()
        known, flows = {self.program.inputs.name}, set[str]()
        for moment in self.moments[:done] if done else self.moments:
            known.update(buffer.name for buffer in moment.values)
            flows.update(buffer.name for buffer in moment.gradients if done)
        values = {name: v for name, v in way.values.items() if name in known}
        finite = [np.abs(v[np.isfinite(v)]) for v in values.values()]
        scale = max((float(v.max()) for v in finite if v.size), default=1.0)
        return Buffers(
            values,
            way.saturated,
            tints_of(self.session, values),
            max(1.0, round_up(scale)) if scale > 0.0 else 1.0,
            {name: flow for name, flow in way.flows.items() if name in flows},
            target if self.program.outputs.name in known else None,
            way.left_out,
        )

    # What is learned.

    def _look(self) -> None:
        """Ask a copy of the network; not all the time if that takes long."""
        key = (self.key, id(self.session.data), self.session.network.activations)
        if self.asleep or key == self._exhibit_key:
            return
        if self.session.playing and not self._asking.due:
            return
        batches = self.session.course.trainer.batches
        samples = None
        if not isinstance(self.session.data, TableSet):  # they are made by code, which may be slow
            samples = self.ask(self._first, batches, lambda: batches.at(0))
            if self._first.pending:
                return
        try:
            with self._asking.doing():
                self.exhibit = exhibit_of(self.session, self._ask(), samples)
        except ScalarvizError:  # data that was just exchanged
            return
        self._exhibit_key = key

    def _ask(self) -> Any:
        """Something with the numbers of this reading that maps inputs to outputs."""
        network = self.session.network
        if not self.has_layers:
            return network
        if self._twin is None or self._twin_key != (network.activations, network.engine):
            self._twin = network.copy()
            engine = "cpu" if network.engine == "cuda" else network.engine
            if self._twin.engine != engine:
                self._twin.to(engine)
            self._twin.bank.name_of = "row {}".format  # no circle: its memory ends with this
            self._twin_key = network.activations, network.engine
        self._twin.bank.value[:] = self.numbers.value
        return self._twin

    # The course of the loss.

    def curve(self) -> Curve:
        """The losses of this branch, and of the one that it left or that left it last.

        Of a long training they are gone through anew only now and then while it plays.
        """
        session = self.session
        branch = session.current_branch
        key = branch.number, len(branch.record), len(session.branches)
        waits = session.playing and not self._curving.due and key[::2] == self._curve_key[::2]
        if key != self._curve_key and not waits:
            others = [each for each in session.branches if each is not branch and each.end.step]
            with self._curving.doing():
                own = branch.curve(POINTS)
                ghost = others[-1].curve(POINTS) if others else (np.zeros(0), np.zeros(0))
            self._curves = own[0] + 1.0, own[1], ghost[0] + 1.0, ghost[1]
            self._curve_key = key
        steps, losses, *ghosts = self._curves
        return Curve(steps, losses, float(session.step_index), session.loss, *ghosts)


def key_of(here: Here) -> tuple[int, ...]:
    """The clock, and the number of the branch."""
    return (*here.clock.key, here.branch.number)
