"""How the cuda engine calls NVIDIA's driver, with a stand-in for it: see stub_driver.c.

Kernels are compiled and linked as on a GPU, and launched; only that nothing computes them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scalarviz.engines.cuda import gpu_layout
from scalarviz.engines.cuda.launches import RESERVED
from tests.engines.machine_code import needs_a_linker
from tests.engines.test_cuda import needs_numba_cuda
from tests.root import ROOT

HERE = Path(__file__).parent
MOST = 232_448 - RESERVED  # bytes of shared memory that a block may have besides static arrays

pytestmark = [
    needs_numba_cuda,
    pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc"),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the driver, and of the kernels that are compiled for it."""
    needs_a_linker()
    folder = tmp_path_factory.mktemp("driver")
    command = ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", str(HERE / "stub_driver.c")]
    subprocess.run([*command, "-ldl", "-o", str(folder / "libcuda.so.1")], check=True)
    return folder


def run(driver: Path, *ways: str, **settings: str) -> tuple[dict[str, Any], Counter[str]]:
    """What `on_stub_driver` gives, and how often each kernel was launched, or prepared, how."""
    log = driver / "log.txt"
    log.write_text("")
    known = os.environ | {
        "LD_LIBRARY_PATH": str(driver), "STUB_LOG": str(log), "STUB_DONE": str(gpu_layout.DONE),
        "SCALARVIZ_CACHE_DIR": str(driver / "kernels"), "PYTHONPATH": str(ROOT),
    } | settings  # fmt: skip
    command = [sys.executable, str(HERE / "on_stub_driver.py"), *ways]
    done = subprocess.run(command, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = re.sub(r"_ZN\d+cuda_(\w+?)_float(32|64)_\S*", r"\1", log.read_text()).splitlines()
    return json.loads(done.stdout.splitlines()[-1]), Counter(lines)


@pytest.mark.slow
def test_the_engine_can_run_where_a_small_kernel_did(driver: Path) -> None:
    """It takes what whole steps take: a barrier of all blocks, and memory that is asked for."""
    found, log = run(driver, "lack")
    assert found["lack"] == "" and sum(log.values()) == 2
    attribute, launch = sorted(line.split() for line in log)
    assert attribute[0::2] == ["attribute", "8"] and int(attribute[3]) > 48 * 1024
    assert launch[0] == "cooperative" and launch[3] == attribute[3]


WITHOUT_CUDADEVRT = """
from numba.cuda import codegen
def missing(name, static):
    raise FileNotFoundError(f"lib{name}.a not found")
codegen.get_cudalib = missing
"""


@pytest.mark.slow
def test_a_barrier_that_cannot_be_linked_is_found_before_the_first_step(driver: Path) -> None:
    (driver / "without").mkdir()
    (driver / "without" / "sitecustomize.py").write_text(WITHOUT_CUDADEVRT)
    paths = os.pathsep.join([str(driver / "without"), str(ROOT)])
    found, log = run(driver, "lack", PYTHONPATH=paths, CUDA_HOME=str(driver))
    assert found["lack"].startswith("libraries of the CUDA toolkit are missing (")
    assert "libcudadevrt.a not found" in found["lack"] and not log


@pytest.mark.slow
def test_what_the_driver_lacks_is_said_and_what_it_has_remembered(driver: Path) -> None:
    found, _ = run(driver, "lack", STUB_WRONG="1", CUDA_VISIBLE_DEVICES="0")
    assert "a small kernel gave wrong numbers" in found["lack"]
    found, _ = run(driver, "lack", STUB_VERSION="12080")
    assert "the NVIDIA driver is too old: it knows CUDA 12.8" in found["lack"]
    for launches in (1, 0):
        found, log = run(driver, "lack", CUDA_VISIBLE_DEVICES="0")
        assert found["lack"] == "" and sum(log.values()) == 2 * launches


@pytest.mark.slow
def test_every_way_to_train_and_evaluate_calls_the_driver(driver: Path) -> None:
    found, log = run(driver, "whole", "kernels")
    assert found["whole"] == {"taken": 5, "blocks": 128, "refused": ""}
    # One launch a call, of blocks that wait for each other, with the weights near them.
    assert log[f"attribute train 8 {MOST}"] == 1
    assert log["cooperative train 128 92172"] == 2
    assert log["launch move_all 528 0"] == 2  # one of them is captured, and taken later
    # After the first step its launches are captured, and from then on launched as one.
    assert found["kernels"] == {"taken": 5, "blocks": 0, "refused": ""}
    assert log["captured graph 36 1"] == 1 and log["launch graph 0 0"] == 4
    found, _ = run(driver, "moments", "verbs", "session")
    assert found == {"moments": 2, "verbs": [5000, 3], "session": 3}


@pytest.mark.slow
def test_too_little_memory_is_told_by_the_errors_of_the_driver(driver: Path) -> None:
    found, _ = run(driver, "room", STUB_MOST=str(1 << 20))
    assert found["room"].startswith("the GPU has too little free memory for this: ")


@pytest.mark.slow
def test_a_smaller_network_takes_no_memory_from_a_larger_one(driver: Path) -> None:
    found, log = run(driver, "sizes")
    assert found["sizes"] == [2, 2, 2] and log[f"attribute train 8 {MOST}"] == 2
    assert log["cooperative train 128 92172"] == 2 and log["cooperative train 128 55284"] == 1


@pytest.mark.slow
def test_a_gpu_with_room_for_no_block_of_whole_steps_runs_kernels(driver: Path) -> None:
    found, log = run(driver, "whole", STUB_BLOCKS="0")
    assert found["whole"] == {"taken": 5, "blocks": 0, "refused": ""}
    assert log["captured graph 36 1"] == 1 and not log["cooperative train 128 92180"]


@pytest.mark.slow
def test_the_fused_kernel_is_launched(driver: Path) -> None:
    found, log = run(driver, "fused")
    assert found["fused"] == {"taken": 3, "launches": 1, "wrong": "", "freed": True}
    assert sum(line.startswith("cooperative fused_") for line in log) == 1
