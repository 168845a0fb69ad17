"""How kernels are launched, where there is no GPU."""

import importlib.util
from importlib import import_module
from typing import Any

import pytest

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
    from scalarviz.engines.cuda.calls import configured

    monkeypatch.setattr(config(), "CUDA_LOW_OCCUPANCY_WARNINGS", 1)
    kernel = Kernel()
    assert configured(kernel, 3, 256) == (3, 256)
    assert kernel.warned == [0]
    assert config().CUDA_LOW_OCCUPANCY_WARNINGS == 1
