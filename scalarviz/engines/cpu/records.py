"""Records that kernels read and write, such as OPERATION, and the arrays that they refer to.

Tables of records are numpy arrays; a kernel reads fields as in `op.inputs`. A record that Python
changes at every call is a ctypes structure, whose fields are attributes. All fields have 8 bytes:
unsigned integers, including addresses of arrays and functions, or floats.

The arguments of a kernel called by its address are addresses and unsigned integers. So a call costs
a few nanoseconds for any number of arrays, and each kernel is compiled separately. The functions at
the end of this file create named tuples of arrays, or a record, from the address of a `Job`; `real`
has the bank's dtype. They emit LLVM instructions, because equivalent numba functions would account
for half of the compile time.
"""

from __future__ import annotations

import ctypes
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from scalarviz.engines.cpu.emitting import (
    from_dtype,
    ir,
    pack_array,
    populate_array,
    types,
    unpack_tuple,
)
from scalarviz.engines.cpu.products import instruction

RecordType = np.dtype[np.void]
Records = np.ndarray[Any, RecordType]


def record_type(
    *fields: str, number: type[np.number[Any]] = np.uint64, **others: type[np.number[Any]]
) -> RecordType:
    """Return a dtype with `fields` of one type, by default an unsigned integer, then `others`.

    The default is unsigned because numba checks signed indices for being negative.
    """
    return np.dtype([*[(field, number) for field in fields], *others.items()], align=True)


def structure(kind: RecordType) -> Any:
    """Return a ctypes class with the same fields as a record, for records that Python changes."""
    fields = [(name, np.ctypeslib.as_ctypes_type(kind[name])) for name in kind.names or ()]
    return type("Record", (ctypes.Structure,), {"_fields_": fields, "__slots__": ()})


# An operation: addresses of its kernels, 0 for none (`forward`, `parameters`, `back`, `gather`,
# `gather_back`, those that do a part of the first three, and `turn`, which fills its panels of
# weights), of its settings, and of these panels (`turned`; 0 for none). `formula` is the
# index of its formula in its table, `inputs`, `outputs` and `seconds` are sizes.
# Rows of the workspace of values: the buffers that are read (`source`, `second`) and written
# (`target`), and numbers kept for backward (`memo`). Rows of the workspace of gradients: those of
# `source` (`flow_in`), `second` (`flow_second`) and `target` (`flow_out`). Rows of the bank: first
# weight and first bias; running statistics do not change while the rows from `held_from` to before
# `held_to` are frozen. `gradients` is the index of the first parameter's gradient in that of a
# chunk, `count` the number of parameters, `each` the number of outputs that share a bias, `state`
# an index in the bank's state.
OPERATION = record_type(
    "forward", "parameters", "back", "gather", "gather_back", "part_of_forward",
    "part_of_parameters", "part_of_back", "turn", "settings", "turned", "formula",
    "source", "target", "inputs", "outputs", "weights", "biases", "has_biases",
    "memo", "flow_in", "flow_out", "gradients", "count", "each", "state", "second", "seconds",
    "flow_second", "held_from", "held_to",
)  # fmt: skip

# A plan: rows of outputs, targets and gradients in the workspaces of a tile, and addresses of the
# loss's kernels. Operations before `first_needed` do not compute the gradient of their inputs.
# `half` is 1 in mixed precision, `dynamic` if the loss scale is dynamic, `refuse` if a gradient
# that is not finite stops the training. `alone` is the stride of rows for a single sample, or 0.
PLAN = record_type(
    "out", "out_size", "goals", "flow_out", "flow_in", "first_needed", "loss", "loss_back",
    "refuse", "half", "dynamic", "patience", "mean_of", "alone",
)  # fmt: skip

# A pass: the flags `what` (see `tiles.py`), the operations from `low` to before `high`, and the
# operation whose statistics are gathered first: k + 1 for the forward of operation k, -(k + 1) for
# its backward, else 0.
PASS = record_type("what", "low", "high", "gathers", number=np.int64)

# Drawing of batches: one of the four ways of `data/batches.py`, the seed, and the number of samples
# in an epoch and in a batch.
DRAWING = record_type("draw", "seed_low", "seed_high", "samples", "size", number=np.int64)

# Settings shared by all optimizers.
HOW = record_type("rate", "clip_norm", "clip_value", "l1", "l2", number=np.float64)

# Rows of the bank from `first` to before `end`, and their learning rate, or NaN for the rate of
# HOW; likewise their decay, the argument of the update at `place`, or 0 if missing.
SPAN = record_type("first", "end", "place", rate=np.float64, decay=np.float64)


# ---- records changed by Python ------------------------------------------------------------------

# A job: addresses of everything that a kernel may need.
JOB = record_type(
    "program", "bank", "samples", "batch", "room", "update", "progress",  # records
    "chunk_work", "run_pass", "draw_rows", "add_chunks", "move",  # kernels that others call
    "round_rows", "round_bank",  # in mixed precision
)  # fmt: skip

# A program: addresses and lengths of `Tables`.
PROGRAM = record_type("plan", "passes", "pass_count", "operations", "operation_count")

# The arrays of a bank; `seen` are the weights that passes read.
BANK = record_type(
    "value", "seen", "halves", "grad", "slots", "frozen", "state", "rows", "slot_count",
    "state_count",
)  # fmt: skip

# The samples drawn in a step from the data set of a run.
SAMPLES = record_type(
    "rows", "goal_rows",  # rows of the inputs and of the targets
    "size",  # of a batch
    "points", "point_count",  # inputs drawn at random instead of from the data set
    "drawing",  # one record
    "draw_settings", "draw_setting_count",
)  # fmt: skip

# One batch: where its samples are read and its results are written.
BATCH = record_type(
    "data", "columns",
    "rows",  # rows of `data` in the batch
    "goals", "goal_columns",  # targets, or gradients of the outputs
    "goal_rows",  # rows of `goals` in the batch
    "outputs", "output_columns",  # receives the outputs, or the gradients of the inputs
    "samples",
    "errors",  # receives the sum of errors of each chunk
    "steps",  # number of steps taken by the network
    scale=np.float64,  # factor of the gradients of the loss
)  # fmt: skip

# Workspaces of the tiles, and the parameter gradients of each chunk.
ROOM = record_type(
    "spaces",  # values: `places` workspaces of `space` numbers
    "flows",  # gradients of the values: `places` workspaces of `flow` numbers
    "partial",  # gradients of the parameters: `chunks` times `gradients`
    "tiles",  # a TILE record for each chunk
    "before",  # copy of the bank's state
    "places", "space", "flow", "gradients", "chunks",
    "shared",  # parts of the first row of `partial`, to which the chunks add in order; else 0
)  # fmt: skip

# Settings of optimizer and schedule, their kernels, and buffers for an update.
UPDATE = record_type(
    "how",  # one record: learning rate, clipping, l1 and l2
    "settings", "setting_count",  # of the optimizer
    "schedule", "schedule_count",  # settings of the schedule
    "exact",  # arguments of the update formula in float64
    "arguments", "argument_count",  # the same in the bank's type
    "gradient",  # gradients read by the update: the bank's, or those in `scratch`
    "scratch",  # buffer for the clipped and regularized gradients
    "rows",  # of the bank
    "spans", "span_count",  # learning rates of all rows
    "finite",  # 1 if the updated numbers are finite
    "factor_of_rate",  # address of the schedule's kernel
    "constants", "move_rows",  # addresses of the optimizer's kernels
    "in_parts",  # address of the kernel that calls `move_rows` on all cores, or 0
    factor=np.float64,  # of the schedule
)  # fmt: skip

# Progress of a run during one call.
PROGRESS = record_type(
    "first",  # index of the first step of the call
    "steps",  # number of requested steps
    "count",  # steps taken by the network
    "losses",  # receives the loss of each step
    "taken",  # steps taken in this call
    result=np.int64,  # the reason why it stopped, or NONE
    factor=np.float64,  # of the loss
)

# Up to TILE samples, and their workspaces; see `tiles.py`. `partial` is the gradient of the chunk.
TILE_RECORD = record_type(
    "space", "space_size", "flow", "flow_size", "partial", "gradients", "first", "n", "stride",
    "learning", "steps",
)  # fmt: skip

Job, ProgramRecord, BankRecord = structure(JOB), structure(PROGRAM), structure(BANK)
SamplesRecord, BatchRecord = structure(SAMPLES), structure(BATCH)
RoomRecord, UpdateRecord = structure(ROOM), structure(UPDATE)
ProgressRecord, TileRecord = structure(PROGRESS), structure(TILE_RECORD)


# In the following functions `kind` is a numpy type, or the dtype of a record, known when the kernel
# is compiled. Arrays made here do not own their memory.

WORD = ir.IntType(64)


@instruction(lambda address, count, kind: types.Array(kind.dtype, 1, "C"))
def array_at(target: Any, builder: Any, signature: Any, address: Any, count: Any, kind: Any) -> Any:
    """Return an array of `count` items of dtype `kind` at a memory address."""
    return made(target, builder, signature.return_type, address, [count])


@instruction(lambda address, rows, columns, kind: types.Array(kind.dtype, 2, "C"))
def table_at(
    target: Any, builder: Any, signature: Any, address: Any, rows: Any, columns: Any, kind: Any
) -> Any:
    """Return an array of shape (rows, columns) at a memory address."""
    return made(target, builder, signature.return_type, address, [rows, columns])


@instruction(lambda address, kind: kind.dtype)
def record_at(target: Any, builder: Any, signature: Any, address: Any, kind: Any) -> Any:
    """Return the record of dtype `kind` at a memory address."""
    return builder.inttoptr(address, target.get_value_type(signature.return_type))


@instruction(types.uint64)
def address_of(target: Any, builder: Any, signature: Any, array: Any, at: Any) -> Any:
    """Return the memory address of an item of an array, or of a row of a 2-D array."""
    found = target.make_array(signature.args[0])(target, builder, array)
    stride = builder.extract_value(found.strides, 0)
    first = builder.ptrtoint(found.data, WORD)
    return builder.add(first, builder.mul(at, stride))


@instruction(types.void)
def call(target: Any, builder: Any, signature: Any, function: Any, arguments: Any) -> None:
    """Call the function at an address with a tuple of unsigned integers, without a result."""
    kind = ir.FunctionType(ir.VoidType(), [WORD] * len(signature.args[1]))
    function = builder.inttoptr(function, kind.as_pointer())
    builder.call(function, unpack_tuple(builder, arguments))  # type: ignore[no-untyped-call]  # numba's


def made(target: Any, builder: Any, kind: Any, address: Any, shape: Any) -> Any:
    """Emit a C-contiguous array of type `kind` at a memory address."""
    array = target.make_array(kind)(target, builder)
    item = target.get_data_type(kind.dtype)
    size = ir.Constant(WORD, target.get_abi_sizeof(item))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(  # type: ignore[no-untyped-call]  # numba's
        array,
        data=builder.inttoptr(address, item.as_pointer()),
        shape=pack_array(builder, shape),  # type: ignore[no-untyped-call]  # numba's
        strides=pack_array(builder, strides),  # type: ignore[no-untyped-call]  # numba's
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()


Address = Any  # an unsigned integer
MOST_SETTINGS = np.uint64(12)  # of an operation


# The named tuples made by the functions at the end of this file.
BankArrays = Any  # of `bank_of`
BankView = Any  # of `view_of`
Workspaces = Any  # of `room_of`
UpdateArrays = Any  # of `update_of`
Tile = Any  # of `tile_at`


# ---- from an address to arrays ------------------------------------------------------------------

REAL = "real"  # instead of a dtype: the bank's type


def field_at(builder: Any, address: Any, record: RecordType, field: str | int) -> Any:
    """Emit the value of a field of a record; an integer `field` is itself the value."""
    if isinstance(field, int):
        return ir.Constant(WORD, field)
    assert record.fields is not None
    offset = ir.Constant(WORD, record.fields[field][1])
    place = builder.inttoptr(builder.add(address, offset), WORD.as_pointer())
    return builder.load(place)


def record_of(field: str, kind: RecordType, *more: tuple[str, RecordType]) -> Any:
    """Return a function for kernels that gets the address of a job and returns one of its records.

    Args:
        field: field of the Job that holds the address of the record
        kind: dtype of the record
        more: further steps: a field that holds the address of another record, and its dtype
    """
    path = [(field, kind), *more]

    @instruction(lambda job: from_dtype(path[-1][1]))
    def find(target: Any, builder: Any, signature: Any, job: Any) -> Any:
        address, record = job, JOB
        for name, dtype in path:
            address, record = field_at(builder, address, record, name), dtype
        return builder.inttoptr(address, target.get_value_type(signature.return_type))

    return find


def table_of(field: str, kind: RecordType, items: str, count: str, of: RecordType) -> Any:
    """Return a function for kernels that gets a job's address and returns one of its tables.

    Args:
        field, kind: field of the Job that holds the address of a record, and its dtype
        items, count: fields of that record that hold the table's address and length
        of: dtype of the table's records
    """

    @instruction(lambda job: types.Array(from_dtype(of), 1, "C"))
    def find(target: Any, builder: Any, signature: Any, job: Any) -> Any:
        record = field_at(builder, job, JOB, field)
        address, length = [field_at(builder, record, kind, each) for each in (items, count)]
        return made(target, builder, signature.return_type, address, [length])

    return find


def view(of: str, field: str, kind: RecordType, **fields: Sequence[Any]) -> Any:
    """Return a function for kernels that makes a named tuple from an address and the bank's dtype.

    Args:
        of: name of the tuple's class
        field: field of the Job that holds the record's address; "" if the argument is that address
        kind: dtype of the record
        fields: the fields of the tuple, each with a dtype and the names of record fields: an array
            has its address and its shape there, a record its address; the dtype of a number is None
    """
    named = namedtuple(of, fields)  # type: ignore[misc]  # not known to mypy

    def whole(address: Any, real: Any) -> Any:
        members = [
            member_type(real.dtype if what is REAL else what, len(where) - 1)
            for what, *where in fields.values()
        ]
        return types.NamedTuple(members, named)  # type: ignore[no-untyped-call]  # numba's

    @instruction(whole)
    def find(target: Any, builder: Any, signature: Any, address: Any, real: Any) -> Any:
        record = field_at(builder, address, JOB, field) if field else address
        values = []
        for member, (_, *where) in zip(signature.return_type.types, fields.values(), strict=True):
            first, *shape = [field_at(builder, record, kind, each) for each in where]
            if isinstance(member, types.Array):
                values.append(made(target, builder, member, first, shape))
            elif isinstance(member, types.Record):
                values.append(builder.inttoptr(first, target.get_value_type(member)))
            else:
                values.append(first)
        return target.make_tuple(builder, signature.return_type, values)

    return find


def member_type(what: Any, axes: int) -> Any:
    """Return the numba type of a field of a view; an array has `axes` axes."""
    if what is None:
        return types.uint64
    item = from_dtype(np.dtype(what)) if isinstance(what, np.dtype | type) else what
    return types.Array(item, axes, "C") if axes else item


# Records of a job.
bank_record = record_of("bank", BANK)
batch_record = record_of("batch", BATCH)
room_record = record_of("room", ROOM)
update_record = record_of("update", UPDATE)
progress_record = record_of("progress", PROGRESS)
plan_of = record_of("program", PROGRAM, ("plan", PLAN))

# Tables of a job.
passes_of = table_of("program", PROGRAM, "passes", "pass_count", PASS)
operations_of = table_of("program", PROGRAM, "operations", "operation_count", OPERATION)
tiles_of = table_of("room", ROOM, "tiles", "chunks", TILE_RECORD)

# Tuples of a job. The arrays of a bank changed by training.
bank_of = view(
    "BankArrays",
    "bank",
    BANK,
    value=(REAL, "value", "rows"),
    halves=(REAL, "halves", "rows"),  # values rounded to half; empty unless precision is mixed
    grad=(REAL, "grad", "rows"),
    slots=(REAL, "slots", "slot_count", "rows"),
    frozen=(np.bool_, "frozen", "rows"),
    state=(np.float64, "state", "state_count"),
)
# The arrays of a bank read by a pass.
view_of = view(
    "BankView",
    "bank",
    BANK,
    value=(REAL, "seen", "rows"),  # rounded to half in mixed precision
    state=(np.float64, "state", "state_count"),
    frozen=(np.bool_, "frozen", "rows"),
)
# The samples drawn in a step from the data set of a run.
samples_of = view(
    "SampleArrays",
    "samples",
    SAMPLES,
    rows=(np.uint64, "rows", "size"),  # of the inputs
    goal_rows=(np.uint64, "goal_rows", "size"),  # of the targets
    points=(REAL, "points", "point_count", 2),  # inputs drawn at random instead; else empty
    drawing=(DRAWING, "drawing"),
    settings=(np.float64, "draw_settings", "draw_setting_count"),
)
# One batch: where its samples are read and its results are written.
batch_of = view(
    "BatchArrays",
    "batch",
    BATCH,
    data=(REAL, "data", "samples", "columns"),  # inputs, one row per sample
    rows=(np.uint64, "rows", "samples"),  # of `data` in the batch
    goals=(REAL, "goals", "samples", "goal_columns"),  # targets, or gradients of the outputs
    goal_rows=(np.uint64, "goal_rows", "samples"),  # of `goals` in the batch
    outputs=(REAL, "outputs", "samples", "output_columns"),  # or the gradients of the inputs
    samples=(None, "samples"),  # size of the batch
    steps=(None, "steps"),  # taken by the network
)
# Workspaces of the tiles, and the parameter gradients of each chunk.
room_of = view(
    "Workspaces",
    "room",
    ROOM,
    spaces=(REAL, "spaces", "places", "space"),  # values, one row per workspace
    flows=(REAL, "flows", "places", "flow"),  # gradients of the values, one row per workspace
    partial=(REAL, "partial", "chunks", "gradients"),  # of the parameters, one row per chunk
)
# Settings of optimizer and schedule, and buffers for an update.
update_of = view(
    "UpdateArrays",
    "update",
    UPDATE,
    how=(HOW, "how"),  # learning rate, clipping, l1 and l2
    settings=(np.float64, "settings", "setting_count"),  # of the optimizer
    schedule=(np.float64, "schedule", "schedule_count"),  # settings of the schedule
    exact=(np.float64, "exact", "argument_count"),  # arguments of the update formula, in float64
    arguments=(REAL, "arguments", "argument_count"),  # the same in the bank's type
    gradient=(REAL, "gradient", "rows"),  # gradients read by the update: the bank's, or `scratch`
    scratch=(REAL, "scratch", "rows"),  # buffer for the clipped and regularized gradients
    spans=(SPAN, "spans", "span_count"),  # learning rates of all rows
)
# Tuples of a record. Up to TILE samples, and their workspaces; see `tiles.py`.
tile_at = view(
    "Tile",
    "",
    TILE_RECORD,
    space=(REAL, "space", "space_size"),  # workspace of values
    flow=(REAL, "flow", "flow_size"),  # workspace of gradients
    partial=(REAL, "partial", "gradients"),  # gradient of the parameters, of the chunk
    first=(None, "first"),  # index in the batch of the first sample
    n=(None, "n"),  # number of samples
    stride=(None, "stride"),  # numbers from one row of a workspace to the next
    learning=(None, "learning"),  # not 0 in training, 0 in evaluation
    steps=(None, "steps"),  # number of steps taken by the network
)
