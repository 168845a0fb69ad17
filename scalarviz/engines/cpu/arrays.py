"""The arrays that kernels hand to each other, in named tuples.

A call from Python takes plain arrays: looking through tuples would cost it more than some steps
take. What it calls makes these tuples; none is part of another, which `prange` would refuse.
"""

from __future__ import annotations

from typing import NamedTuple

from scalarviz.engines.cpu.products import Index, Numbers, Table


class ProgramTables(NamedTuple):
    """A program; `records` says what its plan, passes and operations consist of."""

    plan: Table  # one record
    passes: Table
    operations: Table
    settings: Numbers  # a row for each operation


class BankArrays(NamedTuple):
    """A bank as a training changes it."""

    value: Numbers
    halves: Numbers  # with mixed precision the same, rounded to half; else empty
    grad: Numbers
    slots: Numbers
    frozen: Table
    state: Numbers


class BankView(NamedTuple):
    """A bank as a pass reads it."""

    value: Numbers  # with mixed precision the rounded ones
    state: Numbers
    frozen: Table


class SampleArrays(NamedTuple):
    """Where the samples of a training come from, and which of them a step has drawn."""

    data: Numbers  # a row a sample
    goals: Numbers
    rows: Table  # of `data`
    goal_rows: Table
    points: Numbers  # what is drawn and is in no table, else empty
    drawing: Table  # one record
    draw_settings: Numbers


class BatchArrays(NamedTuple):
    """One batch."""

    data: Numbers  # a row a sample
    rows: Table  # of `data`: the samples
    goals: Numbers  # the targets, or the gradients by the outputs
    goal_rows: Table
    outputs: Numbers  # where outputs, or gradients by the inputs, are stored
    samples: Index
    steps: Index  # how many the network has taken
    scale: float  # by what the gradients of the loss are multiplied


class Workspaces(NamedTuple):
    """Room for the numbers of tiles, the gradients by them, and the gradient of each chunk."""

    spaces: Numbers
    flows: Numbers
    partial: Numbers


class UpdateArrays(NamedTuple):
    """How weights move; and room for the arguments of a formula, and for a gradient."""

    how: Table  # one record
    optimizer_settings: Numbers
    schedule_settings: Numbers
    arguments: Numbers
    scratch: Numbers


class Progress(NamedTuple):
    """How far a training has got."""

    first: Index  # the number of the first step
    counts: Table  # one number: how many steps the network has taken
    errors: Numbers  # a row a step, a column a chunk
    done: Table  # how many steps were taken in this call, and what stopped it or NONE


class Tile(NamedTuple):
    """Some samples on their way through the network."""

    space: Numbers  # their numbers
    flow: Numbers  # the gradients by them
    first: Index  # the place of the first sample in the batch
    n: Index  # how many samples there are
    stride: Index  # how far apart rows lie
    learning: bool  # whether a backward may follow
    steps: Index  # how many the network has taken
