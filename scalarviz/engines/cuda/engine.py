"""The cuda engine: runs the program of a network with numba-CUDA kernels on whole batches.

It works on operations and buffers, not layers. Between calls the bank in host memory is current,
except for numbers that a session leaves on the GPU; see `scalarviz.core.device_arrays`.

A `CudaRun` trains for many steps in one launch, or runs one step moment by moment. `CudaMany`
trains many networks of equal shape, each on a separate stream. All launches of a call are queued
before waiting for the first result, so that the GPU runs them concurrently, up to its capacity.
Each network gets the same bits as in a separate run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.kernel_threads import check_process
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import BankStack, bad_gradient
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import NO_OWN_RATES, Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Buffer, Moment, Program
from scalarviz.data.batches import Batches, InOrder
from scalarviz.engines.cuda import gpu_layout
from scalarviz.engines.cuda.card import BEFORE, KEYFRAME, card_failures, is_out_of_memory
from scalarviz.engines.cuda.device_memory import (
    MOST_STEPS,
    Asides,
    CudaSnapshot,
    Memory,
    set_start,
    set_state,
)
from scalarviz.engines.cuda.launches import CudaCalls, Device
from scalarviz.engines.engine import (
    BeforeStep,
    Run,
    RunningStatistics,
    RunOutcome,
    StackEngine,
    Waiting,
)
from scalarviz.engines.reference import program_forward
from scalarviz.errors import EngineError

MOST_SPARE = 4  # batch sizes whose memory is kept
MOST_EVALUATED = 4096  # samples evaluated at a time


@final
class CudaEngine(StackEngine[CudaCalls]):
    """Runs a program on a GPU."""

    name = "cuda"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        # Unused memory for batches of other sizes, most recently used last.
        self._spare: deque[CudaCalls] = deque(maxlen=MOST_SPARE)

    @cached_property
    def device(self) -> Device:
        """The GPU chosen by numba; an engine sent to another process looks it up again."""
        check_process()
        with card_failures():
            return Device.current()

    @card_failures()
    def forward(self, batch: FloatArray) -> FloatArray:
        work = self.take_work(len(batch))
        set_start(work.memory.host_plan, work.memory.host_scalars, self.bank, 0)
        work.begin()
        self._run_forward(work, batch)
        self._waiting.append(Waiting(len(batch), work))
        work.memory.take_plan()
        work.memory.take_state(self.bank)
        return self._outputs(work, len(batch))

    @card_failures()
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """Return the outputs of a batch, computed in tiles of independent samples.

        Tile sizes are powers of two, so that batches of many sizes use the same memory.
        """
        size = min(MOST_EVALUATED, 1 << (len(batch) - 1).bit_length())
        work = self.take_work(size, learning=False)
        set_start(work.memory.host_plan, work.memory.host_scalars, self.bank, 0, learning=False)
        work.begin()
        found = []
        for start in range(0, len(batch), size):
            tile = batch[start : start + size]
            self._run_forward(work, tile)
            found.append(self._outputs(work, len(tile)))
        self._spare.append(work)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def survey(self, batch: FloatArray) -> dict[str, FloatArray]:
        return program_forward(self.program, self.bank.value, self.bank.state, batch)

    def _run_forward(self, work: CudaCalls, batch: FloatArray) -> None:
        work.host.samples = len(batch)
        work.write(gpu_layout.SPACE, self.program.inputs.offset, self.array(batch))
        for i in range(len(self.program.operations)):
            work.forward(i)

    def _outputs(self, work: CudaCalls, samples: int) -> FloatArray:
        outputs = self.program.outputs
        return work.values(outputs.offset, outputs.size, samples)

    def take_work(self, samples: int, *, learning: bool = True) -> CudaCalls:
        """Return the calls for batches of this size: unused ones if available, else new ones.

        If the GPU has too little memory for new ones, unused ones are freed.

        Args:
            learning: if False, no memory for gradients is needed
        """
        wanted = samples, learning
        spare = [w for w in self._spare if (w.samples, w.learning) == wanted and not w.outdated]
        if spare:
            self._spare.remove(spare[0])
            return spare[0]
        try:
            return self._new_work(samples, learning)
        except Exception as error:  # the driver has special classes; other errors are raised again
            if not is_out_of_memory(error):
                raise
        # Outside of `except`, which would keep the arrays alive.
        self._spare.clear()
        return self._new_work(samples, learning)

    def _new_work(self, samples: int, learning: bool) -> CudaCalls:
        return CudaCalls(self.program, self.bank, samples, self.device, learning)

    @card_failures()
    def backward(self, upstream: FloatArray) -> FloatArray:
        work, operations = self._waiting.pop().kept, self.program.operations
        set_state(work.memory.host_scalars, self.bank)  # the plan of its forward is still valid
        work.begin()
        outputs, inputs = self.program.outputs, self.program.inputs
        work.write(gpu_layout.FLOW, outputs.offset, self.array(upstream))
        for i in reversed(range(len(operations))):
            if operations[i].parameters:
                work.parameter_gradient(i)
            work.input_gradient(i)
        work.memory.take_bank(self.bank, ())
        self.bank.has_gradients = True
        self._spare.append(work)
        return work.gradients(inputs.offset, inputs.size, work.samples)

    def run(self, batches: Batches, loss: Loss) -> CudaRun:
        with card_failures():
            return CudaRun(self, batches, loss)


@final
class CudaRun(Run):
    """Trains a network by entire steps if its operations fit into a block, else kernel by kernel.

    `whole_steps` is True in the first case; the results have the same bits in both.
    """

    def __init__(self, engine: CudaEngine, batches: Batches, loss: Loss) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self._loss_key = loss.key  # the loss itself may change
        self._make_work()
        self.whole_steps = self._work.fits

    def _make_work(self) -> None:
        """Create kernels and memory for the formulas in use."""
        self.engine.bank.fetch()  # of the current memory, which is freed before more is allocated
        self._calls: CudaCalls | None = None
        self.slots: tuple[str, ...] = ()  # of the optimizer of the last steps
        self._asides: Asides | None = None
        self._on_device: Batches | None = None  # whose tables are on the device
        self._own_rates = NO_OWN_RATES  # those on the device
        self._calls = self.engine.take_work(self.batches.size)
        self._calls.use_loss(self.loss_function)

    @property
    def _work(self) -> CudaCalls:
        """Kernels and memory of this run."""
        assert self._calls is not None
        return self._calls

    @property
    def is_outdated(self) -> bool:
        """Whether kernels are missing or were made before a custom formula was added."""
        return self._calls is None or self._calls.outdated

    @property
    def memory(self) -> Memory:
        """The arrays of this run on the GPU."""
        return self._work.memory

    # ---- whole steps

    def resume(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> bool:
        batches = self.batches
        if (inputs.shape, targets.shape) != (batches.inputs.shape, batches.targets.shape):
            return False
        if loss.key != self._loss_key or self.is_outdated:
            return False
        self.batches, self.loss_function = InOrder(inputs, targets), loss
        return True

    def steps(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        # After a failure of the GPU the numbers are those from before the call, even for a later
        # launch; a session that leaves its numbers on the GPU has keyframes instead.
        bank, before = self.engine.bank, None
        if count > MOST_STEPS and not bank.away.allowed:
            before = BeforeStep(bank, optimizer, gradients=True)
        try:
            with card_failures(KEYFRAME if bank.away.allowed else BEFORE):
                return self._launches(optimizer, first, count)
        except BaseException as error:
            bank.away.end()
            if before is not None and isinstance(error, EngineError):
                before.restore()
            raise

    def _launches(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        """Take `count` steps, at most MOST_STEPS per launch."""
        losses: list[FloatArray] = [np.zeros(0)]
        bad, done = NONE, 0
        while done < count and bad == NONE:
            steps = min(MOST_STEPS, count - done)
            self.launch(optimizer, first + done, steps)
            outcome = self.outcome(optimizer)
            losses.append(outcome.losses)
            if outcome.overflow is not None:
                return RunOutcome(np.concatenate(losses), overflow=outcome.overflow)
            bad, done = outcome.bad, done + steps
        return RunOutcome(np.concatenate(losses), bad)

    # ---- numbers that stay on the GPU between calls of `steps`

    def fetch(self) -> None:
        """Copy values, gradients and slots from the GPU to the bank."""
        with card_failures(KEYFRAME):
            self.memory.take_bank(self.engine.bank, self.slots)

    def snapshot(self, bank: Bank) -> CudaSnapshot:
        return CudaSnapshot(self)

    @property
    def asides(self) -> Asides:
        """Pool of memory for snapshots of the bank."""
        if self._asides is None:
            self._asides = Asides(self.memory)
        return self._asides

    def share_tables(self, other: CudaRun) -> None:
        """Use the data tables of another run if they are already on the device and identical."""
        there, here = other._on_device, self.batches
        if there is None or self._on_device is not None:
            return
        if there.inputs is here.inputs and there.targets is here.targets:
            other._work.memory.stream.synchronize()  # until they have arrived
            self._work.memory.data, self._on_device = other._work.memory.data, here

    @property
    def _may_stay(self) -> bool:
        """Return whether numbers may stay on the GPU; layers with Python code prevent it."""
        return self.engine.bank.away.allowed and not self._work.host.references

    def launch(self, optimizer: Optimizer, first: int, count: int) -> None:
        """Queue at most MOST_STEPS steps; `outcome` waits for their results."""
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

    def outcome(self, optimizer: Optimizer) -> RunOutcome:
        """Wait for the steps queued by `launch`; copy the bank to the host unless it may stay."""
        bank, memory, slots = self.engine.bank, self.memory, optimizer.row.slots
        memory.take_plan()
        plan = memory.host_plan
        is_whole = plan[gpu_layout.BAD] == NONE and plan[gpu_layout.OVERFLOWED] == gpu_layout.NOBODY
        if not (is_whole and self._may_stay):
            bank.away.end()
            memory.take_bank(bank, slots)
        # A rejected step has not changed running statistics either.
        refused = not self.whole_steps and memory.host_plan[gpu_layout.BAD] != NONE
        memory.take_state(bank, before=bool(refused))
        before = bank.step_count
        bank.count_steps(int(memory.host_plan[gpu_layout.STEPS_TAKEN_AFTER]) - before)
        bank.has_gradients = True
        start, taken = self._work.layout.losses_place, int(memory.host_plan[gpu_layout.DONE])
        if memory.host_plan[gpu_layout.OVERFLOWED] != gpu_layout.NOBODY:
            taken = int(memory.host_plan[gpu_layout.OVERFLOWED])
            return RunOutcome(
                memory.host_scalars[start : start + taken].copy(),
                overflow=self.engine.bad_update(optimizer, before + taken),
            )
        return RunOutcome(
            memory.host_scalars[start : start + taken].copy(), int(memory.host_plan[gpu_layout.BAD])
        )

    def _step(self) -> None:
        """Run all moments of a step, kernel by kernel."""
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
        # Samples of the batch.
        self._count = self._work.host.samples = self.batches.count(step)
        self._statistics = RunningStatistics(self.engine)
        self.loss = np.nan

    @card_failures()
    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        bank, memory = self.engine.bank, self._work.memory
        if moment.kind == "zero_grad":
            bank.zero_grad()
            return
        plan, scalars = memory.host_plan, memory.host_scalars
        self._set_optimizer(optimizer)
        set_start(plan, scalars, bank, int(plan[gpu_layout.FIRST_STEP]))
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
        """Copy the results of the optimizer to the bank, or raise the error of a bad gradient."""
        bank, memory, plan = self.engine.bank, self._work.memory, self._work.memory.host_plan
        if plan[gpu_layout.BAD] != NONE:
            raise bad_gradient(bank, int(plan[gpu_layout.BAD]))
        before = BeforeStep(bank, optimizer)
        memory.take_bank(bank, optimizer.row.slots)
        memory.take_state(bank)
        overflowed = bool(plan[gpu_layout.OVERFLOWED] != gpu_layout.NOBODY)
        before.end_step(self._statistics.error, overflowed=overflowed)

    @card_failures()
    def values(self, buffer: Buffer) -> FloatArray:
        return self._work.values(buffer.offset, buffer.size, self._count)

    @card_failures()
    def gradients(self, buffer: Buffer) -> FloatArray:
        return self._work.gradients(buffer.offset, buffer.size, self._count)

    @card_failures()
    def targets(self) -> FloatArray:
        size = self.engine.program.outputs.size
        return self._work.values(int(self._work.layout.plan[gpu_layout.GOALS]), size, self._count)

    # ---- the plan

    def _order(self, optimizer: Optimizer | None, first: int, count: int) -> None:
        """Set the plan's fields for a call, and copy its samples to the device."""
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
        """Set the fields of an optimizer, and copy per-weight learning rates to the device."""
        memory = self._work.memory
        self._work.use_optimizer(optimizer)
        if optimizer.own_rates and optimizer.own_rates != self._own_rates:
            rates = optimizer.own_rates.at(np.arange(memory.rows))
            memory.write(int(memory.host_plan[gpu_layout.OWN_RATES]), rates)
            self._own_rates = optimizer.own_rates


@final
class CudaMany:
    """Trains many networks with the same program; each has its own bank and batches.

    Attributes:
        taken: number of steps taken by each network
    """

    def __init__(
        self,
        program: Program,
        stack: BankStack,
        batches: Sequence[Batches],
        loss: Loss,
        optimizer: Optimizer,
        precision: Precision,
    ) -> None:
        self._optimizer = optimizer
        self._going_on = np.ones(len(stack.banks), np.bool_)
        self.taken = np.zeros(len(stack.banks), np.int64)
        self._runs = [
            CudaEngine([], program, bank, precision).run(each, loss)
            for bank, each in zip(stack.banks, batches, strict=True)
        ]

    def prepare(self) -> None:
        """No-op: kernels are compiled or loaded by the first step."""

    def count_steps(self) -> None:
        """No-op: every call of `steps` updates the step counts."""

    def steps(self, first: int, count: int) -> FloatArray:
        """Take `count` steps with every network; return the losses, shape (networks, count).

        A loss is NaN from the step at which its network stopped because of a non-finite gradient
        or an overflow.
        """
        losses = np.full((len(self._runs), count), np.nan)
        for start in range(0, count, MOST_STEPS):
            part = losses[:, start : start + MOST_STEPS]
            with card_failures():
                self._some_steps(first + start, part)
        return losses

    def _some_steps(self, first: int, losses: FloatArray) -> None:
        """Take a step for each column of `losses`, with one launch per network."""
        count, chosen = losses.shape[1], np.flatnonzero(self._going_on).tolist()
        before = {}
        for i in chosen:
            run = self._runs[i]
            before[i] = BeforeStep(run.engine.bank, self._optimizer)
            run.share_tables(self._runs[0])
            run.launch(self._optimizer, first, count)
        for i in chosen:
            run = self._runs[i]
            outcome = run.outcome(self._optimizer)
            taken = len(outcome.losses)
            if outcome.overflow is not None:
                before[i].restore()
                if taken:
                    run.steps(self._optimizer, first, taken)
            losses[i, :taken] = outcome.losses
            self.taken[i] += taken
            self._going_on[i] = outcome.bad == NONE and outcome.overflow is None
