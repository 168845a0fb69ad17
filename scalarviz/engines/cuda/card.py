"""The GPU as seen by kernel files: numba's `cuda` module, launches as a graph, and failures.

`cuda` is None if numba's CUDA module cannot be imported, and untyped for the type checker. Kernel
files can be imported without it; `missing.py` checks whether the engine can run.

The host takes longer to launch a small kernel than a GPU to run it. So the launches of a step are
captured once, and from then on one driver call launches them all, see `Steps`. They are the same
kernels with the same arguments in the same order, with the same bits as single launches.

Launches are captured on a separate stream, not the engine's: the driver rejects other work in the
default stream while a stream that waits for it is capturing, and a failed capture has no side
effects. If the GPU or driver does not support capturing, kernels are launched one by one.

A failure, such as a lost card or insufficient memory, becomes one error with a remedy. A call of
the engine copies the bank back only after all its kernels have ended. So after a failure, the bank
in host memory has the numbers from before the call, and training can continue from there on another
engine. If a session has left numbers on the GPU, these are lost, and it returns to its last
keyframe, in host memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from threading import Lock
from typing import Any, final

from scalarviz.errors import EngineError


def load_cuda() -> Any:
    """Return numba's CUDA module, or None."""
    try:
        return import_module("numba.cuda")
    except Exception:  # it loads NVIDIA's libraries, which raise errors of many kinds
        return None


cuda: Any = load_cuda()


# ---- launches of a step -------------------------------------------------------------------------

_capturing = Lock()


def nvidia() -> Any:
    """Return numba's modules `driver`, whose functions raise errors, and `binding`."""
    return import_module("numba.cuda.cudadrv.driver")


def allow_shared(handle: Any, device: int, size: int) -> None:
    """Allow launches of a compiled kernel with up to `size` bytes of dynamic shared memory."""
    module = nvidia()
    what = module.binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    module.driver.cuKernelSetAttribute(what, size, handle, device)


def configured(kernel: Any, *sizes: Any) -> Any:
    """Return a kernel with its launch configuration.

    numba warns about fewer than 128 blocks; a small batch has no more work.
    """
    if cuda.config.ENABLE_CUDASIM:
        return kernel[sizes]
    config = import_module("numba.cuda.dispatcher").config
    warned, config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_LOW_OCCUPANCY_WARNINGS, 0
    try:
        return kernel[sizes]
    finally:
        config.CUDA_LOW_OCCUPANCY_WARNINGS = warned


@final
@dataclass(slots=True, eq=False)
class Launch:
    """A kernel, the arguments of a launch, and its numbers of blocks, threads and shared bytes."""

    kernel: Any
    arguments: tuple[Any, ...]
    blocks: int
    threads: int
    shared: int = 0

    def on(self, stream: Any) -> Callable[[], None]:
        """Return a function that launches it on a stream."""
        sizes = self.blocks, self.threads, stream, self.shared
        return partial(configured(self.kernel, *sizes), *self.arguments)

    @property
    def key(self) -> tuple[int, ...]:
        """Identity of the launch, unique while it is alive."""
        taken = [each if isinstance(each, int) else id(each) for each in self.arguments]
        return (id(self.kernel), self.blocks, self.threads, self.shared, *taken)


@final
class CudaGraph:
    """Captured launches, which the driver launches as one."""

    def __init__(self, launches: list[Launch]) -> None:
        """Capture launches; raise the driver's error on failure."""
        self._handle = captured(launches)
        # At the end of the process the driver frees everything.
        weakref.finalize(self, free, nvidia().driver, self._handle).atexit = False

    def launch(self, stream: Any) -> None:
        """Launch all on a stream."""
        nvidia().driver.cuGraphLaunch(self._handle, stream.handle)


def free(driver: Any, graph: Any) -> None:
    """Free a graph; a running one ends before."""
    with suppress(Exception):  # for a lost GPU, or a driver that has ended
        driver.cuGraphExecDestroy(graph)


def captured(launches: list[Launch]) -> Any:
    """Return the driver's handle of a graph of these launches, whose kernels are loaded."""
    module = nvidia()
    driver, names = module.driver, module.binding
    handle = driver.cuStreamCreate(names.CUstream_flags.CU_STREAM_NON_BLOCKING.value)
    try:
        # Relaxed: numba may free memory in between, which is unrelated to these kernels.
        mode = names.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        driver.cuStreamBeginCapture(handle, mode)
        try:
            for each in launches:
                each.on(module.Stream(handle, external=True))()
        except BaseException:
            with suppress(Exception):  # a failed capture may have no graph
                driver.cuGraphDestroy(driver.cuStreamEndCapture(handle))
            raise
        graph = driver.cuStreamEndCapture(handle)
        try:
            return driver.cuGraphInstantiate(graph, 0)
        finally:
            driver.cuGraphDestroy(graph)
    finally:
        driver.cuStreamDestroy(handle)


@final
class Steps:
    """Steps on a stream.

    Attributes:
        graphs: whether launches are captured; False in the simulator, and after a failure
        refused: message of the failure
    """

    def __init__(self, stream: Any, *, graphs: bool) -> None:
        self.graphs = graphs
        self.refused = ""
        self._stream = stream
        self._launches: list[Launch] = []  # of the last step
        self._graph: CudaGraph | None = None  # for these

    def repeat(self, launches: list[Launch], count: int) -> None:
        """Take `count` steps that consist of these launches."""
        one_by_one = [each.on(self._stream) for each in launches]
        if count and [each.key for each in launches] != [each.key for each in self._launches]:
            self._launches, self._graph = launches, None
            for launch in one_by_one:  # compiles and loads the kernels
                launch()
            count -= 1
        if count:
            self._capture()
        for _ in range(count):
            if not self._launch_graph():
                for launch in one_by_one:
                    launch()

    def _capture(self) -> None:
        """Capture the launches of the last step, unless already done, or during another capture.

        After a failure, the kernels can still be launched one by one.
        """
        if not self.graphs or self._graph is not None or not _capturing.acquire(blocking=False):
            return
        try:
            self._graph = CudaGraph(self._launches)
        except Exception as error:  # of any kind: kernels are then launched one by one
            self._refuse(error)
        finally:
            _capturing.release()

    def _launch_graph(self) -> bool:
        """Launch the graph; return False without one, or if the driver fails."""
        if not self.graphs or self._graph is None:
            return False
        try:
            self._graph.launch(self._stream)
        except Exception as error:  # a lost GPU also rejects single launches
            self._refuse(error)
        return self.graphs

    def _refuse(self, error: Exception) -> None:
        """Launch kernels one by one from now on."""
        self.graphs, self._graph = False, None
        self.refused = f"{type(error).__name__}: {error}"


# ---- failures -----------------------------------------------------------------------------------

MOST_SAID = 120  # characters
BEFORE = "all numbers are as before this call"
KEYFRAME = "the session returns to its last keyframe"
# Packages that raise errors of a GPU, its driver, its compiler and its linker.
CARD = ("numba.cuda", "numba_cuda", "cuda.")


def is_of_the_card(error: BaseException) -> bool:
    """Return whether an error was raised by GPU packages, not by scalarviz or its user."""
    return isinstance(error, Exception) and type(error).__module__.startswith(CARD)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the memory of the GPU, or pinned memory for it, was insufficient."""
    return is_of_the_card(error) and "OUT_OF_MEMORY" in str(error)


def card_error(error: BaseException, kept: str = BEFORE) -> EngineError:
    """Return the error for a failed GPU; `kept` describes the available numbers."""
    if is_out_of_memory(error):
        return EngineError(
            f"the GPU has too little free memory for this: {kept}; use a smaller batch, end other "
            "programs that use the GPU, or continue on the CPU with session.to('cpu') or "
            "net.to('cpu')"
        )
    said = " ".join(str(error).split())[:MOST_SAID] or type(error).__name__
    return EngineError(
        f"the GPU failed ({said}): {kept}; continue on the CPU with session.to('cpu') or "
        "net.to('cpu'), or start a new process to use the GPU"
    )


@contextmanager
def card_failures(kept: str = BEFORE) -> Iterator[None]:
    """Raise EngineError for a failure of the GPU in the body; see `card_error`."""
    try:
        yield
    except Exception as error:  # drivers raise errors of many kinds; other errors are raised again
        if not is_of_the_card(error):
            raise
        raise card_error(error, kept) from error
