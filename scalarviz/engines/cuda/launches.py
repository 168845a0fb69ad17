"""CudaCalls: launches of the kernels for one batch, or for many entire steps together.

Kernels are compiled for the formulas in use. A kernel of one operation supports its kind and
formula; a kernel of entire steps supports all formulas of a network and its training. The indices
in a plan refer to the complete tables.

Between launches, the host computes operations without a kernel; see `HostOperations`. It copies
their inputs from the GPU and their results back. Steps are then launched one by one, since graphs
cannot contain such operations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.kernel_threads import check_process
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Loss, LossRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Operation, Program
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.formula_loops import InUse
from scalarviz.engines.codegen.kernel_units import Dtype
from scalarviz.engines.cuda import gpu_layout, kernels
from scalarviz.engines.cuda import kernels as steps
from scalarviz.engines.cuda.card import Launch, Steps, allow_shared, cuda
from scalarviz.engines.cuda.device_memory import (
    Memory,
    fits,
    formula_rows,
    make_layout,
    set_batches,
    set_loss,
    set_optimizer,
)
from scalarviz.engines.cuda.kernels import DRAWS
from scalarviz.engines.cuda.table import BY_NUMBER, WHOLE_BATCH
from scalarviz.engines.reference import Costs, OperationArrays, all_gradients, reference_of

THREADS = 256
BLOCKS_EACH = 4  # blocks per multiprocessor
SHARED = 44 * 1024  # bytes of shared memory of a block on every GPU (48 KiB) without static arrays
RESERVED = 5 * 1024  # bytes of a block's memory used by static arrays and the driver


@dataclass
class Device:
    """Launch configuration of a GPU; it does not affect results."""

    simulated: bool
    blocks: int
    threads: int
    stream: Any
    # Bytes of shared memory of a block in whole steps, besides static arrays; 0 if blocks cannot
    # wait for each other.
    shared: int = SHARED

    @staticmethod
    def current() -> Device:
        """Return the launch configuration for the GPU chosen by numba, or for its simulator."""
        if cuda.config.ENABLE_CUDASIM:
            return Device(True, 3, 4, cuda.stream())
        card = cuda.get_current_device()
        blocks = card.MULTIPROCESSOR_COUNT * BLOCKS_EACH
        # More than 48 KiB are available on request, see `allow_shared`.
        most = max(SHARED, card.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN - RESERVED)
        return Device(False, blocks, THREADS, cuda.stream(), most * bool(card.COOPERATIVE_LAUNCH))


@final
class CudaCalls:
    """Kernels and memory for one batch of a network on a GPU; i is the index of an operation."""

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
        self.layout = make_layout(program, bank, samples, device.shared, learning)
        self.memory = Memory(self.layout, bank.dtype, device.stream)
        self._rows = formula_rows()
        self._together = 0  # concurrent blocks of `train`
        self._prepared: Any = None  # the kernel of `_together`
        self.steps = Steps(device.stream, graphs=not device.simulated)
        self._noted: list[Launch] | None = None  # instead of launching, while a step is recorded
        self.kernels = KernelsInUse(program, bank.dtype)
        self.host = HostOperations(program, samples)

    @property
    def outdated(self) -> bool:
        """Whether a custom formula was added after the kernels were made."""
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
        """Launch a kernel, or only record the launch while a step is recorded."""
        kernel, device = self.kernels.of(function, operation), self.device
        launch = Launch(kernel, arguments, device.blocks, device.threads)
        if self._noted is None:
            launch.on(device.stream)()
        else:
            self._noted.append(launch)

    def repeat(self, step: Callable[[], None], counts: list[int]) -> None:
        """Take a step for each number of samples in `counts`; `step` launches its kernels."""
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
        """Copy the plan and the bank to the device."""
        self.memory.put_bank(self.bank, slots)
        self.memory.put_plan()

    def draw(self) -> None:
        """Draw the samples of a step."""
        self._launch(kernels.draw_batch, *self._arrays, self.memory.data)

    def _run(
        self,
        i: int,
        on_host: Callable[[CudaCalls, int], None],
        gather: Launched,
        function: Launched,
    ) -> None:
        """Launch an operation's kernel, after the one for its statistics, or run it on the host."""
        operation, op = self.program.operations[i], self.layout.op(i)
        if i in self.host.references:
            on_host(self, i)
            return
        if operation.about.statistics(operation):
            self._launch(gather, *self._arrays, op, operation=operation)
        self._launch(function, *self._arrays, op, operation=operation)

    def forward(self, i: int) -> None:
        """Run one operation forward."""
        self._run(i, self.host.forward, kernels.gather_all, kernels.forward_all)

    def loss(self) -> None:
        """Launch the kernels that compute the loss."""
        self._launch(kernels.sum_errors, *self._arrays)
        self._launch(kernels.loss_all, self.memory.plan, self.memory.scalars)

    def loss_gradient(self) -> None:
        """Compute the gradient of the loss with respect to the outputs."""
        self._launch(kernels.loss_gradient_all, *self._arrays)

    def parameter_gradient(self, i: int) -> None:
        """Add the gradients of an operation's parameters to the bank."""
        self.memory.forget_bank()
        if i in self.host.references:
            self.host.parameter_gradient(self, i)
            return
        operation, op = self.program.operations[i], self.layout.op(i)
        self._launch(kernels.parameter_gradients, *self._arrays, op, operation=operation)
        self._launch(kernels.add_all, *self._arrays, op)

    def input_gradient(self, i: int) -> None:
        """Compute the gradient with respect to the inputs of an operation."""
        self._run(i, self.host.input_gradient, kernels.gather_back_all, kernels.input_gradient_all)

    def clear(self) -> None:
        """Begin a step: set the step's index, and all gradients to 0."""
        self.memory.forget_bank()
        self._launch(kernels.clear_all, self.memory.plan, self.memory.arena)

    def move(self) -> None:
        """Run the optimizer for one step."""
        self.memory.forget_bank()
        self._launch(kernels.look_over, *self._arrays)
        self._launch(kernels.move_all, *self._arrays)

    # ---- whole steps

    @property
    def fits(self) -> bool:
        """Return whether single blocks can run complete training steps."""
        return fits(self.program, self.layout)

    @property
    def shared(self) -> int:
        """Bytes of shared memory that a block needs for a whole step."""
        return int(self.layout.plan[gpu_layout.ROOM]) * self.memory.dtype.itemsize

    def whole_steps(self, count: int) -> bool:
        """Take many steps in one launch.

        Returns False, without doing anything, if the memory of a block is insufficient.
        """
        self.memory.forget_bank()
        train = self.kernels.of(steps.train)
        if self._prepared is not train:
            self._together, self._prepared = self._blocks_together(train, count), train
        if self._together:
            sizes = self._together, self.device.threads, self.shared
            Launch(train, (*self._arrays, self.memory.data, count), *sizes).on(self.device.stream)()
        return self._together > 0

    def _blocks_together(self, kernel: Any, count: int) -> int:
        """Return how many blocks of `train` can run concurrently, at most one per chunk.

        It is 0 if the memory of a block is insufficient.
        """
        most = 1  # in the simulator, whose blocks run one after the other
        if not self.device.simulated:
            arguments = *self._arrays, self.memory.data, count
            signature = tuple(map(kernel.typeof_pyval, arguments))
            kernel.compile(signature)
            overload = kernel.overloads[signature]
            if self.shared > SHARED:
                try:
                    # All runs with these formulas launch it: so it may use all memory of a block.
                    function = overload._codelibrary.get_cufunc()
                    allow_shared(function.handle, function.device.id, self.device.shared)
                except Exception:  # kernels of one moment do not need this
                    return 0
            most = overload.max_cooperative_grid_blocks(self.device.threads, self.shared)
        return int(min(most, max(self.layout.plan[gpu_layout.CHUNKS], 1)))

    # ---- buffers

    def values(self, row: int, size: int, count: int) -> FloatArray:
        """Return a buffer of the workspace of values, shape (samples, size)."""
        return self._read(gpu_layout.SPACE, row, size, count)

    def gradients(self, row: int, size: int, count: int) -> FloatArray:
        """Return a buffer of the workspace of gradients, shape (samples, size)."""
        return self._read(gpu_layout.FLOW, row, size, count)

    def _read(self, part: int, row: int, size: int, count: int) -> FloatArray:
        first = int(self.layout.plan[part]) + row * self.samples
        table = self.memory.read(first, size * self.samples).reshape(size, self.samples)
        return np.ascontiguousarray(table[:, :count].T)

    def write(self, part: int, row: int, table: FloatArray) -> None:
        """Write a table of shape (samples, size) to a workspace, from row `row`."""
        rows = np.zeros((table.shape[1], self.samples), self.memory.dtype)
        rows[:, : len(table)] = table.T
        self.memory.write(int(self.layout.plan[part]) + row * self.samples, rows.ravel())


# ---- operations without a kernel ----------------------------------------------------------------


@final
class HostOperations:
    """Operations of a batch on a GPU that the host runs as Python code.

    Args:
        samples: number of samples in the current batch
    """

    def __init__(self, program: Program, samples: int) -> None:
        self.samples = samples
        own = [
            (i, each) for i, each in enumerate(program.operations) if each.kind not in WHOLE_BATCH
        ]
        self.references = {i: reference_of(each) for i, each in own}
        self._costs = Costs("cuda", [each for _, each in own])

    def _numbers(self, work: CudaCalls, operation: Operation, **more: Any) -> OperationArrays:
        read = [work.values(each.offset, each.size, self.samples) for each in operation.sources]
        memory, plan, first = work.memory, work.layout.plan, gpu_layout.STATE_NUMBERS
        state = np.empty(int(plan[gpu_layout.ERRORS]) - first)
        memory.scalars[first : first + len(state)].copy_to_host(state, stream=memory.stream)
        value = memory.read(int(plan[gpu_layout.VALUE]), memory.rows)
        steps = int(memory.host_plan[gpu_layout.STEPS_TAKEN])
        found = OperationArrays(value, state, steps, tuple(read))
        return found._replace(learning=work.learning, **more)

    def forward(self, work: CudaCalls, i: int) -> None:
        """Compute operation i on the host, and write its outputs to the device."""
        operation = work.program.operations[i]
        with self._costs.python():
            y = self.references[i].forward(operation, self._numbers(work, operation))
        work.write(gpu_layout.SPACE, operation.target.offset, y)

    def _gradients(self, work: CudaCalls, i: int) -> tuple[FloatArray, ...]:
        operation = work.program.operations[i]
        target = operation.target
        y = work.values(target.offset, target.size, self.samples)
        upstream = work.gradients(target.offset, target.size, self.samples)
        with self._costs.python():
            numbers = self._numbers(work, operation, y=y, upstream=upstream)
            return all_gradients(self.references[i], operation, numbers)

    def parameter_gradient(self, work: CudaCalls, i: int) -> None:
        """Compute the gradients of operation i's parameters, and add them to the bank."""
        memory, rows = work.memory, work.program.operations[i].parameters
        place = memory.grad_place + rows.start
        found = self._gradients(work, i)[-1]
        memory.write(place, memory.read(place, len(rows)) + found)

    def input_gradient(self, work: CudaCalls, i: int) -> None:
        """Compute the gradients of the inputs of operation i, and write them to the device."""
        sources = work.program.operations[i].sources
        for source, found in zip(sources, self._gradients(work, i), strict=False):
            work.write(gpu_layout.FLOW, source.offset, found)

    def steps(self, step: Callable[[], None], counts: list[int]) -> None:
        """Take a step for each number of samples, and log the cost of the Python code once."""
        start, self._costs.seconds = time.perf_counter(), 0.0
        for self.samples in counts:
            step()
        self._costs.say(len(counts), time.perf_counter() - start)


# ---- kernels needed for training ----------------------------------------------------------------

Launched = Callable[..., None]
Rows = frozenset[tuple[str, str]]  # a table's name in the kernels, and a row's

MOST_SHARED = 222 * 1024  # bytes of shared memory for a block, on the GPU with most of it

# Kernels of one operation; then groups of kernels needed at the same time.
OF_OPERATIONS = (
    kernels.gather_all, kernels.forward_all, kernels.parameter_gradients, kernels.gather_back_all,
    kernels.input_gradient_all,
)  # fmt: skip
GROUPS: tuple[tuple[Launched, ...], ...] = (
    (steps.train,),
    (kernels.gather_all, kernels.forward_all),
    (
        kernels.parameter_gradients, kernels.add_all, kernels.gather_back_all,
        kernels.input_gradient_all,
    ),
    (kernels.draw_batch,),
    (kernels.sum_errors, kernels.loss_all, kernels.loss_gradient_all),
    (kernels.clear_all,),
    (kernels.look_over, kernels.move_all),
)  # fmt: skip

FORMULAS = {
    "activation": "ACTIVATIONS",
    "row": "ROW_FORMULAS",
    "each_place": "ROW_FORMULAS",
    "parametric": "PARAMETRIC_FORMULAS",
}


def rows_of_operation(operation: Operation) -> Rows:
    """Return the table rows that an operation needs in kernels that run entire steps."""
    rows = {("KERNELS", operation.kind)}
    if table := FORMULAS.get(operation.kind):
        rows.add((table, operation.formula))
    return frozenset(rows)


def rows_alone(operation: Operation) -> Rows:
    """Return the table rows that an operation needs on a whole batch.

    A kind with separate kernels for whole batches does not need the kernels for teams.
    """
    rows = rows_of_operation(operation)
    if not set(BY_NUMBER) & set(WHOLE_BATCH[operation.kind]):
        rows -= {("KERNELS", operation.kind)}
    return rows | {("WHOLE_BATCH", operation.kind)}


def rows_of_loss(loss: Loss) -> Rows:
    """Return the table rows that a loss needs."""
    table = "LOSSES" if isinstance(loss.row, LossRow) else "ROW_LOSSES"
    return frozenset({(table, loss.row.name), ("KINDS_OF_LOSSES", table)})


def rows_of_optimizer(optimizer: Optimizer) -> Rows:
    """Return the table rows that an optimizer and its schedule need."""
    return frozenset({("OPTIMIZERS", optimizer.row.name), ("SCHEDULES", optimizer.schedule.name)})


def rows_of_batches(batches: Batches) -> Rows:
    """Return the table rows that drawing batches needs."""
    return frozenset({("DRAWS", list(DRAWS)[batches.draw])})


def is_needed(function: Launched, operation: Operation) -> bool:
    """Return whether an operation needs this kernel, one of `OF_OPERATIONS`."""
    if function in (kernels.gather_all, kernels.gather_back_all):
        return operation.about.statistics(operation) > 0
    return function is not kernels.parameter_gradients or len(operation.parameters) > 0


def units_of_group(
    group: Iterable[Launched], program: Program, rows: Rows
) -> dict[tuple[Launched, Rows], CudaUnit]:
    """Return the kernels of a group; `rows` are the table rows of loss, optimizer and draw.

    The keys are functions and, for kernels of an operation, the table rows of the operation.
    """
    found, operations = {}, [each for each in program.operations if each.kind in WHOLE_BATCH]
    for function in group:
        if function not in OF_OPERATIONS:
            whole = rows.union(*map(rows_of_operation, operations))
            found[function, Rows()] = CudaUnit(function, InUse(whole))
            continue
        for operation in operations:
            if is_needed(function, operation):
                own = rows_alone(operation)
                found[function, own] = CudaUnit(function, InUse(own))
    return found


def units_of_training(
    program: Program,
    bank: Bank,
    batches: Batches,
    formulas: Iterable[tuple[Loss, Optimizer]],
) -> list[CudaUnit]:
    """Return the kernels that train a program, in entire steps and one moment at a time.

    Args:
        formulas: pairs of a loss and an optimizer that are used together
    """
    layout = make_layout(program, bank, batches.size, MOST_SHARED)
    left_out = set() if fits(program, layout) else {steps.train}
    found: dict[CudaUnit, None] = {}
    drawn = rows_of_batches(batches)
    pairs = [rows_of_loss(loss) | rows_of_optimizer(optimizer) for loss, optimizer in formulas]
    for rows in dict.fromkeys(drawn | each for each in pairs):
        for group in GROUPS:
            if group[0] not in left_out:
                found |= dict.fromkeys(units_of_group(group, program, rows).values())
    return list(found)


@final
class KernelsInUse:
    """Kernels of a network for the formulas in use, each loaded on first use."""

    def __init__(self, program: Program, dtype: Dtype) -> None:
        self._program, self._dtype = program, dtype
        self._parts: dict[str, Rows] = {}
        self._modules: dict[tuple[Launched, Rows], ModuleType] = {}

    def use(self, part: str, rows: Rows) -> None:
        """Set the table rows that a part uses; the part is "loss", "optimizer" or "batches"."""
        if self._parts.get(part) != rows:
            self._parts[part] = rows
            self._modules.clear()

    def of(self, function: Launched, operation: Operation | None = None) -> Any:
        """Return a kernel to launch; a kernel in `OF_OPERATIONS` is made for one operation."""
        check_process()
        key = function, Rows() if operation is None else rows_alone(operation)
        if key not in self._modules:
            self._load(function)
        return getattr(self._modules[key], function.__name__)

    @property
    def modules(self) -> list[Any]:
        """Modules of the loaded kernel files, without duplicates."""
        return list(dict.fromkeys(self._modules.values()))

    def units(self, group: Iterable[Launched]) -> dict[tuple[Launched, Rows], CudaUnit]:
        """Return `units_of_group` for the table rows in use."""
        return units_of_group(group, self._program, Rows().union(*self._parts.values()))

    def _load(self, function: Launched) -> None:
        """Load a kernel and the other kernels of its group."""
        units = self.units(next(group for group in GROUPS if function in group))
        modules = cuda_file.load([*units.values()], self._dtype)
        self._modules.update(zip(units, modules, strict=True))
