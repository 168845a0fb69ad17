"""CpuMany: trains many networks of one shape at once on the cpu engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import BankStack
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, OVERFLOW, Program
from scalarviz.data.batches import Batches
from scalarviz.engines.common.cores import ONE_AT_A_TIME, check_process
from scalarviz.engines.cpu.calls import ALONE, CpuCalls
from scalarviz.engines.cpu.job_tables import JobTables
from scalarviz.engines.cpu.lane_jobs import LEAST, LaneJobs, fit_lanes
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.records import (
    BANK,
    BATCH,
    DRAWING,
    JOB,
    PROGRAM,
    PROGRESS,
    ROOM,
    SAMPLES,
    TILE_RECORD,
    UPDATE,
)
from scalarviz.engines.cpu.room import address
from scalarviz.engines.cpu.sizes import count_chunks, count_tiles
from scalarviz.engines.cpu.tables import (
    drawing_of,
    make_tables,
    plan_loss,
    room_for_points,
    set_order,
)
from scalarviz.engines.cpu.units import (
    TRAIN_NETWORKS,
    TRAINING,
    units_of_draws,
    units_of_loss,
    units_of_optimizer,
)

GROUPS = 16  # maximum number of networks trained at the same time
TRIAL = 8  # steps
ENDED = -3  # in place of the row of a bad gradient: the network is not to go on


@final
class CpuMany:
    """Trains networks of one program, each with its own bank and its own batches."""

    def __init__(
        self,
        program: Program,
        stack: BankStack,
        batches: Sequence[Batches],
        loss: Loss,
        optimizer: Optimizer,
        precision: Precision,
    ) -> None:
        banks = stack.banks
        dtype, count = banks[0].dtype, len(banks)
        self.stack = stack
        self.batches = batches[0]
        self.program = program
        self.loss = loss
        self.tables = make_tables(program, dtype, precision)
        self.plan = plan_loss(self.tables, program, loss)
        self.optimizer = optimizer.row.name
        self.order = Order(optimizer, len(banks[0]))
        set_order(self.plan, self.order)
        self.count = count
        self.samples = [
            np.ascontiguousarray(table, dtype)
            for table in (self.batches.inputs, self.batches.targets)
        ]
        self.groups, self.chunks = min(GROUPS, count), count_chunks(batches[0].size)
        self.work = work = CpuCalls(program, banks[0], precision)
        own = units_of_draws(self.batches) | units_of_loss(loss) | units_of_optimizer(optimizer)
        self.kernels = work.load(TRAINING | ALONE | own | {"train_networks": TRAIN_NETWORKS})
        self.rounding = work.rounding()
        self.tables = work.linked(self.tables)
        for field in units_of_loss(loss):
            self.plan[field] = self.kernels[field].address
        self.jobs = ReplicaJobs(self, [drawing_of(each) for each in batches], precision)
        self.progress = self.jobs.progress
        self.lanes: LaneJobs | None = (
            None  # from the first steps on, where that gives the same bits
        )

    def prepare(self) -> None:
        """Compile or load the kernels, without taking a step."""
        self._train(0, np.zeros((self.count, 0)))
        if self.count >= LEAST and fit_lanes(self):
            self.lanes = LaneJobs(self)
            with ONE_AT_A_TIME:
                if not self._agrees():
                    self.lanes = None

    def _agrees(self) -> bool:
        """Return whether networks in lanes have the bits that they have alone, in a trial.

        Where a formula adds up two products, compilers round one of them, and which one may differ
        between loops. The trial begins with numbers of all sizes in the optimizer's slots, and has
        a step with the last samples of an epoch, which can be few.
        """
        assert self.lanes is not None
        arrays = *self._changing, self.stack.grad
        before = [array.copy() for array in arrays]
        slots = 10.0 ** np.random.default_rng(0).uniform(-12.0, 0.0, self.stack.slots.shape)
        self.stack.slots[:] = slots
        some = np.arange(min(self.count, self.lanes.lanes))
        first = max(0, -(-self.batches.samples // self.batches.size) - 2)
        losses, others = np.zeros((2, self.count, TRIAL))
        done = len(self.lanes.steps(some, first, losses)) == len(some)
        found = [array.copy() for array in arrays]
        for array, old in zip(arrays, before, strict=True):
            array[:] = old
        self.stack.slots[:] = slots
        self.progress["result"][len(some) :] = ENDED
        self._train_alone(first, others)
        pairs = zip([*found[:2], found[-1], losses], [*arrays[:2], arrays[-1], others], strict=True)
        done = done and all((a[some] == b[some]).all() for a, b in pairs)
        for array, old in zip(arrays, before, strict=True):
            array[:] = old
        return done

    def count_steps(self) -> None:
        """Set the step count of all banks after the last call of `steps`."""
        for bank, steps in zip(self.stack.banks, self.progress["count"].tolist(), strict=True):
            bank.has_gradients = True
            bank.restart_count(steps)

    def steps(self, first: int, count: int) -> FloatArray:
        """Take `count` steps with every network, and return the losses, shape (networks, count).

        A loss is NaN from the step on at which the network stopped because of a bad gradient or an
        overflow. Call `count_steps` after the last steps.
        """
        losses = np.full((self.count, count), np.nan)
        before = [array.copy() for array in self._changing]
        self._train(first, losses)
        stopped = (self.progress["result"] == OVERFLOW) & (before[-1]["result"] == NONE)
        for network in np.flatnonzero(stopped).tolist():
            self._take_back(network, first, before)
        taken = (self.progress["taken"] - before[-1]["taken"])[:, np.newaxis]
        losses[np.arange(count) >= taken] = np.nan
        return losses

    @property
    def taken(self) -> npt.NDArray[np.int64]:
        """Number of steps that each network has taken."""
        return np.array(self.progress["taken"], np.int64)

    def end(self, which: npt.NDArray[np.bool_]) -> None:
        """Take no more steps with these networks."""
        going_on = self.progress["result"] == NONE
        self.progress["result"] = np.where(going_on & which, ENDED, self.progress["result"])

    @property
    def _changing(self) -> tuple[Any, ...]:
        """The arrays that steps change; the last one has the progress of each network."""
        stack = self.stack
        return stack.value, stack.slots, stack.state, self.progress

    def _take_back(self, network: int, first: int, before: list[Any]) -> None:
        """Restore a network as it was before the step that made a number infinite."""
        taken = int(self.progress["taken"][network] - before[-1]["taken"][network])
        for array, old in zip(self._changing, before, strict=True):
            array[network] = old[network]
        others = self.progress["result"].copy()
        self.progress["result"] = OVERFLOW
        self.progress["result"][network] = NONE
        self._train(first, np.zeros((self.count, taken)))
        others[network] = OVERFLOW
        self.progress["result"] = others

    def _train(self, first: int, losses: FloatArray) -> None:
        """Take a step for each column of `losses` with every network that has not stopped."""
        check_process()
        result = self.progress["result"]
        going, done = np.flatnonzero(result == NONE), np.zeros(0, np.intp)
        with ONE_AT_A_TIME:
            if self.lanes is not None and len(going) >= LEAST:
                done = self.lanes.steps(going, first, losses)
            if len(done) < len(going):
                result[done] = ENDED
                self._train_alone(first, losses)
                result[done] = NONE

    def _train_alone(self, first: int, losses: FloatArray) -> None:
        """Take steps with each network by itself."""
        self.jobs.ask(first, losses)
        first, size = address(self.jobs.jobs), JOB.itemsize
        jobs = range(first, first + self.count * size, size)
        call = self.work.calling(self.kernels["train_networks"], jobs)
        call(first, self.count, self.groups, self.kernels["train"].address)


@final
class ReplicaJobs(JobTables):
    """A job for each network, as tables of records; see `records`.

    Networks of a group are trained one after the other, and share the buffers of a step.
    """

    def __init__(
        self, many: CpuMany, drawings: list[tuple[int, ...]], precision: Precision
    ) -> None:
        stack, tables, dtype, batches = (
            many.stack,
            many.tables,
            many.stack.value.dtype,
            many.batches,
        )
        super().__init__(many.count, many.groups)
        rows, states, size, chunks = (
            stack.value.shape[1], stack.state.shape[1], batches.size, many.chunks
        )  # fmt: skip
        how, settings, schedule, spans = many.order.numbers
        inputs, targets = many.samples
        points = room_for_points(batches)
        tiles = count_tiles(size) if len(tables.passes) > 1 else 1
        drawn, goals_drawn = self.shared(size, np.uint64), self.shared(size, np.uint64)
        spot = self.shared(2 * points, dtype)
        value = self.rows(stack.value)
        halves = self.shared(rows, dtype) if precision.mixed else value
        program = self.table(
            PROGRAM,
            plan=self.kept_at(many.plan),
            passes=self.kept_at(tables.passes),
            pass_count=len(tables.passes),
            operations=self.kept_at(tables.operations),
            operation_count=len(tables.operations),
        )
        bank = self.table(
            BANK,
            value=value,
            seen=halves,
            halves=halves,
            grad=self.rows(stack.grad),
            slots=self.rows(stack.slots),
            frozen=self.rows(stack.frozen),
            state=self.rows(stack.state),
            rows=rows,
            slot_count=stack.slots.shape[1],
            state_count=states,
        )
        samples = self.table(
            SAMPLES,
            rows=drawn,
            goal_rows=goals_drawn,
            size=size,
            points=spot,
            point_count=points,
            drawing=self.rows(np.array(drawings, DRAWING)),
            draw_settings=self.kept_at(np.array(batches.settings, np.float64)),
            draw_setting_count=len(batches.settings),
        )
        batch = self.table(
            BATCH,
            data=spot if points else self.kept_at(inputs),
            columns=2 if points else inputs.shape[1],
            rows=drawn,
            goals=self.kept_at(targets),
            goal_columns=targets.shape[1],
            goal_rows=goals_drawn,
            errors=self.shared(chunks, np.float64),
        )
        room = self.table(
            ROOM,
            spaces=self.shared(tiles * tables.space, dtype),
            flows=self.shared(tiles * tables.flow, dtype),
            partial=self.shared(chunks * tables.gradients, dtype),
            tiles=self.shared(chunks, TILE_RECORD),
            before=self.shared(states, np.float64),
            places=tiles,
            space=tables.space,
            flow=tables.flow,
            gradients=tables.gradients,
            chunks=chunks,
        )
        update = self.table(
            UPDATE,
            how=self.kept_at(how),
            settings=self.kept_at(settings),
            setting_count=len(settings),
            schedule=self.kept_at(schedule),
            schedule_count=len(schedule),
            exact=self.shared(many.order.arguments, np.float64),
            arguments=self.shared(many.order.arguments, dtype),
            argument_count=many.order.arguments,
            rows=rows,
            scratch=self.shared(rows, dtype),
            spans=self.kept_at(spans),
            span_count=len(spans),
            **{
                field: many.kernels[field].address
                for field in ("factor_of_rate", "constants", "move_rows")
            },
        )
        self.progress = self.table(
            PROGRESS,
            result=NONE,
            factor=many.loss.factor,
        )
        self.records = {
            "program": program, "bank": bank, "samples": samples, "batch": batch, "room": room,
            "update": update, "progress": self.progress,
        }  # fmt: skip
        called = ("chunk_work", "run_pass", "draw_rows", "add_chunks", "move")
        self.jobs = self.table(
            JOB,
            **{field: self.rows(table) for field, table in self.records.items()},
            **{field: many.kernels[field].address for field in called},
            **{field: kernel.address for field, kernel in many.rounding.items()},
        )

    def ask(self, first: int, losses: FloatArray) -> None:
        """Ask for as many steps as each network has losses, from step `first` on."""
        self.progress["first"], self.progress["steps"] = first, losses.shape[1]
        self.progress["losses"] = address(losses) + np.arange(self.count) * losses.strides[0]
