"""CudaSnapshot: a copy of a bank on a GPU that leaves it while the training goes on.

The numbers are copied aside on the stream of the training, which takes some microseconds; the next
steps are queued behind that, and wait for nothing. On a stream of its own the copy then leaves the
GPU, into pinned memory. Nobody waits for it but `read`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.snapshot import HostSnapshot, Snapshot, SnapshotValues
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.failure import KEYFRAME, card_failures
from scalarviz.engines.cuda.memory import Memory
from scalarviz.errors import EngineError
from scalarviz.model.bank import Bank

if TYPE_CHECKING:
    from scalarviz.engines.cuda.run import CudaRun

MOST_SPARE = 3  # copies whose memory is kept


@final
class Aside:
    """Memory for one copy of what steps change in a bank: on the GPU, and pinned on the host."""

    def __init__(self, size: int, memory: Memory, leaving: Any) -> None:
        self.size = size
        self._memory, self._leaving = memory, leaving
        self._on_device = cuda.device_array(size, memory.dtype, stream=memory.stream)
        self._host: FloatArray = cuda.pinned_array(size, memory.dtype)
        self._taken, self._arrived = cuda.event(), cuda.event()

    def take(self, parts: list[tuple[int, int]]) -> None:
        """Queue the copies of some parts of `arena`, one after the other."""
        memory, place = self._memory, 0
        for start, size in parts:
            part = self._on_device[place : place + size]
            part.copy_to_device(memory.arena[start : start + size], stream=memory.stream)
            place += size
        self._taken.record(memory.stream)
        self._taken.wait(self._leaving)
        self._on_device.copy_to_host(self._host, stream=self._leaving)
        self._arrived.record(self._leaving)

    @property
    def has_arrived(self) -> bool:
        if cuda.config.ENABLE_CUDASIM:  # copies are made at once there
            return True
        cuda.current_context()  # in a thread that has not used the GPU
        return bool(self._arrived.query())

    def numbers(self) -> FloatArray:
        """Wait for the copy, and return its numbers; they are overwritten by the next one."""
        cuda.current_context()
        self._arrived.synchronize()
        return self._host


@final
class Asides:
    """The memory for copies of one bank; that of copies which were read or dropped is used again.

    While a copy is on its way nothing else is written to its memory, nor is it freed.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._leaving = cuda.stream()
        self._spare: list[Aside] = []

    def take(self, parts: list[tuple[int, int]]) -> Aside:
        """Return a copy of some parts of `arena`, which is on its way; not for two threads."""
        size = sum(size for _, size in parts)
        free = [each for each in self._spare if each.has_arrived]
        found = next((each for each in free if each.size == size), None)
        for each in free[MOST_SPARE:]:
            self._spare.remove(each)
        if found is None:
            found = Aside(size, self._memory, self._leaving)
        elif found in self._spare:
            self._spare.remove(found)
        found.take(parts)
        return found

    def give(self, aside: Aside) -> None:
        """Take back the memory of a copy that nobody needs any more."""
        self._spare.append(aside)

    def __del__(self) -> None:
        with suppress(Exception):  # of a GPU that was lost, or a driver that has ended
            self._leaving.synchronize()


@final
class CudaSnapshot(Snapshot):
    """A snapshot of a bank whose numbers a run may have left on a GPU.

    If the GPU fails meanwhile, `read` raises EngineError.
    """

    def __init__(self, run: CudaRun) -> None:
        self._run = run
        self._asides: Asides | None = None
        self._aside: Aside | None = None  # of a copy that nobody has read
        self._blocks: dict[tuple[str, ...], FloatArray] = {}  # slots that are not on the GPU
        self._slots: tuple[str, ...] = ()  # those that are
        self._state = np.zeros(0)
        self._numbers: SnapshotValues | None = None
        self._error: EngineError | None = None

    def request(self) -> None:
        self._drop()
        bank = self._run.engine.bank
        self._error = self._numbers = None
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
        self._asides, self._slots = run.asides, run.slots
        self._aside = self._asides.take(run.memory.moving_parts(len(run.slots)))
        self._state = bank.state.copy()
        self._blocks = {
            names: block if names == run.slots else block.copy()
            for names, block in bank.host_blocks.items()
        }

    @property
    def ready(self) -> bool:
        if self._aside is None:
            return self._numbers is not None or self._error is not None
        try:
            with card_failures(KEYFRAME):
                return self._aside.has_arrived
        except EngineError as error:
            self._fail(error)
        return True

    def read(self) -> SnapshotValues:
        if self._aside is None and self._numbers is None and self._error is None:
            self.request()
        if self._aside is not None:
            try:
                with card_failures(KEYFRAME):
                    self._take(self._aside.numbers())
            except EngineError as error:
                self._fail(error)
        if self._error is not None:
            raise self._error
        assert self._numbers is not None
        return self._numbers

    def _take(self, numbers: FloatArray) -> None:
        """Copy numbers that have arrived, and give back their memory."""
        table = numbers.reshape(len(self._slots) + 2, -1)
        value, *kept, grad = table.copy()
        on_device = dict(zip(self._slots, kept, strict=True))
        slots = {
            name: on_device[name] if names == self._slots else row
            for names, block in self._blocks.items()
            for name, row in zip(names, block, strict=True)
        }
        self._numbers = SnapshotValues(value, grad, slots, self._state)
        self._drop()

    def _fail(self, error: EngineError) -> None:
        """Keep an error, and the memory of a copy of which nobody knows whether it has left."""
        self._error = error
        self._drop()

    def _drop(self) -> None:
        """Give back the memory of a copy that is not needed."""
        aside, self._aside = self._aside, None
        asides, self._asides = self._asides, None  # which keeps the memory of the run
        if aside is not None and asides is not None:
            asides.give(aside)

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the program
            self._drop()
