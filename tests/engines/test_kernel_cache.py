"""Kernels are kept in files of their own, which are loaded only if they are whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.codegen.cache_files import KernelFile
from scalarviz.engines.cpu.table import TRAINING
from scalarviz.scene.visuals import mip_means

PROGRAM = """
import sys
from pathlib import Path
from scalarviz.engines.codegen.compiling import import_file
print(import_file(Path(sys.argv[1])).compiled._cache._cache_file.path("a key"))
"""


class Numbas:
    """What numba would keep the files of a kernel by."""

    _index_name, _source_stamp, _version = "small.answer-1.py312.nbi", (0.0, 1), "0.62"

    def _dump(self, data: object) -> bytes:
        import pickle

        return pickle.dumps(data)


def test_every_kernel_has_a_file_for_each_set_of_arguments(tmp_path: Path) -> None:
    file = KernelFile(Numbas(), tmp_path)
    for number in range(3):
        file.save(("uint64", number), f"code {number}")
    assert [file.load(("uint64", number)) for number in range(4)] == [
        "code 0", "code 1", "code 2", None,
    ]  # fmt: skip
    assert len([*tmp_path.iterdir()]) == 3


def test_what_was_planted_is_not_unpickled(tmp_path: Path) -> None:
    file = KernelFile(Numbas(), tmp_path)
    file.save("a key", "code")
    path = file.path("a key")
    whole = path.read_bytes()
    for damaged in (
        whole[32:],
        whole[:-1],
        whole[:40] + b"\0" * (len(whole) - 40),
        b"cos\nsystem\n",
    ):
        path.write_bytes(damaged)
        assert file.load("a key") is None
    other = file.path("another key")
    other.write_bytes(whole)  # a copy that went wrong
    assert file.load("another key") is None


@pytest.mark.parametrize("module", ["files", "means"])
def test_all_kernels_that_are_kept_are_kept_so(module: str) -> None:
    if module == "means":
        kernels = [each for each in vars(mip_means).values() if hasattr(each, "_cache")]
        kernels = [each for each in kernels if hasattr(each._cache, "_cache_file")]
        assert len(kernels) == 5
    else:
        paths = [kernel_units.path_of_unit(unit, "float64") for unit in TRAINING.values()]
        kernels = [compiling.import_file(path).compiled for path in paths]
        assert len(kernels) > 3
    files = [each._cache._cache_file for each in kernels]
    assert all(isinstance(file, KernelFile) for file in files)
    assert not any(isinstance(file.own, KernelFile) for file in files)


def test_all_processes_look_for_the_same_file() -> None:
    path = kernel_units.path_of_unit(TRAINING["move"], "float64")
    command = [sys.executable, "-c", PROGRAM, str(path)]
    names = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)]
    assert names[0] == names[1]
    assert names[0].rstrip().endswith(b".nbc")


def test_without_a_folder_to_keep_them_in_they_are_compiled_each_time() -> None:
    """As for a user without a home, in an installation of somebody else."""
    program = """
import numpy as np
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []
from scalarviz.scene.visuals import mip_means
means, table = np.ones((2, 2, 2), np.float32), np.zeros((2, 2, 4), np.uint8)
colors, strengths = np.zeros((4, 3), np.float32), np.ones(1, np.float32)
mip_means.write_levels(means, colors, strengths, table, np.zeros(1, np.int64))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
