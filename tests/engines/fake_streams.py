"""A stand-in for the streams, events and arrays of a GPU: work is done when a stream is let run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class CudaAPIError(Exception):
    """As the driver raises it."""

    __module__ = "numba.cuda.cudadrv.driver"


class FakeStream:
    """Work in order; `run` does it, up to an event that has not happened."""

    def __init__(self, gpu: FakeGpu, name: str) -> None:
        self.gpu, self.name = gpu, name
        self.queued: list[tuple[str, Callable[[], bool]]] = []

    def queue(self, what: str, work: Callable[[], Any]) -> None:
        self.gpu.said.append(f"{what} on {self.name}")
        self.queued.append((what, lambda: work() is not False))

    def run(self) -> None:
        while self.queued and self.queued[0][1]():
            del self.queued[0]

    def synchronize(self) -> None:
        self.gpu.said.append(f"wait for {self.name}")
        self.run()


class FakeEvent:
    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu = gpu
        self.happened = True  # as the driver says of one that was never recorded

    def record(self, stream: FakeStream) -> None:
        self.happened = False
        stream.queue("record", lambda: setattr(self, "happened", True))

    def wait(self, stream: FakeStream) -> None:
        stream.queue("wait", lambda: self.happened)

    def query(self) -> bool:
        if self.gpu.is_lost:
            raise CudaAPIError("[999] lost")
        return self.happened

    def synchronize(self) -> None:
        self.query()
        self.gpu.said.append("wait for an event")
        for stream in self.gpu.streams:
            stream.run()
        assert self.happened


class FakeArray:
    """Numbers on the GPU; copies are queued."""

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers

    def __getitem__(self, part: slice) -> FakeArray:
        return FakeArray(self.numbers[part])

    def copy_to_device(self, other: FakeArray, stream: FakeStream) -> None:
        assert isinstance(other, FakeArray)
        stream.queue("copy aside", lambda: np.copyto(self.numbers, other.numbers))

    def copy_to_host(self, numbers: Array, stream: FakeStream) -> None:
        assert isinstance(numbers, Pinned), "else the host waits for it"
        stream.queue("copy out", lambda: np.copyto(numbers, self.numbers))


class Pinned(np.ndarray[Any, np.dtype[Any]]):
    """Host memory that a GPU writes while the host does something else."""


class FakeGpu:
    """What `scalarviz.engines.cuda.device_memory` takes as numba's `cuda`.

    said     what was queued, and what the host has waited for
    made     arrays on the GPU and pinned ones that were made; `pinned`, the latter
    is_lost  whether every question fails
    """

    def __init__(self) -> None:
        self.said: list[str] = []
        self.streams: list[FakeStream] = []
        self.made = 0
        self.pinned: list[Array] = []
        self.is_lost = False
        self.config = SimpleNamespace(ENABLE_CUDASIM=False)

    def stream(self) -> FakeStream:
        self.streams.append(FakeStream(self, f"stream {len(self.streams)}"))
        return self.streams[-1]

    def event(self) -> FakeEvent:
        return FakeEvent(self)

    def current_context(self) -> None:
        pass

    def device_array(self, size: int, dtype: Any, stream: FakeStream) -> FakeArray:
        self.made += 1
        return FakeArray(np.full(size, np.nan, dtype))

    def pinned_array(self, size: int, dtype: Any) -> Array:
        self.made += 1
        self.pinned.append(np.full(size, np.nan, dtype).view(Pinned))
        return self.pinned[-1]
