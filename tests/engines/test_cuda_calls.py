"""How the cuda engine calls NVIDIA's driver, with stand-ins for it: launches and graphs."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from scalarviz.engines.cuda import card, gpu_layout
from scalarviz.engines.cuda.launches import RESERVED
from tests.engines.fake_driver import DriverError, FakeDriver
from tests.engines.machine_code import needs_a_linker
from tests.machine import ROOT, output_of
from tests.wording import refused

pytest.importorskip("numba_cuda", reason="it is not available for this system or Python")


class Kernel:
    """Notes whether numba would warn of few blocks while a launch is configured."""

    def __init__(self) -> None:
        self.warned: list[Any] = []

    def __getitem__(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        self.warned.append(config().CUDA_LOW_OCCUPANCY_WARNINGS)
        return sizes


def config() -> Any:
    return import_module("numba.cuda.dispatcher").config


def test_a_small_batch_warns_of_nothing_and_other_kernels_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from scalarviz.engines.cuda.card import configured

    monkeypatch.setattr(config(), "CUDA_LOW_OCCUPANCY_WARNINGS", 1)
    kernel = Kernel()
    assert configured(kernel, 3, 256) == (3, 256)
    assert kernel.warned == [0]
    assert config().CUDA_LOW_OCCUPANCY_WARNINGS == 1


# ---- a step as a graph --------------------------------------------------------------------------


@pytest.fixture
def capture_driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return FakeDriver(monkeypatch)


class Noting:
    """A kernel that notes the arguments it ran with."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def __getitem__(self, sizes: Any) -> Any:
        return self.ran.append


@pytest.fixture
def steps() -> card.Steps:
    return card.Steps(STREAM, graphs=True)


@pytest.fixture
def kernel() -> Noting:
    return Noting()


STREAM = SimpleNamespace(handle="the engine's")


def launches_of(kernel: Any, *arguments: Any) -> list[card.Launch]:
    return [card.Launch(kernel, (each,), 3, 4) for each in arguments]


def test_a_step_is_captured_once_and_launched_again_and_again(
    capture_driver: FakeDriver, steps: card.Steps, kernel: Noting
) -> None:
    steps.repeat(launches_of(kernel, 1, 2), 0)
    assert capture_driver.said == []
    steps.repeat(launches_of(kernel, 1, 2), 1)
    assert capture_driver.said == ["kernel"] * 2  # which loads the kernels
    steps.repeat(launches_of(kernel, 1, 2), 3)
    assert capture_driver.said[2:] == [
        "cuStreamCreate", "cuStreamBeginCapture", "kernel", "kernel", "cuStreamEndCapture",
        "cuGraphInstantiate", "cuGraphDestroy", "cuStreamDestroy", *["cuGraphLaunch"] * 3,
    ]  # fmt: skip
    steps.repeat(launches_of(kernel, 1, 2), 2)
    assert capture_driver.said[13:] == ["cuGraphLaunch"] * 2
    assert kernel.ran == [1, 2] * 6
    assert capture_driver.alive == {"executable 2"}


@pytest.mark.parametrize("other", ["kernel", "number", "array", "one more", "sizes"])
def test_another_step_is_captured_anew_and_the_last_graph_freed(
    capture_driver: FakeDriver, other: str
) -> None:
    steps, kernel, array = card.Steps(STREAM, graphs=True), Noting(), object()
    steps.repeat(launches_of(kernel, 1, array), 2)
    changed = {
        "kernel": launches_of(Noting(), 1, array),
        "number": launches_of(kernel, 2, array),
        "array": launches_of(kernel, 1, object()),
        "one more": launches_of(kernel, 1, array, 1),
        "sizes": [card.Launch(kernel, (each,), 3, 5) for each in (1, array)],
    }[other]
    steps.repeat(launches_of(kernel, 1, array), 1)
    assert capture_driver.count("cuGraphInstantiate") == 1
    steps.repeat(changed, 2)
    assert capture_driver.count("cuGraphInstantiate") == 2
    assert capture_driver.count("cuGraphExecDestroy") == 1
    assert len(capture_driver.alive) == 1
    del steps
    assert capture_driver.alive == set()


@pytest.mark.parametrize(
    "function",
    [
        "cuStreamCreate", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate",
        "cuGraphLaunch", "cuGraphDestroy", "cuStreamDestroy",
    ],
)  # fmt: skip
def test_kernels_are_launched_one_by_one_where_the_driver_captures_nothing(
    capture_driver: FakeDriver, function: str
) -> None:
    capture_driver.refuses = function
    steps, kernel = card.Steps(STREAM, graphs=True), Noting()
    steps.repeat(launches_of(kernel, 1, 2), 3)
    assert kernel.ran == [1, 2] * 3
    before = len(capture_driver.said)
    steps.repeat(launches_of(kernel, 1, 2), 2)
    assert capture_driver.said[before:] == ["kernel"] * 4  # it is not asked again
    assert steps.refused == f"DriverError: {function}" and not steps.graphs
    if function not in ("cuGraphDestroy", "cuStreamDestroy"):
        assert capture_driver.alive == set()


def test_a_kernel_that_cannot_be_captured_ends_the_capture(
    capture_driver: FakeDriver, steps: card.Steps, kernel: Noting
) -> None:
    steps.repeat(launches_of(kernel, 1, 2), 1)
    capture_driver.refuses = "kernel"
    # A GPU that is lost launches nothing.
    refused(DriverError).by(steps.repeat, launches_of(kernel, 1, 2), 1)
    assert capture_driver.count("cuStreamEndCapture") == 1
    assert capture_driver.alive == set()
    capture_driver.refuses = ""
    steps.repeat(launches_of(kernel, 1, 2), 1)
    assert kernel.ran == [1, 2] * 2


def test_a_capture_that_is_interrupted_ends_and_begins_anew(
    capture_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, steps: card.Steps, kernel: Noting
) -> None:
    steps.repeat(launches_of(kernel, 1), 1)

    with monkeypatch.context() as patch:
        patch.setattr(capture_driver, "cuGraphInstantiate", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            steps.repeat(launches_of(kernel, 1), 1)
    assert capture_driver.alive == set()
    steps.repeat(launches_of(kernel, 1), 2)
    assert capture_driver.count("cuGraphLaunch") == 2


def test_two_captures_never_run_at_a_time(
    capture_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [card.Steps(STREAM, graphs=True) for _ in range(2)]
    kernel, other = Noting(), Noting()
    first.repeat(launches_of(kernel, 1), 1)
    second.repeat(launches_of(other, 7), 1)
    begin = capture_driver.cuStreamBeginCapture

    def meanwhile(stream: str, mode: int) -> None:
        """Another thread takes a step of its own while this one captures."""
        begin(stream, mode)
        thread = Thread(target=second.repeat, args=(launches_of(other, 7), 1))
        thread.start()
        thread.join()

    with monkeypatch.context() as patch:
        patch.setattr(capture_driver, "cuStreamBeginCapture", meanwhile)
        first.repeat(launches_of(kernel, 1), 1)
    assert capture_driver.count("cuStreamBeginCapture") == 1
    assert other.ran == [7, 7]  # by a launch of its own
    second.repeat(launches_of(other, 7), 1)
    assert capture_driver.count("cuStreamBeginCapture") == 2
    assert other.ran == [7, 7, 7]


def test_names_of_the_driver_exist() -> None:
    """What the stand-in has under these names."""
    names = import_module("cuda.bindings.driver")
    assert names.CUstream_flags.CU_STREAM_NON_BLOCKING.value == 1
    assert names.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED.value == 2
    for name in vars(FakeDriver):
        assert not name.startswith("cu") or callable(getattr(names, name))
    assert inspect.signature(card.nvidia().Stream).parameters.keys() >= {"handle", "external"}


HERE = Path(__file__).parent
MOST_SHARED = (
    232_448 - RESERVED
)  # bytes of shared memory that a block may have besides static arrays


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
    said = output_of(str(HERE / "on_stub_driver.py"), *ways, env=known)
    lines = re.sub(r"_ZN\d+cuda_(\w+?)_float(32|64)_\S*", r"\1", log.read_text()).splitlines()
    return json.loads(said.splitlines()[-1]), Counter(lines)


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
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


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
@pytest.mark.slow
def test_a_barrier_that_cannot_be_linked_is_found_before_the_first_step(driver: Path) -> None:
    (driver / "without").mkdir()
    (driver / "without" / "sitecustomize.py").write_text(WITHOUT_CUDADEVRT)
    paths = os.pathsep.join([str(driver / "without"), str(ROOT)])
    found, log = run(driver, "lack", PYTHONPATH=paths, CUDA_HOME=str(driver))
    assert found["lack"].startswith("libraries of the CUDA toolkit are missing (")
    assert "libcudadevrt.a not found" in found["lack"] and not log


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
@pytest.mark.slow
def test_what_the_driver_lacks_is_said_and_what_it_has_remembered(driver: Path) -> None:
    found, _ = run(driver, "lack", STUB_WRONG="1", CUDA_VISIBLE_DEVICES="0")
    assert "a small kernel gave wrong numbers" in found["lack"]
    found, _ = run(driver, "lack", STUB_VERSION="12080")
    assert "the NVIDIA driver is too old: it knows CUDA 12.8" in found["lack"]
    for launches in (1, 0):
        found, log = run(driver, "lack", CUDA_VISIBLE_DEVICES="0")
        assert found["lack"] == "" and sum(log.values()) == 2 * launches


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
@pytest.mark.slow
def test_every_way_to_train_and_evaluate_calls_the_driver(driver: Path) -> None:
    found, log = run(driver, "whole", "kernels")
    assert found["whole"] == {"taken": 5, "blocks": 128, "refused": ""}
    # One launch a call, of blocks that wait for each other, with the weights near them.
    assert log[f"attribute train 8 {MOST_SHARED}"] == 1
    assert log["cooperative train 128 92172"] == 2
    assert log["launch move_all 528 0"] == 2  # one of them is captured, and taken later
    # After the first step its launches are captured, and from then on launched as one.
    assert found["kernels"] == {"taken": 5, "blocks": 0, "refused": ""}
    assert log["captured graph 36 1"] == 1 and log["launch graph 0 0"] == 4
    found, _ = run(driver, "moments", "verbs", "session")
    assert found == {"moments": 2, "verbs": [5000, 3], "session": 3}


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
@pytest.mark.slow
def test_too_little_memory_is_told_by_the_errors_of_the_driver(driver: Path) -> None:
    found, _ = run(driver, "room", STUB_MOST=str(1 << 20))
    assert found["room"].startswith("the GPU has too little free memory for this: ")


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
@pytest.mark.slow
def test_a_smaller_network_takes_no_memory_from_a_larger_one(driver: Path) -> None:
    found, log = run(driver, "sizes")
    assert found["sizes"] == [2, 2, 2] and log[f"attribute train 8 {MOST_SHARED}"] == 2
    assert log["cooperative train 128 92172"] == 2 and log["cooperative train 128 55284"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a library of Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in is compiled by gcc")
@pytest.mark.slow
def test_a_gpu_with_room_for_no_block_of_whole_steps_runs_kernels(driver: Path) -> None:
    found, log = run(driver, "whole", STUB_BLOCKS="0")
    assert found["whole"] == {"taken": 5, "blocks": 0, "refused": ""}
    assert log["captured graph 36 1"] == 1 and not log["cooperative train 128 92180"]
