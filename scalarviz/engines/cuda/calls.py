"""CudaCalls: launches of the kernels for one batch, and of many whole steps at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Operation, Program
from scalarviz.data.batches import Batches
from scalarviz.engines.cuda import kernels, places, steps
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.fallback import HostOperations
from scalarviz.engines.cuda.fused.launch import FusedSteps
from scalarviz.engines.cuda.graphs import Launch, Steps, nvidia
from scalarviz.engines.cuda.memory import Memory
from scalarviz.engines.cuda.tables import (
    fits,
    formula_rows,
    make_layout,
    set_batches,
    set_loss,
    set_optimizer,
)
from scalarviz.engines.cuda.units import (
    KernelsInUse,
    Launched,
    rows_of_batches,
    rows_of_loss,
    rows_of_optimizer,
)

THREADS = 256
BLOCKS_EACH = 4  # blocks per multiprocessor
SHARED = 44 * 1024  # bytes; a block has 48 KiB on every GPU, of which static arrays take some
RESERVED = 5 * 1024  # bytes of a block's memory that static arrays and the driver take


@dataclass
class Device:
    """Launch configuration. No result depends on it."""

    simulated: bool
    blocks: int
    threads: int
    stream: Any
    # Bytes of shared memory that a block may have in whole steps, besides static arrays; 0 if
    # blocks cannot wait for each other.
    shared: int = SHARED

    @staticmethod
    def current() -> Device:
        """Return the GPU that numba has chosen, or its simulator."""
        if cuda.config.ENABLE_CUDASIM:
            return Device(True, 3, 4, cuda.stream())
        card = cuda.get_current_device()
        blocks = card.MULTIPROCESSOR_COUNT * BLOCKS_EACH
        # More than 48 KiB are there for kernels that ask for it, see `ask_for_shared`.
        most = max(SHARED, card.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN - RESERVED)
        return Device(False, blocks, THREADS, cuda.stream(), most * bool(card.COOPERATIVE_LAUNCH))


def ask_for_shared(overload: Any, size: int) -> None:
    """Let a compiled kernel be launched with so many bytes of dynamic shared memory, at most.

    All trainings with these formulas launch it: so it is asked for all that a block may have.
    """
    driver = nvidia()
    attributes = driver.binding.CUfunction_attribute
    wanted = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    function = overload._codelibrary.get_cufunc()
    driver.driver.cuKernelSetAttribute(wanted, size, function.handle, function.device.id)


@final
class CudaCalls:
    """One batch of a network on a GPU. i is the index of an operation."""

    def __init__(
        self,
        program: Program,
        bank: Bank,
        samples: int,
        device: Device,
        learning: bool = True,
    ) -> None:
        self.learning = learning
        self.program = program
        self.bank = bank
        self.device = device
        self.samples = samples
        self.fused = FusedSteps()
        self.layout = make_layout(program, bank, samples, device.shared, learning)
        self.memory = Memory(self.layout, bank.dtype, device.stream)
        self._rows = formula_rows()
        self._together = 0  # blocks of `train` that can run at the same time
        self._prepared: Any = None  # the kernel that `_together` is of
        self.steps = Steps(device.stream, graphs=not device.simulated)
        self._noted: list[Launch] | None = None  # instead of being launched, while a step is noted
        self.kernels = KernelsInUse(program, bank.dtype)
        self.host = HostOperations(program, samples)

    @property
    def outdated(self) -> bool:
        """Whether a formula of the user's own has been added since the kernels were made."""
        return self._rows != formula_rows()

    # ---- formulas in use: the fields of the plan, and the kernels made for them

    def use_loss(self, loss: Loss) -> None:
        memory, outputs = self.memory, self.program.outputs.size
        set_loss(memory.host_plan, memory.host_scalars, loss, outputs)
        self.kernels.use("loss", rows_of_loss(loss))

    def use_optimizer(self, optimizer: Optimizer) -> None:
        set_optimizer(self.memory.host_plan, self.memory.host_scalars, optimizer)
        self.kernels.use("optimizer", rows_of_optimizer(optimizer))

    def use_batches(self, batches: Batches) -> None:
        set_batches(self.memory.host_plan, self.memory.host_scalars, batches)
        self.kernels.use("batches", rows_of_batches(batches))

    # ---- launches

    def _launch(
        self, function: Launched, *arguments: Any, operation: Operation | None = None
    ) -> None:
        """Launch a kernel, or note that it is to be."""
        kernel, device = self.kernels.of(function, operation), self.device
        launch = Launch(kernel, arguments, device.blocks, device.threads)
        if self._noted is None:
            launch.on(device.stream)()
        else:
            self._noted.append(launch)

    def repeat(self, step: Callable[[], None], counts: list[int]) -> None:
        """Take steps of so many samples, each of which launches what `step` launches."""
        if self.host.references:
            self.host.steps(step, counts)
            return
        launches: list[Launch] = []
        self._noted = launches
        try:
            step()
        finally:
            self._noted = None
        self.steps.repeat(launches, len(counts))

    @property
    def _arrays(self) -> tuple[Any, Any, Any]:
        return self.memory.plan, self.memory.arena, self.memory.scalars

    def begin(self, slots: tuple[str, ...] = ()) -> None:
        """Copy plan and bank to the device."""
        self.memory.put_bank(self.bank, slots)
        self.memory.put_plan()

    def draw(self) -> None:
        """Draw the samples of a step."""
        self._launch(kernels.draw_batch, *self._arrays, self.memory.data)

    def forward(self, i: int) -> None:
        """Run the forward of one operation."""
        if i in self.host.references:
            self.host.forward(self, i)
            return
        operation, op = self.program.operations[i], self.layout.op(i)
        if operation.about.statistics(operation):
            self._launch(kernels.gather_all, *self._arrays, op, operation=operation)
        self._launch(kernels.forward_all, *self._arrays, op, operation=operation)

    def loss(self) -> None:
        """Compute the loss."""
        self._launch(kernels.sum_errors, *self._arrays)
        self._launch(kernels.loss_all, self.memory.plan, self.memory.scalars)

    def loss_gradient(self) -> None:
        """Compute the gradient of the loss with respect to the outputs."""
        self._launch(kernels.loss_gradient_all, *self._arrays)

    def parameter_gradient(self, i: int) -> None:
        """Add the gradient of an operation's parameters to that of the bank."""
        self.memory.forget_bank()
        if i in self.host.references:
            self.host.parameter_gradient(self, i)
            return
        operation, op = self.program.operations[i], self.layout.op(i)
        self._launch(kernels.parameter_gradients, *self._arrays, op, operation=operation)
        self._launch(kernels.add_all, *self._arrays, op)

    def input_gradient(self, i: int) -> None:
        """Compute the gradient with respect to the inputs of an operation."""
        if i in self.host.references:
            self.host.input_gradient(self, i)
            return
        operation, op = self.program.operations[i], self.layout.op(i)
        if operation.about.statistics(operation):
            self._launch(kernels.gather_back_all, *self._arrays, op, operation=operation)
        self._launch(kernels.input_gradient_all, *self._arrays, op, operation=operation)

    def clear(self) -> None:
        """Begin a step: set its index, and all gradients to 0."""
        self.memory.forget_bank()
        self._launch(kernels.clear_all, self.memory.plan, self.memory.arena)

    def move(self) -> None:
        """Run the optimizer's part of a step."""
        self.memory.forget_bank()
        self._launch(kernels.look_over, *self._arrays)
        self._launch(kernels.move_all, *self._arrays)

    # ---- whole steps

    @property
    def fits(self) -> bool:
        """Whether blocks can take samples through whole steps."""
        return fits(self.program, self.layout)

    @property
    def shared(self) -> int:
        """Bytes of shared memory that a block of a whole step needs."""
        return int(self.layout.plan[places.ROOM]) * self.memory.dtype.itemsize

    def whole_steps(self, count: int) -> bool:
        """Run many steps in one launch.

        Returns False, having done nothing, if the GPU gives its blocks too little memory for that.
        """
        self.memory.forget_bank()
        if self.fused.take(self, count):
            return True
        train = self.kernels.of(steps.train)
        if self._prepared is not train:
            self._together, self._prepared = self._blocks_together(train, count), train
        if self._together:
            sizes = self._together, self.device.threads, self.shared
            launch = Launch(train, (*self._arrays, self.memory.data, count), *sizes)
            launch.on(self.device.stream)()
        return self._together > 0

    def _blocks_together(self, kernel: Any, count: int) -> int:
        """Return how many blocks of `train` can run at the same time, at most one a chunk.

        That is 0 if a block does not get the memory that it needs.
        """
        most = 1  # in the simulator, whose blocks run one after the other
        if not self.device.simulated:
            arguments = *self._arrays, self.memory.data, count
            signature = tuple(map(kernel.typeof_pyval, arguments))
            kernel.compile(signature)
            overload = kernel.overloads[signature]
            if self.shared > SHARED:
                try:
                    ask_for_shared(overload, self.device.shared)
                except Exception:  # whatever refuses it: kernels of one moment need none
                    return 0
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
