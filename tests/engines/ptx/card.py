"""A card that interprets the PTX of kernels.

Its memory, its launches, its races; the cuda engine runs on it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_units import Dtype
from scalarviz.engines.cuda import card as graphs
from scalarviz.engines.cuda import device_memory, missing
from scalarviz.engines.cuda.engine import CudaEngine
from scalarviz.engines.cuda.launches import Device
from tests.engines.machine_code import ptx_of
from tests.engines.ptx.translate import BLOCK, GRID, Program, translate

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

    def atomic(self, address: int, number: int, rule: str, kind: str) -> int:
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
        view[place] = found % (1 << int(kind[1:]))
        return before


class Race(Exception):
    """Two threads share a place without a barrier in between."""


class Races:
    """Who has read and written each cell of memory, in a launch; `place` names a cell."""

    def __init__(self, blocks: int, threads: int, place: Callable[[int], str]) -> None:
        self._threads, self._place = threads, place
        # known[a][b]: block a knows what block b did in the intervals before this one.
        self._known = [[0] * blocks for _ in range(blocks)]
        self._writers: dict[int, tuple[int, int, bool]] = {}  # thread, interval, whether atomic
        self._readers: dict[int, dict[int, int]] = {}  # interval of the last read by each thread

    def read(self, me: int, cell: int) -> None:
        known = self._known[me // self._threads]
        if cell in self._writers:
            other, interval, _ = self._writers[cell]
            if other != me and interval >= known[other // self._threads]:
                self._found(me, "reads", cell, other, "written")
        now = known[me // self._threads]
        if cell in self._readers:
            self._readers[cell][me] = now
        else:
            self._readers[cell] = {me: now}

    def read_constant(self, me: int, cell: int) -> None:
        """Note a load that may see what was there before the launch, whoever met since."""
        if cell in self._writers:
            self._found(me, "reads as a constant", cell, self._writers[cell][0], "written")

    def write(self, me: int, cell: int, is_atomic: bool = False) -> None:
        known = self._known[me // self._threads]
        if cell in self._writers:
            other, interval, was_atomic = self._writers[cell]
            unordered = other != me and interval >= known[other // self._threads]
            if unordered and not (was_atomic and is_atomic):
                self._found(me, "writes", cell, other, "written")
        for other, interval in self._readers.pop(cell, {}).items():
            if other != me and interval >= known[other // self._threads]:
                self._found(me, "writes", cell, other, "read")
        self._writers[cell] = me, known[me // self._threads], is_atomic

    def combine(self, me: int, cell: int) -> None:
        """Note an atomic operation, which comes before or after all others."""
        self.write(me, cell, True)

    def _found(self, me: int, verb: str, cell: int, other: int, done: str) -> None:
        this, that = [
            f"thread {i % self._threads} of block {i // self._threads}" for i in (me, other)
        ]
        raise Race(f"{this} {verb} {self._place(cell)}, {done} by {that} since they last met")

    # ---- barriers

    def meet_block(self, block: int) -> None:
        """All threads of a block have come to a barrier."""
        self._known[block][block] += 1

    def meet_grid(self) -> None:
        """All threads have come to a barrier."""
        now = [known[block] + 1 for block, known in enumerate(self._known)]
        self._known = [now.copy() for _ in now]


RUNS, ENDED = -1, -2  # instead of the barrier at which a thread waits


@dataclass
class Block:
    """The threads of a block, and at which barrier each of them waits."""

    threads: list[Generator[int, None, None]]
    waits: list[int]

    def all_at(self, barrier: int) -> bool:
        return all(wait == barrier for wait in self.waits)


@dataclass
class Launch:
    """A launch.

    Attributes:
        dynamic: bytes of shared memory without a fixed size
        left_out: index of a barrier at which nobody waits
    """

    program: Program
    memory: Memory
    blocks: int
    threads: int
    dynamic: int = 0
    left_out: int | None = None

    def run(self, *arguments: int) -> None:
        """Run all threads to their end.

        Raise Race for one, IndexError for a place outside of all arrays, and RuntimeError for
        threads that wait at barriers to which others do not come.
        """
        assert len(arguments) == self.program.parameters
        self._races = Races(self.blocks, self.threads, self.memory.place)
        self._constants = {
            name: self.memory.add(np.frombuffer(each, np.uint8), name)
            for name, each in self.program.constants.items()
        }
        grid = [self._block(i, arguments) for i in range(self.blocks)]
        while not all(block.all_at(ENDED) for block in grid):
            moved = [self._advance(i, block) for i, block in enumerate(grid)]
            if not any(moved) and not self._meet_grid(grid):
                places = [sorted(set(block.waits)) for block in grid]
                raise RuntimeError(f"threads wait for ever, at the barriers {places}")

    def _block(self, i: int, arguments: tuple[int, ...]) -> Block:
        size = self.program.shared_size + self.dynamic
        shared = self.memory.unset(size, f"shared memory of block {i}", i + 1)
        of_block = i, self.blocks, self.threads, shared, self.dynamic
        threads = [Thread(self.memory, self._races, k, *of_block) for k in range(self.threads)]
        for thread in threads:
            thread.constants = self._constants
        started = [self.program.entry(thread, *arguments) for thread in threads]
        return Block(started, [RUNS] * self.threads)

    def _advance(self, i: int, block: Block) -> bool:
        """Run threads of a block until they wait for others; return whether they met or ended."""
        met = False
        while not block.all_at(ENDED):
            for k, wait in enumerate(block.waits):
                if wait == RUNS:
                    block.waits[k] = self._to_barrier(block.threads[k])
            barrier = block.waits[0]
            met = met or block.all_at(ENDED)
            if not block.all_at(barrier) or not self._is(BLOCK, barrier):
                return met
            self._races.meet_block(i)
            block.waits = [RUNS] * self.threads
            met = True
        return False

    def _to_barrier(self, thread: Generator[int, None, None]) -> int:
        """Run a thread; return where it waits next."""
        try:
            wait = next(thread)
            while wait == self.left_out:
                wait = next(thread)
        except StopIteration:
            return ENDED
        return wait

    def _meet_grid(self, grid: list[Block]) -> bool:
        """Let all blocks go on if all of them are at one barrier of the grid."""
        barrier = grid[0].waits[0]
        if not self._is(GRID, barrier) or not all(block.all_at(barrier) for block in grid):
            return False
        self._races.meet_grid()
        for block in grid:
            block.waits = [RUNS] * self.threads
        return True

    def _is(self, kind: str, wait: int) -> bool:
        return wait >= 0 and self.program.barriers[wait] == kind


SHARED = 44 * 1024  # bytes of shared memory that a block may have


_programs: dict[str, Program] = {}  # by the texts of their files


class Array:
    """An array in the memory of the card, with the methods of numba's that the engine calls."""

    def __init__(self, numbers: np.ndarray[Any, Any], address: int) -> None:
        self.numbers, self.address = numbers, address
        self.size, self.dtype = numbers.size, numbers.dtype

    def __getitem__(self, part: slice) -> Array:
        start, _, step = part.indices(self.size)
        assert step == 1
        return Array(self.numbers[part], self.address + start * self.dtype.itemsize)

    def copy_to_device(self, numbers: Any, stream: Any = None) -> None:
        self.numbers[...] = numbers.numbers if isinstance(numbers, Array) else numbers

    def copy_to_host(self, target: Any = None, stream: Any = None) -> Any:
        if target is None:
            return self.numbers.copy()
        target[...] = self.numbers
        return target

    @property
    def words(self) -> list[int]:
        """What numba passes of an array: no owner, numbers, bytes of each, address, shape, step."""
        size, item = self.size, self.dtype.itemsize
        return [0, 0, size, item, self.address, size, item]


class Kernel:
    """A kernel that is launched as one of numba: kernel[blocks, threads, stream, shared](...)."""

    def __init__(self, card: Card, name: str, program: Program) -> None:
        self._card, self._name, self._program = card, name, program
        self.overloads: dict[Any, Kernel] = {}

    def typeof_pyval(self, argument: object) -> str:
        return type(argument).__name__

    def compile(self, signature: Any) -> None:
        self.overloads[signature] = self

    def max_cooperative_grid_blocks(self, threads: int, shared: int) -> int:
        return self._card.blocks

    def __getitem__(self, sizes: Sequence[Any]) -> Any:
        return partial(self._launch, *sizes)

    def _launch(
        self, blocks: int, threads: int, stream: Any, shared: int, *arguments: Array | int
    ) -> None:
        words = [word for x in arguments for word in (x.words if isinstance(x, Array) else [x])]
        self._card.launch(self._name, self._program, (blocks, threads, shared), words)


class Card:
    """A card.

    Attributes:
        left_out: name of a kernel, and index of a barrier at which its threads do not wait
        programs: the kernels that were launched, by name
        failure: the error of a launch; every later launch raises it again
    """

    def __init__(self, blocks: int, threads: int, shared: int = SHARED) -> None:
        self.blocks, self.threads, self.shared = blocks, threads, shared
        self.memory = Memory()
        self.left_out: tuple[str, int] | None = None
        self.programs: dict[str, list[Program]] = {}
        self.failure: Exception | None = None

    def array(self, numbers: Any, stream: Any = None, name: str = "array") -> Array:
        found = np.array(numbers).reshape(-1)
        return Array(found, self.memory.add(found, name))

    def unset(self, size: int, dtype: Any, stream: Any = None) -> Array:
        kind = np.dtype(dtype)
        return self.array(np.full(size * kind.itemsize, 0xFF, np.uint8).view(kind))

    def launch(self, name: str, program: Program, sizes: tuple[int, int, int], words: Any) -> None:
        if self.failure:
            raise self.failure
        known = self.programs.setdefault(name, [])
        if program not in known:
            known.append(program)
        left_out = self.left_out[1] if self.left_out and self.left_out[0] == name else None
        try:
            Launch(program, self.memory, *sizes, left_out).run(*words)
        except Exception as error:
            self.failure = error
            raise

    def load(self, units: Sequence[CudaUnit], dtype: Dtype) -> list[Any]:
        """Return kernels as `cuda_file.load` does."""
        found = []
        for unit in units:
            name, text = unit.function.__name__, cuda_file.text_of(unit, dtype)
            if text not in _programs:
                _programs[text] = translate(ptx_of(unit, dtype))
            found.append(SimpleNamespace(**{name: Kernel(self, name, _programs[text])}))
        return found

    @contextmanager
    def inserted(self) -> Iterator[Card]:
        """Have the cuda engine run on this card."""
        self.failure = None
        arrays = SimpleNamespace(
            to_device=self.array, device_array=self.unset, pinned_array=np.zeros
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(missing, "missing_for_cuda", str)
            patch.setattr(cuda_file, "load", self.load)
            patch.setattr(device_memory, "cuda", arrays)
            patch.setattr(CudaEngine, "device", self.device)
            patch.setattr(
                graphs,
                "CudaGraph",
                Mock(side_effect=RuntimeError("interpreted launches have no graph")),
            )
            yield self

    @property
    def device(self) -> Device:
        stream = SimpleNamespace(synchronize=lambda: None)
        return Device(False, self.blocks, self.threads, stream, self.shared)


def unguarded(card: Card, train: Callable[[], None]) -> list[tuple[str, int]]:
    """Return the barriers, as kernels and indices, without which training on a card still works.

    Args:
        train: inserts the card and takes some steps
    """
    card.left_out, found = None, []
    train()
    for name, programs in [*card.programs.items()]:
        for i in range(max(len(program.barriers) for program in programs)):
            card.left_out = name, i
            try:
                train()
            except (Race, LookupError, RuntimeError):
                continue
            found.append((name, i))
    return found
