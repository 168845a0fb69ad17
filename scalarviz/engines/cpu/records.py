"""The records that kernels read from their tables: in a kernel `op.inputs`, with no column numbers.

numba finds the type of an array by the object that is its dtype, and an equal dtype made anew costs
8 us a call. So each kind of record has one dtype, made here or beside its table, and shared by all
arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

RecordType = np.dtype[np.void]
Records = np.ndarray[Any, RecordType]


def record_type(*fields: str, number: type[np.number[Any]] = np.uint64) -> RecordType:
    """A dtype of fields that are all numbers of one kind, by default unsigned.

    A signed index costs a test for "counted from the end" at every number that it leads to.
    """
    return np.dtype([(field, number) for field in fields], align=True)


# An operation. Places in workspaces, in rows: of the buffers that it reads (`source`, `other`) and
# writes (`target`), of what is kept for the way back (`memo`), and of the gradients by the first
# (`flow_in`, `flow_other`) and the second (`flow_out`). Rows of the bank: the first weight, the
# first bias; while those from `held_from` to before `held_to` are frozen, statistics stand still.
# `gradients` is where in a chunk's gradient those of its parameters begin, `count` how many they
# are, `each` how many numbers share a bias, `state` where its numbers are in the bank's state.
OPERATION = record_type(
    "kind", "formula", "source", "target", "inputs", "outputs", "weights", "biases", "has_biases",
    "memo", "flow_in", "flow_out", "gradients", "count", "each", "state", "other", "flow_other",
    "held_from", "held_to",
)  # fmt: skip

# A plan: where outputs, targets and gradients are in a tile's workspace, and which formulas run.
# `first_needed` comes after the last operation by whose inputs nobody needs the gradient.
PLAN = record_type(
    "out", "out_size", "goals", "flow_out", "flow_in", "first_needed", "loss", "optimizer",
    "schedule", "refuse", "half", "dynamic", "patience", "mean_of",
)  # fmt: skip

# A pass: what is done (see `step`), with the operations from `low` to before `high`; and what must
# be gathered from the whole batch before: k + 1 for operation k, -(k + 1) on its way back, else 0.
PASS = record_type("what", "low", "high", "gathers", number=np.int64)

# How batches are drawn: which of the four ways, from which seed, how many samples there are in an
# epoch and in a batch.
DRAWING = record_type("draw", "seed_low", "seed_high", "samples", "size", number=np.int64)

# How weights move, whatever the optimizer.
HOW = record_type("rate", "clip_norm", "clip_value", "l1", "l2", number=np.float64)
