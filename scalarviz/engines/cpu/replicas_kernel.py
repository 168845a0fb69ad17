"""Kernel that trains many networks of one shape in parallel, one network per thread."""

from __future__ import annotations

from numba import prange

from scalarviz.engines.codegen.dispatch import parallel_kernel
from scalarviz.engines.cpu.entry import train_alone
from scalarviz.engines.cpu.products import Index, Numbers, Table
from scalarviz.engines.cpu.updates import NONE


@parallel_kernel
def train_networks(
    plan: Table, passes: Table, operations: Table, settings: Numbers,
    value: Numbers, halves: Numbers, grad: Numbers, slots: Numbers, frozen: Table, state: Numbers,
    data: Numbers, goals: Numbers, rows: Table, goal_rows: Table, points: Numbers, drawing: Table,
    draw_settings: Numbers, spaces: Numbers, flows: Numbers, partial: Numbers, how: Table,
    optimizer_settings: Numbers, schedule_settings: Numbers, arguments: Numbers, scratch: Numbers,
    factor: float, first: Index, counts: Table, errors: Numbers, done: Table,
) -> None:  # fmt: skip
    """Run `train_alone` for every network that has not stopped.

    Arrays of banks, progress and errors have one row per network; buffers and workspaces have one
    per group. The networks of a group are trained one after the other.
    """
    groups = len(spaces)
    for group in prange(groups):
        for r in range(group, len(value), groups):
            if done[r, 1] == NONE:
                train_alone(
                    plan, passes, operations, settings, value[r], halves[group], grad[r], slots[r],
                    frozen[r], state[r], data, goals, rows[group], goal_rows[group], points[group],
                    drawing[r : r + 1], draw_settings, spaces[group], flows[group],
                    partial[group], how, optimizer_settings, schedule_settings, arguments[group],
                    scratch[group], factor, first, counts[r], errors[r], done[r],
                )  # fmt: skip
