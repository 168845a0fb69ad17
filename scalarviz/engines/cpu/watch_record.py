"""WatchRecord: what the kernel of `watching` keeps of a bank after each step."""

from __future__ import annotations

import ctypes

from scalarviz.engines.cpu.records import dtype_of, structure


@structure
class WatchRecord(ctypes.Structure):
    """What is kept of the bank after each step; see `watching`."""

    found: int  # receives `columns` numbers of each step
    columns: int
    values: int  # rows
    value_count: int
    gradients: int  # rows
    gradient_count: int
    squares: int  # 1 if the squares of all gradients are added up
    finite: int  # 1 if all numbers are looked at


WATCH = dtype_of(WatchRecord)
