"""Where the cuda engine cannot run, it says what is missing, and does nothing else."""

import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from scalarviz.engines.cuda import missing
from scalarviz.engines.cuda.missing import missing_for_cuda


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


@pytest.fixture(autouse=True)
def a_machine_with_numba_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(missing, "find_spec", lambda name: name)
    monkeypatch.setattr(missing, "version", lambda name: "13.4.3")
    monkeypatch.setattr(missing, "missing_in_libraries", str)


def with_driver(driver: Driver | None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(missing, "load_driver", lambda: driver)
    return missing_for_cuda()


def test_nothing_is_missing_where_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_driver(Driver(), monkeypatch) == ""
    assert with_driver(Driver(capability=(7, 5)), monkeypatch) == ""


def test_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "find_spec", lambda name: None if name == "numba_cuda" else name)
    expected = "numba-cuda is not installed (pip install 'scalarviz[cuda]')"
    assert with_driver(Driver(), monkeypatch) == expected


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        (None, "no NVIDIA driver was found"),
        (Driver(status=999), "the NVIDIA driver does not start (error 999)"),
        (
            Driver(version=12040),
            "the NVIDIA driver is too old: it knows CUDA 12.4, and 13.0 is needed",
        ),
        (Driver(status=100), "no GPU is visible"),
        (Driver(devices=0), "no GPU is visible"),
        (
            Driver(capability=(6, 1)),
            "the GPU has compute capability 6.1, and 7.5 is needed",
        ),
    ],
)
def test_what_is_missing(
    driver: Driver | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert with_driver(driver, monkeypatch) == expected


def test_a_hidden_gpu_is_told_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    expected = "no GPU is visible (CUDA_VISIBLE_DEVICES is '')"
    assert with_driver(Driver(status=100), monkeypatch) == expected


def test_the_simulator_lacks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert with_driver(None, monkeypatch) == ""


def test_a_library_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Any:
        raise RuntimeError("libcudart.so\nnot found")

    monkeypatch.undo()
    monkeypatch.setattr(missing, "import_module", fail)
    found = missing.missing_in_libraries()
    assert found.startswith("numba-cuda cannot use the GPU: libcudart.so not found (pip install")


def test_asking_loads_nothing_where_there_is_no_gpu() -> None:
    program = (
        "import sys; from scalarviz.engines.cuda import missing as lacking;"
        "lacking.load_driver = lambda: None; print(lacking.missing_for_cuda());"
        "sys.exit(any(name.startswith(('numba.cuda', 'numba_cuda')) for name in sys.modules))"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    if importlib.util.find_spec("numba_cuda"):
        assert done.stdout == "no NVIDIA driver was found\n"
