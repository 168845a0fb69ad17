"""Kernel that trains many networks of one shape in parallel, one network per thread."""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import by_address, in_parallel
from scalarviz.engines.cpu.arrays import Address
from scalarviz.engines.cpu.emitting import prange
from scalarviz.engines.cpu.memory import address_of, array_at, call, record_at
from scalarviz.engines.cpu.products import Index
from scalarviz.engines.cpu.records import JOB, PROGRESS
from scalarviz.engines.cpu.updates import NONE


@in_parallel
@by_address
def train_networks(jobs: Address, count: Index, groups: Index, train: Address) -> None:
    """Call `train` for each of `count` jobs whose network has not stopped.

    The networks of a group share workspaces, and are trained one after the other.
    """
    for group in prange(np.int64(groups)):
        table = array_at(jobs, count, JOB)
        for r in range(np.uint64(group), count, groups):
            if record_at(table[r].progress, PROGRESS).result == NONE:
                call(train, (address_of(table, r),))
