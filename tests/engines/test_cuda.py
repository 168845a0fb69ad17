"""The cuda engine where there is no GPU: in numba's simulator, and what is reported as missing."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base import kernel_files
from scalarviz.base.shell_commands import pip_command, pip_install
from scalarviz.engines.cuda import missing
from scalarviz.engines.cuda.missing import missing_for_cuda
from tests.machine import ended, output_of

# Tests of all engines, of which those of cuda are run; and of what cuda alone has.
SHARED = [
    "tests/engines/test_engines.py", "tests/engines/test_one_answer.py",
    "tests/engines/test_overflow.py", "tests/engines/test_runs.py", "tests/core/layers",
    "tests/additions", "tests/training/session/test_undo.py",
    "tests/training/session/test_background.py", "tests/training/session/test_time_travel.py",
]  # fmt: skip
NAMES = ("matrix", "cuda", "formulas", "graphs", "away")
FILES = [f"tests/engines/simulated_{name}.py" for name in NAMES]

needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not available for this system or Python",
)


def simulate(*words: str, **settings: str) -> None:
    """Run tests in the simulator, with settings of `simulator.py`."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.engines.simulator"]
    # Numbers there are numpy's, and numpy warns where a GPU overflows.
    command += ["-W", "ignore::RuntimeWarning", "-k", "simulated or cuda]", *words]
    known = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", **settings}
    output_of(*command, env=known, seconds=3600.0)


@needs_numba_cuda
@pytest.mark.some("all")
@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ((*FILES, *SHARED), {}),
        (SHARED, {"SIMULATED_STEPS": "kernels"}),
        ((*FILES, "-m", "slow"), {}),
        (FILES, {"SIMULATED_BLOCKS": "numba"}),
    ],
    ids=["all", "kernel by kernel", "long runs", "threads interrupted anywhere"],
)
def test_the_cuda_engine_gives_what_the_objects_give(
    words: Sequence[str], settings: dict[str, str]
) -> None:
    simulate(*words, **settings)


class Driver:
    """A driver as a machine might have it."""

    def __init__(
        self,
        status: int = 0,
        version: int = 13000,
        devices: int = 1,
        capability: tuple[int, int] = (9, 0),
    ) -> None:
        self.status = status
        self.numbers = {
            "cuDriverGetVersion": version,
            "cuDeviceGetCount": devices,
            "cuDeviceGet": 0,
        }
        self.capability = dict(zip((missing.MAJOR, missing.MINOR), capability, strict=True))

    def cuInit(self, flags: int) -> int:
        return self.status

    def cuDeviceGetAttribute(self, answer: Any, attribute: int, device: int) -> int:
        answer._obj.value = self.capability[attribute]
        return 0

    def __getattr__(self, name: str) -> Any:
        def function(answer: Any, *arguments: int) -> int:
            answer._obj.value = self.numbers[name]
            return 0

        return function


@pytest.fixture
def a_machine_with_numba_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(missing, "find_spec", lambda name: name)
    monkeypatch.setattr(missing, "version_of", lambda name: "13.4.3")
    monkeypatch.setattr(missing, "missing_in_libraries", lambda here: "")


def with_driver(driver: Driver | None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(missing, "load_driver", lambda: driver)
    return missing_for_cuda()


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
def test_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "find_spec", lambda name: None if name == "numba_cuda" else name)
    expected = f"numba-cuda is not installed ({pip_command('cuda')})"
    assert with_driver(Driver(), monkeypatch) == expected


HIDDEN, SIMULATED = {"CUDA_VISIBLE_DEVICES": ""}, {"NUMBA_ENABLE_CUDASIM": "1"}


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
@pytest.mark.parametrize(
    ("driver", "environment", "expected"),
    [
        (Driver(), {}, ""),
        (Driver(capability=(7, 5)), {}, ""),
        (None, SIMULATED, ""),
        (None, {}, "no NVIDIA driver was found"),
        (Driver(status=999), {}, "the NVIDIA driver does not start (error 999)"),
        (
            Driver(version=12040),
            {},
            "the NVIDIA driver is too old: it knows CUDA 12.4, and 13.0 is needed "
            f"({pip_command('cuda12')} suits it)",
        ),
        (
            Driver(version=11080),
            {},
            "the NVIDIA driver is too old: it knows CUDA 11.8, and 13.0 is needed",
        ),
        (Driver(status=100), {}, "no GPU is visible"),
        (Driver(status=100), HIDDEN, "no GPU is visible (CUDA_VISIBLE_DEVICES is '')"),
        (Driver(devices=0), {}, "no GPU is visible"),
        (Driver(capability=(6, 1)), {}, "the GPU has compute capability 6.1, and 7.5 is needed"),
    ],
)
def test_what_is_missing(
    driver: Driver | None,
    environment: dict[str, str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert with_driver(driver, monkeypatch) == expected


def without_a_cache(monkeypatch: pytest.MonkeyPatch, folder: Path, error: str) -> list[str]:
    """Let the small kernel end with an error; return the list that counts its runs."""
    runs: list[str] = []

    def kernel() -> str:
        runs.append(error)
        return error

    monkeypatch.undo()
    monkeypatch.setattr(kernel_files, "cache_folder", lambda: folder)
    monkeypatch.setattr(missing, "error_of_a_kernel", kernel)
    missing.missing_in_libraries.cache_clear()
    return runs


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
def test_a_kernel_that_ran_once_is_remembered_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = without_a_cache(monkeypatch, tmp_path, "")
    for _ in range(2):
        assert missing.missing_in_libraries("a driver") == ""
        missing.missing_in_libraries.cache_clear()
    assert len(runs) == 1
    assert missing.missing_in_libraries("another driver") == ""
    assert len(runs) == 2


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
def test_what_failed_is_tried_again_by_the_next_process_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = without_a_cache(monkeypatch, tmp_path, "RuntimeError: odd")
    for _ in range(2):
        assert missing.missing_in_libraries("a driver").startswith(
            f"numba-cuda runs no kernel on the GPU: RuntimeError: odd ({pip_command('cuda')}"
        )
    assert len(runs) == 1
    missing.missing_in_libraries.cache_clear()
    assert missing.missing_in_libraries("a driver")
    assert len(runs) == 2


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
@pytest.mark.parametrize(
    ("error", "start"),
    [
        (
            "AttributeError: module 'numpy' has no attribute 'row_stack'",
            f"numba-cuda 13.4.3 compiles no kernel with numpy 13.4.3 ({pip_install('numpy<2.5')})",
        ),
        (
            "LinkerError: [222] cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
            "the NVIDIA driver cannot read compiled kernels: nvJitLink is missing,",
        ),
        ("NvvmSupportError: libNVVM cannot be found", "numba-cuda finds no libnvvm to compile"),
        ("RuntimeError: nvJitLink: ERROR_INTERNAL", "numba-cuda cannot link: nvJitLink is missing"),
        ("ValueError: Cannot find libcudadevrt.a", "libraries of the CUDA toolkit are missing"),
    ],
)
def test_one_sentence_names_what_is_missing(error: str, start: str) -> None:
    assert missing.explained(error).startswith(start)


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
@needs_numba_cuda
def test_the_kernel_is_run_in_a_process_of_its_own() -> None:
    """Where there is a GPU it runs; elsewhere numba says what it misses, in one line."""
    driver = missing.load_driver()
    error = missing.error_of_a_kernel()
    assert "\n" not in error
    assert bool(error) == (driver is None or bool(missing.missing_in_driver(driver)))


NEWER_NUMPY = """
import numpy
del numpy.row_stack  # as numpy 2.5 has done
from numba import cuda, types
from numba.cuda import dispatcher
class FakeDevice:
    compute_capability = (9, 0)
dispatcher.get_current_device = lambda: FakeDevice
cuda.compile_ptx(lambda out: None, (types.float32[::1],), cc=(9, 0))
"""


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
@pytest.mark.slow
@needs_numba_cuda
def test_numba_cuda_compiles_nothing_without_a_name_that_newer_numpys_lack() -> None:
    """When this fails, numba-cuda works with numpy 2.5, and the bound in setup.cfg can go."""
    done = subprocess.run([sys.executable, "-c", NEWER_NUMPY], capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert missing.explained(last).startswith("numba-cuda 13.4.3 compiles no kernel")


@pytest.mark.usefixtures("a_machine_with_numba_cuda")
def test_asking_loads_nothing_where_there_is_no_gpu() -> None:
    program = (
        "import sys; from scalarviz.engines.cuda import missing as lacking;"
        "lacking.load_driver = lambda: None; print(lacking.missing_for_cuda());"
        "sys.exit(any(name.startswith(('numba.cuda', 'numba_cuda')) for name in sys.modules))"
    )
    done = ended("-W", "error", "-c", program)
    assert done.stderr == ""
    if importlib.util.find_spec("numba_cuda"):
        assert done.stdout == "no NVIDIA driver was found\n"
