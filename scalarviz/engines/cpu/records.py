"""Types of the records in the tables of kernels, such as OPERATION: a kernel reads `op.inputs`.

numba looks up the type of an array by the identity of its dtype; an equal dtype that is another
object costs 8 us a call. So each kind of record has one dtype, defined here or beside its table,
that all arrays share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

RecordType = np.dtype[np.void]
Records = np.ndarray[Any, RecordType]


def record_type(*fields: str, number: type[np.number[Any]] = np.uint64) -> RecordType:
    """Return a dtype whose fields all have one type, by default an unsigned integer.

    numba tests a signed index for being negative at every access.
    """
    return np.dtype([(field, number) for field in fields], align=True)


# An operation: `kind` and `formula` are indices in their tables, `inputs` and `outputs` sizes.
# Rows of the workspace of values: the buffers that are read (`source`, `other`) and written
# (`target`), and numbers kept for backward (`memo`). Rows of the workspace of gradients: those of
# `source` (`flow_in`), `other` (`flow_other`) and `target` (`flow_out`). Rows of the bank: first
# weight and first bias; running statistics do not change while the rows from `held_from` to before
# `held_to` are frozen. `gradients` is the index of the first parameter's gradient in that of a
# chunk, `count` the number of parameters, `each` the number of outputs that share a bias, `state`
# an index in the bank's state.
OPERATION = record_type(
    "kind", "formula", "source", "target", "inputs", "outputs", "weights", "biases", "has_biases",
    "memo", "flow_in", "flow_out", "gradients", "count", "each", "state", "other", "flow_other",
    "held_from", "held_to",
)  # fmt: skip

# A plan: rows of outputs, targets and gradients in the workspaces of a tile, and indices of the
# formulas. Operations before `first_needed` do not compute the gradient of their inputs. `half` is
# 1 in mixed precision, `dynamic` if the loss scale is dynamic, `refuse` if a gradient that is not
# finite stops the training.
PLAN = record_type(
    "out", "out_size", "goals", "flow_out", "flow_in", "first_needed", "loss", "optimizer",
    "schedule", "refuse", "half", "dynamic", "patience", "mean_of",
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
