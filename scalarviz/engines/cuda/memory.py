"""Memory: the arrays of a training on a GPU, and copies between host and device.

Between calls the bank in host memory is current, during a call the arrays on the device: each call
begins with `put_bank` and ends with `take_bank`.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.snapshot import Snapshot, SnapshotValues
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.tables import MemoryLayout, most_slots
from scalarviz.model.bank import Bank


@final
class Memory:
    """The arrays of one training, allocated once and used on one stream."""

    def __init__(self, layout: MemoryLayout, dtype: str, stream: Any) -> None:
        self.layout = layout
        self.dtype = np.dtype(dtype)
        self.stream = stream
        self.rows = int(layout.plan[places.ROWS])
        self.host_plan = layout.plan.copy()
        self.host_scalars = np.zeros(layout.scalars)
        self.plan = cuda.to_device(layout.plan, stream=stream)
        self.scalars = cuda.to_device(self.host_scalars, stream=stream)
        self.arena = cuda.device_array(max(1, layout.arena), self.dtype, stream=stream)
        self.data = cuda.device_array(1, self.dtype, stream=stream)
        self.bank_size = (most_slots() + 3) * self.rows
        self._staged = cuda.pinned_array(max(1, self.bank_size), self.dtype)
        self.write(layout.settings_place, layout.settings.ravel())

    def write(self, place: int, numbers: FloatArray) -> None:
        """Copy numbers to `arena`."""
        if numbers.size:
            part = np.ascontiguousarray(numbers, self.dtype)
            self.arena[place : place + part.size].copy_to_device(part, stream=self.stream)

    def read(self, place: int, size: int) -> FloatArray:
        """Copy numbers from `arena`."""
        numbers = np.empty(size, self.dtype)
        if size:
            self.arena[place : place + size].copy_to_host(numbers, stream=self.stream)
            self.stream.synchronize()
        return numbers

    def put_plan(self) -> None:
        """Copy plan and scalars from host to device."""
        known = int(self.layout.plan[places.ERRORS])
        fields, numbers = self.host_plan[: places.PLAN_FIELDS], self.host_scalars[:known]
        self.plan[: places.PLAN_FIELDS].copy_to_device(fields, stream=self.stream)
        self.scalars[:known].copy_to_device(numbers, stream=self.stream)

    def take_plan(self) -> None:
        """Copy plan and scalars, with the losses, from device to host."""
        self.plan.copy_to_host(self.host_plan, stream=self.stream)
        self.scalars.copy_to_host(self.host_scalars, stream=self.stream)
        self.stream.synchronize()

    def take_state(self, bank: Bank, *, before: bool = False) -> None:
        """Set the state of the bank from the host's scalars; `before`: as before the last step."""
        place = int(self.layout.plan[places.STATE_BEFORE]) if before else places.STATE_NUMBERS
        bank.state[:] = self.host_scalars[place : place + len(bank.state)]

    def put_data(self, inputs: FloatArray, targets: FloatArray) -> None:
        """Copy the tables of a data set to the device."""
        numbers = np.concatenate([inputs.ravel(), targets.ravel()])
        if numbers.size != self.data.size:
            self.data = cuda.device_array(numbers.size, self.dtype, stream=self.stream)
        self.data.copy_to_device(numbers, stream=self.stream)

    def put_bank(self, bank: Bank, slots: tuple[str, ...]) -> None:
        """Copy the bank, with an optimizer's slots, to the device."""
        rows, staged = self.rows, self._staged
        if not rows:
            return
        staged[:rows] = bank.value
        staged[rows : 2 * rows] = bank.frozen
        kept = bank.slot_block(slots).ravel() if slots else np.zeros(0)
        staged[2 * rows : 2 * rows + kept.size] = kept
        staged[self.bank_size - rows :] = bank.grad
        self.arena[: self.bank_size].copy_to_device(staged, stream=self.stream)

    def take_bank(self, bank: Bank, slots: tuple[str, ...]) -> None:
        """Copy the bank, with an optimizer's slots, from the device."""
        rows, staged = self.rows, self._staged
        if not rows:
            return
        self.arena[: self.bank_size].copy_to_host(staged, stream=self.stream)
        self.stream.synchronize()
        bank.value[:] = staged[:rows]
        bank.grad[:] = staged[self.bank_size - rows :]
        if slots:
            block = bank.slot_block(slots)
            block[:] = staged[2 * rows : 2 * rows + block.size].reshape(block.shape)


@final
class CudaSnapshot(Snapshot):
    """A snapshot of numbers on a GPU, which does not hold up training.

    Numbers are copied on the device between two kernels, then to pinned memory on a stream of their
    own.
    """

    def __init__(self, memory: Memory, slots: tuple[str, ...], simulated: bool) -> None:
        self._memory = memory
        self._slots = slots
        self._simulated = simulated
        self._stream = cuda.stream()
        self._copied, self._arrived = cuda.event(), cuda.event()
        self._aside = cuda.device_array(max(1, memory.bank_size), memory.dtype)
        self._numbers = cuda.pinned_array(max(1, memory.bank_size), memory.dtype)
        self._requested = False

    def request(self) -> None:
        memory = self._memory
        if not memory.rows:
            return
        self._aside.copy_to_device(memory.arena[: memory.bank_size], stream=memory.stream)
        self._copied.record(memory.stream)
        self._copied.wait(self._stream)
        self._aside.copy_to_host(self._numbers, stream=self._stream)
        self._arrived.record(self._stream)
        # The next request may overwrite the copy only after it has arrived.
        self._arrived.wait(memory.stream)
        self._requested = True

    @property
    def ready(self) -> bool:
        return self._requested and (self._simulated or bool(self._arrived.query()))

    def read(self) -> SnapshotValues:
        if not self._requested:
            self.request()
        self._arrived.synchronize()
        rows, size = self._memory.rows, self._memory.bank_size
        kept = self._numbers[2 * rows : (2 + len(self._slots)) * rows].reshape(-1, max(rows, 1))
        slots = {name: row.copy() for name, row in zip(self._slots, kept, strict=True)}
        return SnapshotValues(
            self._numbers[:rows].copy(), self._numbers[size - rows : size].copy(), slots
        )
