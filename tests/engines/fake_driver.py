"""Stand-ins for NVIDIA's driver where there is no GPU.

Captured launches, streams, events and arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scalarviz.engines.cuda import card

Function = Callable[[], None]
CONFIGURED = card.configured


class DriverError(Exception):
    """What a function of the driver raises."""


class FakeDriver:
    """Notes calls of the driver; a graph is a list of launches, which it runs one by one.

    Attributes:
        said: names of the functions in the order of their calls, and "kernel" for a launch
        refuses: name of the function that raises an error
        alive: streams, graphs and executable graphs that have not been freed
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        self.refuses = ""
        self.alive: set[str] = set()
        self._capturing: dict[str, list[Function]] = {}
        self._graphs: dict[str, list[Function]] = {}
        self._numbers = count()
        names = SimpleNamespace(
            CUstream_flags=SimpleNamespace(CU_STREAM_NON_BLOCKING=SimpleNamespace(value=1)),
            CUstreamCaptureMode=SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2),
        )
        module = SimpleNamespace(driver=self, binding=names, Stream=Stream)
        monkeypatch.setattr(card, "nvidia", lambda: module)
        monkeypatch.setattr(card, "configured", self._configured)

    def count(self, name: str) -> int:
        return self.said.count(name)

    def _configured(self, kernel: Any, *sizes: Any) -> Callable[..., None]:
        stream = sizes[2]

        def launch(*arguments: Any) -> None:
            self._say("kernel")
            to = self._capturing.get(getattr(stream, "handle", None))
            run: Function = lambda: CONFIGURED(kernel, *sizes)(*arguments)  # noqa: E731
            run() if to is None else to.append(run)

        return launch

    def _say(self, name: str) -> None:
        self.said.append(name)
        if name == self.refuses:
            raise DriverError(name)

    def _new(self, kind: str) -> str:
        name = f"{kind} {next(self._numbers)}"
        self.alive.add(name)
        return name

    def cuStreamCreate(self, flags: int) -> str:
        assert flags == 1  # others may use the default stream meanwhile
        self._say("cuStreamCreate")
        return self._new("stream")

    def cuStreamDestroy(self, stream: str) -> None:
        assert stream not in self._capturing
        self._say("cuStreamDestroy")
        self.alive.remove(stream)

    def cuStreamBeginCapture(self, stream: str, mode: int) -> None:
        assert stream in self.alive and not self._capturing and mode == 2
        self._say("cuStreamBeginCapture")
        self._capturing[stream] = []

    def cuStreamEndCapture(self, stream: str) -> str:
        launches = self._capturing.pop(stream)
        self._say("cuStreamEndCapture")
        name = self._new("graph")
        self._graphs[name] = launches
        return name

    def cuGraphInstantiate(self, graph: str, flags: int) -> str:
        assert graph in self.alive and flags == 0
        self._say("cuGraphInstantiate")
        name = self._new("executable")
        self._graphs[name] = self._graphs[graph]
        return name

    def cuGraphDestroy(self, graph: str) -> None:
        self._say("cuGraphDestroy")
        self.alive.remove(graph)

    def cuGraphLaunch(self, graph: str, stream: Any) -> None:
        assert graph in self.alive and stream not in self._capturing
        self._say("cuGraphLaunch")
        for launch in self._graphs[graph]:
            launch()

    def cuGraphExecDestroy(self, graph: str) -> None:
        self.said.append("cuGraphExecDestroy")
        self.alive.remove(graph)


class Stream:
    """A stream of the driver as numba sees it."""

    def __init__(self, handle: str, *, external: bool) -> None:
        assert external  # numba does not destroy it
        self.handle = handle


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

    Attributes:
        said: what was queued, and what the host has waited for
        made: arrays on the GPU and pinned ones that were made; `pinned`, the latter
        is_lost: whether every question fails
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
