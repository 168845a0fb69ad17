"""The memory of a GPU: arrays at addresses, and what a thread loads and stores there.

An address is the number of an array, times 2**24, and a place in it. The shared memory of a block
and the local memory of a thread are arrays too, so that all addresses are generic ones; those of
shared memory have 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.engines.ptx.races import Races

BITS = 24
WITHIN = (1 << BITS) - 1
FIRST = 1 << 32 - BITS  # the number of the first array outside of shared memory
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f32": "f", "f64": "d"}
SIZES = {kind: int(kind[1:]) // 8 for kind in FORMATS}
UNSET = (
    0xFFFFFFFF  # four bytes of memory that nobody has written: NaN, or numbers out of all ranges
)
MOST_JUMPS = (
    20_000  # of a thread, back to an earlier place; a thread that ends takes less than 2,000
)


class Memory:
    """Arrays by their numbers, as numbers of each kind; those of a launch end with it."""

    def __init__(self) -> None:
        self.views: dict[str, dict[int, Any]] = {kind: {} for kind in FORMATS}
        self.names: dict[int, str] = {}
        self.cells: dict[int, int] = {}  # bytes of what two threads can share in an array
        self._next = FIRST

    def add(self, numbers: np.ndarray[Any, Any], name: str, number: int | None = None) -> int:
        """Give an array an address; return it."""
        if number is None:
            number, self._next = self._next, self._next + 1
        plain = memoryview(numbers.reshape(-1).view(np.uint8))
        assert len(plain) <= WITHIN, f"{name} is too large to be interpreted"
        for kind, views in self.views.items():
            whole = len(plain) // SIZES[kind] * SIZES[kind]
            views[number] = plain[:whole].cast(FORMATS[kind]) if whole else plain[:0]
        self.names[number], self.cells[number] = name, min(numbers.itemsize, 8)
        return number << BITS

    def unset(self, size: int, name: str, number: int | None = None) -> int:
        """Return the address of new memory that nobody has written."""
        return self.add(np.full(-(-size // 8) * 2, UNSET, np.uint32), name, number)

    def place(self, address: int) -> str:
        """Return a place as it is named in messages."""
        number = address >> BITS
        return (
            f"{self.names.get(number, number)}[{(address & WITHIN) // self.cells.get(number, 1)}]"
        )


class Thread:
    """A thread, with the names that translated functions take from it.

    Each load and store looks for a race, and raises an IndexError outside of all arrays.
    """

    def __init__(
        self, memory: Memory, races: Races, thread: int, block: int, blocks: int, threads: int,
        shared: int, dynamic: int,
    ) -> None:  # fmt: skip
        self.tid_x, self.ntid_x, self.ctaid_x, self.nctaid_x = thread, threads, block, blocks
        self.shared, self.dynamic_smem_size = shared, dynamic
        self._memory, self._races, self._me = memory, races, block * threads + thread
        self._copies: list[tuple[int, int, int]] = []
        self._jumps = 0

    def __getattr__(self, name: str) -> Any:
        """Make a load or store when a function first takes it."""
        verb, _, kind = name.partition("_")
        found = {"load": self._loader, "store": self._storer}[verb](kind)
        setattr(self, name, found)
        return found

    def jump_back(self) -> None:
        self._jumps += 1
        if self._jumps > MOST_JUMPS:
            raise RuntimeError(f"thread {self.tid_x} of block {self.ctaid_x} runs for ever")

    def take_local(self, size: int) -> int:
        """Return the address of memory of this thread alone."""
        return self._memory.unset(size, "local")

    def _cells(self, kind: str) -> Any:
        """Return the function that gives the cells that a number of a kind lies in."""
        size, cells, place = SIZES[kind], self._memory.cells, self._memory.place

        def at(address: int) -> Any:
            if address & size - 1:
                raise IndexError(f"{kind} at {place(address)} is not aligned")
            cell = cells[address >> BITS]
            return (address & -cell,) if cell >= size else range(address, address + size, cell)

        return at

    def _loader(self, kind: str) -> Any:
        views, shift, at = self._memory.views[kind], SIZES[kind].bit_length() - 1, self._cells(kind)
        read, me = self._races.read, self._me

        def load(address: int) -> Any:
            for cell in at(address):
                read(me, cell)
            return views[address >> BITS][(address & WITHIN) >> shift]

        return load

    def _storer(self, kind: str) -> Any:
        views, shift, at = self._memory.views[kind], SIZES[kind].bit_length() - 1, self._cells(kind)
        write, me = self._races.write, self._me

        def store(address: int, number: Any) -> None:
            for cell in at(address):
                write(me, cell)
            views[address >> BITS][(address & WITHIN) >> shift] = number

        return store

    def load_constant(self, address: int) -> None:
        """Note a load by the cache for constants."""
        self._races.read_constant(self._me, address & -self._memory.cells[address >> BITS])

    def atomic(self, address: int, number: int, rule: str, kind: str, release: bool) -> int:
        """Combine the number at an address with another one; return the number before."""
        unsigned = "u" + kind[1:]
        view, place = (
            self._memory.views[unsigned][address >> BITS],
            (address & WITHIN) // SIZES[unsigned],
        )
        sign = 1 << int(kind[1:]) - 1 if kind[0] == "s" else 0
        before: int = view[place]
        there = (before ^ sign) - sign
        found = {"min": min(there, number), "add": there + number}[rule]
        self._races.combine(self._me, address)
        if release:
            self._races.release(self._me, address)
        view[place] = found % (1 << int(kind[1:]))
        return before

    def acquire(self, address: int, left_out: bool) -> int:
        """Load a number, and know what was written before it was released."""
        if not left_out:
            self._races.acquire(self._me, address)
        return int(self._memory.views["u32"][address >> BITS][(address & WITHIN) // 4])

    def copy(self, target: int, source: int, size: int) -> None:
        """Begin a copy to shared memory, which ends as late as it may: when it is waited for.

        Until then nobody may write what is copied, nor use the place that it is copied to.
        """
        self._copies.append((target, source, size))
        for i in range(0, size, 4):
            self.load_u32(source + i)
            self.store_u32(target + i, UNSET)

    def wait_for_copies(self) -> None:
        for target, source, size in self._copies:
            for i in range(0, size, 4):
                self.store_u32(target + i, self.load_u32(source + i))
        self._copies.clear()
