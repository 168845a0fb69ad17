"""CpuCalls: calls of the cpu engine's kernels for one network; sizes of chunks and tiles."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import kernel_file
from scalarviz.engines.common.cores import ONE_AT_A_TIME
from scalarviz.engines.cpu import replicas_kernel, tiles
from scalarviz.engines.cpu.products import TILE
from scalarviz.engines.cpu.records import Records
from scalarviz.engines.cpu.tables import Tables
from scalarviz.formulas.losses import Loss
from scalarviz.model.bank import Bank
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

# One file for all kernels, so that shared functions are compiled once.
TEMPLATE = replicas_kernel.__name__


@final
class CpuCalls:
    """Calls kernels for one network, with its bank and precision."""

    def __init__(self, program: Program, bank: Bank, precision: Precision) -> None:
        self.program = program
        self.bank = bank
        self.precision = precision
        self.kernels: Any = kernel_file.load(TEMPLATE, bank.dtype)
        self.rooms: dict[
            tuple[int, ...], Any
        ] = {}  # buffers of the last call that no run uses, by sizes
        self._none = np.empty((0, 0), bank.dtype)

    @property
    def loss_scale(self) -> float:
        """Factor of the gradients during backward; 1 unless precision is mixed."""
        return float(self.bank.scaling[0]) if self.precision.mixed else 1.0

    def weights(self) -> FloatArray:
        """Return the weights that kernels read: in mixed precision a copy, rounded to half."""
        if not self.precision.mixed:
            return self.bank.value
        rounded = np.empty_like(self.bank.value)
        self.kernels.round_all(self.bank.value, rounded)
        return rounded

    def do(
        self,
        passes: Records,
        tables: Tables,
        samples: int,
        spaces: FloatArray,
        flows: FloatArray,
        *,
        data: FloatArray | None = None,
        goals: FloatArray | None = None,
        outputs: FloatArray | None = None,
        partial: FloatArray | None = None,
        plan: Records | None = None,
        scale: float = 1.0,
    ) -> FloatArray:
        """Run passes on a whole batch, and return the sum of errors of each chunk."""
        chunks, none = count_chunks(samples), self._none
        errors, weights = np.zeros(chunks), self.weights()
        with ONE_AT_A_TIME:
            self.kernels.run_passes(
                tables.plan if plan is None else plan,
                passes,
                tables.operations,
                tables.settings,
                weights,
                self.bank.state,
                self.bank.frozen,
                none if data is None else data,
                np.arange(samples, dtype=np.uint64),
                none if goals is None else goals,
                none if outputs is None else outputs,
                np.uint64(samples),
                self.bank.step_count,
                self.bank.value.dtype.type(scale),
                spaces,
                flows,
                np.empty((chunks, 0), self.bank.dtype) if partial is None else partial,
                errors,
            )
        return errors

    def add_gradients(self, tables: Tables, partial: FloatArray, operations: range) -> None:
        """Add the gradients of all chunks, for a range of operations, to those of the bank."""
        self.kernels.add_chunks(
            tables.plan,
            tables.operations,
            operations.start,
            operations.stop,
            partial,
            np.uint64(len(partial)),
            self.bank.grad,
            self.bank.state,
        )
        self.bank.has_gradients = True


def count_chunks(samples: int) -> int:
    """Return the number of chunks of a batch; it depends on the size only."""
    return int(tiles.count_chunks(np.uint64(samples)))


def row_stride(samples: int) -> int:
    """Return how many numbers lie between two rows of a tile, for a batch of this size."""
    return int(tiles.row_stride(np.uint64(samples)))


def add_errors(errors: FloatArray) -> FloatArray:
    """Sum errors of shape (steps, chunks) over the chunks, in order."""
    total = np.zeros(len(errors))
    for column in errors.T:
        total += column
    return total


def means(loss: Loss, batches: Batches, outputs: int, first: int, count: int) -> FloatArray:
    """Return the normalisation factor of the loss for each step from `first` on."""
    whole, last = [loss.scale((n, outputs)) for n in (batches.size, batches.count(-1))]
    if whole == last:
        return np.full(count, whole)
    steps = np.arange(first, first + count)
    return np.where((steps + 1) % batches.steps_an_epoch, whole, last)


def count_tiles(samples: int) -> int:
    """Return the number of tiles of all chunks of a batch."""
    return len(tile_starts(samples)) - 1


def tile_starts(samples: int) -> list[int]:
    """Return the index of the first sample of each tile, then the number of samples."""
    chunks = count_chunks(samples)
    bounds = [chunk * samples // chunks for chunk in range(chunks + 1)]
    starts = [start for first, end in pairwise(bounds) for start in range(first, end, int(TILE))]
    return [*starts, samples]
