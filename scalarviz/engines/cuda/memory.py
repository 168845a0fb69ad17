"""Memory: the arrays of a training on a GPU, and copies between host and device.

Between calls the bank in host memory is current: whoever holds one of its arrays sees every step,
and so a snapshot, a save or a picture asks the GPU for nothing. The bank stays on the device, too,
beside a copy of what it has there. Each call begins with `put_bank`, which compares and copies only
the parts that were written since, and ends with `take_bank`.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
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
        size = layout.arena + places.BEYOND_ARENA
        self.arena = cuda.device_array(size, self.dtype, stream=stream)
        self.data = cuda.device_array(1, self.dtype, stream=stream)
        self.bank_size = (most_slots() + 3) * self.rows
        self._staged = cuda.pinned_array(max(1, self.bank_size), self.dtype)
        self._known = np.zeros(self.bank_size, self.dtype)  # what the device has of the bank
        self._is_known = False
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

    def lay_out_room(self, layout: MemoryLayout) -> None:
        """Use a layout that differs from the present one in the memory of a block only."""
        self.layout = layout
        for field in (places.WIDTH, places.ROOM_STRIDE, places.ROOM):
            self.host_plan[field] = layout.plan[field]
        self.host_plan[places.PLAN_FIELDS :] = layout.plan[places.PLAN_FIELDS :]
        self.plan.copy_to_device(self.host_plan, stream=self.stream)

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
        """Copy the parts of the bank that were written since the last call to the device."""
        if not self.rows:
            return
        for start, numbers in self._parts(bank, slots):
            known = self._known[start : start + numbers.size]
            # Bytes are compared: NaN is not equal to itself, and -0.0 equal to 0.0.
            if self._is_known and known.tobytes() == numbers.tobytes():
                continue
            known[:] = numbers
            staged = self._staged[start : start + numbers.size]
            staged[:] = numbers
            part = self.arena[start : start + numbers.size]
            part.copy_to_device(staged, stream=self.stream)
        self._is_known = True

    def forget_bank(self) -> None:
        """Note that kernels write the bank on the device, until `take_bank`.

        A call that is interrupted in between leaves other numbers there than the host has.
        """
        self._is_known = False

    def _parts(self, bank: Bank, slots: tuple[str, ...]) -> list[tuple[int, FloatArray]]:
        """Return where the parts of the bank begin in `arena`, and their numbers, 1-D."""
        rows = self.rows
        kept = [(2 * rows, bank.slot_block(slots).ravel())] if slots else []
        frozen = bank.frozen.astype(self.dtype)
        last = self.bank_size - rows
        return [(0, bank.value), (rows, frozen), *kept, (last, bank.grad)]

    def take_bank(self, bank: Bank, slots: tuple[str, ...]) -> None:
        """Copy the bank, with an optimizer's slots, from the device."""
        rows, staged = self.rows, self._staged
        if not rows:
            return
        self.arena[: self.bank_size].copy_to_host(staged, stream=self.stream)
        self.stream.synchronize()
        self._known[:], self._is_known = staged, True
        bank.value[:] = staged[:rows]
        bank.grad[:] = staged[self.bank_size - rows :]
        if slots:
            block = bank.slot_block(slots)
            block[:] = staged[2 * rows : 2 * rows + block.size].reshape(block.shape)
