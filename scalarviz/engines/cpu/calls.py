"""CpuCalls: calls of the cpu engine's kernels for one network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, final

import numpy as np
from numba.np.ufunc.parallel import get_thread_count

from scalarviz.core.bank import Bank
from scalarviz.core.precision import Precision
from scalarviz.core.program import Program
from scalarviz.engines.codegen.kernel_units import Kernel, load
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.common.cores import ONE_AT_A_TIME
from scalarviz.engines.common.thread_choice import ThreadChoice
from scalarviz.engines.cpu.fallback import Fallback
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.engines.cpu.records import OPERATION
from scalarviz.engines.cpu.sizes import count_chunks
from scalarviz.engines.cpu.tables import Tables
from scalarviz.engines.cpu.units import (
    ADD_CHUNKS,
    ADD_ON_ALL_CORES,
    CHUNK_WORK,
    ON_ALL_CORES,
    ON_ONE_CORE,
    ROUNDING,
    RUN_PASSES,
    WORTH_CORES,
    WORTH_CORES_APART,
    is_worth_cores,
    units_of,
)

PASSES = {"run": RUN_PASSES, "chunk_work": CHUNK_WORK}
ALONE, TOGETHER = {"run_pass": ON_ONE_CORE}, {"run_pass": ON_ALL_CORES}
ADDING = {"add": ADD_CHUNKS}
TRAINING_TOGETHER = {**TOGETHER, "add_chunks": ADD_ON_ALL_CORES}


def is_parallel() -> bool:
    """Whether kernels may use several threads."""
    threads: int = get_thread_count()  # type: ignore[no-untyped-call]  # numba's
    return threads > 1


def all_units(fields: Mapping[str, list[Unit | None]]) -> set[Unit]:
    """Return the kernels of all operations."""
    return {unit for units in fields.values() for unit in units if unit is not None}


@final
class CpuCalls:
    """Calls kernels for one network, with its bank and precision."""

    def __init__(self, program: Program, bank: Bank, precision: Precision) -> None:
        self.program = program
        self.bank = bank
        self.precision = precision
        self.rooms: dict[
            tuple[int, ...], Any
        ] = {}  # buffers of the last call that no run uses, by sizes
        self.fallback = Fallback(program, bank.dtype)
        self._loaded: dict[Unit, Kernel] = {}
        self._fields: dict[int, dict[str, list[Unit | None]]] = {}  # by size of the batch

    def load(self, units: Mapping[str, Unit], samples: int = 0) -> dict[str, Kernel]:
        """Return kernels by name; what is missing is loaded with the kernels of the program."""
        missing = {unit for unit in units.values() if unit not in self._loaded}
        if missing:
            missing |= all_units(self._operations(samples)) - set(self._loaded)
            self._load(missing)
        return {field: self._loaded[unit] for field, unit in units.items()}

    def _load(self, units: Collection[Unit]) -> None:
        found = load([*units], self.bank.dtype)
        self._loaded |= dict(zip(units, found, strict=True))

    def _operations(self, samples: int) -> dict[str, list[Unit | None]]:
        """Return the kernel of each operation for a batch, by the field that has its address."""
        if not is_parallel() or not self._splits(samples):
            samples = 0
        if samples not in self._fields:
            operations = [units_of(each, samples) for each in self.program.operations]
            fields = dict.fromkeys(field for units in operations for field in units)
            self._fields[samples] = {
                field: [units.get(field) for units in operations] for field in fields
            }
        return self._fields[samples]

    def _splits(self, samples: int) -> bool:
        """Whether several cores share an operation on a batch of one chunk."""
        return any(is_worth_cores(each, samples) for each in self.program.operations)

    def linked(self, tables: Tables, samples: int = 0) -> Tables:
        """Return tables whose operations have the addresses of kernels for a batch of a size.

        With 0 samples no kernel runs on several cores.
        """
        # numpy's copy of a record array takes ten times as long.
        copied = bytearray(tables.operations.tobytes())
        operations = np.ndarray(len(tables.operations), OPERATION, copied)
        fields = self._operations(samples)
        missing = all_units(fields) - set(self._loaded)
        if missing:
            self._load(missing)
        for field, units in fields.items():
            operations[field] = [
                0 if unit is None else self._loaded[unit].address for unit in units
            ]
        self.fallback.link(operations)
        return replace(tables, operations=operations)

    def calling(self, kernel: Kernel, jobs: Sequence[int] = ()) -> Callable[..., object]:
        """Return how to call a kernel that calls those of operations, for `jobs` or for one."""
        fallback = self.fallback
        if not fallback.operations:
            return kernel.call
        return lambda *given: fallback.call(kernel.call, jobs or given[:1], *given)

    def rounding(self) -> dict[str, Kernel]:
        """Return the kernels of mixed precision, by the fields of a `Job`; else none."""
        return self.load(ROUNDING) if self.precision.mixed else {}

    def together(self, samples: int, *, apart: bool = False) -> bool:
        """Whether the chunks of a batch are worth several cores; `apart`: for each operation."""
        if count_chunks(samples) == 1:
            return False
        if apart:
            return samples * self.program.most_products > WORTH_CORES_APART
        return samples * self.program.products > WORTH_CORES

    def guard(self, samples: int, *, apart: bool = False) -> AbstractContextManager[object] | None:
        """Return a context manager for calls of kernels on a batch of a size, or None for none."""
        cores = self._splits(samples) or self.together(samples, apart=apart)
        return ONE_AT_A_TIME if cores else None

    def choice(self, job: CpuJob, tables: Tables) -> ThreadChoice:
        """Return what chooses the threads for calls of a job that is made for all cores."""
        (operations,) = job.keep(alone=self.linked(tables).operations)
        record = job.record
        add = self.load(ADDING)["add"].address if record.add_chunks else 0  # no passes alone
        job.threads = [
            (self.load(ALONE)["run_pass"].address, add, operations),
            (record.run_pass, record.add_chunks, job.program.operations),
        ]
        return ThreadChoice(job.use_threads)

    @property
    def loss_scale(self) -> float:
        """Factor of the gradients during backward; 1 unless precision is mixed."""
        return float(self.bank.scaling[0]) if self.precision.mixed else 1.0
