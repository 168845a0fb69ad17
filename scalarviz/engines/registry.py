"""The table of engines, and the choice of an engine. A new engine needs a file and a row here."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scalarviz.base.checks import require
from scalarviz.base.kernel_threads import check_process
from scalarviz.base.processes import is_worker
from scalarviz.base.shell_commands import pip_install
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.formula import pick, table
from scalarviz.core.layers import Layer
from scalarviz.core.precision import Precision
from scalarviz.core.program import SCALAR, Operation, Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.engines.engine import Engine
from scalarviz.engines.expression.expression_engine import PythonExpressionEngine
from scalarviz.engines.python import PythonEngine
from scalarviz.engines.reference import runs_as_python, say_once
from scalarviz.errors import EngineError

Maker = Callable[[Sequence[Layer], Program, Bank, Precision], Engine]


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine that `net.to(name)` can choose.

    Attributes:
        name: name by which users choose it
        make: function that creates an Engine from layers, program, bank and precision
        lack: function that returns what the engine lacks on this machine, or "" if it can run
        kernels: function that returns the kinds of operations with kernels, or None for an engine
            without kernels. An engine with kernels raises EngineError in a process that was forked
            after kernels had been loaded
        only_full: why mixed precision is not supported; "" if it is supported
        weighs: whether it supports sample weights; by default False
    """

    name: str
    make: Maker
    lack: Callable[[], str] = str
    kernels: Callable[[], Container[str]] | None = None
    only_full: str = ""
    weighs: bool = False

    def lacking(self, program: Program) -> Iterator[Operation]:
        """Yield the operations of a program for which this engine has no kernels."""
        known = None if self.kernels is None else self.kernels()
        for operation in program.operations:
            if known is not None and operation.kind not in known:
                yield operation

    def check(self, bank: Bank, precision: Precision, program: Program) -> None:
        """Raise EngineError if the engine cannot run a program with this bank and precision."""
        if self.kernels is not None:
            check_process()
            for operation in self.lacking(program):
                require(
                    runs_as_python(operation),
                    f"the {self.name!r} engine has no kernels for {operation.owner}: choose the "
                    "'python' engine",
                    EngineError,
                )
        require(not (precision.mixed and self.only_full), self.only_full, EngineError)
        require(
            not precision.mixed or bank.dtype == "float32",
            f"mixed precision needs float32, and this network is {bank.dtype}: make it with "
            "dtype='float32'",
            EngineError,
        )


def loaded(module: str, name: str) -> Any:
    """Import a module of this package and return its object `name`; this may load numba."""
    return getattr(import_module(f"scalarviz.engines.{module}"), name)


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports a module and calls its function `name`."""
    return lambda *given: loaded(module, name)(*given)


def missing_for_cpu() -> str:
    """Return what the cpu engine lacks, or ""; numba may not support this version of Python."""
    return "" if find_spec("numba") else f"numba is not installed ({pip_install('numba')})"


MIXED_ON_CPU = (
    "the {} engine computes in full precision only: mixed precision runs on the cpu engine, as in "
    "net.to('cpu', precision='mixed')"
).format
# In order of preference, see `choose_best`.
ENGINES = table(
    [
        EngineRow(
            "cuda",
            later("cuda.engine", "CudaEngine"),
            later("cuda.missing", "missing_for_cuda"),
            lambda: loaded("cuda.table", "WHOLE_BATCH"),
            MIXED_ON_CPU("cuda"),
        ),
        EngineRow(
            "cpu",
            later("cpu.engine", "CpuEngine"),
            missing_for_cpu,
            lambda: loaded("cpu.table", "KERNELS"),
            weighs=True,
        ),
        EngineRow("python", PythonEngine, only_full=MIXED_ON_CPU("python"), weighs=True),
    ]
)
ONLY_FULL = "a compiled function computes in full precision only: leave out precision="
EXPRESSION_ENGINES = table(
    [
        EngineRow(
            "cpu",
            later("expression.cpu_expression", "CpuExpressionEngine"),
            missing_for_cpu,
            lambda: [SCALAR.name],
            ONLY_FULL,
        ),
        EngineRow("python", PythonExpressionEngine, only_full=ONLY_FULL),
    ]
)
AUTO, FULL = "auto", Precision()
# "auto" chooses cuda from this number of multiply-adds per step. On an H100 with 16 cores such a
# step takes 60 us on the GPU, .1 ms on the cores, and 1 ms of the host if it is the only one of a
# call (BENCHMARKS.md); the GPU is faster from 3 million if many are taken in one call, and from
# 20 million if each operation needs a separate kernel.
LARGE = 10**7


def choose(
    name: str, work: int = 0, precision: Precision = FULL, program: Program | None = None
) -> EngineRow:
    """Return the row of an engine, or of the best for "auto"; raise EngineError if it cannot run.

    Args:
        work: number of multiply-adds per step; by default 0
        precision: used for "auto", since cuda does not support mixed precision
        program: used for "auto": cuda is not chosen if it would run a part of it as Python code
    """
    if name == AUTO:
        return choose_best(work, precision, program)
    row = pick({**ENGINES, AUTO: next(iter(ENGINES.values()))}, name, "engine")
    if row.lack():
        other = next(each for each in ENGINES if not ENGINES[each].lack())
        raise EngineError(
            f"the {name!r} engine cannot run here: {row.lack()}; the {other!r} engine can"
        )
    return row


def choose_for_expression(name: str) -> EngineRow:
    """Return the row of an engine for a compiled function; raise EngineError as `choose` does."""
    require(
        name != "cuda",
        "a compiled function does not run on the 'cuda' engine: choose the 'cpu' engine",
        EngineError,
    )
    return EXPRESSION_ENGINES[choose(name).name]


def engines_for(program: Program) -> Mapping[str, EngineRow]:
    """Return the engines that can run a program: those for networks or for compiled functions."""
    return EXPRESSION_ENGINES if isinstance(program, TraceProgram) else ENGINES


def choose_best(work: int, precision: Precision, program: Program | None = None) -> EngineRow:
    """Return the fastest available engine; log the reason once if there was a choice."""
    lacks = {name: row.lack() for name, row in ENGINES.items()}
    if precision.mixed and not lacks["cuda"] and not lacks["cpu"]:
        best, why = "cpu", "cuda computes in full precision only"
    elif not lacks["cuda"] and not lacks["cpu"]:
        best = "cuda" if work >= LARGE else "cpu"
        why = f"cuda is faster from {LARGE:,} multiply-adds per step on"
        if best == "cuda" and program and (lacking := [*ENGINES["cuda"].lacking(program)]):
            best, why = "cpu", f"cuda has no kernels for {lacking[0].owner}"
    else:
        best = next(name for name in ENGINES if not lacks[name])
        # The reason why cuda is missing is shown if somebody requests cuda.
        why = f"cpu cannot run here: {lacks['cpu']}" if best == "python" else ""
    if why:
        announce(f"scalarviz runs on the {best} engine ({why})")
    return ENGINES[best]


def announce(text: str) -> None:
    """Log a message once, except in worker processes."""
    if not is_worker():
        say_once(text, text)
