"""FusedSteps: entire steps of dense layers in one CUDA C++ kernel, with formulas from the tables.

The kernel is in the `.cu` files in this folder. It replaces numba's kernels for entire steps, has
the same bits, and takes about half the time. The numba kernels are still used for other layers,
other types than float32, networks too large for a block's memory, and machines without NVRTC or
nvJitLink. If an error occurs before the kernel is queued, they are used from then on.

numba compiles the functions that the kernel calls to LTO-IR with the C ABI; they are the same as in
the other kernels, but with pointers instead of arrays. NVRTC also compiles the C++ code to LTO-IR,
and nvJitLink inlines the functions into it. Products are rounded as in `cuda_file.py`: `-fma=0` is
passed to nvJitLink, which compiles last.

The machine code is stored with the kernel files. Its name contains a hash of all its sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.kernel_files import keep, kept, path_of
from scalarviz.base.messages import inform
from scalarviz.base.package_files import text_beside
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.data.batches import POINTS
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    activation_slope,
    activation_value,
    clip_factor,
    condition_one,
    kernel,
    launched,
    move_one,
    sample_error,
    sample_gradient,
)
from scalarviz.engines.codegen.cuda_file import CudaUnit, products_rounded
from scalarviz.engines.codegen.formula_loops import InUse
from scalarviz.engines.codegen.kernel_source import version_of
from scalarviz.engines.codegen.kernel_units import path_of_unit, text_of
from scalarviz.engines.cuda import gpu_layout
from scalarviz.engines.cuda.card import allow_shared, cuda
from scalarviz.engines.cuda.gpu_layout import (
    CLIP_NORM,
    SHARES,
    Exact,
    Index,
    Numbers,
    Whole,
    mean_scale,
)
from scalarviz.engines.cuda.kernels import batch_size, drawn_row, share_of_squares, write_arguments

if TYPE_CHECKING:
    from scalarviz.engines.cuda.launches import CudaCalls


THREADS = 256
# Fields of the structs in network.cu: 32-bit fields of the first two, and bytes of the third.
SHAPE_FIELDS, LAYER_FIELDS, HEAD_BYTES = 8, 13, 2048
MOST_LAYERS, MOST_TILE = 16, 32
MOST_OWN = 8  # rows of a thread, held in registers

Integers = npt.NDArray[np.int32]
Stack = list[tuple[Operation, Operation | None]]  # affine operations, and the activation after each


@dataclass(frozen=True, slots=True)
class ShapeTable:
    """A network in the form that the kernel reads.

    Attributes:
        numbers: fields of `Shape`, then the fields of each `Layer`
        own: number of bank rows that a thread updates
        blocks: number of blocks in the grid
        shared: bytes of shared memory per block
    """

    numbers: Integers
    own: int
    blocks: int
    shared: int


def table_of(
    program: Program, chunks: int, share: int, shared: int, blocks: int, clipped: bool
) -> ShapeTable | None:
    """Return the table of a network; None if it is too large or not all layers are dense.

    Args:
        chunks: number of chunks of a batch
        share: maximum number of samples in a chunk
        shared: maximum bytes of shared memory per block
        blocks: number of concurrent blocks, which does not affect results
        clipped: whether squared gradients are summed, so that a block needs whole groups of rows
    """
    stack = dense_layers(program)
    owned = rows_of_blocks(stack, blocks, clipped)
    if owned is None:
        return None
    each, own = owned
    fixed, a_sample = sizes(stack)
    room = (shared - HEAD_BYTES) // 4
    tile = min(share, MOST_TILE, (room - fixed) // a_sample)
    if tile < 1 or room < max(chunks, each):
        return None
    layers, shape = fill(stack, tile)
    used = max(fixed + tile * a_sample, min(each * chunks, room))
    piece = min(each, used // chunks)
    numbers = np.array([len(stack), tile, each, piece, *shape, *layers], np.int32)
    return ShapeTable(numbers, own, blocks, HEAD_BYTES + 4 * used)


def rows_of_blocks(stack: Stack, blocks: int, clipped: bool) -> tuple[int, int] | None:
    """Return the numbers of bank rows per block and per thread; None if zero or too large."""
    rows = sum(len(affine.parameters) for affine, _ in stack)
    step = gpu_layout.GROUP if clipped else 4
    each = -(-rows // (blocks * step)) * step
    own = 1 << (-(-each // THREADS) - 1).bit_length()  # so that few kernels are compiled
    return (each, own) if rows and own <= MOST_OWN else None


def dense_layers(program: Program) -> Stack:
    """Return the affine operations, each with its activation; [] if there are other kinds.

    Also returns [] for more than MOST_LAYERS layers, and if the gradients of a chunk are in a
    different order from the bank's rows, as with shared weights.
    """
    stack: Stack = []
    before, rows = program.inputs, 0
    for operation in program.operations:
        if operation.source != before:
            return []
        before = operation.target
        if operation.kind == "affine" and operation.parameters.start == rows:
            stack.append((operation, None))
            rows = operation.parameters.stop
        elif operation.kind == "activation" and stack and stack[-1][1] is None:
            stack[-1] = stack[-1][0], operation
        else:
            return []
    return stack if before == program.outputs and len(stack) <= MOST_LAYERS else []


def row_step(width: int) -> int:
    """Return the distance between rows of `width` numbers, which are read four at a time.

    It is an odd multiple of four, so that eight adjacent rows are in different memory banks.
    """
    fours = -(-width // 4)
    return 4 * (fours + 1 - fours % 2)


def sizes(stack: Stack) -> tuple[int, int]:
    """Return how many numbers a block stores: for all samples together, and per sample."""
    fixed = a_sample = 0
    for affine, activation in stack:
        fixed += affine.target.size * row_step(affine.source.size) + row_step(affine.target.size)
        a_sample += row_step(affine.target.size) * (2 if activation else 1)
    widest = max(row_step(affine.target.size) for affine, _ in stack)
    first, last = stack[0][0].source.size, stack[-1][0].target.size
    return fixed, a_sample + 2 * widest + row_step(first) + row_step(last) + 4


def fill(stack: Stack, tile: int) -> tuple[list[int], list[int]]:
    """Return the fields of all layers, and the fields of the shape from `goals` on."""
    end = 0

    def take(numbers: int) -> int:
        nonlocal end
        end += numbers
        return end - numbers

    layers: list[int] = []
    x_step = row_step(stack[0][0].source.size)
    x = take(tile * x_step)
    for affine, activation in stack:
        inputs, outputs = affine.source.size, affine.target.size
        step, y_step = row_step(inputs), row_step(outputs)
        weights, biases = take(outputs * step), take(y_step)
        z = take(tile * y_step)
        y = take(tile * y_step) if activation else z
        formula = activation.formula_place if activation else NONE
        layers += [inputs, outputs, affine.biases != NONE, affine.weights, formula]
        layers += [weights, step, biases, x, x_step, z, y, y_step]
        x, x_step = y, y_step
    goals, errors = take(tile * x_step), take(tile * 4)
    widest = tile * max(row_step(affine.target.size) for affine, _ in stack)
    flow, other = take(widest), take(widest)
    return layers, [goals, errors, flow, other]


# ---- launches -----------------------------------------------------------------------------------

LEAST_CAPABILITY = (8, 0)  # below it, numbers cannot be copied past the registers

Prepared = tuple[Any, ShapeTable, list[Any]]  # the kernel, and the arrays used only by it


@final
class Gpu:
    """The GPU chosen by numba; tests replace it with one that interprets the kernel.

    Attributes:
        blocks: number of concurrent blocks
        shared: maximum bytes of shared memory per block
    """

    def __init__(self) -> None:
        self.device = cuda.get_current_device()
        self.capability = tuple(self.device.compute_capability)
        self.blocks = int(self.device.MULTIPROCESSOR_COUNT)
        self.shared = int(self.device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

    def kernel(self, choice: FusedChoice, table: ShapeTable) -> Any:
        """Return the kernel for the chosen formulas, ready to launch."""
        core: Any = import_module("cuda.core")
        code = core.ObjectCode.from_cubin(machine_code(choice, self.capability))
        kernel = code.get_kernel(NAME)
        handle = getattr(kernel, "handle", None) or kernel._handle  # its name before version 0.6
        allow_shared(handle, self.device.id, table.shared)
        sizes = {"grid": table.blocks, "block": THREADS, "shmem_size": table.shared}
        return kernel, launch_config(core, sizes)

    def launch(
        self, kernel: Any, table: ShapeTable, stream: Any, arrays: list[Any], steps: int
    ) -> None:
        """Queue a launch of `steps` steps on a stream, with these device arrays."""
        core: Any = import_module("cuda.core")
        kernel, config = kernel
        pointers = [int(array.device_ctypes_pointer.value) for array in arrays]
        own = core.Stream.from_handle(int(stream.__cuda_stream__()[1]))  # not one of numba's
        core.launch(own, config, kernel, *pointers, steps)


def launch_config(core: Any, sizes: dict[str, int]) -> Any:
    """Return cuda.core's configuration of a cooperative launch."""
    try:
        return core.LaunchConfig(**sizes, is_cooperative=True)
    except TypeError:  # its name before version 1.0
        return core.LaunchConfig(**sizes, cooperative_launch=True)


def find_card() -> Gpu | None:
    """Return the GPU if it can run the kernel, else None."""
    if cuda.config.ENABLE_CUDASIM:
        return None
    card = Gpu()
    return card if card.device.COOPERATIVE_LAUNCH and card.capability >= LEAST_CAPABILITY else None


@final
class FusedSteps:
    """The fused kernel for batches of one size of a network.

    Attributes:
        on: if False, the other kernels take all steps, for comparison
        launches: number of launches so far
        wrong: reason for a failure, or ""; printed by measurements on a GPU
    """

    def __init__(self) -> None:
        self.on, self.launches, self.wrong = True, 0, ""
        self._card: Gpu | None = None
        self._prepared: dict[tuple[CudaUnit, bool], Prepared | None] = {}

    def take(self, calls: CudaCalls, steps: int) -> bool:
        """Queue entire steps and return True; return False if the other kernels must take them."""
        if calls.bank.dtype != "float32" or not self.on:
            return False
        key = unit_of(calls), bool(calls.memory.host_scalars[gpu_layout.CLIP_NORM] != np.inf)
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
        except Exception as error:  # nothing is queued, and the other kernels need less memory
            self._prepared[key] = None
            self.wrong = f"{type(error).__name__}: {error}"  # the error would keep the memory alive
            return False
        self.launches += 1
        return True

    def _prepare(self, calls: CudaCalls, unit: CudaUnit, clipped: bool) -> Prepared | None:
        """Return the kernel, its table and its arrays; None if the network is not supported."""
        self._card = card = self._card or find_card()
        if card is None:
            return None
        chunks, stream = int(calls.layout.plan[gpu_layout.CHUNKS]), calls.memory.stream
        share = -(-calls.samples // chunks)
        table = table_of(calls.program, chunks, share, card.shared, card.blocks, clipped)
        if table is None:
            return None
        slots = int(calls.memory.host_plan[gpu_layout.SLOT_COUNT])
        kernel = card.kernel(FusedChoice(unit, slots, table.own), table)
        errors = cuda.device_array(2 * chunks, np.float64, stream=stream)
        counter = cuda.device_array(1, np.uint32, stream=stream)
        return kernel, table, [cuda.to_device(table.numbers, stream=stream), errors, counter]


def unit_of(calls: CudaCalls) -> CudaUnit:
    """Return the functions that the kernel needs for the formulas in use."""
    (unit,) = calls.kernels.units([fused_functions]).values()
    rows = unit.used.rows or frozenset()
    if any(table == "ACTIVATIONS" for table, _ in rows):
        return unit
    return CudaUnit(fused_functions, InUse(rows | {("ACTIVATIONS", "linear")}))


# ---- compiling ----------------------------------------------------------------------------------

STEM = "cuda_fused"
PACKAGES = ("cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc")  # and those of `cuda_file.py`
SECONDS = 4  # approximate time of compiling

NAME = "fused_steps"  # of the kernel
FILES = "gpu.cuh", "network.cu", "layers.cu", "samples.cu", "rows.cu", "steps.cu"

# Fields of the plan and places in `scalars` used by name in the kernel.
PLACES = (
    "ROWS", "CHUNKS", "VALUE", "FROZEN", "GRAD", "SLOTS", "OWN_RATES", "PARTIALS", "PARTIAL_SIZE",
    "GROUP", "GROUPS", "ERRORS", "DRAW", "TABLE_TARGETS", "REFUSE", "HAS_OWN_RATES", "STEPS_TAKEN",
    "STEPS_TAKEN_AFTER", "FIRST_BAD", "BAD", "DONE", "OVERFLOWED", "NOBODY", "ARGUMENTS",
    "CLIP_NORM", "CLIP_VALUE", "L1", "L2", "MOST_ARGUMENTS", "SCHEDULED", "STEP_ARGS",
)  # fmt: skip

# Called functions: types of the result and the arguments, as declared in network.cu. Capitals are
# pointers.
FUNCTIONS = {
    "fused_value": "fif", "fused_slope": "fiff", "fused_error": "fFFl",
    "fused_loss_gradient": "vFFFl", "fused_move": "vFfFF", "fused_condition": "fffffff",
    "fused_draw": "lLDllF", "fused_batch_size": "lLDl", "fused_mean_scale": "dLDl",
    "fused_norm_scale": "dLD", "fused_arguments": "vLD",
}  # fmt: skip


# Options of NVRTC, and of nvJitLink: neither fuses a product with a sum.
COMPILED = {"link_time_optimization": True, "relocatable_device_code": True, "fma": False}
LINKED = "-lto", "-fma=0", "-Xptxas=-v", "-verbose"


@dataclass(frozen=True, slots=True)
class FusedChoice:
    """Parameters on which the machine code depends.

    Attributes:
        unit: the compiled functions of the formulas in use
        slots: number of slots of the optimizer
        own: number of bank rows per thread
    """

    unit: CudaUnit
    slots: int = 0
    own: int = 1


def machine_code(choice: FusedChoice, capability: tuple[int, int]) -> bytes:
    """Return the machine code for a GPU; compile it if it is not stored in a file.

    Args:
        capability: compute capability, such as (9, 0)
    """
    source = constants_of(choice) + source_of()
    functions = text_of(choice.unit, "float32")
    packages = [f"{package} {version_of(package)}" for package in PACKAGES]
    options = [f"{COMPILED}", *LINKED]
    made_of = "\n".join([functions, source, *packages, *options, architecture(capability)])
    path = path_of(made_of, STEM, ".cubin")
    code = kept(path)
    if code is None:
        inform(f"scalarviz compiles a kernel for the GPU, once; this takes about {SECONDS} s")
        code, _ = link(aside(ltoir_of, choice, capability), source, capability)
        keep(path, code, STEM)
    return code


def architecture(capability: tuple[int, int]) -> str:
    """Return the name of a GPU architecture; the suffix in "sm_90a" enables more features."""
    return f"sm_{capability[0]}{capability[1]}{'a' * (capability[0] >= 9)}"


def source_of() -> str:
    """Return the C++ source of the kernel."""
    return "\n".join(text_beside(__file__, name) for name in FILES)


def constants_of(choice: FusedChoice, threads: int = THREADS, lanes: int = 32) -> str:
    """Return definitions of the kernel's constants; tests use fewer threads and lanes."""
    found = {name: getattr(gpu_layout, name) for name in PLACES} | {
        "THREADS": threads, "LANES": lanes, "OWN": choice.own, "SLOTS_EACH": choice.slots,
        "HEAD_BYTES": HEAD_BYTES, "SHAPE_FIELDS": SHAPE_FIELDS, "LAYER_FIELDS": LAYER_FIELDS,
        "MOST_LAYERS": MOST_LAYERS, "MOST_TILE": MOST_TILE, "POINTS": POINTS,
    }  # fmt: skip
    lines = []
    for name, number in found.items():
        kind = "unsigned" if number < 2**32 else "long long"
        lines.append(f"constexpr {kind} {name} = {number};\n")
    return "".join(lines)


# ---- formulas -----------------------------------------------------------------------------------


def ltoir_of(choice: FusedChoice, capability: tuple[int, int]) -> list[bytes]:
    """Compile the functions that the kernel calls to LTO-IR, with the C ABI."""
    cuda: Any = import_module("numba.cuda")
    types: Any = import_module("numba.cuda.types")
    plain = {
        "v": types.void, "i": types.int32, "l": types.int64, "f": types.float32,
        "d": types.float64,
    }  # fmt: skip
    known = {**plain, **{key.upper(): types.CPointer(plain[key]) for key in "lfd"}}
    module = cuda_file.import_file(path_of_unit(choice.unit, "float32"))
    found = []
    for name, kinds in FUNCTIONS.items():
        result, *arguments = [known[kind] for kind in kinds]
        with products_rounded():
            code, _ = cuda.compile(
                getattr(module, name).py_func, result(*arguments), device=True, abi="c",
                abi_info={"abi_name": name}, cc=capability, output="ltoir",
            )  # fmt: skip
        found.append(code)
    return found


# ---- machine code -------------------------------------------------------------------------------


def link(
    functions: list[bytes], c_source: str, capability: tuple[int, int], *, ptx: bool = False
) -> tuple[bytes, str]:
    """Return the linked kernel with its functions inlined, and the linker's messages.

    Args:
        ptx: whether to return PTX instead of machine code; tests interpret it
    """
    core: Any = import_module("cuda.core")
    linker: Any = import_module("cuda.bindings.nvjitlink")
    arch = architecture(capability)
    program = core.Program(c_source, "c++", core.ProgramOptions(arch=arch, **COMPILED))
    parts = [bytes(program.compile("ltoir").code), *functions]
    chosen = [f"-arch={arch}", *LINKED, *["-ptx"] * ptx]
    handle = linker.create(len(chosen), chosen)
    try:
        for i, part in enumerate(parts):
            linker.add_data(handle, linker.InputType.LTOIR, part, len(part), f"part {i}")
        linker.complete(handle)
        kind = "ptx" if ptx else "cubin"
        found = bytearray(getattr(linker, f"get_linked_{kind}_size")(handle))
        getattr(linker, f"get_linked_{kind}")(handle, found)
        log = bytearray(linker.get_info_log_size(handle))
        linker.get_info_log(handle, log)
        return bytes(found), log.decode(errors="replace")
    finally:
        linker.destroy(handle)


# Functions called by the kernel. Every function has the same name and arguments as in network.cu.
# Indices of formulas refer to the tables; a loss and an optimizer need no index, since only one of
# each is in use.

MANY = 2**40  # length of an array of which only the beginning is known
ONLY = 0  # index of the only formula in use


@kernel
def fused_value(formula: Index, x: Any) -> Any:
    return activation_value(formula, x)


@kernel
def fused_slope(formula: Index, x: Any, y: Any) -> Any:
    return activation_slope(formula, x, y)


@kernel
def fused_error(p: Numbers, t: Numbers, size: Index) -> Any:
    return Real(sample_error(ONLY, array_at(p, size), array_at(t, size)))


@kernel
def fused_loss_gradient(p: Numbers, t: Numbers, g: Numbers, size: Index) -> None:
    sample_gradient(ONLY, array_at(p, size), array_at(t, size), array_at(g, size))


@kernel
def fused_move(value: Numbers, g: Any, slots: Numbers, arguments: Numbers) -> None:
    move_one(ONLY, array_at(value, 1), g, array_at(slots, MANY), array_at(arguments, MANY))


@kernel
def fused_condition(g: Any, w: Any, scale: Any, limit: Any, l1: Any, l2: Any) -> Any:
    return condition_one(g, w, scale, limit, l1, l2)


@kernel
def fused_draw(plan: Whole, scalars: Exact, k: Index, i: Index, x: Numbers) -> Index:
    return drawn_row(array_at(plan, MANY), array_at(scalars, MANY), k, i, array_at(x, 2), 0, 1)


@kernel
def fused_batch_size(plan: Whole, scalars: Exact, k: Index) -> Index:
    return batch_size(array_at(plan, MANY), array_at(scalars, MANY), k)


@kernel
def fused_mean_scale(plan: Whole, scalars: Exact, samples: Index) -> Any:
    return mean_scale(array_at(plan, MANY), array_at(scalars, MANY), samples)


@kernel
def fused_norm_scale(plan: Whole, scalars: Exact) -> Any:
    # In the order of `norm_scale`, by one thread.
    numbers, total = array_at(scalars, MANY), 0.0
    if numbers[CLIP_NORM] == np.inf:
        return 1.0
    for share in range(SHARES):
        total += share_of_squares(array_at(plan, MANY), numbers, share)
    return clip_factor(total, numbers[CLIP_NORM])


@kernel
def fused_arguments(plan: Whole, scalars: Exact) -> None:
    write_arguments(array_at(plan, MANY), array_at(scalars, MANY))


@launched
def fused_functions(plan: Whole) -> Any:
    """Refer to every function of a fused step, so that one file contains all; never launched."""
    return (
        fused_value, fused_slope, fused_error, fused_loss_gradient, fused_move, fused_condition,
        fused_draw, fused_batch_size, fused_mean_scale, fused_norm_scale, fused_arguments,
    )  # fmt: skip


def array_at(pointer: Any, length: Any) -> Any:
    """Return the array of `length` numbers that begins at a pointer; only for use in kernels."""
    raise NotImplementedError


def make_intrinsic() -> Any:
    """Return the implementation of `array_at` for numba-cuda's compiler."""
    types: Any = import_module("numba.cuda.types")
    arrays: Any = import_module("numba.cuda.np.arrayobj")

    def array_at(typing: Any, pointer: Any, length: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = arrays.make_array(signature.return_type)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(pointer.dtype))
            step = context.get_constant(types.intp, size)
            arrays.populate_array(
                made, data=arguments[0], shape=[arguments[1]], strides=[step], itemsize=step,
                meminfo=None,
            )  # fmt: skip
            return made._getvalue()

        return types.Array(pointer.dtype, 1, "C")(pointer, types.intp), generate

    return import_module("numba.cuda.extending").intrinsic(array_at)


if cuda is not None and not cuda.config.ENABLE_CUDASIM:
    array_at = make_intrinsic()
