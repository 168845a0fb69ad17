"""CpuCalls: calls of the cpu engine's kernels for one network."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, final

from numba.np.ufunc.parallel import get_thread_count

from scalarviz.engines.codegen.kernel_units import Kernel, load
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.common.cores import ONE_AT_A_TIME
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.engines.cpu.room import Room
from scalarviz.engines.cpu.sizes import count_chunks
from scalarviz.engines.cpu.tables import Tables
from scalarviz.engines.cpu.units import (
    ADD_CHUNKS,
    CHUNK_WORK,
    ON_ALL_CORES,
    ON_ONE_CORE,
    ROUNDING,
    RUN_PASSES,
    WORTH_CORES,
    is_worth_cores,
    units_of,
)
from scalarviz.model.bank import Bank
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

PASSES = {"run": RUN_PASSES, "chunk_work": CHUNK_WORK}
ALONE, TOGETHER = {"run_pass": ON_ONE_CORE}, {"run_pass": ON_ALL_CORES}
ADDING = {"add": ADD_CHUNKS}


def is_parallel() -> bool:
    """Whether kernels may use several threads."""
    threads: int = get_thread_count()  # type: ignore[no-untyped-call]  # numba's
    return threads > 1


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
        self._loaded: dict[Unit, Kernel] = {}

    def load(self, units: Mapping[str, Unit], samples: int = 0) -> dict[str, Kernel]:
        """Return kernels by name; what is missing is loaded with the kernels of the program."""
        missing = {unit for unit in units.values() if unit not in self._loaded}
        if missing:
            missing |= {unit for _, _, unit in self._operations(samples)} - set(self._loaded)
            self._load(missing)
        return {field: self._loaded[unit] for field, unit in units.items()}

    def _load(self, units: Collection[Unit]) -> None:
        found = load([*units], self.bank.dtype)
        self._loaded |= dict(zip(units, found, strict=True))

    def _operations(self, samples: int) -> list[tuple[int, str, Unit]]:
        """Return the kernels of all operations for a batch, with index and field of the record."""
        samples = samples if is_parallel() else 0
        return [
            (i, field, unit)
            for i, operation in enumerate(self.program.operations)
            for field, unit in units_of(operation, samples).items()
        ]

    def linked(self, tables: Tables, samples: int = 0) -> Tables:
        """Return tables whose operations have the addresses of kernels for a batch of a size.

        With 0 samples no kernel runs on several cores.
        """
        operations, units = tables.operations.copy(), self._operations(samples)
        missing = {unit for _, _, unit in units} - set(self._loaded)
        if missing:
            self._load(missing)
        for i, field, unit in units:
            operations[field][i] = self._loaded[unit].address
        return replace(tables, operations=operations)

    def rounding(self) -> dict[str, Kernel]:
        """Return the kernels of mixed precision, by the fields of a `Job`; else none."""
        return self.load(ROUNDING) if self.precision.mixed else {}

    def together(self, samples: int) -> bool:
        """Whether the chunks of a batch are worth several cores."""
        return count_chunks(samples) > 1 and samples * self.program.products > WORTH_CORES

    def guard(self, samples: int) -> AbstractContextManager[object]:
        """Return a context manager for calls of kernels on a batch of a size."""
        cores = any(is_worth_cores(each, samples) for each in self.program.operations)
        return ONE_AT_A_TIME if cores or self.together(samples) else nullcontext()

    @property
    def loss_scale(self) -> float:
        """Factor of the gradients during backward; 1 unless precision is mixed."""
        return float(self.bank.scaling[0]) if self.precision.mixed else 1.0

    def add_gradients(self, tables: Tables, room: Room, samples: int, operations: range) -> None:
        """Add the gradients of all chunks, for a range of operations, to those of the bank."""
        job, kernel = CpuJob(self.bank), self.load(ADDING)["add"]
        job.set_kernels(self.rounding())
        job.set_program(tables, tables.passes, tables.plan)
        job.set_room(room)
        job.batch.samples = samples
        kernel.call(job.address, operations.start, operations.stop)
        self.bank.has_gradients = True
