"""CudaSnapshot: a copy of a bank on a GPU that leaves it while the training goes on.

The numbers are copied aside on the stream of the training, which takes some microseconds; the next
steps are queued behind that, and wait for nothing. On a stream of its own the copy then leaves the
GPU, into pinned memory. Nobody waits for it but `read`, which returns the pinned memory itself: it
is used again when nobody holds those numbers any more.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.engines.common.snapshot import HostSnapshot, Snapshot, SnapshotValues
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.failure import KEYFRAME, card_failures
from scalarviz.engines.cuda.memory import Memory
from scalarviz.errors import EngineError

if TYPE_CHECKING:
    from scalarviz.engines.cuda.run import CudaRun

MOST = 8  # copies that have arrived whose memory is kept


@final
class Lent:
    """Pinned memory with the numbers of one copy; it lives as long as any array of them."""

    def __init__(self, host: FloatArray) -> None:
        self._host = host
        self.__array_interface__ = host.__array_interface__


@final
class Aside:
    """Memory for one copy of what steps change in a bank: on the GPU, and pinned on the host."""

    def __init__(self, size: int, memory: Memory, leaving: Any) -> None:
        self.size = size
        self._memory, self._leaving = memory, leaving
        self._on_device = cuda.device_array(size, memory.dtype, stream=memory.stream)
        self._host: FloatArray = cuda.pinned_array(size, memory.dtype)
        self._lent: Callable[[], Lent | None] = lambda: None
        self._taken, self._arrived = cuda.event(), cuda.event()

    def take(self, parts: list[tuple[int, int]]) -> FloatArray:
        """Queue the copies of some parts of `arena`, and return the array where they arrive."""
        memory, place = self._memory, 0
        for start, size in parts:
            part = self._on_device[place : place + size]
            part.copy_to_device(memory.arena[start : start + size], stream=memory.stream)
            place += size
        self._taken.record(memory.stream)
        self._taken.wait(self._leaving)
        self._on_device.copy_to_host(self._host, stream=self._leaving)
        self._arrived.record(self._leaving)
        lent = Lent(self._host)
        self._lent = weakref.ref(lent)
        return np.asarray(lent)  # whose base it is, and that of each view

    @property
    def has_arrived(self) -> bool:
        if cuda.config.ENABLE_CUDASIM:  # copies are made at once there
            return True
        cuda.current_context()  # in a thread that has not used the GPU
        return bool(self._arrived.query())

    @property
    def is_held(self) -> bool:
        """Whether somebody holds numbers of the last copy."""
        return self._lent() is not None

    def wait(self) -> None:
        """Wait until the copy has arrived."""
        cuda.current_context()
        self._arrived.synchronize()


@final
class Asides:
    """The memory for copies of one bank; that of copies whose numbers nobody holds is used again.

    While a copy is on its way nothing else is written to its memory, nor is it freed.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._leaving = cuda.stream()
        self._asides: list[Aside] = []  # in the order of their copies
        # With these as its arguments they are not freed before it: what is freed together, as
        # garbage, is freed in any order, and whoever waits for a stream that is gone crashes.
        weakref.finalize(self, end, self._leaving, self._asides).atexit = False

    def take(self, parts: list[tuple[int, int]]) -> tuple[Aside, FloatArray]:
        """Queue a copy of some parts of `arena`, and return its array; not for two threads."""
        size = sum(size for _, size in parts)
        arrived = [each for each in self._asides if each.has_arrived]
        free = (each for each in arrived if each.size == size and not each.is_held)
        aside = next(free, None) or Aside(size, self._memory, self._leaving)
        gone = {aside, *arrived[:-MOST]}
        self._asides[:] = [*(each for each in self._asides if each not in gone), aside]
        return aside, aside.take(parts)


def end(leaving: Any, asides: list[Aside]) -> None:
    """Wait for the copies that are on their way; their memory is freed after it."""
    with suppress(Exception):  # of a GPU that was lost, or a driver that has ended
        leaving.synchronize()


@final
class CudaSnapshot(Snapshot):
    """A snapshot of a bank whose numbers a run may have left on a GPU.

    If the GPU fails meanwhile, `read` raises EngineError.
    """

    def __init__(self, run: CudaRun) -> None:
        self._run = run
        self._aside: Aside | None = None  # of a copy that nobody has waited for
        self._numbers: SnapshotValues | None = None
        self._error: EngineError | None = None

    def request(self) -> None:
        bank = self._run.engine.bank
        self._aside = self._error = self._numbers = None
        if bank.away.keeper is not self._run or not len(bank):
            self._numbers = HostSnapshot(bank).read()
            return
        try:
            with card_failures(KEYFRAME):
                self._request(bank)
        except EngineError as error:
            self._error = error

    def _request(self, bank: Bank) -> None:
        """Queue a copy of what is on the GPU, and copy the rest at once."""
        run = self._run
        self._aside, numbers = run.asides.take(run.memory.moving_parts(len(run.slots)))
        value, *kept, grad = numbers.reshape(len(run.slots) + 2, -1)
        slots = {
            name: row
            for names, block in bank.host_blocks.items()
            for name, row in zip(names, kept if names == run.slots else block.copy(), strict=True)
        }
        self._numbers = SnapshotValues(value, grad, slots, bank.state.copy())

    @property
    def ready(self) -> bool:
        if self._aside is None:
            return self._numbers is not None or self._error is not None
        try:
            with card_failures(KEYFRAME):
                return self._aside.has_arrived
        except EngineError as error:
            self._error, self._aside = error, None
        return True

    def read(self) -> SnapshotValues:
        if self._numbers is None and self._error is None:
            self.request()
        if self._aside is not None:
            try:
                with card_failures(KEYFRAME):
                    self._aside.wait()
            except EngineError as error:
                self._error = error
            self._aside = None
        if self._error is not None:
            raise self._error
        assert self._numbers is not None
        return self._numbers
