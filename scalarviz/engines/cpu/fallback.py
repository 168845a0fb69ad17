"""Fallback: operations without a kernel, which kernels call by an address as if they had one.

The address is that of a Python function, which takes the samples of a tile from the workspaces, has
the layer itself or the reference of the kind compute, and writes its numbers there. So all that the
engine does runs in the same way, with the same bits whatever the number of threads. Of all that a
call of kernels runs, Ctrl-C ends this Python alone: an error that leaves the function is lost.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, ClassVar, final
from weakref import WeakSet

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.interrupt import cuttable, uncut
from scalarviz.core.program import Operation, Program
from scalarviz.engines.common.costs import Costs
from scalarviz.engines.common.reference import (
    OperationArrays,
    Reference,
    all_gradients,
    reference_of,
)
from scalarviz.engines.cpu.records import (
    OPERATION,
    BankRecord,
    Job,
    ProgressRecord,
    TileRecord,
)
from scalarviz.engines.cpu.table import KERNELS
from scalarviz.errors import InputError, OrderError

CALLBACK = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 3)
_tried: WeakSet[Any] = WeakSet()  # layers that compute each sample by itself


class OperationRecord(ctypes.Structure):
    """A record of the type OPERATION."""

    _fields_: ClassVar = [(name, ctypes.c_uint64) for name in OPERATION.names or ()]


@final
class Tile:
    """An operation on a tile: its numbers, as views of the workspaces.

    dtype  that of the bank
    place  address of the operation's record; `job` and `tile` are those of the others
    """

    def __init__(
        self, operation: Operation, dtype: np.dtype[Any], place: int, job: int, tile: int
    ) -> None:
        self.operation = operation
        self.dtype = dtype
        self.op: Any = OperationRecord.from_address(place)
        self.record = TileRecord.from_address(tile)
        self._bank = BankRecord.from_address(Job.from_address(job).bank)

    def rows(self, space: int, row: int, size: int) -> FloatArray:
        """Return a buffer of a workspace, shape (samples, size), from its first row on."""
        stride = self.record.stride
        place = space + row * stride * self.dtype.itemsize
        return array_at(place, self.dtype, size, stride)[:, : self.record.n].T

    def numbers(self, **more: FloatArray) -> OperationArrays:
        """Return the arguments of the reference of the operation."""
        op, tile, bank = self.op, self.record, self._bank
        read = [(op.source, op.inputs), (op.second, op.seconds)][: len(self.operation.sources)]
        return OperationArrays(
            array_at(bank.seen, self.dtype, bank.rows),
            array_at(bank.state, np.dtype(np.float64), bank.state_count),
            tile.steps,
            tuple([self.rows(tile.space, *each) for each in read]),
            learning=bool(tile.learning),
            first=tile.first,
            **more,
        )


def array_at(address: int, dtype: np.dtype[Any], *shape: int) -> FloatArray:
    """Return the numbers at an address, as an array."""
    memory: Any = (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address(address)
    return np.ndarray(shape, dtype, memory)


@cuttable
def forward(reference: Reference, tile: Tile) -> None:
    """Write the outputs."""
    numbers, own = tile.numbers(), tile.operation.own
    y = reference.forward(tile.operation, numbers)
    if own is not None and len(y) > 1 and own not in _tried:
        alone = reference.forward(tile.operation, replace(numbers, inputs=(numbers.x[:1],)))
        if not np.allclose(alone, y[:1], 1e-6, 1e-9, equal_nan=True):
            raise InputError(
                f"{own} gives a sample other numbers alone than beside others, and the engine cpu "
                "passes some of a batch at a time: compute each by itself, or choose the engine "
                "'python'"
            )
        _tried.add(own)
    tile.rows(tile.record.space, tile.op.target, tile.op.outputs)[:] = y


@cuttable
def backward(reference: Reference, tile: Tile) -> None:
    """Write the gradient of each buffer that it reads, and add to that of its parameters."""
    op, record, operation = tile.op, tile.record, tile.operation
    y = tile.rows(record.space, op.target, op.outputs)
    upstream = tile.rows(record.flow, op.flow_out, op.outputs)
    found = all_gradients(reference, operation, tile.numbers(y=y, upstream=upstream))
    read = [(op.flow_in, op.inputs), (op.flow_second, op.seconds)][: len(operation.sources)]
    for each, row in zip(found, read, strict=False):
        tile.rows(record.flow, *row)[:] = each
    if operation.parameters:
        first = record.partial + op.gradients * tile.dtype.itemsize
        array_at(first, tile.dtype, op.count)[:] += found[-1]


def done(reference: Reference, tile: Tile) -> None:
    """Do nothing: `backward` has written the gradient of the inputs, with that of parameters."""


@final
class Fallback:
    """The operations of a program that run as Python, as functions with addresses."""

    def __init__(self, program: Program, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._lock = threading.Lock()  # one tile at a time, also of several threads
        self._worker = 0  # the thread that computes it
        self._errors: dict[int, BaseException] = {}  # by the address of their job
        self.operations = {
            i: each for i, each in enumerate(program.operations) if each.kind not in KERNELS
        }
        self._costs = Costs("cpu", [*self.operations.values()])
        self._kept = {i: self._functions(each) for i, each in self.operations.items()}

    def _functions(self, operation: Operation) -> dict[str, Any]:
        """Return the functions of an operation by the fields of its record."""
        work = {"forward": forward, "back": backward}
        if operation.parameters:
            work = {"forward": forward, "parameters": backward, "back": done}
        run = partial(self._run, operation, reference_of(operation))
        return {field: CALLBACK(partial(run, each)) for field, each in work.items()}

    def link(self, operations: Any) -> None:
        """Write the addresses of the functions to the records of the operations."""
        for i, functions in self._kept.items():
            for field, each in functions.items():
                operations[field][i] = ctypes.cast(each, ctypes.c_void_p).value

    def _run(
        self,
        operation: Operation,
        reference: Reference,
        work: Callable[[Reference, Tile], None],
        place: int,
        job: int,
        tile: int,
    ) -> None:
        """Compute a tile; after an error, which waits for the end of the call, do nothing."""
        if self._worker == threading.get_ident():  # the lock would wait for ever
            self._errors[job] = OrderError(
                f"{operation.owner} computes with the network that it is part of, which waits for "
                "it: compute with a copy, net.copy()"
            )
            return
        with self._lock:
            start, self._worker = time.perf_counter(), threading.get_ident()
            try:
                if job not in self._errors:
                    with np.errstate(all="ignore"):
                        work(reference, Tile(operation, self._dtype, place, job, tile))
            except BaseException as error:  # also Ctrl-C: kernels would pass over it
                self._errors[job] = error
            self._costs.seconds += time.perf_counter() - start
            self._worker = 0

    @uncut
    def call(self, kernel: Callable[..., object], jobs: Sequence[int], *arguments: int) -> None:
        """Call a kernel for jobs; raise the error of Python in it, say once what steps cost."""
        start = time.perf_counter()
        kernel(*arguments)
        whole = time.perf_counter() - start
        for error in filter(None, [self._errors.pop(job, None) for job in jobs]):
            raise error
        records = [ProgressRecord.from_address(Job.from_address(job).progress) for job in jobs]
        self._costs.say(sum(each.steps for each in records), whole)
