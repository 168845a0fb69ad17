"""CpuMany: trains many networks of equal shape at the same time on the cpu engine.

Each thread trains one network. `ReplicaJobs` stores the records of all jobs as tables, with the
arrays that the records refer to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.kernel_threads import ONE_AT_A_TIME, check_process
from scalarviz.core.bank_arrays import BankStack
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, OVERFLOW, Program
from scalarviz.data.batches import Batches, goals_of
from scalarviz.engines.cpu.calls import ALONE, CpuCalls
from scalarviz.engines.cpu.job import (
    LINE,
    Order,
    address,
    addresses,
    drawing_of,
    link,
    make_tables,
    plan_loss,
    room_for_points,
    set_fields,
    set_order,
    workspaces,
)
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
    Records,
    RecordType,
)
from scalarviz.engines.cpu.table import (
    TRAIN_NETWORKS,
    TRAINING,
    units_of_draws,
    units_of_loss,
    units_of_optimizer,
)
from scalarviz.engines.cpu.tiles import number_of_chunks

GROUPS = 16  # maximum number of networks trained at the same time


@final
class CpuMany:
    """Trainer of many networks with the same program; each has its own bank and batches."""

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
        self.loss = loss
        self.tables = make_tables(program, dtype, precision)
        self.plan = plan_loss(self.tables, program, loss)
        self.order = Order(optimizer, len(banks[0]))
        set_order(self.plan, self.order)
        self.count = count
        self.samples = [
            np.ascontiguousarray(table, dtype)
            for table in (
                self.batches.inputs,
                goals_of(self.batches.targets, self.batches.weights),
            )
        ]
        self.groups, self.chunks = min(GROUPS, count), number_of_chunks(batches[0].size)
        self.work = work = CpuCalls(program, banks[0], precision)
        own = units_of_draws(self.batches) | units_of_loss(loss) | units_of_optimizer(optimizer)
        self.kernels = work.load(TRAINING | ALONE | own | {"train_networks": TRAIN_NETWORKS})
        self.rounding = work.rounding()
        self.tables = work.linked(self.tables)
        link(self.plan, {field: self.kernels[field] for field in units_of_loss(loss)})
        self.jobs = ReplicaJobs(self, [drawing_of(each) for each in batches], precision)
        self.progress = self.jobs.progress

    def prepare(self) -> None:
        """Compile or load the kernels without taking a step."""
        self._train(0, np.zeros((self.count, 0)))

    def count_steps(self) -> None:
        """Update the step counts of all banks; call it after the last call of `steps`."""
        self.stack.restart_counts(self.progress["count"])

    def steps(self, first: int, count: int) -> FloatArray:
        """Take `count` steps with every network; return the losses, shape (networks, count).

        A loss is NaN from the step at which its network stopped because of a non-finite gradient
        or an overflow. Call `count_steps` after the last call of this method.
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
        """Number of steps taken by each network."""
        return np.array(self.progress["taken"], np.int64)

    @property
    def _changing(self) -> tuple[Any, ...]:
        """Arrays that steps change; the last one holds the progress of each network."""
        stack = self.stack
        return stack.value, stack.slots, stack.state, self.progress

    def _take_back(self, network: int, first: int, before: list[Any]) -> None:
        """Restore a network to its state before the step that overflowed."""
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
        """Train every active network for one step per column of `losses`."""
        check_process()
        self.jobs.ask(first, losses)
        first, size = address(self.jobs.jobs), JOB.itemsize
        jobs = range(first, first + self.count * size, size)
        call = self.work.calling(self.kernels["train_networks"], jobs)
        with ONE_AT_A_TIME:
            call(first, self.count, self.groups, self.kernels["train"].address)


@final
class ReplicaJobs:
    """Tables of records with one row per job, a job for each network; see `records`.

    Networks of a group are trained one after the other and share the buffers of a step.
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
        self.count, self.groups = many.count, many.groups
        self._kept: list[Any] = []
        rows, states, size, chunks = (
            stack.value.shape[1], stack.state.shape[1], batches.size, many.chunks
        )  # fmt: skip
        how, settings, schedule, spans = many.order.numbers
        (inputs, targets), found = many.samples, addresses(many.kernels)
        points = room_for_points(batches)
        tiles = tables.places(size)
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
            **{field: found[field] for field in ("factor_of_rate", "constants", "move_rows")},
        )
        self.progress = self.table(
            PROGRESS,
            result=NONE,
            factor=many.loss.factor,
        )
        records = {
            "program": program, "bank": bank, "samples": samples, "batch": batch, "room": room,
            "update": update, "progress": self.progress,
        }  # fmt: skip
        called = ("chunk_work", "run_pass", "draw_rows", "add_chunks", "move")
        self.jobs = self.table(
            JOB,
            **{field: self.rows(table) for field, table in records.items()},
            **{field: found[field] for field in called},
            **addresses(many.rounding),
        )

    def ask(self, first: int, losses: FloatArray) -> None:
        """Request steps from step `first`: one for each column of `losses`."""
        self.progress["first"], self.progress["steps"] = first, losses.shape[1]
        self.progress["losses"] = address(losses) + np.arange(self.count) * losses.strides[0]

    def table(self, kind: RecordType, **fields: Any) -> Records:
        """Return a table with one record per job, whose fields have the given values."""
        return set_fields(np.zeros(self.count, kind), **fields)  # type: ignore[no-any-return]  # of any record

    def kept_at(self, array: Any) -> int:
        """Keep an array that all jobs share, and return its address."""
        self._kept.append(array)
        return address(array)

    def rows(self, array: Any) -> Any:
        """Return the address of each job's row of an array, or 0 if the rows are empty.

        If the array has fewer rows than there are jobs, rows are reused in turn.
        """
        step = array.strides[0] if array.size else 0
        return self.kept_at(array) + np.arange(self.count) % len(array) * step

    def shared(self, size: int, kind: Any) -> Any:
        """Return the address of each job's buffer of `size` items; a group shares one buffer."""
        item = np.dtype(kind).itemsize
        return self.rows(workspaces(self.groups, -(-size * item // LINE) * LINE, "uint8"))
