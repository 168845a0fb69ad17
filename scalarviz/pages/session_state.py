"""SessionState: what a page shows of a session in Python, as its worker sends it: see web/state.js.

The session is never held up: while it trains, its last snapshot is shown; at rest, what a step has
computed is read under its lock, or left for the next state if that is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Buffer
from scalarviz.engines.engine import SnapshotValues
from scalarviz.engines.reference import program_forward
from scalarviz.engines.wasm.page_memory import buffer_names
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.pages.bundle import packed
from scalarviz.pages.exhibit_data import probe_of
from scalarviz.stage.curves import earlier_losses, measured_of
from scalarviz.stage.sample_pass import SampleContext, forward
from scalarviz.training.session.branches import Action, Branch, Clock
from scalarviz.training.session.reading import edits, state_of
from scalarviz.training.session.replays import rows_of_batch
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.trainer import settings_now
from scalarviz.training.session.user_changes import changed_at

State = dict[str, Any]
PATIENCE = 0.05  # seconds that a state waits for the lock of a session at rest
EXACT = 4096  # losses of the last steps that are sent as they are
BLOCKS = 1000  # of older steps, with the smallest and the largest loss of each
MOST_MEASURED = 4096  # values of a metric at once
MOST_OF_BATCH = 16_000  # numbers of a batch that captions read sample by sample
MOST_SLOTS = 20_000  # numbers of an optimizer, and of the weights at the start


class Before(NamedTuple):
    """The numbers with which the step that is shown began, and those of its batch."""

    value: FloatArray
    grad: FloatArray
    slots: dict[str, FloatArray]


@final
class SessionState:
    """Reads a session for pages; `read` returns a state, without what each page has already.

    own  inputs of a user's own, which are answered in place of the sample; None: none
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.own: FloatArray | None = None
        self.jumps = 0  # grows with each jump, after which a page chooses its scales anew
        self.program = session.network.program
        self.names: Mapping[Buffer, str] = buffer_names(self.program)
        self._snapshot = session.snapshot()
        self._probe = probe_of(session)
        self._twin: Any = None
        self._key: Any = None  # of the moment that was read last
        self._rest: State = {}  # what was read of it under the lock
        self._last: SnapshotValues | None = None
        self._first: FloatArray | None = None
        self._before: SnapshotValues | None = None  # the numbers of the last state while it plays

    def evaluate(self, inputs: FloatArray) -> FloatArray:
        """Return the outputs for some inputs, shape (samples, inputs), by the numbers shown."""
        network = self.session.network
        if self._twin is None:
            self._twin = network.copy()
            if self._twin.engine == "cuda":
                self._twin.to("cpu")
        numbers = self._numbers()
        self._twin.bank.value[:] = numbers.value
        self._twin.bank.state[:] = numbers.state
        return np.asarray(self._twin(inputs))

    def survey(self, inputs: FloatArray) -> FloatArray:
        """Return the numbers of all neurons, shape (neurons, samples), by the numbers shown."""
        if self.program.is_graph:
            raise InputError("a compiled function has no neurons whose maps are drawn")
        numbers, program = self._numbers(), self.session.network.program
        found = program_forward(program, numbers.value, numbers.state, inputs)
        return np.vstack([found[buffer.name].T for buffer in program.buffers])

    def read(self) -> State:
        """Return the state of this moment, with all losses; see `losses_from`."""
        session, timeline = self.session, self.session.timeline
        playing, here = session.playing, timeline.here
        if playing:
            self._snapshot.request()
            numbers = self._numbers()
            here = self._snapshot.moment or here
            self._key, self._rest = None, self._of_playing(numbers, here)
        else:
            key = (
                *(here.clock, here.branch.number, here.leaps, len(here.branch.journal)),
                *(session.focus, id(session.data)),
            )
            if key != self._key:
                with session.still(PATIENCE) as still:
                    if still:
                        with session.doing():
                            here = timeline.here
                            self._rest = self._at_rest(here)
                        self._key = key
            if not self._rest:
                self._rest = self._of_playing(self._numbers(), here)
        state = {**self._rest, **self._common(here, playing=playing)}
        if self.own is not None and not state["operation"]:
            state |= self._of_own()
        return state

    # ---- parts of a state -----------------------------------------------------------------------

    def _numbers(self) -> SnapshotValues:
        """Return the newest copy of the numbers that there is without waiting."""
        if self._last is None or self._snapshot.ready or not self.session.playing:
            if not self.session.playing:
                self._snapshot.request()
            self._last = self._snapshot.read()
        return self._last

    def _common(self, here: Position, *, playing: bool) -> State:
        """Return what does not depend on the numbers of a step."""
        session, settings = self.session, settings_now(self.session)
        bank, optimizer = session.network.bank, settings.optimizer
        frozen = np.asarray(bank.frozen).astype(np.uint8)
        counted = bank.step_count - session.step_index
        return {
            "last": here.end.step,
            "playing": playing,
            "loss": here.loss,
            "rate": float(optimizer.rate(bank.step_count)),
            "frozen": frozen,
            "earlier": None,
            "stopped": None,
            "changed": changed_at(here),
            "measured": None,
            "branch": here.branch.number,
            "branches": [told(each) for each in list(session.timeline.branches)],
            "dropped": [],
            "begun": self._begun(),
            "seed": None,
            "size": session.trainer.batches.size,
            "optimizer": 0,
            "made": {"optimizer": 0, "rate": float(optimizer.rate(bank.step_count)),
                     "counted": counted, "frozen": frozen},
            "jumps": self.jumps,
        }  # fmt: skip

    def _begun(self) -> FloatArray | None:
        """Return the weights at the start, if they are few and the start is at hand."""
        if self._first is None and len(self.session.network.bank) <= MOST_SLOTS:
            frame = self.session.timeline.branches[0].frame_before(0)
            self._first = None if frame is None else frame.value
        first = self._first
        return first if first is not None and len(first) == len(self.session.network.bank) else None

    def _of_playing(self, numbers: SnapshotValues, here: Position) -> State:
        """Return what is shown while whole steps are taken: the sample stays the same."""
        before, self._before = self._before, numbers
        focus, inputs, targets, row = self._sample(here.seen)
        place = SampleContext(numbers.state, self.session.network.bank.step_count, focus)
        return {
            **of_numbers(numbers),
            "step": here.clock.step,
            "operation": 0,
            "moment": -1,
            "before": before and before.value,
            "grad_before": before and before.grad,
            "slots_before": {},
            "values": self._answered(numbers.value, inputs[focus], place),
            "gradients": {},
            "left_out": {},
            "inputs": inputs[focus],
            "target": targets[focus],
            "row": row,
            "batch": len(inputs),
            "focus": focus,
            "all": None,
            "fresh": None,
            "own": None,
            "edited": {},
            "probe": self._answers(),
        }

    def _at_rest(self, here: Position) -> State:
        """Return what is shown at rest, and what the step has computed so far; holds the lock."""
        session, timeline = self.session, self.session.timeline
        step, operation = here.clock.place
        numbers = self._last = copied(session)
        walked = timeline.walked == (here.leaps, here.clock)
        moment = operation - 1 if operation else len(here.moments) - 1 if walked else -1
        found = self._of_playing(numbers, here)
        begun = step if operation else step - 1
        before = None if begun < 0 else self._begun_with(begun)
        found |= {
            "operation": operation,
            "moment": moment,
            "before": before and before.value,
            "grad_before": before and before.grad,
            "slots_before": before.slots if before else {},
            "edited": self._edited(),
        }
        if moment >= 0 and not self.program.is_graph:
            found |= self._computed(operation)
        return found

    def _edited(self) -> State:
        """Return the rows of weights that a user has set since the last step, and what they had."""
        found = edits(self.session)
        if not found:
            return {}
        return {"rows": np.array([*found], float), "old": np.array([*found.values()])}

    def _begun_with(self, step: int) -> Before | None:
        """Return the numbers with which a step began, after the changes there."""
        timeline = self.session.timeline
        done = len(timeline.branch.actions_at((step, 0)))
        with suppress(ScalarvizError), timeline.visit(Clock(step, 0, done)):
            return Before(*copied_parts(self.session))
        return None

    def _computed(self, operation: int) -> State:
        """Return what a step has computed, of the sample and of all its batch."""
        session, moment = self.session, state_of(self.session)
        found: State = {"gradients": arrays(moment.gradients)}
        if operation:
            found["values"] = arrays(moment.values)
            found["left_out"] = self._left_out(found["values"])
        size = sum(buffer.size for buffer in self.program.buffers)
        if moment.all is not None and 2 * moment.batch * size <= MOST_OF_BATCH:
            found["all"] = {
                "values": arrays(moment.all.values),
                "gradients": arrays(moment.all.gradients),
                "targets": np.array(moment.all.targets),
            }
            if not operation and not moment.edited:
                inputs, _ = session.trainer.batches.at(session.step_index - 1)
                found["fresh"] = np.asarray(session.network(inputs)).ravel()
        return found

    def _left_out(self, values: Mapping[str, FloatArray]) -> dict[str, Any]:
        """Return 1 where dropout leaves a number out, else 0, by the buffer that it writes."""
        found = {}
        for operation in self.program.operations:
            source, target = self.names[operation.source], self.names[operation.target]
            if operation.kind == "dropout" and target in values:
                dropped = (values[target] == 0.0) & (values[source] != 0.0)
                found[target] = dropped.astype(np.uint8)
        return found

    def _sample(self, step: int) -> tuple[int, FloatArray, FloatArray, int]:
        """Return the place of the sample in focus, inputs and targets of its batch, and its row."""
        batches = self.session.trainer.batches
        inputs, targets = batches.at(step)
        focus = min(self.session.focus, len(inputs) - 1)
        row = -1
        with suppress(InputError):  # samples that are made anew have no rows
            row = int(rows_of_batch(batches, step)[focus])
        return focus, np.asarray(inputs), np.asarray(targets, np.float64), row

    def _answered(
        self, value: FloatArray, inputs: FloatArray, place: SampleContext
    ) -> dict[str, FloatArray]:
        """Return the numbers of all neurons for a sample; `graph_data` adds those of nodes."""
        if self.program.is_graph:
            return {}
        found = forward(self.program, value, inputs, place).values
        return {self.names[b]: found[b.name] for b in self.program.buffers if b.name in found}

    def _of_own(self) -> State:
        """Return what the network answers to an input of the user's own, which has no target."""
        assert self.own is not None
        numbers = self._numbers()
        place = SampleContext(numbers.state, self.session.network.bank.step_count)
        return {
            "own": True,
            "inputs": self.own,
            "values": self._answered(numbers.value, self.own, place),
            "gradients": {},
            "left_out": {},
            "target": None,
            "row": -1,
            "moment": -1,
        }

    def _answers(self) -> FloatArray:
        """Return the answers to the probe by the present weights."""
        if not len(self._probe):
            return np.zeros(0, np.float32)
        return as_sent(self.evaluate(self._probe))


# ---- helpers ------------------------------------------------------------------------------------


def arrays(numbers: Mapping[str, Any]) -> dict[str, FloatArray]:
    return {name: np.array(each, np.float64) for name, each in numbers.items()}


def copied(session: Session) -> SnapshotValues:
    """Return a copy of the present numbers; the caller holds the session's lock."""
    return SnapshotValues(*copied_parts(session), session.network.bank.state.copy())


def copied_parts(session: Session) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
    bank = session.network.bank
    slots = {name: slot.copy() for name, slot in bank.slots.items()}
    return bank.value.copy(), bank.grad.copy(), slots


def as_sent(answers: Any) -> FloatArray:
    """Return answers as a page gets them; what is too large for that is infinite."""
    with np.errstate(over="ignore"):
        found: FloatArray = np.asarray(answers, np.float32).ravel()
    return found


def of_numbers(numbers: SnapshotValues) -> State:
    """Return the numbers of a bank; slots only if they are few."""
    few = len(numbers.slots) * len(numbers.value) <= MOST_SLOTS
    slots = numbers.slots if few else {}
    return {"value": numbers.value, "grad": numbers.grad, "slots": slots}


def is_edit(action: Action) -> bool:
    return action.kind == "edit"


def told(branch: Branch) -> State:
    """Return what a page shows of a branch."""
    end = branch.end.step
    return {
        "key": branch.number,
        "number": branch.number,
        "name": branch.name,
        "start": branch.fork.step,
        "operation": branch.fork.operation,
        "is_first": branch.parent is None,
        "end": end,
        "loss": float(branch.loss_at(end - 1)) if end > branch.fork.step else float("nan"),
    }


def metrics_from(session: Session, last: int) -> State:
    """Return the metrics that the curve shows, with their values after the step `from`, up to `to`.

    Of more than MOST_MEASURED new values some are left out.
    """
    series, to = [], last
    for each in measured_of(session.metrics):
        new = np.flatnonzero(each.steps > last)
        new = new[:: -max(1, -(-len(new) // MOST_MEASURED))][::-1]
        known = {"steps": each.steps[new], "values": each.values[new]}
        series.append({"name": each.name, "share": each.share, **known})
        to = max(to, *map(int, known["steps"][-1:]), last)
    return {"from": last, "to": to, "series": series}


def losses_from(session: Session, first: int) -> State:
    """Return the losses of the shown branch from a step on, as `blocks_of` does."""
    branch = session.timeline.here.branch
    return blocks_of(branch.losses_between, first, max(first, branch.end.step))


def earlier_data(session: Session) -> State | None:
    """Return the losses of the trainings that a session was made from, before its step 0."""
    losses = earlier_losses(session)
    count = len(losses)
    if not count:
        return None
    found = blocks_of(lambda a, b, **_: losses[a + count : b + count], -count, 0)
    return {**found, "values": packed(found["values"].astype(np.float32))}


def blocks_of(between: Callable[..., FloatArray], first: int, end: int) -> State:
    """Return losses `between` steps: blocks, then those of the last steps.

    past  [end, smallest, largest] of each block of steps, as web/loss_record.js takes them
    """
    start = max(first, end - EXACT)
    size = max(1, -(-(start - first) // BLOCKS))
    past = []
    for low in range(first, start, size):
        high = min(low + size, start)
        block = between(low, high, ends=True)
        block = block[np.isfinite(block)]
        least = float(block.min(where=block != 0.0, initial=1e308))
        past.append([high, least, float(block.max(initial=-1e308))])
    return {"from": first, "past": past, "values": between(start, end)}
