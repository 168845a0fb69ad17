"""Blocks of numba's simulator whose threads take turns, from one meeting of all to the next.

numba's own blocks run a new Python thread for each CUDA thread, all at the same time, and poll
them: most of the time goes into that. Here one thread runs at a time, until it ends or waits for
the others; then it is the turn of the next, in another order each time. Where a meeting is missing,
a thread reads what those before it in that order have left, and so some order shows it. What needs
a switch in the midst of a turn is left to `make test-all`, which takes numba's blocks.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

ORDER = Random(0)
_idle: list[OfBlock] = []


class Turns:
    """A block of CUDA threads; takes the place of `BlockManager` of numba."""

    def __init__(self, f: Callable[..., None], grid_dim: Any, block_dim: Any, debug: bool) -> None:
        self.f, self.dim = f, block_dim
        self.left: list[Any] = []  # indices of threads that have not begun
        self.round: list[OfBlock] = []  # threads whose turn comes, the next one last
        self.waiting: list[OfBlock] = []  # those that have come to the meeting
        self.error: BaseException | None = None
        self._end = locked()

    def run(self, grid_point: Any, *arguments: Any) -> None:
        """Run all threads of the block; raise the error of one of them."""
        from numba.cuda.simulator.kernelapi import Dim3

        self.index, self.arguments = Dim3(*grid_point), tuple(map(plain, arguments))
        self.left = [Dim3(*place) for place in np.ndindex(*self.dim)]
        ORDER.shuffle(self.left)
        self.pass_on()
        self._end.acquire()
        if self.error is not None:
            raise self.error

    def pass_on(self) -> None:
        """Let the next thread have its turn."""
        if self.left:
            each = _idle.pop() if _idle else OfBlock()
            each.block, each.blockIdx = self, self.index
            each.turn.release()
            return
        if not self.round:
            self.round, self.waiting = self.waiting, []
            ORDER.shuffle(self.round)
        (self.round.pop().turn if self.round else self._end).release()


def locked() -> threading.Lock:
    """Return a lock to wait at until another thread releases it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def plain(argument: Any) -> Any:
    """An argument as it is in a kernel: arrays are numpy's, whose indexing is faster."""
    from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray

    fake = isinstance(argument, FakeWithinKernelCUDAArray)
    return argument._item._ary if fake else argument


class OfBlock(threading.Thread):
    """CUDA threads of a block, one after another until one waits at a meeting.

    It has the names that numba's simulator asks for.
    """

    block: Turns
    blockIdx: Any
    threadIdx: Any

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.turn = locked()
        self.start()

    def run(self) -> None:
        while True:
            self.turn.acquire()
            while self.block.left:
                self.run_one(self.block, self.block.left.pop())
            block = self.block
            _idle.append(self)
            block.pass_on()

    def run_one(self, block: Turns, index: Any) -> None:
        """Run a thread to its end, with waits for the others."""
        self.threadIdx = index
        try:
            block.f(*block.arguments)
        except BaseException as error:
            block.error = block.error or error
            block.left.clear()

    def syncthreads(self) -> None:
        """Wait until all threads that have not ended do so, too."""
        self.block.waiting.append(self)
        self.block.pass_on()
        self.turn.acquire()
        if self.block.error is not None:
            sys.exit()
