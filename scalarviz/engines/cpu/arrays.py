"""Named tuples of arrays that kernels pass to each other, made from the records of a job.

A kernel that is called by its address, or by Python, takes the address of a `Job`, whose records
have the addresses of all arrays; see `records`. The functions at the end make a tuple or a record
from that address; `real` is the bank's type. They emit LLVM's instructions, since numba would take
half of all time of compiling for functions that do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scalarviz.engines.cpu.emitting import from_dtype, ir, types
from scalarviz.engines.cpu.memory import WORD, made
from scalarviz.engines.cpu.products import Index, Numbers, Record, Table
from scalarviz.engines.cpu.records import (
    BANK,
    BATCH,
    DRAWING,
    HOW,
    JOB,
    OPERATION,
    PASS,
    PLAN,
    PROGRAM,
    PROGRESS,
    ROOM,
    SAMPLES,
    SPAN,
    TILE_RECORD,
    UPDATE,
    RecordType,
)
from scalarviz.engines.cpu.simd import Emitted, instruction

Address = Any  # an unsigned integer
MOST_SETTINGS = np.uint64(11)  # of an operation


class BankArrays(NamedTuple):
    """The arrays of a bank that training changes."""

    value: Numbers
    halves: Numbers  # values rounded to half precision; empty unless precision is mixed
    grad: Numbers
    slots: Numbers
    frozen: Table
    state: Numbers


class BankView(NamedTuple):
    """The arrays of a bank that a pass reads."""

    value: Numbers  # rounded to half in mixed precision
    state: Numbers
    frozen: Table


class SampleArrays(NamedTuple):
    """The samples that a step has drawn from the data set of a training."""

    rows: Table  # rows of the inputs
    goal_rows: Table  # rows of the targets
    points: Numbers  # inputs drawn at random instead; else empty
    drawing: Record
    settings: Numbers


class BatchArrays(NamedTuple):
    """One batch: where its samples are read and its results are written."""

    data: Numbers  # inputs, one row per sample
    rows: Table  # rows of `data` in the batch
    goals: Numbers  # targets, or gradients of the outputs
    goal_rows: Table  # rows of `goals` in the batch
    outputs: Numbers  # receives the outputs, or the gradients of the inputs
    samples: Index  # size of the batch
    steps: Index  # number of steps that the network has taken


class Workspaces(NamedTuple):
    """Workspaces of the tiles, and the parameter gradients of each chunk."""

    spaces: Numbers  # values, one row per workspace
    flows: Numbers  # gradients of the values, one row per workspace
    partial: Numbers  # gradients of the parameters, one row per chunk


class UpdateArrays(NamedTuple):
    """Settings of optimizer and schedule, and buffers for an update."""

    how: Record  # learning rate, clipping, l1 and l2
    settings: Numbers  # of the optimizer
    schedule: Numbers  # settings of the schedule
    exact: Numbers  # arguments of the update formula, in float64
    arguments: Numbers  # the same in the bank's type
    gradient: Numbers  # what the update reads: the bank's gradients, or `scratch`
    scratch: Numbers  # buffer for the clipped and regularized gradients
    spans: Record  # learning rates of all rows


class Tile(NamedTuple):
    """Up to TILE samples, and their workspaces; see `tiles`."""

    space: Numbers  # workspace of values
    flow: Numbers  # workspace of gradients
    partial: Numbers  # gradient of the parameters, of the chunk
    first: Index  # index in the batch of the first sample
    n: Index  # number of samples
    stride: Index  # numbers from one row of a workspace to the next
    learning: Index  # not 0 in training, 0 in evaluation
    steps: Index  # number of steps that the network has taken


# ---- from an address to arrays ------------------------------------------------------------------

REAL = "real"  # in place of a dtype: the bank's type


def field_at(builder: Any, address: Any, record: RecordType, field: str | int) -> Any:
    """Emit the value of a field of the record at an address; a number stands for itself."""
    if isinstance(field, int):
        return ir.Constant(WORD, field)
    assert record.fields is not None
    offset = ir.Constant(WORD, record.fields[field][1])
    place = builder.inttoptr(builder.add(address, offset), WORD.as_pointer())
    return builder.load(place)


def record_of(field: str, kind: RecordType, *more: tuple[str, RecordType]) -> Any:
    """Return a function for kernels that returns a record of a job, given the job's address.

    field  field of the Job that has its address
    kind   dtype of the record
    more   further steps: a field of that record with the address of another one, and its dtype
    """

    def find(context: Any, job: Any) -> Emitted:
        last = [(field, kind), *more][-1][1]

        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, record = arguments[0], JOB
            for name, dtype in [(field, kind), *more]:
                address, record = field_at(builder, address, record, name), dtype
            return builder.inttoptr(address, target.get_value_type(from_dtype(last)))

        return from_dtype(last)(types.uint64), emit

    return instruction(find)


def table_of(field: str, kind: RecordType, items: str, count: str, of: RecordType) -> Any:
    """Return a function for kernels that returns a table of records, given the job's address.

    field, kind   field of the Job with the address of a record, and its dtype
    items, count  fields of that record: address and length of the table
    of            dtype of the table
    """

    def find(context: Any, job: Any) -> Emitted:
        array = types.Array(from_dtype(of), 1, "C")

        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            record = field_at(builder, arguments[0], JOB, field)
            address, length = [field_at(builder, record, kind, each) for each in (items, count)]
            return made(target, builder, array, address, [length])

        return array(types.uint64), emit

    return instruction(find)


def view(of: Any, field: str, kind: RecordType, **fields: Sequence[Any]) -> Any:
    """Return a function for kernels that makes a named tuple, given an address and the bank's type.

    of      class of the tuple
    field   field of the Job that has the address of a record; "": the address is that of the record
    kind    dtype of the record
    fields  for each field of the tuple, in order: the dtype of an array, and fields of the record
            with its address and shape; without a shape it is a record; without a dtype a number
    """

    def find(context: Any, address: Any, real: Any) -> Emitted:
        members = [
            member_type(real.dtype if what is REAL else what, len(where) - 1)
            for what, *where in fields.values()
        ]
        whole = types.NamedTuple(members, of)  # type: ignore[no-untyped-call]  # numba's

        def emit(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            record = field_at(builder, arguments[0], JOB, field) if field else arguments[0]
            values = []
            for member, (_, *where) in zip(members, fields.values(), strict=True):
                first, *shape = [field_at(builder, record, kind, each) for each in where]
                if isinstance(member, types.Array):
                    values.append(made(target, builder, member, first, shape))
                elif isinstance(member, types.Record):
                    values.append(builder.inttoptr(first, target.get_value_type(member)))
                else:
                    values.append(first)
            return target.make_tuple(builder, whole, values)

        return whole(types.uint64, real), emit

    return instruction(find)


def member_type(what: Any, axes: int) -> Any:
    """Return numba's type of a field of a view whose array has so many axes."""
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

# Tuples of a job.
bank_of = view(
    BankArrays,
    "bank",
    BANK,
    value=(REAL, "value", "rows"),
    halves=(REAL, "halves", "rows"),
    grad=(REAL, "grad", "rows"),
    slots=(REAL, "slots", "slot_count", "rows"),
    frozen=(np.bool_, "frozen", "rows"),
    state=(np.float64, "state", "state_count"),
)
view_of = view(
    BankView,
    "bank",
    BANK,
    value=(REAL, "seen", "rows"),
    state=(np.float64, "state", "state_count"),
    frozen=(np.bool_, "frozen", "rows"),
)
samples_of = view(
    SampleArrays,
    "samples",
    SAMPLES,
    rows=(np.uint64, "rows", "size"),
    goal_rows=(np.uint64, "goal_rows", "size"),
    points=(REAL, "points", "point_count", 2),
    drawing=(DRAWING, "drawing"),
    settings=(np.float64, "draw_settings", "draw_setting_count"),
)
batch_of = view(
    BatchArrays,
    "batch",
    BATCH,
    data=(REAL, "data", "samples", "columns"),
    rows=(np.uint64, "rows", "samples"),
    goals=(REAL, "goals", "samples", "goal_columns"),
    goal_rows=(np.uint64, "goal_rows", "samples"),
    outputs=(REAL, "outputs", "samples", "output_columns"),
    samples=(None, "samples"),
    steps=(None, "steps"),
)
room_of = view(
    Workspaces,
    "room",
    ROOM,
    spaces=(REAL, "spaces", "places", "space"),
    flows=(REAL, "flows", "places", "flow"),
    partial=(REAL, "partial", "chunks", "gradients"),
)
update_of = view(
    UpdateArrays,
    "update",
    UPDATE,
    how=(HOW, "how"),
    settings=(np.float64, "settings", "setting_count"),
    schedule=(np.float64, "schedule", "schedule_count"),
    exact=(np.float64, "exact", "argument_count"),
    arguments=(REAL, "arguments", "argument_count"),
    gradient=(REAL, "gradient", "rows"),
    scratch=(REAL, "scratch", "rows"),
    spans=(SPAN, "spans", "span_count"),
)
# Tuples of a record.
tile_at = view(
    Tile,
    "",
    TILE_RECORD,
    space=(REAL, "space", "space_size"),
    flow=(REAL, "flow", "flow_size"),
    partial=(REAL, "partial", "gradients"),
    first=(None, "first"),
    n=(None, "n"),
    stride=(None, "stride"),
    learning=(None, "learning"),
    steps=(None, "steps"),
)
