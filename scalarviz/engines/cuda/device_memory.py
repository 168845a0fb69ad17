"""Memory: the arrays of a run on a GPU, their layout, and copies between host and device.

A call of the engine begins with `put_bank`: it compares the bank in host memory with a mirror of
the device's copy, and copies only the parts that have changed. The call ends with `take_bank`,
which copies values, gradients and the used slots to the host. Between portions of a session
`take_bank` is omitted, and reading the bank fetches it; see `scalarviz.core.device_arrays`.

`make_layout` converts a program to the arrays that kernels read; `gpu_layout.py` explains them.

A `CudaSnapshot` copies a bank from a GPU during training. The numbers are first copied within the
GPU, on the stream of the run; this takes some microseconds and does not block the next steps. A
separate stream then transfers the copy to pinned memory. Only `read` waits for it, and returns the
pinned memory itself, which is reused when these numbers are no longer referenced.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, require
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.formulas.randomness import MASK
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.data.batches import IN_ORDER, Batches
from scalarviz.engines.cuda import gpu_layout
from scalarviz.engines.cuda.card import KEYFRAME, card_failures, cuda
from scalarviz.engines.cuda.table import KERNELS, WHOLE_BATCH
from scalarviz.engines.engine import HostSnapshot, Snapshot, SnapshotValues
from scalarviz.errors import EngineError

if TYPE_CHECKING:
    from scalarviz.engines.cuda.engine import CudaRun


@final
class Memory:
    """The arrays of one run, allocated once and used on one stream."""

    def __init__(self, layout: MemoryLayout, dtype: str, stream: Any) -> None:
        self.layout = layout
        self.dtype = np.dtype(dtype)
        self.stream = stream
        self.rows = int(layout.plan[gpu_layout.ROWS])
        self.host_plan = layout.plan.copy()
        self.host_scalars = np.zeros(layout.scalars)
        self.plan = cuda.to_device(layout.plan, stream=stream)
        self.scalars = cuda.to_device(self.host_scalars, stream=stream)
        size = layout.arena + gpu_layout.BEYOND_ARENA
        self.arena = cuda.device_array(size, self.dtype, stream=stream)
        self.data = cuda.device_array(1, self.dtype, stream=stream)
        self.grad_place = int(layout.plan[gpu_layout.GRAD])
        self.bank_size = self.grad_place + self.rows
        self._mirror = cuda.pinned_array(max(1, self.bank_size), self.dtype)
        self._known: set[tuple[int, int]] = set()  # parts that are equal on both sides
        self._views: dict[tuple[int, int], tuple[Any, FloatArray]] = {}
        self.write(layout.settings_place, layout.settings.ravel())

    def write(self, place: int, numbers: FloatArray) -> None:
        """Copy numbers to `arena` on the device, from index `place`."""
        if numbers.size:
            part = np.ascontiguousarray(numbers, self.dtype)
            self.arena[place : place + part.size].copy_to_device(part, stream=self.stream)

    def read(self, place: int, size: int) -> FloatArray:
        """Return a copy of `size` numbers of `arena`, from index `place`."""
        numbers = np.empty(size, self.dtype)
        if size:
            self.arena[place : place + size].copy_to_host(numbers, stream=self.stream)
            self.stream.synchronize()
        return numbers

    def put_plan(self) -> None:
        """Copy the plan's fields and the scalars from host to device."""
        known = int(self.layout.plan[gpu_layout.ERRORS])
        fields, numbers = self.host_plan[: gpu_layout.PLAN_FIELDS], self.host_scalars[:known]
        self.plan[: gpu_layout.PLAN_FIELDS].copy_to_device(fields, stream=self.stream)
        self.scalars[:known].copy_to_device(numbers, stream=self.stream)

    def take_plan(self) -> None:
        """Copy plan and scalars, which include the losses, from device to host."""
        self.plan.copy_to_host(self.host_plan, stream=self.stream)
        self.scalars.copy_to_host(self.host_scalars, stream=self.stream)
        self.stream.synchronize()

    def take_state(self, bank: Bank, *, before: bool = False) -> None:
        """Copy the state in the host's scalars, or the one `before` the last step, to a bank."""
        place = (
            int(self.layout.plan[gpu_layout.STATE_BEFORE]) if before else gpu_layout.STATE_NUMBERS
        )
        bank.state[:] = self.host_scalars[place : place + len(bank.state)]

    def put_data(self, inputs: FloatArray, targets: FloatArray) -> None:
        """Copy the tables of a data set to the device."""
        numbers = np.concatenate([inputs.ravel(), targets.ravel()])
        if numbers.size != self.data.size:
            self.data = cuda.device_array(numbers.size, self.dtype, stream=self.stream)
        self.data.copy_to_device(numbers, stream=self.stream)

    def put_bank(self, bank: Bank, slots: tuple[str, ...]) -> None:
        """Copy the parts of the bank that have changed since the last call to the device."""
        if not self.rows:
            return
        for start, numbers in self._parts(bank, slots):
            part = start, numbers.size
            on_device, mirror = self._view(part)
            # Bits are compared: NaN is not equal to itself, and -0.0 equal to 0.0.
            if part in self._known and (bits(mirror) == bits(numbers)).all():
                continue
            mirror[:] = numbers
            on_device.copy_to_device(mirror, stream=self.stream)
            self._known.add(part)

    def forget_bank(self) -> None:
        """Mark the bank, except its frozen flags, as changed on the device until `take_bank`.

        If a call is interrupted in between, the numbers on the device differ from the host's.
        """
        self._known &= {(self.rows, self.rows)}

    def _parts(self, bank: Bank, slots: tuple[str, ...]) -> list[tuple[int, FloatArray]]:
        """Return the index in `arena` and the numbers of each part of the bank, 1-D."""
        rows = self.rows
        kept = [(2 * rows, bank.slot_block(slots).ravel())] if slots else []
        frozen = bank.frozen.astype(self.dtype)
        return [(0, bank.value), (rows, frozen), *kept, (self.grad_place, bank.grad)]

    def moving_parts(self, slots: int) -> list[tuple[int, int]]:
        """Return index and size of each part of `arena` that a step with `slots` slots changes."""
        rows = self.rows
        kept = [(2 * rows, slots * rows)] if slots else []
        return [(0, rows), *kept, (self.grad_place, rows)]

    def _view(self, part: tuple[int, int]) -> tuple[Any, FloatArray]:
        """Return a part of the bank on the device, and the same part of its mirror."""
        if part not in self._views:
            where = slice(part[0], sum(part))
            self._views[part] = self.arena[where], self._mirror[where]
        return self._views[part]

    def take_bank(self, bank: Bank, slots: tuple[str, ...]) -> None:
        """Copy values, gradients and an optimizer's slots from the device to the bank."""
        if not self.rows:
            return
        parts = self.moving_parts(len(slots))
        for part in parts:
            on_device, mirror = self._view(part)
            on_device.copy_to_host(mirror, stream=self.stream)
        self.stream.synchronize()
        self._known.update(parts)
        arrays = [bank.value, *([bank.slot_block(slots)] if slots else []), bank.grad]
        for part, array in zip(parts, arrays, strict=True):
            array[...] = self._view(part)[1].reshape(array.shape)


def bits(numbers: FloatArray) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return an array viewed as unsigned integers, to compare bits."""
    return numbers.view(f"u{numbers.itemsize}")


# ---- layout -------------------------------------------------------------------------------------

Whole = npt.NDArray[np.int64]

LEAST_SHARE = 8  # samples in a chunk; smaller chunks are not worth a block
MOST_CHUNKS = 128
MOST_NEAR = 2**16  # gradients of a chunk; with more, the weights do not fit into a block
TILES = 256  # tiles of matrix products, to keep a GPU busy
MOST_PARTIALS = 2**25  # largest size of the gradients of all chunks
LEAST_WIDTH = 8  # samples in a tile of a whole step, or a whole chunk
MOST_STEPS = 1024  # at most in one launch


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """The plan with its table of operations, and the sizes of the other arrays."""

    plan: Whole
    arena: int
    scalars: int
    settings: FloatArray  # of all operations
    settings_place: int
    losses_place: int

    def op(self, i: int) -> int:
        """Return the index of operation i in `plan`."""
        return gpu_layout.PLAN_FIELDS + i * gpu_layout.COLUMNS


def formula_rows() -> tuple[object, ...]:
    """Return all rows of the formula tables, to detect custom formulas added later."""
    tables = ACTIVATIONS, PARAMETRIC_FORMULAS, LOSSES, ROW_LOSSES, OPTIMIZERS
    return tuple(row for table in tables for row in table.values())


def index_of(row: Any, rows: list[Any], kind: str) -> int:
    """Return the index of a row in its table; raise EngineError if the row was replaced.

    A custom formula that was added again from the same source counts as the same row.
    """
    same = [each.name == row.name and each.digest == row.digest for each in rows]
    require(
        any(same),
        f"the {kind} {row.name!r} was replaced by another one with this name, and the cuda engine "
        "knows only the newest: create it again, and also the session",
        EngineError,
    )
    return same.index(True)


def make_layout(
    program: Program,
    bank: Bank,
    samples: int,
    shared: int,
    learning: bool = True,
) -> MemoryLayout:
    """Return the layout for batches of `samples` samples and blocks with `shared` bytes.

    Args:
        learning: if False, no memory is allocated for gradients
    """
    widest = max((each.target.size for each in program.operations), default=1)
    require(
        widest * samples < 2**32,  # see `teams.row_of`
        f"a batch of {samples:,} samples is too large for the cuda engine, which can take "
        f"{(2**32 - 1) // widest:,} with {widest:,} outputs of a layer: choose a smaller batch",
        EngineError,
    )
    plan = np.zeros(gpu_layout.PLAN_FIELDS + len(program.operations) * gpu_layout.COLUMNS, np.int64)
    fill(plan, sizes(program, bank, samples))
    parts = place_parts(plan, len(program.operations) * gpu_layout.MOST_SETTINGS, learning)
    settings_place, size = parts.pop(NONE), parts.pop(gpu_layout.PLAN_FIELDS)
    fill(plan, parts)
    rows = int(plan[gpu_layout.SPACE_ROWS] + plan[gpu_layout.FLOW_ROWS])
    share = -(-samples // int(plan[gpu_layout.CHUNKS]))
    item = np.dtype(bank.dtype).itemsize
    in_room, numbers = weights_in_room(program)
    width = tile_width(share, rows * item, shared - numbers * item)
    stride = room_stride(width)
    room = {gpu_layout.WIDTH: width, gpu_layout.ROOM_STRIDE: stride}
    fill(plan, room | {gpu_layout.ROOM: rows * stride + numbers})
    table = plan[gpu_layout.PLAN_FIELDS :].reshape(-1, gpu_layout.COLUMNS)
    losses = int(plan[gpu_layout.ERRORS] + plan[gpu_layout.CHUNKS] + plan[gpu_layout.GROUPS])
    settings, before = fill_operations(table, program, settings_place, losses + MOST_STEPS)
    fill(plan, {gpu_layout.STATE_BEFORE: before, gpu_layout.ARGUMENTS: before + len(bank.state)})
    table[:, gpu_layout.IN_ROOM] = [NONE if at == NONE else rows * stride + at for at in in_room]
    return MemoryLayout(
        plan,
        size,
        int(plan[gpu_layout.ARGUMENTS]) + gpu_layout.STEP_ARGS,
        settings,
        settings_place,
        losses,
    )


def fill(numbers: npt.NDArray[Any], fields: Mapping[int, float]) -> None:
    """Set fields of a plan or of `scalars`; the keys are indices."""
    for place, number in fields.items():
        numbers[place] = number


def sizes(program: Program, bank: Bank, samples: int) -> dict[int, int]:
    """Return the plan fields for a network and a batch size, without drawing samples."""
    memos = sum(map(memo_rows, program.operations))
    space_rows = program.workspace + program.outputs.size + memos + 1
    counts = [len(each.parameters) for each in program.operations]
    gradients, largest = sum(counts), max(counts, default=0)  # of a chunk, and of an operation
    return {
        gpu_layout.ROWS: len(bank),
        gpu_layout.OPERATIONS: len(program.operations),
        gpu_layout.CHUNKS: count_chunks(samples, gradients, largest),
        gpu_layout.STRIDE: samples,
        gpu_layout.IN_SIZE: program.inputs.size,
        gpu_layout.OUT: program.outputs.offset,
        gpu_layout.OUT_SIZE: program.outputs.size,
        gpu_layout.GOALS: program.workspace,
        gpu_layout.ERRORS_ROW: space_rows - 1,
        gpu_layout.SPACE_ROWS: space_rows,
        gpu_layout.FLOW_ROWS: program.workspace,
        gpu_layout.PARTIAL_SIZE: gradients,
        gpu_layout.FIRST_NEEDED: program.first_parameters + 1,
        gpu_layout.GROUPS: -(-len(bank) // gpu_layout.GROUP),
        gpu_layout.DRAW: IN_ORDER,
        gpu_layout.SAMPLES: samples,
        gpu_layout.SIZE: samples,
        gpu_layout.ERRORS: gpu_layout.STATE_NUMBERS + len(bank.state),
    }


def memo_rows(operation: Operation) -> int:
    """Return the number of rows saved for backward; batch statistics are saved in `scalars`."""
    about = operation.about
    return 0 if about.statistics(operation) else about.memo(operation)


def place_parts(plan: Whole, settings: int, learning: bool) -> dict[int, int]:
    """Return the index of each part of `arena`; the keys NONE and PLAN_FIELDS: settings and end.

    Raises EngineError if the index of a weight would need more than 32 bits.
    """
    rows, samples = int(plan[gpu_layout.ROWS]), int(plan[gpu_layout.STRIDE])
    parts = [
        (gpu_layout.VALUE, rows),
        (gpu_layout.FROZEN, rows),
        (gpu_layout.SLOTS, max(len(row.slots) for row in OPTIMIZERS.values()) * rows),
        (gpu_layout.GRAD, rows),
        (NONE, settings),
        (gpu_layout.OWN_RATES, rows),
        (
            gpu_layout.PARTIALS,
            int(plan[gpu_layout.CHUNKS] * plan[gpu_layout.PARTIAL_SIZE]) * learning,
        ),
        (gpu_layout.SPACE, int(plan[gpu_layout.SPACE_ROWS]) * samples),
        (gpu_layout.FLOW, int(plan[gpu_layout.FLOW_ROWS]) * samples * learning),
    ]
    ends = np.cumsum([size for _, size in parts]).tolist()
    fields = [*[field for field, _ in parts], gpu_layout.PLAN_FIELDS]
    found = dict(zip(fields, [0, *ends], strict=True))
    if found[gpu_layout.PARTIALS] > 2**32:
        raise EngineError(
            f"a network of {rows:,} parameters is too large for the cuda engine, which can address "
            f"{2**32 * rows // found[gpu_layout.PARTIALS]:,}: choose the cpu engine"
        )
    return found


def count_chunks(samples: int, gradients: int, largest: int) -> int:
    """Return the number of chunks of a batch, independent of the device.

    If a network needs kernels for whole batches, the number is chosen so that the gradients of the
    operation with the `largest` number of parameters are computed in TILES tiles.
    """
    chunks = min(MOST_CHUNKS, samples // LEAST_SHARE)
    if gradients > MOST_NEAR:
        tiled = TILES * gpu_layout.MATRIX_TILE**2
        chunks = min(chunks, MOST_PARTIALS // gradients, tiled // largest)
    return max(1, chunks)


def tile_width(share: int, a_sample: int, shared: int) -> int:
    """Return the number of samples in a tile of a block; 0 if fewer than LEAST_WIDTH fit.

    If a chunk is split, tiles have even sizes, since a thread computes two samples together.
    """
    width = (shared // a_sample - 1) // 2 * 2  # which needs one column more, see `room_stride`
    if width >= share:
        return share
    return width if width >= LEAST_WIDTH else 0


def fits(program: Program, layout: MemoryLayout) -> bool:
    """Return whether single blocks can run the operations of complete training steps.

    Otherwise each operation has separate kernels, launched as one graph per step. The weights of
    all matrix products and a tile of samples must fit into a block's shared memory, or threads
    would wait while weights are read again for each tile; kernels for a whole batch read them once
    per 64 samples. Whole steps support neither statistics of the whole batch, which require all
    samples, nor kinds that are only computed on whole batches.
    """
    alone = all(op.kind in KERNELS and not op.about.statistics(op) for op in program.operations)
    return alone and bool(layout.plan[gpu_layout.WIDTH] > 0)


def room_stride(width: int) -> int:
    """Return the distance between rows in a tile: odd, so that they use different memory banks."""
    return width + 1 + width % 2


def weights_in_room(program: Program) -> tuple[list[int], int]:
    """Return the index of each operation's weights in a block's memory or NONE, and the total size.

    Four adjacent numbers are read together, so up to three after the last one are included.
    """
    found, numbers = [], 0
    for operation in program.operations:
        found.append(numbers if operation.kind == "affine" else NONE)
        if operation.kind == "affine":
            apart = operation.target.size // 2 * 2 + 1
            numbers += operation.source.size * apart + 3
    return found, numbers


def fill_operations(
    table: Whole, program: Program, settings_place: int, statistics: int
) -> tuple[FloatArray, int]:
    """Fill the table of operations; return their settings and the end of the batch statistics."""
    settings = np.zeros((len(program.operations), gpu_layout.MOST_SETTINGS))
    memo, partial = program.workspace + program.outputs.size, 0
    for i, operation in enumerate(program.operations):
        table[i] = [
            [*WHOLE_BATCH, operation.kind].index(operation.kind),  # one behind them: no kernels
            operation.formula_place,
            operation.source.offset,
            operation.target.offset,
            operation.source.size,
            operation.target.size,
            max(operation.weights, 0),
            max(operation.biases, 0),
            operation.biases != NONE,
            len(operation.parameters),
            partial,
            memo,
            settings_place + i * gpu_layout.MOST_SETTINGS,
            operation.outputs_per_bias,
            operation.sources[-1].offset,
            max(operation.state, 0),
            statistics,
            operation.held_by.start,
            operation.held_by.stop,
            NONE,
        ]
        settings[i, : len(operation.settings)] = operation.settings
        partial += len(operation.parameters)
        memo += memo_rows(operation)
        statistics += operation.about.statistics(operation) * gpu_layout.MOMENTS
    return settings, statistics


def set_loss(plan: Whole, scalars: FloatArray, loss: Loss, outputs: int) -> None:
    """Set the fields that describe a loss."""
    index = index_of(loss.row, [*LOSSES.values(), *ROW_LOSSES.values()], "loss")
    fill(plan, {gpu_layout.LOSS: index, gpu_layout.MEAN_OF: loss.divisor(outputs)})
    scalars[gpu_layout.FACTOR] = loss.factor


def set_batches(plan: Whole, scalars: FloatArray, batches: Batches) -> None:
    """Set the fields that describe how batches are drawn."""
    fill(plan, {
        gpu_layout.DRAW: batches.draw,
        gpu_layout.SEED_LOW: batches.seed & MASK,
        gpu_layout.SEED_HIGH: batches.seed >> 32,
        gpu_layout.SAMPLES: batches.samples,
        gpu_layout.SIZE: batches.size,
        gpu_layout.TABLE_TARGETS: batches.inputs.size,
    })  # fmt: skip
    fill(scalars, dict(enumerate(batches.settings, gpu_layout.DRAW_NUMBERS)))


def set_optimizer(plan: Whole, scalars: FloatArray, optimizer: Optimizer) -> None:
    """Set the fields of an optimizer and its schedule; raise EngineError for per-weight decays."""
    require(
        not optimizer.own_decays,
        "groups have no decay on the 'cuda' engine, where all weights use the decay of the "
        "optimizer: leave it out of the groups, or train on the 'cpu' engine",
        EngineError,
    )
    schedule = optimizer.schedule
    fill(plan, {
        gpu_layout.OPTIMIZER: index_of(optimizer.row, [*OPTIMIZERS.values()], "optimizer"),
        gpu_layout.OPTIMIZER_SETTINGS: len(optimizer.settings),
        gpu_layout.SLOT_COUNT: len(optimizer.row.slots),
        gpu_layout.HAS_OWN_RATES: bool(optimizer.own_rates),
        gpu_layout.SCHEDULE: list(SCHEDULES).index(schedule.name),
        gpu_layout.REFUSE: optimizer.not_finite == "error",
    })  # fmt: skip
    fill(scalars, {
        gpu_layout.RATE: optimizer.lr,
        gpu_layout.CLIP_NORM: optimizer.clip_norm,
        gpu_layout.CLIP_VALUE: optimizer.clip_value,
        gpu_layout.L1: optimizer.l1,
        gpu_layout.L2: optimizer.l2,
        **dict(enumerate(optimizer.settings.values(), gpu_layout.OPTIMIZER_NUMBERS)),
        **dict(enumerate(schedule.settings.values(), gpu_layout.SCHEDULE_NUMBERS)),
    })  # fmt: skip


def set_start(
    plan: Whole, scalars: FloatArray, bank: Bank, first: int, *, learning: bool = True
) -> None:
    """Set the fields at the beginning of a call: first step, number of steps taken, state."""
    fill(plan, {
        gpu_layout.FIRST_STEP: first,
        gpu_layout.LEARNING: learning,
        gpu_layout.STEPS_TAKEN: bank.step_count,
        gpu_layout.STEPS_TAKEN_AFTER: bank.step_count,
        gpu_layout.FIRST_BAD: gpu_layout.NOBODY,
        gpu_layout.BAD: NONE,
        gpu_layout.DONE: 0,
        gpu_layout.OVERFLOWED: gpu_layout.NOBODY,
        gpu_layout.STEP: 0,
    })  # fmt: skip
    set_state(scalars, bank)


def set_state(scalars: FloatArray, bank: Bank) -> None:
    """Copy the bank's state to `scalars`."""
    scalars[gpu_layout.STATE_NUMBERS : gpu_layout.STATE_NUMBERS + len(bank.state)] = bank.state


# ---- snapshots ----------------------------------------------------------------------------------

MOST = 8  # finished copies whose memory is kept


@final
class Lent:
    """Owner of pinned memory with one copy; it lives as long as any array that uses the memory."""

    def __init__(self, host: FloatArray) -> None:
        self._host = host
        self.__array_interface__ = host.__array_interface__


@final
class Aside:
    """Memory for one copy of the changing parts of a bank, on the GPU and pinned on the host."""

    def __init__(self, size: int, memory: Memory, leaving: Any) -> None:
        self.size = size
        self._memory, self._leaving = memory, leaving
        self._on_device = cuda.device_array(size, memory.dtype, stream=memory.stream)
        self._host: FloatArray = cuda.pinned_array(size, memory.dtype)
        self._lent: Callable[[], Lent | None] = lambda: None
        self._taken, self._arrived = cuda.event(), cuda.event()

    def take(self, parts: list[tuple[int, int]]) -> FloatArray:
        """Queue copies of parts of `arena`, and return the array that will contain them."""
        memory, place = self._memory, 0
        for start, size in parts:
            part = self._on_device[place : place + size]
            part.copy_to_device(memory.arena[start : start + size], stream=memory.stream)
            place += size
        self._taken.record(memory.stream)
        self._taken.wait(self._leaving)
        self._on_device.copy_to_host(self._host, stream=self._leaving)
        self._arrived.record(self._leaving)
        lent = Lent(self._host)
        self._lent = weakref.ref(lent)
        return np.asarray(lent)  # it is the base of the array and of its views

    def has_arrived(self) -> bool:
        if cuda.config.ENABLE_CUDASIM:  # copies are immediate there
            return True
        cuda.current_context()  # in a thread that has not used the GPU
        return bool(self._arrived.query())

    @property
    def is_held(self) -> bool:
        """Return whether the numbers of the last copy are still referenced."""
        return self._lent() is not None

    def wait(self) -> None:
        """Wait until the copy has arrived in host memory."""
        cuda.current_context()
        self._arrived.synchronize()


@final
class Asides:
    """Pool of memory for copies of one bank; unreferenced memory is reused.

    Memory is neither overwritten nor freed while a copy to it is running.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._leaving = cuda.stream()
        self._asides: list[Aside] = []  # in the order of their copies
        # As arguments they are not freed before it: objects freed together as garbage are freed in
        # any order, and waiting for a freed stream crashes.
        weakref.finalize(self, end, self._leaving, self._asides).atexit = False

    def take(self, parts: list[tuple[int, int]]) -> tuple[Aside, FloatArray]:
        """Queue a copy of parts of `arena`; return its memory and its array. Not thread-safe."""
        size = sum(size for _, size in parts)
        arrived = [each for each in self._asides if each.has_arrived()]
        free = (each for each in arrived if each.size == size and not each.is_held)
        aside = next(free, None) or Aside(size, self._memory, self._leaving)
        gone = {aside, *arrived[:-MOST]}
        self._asides[:] = [*(each for each in self._asides if each not in gone), aside]
        return aside, aside.take(parts)


def end(leaving: Any, asides: list[Aside]) -> None:
    """Wait for unfinished copies before their memory is freed."""
    with suppress(Exception):  # for a lost GPU, or a driver that has ended
        leaving.synchronize()


@final
class CudaSnapshot(Snapshot):
    """A snapshot of a bank whose numbers may be on a GPU.

    If the GPU fails during the copy, `read` raises EngineError.
    """

    def __init__(self, run: CudaRun) -> None:
        self._run = run
        self._aside: Aside | None = None  # of a copy not waited for
        self._numbers: SnapshotValues | None = None
        self._error: EngineError | None = None

    def request(self) -> None:
        bank = self._run.engine.bank
        self._aside = self._error = self._numbers = None
        if bank.away.keeper is not self._run or not len(bank):
            self._numbers = HostSnapshot(bank).read()
            return
        self._tried(partial(self._request, bank))

    def _tried(self, ask: Callable[[], bool | None]) -> bool | None:
        """Return the result of a GPU query; if the GPU fails, store the error and return None."""
        try:
            with card_failures(KEYFRAME):
                return ask()
        except EngineError as error:
            self._error, self._aside = error, None
        return None

    def _request(self, bank: Bank) -> None:
        """Queue a copy of the numbers on the GPU, and copy the numbers on the host immediately."""
        run = self._run
        self._aside, numbers = run.asides.take(run.memory.moving_parts(len(run.slots)))
        value, *kept, grad = numbers.reshape(len(run.slots) + 2, -1)
        slots = {
            name: row
            for names, block in bank.host_blocks.items()
            for name, row in zip(names, kept if names == run.slots else block.copy(), strict=True)
        }
        self._numbers = SnapshotValues(value, grad, slots, bank.state.copy())

    @property
    def ready(self) -> bool:
        if self._aside is None:
            return self._numbers is not None or self._error is not None
        return self._tried(self._aside.has_arrived) is not False

    def read(self) -> SnapshotValues:
        if self._numbers is None and self._error is None:
            self.request()
        if self._aside is not None:
            self._tried(self._aside.wait)
            self._aside = None
        if self._error is not None:
            raise self._error
        assert self._numbers is not None
        return self._numbers
