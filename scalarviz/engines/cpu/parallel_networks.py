"""CpuMany: trains many networks of equal shape at the same time on the cpu engine.

Each thread trains one network or, with `LaneJobs`, one network per vector lane. `JobTables` store
the records of many jobs as tables, with the arrays that the records refer to.
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
from scalarviz.data.batches import IN_ORDER, POINTS, Batches, goals_of
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
from scalarviz.engines.cpu.lanes import padded
from scalarviz.engines.cpu.products import LONGEST
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
    TRAIN_LANES,
    TRAIN_NETWORKS,
    TRAINING,
    kernels_for,
    units_of_draws,
    units_of_lanes,
    units_of_loss,
    units_of_optimizer,
)
from scalarviz.engines.cpu.tiles import number_of_chunks


class JobTables:
    """Tables of records with one row per job.

    Jobs are divided into `groups`; the jobs of a group run one after the other and share buffers.
    """

    def __init__(self, count: int, groups: int) -> None:
        self.count, self.groups = count, groups
        self._kept: list[Any] = []

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


GROUPS = 16  # maximum number of networks trained at the same time
TRIAL = 8  # steps
ENDED = -3  # instead of the row of a bad gradient: the network must not continue


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
        self.lanes: LaneJobs | None = None  # from the first steps, if that gives the same bits

    def prepare(self) -> None:
        """Compile or load the kernels without taking a step."""
        self._train(0, np.zeros((self.count, 0)))
        if self.count >= LEAST and fit_lanes(self):
            self.lanes = LaneJobs(self)
            with ONE_AT_A_TIME:
                if not self._agrees():
                    self.lanes = None

    def _agrees(self) -> bool:
        """Return whether training in lanes and separately gives the same bits, by a short trial.

        Where a formula adds two products, compilers round only one of them, and which one may
        differ between loops. The trial starts with optimizer slots of all magnitudes, and includes
        the last batch of an epoch, which can be smaller.
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

    def end(self, which: npt.NDArray[np.bool_]) -> None:
        """Stop training the networks selected by a boolean mask."""
        going_on = self.progress["result"] == NONE
        self.progress["result"] = np.where(going_on & which, ENDED, self.progress["result"])

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
        """Train each network separately, for one step per column of `losses`."""
        self.jobs.ask(first, losses)
        first, size = address(self.jobs.jobs), JOB.itemsize
        jobs = range(first, first + self.count * size, size)
        call = self.work.calling(self.kernels["train_networks"], jobs)
        call(first, self.count, self.groups, self.kernels["train"].address)


@final
class ReplicaJobs(JobTables):
    """Tables with a job for each network; see `records`.

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
        super().__init__(many.count, many.groups)
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
        self.records = {
            "program": program, "bank": bank, "samples": samples, "batch": batch, "room": room,
            "update": update, "progress": self.progress,
        }  # fmt: skip
        called = ("chunk_work", "run_pass", "draw_rows", "add_chunks", "move")
        self.jobs = self.table(
            JOB,
            **{field: self.rows(table) for field, table in self.records.items()},
            **{field: found[field] for field in called},
            **addresses(many.rounding),
        )

    def ask(self, first: int, losses: FloatArray) -> None:
        """Request steps from step `first`: one for each column of `losses`."""
        self.progress["first"], self.progress["steps"] = first, losses.shape[1]
        self.progress["losses"] = address(losses) + np.arange(self.count) * losses.strides[0]


# ---- in the lanes of a vector -------------------------------------------------------------------

KINDS = {"affine", "activation", "row", "branch", "sum", "product", "concatenation"}
TWO_PRODUCTS = {"rmsprop"}  # compilers round one of them, not the same one in each loop
LEAST = 4  # networks

Places = npt.NDArray[np.intp]


def fit_lanes(many: CpuMany) -> bool:
    """Return whether training in lanes is supported for these networks, and faster.

    It is faster if the samples of one network do not fill a vector.
    """
    names = {kernels_for(operation)[0] for operation in many.program.operations}
    return (
        names <= KINDS
        and many.optimizer not in TWO_PRODUCTS
        and many.batches.draw != POINTS
        and many.batches.weights is None
        and many.batches.size <= LINE // many.stack.value.itemsize
        and not many.plan["half"][0]
        and many.order.numbers[0]["clip_norm"][0] == np.inf
    )


@final
class LaneJobs(JobTables):
    """Tables with a job for each vector of networks, one network per lane.

    Args:
        many: the networks; each also has a separate job, whose workspaces are used to draw samples
            and to add up errors
    """

    def __init__(self, many: CpuMany) -> None:
        alone, stack = many.jobs, many.stack
        self.lanes = LINE // stack.value.itemsize
        count = min(alone.groups, -(-many.count // self.lanes))
        super().__init__(count, count)
        self.alone = alone
        rows = stack.value.shape[1] * self.lanes
        value, grad, slots, frozen = (
            np.zeros((self.count, *array.shape[1:], self.lanes), array.dtype)
            for array in (stack.value, stack.grad, stack.slots, stack.frozen)
        )
        batches = many.batches  # if each step has all samples, the first step of a call draws them
        self.draws_once = batches.draw == IN_ORDER and batches.size >= batches.samples
        own = [(value, stack.value)] + [(slots, stack.slots)] * bool(slots.size)
        self.read = as_networks([*own, (frozen, stack.frozen)])
        self.written = as_networks([*own, (grad, stack.grad)])
        dtype, tables = value.dtype, many.tables
        room = int(padded(np.uint64(many.batches.size))) * self.lanes
        # Four samples are loaded even if there are fewer.
        space, flow = [(n // int(LONGEST) + 4) * room for n in (tables.space, tables.flow)]
        gradients = tables.gradients * self.lanes
        operations, spans = tables.operations.copy(), many.order.numbers[-1].copy()
        for field in ("weights", "biases", "gradients", "count"):
            operations[field] *= self.lanes
        for field in ("first", "end"):
            spans[field] *= self.lanes
        kernels = many.work.load(units_of_lanes() | {"train": TRAIN_LANES})
        affine = [operation.kind == "affine" for operation in many.program.operations]
        for field in units_of_lanes():
            operations[field][affine] = kernels[field].address
        self.run = many.kernels["train_networks"].call
        self.train = kernels["train"].address
        at = self.rows(value)
        changed: dict[str, dict[str, Any]] = {
            "program": {"operations": self.kept_at(operations)},
            "bank": {
                "value": at, "seen": at, "grad": self.rows(grad), "slots": self.rows(slots),
                "frozen": self.rows(frozen), "rows": rows,
            },
            "room": {
                "spaces": self.shared(space, dtype), "flows": self.shared(flow, dtype),
                "partial": self.shared(gradients, dtype), "tiles": self.shared(1, TILE_RECORD),
                "space": space, "flow": flow, "gradients": gradients,
            },
            "update": {
                "rows": rows, "scratch": self.shared(rows, dtype), "spans": self.kept_at(spans),
            },
        }  # fmt: skip
        self.drawings = np.zeros((self.count, self.lanes), np.uint64)
        records = {
            name: self.changed(table, **changed.get(name, {}))
            for name, table in alone.records.items()
        }
        self.progress = records["progress"]
        self.jobs = self.changed(
            alone.jobs,
            reader=self.rows(alone.jobs),
            drawings=self.rows(self.drawings),
            drawn=self.shared(self.lanes**2, np.uint64),
            **{name: self.rows(table) for name, table in records.items()},
        )

    def changed(self, table: Records, **fields: Any) -> Records:
        """Return a copy of a table of single-network records, one per job, with changed fields."""
        return set_fields(table[: self.count].copy(), **fields)  # type: ignore[no-any-return]  # of any record

    def steps(self, which: Places, first: int, losses: FloatArray) -> Places:
        """Train networks; return those that took all steps, and leave the others unchanged."""
        size = self.count * self.lanes
        done = [self._steps(which[i : i + size], first, losses) for i in range(0, len(which), size)]
        return np.concatenate(done)

    def _steps(self, which: Places, first: int, losses: FloatArray) -> Places:
        """Train up to `count * lanes` networks in one kernel call; see `steps`."""
        filled = np.append(which, np.repeat(which[-1], -len(which) % self.lanes))
        places = filled.reshape(-1, self.lanes)
        count, asked = len(places), losses.shape[1]
        for view, array in self.read:
            view[:count] = array[places]
        samples, alone = self.alone.records["samples"], self.alone.progress
        drawings = samples["drawing"].copy()
        self.drawings[:count] = drawings[places]
        found = np.zeros((count, self.lanes, asked))
        progress = self.progress
        progress["count"][:count] = alone["count"][places[:, 0]]
        progress["first"], progress["steps"], progress["taken"] = first, asked, 0
        progress["result"] = NONE
        progress["losses"][:count] = address(found) + np.arange(count) * found.strides[0]
        self.jobs["draws"] = 1 if self.draws_once else asked
        self.run(address(self.jobs), count, count, self.train)
        samples["drawing"] = drawings
        whole = progress["result"][:count] == NONE
        done = places[whole]
        for view, array in self.written:
            array[done] = view[:count][whole]
        losses[done] = found[whole]
        done = which if whole.all() else np.unique(done)
        alone["count"][done] += asked
        alone["taken"][done] += asked
        return done


def as_networks(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """View arrays in lanes with one row per network, like the stacked array of each pair."""
    return [(np.moveaxis(lanes, -1, 1), array) for lanes, array in pairs]
