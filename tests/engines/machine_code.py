"""The machine code of kernels for GPUs: made, linked and disassembled where there is no GPU."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from scalarviz.base.kernel_files import keep, kept, path_of
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit, products_rounded
from scalarviz.engines.codegen.formula_loops import InUse
from scalarviz.engines.codegen.kernel_units import Dtype, form_of
from scalarviz.engines.cuda import kernels, launches

ARCHITECTURE = "sm_90a"
# In PTX: operations that the next compiler may fuse, in one kernel and not in another.
NOT_ROUNDED = re.compile(r"\b(mul|add|sub|mad)\.f(32|64)\b")
GPU = (9, 0)
# All kernels that are launched.
EVERY = [
    function
    for function in vars(kernels).values()
    if getattr(function, "__module__", "") == kernels.__name__
    and "launched" in form_of(function).marks
]
# What a training of 12-64x4-3 uses: leaky_relu, sigmoid, mean squared error and Adam.
IN_USE = [
    ("KERNELS", "affine"), ("KERNELS", "activation"), ("WHOLE_BATCH", "affine"),
    ("WHOLE_BATCH", "activation"), ("ACTIVATIONS", "leaky_relu"), ("ACTIVATIONS", "sigmoid"),
    ("LOSSES", "mse"), ("KINDS_OF_LOSSES", "LOSSES"), ("OPTIMIZERS", "adam"),
    ("SCHEDULES", "constant"), ("DRAWS", "shuffled"),
]  # fmt: skip


class FakeDevice:
    """Device functions ask which GPU they are compiled for: this one, where there is none."""

    compute_capability = (9, 0)


def fake_device(patch: pytest.MonkeyPatch, gpu: tuple[int, int] = GPU) -> None:
    """Let numba compile for a GPU that is not here."""
    from numba.cuda import dispatcher

    patch.setattr(FakeDevice, "compute_capability", gpu)
    patch.setattr(dispatcher, "get_current_device", lambda: FakeDevice)


@dataclass(frozen=True)
class MachineCode:
    """A linked kernel.

    Attributes:
        text: as nvdisasm prints it
        log: of the linker, which counts registers and spills
        ptx: the text that was linked
    """

    name: str
    text: str
    log: str
    ptx: str

    def number(self, pattern: str) -> int:
        found = re.findall(pattern, self.log)
        assert found, self.log
        return max(int(each) for each in found)

    @property
    def registers(self) -> int:
        return self.number(r"Used (\d+) registers")

    @property
    def spilled(self) -> int:
        """Bytes that are stored because there are too few registers."""
        return self.number(r"(\d+) bytes spill stores")

    @property
    def instructions(self) -> list[str]:
        """Instructions without their addresses, of the kernel and what it calls."""
        return re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", self.text, re.MULTILINE)


def needs_a_linker() -> Path:
    """Return the path of nvdisasm; skip the test if it or nvJitLink is not installed."""
    from cuda.pathfinder import find_nvidia_binary_utility
    from numba.cuda.cudadrv import driver

    tool = find_nvidia_binary_utility("nvdisasm")
    if tool is None or not driver._have_nvjitlink():
        pytest.skip("machine code takes nvidia-nvjitlink and nvidia-cuda-nvdisasm")
    return Path(tool)


def cudadevrt() -> Path:
    """Return the library in which threads of all blocks wait for each other."""
    from cuda.pathfinder import find_static_lib

    return Path(find_static_lib("cudadevrt"))


def unit(function: Any, rows: Iterable[tuple[str, str]] | None = None) -> CudaUnit:
    """A kernel for rows of tables; by default for all."""
    return CudaUnit(function, InUse() if rows is None else InUse(frozenset(rows)))


def made_once(stem: str, made_from: str, make: Callable[[], str]) -> str:
    """Return what `make` makes of a text; it is kept beside the kernels that users compile."""
    file = path_of(made_from + cuda_file.versions(), stem).with_suffix(".kept")
    found = kept(file)
    if found is None:
        found = make().encode()
        keep(file, found, stem)
    return found.decode()


def ptx_of(unit: CudaUnit, dtype: Dtype, gpu: tuple[int, int] = GPU) -> str:
    """Return the PTX text of a kernel."""
    path = cuda_file.path_of_unit(unit, dtype)
    made_from = f"{path.name} {gpu} {inspect.getsource(cuda_file)}"
    return made_once(f"ptx_{path.stem}", made_from, lambda: compiled_ptx(path, gpu))


def compiled_ptx(path: Path, gpu: tuple[int, int]) -> str:
    """The PTX text of the kernel in a file."""
    from numba import cuda

    with pytest.MonkeyPatch.context() as patch:
        fake_device(patch, gpu)
        # Device functions are compiled for the GPU that they meet first.
        module = cuda_file.import_file(path)
        kernel = getattr(module, module.NAME)
        with products_rounded():
            text, _ = cuda.compile_ptx(kernel.py_func, module.SIGNATURE, cc=gpu)
    return str(text)


def linked(unit: CudaUnit, dtype: Dtype, folder: Path) -> MachineCode:
    """The machine code of a kernel."""
    return link(unit.function.__name__, ptx_of(unit, dtype), folder)


def as_launched(unit: CudaUnit, dtype: Dtype, folder: Path) -> MachineCode:
    """The machine code of a kernel as numba makes it before a launch, with all its options."""
    from numba.cuda import codegen, dispatcher

    with pytest.MonkeyPatch.context() as patch:
        fake_device(patch)
        patch.setattr(codegen.devices, "get_context", lambda *_: SimpleNamespace(device=FakeDevice))
        module = cuda_file.import_file(cuda_file.path_of_unit(unit, dtype))
        kernel = getattr(module, module.NAME)
        with products_rounded():
            made = dispatcher._Kernel(kernel.py_func, module.SIGNATURE, **kernel.targetoptions)
            code = bytes(made._codelibrary.get_cubin().code)
    return MachineCode(module.NAME, disassembled(code, folder), log="", ptx="")


def disassembled(code: bytes, folder: Path) -> str:
    """Return machine code as text."""
    cubin = folder / "code.cubin"
    cubin.write_bytes(code)
    tool = needs_a_linker()
    return subprocess.run([tool, "-c", cubin], capture_output=True, text=True, check=True).stdout


def link(name: str, text: str, folder: Path) -> MachineCode:
    """Return the machine code of a PTX text."""
    found = made_once(f"machine_code_{name}", text, lambda: "\0".join(linked_text(text, folder)))
    code, _, log = found.partition("\0")
    return MachineCode(name, code, log, text)


def linked_text(text: str, folder: Path) -> tuple[str, str]:
    """Return the machine code of a PTX text, and what the linker said."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    parts = [ObjectCode.from_ptx(text.encode())]
    if "cudaCGSynchronize" in text:
        parts.append(ObjectCode.from_library(cudadevrt().read_bytes()))
    linker = Linker(*parts, options=LinkerOptions(arch=ARCHITECTURE, ptxas_options=["-v"]))
    return disassembled(bytes(linker.link("cubin").code), folder), linker.get_info_log()


def compile_without_gpu(patch: pytest.MonkeyPatch) -> None:
    """Let numba compile, link, and keep on disk, as for a GPU of `FakeDevice`."""
    from numba.cuda import codegen, dispatcher

    library, capability = codegen.CUDACodeLibrary, FakeDevice.compute_capability

    fake_device(patch)
    patch.setattr(library, "_ensure_cc", lambda self, cc: cc or (*capability, "a"))
    patch.setattr(codegen.JITCUDACodegen, "magic_tuple", lambda self: ((13, 0), capability))
    patch.setattr(dispatcher._Kernel, "bind", lambda kernel: kernel._codelibrary.get_cubin())


def compiled_again(module: Any) -> tuple[int, int]:
    """How often the kernel of a module was loaded from disk and compiled, when it is needed."""
    kernel = getattr(module, module.NAME)
    kernel.compile(module.SIGNATURE)
    return sum(kernel._cache_hits.values()), sum(kernel._cache_misses.values())


def all_formulas() -> Any:
    """Have kernels made for all formulas: hundreds of trainings then compile each of them once."""
    return mock.patch.object(launches, "InUse", return_value=InUse())
