"""CudaCalls: launches of the kernels for one batch, and of many whole steps at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.cuda import kernels, places, steps
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.memory import Memory
from scalarviz.engines.cuda.tables import formula_rows, make_layout
from scalarviz.model.bank import Bank
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

THREADS = 256
BLOCKS_EACH = 4  # blocks per multiprocessor
SHARED = 47 * 1024  # bytes; a block has 48 KiB on every GPU, of which static arrays take some


@dataclass
class Device:
    """Launch configuration. No result depends on it."""

    simulated: bool
    blocks: int
    threads: int
    stream: Any

    @staticmethod
    def current() -> Device:
        """Return the GPU that numba has chosen, or its simulator."""
        if cuda.config.ENABLE_CUDASIM:
            return Device(True, 3, 4, cuda.stream())
        processors = cuda.get_current_device().MULTIPROCESSOR_COUNT
        return Device(False, processors * BLOCKS_EACH, THREADS, cuda.stream())


@final
class CudaCalls:
    """One batch of a network on a GPU. k is the index of a step in a call, i of an operation."""

    def __init__(
        self, program: Program, bank: Bank, precision: Precision, samples: int, device: Device
    ) -> None:
        self.program = program
        self.bank = bank
        self.device = device
        self.samples = samples
        self.layout = make_layout(program, bank, precision, samples, SHARED)
        self.memory = Memory(self.layout, bank.dtype, device.stream)
        self._rows = formula_rows()
        self._together: int | None = None  # blocks of `train` that can run at the same time
        self.kernels: Any = cuda_file.load(kernels.__name__, bank.dtype)

    @property
    def outdated(self) -> bool:
        """Whether a formula of the user's own has been added since the kernels were made."""
        return self._rows != formula_rows()

    # ---- launches

    def _launch(self, kernel: Any, *arguments: Any, shared: int = 0) -> None:
        device = self.device
        kernel[device.blocks, device.threads, device.stream, shared](*arguments)

    @property
    def _arrays(self) -> tuple[Any, Any, Any]:
        return self.memory.plan, self.memory.arena, self.memory.scalars

    def begin(self, slots: tuple[str, ...] = ()) -> None:
        """Copy plan and bank to the device."""
        self.memory.put_plan()
        self.memory.put_bank(self.bank, slots)
        self._launch(self.kernels.round_weights, self.memory.plan, self.memory.arena)

    def draw(self, k: int) -> None:
        """Draw the samples of step k."""
        self._launch(self.kernels.draw_batch, *self._arrays, self.memory.data, k)

    def forward(self, k: int, i: int) -> None:
        """Run the forward of one operation on the samples of step k."""
        operation, op = self.program.operations[i], self.layout.op(i)
        if operation.about.statistics(operation):
            self._launch(self.kernels.gather_all, *self._arrays, k, op)
        self._launch(self.kernels.forward_all, *self._arrays, k, op)

    def loss(self, k: int) -> None:
        """Compute the loss of step k."""
        self._launch(self.kernels.sum_errors, *self._arrays, k)
        self._launch(self.kernels.loss_all, self.memory.plan, self.memory.scalars, k)

    def loss_gradient(self, k: int) -> None:
        """Compute the gradient of the loss with respect to the outputs."""
        self._launch(self.kernels.loss_gradient_all, *self._arrays, k)

    def keep_upstream(self) -> None:
        """Round the gradients of the outputs that the caller passed."""
        self._launch(self.kernels.keep_upstream, self.memory.plan, self.memory.arena)

    def parameter_gradient(self, k: int, i: int) -> None:
        """Add the gradient of an operation's parameters to that of the bank."""
        op = self.layout.op(i)
        self._launch(self.kernels.parameter_gradients, *self._arrays, k, op)
        self._launch(self.kernels.add_all, *self._arrays, op)

    def input_gradient(self, k: int, i: int) -> None:
        """Compute the gradient with respect to the inputs of an operation."""
        operation, op = self.program.operations[i], self.layout.op(i)
        if operation.about.statistics(operation):
            self._launch(self.kernels.gather_back_all, *self._arrays, k, op)
        self._launch(self.kernels.input_gradient_all, *self._arrays, k, op)

    def clear(self) -> None:
        """Set all gradients to 0."""
        self._launch(self.kernels.clear_all, self.memory.plan, self.memory.arena)

    def move(self, k: int) -> None:
        """Run the optimizer's part of step k."""
        self._launch(self.kernels.look_over, *self._arrays)
        self._launch(self.kernels.move_all, *self._arrays, k)

    # ---- whole steps

    @property
    def fits(self) -> bool:
        """Whether blocks can take samples through whole steps, with room in shared memory.

        Not possible with statistics of the whole batch, for which all samples must have arrived.
        """
        operations = self.program.operations
        alone = not any(each.about.statistics(each) for each in operations)
        return alone and bool(self.layout.plan[places.WIDTH] > 0)

    @property
    def shared(self) -> int:
        """Bytes of shared memory that a block of a whole step needs."""
        plan = self.layout.plan
        rows = plan[places.SPACE_ROWS] + plan[places.FLOW_ROWS]
        return int(rows * plan[places.WIDTH]) * self.memory.dtype.itemsize

    def whole_steps(self, count: int) -> None:
        """Run many steps in one launch; part by part where blocks cannot synchronize."""
        arrays, data, device = self._arrays, self.memory.data, self.device
        parts = cuda_file.load(steps.__name__, self.bank.dtype)
        if self._together is None:
            self._together = self._blocks_together(parts.train, count)
        if self._together:
            launch = parts.train[self._together, device.threads, device.stream, self.shared]
            launch(*arrays, data, count)
            return
        for k in range(count):
            self._launch(parts.samples_alone, *arrays, data, k, shared=self.shared)
            self._launch(parts.sums_alone, *arrays, k)
            self._launch(parts.squares_alone, *arrays)
            self._launch(self.kernels.move_all, *arrays, k)

    def _blocks_together(self, train: Any, count: int) -> int:
        """Return how many blocks of `train` can run at the same time, at most one a chunk."""
        if self.device.simulated or not cuda.get_current_device().COOPERATIVE_LAUNCH:
            return 0
        arguments = *self._arrays, self.memory.data, count
        signature = tuple(map(train.typeof_pyval, arguments))
        train.compile(signature)
        overload = train.overloads[signature]
        most = overload.max_cooperative_grid_blocks(self.device.threads, self.shared)
        return int(min(most, max(self.layout.plan[places.CHUNKS], 1)))

    # ---- buffers

    def values(self, row: int, size: int, count: int) -> FloatArray:
        """Return rows of the workspace of values, shape (samples, size)."""
        return self._read(places.SPACE, row, size, count)

    def gradients(self, row: int, size: int, count: int) -> FloatArray:
        """Return rows of the workspace of gradients, shape (samples, size)."""
        return self._read(places.FLOW, row, size, count)

    def _read(self, part: int, row: int, size: int, count: int) -> FloatArray:
        first = int(self.layout.plan[part]) + row * self.samples
        table = self.memory.read(first, size * self.samples).reshape(size, self.samples)
        return np.ascontiguousarray(table[:, :count].T)

    def write(self, part: int, row: int, table: FloatArray) -> None:
        """Write a table, shape (samples, size), to rows of a workspace."""
        rows = np.zeros((table.shape[1], self.samples), self.memory.dtype)
        rows[:, : len(table)] = table.T
        self.memory.write(int(self.layout.plan[part]) + row * self.samples, rows.ravel())
