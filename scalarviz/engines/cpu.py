"""The cpu engine: a network's program, run by numba kernels on whole batches.

It knows operations and buffers, and no layers. Kernels are compiled when a machine first meets
them, and kept on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.bank import Bank
from scalarviz.checks import FloatArray
from scalarviz.engines import cpu_batches, kernel_file
from scalarviz.engines.base import Engine
from scalarviz.engines.cpu_products import TILE
from scalarviz.engines.cpu_tables import Tables, Unsigned, make_tables
from scalarviz.errors import OrderError, ShapeError
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.formulas.schedules import SCHEDULES
from scalarviz.layers import Layer
from scalarviz.optimizer import Optimizer
from scalarviz.program import Program

LEAST_CHUNK = 64  # samples; a smaller batch is not worth cutting
MOST_CHUNKS = 8
# Numba's plainest way to run threads ends the whole process if two of ours use it at once.
ONE_AT_A_TIME = threading.Lock()
WORTH_CORES = 250_000  # multiplications; below, starting a second core costs more than it does


@dataclass(frozen=True, slots=True)
class Pass:
    """A batch on its way: what a forward has kept for its backward."""

    samples: int
    spaces: FloatArray  # a workspace for each tile
    tiles: Unsigned  # first sample, number of samples and chunk of each tile


@dataclass(frozen=True, slots=True)
class Workspace:
    """Room for training on batches of one size."""

    order: Unsigned  # which samples, in which order
    space: FloatArray  # for each chunk the workspace of a tile
    flow: FloatArray  # the same for gradients
    partial: FloatArray  # for each chunk its gradient
    scratch: FloatArray  # the gradients as an update sees them
    errors: FloatArray  # for each chunk the sum of its errors


@final
class CpuEngine(Engine):
    """Runs a program in tiles, on all cores that numba may use."""

    name = "cpu"

    def __init__(self, layers: Sequence[Layer], program: Program, bank: Bank) -> None:
        super().__init__(layers, program, bank)
        self.kernels: Any = kernel_file.load(cpu_batches.__name__, bank.dtype)
        self.tables: Tables = make_tables(program, bank.dtype)
        self._passes: list[Pass] = []
        self._work: Workspace | None = None

    def forward(self, batch: FloatArray) -> FloatArray:
        tiles = cut(len(batch))
        spaces = np.zeros((len(tiles), self.tables.space), self.bank.dtype)
        order = np.arange(len(batch), dtype=np.uint64)
        data = self.array(batch)
        with ONE_AT_A_TIME:
            self.kernels.load_batch(spaces, np.uint64(0), data, order, tiles)
            self.kernels.forward_tiles(
                self.tables.operations, self.tables.settings, self.bank.value, spaces, tiles
            )
        outputs = np.empty((len(batch), self.program.outputs.size), self.bank.dtype)
        self.kernels.store_batch(spaces, self.tables.plan[cpu_batches.OUT], outputs, tiles)
        self._passes.append(Pass(len(batch), spaces, tiles))
        return outputs

    def evaluate(self, batch: FloatArray) -> FloatArray:
        tables, work = self.tables, self._workspace(len(batch))
        outputs = np.empty((len(batch), self.program.outputs.size), self.bank.dtype)
        data = self.array(batch)
        with ONE_AT_A_TIME:
            self.kernels.evaluate(
                tables.plan,
                tables.operations,
                tables.settings,
                self.bank.value,
                data,
                work.order,
                work.space,
                outputs,
            )
        return outputs

    def newest_batch(self) -> int:
        if not self._passes:
            raise OrderError("backward of the network without a forward: call forward first")
        return self._passes[-1].samples

    def check_backward(self, samples: int) -> None:
        if self.newest_batch() != samples:
            raise ShapeError(
                f"the network was last given {self.newest_batch()} samples, and its backward "
                f"{samples}: pass one row of upstream gradients for each sample"
            )

    def backward(self, upstream: FloatArray) -> FloatArray:
        done = self._passes.pop()
        tables = self.tables
        flows = np.zeros((len(done.tiles), tables.flow), self.bank.dtype)
        order = np.arange(done.samples, dtype=np.uint64)
        arrived = self.array(upstream)
        partial = np.zeros((count_chunks(done.samples), len(self.bank)), self.bank.dtype)
        with ONE_AT_A_TIME:
            self.kernels.load_batch(
                flows, tables.plan[cpu_batches.FLOW_OUT_0], arrived, order, done.tiles
            )
            self.kernels.backward_tiles(
                tables.operations,
                tables.settings,
                self.bank.value,
                done.spaces,
                flows,
                done.tiles,
                partial,
            )
        for chunk in partial:
            self.bank.grad += chunk
        self.bank.has_gradients = True
        by_inputs = np.empty((done.samples, self.program.inputs.size), self.bank.dtype)
        self.kernels.store_batch(flows, np.uint64(tables.flow_inputs), by_inputs, done.tiles)
        return by_inputs

    def forget(self) -> None:
        self._passes.clear()

    def train(
        self,
        inputs: FloatArray,
        targets: FloatArray,
        loss: Loss,
        optimizer: Optimizer,
        steps: int,
    ) -> FloatArray:
        bank, tables = self.bank, self.tables
        losses = np.empty(steps)
        work = self._workspace(len(inputs))
        rates = (
            optimizer.lr, optimizer.clip_norm, optimizer.clip_value, optimizer.l1, optimizer.l2
        )  # fmt: skip
        plan = self._plan(loss, optimizer, len(inputs))
        with ONE_AT_A_TIME if plan[cpu_batches.PARALLEL] else nullcontext():
            done, bad = self.kernels.train(
                plan,
                tables.operations,
                tables.settings,
                bank.value,
                bank.grad,
                bank.slot_block(optimizer.row.slots),
                bank.frozen,
                self.array(inputs),
                self.array(targets),
                work.order,
                bank.value.dtype.type(loss.scale(targets.shape)),
                np.array(rates),
                np.array(list(optimizer.settings.values()), dtype=np.float64),
                np.array(list(optimizer.schedule.settings.values()), dtype=np.float64),
                np.empty(len(optimizer.arguments(0)), bank.dtype),
                work.space,
                work.flow,
                work.partial,
                work.scratch,
                work.errors,
                losses,
                bank.step_count,
            )
        bank.has_gradients = True
        bank.count_steps(done)
        if bad >= 0:
            raise bank.bad_gradient(bad)
        return losses

    def _plan(self, loss: Loss, optimizer: Optimizer, samples: int) -> Unsigned:
        """The plan of the tables, with the formulas of this training."""
        plan = self.tables.plan.copy()
        work = samples * len(self.bank)
        plan[cpu_batches.PARALLEL] = count_chunks(samples) > 1 and work > WORTH_CORES
        plan[cpu_batches.LOSS] = [*LOSSES, *ROW_LOSSES].index(loss.name)
        plan[cpu_batches.OPTIMIZER] = list(OPTIMIZERS).index(optimizer.name)
        plan[cpu_batches.SCHEDULE] = list(SCHEDULES).index(optimizer.schedule.name)
        plan[cpu_batches.REFUSE] = optimizer.not_finite == "error"
        return plan

    def _workspace(self, samples: int) -> Workspace:
        """Room for a batch of this size, kept from the last time."""
        if self._work is None or len(self._work.order) != samples:
            chunks, dtype, rows = count_chunks(samples), self.bank.dtype, len(self.bank)
            self._work = Workspace(
                np.arange(samples, dtype=np.uint64),
                np.zeros((chunks, self.tables.space), dtype),
                np.zeros((chunks, self.tables.flow), dtype),
                np.zeros((chunks, rows), dtype),
                np.zeros(rows, dtype),
                np.zeros(chunks),
            )
        return self._work


def count_chunks(samples: int) -> int:
    """Into how many chunks a batch is cut; that depends on nothing but its size."""
    return max(1, min(MOST_CHUNKS, samples // LEAST_CHUNK))


def cut(samples: int) -> Unsigned:
    """The tiles of a batch: the first sample, the number of samples and the chunk of each."""
    tiles = []
    chunks = count_chunks(samples)
    for chunk in range(chunks):
        first, end = chunk * samples // chunks, (chunk + 1) * samples // chunks
        for start in range(first, end, int(TILE)):
            tiles.append((start, min(int(TILE), end - start), chunk))
    return np.array(tiles, np.uint64)
