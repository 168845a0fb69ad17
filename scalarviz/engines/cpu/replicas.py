"""CpuMany: trains many networks of one shape at once on the cpu engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.model.bank_stack import BankStack
from scalarviz.core.model.operations import NONE, OVERFLOW
from scalarviz.core.model.optimizer import Optimizer
from scalarviz.core.model.precision import Precision
from scalarviz.core.model.program import Program
from scalarviz.data.batches import Batches
from scalarviz.engines.common.cores import ONE_AT_A_TIME, check_process
from scalarviz.engines.cpu.calls import ALONE, CpuCalls
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
    Records,
    RecordType,
)
from scalarviz.engines.cpu.room import address
from scalarviz.engines.cpu.sizes import count_chunks, count_tiles
from scalarviz.engines.cpu.tables import (
    LINE,
    drawing_of,
    make_tables,
    plan_loss,
    room_for_points,
    set_order,
    workspaces,
)
from scalarviz.engines.cpu.units import (
    TRAIN_NETWORKS,
    TRAINING,
    units_of_draws,
    units_of_loss,
    units_of_optimizer,
)

GROUPS = 16  # maximum number of networks trained at the same time
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
        self.order = Order(optimizer, len(banks[0]))
        set_order(self.plan, self.order)
        self.count = count
        self.samples = [
            np.ascontiguousarray(table, dtype)
            for table in (self.batches.inputs, self.batches.targets)
        ]
        self.groups, self.chunks = min(GROUPS, count), count_chunks(batches[0].size)
        work = CpuCalls(program, banks[0], precision)
        own = units_of_draws(self.batches) | units_of_loss(loss) | units_of_optimizer(optimizer)
        self.kernels = work.load(TRAINING | ALONE | own | {"train_networks": TRAIN_NETWORKS})
        self.rounding = work.rounding()
        self.tables = work.linked(self.tables)
        for field in units_of_loss(loss):
            self.plan[field] = self.kernels[field].address
        self.jobs = ReplicaJobs(self, [drawing_of(each) for each in batches], precision)
        self.progress = self.jobs.progress

    def prepare(self) -> None:
        """Compile or load the kernels, without taking a step."""
        self._train(0, np.zeros((self.count, 0)))

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
        self.jobs.ask(first, losses)
        train = self.kernels["train"].address
        with ONE_AT_A_TIME:
            self.kernels["train_networks"].call(
                address(self.jobs.jobs), len(self.jobs.jobs), self.groups, train
            )


@final
class ReplicaJobs:
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
        self._count, self._groups, self._kept = many.count, many.groups, [many]
        rows, states, size, chunks = (
            stack.value.shape[1], stack.state.shape[1], batches.size, many.chunks
        )  # fmt: skip
        how, settings, schedule, spans = many.order.numbers
        inputs, targets = many.samples
        points = room_for_points(batches)
        tiles = count_tiles(size) if len(tables.passes) > 1 else 1
        drawn, goals_drawn = self._shared(size, np.uint64), self._shared(size, np.uint64)
        spot = self._shared(2 * points, dtype)
        value = self._rows(stack.value)
        halves = self._shared(rows, dtype) if precision.mixed else value
        program = self._table(
            PROGRAM,
            plan=self._kept_at(many.plan),
            passes=self._kept_at(tables.passes),
            pass_count=len(tables.passes),
            operations=self._kept_at(tables.operations),
            operation_count=len(tables.operations),
        )
        bank = self._table(
            BANK,
            value=value,
            seen=halves,
            halves=halves,
            grad=self._rows(stack.grad),
            slots=self._rows(stack.slots),
            frozen=self._rows(stack.frozen),
            state=self._rows(stack.state),
            rows=rows,
            slot_count=stack.slots.shape[1],
            state_count=states,
        )
        samples = self._table(
            SAMPLES,
            rows=drawn,
            goal_rows=goals_drawn,
            size=size,
            points=spot,
            point_count=points,
            drawing=self._rows(np.array(drawings, DRAWING)),
            draw_settings=self._kept_at(np.array(batches.settings, np.float64)),
            draw_setting_count=len(batches.settings),
        )
        batch = self._table(
            BATCH,
            data=spot if points else self._kept_at(inputs),
            columns=2 if points else inputs.shape[1],
            rows=drawn,
            goals=self._kept_at(targets),
            goal_columns=targets.shape[1],
            goal_rows=goals_drawn,
            errors=self._shared(chunks, np.float64),
        )
        room = self._table(
            ROOM,
            spaces=self._shared(tiles * tables.space, dtype),
            flows=self._shared(tiles * tables.flow, dtype),
            partial=self._shared(chunks * tables.gradients, dtype),
            tiles=self._shared(chunks, TILE_RECORD),
            before=self._shared(states, np.float64),
            places=tiles,
            space=tables.space,
            flow=tables.flow,
            gradients=tables.gradients,
            chunks=chunks,
        )
        update = self._table(
            UPDATE,
            how=self._kept_at(how),
            settings=self._kept_at(settings),
            setting_count=len(settings),
            schedule=self._kept_at(schedule),
            schedule_count=len(schedule),
            exact=self._shared(many.order.arguments, np.float64),
            arguments=self._shared(many.order.arguments, dtype),
            argument_count=many.order.arguments,
            rows=rows,
            scratch=self._shared(rows, dtype),
            spans=self._kept_at(spans),
            span_count=len(spans),
            **{
                field: many.kernels[field].address
                for field in ("factor_of_rate", "constants", "move_rows")
            },
        )
        self.progress = self._table(
            PROGRESS,
            result=NONE,
            factor=many.loss.factor,
        )
        tables_of = {
            "program": program, "bank": bank, "samples": samples, "batch": batch, "room": room,
            "update": update, "progress": self.progress,
        }  # fmt: skip
        called = ("chunk_work", "run_pass", "draw_rows", "add_chunks", "move")
        self.jobs = self._table(
            JOB,
            **{field: self._rows(table) for field, table in tables_of.items()},
            **{field: many.kernels[field].address for field in called},
            **{field: kernel.address for field, kernel in many.rounding.items()},
        )

    def ask(self, first: int, losses: FloatArray) -> None:
        """Ask for as many steps as each network has losses, from step `first` on."""
        self.progress["first"], self.progress["steps"] = first, losses.shape[1]
        self.progress["losses"] = address(losses) + np.arange(self._count) * losses.strides[0]

    def _table(self, kind: RecordType, **fields: Any) -> Records:
        """Return a record for each network, with these fields."""
        table = np.zeros(self._count, kind)
        for field, numbers in fields.items():
            table[field] = numbers
        return table

    def _kept_at(self, array: Any) -> int:
        """Keep an array that all networks share, and return its address."""
        self._kept.append(array)
        return address(array)

    def _rows(self, array: Any) -> Any:
        """Return the address of each network's row of an array; 0 if the rows are empty.

        If the array has fewer rows, networks share them in turn.
        """
        step = array.strides[0] if array.size else 0
        return self._kept_at(array) + np.arange(self._count) % len(array) * step

    def _shared(self, size: int, kind: Any) -> Any:
        """Return the address of each network's buffer of `size` items, one for each group."""
        item = np.dtype(kind).itemsize
        buffers = workspaces(self._groups, -(-size * item // LINE) * LINE, "uint8")
        return self._rows(buffers)
