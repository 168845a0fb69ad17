"""LiveValues: the numbers of a session for one picture, without blocking its training."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.metric_formulas import predictions_of
from scalarviz.core.program import Moment
from scalarviz.core.trace_program import chain_of
from scalarviz.errors import ScalarvizError
from scalarviz.scene.exhibits.classified import Sorting
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.exhibits.why import why_of
from scalarviz.scene.frame_data import Buffers
from scalarviz.scene.pace import NeuronPart
from scalarviz.stage.background import Answer, Refreshed, Throttle
from scalarviz.stage.by_parts import cut
from scalarviz.stage.curves import Curves
from scalarviz.stage.data_exhibits import can_be_finer, erased, exhibit_of, is_quick, needs_batch
from scalarviz.stage.handles import target_of
from scalarviz.stage.network_layout import tints_of
from scalarviz.stage.sample_pass import SamplePass, backward, forward
from scalarviz.story.facts import Facts, State
from scalarviz.training.session.explanation import OperationNumbers, done_in
from scalarviz.training.session.reading import (
    LARGE,
    NetworkCopy,
    NewestNumbers,
    facts_of,
    in_focus,
    key_of,
    values_earlier,
)
from scalarviz.training.session.session import Session
from scalarviz.training.session.value_session import VALUE

Value = TypeVar("Value")
MOST_ERASED = 1024  # maximum pixels of an image that are erased in turn
FEW = 40  # up to this number of neurons, all numbers are updated in every picture


@final
class LiveValues:
    """The numbers of a session at the last `refresh`.

    Attributes:
        numbers: the bank; `last` is the bank before the clock moved, and `since` its step
        program: program of the network; changing activations replaces it
        way: forward and backward pass of the focus sample; empty for an expression
        here: position of the session: clock, branch, its end, and loss; its `leaps` change when the
            clock moves by more than single operations
        now: all other state read from the session
        actions: completed user actions since the last step
        place: the clock: step, operation, and number of the branch
        held: pass of the sample shown instead of the current focus sample, while the light that
            carries its numbers is moving; or None
        neurons: the finished neurons of the shown operation, when stepping by neuron; or None
        asleep: whether to compute nothing and show only what is available
        history: steps and values of the recalled weight; None for a weight that is not pinned
        rests: whether pictures follow so fast that parts of this one may show older numbers
        own: custom inputs shown in place of the focus sample, or None
        pad: pad on which `own` is drawn; None if it is not an image
        curves: the losses of its branches
        answers: the latest result of each request
        learned: the exhibit, without a mark at the focus sample
    """

    def __init__(self, session: Session, patience: float = math.inf) -> None:
        self.session = session
        self.patience = patience
        self._newest = NewestNumbers(session)
        self.now = self._newest.seen
        self.numbers, self.here, self.program, *_ = self.now
        self.moments: tuple[Moment, ...] = self.program.moments
        self.has_layers = bool(session.network.layers)
        self.way = SamplePass()
        self.learned: Exhibit | None = None
        self._marked: tuple[Exhibit | None, list[FloatArray], Exhibit | None] = None, [], None
        self.asleep = self.rests = False
        self.own: FloatArray | None = None
        self.pad: Exhibit | None = None
        self.held: SamplePass | None = None
        self.neurons: NeuronPart | None = None
        self.last, self.since = self.numbers, self.here.clock.step
        self.key, self.actions = key_of(self.here), done_in(self.here)
        self._copies = NetworkCopy(session), NetworkCopy(session)  # the second in the background
        self._facts: tuple[object, Facts | None] = None, None
        self.history: tuple[FloatArray, FloatArray] | None = None
        self._recalled = Refreshed((np.zeros(0), np.zeros(0)))
        self._asking, self._following = Throttle(), Throttle()
        self.curves = Curves(session)
        self._exhibit_key: Any = None
        self._fine: Answer[tuple[Any, Exhibit | None]] = Answer((None, None))
        self._refining = False
        self.answers: defaultdict[str, Answer[Any]] = defaultdict(partial(Answer, None))
        self._follow()

    def ask(self, name: str, key: object, question: Callable[[Session], Value]) -> Value | None:
        """Return the result of `question` for the session; None until it is available.

        Args:
            name: name of the request, under which its latest result is kept
            key: determines the result
        """
        answer: Answer[Value] = self.answers[name]
        patience = self.patience
        if key != answer.known and patience < math.inf and self.session.timeline.lock.mine:
            patience = 0.0  # the session did not answer in time
        found = answer.get(key, partial(question, self.session), patience)
        return None if answer.pending else found

    @property
    def facts(self) -> Facts:
        """The facts of the session, read again after a change of network or data."""
        key = self.program, self.now.loss_function, id(self.now.data)
        if self._facts[1] is None or self._facts[0] != key:
            self._facts = key, facts_of(self.session)
        return cast(Facts, self._facts[1])

    @property
    def pending(self) -> bool:
        """Whether a requested result is not available yet."""
        return self._refining or any(answer.pending for answer in self.answers.values())

    @property
    def _shown(self) -> SamplePass:
        return self.way if self.held is None or self.own is not None else self.held

    @property
    def place(self) -> tuple[int, int, int]:
        return self.key[0], self.key[1], self.key[3]

    @property
    def last_operation(self) -> tuple[int, int] | None:
        """Step and number of the last operation; None if the clock jumped."""
        step, done, _ = self.place
        walked = self.now.walked == (self.here.leaps, self.here.clock)
        return (step, done) if done else (step - 1, len(self.moments)) if walked else None

    def recall(self, row: int | None) -> None:
        """Read the `history` of a weight, during playback only at intervals; None clears it.

        A picture that waits for all results also waits for the earlier steps.
        """
        session, waits = self.session, self.patience == math.inf
        if row is None or row not in session.pinned:
            self.history = None
        elif not (self.asleep or self.rests):
            recall = partial(session.history, row, wait=waits)
            self.history = self._recalled.get(row, object(), recall, may_wait=self.now.playing)

    def refresh(self) -> None:
        """Read the session again or, if it is busy, its last published state."""
        old, before = self.numbers, self.here
        is_read, self.now = self._newest.read(), self._newest.seen
        numbers, here, program, *_ = self.now
        key = key_of(here)
        is_same = key == self.key and np.array_equal(numbers.value, old.value)
        if not is_read or (self.rests and is_same):
            return
        self.numbers, self.here, self.program, self.moments = numbers, here, program, here.moments
        if self.here.clock.operation and self.here.clock.place != before.clock.place:
            self.own = None  # a step is computed for its samples
        if key != self.key:
            self.last, self.since = old, self.key[0]
        self.key, self.actions = key, done_in(here)
        self._follow()
        self._look()

    def before(self) -> tuple[FloatArray, int]:
        """Return the values before the last change, and their step.

        During playback, these are the values in the previous picture; when paused between two
        steps, the values exactly one step earlier, which is replayed.
        """
        step, operation, _ = self.place
        near = operation or not step or self.since == step - 1
        if self.asleep or self.now.playing or near:
            return self.last.value, self.since
        earlier = self.ask("earlier", self.key, values_before)
        return (self.last.value, self.since) if earlier is None else (earlier, step - 1)

    # The focus sample.

    def _follow(self) -> None:
        is_large = len(self.numbers.value) > LARGE
        waits = self.rests and (self.way.nodes or sum(map(len, self.way.values.values())) > FEW)
        if waits or (self.now.playing and (is_large or not self._following.due)):
            return  # it is slow
        with self._following.doing():
            self._follow_now()

    def _follow_now(self) -> None:
        """Run the forward and backward pass of the focus sample."""
        now, state, known = self.now, self.numbers.state, (self.program, self.numbers.value)
        if self.own is not None:
            target = target_of(now.data, self.own)
            target = np.full(self.program.outputs.size, np.nan) if target is None else target
            self.way = forward(*known, self.own, state, now.taken, target=target)
            return
        if not now.computes:
            self.way = SamplePass()
            return
        step, batches = self.here.seen, now.batches
        batch = self.ask("batch", (batches, step), lambda _: batches.at(step))
        if batch is None:
            return
        rests = step if self.last_operation is None else None
        focus, inputs, target, count = in_focus(now, batch, rests)
        is_mixed = any(each.operation for each in self.actions)  # the network has changed since
        done = self.ask("step", self.key, numbers_of_step) if is_mixed else {}
        if done is None:
            return
        # A replaced optimizer counts its steps from 0.
        since = self.here.clock.step - step
        taken = now.taken - (since if since < 2 else 0)
        goal = None if now.recorded else target  # then its loss is also unknown
        self.way = way = forward(*known, inputs, state, taken, focus, goal)
        if goal is None:
            return

        def back(way: SamplePass) -> None:
            try:
                backward(known[0], way, target, now.loss_function, count)
            except (ScalarvizError, ArithmeticError):  # e.g. a loss that is undefined for these
                way.flows.clear()
                way.grown.clear()

        way.later.append(back)
        for name, found in done.items():  # with the weights before the change
            flows = way.flows
            if found.outputs is not None:
                way.values[name] = found.outputs[focus].astype(np.float64)
            if found.upstream is not None:
                flows[name] = found.upstream[focus].astype(np.float64)

    def buffers(self, done: int) -> Buffers:
        """Return the sample's numbers after `done` moments of the step; 0 means all."""
        if self.own is not None:
            done = 0
        way = self._shown
        if not way.values:
            return Buffers()
        past = self.moments[:done] if done else self.moments
        known = {each.name for moment in past for each in moment.values}
        known |= {each.name for each in self.program.given}
        if self.now.recorded:
            known |= {*way.values}
        flows = {each.name for moment in past for each in moment.gradients if done}
        values = {name: v for name, v in way.values.items() if name in known}
        if not done and way.nodes is not None:
            chain = chain_of(way.nodes.program, self.now.network.all_walls)
            values |= {} if chain is None else chain.numbers(way.nodes.values[0])
        row = self.now.loss_function.row
        found = Buffers(
            values,
            way.saturated,
            tints_of(self.now, values),
            1.0,
            (self._grown(done) or {x: way.flows[x] for x in way.flows if x in flows})
            if done
            else {},
            way.target if self.program.outputs.name in known and row is not VALUE else None,
            way.left_out,
            self._answers(values),
            self.program.raw,
            row.name == "mse",
        )
        return cut(self.neurons, found, self.program.outputs) if done and self.neurons else found

    def moment(self, done: int) -> tuple[Facts, State]:
        """Return facts and state for cards after `done` moments of the step; 0 means all."""
        found, numbers = cast(Any, self.buffers(done)), cast(Any, self.numbers)
        return self.facts, State(
            *self.place[:2],
            loss=self.here.loss,
            value=numbers.value,
            grad=numbers.grad,
            values=found.values,
            gradients=found.flows if done else cast(Any, self.way.flows),
            target=found.target,
            focus=self.now.focus,
        )

    def _grown(self, done: int) -> dict[str, FloatArray]:
        """Return the computed gradients of a compiled function after `done` moments."""
        way = self._shown
        count = sum(bool(moment.gradients) for moment in self.moments[:done])
        found = {name: flow for each in way.grown[:count] for name, flow in each.items()}
        growing = {name for each in way.grown[count:] for name in each}
        return {x: flow if x in growing else way.flows[x] for x, flow in found.items()}

    def _answers(self, values: Mapping[str, FloatArray]) -> FloatArray | None:
        """Return the outputs with the activation of the loss applied; None if unknown."""
        outputs = values.get(self.program.outputs.name)
        loss = self.now.loss_function
        return None if outputs is None else predictions_of(loss, outputs[np.newaxis])[0]

    @property
    def shown_inputs(self) -> FloatArray | None:
        """The inputs of the shown sample, if known."""
        return self._shown.values.get(self.program.inputs.name)

    @property
    def copy(self) -> Any:
        """The network with the numbers of this reading, for the drawing thread."""
        return self._copies[0].with_numbers(self.numbers)

    # The exhibit.

    def exhibit(self, *, awaits: bool = False) -> Exhibit | None:
        """Return the exhibit of the result, with a mark at the focus sample.

        Args:
            awaits: whether the shown step has not computed its output yet
        """
        made = (self.pad or self.learned) if self.own is not None else self.learned
        values, target = self._shown.values, self._shown.target
        inputs = self.shown_inputs
        if made is None or inputs is None:
            return made
        outputs = None if awaits else self._answers(values)
        key = [inputs.copy(), *(each for each in (outputs, target) if each is not None)]
        before, marked, shown = self._marked
        is_same = made is before and len(key) == len(marked)
        if not (is_same and all(map(np.array_equal, key, marked))):
            first = made.first and made.first.marked(inputs, self._begun(inputs), target)
            shown = made.after(first).marked(inputs.astype(np.float64), outputs, target)
            shown = replace(shown, awaits=awaits)
            self._marked = made, key, shown
        if isinstance(shown, Sorting) and outputs is not None:
            found = self._erased(inputs)
            why = None if found is None else why_of(found.tolist(), shown.pictures.shape[2])
            shown = replace(shown, why=why)
        return shown

    def _erased(self, inputs: FloatArray) -> FloatArray | None:
        """Return the outputs for an image with each pixel erased in turn; None until computed."""
        answer = self.answers["erased"]
        key = self.key, len(self.actions), inputs.tobytes()
        if self.now.recorded or len(inputs) > MOST_ERASED:
            return None
        if key != answer.known and not (self.now.playing and answer.pending):
            network = self._copies[1].with_numbers(self.numbers)
            patience = 0.0 if self.now.playing else self.patience
            answer.get(key, lambda: erased(network, inputs), patience)
        return None if answer.pending else answer.value

    def _begun(self, inputs: FloatArray) -> FloatArray | None:
        """Return the output for a sample at step 0, with the loss's activation; None if unknown."""
        network = self._copies[0].begun()
        outputs = None if network is None else network(inputs[np.newaxis])
        return None if outputs is None else predictions_of(self.now.loss_function, outputs)[0]

    def _with_first(self, made: Exhibit | None, samples: Any = None) -> Exhibit | None:
        """Return an exhibit that includes the exhibit of step 0, computed once per training run."""
        now, network = self.now, self._copies[0].begun()
        key = id(now.data), now.network.activations, now.loss_function, self.program
        if made is None or network is None:
            return made
        ask = partial(exhibit_of, now, network, samples)
        return made.after(self.answers["first exhibit"].get(key, ask))

    def _look(self) -> None:
        """Update the exhibit from a copy of the network, at intervals if it is slow.

        A finer one is computed in the background. It is used while the session is paused, or if it
        is fast.
        """
        now = self.now
        if self.asleep or now.recorded:
            return
        finer = self.has_layers and can_be_finer(now)
        fine = finer and (not now.playing or is_quick(now))
        # Operations of a step have the same weights, except for changes.
        step, _, _, *others = self.key
        key = (
            id(now.data),
            now.network.activations,
            step,
            len(self.actions),
            *others,
            fine,
        )
        with suppress(ScalarvizError):  # the data have just been replaced
            self._take_exhibit(key[0])
            waits = self._refining or (now.playing and not self._asking.due) or self.rests
            if key == self._exhibit_key or waits:
                return
            behind = finer and self.patience < math.inf
            if self.learned is None or not behind:
                self._make_exhibit((*key[:-1], fine and not behind))
            if behind and key != self._exhibit_key:
                twin = self._copies[1].with_numbers(self.numbers)
                self._refining = True
                self._fine.get(key, lambda: (key, self._made(twin, None, fine)), 0.0)

    def _take_exhibit(self, data: int) -> None:
        """Show the exhibit from the background if it is available and belongs to these data."""
        if self._refining and not self._fine.pending:
            self._refining = False
            key, made = self._fine.take()
            if made is not None and key[0] == data:
                self.learned, self._exhibit_key = self._with_first(made), key

    def _make_exhibit(self, key: tuple[Any, ...]) -> None:
        """Create the exhibit in this thread; the last part of the key selects the resolution."""
        batches, samples = self.now.batches, None
        if needs_batch(self.now.data):  # custom code may be slow
            samples = self.ask("first", batches, lambda _: batches.at(0))
            if samples is None:
                return
        self.learned = self._with_first(self._made(self.copy, samples, key[-1]), samples)
        self._exhibit_key = key

    def _made(self, ask: Any, samples: Any, fine: bool) -> Exhibit | None:
        with self._asking.doing():
            return exhibit_of(self.now, ask, samples, fine=fine)


def values_before(session: Session) -> FloatArray:
    """Return the values before the last step; the session must be between two steps."""
    with session.doing():
        return values_earlier(session.timeline)


def numbers_of_step(session: Session) -> dict[str, OperationNumbers]:
    """Return the results of the operations of a step, by name of the buffer they write."""
    with session.doing():
        operations = session.network.program.operations
        return {each.target.name: session.numbers(each.name) for each in operations}
