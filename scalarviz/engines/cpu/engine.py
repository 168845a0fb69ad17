"""CpuEngine: runs the program of a network by numba kernels on whole batches.

It uses operations and buffers, not layers. Kernels are compiled on first use, and cached on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Engine, check_samples, newest_of
from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.calls import CpuCalls, count_chunks, count_tiles
from scalarviz.engines.cpu.passes import backward_passes, forward_passes, passes
from scalarviz.engines.cpu.run import CpuRun
from scalarviz.engines.cpu.tables import Tables, make_tables
from scalarviz.formulas.losses import Loss
from scalarviz.layers import Layer
from scalarviz.model.bank import Bank
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program


@dataclass(frozen=True, slots=True)
class PendingBackward:
    """A batch whose backward has not run: values that its forward kept."""

    samples: int
    spaces: FloatArray  # workspaces, one row per tile


@final
class CpuEngine(Engine):
    """Runs a program in tiles, on all cores that numba may use."""

    name = "cpu"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        self._work = CpuCalls(program, bank, precision)
        self._tables: Tables = make_tables(program, bank.dtype, precision)
        self._waiting: list[PendingBackward] = []
        what = plans.DO_LOAD | plans.DO_FORWARD | plans.DO_STORE
        self._evaluation = passes(what, [0], [len(program.operations)], [0])
        self._forward = forward_passes(program, plans.DO_LOAD, plans.DO_STORE)
        self._backward = backward_passes(program, plans.DO_UPSTREAM, plans.DO_RETURN)
        for each in (self._forward, self._backward):
            each["what"] |= plans.DO_KEEP

    def forward(self, batch: FloatArray) -> FloatArray:
        spaces = np.zeros((count_tiles(len(batch)), self._tables.space), self.bank.dtype)
        outputs = np.empty((len(batch), self.program.outputs.size), self.bank.dtype)
        self._work.do(
            self._forward,
            self._tables,
            len(batch),
            spaces,
            np.empty((len(spaces), 0), self.bank.dtype),
            data=self.array(batch),
            outputs=outputs,
        )
        self._waiting.append(PendingBackward(len(batch), spaces))
        return outputs

    def evaluate(self, batch: FloatArray) -> FloatArray:
        spaces = np.empty((count_chunks(len(batch)), self._tables.space), self.bank.dtype)
        outputs = np.empty((len(batch), self.program.outputs.size), self.bank.dtype)
        self._work.do(
            self._evaluation,
            self._tables,
            len(batch),
            spaces,
            np.empty((len(spaces), 0), self.bank.dtype),
            data=self.array(batch),
            outputs=outputs,
        )
        return outputs

    def newest_batch(self) -> int:
        return newest_of(self._waiting)

    def check_backward(self, samples: int) -> None:
        check_samples(newest_of(self._waiting), samples)

    def backward(self, upstream: FloatArray) -> FloatArray:
        done, tables, dtype = self._waiting.pop(), self._tables, self.bank.dtype
        partial = np.zeros((count_chunks(done.samples), tables.gradients), dtype)
        by_inputs = np.empty((done.samples, self.program.inputs.size), dtype)
        scale = self._work.loss_scale
        flows = np.zeros((len(done.spaces), tables.flow), dtype)
        self._work.do(
            self._backward,
            tables,
            done.samples,
            done.spaces,
            flows,
            goals=self.array(upstream * scale),
            outputs=by_inputs,
            partial=partial,
        )
        self._work.add_gradients(tables, partial, range(len(tables.operations)))
        by_inputs /= by_inputs.dtype.type(scale)
        return by_inputs

    def forget(self) -> None:
        self._waiting.clear()

    def run(self, batches: Batches, loss: Loss) -> CpuRun:
        return CpuRun(self, self._work, self._tables, batches, loss)
