"""Processes that compile at the same time do not write over each other's kernels."""

import subprocess
import sys
from pathlib import Path

from scalarviz.engines.codegen import compile_kernel, kernel_units
from scalarviz.engines.cpu.units import TRAINING

PROGRAM = """
import sys
from pathlib import Path
from scalarviz.engines.codegen.compile_kernel import import_file
print(import_file(Path(sys.argv[1])).compiled._cache._cache_file._data_name(1))
"""


def test_every_kernel_that_is_kept_has_names_of_this_process() -> None:
    paths = [kernel_units.path_of_unit(unit, "float64") for unit in TRAINING.values()]
    own = set()
    for path in paths:
        file = compile_kernel.import_file(path).compiled._cache._cache_file
        own.add(file._data_name(1).rpartition(".")[0].rpartition(".")[2])
    assert len(paths) > 3
    assert len(own) == 1 and own != {"1"}


def test_two_processes_choose_different_names(tmp_path: Path) -> None:
    path = kernel_units.path_of_unit(TRAINING["move"], "float64")
    command = [sys.executable, "-c", PROGRAM, str(path)]
    names = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)]
    assert names[0] != names[1]
    assert names[0].rstrip().endswith(b".nbc")
