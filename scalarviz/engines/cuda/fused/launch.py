"""FusedSteps: launches of the kernel in steps.cu, in the place of the numba kernels of whole steps.

It is off by default, since no GPU has run it yet: SCALARVIZ_CUDA_FUSED=1 switches it on. What it
cannot take is left to the other kernels, which give the same bits: other layers, other types than
float32, networks too large for the memory of a block, and machines that lack NVRTC or nvJitLink.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_choice import InUse
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.fused.compiling import KERNEL, Choice, machine_code
from scalarviz.engines.cuda.fused.formulas import fused_functions
from scalarviz.engines.cuda.fused.shape import THREADS, Table, table_of
from scalarviz.engines.cuda.graphs import nvidia

if TYPE_CHECKING:
    from scalarviz.engines.cuda.calls import CudaCalls

SWITCH = "SCALARVIZ_CUDA_FUSED"
LEAST_CAPABILITY = (8, 0)  # below it, numbers cannot be copied past the registers

Prepared = tuple[Any, Table, list[Any]]  # the kernel, and the arrays that only it has


class Card(Protocol):
    """What runs the kernel; tests have one that is made of threads.

    blocks  how many run at the same time
    shared  bytes of memory that a block may have
    """

    blocks: int
    shared: int

    def kernel(self, choice: Choice, table: Table) -> Any:
        """Return the kernel for some formulas, ready to be launched."""

    def launch(self, kernel: Any, table: Table, stream: Any, arrays: list[Any], steps: int) -> None:
        """Queue some steps."""


@final
class Gpu:
    """The GPU that numba has chosen."""

    def __init__(self) -> None:
        self.device = cuda.get_current_device()
        self.capability = tuple(self.device.compute_capability)
        self.blocks = int(self.device.MULTIPROCESSOR_COUNT)
        self.shared = int(self.device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

    def kernel(self, choice: Choice, table: Table) -> Any:
        core: Any = import_module("cuda.core")
        driver = nvidia()
        code = core.ObjectCode.from_cubin(machine_code(choice, self.capability))
        kernel = code.get_kernel(KERNEL)
        size = driver.binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.driver.cuKernelSetAttribute(size, table.shared, kernel.handle, self.device.id)
        config = core.LaunchConfig(
            grid=table.blocks, block=THREADS, shmem_size=table.shared, is_cooperative=True
        )
        return kernel, config

    def launch(self, kernel: Any, table: Table, stream: Any, arrays: list[Any], steps: int) -> None:
        core: Any = import_module("cuda.core")
        kernel, config = kernel
        pointers = [int(array.device_ctypes_pointer.value) for array in arrays]
        core.launch(stream, config, kernel, *pointers, steps)


def find_card() -> Card | None:
    """Return the GPU if it can run the kernel."""
    if cuda.config.ENABLE_CUDASIM:
        return None
    card = Gpu()
    return card if card.device.COOPERATIVE_LAUNCH and card.capability >= LEAST_CAPABILITY else None


@final
class FusedSteps:
    """The kernel for one batch of a network.

    launches  how many there were
    wrong     why there were none, if something failed; measurements on a card print it
    """

    def __init__(self) -> None:
        self.launches = 0
        self.wrong: Exception | None = None
        self._card: Card | None = None
        self._prepared: dict[tuple[CudaUnit, bool], Prepared | None] = {}

    def take(self, calls: CudaCalls, steps: int) -> bool:
        """Queue whole steps, and return True; False if the other kernels are to take them."""
        if os.environ.get(SWITCH, "0") in ("", "0") or calls.bank.dtype != "float32":
            return False
        if calls.precision.mixed:
            return False
        clipped = bool(calls.memory.host_scalars[places.CLIP_NORM] != np.inf)
        key = unit_of(calls), clipped
        if key not in self._prepared:
            try:
                self._prepared[key] = self._prepare(calls, *key)
            except Exception as error:  # whatever is missing here: the other kernels need less
                self._prepared[key], self.wrong = None, error
        prepared = self._prepared[key]
        if prepared is None or self._card is None:
            return False
        (kernel, table, own), memory = prepared, calls.memory
        own[-1].copy_to_device(np.zeros(1, np.uint32), stream=memory.stream)
        arrays = [memory.plan, memory.arena, memory.scalars, memory.data, *own]
        self._card.launch(kernel, table, memory.stream, arrays, steps)
        self.launches += 1
        return True

    def _prepare(self, calls: CudaCalls, unit: CudaUnit, clipped: bool) -> Prepared | None:
        """Return the kernel, its table, and the arrays that only it has: None if it cannot be."""
        self._card = self._card or find_card()
        if self._card is None:
            return None
        chunks, card = int(calls.layout.plan[places.CHUNKS]), self._card
        share = -(-calls.samples // chunks)
        table = table_of(calls.program, chunks, share, card.shared, card.blocks, clipped)
        if table is None:
            return None
        slots = int(calls.memory.host_plan[places.SLOT_COUNT])
        kernel, stream = card.kernel(Choice(unit, slots, table.own), table), calls.memory.stream
        errors = cuda.device_array(2 * chunks, np.float64, stream=stream)
        counter = cuda.device_array(1, np.uint32, stream=stream)
        return kernel, table, [cuda.to_device(table.numbers, stream=stream), errors, counter]


def unit_of(calls: CudaCalls) -> CudaUnit:
    """Return the functions that the kernel needs, for the formulas in use."""
    (unit,) = calls.kernels.units([fused_functions]).values()
    rows = unit.used.rows or frozenset()
    if any(table == "ACTIVATIONS" for table, _ in rows):
        return unit
    return CudaUnit(fused_functions, InUse(rows | {("ACTIVATIONS", "linear")}, mixed=False))
