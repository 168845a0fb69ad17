"""The cpu engine: runs the program of a network with numba kernels on whole batches.

It uses operations and buffers, not layers. Kernels are compiled on first use and cached on disk.

A `CpuRun` trains for many steps in one call, or runs one step moment by moment, in which case every
tile has a workspace that keeps all intermediate values. Both use the same kernels, so the results
have the same bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property
from struct import Struct
from typing import final

import numpy as np
from numba.np.ufunc.parallel import get_thread_count

from scalarviz.base.checks import FloatArray
from scalarviz.base.kernel_threads import check_process
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import bad_gradient
from scalarviz.core.formulas.losses import Loss, Weights
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, OVERFLOW, Buffer, Moment, Program
from scalarviz.data.batches import Batches, goals_of
from scalarviz.engines.cpu import tiles as plans
from scalarviz.engines.cpu.calls import (
    ALONE,
    TOGETHER,
    BatchPasses,
    CpuCalls,
    ThreadChoice,
)
from scalarviz.engines.cpu.job import (
    CpuJob,
    Room,
    Tables,
    address,
    backward_passes,
    forward_passes,
    link,
    make_tables,
    pass_of,
    passes,
    plan_loss,
    whole_pass,
)
from scalarviz.engines.cpu.records import Records
from scalarviz.engines.cpu.table import (
    BY_PARTS,
    MOVING,
    ROUNDING,
    TRAINING,
    TURNING,
    adding_together,
    turned,
    units_of_draws,
    units_of_loss,
    units_of_optimizer,
)
from scalarviz.engines.cpu.tiles import (
    number_of_chunks,
    number_of_tiles,
    stride_of_rows,
    tile_starts,
)
from scalarviz.engines.engine import (
    BeforeStep,
    Run,
    RunningStatistics,
    RunOutcome,
    StackEngine,
    Waiting,
)


@final
class CpuEngine(StackEngine[FloatArray]):
    """Runs a program on tiles of samples, on all cores available to numba.

    The workspaces of a forward pass are kept until its backward pass.
    """

    name = "cpu"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        self._work = CpuCalls(program, bank, precision)
        self._evaluations: dict[int, BatchPasses] = {}  # by size of the batch
        self._verbs: dict[int, BatchPasses] = {}  # shared by forward and backward

    # Made on first use: many sessions of a sweep never take a step.

    @cached_property
    def tables(self) -> Tables:
        """Records of the program, in the form that kernels read."""
        return make_tables(self.program, self.bank.dtype, self._work.precision)

    @cached_property
    def _evaluating(self) -> Records:
        return whole_pass(self.program, plans.DO_LOAD | plans.DO_FORWARD | plans.DO_STORE)

    @cached_property
    def _forward(self) -> Records:
        return forward_passes(self.program, plans.DO_LOAD, plans.DO_STORE, keeps=True)

    @cached_property
    def _backward(self) -> Records:
        return backward_passes(self.program, plans.DO_UPSTREAM, plans.DO_RETURN, keeps=True)

    def forward(self, batch: FloatArray) -> FloatArray:
        spaces = np.zeros((number_of_tiles(len(batch)), self.tables.space), self.bank.dtype)
        outputs = np.empty((len(batch), self.program.outputs.size), self.bank.dtype)
        verbs = self._verbs_for(len(batch))
        verbs.use(self._room(len(batch), spaces))
        verbs.run(self._forward, data=self.array(batch), outputs=outputs)
        verbs.release()
        self._waiting.append(Waiting(len(batch), spaces))
        return outputs

    def evaluate(self, batch: FloatArray) -> FloatArray:
        samples = len(batch)
        outputs = np.empty((samples, self.program.outputs.size), self.bank.dtype)
        # Another thread may evaluate at the same time: it makes a new one.
        evaluation = self._evaluations.pop(samples, None) or self._evaluation(samples)
        evaluation.run(self._evaluating, data=self.array(batch), outputs=outputs)
        self._evaluations = {samples: evaluation}
        return outputs

    def survey(self, batch: FloatArray) -> dict[str, FloatArray]:
        samples, program = len(batch), self.program
        spaces = np.zeros((number_of_tiles(samples), self.tables.space), self.bank.dtype)
        made = BatchPasses(self._work, self.tables, samples, apart=True)
        made.use(self._room(samples, spaces))
        todo = whole_pass(program, plans.DO_LOAD | plans.DO_FORWARD | plans.DO_KEEP)
        made.run(todo, data=self.array(batch))
        return {
            each.name: numbers_in(spaces, samples, each.offset, each.size, self.tables)
            for each in program.buffers
        }

    def loss_on(
        self, inputs: FloatArray, targets: FloatArray, weights: Weights, loss: Loss
    ) -> Callable[[], float]:
        plan = plan_loss(self.tables, self.program, loss, self._work.load(units_of_loss(loss)))
        what = plans.DO_LOAD | plans.DO_FORWARD | plans.DO_AIM | plans.DO_ERROR
        todo = whole_pass(self.program, what)
        evaluation, mean = self._evaluation(len(inputs), plan), loss.scale(targets.shape, weights)
        data, goals = self.array(inputs), self.array(goals_of(targets, weights))
        return lambda: sum(evaluation.run(todo, data=data, goals=goals).tolist()) * mean

    def _evaluation(self, samples: int, plan: Records | None = None) -> BatchPasses:
        """Return a runner of forward passes for a batch size; its plan may include a loss."""
        spaces = np.empty((number_of_chunks(samples), self.tables.space), self.bank.dtype)
        made = BatchPasses(self._work, self.tables, samples, plan)
        made.use(self._room(samples, spaces))
        return made

    def _verbs_for(self, samples: int) -> BatchPasses:
        """Return the runner of forward and backward passes for a batch size."""
        if samples not in self._verbs:
            self._verbs = {samples: BatchPasses(self._work, self.tables, samples)}
        return self._verbs[samples]

    def _room(self, samples: int, spaces: FloatArray) -> Room:
        """Return the buffers of a forward pass, which needs only workspaces of values."""
        dtype = self.bank.dtype
        flows = np.empty((len(spaces), 0), dtype)
        return Room(spaces, flows, np.empty((number_of_chunks(samples), 0), dtype), 0)

    def backward(self, upstream: FloatArray) -> FloatArray:
        done, tables, dtype = self._waiting.pop(), self.tables, self.bank.dtype
        partial = np.zeros((number_of_chunks(done.samples), tables.gradients), dtype)
        by_inputs = np.empty((done.samples, self.program.inputs.size), dtype)
        scale = self._work.loss_scale
        flows = np.zeros((len(done.kept), tables.flow), dtype)
        room = Room(done.kept, flows, partial, len(self.bank.state))
        verbs = self._verbs_for(done.samples)
        verbs.use(room)
        verbs.run(self._backward, goals=self.array(upstream * scale), outputs=by_inputs)
        verbs.add_gradients(range(len(tables.operations)))
        verbs.release()
        by_inputs /= by_inputs.dtype.type(scale)
        return by_inputs

    def run(self, batches: Batches, loss: Loss) -> CpuRun:
        return CpuRun(self, self._work, batches, loss)


DOUBLE = ctypes.sizeof(ctypes.c_double)
# The first fields of a PROGRESS record, written four times as fast as one by one: first, steps,
# count, losses, taken, result.
BEGIN = Struct("5Qq")


@final
class CpuRun(Run):
    """Trains one network with the kernel `train`."""

    def __init__(self, engine: CpuEngine, work: CpuCalls, batches: Batches, loss: Loss) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self._work = work
        self._loss_key = loss.key
        self._together = work.together(batches.size)
        threads: int = get_thread_count()  # type: ignore[no-untyped-call]  # numba's
        self._threads = threads if self._together else 1
        self._job: CpuJob | None = None
        self._choice: ThreadChoice | None = None
        self._has_copies = False  # of inputs and targets, filled by `resume`
        self._loss = ctypes.c_double()  # for a single step
        self._loss_at = ctypes.addressof(self._loss)

    @cached_property
    def _plan(self) -> Records:
        return plan_loss(self.engine.tables, self.engine.program, self.loss_function)

    @cached_property
    def _by_parts(self) -> bool:
        """Whether all cores add up gradients in the bank, see `pass_by_parts`."""
        work, tables = self._work, self.engine.tables
        if not self._together or work.precision.mixed or len(tables.passes) > 1:
            return False
        adds = tables.adds_in_bank(len(self.engine.bank), self.batches.size)
        return adds and BY_PARTS.items() <= adding_together(work.program).items()

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """Size of a batch, and number of workspaces."""
        size, chunks = self.batches.size, number_of_chunks(self.batches.size)
        return size, chunks if self._by_parts else min(chunks, self._threads)

    def resume(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> bool:
        batches = self.batches
        if loss.key != self._loss_key or inputs.shape != batches.inputs.shape:
            return False
        self.loss_function = loss
        if not self._has_copies:
            dtype = self.engine.bank.dtype
            batches.inputs = np.empty(inputs.shape, dtype)
            batches.targets = np.empty(targets.shape, dtype)
            self._has_copies = True
            if self._job is not None and self._drawn is batches:
                self._set_batches(self._job, batches)
        # Copying few numbers is faster than getting an address.
        self.engine.copy(inputs, batches.inputs)
        self.engine.copy(targets, batches.targets)
        return True

    def _take_room(self) -> Room:
        """Return workspaces for one kernel call; no other thread uses them during the call."""
        room: Room | None = self._work.rooms.pop(self._sizes, None)
        if room is None:
            tables, (size, places) = self.engine.tables, self._sizes
            may_share = not self._work.precision.mixed
            room = Room.of(tables, tables.places(size, places), size, self.engine.bank, may_share)
        return room

    def _made_job(self, optimizer: Optimizer) -> CpuJob:
        """Create the job of this run, with its kernels and all arrays except the workspaces."""
        work, batches, bank = self._work, self.batches, self.engine.bank
        job = CpuJob(bank)
        passing = adding_together(work.program) | TOGETHER if self._together else ALONE
        passing = BY_PARTS if self._by_parts else passing
        of_loss, draws = units_of_loss(self.loss_function), units_of_draws(batches)
        wanted = TRAINING | passing | draws | of_loss | units_of_optimizer(optimizer)
        wanted |= ROUNDING if work.precision.mixed else {}
        kernels = work.load(wanted, batches.size)
        self._train = work.calling(kernels["train"])
        tables = work.linked(self.engine.tables, batches.size)
        link(self._plan, {field: kernels[field] for field in of_loss})
        called = {*TRAINING, "run_pass", "add_chunks"} - {"train"}
        job.set_kernels({field: kernels[field] for field in called} | work.rounding())
        job.set_program(tables, self._plan)
        job.set_passes(tables.passes)
        if moving := kernels.get("in_parts"):
            job.update.in_parts = moving.address
        if self._by_parts:
            job.set_parts(self._threads, work.program, tables.operations, kernels)
        if work.precision.mixed:
            job.set_halves(np.zeros_like(bank.value))
        job.set_samples(batches, batches.size)
        self._set_batches(job, batches)
        job.progress.factor = self.loss_function.factor
        self._choice = work.choice(job, self.engine.tables, batches.size)
        panels = turned(work.program, batches.size)
        job.set_panels(work.program, panels, work.load(TURNING) if panels else {})
        self._job = job
        return job

    def _set_batches(self, job: CpuJob, batches: Batches) -> None:
        """Set the batches from which the job draws its samples."""
        array = self.engine.array
        job.set_kernels(self._work.load(units_of_draws(batches)))
        goals = goals_of(batches.targets, batches.weights)
        job.set_batches(batches, array(batches.inputs), array(goals))
        self._drawn = batches

    def steps(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        check_process()
        bank, batches = self.engine.bank, self.batches.block(first, count)
        job = self._job or self._made_job(optimizer)
        job.follow(optimizer, self._work.load)
        if batches is not self._drawn:
            self._set_batches(job, batches)
        room = self._take_room()
        losses, before = np.empty(count), bank.step_count
        job.set_room(room)
        progress = job.progress
        place = self._loss_at if count == 1 else address(losses)
        BEGIN.pack_into(job.begun, 0, first, count, before, place, 0, NONE)

        if self._choice is None:
            self._train(job.address)
        else:
            self._choice.run(count, self._train_some, job.use_threads)
        self._work.rooms = {self._sizes: room}
        bank.has_gradients = True
        bank.count_steps(progress.count - before)
        taken, bad = progress.taken, progress.result
        if count == 1:
            losses[0] = self._loss.value
        if taken == count:
            return RunOutcome(losses)
        if bad == OVERFLOW:
            error = self.engine.bad_update(optimizer, bank.step_count - 1)
            return RunOutcome(losses[:taken], overflow=error)
        return RunOutcome(losses[:taken], bad)

    def _train_some(self, steps: int) -> bool:
        """Take the next steps of a longer call; return whether training continues."""
        assert self._job is not None
        progress = self._job.progress
        progress.steps = steps
        self._train(self._job.address)
        progress.first += steps
        progress.losses += steps * DOUBLE
        return bool(progress.result == NONE)

    # ---- moment by moment

    def begin(self, step: int) -> None:
        inputs, self._targets = [self.engine.array(table) for table in self.batches.at(step)]
        work, bank, program = self._work, self.engine.bank, self.engine.program
        weights = self.batches.weights_at(step)
        self._goals = goals_of(
            self._targets, None if weights is None else self.engine.array(weights)
        )
        self._mean = self.loss_function.scale(self._targets.shape, weights)
        self._samples, places = len(inputs), number_of_tiles(len(inputs))
        self._tables = make_tables(program, bank.dtype, work.precision, apart=True)
        loss = self.loss_function
        plan = plan_loss(self._tables, program, loss, work.load(units_of_loss(loss)))
        self._room = Room.of(self._tables, places, self._samples, bank)
        self._passes = BatchPasses(work, self._tables, self._samples, plan, apart=True)
        self._passes.use(self._room)
        self._do(passes(plans.DO_LOAD | plans.DO_KEEP, [0], [0], [0]), data=inputs)
        self._statistics = RunningStatistics(self.engine)
        self.loss = np.nan

    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        if moment.kind == "zero_grad":
            self.engine.bank.zero_grad()
        elif moment.kind == "step":
            self._step(optimizer)
        elif moment.kind == "loss":
            errors = self._do(pass_of(moment, self.engine.program), goals=self._goals)
            self.loss = sum(errors.tolist()) * self._mean
        else:
            self._do(pass_of(moment, self.engine.program))
            if moment.kind == "weight gradient":
                self._passes.add_gradients(range(moment.operation, moment.operation + 1))
            elif moment.kind == "forward":
                self._statistics.after_forward()

    def _do(
        self, todo: Records, data: FloatArray | None = None, goals: FloatArray | None = None
    ) -> FloatArray:
        """Run passes on the batch, and return the sum of errors for each chunk."""
        real = self.engine.bank.value.dtype.type
        scale = real(self._mean) * real(self._work.loss_scale)
        return self._passes.run(todo, data=data, goals=goals, scale=scale)

    def _step(self, optimizer: Optimizer) -> None:
        """Run the optimizer for one step; raise an error if a number is not finite."""
        bank = self.engine.bank
        job, before = self._job or self._made_job(optimizer), BeforeStep(bank, optimizer)
        job.follow(optimizer, self._work.load)
        job.progress.count = bank.step_count
        job.update.in_parts = 0  # several cores may only be used within `ThreadChoice.run`
        self._work.load(MOVING)["move"].call(job.address)
        bad = job.progress.result
        if bad >= 0:
            raise bad_gradient(bank, bad)
        if job.progress.count == bank.step_count:  # skipped by a dynamic loss scale
            self._statistics.restore()
            return
        before.end_step(self._statistics.error, overflowed=bad == OVERFLOW)

    def values(self, buffer: Buffer) -> FloatArray:
        row, size = buffer.offset, buffer.size
        return numbers_in(self._room.spaces, self._samples, row, size, self._tables)

    def gradients(self, buffer: Buffer) -> FloatArray:
        row, size = self._tables.flows[buffer], buffer.size
        flows = numbers_in(self._room.flows, self._samples, row, size, self._tables)
        flows /= flows.dtype.type(self._work.loss_scale)
        return flows

    def targets(self) -> FloatArray:
        return self._targets


def numbers_in(spaces: FloatArray, samples: int, row: int, size: int, tables: Tables) -> FloatArray:
    """Return a buffer of all samples of a batch, from the workspaces of its tiles."""
    width, counts = (
        stride_of_rows(samples, int(tables.plan["alone"][0])),
        np.diff(tile_starts(samples)),
    )
    first = row * width
    tiles = [space[first : first + size * width].reshape(size, width) for space in spaces]
    return np.concatenate([t[:, :n].T for t, n in zip(tiles, counts, strict=True)])
