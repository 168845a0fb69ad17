"""Leaves out machine code that nothing runs, in a process that compiles kernels and then ends.

A kernel contains a copy of each function that it calls. numba makes machine code of these functions
by themselves, too, since Python could call them: a quarter of the time that compiling takes. The
machine code of kernels is the same without it, bit by bit.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

OF_KERNEL = "cfunc."  # how numba begins the name by which a kernel is called


def compile_for_kernels_only() -> None:
    """Compile inner functions without machine code of their own, and seldom collect garbage."""
    from numba.core import codegen, cpu

    gc.set_threshold(200_000, 20, 20)
    libraries: Any = codegen.JITCodeLibrary
    contexts: Any = cpu.CPUContext
    finish = libraries._finalize_final_module

    def finish_kernel(library: Any) -> None:
        functions = library._final_module.functions
        if any(each.name.startswith(OF_KERNEL) for each in functions):
            finish(library)
        else:
            library._finalize_dynamic_globals()
            library._finalized = True

    libraries._finalize_final_module = finish_kernel
    contexts.get_executable = not_callable


def not_callable(context: Any, library: Any, description: Any, env: Any) -> Callable[..., Any]:
    """Take the place of numba's function that makes a compiled function callable from Python.

    numba tells compiled functions apart by what this returns, which must be written in C.
    """
    return [].append
