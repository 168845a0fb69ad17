"""Compiling for a GPU where there is none: all but loading the machine code into it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import FakeDevice


def compile_without_gpu(patch: pytest.MonkeyPatch) -> None:
    """Let numba compile, link, and keep on disk, as for a GPU of `FakeDevice`."""
    from numba.cuda import codegen, dispatcher

    library, capability = codegen.CUDACodeLibrary, FakeDevice.compute_capability

    def ensured(self: Any, cc: Any) -> Any:
        return cc or (*capability, "a")

    def bind(kernel: Any) -> None:
        kernel._codelibrary.get_cubin()

    patch.setattr(dispatcher, "get_current_device", lambda: FakeDevice)
    patch.setattr(library, "_ensure_cc", ensured)
    patch.setattr(codegen.JITCUDACodegen, "magic_tuple", lambda self: ((13, 0), capability))
    patch.setattr(dispatcher._Kernel, "bind", bind)


def compiled_again(module: Any) -> tuple[int, int]:
    """How often the kernel of a module was loaded from disk and compiled, when it is needed."""
    kernel = getattr(module, module.NAME)
    kernel.compile(module.SIGNATURE)
    return sum(kernel._cache_hits.values()), sum(kernel._cache_misses.values())
