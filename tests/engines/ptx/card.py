"""A card that interprets the PTX of kernels: the cuda engine runs on it as on a GPU.

The engine lays out memory, copies the bank and launches kernels itself. What numba would compile
and NVIDIA's driver would run is translated here from the PTX that numba gives to the driver.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_units import Dtype
from scalarviz.engines.cuda import card as graphs
from scalarviz.engines.cuda import device_memory, fused_steps, missing
from scalarviz.engines.cuda.engine import CudaEngine
from scalarviz.engines.cuda.fused_steps import FusedChoice, ShapeTable
from scalarviz.engines.cuda.launches import Device
from tests.conftest import FakeDevice
from tests.engines.machine_code import GPU, made_once, ptx_of
from tests.engines.ptx.launch import Launch
from tests.engines.ptx.memory import Memory
from tests.engines.ptx.races import Race
from tests.engines.ptx.translate import Program, translate

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

    lanes     threads of a warp of the fused kernel, which takes whole steps; 0: other kernels do
    left_out  name of a kernel, and index of a barrier at which its threads do not wait
    programs  the kernels that were launched, by name
    failure   the error of a launch; every later launch raises it again
    """

    def __init__(self, blocks: int, threads: int, shared: int = SHARED, lanes: int = 0) -> None:
        self.blocks, self.threads, self.shared, self.lanes = blocks, threads, shared, lanes
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
            patch.setattr(graphs, "CudaGraph", no_graph)
            patch.setattr(fused_steps, "cuda", arrays)
            patch.setattr(fused_steps, "find_card", lambda: Fused(self) if self.lanes else None)
            if self.lanes:
                patch.setattr(fused_steps, "THREADS", self.threads)
            yield self

    @property
    def device(self) -> Device:
        stream = SimpleNamespace(synchronize=lambda: None)
        return Device(False, self.blocks, self.threads, stream, self.shared)


def no_graph(*_: object) -> None:
    raise RuntimeError("an interpreted launch is in no graph")


class Fused:
    """A `FusedCard`, which also runs the fused kernel."""

    def __init__(self, card: Card) -> None:
        self._card, self.blocks, self.shared = card, card.blocks, card.shared

    def kernel(self, choice: FusedChoice, table: ShapeTable) -> Program:
        sizes = self._card.threads, self._card.lanes
        source = fused_steps.constants_of(choice, *sizes) + fused_steps.source_of()
        text = cuda_file.text_of(choice.unit, "float32") + source
        if text not in _programs:
            made_from = text + inspect.getsource(fused_steps) + inspect.getsource(cuda_file)
            ptx = made_once("ptx_fused", made_from, lambda: fused_ptx(choice, source))
            _programs[text] = translate(ptx)
        return _programs[text]

    def launch(
        self, kernel: Program, table: ShapeTable, stream: Any, arrays: list[Array], steps: int
    ) -> None:
        sizes = table.blocks, self._card.threads, table.shared
        self._card.launch(fused_steps.NAME, kernel, sizes, [*[x.address for x in arrays], steps])


def fused_ptx(choice: FusedChoice, source: str) -> str:
    """Return the PTX text of the fused kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatcher(), "get_current_device", lambda: FakeDevice)
        functions = fused_steps.ltoir_of(choice, GPU)
    ptx, _ = fused_steps.link(functions, source, GPU, ptx=True)
    return ptx.decode()


def unguarded(card: Card, train: Callable[[], None]) -> list[tuple[str, int]]:
    """Return the barriers, as kernels and indices, without which training on a card still works.

    train  inserts the card and takes some steps
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


def dispatcher() -> Any:
    """Return numba's module, which is imported where there is one."""
    return import_module("numba.cuda.dispatcher")
