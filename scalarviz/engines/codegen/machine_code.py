"""Machine code of kernels: object files, stored next to their kernel file or shipped.

An object file contains one kernel, and LLVM links it into the process. Linking takes a tenth of the
time in which numba loads a kernel from its own cache, since no type has to be known.

A wheel for Linux contains all kernels for two levels of x86-64 processors, in an archive for each,
written by `docs/build_kernels.py`. The key of a kernel is a digest of its text without versions. So
a changed or added formula is compiled as usual, and an archive serves each version of Python. It is
not used with other versions of numba or llvmlite, whose functions the kernels call, nor if
NUMBA_CPU_NAME or NUMBA_CPU_FEATURES ask for a certain processor.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import BadZipFile, ZipFile

from scalarviz.base.kernel_files import keep, kept, without_digest
from scalarviz.base.kernel_threads import start_threads
from scalarviz.engines.codegen.kernel_source import version_of, versions

FOLDER = Path(__file__).parent / "shipped"
V3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"
LEVELS = {  # the best first, with the features that its kernels may use
    "x86-64-v4": f"{V3} avx512bw avx512cd avx512dq avx512f avx512vl".split(),
    "x86-64-v3": V3.split(),
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loaded kernel: `address` is for calls from kernels, `call` for calls from Python."""

    address: int
    call: Callable[..., None]
    owner: Any  # owns the machine code


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """Stores what numba compiles for a kernel file as an object file; replaces numba's cache."""

    path: Path

    def load_overload(self, *_: object) -> None:
        """Return None, so that the kernel is compiled."""

    def save_overload(self, _: object, result: Any) -> None:
        """Store the name of a kernel, the number of its arguments, and its object file."""
        result.library._ensure_finalized()
        code = result.library._get_compiled_object()
        head = f"{result.fndesc.llvm_cfunc_wrapper_name} {len(result.signature.args)}\n"
        keep(self.path, head.encode() + code)


def object_path(path: Path) -> Path:
    """Return the path of the object file of a kernel file, for this processor."""
    from numba.core.registry import cpu_target

    processor = repr(cpu_target.target_context.codegen().magic_tuple())
    digest = hashlib.sha256(processor.encode()).hexdigest()[:20]
    return path.parent / "__pycache__" / f"{path.stem}.{digest}.o"


def is_stored(path: Path) -> bool:
    """Return whether intact machine code of a kernel file is stored for this processor."""
    return kept(object_path(path)) is not None


def stored(path: Path) -> Kernel | None:
    """Return the kernel of a kernel file, or None if it is not compiled, or damaged."""
    return linked(kept(object_path(path)))


def linked(content: bytes | None) -> Kernel | None:
    """Return the kernel of an object file stored by `ObjectCache`, or None if it is missing."""
    if content is None:
        return None
    from llvmlite import binding
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrt import rtsys

    head, _, code = content.partition(b"\n")
    name, count = head.decode().split()
    owner: Any = ModuleType(name)
    # Before linking, so that LLVM knows the functions which kernels call.
    rtsys.initialize(cpu_target.target_context)
    start_threads(owner)
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    # Each has its own linker: the linker uses the first of several functions with equal names.
    owner.linker = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    owner.linker.add_object_file(binding.ObjectFileRef.from_data(code))
    owner.linker.finalize_object()
    address = owner.linker.get_function_address(name)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * int(count))
    return Kernel(address, kind(address), owner)


# ---- kernels shipped with the package -----------------------------------------------------------


def compilers() -> str:
    """Return the versions that an archive depends on."""
    return ", ".join(f"{name} {version_of(name)}" for name in ("numba", "llvmlite"))


def key_of(text: str) -> str:
    """Return the key of a kernel in an archive, from the text of its file."""
    return hashlib.sha256(text.replace(versions(), "").encode()).hexdigest()[:32]


def level() -> str | None:
    """Return the best level of this processor, or None if no archive can fit."""
    from llvmlite import binding
    from numba.core import config

    asked = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]  # set at import
    if sys.platform != "linux" or platform.machine() != "x86_64" or any(asked):
        return None
    known: dict[str, bool] = binding.get_host_cpu_features()
    return next((name for name, needed in LEVELS.items() if all(map(known.get, needed))), None)


@cache
def archive() -> ZipFile | None:
    """Return the archive for this processor and the installed compilers, or None."""
    with suppress(OSError, BadZipFile):
        found = ZipFile(FOLDER / f"{level()}.zip")
        if found.comment == compilers().encode():
            return found
    return None


def is_shipped(text: str) -> bool:
    """Return whether the archive contains the kernel of a text."""
    found = archive()
    return found is not None and key_of(text) in found.NameToInfo


def shipped(text: str) -> Kernel | None:
    """Return the kernel of a text from the archive, or None if it is missing or damaged."""
    found = archive()
    if found is not None:
        with suppress(OSError, BadZipFile, KeyError):
            return linked(without_digest(key_of(text), found.read(key_of(text))))
    return None
