"""CpuRun: a training on the cpu engine, many steps in one call, or moment by moment."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import final

import numpy as np
from numba.np.ufunc.parallel import get_thread_count

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Engine, Outcome, Run
from scalarviz.engines.common.before import Before
from scalarviz.engines.common.cores import ONE_AT_A_TIME
from scalarviz.engines.common.statistics import Statistics
from scalarviz.engines.cpu.calls import CpuCalls, add_errors, count_chunks, count_tiles, means
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.records import DRAWING, Records
from scalarviz.engines.cpu.stepper import Moments
from scalarviz.engines.cpu.tables import (
    Tables,
    Unsigned,
    drawing_of,
    plan_loss,
    room_for_points,
    set_order,
    workspaces,
)
from scalarviz.formulas.losses import Loss
from scalarviz.model.operations import NONE, OVERFLOW, Buffer
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.program import Moment

WORTH_CORES = 250_000  # multiplications of a step; below, one core is faster than several


@dataclass(frozen=True, slots=True)
class Room:
    """Buffers and workspaces of a training on batches of one size."""

    halves: FloatArray  # weights rounded to half; empty unless precision is mixed
    spaces: FloatArray  # workspaces of values, one row per tile
    flows: FloatArray  # workspaces of gradients, one row per tile
    partial: FloatArray  # gradients of the parameters, one row per chunk
    scratch: FloatArray  # clipped and regularized gradients
    points: FloatArray  # inputs drawn at random instead of from the data set
    rows: Unsigned  # rows of the inputs drawn by a step
    goal_rows: Unsigned  # rows of the targets drawn by a step


def make_room(work: CpuCalls, tables: Tables, batches: Batches, places: int) -> Room:
    """Return the buffers of a training, with `places` workspaces.

    If there are several passes, each tile has a workspace, whatever `places` is.
    """
    rows, size, dtype = len(work.bank), batches.size, work.bank.dtype
    if len(tables.passes) > 1:
        places = count_tiles(size)
    chunks = count_chunks(size)
    return Room(
        np.zeros(rows if work.precision.mixed else 0, dtype),
        workspaces(places, tables.space, dtype),
        workspaces(places, tables.flow, dtype),
        np.zeros((chunks, tables.gradients), dtype),
        np.zeros(rows, dtype),
        np.zeros((room_for_points(batches), 2), dtype),
        np.zeros(size, np.uint64),
        np.zeros(size, np.uint64),
    )


def drawing_arrays(batches: Batches) -> tuple[Records, FloatArray]:
    """Return how batches are drawn, as a DRAWING record and the settings, for `draws`."""
    drawing = np.empty(1, DRAWING)
    drawing[0] = drawing_of(batches)
    return drawing, np.array(batches.settings, np.float64)


@final
class CpuRun(Run):
    """Trains one network by the kernels of `entry`."""

    def __init__(
        self, engine: Engine, work: CpuCalls, tables: Tables, batches: Batches, loss: Loss
    ) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self._work = work
        self._tables = tables
        self._moments: Moments | None = None
        self._statistics = Statistics(engine)
        self._order: Order | None = None
        self._plan, self._loss_key = plan_loss(tables, engine.program, loss), loss.key
        chunks = count_chunks(batches.size)
        self._together = chunks > 1 and batches.size * engine.program.products > WORTH_CORES
        places = 1
        if self._together:
            places = min(chunks, get_thread_count())  # type: ignore[no-untyped-call]  # numba's
        self._sizes = batches.size, room_for_points(batches), places
        self._samples, self._drawing = self._converted(batches), drawing_arrays(batches)

    def resume(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> bool:
        batches = self.batches
        if loss.key != self._loss_key or inputs.shape != batches.inputs.shape:
            return False
        batches.inputs, batches.targets, self.loss_function = inputs, targets, loss
        self._samples = self._converted(batches)
        return True

    def _take_room(self) -> Room:
        """Return buffers for one call of the kernels, which no other thread uses meanwhile."""
        room: Room | None = self._work.rooms.pop(self._sizes, None)
        return room or make_room(self._work, self._tables, self.batches, self._sizes[-1])

    def _ordered(self, optimizer: Optimizer) -> Order:
        """Return the optimizer as arrays, and write its formulas to the plan."""
        order = Order.of(optimizer, self._order)
        if order is not self._order:
            self._order = order
            set_order(self._plan, order)
        return order

    def _converted(self, batches: Batches) -> tuple[FloatArray, FloatArray]:
        tables = batches.inputs, batches.targets
        inputs, targets = [np.ascontiguousarray(self.engine.array(table)) for table in tables]
        return inputs, targets

    def steps(self, optimizer: Optimizer, first: int, count: int) -> Outcome:
        bank, batches = self.engine.bank, self.batches.block(first, count)
        order = self._ordered(optimizer)
        (data, goals), drawing = self._samples, self._drawing
        if batches is not self.batches:
            (data, goals), drawing = self._converted(batches), drawing_arrays(batches)
        room, counts = self._take_room(), np.array([bank.step_count])
        errors, done = np.zeros((count, count_chunks(batches.size))), np.array([0, NONE])
        kernels = self._work.kernels
        train = kernels.train if self._together else kernels.train_alone
        with ONE_AT_A_TIME if self._together else nullcontext():
            train(
                self._plan,
                self._tables.passes,
                self._tables.operations,
                self._tables.settings,
                bank.value,
                room.halves,
                bank.grad,
                bank.slot_block(order.slots),
                bank.frozen,
                bank.state,
                data,
                goals,
                room.rows,
                room.goal_rows,
                room.points,
                *drawing,
                room.spaces,
                room.flows,
                room.partial,
                *order.numbers,
                np.empty(order.arguments, bank.dtype),
                room.scratch,
                self.loss_function.factor,
                first,
                counts,
                errors,
                done,
            )
        self._work.rooms = {self._sizes: room}
        bank.has_gradients = True
        bank.count_steps(int(counts[0]) - bank.step_count)
        taken, bad = done.tolist()
        outputs = self.engine.program.outputs.size
        losses = add_errors(errors) * means(self.loss_function, batches, outputs, first, count)
        if bad == OVERFLOW:
            error = self.engine.bad_update(optimizer, bank.step_count - 1)
            return Outcome(losses[:taken], overflow=error)
        return Outcome(losses[:taken], bad)

    def begin(self, step: int) -> None:
        inputs, targets = [self.engine.array(table) for table in self.batches.at(step)]
        self._moments = Moments(self._work, inputs, targets, self.loss_function)
        self._statistics = Statistics(self.engine)
        self.loss = np.nan

    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        bank = self.engine.bank
        if moment.kind == "zero_grad":
            bank.zero_grad()
        elif moment.kind == "step":
            self._step(optimizer)
        else:
            self._now.perform(moment)
            self.loss = self._now.loss
            if moment.kind == "forward":
                self._statistics.after_forward()

    def _step(self, optimizer: Optimizer) -> None:
        """Run the optimizer's part of a step, and raise its error if it fails."""
        bank = self.engine.bank
        order, counts = self._ordered(optimizer), np.array([bank.step_count])
        before = Before(bank, optimizer)
        bad = self._work.kernels.take_step(
            self._plan,
            bank.value,
            bank.grad,
            bank.slot_block(order.slots),
            bank.frozen,
            bank.state,
            *order.numbers,
            np.empty(order.arguments, bank.dtype),
            np.zeros_like(bank.grad),
            counts,
        )
        if bad >= 0:
            raise bank.bad_gradient(bad)
        if counts[0] == bank.step_count:  # skipped by a dynamic loss scale
            self._statistics.restore()
            return
        error = self._statistics.error
        if error is None and bad == OVERFLOW:
            error = bank.bad_update(optimizer, bank.step_count)
        if error is not None:
            before.restore()
            raise error
        bank.count_steps(1)

    @property
    def _now(self) -> Moments:
        assert self._moments is not None, "begin comes first"
        return self._moments

    def values(self, buffer: Buffer) -> FloatArray:
        return self._now.read(self._now.spaces, buffer.offset, buffer.size)

    def gradients(self, buffer: Buffer) -> FloatArray:
        flows = self._now.read(self._now.flows, self._now.tables.flows[buffer], buffer.size)
        flows /= flows.dtype.type(self._work.loss_scale)
        return flows

    def targets(self) -> FloatArray:
        return self._now.targets
