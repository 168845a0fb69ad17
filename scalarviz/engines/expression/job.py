"""ExpressionJob: the records that kernels of a compiled expression read."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.engines.codegen.kernel_units import Kernel
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.engines.cpu.records import Records, TileRecord
from scalarviz.engines.cpu.room import address
from scalarviz.engines.expression.records import TraceRecord
from scalarviz.engines.expression.tables import ExpressionTables


@final
class ExpressionJob:
    """Records of an expression: those of a `CpuJob`, and a `TraceRecord`.

    job      the CpuJob: bank, optimizer, loss
    loss     row of the loss whose kernels the plan has
    address  address of the TraceRecord
    """

    def __init__(
        self,
        tables: ExpressionTables,
        bank: Bank,
        rows: Any,
        plan: Records,
        kernels: Mapping[str, Kernel],
    ) -> None:
        self.job = CpuJob(bank)
        self.loss: Any = None
        self._record, self._ends = TraceRecord(), TileRecord()
        self.address = ctypes.addressof(self._record)
        dtype, outputs, record = bank.value.dtype, len(tables.outputs), self._record
        (self.job.program.plan,) = self.job.keep(plan=plan)
        self.job.record.move = kernels["move"].address
        ends = np.zeros((3, outputs, tables.samples), dtype)
        self._ends.space = address(ends)
        self._ends.flow = self._ends.space + ends.strides[0] * 2
        self._ends.space_size, self._ends.flow_size = ends[:2].size, ends[2].size
        self._ends.stride = tables.samples
        terms = len(tables.signs)
        (
            record.code, record.signs, record.scalars, record.rows, record.factors,
            record.constants, record.outputs, record.owned, record.flow, record.sums, _,
        ) = self.job.keep(
            code=tables.code, signs=tables.signs, scalars=tables.scalars, rows=tables.rows,
            factors=np.zeros(terms, dtype), constants=tables.constants, outputs=tables.outputs,
            owned=rows.astype(np.uint64),
            flow=np.zeros(tables.numbers * tables.samples, dtype),
            sums=np.zeros(len(rows), dtype), ends=ends,
        )  # fmt: skip
        record.job, record.ends = self.job.address, ctypes.addressof(self._ends)
        record.code_count, record.steps = len(tables.code), tables.forwards
        record.term_count, record.constant_count = terms, len(tables.constants)
        record.output_count, record.parameters = outputs, len(rows)
        record.numbers, record.tile_samples = tables.numbers, tables.samples
        record.tile, record.item = tables.numbers * tables.samples, dtype.itemsize
        record.columns = tables.recording.inputs
        record.forward, record.backward = kernels["forward"].address, kernels["backward"].address

    def set_batch(
        self, samples: int, spaces: FloatArray, *, moves: bool = False, **arrays: FloatArray
    ) -> None:
        """Run on a batch: fields of the record with the addresses of these arrays."""
        record = self._record
        record.spaces, record.places, record.samples = address(spaces), len(spaces), samples
        record.moves, record.learning = moves, "results" not in arrays
        self._batch = spaces, arrays
        for name, array in arrays.items():
            setattr(record, name, address(array))
