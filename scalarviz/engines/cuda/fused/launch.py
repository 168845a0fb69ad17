"""FusedSteps: launches of kernels in CUDA C++, in the place of numba's kernels of whole steps.

They are off, since no GPU has run them yet: SCALARVIZ_CUDA_FUSED=1 switches them on. What they
cannot take is left to the other kernels: other layers, other types than float32, networks too large
for the memory of a block, and machines that lack NVRTC or nvJitLink.

In full precision the bits are those of the other kernels. In mixed precision, weights, activations
and gradients are halves in the memory of a block, and products run on tensor cores, which add in
an order of their own: the numbers are near those of the other kernels, which emulate halves, and
not the same. Inputs of the network, which are not rounded there, are the sum of two halves here:
22 binary digits, in steps of at least 6e-8; those above 65,504 are infinite.

Every path has the same bits nevertheless. Kernel by kernel and moment by moment, the three products
of a layer are computed by a kernel of their own, `fused_product`, by the functions of products.cu
that whole steps call, and numba's kernels do all else. Where batches are cut into chunks depends on
the batch and the network only.

If something fails before a kernel is queued, the other kernels run instead, from then on.
"""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_choice import InUse
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.fused.compiling import (
    IN_HALVES,
    IN_SINGLES,
    MOMENTS,
    Choice,
    machine_code,
)
from scalarviz.engines.cuda.fused.formulas import fused_functions, product_functions
from scalarviz.engines.cuda.fused.half_shape import LEAST_SAMPLES, half_table_of
from scalarviz.engines.cuda.fused.shape import THREADS, Table, table_of
from scalarviz.engines.cuda.graphs import Launch, nvidia
from scalarviz.engines.cuda.tables import LEAST_SHARE, count_chunks, partial_size
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

if TYPE_CHECKING:
    from scalarviz.engines.cuda.calls import CudaCalls

SWITCH = "SCALARVIZ_CUDA_FUSED"
LEAST_CAPABILITY = (8, 0)  # below it, numbers cannot be copied past the registers
# Products of a layer, in the order of the codes of moments.cu.
FORWARD, WEIGHTS_BACK, INPUTS_BACK = range(3)

Prepared = tuple[Any, Table, list[Any]]  # the kernel, and the arrays that only it has


def is_on() -> bool:
    """Whether the kernels are switched on."""
    return os.environ.get(SWITCH, "0") not in ("", "0")


class Card(Protocol):
    """What runs the kernels; tests have one that is made of threads.

    blocks  how many run at the same time
    shared  bytes of memory that a block may have
    """

    blocks: int
    shared: int

    def kernel(self, choice: Choice, table: Table) -> Any:
        """Return a kernel for some formulas, ready to be launched."""

    def launch(
        self, kernel: Any, table: Table, stream: Any, arrays: list[Any], *numbers: int
    ) -> None:
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
        kernel = code.get_kernel(choice.text.name)
        size = driver.binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle = getattr(kernel, "handle", None) or kernel._handle  # its name before version 0.6
        driver.driver.cuKernelSetAttribute(size, table.shared, handle, self.device.id)
        sizes = {"grid": table.blocks, "block": THREADS, "shmem_size": table.shared}
        return kernel, launch_config(core, choice.text.together, sizes)

    def launch(
        self, kernel: Any, table: Table, stream: Any, arrays: list[Any], *numbers: int
    ) -> None:
        core: Any = import_module("cuda.core")
        kernel, config = kernel
        pointers = [int(array.device_ctypes_pointer.value) for array in arrays]
        own = core.Stream.from_handle(int(stream.__cuda_stream__()[1]))  # not one of numba's
        core.launch(own, config, kernel, *pointers, *numbers)


def launch_config(core: Any, together: bool, sizes: dict[str, int]) -> Any:
    """Return cuda.core's configuration of a launch; `together`: blocks wait for each other."""
    try:
        return core.LaunchConfig(**sizes, is_cooperative=together)
    except TypeError:  # its name before version 1.0
        return core.LaunchConfig(**sizes, cooperative_launch=together)


def find_card() -> Card | None:
    """Return the GPU if it can run the kernels."""
    if cuda.config.ENABLE_CUDASIM:
        return None
    card = Gpu()
    return card if card.device.COOPERATIVE_LAUNCH and card.capability >= LEAST_CAPABILITY else None


@final
class OfCard:
    """A kernel of a card that is launched as those of numba are: kernel[sizes](*arguments).

    The sizes are those of the table; numbers come after the arrays.
    """

    def __init__(self, card: Card, kernel: Any, table: Table) -> None:
        self._card, self._kernel, self._table = card, kernel, table

    def __getitem__(self, sizes: tuple[Any, ...]) -> Any:
        return partial(self._launch, sizes[2])

    def _launch(self, stream: Any, *arguments: Any) -> None:
        arrays = [each for each in arguments if not isinstance(each, int)]
        numbers = [each for each in arguments if isinstance(each, int)]
        self._card.launch(self._kernel, self._table, stream, arrays, *numbers)


@final
class FusedSteps:
    """The kernels for one batch of a network.

    halves    whether it is trained in halves; chunks are larger then, see `least_share`
    launches  how many launches of whole steps there were
    wrong     why there were none, if something failed; measurements on a card print it
    """

    def __init__(self, program: Program, dtype: str, precision: Precision, samples: int) -> None:
        self.launches = 0
        self.wrong: Exception | None = None
        self._card: Card | None = None
        self._prepared: dict[tuple[CudaUnit, bool], Prepared | None] = {}
        self._product: tuple[OfCard, Any, Table] | None = None
        self.halves = False
        if precision.mixed and dtype == "float32" and is_on():
            self._card = find_card()
            chunks = count_chunks(samples, partial_size(program), LEAST_SAMPLES)
            fits = [self._table(program, samples, chunks, c, True) for c in (False, True)]
            self.halves = None not in fits
        self.least_share = LEAST_SAMPLES if self.halves else LEAST_SHARE

    def _table(
        self, program: Program, samples: int, chunks: int, clipped: bool, halves: bool
    ) -> Table | None:
        """Return the table of a network; None if it does not fit, or there is no card."""
        if self._card is None:
            return None
        make, share = half_table_of if halves else table_of, -(-samples // chunks)
        return make(program, chunks, share, self._card.shared, self._card.blocks, clipped)

    def _give_up(self, error: Exception) -> None:
        """Leave everything in halves to the other kernels from now on."""
        self.wrong, self.halves = error, False

    # ---- whole steps

    def take(self, calls: CudaCalls, steps: int) -> bool:
        """Queue whole steps, and return True; False if the other kernels are to take them."""
        singles = not calls.precision.mixed and calls.bank.dtype == "float32" and is_on()
        if not singles and not self.halves:
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
            self._give_up(error)
            return False
        self.launches += 1
        return True

    def _prepare(self, calls: CudaCalls, unit: CudaUnit, clipped: bool) -> Prepared | None:
        """Return the kernel, its table, and the arrays that only it has: None if it cannot be."""
        self._card = self._card or find_card()
        chunks = int(calls.layout.plan[places.CHUNKS])
        table = self._table(calls.program, calls.samples, chunks, clipped, self.halves)
        if table is None or self._card is None:
            return None
        if self.halves:
            self._product_of(calls)  # which are in halves, too, or nothing is
        slots = int(calls.memory.host_plan[places.SLOT_COUNT])
        text, stream = IN_HALVES if self.halves else IN_SINGLES, calls.memory.stream
        kernel = self._card.kernel(Choice(text, unit, slots, table.own), table)
        errors = cuda.device_array(2 * chunks, np.float64, stream=stream)
        # Padded with zeros, which nobody writes.
        image = cuda.to_device(np.zeros(max(1, table.image), np.uint16), stream=stream)
        counter = cuda.device_array(1, np.uint32, stream=stream)
        numbers = cuda.to_device(table.numbers, stream=stream)
        return kernel, table, [numbers, errors, image, counter]

    # ---- single moments

    def product(self, calls: CudaCalls, which: int, i: int) -> Launch | None:
        """Return a launch of a product of operation i, or None if the other kernels compute it."""
        operations = calls.program.operations
        if not self.halves or operations[i].kind != "affine":
            return None
        try:
            kernel, numbers, table = self._product_of(calls)
        except Exception as error:
            self._give_up(error)
            return None
        memory, layer = calls.memory, sum(each.kind == "affine" for each in operations[:i])
        arrays = memory.plan, memory.arena, memory.scalars, numbers
        arguments = *arrays, which, layer, calls.layout.op(i)
        return Launch(kernel, arguments, table.blocks, THREADS, table.shared)

    def _product_of(self, calls: CudaCalls) -> tuple[OfCard, Any, Table]:
        """Return the kernel of single products, and its table on the device and here."""
        if self._product is None:
            chunks = int(calls.layout.plan[places.CHUNKS])
            table = self._table(calls.program, calls.samples, chunks, False, True)
            assert table is not None and self._card is not None  # as in __init__
            unit = CudaUnit(product_functions, InUse(frozenset(), mixed=False))
            kernel = OfCard(self._card, self._card.kernel(Choice(MOMENTS, unit), table), table)
            numbers = cuda.to_device(table.numbers, stream=calls.memory.stream)
            self._product = kernel, numbers, table
        return self._product


def unit_of(calls: CudaCalls) -> CudaUnit:
    """Return the functions that the kernel of whole steps needs, for the formulas in use."""
    (unit,) = calls.kernels.units([fused_functions]).values()
    rows = unit.used.rows or frozenset()
    if any(table == "ACTIVATIONS" for table, _ in rows):
        return unit
    return CudaUnit(fused_functions, InUse(rows | {("ACTIVATIONS", "linear")}, unit.used.mixed))
