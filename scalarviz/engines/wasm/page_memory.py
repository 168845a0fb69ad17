"""The memory of a page that trains a network, and its description for the page's script.

Three jobs share one bank: entire steps, steps one moment at a time with every value kept, and
evaluation.

A `MemoryImage` contains their records and arrays as bytes. The bytes of an array are copied
unchanged. Record fields with addresses are listed in a table and become addresses in the page; the
fields of kernels are indices in the function table. Arrays written before being read follow the
image.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, cast, final

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import SGD, Adam, Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Buffer, Moment, Program
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.codegen.machine_code import Kernel
from scalarviz.engines.cpu import records
from scalarviz.engines.cpu import tiles as plans
from scalarviz.engines.cpu.job import (
    CpuJob,
    Order,
    Room,
    Tables,
    copied,
    make_tables,
    pass_of,
    passes,
    plan_loss,
    set_order,
    whole_pass,
)
from scalarviz.engines.cpu.products import LONGEST, SHORTEST, TILE, TWO
from scalarviz.engines.cpu.records import Records, RecordType
from scalarviz.engines.cpu.table import (
    ON_ONE_CORE,
    ROUNDING,
    RUN_PASSES,
    TRAINING,
    kernels_for,
    stride_alone,
    units_of,
    units_of_draws,
    units_of_loss,
    units_of_optimizer,
    units_on_one_core,
)
from scalarviz.engines.cpu.tiles import number_of_tiles
from scalarviz.engines.cpu.wide_products import DEPTH, TURNED
from scalarviz.engines.wasm.compile_module import ALIGNMENT, FIRST, STACK
from scalarviz.engines.wasm.compile_pieces import HEAP
from scalarviz.errors import EngineError

AT_ONCE = int(TILE)  # samples per evaluation
SMALL_ARRAYS = 2**18  # bytes for arrays of kernels, besides those of wide layers
LOSSES = 4096  # steps per call of the kernel
PAGE = 65536  # bytes: the unit of a memory
LARGEST_BATCH = 64  # largest batch offered by a page, unless the session's is larger
LARGEST_ROOM = 2**24  # bytes for numbers of batches larger than the session's
OFFERED = SGD, Adam  # optimizers, with their default settings


@dataclass(frozen=True, slots=True)
class PageTraining:
    """Everything that determines a training run in a page.

    Attributes:
        step: number of steps that the session has taken
        others: additional optimizers that the page offers
    """

    program: Program
    bank: Bank
    batches: Batches
    loss: Loss
    optimizer: Optimizer
    precision: Precision
    step: int
    others: tuple[Optimizer, ...] = ()

    @property
    def optimizers(self) -> tuple[Optimizer, ...]:
        """The optimizer of the session, followed by the additional ones."""
        return self.optimizer, *self.others

    @property
    def most(self) -> int:
        """Size of the largest batch that the page offers."""
        size, samples = self.batches.size, self.batches.samples
        most = max(size, min(samples, LARGEST_BATCH))
        numbers = 2 * sum(buffer.size for buffer in self.program.buffers)
        room = most * numbers * np.dtype(self.bank.dtype).itemsize
        return most if room <= LARGEST_ROOM else size

    @property
    def sizes(self) -> list[int]:
        """Batch sizes that the page offers: powers of 2, and the session's."""
        powers = [2**k for k in range(self.most.bit_length()) if 2**k <= self.most]
        return sorted({*powers, self.batches.size, self.most})

    def units(self) -> list[Unit]:
        """Return the kernels for training on one core, in the order of a page's table."""
        return units_on_one_core(
            self.program, self.batches, [self.loss], self.optimizers, self.precision
        )


def others_than(optimizer: Optimizer) -> tuple[Optimizer, ...]:
    """Return the optimizers that a page offers in addition to the session's."""
    kinds = [kind for kind in OFFERED if kind().name != optimizer.name]
    others = [kind(not_finite=optimizer.not_finite) for kind in kinds]
    return tuple(each.with_own_rates(optimizer.own_rates) for each in others)


def refuse(*arguments: object) -> NoReturn:
    raise AssertionError("a kernel of a page is not called here")


@final
class PageMemory:
    """Memory of a page that trains: the bytes `image`, and their description `spec`.

    Args:
        training: the training run
        units: the kernels of the module, in order; it may have more than training needs
        probe: inputs, shape (samples, inputs), for which the page shows outputs; may be empty
        first: address at which the image begins
    """

    def __init__(
        self, training: PageTraining, units: Sequence[Unit], probe: FloatArray, first: int
    ) -> None:
        self._training = training
        self._numbers = {unit: FIRST + k for k, unit in enumerate(units)}
        self._image = MemoryImage(first)
        self._dtype = training.bank.dtype
        self._step()
        self._moments()
        self._evaluation()
        self._probe = self._array(probe)
        self._image.add(self._probe)
        self._heap = np.zeros(heap_of(training), np.uint8)
        self._image.add(self._heap, empty=True)
        self.image = self._image.build()
        self.spec = self._described()

    def _kernels(self, units: Mapping[str, Unit]) -> dict[str, Kernel]:
        """Return kernels whose addresses are their indices in the function table."""
        return {k: Kernel(self._numbers[unit], refuse, None) for k, unit in units.items()}

    def _linked(self, tables: Tables) -> Records:
        """Return the operations of tables, with the indices of their kernels."""
        operations = copied(tables.operations)
        for k, operation in enumerate(self._training.program.operations):
            for field, unit in units_of(operation).items():
                operations[k][field] = self._numbers[unit]
        return operations

    def _plan(self, tables: Tables, order: Order) -> Records:
        """Return the execution plan for these tables, including the loss and the optimizer."""
        of = self._training
        plan = plan_loss(tables, of.program, of.loss, self._kernels(units_of_loss(of.loss)))
        set_order(plan, order)
        return plan

    def _job(self, tables: Tables, plan: Records, todo: Records) -> CpuJob:
        """Create a job for a program, and add both to the image."""
        of = self._training
        job, linked = CpuJob(of.bank), self._linked(tables)
        job.set_program(replace(tables, operations=linked), plan)
        job.set_passes(todo)
        self._image.add(tables.settings, plan, linked, todo, job.program, job.record)
        fields = {key: unit for key, unit in TRAINING.items() if key != "train"}
        fields |= {"run_pass": ON_ONE_CORE, **units_of_draws(of.batches)}
        fields |= ROUNDING if of.precision.mixed else {}
        job.set_kernels(self._kernels(fields))
        return job

    def _room(self, tables: Tables, places: int, samples: int) -> Room:
        """Create workspaces; they have no content in the image."""
        room = Room.of(tables, places, samples, self._training.bank)
        self._image.add(room.record)
        self._image.add(*room.arrays, empty=True)
        return room

    def _step(self) -> None:
        """Create the job for entire steps, with all records that the other jobs share."""
        of, image = self._training, self._image
        bank, batches, size = of.bank, of.batches, of.most
        tables = make_tables(of.program, bank.dtype, of.precision)
        order = Order(of.optimizer, len(of.bank))
        job = self._train = self._job(tables, self._plan(tables, order), tables.passes)
        self._shared_room = self._room(tables, tables.places(size), size)
        job.set_room(self._shared_room)
        job.set_optimizer(of.optimizer, order, self._kernels(units_of_optimizer(of.optimizer)))
        # The bank is one stretch of memory, which a page copies to go back.
        orders = [order, *[Order(each, len(bank)) for each in of.others]]
        own, most = len(order.slots), max(len(each.slots) for each in orders)
        self._slots = np.zeros((most, len(bank)), self._dtype)
        self._slots[:own] = bank.slot_block(order.slots)
        job.fill("bank", slots=self._slots, slot_count=most)
        image.add(bank.value, bank.grad, self._slots, bank.state, bank.frozen)
        self._orders = [(order, job)]
        for optimizer, other in zip(of.others, orders[1:], strict=True):
            spare = CpuJob(bank)
            spare.set_optimizer(optimizer, other, self._kernels(units_of_optimizer(optimizer)))
            self._orders.append((other, spare))
            image.add(spare.update)
        for each, user in self._orders:
            image.add(*each.numbers)
            image.add(*user.kept("update", "exact", "arguments", "scratch"), empty=True)
        if of.precision.mixed:
            halves = np.zeros_like(bank.value)
            job.set_halves(halves)
            image.add(halves, empty=True)
        job.set_samples(batches, size)
        job.set_batches(batches, self._array(batches.inputs), self._array(batches.targets))
        self._drawn = job.kept("samples", "rows", "goal_rows", "points")
        self._inputs, self._targets = tables_read = job.kept("batch", "data", "goals")
        image.add(*self._drawn, empty=True)
        image.add(*job.kept("samples", "drawing", "draw_settings"), *tables_read)
        if job.samples.point_count:
            self._inputs = self._drawn[2]
        self._losses = np.zeros(LOSSES)
        job.fill("progress", factor=of.loss.factor, losses=self._losses)
        image.add(self._losses, empty=True)
        image.add(job.bank, job.samples, job.batch, job.update, job.progress)

    def _array(self, table: FloatArray) -> FloatArray:
        return np.array(table, self._dtype, order="C")

    def _moments(self) -> None:
        """Create the job for steps one moment at a time, with separate tables and workspaces."""
        of, size = self._training, self._training.most
        tables = self._apart = make_tables(of.program, self._dtype, of.precision, apart=True)
        todo = passes(0, [0], [0], [0])
        job = self._apart_job = self._job(
            tables, self._plan(tables, Order(of.optimizer, len(of.bank))), todo
        )
        room = self._apart_room = self._room(tables, number_of_tiles(size), size)
        shared = self._train.record
        for field in ("bank", "samples", "batch", "update", "progress"):
            setattr(job.record, field, getattr(shared, field))
        job.record.room = room.record_at
        self._apart_passes = todo

    def _evaluation(self) -> None:
        """Create the job that evaluates up to AT_ONCE samples."""
        of, image = self._training, self._image
        tables = make_tables(of.program, self._dtype, of.precision)
        what = plans.DO_LOAD | plans.DO_FORWARD | plans.DO_STORE
        todo = whole_pass(of.program, what)
        job = self._evaluate = self._job(tables, tables.plan, todo)
        job.record.bank = self._train.record.bank
        self._seen = self._room(tables, 1, AT_ONCE)
        job.set_room(self._seen)
        asked = np.zeros((AT_ONCE, of.program.inputs.size), self._dtype)
        answers = np.zeros((AT_ONCE, of.program.outputs.size), self._dtype)
        rows = np.arange(AT_ONCE, dtype=np.uint64)
        job.fill(
            "batch", data=asked, columns=asked.shape[1], outputs=answers,
            output_columns=answers.shape[1], rows=rows, goal_rows=rows, samples=1,
        )  # fmt: skip
        image.add(rows, job.batch)
        image.add(asked, answers, empty=True)
        job.record.samples = job.record.update = job.record.progress = 0
        self._asked, self._answers = asked, answers

    # ---- description
    # --------------------------------------------------------------------------------

    def _described(self) -> dict[str, Any]:
        """Return the description of the memory as JSON-compatible data."""
        of, image, train = self._training, self._image, self._train
        numbers, size = self._numbers, of.batches.size
        names = buffer_names(of.program)
        calls = {
            "train": TRAINING["train"],
            "runPasses": RUN_PASSES,
            "addChunks": TRAINING["add_chunks"],
            "move": TRAINING["move"],
            "drawRows": units_of_draws(of.batches)["draw_rows"],
        }
        if of.precision.mixed:
            calls["roundBank"] = ROUNDING["round_bank"]
        arrays = {
            "value": of.bank.value,
            "grad": of.bank.grad,
            "slots": self._slots,
            "state": of.bank.state,
            "frozen": of.bank.frozen,
            "losses": self._losses,
            "rows": self._drawn[0],
            "goalRows": self._drawn[1],
            "inputs": self._inputs,
            "targets": self._targets,
            "asked": self._asked,
            "answers": self._answers,
            "errors": self._shared_room.errors,
            "spaces": self._apart_room.spaces,
            "flows": self._apart_room.flows,
            "seen": self._seen.spaces,
            "probe": self._probe,
        }
        described = {
            name: [self._image.place(array), array.size, array.dtype.name]
            for name, array in arrays.items()
        }
        plan = self._plan(self._apart, Order(of.optimizer, len(of.bank)))
        return {
            "dtype": self._dtype,
            "first": image.first,
            "pages": -(-image.end // PAGE),
            "stack": STACK,
            "heap": {"at": HEAP, "first": image.place(self._heap), "size": len(self._heap)},
            "kernels": FIRST + len(numbers),
            "places": len(self._apart_room.spaces),
            "calls": {name: numbers[unit] for name, unit in calls.items()},
            "jobs": {
                "train": image.place(train.record),
                "moments": image.place(self._apart_job.record),
                "evaluate": image.place(self._evaluate.record),
            },
            "arrays": described,
            "records": {
                "progress": image.fields(train.progress),
                "batch": image.fields(train.batch),
                "drawing": image.fields(*train.kept("samples", "drawing")),
                "pass": image.fields(self._apart_passes),
                "asked": image.fields(self._evaluate.batch),
                "update": image.fields(train.update),
            },
            "steady": numbers[units_of_optimizer(SGD())["factor_of_rate"]],
            "optimizers": [
                self._optimizer(number, optimizer) for number, optimizer in enumerate(of.optimizers)
            ],
            "update": [image.place(train.update), ctypes.sizeof(train.update)],
            "batches": of.sizes,
            "scaling": SCALING,
            "mixed": of.precision.mixed,
            "atOnce": AT_ONCE,
            "tile": [int(TILE), int(SHORTEST), stride_alone(of.program)],
            "loss": {"factor": of.loss.factor, "meanOf": int(plan["mean_of"][0])},
            "sizes": {"batch": size, "inputs": of.program.inputs.size,
                      "outputs": of.program.outputs.size},
            "buffers": [
                {
                    "name": name,
                    "size": buffer.size,
                    "row": buffer.offset,
                    "flow": self._apart.flows[buffer],
                }
                for buffer, name in names.items()
            ],
            "dropouts": [
                [names[operation.source], names[operation.target]]
                for operation in of.program.operations
                if operation.kind == "dropout"
            ],
            "moments": [self._moment(moment) for moment in of.program.moments],
            "load": [plans.DO_LOAD | plans.DO_KEEP, 0, 0, 0],
            "step": of.step,
            "count": of.bank.step_count,
            "samples": of.batches.samples,
        }  # fmt: skip

    def _optimizer(self, number: int, optimizer: Optimizer) -> dict[str, Any]:
        """Describe an optimizer: name, rate, slots, and the addresses of its numbers."""
        order, job = self._orders[number]
        return {
            "name": optimizer.name,
            "title": type(optimizer).__name__,
            "rate": optimizer.lr,
            "slots": [*order.slots],
            "update": self._image.place(job.update),
            "how": self._image.fields(order.numbers[0]),
        }

    def _moment(self, moment: Moment) -> dict[str, Any]:
        """Describe a moment of a step, with the pass that performs it."""
        described = moment_data(moment, buffer_names(self._training.program))
        if moment.kind not in ("zero_grad", "step"):
            (todo,) = pass_of(moment, self._training.program).tolist()
            described["pass"] = [*todo]
        return described


def heap_of(training: PageTraining) -> int:
    """Return the approximate maximum bytes of arrays that kernels allocate, as for wide layers."""
    operations = training.program.operations
    wide = [each.source.size for each in operations if kernels_for(each)[0] == "wide_affine"]
    widest = max(wide, default=0)
    numbers = int(TWO) * widest + int(LONGEST * (TURNED + SHORTEST) + DEPTH * SHORTEST)
    return SMALL_ARRAYS + numbers * np.dtype(training.bank.dtype).itemsize


def moment_data(moment: Moment, names: Mapping[Buffer, str]) -> dict[str, Any]:
    """Describe a moment for a page; buffers are named by `names`, or else by their own names."""
    return {
        "kind": moment.kind,
        "phase": moment.phase,
        "name": moment.name,
        "operation": moment.operation,
        "layer": moment.layer,
        "values": [names.get(buffer, buffer.name) for buffer in moment.values],
        "gradients": [names.get(buffer, buffer.name) for buffer in moment.gradients],
    }


def buffer_names(program: Program) -> dict[Buffer, str]:
    """Return a unique name for each buffer of a program."""
    names: dict[Buffer, str] = {}
    taken: set[str] = set()
    for buffer in program.buffers:
        name, more = buffer.name, 2
        while name in taken:
            name, more = f"{buffer.name} ({more})", more + 1
        names[buffer] = name
        taken.add(name)
    return names


# ---- records and arrays as bytes ----------------------------------------------------------------

# Fields that are addresses of records and arrays, by the type of record. The other fields are
# numbers and kernels.
ADDRESSES: Mapping[RecordType, tuple[str, ...]] = {
    records.JOB: ("program", "bank", "samples", "batch", "room", "update", "progress"),
    records.PROGRAM: ("plan", "passes", "operations"),
    records.BANK: ("value", "seen", "halves", "grad", "slots", "frozen", "state"),
    records.SAMPLES: ("rows", "goal_rows", "points", "drawing", "draw_settings"),
    records.BATCH: ("data", "rows", "goals", "goal_rows", "outputs", "errors"),
    records.ROOM: ("spaces", "flows", "partial", "tiles", "before"),
    records.UPDATE: (
        "how", "settings", "schedule", "exact", "arguments", "gradient", "scratch", "spans",
    ),
    records.PROGRESS: ("losses",),
    records.OPERATION: ("settings", "turned"),
    records.PLAN: (),
    records.PASS: (),
    records.DRAWING: (),
    records.HOW: (),
    records.SPAN: (),
}  # fmt: skip
KERNELS: Mapping[RecordType, tuple[str, ...]] = {
    records.JOB: (
        "chunk_work", "run_pass", "draw_rows", "add_chunks", "move", "round_rows", "round_bank",
    ),
    records.OPERATION: (
        "forward", "parameters", "back", "gather", "gather_back", "part_of_forward",
        "part_of_parameters", "part_of_back", "turn",
    ),
    records.PLAN: ("loss", "loss_back"),
    records.UPDATE: ("factor_of_rate", "constants", "move_rows", "in_parts"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An array in the image, with its addresses in this process and the page; `empty`: 0 there."""

    array: np.ndarray[Any, Any]
    start: int
    place: int
    empty: bool


@final
class MemoryImage:
    """Records and arrays as bytes for the memory of a page, from address `first`."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._given: list[tuple[np.ndarray[Any, Any], bool]] = []
        self._parts: dict[int, ImagePart] = {}  # by address here

    def add(self, *given: np.ndarray[Any, Any] | ctypes.Structure, empty: bool = False) -> None:
        """Add arrays and records in this order; with `empty` they are filled with 0 in the page."""
        for each in given:
            array = as_array(each)
            if array.size:
                self._given.append((array, empty))

    def build(self) -> bytes:
        """Assign an address in the page to everything, and return the bytes of the image."""
        end = self.first
        for array, empty in sorted(self._given, key=lambda each: each[1]):
            start = array.__array_interface__["data"][0]
            require(
                start not in self._parts,
                "an array was added twice to the memory of a page",
                EngineError,
            )
            place = -(-end // ALIGNMENT) * ALIGNMENT
            self._parts[start] = ImagePart(array, start, place, empty)
            end = place + array.nbytes
        self.end = end
        full = [part for part in self._parts.values() if not part.empty]
        content = bytearray(max(part.place + part.array.nbytes for part in full) - self.first)
        for part in full:
            at = part.place - self.first
            content[at : at + part.array.nbytes] = self._relocated(part.array).tobytes()
        return bytes(content)

    def _relocated(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return an array; if it consists of records, their addresses become those in the page."""
        fields = ADDRESSES.get(array.dtype, ()) if array.dtype.names else ()
        moved = array.copy() if fields else array
        for name in fields:
            moved[name] = [self.place_of(int(address)) for address in array[name].tolist()]
        return moved

    def place_of(self, address: int) -> int:
        """Return the address in the page for an address in this process; 0 remains 0."""
        if address == 0:
            return 0
        for part in self._parts.values():
            if part.start <= address < part.start + part.array.nbytes:
                return part.place + address - part.start
        raise EngineError("a record has an address of nothing in the memory of a page")

    def place(self, given: np.ndarray[Any, Any] | ctypes.Structure) -> int:
        """Return the address in the page of an array or record; 0 if it is empty."""
        array = as_array(given)
        return self.place_of(array.__array_interface__["data"][0]) if array.size else 0

    def fields(self, given: np.ndarray[Any, Any] | ctypes.Structure) -> dict[str, int]:
        """Return the address in the page of each field of a record."""
        dtype, place = as_array(given).dtype, self.place(given)
        assert dtype.fields is not None
        return {name: place + field[1] for name, field in dtype.fields.items()}


def as_array(given: np.ndarray[Any, Any] | ctypes.Structure) -> np.ndarray[Any, Any]:
    """Return a ctypes record as an array of one record."""
    if isinstance(given, np.ndarray):
        return given
    return np.ndarray(1, np.dtype(type(given)), cast(Any, given))
