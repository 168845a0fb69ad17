"""Compiles the kernel of this folder for a GPU, with the formulas that a training uses.

numba compiles the functions of `formulas`, which are those of the other kernels, to LTO-IR with the
C ABI; NVRTC does the same with the C++; nvJitLink inlines the first into the second. Products are
rounded as `codegen.cuda_rounding` says: `-fma=0` is passed to nvJitLink, which compiles last.

The machine code is kept beside the files of kernels. Its name has a hash of all that it is made of.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from scalarviz.base.messages import inform
from scalarviz.base.package_files import text_beside
from scalarviz.data.batches import POINTS
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cache_files import cache_folder, keep, kept
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.cuda_rounding import products_rounded
from scalarviz.engines.codegen.kernel_source import version_of
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.fused.shape import (
    HEAD_BYTES,
    LAYER_FIELDS,
    MOST_LAYERS,
    MOST_TILE,
    SHAPE_FIELDS,
    THREADS,
)

STEM = "cuda_fused"
PACKAGES = ("cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc")  # and those of `cuda_file`
SECONDS = 4  # approximate time of compiling

NAME = "fused_steps"  # of the kernel
FILES = "gpu.cuh", "network.cu", "layers.cu", "samples.cu", "rows.cu", "steps.cu"

# Fields of the plan and places in `scalars` that the kernel uses by name.
PLACES = (
    "ROWS", "CHUNKS", "VALUE", "FROZEN", "GRAD", "SLOTS", "OWN_RATES", "PARTIALS", "PARTIAL_SIZE",
    "GROUP", "GROUPS", "ERRORS", "DRAW", "TABLE_TARGETS", "REFUSE", "HAS_OWN_RATES", "STEPS_TAKEN",
    "STEPS_TAKEN_AFTER", "FIRST_BAD", "BAD", "DONE", "OVERFLOWED", "NOBODY", "ARGUMENTS",
    "CLIP_NORM", "CLIP_VALUE", "L1", "L2", "MOST_ARGUMENTS", "SCHEDULED", "STEP_ARGS",
)  # fmt: skip

# The functions of `formulas`: types of the result and of the arguments, as network.cu declares
# them. Capitals are pointers.
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
class Choice:
    """What the machine code depends on.

    unit   the functions, for the formulas in use
    slots  of the optimizer
    own    rows of the bank that a thread has
    """

    unit: CudaUnit
    slots: int = 0
    own: int = 1


def machine_code(choice: Choice, capability: tuple[int, int]) -> bytes:
    """Return the machine code for a GPU, from its file if there is one.

    capability  compute capability, such as (9, 0)
    """
    source = constants_of(choice) + source_of()
    functions = cuda_file.text_of(choice.unit, "float32")
    packages = [f"{package} {version_of(package)}" for package in PACKAGES]
    options = [f"{COMPILED}", *LINKED]
    made_of = "\n".join([functions, source, *packages, *options, architecture(capability)])
    name = f"{STEM}_{hashlib.sha256(made_of.encode()).hexdigest()[:20]}.cubin"
    path = cache_folder() / name
    code = kept(path)
    if code is None:
        inform(f"scalarviz compiles a kernel for the GPU, once; this takes about {SECONDS} s")
        code, _ = link(aside(ltoir_of, choice, capability), source, capability)
        keep(path, code, STEM)
    return code


def architecture(capability: tuple[int, int]) -> str:
    """Return the name of an architecture: "sm_90a" has more than "sm_90", and so do later ones."""
    return f"sm_{capability[0]}{capability[1]}{'a' * (capability[0] >= 9)}"


def source_of() -> str:
    """Return the C++ source of the kernel."""
    return "\n".join(text_beside(__file__, name) for name in FILES)


def constants_of(choice: Choice, threads: int = THREADS, lanes: int = 32) -> str:
    """Return definitions of the constants of the kernel; tests choose fewer threads and lanes."""
    found = {name: getattr(places, name) for name in PLACES} | {
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


def ltoir_of(choice: Choice, capability: tuple[int, int]) -> list[bytes]:
    """Compile the functions that the kernel calls, with the C ABI."""
    cuda: Any = import_module("numba.cuda")
    types: Any = import_module("numba.cuda.types")
    plain = {
        "v": types.void, "i": types.int32, "l": types.int64, "f": types.float32,
        "d": types.float64,
    }  # fmt: skip
    known = {**plain, **{key.upper(): types.CPointer(plain[key]) for key in "lfd"}}
    module = cuda_file.import_file(cuda_file.path_of_unit(choice.unit, "float32"))
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
    """Return the kernel with its functions inlined, and what the linker said.

    ptx  return it as PTX, which tests interpret
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
