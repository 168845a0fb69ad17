"""What the tests of the cuda engine in numba's simulator share; pytest loads it as a plugin.

The simulator runs a Python thread for each CUDA thread, hence the small networks; three blocks of
four threads, and sizes that divide by neither.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from numba import types

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.data.batches import Batches
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.device_memory import Memory
from scalarviz.engines.cuda.engine import CudaEngine, CudaRun
from tests.engines.agreement import Array, numbers
from tests.engines.machine_code import all_formulas

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

    return argument._item._ary if isinstance(argument, FakeWithinKernelCUDAArray) else argument


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


SAMPLES = 27  # three chunks of nine


def slow(*cases: Any) -> list[Any]:
    """Cases that are left to `make test-all`, since the simulator is slow."""
    return [pytest.param(case, marks=pytest.mark.slow) for case in cases]


@pytest.fixture(scope="module", autouse=True)
def simulator() -> Iterator[None]:
    """Threads of a block take turns; and two of them do not both make the one shared array.

    With SIMULATED_BLOCKS=numba they run at the same time, and are interrupted often; with
    SIMULATED_STEPS=kernels no network takes whole steps. On a GPU,
    where `benchmarks.on_gpu` runs the same tests, kernels are made for all formulas.
    """
    if not cuda.config.ENABLE_CUDASIM:
        with all_formulas():
            yield
        return
    from numba.cuda.simulator import kernel
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np.numpy_support import as_dtype

    lock, plain = threading.Lock(), FakeCUDAShared.array

    def array(self: Any, shape: int, dtype: Any) -> Any:
        if shape == 0:
            return plain(self, shape, dtype)
        # Arrays are told apart by the line that asks for them.
        caller = sys._getframe(1)
        with lock:
            place = (caller.f_code.co_filename, caller.f_lineno)
            if place not in self._allocations:
                kind = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
                unset = np.nan if np.issubdtype(kind, np.floating) else -(2**31)
                self._allocations[place] = np.full(shape, unset, kind)
            return self._allocations[place]

    at_once, call = threading.RLock(), kernel.FakeCUDAKernel.__call__

    def one_after_another(self: Any, *arguments: Any) -> Any:
        """Launch; numba takes a kernel for a function of one that another thread has launched."""
        if hasattr(threading.current_thread(), "blockIdx"):  # a function of a kernel
            return call(self, *arguments)
        with at_once:
            return call(self, *arguments)

    interval = sys.getswitchinterval()
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("SIMULATED_STEPS") == "kernels":
            patch.setattr("scalarviz.engines.cuda.launches.fits", lambda *_: False)
        patch.setattr(FakeCUDAShared, "array", array)
        patch.setattr(kernel.FakeCUDAKernel, "__call__", one_after_another)
        if os.environ.get("SIMULATED_BLOCKS") == "numba":
            sys.setswitchinterval(5e-5)
        else:
            patch.setattr(kernel, "BlockManager", Turns)
        yield
    sys.setswitchinterval(interval)


def engine_of(net: sv.Network) -> CudaEngine:
    """A cuda engine on the bank of a network."""
    return CudaEngine(net.layers, net.program, net.bank, Precision())


def run_of(
    net: sv.Network, batches: Batches, loss: str | sv.Loss = "mse", whole: bool = True
) -> CudaRun:  # fmt: skip
    run = engine_of(net).run(batches, sv.Loss.of(loss))
    assert run.whole_steps or not whole
    run.whole_steps = whole
    return run


def reference_steps(
    net: sv.Network, batches: Batches, loss: sv.Loss, optimizer: Optimizer, steps: range
) -> list[float]:
    """The same steps by the verbs of the objects."""
    losses = []
    for step in steps:
        inputs, targets = batches.at(step)
        net.zero_grad()
        losses.append(loss.forward(net.forward(inputs), targets))
        net.backward(loss.backward())
        net.step(optimizer)
    return losses


def pair(net: sv.Network, samples: int = SAMPLES) -> tuple[Array, Array]:
    """Inputs, and targets that suit every loss."""
    targets = abs(numbers(samples, net.outputs)) + 0.1
    return numbers(samples, net.inputs), targets / targets.sum(axis=1, keepdims=True)


def noted(patch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """The arguments of the calls of a function from here on."""
    found: list[Any] = []
    plain = getattr(owner, name)

    def function(*arguments: Any) -> Any:
        found.append(arguments)
        return plain(*arguments)

    patch.setattr(owner, name, function)
    return found


def uploads(patch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The parts of banks that are copied to the device from here on: place and size."""
    found, view = [], Memory._view

    class Part:
        def __init__(self, array: Any, part: tuple[int, int]) -> None:
            self.array, self.part, self.copy_to_host = array, part, array.copy_to_host

        def copy_to_device(self, numbers: Any, stream: Any) -> None:
            found.append(self.part)
            self.array.copy_to_device(numbers, stream=stream)

    def watched(memory: Memory, part: tuple[int, int]) -> Any:
        on_device, mirror = view(memory, part)
        return Part(on_device, part), mirror

    patch.setattr(Memory, "_view", watched)
    return found


def fits(net: sv.Network) -> bool:
    """Whether no operation is computed on whole batches only."""
    operations = net.program.operations
    return not any(op.kind == "convolution" or op.about.statistics(op) for op in operations)
