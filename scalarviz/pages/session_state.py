"""SessionState: the state of a Python session in the form that pages draw, see web/state.js.

Reading never blocks the session. During training, a state contains the last snapshot of the
numbers. If the session is paused, the results of its step are read under its lock; if another
thread holds the lock, they are part of the next state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Program
from scalarviz.engines.engine import HostSnapshot, SnapshotValues
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.pages.bundle import packed
from scalarviz.pages.exhibit_data import probe_of
from scalarviz.stage.curves import measured_of
from scalarviz.stage.neuron_maps import surveyed
from scalarviz.stage.sample_pass import forward
from scalarviz.story.facts import State
from scalarviz.training.session.branches import Branch
from scalarviz.training.session.reading import (
    NetworkCopy,
    NewestNumbers,
    arrays,
    begun,
    edits,
    in_focus,
    row_in_focus,
    state_of,
)
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.trainer import settings_now
from scalarviz.training.session.user_changes import changed_at

PageState = dict[str, Any]
PATIENCE = 0.05  # seconds that a state waits for the lock of a paused session
EXACT = 4096  # losses of the last steps that are sent individually
BLOCKS = 1000  # blocks of older steps, with the mean loss of each
MOST_MEASURED = 4096  # values of a metric sent at once
MOST_OF_BATCH = 16_000  # numbers of a batch that captions read by sample
MOST_SLOTS = 20_000  # numbers of an optimizer, and of the initial weights


@final
class SessionState:
    """Reads a session for pages; `read` returns its state."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.program = session.network.program
        self._newest, self._copy = NewestNumbers(session), NetworkCopy(session)
        self._probe = probe_of(session)
        self._begun: tuple[Any, FloatArray] = None, np.zeros(0)  # a network and its outputs
        self._key: Any = None  # of the last moment read
        self._rest: PageState = {}  # the part read under the lock
        self._before: SnapshotValues | None = None  # the numbers of the last state

    def evaluate(self, inputs: FloatArray) -> FloatArray:
        """Return the outputs for inputs of shape (samples, inputs), with the shown parameters."""
        return np.asarray(self._copy.with_numbers(self._numbers())(inputs))

    def survey(self, inputs: FloatArray) -> FloatArray:
        """Return the values of all neurons for inputs, shape (neurons, samples)."""
        found = surveyed(self._copy.with_numbers(self._numbers()), inputs)
        if not found:
            raise InputError("this function has no neuron maps")
        return np.vstack([*found.values()])

    def read(self, own: FloatArray | None = None, jumps: int = 0) -> PageState:
        """Return the current state, without losses and metrics.

        Args:
            own: custom input to evaluate instead of the sample, or None
            jumps: number of jumps in time so far; a page resets its scales after a jump
        """
        session, here = self.session, self.session.timeline.here
        playing = session.playing
        key = (
            *(here.clock, here.branch.number, here.leaps, len(here.branch.journal)),
            *(session.focus, id(session.data)),
        )
        if playing:
            self._key, self._rest = None, {}
        elif key != self._key:
            with session.still(PATIENCE) as still:
                if still:
                    with session.doing():
                        here = session.timeline.here
                        self._rest = self._at_rest(here)
                    self._key = key
        found = self._rest
        if not found:
            numbers = self._numbers()
            here = self._newest.seen[1]
            found = self._between(numbers, here)
        answered = {} if own is None or found["operation"] else self._of_own(own)
        return {**found, **self._common(here, playing=playing), "jumps": jumps, **answered}

    # ---- parts of a state -----------------------------------------------------------------------

    def _numbers(self) -> SnapshotValues:
        """Return the latest copy of the numbers that is available without waiting."""
        self._newest.read()
        return self._newest.seen[0]

    def _common(self, here: Position, *, playing: bool) -> PageState:
        """Return the entries of a state that do not depend on the numbers of a step."""
        session, settings = self.session, settings_now(self.session)
        bank, rate = session.network.bank, settings.optimizer.rate(session.network.bank.step_count)
        masks = bank.frozen, session.trainer.still
        frozen, still = (np.asarray(mask).astype(np.uint8) for mask in masks)
        first = session.timeline.branches[0].frames[0].value
        return {
            "last": here.end.step,
            "playing": playing,
            "loss": here.loss,
            "rate": float(rate),
            "frozen": frozen,
            "stopped": None,
            "changed": changed_at(here),
            "measured": None,
            "branch": here.branch.number,
            "branches": [told(each) for each in list(session.timeline.branches)],
            "dropped": [],
            "begun": first if len(first) == len(bank) <= MOST_SLOTS else None,
            "seed": None,
            "size": session.trainer.batches.size,
            "optimizer": 0,
            "explains": session.trainer.explains,
            "made": {"optimizer": 0, "rate": float(rate), "frozen": still,
                     "counted": bank.step_count - session.step_index},
        }  # fmt: skip

    def _between(self, numbers: SnapshotValues, here: Position, *, rests: bool = True) -> PageState:
        """Return the entries of a state between two steps, both during playback and while paused.

        Args:
            numbers: parameters, gradients and slots
            here: position of the session
            rests: whether the page shows no operation of a step
        """
        session, probe = self.session, self._probe
        before, self._before = self._before, numbers
        is_recorded = session.trainer.recorded is not None
        batch = session.trainer.batches.at(here.seen)
        focus, inputs, target, size = in_focus(session, batch, here.seen if rests else None)
        few = len(numbers.slots) * len(numbers.value) <= MOST_SLOTS
        answers = self._copy.with_numbers(numbers)(probe) if len(probe) else ()
        return {
            "value": numbers.value,
            "grad": numbers.grad,
            "slots": numbers.slots if few else {},
            "bank_state": numbers.state,
            "step": here.clock.step,
            "operation": 0,
            "moment": -1,
            "before": None if is_recorded else before and before.value,
            "grad_before": before and before.grad,
            "slots_before": {},
            "earlier": None,
            "values": self._answered(numbers, inputs, focus),
            "gradients": {},
            "left_out": {},
            "inputs": inputs,
            "target": target,
            "weight": None,
            "row": row_in_focus(session, here.seen, rests=rests),
            "batch": size,
            "focus": focus,
            "all": None,
            "fresh": None,
            "own": None,
            "edited": {},
            "probe": as_sent(answers),
            "first": self._first(inputs),
        }

    def _first(self, inputs: FloatArray) -> FloatArray | None:
        """Return the outputs that the network had at step 0 for the probe and a sample, or None."""
        network, probe = self._copy.begun(), self._probe
        if network is None or not len(probe):
            return None
        if self._begun[0] is not network:
            self._begun = network, network(probe)
        return as_sent(np.concatenate([self._begun[1], network(inputs[np.newaxis])]))

    def _at_rest(self, here: Position) -> PageState:
        """Return the state of a paused session, with the results of its step so far."""
        session, timeline, operation = self.session, self.session.timeline, here.clock.operation
        walked = timeline.walked == (here.leaps, here.clock)
        moment = operation - 1 if operation else len(here.moments) - 1 if walked else -1
        numbers = HostSnapshot(session.network.bank).read()
        found = self._between(numbers, here, rests=moment < 0)
        edited = edits(session)
        if edited:
            found["edited"] = {
                "rows": np.array([*edited], float),
                "old": np.array([*edited.values()]),
            }
        found |= {"operation": operation, "moment": moment, "before": None, "grad_before": None}
        with suppress(ScalarvizError):  # an earlier step may no longer be reproducible
            if moment >= 0:
                found |= self.of_step(state_of(session))
            elif here.clock.step and session.trainer.knows:
                is_recorded = session.trainer.recorded is not None
                earlier = timeline.at_work() if is_recorded else timeline.visit(begun(timeline))
                with earlier:
                    first = HostSnapshot(session.network.bank).read()
                found |= numbers_before(first.value, first.grad, first.slots)
        return found

    def of_step(self, state: State) -> PageState:
        """Return the numbers before a step, and its results so far for the sample and the batch."""
        found = numbers_before(state.before, state.grad_before, state.slots_before)
        if self.program.is_graph:
            return found
        found |= {"gradients": arrays(state.gradients), "weight": state.weight}
        if state.operation:
            values = found["values"] = arrays(state.values)
            found["left_out"] = left_out(self.program, values)
        size = sum(buffer.size for buffer in self.program.buffers)
        if state.all is not None and 2 * state.batch * size <= MOST_OF_BATCH:
            found["all"] = {
                "values": arrays(state.all.values),
                "gradients": arrays(state.all.gradients),
                "targets": np.array(state.all.targets),
                "weights": state.all.weights,
            }
            if not state.operation and not state.edited:
                inputs, _ = self.session.trainer.batches.at(state.step - 1)
                found["fresh"] = np.asarray(self.session.network(inputs)).ravel()
        return found

    def _answered(
        self, numbers: SnapshotValues, inputs: FloatArray, focus: int = 0
    ) -> dict[str, FloatArray]:
        """Return the values of all neurons for a sample; empty for a compiled function."""
        if self.program.is_graph:
            return {}
        taken = self.session.network.bank.step_count
        return forward(self.program, numbers.value, inputs, numbers.state, taken, focus).values

    def _of_own(self, inputs: FloatArray) -> PageState:
        """Return the entries of a state for a custom input, which has no target."""
        return {
            "own": True,
            "inputs": inputs,
            "first": self._first(inputs),
            "values": self._answered(self._numbers(), inputs),
            "gradients": {},
            "left_out": {},
            "target": None,
            "row": -1,
            "moment": -1,
        }


# ---- helpers ------------------------------------------------------------------------------------


def numbers_before(value: Any, grad: Any, slots: Mapping[str, Any]) -> PageState:
    """Return the parameters, gradients and slots before a step, as entries of a state."""
    return {
        "before": np.array(value),
        "grad_before": np.array(grad[:]),
        "slots_before": {name: np.array(each) for name, each in slots.items()},
    }


def left_out(program: Program, values: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return, for each output buffer of a dropout, 1 for dropped numbers and 0 for others."""
    ends = [
        (each.source.name, each.target.name)
        for each in program.operations
        if each.kind == "dropout" and each.target.name in values
    ]
    return {y: ((values[y] == 0.0) & (values[x] != 0.0)).astype(np.uint8) for x, y in ends}


def as_sent(answers: Any) -> FloatArray:
    """Return outputs as a flat float32 array for a page; overflow becomes infinity."""
    with np.errstate(over="ignore"):
        return np.asarray(answers, np.float32).ravel()


def told(branch: Branch) -> PageState:
    """Return the data of a branch for a page."""
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


def metrics_from(session: Session, last: int) -> PageState:
    """Return the metrics for the chart, with their values after the step `last`.

    If a metric has more than MOST_MEASURED new values, some are left out.
    """
    series, to = [], last
    for each in measured_of(session.metrics):
        new = np.flatnonzero(each.steps > last)
        new = new[:: -max(1, -(-len(new) // MOST_MEASURED))][::-1]
        known = {"steps": each.steps[new], "values": each.values[new]}
        series.append({"name": each.name, "share": each.share, **known})
        to = max(to, *map(int, known["steps"][-1:]), last)
    return {"from": last, "to": to, "series": series}


def losses_from(session: Session, first: int) -> PageState:
    """Return the losses of the shown branch, beginning at a step, in the form of `blocks_of`."""
    branch = session.timeline.here.branch
    return blocks_of(branch.losses_between, first, max(first, branch.end.step))


def earlier_data(losses: FloatArray, end: int = 0) -> PageState | None:
    """Return losses of the steps before a page begins, the last one before `end`; None if empty."""
    first = end - len(losses)
    if first == end:
        return None
    found = blocks_of(lambda a, b, **_: losses[a - first : b - first], first, end)
    return {**found, "values": packed(found["values"].astype(np.float32))}


def blocks_of(between: Callable[..., FloatArray], first: int, end: int) -> PageState:
    """Return the losses from step `first` to `end`: means of blocks, then the last losses.

    The entry "past" contains [end, mean] for each block of steps, for web/loss_record.js. The mean
    is None if unknown. The entry "values" contains the individual losses of the last steps.
    """
    start = max(first, end - EXACT)
    size = max(1, -(-(start - first) // BLOCKS))
    past = []
    for low in range(first, start, size):
        high = min(low + size, start)
        block = between(low, high, ends=True)
        block = block[np.isfinite(block)]
        past.append([high, float(block.mean()) if len(block) else None])
    return {"from": first, "past": past, "values": between(start, end)}
