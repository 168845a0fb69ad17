"""CpuCalls: calls of the cpu engine's kernels for one network.

`BatchPasses` runs passes on batches of one size; `ThreadChoice` measures whether several threads
are faster.

`Fallback` handles operations without a kernel: kernels call a Python function by its address. The
function reads the samples of a tile from the workspaces, calls the layer or the reference
implementation, and writes the results back. So everything else runs in the same way, with the same
bits for any number of threads. While kernels run, Ctrl-C interrupts only this Python code. An error
that left the function would be lost, so it is stored and raised when the kernels have returned.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, final
from weakref import WeakSet

import numpy as np
from numba.np.ufunc.parallel import get_thread_count

from scalarviz.base.checks import FloatArray
from scalarviz.base.interrupt import uncut
from scalarviz.base.kernel_threads import ONE_AT_A_TIME, check_process
from scalarviz.core.bank import Bank
from scalarviz.core.precision import Precision
from scalarviz.core.program import Operation, Program
from scalarviz.engines.codegen.kernel_units import Unit, load
from scalarviz.engines.codegen.machine_code import Kernel
from scalarviz.engines.cpu.job import CpuJob, Room, Tables, address, copied
from scalarviz.engines.cpu.records import (
    OPERATION,
    BankRecord,
    Job,
    ProgressRecord,
    Records,
    TileRecord,
    structure,
)
from scalarviz.engines.cpu.table import (
    ADD_CHUNKS,
    CHUNK_WORK,
    KERNELS,
    ON_ALL_CORES,
    ON_ONE_CORE,
    ROUNDING,
    RUN_PASSES,
    WORTH_CORES,
    WORTH_CORES_APART,
    is_worth_cores,
    units_of,
)
from scalarviz.engines.cpu.tiles import number_of_chunks
from scalarviz.engines.reference import (
    Costs,
    OperationArrays,
    Reference,
    all_gradients,
    reference_of,
)
from scalarviz.errors import InputError, OrderError

PASSES = {"run": RUN_PASSES, "chunk_work": CHUNK_WORK}
ALONE, TOGETHER = {"run_pass": ON_ONE_CORE}, {"run_pass": ON_ALL_CORES}
ADDING = {"add": ADD_CHUNKS}


def is_parallel() -> bool:
    """Return whether kernels may use several threads."""
    threads: int = get_thread_count()  # type: ignore[no-untyped-call]  # numba's
    return threads > 1


def all_units(fields: Mapping[str, list[Unit | None]]) -> set[Unit]:
    """Return the set of kernels that the operations use."""
    return {unit for units in fields.values() for unit in units if unit is not None}


@final
class CpuCalls:
    """Caller of kernels for one network, with its bank and precision."""

    def __init__(self, program: Program, bank: Bank, precision: Precision) -> None:
        self.program = program
        self.bank = bank
        self.precision = precision
        self.rooms: dict[tuple[int, ...], Any] = {}  # unused buffers of the last call, by size
        self.fallback = Fallback(program, bank.dtype)
        self._loaded: dict[Unit, Kernel] = {}
        self._fields: dict[int, dict[str, list[Unit | None]]] = {}  # by batch size
        self._choices: dict[tuple[int, bool], ThreadChoice] = {}  # for all calls of one kind

    def load(self, units: Mapping[str, Unit], samples: int = 0) -> dict[str, Kernel]:
        """Return kernels by name; missing ones are loaded together with the program's kernels."""
        missing = {unit for unit in units.values() if unit not in self._loaded}
        if missing:
            missing |= all_units(self._operations(samples)) - set(self._loaded)
            self._load(missing)
        return {field: self._loaded[unit] for field, unit in units.items()}

    def _load(self, units: Collection[Unit]) -> None:
        self._loaded |= dict(zip(units, load([*units], self.bank.dtype), strict=True))

    def _operations(self, samples: int) -> dict[str, list[Unit | None]]:
        """Return the kernel of each operation, by the record field that holds its address."""
        if not is_parallel() or not self._splits(samples):
            samples = 0
        if samples not in self._fields:
            operations = [units_of(each, samples) for each in self.program.operations]
            fields = dict.fromkeys(field for units in operations for field in units)
            self._fields[samples] = {
                field: [units.get(field) for units in operations] for field in fields
            }
        return self._fields[samples]

    def _splits(self, samples: int) -> bool:
        """Return whether several cores share an operation on a batch that is a single chunk."""
        return any(is_worth_cores(each, samples) for each in self.program.operations)

    def linked(self, tables: Tables, samples: int = 0) -> Tables:
        """Return a copy of tables with the addresses of the operations' kernels for a batch size.

        If `samples` is 0, each operation runs on one core.
        """
        operations, fields = copied(tables.operations), self._operations(samples)
        missing = all_units(fields) - set(self._loaded)
        if missing:
            self._load(missing)
        for field, units in fields.items():
            operations[field] = [
                0 if unit is None else self._loaded[unit].address for unit in units
            ]
        self.fallback.link(operations)
        return replace(tables, operations=operations)

    def calling(self, kernel: Kernel, jobs: Sequence[int] = ()) -> Callable[..., object]:
        """Return a function that calls a kernel for `jobs` or, by default, its first argument."""
        fallback = self.fallback
        if not fallback.operations:
            return kernel.call
        return lambda *given: fallback.call(kernel.call, jobs or given[:1], *given)

    def rounding(self) -> dict[str, Kernel]:
        """Return the rounding kernels by `Job` field; empty unless precision is mixed."""
        return self.load(ROUNDING) if self.precision.mixed else {}

    def together(self, samples: int, *, apart: bool = False) -> bool:
        """Return whether several cores pay off for passes, or for single operations if `apart`."""
        if number_of_chunks(samples) == 1 or not is_parallel():
            return False
        if apart:
            return samples * self.program.most_products > WORTH_CORES_APART
        return samples * self.program.products > WORTH_CORES

    def choice(
        self, job: CpuJob, tables: Tables, samples: int, *, apart: bool = False
    ) -> ThreadChoice | None:
        """Return the ThreadChoice for calls of a job, or None to use one thread.

        It is shared with earlier jobs for batches of this size, and keeps their measured times.
        """
        if not (self._splits(samples) or self.together(samples, apart=apart)):
            return None
        (operations,) = job.keep(alone=self.linked(tables).operations)
        record = job.record
        add = self.load(ADDING)["add"].address if record.add_chunks else 0  # no separate passes
        job.threads = [
            (self.load(ALONE)["run_pass"].address, add, 0, operations),
            (record.run_pass, record.add_chunks, job.update.in_parts, job.program.operations),
        ]
        return self._choices.setdefault((samples, bool(record.add_chunks)), ThreadChoice())

    @property
    def loss_scale(self) -> float:
        """Factor by which gradients are scaled during backward; 1 in full precision."""
        return float(self.bank.scaling[0]) if self.precision.mixed else 1.0


@final
class BatchPasses:
    """Runner of passes of a program on batches of `samples` samples.

    Args:
        apart: whether each pass is a single operation. Several cores are then rarely faster,
            because each pass may wait milliseconds for a busy core
    """

    def __init__(
        self,
        work: CpuCalls,
        tables: Tables,
        samples: int,
        plan: Records | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self._work = work
        passing = TOGETHER if work.together(samples, apart=apart) else ALONE
        kernels = work.load(PASSES | passing, samples)
        self._call = work.calling(kernels["run"])
        self._passes: Records | None = None
        job = self._job = CpuJob(work.bank)
        job.set_program(work.linked(tables, samples), tables.plan if plan is None else plan)
        job.set_kernels({field: kernels[field] for field in ("chunk_work", "run_pass")})
        job.set_kernels(work.rounding())
        self._choice = work.choice(job, tables, samples, apart=apart)
        if work.precision.mixed:
            job.set_halves(np.empty_like(work.bank.value))
        rows = np.arange(samples, dtype=np.uint64)
        job.fill("batch", rows=rows, goal_rows=rows, samples=samples)

    def use(self, room: Room) -> None:
        """Use the workspaces of `room` until `release` is called."""
        self._job.set_room(room)
        self._room: Room | None = room

    def release(self) -> None:
        """Release the workspaces; call `use` before the next `run`."""
        self._room = None

    def add_gradients(self, operations: range) -> None:
        """Add the gradients of all chunks, for a range of operations, to the bank."""
        self._work.load(ADDING)["add"].call(self._job.address, operations.start, operations.stop)
        self._work.bank.has_gradients = True

    def run(
        self,
        passes: Records,
        *,
        data: FloatArray | None = None,
        goals: FloatArray | None = None,
        outputs: FloatArray | None = None,
        scale: float = 1.0,
    ) -> FloatArray:
        """Run passes in order, and return the sum of errors for each chunk.

        Args:
            data: inputs of the samples, or None to keep the current ones
            goals: targets, or gradients with respect to the outputs
            outputs: array that receives the outputs, or the gradients with respect to the inputs
            scale: factor by which the gradients of the loss are multiplied
        """
        check_process()
        job, work = self._job, self._work
        batch = job.batch
        if passes is not self._passes:
            self._passes = passes
            job.set_passes(passes)
        if data is not None:
            batch.data, batch.columns = address(data), data.shape[1]
        if goals is not None:
            batch.goals, batch.goal_columns = address(goals), goals.shape[1]
        if outputs is not None:
            batch.outputs, batch.output_columns = address(outputs), outputs.shape[1]
        batch.steps, batch.scale = work.bank.step_count, scale
        assert self._room is not None, "use comes first"
        errors = self._room.errors
        errors[:] = 0.0
        if work.precision.mixed:
            work.rounding()["round_bank"].call(job.address)
        if self._choice is None:
            self._call(job.address)
        else:
            self._choice.run(1, self._run_once, self._job.use_threads)
        return errors

    def _run_once(self, count: int) -> bool:
        self._call(self._job.address)
        return True


# ---- choice of threads --------------------------------------------------------------------------

SHARE = 0.01  # share of the time for trials of the other way
SHORTEST = 1e-7  # seconds
MUCH = 0.8  # share of its time below which the other way is faster
LONG = 0.001  # seconds of consecutive steps to measure which way is faster


@final
class ThreadChoice:
    """Choice between all cores and one core for kernel calls, made by measuring both.

    All cores wait for each other after each part of a step. If another program keeps a core busy,
    waiting takes longer than the work, and a single core is much faster. The results are
    identical.
    """

    def __init__(self) -> None:
        self._together = True
        self._newest = math.inf  # seconds per step in the previous call
        self._seconds = math.inf  # the minimum of the last two, as calls may be disturbed
        self._left = 0.0  # seconds of work until the next trial of the other way

    def run(self, count: int, call: Callable[[int], bool], use: Callable[[bool], None]) -> None:
        """Call `call` with step counts that add up to `count`; stop if it returns False.

        `use(True)` makes kernels use all cores, `use(False)` only one.
        """
        with ONE_AT_A_TIME:
            use(self._together)
            if self._left <= 0.0 and self._seconds < math.inf:
                some = min(count, math.ceil(LONG / max(self._seconds, SHORTEST)))
                if not self._try(some, call, use):
                    return
                count -= some
            if count:
                _, seconds = timed(count, call)
                self._left -= seconds
                self._seconds = min(self._newest, seconds / count)
                if self._newest == math.inf:  # of the first call, which loads and allocates
                    self._seconds = math.inf
                self._newest = seconds / count

    def _try(self, count: int, call: Callable[[int], bool], use: Callable[[bool], None]) -> bool:
        """Try the other number of cores and keep it if faster; return the result of `call`."""
        use(not self._together)
        goes_on, seconds = timed(count, call)
        self._left = seconds / SHARE
        if seconds / count < self._seconds * MUCH:
            self._together = not self._together
            self._seconds = self._newest = seconds / count
        else:
            use(self._together)
        return goes_on


def timed(count: int, call: Callable[[int], bool]) -> tuple[bool, float]:
    """Return the result of `call(count)` and its duration in seconds."""
    start = time.perf_counter()
    goes_on = call(count)
    return goes_on, time.perf_counter() - start


# ---- operations without a kernel ----------------------------------------------------------------

CALLBACK = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 3)
OperationRecord = structure(OPERATION)
_tried: WeakSet[Any] = WeakSet()  # layers that compute each sample separately


@final
class FallbackTile:
    """An operation on a tile; its arrays are views of the workspaces.

    Args:
        dtype: dtype of the bank
        place, job, tile: addresses of the records of the operation, the job and the tile
    """

    def __init__(
        self, operation: Operation, dtype: np.dtype[Any], place: int, job: int, tile: int
    ) -> None:
        self.operation = operation
        self.dtype = dtype
        self.op = OperationRecord.from_address(place)
        self.record = TileRecord.from_address(tile)
        self._bank = BankRecord.from_address(Job.from_address(job).bank)

    def rows(self, space: int, row: int, size: int) -> FloatArray:
        """Return a buffer of a workspace from row `row`, as an array of shape (samples, size)."""
        stride = self.record.stride
        place = space + row * stride * self.dtype.itemsize
        return array_at(place, self.dtype, size, stride)[:, : self.record.n].T

    def numbers(self, **more: FloatArray) -> OperationArrays:
        """Return the arguments for the operation's reference implementation."""
        op, tile, bank = self.op, self.record, self._bank
        read = [(op.source, op.inputs), (op.second, op.seconds)][: len(self.operation.sources)]
        return OperationArrays(
            array_at(bank.seen, self.dtype, bank.rows),
            array_at(bank.state, np.dtype(np.float64), bank.state_count),
            tile.steps,
            tuple([self.rows(tile.space, *each) for each in read]),
            learning=bool(tile.learning),
            first=tile.first,
            **more,
        )


def array_at(address: int, dtype: np.dtype[Any], *shape: int) -> FloatArray:
    """Return the numbers at a memory address as an array."""
    memory: Any = (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address(address)
    return np.ndarray(shape, dtype, memory)


def forward(reference: Reference, tile: FallbackTile) -> None:
    """Write the outputs of the operation to its buffer."""
    numbers, own = tile.numbers(), tile.operation.own
    y = reference.forward(tile.operation, numbers)
    if own is not None and len(y) > 1 and own not in _tried:
        alone = reference.forward(tile.operation, numbers._replace(inputs=(numbers.x[:1],)))
        if not np.allclose(alone, y[:1], 1e-6, 1e-9, equal_nan=True):
            raise InputError(
                f"{own} gives a sample different numbers alone and within a batch, and the cpu "
                "engine splits batches: compute each sample independently, or choose the "
                "'python' engine"
            )
        _tried.add(own)
    tile.rows(tile.record.space, tile.op.target, tile.op.outputs)[:] = y


def backward(reference: Reference, tile: FallbackTile) -> None:
    """Write the gradients of the inputs, and add to the gradients of the parameters."""
    op, record, operation = tile.op, tile.record, tile.operation
    y = tile.rows(record.space, op.target, op.outputs)
    upstream = tile.rows(record.flow, op.flow_out, op.outputs)
    found = all_gradients(reference, operation, tile.numbers(y=y, upstream=upstream))
    read = [(op.flow_in, op.inputs), (op.flow_second, op.seconds)][: len(operation.sources)]
    for each, row in zip(found, read, strict=False):
        tile.rows(record.flow, *row)[:] = each
    if operation.parameters:
        first = record.partial + op.gradients * tile.dtype.itemsize
        array_at(first, tile.dtype, op.count)[:] += found[-1]


def done(reference: Reference, tile: FallbackTile) -> None:
    """Do nothing: `backward` has already written the gradients of the inputs."""


@final
class Fallback:
    """Operations of a program that run as Python code, called through function addresses."""

    def __init__(self, program: Program, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._lock = threading.Lock()  # one tile at a time, also with several threads
        self._worker = 0  # the thread that computes it
        self._errors: dict[int, BaseException] = {}  # by the address of their job
        self.operations = {
            i: each for i, each in enumerate(program.operations) if each.kind not in KERNELS
        }
        self._costs = Costs("cpu", [*self.operations.values()])
        self._kept = {i: self._functions(each) for i, each in self.operations.items()}

    def _functions(self, operation: Operation) -> dict[str, Any]:
        """Return the functions of an operation, by the record field that holds their address."""
        work = {"forward": forward, "back": backward}
        if operation.parameters:
            work = {"forward": forward, "parameters": backward, "back": done}
        run = partial(self._run, operation, reference_of(operation))
        return {field: CALLBACK(partial(run, each)) for field, each in work.items()}

    def link(self, operations: Any) -> None:
        """Write the addresses of the functions to the operations' records."""
        for i, functions in self._kept.items():
            for field, each in functions.items():
                operations[field][i] = ctypes.cast(each, ctypes.c_void_p).value

    def _run(
        self,
        operation: Operation,
        reference: Reference,
        work: Callable[[Reference, FallbackTile], None],
        place: int,
        job: int,
        tile: int,
    ) -> None:
        """Run an operation on a tile; after an error, skip it until `call` raises the error."""
        if self._worker == threading.get_ident():  # the lock would wait forever
            self._errors[job] = OrderError(
                f"{operation.owner} computes with its own network, which waits for it: compute "
                "with a copy, net.copy()"
            )
            return
        with self._lock:
            start, self._worker = time.perf_counter(), threading.get_ident()
            try:
                if job not in self._errors:
                    with np.errstate(all="ignore"):
                        work(reference, FallbackTile(operation, self._dtype, place, job, tile))
            except BaseException as error:  # also Ctrl-C: kernels would ignore it
                self._errors[job] = error
            self._costs.seconds += time.perf_counter() - start
            self._worker = 0

    @uncut
    def call(self, kernel: Callable[..., object], jobs: Sequence[int], *arguments: int) -> None:
        """Call a kernel for jobs, raise any error of its Python code, and log the cost once."""
        start = time.perf_counter()
        kernel(*arguments)
        whole = time.perf_counter() - start
        for error in filter(None, [self._errors.pop(job, None) for job in jobs]):
            raise error
        records = [ProgressRecord.from_address(Job.from_address(job).progress) for job in jobs]
        self._costs.say(sum(each.steps for each in records), whole)
