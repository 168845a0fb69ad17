"""A stand-in for the functions of NVIDIA's driver that capture launches, where there is no GPU."""

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from scalarviz.engines.cuda import card

Function = Callable[[], None]
CONFIGURED = card.configured


class DriverError(Exception):
    """What a function of the driver raises."""


class FakeDriver:
    """Notes calls of the driver; a graph is a list of launches, which it runs one by one.

    said     names of the functions in the order of their calls, and "kernel" for a launch
    refuses  name of the function that raises an error
    alive    streams, graphs and executable graphs that have not been freed
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
