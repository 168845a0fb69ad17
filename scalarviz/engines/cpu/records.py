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


def record_type(*fields: str, number: type[np.integer[Any]] = np.uint64) -> RecordType:
    """A dtype of fields that are all numbers of one kind, by default unsigned.

    A signed index costs a test for "counted from the end" at every number that it leads to.
    """
    return np.dtype([(field, number) for field in fields], align=True)
