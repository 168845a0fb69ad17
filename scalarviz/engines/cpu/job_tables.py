"""JobTables: records of many jobs as tables, which keep the arrays that the records lead to."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.cpu.records import Records, RecordType
from scalarviz.engines.cpu.room import address
from scalarviz.engines.cpu.tables import LINE, workspaces


class JobTables:
    """Tables of `count` records, one for each job.

    Jobs of a group, of which there are `groups`, run one after the other, and share buffers.
    """

    def __init__(self, count: int, groups: int) -> None:
        self.count, self.groups = count, groups
        self._kept: list[Any] = []

    def table(self, kind: RecordType, **fields: Any) -> Records:
        """Return a record for each job, with these fields."""
        table = np.zeros(self.count, kind)
        for field, numbers in fields.items():
            table[field] = numbers
        return table

    def kept_at(self, array: Any) -> int:
        """Keep an array that all jobs share, and return its address."""
        self._kept.append(array)
        return address(array)

    def rows(self, array: Any) -> Any:
        """Return the address of each job's row of an array; 0 if the rows are empty.

        If the array has fewer rows, jobs share them in turn.
        """
        step = array.strides[0] if array.size else 0
        return self.kept_at(array) + np.arange(self.count) % len(array) * step

    def shared(self, size: int, kind: Any) -> Any:
        """Return the address of each job's buffer of `size` items, one for each group."""
        item = np.dtype(kind).itemsize
        buffers = workspaces(self.groups, -(-size * item // LINE) * LINE, "uint8")
        return self.rows(buffers)
