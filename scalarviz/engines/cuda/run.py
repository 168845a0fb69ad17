"""CudaRun: a training on the cuda engine, many steps in one launch, or moment by moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.not_finite import bad_gradient, bad_update
from scalarviz.core.optimizer import NO_OWN_RATES, Optimizer
from scalarviz.core.program import NONE, Buffer, Moment
from scalarviz.data.batches import Batches, InOrder
from scalarviz.engines.common.base import Outcome, Run
from scalarviz.engines.common.before import Before
from scalarviz.engines.common.statistics import Statistics
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.calls import CudaCalls
from scalarviz.engines.cuda.failure import BEFORE, KEYFRAME, card_failures
from scalarviz.engines.cuda.memory import Memory
from scalarviz.engines.cuda.snapshot import Asides, CudaSnapshot
from scalarviz.engines.cuda.tables import (
    MOST_STEPS,
    set_start,
)
from scalarviz.errors import EngineError

if TYPE_CHECKING:
    from scalarviz.engines.cuda.engine import CudaEngine


@final
class CudaRun(Run):
    """Trains a network by whole steps if they fit into a block, else kernel by kernel.

    `whole_steps` says which; the bits are the same.
    """

    def __init__(self, engine: CudaEngine, batches: Batches, loss: Loss) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self._count = 0  # samples in the batch of `begin`
        self._statistics = Statistics(engine)
        self._make_work()
        self.whole_steps = self._work.fits

    def _make_work(self) -> None:
        """Make kernels and memory for the formulas that there are now."""
        self.engine.bank.fetch()  # from the memory so far, which is freed before there is more
        self._calls: CudaCalls | None = None
        self.slots: tuple[str, ...] = ()  # of the optimizer of the last steps
        self._asides: Asides | None = None
        self._on_device: Batches | None = None  # whose tables are on the device
        self._own_rates = NO_OWN_RATES  # which are on the device
        self._calls = self.engine.take_work(self.batches.size)
        self._calls.use_loss(self.loss_function)

    @property
    def _work(self) -> CudaCalls:
        """Kernels and memory of this training."""
        assert self._calls is not None
        return self._calls

    @property
    def is_outdated(self) -> bool:
        """Whether there are none, or not of all formulas."""
        return self._calls is None or self._calls.outdated

    @property
    def memory(self) -> Memory:
        """The arrays of this training on the GPU."""
        return self._work.memory

    # ---- whole steps

    def resume(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> bool:
        batches = self.batches
        if (inputs.shape, targets.shape) != (batches.inputs.shape, batches.targets.shape):
            return False
        if loss.key != self.loss_function.key or self.is_outdated:
            return False
        self.batches, self.loss_function = InOrder(inputs, targets), loss
        return True

    def steps(self, optimizer: Optimizer, first: int, count: int) -> Outcome:
        # A failure of the GPU leaves the numbers from before the call, also in a later launch; a
        # session that leaves its numbers on the GPU has keyframes instead.
        bank, before = self.engine.bank, None
        if count > MOST_STEPS and not bank.away.allowed:
            before = Before(bank, optimizer, gradients=True)
        try:
            with card_failures(KEYFRAME if bank.away.allowed else BEFORE):
                return self._launches(optimizer, first, count)
        except BaseException as error:
            bank.away.end()
            if before is not None and isinstance(error, EngineError):
                before.restore()
            raise

    def _launches(self, optimizer: Optimizer, first: int, count: int) -> Outcome:
        """Take steps, at most MOST_STEPS in one launch."""
        losses: list[FloatArray] = [np.zeros(0)]
        bad, done = NONE, 0
        while done < count and bad == NONE:
            steps = min(MOST_STEPS, count - done)
            self.launch(optimizer, first + done, steps)
            outcome = self.outcome(optimizer)
            losses.append(outcome.losses)
            if outcome.overflow is not None:
                return Outcome(np.concatenate(losses), overflow=outcome.overflow)
            bad, done = outcome.bad, done + steps
        return Outcome(np.concatenate(losses), bad)

    # ---- numbers that stay on the GPU between calls of `steps`

    def fetch(self) -> None:
        """Copy values, gradients and slots to the bank; see `scalarviz.core.device_arrays`."""
        with card_failures(KEYFRAME):
            self.memory.take_bank(self.engine.bank, self.slots)

    def snapshot(self, bank: Bank) -> CudaSnapshot:
        return CudaSnapshot(self)

    @property
    def asides(self) -> Asides:
        """The memory for snapshots."""
        if self._asides is None:
            self._asides = Asides(self.memory)
        return self._asides

    def share_tables(self, other: CudaRun) -> None:
        """Use the tables of another run, if they are on the device and those of this one."""
        there, here = other._on_device, self.batches
        if there is None or self._on_device is not None:
            return
        if there.inputs is here.inputs and there.targets is here.targets:
            other._work.memory.stream.synchronize()  # until they have arrived
            self._work.memory.data, self._on_device = other._work.memory.data, here

    @property
    def _may_stay(self) -> bool:
        """Whether numbers may stay on the GPU: the Python of a layer looks at those of the bank."""
        return self.engine.bank.away.allowed and not self._work.host.references

    def launch(self, optimizer: Optimizer, first: int, count: int) -> None:
        """Queue at most MOST_STEPS steps; `outcome` waits for them."""
        self._order(optimizer, first, count)
        away, slots = self.engine.bank.away, optimizer.row.slots
        if away.keeper is self and slots == self.slots:
            self.memory.put_plan()
        else:
            self._work.begin(slots)
        self.slots = slots
        if self._may_stay:
            away.leave(self)
        self.whole_steps = self.whole_steps and self._work.whole_steps(count)
        if not self.whole_steps:
            counts = [self.batches.count(step) for step in range(first, first + count)]
            self._work.repeat(self._step, counts)

    def outcome(self, optimizer: Optimizer) -> Outcome:
        """Wait for the steps of `launch`; copy the bank from the device, unless it may stay."""
        bank, memory, slots = self.engine.bank, self.memory, optimizer.row.slots
        memory.take_plan()
        plan = memory.host_plan
        is_whole = plan[places.BAD] == NONE and plan[places.OVERFLOWED] == places.NOBODY
        if not (is_whole and self._may_stay):
            bank.away.end()
            memory.take_bank(bank, slots)
        # A refused step has not changed running statistics either.
        refused = not self.whole_steps and memory.host_plan[places.BAD] != NONE
        memory.take_state(bank, before=bool(refused))
        before = bank.step_count
        bank.count_steps(int(memory.host_plan[places.STEPS_TAKEN_AFTER]) - before)
        bank.has_gradients = True
        start, taken = self._work.layout.losses_place, int(memory.host_plan[places.DONE])
        if memory.host_plan[places.OVERFLOWED] != places.NOBODY:
            taken = int(memory.host_plan[places.OVERFLOWED])
            return Outcome(
                memory.host_scalars[start : start + taken].copy(),
                overflow=self.engine.bad_update(optimizer, before + taken),
            )
        return Outcome(
            memory.host_scalars[start : start + taken].copy(), int(memory.host_plan[places.BAD])
        )

    def _step(self) -> None:
        """Run all moments of a step, one kernel after the other."""
        self._work.clear()
        self._work.draw()
        for moment in self.engine.program.moments:
            if moment.kind == "step":
                self._work.move()
            elif moment.kind != "zero_grad":
                self._moment(moment)

    def _moment(self, moment: Moment) -> None:
        """Run the kernels of one moment."""
        work, i = self._work, moment.operation
        if moment.kind == "forward":
            work.forward(i)
        elif moment.kind == "loss":
            work.loss()
        elif moment.kind == "weight gradient":
            work.parameter_gradient(i)
        else:
            program = self.engine.program
            if program.outputs in moment.gradients:
                work.loss_gradient()
            if moment.flows_into(program.operations[i]):
                work.input_gradient(i)

    # ---- moment by moment

    @card_failures()
    def begin(self, step: int) -> None:
        self._order(None, step, 1)
        self._work.memory.put_plan()
        self._work.draw()
        self._count = self._work.host.samples = self.batches.count(step)
        self._statistics = Statistics(self.engine)
        self.loss = np.nan

    @card_failures()
    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        bank, memory = self.engine.bank, self._work.memory
        if moment.kind == "zero_grad":
            bank.zero_grad()
            return
        plan, scalars = memory.host_plan, memory.host_scalars
        self._set_optimizer(optimizer)
        set_start(plan, scalars, bank, int(plan[places.FIRST_STEP]))
        self._work.begin(optimizer.row.slots if moment.kind == "step" else ())
        if moment.kind == "step":
            self._work.move()
            memory.take_plan()
            self._end_step(optimizer)
            return
        self._moment(moment)
        memory.take_plan()
        memory.take_bank(bank, ())
        memory.take_state(bank)
        if moment.kind == "forward":
            self._statistics.after_forward()
        elif moment.kind == "loss":
            self.loss = float(scalars[self._work.layout.losses_place])
        elif moment.kind == "weight gradient":
            bank.has_gradients = True

    def _end_step(self, optimizer: Optimizer) -> None:
        """Copy the results of the optimizer's part of a step, or raise its error."""
        bank, memory, plan = self.engine.bank, self._work.memory, self._work.memory.host_plan
        if plan[places.BAD] != NONE:
            raise bad_gradient(bank, int(plan[places.BAD]))
        before = Before(bank, optimizer)
        memory.take_bank(bank, optimizer.row.slots)
        memory.take_state(bank)
        error = self._statistics.error
        if error is None and plan[places.OVERFLOWED] != places.NOBODY:
            error = bad_update(bank, optimizer, bank.step_count)
        if error is not None:
            before.restore()
            raise error
        bank.count_steps(1)

    @card_failures()
    def values(self, buffer: Buffer) -> FloatArray:
        return self._work.values(buffer.offset, buffer.size, self._count)

    @card_failures()
    def gradients(self, buffer: Buffer) -> FloatArray:
        return self._work.gradients(buffer.offset, buffer.size, self._count)

    @card_failures()
    def targets(self) -> FloatArray:
        size = self.engine.program.outputs.size
        return self._work.values(int(self._work.layout.plan[places.GOALS]), size, self._count)

    # ---- the plan

    def _order(self, optimizer: Optimizer | None, first: int, count: int) -> None:
        """Set the fields of the plan for a call, and copy its samples to the device."""
        if self.is_outdated:
            self._make_work()
        memory, batches = self._work.memory, self.batches.block(first, count)
        plan, scalars = memory.host_plan, memory.host_scalars
        if batches is not self._on_device:
            memory.put_data(self.engine.array(batches.inputs), self.engine.array(batches.targets))
            self._on_device = batches
        self._work.use_batches(batches)
        set_start(plan, scalars, self.engine.bank, first)
        if optimizer is not None:
            self._set_optimizer(optimizer)

    def _set_optimizer(self, optimizer: Optimizer) -> None:
        """Set the fields of an optimizer, and copy rates of single weights to the device."""
        memory = self._work.memory
        self._work.use_optimizer(optimizer)
        if optimizer.own_rates and optimizer.own_rates != self._own_rates:
            rates = optimizer.own_rates.array(memory.rows)
            memory.write(int(memory.host_plan[places.OWN_RATES]), rates)
            self._own_rates = optimizer.own_rates
