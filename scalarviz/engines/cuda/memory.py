"""Memory: the arrays of a training on a GPU, and copies between host and device.

A call of the engine begins with `put_bank`, which compares the bank in host memory with a mirror of
what the device has of it, and copies only the parts that were written since. It ends with
`take_bank`, which copies values, gradients and the slots in use to the host; or, between portions
of a session, without it: then the bank has them fetched when somebody reads it, see
`scalarviz.core.device_arrays`.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.tables import MemoryLayout


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
        self.grad_place = int(layout.plan[places.GRAD])
        self.bank_size = self.grad_place + self.rows
        self._mirror = cuda.pinned_array(max(1, self.bank_size), self.dtype)
        self._known: set[tuple[int, int]] = set()  # parts that are the same on both sides
        self._views: dict[tuple[int, int], tuple[Any, FloatArray]] = {}
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
        """Copy the parts of the bank that were written since the last call to the device."""
        if not self.rows:
            return
        for start, numbers in self._parts(bank, slots):
            part = start, numbers.size
            on_device, mirror = self._view(part)
            # Bits are compared: NaN is not equal to itself, and -0.0 equal to 0.0.
            if part in self._known and (bits(mirror) == bits(numbers)).all():
                continue
            mirror[:] = numbers
            on_device.copy_to_device(mirror, stream=self.stream)
            self._known.add(part)

    def forget_bank(self) -> None:
        """Note that kernels write the bank on the device, but for frozen marks, until `take_bank`.

        A call that is interrupted in between leaves other numbers there than the host has.
        """
        self._known &= {(self.rows, self.rows)}

    def _parts(self, bank: Bank, slots: tuple[str, ...]) -> list[tuple[int, FloatArray]]:
        """Return where the parts of the bank begin in `arena`, and their numbers, 1-D."""
        rows = self.rows
        kept = [(2 * rows, bank.slot_block(slots).ravel())] if slots else []
        frozen = bank.frozen.astype(self.dtype)
        return [(0, bank.value), (rows, frozen), *kept, (self.grad_place, bank.grad)]

    def moving_parts(self, slots: int) -> list[tuple[int, int]]:
        """Return start and size of the parts of `arena` that steps with so many slots change."""
        rows = self.rows
        kept = [(2 * rows, slots * rows)] if slots else []
        return [(0, rows), *kept, (self.grad_place, rows)]

    def _view(self, part: tuple[int, int]) -> tuple[Any, FloatArray]:
        """Return a part of the bank on the device, and of its mirror."""
        if part not in self._views:
            where = slice(part[0], sum(part))
            self._views[part] = self.arena[where], self._mirror[where]
        return self._views[part]

    def take_bank(self, bank: Bank, slots: tuple[str, ...]) -> None:
        """Copy values, gradients and an optimizer's slots from the device."""
        if not self.rows:
            return
        parts = self.moving_parts(len(slots))
        for part in parts:
            on_device, mirror = self._view(part)
            on_device.copy_to_host(mirror, stream=self.stream)
        self.stream.synchronize()
        self._known.update(parts)
        arrays = [bank.value, *([bank.slot_block(slots)] if slots else []), bank.grad]
        for part, array in zip(parts, arrays, strict=True):
            array[...] = self._view(part)[1].reshape(array.shape)


def bits(numbers: FloatArray) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return the bits of an array of numbers as integers."""
    found: npt.NDArray[np.unsignedinteger[Any]] = numbers.view(f"u{numbers.itemsize}")
    return found
