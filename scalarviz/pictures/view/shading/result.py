"""ShaderResult: the outputs of a shader, which arrive from another thread."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any, final

from scalarviz.base.checks import FloatArray, not_copied
from scalarviz.base.processes import awaited
from scalarviz.errors import OrderError, ScalarvizError
from scalarviz.pictures.view.shading.service import Service

LOOK = 0.1  # seconds between two checks that the thread is alive


@final
class ShaderResult:
    """The outputs of a network for some samples, which may still be under way.

    `ready` says whether they have arrived, `read()` returns them, and waits if necessary, and so
    does `await`. It can be passed to `request` of another shader, which waits for it.
    """

    def __init__(self, thread: Service, outputs: int, single: bool) -> None:
        self.outputs = outputs
        self.single = single
        self._thread = thread
        self._arrived = threading.Event()
        self._found: FloatArray | None = None
        self._error: ScalarvizError | None = None

    __reduce_ex__ = not_copied(
        "the result of a shader, which may be under way", "keep what its read() gives"
    )

    def __repr__(self) -> str:
        state = "ready" if self.ready else "under way"
        return f"ShaderResult of {self.outputs} outputs, {state}"

    @property
    def ready(self) -> bool:
        """Whether `read` returns without waiting."""
        return self._arrived.is_set()

    def read(self) -> FloatArray:
        """Return a copy of the outputs, shape (outputs,) or (batch, outputs); wait for them."""
        while not self._arrived.wait(LOOK):
            if self._thread.stopped:
                raise OrderError("the outputs of a shader do not arrive: this program has ended")
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found[0].copy() if self.single else self._found.copy()

    def __await__(self) -> Generator[Any, None, FloatArray]:
        """Return the outputs as `read` does, while other tasks of an asyncio loop go on."""
        return awaited(self)

    def arrive(self, found: FloatArray | None, error: ScalarvizError | None = None) -> None:
        """Set the outputs, or the error that `read` raises."""
        self._found, self._error = found, error
        self._arrived.set()

    def taken(self) -> FloatArray:
        """Return the outputs that have arrived, as rows; raise their error."""
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found
