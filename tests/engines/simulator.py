"""What the tests of the cuda engine in numba's simulator share; pytest loads it as a plugin.

The simulator runs a Python thread for each CUDA thread, hence the small networks; three blocks of
four threads, and sizes that divide by neither.
"""

from __future__ import annotations

import copy
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


one_type_or_both = pytest.mark.parametrize("dtype", ["float64", *slow("float32")])


whole_or_not = pytest.mark.parametrize("whole", [True, False], ids=["whole steps", "kernels"])


@pytest.fixture(scope="module", autouse=True)
def simulator() -> Iterator[None]:
    """Threads of a block take turns; and two of them do not both make the one shared array.

    With SIMULATED_BLOCKS=numba they run at the same time, and are interrupted often. On a GPU,
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


SHAPE = 2, 4, 5
# Networks by what they are about; odd sizes, windows larger and smaller than the steps between
# them, and products of more than one tile in both directions.
NETWORKS: dict[str, list[sv.Layer]] = {
    "one weight": [sv.Dense(1, 1)],
    "products": [sv.Dense(18, 33, "tanh"), sv.Dense(33, 2, bias=False)],
    "rows": [
        sv.FrequencyEncoding(2, 3), sv.Dense(12, 19), sv.LayerNorm(19), sv.Dense(19, 9, "swish"),
        sv.RMSNorm(9), sv.Dense(9, 3), sv.Softmax(3), sv.LogSoftmax(3),
    ],
    "shared": [sv.Dense(2, 9), *[sv.Dense(9, 9, "leaky_relu")] * 2, sv.Dense(9, 3)],
    "residual": [
        sv.Residual(sv.Dense(7, 3, "tanh"), sv.Residual(sv.Dense(3, 3)), sv.Dense(3, 7)),
        sv.Residual(sv.Dense(7, 5, "tanh"), skip=sv.Dense(7, 5)), sv.Dense(5, 8),
        sv.MaxPool2d((2, 2, 2)),  # alone reads in its backward what it was given
    ],
    "branches": [
        sv.Product([sv.Dense(5, 3, "tanh"), sv.Dense(3, 7)], sv.Dense(5, 7, "sigmoid")),
        sv.Concatenate(sv.Dense(7, 2), sv.Activation(7, "tanh")), sv.Dense(9, 2),
    ],
    "dropout": [sv.Dropout(7, 0.4), sv.Dense(7, 6), sv.Dropout(6, 0.1), sv.Dense(6, 2)],
    "slopes": [
        sv.PReLU(7, 7), sv.Dense(7, 6), sv.PReLU((3, 1, 2), 3), sv.Dense(6, 2), sv.PReLU(2)
    ],
    "features": [sv.Dense(5, 7), sv.BatchNorm(7), sv.Dense(7, 2)],  # more than blocks
    "channels": [
        sv.BatchNorm(SHAPE, eps=0.1, momentum=0.3), sv.BatchNorm(SHAPE), sv.Dense(40, 2)
    ],
    "gate": [sv.Dense(3, 2), sv.Spread((2, 3, 4)), sv.Dense(24, 2)],
    "inputs": [
        sv.Product([sv.Slice(7, 0, 3), sv.Dense(3, 4)], [sv.Slice(7, 2, 7), sv.Dense(5, 4)]),
        sv.Dense(4, 2),
    ],
    "groups of channels": [sv.GroupNorm((4, 3, 2), 2), sv.GroupNorm(24, 8), sv.Dense(24, 2)],
    "pools": [
        sv.MaxPool2d(SHAPE, kernel=(1, 2), stride=1, padding=(0, 1)),
        sv.AvgPool2d((2, 4, 6), kernel=(3, 2), stride=(1, 2)),
    ],
    "convolution": [sv.Conv2d(SHAPE, 3, (2, 3), activation="tanh")],
    "stride and padding": [sv.Conv2d((3, 4, 7), 5, (2, 3), stride=2, padding=1)],
    "far apart": [sv.Conv2d((2, 6, 3), 9, (3, 2), stride=3, padding=1, bias=False)],
    "five channels": [sv.Conv2d((5, 3, 3), 4, 3, padding=1)],
    "sequence": [sv.Conv1d((3, 9), 5, 4, stride=2, padding=3)],
    "tall window": [sv.Conv2d((2, 3, 5), 3, (4, 2), padding=1)],
    "depthwise": [sv.Conv2d((3, 4, 4), 6, (3, 2), (2, 1), 1, groups=3)],
    "groups with holes": [
        sv.Conv2d((4, 5, 6), 10, 3, (3, 2), 1, bias=False, dilation=(2, 3), groups=2)
    ],
    "two convolutions": [
        sv.Conv2d((2, 3, 4), 2, 2, padding=1, bias=False), sv.Conv2d((2, 4, 5), 2, 3, padding=1),
        sv.Dense(40, 2),
    ],
    "all": [
        sv.Conv2d(SHAPE, 2, 3, padding=1),
        sv.Residual(sv.BatchNorm(SHAPE), sv.Dropout(SHAPE, 0.2), sv.Conv2d(SHAPE, 2, 3, padding=1)),
        sv.Dropout(SHAPE, 0.3),
    ],
}  # fmt: skip
LARGE: dict[str, list[sv.Layer]] = {
    "wide window": [sv.Conv2d((3, 5, 5), 3, 5, padding=2)],
    "many kernels": [sv.Conv2d((2, 2, 2), 67, (1, 2))],
    "far padding": [sv.Conv2d((6, 4, 4), 5, 4, stride=2, padding=3, bias=False)],
}


def network(name: str, dtype: Any = "float64") -> sv.Network:
    """One of these, whose weights and running statistics are not what they begin with."""
    net = sv.Network(copy.deepcopy((NETWORKS | LARGE)[name]), dtype=dtype, seed=5)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    for layer in net.layers:
        if isinstance(layer, sv.BatchNorm):
            layer.running_mean[:] = 0.3
            layer.running_variance[:] = 0.7
    return net


def fits(net: sv.Network) -> bool:
    """Whether no operation is computed on whole batches only."""
    operations = net.program.operations
    return not any(op.kind == "convolution" or op.about.statistics(op) for op in operations)
