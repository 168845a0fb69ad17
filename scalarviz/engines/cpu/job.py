"""CpuJob: the records that kernels of the cpu engine read, with the addresses of arrays.

A record has addresses only, so a job keeps what they lead to: arrays, other records, and kernels.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.optimizer import Optimizer
from scalarviz.engines.codegen.kernel_units import Kernel
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.records import (
    BankRecord,
    BatchRecord,
    Job,
    ProgramRecord,
    ProgressRecord,
    Records,
    SamplesRecord,
    UpdateRecord,
)
from scalarviz.engines.cpu.room import Room, address
from scalarviz.engines.cpu.tables import Tables
from scalarviz.engines.cpu.units import units_of_optimizer


@final
class CpuJob:
    """Records of a job on one bank.

    record, bank, program, room, samples, batch, update, progress
        structures of `records`, whose fields can be set
    """

    def __init__(self, bank: Bank) -> None:
        self.record = Job()
        self.bank, self.program, self.batch = BankRecord(), ProgramRecord(), BatchRecord()
        self.samples, self.update, self.progress = SamplesRecord(), UpdateRecord(), ProgressRecord()
        for field in ("bank", "program", "batch", "samples", "update", "progress"):
            setattr(self.record, field, ctypes.addressof(getattr(self, field)))
        self.address = ctypes.addressof(self.record)
        self._kept: dict[str, Any] = {"bank": bank}
        self.threads: list[tuple[int, int, int]] = []
        self.bank.value = self.bank.seen = address(bank.value)
        self.bank.grad, self.bank.frozen = address(bank.grad), address(bank.frozen)
        self.bank.state, self.bank.state_count = address(bank.state), len(bank.state)
        self.bank.rows, self._dtype, self._slots = len(bank), bank.dtype, bank.slot_block

    def keep(self, **arrays: np.ndarray[Any, Any]) -> list[int]:
        """Keep arrays as long as the job, and return their addresses.

        An array of the same name, which must have been for the same purpose, is dropped.
        """
        self._kept.update(arrays)
        return [address(array) for array in arrays.values()]

    def kept(self, *names: str) -> list[np.ndarray[Any, Any]]:
        """Return arrays that are kept, by the names of `keep`."""
        return [self._kept[name] for name in names]

    def set_program(self, tables: Tables, plan: Records) -> None:
        """Run a program, whose tables have the addresses of its kernels."""
        record = self.program
        record.plan, record.operations, _ = self.keep(
            plan=plan, operations=tables.operations, settings=tables.settings
        )
        record.operation_count = len(tables.operations)

    def set_passes(self, passes: Records) -> None:
        """Run these passes of the program."""
        (self.program.passes,) = self.keep(passes=passes)
        self.program.pass_count = len(passes)

    def set_room(self, room: Room) -> None:
        """Use these workspaces, which the caller keeps: they may be large."""
        self.record.room, self.batch.errors = room.record_at, room.errors_at

    def set_halves(self, halves: FloatArray) -> None:
        """Let passes read weights that are rounded to half, which are written to `halves`."""
        (self.bank.halves,) = self.keep(halves=halves)
        self.bank.seen = self.bank.halves

    def set_kernels(self, kernels: Mapping[str, Kernel]) -> None:
        """Let kernels call others: addresses by the names of fields of a `Job`."""
        for field, kernel in kernels.items():
            setattr(self.record, field, kernel.address)

    def use_threads(self, together: bool) -> None:
        """Use all cores or one; `threads` has the kernels and the operations of each."""
        record = self.record
        record.run_pass, record.add_chunks, self.program.operations = self.threads[together]

    def set_optimizer(
        self, optimizer: Optimizer, order: Order, kernels: Mapping[str, Kernel]
    ) -> None:
        """Write an optimizer to the job, with its kernels: those of `units_of_optimizer`."""
        update, (how, settings, schedule, spans) = self.update, order.numbers
        for field in units_of_optimizer(optimizer):
            setattr(update, field, kernels[field].address)
        dtype, rows = self._dtype, self.bank.rows
        (
            update.how, update.settings, update.schedule, update.exact, update.arguments,
            update.scratch, update.spans, self.bank.slots,
        ) = self.keep(
            how=how, optimizer=settings, schedule=schedule, exact=np.zeros(order.arguments),
            arguments=np.zeros(order.arguments, dtype), scratch=np.zeros(rows, dtype),
            spans=spans, slots=self._slots(order.slots),
        )  # fmt: skip
        update.setting_count, update.schedule_count = len(settings), len(schedule)
        update.rows, update.span_count = self.bank.rows, len(spans)
        update.argument_count, self.bank.slot_count = order.arguments, len(order.slots)
