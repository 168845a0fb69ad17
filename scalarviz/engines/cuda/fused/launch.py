"""FusedSteps: launches of a kernel in CUDA C++, in the place of numba's kernels of whole steps.

Its bits are those of the other kernels, and a step takes about half as long. What it cannot take is
left to them: other layers, other types than float32, networks too large for the memory of a block,
and machines that lack NVRTC or nvJitLink. If something fails before the kernel is queued, the other
kernels run instead, from then on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_choice import InUse
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.fused.compiling import NAME, Choice, machine_code
from scalarviz.engines.cuda.fused.formulas import fused_functions
from scalarviz.engines.cuda.fused.shape import THREADS, Table, table_of
from scalarviz.engines.cuda.graphs import nvidia

if TYPE_CHECKING:
    from scalarviz.engines.cuda.calls import CudaCalls

LEAST_CAPABILITY = (8, 0)  # below it, numbers cannot be copied past the registers

Prepared = tuple[Any, Table, list[Any]]  # the kernel, and the arrays that only it has


class Card(Protocol):
    """What runs the kernel; tests have one that interprets it.

    blocks  how many run at the same time
    shared  bytes of memory that a block may have
    """

    blocks: int
    shared: int

    def kernel(self, choice: Choice, table: Table) -> Any:
        """Return the kernel for some formulas, ready to be launched."""

    def launch(self, kernel: Any, table: Table, stream: Any, arrays: list[Any], steps: int) -> None:
        """Queue a launch with these arguments."""


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
        kernel = code.get_kernel(NAME)
        size = driver.binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle = getattr(kernel, "handle", None) or kernel._handle  # its name before version 0.6
        driver.driver.cuKernelSetAttribute(size, table.shared, handle, self.device.id)
        sizes = {"grid": table.blocks, "block": THREADS, "shmem_size": table.shared}
        return kernel, launch_config(core, sizes)

    def launch(self, kernel: Any, table: Table, stream: Any, arrays: list[Any], steps: int) -> None:
        core: Any = import_module("cuda.core")
        kernel, config = kernel
        pointers = [int(array.device_ctypes_pointer.value) for array in arrays]
        own = core.Stream.from_handle(int(stream.__cuda_stream__()[1]))  # not one of numba's
        core.launch(own, config, kernel, *pointers, steps)


def launch_config(core: Any, sizes: dict[str, int]) -> Any:
    """Return cuda.core's configuration of a launch whose blocks wait for each other."""
    try:
        return core.LaunchConfig(**sizes, is_cooperative=True)
    except TypeError:  # its name before version 1.0
        return core.LaunchConfig(**sizes, cooperative_launch=True)


def find_card() -> Card | None:
    """Return the GPU if it can run the kernel."""
    if cuda.config.ENABLE_CUDASIM:
        return None
    card = Gpu()
    return card if card.device.COOPERATIVE_LAUNCH and card.capability >= LEAST_CAPABILITY else None


@final
class FusedSteps:
    """The kernel for one batch of a network.

    on        False: the other kernels take all steps, so that they can be compared
    launches  how many there were
    wrong     why there were none, if something failed, else ""; measurements on a card print it
    """

    def __init__(self) -> None:
        self.on, self.launches, self.wrong = True, 0, ""
        self._card: Card | None = None
        self._prepared: dict[tuple[CudaUnit, bool], Prepared | None] = {}

    def take(self, calls: CudaCalls, steps: int) -> bool:
        """Queue whole steps, and return True; False if the other kernels are to take them."""
        if calls.bank.dtype != "float32" or not self.on:
            return False
        clipped = bool(calls.memory.host_scalars[places.CLIP_NORM] != np.inf)
        key = unit_of(calls), clipped
        try:
            if key not in self._prepared:
                self._prepared[key] = self._prepare(calls, *key)
            prepared = self._prepared[key]
            if prepared is None or self._card is None:
                return False
            (kernel, table, own), memory = prepared, calls.memory
            own[-1].copy_to_device(np.zeros(1, np.uint32), stream=memory.stream)
            arrays = [memory.plan, memory.arena, memory.scalars, memory.data, *own]
            self._card.launch(kernel, table, memory.stream, arrays, steps)
        except Exception as error:  # nothing is queued, and the other kernels need less
            self._prepared[key] = None
            self.wrong = f"{type(error).__name__}: {error}"  # the error would keep the memory
            return False
        self.launches += 1
        return True

    def _prepare(self, calls: CudaCalls, unit: CudaUnit, clipped: bool) -> Prepared | None:
        """Return the kernel, its table, and the arrays that only it has: None if it cannot be."""
        self._card = card = self._card or find_card()
        if card is None:
            return None
        chunks, stream = int(calls.layout.plan[places.CHUNKS]), calls.memory.stream
        share = -(-calls.samples // chunks)
        table = table_of(calls.program, chunks, share, card.shared, card.blocks, clipped)
        if table is None:
            return None
        slots = int(calls.memory.host_plan[places.SLOT_COUNT])
        kernel = card.kernel(Choice(unit, slots, table.own), table)
        errors = cuda.device_array(2 * chunks, np.float64, stream=stream)
        counter = cuda.device_array(1, np.uint32, stream=stream)
        numbers = cuda.to_device(table.numbers, stream=stream)
        return kernel, table, [numbers, errors, counter]


def unit_of(calls: CudaCalls) -> CudaUnit:
    """Return the functions that the kernel needs, for the formulas in use."""
    (unit,) = calls.kernels.units([fused_functions]).values()
    rows = unit.used.rows or frozenset()
    if any(table == "ACTIVATIONS" for table, _ in rows):
        return unit
    return CudaUnit(fused_functions, InUse(rows | {("ACTIVATIONS", "linear")}))
