"""Moments: one training step on the cpu engine, moment by moment, with all intermediate values.

Every tile has its own workspace. The kernels are those of a whole step, so results have the same
bits.
"""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.program import Moment
from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.batch_passes import BatchPasses
from scalarviz.engines.cpu.calls import CpuCalls
from scalarviz.engines.cpu.passes import pass_of, passes
from scalarviz.engines.cpu.records import Records
from scalarviz.engines.cpu.room import Room
from scalarviz.engines.cpu.sizes import count_chunks, row_stride, tile_starts
from scalarviz.engines.cpu.tables import make_tables, plan_loss, workspaces
from scalarviz.engines.cpu.units import units_of_loss


@final
class Moments:
    """Values and gradients of one batch, as far as they have been computed."""

    def __init__(self, work: CpuCalls, inputs: FloatArray, targets: FloatArray, loss: Loss) -> None:
        self.work = work
        self.targets = targets
        self.loss_function = loss
        self.loss = np.nan
        bank, program = work.bank, work.program
        self.samples = len(inputs)
        self.starts = tile_starts(self.samples)
        self.tables = make_tables(program, bank.dtype, work.precision, apart=True)
        self.plan = plan_loss(self.tables, program, loss)
        tiles = len(self.starts) - 1
        self.spaces = workspaces(tiles, self.tables.space, bank.dtype)
        self.flows = workspaces(tiles, self.tables.flow, bank.dtype)
        partial = np.zeros((count_chunks(self.samples), self.tables.gradients), bank.dtype)
        self.room = Room(self.spaces, self.flows, partial, len(bank.state))
        for field, kernel in work.load(units_of_loss(loss)).items():
            self.plan[field] = kernel.address
        self._passes = BatchPasses(work, self.tables, self.samples, self.plan, apart=True)
        self._passes.use(self.room)
        load = passes(plans.DO_LOAD | plans.DO_KEEP, [0], [0], [0])
        self._do(load, data=inputs)

    def perform(self, moment: Moment) -> None:
        """Run one moment of a step, other than zero_grad and step."""
        goals = self.targets if moment.kind == "loss" else None
        errors = self._do(pass_of(moment, self.work.program), goals=goals)
        if moment.kind == "loss":
            mean = self.loss_function.scale(self.targets.shape)
            self.loss = sum(errors.tolist()) * mean
        elif moment.kind == "weight gradient":
            self._passes.add_gradients(range(moment.operation, moment.operation + 1))

    def _do(
        self,
        todo: Records,
        data: FloatArray | None = None,
        goals: FloatArray | None = None,
    ) -> FloatArray:
        bank = self.work.bank
        mean = self.loss_function.scale(self.targets.shape)
        scale = bank.value.dtype.type(mean) * bank.value.dtype.type(self.work.loss_scale)
        return self._passes.run(todo, data=data, goals=goals, scale=scale)

    def read(self, spaces: FloatArray, row: int, size: int) -> FloatArray:
        """Return `size` rows of all workspaces, from `row` on, as shape (samples, size)."""
        width = row_stride(self.samples)
        first = row * width
        tiles = [space[first : first + size * width].reshape(size, width) for space in spaces]
        counts = np.diff(self.starts)
        return np.concatenate([t[:, :n].T for t, n in zip(tiles, counts, strict=True)])
