"""The GPU as seen by kernel files: numba's `cuda` module, launches as a graph, and failures.

`cuda` is None if numba's CUDA module cannot be imported; for the type checker it is untyped. Kernel
files can be imported without it; `missing.py` checks whether the engine can run.

The host needs longer to launch a small kernel than a GPU needs to run it. So the launches of a step
are captured once as a graph, which one driver call then launches; see `Steps`. The graph has
the same kernels with the same arguments in the same order, so its results have the same bits.

Launches are captured on a separate stream instead of the engine's: while a stream that waits for
the default stream is capturing, the driver rejects other work in the default stream. A failed
capture has no side effects. If the GPU or driver does not support capturing, kernels are launched
one by one.

A failure, such as a lost GPU or insufficient memory, raises one error that names a remedy. A call
of the engine copies the bank back only after all its kernels have ended. So after a failure, the
bank in host memory has the numbers from before the call, and training can continue on another
engine. If a session has left numbers on the GPU, these are lost, and the session returns to its
last keyframe, which is in host memory.
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
    """Return numba's module with `driver`, whose functions raise errors, and `binding`."""
    return import_module("numba.cuda.cudadrv.driver")


def allow_shared(handle: Any, device: int, size: int) -> None:
    """Allow a compiled kernel to be launched with `size` bytes of dynamic shared memory."""
    module = nvidia()
    what = module.binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    module.driver.cuKernelSetAttribute(what, size, handle, device)


def configured(kernel: Any, *sizes: Any) -> Any:
    """Return a kernel with its launch configuration, without numba's warning about small grids.

    numba warns about fewer than 128 blocks, but a small batch has no work for more.
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
    """A kernel, its arguments, and the numbers of blocks, threads and bytes of shared memory."""

    kernel: Any
    arguments: tuple[Any, ...]
    blocks: int
    threads: int
    shared: int = 0

    def on(self, stream: Any) -> Callable[[], None]:
        """Return a function that launches the kernel on a stream."""
        sizes = self.blocks, self.threads, stream, self.shared
        return partial(configured(self.kernel, *sizes), *self.arguments)

    @property
    def key(self) -> tuple[int, ...]:
        """Key that identifies equal launches while their arguments exist."""
        taken = [each if isinstance(each, int) else id(each) for each in self.arguments]
        return (id(self.kernel), self.blocks, self.threads, self.shared, *taken)


@final
class CudaGraph:
    """Captured kernel launches that the driver launches as one graph."""

    def __init__(self, launches: list[Launch]) -> None:
        """Capture launches; raise the driver's error on failure."""
        self._handle = captured(launches)
        # At the end of the process the driver frees everything.
        weakref.finalize(self, free, nvidia().driver, self._handle).atexit = False

    def launch(self, stream: Any) -> None:
        """Launch the graph on a stream."""
        nvidia().driver.cuGraphLaunch(self._handle, stream.handle)


def free(driver: Any, graph: Any) -> None:
    """Free a graph; the driver first lets a running graph end."""
    with suppress(Exception):  # for a lost GPU, or a driver that has ended
        driver.cuGraphExecDestroy(graph)


def captured(launches: list[Launch]) -> Any:
    """Capture launches of loaded kernels, and return the driver's handle of the graph."""
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
    """Launcher of training steps on a stream, if possible as graphs.

    Attributes:
        graphs: whether launches are captured; False in the simulator and after a failure
        refused: message of the error that ended capturing, or ""
    """

    def __init__(self, stream: Any, *, graphs: bool) -> None:
        self.graphs = graphs
        self.refused = ""
        self._stream = stream
        self._launches: list[Launch] = []  # of the last step
        self._graph: CudaGraph | None = None  # for these

    def repeat(self, launches: list[Launch], count: int) -> None:
        """Run `count` steps, each of which consists of these launches."""
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
        """Capture the launches of the last step, unless this is done or another capture is running.

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
        """Launch the graph; return False if there is no graph or the driver fails."""
        if not self.graphs or self._graph is None:
            return False
        try:
            self._graph.launch(self._stream)
        except Exception as error:  # a lost GPU also rejects single launches
            self._refuse(error)
        return self.graphs

    def _refuse(self, error: Exception) -> None:
        """Stop using graphs after an error; kernels are then launched one by one."""
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
    """Return whether an error means that GPU memory, or pinned host memory, was insufficient."""
    return is_of_the_card(error) and "OUT_OF_MEMORY" in str(error)


def card_error(error: BaseException, kept: str = BEFORE) -> EngineError:
    """Return the error to raise for a failed GPU; `kept` says which numbers are left."""
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
    """Convert GPU failures in the body of a `with` statement to EngineError; see `card_error`."""
    try:
        yield
    except Exception as error:  # drivers raise errors of many kinds; other errors are raised again
        if not is_of_the_card(error):
            raise
        raise card_error(error, kept) from error
