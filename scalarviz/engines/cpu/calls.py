"""CpuCalls: calls of the cpu engine's kernels for one network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from scalarviz.engines.codegen.kernel_units import Kernel, load
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.engines.cpu.room import Room
from scalarviz.engines.cpu.sizes import count_chunks
from scalarviz.engines.cpu.tables import Tables
from scalarviz.engines.cpu.units import (
    ADD_CHUNKS,
    CHUNK_WORK,
    ON_ALL_CORES,
    ON_ONE_CORE,
    ROUND_BANK,
    RUN_PASSES,
    units_of,
)
from scalarviz.model.bank import Bank
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

PASSES = {"run": RUN_PASSES, "chunk_work": CHUNK_WORK}
ALONE, TOGETHER = {"run_pass": ON_ONE_CORE}, {"run_pass": ON_ALL_CORES}
ROUNDING, ADDING = {"round": ROUND_BANK}, {"add": ADD_CHUNKS}

WORTH_CORES = 250_000  # multiplications of a step; below, one core is faster than several


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
        self._operations: list[tuple[int, str, Unit]] = [
            (i, field, unit)
            for i, operation in enumerate(program.operations)
            for field, unit in units_of(operation).items()
        ]

    def load(self, units: Mapping[str, Unit]) -> dict[str, Kernel]:
        """Return kernels by name; what is missing is loaded with the kernels of the program."""
        missing = {unit for unit in units.values() if unit not in self._loaded}
        if missing:
            missing |= {unit for _, _, unit in self._operations} - set(self._loaded)
            found = load([*missing], self.bank.dtype)
            self._loaded |= dict(zip(missing, found, strict=True))
        return {field: self._loaded[unit] for field, unit in units.items()}

    def link(self, tables: Tables) -> None:
        """Write the addresses of kernels to the operations of a program's tables."""
        for i, field, unit in self._operations:
            tables.operations[field][i] = self._loaded[unit].address

    def together(self, samples: int) -> bool:
        """Whether a batch is large enough for several cores."""
        return count_chunks(samples) > 1 and samples * self.program.products > WORTH_CORES

    @property
    def loss_scale(self) -> float:
        """Factor of the gradients during backward; 1 unless precision is mixed."""
        return float(self.bank.scaling[0]) if self.precision.mixed else 1.0

    def add_gradients(self, tables: Tables, room: Room, samples: int, operations: range) -> None:
        """Add the gradients of all chunks, for a range of operations, to those of the bank."""
        job, kernel = CpuJob(self.bank), self.load(ADDING)["add"]
        job.set_program(tables, tables.passes, tables.plan)
        job.set_room(room)
        job.batch.samples = samples
        kernel.call(job.address, operations.start, operations.stop)
        self.bank.has_gradients = True
