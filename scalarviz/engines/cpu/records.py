"""Records that kernels read and write, such as OPERATION: a kernel reads `op.inputs`.

Tables of records are arrays of numpy. A record that Python changes at every call is a structure of
ctypes, whose fields are attributes. All fields take 8 bytes: unsigned integers, among them the
addresses of arrays and of functions, or floats.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeVar, cast

import numpy as np

RecordType = np.dtype[np.void]
Records = np.ndarray[Any, RecordType]


def record_type(*fields: str, number: type[np.number[Any]] = np.uint64) -> RecordType:
    """Return a dtype whose fields all have one type, by default an unsigned integer.

    numba tests a signed index for being negative at every access.
    """
    return np.dtype([(field, number) for field in fields], align=True)


# An operation: addresses of its kernels, 0 for none (`forward`, `parameters`, `back`, `gather`,
# `gather_back`, and those that do a part of the first three), and of its settings. `formula` is the
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
    "part_of_parameters", "part_of_back", "settings", "formula",
    "source", "target", "inputs", "outputs", "weights", "biases", "has_biases",
    "memo", "flow_in", "flow_out", "gradients", "count", "each", "state", "second", "seconds",
    "flow_second", "held_from", "held_to",
)  # fmt: skip

# A plan: rows of outputs, targets and gradients in the workspaces of a tile, and addresses of the
# loss's kernels. Operations before `first_needed` do not compute the gradient of their inputs.
# `half` is 1 in mixed precision, `dynamic` if the loss scale is dynamic, `refuse` if a gradient
# that is not finite stops the training.
PLAN = record_type(
    "out", "out_size", "goals", "flow_out", "flow_in", "first_needed", "loss", "loss_back",
    "refuse", "half", "dynamic", "patience", "mean_of",
)  # fmt: skip

# A pass: the flags `what` (see `step`), the operations from `low` to before `high`, and the
# operation whose statistics are gathered first: k + 1 for the forward of operation k, -(k + 1) for
# its backward, else 0.
PASS = record_type("what", "low", "high", "gathers", number=np.int64)

# Drawing of batches: one of the four ways of `data/batches.py`, the seed, and the number of samples
# in an epoch and in a batch.
DRAWING = record_type("draw", "seed_low", "seed_high", "samples", "size", number=np.int64)

# Settings that all optimizers share.
HOW = record_type("rate", "clip_norm", "clip_value", "l1", "l2", number=np.float64)

# Rows of the bank from `first` to before `end`, and their learning rate, or NaN for that of HOW.
SPAN = np.dtype([("first", np.uint64), ("end", np.uint64), ("rate", np.float64)], align=True)


# ---- records that Python changes ----------------------------------------------------------------

Signed = int
FIELDS: dict[str, Any] = {
    "int": ctypes.c_uint64,
    "Signed": ctypes.c_int64,
    "float": ctypes.c_double,
}
StructureT = TypeVar("StructureT", bound=type[ctypes.Structure])


def structure(kind: StructureT) -> StructureT:
    """Decorate a class of ctypes: its annotations are its fields."""
    annotations = vars(kind)["__annotations__"]
    kind._fields_ = [(name, FIELDS[each]) for name, each in annotations.items()]
    return kind


@structure
class Job(ctypes.Structure):
    """Addresses of all that a kernel may need: records, and kernels that others call."""

    program: int
    bank: int
    samples: int
    batch: int
    room: int
    update: int
    progress: int
    chunk_work: int
    run_pass: int
    draw_rows: int
    add_chunks: int
    move: int
    round_rows: int  # in mixed precision
    round_bank: int
    reader: int  # of networks in lanes: the job that draws and measures for each of them
    drawings: int  # the address of a DRAWING record for each
    drawn: int  # the rows that they have drawn
    draws: int  # steps of a call that draw samples; the others have those of the last


@structure
class ProgramRecord(ctypes.Structure):
    """A program: addresses and lengths of the tables of `tables`."""

    plan: int
    passes: int
    pass_count: int
    operations: int
    operation_count: int


@structure
class BankRecord(ctypes.Structure):
    """The arrays of a bank; `seen` are the weights that passes read."""

    value: int
    seen: int
    halves: int
    grad: int
    slots: int
    frozen: int
    state: int
    rows: int
    slot_count: int
    state_count: int


@structure
class SamplesRecord(ctypes.Structure):
    """The data set of a training, and the samples that a step has drawn."""

    data: int  # inputs, `columns` numbers a sample
    goals: int  # targets, `goal_columns` numbers a sample
    count: int
    columns: int
    goal_columns: int
    rows: int  # rows of `data` drawn by the step
    goal_rows: int  # rows of `goals` drawn by the step
    size: int  # of a batch
    points: int  # inputs drawn at random instead of from `data`
    point_count: int
    drawing: int  # one record
    draw_settings: int
    draw_setting_count: int


@structure
class BatchRecord(ctypes.Structure):
    """One batch: where its samples are read and its results are written."""

    data: int
    columns: int
    rows: int  # rows of `data` in the batch
    goals: int  # targets, or gradients of the outputs
    goal_columns: int
    goal_rows: int  # rows of `goals` in the batch
    outputs: int  # receives the outputs, or the gradients of the inputs
    output_columns: int
    samples: int
    errors: int  # receives the sum of errors of each chunk
    steps: int  # number of steps that the network has taken
    scale: float  # factor of the gradients of the loss


@structure
class RoomRecord(ctypes.Structure):
    """Workspaces of the tiles, and the parameter gradients of each chunk."""

    spaces: int  # values: `places` workspaces of `space` numbers
    flows: int  # gradients of the values: `places` workspaces of `flow` numbers
    partial: int  # gradients of the parameters: `chunks` times `gradients`
    tiles: int  # a TILE record for each chunk
    before: int  # copy of the bank's state
    places: int
    space: int
    flow: int
    gradients: int
    chunks: int


@structure
class UpdateRecord(ctypes.Structure):
    """Settings of optimizer and schedule, their kernels, and buffers for an update."""

    how: int  # one record: learning rate, clipping, l1 and l2
    settings: int  # of the optimizer
    setting_count: int
    schedule: int  # settings of the schedule
    schedule_count: int
    exact: int  # arguments of the update formula in float64
    arguments: int  # the same in the bank's type
    argument_count: int
    gradient: int  # what the update reads: the bank's gradients, or those in `scratch`
    scratch: int  # buffer for the clipped and regularized gradients
    rows: int  # of the bank
    spans: int  # learning rates of all rows
    span_count: int
    factor: float  # of the schedule
    finite: int  # 1 if the updated numbers are finite
    factor_of_rate: int  # address of the schedule's kernel
    constants: int  # addresses of the optimizer's kernels
    move_rows: int


@structure
class ProgressRecord(ctypes.Structure):
    """Progress of a training during one call."""

    first: int  # index of the first step of the call
    steps: int  # number of steps asked for
    count: int  # steps that the network has taken
    losses: int  # receives the loss of each step
    taken: int  # steps taken in this call
    result: Signed  # the reason why it stopped, or NONE
    factor: float  # of the loss


@structure
class TileRecord(ctypes.Structure):
    """Up to TILE samples, and their workspaces; see `tiles`."""

    space: int
    space_size: int
    flow: int
    flow_size: int
    partial: int  # gradient of the chunk
    gradients: int
    first: int
    n: int
    stride: int
    learning: int
    steps: int


def dtype_of(kind: type[ctypes.Structure]) -> RecordType:
    """Return the dtype of a structure."""
    dtype: Any = np.dtype(kind)
    return cast(RecordType, dtype)


JOB, PROGRAM, BANK = dtype_of(Job), dtype_of(ProgramRecord), dtype_of(BankRecord)
SAMPLES, BATCH, ROOM = dtype_of(SamplesRecord), dtype_of(BatchRecord), dtype_of(RoomRecord)
UPDATE, PROGRESS = dtype_of(UpdateRecord), dtype_of(ProgressRecord)
TILE_RECORD = dtype_of(TileRecord)
