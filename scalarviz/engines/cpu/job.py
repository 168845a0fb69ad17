"""CpuJob: a program, its data and its optimizer as records for kernels of the cpu engine.

Records contain addresses, so a job keeps the objects at these addresses: arrays, other records, and
kernels.

`Tables` hold a program as arrays, and the sizes of workspaces. A tile's workspace of values holds
all buffers of the program, with a row for each number of a sample; then the targets of the loss and
the sample weights; then the numbers that operations save for backward. Gradients have a separate
workspace. A `Room` holds the workspaces and buffers for batches of one size, an `Order` an
optimizer and its schedule.

A pass is a range of operations that each chunk runs without waiting for other chunks. A program
without statistics of the whole batch has one pass. An operation that needs such statistics, such as
batch norm, waits for all chunks, so it begins a new pass, both forward and backward.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.randomness import MASK
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Buffer, Moment, Program
from scalarviz.data.batches import POINTS, Batches
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.codegen.machine_code import Kernel
from scalarviz.engines.cpu import tiles as plans
from scalarviz.engines.cpu.products import LONGEST, SHORTEST, TILE
from scalarviz.engines.cpu.records import (
    DRAWING,
    HOW,
    MOST_SETTINGS,
    OPERATION,
    PASS,
    PLAN,
    SPAN,
    TILE_RECORD,
    BankRecord,
    BatchRecord,
    Job,
    ProgramRecord,
    ProgressRecord,
    Records,
    RoomRecord,
    SamplesRecord,
    UpdateRecord,
)
from scalarviz.engines.cpu.table import (
    BY_PARTS,
    adds_once,
    kernels_for,
    stride_alone,
    units_of_optimizer,
)
from scalarviz.engines.cpu.tiles import number_of_chunks, number_of_tiles


@final
class CpuJob:
    """Records with which kernels train or run one network.

    record, bank, program, room, samples, batch, update, progress
        structures of `records` with fields that can be set
    """

    def __init__(self, bank: Bank) -> None:
        self.record = Job()
        self.bank, self.program, self.batch = BankRecord(), ProgramRecord(), BatchRecord()
        self.samples, self.update, self.progress = SamplesRecord(), UpdateRecord(), ProgressRecord()
        for field in ("bank", "program", "batch", "samples", "update", "progress"):
            setattr(self.record, field, ctypes.addressof(getattr(self, field)))
        self.address = ctypes.addressof(self.record)
        self.begun = memoryview(self.progress).cast("B")  # the bytes of `progress`
        self._bank = bank
        self._kept: dict[str, Any] = {}
        self._order: Order | None = None  # written by `follow`
        self._room: Any = None  # a Room, written by `set_room`
        self.threads: list[tuple[int, int, int, int]] = []
        self.parts = 0  # on all cores, of the gradients in the bank; 0 if each chunk has its own
        self.fill(
            "bank", value=bank.value, seen=bank.value, grad=bank.grad, frozen=bank.frozen,
            rows=len(bank), state=bank.state, state_count=len(bank.state),
        )  # fmt: skip

    def keep(self, **arrays: np.ndarray[Any, Any]) -> list[int]:
        """Keep arrays alive as long as the job, and return their addresses.

        An array replaces a previous one with the same name.
        """
        self._kept.update(arrays)
        return [address(array) for array in arrays.values()]

    def fill(self, record: str, **values: Any) -> None:
        """Set fields of a record to numbers or to the addresses of arrays, which are kept alive."""
        to = getattr(self, record)
        for field, value in values.items():
            if isinstance(value, np.ndarray):
                (value,) = self.keep(**{f"{record}.{field}": value})
            setattr(to, field, value)

    def kept(self, record: str, *fields: str) -> list[np.ndarray[Any, Any]]:
        """Return the arrays whose addresses were written to fields of a record by `fill`."""
        return [self._kept[f"{record}.{field}"] for field in fields]

    def set_program(self, tables: Tables, plan: Records) -> None:
        """Set the program; its tables already contain the addresses of kernels."""
        operations = tables.operations
        self.keep(settings=tables.settings)
        self.fill("program", plan=plan, operations=operations, operation_count=len(operations))

    def set_passes(self, passes: Records) -> None:
        """Set the passes of the program that the next call runs."""
        self.fill("program", passes=passes, pass_count=len(passes))

    def set_parts(
        self, parts: int, program: Program, records: Records, kernels: Mapping[str, Kernel]
    ) -> None:
        """Make `pass_by_parts` add up the gradients, with the kernels of `BY_PARTS`."""
        self.parts = parts
        for operation, record in zip(program.operations, records, strict=True):
            name, _ = kernels_for(operation)
            if name in BY_PARTS:
                set_fields(record, part_of_parameters=kernels[name].address)
            if operation.kind == "affine":
                set_fields(record, parameters=0)

    def set_panels(
        self, program: Program, turned: list[int], kernels: Mapping[str, Kernel]
    ) -> None:
        """Allocate panels for the weights of operations, in all tables of operations."""
        tables = [
            self._kept[name] for name in ("program.operations", "alone") if name in self._kept
        ]
        for i in turned:
            # Large enough for any number of columns in a panel, at least 6; see `panel_size`.
            operation = program.operations[i]
            size = (operation.target.size + 2) * (operation.source.size + int(SHORTEST))
            (panels,) = self.keep(**{f"panels {i}": np.empty(size, self._bank.dtype)})
            for table in tables:
                set_fields(table[i], turned=panels, **addresses(kernels))

    def set_samples(self, batches: Batches, size: int) -> None:
        """Allocate index arrays and points for the samples of a step, at most `size`."""
        points = size if room_for_points(batches) else 0
        self.fill(
            "samples", rows=np.zeros(size, np.uint64), goal_rows=np.zeros(size, np.uint64),
            size=size, points=np.zeros((points, 2), self._bank.dtype), point_count=points,
        )  # fmt: skip
        self.batch.rows, self.batch.goal_rows = self.samples.rows, self.samples.goal_rows

    def set_batches(self, batches: Batches, inputs: FloatArray, targets: FloatArray) -> None:
        """Draw samples from these batches; `inputs` and `targets` are in the bank's dtype."""
        settings = np.array(batches.settings, np.float64)
        self.fill(
            "samples", drawing=np.array([drawing_of(batches)], DRAWING), draw_settings=settings,
            draw_setting_count=len(settings),
        )  # fmt: skip
        self.fill(
            "batch", data=inputs, columns=inputs.shape[1], goals=targets,
            goal_columns=targets.shape[1],
        )  # fmt: skip
        if self.samples.point_count:
            self.batch.data, self.batch.columns = self.samples.points, 2

    def set_room(self, room: Room) -> None:
        """Use these workspaces; the caller must keep them alive, since they may be large."""
        if room is not self._room:
            self.record.room, self.batch.errors = room.record_at, room.errors_at
            self._room = room
        room.use_threads(1)

    def set_halves(self, halves: FloatArray) -> None:
        """Make passes read weights rounded to half precision, which are stored in `halves`."""
        self.fill("bank", halves=halves, seen=halves)

    def set_kernels(self, kernels: Mapping[str, Kernel]) -> None:
        """Set the addresses of kernels; the keys are field names of a `Job`."""
        self.fill("record", **addresses(kernels))

    def use_threads(self, together: bool) -> None:
        """Switch to all cores or one core, using the kernels and operations in `threads`."""
        record = self.record
        record.run_pass, record.add_chunks, parts, self.program.operations = self.threads[together]
        self.update.in_parts = parts
        self._room.use_threads(self.parts if together else 1)

    def set_optimizer(
        self, optimizer: Optimizer, order: Order, kernels: Mapping[str, Kernel]
    ) -> None:
        """Write an optimizer to the job; `kernels` are the kernels of `units_of_optimizer`."""
        how, settings, schedule, spans = order.numbers
        rows, dtype, count = self.bank.rows, self._bank.dtype, order.arguments
        self.fill(
            "update", how=how, settings=settings, setting_count=len(settings), schedule=schedule,
            schedule_count=len(schedule), exact=np.zeros(count), arguments=np.zeros(count, dtype),
            argument_count=count, scratch=np.zeros(rows, dtype), rows=rows, spans=spans,
            span_count=len(spans),
            **addresses({field: kernels[field] for field in units_of_optimizer(optimizer)}),
        )  # fmt: skip
        self.fill("bank", slots=self._bank.slot_block(order.slots), slot_count=len(order.slots))

    def follow(
        self, optimizer: Optimizer, load: Callable[[Mapping[str, Unit]], Mapping[str, Kernel]]
    ) -> None:
        """Write an optimizer and its kernels to the job and its plan if a setting has changed.

        Args:
            load: function that returns the loaded kernels for units
        """
        if self._order is not None and self._order.state == state_of(optimizer):
            return
        order = Order(optimizer, self.bank.rows)
        self.set_optimizer(optimizer, order, load(units_of_optimizer(optimizer)))
        set_order(self._kept["program.plan"], order)
        self._order = order


# ---- a program ----------------------------------------------------------------------------------

LINE = 64  # bytes


@dataclass(frozen=True, slots=True)
class Tables:
    """A program as arrays, and the sizes of its workspaces."""

    plan: Records  # one record
    passes: Records
    operations: Records
    settings: FloatArray
    space: int  # size of a tile's workspace of values, in numbers
    flow: int  # size of its workspace of gradients, in numbers
    flows: dict[Buffer, int]  # first row of each buffer's gradient in it
    gradients: int  # number of parameters; a layer used twice counts twice
    adds_once: bool  # whether a tile adds one number to each gradient

    def matches_bank(self, rows: int) -> bool:
        """Return whether a chunk's gradients are stored in the same order as the bank's."""
        ops = self.operations[self.operations["count"] > 0]
        return self.gradients == rows and bool((ops["gradients"] == ops["weights"]).all())

    def adds_in_bank(self, rows: int, samples: int) -> bool:
        """Return whether chunks that add to the bank, one after the other, do so with equal bits.

        A single chunk always does; otherwise each adds one number to each gradient.
        """
        chunks = number_of_chunks(samples)
        once = chunks == 1 or (self.adds_once and samples <= chunks * int(TILE))
        return once and self.matches_bank(rows)

    def places(self, samples: int, otherwise: int = 1) -> int:
        """Return the number of workspaces: one per tile with several passes, else `otherwise`."""
        return number_of_tiles(samples) if len(self.passes) > 1 else otherwise


def make_tables(
    program: Program, dtype: str, precision: Precision, *, apart: bool = False
) -> Tables:
    """Return the records of a program, with the layout of its buffers in the workspaces.

    With `apart` the gradient of an activation's inputs does not overwrite the gradient of its
    outputs, so that both can be read.
    """
    width = int(LONGEST)
    flows, flow_size = place_flows(program, apart)
    operations = np.zeros(len(program.operations), OPERATION)
    settings = np.zeros((len(program.operations), int(MOST_SETTINGS)), dtype)
    goals = program.workspace
    memo = goals + program.outputs.size + 1  # for the weight of a sample
    gradients = 0
    for i, operation in enumerate(program.operations):
        source, target, op = operation.source, operation.target, operations[i]
        settings[i, : len(operation.settings)] = operation.settings
        set_fields(
            op, formula=operation.formula_place, settings=settings[i].ctypes.data,
            source=source.offset, inputs=source.size, flow_in=flows[source],
            target=target.offset, outputs=target.size, flow_out=flows[target],
            weights=max(operation.weights, 0), biases=max(operation.biases, 0),
            has_biases=operation.biases != NONE, each=operation.outputs_per_bias,
            gradients=gradients, count=len(operation.parameters), memo=memo,
            state=max(operation.state, 0),
            held_from=operation.held_by.start, held_to=operation.held_by.stop,
        )  # fmt: skip
        for second in operation.sources[1:]:
            set_fields(op, second=second.offset, seconds=second.size, flow_second=flows[second])
        gradients += len(operation.parameters)
        memo += operation.about.memo(operation)
    plan = set_fields(
        np.zeros(1, PLAN), out=program.outputs.offset, out_size=program.outputs.size, goals=goals,
        flow_out=flows[program.outputs], flow_in=flows[program.inputs], half=precision.mixed,
        dynamic=precision.mixed and precision.dynamic, patience=precision.patience,
        alone=stride_alone(program),
    )  # fmt: skip
    return Tables(
        plan,
        training_passes(program),
        operations,
        settings,
        memo * width,
        flow_size * width,
        flows,
        gradients,
        adds_once(program),
    )


def addresses(kernels: Mapping[str, Kernel]) -> dict[str, int]:
    """Return the addresses of kernels, by record field."""
    return {field: kernel.address for field, kernel in kernels.items()}


def set_fields(records: Any, **fields: Any) -> Any:
    """Set fields of a record, or of all records of a table, and return the record or table."""
    for field, numbers in fields.items():
        records[field] = numbers
    return records


def copied(records: Records) -> Records:
    """Copy a table of records, ten times faster than numpy does."""
    return np.ndarray(len(records), records.dtype, bytearray(records.tobytes()))


def workspaces(places: int, size: int, dtype: str) -> FloatArray:
    """Return `places` workspaces of `size` numbers, the first one aligned to a cache line."""
    room = np.zeros(places * size + LINE, dtype)
    first = -room.ctypes.data % LINE // room.itemsize
    return room[first : first + places * size].reshape(places, size)


def plan_loss(
    tables: Tables, program: Program, loss: Loss, kernels: Mapping[str, Kernel] | None = None
) -> Records:
    """Return a copy of the plan of `tables` with the settings and kernels of a loss."""
    mean_of = loss.divisor(program.outputs.size)
    needed = program.first_parameters + 1
    plan: Records = set_fields(copied(tables.plan), first_needed=needed, mean_of=mean_of)
    link(plan, kernels or {})
    return plan


def link(plan: Records, kernels: Mapping[str, Kernel]) -> None:
    """Write the addresses of kernels to the fields of a plan."""
    set_fields(plan, **addresses(kernels))


def set_order(plan: Records, order: Order) -> None:
    """Write to a plan whether non-finite gradients stop training; never in mixed precision."""
    plan["refuse"] = order.refuses and not plan["half"][0]


def drawing_of(batches: Batches) -> tuple[int, ...]:
    """Return the DRAWING record of batches: how and from how many samples they are drawn."""
    seed = batches.seed
    return batches.draw, seed & MASK, seed >> 32, batches.samples, batches.size


def room_for_points(batches: Batches) -> int:
    """Return how many points a step draws at random instead of reading them from the data set."""
    return batches.size if batches.draw == POINTS else 0


def place_flows(program: Program, apart: bool) -> tuple[dict[Buffer, int], int]:
    """Return the first row of each buffer's gradient, and the total number of rows."""
    places = {program.outputs: 0}
    size = program.outputs.size
    for operation in reversed(program.operations):
        if operation.kind == "activation" and not apart:
            places[operation.source] = places[operation.target]
        for source in operation.sources:
            if source not in places:
                places[source] = size
                size += source.size
    return places, size


# ---- passes: records of the type PASS; `what` is a sum of flags such as DO_FORWARD --------------


def gathering(program: Program) -> list[int]:
    """Return the indices of operations that need statistics of the whole batch."""
    return [i for i, each in enumerate(program.operations) if each.about.statistics(each)]


def forward_passes(program: Program, first: int, last: int, *, keeps: bool = False) -> Records:
    """Return the forward passes, with additional flags for the first pass and the last one.

    Args:
        keeps: whether every tile has a workspace, as several passes require
    """
    places = gathering(program)
    bounds = [0, *places, len(program.operations)]
    asked = [0, *[place + 1 for place in places]]
    what = plans.DO_LEARN | plans.DO_FORWARD | (plans.DO_KEEP if keeps or places else 0)
    return passes(what, bounds[:-1], bounds[1:], asked, first, last)


def backward_passes(program: Program, first: int, last: int, *, keeps: bool = False) -> Records:
    """Return the backward passes, from the last operations to the first; see `forward_passes`."""
    places = gathering(program)[::-1]
    ends = [len(program.operations), *[place + 1 for place in places]]
    asked = [0, *[-place - 1 for place in places]]
    what = plans.DO_WEIGHTS | plans.DO_FLOW | (plans.DO_KEEP if keeps or places else 0)
    return passes(what, [*ends[1:], 0], ends, asked, first, last)


def passes(
    what: int, lows: list[int], highs: list[int], asked: list[int], first: int = 0, last: int = 0
) -> Records:
    """Return passes over the operations from each low up to, not including, its high; flags `what`.

    `asked` has the `gathers` field of each pass; `first` and `last` are additional flags.
    """
    rows = [(what, *row) for row in zip(lows, highs, asked, strict=True)]
    table = np.array(rows, PASS)
    table["what"][0] |= first
    table["what"][-1] |= last
    return table


def whole_pass(program: Program, what: int) -> Records:
    """Return a single pass over all operations, with the flags `what`."""
    return passes(what, [0], [len(program.operations)], [0])


def training_passes(program: Program) -> Records:
    """Return the passes of a training step: forward, loss and backward, but not the optimizer."""
    aim = plans.DO_AIM | plans.DO_ERROR | plans.DO_DELTA
    forward = forward_passes(program, plans.DO_LOAD, aim)
    backward = backward_passes(program, 0, 0)
    if len(forward) == 1:
        forward["what"] |= backward["what"]
        return forward
    return np.array([*forward.tolist(), *backward.tolist()], PASS)


def pass_of(moment: Moment, program: Program) -> Records:
    """Return the pass that runs a moment of a step, other than zero_grad and step."""
    place, what, gathers = moment.operation, 0, 0
    if moment.kind == "loss":
        return passes(plans.DO_AIM | plans.DO_ERROR | plans.DO_KEEP, [0], [0], [0])
    operation = program.operations[place]
    gathered = place + 1 if operation.about.statistics(operation) else 0
    if moment.kind == "forward":
        what, gathers = plans.DO_LEARN | plans.DO_FORWARD, gathered
    elif moment.kind == "weight gradient":
        what = plans.DO_WEIGHTS
    else:
        what = plans.DO_DELTA if program.outputs in moment.gradients else 0
        what |= plans.DO_FLOW if moment.flows_into(operation) else 0
        gathers = -gathered
    return passes(what | plans.DO_KEEP, [place], [place + 1], [gathers])


# ---- an optimizer -------------------------------------------------------------------------------

# From the dictionary of an optimizer: reading each attribute would take several times as long.
SETTINGS = itemgetter(
    "row",
    "_schedule",
    "_lr",
    "clip_norm",
    "clip_value",
    "l1",
    "l2",
    "not_finite",
    "own_rates",
    "own_decays",
)


@final
class Order:
    """Optimizer and schedule as table indices and argument arrays.

    `numbers` are the arrays that kernels read: a HOW record (see `records`), the settings of the
    optimizer, the settings of the schedule, and SPAN records with the learning rates of rows.
    """

    def __init__(self, optimizer: Optimizer, rows: int) -> None:
        self.state = state_of(optimizer)
        self.refuses = optimizer.not_finite == "error"
        self.slots = optimizer.row.slots
        self.arguments = len(optimizer.arguments(0))
        limits = optimizer.clip_norm, optimizer.clip_value
        self.numbers: tuple[Records, FloatArray, FloatArray, Records] = (
            np.array([(optimizer.lr, *limits, optimizer.l1, optimizer.l2)], HOW),
            np.array([*optimizer.settings.values()], np.float64),
            np.array([*optimizer.schedule.settings.values()], np.float64),
            spans_of(optimizer, rows),
        )


def spans_of(optimizer: Optimizer, rows: int) -> Any:
    """Return SPAN records with the learning rate and decay of each range of parameters."""
    rates, decays = optimizer.own_rates, optimizer.own_decays
    firsts = np.unique([0, *rates.firsts, *decays.firsts])
    place = 1 + [*optimizer.settings].index("decay") if decays else 0
    return set_fields(
        np.zeros(len(firsts), SPAN), first=firsts, end=[*firsts[1:], rows], place=place,
        rate=rates.at(firsts), decay=decays.at(firsts),
    )  # fmt: skip


def state_of(optimizer: Optimizer) -> tuple[object, ...]:
    """Return all settings of an optimizer as a tuple, to detect changes."""
    return (*SETTINGS(vars(optimizer)), *optimizer.settings.values())


# ---- workspaces ---------------------------------------------------------------------------------


def address(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array's first item; the array must be C-contiguous.

    The address of an empty array is 0; it is never read.
    """
    if not array.size:
        return 0
    try:  # three times faster than numpy
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except TypeError:  # it is read-only
        return array.ctypes.data


@final
class Room:
    """Buffers and workspaces, and a record with their addresses.

    Attributes:
        spaces: workspaces of values, one row per tile
        flows: workspaces of gradients, one row per tile
        partial: gradients of the parameters, one row per chunk
        errors: sum of errors of each chunk
        state_size: size of the bank's state, which is copied before each step
        grad: gradients to which the chunks add, one after the other; or None
    """

    def __init__(
        self,
        spaces: FloatArray,
        flows: FloatArray,
        partial: FloatArray,
        state_size: int,
        grad: FloatArray | None = None,
    ) -> None:
        self.spaces, self.flows, self.partial, self.grad = spaces, flows, partial, grad
        self._tiles = np.zeros(len(partial) * TILE_RECORD.itemsize, np.uint8)
        self._before = np.zeros(state_size)
        self.errors = np.zeros(len(partial))
        self.errors_at = address(self.errors)
        self.record = RoomRecord(
            spaces=address(spaces),
            flows=address(flows),
            partial=address(partial),
            tiles=address(self._tiles),
            before=address(self._before),
            places=len(spaces),
            space=spaces.shape[1],
            flow=flows.shape[1],
            gradients=partial.shape[1],
            chunks=len(partial),
        )
        self.record_at = ctypes.addressof(self.record)
        self._parts = -1  # written by `use_threads`

    @staticmethod
    def of(tables: Tables, places: int, samples: int, bank: Bank, may_share: bool = False) -> Room:
        """Return a Room with `places` workspaces for training with a batch size.

        Args:
            may_share: whether gradients may be added up directly in the bank, if they have the same
                order there: of a single chunk, or on one core of several chunks whose sums then
                have the same bits
        """
        chunks = number_of_chunks(samples)
        adds = may_share and tables.adds_in_bank(len(bank), samples)
        return Room(
            workspaces(places, tables.space, bank.dtype),
            workspaces(places, tables.flow, bank.dtype),
            bank.grad[np.newaxis]
            if adds and chunks == 1
            else np.zeros((chunks, tables.gradients), bank.dtype),
            len(bank.state),
            bank.grad if adds else None,
        )

    def use_threads(self, parts: int) -> None:
        """Give each chunk its own gradients if `parts` is 0; else `grad`, unless it is None."""
        if parts != self._parts:
            self._parts, grad = parts, self.grad if parts else None
            self.record.partial = address(self.partial if grad is None else grad)
            self.record.shared = 0 if grad is None else parts

    @property
    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """All arrays, without the record of their addresses."""
        return [self.spaces, self.flows, self.partial, self._tiles, self._before, self.errors]
