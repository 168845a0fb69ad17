"""Service: the one thread that evaluates networks in shaders, in the order of the requests."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, Protocol, final

from scalarviz.errors import DisplayError
from scalarviz.pictures.view.offscreen import no_opengl
from scalarviz.pictures.view.shading.context import HiddenContext
from scalarviz.training.session.threads import Background

WAIT = 0.001  # seconds until it looks again at jobs whose numbers have not arrived


class Task(Protocol):
    """What the service does."""

    @property
    def waits(self) -> bool:
        """Whether it cannot begin, since it needs what has not arrived yet."""

    def work(self, context: HiddenContext | None) -> Iterator[None]:
        """Do it in portions of some milliseconds; raise no error.

        `context` is current; None: there is no OpenGL here.
        """


@final
class Service:
    """The hidden context of this process, and its thread, which ends when nothing is left to do.

    lack  why there is no OpenGL here; "" before it was asked for, and where there is
    """

    def __init__(self) -> None:
        self.lack = ""
        self._process = os.getpid()
        self.context: HiddenContext | None = None
        self._tasks: list[Task] = []
        self._guard = threading.Lock()
        self._thread = Background()
        self._works = False
        self._asked = False  # whether it has asked for a context

    @property
    def is_own(self) -> bool:
        """Whether it belongs to this process, not to the one that this was forked from."""
        return self._process == os.getpid()

    @property
    def stopped(self) -> bool:
        """Whether the thread has ended with work to do, as at the end of the program."""
        return self._works and not self._thread.busy

    def put(self, task: Task) -> None:
        """Have a task done after those that were put before."""
        with self._guard:
            self._tasks.append(task)
            if not self._works:
                self._works = True
                self._thread.start(self._work())

    def _take(self) -> Task | None:
        """Return the first task that can begin; None: all wait, or there is none."""
        with self._guard:
            for i, task in enumerate(self._tasks):
                if not task.waits:
                    return self._tasks.pop(i)
        return None

    def _work(self) -> Iterator[float]:
        self._open()
        while True:
            task = self._take()
            if task is not None:
                for _ in task.work(self.context):
                    yield 0.0
            with self._guard:
                if not self._tasks:
                    self._works = False
                    break
            yield 0.0 if task is not None else WAIT
        if self.context is not None:
            self.context.end()

    def _open(self) -> None:
        try:
            if self.context is not None:
                self.context.begin()
            elif not self._asked:
                self._asked = True
                self.context = HiddenContext()
        except Exception as error:  # drivers raise errors of any class
            self.context = None
            self.lack = str(error if isinstance(error, DisplayError) else no_opengl(error))


_service: Any = None
_making = threading.Lock()


def service() -> Service:
    """Return the service of this process.

    Raises DisplayError in a process that was forked from one that has used it.
    """
    global _service
    with _making:
        if _service is None or (_service.context is None and not _service.is_own):
            _service = Service()
    found: Service = _service
    if not found.is_own:
        raise DisplayError(
            "this process was forked from one that has evaluated networks in shaders, and OpenGL "
            'does not work in both: start it by multiprocessing.get_context("spawn")'
        )
    return found
