"""Named tuples of arrays that kernels pass to each other.

A kernel that Python calls takes plain arrays, because unpacking tuples would cost more time than
some steps take; it packs them into these tuples. Tuples are not nested: `prange` does not support
it.
"""

from __future__ import annotations

from typing import NamedTuple

from scalarviz.engines.cpu.products import Index, Numbers, Table


class ProgramTables(NamedTuple):
    """A program; see `records` for the fields of its plan, passes and operations."""

    plan: Table  # one record
    passes: Table
    operations: Table
    settings: Numbers  # a row for each operation


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
    """The data set of a training, and the samples that a step has drawn from it."""

    data: Numbers  # inputs, one row per sample
    goals: Numbers  # targets, one row per sample
    rows: Table  # rows of `data` drawn by the step
    goal_rows: Table  # rows of `goals` drawn by the step
    points: Numbers  # inputs drawn at random instead of from `data`; else empty
    drawing: Table  # one record
    draw_settings: Numbers


class BatchArrays(NamedTuple):
    """One batch: where its samples are read and its results are written."""

    data: Numbers  # inputs, one row per sample
    rows: Table  # rows of `data` in the batch
    goals: Numbers  # targets, or gradients of the outputs
    goal_rows: Table  # rows of `goals` in the batch
    outputs: Numbers  # receives the outputs, or the gradients of the inputs
    samples: Index  # size of the batch
    steps: Index  # number of steps that the network has taken
    scale: float  # factor of the gradients of the loss


class Workspaces(NamedTuple):
    """Workspaces of the tiles, and the parameter gradients of each chunk."""

    spaces: Numbers  # values, one row per workspace
    flows: Numbers  # gradients of the values, one row per workspace
    partial: Numbers  # gradients of the parameters, one row per chunk


class UpdateArrays(NamedTuple):
    """Settings of optimizer and schedule, and buffers for an update."""

    how: Table  # one record: learning rate, clipping, l1 and l2
    optimizer_settings: Numbers
    schedule_settings: Numbers
    arguments: Numbers  # buffer for the arguments of the update formula
    scratch: Numbers  # buffer for the clipped and regularized gradients


class Progress(NamedTuple):
    """Progress of a training during one call."""

    first: Index  # index of the first step of the call
    counts: Table  # one number: steps that the network has taken
    errors: Numbers  # sums of errors, shape (steps, chunks)
    done: Table  # steps taken in this call; then the reason it stopped, or NONE


class Tile(NamedTuple):
    """Up to TILE samples, and their workspaces; see `tiles`."""

    space: Numbers  # workspace of values
    flow: Numbers  # workspace of gradients
    first: Index  # index in the batch of the first sample
    n: Index  # number of samples
    stride: Index  # numbers from one row of a workspace to the next
    learning: bool  # True in training, False in evaluation
    steps: Index  # number of steps that the network has taken
