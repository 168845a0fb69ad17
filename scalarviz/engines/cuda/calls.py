"""What a GPU does for a network on one batch, kernel by kernel, and many steps in one launch.

An operation of a kind that has no CUDA kernel is done on the host, on numbers that are fetched and
sent back; that is said once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.codegen import kernel_file
from scalarviz.engines.common.reference import (
    OperationArrays,
    operation_backward,
    operation_forward,
    parameter_gradient,
    remember,
)
from scalarviz.engines.cuda import kernels as cuda_kernels
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda import steps as cuda_steps
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.memory import Memory
from scalarviz.engines.cuda.table import KERNELS
from scalarviz.engines.cuda.tables import make_layout
from scalarviz.errors.messages import inform
from scalarviz.model.bank import Bank
from scalarviz.model.operations import Operation
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

KINDS_HERE = set(KERNELS)  # what there are CUDA kernels for
THREADS = 256
BLOCKS_EACH = 4  # blocks for each of a GPU's processors
SHARED = 47 * 1024  # bytes; every GPU gives a block 48 KiB, and some go to what all threads share
_announced: set[str] = set()


@dataclass
class Device:
    """How kernels are launched here. No number depends on it."""

    simulated: bool
    blocks: int
    threads: int
    stream: Any

    @staticmethod
    def current() -> Device:
        """The GPU that numba has chosen, or its simulator."""
        if cuda.config.ENABLE_CUDASIM:
            return Device(True, 3, 4, cuda.stream())
        processors = cuda.get_current_device().MULTIPROCESSOR_COUNT
        return Device(False, processors * BLOCKS_EACH, THREADS, cuda.stream())


@final
class CudaCalls:
    """One batch of a network on a GPU. k is the place of a step in an order, i of an operation."""

    def __init__(
        self, program: Program, bank: Bank, precision: Precision, samples: int, device: Device
    ) -> None:
        self.program = program
        self.bank = bank
        self.device = device
        self.samples = samples
        self.layout = make_layout(program, bank, precision, samples, SHARED)
        self.memory = Memory(self.layout, bank.dtype, device.stream)
        self._together: int | None = None  # blocks of a whole step that can run at the same time
        self.kernels: Any = kernel_file.load(cuda_kernels.__name__, bank.dtype, "cuda")

    # ---- launches

    def _launch(self, kernel: Any, *arguments: Any, shared: int = 0) -> None:
        device = self.device
        kernel[device.blocks, device.threads, device.stream, shared](*arguments)

    @property
    def _arrays(self) -> tuple[Any, Any, Any]:
        return self.memory.plan, self.memory.arena, self.memory.scalars

    def begin(self, slots: tuple[str, ...] = ()) -> None:
        """Everything that the host knows goes to the device."""
        self.memory.put_plan()
        self.memory.put_bank(self.bank, slots)
        self._launch(self.kernels.round_weights, self.memory.plan, self.memory.arena)

    def draw(self, k: int) -> None:
        """The samples of a step."""
        self._launch(self.kernels.draw_batch, *self._arrays, self.memory.data, k)

    def forward(self, k: int, i: int, count: int) -> None:
        """One operation on `count` samples."""
        operation = self.program.operations[i]
        if operation.kind in KINDS_HERE:
            if operation.about.statistics(operation):
                self._launch(self.kernels.gather_all, *self._arrays, k, self.layout.op(i))
            self._launch(self.kernels.forward_all, *self._arrays, k, self.layout.op(i))
            return
        announce(operation.kind)
        numbers = self._numbers(operation, count)
        self.write(
            places.SPACE, operation.target.offset, self._kept(operation_forward(operation, numbers))
        )
        if numbers.learning and self.memory.host_plan[places.OVERFLOWED] >= k:
            remember(operation, numbers)
            self.memory.put_state(numbers.state)

    def loss(self, k: int) -> None:
        """The loss of a step."""
        self._launch(self.kernels.sum_errors, *self._arrays, k)
        self._launch(self.kernels.loss_all, self.memory.plan, self.memory.scalars, k)

    def loss_gradient(self, k: int) -> None:
        """The gradient of the loss by the outputs."""
        self._launch(self.kernels.loss_gradient_all, *self._arrays, k)

    def keep_upstream(self) -> None:
        """Gradients by the outputs that came from outside, as they are to be kept."""
        self._launch(self.kernels.keep_upstream, self.memory.plan, self.memory.arena)

    def parameter_gradient(self, k: int, i: int, count: int) -> None:
        """The gradient by the parameters of an operation is added to that of the bank."""
        operation, op = self.program.operations[i], self.layout.op(i)
        if operation.kind in KINDS_HERE:
            self._launch(self.kernels.parameter_gradients, *self._arrays, k, op)
        else:
            announce(operation.kind)
            self._parameter_gradient_here(operation, op, count)
        self._launch(self.kernels.add_all, *self._arrays, op)

    def input_gradient(self, k: int, i: int, count: int) -> None:
        """The gradient by what an operation read."""
        operation = self.program.operations[i]
        if operation.kind in KINDS_HERE:
            if operation.about.statistics(operation):
                self._launch(self.kernels.gather_back_all, *self._arrays, k, self.layout.op(i))
            self._launch(self.kernels.input_gradient_all, *self._arrays, k, self.layout.op(i))
            return
        announce(operation.kind)
        gradient = operation_backward(operation, self._numbers(operation, count, back=True))
        self.write(places.FLOW, operation.source.offset, self._kept(gradient))

    def clear(self) -> None:
        """zero_grad."""
        self._launch(self.kernels.clear_all, self.memory.plan, self.memory.arena)

    def move(self, k: int) -> None:
        """The optimizer's part of a step."""
        self._launch(self.kernels.look_over, *self._arrays)
        self._launch(self.kernels.move_all, *self._arrays, k)

    # ---- whole steps

    @property
    def fits(self) -> bool:
        """Whether blocks can take samples all the way, each some of them, and have room for them.

        Where statistics of the whole batch are needed, all samples must arrive there first.
        """
        operations = self.program.operations
        alone = all(
            each.kind in KINDS_HERE and not each.about.statistics(each) for each in operations
        )
        return alone and bool(self.layout.plan[places.WIDTH] > 0)

    @property
    def shared(self) -> int:
        """The bytes of shared memory that a block of a whole step needs."""
        plan = self.layout.plan
        rows = plan[places.SPACE_ROWS] + plan[places.FLOW_ROWS]
        return int(rows * plan[places.WIDTH]) * self.memory.dtype.itemsize

    def whole_steps(self, steps: int) -> None:
        """Many steps in one launch; part by part where the blocks cannot wait for each other."""
        arrays, data, device = self._arrays, self.memory.data, self.device
        parts = kernel_file.load(cuda_steps.__name__, self.bank.dtype, "cuda")
        if self._together is None:
            self._together = self._blocks_together(parts.train, steps)
        if self._together:
            launch = parts.train[self._together, device.threads, device.stream, self.shared]
            launch(*arrays, data, steps)
            return
        for k in range(steps):
            self._launch(parts.samples_alone, *arrays, data, k, shared=self.shared)
            self._launch(parts.sums_alone, *arrays, k)
            self._launch(parts.squares_alone, *arrays)
            self._launch(self.kernels.move_all, *arrays, k)

    def _blocks_together(self, train: Any, steps: int) -> int:
        """How many blocks of a whole step can run at the same time; no more than there is work."""
        if self.device.simulated or not cuda.get_current_device().COOPERATIVE_LAUNCH:
            return 0
        arguments = *self._arrays, self.memory.data, steps
        signature = tuple(map(train.typeof_pyval, arguments))
        train.compile(signature)
        overload = train.overloads[signature]
        most = overload.max_cooperative_grid_blocks(self.device.threads, self.shared)
        return int(min(most, max(self.layout.plan[places.CHUNKS], 1)))

    # ---- buffers

    def values(self, row: int, size: int, count: int) -> FloatArray:
        """Rows of the workspace of values, as a table of one row a sample."""
        return self._read(places.SPACE, row, size, count)

    def gradients(self, row: int, size: int, count: int) -> FloatArray:
        """The same of the workspace of gradients."""
        return self._read(places.FLOW, row, size, count)

    def _read(self, part: int, row: int, size: int, count: int) -> FloatArray:
        first = int(self.layout.plan[part]) + row * self.samples
        table = self.memory.read(first, size * self.samples).reshape(size, self.samples)
        return np.ascontiguousarray(table[:, :count].T)

    def write(self, part: int, row: int, table: FloatArray) -> None:
        """A table of one row a sample into rows of a workspace."""
        rows = np.zeros((table.shape[1], self.samples), self.memory.dtype)
        rows[:, : len(table)] = table.T
        self.memory.write(int(self.layout.plan[part]) + row * self.samples, rows.ravel())

    # ---- on the host

    def _numbers(self, operation: Operation, count: int, *, back: bool = False) -> OperationArrays:
        """What an operation is done with, as it is on the device just now."""
        memory, other = self.memory, operation.other
        memory.take_plan()
        plan, place = memory.host_plan, places.STATE_NUMBERS
        read = self.gradients if back else self.values
        return OperationArrays(
            memory.read(int(plan[places.WEIGHTS]), len(self.bank)),
            memory.host_scalars[place : place + len(self.bank.state)].copy(),
            int(plan[places.STEPS_TAKEN_AFTER]),
            self.values(operation.source.offset, operation.source.size, count),
            read(other.offset, other.size, count) if other else None,
            self.values(operation.target.offset, operation.target.size, count) if back else None,
            self.gradients(operation.target.offset, operation.target.size, count) if back else None,
            bool(plan[places.LEARNING]) and not operation.is_held(self.bank.frozen),
        )

    def _kept(self, table: FloatArray) -> FloatArray:
        """Numbers as the device would keep them."""
        with np.errstate(over="ignore"):
            return table.astype(np.float16) if self.layout.plan[places.HALF] else table

    def _parameter_gradient_here(self, operation: Operation, op: int, count: int) -> None:
        """All of the gradient is put down as what the first chunk found."""
        plan, source, target = self.layout.plan, operation.source, operation.target
        x = self.values(source.offset, source.size, count).astype(np.float64)
        g = self.gradients(target.offset, target.size, count).astype(np.float64)
        found = parameter_gradient(operation, x, g)
        for chunk in range(plan[places.CHUNKS]):
            place = (
                plan[places.PARTIALS]
                + chunk * plan[places.PARTIAL_SIZE]
                + plan[op + places.PARTIAL]
            )
            self.memory.write(int(place), found if chunk == 0 else np.zeros_like(found))


def announce(kind: str) -> None:
    """Say once that operations of a kind run on the host."""
    if kind not in _announced:
        _announced.add(kind)
        message = f"scalarviz: the cuda engine has no kernel for {kind!r}; the cpu does that part"
        inform(message)
