"""Many networks of one shape trained at once: each by itself, several at a time."""

from __future__ import annotations

from numba import prange

from scalarviz.engines.codegen.dispatch import parallel_kernel
from scalarviz.engines.cpu.draws import Drawing
from scalarviz.engines.cpu.entry import train_alone
from scalarviz.engines.cpu.products import Index, Numbers
from scalarviz.engines.cpu.step import Plan
from scalarviz.engines.cpu.tiles import Table
from scalarviz.engines.cpu.updates import NONE


@parallel_kernel
def train_networks(
    plan: Plan, passes: Table, ops: Table, settings: Numbers, value: Numbers, grad: Numbers,
    slots: Numbers, frozen: Table, state: Numbers, counts: Numbers, data: Numbers, goals: Numbers,
    drawing: Drawing, draw_settings: Numbers, points: Numbers, rows: Table, goal_rows: Table,
    factor: float, how: Numbers, optimizer_settings: Numbers, schedule_settings: Numbers,
    arguments: Numbers, halves: Numbers, spaces: Numbers, flows: Numbers, partial: Numbers,
    scratch: Numbers, errors: Numbers, first: Index, done: Numbers,
) -> None:  # fmt: skip
    """`train` for every network that has not stopped.

    The numbers of networks have one row a network; what is only room, one for each group of
    networks that take turns.
    """
    groups = len(spaces)
    for group in prange(groups):
        for r in range(group, len(value), groups):
            if done[r, 1] == NONE:
                train_alone(
                    plan, passes, ops, settings, value[r], grad[r], slots[r], frozen[r], state[r],
                    counts[r], data, goals, drawing[r], draw_settings, points[group], rows[group],
                    goal_rows[group], factor, how, optimizer_settings, schedule_settings,
                    arguments[group], halves[group], spaces[group], flows[group], partial[group],
                    scratch[group], errors[r], first, done[r],
                )  # fmt: skip
