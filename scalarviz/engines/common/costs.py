"""Costs: what it costs a step that an engine runs some operations as Python."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from scalarviz.base.messages import inform
from scalarviz.core.program import Operation

_said: set[str] = set()


@final
class Costs:
    """The time that operations without kernels take.

    engine      name of the engine
    operations  those that run as Python

    seconds  that Python has taken since the last `say`
    """

    def __init__(self, engine: str, operations: Sequence[Operation]) -> None:
        names = " and ".join(each.owner for each in operations)
        self._what = f"the engine {engine} has no kernels for {names}"
        self.seconds = 0.0
        self._is_warm = False  # after the first steps, which load and allocate

    @contextmanager
    def python(self) -> Iterator[None]:
        """Count the time of what is done in it."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def say(self, steps: int, seconds: float) -> None:
        """Log once what these steps have cost, unless they are the first ones."""
        python, self.seconds = self.seconds, 0.0
        if self._is_warm and steps and self._what not in _said:
            _said.add(self._what)
            inform(
                f"{self._what}: as Python it takes {python / steps * 1e3:.2g} ms of a step of "
                f"{seconds / steps * 1e3:.2g} ms"
            )
        self._is_warm |= steps > 0
