"""A launch of a translated kernel: threads that run in turn, from one barrier to the next."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from tests.engines.ptx.memory import Memory, Thread
from tests.engines.ptx.races import Races
from tests.engines.ptx.translate import BLOCK, GRID, POLL, Program

RUNS, ENDED = -1, -2  # instead of the barrier at which a thread waits


@dataclass
class Block:
    """The threads of a block, and at which barrier each of them waits."""

    threads: list[Generator[int, bool, None]]
    waits: list[int]

    def all_at(self, barrier: int) -> bool:
        return all(wait == barrier for wait in self.waits)


@dataclass
class Launch:
    """A launch.

    dynamic   bytes of shared memory without a fixed size
    left_out  index of a barrier at which nobody waits
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
                if wait == RUNS or (wait >= 0 and self.program.barriers[wait] == POLL):
                    block.waits[k] = self._to_barrier(block.threads[k], wait)
            barrier = block.waits[0]
            met = met or block.all_at(ENDED)
            if not block.all_at(barrier) or not self._is(BLOCK, barrier):
                return met
            self._races.meet_block(i)
            block.waits = [RUNS] * self.threads
            met = True
        return False

    def _to_barrier(self, thread: Generator[int, bool, None], wait: int) -> int:
        """Run a thread; return where it waits next."""
        try:
            wait = next(thread) if wait == RUNS else thread.send(wait == self.left_out)
            while wait == self.left_out and not self._is(POLL, wait):
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
