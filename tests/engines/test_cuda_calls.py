"""How kernels are launched, where there is no GPU."""

import importlib.util
import inspect
from importlib import import_module
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from scalarviz.engines.cuda import card
from tests.engines.fake_graphs import DriverError, FakeDriver

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)


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
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return FakeDriver(monkeypatch)


class Noting:
    """A kernel that notes the arguments it ran with."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def __getitem__(self, sizes: Any) -> Any:
        return self.ran.append


STREAM = SimpleNamespace(handle="the engine's")


def launches_of(kernel: Any, *arguments: Any) -> list[card.Launch]:
    return [card.Launch(kernel, (each,), 3, 4) for each in arguments]


def test_a_step_is_captured_once_and_launched_again_and_again(driver: FakeDriver) -> None:
    steps, kernel = card.Steps(STREAM, graphs=True), Noting()
    steps.repeat(launches_of(kernel, 1, 2), 0)
    assert driver.said == []
    steps.repeat(launches_of(kernel, 1, 2), 1)
    assert driver.said == ["kernel"] * 2  # which loads the kernels
    steps.repeat(launches_of(kernel, 1, 2), 3)
    assert driver.said[2:] == [
        "cuStreamCreate", "cuStreamBeginCapture", "kernel", "kernel", "cuStreamEndCapture",
        "cuGraphInstantiate", "cuGraphDestroy", "cuStreamDestroy", *["cuGraphLaunch"] * 3,
    ]  # fmt: skip
    steps.repeat(launches_of(kernel, 1, 2), 2)
    assert driver.said[13:] == ["cuGraphLaunch"] * 2
    assert kernel.ran == [1, 2] * 6
    assert driver.alive == {"executable 2"}


@pytest.mark.parametrize("other", ["kernel", "number", "array", "one more", "sizes"])
def test_another_step_is_captured_anew_and_the_last_graph_freed(
    driver: FakeDriver, other: str
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
    assert driver.count("cuGraphInstantiate") == 1
    steps.repeat(changed, 2)
    assert driver.count("cuGraphInstantiate") == 2
    assert driver.count("cuGraphExecDestroy") == 1
    assert len(driver.alive) == 1
    del steps
    assert driver.alive == set()


@pytest.mark.parametrize(
    "function",
    [
        "cuStreamCreate", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate",
        "cuGraphLaunch", "cuGraphDestroy", "cuStreamDestroy",
    ],
)  # fmt: skip
def test_kernels_are_launched_one_by_one_where_the_driver_captures_nothing(
    driver: FakeDriver, function: str
) -> None:
    driver.refuses = function
    steps, kernel = card.Steps(STREAM, graphs=True), Noting()
    steps.repeat(launches_of(kernel, 1, 2), 3)
    assert kernel.ran == [1, 2] * 3
    before = len(driver.said)
    steps.repeat(launches_of(kernel, 1, 2), 2)
    assert driver.said[before:] == ["kernel"] * 4  # it is not asked again
    assert steps.refused == f"DriverError: {function}" and not steps.graphs
    if function not in ("cuGraphDestroy", "cuStreamDestroy"):
        assert driver.alive == set()


def test_a_kernel_that_cannot_be_captured_ends_the_capture(driver: FakeDriver) -> None:
    steps, kernel = card.Steps(STREAM, graphs=True), Noting()
    steps.repeat(launches_of(kernel, 1, 2), 1)
    driver.refuses = "kernel"
    with pytest.raises(DriverError):  # a GPU that is lost launches nothing
        steps.repeat(launches_of(kernel, 1, 2), 1)
    assert driver.count("cuStreamEndCapture") == 1
    assert driver.alive == set()
    driver.refuses = ""
    steps.repeat(launches_of(kernel, 1, 2), 1)
    assert kernel.ran == [1, 2] * 2


def test_a_capture_that_is_interrupted_ends_and_begins_anew(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, kernel = card.Steps(STREAM, graphs=True), Noting()
    steps.repeat(launches_of(kernel, 1), 1)

    def instantiate(graph: str, flags: int) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(driver, "cuGraphInstantiate", instantiate)
        with pytest.raises(KeyboardInterrupt):
            steps.repeat(launches_of(kernel, 1), 1)
    assert driver.alive == set()
    steps.repeat(launches_of(kernel, 1), 2)
    assert driver.count("cuGraphLaunch") == 2


def test_two_captures_never_run_at_a_time(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [card.Steps(STREAM, graphs=True) for _ in range(2)]
    kernel, other = Noting(), Noting()
    first.repeat(launches_of(kernel, 1), 1)
    second.repeat(launches_of(other, 7), 1)
    begin = driver.cuStreamBeginCapture

    def meanwhile(stream: str, mode: int) -> None:
        """Another thread takes a step of its own while this one captures."""
        begin(stream, mode)
        thread = Thread(target=second.repeat, args=(launches_of(other, 7), 1))
        thread.start()
        thread.join()

    with monkeypatch.context() as patch:
        patch.setattr(driver, "cuStreamBeginCapture", meanwhile)
        first.repeat(launches_of(kernel, 1), 1)
    assert driver.count("cuStreamBeginCapture") == 1
    assert other.ran == [7, 7]  # by a launch of its own
    second.repeat(launches_of(other, 7), 1)
    assert driver.count("cuStreamBeginCapture") == 2
    assert other.ran == [7, 7, 7]


def test_names_of_the_driver_exist() -> None:
    """What the stand-in has under these names."""
    names = import_module("cuda.bindings.driver")
    assert names.CUstream_flags.CU_STREAM_NON_BLOCKING.value == 1
    assert names.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED.value == 2
    for name in vars(FakeDriver):
        assert not name.startswith("cu") or callable(getattr(names, name))
    assert inspect.signature(card.nvidia().Stream).parameters.keys() >= {"handle", "external"}
