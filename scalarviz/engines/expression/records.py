"""Records of a compiled expression, for its kernels; see `cpu/records`."""

from __future__ import annotations

import ctypes

import numpy as np

from scalarviz.engines.cpu.records import dtype_of, record_type, structure

# Kinds of steps: a sum of products, forward or backward; gradients of the parameters in a sum; a
# formula.
SUM, SLOPES, FORMULA = [np.uint64(i) for i in range(3)]

# A step: its kind; the address of the kernel of its formula (`run`); rows of up to three operands
# (`x`, `y`, `z`) and of the result (`target`); number of rows computed at once (`count`); the row
# whose gradient it adds to (`source`); and the terms of a sum: from `first` on scalars alone, from
# `middle` to before `last` products with a row.
STEP = record_type(
    "kind", "run", "x", "y", "z", "target", "count", "source", "first", "middle", "last"
)


@structure
class TraceRecord(ctypes.Structure):
    """An expression, its workspaces, and a batch: addresses and sizes."""

    job: int
    code: int  # steps forward, then backward
    code_count: int
    steps: int  # number of steps forward
    signs: int  # terms of all sums
    scalars: int
    rows: int
    factors: int
    term_count: int
    constants: int
    constant_count: int
    outputs: int  # rows of the outputs
    output_count: int
    owned: int  # rows of the parameters in the bank
    parameters: int
    numbers: int  # rows of a tile
    tile_samples: int  # columns of a tile
    tile: int  # size of a workspace
    item: int  # bytes of a number
    spaces: int
    places: int  # number of workspaces
    flow: int
    sums: int
    ends: int  # a TILE record: outputs, targets and gradients of the outputs of a tile
    samples: int  # of the batch
    columns: int  # number of inputs
    data: int
    goals: int
    results: int
    upstream: int
    by_inputs: int
    learning: int  # whether gradients of the parameters are computed
    moves: int  # whether a step runs the optimizer
    forward: int  # addresses of the kernels of a tile
    backward: int


TRACE = dtype_of(TraceRecord)
