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
        self._f, self._block_dim = f, block_dim
        self.block_state = np.zeros(block_dim, np.bool_)
        self.end_of_turn = threading.Semaphore(0)

    def run(self, grid_point: Any, *arguments: Any) -> None:
        """Run all threads of the block; raise the error of one of them."""
        job = self._f, tuple(map(plain, arguments))
        going = []
        for place in np.ndindex(*self._block_dim):
            each = _idle.pop() if _idle else OfBlock()
            each.take(self, job, grid_point, place, self._block_dim)
            going.append(each)
        error: BaseException | None = None
        while going:
            ORDER.shuffle(going)
            for each in going:
                each.abort = error is not None
                each.turn.release()
                self.end_of_turn.acquire()
                error = error or each.error
            _idle.extend(each for each in going if not each.is_going)
            going = [each for each in going if each.is_going]
        if error is not None:
            raise error


def plain(argument: Any) -> Any:
    """An argument as it is in a kernel: arrays are numpy's, whose indexing is faster."""
    from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray

    fake = isinstance(argument, FakeWithinKernelCUDAArray)
    return argument._item._ary if fake else argument


class OfBlock(threading.Thread):
    """A CUDA thread, with the names that numba's simulator asks it for."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.turn = threading.Semaphore(0)
        self.start()

    def take(self, block: Turns, job: Any, grid_point: Any, place: Any, block_dim: Any) -> None:
        """Be a thread of a block, from the next turn on."""
        from numba.cuda.simulator.kernelapi import Dim3

        self.block, self._job = block, job
        self.blockIdx, self.threadIdx = Dim3(*grid_point), Dim3(*place)
        self.thread_id = place[0] + block_dim[0] * (place[1] + block_dim[1] * place[2])
        self.is_going, self.abort = True, False
        self.error: BaseException | None = None

    def run(self) -> None:
        while True:
            self.turn.acquire()
            f, arguments = self._job
            try:
                f(*arguments)
            except BaseException as error:
                self.error = error
            self.is_going = False
            self.block.end_of_turn.release()

    def syncthreads(self) -> None:
        """Wait until all threads that have not ended do so, too."""
        self.block.end_of_turn.release()
        self.turn.acquire()
        if self.abort:
            sys.exit()
