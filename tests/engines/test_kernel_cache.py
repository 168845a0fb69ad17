"""Processes that compile at the same time do not write over each other's kernels."""

import subprocess
import sys

from scalarviz.engines.codegen.kernel_file import load

PROGRAM = """
from scalarviz.engines.codegen.kernel_file import load
kernels = vars(load("scalarviz.engines.cpu.replicas_kernel", "float64")).values()
caches = [kernel._cache for kernel in kernels if hasattr(kernel, "_cache")]
print(next(c._cache_file._data_name(1) for c in caches if hasattr(c, "_cache_file")))
"""


def test_every_kernel_that_is_kept_has_names_of_this_process() -> None:
    module = load("scalarviz.engines.cpu.replicas_kernel", "float64")
    caches = [kernel._cache for kernel in vars(module).values() if hasattr(kernel, "_cache")]
    files = [cache._cache_file for cache in caches if hasattr(cache, "_cache_file")]
    assert len(files) > 5
    own = {file._data_name(1).rpartition(".")[0].rpartition(".")[2] for file in files}
    assert len(own) == 1 and own != {"1"}


def test_two_processes_choose_different_names() -> None:
    command = [sys.executable, "-c", PROGRAM]
    names = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)]
    assert names[0] != names[1]
    assert names[0].endswith(b".nbc\n")
